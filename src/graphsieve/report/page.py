"""One HTML page of one or more rankings: no scripts, no requests, every name escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from graphsieve.files import replace_file

FEATURES_SHOWN = 40

_STYLE = """
:root { color-scheme: light dark; --ink: #17282b; --soft: #5d7175; --bar: #1f6f78; --rest: #a9bcbe;
  --page: #fbfaf7; --line: #e3e1da; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6eeee; --soft: #9db0b3; --bar: #58b3bd; --rest: #42595c; --page: #12191a; --line: #28383a; } }
body { margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 52rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2.5rem 0 .25rem; }
p { margin: .25rem 0; color: var(--soft); max-width: 44rem; }
table { border-collapse: collapse; width: 100%; margin-top: 1rem; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; font-size: .8rem; color: var(--soft); padding: .2rem .5rem;
  border-bottom: 1px solid var(--line); }
td { padding: .2rem .5rem; border-bottom: 1px solid var(--line); vertical-align: middle; }
td.n, th.n { text-align: right; white-space: nowrap; } td.name { max-width: 18rem; overflow-wrap: anywhere; }
td.bar { width: 40%; } .track { display: block; height: .8rem; }
rect.chosen { fill: var(--bar); } rect.rest { fill: var(--rest); }
"""


def page(rankings: Sequence[dict[str, Any]], *, title: str, intro: Sequence[str] = ()) -> str:
    """The page as text; each ranking is `Ranking.facts()` with a ``strength`` from 0 to 1 for every feature."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title><style>{_STYLE}</style>'
    )
    lead = "".join(f"<p>{escape(line)}</p>" for line in intro)
    body = "".join(_section(facts) for facts in rankings)
    return f'<!doctype html><html lang="en"><head>{head}</head><body><h1>{escape(title)}</h1>{lead}{body}</body></html>\n'


def write_page(
    rankings: Sequence[dict[str, Any]], *, title: str, intro: Sequence[str] = (), path: str | Path | None = None
) -> str:
    """The page as text, and in the file `path` if one is given: whole or not at all."""
    text = page(rankings, title=title, intro=intro)
    if path is not None:
        replace_file(Path(path), text)
    return text


def _section(facts: dict[str, Any]) -> str:
    features = facts["features"][:FEATURES_SHOWN]
    rows = "".join(_row(record) for record in features)
    hidden = facts["n_features"] - len(features)
    more = f"<p>… and {hidden} more features.</p>" if hidden else ""
    heading = facts.get("heading") or f"{facts['n_features']} features by {facts['method']}"
    about = (
        f"{facts['n_samples']} samples; {facts['method']}: a good feature {facts['summary']}; "
        f"{facts['good']} scores are good ({facts['reference']})."
    )
    because = "" if facts["reason"] == "as asked" else f"<p>Chosen because {escape(facts['reason'])}.</p>"
    notes = "".join(f"<p>{escape(note)}</p>" for note in facts.get("notes", ()))
    return (
        f"<section><h2>{escape(heading)}</h2>{because}<p>{escape(about)}</p>{notes}<table><thead><tr>"
        f'<th class="n">rank</th><th>feature</th><th class="n">score</th><th></th></tr></thead>'
        f"<tbody>{rows}</tbody></table>{more}</section>"
    )


def _row(record: dict[str, Any]) -> str:
    score = "not scored" if record["flag"] == "unscorable" else "∞" if record["score"] is None else f"{record['score']:.4g}"
    kind = "chosen" if record["selected"] else "rest"
    width = 100 * float(record.get("strength", 0.0))
    bar = (
        f'<svg class="track" viewBox="0 0 100 10" width="100%" preserveAspectRatio="none" role="img" aria-label="{score}">'
        f'<rect class="{kind}" width="{width:.2f}" height="10"/></svg>'
    )
    return (
        f'<tr><td class="n">{record["rank"]}</td><td class="name">{escape(record["feature"])}</td>'
        f'<td class="n">{score}</td><td class="bar">{bar}</td></tr>'
    )

"""One HTML page of one or more rankings: no scripts, no requests, every name escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from graphsieve.files import replace_file
from graphsieve.report.frame import document

FEATURES_SHOWN = 40
WORTH_TELLING = 0.2  # share of a feature that others have said, from which on it is shown

_STYLE = """
td.name { max-width: 18rem; overflow-wrap: anywhere; } td.bar { width: 40%; } .track { display: block; height: .8rem; }
table.chosen td.bar { width: 24%; } td.said { color: var(--soft); font-size: .9rem; overflow-wrap: anywhere; max-width: 16rem; }
rect.chosen { fill: var(--bar); } rect.rest { fill: var(--rest); }
"""


def page(rankings: Sequence[dict[str, Any]], *, title: str, intro: Sequence[str] = ()) -> str:
    """The page as text; each ranking is `Ranking.facts()` with a ``strength`` from 0 to 1 for every feature."""
    lead = "".join(f"<p>{escape(line)}</p>" for line in intro)
    body = "".join(_section(facts) for facts in rankings)
    return document(title, f"<h1>{escape(title)}</h1>{lead}{body}", style=_STYLE)


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
    repeated = "<th>already said</th>" if features and "redundancy" in features[0] else ""
    usual = "features in the order of choice" if repeated else f"features by {facts['method']}"
    heading = facts.get("heading") or f"{facts['n_features']} {usual}"
    about = (
        f"{facts['n_samples']} samples; {facts['method']}: a good feature {facts['summary']}; "
        f"{facts['good']} scores are good ({facts['reference']})."
    )
    because = "" if facts["reason"] == "as asked" else f"<p>Chosen because {escape(facts['reason'])}.</p>"
    if facts.get("count_reason"):
        because += f"<p>How many: {escape(facts['count_reason'])}.</p>"
    table = '<table class="chosen">' if repeated else "<table>"
    notes = "".join(f"<p>{escape(note)}</p>" for note in facts.get("notes", ()))
    return (
        f"<section><h2>{escape(heading)}</h2>{because}<p>{escape(about)}</p>{notes}{table}<thead><tr>"
        f'<th class="n">rank</th><th>feature</th><th class="n">score</th><th></th>{repeated}</tr></thead>'
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
        f'<td class="n">{score}</td><td class="bar">{bar}</td>{_repetition(record)}</tr>'
    )


def _repetition(record: dict[str, Any]) -> str:
    """What of the feature those chosen have already said, where features were chosen for what they add."""
    if "redundancy" not in record:
        return ""
    return f'<td class="said">{escape(already_said(record["redundancy"], record["duplicate_of"]))}</td>'


def already_said(share: float | None, of: str | None) -> str:
    """How much of a feature the chosen ones say, and which of them it is most like; nothing where that is little.

    Near the whole, what is left is what matters, so there are as many digits as show it.
    """
    if share is None or of is None or not share >= WORTH_TELLING:
        return ""
    digits = 0 if share < 0.995 else 2
    percent = f"{100 * share:.{digits}f}" if share < 1 - 5e-5 else "100" if share >= 1 - 1e-9 else "over 99.99"
    return f"{percent} %, most like {of}"

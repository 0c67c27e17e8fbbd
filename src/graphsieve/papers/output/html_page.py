"""The claims, tables and figures as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from graphsieve.papers.output.grid import ABOUT_VERDICTS, VERDICTS, counted, grid
from graphsieve.report import chart
from graphsieve.report.frame import document

MARKS = dict(zip(VERDICTS, ("good", "between", "bad", "none"), strict=True))
STYLE = (
    chart.STYLE
    + """
body { max-width: 60rem; } h3 { font-size: 1rem; margin: 1.75rem 0 .25rem; } .scroll { overflow-x: auto; }
nav { margin: 1rem 0; display: flex; flex-wrap: wrap; gap: .25rem 1rem; } a { color: var(--bar); }
.claim { border-left: 3px solid var(--line); padding: .1rem 0 .1rem .9rem; margin: 1rem 0; } .claim p { color: var(--ink); }
.claim p.why { color: var(--soft); } .verdict { font-weight: 600; white-space: nowrap; }
.good { color: var(--good); } .between { color: var(--between); } .bad { color: var(--bad); } .none { color: var(--soft); }
.claim.good { border-color: var(--good); }
.claim.between { border-color: var(--between); } .claim.bad { border-color: var(--bad); }
.claims a { color: inherit; text-decoration-color: var(--rest); } .claims td:nth-child(2) { min-width: 6rem; }
.caption { font-size: .9rem; margin-top: 1.25rem; } .caption strong { color: var(--ink); }
.caption + .scroll table { margin-top: .4rem; }
td small { color: var(--soft); font-size: .85em; margin-right: .35em; } .claims td { vertical-align: top; }
.claims td:last-child { white-space: nowrap; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); gap: 0 2rem; }
@media (max-width: 26rem) { .charts { grid-template-columns: 1fr; } }
@media print { section { break-before: page; } }
"""
)


def as_page(reproductions: Sequence[Mapping[str, Any]], *, command: str) -> str:
    """Return a self-contained page: a table of all claims, then a section per paper."""
    title = "Reproduction of the papers"
    links = "".join(
        f'<a href="#{escape(one["paper"])}">{escape(one["paper"])}</a>' for one in reproductions
    )
    body = (
        f"<h1>{title}</h1><p>{escape(counted(reproductions))} {escape(ABOUT_VERDICTS)}</p>"
        f"<p>Made by <code>{escape(command)}</code>.</p>"
        f"<nav>{links}</nav>{_claims(reproductions)}{''.join(_paper(one) for one in reproductions)}"
    )
    return document(title, body, style=STYLE)


def _claims(reproductions: Sequence[Mapping[str, Any]]) -> str:
    rows = "".join(
        f"<tr><td>{escape(one['paper'])}</td><td>{escape(claim['where'])}</td>"
        f'<td><a href="#{_anchor(one, claim)}">{escape(claim["text"])}</a></td>'
        f'<td class="verdict {MARKS[claim["verdict"]]}">{escape(claim["verdict"])}</td></tr>'
        for one in reproductions
        for claim in one["claims"]
    )
    head = "<thead><tr><th>paper</th><th>where</th><th>claim</th><th>verdict</th></tr></thead>"
    return f'<div class="scroll"><table class="claims">{head}<tbody>{rows}</tbody></table></div>'


def _paper(facts: Mapping[str, Any]) -> str:
    claims = "".join(_claim(facts, claim) for claim in facts["claims"])
    tables = "".join(_table(table) for table in facts["tables"])
    charts = "".join(chart.chart(figure) for figure in facts["figures"])
    choices = "".join(f"<li>{escape(sentence)}</li>" for sentence in facts["settings"])
    settings = f"<h3>Choices that the paper leaves open</h3><ul>{choices}</ul>" if choices else ""
    took = f"{facts['depth'].capitalize()} run, seed {facts['seed']}, {facts['seconds']:.0f} s"
    about = f"<p>{escape(facts['introduction'])}</p>" if facts["introduction"] else ""
    if facts["notes"]:
        about += f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in facts['notes'])}</ul>"
    return (
        f'<section id="{escape(facts["paper"])}"><h2>{escape(facts["title"])}</h2>'
        f"<p>{escape(facts['reference'])}. {escape(took)}.</p>{about}{claims}{tables}"
        f'<div class="charts">{charts}</div>{settings}</section>'
    )


def _claim(facts: Mapping[str, Any], claim: Mapping[str, Any]) -> str:
    mark = MARKS[claim["verdict"]]
    return (
        f'<div class="claim {mark}" id="{_anchor(facts, claim)}"><p>'
        f'<span class="verdict {mark}">{escape(claim["verdict"])}</span> · '
        f"{escape(claim['where'])}: {escape(claim['text'])}</p><p "
        f'class="why">{escape(claim["why"])}</p></div>'
    )


def _table(table: Mapping[str, Any]) -> str:
    cells = grid(table)
    head = "".join(f'<th class="n">{escape(column)}</th>' for column in cells.columns)
    rows = "".join(
        f"<tr><td>{escape(name)}</td>{''.join(_cell(text, cells.compares) for text in texts)}</tr>"
        for name, texts in cells.rows
    )
    unit = f", {table['unit']}" if table["unit"] else ""
    reading = (
        "<small>paper</small> ours ± standard error" if cells.compares else "ours ± standard error"
    )
    caption = (
        f"<strong>{escape(table['label'])}: {escape(table['title'])}</strong> "
        f"({reading}{escape(unit)}). {escape(table['note'])}"
    )
    name = escape(f"{table['label']}: {table['title']}")
    # A <caption> would scroll away with a wide table.
    return (
        f'<p class="caption">{caption}</p><div class="scroll"><table '
        f'aria-label="{name}"><thead><tr><th></th>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _cell(text: str, compares: bool) -> str:
    paper, found, ours = text.partition(" | ")
    inner = f"<small>{escape(paper)}</small> {escape(ours)}" if compares and found else escape(text)
    return f'<td class="n">{inner}</td>'


def _anchor(facts: Mapping[str, Any], claim: Mapping[str, Any]) -> str:
    return escape(f"{facts['paper']}-{claim['key']}")

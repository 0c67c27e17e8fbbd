"""The report: one self-contained HTML page, made from facts (plain dicts)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphsieve.report.chart import chart
from graphsieve.report.cut import cut_section
from graphsieve.report.frame import asset, document
from graphsieve.report.matrix import agreement, redundancy_section
from graphsieve.report.pictures import of_selected, pictures_section
from graphsieve.report.ranking_table import ranking_section
from graphsieve.report.wording import (
    block,
    comparison_text,
    counted,
    full_stop,
    listed,
    missing_text,
    name,
    recall_text,
    search_outcome,
    sentence,
    shown,
    thousands,
)

NAMES_IN_ANSWER = 8
WIDE = 15  # ratio of the largest to the smallest number of features for a logarithmic axis
FOLDED_FROM = 6  # excluded columns; longer lists are folded

Facts = Mapping[str, Any]


def page(facts: Facts) -> str:
    """Return the whole page; see `Ranking.report_facts` for the facts."""
    ranking = facts["ranking"]
    portraits = of_selected(facts["portraits"], ranking) if facts["portraits"] else None
    sections = [
        ("features", "ranking", ranking_section(ranking)),
        ("cut", "cut-off", cut_section(ranking)),
        ("values", "values", pictures_section(portraits, ranking) if portraits else ""),
        (
            "correlations",
            "correlations",
            redundancy_section(portraits["correlations"]) if portraits else "",
        ),
        ("compared", "comparison", _compared(facts["comparison"]) if facts["comparison"] else ""),
        ("done", "details", _done(facts)),
        ("again", "reproduce", _again(facts["repeat"]) if facts["repeat"] else ""),
    ]
    present = [section for section in sections if section[2]]
    links = "".join(f'<a href="#{anchor}">{text}</a>' for anchor, text, _ in present)
    body = (
        f"<header>{_header(facts)}</header><main>{_warnings(facts['done']['warnings'])}"
        f'<nav aria-label="On this page">{links}</nav>'
        f"{''.join(markup for _, _, markup in present)}</main>"
    )
    style = asset("plot.css") + asset("report.css")
    return document(shown(facts["title"], 200), body, style=style, script=asset("report.js"))


def _header(facts: Facts) -> str:
    table, ranking = facts["table"], facts["ranking"]
    source = f"{name(table['name'])} · " if table else ""
    size = (
        f"{counted(ranking['n_samples'], 'sample')} · {counted(ranking['n_features'], 'feature')}"
    )
    rows = "".join(f"<dt>{term}</dt><dd>{text}</dd>" for term, text in _about(facts) if text)
    return (
        f'<p class="source">{source}{size}</p><h1>{name(facts["title"], 200)}</h1>'
        f'<p class="answer">{answer(ranking)}</p><dl class="about">{rows}</dl>'
    )


def answer(ranking: Facts) -> str:
    """Return the answer in one line: the number and the names of the selected features."""
    selected = [name(record["feature"], 40) for record in ranking["features"] if record["selected"]]
    n = ranking["n_features"]
    if not selected:
        return f"<strong>None of {counted(n, 'feature')}</strong> selected."
    return (
        f"<strong>{thousands(len(selected))} of {counted(n, 'feature')}</strong> selected: "
        f"{listed(selected, NAMES_IN_ANSWER)}."
    )


def _about(facts: Facts) -> list[tuple[str, str]]:
    ranking, known = facts["ranking"], facts["known"]
    return [
        ("Supervision", _known(known) if known else ""),
        (
            "Number of features",
            sentence(full_stop(_capital(ranking["count_reason"])))
            if ranking["count_reason"]
            else "",
        ),
        (
            "Missing values",
            " ".join(sentence(full_stop(_capital(text))) for text in missing_text(ranking)),
        ),
        ("Method", method_text(ranking, known["text"] if known else None)),
        (
            "Searches compared",
            sentence(full_stop(_capital(errors))) if (errors := comparison_text(ranking)) else "",
        ),
        (
            "Neighbours",
            sentence(full_stop(_capital(found))) if (found := recall_text(ranking)) else "",
        ),
    ]


def _known(known: Facts) -> str:
    text = sentence(full_stop(_capital(known["text"])))
    if known["target"] is not None:
        text += f" The target is {name(known['target'])}."
    if known["classes"]:
        chips = "".join(
            f'<li>{name(one["name"], 40)} <span class="n">{thousands(one["n"])}</span></li>'
            for one in known["classes"]
        )
        text += f'<ul class="chips">{chips}</ul>'
    return text


def method_text(ranking: Facts, known: str | None = None) -> str:
    """Describe the method, the reason for it, and its reference.

    The reason is left out if it equals `known`, the description of the supervision.
    """
    subject = "The search" if ranking.get("is_search") else "A good feature"
    return (
        f"<strong>{sentence(ranking['method'])}</strong>. {subject} "
        f"{sentence(ranking['summary'])}."
        f"{_reason(ranking['reason'], known)}"
        f' <span class="reference">({sentence(ranking["reference"])})</span>'
    )


def _reason(reason: str, known: str | None) -> str:
    """Return the reason for the method, or the outcome of a search that was requested."""
    if reason == known:
        return ""
    outcome = search_outcome(reason)
    if outcome is None:
        return f" Reason: {sentence(reason)}."
    return f" {sentence(full_stop(_capital(outcome)))}" if outcome else ""


def _warnings(warnings: Sequence[str]) -> str:
    if not warnings:
        return ""
    items = "".join(f"<li>{sentence(text)}</li>" for text in warnings)
    return (
        '<div class="warnings" role="note" aria-label="Warnings"><strong>Warnings</strong>'
        f"<ul>{items}</ul></div>"
    )


def _compared(comparison: Facts) -> str:
    text = "".join(f"<p>{sentence(one)}</p>" for one in comparison["text"])
    curves = "".join(chart(_shown_curve(curve)) for curve in comparison["curves"] or ())
    charts = f'<div class="charts">{curves}</div>' if curves else ""
    how = f"<h3>Agreement between methods</h3><p>{sentence(comparison['agreement_text'])}</p>"
    table = (
        agreement(comparison["methods"], comparison["agreement"])
        if len(comparison["methods"]) > 1
        else ""
    )
    return (
        '<section id="compared"><h2>Comparison of methods</h2>'
        f"{text}{charts}{how + table if table else ''}</section>"
    )


def _shown_curve(curve: Facts) -> dict[str, Any]:
    """Return the curve with all its texts cleaned and shortened for display."""
    texts = {key: shown(curve[key], 300) for key in ("label", "title", "x_label", "y_label")}
    note = shown(curve["note"], 300) if curve.get("note") else None
    series = [{**one, "name": shown(one["name"], 40)} for one in curve["series"]]
    sizes = [x for one in series for x in one["x"] if x is not None]
    # Numbers of features such as 1, 2, 5, 10, … 100 would crowd at the left of a linear axis.
    wide = bool(sizes) and 0 < WIDE * min(sizes) <= max(sizes)
    return {**curve, **texts, "note": note, "series": series, "logarithmic": wide}


def _done(facts: Facts) -> str:
    done, table = facts["done"], facts["table"]
    parts = [
        _table_read(table) if table else "",
        _pairs("Parameters", done["parameters"]),
        _pairs("Versions", done["versions"]),
    ]
    return f'<section id="done"><h2>Details</h2>{"".join(parts)}</section>' if any(parts) else ""


def _table_read(table: Facts) -> str:
    notes = "".join(f"<li>{sentence(note)}</li>" for note in table["notes"])
    read = (
        f"<p>{name(table['name'])} ({sentence(table['format'])}): "
        f"{counted(table['n_rows'], 'row')}, "
        f"{counted(table['n_columns'], 'column')}, of which {thousands(table['n_features'])} are "
        "features.</p>"
    )
    return (
        f"<h3>Table</h3>{read}{f'<ul>{notes}</ul>' if notes else ''}{_left_out(table['left_out'])}"
    )


def _left_out(left_out: Sequence[Facts]) -> str:
    if not left_out:
        return ""
    rows = "".join(
        f"<tr><td>{name(one['column'])}</td><td>{sentence(one['why'])}</td></tr>"
        for one in left_out
    )
    head = f"{counted(len(left_out), 'column')} excluded"
    listing = (
        "<div "
        f'class="scroll"><table><thead><tr><th>column</th><th>reason</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )
    opened = "" if len(left_out) >= FOLDED_FROM else " open"
    return f"<details{opened}><summary>{head}</summary>{listing}</details>"


def _pairs(title: str, pairs: Sequence[Sequence[str]]) -> str:
    if not pairs:
        return ""
    rows = "".join(f"<dt>{name(key)}</dt><dd>{sentence(value)}</dd>" for key, value in pairs)
    return f'<h3>{title}</h3><dl class="pairs">{rows}</dl>'


def _again(repeat: Facts) -> str:
    ways = [("In a terminal", repeat["command"]), ("In Python", repeat["python"])]
    code = "".join(
        f'<h3>{title}</h3><div class="code"><pre>{block(text)}</pre></div>'
        for title, text in ways
        if text
    )
    return f'<section id="again"><h2>Reproduce this result</h2>{code}</section>' if code else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

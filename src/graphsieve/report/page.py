"""The report: facts (plain dicts) in, one page out that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphsieve.report.chart import chart
from graphsieve.report.cut import cut_section
from graphsieve.report.frame import asset, document
from graphsieve.report.matrix import agreement, repeats_section
from graphsieve.report.pictures import of_chosen, pictures_section
from graphsieve.report.ranking_table import ranking_section
from graphsieve.report.wording import (
    block,
    counted,
    full_stop,
    how_it_went,
    in_order_of_choice,
    listed,
    name,
    neighbors_found,
    sentence,
    shown,
    thousands,
)

NAMES_IN_ANSWER = 8
WIDE = 15  # times the smallest number of features, from which on curves have a logarithmic axis
FOLDED_FROM = 6  # columns that were left out, from which on the list is folded

Facts = Mapping[str, Any]


def page(facts: Facts) -> str:
    """The whole page; for the facts see `Ranking.to_html`."""
    ranking = facts["ranking"]
    portraits = of_chosen(facts["portraits"], ranking) if facts["portraits"] else None
    sections = [
        ("features", "ranking", ranking_section(ranking)),
        ("cut", "cut", cut_section(ranking)),
        ("behaviour", "behaviour", pictures_section(portraits, ranking) if portraits else ""),
        ("repeats", "repetition", repeats_section(portraits["correlations"]) if portraits else ""),
        ("compared", "comparison", _compared(facts["comparison"]) if facts["comparison"] else ""),
        ("done", "what was done", _done(facts)),
        ("again", "do it again", _again(facts["repeat"]) if facts["repeat"] else ""),
    ]
    there = [section for section in sections if section[2]]
    links = "".join(f'<a href="#{anchor}">{text}</a>' for anchor, text, _ in there)
    body = (
        f"<header>{_header(facts)}</header><main>{_warnings(facts['done']['warnings'])}"
        f'<nav aria-label="On this page">{links}</nav>'
        f"{''.join(markup for _, _, markup in there)}</main>"
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
    """The one line that people came for."""
    chosen = [name(record["feature"], 40) for record in ranking["features"] if record["selected"]]
    n = ranking["n_features"]
    if not chosen:
        return f"<strong>None of {counted(n, 'feature')}</strong> is selected."
    are = "is" if len(chosen) == 1 else "are"
    return (
        f"<strong>{thousands(len(chosen))} of {counted(n, 'feature')}</strong> {are} selected: "
        f"{listed(chosen, NAMES_IN_ANSWER)}."
    )


def _about(facts: Facts) -> list[tuple[str, str]]:
    ranking, known = facts["ranking"], facts["known"]
    return [
        ("What was known", _known(known) if known else ""),
        (
            "How many",
            sentence(full_stop(_capital(ranking["count_reason"])))
            if ranking["count_reason"]
            else "",
        ),
        ("How they were chosen", chosen_how(ranking, known["text"] if known else None)),
        (
            "Neighbours",
            sentence(full_stop(_capital(found))) if (found := neighbors_found(ranking)) else "",
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


def chosen_how(ranking: Facts, known: str | None = None) -> str:
    """The method, what it looks for, why it was taken (unless that is what is `known`, said
    already), where it was published.
    """
    # In rounds, a search does something; otherwise a feature does, also where it is chosen for what
    # it adds.
    looks_for = (
        ", which"
        if ranking.get("is_search") and not in_order_of_choice(ranking)
        else ": a good feature"
    )
    return (
        f"By <strong>{sentence(ranking['method'])}</strong>{looks_for} "
        f"{sentence(ranking['summary'])}."
        f"{_because(ranking['reason'], known)}"
        f' <span class="reference">({sentence(ranking["reference"])})</span>'
    )


def _because(reason: str, known: str | None) -> str:
    """Why the method was taken; where somebody asked for it, how it went, which searches add."""
    if reason == known:
        return ""
    went = how_it_went(reason)
    if went is None:
        return f" Taken because {sentence(reason)}."
    return f" {sentence(full_stop(_capital(went)))}" if went else ""


def _warnings(warnings: Sequence[str]) -> str:
    if not warnings:
        return ""
    items = "".join(f"<li>{sentence(text)}</li>" for text in warnings)
    return (
        '<div class="warnings" role="note" aria-label="Warnings"><strong>Worth a '
        f"look</strong><ul>{items}</ul></div>"
    )


def _compared(comparison: Facts) -> str:
    text = "".join(f"<p>{sentence(one)}</p>" for one in comparison["text"])
    curves = "".join(chart(_shown_curve(curve)) for curve in comparison["curves"] or ())
    charts = f'<div class="charts">{curves}</div>' if curves else ""
    how = f"<h3>How much the methods agree</h3><p>{sentence(comparison['agreement_text'])}</p>"
    table = (
        agreement(comparison["methods"], comparison["agreement"])
        if len(comparison["methods"]) > 1
        else ""
    )
    return (
        "<section "
        f'id="compared"><h2>Compared</h2>{text}{charts}{how + table if table else ""}</section>'
    )


def _shown_curve(curve: Facts) -> dict[str, Any]:
    """The curve with all its texts in the form in which they may be shown."""
    texts = {key: shown(curve[key], 300) for key in ("label", "title", "x_label", "y_label")}
    note = shown(curve["note"], 300) if curve.get("note") else None
    series = [{**one, "name": shown(one["name"], 40)} for one in curve["series"]]
    sizes = [x for one in series for x in one["x"] if x is not None]
    # Numbers of features grow by factors: 1, 2, 5, 10, … 100 would crowd at the left.
    wide = bool(sizes) and 0 < WIDE * min(sizes) <= max(sizes)
    return {**curve, **texts, "note": note, "series": series, "logarithmic": wide}


def _done(facts: Facts) -> str:
    done, table = facts["done"], facts["table"]
    parts = [
        _table_read(table) if table else "",
        _pairs("Parameters", done["parameters"]),
        _pairs("Versions", done["versions"]),
    ]
    return (
        f'<section id="done"><h2>What was read, what was done</h2>{"".join(parts)}</section>'
        if any(parts)
        else ""
    )


def _table_read(table: Facts) -> str:
    notes = "".join(f"<li>{sentence(note)}</li>" for note in table["notes"])
    read = (
        f"<p>{name(table['name'])} ({sentence(table['format'])}): "
        f"{counted(table['n_rows'], 'row')}, "
        f"{counted(table['n_columns'], 'column')}, of which {thousands(table['n_features'])} are "
        "features.</p>"
    )
    return (
        "<h3>The "
        f"table</h3>{read}{f'<ul>{notes}</ul>' if notes else ''}{_left_out(table['left_out'])}"
    )


def _left_out(left_out: Sequence[Facts]) -> str:
    if not left_out:
        return ""
    rows = "".join(
        f"<tr><td>{name(one['column'])}</td><td>{sentence(one['why'])}</td></tr>"
        for one in left_out
    )
    head = f"{counted(len(left_out), 'column')} left out"
    listing = (
        "<div "
        f'class="scroll"><table><thead><tr><th>column</th><th>why</th></tr></thead><tbody>{rows}</tbody></table></div>'
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
    return f'<section id="again"><h2>Do it again</h2>{code}</section>' if code else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

"""The ranking in a notebook: HTML without scripts, in the colours of the notebook's theme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from graphsieve.report.page import answer, method_text
from graphsieve.report.wording import (
    counted,
    gain_text,
    in_selection_order,
    name,
    redundancy_text,
    score_text,
    shown,
)

ROWS = 20
CHOSEN, REST = "#2b8a95", "#8a9a9c"  # visible on white and on black
SOFT = "opacity:.75"


def fragment(facts: Mapping[str, Any]) -> str:
    """Return the answer, the reason and the first rows as HTML."""
    ranking = facts["ranking"]
    features = ranking["features"]
    by_gain = in_selection_order(ranking)
    rows = "".join(_row(record, by_gain) for record in features[:ROWS])
    hidden = max(0, len(features) - ROWS)
    more = (
        f'<p style="margin:.4em 0;{SOFT}">… and {counted(hidden, "more feature")}.</p>'
        if hidden
        else ""
    )
    heads = [("right", SOFT, "rank"), ("left", SOFT, "feature"), ("right", SOFT, "score")]
    if by_gain:
        heads.append(("right", SOFT, "gain"))
    heads.append(("left", SOFT, ""))
    if by_gain:
        heads.append(("left", SOFT, "redundancy"))
    cells = _cells("th", heads)
    return (
        '<div style="color:inherit;max-width:60em"><p style="margin:.2em '
        f'0;font-size:1.1em">{answer(ranking)}</p>'
        f'<p style="margin:.2em 0 .8em;{SOFT}">{method_text(ranking)}</p>'
        "<table "
        'style="border-collapse:collapse;border:0;font-variant-numeric:tabular-nums;margin:0">'
        f"<thead><tr>{cells}</tr></thead><tbody>{rows}</tbody></table>{more}</div>"
    )


def _row(record: Mapping[str, Any], by_gain: bool) -> str:
    chosen = record["selected"]
    bar = (
        "<span "
        f'style="display:inline-block;height:.7em;min-width:1px;width:{9 * record["strength"]:.2f}em;'
        f'background:{CHOSEN if chosen else REST};border-radius:1px"></span>'
    )
    of = record.get("closest")
    redundancy = redundancy_text(record.get("redundancy"), None if of is None else shown(of, 40))
    weight = "font-weight:600" if chosen else ""
    cells = [
        ("right", "", str(record["rank"])),
        ("left", weight, name(record["feature"], 60)),
        ("right", "", score_text(record)),
    ]
    if by_gain:
        cells.append(("right", "", gain_text(record)))
    cells.append(("left", "width:9.5em", bar))
    if by_gain:
        cells.append(("left", SOFT, f"<bdi>{escape(redundancy)}</bdi>"))
    return f'<tr style="background:none">{_cells("td", cells)}</tr>'


def _cells(tag: str, cells: Sequence[tuple[str, str, str]]) -> str:
    """Return table cells, each given by its alignment, style and HTML.

    Everything that a notebook's own style sets for tables is set here.
    """
    return "".join(
        f'<{tag} style="text-align:{side};padding:.15em .9em .15em '
        f'0;border:0;max-width:none;{style}">{text}</{tag}>'
        for side, style, text in cells
    )

"""Matrices of numbers between −1 and 1 as coloured tables: correlations, agreement of methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from graphsieve.report.wording import listed, name, number, shown

LEGIBLE = 12  # columns; in larger matrices the cells have no room for numbers
STRONG = 0.7  # absolute correlation
PAIRS_LISTED = 6


def redundancy_section(correlations: Mapping[str, Any]) -> str:
    """Return the correlations between the selected features. Empty for fewer than two."""
    features, values = correlations["features"], correlations["values"]
    if len(features) < 2:
        return ""
    return (
        '<section id="correlations"><h2>Correlations between the selected features</h2>'
        "<p>Features are in the order of their ranks. Strong colours mark features that share much "
        f"of their variance.{_definition(correlations)}</p>{_strongest(features, values)}"
        f"{heat_map(features, values, 'Correlations between the selected features')}{_scale()}"
        "</section>"
    )


def _definition(correlations: Mapping[str, Any]) -> str:
    if correlations.get("of_single_columns", True):
        return ""
    return (
        " The value is Cramér’s V for two categories, and the correlation ratio for a category and "
        "a number. For groups of columns it is the root of the mean squared canonical correlation."
    )


def _strongest(features: Sequence[str], values: Sequence[Sequence[float]]) -> str:
    """Describe the strongest correlations in words."""
    pairs = [(i, j) for i in range(len(features)) for j in range(i)]
    pairs.sort(key=lambda pair: (-abs(values[pair[0]][pair[1]]), pair))
    strong = [pair for pair in pairs if abs(values[pair[0]][pair[1]]) >= STRONG]

    def described(pair: tuple[int, int]) -> str:
        i, j = pair
        return f"{name(features[j], 40)} and {name(features[i], 40)} ({_cell_text(values[i][j])})"

    if strong:
        listed_pairs = "; ".join(described(pair) for pair in strong[:PAIRS_LISTED])
        more = (
            f"; and {len(strong) - PAIRS_LISTED} more pairs beyond ±{STRONG}"
            if len(strong) > PAIRS_LISTED
            else ""
        )
        return f"<p>Strongest correlations: {listed_pairs}{more}.</p>"
    return (
        f"<p>No correlation is beyond ±{STRONG}. The strongest is between "
        f"{described(pairs[0])}.</p>"
    )


def heat_map(names: Sequence[str], values: Sequence[Sequence[float]], label: str) -> str:
    """Return a matrix as an HTML table, which screen readers can read.

    The numbers are visible if the cells have room for them.
    """
    kind = "heat" if len(names) <= LEGIBLE else "heat dense"
    heads = "".join(
        f'<th scope="col" title="{escape(shown(one))}">{place}</th>'
        for place, one in enumerate(names, 1)
    )
    rows = "".join(
        f'<tr><th scope="row" title="{escape(shown(one))}"><span '
        f'class="place">{place + 1}</span>{name(one, 40)}</th>'
        f"{''.join(_cell(names, place, other, values[place][other]) for other in range(len(names)))}</tr>"
        for place, one in enumerate(names)
    )
    head = f"<thead><tr><td></td>{heads}</tr></thead>"
    return f'<table class="{kind}" aria-label="{escape(label)}">{head}<tbody>{rows}</tbody></table>'


def _cell(names: Sequence[str], i: int, j: int, value: float) -> str:
    if i == j:
        return '<td class="self"></td>'
    title = escape(f"{shown(names[i], 40)} and {shown(names[j], 40)}: {number(value, 2)}")
    sign = "minus" if value < 0 else "plus"
    return (
        f'<td class="{sign}" style="--r:{min(1.0, abs(value)):.2f}" '
        f'title="{title}"><span>{_cell_text(value)}</span></td>'
    )


def _cell_text(value: float) -> str:
    """Return a correlation with two digits, or three if two would round it to 1."""
    digits = 3 if 0.995 <= abs(value) < 1 else 2
    return f"{value:.{digits}f}".replace("-", "−") if round(value, 2) else "0"


def _scale() -> str:
    cells = "".join(
        f'<i class="{"minus" if step < 0 else "plus"}" style="--r:{abs(step) / 4:.2f}"></i>'
        for step in range(-4, 5)
    )
    return f'<p class="scale" aria-hidden="true">−1 {cells} 1</p>'


def agreement(methods: Sequence[str], values: Sequence[Sequence[float]]) -> str:
    """Return the agreement between methods as the same kind of table."""
    return heat_map(
        methods,
        values,
        f"Agreement between {listed([shown(method, 40) for method in methods], 12)}",
    )

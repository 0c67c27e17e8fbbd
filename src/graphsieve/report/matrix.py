"""Square tables of numbers between −1 and 1 as colours: who repeats whom, which methods agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from graphsieve.report.wording import listed, name, number, shown

LEGIBLE = 12  # columns, up to which each cell has room for its number
STRONG = 0.7
PAIRS_TOLD = 6


def repeats_section(correlations: Mapping[str, Any]) -> str:
    """The correlation between the chosen features; nothing where there are not two."""
    features, values = correlations["features"], correlations["values"]
    if len(features) < 2:
        return ""
    return (
        '<section id="repeats"><h2>Who repeats whom</h2>'
        "<p>The correlation between the chosen features, in the order of their ranks. A strong "
        "colour means that one says much "
        f"of what the other says.</p>{_strongest(features, values)}"
        f"{heat_map(features, values, 'Correlation between the chosen features')}{_scale()}</section>"
    )


def _strongest(features: Sequence[str], values: Sequence[Sequence[float]]) -> str:
    """The strongest pairs in words."""
    pairs = [(i, j) for i in range(len(features)) for j in range(i)]
    pairs.sort(key=lambda pair: (-abs(values[pair[0]][pair[1]]), pair))
    strong = [pair for pair in pairs if abs(values[pair[0]][pair[1]]) >= STRONG]

    def told(pair: tuple[int, int]) -> str:
        i, j = pair
        return f"{name(features[j], 40)} and {name(features[i], 40)} ({_cell_text(values[i][j])})"

    if strong:
        pairs_told = "; ".join(told(pair) for pair in strong[:PAIRS_TOLD])
        more = (
            f"; and {len(strong) - PAIRS_TOLD} more pairs beyond ±{STRONG}"
            if len(strong) > PAIRS_TOLD
            else ""
        )
        return f"<p>Most alike: {pairs_told}{more}.</p>"
    return f"<p>No two are beyond ±{STRONG}; the nearest to it are {told(pairs[0])}.</p>"


def heat_map(names: Sequence[str], values: Sequence[Sequence[float]], label: str) -> str:
    """A real table, so that it can be read aloud; the numbers are seen where there is room for
    them.
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
    """Two digits; three where two would say that the features are one."""
    digits = 3 if 0.995 <= abs(value) < 1 else 2
    return f"{value:.{digits}f}".replace("-", "−") if round(value, 2) else "0"


def _scale() -> str:
    cells = "".join(
        f'<i class="{"minus" if step < 0 else "plus"}" style="--r:{abs(step) / 4:.2f}"></i>'
        for step in range(-4, 5)
    )
    return f'<p class="scale" aria-hidden="true">−1 {cells} 1</p>'


def agreement(methods: Sequence[str], values: Sequence[Sequence[float]]) -> str:
    """How much methods agree, as the same kind of table."""
    return heat_map(
        methods,
        values,
        f"Agreement between {listed([shown(method, 40) for method in methods], 12)}",
    )

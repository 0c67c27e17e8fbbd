"""What a part of the suite is, and the bars it is held to."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple


class Bar(NamedTuple):
    """A claim, what was wanted of it, what was found, and whether that is enough (None: not
    measured).
    """

    claim: str
    wanted: str
    found: str
    met: bool | None

    @property
    def verdict(self) -> str:
        return {True: "met", False: "**NOT met**", None: "not measured"}[self.met]


class Part(NamedTuple):
    """One thing that is measured: `measure` finds plain values, `text` and `bars` make the page of
    them.

    `bars` gets None where nothing was measured yet. A large part takes long and runs only when it
    is asked for.
    """

    name: str
    title: str
    about: str
    measure: Callable[[], dict[str, Any]]
    text: Callable[[dict[str, Any]], list[str]]
    bars: Callable[[dict[str, Any] | None], list[Bar]] = lambda _: []
    large: bool = False


def at_least(claim: str, value: float | None, bar: float, unit: str = "") -> Bar:
    return Bar(
        claim,
        f"at least {bar:g}{unit}",
        _figure(value, unit),
        None if value is None else value >= bar,
    )


def at_most(claim: str, value: float | None, bar: float, unit: str = "") -> Bar:
    return Bar(
        claim,
        f"at most {bar:g}{unit}",
        _figure(value, unit),
        None if value is None else value <= bar,
    )


def _figure(value: float | None, unit: str) -> str:
    return "–" if value is None else f"{significant(value)}{unit}"


def significant(value: float) -> str:
    """Three digits, without exponents: 0.00123, 1.23, 123, 12,300."""
    if not math.isfinite(value):
        return str(value)
    if abs(value) >= 100:
        return f"{float(f'{value:.3g}'):,.0f}"
    if abs(value) < 1e-4:
        return f"{value:.1g}"
    text = f"{float(f'{value:.3g}'):.6f}".rstrip("0").rstrip(".")
    return text or "0"


def seconds(value: float) -> str:
    """A time as people say it."""
    return f"{significant(1000 * value)} ms" if value < 0.1 else f"{significant(value)} s"


def times(value: float) -> str:
    return f"{value:.0f}×" if value >= 20 else f"{value:.1f}×" if value >= 2 else f"{value:.2f}×"


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    """A Markdown table; all columns but the first are set to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def shape(n: int, p: int) -> str:
    return f"{n:,} × {p:,}"

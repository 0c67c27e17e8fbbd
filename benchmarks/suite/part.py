"""Parts of the benchmark suite and their targets."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

WIDTH = 100  # columns of the prose
NO_BREAK = "\xa0"


class Target(NamedTuple):
    """A claim, the wanted and the measured value, and whether it is met (None: not measured)."""

    claim: str
    wanted: str
    found: str
    met: bool | None

    @property
    def verdict(self) -> str:
        return {True: "met", False: "**NOT met**", None: "not measured"}[self.met]


class Part(NamedTuple):
    """A part of the suite. `measure` returns plain values; `text` and `targets` render them.

    `targets` gets None if the part was not measured. A large part takes long and runs only on
    request.
    """

    name: str
    title: str
    about: str
    measure: Callable[[], dict[str, Any]]
    text: Callable[[dict[str, Any]], list[str]]
    targets: Callable[[dict[str, Any] | None], list[Target]] = lambda _: []
    large: bool = False


def at_least(claim: str, value: float | None, target: float, unit: str = "") -> Target:
    return Target(
        claim,
        f"at least {target:g}{unit}",
        _figure(value, unit),
        None if value is None else value >= target,
    )


def at_most(claim: str, value: float | None, target: float, unit: str = "") -> Target:
    return Target(
        claim,
        f"at most {target:g}{unit}",
        _figure(value, unit),
        None if value is None else value <= target,
    )


def _figure(value: float | None, unit: str) -> str:
    return "–" if value is None else f"{significant(value)}{unit}"


def significant(value: float) -> str:
    """Format a number with three digits and without exponent: 0.00123, 1.23, 123, 12,300."""
    if not math.isfinite(value):
        return str(value)
    if abs(value) >= 100:
        return f"{float(f'{value:.3g}'):,.0f}"
    if abs(value) < 1e-4:
        return f"{value:.1g}"
    text = f"{float(f'{value:.3g}'):.6f}".rstrip("0").rstrip(".")
    return text or "0"


def seconds(value: float) -> str:
    """Format a time in seconds or milliseconds."""
    return f"{significant(1000 * value)} ms" if value < 0.1 else f"{significant(value)} s"


def times(value: float) -> str:
    return f"{value:.0f}×" if value >= 20 else f"{value:.1f}×" if value >= 2 else f"{value:.2f}×"


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a Markdown table. All columns but the first are right-aligned."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def wrapped(text: str) -> list[str]:
    """Wrap a paragraph at 100 columns, but not inside code."""
    together = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", NO_BREAK), text)
    lines = textwrap.wrap(together, WIDTH, break_long_words=False, break_on_hyphens=False)
    return [line.replace(NO_BREAK, " ") for line in lines]


def warned(cases: Iterable[tuple[str, list[str]]]) -> list[str]:
    """Return a list of the warnings of cases, given as pairs of a title and its messages."""
    lines = [
        line
        for title, messages in cases
        for message in messages
        for line in textwrap.wrap(
            f"- {title}: “{message}”", WIDTH, subsequent_indent="  ", break_on_hyphens=False
        )
    ]
    return ["", "Warnings:", "", *lines] if lines else []


def shape(n: int, p: int) -> str:
    return f"{n:,} × {p:,}"

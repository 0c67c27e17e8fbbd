"""SVG plots that fit any width: the drawing stretches, while lines, dots and text keep their size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from sys import float_info

SIDE = 1000  # width and height of a drawing in its own units
ROOM_FOR_A_NUMBER = 0.07  # share of the width


@dataclass(frozen=True)
class Axis:
    """Map from values to positions between 0 and 1.

    `whole` marks integers only. `marked` lists the values to mark instead of round ones.
    """

    low: float
    high: float
    label: str = ""
    whole: bool = False
    logarithmic: bool = False
    marked: tuple[float, ...] = ()

    def place(self, value: float) -> float:
        """Return the position of a value, 0 at the low end."""
        if self.logarithmic:
            return log10(value / self.low) / (log10(self.high / self.low) or 1.0)
        # Halves avoid overflow: the difference of two doubles can exceed the largest double.
        return (value / 2 - self.low / 2) / ((self.high / 2 - self.low / 2) or 1.0)

    def marks(self, wanted: int) -> list[tuple[float, str]]:
        """Return the values to mark on the axis, as positions and texts."""
        if self.marked:
            values = self._apart()
        elif self.logarithmic:
            values = [
                10.0**power
                for power in range(ceil(log10(self.low)), floor(log10(self.high) + 1e-9) + 1)
            ]
        else:
            values = [
                value
                for value in ticks(self.low, self.high, wanted)
                if not self.whole or value % 1 == 0
            ]
        return [(self.place(value), f"{value:.12g}".replace("-", "−")) for value in values]

    def _apart(self) -> list[float]:
        """Return the values to mark, without those too close to the one before."""
        chosen: list[float] = []
        for value in sorted(self.marked):
            if not chosen or self.place(value) - self.place(chosen[-1]) >= ROOM_FOR_A_NUMBER:
                chosen.append(value)
        return chosen


def ticks(low: float, high: float, wanted: int = 6) -> list[float]:
    """Return about `wanted` round numbers between low and high."""
    raw = high / wanted - low / wanted
    magnitude = 10.0 ** floor(log10(raw)) if raw > 0 else 0.0
    if not magnitude:  # The range is zero, or so small that a step underflows.
        return [low]
    step = next(
        factor * magnitude for factor in (1, 2, 2.5, 5, 10) if factor * magnitude >= raw * 0.999
    )
    return [
        float(f"{i * step:.12g}")
        for i in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)
    ]


def padded(low: float, high: float) -> tuple[float, float]:
    """Widen a range by a margin at both ends, also if it holds a single value."""
    room = (0.05 * high - 0.05 * low) or 0.05 * abs(high) or 1.0
    return max(low - room, -float_info.max), min(high + room, float_info.max)


def picture(parts: Iterable[str]) -> str:
    """Return the parts as one SVG drawing that fills its box."""
    return (
        f'<svg viewBox="0 0 {SIDE} {SIDE}" preserveAspectRatio="none" '
        f'aria-hidden="true">{"".join(parts)}</svg>'
    )


def dots(points: Iterable[tuple[float, float]], kind: str) -> str:
    """Draw points (between 0 and 1) as one path of zero-length lines with round caps.

    Such dots keep their size when the drawing stretches.
    """
    path = "".join(f"M{_unit(x)} {_unit(1 - y)}h0" for x, y in points)
    return f'<path class="dots {kind}" d="{path}"/>' if path else ""


def stems(points: Iterable[tuple[float, float]], kind: str) -> str:
    """Draw a line from the lower edge to each point."""
    path = "".join(f"M{_unit(x)} {SIDE}V{_unit(1 - y)}" for x, y in points)
    return f'<path class="stems {kind}" d="{path}"/>' if path else ""


def line(points: Sequence[tuple[float, float]], kind: str) -> str:
    """Draw a line through the points."""
    return f'<path class="line {kind}" d="M{_through(points)}"/>' if points else ""


def area(points: Sequence[tuple[float, float]], kind: str) -> str:
    """Draw the area below the line through the points."""
    if not points:
        return ""
    (first, _), (last, _) = points[0], points[-1]
    return f'<path class="area {kind}" d="M{_through([(first, 0), *points, (last, 0)])}Z"/>'


def band(
    upper: Sequence[tuple[float, float]], lower: Sequence[tuple[float, float]], kind: str
) -> str:
    """Draw the area between two lines."""
    return f'<path class="band {kind}" d="M{_through([*upper, *reversed(lower)])}Z"/>'


def plot(
    parts: Iterable[str],
    x: Axis,
    y: Axis,
    *,
    label: str,
    extra: str = "",
    wanted: tuple[int, int] = (6, 5),
) -> str:
    """Return a drawing with axes. `extra` is HTML beside it that shares the vertical axis."""
    marks_x, marks_y = x.marks(wanted[0]), y.marks(wanted[1])
    grid = "".join(f'<path class="grid" d="M0 {_unit(1 - at)}H{SIDE}"/>' for at, _ in marks_y)
    letters = "".join(
        f'<span class="up" style="top:{100 * (1 - at):.2f}%">{text}</span>' for at, text in marks_y
    )
    letters += "".join(
        f'<span class="across" style="left:{100 * at:.2f}%">{text}</span>' for at, text in marks_x
    )
    return (
        f'<div class="plot" role="img" aria-label="{escape(label)}"><div class="title '
        f'up">{escape(y.label)}</div>'
        f'<div class="canvas">{picture([grid, *parts])}{letters}</div>{extra}'
        f'<div class="title across">{escape(x.label)}</div></div>'
    )


def _through(points: Iterable[tuple[float, float]]) -> str:
    return "L".join(f"{_unit(x)} {_unit(1 - y)}" for x, y in points)


def _unit(share: float) -> str:
    return f"{SIDE * share:.0f}"

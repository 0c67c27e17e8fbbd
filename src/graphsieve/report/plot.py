"""Drawings that fit any width: the picture stretches, while its lines, dots and letters keep
their size.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from sys import float_info

SIDE = 1000  # the picture's own units in either direction
ROOM_FOR_A_NUMBER = 0.07  # of the width


@dataclass(frozen=True)
class Axis:
    """From values to places between 0 and 1; `whole` for ranks, `logarithmic` for very many of
    them, `marked` where other values than round ones are to be marked.
    """

    low: float
    high: float
    label: str = ""
    whole: bool = False
    logarithmic: bool = False
    marked: tuple[float, ...] = ()

    def place(self, value: float) -> float:
        """Where the value lies, 0 at the low end."""
        if self.logarithmic:
            return log10(value / self.low) / (log10(self.high / self.low) or 1.0)
        # Halves, since the range of doubles is half the difference that two of them can have.
        return (value / 2 - self.low / 2) / ((self.high / 2 - self.low / 2) or 1.0)

    def marks(self, wanted: int) -> list[tuple[float, str]]:
        """Round values on the axis, each with its place and text."""
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
        """The values to be marked that have room for their number beside those before them."""
        chosen: list[float] = []
        for value in sorted(self.marked):
            if not chosen or self.place(value) - self.place(chosen[-1]) >= ROOM_FOR_A_NUMBER:
                chosen.append(value)
        return chosen


def ticks(low: float, high: float, wanted: int = 6) -> list[float]:
    """Round numbers between low and high, about as many as wanted."""
    raw = high / wanted - low / wanted
    magnitude = 10.0 ** floor(log10(raw)) if raw > 0 else 0.0
    if not magnitude:  # also where a tenth of the range is too small to be written
        return [low]
    step = next(
        factor * magnitude for factor in (1, 2, 2.5, 5, 10) if factor * magnitude >= raw * 0.999
    )
    return [
        float(f"{i * step:.12g}")
        for i in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)
    ]


def padded(low: float, high: float) -> tuple[float, float]:
    """A little room at either end; some also where there is only one value."""
    room = (0.05 * high - 0.05 * low) or 0.05 * abs(high) or 1.0
    return max(low - room, -float_info.max), min(high + room, float_info.max)


def picture(parts: Iterable[str]) -> str:
    """The parts as one drawing that fills the box it is in."""
    return (
        f'<svg viewBox="0 0 {SIDE} {SIDE}" preserveAspectRatio="none" '
        f'aria-hidden="true">{"".join(parts)}</svg>'
    )


def dots(points: Iterable[tuple[float, float]], kind: str) -> str:
    """Points (between 0 and 1, up is up) as one path: lines without length, which have round
    ends of their own size.
    """
    path = "".join(f"M{_unit(x)} {_unit(1 - y)}h0" for x, y in points)
    return f'<path class="dots {kind}" d="{path}"/>' if path else ""


def stems(points: Iterable[tuple[float, float]], kind: str) -> str:
    """From the lower edge up to each point."""
    path = "".join(f"M{_unit(x)} {SIDE}V{_unit(1 - y)}" for x, y in points)
    return f'<path class="stems {kind}" d="{path}"/>' if path else ""


def line(points: Sequence[tuple[float, float]], kind: str) -> str:
    """Points joined by a line."""
    return f'<path class="line {kind}" d="M{_through(points)}"/>' if points else ""


def area(points: Sequence[tuple[float, float]], kind: str) -> str:
    """What is below the line through the points."""
    if not points:
        return ""
    (first, _), (last, _) = points[0], points[-1]
    return f'<path class="area {kind}" d="M{_through([(first, 0), *points, (last, 0)])}Z"/>'


def band(
    upper: Sequence[tuple[float, float]], lower: Sequence[tuple[float, float]], kind: str
) -> str:
    """What is between two lines."""
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
    """A picture with axes; `extra` is markup beside it (a further picture that shares the
    vertical axis).
    """
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

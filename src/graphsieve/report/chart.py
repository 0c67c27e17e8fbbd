"""Curves as inline SVG: colours come from the page, so that one drawing serves light and dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from graphsieve.report.frame import asset
from graphsieve.report.plot import Axis, padded, ticks

__all__ = ["STYLE", "chart", "ticks"]

WIDTH, HEIGHT = 640, 340
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 12, 46
N_COLORS = 8
GREY = ("random", "all")  # baselines: grey, so that the eye goes to what was chosen

STYLE = asset("plot.css")


def chart(figure: Mapping[str, Any]) -> str:
    """The figure with its legend and caption; `figure` has the fields of
    `experiments.results.Figure`.
    """
    series = [one for one in figure["series"] if _points(one)]
    title = escape(f"{figure['label']}: {figure['title']}")
    note = f" {escape(figure['note'])}" if figure.get("note") else ""
    caption = f"<figcaption><strong>{title}.</strong>{note}</figcaption>"
    if not series:
        return f"<figure>{caption}</figure>"
    looks = _looks(series)
    legend = "".join(
        f'<li><svg viewBox="0 0 32 10" aria-hidden="true"><path class="{look}" d="M0 '
        f'5H32"/></svg>{escape(one["name"])}</li>'
        for one, look in zip(series, looks, strict=True)
    )
    return (
        f"<figure>{caption}<ul "
        f'class="legend">{legend}</ul>{_drawing(figure, series, looks, title)}</figure>'
    )


def _points(series: Mapping[str, Any]) -> list[tuple[float, float, float]]:
    errors = series["standard_error"] or [0.0] * len(series["x"])
    points = zip(series["x"], series["y"], errors, strict=True)
    return [(x, y, error or 0.0) for x, y, error in points if x is not None and y is not None]


def _looks(series: Sequence[Mapping[str, Any]]) -> list[str]:
    """A colour for each curve; from the ninth on dashed, and baselines grey."""
    looks, number = [], 0
    for one in series:
        first_word = one["name"].partition(" ")[0].strip(",:").lower()
        if first_word in GREY:
            looks.append("kr dash" if first_word == "all" else "kr")
        else:
            looks.append(f"k{number % N_COLORS}" + (" dash" if number >= N_COLORS else ""))
            number += 1
    return looks


def _drawing(
    figure: Mapping[str, Any], series: Sequence[Mapping[str, Any]], looks: Sequence[str], title: str
) -> str:
    points = [_points(one) for one in series]
    xs = [x for one in points for x, _, _ in one]
    lows = [y - error for one in points for _, y, error in one]
    highs = [y + error for one in points for _, y, error in one]
    y_range = padded(min(lows), max(highs))
    across = Axis(min(xs), max(xs), logarithmic=figure.get("logarithmic", False))
    upward = Axis(*y_range)

    def place(x: float, y: float) -> tuple[float, float]:
        room = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
        return LEFT + across.place(x) * room[0], HEIGHT - BOTTOM - upward.place(y) * room[1]

    parts = []
    for y in ticks(*y_range):
        at = place(across.low, y)[1]
        parts.append(f'<path class="grid" d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{y:g}</text>')
    for x in (
        _apart(sorted(set(xs)), across)
        if across.logarithmic
        else ticks(across.low, across.high, wanted=8)
    ):
        parts.append(
            f'<text x="{place(x, 0)[0]:.1f}" y="{HEIGHT - BOTTOM + 18}" '
            f'text-anchor="middle">{x:g}</text>'
        )
    for one, look in zip(points, looks, strict=True):
        upper, lower = (
            [place(x, y + error) for x, y, error in one],
            [place(x, y - error) for x, y, error in one],
        )
        if any(error for _, _, error in one):
            parts.append(f'<path class="band {look}" d="{_path([*upper, *lower[::-1]])}Z"/>')
    for one, look in zip(points, looks, strict=True):
        line = [place(x, y) for x, y, _ in one]
        parts.append(f'<path class="curve {look}" d="{_path(line)}"/>')
        if len(line) == 1:
            parts.append(
                f'<circle class="{look}" cx="{line[0][0]:.1f}" cy="{line[0][1]:.1f}" r="3.5"/>'
            )
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(
        f'<text x="{middle:.0f}" y="{HEIGHT - 8}" '
        f'text-anchor="middle">{escape(figure["x_label"])}</text>'
    )
    up = (TOP + HEIGHT - BOTTOM) / 2
    label = escape(figure["y_label"])
    parts.append(
        f'<text transform="translate(14 {up:.0f}) rotate(-90)" text-anchor="middle">{label}</text>'
    )
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{title}">{"".join(parts)}</svg>'
    )


def _apart(values: Sequence[float], axis: Axis) -> list[float]:
    """The values that have room for their number beside those before them."""
    chosen: list[float] = []
    for value in values:
        if not chosen or axis.place(value) - axis.place(chosen[-1]) >= 0.07:
            chosen.append(value)
    return chosen


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)

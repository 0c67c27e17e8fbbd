"""Curves with error bands, a legend and a caption.

Colours come from the style sheet of the page, so one drawing serves light and dark themes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from graphsieve.report.frame import asset
from graphsieve.report.plot import Axis, band, dots, line, padded, plot

N_COLORS = 8
GREY = ("random", "all")  # first words of baselines, which are drawn in grey

STYLE = asset("plot.css")


def chart(figure: Mapping[str, Any]) -> str:
    """Return the figure with its legend and caption.

    `figure` has the fields of `papers.results.Figure`.
    """
    series = [one for one in figure["series"] if _points(one)]
    title = f"{figure['label']}: {figure['title']}"
    note = f" {escape(figure['note'])}" if figure.get("note") else ""
    caption = f"<figcaption><strong>{escape(title)}.</strong>{note}</figcaption>"
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
    """Return a style for each curve. Curves from the ninth on are dashed; baselines are grey."""
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
    xs = {x for one in points for x, _, _ in one}
    lows = [y - error for one in points for _, y, error in one]
    highs = [y + error for one in points for _, y, error in one]
    logarithmic = figure.get("logarithmic", False)
    across = Axis(
        min(xs),
        max(xs),
        figure["x_label"],
        logarithmic=logarithmic,
        marked=tuple(xs) if logarithmic else (),
    )
    upward = Axis(*padded(min(lows), max(highs)), figure["y_label"])
    bands, lines = [], []
    for one, look in zip(points, looks, strict=True):
        middle, upper, lower = (
            [(across.place(x), upward.place(y + side * error)) for x, y, error in one]
            for side in (0, 1, -1)
        )
        if any(error for _, _, error in one):
            bands.append(band(upper, lower, look))
        lines.append(line(middle, look) if len(middle) > 1 else dots(middle, look))
    return plot([*bands, *lines], across, upward, label=title, wanted=(8, 6))

"""Rank intervals as a picture: a line for each feature, the darker the more often it is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphsieve._base.array_types import Booleans, Floats
from graphsieve._base.parameters import axes

SHADES = ("#d9e3e4", "#7fb2b6", "#1f6f78", "#0b3b42")  # never, …, always
GREY = "#5f6b6d"


def draw(
    names: Sequence[str],
    frequency: Floats,
    ranks: Floats,
    selected: Booleans,
    *,
    title: str,
    by_factors: bool,
    ax: Any = None,
) -> Any:
    """Draw one line per feature from the first to the last of its three `ranks`; returns the
    axes.
    """
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415 - optional
        from matplotlib.colors import LinearSegmentedColormap, Normalize  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ImportError('plot needs matplotlib: pip install "graphsieve[plot]"') from error
    if axes()("ax", ax) is None:
        _, ax = plt.subplots(figsize=(7.4, 1.3 + 0.3 * len(names)), layout="constrained")
    shade, share = LinearSegmentedColormap.from_list("frequency", SHADES), Normalize(0, 1)
    heights, colors = np.arange(len(names)), shade(share(frequency))
    low, middle, high = ranks
    ax.hlines(heights, low, high, colors=colors, linewidth=6, capstyle="round", zorder=2)
    fill = np.where(selected[:, None], colors, [1.0, 1.0, 1.0, 1.0])
    ax.scatter(middle, heights, s=64, c=fill, edgecolors="white", linewidths=3.2, zorder=3)
    ax.scatter(middle, heights, s=42, c=fill, edgecolors=colors, linewidths=1.6, zorder=4)
    _set_axes(ax, names, frequency, title, by_factors)
    bar = ax.figure.colorbar(
        plt.cm.ScalarMappable(norm=share, cmap=shade),
        ax=ax,
        pad=0.03,
        aspect=18,
        shrink=0.5,
        anchor=(0, 1),
    )
    bar.set_ticks([0, 0.5, 1], labels=["never", "half the time", "always"], color=GREY, fontsize=9)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0)
    return ax


def _set_axes(
    ax: Any, names: Sequence[str], frequency: Floats, title: str, by_factors: bool
) -> None:
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator  # noqa: PLC0415 - optional

    ax.set_yticks(range(len(names)), [name.replace("$", r"\$") for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    last = ax.get_xlim()[1]
    if by_factors:
        ax.set_xscale("log")
        ticks = [
            factor * 10**power
            for power in range(7)
            for factor in (1, 3)
            if factor * 10**power <= last
        ]
        ax.xaxis.set_minor_locator(NullLocator())
    else:
        ticks = [
            1,
            *(
                tick
                for tick in MaxNLocator(6, integer=True).tick_values(1, last)
                if 1 < tick <= last
            ),
        ]
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_major_formatter("{x:.0f}")
    ax.set_xlim((0.85, 1.15 * last) if by_factors else (1 - 0.03 * (last - 1), last))
    for height, often in enumerate(frequency):
        # Beside the axes, so that no interval runs into it.
        place = {
            "xy": (1, height),
            "xycoords": ("axes fraction", "data"),
            "xytext": (34, 0),
            "textcoords": "offset points",
        }
        ax.annotate(
            f"{100 * often:.0f} %", **place, va="center", ha="right", color=GREY, fontsize=9
        )
    ax.set_xlabel(
        "rank\nline: 90 % of the resamples; dot: median, filled if selected from all samples",
        color=GREY,
        fontsize=9,
    )
    ax.set_title(title.replace("$", r"\$"), loc="left", fontsize=11)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.grid(axis="x", color="#e6e6e6", linewidth=0.8)
    ax.set_axisbelow(True)

"""Curves as a picture: one panel per learner, baselines in grey, names once for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphsieve._base.array_types import Floats
from graphsieve._base.errors import InputError

COLORS = ("#1f6f78", "#d1495b", "#3d5a98", "#e08e1b", "#7b4f9d", "#5b8c3a", "#8a5a44", "#c4609b")
MARKERS = "osD^vPX*"
GREY = "#777777"
NAME_WIDTH = 32


class Curve(NamedTuple):
    """A line: its name, the sizes it has values for, the values, their standard errors, and
    whether it is a baseline.
    """

    name: str
    sizes: Sequence[int]
    values: Floats
    errors: Floats
    baseline: bool


def draw_panels(
    panels: Mapping[str, Sequence[Curve]], *, y_label: str, axes: Any = None
) -> NDArray[Any]:
    """Draw every panel; returns an array of axes."""
    given = axes is not None
    axes = np.asarray(axes, dtype=object).ravel() if given else _new_axes(len(panels))
    if len(axes) != len(panels):
        raise InputError(
            f"axes must be one for each of the {len(panels)} learners, got {len(axes)}."
        )
    for ax, (title, curves) in zip(axes, panels.items(), strict=True):
        _draw(ax, title, curves)
    axes[0].set_ylabel(y_label)
    _add_legend(axes, beside=not given)
    return np.asarray(axes)


def _new_axes(number: int) -> NDArray[Any]:
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415 - optional
    except ModuleNotFoundError as error:
        raise ImportError('plot needs matplotlib: pip install "graphsieve[plot]"') from error
    _, axes = plt.subplots(
        1,
        number,
        figsize=(2.3 + 3.6 * number, 3.7),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    return np.asarray(axes[0])


def _draw(ax: Any, title: str, curves: Sequence[Curve]) -> None:
    chosen = [curve for curve in curves if not curve.baseline]
    for curve in curves:
        style = _baseline_style(curve) if curve.baseline else _style(chosen.index(curve))
        x, y = np.asarray(curve.sizes, dtype=np.float64), curve.values
        ax.plot(x, y, label=_shown(curve.name), **style)
        if len(x) > 1 and np.isfinite(curve.errors).all() and curve.name != "all":
            ax.fill_between(
                x, y - curve.errors, y + curve.errors, color=style["color"], alpha=0.12, linewidth=0
            )
        elif np.isfinite(curve.errors).all() and curve.name != "all":
            ax.errorbar(x, y, curve.errors, color=style["color"], fmt="none", capsize=3)
    ax.set_title(_shown(title), loc="left", fontsize=11)
    ax.set_xlabel("number of features")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    ax.set_axisbelow(True)
    _set_sizes(ax, curves[0].sizes)


def _style(position: int) -> dict[str, Any]:
    color, marker = COLORS[position % len(COLORS)], MARKERS[position % len(MARKERS)]
    line = ("-", "--", ":")[position // len(COLORS) % 3]
    return {
        "color": color,
        "marker": marker,
        "markersize": 4.5,
        "linewidth": 1.8,
        "linestyle": line,
        "zorder": 3,
    }


def _baseline_style(curve: Curve) -> dict[str, Any]:
    line = ":" if curve.name == "all" else "--"
    return {"color": GREY, "linewidth": 1.5, "linestyle": line, "zorder": 2}


def _set_sizes(ax: Any, sizes: Sequence[int]) -> None:
    """Sizes that grow by factors are spaced by factors; ticks are at sizes that were measured."""
    from matplotlib.ticker import NullLocator  # noqa: PLC0415 - optional

    if len(sizes) > 2 and max(sizes) > 8 * min(sizes):
        ax.set_xscale("log")
    shown = [
        sizes[place]
        for place in np.unique(
            np.linspace(0, len(sizes) - 1, min(8, len(sizes))).round().astype(int)
        )
    ]
    ax.set_xticks(shown, [str(size) for size in shown])
    ax.xaxis.set_minor_locator(NullLocator())


def _add_legend(axes: NDArray[Any], *, beside: bool) -> None:
    """The names once, for all panels: beside the figure, or in the last panel where the figure
    is the caller's.
    """
    handles, labels = axes[-1].get_legend_handles_labels()
    if beside:
        axes[-1].figure.legend(
            handles, labels, loc="outside right center", frameon=False, fontsize=9
        )
    else:
        axes[-1].legend(handles, labels, frameon=False, fontsize=9)


def _shown(name: str) -> str:
    """A name as a picture shows it: not too long, and no mathematics."""
    short = name if len(name) <= NAME_WIDTH else name[: NAME_WIDTH - 1] + "…"
    return short.replace("$", r"\$")

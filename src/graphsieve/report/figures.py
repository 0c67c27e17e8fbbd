"""Plots with matplotlib: a ranking, curves by number of features, ranks over resamples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphsieve._base.array_types import Booleans, Floats
from graphsieve._base.errors import InputError
from graphsieve._base.parameters import axes, count
from graphsieve.report.wording import redundancy_text
from graphsieve.table.containers import shown_name

SELECTED, SELECTED_PALE = "#1f6f78", "#a8cbcd"
REST, REST_PALE = "#b8c4c6", "#e3e8e9"
COLORS = ("#1f6f78", "#d1495b", "#3d5a98", "#e08e1b", "#7b4f9d", "#5b8c3a", "#8a5a44", "#c4609b")
MARKERS = "osD^vPX*"  # one per colour
BASELINE = "#777777"
SHADES = ("#d9e3e4", "#7fb2b6", "#1f6f78", "#0b3b42")  # never selected, …, always selected
INK, GREY, HAIRLINE = "#26323a", "#5f6b6d", "#e6e6e6"
NAME_WIDTH = 32  # characters of a name
NOTE_WIDTH = 24  # characters of a name in a note
BAR_HEIGHT = 0.72
STUB = 0.04  # length of the shortest bar, as a share of the range
FAR = 300  # exponent of two beyond which sums and differences may overflow
# Share of the range of all scores. If the scores shown span less, bars start at the worst of them.
NEARLY_ALIKE = 0.05


def draw_ranking(ranking: Any, *, n: int = 20, ax: Any = None) -> Any:
    """Draw the best `n` features of a `Ranking` as bars, and return the matplotlib axes.

    Bars have the length of the scores. If small scores are good, bars start at the worst score, and
    longer bars are still better. Selected features are coloured, and a line marks the end of the
    selection. The pale part of a bar is the redundancy.
    """
    plt = _pyplot()
    shown = ranking.order[: count(1)("n", n)]
    if axes()("ax", ax) is None:
        _, ax = plt.subplots(figsize=(7.4, 1.0 + 0.27 * len(shown)), layout="constrained")
    every = _within_reach(ranking.scores)
    start, ends = _bars(every[shown], every, ranking.large_is_good)
    colors = [SELECTED if selected else REST for selected in ranking.selected[shown]]
    ax.barh(range(len(shown)), ends - start, left=start, height=BAR_HEIGHT, color=colors, zorder=2)
    if ranking.redundancy is not None:
        _show_redundancy(ax, ranking, shown, start, ends)
    for height, (score, end) in enumerate(zip(ranking.scores[shown], ends, strict=True)):
        _beside(
            ax,
            end,
            height,
            _score_text(score),
            forward=end >= start if ranking.large_is_good else True,
        )
    _set_ranking_axes(ax, start, ends, ranking.large_is_good)
    ax.set_yticks(range(len(shown)), [_name(ranking.names[j]) for j in shown])
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlabel(_score_name(ranking), color=GREY, fontsize=9)
    _mark_the_cut(ax, ranking, len(shown))
    return ax


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415 - optional
    except ModuleNotFoundError as error:
        raise ImportError('plot needs matplotlib: pip install "graphsieve[plot]"') from error
    return plt


def _literal(text: str) -> str:
    """Escape dollar signs, which matplotlib would read as mathematics."""
    return text.replace("$", r"\$")


def _name(name: str) -> str:
    return _literal(shown_name(name, NAME_WIDTH))


# A ranking


def _within_reach(scores: Floats) -> Floats:
    """Rescale scores that matplotlib cannot handle. The axis shows no numbers, so this is safe."""
    exponent = int(np.frexp(np.abs(scores[np.isfinite(scores)]).max(initial=0))[1])
    return np.asarray(np.ldexp(scores, -exponent)) if abs(exponent) > FAR else scores


def _bars(scores: Floats, every: Floats, large_is_good: bool) -> tuple[float, Floats]:
    """Return the start of the bars and the end of each.

    Bars start at zero or, if small scores are good, at the worst score.
    """
    finite, all_finite = scores[np.isfinite(scores)], every[np.isfinite(every)]
    if not len(finite):
        finite = all_finite = np.array([0.0, 1.0])
    best, worst = (finite.max(), finite.min()) if large_is_good else (finite.min(), finite.max())
    start = 0.0 if large_is_good else _behind(best, worst, float(all_finite.max()))
    ends = np.where(np.isnan(scores), start, scores)
    # An infinitely good score gets the longest bar. An infinitely bad or missing score gets none.
    farthest = best if best != start else start + 1.0
    ends = np.where(np.isposinf(ends), farthest if large_is_good else start, ends)
    return start, np.where(np.isneginf(ends), start if large_is_good else farthest, ends)


def _behind(best: float, worst_shown: float, worst: float) -> float:
    """Return the start of bars of small scores, so that bars differ visibly and none is empty."""
    if worst == best:
        return best + (abs(best) or 1.0)
    if 0 < worst_shown - best < NEARLY_ALIKE * (worst - best):
        worst = worst_shown
    return worst + STUB * (worst - best)


def _show_redundancy(
    ax: Any, ranking: Any, shown: Sequence[int], start: float, ends: Floats
) -> None:
    """Draw the redundant share of each bar in a pale shade, with a note beside it."""
    place = {
        "xycoords": ("axes fraction", "data"),
        "textcoords": "offset points",
        "fontsize": 8,
        "color": GREY,
    }
    noted = False
    for height, (j, end) in enumerate(zip(shown, ends, strict=True)):
        share, of = float(np.nan_to_num(ranking.redundancy[j])), int(ranking.closest[j])
        shade = SELECTED_PALE if ranking.selected[j] else REST_PALE
        ax.broken_barh(
            [(end - share * (end - start), share * (end - start))],
            (height - BAR_HEIGHT / 2, BAR_HEIGHT),
            color=shade,
            zorder=3,
        )
        note = redundancy_text(
            share, shown_name(ranking.names[of], NOTE_WIDTH) if of >= 0 else None
        )
        if note:
            ax.annotate(_literal(note), (1, height), xytext=(10, 0), va="center", **place)
            noted = True
    if noted:
        ax.annotate("redundancy (pale)", (1, -0.6), xytext=(10, 2), va="bottom", **place)


def _score_text(score: float) -> str:
    if math.isnan(score):
        return "not scored"
    return _number(float(score)) if math.isfinite(score) else "∞" if score > 0 else "−∞"


def _number(value: float) -> str:
    """Return a number with three digits, such as 1,680 (not 1.68e+03) or 2 (not 2.00)."""
    power = math.floor(math.log10(abs(value))) if value else 0
    if not -4 <= power < 7:
        text = f"{value:.2e}"
    else:
        text = f"{value:,.{0 if value.is_integer() else max(0, 2 - power)}f}"
    return text.replace("-", "−")


def _beside(ax: Any, x: float, y: float, text: str, *, forward: bool) -> None:
    side = {"xytext": (4, 0), "ha": "left"} if forward else {"xytext": (-4, 0), "ha": "right"}
    ax.annotate(
        text,
        (x, y),
        textcoords="offset points",
        va="center",
        fontsize=8,
        color=GREY,
        zorder=4,
        **side,
    )


def _set_ranking_axes(ax: Any, start: float, ends: Floats, large_is_good: bool) -> None:
    """Set the axes. The numbers are beside the bars, so the axis has no ticks."""
    low, high = min(start, *ends), max(start, *ends)
    room = (high - low) * 0.15 or 1.0
    if large_is_good:
        ax.set_xlim(
            low - room if low < start else start, start if low < high == start else high + room
        )
    else:
        ax.set_xlim(start, low - room)
    ax.set_xticks([])
    ax.tick_params(axis="y", length=0, labelcolor=INK)
    ax.spines[["top", "right", "bottom", "left"]].set_visible(False)
    ax.axvline(start, color=GREY, linewidth=0.8, zorder=4)


def _score_name(ranking: Any) -> str:
    good = "large is good" if ranking.large_is_good else "small is good; longer bars are better"
    score = (
        "share explained alone"
        if ranking.method == "diverse"
        else f"{ranking.method} score ({good})"
    )
    return score if ranking.redundancy is None else f"{score}; features are in selection order"


def _mark_the_cut(ax: Any, ranking: Any, n_shown: int) -> None:
    """Draw a line below the last selected feature, if features on both sides are shown."""
    n_selected = int(ranking.selected.sum())
    ax.set_title(
        f"{n_selected} of {len(ranking)} features selected", loc="left", fontsize=11, color=INK
    )
    chosen = ranking.selected[ranking.order]
    if 0 < n_selected < n_shown and chosen[:n_selected].all():
        ax.axhline(n_selected - 0.5, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)


# Curves over the number of features


class Curve(NamedTuple):
    """A curve: name, numbers of features, values, standard errors, and whether it is a baseline."""

    name: str
    sizes: Sequence[int]
    values: Floats
    errors: Floats
    baseline: bool


def draw_panels(
    panels: Mapping[str, Sequence[Curve]], *, y_label: str, axes: Any = None
) -> NDArray[Any]:
    """Draw every panel, and return an array of axes."""
    given = axes is not None
    axes = np.asarray(axes, dtype=object).ravel() if given else _new_axes(len(panels))
    if len(axes) != len(panels):
        raise InputError(
            f"axes must contain one axes object per learner ({len(panels)}), got {len(axes)}."
        )
    for ax, (title, curves) in zip(axes, panels.items(), strict=True):
        _draw_curves(ax, title, curves)
    axes[0].set_ylabel(y_label)
    _add_legend(axes, beside=not given)
    return np.asarray(axes)


def _new_axes(number: int) -> NDArray[Any]:
    _, axes = _pyplot().subplots(
        1,
        number,
        figsize=(2.3 + 3.6 * number, 3.7),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    return np.asarray(axes[0])


def _draw_curves(ax: Any, title: str, curves: Sequence[Curve]) -> None:
    chosen = [curve for curve in curves if not curve.baseline]
    for curve in curves:
        style = _baseline_style(curve) if curve.baseline else _curve_style(chosen.index(curve))
        x, y = np.asarray(curve.sizes, dtype=np.float64), curve.values
        ax.plot(x, y, label=_name(curve.name), **style)
        if len(x) > 1 and np.isfinite(curve.errors).all() and curve.name != "all":
            ax.fill_between(
                x, y - curve.errors, y + curve.errors, color=style["color"], alpha=0.12, linewidth=0
            )
        elif np.isfinite(curve.errors).all() and curve.name != "all":
            ax.errorbar(x, y, curve.errors, color=style["color"], fmt="none", capsize=3)
    ax.set_title(_name(title), loc="left", fontsize=11)
    ax.set_xlabel("number of features")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color=HAIRLINE, linewidth=0.8)
    ax.set_axisbelow(True)
    _set_sizes(ax, curves[0].sizes)


def _curve_style(position: int) -> dict[str, Any]:
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
    return {"color": BASELINE, "linewidth": 1.5, "linestyle": line, "zorder": 2}


def _set_sizes(ax: Any, sizes: Sequence[int]) -> None:
    """Use a logarithmic axis for a wide range of sizes. Ticks are at measured sizes."""
    from matplotlib.ticker import NullLocator  # noqa: PLC0415 - optional

    if len(sizes) > 2 and max(sizes) > 8 * min(sizes):
        ax.set_xscale("log")
    shown = [sizes[place] for place in spread_out(len(sizes), 8)]
    ax.set_xticks(shown, [str(size) for size in shown])
    ax.xaxis.set_minor_locator(NullLocator())


def spread_out(number: int, most: int) -> list[int]:
    """Return at most `most` evenly spaced positions from 0 to `number` − 1, with both ends."""
    places = np.linspace(0, number - 1, min(most, number)).round().astype(int)
    return [int(place) for place in np.unique(places)]


def _add_legend(axes: NDArray[Any], *, beside: bool) -> None:
    """Add one legend for all panels: beside a new figure, or in the last panel of a given one."""
    handles, labels = axes[-1].get_legend_handles_labels()
    if beside:
        axes[-1].figure.legend(
            handles, labels, loc="outside right center", frameon=False, fontsize=9
        )
    else:
        axes[-1].legend(handles, labels, frameon=False, fontsize=9)


# Ranks over resamples


def draw_rank_intervals(
    names: Sequence[str],
    frequency: Floats,
    ranks: Floats,
    selected: Booleans,
    *,
    title: str,
    by_factors: bool,
    ax: Any = None,
) -> Any:
    """Draw one line per feature from the first to the last of its three `ranks`.

    Returns the axes.
    """
    plt = _pyplot()
    from matplotlib.colors import LinearSegmentedColormap, Normalize  # noqa: PLC0415 - optional

    if axes()("ax", ax) is None:
        _, ax = plt.subplots(figsize=(7.4, 1.3 + 0.3 * len(names)), layout="constrained")
    shade, share = LinearSegmentedColormap.from_list("frequency", SHADES), Normalize(0, 1)
    heights, colors = np.arange(len(names)), shade(share(frequency))
    low, middle, high = ranks
    ax.hlines(heights, low, high, colors=colors, linewidth=6, capstyle="round", zorder=2)
    fill = np.where(selected[:, None], colors, [1.0, 1.0, 1.0, 1.0])
    ax.scatter(middle, heights, s=64, c=fill, edgecolors="white", linewidths=3.2, zorder=3)
    ax.scatter(middle, heights, s=42, c=fill, edgecolors=colors, linewidths=1.6, zorder=4)
    _set_rank_axes(ax, names, frequency, title, by_factors)
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


def _set_rank_axes(
    ax: Any, names: Sequence[str], frequency: Floats, title: str, by_factors: bool
) -> None:
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator  # noqa: PLC0415 - optional

    ax.set_yticks(range(len(names)), [_name(name) for name in names])
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
        # The text is outside the axes, so that no interval overlaps it.
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
    ax.set_title(_literal(title), loc="left", fontsize=11)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.grid(axis="x", color=HAIRLINE, linewidth=0.8)
    ax.set_axisbelow(True)

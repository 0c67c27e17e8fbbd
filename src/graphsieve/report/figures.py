"""Pictures for notebooks: a ranking as bars, and how its features behave as small multiples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve._base.array_types import Floats
from graphsieve._base.errors import InputError
from graphsieve._base.parameters import axes, count
from graphsieve.report.wording import already_said
from graphsieve.table.containers import shown_name

SELECTED, SELECTED_PALE = "#1f6f78", "#a8cbcd"
REST, REST_PALE = "#b8c4c6", "#e3e8e9"
COLORS = ("#1f6f78", "#d1495b", "#3d5a98", "#e08e1b", "#7b4f9d", "#5b8c3a")
UNKNOWN = "#a9b3b4"
INK, GREY, HAIRLINE = "#26323a", "#5f6b6d", "#d5dbdc"
NAME_WIDTH = 32  # characters of a name beside a bar
NOTE_WIDTH = 24  # of one in a note
BAR_HEIGHT = 0.72
TITLE_WIDTH = 24  # and above a small picture
PANELS_ABREAST = 4
MANY_DIGITS = 6  # from which two numbers do not fit side by side below a small picture
STUB = 0.04  # of the range: what the bar of the worst score has for length, to be seen at all
FAR = 300  # powers of two from 1, beyond which sums and differences may not be numbers
# Of the range of all scores: below, those shown would look the same beside the worst one
NEARLY_ALIKE = 0.05


def draw_ranking(ranking: Any, *, n: int = 20, ax: Any = None) -> Any:
    """The best `n` features of a `Ranking` as bars, the longer the better; returns the matplotlib
    axes.

    Bars have the length of the scores. Where small scores are good, they begin at the worst one and
    grow as scores fall. Selected features are coloured, a line shows where the selection ends, and
    the pale part of a bar is what the features chosen before have already said.
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
        _show_what_is_said(ax, ranking, shown, start, ends)
    for height, (score, end) in enumerate(zip(ranking.scores[shown], ends, strict=True)):
        _beside(
            ax,
            end,
            height,
            _score_text(score),
            forward=end >= start if ranking.large_is_good else True,
        )
    _set_ranking_axes(ax, start, ends, ranking.large_is_good)
    ax.set_yticks(
        range(len(shown)), [_literal(shown_name(ranking.names[j], NAME_WIDTH)) for j in shown]
    )
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlabel(_score_name(ranking), color=GREY, fontsize=9)
    _mark_the_cut(ax, ranking, len(shown))
    return ax


def draw_portraits(facts: Mapping[str, Any], *, axes: Any = None) -> NDArray[Any]:
    """A small picture of every feature in the facts of `graphsieve.report.portraits.portray`;
    returns an array of axes.

    Against a continuous target, dots; where only the samples' nearness is known, each value against
    the mean of its nearest samples; otherwise a histogram for each class, as high as its fullest
    bin. Dots have the histogram of all samples below.
    """
    features = facts["features"]
    if not features:
        raise InputError("there are no features to draw: none of them has a score.")
    given = axes is not None
    axes = np.asarray(axes, dtype=object).ravel() if given else _small_axes(len(features), facts)
    if len(axes) != len(features):
        raise InputError(
            f"axes must be one for each of the {len(features)} features, got {len(axes)}."
        )
    for place, (ax, feature) in enumerate(zip(axes, features, strict=True)):
        first = place % PANELS_ABREAST == 0 or given
        if feature["scatter"] is not None:
            _draw_scatter(ax, feature, facts["target"], named=first)
        elif feature["along_graph"] is not None:
            _draw_along_graph(ax, feature, named=first)
        else:
            _draw_ridges(ax, feature, facts["classes"], named=first)
        _set_small_axes(ax, feature)
    return np.asarray(axes)


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415 - optional
    except ModuleNotFoundError as error:
        raise ImportError('plot needs matplotlib: pip install "graphsieve[plot]"') from error
    return plt


def _literal(text: str) -> str:
    """A text in which dollars are no mathematics."""
    return text.replace("$", r"\$")


# A ranking


def _within_reach(scores: Floats) -> Floats:
    """The scores, in another unit where matplotlib could not handle them: there is no scale to
    read it from.
    """
    exponent = int(np.frexp(np.abs(scores[np.isfinite(scores)]).max(initial=0))[1])
    return np.asarray(np.ldexp(scores, -exponent)) if abs(exponent) > FAR else scores


def _bars(scores: Floats, every: Floats, large_is_good: bool) -> tuple[float, Floats]:
    """Where bars begin, at zero or, where small scores are good, at the worst one; and where
    each ends.
    """
    finite, all_finite = scores[np.isfinite(scores)], every[np.isfinite(every)]
    if not len(finite):
        finite = all_finite = np.array([0.0, 1.0])
    best, worst = (finite.max(), finite.min()) if large_is_good else (finite.min(), finite.max())
    start = 0.0 if large_is_good else _behind(best, worst, float(all_finite.max()))
    ends = np.where(np.isnan(scores), start, scores)
    # What is infinitely good reaches as far as any; what is infinitely bad, and what has no score,
    # has no bar.
    farthest = best if best != start else start + 1.0
    ends = np.where(np.isposinf(ends), farthest if large_is_good else start, ends)
    return start, np.where(np.isneginf(ends), start if large_is_good else farthest, ends)


def _behind(best: float, worst_shown: float, worst: float) -> float:
    """Where bars of small scores begin, such that those shown can be told apart and the last one
    be seen.
    """
    if worst == best:
        return best + (abs(best) or 1.0)
    if 0 < worst_shown - best < NEARLY_ALIKE * (worst - best):
        worst = worst_shown
    return worst + STUB * (worst - best)


def _show_what_is_said(
    ax: Any, ranking: Any, shown: Sequence[int], start: float, ends: Floats
) -> None:
    """The end of a bar in a pale shade, as much of it as others say; and in a column beside the
    bars, how much and who.
    """
    place = {
        "xycoords": ("axes fraction", "data"),
        "textcoords": "offset points",
        "fontsize": 8,
        "color": GREY,
    }
    noted = False
    for height, (j, end) in enumerate(zip(shown, ends, strict=True)):
        share, of = float(np.nan_to_num(ranking.redundancy[j])), int(ranking.duplicate_of[j])
        shade = SELECTED_PALE if ranking.selected[j] else REST_PALE
        ax.broken_barh(
            [(end - share * (end - start), share * (end - start))],
            (height - BAR_HEIGHT / 2, BAR_HEIGHT),
            color=shade,
            zorder=3,
        )
        note = already_said(share, shown_name(ranking.names[of], NOTE_WIDTH) if of >= 0 else None)
        if note:
            ax.annotate(_literal(note), (1, height), xytext=(10, 0), va="center", **place)
            noted = True
    if noted:
        ax.annotate("already said (pale)", (1, -0.6), xytext=(10, 2), va="bottom", **place)


def _score_text(score: float) -> str:
    if math.isnan(score):
        return "not scored"
    return _number(float(score)) if math.isfinite(score) else "∞" if score > 0 else "−∞"


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
    """Numbers stand at the bars, so there is no scale; there is room for them."""
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
    good = "large is good" if ranking.large_is_good else "small is good, so bars grow as it falls"
    score = (
        "share explained alone"
        if ranking.method == "diverse"
        else f"{ranking.method} score ({good})"
    )
    return (
        score
        if ranking.redundancy is None
        else f"{score}; from top to bottom in the order of choice"
    )


def _mark_the_cut(ax: Any, ranking: Any, n_shown: int) -> None:
    """A hairline below the last selected feature, if features on both sides of it are shown."""
    n_selected = int(ranking.selected.sum())
    ax.set_title(
        f"{n_selected} of {len(ranking)} features selected", loc="left", fontsize=11, color=INK
    )
    chosen = ranking.selected[ranking.order]
    if 0 < n_selected < n_shown and chosen[:n_selected].all():
        ax.axhline(n_selected - 0.5, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)


# Portraits


def _small_axes(number: int, facts: Mapping[str, Any]) -> NDArray[Any]:
    abreast = min(PANELS_ABREAST, number)
    lines = -(-number // abreast)
    n_groups = len(facts["classes"] or [])
    dots = facts["target"] is not None or facts["neighbors"] is not None
    height = 1.95 if dots else 0.9 + 0.26 * max(n_groups, 2)
    _, axes = _pyplot().subplots(
        lines,
        abreast,
        figsize=(0.9 + 2.25 * abreast, 0.1 + height * lines),
        squeeze=False,
        layout="constrained",
    )
    for ax in axes.flat[number:]:
        ax.remove()
    figure = axes.flat[0].figure
    figure.get_layout_engine().set(h_pad=0.07, w_pad=0.06)
    figure.supxlabel(_literal(_caption(facts)), x=0.01, ha="left", fontsize=8, color=GREY)
    return np.asarray(axes.flat[:number])


def _caption(facts: Mapping[str, Any]) -> str:
    if facts["target"] is not None:
        target = shown_name(facts["target"]["name"] or "the target", TITLE_WIDTH)
        return f"each feature against {target}; below the dots, its histogram"
    if facts["neighbors"] is not None:
        return (
            f"each value against the mean of the samples nearest by {facts['neighbors']}; below "
            "the dots, the histogram"
        )
    return "histograms by class, each as high as its fullest bin"


def _draw_scatter(
    ax: Any, feature: Mapping[str, Any], target: Mapping[str, Any], *, named: bool
) -> None:
    _draw_dots(ax, feature, feature["scatter"])
    ax.set_yticks([0, 1], _end_labels(target["low"], target["high"]) if named else ["", ""])
    if named:
        ax.set_ylabel(
            _literal(shown_name(target["name"] or "target", TITLE_WIDTH)),
            color=GREY,
            fontsize=8,
            labelpad=-8,
        )


def _draw_along_graph(ax: Any, feature: Mapping[str, Any], *, named: bool) -> None:
    ax.plot([0, 1], [0, 1], color=HAIRLINE, linewidth=0.8, zorder=1)
    _draw_dots(ax, feature, feature["along_graph"])
    share = feature["along_graph"]["share"]
    ax.annotate(
        f"r² {share:.2f}",
        (0, 1),
        xytext=(2, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
        color=GREY,
    )
    ax.set_yticks([])
    if named:
        ax.set_ylabel("mean of the nearest", color=GREY, fontsize=8)


def _draw_dots(ax: Any, feature: Mapping[str, Any], dots: Mapping[str, Any]) -> None:
    """Dots, and the histogram of all samples in a strip below them."""
    size = float(np.clip(1500 / max(1, len(dots["x"])), 5, 16))
    ax.scatter(dots["x"], dots["y"], s=size, color=SELECTED, alpha=0.5, linewidths=0, zorder=3)
    edges = _shares(feature, feature["histogram"]["edges"])
    heights = np.sum(feature["histogram"]["counts"], axis=0)
    _fill(ax, edges, heights / heights.max() * 0.26, -0.36, UNKNOWN)
    ax.set_ylim(-0.37, 1.06)


def _draw_ridges(
    ax: Any, feature: Mapping[str, Any], classes: Sequence[str] | None, *, named: bool
) -> None:
    """A histogram for each group, one below the other, each as high as its fullest bin: so a few
    samples are seen beside many.
    """
    edges = _shares(feature, feature["histogram"]["edges"])
    counts = feature["histogram"]["counts"]
    names = classes or ["all samples"]
    for line, (heights, name) in enumerate(zip(counts, names, strict=True)):
        last_unknown = name == "unknown" and line == len(names) - 1
        color = UNKNOWN if last_unknown else COLORS[line % len(COLORS)]
        _fill(ax, edges, np.array(heights) / max(1, *heights) * 0.86, -line, color)
    ax.set_ylim(-len(names) + 0.9, 1.0)
    ax.set_yticks(
        [0.3 - line for line in range(len(names))],
        [_literal(shown_name(name, 16)) if named and classes else "" for name in names],
    )


def _fill(ax: Any, edges: Floats, heights: Floats, base: float, color: str) -> None:
    ax.stairs(
        base + heights,
        edges,
        baseline=base,
        fill=True,
        color=color,
        alpha=0.8,
        linewidth=0,
        zorder=2,
    )
    ax.plot(edges[[0, -1]], [base, base], color=color, linewidth=0.6, zorder=2)


def _shares(feature: Mapping[str, Any], edges: Sequence[float]) -> Floats:
    """Edges as shares of the feature's range, in which dots are given; whatever its size,
    nothing overflows.
    """
    low, high = feature["low"], feature["high"]
    if low == high:
        return np.linspace(0.25, 0.75, len(edges))
    size = max(abs(low), abs(high))
    return np.asarray((np.array(edges) / size - low / size) / (high / size - low / size))


def _set_small_axes(ax: Any, feature: Mapping[str, Any]) -> None:
    low, high = _end_labels(feature["low"], feature["high"])
    if feature["clipped"]:
        low, high = f"≤ {low}", f"≥ {high}"
    ax.set_title(
        _literal(shown_name(feature["feature"], TITLE_WIDTH)),
        loc="left",
        fontsize=9,
        color=INK,
        pad=4,
    )
    left, right = _shares(feature, feature["histogram"]["edges"])[[0, -1]]
    ax.set_xlim(min(left, -0.03), max(right, 1.03))
    if feature["low"] == feature["high"]:
        ax.set_xticks([0.5], [low])
    else:
        ax.set_xticks([0, 1], [low, high])
        for label, side in zip(ax.get_xticklabels(), ("left", "right"), strict=True):
            label.set_horizontalalignment(side)
    ax.tick_params(length=0, labelsize=8, labelcolor=GREY, pad=2)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set_color(HAIRLINE)


def _end_labels(low: float, high: float) -> tuple[str, str]:
    """Both ends of a range, with as many digits as their difference needs; the second as a
    difference where that is many.
    """
    size = max(abs(low), abs(high))
    apart = high / size - low / size if size > 0 else 0.0
    digits = 3 if apart == 0 else min(3 + max(0, math.floor(-math.log10(apart))), 17)
    if digits > MANY_DIGITS:
        return _number(low, digits), f"+ {_number(high - low)}"
    return _number(low, digits), _number(high, digits)


def _number(value: float, digits: int = 3) -> str:
    """A number of so many digits as people write it: 1,680 rather than 1.68e+03, and 2 rather
    than 2.00.
    """
    power = math.floor(math.log10(abs(value))) if value else 0
    if not -4 <= power < max(7, digits):
        text = f"{value:.{digits - 1}e}"
    else:
        text = f"{value:,.{0 if value.is_integer() else max(0, digits - 1 - power)}f}"
    return text.replace("-", "−")

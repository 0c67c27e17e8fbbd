"""Small plots of the selected features, one for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from graphsieve.report.plot import SIDE, dots, picture
from graphsieve.report.portraits import UNDECIDED, UNDECIDED_OR_UNLABELLED, UNLABELLED
from graphsieve.report.wording import counted, listed, name, number, sentence, shown, thousands

GROUP_COLORS = 6
MEMBERS_LISTED = 6  # columns of a group that are named
FEW_DOTS = 120  # fewer dots are drawn larger


def of_selected(portraits: Mapping[str, Any], ranking: Mapping[str, Any]) -> dict[str, Any]:
    """Return the portraits of the selected features, or of all if none is selected."""
    chosen = {record["feature"] for record in ranking["features"] if record["selected"]}
    features = [one for one in portraits["features"] if one["feature"] in chosen]
    if not features:
        return dict(portraits)
    names, values = portraits["correlations"]["features"], portraits["correlations"]["values"]
    places = [place for place, one in enumerate(names) if one in chosen]
    kept = {
        **portraits["correlations"],
        "features": [names[i] for i in places],
        "values": [[values[i][j] for j in places] for i in places],
    }
    return {**portraits, "features": features, "correlations": kept}


def pictures_section(portraits: Mapping[str, Any], ranking: Mapping[str, Any]) -> str:
    """Return the plots with one legend."""
    features = portraits["features"]
    if not features:
        return ""
    has_target = portraits["target"] is not None
    looks = group_looks(portraits["classes"])
    ranks = {record["feature"]: record for record in reversed(ranking["features"])}
    cards = "".join(_card(one, ranks.get(one["feature"]), looks, has_target) for one in features)
    n_selected = sum(record["selected"] for record in ranking["features"])
    which = f" The first {len(features)} are shown." if len(features) < n_selected else ""
    return (
        '<section id="values"><h2>Values of the selected features</h2>'
        f"<p>{_about(portraits)}{which}</p>"
        f'{_legend(portraits["classes"], looks)}<ul class="cards">{cards}</ul></section>'
    )


def group_looks(groups: Sequence[str] | None) -> list[str]:
    """Return a colour class for each group. The group of unlabelled samples is grey."""
    if groups is None:
        return ["g0"]
    is_last_grey = bool(groups) and groups[-1] in (
        UNLABELLED,
        UNDECIDED,
        UNDECIDED_OR_UNLABELLED,
    )
    grey = len(groups) - 1 if is_last_grey else None
    return ["rest" if place == grey else f"g{place % GROUP_COLORS}" for place in range(len(groups))]


def _about(portraits: Mapping[str, Any]) -> str:
    numbers = [one for one in portraits["features"] if "levels" not in one]
    first = numbers[0] if numbers else {"scatter": None, "along_graph": None}
    if first["scatter"] is not None:
        target = portraits["target"] or {}
        of = name(target["name"]) if target.get("name") is not None else "the target"
        ends = f", from {number(target['low'])} to {number(target['high'])}" if target else ""
        text = (
            f"Each dot is a sample, with the feature on the horizontal axis and {of} on the "
            f"vertical axis{ends}. The histogram above shows the distribution of the feature."
        )
    elif first["along_graph"] is not None:
        text = (
            "Each dot is a sample, with its value on the horizontal axis and the mean value of its "
            f"nearest neighbours{_by(portraits)} on the vertical axis. Dots near the diagonal mean "
            "that neighbours have similar values. The number is the share of the variance that the "
            "neighbours explain. The histogram above shows the distribution of the feature."
        )
    elif numbers and portraits["classes"] is not None:
        text = "Distribution of each feature by group. Each histogram has its own vertical scale."
    else:
        text = "Distribution of each feature."
    if len(numbers) < len(portraits["features"]):
        text += _about_levels(portraits)
    if portraits["n_drawn"] < portraits["n_samples"]:
        text += (
            f" The plots show {thousands(portraits['n_drawn'])} of "
            f"{counted(portraits['n_samples'], 'sample')}."
        )
    return text


def _about_levels(portraits: Mapping[str, Any]) -> str:
    if portraits["target"] is not None:
        bars = (
            "extends from the lower to the upper quartile of the target, with a mark at its median"
        )
    elif portraits["classes"] is not None:
        bars = "shows the shares of the groups"
    else:
        return " A category has one bar per level, which shows the number of samples."
    return (
        f" A category has one bar per level, which {bars}. The number of samples is on the right."
    )


def _by(portraits: Mapping[str, Any]) -> str:
    """Return which columns determine the neighbours, if that is known."""
    return f" (by {sentence(portraits['neighbors'])})" if portraits.get("neighbors") else ""


def _legend(groups: Sequence[str] | None, looks: Sequence[str]) -> str:
    if groups is None:
        return ""
    items = "".join(
        f'<li><i class="dot {look}"></i>{name(group, 40)}</li>'
        for group, look in zip(groups, looks, strict=True)
    )
    return f'<ul class="legend">{items}</ul>'


def _card(
    one: Mapping[str, Any],
    record: Mapping[str, Any] | None,
    looks: Sequence[str],
    has_target: bool,
) -> str:
    rank = f'<span class="rank">{record["rank"]}</span>' if record is not None else ""
    if "levels" in one:
        what = f"{shown(one['feature'], 60)}: " + ", ".join(
            f"{shown(level['level'], 40)} ({sum(level['counts'])})" for level in one["levels"]
        )
        return _framed(one, rank, what, _level_bars(one["levels"], looks, has_target), "")
    members = [] if record is None else record.get("columns") or []
    counts = one["histogram"]["counts"]
    cloud, note = one["scatter"] or one["along_graph"], ""
    what = f"{shown(one['feature'], 60)}: values from {number(one['low'])} to {number(one['high'])}"
    parts = (
        "<div "
        f'class="rows{" short" if cloud and len(counts) == 1 else ""}">{"".join(map(_histogram, counts, looks))}</div>'
    )
    if cloud:
        diagonal = f'<path class="grid" d="M0 {SIDE}L{SIDE} 0"/>' if one["scatter"] is None else ""
        points = list(zip(cloud["x"], cloud["y"], strict=True))
        drawn = picture(
            [diagonal, dots(points, "chosen few" if len(points) < FEW_DOTS else "chosen")]
        )
    if one["along_graph"] is not None and one["scatter"] is None:
        percent = f"{100 * one['along_graph']['share']:.0f} %"
        note = f'<span class="note">{percent}</span>'
        what += f"; its neighbours explain {percent} of its variance"
    if cloud:
        parts += f'<div class="cloud">{drawn}{note}</div>'
    ends = f'<div class="ends"><span>{number(one["low"])}</span><span>{number(one["high"])}</span></div>'
    if len(members) > 1:
        of = listed([shown(member, 40) for member in members], MEMBERS_LISTED)
        ends += f'<p class="members">First principal component of {escape(of)}</p>'
    return _framed(one, rank, what, parts, ends)


def _framed(one: Mapping[str, Any], rank: str, what: str, parts: str, ends: str) -> str:
    """Return the card of a feature with its name above and its range below the drawing."""
    return (
        '<li class="card"><h3 '
        f'title="{escape(shown(one["feature"]))}">{rank}{name(one["feature"], 60)}</h3>'
        f'<div role="img" aria-label="{escape(what)}">{parts}</div>{ends}</li>'
    )


def _level_bars(levels: Sequence[Mapping[str, Any]], looks: Sequence[str], has_target: bool) -> str:
    """Draw a bar for each level of a category: its name, shares or quartiles, and its size."""
    most = max(sum(level["counts"]) for level in levels) or 1
    rows = []
    for level in levels:
        total = sum(level["counts"])
        if has_target:
            low, middle, high = level["quartiles"] or (0, 0, 0)
            bar = (
                f'<i class="box" style="left:{100 * low:.1f}%;width:{100 * (high - low):.1f}%"></i>'
                f'<i class="middle" style="left:{100 * middle:.1f}%"></i>'
                if level["quartiles"]
                else ""
            )
        else:
            width = total if len(looks) > 1 else most
            bar = "".join(
                f'<i class="{look}" style="width:{100 * n / (width or 1):.1f}%"></i>'
                for n, look in zip(level["counts"], looks, strict=True)
            )
        rows.append(
            f'<span class="level" title="{escape(shown(level["level"]))}">{name(level["level"], 40)}'
            f'</span><span class="{"target" if has_target else "parts"}">{bar}</span>'
            f'<span class="n">{thousands(total)}</span>'
        )
    return f'<div class="levels">{"".join(rows)}</div>'


def _histogram(counts: Sequence[int], look: str) -> str:
    """Draw a histogram, scaled to the height of its row."""
    most, side = max(counts) or 1, SIDE / len(counts)
    path = "".join(
        f"V{SIDE * (1 - n / most):.0f}H{side * (place + 1):.0f}" for place, n in enumerate(counts)
    )
    return picture([f'<path class="area {look}" d="M0 {SIDE}{path}V{SIDE}z"/>'])

"""Where the cut is: the scores from the first feature to the last, and how they are spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from graphsieve.report.plot import SIDE, Axis, area, dots, line, padded, picture, plot, stems
from graphsieve.report.wording import (
    about_score,
    counted,
    in_order_of_choice,
    name,
    number,
    score_text,
    thousands,
)

DOTS = 1_500  # of features that are left out; more are a blot
BENDS = 400  # of a curve
BINS = 24
WORTH_COUNTING = 8  # features; the spread of fewer is seen as it is
STEMS = 60  # features, up to which each is a dot on a stem
MANY = 150  # features, from which on the first ones would stick to the edge of a linear axis

Record = Mapping[str, Any]
T = TypeVar("T")


def cut_section(ranking: Mapping[str, Any]) -> str:
    """The scores as a picture and in words; nothing where no feature has a finite score."""
    features = ranking["features"]
    scored = [record for record in features if record["score"] is not None]
    if len(scored) < 2:
        return ""
    choice = in_order_of_choice(ranking)
    words = _choice_words(features) if choice else _cut_words(features)
    words += _aside(features)
    text = "".join(f"<p>{sentence}</p>" for sentence in words)
    legend = (
        '<ul class="legend"><li><i class="dot chosen"></i>selected</li><li><i class="dot '
        'rest"></i>left out</li></ul>'
    )
    return (
        '<section id="cut"><h2>Where the cut '
        f"is</h2>{text}{legend}{_drawing(ranking, scored, choice)}</section>"
    )


def _cut_words(features: Sequence[Record]) -> list[str]:
    """How many lie on either side, and how far apart the two at the cut are."""
    kept = [record for record in features if record["selected"]]
    left = [record for record in features if not record["selected"]]
    if not kept or not left:
        return [
            f"All {counted(len(features), 'feature')} are {'selected' if kept else 'left out'}: "
            "there is no cut."
        ]
    last, following = kept[-1], left[0]
    has = _told_apart(last, following)
    words = [
        f"{counted(len(kept), 'feature')} selected, {thousands(len(left))} left out. The last one "
        f"selected, {name(last['feature'], 40)}, {has[0]}; the first one left out, "
        f"{name(following['feature'], 40)}, {has[1]}."
    ]
    if last["score"] is not None and last["score"] == following["score"]:
        words.append(
            "The two are equal: the cut goes through a tie, in which the order is that of the "
            "columns."
        )
    return words


def _told_apart(*records: Record) -> list[str]:
    """The scores in words, with as many digits as tell them apart."""
    scores = [record["score"] for record in records if record["score"] is not None]
    digits = next(
        (
            n
            for n in range(4, 17)
            if len({number(score, n) for score in scores}) == len(set(scores))
        ),
        17,
    )
    return [_has(record, digits) for record in records]


def _has(record: Record, digits: int) -> str:
    if record["flag"] == "unscorable":
        return "could not be scored"
    return (
        f"has {score_text(record) if record['score'] is None else number(record['score'], digits)}"
    )


def _choice_words(features: Sequence[Record]) -> list[str]:
    """Features are chosen for what they add, so a good score alone is no reason to be among
    them.
    """
    kept = [record for record in features if record["selected"]]
    n_left = len(features) - len(kept)
    weakest = min((record["strength"] for record in kept), default=0.0)
    passed = sum(record["strength"] > weakest for record in features if not record["selected"])
    words = [
        f"{counted(len(kept), 'feature')} selected, {thousands(n_left)} left out. Features are "
        "chosen one by one for what they add, so there is no single score at which the cut lies."
    ]
    if passed:
        explains = "explains" if passed == 1 else "explain"
        words.append(
            f"{counted(passed, 'feature')} left out {explains} more alone than the weakest of the "
            "selected."
        )
    return words


def _aside(features: Sequence[Record]) -> list[str]:
    """Scores that have no place on an axis."""
    unscored = sum(record["flag"] == "unscorable" for record in features)
    infinite = sum(record["flag"] == "infinite" for record in features)
    words = []
    if unscored:
        words.append(
            f"{counted(unscored, 'feature')} could not be scored and "
            f"{'is' if unscored == 1 else 'are'} last."
        )
    if infinite:
        words.append(
            f"{counted(infinite, 'feature')} with an infinite score "
            f"{'is' if infinite == 1 else 'are'} not drawn."
        )
    return words


def _drawing(ranking: Mapping[str, Any], scored: Sequence[Record], choice: bool) -> str:
    scores = [record["score"] for record in scored]
    n = len(ranking["features"])
    x = _ranks(n, choice)
    y = Axis(*_ends(min(scores), max(scores)), about_score(ranking))
    last = max((record["rank"] for record in ranking["features"] if record["selected"]), default=0)
    parts = [] if not 0 < last < n else [_cut_line(x.place(last + 0.5))]
    parts += _points(scored, x, y) if choice or n <= MANY else _curve(scored, last, x, y)
    label = (
        f"Scores by rank, from {score_text(scored[0])} to {score_text(scored[-1])}; "
        f"{counted(last, 'feature')} of {n} selected."
    )
    return plot(
        parts, x, y, label=label, extra=_spread(scored, y) if len(scored) >= WORTH_COUNTING else ""
    )


def _ranks(n: int, choice: bool) -> Axis:
    """From the first place to the last, with some room beside them."""
    label = "place in the order of choice" if choice else "rank"
    if n > MANY:
        return Axis(0.8, n * 1.1, f"{label} (× 10 per step)", logarithmic=True)
    return Axis(0.5, n + 0.5, label, whole=True)


def _ends(low: float, high: float) -> tuple[float, float]:
    """From zero where the scores come near it, so that lengths can be compared."""
    ends = padded(low, high)
    return (0.0, ends[1]) if 0 <= low < high / 2 else ends


def _cut_line(at: float) -> str:
    return f'<path class="cut" d="M{SIDE * at:.0f} 0V{SIDE}"/>'


def _points(scored: Sequence[Record], x: Axis, y: Axis) -> list[str]:
    kept = [record for record in scored if record["selected"]]
    left = _thinned([record for record in scored if not record["selected"]], DOTS)
    few = len(scored) <= STEMS
    parts = []
    for records, kind in ((left, "rest"), (kept, "chosen")):
        places = _places(records, x, y)
        parts.append(stems(places, kind) if few and y.low == 0 else "")
        parts.append(dots(places, f"{kind} large" if few else kind))
    return parts


def _curve(scored: Sequence[Record], last: int, x: Axis, y: Axis) -> list[str]:
    """A curve in two colours, which meet at the cut."""
    kept = _places([record for record in scored if record["rank"] <= last], x, y)
    left = _places(_thinned([record for record in scored if record["rank"] >= last], BENDS), x, y)
    return [
        area(left, "rest"),
        area(_thinned(kept, BENDS), "chosen"),
        line(left, "rest"),
        line(_thinned(kept, BENDS), "chosen"),
    ]


def _places(records: Sequence[Record], x: Axis, y: Axis) -> list[tuple[float, float]]:
    return [(x.place(record["rank"]), y.place(record["score"])) for record in records]


def _thinned(items: Sequence[T], most: int) -> list[T]:
    """The first and the last and what lies evenly between them, more of it at the start, which
    the axis draws wide.
    """
    if len(items) <= most:
        return list(items)
    top = len(items) - 1
    places = sorted({round(top * (step / (most - 1)) ** 3) for step in range(most)})
    return [items[place] for place in places]


def _spread(scored: Sequence[Record], y: Axis) -> str:
    """How many features have which score, drawn sideways on the same axis; those selected as
    strokes at its edge.
    """
    n_bins = min(BINS, max(6, round(2 * len(scored) ** 0.5)))
    counts = [0] * n_bins
    for record in scored:
        counts[min(n_bins - 1, int(n_bins * y.place(record["score"])))] += 1
    most = max(counts)
    side = SIDE / n_bins
    bars = "".join(
        f"M0 {SIDE - side * (place + 1):.0f}h{SIDE * n / most:.0f}v{side * 0.9:.0f}H0z"
        for place, n in enumerate(counts)
        if n
    )
    strokes = sorted(
        {round(SIDE * (1 - y.place(record["score"]))) for record in scored if record["selected"]}
    )
    marks = "".join(f"M-85 {at}h60" for at in strokes)
    drawn = picture(
        [
            f'<path class="area rest" d="{bars}"/>',
            f'<path class="rug chosen" d="{marks}"/>' if marks else "",
        ]
    )
    return (
        f'<div class="canvas side">{drawn}<span class="across" style="left:50%">how '
        "many</span></div>"
    )

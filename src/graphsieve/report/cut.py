"""The cut-off: a plot of the scores by rank, and their distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from graphsieve.report.plot import SIDE, Axis, area, dots, line, padded, picture, plot, stems
from graphsieve.report.wording import (
    counted,
    in_selection_order,
    name,
    number,
    score_meaning,
    score_text,
    thousands,
)

DOTS = 1_500  # at most, for features that were not selected; more would overlap
BENDS = 400  # at most, in a curve
BINS = 24
WORTH_COUNTING = 8  # features; a histogram of fewer adds nothing
STEMS = 60  # features; up to this number each is a dot on a stem
MANY = 150  # features; beyond this number the axis of ranks is logarithmic

Record = Mapping[str, Any]
T = TypeVar("T")


def cut_section(ranking: Mapping[str, Any]) -> str:
    """Return the scores as a plot and in words. Empty with fewer than two finite scores."""
    features = ranking["features"]
    scored = [record for record in features if record["score"] is not None]
    if len(scored) < 2:
        return ""
    by_gain = in_selection_order(ranking)
    words = _selection_words(features) if by_gain else _cut_words(features)
    words += _not_drawn(features)
    text = "".join(f"<p>{sentence}</p>" for sentence in words)
    legend = (
        '<ul class="legend"><li><i class="dot chosen"></i>selected</li><li><i class="dot '
        'rest"></i>not selected</li></ul>'
    )
    return (
        '<section id="cut"><h2>Scores and cut-off</h2>'
        f"{text}{legend}{_drawing(ranking, scored, by_gain)}</section>"
    )


def _cut_words(features: Sequence[Record]) -> list[str]:
    """Describe the number of selected features, and the two scores at the cut-off."""
    kept = [record for record in features if record["selected"]]
    left = [record for record in features if not record["selected"]]
    if not kept or not left:
        which = f"All {counted(len(features), 'feature')} are" if kept else "No feature is"
        return [f"{which} selected, so there is no cut-off."]
    last, following = kept[-1], left[0]
    has = _distinct_scores(last, following)
    words = [
        f"{counted(len(kept), 'feature')} selected, {thousands(len(left))} not selected. The last "
        f"selected feature, {name(last['feature'], 40)}, {has[0]}. The next feature, "
        f"{name(following['feature'], 40)}, {has[1]}."
    ]
    if last["score"] is not None and last["score"] == following["score"]:
        words.append("The two scores are equal. Ties are ordered by the position of the columns.")
    return words


def _distinct_scores(*records: Record) -> list[str]:
    """Return the scores in words, with enough digits to distinguish them."""
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
    score = score_text(record) if record["score"] is None else number(record["score"], digits)
    return f"has the score {score}"


def _selection_words(features: Sequence[Record]) -> list[str]:
    """Describe the number of selected features, and why high scores may be left out."""
    kept = [record for record in features if record["selected"]]
    n_left = len(features) - len(kept)
    weakest = min((record["strength"] for record in kept), default=0.0)
    passed = sum(record["strength"] > weakest for record in features if not record["selected"])
    words = [
        f"{counted(len(kept), 'feature')} selected, {thousands(n_left)} not selected. Features are "
        "selected one by one by gain, so no single score is the cut-off."
    ]
    if passed:
        have = "has a higher score" if passed == 1 else "have higher scores"
        words.append(
            f"{counted(passed, 'feature')} that {'was' if passed == 1 else 'were'} not selected "
            f"{have} than the selected feature with the lowest score, but would add less."
        )
    return words


def _not_drawn(features: Sequence[Record]) -> list[str]:
    """Describe features without a finite score."""
    unscored = sum(record["flag"] == "unscorable" for record in features)
    infinite = sum(record["flag"] == "infinite" for record in features)
    words = []
    if unscored:
        words.append(
            f"{counted(unscored, 'feature')} could not be scored and "
            f"{'ranks' if unscored == 1 else 'rank'} last."
        )
    if infinite:
        words.append(
            f"{counted(infinite, 'feature')} with an infinite score "
            f"{'is' if infinite == 1 else 'are'} not drawn."
        )
    return words


def _drawing(ranking: Mapping[str, Any], scored: Sequence[Record], by_gain: bool) -> str:
    scores = [record["score"] for record in scored]
    n = len(ranking["features"])
    x = _ranks(n, by_gain)
    y = Axis(*_ends(min(scores), max(scores)), score_meaning(ranking))
    last = max((record["rank"] for record in ranking["features"] if record["selected"]), default=0)
    parts = [] if not 0 < last < n else [_cut_line(x.place(last + 0.5))]
    parts += _points(scored, x, y) if by_gain or n <= MANY else _curve(scored, last, x, y)
    label = (
        f"Scores by rank, from {score_text(scored[0])} to {score_text(scored[-1])}; "
        f"{counted(last, 'feature')} of {n} selected."
    )
    return plot(
        parts, x, y, label=label, extra=_spread(scored, y) if len(scored) >= WORTH_COUNTING else ""
    )


def _ranks(n: int, by_gain: bool) -> Axis:
    """Return the axis of ranks, with a margin at both ends."""
    label = "position in the selection order" if by_gain else "rank"
    if n > MANY:
        return Axis(0.8, n * 1.1, f"{label} (logarithmic)", logarithmic=True)
    return Axis(0.5, n + 0.5, label, whole=True)


def _ends(low: float, high: float) -> tuple[float, float]:
    """Return the ends of the score axis: from zero if the scores come near it."""
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
    """Draw a curve in two colours that meet at the cut-off."""
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
    """Return at most `most` items, denser at the start, where a logarithmic axis is wide."""
    if len(items) <= most:
        return list(items)
    top = len(items) - 1
    places = sorted({round(top * (step / (most - 1)) ** 3) for step in range(most)})
    return [items[place] for place in places]


def _spread(scored: Sequence[Record], y: Axis) -> str:
    """Draw a sideways histogram of the scores, with the selected ones as ticks at its edge."""
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
        f'<div class="canvas side">{drawn}<span class="across" style="left:50%">'
        "features</span></div>"
    )

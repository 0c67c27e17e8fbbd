"""What curves come to, in sentences and tables: computed, with standard errors, and not more
than they say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from scipy.stats import t as student

from graphsieve.assess.evaluation.results import (
    IN_PERCENT,
    METRICS,
    SIZES_SHOWN,
    Evaluation,
    standard_error,
    table_lines,
)
from graphsieve.assess.evaluation.selection import BASELINES
from graphsieve.report.figures import spread_out
from graphsieve.report.wording import joined

CERTAINTY = 0.95  # of an interval around a difference that must not hold 0 for it to be told
SHOWN = {"random": "random columns", "all": "all columns"}


class Judged:
    """One learner's part of an evaluation, by its first metric, in the unit that people read."""

    def __init__(self, evaluation: Evaluation, learner: str) -> None:
        self.evaluation, self.learner, self.metric = evaluation, learner, evaluation.metrics[0]
        self.in_percent = self.metric in IN_PERCENT
        self.methods = tuple(name for name in evaluation.selectors if name not in BASELINES)
        self._sign = 1 if METRICS[self.metric][1] else -1
        factor = 100 if self.in_percent else 1
        self._values = {
            name: factor * evaluation.values(name, learner) for name in evaluation.selectors
        }
        self.digits = evaluation.digits(learner, self.metric)

    def values(self, name: str, place: int | None = None) -> Any:
        """One value per fold: at one of the sizes, or the mean over all of them."""
        return self._values[name].mean(axis=0) if place is None else self._values[name][place]

    def mean(self, name: str, place: int | None = None) -> float:
        """The mean over folds."""
        return float(self.values(name, place).mean())

    def error(self, name: str, place: int | None = None) -> float:
        """The standard error of that mean."""
        return standard_error(self.values(name, place), test_ratio=self.evaluation.test_ratio)

    def gain(self, name: str, to: str, place: int | None = None) -> tuple[float, float]:
        """How much better one is than the other in the same folds, and the standard error of
        that.
        """
        gains = self._sign * (self.values(name, place) - self.values(to, place))
        return float(gains.mean()), standard_error(gains, test_ratio=self.evaluation.test_ratio)

    def is_better(self, name: str, to: str, place: int | None = None) -> bool:
        """Whether it is better beyond chance: by Student's t, since a few folds know their own
        spread badly.
        """
        gain, error = self.gain(name, to, place)
        n_folds = len(self.values(name, place))
        if n_folds < 2:
            return False
        return gain > 0 and gain > float(student.ppf((1 + CERTAINTY) / 2, n_folds - 1)) * error

    def best(self, place: int | None = None) -> str:
        """The method with the best mean, the first of equals."""
        return max(self.methods, key=lambda name: self._sign * self.mean(name, place))

    def number(self, value: float, *, unit: bool = False) -> str:
        """A number with its digits."""
        return f"{value:.{self.digits}f}" + (" %" if unit and self.in_percent else "")

    def plus_minus(self, value: float, error: float) -> str:
        """A number with its standard error, if it has one."""
        return self.number(value) + ("" if math.isnan(error) else f" ± {self.number(error)}")


def sentences(evaluation: Evaluation) -> list[str]:
    """What was found, with every learner."""
    return [" ".join(_about(Judged(evaluation, learner))) for learner in evaluation.learners]


def _about(judged: Judged) -> list[str]:
    """The best method, who cannot be told from it, who cannot be told from chance, and how few
    columns do as well as all.
    """
    best, beats = judged.best(), judged.is_better(judged.best(), "random")
    what = (
        f"mean {METRICS[judged.metric][0]} {judged.number(judged.mean(best), unit=True)}, "
        f"{_gain(judged, best)}"
    )
    lines = [f"With {judged.learner}, {_headline(judged, best, beats)}: {what}."]
    level = [name for name in judged.methods if name != best and not judged.is_better(best, name)]
    if level and beats:
        lines.append(f"Not told apart from it: {joined(level)}.")
    useless = [name for name in judged.methods if not judged.is_better(name, "random")]
    if useless and beats:
        lines.append(f"Not clearly better than random columns: {joined(useless)}.")
    return [*lines, _to_all(judged, best)]


def _headline(judged: Judged, best: str, beats: bool) -> str:
    sizes = judged.evaluation.sizes
    over = "over all sizes" if len(sizes) > 1 else f"with {sizes[0]} of the columns"
    if len(judged.methods) == 1:
        return f"{best} is {'' if beats else 'not clearly '}better than random columns {over}"
    return (
        f"{best} is best {over}"
        if beats
        else f"no method is clearly better than random columns {over}, not even {best}"
    )


def _gain(judged: Judged, best: str) -> str:
    """``"8.9 ± 1.1 points above random columns"``; an error is good where it is below."""
    gain, error = judged.gain(best, "random")
    above = (gain >= 0) == METRICS[judged.metric][1]
    points = " points" if judged.in_percent else ""
    return (
        f"{judged.plus_minus(abs(gain), error)}{points} {'above' if above else 'below'} random "
        "columns"
    )


def _to_all(judged: Judged, best: str) -> str:
    """All columns beside the best method: where it is ahead of them, or from which size on it is
    level.
    """
    sizes = judged.evaluation.sizes
    text = (
        f"All {judged.evaluation.n_features} columns reach "
        f"{judged.number(judged.mean('all'), unit=True)}"
    )
    ahead = max(range(len(sizes)), key=lambda place: judged.gain(best, "all", place)[0])
    if judged.is_better(best, "all", ahead):
        return (
            f"{text}, {best} with {sizes[ahead]} "
            f"{judged.number(judged.mean(best, ahead), unit=True)}."
        )
    behind = [place for place in range(len(sizes)) if judged.is_better("all", best, place)]
    level = max(behind, default=-1) + 1
    if level == len(sizes):
        return f"{text}; {best} with {sizes[-1]} is behind."
    return (
        f"{text}; {best} cannot be told from that with "
        f"{sizes[level]}{'' if level == len(sizes) - 1 else ' or more'}."
    )


def tables(evaluation: Evaluation) -> list[str]:
    """Methods by sizes for every learner, the baselines at the bottom."""
    metric = evaluation.metrics[0]
    unit = " in %" if metric in IN_PERCENT else ", small is good"
    times = f"{evaluation.folds} folds" + (
        f" × {evaluation.repeats} repeats" if evaluation.repeats > 1 else ""
    )
    lines = [
        f"{METRICS[metric][0]}{unit}, mean ± standard error over {times}, by number of columns;",
        "* is the best with so many, where it beats random columns (Student's t, "
        f"{100 * CERTAINTY:.0f} %)",
    ]
    for learner in evaluation.learners:
        lines += ["", *_table(Judged(evaluation, learner))]
    return lines


def _table(judged: Judged) -> list[str]:
    sizes = judged.evaluation.sizes
    places: list[int | None] = list(spread_out(len(sizes), SIZES_SHOWN))
    header = [judged.learner, *(str(sizes[place]) for place in places if place is not None)]
    if len(sizes) > 1:
        places.append(None)
        header.append("mean")
    best = {place: judged.best(place) for place in places}
    rows = [header]
    for name in judged.evaluation.selectors:
        cells = []
        for place in places:
            star = "*" if best[place] == name and judged.is_better(name, "random", place) else " "
            cells.append(
                judged.plus_minus(judged.mean(name, place), judged.error(name, place)) + star
            )
        if name == "all":  # one number, however many columns the others have
            cells = [""] * (len(cells) - 1) + cells[-1:]
        rows.append([SHOWN.get(name, name), *cells])
    rows[0] = [header[0], *(f"{cell} " for cell in header[1:])]
    return table_lines(rows, left=[True] + [False] * (len(header) - 1))


def agreement_table(methods: Sequence[str], agreement: Any, overlap: Any) -> list[str]:
    """Tau below the diagonal, the share of the first columns in common above it."""
    rows = [["", *(str(number + 1) for number in range(len(methods)))]]
    for i, name in enumerate(methods):
        cells = [f"{i + 1} {name}"]
        for j in range(len(methods)):
            if i == j:
                cells.append("·")
            elif j > i:
                cells.append(f"{100 * overlap[i, j]:.0f} %")
            else:
                cells.append(
                    ""
                    if math.isnan(agreement[i, j])
                    else f"{agreement[i, j]:.2f}".replace("-", "−")
                )
        rows.append(cells)
    return table_lines(rows, left=[True] + [False] * len(methods))

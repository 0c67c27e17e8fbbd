"""Findings of an evaluation in sentences and tables, with significance tests."""

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

# Confidence level. A difference is significant if its confidence interval does not contain 0.
CERTAINTY = 0.95
SHOWN = {"random": "random columns", "all": "all columns"}


class Judged:
    """Evaluation of one learner by the first metric, in the unit that is printed."""

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
        """Values per fold, at one of the sizes or averaged over all sizes."""
        return self._values[name].mean(axis=0) if place is None else self._values[name][place]

    def mean(self, name: str, place: int | None = None) -> float:
        """Mean over the folds."""
        return float(self.values(name, place).mean())

    def error(self, name: str, place: int | None = None) -> float:
        """Standard error of the mean."""
        return standard_error(self.values(name, place), test_ratio=self.evaluation.test_ratio)

    def gain(self, name: str, to: str, place: int | None = None) -> tuple[float, float]:
        """Mean improvement of `name` over `to` in the same folds, and its standard error."""
        gains = self._sign * (self.values(name, place) - self.values(to, place))
        return float(gains.mean()), standard_error(gains, test_ratio=self.evaluation.test_ratio)

    def is_better(self, name: str, to: str, place: int | None = None) -> bool:
        """Whether `name` is significantly better than `to`.

        The test uses Student's t, because a few folds estimate their spread poorly.
        """
        gain, error = self.gain(name, to, place)
        n_folds = len(self.values(name, place))
        if n_folds < 2:
            return False
        return gain > 0 and gain > float(student.ppf((1 + CERTAINTY) / 2, n_folds - 1)) * error

    def best(self, place: int | None = None) -> str:
        """Method with the best mean. In case of ties, it is the first."""
        return max(self.methods, key=lambda name: self._sign * self.mean(name, place))

    def number(self, value: float, *, unit: bool = False) -> str:
        """Format a number."""
        return f"{value:.{self.digits}f}" + (" %" if unit and self.in_percent else "")

    def plus_minus(self, value: float, error: float) -> str:
        """Format a number with its standard error, if it has one."""
        return self.number(value) + ("" if math.isnan(error) else f" ± {self.number(error)}")


def sentences(evaluation: Evaluation) -> list[str]:
    """Return the findings for every learner."""
    return [" ".join(_about(Judged(evaluation, learner))) for learner in evaluation.learners]


def _about(judged: Judged) -> list[str]:
    """Return the findings for one learner.

    They name the best method, the methods that are not significantly worse, the methods that are
    not significantly better than random columns, and compare the best method with all columns.
    """
    best, beats = judged.best(), judged.is_better(judged.best(), "random")
    what = (
        f"mean {METRICS[judged.metric][0]} {judged.number(judged.mean(best), unit=True)}, "
        f"{_gain(judged, best)}"
    )
    lines = [f"With {judged.learner}, {_headline(judged, best, beats)}: {what}."]
    level = [name for name in judged.methods if name != best and not judged.is_better(best, name)]
    if level and beats:
        lines.append(f"Not significantly worse: {joined(level)}.")
    useless = [name for name in judged.methods if not judged.is_better(name, "random")]
    if useless and beats:
        lines.append(f"Not significantly better than random columns: {joined(useless)}.")
    return [*lines, _to_all(judged, best)]


def _headline(judged: Judged, best: str, beats: bool) -> str:
    sizes = judged.evaluation.sizes
    over = "on average over all sizes" if len(sizes) > 1 else f"with {sizes[0]} of the columns"
    if len(judged.methods) == 1:
        return f"{best} is {'' if beats else 'not '}significantly better than random columns {over}"
    return (
        f"{best} is best {over}"
        if beats
        else f"no method is significantly better than random columns {over}; the best is {best}"
    )


def _gain(judged: Judged, best: str) -> str:
    """Describe the gain, such as ``"8.9 ± 1.1 percentage points above random columns"``.

    For error metrics, values below those of random columns are better.
    """
    gain, error = judged.gain(best, "random")
    above = (gain >= 0) == METRICS[judged.metric][1]
    points = " percentage points" if judged.in_percent else ""
    return (
        f"{judged.plus_minus(abs(gain), error)}{points} {'above' if above else 'below'} random "
        "columns"
    )


def _to_all(judged: Judged, best: str) -> str:
    """Compare the best method with all columns.

    The sentence gives the size at which the method is significantly better than all columns, or
    else the smallest size from which on it is not significantly worse.
    """
    sizes, n_in_all = judged.evaluation.sizes, judged.evaluation.n_in_all
    which = "" if n_in_all == judged.evaluation.n_features else " that may be selected"
    text = f"All {n_in_all} columns{which} reach {judged.number(judged.mean('all'), unit=True)}"
    ahead = max(range(len(sizes)), key=lambda place: judged.gain(best, "all", place)[0])
    if judged.is_better(best, "all", ahead):
        return (
            f"{text}; {best} with {sizes[ahead]} of them is significantly better and reaches "
            f"{judged.number(judged.mean(best, ahead), unit=True)}."
        )
    behind = [place for place in range(len(sizes)) if judged.is_better("all", best, place)]
    level = max(behind, default=-1) + 1
    if level == len(sizes):
        return f"{text}; {best} with {sizes[-1]} of them is significantly worse."
    return (
        f"{text}; {best} is not significantly worse with "
        f"{sizes[level]}{'' if level == len(sizes) - 1 else ' or more'} of them."
    )


def tables(evaluation: Evaluation) -> list[str]:
    """Return a table of methods by sizes for every learner, with the baselines at the bottom."""
    metric = evaluation.metrics[0]
    unit = " in %" if metric in IN_PERCENT else " (lower is better)"
    times = f"{evaluation.folds} folds" + (
        f" × {evaluation.repeats} repeats" if evaluation.repeats > 1 else ""
    )
    lines = [
        f"Metric: {METRICS[metric][0]}{unit} by number of columns, mean ± standard error over "
        f"{times}",
        "* best method, if significantly better than random columns (Student's t, "
        f"{100 * CERTAINTY:.0f} % confidence)",
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
        if name == "all":  # The value does not depend on the size, so it is shown once.
            cells = [""] * (len(cells) - 1) + cells[-1:]
        rows.append([SHOWN.get(name, name), *cells])
    rows[0] = [header[0], *(f"{cell} " for cell in header[1:])]
    return table_lines(rows, left=[True] + [False] * (len(header) - 1))


def agreement_table(methods: Sequence[str], agreement: Any, overlap: Any) -> list[str]:
    """Return a table with tau below the diagonal and the overlap of the first columns above it."""
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

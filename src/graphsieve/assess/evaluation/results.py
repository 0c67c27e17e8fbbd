"""What an evaluation found: every measurement, means with standard errors, paired differences, a
table, a picture.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

from graphsieve._base.array_types import Floats
from graphsieve._base.errors import InputError, InputTypeError
from graphsieve._base.parameters import between, boolean, choice, must_be
from graphsieve.assess.evaluation.selection import BASELINES
from graphsieve.report.figures import Curve, draw_panels, spread_out

METRICS = {
    "accuracy": ("accuracy", True),
    "rmse": ("root mean squared error", False),
    "relative_rmse": ("error relative to predicting the training mean", False),
    "nmi": ("normalized mutual information", True),
}
"""What a metric is called in full, and whether large is good."""
IN_PERCENT = ("accuracy", "nmi")
SIZES_SHOWN = 6
ROWS_SHOWN = 40


class Measurement(NamedTuple):
    """One number: what a learner reached with so many features of a selector in one fold of one
    repeat (counted from 0).
    """

    selector: str
    learner: str
    metric: str
    n_features: int
    repeat: int
    fold: int
    value: float
    seconds: float


class Selection(NamedTuple):
    """The features a selector chose in one fold, best first, as many as the largest size."""

    selector: str
    repeat: int
    fold: int
    features: tuple[int, ...]
    seconds: float


def standard_error(values: ArrayLike, *, test_ratio: float = 0.0) -> float:
    """The standard error of the mean of several values; NaN for fewer than two.

    Parameters
    ----------
    values : array
        One per repetition.
    test_ratio : float
        0 for independent repetitions: s/√n. For repetitions that train on overlapping rows, as
        folds do, test rows over training rows, by which the variance is corrected: s √(1/n +
        ratio).

    References
    ----------
    Nadeau, Bengio (2003), Inference for the generalization error; Bouckaert, Frank (2004) for
    repeated folds.

    Examples
    --------
    >>> standard_error([1.0, 3.0, 5.0, 7.0, 9.0])  # √(10/5)
    1.4142135623730951
    """
    ratio = between(0, sys.float_info.max)("test_ratio", test_ratio)
    try:
        given = np.asarray(values)
        numbers = given.astype(np.float64) if given.dtype.kind in "biufO" else None
    except (TypeError, ValueError, OverflowError):
        numbers = None
    if numbers is None:
        raise InputTypeError(must_be("values", "a list of numbers", values))
    if numbers.ndim != 1:
        raise InputError(f"values must be a list of numbers, got shape {numbers.shape}.")
    if len(numbers) < 2 or not np.isfinite(numbers).all():
        return math.nan
    # By a power of two, so that no square is beyond the largest number.
    _, exponent = np.frexp(np.abs(numbers).max())
    deviation = np.ldexp(numbers, -exponent).std(ddof=1) * math.sqrt(1 / len(numbers) + ratio)
    return float(np.ldexp(deviation, exponent))


class Records(Sequence[dict[str, Any]]):
    """Rows with the same columns, each a plain dict: it prints as a table, and `to_frame` makes a
    pandas frame of it.

    Examples
    --------
    >>> Records([{"selector": "fisher", "mean": 0.912345}])
    selector    mean
    fisher    0.9123
    """

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        self._rows = tuple(rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(row) for row in self._rows)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Records: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | Records:
        return Records(self._rows[index]) if isinstance(index, slice) else dict(self._rows[index])

    def to_frame(self) -> Any:
        """A pandas data frame of the rows."""
        try:
            import pandas as pd  # noqa: PLC0415 - optional
        except ModuleNotFoundError as error:
            raise ImportError('to_frame needs pandas: pip install "graphsieve[pandas]"') from error
        return pd.DataFrame(list(self._rows))

    def __repr__(self) -> str:
        if not self._rows:
            return "(no rows)"
        header = list(self._rows[0])
        shown = [[_cell(row[name]) for name in header] for row in self._rows[:ROWS_SHOWN]]
        more = len(self) - len(shown)
        lines = table_lines(
            [header, *shown], left=[isinstance(self._rows[0][name], str) for name in header]
        )
        return "\n".join(lines + ([f"… {more} more; to_frame() has them all"] if more else []))


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Curves over the number of features, for every selector and learner. It prints as a table.

    Attributes
    ----------
    task : str
        ``"classification"``, ``"regression"`` or ``"clustering"``.
    selectors, learners : tuple of str
        Their names; the baselines come last.
    metrics : tuple of str
        What was measured; the first is meant where none is named.
    sizes : tuple of int
        Numbers of features; ``"all"`` has all of them instead.
    n_samples, n_features : int
        Of the table.
    folds, repeats : int
        How often was measured.
    test_ratio : float
        Test rows over training rows with a known y, which `standard_error` corrects for; 0 for
        clustering, where nothing is held out.
    knowledge : str
        What selectors were told, in a few words.
    measurements : tuple of Measurement
        Everything measured.
    selections : tuple of Selection
        What every selector chose in every fold; not for ``"all"``.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from graphsieve import evaluate
    >>> X, y = load_wine(return_X_y=True)
    >>> result = evaluate("fisher", X, y, sizes=[2, 4], learners="1nn")
    >>> result.selectors
    ('fisher', 'random', 'all')
    >>> [row["n_features"] for row in result.differences(to="all") if row["selector"] == "fisher"]
    [2, 4]
    """

    task: str
    selectors: tuple[str, ...]
    learners: tuple[str, ...]
    metrics: tuple[str, ...]
    sizes: tuple[int, ...]
    n_samples: int
    n_features: int
    folds: int
    repeats: int
    test_ratio: float
    knowledge: str
    measurements: tuple[Measurement, ...]
    selections: tuple[Selection, ...]

    def records(self) -> Records:
        """Every measurement as a plain dict: selector, learner, metric, n_features, repeat,
        fold, value, seconds.
        """
        return Records(measured._asdict() for measured in self.measurements)

    def to_frame(self) -> Any:
        """Every measurement as a row of a pandas data frame; `seconds` is what the selection
        took in that fold.
        """
        return self.records().to_frame()

    def values(
        self, selector: str, learner: str | None = None, *, metric: str | None = None
    ) -> Floats:
        """What was measured with one selector and learner, of shape (number of sizes, repeats ×
        folds).

        The rows are those of `sizes`; ``"all"`` has the same values in each of them. `learner` may
        be left out where there is only one.
        """
        choice(self.selectors)("selector", selector)
        if learner is None and len(self.learners) > 1:
            raise InputError(f"name the learner, one of {', '.join(map(repr, self.learners))}.")
        learner = choice(self.learners)("learner", self.learners[0] if learner is None else learner)
        wanted = (selector, learner, self._metric(metric))
        found: dict[int, list[float]] = {}
        for one in self.measurements:
            if (one.selector, one.learner, one.metric) == wanted:
                found.setdefault(one.n_features, []).append(one.value)
        return np.array(
            [found[self.n_features if selector == "all" else size] for size in self.sizes]
        )

    def summary(self, *, metric: str | None = None, over_sizes: bool = False) -> Records:
        """Mean and standard error of every selector, learner and number of features.

        Parameters
        ----------
        metric : str, optional
            One of `metrics`; None is the first.
        over_sizes : bool
            Whether to take the mean over the sizes first, in each fold; `n_features` is then None
            (for ``"all"``, all of them).

        Returns
        -------
        Records
            Of selector, learner, metric, n_features, mean, standard_error, n (how often it was
            measured), and seconds, the mean time of a selection. Folds share most of their training
            rows, so that their values are not independent; the standard error is corrected for
            that, as `standard_error` says.
        """
        metric, over_sizes = self._metric(metric), boolean()("over_sizes", over_sizes)
        seconds = {
            name: [one.seconds for one in self.selections if one.selector == name]
            for name in self.selectors
        }
        return Records(
            {
                "selector": selector,
                "learner": learner,
                "metric": metric,
                "n_features": size,
                "mean": float(values.mean()),
                "standard_error": standard_error(values, test_ratio=self.test_ratio),
                "n": len(values),
                "seconds": float(np.mean(seconds[selector])) if seconds[selector] else 0.0,
            }
            for learner in self.learners
            for selector in self.selectors
            for size, values in self._by_size(selector, learner, metric, over_sizes)
        )

    def differences(
        self, to: str = "random", *, metric: str | None = None, over_sizes: bool = False
    ) -> Records:
        """How every other selector differs from one of them, fold by fold.

        Parameters
        ----------
        to : str
            The selector to compare with; all columns are compared at every number of features.
        metric, over_sizes
            As in `summary`.

        Returns
        -------
        Records
            Of selector, to, learner, metric, n_features, mean (selector minus `to`, over the same
            folds), standard_error (corrected as `standard_error` says), p (two-sided, of Student's
            t with one degree of freedom fewer than folds in all), and better and worse, the shares
            of folds in which the selector is so; equal folds are neither.
        """
        to, metric, over_sizes = (
            self._selector(to),
            self._metric(metric),
            boolean()("over_sizes", over_sizes),
        )
        rows = []
        for learner in self.learners:
            theirs = self._sized(to, learner, metric, over_sizes)
            for selector in self.selectors:
                if selector != to:
                    ours = self._sized(selector, learner, metric, over_sizes)
                    for size, difference in zip(
                        [None] if over_sizes else self.sizes, ours - theirs, strict=True
                    ):
                        who = {
                            "selector": selector,
                            "to": to,
                            "learner": learner,
                            "metric": metric,
                            "n_features": size,
                        }
                        rows.append(who | self._compared(difference, METRICS[metric][1]))
        return Records(rows)

    def plot(self, *, metric: str | None = None, axes: Any = None) -> Any:
        """The curves, one panel per learner, with bands of one standard error; needs matplotlib.

        Parameters
        ----------
        metric : str, optional
            One of `metrics`; None is the first.
        axes : sequence of matplotlib axes, optional
            One per learner to draw on.

        Returns
        -------
        array of matplotlib axes
            One per learner.
        """
        metric = self._metric(metric)
        label = METRICS[metric][0] + (" (%)" if metric in IN_PERCENT else "")
        panels = {learner: self._curves(learner, metric) for learner in self.learners}
        return draw_panels(panels, y_label=label, axes=axes)

    def __str__(self) -> str:
        times = " × ".join(
            _counted(n, word)
            for n, word in ((self.folds, "fold"), (self.repeats, "repeat"))
            if n > 1 or word == "fold"
        )
        if self.task == "clustering":
            times = _counted(self.repeats, "repeat")
        metric = self.metrics[0]
        unit = " in %" if metric in IN_PERCENT else ""
        lines = [
            f"{self.task} of {self.n_samples} samples by some of {self.n_features} features; "
            f"{self.knowledge}",
            f"{METRICS[metric][0]}{unit}, mean ± standard error over {times}",
        ]
        for learner in self.learners:
            lines += ["", *self._table(learner, metric)]
        return "\n".join(lines)

    __repr__ = __str__

    def _table(self, learner: str, metric: str) -> list[str]:
        """One learner: selectors down, sizes across, their mean, and all columns at the end."""
        places = spread_out(len(self.sizes), SIZES_SHOWN)
        sizes = [self.sizes[place] for place in places]
        several = len(self.sizes) > 1
        header = [
            learner,
            *map(str, sizes),
            *(["mean"] if several else []),
            *(["all"] if "all" in self.selectors else []),
        ]
        rows = [header]
        digits = self.digits(learner, metric)
        for selector in self.selectors:
            cells = [
                self._mean_cell(values, metric, digits)
                for values in self._sized(selector, learner, metric, False)[places]
            ]
            if several:
                cells.append(
                    self._mean_cell(self._sized(selector, learner, metric, True)[0], metric, digits)
                )
            if "all" in self.selectors:
                cells = [""] * len(cells) + cells[-1:] if selector == "all" else [*cells, ""]
            rows.append([selector, *cells])
        return table_lines(rows, left=[True] + [False] * (len(header) - 1))

    def _mean_cell(self, values: Floats, metric: str, digits: int) -> str:
        factor = 100 if metric in IN_PERCENT else 1
        mean, error = (
            factor * float(values.mean()),
            factor * standard_error(values, test_ratio=self.test_ratio),
        )
        return f"{mean:.{digits}f}" + ("" if math.isnan(error) else f" ± {error:.{digits}f}")

    def digits(self, learner: str, metric: str) -> int:
        """Decimals that show the largest mean with four digits, percents with one decimal."""
        largest = max(
            float(self._sized(selector, learner, metric, False).mean(axis=1).max())
            for selector in self.selectors
        )
        if metric in IN_PERCENT or not 0 < largest < math.inf:
            return 1
        return max(0, 3 - math.floor(math.log10(largest)))

    def _curves(self, learner: str, metric: str) -> list[Curve]:
        factor = 100 if metric in IN_PERCENT else 1
        curves = []
        for selector in self.selectors:
            values = factor * self._sized(selector, learner, metric, False)
            errors = [standard_error(row, test_ratio=self.test_ratio) for row in values]
            curves.append(
                Curve(
                    selector,
                    self.sizes,
                    values.mean(axis=1),
                    np.array(errors),
                    selector in BASELINES,
                )
            )
        return curves

    def _by_size(
        self, selector: str, learner: str, metric: str, over_sizes: bool
    ) -> list[tuple[int | None, Floats]]:
        if selector == "all":
            return [(self.n_features, self.values(selector, learner, metric=metric)[0])]
        found = self._sized(selector, learner, metric, over_sizes)
        return list(zip([None] if over_sizes else self.sizes, found, strict=True))

    def _sized(self, selector: str, learner: str, metric: str, over_sizes: bool) -> Floats:
        values = self.values(selector, learner, metric=metric)
        return values.mean(axis=0, keepdims=True) if over_sizes else values

    def _compared(self, difference: Floats, large_is_good: bool) -> dict[str, float]:
        mean, error = (
            float(difference.mean()),
            standard_error(difference, test_ratio=self.test_ratio),
        )
        gain = difference if large_is_good else -difference
        return {
            "mean": mean,
            "standard_error": error,
            "p": two_sided(mean, error, len(difference) - 1),
            "better": float((gain > 0).mean()),
            "worse": float((gain < 0).mean()),
        }

    def _metric(self, metric: str | None) -> str:
        return self.metrics[0] if metric is None else str(choice(self.metrics)("metric", metric))

    def _selector(self, to: str) -> str:
        return str(choice(self.selectors)("to", to))


def two_sided(mean: float, error: float, freedom: int) -> float:
    """The probability of a mean this far from 0, by Student's t; NaN without an error, 1 where
    there is no difference at all.
    """
    if math.isnan(error) or error == 0:
        return 1.0 if error == 0 and mean == 0 else 0.0 if error == 0 else math.nan
    return float(2 * student.sf(abs(mean) / error, freedom))


def table_lines(rows: Sequence[Sequence[str]], *, left: Sequence[bool]) -> list[str]:
    """Columns of one width each, to the left or to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{cell:<{width}}" if to_left else f"{cell:>{width}}"
            for cell, width, to_left in zip(row, widths, left, strict=True)
        ).rstrip()
        for row in rows
    ]


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")

"""Results of an evaluation: measurements, means with standard errors, paired differences, tables
and plots.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
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
"""Full name of each metric, and whether large values are good."""
IN_PERCENT = ("accuracy", "nmi")
SIZES_SHOWN = 6
ROWS_SHOWN = 40


class Measurement(NamedTuple):
    """One value of a metric: for one selector, learner, number of features, repeat and fold.

    Repeats and folds are counted from 0. `seconds` is the time of the selection.
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
    """Features selected in one fold, best first, up to the largest size."""

    selector: str
    repeat: int
    fold: int
    features: tuple[int, ...]
    seconds: float


def standard_error(values: ArrayLike, *, test_ratio: float = 0.0) -> float:
    """Standard error of the mean of several values. It is NaN for fewer than two values.

    Parameters
    ----------
    values : array
        One value per repetition.
    test_ratio : float
        Number of test rows divided by the number of training rows, for repetitions with overlapping
        training rows, such as folds. The corrected standard error is s √(1/n + ratio). Use 0 for
        independent repetitions, which gives s/√n.

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
    # Scale by a power of two, so that no square overflows.
    _, exponent = np.frexp(np.abs(numbers).max())
    deviation = np.ldexp(numbers, -exponent).std(ddof=1) * math.sqrt(1 / len(numbers) + ratio)
    return float(np.ldexp(deviation, exponent))


class Records(Sequence[dict[str, Any]]):
    """Sequence of plain dicts with the same keys. It prints as a table.

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
        """Return the rows as a pandas data frame."""
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
    """Performance of every selector and learner by number of features. It prints as a table.

    Attributes
    ----------
    task : str
        ``"classification"``, ``"regression"`` or ``"clustering"``.
    selectors, learners : tuple of str
        Names of the selectors, with the baselines last, and of the learners.
    metrics : tuple of str
        Names of the metrics. The first is the default.
    sizes : tuple of int
        Numbers of features. They do not apply to ``"all"``, which uses all features.
    n_samples, n_features : int
        Shape of the table.
    folds, repeats : int
        Number of folds per repeat, and number of repeats.
    test_ratio : float
        Number of test rows divided by the number of labelled training rows, for the correction in
        `standard_error`. It is 0 for clustering, which holds out no rows.
    knowledge : str
        Short description of the supervision that selectors received.
    measurements : tuple of Measurement
        All measured values.
    selections : tuple of Selection
        Features selected by every selector in every fold, except for ``"all"``.

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

    @cached_property
    def n_in_all(self) -> int:
        """Number of features of the baseline ``"all"``. In `compare`, they are its candidates."""
        of_all = (one.n_features for one in self.measurements if one.selector == "all")
        return next(of_all, self.n_features)

    def records(self) -> Records:
        """Return every measurement as a plain dict.

        The keys are selector, learner, metric, n_features, repeat, fold, value and seconds.
        """
        return Records(measured._asdict() for measured in self.measurements)

    def to_frame(self) -> Any:
        """Return every measurement as a row of a pandas data frame.

        The column `seconds` is the time of the selection in that fold.
        """
        return self.records().to_frame()

    def values(
        self, selector: str, learner: str | None = None, *, metric: str | None = None
    ) -> Floats:
        """Return the values of one selector and learner, of shape (n_sizes, repeats × folds).

        The rows correspond to `sizes`. For ``"all"``, all rows are equal. `learner` may be omitted
        if there is only one.
        """
        choice(self.selectors)("selector", selector)
        if learner is None and len(self.learners) > 1:
            raise InputError(
                f"several learners were evaluated; pass one of "
                f"{', '.join(map(repr, self.learners))} as learner."
            )
        learner = choice(self.learners)("learner", self.learners[0] if learner is None else learner)
        wanted = (selector, learner, self._metric(metric))
        found: dict[int, list[float]] = {}
        for one in self.measurements:
            if (one.selector, one.learner, one.metric) == wanted:
                found.setdefault(one.n_features, []).append(one.value)
        return np.array(
            [found[self.n_in_all if selector == "all" else size] for size in self.sizes]
        )

    def summary(self, *, metric: str | None = None, over_sizes: bool = False) -> Records:
        """Return the mean and standard error for every selector, learner and number of features.

        Parameters
        ----------
        metric : str, optional
            One of `metrics`. None is the first.
        over_sizes : bool
            Whether to average over the sizes in each fold first. `n_features` is then None, and the
            total number of features for ``"all"``.

        Returns
        -------
        Records
            Rows with the keys selector, learner, metric, n_features, mean, standard_error, n
            (number of values), and seconds (mean time of a selection). Folds share most of their
            training rows, so their values are not independent. The standard error is corrected for
            this, as described in `standard_error`.
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
        """Return paired differences, over the same folds, between one selector and all others.

        Parameters
        ----------
        to : str
            Selector to compare with. The baseline ``"all"`` is compared at every number of
            features.
        metric, over_sizes
            As in `summary`.

        Returns
        -------
        Records
            Rows with the keys selector, to, learner, metric, n_features, mean (selector minus
            `to`), standard_error (corrected as described in `standard_error`), p (two-sided,
            Student's t with one degree of freedom fewer than the number of values), better and
            worse (shares of folds in which the selector is better or worse; ties count as neither).
        """
        to, metric, over_sizes = (
            self._selector(to),
            self._metric(metric),
            boolean()("over_sizes", over_sizes),
        )
        rows = []
        for learner in self.learners:
            reference = self._sized(to, learner, metric, over_sizes)
            for selector in self.selectors:
                if selector != to:
                    values = self._sized(selector, learner, metric, over_sizes)
                    for size, difference in zip(
                        [None] if over_sizes else self.sizes, values - reference, strict=True
                    ):
                        keys = {
                            "selector": selector,
                            "to": to,
                            "learner": learner,
                            "metric": metric,
                            "n_features": size,
                        }
                        rows.append(keys | self._compared(difference, METRICS[metric][1]))
        return Records(rows)

    def plot(self, *, metric: str | None = None, axes: Any = None) -> Any:
        """Plot the metric against the number of features, with bands of one standard error.

        There is one panel per learner. Plotting requires matplotlib.

        Parameters
        ----------
        metric : str, optional
            One of `metrics`. None is the first.
        axes : sequence of matplotlib axes, optional
            Axes to draw on, one per learner.

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
        unit = " in %" if metric in IN_PERCENT else " (lower is better)"
        lines = [
            f"Task: {self.task} of {self.n_samples} samples with {self.n_features} features; "
            f"supervision: {self.knowledge}",
            f"Metric: {METRICS[metric][0]}{unit} by number of features, "
            f"mean ± standard error over {times}",
        ]
        for learner in self.learners:
            lines += ["", *self._table(learner, metric)]
        return "\n".join(lines)

    __repr__ = __str__

    def _table(self, learner: str, metric: str) -> list[str]:
        """Format the table of one learner.

        Rows are selectors. Columns are sizes, followed by their mean and by all features.
        """
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
        """Return the number of decimals.

        Percentages have one decimal. Other metrics show the largest mean with four digits.
        """
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
            return [(self.n_in_all, self.values(selector, learner, metric=metric)[0])]
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
    """Two-sided p-value of a mean under Student's t with `freedom` degrees of freedom.

    It is NaN without a standard error, and 1 if there is no difference at all.
    """
    if math.isnan(error) or error == 0:
        return 1.0 if error == 0 and mean == 0 else 0.0 if error == 0 else math.nan
    return float(2 * student.sf(abs(mean) / error, freedom))


def table_lines(rows: Sequence[Sequence[str]], *, left: Sequence[bool]) -> list[str]:
    """Format rows as a table, with each column aligned to the left or to the right."""
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

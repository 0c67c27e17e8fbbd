"""Means over repetitions with their standard errors, and the decisions based on them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm as normal
from scipy.stats import t as student

from graphsieve.assess.evaluation.results import standard_error
from graphsieve.papers.results import Cell, Series, Verdict

INTERVAL = float(normal.isf(0.025))  # half-width of a 95 % interval in standard errors


@dataclass(frozen=True, order=True)
class Estimate:
    """A mean over independent repetitions.

    `above` and `below` compare by a number of standard errors. `clearly_above`, `clearly_below`
    and `may_reach` also allow for few repetitions. They use the interval of Student's t, by
    default with 95 %.

    Attributes
    ----------
    mean, error : float
        The mean and its standard error. The error of a single repetition is NaN.
    count : float
        Number of repetitions; infinite if the error is practically exact.
    """

    mean: float
    error: float
    count: float = math.inf

    @classmethod
    def of(cls, values: ArrayLike) -> Estimate:
        """Return the estimate from one number per repetition."""
        numbers = np.asarray(values, dtype=np.float64)
        return cls(
            float(numbers.mean()) if len(numbers) else math.nan,
            standard_error(numbers),
            len(numbers),
        )

    def above(self, limit: float = 0.0, errors: float = 2.0) -> bool:
        """Whether it is above the limit by more than `errors` standard errors."""
        return self.mean - limit > errors * self.error

    def below(self, limit: float = 0.0, errors: float = 2.0) -> bool:
        """Whether it is below the limit by more than `errors` standard errors."""
        return self.mean - limit < -errors * self.error

    def margin(self, errors: float = INTERVAL) -> float:
        """Return the half-width of the interval by Student's t.

        Its coverage is that of the normal distribution within `errors` standard errors. The
        interval is wider for few repetitions, because their standard error is uncertain.
        """
        return self.error * float(student.isf(normal.sf(errors), self.count - 1))

    def clearly_above(self, limit: float, errors: float = INTERVAL) -> bool:
        """Whether it is above the limit by more than the margin."""
        return self.mean - self.margin(errors) > limit

    def clearly_below(self, limit: float, errors: float = INTERVAL) -> bool:
        """Whether it is below the limit by more than the margin."""
        return self.mean + self.margin(errors) < limit

    def may_reach(self, least: float, errors: float = INTERVAL) -> bool:
        """Whether `least` lies inside the interval or below it."""
        return not self.clearly_below(least, errors)

    def __neg__(self) -> Estimate:
        return Estimate(-self.mean, self.error, self.count)

    def __format__(self, form: str) -> str:
        """Format as mean ± error with the same number of digits. The default form has a sign."""
        form = form or "+.1f"
        return f"{written(self.mean, form)} ± {self.error:{form.lstrip('+')}}"

    def __str__(self) -> str:
        return format(self)

    def cell(self, row: str, column: str, paper: float | None = None) -> Cell:
        """Return a cell of a table."""
        return Cell(row, column, paper, self.mean, None if self.count == 1 else self.error)


def share_error(hits: int, trials: int) -> float:
    """Return the standard error of a share, in per cent.

    One hit and one miss are added, so that the error is not zero if all trials were hits.
    """
    smoothed = (hits + 1) / (trials + 2)
    return 100.0 * math.sqrt(smoothed * (1 - smoothed) / trials)


def estimates(values: np.ndarray[Any, Any]) -> list[Estimate]:
    """Return the estimate of each column. Rows are repetitions."""
    return [Estimate.of(column) for column in values.T]


def together(several: Sequence[Estimate]) -> Estimate:
    """Return the mean of independent estimates."""
    error = math.sqrt(sum(one.error**2 for one in several)) / len(several)
    return Estimate(float(np.mean([one.mean for one in several])), error)


def series(name: str, x: Iterable[float], along: Sequence[Estimate]) -> Series:
    """Return a curve of estimates, with standard errors if there are any."""
    errors = None if along[0].count == 1 else tuple(one.error for one in along)
    return Series(name, tuple(map(float, x)), tuple(one.mean for one in along), errors)


def holds(yes: bool, *, corrected: bool = False) -> Verdict:
    """Return the verdict on a claim that is true, true with a correction, or false."""
    return Verdict.HOLDS if yes else Verdict.CORRECTED if corrected else Verdict.FAILS


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict on a claim with several parts."""
    found = set(verdicts)
    return next(one for one in (Verdict.FAILS, Verdict.CORRECTED, Verdict.HOLDS) if one in found)


def written(value: float, form: str = "+.1f") -> str:
    """Format a number with a proper minus sign, and without a sign if it rounds to zero."""
    text = f"{value:{form}}"
    return text.lstrip("+-") if not text.strip("+-0.") else text.replace("-", "−")


def listed(values: Mapping[str, Any]) -> str:
    """Return ``name value; name value``."""
    return "; ".join(f"{name} {value}" for name, value in values.items())

"""A mean over repetitions with its standard error: how it decides claims, and how it is written."""

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

INTERVAL = float(normal.isf(0.025))  # standard errors on either side that make an interval of 95 %


@dataclass(frozen=True, order=True)
class Estimate:
    """A mean over independent repetitions.

    A rule that counts standard errors asks `above` or `below`; one that also allows for few
    repetitions asks `clearly_above`, `clearly_below` or `may_reach`, which go by Student's t and,
    unless told otherwise, by its interval of 95 %.

    Attributes
    ----------
    mean, error : float
        The mean and its standard error, which a single repetition leaves unknown (NaN).
    count : float
        Repetitions; infinite where the error is as good as known.
    """

    mean: float
    error: float
    count: float = math.inf

    @classmethod
    def of(cls, values: ArrayLike) -> Estimate:
        """Of one number per repetition."""
        numbers = np.asarray(values, dtype=np.float64)
        return cls(
            float(numbers.mean()) if len(numbers) else math.nan,
            standard_error(numbers),
            len(numbers),
        )

    def above(self, limit: float = 0.0, errors: float = 2.0) -> bool:
        """Whether it is above the limit by more than so many standard errors."""
        return self.mean - limit > errors * self.error

    def below(self, limit: float = 0.0, errors: float = 2.0) -> bool:
        """Whether it is below the limit by more than so many standard errors."""
        return self.mean - limit < -errors * self.error

    def margin(self, errors: float = INTERVAL) -> float:
        """As far out as Student's t is as rare as the normal beyond so many standard errors:
        with few, the error is a guess.
        """
        return self.error * float(student.isf(normal.sf(errors), self.count - 1))

    def clearly_above(self, limit: float, errors: float = INTERVAL) -> bool:
        """Whether it is above the limit by more than the margin."""
        return self.mean - self.margin(errors) > limit

    def clearly_below(self, limit: float, errors: float = INTERVAL) -> bool:
        """Whether it is below the limit by more than the margin."""
        return self.mean + self.margin(errors) < limit

    def may_reach(self, least: float, errors: float = INTERVAL) -> bool:
        """Whether chance allows for at least so much."""
        return not self.clearly_below(least, errors)

    def __neg__(self) -> Estimate:
        return Estimate(-self.mean, self.error, self.count)

    def __format__(self, form: str) -> str:
        """Mean ± error, both in the form of the mean; without one as a difference in points,
        which has a sign.
        """
        form = form or "+.1f"
        return f"{written(self.mean, form)} ± {self.error:{form.lstrip('+')}}"

    def __str__(self) -> str:
        return format(self)

    def cell(self, row: str, column: str, paper: float | None = None) -> Cell:
        """For a table."""
        return Cell(row, column, paper, self.mean, None if self.count == 1 else self.error)


def share_error(hits: int, trials: int) -> float:
    """The standard error of a share, in per cent; with one hit and one miss more, so that it is
    not zero where all were hits.
    """
    smoothed = (hits + 1) / (trials + 2)
    return 100.0 * math.sqrt(smoothed * (1 - smoothed) / trials)


def estimates(values: np.ndarray[Any, Any]) -> list[Estimate]:
    """Of each column; rows are repetitions."""
    return [Estimate.of(column) for column in values.T]


def together(several: Sequence[Estimate]) -> Estimate:
    """The mean of independent estimates."""
    error = math.sqrt(sum(one.error**2 for one in several)) / len(several)
    return Estimate(float(np.mean([one.mean for one in several])), error)


def series(name: str, x: Iterable[float], along: Sequence[Estimate]) -> Series:
    """A curve of estimates, with its standard errors where there are any."""
    errors = None if along[0].count == 1 else tuple(one.error for one in along)
    return Series(name, tuple(map(float, x)), tuple(one.mean for one in along), errors)


def holds(yes: bool, *, corrected: bool = False) -> Verdict:
    """The verdict on a claim that is true or not, or true once something is put right."""
    return Verdict.HOLDS if yes else Verdict.CORRECTED if corrected else Verdict.FAILS


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on a claim of several parts."""
    found = set(verdicts)
    return next(one for one in (Verdict.FAILS, Verdict.CORRECTED, Verdict.HOLDS) if one in found)


def written(value: float, form: str = "+.1f") -> str:
    """A number in prose: with a true minus, and without a sign where it is rounded to zero."""
    text = f"{value:{form}}"
    return text.lstrip("+-") if not text.strip("+-0.") else text.replace("-", "−")


def listed(values: Mapping[str, Any]) -> str:
    """``name value; name value``."""
    return "; ".join(f"{name} {value}" for name, value in values.items())

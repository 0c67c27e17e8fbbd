"""The share u = fᵀAf / fᵀBf of a feature, its values under permutations, and a distribution fitted
to its moments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import lgamma
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import betainc, gammainc

from graphsieve._base.array_types import Floats, Integers
from graphsieve.assess.significance.forms import NARROW, Form, distinct_rows, matrix_sums
from graphsieve.assess.significance.moments import MATRIX_SUMS, permutation_moments

STACKED_ELEMENTS = 2**17  # permuted values per block (1 MiB)
# Largest number of products for the third power of a matrix. Beyond it, no distribution is fitted.
COSTLIEST_CUBE = 2**31


@dataclass(frozen=True)
class Share:
    """The share u = fᵀAf / fᵀBf, from 0 (best) to 1.

    The forms are scaled so that the mean of fᵀBf over permutations is 1 if Σf² = 1.
    """

    part: Form
    whole: Form

    @classmethod
    def of(cls, part: Form, whole: Form) -> Share:
        mean = float(whole.loops.sum()) / (whole.n_samples - 1)
        return cls(part.times(1 / mean), whole.times(1 / mean))

    @property
    def n_samples(self) -> int:
        return self.part.n_samples

    @cached_property
    def mean(self) -> float:
        """Mean of u over permutations.

        It is exact if the denominator is the same for all permutations, and approximate otherwise.
        """
        return float(self.part.loops.sum()) / (self.n_samples - 1)

    @cached_property
    def effective(self) -> float:
        """Effective number of samples. It is smaller than their number if some have few edges."""
        loops = self.whole.loops
        return float(loops.sum() ** 2 / (loops @ loops))

    @cached_property
    def symmetries(self) -> float:
        """Logarithm of the number of permutations that leave u unchanged.

        These are the permutations within groups of samples with equal rows in both forms.
        """
        rows = np.column_stack([self.part.near.diagonal(), self.whole.near.diagonal()])
        if self.part.own is None or self.whole.own is None:
            return 0.0
        together = sp.csr_array(
            sp.hstack([sp.csr_array(rows), self.part.factor, self.whole.factor])
        )
        return float(sum(lgamma(size + 1) for size in distinct_rows(together)[1]))

    def invariants(self) -> tuple[Floats, ...]:
        """Return numbers of each sample that do not depend on the order of the samples."""
        own = self.part.loops + np.pi * self.whole.loops
        near = self.part.times_vector(own)
        return own, near, self.part.times_vector(near**2)

    @cached_property
    def projects(self) -> bool:
        """Whether the denominator is the same for all permutations, and the numerator is a multiple
        of the squared length of a projection.
        """
        if (
            self.law is None
            or self.part.own is None
            or self.whole.own is None
            or not self.whole.never_changes
        ):
            return False
        # The nonzero eigenvalues of a multiple of a projection are all equal. This is equivalent to
        # (tr K²)² = tr K · tr K³.
        sums = matrix_sums(self.part)
        return bool(
            abs(sums["edges2"] ** 2 / (self.part.loops.sum() * sums["triangle"]) - 1) < 1e-9
        )

    @cached_property
    def law(self) -> _Law | None:
        """Distribution of u under permutation, or None if its moments are too expensive."""
        for form in (self.part, self.whole):
            degrees = np.diff(form.near.indptr).astype(np.float64)
            columns = form.factor.shape[1]
            if (
                degrees @ degrees > COSTLIEST_CUBE
                or form.n_samples * columns > COSTLIEST_CUBE / max(1, columns)
            ):
                return None
        return _Law(self)

    def values(
        self, features: Floats, orders: Integers, places: Integers | None = None
    ) -> tuple[Floats, Floats]:
        """Numerator and denominator of u for every order (rows) and every feature (columns).

        `places` are the positions of the samples. By default they are in order.
        """
        forms = (self.part, self.whole)
        places = np.arange(self.n_samples) if places is None else places
        if all(form.own is not None and form.factor.shape[1] <= NARROW for form in forms):
            part, whole = (_low_rank_values(form, features, orders, places) for form in forms)
            return part, whole
        part, whole = _stacked_values(forms, features, orders[:, places])
        return part, whole


def _low_rank_values(form: Form, features: Floats, orders: Integers, places: Integers) -> Floats:
    """Compute the values of a low-rank form by permuting the form instead of the features.

    The computation then consists of products of dense matrices.
    """
    assert form.own is not None
    order = np.argsort(places)
    own = form.own[order]
    if (own == own[0]).all():
        total = np.broadcast_to(
            own[0] * (features**2).sum(axis=0), (len(orders), features.shape[1])
        ).copy()
    else:
        total = own[orders] @ features**2
    for column, sign in zip(form.factor.toarray()[order].T, form.signs, strict=True):
        if not (column == column[0]).all():  # Features are centred, so constants contribute 0.
            total += sign * (column[orders] @ features) ** 2
    return np.asarray(total)


def _stacked_values(
    forms: tuple[Form, ...], features: Floats, orders: Integers
) -> tuple[Floats, ...]:
    """Compute the values of forms by permuting the features, in blocks that fit in the cache."""
    n, width = features.shape
    found = tuple(np.empty((len(orders), width)) for _ in forms)
    wide = max(1, min(width, STACKED_ELEMENTS // n))
    deep = max(1, STACKED_ELEMENTS // (n * wide))
    for left in range(0, width, wide):
        columns = np.ascontiguousarray(features[:, left : left + wide])
        for top in range(0, len(orders), deep):
            some = orders[top : top + deep]
            stack = columns[some.T].reshape(n, -1)
            squares = stack**2
            for form, values in zip(forms, found, strict=True):
                own = form.own
                total = (
                    own @ squares
                    if own is not None
                    else np.einsum("ij,ij->j", stack, form.near_rows @ stack)
                )
                total += form.signs @ (form.factor.T @ stack) ** 2
                values[top : top + deep, left : left + wide] = total.reshape(len(some), -1)
    return found


class _Law:
    """P(u ≤ x) by a beta distribution with lower bound 0 and the exact first three moments of
    x + fᵀ(A − xB)f.
    """

    def __init__(self, share: Share) -> None:
        self.n_samples, self.mean = share.n_samples, share.mean
        part, whole = share.part.traceless(), share.whole.traceless()
        # All sums are polynomials in x of degree at most 3, so their values at four points
        # determine them for all x.
        self._nodes = np.array([0.0, 1 / 3, 2 / 3, 1.0])
        sums = [matrix_sums(part + whole.times(-node)) for node in self._nodes]
        powers = np.vander(self._nodes, increasing=True)
        self._coefficients = {
            name: np.linalg.solve(powers, [found[name] for found in sums]) for name in MATRIX_SUMS
        }

    def moments(self, x: Floats, of_feature: Mapping[str, Any]) -> tuple[Floats, Floats]:
        """Variance and third moment of fᵀ(A − xB)f."""
        sums = {
            name: np.polynomial.polynomial.polyval(x, found)
            for name, found in self._coefficients.items()
        }
        variance, third = permutation_moments(sums, of_feature, self.n_samples)
        return np.maximum(variance, 0.0), np.asarray(third)

    def probability(self, x: Floats, of_feature: Mapping[str, Any]) -> Floats:
        """P(u ≤ x). It is NaN if no such distribution has these moments."""
        variance, third = self.moments(x, of_feature)
        return beta_law(x, self.mean, variance, third)

    def shifts(self, x: Floats, of_feature: Mapping[str, Any]) -> Floats:
        """Change in log variance or skewness, relative to a feature of normal values.

        The larger of the two absolute changes is returned.
        """
        n = self.n_samples
        usual = {"f3": 0.0, "f4": 3 / (n + 2), "f6": 15 / ((n + 2) * (n + 4))}
        (variance, third), (variance_0, third_0) = (
            self.moments(x, of_feature),
            self.moments(x, usual),
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            skewness = third / variance**1.5 - third_0 / variance_0**1.5
            return np.maximum(np.abs(np.log(variance / variance_0)), np.abs(skewness))


def beta_law(x: Any, mean: Any, variance: Any, third: Any) -> Floats:
    """P(U ≤ x) for U = S·Beta(a, b) with the given mean, variance and third central moment.

    The distribution may also be the limit (gamma) or the continuation with a heavier tail. The
    three parameters solve three linear equations, because E U^k / E U^(k−1) = S (a + k − 1) / (a +
    b + k − 1).

    Examples
    --------
    The uniform distribution on [0, 2] has mean 1, variance 1/3, and is symmetric:

    >>> beta_law(np.array([0.5]), 1.0, 1 / 3, 0.0).round(6)
    array([0.25])
    """
    x = np.asarray(x, dtype=np.float64)
    with np.errstate(all="ignore"):
        second = variance + mean**2
        one, two, three = mean, second / mean, (third + 3 * mean * variance + mean**3) / second
        total = 2 * (three - two) / (2 * two - one - three)  # a + b
        end = total * (two - one) + two
        a = one * total / end
        beta = betainc(a, total - a, np.clip(x / end, 0, 1))
        # Distribution with the same moments if a + b and S are negative.
        heavier = betainc(a, 1 - total, x / (x - end))
        gamma = gammainc(mean**2 / variance, x * mean / variance)
        found = np.where(
            total > 0,
            np.where(total - a > 0, beta, np.nan),
            np.where(1 - total > 0, heavier, np.nan),
        )
        found = np.where(np.abs(total) > 1e9, gamma, found)
    return np.asarray(np.where((a > 0) & (variance > 0), found, np.nan))

"""p-values of shares, by counting permutations and by extrapolation with a fitted distribution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from math import factorial, lgamma
from typing import Any

import numpy as np
from scipy.special import gammaln

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.progress import Progress
from graphsieve._kernels.column_sums import TEMPORARY_ELEMENTS
from graphsieve.assess.significance.arrangement import DIGITS, Arrangement, by_numbers
from graphsieve.assess.significance.shares import Share
from graphsieve.table.centered import feature_basis, feature_columns
from graphsieve.table.columns import Table

ENUMERATED = 5040  # number of orders (7 samples) up to which all orders are always enumerated
STOP_COUNT = 40  # counting ends after this number of permutations with a share as small
PERMUTATIONS_AT_ONCE = 64
FEWEST_PERMUTATIONS = 256  # smallest number of permutations
EQUAL_SHARES = 1e-10  # tolerance for ties between shares, because of rounding errors
# Relative to Σf². A smaller denominator counts as zero, and the share is then undefined.
ZERO_TOLERANCE = 1e-13
# The following constants decide whether the fitted distribution ("law") extrapolates below the
# permutation count. With these values and 500 permutations, p ≤ .001 and p ≤ .0002 occurred at most
# twice too often for noise features.
FEWEST_EFFECTIVE = 20.0  # effective samples (Σf²)²/Σf⁴, of the feature and of the graph
# With this number of effective samples, the law is joined to the count after `ENOUGH` permutations.
MANY_EFFECTIVE = 300.0
ENOUGH = 1024
# Largest share of pairs of samples with equal values, unless there are many effective samples.
MOST_TIED = 0.2
LARGEST_SHIFT = 0.3  # in log variance and in skewness, relative to a feature of normal values
# p-values from the law alone are checked by permutations if they are below this, unless there are
# many effective samples.
CHECKED_BELOW = 0.01
SMALLEST = 1e-12  # lower limit of extrapolated p-values


@dataclass(frozen=True)
class Chance:
    """Parameters of the permutations: largest number, and seed.

    All features use the same sequence of permutations, so the p-value of a feature does not depend
    on other features. An `Arrangement` ensures that it does not depend on the order of the rows.
    """

    n_permutations: int
    seed: int
    progress: bool | None = False

    def orders(self, n_samples: int) -> Iterator[Integers]:
        """Yield blocks of permutations. Their sequence does not depend on the total number."""
        rng = np.random.default_rng(self.seed)
        for start in range(0, self.n_permutations, PERMUTATIONS_AT_ONCE):
            size = min(PERMUTATIONS_AT_ONCE, self.n_permutations - start)
            yield rng.permuted(np.tile(np.arange(n_samples), (size, 1)), axis=1)

    def all_orders(self, n_samples: int) -> Integers | None:
        """Return every order of the samples, or None if there are too many."""
        if n_samples > 12 or factorial(n_samples) > max(ENUMERATED, self.n_permutations):
            return None
        return np.array(list(permutations(range(n_samples))), dtype=np.int64)


@dataclass(frozen=True)
class _Features:
    """Columns with mean zero and Σf² = 1, and the quantities that decide how to compute p-values."""

    values: Floats

    @classmethod
    def of(cls, columns: Floats) -> _Features:
        centered = columns - columns.mean(axis=0)
        return cls(centered / np.sqrt((centered**2).sum(axis=0)))

    @cached_property
    def sums(self) -> dict[str, Floats]:
        square = self.values**2
        return {
            "f3": (square * self.values).sum(axis=0),
            "f4": (square**2).sum(axis=0),
            "f6": (square**3).sum(axis=0),
        }

    @cached_property
    def effective(self) -> Floats:
        return np.asarray(1 / self.sums["f4"])

    @cached_property
    def _ties(self) -> list[Integers]:
        """Number of samples with each distinct value, for every feature."""
        ordered = np.sort(self.values, axis=0)
        begins = np.ones((len(ordered) + 1, ordered.shape[1]), dtype=bool)
        begins[1:-1] = ordered[1:] != ordered[:-1]
        return [np.diff(np.flatnonzero(column)) for column in begins.T]

    @cached_property
    def equal_pairs(self) -> Floats:
        """Share of pairs of samples with equal values."""
        return np.array([sizes @ sizes for sizes in self._ties]) / len(self.values) ** 2

    @cached_property
    def symmetries(self) -> Floats:
        """Logarithm of the number of permutations that leave the feature unchanged."""
        return np.array([gammaln(sizes + 1.0).sum() for sizes in self._ties])

    def take(self, which: Any) -> _Features:
        return _Features(self.values[:, which])


def share_p_values(
    share: Share, columns: Floats, chance: Chance, arrangement: Arrangement | None = None
) -> Floats:
    """P(u ≤ observed) over all permutations of each column. It is NaN if u is 0/0.

    The arrangement ensures that the order of the rows does not matter. By default it follows from
    the matrices of the share, which suffices if they contain no samples that are similar by
    construction. No column may be constant. Permutations with u = 0/0 are not counted, because features with such
    a u are not tested.
    """
    features = _Features.of(columns)
    identity = np.arange(share.n_samples)[None]
    part, whole = share.values(features.values, identity)
    observed = _shares(part, whole)[0]
    orders = chance.all_orders(share.n_samples)
    if orders is not None:
        found = _shares(*share.values(features.values, orders))
        as_good = (found <= observed + EQUAL_SHARES).sum(axis=0)
        return np.where(
            np.isnan(observed), np.nan, as_good / np.maximum((~np.isnan(found)).sum(axis=0), 1)
        )
    result = np.full(len(observed), np.nan)
    if share.projects:
        result = _by_law_alone(share, features, observed)
    counted = np.flatnonzero(np.isnan(result) & ~np.isnan(observed))
    if len(counted):
        if arrangement is None:
            arrangement = by_numbers(*share.invariants())
        result[counted] = _by_counting(
            share, features.take(counted), observed[counted], chance, arrangement=arrangement
        )
    # No permutation p-value is smaller than the share of permutations that leave u unchanged.
    fewest = np.maximum(features.symmetries, share.symmetries) - lgamma(share.n_samples + 1)
    return np.asarray(np.clip(result, np.exp(np.maximum(fewest, -700.0)), 1.0))


def several_p_value(
    share: Share, columns: Floats, chance: Chance, arrangement: Arrangement | None = None
) -> float:
    """p-value of a feature of several columns, which are permuted together.

    The share uses the sums of both forms over the columns. The p-value is counted, without a fitted
    distribution.
    """
    centered = columns - columns.mean(axis=0)
    centered /= np.sqrt((centered**2).sum())
    part, whole = (found[0] for found in share.values(centered, np.arange(len(columns))[None]))
    observed = _shares(part.sum(), whole.sum())
    orders = chance.all_orders(share.n_samples)
    if np.isnan(observed):
        return np.nan
    if orders is not None:
        found = _shares(*_summed(share, centered, orders))
        return float((found <= observed + EQUAL_SHARES).sum() / (~np.isnan(found)).sum())
    # Neither the order of the rows nor that of the columns must matter.
    ordered = centered[:, np.lexsort((np.round(part, DIGITS), np.round(whole, DIGITS)))]
    arrangement = by_numbers(*share.invariants()) if arrangement is None else arrangement
    shuffled, as_good, drawn = arrangement.shuffled_together(ordered), 0, 0
    for orders in chance.orders(share.n_samples):
        found = _shares(*_summed(share, shuffled, orders, arrangement.places))
        so_far = as_good + (found[~np.isnan(found)] <= observed + EQUAL_SHARES).cumsum()
        if drawn >= FEWEST_PERMUTATIONS and (so_far >= STOP_COUNT).any():
            # Counting ends at the exact permutation that completes the count.
            return STOP_COUNT / (drawn + 1 + int((so_far >= STOP_COUNT).argmax()))
        as_good, drawn = int(so_far.max(initial=as_good)), drawn + len(so_far)
        if drawn >= FEWEST_PERMUTATIONS and as_good >= STOP_COUNT:
            break
    return (as_good + 1) / (drawn + 1)


def _summed(share: Share, *arguments: Any) -> tuple[Floats, Floats]:
    part, whole = share.values(*arguments)
    return part.sum(axis=1), whole.sum(axis=1)


def _shares(part: Any, whole: Any) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole > ZERO_TOLERANCE, np.clip(part / whole, 0.0, 1.0), np.nan)


def _by_law_alone(share: Share, features: _Features, observed: Floats) -> Floats:
    """Return p-values from the law for features that need no permutations, and NaN for others."""
    reliable = _is_law_reliable(share, features, observed)
    if not reliable.any() or share.law is None:
        return np.full(len(observed), np.nan)
    found = np.maximum(share.law.probability(observed, features.sums), SMALLEST)
    return np.where(
        reliable & ((found >= CHECKED_BELOW) | (features.effective >= MANY_EFFECTIVE)),
        found,
        np.nan,
    )


def _by_counting(
    share: Share,
    features: _Features,
    observed: Floats,
    chance: Chance,
    *,
    arrangement: Arrangement,
) -> Floats:
    """Sequential permutation p-values (Besag, Clifford 1991), extrapolated by the law if it is
    reliable.
    """
    width = len(observed)
    as_good, drawn, result = (
        np.zeros(width, dtype=np.int64),
        np.zeros(width, dtype=np.int64),
        np.full(width, np.nan),
    )
    smallest, reliable = np.full((STOP_COUNT, width), np.inf), np.zeros(width, dtype=bool)
    shuffled = arrangement.shuffled(features.values)
    active, values, n_orders = np.arange(width), shuffled, 0
    for orders in chance.orders(share.n_samples):
        if not len(active):
            break
        found = _shares(*share.values(values, orders, arrangement.places))
        is_drawn = ~np.isnan(found)
        as_good_so_far = as_good[active] + (found <= observed[active] + EQUAL_SHARES).cumsum(axis=0)
        drawn_so_far = drawn[active] + is_drawn.cumsum(axis=0)
        as_good[active], drawn[active] = as_good_so_far[-1], drawn_so_far[-1]
        both = np.concatenate([smallest[:, active], np.where(is_drawn, found, np.inf)])
        smallest[:, active] = np.partition(both, STOP_COUNT - 1, axis=0)[:STOP_COUNT]
        n_orders += len(orders)
        if n_orders < FEWEST_PERMUTATIONS:
            continue
        ends = as_good_so_far[-1] >= STOP_COUNT
        if n_orders > FEWEST_PERMUTATIONS:
            # Counting ends at the exact permutation that completes the count.
            last = (as_good_so_far >= STOP_COUNT).argmax(axis=0)
            result[active[ends]] = STOP_COUNT / drawn_so_far[last, np.arange(len(active))][ends]
        else:
            result[active[ends]] = (as_good[active[ends]] + 1) / (drawn[active[ends]] + 1)
            reliable[active[~ends]] = _is_law_reliable(
                share, features.take(active[~ends]), observed[active[~ends]]
            )
        is_enough = (
            reliable[active] & (features.effective[active] >= MANY_EFFECTIVE) & (n_orders >= ENOUGH)
        )
        if (ends | is_enough).any():
            active = active[~ends & ~is_enough]
            values = shuffled[:, active]
    rest = np.isnan(result)
    result[rest] = (as_good[rest] + 1) / (drawn[rest] + 1)
    rest &= reliable
    if rest.any():
        result[rest] = _continued(
            share, features.take(rest), observed[rest], smallest[:, rest], drawn[rest]
        )
    return result


def _is_law_reliable(share: Share, features: _Features, observed: Floats) -> Booleans:
    """Whether the law is reliable in its tail. Inexpensive criteria are checked first."""
    reliable = (features.effective >= FEWEST_EFFECTIVE) & (share.effective >= FEWEST_EFFECTIVE)
    if reliable.any():
        reliable &= (features.equal_pairs <= MOST_TIED) | (features.effective >= MANY_EFFECTIVE)
    if not reliable.any() or share.law is None:
        return np.zeros(len(observed), dtype=bool)
    reliable &= share.law.shifts(observed, features.sums) <= LARGEST_SHIFT
    return np.asarray(reliable & ~np.isnan(share.law.probability(observed, features.sums)))


def _continued(
    share: Share, features: _Features, observed: Floats, smallest: Floats, drawn: Integers
) -> Floats:
    """Extrapolate p-values by the law.

    The law is scaled to match the count at the largest of the smallest shares. If the result is not
    finite, the counted p-value is returned.
    """
    law, anchor = share.law, smallest.max(axis=0)
    assert law is not None
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (
            STOP_COUNT
            / drawn
            * law.probability(observed, features.sums)
            / law.probability(anchor, features.sums)
        )
    found = np.clip(found, SMALLEST, STOP_COUNT / drawn)
    counted = ((smallest <= observed + EQUAL_SHARES).sum(axis=0) + 1) / (drawn + 1)
    return np.where(np.isfinite(found), found, counted)


def over_columns(
    table: Table,
    share: Share,
    chance: Chance,
    scorable: Booleans,
    arrangement: Arrangement,
    *,
    spanned: bool = False,
) -> Floats:
    """p-values of all features that have a score, computed in blocks of columns.

    If `spanned`, orthonormal columns replace the columns of a feature of several columns.
    """
    result = np.full(table.n_features, np.nan)
    if table.features is not None:
        single = np.flatnonzero(table.features.sizes == 1)
        if len(single):
            alone = table.take_columns(table.features.starts[single])
            result[single] = over_columns(alone, share, chance, scorable[single], arrangement)
        for feature in table.features.several[scorable[table.features.several]]:
            read = feature_basis if spanned else feature_columns
            result[feature] = several_p_value(share, read(table, int(feature)), chance, arrangement)
        return result
    orders = chance.all_orders(table.n_samples)
    at_once = 4 * PERMUTATIONS_AT_ONCE if orders is None else len(orders)
    with Progress("testing features", chance.progress) as shown:
        for columns, values, constant in narrow_parts(table, at_once):
            here = np.flatnonzero(scorable[columns] & ~constant)
            if len(here):
                result[columns.start + here] = share_p_values(
                    share, values[:, here], chance, arrangement
                )
            shown.tell(f"{columns.stop} of {table.n_features}")
    return result


def narrow_parts(table: Table, at_once: int) -> Iterator[tuple[slice, Floats, Booleans]]:
    """Yield narrow blocks of dense columns: positions, values, and a mask of constant columns.

    A block is so narrow that arrays of its columns by samples or by `at_once` fit in memory.
    """
    step = max(1, TEMPORARY_ELEMENTS // max(table.n_samples, at_once))
    for block in table.blocks():
        for part, values in block.dense_parts():
            for start in range(0, values.shape[1], step):
                stop = min(start + step, values.shape[1])
                first = part.start + start
                constant = block.constant[first : part.start + stop]
                yield (
                    slice(block.start + first, block.start + part.start + stop),
                    values[:, start:stop],
                    constant,
                )

"""From shares to p-values: permutations are counted, and the law continues where it is believed."""

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
from graphsieve.assess.significance.shares import Share
from graphsieve.table.columns import Table

ENUMERATED = 5040  # orders of 7 samples: so many are always looked at one by one
DOING_AS_WELL = 40  # permutations that do as well as the feature, after which counting ends
PERMUTATIONS_AT_ONCE = 64
AT_LEAST = 256  # permutations looked at in any case
EQUAL_SHARES = 1e-10  # shares that lie nearer together are equal: rounding must not break ties
NOTHING = 1e-13  # of Σf²: a whole below this is zero, and the share has no value
# Where the law is believed below what was counted (500 permutations: p ≤ .001 and .0002 came at
# most twice too often in noise):
FEWEST_EFFECTIVE = 20.0  # effective samples (Σf²)²/Σf⁴, of the feature and of the graph
MANY_EFFECTIVE = 300.0  # from which a few more permutations than AT_LEAST are enough to join it to
ENOUGH = 1024  # are these
# Of all pairs of samples may have equal values, unless there are many effective samples
MOST_TIED = 0.2
LARGEST_SHIFT = 0.3  # of log variance and of skewness, against a feature of normal values
# A law that serves by itself is checked by permutations below this, unless there are many effective
# samples:
CHECKED_BELOW = 0.01
SMALLEST = 1e-12  # no p-value is continued below this


@dataclass(frozen=True)
class Chance:
    """How permutations are drawn: their number at most, and a seed; all features see the same
    ones, each feature any way.
    """

    n_permutations: int
    seed: int
    progress: bool | None = False

    def orders(self, n_samples: int) -> Iterator[Integers]:
        """Permutations, a few at a time; the first of them do not depend on how many are drawn."""
        rng = np.random.default_rng(self.seed)
        for start in range(0, self.n_permutations, PERMUTATIONS_AT_ONCE):
            size = min(PERMUTATIONS_AT_ONCE, self.n_permutations - start)
            yield rng.permuted(np.tile(np.arange(n_samples), (size, 1)), axis=1)

    def all_orders(self, n_samples: int) -> Integers | None:
        """Every order of the samples, where there are few."""
        if n_samples > 12 or factorial(n_samples) > max(ENUMERATED, self.n_permutations):
            return None
        return np.array(list(permutations(range(n_samples))), dtype=np.int64)


@dataclass(frozen=True)
class _Features:
    """Columns with mean zero and Σf² = 1, and what decides how their p-values are found."""

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
        """How many samples share each value, of every feature."""
        ordered = np.sort(self.values, axis=0)
        begins = np.ones((len(ordered) + 1, ordered.shape[1]), dtype=bool)
        begins[1:-1] = ordered[1:] != ordered[:-1]
        return [np.diff(np.flatnonzero(column)) for column in begins.T]

    @cached_property
    def equal_pairs(self) -> Floats:
        """The share of pairs of samples with equal values."""
        return np.array([sizes @ sizes for sizes in self._ties]) / len(self.values) ** 2

    @cached_property
    def symmetries(self) -> Floats:
        """The logarithm of the number of permutations that change nothing."""
        return np.array([gammaln(sizes + 1.0).sum() for sizes in self._ties])

    def take(self, which: Any) -> _Features:
        return _Features(self.values[:, which])


def share_p_values(share: Share, columns: Floats, chance: Chance) -> Floats:
    """P(u ≤ observed) over all permutations of each column, of which none is constant; NaN where u
    is 0/0.

    Permutations under which u is 0/0 do not count, since such features are not tested.
    """
    features = _Features.of(columns)
    identity = np.arange(share.n_samples)[None]
    part, whole = share.values(features.values, identity)
    observed = _shares(part, whole)[0]
    orders = chance.all_orders(share.n_samples)
    if orders is not None:
        found = _shares(*share.values(features.values, orders))
        well = (found <= observed + EQUAL_SHARES).sum(axis=0)
        return np.where(
            np.isnan(observed), np.nan, well / np.maximum((~np.isnan(found)).sum(axis=0), 1)
        )
    result = np.full(len(observed), np.nan)
    if share.projects:
        result = _by_law_alone(share, features, observed)
    counted = np.flatnonzero(np.isnan(result) & ~np.isnan(observed))
    if len(counted):
        result[counted] = _by_counting(share, features.take(counted), observed[counted], chance)
    # No permutation test can find less than the share of permutations that change nothing.
    fewest = np.maximum(features.symmetries, share.symmetries) - lgamma(share.n_samples + 1)
    return np.asarray(np.clip(result, np.exp(np.maximum(fewest, -700.0)), 1.0))


def _shares(part: Floats, whole: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole > NOTHING, np.clip(part / whole, 0.0, 1.0), np.nan)


def _by_law_alone(share: Share, features: _Features, observed: Floats) -> Floats:
    """The law's p-values where they need no permutations; NaN elsewhere."""
    believed = _is_law_believed(share, features, observed)
    if not believed.any() or share.law is None:
        return np.full(len(observed), np.nan)
    found = np.maximum(share.law.probability(observed, features.sums), SMALLEST)
    return np.where(
        believed & ((found >= CHECKED_BELOW) | (features.effective >= MANY_EFFECTIVE)),
        found,
        np.nan,
    )


def _by_counting(share: Share, features: _Features, observed: Floats, chance: Chance) -> Floats:
    """Sequential permutation p-values (Besag, Clifford 1991), continued by the law where it is
    believed.
    """
    width = len(observed)
    well, drawn, result = (
        np.zeros(width, dtype=np.int64),
        np.zeros(width, dtype=np.int64),
        np.full(width, np.nan),
    )
    smallest, believed = np.full((DOING_AS_WELL, width), np.inf), np.zeros(width, dtype=bool)
    active, values, n_orders = np.arange(width), features.values, 0
    for orders in chance.orders(share.n_samples):
        if not len(active):
            break
        found = _shares(*share.values(values, orders))
        is_drawn = ~np.isnan(found)
        so_far = well[active] + (found <= observed[active] + EQUAL_SHARES).cumsum(axis=0)
        so_many = drawn[active] + is_drawn.cumsum(axis=0)
        well[active], drawn[active] = so_far[-1], so_many[-1]
        both = np.concatenate([smallest[:, active], np.where(is_drawn, found, np.inf)])
        smallest[:, active] = np.partition(both, DOING_AS_WELL - 1, axis=0)[:DOING_AS_WELL]
        n_orders += len(orders)
        if n_orders < AT_LEAST:
            continue
        ends = so_far[-1] >= DOING_AS_WELL
        if n_orders > AT_LEAST:  # ends with the very permutation that was the last one needed
            last = (so_far >= DOING_AS_WELL).argmax(axis=0)
            result[active[ends]] = DOING_AS_WELL / so_many[last, np.arange(len(active))][ends]
        else:
            result[active[ends]] = (well[active[ends]] + 1) / (drawn[active[ends]] + 1)
            believed[active[~ends]] = _is_law_believed(
                share, features.take(active[~ends]), observed[active[~ends]]
            )
        is_enough = (
            believed[active] & (features.effective[active] >= MANY_EFFECTIVE) & (n_orders >= ENOUGH)
        )
        if (ends | is_enough).any():
            active = active[~ends & ~is_enough]
            values = features.values[:, active]
    rest = np.isnan(result)
    result[rest] = (well[rest] + 1) / (drawn[rest] + 1)
    rest &= believed
    if rest.any():
        result[rest] = _continued(
            share, features.take(rest), observed[rest], smallest[:, rest], drawn[rest]
        )
    return result


def _is_law_believed(share: Share, features: _Features, observed: Floats) -> Booleans:
    """Whether the law can be trusted far out; what costs little is asked first."""
    believed = (features.effective >= FEWEST_EFFECTIVE) & (share.effective >= FEWEST_EFFECTIVE)
    if believed.any():
        believed &= (features.equal_pairs <= MOST_TIED) | (features.effective >= MANY_EFFECTIVE)
    if not believed.any() or share.law is None:
        return np.zeros(len(observed), dtype=bool)
    believed &= share.law.shifts(observed, features.sums) <= LARGEST_SHIFT
    return np.asarray(believed & ~np.isnan(share.law.probability(observed, features.sums)))


def _continued(
    share: Share, features: _Features, observed: Floats, smallest: Floats, drawn: Integers
) -> Floats:
    """The law, multiplied so that it agrees with the count at the last of the smallest shares;
    else the count.
    """
    law, anchor = share.law, smallest.max(axis=0)
    assert law is not None
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (
            DOING_AS_WELL
            / drawn
            * law.probability(observed, features.sums)
            / law.probability(anchor, features.sums)
        )
    found = np.clip(found, SMALLEST, DOING_AS_WELL / drawn)
    counted = ((smallest <= observed + EQUAL_SHARES).sum(axis=0) + 1) / (drawn + 1)
    return np.where(np.isfinite(found), found, counted)


def over_columns(table: Table, share: Share, chance: Chance, scorable: Booleans) -> Floats:
    """p-values of all features that have a score, a few columns at a time."""
    result = np.full(table.n_features, np.nan)
    orders = chance.all_orders(table.n_samples)
    at_once = 4 * PERMUTATIONS_AT_ONCE if orders is None else len(orders)
    with Progress("testing features", chance.progress) as shown:
        for columns, values, constant in narrow_parts(table, at_once):
            here = np.flatnonzero(scorable[columns] & ~constant)
            if len(here):
                result[columns.start + here] = share_p_values(share, values[:, here], chance)
            shown.tell(f"{columns.stop} of {table.n_features}")
    return result


def narrow_parts(table: Table, at_once: int) -> Iterator[tuple[slice, Floats, Booleans]]:
    """Dense columns, so few that arrays of them for every sample or permutation fit in memory;
    their places; who is constant.
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

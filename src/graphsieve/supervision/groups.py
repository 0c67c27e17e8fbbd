"""Samples that are not independent: copies, and repeated measurements of one subject.

The samples of a group stay together in every split, and count once in tests.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError
from graphsieve._base.messages import parameter
from graphsieve.supervision.parsing import NO_PAIRS, distinct_pairs, read_labels

LARGEST_EXPONENT = 900  # of values that are summed as they are


def read_groups(groups: Any) -> Integers:
    """Return a number from 0 for each sample, the same for all samples of a group."""
    codes, _ = read_labels(groups, None, "groups")
    missing = np.flatnonzero(codes < 0)
    if len(missing):
        raise InputError(
            parameter("groups"),
            f" must have an entry for every sample, but sample {missing[0]} has none; give it a "
            "unique entry if it belongs to no group.",
        )
    return codes


@dataclass(frozen=True, eq=False)
class Units:
    """Some samples, of which those of one group and class count once.

    Attributes
    ----------
    rows : array of int
        The samples.
    owner : array of int or None
        The unit of each of these samples, in order of appearance. None if each is its own unit.
    n : int
        The number of units.
    masses : array of float or None
        The masses of the samples in the means of the units. None if all are 1.
    """

    rows: Integers
    owner: Integers | None
    n: int
    masses: Floats | None = None

    @classmethod
    def of(cls, rows: Integers, groups: Integers | None, codes: Integers) -> Units:
        """Combine the samples in `rows` that have the same group and the same class code."""
        if groups is None:
            return cls(rows, None, len(rows))
        both = np.stack([groups[rows], codes[rows]], axis=1)
        _, first, place = np.unique(both, axis=0, return_index=True, return_inverse=True)
        if len(first) == len(rows):
            return cls(rows, None, len(rows))
        owner = np.argsort(np.argsort(first))[place.ravel()].astype(np.int64)
        return cls(rows, owner, len(first))

    @cached_property
    def first(self) -> Integers:
        """The position in `rows` of the first sample of each unit."""
        if self.owner is None:
            return np.arange(self.n)
        return np.unique(self.owner, return_index=True)[1].astype(np.int64)

    @cached_property
    def representatives(self) -> Integers:
        """The first sample of each unit."""
        return self.rows[self.first]

    def means(self, values: Floats) -> Floats:
        """Return the mean of each unit, given one row of values per sample.

        The mean of equal values is exactly this value.
        """
        if self.owner is None:
            return values
        largest = int(np.frexp(np.abs(values).max(initial=0.0))[1])
        if largest > LARGEST_EXPONENT:  # The differences could overflow.
            return np.asarray(np.ldexp(self.means(np.ldexp(values, -largest)), largest))
        start = values[self.first]
        return np.asarray(start + self._averaging @ (values - start[self.owner]))

    def sparse_means(self, values: Any) -> Any:
        """Return the means of the rows of a sparse matrix, as a CSR matrix."""
        rows = sp.csr_array(values)
        if self.owner is None:
            return rows
        start = rows[self.first]
        return sp.csr_array(start + self._averaging @ (rows - start[self.owner]))

    @property
    def _averaging(self) -> Any:
        """The matrix that averages the samples of each unit."""
        assert self.owner is not None
        masses = np.ones(len(self.owner)) if self.masses is None else self.masses
        shares = masses / np.bincount(self.owner, masses)[self.owner]
        places = (self.owner, np.arange(len(self.owner)))
        return sp.csr_array((shares, places), shape=(self.n, len(self.owner)))

    def weighted_by(self, masses: Floats | None) -> Units:
        """Return the units with means weighted by the masses of all samples of the table."""
        return self if masses is None else replace(self, masses=masses[self.rows])

    def mean_masses(self) -> Floats | None:
        """Return the mean mass of the samples of each unit, or None if all are 1."""
        return None if self.masses is None else replace(self, masses=None).means(self.masses)

    def take(self, some: Integers) -> Units:
        """Return some of the units, in this order."""
        if self.owner is None:
            masses = None if self.masses is None else self.masses[some]
            return Units(self.rows[some], None, len(some), masses)
        place = np.full(self.n, -1, dtype=np.int64)
        place[some] = np.arange(len(some))
        kept = place[self.owner] >= 0
        masses = None if self.masses is None else self.masses[kept]
        return Units(self.rows[kept], place[self.owner[kept]], len(some), masses)


def pairs_of_units(pairs: Integers, owner: Integers) -> Integers:
    """Return the pairs of different units, given pairs of samples and the unit of each sample."""
    found: NDArray[np.int64] = owner[pairs]
    found = found[found[:, 0] != found[:, 1]] if len(found) else NO_PAIRS
    return distinct_pairs(np.sort(found, axis=1)) if len(found) else NO_PAIRS

"""Features of several columns: categories and feature groups.

A numeric feature is one column. A category is one indicator column for each of its levels. A
feature group is selected as a whole. The columns of a feature are adjacent in the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphsieve._base.array_types import Booleans, Floats, Integers


@dataclass(frozen=True, eq=False)
class Features:
    """The columns of each feature.

    Attributes
    ----------
    starts : array of int of shape (n_features + 1,)
        First column of each feature, and at the end the number of columns.
    categorical : array of bool of shape (n_features,)
        Whether the columns of a feature are the indicators of the levels of a category.
    inputs : tuple of arrays of int or None
        The columns of X from which each feature was made. None if there is one for each feature.
    levels : tuple of tuples of str or None
        The names of the levels of each feature, for plots: one per column of a category (two if it
        has a single column), and none for other features. None if they are unknown.

    Examples
    --------
    >>> features = Features.of_sizes([1, 3, 2], [False, True, False])
    >>> features.owner
    array([0, 1, 1, 1, 2, 2])
    >>> features.columns_of(np.array([2, 0]))
    array([4, 5, 0])
    """

    starts: Integers
    categorical: Booleans
    inputs: tuple[Integers, ...] | None = None
    levels: tuple[tuple[str, ...], ...] | None = None

    @classmethod
    def of_sizes(
        cls,
        sizes: Any,
        categorical: Any,
        inputs: tuple[Integers, ...] | None = None,
        levels: tuple[tuple[str, ...], ...] | None = None,
    ) -> Features:
        """Create features with these numbers of columns."""
        starts = np.concatenate([[0], np.cumsum(np.asarray(sizes, dtype=np.int64))])
        return cls(starts.astype(np.int64), np.asarray(categorical, dtype=bool), inputs, levels)

    def __len__(self) -> int:
        return len(self.categorical)

    @cached_property
    def sizes(self) -> Integers:
        """The number of columns of each feature."""
        return np.diff(self.starts)

    @cached_property
    def owner(self) -> Integers:
        """The feature of each column."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def several(self) -> Integers:
        """The features of more than one column."""
        return np.flatnonzero(self.sizes > 1)

    def columns(self, feature: int) -> Integers:
        """Return the columns of a feature."""
        return np.arange(self.starts[feature], self.starts[feature + 1])

    def columns_of(self, features: Integers) -> Integers:
        """Return the columns of some features, feature by feature."""
        return np.concatenate([self.columns(int(one)) for one in features] or [np.empty(0, int)])

    def take(self, features: Integers) -> Features:
        """Return some of the features, in this order."""
        inputs = None if self.inputs is None else tuple(self.inputs[j] for j in features)
        levels = None if self.levels is None else tuple(self.levels[j] for j in features)
        return Features.of_sizes(self.sizes[features], self.categorical[features], inputs, levels)

    def sums(self, values: Any) -> Floats:
        """Return the sum over the columns of each feature, along the last axis."""
        return np.asarray(np.add.reduceat(values, self.starts[:-1], axis=-1))

"""Groups of strongly correlated columns, which are interchangeable for a selector."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve.assess.resampling.measures import share_interval
from graphsieve.table.centered import feature_columns, spanning
from graphsieve.table.columns import Table
from graphsieve.table.scaling import rescaled
from graphsieve.table.sums import dense_weighting, moments

SAME_FROM = 0.95  # smallest absolute correlation of two columns in the same group
# Number of columns that are correlated in one step with all remaining columns. It bounds memory.
LEADERS_AT_ONCE = 512


class Group(NamedTuple):
    """Group of columns that correlate strongly with the first one.

    `columns` are positions, in descending order of selection frequency. `frequency` is the share of
    resamples that select at least one column of the group. `low` and `high` are its confidence
    interval.
    """

    columns: tuple[int, ...]
    names: tuple[str, ...]
    frequency: float
    low: float
    high: float


def groups_of(
    table: Table, names: tuple[str, ...], chosen: Booleans, order: Integers
) -> tuple[Group, ...]:
    """Group the columns in `order`, which were selected at least once.

    The groups are in descending order of frequency.
    """
    n = len(chosen)
    members = near_duplicates(table, order)
    times = np.array([chosen[:, columns].any(axis=1).sum() for columns in members], dtype=np.int64)
    low, high = share_interval(times, n)
    return tuple(
        Group(
            tuple(members[i].tolist()),
            tuple(names[j] for j in members[i]),
            float(times[i] / n),
            float(low[i]),
            float(high[i]),
        )
        for i in np.argsort(-times, kind="stable")
    )


def near_duplicates(
    table: Table, order: Integers, *, threshold: float = SAME_FROM
) -> list[Integers]:
    """Divide the columns of `order` into groups.

    The first remaining column starts a group. All remaining columns that correlate with it join the
    group. This repeats until no column remains.
    """
    groups, left = [], order
    while len(left):
        leaders = left[:LEADERS_AT_ONCE]
        alike = np.abs(correlations(table, leaders, left)) >= threshold
        free = np.ones(len(left), dtype=bool)
        for place, near in enumerate(alike):
            if free[place]:
                near[place] = True  # A constant column has no correlation, not even with itself.
                groups.append(left[near & free])
                free &= ~near
        left = left[free]
    return groups


def correlations(table: Table, some: Integers, others: Integers) -> Floats:
    """Pearson correlations between `some` columns (rows of the result) and `others`.

    They are 0 for constant columns. For features of several columns, the share of the variance of
    each that the other explains is computed. The result is the square root of the smaller share.
    """
    if table.features is not None:
        scaled = rescaled(table, "standard")
        ones, twos = ([feature_columns(scaled, int(j)) for j in side] for side in (some, others))
        shares = np.minimum(_explained(ones, twos), _explained(twos, ones).T)
        return np.asarray(np.sqrt(shares))
    unit = _standardized(table.take_columns(some))
    parts = []
    for block in table.take_columns(others).blocks():
        # One factor is centred, so the other need not be, and sparse columns stay sparse.
        size = np.sqrt(moments(block, dense_weighting(np.ones(table.n_samples))).scatter[0])
        parts.append(np.asarray(block.values.T @ unit).T / np.where(size > 0, size, 1.0))
    return np.concatenate(parts, axis=1)


def _explained(by: list[Floats], features: list[Floats]) -> Floats:
    """Return the share of the variance of each feature (columns) that each of `by` explains."""
    columns = np.hstack(features)
    starts = np.cumsum([0] + [feature.shape[1] for feature in features[:-1]])
    along = [((spanning(one).T @ columns) ** 2).sum(axis=0) for one in by]
    size = np.add.reduceat((columns**2).sum(axis=0), starts)
    return np.add.reduceat(along, starts, axis=1) / np.where(size > 0, size, 1.0)


def _standardized(table: Table) -> Floats:
    """Return dense columns of mean 0 and length 1. Constant columns become 0."""
    values = np.concatenate(
        [part for block in table.blocks() for _, part in block.dense_parts()], axis=1
    )
    values = values - values.mean(axis=0)
    constant = np.concatenate([block.constant for block in table.blocks()])
    size = np.sqrt((values**2).sum(axis=0))
    return np.asarray(np.where(constant, 0.0, values / np.where(size > 0, size, 1.0)))

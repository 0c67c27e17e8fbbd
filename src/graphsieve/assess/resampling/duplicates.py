"""Columns that stand for each other: a selector that takes one of them need not take the others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve.assess.resampling.measures import share_interval
from graphsieve.table.columns import Table
from graphsieve.table.sums import dense_weighting, moments

SAME_FROM = 0.95  # absolute correlation from which two columns tell nearly the same
LEADERS_AT_ONCE = 512  # so many times the columns left are the correlations held in memory


class Group(NamedTuple):
    """Columns that nearly repeat the first of them, and how often at least one of them was chosen.

    `columns` are positions, the one chosen most often first. `frequency` is the share of resamples,
    and `low` and `high` its confidence interval.
    """

    columns: tuple[int, ...]
    names: tuple[str, ...]
    frequency: float
    low: float
    high: float


def groups_of(
    table: Table, names: tuple[str, ...], chosen: Booleans, order: Integers
) -> tuple[Group, ...]:
    """Groups of the columns that were ever chosen, which come in `order`; the group that was
    chosen most often comes first.
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
    """The columns of `order` in groups: the first one left leads, and whoever correlates with it
    joins, until none is left.
    """
    groups, left = [], order
    while len(left):
        leaders = left[:LEADERS_AT_ONCE]
        alike = np.abs(correlations(table, leaders, left)) >= threshold
        free = np.ones(len(left), dtype=bool)
        for place, near in enumerate(alike):
            if free[place]:
                near[place] = True  # also where it does not vary
                groups.append(left[near & free])
                free &= ~near
        left = left[free]
    return groups


def correlations(table: Table, some: Integers, others: Integers) -> Floats:
    """Pearson correlations between some columns (rows of the result) and others; 0 where a
    column does not vary.
    """
    unit = _standardized(table.take_columns(some))
    parts = []
    for block in table.take_columns(others).blocks():
        # What is centred needs no centred partner; so sparse columns stay as they are.
        size = np.sqrt(moments(block, dense_weighting(np.ones(table.n_samples))).scatter[0])
        parts.append(np.asarray(block.values.T @ unit).T / np.where(size > 0, size, 1.0))
    return np.concatenate(parts, axis=1)


def _standardized(table: Table) -> Floats:
    """Dense columns of mean 0 and length 1; only zeros where a column does not vary."""
    values = np.concatenate(
        [part for block in table.blocks() for _, part in block.dense_parts()], axis=1
    )
    values = values - values.mean(axis=0)
    constant = np.concatenate([block.constant for block in table.blocks()])
    size = np.sqrt((values**2).sum(axis=0))
    return np.asarray(np.where(constant, 0.0, values / np.where(size > 0, size, 1.0)))

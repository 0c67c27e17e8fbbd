"""A warning if a feature among the best is the target itself, or a one-to-one function of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.errors import warn
from graphsieve.supervision.groups import Units
from graphsieve.supervision.value import Supervision
from graphsieve.table.columns import Table

MOST_FEATURES = 20  # the best features, because a copy of the target is one of them
FEW_SAMPLES = 64  # for a first look, which excludes almost all features at little cost
FEWEST_KNOWN = 10  # With fewer known samples, features often follow the target by chance.
LARGEST_CHANCE = 0.001  # of a warning about noise, over all features of the table
LEAST_DISTINCT = 0.5  # share of the different targets that a rounded copy still distinguishes


def warn_of_leaks(table: Table, known: Supervision, ranks: Integers) -> None:
    """Warn if one of the best features is a one-to-one function of the target.

    For classes, such a feature has one value per class. For a continuous target, it increases or
    decreases with the target; it may be rounded.
    """
    if known.n_targets > 1 and known.labels is None:
        for one in known.each_target():
            warn_of_leaks(table, one, ranks)
        return
    y: NDArray[Any] | None = known.targets if known.labels is None else known.labels
    if y is None:
        return
    classes = known.labels is not None
    rows = np.flatnonzero(y >= 0 if classes else ~np.isnan(y))
    few = rows[np.linspace(0, len(rows) - 1, min(FEW_SAMPLES, len(rows))).astype(np.int64)]
    # Samples of a group with the same target are one observation.
    codes = np.full(len(y), -1, dtype=np.int64)
    codes[rows] = np.unique(y[rows], return_inverse=True)[1]
    independent = Units.of(rows, known.groups, codes).representatives
    if len(independent) < FEWEST_KNOWN:
        return
    columns = np.argsort(ranks, kind="stable")[:MOST_FEATURES]
    if table.features is not None:  # A feature group is not one function.
        columns = table.features.starts[columns[table.features.sizes[columns] == 1]]
    for some in (few, rows):
        ordered = some[np.argsort(y[some], kind="stable")]
        values = np.asarray(table.corner(ordered, columns), dtype=np.float64)
        seen = _observed(table, ordered, columns)
        follows = [
            here.sum() >= FEWEST_KNOWN
            and _follows(feature[here], y[ordered][here], classes=classes)
            for feature, here in zip(values.T, seen, strict=True)
        ]
        columns, values, seen = columns[follows], values[:, follows], seen[follows]
        if not len(columns):
            return
    log_chance = math.log(LARGEST_CHANCE / table.n_features)
    once = np.isin(ordered, independent)
    leaks = [
        _log_chance(feature[once & here], classes=classes) < log_chance
        for feature, here in zip(values.T, seen, strict=True)
    ]
    if any(leaks):
        such = f" (one of {sum(leaks)} such features)" if sum(leaks) > 1 else ""
        warn(
            table.label(int(columns[leaks][0])),
            f" is a one-to-one function of the target{such}; leave out what was derived from the "
            "target.",
        )


def _observed(table: Table, rows: Integers, columns: Integers) -> Booleans:
    """Return whether each column (rows of the result) is observed in the given samples."""
    if table.gaps is None:
        return np.ones((len(columns), len(rows)), dtype=bool)
    return np.asarray(~table.gaps[:, columns].toarray()[rows].T)


def _follows(feature: Floats, y: NDArray[Any], *, classes: bool) -> bool:
    """Whether the feature is a function of y that separates its values. The samples are sorted by y.

    Values are compared and not subtracted, because differences may overflow.
    """
    moves, n_distinct = feature[1:] != feature[:-1], 1 + int((y[1:] != y[:-1]).sum())
    if (moves & (y[1:] == y[:-1])).any():
        return False
    found = feature[np.r_[True, moves]]
    if classes:
        return len(np.unique(found)) == n_distinct
    rises = found[1:] > found[:-1]
    return len(found) >= LEAST_DISTINCT * n_distinct and bool(rises.all() or not rises.any())


def _log_chance(feature: Floats, *, classes: bool) -> float:
    """Return the logarithm of the chance that the values in random order are such a function.

    All orders of the values are equally likely. The number of such functions is the number of
    orders of the classes, or two (increasing and decreasing) for a continuous target.
    """
    counts = np.unique(feature, return_counts=True)[1]
    log_orders = gammaln(len(feature) + 1) - gammaln(counts + 1).sum()
    return float((gammaln(len(counts) + 1) if classes else math.log(2)) - log_orders)

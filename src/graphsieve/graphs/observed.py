"""Scores of features with missing values, each on the samples where it is observed.

The missing samples of a feature have no mass, so they contribute to no mean, degree or edge of a
graph. The graph itself is built from all samples. Features with the same gaps are scored together.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphsieve._base.array_types import Floats
from graphsieve.graphs.neighbors.strategy import remembering
from graphsieve.table.columns import Table
from graphsieve.table.gaps import gaps_of_features, patterns


def on_observed(table: Table, evaluate: Callable[[Table], Floats]) -> Floats:
    """Return one value per feature, computed on the samples where the feature is observed.

    `evaluate` computes the values for a table without gaps, in which missing samples have mass 0. A
    feature that is observed in fewer than two samples gets NaN.
    """
    if table.gaps is None:
        return evaluate(table)
    whole = remembering(table, 1)
    values = np.full(table.n_features, np.nan)
    for features, observed in patterns(gaps_of_features(table.gaps, table.features)):
        if np.count_nonzero(observed) < 2:
            continue
        part = table.take_features(features).complete()
        part.geometry, part.compressed = whole.geometry, table.compressed
        part.weights = table.weights if observed.all() else np.where(observed, table.masses, 0.0)
        values[features] = evaluate(part)
    return values

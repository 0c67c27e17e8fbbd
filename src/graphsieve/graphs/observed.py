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
from graphsieve.table.gaps import too_few


def on_observed(
    table: Table, evaluate: Callable[[Table], Floats], *, n_values: int | None = None
) -> Floats:
    """Return one value per feature, computed on the samples where the feature is observed.

    `evaluate` computes the values for a table without gaps, in which missing samples have mass 0.
    With `n_values`, it returns that many rows of values. A feature that is observed in too few
    samples gets NaN.
    """
    if table.gaps is None:
        return evaluate(table)
    geometry = remembering(table, 1).geometry
    values = np.full((*(() if n_values is None else (n_values,)), table.n_features), np.nan)
    for features, observed, part in table.observed_parts():
        if too_few(~observed):
            continue
        part.geometry, part.compressed = geometry, table.compressed
        part.weights = table.weights if observed.all() else np.where(observed, table.masses, 0.0)
        values[..., features] = evaluate(part)
    return values

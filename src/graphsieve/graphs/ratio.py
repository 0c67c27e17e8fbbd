"""Ratios of two quadratic forms for every feature of X.

A feature of several columns has the sums of both forms over its columns. Degenerate features, such
as constant ones, are detected only here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from graphsieve._base.array_types import Floats
from graphsieve.graphs.graph import Graph, check_same_samples
from graphsieve.table.blocks import Block
from graphsieve.table.columns import Table

Form = Callable[[Block], Floats]
Forms = Callable[[Block], tuple[Floats, ...]]


def per_column(table: Table, value: Form, *, wide: bool = False) -> Floats:
    """Compute one value per column; constant columns get NaN.

    `wide` allows wide blocks. It suits forms that only need sums over the samples.
    """
    return np.asarray(table.evaluated(partial(_where_it_varies, value=value), wide=wide))


def _where_it_varies(block: Block, *, value: Form) -> Floats:
    return np.where(block.constant, np.nan, value(block))


def ratio(table: Table, numerator: Form, denominator: Form) -> Floats:
    """Compute numerator / denominator for every feature.

    Constant features and 0/0 give NaN, because they cannot be scored. A positive numerator over
    zero gives infinity.
    """
    return quotients(table, lambda block: (numerator(block), denominator(block)), wide=True)


def quotients(table: Table, forms: Forms, *, wide: bool = False) -> Floats:
    """Compute the quotient of two quadratic forms, as `ratio` does, from one function for both."""
    if table.features is None:
        return per_column(table, lambda block: divided(*forms(block)), wide=wide)
    return divided(*sums_over_columns(table, forms, wide=wide))


def sums_over_columns(table: Table, forms: Forms, *, wide: bool = False) -> Floats:
    """Sum quadratic forms over the columns of each feature.

    There is one row per form. The unit is common to the columns of a feature. Constant columns
    contribute nothing, and constant features get NaN.
    """
    assert table.features is not None
    found = table.evaluated(partial(_with_units, forms=forms), wide=wide)
    exponents, starts = found[-1], table.features.starts[:-1]
    largest = np.fmax.reduceat(exponents, starts)
    constant = np.isnan(exponents)
    below = np.where(constant, 0, exponents - largest[table.features.owner]).astype(np.int64)
    values = np.ldexp(np.where(constant, 0.0, found[:-1]), 2 * below)
    return np.where(np.isnan(largest), np.nan, table.features.sums(values))


def _with_units(block: Block, *, forms: Forms) -> Floats:
    return np.stack([*forms(block), np.where(block.constant, np.nan, block.exponent)])


def divided(numerator: Floats, denominator: Floats) -> Floats:
    """Divide elementwise without warnings; 0/0 is NaN and positive/0 is infinite."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        return np.asarray(numerator / denominator)


def on_samples(graph: Graph, table: Table) -> Graph:
    """Return the graph with the masses of the samples of the table."""
    check_same_samples(graph.n_samples, table.n_samples)
    return graph if table.weights is None else graph.weighted_by(table.weights)


def laplacian_ratio(table: Table, graph: Graph) -> Floats:
    """Compute energy(f) / spread(f) on one graph, the core of all Laplacian scores.

    The ratio lies in [0, 2].
    """
    return quotients(table, on_samples(graph, table).block_forms, wide=True)


def energy_ratio(table: Table, numerator: Graph, denominator: Graph) -> Floats:
    """Compute the ratio of the energies on two graphs for every feature, as `ratio` does."""
    one, other = on_samples(numerator, table), on_samples(denominator, table)
    return ratio(table, one.block_energy, other.block_energy)

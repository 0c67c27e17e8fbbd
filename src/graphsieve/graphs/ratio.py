"""Ratios of two quadratic forms for every feature of X.

Degenerate features, such as constant ones, are detected only here.
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


def per_feature(table: Table, value: Form, *, wide: bool = False) -> Floats:
    """Compute one value per feature; constant features get NaN.

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
    return per_feature(
        table, lambda block: divided(numerator(block), denominator(block)), wide=True
    )


def divided(numerator: Floats, denominator: Floats) -> Floats:
    """Divide elementwise without warnings; 0/0 is NaN and positive/0 is infinite."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        return np.asarray(numerator / denominator)


def laplacian_ratio(table: Table, graph: Graph) -> Floats:
    """Compute energy(f) / spread(f) on one graph, the core of all Laplacian scores.

    The ratio lies in [0, 2].
    """
    check_same_samples(graph.n_samples, table.n_samples)
    return per_feature(table, lambda block: divided(*graph.block_forms(block)), wide=True)

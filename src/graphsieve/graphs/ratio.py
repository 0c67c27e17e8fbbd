"""Walking X with two forms and dividing them: the only place where a feature can turn out
degenerate.
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
    """A value for every feature; NaN where the feature is constant. A form that takes only sums
    can do with wide blocks.
    """
    return np.asarray(table.evaluated(partial(_where_it_varies, value=value), wide=wide))


def _where_it_varies(block: Block, *, value: Form) -> Floats:
    return np.where(block.constant, np.nan, value(block))


def ratio(table: Table, numerator: Form, denominator: Form) -> Floats:
    """Numerator over denominator for every feature.

    A constant feature, and 0/0, is NaN: it cannot be scored. A positive numerator over zero is
    infinite.
    """
    return per_feature(
        table, lambda block: divided(numerator(block), denominator(block)), wide=True
    )


def divided(numerator: Floats, denominator: Floats) -> Floats:
    """Element by element, without warnings: 0/0 is NaN, positive/0 is infinite."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        return np.asarray(numerator / denominator)


def laplacian_ratio(table: Table, graph: Graph) -> Floats:
    """E(f) / spread(f) on one graph, which lies in [0, 2]: the core of all Laplacian scores."""
    check_same_samples(graph.n_samples, table.n_samples)
    return per_feature(table, lambda block: divided(*graph.block_forms(block)), wide=True)

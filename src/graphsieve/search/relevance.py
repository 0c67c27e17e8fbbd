"""How much of each column's variation goes with what is known: one share from 0 to 1, whatever is
known.

Every score compares differences between samples that belong together with differences between
samples that do not. Its value for a column that has nothing to do with what is known can be told
beforehand: both kinds of pairs then differ alike. One minus the score over that value is a share,
which labels, targets, pairs and probabilities have in common.
"""

from __future__ import annotations

import numpy as np

from graphsieve._base.array_types import Floats
from graphsieve.graphs.builders import target_graph
from graphsieve.graphs.graph import CrossGraph, FactorGraph, Graph, complete_graph
from graphsieve.graphs.ratio import ratio
from graphsieve.scores.labels import fisher
from graphsieve.scores.pairs import cannot_link_graph, must_link_graph
from graphsieve.scores.targets import pearson, rows_of
from graphsieve.supervision.value import Supervision
from graphsieve.table.columns import Table

LEAST_WEIGHT = (
    # Of all pairs of one kind; from products of smaller probabilities no digits are left, and
    # quotients overflow
    1e-290
)
N_NEIGHBORS = 5  # along a target, as published for the supervised Laplacian score


def relevance(table: Table, known: Supervision) -> Floats:
    """The share of every column's variation that goes with what is known; 0 for a constant one, 1
    everywhere if nothing is known.

    - classes: the share of the variance that lies between them (η²), over the labelled samples;
    - a target: R² of a straight line, or one minus the mean squared difference between neighbours
      along the target over that between all samples, whichever is larger, so that a curve counts as
      well;
    - pairs (with or without labels) and class probabilities: one minus the mean squared difference
      between samples that belong together over that between samples that do not, and 0 where it
      would be negative.
    """
    kinds = known.kinds
    if "probabilities" in kinds:
        factor = known.label_probabilities()
        share = _share(table, FactorGraph(factor), CrossGraph(factor))
    elif "pairs" in kinds:
        share = _share(table, must_link_graph(known), cannot_link_graph(known))
    elif "labels" in kinds:
        score = fisher(table, known).values
        with np.errstate(invalid="ignore"):
            share = np.where(np.isposinf(score), 1.0, score / (1 + score))
    elif "targets" in kinds:
        share = np.fmax(pearson(table, known).values ** 2, _share_along_target(table, known))
    else:
        share = np.ones(table.n_features)
    return np.nan_to_num(share, nan=0.0)


def _share_along_target(table: Table, known: Supervision) -> Floats:
    assert known.targets is not None
    rows = np.flatnonzero(~np.isnan(known.targets))
    near = target_graph(known.targets[rows], min(N_NEIGHBORS, len(rows) - 1), None)
    return _share(rows_of(table, rows), near.graph, complete_graph(len(rows)))


def _share(table: Table, together: Graph, apart: Graph) -> Floats:
    """One minus the mean squared difference over the edges of one graph over that over the edges
    of the other.
    """
    # Where there are pairs of one kind only, they are compared with all pairs of samples.
    everyone = complete_graph(table.n_samples)
    together = together if together.degree().sum() > LEAST_WEIGHT else everyone
    apart = apart if apart.degree().sum() > LEAST_WEIGHT else everyone
    by_chance = float(together.degree().sum() / apart.degree().sum())
    return np.clip(
        1 - ratio(table, together.block_energy, apart.block_energy) / by_chance, 0.0, 1.0
    )

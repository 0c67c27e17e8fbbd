"""Relevance of each column: the share of its variation that is associated with the supervision.

The underlying scores compare differences between samples that belong together with differences
between samples that do not. For a column that is unrelated to the supervision, both kinds of pairs
differ equally, so the expected score is known in advance. One minus the score divided by this
expected value is a share from 0 to 1. It is comparable for labels, targets, pairs and
probabilities.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from graphsieve._base.array_types import Floats
from graphsieve.graphs.builders import target_graph
from graphsieve.graphs.graph import CrossGraph, FactorGraph, Graph, complete_graph
from graphsieve.graphs.observed import on_observed
from graphsieve.graphs.ratio import on_samples, ratio
from graphsieve.scores.labels import fisher
from graphsieve.scores.pairs import cannot_link_graph, must_link_graph
from graphsieve.scores.targets import pearson, rows_of
from graphsieve.supervision.groups import Units
from graphsieve.supervision.parsing import all_known
from graphsieve.supervision.value import Supervision
from graphsieve.table.columns import Table
from graphsieve.table.gaps import gaps_of_features

# Minimum total weight of all pairs of one kind. Products of smaller probabilities have no accurate
# digits left, and their quotients overflow.
LEAST_WEIGHT = 1e-290
N_NEIGHBORS = 5  # neighbours in the target, as published for the supervised Laplacian score


def relevance(table: Table, known: Supervision) -> Floats:
    """Compute the share of each column's variation that is associated with the supervision.

    - Classes: the share of the variance between the classes (η²), on the labelled samples.
    - A continuous target: the larger of two values, so that nonlinear associations count as well.
      The first is the R² of a linear fit. The second is one minus the mean squared difference
      between neighbours in the target, divided by that between all samples. For several targets, it
      is the mean of the relevance for each target, on the samples where this target is known.
    - Pairs (with or without labels) and class probabilities: one minus the mean squared difference
      between samples that belong together, divided by that between samples that do not. Negative
      values become 0.

    The relevance of a constant column is 0. Without supervision, the relevance of all columns is 1.
    A feature with missing values is compared where it is observed. The result is
    multiplied by the share of supervised samples in which the feature is observed, because a few
    samples can give a high relevance by chance.
    """
    if table.gaps is not None and known.kinds in (("labels",), ("targets",)):
        # Unlabelled samples are not used. Without them, more features have the same gaps.
        rows = np.flatnonzero(known.labeled)
        table, known = (table.take(rows), known[rows]) if known.n_targets < 2 else (table, known)
    shares = np.nan_to_num(on_observed(table, partial(_relevance, known=known)), nan=0.0)
    return shares if table.gaps is None else shares * _observed_shares(table, known)


def _observed_shares(table: Table, known: Supervision) -> Floats:
    """Return the share of the supervised samples in which each feature is observed."""
    supervised = known.labeled.copy()
    for pairs in (known.must_link, known.cannot_link):
        supervised[np.ravel(pairs)] = True
    masses = np.where(supervised, table.masses, 0.0)
    if not masses.any():
        return np.ones(table.n_features)
    missing = gaps_of_features(table.gaps, table.features).T @ masses
    return np.asarray(1 - missing / masses.sum())


def _relevance(table: Table, known: Supervision) -> Floats:
    kinds = known.kinds
    if known.groups is not None and {"probabilities", "pairs"} & set(kinds):
        # Pairs of a sample and its copy must not count, so one sample of each group is used.
        units = known.units().weighted_by(table.weights)
        table, known = _first_of_each(table, units), known.of_units(units)
    if "probabilities" in kinds:
        rows, factor = known.label_probabilities()
        share = _share(rows_of(table, rows), FactorGraph(factor), CrossGraph(factor))
    elif "pairs" in kinds:
        share = _share(table, must_link_graph(known), cannot_link_graph(known))
    elif "labels" in kinds:
        score = fisher(table, known).values
        with np.errstate(invalid="ignore"):
            share = np.where(np.isposinf(score), 1.0, score / (1 + score))
    elif "targets" in kinds:
        shares = [
            np.nan_to_num(np.fmax(_explained_shares(table, one), _share_along_target(table, one)))
            for one in known.each_target()
            if known.n_targets == 1 or one.n_labeled > 1
        ]
        share = np.mean(shares, axis=0) if shares else np.zeros(table.n_features)
    else:
        share = np.ones(table.n_features)
    return np.asarray(share)


def _explained_shares(table: Table, known: Supervision) -> Floats:
    """Return the R² of a linear fit of the target on each feature.

    Several columns fit the target better than one by chance alone. R² is therefore adjusted to the
    value that a single column would have.
    """
    shares = pearson(table, known).values ** 2
    if table.features is None:
        return shares
    rank = table.features.sizes - (table.features.categorical & (table.features.sizes > 1))
    n_labeled = known.n_labeled
    if table.weights is not None:
        assert known.targets is not None
        n_labeled = int((all_known(known.targets) & (table.weights > 0)).sum())
    left = np.maximum(n_labeled - 1 - rank, 1)
    adjusted = np.maximum(1 - (1 - shares) * (n_labeled - 2) / left, 0.0)
    return np.where(rank == 1, shares, adjusted)


def _share_along_target(table: Table, known: Supervision) -> Floats:
    # One sample of each group is used, so that the neighbours of a sample are not its copies.
    assert known.targets is not None
    units = known.units(np.flatnonzero(~np.isnan(known.targets))).weighted_by(table.weights)
    target = units.means(known.targets[units.rows])
    near = target_graph(target, min(N_NEIGHBORS, units.n - 1), None)
    return _share(_first_of_each(table, units), near.graph, complete_graph(units.n))


def _first_of_each(table: Table, units: Units) -> Table:
    """Return the first sample of each unit, with the mean mass of its samples."""
    part, masses = rows_of(table, units.representatives), units.mean_masses()
    return part if masses is None else part.weighted_by(masses)


def _share(table: Table, together: Graph, apart: Graph) -> Floats:
    """Return one minus the ratio of the mean squared differences over the edges of two graphs."""
    if table.n_samples < 2:  # All samples are of one group.
        return np.zeros(table.n_features)
    graphs = [on_samples(graph, table) for graph in (together, apart)]
    sizes = [float(graph.degree().sum()) for graph in graphs]
    if min(sizes) <= LEAST_WEIGHT:
        # If there are pairs of one kind only, they are compared with all pairs of samples.
        all_pairs = on_samples(complete_graph(table.n_samples), table)
        of_all = float(all_pairs.degree().sum())
        if of_all <= LEAST_WEIGHT:  # Fewer than two samples have a positive mass.
            return np.zeros(table.n_features)
        graphs = [
            graph if size > LEAST_WEIGHT else all_pairs
            for graph, size in zip(graphs, sizes, strict=True)
        ]
        sizes = [size if size > LEAST_WEIGHT else of_all for size in sizes]
    by_chance = sizes[0] / sizes[1]
    energies = ratio(table, graphs[0].block_energy, graphs[1].block_energy)
    return np.clip(1 - energies / by_chance, 0.0, 1.0)

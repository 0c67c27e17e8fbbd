"""Relevance of each feature: the share of its variation that is associated with the supervision.

For labels, targets and class probabilities it is measured by ranks (`association`), so heavy tails
and single typing errors have little effect. For pairs, the mean squared difference between samples
that belong together is compared with that between samples that do not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from graphsieve._base.array_types import Floats
from graphsieve.graphs.graph import CrossGraph, FactorGraph, Graph, complete_graph
from graphsieve.graphs.observed import on_observed
from graphsieve.graphs.ratio import on_samples, ratio
from graphsieve.scores.labels import fisher
from graphsieve.scores.pairs import cannot_link_graph, must_link_graph
from graphsieve.scores.targets import pearson, rows_of
from graphsieve.search.association import (
    FEWEST_ROWS,
    best_by_chance,
    outcome_of,
    rank_shares,
    single_columns,
    tested_shares,
)
from graphsieve.supervision.groups import Units
from graphsieve.supervision.parsing import all_known
from graphsieve.supervision.value import Supervision
from graphsieve.table.centered import ColumnSpace, shared_variances
from graphsieve.table.columns import Table
from graphsieve.table.gaps import gaps_of_features

# Minimum total weight of all pairs of one kind. Products of smaller probabilities have no accurate
# digits left, and their quotients overflow.
LEAST_WEIGHT = 1e-290
HALF_CORRECTED = 10  # number of similar features at which half of the correction for chance applies


@dataclass(frozen=True, eq=False)
class Relevance:
    """The weight of each feature in the default search.

    Attributes
    ----------
    values : array of shape (n_features,)
        Share of each feature's variation that is associated with the supervision, corrected for
        chance.
    doubt : float
        Doubt that the structure of the table is related to the supervision, from 0 to 1. It is 1 if
        features that resemble many others are no more associated with the supervision than
        unrelated features would be, and 0 if there are too few labels to tell.
    p_values : array of shape (n_features,) or None
        The result of `association_p_values`, if it was computed on the way.
    """

    values: Floats
    doubt: float
    p_values: Floats | None = None


def corrected_relevance(table: Table, known: Supervision, space: ColumnSpace) -> Relevance:
    """Compute the relevance of each feature, corrected for chance.

    If many features share a factor, a chance association of this factor with a few labels counts
    many times. A share is therefore reduced by d · t · m / (m + 10). Here t is the share that the
    best of as many unrelated features would reach, m is the number of features that resemble this
    one, and d is the doubt exp(2 − 2r), at most 1. The ratio r is the mean share of the features,
    weighted by the variance that they explain of all features, over its expected value for labels
    that are unrelated to the table.

    `space` holds the features on the scale of the search.
    """
    found = _shares(table, known)
    uncorrected = found.combined()
    if found.n is None or not found.straight.any():
        return Relevance(uncorrected, 0.0)
    shared = shared_variances(space)
    doubt = found.doubt(shared) if shared.any() else 0.0
    similar = np.maximum(shared / np.where(space.variances > 0, space.variances, 1.0), 1.0)
    share = doubt * found.chance() * similar / (similar + HALF_CORRECTED)
    values = found.combined(share)
    return Relevance(values if values.any() else uncorrected, doubt, found.p_values)


def relevance(table: Table, known: Supervision) -> Floats:
    """Compute the share of each feature's variation that is associated with the supervision.

    - Classes and class probabilities: the share of the variance of the ranks that lies between the
      classes, or the same share of the squared ranks, whichever is larger. Squared ranks detect
      classes of different spread.
    - A continuous target: the squared rank correlation, or the share that a parabola explains. For
      several targets, it is the mean over the targets, on the samples where each is known.
    - Pairs (with or without labels): one minus the mean squared difference between samples that
      belong together, divided by that between samples that do not. Negative values become 0.
    - A category or group of columns has no ranks. Its values are used instead: the share of the
      variance between the classes, or the adjusted R² of a linear fit of the target.

    A curved share counts only as far as it exceeds the share that the best of as many unrelated
    features would reach. The relevance of a constant column is 0. Without supervision, the
    relevance of all columns is 1. A feature with missing values is compared where it is observed.
    The result is multiplied by the share of supervised samples in which the feature is observed,
    because a few samples can give a high relevance by chance.
    """
    return _shares(table, known).combined()


@dataclass(frozen=True, eq=False)
class _Shares:
    """The straight and curved shares of each feature.

    `n` is the number of samples from which they were computed, and `rank` the number of directions
    of the supervision. `n` is None if the distribution by chance is unknown. `observed` is the
    share of the supervised samples in which each feature is observed.
    """

    straight: Floats
    curved: Floats
    observed: Any = 1.0
    n: Floats | None = None
    rank: int = 1
    is_target: bool = False
    p_values: Floats | None = None

    @property
    def number(self) -> int:
        return int(np.count_nonzero(self.straight + self.curved))

    def chance(self) -> Floats:
        """Return the straight share that the best unrelated feature would reach."""
        return np.asarray(best_by_chance(self.rank, self.n, self.number))

    def doubt(self, shared: Floats) -> float:
        assert self.n is not None
        if self.n.max(initial=0.0) < FEWEST_ROWS:
            return 0.0
        expected = self.rank / (self.n - 1)
        ratio = float(shared @ (self.straight / expected) / shared.sum())
        return float(np.exp(min(0.0, 2 * (1 - ratio))))

    def combined(self, by_chance: Any = 0.0) -> Floats:
        """Return the larger share of each feature, after subtracting what chance explains."""
        # The correction is below 1, because it is at most a multiple m / (m + 10) of a share.
        straight = np.maximum(self.straight - by_chance, 0.0) / (1 - by_chance)
        if self.n is None:
            return np.asarray(straight * self.observed)
        rank, number = (2, 2 * self.number) if self.is_target else (self.rank, self.number)
        best = best_by_chance(rank, self.n, number)
        possible = best < 1  # Otherwise there are too few samples for a curve.
        curved = np.maximum(self.curved - best, 0.0) / np.where(possible, 1 - best, 1.0)
        return np.asarray(np.maximum(straight, curved) * self.observed)


def _shares(table: Table, known: Supervision) -> _Shares:
    kinds = known.kinds
    if not kinds:
        return _Shares(np.ones(table.n_features), np.zeros(table.n_features))
    if "probabilities" not in kinds and "pairs" not in kinds and known.n_targets > 1:
        return _of_several_targets(table, known)
    if table.gaps is not None and kinds in (("labels",), ("targets",)):
        # Unlabelled samples are not used. Without them, more features have the same gaps.
        rows = np.flatnonzero(known.labeled)
        table, known = table.take(rows), known[rows]
    by_pairs = "pairs" in kinds and "probabilities" not in kinds
    plain = table.gaps is None and table.weights is None and table.features is None
    if plain and not by_pairs and known.groups is None:
        # The tests need the same ranks, and sorting takes most of the time.
        outcome = outcome_of(known)
        if outcome is not None and outcome.units.n >= FEWEST_ROWS:
            straight, curved, p_values = tested_shares(table, outcome)
            return _Shares(
                straight,
                curved,
                n=np.full(table.n_features, float(outcome.units.n)),
                rank=outcome.straight.shape[1],
                is_target="targets" in kinds,
                p_values=p_values,
            )
    form = partial(_pair_shares if by_pairs else _rank_shares, known=known)
    straight, curved, n = np.nan_to_num(on_observed(table, form, n_values=3))
    observed = 1.0 if table.gaps is None else _observed_shares(table, known)
    if by_pairs:
        return _Shares(straight, curved, observed)
    outcome = outcome_of(known, table.weights)
    rank = 1 if outcome is None else outcome.straight.shape[1]
    return _Shares(straight, curved, observed, n, rank, is_target="targets" in kinds)


def _of_several_targets(table: Table, known: Supervision) -> _Shares:
    """Return the means over the targets, each on the samples where it is known."""
    found = [_shares(table, one) for one in known.each_target() if one.n_labeled > 1]
    if not found:
        return _Shares(np.zeros(table.n_features), np.zeros(table.n_features))
    straight, curved, n = np.mean(
        [
            (one.straight * one.observed, one.curved * one.observed, one.n)
            for one in found
            if one.n is not None
        ],
        axis=0,
    )
    return _Shares(straight, curved, 1.0, n, 1, is_target=True)


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


def _rank_shares(table: Table, known: Supervision) -> Floats:
    """Return the straight and curved shares, and the number of samples, of each feature."""
    found = np.zeros((3, table.n_features))
    # Every sample of a group counts in the share, as it would with a weight. The number of samples,
    # from which chance is estimated, is that of the groups.
    outcome = outcome_of(replace(known, groups=None), table.weights)
    if outcome is None:
        return found
    found[2] = known.units(outcome.units.rows).n
    alone, single = single_columns(table)
    if len(alone):
        found[:2, alone] = rank_shares(single, outcome)
    if table.features is not None and len(table.features.several):
        several = table.features.several
        found[0, several] = _shares_of_several_columns(table.take_features(several), known)
    return found


def _shares_of_several_columns(table: Table, known: Supervision) -> Floats:
    """Return the shares of features of several columns, which have no ranks."""
    if "probabilities" in known.kinds:
        rows, factor = known.label_probabilities()
        shares = _share(rows_of(table, rows), FactorGraph(factor), CrossGraph(factor))
    elif known.targets is None:
        score = fisher(table, known).values
        with np.errstate(invalid="ignore"):
            shares = np.where(np.isposinf(score), 1.0, score / (1 + score))
    else:
        shares = _explained_shares(table, known)
    return np.nan_to_num(shares)


def _pair_shares(table: Table, known: Supervision) -> Floats:
    if known.groups is not None:
        # Pairs of a sample and its copy must not count, so one sample of each group is used.
        units = known.units().weighted_by(table.weights)
        table, known = _first_of_each(table, units), known.of_units(units)
    found = np.zeros((3, table.n_features))
    found[0] = _share(table, must_link_graph(known), cannot_link_graph(known))
    return found


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


def _first_of_each(table: Table, units: Units) -> Table:
    """Return the first sample of each unit, with the mean mass of its samples."""
    part, masses = rows_of(table, units.representatives), units.mean_masses()
    return part if masses is None else part.weighted_by(masses)


def _share(table: Table, together: Graph, apart: Graph) -> Floats:
    """Return one minus the ratio of the mean squared differences over the edges of two graphs."""
    if table.n_samples < 2:  # All samples belong to one group.
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

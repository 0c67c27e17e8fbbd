"""Scores for must-link and cannot-link pairs, which are given directly or implied by class labels.

The paper of the constrained Laplacian score also prints a "spectral" denominator fᵀ L^CL D f. It is
not implemented. It does not follow from the definition, it changes when a constant is added to a
feature, and it is negative on real data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError
from graphsieve._base.messages import parameter
from graphsieve._base.parameters import choice
from graphsieve.graphs.builders import (
    apart_graph,
    constrained_neighbor_graph,
    group_graph,
    pair_graph,
)
from graphsieve.graphs.graph import Graph
from graphsieve.graphs.ratio import energy_ratio, on_samples, ratio
from graphsieve.scores.geometry import in_original_units, laplacian
from graphsieve.scores.method import Scored, score
from graphsieve.supervision.value import Supervision
from graphsieve.table.blocks import Block
from graphsieve.table.columns import Table
from graphsieve.table.sums import (
    cross_energy,
    dense_weighting,
    edge_sum,
    group_weightings,
    means,
    moments,
)

FORMS = ("ratio", "difference")
DIFFERENCE_WEIGHT = 0.1  # published value of λ in the difference form


def constraint_score(
    X: Any,
    must_link: Any,
    cannot_link: Any,
    *,
    form: str = "ratio",
    weight: float = DIFFERENCE_WEIGHT,
) -> Floats:
    """Compute the constraint score of each feature.

    The score compares the variation across must-link pairs with the variation across cannot-link
    pairs. With S_ML = Σ (f_i − f_j)² over the must-link pairs and S_CL for the cannot-link pairs,
    the two forms are:

    - ``"ratio"``: S_ML / S_CL.
    - ``"difference"``: S_ML − weight · S_CL. This form depends on the units of the feature.

    Small is good. In both forms, a constant feature gets NaN. In the ratio, a feature with equal
    values in each pair also gets NaN.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features.
    must_link, cannot_link : array of int of shape (n_pairs, 2)
        Pairs of row numbers.
    form : {"ratio", "difference"}
        The form of the score.
    weight : float
        Weight λ of the cannot-link pairs in the difference. The ratio does not use it and raises an
        error if it differs from the default.

    Returns
    -------
    scores : array of shape (n_features,)
        The score of each feature.

    References
    ----------
    Zhang, Chen, Zhou (2008), Constraint score: a new filter method for feature selection with
    pairwise constraints.

    Examples
    --------
    >>> constraint_score([[0, 1], [1, 5], [4, 2]], must_link=[(0, 1)], cannot_link=[(0, 2)])
    array([ 0.0625, 16.    ])
    """
    return score(constraint, X, _pairs(must_link, cannot_link), form=form, weight=weight)


def constraint(table: Table, known: Supervision, *, form: str, weight: float) -> Scored:
    choice(FORMS)("form", form)
    if form == "ratio" and weight != DIFFERENCE_WEIGHT:
        raise InputError(
            parameter("weight", weight),
            f" belongs to form='difference', got weight={weight:g} with form='ratio'; leave "
            "it out.",
        )
    alike, apart = must_link_graph(known), cannot_link_graph(known)
    if form == "ratio":
        need_both_kinds(known)
        return Scored(energy_ratio(table, alike, apart))

    if not len(known.must_link) and not len(known.cannot_link) and (known.codes >= 0).sum() < 2:
        raise InputError(
            "the constraint score needs at least one must-linked or cannot-linked pair."
        )

    alike, apart = on_samples(alike, table), on_samples(apart, table)

    def difference(block: Block) -> Floats:
        return alike.block_energy(block) - weight * apart.block_energy(block)

    return Scored(in_original_units(table, difference))


def c4_score(
    X: Any,
    must_link: Any,
    cannot_link: Any,
    *,
    n_neighbors: int = 10,
    bandwidth: float = 1.0,
    neighbors: Any = "auto",
) -> Floats:
    """Compute the C4 score of each feature.

    The score is the Laplacian score times the ratio form of the constraint score. Small is good. It
    is NaN if either factor is NaN.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features. They are not rescaled.
    must_link, cannot_link : array of int of shape (n_pairs, 2)
        Pairs of row numbers.
    n_neighbors, bandwidth : int, float
        Number of neighbours and bandwidth of the graph, as in `laplacian_score`.
    neighbors : {"auto", "exact", "approximate"} or transformer
        Method of the neighbour search, as in `laplacian_score`.

    Returns
    -------
    scores : array of shape (n_features,)
        The score of each feature.

    References
    ----------
    Kalakech, Biela, Macaire, Hamad (2011), Constraint scores for semi-supervised feature selection:
    a comparative study.

    Examples
    --------
    >>> X = [[0, 0], [0, 1], [9, 0], [9, 1]]
    >>> c4_score(X, must_link=[(0, 1)], cannot_link=[(0, 3)], n_neighbors=1).round(6)
    array([0., 2.])
    """
    return score(
        c4,
        X,
        _pairs(must_link, cannot_link),
        neighbors=neighbors,
        n_neighbors=n_neighbors,
        bandwidth=bandwidth,
    )


def c4(table: Table, known: Supervision, *, n_neighbors: int, bandwidth: float | None) -> Scored:
    geometric = laplacian(table, known, n_neighbors=n_neighbors, bandwidth=bandwidth)
    constrained = constraint(table, known, form="ratio", weight=DIFFERENCE_WEIGHT)
    with np.errstate(invalid="ignore"):
        product = geometric.values * constrained.values
    return Scored(product, geometric.n_neighbors, geometric.bandwidth)


def constrained_laplacian_score(
    X: Any,
    must_link: Any,
    cannot_link: Any,
    *,
    n_neighbors: int = 10,
    bandwidth: float = 0.1,
    cut_cannot_link: bool = False,
    neighbors: Any = "auto",
) -> Floats:
    """Compute the constrained Laplacian score (CLS) of each feature.

    This Laplacian score treats must-link pairs as neighbours and rewards differences across
    cannot-link pairs. It is the ratio of two sums:

    - The numerator is Σ_ij S_ij (f_i − f_j)² over the ordered pairs that are nearest neighbours or
      must-linked, with the weights S_ij = exp(−d_ij²/bandwidth) and the degrees D_ii = Σ_j S_ij.
    - The denominator is Σ_i Σ_j D_ii (f_i − α_ij)² over all samples i and over the samples j that
      occur in a cannot-link pair. α_ij is f_j if i and j are cannot-linked, and the mean of f
      otherwise. Without cannot-link pairs, the denominator is Σ_i D_ii (f_i − mean)².

    Small is good. A constant feature gets NaN.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features. They are not rescaled.
    must_link, cannot_link : array of int of shape (n_pairs, 2)
        Pairs of row numbers. Either may be empty.
    n_neighbors, bandwidth : int, float
        Number of neighbours and bandwidth of the graph of nearest neighbours in X.
    cut_cannot_link : bool
        Whether cannot-linked pairs are removed from the nearest neighbours. The text of the paper
        removes them, but its Eq. 5 does not.
    neighbors : {"auto", "exact", "approximate"} or transformer
        Method of the neighbour search, as in `laplacian_score`.

    Returns
    -------
    scores : array of shape (n_features,)
        The score of each feature.

    References
    ----------
    Benabdeslem, Hindawi (2011), Constrained Laplacian score for semi-supervised feature selection,
    Eq. 4–6.

    Examples
    --------
    >>> X = [[0, 0], [0, 1], [9, 0], [9, 1]]
    >>> constrained_laplacian_score(X, [(0, 1)], [(0, 2)], n_neighbors=1).round(6)
    array([0.      , 2.666667])
    """
    return score(
        constrained_laplacian,
        X,
        _pairs(must_link, cannot_link),
        neighbors=neighbors,
        n_neighbors=n_neighbors,
        bandwidth=bandwidth,
        cut_cannot_link=cut_cannot_link,
    )


def constrained_laplacian(
    table: Table,
    known: Supervision,
    *,
    n_neighbors: int,
    bandwidth: float | None,
    cut_cannot_link: bool,
) -> Scored:
    near = constrained_neighbor_graph(
        table, known, n_neighbors, bandwidth, cut_cannot_link=cut_cannot_link
    )
    graph = on_samples(near.graph, table)
    pushed = _PushedApart(graph.degree(), known, table.masses)
    values = ratio(table, lambda block: 2 * graph.block_energy(block), pushed.value)
    return Scored(values, near.n_neighbors, near.bandwidth)


class _PushedApart:
    """The denominator of CLS, computed in O(n + pairs) per feature.

    Pairs that are implied by labels are not listed and cost O(n + classes²).
    """

    def __init__(self, degree: Floats, known: Supervision, masses: Floats) -> None:
        codes, labeled = known.codes, known.codes >= 0
        self.degree, self.masses = degree, masses
        self.of_all = dense_weighting(masses)
        sizes = np.bincount(codes[labeled], masses[labeled])
        self.by_class = group_weightings(codes, len(sizes), masses)
        self.by_class_and_degree = group_weightings(codes, len(sizes), degree)

        self.pairs = _not_implied_by_labels(known.cannot_link, codes)
        # Mass of the cannot-linked partners of each sample, and of all samples with a partner.
        one, other = self.pairs[:, 0], self.pairs[:, 1]
        partners = np.zeros(len(degree))
        np.add.at(partners, one, masses[other])
        np.add.at(partners, other, masses[one])
        partners[labeled] += sizes.sum() - sizes[codes[labeled]]
        involved = float(masses[partners > 0].sum())
        self.around_mean = dense_weighting((involved - partners) * degree if involved else degree)

    def value(self, block: Block) -> Floats:
        total: Floats = moments(block, self.around_mean).scatter_around(
            means(block, self.of_all)[0]
        )[0]
        one, other = self.pairs[:, 0], self.pairs[:, 1]
        weights = self.degree[one] * self.masses[other] + self.degree[other] * self.masses[one]
        total = total + edge_sum(block, one, other, weights)
        # Σ D_i (f_i − f_j)² over the ordered pairs of different classes, without listing them.
        return total + cross_energy(
            moments(block, self.by_class_and_degree), moments(block, self.by_class)
        )


def _pairs(must_link: Any, cannot_link: Any) -> Callable[[int], Supervision]:
    return lambda n_samples: Supervision.from_pairs(n_samples, must_link, cannot_link)


def must_link_graph(known: Supervision) -> Graph:
    codes = known.codes
    extra = known.must_link[codes[known.must_link[:, 0]] != codes[known.must_link[:, 1]]]
    unlabeled = known.must_link[(codes[known.must_link] < 0).all(axis=1)]
    return group_graph(codes) + pair_graph(known.n_samples, np.concatenate([extra, unlabeled]))


def cannot_link_graph(known: Supervision) -> Graph:
    codes = known.codes
    return apart_graph(codes) + pair_graph(
        known.n_samples, _not_implied_by_labels(known.cannot_link, codes)
    )


def _not_implied_by_labels(cannot_link: Integers, codes: Integers) -> Integers:
    return cannot_link[(codes[cannot_link] < 0).any(axis=1)]


def need_both_kinds(known: Supervision) -> None:
    sizes = np.bincount(known.codes[known.codes >= 0])
    if not len(known.must_link) and not (sizes > 1).any():
        raise InputError(
            "the constraint score compares must-linked with cannot-linked pairs, but there is no "
            "must-linked pair; add one."
        )
    if not len(known.cannot_link) and not (sizes > 0).sum() > 1:
        raise InputError(
            "the constraint score compares must-linked with cannot-linked pairs, but there is no "
            "cannot-linked pair; add one."
        )

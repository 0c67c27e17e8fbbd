"""Scores for pairwise constraints: must-link and cannot-link pairs, given as such or implied by
class labels.

The paper of the constrained Laplacian score also prints a "spectral" denominator fᵀ L^CL D f. It is
not offered: it does not follow from the definition, changes when a constant is added to a feature,
and is negative on real data.
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
from graphsieve.graphs.ratio import ratio
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
DIFFERENCE_WEIGHT = 0.1  # the published λ of the difference


def constraint_score(
    X: Any,
    must_link: Any,
    cannot_link: Any,
    *,
    form: str = "ratio",
    weight: float = DIFFERENCE_WEIGHT,
) -> Floats:
    """Constraint score: variation over must-linked pairs, relative to that over cannot-linked
    pairs.

    Σ_ML (f_i − f_j)² / Σ_CL (f_i − f_j)² (form ``"ratio"``), or Σ_ML − weight · Σ_CL (form
    ``"difference"``, which depends on the units of the feature). Small is good. A feature that is
    constant, or equal over all pairs, is NaN in the ratio.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features.
    must_link, cannot_link : array of int of shape (n_pairs, 2)
        Pairs of row numbers.
    form : {"ratio", "difference"}
        How the two sums are compared.
    weight : float
        The λ of the difference; the ratio has none, and refuses another than the default.

    Returns
    -------
    array of shape (n_features,)

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
        return Scored(ratio(table, alike.block_energy, apart.block_energy))

    if not len(known.must_link) and not len(known.cannot_link) and (known.codes >= 0).sum() < 2:
        raise InputError(
            "the constraint score needs at least one must-linked or cannot-linked pair."
        )

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
    """C4: the Laplacian score times the constraint score (ratio). Small is good. NaN where either
    factor is.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features.
    must_link, cannot_link : array of int of shape (n_pairs, 2)
        Pairs of row numbers.
    n_neighbors, bandwidth : int, float
        As in `laplacian_score`.
    neighbors : {"auto", "exact", "approximate"} or transformer
        As in `laplacian_score`.

    Returns
    -------
    array of shape (n_features,)

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
    """Constrained Laplacian score (CLS): the Laplacian score, with must-links as neighbours and
    cannot-links pushed apart.

    Numerator: Σ_ij S_ij (f_i − f_j)² over ordered pairs that are nearest neighbours or must-linked,
    S = exp(−d²/bandwidth). Denominator: Σ_i Σ_j D_ii (f_i − α_ij)² over all samples i and the
    samples j of any cannot-linked pair, where α_ij is f_j if i and j are cannot-linked and the mean
    of f otherwise; without cannot-linked pairs, Σ_i D_ii (f_i − mean)². Small is good. A constant
    feature is NaN.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features, used as they are.
    must_link, cannot_link : array of int of shape (n_pairs, 2)
        Pairs of row numbers; either may be empty.
    n_neighbors, bandwidth : int, float
        Of the graph of nearest neighbours in X.
    cut_cannot_link : bool
        Remove cannot-linked pairs from the nearest neighbours, as the paper's text says and its Eq.
        5 does not.
    neighbors : {"auto", "exact", "approximate"} or transformer
        As in `laplacian_score`.

    Returns
    -------
    array of shape (n_features,)

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
    pushed = _PushedApart(near.graph.degree(), known)
    values = ratio(table, lambda block: 2 * near.graph.block_energy(block), pushed.value)
    return Scored(values, near.n_neighbors, near.bandwidth)


class _PushedApart:
    """The denominator of CLS in O(n + pairs) per feature; pairs implied by labels cost O(n +
    classes²).
    """

    def __init__(self, degree: Floats, known: Supervision) -> None:
        codes = known.codes
        self.degree = degree
        self.everyone = dense_weighting(np.ones(len(degree)))
        sizes = np.bincount(codes[codes >= 0])
        self.by_class = group_weightings(codes, len(sizes))
        self.by_class_and_degree = group_weightings(codes, len(sizes), degree)

        self.pairs = _not_implied_by_labels(known.cannot_link, codes)
        # How many cannot-linked partners each sample has, and how many samples have any.
        partners = np.bincount(self.pairs.ravel(), minlength=len(degree)).astype(np.float64)
        labeled = codes >= 0
        partners[labeled] += labeled.sum() - sizes[codes[labeled]]
        involved = int((partners > 0).sum())
        self.around_mean = dense_weighting((involved - partners) * degree if involved else degree)

    def value(self, block: Block) -> Floats:
        total: Floats = moments(block, self.around_mean).scatter_around(
            means(block, self.everyone)[0]
        )[0]
        one, other = self.pairs[:, 0], self.pairs[:, 1]
        total = total + edge_sum(block, one, other, self.degree[one] + self.degree[other])
        # Pairs of different classes, without listing them: Σ D_i (f_i − f_j)² over ordered pairs.
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

"""Scores for imprecise labels: class probabilities from doubting experts."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsieve._base.array_types import Floats
from graphsieve._kernels.column_sums import weighted_sum
from graphsieve.graphs.graph import FactorGraph, complete_graph
from graphsieve.graphs.ratio import divided, per_feature, ratio
from graphsieve.scores.labels import labeled_part
from graphsieve.scores.method import Scored, score
from graphsieve.supervision.value import Supervision
from graphsieve.table.blocks import Block
from graphsieve.table.columns import Table
from graphsieve.table.sums import cross_energy, group_weightings, moments


def weighted_laplacian_score(
    X: Any, label_proba: Any, *, class_weight: str | None = None
) -> Floats:
    """Weighted Laplacian score (WLS): variation between samples likely of one class, relative to
    that between all others.

    E(f) on W = P Pᵀ, the probability that two samples share a class, over E(f) on 1 − P Pᵀ. Small
    is good. Neither matrix is ever formed: the cost is n_samples × n_classes × n_features. A
    constant feature is NaN; where all samples surely share one class, scores are infinite.

    Classes weigh by their size, so that a feature without a shift of means is judged by whether the
    larger class is the tighter one. ``class_weight="balanced"``, which is ours, divides each column
    of P by the root of its sum, so that sizes no longer matter: shifts of means are then found
    better where classes differ in size, and features without one by chance only.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features.
    label_proba : array of shape (n_samples, n_classes)
        Class probabilities; every row sums to one.
    class_weight : {None, "balanced"}
        Whether large classes count for more, as in the paper (None), or all the same.

    Returns
    -------
    array of shape (n_features,)

    References
    ----------
    Doquire, Verleysen (2012), Handling imprecise labels in feature selection with graph Laplacian,
    Eq. 3–5.

    Examples
    --------
    Two sure classes; inside them 2² + 2², across them 2·2² + 4² + 0²:

    >>> weighted_laplacian_score([[0], [2], [2], [4]], [[1, 0], [1, 0], [0, 1], [0, 1]])
    array([0.33333333])
    """
    return score(
        weighted_laplacian,
        X,
        Supervision.from_probabilities(label_proba),
        class_weight=class_weight,
    )


def weighted_laplacian(table: Table, known: Supervision, *, class_weight: str | None) -> Scored:
    if known.probabilities is None:
        table, codes, n_classes = labeled_part(table, known)
        factor = group_weightings(codes, n_classes).toarray()
    else:
        factor = known.label_probabilities()
    if class_weight == "balanced":
        total = factor.sum(axis=0)
        factor = factor[:, total > 0] / np.sqrt(total[total > 0])
    if class_weight == "balanced":
        alike = FactorGraph(factor)
        different = complete_graph(table.n_samples) - alike
        return Scored(ratio(table, alike.block_energy, different.block_energy))

    def alike_over_different(block: Block) -> Floats:
        # Rows of probabilities sum to one, so that what is not alike is the cross of different
        # classes; scaled ones do not. Both graphs are made of the same moments: the energies are
        # those of FactorGraph and CrossGraph.
        found = moments(block, factor)
        return divided(weighted_sum(found.mass, found.scatter), 0.5 * cross_energy(found, found))

    return Scored(per_feature(table, alike_over_different, wide=True))

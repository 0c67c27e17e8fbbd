"""Scores for imprecise labels, given as class probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsieve._base.array_types import Floats
from graphsieve._kernels.column_sums import weighted_sum
from graphsieve.graphs.graph import FactorGraph, complete_graph
from graphsieve.graphs.ratio import energy_ratio, quotients
from graphsieve.scores.labels import labeled_part
from graphsieve.scores.method import Scored, score
from graphsieve.scores.targets import rows_of
from graphsieve.supervision.value import Supervision
from graphsieve.table.blocks import Block
from graphsieve.table.columns import Table
from graphsieve.table.containers import refuse_other_index
from graphsieve.table.sums import cross_energy, group_weightings, moments


def weighted_laplacian_score(
    X: Any, label_proba: Any, *, class_weight: str | None = None
) -> Floats:
    """Compute the weighted Laplacian score (WLS) of each feature.

    The score compares the variation between samples that probably belong to the same class with the
    variation between the others. It is the ratio of two weighted sums of (f_i − f_j)² over all
    pairs. In the numerator the weight is W_ij = (P Pᵀ)_ij, the probability that the two samples
    have the same class. In the denominator it is 1 − W_ij. Neither matrix is formed: the cost is
    n_samples × n_classes × n_features. Small is good. A constant feature gets NaN. If all samples
    certainly belong to one class, the scores are infinite.

    As published, the weight of a class grows with its size. A feature with equal class means then
    gets a good score if it varies less within the larger class. ``class_weight="balanced"`` is an
    extension of graphsieve. It divides each column of P by the square root of its sum, so that the
    class sizes no longer matter. If the classes differ in size, this detects differences between
    class means better. The scores of features without such differences then differ only by chance.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features.
    label_proba : array of shape (n_samples, n_classes)
        Class probabilities. Each row sums to one, or is NaN for an unlabelled sample, which is not
        used.
    class_weight : {None, "balanced"}
        Whether large classes have more weight, as in the paper (None), or all classes have the same
        weight ("balanced").

    Returns
    -------
    scores : array of shape (n_features,)
        The score of each feature.

    References
    ----------
    Doquire, Verleysen (2012), Handling imprecise labels in feature selection with graph Laplacian,
    Eq. 3–5.

    Examples
    --------
    Two certain classes. The sum is 2² + 2² = 8 within the classes and 2·2² + 4² + 0² = 24 between
    them:

    >>> weighted_laplacian_score([[0], [2], [2], [4]], [[1, 0], [1, 0], [0, 1], [0, 1]])
    array([0.33333333])
    """
    refuse_other_index(X, label_proba, "label_proba")
    return score(
        weighted_laplacian,
        X,
        Supervision.from_probabilities(label_proba),
        class_weight=class_weight,
    )


def weighted_laplacian(table: Table, known: Supervision, *, class_weight: str | None) -> Scored:
    if "probabilities" not in known.kinds:
        table, codes, n_classes = labeled_part(table, known)
        factor = group_weightings(codes, n_classes).toarray()
    else:
        rows, factor = known.label_probabilities()
        table = rows_of(table, rows)
    if class_weight == "balanced":
        total = table.masses @ factor
        factor = factor[:, total > 0] / np.sqrt(total[total > 0])
        alike = FactorGraph(factor)
        return Scored(energy_ratio(table, alike, complete_graph(table.n_samples) - alike))
    factor = factor * table.masses[:, None]

    def alike_and_different(block: Block) -> tuple[Floats, Floats]:
        # The rows of P sum to one, so 1 − P Pᵀ contains exactly the products of different classes.
        # This does not hold for the balanced factor. Both energies, which are those of FactorGraph
        # and CrossGraph, follow from the same moments.
        found = moments(block, factor)
        return weighted_sum(found.mass, found.scatter), 0.5 * cross_energy(found, found)

    return Scored(quotients(table, alike_and_different, wide=True))

"""Scores for a continuous target that is known for some or all samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve._base.array_types import Floats
from graphsieve._base.errors import InputError, warn
from graphsieve._base.parameters import remedy
from graphsieve.graphs.builders import Neighborhood, partly_known_target_graph, target_graph
from graphsieve.graphs.ratio import divided, laplacian_ratio, per_column
from graphsieve.scores.method import Scored, score
from graphsieve.supervision.parsing import all_known
from graphsieve.supervision.value import Supervision
from graphsieve.table.blocks import Block
from graphsieve.table.centered import feature_basis
from graphsieve.table.columns import Table
from graphsieve.table.scaling import standardized_target
from graphsieve.table.sums import dense_weighting, moments, projection

LEAST_SIZE = 1e-9  # relative size of a direction of several targets that is more than rounding


def supervised_laplacian_score(
    X: Any, y: Any, *, n_neighbors: int = 5, bandwidth: float = 1.0
) -> Floats:
    """Compute the supervised Laplacian score (SLS) of each feature.

    The score compares the variation of a feature between samples with similar target values with
    its total variation. It is E(f) / spread(f), as in `laplacian_score`, but on the graph of
    nearest neighbours in the target, with the weights exp(−(y_i − y_j)²/bandwidth). All samples
    that tie as nearest neighbours are linked. Distances that differ only by rounding are ties, such
    as 0.3 − 0.2 and 0.2 − 0.1. Small is good. Samples without a target value are
    left out. A feature that is constant on the other samples gets NaN.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features.
    y : array of shape (n_samples,) or (n_samples, n_targets)
        The continuous target; NaN where unknown. Several targets are each divided by their standard
        deviation, and (y_i − y_j)² is the mean over them. Samples with an unknown target count as
        unlabelled.
    n_neighbors : int
        Number of neighbours in the target per sample.
    bandwidth : float
        Bandwidth t of the heat kernel, in squared units of the target. The paper first scales the
        target to unit variance.

    Returns
    -------
    scores : array of shape (n_features,)
        The score of each feature.

    References
    ----------
    Doquire, Verleysen (2013), A graph Laplacian based approach to semi-supervised feature selection
    for regression problems, Eq. 3–4.

    Examples
    --------
    The target values 1, 2, 3 give the edges 1–2 and 2–3, with equal weights. The first column
    increases with the target:

    >>> supervised_laplacian_score([[1, 0], [2, 5], [3, 0]], [1.0, 2.0, 3.0], n_neighbors=1)
    array([1., 2.])
    """
    return score(
        supervised_laplacian,
        X,
        Supervision.from_targets(y),
        y=y,
        n_neighbors=n_neighbors,
        bandwidth=bandwidth,
    )


def supervised_laplacian(
    table: Table, known: Supervision, *, n_neighbors: int, bandwidth: float | None
) -> Scored:
    near, values = _on_known_targets(table, known_targets(known), n_neighbors, bandwidth)
    return Scored(values, near.n_neighbors, near.bandwidth)


def _on_known_targets(
    table: Table, target: Floats, n_neighbors: int, bandwidth: float | None
) -> tuple[Neighborhood, Floats]:
    labeled = np.flatnonzero(all_known(target))
    if len(labeled) < 2:
        raise InputError(f"at least 2 samples need a known target, got {len(labeled)}.")
    near = target_graph(
        target if len(labeled) == len(target) else target[labeled], n_neighbors, bandwidth
    )
    return near, laplacian_ratio(rows_of(table, labeled), near.graph)


def semi_supervised_laplacian_score(
    X: Any,
    y: Any,
    *,
    n_neighbors: int = 30,
    n_neighbors_supervised: int = 5,
    bandwidth: float = 1.0,
    label_weight: float = 5.0,
    neighbors: Any = "auto",
) -> Floats:
    """Compute the semi-supervised Laplacian score (SSLS) of each feature.

    The score is the product of two factors. The first is E(f) / spread(f), as in
    `laplacian_score`, on a graph of all samples. In this graph, d_ij² is (y_i − y_j)² if both
    target values are known, and the mean squared difference of the features otherwise. The weights
    are exp(−d_ij²/bandwidth), multiplied by `label_weight` if both target values are known. The
    second factor is the supervised Laplacian score on the samples with a known target value. It is
    left out if fewer than two values are known. Small is good. A feature that is constant, on all
    samples or on those with a known target value, gets NaN.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features. They are not rescaled. The paper first scales the features and the target to
        unit variance.
    y : array of shape (n_samples,) or (n_samples, n_targets)
        The continuous target; NaN where unknown. Several targets are each divided by their standard
        deviation, and (y_i − y_j)² is the mean over them. Samples with an unknown target count as
        unlabelled.
    n_neighbors, n_neighbors_supervised : int
        Number of neighbours per sample in the graph of all samples, and in the target for the
        supervised factor.
    bandwidth : float
        Bandwidth t of both heat kernels.
    label_weight : float
        Factor C for the weight of an edge between two samples with known target values.
    neighbors : {"auto", "exact", "approximate"} or transformer
        Method of the neighbour search, as in `laplacian_score`, for samples without a target value.
        The neighbours of the other samples are always exact.

    Returns
    -------
    scores : array of shape (n_features,)
        The score of each feature.

    References
    ----------
    Doquire, Verleysen (2013), as for `supervised_laplacian_score`, Eq. 10–12.

    Examples
    --------
    >>> X = [[0, 0], [0, 1], [9, 0], [9, 1]]
    >>> y = [1.0, 1.0, float("nan"), 5.0]
    >>> scores = semi_supervised_laplacian_score(X, y, n_neighbors=1, n_neighbors_supervised=1)
    >>> bool(scores[0] < scores[1])  # the first column is associated with the target
    True
    """
    return score(
        semi_supervised_laplacian,
        X,
        Supervision.from_targets(y),
        y=y,
        neighbors=neighbors,
        n_neighbors=n_neighbors,
        n_neighbors_supervised=n_neighbors_supervised,
        bandwidth=bandwidth,
        label_weight=label_weight,
    )


def semi_supervised_laplacian(
    table: Table,
    known: Supervision,
    *,
    n_neighbors: int,
    n_neighbors_supervised: int,
    bandwidth: float | None,
    label_weight: float,
) -> Scored:
    target = known_targets(known)
    near = partly_known_target_graph(table, target, n_neighbors, bandwidth, label_weight)
    values = laplacian_ratio(table, near.graph)
    n_labeled = int(all_known(target).sum())
    if n_labeled < 2:
        warn(f"{n_labeled} target values are known; the supervised factor needs 2 and is left out.")
    else:
        # A given bandwidth applies to both kernels, as in the paper. Otherwise the bandwidth of
        # each graph is estimated from the edges of that graph.
        with np.errstate(invalid="ignore"):
            values = values * _on_known_targets(table, target, n_neighbors_supervised, bandwidth)[1]
    return Scored(values, near.n_neighbors, near.bandwidth)


def pearson_score(X: Any, y: Any) -> Floats:
    """Compute the absolute Pearson correlation of each feature with the target.

    The score is |Σ (f_i − f̄)(y_i − ȳ)| / √(Σ (f_i − f̄)² · Σ (y_i − ȳ)²). Large is good. Samples
    without a target value are left out. A feature that is constant on the other samples gets NaN.
    For a category, the score is the multiple correlation with its indicators.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features.
    y : array of shape (n_samples,) or (n_samples, n_targets)
        The continuous target; NaN where unknown. With several targets, the score is the multiple
        correlation of the feature with all of them, on the samples where all are known.

    Returns
    -------
    scores : array of shape (n_features,)
        The absolute correlation of each feature, from 0 to 1.

    References
    ----------
    Pearson (1895), Note on regression and inheritance in the case of two parents.

    Examples
    --------
    >>> pearson_score([[1, 1], [2, -1], [3, 1]], [2.0, 4.0, 6.0]).round(6)
    array([1., 0.])
    """
    return score(pearson, X, Supervision.from_targets(y), y=y)


def pearson(table: Table, known: Supervision) -> Scored:
    target = numeric_target(known)
    labeled = np.flatnonzero(all_known(target))
    if len(labeled) < 2:
        raise InputError(f"at least 2 samples need a known target, got {len(labeled)}.")
    if target.ndim == 2:
        return Scored(_multiple_correlations(rows_of(table, labeled), target[labeled]))
    part = rows_of(table, labeled)
    if not part.masses.any():
        return Scored(np.full(table.n_features, np.nan))
    exponent = int(np.frexp(np.abs(target[labeled]).max())[1])
    centered = np.ldexp(target[labeled], -exponent)
    centered = centered - centered[0]  # A constant target becomes exactly zero.
    centered = centered - np.average(centered, weights=part.weights)
    of_all, weighted = dense_weighting(part.masses), part.masses * centered
    norm = np.sqrt(float(centered @ weighted))

    def absolute_correlation(block: Block) -> Floats:
        size = np.sqrt(moments(block, of_all).scatter[0])
        # Rounding error must not raise a perfect correlation above 1.
        return np.minimum(divided(np.abs(projection(block, weighted)), size * norm), 1.0)

    values = per_column(part, absolute_correlation)
    if part.features is not None:
        values = values[part.features.starts[:-1]]
        for feature in part.features.several:
            along = feature_basis(part, int(feature)).T @ (np.sqrt(part.masses) * centered)
            size = float(np.sqrt(along @ along))
            values[feature] = min(1.0, size / norm) if norm and len(along) else np.nan
    return Scored(values)


def _multiple_correlations(table: Table, targets: Floats) -> Floats:
    """Compute the multiple correlation of each feature with several targets.

    For a feature of several columns, it is the largest canonical correlation.
    """
    basis, root = target_basis(targets, table.weights), np.sqrt(table.masses)
    of_all = dense_weighting(table.masses)

    def explained(block: Block) -> Floats:
        along = np.stack([projection(block, root * direction) for direction in basis.T])
        squares = np.einsum("ij,ij->j", along, along)
        return np.minimum(np.sqrt(divided(squares, moments(block, of_all).scatter[0])), 1.0)

    values = per_column(table, explained) if basis.shape[1] else np.full(table.n_columns, np.nan)
    if table.features is not None:
        values = values[table.features.starts[:-1]]
        for feature in table.features.several:
            along = feature_basis(table, int(feature)).T @ basis
            values[feature] = min(1.0, float(np.linalg.norm(along, 2))) if along.size else np.nan
    return values


def target_basis(targets: Floats, masses: Floats | None = None) -> Floats:
    """Return an orthonormal basis of several targets as deviations from their means.

    The deviations are multiplied by the square roots of the masses of the samples, if any.
    Directions in which only rounding error is left are omitted.
    """
    scaled = standardized_target(targets)
    scaled = scaled - scaled[0]  # A constant target becomes exactly zero.
    scaled = scaled - np.average(scaled, axis=0, weights=masses)
    if masses is not None:
        scaled = scaled * np.sqrt(masses / masses.mean())[:, None]
    directions, sizes, _ = np.linalg.svd(scaled, full_matrices=False)
    return np.asarray(directions[:, sizes > LEAST_SIZE * max(1.0, sizes[0])])


def known_targets(known: Supervision) -> Floats:
    if known.targets is None:
        raise InputError("a continuous target is needed, but none was given.")
    # Several targets have no common unit, so they are always scaled.
    return known.targets if known.targets.ndim == 1 else standardized_target(known.targets)


def refuse_several_targets(known: Supervision, what: str) -> None:
    """Refuse several targets where only one has a meaning."""
    if known.n_targets > 1:
        raise InputError(f"{what} needs one target, got {known.n_targets}; pass one of them.")


def numeric_target(known: Supervision) -> Floats:
    """Return the continuous target, or two classes as 0 and 1."""
    if known.targets is not None:
        return known.targets
    if known.labels is None or known.n_known_classes > 2:
        raise InputError(
            "a correlation needs a continuous target or 2 classes, got "
            f"{known.n_known_classes} classes; try ",
            remedy("method", "fisher"),
            ".",
        )
    return np.where(known.labels >= 0, known.labels, np.nan)


def rows_of(table: Table, rows: NDArray[Any]) -> Table:
    """Return the table of the given rows, or the table itself if these are all rows."""
    return table if len(rows) == table.n_samples else table.take(rows)

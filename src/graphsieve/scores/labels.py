"""Scores for class labels, known for all samples or for some (−1, None or NaN where unknown)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import rankdata

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.errors import InputError, warn
from graphsieve._kernels.column_sums import CACHED_ELEMENTS, weighted_sum
from graphsieve.graphs.builders import apart_graph, capped_neighbors, group_graph, neighbor_graph
from graphsieve.graphs.neighbors import out_of_core
from graphsieve.graphs.neighbors.manhattan import nearest_in_groups
from graphsieve.graphs.ratio import divided, laplacian_ratio, per_feature, ratio
from graphsieve.scores.information import information_with_classes, information_with_target
from graphsieve.scores.method import Scored, score
from graphsieve.scores.targets import rows_of
from graphsieve.supervision.value import Supervision
from graphsieve.table.blocks import Block
from graphsieve.table.columns import Table
from graphsieve.table.stored.stored_table import StoredTable
from graphsieve.table.sums import dense_weighting, edge_sum, group_weightings, means, moments

DISTANCE_GRID = 2.0**-40  # of the largest possible distance: what lies nearer together is a tie
SIGN_TOLERANCE = 1e-12  # of a feature's range: values this near the mean count as the mean


def fisher_score(X: Any, y: Any) -> Floats:
    """Fisher score: how far the class means lie apart, relative to the variation inside the
    classes.

    Σ_c n_c (μ_c − μ)² / Σ_c n_c σ_c². Large is good. Unlabelled samples are left out. A feature
    that is constant there is NaN; one that is constant inside every class but not between them is
    infinite.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features.
    y : array of shape (n_samples,)
        Class labels.

    Returns
    -------
    array of shape (n_features,)

    References
    ----------
    Duda, Hart, Stork (2000), Pattern classification.

    Examples
    --------
    Class means 1 and 5 around 3, so 2·2² + 2·2²; inside the classes 4 · 1²:

    >>> fisher_score([[0], [2], [4], [6]], ["a", "a", "b", "b"])
    array([4.])
    """
    return score(fisher, X, Supervision.from_labels(y))


def fisher(table: Table, known: Supervision) -> Scored:
    table, codes, n_classes = labeled_part(table, known)
    by_class = group_weightings(codes, n_classes)

    def between_over_within(block: Block) -> Floats:
        classes = moments(block, by_class)
        # Relative to one of them, so that equal means give exactly zero.
        mean = (
            classes.mean[0]
            + weighted_sum(classes.mass, classes.mean - classes.mean[0]) / table.n_samples
        )
        between = weighted_sum(classes.mass, (classes.mean - mean) ** 2)
        return divided(between, weighted_sum(np.ones(n_classes), classes.scatter))

    return Scored(per_feature(table, between_over_within, wide=True))


def mutual_information_score(X: Any, y: Any, *, n_neighbors: int = 3) -> Floats:
    """Mutual information in nats of each feature with the classes or with a continuous target.
    Large is good.

    Estimated from nearest neighbours (Kraskov for a target, Ross for classes). A continuous target
    enters by its ranks, so that an outlier cannot ruin the estimate. Samples without a label or
    target are left out. A feature that is constant there is NaN.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features.
    y : array of shape (n_samples,)
        Class labels or a continuous target, told apart as in `Supervision.from_y`.
    n_neighbors : int
        Neighbours of the estimator.

    Returns
    -------
    array of shape (n_features,)

    References
    ----------
    Kraskov, Stögbauer, Grassberger (2004), Estimating mutual information; Ross (2014), Mutual
    information between discrete and continuous data sets.

    Examples
    --------
    >>> X = [[0.1, 0.3], [0.2, 9.0], [0.3, 5.1], [7.1, 0.2], [7.2, 8.0], [7.3, 5.0]]
    >>> scores = mutual_information_score(X, [0, 0, 0, 1, 1, 1], n_neighbors=1)
    >>> bool(scores[0] > scores[1])
    True
    """
    return score(mutual_information, X, Supervision.from_y(y), n_neighbors=n_neighbors)


def mutual_information(table: Table, known: Supervision, *, n_neighbors: int) -> Scored:
    if known.targets is not None:
        labeled = np.flatnonzero(~np.isnan(known.targets))
        if len(labeled) < 2:
            raise InputError(f"at least 2 samples need a known target, got {len(labeled)}.")
        table, ranks = rows_of(table, labeled), rankdata(known.targets[labeled])
        k = capped_neighbors(n_neighbors, table.n_samples)
        return _information(table, lambda f: information_with_target(f, ranks, k), k)
    table, codes, _ = labeled_part(table, known)
    k = capped_neighbors(n_neighbors, table.n_samples)
    return _information(table, lambda f: information_with_classes(f, codes, k), k)


def _information(table: Table, of_feature: Any, n_neighbors: int) -> Scored:
    def value(block: Block) -> Floats:
        result = np.full(block.width, np.nan)
        for part, values in block.dense_parts():
            for place in np.flatnonzero(~block.constant[part]):
                result[part.start + place] = of_feature(np.ascontiguousarray(values[:, place]))
        return result

    return Scored(per_feature(table, value), n_neighbors)


def relieff_score(X: Any, y: Any, *, n_neighbors: int = 10) -> Floats:
    """ReliefF: how much more a feature differs to near samples of other classes than to near
    samples of the same class.

    The mean over all samples of |f_i − f_j| / range(f) to the nearest misses of every other class
    C, weighted by P(C) / (1 − P(own class)), less the same to the nearest hits. Near is what has a
    small sum of |f_i − f_j| / range(f). Large is good. Unlabelled samples are left out. A feature
    that is constant there is NaN.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features.
    y : array of shape (n_samples,)
        Class labels.
    n_neighbors : int
        Hits, and misses of each other class; fewer where a class has fewer.

    Returns
    -------
    array of shape (n_features,)

    References
    ----------
    Robnik-Šikonja, Kononenko (2003), Theoretical and empirical analysis of ReliefF and RReliefF.

    Examples
    --------
    >>> relieff_score([[0, 0], [0, 1], [9, 0], [9, 1]], [0, 0, 1, 1], n_neighbors=1)
    array([ 1., -1.])
    """
    return score(relieff, X, Supervision.from_labels(y), n_neighbors=n_neighbors)


def relieff(table: Table, known: Supervision, *, n_neighbors: int) -> Scored:
    table, codes, n_classes = labeled_part(table, known)
    k = capped_neighbors(n_neighbors, table.n_samples)
    order = np.argsort(codes, kind="stable")
    begin = np.searchsorted(codes[order], np.arange(n_classes + 1))
    near = _near_by_class(table, order, begin, k)

    def value(block: Block) -> Floats:
        total = np.zeros(block.width)
        for edges in _hits_and_misses(near, order, begin):
            total += edge_sum(block, *edges, power=1)
        return divided(total, block.range)

    # What is stored is read once for the edges of all classes, not once for each.
    return Scored(per_feature(table, value, wide=not isinstance(table, StoredTable)), k)


def _near_by_class(
    table: Table, order: Integers, begin: Integers, n_neighbors: int
) -> list[NDArray[np.int32]]:
    """The nearest of each class, as places in `order`."""
    grid = _distance_grid(table)
    if isinstance(table, StoredTable):
        return out_of_core.nearest_in_groups(
            table.on_unit_ranges(), order, begin, n_neighbors, grid
        )
    return nearest_in_groups(_on_unit_ranges(table, order), begin, n_neighbors, grid)


def _on_unit_ranges(table: Table, order: Integers) -> Any:
    """The samples in the given order, on features whose range is 1; a column without zeros loses
    its offset first.

    Equal steps divided by a range such as 3 differ in their last bit; on the grid of distances they
    are equal again.
    """
    if table.is_sparse:
        return sp.csr_array(sp.hstack([_sparse_on_unit_ranges(block) for block in table.blocks()]))[
            order
        ]
    unit = np.empty((table.n_samples, table.n_features))
    for block in table.wide_blocks():
        numbers, size = block.numbers, block.range
        size[size == 0] = 1.0
        step = max(1, CACHED_ELEMENTS // block.width)
        for start in range(0, len(order), step):
            part = slice(start, start + step)
            np.divide(numbers.values(order[part]), size, out=unit[part, block.start : block.stop])
    return unit


def _sparse_on_unit_ranges(block: Block) -> Any:
    values = sp.csc_array(block.values)
    size = np.where(block.range > 0, block.range, 1.0)
    data = values.data / np.repeat(size, np.diff(values.indptr))
    return sp.csc_array((data, values.indices, values.indptr), shape=values.shape)


def _distance_grid(table: Table) -> float:
    """A power of two, so that sums of tenths and thirds do not lie halfway between two steps,
    where rounding would choose.
    """
    return float(np.ldexp(DISTANCE_GRID, (table.n_features - 1).bit_length()))


def _hits_and_misses(
    near: list[NDArray[np.int32]], order: Integers, begin: Integers
) -> Iterator[tuple[Integers, Integers, Floats]]:
    """The pairs (sample, neighbour) of ReliefF with their signed weights, class by class of the
    neighbours.

    `near` has places in `order`, where class c takes ``begin[c]:begin[c + 1]``; −1 where a class
    has no further neighbour.
    """
    n_samples, sizes = len(order), np.diff(begin)
    share = sizes / n_samples
    for code, places in enumerate(near):
        own = slice(begin[code], begin[code + 1])
        weight = np.repeat(share[code] / (1 - share), sizes)
        weight[own] = -1.0
        there = places >= 0
        count = there.sum(axis=1)
        weight /= np.maximum(count, 1) * n_samples
        yield np.repeat(order, count), order[places[there]], np.repeat(weight, count)


def sselect_score(
    X: Any,
    y: Any,
    *,
    n_neighbors: int = 10,
    bandwidth: float = 1.0,
    trade_off: float = 0.1,
    neighbors: Any = "auto",
) -> Floats:
    """sSelect: the Laplacian score, mixed with how badly the sign of the centred feature agrees
    with the known labels.

    trade_off · LS + (1 − trade_off) · (1 − NMI), where NMI is the mutual information of the labels
    and the sign of f − μ, over the larger of their entropies, on the labelled samples; μ is the
    degree-weighted mean of the neighbour graph. Small is good. More than two classes are our
    extension: the same NMI. A constant feature is NaN.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features.
    y : array of shape (n_samples,)
        Class labels; −1, None or NaN where unknown.
    n_neighbors, bandwidth : int, float
        As in `laplacian_score`.
    trade_off : float
        The share of the Laplacian score, from 0 to 1.
    neighbors : {"auto", "exact", "approximate"} or transformer
        As in `laplacian_score`.

    Returns
    -------
    array of shape (n_features,)

    References
    ----------
    Zhao, Liu (2007), Semi-supervised feature selection via spectral analysis, in the form usually
    quoted.

    Examples
    --------
    The second column has a Laplacian score of 2 and signs −, +, − against labels 0, 0, 1. Both
    entropies are 0.6365, the joint one is ln 3, so NMI is (2 · 0.6365 − 1.0986) / 0.6365 = 0.274,
    and the score 0.1 · 2 + 0.9 · 0.726:

    >>> sselect_score([[0, 0], [0, 1], [9, 0], [9, 1]], [0, 0, 1, -1], n_neighbors=1).round(2)
    array([0.  , 0.85])
    """
    known = Supervision.from_labels(y)
    return score(
        sselect,
        X,
        known,
        neighbors=neighbors,
        n_neighbors=n_neighbors,
        bandwidth=bandwidth,
        trade_off=trade_off,
    )


def sselect(
    table: Table, known: Supervision, *, n_neighbors: int, bandwidth: float | None, trade_off: float
) -> Scored:
    near = neighbor_graph(table, n_neighbors, bandwidth)
    smooth = laplacian_ratio(table, near.graph)
    codes = class_codes(known)
    labeled = np.flatnonzero(codes >= 0)
    if known.n_known_classes < 2:
        warn(
            f"{known.n_known_classes} known classes say nothing about features; this is the "
            "Laplacian score alone."
        )
        return Scored(smooth, near.n_neighbors, near.bandwidth)
    by_degree = dense_weighting(near.graph.degree())

    def disagreement(block: Block) -> Floats:
        # Relative to the mean, with the tolerance of its side: rounding must not tell equal values
        # apart.
        border = means(block, by_degree)[0] - SIGN_TOLERANCE * block.range
        parts = [values[labeled] >= border[part] for part, values in block.dense_parts()]
        return np.concatenate(
            [1.0 - _normalized_information(above, codes[labeled]) for above in parts]
        )

    values = trade_off * smooth + (1 - trade_off) * per_feature(table, disagreement)
    return Scored(values, near.n_neighbors, near.bandwidth)


def _normalized_information(above: Booleans, codes: Integers) -> Floats:
    """Mutual information of each column of `above` with the classes, over the larger entropy."""
    classes = np.unique(codes)
    n = len(codes)
    high = np.stack([above[codes == code].sum(axis=0) for code in classes]) / n
    low = np.stack([(~above[codes == code]).sum(axis=0) for code in classes]) / n
    by_class = _entropy(np.array([(codes == code).mean() for code in classes])[:, None])
    by_side = _entropy(np.stack([above.sum(axis=0), (~above).sum(axis=0)]) / n)
    information = by_class + by_side - _entropy(np.concatenate([high, low]))
    return np.maximum(information, 0.0) / np.maximum(by_class, by_side)


def _entropy(shares: Floats) -> Floats:
    return -weighted_sum(np.ones(len(shares)), shares * np.log(np.where(shares > 0, shares, 1.0)))


def lsdf_score(
    X: Any,
    y: Any,
    *,
    n_neighbors: int = 5,
    same_class_weight: float = 100.0,
    neighbors: Any = "auto",
) -> Floats:
    """Locality sensitive discriminant feature (LSDF): variation between classes, relative to that
    inside and among neighbours.

    E(f) over all pairs of different known labels, over E(f) on the graph that weighs pairs of equal
    label by `same_class_weight` and nearest neighbours of which at least one is unlabelled by 1.
    Large is good. A constant feature is NaN.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features.
    y : array of shape (n_samples,)
        Class labels; −1, None or NaN where unknown.
    n_neighbors : int
        Neighbours in X.
    same_class_weight : float
        The γ of the paper.
    neighbors : {"auto", "exact", "approximate"} or transformer
        As in `laplacian_score`.

    Returns
    -------
    array of shape (n_features,)

    References
    ----------
    Zhao, Lu, He (2008), Locality sensitive semi-supervised feature selection.

    Examples
    --------
    >>> lsdf_score([[0], [1], [4]], [0, 0, 1], n_neighbors=1)  # (4² + 3²) / (100 · 1²)
    array([0.25])
    """
    known = Supervision.from_labels(y)
    return score(
        lsdf,
        X,
        known,
        neighbors=neighbors,
        n_neighbors=n_neighbors,
        same_class_weight=same_class_weight,
    )


def lsdf(table: Table, known: Supervision, *, n_neighbors: int, same_class_weight: float) -> Scored:
    codes = class_codes(known)
    need_two_classes(known)
    # An infinite bandwidth weighs all neighbours by 1.
    near = neighbor_graph(table, n_neighbors, np.inf, not_between=codes)
    alike = group_graph(codes, same_class_weight) + near.graph
    return Scored(
        ratio(table, apart_graph(codes).block_energy, alike.block_energy), near.n_neighbors
    )


def class_codes(known: Supervision) -> Integers:
    """The class codes of all samples, −1 where unknown."""
    if known.labels is None:
        raise InputError("class labels are needed, but none were given.")
    return known.labels


def labeled_part(table: Table, known: Supervision) -> tuple[Table, Integers, int]:
    """The labelled rows, their codes renumbered without gaps, and the number of classes, which
    must be two or more.
    """
    codes = class_codes(known)
    need_two_classes(known)
    labeled = np.flatnonzero(codes >= 0)
    present = np.bincount(codes[labeled]) > 0
    renumbered = (np.cumsum(present) - 1)[codes[labeled]]
    return rows_of(table, labeled), renumbered, int(present.sum())


def need_two_classes(known: Supervision) -> None:
    if known.n_known_classes < 2:
        raise InputError(
            f"labels of at least 2 classes are needed, got {known.n_known_classes}; with fewer, "
            "nothing can be told apart."
        )

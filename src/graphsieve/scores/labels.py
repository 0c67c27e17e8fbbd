"""Scores for class labels. Unlabelled samples have the label −1, None or NaN."""

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
from graphsieve.graphs.neighbors.strategy import once
from graphsieve.graphs.ratio import (
    divided,
    energy_ratio,
    laplacian_ratio,
    on_samples,
    per_column,
    quotients,
)
from graphsieve.scores.information import (
    information_of_codes,
    information_with_classes,
    information_with_target,
)
from graphsieve.scores.method import Scored, refuse_several_columns, score
from graphsieve.scores.targets import refuse_several_targets, rows_of
from graphsieve.supervision.value import Supervision
from graphsieve.table.blocks import Block
from graphsieve.table.centered import level_codes
from graphsieve.table.columns import MemoryTable, Table
from graphsieve.table.gaps import RowsWithGaps
from graphsieve.table.stored.stored_table import StoredTable
from graphsieve.table.sums import dense_weighting, edge_sum, group_weightings, means, moments

# Fraction of the largest possible distance. Distances that differ by less are ties.
DISTANCE_GRID = 2.0**-40
# Fraction of a feature's range. Values this close to the mean count as equal to it.
SIGN_TOLERANCE = 1e-12


def fisher_score(X: Any, y: Any) -> Floats:
    """Compute the Fisher score of each feature.

    The score compares the variation between the class means with the variation within the classes.
    It is Σ_c n_c (μ_c − μ)² / Σ_c n_c σ_c², where class c has n_c samples, the mean μ_c and the
    variance σ_c². Large is good. Unlabelled samples are left out. A feature that is constant on the
    labelled samples gets NaN. A feature that is constant within each class but differs between
    classes gets infinity.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features.
    y : array of shape (n_samples,)
        Class labels; −1, None or NaN for unlabelled samples.

    Returns
    -------
    scores : array of shape (n_features,)
        The score of each feature.

    References
    ----------
    Duda, Hart, Stork (2000), Pattern classification.

    Examples
    --------
    The class means are 1 and 5 and the overall mean is 3. The variation between the classes is
    2·2² + 2·2² = 16, and the variation within them is 4·1² = 4:

    >>> fisher_score([[0], [2], [4], [6]], ["a", "a", "b", "b"])
    array([4.])
    """
    return score(fisher, X, Supervision.from_labels(y), y=y)


def fisher(table: Table, known: Supervision) -> Scored:
    table, codes, n_classes = labeled_part(table, known)
    by_class = group_weightings(codes, n_classes, table.weights)

    def between_and_within(block: Block) -> tuple[Floats, Floats]:
        classes = moments(block, by_class)
        # Computed relative to the first class mean, so that equal means give exactly zero.
        mean = classes.mean[0] + divided(
            weighted_sum(classes.mass, classes.mean - classes.mean[0]), classes.mass.sum()
        )
        between = weighted_sum(classes.mass, (classes.mean - mean) ** 2)
        return between, weighted_sum(np.ones(n_classes), classes.scatter)

    return Scored(quotients(table, between_and_within, wide=True))


def mutual_information_score(X: Any, y: Any, *, n_neighbors: int = 3) -> Floats:
    """Estimate the mutual information of each feature with the classes or a continuous target.

    The estimate in nats is based on nearest neighbours. It uses the estimator of Kraskov et al. for
    a target and that of Ross for classes. A continuous target is replaced by its ranks, so a single
    outlier has little influence. For a category, the estimate uses the frequencies of its levels in
    each class, or the estimator of Ross for a target. Large is good. Samples without a label or
    target are left out. A feature that is constant on the other samples gets NaN.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features.
    y : array of shape (n_samples,)
        Class labels or a continuous target, distinguished as in `Supervision.from_y`.
    n_neighbors : int
        Number of neighbours for the estimator.

    Returns
    -------
    scores : array of shape (n_features,)
        The mutual information of each feature, in nats.

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
    return score(mutual_information, X, Supervision.from_y(y), y=y, n_neighbors=n_neighbors)


def mutual_information(table: Table, known: Supervision, *, n_neighbors: int) -> Scored:
    if table.weights is not None and not table.weights.all():
        # Samples without mass must not count as neighbours along the feature.
        rows = np.flatnonzero(table.weights)
        table, known = rows_of(table, rows), known[rows]
        if known.n_labeled < 2 or (known.targets is None and known.n_known_classes < 2):
            return Scored(np.full(table.n_features, np.nan), n_neighbors)
    if known.targets is not None:
        refuse_several_targets(known, "mutual information")
        labeled = np.flatnonzero(~np.isnan(known.targets))
        if len(labeled) < 2:
            raise InputError(f"at least 2 samples need a known target, got {len(labeled)}.")
        table, ranks = rows_of(table, labeled), rankdata(known.targets[labeled])
        k = capped_neighbors(n_neighbors, table.n_samples)
        return _information(
            table,
            lambda f: information_with_target(f, ranks, k, table.weights),
            lambda levels: information_with_classes(ranks, levels, k, table.weights),
            k,
        )
    table, codes, _ = labeled_part(table, known)
    k = capped_neighbors(n_neighbors, table.n_samples)
    return _information(
        table,
        lambda f: information_with_classes(f, codes, k, table.weights),
        lambda levels: information_of_codes(levels, codes, table.weights),
        k,
    )


def _information(table: Table, of_numbers: Any, of_category: Any, n_neighbors: int) -> Scored:
    features = table.features
    if features is None:
        return Scored(_per_column_of_numbers(table, of_numbers), n_neighbors)
    refuse_several_columns(
        table, "mutual_information", "the distances along a feature", categories=True
    )
    found = np.full(len(features), np.nan)
    numeric = np.flatnonzero(~features.categorical)
    if len(numeric):
        found[numeric] = _per_column_of_numbers(table.take_features(numeric), of_numbers)
    for feature in np.flatnonzero(features.categorical):
        levels = level_codes(table, int(feature))
        if len(np.unique(levels)) > 1:
            found[feature] = of_category(levels)
    return Scored(found, n_neighbors)


def _per_column_of_numbers(table: Table, of_numbers: Any) -> Floats:
    def value(block: Block) -> Floats:
        result = np.full(block.width, np.nan)
        for part, values in block.dense_parts():
            for place in np.flatnonzero(~block.constant[part]):
                result[part.start + place] = of_numbers(np.ascontiguousarray(values[:, place]))
        return result

    return per_column(table, value)


def relieff_score(X: Any, y: Any, *, n_neighbors: int = 10) -> Floats:
    """Compute the ReliefF score of each feature.

    The score compares two differences of the feature: to the nearest samples of other classes
    (misses), and to the nearest samples of the same class (hits). A difference is
    |f_i − f_j| / range(f), or 0 or 1 for a category. The score is the mean difference to the misses
    minus the mean difference to the hits, averaged over all samples. The misses of class C have the
    weight P(C) / (1 − P(own class)). The nearest samples have the smallest sum of differences over
    all features. Large is good. Unlabelled samples are left out. A feature that is constant on the
    labelled samples gets NaN.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features.
    y : array of shape (n_samples,)
        Class labels; −1, None or NaN for unlabelled samples.
    n_neighbors : int
        Number of hits per sample, and number of misses per sample and other class. Classes with
        fewer samples contribute all that they have.

    Returns
    -------
    scores : array of shape (n_features,)
        The score of each feature.

    References
    ----------
    Robnik-Šikonja, Kononenko (2003), Theoretical and empirical analysis of ReliefF and RReliefF.

    Examples
    --------
    >>> relieff_score([[0, 0], [0, 1], [9, 0], [9, 1]], [0, 0, 1, 1], n_neighbors=1)
    array([ 1., -1.])
    """
    return score(relieff, X, Supervision.from_labels(y), y=y, n_neighbors=n_neighbors)


def relieff(table: Table, known: Supervision, *, n_neighbors: int) -> Scored:
    labeled, _, _ = labeled_part(table, known)
    k = capped_neighbors(n_neighbors, labeled.n_samples)
    order, begin, near = once(
        table, ("relieff", k), lambda whole: _near_by_class(*labeled_part(whole, known), k)
    )
    table = labeled

    def value(block: Block) -> Floats:
        total = np.zeros(block.width)
        for edges in _hits_and_misses(near, order, begin, table.masses):
            total += edge_sum(block, *edges, power=1)
        return divided(total, block.range)

    # A stored table is read once for the edges of all classes, not once per class.
    values = per_column(table, value, wide=not isinstance(table, StoredTable))
    if table.features is not None:
        constant = np.isnan(values)
        weighted = table.features.sums(np.where(constant, 0.0, values * _column_weights(table)))
        values = np.where(table.features.sums(~constant * 1) > 0, weighted, np.nan)
    return Scored(values, k)


def _column_weights(table: Table) -> Floats:
    """Return the weight of each column, so that a feature differs by 1 at most.

    The indicators of a category differ in two columns, or in none. For a feature group, the
    differences of the columns that vary are averaged.
    """
    features = table.features
    if features is None:
        return np.ones(table.n_columns)
    varies = ~np.concatenate([block.constant for block in table.wide_blocks()])
    mean = 1 / np.maximum(1, features.sums(varies * 1))
    of_category = np.where(features.sizes > 1, 0.5, 1.0)
    return np.asarray(np.where(features.categorical, of_category, mean)[features.owner])


def _near_by_class(
    table: Table, codes: Integers, n_classes: int, n_neighbors: int
) -> tuple[Integers, Integers, list[NDArray[np.int32]]]:
    """Return the samples sorted by class, the start of each class, and its nearest samples.

    The nearest samples of a class are positions in the sorted order.
    """
    order, grid = np.argsort(codes, kind="stable"), _distance_grid(table)
    begin = np.searchsorted(codes[order], np.arange(n_classes + 1))
    if isinstance(table, StoredTable):
        rows = table.on_unit_ranges(_column_weights(table))
        return order, begin, out_of_core.nearest_in_groups(rows, order, begin, n_neighbors, grid)
    if table.gaps is not None and isinstance(table, MemoryTable):
        table = table.dense()
    units: Any = _on_unit_ranges(table, order)
    if table.gaps is not None:
        units = RowsWithGaps(units, ~table.gaps.toarray()[order], table.features)
    return order, begin, nearest_in_groups(units, begin, n_neighbors, grid)


def _on_unit_ranges(table: Table, order: Integers) -> Any:
    """Return the samples in the given order, with every feature scaled to the range 1.

    Differences of a feature of several columns are at most 1 as well. A column without zeros is
    shifted first. Equal steps divided by a range such as 3 may differ in
    their last bit. The distance grid makes them equal again.
    """
    weights = _column_weights(table)
    if table.is_sparse:
        parts = [_sparse_on_unit_ranges(block, weights) for block in table.blocks()]
        return sp.csr_array(sp.hstack(parts))[order]
    unit = np.empty((table.n_samples, table.n_columns))
    for block in table.wide_blocks():
        numbers, size = block.numbers, block.range / weights[block.start : block.stop]
        size[size == 0] = 1.0
        step = max(1, CACHED_ELEMENTS // block.width)
        for start in range(0, len(order), step):
            part = slice(start, start + step)
            np.divide(numbers.values(order[part]), size, out=unit[part, block.start : block.stop])
    return unit


def _sparse_on_unit_ranges(block: Block, weights: Floats) -> Any:
    values = sp.csc_array(block.values)
    size = np.where(block.range > 0, block.range, 1.0) / weights[block.start : block.stop]
    data = values.data / np.repeat(size, np.diff(values.indptr))
    return sp.csc_array((data, values.indices, values.indptr), shape=values.shape)


def _distance_grid(table: Table) -> float:
    """Return the step to which distances are rounded.

    It is a power of two. Sums of tenths and thirds then never lie halfway between two steps, where
    rounding error would decide.
    """
    return float(np.ldexp(DISTANCE_GRID, (table.n_columns - 1).bit_length()))


def _hits_and_misses(
    near: list[NDArray[np.int32]], order: Integers, begin: Integers, masses: Floats
) -> Iterator[tuple[Integers, Integers, Floats]]:
    """Yield the (sample, neighbour) pairs of ReliefF with signed weights, one class at a time.

    The class is that of the neighbours. `near` contains positions in `order`, where class c
    occupies ``begin[c]:begin[c + 1]``, and −1 if the class has no further neighbour.
    """
    mass, sizes = masses[order], np.diff(begin)
    share = np.add.reduceat(mass, begin[:-1]) / mass.sum()
    for code, places in enumerate(near):
        own = slice(begin[code], begin[code + 1])
        # If all mass is in one class, its samples have no misses.
        weight = np.repeat(share[code] / np.where(share < 1, 1 - share, 1.0), sizes)
        weight[own] = -1.0
        there = places >= 0
        count, of_neighbors = there.sum(axis=1), np.where(there, mass[places], 0.0)
        total = of_neighbors.sum(axis=1)
        weight = weight * mass / (np.where(total > 0, total, 1.0) * mass.sum())
        yield (
            np.repeat(order, count),
            order[places[there]],
            np.repeat(weight, count) * of_neighbors[there],
        )


def sselect_score(
    X: Any,
    y: Any,
    *,
    n_neighbors: int = 10,
    bandwidth: float = 1.0,
    trade_off: float = 0.1,
    neighbors: Any = "auto",
) -> Floats:
    """Compute the sSelect score of each feature.

    The score combines the Laplacian score (LS) with the disagreement between the sign of the
    centred feature and the known labels. It is trade_off · LS + (1 − trade_off) · (1 − NMI). NMI is
    the mutual information of the labels and the sign of f − μ on the labelled samples, divided by
    the larger of their entropies. μ is the mean of the feature, weighted by the degrees of the
    neighbour graph. Small is good. A constant feature gets NaN. The paper defines the score for
    two classes; graphsieve uses the same NMI for more classes.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features. They are not rescaled.
    y : array of shape (n_samples,)
        Class labels; −1, None or NaN for unlabelled samples.
    n_neighbors, bandwidth : int, float
        Number of neighbours and bandwidth of the graph, as in `laplacian_score`.
    trade_off : float
        Weight of the Laplacian score, from 0 to 1.
    neighbors : {"auto", "exact", "approximate"} or transformer
        Method of the neighbour search, as in `laplacian_score`.

    Returns
    -------
    scores : array of shape (n_features,)
        The score of each feature.

    References
    ----------
    Zhao, Liu (2007), Semi-supervised feature selection via spectral analysis. The formula is the
    form in which the score is usually cited.

    Examples
    --------
    The second column has a Laplacian score of 2. On the labelled samples its signs are −, +, −, and
    the labels are 0, 0, 1. Both entropies are 0.6365 and the joint entropy is ln 3 = 1.0986, so NMI
    is (2 · 0.6365 − 1.0986) / 0.6365 = 0.274. The score is 0.1 · 2 + 0.9 · 0.726 = 0.85:

    >>> sselect_score([[0, 0], [0, 1], [9, 0], [9, 1]], [0, 0, 1, -1], n_neighbors=1).round(2)
    array([0.  , 0.85])
    """
    known = Supervision.from_labels(y)
    return score(
        sselect,
        X,
        known,
        y=y,
        neighbors=neighbors,
        n_neighbors=n_neighbors,
        bandwidth=bandwidth,
        trade_off=trade_off,
    )


def sselect(
    table: Table, known: Supervision, *, n_neighbors: int, bandwidth: float | None, trade_off: float
) -> Scored:
    refuse_several_columns(table, "sselect", "the sign of a feature")
    near = neighbor_graph(table, n_neighbors, bandwidth)
    smooth = laplacian_ratio(table, near.graph)
    codes = class_codes(known)
    labeled = np.flatnonzero(codes >= 0)
    if known.n_known_classes < 2:
        warn(
            f"labels of at least 2 classes are needed, got {known.n_known_classes}; the result is "
            "the Laplacian score alone."
        )
        return Scored(smooth, near.n_neighbors, near.bandwidth)
    by_degree = dense_weighting(on_samples(near.graph, table).degree())
    masses = table.masses[labeled]

    def disagreement(block: Block) -> Floats:
        # Values slightly below the mean count as above it, so that rounding error cannot separate
        # values that equal the mean.
        threshold = means(block, by_degree)[0] - SIGN_TOLERANCE * block.range
        parts = [values[labeled] >= threshold[part] for part, values in block.dense_parts()]
        return np.concatenate(
            [1.0 - _normalized_information(above, codes[labeled], masses) for above in parts]
        )

    values = trade_off * smooth + (1 - trade_off) * per_column(table, disagreement)
    return Scored(values, near.n_neighbors, near.bandwidth)


def _normalized_information(above: Booleans, codes: Integers, masses: Floats) -> Floats:
    """Mutual information of each column of `above` with the classes, over the larger entropy."""
    of_class = np.stack([np.where(codes == code, masses, 0.0) for code in np.unique(codes)])
    high, low = (of_class @ side / masses.sum() for side in (above, ~above))
    by_class = _entropy(of_class.sum(axis=1)[:, None] / masses.sum())
    by_side = _entropy(np.stack([high.sum(axis=0), low.sum(axis=0)]))
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
    """Compute the locality sensitive discriminant feature (LSDF) score of each feature.

    The score compares the variation between classes with the variation within classes and between
    nearest neighbours. It is the ratio of two sums of squared differences (f_i − f_j)². The
    numerator is the sum over all pairs with different known labels. The denominator is a weighted
    sum: pairs with the same label have the weight `same_class_weight`, and nearest neighbours of
    which at least one is unlabelled have the weight 1. Large is good. A constant feature gets NaN.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features. They are not rescaled.
    y : array of shape (n_samples,)
        Class labels; −1, None or NaN for unlabelled samples.
    n_neighbors : int
        Number of neighbours per sample in X.
    same_class_weight : float
        Weight of pairs with the same label, called γ in the paper.
    neighbors : {"auto", "exact", "approximate"} or transformer
        Method of the neighbour search, as in `laplacian_score`.

    Returns
    -------
    scores : array of shape (n_features,)
        The score of each feature.

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
        y=y,
        neighbors=neighbors,
        n_neighbors=n_neighbors,
        same_class_weight=same_class_weight,
    )


def lsdf(table: Table, known: Supervision, *, n_neighbors: int, same_class_weight: float) -> Scored:
    codes = class_codes(known)
    need_two_classes(known)
    # With an infinite bandwidth, all neighbours have the weight 1.
    near = neighbor_graph(table, n_neighbors, np.inf, not_between=codes)
    alike = group_graph(codes, same_class_weight) + near.graph
    return Scored(energy_ratio(table, apart_graph(codes), alike), near.n_neighbors)


def class_codes(known: Supervision) -> Integers:
    """Return the class codes of all samples, −1 for unlabelled samples."""
    if known.labels is None:
        raise InputError("class labels are needed, but none were given.")
    return known.labels


def labeled_part(table: Table, known: Supervision) -> tuple[Table, Integers, int]:
    """Return the labelled rows, their codes renumbered without gaps, and the number of classes.

    At least two classes are required.
    """
    codes = class_codes(known)
    need_two_classes(known)
    labeled = np.flatnonzero(codes >= 0)
    present = np.bincount(codes[labeled]) > 0
    renumbered = (np.cumsum(present) - 1)[codes[labeled]]
    return rows_of(table, labeled), renumbered, int(present.sum())


def need_two_classes(known: Supervision) -> None:
    if known.n_known_classes < 2:
        raise InputError(f"labels of at least 2 classes are needed, got {known.n_known_classes}.")

"""Nearest-neighbour estimates of the mutual information of a feature with a target or with classes.

The estimators are the first one of Kraskov et al. (2004) and that of Ross (2014). Other
implementations often break ties by adding random noise. Here ties are counted, so the result
depends only on the data. If the neighbour of a sample coincides with it, the number of neighbours
becomes the number of coinciding samples (Gao et al., 2017).
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import digamma

from graphsieve._base.array_types import Floats, Integers

TIE_TOLERANCE = 1e-12


def information_with_target(
    feature: Floats, target: Floats, n_neighbors: int, masses: Floats | None = None
) -> float:
    """Estimate the mutual information of two continuous variables, in nats.

    The feature is scaled to the standard deviation of the target. The target is not scaled, so
    distances between ranks remain exact. The mean over the samples is weighted by their masses.
    """
    feature = feature * (target.std() / feature.std())
    k = min(n_neighbors, len(target) - 1)
    joint = np.stack([feature, target], axis=1)
    radius = cKDTree(joint).query(joint, k=[k + 1], p=np.inf)[0][:, 0]
    neighbors = np.where(radius == 0, _copies(joint), k)
    inside = _just_below(radius)
    average = np.average(
        digamma(neighbors)
        - digamma(_count_within(feature, inside))
        - digamma(_count_within(target, inside)),
        weights=masses,
    )
    return max(0.0, float(digamma(len(target)) + average))


def information_with_classes(
    feature: Floats, codes: Integers, n_neighbors: int, masses: Floats | None = None
) -> float:
    """Estimate the mutual information of a continuous feature and the classes, in nats.

    Classes with a single sample are left out, because the sample has no neighbour of its class. The
    mean over the samples is weighted by their masses.
    """
    sizes = np.bincount(codes)
    kept = sizes[codes] > 1
    feature, codes = feature[kept], codes[kept]
    if not len(feature):
        return 0.0
    radius, neighbors = np.empty(len(feature)), np.empty(len(feature))
    for code in np.unique(codes):
        members = codes == code
        values = feature[members]
        k = min(n_neighbors, len(values) - 1)
        radius[members] = _distance_to_neighbor(values, k)
        neighbors[members] = np.where(radius[members] == 0, _copies(values[:, None]), k)
    average = np.average(
        digamma(neighbors)
        - digamma(sizes[codes])
        - digamma(_count_within(feature, _just_below(radius))),
        weights=None if masses is None else masses[kept],
    )
    return max(0.0, float(digamma(len(feature)) + average))


def information_of_codes(one: Integers, other: Integers, masses: Floats | None = None) -> float:
    """Return the mutual information of two categories on the samples, in nats."""
    shape = int(one.max()) + 1, int(other.max()) + 1
    joint = np.bincount(one * shape[1] + other, masses, shape[0] * shape[1]).reshape(shape)
    joint = joint / joint.sum()
    row, column = np.nonzero(joint)
    shares = joint[row, column]
    by_chance = joint.sum(axis=1)[row] * joint.sum(axis=0)[column]
    return max(0.0, float((shares * np.log(shares / by_chance)).sum()))


def _just_below(radius: Floats) -> Floats:
    """Shrink a radius so that it excludes the neighbour and all that tie with it up to rounding.

    A radius of zero stays zero.
    """
    return radius * (1.0 - TIE_TOLERANCE)


def _copies(points: Floats) -> Integers:
    """Return how often each point occurs, including the point itself."""
    _, where, counts = np.unique(points, axis=0, return_inverse=True, return_counts=True)
    return np.asarray(counts[where.ravel()])


def _distance_to_neighbor(values: Floats, k: int) -> Floats:
    """Return the distance of each value to its k-th nearest neighbour.

    In sorted order, the value and its k nearest neighbours are k + 1 consecutive values. Over all
    such windows that contain the value, the distance is the smallest maximum distance to it.
    """
    order = np.argsort(values, kind="stable")
    padded = np.concatenate([np.full(k, -np.inf), values[order], np.full(k, np.inf)])
    place = np.arange(len(values)) + k
    reach = np.full(len(values), np.inf)
    for below in range(k + 1):
        window = np.maximum(
            padded[place] - padded[place - below], padded[place - below + k] - padded[place]
        )
        reach = np.minimum(reach, window)
    result = np.empty(len(values))
    result[order] = reach
    return result


def _count_within(values: Floats, radius: Floats) -> Integers:
    """Count the values within the radius of each value, including the value itself.

    The floating-point difference of the two values decides.
    """
    distinct, counts = np.unique(values, return_counts=True)
    up_to = np.concatenate([[0], np.cumsum(counts)])
    last = len(distinct) - 1
    first = np.searchsorted(distinct, values - radius, side="left")
    end = np.searchsorted(distinct, values + radius, side="right")
    # The interval ends are rounded, so the differences decide for the values next to them.
    first -= (first > 0) & (values - distinct[np.maximum(first - 1, 0)] <= radius)
    first += values - distinct[np.minimum(first, last)] > radius
    end += (end <= last) & (distinct[np.minimum(end, last)] - values <= radius)
    end -= distinct[np.maximum(end - 1, 0)] - values > radius
    return np.asarray(up_to[end] - up_to[first])

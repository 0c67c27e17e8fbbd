"""Mutual information of one feature with a target or with classes, by nearest neighbours.

The estimators are those of Kraskov et al. (2004, the first one) and Ross (2014). Ties are often
broken by adding random noise; here they are counted as they are, so that the result depends on
nothing but the data: where a neighbour coincides with the sample, the number of neighbours becomes
the number of coinciding samples (Gao et al., 2017).
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import digamma

from graphsieve._base.array_types import Floats, Integers

TIE_TOLERANCE = 1e-12


def information_with_target(feature: Floats, target: Floats, n_neighbors: int) -> float:
    """Mutual information in nats of two continuous variables.

    The feature is brought to the scale of the target, and the target is left alone, so that
    distances between ranks stay exact.
    """
    feature = feature * (target.std() / feature.std())
    k = min(n_neighbors, len(target) - 1)
    joint = np.stack([feature, target], axis=1)
    radius = cKDTree(joint).query(joint, k=[k + 1], p=np.inf)[0][:, 0]
    neighbors = np.where(radius == 0, _copies(joint), k)
    inside = _just_below(radius)
    average = np.mean(
        digamma(neighbors)
        - digamma(_count_within(feature, inside))
        - digamma(_count_within(target, inside))
    )
    return max(0.0, float(digamma(len(target)) + average))


def information_with_classes(feature: Floats, codes: Integers, n_neighbors: int) -> float:
    """Mutual information in nats of a continuous feature and classes; classes of one sample say
    nothing and are left out.
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
    average = np.mean(
        digamma(neighbors)
        - digamma(sizes[codes])
        - digamma(_count_within(feature, _just_below(radius)))
    )
    return max(0.0, float(digamma(len(feature)) + average))


def _just_below(radius: Floats) -> Floats:
    """A radius that just excludes the neighbour itself, and all that tie with it but for
    rounding; zero stays zero.
    """
    return radius * (1.0 - TIE_TOLERANCE)


def _copies(points: Floats) -> Integers:
    """How often each point occurs, itself included."""
    _, where, counts = np.unique(points, axis=0, return_inverse=True, return_counts=True)
    return np.asarray(counts[where.ravel()])


def _distance_to_neighbor(values: Floats, k: int) -> Floats:
    """The distance of each value to its k-th nearest other: the least reach of any k + 1
    consecutive ones that hold it.
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
    """How many values, each itself included, lie within its radius, by the rounded difference of
    the two.
    """
    distinct, counts = np.unique(values, return_counts=True)
    up_to = np.concatenate([[0], np.cumsum(counts)])
    last = len(distinct) - 1
    first = np.searchsorted(distinct, values - radius, side="left")
    end = np.searchsorted(distinct, values + radius, side="right")
    # The borders were rounded; the differences decide about the values next to them.
    first -= (first > 0) & (values - distinct[np.maximum(first - 1, 0)] <= radius)
    first += values - distinct[np.minimum(first, last)] > radius
    end += (end <= last) & (distinct[np.minimum(end, last)] - values <= radius)
    end -= distinct[np.maximum(end - 1, 0)] - values > radius
    return np.asarray(up_to[end] - up_to[first])

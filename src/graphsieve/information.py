"""Mutual information of one feature with a target or with classes, by nearest neighbours.

The estimators are those of Kraskov et al. (2004, the first one) and Ross (2014). Ties are often broken by adding random noise;
here they are counted as they are, so that the result depends on nothing but the data: where a neighbour coincides with the
sample, the number of neighbours becomes the number of coinciding samples (Gao et al., 2017).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.special import digamma

TIE_TOLERANCE = 1e-12

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def information_with_target(feature: Floats, target: Floats, n_neighbors: int) -> float:
    """Mutual information in nats of two continuous variables.

    The feature is brought to the scale of the target, and the target is left alone, so that distances between ranks stay exact.
    """
    feature = feature * (target.std() / feature.std())
    k = min(n_neighbors, len(target) - 1)
    joint = np.stack([feature, target], axis=1)
    radius = cKDTree(joint).query(joint, k=[k + 1], p=np.inf)[0][:, 0]
    inside, coincide = _strictly_below(radius), radius == 0
    together = cKDTree(joint).query_ball_point(joint, inside, p=np.inf, return_length=True)
    neighbors = np.where(coincide, together, k)
    by_feature, by_target = _count_within(feature, inside), _count_within(target, inside)
    average = np.mean(digamma(neighbors) - digamma(by_feature) - digamma(by_target))
    return max(0.0, float(digamma(len(target)) + average))


def information_with_classes(feature: Floats, codes: Integers, n_neighbors: int) -> float:
    """Mutual information in nats of a continuous feature and classes; classes of one sample say nothing and are left out."""
    sizes = np.bincount(codes)
    kept = sizes[codes] > 1
    feature, codes = feature[kept], codes[kept]
    if not len(feature):
        return 0.0
    inside, neighbors = np.empty(len(feature)), np.empty(len(feature))
    for code in np.unique(codes):
        members = codes == code
        values = feature[members]
        k = min(n_neighbors, len(values) - 1)
        radius = cKDTree(values[:, None]).query(values[:, None], k=[k + 1])[0][:, 0]
        inside[members] = _strictly_below(radius)
        neighbors[members] = np.where(radius == 0, _count_within(values, np.zeros(len(values))), k)
    everyone = _count_within(feature, inside)
    average = np.mean(digamma(neighbors) - digamma(sizes[codes]) - digamma(everyone))
    return max(0.0, float(digamma(len(feature)) + average))


def _strictly_below(radius: Floats) -> Floats:
    """A radius that just excludes the neighbour itself, and all that tie with it but for rounding; zero stays zero."""
    return radius * (1.0 - TIE_TOLERANCE)


def _count_within(values: Floats, radius: Floats) -> Integers:
    """How many values, each itself included, lie within its radius."""
    points = values[:, None]
    return np.asarray(cKDTree(points).query_ball_point(points, radius, return_length=True))

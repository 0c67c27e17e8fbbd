"""How well clusters in a few features find the classes again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.preprocessing import StandardScaler

from graphsieve._base.array_types import Integers
from graphsieve._base.errors import InputError, InputTypeError
from graphsieve._base.threads import one_thread
from graphsieve._base.warning_filters import warnings_ignored
from graphsieve.assess.evaluation.prefixes import chosen_columns


def clustering_accuracy(y: ArrayLike, clusters: ArrayLike) -> float:
    """The share of samples in the cluster that stands for their class, under the best matching of
    clusters and classes.

    No two classes share a cluster: the samples of a surplus cluster, or of a class without one, are
    all wrong.

    Parameters
    ----------
    y : array of shape (n_samples,)
        The classes; every value is one.
    clusters : array of shape (n_samples,)
        The clusters; their names do not matter.

    Examples
    --------
    >>> clustering_accuracy(["a", "a", "b", "b"], [7, 7, 7, 3])
    0.75
    """
    classes, groups = np.asarray(y), np.asarray(clusters)
    if classes.ndim != 1 or classes.shape != groups.shape or not len(classes):
        raise InputError(
            f"y and clusters must be two lists of one value per sample, got shapes {classes.shape} "
            f"and {groups.shape}."
        )
    try:
        together = contingency_matrix(classes, groups)
    except (TypeError, ArithmeticError):  # values that have no order, such as None beside text
        raise InputTypeError(
            "y and clusters must hold values that can be sorted, such as numbers or text."
        ) from None
    return float(together[linear_sum_assignment(together, maximize=True)].sum() / len(classes))


def clustered(
    X: Any,
    features: Integers,
    codes: Integers,
    *,
    n_clusters: int,
    n_init: int,
    standardize: bool,
    seed: int,
) -> tuple[float, float]:
    """Accuracy and normalized mutual information of k-means in these features; `codes` are −1 where
    the class is unknown.
    """
    points = chosen_columns(X, features)
    if standardize:
        points = StandardScaler(with_mean=isinstance(points, np.ndarray)).fit_transform(points)
    model = KMeans(n_clusters, n_init=n_init, random_state=seed)
    # Fewer distinct points than clusters: then there are fewer clusters, which the accuracy shows.
    with warnings_ignored("Number of distinct clusters", ConvergenceWarning), one_thread():
        groups = model.fit_predict(points)
    known = codes >= 0
    accuracy = clustering_accuracy(codes[known], groups[known])
    return accuracy, float(normalized_mutual_info_score(codes[known], groups[known]))

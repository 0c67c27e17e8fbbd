"""Agreement of clusters with known classes."""

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
from graphsieve.assess.evaluation.learners import scaled_alike
from graphsieve.assess.evaluation.prefixes import chosen_columns
from graphsieve.table.features import Features
from graphsieve.table.gaps import filled_alike


def clustering_accuracy(y: ArrayLike, clusters: ArrayLike) -> float:
    """Share of samples in the cluster of their class, under the best matching.

    The matching assigns at most one cluster to each class, and at most one class to each cluster.
    Samples in an unmatched cluster or in an unmatched class count as errors.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Class labels. Every distinct value is a class.
    clusters : array of shape (n_samples,)
        Cluster labels, with arbitrary names.

    Examples
    --------
    >>> clustering_accuracy(["a", "a", "b", "b"], [7, 7, 7, 3])
    0.75
    """
    classes, groups = np.asarray(y), np.asarray(clusters)
    if classes.ndim != 1 or classes.shape != groups.shape or not len(classes):
        raise InputError(
            f"y and clusters must contain one value per sample each, got shapes {classes.shape} "
            f"and {groups.shape}."
        )
    try:
        together = contingency_matrix(classes, groups)
    except (TypeError, ArithmeticError):  # values without an order, such as None and text
        raise InputTypeError(
            "y and clusters must contain values that can be sorted, such as numbers or text."
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
    of: Features | None = None,
) -> tuple[float, float]:
    """Accuracy and normalized mutual information of k-means with these features.

    `codes` are −1 for unlabelled samples. `of` are the columns of all features, or None if every
    column is a feature.
    """
    (points,) = filled_alike(chosen_columns(X, features if of is None else of.columns_of(features)))
    if standardize and of is not None:
        (points,) = scaled_alike(of.take(features), points)
    elif standardize:
        points = StandardScaler(with_mean=isinstance(points, np.ndarray)).fit_transform(points)
    model = KMeans(n_clusters, n_init=n_init, random_state=seed)
    # With fewer distinct points than clusters, k-means finds fewer clusters. The accuracy accounts
    # for this, so the warning is not needed.
    with warnings_ignored("Number of distinct clusters", ConvergenceWarning), one_thread():
        groups = model.fit_predict(points)
    known = codes >= 0
    accuracy = clustering_accuracy(codes[known], groups[known])
    return accuracy, float(normalized_mutual_info_score(codes[known], groups[known]))

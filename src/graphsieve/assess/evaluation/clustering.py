"""How well clusters in a few features find the classes again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.preprocessing import StandardScaler

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError, InputTypeError
from graphsieve._base.parameters import boolean, count
from graphsieve._base.randomness import seed_number
from graphsieve._base.underflow import vanishing
from graphsieve._base.warning_filters import warnings_ignored
from graphsieve.assess.evaluation.prefixes import (
    checked_order,
    checked_sizes,
    chosen_columns,
    read_moderate,
)
from graphsieve.assess.evaluation.sequential import one_thread
from graphsieve.supervision.value import Supervision


@dataclass(frozen=True, eq=False)
class ClusteringCurve:
    """What k-means found in the first features of an order, for several numbers of them.

    Attributes
    ----------
    sizes : tuple of int
        Numbers of features.
    accuracies : array of shape (len(sizes),)
        `clustering_accuracy`, from 0 to 1.
    nmis : array of shape (len(sizes),)
        Mutual information of clusters and classes over the mean of their entropies, from 0 to 1.
    """

    sizes: tuple[int, ...]
    accuracies: Floats
    nmis: Floats


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


@vanishing
def cluster_prefixes(
    order: Any,
    X: Any,
    y: Any,
    *,
    sizes: Sequence[int],
    n_clusters: int | None = None,
    n_init: int = 10,
    standardize: bool = False,
    unlabeled: int | None = -1,
    random_state: Any = 0,
) -> ClusteringCurve:
    """How well k-means in the first features of an order finds the classes again, for several
    numbers of features.

    All samples are clustered and nothing is held out, as is usual: the labels serve for comparison
    only.

    Parameters
    ----------
    order : array of int
        Column positions, best first; at least as many as the largest size.
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features.
    y : array of shape (n_samples,)
        The classes; samples of unknown class are clustered, and left out of the comparison.
    sizes : sequence of int
        How many features to use.
    n_clusters : int or None
        None: as many as there are classes.
    n_init : int
        Starts of k-means, of which the tightest result counts.
    standardize : bool
        Whether to bring features to deviation 1 first; otherwise they are taken as they are.
    unlabeled : int or None
        The number that marks an unknown class.
    random_state : None, int, SeedSequence, RandomState or Generator
        Of the starts, the same for every size.

    Returns
    -------
    ClusteringCurve

    Examples
    --------
    >>> X = [[0.0, 5.0], [0.1, 1.0], [9.0, 1.1], [9.1, 5.1]]
    >>> cluster_prefixes([0, 1], X, ["a", "a", "b", "b"], sizes=[1]).accuracies
    array([1.])
    """
    table = read_moderate(X)
    codes = Supervision.from_labels(y, unlabeled=unlabeled).codes
    if len(codes) != table.shape[0]:
        raise InputError(
            f"X has {table.shape[0]} samples, but y has {len(codes)} values; they must be the same "
            "samples."
        )
    if (codes < 0).all():
        raise InputError("y holds no known class; there is nothing to compare clusters with.")
    numbers = checked_sizes(sizes, table.shape[1])
    positions = checked_order(order, table.shape[1], max(numbers))
    wanted = (
        len(np.unique(codes[codes >= 0]))
        if n_clusters is None
        else count(1, table.shape[0])("n_clusters", n_clusters)
    )
    starts, scaled = count(1)("n_init", n_init), boolean()("standardize", standardize)
    seed = seed_number(random_state)
    found = [
        clustered(
            table,
            positions[:size],
            codes,
            n_clusters=wanted,
            n_init=starts,
            standardize=scaled,
            seed=seed,
        )
        for size in numbers
    ]
    return ClusteringCurve(
        tuple(numbers), np.array([one for one, _ in found]), np.array([one for _, one in found])
    )


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
    """Accuracy and normalized mutual information of k-means in these features."""
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

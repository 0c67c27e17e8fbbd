"""Simple reference methods that select columns with little redundancy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import qr
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.semi_supervised import LabelSpreading

from graphsieve import Supervision, scores
from graphsieve.search.diverse import diverse_selection
from graphsieve.table.any_table import as_table
from graphsieve.table.scaling import chosen_scale, rescaled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FOREST_TREES = 100
SPREADING_NEIGHBORS = 7  # the default of LabelSpreading
ALIKE = 0.8  # absolute correlation from which a leader represents a column


def dense(X: Any) -> Floats:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def unit_columns(X: Any) -> Floats:
    """Scale columns to mean 0 and length 1, so that their products are correlations.

    Constant columns become 0.
    """
    Z = dense(X) - dense(X).mean(axis=0)
    length = np.sqrt((Z**2).sum(axis=0))
    scaled: Floats = Z / np.where(length > 1e-9 * max(float(length.max()), 1e-300), length, np.inf)
    return scaled


def pivoted_qr(X: Any, known: Supervision, n: int) -> Integers:
    """Select, one by one, the column with the longest residual after projection on the earlier ones.

    The columns are centred but not scaled.
    """
    order: Integers = qr(dense(X) - dense(X).mean(axis=0), mode="r", pivoting=True)[1]
    return order


def facility_location(X: Any, known: Supervision, n: int) -> Integers:
    """Maximise greedily the sum, over all columns, of the largest squared correlation with a
    selected column.
    """
    Z = unit_columns(X).astype(np.float32)  # The p × p matrix then needs half the memory.
    similarity = (Z.T @ Z) ** 2
    covered = np.zeros(len(similarity), dtype=np.float32)
    bound = similarity.sum(axis=0)
    order: list[int] = []
    for _ in range(n):
        # Gains can only shrink. The older gains are therefore upper bounds, and a new gain above
        # all of them is the largest.
        best, gain = -1, -1.0
        for j in np.argsort(-bound, kind="stable"):
            if bound[j] <= gain:
                break
            bound[j] = np.maximum(similarity[:, j] - covered, 0).sum()
            if bound[j] > gain:
                best, gain = int(j), float(bound[j])
        order.append(best)
        covered = np.maximum(covered, similarity[:, best])
        bound[best] = -np.inf
    return np.array(order)


def score_unlike(X: Any, known: Supervision, n: int) -> Integers:
    """Select greedily by score × (1 − largest |correlation| with a selected column, over all rows).

    The score is the Fisher score for labels and the |correlation| for targets. Without supervision
    it is 1 − Laplacian score, at least 0.
    """
    if known.kinds:
        rows, y = labelled(known)
        score = (scores.fisher_score if known.targets is None else scores.pearson_score)(
            dense(X)[rows], y
        )
    else:
        score = np.maximum(1 - scores.laplacian_score(unit_columns(X), bandwidth=1e9), 0)
    finite = np.where(np.isposinf(score), np.finfo(np.float64).max / 2, score)
    return _greedily(np.nan_to_num(finite, nan=0.0), unit_columns(X), n)


def _greedily(score: Floats, Z: Floats, n: int) -> Integers:
    worst = np.zeros(len(score))
    free = np.ones(len(score), dtype=bool)
    order = []
    for _ in range(n):
        j = int(np.argmax(np.where(free, score * (1 - worst), -np.inf)))
        order.append(j)
        free[j] = False
        worst = np.maximum(worst, np.minimum(np.abs(Z.T @ Z[:, j]), 1))
    return np.array(order)


def deflation(X: Any, known: Supervision, n: int) -> Integers:
    """Select greedily the column with the highest relevance, then project it out of all columns.

    The relevance is the association with the class indicators or the target on the labelled rows.
    Projections use all rows. Columns initially have length 1.
    """
    R = unit_columns(X)
    rows, outputs = _outputs(known)
    start = (R**2).sum(axis=0)
    order: list[int] = []
    for _ in range(n):
        labeled = R[rows] - R[rows].mean(axis=0)
        length = (labeled**2).sum(axis=0)
        left = ((R**2).sum(axis=0) > 1e-9 * start) & (length > 1e-12)
        gain = np.where(
            left, ((outputs.T @ labeled) ** 2).sum(axis=0) / np.where(left, length, 1), -1.0
        )
        gain[order] = -np.inf
        order.append(int(np.argmax(gain)))
        direction = R[:, order[-1]].copy()
        squared = float(direction @ direction)
        if squared > 1e-9:
            R = R - np.outer(direction, direction @ R) / squared
    return np.array(order)


def leaders(X: Any, known: Supervision, n: int) -> Integers:
    """Select by relevance, but skip columns that correlate by 0.8 or more with a selected one.

    The skipped columns follow at the end, in order of relevance.
    """
    rows, outputs = _outputs(known)
    Z = unit_columns(X)
    labeled = Z[rows] - Z[rows].mean(axis=0)
    length = np.where((labeled**2).sum(axis=0) > 1e-12, (labeled**2).sum(axis=0), np.inf)
    by_relevance = np.argsort(-((outputs.T @ labeled) ** 2).sum(axis=0) / length, kind="stable")
    order: list[int] = []
    for j in by_relevance:
        if len(order) == n:
            break
        if not order or np.abs(Z[:, order].T @ Z[:, j]).max() < ALIKE:
            order.append(int(j))
    taken = set(order)
    return np.array(order + [int(j) for j in by_relevance if int(j) not in taken])


def trace_ratio(X: Any, known: Supervision, n: int) -> Integers:
    """Select the n columns with the largest trace ratio (Nie et al. 2008), without scaling.

    The ratio is the sum of the variances between classes over the sum of those within classes.
    """
    rows = np.flatnonzero(known.codes >= 0)
    labels, values = known.codes[rows], dense(X)[rows]
    means = np.array([values[labels == code].mean(axis=0) for code in np.unique(labels)])
    sizes = np.array([(labels == code).sum() for code in np.unique(labels)])
    total = ((values - values.mean(axis=0)) ** 2).sum(axis=0)
    between = sizes @ (means - values.mean(axis=0)) ** 2
    within = np.maximum(total - between, 1e-12 * max(float(total.max()), 1e-300))
    ratio = 0.0
    while True:  # The ratio grows in every round until the selected set no longer changes.
        order = np.argsort(-(between - ratio * within), kind="stable")
        better = float(between[order[:n]].sum() / within[order[:n]].sum())
        if better <= ratio * (1 + 1e-12):
            return order
        ratio = better


def forests_unlike(X: Any, known: Supervision, n: int) -> Integers:
    """Select greedily by importance × (1 − largest |correlation| with a selected column).

    The importance is that of a random forest on the labelled rows. Correlations use all rows.
    """
    rows, y = labelled(known)
    forest = (RandomForestRegressor if known.targets is not None else RandomForestClassifier)(
        FOREST_TREES, max_features="sqrt", random_state=0, n_jobs=1
    )
    importance = forest.fit(dense(X[rows]), y).feature_importances_
    return _greedily(importance, unit_columns(X), n)


def propagated_unlike(X: Any, known: Supervision, n: int) -> Integers:
    """Spread the labels to all rows, then select by `score_unlike`.

    The labels spread along the nearest neighbours in the standardised columns. Rows that no label
    reaches stay unlabelled.
    """
    n_neighbors = min(SPREADING_NEIGHBORS, len(known) - 1)
    spread = LabelSpreading(kernel="knn", n_neighbors=n_neighbors).fit(unit_columns(X), known.codes)
    reached = np.nan_to_num(spread.label_distributions_).sum(axis=1) > 0
    return score_unlike(X, Supervision.from_labels(np.where(reached, spread.transduction_, -1)), n)


def equal_weights(X: Any, known: Supervision, n: int) -> Integers:
    """Select the columns that together explain most of the table, all with the same weight.

    This is greedy column subset selection in the units that the default uses.
    """
    table = as_table(X)
    scaled = rescaled(table, chosen_scale(table)[0]).matrix
    path = diverse_selection(
        np.ones(table.n_features), scaled, n_features_to_select=n, progress=False
    )
    return path.order


def kmeans_columns(X: Any, known: Supervision, n: int) -> Integers:
    """Cluster the standardised columns by k-means, and select the one closest to each centre.

    There are n clusters. The column of the largest cluster comes first.
    """
    Z = unit_columns(X).T
    varying = np.flatnonzero(Z.any(axis=1))
    model = KMeans(min(n, len(varying)), n_init=1, random_state=0).fit(Z[varying])
    distance = np.linalg.norm(Z[varying] - model.cluster_centers_[model.labels_], axis=1)
    clusters = [np.flatnonzero(model.labels_ == label) for label in np.unique(model.labels_)]
    clusters.sort(key=len, reverse=True)
    return np.array([varying[members[np.argmin(distance[members])]] for members in clusters])


def labelled(known: Supervision) -> tuple[Integers, NDArray[Any]]:
    """Return the labelled rows, and their class codes or targets."""
    if known.targets is not None:
        rows = np.flatnonzero(~np.isnan(known.targets))
        return rows, known.targets[rows]
    rows = np.flatnonzero(known.codes >= 0)
    return rows, known.codes[rows]


def _outputs(known: Supervision) -> tuple[Integers, Floats]:
    """Return the labelled rows and their class indicators or targets, centred."""
    rows, y = labelled(known)
    outputs = (
        (y[:, None] == np.unique(y)).astype(np.float64) if known.targets is None else y[:, None]
    )
    return rows, outputs - outputs.mean(axis=0)


REFERENCES: dict[str, tuple[frozenset[str], Callable[[Any, Supervision, int], Any]]] = {
    "pivoted_qr": (frozenset(["nothing"]), pivoted_qr),
    "facility_location": (frozenset(["nothing"]), facility_location),
    "score_unlike": (frozenset(["nothing", "labels", "targets"]), score_unlike),
    "deflation": (frozenset(["labels", "targets"]), deflation),
    "leaders": (frozenset(["labels", "targets"]), leaders),
    "trace_ratio": (frozenset(["labels"]), trace_ratio),
    "forests_unlike": (frozenset(["labels", "targets"]), forests_unlike),
    "propagated_unlike": (frozenset(["labels"]), propagated_unlike),
    "equal_weights": (frozenset(["nothing"]), equal_weights),
    "kmeans_columns": (frozenset(["nothing"]), kmeans_columns),
}
"""For each method, the kinds of supervision that it uses, and the function."""

"""Simple ways to choose columns that are unlike each other, written plainly: what a person would
try in an afternoon.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import qr

from graphsieve import Supervision, scores

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ALIKE = 0.8  # absolute correlation from which on a leader stands for a column


def dense(X: Any) -> Floats:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def unit_columns(X: Any) -> Floats:
    """Columns of mean 0 and length 1, so that their products are correlations; constants are 0."""
    Z = dense(X) - dense(X).mean(axis=0)
    length = np.sqrt((Z**2).sum(axis=0))
    scaled: Floats = Z / np.where(length > 1e-9 * max(float(length.max()), 1e-300), length, np.inf)
    return scaled


def pivoted_qr(X: Any, known: Supervision, n: int) -> Integers:
    """Column by column what is longest once it has lost its projection on those before; centred,
    in the units of the data.
    """
    order: Integers = qr(dense(X) - dense(X).mean(axis=0), mode="r", pivoting=True)[1]
    return order


def facility_location(X: Any, known: Supervision, n: int) -> Integers:
    """Greedily the columns by which the sum over all columns of the largest squared correlation
    with a chosen one grows most.
    """
    Z = unit_columns(X).astype(np.float32)  # p × p numbers of them: half the memory
    likeness = (Z.T @ Z) ** 2
    served = np.zeros(len(likeness), dtype=np.float32)
    bound = likeness.sum(axis=0)
    order: list[int] = []
    for _ in range(n):
        # A gain can only shrink, so that a gain of this round that beats the others' older ones is
        # the largest.
        best, gain = -1, -1.0
        for j in np.argsort(-bound, kind="stable"):
            if bound[j] <= gain:
                break
            bound[j] = np.maximum(likeness[:, j] - served, 0).sum()
            if bound[j] > gain:
                best, gain = int(j), float(bound[j])
        order.append(best)
        served = np.maximum(served, likeness[:, best])
        bound[best] = -np.inf
    return np.array(order)


def score_unlike(X: Any, known: Supervision, n: int) -> Integers:
    """Greedily by score × (1 − the largest |correlation| with a chosen column), over all rows.

    The score is Fisher's for labels, the |correlation| for targets, and 1 − Laplacian score (at
    least 0) where nothing is known.
    """
    if known.kinds:
        rows = (
            np.flatnonzero(known.codes >= 0)
            if known.targets is None
            else np.flatnonzero(~np.isnan(known.targets))
        )
        if known.targets is None:
            score = scores.fisher_score(dense(X)[rows], known.codes[rows])
        else:
            score = scores.pearson_score(dense(X)[rows], known.targets[rows])
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
    """Greedily the column that goes most with what is known, over the rows where it is; then all
    lose their projection on it.

    Projections are taken over all rows. Columns start with length 1; what is known are class
    indicators or the target.
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
    """Best relevance first, leaving out who correlates by 0.8 or more with one already there;
    those follow in their order.
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
    """The n columns with the largest sum of variances between classes over that within them (Nie
    et al. 2008), as they are.
    """
    rows = np.flatnonzero(known.codes >= 0)
    labels, values = known.codes[rows], dense(X)[rows]
    means = np.array([values[labels == code].mean(axis=0) for code in np.unique(labels)])
    sizes = np.array([(labels == code).sum() for code in np.unique(labels)])
    total = ((values - values.mean(axis=0)) ** 2).sum(axis=0)
    between = sizes @ (means - values.mean(axis=0)) ** 2
    within = np.maximum(total - between, 1e-12 * max(float(total.max()), 1e-300))
    ratio = 0.0
    while True:  # a larger ratio every time, until the set is its own answer
        order = np.argsort(-(between - ratio * within), kind="stable")
        better = float(between[order[:n]].sum() / within[order[:n]].sum())
        if better <= ratio * (1 + 1e-12):
            return order
        ratio = better


def _outputs(known: Supervision) -> tuple[Integers, Floats]:
    """The rows of which something is known, and that: class indicators or the target, with mean
    zero.
    """
    if known.targets is not None:
        rows = np.flatnonzero(~np.isnan(known.targets))
        outputs = known.targets[rows][:, None]
    else:
        rows = np.flatnonzero(known.codes >= 0)
        outputs = (known.codes[rows][:, None] == np.unique(known.codes[rows])).astype(np.float64)
    return rows, outputs - outputs.mean(axis=0)


REFERENCES: dict[str, tuple[frozenset[str], Callable[[Any, Supervision, int], Any]]] = {
    "pivoted_qr": (frozenset(["nothing"]), pivoted_qr),
    "facility_location": (frozenset(["nothing"]), facility_location),
    "score_unlike": (frozenset(["nothing", "labels", "targets"]), score_unlike),
    "deflation": (frozenset(["labels", "targets"]), deflation),
    "leaders": (frozenset(["labels", "targets"]), leaders),
    "trace_ratio": (frozenset(["labels"]), trace_ratio),
}
"""What each of them uses, and the function."""

"""Simple ways to choose columns that are unlike each other, written plainly: what a person would try in an afternoon."""

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


def dense(X: Any) -> Floats:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def unit_columns(X: Any) -> Floats:
    """Columns of mean 0 and length 1, so that their products are correlations; constants are 0."""
    Z = dense(X) - dense(X).mean(axis=0)
    length = np.sqrt((Z**2).sum(axis=0))
    scaled: Floats = Z / np.where(length > 1e-9 * max(float(length.max()), 1e-300), length, np.inf)
    return scaled


def pivoted_qr(X: Any, known: Supervision, n: int) -> Integers:
    """Column by column what is longest once it has lost its projection on those before; centred, in the units of the data."""
    order: Integers = qr(dense(X) - dense(X).mean(axis=0), mode="r", pivoting=True)[1]
    return order


def facility_location(X: Any, known: Supervision, n: int) -> Integers:
    """Greedily the columns by which the sum over all columns of the largest squared correlation with a chosen one grows most."""
    Z = unit_columns(X).astype(np.float32)  # p × p numbers of them: half the memory
    likeness = (Z.T @ Z) ** 2
    served = np.zeros(len(likeness), dtype=np.float32)
    bound = likeness.sum(axis=0)
    order: list[int] = []
    for _ in range(n):
        # A gain can only shrink, so that a gain of this round that beats the others' older ones is the largest.
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

    The score is Fisher's for labels, the |correlation| for targets, and 1 − Laplacian score (at least 0) where nothing is known.
    """
    if known.kinds:
        rows = np.flatnonzero(known.codes >= 0) if known.targets is None else np.flatnonzero(~np.isnan(known.targets))
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


REFERENCES: dict[str, tuple[frozenset[str], Callable[[Any, Supervision, int], Any]]] = {
    "pivoted_qr": (frozenset(["nothing"]), pivoted_qr),
    "facility_location": (frozenset(["nothing"]), facility_location),
    "score_unlike": (frozenset(["nothing", "labels", "targets"]), score_unlike),
}
"""What each of them uses, and the function."""

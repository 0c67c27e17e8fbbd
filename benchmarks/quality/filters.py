"""Filters on the labelled rows: joint mutual information, CMIM and HSIC Lasso."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import lars_path_gram

from graphsieve import Supervision
from quality.references import unit_columns
from quality.rivals import LABELS_OR_TARGETS, of_known_rows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

BINS = 5
HSIC_ROWS = 200  # The kernel matrices have the square of this number of entries.
HSIC_COLUMNS = 500  # The quadratic program of more columns would take minutes.
HSIC_ELEMENTS = 2**24  # elements of the kernel matrices that are computed in one step


# --- Mutual information
# --------------------------------------------------------------------------------------------------


def jmi(X: Floats, y: NDArray[Any], n: int) -> Integers:
    """Select greedily by the joint mutual information (Yang, Moody 1999).

    The first column has the largest I(x; y). Each further column x maximises the sum of
    I((x, s); y) over all selected columns s. All variables are discretised at quantiles.
    """
    information = Information(X, y)
    total = np.zeros(X.shape[1])
    order: list[int] = []
    gain = information.alone
    for _ in range(n):
        order.append(_best_of_rest(gain, order))
        total += information.jointly_with(order[-1])
        gain = total
    return np.array(order)


def cmim(X: Floats, y: NDArray[Any], n: int) -> Integers:
    """Select greedily by conditional mutual information maximisation (Fleuret 2004).

    Each column x maximises the smallest of I(x; y) and I(x; y | s) over all selected columns s. All
    variables are discretised at quantiles.
    """
    information = Information(X, y)
    least = information.alone.copy()
    order: list[int] = []
    for _ in range(n):
        s = _best_of_rest(least, order)
        order.append(s)
        # The chain rule: I(x; y | s) = I((x, s); y) - I(s; y)
        least = np.minimum(least, information.jointly_with(s) - information.alone[s])
    return np.array(order)


class Information:
    """Mutual information between discretised columns and the class or the discretised target.

    `alone` contains I(x; y) in nats for each column x.
    """

    def __init__(self, X: Floats, y: NDArray[Any]) -> None:
        self.codes = discretised(X)
        classes = y if y.dtype.kind == "i" else discretised(y[:, np.newaxis])[:, 0]
        self.classes = np.unique(classes, return_inverse=True)[1]
        # float32 counts exactly up to 2**24 rows.
        self.is_in_bin = [
            (self.codes == code).astype(np.float32) for code in range(self.codes.max() + 1)
        ]
        self.alone = self._with_groups(np.zeros(len(y), dtype=np.int64))

    def jointly_with(self, column: int) -> Floats:
        """Return I((x, s); y) for each column x, where s is this column."""
        return self._with_groups(self.codes[:, column])

    def _with_groups(self, groups: Integers) -> Floats:
        """Return I((x, g); y) for each column x, where g are the groups of the rows."""
        n_rows, n_classes = len(groups), self.classes.max() + 1
        cell = groups * n_classes + self.classes
        is_in_cell = (np.arange(cell.max() + 1)[:, np.newaxis] == cell).astype(np.float32)
        n_groups = groups.max() + 1
        of_triples = np.zeros(self.codes.shape[1])
        of_pairs = np.zeros(self.codes.shape[1])
        for in_bin in self.is_in_bin:
            counts = np.zeros((n_groups * n_classes, in_bin.shape[1]))
            counts[: len(is_in_cell)] = is_in_cell @ in_bin
            of_triples += _sum_of_logs(counts)
            of_pairs += _sum_of_logs(counts.reshape(n_groups, n_classes, -1).sum(axis=1))
        of_classes = _sum_of_logs(np.bincount(self.classes)[:, np.newaxis].astype(np.float64))
        # H(x, g) + H(y) - H(x, g, y), where each entropy is log n - sum(c log c) / n
        found: Floats = np.log(n_rows) + (of_triples - of_pairs - of_classes) / n_rows
        return np.maximum(np.round(found, 12), 0)  # Rounding errors must not decide between ties.


def discretised(X: Floats) -> Integers:
    """Return the bin of each value. The edges are quantiles of the column.

    There are five bins, and fewer below 25 rows, so that a bin has about as many rows as there are
    bins. With a bin for each row, all columns would seem to determine the class.
    """
    n_bins = int(np.clip(np.sqrt(len(X)), 2, BINS))
    edges = np.quantile(X, np.arange(1, n_bins) / n_bins, axis=0)
    above: Integers = np.sum([edge < X for edge in edges], axis=0, dtype=np.int64)
    return above


def _sum_of_logs(counts: Floats) -> Floats:
    """Return the sum of c log c over the counts of each column."""
    found: Floats = (counts * np.log(np.maximum(counts, 1))).sum(axis=0)
    return found


def _best_of_rest(gain: Floats, order: list[int]) -> int:
    rest = gain.copy()
    rest[order] = -np.inf
    return int(np.argmax(rest))


# --- HSIC Lasso
# --------------------------------------------------------------------------------------------------


def hsic_lasso(X: Floats, y: NDArray[Any], n: int) -> Integers:
    """Order the columns as they enter the HSIC Lasso (Yamada et al. 2014).

    A non-negative combination of the kernel matrices of the columns approximates that of y. Kernels
    are Gaussian with width 1 on standardised columns, and 1 / class size within classes. At most
    200 rows are used, and the 500 columns with the largest dependence on y.
    """
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[:HSIC_ROWS])
    Z = unit_columns(X[rows]) * np.sqrt(len(rows))
    output = _unit_kernels(_class_kernel(y[rows]) if y.dtype.kind == "i" else _of_targets(y[rows]))
    # A constant column is independent of everything.
    dependence = np.where(
        Z.any(axis=0), _in_parts(Z, lambda part: _gaussian_kernels(part).T @ output[:, 0]), 0
    )
    kept = np.argsort(-dependence, kind="stable")[:HSIC_COLUMNS]
    kernels = _gaussian_kernels(Z[:, kept])
    entered = lars_path_gram(
        dependence[kept].copy(),
        (kernels.T @ kernels).astype(np.float64),
        n_samples=len(rows) ** 2,
        max_iter=4 * n,
        method="lasso",
        positive=True,
    )[2]
    first = [np.flatnonzero(path)[0] if path.any() else entered.shape[1] for path in entered]
    return kept[np.argsort(first, kind="stable")]


def _in_parts(Z: Floats, measure: Callable[[Floats], Any]) -> Floats:
    size = max(1, HSIC_ELEMENTS // len(Z) ** 2)
    parts = [measure(Z[:, start : start + size]) for start in range(0, Z.shape[1], size)]
    return np.concatenate(parts).astype(np.float64)


def _gaussian_kernels(Z: Floats) -> NDArray[np.float32]:
    """Return the centred kernel matrix of each column as a column of length 1."""
    values = Z.astype(np.float32)
    squared = (values[:, np.newaxis] - values) ** 2  # rows × rows × columns
    return _unit_kernels(np.exp(-squared / 2))


def _of_targets(y: Floats) -> NDArray[np.float32]:
    Z = unit_columns(y[:, np.newaxis]) * np.sqrt(len(y))
    squared = (Z[:, np.newaxis] - Z) ** 2
    kernel: NDArray[np.float32] = np.exp(-squared / 2).astype(np.float32)
    return kernel


def _class_kernel(y: Integers) -> NDArray[np.float32]:
    same = y[:, np.newaxis] == y
    kernel: NDArray[np.float32] = (same / same.sum(axis=1)).astype(np.float32)
    return kernel[:, :, np.newaxis]


def _unit_kernels(kernels: NDArray[np.float32]) -> NDArray[np.float32]:
    centred = (
        kernels
        - kernels.mean(axis=0, keepdims=True)
        - kernels.mean(axis=1, keepdims=True)
        + kernels.mean(axis=(0, 1), keepdims=True)
    )
    flat = centred.reshape(-1, kernels.shape[2])
    length = np.sqrt((flat**2).sum(axis=0))
    unit: NDArray[np.float32] = flat / np.where(length > 1e-6, length, np.inf)
    return unit


FILTERS: dict[str, tuple[frozenset[str], Callable[[Any, Supervision, int], Any]]] = {
    "jmi": (LABELS_OR_TARGETS, of_known_rows(jmi)),
    "cmim": (LABELS_OR_TARGETS, of_known_rows(cmim)),
    "hsic_lasso": (LABELS_OR_TARGETS, of_known_rows(hsic_lasso)),
}
"""For each method, the kinds of supervision that it uses, and the function."""

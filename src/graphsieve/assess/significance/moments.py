"""Variance and third moment of a quadratic form over all permutations of a feature, without
enumeration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from math import factorial, perm, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve._base.array_types import Floats

# Sums over a matrix K, named by the pattern in which the indices of its entries coincide. Indices
# are nodes, K_ii is a loop, and K_ij is an edge.
_NAMES = {
    ((0, 0), (0, 0)): "loops2",  # Σ K_ii²
    ((0, 1), (0, 1)): "edges2",  # Σ K_ij²
    ((0, 0), (0, 0), (0, 0)): "loops3",  # Σ K_ii³
    ((0, 0), (0, 1), (0, 1)): "loop_edges2",  # Σ K_ii K_ij²
    ((0, 0), (0, 1), (1, 1)): "loops_edge",  # Σ K_ii K_ij K_jj
    ((0, 1), (0, 1), (0, 1)): "edges3",  # Σ K_ij³
    ((0, 1), (0, 2), (1, 2)): "triangle",  # Σ K_ij K_jk K_ki
}
MATRIX_SUMS = tuple(_NAMES.values())
Pattern = tuple[tuple[int, int], ...]


def permutation_moments(
    of_matrix: Mapping[str, Any], of_feature: Mapping[str, Any], n_samples: int
) -> tuple[Any, Any]:
    """Variance and third moment of fᵀKf over all permutations of f.

    Requires Σf = 0, Σf² = 1, and a K with zero trace and with rows that sum to zero. The zero trace
    implies a zero mean. `of_matrix` contains the `MATRIX_SUMS` of K. `of_feature` contains Σ f³,
    Σ f⁴ and Σ f⁶ as f3, f4 and f6.

    Examples
    --------
    K = diag(1, −1, 0) minus its row and column means; f has the values ±√½ and 0, in 6 orders:

    >>> from graphsieve.assess.significance.forms import Form, matrix_sums
    >>> K = np.array([[1, 0, -1], [0, -1, 1], [-1, 1, 0]]) / 3
    >>> variance, third = permutation_moments(matrix_sums(Form.of_matrix(K)), {"f3": 0.0, "f4": 0.5, "f6": 0.25}, 3)
    >>> float(round(variance, 6)), float(round(third, 6))
    (0.166667, 0.0)
    """
    return _expected(2, of_matrix, of_feature, n_samples), _expected(
        3, of_matrix, of_feature, n_samples
    )


def _expected(
    order: int, of_matrix: Mapping[str, Any], of_feature: Mapping[str, Any], n_samples: int
) -> Any:
    """E (fᵀKf)^order, as a sum over the patterns of K and of ffᵀ."""
    patterns, coefficients = _coincidences(order)[0], _coefficients(order, n_samples)
    of_product = [_of_product(pattern, of_feature) for pattern in patterns]
    total: Any = 0.0
    for pattern, row in zip(patterns, coefficients, strict=True):
        if pattern in _NAMES:  # The other patterns contain the trace of K, which is zero.
            total = total + of_matrix[_NAMES[pattern]] * sum(
                c * value for c, value in zip(row, of_product, strict=True)
            )
    return total


@lru_cache
def _coefficients(order: int, n_samples: int) -> Floats:
    """Coefficient of each pair of patterns for this number of samples.

    They are computed from exact fractions, because large terms cancel.
    """
    patterns, by_size = _coincidences(order)
    total = np.full((len(patterns), len(patterns)), Fraction(0), dtype=object)
    for size, matrix in by_size.items():
        if size <= n_samples:
            total = total + matrix * Fraction(1, perm(n_samples, size))
    return total.astype(np.float64)


def _of_product(pattern: Pattern, of_feature: Mapping[str, Any]) -> Any:
    """Sum of a pattern over the matrix ffᵀ. A node with degree d contributes Σ f^d."""
    degrees = np.bincount(np.ravel(pattern))
    powers = {2: 1.0, 3: of_feature["f3"], 4: of_feature["f4"], 6: of_feature["f6"]}
    return prod((powers[int(degree)] for degree in degrees), start=1.0)


@lru_cache
def _coincidences(order: int) -> tuple[tuple[Pattern, ...], dict[int, NDArray[Any]]]:
    """Return all patterns of `order` entries in which every index occurs at least twice.

    The second value maps each number of distinct indices to a matrix over pairs of patterns:

    E (fᵀKf)^order = Σ_size Σ_ab (pattern a of K) · matrix[size]_ab · (pattern b of ffᵀ) / (n (n−1)
    … (n−size+1)).
    """
    partitions = list(_partitions(2 * order))
    patterns = tuple(sorted({found for found in map(_pattern, partitions) if found is not None}))
    place = {found: position for position, found in enumerate(patterns)}
    by_size: dict[int, NDArray[Any]] = {}
    for partition in partitions:
        size = max(partition) + 1
        # Möbius inversion gives the sum over distinct indices from unrestricted sums, in which
        # further indices may coincide.
        weights = np.zeros(len(patterns), dtype=object)
        for merged in _partitions(size):
            found = _pattern(tuple(merged[block] for block in partition))
            if found is not None:
                weights[place[found]] += prod(
                    (-1) ** (c - 1) * factorial(c - 1) for c in np.bincount(merged).tolist()
                )
        by_size[size] = by_size.get(size, 0) + np.outer(weights, weights)
    return patterns, by_size


def _partitions(n_items: int) -> Iterator[tuple[int, ...]]:
    """Yield all partitions of the items, as the block number of each item.

    Blocks are numbered in the order of their first items.
    """
    if n_items == 0:
        yield ()
        return
    for start in _partitions(n_items - 1):
        for block in range(max(start, default=-1) + 2):
            yield (*start, block)


def _pattern(partition: tuple[int, ...]) -> Pattern | None:
    """Return the canonical multigraph of a partition of edge ends, up to renaming of the nodes.

    It is None if a block contains only one end.
    """
    if np.bincount(partition).min() < 2:
        return None
    edges = list(zip(partition[::2], partition[1::2], strict=True))
    names = permutations(range(max(partition) + 1))
    renamed = (sorted(((min(n[a], n[b]), max(n[a], n[b])) for a, b in edges)) for n in names)
    return tuple(min(renamed))

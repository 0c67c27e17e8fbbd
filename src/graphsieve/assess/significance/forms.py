"""Quadratic forms over the samples: energies and spreads of graphs, and the sums over their
matrices that the moments require.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError
from graphsieve._base.messages import parameter
from graphsieve._kernels.column_sums import TEMPORARY_ELEMENTS
from graphsieve.graphs.graph import (
    CrossGraph,
    DifferenceGraph,
    EdgeGraph,
    FactorGraph,
    Graph,
    SumGraph,
)

# Columns of a factor with at most this number of entries are converted to edges, because there may
# be thousands of such columns.
EDGES_OF_A_FACTOR = 64
# Up to this number of columns, permuting the factor is faster than permuting the features.
NARROW = 32
# Largest number of elements, and smallest share of nonzeros, of a matrix that is made dense.
LARGEST_DENSE, DENSE_FROM = 2**20, 0.05


@dataclass(frozen=True)
class Form:
    """Quadratic form fᵀXf + Σ_a c_a (F_aᵀf)².

    The rows of its matrix sum to zero. The matrix is never computed explicitly.

    Attributes
    ----------
    near : CSR matrix of shape (n_samples, n_samples)
        Symmetric matrix X, including its diagonal.
    factor : CSR matrix of shape (n_samples, n_columns)
        Columns F_a.
    signs : array of shape (n_columns,)
        Coefficients c_a.
    """

    near: Any
    factor: Any
    signs: Floats

    @classmethod
    def of_matrix(cls, matrix: Any) -> Form:
        """Return the form of an explicit matrix."""
        return cls(sp.csr_array(matrix), sp.csr_array((np.shape(matrix)[0], 0)), np.empty(0))

    @property
    def n_samples(self) -> int:
        return int(self.near.shape[0])

    def __add__(self, other: Form) -> Form:
        factor = sp.csr_array(sp.hstack([self.factor, other.factor]))
        return Form(
            sp.csr_array(self.near + other.near), factor, np.concatenate([self.signs, other.signs])
        )

    def times_vector(self, vector: Floats) -> Floats:
        return np.asarray(
            self.near @ vector + self.factor @ (self.signs * (self.factor.T @ vector))
        )

    def times(self, number: float) -> Form:
        return Form(self.near * number, self.factor, self.signs * number)

    @cached_property
    def near_rows(self) -> Any:
        """X in the form with the fastest product: dense if it is small and not very sparse."""
        size = self.n_samples**2
        return (
            self.near.toarray()
            if size <= LARGEST_DENSE and self.near.nnz > DENSE_FROM * size
            else self.near
        )

    @cached_property
    def loops(self) -> Floats:
        """Diagonal of the matrix."""
        return np.asarray(self.near.diagonal() + self.factor.multiply(self.factor) @ self.signs)

    def traceless(self) -> Form:
        """Subtract the multiple of the centred sum of squares that makes the trace zero.

        This subtracts the same value for every permutation.
        """
        return self + centering(self.n_samples).times(
            -float(self.loops.sum()) / (self.n_samples - 1)
        )

    @property
    def never_changes(self) -> bool:
        """Whether all permutations of a feature have the same value, up to rounding errors."""
        return matrix_sums(self.traceless())["edges2"] < 1e-10 * matrix_sums(self)["edges2"]

    @cached_property
    def own(self) -> Floats | None:
        """Diagonal of X if X is diagonal, else None."""
        diagonal = self.near.diagonal()
        return diagonal if np.count_nonzero(diagonal) == self.near.count_nonzero() else None


def centering(n_samples: int) -> Form:
    """Centred sum of squares Σ (f_i − mean)²."""
    ones = sp.csr_array(np.full((n_samples, 1), 1 / np.sqrt(n_samples)))
    return Form(sp.csr_array(sp.eye_array(n_samples)), ones, np.array([-1.0]))


def energy_form(graph: Graph) -> Form:
    """Energy of a graph: ½ Σ_ij W_ij (f_i − f_j)²."""
    if isinstance(graph, SumGraph):
        return energy_form(graph.one) + energy_form(graph.other)
    if isinstance(graph, DifferenceGraph):
        return energy_form(graph.whole) + energy_form(graph.part).times(-1.0)
    if isinstance(graph, FactorGraph):
        return _factor_form(graph.factor)
    if isinstance(graph, CrossGraph):  # s sᵀ − F Fᵀ, where s is the sum of the columns of F
        everything = sp.csc_array(np.asarray(graph.factor.sum(axis=1)).reshape(-1, 1))
        return _factor_form(everything) + _factor_form(graph.factor).times(-1.0)
    if isinstance(graph, EdgeGraph):
        first, second, weights = (
            np.concatenate(column) for column in zip(*graph.edges(), strict=True)
        )
        return _edge_form(graph.n_samples, first, second, weights)
    raise InputError(
        "p-values need a graph over the samples themselves; leave ", parameter("compress"), " out."
    )


def spread_form(graph: Graph) -> Form:
    """Spread of a graph: Σ_i d_i (f_i − μ)² with the degree-weighted mean μ."""
    degree = graph.degree()
    return Form(
        sp.csr_array(sp.diags_array(degree)),
        sp.csr_array(degree[:, None]),
        np.array([-1.0 / float(degree.sum())]),
    )


def _edge_form(n: int, first: Integers, second: Integers, weights: Floats) -> Form:
    ends = (np.concatenate([first, second]), np.concatenate([second, first]))
    linked = sp.csr_array((np.tile(weights, 2), ends), shape=(n, n))
    return Form.of_matrix(sp.diags_array(linked.sum(axis=1)) - linked)


def _factor_form(factor: Any) -> Form:
    """Form of diag(F Fᵀ 1) − F Fᵀ. Columns with few entries are converted to edges."""
    filled = np.diff(factor.indptr)
    few = (filled <= EDGES_OF_A_FACTOR) & (len(filled) > NARROW)
    large, small = sp.csr_array(factor[:, ~few]), sp.csr_array(factor[:, few])
    mass = np.asarray(large @ np.asarray(large.sum(axis=0)).ravel())
    form = Form(sp.csr_array(sp.diags_array(mass)), large, np.full(large.shape[1], -1.0))
    if not few.any():
        return form
    linked = sp.csr_array(small @ small.T)
    return form + Form.of_matrix(sp.diags_array(linked.sum(axis=1)) - linked)


def matrix_sums(form: Form) -> dict[str, float]:
    """Return the `MATRIX_SUMS` of a form, in time proportional to its edges and columns."""
    near, factor, signs, loops = form.near, form.factor, form.signs, form.loops
    signed = sp.csr_array(factor.multiply(signs))
    gram = np.asarray((factor.T @ factor).toarray())  # FᵀF
    row, column, value = _entries(near)
    low = _at(signed, factor, row, column)  # entries of F c Fᵀ at the nonzeros of X
    image, inner = sp.csr_array(near @ factor), signs[:, None] * gram * signs  # XF, cFᵀFc
    # Σ_j K_ij² for every row.
    squares = np.bincount(row, value * (value + 2 * low), minlength=form.n_samples) + _row_forms(
        factor, inner
    )
    mixed = np.asarray((factor.T @ image).toarray())  # FᵀXF
    step = signs[:, None] * gram  # cFᵀF
    triangle = (
        float((near @ near).multiply(near).sum())
        + 3 * float(np.asarray(image.multiply(image).sum(axis=0)).ravel() @ signs)
        + 3 * float((inner * mixed.T).sum())
        + float(np.trace(step @ step @ step))
    )
    return {
        "loops2": float(loops @ loops),
        "edges2": float(squares.sum()),
        "loops3": float((loops**3).sum()),
        "loop_edges2": float(loops @ squares),
        "loops_edge": float(loops @ (near @ loops) + signs @ (factor.T @ loops) ** 2),
        "edges3": float((value * (value**2 + 3 * value * low + 3 * low**2)).sum())
        + _cubes(factor, signs),
        "triangle": triangle,
    }


def _entries(matrix: Any) -> tuple[Integers, Integers, Floats]:
    found = sp.coo_array(matrix)
    return found.row, found.col, found.data


def _at(signed: Any, factor: Any, row: Integers, column: Integers) -> Floats:
    """Entries of F c Fᵀ at the given positions, computed in blocks."""
    step = max(1, TEMPORARY_ELEMENTS // max(1, factor.shape[1]))
    parts = [
        np.asarray(
            signed[row[start : start + step]]
            .multiply(factor[column[start : start + step]])
            .sum(axis=1)
        ).ravel()
        for start in range(0, len(row), step)
    ]
    return np.concatenate([np.empty(0), *parts])


def _row_forms(factor: Any, inner: Floats) -> Floats:
    """F_i · inner · F_i for every row, computed in blocks."""
    step = max(1, TEMPORARY_ELEMENTS // max(1, factor.shape[1]))
    parts = [
        np.asarray(
            factor[start : start + step].multiply(factor[start : start + step] @ inner).sum(axis=1)
        ).ravel()
        for start in range(0, factor.shape[0], step)
    ]
    return np.concatenate([np.empty(0), *parts])


def _cubes(factor: Any, signs: Floats) -> float:
    """Σ_ij (F c Fᵀ)_ij³.

    The sum is over pairs of distinct rows of F, or over the third moments of its columns, depending
    on which needs fewer operations.
    """
    rows, sizes = distinct_rows(factor)
    n_rows, width = rows.shape
    total = 0.0
    if n_rows**2 * width <= n_rows * width**3:
        step = max(1, TEMPORARY_ELEMENTS // max(1, n_rows))
        for start in range(0, n_rows, step):
            part = slice(start, start + step)
            total += float(sizes[part] @ ((rows[part] * signs) @ rows.T) ** 3 @ sizes)
        return total
    # Σ_abc c_a c_b c_c (Σ_i F_ia F_ib F_ic)²
    weighted = rows * sizes[:, None]
    for a in range(width):
        third = (weighted * rows[:, a : a + 1]).T @ rows
        total += signs[a] * float(signs @ third**2 @ signs)
    return total


def distinct_rows(factor: Any) -> tuple[Floats, Floats]:
    rows, sizes = np.unique(factor.toarray(), axis=0, return_counts=True)
    return rows, sizes.astype(np.float64)

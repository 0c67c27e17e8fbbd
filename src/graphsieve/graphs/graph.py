"""Graphs over the samples, the common input of all graph-based scores.

A graph represents the neighbourhood structure or the supervision. It has non-negative weights
W_ij = W_ji and no self-loops. It provides three quantities:

- `degree()`: d_i = Σ_j W_ij;
- `energy(X)`: ½ Σ_ij W_ij (f_i − f_j)² for every feature f;
- `spread(X)`: Σ_i d_i (f_i − μ)² with the degree-weighted mean μ.

Graphs are immutable. Their representation (edges, edges generated on the fly, low rank, sums,
differences) is internal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.errors import InputError
from graphsieve._kernels.band import Band
from graphsieve._kernels.column_sums import weighted_sum
from graphsieve.table.any_table import as_table
from graphsieve.table.blocks import Block
from graphsieve.table.columns import Table, on_columns
from graphsieve.table.sums import (
    columns_at_once,
    cross_energy,
    dense_weighting,
    edge_sum,
    group_weightings,
    moments,
)

Edges = tuple[Integers, Integers, Floats]


class Graph(ABC):
    """Base class of all graphs over the samples."""

    def __init__(self, n_samples: int) -> None:
        self.n_samples = n_samples

    @abstractmethod
    def degree(self) -> Floats:
        """Compute Σ_j W_ij for every sample."""

    @abstractmethod
    def block_energy(self, block: Block) -> Floats:
        """Compute the energies of a block of features, in the units of the block."""

    def block_spread(self, block: Block) -> Floats:
        """Compute the degree-weighted spreads of a block of features, in the units of the block."""
        return np.asarray(moments(block, self._degree_weighting).scatter[0])

    def block_forms(self, block: Block) -> tuple[Floats, Floats]:
        """Compute energy and spread of a block, if possible in a single pass over it."""
        return self.block_energy(block), self.block_spread(block)

    @abstractmethod
    def weighted_by(self, masses: Floats) -> Graph:
        """Return the graph with the weights m_i m_j W_ij, for samples with the masses m."""

    def _energy_and_spread(self, block: Block) -> Floats:
        return np.stack(self.block_forms(block))

    def energy(self, X: Any) -> Floats:
        """Compute ½ Σ_ij W_ij (f_i − f_j)² for every column f of `X`."""
        return self._over_table(X, self.block_energy)

    def spread(self, X: Any) -> Floats:
        """Compute Σ_i d_i (f_i − μ)² for every column f of `X`, with the degree-weighted mean μ."""
        return self._over_table(X, self.block_spread)

    def __add__(self, other: Graph) -> Graph:
        return SumGraph(self, other)

    def __sub__(self, other: Graph) -> Graph:
        return DifferenceGraph(self, other)

    @cached_property
    def _degree_weighting(self) -> Any:
        return dense_weighting(self.degree())

    def _over_table(self, X: Any, form: Callable[[Block], Floats]) -> Floats:
        table = X if isinstance(X, Table) else as_table(X)
        check_same_samples(self.n_samples, table.n_samples)
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(
                table.evaluated(lambda block: np.ldexp(form(block), 2 * block.exponent), wide=True)
            )


class EdgeGraph(Graph):
    """A graph that can list its edges, each once, in chunks that fit into memory."""

    @abstractmethod
    def edges(self) -> Iterator[Edges]:
        """Yield the edges in chunks of (first, second, weights)."""

    def degree(self) -> Floats:
        total = np.zeros(self.n_samples)
        for first, second, weights in self.edges():
            total += np.bincount(first, weights, self.n_samples) + np.bincount(
                second, weights, self.n_samples
            )
        return total

    def block_energy(self, block: Block) -> Floats:
        if block.is_stored:  # a single pass over the columns, for any number of chunks of edges
            return np.asarray(on_columns(block, self.block_energy))
        total = np.zeros(block.width)
        for first, second, weights in self.edges():
            total += edge_sum(block, first, second, weights)
        return total

    def block_forms(self, block: Block) -> tuple[Floats, Floats]:
        if not block.is_stored:
            return super().block_forms(block)
        # One pass over the columns computes both.
        energy, spread = on_columns(block, self._energy_and_spread)
        return energy, spread


class SparseGraph(EdgeGraph):
    """A graph stored as a list of weighted edges.

    Parameters
    ----------
    n_samples : int
        Number of nodes.
    first, second : array of int of shape (n_edges,)
        The two ends of each edge, in any order. The weights of repeated edges are added.
    weights : array of float of shape (n_edges,), optional
        Non-negative weights; 1 by default. Edges of weight zero are dropped.

    Examples
    --------
    >>> path = SparseGraph(3, [0, 1], [1, 2])
    >>> path.degree()
    array([1., 2., 1.])
    >>> path.energy([[1.0], [3.0], [4.0]])  # (1 − 3)² + (3 − 4)²
    array([5.])
    """

    def __init__(
        self, n_samples: int, first: ArrayLike, second: ArrayLike, weights: ArrayLike | None = None
    ) -> None:
        super().__init__(n_samples)
        ends = _checked_ends(n_samples, first, second)
        values = np.ones(len(ends)) if weights is None else _checked_weights(weights, len(ends))
        low, high = ends.min(axis=1), ends.max(axis=1)
        key, where = np.unique(low * n_samples + high, return_inverse=True)
        total = np.bincount(where, weights=values, minlength=len(key)) if len(key) else np.empty(0)
        key = key[total > 0]
        self.weights: Floats = np.asarray(total[total > 0], dtype=np.float64)
        self.first: Integers = key // n_samples
        self.second: Integers = key % n_samples

    @classmethod
    def of_distinct(
        cls, n_samples: int, first: Integers, second: Integers, weights: Floats
    ) -> SparseGraph:
        """Build a graph from edges that are known to be valid and distinct, without checks.

        The edges keep their order, and sums follow it.
        """
        graph = cls.__new__(cls)
        Graph.__init__(graph, n_samples)
        kept = slice(None) if weights.all() else weights > 0
        graph.first, graph.second, graph.weights = first[kept], second[kept], weights[kept]
        return graph

    @classmethod
    def from_matrix(cls, matrix: Any) -> SparseGraph:
        """Build a graph from a symmetric non-negative weight matrix, dense or sparse.

        The diagonal is ignored.
        """
        weights = sp.coo_array(matrix)
        if weights.ndim != 2 or weights.shape[0] != weights.shape[1]:
            raise InputError(f"a weight matrix must be square, got shape {weights.shape}.")
        if abs(weights - weights.T).max() > 1e-12 * abs(weights).max():
            raise InputError(
                "a weight matrix must be symmetric; use np.maximum(W, W.T) to make it so."
            )
        upper = sp.coo_array(sp.triu(weights, k=1))
        return cls(weights.shape[0], upper.row, upper.col, upper.data)

    @cached_property
    def matrix(self) -> Any:
        """The weights, as a symmetric CSR matrix."""
        ends = (
            np.concatenate([self.first, self.second]),
            np.concatenate([self.second, self.first]),
        )
        return sp.csr_array(
            (np.tile(self.weights, 2), ends), shape=(self.n_samples, self.n_samples)
        )

    def edges(self) -> Iterator[Edges]:
        yield self.first, self.second, self.weights

    def weighted_by(self, masses: Floats) -> SparseGraph:
        weights = self.weights * masses[self.first] * masses[self.second]
        return SparseGraph.of_distinct(self.n_samples, self.first, self.second, weights)

    def times(self, vectors: Floats) -> Floats:
        """Multiply the weight matrix by one or more vectors."""
        return np.asarray(self.matrix @ vectors)

    def components(self) -> Integers:
        """Return the index of the connected component of each sample."""
        return np.asarray(connected_components(self.matrix, directed=False)[1], dtype=np.int64)

    def keep(self, chosen: Booleans) -> SparseGraph:
        """Return the graph with only the edges where `chosen` is true."""
        return SparseGraph.of_distinct(
            self.n_samples, self.first[chosen], self.second[chosen], self.weights[chosen]
        )


class BandGraph(EdgeGraph):
    """A graph in which each sample is linked only with the next few samples in a given order.

    Sums pass through the samples in this order and read each sample once. They neither list the
    edges nor read both ends of every edge.

    Parameters
    ----------
    order : array of int of shape (n_samples,)
        The samples, each once.
    begin : array of int of shape (n_samples + 1,)
        First edge of each sample in `order`, followed by the number of edges. A sample with m edges
        is linked with the m samples that follow it.
    weights : array of float of shape (n_edges,)
        Non-negative weights. The weights of the first sample in `order` to the samples that follow
        it come first, then those of the second sample, and so on.

    Examples
    --------
    >>> path = BandGraph(np.array([2, 0, 1]), np.array([0, 1, 2, 2]), np.array([1.0, 3.0]))
    >>> path.degree()
    array([4., 3., 1.])
    >>> path.energy([[1.0], [3.0], [4.0]])  # (4 − 1)² + 3 (1 − 3)²
    array([21.])
    """

    def __init__(self, order: Integers, begin: Integers, weights: Floats) -> None:
        super().__init__(len(order))
        self._band = Band(order, begin, weights)

    def edges(self) -> Iterator[Edges]:
        low, high = self._band.places()
        order, weights = self._band.order, self._band.weights
        kept = slice(None) if weights.all() else weights > 0
        yield order[low[kept]], order[high[kept]], weights[kept]

    def weighted_by(self, masses: Floats) -> BandGraph:
        band = self._band
        low, high = (masses[band.order[ends]] for ends in band.places())
        return BandGraph(band.order, band.begin, band.weights * low * high)

    def degree(self) -> Floats:
        return self._band.degree()

    def block_energy(self, block: Block) -> Floats:
        return super().block_energy(block) if _listed(block) else self._band.energy(block.numbers)

    def block_spread(self, block: Block) -> Floats:
        return super().block_spread(block) if _listed(block) else self.block_forms(block)[1]

    def block_forms(self, block: Block) -> tuple[Floats, Floats]:
        return (
            super().block_forms(block)
            if _listed(block)
            else self._band.energy_and_spread(block.numbers)
        )


def _listed(block: Block) -> bool:
    """Whether sums must list the edges, as for sparse blocks and blocks that are not yet read."""
    return block.is_sparse or block.is_stored


class StreamedGraph(EdgeGraph):
    """A graph with too many edges to store, which generates them in chunks whenever needed.

    Parameters
    ----------
    n_samples : int
        Number of nodes.
    make_edges : callable
        Returns a new iterator over chunks of (first, second, weights). No edge may occur twice.
    """

    def __init__(self, n_samples: int, make_edges: Callable[[], Iterator[Edges]]) -> None:
        super().__init__(n_samples)
        self._make_edges = make_edges

    def edges(self) -> Iterator[Edges]:
        return self._make_edges()

    def weighted_by(self, masses: Floats) -> StreamedGraph:
        def edges() -> Iterator[Edges]:
            for first, second, weights in self.edges():
                yield first, second, weights * masses[first] * masses[second]

        return StreamedGraph(self.n_samples, edges)

    @cached_property
    def _degrees(self) -> Floats:
        return super().degree()

    def degree(self) -> Floats:
        return self._degrees


class FactorGraph(Graph):
    """The low-rank graph W = F Fᵀ without its diagonal, never expanded.

    Parameters
    ----------
    factor : array or sparse matrix of shape (n_samples, n_factors)
        Non-negative numbers. Class indicators give a complete graph of each class. Class
        probabilities give weights equal to the probability that two samples share a class. A column
        of ones gives the complete graph.

    Examples
    --------
    >>> pairs = FactorGraph([[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> pairs.degree()
    array([1., 1., 1., 1.])
    >>> pairs.energy([[1.0], [3.0], [4.0], [4.0]])  # (1 − 3)² + (4 − 4)²
    array([4.])
    """

    def __init__(self, factor: Any) -> None:
        self.factor = _checked_factor(factor)
        super().__init__(self.factor.shape[0])

    def weighted_by(self, masses: Floats) -> FactorGraph:
        return FactorGraph(sp.diags_array(masses) @ self.factor)

    def degree(self) -> Floats:
        with_diagonal: Floats = self.factor @ np.asarray(self.factor.sum(axis=0)).ravel()
        diagonal = np.asarray(self.factor.multiply(self.factor).sum(axis=1)).ravel()
        return np.asarray(np.maximum(with_diagonal - diagonal, 0.0))

    def block_energy(self, block: Block) -> Floats:
        return _few_at_a_time(block, self.factor.shape[1], self._energy)

    def _energy(self, block: Block) -> Floats:
        # ½ Σ_ij p_i p_j (f_i − f_j)² = mass · scatter, for each column p of the factor.
        found = moments(block, self.factor)
        return weighted_sum(found.mass, found.scatter)


class CrossGraph(Graph):
    """The low-rank graph W_ij = Σ_{c ≠ d} F_ic F_jd without its diagonal, never expanded.

    Class indicators give all pairs of samples of different classes. Class probabilities give
    weights equal to the probability that two samples do not share a class, 1 − F Fᵀ.

    Parameters
    ----------
    factor : array or sparse matrix of shape (n_samples, n_factors)
        Non-negative numbers.

    Examples
    --------
    >>> apart = CrossGraph([[1, 0], [1, 0], [0, 1]])
    >>> apart.degree()
    array([1., 1., 2.])
    >>> apart.energy([[1.0], [3.0], [4.0]])  # (1 − 4)² + (3 − 4)²
    array([10.])
    """

    def __init__(self, factor: Any) -> None:
        self.factor = _checked_factor(factor)
        super().__init__(self.factor.shape[0])

    def weighted_by(self, masses: Floats) -> CrossGraph:
        return CrossGraph(sp.diags_array(masses) @ self.factor)

    def degree(self) -> Floats:
        mass = np.asarray(self.factor.sum(axis=0)).ravel()
        of_sample = np.asarray(self.factor.sum(axis=1)).ravel()
        own = np.asarray(self.factor.multiply(self.factor).sum(axis=1)).ravel()
        return np.asarray(np.maximum(self.factor @ (mass.sum() - mass) - (of_sample**2 - own), 0.0))

    def block_energy(self, block: Block) -> Floats:
        return _few_at_a_time(block, self.factor.shape[1], self._energy)

    def _energy(self, block: Block) -> Floats:
        found = moments(block, self.factor)
        return 0.5 * cross_energy(found, found)


class SumGraph(Graph):
    """The sum of two graphs, with the sum of their weights."""

    def __init__(self, one: Graph, other: Graph) -> None:
        check_same_samples(one.n_samples, other.n_samples)
        super().__init__(one.n_samples)
        self.one, self.other = one, other

    def weighted_by(self, masses: Floats) -> Graph:
        return self.one.weighted_by(masses) + self.other.weighted_by(masses)

    def degree(self) -> Floats:
        return self.one.degree() + self.other.degree()

    def block_energy(self, block: Block) -> Floats:
        return self.one.block_energy(block) + self.other.block_energy(block)


class DifferenceGraph(Graph):
    """The difference of two graphs, with the weights of `whole` minus those of `part`.

    If `whole` is complete, this is the complement of `part`. The weights of `part` must not exceed
    those of `whole`. This is not checked, because low-rank weights are never expanded.
    """

    def __init__(self, whole: Graph, part: Graph) -> None:
        check_same_samples(whole.n_samples, part.n_samples)
        super().__init__(whole.n_samples)
        self.whole, self.part = whole, part

    def weighted_by(self, masses: Floats) -> Graph:
        return self.whole.weighted_by(masses) - self.part.weighted_by(masses)

    def degree(self) -> Floats:
        return np.maximum(self.whole.degree() - self.part.degree(), 0.0)

    def block_energy(self, block: Block) -> Floats:
        return np.maximum(self.whole.block_energy(block) - self.part.block_energy(block), 0.0)


class LiftedGraph(Graph):
    """A graph over kept samples and prototypes, extended to all samples that they represent.

    Consider an edge of weight w between two rows that represent a and b samples. It links all
    samples of the first row with all samples of the second. Each pair has weight w / √(a b), and
    all pairs together have weight w √(a b). The energy of a feature thus depends on its means per
    prototype and on its variances within prototypes. Otherwise features would seem smoother,
    because prototypes average out the noise.

    The samples of one prototype are close to each other, so they are linked as well. For a samples,
    each pair has weight `own` / a. The extended graph is never expanded.

    Parameters
    ----------
    graph : EdgeGraph
        Graph over the rows of a compressed table.
    member : array of int of shape (n_samples,)
        The row that represents each sample. Every row represents at least one sample.
    own : float
        Weight of the links between samples of the same row.
    masses : array of shape (n_samples,), optional
        Masses of the samples, 1 by default. A row represents the sum of the masses of its samples.

    Examples
    --------
    >>> lifted = LiftedGraph(SparseGraph(2, [0], [1]), np.array([0, 1, 1, 1, 1]), own=0.0)  # 1 linked with 4, weight ½
    >>> lifted.degree()
    array([2. , 0.5, 0.5, 0.5, 0.5])
    >>> lifted.energy([[0.0], [1.0], [1.0], [3.0], [3.0]])  # ½ (1 + 1 + 9 + 9)
    array([10.])
    """

    def __init__(
        self,
        graph: EdgeGraph,
        member: Integers,
        *,
        own: float = 1.0,
        masses: Floats | None = None,
    ) -> None:
        super().__init__(len(member))
        self.graph, self.member, self.own = graph, member, own
        self.masses = np.ones(len(member)) if masses is None else masses
        self.counts = np.bincount(member, self.masses, minlength=graph.n_samples)
        self._members = group_weightings(member, graph.n_samples, masses)

    def weighted_by(self, masses: Floats) -> LiftedGraph:
        masses = masses * self.masses
        present = np.bincount(self.member, masses, minlength=self.graph.n_samples) > 0
        graph, member = self.graph, self.member
        if not present.all():
            # Rows without mass are left out. Their samples have no mass either.
            graph = among(graph, present)
            member = np.where(present[member], (np.cumsum(present) - 1)[member], 0)
        return LiftedGraph(graph, member, own=self.own, masses=masses)

    def degree(self) -> Floats:
        others = 1 - self.masses / self.counts[self.member]
        return np.asarray(self.masses * (self._share[self.member] + self.own * others))

    def block_energy(self, block: Block) -> Floats:
        return _few_at_a_time(block, self.graph.n_samples, self._energy)

    def _energy(self, block: Block) -> Floats:
        # Σ_{a ∈ i, b ∈ j} (f_a − f_b)² / (c_i c_j) = (mean_i − mean_j)² + scatter_i / c_i +
        # scatter_j / c_j
        found = moments(block, self._members)
        means = block.with_values(found.mean)
        # … and Σ_{a < b ∈ i} (f_a − f_b)² / c_i = scatter_i.
        total = weighted_sum(self._share + self.own, found.scatter)
        for first, second, weights in self._edges():
            total += edge_sum(means, first, second, weights)
        return total

    def _edges(self) -> Iterator[Edges]:
        for first, second, weights in self.graph.edges():
            yield first, second, weights * np.sqrt(self.counts[first] * self.counts[second])

    @cached_property
    def _share(self) -> Floats:
        """The degree of every row, divided by the number of samples it represents."""
        total = np.zeros(len(self.counts))
        for first, second, weights in self._edges():
            total += np.bincount(first, weights, len(total)) + np.bincount(
                second, weights, len(total)
            )
        return np.asarray(total / self.counts)

    def times(self, vectors: Floats) -> Floats:
        """Multiply the weight matrix by one or more vectors."""
        counts, masses = self.counts, self.masses
        if vectors.ndim == 2:
            counts, masses = counts[:, None], masses[:, None]
        sums, root = self._members.T @ vectors, np.sqrt(counts)
        by_row = _adjacency(self.graph) @ (sums / root) / root + self.own * sums / counts
        itself = self.own * masses * vectors / counts[self.member]
        return np.asarray(masses * (by_row[self.member] - itself))

    def components(self) -> Integers:
        """Return the index of the connected component of each sample."""
        return np.asarray(
            connected_components(_adjacency(self.graph), directed=False)[1][self.member],
            dtype=np.int64,
        )


def among(graph: EdgeGraph, present: Booleans) -> SparseGraph:
    """Return the edges between some samples, which are numbered from 0."""
    place, size = np.cumsum(present) - 1, int(present.sum())
    edges = [
        (first[kept], second[kept], weights[kept])
        for first, second, weights in graph.edges()
        for kept in [present[first] & present[second]]
    ]
    first, second, weights = (np.concatenate(parts) for parts in zip(*edges, strict=True))
    return SparseGraph.of_distinct(size, place[first], place[second], weights)


def _few_at_a_time(block: Block, n_weightings: int, form: Callable[[Block], Floats]) -> Floats:
    """Evaluate a form on a block, a few columns at a time.

    This limits the memory, which is proportional to the number of columns times `n_weightings`.
    """
    width = columns_at_once(block, n_weightings)
    if block.is_sparse or block.width <= width:
        return form(block)
    return np.concatenate([form(part) for part in block.parts(width)])


def _adjacency(graph: EdgeGraph) -> Any:
    """Return the weights of a graph as a symmetric CSR matrix."""
    if isinstance(graph, SparseGraph):
        return graph.matrix
    return SparseGraph(
        graph.n_samples, *(np.concatenate(column) for column in zip(*graph.edges(), strict=True))
    ).matrix


def lifted(graph: Graph, member: Integers, *, own: float = 1.0) -> Graph:
    """Extend a graph over kept samples and prototypes to all samples.

    Low-rank parts of the graph must only link kept samples.
    """
    if isinstance(graph, SumGraph):
        return lifted(graph.one, member, own=own) + lifted(graph.other, member, own=0.0)
    if isinstance(graph, FactorGraph):
        return FactorGraph(graph.factor[member])
    assert isinstance(graph, EdgeGraph)
    return LiftedGraph(graph, member, own=own)


def complete_graph(n_samples: int, members: Booleans | None = None) -> FactorGraph:
    """Return the complete graph over all samples, or over `members`, with weights 1."""
    column = np.ones(n_samples) if members is None else members.astype(np.float64)
    return FactorGraph(column[:, None])


def _checked_factor(factor: Any) -> Any:
    matrix = sp.csc_array(
        factor if sp.issparse(factor) else np.atleast_2d(factor), dtype=np.float64
    )
    if matrix.nnz and (not np.isfinite(matrix.data).all() or matrix.data.min() < 0):
        raise InputError("the factor of a low-rank graph must be finite and non-negative.")
    matrix.eliminate_zeros()
    return matrix


def check_same_samples(one: int, other: int) -> None:
    if one != other:
        raise InputError(
            f"the inputs must describe the same samples, got {one} and {other} samples."
        )


def _checked_ends(n_samples: int, first: ArrayLike, second: ArrayLike) -> Integers:
    if np.shape(first) != np.shape(second) or np.ndim(first) != 1:
        raise InputError(
            f"edges must have two ends each, got {np.shape(first)} first and {np.shape(second)} "
            "second ends."
        )
    ends = np.stack([np.asarray(first), np.asarray(second)], axis=1)
    if ends.size and ends.dtype.kind not in "iu":
        raise InputError(f"edges must be given as integer indices, got {ends.dtype}.")
    ends = ends.astype(np.int64).reshape(-1, 2)
    if ends.size and (ends.min() < 0 or ends.max() >= n_samples):
        raise InputError(
            f"edges must join samples 0 to {n_samples - 1}, got {ends.min()} to {ends.max()}."
        )
    loops = np.flatnonzero(ends[:, 0] == ends[:, 1])
    if len(loops):
        raise InputError(
            f"edge {loops[0]} joins sample {ends[loops[0], 0]} to itself; a graph has no "
            "self-loops."
        )
    return ends


def _checked_weights(weights: ArrayLike, n_edges: int) -> Floats:
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (n_edges,):
        raise InputError(
            f"there must be one weight per edge ({n_edges}), got shape {values.shape}."
        )
    if values.size and not (np.isfinite(values).all() and values.min() >= 0):
        raise InputError("edge weights must be finite and non-negative.")
    return values

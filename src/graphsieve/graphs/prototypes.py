"""Compression of many samples without supervision into a few prototypes.

The cost of a score based on neighbours grows with the square of the number of samples. With
prototypes, it grows with the square of the number of prototypes. Samples with supervision are never
compressed. They are few, and their supervision does not apply to other samples.

There are two methods. A self-organizing map (`som`) fits a lattice of units to the samples and
keeps neighbouring units of the lattice close to each other. `kmeans` only minimizes the distances
of samples to their prototypes. In both cases, a prototype is finally the mean of its samples. The
mean of the prototypes, weighted by their counts, is therefore exactly the mean of the samples.

The graph of the prototypes is extended to all samples that they represent. This way of using the
counts was chosen by a benchmark (benchmarks/prototypes.py).

Rows that are read piece by piece (`StoredRows`) are processed group by group, with the same
operations as rows in memory. Sums are added, and assignments are concatenated. Only the prototypes
are sent to workers. Memory contains at most one group and a few arrays of the size of the
prototypes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import isqrt
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import KMeans, MiniBatchKMeans

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.errors import InputError, warn
from graphsieve._base.messages import parameter
from graphsieve._base.parameters import choice, count, either, quoted, remedy, setting
from graphsieve._base.underflow import ignoring_underflow
from graphsieve._kernels.column_sums import TEMPORARY_ELEMENTS
from graphsieve.graphs.neighbors.approximate import drawn_rows
from graphsieve.supervision.value import Supervision
from graphsieve.table.blocks import Block, extremes_of, scale_by_power_of_two
from graphsieve.table.columns import MemoryTable, Table
from graphsieve.table.stored.pieces import BYTES, memory_text
from graphsieve.table.stored.stored_rows import StoredRows, fetched_rows
from graphsieve.table.stored.stored_table import StoredTable
from graphsieve.table.sums import columns_at_once, group_weightings, means

EPOCHS = 20
# Final radius of the map. A lattice neighbour then has weight exp(−1/0.18) = 0.004, so that a unit
# is nearly the mean of its own samples.
FINAL_RADIUS = 0.3
LONGEST_SIDES_RATIO = 10.0  # largest ratio of the sides of an arranged lattice
# Number of features up to which the principal axes are exact. For more features, they come from a
# subspace iteration with SUBSPACE_WIDTH vectors and SUBSPACE_ROUNDS rounds.
EXACT_AXES_UP_TO = 512
SUBSPACE_WIDTH, SUBSPACE_ROUNDS = 12, 6
# Resolution at which samples count as distinct, relative to the largest norm. k-means squares
# distances, which leaves half of the digits.
GRID = 2.0**-24
MINIBATCH_FROM = 2**27  # samples × prototypes above which k-means uses mini-batches
BLOCK_ELEMENTS = min(2**18, TEMPORARY_ELEMENTS)  # distances per block, which stay in the cache
# For stored rows, k-means starts from this number of draws, each with one row per prototype.
DRAWS = 4
ROUNDS = 5  # maximum rounds of k-means over all stored rows
UNITS_HELD = 8  # arrays of the size of all prototypes that are in memory at the same time

Size = int | tuple[int, int] | None


@dataclass(frozen=True)
class Prototypes:
    """Prototypes that represent many samples.

    Attributes
    ----------
    centers : array of float of shape (n_prototypes, n_features)
        Mean of the samples of each prototype, in the units of the given rows.
    counts : array of int of shape (n_prototypes,)
        Number of samples that each prototype represents; at least 1.
    assignment : array of int of shape (n_samples,)
        Prototype of each sample.
    quantization_error : float
        Mean distance of a sample to its prototype.
    """

    centers: Floats
    counts: Integers
    assignment: Integers
    quantization_error: float


@dataclass(frozen=True)
class Compressed:
    """A table of kept samples and prototypes, with its supervision.

    Attributes
    ----------
    table : Table
        The samples with supervision in their original order, followed by the prototypes of all
        other samples.
    known : Supervision
        Supervision of these rows. Prototypes have none.
    counts : array of float of shape (n_rows,)
        Number of samples that each row represents; 1 for a kept sample.
    n_prototypes : int
        Number of prototypes, which are the last rows.
    member : array of int of shape (n_samples,)
        The row that represents each of the original samples.
    """

    table: Table
    known: Supervision
    counts: Floats
    n_prototypes: int
    member: Integers


@ignoring_underflow
def som(rows: Any, shape: Size = None, *, n_epochs: int = EPOCHS) -> Prototypes:
    """Compute prototypes by a self-organizing map.

    The map is trained in batches of all samples, and the training is deterministic. In every epoch,
    each sample is assigned to its best matching unit c(i). Ties are broken by the lower unit. Then
    every unit s moves to

        p_s = Σ_i h(s, c(i)) x_i / Σ_i h(s, c(i)),    h(s, c) = exp(−δ(s, c)² / (2T²)),

    where δ is the length of the shortest path on a rectangular lattice with four neighbours per
    unit. (The paper prints δ without the square, as in its heat kernel. The usual Gaussian has the
    square.) The radius T decreases from half the longer side to 0.3, in equal steps on a
    logarithmic scale. The initial map is a rectangle in the plane of the first two principal axes,
    with its longer side along the first axis.

    Each prototype is finally the mean of the samples assigned to its unit. The mean is closer to
    these samples than the smoothed vector of the unit. The assignment still reflects the order of
    the lattice, because it uses the smoothed vectors. A sample at a border may therefore be closer
    to another prototype than to its own. Units without samples are dropped, whereas the paper keeps
    all units.

    Rows that are read piece by piece are read once per epoch, and a few times before and after. The
    resulting map is the same.

    Parameters
    ----------
    rows : array, CSR matrix or StoredRows of shape (n_samples, n_features)
        The samples. The numbers and their squares must be finite in float64.
    shape : (int, int), int or None
        The sides of the lattice, or the maximum number of units. For a number of units, the ratio
        of the sides is about that of the standard deviations along the first two principal axes.
        None means the square root of the number of samples.
    n_epochs : int
        Number of passes through all samples.

    Returns
    -------
    Prototypes

    References
    ----------
    Benabdeslem, Hindawi (2011), Constrained Laplacian score for semi-supervised feature selection,
    Sec. 4.1, Eq. 14. Kohonen (2001), Self-organizing maps, third edition.

    Examples
    --------
    >>> found = som(np.array([[0.0], [1.0], [8.0], [10.0]]), (2, 1))
    >>> found.centers.ravel(), found.counts, found.assignment
    (array([0.5, 9. ]), array([2, 2]), array([0, 0, 1, 1]))
    >>> found.quantization_error
    0.75
    """
    samples = _samples(rows)
    return _prototypes(samples, _assigned_by_map(samples, shape, n_epochs))


@ignoring_underflow
def kmeans(rows: Any, n_prototypes: Size = None, *, random_state: int = 0) -> Prototypes:
    """Compute prototypes by k-means with k-means++ initialization.

    If samples × prototypes is very large, k-means uses mini-batches.

    For rows that are read piece by piece, the initial centres come from up to four times as many
    rows as prototypes. The first quarter of them is drawn uniformly, and each further quarter with
    probabilities proportional to the squared distance to the rows drawn before. Every row is
    assigned to the nearest of the drawn rows. K-means on the means of these groups, weighted by
    their sizes, gives the initial centres. At most five rounds over all rows follow. In total, the
    rows are read about a dozen times.

    Parameters
    ----------
    rows : array, CSR matrix or StoredRows of shape (n_samples, n_features)
        The samples. The numbers and their squares must be finite in float64.
    n_prototypes : int or None
        Maximum number of prototypes. There are fewer if there are fewer distinct samples. None
        means the square root of the number of samples.
    random_state : int
        Seed of the initialization.

    Returns
    -------
    Prototypes

    References
    ----------
    Arthur, Vassilvitskii (2007), k-means++: the advantages of careful seeding. Bahmani, Moseley,
    Vattani, Kumar, Vassilvitskii (2012), Scalable k-means++ (the draws of very many rows).

    Examples
    --------
    >>> found = kmeans(np.array([[0.0], [1.0], [8.0], [10.0]]), 2)
    >>> np.sort(found.centers.ravel()), found.counts
    (array([0.5, 9. ]), array([2, 2]))
    """
    samples = _samples(rows)
    return _prototypes(samples, _assigned_by_kmeans(samples, n_prototypes, random_state))


COMPRESSIONS: Mapping[str, Callable[[Any, Size, int], Prototypes]] = MappingProxyType(
    {
        "som": lambda rows, size, _: som(rows, size),
        "kmeans": lambda rows, size, random_state: kmeans(rows, size, random_state=random_state),
    }
)


def compressed(
    table: Table, known: Supervision, how: str, n_prototypes: Size, random_state: int = 0
) -> Compressed:
    """Replace all samples without supervision by prototypes.

    If the features need a common scale for the neighbour search, scale them before the compression.
    The standard deviations of prototypes differ from those of samples.

    Parameters
    ----------
    table : Table
        The features.
    known : Supervision
        Supervision of the samples. Class probabilities are refused, because no graph of the
        features uses them.
    how : {"som", "kmeans"}
        Method that computes the prototypes.
    n_prototypes : int, (int, int) or None
        Maximum number of prototypes, or the sides of a map. None means the square root of the
        number of samples to compress.
    random_state : int
        Seed of k-means. A map needs none.

    Returns
    -------
    Compressed

    Examples
    --------
    >>> known = Supervision.from_labels([-1, -1, 3, -1, -1])
    >>> small = compressed(MemoryTable([[0], [2], [9], [20], [22]]), known, "kmeans", 2)
    >>> small.table.rows[0].shape, small.known, small.counts
    ((3, 1), Supervision(3 samples: 1 labels in 1 classes), array([1., 2., 2.]))
    """
    choice(COMPRESSIONS)("how", how)
    _check_size(n_prototypes)
    if how == "kmeans":
        _refuse_lattice(n_prototypes)
    if known.probabilities is not None:
        raise InputError(
            "class probabilities cannot be compressed, because no graph of the features uses them; "
            "omit the probabilities, or do not compress."
        )
    supervised = _has_supervision(known)
    kept, others = np.flatnonzero(supervised), np.flatnonzero(~supervised)
    if not _worth_compressing(len(others), n_prototypes):
        return _uncompressed(table, known)
    if len(kept) + _requested_units(n_prototypes, len(others)) < 2:
        raise InputError(
            setting("n_prototypes", n_prototypes),
            " would give a graph of a single prototype; pass at least 2.",
        )
    kept_rows = _kept_rows(table, kept)
    samples = _samples(_select_rows(table.rows[0], others))
    assignment = _numbered(
        _assigned_by_map(samples, n_prototypes)
        if how == "som"
        else _assigned_by_kmeans(samples, n_prototypes, random_state)
    )
    n_found = int(assignment.max()) + 1
    if len(kept) + n_found < 2:
        warn(
            "nothing to compress: all samples have the same prototype; the samples are used "
            "without compression."
        )
        return _uncompressed(table, known)
    member = np.empty(table.n_samples, dtype=np.int64)
    member[kept], member[others] = np.arange(len(kept)), len(kept) + assignment
    counts = np.concatenate([np.ones(len(kept)), np.bincount(assignment)])
    mean_blocks = _group_means(table, member - len(kept), n_found)
    return Compressed(
        _stacked(table, kept_rows, mean_blocks),
        _padded(known[kept], n_found),
        counts,
        n_found,
        member,
    )


def _assigned_by_map(
    samples: Samples | _StoredSamples, shape: Size, n_epochs: int = EPOCHS
) -> Integers:
    """Return the nearest unit of a trained map for each sample."""
    samples.check_units_fit(_requested_units(shape, samples.n_samples))
    axes, deviations = samples.principal_plane()
    sides = lattice_sides(shape, samples.n_samples, deviations)
    path = lattice_paths(sides)
    units = initial_plane(sides, axes, deviations)
    first = max(max(sides) / 2, FINAL_RADIUS)
    for radius in np.geomspace(first, FINAL_RADIUS, count(1)("n_epochs", n_epochs)):
        units = epoch(samples, units, path, radius)
    return samples.nearest(units)


def _assigned_by_kmeans(
    samples: Samples | _StoredSamples, n_prototypes: Size, random_state: int
) -> Integers:
    """Return the nearest centre of k-means for each sample."""
    _refuse_lattice(n_prototypes)
    wanted = _n_units(n_prototypes, samples.n_samples)
    if isinstance(samples, Samples):
        return samples.nearest(_kmeans_centers(samples, wanted, random_state) - samples.center)
    samples.check_units_fit(wanted)
    return samples.nearest(_streamed_centers(samples, wanted, random_state))


def _kmeans_centers(
    samples: Samples, wanted: int, random_state: int, weights: Integers | None = None
) -> Floats:
    """Compute the centres of k-means, in the units of `samples.rows`."""
    wanted = samples.n_distinct(wanted)
    many = samples.n_samples * wanted > MINIBATCH_FROM
    method = MiniBatchKMeans(batch_size=max(1024, 4 * wanted)) if many else KMeans()
    method.set_params(n_clusters=wanted, n_init=1, random_state=random_state)
    method.fit(samples.rows, sample_weight=weights)
    return np.asarray(method.cluster_centers_)


def _streamed_centers(samples: _StoredSamples, wanted: int, random_state: int) -> Floats:
    """Compute the centres of k-means for stored rows, as deviations from the mean."""
    if samples.n_samples <= DRAWS * wanted:  # this number of rows must fit into memory in any case
        return _kmeans_centers(
            Samples(samples.fetched(np.arange(samples.n_samples))), wanted, random_state
        )
    centers = _first_centers(samples, wanted, random_state)
    for _ in range(ROUNDS):
        counts, sums = samples.unit_sums(centers)
        # A centre without samples keeps its position.
        moved = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centers)
        if np.array_equal(moved, centers):
            break
        centers = moved
    return centers


def _first_centers(samples: _StoredSamples, wanted: int, random_state: int) -> Floats:
    """Compute initial centres by k-means on the means of many small groups.

    Later draws prefer distant samples. Uniform draws alone would miss a few samples that are far
    from all others.
    """
    rng = np.random.default_rng(random_state)
    drawn = [samples.fetched(drawn_rows(samples.n_samples, wanted, seed=random_state))]
    squared = np.full(samples.n_samples, np.inf)
    for _ in range(DRAWS - 1):
        squared = samples.nearest_squared(squared, drawn[-1])
        chosen = _drawn_by_weight(squared, wanted, rng)
        if not len(chosen):
            break
        drawn.append(samples.fetched(chosen))
    counts, sums = samples.unit_sums(np.concatenate(drawn))
    used = np.flatnonzero(counts)
    return _kmeans_centers(
        Samples(sums[used] / counts[used, None]), wanted, random_state, counts[used]
    )


def _drawn_by_weight(weights: Floats, n_drawn: int, rng: np.random.Generator) -> Integers:
    """Draw positions without replacement, with probabilities proportional to their weights.

    Positions of weight zero are never drawn. The result is in increasing order.
    """
    present = np.flatnonzero(weights > 0)
    if len(present) <= n_drawn:
        return present
    # Each position gets an exponential waiting time with its weight as the rate. The positions with
    # the shortest times are a weighted draw without replacement.
    waiting = rng.exponential(size=len(weights))[present] / weights[present]
    return np.sort(present[np.argpartition(waiting, n_drawn)[:n_drawn]])


def _uncompressed(table: Table, known: Supervision) -> Compressed:
    return Compressed(table, known, np.ones(table.n_samples), 0, np.arange(table.n_samples))


def _has_supervision(known: Supervision) -> Booleans:
    """Return a mask of the samples that have any supervision."""
    supervised: Booleans = known.labeled.copy()
    supervised[known.must_link.ravel()] = True
    supervised[known.cannot_link.ravel()] = True
    return supervised


def _worth_compressing(n_samples: int, size: Size) -> bool:
    if n_samples < 2:
        warn(
            f"nothing to compress: {_all_or_all_but_one(n_samples)} samples have supervision; the "
            "samples are used without compression."
        )
        return False
    requested = _requested_units(size, n_samples)
    if requested >= n_samples:
        warn(
            f"nothing to compress: {requested} prototypes were requested, but only {n_samples} "
            "samples are without supervision; "
            "the samples are used without compression."
        )
        return False
    return True


def _all_or_all_but_one(n_samples: int) -> str:
    return "all but one of the" if n_samples else "all"


def _padded(known: Supervision, n_more: int) -> Supervision:
    """Append `n_more` samples without supervision to the supervision of the kept samples."""
    labels, targets = known.labels, known.targets
    return replace(
        known,
        n_samples=known.n_samples + n_more,
        labels=None
        if labels is None
        else np.concatenate([labels, np.full(n_more, -1, dtype=np.int64)]),
        targets=None
        if targets is None
        else np.concatenate([targets, np.full((n_more, *targets.shape[1:]), np.nan)]),
    )


def _select_rows(rows: Any, chosen: Integers) -> Any:
    """Return some of the rows; stored rows are not read into memory."""
    if not isinstance(rows, StoredRows):
        return rows[chosen]
    return rows if len(chosen) == rows.shape[0] else rows.only(chosen)


def _kept_rows(table: Table, kept: Integers) -> Any:
    """Return the kept samples in memory; None if there are none."""
    if not len(kept):
        return None
    kept_rows = table.take(kept)
    if isinstance(kept_rows, StoredTable):
        raise InputError(
            f"the {len(kept):,} samples with supervision are kept and need "
            f"{memory_text(kept_rows.stored.n_bytes)}, but they may use only half of the memory "
            "limit of "
            f"{memory_text(kept_rows.stored.memory)}; raise the limit with "
            "graphsieve.stored(X, memory=…), or do not compress."
        )
    return kept_rows.matrix


def _group_means(table: Table, codes: Integers, n_groups: int) -> list[Any]:
    """Compute the mean of every group, in blocks of columns; samples with code < 0 are ignored.

    The means come from the blocks of the table and not from the rows for distances. Those rows have
    a common scale, so that a column near 1e-300 vanishes next to a column near 1e300.
    """
    groups = group_weightings(codes, n_groups)
    found = []
    for block in _narrow_blocks(table, n_groups):
        values = scale_by_power_of_two(means(block, groups) + block.shift, block.exponent)
        found.append(sp.csc_array(values) if table.is_sparse else values)
    return found


def _narrow_blocks(table: Table, n_groups: int) -> Iterator[Block]:
    """Yield blocks of columns that are narrow enough for the means of `n_groups` groups.

    Each block of a stored table requires one pass over the table.
    """
    if not isinstance(table, StoredTable):
        return table.blocks()
    return (
        part
        for block in table.wide_blocks()
        for part in block.parts(columns_at_once(block, n_groups))
    )


def _stacked(table: Table, kept_rows: Any, mean_blocks: list[Any]) -> Table:
    if table.is_sparse:
        rows = (
            [sp.hstack(mean_blocks)] if kept_rows is None else [kept_rows, sp.hstack(mean_blocks)]
        )
        held: Any = sp.csc_array(sp.vstack(rows))
    else:
        joined = np.concatenate(mean_blocks, axis=1)
        held = joined if kept_rows is None else np.concatenate([kept_rows, joined])
    return MemoryTable.trusted(held, table.feature_names, features=table.features)


class _Deviations(ABC):
    """Base class for samples as deviations from their mean, in memory or stored."""

    n_samples: int
    n_features: int

    @abstractmethod
    def nearest(self, units: Floats) -> Integers:
        """Return the nearest unit of each sample.

        Distances that differ by less than the rounding error are ties, which are broken by the
        lower unit.
        """

    @abstractmethod
    def unit_sums(self, units: Floats) -> tuple[Integers, Floats]:
        """Assign each sample to its nearest unit; return the counts and sums of deviations."""

    @abstractmethod
    def group_sums(self, assignment: Integers, n_groups: int) -> tuple[Integers, Floats]:
        """Return the number of samples of each group, and the sum of their deviations."""

    @abstractmethod
    def distances_to(self, centers: Floats, assignment: Integers) -> Floats:
        """Compute the distance of each sample to its assigned centre."""

    @abstractmethod
    def scatter_along(self, basis: Floats) -> Floats:
        """Compute basisᵀ S basis, with the scatter matrix S of the samples."""

    @abstractmethod
    def scatter_times(self, basis: Floats) -> Floats:
        """Compute S basis, with the scatter matrix S of the samples."""

    @abstractmethod
    def check_units_fit(self, n_units: int) -> None:
        """Raise an error if this number of units does not fit into memory."""

    def principal_plane(self) -> tuple[Floats, Floats]:
        """Return the first two principal axes as columns, and the standard deviations along them.

        If there is only one feature, the second axis and its deviation are zero.
        """
        basis = self._basis()
        scatter = self.scatter_along(basis)
        size = len(scatter)
        eigenvalues, vectors = la.eigh(scatter, subset_by_index=[max(0, size - 2), size - 1])
        axes, deviations = np.zeros((self.n_features, 2)), np.zeros(2)
        axes[:, : len(eigenvalues)] = _with_fixed_signs(basis @ vectors[:, ::-1])
        deviations[: len(eigenvalues)] = np.sqrt(np.maximum(eigenvalues[::-1], 0) / self.n_samples)
        return axes, deviations

    def _basis(self) -> Floats:
        """Return an orthonormal basis that contains the first principal axes.

        For many features, it spans a small subspace that approximates these axes.
        """
        if self.n_features <= EXACT_AXES_UP_TO:
            return np.eye(self.n_features)
        basis = np.random.default_rng(0).normal(size=(self.n_features, SUBSPACE_WIDTH))
        for _ in range(SUBSPACE_ROUNDS):
            basis = la.qr(self.scatter_times(basis), mode="economic")[0]
        return basis


@dataclass(frozen=True)
class _Middle:
    """The mean of some rows in two parts.

    `origin` contains the offsets that are subtracted from the columns first. `center` is the mean
    of the remaining values.
    """

    origin: Floats
    center: Floats

    @property
    def mean(self) -> Floats:
        return self.origin + self.center


class Samples(_Deviations):
    """Rows in memory, dense or sparse, as deviations from their mean or that of a larger table.

    A sparse matrix stays sparse. Offsets are subtracted from its columns without zeros. The rest of
    the mean is subtracted in the products.
    """

    def __init__(self, rows: Any, middle: _Middle | None = None) -> None:
        rows = _as_rows(rows)
        self.is_sparse = bool(sp.issparse(rows))
        self.n_samples, self.n_features = rows.shape
        middle = _middle_of(rows) if middle is None else middle
        self.origin, self.center, self.mean = middle.origin, middle.center, middle.mean
        self.rows = _without_offsets(rows, self.origin)
        self.centered: Floats | None = None if self.is_sparse else self.rows - self.center
        # The norms are those of the numbers that enter the products, because the rounding errors
        # depend on these.
        if self.centered is None:
            self.lengths = np.sqrt(
                np.asarray(self.rows.multiply(self.rows).sum(axis=1)).ravel()
            ) + la.norm(self.center)
        else:
            self.lengths = np.sqrt(np.einsum("ij,ij->i", self.centered, self.centered))

    def parts(self, width: int, elements: int = TEMPORARY_ELEMENTS) -> Iterator[slice]:
        """Yield slices of samples so that results with `width` numbers per sample stay small."""
        step = max(1, elements // max(1, width))
        return (
            slice(start, min(start + step, self.n_samples))
            for start in range(0, self.n_samples, step)
        )

    def products(self, part: slice, vectors: Floats) -> Floats:
        """Multiply the deviations of some samples by `vectors`."""
        if self.centered is not None:
            return np.asarray(self.centered[part] @ vectors)
        return np.asarray(self.rows[part] @ vectors - self.center @ vectors)

    def sums(self, weights: Any) -> Floats:
        """Multiply weights of shape (n_sums, n_samples) by the deviations."""
        if self.centered is not None:
            return np.asarray(weights @ self.centered)
        raw = weights @ self.rows
        total = np.asarray(weights.sum(axis=1)).ravel()
        return np.asarray(
            (raw.toarray() if sp.issparse(raw) else raw) - np.outer(total, self.center)
        )

    def nearest(self, units: Floats) -> Integers:
        found = np.empty(self.n_samples, dtype=np.int64)
        for part, distances, rounding in self._compared(units):
            reach = distances.min(axis=1) + rounding
            found[part] = (distances <= reach[:, None]).argmax(axis=1)
        return found

    def nearest_squared(self, squared: Floats, units: Floats) -> Floats:
        """Return the smaller of the given squared distance and that to the nearest unit.

        Distances below the rounding error become 0.
        """
        found, own = squared.copy(), self._squares()
        for part, distances, rounding in self._compared(units):
            here = distances.min(axis=1) + own[part]
            found[part] = np.minimum(found[part], np.where(here > rounding, here, 0.0))
        return found

    def _compared(self, units: Floats) -> Iterator[tuple[slice, Floats, Floats]]:
        """Yield blocks of samples with squared distances to all units and their rounding errors.

        The squared norm of the sample is not included in the distances.
        """
        squares = np.einsum("ij,ij->i", units, units)
        longest = np.sqrt(squares.max())
        rounding = (
            np.finfo(np.float64).eps
            * (2 * self.n_features + 16)
            * longest
            * (longest + 2 * self.lengths)
        )
        vectors = np.ascontiguousarray(-2 * units.T)
        for part in self.parts(len(units), BLOCK_ELEMENTS):
            distances = self.products(part, vectors)
            distances += squares
            yield part, distances, rounding[part]

    def _squares(self) -> Floats:
        """Compute the squared norm of each deviation."""
        if self.centered is not None:
            return np.asarray(self.lengths**2)
        own = np.asarray(self.rows.multiply(self.rows).sum(axis=1)).ravel()
        return np.asarray(
            np.maximum(own - 2 * (self.rows @ self.center) + self.center @ self.center, 0.0)
        )

    def n_distinct(self, enough: int) -> int:
        """Count the distinct samples, up to `enough`, on a grid that k-means can resolve.

        K-means warns if it finds fewer clusters than requested, and suppressing warnings is not
        thread-safe. The warning can still occur if samples that differ only by rounding errors fall
        into different cells of the grid.
        """
        step = float(self.lengths.max()) * GRID or 1.0
        seen: set[bytes] = set()
        for part in self.parts(self.n_features, BLOCK_ELEMENTS):
            values = self.rows[part].toarray() if self.centered is None else self.centered[part]
            # Adding 0.0 converts −0.0 to 0.0.
            seen.update(row.tobytes() for row in np.round(values / step) + 0.0)
            if len(seen) >= enough:
                return enough
        return len(seen)

    def unit_sums(self, units: Floats) -> tuple[Integers, Floats]:
        return self.group_sums(self.nearest(units), len(units))

    def group_sums(self, assignment: Integers, n_groups: int) -> tuple[Integers, Floats]:
        order = np.arange(self.n_samples)
        members = sp.csr_array(
            (np.ones(len(order)), (assignment, order)), shape=(n_groups, len(order))
        )
        return np.bincount(assignment, minlength=n_groups), self.sums(members)

    def scatter_along(self, basis: Floats) -> Floats:
        scatter = np.zeros((basis.shape[1], basis.shape[1]))
        for part in self.parts(max(basis.shape)):
            along = self.products(part, basis)
            scatter += along.T @ along
        return scatter

    def scatter_times(self, basis: Floats) -> Floats:
        product = np.zeros_like(basis)
        for part in self.parts(basis.shape[1]):
            product += self._transposed_product(part, self.products(part, basis))
        return product

    def check_units_fit(self, n_units: int) -> None:
        """Accept any number of units; it never exceeds the number of samples in memory."""

    def _transposed_product(self, part: slice, values: Floats) -> Floats:
        if self.centered is not None:
            return np.asarray(self.centered[part].T @ values)
        return np.asarray(self.rows[part].T @ values - np.outer(self.center, values.sum(axis=0)))

    def distances_to(self, centers: Floats, assignment: Integers) -> Floats:
        squared = np.empty(self.n_samples)
        for part in self.parts(
            max(1, self.rows.nnz // self.n_samples) if self.is_sparse else self.n_features
        ):
            measure = _sparse_squares if self.is_sparse else _dense_squares
            squared[part] = measure(self.rows[part], centers - self.origin, assignment[part])
        return np.sqrt(squared)


class _StoredSamples(_Deviations):
    """Rows that are read piece by piece, as deviations from the mean of all rows.

    Every result is combined from the results of the groups of rows.
    """

    def __init__(self, rows: StoredRows) -> None:
        self.pieces = rows.pieces
        self.n_samples, self.n_features = rows.shape
        self.groups = self.pieces.row_groups()

    @cached_property
    def _middle(self) -> _Middle:
        origin = mean = np.zeros(self.n_features)
        for group, here in zip(
            self.groups, self.pieces.over_rows(self.groups, _middle_of), strict=True
        ):
            if group.start == 0:
                origin, mean = here.origin, here.mean
                continue
            # The offset with the smallest magnitude is kept, so a column with a zero in any group
            # has offset 0.
            origin = np.where(np.abs(here.origin) < np.abs(origin), here.origin, origin)
            # The running mean is corrected by a share of the difference, so that equal means do not
            # change.
            mean = mean + (group.stop - group.start) / group.stop * (here.mean - mean)
        return _Middle(origin, mean - origin)

    @property
    def mean(self) -> Floats:
        return self._middle.mean

    def nearest(self, units: Floats) -> Integers:
        return np.concatenate(list(self._group_results(Samples.nearest, shared=(units,))))

    def unit_sums(self, units: Floats) -> tuple[Integers, Floats]:
        return _added_pairs(self._group_results(Samples.unit_sums, shared=(units,)))

    def group_sums(self, assignment: Integers, n_groups: int) -> tuple[Integers, Floats]:
        return _added_pairs(self._group_results(Samples.group_sums, assignment, shared=(n_groups,)))

    def distances_to(self, centers: Floats, assignment: Integers) -> Floats:
        return np.concatenate(
            list(self._group_results(_distances_to, assignment, shared=(centers,)))
        )

    def scatter_along(self, basis: Floats) -> Floats:
        return _added(self._group_results(Samples.scatter_along, shared=(basis,)))

    def scatter_times(self, basis: Floats) -> Floats:
        return _added(self._group_results(Samples.scatter_times, shared=(basis,)))

    def nearest_squared(self, squared: Floats, units: Floats) -> Floats:
        return np.concatenate(
            list(self._group_results(Samples.nearest_squared, squared, shared=(units,)))
        )

    def fetched(self, chosen: Integers) -> Floats:
        """Return the deviations of some samples in memory, a few times as many as prototypes."""
        rows = _without_offsets(_as_rows(fetched_rows(self.pieces, chosen)), self._middle.origin)
        return np.asarray((rows.toarray() if sp.issparse(rows) else rows) - self._middle.center)

    def check_units_fit(self, n_units: int) -> None:
        needed, memory = UNITS_HELD * BYTES * n_units * self.n_features, self.pieces.memory
        # Other temporary arrays have TEMPORARY_ELEMENTS numbers for any memory limit, so this size
        # is always allowed.
        if needed > max(memory, BYTES * TEMPORARY_ELEMENTS):
            fitting = max(1, memory // (UNITS_HELD * BYTES * self.n_features))
            raise InputError(
                f"{n_units:,} prototypes of {self.n_features:,} features need "
                f"{memory_text(needed)} while they are computed, but the memory limit is "
                f"{memory_text(memory)}; pass ",
                remedy("n_prototypes", fitting),
                " or less, or raise the limit with graphsieve.stored(X, memory=…).",
            )

    def _group_results(
        self, function: Callable[..., Any], *given: NDArray[Any], shared: tuple[Any, ...]
    ) -> Iterator[Any]:
        """Yield the results of a method of `Samples` for each group of rows.

        Each array in `given` has one entry per sample.
        """
        work = partial(_evaluate, function=function, middle=self._middle)
        return self.pieces.over_rows(
            self.groups,
            work,
            *([one[group] for group in self.groups] for one in given),
            shared=shared,
        )


def _samples(rows: Any) -> Samples | _StoredSamples:
    return _StoredSamples(rows) if isinstance(rows, StoredRows) else Samples(rows)


def _evaluate(piece: Any, *requested: Any, function: Callable[..., Any], middle: _Middle) -> Any:
    return function(Samples(piece, middle), *requested)


def _distances_to(samples: Samples, assignment: Integers, centers: Floats) -> Floats:
    return samples.distances_to(centers, assignment)


def _added(parts: Iterator[Floats]) -> Floats:
    total = next(parts)
    for part in parts:
        total += part
    return total


def _added_pairs(parts: Iterator[tuple[Integers, Floats]]) -> tuple[Integers, Floats]:
    counts, sums = next(parts)
    for more_counts, more_sums in parts:
        counts += more_counts
        sums += more_sums
    return counts, sums


def _as_rows(rows: Any) -> Any:
    return rows.tocsr() if sp.issparse(rows) else np.asarray(rows, dtype=np.float64)


def _middle_of(rows: Any) -> _Middle:
    rows = _as_rows(rows)
    origin = _offsets(rows)
    return _Middle(
        origin, np.asarray(_without_offsets(rows, origin).mean(axis=0), dtype=np.float64).ravel()
    )


def _offsets(rows: Any) -> Floats:
    """Return an offset for each column, which is 0 except for columns of CSR rows without zeros.

    For these, the offset is the value of smallest magnitude. Subtracting it loses no digits.
    """
    origin = np.zeros(rows.shape[1])
    if not sp.issparse(rows):
        return origin
    full = np.bincount(rows.indices, minlength=rows.shape[1]) == rows.shape[0]
    if full.any():
        origin[full] = extremes_of(rows[:, full])[2]
    return origin


def _without_offsets(rows: Any, origin: Floats) -> Any:
    """Subtract the offsets; they are 0 for columns with zeros, so that CSR rows stay sparse."""
    if not origin.any():
        return rows
    return sp.csr_array(
        (rows.data - origin[rows.indices], rows.indices, rows.indptr), shape=rows.shape
    )


def _dense_squares(rows: Floats, centers: Floats, assignment: Integers) -> Floats:
    differences = rows - centers[assignment]
    return np.asarray(np.einsum("ij,ij->i", differences, differences))


def _sparse_squares(rows: Any, centers: Floats, assignment: Integers) -> Floats:
    """Compute squared distances to the assigned centres from the stored numbers of CSR rows."""
    owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    center_values = centers[assignment[owner], rows.indices]
    inside = np.bincount(
        owner, (rows.data - center_values) ** 2 - center_values**2, minlength=rows.shape[0]
    )
    return np.asarray(np.maximum(inside + np.einsum("ij,ij->i", centers, centers)[assignment], 0.0))


def _with_fixed_signs(axes: Floats) -> Floats:
    """Choose the signs of the axes so that their entry of largest magnitude is positive.

    Entries that are equal up to rounding errors are tied, and the first one decides.
    """
    sizes = np.abs(axes)
    place = (sizes >= sizes.max(axis=0) * (1 - 1e-9)).argmax(axis=0)
    signs = np.sign(np.take_along_axis(axes, place[None], axis=0))
    return np.asarray(axes * np.where(signs == 0, 1.0, signs))


def _refuse_lattice(size: Size) -> None:
    if isinstance(size, tuple):
        raise InputError(
            setting("n_prototypes", size),
            " gives the sides of a lattice, but k-means has none; pass a number, or use 'som'.",
        )


def _n_units(size: Size, n_samples: int) -> int:
    requested = either(None, count(1))("n_prototypes", size)
    wanted = max(1, round(n_samples**0.5)) if requested is None else int(requested)
    if wanted > n_samples:
        raise InputError(
            parameter("n_prototypes", wanted),
            f" must be at most the number of samples they stand for, {n_samples}, got {wanted}.",
        )
    return wanted


def _requested_units(size: Size, n_samples: int) -> int:
    """Return the number of prototypes that a valid size requests, which may exceed `n_samples`."""
    if isinstance(size, tuple):
        rows, columns = _checked_sides(size)
        return rows * columns
    return max(2, _n_units(None, n_samples)) if size is None else int(size)


def _check_size(size: Any) -> None:
    if isinstance(size, tuple):
        _checked_sides(size)
    else:
        either(None, count(1))("n_prototypes", size)


def _checked_sides(shape: tuple[int, int]) -> tuple[int, int]:
    if len(shape) != 2:
        raise InputError(
            f"the shape of a map must be two sides, (rows, columns), got {quoted(shape)}."
        )
    side = count(1)
    return side("each side of a map", shape[0]), side("each side of a map", shape[1])


def lattice_sides(shape: Size, n_samples: int, deviations: Floats) -> tuple[int, int]:
    """Return the sides of the map, as given or arranged from a number of units."""
    if isinstance(shape, tuple):
        sides = _checked_sides(shape)
        _n_units(sides[0] * sides[1], n_samples)
        return sides
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = float(
            np.nan_to_num(deviations[0] / deviations[1], nan=1.0, posinf=LONGEST_SIDES_RATIO)
        )
    return arranged(_n_units(shape, n_samples), min(ratio, LONGEST_SIDES_RATIO))


def arranged(n_units: int, ratio: float) -> tuple[int, int]:
    """Return the sides of a rectangle with nearly `n_units` units and nearly the given ratio."""
    columns = np.arange(1, isqrt(n_units) + 1)
    rows = n_units // columns
    # The relative loss of units weighs four times as much as the relative error of the ratio.
    misfit = np.abs(np.log(rows / columns / ratio)) + 4 * np.log(n_units / (rows * columns))
    best = int(misfit.argmin())
    return int(rows[best]), int(columns[best])


def lattice_paths(sides: tuple[int, int]) -> Integers:
    """Compute the lengths of the shortest paths between all units of a rectangular lattice.

    Each unit has four neighbours, so the length is the difference in rows plus that in columns.
    """
    row, column = np.divmod(np.arange(sides[0] * sides[1]), sides[1])
    return np.asarray(np.abs(row[:, None] - row) + np.abs(column[:, None] - column))


def initial_plane(sides: tuple[int, int], axes: Floats, deviations: Floats) -> Floats:
    """Place the units on a rectangle in the principal plane.

    It extends from −1 to 1 standard deviations, with its longer side along the first axis.
    """
    along = axes * deviations
    if sides[1] > sides[0]:
        along = along[:, ::-1]
    steps = [np.linspace(-1, 1, side) if side > 1 else np.zeros(1) for side in sides]
    row, column = np.meshgrid(*steps, indexing="ij")
    return np.asarray(np.stack([row.ravel(), column.ravel()], axis=1) @ along.T)


def epoch(
    samples: Samples | _StoredSamples, units: Floats, path: Integers, radius: float
) -> Floats:
    """Compute Eq. 14: sum the samples of each unit, and combine the sums along the lattice."""
    counts, sums = samples.unit_sums(units)
    winners = np.flatnonzero(counts)
    exponent = path[:, winners] ** 2 / (2 * radius**2)
    # The weights are relative to that of the nearest unit with samples. Otherwise all weights of a
    # unit could underflow to zero.
    influence = np.exp(exponent.min(axis=1, keepdims=True) - exponent)
    return np.asarray((influence @ sums[winners]) / (influence @ counts[winners])[:, None])


def _numbered(chosen: Integers) -> Integers:
    """Renumber the assigned units consecutively, without the units that have no samples."""
    return np.unique(chosen, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _prototypes(samples: Samples | _StoredSamples, chosen: Integers) -> Prototypes:
    """Compute the mean of the samples of each unit; units without samples are dropped."""
    assignment = _numbered(chosen)
    counts, sums = samples.group_sums(assignment, int(assignment.max()) + 1)
    centers = samples.mean + sums / counts[:, None]
    error = float(samples.distances_to(centers, assignment).mean())
    return Prototypes(centers, counts.astype(np.int64), assignment, error)

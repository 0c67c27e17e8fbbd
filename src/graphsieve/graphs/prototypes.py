"""Many samples of which nothing is known → a few prototypes that stand for them.

A score over the neighbours of all samples costs the square of their number; over prototypes it
costs the square of theirs. Samples of which something is known are never touched: they are few, and
what is known belongs to them alone.

Two ways, one result. A self-organizing map (`som`) moves a lattice of units through the samples and
keeps units that are neighbours on the lattice near each other; `kmeans` only wants every sample
near its prototype. Either way a prototype is in the end the mean of its samples, so that prototypes
weighted by their counts have exactly the mean of what they stand for.

How counts enter a score was measured (benchmarks/prototypes.py): the graph of the prototypes is
lifted to the samples.

Rows that are read piece by piece (`StoredRows`) are asked what rows in memory are asked, group by
group: sums are added up, choices are put in line. Only prototypes travel, and no more is ever held
than a group and a few arrays of their size.
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
from graphsieve._base.underflow import vanishing
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
# a lattice neighbour then weighs exp(−1/0.18) = 0.004: hardly more than its samples' own mean
FINAL_RADIUS = 0.3
LONGEST_SIDES_RATIO = 10.0  # of an arranged lattice, however flat the samples lie
# Features; beyond, the principal axes come from a few products with a thin matrix
EXACT_AXES_UP_TO = 512
AXES_TRIED, AXES_ROUNDS = 12, 6
GRID = 2.0**-24  # of the longest sample: distances are squared, so that half of the digits are left
MINIBATCH_FROM = 2**27  # samples × prototypes
BLOCK_ELEMENTS = min(2**18, TEMPORARY_ELEMENTS)  # distances taken at once: they stay in the cache
# Times as many rows as prototypes, one after the other, stand for all where not all are in memory …
DRAWS = 4
ROUNDS = 5  # … and so often k-means reads all of them after that, at most
UNITS_HELD = 8  # arrays of the size of all prototypes that are in memory at once

Size = int | tuple[int, int] | None


@dataclass(frozen=True)
class Prototypes:
    """What stands for many samples.

    Attributes
    ----------
    centers : array of float of shape (n_prototypes, n_features)
        The mean of each prototype's samples, in the units of the rows that were given.
    counts : array of int of shape (n_prototypes,)
        How many samples each stands for; at least 1.
    assignment : array of int of shape (n_samples,)
        The prototype of each sample.
    quantization_error : float
        The mean distance of a sample to its prototype.
    """

    centers: Floats
    counts: Integers
    assignment: Integers
    quantization_error: float


@dataclass(frozen=True)
class Compressed:
    """A table of kept samples and prototypes, with what is known of them.

    Attributes
    ----------
    table : Table
        The samples of which something is known, in their order, and then the prototypes of all
        others.
    known : Supervision
        What is known of these rows: of a prototype, nothing.
    counts : array of float of shape (n_rows,)
        How many samples a row stands for: 1 for a kept one.
    n_prototypes : int
        How many of the rows, the last ones, are prototypes.
    member : array of int of shape (n_samples,)
        The row that each of the original samples is, or is part of.
    """

    table: Table
    known: Supervision
    counts: Floats
    n_prototypes: int
    member: Integers


@vanishing
def som(rows: Any, shape: Size = None, *, n_epochs: int = EPOCHS) -> Prototypes:
    """Prototypes by a self-organizing map, trained in batches of all samples; nothing in it is
    random.

    In every epoch each sample finds its best matching unit c(i), the lower one among equals, and
    then every unit s moves to

        p_s = Σ_i h(s, c(i)) x_i / Σ_i h(s, c(i)),    h(s, c) = exp(−δ(s, c)² / (2T²)),

    where δ is the shortest path on a rectangular lattice with four neighbours each. (The paper
    prints δ without the square, as it does with its heat kernel; the usual Gaussian has it.) The
    radius T shrinks evenly on a logarithmic scale from half the longer side to 0.3. The map starts
    as a piece of the plane of the two first principal axes, the longer side along the first.

    A unit ends as the mean of the samples that chose it: that is nearer to them than the smoothed
    vector, and the order of the lattice lies in the choice, which the smoothed vectors made. So a
    sample at a border may be nearer to another prototype than to its own. Units that no sample
    chose stand for nothing and are left out; the paper keeps all.

    Rows that are read piece by piece are read once in every epoch, and a few times before and
    after; the map is the same.

    Parameters
    ----------
    rows : array, CSR matrix or StoredRows of shape (n_samples, n_features)
        The samples, finite float64 numbers whose squares are so too.
    shape : (int, int), int or None
        The sides of the lattice; or a number of units, not exceeded, arranged such that the sides
        are to each other about as the deviations along the two first principal axes; None for the
        square root of the number of samples.
    n_epochs : int
        How often all samples are presented.

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
    return _prototypes(samples, _chosen_on_map(samples, shape, n_epochs))


@vanishing
def kmeans(rows: Any, n_prototypes: Size = None, *, random_state: int = 0) -> Prototypes:
    """Prototypes by k-means, started by k-means++; in small batches where samples × prototypes are
    very many.

    Rows that are read piece by piece are first divided among four times as many of them: the first
    quarter drawn evenly, each further one by the squared distance to those before. K-means on the
    means of these parts, weighted by their sizes, is the start of at most five rounds over all
    rows. Together the rows are read about a dozen times.

    Parameters
    ----------
    rows : array, CSR matrix or StoredRows of shape (n_samples, n_features)
        The samples, finite float64 numbers whose squares are so too.
    n_prototypes : int or None
        How many, at most: fewer where fewer samples differ. None for the square root of the number
        of samples.
    random_state : int
        Seed of the start.

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
    return _prototypes(samples, _chosen_by_kmeans(samples, n_prototypes, random_state))


COMPRESSIONS: Mapping[str, Callable[[Any, Size, int], Prototypes]] = MappingProxyType(
    {
        "som": lambda rows, size, _: som(rows, size),
        "kmeans": lambda rows, size, random_state: kmeans(rows, size, random_state=random_state),
    }
)


def compressed(
    table: Table, known: Supervision, how: str, n_prototypes: Size, random_state: int = 0
) -> Compressed:
    """The table with prototypes in place of all samples of which nothing is known.

    Where neighbours are to be found on a common scale, scale first: the deviations of prototypes
    are not those of samples.

    Parameters
    ----------
    table : Table
        The features.
    known : Supervision
        What is known of the samples. Class probabilities describe all of them and leave none to
        compress.
    how : {"som", "kmeans"}
        The way to prototypes.
    n_prototypes : int, (int, int) or None
        How many at most, or the sides of a map; None for the square root of the number of samples
        to compress.
    random_state : int
        Seed of k-means; a map needs none.

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
            "class probabilities describe every sample, so that none is left to compress; leave "
            "out the probabilities, "
            "or do not compress."
        )
    described = _described(known)
    kept, others = np.flatnonzero(described), np.flatnonzero(~described)
    if not _worth_compressing(len(others), n_prototypes):
        return _as_they_are(table, known)
    if len(kept) + _asked_units(n_prototypes, len(others)) < 2:
        raise InputError(
            setting("n_prototypes", n_prototypes),
            " would leave a graph of a single prototype; ask for at least 2.",
        )
    above = _kept_rows(table, kept)
    samples = _samples(_some_rows(table.rows[0], others))
    assignment = _numbered(
        _chosen_on_map(samples, n_prototypes)
        if how == "som"
        else _chosen_by_kmeans(samples, n_prototypes, random_state)
    )
    n_found = int(assignment.max()) + 1
    if len(kept) + n_found < 2:
        warn(
            "nothing to compress: all samples have the same prototype; the samples are taken as "
            "they are."
        )
        return _as_they_are(table, known)
    member = np.empty(table.n_samples, dtype=np.int64)
    member[kept], member[others] = np.arange(len(kept)), len(kept) + assignment
    counts = np.concatenate([np.ones(len(kept)), np.bincount(assignment)])
    below = _group_means(table, member - len(kept), n_found)
    return Compressed(
        _stacked(table, above, below), _padded(known[kept], n_found), counts, n_found, member
    )


def _chosen_on_map(
    samples: Samples | _StoredSamples, shape: Size, n_epochs: int = EPOCHS
) -> Integers:
    """The unit of a trained map that is nearest to each sample."""
    samples.refuse_many(_asked_units(shape, samples.n_samples))
    axes, deviations = samples.principal_plane()
    sides = lattice_sides(shape, samples.n_samples, deviations)
    path = lattice_paths(sides)
    units = initial_plane(sides, axes, deviations)
    first = max(max(sides) / 2, FINAL_RADIUS)
    for radius in np.geomspace(first, FINAL_RADIUS, count(1)("n_epochs", n_epochs)):
        units = epoch(samples, units, path, radius)
    return samples.nearest(units)


def _chosen_by_kmeans(
    samples: Samples | _StoredSamples, n_prototypes: Size, random_state: int
) -> Integers:
    """The center of k-means that is nearest to each sample."""
    _refuse_lattice(n_prototypes)
    wanted = _n_units(n_prototypes, samples.n_samples)
    if isinstance(samples, Samples):
        return samples.nearest(_kmeans_centers(samples, wanted, random_state) - samples.center)
    samples.refuse_many(wanted)
    return samples.nearest(_streamed_centers(samples, wanted, random_state))


def _kmeans_centers(
    samples: Samples, wanted: int, random_state: int, weights: Integers | None = None
) -> Floats:
    """The centers of the rows as they are held."""
    wanted = samples.n_different(wanted)
    many = samples.n_samples * wanted > MINIBATCH_FROM
    method = MiniBatchKMeans(batch_size=max(1024, 4 * wanted)) if many else KMeans()
    method.set_params(n_clusters=wanted, n_init=1, random_state=random_state)
    method.fit(samples.rows, sample_weight=weights)
    return np.asarray(method.cluster_centers_)


def _streamed_centers(samples: _StoredSamples, wanted: int, random_state: int) -> Floats:
    """The centers, as deviations."""
    if samples.n_samples <= DRAWS * wanted:  # so many rows are held in any case
        return _kmeans_centers(
            Samples(samples.fetched(np.arange(samples.n_samples))), wanted, random_state
        )
    centers = _first_centers(samples, wanted, random_state)
    for _ in range(ROUNDS):
        counts, sums = samples.unit_sums(centers)
        # A center that no sample chose any more stays where it is.
        moved = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centers)
        if np.array_equal(moved, centers):
            break
        centers = moved
    return centers


def _first_centers(samples: _StoredSamples, wanted: int, random_state: int) -> Floats:
    """K-means on the means of many small parts. Even draws alone would miss the few samples that
    are far from all others.
    """
    rng = np.random.default_rng(random_state)
    drawn = [samples.fetched(drawn_rows(samples.n_samples, wanted, seed=random_state))]
    squared = np.full(samples.n_samples, np.inf)
    for _ in range(DRAWS - 1):
        squared = samples.nearer(squared, drawn[-1])
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
    """Some positions, one after the other by their weights, none twice and none without weight;
    in their order.
    """
    present = np.flatnonzero(weights > 0)
    if len(present) <= n_drawn:
        return present
    # Whose time is up first, if each waits for a random time that is the shorter the larger its
    # weight.
    waiting = rng.exponential(size=len(weights))[present] / weights[present]
    return np.sort(present[np.argpartition(waiting, n_drawn)[:n_drawn]])


def _as_they_are(table: Table, known: Supervision) -> Compressed:
    return Compressed(table, known, np.ones(table.n_samples), 0, np.arange(table.n_samples))


def _described(known: Supervision) -> Booleans:
    """Whether anything is known of each sample."""
    described: Booleans = known.codes >= 0
    if known.targets is not None:
        described = described | ~np.isnan(known.targets)
    described[known.must_link.ravel()] = True
    described[known.cannot_link.ravel()] = True
    return described


def _worth_compressing(n_samples: int, size: Size) -> bool:
    if n_samples < 2:
        warn(
            f"nothing to compress: of {_all_but(n_samples)} samples something is known; the "
            "samples are taken as they are."
        )
        return False
    asked = _asked_units(size, n_samples)
    if asked >= n_samples:
        warn(
            f"nothing to compress: {asked} prototypes were asked for, but of only {n_samples} "
            "samples nothing is known; "
            "the samples are taken as they are."
        )
        return False
    return True


def _all_but(n_samples: int) -> str:
    return "all but one of the" if n_samples else "all"


def _padded(known: Supervision, n_more: int) -> Supervision:
    """What is known of the kept samples, and of `n_more` after them: nothing."""
    labels, targets = known.labels, known.targets
    return replace(
        known,
        n_samples=known.n_samples + n_more,
        labels=None
        if labels is None
        else np.concatenate([labels, np.full(n_more, -1, dtype=np.int64)]),
        targets=None if targets is None else np.concatenate([targets, np.full(n_more, np.nan)]),
    )


def _some_rows(rows: Any, chosen: Integers) -> Any:
    """Some rows; those that are read piece by piece stay where they are."""
    if not isinstance(rows, StoredRows):
        return rows[chosen]
    return rows if len(chosen) == rows.shape[0] else rows.only(chosen)


def _kept_rows(table: Table, kept: Integers) -> Any:
    """The samples that are kept, in memory; None where there are none."""
    if not len(kept):
        return None
    above = table.take(kept)
    if isinstance(above, StoredTable):
        raise InputError(
            f"the {len(kept):,} samples of which something is known are kept as they are and take "
            f"{memory_text(above.stored.n_bytes)} in memory, of which they may have half, and "
            "memory is "
            f"{memory_text(above.stored.memory)}; pass graphsieve.stored(X, memory=…) with more, "
            "or do not compress."
        )
    return above.matrix


def _group_means(table: Table, codes: Integers, n_groups: int) -> list[Any]:
    """The mean of every group, by blocks of columns; code < 0 is in no group.

    From the table's own blocks, not from the rows for distances: there, a column of 1e-300 beside
    one of 1e300 is lost.
    """
    groups = group_weightings(codes, n_groups)
    found = []
    for block in _narrow_blocks(table, n_groups):
        values = scale_by_power_of_two(means(block, groups) + block.shift, block.exponent)
        found.append(sp.csc_array(values) if table.is_sparse else values)
    return found


def _narrow_blocks(table: Table, n_groups: int) -> Iterator[Block]:
    """Blocks of which the means of so many groups are not too much; of a stored table each is a
    reading of it.
    """
    if not isinstance(table, StoredTable):
        return table.blocks()
    return (
        part
        for block in table.wide_blocks()
        for part in block.parts(columns_at_once(block, n_groups))
    )


def _stacked(table: Table, above: Any, below: list[Any]) -> Table:
    if table.is_sparse:
        rows = [sp.hstack(below)] if above is None else [above, sp.hstack(below)]
        return MemoryTable.trusted(sp.csc_array(sp.vstack(rows)), table.feature_names)
    joined = np.concatenate(below, axis=1)
    return MemoryTable.trusted(
        joined if above is None else np.concatenate([above, joined]), table.feature_names
    )


class _Deviations(ABC):
    """Samples as deviations from their mean, wherever they are."""

    n_samples: int
    n_features: int

    @abstractmethod
    def nearest(self, units: Floats) -> Integers:
        """The nearest unit of each sample; of those that are equally near as far as rounding can
        tell, the first.
        """

    @abstractmethod
    def unit_sums(self, units: Floats) -> tuple[Integers, Floats]:
        """Of how many samples each unit is the nearest, and the sum of their deviations."""

    @abstractmethod
    def group_sums(self, assignment: Integers, n_groups: int) -> tuple[Integers, Floats]:
        """The number of each group's samples, and the sum of their deviations."""

    @abstractmethod
    def distances_to(self, centers: Floats, assignment: Integers) -> Floats:
        """The distance of each sample to the center it is assigned to."""

    @abstractmethod
    def scatter_along(self, basis: Floats) -> Floats:
        """Basisᵀ times the scatter of the samples times basis."""

    @abstractmethod
    def scatter_times(self, basis: Floats) -> Floats:
        """The scatter of the samples times basis."""

    @abstractmethod
    def refuse_many(self, n_units: int) -> None:
        """So many units must fit into memory."""

    def principal_plane(self) -> tuple[Floats, Floats]:
        """The two first principal axes as columns, and the standard deviations along them; zeros
        where there is only one.
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
        """An orthonormal basis of all features, or where they are many of a small space near to
        the first principal axes.
        """
        if self.n_features <= EXACT_AXES_UP_TO:
            return np.eye(self.n_features)
        basis = np.random.default_rng(0).normal(size=(self.n_features, AXES_TRIED))
        for _ in range(AXES_ROUNDS):
            basis = la.qr(self.scatter_times(basis), mode="economic")[0]
        return basis


@dataclass(frozen=True)
class _Middle:
    """The mean of some rows in two parts: the offsets that their columns lose first, and the
    mean of what is left.
    """

    origin: Floats
    center: Floats

    @property
    def mean(self) -> Floats:
        return self.origin + self.center


class Samples(_Deviations):
    """Rows in memory, dense or sparse, less their mean or that of a larger table; a sparse matrix
    stays sparse, its columns without zeros lose their offsets, and what is left of the mean enters
    the products."""

    def __init__(self, rows: Any, middle: _Middle | None = None) -> None:
        rows = _as_rows(rows)
        self.is_sparse = bool(sp.issparse(rows))
        self.n_samples, self.n_features = rows.shape
        middle = _middle_of(rows) if middle is None else middle
        self.origin, self.center, self.mean = middle.origin, middle.center, middle.mean
        self.rows = _without_offsets(rows, self.origin)
        self.centered: Floats | None = None if self.is_sparse else self.rows - self.center
        # As long as the numbers that enter the products, because these are what rounding errors are
        # made of.
        if self.centered is None:
            self.lengths = np.sqrt(
                np.asarray(self.rows.multiply(self.rows).sum(axis=1)).ravel()
            ) + la.norm(self.center)
        else:
            self.lengths = np.sqrt(np.einsum("ij,ij->i", self.centered, self.centered))

    def parts(self, width: int, elements: int = TEMPORARY_ELEMENTS) -> Iterator[slice]:
        """Runs of samples such that a result with `width` numbers for each stays small."""
        step = max(1, elements // max(1, width))
        return (
            slice(start, min(start + step, self.n_samples))
            for start in range(0, self.n_samples, step)
        )

    def products(self, part: slice, vectors: Floats) -> Floats:
        """The deviations of some samples times the columns of `vectors`."""
        if self.centered is not None:
            return np.asarray(self.centered[part] @ vectors)
        return np.asarray(self.rows[part] @ vectors - self.center @ vectors)

    def sums(self, weights: Any) -> Floats:
        """The given weights (one row per sum, over all samples) times the deviations."""
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

    def nearer(self, squared: Floats, units: Floats) -> Floats:
        """The squared distance to the nearest unit, if that is less than the given one; 0 where
        it is only rounding.
        """
        found, own = squared.copy(), self._squares()
        for part, distances, rounding in self._compared(units):
            here = distances.min(axis=1) + own[part]
            found[part] = np.minimum(found[part], np.where(here > rounding, here, 0.0))
        return found

    def _compared(self, units: Floats) -> Iterator[tuple[slice, Floats, Floats]]:
        """For some samples after the other: squared distances to all units, less the sample's
        own square; and their rounding.
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
        """The squared length of each deviation."""
        if self.centered is not None:
            return np.asarray(self.lengths**2)
        own = np.asarray(self.rows.multiply(self.rows).sum(axis=1)).ravel()
        return np.asarray(
            np.maximum(own - 2 * (self.rows @ self.center) + self.center @ self.center, 0.0)
        )

    def n_different(self, enough: int) -> int:
        """How many samples differ, counted up to `enough`, on a grid on which k-means can tell them
        apart.

        K-means warns where it finds fewer clusters than it was asked for, and to silence it is not
        safe beside other threads. It still may, where samples that differ by rounding alone stand
        on two sides of a line of the grid.
        """
        step = float(self.lengths.max()) * GRID or 1.0
        seen: set[bytes] = set()
        for part in self.parts(self.n_features, BLOCK_ELEMENTS):
            values = self.rows[part].toarray() if self.centered is None else self.centered[part]
            # + 0.0: there is no −0
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

    def refuse_many(self, n_units: int) -> None:
        """There are never more than samples, and these are in memory."""

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
    """Rows that are read piece by piece, less the mean of all of them: every answer is put
    together from those of its groups.
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
            # A column with a zero anywhere has no offset: nothing is of less magnitude.
            origin = np.where(np.abs(here.origin) < np.abs(origin), here.origin, origin)
            # By a share of the difference, so that equal means stay what they are.
            mean = mean + (group.stop - group.start) / group.stop * (here.mean - mean)
        return _Middle(origin, mean - origin)

    @property
    def mean(self) -> Floats:
        return self._middle.mean

    def nearest(self, units: Floats) -> Integers:
        return np.concatenate(list(self._answers(Samples.nearest, shared=(units,))))

    def unit_sums(self, units: Floats) -> tuple[Integers, Floats]:
        return _added_pairs(self._answers(Samples.unit_sums, shared=(units,)))

    def group_sums(self, assignment: Integers, n_groups: int) -> tuple[Integers, Floats]:
        return _added_pairs(self._answers(Samples.group_sums, assignment, shared=(n_groups,)))

    def distances_to(self, centers: Floats, assignment: Integers) -> Floats:
        return np.concatenate(list(self._answers(_distances_to, assignment, shared=(centers,))))

    def scatter_along(self, basis: Floats) -> Floats:
        return _added(self._answers(Samples.scatter_along, shared=(basis,)))

    def scatter_times(self, basis: Floats) -> Floats:
        return _added(self._answers(Samples.scatter_times, shared=(basis,)))

    def nearer(self, squared: Floats, units: Floats) -> Floats:
        return np.concatenate(list(self._answers(Samples.nearer, squared, shared=(units,))))

    def fetched(self, chosen: Integers) -> Floats:
        """The deviations of some samples, not many more than there are prototypes, in memory."""
        rows = _without_offsets(_as_rows(fetched_rows(self.pieces, chosen)), self._middle.origin)
        return np.asarray((rows.toarray() if sp.issparse(rows) else rows) - self._middle.center)

    def refuse_many(self, n_units: int) -> None:
        needed, memory = UNITS_HELD * BYTES * n_units * self.n_features, self.pieces.memory
        # Whatever the memory, other arrays are as large as that
        if needed > max(memory, BYTES * TEMPORARY_ELEMENTS):
            fitting = max(1, memory // (UNITS_HELD * BYTES * self.n_features))
            raise InputError(
                f"{n_units:,} prototypes of {self.n_features:,} features take "
                f"{memory_text(needed)} while they are found, and memory is "
                f"{memory_text(memory)}; pass ",
                remedy("n_prototypes", fitting),
                " or less, or graphsieve.stored(X, memory=…) with more.",
            )

    def _answers(
        self, question: Callable[..., Any], *given: NDArray[Any], shared: tuple[Any, ...]
    ) -> Iterator[Any]:
        """What samples in memory answer, for group after group; `given` is known of each sample."""
        work = partial(_answer, question=question, middle=self._middle)
        return self.pieces.over_rows(
            self.groups,
            work,
            *([one[group] for group in self.groups] for one in given),
            shared=shared,
        )


def _samples(rows: Any) -> Samples | _StoredSamples:
    return _StoredSamples(rows) if isinstance(rows, StoredRows) else Samples(rows)


def _answer(piece: Any, *asked: Any, question: Callable[..., Any], middle: _Middle) -> Any:
    return question(Samples(piece, middle), *asked)


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
    """Of each column of CSR rows without zeros, its value of least magnitude: to take it off
    costs no digits. Of others, 0.
    """
    origin = np.zeros(rows.shape[1])
    if not sp.issparse(rows):
        return origin
    full = np.bincount(rows.indices, minlength=rows.shape[1]) == rows.shape[0]
    if full.any():
        origin[full] = extremes_of(rows[:, full])[2]
    return origin


def _without_offsets(rows: Any, origin: Floats) -> Any:
    """The rows less what is 0 for every column with zeros, so that CSR stays CSR."""
    if not origin.any():
        return rows
    return sp.csr_array(
        (rows.data - origin[rows.indices], rows.indices, rows.indptr), shape=rows.shape
    )


def _dense_squares(rows: Floats, centers: Floats, assignment: Integers) -> Floats:
    differences = rows - centers[assignment]
    return np.asarray(np.einsum("ij,ij->i", differences, differences))


def _sparse_squares(rows: Any, centers: Floats, assignment: Integers) -> Floats:
    """Over the stored numbers, and what the center has besides."""
    owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    met = centers[assignment[owner], rows.indices]
    inside = np.bincount(owner, (rows.data - met) ** 2 - met**2, minlength=rows.shape[0])
    return np.asarray(np.maximum(inside + np.einsum("ij,ij->i", centers, centers)[assignment], 0.0))


def _with_fixed_signs(axes: Floats) -> Floats:
    """Axes whose entry of largest magnitude, the first of those that are equal but for rounding,
    is positive.
    """
    sizes = np.abs(axes)
    place = (sizes >= sizes.max(axis=0) * (1 - 1e-9)).argmax(axis=0)
    signs = np.sign(np.take_along_axis(axes, place[None], axis=0))
    return np.asarray(axes * np.where(signs == 0, 1.0, signs))


def _refuse_lattice(size: Size) -> None:
    if isinstance(size, tuple):
        raise InputError(
            setting("n_prototypes", size),
            " is a lattice, and k-means has none; give a number, or use 'som'.",
        )


def _n_units(size: Size, n_samples: int) -> int:
    asked = either(None, count(1))("n_prototypes", size)
    wanted = max(1, round(n_samples**0.5)) if asked is None else int(asked)
    if wanted > n_samples:
        raise InputError(
            parameter("n_prototypes", wanted),
            f" must be at most the number of samples they stand for, {n_samples}, got {wanted}.",
        )
    return wanted


def _asked_units(size: Size, n_samples: int) -> int:
    """How many prototypes a checked size asks for, before it is known whether there are samples
    enough.
    """
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
    """The sides of the map: as given, or arranged from a number of units."""
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
    """A rectangle of at most `n_units`, nearly filled by them, with sides nearly in the given
    ratio.
    """
    columns = np.arange(1, isqrt(n_units) + 1)
    rows = n_units // columns
    # A share of units left out counts as much as a quarter of it in the ratio of the sides.
    misfit = np.abs(np.log(rows / columns / ratio)) + 4 * np.log(n_units / (rows * columns))
    best = int(misfit.argmin())
    return int(rows[best]), int(columns[best])


def lattice_paths(sides: tuple[int, int]) -> Integers:
    """The shortest paths between all units of a rectangle whose units have four neighbours: rows
    apart plus columns apart.
    """
    row, column = np.divmod(np.arange(sides[0] * sides[1]), sides[1])
    return np.asarray(np.abs(row[:, None] - row) + np.abs(column[:, None] - column))


def initial_plane(sides: tuple[int, int], axes: Floats, deviations: Floats) -> Floats:
    """Units on a rectangle in the principal plane, from −1 to 1 standard deviations; the longer
    side along the first axis.
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
    """Eq. 14, by the sums over each unit's own samples, which are then mixed along the lattice."""
    counts, sums = samples.unit_sums(units)
    won = np.flatnonzero(counts)
    exponent = path[:, won] ** 2 / (2 * radius**2)
    # Relative to the nearest unit that won anything, so that no unit is left without weight by
    # underflow.
    influence = np.exp(exponent.min(axis=1, keepdims=True) - exponent)
    return np.asarray((influence @ sums[won]) / (influence @ counts[won])[:, None])


def _numbered(chosen: Integers) -> Integers:
    """The units that were chosen, numbered without those that were not."""
    return np.unique(chosen, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _prototypes(samples: Samples | _StoredSamples, chosen: Integers) -> Prototypes:
    """The means of the samples that chose the same unit; units chosen by none are left out."""
    assignment = _numbered(chosen)
    counts, sums = samples.group_sums(assignment, int(assignment.max()) + 1)
    centers = samples.mean + sums / counts[:, None]
    error = float(samples.distances_to(centers, assignment).mean())
    return Prototypes(centers, counts.astype(np.int64), assignment, error)

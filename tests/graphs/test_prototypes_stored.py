"""Prototypes of stored tables equal those of tables in memory, or are as good.

The memory never contains more than one piece of the table.
"""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr

import lookalikes
from graphsieve import GraphSieve, GraphSieveWarning, InputError, Supervision, stored
from graphsieve.graphs import prototypes
from graphsieve.graphs.graph import LiftedGraph, SparseGraph
from graphsieve.graphs.prototypes import COMPRESSIONS, compressed, kmeans, som
from graphsieve.scores import METHODS, laplacian_score
from graphsieve.table import sums
from graphsieve.table.columns import MemoryTable
from graphsieve.table.stored import array_files as arrays
from graphsieve.table.stored.pieces import ROWS_HELD, Local
from graphsieve.table.stored.stored_table import StoredTable

HOW = sorted(COMPRESSIONS)


class Pieces(Local):
    """A matrix in row groups of at most `height` rows, which counts the rows that are read."""

    def __init__(self, matrix, height, memory=None):
        self.matrix, self.shape, self.is_sparse = matrix, matrix.shape, bool(sp.issparse(matrix))
        self.density = matrix.nnz / (matrix.shape[0] * matrix.shape[1]) if self.is_sparse else 1.0
        entry = 16 * self.density if self.is_sparse else 8
        rows, column = ROWS_HELD * entry * height * self.shape[1], ROWS_HELD * entry * self.shape[0]
        self.memory = int(max(rows, column) + 1) if memory is None else memory
        self.borders = np.unique(np.append(np.arange(0, self.shape[0], height), self.shape[0]))
        self.rows_read = 0

    @property
    def row_borders(self):
        return self.borders

    def row_groups(self, share=1.0):
        return [
            slice(int(start), int(stop))
            for start, stop in zip(self.borders[:-1], self.borders[1:], strict=True)
        ]

    def read_rows(self, rows):
        found = sp.csr_array(self.matrix)[rows] if self.is_sparse else self.matrix[rows]
        self.rows_read += found.shape[0]
        return found

    def read_columns(self, columns):
        return sp.csc_array(self.matrix)[:, columns] if self.is_sparse else self.matrix[:, columns]

    @property
    def n_bytes(self):
        return 2**60  # too large to be read into memory


def blobs(n=300, p=5, seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(n, p)) * np.linspace(2, 0.5, p)
        + 4 * rng.normal(size=(4, p))[rng.integers(4, size=n)]
    )


def kept_sparse(X):
    return sp.csr_array(np.where(np.abs(X) > 1, X, 0.0))


def stored_rows(matrix, height=70):
    return StoredTable(Pieces(matrix, height)).rows[0]


def inertia(X, found):
    return ((X - found.centers[found.assignment]) ** 2).sum()


# --- The map
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shape", [None, 12, (5, 4)])
@pytest.mark.parametrize("height", [1, 7, 150, 300])
def test_the_map_equals_that_of_rows_in_memory(sparse, shape, height):
    X = blobs() + 3
    matrix = kept_sparse(X) if sparse else X
    here, there = som(matrix, shape), som(stored_rows(matrix, height), shape)
    assert_array_equal(there.assignment, here.assignment)
    assert_array_equal(there.counts, here.counts)
    assert_allclose(there.centers, here.centers, rtol=1e-10, atol=1e-12)
    assert there.quantization_error == pytest.approx(here.quantization_error, rel=1e-10)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_map_of_many_features_equals_that_of_rows_in_memory(monkeypatch, sparse):
    monkeypatch.setattr(prototypes, "EXACT_AXES_UP_TO", 5)
    X = blobs(200, 30, seed=2)
    matrix = kept_sparse(X) if sparse else X
    assert_allclose(
        som(stored_rows(matrix), 15).centers, som(matrix, 15).centers, rtol=1e-10, atol=1e-12
    )


@given(cuts=st.sets(st.integers(1, 79), max_size=8))
def test_the_map_does_not_depend_on_the_chunks(cuts):
    X = blobs(80)
    pieces = Pieces(X, 80)
    pieces.borders = np.array([0, *sorted(cuts), 80])
    assert_allclose(som(StoredTable(pieces).rows[0], 9).centers, som(X, 9).centers, rtol=1e-10)


@pytest.mark.parametrize("offset", [2.0**20, 2.0**24, 2.0**30])
@pytest.mark.parametrize("n_samples", [40, 200])  # k-means reads 40 rows into memory
@pytest.mark.parametrize("how", HOW)
def test_an_offset_changes_no_prototype(how, n_samples, offset):
    """Adding the offset is exact, because the samples are on a grid.

    The column that is zero in only one group of rows has no offset.
    """
    rows = np.round(np.random.default_rng(6).normal(size=(n_samples, 6)) * 2**16) / 2**16
    rows[:30, 5] = 0
    far = rows + offset * (np.arange(6) < 5)
    expected = COMPRESSIONS[how](stored_rows(rows, 30), 8, 0)
    for kind in (np.array, sp.csr_array):
        found = COMPRESSIONS[how](stored_rows(kind(far), 30), 8, 0)
        assert_array_equal(found.assignment, expected.assignment)
        assert_allclose(
            found.centers, expected.centers + offset * (np.arange(6) < 5), rtol=1e-15, atol=1e-12
        )
        assert found.quantization_error == pytest.approx(expected.quantization_error)


@pytest.mark.parametrize("how", HOW)
def test_an_offset_of_the_samples_to_compress_alone_changes_no_prototype(how):
    """The kept samples are zero, and all other samples have an offset."""
    X = np.round(blobs(200, seed=6) * 2**16) / 2**16
    far = X + 2.0**30
    X[:10] = far[:10] = 0
    known = Supervision.from_labels(np.where(np.arange(200) < 10, np.arange(200) % 2, -1))
    expected = compressed(StoredTable(Pieces(X, 70)), known, how, 8)
    found = compressed(StoredTable(Pieces(sp.csr_array(far), 70)), known, how, 8)
    assert_array_equal(found.member, expected.member)


def test_every_epoch_reads_the_rows_once():
    pieces = Pieces(blobs(), 70)
    rows = StoredTable(pieces).rows[0]
    readings = {}
    for n_epochs in (1, 4):
        pieces.rows_read = 0
        som(rows, 12, n_epochs=n_epochs)
        readings[n_epochs] = pieces.rows_read / 300
    assert readings[4] - readings[1] == 3
    assert readings[1] <= 6  # mean, axes, epoch, assignment, sums, distances


# --- K-means
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_kmeans_converges_to_the_means_of_the_nearest_samples(monkeypatch, sparse):
    """After convergence, every centre is the mean of the samples that are nearest to it."""
    monkeypatch.setattr(prototypes, "ROUNDS", 200)
    matrix = kept_sparse(blobs()) if sparse else blobs()
    X = matrix.toarray() if sparse else matrix
    found = kmeans(stored_rows(matrix), 10)
    assert_array_equal(found.assignment, cdist(X, found.centers).argmin(axis=1))
    for place in range(10):
        assert_allclose(found.centers[place], X[found.assignment == place].mean(axis=0), atol=1e-12)
    assert_array_equal(found.counts, np.bincount(found.assignment))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("height", [1, 33, 300])
def test_kmeans_does_not_depend_on_the_chunks(sparse, height):
    matrix = kept_sparse(blobs()) if sparse else blobs()
    one, other = (
        kmeans(stored_rows(matrix, 100), 10, random_state=3),
        kmeans(stored_rows(matrix, height), 10, random_state=3),
    )
    assert_array_equal(other.assignment, one.assignment)
    assert_allclose(other.centers, one.centers, rtol=1e-10, atol=1e-12)


def test_few_rows_per_prototype_are_read_into_memory():
    X = blobs(60)
    here, there = kmeans(X, 20), kmeans(StoredTable(Pieces(X, 7, memory=10_000)).rows[0], 20)
    assert_array_equal(there.assignment, here.assignment)


def test_another_seed_gives_another_initialization():
    rows = stored_rows(blobs())
    assert len({kmeans(rows, 20, random_state=seed).quantization_error for seed in range(4)}) > 1


def test_a_few_distant_rows_are_found():
    """Five of 3000 rows are far from all others; thirty uniformly drawn rows would miss them."""
    X = blobs(3000)
    X[::600] = 1e4 * np.eye(5)
    found = kmeans(stored_rows(X, 700), 30)
    assert inertia(X, found) < 1.05 * inertia(X, kmeans(X, 30))


@pytest.mark.parametrize(
    "rows", [np.zeros((12, 2)), np.repeat([[0.0, 1.0], [5.0, 1.0]], 6, axis=0)]
)
@pytest.mark.parametrize("how", HOW)
def test_copies_share_a_prototype(how, rows):
    found = COMPRESSIONS[how](stored_rows(np.tile(rows, (5, 1)), 7), 4, 0)
    assert len(found.counts) == len(np.unique(rows, axis=0))
    assert found.quantization_error == 0


@pytest.mark.parametrize("name", ["digits", "households", "waveform"])
def test_kmeans_is_as_good_as_in_memory(name):
    X = np.asarray(lookalikes.load(name)[0], dtype=np.float64)
    here, there = kmeans(X), kmeans(stored_rows(X, len(X) // 6))
    assert inertia(X, there) < 1.05 * inertia(X, here)


@pytest.mark.parametrize("name", ["digits", "households"])
@pytest.mark.parametrize("scale", [None, "standard"])
def test_scores_rank_features_as_in_memory(name, scale):
    X = np.asarray(lookalikes.load(name)[0], dtype=np.float64)
    X = X[:, (X > 0).mean(axis=0) > 0.2]  # without pixels that are zero in most images
    sieve = GraphSieve("laplacian", compress="kmeans", scale=scale)
    here, there = sieve.fit(X).scores_, sieve.fit(Pieces(X, len(X) // 6)).scores_
    assert spearmanr(here, there)[0] >= 0.9


# --- Whole tables
# --------------------------------------------------------------------------------------------------

LABELS = np.where(np.arange(300) % 60 == 3, np.arange(300) // 60 % 3, -1)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize(
    ("known", "kept"),
    [
        (Supervision.from_labels(LABELS), [3, 63, 123, 183, 243]),
        (Supervision.from_pairs(300, must_link=[(50, 7)], cannot_link=[(7, 299)]), [7, 50, 299]),
        (Supervision.nothing(300), []),
    ],
)
def test_samples_with_supervision_are_kept_unchanged(how, sparse, known, kept):
    matrix = kept_sparse(blobs()) if sparse else blobs()
    X = matrix.toarray() if sparse else matrix
    small = compressed(StoredTable(Pieces(matrix, 70)), known, how, 9)
    assert type(small.table) is MemoryTable
    assert small.table.is_sparse == sparse
    found = small.table.matrix.toarray() if sparse else small.table.matrix
    assert_array_equal(found[: len(kept)], X[kept])
    assert_array_equal(small.counts, np.bincount(small.member))
    assert len(small.known) == len(found)
    for place in range(len(found)):
        assert_allclose(found[place], X[small.member == place].mean(axis=0), atol=1e-12)


def test_columns_of_any_magnitude_keep_their_units():
    X = blobs()
    X[:, 0] = np.where(X[:, 0] > 0, 1e300, 3e300)
    X[:, 1] = 1e-300 * (1 + np.arange(300))
    X[:, 2] += 1e8
    small = compressed(StoredTable(Pieces(X, 70)), Supervision.nothing(300), "kmeans", 2)
    for place in range(2):
        assert_allclose(
            small.table.matrix[place], X[small.member == place].mean(axis=0), rtol=1e-12
        )


def supervision_for(name, n):
    if name == "semi_supervised_laplacian":
        rng = np.random.default_rng(1)
        return Supervision.from_targets(
            np.where(np.arange(n) % 5 == 0, np.round(rng.normal(size=n), 1), np.nan)
        )
    return (
        Supervision.from_labels(LABELS)
        if "labels" in METHODS[name].uses
        else Supervision.nothing(n)
    )


@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize(
    "name", [name for name, method in METHODS.items() if method.reads_neighbors]
)
def test_every_score_of_a_map_equals_that_in_memory(name, scale, sparse):
    matrix = kept_sparse(blobs() * [1, 3, 9, 1, 2]) if sparse else blobs() * [1, 3, 9, 1, 2]
    sieve, known = GraphSieve(name, compress="som", scale=scale), supervision_for(name, 300)
    here = sieve.fit(matrix, supervision=known).scores_
    there = sieve.fit(Pieces(matrix, 70), supervision=known)
    assert there.n_prototypes_ > 5
    assert_allclose(there.scores_, here, rtol=1e-10)


def test_nothing_to_compress():
    table = StoredTable(Pieces(blobs(), 70))
    with pytest.warns(GraphSieveWarning, match="nothing to compress"):
        assert (
            compressed(table, Supervision.from_labels(np.arange(300) % 2), "som", None).table
            is table
        )


# --- Memory
# --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("how", HOW)
def test_memory_depends_on_the_pieces_and_not_on_the_table(how, tmp_path):
    """20,000 × 200 numbers need 32 MB, but the peak memory is only a fraction of that.

    The pieces need 2 MiB, and the 40 prototypes 64 kB.
    """
    rng = np.random.default_rng(0)
    X = np.memmap(tmp_path / "X", mode="w+", shape=(20_000, 200), dtype=np.float64)
    for start in range(0, 20_000, 1000):
        X[start : start + 1000] = rng.normal(size=(1000, 200)) + 5 * rng.normal(size=200)
    table = StoredTable(stored(X, memory="2 MiB"))
    tracemalloc.start()
    try:
        small = compressed(table, Supervision.nothing(20_000), how, 40)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 2 <= small.n_prototypes <= 40
    assert peak < 12 * 2**20


@pytest.mark.parametrize(("memory", "readings"), [(100_000, 1), (10_000, 4)])
def test_a_lifted_graph_reads_the_table_as_rarely_as_memory_allows(monkeypatch, memory, readings):
    monkeypatch.setattr(sums, "BLOCK_ELEMENTS", 1)
    X = blobs(250, 16)
    member = np.arange(250) % 30
    graph = LiftedGraph(SparseGraph(30, np.arange(29), np.arange(1, 30)), member)
    pieces = Pieces(X, 70, memory=memory)  # 8 arrays of 30 × 16 numbers are 30,720 bytes
    table = StoredTable(pieces)
    pieces.rows_read = 0
    found = graph.block_energy(table.whole)
    assert pieces.rows_read == readings * 250
    assert_allclose(found * 4.0**table.whole.exponent, graph.energy(X), rtol=1e-12)


def test_the_remedy_for_long_searches_works():
    pieces = Pieces(blobs(), 70)
    pieces.hours = 1e-12
    with pytest.raises(InputError, match="compress='kmeans' to a sieve"):
        laplacian_score(pieces)
    assert np.isfinite(GraphSieve("laplacian", compress="kmeans").fit(pieces).scores_).all()


@pytest.mark.parametrize("how", HOW)
def test_too_many_prototypes_are_refused_before_anything_is_read(monkeypatch, how):
    monkeypatch.setattr(prototypes, "TEMPORARY_ELEMENTS", 1)
    pieces = Pieces(blobs(), 70, memory=10_000)
    table = StoredTable(pieces)
    pieces.rows_read = 0
    with pytest.raises(
        InputError, match=r"100 prototypes of 5 features need 31\.2 KiB .* n_prototypes=31 or less"
    ):
        compressed(table, Supervision.nothing(300), how, 100)
    assert pieces.rows_read == 0


def test_too_many_samples_with_supervision_are_refused_before_the_search():
    """The kept samples must fit into memory."""
    known = Supervision.from_labels(np.where(np.arange(300) % 3 > 0, np.arange(300) % 2, -1))
    table = StoredTable(Measured(blobs(), 70, memory=10_000))
    with pytest.raises(InputError, match="200 samples with supervision are kept and need"):
        compressed(table, known, "kmeans", 10)


class Measured(Pieces):
    """Pieces that report their true size."""

    n_bytes = Local.n_bytes


class Sent(Pieces):
    """Pieces that are processed as on a remote worker; the size of each message is measured."""

    heaviest = 0

    def _over_rows(self, groups, work, *given, shared=()):
        for place, group in enumerate(groups):
            message = pickle.dumps((work, [one[place] for one in given], shared))
            self.heaviest = max(self.heaviest, len(message))
            there, known, common = pickle.loads(message)
            yield pickle.loads(pickle.dumps(there(self.read_rows(group), *known, *common)))


@pytest.mark.parametrize("how", HOW)
def test_only_prototypes_are_sent_to_workers(how):
    X = blobs(3000, 20)
    pieces = Sent(X, 500)
    here, there = (
        GraphSieve("laplacian", compress=how).fit(Pieces(X, 500)),
        GraphSieve("laplacian", compress=how).fit(pieces),
    )
    assert_array_equal(there.scores_, here.scores_)
    # A message contains at most 4 × √3000 rows, arrays of 500 samples, and a few vectors. A piece
    # would be 80,000 bytes.
    assert 55 * 20 * 8 < pieces.heaviest < 4 * 55 * 20 * 8 + 500 * 24 + 4000


@pytest.mark.parametrize("at_once", [1, 2**12, 2**17, 2**22])
def test_isolated_rows_of_a_memory_map_are_read_a_few_at_a_time(monkeypatch, tmp_path, at_once):
    """Reading a row of 80 bytes loads the 64 kB around it into memory."""
    X = np.memmap(tmp_path / "X", mode="w+", shape=(20_000, 10), dtype=np.float64)
    X[:] = np.arange(200_000).reshape(20_000, 10)
    monkeypatch.setattr(arrays, "AT_ONCE", at_once)
    mapped = arrays.Mapped(X, 2**20)
    for rows in (
        np.arange(0, 20_000, 1000),
        np.arange(20_000),
        np.array([19_999]),
        np.array([], dtype=np.int64),
    ):
        assert_array_equal(mapped.read_rows(rows), X[rows])
    alone = np.arange(0, 20_000, 1000)
    longest = max(part.stop - part.start for part in mapped._row_parts(alone, len(alone)))
    assert longest <= max(1, at_once // 2**16 + 1)

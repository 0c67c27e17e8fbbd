"""Cases of the scoring core that other tests do not cover.

Each was found by an undetected mutant (`mutation.py`). The expected values are computed by hand or
by the dense formula.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from graphsieve import GraphSieveWarning, InputError, Supervision, scores
from graphsieve._kernels import column_sums
from graphsieve._kernels.column_sums import plain_sums, row_differences
from graphsieve.graphs import builders
from graphsieve.graphs import graph as graphs
from graphsieve.graphs.graph import (
    BandGraph,
    CrossGraph,
    FactorGraph,
    LiftedGraph,
    SparseGraph,
    StreamedGraph,
    complete_graph,
    lifted,
)
from graphsieve.graphs.neighbors.exact import TargetRuns, target_runs
from graphsieve.graphs.prototypes import Compressed
from graphsieve.graphs.ratio import laplacian_ratio
from graphsieve.scores import METHODS, geometry, labels, pairs
from graphsieve.scores.geometry import _Spectrum
from graphsieve.scores.method import best_first, extra_options, wanted_count
from graphsieve.table import blocks, columns, sums
from graphsieve.table.columns import MemoryTable
from graphsieve.table.stored.stored_table import StoredTable
from graphsieve.table.sums import (
    columns_at_once,
    dense_weighting,
    group_weightings,
    means,
    moments,
    projection,
)
from pretended import Pretended

MEMBER = np.array([0, 1, 1, 2, 2, 2, 3, 4, 4])
EDGES = (np.array([0, 1, 3]), np.array([1, 2, 4]), np.array([0.5, 2.0, 1.0]))


def expanded(own: float) -> np.ndarray:
    """Return the weights between the samples of a lifted graph: w / √(a b) across, `own` / a
    within.
    """
    counts = np.bincount(MEMBER)
    small = np.zeros((5, 5))
    for first, second, weight in zip(*EDGES, strict=True):
        small[first, second] = small[second, first] = weight / np.sqrt(
            counts[first] * counts[second]
        )
    small += np.diag(own / counts)
    dense = small[np.ix_(MEMBER, MEMBER)]
    np.fill_diagonal(dense, 0.0)
    return dense


def check_forms(graph, W, X):
    assert_allclose(graph.degree(), W.sum(axis=1), atol=1e-12)
    assert_allclose(graph.energy(X), [oracle.energy(W, f) for f in X.T], rtol=1e-12)
    assert_allclose(graph.spread(X), [oracle.spread(W, f) for f in X.T], rtol=1e-12)


@pytest.mark.parametrize("own", [0.0, 1.0, 0.3])
@pytest.mark.parametrize("streamed", [False, True])
def test_a_lifted_graph_is_its_expansion(own, streamed):
    small = StreamedGraph(5, lambda: iter([EDGES])) if streamed else SparseGraph(5, *EDGES)
    graph, W = LiftedGraph(small, MEMBER, own=own), expanded(own)
    X = np.random.default_rng(0).normal(size=(9, 4))
    check_forms(graph, W, X)
    assert_allclose(graph.times(X), W @ X, atol=1e-12)
    assert_allclose(graph.times(X[:, 0]), W @ X[:, 0], atol=1e-12)
    found = graph.components()
    assert_array_equal(found[:, None] == found, (MEMBER[:, None] <= 2) == (MEMBER <= 2))


def test_links_within_a_row_come_once_in_a_lifted_sum_and_low_ranks_stay_low():
    X = np.random.default_rng(1).normal(size=(9, 3))
    factor = np.zeros((5, 1))
    factor[[0, 3]] = 1.0  # kept samples: each represents only itself
    block = factor[MEMBER] @ factor[MEMBER].T
    np.fill_diagonal(block, 0.0)
    graph = lifted(SparseGraph(5, *EDGES) + FactorGraph(factor), MEMBER)
    assert isinstance(graph.other, FactorGraph)
    check_forms(graph, expanded(1.0) + block, X)
    twice = lifted(SparseGraph(5, *EDGES) + SparseGraph(5, *EDGES), MEMBER)
    check_forms(twice, 2 * expanded(0.0) + (expanded(1.0) - expanded(0.0)), X)


@pytest.mark.parametrize("width", [1, 2, 3, 7, 9])
@pytest.mark.parametrize("kind", ["unread", "values", "stored"])
def test_parts_of_a_block_are_its_columns(width, kind):
    X = np.random.default_rng(2).normal(size=(5, 7)) * 2.0 ** np.arange(7)
    X[:, 4] = 3.0
    table = (
        StoredTable(Pretended(X, 4096))
        if kind == "stored"
        else MemoryTable(X if kind == "unread" else X.astype(">f8"))
    )
    (whole,) = table.wide_blocks()
    assert whole.is_stored == (kind == "stored")
    parts = list(whole.parts(width))
    assert [part.width for part in parts] == [min(width, 7 - start) for start in range(0, 7, width)]
    assert [part.start for part in parts] == list(range(0, 7, width))
    for part in parts:
        assert_allclose(
            (part.values + part.shift) * 2.0**part.exponent,
            X[:, part.start : part.stop],
            rtol=1e-15,
        )
        assert_array_equal(part.constant, np.arange(part.start, part.stop) == 4)
        assert_allclose(
            part.range * 2.0**part.exponent,
            np.ptp(X[:, part.start : part.stop], axis=0),
            rtol=1e-15,
        )


def test_many_weights_by_threads_are_those_of_the_kernel(monkeypatch):
    squared = np.random.default_rng(3).random(1000)
    expected = np.exp(-(squared - squared.min()) / 0.7)
    monkeypatch.setattr(builders, "MANY_EDGES", 1000)
    monkeypatch.setattr(builders, "EDGES_IN_CACHE", 64)
    shares = []
    fill = builders.fill_heat
    monkeypatch.setattr(
        builders, "fill_heat", lambda part, *rest: (shares.append(len(part)), fill(part, *rest))
    )
    assert_allclose(builders.heat_weights(squared, 0.7)[0], expected, rtol=1e-14)
    # ⌈1000 / 64⌉ parts of nearly equal size
    assert (len(shares), sum(shares), max(shares)) == (16, 1000, 63)


def test_a_graph_of_other_samples_is_refused():
    with pytest.raises(InputError, match="same samples, got 3 and 4 samples"):
        laplacian_ratio(MemoryTable(np.arange(8.0).reshape(4, 2)), SparseGraph(3, [0], [1]))


@pytest.mark.parametrize("borders", [[0, 1, 9], [0, 3, 6, 9], [0, 8, 9]])
def test_merged_moments_of_light_and_of_missing_weightings(borders):
    X = np.random.default_rng(4).normal(size=(9, 3))
    weights = np.zeros((9, 4))
    weights[:, 0] = 0.01
    weights[:2, 1] = [0.2, 0.3]
    weights[7:, 2] = [0.1, 0.4]
    block = StoredTable(Pretended(X, 240, borders=borders)).whole
    assert len(block.held.row_groups()) > 1
    for given in (weights, sp.csc_array(weights)):
        found = moments(block, given)
        assert_allclose(found.mass, [0.09, 0.5, 0.5, 0.0])
        for place in range(3):
            w = weights[:, place]
            mean = w @ X / w.sum()
            assert_allclose(
                (found.mean[place] + block.shift) * 2.0**block.exponent, mean, rtol=1e-13
            )
            assert_allclose(
                found.scatter[place] * 4.0**block.exponent, w @ (X - mean) ** 2, rtol=1e-13
            )
        assert_array_equal(found.scatter[3], 0.0)


def test_columns_at_once_fill_a_block_or_the_memory_of_a_stored_table():
    X = np.zeros((4, 3))
    (dense,) = MemoryTable(X).blocks()
    assert columns_at_once(dense, 2**20) == blocks.BLOCK_ELEMENTS // 2**20
    assert columns_at_once(dense, 0) == blocks.BLOCK_ELEMENTS
    assert columns_at_once(dense, 2**30) == 1
    for memory, elements in ((2**10, blocks.BLOCK_ELEMENTS // 8), (2**30, 2**30 // 64)):
        assert columns_at_once(StoredTable(Pretended(X, memory)).whole, 64) == elements // 64


def test_weightings_of_groups():
    codes = np.array([1, -1, 0, 1])
    assert_array_equal(
        group_weightings(codes, 3).toarray(), [[0, 1, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0]]
    )
    weighted = group_weightings(codes, 2, np.array([0.5, 9.0, 2.0, 0.0]))
    assert_array_equal(weighted.toarray(), [[0, 0.5], [0, 0], [2, 0], [0, 0]])
    assert weighted.nnz == 2  # Samples of weight zero are not stored.


def test_one_weighting_has_the_mass_of_its_sparse_form_to_the_last_bit():
    weights = np.random.default_rng(5).random((5001, 1))
    (block,) = MemoryTable(weights).blocks()
    assert moments(block, weights).mass == moments(block, sp.csc_array(weights)).mass


def test_a_zero_in_a_factor_has_no_influence():
    factor = sp.csc_array(
        (np.array([0.0, *np.full(9, 1 / 3)]), (np.arange(10), np.zeros(10, dtype=int))),
        shape=(10, 1),
    )
    X = np.full((10, 50), 0.3)
    X[0] = np.random.default_rng(6).random(50)
    # All samples with a nonzero weight are equal.
    assert_array_equal(FactorGraph(factor).energy(X), 0.0)


def test_edges_of_weight_zero_are_left_out():
    first, second, weights = np.array([0, 1]), np.array([1, 2]), np.array([1.0, 0.0])
    graph = SparseGraph.of_distinct(3, first, second, weights)
    band = BandGraph(np.array([0, 1, 2]), np.array([0, 1, 2, 2]), weights)
    for one in (graph, band):
        assert [[part.tolist() for part in chunk] for chunk in one.edges()] == [[[0], [1], [1.0]]]
    assert_array_equal(graph.components(), [0, 0, 1])
    assert [part.tolist() for part in next(SparseGraph(3, first, second, weights).edges())] == [
        [0],
        [1],
        [1.0],
    ]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, ">f8"])
def test_rows_of_a_table_are_scaled_and_shifted_like_all_of_it(sparse, dtype):
    X = np.array([[4.0, 0.0, 7.0, 1.0], [2.0, 3.0, 7.0, 2.0], [8.0, 0.0, 7.0, 3.0]], dtype=dtype)
    shift, exponent = np.array([0.0, 0.875]), np.array([2, 3], dtype=np.intc)
    piece = sp.csr_array(X.astype(np.float64)) if sparse else X
    block = blocks.row_block(piece, slice(1, 3), shift, exponent)
    values = block.values.toarray() if sparse else block.values
    # 3 / 4 − 0, and 7 / 8 − 0.875
    assert_array_equal(values, [[0.0, 0.0], [0.75, 0.0], [0.0, 0.0]])
    assert (block.start, block.stop, block.is_sparse) == (1, 3, sparse)
    assert not block.constant.any()  # The constant columns are not known from some of the rows.
    assert not sparse or block.values.nnz == 1


def test_extremes_of_a_sparse_piece_are_those_of_its_dense_form():
    X = np.array(
        [[0.0, 3.0, -2.0, 0.0, 2.0], [5.0, 4.0, -1.0, 0.0, -2.0], [-1.0, 3.5, -3.0, 0.0, 2.5]]
    )
    # Of 2 and −2, the first one is the shift.
    expected = [[-1, 3, -3, 0, -2], [5, 4, -1, 0, 2.5], [0, 3, -1, 0, 2]]
    assert_array_equal(blocks.extremes_of(sp.csr_array(X)), expected)
    assert_array_equal(blocks.extremes_of(X), expected)
    assert_array_equal(blocks.extremes_of((2 * X).astype(int)), 2 * np.array(expected))


def test_a_sparse_block_is_scaled_and_shifted_and_has_its_constant_columns(sparse_stays_sparse):
    X = np.array(
        [[0.0, 3e200, 7.0, 0.0, -2.0], [3.0, 4e200, 7.0, 0.0, 2.0], [0.0, 5e200, 7.0, 0.0, 6.0]]
    )
    (block,) = MemoryTable(sp.csc_array(X)).blocks()
    assert block.is_sparse
    exponent = np.array([2, 667, 3, 0, 3])  # 2¹ < 3 < 2², and 2⁶⁶⁶ < 5e200 < 2⁶⁶⁷
    assert_array_equal(block.exponent, exponent)
    assert_array_equal(block.constant, [False, False, True, True, False])
    assert_array_equal(block.shift, np.array([0.0, 3e200, 7.0, 0.0, -2.0]) * 2.0**-exponent)
    assert_allclose(
        block.values.toarray() * 2.0**exponent, X - [0.0, 3e200, 7.0, 0.0, -2.0], rtol=1e-15
    )
    assert block.values.nnz == 5


@pytest.mark.parametrize("at_once", [1, 3, 6, 7, 100])
def test_dense_parts_of_a_sparse_block_are_its_columns_once(
    sparse_stays_sparse, monkeypatch, at_once
):
    X = np.triu(np.arange(1.0, 22.0).reshape(3, 7))
    (block,) = MemoryTable(sp.csc_array(X)).blocks()
    monkeypatch.setattr(blocks, "BLOCK_ELEMENTS", at_once)
    parts = list(block.dense_parts())
    width = max(1, at_once // 3)
    assert [(part.start, part.stop) for part, _ in parts] == [
        (start, min(start + width, 7)) for start in range(0, 7, width)
    ]
    assert_array_equal(
        np.concatenate([values for _, values in parts], axis=1), block.values.toarray()
    )


@pytest.mark.parametrize(
    "X", [np.array([[3.0, -2.0], [0.0, 5.0]]), sp.csc_array([[3.0, -2.0], [0.0, 5.0]])]
)
def test_the_smallest_number_of_a_table(X):
    assert MemoryTable(X).smallest == -2.0
    assert MemoryTable(np.ones((2, 1)) if sp.issparse(X) else sp.csc_array((2, 1))).smallest == (
        1.0 if sp.issparse(X) else 0.0
    )


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("form", [np.asarray, sp.csc_array, lambda X: X.astype(">f8")])
def test_distances_are_taken_on_rows_divided_by_the_largest_power_of_two(sign, form):
    X = sign * np.array([[5e200, 1.0], [-1e150, 2.0]])
    rows, exponent = MemoryTable(form(X)).rows
    assert exponent == 667  # 2⁶⁶⁶ < 5e200 < 2⁶⁶⁷
    assert_array_equal(rows.toarray() if sp.issparse(rows) else rows, np.ldexp(X, -667))
    rows, exponent = MemoryTable(form(X * 2.0**-567)).rows
    assert exponent == 0  # 2¹⁰⁰ is within the normal range.
    assert MemoryTable(form(X * 2.0**-566)).rows[1] == 101


@pytest.mark.parametrize("form", [np.asarray, sp.csc_array])
def test_columns_of_zeros_alone_have_no_exponent(form):
    X = np.array([[0.0, 3.0, 0.0], [0.0, 3.0, 9.0], [0.0, 3.0, -1.0]])
    assert_array_equal(MemoryTable(form(X)).column_exponents(), [columns.NO_EXPONENT, 2, 4])


@pytest.mark.parametrize(
    ("elements", "widths"), [(12, [4, 3]), (3, [1] * 7), (1, [1] * 7), (21, [7]), (20, [6, 1])]
)
def test_blocks_contain_the_allowed_number_of_elements(elements, widths):
    X = np.arange(21.0).reshape(3, 7)
    assert [block.width for block in MemoryTable(X, block_elements=elements).blocks()] == widths
    assert (MemoryTable(X, block_elements=elements).only_block is None) == (len(widths) > 1)
    assert [block.width for block in MemoryTable(X, block_elements=elements).wide_blocks()] == [7]


def test_sparse_blocks_contain_few_entries_and_are_not_too_wide(monkeypatch):
    monkeypatch.setattr(columns, "DENSE_FROM", 0.3)

    def blocks(X, elements):
        return [
            (block.width, block.is_sparse)
            for block in MemoryTable(sp.csc_array(X), block_elements=elements).blocks()
        ]

    full, empty = np.ones((4, 3)), np.zeros((4, 40))
    empty[0] = np.arange(40) == 39
    # One entry would be enough, but a column is not divided. It is dense, and small enough.
    assert blocks(full, 8) == [(1, False)] * 3
    assert blocks(full, 3) == [(1, True)] * 3  # A dense block would be too large.
    assert blocks(full, 16 * 4) == [(1, False)] * 3
    assert blocks(full, 16 * 8) == [(2, False), (1, False)]
    assert blocks(empty, 4) == [(16, True), (16, True), (8, True)]
    assert blocks(empty, 2**22) == [(40, True)]


def test_finiteness_follows_from_the_extremes():
    X = np.arange(6.0).reshape(3, 2)
    assert MemoryTable.trusted(X, None)._all_finite(X) is True

    X[1, 1] = np.nan
    assert MemoryTable.trusted(X, None)._all_finite(X) is False


def test_pairs_of_equal_codes_come_in_chunks_of_the_right_size(monkeypatch):
    monkeypatch.setattr(builders, "EDGES_PER_CHUNK", 3)
    codes = np.array([2, -1, 2, 2, 0, 2, 2])  # five equal codes: 4 + 3 + 2 + 1 pairs
    chunks = [
        list(zip(one.tolist(), other.tolist(), strict=True))
        for one, other in builders.same_code_pairs(codes)
    ]
    assert [len(chunk) for chunk in chunks] == [4, 3, 3]  # The pairs of one sample are not divided.
    alike = [0, 2, 3, 5, 6]
    assert sorted(pair for chunk in chunks for pair in chunk) == [
        (a, b) for a in alike for b in alike if a < b
    ]


def test_a_graph_that_depends_on_few_edges_warns():
    half = np.full(8, 0.5)  # eight edges of equal weight: (Σ w)² / Σ w² = 16 / 2
    with pytest.warns(
        GraphSieveWarning, match="8 edges among 81 samples have the effect of only about 8.0"
    ):
        builders.warn_if_few_edges(half, 81)
    builders.warn_if_few_edges(half, 80)  # A tenth of an edge per sample is enough.
    with pytest.warns(
        GraphSieveWarning, match="0 edges among 3 samples have the effect of only about 0.0"
    ):
        builders.warn_if_few_edges(np.empty(0), 3)
    builders.warn_if_few_edges(np.empty(0), 2)


@pytest.mark.parametrize(
    ("squared", "bandwidth"),
    [([0.0, 0.0, 2.0, 4.0], 3.0), ([0.0, 0.25, 0.5], 0.375), ([0.0, 0.0], 1.0)],
)
def test_the_bandwidth_is_the_mean_of_the_positive_lengths(squared, bandwidth):
    weights, used = builders.heat_weights(np.array(squared), None)
    assert used == bandwidth
    assert_allclose(weights, np.exp(-np.array(squared) / bandwidth), rtol=1e-15)


def edges_of(graph):
    return {
        (int(a), int(b)): float(w) for part in graph.edges() for a, b, w in zip(*part, strict=True)
    }


def test_unlabelled_neighbours_take_only_the_places_that_labelled_ones_leave():
    nan = np.nan
    # The first sample has room for one neighbour. The second sample is at distance 1 in the target
    # and the third at distance 1 in X. Labelled samples come first.
    X, y = np.array([[0.0], [10.0], [1.0], [1.25]]), np.array([0.0, 1.0, nan, nan])
    found = edges_of(builders.partly_known_target_graph(MemoryTable(X), y, 1, 2.0, 5.0).graph)
    assert found == pytest.approx({(0, 1): 5 * np.exp(-(1 - 0.0625) / 2), (2, 3): 1.0})
    # Now it has room for two. One place is left for the two samples at 1 and −1, and the first of
    # them gets it.
    X = np.array([[0.0], [10.0], [1.0], [1.25], [1.5], [-1.0], [-1.25], [-1.5]])
    y = np.array([0.0, 1.0, *np.full(6, nan)])
    found = edges_of(builders.partly_known_target_graph(MemoryTable(X), y, 2, np.inf, 1.0).graph)
    assert set(found) == {(0, 1), (0, 2), (1, 4), (2, 3), (2, 4), (3, 4), (5, 6), (5, 7), (6, 7)}


def test_samples_of_equal_target_are_one_group_for_each_target_that_comes_twice():
    graph = builders.target_graph(np.array([3.0, 1.0, 2.0, 1.0, 3.0, 3.0]), 1, 1.0).graph
    assert_array_equal(
        graph.other.factor.toarray(), [[0, 1], [1, 0], [0, 0], [1, 0], [0, 1], [0, 1]]
    )


def test_edges_of_neighbours_come_once_each_in_the_order_of_their_ends():
    n, k = 30, 4
    points = np.random.default_rng(10).normal(size=(n, 2))
    distances = ((points[:, None] - points) ** 2).sum(axis=2)
    near = np.argsort(distances + np.diag([np.inf] * n), axis=1)[:, :k]
    found = builders.union(near, np.take_along_axis(distances, near, axis=1), np.arange(n), n)
    pairs = sorted({(min(i, j), max(i, j)) for i in range(n) for j in near[i].tolist()})
    assert list(zip(found[0].tolist(), found[1].tolist(), strict=True)) == pairs
    assert_array_equal(found[2], [distances[pair] for pair in pairs])


def test_the_normalised_laplacian_leaves_isolated_samples_out():
    W = np.zeros((4, 4))
    W[0, 1] = W[1, 0] = 2.0
    W[1, 3] = W[3, 1] = 0.5
    degree = W.sum(axis=1)
    root = np.divide(1.0, np.sqrt(degree), out=np.zeros(4), where=degree > 0)
    dense = np.diag(degree > 0).astype(float) - root[:, None] * W * root
    spectrum = _Spectrum(SparseGraph.from_matrix(W), 2, None)
    X = np.random.default_rng(7).normal(size=(4, 3))
    assert_allclose(spectrum._apply(X), dense @ X, atol=1e-15)
    assert_allclose(spectrum._apply(X[:, 0]), dense @ X[:, 0], atol=1e-15)
    assert_array_equal(spectrum._components(), [0, 0, -1, 0])


def test_isolated_samples_have_no_part_in_the_smoothest_eigenvectors():
    linked = np.setdiff1d(np.arange(14), [3, 9])
    W = np.zeros((14, 14))
    W[np.ix_(linked, linked)] = np.triu(
        np.random.default_rng(9).uniform(0.1, 1.0, size=(12, 12)), 1
    )
    W += W.T
    root = 1 / np.sqrt(W.sum(axis=1)[linked])
    expected = np.linalg.eigvalsh(np.eye(12) - root[:, None] * W[np.ix_(linked, linked)] * root)
    values, vectors = _Spectrum(SparseGraph.from_matrix(W), 1, 4).pairs
    assert_allclose(np.sort(values), expected[:4], atol=1e-12)
    assert_allclose(vectors[[3, 9]], 0.0, atol=1e-12)


def test_an_iteration_that_does_not_converge_gets_more_vectors(monkeypatch):
    X = np.random.default_rng(8).normal(size=(60, 4))
    eigsh, calls = geometry.sla.eigsh, []

    def stubborn(operator, **options):
        calls.append(options)
        if len(calls) == 1:
            raise geometry.sla.ArpackNoConvergence("%s", np.empty(0), np.empty((60, 0)))
        return eigsh(operator, **options)

    monkeypatch.setattr(geometry.sla, "eigsh", stubborn)
    found = scores.spec_score(X, form="phi3", n_neighbors=8, bandwidth=5.0, n_components=4)
    assert_allclose(
        found,
        oracle.spec_score(X, form="phi3", n_neighbors=8, bandwidth=5.0, n_components=4),
        rtol=1e-8,
    )
    assert [(call["k"], call.get("ncv"), call.get("maxiter")) for call in calls] == [
        (3, None, None),
        (3, 52, 6000),
    ]


@pytest.mark.parametrize(
    ("features", "targets", "bandwidth"),
    [
        (1.0, 1e-125, 1.0),
        (1.0, 1e-125, 1e-250),
        (1e-125, 1.0, 1e-250),
        (1.0, 1e150, 1.0),
        (1e150, 1e-140, 1e300),
        (1e-140, 1e150, 1e300),
        (1e130, 1e-130, 1.0),
        (1e-130, 1e130, 1.0),
        (1e130, 1e-130, 1e100),
    ],
)
def test_a_bandwidth_stays_in_its_place_beside_features_and_targets_of_very_different_size(
    features, targets, bandwidth
):
    rng = np.random.default_rng(14)
    X, y = (
        features * rng.normal(size=(12, 3)),
        targets * np.where(np.arange(12) < 5, rng.normal(size=12), np.nan),
    )
    options = {"n_neighbors": 3, "n_neighbors_supervised": 2, "bandwidth": bandwidth}
    expected = oracle.semi_supervised_laplacian_score(X, y, **options)
    assert_allclose(scores.semi_supervised_laplacian_score(X, y, **options), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("apart", "bandwidth", "near"),
    [
        ((500, 500), 1.0, (500, 500)),
        ((400, 0), 1.0, (400, 0)),
        # The bandwidth is far from both exponents. Its square root is 2⁴⁰⁰, 200 powers from each.
        ((1000, 0), 2.0**800, (600, 200)),
        ((0, 1000), 2.0**800, (200, 600)),
        ((1000, 0), 2.0**600, (500, 100)),
        # Within 200 of the smaller exponent, which does not change.
        ((1000, 0), 2.0**200, (400, 0)),
        ((1000, 0), 2.0**-200, (400, 0)),
        ((900, 0), 2.0**1022, (700 + 11, 300 + 11)),
        ((0, -1000), 1.0, (0, -400)),  # The larger exponent does not change.
        ((0, -1000), None, (0, -400)),
    ],
)
def test_exponents_are_brought_within_four_hundred_around_the_bandwidth(apart, bandwidth, near):
    assert builders.comparable(*apart, bandwidth) == near


def test_the_mean_length_is_that_of_the_larger_of_features_and_targets():
    X, y = np.array([[0.0], [9.0], [4.0], [6.0]]), np.array([1.0, 4.0, np.nan, np.nan])
    # The labelled samples are 3 apart in the target and are linked only with each other. The same
    # holds for the unlabelled samples, which are 2 apart in X.
    near = builders.partly_known_target_graph(MemoryTable(1e150 * X), 1e-140 * y, 1, None, 1.0)
    assert set(edges_of(near.graph)) == {(0, 1), (2, 3)}
    assert near.bandwidth == pytest.approx(4e300 / 2, rel=1e-12)
    # All six pairs are linked. Five lengths are negligible compared with the one in the target.
    near = builders.partly_known_target_graph(MemoryTable(1e-140 * X), 1e150 * y, 3, None, 1.0)
    assert near.bandwidth == pytest.approx(9e300 / 6, rel=1e-12)


SMALL = Compressed(
    # Two kept samples at 0 and 1, and prototypes of two and of three samples at 3 and 6.
    MemoryTable(np.array([[0.0], [1.0], [3.0], [6.0]])),
    Supervision.from_labels([0, 1, -1, -1]),
    np.array([1.0, 1.0, 2.0, 3.0]),
    2,
    np.array([0, 2, 1, 2, 3, 3, 3]),
)


def check_compressed(near, edges):
    """Check that a graph has the given edges between rows of `SMALL`: w / √(a b) across, 1 / a
    within.
    """
    small = np.diag(1 / SMALL.counts)
    for (one, other), weight in edges.items():
        small[one, other] = small[other, one] = weight / np.sqrt(
            SMALL.counts[one] * SMALL.counts[other]
        )
    W = small[np.ix_(SMALL.member, SMALL.member)]
    np.fill_diagonal(W, 0.0)
    check_forms(near.graph, W, np.random.default_rng(15).normal(size=(7, 2)))
    assert (near.n_neighbors, near.bandwidth) == (1, 2.0)


def test_graphs_of_a_compressed_table_are_those_of_its_rows_lifted():
    table, nan = MemoryTable(np.zeros((7, 1))).represented_by(SMALL), np.nan
    # The squared lengths are 4 and 9, relative to the length 1 between the first two.
    far = {(1, 2): np.exp(-3 / 2), (2, 3): np.exp(-8 / 2)}
    check_compressed(builders.neighbor_graph(table, 1, 2.0), {(0, 1): 1.0, **far})
    unlabeled, labels = np.full(7, -1), np.array([0, -1, 1, -1, -1, -1, -1])
    check_compressed(builders.neighbor_graph(table, 1, 2.0, not_between=labels), far)

    known = Supervision.from_labels(unlabeled)  # The supervision of the rows is used.
    found = builders.constrained_neighbor_graph(table, known, 1, 2.0, cut_cannot_link=False)
    check_compressed(found, {(0, 1): 1.0, **far})
    found = builders.constrained_neighbor_graph(table, known, 1, 2.0, cut_cannot_link=True)
    check_compressed(found, {(1, 2): 1.0, (2, 3): np.exp(-5 / 2)})

    small = replace(SMALL, known=Supervision.from_targets([0.0, 3.0, nan, nan]))
    table = MemoryTable(np.zeros((7, 1))).represented_by(small)
    found = builders.partly_known_target_graph(table, np.full(7, nan), 1, 2.0, 5.0)
    # In the target, the squared distance of the first two is 9, as between the first and the third
    # in X. In this tie, labelled samples come first.
    check_compressed(found, {(0, 1): 5 * np.exp(-5 / 2), (1, 2): 1.0, (2, 3): np.exp(-5 / 2)})


def test_empty_groups_have_no_edges():
    unlabeled = np.full(3, -1)
    for graph in (builders.group_graph(unlabeled), builders.apart_graph(unlabeled)):
        assert graph.factor.shape == (3, 0)
        assert_array_equal(graph.degree(), 0.0)


@pytest.mark.parametrize("kind", ["dense", "sparse", "stored"])
@pytest.mark.parametrize("at_once", [1, 3, 2**19])
def test_distances_of_equal_codes_are_those_of_each_pair_once(monkeypatch, kind, at_once):
    monkeypatch.setattr(builders, "EDGES_PER_CHUNK", at_once)
    X = np.random.default_rng(16).normal(size=(9, 2))
    codes = np.array([2, 0, 2, -1, 2, 4, 0, 2, -1])
    given = {
        "dense": X,
        "sparse": sp.csr_array(X),
        "stored": StoredTable(Pretended(X, 4096)).rows[0],
    }[kind]
    found = [
        (a, b, d)
        for part in builders.same_code_distances(given, codes)
        for a, b, d in zip(*part, strict=True)
    ]
    expected = {
        (a, b): ((X[a] - X[b]) ** 2).sum()
        for a in range(9)
        for b in range(a)
        if codes[a] == codes[b] >= 0
    }
    assert {(max(a, b), min(a, b)): d for a, b, d in found} == pytest.approx(expected, rel=1e-12)
    assert len(found) == len(expected) == builders.count_same_code_pairs(codes) == 4 * 3 // 2 + 1


def test_every_graph_that_depends_on_few_edges_warns():
    # The first two samples are much closer to each other than all others.
    x = np.array([0.0, 1.0, *(10.0 * 3.0 ** np.arange(38))])
    table, nothing = MemoryTable(x[:, None]), Supervision.nothing(40)
    for build in (
        lambda: builders.neighbor_graph(table, 1, 0.01),
        lambda: builders.target_graph(x, 1, 0.01),
        lambda: builders.partly_known_target_graph(table, np.full(40, np.nan), 1, 0.01, 5.0),
        lambda: builders.constrained_neighbor_graph(table, nothing, 1, 0.01, cut_cannot_link=False),
    ):
        with pytest.warns(
            GraphSieveWarning, match="among 40 samples .* only about 1.0 equal edges"
        ):
            build()


def test_pairs_with_gaps_that_depend_on_few_edges_warn_too(monkeypatch):
    """Distances that tie by rounding leave gaps, so there is no band. The warning is the same."""
    monkeypatch.setattr(TargetRuns, "band", lambda runs: None)
    x = np.array([0.0, 1.0, *(10.0 * 3.0 ** np.arange(38))])
    with pytest.warns(GraphSieveWarning, match="among 40 samples .* only about 1.0 equal edges"):
        assert isinstance(builders.target_graph(x, 1, 0.01).graph, SparseGraph)


@pytest.mark.parametrize("y", [[0, 0, -1, -1, 0], [-1] * 5])
def test_one_class_or_none_leaves_the_laplacian_score(y):
    X, n_known = (
        np.array([[0.0, 3.0], [1.0, 0.0], [4.0, 1.0], [5.0, 2.0], [7.0, 7.0]]),
        len(set(y) - {-1}),
    )
    with pytest.warns(GraphSieveWarning, match=f"classes are needed, got {n_known}; the result"):
        found = scores.sselect_score(X, y, n_neighbors=2, bandwidth=3.0, trade_off=0.3)
    assert_allclose(found, oracle.laplacian_score(X, n_neighbors=2, bandwidth=3.0), rtol=1e-12)


@pytest.mark.parametrize("kept", [0, 10**6])
def test_pairs_made_on_the_fly_count_for_the_bandwidth(monkeypatch, kept):
    """Equal labels link all samples. The mean of 1, 4, 9, 1, 4 and 1 is 20 / 6, whether the pairs
    are stored or not.
    """
    monkeypatch.setattr(builders, "EDGES_KEPT", kept)
    known = Supervision.from_labels(["a"] * 4)
    found = builders.constrained_neighbor_graph(
        MemoryTable(np.arange(4.0)[:, None]), known, 1, None, cut_cannot_link=False
    )
    assert found.bandwidth == pytest.approx(20 / 6)


def test_a_score_reports_how_many_features_have_no_score():
    with pytest.warns(
        GraphSieveWarning, match=r"2 of 3 features cannot be scored .* NaN and rank last"
    ):
        found = scores.laplacian_score(
            [[1.0, 0.0, 5.0], [1.0, 1.0, 5.0], [1.0, 3.0, 5.0]], n_neighbors=1
        )
    assert np.isnan(found).tolist() == [True, False, True]


@pytest.mark.parametrize("power", [2, 3])
def test_a_few_eigenvectors_are_weighed_by_their_power(power):
    X = np.random.default_rng(17).normal(size=(9, 3)) + 2.0
    options = {
        "form": "phi3",
        "n_neighbors": 3,
        "bandwidth": 2.0,
        "power": power,
        "n_components": 4,
    }
    assert_allclose(scores.spec_score(X, **options), oracle.spec_score(X, **options), rtol=1e-10)


def test_two_known_targets_are_enough_for_mutual_information():
    """For one neighbour of two samples, ψ(1) + ψ(2) − 2 ψ(1) = 1. No sample is closer in either
    direction.
    """
    found = scores.mutual_information_score(
        [[0.0], [1.0], [5.0]], [0.5, 1.5, np.nan], n_neighbors=1
    )
    assert_allclose(found, [1.0], rtol=1e-12)
    with pytest.raises(InputError, match="at least 2 samples need a known target, got 1"):
        scores.mutual_information_score([[0.0], [1.0], [5.0]], [0.5, np.nan, np.nan], n_neighbors=1)


def test_a_constant_target_is_exactly_that():
    """The means of three times 0.1 and of three times 0.2 round to other numbers."""
    for value in (0.1, 0.2):
        with pytest.warns(GraphSieveWarning, match="1 of 1 features cannot be scored"):
            assert np.isnan(scores.pearson_score([[0.0], [1.0], [3.0]], [value] * 3)).all()


def test_relieff_divides_columns_of_any_range_block_by_block(monkeypatch):
    rng, y = np.random.default_rng(3), np.arange(20) % 2
    X = rng.random((20, 5)) * (rng.random((20, 5)) < 0.6) * [0.5, 1.0, 3.0, 0.01, 1.0]
    X[:, 1] = 7.0
    expected = oracle.relieff_score(X, y, n_neighbors=3)
    monkeypatch.setattr(columns, "WIDE", 1)
    for table in (
        MemoryTable(X, block_elements=40),
        MemoryTable(sp.csr_array(X), block_elements=40),
    ):
        assert_allclose(
            METHODS["relieff"].core(table, Supervision.from_labels(y), n_neighbors=3).values,
            expected,
            rtol=1e-10,
        )


def test_neighbours_are_at_most_all_others():
    assert builders.capped_neighbors(2, 3) == 2
    for asked in (3, 4):
        with pytest.warns(
            GraphSieveWarning,
            match=f"n_neighbors={asked} is lowered to 2: there are only 3 samples",
        ):
            assert builders.capped_neighbors(asked, 3) == 2


def test_a_bandwidth_that_vanishes_beside_huge_features_leaves_the_shortest_edges():
    weights, used = builders.heat_weights(np.array([0.5, 0.25, 0.25, 1.0]), 1e-300, exponent=500)
    assert (weights.tolist(), used) == ([0.0, 1.0, 1.0, 0.0], 1e-300)


@pytest.mark.parametrize("power", [1, 2, 3, 4])
def test_all_eigenvectors_are_weighed_by_their_power_without_being_found(power):
    X = np.random.default_rng(17).normal(size=(9, 3)) + 2.0
    options = {"form": "phi3", "n_neighbors": 3, "bandwidth": 2.0, "power": power}
    assert_allclose(scores.spec_score(X, **options), oracle.spec_score(X, **options), rtol=1e-10)


@pytest.mark.parametrize(("tolerance", "disagreement"), [(labels.SIGN_TOLERANCE, 0.0), (0.5, 1.0)])
def test_what_is_as_near_the_mean_as_the_tolerance_is_above_it(
    monkeypatch, tolerance, disagreement
):
    monkeypatch.setattr(labels, "SIGN_TOLERANCE", tolerance)
    # The degrees are 1, 2, 1. The mean is 0, E is 2 and the spread is 2. The signs −, +, + equal
    # the labels. With the tolerance, −1 = 0 − ½ · 2 counts as above the mean, so all signs are +.
    found = scores.sselect_score([[-1.0], [0.0], [1.0]], [0, 1, 1], n_neighbors=1, trade_off=0.25)
    assert_allclose(found, [0.25 * 1.0 + 0.75 * disagreement], rtol=1e-12)


def test_useless_supervision_and_other_samples_are_refused():
    X = np.array([[0.0, 1.0], [1.0, 5.0], [4.0, 2.0]])
    for function in (scores.lsdf_score, scores.fisher_score):
        with pytest.raises(InputError, match="labels of at least 2 classes are needed, got 1"):
            function(X, [0, 0, -1])
        with pytest.raises(InputError, match="X has 3 samples, but 4 are described"):
            function(X, [0, 0, 1, 1])
    with pytest.raises(InputError, match="form must be"):
        scores.constraint_score(X, [(0, 1)], [(0, 2)], form="quotient")
    with pytest.raises(InputError, match="form must be"):
        scores.spec_score(X, form="phi4", n_neighbors=1)


def test_which_scores_are_good():
    good = [
        ("fisher", {}, True),
        ("laplacian", {}, False),
        ("laplacian", {"n_neighbors": 3}, False),
    ]
    good += [("spec", {"form": form}, form == "phi3") for form in ("phi1", "phi2", "phi3")]
    assert [scores.METHODS[name].large_is_good(parameters) for name, parameters, _ in good] == [
        large for *_, large in good
    ]


def test_two_labels_are_a_pair_of_one_kind_and_a_ratio_needs_both():
    X, core = np.array([[0.0, 1.0], [1.0, 5.0], [4.0, 2.0]]), scores.METHODS["constraint"].core
    apart, alike = Supervision.from_labels([0, 1, -1]), Supervision.from_labels([0, 0, -1])
    assert_allclose(core(MemoryTable(X), apart, form="difference", weight=0.5).values, [-0.5, -8.0])
    assert_allclose(core(MemoryTable(X), alike, form="difference", weight=0.5).values, [1.0, 16.0])
    for known, missing in ((apart, "must"), (alike, "cannot")):
        with pytest.raises(InputError, match=f"there is no {missing}-linked pair"):
            core(MemoryTable(X), known, form="ratio", weight=pairs.DIFFERENCE_WEIGHT)
    both = Supervision.from_labels([0, 0, 1])
    assert_allclose(
        core(MemoryTable(X), both, form="ratio", weight=pairs.DIFFERENCE_WEIGHT).values,
        [1 / (16 + 9), 16 / (1 + 9)],
    )


def test_an_improbable_class_counts_as_much_as_others_if_classes_are_balanced():
    X = np.random.default_rng(18).normal(size=(4, 3))
    P = np.array([[1.0, 0.0], [0.9, 0.1], [0.7, 0.3], [0.8, 0.2]])
    expected = oracle.weighted_laplacian_score(X, P, class_weight="balanced")
    assert_allclose(
        scores.weighted_laplacian_score(X, P, class_weight="balanced"), expected, rtol=1e-12
    )


def test_two_known_targets_have_a_supervised_factor_and_one_has_none():
    X = np.random.default_rng(19).normal(size=(6, 2))
    for known in (2, 1):
        y = np.where(np.arange(6) < known, np.arange(6.0), np.nan)
        expected = oracle.semi_supervised_laplacian_score(
            X, y, n_neighbors=2, n_neighbors_supervised=1
        )
        with (
            nullcontext()
            if known == 2
            else pytest.warns(GraphSieveWarning, match="1 target values are known")
        ):
            found = scores.semi_supervised_laplacian_score(
                X, y, n_neighbors=2, n_neighbors_supervised=1
            )
        assert_allclose(found, expected, rtol=1e-12)


def test_empty_weightings_have_no_mass_mean_or_scatter(plain):
    (block,) = MemoryTable(np.random.default_rng(20).normal(size=(4100, 2))).blocks()
    for weightings in (sp.csc_array((4100, 3)), np.zeros((4100, 3))):
        for found in (moments(block, weightings), plain(moments, block, weightings)):
            for values in (found.mass, found.mean, found.scatter):
                assert_array_equal(values, 0.0)


def test_no_more_threads_are_started_than_there_are_jobs(monkeypatch):
    asked = []
    monkeypatch.setattr(column_sums, "SHARED_FROM", 1)
    monkeypatch.setattr(column_sums, "available_threads", lambda: 4)
    monkeypatch.setattr(
        column_sums,
        "in_threads",
        lambda work, jobs, n_threads: (asked.append(n_threads), work(iter(jobs))),
    )

    def work(part, start, stop, total):
        total[start:stop] += 1.0

    # three groups of columns
    assert_array_equal(column_sums.summed((33,), 1, 1, work), np.ones(33))
    assert_array_equal(column_sums.summed((33,), 9, 1, work), np.full(33, 9.0))  # nine parts
    assert asked == [3, 4]


def test_the_best_come_first_ties_in_their_order_and_what_has_no_score_last():
    values = np.array([1.0, np.nan, 3.0, 3.0, 2.0])
    assert_array_equal(best_first(values, large_is_good=True), [2, 3, 4, 0, 1])
    assert_array_equal(best_first(values, large_is_good=False), [0, 4, 2, 3, 1])


def test_how_many_features_may_be_requested():
    assert [wanted_count(asked, 5) for asked in (1, np.int8(5))] == [1, 5]
    for asked in (0, 6, -1):
        with pytest.raises(
            InputError, match=f"is {asked}, but there are 5 features; choose 1 to 5"
        ):
            wanted_count(asked, 5)
    for asked in (True, 2.0, "2"):
        with pytest.raises(InputError, match="must be an integer from 1 to 5"):
            wanted_count(asked, 5)


def test_an_unknown_parameter_is_refused_and_the_valid_ones_are_listed():
    with pytest.raises(InputError, match="method_params must be omitted"):
        extra_options(scores.METHODS["variance"], {"power": 2})
    with pytest.raises(InputError, match="method_params may contain: n_neighbors, bandwidth"):
        extra_options(scores.METHODS["laplacian"], {"power": 2})
    with pytest.raises(InputError, match="pass bandwidth= instead"):
        extra_options(scores.METHODS["laplacian"], {"bandwidth": 2}, elsewhere=["bandwidth"])
    assert extra_options(scores.METHODS["laplacian"], {"bandwidth": 2.0}) == {"bandwidth": 2.0}


def test_the_difference_of_constraints_needs_only_one_kind_of_pairs():
    X = np.array([[0.0, 1.0], [1.0, 5.0], [4.0, 2.0]])
    assert_allclose(scores.constraint_score(X, [(0, 1)], [], form="difference"), [1.0, 16.0])
    assert_allclose(
        scores.constraint_score(X, [], [(0, 2)], form="difference", weight=0.5), [-8.0, -0.5]
    )
    core = scores.METHODS["constraint"].core
    labels = core(
        MemoryTable(X), Supervision.from_labels([0, 0, 1]), form="difference", weight=0.5
    ).values
    assert_allclose(labels, [1.0 - 0.5 * (16 + 9), 16.0 - 0.5 * (1 + 9)])
    for nothing in (Supervision.from_pairs(3, [], []), Supervision.from_labels([0, -1, -1])):
        with pytest.raises(
            InputError, match="needs at least one must-linked or cannot-linked pair"
        ):
            core(MemoryTable(X), nothing, form="difference", weight=0.5)


def test_pairs_that_labels_imply_count_once():
    X = np.eye(6)
    known = Supervision.from_labels([0, 0, 1, 1, -1, -1]) | Supervision.from_pairs(
        6, must_link=[(0, 1), (2, 3), (4, 5), (0, 4)], cannot_link=[(0, 2), (2, 4)]
    )

    def weights(linked):
        W = np.zeros((6, 6))
        for one, other in linked:
            W[one, other] = W[other, one] = 1.0
        return W

    given = [
        {(int(a), int(b)) for a, b in linked} for linked in (known.must_link, known.cannot_link)
    ]
    alike, apart = pairs.must_link_graph(known), pairs.cannot_link_graph(known)
    W, V = (
        weights(given[0] | {(0, 1), (2, 3)}),
        weights(given[1] | {(0, 2), (0, 3), (1, 2), (1, 3)}),
    )
    check_forms(alike, W, X)
    check_forms(apart, V, X)


def test_a_class_without_members_changes_nothing_if_classes_are_balanced():
    X = np.random.default_rng(9).normal(size=(5, 3))
    P = np.array([[1.0, 0.0], [0.9, 0.1], [0.5, 0.5], [0.2, 0.8], [0.0, 1.0]])
    expected = oracle.weighted_laplacian_score(X, P, class_weight="balanced")
    with_empty = np.column_stack([P[:, 0], np.zeros(5), P[:, 1]])
    assert_allclose(
        scores.weighted_laplacian_score(X, with_empty, class_weight="balanced"),
        expected,
        rtol=1e-12,
    )


def test_two_known_targets_are_enough_and_one_is_not():
    X = np.array([[0.0, 3.0], [1.0, 5.0], [7.0, 5.0], [2.0, 2.0]])
    two, one = [1.0, np.nan, 2.0, np.nan], [1.0, np.nan, np.nan, np.nan]
    # One edge between two samples: (f − g)² over 2 · ((f − g) / 2)².
    assert_allclose(scores.supervised_laplacian_score(X, two, n_neighbors=1), [2.0, 2.0])
    assert_allclose(scores.pearson_score(X, two), [1.0, 1.0])
    for function in (scores.supervised_laplacian_score, scores.pearson_score):
        with pytest.raises(InputError, match="at least 2 samples need a known target, got 1"):
            function(X, one)


def test_a_correlation_with_three_classes_is_refused():
    X = np.arange(6.0)[:, None]
    core = scores.METHODS["pearson"].core
    assert_allclose(
        core(MemoryTable(X), Supervision.from_labels([0, 0, 0, 1, 1, 1])).values,
        [9 / np.sqrt(17.5 * 6)],
    )
    with pytest.raises(InputError, match="2 classes, got 3 classes"):
        core(MemoryTable(X), Supervision.from_labels([0, 0, 1, 1, 2, 2]))


def test_differences_of_no_pairs_and_of_no_columns():
    rows, none = np.arange(6.0).reshape(3, 2), np.empty(0, dtype=np.int64)
    assert list(row_differences(rows, none, none)) == []
    ((part, found),) = row_differences(rows[:, :0], np.array([0, 1]), np.array([1, 2]), spare=1)
    assert (part, found.shape) == (slice(0, 2), (3, 0))
    assert_array_equal(plain_sums(rows, none, none, np.empty(0), 2), [0.0, 0.0])


def test_means_alone_are_the_means_without_a_compiler_too(plain):
    X = np.random.default_rng(10).normal(size=(8, 3))
    W = np.random.default_rng(11).random((8, 2))
    (block,) = MemoryTable(X).blocks()
    expected = (W / W.sum(axis=0)).T @ X
    for found in (means(block, W), plain(means, block, W)):
        assert_allclose((found + block.shift) * 2.0**block.exponent, expected, rtol=1e-12)


def test_samples_are_summed_in_parts_only_where_weightings_are_few():
    assert column_sums._parts(10, 64) == column_sums._parts(10, 65) == [slice(0, 10)]
    assert column_sums._parts(0, 65) == [slice(0, 0)]
    assert column_sums._parts(2**16 + 1, 64) == [slice(0, 2**16), slice(2**16, 2**16 + 1)]
    assert column_sums._parts(2**16 + 1, 65) == [slice(0, 2**16 + 1)]


def test_groups_that_are_equal_inside_have_no_scatter_at_all(plain):
    X = np.random.default_rng(12).random((14, 50))
    X[3:10], X[10:] = 0.3, 0.7
    (block,) = MemoryTable(X).blocks()
    weightings = group_weightings(np.repeat([0, 1, 2], [3, 7, 4]), 3, np.linspace(0.1, 0.9, 14))
    for form in (weightings, weightings.toarray()):
        for found in (moments(block, form), plain(moments, block, form)):
            assert (found.scatter[0] > 0).all()
            assert_array_equal(found.scatter[1:], 0.0)


def test_of_equal_magnitudes_the_first_one_is_least_for_any_number_of_threads(monkeypatch):
    rows = np.array([[5.0, -2.0, 1.0], [2.0, 3.0, 4.0], [-2.0, 2.0, -1.0], [7.0, 9.0, 0.5]])
    monkeypatch.setattr(column_sums, "SHARED_FROM", 1)
    for n_threads in (1, 2, 4):
        monkeypatch.setattr(column_sums, "available_threads", lambda n_threads=n_threads: n_threads)
        assert_array_equal(
            column_sums.column_extremes(rows), [[-2, -2, -1], [7, 9, 4], [2, -2, 0.5]]
        )


def test_moments_without_a_compiler_cover_all_columns_for_any_chunk_width(plain, monkeypatch):
    X = np.random.default_rng(13).normal(size=(3, 7))
    (block,) = MemoryTable(X).blocks()
    W = np.array([[0.5, 0.0], [0.25, 1.0], [0.0, 3.0]])
    for elements in (1, 8, 2**22):
        monkeypatch.setattr(column_sums, "TEMPORARY_ELEMENTS", elements)
        found = plain(moments, block, W)
        for place, w in enumerate(W.T):
            mean = w @ block.values / w.sum()
            assert_allclose(found.mean[place], mean, atol=1e-15)
            assert_allclose(found.scatter[place], w @ (block.values - mean) ** 2, rtol=1e-12)


@pytest.mark.parametrize(
    ("n_columns", "n_parts", "n_threads", "ranges"),
    [
        (64, 1, 2, [(0, 32), (32, 64)]),
        (40, 1, 2, [(0, 16), (16, 40)]),
        (70, 1, 3, [(0, 16), (16, 48), (48, 70)]),
        (10, 1, 4, [(0, 10)]),
        (64, 2, 2, [(0, 64)]),
    ],
)
def test_threads_share_parts_or_whole_groups_of_columns(
    monkeypatch, n_columns, n_parts, n_threads, ranges
):
    monkeypatch.setattr(column_sums, "SHARED_FROM", n_columns * 5)
    monkeypatch.setattr(column_sums, "available_threads", lambda: n_threads)
    seen = []

    def work(part, start, stop, total):
        seen.append((part, start, stop))
        total[start:stop] += part + 1.0

    assert_array_equal(
        column_sums.summed((n_columns,), n_parts, 5, work),
        np.full(n_columns, n_parts * (n_parts + 1) / 2),
    )
    assert sorted(seen) == [(part, *ends) for part in range(n_parts) for ends in ranges]
    # With slightly less work, no thread is started.
    monkeypatch.setattr(column_sums, "in_threads", None)
    assert_array_equal(column_sums.summed((n_columns,), 1, 4, work), np.ones(n_columns))


@pytest.mark.parametrize(
    "weights",
    [[0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 3.0, 0.0, 2.0], [0.0, 3.0, 0.0, 2.0], [1.0, 3.0]],
)
def test_one_weighting_is_itself_in_either_form(weights):
    found = dense_weighting(np.array(weights))
    # Most of the weights are zero.
    assert sp.issparse(found) == (2 * np.count_nonzero(weights) < len(weights))
    assert_array_equal(found.toarray() if sp.issparse(found) else found, np.array(weights)[:, None])


@pytest.mark.parametrize("form", [np.asarray, sp.csc_array])
def test_moments_of_a_table_that_lies_by_columns(form):
    X = np.random.default_rng(14).normal(size=(9, 5)) * [1.0, 1e150, 1e-150, 1.0, 1.0] + [
        0.0,
        0.0,
        0.0,
        9.0,
        0.0,
    ]
    X[::2, 4] = 0.0
    held = Pretended(form(X), 240)
    held.columnwise = True
    assert len(held.column_groups()) > 1
    block = StoredTable(held).whole
    held.read_rows = None  # No rows are read.
    unit = 2.0**block.exponent
    weights = np.zeros((9, 3))
    weights[:, 0], weights[3:5, 1] = 0.01, [0.2, 0.3]
    for given in (weights, sp.csc_array(weights)):
        found = moments(block, given)
        assert_allclose(found.mass, [0.09, 0.5, 0.0])
        assert_array_equal(means(block, given), found.mean)
        for w, mean, scatter in zip(weights.T[:2], found.mean, found.scatter, strict=False):
            expected = w @ X / w.sum()
            assert_allclose((mean + block.shift) * unit, expected, rtol=1e-12)
            assert_allclose(scatter, w @ ((X - expected) / unit) ** 2, rtol=1e-12)
        assert_array_equal(found.scatter[2], 0.0)


def test_low_rank_energies_are_computed_for_as_many_columns_as_fit_into_memory(monkeypatch):
    rng = np.random.default_rng(15)
    X, factor = rng.normal(size=(9, 7)), rng.random((9, 2))
    alike, apart = factor @ factor.T, factor @ factor[:, ::-1].T
    widths = []
    monkeypatch.setattr(
        graphs, "moments", lambda block, given: widths.append(block.width) or moments(block, given)
    )
    monkeypatch.setattr(sums, "BLOCK_ELEMENTS", 10)
    for graph, W, expected in (
        (FactorGraph(factor), alike, [5, 2]),  # Two moments of five columns are ten numbers.
        (CrossGraph(factor), apart, [5, 2]),
        (LiftedGraph(SparseGraph(5, *EDGES), MEMBER), expanded(1.0), [2, 2, 2, 1]),
    ):
        widths.clear()
        assert_allclose(graph.energy(X), [oracle.energy(W, f) for f in X.T], rtol=1e-12)
        assert widths == expected


def test_an_isolated_sample_has_degree_zero():
    assert_array_equal(FactorGraph([[1, 0], [0, 1], [0, 1]]).degree(), [0, 1, 1])
    assert_array_equal(CrossGraph([[1, 0], [1, 0]]).degree(), [0, 0])
    left = np.zeros((4, 4))
    left[2, 3] = left[3, 2] = 1.0
    graph = complete_graph(4) - SparseGraph.from_matrix(1.0 - np.eye(4) - left)
    check_forms(graph, left, np.array([[5.0, 1.0], [7.0, 0.0], [1.0, 2.0], [1.5, 4.0]]))
    # The two linked samples are equal.
    assert_allclose(graph.energy([[5.0], [7.0], [1.0], [1.0]]), [0.0], atol=1e-12)


def test_blocks_of_a_piece_are_counted_from_where_it_begins():
    X = np.arange(21.0).reshape(3, 7)
    last = list(MemoryTable(X, block_elements=12).blocks())[1]
    moved = blocks.replace_start(last, 10)
    assert (last.start, last.stop, moved.start, moved.stop) == (4, 7, 14, 17)
    assert_array_equal((moved.values + moved.shift) * 2.0**moved.exponent, X[:, 4:])


@pytest.mark.parametrize("exponent", [-1060, -1001, -1000, 0, 1000, 1001, 1024])
def test_columns_are_scaled_alike_in_one_step_and_in_two(exponent):
    X = np.array([[3.0, 0.5], [3.0, -0.75], [3.0, 0.625]])
    X[:, 1] = np.ldexp(X[:, 1], exponent)
    (block,) = MemoryTable(X).blocks()
    some = blocks.row_block(X[1:], slice(0, 2), block.shift, block.exponent)
    last = blocks.row_block(X[1:], slice(1, 2), block.shift[1:], block.exponent[1:])
    assert (block.shift.tolist(), block.exponent.tolist()) == ([0.75, 0.5], [2, exponent])
    assert_array_equal(block.values, [[0.0, 0.0], [0.0, -1.25], [0.0, 0.125]])
    assert_array_equal(some.values, [[0.0, -1.25], [0.0, 0.125]])
    assert_array_equal(last.values, [[-1.25], [0.125]])
    assert (len(some.constant), len(last.constant)) == (2, 1)
    for one, mean in ((block, [[0.0, -3 / 8]]), (some, [[0.0, -9 / 16]]), (last, [[-9 / 16]])):
        assert_array_equal(means(one, np.ones((one.n_samples, 1))), mean)


def test_the_range_of_stored_columns_needs_no_second_reading():
    X = np.random.default_rng(16).normal(size=(5, 3)) * [1.0, 100.0, 0.01]
    held = Pretended(X, 4096)
    block = StoredTable(held).whole
    held.largest = 0
    assert_allclose(block.range * 2.0**block.exponent, np.ptp(X, axis=0), rtol=1e-15)
    assert held.largest == 0


@pytest.mark.parametrize("form", [np.asarray, sp.csc_array, lambda X: X.astype(">f8")])
def test_rows_of_tiny_numbers_are_scaled_and_rows_of_zeros_are_not(form):
    for sign in (1.0, -1.0):
        rows, exponent = MemoryTable(
            form(sign * np.ldexp(np.array([[3.0, 1.0], [2.0, 1.5]]), -150))
        ).rows
        assert exponent == -148  # 2⁻¹⁴⁹ < 3 · 2⁻¹⁵⁰ < 2⁻¹⁴⁸
        assert_array_equal(
            rows.toarray() if sp.issparse(rows) else rows,
            sign * np.array([[0.75, 0.25], [0.5, 0.375]]),
        )
    assert MemoryTable(form(np.zeros((3, 2)))).rows[1] == 0


def test_a_filled_block_that_just_fits_is_made_dense(monkeypatch):
    monkeypatch.setattr(columns, "DENSE_FROM", 0.3)
    full = sp.csc_array(np.ones((4, 3)))
    assert [block.is_sparse for block in MemoryTable(full, block_elements=4).blocks()] == [
        False
    ] * 3
    assert [block.is_sparse for block in MemoryTable(full, block_elements=3).blocks()] == [True] * 3


def test_the_value_of_least_magnitude_is_right_for_small_integers():
    X = np.array([[-128, 3], [5, -7]], dtype=np.int8)  # −128 has no magnitude in int8.
    assert_array_equal(blocks.extremes_of(X), [[-128, -7], [5, 3], [5, 3]])


def test_moments_of_a_table_that_lies_by_rows_need_no_columns():
    held = Pretended(np.array([[1.0, 2.0], [3.0, 2.5], [8.0, 6.0]]), 64)
    block = StoredTable(held).whole
    held.read_columns = None
    # around 4 and 3.5
    assert_allclose(moments(block, np.ones((3, 1))).scatter[0] * 4.0**block.exponent, [26.0, 9.5])


@pytest.mark.parametrize(
    "form",
    [
        np.asarray,
        sp.csc_array,
        lambda X: Pretended(X, 64),
        lambda X: Pretended(sp.csc_array(X), 64),
    ],
)
def test_projections_are_products_for_any_memory_layout(form, sparse_stays_sparse):
    X, vector = (
        np.array([[4.0, 0.0, 9.0], [2.0, 3.0, 9.0], [8.0, 0.0, 9.0]]),
        np.array([1.0, -3.0, 2.0]),
    )
    given = form(X)
    table = StoredTable(given) if isinstance(given, Pretended) else MemoryTable(given)
    for block in table.wide_blocks():
        assert_allclose(
            projection(block, vector) * 2.0**block.exponent, [14.0, -9.0, 0.0], rtol=1e-15
        )


@pytest.mark.parametrize("light", [1e-9, 1e-20, 1e-200])
def test_zeros_with_little_weight_beside_stored_values_are_not_lost(light, sparse_stays_sparse):
    X = sp.csc_array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]])
    (block,) = MemoryTable(X).blocks()
    assert block.is_sparse
    found = moments(block, np.array([[1.0], [light]])).scatter[0] * 4.0**block.exponent
    # a b / (a + b) · (1 − 0)²
    assert_allclose(found, [light / (1 + light), light / (1 + light), 0.0], rtol=1e-12)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1.0])
def test_an_invalid_weight_is_refused(wrong):
    for graph in (FactorGraph, CrossGraph):
        with pytest.raises(InputError, match="must be finite and non-negative"):
            graph([[1.0], [wrong]])
    with pytest.raises(InputError, match="must be finite and non-negative"):
        SparseGraph(3, [0, 1], [1, 2], [1.0, wrong])


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([0, 1], [1], r"got \(2,\) first and \(1,\) second ends"),
        ([[0, 1]], [[1, 2]], r"got \(1, 2\) first and \(1, 2\) second ends"),
        (0, 1, r"got \(\) first and \(\) second ends"),
        ([0, 1], [1, -1], "join samples 0 to 2, got -1 to 1"),
        ([0, 1], [1, 3], "join samples 0 to 2, got 0 to 3"),
        ([0, 1], [2, 1], "edge 1 joins sample 1 to itself"),
        ([0, 1.5], [1, 2], "integer indices, got float64"),
    ],
)
def test_invalid_edges_are_refused(first, second, message):
    with pytest.raises(InputError, match=message):
        SparseGraph(3, first, second)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("unit", [1.0, 1e6, 1e-6])
def test_a_weight_matrix_is_symmetric_relative_to_its_largest_weight(form, unit):
    W = unit * np.array([[7.0, 1.0, 0.0], [1.0, 0.0, 0.5], [0.0, 0.5, 3.0]])
    W[2, 1] += 1e-13 * unit  # within rounding error
    # without its diagonal
    assert edges_of(SparseGraph.from_matrix(form(W))) == {(0, 1): unit, (1, 2): 0.5 * unit}
    W[2, 1] += 1e-10 * unit
    with pytest.raises(InputError, match="must be symmetric"):
        SparseGraph.from_matrix(form(W))
    assert edges_of(SparseGraph.from_matrix(form(np.zeros((3, 3))))) == {}


def test_graphs_of_different_samples_are_neither_added_nor_subtracted():
    three, four = complete_graph(3), complete_graph(4)
    for together in (lambda: four + three, lambda: four - three):
        with pytest.raises(InputError, match="same samples, got 4 and 3 samples"):
            together()


@pytest.mark.parametrize(
    "form", [np.asarray, sp.csc_array, lambda X: X.astype(">f8"), lambda X: Pretended(X, 4096)]
)
def test_a_large_negative_number_scales_its_column(form):
    given = form(np.array([[-8.0, 1.0, -5.0], [1.0, -3.0, -6.0]]))
    table = StoredTable(given) if isinstance(given, Pretended) else MemoryTable(given)
    assert_array_equal(next(table.wide_blocks()).exponent, [4, 2, 3])  # 8 < 2⁴, 3 < 2², 6 < 2³


@pytest.mark.parametrize(
    "form", [np.asarray, sp.csc_array, lambda X: X.astype(">f8"), lambda X: Pretended(X, 4096)]
)
def test_the_range_of_nearly_equal_numbers_is_exact(form, sparse_stays_sparse):
    given = form(np.array([[1.0, -1.0], [1.0 + 2.0**-52, -1.0 - 2.0**-51]]))
    block = next(
        (StoredTable(given) if isinstance(given, Pretended) else MemoryTable(given)).wide_blocks()
    )
    assert_array_equal(block.range * 2.0**block.exponent, [2.0**-52, 2.0**-51])


@pytest.mark.parametrize("elements", [1, 4, 2**22])
@pytest.mark.parametrize("form", [np.asarray, sp.csc_array])
def test_some_columns_of_a_table_are_a_table(form, elements):
    X = np.array([[4.0, 0.0, 9.0], [2.0, 3.0, 9.0], [8.0, 0.0, 9.0], [1.0, 1.0, 9.0]])
    table = MemoryTable(form(X), block_elements=elements).named(("a", "b", "c"))
    some = table.take_columns(np.array([2, 0]))
    assert some.feature_names == ("c", "a")
    assert_array_equal(
        some.matrix.toarray() if sp.issparse(some.matrix) else some.matrix, X[:, [2, 0]]
    )
    blocks = list(some.blocks())
    assert [place for block in blocks for place in range(block.start, block.stop)] == [0, 1]
    assert_array_equal(np.concatenate([block.constant for block in blocks]), [True, False])
    for block in blocks:
        values = block.values.toarray() if block.is_sparse else block.values
        assert_array_equal(
            (values + block.shift) * 2.0**block.exponent, X[:, [2, 0]][:, block.start : block.stop]
        )
    # multiplied by 1, 3 and 9
    divided = table.divided(np.array([1, 0, 3]), np.array([0.5, 3.0, 1.125])).matrix
    assert_array_equal(divided.toarray() if sp.issparse(divided) else divided, X / [1.0, 3.0, 9.0])


def test_the_size_of_a_table():
    X = np.array([[4.0, 0.0, 0.0], [2.0, 3.0, 9.0]])
    for table, n_entries in ((MemoryTable(X), 6), (MemoryTable(sp.csc_array(X)), 4)):
        assert (table.n_samples, table.n_features, table.most_held, table.n_entries) == (
            2,
            3,
            6,
            n_entries,
        )
        assert_array_equal(table.entries_by_row(), [1, 3])


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", ">f4"])
def test_finiteness_is_determined_for_any_byte_order(dtype):
    X = np.arange(6.0).reshape(3, 2).astype(dtype)
    assert MemoryTable.trusted(X, None)._all_finite(X) is True
    for wrong in (np.inf, -np.inf, np.nan):
        X[2, 0] = wrong
        assert MemoryTable.trusted(X, None)._all_finite(X) is False


def test_a_sparse_column_longer_than_a_block_is_one():
    X = sp.csc_array(np.eye(40)[:, :3])
    assert [block.width for block in MemoryTable(X, block_elements=1).blocks()] == [1, 1, 1]


def test_the_bandwidth_of_constraints_is_the_mean_of_the_squared_lengths():
    """The points are at 0, 1 and 3, with the neighbours 0–1 and 1–2 and the must-link pair 0–2."""
    table, known = (
        MemoryTable(np.array([[0.0], [1.0], [3.0]])),
        Supervision.from_pairs(3, [(0, 2)], []),
    )
    found = builders.constrained_neighbor_graph(table, known, 1, None, cut_cannot_link=True)
    assert found.bandwidth == pytest.approx((1 + 4 + 9) / 3)
    assert (
        builders.constrained_neighbor_graph(table, known, 1, 2.5, cut_cannot_link=True).bandwidth
        == 2.5
    )


def test_the_nearest_labelled_samples_begin_with_those_of_equal_target():
    runs = target_runs(np.array([1.0, 1.0, 3.0]), 2)
    assert_array_equal(runs.nearest_samples(), [[0.0, 2.0], [2.0, 2.0]])


def test_at_the_largest_distance_only_the_free_places_go_to_unlabelled_neighbours():
    """Two labelled samples are far apart. For the first one, sample 5 is closer than 6 and 7, which
    tie. For the second one, all are far.
    """
    runs = target_runs(np.array([0.0, 10.0]), 2)
    near = np.array([[5, 6, 7], [5, 6, 7]])
    squared = np.array([[1.0, 4.0, 4.0], [200.0, 300.0, 300.0]])
    to_unlabeled, to_labeled = builders.merge_labeled(np.array([2, 3]), runs, 0, near, squared, k=2)
    assert [part.tolist() for part in to_unlabeled] == [[2, 2, 3], [5, 6, 5], [1.0, 4.0, 200.0]]
    # The first run is a neighbour of the second.
    assert [part.tolist() for part in to_labeled] == [[3], [2], [100.0]]


def test_small_degrees_are_degrees():
    """A graph with all degrees below 1 has the same number of eigenvectors as one with heavier
    edges.
    """
    W = np.full((6, 6), 0.01) - 0.01 * np.eye(6)
    values, _ = _Spectrum(SparseGraph.from_matrix(W), 1, 4).pairs
    # The complete graph has the eigenvalues 0 and n / (n - 1).
    assert_allclose(np.sort(values), [0, 1.2, 1.2, 1.2], atol=1e-12)


def test_blocks_wider_than_one_chunk(monkeypatch):
    X, y = np.random.default_rng(11).normal(size=(20, 5)), np.arange(20) % 2
    expected = oracle.relieff_score(X, y, n_neighbors=3)
    monkeypatch.setattr(labels, "CACHED_ELEMENTS", 2)
    assert_allclose(scores.relieff_score(X, y, n_neighbors=3), expected, rtol=1e-12)


def test_classes_missing_from_a_part_of_the_samples_do_not_count():
    known = Supervision.from_labels(["a", "b", "c", "a", "c"])[np.array([0, 2, 3, 4])]
    assert_array_equal(known.codes, [0, 2, 0, 2])
    _, codes, n_classes = labels.labeled_part(MemoryTable(np.arange(4.0)[:, None]), known)
    assert_array_equal(codes, [0, 1, 0, 1])
    assert n_classes == 2


def test_one_remaining_class_has_no_cannot_linked_pair():
    known = Supervision.from_labels(["a", "b", "b", "b"])[np.array([1, 2, 3])]
    assert_array_equal(known.codes, [1, 1, 1])
    with pytest.raises(InputError, match="there is no cannot-linked pair"):
        pairs.need_both_kinds(known)


def test_the_hint_about_y_appears_only_if_y_was_given():
    only_pairs, labelled = (
        Supervision.from_pairs(3, [(0, 1)], []),
        Supervision.from_labels([0, 1, 1]),
    )
    with pytest.raises(InputError, match=r"but only pairs are available\.$"):
        METHODS["fisher"].check_supervision(only_pairs)
    with pytest.raises(
        InputError, match=r"but only labels are available; target_type= sets the kind of y\.$"
    ):
        METHODS["supervised_laplacian"].check_supervision(labelled)

"""Blocks of columns, moments and edge sums, graphs, and graph builders."""

from __future__ import annotations

import warnings

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from graphsieve import GraphSieve, GraphSieveWarning, InputError, Supervision, scores
from graphsieve.graphs import builders
from graphsieve.graphs.builders import group_graph, neighbor_graph, same_code_pairs
from graphsieve.graphs.graph import (
    CrossGraph,
    FactorGraph,
    SparseGraph,
    StreamedGraph,
    complete_graph,
)
from graphsieve.scores import METHODS
from graphsieve.table.blocks import scale_by_power_of_two
from graphsieve.table.columns import MemoryTable
from graphsieve.table.scaling import rescaled, standardized_target
from graphsieve.table.sums import edge_sum, moments
from strategies import grid_values, problems


@pytest.mark.parametrize("sparse", [False, True])
@given(problem=problems(ties=True), block_elements=st.sampled_from([1, 30, 2**22]))
def test_blocks_cover_all_columns_and_restore_the_numbers(
    sparse_stays_sparse, sparse, problem, block_elements
):
    X = sp.csr_array(problem.X) if sparse else problem.X
    table = MemoryTable(X, block_elements=block_elements)
    found = np.full_like(problem.X, np.nan)
    for block in table.blocks():
        assert block.is_sparse == sparse
        values = block.values.toarray() if block.is_sparse else block.values
        found[:, block.start : block.stop] = scale_by_power_of_two(
            values + block.shift, block.exponent
        )
        assert_array_equal(
            block.constant, np.ptp(problem.X[:, block.start : block.stop], axis=0) == 0
        )
        dense = np.concatenate([part for _, part in block.dense_parts()], axis=1)
        assert_array_equal(block.range, np.ptp(dense, axis=0))
    assert_array_equal(found, problem.X)


@pytest.mark.parametrize("sparse", [False, True])
@given(problem=problems(ties=True), seed=st.integers(0, 99))
def test_moments_and_edge_sums_match_their_definitions(sparse_stays_sparse, sparse, problem, seed):
    rng = np.random.default_rng(seed)
    n = len(problem.X)
    weights = rng.random((n, 3)) * (rng.random((n, 3)) < 0.6)
    first, second = rng.integers(0, n, 30), rng.integers(0, n, 30)
    edge_weights = rng.random(30)
    for block in MemoryTable(sp.csc_array(problem.X) if sparse else problem.X).blocks():
        values = block.values.toarray() if block.is_sparse else block.values
        found = moments(block, sp.csc_array(weights))
        for w, mass, mean, scatter in zip(
            weights.T, found.mass, found.mean, found.scatter, strict=True
        ):
            assert mass == pytest.approx(w.sum())
            if mass:
                expected = w @ values / w.sum()
                assert_allclose(mean, expected, atol=1e-12)
                assert_allclose(scatter, w @ (values - expected) ** 2, atol=1e-12)
        for power in (1, 2):
            gaps = np.abs(values[first] - values[second]) ** power
            assert_allclose(
                edge_sum(block, first, second, edge_weights, power=power),
                edge_weights @ gaps,
                atol=1e-12,
            )


def test_equal_values_in_a_group_have_exactly_zero_scatter(sparse_stays_sparse):
    """Rounding must not give equal values a positive scatter, in dense and in sparse columns.

    0.1·3 is not 0.3, and the computed mean of its copies can differ from it.
    """
    X = np.array(
        [[0.1 * 3, 1e8 + 0.1], [0.1 * 3, 1e8 + 0.1], [0.1 * 3, 1e8 + 0.1], [0.0, 5.0], [7.7, 5.0]]
    )
    for container in (np.asarray, sp.csr_array):
        for block in MemoryTable(container(X)).blocks():
            assert block.is_sparse == (container is sp.csr_array)
            assert_array_equal(
                moments(block, sp.csc_array([[0.3], [0.1], [0.7], [0], [0]])).scatter, 0.0
            )
        assert_array_equal(scores.fisher_score(container(X), [0, 0, 0, 1, 1])[1], np.inf)


def off_diagonal(W: np.ndarray) -> np.ndarray:
    return W - np.diag(np.diag(W))


def dense_energy(W: np.ndarray, X: np.ndarray) -> np.ndarray:
    return np.array([0.5 * (W * (f[:, None] - f) ** 2).sum() for f in X.T])


@given(problem=problems(ties=True), seed=st.integers(0, 99))
def test_graphs_equal_their_weight_matrices(problem, seed):
    rng = np.random.default_rng(seed)
    X, n = problem.X, len(problem.X)
    upper = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.3), k=1)
    upper[-1] = upper[:, -1] = 0  # an isolated sample
    edges = SparseGraph.from_matrix(upper + upper.T)
    factor = rng.random((n, 2)) * (rng.random((n, 2)) < 0.7) / 2
    low_rank = FactorGraph(factor)
    expanded = factor @ factor.T
    np.fill_diagonal(expanded, 0.0)
    complete = 1.0 - np.eye(n)
    for graph, W in (
        (edges, upper + upper.T),
        (low_rank, expanded),
        (edges + low_rank, upper + upper.T + expanded),
        (complete_graph(n) - low_rank, complete - expanded),
        (
            CrossGraph(factor),
            off_diagonal(np.outer(factor.sum(axis=1), factor.sum(axis=1)) - factor @ factor.T),
        ),
    ):
        assert_allclose(graph.degree(), W.sum(axis=1), atol=1e-12)
        assert_allclose(graph.energy(X), dense_energy(W, X), atol=1e-10)
        d = W.sum(axis=1)
        mean = d @ X / d.sum() if d.sum() else np.zeros(X.shape[1])
        assert_allclose(graph.spread(X), d @ (X - mean) ** 2, atol=1e-10)


@given(
    codes=hnp.arrays(np.int64, st.integers(0, 30), elements=st.integers(-1, 4)),
    chunk=st.sampled_from([1, 3, 1000]),
)
def test_pairs_of_equal_code_occur_once_for_any_chunk_size(codes, chunk):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builders, "EDGES_PER_CHUNK", chunk)
        found = [
            tuple(sorted(pair))
            for one, other in same_code_pairs(codes)
            for pair in zip(one, other, strict=True)
        ]
    n = len(codes)
    expected = [(i, j) for i in range(n) for j in range(i + 1, n) if codes[i] == codes[j] >= 0]
    assert sorted(found) == expected


@given(problem=problems(ties=True), cut=st.booleans(), streamed=st.booleans())
def test_labels_are_equivalent_to_all_the_pairs_they_imply(problem, cut, streamed):
    """CLS and CS from labels equal those from an explicit list of pairs.

    The pairs of labels are stored or streamed.
    """
    labeled = np.flatnonzero(problem.labels >= 0)
    pairs = [(i, j) for i in labeled for j in labeled if i < j]
    alike = [pair for pair in pairs if problem.labels[pair[0]] == problem.labels[pair[1]]]
    apart = [pair for pair in pairs if problem.labels[pair[0]] != problem.labels[pair[1]]]
    known = Supervision.from_labels(problem.labels)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        if streamed:
            patch.setattr(builders, "EDGES_KEPT", 0)
            patch.setattr(builders, "EDGES_PER_CHUNK", 4)
        method = METHODS["constrained_laplacian"]
        computed = method.core(
            MemoryTable(problem.X), known, n_neighbors=3, bandwidth=2.0, cut_cannot_link=cut
        ).values
        difference = (
            METHODS["constraint"]
            .core(MemoryTable(problem.X), known, form="difference", weight=0.1)
            .values
        )
    with np.errstate(all="ignore"):
        expected = oracle.constrained_laplacian_score(
            problem.X, alike, apart, n_neighbors=3, bandwidth=2.0, cut_cannot_link=cut
        )
        expected_difference = oracle.constraint_score(problem.X, alike, apart, form="difference")
    assert_allclose(computed, expected, rtol=1e-9, atol=1e-12)
    assert_allclose(difference, expected_difference, rtol=1e-9, atol=1e-9)


@given(problem=problems(ties=True))
def test_labels_and_pairs_together_count_every_pair_once(problem):
    """Half of the labels together with all pairs equal the union of implied and given pairs."""
    half = np.where(np.arange(len(problem.labels)) % 2 == 0, problem.labels, -1)
    labeled = np.flatnonzero(half >= 0)
    implied = [(i, j) for i in labeled for j in labeled if i < j]
    alike = [pair for pair in implied if half[pair[0]] == half[pair[1]]] + [
        tuple(p) for p in problem.must_link
    ]
    apart = [pair for pair in implied if half[pair[0]] != half[pair[1]]] + [
        tuple(p) for p in problem.cannot_link
    ]
    known = Supervision.from_labels(np.where(half >= 0, half + 5, -1))
    known = known | Supervision.from_pairs(len(half), problem.must_link, problem.cannot_link)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        computed = (
            METHODS["constrained_laplacian"]
            .core(
                MemoryTable(problem.X), known, n_neighbors=2, bandwidth=2.0, cut_cannot_link=False
            )
            .values
        )
    with np.errstate(all="ignore"):
        expected = oracle.constrained_laplacian_score(
            problem.X, alike, apart, n_neighbors=2, bandwidth=2.0
        )
    assert_allclose(computed, expected, rtol=1e-9, atol=1e-12)


def test_a_streamed_graph_generates_its_edges_again():
    calls = []

    def edges():
        calls.append(1)
        yield np.array([0]), np.array([1]), np.array([2.0])
        yield np.array([1]), np.array([2]), np.array([3.0])

    graph = StreamedGraph(3, edges)
    assert_array_equal(graph.degree(), [2.0, 5.0, 3.0])
    assert_array_equal(graph.energy(np.array([[0.0], [1.0], [3.0]])), [2.0 + 12.0])
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, [0], [3]), "samples 0 to 2"),
        ((3, [0], [0]), "no self-loops"),
        ((3, [0.5], [1.0]), "integer indices"),
        ((3, [0], [1], [-1.0]), "non-negative"),
        ((3, [0], [1], [np.nan]), "finite"),
        ((3, [0], [1], [1.0, 2.0]), "one weight per edge"),
    ],
)
def test_edges_are_checked(arguments, message):
    with pytest.raises(InputError, match=message):
        SparseGraph(*arguments)


def test_weight_matrices_are_checked():
    with pytest.raises(InputError, match="symmetric"):
        SparseGraph.from_matrix(np.array([[0.0, 1.0], [0.0, 0.0]]))
    with pytest.raises(InputError, match="square"):
        SparseGraph.from_matrix(np.ones((2, 3)))
    with pytest.raises(InputError, match="non-negative"):
        FactorGraph([[-1.0], [1.0]])
    with pytest.raises(InputError, match="same samples"):
        complete_graph(3).energy(np.ones((4, 1)))
    with pytest.raises(InputError, match="same samples"):
        complete_graph(3) + complete_graph(4)


@pytest.mark.parametrize("bandwidth", [1e-300, 1e-12, 1.0, 1e12])
def test_no_bandwidth_empties_the_graph(bandwidth):
    X = np.random.default_rng(0).normal(size=(60, 4)) * 1e3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        near = neighbor_graph(MemoryTable(X), 5, bandwidth)
    assert near.graph.weights.max() == 1.0
    assert near.graph.degree().sum() > 0


def test_a_graph_dominated_by_a_few_edges_warns():
    X = np.random.default_rng(0).normal(size=(60, 4)) * 1e3
    with pytest.warns(GraphSieveWarning, match="uninformative"):
        scores.laplacian_score(X)


def test_automatic_bandwidth_is_the_mean_squared_length_of_the_edges():
    X = np.random.default_rng(0).normal(size=(40, 3))
    near = neighbor_graph(MemoryTable(X), 4, None)
    lengths = ((X[near.graph.first] - X[near.graph.second]) ** 2).sum(axis=1)
    assert near.bandwidth == pytest.approx(lengths.mean())
    sieve = GraphSieve("laplacian", scale=None, n_neighbors=4).fit(X)
    assert sieve.bandwidth_ == pytest.approx(near.bandwidth)
    assert_allclose(
        sieve.scores_,
        scores.laplacian_score(X, n_neighbors=4, bandwidth=near.bandwidth),
        rtol=1e-12,
    )


def test_group_graph_is_complete_inside_groups():
    graph = group_graph(np.array([0, 0, 1, -1, 0]), weight=3.0)
    assert_allclose(graph.degree(), [6.0, 6.0, 0.0, 0.0, 6.0])


@given(X=hnp.arrays(np.float64, (7, 3), elements=grid_values()))
def test_scaling_divides_by_deviation_or_range(X):
    for container in (np.asarray, sp.csr_array):
        for scale, size in (("standard", X.std(axis=0)), ("minmax", np.ptp(X, axis=0))):
            rows, exponent = rescaled(MemoryTable(container(X)), scale).rows
            found = (rows.toarray() if sp.issparse(rows) else rows) * 2.0**exponent
            expected = X / np.where(size > 0, size, 1.0)
            differences = found - found[0]
            varies = size > 0
            assert_allclose(differences[:, varies], (expected - expected[0])[:, varies], atol=1e-12)
            assert (differences[:, ~varies] == 0).all()


def test_targets_are_scaled_over_known_values():
    found = standardized_target(np.array([1.0, np.nan, 3.0, 5.0]))
    known = found[~np.isnan(found)]
    assert_allclose(known / known[0], [1, 3, 5], rtol=1e-15)  # divided, not shifted
    assert known.std() == pytest.approx(1.0)
    assert np.ptp(standardized_target(np.array([2.0, 2.0]))) == 0
    assert np.isnan(standardized_target(np.array([np.nan]))).all()


@pytest.mark.parametrize("name", [name for name in METHODS if "copies" in METHODS[name].laws])
def test_copies_have_identical_scores_at_any_position(name):
    """The scores are bit-identical for blocks of any width.

    With many classes and tied targets, the sums are long enough to depend on their order.
    """
    rng = np.random.default_rng(5)
    n = 60
    column = rng.normal(size=(n, 1))
    X = np.concatenate(
        [column, rng.normal(size=(n, 3)), column, rng.normal(size=(n, 2)), column], axis=1
    )
    classes = np.arange(n) % 12
    known = {
        "labels": Supervision.from_labels(classes),
        "targets": Supervision.from_targets(np.where(np.arange(n) % 3 > 0, classes / 3, np.nan)),
        "probabilities": Supervision.from_probabilities(rng.dirichlet(np.ones(12), n)),
        "pairs": Supervision.from_pairs(n, [(0, 12), (1, 13)], [(0, 1), (2, 5)]),
    }
    method = METHODS[name]
    kinds = [kind for kind in method.uses if (name, kind) != ("pearson", "labels")]
    for kind in kinds or [None]:
        for width in (1, 3, 7, 8):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", GraphSieveWarning)
                table = MemoryTable(X, block_elements=width * n)
                given = Supervision.nothing(n) if kind is None else known[kind]
                found = method.core(table, given, **method.defaults).values
            assert found[0] == found[4] == found[7]

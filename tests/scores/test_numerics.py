"""Offsets, scales and extreme values do not change results that must not depend on them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from graphsieve import GraphSieve, GraphSieveWarning, Supervision, scores
from graphsieve.graphs.builders import neighbor_graph
from graphsieve.scores import METHODS
from graphsieve.search import diverse_selection
from graphsieve.table.columns import MemoryTable

RNG = np.random.default_rng(7)
N = 80
LABELS = np.where(RNG.random(N) < 0.5, np.arange(N) % 3, -1)
TARGETS = np.where(RNG.random(N) < 0.5, RNG.normal(size=N), np.nan)
KNOWN = {
    "labels": Supervision.from_labels(LABELS),
    "targets": Supervision.from_targets(TARGETS),
    "probabilities": Supervision.from_probabilities(RNG.dirichlet(np.ones(3), N)),
    "pairs": Supervision.from_pairs(N, [(0, 3), (3, 6), (1, 4)], [(0, 1), (1, 2), (2, 3)]),
}


def known_for(name: str) -> Supervision:
    uses = METHODS[name].uses
    if name == "pearson":
        uses = ("targets",)
    return KNOWN[uses[0]] if uses else Supervision.nothing(N)


def score(name: str, X: np.ndarray, **overrides: object) -> np.ndarray:
    method = METHODS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        return method.core(MemoryTable(X), known_for(name), **(method.defaults | overrides)).values


@pytest.mark.parametrize("name", METHODS)
def test_an_offset_of_1e8_in_float64(name):
    X = RNG.normal(size=(N, 6))
    offset = 1e8 * np.arange(1, 7)
    assert_allclose(score(name, X + offset), score(name, X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", METHODS)
def test_an_offset_of_1e4_in_float32(name):
    # The values are chosen so that adding the offset loses no digits of the data.
    X = np.rint(RNG.normal(size=(N, 6)) * 256) / 256
    shifted = (X + 1e4).astype(np.float32)
    assert_array_equal(shifted.astype(np.float64) - 1e4, X)
    assert_allclose(score(name, shifted), score(name, X.astype(np.float32)), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("factor", [1e-300, 1e-12, 1e12, 1e300])
def test_with_the_graph_held_fixed_a_scaled_feature_keeps_its_score(factor):
    X = RNG.normal(size=(N, 4))
    graph = neighbor_graph(MemoryTable(X), 5, 1.0).graph
    from graphsieve.graphs.ratio import laplacian_ratio

    assert_allclose(
        laplacian_ratio(MemoryTable(X * factor), graph),
        laplacian_ratio(MemoryTable(X), graph),
        rtol=1e-9,
    )


@pytest.mark.parametrize("factor", [1e-300, 1e-12, 1e12, 1e300])
@pytest.mark.parametrize(
    "name",
    [name for name, method in METHODS.items() if not method.reads_neighbors and name != "variance"],
)
def test_features_of_all_scales_keep_their_scores_where_no_distance_is_taken(name, factor):
    X = RNG.normal(size=(N, 4))
    scaled = X * np.array([factor, 1.0, factor, 1.0])
    assert_allclose(score(name, scaled), score(name, X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("exponent", [-1000, -500, 500, 1000])
def test_the_public_functions_accept_any_scale(name, exponent):
    """The results are the same in any common unit, although squares would overflow or underflow."""
    X = RNG.normal(size=(N, 5))
    if name == "variance":
        pytest.skip("the variance keeps the units of its feature, and 2**2000 is no number")
    y = {"supervision": known_for(name)} if METHODS[name].uses else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        plain = GraphSieve(name).fit(X, **y)
        scaled = GraphSieve(name).fit(np.ldexp(X, exponent), **y)
    assert_allclose(scaled.scores_, plain.scores_, rtol=1e-9)
    assert_array_equal(scaled.ranking_, plain.ranking_)


@pytest.mark.parametrize("redundancy", ["explain", "correlation"])
@pytest.mark.parametrize("kind", ["nothing", *KNOWN])
@pytest.mark.parametrize("exponent", [-1000, -500, 500, 1000])
def test_a_search_accepts_any_scale(exponent, kind, redundancy):
    """Powers of two are exact, so a table or a target in another unit gives bitwise equal results."""
    X, known = np.random.default_rng(3).normal(size=(N, 5)), KNOWN.get(kind, Supervision.nothing(N))
    other = (
        known if known.targets is None else Supervision.from_targets(np.ldexp(TARGETS, exponent))
    )
    plain = GraphSieve(redundancy=redundancy, n_features_to_select=4).fit(X, supervision=known)
    scaled = GraphSieve(redundancy=redundancy, n_features_to_select=4).fit(
        np.ldexp(X, exponent), supervision=other
    )
    assert_allclose(scaled.scores_, plain.scores_, rtol=1e-9)
    assert_allclose(scaled.redundancy_, plain.redundancy_, rtol=1e-9, atol=1e-12)
    assert_array_equal(scaled.ranking_, plain.ranking_)


@pytest.mark.parametrize("kind", ["nothing", *KNOWN])
def test_the_default_standardises_columns_with_separate_units_and_shifts_nothing(kind):
    X, known = np.random.default_rng(4).normal(size=(N, 5)), KNOWN.get(kind, Supervision.nothing(N))
    plain = GraphSieve(scale="standard", n_features_to_select=4).fit(X, supervision=known)
    for factors in ([1e-12, 1.0, 1e12, 1e3, 1.0], [1e-300, 1.0, 1e300, 1e3, 1.0]):
        mixed = GraphSieve(n_features_to_select=4).fit(X * factors, supervision=known)
        assert mixed.scale_ == "standard"
        assert_allclose(mixed.scores_, plain.scores_, rtol=1e-9)
        assert_array_equal(mixed.ranking_, plain.ranking_)
    own = GraphSieve(n_features_to_select=4).fit(X, supervision=known)
    moved = GraphSieve(n_features_to_select=4).fit(X + 1e8 * np.arange(1, 6), supervision=known)
    assert own.scale_ is moved.scale_ is None
    assert_allclose(moved.scores_, own.scores_, rtol=1e-6)
    assert_array_equal(moved.ranking_, own.ranking_)


def test_columns_of_vanishing_size_explain_as_much_as_their_direction_does():
    """By hand: the first column is all there is to explain. Each column explains its squared
    correlation with it.
    """
    X = np.random.default_rng(5).normal(size=(N, 3))
    X = np.column_stack([X[:, 0], X[:, 1], X[:, 0], X[:, 2]]) * [1e300, 1.0, 1e-300, 1e-300]
    # A warning about constant columns would be an error.
    sieve = GraphSieve(scale=None, n_features_to_select=3).fit(X)
    expected = np.corrcoef((X * [1e-300, 1.0, 1e300, 1e300]).T)[0] ** 2
    assert_allclose(sieve.scores_, expected, rtol=1e-9)
    assert sieve.ranking_[0] == 1
    assert sieve.ranking_[2] == 4  # a copy in a very small unit
    assert sieve.redundancy_[2] == pytest.approx(1)


@pytest.mark.parametrize("shape", [(17, 5), (9, 30)])
def test_rounding_errors_do_not_select_columns(shape):
    """A single column is all there is to explain, or equals the target. Once it is selected, no
    other column is.
    """
    X = np.random.default_rng(6).normal(size=shape)
    # The others are ordered by what they would have explained alone.
    expected = np.argsort(-(np.corrcoef(X.T)[3] ** 2)).tolist()
    for seed in range(20):
        rows = np.random.default_rng(seed).permutation(shape[0])
        of_one = diverse_selection(np.eye(shape[1])[3], X[rows], n_features_to_select=5)
        of_target = diverse_selection(
            np.ones(shape[1]),
            X[rows],
            n_features_to_select=5,
            targets=5 * X[rows, 3],
            target_share=1.0,
        )
        for path in (of_one, of_target):
            assert path.n_selected == 1
            assert path.order.tolist() == expected
            assert_allclose(path.gains, [1.0])


@pytest.mark.parametrize("exponent", [-1000, -600, 600, 1000])
def test_targets_and_features_of_wildly_different_size(exponent):
    """If one is far larger than the other, the ratio no longer matters. The result is that at
    2**200, where the formula can still be evaluated.
    """
    X, sign = RNG.normal(size=(N, 4)), 1 if exponent > 0 else -1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        found = scores.semi_supervised_laplacian_score(
            np.ldexp(X, exponent), TARGETS, n_neighbors=6, bandwidth=0.5
        )
    expected = oracle.semi_supervised_laplacian_score(
        np.ldexp(X, 200 * sign), TARGETS, n_neighbors=6, bandwidth=0.5
    )
    assert_allclose(found, expected, rtol=1e-9)


def test_a_variance_that_overflows_is_refused():
    with pytest.raises(ValueError, match=r"column 1 exceeds the largest number"):
        scores.variance_score([[1.0, 1e300], [2.0, -1e300]])


def test_an_isolated_outlier_costs_the_others_no_digits():
    """A value of 1e14 occurs beside values near 1. Subtracting it, or a mean that contains it,
    would leave two digits of the others.
    """
    X = RNG.normal(size=(N, 3))
    with_outlier = np.concatenate([np.full((1, 3), 1e14), X])
    graph = neighbor_graph(MemoryTable(X), 5, 1.0).graph
    from graphsieve.graphs.graph import SparseGraph

    apart = SparseGraph(N + 1, graph.first + 1, graph.second + 1, graph.weights)
    assert_allclose(apart.energy(with_outlier), graph.energy(X), rtol=1e-12)
    assert_allclose(apart.spread(with_outlier), graph.spread(X), rtol=1e-12)


@pytest.mark.parametrize("redundancy", ["auto", None])
def test_thread_counts_change_nothing(redundancy):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    X = RNG.normal(size=(300, 40))
    found = []
    for threads in (1, 2):
        with threadpoolctl.threadpool_limits(threads):
            found.append(GraphSieve(redundancy=redundancy).fit(X))
    assert_allclose(found[0].scores_, found[1].scores_, rtol=1e-12)
    assert_array_equal(found[0].ranking_, found[1].ranking_)

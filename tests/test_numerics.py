"""Offsets, scales and extreme values change nothing that they should not change."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from graphsieve import GraphSieve, GraphSieveWarning, Supervision, scores
from graphsieve.builders import neighbor_graph
from graphsieve.columns import Table
from graphsieve.scores import METHODS

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
        return method.core(Table(X), known_for(name), **(method.defaults | overrides)).values


@pytest.mark.parametrize("name", METHODS)
def test_an_offset_of_1e8_in_float64(name):
    X = RNG.normal(size=(N, 6))
    offset = 1e8 * np.arange(1, 7)
    assert_allclose(score(name, X + offset), score(name, X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", METHODS)
def test_an_offset_of_1e4_in_float32(name):
    X = np.rint(RNG.normal(size=(N, 6)) * 256) / 256  # so that adding the offset loses nothing of the data themselves
    shifted = (X + 1e4).astype(np.float32)
    assert_array_equal(shifted.astype(np.float64) - 1e4, X)
    assert_allclose(score(name, shifted), score(name, X.astype(np.float32)), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("factor", [1e-300, 1e-12, 1e12, 1e300])
def test_with_the_graph_held_fixed_a_scaled_feature_keeps_its_score(factor):
    X = RNG.normal(size=(N, 4))
    graph = neighbor_graph(Table(X), 5, 1.0).graph
    from graphsieve.ratio import laplacian_ratio

    assert_allclose(laplacian_ratio(Table(X * factor), graph), laplacian_ratio(Table(X), graph), rtol=1e-9)


@pytest.mark.parametrize("factor", [1e-300, 1e-12, 1e12, 1e300])
@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if not method.reads_neighbors and name != "variance"])
def test_features_of_all_scales_keep_their_scores_where_no_distance_is_taken(name, factor):
    X = RNG.normal(size=(N, 4))
    scaled = X * np.array([factor, 1.0, factor, 1.0])
    assert_allclose(score(name, scaled), score(name, X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("exponent", [-1000, -500, 500, 1000])
def test_the_front_door_takes_any_scale(name, exponent):
    """Standardised, a table times a power of two is the same table; squares of its numbers would over- or underflow."""
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


@pytest.mark.parametrize("exponent", [-1000, -600, 600, 1000])
def test_targets_and_features_of_wildly_different_size(exponent):
    """Where one dwarfs the other, it no longer matters by how much: as at 2**200, where the formula itself can be evaluated."""
    X, sign = RNG.normal(size=(N, 4)), 1 if exponent > 0 else -1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        found = scores.semi_supervised_laplacian_score(np.ldexp(X, exponent), TARGETS, n_neighbors=6, bandwidth=0.5)
    expected = oracle.semi_supervised_laplacian_score(np.ldexp(X, 200 * sign), TARGETS, n_neighbors=6, bandwidth=0.5)
    assert_allclose(found, expected, rtol=1e-9)


def test_a_variance_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match=r"column 1 exceeds the largest number"):
        scores.variance_score([[1.0, 1e300], [2.0, -1e300]])


def test_an_isolated_outlier_costs_the_others_no_digits():
    """A value of 1e14 beside values near 1: subtracting it, or a mean with it, would leave two digits of the rest."""
    X = RNG.normal(size=(N, 3))
    with_outlier = np.concatenate([np.full((1, 3), 1e14), X])
    graph = neighbor_graph(Table(X), 5, 1.0).graph
    from graphsieve.graph import SparseGraph

    apart = SparseGraph(N + 1, graph.first + 1, graph.second + 1, graph.weights)
    assert_allclose(apart.energy(with_outlier), graph.energy(X), rtol=1e-12)
    assert_allclose(apart.spread(with_outlier), graph.spread(X), rtol=1e-12)


def test_thread_counts_change_nothing():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    X = RNG.normal(size=(300, 40))
    found = []
    for threads in (1, 2):
        with threadpoolctl.threadpool_limits(threads):
            found.append(GraphSieve().fit(X).scores_)
    assert_allclose(found[0], found[1], rtol=1e-12)

"""The iterative search equals its naive loop exactly, including ties. Tracked neighbours equal
newly computed ones.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from threadpoolctl import threadpool_info

import lookalikes
import oracle
from graphsieve import GraphSieve, GraphSieveWarning, InputError, IterativeSieve, Supervision
from graphsieve.graphs.builders import neighbor_graph
from graphsieve.graphs.neighbors import tracking
from graphsieve.graphs.neighbors.exact import nearest_neighbors
from graphsieve.graphs.neighbors.tracking import Tracker
from graphsieve.graphs.ratio import laplacian_ratio
from graphsieve.scores import METHODS, laplacian_score
from graphsieve.scores.method import best_first
from graphsieve.search import iterative_ranking
from graphsieve.search.estimates import Estimate, LaplacianEstimates
from graphsieve.search.iterative import iterate
from graphsieve.table.columns import MemoryTable
from strategies import problems

READING_NEIGHBORS = [name for name, method in METHODS.items() if method.reads_neighbors]


def scaled(X, scale):
    if scale == "raw":
        return X
    size = np.ptp(X, axis=0) if scale == "minmax" else X.std(axis=0)
    return (X - (X.min(axis=0) if scale == "minmax" else X.mean(axis=0))) / np.where(
        size > 0, size, 1
    )


@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
@pytest.mark.parametrize("bandwidth", [1.0, 1e6])
@pytest.mark.parametrize("scale", ["raw", "minmax", "standard"])
@pytest.mark.parametrize("name", ["answers", "wine", "digits"])
def test_ranking_equals_the_naive_loop_on_real_tables(name, scale, bandwidth):
    X = scaled(lookalikes.load(name)[0][:120, :24].astype(float), scale)
    for step in (1, 5):
        for variant in (1, 2):
            found = iterative_ranking(X, step=step, variant=variant, bandwidth=bandwidth)
            assert_array_equal(
                found, oracle.iterative_ranking(X, step=step, variant=variant, bandwidth=bandwidth)
            )


@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
@given(
    st.booleans().flatmap(lambda ties: problems(ties=ties)),
    st.integers(1, 4),
    st.sampled_from([1, 2]),
    st.data(),
)
def test_ranking_equals_scoring_from_scratch_in_every_round(problem, step, variant, data):
    """The order equals that of `laplacian_score` on the remaining features in each round. The
    scores agree to nine digits.
    """
    X = problem.X
    wanted = data.draw(st.integers(1, X.shape[1]))
    k = min(3, len(X) - 1)
    path = iterate(
        MemoryTable(X),
        Supervision.nothing(len(X)),
        METHODS["laplacian"],
        {"n_neighbors": k, "bandwidth": 1.0},
        n_features_to_select=wanted,
        step=step,
        variant=variant,
    )
    current, dropped = np.arange(X.shape[1]), []
    for stage in path.rounds:
        assert_array_equal(stage.features, current)
        if variant == 1:
            scores = laplacian_score(X[:, current], n_neighbors=k)
        else:
            graph = neighbor_graph(MemoryTable(X[:, current]), k, 1.0).graph
            scores = laplacian_ratio(MemoryTable(X), graph)
        assert_allclose(stage.scores, scores, rtol=1e-6, atol=1e-12)
        order = stage.scored[best_first(scores, large_is_good=False)]
        size = max(len(current) - step, wanted)
        dropped.append(order[size:])
        current = np.sort(order[:size])
    assert len(current) == wanted
    rest = dropped[::-1] if variant == 1 else dropped[-1:]
    assert_array_equal(path.order, np.concatenate([order[:size], *rest]))


@pytest.mark.parametrize("bandwidth", [0.5, 50.0, None])
@pytest.mark.parametrize("kind", ["plain", "offset", "outlier", "copies", "grid", "scales"])
def test_estimates_are_within_their_error_bounds(kind, bandwidth):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12))
    if kind == "offset":
        X += 1e6
    if kind == "outlier":
        X[0] *= 1e5
    if kind == "copies":
        X = np.repeat(X[:20], 3, axis=0)
    if kind == "grid":
        X = rng.integers(0, 3, (60, 12)).astype(float)
    if kind == "scales":
        X *= 10.0 ** rng.integers(-5, 5, 12)
    table, options = MemoryTable(X), {"n_neighbors": 4, "bandwidth": bandwidth}
    tracker = Tracker(table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        estimates = LaplacianEstimates(table, tracker, options)
        good = 0
        for left in range(12, 0, -1):
            features = np.sort(rng.choice(12, left, replace=False))
            tracker.follow(features)
            estimate = estimates.of(np.arange(12))
            exact = laplacian_ratio(
                table, neighbor_graph(MemoryTable(X[:, features]), 4, bandwidth).graph
            )
            if estimate is not None:
                good += 1
                assert (np.abs(estimate.values - exact) <= estimate.errors).all()
                assert (estimate.errors <= 1e-6 * exact).all()
    # The bandwidth may be too small for any estimate.
    assert good >= 10 or kind in ("offset", "outlier", "scales")


def test_values_due_to_rounding_alone_are_no_estimates():
    """Two samples are so distant that their weights are zero. No feature varies on the others, so
    no feature has a score.
    """
    X = np.array([[100, 200, 300]] * 4 + [[300, 0, 0], [200, 300, 200]], dtype=float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        assert np.isnan(laplacian_score(X)).all()
        assert_array_equal(iterative_ranking(X), [0, 1, 2])


@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
def test_weights_that_vanish_change_no_order():
    """Many small tables at bandwidths far below the distances, where scores are 0, infinite or NaN."""
    rng = np.random.default_rng(0)
    for _ in range(150):
        X = rng.integers(0, 4, (int(rng.integers(4, 9)), int(rng.integers(2, 6)))) * 100.0
        current, dropped = np.arange(X.shape[1]), []
        while len(current) > 1:
            scores = laplacian_score(X[:, current], n_neighbors=2)
            order = current[best_first(scores, large_is_good=False)]
            dropped.append(order[-1:])
            current = np.sort(order[:-1])
        assert_array_equal(
            iterative_ranking(X, n_neighbors=2), np.concatenate([current, *dropped[::-1]])
        )


def test_concurrent_fits_do_not_change_the_number_of_threads():
    def threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    X = np.random.default_rng(0).normal(size=(60, 12))
    before = threads()
    with ThreadPoolExecutor(8) as pool:
        rankings = list(pool.map(lambda _: IterativeSieve().fit(X).ranking_, range(24)))
    assert threads() == before
    assert all((ranking == rankings[0]).all() for ranking in rankings)


def test_an_uncertain_estimate_is_reported():
    values, errors = np.array([0.3, 0.1, np.nan, 0.2, 0.2 + 1e-12]), np.full(5, 1e-11)
    estimate = Estimate(values, errors, 5, 1.0)
    assert estimate.is_certain(1, ordered=False)  # The best score is 0.1.
    assert not estimate.is_certain(2, ordered=False)  # The next one is either of two scores of 0.2.
    assert estimate.is_certain(3, ordered=True)
    assert not estimate.is_certain(1, ordered=True)
    assert estimate.is_certain(4, ordered=True)  # Only features without a score are dropped.


def test_copies_of_a_column_are_dropped_in_the_order_of_the_columns():
    """Their scores are equal, so no estimate is certain, and the exact score decides. The later
    copy is dropped first.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    X = np.column_stack([X, X[:, 2], X[:, 0]])
    found = iterative_ranking(X, bandwidth=20.0).tolist()
    assert found == oracle.iterative_ranking(X, bandwidth=20.0).tolist()


@pytest.mark.parametrize("worth", [1, 10**9])
@pytest.mark.parametrize("kept_elements", [10**9, 60, 1])
@pytest.mark.parametrize("kind", ["grid", "normal", "scales", "copies", "sparse"])
def test_tracked_neighbors_equal_newly_computed_ones(kind, kept_elements, worth, monkeypatch):
    """Features are dropped and return in any order. The memory is enough for all pairs, for a few,
    or for hardly any.
    """
    # The lists are used as soon as possible, or never.
    monkeypatch.setattr(tracking, "WORTH_LISTING", worth / 10)
    monkeypatch.setattr(tracking, "WORTH_KEEPING", worth / 10)
    monkeypatch.setattr(tracking, "VERY_MANY_PAIRS", 2**23 if worth == 1 else 0)
    monkeypatch.setattr(tracking, "MANY_PAIRS", 2**20 if worth == 1 else 0)
    rng = np.random.default_rng(len(kind))
    for _ in range(6):
        n, p = int(rng.integers(8, 40)), int(rng.integers(2, 10))
        X = (
            rng.integers(0, 4, (n, p)) / 3.0
            if kind in ("grid", "sparse")
            else rng.normal(size=(n, p))
        )
        if kind == "scales":
            X = X * 10.0 ** rng.integers(-160, 160, p)
        if kind == "copies":
            X = np.repeat(X[: n // 4 + 1], 4, axis=0)
            n = len(X)
        table = MemoryTable(sp.csr_array(X) if kind == "sparse" else X)
        tracker = Tracker(table, kept_elements=kept_elements)
        k = int(rng.integers(1, min(n - 1, 6)))
        some = np.sort(rng.choice(n, n // 2, replace=False)).astype(np.int64)
        for _ in range(8):
            features = np.sort(rng.choice(p, int(rng.integers(1, p + 1)), replace=False))
            tracker.follow(features)
            rows = MemoryTable(X[:, features]).rows[0]
            for which in ((None, None), (some, None), (None, some[: k + 1])):
                near, squared = tracker.nearest(k, *which)
                expected = nearest_neighbors(rows, k, queries=which[0], candidates=which[1])
                assert_array_equal(near, expected[0])
                assert_array_equal(squared, expected[1])


def test_long_corrections_do_not_drift():
    """Three hundred features are dropped one by one. The last neighbours are as exact as the first."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 300)) * 10.0 ** rng.uniform(-6, 6, 300)
    tracker = Tracker(MemoryTable(X))
    for left in range(300, 0, -1):
        features = np.arange(300 - left, 300)
        tracker.follow(features)
        assert_array_equal(
            tracker.nearest(4, None, None)[0],
            nearest_neighbors(MemoryTable(X[:, features]).rows[0], 4)[0],
        )


def knowledge(name, n):
    rng = np.random.default_rng(1)
    if name == "semi_supervised_laplacian":
        return Supervision.from_targets(np.where(np.arange(n) % 3 == 0, rng.normal(size=n), np.nan))
    if "labels" in METHODS[name].uses:
        return Supervision.from_labels(np.where(np.arange(n) % 3 == 0, np.arange(n) % 2, -1))
    return Supervision.nothing(n)


@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", READING_NEIGHBORS)
@pytest.mark.parametrize("variant", [1, 2])
def test_any_score_that_uses_neighbors_can_be_iterated(name, sparse, variant):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(40, 7)), 1) * (rng.random((40, 7)) < 0.7)
    method, known = METHODS[name], knowledge(name, 40)
    options = {**method.defaults, "n_neighbors": 4}
    table = MemoryTable(sp.csr_array(X) if sparse else X)
    path = iterate(table, known, method, options, n_features_to_select=2, step=2, variant=variant)
    for stage in path.rounds:
        alone = MemoryTable(sp.csr_array(X[:, stage.features]) if sparse else X[:, stage.features])
        # In variant 2, all features are scored on the graph of the current ones.
        current = np.isin(stage.scored, stage.features)
        expected = method.core(alone, known, **options).values
        assert_allclose(stage.scores[current], expected, rtol=1e-9)
    last = path.rounds[-1]
    expected = last.scored[best_first(last.scores, large_is_good=method.large_is_good(options))]
    assert_array_equal(path.order[: len(last.scored)], expected)


def test_a_score_without_a_graph_from_x_is_refused():
    X, y = load_wine(return_X_y=True)
    with pytest.raises(InputError, match="'fisher' builds no graph from X"):
        IterativeSieve("fisher").fit(X, y)


def test_the_sieve_keeps_the_path_and_the_names():
    X, _ = load_wine(return_X_y=True, as_frame=True)
    sieve = IterativeSieve(n_features_to_select=4, step=0.25).fit(X)
    # A quarter of 13 columns is 3. The last step drops 3 of 7.
    assert [stage.size for stage in sieve.path_] == [13, 10, 7]
    assert sieve.get_support().sum() == 4
    assert set(sieve.get_feature_names_out()) == set(X.columns[sieve.ranking_ <= 4])
    assert "3 rounds" in repr(sieve)
    first = GraphSieve("laplacian").fit(X)
    assert_allclose(sieve.path_[0].scores, first.scores_, rtol=1e-9)


def test_one_round_is_the_plain_ranking():
    X, _ = load_wine(return_X_y=True)
    plain = GraphSieve("laplacian", n_features_to_select=13, scale="standard").fit(X)
    assert_array_equal(IterativeSieve(n_features_to_select=13).fit(X).ranking_, plain.ranking_)
    assert_array_equal(
        IterativeSieve(n_features_to_select=3, step=20).fit(X).ranking_, plain.ranking_
    )


@pytest.mark.parametrize("scale", ["auto", "standard", "minmax", "robust", "rank", None])
@pytest.mark.parametrize("units", [1.0, [1.0, 10.0, 100.0, 1000.0, 0.1]])
def test_the_first_round_has_the_plain_scores_on_every_scale(units, scale):
    rng = np.random.default_rng(0)
    X = units * rng.normal(size=(40, 5))
    y = np.where(np.arange(40) % 3, X[:, 0] * 50 + rng.normal(size=40), np.nan)
    for method, known in (("laplacian", None), ("semi_supervised_laplacian", y)):
        plain = GraphSieve(method, scale=scale, n_features_to_select=5).fit(X, known)
        sieve = IterativeSieve(method, scale=scale, n_features_to_select=5).fit(X, known)
        assert sieve.scale_ == plain.scale_
        assert_allclose(sieve.path_[0].scores, plain.scores_, rtol=1e-9)
        assert_array_equal(sieve.ranking_, plain.ranking_)


def test_variant_two_lets_features_return():
    """Columns of large scale hide a group of related columns. Once they are dropped, a related
    column that was dropped earlier is good again.
    """
    rng = np.random.default_rng(16)
    related = rng.normal(size=(30, 1)) + 0.5 * rng.normal(size=(30, 6))
    X = np.concatenate([related, np.exp(3 * rng.normal(size=(30, 3)))], axis=1)
    sieve = IterativeSieve(
        n_features_to_select=1, variant=2, n_neighbors=3, scale=None, bandwidth=1e9
    )
    rounds = sieve.fit(X).path_
    assert any(set(after.features) - set(before.features) for before, after in pairwise(rounds))
    assert all(len(stage.scores) == 9 for stage in rounds)


def test_warnings_of_many_rounds_come_once():
    rng = np.random.default_rng(0)
    X = 100 * rng.normal(size=(40, 12))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        iterative_ranking(X)
    ours = [str(w.message) for w in caught if issubclass(w.category, GraphSieveWarning)]
    assert len(ours) == 1
    assert "of 11 rounds" in ours[0]


def test_noise_is_dropped():
    """The purpose of the method: if noise hides two groups from the neighbours, dropping it reveals
    them.
    """
    hits = {"laplacian": 0, "iterative": 0}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(100, 105))
        X[:, :5] += 3 * rng.normal(size=(3, 5))[rng.integers(3, size=100)]
        # The columns are standardised. In their original units the columns of the groups vary more,
        # and the plain score would find them as well.
        for name, sieve in (
            ("laplacian", GraphSieve("laplacian")),
            ("iterative", IterativeSieve()),
        ):
            hits[name] += int(
                sieve.set_params(n_features_to_select=5, scale="standard")
                .fit(X)
                .get_support()[:5]
                .sum()
            )
    assert hits["iterative"] > hits["laplacian"]

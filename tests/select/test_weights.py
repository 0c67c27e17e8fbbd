"""Weights of the samples in the searches, the estimators and the command."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import oracle
from graphsieve import (
    FloatingSieve,
    GraphSieve,
    GraphSieveWarning,
    HybridSieve,
    InputError,
    IterativeSieve,
    LabeledOnly,
    Supervision,
    rank,
    stored,
)
from graphsieve.search import prediction
from graphsieve.search.criteria import make_criterion
from graphsieve.search.prediction import PENALTIES, predicted
from graphsieve.search.propagation import propagate
from graphsieve.search.relevance import relevance
from graphsieve.table.columns import MemoryTable

ESTIMATORS = {
    "default": GraphSieve(n_features_to_select=3),
    "auto": GraphSieve(n_features_to_select="auto"),
    "laplacian": GraphSieve("laplacian", n_features_to_select=3),
    "prototypes": GraphSieve("laplacian", n_features_to_select=3, compress="kmeans"),
    "iterative": IterativeSieve(n_features_to_select=3),
    "hybrid": HybridSieve(n_features_to_select=3),
    "floating": FloatingSieve(n_features_to_select=3),
}


def problem(seed: int, n: int = 40, n_features: int = 8):
    """Return features of which two depend on the classes, the classes, a target and weights."""
    random = np.random.default_rng(seed)
    y = random.permutation(np.arange(n) % 2)
    X = random.normal(size=(n, n_features))
    X[:, 0] += 2 * y
    X[:, 1] += y
    return X, y, X @ random.normal(size=n_features), random.integers(1, 4, n)


def quietly(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        return function(*arguments, **options)


# ---- The parts of the searches


def weighted_ridge(X, Y, m, penalty):
    """Return the intercept and the coefficients that minimise Σ m_i |y_i − a − x_i b|² + λ |b|²."""
    x_mean, y_mean = m @ X / m.sum(), m @ Y / m.sum()
    A, B = X - x_mean, Y - y_mean
    b = np.linalg.solve(
        A.T @ (m[:, None] * A) + penalty * np.eye(X.shape[1]), A.T @ (m[:, None] * B)
    )
    return y_mean - x_mean @ b, b


def left_out_errors(X, Y, m, penalty):
    found = np.empty_like(Y)
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        a, b = weighted_ridge(X[rest], Y[rest], m[rest], penalty)
        found[i] = Y[i] - a - X[i] @ b
    return found


@pytest.mark.parametrize("n", [6, 20])  # fewer and more samples than features
@given(seed=st.integers(0, 99))
def test_the_prediction_is_a_weighted_ridge_regression(n, seed):
    X, _, target, times = problem(seed, n)
    m = times.astype(np.float64)
    found = predicted(MemoryTable(X).weighted_by(m), Supervision.from_targets(target))
    A = np.sqrt(m)[:, None] * (X - m @ X / m.sum())
    largest = np.linalg.eigvalsh(A.T @ A).max()
    errors = [left_out_errors(X, target[:, None], m, one * largest) for one in PENALTIES]
    best = int(np.argmin([m @ one**2 for one in errors]))
    a, b = weighted_ridge(X, target[:, None], m, PENALTIES[best] * largest)
    values = a + X @ b
    values = values - m @ values / m.sum()
    # The target is divided by a power of two.
    unit = np.abs(found.values).max() / np.abs(values).max()
    assert_allclose(found.values, unit * values, rtol=1e-6, atol=1e-9)
    baseline = (target - m @ target / m.sum()) / (1 - m / m.sum())
    skill = 1 - float(m @ errors[best][:, 0] ** 2) / float(m @ baseline**2)
    assert found.skill == pytest.approx(max(0.0, skill), abs=1e-6)


@given(seed=st.integers(0, 99))
def test_the_skill_for_classes_is_a_weighted_kappa(seed):
    X, y, _, times = problem(seed, 20)
    m = times.astype(np.float64)
    found = predicted(MemoryTable(X).weighted_by(m), Supervision.from_labels(y))
    Y = np.eye(2)[y]
    A = np.sqrt(m)[:, None] * (X - m @ X / m.sum())
    largest = np.linalg.eigvalsh(A.T @ A).max()
    errors = [left_out_errors(X, Y, m, one * largest) for one in PENALTIES]
    best = errors[int(np.argmin([m @ (one**2).sum(axis=1) for one in errors]))]
    guess = (Y - best).argmax(axis=1)
    share = m / m.sum()
    right = share[guess == y].sum()
    chance = sum(share[y == c].sum() * share[guess == c].sum() for c in (0, 1))
    assert found.skill == pytest.approx(max(0.0, (right - chance) / (1 - chance)), abs=1e-9)


def test_several_targets_have_weighted_sums_of_squares_in_proportion_to_their_skill():
    X, _, _, _ = problem(3, 100)
    X[:50, 0] *= 0.05  # The first target varies only among the light samples.
    X[50:, 1] *= 0.05
    Y = X[:, :2] + 0.1 * np.random.default_rng(0).normal(size=(100, 2))
    m = np.where(np.arange(100) < 50, 1.0, 0.01)
    table = MemoryTable(X).weighted_by(m)
    skills = [predicted(table, Supervision.from_targets(Y[:, k])).skill for k in (0, 1)]
    found = predicted(table, Supervision.from_targets(Y))
    squares = m @ found.values**2
    assert squares[0] / squares[1] == pytest.approx(skills[0] / skills[1])
    assert found.skill == pytest.approx(np.mean(skills))


@pytest.mark.parametrize("kind", ["labels", "targets", "probabilities", "pairs"])
@given(seed=st.integers(0, 99))
def test_relevance_with_integer_weights_equals_repetition(kind, seed):
    X, y, target, times = problem(seed, 24)
    X = X.round(1)  # ties
    known = {
        "labels": Supervision.from_labels(y),
        "targets": Supervision.from_targets(target.round(1)),
        "probabilities": Supervision.from_probabilities(0.6 * np.eye(2)[y] + 0.2),
        "pairs": Supervision.from_pairs(24, [(0, 1), (2, 3)], [(4, 5), (6, 9)]),
    }[kind]
    rows = np.repeat(np.arange(24), times)
    weighted = relevance(MemoryTable(X).weighted_by(times.astype(np.float64)), known)
    repeated = known[rows]
    if kind != "pairs":  # Copies do not change the number of independent samples.
        repeated |= Supervision.from_groups(rows)
    assert_allclose(weighted, relevance(MemoryTable(X[rows]), repeated), atol=1e-9)


@pytest.mark.parametrize("kind", ["pairs", "targets"])
def test_a_group_has_the_mean_weight_of_its_samples(kind):
    X, _, target, times = problem(4, 24)
    target = np.abs(target - target.mean())[np.arange(24) // 2]  # No column is linear in it.
    known = {
        "pairs": Supervision.from_pairs(24, [(0, 2), (4, 6)], [(8, 10), (12, 16)]),
        "targets": Supervision.from_targets(target),
    }[kind] | Supervision.from_groups(np.arange(24) // 2)
    m = times.astype(np.float64)
    mean = np.repeat(m.reshape(-1, 2).mean(axis=1), 2)
    X = np.abs(X[np.arange(24) // 2]) if kind == "targets" else X  # copies
    one, other = (relevance(MemoryTable(X).weighted_by(w), known) for w in (m, mean))
    assert not (m == mean).all()
    assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("kind", ["labels", "targets", "probabilities"])
@pytest.mark.parametrize("most", [1024, 8])
def test_the_light_samples_of_a_group_count_for_little(kind, most, monkeypatch):
    monkeypatch.setattr(prediction, "_most_labeled", lambda _: most)
    X, y, target, _ = problem(5, 48)
    heavy = np.arange(48) % 2 == 0
    y = y[np.arange(48) // 2 * 2]
    known = {
        "labels": Supervision.from_labels(y),
        "targets": Supervision.from_targets(target),
        "probabilities": Supervision.from_probabilities(0.6 * np.eye(2)[y] + 0.2),
    }[kind]
    whole = known | Supervision.from_groups(np.arange(48) // 2)
    table = MemoryTable(X).weighted_by(np.where(heavy, 1.0, 1e-10))
    found, alone = predicted(table, whole), predicted(MemoryTable(X[heavy]), known[heavy])
    assert found.skill == pytest.approx(alone.skill, abs=1e-6)
    unit = np.abs(found.values[heavy]).max() / np.abs(alone.values).max()
    assert_allclose(found.values[heavy], unit * alone.values, atol=1e-6)


@pytest.mark.parametrize("n_neighbors", [None, 4])
@given(seed=st.integers(0, 99))
def test_labels_are_propagated_over_the_weighted_graph(n_neighbors, seed):
    X, y, _, times = problem(seed, 16)
    X = X[:, :3]
    known = np.where(np.arange(16) < 6, y, -1)
    known[:2] = [0, 1]
    m = times.astype(np.float64)
    table = MemoryTable(X).weighted_by(m)
    options = {"n_neighbors": n_neighbors, "bandwidth": 4.0}
    found = quietly(propagate, table, Supervision.from_labels(known), **options)
    if not found.unreached.any():
        expected = oracle.harmonic_labels(X, known, masses=m, **options)
        assert_allclose(found.probabilities, expected, atol=1e-8)


@given(seed=st.integers(0, 99))
def test_the_floating_criterion_is_a_weighted_ridge_regression(seed):
    X, _, target, times = problem(seed, 16)
    m = times * (16 / times.sum())
    criterion = make_criterion(
        MemoryTable(X).weighted_by(times.astype(np.float64)), Supervision.from_targets(target)
    )
    found = criterion.with_each([0], np.array([1, 2]))
    Z = (X - m @ X / 16) / np.sqrt(m @ (X - m @ X / 16) ** 2 / 16)
    baseline = (target - m @ target / 16) / (1 - m / 16)
    for place, features in enumerate([[0, 1], [0, 2]]):
        # The closed form keeps the centres and deviations of all samples, so the penalised fit is
        # compared with the hat matrix.
        A = np.sqrt(m)[:, None] * Z[:, features]
        hat = A @ np.linalg.solve(A.T @ A + np.eye(2), A.T)
        residual = np.sqrt(m) * (target - m @ target / 16)
        errors = (residual - hat @ residual) / (1 - m / 16 - np.diag(hat))
        expected = 1 - errors @ errors / float(m @ baseline**2)
        assert found[place] == pytest.approx(expected, abs=1e-9)


# ---- The estimators


@given(seed=st.integers(0, 99))
def test_the_default_without_labels_equals_repetition(seed):
    X, _, _, times = problem(seed)
    weighted = GraphSieve(n_features_to_select=4, scale="standard").fit(X, sample_weight=times)
    rows = np.repeat(np.arange(len(X)), times)
    repeated = quietly(GraphSieve(n_features_to_select=4, scale="standard").fit, X[rows])
    assert_array_equal(weighted.ranking_, repeated.ranking_)
    assert_allclose(weighted.gain_, repeated.gain_, atol=1e-9)
    assert_allclose(weighted.redundancy_, repeated.redundancy_, atol=1e-9)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_weight_of_zero_removes_a_sample(name):
    X, y, _, times = problem(5)
    weights = np.where(np.arange(len(X)) % 5 == 0, 0, times)
    kept = weights > 0
    sieve = ESTIMATORS[name]
    one = quietly(sklearn.clone(sieve).fit, X, y, sample_weight=weights)
    other = quietly(sklearn.clone(sieve).fit, X[kept], y[kept], sample_weight=weights[kept])
    assert_array_equal(one.ranking_, other.ranking_)
    assert one.n_samples_ == kept.sum()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_weights_make_a_difference_and_ones_make_none(name):
    X, y, _, _ = problem(6)
    half = np.where(np.arange(len(X)) % 2, 1.0, 1e-6)  # nearly the odd samples alone
    sieve = ESTIMATORS[name]
    fits = {
        key: quietly(sklearn.clone(sieve).fit, X, y, sample_weight=weights)
        for key, weights in (("none", None), ("ones", np.ones(len(X))), ("half", half))
    }
    assert_array_equal(fits["none"].ranking_, fits["ones"].ranking_)
    values = "criteria_" if name == "floating" else "scores_"
    none, half_of = (getattr(fits[key], values) for key in ("none", "half"))
    if name == "floating":
        none, half_of = list(none.values()), list(half_of.values())
    assert not np.allclose(none, half_of, equal_nan=True)


@pytest.mark.parametrize("name", ["default", "laplacian"])
def test_sparse_and_grouped_tables_have_weights(name):
    X, y, _, times = problem(7)
    X = np.where(np.abs(X) > 0.6, X, 0.0)
    for options in ({}, {"feature_groups": {"pair": [2, 3]}}):
        sieve = sklearn.clone(ESTIMATORS[name]).set_params(**options)
        dense = quietly(sieve.fit, X, y, sample_weight=times).scores_
        for kind in (sp.csr_array, sp.csc_array):
            found = quietly(sklearn.clone(sieve).fit, kind(X), y, sample_weight=times).scores_
            assert_allclose(found, dense, rtol=1e-9, atol=1e-12)


def test_the_default_with_weights_is_the_same_in_pieces(tmp_path):
    X, y, _, times = problem(8, 300)
    np.save(tmp_path / "X.npy", X)
    held = np.load(tmp_path / "X.npy", mmap_mode="r")
    one = quietly(GraphSieve(n_features_to_select=4).fit, X, y, sample_weight=times)
    other = quietly(
        GraphSieve(n_features_to_select=4).fit, stored(held, memory=40_000), y, sample_weight=times
    )
    assert_array_equal(one.ranking_, other.ranking_)
    assert_allclose(one.scores_, other.scores_, rtol=1e-9)


def test_weights_are_routed_through_a_pipeline():
    X, y, _, times = problem(9, 60)
    few = np.where(np.arange(60) % 3, y, -1)
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_pipeline(
            GraphSieve(n_features_to_select=3).set_fit_request(sample_weight=True),
            LabeledOnly(
                LogisticRegression()
                .set_fit_request(sample_weight=True)
                .set_score_request(sample_weight=True)
            ),
        )
        search = GridSearchCV(model, {"graphsieve__n_features_to_select": [2, 3]}, cv=3)
        search.fit(X, few, sample_weight=times)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        model.fit(X, few, sample_weight=times)
    alone = GraphSieve(n_features_to_select=3).fit(X, few, sample_weight=times)
    assert_array_equal(model[0].ranking_, alone.ranking_)
    known = few >= 0
    expected = LogisticRegression().fit(alone.transform(X)[known], y[known], times[known])
    assert_allclose(model[1].estimator_.coef_, expected.coef_)


def test_an_estimator_of_the_floating_search_gets_the_weights():
    X, _, target, times = problem(10)
    model = FloatingSieve(Ridge(), n_features_to_select=2, cv=KFold(3))
    one = model.fit(X, target, sample_weight=times)
    scores = [
        np.mean(
            [
                Ridge()
                .fit(X[train][:, [j]], target[train], times[train])
                .score(X[test][:, [j]], target[test], times[test])
                for train, test in KFold(3).split(X)
            ]
        )
        for j in range(X.shape[1])
    ]
    assert one.criteria_[1] == pytest.approx(max(scores))
    with pytest.raises(InputError, match="KNeighborsClassifier cannot be fitted with weights"):
        FloatingSieve(KNeighborsClassifier(), n_features_to_select=2).fit(
            X, (target > 0) * 1, sample_weight=times
        )


def test_the_command_reads_weights_from_a_column(run, folder):
    X, y, _, times = problem(12)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(8)]).assign(y=y, w=times)
    frame.to_csv("t.csv", index=False)
    answer = run("rank", "t.csv", "--target", "y", "--weight-column", "w", "--top", "3", "--json")
    assert answer.code == 0, answer.err
    features = frame.drop(columns=["y", "w"])
    expected = quietly(rank, features, y, sample_weight=times, n_features_to_select=3)
    assert [one["feature"] for one in answer.document["features"]] == expected.best(8)

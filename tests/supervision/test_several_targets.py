"""Several targets: dense versions of the formulas, laws, and every part that uses targets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import f as f_distribution
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import oracle
from graphsieve import (
    GraphSieve,
    LabeledOnly,
    Supervision,
    compare,
    evaluate,
    feature_p_values,
    labeled_scorer,
    rank,
    scores,
    stability,
)
from graphsieve.assess.evaluation.hiding import hide_labels
from graphsieve.search.prediction import predicted
from graphsieve.search.relevance import relevance
from graphsieve.search.relevant import relevant_columns
from graphsieve.table.columns import MemoryTable

TIE = 1e-9  # Distances of standardised targets that are equal on paper differ by rounding.


def problem(n=60, seed=0, n_targets=3):
    """Return a table whose first features follow one target each, and the targets."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 7))
    noisy = X[:, :n_targets] + 0.5 * random.normal(size=(n, n_targets))
    return X, noisy * 10.0 ** np.arange(n_targets)


def with_holes(Y, seed=1, share=0.2):
    return np.where(np.random.default_rng(seed).random(Y.shape) < share, np.nan, Y)


@st.composite
def several(draw):
    """Draw a table and targets in general position, or indicators of classes with many ties."""
    n, n_targets = draw(st.integers(8, 16)), draw(st.integers(2, 3))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X, Y = random.normal(size=(n, 3)), random.normal(size=(n, n_targets))
    if draw(st.booleans()):
        Y = (Y > 0).astype(float)
    Y[:2] = [[0.0] * n_targets, [1.0] * n_targets]
    holes = random.random(Y.shape) < draw(st.sampled_from([0.0, 0.2]))
    holes[:4] = False
    return X, np.where(holes, np.nan, Y)


def dense_points(Y):
    """Every target divided by its standard deviation, and by the root of their number."""
    return Y / np.nanstd(Y, axis=0) / np.sqrt(Y.shape[1])


def dense_supervised(X, points, k, bandwidth):
    """SLS on the graph of the k nearest neighbours among the points, with all that tie."""
    d2 = oracle.squared_distances(points)
    n = len(points)
    reach = [sorted(np.delete(d2[i], i))[min(k, n - 1) - 1] + TIE for i in range(n)]
    A = np.array(
        [[i != j and d2[i, j] <= max(reach[i], reach[j]) for j in range(n)] for i in range(n)]
    )
    W = oracle.heat(d2, A, bandwidth)
    return oracle.score_columns(X, lambda f: oracle.laplacian_ratio(W, f))


def dense_semi_supervised(X, Y, k, k_supervised):
    """SSLS, in which a sample is labelled if all of its targets are known."""
    points = dense_points(Y)
    known = ~np.isnan(points).any(axis=1)
    both = known[:, None] & known
    filled = np.where(known[:, None], points, 0.0)
    d2 = np.where(both, oracle.squared_distances(filled), oracle.squared_distances(X) / X.shape[1])
    d2 = np.round(d2, 12)  # so that ties are equal
    lists = [oracle.semi_supervised_neighbors(d2, known, i, k) for i in range(len(X))]
    W = oracle.heat(d2, oracle.union(lists), 1.0) * np.where(both, 5.0, 1.0)
    semi = oracle.score_columns(X, lambda f: oracle.laplacian_ratio(W, f))
    return semi * dense_supervised(X[known], points[known], k_supervised, 1.0)


@given(case=several(), k=st.integers(1, 4), bandwidth=st.sampled_from([0.3, 1.0]))
def test_the_supervised_score_equals_the_dense_formula(case, k, bandwidth):
    X, Y = case
    known = ~np.isnan(Y).any(axis=1)
    found = scores.supervised_laplacian_score(X, Y, n_neighbors=k, bandwidth=bandwidth)
    expected = dense_supervised(X[known], dense_points(Y)[known], k, bandwidth)
    assert_allclose(found, expected, rtol=1e-8)


@given(case=several(), k=st.integers(1, 4), k_supervised=st.integers(1, 3))
def test_the_semi_supervised_score_equals_the_dense_formula(case, k, k_supervised):
    X, Y = case
    found = scores.semi_supervised_laplacian_score(
        X, Y, n_neighbors=k, n_neighbors_supervised=k_supervised
    )
    expected = dense_semi_supervised(X, Y, k, k_supervised)
    assert_allclose(found, expected, rtol=1e-8)


@given(case=several())
def test_the_correlation_is_that_of_a_regression_on_the_targets(case):
    X, Y = case
    known = ~np.isnan(Y).any(axis=1)
    expected = [
        np.sqrt(max(LinearRegression().fit(Y[known], f).score(Y[known], f), 0.0))
        for f in X[known].T
    ]
    assert_allclose(scores.pearson_score(X, Y), expected, atol=1e-7)


def test_the_correlation_of_a_category_is_the_canonical_one():
    X, Y = problem()
    frame = pd.DataFrame({"number": X[:, 3], "level": np.where(X[:, 0] > 0.5, "a", "b")})
    frame.loc[X[:, 1] > 0.5, "level"] = "c"
    columns = np.array([[level == name for name in "abc"] for level in frame["level"]], float)
    bases = [np.linalg.qr(part - part.mean(axis=0))[0] for part in (columns[:, :2], Y)]
    expected = np.linalg.svd(bases[0].T @ bases[1], compute_uv=False)[0]
    assert scores.pearson_score(frame, Y)[1] == pytest.approx(expected, rel=1e-9)


METHODS = ("supervised_laplacian", "semi_supervised_laplacian", "pearson")
SIEVES = [
    *(pytest.param({"method": name}, id=name) for name in METHODS),
    pytest.param({}, id="default"),
    pytest.param({"n_features_to_select": "auto"}, id="counted"),
]


@pytest.mark.parametrize("settings", SIEVES)
def test_one_column_equals_one_target(settings):
    X, Y = problem()
    expected = GraphSieve(**settings).fit(X, Y[:, 0])
    with pytest.warns(DataConversionWarning):
        found = GraphSieve(**settings).fit(X, Y[:, :1])
    assert_array_equal(found.scores_, expected.scores_)
    assert_array_equal(found.ranking_, expected.ranking_)


@pytest.mark.parametrize("settings", SIEVES)
@pytest.mark.parametrize("holes", [False, True])
def test_order_and_units_of_the_targets_do_not_matter(settings, holes):
    X, Y = problem()
    Y = with_holes(Y) if holes else Y
    expected = GraphSieve(**settings).fit(X, Y)
    for other in (Y[:, [2, 0, 1]], Y * [1e3, -7.0, 1e-4] + [5.0, 0.0, -2.0]):
        found = GraphSieve(**settings).fit(X, other)
        assert_allclose(found.scores_, expected.scores_, rtol=1e-8, atol=1e-10)
        assert_array_equal(found.ranking_, expected.ranking_)


@pytest.mark.parametrize("settings", SIEVES)
def test_a_target_given_twice_equals_this_target(settings):
    X, Y = problem()
    expected, found = (GraphSieve(**settings).fit(X, y) for y in (Y[:, 0], Y[:, [0, 0]]))
    assert_allclose(found.scores_, expected.scores_, rtol=1e-8, atol=1e-10)
    assert_array_equal(found.ranking_, expected.ranking_)


def test_relevance_and_skill_are_means_over_the_targets():
    X, Y = problem()
    Y = with_holes(Y)
    table, known = MemoryTable(X), Supervision.from_targets(Y)
    single = [Supervision.from_targets(target) for target in Y.T]
    assert_allclose(
        relevance(table, known), np.mean([relevance(table, one) for one in single], axis=0)
    )
    alone = [predicted(table, one) for one in single]
    found = predicted(table, known)
    assert found.skill == pytest.approx(np.mean([one.skill for one in alone]), rel=1e-12)
    shares = (found.values**2).mean(axis=0)
    assert_allclose(shares, [one.skill for one in alone], rtol=1e-9)
    for column, one in zip(found.values.T, alone, strict=True):
        assert abs(np.corrcoef(column, one.values[:, 0])[0, 1]) == pytest.approx(1.0, abs=1e-12)


def test_pairs_beside_several_targets_determine_the_relevance():
    random = np.random.default_rng(0)
    X, targets = random.normal(size=(30, 5)), random.normal(size=(30, 2))
    pairs = Supervision.from_pairs(30, must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2), (1, 4)])
    both = Supervision.from_targets(targets) | pairs
    np.testing.assert_allclose(
        relevance(MemoryTable(X), both), relevance(MemoryTable(X), pairs), atol=1e-12
    )


def test_the_default_selects_a_feature_for_each_target():
    X, Y = problem()
    for y in (Y, with_holes(Y), pd.DataFrame(Y)):
        sieve = GraphSieve(n_features_to_select=3).fit(X, y)
        assert_array_equal(np.sort(sieve.get_support(indices=True)), [0, 1, 2])
    found = relevant_columns(MemoryTable(X), Supervision.from_targets(Y))
    assert found.mask[:3].all()
    assert "associated with the targets" in found.reason
    text = str(rank(X, with_holes(Y)))
    assert "60 samples with 3 targets" in text
    assert "sets of 3 targets are known" in text
    assert "the first target" in rank(X, Y).to_html()


def test_counting_finds_curved_associations_with_each_target():
    X, Y = problem(n=200)
    Y[:, 0], Y[:, 1] = X[:, 0] ** 2, X[:, 1] ** 2
    found = relevant_columns(MemoryTable(X), Supervision.from_targets(Y[:, :2]))
    assert found.mask[:2].all()
    assert found.mask.sum() <= 3


def test_targets_that_do_not_vary_are_no_supervision():
    X, Y = problem()
    with pytest.warns(UserWarning, match="known values of each target are all equal"):
        GraphSieve().fit(X, np.ones_like(Y))
    half = np.c_[Y[:, 0], np.ones(len(Y))]
    assert GraphSieve(n_features_to_select=1).fit(X, half).get_support()[0]


def test_p_values_agree_with_the_f_test():
    """For normal data, the permutation test of the multiple correlation is nearly the F test."""
    X, Y = problem(n=80)
    found = feature_p_values(X, Y, method="pearson")
    n, q = Y.shape
    r2 = scores.pearson_score(X, Y) ** 2
    expected = f_distribution.sf(r2 / (1 - r2) * (n - 1 - q) / q, q, n - 1 - q)
    assert_allclose(found.p_values, expected, atol=0.03)
    assert (feature_p_values(X, Y).p_values[:3] < 0.01).all()


@pytest.mark.parametrize("learner", ["linear", "svm", "5nn"])
def test_the_error_is_the_root_of_the_mean_square_over_the_targets(learner):
    X, Y = problem()
    settings = {"sizes": [2], "learners": learner, "random_state": 3, "baselines": ()}
    found = evaluate("variance", X, Y, **settings).values("variance")
    single = [evaluate("variance", X, y / y.std(), **settings).values("variance") for y in Y.T]
    # The optimization of the support vector machine stops at a tolerance.
    assert_allclose(found, np.sqrt(np.mean(np.square(single), axis=0)), rtol=1e-3)


def test_samples_with_some_targets_are_used_to_select_but_not_to_test():
    X, Y = problem()
    Y = with_holes(Y)
    found = evaluate("auto", X, Y, sizes=[3], learners="linear", random_state=0)
    n_complete = int((~np.isnan(Y)).all(axis=1).sum())
    assert found.test_ratio == pytest.approx(1 / 4, abs=0.02)
    few = evaluate("auto", X, Y, sizes=[3], learners="linear", random_state=0, known=10)
    assert few.knowledge == "10 targets"
    hidden = hide_labels(Y, 10, random_state=0)
    assert int((~np.isnan(hidden)).all(axis=1).sum()) == 10 < n_complete
    assert np.isnan(hidden[np.isnan(Y).any(axis=1)]).all()


def test_stability_and_comparison():
    X, Y = problem()
    Y = with_holes(Y)
    steady = stability("auto", X, Y, n_features_to_select=3, n_resamples=6, random_state=0)
    assert steady.frequency[:3].min() > 0.8
    assert stability("auto", X, Y, n_features_to_select=3, n_resamples=4, hide=0.3).hide == 0.3
    found = compare(X, Y, methods=["auto", "pearson"], sizes=[3], learners="linear")
    assert found.methods == ("auto", "pearson")


def test_the_usual_comparison_leaves_out_what_needs_one_target():
    X, Y = problem(n=40)
    assert compare(X, Y, sizes=[2], learners="linear").methods == (
        "auto",
        "supervised_laplacian",
        "pearson",
    )


def test_pipelines():
    X, Y = problem(n=150)
    model = make_pipeline(GraphSieve(n_features_to_select=3), LabeledOnly(Ridge()))
    found = cross_val_score(model, X, with_holes(Y), scoring=labeled_scorer("r2"))
    assert np.mean(found) > 0.5


def test_groups_have_the_mean_of_each_target():
    Y = np.array([[1.0, np.nan], [3.0, 5.0], [7.0, np.nan], [9.0, np.nan]])
    known = Supervision.from_targets(Y) | Supervision.from_groups(["a", "a", "b", "b"])
    assert_array_equal(known.of_units(known.units()).targets, [[2.0, 5.0], [8.0, np.nan]])
    assert_array_equal(known.labeled, [False, True, False, False])
    assert repr(known) == "Supervision(4 samples: 5 values of 2 targets, 2 groups)"
    assert_array_equal(known[[2, 1]].targets, Y[[2, 1]])


def test_indicators_of_classes():
    X, Y = problem()
    labels = (Y > 0).astype(int)
    expected = GraphSieve(n_features_to_select=3).fit(X, labels.astype(float))
    assert_array_equal(np.sort(expected.get_support(indices=True)), [0, 1, 2])
    for y in (
        labels,
        labels.astype(bool),
        sp.csr_array(labels),
        pd.DataFrame(labels),
        labels.tolist(),
    ):
        for kind in ("auto", "classes"):
            found = GraphSieve(n_features_to_select=3, target_type=kind).fit(X, y)
            assert_array_equal(found.scores_, expected.scores_)
    labels[4, 1] = -1
    assert np.isnan(Supervision.from_y(labels).targets[4, 1])
    assert Supervision.from_y(labels, target_type="continuous").targets[4, 1] == -1
    assert Supervision.from_y(labels - 3).targets[0, 0] in {-3.0, -2.0}

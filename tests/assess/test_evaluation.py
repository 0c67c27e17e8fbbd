"""Tests of the evaluation: no leaks, and results equal to those of a plain scikit-learn script."""

from __future__ import annotations

import itertools
import math
import pickle
import sys
import warnings
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_rel
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_iris,
    load_wine,
    make_regression,
)
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, f_classif, f_regression
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeCV
from sklearn.metrics import accuracy_score, normalized_mutual_info_score
from sklearn.model_selection import (
    GroupKFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    StratifiedKFold,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

import lookalikes
from graphsieve import (
    GraphSieve,
    GraphSieveWarning,
    InputError,
    IterativeSieve,
    Supervision,
    assess,
)
from graphsieve._base.errors import warn
from graphsieve.assess.evaluation import learners
from graphsieve.assess.evaluation.clustering import clustered, clustering_accuracy
from graphsieve.assess.evaluation.evaluating import evaluate
from graphsieve.assess.evaluation.evaluating_clusters import evaluate_clustering
from graphsieve.assess.evaluation.hiding import hide_labels, proportional
from graphsieve.assess.evaluation.learners import LEARNERS
from graphsieve.assess.evaluation.prefixes import score_prefixes
from graphsieve.assess.evaluation.results import (
    Evaluation,
    Measurement,
    Records,
    Selection,
    standard_error,
)

# ---- hiding labels


def shown(y):
    return np.flatnonzero(~np.isnan(y) if y.dtype.kind == "f" else y != -1)


class_sizes = st.lists(st.integers(1, 30), min_size=1, max_size=6)


@given(class_sizes, st.data())
def test_shown_labels_are_proportional_to_class_sizes(sizes, data):
    y = np.repeat(np.arange(len(sizes)), sizes)
    known = data.draw(st.integers(0, len(y)))
    seed = data.draw(st.integers(0, 2**31))
    few = hide_labels(y, known, random_state=seed)
    rows = shown(few)
    assert len(rows) == known
    np.testing.assert_array_equal(few[rows], y[rows])  # shown labels are correct
    counts = np.bincount(few[rows], minlength=len(sizes))
    exact = np.array(sizes) * known / len(y)
    if known >= len(sizes):
        assert counts.min() >= 1
    else:
        assert np.abs(counts - exact).max() < 1
    assert (counts <= np.maximum(1, np.ceil(exact - 1e-9))).all()
    np.testing.assert_array_equal(few, hide_labels(y, known, random_state=seed))
    # The original y is unchanged.
    np.testing.assert_array_equal(y, np.repeat(np.arange(len(sizes)), sizes))


@given(class_sizes, st.data())
def test_a_count_per_class(sizes, data):
    y = np.repeat(np.arange(len(sizes)), sizes)
    known = data.draw(st.integers(0, min(sizes)))
    few = hide_labels(y, known, per_class=True, random_state=data.draw(st.integers(0, 1000)))
    assert (np.bincount(few[few >= 0], minlength=len(sizes)) == known).all()


@given(st.integers(1, 60), st.integers(0, 60), st.integers(0, 2**31))
def test_hidden_targets(n, known, seed):
    y = np.linspace(0.25, 9.75, n)
    if known > n:
        with pytest.raises(InputError, match=r"only .* are known; choose at most"):
            hide_labels(y, known, target_type="continuous", random_state=seed)
        return
    few = hide_labels(y, known, target_type="continuous", random_state=seed)
    assert len(shown(few)) == known
    np.testing.assert_array_equal(few[shown(few)], y[shown(few)])


def test_shares_by_hand():
    chance = np.random.default_rng(0)
    for sizes, wanted, shares in [
        ((50, 30, 20), 10, (5, 3, 2)),
        ((97, 2, 1), 3, (1, 1, 1)),  # 2.91, 0.06, 0.03 → 3, 0, 0, and two are handed down
        # 4.2, 1.75, 1.05 → 4, 1, 1, and the one left to the largest remainder
        ((60, 25, 15), 7, (4, 2, 1)),
        # 6, 3.9, 0.1 → 6, 4, 0; the second is furthest above its share
        ((60, 39, 1), 10, (6, 3, 1)),
        ((90, 9, 1), 2, (2, 0, 0)),  # fewer than classes
        ((5, 5), 0, (0, 0)),
    ]:
        assert tuple(proportional(np.array(sizes), wanted, chance)) == shares


def test_ties_between_remainders_are_broken_at_random():
    y = np.repeat(np.arange(10), 4)
    drawn = {tuple(sorted(set(hide_labels(y, 3, random_state=seed)) - {-1})) for seed in range(30)}
    assert len(drawn) > 20


@pytest.mark.parametrize(
    ("fraction", "known"), [(0.05, 5), (0.001, 1), (0.125, 13), (1.0, 100), (0.5, 50)]
)
def test_fractions_are_rounded_to_the_nearest_count(fraction, known):
    # 12.5 → 13
    assert len(shown(hide_labels(np.repeat([0, 1], 50), fraction, random_state=0))) == known


def test_unlabelled_samples_stay_unlabelled():
    y = np.array([0, 0, 0, 0, -1, -1, -1, -1, 1, 1, 1, 1])
    for seed in range(20):
        few = hide_labels(y, 0.5, random_state=seed)
        assert (few[4:8] == -1).all()
        assert len(shown(few)) == 4
    target = np.array([0.5, np.nan, 2.5, np.nan, 4.5])
    np.testing.assert_array_equal(hide_labels(target, 3), target)
    np.testing.assert_array_equal(hide_labels(target, None), target)


def test_the_type_of_the_labels_is_kept():
    assert hide_labels(np.array([0, 1], dtype=np.int8), 1).dtype == np.int8
    assert hide_labels(np.array([3, 1], dtype=np.uint8), 0).tolist() == [-1, -1]
    assert hide_labels([True, False], 0).tolist() == [-1, -1]
    assert hide_labels(["b", "a"], 2).tolist() == ["b", "a"]
    assert hide_labels(["b", "a"], 0).tolist() == [None, None]
    assert np.isnan(hide_labels([1.0, 0.0], 0)).all()
    both = hide_labels([-1, 1, 1, -1], 2, unlabeled=None, random_state=0)
    assert np.isnan(both).sum() == 2
    assert set(both[~np.isnan(both)]) == {-1.0, 1.0}
    assert hide_labels([2, 3], 0, unlabeled=-9).tolist() == [-9, -9]
    # More than eight bits hold
    assert hide_labels(np.array([2, 3], dtype=np.int8), 0, unlabeled=-999).tolist() == [-999, -999]
    assert np.isnan(hide_labels([1, 2, 3], 0, target_type="continuous")).all()


@pytest.mark.parametrize(
    "seed",
    [
        3,
        [3, 1],
        np.random.SeedSequence(3),
        np.int64(3),
        lambda: np.random.default_rng(3),
        lambda: np.random.RandomState(3),
    ],
)
def test_all_kinds_of_seeds(seed):
    y = np.arange(40) % 2
    one, two = (
        hide_labels(y, 8, random_state=seed() if callable(seed) else seed) for _ in range(2)
    )
    np.testing.assert_array_equal(one, two)
    hide_labels(y, 8)


@pytest.mark.parametrize(
    ("known", "options", "message"),
    [
        (41, {}, "known=41 labels or targets were requested, but only 40 are known"),
        (21, {"per_class": True}, "the smallest class has 20"),
        (-1, {}, "known must be a count"),
        (1.5, {}, "known must be a count"),
        (0.0, {}, "known must be a count"),
        (float("nan"), {}, "known must be a count"),
        (True, {}, "known must be a count"),
        ("ten", {}, "known must be a count"),
        (5, {"per_class": 1}, "per_class must be True or False"),
        (5, {"per_class": True, "target_type": "continuous"}, "per_class=True needs class labels"),
        (5, {"target_type": "class"}, "target_type must be one of"),
        (5, {"random_state": -3}, "random_state must be"),
        (5, {"random_state": "x"}, "random_state must be"),
        (5, {"random_state": 1.5}, "random_state must be"),
    ],
)
def test_impossible_budgets_are_refused(known, options, message):
    with pytest.raises(InputError, match=message):
        hide_labels(np.arange(40) % 2, known, **options)


# ---- learners and prefixes

PLAIN = {
    ("1nn", True): lambda: KNeighborsClassifier(n_neighbors=1),
    ("5nn", True): lambda: KNeighborsClassifier(n_neighbors=5),
    ("linear", True): lambda: LogisticRegression(C=1.0, max_iter=1000),
    ("bayes", True): GaussianNB,
    ("svm", True): lambda: SVC(C=1.0, kernel="rbf", gamma="scale"),
    ("1nn", False): lambda: KNeighborsRegressor(n_neighbors=1),
    ("5nn", False): lambda: KNeighborsRegressor(n_neighbors=5),
    ("linear", False): lambda: RidgeCV(alphas=np.logspace(-4, 3, 15)),
    ("svm", False): lambda: SVR(C=1.0, kernel="rbf", gamma="scale"),
}


def plain_score(learner, train, test, y_train, y_test, classes):  # noqa: PLR0917
    """Plain version: standardize by the training rows, fit, predict, compare."""
    center, spread = train.mean(axis=0), train.std(axis=0)
    spread[spread == 0] = 1
    model = PLAIN[learner, classes]()
    if learner == "svm" and not classes:  # its C and its tube are meant for a target of deviation 1
        low, high = y_train.mean(), y_train.std()
        predicted = low + high * model.fit(
            (train - center) / spread, (y_train - low) / high
        ).predict((test - center) / spread)
    else:
        predicted = model.fit((train - center) / spread, y_train).predict((test - center) / spread)
    return (
        accuracy_score(y_test, predicted)
        if classes
        else math.sqrt(np.mean((predicted - y_test) ** 2))
    )


def data_of(classes):
    X, y = (load_breast_cancer if classes else load_diabetes)(return_X_y=True)
    return X, y if classes else y + 0.25  # plainly a quantity


def test_every_learner_is_compared():
    assert {name for name, _ in PLAIN} == set(LEARNERS)
    for name, learner in LEARNERS.items():
        assert learner.name == name
        assert learner.summary
        assert (learner.regressor is not None) == ((name, False) in PLAIN)


@pytest.mark.parametrize(("learner", "classes"), PLAIN)
def test_prefixes_agree_with_plain_scikit_learn(learner, classes):
    X, y = data_of(classes)
    order, sizes = np.random.default_rng(1).permutation(X.shape[1]), [1, 3, 7, 10]
    train, test = np.arange(len(y)) % 3 > 0, np.arange(len(y)) % 3 == 0
    found = score_prefixes(
        order, X[train], y[train], X[test], y[test], sizes=sizes, learner=learner
    )
    plain = [
        plain_score(
            learner, X[train][:, order[:s]], X[test][:, order[:s]], y[train], y[test], classes
        )
        for s in sizes
    ]
    np.testing.assert_allclose(
        found, plain, rtol=1e-6, atol=2.1 / test.sum() if (learner, classes) == ("svm", True) else 0
    )


@pytest.mark.parametrize(("learner", "classes"), PLAIN)
def test_sparse_tables_get_the_same_scores(learner, classes):
    X, y = data_of(classes)
    X = np.where(np.random.default_rng(2).random(X.shape) < 0.4, 0.0, X)
    halves = slice(None, None, 2), slice(1, None, 2)
    options = {"sizes": [2, 8], "learner": learner}
    dense = score_prefixes(
        np.arange(10), X[halves[0]], y[halves[0]], X[halves[1]], y[halves[1]], **options
    )
    for kind in (sp.csr_array, sp.coo_matrix):
        parts = [kind(X[half]) for half in halves]
        sparse = score_prefixes(
            np.arange(10), parts[0], y[halves[0]], parts[1], y[halves[1]], **options
        )
        np.testing.assert_array_equal(sparse, dense)


@pytest.mark.parametrize(("learner", "classes"), PLAIN)
def test_large_sparse_tables_stay_sparse_and_get_nearly_the_same_scores(
    learner, classes, monkeypatch
):
    """Large sparse tables are not centred, and their distances are computed differently.

    Rows at equal distance may therefore be in another order.
    """
    monkeypatch.setattr(learners, "DENSE_ELEMENTS", 0)
    X, y = data_of(classes)
    halves = slice(None, None, 2), slice(1, None, 2)
    options = {"sizes": [10], "learner": learner}
    dense = score_prefixes(
        np.arange(10), X[halves[0]], y[halves[0]], X[halves[1]], y[halves[1]], **options
    )
    parts = [sp.csr_array(X[half]) for half in halves]
    sparse = score_prefixes(
        np.arange(10), parts[0], y[halves[0]], parts[1], y[halves[1]], **options
    )
    np.testing.assert_allclose(sparse, dense, rtol=1e-3, atol=2.1 / len(y) if classes else 0)


def test_rows_of_unknown_label_are_left_out():
    X, y = load_iris(return_X_y=True)
    few = hide_labels(y, 30, random_state=0)
    rows = few >= 0
    options = {"sizes": [2, 4], "learner": "1nn"}
    found = score_prefixes([2, 3, 0, 1], X, few, X, y, **options)
    np.testing.assert_array_equal(
        found, score_prefixes([2, 3, 0, 1], X[rows], few[rows], X, y, **options)
    )
    some = np.where(np.arange(150) % 2, y, -1)
    every = score_prefixes([2, 3, 0, 1], X[rows], few[rows], X[1::2], y[1::2], **options)
    np.testing.assert_array_equal(score_prefixes([2, 3, 0, 1], X, few, X, some, **options), every)


def test_labels_of_any_form():
    pd = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True)
    text = np.array(["setosa", "versicolor", "virginica"])[y]
    options = {"sizes": [1, 2], "learner": "5nn"}
    plain = score_prefixes([0, 1], X[::2], y[::2], X[1::2], y[1::2], **options)
    for labels in (text, text.astype(object), pd.Series(text), pd.Categorical(text)):
        frame = pd.DataFrame(X, columns=list("abcd"))
        found = score_prefixes(
            [0, 1], frame[::2], labels[::2], frame[1::2], labels[1::2], **options
        )
        np.testing.assert_array_equal(found, plain)
    one = score_prefixes([0, 1], X[::2], y[::2], X[1:2], y[1:2], **options)
    assert set(one) <= {0.0, 1.0}
    assert score_prefixes(
        [0], X[::2], y[::2], X[1:2].tolist(), [y[1]], **(options | {"sizes": [1]})
    ).shape == (1,)


def test_few_training_rows_are_enough():
    X, y = load_iris(return_X_y=True)
    three = [0, 60, 120]
    for learner in LEARNERS:
        assert np.isfinite(
            score_prefixes([2], X[three], y[three], X, y, sizes=[1], learner=learner)
        ).all()
    # With one class only, every learner predicts it.
    assert score_prefixes([2], X[:3], y[:3], X, y, sizes=[1], learner="linear") == pytest.approx(
        50 / 150
    )
    for learner in ("1nn", "5nn", "linear"):
        found = score_prefixes(
            [2], X[:2], [0.5, 1.5], X[3:5], [0.5, 2.5], sizes=[1], learner=learner
        )
        assert np.isfinite(found).all()


def test_any_estimator_is_a_learner_without_scaling():
    X, y = data_of(classes=False)
    found = score_prefixes(
        [0, 5, 3], X[::2], y[::2], X[1::2], y[1::2], sizes=[2], learner=LinearRegression()
    )
    predicted = LinearRegression().fit(X[::2][:, [0, 5]], y[::2]).predict(X[1::2][:, [0, 5]])
    assert found[0] == pytest.approx(np.sqrt(np.mean((predicted - y[1::2]) ** 2)), rel=1e-12)


@pytest.mark.parametrize("form", [np.asarray, np.ndarray.tolist, sp.csr_array])
def test_several_targets_are_scored_together(form):
    """The score is the root mean square over the targets, in units of their deviations."""
    X, y = data_of(classes=False)
    both = np.column_stack([y, X @ np.arange(X.shape[1]) * 1000])
    both[4, 0] = both[9, 1] = np.nan  # a training row and a test row
    train, test = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    known = [rows[~np.isnan(both[rows]).any(axis=1)] for rows in (train, test)]
    expected = []
    for size in (1, 3):
        errors = []
        for target in both.T:
            model = LinearRegression().fit(X[known[0]][:, :size], target[known[0]])
            left = model.predict(X[known[1]][:, :size]) - target[known[1]]
            used = target[np.concatenate([train, test])]
            errors.append(left / np.nanstd(used))
        expected.append(np.sqrt(np.mean(np.square(errors))))
    parts = (X[train], form(both[train]), X[test], form(both[test]))
    found = score_prefixes(np.arange(3), *parts, sizes=[1, 3], learner=LinearRegression())
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_several_targets_are_scored_as_in_evaluate():
    X, y = data_of(classes=False)
    both = np.column_stack([y, X[:, 2] * 30])
    folds = [(np.arange(40, len(y)), np.arange(40))]
    found = evaluate(lambda X, y: np.arange(3), X, both, sizes=[2], learners="5nn", folds=folds)
    parts = (X[40:], both[40:], X[:40], both[:40])
    one = score_prefixes([0, 1], *parts, sizes=[2], learner="5nn")
    np.testing.assert_allclose(one, found.values("<lambda>", metric="rmse")[0])


X_SMALL, Y_SMALL = np.random.default_rng(5).normal(size=(12, 3)), np.arange(12) % 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"order": [0, 0, 1]}, "contains column 0 more than once"),
        ({"order": [0, 3]}, "columns are numbered 0 to 2"),
        ({"order": [0, -1]}, "contains column -1"),
        ({"order": [0]}, "contains 1 features, but sizes requires 2"),
        ({"order": [0.0, 1.0]}, "1-D array of column numbers"),
        ({"order": [[0, 1]]}, "1-D array of column numbers"),
        ({"order": [[0], [1, 2]]}, "could not be read"),
        ({"sizes": [4]}, "choose 1 to 3"),
        ({"sizes": [0]}, "choose 1 to 3"),
        ({"sizes": []}, "sizes is empty"),
        ({"sizes": "12"}, "sizes must be a list"),
        ({"sizes": [1.5]}, "choose 1 to 3"),
        ({"sizes": [True]}, "choose 1 to 3"),
        ({"learner": "3nn"}, "learner must be one of .*did you mean"),
        ({"learner": KNeighborsClassifier}, "learner must be one of"),
        ({"learner": 3}, "learner must be one of"),
        ({"learner": LinearRegression()}, "LinearRegression is a regressor"),
        ({"learner": GaussianNB(), "target_type": "continuous"}, "GaussianNB is a classifier"),
        (
            {"learner": "bayes", "target_type": "continuous"},
            "cannot predict a continuous target; choose from",
        ),
        ({"X_test": X_SMALL[:, :2]}, "X_test has 2 columns, but X_train has 3"),
        ({"y_test": Y_SMALL[:5]}, "X_test has 12 rows, but its y has 5"),
        ({"y_train": Y_SMALL[:5]}, "X_train has 12 rows"),
        ({"y_train": np.full(12, -1)}, "y_train contains no known label"),
        ({"y_train": X_SMALL}, "y_train has 3 columns, but y_test has 1; pass the same targets"),
        (
            {"y_train": X_SMALL, "y_test": X_SMALL[:, :2]},
            "y_train has 3 columns, but y_test has 2; pass the same targets",
        ),
        ({"y_train": X_SMALL, "y_test": X_SMALL, "learner": "bayes"}, "cannot predict a contin"),
        ({"X_train": X_SMALL * 1e200}, "column 0 of magnitude .*; change its unit"),
        ({"X_train": X_SMALL * 1e-200}, "3 such columns"),
        ({"X_train": np.where(X_SMALL > 1, np.inf, X_SMALL)}, "X has 3 inf or -inf"),
        ({"X_test": np.where(X_SMALL > 1, -np.inf, X_SMALL)}, "X has 3 inf or -inf"),
    ],
)
def test_prefixes_refuse_what_they_cannot_use(change, message):
    given = {
        "order": [0, 1],
        "X_train": X_SMALL,
        "y_train": Y_SMALL,
        "X_test": X_SMALL,
        "y_test": Y_SMALL,
    }
    given |= {"sizes": [1, 2], "learner": "1nn"} | change
    with pytest.raises(InputError, match=message):
        score_prefixes(**given)


def test_prefixes_fill_missing_values_with_the_medians_of_the_training_rows():
    random = np.random.default_rng(7)
    X, y = random.normal(size=(60, 3)) + np.outer(np.arange(60) % 2, [2, 1, 0]), np.arange(60) % 2
    X[random.random(X.shape) < 0.2] = np.nan
    train, test = X[:40], X[40:]
    medians = np.nanmedian(train, axis=0)
    complete = [np.where(np.isnan(part), medians, part) for part in (train, test)]
    options = {"sizes": [1, 2, 3], "learner": "1nn"}
    expected = score_prefixes([1, 0, 2], complete[0], y[:40], complete[1], y[40:], **options)
    objects = [np.where(np.isnan(part), None, part) for part in (train, test)]
    for one, other in ((train, test), objects, (sp.csr_array(train), sp.csr_array(test))):
        found = score_prefixes([1, 0, 2], one, y[:40], other, y[40:], **options)
        np.testing.assert_array_equal(found, expected)


# ---- clustering


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=12))
def test_clustering_accuracy_is_the_best_of_all_matchings(pairs):
    y, clusters = np.array(pairs).T
    names = range(5)
    best = max(
        np.mean(np.array(names)[list(matching)][clusters] == y)
        for matching in itertools.permutations(names)
    )
    assert clustering_accuracy(y, clusters) == pytest.approx(best)
    assert clustering_accuracy([f"class {label}" for label in y], 7 - clusters) == pytest.approx(
        best
    )


def clusters_of(X, features, codes, **options):
    usual = {"n_clusters": 3, "n_init": 10, "standardize": False, "seed": 0}
    return clustered(X, np.array(features), codes, **usual | options)


def test_clusters_are_those_of_k_means():
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(13)
    for standardize in (False, True):
        points = StandardScaler().fit_transform(X) if standardize else X
        for size in (2, 6):
            accuracy, nmi = clusters_of(
                X, order[:size], y, n_init=3, seed=4, standardize=standardize
            )
            groups = KMeans(3, n_init=3, random_state=4).fit_predict(points[:, order[:size]])
            best = max(
                np.mean(np.array(names)[groups] == y) for names in itertools.permutations(range(3))
            )
            assert accuracy == pytest.approx(best)
            assert nmi == pytest.approx(normalized_mutual_info_score(y, groups))


def test_clusters_sparse_unknown_and_few():
    X, y = load_wine(return_X_y=True)
    dense = clusters_of(X, range(5), y)
    sparse = clusters_of(sp.csc_array(X), range(5), y)
    assert sparse == pytest.approx(dense)
    half = np.where(np.arange(len(y)) % 2, y, -1)
    groups = KMeans(3, n_init=10, random_state=0).fit_predict(X[:, :5])
    assert clusters_of(X, range(5), half)[0] == pytest.approx(
        clustering_accuracy(y[1::2], groups[1::2])
    )
    # A column with two values cannot form three clusters. This must not cause a warning.
    two = np.where(y == 0, 1.0, 0.0).reshape(-1, 1)
    assert clusters_of(two, [0], y)[0] == pytest.approx(np.bincount(y)[:2].sum() / len(y))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": Y_SMALL[:5]}, "y has 5 values"),
        ({"y": np.full(12, -1)}, "at least 2 different classes, got 0"),
        ({"n_clusters": 0}, "n_clusters must be"),
        ({"n_clusters": 13}, "n_clusters must be"),
        ({"n_init": 0}, "n_init must be"),
        ({"standardize": "yes"}, "standardize must be"),
        ({"sizes": [4]}, "choose 1 to 3"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_clustering_refuses_what_it_cannot_use(change, message):
    given = {"X": X_SMALL, "y": Y_SMALL, "sizes": [1]} | change
    with pytest.raises(InputError, match=message):
        evaluate_clustering("variance", given.pop("X"), given.pop("y"), **given)


@pytest.mark.parametrize(("y", "clusters"), [([], []), ([1, 2], [1]), ([[1]], [[1]])])
def test_clustering_accuracy_refuses(y, clusters):
    with pytest.raises(InputError, match="one value per sample"):
        clustering_accuracy(y, clusters)


# ---- evaluate: against a script written without it


def best_by_f(X, y):
    return np.argsort(-f_classif(X, y)[0], kind="stable")


def best_by_correlation(X, y):
    return np.argsort([-abs(np.corrcoef(column, y)[0, 1]) for column in X.T], kind="stable")


def script(X, y, *, sizes, learners, known, repeats, seed, classes, from_known=False):
    """Plain version: in each of repeated folds, hide labels, rank features, and test learners."""
    found = {}
    splitter = (RepeatedStratifiedKFold if classes else RepeatedKFold)(
        n_splits=5, n_repeats=repeats, random_state=seed
    )
    for number, (train, test) in enumerate(splitter.split(X, y)):
        few = hide_labels(y[train], known, random_state=[seed, number // 5, number % 5])
        labelled = few >= 0 if classes else ~np.isnan(few)
        order = (best_by_f if classes else best_by_correlation)(
            X[train][labelled], y[train][labelled]
        )
        rows = train[labelled] if from_known else train
        for learner in learners:
            for size in sizes:
                value = plain_score(
                    learner,
                    X[np.ix_(rows, order[:size])],
                    X[np.ix_(test, order[:size])],
                    y[rows],
                    y[test],
                    classes,
                )
                found.setdefault((learner, size), []).append(value)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("from_known", [False, True])
def test_ten_labels_agree_with_a_plain_script(from_known):
    X, y = lookalikes.load("breast_cancer")
    setting = {"sizes": [3, 8, 20], "learners": ["1nn", "bayes"], "known": 10, "repeats": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # columns that are constant on ten rows
        plain = script(X, y, **setting, seed=3, classes=True, from_known=from_known)
        found = evaluate(
            {"F": SelectKBest(f_classif)},
            X,
            y,
            **setting,
            random_state=3,
            learn_from="known" if from_known else "all",
        )
    for (learner, size), values in plain.items():
        np.testing.assert_allclose(
            found.values("F", learner)[setting["sizes"].index(size)], values, rtol=1e-12
        )


@pytest.mark.slow
def test_spectra_with_a_twentieth_of_the_targets_agree_with_a_plain_script():
    X, y = lookalikes.load("spectra")
    setting = {"sizes": [2, 10, 30], "learners": ["5nn", "linear"], "known": 0.05, "repeats": 2}
    found = evaluate("pearson", X, y, **setting, random_state=8)
    for (learner, size), values in script(X, y, **setting, seed=8, classes=False).items():
        np.testing.assert_allclose(
            found.values("pearson", learner)[setting["sizes"].index(size)], values, rtol=1e-6
        )


@pytest.mark.slow
@pytest.mark.parametrize("classes", [True, False])
def test_bundled_data_agree_with_a_plain_script(classes):
    X, y = data_of(classes)
    setting = {"sizes": [1, 4, 9], "learners": ["1nn", "5nn", "linear"], "known": 20, "repeats": 1}
    found = evaluate({"ours": "fisher" if classes else "pearson"}, X, y, **setting, random_state=0)
    for (learner, size), values in script(X, y, **setting, seed=0, classes=classes).items():
        np.testing.assert_allclose(
            found.values("ours", learner)[setting["sizes"].index(size)], values, rtol=1e-6
        )


def test_the_baselines_are_random_columns_anew_in_every_fold_and_all_columns():
    X, y = load_wine(return_X_y=True)
    found = evaluate({}, X, y, sizes=[5, 2], learners="1nn", random_state=6)
    assert found.sizes == (2, 5)
    orders = [one.features for one in found.selections]
    assert len(set(orders)) == 5
    assert {one.selector for one in found.selections} == {"random"}
    assert all(len(set(order)) == 5 for order in orders)
    for number, (train, test) in enumerate(
        RepeatedStratifiedKFold(n_splits=5, n_repeats=1, random_state=6).split(X, y)
    ):
        everything = plain_score("1nn", X[train], X[test], y[train], y[test], True)
        chosen = list(orders[number])
        some = plain_score(
            "1nn", X[np.ix_(train, chosen)], X[np.ix_(test, chosen)], y[train], y[test], True
        )
        np.testing.assert_allclose(found.values("all")[:, number], everything)
        assert found.values("random")[1, number] == pytest.approx(some)


def test_relative_errors_are_those_of_the_mean():
    X, y = data_of(classes=False)
    found = evaluate({}, X, y, sizes=[3], learners=["5nn"], baselines=["random"], random_state=2)
    assert found.metrics == ("rmse", "relative_rmse")
    for number, (train, test) in enumerate(
        RepeatedKFold(n_splits=5, n_repeats=1, random_state=2).split(X)
    ):
        of_mean = np.sqrt(np.mean((y[test] - y[train].mean()) ** 2))
        ratio = found.values("random")[0, number] / of_mean
        assert found.values("random", metric="relative_rmse")[0, number] == pytest.approx(ratio)


# ---- evaluate: nothing leaks


class Spy:
    """A selector that records its arguments; column 0 of X contains the row numbers."""

    def __init__(self):
        self.seen = []

    def __call__(self, X, y):
        self.seen.append((X[:, 0].astype(int), np.array(y)))
        X[:] = 0  # must not affect other selectors or the learner
        y[:] = 0
        return np.arange(X.shape[1])[::-1]


class SpyLearner(ClassifierMixin, BaseEstimator):
    """A learner that records its training and test data."""

    log: list = []  # noqa: RUF012 - clones share it on purpose

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.log.append(("fit", X.copy(), y.copy()))
        return self

    def predict(self, X):
        self.log.append(("predict", X.copy(), None))
        return np.full(len(X), self.classes_[0])


def numbered(n=60, n_features=4, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, n_features))
    X[:, 0] = np.arange(n)
    return X


def test_a_selector_sees_training_rows_and_the_known_labels_only():
    X, y = numbered(), np.arange(60) % 3
    spy = Spy()
    found = evaluate(
        {"spy": spy}, X, y, sizes=[2], learners="1nn", known=9, repeats=2, random_state=11
    )
    assert len(spy.seen) == 10
    splits = list(RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=11).split(X, y))
    for (rows, known), (train, test) in zip(spy.seen, splits, strict=True):
        np.testing.assert_array_equal(rows, train)
        assert not set(rows) & set(test)
        assert (known >= 0).sum() == 9
        np.testing.assert_array_equal(known[known >= 0], y[train][known >= 0])
    # The spy cleared its copies, but the learner received the original rows.
    for number, (train, test) in enumerate(splits):
        plain = plain_score(
            "1nn", X[np.ix_(train, [3, 2])], X[np.ix_(test, [3, 2])], y[train], y[test], True
        )
        assert found.values("spy")[0, number] == pytest.approx(plain)


def test_a_learner_never_sees_a_test_row_before_prediction():
    X, y = numbered(), np.arange(60) % 3
    SpyLearner.log.clear()
    evaluate(
        {"first": lambda X, y: [0, 1]},
        X,
        y,
        sizes=[1],
        learners=SpyLearner(),
        baselines=(),
        known=6,
        learn_from="known",
    )
    for (did, rows, labels), (asked, tested, _) in zip(
        SpyLearner.log[::2], SpyLearner.log[1::2], strict=True
    ):
        assert (did, asked) == ("fit", "predict")
        assert len(rows) == 6
        np.testing.assert_array_equal(labels, y[rows[:, 0].astype(int)])
        assert not set(rows[:, 0]) & set(tested[:, 0])


def test_hidden_targets_and_test_rows_change_no_selection():
    X, y = data_of(classes=False)
    train, test = np.arange(0, 300), np.arange(300, 442)
    known = train[~np.isnan(hide_labels(y[train], 30, random_state=[5, 0, 0]))]
    setting = {
        "sizes": [3],
        "learners": "5nn",
        "known": 30,
        "folds": [(train, test)],
        "random_state": 5,
    }
    selectors = {
        "pearson": "pearson",
        "ssls": "semi_supervised_laplacian",
        "auto": "auto",
        "F": SelectKBest(f_regression),
    }
    before = evaluate(selectors, X, y, **setting)
    chance = np.random.default_rng(0)
    other_y, other_X = y.copy(), X.copy()
    hidden = np.setdiff1d(np.arange(len(y)), known)
    other_y[hidden] = chance.permutation(other_y[hidden]) + 1000
    other_X[test] = chance.normal(size=(len(test), X.shape[1]))
    after = evaluate(selectors, other_X, other_y, **setting)
    assert [one.features for one in before.selections] == [one.features for one in after.selections]
    assert before.values("pearson")[0, 0] != after.values("pearson")[0, 0]
    # The known labels do matter.
    other_y[known] = chance.permutation(other_y[known])
    assert (
        evaluate(selectors, other_X, other_y, **setting).selections[0].features
        != before.selections[0].features
    )


def test_labels_change_no_selection_where_a_supervision_is_given():
    X, y = load_wine(return_X_y=True)
    known = Supervision.from_labels(hide_labels(y, 15, random_state=1))
    setting = {"sizes": [3], "learners": "1nn", "supervision": known}
    splits = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y))
    before = evaluate(["auto", "fisher"], X, y, folds=splits, **setting)
    other = np.random.default_rng(0).permutation(y)
    after = evaluate(["auto", "fisher"], X, other, folds=splits, **setting)
    assert [one.features for one in before.selections] == [one.features for one in after.selections]
    assert (before.values("fisher") != after.values("fisher")).any()


def test_a_supervision_is_sliced_by_the_training_rows():
    X, y = numbered(), np.arange(60) % 3
    pairs = Supervision.from_pairs(
        60, must_link=[(0, 3), (1, 4), (10, 13)], cannot_link=[(0, 1), (20, 21)]
    )
    seen = []

    def spy(rows, known):
        seen.append((rows[:, 0].astype(int), known))
        return [1, 2, 3]

    selectors = {"spy": spy, "cls": "constrained_laplacian", "laplacian": "laplacian"}
    found = evaluate(selectors, X, y, sizes=[2], learners="1nn", supervision=pairs)
    plain = evaluate("laplacian", X, y, sizes=[2], learners="1nn", known=0)
    np.testing.assert_array_equal(found.values("laplacian"), plain.values("laplacian"))
    for rows, known in seen:
        assert len(known) == len(rows)
        ends = {tuple(rows[list(pair)]) for pair in known.must_link}
        assert ends == {pair for pair in [(0, 3), (1, 4), (10, 13)] if set(pair) <= set(rows)}
    with pytest.raises(InputError, match="SelectKBest cannot read a Supervision"):
        evaluate(SelectKBest(f_classif), X, y, sizes=[2], supervision=pairs)


def test_rows_of_unknown_y_are_trained_on_and_never_tested():
    X, y = numbered(), np.arange(60) % 3
    y[[4, 17, 33]] = -1
    spy, tested = Spy(), []
    SpyLearner.log.clear()
    evaluate({"spy": spy}, X, y, sizes=[4], learners=SpyLearner(), baselines=())
    for rows, known in spy.seen:
        assert {4, 17, 33} <= set(rows)
        assert (known[np.isin(rows, [4, 17, 33])] == -1).all()
        assert (known >= 0).sum() == len(rows) - 3
    for did, rows, _ in SpyLearner.log:
        assert not {4, 17, 33} & set(rows[:, -1].astype(int)), did
        tested += list(rows[:, -1].astype(int)) if did == "predict" else []
    assert sorted(tested) == sorted(set(range(60)) - {4, 17, 33})


def test_unlabelled_rows_do_not_reduce_standard_errors():
    """Learners do not use unlabelled rows, so the correction of standard errors ignores them."""
    X, y = load_wine(return_X_y=True)
    found = evaluate(
        {}, X, np.where(np.arange(len(y)) % 3, -1, y), sizes=[1], learners="1nn", folds=3
    )
    assert found.test_ratio == pytest.approx(1 / 2, rel=0.01)


def test_all_selectors_use_the_same_folds_and_labels():
    X, y = numbered(), np.arange(60) % 2
    one, two = Spy(), Spy()
    evaluate({"one": one, "two": two}, X, y, sizes=[1], learners="1nn", known=7, repeats=2)
    for (rows, known), (other_rows, other_known) in zip(one.seen, two.seen, strict=True):
        np.testing.assert_array_equal(rows, other_rows)
        np.testing.assert_array_equal(known, other_known)
    assert len({tuple(rows) for rows, _ in one.seen}) == 10


def test_folds_may_be_given():
    X, y = numbered(), np.arange(60) % 2
    spy = Spy()
    splits = list(GroupKFold(3).split(X, y, groups=np.arange(60) // 5))
    found = evaluate({"spy": spy}, X, y, sizes=[1], learners="1nn", folds=splits)
    assert (found.folds, found.repeats) == (3, 1)
    assert found.test_ratio == pytest.approx(
        np.mean([len(test) / len(train) for train, test in splits])
    )
    for (rows, _), (train, _) in zip(spy.seen, splits, strict=True):
        np.testing.assert_array_equal(rows, train)
    assert (
        evaluate({}, X, y, sizes=[1], folds=GroupKFold(3).split(X, y, np.arange(60) // 5)).folds
        == 3
    )


# ---- evaluate: selectors of all kinds


def same(one, other):
    # Compare everything except for the run times.
    assert [m[:-1] for m in one.measurements] == [m[:-1] for m in other.measurements]
    assert [s[:-1] for s in one.selections] == [s[:-1] for s in other.selections]


@pytest.mark.slow
def test_the_result_does_not_depend_on_the_number_of_processes():
    X, y = load_wine(return_X_y=True)
    selectors = {
        "fisher": "fisher",
        "forest": SelectFromModel(RandomForestClassifier(5), max_features=3, threshold=-np.inf),
        "function": lambda X, y: np.argsort(-X.std(axis=0)),
    }
    setting = {
        "sizes": [3],
        "learners": ["1nn", RandomForestClassifier(4)],
        "known": 30,
        "folds": 3,
    }
    one = evaluate(selectors, X, y, **setting)
    same(one, evaluate(selectors, X, y, **setting, n_jobs=2))
    same(one, evaluate(selectors, X, y, **setting, random_state=np.int64(0), n_jobs=np.int64(1)))
    assert one.learners == ("1nn", "RandomForestClassifier")
    other = evaluate(selectors, X, y, **setting, random_state=1)
    assert [s[:-1] for s in other.selections] != [s[:-1] for s in one.selections]


def test_the_result_does_not_depend_on_the_number_of_threads():
    """Sums over two threads differ in their last bits from sums over one, and worker processes
    have fewer threads.
    """
    X, y = make_regression(600, 150, noise=5.0, random_state=0)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(evaluate("pearson", X, y, sizes=[100], learners="linear", folds=2))
    same(*found)


def test_an_iterable_estimator_is_a_single_selector():
    X, y = load_wine(return_X_y=True)
    forest = RandomForestClassifier(3)
    found = evaluate(["fisher"], X, y, sizes=[2], learners=forest, folds=2)
    same(found, evaluate("fisher", X, y, sizes=[2], learners=[forest], folds=2))
    with pytest.raises(InputError, match="has neither ranking_ nor scores_"):
        evaluate(forest, X, y, sizes=[2], folds=2)


def test_names_estimators_and_functions_are_equivalent():
    X, y = load_wine(return_X_y=True)
    selectors = {
        "name": "fisher",
        "sieve": GraphSieve("fisher"),
        # Which are not those that it gets here
        "sieve for other labels": GraphSieve("fisher", unlabeled=0),
        "of another library": SelectKBest(f_classif),
        "function": lambda X, y: best_by_f(X[y >= 0], y[y >= 0]),
    }
    found = evaluate(selectors, X, y, sizes=[1, 3], learners="1nn", known=30, baselines=())
    for fold in range(5):
        assert (
            len({selection.features for selection in found.selections if selection.fold == fold})
            == 1
        )
    assert all(selection.seconds > 0 for selection in found.selections)


def test_searches_by_name_and_by_estimator():
    X, y = load_wine(return_X_y=True)
    selectors = {
        "iterative": "iterative",
        "own": IterativeSieve(n_features_to_select=4),
        "floating": "floating",
        "hybrid": "hybrid",
        "diverse": "diverse",
        "default": GraphSieve(n_features_to_select=4),
    }
    found = evaluate(selectors, X, y, sizes=[2, 4], learners="1nn", known=20, folds=2, baselines=())
    for names in (("iterative", "own"), ("diverse", "default")):
        first, second = (one for one in found.selections if one.fold == 0 and one.selector in names)
        assert first.features == second.features


def test_unsupervised_evaluation_hides_everything():
    X, y = load_wine(return_X_y=True)
    spy = Spy()
    selectors = {
        "auto": "auto",
        "search": "diverse",
        "published": GraphSieve(redundancy=None),
        "laplacian": "laplacian",
    }
    found = evaluate({**selectors, "spy": spy}, X, y, sizes=[2], learners="1nn", known=0)
    assert all((known == -1).all() for _, known in spy.seen)
    chosen = {
        name: [one.features for one in found.selections if one.selector == name]
        for name in selectors
    }
    assert chosen["auto"] == chosen["search"]
    assert chosen["published"] == chosen["laplacian"]
    splits = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y))
    two = [
        evaluate("auto", X, labels, folds=splits, sizes=[2], learners="1nn", known=0)
        for labels in (y, y[::-1])
    ]
    assert [one.features for one in two[0].selections] == [
        one.features for one in two[1].selections
    ]
    with pytest.raises(InputError, match="needs labels, but no supervision is available") as caught:
        evaluate("fisher", X, y, sizes=[2], known=0)
    assert "selector 'fisher', repeat 0, fold 0" in caught.value.__notes__[0]


def test_a_single_known_class_of_any_number():
    """Class codes 1 and −1 alone could be mistaken for two labels, plus and minus one."""
    X, y = load_wine(return_X_y=True)
    y = (y == 0).astype(int)
    with pytest.warns(
        GraphSieveWarning, match="selector 'auto': all known labels are of one class"
    ):
        evaluate("auto", X, y, sizes=[2], learners="1nn", known=1)


def test_few_integer_targets_are_still_targets():
    """Three known targets such as 12, 40 and 41 alone could be mistaken for classes."""
    X, y = numbered(n_features=6), np.arange(60.0)
    published = GraphSieve(redundancy=None)
    found = evaluate(
        {"published": published, "auto": "auto"},
        X,
        y,
        sizes=[3],
        learners="1nn",
        known=3,
        folds=2,
        baselines=(),
    )
    assert found.task == "regression"
    for number, (train, _) in enumerate(
        RepeatedKFold(n_splits=2, n_repeats=1, random_state=0).split(X)
    ):
        few = hide_labels(y[train], 3, target_type="continuous", random_state=[0, 0, number])
        for name, method in (("published", "semi_supervised_laplacian"), ("auto", "diverse")):
            sieve = GraphSieve(method, target_type="continuous", n_features_to_select=3).fit(
                X[train], few
            )
            selection = next(
                one for one in found.selections if (one.selector, one.fold) == (name, number)
            )
            assert selection.features == tuple(np.argsort(sieve.ranking_)[:3])


def test_a_ranking_with_ties_is_valid_for_unambiguous_sizes():
    X, y = load_wine(return_X_y=True)
    four = RFE(LogisticRegression(max_iter=5000), n_features_to_select=4, step=5)
    setting = {"learners": "1nn", "folds": 2, "baselines": ()}
    X = StandardScaler().fit_transform(X)
    assert len(evaluate(four, X, y, sizes=[4, 8, 13], **setting).selections[0].features) == 13
    with pytest.raises(
        InputError,
        match="selector 'RFE' gives 4 features the same rank, so its best 3 are ambiguous",
    ):
        evaluate(four, X, y, sizes=[3], **setting)
    with pytest.raises(InputError, match="ambiguous"):
        evaluate(
            SelectFromModel(RandomForestClassifier(3), max_features=2, threshold=-np.inf),
            X,
            y,
            sizes=[1],
            **setting,
        )


class Odd(BaseEstimator):
    def __init__(self, attribute="scores_", value=None):
        self.attribute = attribute
        self.value = value

    def fit(self, X, y=None):
        setattr(self, self.attribute, self.value)
        return self


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("fischer", "not a registered method; .*did you mean 'fisher'"),
        (GraphSieve, "must be the name of a method, an estimator with fit, or a function"),
        (3, "must be the name of a method"),
        (lambda X, y: [0], "contains 1 features, but sizes requires 2"),
        (lambda X, y: [0, 0], "the order of selector 'it' contains column 0 more than once"),
        (lambda X, y: [0, 99], "columns are numbered 0 to 12"),
        (lambda X, y: None, "1-D array of column numbers"),
        (lambda X, y: np.ones(13), "1-D array of column numbers"),
        (Odd("nothing_", 1), "neither ranking_ nor scores_ nor get_support"),
        (
            Odd("scores_", np.ones(4)),
            "scores_ of selector 'it' must be one number for each of the 13 features",
        ),
        (
            Odd("scores_", {"a": 1.0}),
            "scores_ of selector 'it' must be one number .*, got {'a': 1.0}",
        ),
        (Odd("ranking_", np.ones(4)), "ranking_ of selector 'it' must be one number"),
        (
            Odd("get_support", lambda: [True]),
            r"get_support\(\) of selector 'it' must be one number",
        ),
        (Odd("ranking_", np.ones(13)), "gives 13 features the same rank"),
    ],
)
def test_invalid_selectors(selector, message):
    X, y = load_wine(return_X_y=True)
    with pytest.raises(InputError, match=message):
        evaluate({"it": selector}, X, y, sizes=[2], learners="1nn")


def test_errors_of_a_selector_are_not_changed():
    X, y = load_wine(return_X_y=True)
    with pytest.raises(ZeroDivisionError) as caught:
        evaluate({"it": lambda X, y: 1 // 0}, X, y, sizes=[2], n_jobs=1)
    assert caught.value.__notes__ == ["(selector 'it', repeat 0, fold 0)"]
    with pytest.raises(TypeError, match="dense data is required") as caught:
        evaluate("fisher", sp.csr_array(X), y, sizes=[2], learners=GaussianNB())
    assert caught.value.__notes__ == ["(learner 'GaussianNB', selector 'fisher', repeat 0, fold 0)"]


def test_scores_without_a_value_come_last_and_small_may_be_good():
    X, y = load_wine(return_X_y=True)
    scores = np.arange(13.0)
    scores[12] = np.nan
    setting = {"sizes": [2], "learners": "1nn", "baselines": ()}
    assert evaluate(Odd(value=scores), X, y, **setting).selections[0].features == (11, 10)
    small = Odd(value=scores)
    small.__class__ = type("Small", (Odd,), {"large_is_good_": False})
    assert evaluate(small, X, y, **setting).selections[0].features == (0, 1)


def test_single_precision_causes_no_warning():
    X, y = load_wine(return_X_y=True)
    assert (
        evaluate("fisher", X.astype(np.float32), y, sizes=[2], learners="1nn", folds=2).n_features
        == 13
    )


def test_sparse_tables_and_frames_give_the_same_selections():
    pd = pytest.importorskip("pandas")
    X, y = load_wine(return_X_y=True)
    X = np.round(np.where(np.median(X, axis=0) > X, 0, X), 2)
    setting = {"sizes": [2, 5], "learners": ["1nn", "bayes"], "known": 20, "folds": 3}
    dense = evaluate(["fisher", "laplacian"], X, y, **setting)
    kinds = []

    def spy(X, y):
        kinds.append(type(X))
        return np.arange(X.shape[1])

    sparse = evaluate(
        {"fisher": "fisher", "laplacian": "laplacian", "spy": spy}, sp.csc_matrix(X), y, **setting
    )
    assert set(kinds) == {sp.csr_array}
    assert [s.features for s in sparse.selections if s.selector != "spy"] == [
        s.features for s in dense.selections
    ]
    for learner in dense.learners:
        np.testing.assert_allclose(
            sparse.values("fisher", learner), dense.values("fisher", learner)
        )
    same(
        dense,
        evaluate(
            ["fisher", "laplacian"], pd.DataFrame(X).rename(columns=str), pd.Series(y), **setting
        ),
    )
    text = np.array(["a", "b", "c"])[y]
    same(dense, evaluate(["fisher", "laplacian"], X, text, **setting))


def test_warnings_are_issued_once_with_a_count():
    X, y = load_wine(return_X_y=True)

    def warns(X, y):
        warn(f"a look at {len(y)} rows.")
        warnings.warn("of\nanother library.", UserWarning, stacklevel=1)
        return np.arange(13)

    with pytest.warns(UserWarning, match="rounds") as caught:
        evaluate({"it": warns}, X, y, sizes=[1], learners={"hasty": LogisticRegression(max_iter=1)})
    texts = [str(one.message) for one in caught]
    assert len(texts) == 3
    assert any(
        text.startswith("selector 'it': a look at 142 rows (in 5 of 5 rounds).") for text in texts
    )
    assert "selector 'it': of another library (in 5 of 5 rounds)." in texts
    assert any(
        text.startswith("learner 'hasty': lbfgs failed") and "(in 15 of 15 rounds)." in text
        for text in texts
    )
    assert {one.category for one in caught} == {GraphSieveWarning, UserWarning, ConvergenceWarning}
    assert all(one.filename == __file__ for one in caught)


def test_small_classes_cause_a_warning():
    X, y = load_wine(return_X_y=True)
    y = np.where(np.arange(len(y)) < 3, 3, y)
    with pytest.warns(
        GraphSieveWarning,
        match="1 of 4 classes have fewer members than the 5 folds, the smallest 3",
    ):
        evaluate({}, X, y, sizes=[1], learners="1nn")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": X_SMALL[0]}, "X is 1-D"),
        ({"X": X_SMALL * 1e200}, "change its unit"),
        ({"y": Y_SMALL[:4]}, "X has 12 samples, but y has 4 values"),
        ({"y": None}, "y"),
        ({"y": np.zeros(12, dtype=int)}, "at least 2 different classes, got 1"),
        (
            {"y": [f"sample {i}" for i in range(12)]},
            "y has a different class for each of 12 samples",
        ),
        ({"y": np.full(12, 0.5)}, "at least 2 different target values"),
        ({"y": np.full(12, -1)}, "at least 2 different"),
        ({"y": np.where(Y_SMALL, 1, -1)}, "pass unlabeled=None"),
        ({"sizes": [4]}, "choose 1 to 3"),
        ({"sizes": [1, 1]}, "contains a number of features twice"),
        ({"sizes": None}, "sizes must be a list"),
        ({"learners": ()}, "learners is empty"),
        ({"learners": "kmeans"}, "see evaluate_clustering"),
        ({"learners": {1: "1nn"}}, "learners must be named by text"),
        ({"learners": ["1nn", "1nn"]}, "two of the learners have the name '1nn'"),
        ({"learners": LinearRegression()}, "is a regressor"),
        ({"known": 99}, r"only .* are known; choose at most"),
        ({"known": -1}, "known must be a count"),
        ({"known": "all"}, "known must be a count"),
        ({"per_class": "yes"}, "per_class must be True or False"),
        ({"per_class": True, "target_type": "continuous"}, "needs class labels"),
        ({"folds": 1}, "folds must be an integer from 2 to the 6 members of the largest class"),
        ({"folds": 7}, "folds must be an integer from 2"),
        ({"folds": 13, "target_type": "continuous"}, "rows with a known target"),
        ({"folds": "five"}, "folds must be an integer, or pairs"),
        ({"folds": True}, "folds must be an integer, or pairs"),
        ({"folds": 2.5}, "folds must be an integer, or pairs"),
        ({"folds": []}, "folds is empty"),
        ({"folds": [3]}, "item 0 is not a pair"),
        ({"folds": [([0, 1, 2], [2, 3])]}, "row 2 is in the training set and in the test set"),
        ({"folds": [([0, 1, 2], [12])]}, "different numbers from 0 to 11"),
        ({"folds": [([0, 1, 1], [3])]}, "different numbers from 0 to 11"),
        ({"folds": [([0, 1, 2], [])]}, "test rows of fold 0 must be a list of row numbers"),
        ({"folds": [([0], [1])]}, "at least 2 rows"),
        ({"folds": [([0, 1], [2, 3])], "repeats": 2}, "repeats=2 needs a number of folds"),
        (
            {"folds": [([0, 1, 2], [4])], "y": np.where(np.arange(12) == 4, -1, Y_SMALL)},
            "its y is unknown",
        ),
        ({"repeats": 0}, "repeats must be"),
        ({"learn_from": "some"}, "learn_from must be one of"),
        ({"learn_from": "known", "known": 0}, "learn_from='known' needs known labels"),
        (
            {"learn_from": "known", "supervision": Supervision.nothing(12)},
            "learn_from='known' needs known labels",
        ),
        ({"baselines": ("best",)}, "baselines must be some of"),
        ({"baselines": ("all", "all")}, "each once"),
        ({"baselines": None}, "baselines must be some of"),
        ({"baselines": (), "selectors": {}}, "nothing to evaluate"),
        ({"selectors": {"all": "variance"}}, "name of a baseline"),
        ({"selectors": {"": "variance"}}, "must be named by text"),
        ({"selectors": ["variance", "variance"]}, "two of the selectors"),
        ({"supervision": Y_SMALL}, "supervision must be a graphsieve.Supervision"),
        ({"supervision": Supervision.nothing(11)}, "supervision describes 11"),
        ({"supervision": Supervision.nothing(12), "known": 3}, "known and per_class apply to y"),
        ({"target_type": "classy"}, "target_type must be one of"),
        ({"unlabeled": "?"}, "unlabeled must be"),
        ({"random_state": -1}, "random_state must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_evaluate_refuses_what_it_cannot_use(change, message):
    given = {"selectors": "variance", "X": X_SMALL, "y": Y_SMALL, "sizes": [1], "folds": 3} | change
    with pytest.raises(InputError, match=message) as caught:
        evaluate(given.pop("selectors"), given.pop("X"), given.pop("y"), **given)
    assert "\n" not in str(caught.value)


# ---- clusters of several selectors


def test_clusters_of_selectors_are_those_of_their_prefixes():
    X, y = load_wine(return_X_y=True)
    calls = []

    def variance(X, y):
        calls.append(y)
        assert (y == -1).all()
        return np.argsort(-X.std(axis=0), kind="stable")

    found = evaluate_clustering(
        {"mine": variance, "theirs": "variance"},
        X,
        y,
        sizes=[2, 6],
        repeats=3,
        standardize=True,
        n_init=2,
    )
    assert len(calls) == 1
    np.testing.assert_array_equal(found.values("mine"), found.values("theirs"))
    assert found.task == "clustering"
    assert found.learners == ("kmeans",)
    assert found.metrics == ("accuracy", "nmi")
    assert found.test_ratio == 0
    assert found.values("mine").shape == (2, 3)
    points = StandardScaler().fit_transform(X)
    order = np.argsort(-X.std(axis=0), kind="stable")
    for repeat in range(3):
        seed = int(np.random.default_rng([0, repeat, 0, 3]).integers(2**32))
        groups = KMeans(3, n_init=2, random_state=seed).fit_predict(points[:, order[:6]])
        assert found.values("mine")[1, repeat] == pytest.approx(clustering_accuracy(y, groups))
        assert found.values("mine", metric="nmi")[1, repeat] == pytest.approx(
            normalized_mutual_info_score(y, groups)
        )
    assert len({one.features for one in found.selections if one.selector == "random"}) == 3
    same(
        found,
        evaluate_clustering(
            {"mine": variance, "theirs": "variance"},
            X,
            y,
            sizes=[2, 6],
            repeats=3,
            standardize=True,
            n_init=2,
            n_jobs=2,
        ),
    )


def test_clusters_with_a_few_labels_or_pairs():
    X, y = load_wine(return_X_y=True)
    seen = []

    def spy(X, y):
        seen.append(y.copy())
        X *= 0  # must not affect other selectors or k-means
        y[:] = 0
        return np.arange(13)

    found = evaluate_clustering(
        {"spy": spy, "fisher": "fisher"},
        sp.csr_array(X),
        y,
        sizes=[2],
        known=9,
        repeats=2,
        n_init=1,
    )
    assert len(seen) == 2
    for repeat, known in enumerate(seen):
        np.testing.assert_array_equal(known, hide_labels(y, 9, random_state=[0, repeat, 0]))
    assert "supervision: 9 labels" in str(found)
    honest = evaluate_clustering(
        {"first": lambda X, y: np.arange(13)}, X, y, sizes=[2], known=9, repeats=2, n_init=1
    )
    np.testing.assert_allclose(found.values("spy"), honest.values("first"))
    pairs = Supervision.from_pairs(len(y), must_link=[(0, 1)], cannot_link=[(0, 100)])
    assert evaluate_clustering(
        "auto", X, y, sizes=[2], supervision=pairs, repeats=1, n_init=1
    ).values("auto").shape == (1, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"repeats": 0}, "repeats must be"),
        ({"n_clusters": 13}, "n_clusters must be"),
        ({"known": 99}, r"only .* are known; choose at most"),
        ({"n_init": 0}, "n_init must be"),
        ({"standardize": 1}, "standardize must be"),
        ({"supervision": Supervision.nothing(12), "known": 3}, "known and per_class"),
        ({"y": X_SMALL[:, 0]}, "a different class for each"),
    ],
)
def test_clusters_of_selectors_refuse(change, message):
    given = {"y": Y_SMALL, "sizes": [1]} | change
    with pytest.raises(InputError, match=message):
        evaluate_clustering("variance", X_SMALL, given.pop("y"), **given)


# ---- results


def made(values, *, sizes=(2,), test_ratio=0.25, metric="accuracy", n_features=9):
    """Return an evaluation with given values: {selector: one row of values per size}."""
    measurements = [
        Measurement(name, "1nn", metric, n_features if name == "all" else size, 0, fold, value, 0.5)
        for name, rows in values.items()
        for size, row in zip(sizes, rows, strict=False)
        for fold, value in enumerate(row)
    ]
    folds = len(next(iter(values.values()))[0])
    selections = [
        Selection(name, 0, fold, (1, 0), 0.5 + fold)
        for name in values
        if name != "all"
        for fold in range(folds)
    ]
    return Evaluation(
        task="classification",
        selectors=tuple(values),
        learners=("1nn",),
        metrics=(metric,),
        sizes=tuple(sizes),
        n_samples=20,
        n_features=n_features,
        folds=folds,
        repeats=1,
        test_ratio=test_ratio,
        knowledge="all labels",
        measurements=tuple(measurements),
        selections=tuple(selections),
    )


def test_differences_by_hand():
    found = made({"ours": [[0.9, 0.8, 0.7, 1.0]], "random": [[0.8, 0.8, 0.6, 0.7]]})
    (row,) = found.differences()
    # 0.1, 0, 0.1, 0.3: mean 0.125, variance (0.025² + 0.125² + 0.025² + 0.175²) / 3 = 0.0475 / 3;
    # times 1/4 + 1/4
    assert row["mean"] == pytest.approx(0.125)
    assert row["standard_error"] == pytest.approx(math.sqrt(0.0475 / 3 * 0.5))
    assert (row["better"], row["worse"]) == (0.75, 0.0)
    assert (row["selector"], row["to"], row["learner"], row["metric"], row["n_features"]) == (
        "ours",
        "random",
        "1nn",
        "accuracy",
        2,
    )
    (back,) = found.differences(to="ours")
    assert back["mean"] == pytest.approx(-0.125)
    assert (back["better"], back["worse"]) == (0.0, 0.75)


def test_differences_without_correction_are_a_paired_t_test():
    chance = np.random.default_rng(0)
    ours, theirs = chance.random(8), chance.random(8)
    (row,) = made({"ours": [ours], "random": [theirs]}, test_ratio=0.0).differences()
    expected = ttest_rel(ours, theirs)
    assert row["p"] == pytest.approx(expected.pvalue)
    assert row["mean"] / row["standard_error"] == pytest.approx(expected.statistic)


def test_small_errors_are_better():
    (row,) = made(
        {"ours": [[1.0, 1.5, 2.0, 3.0]], "random": [[2.0, 2.0, 2.0, 2.5]]}, metric="rmse"
    ).differences()
    assert (row["better"], row["worse"]) == (0.5, 0.25)


def test_differences_of_nothing_and_of_one():
    (row,) = made({"ours": [[0.5, 0.5]], "random": [[0.5, 0.5]]}).differences()
    assert (row["mean"], row["standard_error"], row["p"]) == (0, 0, 1)
    (row,) = made({"ours": [[0.75, 0.75]], "random": [[0.5, 0.5]]}).differences()
    assert row["p"] == 0
    (row,) = made({"ours": [[0.75]], "random": [[0.5]]}).differences()
    assert math.isnan(row["standard_error"])
    assert math.isnan(row["p"])


def test_all_columns_are_compared_at_every_size():
    found = made(
        {"ours": [[0.5, 0.6], [0.7, 0.8]], "random": [[0.4, 0.4], [0.5, 0.5]], "all": [[0.9, 1.0]]},
        sizes=(2, 4),
    )
    np.testing.assert_array_equal(found.values("all"), [[0.9, 1.0], [0.9, 1.0]])
    to_all = found.differences(to="all")
    assert [(row["selector"], row["n_features"]) for row in to_all] == [
        ("ours", 2),
        ("ours", 4),
        ("random", 2),
        ("random", 4),
    ]
    assert [row["mean"] for row in to_all] == pytest.approx([-0.4, -0.2, -0.55, -0.45])
    over = {row["selector"]: row for row in found.summary(over_sizes=True)}
    assert over["ours"]["mean"] == pytest.approx(0.65)
    assert over["ours"]["n_features"] is None
    # Means over the sizes are 0.6 and 0.7 in the two folds: deviation 0.1/√2, times √(1/2 + 1/4)
    assert over["ours"]["standard_error"] == pytest.approx(0.1 / math.sqrt(2) * math.sqrt(0.75))
    assert over["all"]["n_features"] == 9
    assert over["ours"]["seconds"] == pytest.approx(1.0)
    assert over["ours"]["n"] == 2
    assert [row["mean"] for row in found.differences(over_sizes=True)] == pytest.approx([0.2, 0.5])
    assert [(row["selector"], row["n_features"]) for row in found.summary()] == [
        ("ours", 2), ("ours", 4), ("random", 2), ("random", 4), ("all", 9)
    ]  # fmt: skip


def test_standard_errors():
    assert standard_error([2.0, 4.0]) == pytest.approx(1.0)
    assert standard_error([2.0, 4.0], test_ratio=0.5) == pytest.approx(math.sqrt(2))
    assert math.isnan(standard_error([2.0]))
    for values, options in [
        ([[1.0]], {}),
        ([1.0, 2.0], {"test_ratio": -1}),
        ([1.0, 2.0], {"test_ratio": None}),
    ]:
        with pytest.raises(InputError):
            standard_error(values, **options)


def test_a_tidy_frame():
    pd = pytest.importorskip("pandas")
    X, y = load_wine(return_X_y=True)
    found = evaluate("fisher", X, y, sizes=[2, 3], repeats=2, folds=3)
    frame = found.to_frame()
    assert list(frame) == [
        "selector",
        "learner",
        "metric",
        "n_features",
        "repeat",
        "fold",
        "value",
        "seconds",
    ]
    assert len(frame) == 6 * 2 * (2 + 2 + 1)
    assert not frame.duplicated(
        ["selector", "learner", "metric", "n_features", "repeat", "fold"]
    ).any()
    means = frame.groupby(["selector", "learner", "n_features"])["value"].mean()
    for row in found.summary():
        assert means[row["selector"], row["learner"], row["n_features"]] == pytest.approx(
            row["mean"]
        )
    assert isinstance(found.summary().to_frame(), pd.DataFrame)
    assert found.records()[0]["selector"] == "fisher"
    assert isinstance(found.records()[:2], Records)
    assert "… 8 more" in repr(found.records()[:48])
    assert repr(Records([])) == "(no rows)"


def test_pandas_and_matplotlib_are_optional(monkeypatch):
    found = made({"ours": [[0.5, 0.6]]})
    for module in ("pandas", "matplotlib", "matplotlib.pyplot", "matplotlib.ticker"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"graphsieve\[pandas\]"):
        found.to_frame()
    with pytest.raises(ImportError, match=r"graphsieve\[plot\]"):
        found.plot()


def test_results_are_immutable_and_can_be_pickled():
    found = made({"ours": [[0.5, 0.6]]})
    with pytest.raises(FrozenInstanceError):
        found.sizes = (3,)
    found.records()[0]["value"] = 7
    assert found.records()[0]["value"] == 0.5
    assert pickle.loads(pickle.dumps(found)).measurements == found.measurements


def test_the_table():
    found = made(
        {"ours": [[0.5, 0.6], [0.7, 0.8]], "random": [[0.4, 0.4], [0.5, 0.5]], "all": [[0.9, 1.0]]},
        sizes=(2, 4),
    )
    # √(1/2 + 1/4) × 100 × 0.1/√2 = 6.1
    assert str(found) == (
        "Task: classification of 20 samples with 9 features; supervision: all labels\n"
        "Metric: accuracy in % by number of features, mean ± standard error over 2 folds\n"
        "\n"
        "1nn              2           4        mean         all\n"
        "ours    55.0 ± 6.1  75.0 ± 6.1  65.0 ± 6.1\n"
        "random  40.0 ± 0.0  50.0 ± 0.0  45.0 ± 0.0\n"
        "all                                         95.0 ± 6.1"
    )
    assert repr(found) == str(found)
    many = made(
        {"ours": np.full((30, 1), 12.34567)}, sizes=range(1, 31), metric="rmse", n_features=40
    )
    last = str(many).splitlines()[-1]
    assert last.split() == ["ours", *["12.35"] * 7]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda found: found.values("us"), "selector must be one of"),
        (lambda found: found.values("ours", "2nn"), "learner must be one of"),
        (lambda found: found.summary(metric="nmi"), "metric must be one of"),
        (lambda found: found.differences(to="randon"), "to must be one of .*did you mean 'random'"),
        (lambda found: found.summary(over_sizes="yes"), "over_sizes must be"),
        (
            lambda found: found.plot(axes=[]),
            r"axes must contain one axes object per learner \(1\), got 0",
        ),
    ],
)
def test_results_refuse(call, message):
    with pytest.raises(InputError, match=message):
        call(made({"ours": [[0.5]], "random": [[0.5]]}))


def test_the_learner_is_optional_only_if_there_is_one():
    X, y = load_wine(return_X_y=True)
    with pytest.raises(InputError, match="pass one of '1nn', 'linear' as learner"):
        evaluate({}, X, y, sizes=[1], folds=2).values("random")


# ---- plots


def test_a_panel_per_learner_and_a_line_per_selector():
    plt = pytest.importorskip("matplotlib.pyplot")
    X, y = load_wine(return_X_y=True)
    found = evaluate(["fisher", "laplacian"], X, y, sizes=[1, 2, 4, 10], folds=3)
    axes = found.plot()
    assert [ax.get_title(loc="left") for ax in axes] == ["1nn", "linear"]
    for ax, learner in zip(axes, found.learners, strict=True):
        assert [line.get_label() for line in ax.lines] == ["fisher", "laplacian", "random", "all"]
        assert len(ax.collections) == 3  # bands, none for the level of all columns
        np.testing.assert_allclose(
            ax.lines[0].get_ydata(), 100 * found.values("fisher", learner).mean(axis=1)
        )
        np.testing.assert_allclose(ax.lines[0].get_xdata(), [1, 2, 4, 10])
    assert axes[0].get_ylabel() == "accuracy (%)"
    assert len(axes[0].figure.legends) == 1
    _, own = plt.subplots(1, 2)
    assert found.plot(axes=own)[1] is own[1]
    plt.close("all")


def test_plots_of_one_size_one_fold_and_odd_names():
    plt = pytest.importorskip("matplotlib.pyplot")
    for found in (
        made({"costs $5$": [[0.5, 0.6]], "random": [[0.4, 0.5]]}),
        made({"x" * 80: [[0.5]], "all": [[0.4]]}),
        made({f"number {i}": [[0.1 * i, 0.2]] for i in range(10)}),
    ):
        axes = found.plot()
        assert len(axes[0].lines) >= len(found.selectors)
        axes[0].figure.canvas.draw()
    plt.close("all")


def test_the_package_says_what_is_public():
    for name in assess.__all__:
        assert getattr(assess, name).__doc__

"""Floating selection: the criterion against explicit leave-one-out fits, and the search against
plain loops.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.linear_model import Ridge
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

import oracle
from graphsieve import FloatingSieve, GraphSieveWarning, Supervision
from graphsieve.search import floating_selection
from graphsieve.search.criteria import LinearCriterion, _stratified, make_criterion
from graphsieve.search.floating import float_forward
from graphsieve.table.columns import MemoryTable
from impatient import Impatient


def indicators(y):
    return (np.asarray(y)[:, None] == np.unique(y)).astype(float)


@pytest.mark.parametrize("classes", [True, False])
@given(seed=st.integers(0, 10**6), ridge=st.sampled_from([0.01, 1.0, 30.0]))
def test_the_criterion_leaves_every_sample_out(classes, seed, ridge):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(6, 15)), int(rng.integers(3, 7))
    X = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-8, 8, p) + 1e3
    y = np.arange(n) % 3 if classes else rng.normal(size=n)
    Y = indicators(y) if classes else y
    criterion = LinearCriterion(MemoryTable(X), y, classes=classes, ridge=ridge)
    some = [int(f) for f in rng.choice(p, 2, replace=False)]
    others = np.setdiff1d(np.arange(p), some)
    expected = [oracle.leave_one_out_r2(X, Y, [*some, f], ridge) for f in others]
    assert_allclose(criterion.with_each(some, others), expected, rtol=1e-6, atol=1e-8)
    expected = [oracle.leave_one_out_r2(X, Y, [f for f in some if f != g], ridge) for g in some]
    assert_allclose(criterion.without_each(some), expected, rtol=1e-6, atol=1e-8)


@given(seed=st.integers(0, 10**6))
def test_the_search_equals_plain_loops_over_sets(seed):
    """On random tables of set values, where several removals in a row are common."""
    rng = np.random.default_rng(seed)
    p = 7
    values = {}

    def value(features):
        return values.setdefault(frozenset(features), float(rng.integers(0, 50)) + len(features))

    class Fixed:
        usable, tell = np.ones(p, dtype=bool), staticmethod(print)

        def with_each(self, features, candidates):
            return np.array([value((*features, int(c))) for c in candidates])

        def without_each(self, features):
            return np.array([value([f for f in features if f != g]) for g in features])

    wanted = int(rng.integers(1, p + 1))
    expected, best = oracle.floating_forward(value, p, wanted)
    found = float_forward(Fixed(), wanted)
    assert_array_equal(found.order, expected)
    assert found.values == {size: v for size, (_, v) in best.items()}


def test_several_features_are_removed_in_one_step():
    """The best three features alone are 0, 1 and 2. After 3 is added, the pair (2, 3) is better
    than all other pairs, so both others are removed in one step.
    """
    good = {
        frozenset({0}): 5.0,
        frozenset({0, 1}): 6.0,
        frozenset({0, 1, 2}): 7.0,
        frozenset({0, 1, 2, 3}): 9.0,
    }
    good |= {
        frozenset({1, 2, 3}): 8.5,
        frozenset({2, 3}): 8.0,
        frozenset({2, 3, 4}): 10.0,
        frozenset({2, 3, 4, 5}): 11.0,
    }

    class Fixed:
        usable, tell = np.ones(6, dtype=bool), staticmethod(print)

        def with_each(self, features, candidates):
            return np.array([good.get(frozenset({*features, int(c)}), -1.0) for c in candidates])

        def without_each(self, features):
            return np.array([good.get(frozenset(features) - {g}, -1.0) for g in features])

    found = float_forward(Fixed(), 4)
    assert found.sets[2] == (2, 3)
    assert set(found.order) == {2, 3, 4, 5}


def test_it_beats_or_equals_plain_forward_selection():
    X, y = load_wine(return_X_y=True)
    criterion = make_criterion(MemoryTable(X), Supervision.from_labels(y))
    floating = float_forward(criterion, 8)
    forward = []
    for _ in range(8):
        rest = np.array([f for f in range(13) if f not in forward])
        values = criterion.with_each(forward, rest)
        forward.append(int(rest[values.argmax()]))
    assert floating.values[8] >= values.max() - 1e-10


def test_an_estimator_is_the_criterion():
    X, y = load_wine(return_X_y=True)
    model = KNeighborsClassifier(1)
    found = floating_selection(X, y, n_features_to_select=2, estimator=model, cv=3)
    best = max(cross_val_score(model, X[:, [f]], y, cv=3).mean() for f in range(13))
    sieve = FloatingSieve(model, n_features_to_select=2, cv=3).fit(X, y)
    assert sieve.criteria_[1] == best
    assert sieve.criteria_[2] == cross_val_score(model, X[:, np.sort(found)], y, cv=3).mean()
    assert_array_equal(np.flatnonzero(sieve.get_support()), np.sort(found))


def test_a_scorer_can_be_chosen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    y = X[:, 2] + 0.1 * rng.normal(size=40)
    found = floating_selection(
        X, y, n_features_to_select=1, estimator=Ridge(), scoring="neg_mean_absolute_error"
    )
    assert_array_equal(found, [2])


def test_unknown_labels_and_targets_are_left_out():
    X, y = load_wine(return_X_y=True)
    some = np.where(np.arange(len(y)) % 2 == 0, y, -1)
    assert_array_equal(
        floating_selection(X, some, n_features_to_select=4),
        floating_selection(X[::2], y[::2], n_features_to_select=4),
    )
    target = X[:, 0] + X[:, 3]
    partly = np.where(np.arange(len(y)) % 3 == 0, target, np.nan)
    assert set(floating_selection(X, partly, n_features_to_select=2)) == {0, 3}


def test_copies_are_never_both_chosen_while_others_help():
    """A ranking cannot do this: the second copy of the best column adds nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6))
    y = 3 * X[:, 1] + X[:, 4]
    found = floating_selection(np.column_stack([X, X[:, 1]]), y, n_features_to_select=2)
    assert_array_equal(found, [1, 4])


def test_sparse_equals_dense():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(30, 8)), 1) * (rng.random((30, 8)) < 0.5)
    y = np.arange(30) % 2
    dense = floating_selection(X, y, n_features_to_select=5)
    assert_array_equal(floating_selection(sp.csr_array(X), y, n_features_to_select=5), dense)


def test_constant_columns_come_last_and_only_if_requested():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4))
    X[:, 1] = 3.3
    y = np.arange(20) % 2
    assert 1 not in floating_selection(X, y, n_features_to_select=3)
    with pytest.warns(GraphSieveWarning, match="only 3 vary"):
        assert floating_selection(X, y, n_features_to_select=4)[-1] == 1


@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
@given(seed=st.integers(0, 10**6))
def test_folds_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    outcome = rng.choice(["a", "b", "c"], size=int(rng.integers(12, 40)), p=[0.6, 0.3, 0.1])
    n_folds = int(rng.integers(2, min(6, np.unique(outcome, return_counts=True)[1].max()) + 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        expected = [test for _, test in StratifiedKFold(n_folds).split(outcome, outcome)]
    found = _stratified(outcome, n_folds)
    for fold, rows in enumerate(expected):
        assert_array_equal(np.flatnonzero(found == fold), rows)


def test_an_interrupted_search_gives_the_best_so_far():
    X, y = load_wine(return_X_y=True)
    Impatient.fits, Impatient.patience = 0, 45
    with pytest.warns(GraphSieveWarning, match="interrupted with 1 of 5 features"):
        # 39 fits for the first feature
        found = floating_selection(X, y, n_features_to_select=5, estimator=Impatient(), cv=3)
    alone = [cross_val_score(KNeighborsClassifier(1), X[:, [f]], y, cv=3).mean() for f in range(13)]
    assert_array_equal(found, [int(np.argmax(alone))])


def test_interrupted_before_anything_was_found_is_an_interrupt():
    X, y = load_wine(return_X_y=True)
    Impatient.fits, Impatient.patience = 100, 45
    with pytest.raises(KeyboardInterrupt):
        floating_selection(X, y, n_features_to_select=5, estimator=Impatient(), cv=3)


def test_progress_is_shown_on_request(capsys, monkeypatch):
    from graphsieve._base import progress

    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    X, y = load_wine(return_X_y=True)
    floating_selection(X, y, n_features_to_select=3, progress=True)
    told = capsys.readouterr().err
    assert "2 of 3 features" in told
    assert told.endswith("\r")
    floating_selection(X, y, n_features_to_select=3)
    assert capsys.readouterr().err == ""  # The stream is not a terminal.

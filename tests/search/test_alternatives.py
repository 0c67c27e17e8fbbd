"""The choice among searches by cross-validation."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

from graphsieve import GraphSieve, GraphSieveWarning, Supervision, rank
from graphsieve.search import alternatives
from graphsieve.search.alternatives import (
    CANDIDATES,
    FEWEST_LABELED,
    FIRST_FOLDS,
    Case,
    choose,
)
from graphsieve.table.columns import MemoryTable

pytestmark = pytest.mark.usefixtures("one_thread")


def exclusive_or(seed, n=200, p=30):
    X = np.random.default_rng(seed).normal(size=(n, p))
    return X, (X[:, 0] * X[:, 1] > 0).astype(np.int64)


def chosen(X, y):
    table = MemoryTable(X)
    return choose(table, table, Supervision.from_y(y), progress=False)


def test_a_combination_is_found_by_another_search():
    X, y = exclusive_or(0)
    found = GraphSieve(n_features_to_select="auto").fit(X, y)
    assert found.candidate_ == "relieff_unlike"
    assert_array_equal(np.flatnonzero(found.get_support()), [0, 1])
    assert found.count_.rule == "predicted"
    assert set(found.candidates_) == set(CANDIDATES)
    assert found.candidates_["relieff_unlike"] <= found.candidates_["diverse"] - 0.01
    plain = GraphSieve("diverse", n_features_to_select=2).fit(X, y)
    assert plain.candidate_ == "diverse"
    assert plain.candidates_ is None
    assert not plain.get_support()[:2].all()


@pytest.mark.parametrize("gain", [0.0, 0.005, 0.02])
def test_the_default_is_kept_unless_another_search_is_better_by_a_hundredth(gain, monkeypatch):
    X, _ = exclusive_or(1)
    y = (X[:, 0] > 0).astype(np.int64)
    default = CANDIDATES["diverse"]
    monkeypatch.setattr(alternatives, "CANDIDATES", {"diverse": default, "other": default})
    plain, calls = alternatives._error, []

    def error(*arguments, **options):
        calls.append(1)
        return plain(*arguments, **options) - gain * (len(calls) % 2 == 0)

    monkeypatch.setattr(alternatives, "_error", error)
    found = chosen(X, y)
    assert found.name == ("other" if gain > 0.01 else "diverse")
    assert found.errors["other"] == pytest.approx(found.errors["diverse"] - gain)


@pytest.mark.parametrize("kind", ["classes", "target"])
def test_errors_are_those_of_scikit_learn(kind, monkeypatch):
    """Folds, selections and learners are repeated with scikit-learn."""
    X, y = exclusive_or(2, n=60, p=12)
    y = y if kind == "classes" else X[:, 0] + 0.3 * X[:, 1] ** 2
    taken = {}

    def first_columns(case, whole, n_wanted):
        fold = len(taken)
        taken[fold] = case.known
        return CANDIDATES["fisher_unlike"](case, whole, n_wanted)

    monkeypatch.setattr(alternatives, "CANDIDATES", {"diverse": first_columns})
    found = chosen(X, y)
    assert found.name == "diverse"
    assert len(taken) == FIRST_FOLDS  # There is no other candidate that could be better.
    errors = []
    rows = alternatives._rows_to_compare(MemoryTable(X), Supervision.from_y(y))
    values = X[rows]
    y_rows = y[rows] if kind == "classes" else y[rows] / y.std()
    for known in taken.values():
        train, test = np.flatnonzero(known.labeled), np.flatnonzero(~known.labeled)
        assert 12 <= len(test) <= 13
        table = MemoryTable(values)
        path = CANDIDATES["fisher_unlike"](Case.of(table, table, known), table, 10)
        for size in (2, 5, 10):
            columns = path.order[:size]
            scale = StandardScaler().fit(values[train][:, columns])
            one, other = (scale.transform(values[some][:, columns]) for some in (train, test))
            if kind == "classes":
                outputs = np.eye(2)[y_rows[train]]
                by_neighbors = KNeighborsClassifier(3).fit(one, y_rows[train]).predict(other)
                by_ridge = Ridge(alpha=1.0).fit(one, outputs).predict(other).argmax(axis=1)
                errors += [np.mean(said != y_rows[test]) for said in (by_neighbors, by_ridge)]
            else:
                level = y_rows[train].mean()
                for model in (KNeighborsRegressor(5), Ridge(alpha=1.0)):
                    said = model.fit(one, y_rows[train]).predict(other)
                    residual = np.sqrt(np.mean((said - y_rows[test]) ** 2))
                    errors.append(residual / np.sqrt(np.mean((y_rows[test] - level) ** 2)))
    assert found.errors["diverse"] == pytest.approx(np.mean(errors), rel=1e-9)


@pytest.mark.parametrize("size", [1e3, 1e9])
def test_one_extreme_target_does_not_determine_the_errors(size):
    random = np.random.default_rng(4)
    X = random.normal(size=(120, 12))
    target = X[:, 0] - X[:, 1] + 0.2 * random.normal(size=120)
    plain = chosen(X, target)
    target[17] = size
    found = chosen(X, target)
    for name, error in plain.errors.items():
        assert found.errors[name] == pytest.approx(error, abs=0.1)


@pytest.mark.parametrize("kind", ["classes", "target"])
def test_no_search_is_chosen_on_noise(kind):
    """Errors near those of the most frequent class or the mean are differences of noise."""
    others = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        X, y = random.normal(size=(60, 20)), random.normal(size=60)
        found = chosen(X, y if kind == "target" else np.argsort(np.argsort(y)) % 2)
        others += not found.is_default
    assert others <= 2


def test_too_few_labels_are_not_compared():
    X, y = exclusive_or(3)
    few = np.where(np.arange(200) < FEWEST_LABELED - 1, y, -1)
    assert GraphSieve(n_features_to_select=2).fit(X, few).candidates_ is None
    enough = np.where(np.arange(200) < FEWEST_LABELED, y, -1)
    assert GraphSieve(n_features_to_select=2).fit(X, enough).candidates_ is not None
    groups = np.arange(200) // 20  # at most twenty independent labels
    assert GraphSieve(n_features_to_select=2).fit(X, y, groups=groups).candidates_ is None


@pytest.mark.parametrize("options", [{"keep": [3]}, {"candidates": range(9)}, {"cost": {0: 2.0}}])
def test_wishes_of_the_user_are_met_by_the_default(options):
    X, y = exclusive_or(4)
    found = GraphSieve(n_features_to_select=2, **options).fit(X, y)
    assert found.candidate_ == "diverse"
    assert found.candidates_ is None


def test_a_rare_class_does_not_prevent_the_comparison():
    X, y = exclusive_or(5)
    y[:2] = 2
    assert GraphSieve(n_features_to_select=2).fit(X, y).candidate_ == "relieff_unlike"


@pytest.mark.parametrize("kind", ["classes", "target"])
@given(seed=st.integers(0, 99), discrete=st.booleans())
@settings(max_examples=12)
def test_the_order_of_rows_and_columns_and_the_storage_make_no_difference(kind, seed, discrete):
    random = np.random.default_rng(seed)
    X, y = exclusive_or(seed, n=80, p=8)
    if kind == "target":
        y = X[:, 0] * X[:, 1] + 0.1 * random.normal(size=80)
    rows, columns = random.permutation(80), random.permutation(8)
    if discrete:  # Many samples have equal sums and distances. Of equal columns, the first is used.
        columns = np.arange(8)
        X = (random.normal(size=8) < X).astype(float)
    found = chosen(X, y)
    other = chosen(X[rows][:, columns], y[rows])
    assert found.name == other.name
    assert found.errors == pytest.approx(other.errors, rel=1e-6)
    stored = chosen(sp.csr_array(X), y)
    assert found.errors == pytest.approx(stored.errors, rel=1e-6)


def test_elimination_keeps_a_feature_that_matters_only_next_to_another():
    """The target is the difference of two columns that share most of their variance."""
    random = np.random.default_rng(0)
    shared = 10 * random.normal(size=150)
    X = np.column_stack([shared, shared + random.normal(size=150), random.normal(size=(150, 6))])
    y = X[:, 0] - X[:, 1]
    table = MemoryTable(X)
    case = Case.of(table, table, Supervision.from_targets(y))
    assert set(CANDIDATES["elimination"](case, table, 8).order[:2]) == {0, 1}


def test_categories_missing_values_and_a_data_frame():
    X, y = exclusive_or(6)
    frame = pd.DataFrame(X[:, :8], columns=list("abcdefgh"))
    frame.loc[::7, "c"] = np.nan
    frame["kind"] = np.array(["x", "y", "z"])[np.arange(200) % 3]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        found = rank(frame, y, n_features_to_select=2)
    assert found.candidate == "relieff_unlike"
    assert sorted(found.best(2)) == ["a", "b"]
    assert "cross-validated errors: relieff_unlike" in str(found)
    assert "Searches compared" in found.to_html()

"""Tests of the reference methods and rivals of benchmarks/quality, against slow and obvious loops."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from math import log
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Lasso, Ridge
from sklearn.preprocessing import StandardScaler

from graphsieve import Supervision

FOLDER = Path(__file__).parents[1] / "benchmarks" / "quality"
if "quality" not in sys.modules:
    _spec = importlib.util.spec_from_file_location(
        "quality", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
    )
    assert _spec is not None
    sys.modules["quality"] = importlib.util.module_from_spec(_spec)

from quality import candidates, filters, references, rivals  # noqa: E402

NEW = {
    "jmi": {"labels", "targets"},
    "cmim": {"labels", "targets"},
    "hsic_lasso": {"labels", "targets"},
    "ridge_rfe": {"labels", "targets"},
    "forests_unlike": {"labels", "targets"},
    "propagated_unlike": {"labels"},
    "equal_weights": {"nothing"},
    "kmeans_columns": {"nothing"},
}


@pytest.fixture
def table():
    """Ninety rows of twelve columns, which share five sources with the target."""
    random = np.random.default_rng(3)
    base = random.normal(size=(90, 5))
    X = base[:, [0, 0, 0, 1, 1, 2, 3, 3, 4, 4, 4, 4]] + 0.7 * random.normal(size=(90, 12))
    return X, base[:, 0] + base[:, 1] + 0.5 * base[:, 3]


def supervision(y, kind):
    return Supervision.from_labels(y) if kind == "labels" else Supervision.from_targets(y)


def classes_of(y):
    return np.searchsorted(np.quantile(y, [0.3, 0.7]), y)


# --- mutual information ---


def entropy(*columns):
    counts = Counter(zip(*(column.tolist() for column in columns), strict=True))
    n_rows = len(columns[0])
    return -sum(count / n_rows * log(count / n_rows) for count in counts.values())


def information(first, second):
    """Mutual information of two groups of columns, by its definition with entropies."""
    return entropy(*first) + entropy(*second) - entropy(*first, *second)


def jmi_by_loops(codes, y, n):
    columns, order = list(codes.T), []
    while len(order) < n:
        gain = {}
        for j in range(len(columns)):
            if j not in order:
                gain[j] = sum(information([columns[j], columns[s]], [y]) for s in order) or (
                    information([columns[j]], [y])
                )
        order.append(max(gain, key=gain.get))
    return order


def cmim_by_loops(codes, y, n):
    columns, order = list(codes.T), []
    while len(order) < n:
        gain = {}
        for j in range(len(columns)):
            if j not in order:
                x = columns[j]
                conditional = [
                    # I(x; y | s) = H(x, s) + H(y, s) - H(s) - H(x, y, s)
                    entropy(x, columns[s])
                    + entropy(y, columns[s])
                    - entropy(columns[s])
                    - entropy(x, y, columns[s])
                    for s in order
                ]
                gain[j] = min([information([x], [y]), *conditional])
        order.append(max(gain, key=gain.get))
    return order


@pytest.mark.parametrize(
    ("fast", "slow"), [(filters.jmi, jmi_by_loops), (filters.cmim, cmim_by_loops)]
)
@pytest.mark.parametrize("kind", ["labels", "targets"])
def test_information_methods_give_the_order_of_loops(table, fast, slow, kind):
    X, y = table
    codes = filters.discretised(X)
    known = classes_of(y) if kind == "labels" else y
    seen = known if kind == "labels" else filters.discretised(y[:, None])[:, 0]
    assert fast(X, known, 8).tolist() == slow(codes, seen, 8)


def test_information_is_that_of_its_definition(table):
    X, y = table
    codes, seen = filters.discretised(X), classes_of(y)
    found = filters.Information(X, seen)
    for j in range(12):
        assert found.alone[j] == pytest.approx(information([codes[:, j]], [seen]))
        joint = information([codes[:, j], codes[:, 4]], [seen])
        assert found.jointly_with(4)[j] == pytest.approx(joint)


def test_bins_are_quantiles_and_fewer_for_few_rows():
    # The edges are 20, 40, 60 and 80. A value at an edge is in the lower bin.
    bins = filters.discretised(np.arange(101.0)[:, None])[:, 0]
    assert np.bincount(bins).tolist() == [21, 20, 20, 20, 20]
    assert filters.discretised(np.arange(9.0)[:, None]).max() == 2  # three bins
    assert filters.discretised(np.arange(3.0)[:, None]).max() == 1  # two bins
    assert filters.discretised(np.ones((30, 1))).max() == 0  # A constant column has one bin.
    zeros = np.repeat([0.0, 3.0], [80, 20])[:, None]
    assert np.unique(filters.discretised(zeros)).size == 2


# --- HSIC Lasso ---


def test_hsic_lasso_is_the_lasso_on_centred_kernels(table):
    """The columns with a weight at some penalty are the first columns of the order."""
    X, y = table
    n_rows = len(y)
    centring = np.eye(n_rows) - 1 / n_rows

    def kernel(column):
        z = (column - column.mean()) / column.std()
        K = centring @ np.exp(-((z[:, None] - z) ** 2) / 2) @ centring
        return (K / np.linalg.norm(K)).ravel()

    kernels = np.stack([kernel(column) for column in X.T], axis=1)
    order = filters.hsic_lasso(X, y, 12)
    assert sorted(order.tolist()) == list(range(12))
    target = kernel(y)
    assert order[0] == np.argmax(kernels.T @ target)
    largest = (kernels.T @ target).max() / n_rows**2
    for share in (0.9, 0.7, 0.5):
        model = Lasso(alpha=share * largest, positive=True, fit_intercept=False, tol=1e-10)
        chosen = np.flatnonzero(model.fit(kernels, target).coef_ > 1e-9)
        assert set(order[: len(chosen)].tolist()) == set(chosen.tolist())


def test_hsic_lasso_finds_a_dependence_that_is_not_linear():
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 10))
    assert filters.hsic_lasso(X, X[:, 6] ** 2, 3)[0] == 6
    inside = (np.abs(X[:, 2]) < 0.7).astype(np.int64)
    assert filters.hsic_lasso(X, inside, 3)[0] == 2


# --- elimination, forests, propagation ---


def test_ridge_elimination_removes_the_smallest_coefficients(table):
    X, y = table
    Z = StandardScaler().fit_transform(X)
    left, order = list(range(12)), []
    while len(left) > 1:
        coefficients = np.abs(Ridge().fit(Z[:, left], y).coef_)
        # Two of twelve or ten columns, then one of eight or less, and single columns after that.
        for place in sorted(np.argsort(coefficients)[: max(1, len(left) // 5)])[::-1]:
            order.append((coefficients[place], left.pop(place)))
    expected = left + [column for _, column in reversed(order)]
    found = rivals.ridge_rfe(X, y, 5).tolist()
    assert found[:5] == expected[:5]
    assert sorted(found) == list(range(12))
    by_class = rivals.ridge_rfe(X, classes_of(y), 3)
    assert sorted(by_class.tolist()) == list(range(12))


def test_forest_importance_is_multiplied_by_one_minus_the_largest_correlation(table):
    X, y = table
    labels = classes_of(y)
    labels[60:] = -1
    forest = RandomForestClassifier(references.FOREST_TREES, max_features="sqrt", random_state=0)
    importance = forest.fit(X[:60], labels[:60]).feature_importances_
    r, order = np.abs(np.corrcoef(X.T)), []
    for _ in range(6):
        gain = [
            -1 if j in order else importance[j] * (1 - max([r[j, k] for k in order], default=0))
            for j in range(12)
        ]
        order.append(int(np.argmax(gain)))
    assert references.forests_unlike(X, Supervision.from_labels(labels), 6).tolist() == order


def test_propagated_labels_of_clear_clusters_are_those_of_all_rows():
    random = np.random.default_rng(0)
    labels = np.arange(60) % 3
    X = random.normal(size=(60, 6))
    # With standardised columns, noise columns would hide the clusters if they were many.
    X[:, :5] += 30 * random.normal(size=(3, 5))[labels]
    shown = np.where(np.arange(60) < 6, labels, -1)
    found = references.propagated_unlike(X, Supervision.from_labels(shown), 4)
    full = references.score_unlike(X, Supervision.from_labels(labels), 4)
    assert found.tolist() == full.tolist()


# --- methods without supervision ---


def test_equal_weights_explain_the_most_variance_in_each_step(table):
    X = table[0] * np.linspace(1, 2, 12)
    rest, order = X - X.mean(axis=0), []
    for _ in range(6):
        explained = [
            -1 if j in order else ((rest.T @ rest[:, j]) ** 2).sum() / (rest[:, j] @ rest[:, j])
            for j in range(12)
        ]
        order.append(int(np.argmax(explained)))
        unit = rest[:, order[-1]] / np.linalg.norm(rest[:, order[-1]])
        rest = rest - np.outer(unit, unit @ rest)
    # The ranges of the columns are similar, so the default keeps their units.
    assert references.equal_weights(X, Supervision.nothing(90), 6)[:6].tolist() == order


def test_equal_weights_use_the_scale_of_the_default(table):
    X = table[0].copy()
    order = references.equal_weights(X, Supervision.nothing(90), 6)[:6]
    mixed = X * 10.0 ** (np.arange(12) % 6)
    standard = references.equal_weights(X / X.std(axis=0), Supervision.nothing(90), 6)[:6]
    found = references.equal_weights(mixed, Supervision.nothing(90), 6)[:6]
    assert found.tolist() == standard.tolist()
    assert len(set(order.tolist())) == 6


def test_kmeans_selects_one_column_of_each_cluster_and_the_largest_first():
    random = np.random.default_rng(0)
    base = random.normal(size=(80, 3))
    X = base[:, [0, 1, 1, 2, 2, 2]] + 0.05 * random.normal(size=(80, 6))
    X = np.column_stack([X, np.ones(80)])  # A constant column is in no cluster.
    found = references.kmeans_columns(X, Supervision.nothing(80), 3).tolist()
    assert len(found) == 3
    assert found[0] in (3, 4, 5)
    assert found[1] in (1, 2)
    assert found[2] == 0


# --- all of them ---


def test_the_methods_are_registered_with_the_supervision_that_they_use():
    assert {name: set(candidates.CANDIDATES[name].uses) for name in NEW} == NEW


# The benchmark ignores the warnings of methods about few labels and constant columns.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NEW)
@pytest.mark.parametrize("sparse", [False, True])
def test_orders_are_of_different_columns_even_with_three_known_rows(table, name, sparse):
    X, y = table
    X = np.where(np.abs(X) < 0.5, 0, X)
    X[:, 7] = 1  # a constant column
    given = sp.csr_array(X) if sparse else X
    candidate = candidates.CANDIDATES[name]
    labels = np.where(np.arange(90) < 3, np.arange(90) % 3, -1)
    targets = np.where(np.arange(90) < 3, y, np.nan)
    for kind, values in (("labels", labels), ("targets", targets)):
        if candidate.blind or kind in candidate.uses:
            order = np.asarray(
                candidate.order(given, candidate.usable(supervision(values, kind)), 5)
            )
            assert len(order) >= 5
            assert len(set(order.tolist())) == len(order)
            assert set(order.tolist()) <= set(range(12))


@pytest.mark.parametrize("name", ["jmi", "cmim", "hsic_lasso", "ridge_rfe"])
def test_filters_get_labelled_rows_only(table, name):
    X, y = table
    labels = np.where(np.arange(90) < 40, classes_of(y), -1)
    other = X.copy()
    other[40:] = 0
    order = candidates.CANDIDATES[name].order
    known = Supervision.from_labels(labels)
    assert order(X, known, 5).tolist() == order(other, known, 5).tolist()

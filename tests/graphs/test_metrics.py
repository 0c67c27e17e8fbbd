"""Cosine distances as a geometry of the table, and the rule of metric="auto"."""

from __future__ import annotations

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import cosine_distances

import lookalikes
from graphsieve.graphs.builders import partly_known_target_graph
from graphsieve.graphs.neighbors.exact import squared_distances
from graphsieve.graphs.neighbors.metrics import Directions, chosen_metric, measured
from graphsieve.scores import METHODS
from graphsieve.supervision.value import Supervision
from graphsieve.table.columns import MemoryTable, Table
from graphsieve.table.scaling import rescaled
from graphsieve.table.stored.stored_table import StoredTable
from pretended import Pretended

counts = st.tuples(st.integers(4, 20), st.integers(2, 6)).flatmap(
    lambda shape: hnp.arrays(np.float64, shape, elements=st.integers(-1, 4).map(float))
)


def squared(table: Table) -> np.ndarray:
    """Compute all squared distances between the rows of a table, in its own geometry."""
    rows, exponent = table.rows
    assert exponent == 0
    first, second = (places.ravel() for places in np.indices((table.n_samples, table.n_samples)))
    return squared_distances(rows, first, second).reshape(table.n_samples, -1)


def expected_squared(X: np.ndarray) -> np.ndarray:
    """Compute 2 (1 − cos) with scikit-learn.

    Rows of zeros have distance zero from each other here, but in scikit-learn they are at a right
    angle.
    """
    expected = 2 * cosine_distances(X)
    empty = ~X.any(axis=1)
    expected[np.ix_(empty, empty)] = 0.0
    return expected


@given(X=counts)
def test_distances_equal_those_of_scikit_learn(X):
    for container in (np.asarray, sp.csr_array):
        found = squared(measured(MemoryTable(container(X)), "cosine"))
        assert np.isfinite(found).all()
        assert_allclose(found, expected_squared(X), atol=1e-14)


def test_distances_by_hand():
    # Angles of 45° and 90°. Opposite rows have distance 2. The row of zeros is at a right angle to
    # all others.
    table = measured(
        MemoryTable([[1.0, 0.0], [7.0, 7.0], [0.0, 2.0], [-3.0, 0.0], [0.0, 0.0]]), "cosine"
    )
    root = np.sqrt(2)
    assert_allclose(squared(table)[0], [0, 2 - root, 2, 4, 2], atol=1e-15)
    assert_allclose(squared(table)[4], [2, 2, 2, 2, 0], atol=1e-15)


@given(X=counts, seed=st.integers(0, 99), k=st.integers(1, 3))
def test_neighbors_equal_those_of_the_double_loop(X, seed, k):
    """The rows are in general position, so that rounding breaks no ties."""
    rng = np.random.default_rng(seed)
    X = X * rng.uniform(0.5, 1.5, X.shape) + rng.normal(0, 0.01, X.shape)
    expected = expected_squared(X)
    np.fill_diagonal(expected, np.inf)
    all_rows, queries = np.arange(len(X)), rng.permutation(len(X))[:3]
    candidates = np.sort(rng.permutation(len(X))[: k + 2]) if len(X) > k + 2 else all_rows
    for container in (np.asarray, sp.csr_array):
        directions = Directions(MemoryTable(container(X)))
        indices, distances = directions.nearest(k, None, None)
        assert_array_equal(indices, np.argsort(expected, axis=1)[:, :k])
        assert_allclose(distances, np.take_along_axis(expected, indices, axis=1), atol=1e-13)
        indices, _ = directions.nearest(k, queries, candidates)
        assert_array_equal(
            indices, candidates[np.argsort(expected[np.ix_(queries, candidates)], axis=1)[:, :k]]
        )


@given(X=counts, seed=st.integers(0, 99))
def test_the_length_of_a_row_does_not_matter(X, seed):
    """Integer multiples of counts give identical rows, so multiples have distance zero and tie."""
    factors = np.random.default_rng(seed).integers(1, 10_000, len(X)).astype(np.float64)
    for container in (np.asarray, sp.csr_array):
        plain, longer = (
            Directions(MemoryTable(container(rows))).rows[0] for rows in (X, X * factors[:, None])
        )
        assert_array_equal(
            *(rows.toarray() if sp.issparse(rows) else rows for rows in (plain, longer))
        )


def test_any_positive_factor_changes_distances_by_rounding_only():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 8))
    longer = X * rng.uniform(0.001, 1000, (30, 1))
    assert_allclose(
        squared(measured(MemoryTable(longer), "cosine")),
        squared(measured(MemoryTable(X), "cosine")),
        atol=1e-14,
    )


def test_multiples_tie_and_the_lower_index_is_first():
    row, other = np.array([3.0, 1.0, 7.0, 0.0]), np.array([1.0, 1.0, 0.0, 5.0])
    X = np.array([other, 3 * row, row, 7 * row, 49 * row, 0 * row, 0 * row])
    for container in (np.asarray, sp.csr_array):
        indices, distances = Directions(MemoryTable(container(X))).nearest(4, None, None)
        assert_array_equal(indices[0], [1, 2, 3, 4])
        assert_array_equal(indices[3], [1, 2, 4, 0])
        assert_array_equal(distances[3, :3], 0.0)
        # The other row of zeros comes first. All other rows have equal distances.
        assert_array_equal(indices[5], [6, 0, 1, 2])


@given(X=counts)
def test_sparse_rows_give_the_same_bits_as_dense_rows(X):
    X = X / 3
    assert_array_equal(
        Directions(MemoryTable(sp.csr_array(X))).rows[0].toarray(),
        Directions(MemoryTable(X)).rows[0],
    )


def test_rows_of_any_size_have_a_direction():
    X = np.array([[3e300, 4e300], [3e-300, 4e-300], [5e-324, 0.0], [1e308, 1e308], [0.0, 0.0]])
    for container in (np.asarray, sp.csr_array):
        rows = Directions(MemoryTable(container(X))).rows[0]
        found = rows.toarray() if sp.issparse(rows) else rows
        assert_allclose(
            found,
            [[0.6, 0.8, 0], [0.6, 0.8, 0], [1, 0, 0], [0.5**0.5, 0.5**0.5, 0], [0, 0, 1]],
            rtol=1e-15,
        )


def test_a_table_of_zeros_is_accepted():
    assert_array_equal(squared(measured(MemoryTable(np.zeros((3, 2))), "cosine")), np.zeros((3, 3)))


def test_the_euclidean_metric_returns_the_table_itself():
    table = MemoryTable([[1.0, 2.0], [3.0, 4.0]])
    assert measured(table, "euclidean") is table


def naive_laplacian_score(X: np.ndarray, rows: np.ndarray, k: int, bandwidth: float) -> np.ndarray:
    """Compute the published formula, with the graph from `rows` and the scores of columns of X."""
    lengths = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    linked = np.zeros(lengths.shape, dtype=bool)
    for i in range(len(X)):
        linked[i, [j for j in np.argsort(lengths[i], kind="stable") if j != i][:k]] = True
    W = np.where(linked | linked.T, np.exp(-lengths / bandwidth), 0.0)
    D = W.sum(axis=1)
    centered = X - (D @ X) / D.sum()
    return np.einsum("ij,ik,jk->k", np.diag(D) - W, centered, centered) / (D @ centered**2)


def test_a_score_uses_directions_for_the_graph_and_original_features():
    X = np.random.default_rng(4).normal(size=(25, 6)) + 1
    rows = X / np.linalg.norm(X, axis=1, keepdims=True)
    for container in (np.asarray, sp.csr_array):
        table = measured(MemoryTable(container(X)), "cosine")
        found = (
            METHODS["laplacian"]
            .core(table, Supervision.nothing(25), n_neighbors=4, bandwidth=0.5)
            .values
        )
        assert_allclose(found, naive_laplacian_score(X, rows, 4, 0.5), rtol=1e-10)


# --- The rule of metric="auto"
# --------------------------------------------------------------------------------------------------


def texts(n_samples: int, n_words: int, in_each: int) -> np.ndarray:
    """Return counts with `in_each` distinct words in each row."""
    rng = np.random.default_rng(5)
    X = np.zeros((n_samples, n_words))
    for row in X:
        row[rng.choice(n_words, in_each, replace=False)] = rng.integers(1, 6, in_each)
    return X


@pytest.mark.parametrize(
    ("X", "expected", "because"),
    [
        (texts(20, 60, 6), "cosine", "90 % of all values are zero"),
        (texts(20, 59, 6), "euclidean", "89 % of all values are zero"),
        (-texts(20, 60, 6), "euclidean", "negative"),
        (texts(20, 60, 5), "cosine", "91 %"),
        (texts(20, 60, 4), "euclidean", "fewer than 5 values"),
        (np.ones((4, 3)), "euclidean", "0 %"),
        (np.zeros((4, 3)), "euclidean", "fewer than 5 values"),
    ],
)
def test_the_rule_by_hand(X, expected, because):
    for table in (
        MemoryTable(X),
        MemoryTable(sp.csr_array(X)),
        MemoryTable(X[::-1, ::-1]),
        MemoryTable(X * 1e-300),
        MemoryTable(X.astype(np.int32)),
    ):
        metric, reason = chosen_metric(table)
        assert metric == expected
        assert because in reason


def test_half_of_the_rows_must_have_a_direction():
    X = texts(21, 100, 5)
    X[:10] = 0
    assert chosen_metric(MemoryTable(X))[0] == "cosine"
    X[10] = 0
    assert chosen_metric(MemoryTable(X))[0] == "euclidean"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("texts", "cosine"),
        *((name, "euclidean") for name in ("digits", "genes", "spectra", "answers", "wine")),
    ],
)
def test_only_texts_are_compared_by_direction(name, expected):
    X, _ = lookalikes.load(name)
    assert chosen_metric(MemoryTable(X))[0] == expected


def test_a_sparse_row_whose_numbers_vanish_has_no_direction():
    """Division by standard deviations of about 1e300 makes the last row zero.

    A sparse table still stores these zeros.
    """
    X = np.array([[1e300, 2e300], [3e300, 1e300], [2e300, 5e300], [1e-300, 3e-300]])
    found = [
        measured(rescaled(MemoryTable(kind(X)), "standard"), "cosine").rows[0]
        for kind in (np.array, sp.csr_array)
    ]
    assert_array_equal(found[0][3], [0.0, 0.0, 1.0])
    assert_array_equal(found[1].toarray(), found[0])


@pytest.mark.parametrize("X", [np.eye(3), np.eye(4)[:, :3]], ids=["without zeros", "row of zeros"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "stored"])
def test_mean_differences_are_over_features(X: np.ndarray, kind: str) -> None:
    """All rows are at right angles, so d² is 2, and its mean over 3 features is 2/3.

    The column for rows of zeros is not a feature.
    """
    table = {
        "dense": MemoryTable(X),
        "sparse": MemoryTable(sp.csr_array(X)),
        "stored": StoredTable(Pretended(X, 160)),
    }[kind]
    target = np.where(np.arange(len(X)) > 0, np.nan, 1.0)
    near = partly_known_target_graph(measured(table, "cosine"), target, 2, None, 5.0)
    assert near.bandwidth == pytest.approx(2 / 3, rel=1e-12)

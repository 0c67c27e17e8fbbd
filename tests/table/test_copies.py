"""Copies of samples are found, and coincidences in coarse tables are not taken for copies."""

import h5py
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from graphsieve.table.any_table import as_table
from graphsieve.table.columns import MemoryTable
from graphsieve.table.copies import _n_near_copies, sets_of_copies


def same_partition(one, other):
    return (
        len(np.unique(np.stack([one, other]), axis=1).T)
        == len(np.unique(one))
        == len(np.unique(other))
    )


def shifted_frequencies(n_samples, n_features, seed):
    random = np.random.default_rng(seed)
    counts = random.poisson(0.4, size=(n_samples, n_features)).astype(float)
    counts[:, 0] = np.arange(n_samples)  # No two samples are identical.
    return counts


@given(
    n_samples=st.integers(8, 40),
    n_features=st.integers(4, 90),
    n_rows=st.integers(2, 120),
    seed=st.integers(0, 2**20),
)
def test_samples_of_real_numbers_are_copies_if_and_only_if_they_are_equal(
    n_samples, n_features, n_rows, seed
):
    random = np.random.default_rng(seed)
    drawn = random.integers(0, n_samples, n_rows)
    X = random.normal(size=(n_samples, n_features))[drawn]
    found = sets_of_copies(MemoryTable(X))
    if len(np.unique(drawn)) == n_rows:
        assert found is None
    elif len(np.unique(drawn)) > 4:  # With few samples, many columns have the same order.
        assert found is not None
        assert same_partition(found, drawn)


@given(seed=st.integers(0, 2**20), columns=st.integers(3, 400))
def test_the_container_and_the_order_make_no_difference(seed, columns):
    random = np.random.default_rng(seed)
    different = shifted_frequencies(30, columns, seed)
    drawn = random.integers(0, 30, 70)
    X = different[drawn]
    expected = sets_of_copies(MemoryTable(X))
    rows, order = random.permutation(70), random.permutation(columns)
    forms = [sp.csr_array(X), sp.csc_array(X), X.astype(np.float32), np.asfortranarray(X)]
    forms += [X[:, order], -X, np.hstack([X, X[:, order]])]
    for form in forms:
        found = sets_of_copies(MemoryTable(form))
        assert (found is None) == (expected is None)
        assert found is None or same_partition(found, expected)
    found = sets_of_copies(MemoryTable(X[rows]))
    assert (found is None) == (expected is None)
    assert found is None or same_partition(found, expected[rows])


def test_few_copies_are_ignored():
    X = np.random.default_rng(0).normal(size=(200, 5))
    assert sets_of_copies(MemoryTable(X[np.r_[:200, 0]])) is None
    assert sets_of_copies(MemoryTable(X[np.r_[:200, 0, 1, 2, 3, 4]])) is not None


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
@pytest.mark.parametrize("times", [2, 3])
def test_a_table_that_is_stacked_consists_of_copies(load, times):
    X = load().data
    assert sets_of_copies(MemoryTable(X)) is None
    stacked = sets_of_copies(MemoryTable(np.tile(X, (times, 1))))
    assert stacked is not None
    different = len(np.unique(X, axis=0))
    assert len(np.unique(stacked)) == different


@given(
    n_samples=st.integers(2, 300),
    levels=st.lists(st.integers(2, 4), min_size=1, max_size=3),
    seed=st.integers(0, 2**20),
)
def test_coincidences_in_coarse_tables_are_no_copies(n_samples, levels, seed):
    """Three columns of two to four values, and the same columns as indicators."""
    random = np.random.default_rng(seed)
    X = np.stack([random.integers(0, level, n_samples) for level in levels], axis=1)
    indicators = np.hstack(
        [column[:, None] == np.arange(level) for column, level in zip(X.T, levels, strict=True)]
    ).astype(float)
    if n_samples >= 40:  # In fewer samples, a row of rare values is nearly unique.
        assert sets_of_copies(MemoryTable(X.astype(float))) is None
        assert sets_of_copies(MemoryTable(indicators)) is None


def test_empty_documents_and_single_words_are_no_copies():
    random = np.random.default_rng(0)
    words = (random.random((400, 200)) < 0.02).astype(float)
    words[:80] = 0
    words[80:160] = np.eye(200)[random.integers(0, 20, 80)]
    assert sets_of_copies(MemoryTable(words)) is None
    assert sets_of_copies(MemoryTable(sp.csr_array(words))) is None


def test_a_full_factorial_design_with_repetitions_has_no_copies():
    design = np.stack(np.meshgrid(*[np.arange(2)] * 4), axis=-1).reshape(-1, 4).astype(float)
    assert sets_of_copies(MemoryTable(np.repeat(design, 5, axis=0))) is None


def test_zeros_of_both_signs_are_equal():
    X = np.random.default_rng(0).normal(size=(6, 8))
    X[:, 0] = 0.0
    doubled = np.vstack([X, X])
    doubled[6:, 0] = -0.0
    assert sets_of_copies(MemoryTable(doubled)).tolist() == [0, 1, 2, 3, 4, 5] * 2


def test_stored_tables_are_read_in_pieces(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 40))[np.r_[:50, :10]]
    np.save(tmp_path / "x.npy", X)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = X
        for stored in (np.load(tmp_path / "x.npy", mmap_mode="r"), file["x"]):
            assert sets_of_copies(as_table(stored)).tolist() == [*range(50), *range(10)]


def answers(n_samples, n_columns, seed):
    """Answers of yes and no about one opinion."""
    random = np.random.default_rng(seed)
    opinion = random.normal(size=(n_samples, 1))
    return (opinion + 0.4 * random.normal(size=(n_samples, n_columns)) > 0).astype(float)


@settings(max_examples=20)
@given(n_samples=st.integers(100, 400), n_columns=st.integers(5, 30), seed=st.integers(0, 2**20))
def test_coincidences_of_dependent_columns_are_no_copies(n_samples, n_columns, seed):
    X = answers(n_samples, n_columns, seed)
    order = np.random.default_rng(seed).permutation(n_columns)
    for form in (X, sp.csr_array(X), sp.csr_array(X - 1), -X, np.hstack([X, 1 - X[:, order]])):
        assert sets_of_copies(MemoryTable(form)) is None
    stacked = np.vstack([X, X])
    if len(np.unique(X, axis=0)) > 0.9 * n_samples:  # Most samples have one copy.
        assert sets_of_copies(MemoryTable(stacked)) is not None


@given(n_samples=st.integers(3, 30), n_columns=st.integers(2, 7), seed=st.integers(0, 2**20))
def test_near_copies_are_those_of_a_comparison_of_all_pairs(n_samples, n_columns, seed):
    random = np.random.default_rng(seed)
    X = np.unique(random.integers(0, 3, (n_samples, n_columns)), axis=0).astype(float)
    X = np.hstack([X, random.permutation(len(X))[:, None]])  # It differs in all samples.
    X[-1, -1] = X[0, -1]
    _, first = np.unique([orders_of(column) for column in X.T], axis=0, return_index=True)
    kept = X[:, first]
    differences = (kept[:, None] != kept).sum(axis=2) + len(X) * np.eye(len(X))
    expected = (differences.min(axis=1) <= 1).sum()
    for form in (X, sp.csr_array(X)):
        assert _n_near_copies(MemoryTable(form), np.arange(len(X))) == expected


def orders_of(column):
    """The ranks of the samples, equal for the reverse order."""
    ranks = np.unique(column, return_inverse=True)[1]
    return min(ranks.tolist(), (ranks.max() - ranks).tolist())

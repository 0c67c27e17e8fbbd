"""The exact neighbour search equals a naive double loop.

The tests cover ties, duplicates, offsets, sparse rows and subsets.
"""

from __future__ import annotations

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from graphsieve import _kernels as kernels
from graphsieve.graphs.neighbors import exact as neighbors
from graphsieve.graphs.neighbors.exact import (
    mutual_neighbors,
    nearest_neighbors,
    smallest_columns,
    squared_distances,
    target_runs,
)
from strategies import grid_values


def naive(rows: np.ndarray, k: int, queries: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    found = []
    for query in queries:
        others = [c for c in candidates if c != query]
        found.append(
            sorted(
                others,
                key=lambda c: (
                    sum(
                        (float(a) - float(b)) ** 2
                        for a, b in zip(rows[query], rows[c], strict=True)
                    ),
                    c,
                ),
            )[:k]
        )
    return np.array(found).reshape(len(queries), k)


tables = st.tuples(st.integers(3, 40), st.integers(1, 4)).flatmap(
    lambda shape: hnp.arrays(np.float64, shape, elements=grid_values(-3, 3))
)


@given(rows=tables, k=st.integers(1, 8), seed=st.integers(0, 99))
def test_equals_the_double_loop_with_many_ties_and_duplicates(rows, k, seed):
    k = min(k, len(rows) - 2)
    all_rows = np.arange(len(rows))
    rng = np.random.default_rng(seed)
    half = np.sort(rng.permutation(len(rows))[: max(k + 1, len(rows) // 2)])
    for container in (np.ascontiguousarray, sp.csr_array):
        for queries, candidates in (
            (all_rows, all_rows),
            (all_rows[::2], all_rows),
            (all_rows, half),
        ):
            indices, distances = nearest_neighbors(
                container(rows), k, queries=queries, candidates=candidates
            )
            assert_array_equal(indices, naive(rows, k, queries, candidates))
            expected = ((rows[queries][:, None] - rows[indices]) ** 2).sum(axis=2)
            assert_array_equal(distances, expected)


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e8])
def test_an_offset_changes_no_neighbor(offset):
    """Adding the offset to multiples of 2⁻¹⁰ is exact, so the result must not change.

    A plain expansion into inner products fails from an offset of 1e6 on.
    """
    rows = np.rint(np.random.default_rng(0).normal(size=(500, 6)) * 1024) / 1024
    expected, distances = nearest_neighbors(rows, 5)
    found, shifted = nearest_neighbors(rows + offset, 5)
    assert_array_equal(found, expected)
    assert_array_equal(shifted, distances)


def test_many_duplicates_are_answered_without_comparing_them_all(monkeypatch):
    rows = np.repeat(np.random.default_rng(1).normal(size=(40, 3)), 50, axis=0)
    compared = []
    monkeypatch.setattr(
        neighbors,
        "squared_distances",
        lambda *args: compared.append(len(args[1])) or squared_distances(*args),
    )
    indices, distances = nearest_neighbors(rows, 4)
    assert (distances == 0).all()
    for row in (0, 3, 7, 1999):  # the first four rows of the same group, without the row itself
        group = np.arange(row // 50 * 50, row // 50 * 50 + 50)
        assert_array_equal(indices[row], group[group != row][:4])
    assert sum(compared) < 20 * len(rows)  # the proposals of one round, not 2,000 × 50 pairs


def test_negative_zero_is_zero_among_duplicates():
    rows = np.zeros((20, 2))
    rows[::2] = -0.0
    indices, _ = nearest_neighbors(rows, 2)
    assert_array_equal(indices[:3], [[1, 2], [0, 2], [0, 1]])


def test_sparse_rows_give_the_same_bits_as_dense_rows():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(60, 50)) * (rng.random((60, 50)) < 0.3)
    first, second = np.triu_indices(60, k=1)
    assert_array_equal(
        squared_distances(rows, first, second), squared_distances(sp.csr_array(rows), first, second)
    )


@given(
    distances=hnp.arrays(
        np.float64, st.tuples(st.integers(1, 6), st.integers(3, 9)), elements=grid_values(0, 3)
    ),
    k=st.integers(1, 3),
)
def test_smallest_columns_is_a_stable_sort(distances, k):
    assert_array_equal(
        smallest_columns(distances, k), np.argsort(distances, axis=1, kind="stable")[:, :k]
    )


@given(
    target=hnp.arrays(np.float64, st.integers(2, 25), elements=grid_values(-5, 5)),
    k=st.integers(1, 6),
)
def test_target_neighbors_are_all_samples_within_the_kth_distance(target, k):
    k = min(k, len(target) - 1)
    runs = target_runs(target, k)
    for i, value in enumerate(target):
        gaps = np.abs(target - value)
        reach = np.sort(np.delete(gaps, i))[k - 1]
        expected = {j for j in range(len(target)) if j != i and gaps[j] <= reach}
        own = {j for j in range(len(target)) if target[j] == value and j != i}
        _, linked = runs.runs_within(runs.run[[i]], runs.reach[runs.run[[i]]])
        found = own | set(runs.members(linked)[0].tolist())
        assert found == expected
        assert_array_equal(runs.nearest_samples()[runs.run[i]], np.sort(np.delete(gaps, i))[:k])


@given(
    target=hnp.arrays(np.float64, st.integers(2, 25), elements=grid_values(-5, 5)),
    k=st.integers(1, 6),
)
def test_pairs_along_the_target_link_samples_if_either_is_a_neighbor(target, k):
    k = min(k, len(target) - 1)
    gaps = np.abs(target[:, None] - target)
    reach = np.sort(gaps + np.diag(np.full(len(target), np.inf)), axis=1)[:, k - 1]
    linked = (gaps > 0) & ((gaps <= reach[:, None]) | (gaps <= reach))
    first, second, squared = target_runs(target, k).sample_pairs()
    assert (target[first] < target[second]).all()
    found = np.zeros_like(linked)
    found[first, second] = True
    assert_array_equal(found | found.T, linked)
    assert 2 * len(first) == linked.sum()  # no pair occurs twice
    assert_array_equal(squared, gaps[first, second] ** 2)


@pytest.mark.parametrize("plain", ["0", "1"])
def test_distances_that_tie_only_by_rounding_lose_no_edge(plain, monkeypatch):
    """In float64, 1 − 0, 1 − 1e-17 and 1 − 2e-17 are equal, so the sample at 1 links to all three.

    The first sample does not link to the third.
    """
    if plain == "1":
        monkeypatch.setattr(kernels, "compiled", None)
    first, second, _ = target_runs(np.array([0, 1e-17, 2e-17, 1.0, 5.0]), 1).sample_pairs()
    assert set(zip(first.tolist(), second.tolist(), strict=True)) == {
        (0, 1),
        (1, 2),
        (0, 3),
        (1, 3),
        (2, 3),
        (3, 4),
    }


@pytest.mark.parametrize("width", [1, 3, 40])
@pytest.mark.parametrize("kind", ["general", "ties", "offset", "copies"])
def test_mutual_neighbors_equal_two_searches(kind, width):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, width))
    if kind == "ties":
        X = np.round(X)
    if kind == "offset":
        X = X + 1e8
    if kind == "copies":
        X[100:600] = X[0]
    both = rng.permutation(700)
    first, second = np.sort(both[:300]), np.sort(both[300:])
    for k in (1, 7, 290):
        forward, backward = mutual_neighbors(X, k, first, second)
        for found, queries, candidates in ((forward, first, second), (backward, second, first)):
            wanted = nearest_neighbors(X, k, queries=queries, candidates=candidates)
            np.testing.assert_array_equal(found[0], wanted[0])
            np.testing.assert_array_equal(found[1], wanted[1])
    assert [answer[0].shape for answer in mutual_neighbors(X, 350, first, second)] == [
        (300, 350),
        (400, 300),
    ]

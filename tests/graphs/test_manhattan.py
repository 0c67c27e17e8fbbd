"""Nearest rows by Manhattan distance equal those of a double loop, for both kinds of kernels."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from graphsieve import _kernels as kernels
from graphsieve.graphs.neighbors import manhattan
from graphsieve.graphs.neighbors.manhattan import nearest_in_groups
from graphsieve.scores import relieff_score
from graphsieve.table.columns import MemoryTable

GRID = 1e-12
needs_compiled = pytest.mark.skipif(
    kernels.compiled is None, reason="the kernels were not compiled"
)


@pytest.fixture(params=["compiled", "plain"])
def kind(request, monkeypatch):
    """Run a test with both kinds of kernels."""
    if request.param == "plain":
        monkeypatch.setattr(kernels, "compiled", None)
    elif kernels.compiled is None:
        pytest.skip("the kernels were not compiled")
    return request.param


def on_unit_ranges(X):
    span = np.ptp(X, axis=0)
    return np.ascontiguousarray((X - X[0]) / np.where(span > 0, span, 1.0))


def tables(n_samples, n_features):
    """Yield tables that 8-bit values distinguish, that only 16-bit or float64 do, and ties."""
    rng = np.random.default_rng(n_samples + n_features)
    normal = rng.normal(size=(n_samples, n_features))
    yield "normal", normal
    yield "outliers", rng.standard_cauchy(size=(n_samples, n_features))
    yield "one outlier", np.concatenate([1e-7 * normal[1:], np.full((1, n_features), 1e3)])
    yield "thirds", rng.integers(4, size=(n_samples, n_features)).astype(float)
    yield "copies", np.repeat(normal[: n_samples // 3 + 1], 3, axis=0)[:n_samples]
    yield "nearly copies", normal[rng.integers(3, size=n_samples)] + 1e-9 * normal
    yield "constant", np.zeros((n_samples, n_features))


def double_loop(rows, begin, n_neighbors):
    """Sort all rows by distance on the grid and then by place; return the first ones by place."""
    grid = GRID * rows.shape[1]
    answers = []
    for start, stop in pairwise(begin):
        answer = np.full((len(rows), min(n_neighbors, stop - start)), -1)
        for i, row in enumerate(rows):
            distance = np.zeros(stop - start)
            for column in range(rows.shape[1]):
                distance += np.abs(row[column] - rows[start:stop, column])
            steps = np.rint(distance / grid)
            nearest = sorted((steps[j - start], j) for j in range(start, stop) if j != i)[
                : answer.shape[1]
            ]
            answer[i, : len(nearest)] = sorted(j for _, j in nearest)
        answers.append(answer)
    return answers


@pytest.mark.parametrize("n_neighbors", [1, 4, 40])
@pytest.mark.parametrize(("n_samples", "n_features"), [(30, 1), (61, 33), (280, 7)])
def test_neighbors_equal_those_of_the_double_loop(n_samples, n_features, n_neighbors, kind):
    # A small group, an empty one, and two larger ones
    begin = np.array([0, 3, 3, n_samples // 3, n_samples])
    for name, X in tables(n_samples, n_features):
        rows = on_unit_ranges(X)
        found, expected = (
            nearest_in_groups(rows, begin, n_neighbors, GRID * n_features),
            double_loop(rows, begin, n_neighbors),
        )
        for actual, wanted in zip(found, expected, strict=True):
            assert_array_equal(actual, wanted, err_msg=name)


@pytest.mark.slow
@needs_compiled
@pytest.mark.parametrize(("n_samples", "n_features"), [(700, 64), (100, 40_000), (1500, 3)])
def test_larger_searches_are_the_same_with_and_without_compiled_kernels(
    n_samples, n_features, monkeypatch
):
    begin = np.array([0, n_samples // 5, n_samples])
    for _, X in list(tables(n_samples, n_features))[: 7 if n_features < 100 else 1]:
        rows = on_unit_ranges(X)
        found = nearest_in_groups(rows, begin, 10, GRID * n_features)
        with monkeypatch.context() as patch:
            patch.setattr(kernels, "compiled", None)
            expected = nearest_in_groups(rows, begin, 10, GRID * n_features)
        for actual, wanted in zip(found, expected, strict=True):
            assert_array_equal(actual, wanted)


def test_many_neighbors_and_sparse_rows_use_the_numpy_search(monkeypatch):
    rows = np.random.default_rng(0).integers(3, size=(40, 5)) / 2
    begin = np.array([0, 15, 40])
    expected = nearest_in_groups(rows, begin, 6, GRID)
    monkeypatch.setattr(manhattan, "LONGEST", 5)
    for found in (
        nearest_in_groups(rows, begin, 6, GRID),
        nearest_in_groups(sp.csr_array(rows), begin, 6, GRID),
    ):
        for actual, wanted in zip(found, expected, strict=True):
            assert_array_equal(actual, wanted)


def test_several_threads_find_the_same_neighbors(monkeypatch):
    rows, begin = (
        on_unit_ranges(np.random.default_rng(1).normal(size=(900, 20))),
        np.array([0, 300, 900]),
    )
    expected = nearest_in_groups(rows, begin, 5, GRID)
    monkeypatch.setattr(manhattan, "threads_for", lambda work: 3)
    for actual, wanted in zip(nearest_in_groups(rows, begin, 5, GRID), expected, strict=True):
        assert_array_equal(actual, wanted)


def test_bounds_of_quantized_rows_hold():
    if kernels.compiled is None:
        pytest.skip("the kernels were not compiled")
    rows = on_unit_ranges(np.random.default_rng(2).standard_cauchy(size=(50, 70)))
    low = rows.min(axis=0)
    small, errors = (
        (np.empty((50, 96), np.uint8), np.empty((50, 96), np.int16)),
        np.empty((2, 50), np.float32),
    )
    kernels.compiled.small_rows(rows, low, *small, *errors)
    exact = np.abs(rows[:, None] - rows).sum(axis=2)
    for whole, error, steps in zip(small, errors.astype(float), (255, 32767), strict=True):
        assert not whole[:, 70:].any()
        sums = np.abs(whole[:, None].astype(int) - whole).sum(axis=2)
        lost = np.abs((rows - low) * steps - whole[:, :70]).sum(axis=1)
        assert_allclose(error, lost, rtol=1e-5)
        assert (np.abs(steps * exact - sums) <= error[:, None] + error + 1e-9).all()


def good_arguments():
    """Return valid arguments of each kernel."""
    small = [
        np.zeros((6, 32), np.uint8),
        np.zeros((6, 32), np.int16),
        np.zeros(6, np.float32),
        np.zeros(6, np.float32),
    ]
    rows, near = np.zeros((6, 3)), np.zeros((2, 2), np.int32)
    return {
        "nearest_absolute": [*small, rows, 0, 2, 1, 6, GRID, near],
        "small_rows": [rows, np.zeros(3), *small],
    }


def invalid_versions(array):
    """Yield versions of an array with another type, shape or order, and other objects."""
    yield None
    yield "text"
    yield array.astype(np.complex128)
    yield array.astype(np.uint16)
    yield array[..., None]
    yield array[:1]
    yield np.repeat(array, 2, axis=-1)[..., ::2]


@needs_compiled
@pytest.mark.parametrize("name", ["nearest_absolute", "small_rows"])
def test_invalid_arrays_are_refused(name):
    kernel = getattr(kernels.compiled, name)
    kernel(*good_arguments()[name])
    refused = 0
    for place, good in enumerate(good_arguments()[name]):
        for bad in invalid_versions(good) if isinstance(good, np.ndarray) else ():
            arguments = good_arguments()[name]
            arguments[place] = bad
            with pytest.raises(ValueError):
                kernel(*arguments)
            refused += 1
    assert refused == 42


@needs_compiled
@pytest.mark.parametrize(
    ("place", "value"),
    [(5, -1), (5, 3), (6, 7), (7, -1), (7, 7), (8, 7), (8, 0), (9, 0.0), (9, np.nan)],
)
def test_invalid_row_ranges_and_grids_are_refused(place, value):
    arguments = good_arguments()["nearest_absolute"]
    arguments[place] = value
    with pytest.raises(ValueError):
        kernels.compiled.nearest_absolute(*arguments)


def test_an_offset_of_1e8_changes_no_neighbour(kind):
    """Steps of a third tie in exact arithmetic.

    They would not tie if the columns were divided by their range before the offset is subtracted.
    """
    rng = np.random.default_rng(3)
    X, y = rng.integers(4, size=(60, 6)).astype(float), rng.integers(3, size=60)
    expected = oracle.relieff_score(X, y, n_neighbors=3)
    assert_allclose(relieff_score(X, y, n_neighbors=3), expected, rtol=1e-10, atol=1e-14)
    for container in (np.array, sp.csr_array):
        assert_allclose(
            relieff_score(container(X + 1e8), y, n_neighbors=3), expected, rtol=1e-10, atol=1e-14
        )


@pytest.mark.parametrize("container", [np.array, sp.csr_array])
def test_tenths_that_tie_on_paper_tie_whatever_the_number_of_columns(container, kind):
    """With a grid of 1e-12 times 4,096 columns, odd multiples of 0.1 are halfway between steps."""
    rng = np.random.default_rng(8)
    n, p, k = 40, 4096, 3
    X = rng.integers(11, size=(n, p))
    X[0], X[1] = 0, 10  # all ranges are 10, so that distances are multiples of 0.1
    for row in range(10, n):
        X[row] = rng.permutation(X[row % 8 + 2])
    y = np.arange(n) % 2
    expected = np.zeros(p)
    for i in range(n):
        apart = np.abs(X - X[i])
        order = np.lexsort((np.arange(n), apart.sum(axis=1)))
        for label in (0, 1):
            near = [j for j in order if j != i and y[j] == label][:k]
            # Each class contains half of the samples.
            expected += (1 if label != y[i] else -1) * apart[near].sum(axis=0)
    assert_allclose(
        relieff_score(container(X.astype(float)), y, n_neighbors=k),
        expected / (10 * n * k),
        rtol=1e-9,
        atol=1e-12,
    )


@pytest.mark.parametrize("counts", [[1, 9, 30], [2, 2, 2]])
def test_small_classes_contribute_all_their_samples(counts, kind):
    y = np.repeat([0, 1, 2], counts)
    X = np.random.default_rng(4).normal(size=(len(y), 5))
    assert_allclose(
        relieff_score(X, y, n_neighbors=4),
        oracle.relieff_score(X, y, n_neighbors=4),
        rtol=1e-10,
        atol=1e-14,
    )


def test_scores_have_the_same_bits_with_and_without_compiled_kernels(monkeypatch):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(300, 12)) + 1e6, rng.integers(3, size=300)
    X[:, 7] = X[:, 2]
    found = relieff_score(X, y)
    monkeypatch.setattr(kernels, "compiled", None)
    assert_array_equal(found, relieff_score(X, y))
    assert found[7] == found[2]


def test_ranges_of_unread_blocks_equal_those_of_their_values():
    X = np.random.default_rng(6).normal(size=(50, 9)) * 10.0 ** np.arange(-4, 5) + 1e5
    for block in MemoryTable(X).blocks():
        found = block.range
        assert_array_equal(found, block.values.max(axis=0) - block.values.min(axis=0))

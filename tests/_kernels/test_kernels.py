"""Compiled kernels agree bitwise with their numpy versions, and refuse arrays that do not fit."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from graphsieve import _kernels as kernels
from graphsieve._kernels.pair_distances import dense_pair_distances, sparse_pair_distances
from graphsieve._kernels.tiles import Lists, SparseRows, keep_nearest, sort_lists, sparse_products

needs_compiled = pytest.mark.skipif(
    kernels.compiled is None, reason="the kernels were not compiled"
)


@pytest.mark.parametrize(
    ("given", "plain"),
    [({}, False), ({"GRAPHSIEVE_PLAIN": "0"}, False), ({"GRAPHSIEVE_PLAIN": "1"}, True)],
)
def test_the_environment_chooses_the_kernels(given, plain):
    code = "from graphsieve import _kernels as k; print(k.compiled is None, k._installed is None)"
    settings = {name: value for name, value in os.environ.items() if name != "GRAPHSIEVE_PLAIN"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**settings, **given},
        capture_output=True,
        text=True,
        check=True,
    )
    chosen, missing = done.stdout.split()
    assert chosen == str(plain or missing == "True")


@needs_compiled
@pytest.mark.parametrize("width", [0, 1, 7, 100])
@pytest.mark.parametrize("n_pairs", [0, 1, 8, 45])
def test_pair_distances_have_the_same_bits(width, n_pairs, plain):
    rng = np.random.default_rng(width)
    rows = rng.normal(size=(30, width)) * 10.0 ** rng.integers(-9, 9, size=width)
    first, second = rng.integers(30, size=(2, n_pairs))
    found, expected = np.empty(n_pairs), np.empty(n_pairs)
    dense_pair_distances(rows, first, second, found)
    plain(dense_pair_distances, rows, first, second, expected)
    assert_array_equal(found, expected)
    slowly = np.zeros(n_pairs)
    for column in rows.T:
        slowly += (column[first] - column[second]) * (column[first] - column[second])
    assert_array_equal(found, slowly)


@needs_compiled
@pytest.mark.parametrize("filled", [0.0, 0.2, 1.0])
def test_sparse_pair_distances_have_the_same_bits(filled, plain):
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(30, 40)) * (rng.random((30, 40)) < filled)
    first, second = rng.integers(30, size=(2, 200))
    found, plainly, densely = np.empty(200), np.empty(200), np.empty(200)
    sparse_pair_distances(sp.csr_array(rows), first, second, found)
    plain(sparse_pair_distances, sp.csr_array(rows), first, second, plainly)
    dense_pair_distances(rows, first, second, densely)
    assert_array_equal(found, plainly)
    assert_array_equal(found, densely)


@needs_compiled
def test_sparse_products_are_those_of_scipy(plain):
    left, right = (
        sp.random_array((40, 25), density=0.2, format="csr", rng=np.random.default_rng(seed))
        for seed in (0, 1)
    )
    found, expected = np.full((40, 40), np.nan), np.full((40, 40), np.nan)
    arguments = SparseRows(left), SparseRows(sp.csr_array(right.T))
    sparse_products(*arguments, found)
    plain(sparse_products, *arguments, expected)
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@needs_compiled
def test_lists_are_sorted_by_value_then_index(plain):
    rng = np.random.default_rng(5)
    values, indices = (
        rng.integers(4, size=(50, 9)).astype(float),
        rng.permuted(np.tile(np.arange(9), (50, 1)), axis=1),
    )
    values[0, 3] = np.inf
    one, other = (values.copy(), indices.copy()), (values.copy(), indices.copy())
    sort_lists(*one)
    plain(sort_lists, *other)
    assert_array_equal(one[0], other[0])
    assert_array_equal(one[1], other[1])
    assert (np.diff(one[0][1:] * 100 + one[1][1:], axis=1) > 0).all()


def nearest_of_tiles(rows, n_kept, kind, size):
    """Lists of all rows, from the tiles on and above the diagonal."""
    norms = (rows**2).sum(axis=1).astype(kind)
    lists = Lists(len(rows), n_kept, kind)
    slices = [slice(start, min(start + size, len(rows))) for start in range(0, len(rows), size)]
    for number, here in enumerate(slices):
        for there in slices[number:]:
            products = (rows[here] @ rows[there].T).astype(kind)
            both = (lists if here is not there else None, there)
            keep_nearest(
                products, (norms[here], norms[there]), (lists, here), both, diagonal=here is there
            )
    return lists


@needs_compiled
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("distinct", [2, 1000])
@pytest.mark.parametrize(
    ("n", "size", "n_kept"), [(2, 5, 1), (40, 7, 3), (300, 130, 12), (300, 300, 40)]
)
def test_lists_of_nearest_are_the_same_ties_included(kind, distinct, n, size, n_kept, plain):  # noqa: PLR0917
    rows = np.random.default_rng(n).integers(distinct, size=(n, 3)).astype(float)
    found, expected = (
        nearest_of_tiles(rows, n_kept, kind, size),
        plain(nearest_of_tiles, rows, n_kept, kind, size),
    )
    assert_array_equal(found.values, expected.values)
    assert_array_equal(found.indices, expected.indices)
    distances = ((rows[:, None] - rows) ** 2).sum(axis=2)
    distances[np.diag_indices(n)] = np.inf
    assert_array_equal(found.values[:, : n - 1], np.sort(distances, axis=1)[:, :n_kept][:, : n - 1])


@needs_compiled
def test_columns_without_lists_are_left_alone(plain):
    rng = np.random.default_rng(3)
    products, norms = rng.normal(size=(6, 200)), (rng.normal(size=6), rng.normal(size=200))
    found, expected = Lists(6, 4, np.float64), Lists(6, 4, np.float64)
    keep_nearest(products, norms, (found, slice(0, 6)), (None, slice(50, 250)))
    plain(keep_nearest, products, norms, (expected, slice(0, 6)), (None, slice(50, 250)))
    assert_array_equal(found.indices, expected.indices)
    assert_array_equal(found.indices, 50 + np.argsort(norms[1] - 2 * products, axis=1)[:, :4])


def good_arguments():
    """Valid arguments for each kernel."""
    place, begin = np.zeros(1, np.int32), np.array([0, 1])
    lists = [
        np.zeros((4, 2)),
        np.zeros((4, 2), np.int32),
        np.zeros((5, 2)),
        np.zeros((5, 2), np.int32),
    ]
    pairs = [np.zeros(3, np.int64), np.zeros(3, np.int64), np.zeros(3)]
    return {
        "dense_pair_distances": [np.zeros((5, 2)), *pairs],
        "sparse_pair_distances": [begin, place, np.zeros(1), *pairs],
        "keep_nearest": [np.zeros((4, 5)), np.zeros(4), np.zeros(5), *lists, 0, 0, False],
        "sort_lists": [np.zeros((3, 4)), np.zeros((3, 4), np.int64)],
        "sparse_products": [
            begin,
            place,
            np.zeros(1),
            begin.copy(),
            place.copy(),
            np.zeros(1),
            np.zeros((1, 1)),
        ],
    }


def spoilt(array):
    """Invalid variants of an array: another type, shape or memory order, or no array at all."""
    yield None
    yield "text"
    yield array.astype(np.complex128)
    yield array.astype(np.int16)
    yield array[..., None]
    yield array[:0]
    yield np.repeat(array, 2, axis=-1)[..., ::2]
    yield array.byteswap().view(array.dtype.newbyteorder())


@needs_compiled
@pytest.mark.parametrize("name", list(good_arguments()))
def test_arrays_that_do_not_fit_are_refused(name):
    kernel = getattr(kernels.compiled, name)
    kernel(*good_arguments()[name])
    refused = 0
    for place, good in enumerate(good_arguments()[name]):
        for bad in spoilt(good) if isinstance(good, np.ndarray) else ():
            arguments = good_arguments()[name]
            arguments[place] = bad
            if (
                isinstance(bad, np.ndarray)
                and bad.flags.c_contiguous
                and bad.dtype == good.dtype
                and bad.shape == good.shape
            ):
                continue
            with pytest.raises(ValueError):
                kernel(*arguments)
            refused += 1
    assert refused >= 10


@needs_compiled
@pytest.mark.parametrize("wrong", [-1, 5, 2**40])
def test_rows_that_do_not_exist_are_refused(wrong):
    for place in (1, 2):
        arguments = good_arguments()["dense_pair_distances"]
        arguments[place][1] = wrong
        with pytest.raises(ValueError, match="no row"):
            kernels.compiled.dense_pair_distances(*arguments)


@needs_compiled
@pytest.mark.parametrize(
    ("place", "value"),
    [(0, [0, 2]), (0, [1, 0]), (0, [-1, 1]), (1, [1]), (1, [-1]), (3, [0, 2]), (4, [1])],
)
def test_sparse_rows_that_point_outside_are_refused(place, value):
    arguments = good_arguments()["sparse_products"]
    arguments[place][:] = value
    with pytest.raises(ValueError):
        kernels.compiled.sparse_products(*arguments)


def test_a_large_search_without_compiled_kernels_is_mentioned_once(monkeypatch, recwarn):
    monkeypatch.setattr(kernels, "_installed", None)
    kernels._mention.cache_clear()
    kernels.mention_plain_kernels(10**6)
    assert not recwarn
    with pytest.warns(match="without its compiled kernels"):
        kernels.mention_plain_kernels(kernels.LARGE_SEARCH)
    kernels.mention_plain_kernels(kernels.LARGE_SEARCH)
    assert len(recwarn) <= 1

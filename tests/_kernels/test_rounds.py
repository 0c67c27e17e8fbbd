"""The kernels of the iterative search agree bitwise with their numpy versions, and both agree with a
double loop.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from graphsieve import _kernels as kernels
from graphsieve._kernels.rounds import (
    LANES,
    any_neighbors,
    follow_nearest,
    graph_sums,
    list_links,
    room_for_pairs,
    strips_of,
    sum_ratios,
)
from graphsieve.graphs.neighbors.tracking import Tracker
from graphsieve.search import iterative_ranking
from graphsieve.table.columns import MemoryTable

needs_compiled = pytest.mark.skipif(
    kernels.compiled is None, reason="the kernels were not compiled"
)


def distances(X):
    """Squared distances, summed in the order of the features, with an infinite diagonal."""
    squared = np.zeros((len(X), len(X)))
    for feature in X.T:
        squared += (feature[:, None] - feature) ** 2
    np.fill_diagonal(squared, np.inf)
    return squared


def nearest(squared, count):
    """The `count` nearest samples of each sample. Ties are ordered by index."""
    order = np.argsort(squared, axis=1, kind="stable")[:, :count].copy()
    return order, np.take_along_axis(squared, order, axis=1)


def followed(X, gone, back, k, slack):
    """Remove the first `gone` features and add those of `back`. Return the distances, neighbours
    and lengths that the kernel computes.
    """
    pairs = room_for_pairs(len(X))
    pairs[:, : len(X)] = distances(X)
    near, lengths = nearest(pairs[:, : len(X)], k + 1)
    follow_nearest([X[:, :gone], back], pairs, np.full(len(X), slack), near, lengths, n_gone=gone)
    return np.triu(pairs[:, : len(X)], 1), near, lengths


@pytest.mark.parametrize("distinct", [3, 1000])  # many ties, and hardly any
@pytest.mark.parametrize(("gone", "n_back"), [(1, 0), (0, 1), (3, 0), (2, 3), (0, 0)])
@pytest.mark.parametrize(("n", "k"), [(2, 1), (7, 6), (8, 3), (70, 5), (150, 12)])
def test_nearest_neighbours_after_features_changed(n, k, gone, n_back, distinct, plain):  # noqa: PLR0917
    """With integers, there is no rounding, and the distances equal those of the remaining
    features.
    """
    rng = np.random.default_rng(n)
    X = rng.integers(distinct, size=(n, 6)).astype(float)
    back = rng.integers(distinct, size=(n, n_back)).astype(float)
    expected = distances(np.column_stack([X[:, gone:], back]))
    order, lengths = nearest(expected, k + 1)
    for values, near, found in (
        followed(X, gone, back, k, 1e9),
        plain(followed, X, gone, back, k, 1e9),
    ):
        assert_array_equal(values, np.triu(expected, 1))
        there = np.isfinite(lengths)  # With two samples, each has only one neighbour.
        assert_array_equal(found, lengths)
        assert_array_equal(near[there], order[there])


@needs_compiled
@pytest.mark.parametrize("slack", [0.0, 0.5])
def test_nearest_have_the_same_bits(slack, plain):
    rng = np.random.default_rng(1)
    X, back = rng.normal(size=(130, 9)) * 10.0 ** rng.integers(-3, 3, 9), rng.normal(size=(130, 2))
    for gone in (1, 3):
        for one, other in zip(
            followed(X, gone, back, 4, slack), plain(followed, X, gone, back, 4, slack), strict=True
        ):
            assert_array_equal(one, other)


@needs_compiled
def test_arbitrary_samples_can_be_the_first_neighbours(plain, monkeypatch):
    rng = np.random.default_rng(2)
    pairs = room_for_pairs(100)
    pairs[:, :100] = distances(rng.normal(size=(100, 3)))
    near = np.column_stack([any_neighbors(100, 4), np.zeros(100, dtype=np.int64)])
    lengths, expected = np.take_along_axis(pairs, near, axis=1), nearest(pairs[:, :100], 5)
    follow_nearest([], pairs, np.zeros(100), near, lengths, n_gone=0)
    assert_array_equal(near[:, :4], expected[0][:, :4])
    assert_array_equal(lengths[:, :4], expected[1][:, :4])
    assert plain(any_neighbors, 100, 4) is None


@pytest.mark.parametrize("k", [1, 4])
def test_links_are_listed_once(k, plain):
    squared = distances(np.random.default_rng(3).normal(size=(40, 3)))
    near, lengths = nearest(squared, k + 1)
    expected = {(min(i, j), max(i, j)) for i in range(40) for j in near[i, :k].tolist()}
    found, plainly = list_links(near, lengths), plain(list_links, near, lengths)
    for one, other in zip(found, plainly, strict=True):
        assert_array_equal(one, other)
    first, second, length = found
    ends = list(
        zip(np.minimum(first, second).tolist(), np.maximum(first, second).tolist(), strict=True)
    )
    assert len(ends) == len(set(ends))
    assert set(ends) == expected
    assert (np.diff(first) >= 0).all()
    assert_array_equal(length, squared[first, second])


@pytest.mark.parametrize("width", [1, LANES, 3 * LANES - 5])
def test_sums_of_a_graph(width, plain):
    rng = np.random.default_rng(width)
    rows, center = rng.normal(size=(30, width)), rng.normal(size=width)
    first, second, weights = rng.integers(30, size=90), rng.integers(30, size=90), rng.random(90)
    strips, centers = strips_of(rows), strips_of(center[None])[:, 0].copy()
    degree, sums = graph_sums(strips, centers, first, second, weights)
    for one, other in zip(
        (degree, sums), plain(graph_sums, strips, centers, first, second, weights), strict=True
    ):
        assert_array_equal(one, other)
    W = np.zeros((30, 30))
    np.add.at(W, (first, second), weights)
    W = W + W.T
    assert_allclose(degree, W.sum(axis=1))
    energy, mean, moment = sums[:, :width]
    assert_allclose(energy, [0.5 * (W * (f[:, None] - f) ** 2).sum() for f in rows.T])
    assert_allclose(mean, W.sum(axis=1) @ (rows - center))
    assert_allclose(moment, W.sum(axis=1) @ (rows - center) ** 2)
    assert not sums[:, width:].any()
    assert_array_equal(strips, strips_of(rows))  # unchanged


def test_ratios_of_sums(plain):
    """By hand: total degree 10, energies 8, 1 and 2, spreads 20 − 4²/10, 1 and 0 − 1."""
    sums = np.array([[6.0, 8.0, 1.0, 2.0], [0.0, 4.0, 0.0, np.sqrt(10)], [10.0, 20.0, 1.0, 0.0]])
    values, errors = sum_ratios(sums, np.array([1, 2, 3]), 10.0, 0.5, 0.25)
    assert_allclose(values, [8 / 18.4, 1.0, -2.0])
    assert_allclose(errors, [0.5 + 0.25 * 20 / 18.4, 0.75, np.inf])
    for one, other in zip(
        (values, errors), plain(sum_ratios, sums, np.array([1, 2, 3]), 10.0, 0.5, 0.25), strict=True
    ):
        assert_array_equal(one, other)


@needs_compiled
@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
@pytest.mark.parametrize("variant", [1, 2])
def test_whole_searches_are_the_same(variant, plain):
    X = np.random.default_rng(0).normal(size=(90, 40))
    found = iterative_ranking(X, variant=variant, step=3, bandwidth=40.0)
    assert_array_equal(found, plain(iterative_ranking, X, variant=variant, step=3, bandwidth=40.0))


@needs_compiled
def test_rough_edges_have_the_same_bits(plain):
    X = np.random.default_rng(5).normal(size=(60, 25))

    def edges():
        tracker = Tracker(MemoryTable(X))
        for left in (25, 24, 20, 19):
            tracker.follow(np.arange(25 - left, 25))
            yield from tracker.rough_edges(4)

    for one, other in zip(list(edges()), plain(lambda: list(edges())), strict=True):
        assert_array_equal(one, other)


def good_arguments():
    near = (np.arange(5)[:, None] + np.arange(1, 4)) % 5
    ends, weights = [np.zeros(3, np.int64), np.ones(3, np.int64)], np.ones(3)
    return {
        "follow_nearest": [
            np.zeros((2, 8)),
            1,
            np.ones((5, 8)),
            np.zeros(8),
            near,
            np.ones((5, 3)),
        ],
        "list_links": [
            near,
            np.zeros((5, 3)),
            np.zeros(10, np.int64),
            np.zeros(10, np.int64),
            np.zeros(10),
        ],
        "sum_ratios": [np.ones((3, 5)), np.arange(5), 1.0, 0.0, 0.0, np.zeros(5), np.zeros(5)],
        "graph_sums": [
            np.zeros((2, 5, LANES)),
            np.zeros((2, LANES)),
            *ends,
            weights,
            np.zeros(5),
            np.zeros((3, 2, LANES)),
        ],
    }


def spoilt(array):
    """Invalid variants of an array: another type, shape or memory order, or no array at all."""
    yield from (
        None,
        "text",
        array.astype(np.complex128),
        array.astype(np.int16),
        array[..., None],
        array[:-1],
        array[..., :-1],
    )
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
            if name == "follow_nearest" and place == 0 and getattr(bad, "shape", None) == (1, 8):
                continue  # fewer features may change
            with pytest.raises(ValueError):
                kernel(*arguments)
            refused += 1
    assert refused >= 30


@needs_compiled
@pytest.mark.parametrize("wrong", [-1, 5, 2**40])
def test_samples_that_do_not_exist_are_refused(wrong):
    for name, places in (
        ("follow_nearest", [4]),
        ("list_links", [0]),
        ("graph_sums", [2, 3]),
        ("sum_ratios", [1]),
    ):
        for place in places:
            arguments = good_arguments()[name]
            arguments[place].flat[1] = wrong
            with pytest.raises(ValueError, match="existing"):
                getattr(kernels.compiled, name)(*arguments)


@needs_compiled
@pytest.mark.parametrize("n_gone", [-1, 3])
def test_more_features_cannot_be_removed_than_changed(n_gone):
    arguments = good_arguments()["follow_nearest"]
    arguments[1] = n_gone
    with pytest.raises(ValueError, match="no more features can"):
        kernels.compiled.follow_nearest(*arguments)

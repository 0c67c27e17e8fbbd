"""Sums over edges and weighted samples. The compiled and numpy versions agree bitwise, for any other
columns and any number of threads.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_limits

from graphsieve import _kernels as kernels
from graphsieve import scores
from graphsieve._kernels import column_sums
from graphsieve._kernels.column_sums import (
    Numbers,
    column_extremes,
    edge_sums,
    mean_alone,
    mean_and_scatter,
    readable,
)
from graphsieve._kernels.line import line_pairs, line_reach

needs_compiled = pytest.mark.skipif(
    not hasattr(kernels.compiled, "edge_sums"),
    reason="the kernels are not compiled, or the numpy versions are requested",
)
N = 90


@pytest.fixture(params=[0, 2**12])
def few_places(request, monkeypatch):
    """Store the weightings as lists of samples, and as dense arrays."""
    monkeypatch.setattr(column_sums, "FEW_PLACES", request.param)


@pytest.fixture(params=[2**16, 32])
def at_once(request, monkeypatch):
    """Number of terms per partial sum: all, or a few."""
    monkeypatch.setattr(column_sums, "EDGES_AT_ONCE", request.param)
    monkeypatch.setattr(column_sums, "SAMPLES_AT_ONCE", request.param)
    return request.param


def numbers(kind: str, width: int) -> Numbers:
    """Columns with values of different magnitudes. `kind` determines how they are stored."""
    rng = np.random.default_rng(width)
    rows = rng.normal(size=(N, width + 7)) * 10.0 ** rng.integers(-9, 9, size=width + 7)
    scale, shift = np.ldexp(1.0, rng.integers(-20, 20, size=width)), rng.normal(size=width)
    if kind == "prepared":
        return Numbers(np.ascontiguousarray(rows[:, :width]))
    if kind == "slice":  # a view of a wider array
        return Numbers(rows[:, 3 : width + 3], scale, shift)
    return Numbers(rows[::-1, :width].astype(np.float32), scale, shift)


def edge_list(n_edges: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n_edges)
    return (*rng.integers(N, size=(2, n_edges)), rng.random(n_edges))


def one_by_one(
    values: np.ndarray, first: np.ndarray, second: np.ndarray, weights: np.ndarray, power: int
) -> np.ndarray:
    """The definition: every column separately, edge by edge."""
    total = np.zeros(values.shape[1])
    for i, j, weight in zip(first, second, weights, strict=True):
        gap = values[i] - values[j]
        total += weight * (np.abs(gap) if power == 1 else gap * gap)
    return total


# With few edges, the columns are not copied.
@pytest.mark.parametrize("settings", [(0, 2), (1, 1), (40, 1), (40, 2), (300, 1), (300, 2)])
@pytest.mark.parametrize("width", [1, 5, 32, 33, 100, 600])
@pytest.mark.parametrize("kind", ["prepared", "slice", "single"])
def test_edge_sums_have_the_bits_of_the_definition(kind, width, settings, plain, at_once):
    n_edges, power = settings
    given, listed = numbers(kind, width), edge_list(n_edges)
    expected = np.zeros(width)
    for start in range(0, n_edges, at_once):
        expected += one_by_one(
            given.values(), *(column[start : start + at_once] for column in listed), power
        )
    assert_array_equal(edge_sums(given, *listed, power), expected)
    assert_array_equal(plain(edge_sums, given, *listed, power), expected)


def weightings(shape: str) -> sp.csc_array:
    rng = np.random.default_rng(1)
    dense = rng.random((N, 4))
    if shape == "groups":
        dense *= np.eye(4)[rng.integers(4, size=N)]
    elif shape == "one":
        dense[rng.random(N) < 0.3] = 0
        return sp.csc_array(dense[:, :1])
    elif shape == "few":
        dense *= rng.random((N, 4)) < 0.05
    if shape != "full":
        dense[:, 2] = 0  # a weighting without samples
    return sp.csc_array(dense)


@pytest.mark.parametrize("shape", ["full", "dense", "groups", "few", "one"])
@pytest.mark.parametrize("width", [1, 5, 100, 600])
@pytest.mark.parametrize("kind", ["prepared", "slice", "single"])
@pytest.mark.usefixtures("few_places", "at_once")
def test_moments_have_the_same_bits(kind, width, shape, plain):
    given, by = numbers(kind, width), weightings(shape)
    mass = np.asarray(by.sum(axis=0))
    mean, scatter = mean_and_scatter(given, by, mass)
    plain_mean, plain_scatter = plain(mean_and_scatter, given, by, mass)
    assert_array_equal(mean, plain_mean)
    assert_array_equal(scatter, plain_scatter)
    values, weights = given.values(), by.toarray()
    as_array = mean_and_scatter(given, by.toarray(), mass)
    assert_array_equal(as_array, [mean, scatter])
    assert_array_equal(mean_alone(given, by, mass), mean)
    for which in np.flatnonzero(mass):
        # The tolerance is relative to the magnitude of the column. If a column hardly varies, this
        # direct formula loses its significant digits.
        size = np.abs(values).max(axis=0)
        expected = weights[:, which] @ values / mass[which]
        assert (np.abs(mean[which] - expected) <= 1e-12 * size).all()
        around = weights[:, which] @ (values - expected) ** 2
        assert (np.abs(scatter[which] - around) <= 1e-12 * size**2 * mass[which]).all()


@needs_compiled
@pytest.mark.parametrize("n_threads", [2, 3, 50])
@pytest.mark.usefixtures("at_once")
def test_threads_and_neighbouring_columns_change_no_bit(n_threads, monkeypatch):
    given, listed, by = numbers("slice", 200), edge_list(300), weightings("dense")
    mass = np.asarray(by.sum(axis=0))
    alone = [
        edge_sums(given, *listed),
        *mean_and_scatter(given, by, mass),
        column_extremes(given.rows),
    ]
    monkeypatch.setattr(column_sums, "SHARED_FROM", 1)
    monkeypatch.setattr(column_sums, "available_threads", lambda: n_threads)
    shared = [
        edge_sums(given, *listed),
        *mean_and_scatter(given, by, mass),
        column_extremes(given.rows),
    ]
    for one, other in zip(alone, shared, strict=True):
        assert_array_equal(one, other)
    column = slice(150, 151)
    lonely = Numbers(given.rows[:, column], given.scale[column], given.shift[column])
    assert_array_equal(edge_sums(lonely, *listed), alone[0][column])
    assert_array_equal(mean_and_scatter(lonely, by, mass)[1], alone[2][:, column])


@needs_compiled
def test_a_limit_on_blas_threads_limits_our_threads(monkeypatch):
    monkeypatch.setattr(column_sums, "SHARED_FROM", 1)
    monkeypatch.setattr(column_sums, "in_threads", None)  # No thread may be started.
    with threadpool_limits(1):
        edge_sums(numbers("slice", 200), *edge_list(300))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 5, 300])
def test_extremes_are_those_of_numpy(width, dtype, plain):
    rows = np.random.default_rng(width).integers(-3, 4, size=(50, width)).astype(dtype)
    rows[::7] *= -1  # includes zeros of both signs
    rows = np.concatenate([rows + dtype(5), rows, -rows - dtype(5)], axis=1)[:, : 3 * width]
    found, expected = column_extremes(rows), plain(column_extremes, rows)
    assert_array_equal(found, expected)
    assert_array_equal(np.signbit(found[2]), np.signbit(expected[2]))


@needs_compiled
def test_arrays_that_kernels_cannot_read_are_summed_by_numpy():
    rows = np.arange(12.0).reshape(4, 3)
    for good in (
        rows,
        rows.astype(np.float32),
        rows[::2],
        rows[:, 1:],
        rows[:, ::2][:, :1],
        rows[::-1],
    ):
        assert readable(good)
    for bad in (
        np.asfortranarray(rows),
        rows[:, ::2],
        rows.astype(int),
        rows.astype(">f8"),
        rows[:0],
        sp.csr_array(rows),
    ):
        assert not readable(bad)
    ends = (np.array([0, 1]), np.array([2, 3]))
    assert_array_equal(
        edge_sums(Numbers(np.asfortranarray(rows)), *ends, np.ones(2)), [72.0, 72.0, 72.0]
    )


@needs_compiled
def test_arrays_that_do_not_fit_are_refused():
    floats, integers = np.zeros, lambda *values: np.array(values, dtype=np.int64)
    good = {
        "edge_sums": [floats((4, 3)), floats(3), floats(3), integers(0), integers(1), floats(1), 2, 0, 3, floats(3)],
        "weighted_sums": [
            floats((4, 3)), floats(3), floats(3), integers(0, 1, 1, 1, 2), integers(0, 1), floats(2), floats((2, 3)), None, 0, 3,
            floats((2, 3)),
        ],
        "column_extremes": [floats((4, 3)), 0, 3, floats((3, 3))],
    }  # fmt: skip
    read_only = floats(3)
    read_only.flags.writeable = False
    wrong = {
        "edge_sums": [
            (0, floats(3)), (0, floats((0, 3))), (0, floats((4, 3), dtype=np.int64)), (0, floats((4, 6))[:, ::2]), (0, "rows"),
            (1, None), (1, floats(2)), (2, floats(3, dtype=np.float32)), (3, integers(4)), (3, integers(-1)), (4, integers(0, 1)),
            (3, np.array([0], dtype=np.int32)), (5, floats(2)), (6, 3), (7, -1), (8, 4), (9, floats(4)), (9, read_only),
        ],
        "weighted_sums": [
            (3, integers(0, 1)), (3, integers(0, 2, 1, 1, 2)), (3, integers(0, 1, 1, 1, 3)), (3, integers(1, 1, 1, 1, 2)),
            (4, integers(0, 2)), (4, integers(0, -1)), (5, floats(3)), (6, floats((2, 2))),
            (6, floats((3, 3))), (6, floats(3)), (7, floats((1, 3))),
            (7, floats(3)), (7, "center"), (8, 4), (10, floats((1, 3))), (10, floats((2, 4))), (3, None), (4, None),
        ],
        "column_extremes": [(0, floats(3)), (1, 2.5), (2, 4), (3, floats((2, 3))), (3, floats((3, 2))), (3, None)],
    }  # fmt: skip
    for name, cases in wrong.items():
        function = getattr(kernels.compiled, name)
        function(*good[name])
        for place, value in cases:
            args = list(good[name])
            args[place] = value
            with pytest.raises((ValueError, TypeError)):
                function(*args)
    in_all = [*good["weighted_sums"][:3], None, None, floats(8), *good["weighted_sums"][6:]]
    kernels.compiled.weighted_sums(*in_all)
    with pytest.raises(ValueError, match="weightings"):
        kernels.compiled.weighted_sums(*in_all[:5], floats(7), *in_all[6:])
    for none in (0, 2):  # empty ranges of columns
        kernels.compiled.edge_sums(
            *good["edge_sums"][:3],
            integers(*range(4)),
            integers(*range(4)),
            floats(4),
            2,
            none,
            none,
            floats(3),
        )
    assert edge_sums(Numbers(floats((4, 0))), integers(0), integers(1), floats(1)).shape == (0,)
    with pytest.raises(ValueError, match="without a scale"):
        kernels.compiled.edge_sums(floats((4, 3), np.float32), None, None, *good["edge_sums"][3:])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_are_the_same_with_plain_kernels(dtype, plain):
    rng = np.random.default_rng(2)
    X, y = (
        (rng.normal(size=(60, 40)) * 10.0 ** rng.integers(-4, 9, size=40) + 5).astype(dtype),
        np.arange(60) % 3,
    )
    probabilities = rng.dirichlet(np.ones(3), 60)
    for function, known in (
        (scores.laplacian_score, {"bandwidth": 1e18}),
        (scores.fisher_score, {"y": y}),
        (scores.weighted_laplacian_score, {"label_proba": probabilities}),
        (scores.supervised_laplacian_score, {"y": rng.normal(size=60)}),
        (scores.constraint_score, {"must_link": [(0, 3), (1, 4)], "cannot_link": [(0, 1), (2, 3)]}),
    ):
        assert_array_equal(function(X, **known), plain(function, X, **known))


@needs_compiled
@pytest.mark.parametrize("k", [1, 3, 40])
def test_pairs_along_a_line_are_the_same_with_plain_kernels(k, plain):
    values = np.sort(np.random.default_rng(k).integers(0, 10_000, size=200).astype(float) ** 2)
    values = np.unique(values)
    reach = np.sort(np.abs(values[:, None] - values), axis=1)[:, k]
    given = (values, reach, np.random.default_rng(1).permutation(len(values)))
    found = line_pairs(*given)
    assert len(found[0]) >= k * len(values) / 2
    for one, other in zip(found, plain(line_pairs, *given), strict=True):
        assert_array_equal(one, other)
    floats, integers = np.zeros(3), np.zeros(3, dtype=np.int64)
    good = [floats, floats, integers, integers, integers.copy(), floats.copy()]
    for place, value in enumerate(
        [integers, floats[:2], integers[:2], floats, integers[:2], floats[:2]]
    ):
        with pytest.raises(ValueError, match=r"has length|must have"):
            kernels.compiled.line_pairs(*good[:place], value, *good[place + 1 :])
    assert all(
        len(column) == 0
        for column in line_pairs(np.ones(1), np.zeros(1), np.zeros(1, dtype=np.int64))
    )


@pytest.mark.parametrize("k", [1, 4, 30])
def test_the_reach_along_a_line_is_how_far_the_kth_nearest_is(k, plain):
    # Many values are equal.
    values = np.sort(np.random.default_rng(k).integers(0, 20, size=60).astype(float) ** 3)
    expected = np.sort(np.abs(values[:, None] - values), axis=1)[:, k]
    assert_array_equal(line_reach(values, k), expected)
    assert_array_equal(plain(line_reach, values, k), expected)


@needs_compiled
def test_the_reach_refuses_arrays_that_do_not_fit():
    for values, reach in (
        (np.zeros(3), np.zeros(2)),
        (np.zeros(3, dtype=int), np.zeros(3)),
        (np.zeros(3), np.zeros((3, 1))),
    ):
        with pytest.raises(ValueError, match=r"has length|must have"):
            kernels.compiled.line_reach(values, 1, reach)

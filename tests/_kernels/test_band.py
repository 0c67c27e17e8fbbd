"""Band graphs agree with their weight matrices. The compiled and numpy versions agree bitwise, for
any number of threads.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from graphsieve import _kernels as kernels
from graphsieve import scores
from graphsieve._base.errors import InputError
from graphsieve._kernels import band, column_sums
from graphsieve._kernels.band import Band
from graphsieve._kernels.column_sums import Numbers, column_extremes
from graphsieve._kernels.line import line_band, line_pairs, line_reach, line_squares
from graphsieve.graphs.builders import target_graph
from graphsieve.graphs.graph import BandGraph, SparseGraph
from graphsieve.graphs.neighbors.exact import target_runs
from graphsieve.table.columns import MemoryTable

needs_compiled = pytest.mark.skipif(
    not hasattr(kernels.compiled, "band_sums"),
    reason="the kernels are not compiled, or the numpy versions are requested",
)
N = 150


def random_band(most: int, n: int = N) -> Band:
    """Link each place with up to `most` later ones. Some weights, and all weights of some places,
    are zero.
    """
    rng = np.random.default_rng(most)
    counts = np.minimum(rng.integers(0, most + 1, size=n), n - 1 - np.arange(n))
    begin = np.concatenate([[0], np.cumsum(counts)])
    weights = rng.random(begin[-1]) * (rng.random(begin[-1]) < 0.8)
    made = Band(rng.permutation(n), begin, weights)
    low, high = made.places()
    # One group has no weight.
    weights[(low < 3) | (high < 3) | (low // 32 == 2) | (high // 32 == 2)] = 0
    return made


def weight_matrix(made: Band) -> np.ndarray:
    """Compute the weight matrix by definition, place by place."""
    W = np.zeros((len(made.order), len(made.order)))
    for place, begin in enumerate(made.begin[:-1]):
        for step, weight in enumerate(made.weights[begin : made.begin[place + 1]], start=1):
            one, other = made.order[place], made.order[place + step]
            W[one, other] = W[other, one] = weight
    return W


def numbers(kind: str, width: int, n: int = N) -> Numbers:
    rng = np.random.default_rng(width)
    values = rng.normal(size=(n, width + 2))
    values[:, 0] = 7.0  # a constant column
    scale, shift = np.ldexp(1.0, rng.integers(-3, 3, size=width)), rng.normal(size=width)
    if kind == "prepared":
        return Numbers(np.ascontiguousarray(values[:, :width]))
    if kind == "slice":
        return Numbers(values[:, :width], scale, shift)
    return Numbers(values[:, :width].astype(np.float32), scale, shift)


@pytest.fixture(params=[2**16, 64])
def at_once(request, monkeypatch):
    """Number of places per partial sum: all, or a few."""
    monkeypatch.setattr(band, "PLACES_AT_ONCE", request.param)
    return request.param


@pytest.mark.parametrize("most", [0, 1, 5, 31, 32, 90])  # also more than the ring holds
@pytest.mark.parametrize("width", [1, 8, 13, 300])
@pytest.mark.parametrize("kind", ["prepared", "slice", "single"])
@pytest.mark.usefixtures("at_once")
def test_sums_are_those_of_the_weight_matrix(kind, width, most, plain):
    made, given_numbers = random_band(most), numbers(kind, width)
    W, values = weight_matrix(made), given_numbers.values()
    degree = W.sum(axis=1)
    energy, spread = made.energy_and_spread(given_numbers)
    assert_allclose(made.degree(), degree, rtol=1e-13)
    assert_allclose(energy, [0.5 * (W * (f[:, None] - f) ** 2).sum() for f in values.T], rtol=1e-12)
    mean = degree @ values / degree.sum() if degree.any() else np.zeros(width)
    assert_allclose(spread, degree @ (values - mean) ** 2, rtol=1e-12, atol=1e-25)
    assert energy[0] == spread[0] == 0
    assert_array_equal(made.energy(given_numbers), energy)
    assert_array_equal(plain(made.degree), made.degree())
    assert_array_equal(plain(made.energy, given_numbers), energy)
    assert_array_equal(plain(made.energy_and_spread, given_numbers), [energy, spread])


@pytest.mark.parametrize("plainly", ["0", "1"])
def test_variation_without_weight_gives_a_spread_of_exactly_zero(plainly, monkeypatch):
    if plainly == "1":
        monkeypatch.setattr(kernels, "compiled", None)
    made = random_band(5)
    values = np.full((N, 1), 0.1)
    values[made.degree() == 0] = 0.7
    assert_array_equal(made.energy_and_spread(Numbers(values)), [[0.0], [0.0]])


@needs_compiled
@pytest.mark.parametrize("n_threads", [2, 3])
@pytest.mark.usefixtures("at_once")
def test_threads_and_neighbouring_columns_change_no_bit(n_threads, monkeypatch):
    made, given_numbers = random_band(5), numbers("slice", 200)
    alone = made.energy_and_spread(given_numbers)
    monkeypatch.setattr(column_sums, "SHARED_FROM", 1)
    monkeypatch.setattr(column_sums, "available_threads", lambda: n_threads)
    assert_array_equal(made.energy_and_spread(given_numbers), alone)
    column = slice(150, 151)
    lonely = Numbers(
        given_numbers.rows[:, column], given_numbers.scale[column], given_numbers.shift[column]
    )
    assert_array_equal(made.energy_and_spread(lonely), np.array(alone)[:, column])


def test_a_band_is_the_graph_of_its_edges():
    made = random_band(4)
    graph = BandGraph(*made)
    ((first, second, weights),) = graph.edges()
    assert (weights > 0).all()
    same = SparseGraph(N, first, second, weights)
    assert_array_equal(same.matrix.toarray(), weight_matrix(made))
    X = np.random.default_rng(0).normal(size=(N, 4)) * (np.arange(4) > 0)
    for table in (MemoryTable(X), MemoryTable(sp.csc_array(X))):
        assert_allclose(graph.energy(table), same.energy(X), rtol=1e-12)
        assert_allclose(graph.spread(table), same.spread(X), rtol=1e-12)


@given(
    target=hnp.arrays(
        np.float64,
        st.integers(2, 40),
        elements=st.floats(-1e3, 1e3).map(lambda value: round(value, 2)),
        unique=True,
    ),
    k=st.integers(1, 6),
    plainly=st.booleans(),
)
def test_pairs_along_a_line_are_with_the_next_few(target, k, plainly):
    with pytest.MonkeyPatch.context() as patch:
        if plainly:
            patch.setattr(kernels, "compiled", None)
        runs = target_runs(target, min(k, len(target) - 1))
        found = runs.band()
        assert found is not None
        first, second, squared = runs.sample_pairs()
        made = Band(runs.order, *found)
        low, high = made.places()
    assert_array_equal(runs.order[low], first)
    assert_array_equal(runs.order[high], second)
    assert_array_equal(found[1], squared)


@pytest.mark.parametrize("n", [1, 2, 6, 511, 513, 1500])
@pytest.mark.parametrize("k", [1, 3, 40])
def test_pairs_have_no_gaps_and_are_the_same_with_plain_kernels(n, k, plain):
    values = np.sort(np.random.default_rng(n).normal(size=n))
    reach = line_reach(values, min(k, n - 1))
    begin = line_band(values, reach, k)
    assert_array_equal(plain(line_band, values, reach, k), begin)
    assert_array_equal(plain(line_squares, values, begin), line_squares(values, begin))
    low = line_pairs(values, reach, np.arange(n))[0]
    assert_array_equal(np.bincount(low, minlength=n), np.diff(begin))


@pytest.mark.parametrize("plainly", ["0", "1"])
def test_distances_that_tie_by_rounding_alone_are_no_band(plainly, monkeypatch):
    """In float64, 1 − 0, 1 − 1e-17 and 1 − 2e-17 are equal. The first value is therefore a pair
    with the fourth, but not with the third.
    """
    if plainly == "1":
        monkeypatch.setattr(kernels, "compiled", None)
    target = np.array([0, 1e-17, 2e-17, 1.0, 5.0])
    assert target_runs(target, 1).band() is None
    graph = target_graph(target, 1, 1.0).graph
    assert isinstance(graph, SparseGraph)
    assert len(graph.weights) == 6
    assert isinstance(target_graph(np.arange(5.0) ** 2, 1, 1.0).graph, BandGraph)


def test_the_supervised_score_does_not_depend_on_the_order_of_samples_or_on_storage():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(300, 6)) * (rng.random((300, 6)) < 0.5), rng.normal(size=300)
    expected = scores.supervised_laplacian_score(X, y)
    order = rng.permutation(300)
    assert_allclose(scores.supervised_laplacian_score(X[order], y[order]), expected, rtol=1e-13)
    assert_allclose(scores.supervised_laplacian_score(sp.csr_array(X), y), expected, rtol=1e-13)
    assert_array_equal(scores.supervised_laplacian_score(np.asfortranarray(X), y), expected)
    assert_array_equal(
        scores.supervised_laplacian_score(np.repeat(X, 40, axis=1), y), np.repeat(expected, 40)
    )


@needs_compiled
def test_arrays_that_do_not_fit_are_refused():
    floats, integers = np.zeros, lambda *values: np.array(values, dtype=np.int64)
    order, begin = integers(3, 2, 1, 0), integers(0, 2, 3, 3, 3)
    read_only = floats((2, 3))
    read_only.flags.writeable = False
    good = {
        "band_sums": [
            floats((4, 3)), floats(3), floats(3), order, begin, floats(3), floats(4), floats(1), floats((1, 3)), 0, 4, 0, 3,
            floats((2, 3)),
        ],
        "band_degree": [begin, floats(3), floats(4)],
        "line_band": [floats(3), floats(3), 1, integers(0, 0, 0, 0)],
        "line_squares": [floats(3), integers(0, 2, 2, 2), floats(2)],
    }  # fmt: skip
    wrong = {
        "band_sums": [
            (0, floats((3, 3))), (0, "rows"), (1, None), (2, floats(2)), (3, integers(4, 2, 1, 0)), (3, integers(3, 2, 1, -1)),
            (3, integers(3, 2, 1)), (4, integers(0, 2, 3, 3)), (4, integers(0, 2, 3, 3, 4)), (4, integers(0, 2, 1, 3, 3)),
            (4, integers(-1, 2, 3, 3, 3)), (4, integers(0, 4, 4, 4, 3)), (5, floats(2)), (6, floats(3)), (6, None),
            (7, floats(2)), (8, None),
            (8, floats((2, 3))), (8, floats((1, 2))), (9, 1), (9, -1), (10, 3), (10, 5), (11, -1), (12, 4), (13, floats((1, 3))),
            (13, floats((2, 2))), (13, read_only), (13, floats(3)),
        ],
        "band_degree": [
            (0, integers(0, 2, 3, 3)), (0, integers(0, 2, 3, 3, 4)), (0, integers(0, 4, 3, 3, 3)), (0, floats(5)), (1, floats(2)),
            (2, floats(3)), (2, integers(0, 0, 0, 0)),
        ],
        "line_band": [(0, floats(2)), (1, floats(2)), (1, integers(0, 0, 0)), (2, 1.5), (3, floats(4)), (3, integers(0, 0, 0))],
        "line_squares": [
            (0, floats(2)), (1, integers(0, 3, 3, 3)), (1, integers(0, 1, 1, 2)), (1, integers(0, 2, 3, 2)),
            (1, integers(0, 2, 2)), (1, integers(-1, 1, 1, 1)), (2, floats(3)), (2, integers(0, 0)),
        ],
    }  # fmt: skip
    for name, cases in wrong.items():
        function = getattr(kernels.compiled, name)
        function(*good[name])
        for place, value in cases:
            args = list(good[name])
            args[place] = value
            with pytest.raises((ValueError, TypeError)):
                function(*args)
    energies_alone = [
        *good["band_sums"][:6],
        None,
        None,
        None,
        1,
        3,
        *good["band_sums"][11:13],
        floats((1, 3)),
    ]
    kernels.compiled.band_sums(*energies_alone)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_extremes_show_what_is_not_finite(dtype, n_threads, monkeypatch):
    monkeypatch.setattr(column_sums, "SHARED_FROM", 1)
    monkeypatch.setattr(column_sums, "available_threads", lambda: n_threads)
    X = np.random.default_rng(0).normal(size=(40, 7)).astype(dtype)
    for row in (0, 20, 39):
        missing = X.copy()
        missing[row, 2] = np.nan
        expected = column_extremes(X)
        expected[:, 2] = np.nan
        assert_array_equal(column_extremes(missing), expected)
        for value in (np.nan, np.inf, -np.inf):
            missing[row, 2] = value
            with pytest.raises(InputError, match=f"column 2, first at row {row};"):
                MemoryTable(missing)

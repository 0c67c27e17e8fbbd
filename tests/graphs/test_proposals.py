"""Proposals give valid bounds on distances for any data, and searches with them are exact."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from scipy.spatial import cKDTree

from graphsieve import _kernels as kernels
from graphsieve._base.threads import in_threads
from graphsieve.graphs.neighbors import exact as neighbors
from graphsieve.graphs.neighbors import proposals
from graphsieve.graphs.neighbors.exact import nearest_neighbors, squared_distances
from graphsieve.graphs.neighbors.proposals import (
    DensePoints,
    DenseTiles,
    ProductProposals,
    SparsePoints,
    SparseTiles,
    TreeProposals,
)

RNG = np.random.default_rng(0)
GAUSSIAN = RNG.normal(size=(260, 7))
GROUPS = RNG.normal(size=(4, 7))[RNG.integers(4, size=260)]
KINDS_OF_ROWS = {
    "gaussian": GAUSSIAN,
    "offset": np.rint(GAUSSIAN * 1024) / 1024 + 1e8,
    "large": GAUSSIAN * 1e12,
    "small": GAUSSIAN * 1e-12,
    "very large": GAUSSIAN * 1e100,
    "very small": GAUSSIAN * 1e-100,
    "columns of all sizes": GAUSSIAN * 10.0 ** np.arange(-9, 12, 3),
    "tight groups": 100 * GROUPS + 1e-7 * GAUSSIAN,
    "tighter than float64 products can resolve": 1000 * GROUPS + 1e-12 * GAUSSIAN,
    "an outlier": np.where(np.arange(260)[:, None] == 99, 1e30, GAUSSIAN),
    "one far from a point": np.where(np.arange(260)[:, None] == 99, 1.0, 1e-40 * GAUSSIAN),
    "squares that underflow": np.where(np.arange(260)[:, None] == 99, 1.0, 1e-170 * GAUSSIAN),
    "grid": RNG.integers(3, size=(260, 7)).astype(float),
    "copies": GAUSSIAN[RNG.integers(20, size=260)],
    "constant": np.full((260, 7), 0.3),
    "wide": np.tile(RNG.normal(size=(260, 40)), 60),
}


def naive(rows, k, queries, candidates):
    """Compare all pairs by explicit differences, sorted by distance and then by index."""
    first, second = np.repeat(queries, len(candidates)), np.tile(candidates, len(queries))
    distances = np.zeros(len(first))
    for column in rows.T:
        distances += (column[first] - column[second]) ** 2
    distances = np.where(first == second, np.inf, distances).reshape(len(queries), -1)
    order = np.lexsort((np.tile(candidates, (len(queries), 1)), distances), axis=1)[:, :k]
    return candidates[order], np.take_along_axis(distances, order, axis=1)


@pytest.fixture(params=["compiled", "plain"])
def _either_kernels(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setattr(kernels, "compiled", None)


@pytest.fixture(params=["products", "tree"])
def _no_shortcut(request, monkeypatch):
    """Search small tables like large ones."""
    monkeypatch.setattr(neighbors, "DIRECT_UP_TO", 0)
    monkeypatch.setattr(neighbors, "TRIAL_FROM", 100)
    monkeypatch.setattr(proposals, "TILE_ROWS", 100)
    monkeypatch.setattr(neighbors, "TREE_ROWS", 10**9 if request.param == "products" else 0)


@pytest.mark.slow
@pytest.mark.usefixtures("_either_kernels", "_no_shortcut")
@pytest.mark.parametrize("name", list(KINDS_OF_ROWS))
def test_a_search_equals_the_comparison_of_all_pairs(name):
    rows = KINDS_OF_ROWS[name]
    all_rows = np.arange(len(rows))
    for queries, candidates, k in (
        (all_rows, all_rows, 5),
        (all_rows[::3], all_rows, 1),
        (all_rows, all_rows[20:100], 20),
        (all_rows[::2], all_rows[1::2], 3),
        (all_rows[:9], all_rows, len(rows) - 1),
    ):
        expected = naive(rows, k, queries, candidates)
        for container in (np.ascontiguousarray, sp.csr_array):
            indices, distances = nearest_neighbors(
                container(rows), k, queries=queries, candidates=candidates
            )
            assert_array_equal(indices, expected[0])
            assert_array_equal(distances, expected[1])


def all_proposals(rows):
    """Yield proposals of each kind for all rows."""
    all_rows = np.arange(len(rows))
    for kind in (np.float32, np.float64):
        yield ProductProposals(DenseTiles(DensePoints(rows, kind), all_rows, all_rows), 8)
        yield ProductProposals(DenseTiles(DensePoints(rows, kind), all_rows[::2], all_rows), 8)
    yield ProductProposals(SparseTiles(SparsePoints(sp.csr_array(rows)), all_rows, all_rows), 8)
    yield TreeProposals(cKDTree(rows), rows, 8)


@pytest.mark.parametrize(
    "name", [name for name in KINDS_OF_ROWS if name != "squares that underflow"]
)
def test_bounds_hold_for_proposed_and_other_candidates(name):
    rows = KINDS_OF_ROWS[name]
    all_rows = np.arange(len(rows))
    exact = squared_distances(
        rows, np.repeat(all_rows, len(rows)), np.tile(all_rows, len(rows))
    ).reshape(len(rows), -1)
    checked = 0
    for found in all_proposals(rows):
        expected_distances = (
            exact if len(found.part(slice(0, 260)).positions) == len(rows) else exact[::2]
        )
        proposal = found.part(slice(0, len(expected_distances)))
        near = np.take_along_axis(expected_distances, proposal.positions.astype(np.int64), axis=1)
        slack = 1 + 1e-12  # rounding error of the explicit distances
        assert (proposal.at_least <= near * slack).all()
        assert (near <= proposal.at_most * slack).all()
        others = np.ones(expected_distances.shape, dtype=bool)
        np.put_along_axis(others, proposal.positions.astype(np.int64), False, axis=1)
        others &= ~np.eye(len(rows), dtype=bool) if len(expected_distances) == len(rows) else True
        assert (
            np.where(others, expected_distances, np.inf) * slack >= proposal.beyond[:, None]
        ).all()
        checked += 1
    assert checked == 6


def test_float32_suffices_for_ordinary_rows(monkeypatch):
    """If float32 failed, each search would run twice, and only the run time would show it."""
    monkeypatch.setattr(neighbors, "DIRECT_UP_TO", 0)
    kinds = []
    original = proposals.DensePoints.__init__
    monkeypatch.setattr(
        proposals.DensePoints,
        "__init__",
        lambda self, rows, kind: kinds.append(kind) or original(self, rows, kind),
    )
    for width in (6, 300, 3000):
        nearest_neighbors(np.random.default_rng(1).normal(size=(400, width)), 10)
    assert kinds == [np.float32] * 3


def test_tight_groups_skip_the_search_in_float32(monkeypatch):
    """A trial with a few queries shows that float32 is not precise enough."""
    tried = []
    original = proposals.DenseTiles.__init__

    def record_and_call(self, points, queries, candidates):
        tried.append((points.kind, len(queries)))
        original(self, points, queries, candidates)

    monkeypatch.setattr(proposals.DenseTiles, "__init__", record_and_call)
    monkeypatch.setattr(neighbors, "TRIAL_FROM", 500)
    rng = np.random.default_rng(2)
    nearest_neighbors(
        100 * rng.normal(size=(3, 10))[rng.integers(3, size=640)]
        + 1e-5 * rng.normal(size=(640, 10)),
        5,
    )
    assert tried == [(np.float32, 64), (np.float64, 640)]


def test_threads_do_not_change_the_result(monkeypatch):
    rows = np.random.default_rng(3).normal(size=(900, 30))
    one = nearest_neighbors(rows, 7)
    for module in (proposals, neighbors):
        monkeypatch.setattr(module, "threads_for", lambda _: 3)
    monkeypatch.setattr(proposals, "TILE_ROWS", 90)
    for _ in range(3):
        several = nearest_neighbors(rows, 7)
        assert_array_equal(one[0], several[0])
        assert_array_equal(one[1], several[1])


def test_an_error_in_one_thread_stops_the_others():
    done = []

    def work(jobs):
        for job in jobs:
            done.append(job)
            if job == 5:
                raise ZeroDivisionError
            time.sleep(0.001)

    with pytest.raises(ZeroDivisionError):
        in_threads(work, range(10_000), 2)
    assert len(done) < 5_000
    in_threads(work, range(6, 100), 2)
    assert sorted(done[-94:]) == list(range(6, 100))

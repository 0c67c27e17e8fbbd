"""Prototypes: the map follows its published formula, and supervision is never compressed."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import spearmanr

import lookalikes
from graphsieve import GraphSieve, GraphSieveWarning, InputError, Supervision
from graphsieve.graphs import prototypes
from graphsieve.graphs.builders import neighbor_graph
from graphsieve.graphs.graph import LiftedGraph, SparseGraph
from graphsieve.graphs.prototypes import COMPRESSIONS, compressed, kmeans, som
from graphsieve.graphs.ratio import laplacian_ratio
from graphsieve.scores import METHODS
from graphsieve.table.columns import MemoryTable
from strategies import problems

HOW = sorted(COMPRESSIONS)


def blobs(n=300, p=5, seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(n, p)) * np.linspace(2, 0.5, p)
        + 4 * rng.normal(size=(4, p))[rng.integers(4, size=n)]
    )


def slow_epoch(rows, units, sides, radius):
    """Compute Eq. 14 as printed, except for the square of δ.

    A breadth-first search on the lattice gives the path length δ.
    """
    n_units = len(units)
    paths = np.array([path_lengths(unit, sides) for unit in range(n_units)])
    numerator, denominator = np.zeros_like(units), np.zeros(n_units)
    for row in rows:
        winner = min(range(n_units), key=lambda unit: (np.sum((row - units[unit]) ** 2), unit))
        for unit in range(n_units):
            influence = np.exp(-(paths[unit, winner] ** 2) / (2 * radius**2))
            numerator[unit] += influence * row
            denominator[unit] += influence
    return numerator / denominator[:, None]


def path_lengths(start, sides):
    steps, frontier = {divmod(start, sides[1]): 0}, [divmod(start, sides[1])]
    while frontier:
        row, column = frontier.pop(0)
        for there in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            if 0 <= there[0] < sides[0] and 0 <= there[1] < sides[1] and there not in steps:
                steps[there] = steps[row, column] + 1
                frontier.append(there)
    return [steps[divmod(unit, sides[1])] for unit in range(sides[0] * sides[1])]


def nearest_distances(rows, units):
    return np.sqrt(((rows[:, None] - units[None]) ** 2).sum(axis=2)).min(axis=1)


def by_position(found):
    """Return the centres in an order that does not depend on the order of the units."""
    return found.centers[np.lexsort(found.centers.T[::-1])]


# --- The map
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("sides", "radius"), [((3, 2), 1.5), ((1, 4), 0.7), ((4, 4), 0.5)])
def test_an_epoch_is_equation_14(sparse, sides, radius):
    rng = np.random.default_rng(3)
    rows = 5 + rng.normal(size=(40, 3))
    units = 5 + rng.normal(size=(sides[0] * sides[1], 3))
    samples = prototypes.Samples(sp.csr_array(rows) if sparse else rows)
    found = samples.mean + prototypes.epoch(
        samples, units - samples.mean, prototypes.lattice_paths(sides), radius
    )
    assert_allclose(found, slow_epoch(rows, units, sides, radius), rtol=1e-10)


def test_ties_between_units_are_broken_by_the_lower_unit():
    # The middle sample has the same distance to both positions, and the two units at 2 are equal.
    samples = prototypes.Samples(np.array([[0.0], [1.0], [2.0]]))
    units = np.array([[0.0], [2.0], [2.0]]) - samples.mean
    assert_array_equal(samples.nearest(units), [0, 0, 1])


@pytest.mark.parametrize("sparse", [False, True])
def test_rounding_errors_do_not_break_ties_between_units(sparse):
    # The middle row has equal distances to both units in exact arithmetic. In floating point, it is
    # closer to either of them.
    rng = np.random.default_rng(0)
    for _ in range(20):
        one, other = rng.normal(size=(2, 50))
        rows = np.stack([one, (one + other) / 2, other])
        samples = prototypes.Samples(sp.csr_array(rows) if sparse else rows)
        assert_array_equal(samples.nearest(np.stack([one, other]) - samples.mean), [0, 0, 1])
        assert_array_equal(samples.nearest(np.stack([other, one]) - samples.mean), [1, 0, 0])


@given(problem=problems(ties=True), seed=st.integers(0, 99))
def test_every_sample_is_assigned_to_a_nearest_unit(problem, seed):
    rows = problem.X
    units = np.random.default_rng(seed).permutation(rows)[:4]
    for given_rows in (rows, sp.csr_array(rows)):
        samples = prototypes.Samples(given_rows)
        chosen = units[samples.nearest(units - samples.mean)]
        assert_allclose(
            np.sqrt(((rows - chosen) ** 2).sum(axis=1)), nearest_distances(rows, units), atol=1e-6
        )


def test_a_tiny_radius_leaves_every_unit_with_a_position():
    # Far from every unit with samples, exp(−δ²/2T²) underflows to 0. Such a unit moves to the mean
    # of the samples of the nearest unit with samples.
    rows = np.array([[0.0], [0.0], [3.0]])
    samples = prototypes.Samples(rows)
    units = np.linspace(0, 900, 10)[:, None] - samples.mean
    moved = samples.mean + prototypes.epoch(samples, units, prototypes.lattice_paths((10, 1)), 0.01)
    assert_allclose(moved, np.full((10, 1), 1.0))


def test_the_map_starts_in_the_principal_plane():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 4)) * [1, 9, 3, 0.1] + 7
    samples = prototypes.Samples(rows)
    axes, deviations = samples.principal_plane()
    units, _, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[::-1]
    assert_allclose(np.abs(units[:2] @ axes), np.eye(2), atol=1e-9)
    assert_allclose(
        deviations, np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)[:2] / 500**0.5
    )
    plane = prototypes.initial_plane((2, 5), axes, deviations)
    # The longer side extends along the first axis, from −1 to 1 standard deviations.
    assert_allclose(plane[4] - plane[0], 2 * deviations[0] * axes[:, 0])
    assert_allclose(plane[5] - plane[0], 2 * deviations[1] * axes[:, 1])


@pytest.mark.parametrize("sparse", [False, True])
def test_approximate_axes_of_many_features_are_close_to_exact_axes(monkeypatch, sparse):
    rows = blobs(200, 30, seed=2) * np.linspace(3, 0.1, 30)
    given_rows = sp.csr_array(rows) if sparse else rows
    exact, deviations = prototypes.Samples(rows).principal_plane()
    monkeypatch.setattr(prototypes, "EXACT_AXES_UP_TO", 5)
    axes, found = prototypes.Samples(given_rows).principal_plane()
    assert_allclose(axes, exact, atol=1e-5)
    assert_allclose(found, deviations, rtol=1e-6)


@pytest.mark.parametrize("shape", [None, 12, (4, 3)])
def test_training_moves_the_map_closer_to_the_samples(shape):
    rows = blobs()
    samples = prototypes.Samples(rows)
    axes, deviations = samples.principal_plane()
    plane = prototypes.initial_plane(
        prototypes.lattice_sides(shape, len(rows), deviations), axes, deviations
    )
    assert (
        som(rows, shape).quantization_error < nearest_distances(rows, samples.mean + plane).mean()
    )


def test_the_map_keeps_the_order_of_a_line():
    # Neighbouring units of the lattice must be neighbours on the curve.
    t = np.linspace(0, 1, 400)
    found = som(np.column_stack([np.cos(2 * t), np.sin(2 * t), t]), (12, 1))
    along = found.centers[:, 2]
    assert len(along) == 12
    assert (np.diff(along) > 0).all() or (np.diff(along) < 0).all()


@pytest.mark.parametrize(
    ("n_units", "ratio", "sides"),
    [(12, 3.0, (6, 2)), (16, 1.0, (4, 4)), (7, 7.0, (7, 1)), (1, 5.0, (1, 1))],
)
def test_units_are_arranged_by_the_ratio(n_units, ratio, sides):
    assert prototypes.arranged(n_units, ratio) == sides


@given(n_units=st.integers(1, 5000), ratio=st.floats(1, 10))
def test_an_arrangement_is_nearly_filled_and_nearly_in_ratio(n_units, ratio):
    rows, columns = prototypes.arranged(n_units, ratio)
    assert 0.7 * n_units <= rows * columns <= n_units
    assert rows >= columns >= 1
    if n_units >= 100:
        assert 0.5 < rows / columns / ratio < 2


def test_a_default_map_has_about_the_root_of_the_samples():
    found = som(blobs(900))
    assert 20 <= len(found.counts) <= 30


# --- Both methods
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("how", HOW)
@given(problem=problems(ties=True), size=st.integers(1, 5))
def test_a_prototype_is_the_mean_of_its_samples(how, sparse, problem, size):
    rows = problem.X
    found = COMPRESSIONS[how](sp.csr_array(rows) if sparse else rows, size, 0)
    assert 1 <= len(found.counts) <= size
    assert found.counts.min() >= 1
    assert found.assignment.shape == (len(rows),)
    for place, center in enumerate(found.centers):
        members = found.assignment == place
        assert members.sum() == found.counts[place]
        assert_allclose(center, rows[members].mean(axis=0), atol=1e-9)
    distances = np.sqrt(((rows - found.centers[found.assignment]) ** 2).sum(axis=1))
    assert found.quantization_error == pytest.approx(distances.mean(), abs=1e-6)
    assert found.counts.dtype == found.assignment.dtype == np.int64
    assert found.centers.dtype == np.float64


@pytest.mark.parametrize("how", HOW)
def test_most_samples_are_nearest_to_their_own_prototype(how):
    rows = blobs(500)
    found = COMPRESSIONS[how](rows, 20, 0)
    nearest = ((rows[:, None] - found.centers) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == found.assignment).mean() > 0.9


@pytest.mark.parametrize("how", HOW)
def test_sparse_and_dense_rows_give_the_same_prototypes(how):
    rng = np.random.default_rng(5)
    rows = blobs(200, 8) * (rng.random((200, 8)) < 0.4)
    dense, sparse = COMPRESSIONS[how](rows, 14, 0), COMPRESSIONS[how](sp.csr_array(rows), 14, 0)
    assert_array_equal(dense.assignment, sparse.assignment)
    assert_allclose(dense.centers, sparse.centers, atol=1e-12)
    assert dense.quantization_error == pytest.approx(sparse.quantization_error)


@pytest.mark.parametrize("offset", [2.0**20, 2.0**24, 2.0**30])
@pytest.mark.parametrize("how", HOW)
def test_an_offset_changes_no_prototype(how, offset):
    """Adding the offset is exact, because the samples are on a grid.

    The column with zeros has no offset.
    """
    rows = np.round(np.random.default_rng(6).normal(size=(200, 6)) * 2**16) / 2**16
    rows[:, 5] *= rows[:, 5] > 0
    far = rows + offset * (np.arange(6) < 5)
    expected = COMPRESSIONS[how](rows, 12, 0)
    for kind in (np.array, sp.csr_array):
        found = COMPRESSIONS[how](kind(far), 12, 0)
        assert_array_equal(found.assignment, expected.assignment)
        assert_allclose(
            found.centers, expected.centers + offset * (np.arange(6) < 5), rtol=1e-15, atol=1e-12
        )
        assert found.quantization_error == pytest.approx(expected.quantization_error)


@pytest.mark.parametrize("how", HOW)
def test_results_are_reproducible(how):
    rows = blobs(400)
    one, other = COMPRESSIONS[how](rows, 20, 3), COMPRESSIONS[how](rows.copy(), 20, 3)
    assert_array_equal(one.centers, other.centers)
    assert_array_equal(one.assignment, other.assignment)


def test_only_kmeans_has_a_seed():
    rows = blobs(400)
    errors = {
        how: {COMPRESSIONS[how](rows, 20, seed).quantization_error for seed in range(4)}
        for how in HOW
    }
    assert len(errors["som"]) == 1
    assert len(errors["kmeans"]) > 1


@pytest.mark.parametrize("how", HOW)
def test_shift_and_scale(how):
    rows = blobs(200)
    found = COMPRESSIONS[how](rows, 12, 0)
    scaled = COMPRESSIONS[how](rows * 2.0**-40, 12, 0)
    assert_array_equal(scaled.assignment, found.assignment)
    assert_allclose(scaled.centers * 2.0**40, found.centers, rtol=1e-12)
    assert scaled.quantization_error * 2.0**40 == pytest.approx(found.quantization_error)
    shifted = COMPRESSIONS[how](rows + 1e6, 12, 0)
    assert_allclose(by_position(shifted) - 1e6, by_position(found), atol=1e-6)


def test_row_order_does_not_move_the_map():
    rows = blobs(200)
    order = np.random.default_rng(1).permutation(200)
    one, other = som(rows, (4, 3)), som(rows[order], (4, 3))
    assert_array_equal(one.assignment[order], other.assignment)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("rows", [np.ones((9, 2)), np.repeat([[0.0, 1.0], [5.0, 1.0]], 6, axis=0)])
def test_copies_share_a_prototype(how, rows):
    different = len(np.unique(rows, axis=0))
    found = COMPRESSIONS[how](rows, 4, 0)
    assert len(found.counts) == different
    assert found.quantization_error == 0


def test_mini_batches_give_similar_prototypes(monkeypatch):
    rows = blobs(600)
    whole = kmeans(rows, 10)
    monkeypatch.setattr(prototypes, "MINIBATCH_FROM", 1)
    batches = kmeans(rows, 10)
    assert batches.counts.sum() == 600
    assert not np.array_equal(batches.assignment, whole.assignment)
    assert batches.quantization_error < 1.3 * whole.quantization_error


# --- Whole tables
# --------------------------------------------------------------------------------------------------


def numbered(n=60, p=4):
    """Return rows with the sample number in the last column, so that rows can be identified."""
    return np.column_stack([blobs(n, p - 1), np.arange(n)])


def values_of(table):
    rows, exponent = table.rows
    return (rows.toarray() if sp.issparse(rows) else rows) * 2.0**exponent


LABELS = np.where(np.arange(60) % 20 == 3, np.arange(60) // 20, -1)
SUPERVISION = {
    "labels": (Supervision.from_labels(LABELS), [3, 23, 43]),
    "targets": (Supervision.from_targets(np.where(LABELS >= 0, LABELS / 4, np.nan)), [3, 23, 43]),
    "pairs": (
        Supervision.from_pairs(60, must_link=[(50, 7)], cannot_link=[(7, 9), (30, 31)]),
        [7, 9, 30, 31, 50],
    ),
    "labels and pairs": (
        Supervision.from_labels(LABELS) | Supervision.from_pairs(60, [(2, 59)]),
        [2, 3, 23, 43, 59],
    ),
    "nothing": (Supervision.nothing(60), []),
}


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", SUPERVISION)
def test_samples_with_supervision_are_kept_unchanged(kind, how, sparse):
    known, kept = SUPERVISION[kind]
    X = numbered()
    small = compressed(MemoryTable(sp.csr_array(X) if sparse else X), known, how, 6)
    found = values_of(small.table)
    assert small.table.is_sparse == sparse
    assert_array_equal(found[: len(kept)], X[kept])
    assert len(small.known) == len(found) == len(small.counts) == len(kept) + small.n_prototypes
    assert 1 <= small.n_prototypes <= 6
    assert_array_equal(small.counts[: len(kept)], 1)
    assert small.counts.sum() == 60
    # The mean of the rows, weighted by counts, is the mean of the samples.
    assert_allclose(small.counts @ found / 60, X.mean(axis=0))
    assert small.known.kinds == known.kinds
    for place in range(len(found)):
        assert_allclose(X[small.member == place].mean(axis=0), found[place])


def test_supervision_stays_with_its_samples():
    known = Supervision.from_labels(LABELS) | Supervision.from_targets(
        np.where(LABELS >= 0, LABELS / 4, np.nan)
    )
    known = known | Supervision.from_pairs(
        60, must_link=[(50, 7), (7, 2)], cannot_link=[(3, 23), (9, 50)]
    )
    small = compressed(MemoryTable(numbered()), known, "som", 5)
    number = values_of(small.table)[:, -1].round(9)
    assert {tuple(number[pair]) for pair in small.known.must_link} == {(7, 50), (2, 7)}
    assert {tuple(number[pair]) for pair in small.known.cannot_link} == {(3, 23), (9, 50)}
    labeled = small.known.labels >= 0
    assert_array_equal(number[labeled], [3, 23, 43])
    assert_array_equal(small.known.classes[small.known.labels[labeled]], [0, 1, 2])
    assert_array_equal(small.known.targets[labeled], [0, 0.25, 0.5])
    assert np.isnan(small.known.targets[~labeled]).all()


@pytest.mark.parametrize("sparse", [False, True])
def test_columns_of_any_magnitude_keep_their_units(sparse):
    X = numbered()
    X[:, 0] = np.where(X[:, 0] > 0, 1e300, 3e300)
    X[:, 1] = 1e-300 * (1 + np.arange(60))
    X[:, 2] += 1e8
    known = SUPERVISION["labels"][0]
    small = compressed(MemoryTable(sp.csc_array(X) if sparse else X), known, "kmeans", 2)
    columns = [
        np.ldexp((block.dense(j) + block.shift[j]), block.exponent[j])
        for block in map(_Dense, small.table.blocks())
        for j in range(len(block.shift))
    ]
    found = np.column_stack(columns)
    # Only the first column affects the distances.
    for value, counted in (
        (1e300, (X[LABELS < 0, 0] == 1e300)),
        (3e300, (X[LABELS < 0, 0] == 3e300)),
    ):
        place = 3 + int(np.flatnonzero(np.isclose(found[3:, 0], value, rtol=1e-12))[0])
        assert small.counts[place] == counted.sum()
        assert_allclose(found[place, 1:], X[LABELS < 0][counted, 1:].mean(axis=0), rtol=1e-12)


class _Dense:
    """A block that returns each column as a dense array."""

    def __init__(self, block):
        self.values = block.values.toarray() if block.is_sparse else block.values
        self.shift, self.exponent = block.shift, block.exponent

    def dense(self, column):
        return self.values[:, column]


@pytest.mark.parametrize("how", HOW)
def test_copies_of_a_column_stay_copies(how):
    X = numbered()
    X = np.column_stack([X, X[:, 1], 4 * X[:, 1]])
    found = values_of(compressed(MemoryTable(X), SUPERVISION["pairs"][0], how, 6).table)
    assert_array_equal(found[:, 1], found[:, 4])
    assert_array_equal(4 * found[:, 1], found[:, 5])


def test_column_names_are_kept():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(numbered(), columns=list("abcd"))
    assert compressed(
        MemoryTable(frame), SUPERVISION["nothing"][0], "som", 4
    ).table.feature_names == tuple("abcd")


def test_no_large_dense_array_for_sparse_tables(monkeypatch):
    """Neither the map nor its table may convert all sparse samples to a dense array."""
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 2000), density=0.01, rng=rng, format="csr")
    densified = []
    for kind in (sp.csr_array, sp.csc_array, sp.coo_array):
        original = kind.toarray
        monkeypatch.setattr(
            kind,
            "toarray",
            lambda self, *a, _original=original, **k: (
                densified.append(self.shape) or _original(self, *a, **k)
            ),
        )
    small = compressed(MemoryTable(X), Supervision.nothing(300), "som", (4, 3))
    assert small.table.is_sparse
    assert all(rows * columns <= 12 * 2000 for rows, columns in densified)


# --- Graphs lifted to the samples
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("own", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("sparse", [False, True])
@given(problem=problems(ties=True), seed=st.integers(0, 99))
def test_a_lifted_graph_is_the_expanded_one(sparse_stays_sparse, sparse, own, problem, seed):
    rng = np.random.default_rng(seed)
    n = len(problem.X)
    member = rng.permutation(np.arange(n) % min(4, n))
    n_rows = int(member.max()) + 1
    weights = np.triu(rng.random((n_rows, n_rows)) * (rng.random((n_rows, n_rows)) < 0.7), k=1)
    counts = np.bincount(member)
    expanded = np.zeros((n, n))
    for a in range(n):
        for b in range(n):
            i, j = member[a], member[b]
            expanded[a, b] = (weights + weights.T)[i, j] / np.sqrt(counts[i] * counts[j])
            if i == j and a != b:
                expanded[a, b] += own / counts[i]
    reference = SparseGraph.from_matrix(expanded)
    lifted = LiftedGraph(
        SparseGraph(n_rows, *np.nonzero(weights), weights[np.nonzero(weights)]), member, own=own
    )
    X = sp.csc_array(problem.X) if sparse else problem.X
    assert_allclose(lifted.degree(), reference.degree(), atol=1e-12)
    assert_allclose(lifted.energy(X), reference.energy(X), atol=1e-9)
    assert_allclose(lifted.spread(X), reference.spread(X), atol=1e-9)
    for vectors in (problem.X, problem.X[:, 0]):
        assert_allclose(lifted.times(vectors), expanded @ vectors, atol=1e-9)
    together = lifted.components()[:, None] == lifted.components()
    linked = SparseGraph.from_matrix(expanded + (member[:, None] == member)).components()
    assert_array_equal(together, linked[:, None] == linked)


def test_a_graph_of_single_samples_is_lifted_to_itself():
    X = blobs(30)
    graph = neighbor_graph(MemoryTable(X), 3, None).graph
    lifted = LiftedGraph(graph, np.arange(30))
    assert_allclose(lifted.energy(X), graph.energy(X), rtol=1e-12)
    assert_allclose(lifted.degree(), graph.degree())


def test_noise_unrelated_to_the_prototypes_keeps_a_score_of_one():
    """A column that is too small to affect distances is independent of the graph.

    Its energy equals its spread, up to random variation.
    """
    rng = np.random.default_rng(0)
    t = rng.random(900)
    table = MemoryTable(
        np.column_stack([4 * t, np.cos(6 * t), np.sin(6 * t), 1e-6 * rng.normal(size=900)])
    )
    small = compressed(table, Supervision.nothing(900), "som", None)
    lifted = laplacian_ratio(
        table, LiftedGraph(neighbor_graph(small.table, 5, None).graph, small.member, own=0.0)
    )
    assert lifted[3] == pytest.approx(1, abs=0.15)
    assert (lifted[:3] < 0.5).all()


# --- Errors and warnings
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "size"),
    [
        (Supervision.from_labels(np.arange(6) % 2), None),  # no sample left
        (Supervision.from_labels([0, 1, 0, 1, 0, -1]), None),  # one left
        (Supervision.nothing(6), 7),
        (Supervision.nothing(6), 6),  # as many prototypes as samples
    ],
)
@pytest.mark.parametrize("how", HOW)
def test_nothing_to_compress(how, known, size):
    table = MemoryTable(np.arange(12.0).reshape(6, 2))
    with pytest.warns(GraphSieveWarning, match="nothing to compress"):
        small = compressed(table, known, how, size)
    assert small.table is table
    assert small.known is known
    assert_array_equal(small.counts, np.ones(6))
    assert_array_equal(small.member, np.arange(6))
    assert small.n_prototypes == 0


def test_a_map_larger_than_the_samples_compresses_nothing():
    table = MemoryTable(np.arange(12.0).reshape(6, 2))
    with pytest.warns(GraphSieveWarning, match="12 prototypes were requested, but only 6 samples"):
        assert compressed(table, Supervision.nothing(6), "som", (3, 4)).table is table


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("smo", 3), "did you mean 'som'"),
        (("Kmeans", 3), "did you mean 'kmeans'"),
        ((None, 3), "one of 'som', 'kmeans'"),
        (("som", (0, 3)), "side of a map must be an integer of at least 1, got 0"),
        (("som", (2, 3, 1)), "two sides"),
        (("som", (2, 1.5)), "got 1.5"),
        (("som", 0), "at least 1, got 0"),
        (("kmeans", 2.5), "got 2.5"),
        (("kmeans", True), "got True"),
        (("kmeans", (2, 2)), "k-means has none"),
        # An error even if there is nothing to compress
        (("kmeans", (6, 6)), "k-means has none"),
    ],
)
def test_bad_parameters(arguments, message):
    with pytest.raises(InputError, match=message):
        compressed(MemoryTable(blobs(30)), Supervision.nothing(30), *arguments)


@pytest.mark.parametrize(("way", "size"), [(som, (4, 3)), (som, 12), (kmeans, 12)])
def test_more_prototypes_than_samples(way, size):
    with pytest.raises(
        InputError, match="at most the number of samples they stand for, 10, got 12"
    ):
        way(blobs(10), size)


def test_the_number_of_epochs_is_checked():
    with pytest.raises(InputError, match="n_epochs must be an integer of at least 1, got 0"):
        som(blobs(10), 2, n_epochs=0)


def test_probabilities_are_not_compressed():
    with pytest.raises(InputError, match="probabilities cannot be compressed"):
        compressed(
            MemoryTable(blobs(4)), Supervision.from_probabilities([[0.5, 0.5]] * 4), "som", 2
        )


def test_the_input_is_not_modified():
    X = blobs(50)
    before = X.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for how in HOW:
            compressed(MemoryTable(X), Supervision.nothing(50), how, 5)
    assert_array_equal(X, before)


# --- In a sieve
# --------------------------------------------------------------------------------------------------


def supervision_for(name, n):
    rng = np.random.default_rng(1)
    if name == "semi_supervised_laplacian":
        return Supervision.from_targets(
            np.where(np.arange(n) % 5 == 0, np.round(rng.normal(size=n), 1), np.nan)
        )
    if "labels" in METHODS[name].uses:
        return Supervision.from_labels(np.where(np.arange(n) % 5 == 0, np.arange(n) % 2, -1))
    return Supervision.nothing(n)


@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
@pytest.mark.parametrize("how", ["som", "kmeans"])
@pytest.mark.parametrize(
    "name", [name for name, method in METHODS.items() if method.reads_neighbors]
)
def test_every_score_with_a_graph_from_x_can_be_compressed(name, how):
    """With many prototypes, the scores rank features nearly as the scores from all samples do."""
    X = blobs(300)
    known = supervision_for(name, 300)
    whole = GraphSieve(name).fit(X, supervision=known)
    few, many = (
        GraphSieve(name, compress=how, n_prototypes=n).fit(X, supervision=known) for n in (12, 120)
    )
    assert 0 < few.n_prototypes_ <= 12 < many.n_prototypes_ <= 120
    assert few.n_labeled_ == whole.n_labeled_
    assert np.isfinite(few.scores_).all()
    assert spearmanr(many.scores_, whole.scores_)[0] > 0.8
    sparse = GraphSieve(name, compress=how, n_prototypes=12, scale=None).fit(
        sp.csr_array(X), supervision=known
    )
    dense = GraphSieve(name, compress=how, n_prototypes=12, scale=None).fit(X, supervision=known)
    assert_allclose(sparse.scores_, dense.scores_, rtol=1e-6)


def test_full_supervision_leaves_nothing_to_compress():
    X = blobs(60)
    labels = np.arange(60) % 3
    with pytest.warns(GraphSieveWarning, match="nothing to compress"):
        found = GraphSieve("constrained_laplacian", compress="som").fit(X, labels)
    assert_array_equal(found.scores_, GraphSieve("constrained_laplacian").fit(X, labels).scores_)
    assert found.n_prototypes_ == 0


def test_compression_without_a_graph_from_x_is_refused():
    X = blobs(60)
    with pytest.raises(InputError, match="'fisher' builds no graph from X"):
        GraphSieve("fisher", compress="som").fit(X, np.arange(60) % 3)
    with pytest.raises(InputError, match="n_prototypes=4 requires compress"):
        GraphSieve("laplacian", n_prototypes=4).fit(X)
    with pytest.raises(InputError, match="did you mean 'kmeans'"):
        GraphSieve("laplacian", compress="kmean").fit(X)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*single known member")
def test_waveform_noise_has_the_worst_constrained_scores():
    """Figure 3 of the paper, with 8 labels and a map of 26 × 14.

    Columns 1 and 21 are also noise by construction.
    """
    X, y = lookalikes.load("waveform")
    for seed in range(3):
        labeled = np.random.default_rng(seed).choice(len(y), 8, replace=False)
        few = np.full(len(y), -1)
        few[labeled] = np.unique(y, return_inverse=True)[1][labeled]
        sieve = GraphSieve(
            "constrained_laplacian", compress="som", n_prototypes=(26, 14), scale=None
        ).fit(X, few)
        assert (sieve.ranking_[21:] > 40 - 19).sum() >= 17
        assert sieve.n_prototypes_ <= 26 * 14

"""Harmonic labels equal the textbook inverse where it is stable and exact fractions elsewhere.

They never leave [0, 1].
"""

from __future__ import annotations

import warnings
from fractions import Fraction

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import lookalikes
import oracle
from graphsieve import GraphSieveWarning, InputError, Supervision
from graphsieve.search import propagation
from graphsieve.search.propagation import (
    by_elimination,
    by_factorization,
    harmonic_labels,
    propagate,
    solve_sparse,
)
from graphsieve.table.columns import MemoryTable
from strategies import grid_values, problems


def assert_probabilities(found: np.ndarray, y: np.ndarray) -> None:
    assert np.isfinite(found).all()
    assert found.min() >= 0
    assert found.max() <= 1
    assert_allclose(found.sum(axis=1), 1.0, rtol=0, atol=1e-9)
    known = np.flatnonzero(y >= 0)
    assert_array_equal(found[known], np.eye(found.shape[1])[y[known]])


def blobs(
    n: int, *, n_classes: int = 3, n_features: int = 4, n_labeled: int = 30, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping groups with a few labels. Each class has at least one."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    X = 2 * rng.normal(size=(n_classes, n_features))[truth] + rng.normal(size=(n, n_features))
    return X, np.where(np.arange(n) < n_labeled, truth, -1)


# ---- Comparison with the textbook formula


@given(problem=problems(ties=False), width=st.sampled_from([3.0, 10.0, 100.0]))
def test_equals_the_inverse(problem, width):
    found = harmonic_labels(problem.X, problem.labels, bandwidth=width)
    assert_allclose(
        found, oracle.harmonic_labels(problem.X, problem.labels, bandwidth=width), rtol=0, atol=1e-9
    )
    assert_probabilities(found, problem.labels)


@given(problem=problems(ties=True), k=st.integers(1, 5))
def test_equals_the_inverse_on_neighbors(problem, k):
    with warnings.catch_warnings():
        # There are components without a label, which the inverse cannot handle.
        warnings.simplefilter("ignore", GraphSieveWarning)
        found = propagate(
            MemoryTable(problem.X),
            Supervision.from_labels(problem.labels),
            n_neighbors=k,
            bandwidth=10.0,
        )
    assert_probabilities(found.probabilities, problem.labels)
    # A component without labels cannot be inverted. It has no links to the others, so declaring it
    # labelled does not change them.
    labels = np.where(found.unreached, 0, problem.labels)
    expected = oracle.harmonic_labels(problem.X, labels, n_neighbors=k, bandwidth=10.0)
    reached = ~found.unreached
    assert_allclose(found.probabilities[reached], expected[reached], rtol=0, atol=1e-9)
    assert_allclose(found.probabilities[found.unreached], 1 / expected.shape[1])


def test_worked_by_hand():
    """d² is 1 from 0 to 1, 4 from 1 to 3, and 9 between the labels. The sample in between leaves
    with the ratio e^-1 : e^-4.
    """
    found = harmonic_labels([[0.0], [1.0], [3.0]], ["near", None, "far"], bandwidth=1.0)
    expected = np.exp(-4.0) / (np.exp(-4.0) + np.exp(-1.0))
    assert_allclose(found, [[0, 1], [expected, 1 - expected], [1, 0]], rtol=1e-14)


# ---- The bandwidth


small_tables = st.tuples(st.integers(4, 14), st.integers(1, 2)).flatmap(
    lambda shape: st.tuples(
        hnp.arrays(np.float64, shape, elements=grid_values(-4, 4)),
        hnp.arrays(np.int64, shape[0], elements=st.integers(-1, 2)),
    )
)


@given(drawn=small_tables, k=st.sampled_from([None, 1, 2, 3]))
def test_the_bandwidth_is_that_of_the_first_edge_between_labels(drawn, k):
    """On a coarse grid, ties, duplicates and duplicates with different labels are common."""
    X, y = drawn
    if len(set(y.tolist()) - {-1}) < 2:
        y[:2] = [0, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        found = propagate(MemoryTable(X), Supervision.from_labels(y), n_neighbors=k, bandwidth=None)
    squared = oracle.first_edge_between_labels(X, y, n_neighbors=k)
    assert_allclose(found.bandwidth, 1.0 if squared is None else squared / 9, rtol=1e-14)


def test_equal_samples_of_different_labels_do_not_set_the_bandwidth():
    X, y = [[0.0], [0.0], [1.0], [3.0], [9.0]], [0, 1, -1, 1, -1]
    found = propagate(MemoryTable(X), Supervision.from_labels(y), n_neighbors=None, bandwidth=None)
    # 0 – 1 – 3: the edge of length 2 joins the label at 3 to the label 0 at 0.
    assert_allclose(found.bandwidth, 4 / 9)
    nothing_else = propagate(
        MemoryTable(X),
        Supervision.from_labels([0, 1, -1, -1, -1]),
        n_neighbors=None,
        bandwidth=None,
    )
    assert nothing_else.bandwidth == 1.0
    assert_allclose(nothing_else.probabilities[2:], 0.5)


# ---- Exactness


def weights_of(powers: np.ndarray) -> list[list[Fraction]]:
    return [
        [Fraction(0) if np.isneginf(x) else Fraction(2) ** int(x) for x in row] for row in powers
    ]


def random_powers(
    rng: np.random.Generator, n: int, n_classes: int, lowest: int, missing: float
) -> np.ndarray:
    """Integer binary logarithms of symmetric weights, some of them missing. Each sample has a path
    to a class.
    """
    inner = np.triu(rng.integers(lowest, 1, size=(n, n)).astype(float), 1)
    inner[np.triu(rng.random((n, n)) < missing, 1)] = -np.inf
    outer = rng.integers(lowest, 1, size=(n, n_classes)).astype(float)
    outer[1:][rng.random((n - 1, n_classes)) < missing] = -np.inf
    chain = np.arange(n - 1)
    inner[chain, chain + 1] = np.where(
        np.isneginf(inner[chain, chain + 1]), lowest, inner[chain, chain + 1]
    )
    inner = np.where(np.tri(n, dtype=bool), inner.T, inner)
    np.fill_diagonal(inner, -np.inf)
    return np.hstack([outer, inner])


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 7),
    n_classes=st.integers(2, 3),
    lowest=st.sampled_from([-3, -60, -1_000, -4_000]),
    missing=st.sampled_from([0.0, 0.5, 0.8]),
)
def test_elimination_equals_fractions(seed, n, n_classes, lowest, missing):
    powers = random_powers(np.random.default_rng(seed), n, n_classes, lowest, missing)
    expected = oracle.harmonic_labels_exact(weights_of(powers), n_classes)
    assert_allclose(
        by_elimination(powers, n_classes), np.array(expected, dtype=float), rtol=1e-13, atol=1e-300
    )


def test_weights_of_exp_minus_a_million_are_exact():
    """Two samples are linked by weight 1, to class 0 by 2^-1500000 · (1, 2) and to class 1 by
    2^-1500000 · (4, 1).
    """
    low = -1_500_000.0
    powers = np.array([[low, low + 2, -np.inf, 0.0], [low + 1, low, 0.0, -np.inf]])
    assert_allclose(by_elimination(powers, 2), [[3 / 8, 5 / 8], [3 / 8, 5 / 8]], rtol=1e-15)
    assert by_factorization(powers, 2) is None


def test_elimination_in_parts_equals_elimination_at_once(monkeypatch):
    powers = random_powers(np.random.default_rng(3), 40, 3, -400, 0.3)
    at_once = by_elimination(powers, 3)
    monkeypatch.setattr(propagation, "CACHED_ELEMENTS", 1)
    assert_allclose(by_elimination(powers, 3), at_once, rtol=1e-13, atol=1e-300)


@given(problem=problems(ties=False, min_samples=10), width=st.floats(0.5, 50.0))
def test_factorization_is_taken_only_where_it_agrees_with_elimination(problem, width):
    logarithms = -oracle.squared_distances(problem.X) / width
    np.fill_diagonal(logarithms, -np.inf)
    powers = np.hstack([logarithms[:, :2] * 0.5, logarithms])
    powers[:2, :2] = -1.0
    factorized = by_factorization(powers, 2)
    if factorized is not None:
        assert_allclose(factorized, by_elimination(powers, 2), rtol=0, atol=1e-10)


def test_factorization_is_taken_where_the_graph_is_easy():
    powers = np.hstack([np.zeros((5, 2)), np.where(np.eye(5, dtype=bool), -np.inf, 0.0)])
    assert_allclose(by_factorization(powers, 2), 0.5)


@pytest.mark.parametrize("bandwidth", [1e-300, 1e-30, 1e-3, 1e30, 1e300])
@pytest.mark.parametrize("k", [None, 3])
def test_any_bandwidth_gives_probabilities(bandwidth, k):
    X, y = blobs(60)
    assert_probabilities(harmonic_labels(X, y, n_neighbors=k, bandwidth=bandwidth), y)


def test_the_smallest_bandwidth_follows_the_nearest():
    """In the limit a sample follows its shortest edge: 1 goes to 0, and 4 goes to 6 (and not
    through 1).
    """
    found = harmonic_labels([[0.0], [1.0], [4.0], [6.0]], [0, -1, -1, 1], bandwidth=1e-290)
    assert_allclose(found, [[1, 0], [1, 0], [0, 1], [0, 1]], atol=1e-15)


def test_the_largest_bandwidth_takes_the_shares_of_the_labels():
    """All weights are 1, so an unlabelled sample reaches each label with the same probability."""
    X, _ = blobs(20)
    y = np.array([0, 0, 0, 1] + [-1] * 16)
    assert_allclose(
        harmonic_labels(X, y, bandwidth=1e300)[4:], np.tile([0.75, 0.25], (16, 1)), rtol=1e-12
    )


# ---- Sparse graphs


@pytest.fixture
def always_sparse(monkeypatch):
    """Solve every neighbour graph as a sparse graph, with the given solver."""

    def by(solver: str) -> None:
        monkeypatch.setattr(propagation, "DENSE_UP_TO", 0)
        monkeypatch.setattr(propagation, "FACTORS_UP_TO", 10**9 if solver == "factors" else 0)
        if solver == "factors":
            monkeypatch.setattr(
                propagation,
                "by_gradients",
                lambda _: lambda residual: np.full_like(residual, np.nan),
            )

    return by


@pytest.mark.parametrize("solver", ["factors", "gradients"])
@pytest.mark.parametrize("bandwidth", [0.3, 2.0, 50.0])
def test_sparse_solvers_equal_the_dense_one(always_sparse, solver, bandwidth):
    X, y = blobs(600)
    expected = harmonic_labels(X, y, n_neighbors=8, bandwidth=bandwidth)
    always_sparse(solver)
    found = harmonic_labels(X, y, n_neighbors=8, bandwidth=bandwidth)
    assert_allclose(found, expected, rtol=0, atol=1e-9)
    assert_probabilities(found, y)


def hanging_pair(tie: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two samples with a link of weight 1, each linked to a class by 2**tie, as edges from both
    ends.
    """
    return np.array([0, 1, 0, 1]), np.array([0, 1, 3, 2]), np.array([tie, tie, 0.0, 0.0])


@pytest.mark.parametrize("solver", ["factors", "gradients"])
def test_the_width_is_raised_if_nothing_can_be_proven(always_sparse, solver):
    """At 2^-1200 a random walk never leaves the pair in float64. At a root of this weight it does."""
    always_sparse(solver)
    assert solve_sparse(*hanging_pair(-1200.0), 2, 2).deviation > 1
    found, raised = propagation.solve_raised(*hanging_pair(-1200.0), 2, 2)
    assert raised in (16.0, 64.0, 256.0)
    # f = (tie · 1 + 1 · g) / (1 + tie), and by symmetry g = 1 − f
    tie = 2.0 ** (-1200 / raised)
    assert_allclose(
        found.values,
        [[(1 + tie) / (2 + tie), 1 / (2 + tie)], [1 / (2 + tie), (1 + tie) / (2 + tie)]],
        atol=1e-9,
    )


def test_a_raised_bandwidth_is_reported(always_sparse):
    """Pairs of close samples far from all others.

    The links between pairs are too weak for float64 at the given bandwidth, but not at some
    multiple of it.
    """
    rng = np.random.default_rng(0)
    X = np.repeat(10 * rng.normal(size=(40, 2)), 2, axis=0) + 0.01 * rng.normal(size=(80, 2))
    y = np.full(80, -1)
    y[[0, 20, 40]] = [0, 1, 1]
    expected = {
        t: harmonic_labels(X, y, n_neighbors=5, bandwidth=t) for t in 0.01 * 4.0 ** np.arange(12)
    }
    always_sparse("gradients")
    with pytest.warns(
        GraphSieveWarning, match="too weak for float64; the bandwidth was multiplied by 1024"
    ):
        found = propagate(MemoryTable(X), Supervision.from_labels(y), n_neighbors=5, bandwidth=0.01)
    assert found.bandwidth > 0.01
    nearest = min(expected, key=lambda t: abs(np.log(t / found.bandwidth)))
    assert_allclose(found.bandwidth, nearest, rtol=1e-12)
    assert_allclose(found.probabilities, expected[nearest], atol=1e-9)


def test_the_factorization_is_used_if_gradients_fail(always_sparse, monkeypatch):
    X, y = blobs(400)
    expected = harmonic_labels(X, y, n_neighbors=8, bandwidth=2.0)
    always_sparse("gradients")
    monkeypatch.setattr(propagation, "MOST_ITERATIONS", 2)
    with pytest.warns(GraphSieveWarning, match="could not be propagated accurately"):
        poor = harmonic_labels(X, y, n_neighbors=8, bandwidth=2.0)
    assert_probabilities(poor, y)
    assert np.abs(poor - expected).max() > 1e-6
    monkeypatch.setattr(propagation, "FACTORS_UP_TO", 10**9)
    assert_allclose(
        harmonic_labels(X, y, n_neighbors=8, bandwidth=2.0), expected, rtol=0, atol=1e-9
    )


def test_the_bound_holds(always_sparse, monkeypatch):
    """If the iteration stops early, the error of the solution does not exceed the bound."""
    X, y = blobs(400)
    always_sparse("gradients")
    captured = {}
    walk = propagation._walk
    monkeypatch.setattr(
        propagation, "_walk", lambda *graph: captured.setdefault("walk", walk(*graph))
    )
    expected = harmonic_labels(X, y, n_neighbors=8, bandwidth=5.0)[y < 0]
    monkeypatch.setattr(propagation, "REFINEMENTS", 1)
    proven = 0
    for iterations in (20, 40, 60):
        monkeypatch.setattr(propagation, "MOST_ITERATIONS", iterations)
        found, bound = propagation.refine(
            captured["walk"], propagation.by_gradients(captured["walk"])
        )
        assert np.abs(found - expected).max() <= bound + 1e-10
        proven += bound < 1
    assert proven


# ---- Invariances


@pytest.mark.parametrize("k", [None, 5])
def test_row_order_shift_and_scale_change_nothing(k):
    rng = np.random.default_rng(5)
    # The values are chosen so that shifts are exact.
    X = np.rint(rng.normal(size=(80, 3)) * 2**20) / 2**20
    y = np.where(np.arange(80) < 12, np.arange(80) % 3, -1)
    expected = harmonic_labels(X, y, n_neighbors=k)
    order = rng.permutation(80)
    assert_allclose(
        harmonic_labels(X[order], y[order], n_neighbors=k), expected[order], rtol=0, atol=1e-9
    )
    assert_allclose(harmonic_labels(X + 1024.0, y, n_neighbors=k), expected, rtol=0, atol=1e-9)
    for power in (-600, -30, 30, 600):
        assert_array_equal(harmonic_labels(np.ldexp(X, power), y, n_neighbors=k), expected)


@pytest.mark.parametrize("k", [None, 5])
@pytest.mark.parametrize("bandwidth", ["auto", 0.5])
def test_sparse_rows_equal_dense_rows(k, bandwidth):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(70, 12)) * (rng.random((70, 12)) < 0.3)
    y = np.where(np.arange(70) < 10, np.arange(70) % 2, -1)
    dense = harmonic_labels(X, y, n_neighbors=k, bandwidth=bandwidth)
    assert_allclose(
        harmonic_labels(sp.csr_array(X), y, n_neighbors=k, bandwidth=bandwidth),
        dense,
        rtol=0,
        atol=1e-9,
    )


@given(drawn=small_tables, k=st.sampled_from([None, 2]))
def test_copies_and_contradictions_give_probabilities(drawn, k):
    X, y = drawn
    y[0] = 0
    y = np.unique(y, return_inverse=True)[1] - (1 if -1 in y else 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        assert_probabilities(harmonic_labels(X, y, n_neighbors=k), y)


@pytest.mark.parametrize("seed", range(3))
def test_genes_where_the_inverse_is_singular(seed):
    """8 labelled and 20 unlabelled samples at the automatic bandwidth, as in the paper."""
    X, labels = lookalikes.genes(60, 7129, seed)
    rng = np.random.default_rng(seed)
    classes, codes = np.unique(labels, return_inverse=True)
    known = np.concatenate(
        [rng.permutation(np.flatnonzero(codes == code))[:4] for code in range(len(classes))]
    )
    rest = rng.permutation(np.setdiff1d(np.arange(len(codes)), known))[:20]
    rows = np.concatenate([known, rest])
    y = np.where(np.arange(len(rows)) < len(known), codes[rows], -1)
    assert_probabilities(harmonic_labels(X[rows], y), y)


# ---- Results and invalid input


def test_columns_are_the_sorted_classes_and_confidence_follows_the_largest():
    y = ["b", None, "a", None, "c", None]
    found = propagate(
        MemoryTable([[0.0], [0.1], [2.0], [2.2], [5.0], [3.5]]),
        Supervision.from_labels(y),
        n_neighbors=None,
        bandwidth=0.5,
    )
    assert_array_equal(found.probabilities[[0, 2, 4]], [[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    assert_allclose(found.confidence, (3 * found.probabilities.max(axis=1) - 1) / 2)
    assert (found.n_neighbors, found.bandwidth, found.unreached.any()) == (None, 0.5, False)


def test_known_labels_do_not_change():
    assert_array_equal(harmonic_labels([[0.0], [1.0], [5.0]], [1, 0, 1]), [[0, 1], [1, 0], [0, 1]])


def test_one_class_is_certain_and_warns():
    with pytest.warns(GraphSieveWarning, match=r"all known labels are of class 'x'"):
        assert_array_equal(
            harmonic_labels([[0.0], [1.0], [5.0]], ["x", None, None]), np.ones((3, 1))
        )


def test_a_class_without_members_has_no_probability():
    known = Supervision.from_labels(["a", "b", "c", None, None])[[0, 2, 3, 4]]
    found = propagate(
        MemoryTable([[0.0], [3.0], [1.0], [2.5]]), known, n_neighbors=None, bandwidth=None
    )
    assert_array_equal(found.probabilities[:, 1], np.zeros(4))
    assert_allclose(found.probabilities.sum(axis=1), 1.0)
    # of two classes, not of three
    assert_allclose(found.confidence, np.abs(2 * found.probabilities[:, 0] - 1), atol=1e-12)
    with pytest.warns(GraphSieveWarning, match="'a'"):
        alone = propagate(
            MemoryTable([[0.0], [1.0]]), known[[0, 2]], n_neighbors=None, bandwidth=None
        )
    assert_array_equal(alone.probabilities, [[1, 0, 0], [1, 0, 0]])
    assert_array_equal(alone.confidence, [1, 1])


def test_a_component_without_a_label_gets_equal_probabilities_and_a_warning():
    X = [[0.0], [1.0], [2.0], [100.0], [101.0], [102.0]]
    with pytest.warns(GraphSieveWarning, match=r"3 of 6 samples .* without any label") as caught:
        found = propagate(
            MemoryTable(X),
            Supervision.from_labels([0, -1, 1, -1, -1, -1]),
            n_neighbors=1,
            bandwidth=1.0,
        )
    assert len(caught) == 1
    assert_array_equal(found.unreached, [False] * 3 + [True] * 3)
    assert_array_equal(found.probabilities[3:], np.full((3, 2), 0.5))
    assert_array_equal(found.confidence[3:], np.zeros(3))


def test_too_many_neighbors_are_lowered():
    X, y = [[0.0], [1.0], [4.0], [6.0]], [0, -1, -1, 1]
    with pytest.warns(GraphSieveWarning, match="lowered to 3"):
        found = propagate(MemoryTable(X), Supervision.from_labels(y), n_neighbors=9, bandwidth=2.0)
    assert found.n_neighbors == 3
    # all samples are linked with each other
    assert_allclose(found.probabilities, harmonic_labels(X, y, bandwidth=2.0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_huge_and_small_values(scale):
    """Scales that are not powers of two round the values and therefore change the result slightly."""
    X, y = blobs(30, n_labeled=9)
    assert_allclose(harmonic_labels(X * scale, y), harmonic_labels(X, y), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": [-1, -1, -1]}, "no sample has a known label"),
        ({"y": [0, 1]}, "X has 3 samples, but 2"),
        ({"n_neighbors": 0}, "n_neighbors must be None or an integer of at least 1, got 0"),
        ({"n_neighbors": True}, "n_neighbors must be None or an integer"),
        ({"n_neighbors": 2.0}, "n_neighbors must be None or an integer"),
        ({"bandwidth": 0}, "bandwidth must be 'auto' or a positive number"),
        ({"bandwidth": -1.0}, "bandwidth must be 'auto' or a positive number"),
        ({"bandwidth": float("nan")}, "bandwidth must be 'auto' or a positive number"),
        ({"bandwidth": "scale"}, "bandwidth must be 'auto' or a positive number"),
        ({"bandwidth": None}, "bandwidth must be 'auto' or a positive number"),
        ({"X": [[0.0], [float("inf")], [1.0]]}, "1 inf or -inf in column 0, first at row 1"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(arguments, message):
    with pytest.raises(InputError, match=message) as caught:
        harmonic_labels(**{"X": [[0.0], [1.0], [3.0]], "y": [0, -1, 1], **arguments})
    assert "\n" not in str(caught.value)


def test_missing_values_are_the_same_in_every_container():
    X, y = blobs(30, n_labeled=9)
    X = np.array(X[:, :2])
    X[[4, 11, 20], [0, 1, 0]] = np.nan
    expected = harmonic_labels(X, y)
    # So few cells are filled with the means of their columns.
    complete = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    assert_allclose(expected, harmonic_labels(complete, y), rtol=0, atol=1e-12)
    masked = np.ma.array(np.nan_to_num(X, nan=1e6), mask=np.isnan(X))
    for table in (X.tolist(), np.where(np.isnan(X), None, X), masked):
        assert_array_equal(harmonic_labels(table, y), expected)


def test_supervision_without_labels_is_refused():
    with pytest.raises(InputError, match="no sample has a known label"):
        propagate(
            MemoryTable([[0.0], [1.0]]),
            Supervision.from_pairs(2, [(0, 1)]),
            n_neighbors=None,
            bandwidth=None,
        )


def test_a_complete_graph_that_exceeds_the_memory_limit_is_refused(monkeypatch):
    monkeypatch.setattr(
        propagation, "_distances_from", lambda *_: pytest.fail("distances were taken")
    )
    y = np.full(20_000, -1)
    y[:2] = [0, 1]
    with pytest.raises(
        InputError, match=r"19998 unlabelled samples needs about 8\.9 GiB.*n_neighbors="
    ):
        harmonic_labels(np.zeros((20_000, 1)), y)

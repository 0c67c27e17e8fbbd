"""Scores of features with missing values: the formulas, the laws, and every kind of missing cell."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from graphsieve import GraphSieveWarning, InputError, Supervision, scores
from graphsieve.graphs.neighbors import with_gaps
from graphsieve.graphs.neighbors.nearest import nearest_neighbors, squared_distances
from graphsieve.scores import METHODS
from graphsieve.table.columns import MemoryTable
from graphsieve.table.gaps import RowsWithGaps, patterns
from graphsieve.table.scaling import rescaled

pytestmark = pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")

N, P = 36, 5
PROBABILITIES = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]])


def problem(seed, share=0.25):
    """Return a table without ties, the same with gaps in all columns but one, and classes."""
    rng = np.random.default_rng(seed)
    classes = np.arange(N) % 3
    X = rng.normal(size=(N, P))
    X[:, :2] += classes[:, None]
    missing = rng.random((N, P)) < share
    missing[:, 2] = False
    return X, np.where(missing, np.nan, X), classes


def given_to(method, classes, rng):
    """Return the supervision of a method, and the same as arguments of the oracle."""
    kind = METHODS[method].uses[0] if METHODS[method].uses else None
    if kind == "labels":
        return Supervision.from_labels(classes), (classes,)
    if kind == "targets":
        target = classes + rng.normal(size=N)
        return Supervision.from_targets(target), (target,)
    if kind == "pairs":
        order = rng.permutation(N)
        must, cannot = order[:10].reshape(-1, 2), order[10:30].reshape(-1, 2)
        return Supervision.from_pairs(N, must, cannot), (must, cannot)
    if kind == "probabilities":
        proba = PROBABILITIES[classes]
        return Supervision.from_probabilities(proba), (proba,)
    return Supervision.nothing(N), ()


def scored(method, X, known, **options):
    table = X if isinstance(X, MemoryTable) else MemoryTable(X, missing="use")
    return METHODS[method].score(table, known, **METHODS[method].defaults | options).values


@pytest.mark.parametrize("method", METHODS)
@given(seed=st.integers(0, 10_000), share=st.sampled_from([0.05, 0.25, 0.5]))
def test_every_score_is_the_formula_on_observed_samples(method, seed, share):
    _, X, classes = problem(seed, share)
    known, arguments = given_to(method, classes, np.random.default_rng(seed))
    formula = getattr(oracle, METHODS[method].function.__name__)
    expected = oracle.with_gaps(formula, X, *arguments)
    assert_allclose(scored(method, X, known), expected, rtol=1e-8, atol=1e-10)


# The graph of these scores does not depend on X or on the other samples.
OF_PAIRS = (
    "variance",
    "pearson",
    "mutual_information",
    "fisher",
    "constraint",
    "weighted_laplacian",
)


@pytest.mark.parametrize("method", OF_PAIRS)
def test_a_feature_with_gaps_scores_like_a_table_of_its_observed_samples(method):
    X, holed, classes = problem(1)
    known, _ = given_to(method, classes, np.random.default_rng(1))
    found = scored(method, holed, known)
    for feature in range(P):
        rows = np.flatnonzero(~np.isnan(holed[:, feature]))
        alone = scored(method, X[rows][:, [feature]], known[rows])
        assert_allclose(found[feature], alone[0], rtol=1e-12)


@pytest.mark.parametrize("method", [name for name in METHODS if not METHODS[name].reads_neighbors])
def test_gaps_of_one_feature_do_not_change_the_scores_of_others(method):
    X, _, classes = problem(2)
    known, _ = given_to(method, classes, np.random.default_rng(2))
    holed = X.copy()
    holed[::3, 0] = np.nan
    if method == "relieff":  # Its distances are those in all features.
        holed[:, 0], X[:, 0] = np.nan, 0.0
        assert_allclose(
            scored(method, holed, known)[1:], scored(method, X[:, 1:], known), rtol=1e-12
        )
        return
    assert_array_equal(scored(method, holed, known)[1:], scored(method, X, known)[1:])


@pytest.mark.parametrize("method", METHODS)
def test_laws_of_scores_with_gaps(method):
    _, X, classes = problem(3)
    rng = np.random.default_rng(3)
    known, _ = given_to(method, classes, rng)
    found, exact = scored(method, X, known), {"rtol": 1e-9, "atol": 1e-12}
    columns = rng.permutation(P)
    assert_allclose(scored(method, X[:, columns], known), found[columns], **exact)
    rows = rng.permutation(N)
    assert_allclose(scored(method, X[rows], known[rows]), found, **exact)
    narrow = MemoryTable(X, missing="use", block_elements=N + 1)
    assert_allclose(scored(method, narrow, known), found, **exact)
    stored_zeros = np.where(np.abs(X) < 0.5, 0.0, X)
    assert_allclose(
        scored(method, sp.csr_array(stored_zeros), known),
        scored(method, stored_zeros, known),
        **exact,
    )
    if "shift" in METHODS[method].laws:
        assert_allclose(scored(method, X + 1e8, known), found, rtol=1e-4, atol=1e-6)
    if "scale" in METHODS[method].laws and not METHODS[method].reads_neighbors:
        assert_allclose(scored(method, 8 * X, known), found, **exact)


def test_every_kind_of_missing_cell():
    _, X, _ = problem(4)
    expected = scores.laplacian_score(X)
    lists = [[None if np.isnan(cell) else cell for cell in row] for row in X.tolist()]
    frame = pd.DataFrame(X).add_prefix("x")
    for same in (
        lists,
        np.array(lists, dtype=object),
        np.ma.masked_invalid(X),
        frame,
        frame.astype("Float64"),
        frame.astype(object).where(frame.notna(), None),
        pl.DataFrame(X).fill_nan(None),
        pa.table({name: pa.array(frame[name], from_pandas=True) for name in frame}),
        sp.csc_matrix(X),
    ):
        assert_array_equal(scores.laplacian_score(same), expected)


def test_missing_values_of_categories():
    """A category with gaps scores like a category of its observed samples."""
    classes = np.arange(N) % 3
    rng = np.random.default_rng(5)
    levels = pd.Series(np.array(list("abcd"))[rng.integers(4, size=N)])
    holed = levels.where(rng.random(N) > 0.3)
    X = pd.DataFrame({"x": rng.normal(size=N), "category": holed})
    found = scores.fisher_score(X, classes)
    rows = np.flatnonzero(holed.notna())
    assert found[1] == pytest.approx(scores.fisher_score(X.iloc[rows], classes[rows])[1])
    assert found[0] == scores.fisher_score(X[["x"]], classes)[0]


def test_empty_and_single_values_have_no_score():
    X = np.random.default_rng(6).normal(size=(20, 4))
    X[:, 1] = np.nan
    X[1:, 2] = np.nan
    X[5:, 3], X[:5, 3] = np.nan, 2.0
    with pytest.warns(GraphSieveWarning, match="3 of 4 features cannot be scored"):
        found = scores.laplacian_score(X)
    assert_array_equal(np.isnan(found), [False, True, True, True])


def test_infinite_values_are_still_refused():
    with pytest.raises(InputError, match="1 inf or -inf in column 1, first at row 0"):
        scores.variance_score([[np.nan, np.inf], [1.0, 2.0], [3.0, 4.0]])


def test_distances_use_shared_columns():
    X = np.array([[0.0, 0, np.nan], [3, np.nan, 1], [np.nan, 4, 5], [np.nan, np.nan, 2]])
    observed = ~np.isnan(X)
    rows = RowsWithGaps(np.where(observed, X, 0.0), observed)
    first, second = np.triu_indices(4, 1)
    found = squared_distances(rows, first, second)
    # The samples 0 and 3 share no column.
    assert_allclose(found, [3 * 9, 3 * 16, np.inf, 3 * 16, 3 * 1, 3 * 9])
    near, squared = nearest_neighbors(rows, 2)
    assert near.tolist() == [[1, 2], [3, 0], [3, 0], [1, 2]]
    assert_allclose(squared, [[27, 48], [3, 27], [27, 48], [3, 27]])


@given(seed=st.integers(0, 10_000))
def test_neighbours_are_those_of_all_distances(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 4, size=(40, 3)).astype(float) + rng.choice([0, 1e-7], size=(40, 3))
    observed = rng.random((40, 3)) > 0.3
    rows = RowsWithGaps(np.where(observed, values, 0.0), observed)
    near, squared = nearest_neighbors(rows, 6)
    distances = oracle.squared_distances(np.where(observed, values, np.nan))
    for sample in range(40):
        others = sorted((distances[sample, j], j) for j in oracle.others(40, sample))[:6]
        assert_allclose(squared[sample], [distance for distance, _ in others], rtol=1e-12)
        finite = [j for distance, j in others if np.isfinite(distance)]
        assert near[sample, : len(finite)].tolist() == finite


def test_samples_that_share_nothing_are_not_linked():
    X = np.full((8, 2), np.nan)
    X[:4, 0], X[4:, 1] = np.arange(4), np.arange(4)
    found = scores.laplacian_score(X, n_neighbors=5)
    expected = oracle.with_gaps(oracle.laplacian_score, X, n_neighbors=5)
    assert_allclose(found, expected)


@pytest.mark.parametrize("scale", ["standard", "minmax", "robust", "rank"])
def test_scales_are_those_of_observed_values(scale):
    X, holed, _ = problem(7)
    table = rescaled(MemoryTable(holed, missing="use"), scale)
    for feature in range(P):
        rows = np.flatnonzero(~np.isnan(holed[:, feature]))
        alone = rescaled(MemoryTable(X[rows][:, [feature]]), scale)
        assert_allclose(table.matrix[rows, feature], alone.matrix[:, 0], rtol=1e-12)
    assert_array_equal(table.gaps.toarray(), np.isnan(holed))


def test_columns_with_the_same_gaps_form_a_pattern():
    X = np.array([[1.0, np.nan, 2, np.nan], [2, 3, 4, 5], [5, np.nan, 7, np.nan]])
    found = [
        (columns.tolist(), seen.tolist())
        for columns, seen in patterns(MemoryTable(X, missing="use").gaps)
    ]
    assert found == [([0, 2], [True, True, True]), ([1, 3], [False, True, False])]


@pytest.mark.parametrize("size", [1e-22, 1e-18, 1e20])
def test_neighbours_do_not_depend_on_the_unit(size):
    _, X, _ = problem(8)
    rows, exponent = MemoryTable(X, missing="use").rows
    others, other_exponent = MemoryTable(X * size, missing="use").rows
    one, other = (nearest_neighbors(some, 5) for some in (rows, others))
    assert_array_equal(one[0], other[0])
    factor = size**2 * 4.0 ** (exponent - other_exponent)
    assert_allclose(other[1], one[1] * factor, rtol=1e-9)


@pytest.mark.parametrize("cut", [True, False])
def test_constrained_laplacian_score_by_labels(cut):
    _, X, classes = problem(9, 0.4)
    y = np.where(np.arange(N) < 20, classes, -1)
    known = Supervision.from_labels(y)
    same = [(i, j) for i in range(20) for j in range(i) if y[i] == y[j]]
    apart = [(i, j) for i in range(20) for j in range(i) if y[i] != y[j]]
    expected = oracle.with_gaps(
        oracle.constrained_laplacian_score, X, same, apart, cut_cannot_link=cut
    )
    assert_allclose(
        scored("constrained_laplacian", X, known, cut_cannot_link=cut), expected, rtol=1e-8
    )


def test_samples_without_a_shared_feature_have_no_edge():
    """They are infinitely far apart, which must not change the bandwidth."""
    X, _, classes = problem(10)
    holed = X.copy()
    holed[3] = np.nan
    target = np.where(np.arange(N) < 7, np.nan, classes + 0.5 * X[:, 0])
    kept = np.delete(np.arange(N), 3)
    known = Supervision.from_targets(target)
    method = METHODS["semi_supervised_laplacian"]
    options = {**method.defaults, "bandwidth": None}
    one = method.score(MemoryTable(holed, missing="use"), known, **options)
    other = method.score(MemoryTable(X[kept]), known[kept], **options)
    assert one.bandwidth == pytest.approx(other.bandwidth)
    assert_allclose(one.values, other.values, rtol=1e-9)
    pairs = Supervision.from_pairs(N, [(3, 5), (0, 1)], [(2, 4)])
    assert np.isfinite(scored("constrained_laplacian", holed, pairs)).all()


def test_infinite_values_among_missing_ones_are_named_without_a_warning():
    for X in ([[-np.inf, np.inf], [np.inf, np.nan], [np.nan, np.nan]], np.full((3, 2), np.inf)):
        for given_X in (np.array(X), sp.csr_array(np.array(X))):
            with pytest.raises(
                InputError, match="inf or -inf in column 0, column 1, first at row 0"
            ):
                scores.variance_score(given_X)


@given(seed=st.integers(0, 10_000))
def test_both_searches_give_the_same_neighbours(seed):
    """Copies of samples are tied, also if features have different numbers of columns."""
    rng = np.random.default_rng(seed)
    observed = rng.random((30, 20)) > 0.3
    values = np.where(observed, rng.normal(size=(30, 20)), 0.0)
    copies = rng.integers(30, size=90)
    rows = RowsWithGaps(values[copies], observed[copies])
    rows.weights = 1 / rng.integers(1, 8, size=20)
    expected = nearest_neighbors(rows, 8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(with_gaps, "PRODUCTS_FROM", 0)
        found = nearest_neighbors(rows, 8)
    assert_array_equal(found[0], expected[0])
    assert_array_equal(found[1], expected[1])

"""Large tables with categories store codes. Their results are those of dense indicator columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from graphsieve._kernels.column_sums import column_extremes
from graphsieve.search.counting import count_features
from graphsieve.search.default import select_by_explanation
from graphsieve.search.prediction import predicted
from graphsieve.search.relevant import relevant_columns
from graphsieve.supervision.value import Supervision
from graphsieve.table.centered import ColumnSpace
from graphsieve.table.columns import MemoryTable
from graphsieve.table.mixed import MANY_LEVELS
from graphsieve.table.scaling import rescaled

N = 400
RNG = np.random.default_rng(0)
CLASSES = RNG.integers(3, size=N)


def frame(n_numbers=5):
    """Return numbers, and categories of many, few, two and unequally frequent levels."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(N, n_numbers)) + CLASSES[:, None]).add_prefix("x")
    many = np.array(list("abcdefgh"))
    X.insert(0, "many", many[(2 * CLASSES + rng.integers(4, size=N)) % 8])
    X["few"] = many[rng.integers(3, size=N)]
    X["two"] = many[rng.integers(2, size=N)]
    X["uneven"] = many[np.minimum(rng.geometric(0.4, size=N) - 1, 7)]
    return X


def both(X):
    """Return the same table as codes and as dense columns."""
    coded, dense = MemoryTable(X, block_elements=900), MemoryTable(X)
    assert coded.mixed is not None
    assert dense.mixed is None
    return coded, dense


@pytest.fixture(params=[5, 0], ids=["numbers", "categories only"])
def pair(request):
    return both(frame(request.param))


def test_only_categories_of_many_levels_are_codes():
    coded, dense = both(frame())
    sizes = dense.features.sizes
    assert coded.mixed.codes.shape == ((sizes >= MANY_LEVELS).sum(), N)
    assert coded.mixed.shape == dense.matrix.shape


def test_values_are_those_of_dense_columns(pair):
    coded, dense = pair
    rows, columns = np.array([7, 0, 399, 7]), np.array([dense.n_columns - 1, 3, 0])
    assert_array_equal(coded.matrix, dense.matrix)
    assert_array_equal(coded.take(rows).matrix, dense.take(rows).matrix)
    assert_array_equal(coded.weighted_by(np.arange(N)).take(rows).weights, rows)
    assert_array_equal(coded.take_columns(columns).matrix, dense.take_columns(columns).matrix)
    assert_array_equal(coded.corner(rows, columns), dense.corner(rows, columns))
    assert_array_equal(coded.corner(rows), dense.corner(rows))
    assert_array_equal(coded.column_exponents(), dense.column_exponents())
    assert coded.top_exponent == dense.top_exponent
    assert coded.smallest == dense.smallest
    assert_array_equal(coded.entries_by_row(), dense.entries_by_row())
    assert_array_equal(coded.named(None).matrix, dense.matrix)


@pytest.mark.parametrize("scale", ["standard", "minmax", "robust", "rank"])
def test_scaled_values_are_those_of_dense_columns(pair, scale):
    coded, dense = (rescaled(table, scale) for table in pair)
    assert_allclose(coded.matrix, dense.matrix, rtol=1e-13)


def test_a_level_of_all_samples_is_constant():
    rows = np.flatnonzero(frame()["many"] == "b")
    coded, dense = (table.take(np.tile(rows, 3)) for table in both(frame()))
    assert coded.mixed is not None
    assert_array_equal(coded.mixed.extremes(), column_extremes(dense.matrix))
    assert_array_equal(ColumnSpace(coded).squares == 0, ColumnSpace(dense).squares == 0)


def test_products_of_codes_are_those_of_dense_columns(pair):
    one, other = (ColumnSpace(rescaled(table, "standard")) for table in pair)
    assert one._indicators is not None
    assert other._indicators is None
    vectors = RNG.normal(size=(3, N))
    weights = RNG.normal(size=(one.n_columns, 2))
    some, rows = np.array([one.n_columns - 1, 2, 0, 9]), slice(10, 50)
    close = {"rtol": 1e-10, "atol": 1e-12}
    assert_allclose(one.squares, other.squares, **close)
    assert_allclose(one.times(weights), other.times(weights), **close)
    assert_allclose(one.times(weights[:, 0], rows), other.times(weights[:, 0], rows), **close)
    assert_allclose(one.against(vectors), other.against(vectors), **close)
    assert_allclose(one.against(vectors[0]), other.against(vectors[0]), **close)
    assert_allclose(one.columns(some), other.columns(some), **close)
    assert_allclose(one.rows(rows), other.rows(rows), **close)
    assert_allclose(one.gram, other.gram, **close)
    assert_allclose(one.products(some), other.products(some), **close)
    for name in ("parts", "row_parts"):
        axis = 1 if name == "parts" else 0
        found, expected = (
            np.concatenate([values for _, values in getattr(space, name)()], axis=axis)
            for space in (one, other)
        )
        assert_allclose(found, expected, **close)


@pytest.mark.parametrize("known", ["all", "few", "none"])
def test_the_default_search_is_that_of_dense_columns(pair, known):
    y = np.where(np.arange(N) < {"all": N, "few": 40, "none": 0}[known], CLASSES, -1)
    supervision = Supervision.nothing(N) if known == "none" else Supervision.from_labels(y)
    found = []
    for table in pair:
        scaled = rescaled(table, "standard")
        explained = select_by_explanation(table, scaled, supervision, n_wanted=4)
        relevant = relevant_columns(table, supervision)
        found.append((explained, relevant, count_features(explained, supervision)))
    (one, relevant, count), (other, expected, expected_count) = found
    assert_array_equal(one.path.order, other.path.order)
    for name in ("alone", "gain", "redundancy", "closest", "explained"):
        assert_allclose(getattr(one.path, name), getattr(other.path, name), atol=1e-11)
    assert_allclose(one.relevance, other.relevance, atol=1e-12)
    assert one.skill == pytest.approx(other.skill)
    assert_allclose(relevant.p_values, expected.p_values, rtol=1e-8)
    assert count.n == expected_count.n
    assert_allclose(count.curve, expected_count.curve, atol=1e-12)


@pytest.mark.parametrize("n_labeled", [12, 300, N])
def test_a_space_of_columns_does_not_change_the_prediction(pair, n_labeled):
    """Few labels, more labels than columns, and labels of all samples are predicted differently."""
    known = Supervision.from_labels(np.where(np.arange(N) < n_labeled, CLASSES, -1))
    for table in pair:
        plain, other = predicted(table, known), predicted(table, known, ColumnSpace(table))
        assert_allclose(other.values, plain.values, atol=1e-11)
        assert other.skill == plain.skill


def test_a_space_of_columns_does_not_change_the_prediction_of_groups():
    known = Supervision.from_labels(CLASSES) | Supervision.from_groups(np.arange(N) // 2)
    for table in both(frame()):
        plain, other = predicted(table, known), predicted(table, known, ColumnSpace(table))
        assert_allclose(other.values, plain.values, atol=1e-11)


def test_weighted_samples_are_those_of_dense_columns(pair):
    """Codes have no products with masses, so the columns become dense."""
    masses = RNG.uniform(0.5, 2.0, size=N)
    known = Supervision.from_labels(CLASSES)
    found = []
    for table in pair:
        weighted = table.weighted_by(masses)
        scaled = rescaled(weighted, "standard")
        found.append(select_by_explanation(weighted, scaled, known, n_wanted=4))
        plain, other = predicted(scaled, known), predicted(scaled, known, ColumnSpace(scaled))
        assert_allclose(other.values, plain.values, atol=1e-11)
    one, other = found
    assert_array_equal(one.path.order, other.path.order)
    assert_allclose(one.path.gain, other.path.gain, atol=1e-11)
    assert_allclose(one.relevance, other.relevance, atol=1e-12)

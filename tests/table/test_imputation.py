"""Fills for missing cells: laws for any table, and fills of low-rank tables and of noise."""

from __future__ import annotations

from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphsieve.table import imputation
from graphsieve.table.imputation import imputed_values
from strategies import grid_values

VALUES = grid_values()
SHAPES = [(120, 30), (30, 120), (60, 60)]


@st.composite
def tables_with_gaps(draw: Any, elements: Any = VALUES) -> tuple[np.ndarray, np.ndarray]:
    shape = draw(st.tuples(st.integers(1, 25), st.integers(1, 12)))
    values = draw(hnp.arrays(np.float64, shape, elements=elements))
    return values, draw(hnp.arrays(bool, shape))


def low_rank(
    shape: tuple[int, int],
    *,
    rank: int = 2,
    noise: float = 0.1,
    missing: float = 0.2,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return columns with standard deviation 1 around different means, and the observed cells."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((shape[0], rank)) @ rng.standard_normal((rank, shape[1]))
    values += noise * rng.standard_normal(shape)
    values = values / values.std(axis=0) + rng.normal(size=shape[1])
    return values, rng.random(shape) >= missing


def noise(shape: tuple[int, int], seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape), rng.random(shape) >= 0.2


def filled_with_means(values: np.ndarray, observed: np.ndarray) -> np.ndarray:
    means = [column[known].mean() for column, known in zip(values.T, observed.T, strict=True)]
    return np.where(observed, values, means)


def relative_error(values: np.ndarray, observed: np.ndarray) -> float:
    """Return the squared error of the fills, relative to that of the means."""
    missing = ~observed
    errors = [
        np.square(found - values)[missing].sum()
        for found in (imputed_values(values, observed), filled_with_means(values, observed))
    ]
    return float(errors[0] / errors[1])


@given(tables_with_gaps())
def test_laws_of_any_table(table):
    values, observed = table
    before = values.copy()
    found = imputed_values(values, observed)
    assert_array_equal(values, before)
    assert_array_equal(found[observed], values[observed])
    for fills, column, known in zip(found.T, values.T, observed.T, strict=True):
        if not known.any():
            assert not fills.any()
        else:
            assert fills.min() == column[known].min()
            assert fills.max() == column[known].max()


@given(tables_with_gaps(st.floats(allow_nan=False, allow_infinity=False)))
def test_any_sizes_of_values(table):
    values, observed = table
    found = imputed_values(values, observed)
    assert np.isfinite(found).all()
    assert_array_equal(found[observed], values[observed])


@given(tables_with_gaps(), st.sampled_from([np.nan, np.inf, -1e300]))
def test_the_values_of_missing_cells_do_not_matter(table, other):
    values, observed = table
    assert_array_equal(
        imputed_values(np.where(observed, values, other), observed),
        imputed_values(values, observed),
    )


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (4, 3)])
def test_a_complete_table_is_copied(shape):
    values = np.arange(float(np.prod(shape))).reshape(shape)
    found = imputed_values(values, np.ones(shape, dtype=bool))
    assert_array_equal(found, values)
    assert not np.shares_memory(found, values)


def test_by_hand():
    # The means of the observed cells are (1 + 2 + 6) / 3 = 3, 0.1 and, without any cell, 0.
    values = np.array([[1.0, 0.1, 7.0], [2.0, 7.0, 7.0], [6.0, 0.1, 7.0], [7.0, 0.1, 7.0]])
    expected = np.array([[1.0, 0.1, 0.0], [2.0, 0.1, 0.0], [6.0, 0.1, 0.0], [3.0, 0.1, 0.0]])
    assert_array_equal(imputed_values(values, values != 7), expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_cells_of_a_table_of_low_rank_are_recovered(shape):
    assert relative_error(*low_rank(shape)) < 0.1


@pytest.mark.parametrize("missing", [0.05, 0.5])
def test_few_and_many_missing_cells(missing):
    assert relative_error(*low_rank((200, 50), missing=missing)) < 0.1


def test_missing_large_values_are_recovered_better_than_by_the_means():
    values, _ = low_rank((300, 40))
    center = np.median(values, axis=0)
    drawn = np.random.default_rng(1).random(values.shape)
    assert relative_error(values, drawn >= np.where(values > center, 0.4, 0.05)) < 0.2


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(5))
def test_noise_is_filled_with_means(shape, seed):
    values, observed = noise(shape, seed)
    assert_allclose(
        imputed_values(values, observed), filled_with_means(values, observed), rtol=1e-12
    )


def test_noise_next_to_a_table_of_low_rank_is_filled_almost_with_means():
    values, observed = low_rank((300, 30))
    more, known = noise((300, 10), 1)
    both, all_known = np.hstack([values, more]), np.hstack([observed, known])
    change = (imputed_values(both, all_known) - filled_with_means(both, all_known))[:, 30:]
    assert np.sqrt(np.square(change[~known]).mean()) < 0.15


def test_fills_are_shrunk_toward_the_means():
    values, observed = low_rank((200, 30), noise=1.0)
    means = filled_with_means(values, observed)
    fills, actual = (
        (table - means)[~observed] for table in (imputed_values(values, observed), values)
    )
    # Least squares would not gain from larger fills by more than the shrinkage of the components.
    assert 1.0 < (fills @ actual) / (fills @ fills) < 1.5
    assert fills.std() < 0.9 * actual.std()


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shift_of_columns_shifts_their_fills(shape):
    values, observed = low_rank(shape)
    shift = np.random.default_rng(2).normal(scale=100, size=shape[1])
    assert_allclose(
        imputed_values(values + shift, observed),
        imputed_values(values, observed) + shift,
        atol=1e-9,
    )


@pytest.mark.parametrize("factor", [2.0**-900, 2.0**900, -1.0, 3.7])
def test_a_common_factor_multiplies_the_fills(factor):
    values, observed = low_rank((60, 20))
    assert_allclose(
        imputed_values(values * factor, observed),
        imputed_values(values, observed) * factor,
        rtol=1e-9,
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_the_order_of_rows_and_columns_does_not_matter(shape):
    values, observed = low_rank(shape, noise=0.5)
    rng = np.random.default_rng(3)
    order = np.ix_(rng.permutation(shape[0]), rng.permutation(shape[1]))
    assert_allclose(
        imputed_values(values[order], observed[order]),
        imputed_values(values, observed)[order],
        atol=1e-9,
    )


def test_the_result_is_the_same_for_any_layout_and_state_of_random_numbers():
    values, observed = low_rank((50, 20))
    found = imputed_values(values, observed)
    np.random.seed(1)  # noqa: NPY002
    assert_array_equal(imputed_values(values, observed), found)
    by_columns = imputed_values(np.asfortranarray(values), np.asfortranarray(observed))
    assert_allclose(by_columns, found, rtol=0, atol=1e-9)


def test_a_huge_constant_column_does_not_hide_the_other_columns():
    values, observed = low_rank((100, 20))
    values[:, 0] = 1e300
    found = imputed_values(values, observed)
    assert_array_equal(found[:, 0], values[:, 0])
    missing = ~observed[:, 1:]
    means = filled_with_means(values[:, 1:], observed[:, 1:])
    by_fills, by_means = (
        np.square(table - values[:, 1:])[missing].sum() for table in (found[:, 1:], means)
    )
    assert by_fills < 0.1 * by_means


def test_columns_of_very_different_sizes_have_finite_fills_within_their_range():
    values, observed = low_rank((60, 31))
    values *= 10.0 ** np.arange(-300, 301, 20)
    found = imputed_values(values, observed)
    assert_array_equal(found[observed], values[observed])
    low, high = (end(np.where(observed, values, np.nan), axis=0) for end in (np.nanmin, np.nanmax))
    assert ((low <= found) & (found <= high)).all()


def test_parts_of_rows_give_the_same_fills(monkeypatch):
    values, observed = low_rank((90, 20))
    expected = imputed_values(values, observed)
    monkeypatch.setattr(imputation, "PART_ELEMENTS", 64)
    assert_allclose(imputed_values(values, observed), expected, atol=1e-9)


@pytest.mark.parametrize("missing", [0.05, 0.5])
def test_long_tables_use_the_directions_of_some_rows(monkeypatch, missing):
    values, observed = low_rank((3000, 30), missing=missing)
    whole = imputed_values(values, observed)
    monkeypatch.setattr(imputation, "MOST_TRIED", 2**10)
    some = imputed_values(values, observed)
    assert not np.array_equal(some, whole)
    errors = [np.square(found - values)[~observed].sum() for found in (some, whole)]
    assert errors[0] < 1.1 * errors[1]
    order = np.random.default_rng(5).permutation(3000)
    # Updates stop at a small change, so rounding errors can add or save a round.
    assert_allclose(imputed_values(values[order], observed[order]), some[order], atol=1e-4)

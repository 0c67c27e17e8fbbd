"""Robust scales, the rule of scale="auto", and the effective support of columns."""

from __future__ import annotations

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import lookalikes
from graphsieve.table.any_table import as_table
from graphsieve.table.columns import MemoryTable, Table
from graphsieve.table.scaling import SCALES, chosen_scale, effective_support, rescaled
from mixed import mixed_problems, numbers
from strategies import grid_values

pytestmark = pytest.mark.usefixtures("sparse_stays_sparse")

# Many values are zero, so that quartiles are zero, next to zero, or far from it.
tables = st.tuples(st.integers(2, 15), st.integers(1, 5)).flatmap(
    lambda shape: hnp.arrays(
        np.float64, shape, elements=st.one_of(st.just(0.0), grid_values(-6, 6))
    )
)


def dense(table: Table) -> np.ndarray:
    return table.matrix.toarray() if table.is_sparse else np.asarray(table.matrix)


def average_ranks(X: np.ndarray) -> np.ndarray:
    """Return average ranks, computed by counting smaller and equal values."""
    below = (X[None] < X[:, None]).sum(axis=1)
    equal = (X[None] == X[:, None]).sum(axis=1)
    return below + (equal + 1) / 2


def support(column: np.ndarray) -> float:
    squares = (column - column.mean()) ** 2
    return float(squares.sum() ** 2 / (squares**2).sum())


@given(X=tables)
def test_robust_divides_by_the_interquartile_range_or_else_by_the_deviation(X):
    quartiles = np.percentile(X, [25, 75], axis=0)
    size = quartiles[1] - quartiles[0]
    size = np.where(size > 0, size, X.std(axis=0))
    varies = np.ptp(X, axis=0) > 0
    for container in (np.asarray, sp.csr_array):
        found = dense(rescaled(MemoryTable(container(X)), "robust"))
        assert_allclose(found[:, varies], X[:, varies] / size[varies], rtol=1e-12)


def test_robust_by_hand():
    # Sorted 0 1 2 3 100: quartiles 1 and 3. Seven zeros and a nine: both quartiles are 0, the
    # deviation is 9·√7/8.
    five = rescaled(MemoryTable([[3.0], [100.0], [0.0], [2.0], [1.0]]), "robust").matrix
    assert_array_equal(five.ravel(), [1.5, 50.0, 0.0, 1.0, 0.5])
    rare = rescaled(MemoryTable(np.array([[0.0] * 7 + [9.0]]).T), "robust").matrix
    assert rare[-1, 0] == pytest.approx(8 / np.sqrt(7))


@given(X=tables)
def test_ranks_are_average_ranks_counted_from_zero(X):
    expected = average_ranks(X) / len(X)
    for container in (np.asarray, sp.csr_array):
        found = dense(rescaled(MemoryTable(container(X)), "rank"))
        assert_allclose(found - found[0], expected - expected[0], atol=1e-12)
        assert_array_equal(found == 0, X == 0)
        assert_array_equal(np.sign(found), np.sign(X))


@given(X=tables)
def test_ranks_depend_only_on_the_order(X):
    assert_array_equal(
        dense(rescaled(MemoryTable(X**3), "rank")), dense(rescaled(MemoryTable(X), "rank"))
    )


@pytest.mark.parametrize("scale", SCALES)
@given(X=tables, block_elements=st.sampled_from([1, 30, 2**22]))
def test_sparse_tables_stay_sparse_and_give_the_same_numbers(scale, X, block_elements):
    found = rescaled(MemoryTable(sp.csr_array(X), block_elements=block_elements), scale)
    assert found.is_sparse
    assert found.matrix.nnz == np.count_nonzero(X)
    assert_allclose(dense(found), dense(rescaled(MemoryTable(X), scale)), rtol=1e-13)


@pytest.mark.parametrize("scale", SCALES)
def test_constant_columns_stay_constant_and_names_stay(scale):
    X = np.array([[0.3, 1.0, 0.0], [0.3, 2.0, 0.0], [0.3, 4.0, 0.0]])
    for container in (np.asarray, sp.csr_array):
        found = rescaled(MemoryTable(container(X)), scale)
        assert [bool(constant) for block in found.blocks() for constant in block.constant] == [
            True,
            False,
            True,
        ]
    pandas = pytest.importorskip("pandas")
    assert rescaled(
        MemoryTable(pandas.DataFrame(X, columns=["a", "b", "c"])), scale
    ).feature_names == (
        "a",
        "b",
        "c",
    )


@pytest.mark.parametrize("scale", [scale for scale in SCALES if scale is not None])
def test_no_unit_is_too_large_or_too_small(scale):
    X = np.rint(np.random.default_rng(0).normal(size=(12, 4)) * 64) / 64
    extreme = np.ldexp(X, [1000, -1000, 0, 300])
    for container in (np.asarray, sp.csr_array):
        assert_array_equal(
            dense(rescaled(MemoryTable(container(extreme)), scale)),
            dense(rescaled(MemoryTable(container(X)), scale)),
        )


def test_an_outlier_moves_neither_quartiles_nor_ranks():
    X = np.random.default_rng(1).normal(size=(40, 1))
    wild = X.copy()
    wild[X.argmax()] = 1e9
    rest = np.arange(40) != X.argmax()
    for scale in ("robust", "rank"):
        assert_array_equal(
            rescaled(MemoryTable(wild), scale).matrix[rest],
            rescaled(MemoryTable(X), scale).matrix[rest],
        )


# --- The rule of scale="auto"
# --------------------------------------------------------------------------------------------------


def fold(X: np.ndarray) -> float:
    """Return the ratio of a large range to a small range."""
    ranges = np.sort(np.ptp(X, axis=0)[np.ptp(X, axis=0) > 0])
    last = len(ranges) - 1
    return float(ranges[int(np.ceil(0.95 * last))] / ranges[int(np.floor(0.05 * last))])


def outsized(X: np.ndarray) -> float:
    """Return the range of the dominant column relative to the lower median range.

    A column is dominant if its variance exceeds the sum of all others. Without one, the result is
    zero.
    """
    X = X[:, np.ptp(X, axis=0) > 0]
    ranges, variances = np.ptp(X, axis=0), X.var(axis=0)
    largest = variances.argmax()
    alone = variances[largest] > (variances.sum() - variances[largest]) * (1 + 1e-9)
    return float(ranges[largest] / np.sort(ranges)[(len(ranges) - 1) // 2]) if alone else 0.0


@given(
    X=tables,
    powers=st.lists(st.integers(0, 14), min_size=5, max_size=5),
    common=st.sampled_from([-900, 0, 7, 900]),
    seed=st.integers(0, 9),
)
def test_the_rule_matches_its_description_for_any_order_and_container(X, powers, common, seed):
    X = np.ldexp(X, powers[: X.shape[1]])
    if (np.ptp(X, axis=0) > 0).any() and abs(fold(X) - 100) > 1e-6 and abs(outsized(X) - 10) > 1e-6:
        expected = "standard" if fold(X) > 100 or outsized(X) > 10 else None
        rng = np.random.default_rng(seed)
        shuffled = rng.permutation(rng.permutation(X, axis=0), axis=1)
        for table in (
            MemoryTable(X),
            MemoryTable(X, block_elements=1),
            MemoryTable(sp.csr_array(X)),
            MemoryTable(np.ldexp(X, common)),
            MemoryTable(3.7 * X),
            MemoryTable(shuffled),
        ):
            assert chosen_scale(table)[0] == expected


def two_valued(*sizes: float) -> np.ndarray:
    """Return columns with two values and the given standard deviations."""
    return np.outer([0, 2, 0, 2], sizes)


def test_the_rule_by_hand():
    assert chosen_scale(MemoryTable(two_valued(1, 99, 99)))[0] is None
    assert chosen_scale(MemoryTable(two_valued(1, 101, 101)))[0] == "standard"
    # A constant column has no unit.
    assert chosen_scale(MemoryTable(two_valued(0, 1, 99, 99)))[0] is None
    assert chosen_scale(MemoryTable(two_valued(5)))[0] is None
    # With 20 columns, the extreme ranges count. With 21, one extreme range on each side is ignored,
    # unless the large column outweighs all others.
    assert chosen_scale(MemoryTable(two_valued(*[1] * 19, 1e6)))[0] == "standard"
    assert chosen_scale(MemoryTable(two_valued(1e-6, *[1] * 19, 4)))[0] is None
    assert chosen_scale(MemoryTable(two_valued(*[1] * 19, 1e6, 1e6)))[0] == "standard"
    # One column has more than ten times the median range and varies more than all others together.
    assert chosen_scale(MemoryTable(two_valued(*[1] * 99, 11)))[0] == "standard"
    assert chosen_scale(MemoryTable(two_valued(*[1] * 99, 9)))[0] is None
    assert chosen_scale(MemoryTable(two_valued(*[1] * 199, 11)))[0] is None
    # A column in the unit of the others that hardly varies is not a reason to standardise.
    assert chosen_scale(MemoryTable(np.c_[np.arange(40000) % 2, np.arange(40000) == 0]))[0] is None


def test_reasons_name_the_number_and_the_limit():
    assert chosen_scale(MemoryTable(two_valued(1, 3000)))[1].startswith("ranges differ 3,000-fold")
    assert "not more than 100-fold" in chosen_scale(MemoryTable(two_valued(1, 3)))[1]
    assert (
        "more than all others together and has 11.0 times the range"
        in chosen_scale(MemoryTable(two_valued(*[1] * 99, 11)))[1]
    )
    assert chosen_scale(MemoryTable(two_valued(0, 0))) == (None, "no column varies")


def test_deviations_that_overflow_are_compared():
    scale, reason = chosen_scale(MemoryTable(np.ldexp(two_valued(1, 1), [-1000, 1000])))
    assert scale == "standard"
    assert "2^2000" in reason
    assert chosen_scale(MemoryTable(np.ldexp(two_valued(1, 1), [1000, 1000])))[0] is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [(name, "standard") for name in ("wine", "breast_cancer", "diabetes")]
    + [(name, None) for name in ("iris", "digits", "spectra", "genes", "texts", "answers")],
)
def test_real_tables_of_mixed_units_are_standardised_and_others_are_not(name, expected):
    X, _ = lookalikes.load(name)
    assert chosen_scale(MemoryTable(X))[0] == expected


# --- Effective support
# --------------------------------------------------------------------------------------------------


@given(X=tables, block_elements=st.sampled_from([1, 30, 2**22]))
def test_support_equals_the_formula_and_lies_between_1_and_n(X, block_elements):
    for container in (np.asarray, sp.csr_array):
        found = effective_support(MemoryTable(container(X), block_elements=block_elements))
        for column, value in zip(X.T, found, strict=True):
            if np.ptp(column) == 0:
                assert np.isnan(value)
            else:
                assert value == pytest.approx(support(column), rel=1e-9)
                assert 1 - 1e-9 <= value <= len(column) * (1 + 1e-9)


@pytest.mark.parametrize(("m", "n"), [(1, 2), (1, 50), (3, 1000), (500, 1000), (999, 1000)])
def test_support_of_m_among_n(m, n):
    # d is 1 − q for m samples and −q for the others: Σd² = n q (1−q), Σd⁴ = n q (1−q) ((1−q)³ +
    # q³).
    q = m / n
    column = np.repeat([1.0, 0.0], [m, n - m])[:, None]
    for container in (np.asarray, sp.csr_array):
        assert effective_support(MemoryTable(container(column)))[0] == pytest.approx(
            n * q * (1 - q) / ((1 - q) ** 3 + q**3)
        )


def test_support_ignores_units_and_offsets_and_agrees_on_copies():
    X = np.random.default_rng(2).normal(size=(300, 7))
    X = np.concatenate([X, X], axis=1)
    found = effective_support(MemoryTable(X, block_elements=900))
    assert_array_equal(found[:7], found[7:])
    assert_array_equal(
        effective_support(MemoryTable(np.ldexp(X, 900))), effective_support(MemoryTable(X))
    )
    assert_allclose(effective_support(MemoryTable(X + 1e6)), found, rtol=1e-6)


def test_support_distinguishes_normal_and_rare_columns():
    rng = np.random.default_rng(3)
    X = np.stack([rng.normal(size=30_000), rng.random(30_000) < 0.001], axis=1)
    found = effective_support(MemoryTable(X.astype(np.float64)))
    # The fourth moment of a normal distribution is three times the squared second moment.
    assert found[0] == pytest.approx(30_000 / 3, rel=0.05)
    assert found[1] == pytest.approx(X[:, 1].sum(), rel=0.01)


@pytest.mark.parametrize("scale", SCALES)
@given(mixed=mixed_problems(ties=True))
def test_a_feature_of_several_columns_counts_as_much_as_one(scale, mixed):
    """A group is scaled column by column and then divided by the root of their number. The columns
    of a category share a divisor: the deviation of the category, or the distance between levels.
    """
    table = as_table(mixed.frame, feature_groups=mixed.groups or None)
    found = rescaled(table, scale).matrix
    columns = rescaled(MemoryTable(mixed.matrix), scale).matrix
    for feature, block in zip(mixed.features, mixed.blocks, strict=True):
        expected, X = columns[:, block], mixed.matrix[:, block]
        varying = int((np.ptp(X, axis=0) > 0).sum())
        if feature.kind == "group" and scale is not None:
            expected = expected / np.sqrt(max(1, varying))
        if feature.kind == "category":
            deviation = np.sqrt(X.var(axis=0).sum())
            expected = {
                "minmax": X / np.sqrt(2),  # Two levels differ in two columns.
                "rank": X / deviation / np.sqrt(12),  # the deviation of evenly spread ranks
                None: X,
            }.get(scale, X / deviation)
        assert_allclose(found[:, block], expected, rtol=1e-12)


@pytest.mark.parametrize("scale", SCALES)
@given(mixed=mixed_problems(ties=True))
def test_a_category_of_two_levels_is_scaled_as_its_indicator(scale, mixed):
    indicators = mixed.having(
        [
            numbers(feature.columns) if feature.kind == "two levels" else feature
            for feature in mixed.features
        ]
    )
    one, other = (
        rescaled(as_table(each.frame, feature_groups=each.groups or None), scale).matrix
        for each in (mixed, indicators)
    )
    assert_array_equal(one, other)

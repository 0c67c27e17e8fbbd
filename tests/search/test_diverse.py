"""The diverse selection: regressions refitted at every step, invariances, large tables, and the
estimator.
"""

from __future__ import annotations

import pickle
import tracemalloc
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import lookalikes
from graphsieve import GraphSieve, Supervision
from graphsieve._base.errors import InputError
from graphsieve.search import diverse, diverse_selection
from graphsieve.search.default import LEAST_TRUST
from graphsieve.search.diverse import DiversePath
from graphsieve.search.prediction import predicted
from graphsieve.select.preparation import weights_by_rank
from graphsieve.table import centered
from graphsieve.table.centered import (
    ColumnSpace,
    centered_parts,
    largest_correlations,
)
from graphsieve.table.columns import MemoryTable
from graphsieve.table.scaling import rescaled

pytestmark = pytest.mark.usefixtures("one_thread")


# ---- Slow versions, directly from the definitions


def left_over(columns: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return the residuals of other columns after a regression on the selected columns with an
    intercept.
    """
    columns = columns - columns.mean(axis=0)
    if not chosen.shape[1]:
        return columns
    chosen = chosen - chosen.mean(axis=0)
    return np.asarray(columns - chosen @ np.linalg.lstsq(chosen, columns, rcond=1e-12)[0])


def explained_by(X: np.ndarray, weights: np.ndarray, chosen: list[int]) -> float:
    """Return the weighted share of the variation of all columns that the selected columns explain.

    If all weights are zero, all columns count equally.
    """
    varies = np.ptp(X, axis=0) > 0
    weights = np.where(varies, np.nan_to_num(weights), 0.0)
    weights = weights if weights.any() else varies.astype(float)
    total = (weights * (left_over(X, X[:, :0]) ** 2).sum(axis=0)).sum()
    return float(1 - (weights * (left_over(X, X[:, chosen]) ** 2).sum(axis=0)).sum() / total)


def worth_by_refitting(
    X: np.ndarray,
    weights: np.ndarray,
    chosen: list[int],
    targets: np.ndarray | None = None,
    share: float = 0.0,
) -> np.ndarray:
    """Return how much more is explained with each further column. The regression is refitted for
    each one.
    """
    before = explained_by(X, weights, chosen)
    worth = np.zeros(X.shape[1])
    for j in range(X.shape[1]):
        worth[j] = (1 - share) * (explained_by(X, weights, [*chosen, j]) - before)
        if targets is not None:
            total = (left_over(targets, X[:, :0]) ** 2).sum()
            lengths = [
                (left_over(targets, X[:, part]) ** 2).sum() for part in (chosen, [*chosen, j])
            ]
            worth[j] += share * (lengths[0] - lengths[1]) / total
    return worth


def correlations(X: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.atleast_2d(np.corrcoef(X.T))


def chosen_in_extended_precision(
    X: np.ndarray, weights: np.ndarray, n: int
) -> tuple[list[int], float]:
    """Select greedily with explicit residuals in 64 bits of mantissa.

    The smallest remaining share of a selected column is returned as well.
    """
    residual = X.astype(np.longdouble)
    residual = residual - residual.mean(axis=0)
    squares, chosen, least = (residual**2).sum(axis=0), [], 1.0
    for _ in range(n):
        left = (residual**2).sum(axis=0)
        open_columns = left > diverse.EXPLAINED * squares
        fit = (weights[:, None] * (residual.T @ residual) ** 2).sum(axis=0)
        worth = np.where(open_columns, fit / np.where(open_columns, left, 1), 0)
        best = int(np.flatnonzero(worth >= worth.max() * (1 - diverse.TIE))[0])
        if not worth[best] > 0:
            break
        least = min(least, float(left[best] / squares[best]))
        chosen.append(best)
        for _ in range(2):
            direction = residual[:, best] / np.sqrt(left[best])
            residual = residual - np.outer(direction, direction @ residual)
    return chosen, least


# ---- Random problems


@dataclass(frozen=True)
class Columns:
    X: np.ndarray
    weights: np.ndarray


@st.composite
def tables(draw: Any, *, plain: bool = False) -> Columns:
    """More columns than rows, or fewer. If `plain` is False, also copies, constants, low rank and
    zero weights.
    """
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = draw(st.integers(4, 16)), draw(st.integers(2, 9))
    X = random.normal(size=(n, p)) * 2.0 ** random.integers(-3, 3, p)
    weights = random.uniform(0.1, 1, p)
    if not plain and draw(st.booleans()):
        X[:, random.integers(1, p)] = -2 * X[:, 0]
        X[:, p - 1] = 0.1
    if not plain and draw(st.booleans()):
        X = X @ random.normal(size=(p, 2)) @ random.normal(size=(2, p))
    if not plain and draw(st.booleans()):
        weights[random.integers(p)] = 0.0
    return Columns(X, weights)


def all_parts(path: DiversePath) -> dict[str, np.ndarray]:
    names = ("order", "alone", "gain", "explained", "redundancy", "closest", "closest_correlation")
    return {name: getattr(path, name) for name in names}


def assert_same_path(one: DiversePath, other: DiversePath, tolerance: float = 1e-8) -> None:
    assert one.n_selected == other.n_selected
    for name, values in all_parts(one).items():
        np.testing.assert_allclose(values, all_parts(other)[name], atol=tolerance, err_msg=name)


# ---- The columns as vectors


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
@given(table=tables(), seed=st.integers(0, 999))
def test_the_space_of_columns_is_that_of_numpy(stored: Any, table: Columns, seed: int) -> None:
    X = np.where(np.abs(table.X) < 0.3, 0.0, table.X) if stored is sp.csr_array else table.X
    space, random = ColumnSpace(MemoryTable(stored(X))), np.random.default_rng(seed)
    dense = X - X.mean(axis=0)
    dense[:, np.ptp(X, axis=0) == 0] = 0.0
    varying = np.abs(X[:, np.ptp(X, axis=0) > 0])
    # the common unit
    dense = np.ldexp(dense, -int(np.frexp(varying.max())[1]) if varying.size else 0)
    a, b = random.random(X.shape[1]), random.normal(size=(3, len(X)))
    b -= b.mean(axis=1, keepdims=True)
    kernel = dense @ np.diag(a) @ dense.T
    np.testing.assert_allclose(space.squares, (dense**2).sum(axis=0), atol=1e-13)
    # Only a constant column is exactly zero.
    assert ((space.squares == 0) == (np.ptp(X, axis=0) == 0)).all()
    np.testing.assert_allclose(space.times(a), dense @ a, atol=1e-13)
    np.testing.assert_allclose(space.against(b), b @ dense, atol=1e-13)
    np.testing.assert_allclose(space.against(b[0]), b[0] @ dense, atol=1e-13)
    np.testing.assert_allclose(space.kernel(a), kernel, atol=1e-13)
    np.testing.assert_allclose(space.forms(kernel), np.diag(dense.T @ kernel @ dense), atol=1e-13)
    for j in range(X.shape[1]):
        np.testing.assert_allclose(space.columns(np.array([j]))[:, 0], dense[:, j], atol=1e-13)
    assert not space.sketched


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
def test_kernels_and_forms_are_right_for_columns_of_no_weight_and_of_few_or_many_entries(
    stored: Any,
) -> None:
    random = np.random.default_rng(0)
    X = random.random((400, 12)) * (random.random((400, 12)) < np.geomspace(0.005, 1.0, 12))
    X[0, 0], X[:, 1] = 0.5, 0.0
    weights = np.where(np.arange(12) % 3 == 0, 0.0, random.random(12))
    # All values are below 1, so the unit is 1.
    space, dense = ColumnSpace(MemoryTable(stored(X))), X - X.mean(axis=0)
    entries = (X != 0).sum(axis=0) * centered.FEW_ENTRIES
    assert (entries < len(X)).sum() > 2
    assert (entries > len(X)).sum() > 2
    kernel = dense @ np.diag(weights) @ dense.T
    np.testing.assert_allclose(space.kernel(weights), kernel, atol=1e-12)
    np.testing.assert_allclose(
        space.forms(kernel), np.diag(dense.T @ kernel @ dense), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("shape", [(60, 25), (25, 60)])
def test_gains_are_those_of_the_residuals_however_the_columns_are_cut(
    shape: tuple[int, int], monkeypatch: Any
) -> None:
    X = np.random.default_rng(1).normal(size=shape)
    weights = np.where(
        np.arange(shape[1]) % 4 == 0, np.nan, np.random.default_rng(2).random(shape[1])
    )
    monkeypatch.setattr(centered, "PART_ELEMENTS", 7 * shape[0])  # seven columns at a time
    space = ColumnSpace(MemoryTable(X))
    usable = ~np.isnan(weights)
    search = diverse.Explaining(space, np.nan_to_num(weights), usable, None, 0.0)
    for chosen in ([], [1], [1, 2, 6]):
        for position in chosen[len(search.selected) :]:
            search.take(position)
        search._compute()
        S = X - X.mean(axis=0)
        residual = (
            S - S[:, chosen] @ np.linalg.lstsq(S[:, chosen], S, rcond=None)[0] if chosen else S
        )
        residual = np.ldexp(residual, -int(np.frexp(np.abs(X).max())[1]))  # the common unit
        expected = np.nan_to_num(weights) @ (residual.T @ residual) ** 2
        np.testing.assert_allclose(search.fit[usable], expected[usable], atol=1e-10)


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("shape", [(90, 25), (25, 90)])
def test_gains_are_recomputed_in_a_few_passes_over_the_table(
    shape: tuple[int, int], stored: Any, monkeypatch: Any
) -> None:
    """The number of passes must not grow with the number of parts into which the table is cut."""
    X = np.random.default_rng(1).normal(size=shape)
    monkeypatch.setattr(centered, "PART_ELEMENTS", 2 * min(shape))
    read = []

    def counted(parts: Any) -> Any:
        def counting(space: Any) -> Any:
            for part, values in parts(space):
                read.append(values.size)
                yield part, values

        return counting

    for name in ("parts", "row_parts"):
        monkeypatch.setattr(ColumnSpace, name, counted(getattr(ColumnSpace, name)))
    search = diverse.Explaining(
        ColumnSpace(MemoryTable(stored(X))), np.ones(shape[1]), np.ones(shape[1], bool), None, 0.0
    )
    search.take(0)
    read.clear()
    search._compute()
    assert sum(read) <= 3 * X.size


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
def test_chunks_of_any_width_make_no_difference(
    stored: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(4)
    for n, p in ((12, 30), (30, 12)):
        X = np.where(random.random((n, p)) < 0.3, random.normal(size=(n, p)), 0.0)
        weights = random.random(p)
        whole = diverse_selection(weights, stored(X), n_features_to_select=8)
        with monkeypatch.context() as patch:
            patch.setattr(centered, "PART_ELEMENTS", 5 * n)
            patch.setattr(diverse, "STALE", 0.9)  # Gains are recomputed in nearly every step.
            for elements in (1, 3 * n, 10**6):
                table = MemoryTable(stored(X), block_elements=elements)
                assert_same_path(diverse.select_diverse(table, weights, n_wanted=8), whole)


def test_parts_have_the_units_of_the_table() -> None:
    X = np.array([[1e9, 1.0, 3.0], [1e9 + 4, 2.0, 3.0], [1e9 + 2, 6.0, 3.0]])
    parts = [
        part
        for block in MemoryTable(X).blocks()
        for _, part in centered_parts(block, MemoryTable(X).top_exponent)
    ]
    values = np.concatenate(parts, axis=1) * 2.0**30  # The power of two above 1e9.
    np.testing.assert_allclose(values, [[-2, -2, 0], [2, -1, 0], [0, 3, 0]], atol=1e-12)


# ---- What is selected: form "explain"


@given(tables(), st.integers(1, 9))
def test_every_choice_explains_most_of_what_is_left(table: Columns, wanted: int) -> None:
    X, weights, p = table.X, table.weights, table.X.shape[1]
    path = diverse_selection(weights, X, n_features_to_select=min(wanted, p))
    alone = worth_by_refitting(X, weights, [])
    varies = np.ptp(X, axis=0) > 0
    np.testing.assert_allclose(path.alone, np.where(varies, alone, np.nan), atol=1e-9)
    chosen: list[int] = []
    for place in range(path.n_selected):
        worth = worth_by_refitting(X, weights, chosen)
        assert path.gains[place] == pytest.approx(worth.max(), abs=1e-8)
        assert worth[path.order[place]] == pytest.approx(worth.max(), abs=1e-8)
        chosen.append(int(path.order[place]))
        assert path.explained[place] == pytest.approx(explained_by(X, weights, chosen), abs=1e-8)
    assert sorted(path.order) == list(range(p))
    rest = path.order[path.n_selected :]
    if path.n_selected < min(wanted, p):  # The search stopped because nothing is left to explain.
        np.testing.assert_allclose(worth_by_refitting(X, weights, chosen), 0, atol=1e-8)
    else:  # The others are ordered by what they would add.
        worth = worth_by_refitting(X, weights, chosen)[rest]
        assert (np.diff(worth) <= 1e-8).all()
    # Constant columns are last.
    assert not varies[rest[np.flatnonzero(varies[rest]).max(initial=-1) + 1 :]].any()


@given(tables(plain=True), st.sampled_from([0.0, 0.3, 1.0]), st.integers(1, 3))
def test_targets_count_by_their_share(table: Columns, share: float, n_targets: int) -> None:
    X, weights = table.X, table.weights
    targets = np.random.default_rng(n_targets).normal(size=(len(X), n_targets)) + X[:, :1] + 7
    path = diverse_selection(
        weights, X, n_features_to_select=2, targets=targets, target_share=share
    )
    np.testing.assert_allclose(
        path.alone, worth_by_refitting(X, weights, [], targets, share), atol=1e-9
    )
    first = int(path.order[0])
    second = worth_by_refitting(X, weights, [first], targets, share)
    assert path.gains[1] == pytest.approx(second.max(), abs=1e-8)
    assert second[path.order[1]] == pytest.approx(second.max(), abs=1e-8)
    changed = diverse_selection(
        weights, X, n_features_to_select=2, targets=1e12 * (targets - 7), target_share=share
    )
    assert_same_path(changed, path)  # Neither the unit nor the offset of the targets matters.


@given(tables(), st.sampled_from(["explain", "correlation"]))
def test_redundancy_and_the_column_that_is_repeated(table: Columns, form: str) -> None:
    X, p = table.X, table.X.shape[1]
    path = diverse_selection(table.weights, X, n_features_to_select=min(3, p), form=form)
    correlation = correlations(X)
    for j in range(p):
        place = int(np.flatnonzero(path.order == j)[0])
        before = path.order[: min(place, path.n_selected)]
        if np.ptp(X[:, j]) == 0:
            assert np.isnan(path.redundancy[j])
            assert path.closest[j] == -1
            assert np.isnan(path.closest_correlation[j])
            continue
        if not len(before):
            assert path.redundancy[j] == pytest.approx(0, abs=1e-12)
            assert path.closest[j] == -1
            assert np.isnan(path.closest_correlation[j])
            continue
        strongest = np.abs(correlation[j, before]).max()
        assert abs(path.closest_correlation[j]) == pytest.approx(strongest, abs=1e-9)
        assert path.closest_correlation[j] == pytest.approx(
            correlation[j, path.closest[j]], abs=1e-9
        )
        assert path.closest[j] in before
        if form == "explain":
            fitted = LinearRegression().fit(X[:, before], X[:, j])
            assert path.redundancy[j] == pytest.approx(
                fitted.score(X[:, before], X[:, j]), abs=1e-8
            )
        else:
            assert path.redundancy[j] == pytest.approx(strongest**2, abs=1e-9)


def test_without_weights_it_is_greedy_column_subset_selection() -> None:
    """The sum of squared singular values of the residuals, by numpy, is minimised by each
    selection.
    """
    X = np.random.default_rng(8).normal(size=(20, 9)) @ np.random.default_rng(9).normal(size=(9, 9))
    path = diverse_selection(np.ones(9), X, n_features_to_select=4)
    chosen: list[int] = []
    for place in range(4):
        left = [
            np.inf
            if j in chosen
            else (np.linalg.svd(left_over(X, X[:, [*chosen, j]]), compute_uv=False) ** 2).sum()
            for j in range(9)
        ]
        chosen.append(int(np.argmin(left)))
        assert path.order[place] == chosen[-1]
    first = (np.cov(X.T) ** 2).sum(axis=0) / np.diag(np.cov(X.T))
    assert path.order[0] == first.argmax()
    np.testing.assert_allclose(path.alone, first / np.trace(np.cov(X.T)))


def test_a_case_by_hand() -> None:
    # The centred columns are (−1, 1, −1, 1), (−3, 3, 0, 0) and (0, 0, 1, −1), with the squared
    # lengths 4, 18 and 2. The inner products are 6, −2 and 0. With the weights 1, ½ and 0 the total
    # is 4 + 9. Alone, the columns explain (16 + ½·36)/4 = 8.5, (36 + ½·324)/18 = 11 and (4 + 0)/2 =
    # 2. After the second column, the residual of the first is (−1, 1, −1, 1) − 6/18 (−3, 3, 0, 0) =
    # (0, 0, −1, 1), with squared length 2. The third column is the same except for the sign. Both
    # explain 2. The first of them is selected, and the third is then fully explained.
    X = np.array([[0, 0, 5], [2, 6, 5], [0, 3, 6], [2, 3, 4]], dtype=float)
    path = diverse_selection([1.0, 0.5, 0.0], X, n_features_to_select=3)
    np.testing.assert_allclose(path.alone, np.array([8.5, 11, 2]) / 13)
    assert path.order.tolist() == [1, 0, 2]
    assert path.n_selected == 2
    np.testing.assert_allclose(path.gains, np.array([11, 2]) / 13)
    np.testing.assert_allclose(path.explained, [11 / 13, 1])
    np.testing.assert_allclose(path.redundancy, [0.5, 0, 1], atol=1e-15)
    assert path.closest.tolist() == [1, -1, 0]
    np.testing.assert_allclose(path.closest_correlation, [np.sqrt(0.5), np.nan, -np.sqrt(0.5)])


# ---- What is selected: form "correlation"


@given(tables())
def test_the_correlation_form_against_numpy(table: Columns) -> None:
    X, weights, p = table.X, table.weights, table.X.shape[1]
    path = diverse_selection(weights, X, n_features_to_select=p, form="correlation")
    correlation, varies = np.abs(correlations(X)), np.ptp(X, axis=0) > 0
    weights = np.where(varies, weights, 0.0)
    weights = weights / weights.max() if weights.max() > 0 else varies.astype(float)
    np.testing.assert_allclose(path.alone, np.where(varies, weights, np.nan), atol=1e-12)
    for place in range(path.n_selected):
        chosen = path.order[:place]
        worth = weights * (1 - correlation[:, chosen].max(axis=1, initial=0))
        worth[chosen] = 0
        assert path.gains[place] == pytest.approx(np.nanmax(worth), abs=1e-9)
        assert worth[path.order[place]] == pytest.approx(np.nanmax(worth), abs=1e-9)


# ---- Invariances


@pytest.mark.parametrize("form", ["explain", "correlation"])
@given(table=tables(plain=True), seed=st.integers(0, 999))
def test_laws(form: str, table: Columns, seed: int) -> None:
    X, weights, random = table.X, table.weights, np.random.default_rng(seed)
    n, p = X.shape
    wanted = min(n - 2, p)

    def path_of(changed: Any, scores: np.ndarray = weights) -> DiversePath:
        return diverse_selection(scores, changed, n_features_to_select=wanted, form=form)

    path = path_of(X)
    for factor in (-3.0, 1e-150, 1e150):  # the unit of all columns
        assert_same_path(path_of(X * factor), path)
    grid = np.round(X * 2**12) / 2**12  # an offset that loses no digits
    assert_same_path(path_of(grid + np.array(2.0**27)), path_of(grid), 1e-12)
    assert_same_path(path_of(X[random.permutation(n)]), path)
    assert_same_path(path_of(sp.csc_array(X)), path)
    assert_same_path(path_of(X, weights * 1e-200), path)  # Only the ratios of the scores matter.
    columns = random.permutation(p)
    moved = path_of(X[:, columns], weights[columns])
    np.testing.assert_allclose(moved.alone, path.alone[columns], atol=1e-9)
    assert (
        columns[moved.order[: moved.n_selected]].tolist() == path.order[: path.n_selected].tolist()
    )


@pytest.mark.parametrize("form", ["explain", "correlation"])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_an_offset_of_1e8_does_not_matter_but_for_the_digits_it_costs(
    form: str, offset: float
) -> None:
    X = np.random.default_rng(2).normal(size=(40, 12)) @ np.random.default_rng(3).normal(
        size=(12, 12)
    )
    X = (X + 1e8) - 1e8  # to the number of digits that remain beside the offset
    weights = np.linspace(0.3, 1, 12)
    plain = diverse_selection(weights, X, n_features_to_select=8, form=form)
    assert_same_path(
        diverse_selection(weights, X + offset, n_features_to_select=8, form=form), plain, 1e-12
    )


@pytest.mark.parametrize("form", ["explain", "correlation"])
@given(seed=st.integers(0, 2**32 - 1), tall=st.booleans())
def test_copies_come_last_and_name_the_original(form: str, seed: int, tall: bool) -> None:
    random = np.random.default_rng(seed)
    n, p = (30, 5) if tall else (12, 5)
    plain = random.normal(size=(n, p)) * [1.0, 0.1, 3, 1, 1]
    X = np.hstack([plain, plain, -plain, 1000 * plain if form == "correlation" else plain])
    weights = np.tile(random.uniform(0.2, 1, p), 4)
    path = diverse_selection(weights, X, n_features_to_select=4 * p, form=form)
    assert path.n_selected == p
    assert sorted(path.order[:p]) == list(range(p))  # The first of equal columns is selected.
    copies = np.arange(p, 4 * p)
    assert path.closest[copies].tolist() == np.tile(np.arange(p), 3).tolist()
    np.testing.assert_allclose(path.redundancy[copies], 1, atol=1e-12)
    np.testing.assert_allclose(
        path.closest_correlation[copies], np.repeat([1.0, -1.0, 1.0], p), atol=1e-12
    )
    # Columns without a residual are ordered by score, and copies by column.
    assert path.order[p:].tolist() == sorted(copies, key=lambda j: (-weights[j], j))


@pytest.mark.parametrize("seed", range(20))
def test_rounding_does_not_choose_between_copies_with_a_small_residual(seed: int) -> None:
    """A large column and small differences from it, each three times.

    A share of a hundred-millionth of them remains.
    """
    random = np.random.default_rng(seed)
    n = 40 if seed % 2 else 15
    large = random.normal(size=(n, 1)) * 100
    plain = large + random.normal(size=(n, 8)) * 0.01
    X = np.hstack([large * 2, np.tile(plain, 3)])[random.permutation(n)]
    path = diverse_selection(np.ones(25), X, n_features_to_select=9)
    assert path.order[0] == 0
    assert path.order[1:9].max() <= 8  # Of three copies, the first is always selected.
    expected, least = chosen_in_extended_precision(X, np.ones(25), 9)
    assert path.order[:9].tolist() == expected
    assert least < 1e-8


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(5, 26),
    p=st.integers(2, 80),
    whole=st.booleans(),
    kind=st.sampled_from(["none", "classes", "continuous"]),
)
@example(seed=0, n=24, p=200, whole=False, kind="none")
@example(seed=1, n=24, p=200, whole=True, kind="none")
def test_ranks_are_the_same_after_everything_is_explained(
    seed: int, n: int, p: int, whole: bool, kind: str
) -> None:
    """In a wide table, all directions are explained after n − 1 columns. Scores that tie on paper
    must not order the other columns by rounding errors or by position.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X = np.round(100 * X) if whole else X
    y = {"none": None, "classes": np.arange(n) % 2, "continuous": X[:, 0] + rng.normal(size=n)}[
        kind
    ]

    def ranks(X: Any, rows: Any = slice(None)) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sieve = GraphSieve(n_features_to_select=p).fit(X, None if y is None else y[rows])
        return np.asarray(sieve.ranking_)

    expected = ranks(X)
    columns, rows = rng.permutation(p), rng.permutation(n)
    for changed in (sp.csr_array(X), X + 1000, 3 * X, np.asfortranarray(X)):
        np.testing.assert_array_equal(ranks(changed), expected)
    np.testing.assert_array_equal(ranks(X[:, columns]), expected[columns])
    np.testing.assert_array_equal(ranks(X[rows], rows), expected)


@pytest.mark.parametrize("factor", [1.0, -3.0, 7.0])
def test_columns_that_leave_the_same_direction_are_ties(factor: float) -> None:
    """Four samples have three directions. After two selections all columns have the same worth,
    however small their residuals are.
    """
    X = np.array(
        [
            [
                -2.84813846e00,
                2.41879612e-02,
                -4.21558139e00,
                -1.86256048e-01,
                -1.77755951e-01,
                -6.13662786e-02,
            ],
            [
                5.12628843e-01,
                7.99097182e-02,
                -1.88624002e00,
                -1.39825839e-01,
                -1.54096504e-01,
                -3.05536008e-04,
            ],
            [
                -1.71036635e00,
                3.25629660e-02,
                8.06973335e-01,
                2.42602064e-01,
                3.88824292e00,
                5.70063251e-02,
            ],
            [
                3.00628460e00,
                8.90222787e-02,
                -7.67370678e-01,
                -1.03721486e-01,
                -1.17318573e-01,
                1.26879260e-01,
            ],
        ]
    )
    # One more column lies nearly in the first two directions, up to a millionth.
    first = diverse_selection(np.ones(6), X, n_features_to_select=2).order[:2]
    nearly = X[:, first] @ [0.3, 0.7] + 1e-3 * X[:, 1]
    X = factor * np.column_stack([nearly, X])
    weights = np.array([0.35, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
    two, three = (diverse_selection(weights, X, n_features_to_select=n) for n in (2, 3))
    taken = two.order[:2].tolist()
    others = [j for j in range(7) if j not in taken]
    assert three.order[:2].tolist() == taken
    assert three.order[2] == max(others, key=weights.__getitem__)  # Ties are in order of weight.
    # Columns that were not selected are ordered by score.
    assert two.order[2:].tolist() == sorted(others, key=lambda j: -weights[j])


@given(seed=st.integers(0, 2**32 - 1))
def test_copies_that_were_not_selected_stay_in_column_order(seed: int) -> None:
    plain = np.random.default_rng(seed).normal(size=(25, 7))
    path = diverse_selection(np.ones(42), np.tile(plain, 6), n_features_to_select=3)
    rest = path.order[3:]
    for column in range(7):
        copies = rest[rest % 7 == column]
        assert (np.diff(copies) > 0).all()
        places = np.flatnonzero(rest % 7 == column)
        if column not in path.order[:3]:
            assert (np.diff(places) == 1).all()  # The copies are adjacent.


@pytest.mark.parametrize("form", ["explain", "correlation"])
@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
def test_constants_and_columns_without_a_score(form: str, stored: Any) -> None:
    X = np.random.default_rng(6).normal(size=(15, 6))
    X[:, 1], X[:, 4] = 0.0, 7.3
    X[:, 5] = 3 * X[:, 0]  # This column explains most, but must not be selected.
    weights = np.array([0.5, 1.0, 0.5, 0.1, 1.0, np.nan])
    path = diverse_selection(weights, stored(X), n_features_to_select=6, form=form)
    assert path.n_selected == 3
    assert sorted(path.order[:3]) == [0, 2, 3]
    assert path.order[3:].tolist() == [1, 4, 5]
    assert np.isnan(path.alone).tolist() == [False, True, False, False, True, True]
    assert np.isnan(path.redundancy).tolist() == [False, True, False, False, True, False]
    assert path.closest[5] == 0
    assert path.redundancy[5] == pytest.approx(1)


@pytest.mark.parametrize("form", ["explain", "correlation"])
def test_nothing_can_be_chosen(form: str) -> None:
    X = np.random.default_rng(0).normal(size=(6, 3))
    for weights, table in (([1.0, 1.0, 1.0], np.full((6, 3), 0.1)), ([np.nan] * 3, X)):
        path = diverse_selection(weights, table, n_features_to_select=2, form=form)
        assert path.n_selected == 0
        assert path.order.tolist() == [0, 1, 2]
        assert np.isnan(path.alone).all()
        assert (path.closest == -1).all()


@pytest.mark.parametrize("form", ["explain", "correlation"])
def test_if_all_weights_are_zero_all_columns_count_equally(form: str) -> None:
    X = np.random.default_rng(1).normal(size=(10, 4))
    none = diverse_selection([0.0, 0, 0, np.nan], X, n_features_to_select=3, form=form)
    assert_same_path(
        none, diverse_selection([1.0, 1, 1, np.nan], X, n_features_to_select=3, form=form), 0
    )
    assert none.n_selected == 3


def test_beyond_the_relevant_columns_the_default_selects_no_copies() -> None:
    """Rounding errors once placed a copy of a relevant column before columns that add information."""
    plain = np.random.default_rng(3).normal(size=(24, 5)) * [1, 1, 3, 2, 1]
    X, weights = plain[:, [2, 0, 1, 2, 3, 0, 4]], np.array([0, 0.9, 0, 0, 0.3, 0.9, 0])
    # By default the search stops there.
    assert diverse_selection(weights, X, n_features_to_select=7).n_selected == 2
    path = diverse.select_diverse(MemoryTable(X), weights, n_wanted=7, beyond=True)
    assert path.n_selected == 5
    assert sorted(path.order[:2]) == [1, 4]
    # The other columns are ordered by what they explain of each other, as in a separate table.
    rest = np.isin(np.arange(7), [0, 2, 3, 6]).astype(float)
    for place in (2, 3, 4):
        worth = worth_by_refitting(X, rest, path.order[:place].tolist())
        assert path.order[place] == np.flatnonzero(worth >= worth.max() - 1e-9)[0]
    assert path.order[5:].tolist() == [5, 3]
    assert path.closest[[3, 5]].tolist() == [0, 1]
    np.testing.assert_allclose(path.explained[1:], 1)
    np.testing.assert_allclose(path.gains[2:], 0, atol=0)


@given(st.integers(0, 2**32 - 1), st.sampled_from([(8, 25), (25, 8), (6, 6)]), st.integers(1, 4))
def test_no_more_are_chosen_than_the_rank(seed: int, shape: tuple[int, int], rank: int) -> None:
    random = np.random.default_rng(seed)
    X = random.normal(size=(shape[0], rank)) @ random.normal(size=(rank, shape[1])) + 3
    path = diverse_selection(np.ones(shape[1]), X, n_features_to_select=shape[1])
    assert path.n_selected == np.linalg.matrix_rank(X - X.mean(axis=0)) == rank
    assert path.explained[-1] == pytest.approx(1)
    full = random.normal(size=shape)
    assert diverse_selection(
        np.ones(shape[1]), full, n_features_to_select=shape[1]
    ).n_selected == min(shape[0] - 1, shape[1])


def test_the_number_of_greedy_steps_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(5).normal(size=(280, 270))
    path = diverse_selection(np.ones(270), X, n_features_to_select=270)
    assert path.n_selected == len(path.gains) == diverse.MOST_SELECTED == 256
    assert sorted(path.order) == list(range(270))
    monkeypatch.setattr(diverse, "MOST_SELECTED", 4)
    small, weights = X[:30, :9], np.linspace(1, 2, 9)
    path = diverse_selection(weights, small, n_features_to_select=9)
    worth = worth_by_refitting(small, weights, path.order[:4].tolist())
    assert path.order[4:].tolist() == sorted(
        set(range(9)) - set(path.order[:4].tolist()), key=lambda j: -worth[j]
    )


# ---- Columns that are nearly equal


def spectra(seed: int, n: int, p: int, noise: float) -> np.ndarray:
    """A dozen broad bands, each five times weaker than the previous one, a baseline, and a little
    noise.
    """
    random = np.random.default_rng(seed)
    place = np.linspace(0, 1, p)
    bands = np.array(
        [np.exp(-((place - center) ** 2) / (2 * 0.15**2)) for center in random.random(12)]
    )
    return np.asarray(
        (random.normal(size=(n, 12)) * 0.2 ** np.arange(12)) @ bands
        + noise * random.normal(size=(n, p))
        + 5
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n", "p"), [(40, 90), (90, 40)])
@pytest.mark.parametrize("noise", [1e-4, 2e-5])
def test_spectra_are_chosen_as_in_extended_precision(
    seed: int, n: int, p: int, noise: float
) -> None:
    X, random = spectra(seed, n, p, noise), np.random.default_rng(seed)
    for weights in (np.ones(p), random.random(p)):
        expected, least = chosen_in_extended_precision(X, weights / weights.max(), 20)
        path = diverse_selection(weights, X, n_features_to_select=20)
        assert path.order[: path.n_selected].tolist() == expected
        assert least < 1e-6


def test_selections_with_a_residual_of_a_billionth() -> None:
    """Check that the test above reaches the limit: at 1e-10 a column counts as explained."""
    X = spectra(0, 60, 150, 2e-6)
    expected, least = chosen_in_extended_precision(X, np.ones(150), 20)
    assert least < 1e-9
    path = diverse_selection(np.ones(150), X, n_features_to_select=20)
    assert path.order[: path.n_selected].tolist() == expected


def test_spectra_of_many_samples_are_chosen_as_in_extended_precision() -> None:
    X, _ = lookalikes.load("spectra")
    expected, least = chosen_in_extended_precision(X, np.ones(X.shape[1]), 20)
    path = diverse_selection(np.ones(X.shape[1]), X, n_features_to_select=20)
    assert path.order[: path.n_selected].tolist() == expected
    assert least < 1e-6


# ---- Large tables


def test_a_sketch_keeps_inner_products() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(20_000, 30)) @ random.normal(size=(30, 30)) + 100
    table = MemoryTable(X)
    exact = ColumnSpace(table)
    sketch = ColumnSpace(table, most_elements=30 * 1024)
    assert sketch.sketched
    assert not exact.sketched
    assert sketch.n_rows == 1024
    columns, small = (
        np.concatenate([part for _, part in space.parts()], axis=1) for space in (exact, sketch)
    )
    lengths = np.sqrt(exact.squares[:, None] * exact.squares)
    error = (small.T @ small - columns.T @ columns) / lengths
    assert np.abs(error).max() < 6 / np.sqrt(sketch.n_rows)
    # The sketch is an estimate and not exact.
    assert np.abs(error).mean() > 0.1 / np.sqrt(sketch.n_rows)
    np.testing.assert_allclose(small, sketch.project(columns), atol=1e-9 * np.abs(small).max())
    thin = ColumnSpace(MemoryTable(sp.csr_array(X)), most_elements=30 * 1024)
    np.testing.assert_allclose(thin.squares, sketch.squares, rtol=1e-9)


def test_when_a_table_is_sketched() -> None:
    X = np.random.default_rng(0).normal(size=(600, 40))
    assert not ColumnSpace(MemoryTable(X), most_elements=24_000, most_rows=40).sketched
    assert ColumnSpace(MemoryTable(X), most_elements=23_999, most_rows=40).n_rows == 23_999 // 40
    # Both dimensions are larger.
    assert ColumnSpace(MemoryTable(X), most_elements=24_000, most_rows=39).n_rows == 39
    assert (
        ColumnSpace(MemoryTable(X), most_elements=100).n_rows == 256
    )  # A smaller sketch would be too inaccurate.
    # The sketch would have as many rows as the table.
    assert not ColumnSpace(MemoryTable(X[:256]), most_elements=100).sketched
    few = sp.random_array((600, 40), density=0.1, rng=np.random.default_rng(0))
    # The number of stored entries decides, not the number of cells.
    assert not ColumnSpace(MemoryTable(few), most_elements=2400, most_rows=40).sketched


def test_a_clear_choice_survives_a_sketch(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    factors = random.normal(size=(8_000, 4)) * [8, 4, 2, 1]
    X = np.repeat(factors, 5, axis=1) + 0.05 * random.normal(size=(8_000, 20))
    X[:, [0, 5, 10, 15]] = factors * 1.3  # Each is the noise-free and largest column of its five.
    target = factors[:, 3]
    X = np.hstack([X, X[:, :1], np.ones((8_000, 1))])
    exact = diverse_selection(np.ones(22), X, n_features_to_select=4, targets=target)
    original = ColumnSpace
    monkeypatch.setattr(
        diverse, "ColumnSpace", lambda table: original(table, most_elements=22 * 2048)
    )
    sketched = diverse_selection(np.ones(22), X, n_features_to_select=4, targets=target)
    assert sketched.sketched
    assert not exact.sketched
    assert sorted(exact.order[:4]) == [0, 5, 10, 15]
    assert sketched.order[:4].tolist() == exact.order[:4].tolist()
    np.testing.assert_allclose(sketched.gains, exact.gains, atol=0.1)
    assert sketched.redundancy[20] == pytest.approx(1)
    assert sketched.closest[20] == 0
    assert np.isnan(sketched.redundancy[21])


def peak_of(run: Any) -> tuple[int, Any]:
    tracemalloc.start()
    try:
        result = run()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_twenty_thousand_columns_take_little_memory() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 20_000))
    X[:, 10_000:] += 2 * X[:, :10_000]
    peak, path = peak_of(
        lambda: diverse_selection(random.random(20_000), X, n_features_to_select=100)
    )
    assert path.n_selected == 100
    # The values that were updated by differences still add up.
    np.testing.assert_allclose(np.cumsum(path.gains), path.explained)
    assert peak < 4 * X.nbytes  # 320 MB; features × features would be 3.2 GB


@pytest.mark.slow
def test_text_stays_sparse() -> None:
    random = np.random.default_rng(0)
    # a few frequent words and many rare ones
    size = 1 + (3000 / (1 + np.arange(20_000))).astype(np.int64)
    rows = np.concatenate([random.choice(2000, min(n, 1500), replace=False) for n in size])
    columns = np.repeat(np.arange(20_000), np.minimum(size, 1500))
    X = sp.csr_array((random.poisson(1, len(rows)) + 1.0, (rows, columns)), shape=(2000, 20_000))
    peak, path = peak_of(lambda: diverse_selection(np.ones(20_000), X, n_features_to_select=20))
    assert path.n_selected == 20
    assert peak < 2000 * 20_000 * 8 / 2
    part = diverse_selection(np.ones(60), X[:, :60], n_features_to_select=10)
    assert_same_path(
        part, diverse_selection(np.ones(60), X[:, :60].toarray(), n_features_to_select=10)
    )


# ---- Invalid input


def one_sentence(message: str) -> bool:
    return message.endswith(".") and ". " not in message and "\n" not in message


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scores": [1.0, 2.0]}, "one number for each of the 3 features"),
        ({"scores": ["a", "b", "c"]}, "one number per feature"),
        ({"scores": [1.0, -1.0, 1.0]}, "not below 0"),
        ({"scores": [1.0, np.inf, 1.0]}, "finite"),
        ({"n_features_to_select": 4}, "3 features"),
        ({"n_features_to_select": 0}, "3 features"),
        ({"n_features_to_select": 1.5}, "an integer"),
        ({"form": "copies"}, "form"),
        ({"target_share": 1.5}, "target_share"),
        ({"targets": np.ones(4)}, "5 samples"),
        ({"targets": np.full(5, np.nan)}, "finite"),
        ({"targets": ["a"] * 5}, "numbers"),
        ({"targets": np.ones(5), "form": "correlation"}, "explain"),
    ],
)
def test_refused_in_one_sentence(change: dict[str, Any], words: str) -> None:
    arguments = {
        "scores": np.ones(3),
        "X": np.arange(15.0).reshape(5, 3) ** 2,
        "n_features_to_select": 2,
    } | change
    with pytest.raises(InputError, match=words) as refused:
        diverse_selection(arguments.pop("scores"), arguments.pop("X"), **arguments)
    assert one_sentence(str(refused.value))


# ---- The default, and the estimator


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    """Sixty samples of three classes. Columns 0 and 1 depend on the class, 2 repeats 0, 3 to 7 are
    noise, and 8 is constant.
    """
    random = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = random.normal(size=(60, 9))
    X[:, 0] += 3 * (y == 1)
    X[:, 1] += 3 * (y == 2)
    X[:, 2] = X[:, 0] + 0.01 * random.normal(size=60)
    X[:, 8] = 4.5
    return X, y


def quietly(sieve: GraphSieve, *arguments: Any) -> GraphSieve:
    """Return the fitted estimator and check the warning about the constant column."""
    with pytest.warns(UserWarning, match="1 of 9 features cannot be scored"):
        return sieve.fit(*arguments)


def kinds_of_knowledge(y: np.ndarray) -> dict[str, Supervision]:
    n = len(y)
    few = Supervision.from_labels(np.where(np.arange(n) < 12, y, -1))
    sure = np.eye(3)[y] * 0.8 + 0.2 / 3
    must, cannot = [(0, 3), (1, 4), (2, 5), (6, 9)], [(0, 1), (1, 2), (3, 5), (4, 8)]
    target = np.where(np.arange(n) % 2 == 0, y + np.sin(np.arange(n)) / 3, np.nan)
    return {
        "nothing": Supervision.nothing(n),
        "labels": Supervision.from_labels(y),
        "few labels": few,
        "targets": Supervision.from_targets(target),
        "must": Supervision.from_pairs(n, must, []),
        "cannot": Supervision.from_pairs(n, [], cannot),
        "pairs": Supervision.from_pairs(n, must, cannot),
        "probabilities": Supervision.from_probabilities(sure),
        "labels and pairs": few | Supervision.from_pairs(n, [(20, 23)], [(20, 21)]),
        "probabilities and labels": Supervision.from_probabilities(sure) | few,
    }


@pytest.mark.parametrize("kind", list(kinds_of_knowledge(np.arange(60) % 3)))
def test_the_default_explains_the_table_and_the_supervision(
    kind: str, data: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = data
    known = kinds_of_knowledge(y)[kind]
    sieve = quietly(GraphSieve("diverse", n_features_to_select=4), X, None, known)
    prediction = predicted(MemoryTable(X), known)
    share = 0.0 if prediction is None else max(LEAST_TRUST, prediction.skill)
    assert sieve.relevance_ is not None
    assert sieve.relevant_ is not None
    # The features that matter are explained, and one of them is selected first.
    weights = sieve.relevance_ * sieve.relevant_
    weights = weights if weights.any() else sieve.relevance_
    worth = worth_by_refitting(
        X, weights, [], None if prediction is None else prediction.values, share
    )
    np.testing.assert_allclose(sieve.scores_, np.where(np.arange(9) < 8, worth, np.nan), atol=1e-9)
    first = int(np.argmin(sieve.ranking_))
    assert worth[first] == pytest.approx(worth[weights > 0].max())
    assert sieve.method_ == "diverse"
    assert sieve.reason_
    assert sieve.large_is_good_
    assert sieve.skill_ == (None if prediction is None else prediction.skill)
    assert (prediction is None) == (kind in ("nothing", "must", "cannot", "pairs"))
    assert sieve.ranking_[8] == 9
    assert sieve.get_support().sum() == 4
    assert (sieve.get_support() == (sieve.ranking_ <= 4)).all()
    # The two columns with the same information are not both selected first.
    assert set(np.argsort(sieve.ranking_)[:2]) != {0, 2}
    if kind in ("labels", "few labels", "probabilities", "labels and pairs"):
        assert sieve.get_support()[1]
        assert sieve.get_support()[[0, 2]].any()


def test_relevance_by_hand_and_trust_by_skill(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    sieve = quietly(GraphSieve(), X, y)
    assert sieve.relevance_ is not None
    ranks = rankdata(X, axis=0)
    within = sum(((ranks[y == c] - ranks[y == c].mean(axis=0)) ** 2).sum(axis=0) for c in range(3))
    total = ((ranks - ranks.mean(axis=0)) ** 2).sum(axis=0)
    # The structure of this table is the classes, so nothing is subtracted for chance.
    np.testing.assert_allclose(sieve.relevance_[:8], 1 - within[:8] / total[:8], atol=0.01)
    assert sieve.relevance_[8] == 0
    noise = quietly(GraphSieve(), X, np.random.default_rng(5).permutation(y))
    assert sieve.skill_ is not None
    assert noise.skill_ is not None
    assert noise.skill_ < 0.25
    assert sieve.skill_ > 0.6


def test_features_that_matter_come_first_and_the_others_follow() -> None:
    random = np.random.default_rng(2)
    y = np.arange(200) % 2
    X = random.normal(size=(200, 30))
    X[:, 10:13] += 2 * y[:, None]
    X[:, 20] = X[:, 10] + 1e-9 * random.normal(size=200)  # a copy
    sieve = GraphSieve().fit(X, y)
    assert np.flatnonzero(sieve.relevant_).tolist() == [10, 11, 12, 20]
    order = np.argsort(sieve.ranking_)
    assert set(order[:3]) <= {10, 11, 12, 20}
    assert len({10, 20} & set(order[:3])) == 1
    assert {10, 20} & set(order[-1:])  # The copy adds nothing, so even noise comes before it.
    assert (np.diff(sieve.gain_[order[:3]]) < 0).all()
    assert sieve.gain_[order[3:]].max() < sieve.gain_[order[:3]].min()


def test_columns_that_are_constant_on_the_few_labelled_can_still_be_chosen() -> None:
    random = np.random.default_rng(0)
    labels = np.where(np.arange(50) < 6, np.arange(50) % 2, -1)
    X = random.normal(size=(50, 12)) * 0.1
    X[:6, :10] = 0.1  # Only the last two columns vary on the labelled samples.
    X[6:, 0] += random.normal(size=44) * 5
    X[:, 1:6] += X[:, :1]  # The first column represents half of the table.
    X[:6, 1:6] = 0.2
    sieve = GraphSieve(n_features_to_select=4).fit(X, labels)  # A warning would be an error.
    assert sieve.relevance_ is not None
    assert sieve.relevance_[:10].tolist() == [0.0] * 10
    assert not np.isnan(sieve.scores_).any()
    X[:6] = 0.1  # No column varies on the labelled samples. The labels are then not used.
    own = np.arange(50)  # The labelled samples are identical, but they are not copies.
    sieve = GraphSieve(n_features_to_select=4).fit(X, labels, groups=own)
    assert sieve.skill_ is None
    alone = GraphSieve(n_features_to_select=4).fit(X, groups=own)
    assert sieve.ranking_.tolist() == alone.ranking_.tolist()
    assert (alone.ranking_[:6] == 1).sum() == 1


def test_all_columns_are_constant() -> None:
    with pytest.warns(UserWarning, match="3 of 3 features cannot be scored"):
        sieve = GraphSieve().fit(np.full((9, 3), 0.1), np.arange(9) % 2)
    assert not sieve.get_support().any()


def test_probabilities_leave_a_target_in_y_unread_and_refuse_other_knowledge(
    data: tuple[np.ndarray, np.ndarray],
) -> None:
    X, y = data
    kinds = kinds_of_knowledge(y)
    plain = quietly(GraphSieve(), X, None, kinds["probabilities"])
    with_target = quietly(GraphSieve(), X, np.linspace(0, 1, 60) ** 2, kinds["probabilities"])
    assert with_target.skill_ == plain.skill_
    assert with_target.ranking_.tolist() == plain.ranking_.tolist()
    for other in ("pairs", "targets"):
        with pytest.raises(InputError, match=f"cannot use {other}") as refused:
            GraphSieve().fit(X, None, kinds["probabilities"] | kinds[other])
        assert one_sentence(str(refused.value))


def test_certain_probabilities_of_one_class_rank_as_without_supervision(
    data: tuple[np.ndarray, np.ndarray],
) -> None:
    X, _ = data
    sure = Supervision.from_probabilities(np.column_stack([np.ones(60), np.zeros(60)]))
    assert (
        quietly(GraphSieve(), X, None, sure).ranking_.tolist()
        == quietly(GraphSieve(), X).ranking_.tolist()
    )


def test_useless_supervision_warns_and_is_not_used(data: tuple[np.ndarray, np.ndarray]) -> None:
    X = data[0][:, :8]
    alone = GraphSieve().fit(X)
    with pytest.warns(UserWarning, match="of one class: ranking is unsupervised"):
        one_class = GraphSieve().fit(X, np.where(np.arange(60) < 9, 3, -1))
    with pytest.warns(UserWarning, match="all 2.5: ranking is unsupervised"):
        one_value = GraphSieve().fit(X, np.where(np.arange(60) < 9, 2.5, np.nan))
    for sieve in (one_class, one_value):
        assert sieve.ranking_.tolist() == alone.ranking_.tolist()
        assert sieve.skill_ is None
        assert "all of one class" in sieve.reason_ or "equal" in sieve.reason_


@pytest.mark.parametrize(
    "method", ["fisher", "laplacian", "variance", "mutual_information", "constrained_laplacian"]
)
@pytest.mark.parametrize("redundancy", ["explain", "correlation", None, "auto"])
def test_named_methods_with_and_without_redundancy(
    method: str, redundancy: str | None, data: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = data
    sieve = quietly(GraphSieve(method, redundancy=redundancy, n_features_to_select=4), X, y)
    plain = quietly(GraphSieve(method, n_features_to_select=4), X, y)
    # The scores remain those of the method.
    np.testing.assert_array_equal(sieve.scores_, plain.scores_)
    assert sieve.method_ == method
    assert sieve.relevance_ is None
    assert sieve.skill_ is None
    if redundancy in (None, "auto"):
        assert sieve.ranking_.tolist() == plain.ranking_.tolist()
        assert sieve.redundancy_ is None
        assert sieve.closest_ is None
        assert sieve.closest_correlation_ is None
        return
    places = pd.Series(sieve.scores_ if sieve.large_is_good_ else -sieve.scores_).rank(
        method="average"
    )
    path = diverse_selection(
        places.to_numpy() / places.count(), X, n_features_to_select=4, form=redundancy
    )
    assert (np.argsort(sieve.ranking_)[:4] == path.order[:4]).all()
    np.testing.assert_allclose(sieve.redundancy_, path.redundancy, atol=1e-12)
    np.testing.assert_array_equal(sieve.closest_, path.closest)
    np.testing.assert_allclose(sieve.closest_correlation_, path.closest_correlation, atol=1e-12)


def test_scores_become_weights_by_their_ranks() -> None:
    scores = np.array([5.0, np.nan, 1.0, 5.0, -np.inf])
    np.testing.assert_array_equal(
        weights_by_rank(scores, large_is_good=True), [3.5 / 4, np.nan, 2 / 4, 3.5 / 4, 1 / 4]
    )
    np.testing.assert_array_equal(
        weights_by_rank(scores, large_is_good=False), [1.5 / 4, np.nan, 3 / 4, 1.5 / 4, 4 / 4]
    )


def test_one_parameter_selects_the_published_method(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    assert quietly(GraphSieve(redundancy=None), X, y).method_ == "fisher"
    assert quietly(GraphSieve(redundancy="correlation"), X, y).method_ == "fisher"
    assert quietly(GraphSieve(redundancy=None), X).method_ == "laplacian"
    named = quietly(GraphSieve("diverse"), X, y)
    assert (
        named.ranking_.tolist() == quietly(GraphSieve(redundancy="explain"), X, y).ranking_.tolist()
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_neighbors": 3}, "n_neighbors"),
        ({"bandwidth": 2.0}, "bandwidth"),
        ({"metric": "cosine"}, "metric"),
        ({"method_params": {"label_weight": 2.0}}, "method_params"),
        ({"compress": "som"}, "compress"),
        ({"n_prototypes": 3}, "n_prototypes"),
        ({"redundancy": "copies"}, "redundancy"),
        ({"max_features": 0}, "max_features"),
        ({"max_features": 2, "n_features_to_select": 3}, "max_features allows 2"),
        ({"n_features_to_select": "many"}, "n_features_to_select"),
        ({"scale": "loud"}, "scale"),
        ({"method": "diverse", "redundancy": None}, "redundancy"),
        ({"method": "diverse", "redundancy": "correlation"}, "redundancy"),
        ({"method": "fisher", "metric": "cosine"}, "metric"),
    ],
)
def test_parameters_without_effect_are_refused(
    change: dict[str, Any], words: str, data: tuple[np.ndarray, np.ndarray]
) -> None:
    with pytest.raises(InputError, match=words) as refused:
        GraphSieve(**change).fit(*data)
    assert one_sentence(str(refused.value))


def test_max_features_is_a_cap(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    assert quietly(GraphSieve(), X, y).get_support().sum() == 4  # half of nine
    assert quietly(GraphSieve(max_features=2), X, y).get_support().sum() == 2
    assert quietly(GraphSieve(max_features=99), X, y).get_support().sum() == 4
    assert (
        quietly(GraphSieve(n_features_to_select=0.9, max_features=3), X, y).get_support().sum() == 3
    )
    assert (
        quietly(GraphSieve(n_features_to_select=2, max_features=2), X, y).get_support().sum() == 2
    )
    assert quietly(GraphSieve("fisher", max_features=2), X, y).get_support().sum() == 2


@pytest.mark.parametrize("method", ["auto", "fisher"])
def test_the_number_may_be_found(method: str, data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    sieve = quietly(GraphSieve(method, n_features_to_select="auto"), X, y)
    assert sieve.count_ is not None
    assert sieve.get_support().sum() == sieve.count_.n
    assert sieve.count_.reason
    assert np.isnan(sieve.scores_).tolist() == [False] * 8 + [True]
    one = quietly(GraphSieve(method, n_features_to_select="auto", max_features=1), X, y)
    assert one.count_ is not None
    assert one.get_support().sum() == one.count_.n == 1
    assert one.count_.rule == "cap"
    assert quietly(GraphSieve(method), X, y).count_ is None
    # The classes depend on two columns. The near copy of one of them is not needed.
    if method == "auto":
        assert sieve.count_.n == 2
        assert sieve.get_support()[1]
        assert sieve.get_support()[[0, 2]].sum() == 1


def test_the_number_cannot_be_determined() -> None:
    X = np.random.default_rng(11).normal(size=(40, 6))
    with pytest.warns(UserWarning, match="the number of features could not be determined"):
        sieve = GraphSieve(n_features_to_select="auto").fit(X)
    assert sieve.count_ is not None
    assert sieve.count_.n == 0
    assert sieve.get_support().sum() == 1


@pytest.mark.parametrize("scale", ["auto", "standard", "minmax", "robust", "rank", None])
def test_columns_are_compared_in_the_requested_scale(scale: str | None) -> None:
    X = np.random.default_rng(4).normal(size=(30, 5)) * [1, 10, 100, 1000, 1]
    sieve = GraphSieve(scale=scale, n_features_to_select=3).fit(X)
    used = "standard" if scale == "auto" else scale  # The units differ by a factor of a thousand.
    assert sieve.scale_ == used
    scaled = rescaled(MemoryTable(X), used).matrix
    weights = np.abs(np.corrcoef(scaled.T) - np.eye(5)).max(axis=0)
    path = diverse_selection(weights, scaled, n_features_to_select=3)
    assert (np.argsort(sieve.ranking_) == path.order).all()
    np.testing.assert_allclose(sieve.scores_, path.alone)
    if used == "standard":
        np.testing.assert_allclose(sieve.scores_, weights @ np.corrcoef(X.T) ** 2 / weights.sum())


def test_names_pickles_clones_and_pipelines(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data[0][:, :8], data[1]
    frame = pd.DataFrame(X, columns=[f"column {letter}" for letter in "abcdefgh"])
    sieve = GraphSieve(n_features_to_select=2, redundancy="explain", max_features=5).fit(frame, y)
    assert list(sieve.get_feature_names_out()) == [
        frame.columns[j] for j in np.flatnonzero(sieve.get_support())
    ]
    assert list(sieve.feature_names_in_) == list(frame.columns)
    again = pickle.loads(pickle.dumps(sieve))
    assert again.ranking_.tolist() == sieve.ranking_.tolist()
    np.testing.assert_array_equal(again.transform(frame), sieve.transform(frame))
    fresh = clone(sieve)
    assert fresh.get_params() == sieve.get_params()
    assert not hasattr(fresh, "ranking_")
    assert fresh.fit(frame, y).ranking_.tolist() == sieve.ranking_.tolist()
    model = make_pipeline(GraphSieve(n_features_to_select=2), LogisticRegression())
    # Two of eight columns are enough for the three classes.
    assert cross_val_score(model, frame, y, cv=3).mean() > 0.75
    model = make_pipeline(GraphSieve(n_features_to_select="auto"), LogisticRegression())
    assert cross_val_score(model, X, y, cv=3).mean() > 0.75


def test_the_estimator_takes_sparse_tables_and_wide_ones(
    data: tuple[np.ndarray, np.ndarray],
) -> None:
    X, y = data
    sparse = np.where(np.abs(X) < 0.5, 0.0, X)
    one, other = (
        quietly(GraphSieve(n_features_to_select=3), table, y)
        for table in (sparse, sp.csr_array(sparse))
    )
    assert one.ranking_.tolist() == other.ranking_.tolist()
    np.testing.assert_allclose(one.scores_, other.scores_)
    wide = np.hstack([X[:, :8], np.random.default_rng(1).normal(size=(60, 500))])
    sieve = GraphSieve(n_features_to_select=100).fit(wide, y)  # more columns than samples
    assert sieve.get_support().sum() == 100
    assert sieve.get_support()[[0, 2]].any()


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("shape", [(30, 7), (9, 40)])
def test_the_largest_correlation_with_another_column(
    container: Any, shape: tuple[int, int]
) -> None:
    random = np.random.default_rng(2)
    X = random.normal(size=shape) * (random.random(shape) < 0.4)
    X[:, 2] = 0.0
    X[:, 4] = -3 * X[:, 1]
    varying = np.ptp(X, axis=0) > 0
    expected = np.zeros(shape[1])
    expected[varying] = np.abs(np.corrcoef(X[:, varying].T) - np.eye(varying.sum())).max(axis=0)
    found = largest_correlations(ColumnSpace(MemoryTable(container(X))))
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert found[[1, 2, 4]].tolist() == pytest.approx([1, 0, 1])
    # With fewer columns to compare with, no correlation is larger. The columns that explain most
    # are among them.
    fewer = largest_correlations(ColumnSpace(MemoryTable(container(X))), most_compared=5)
    assert (fewer <= expected + 1e-9).all()
    if shape[0] < shape[1]:
        explained = np.where(varying, 1.0, 0.0)
        centered = X - X.mean(axis=0)
        lengths = np.where(varying, (centered**2).sum(axis=0), 1)
        explained = ((centered.T @ centered) ** 2).sum(axis=0) / lengths
        best = np.argsort(-explained)[:5]
        products = np.abs(centered[:, best].T @ centered) / np.sqrt(
            lengths[best][:, None] * lengths
        )
        products[np.arange(5), best] = 0
        np.testing.assert_allclose(fewer, products.max(axis=0), rtol=1e-9, atol=1e-12)


def test_without_supervision_an_isolated_column_counts_little() -> None:
    """The pollen case: two nearly equal columns both come before columns that are unrelated to all
    others.
    """
    random = np.random.default_rng(5)
    first = random.normal(size=200)
    X = np.column_stack(
        [
            first,
            random.normal(size=200),
            0.9 * first + 0.45 * random.normal(size=200),
            random.normal(size=200),
        ]
    )
    assert set(np.argsort(GraphSieve(scale="standard").fit(X).ranking_)[:2]) == {0, 2}


def test_a_share_of_no_targets_is_refused():
    X = np.random.default_rng(0).normal(size=(12, 3))
    with pytest.raises(InputError, match=r"target_share=0\.9 needs targets, and none were given"):
        diverse_selection(np.ones(3), X, n_features_to_select=2, target_share=0.9)

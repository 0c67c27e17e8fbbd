"""Categories: their levels, their columns, and the containers that hold them."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphsieve import GraphSieve, GraphSieveWarning, rank
from graphsieve.table.any_table import as_table
from graphsieve.table.categories import CodedColumns
from graphsieve.table.columns import MemoryTable

N = 24


def numbers(n=N, p=2):
    return np.random.default_rng(0).normal(size=(n, p))


def framed(words, n_numbers=1):
    return pd.DataFrame(numbers(len(words), n_numbers)).add_prefix("x").assign(word=words)


def dense_columns(words):
    """Return the columns of a category by the rule: 0/1, indicators, or indicators and a rest."""
    often = Counter(words).most_common()  # Equal counts are in the order of first occurrence.
    levels = [word for word, _ in often]
    if len(levels) <= 2:
        return np.array([[float(levels.index(word))] for word in words])
    own = levels if len(levels) <= 100 else levels[:99]
    rest = [] if len(levels) <= 100 else [[float(word not in own)] for word in words]
    columns = np.array([[float(word == level) for level in own] for word in words])
    return np.hstack([columns, rest]) if rest else columns


WORDS = st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=8, max_size=20)


@given(WORDS)
def test_columns_follow_the_rule(words):
    table = as_table(framed(words))
    assert table.features.sizes.tolist() == [1, dense_columns(words).shape[1]]
    assert_array_equal(table.matrix[:, 1:], dense_columns(words))


@pytest.mark.parametrize("n_levels", [3, 99, 100, 101, 150])
def test_up_to_100_columns_and_the_rare_levels_share_one(n_levels):
    words = [f"w{row % n_levels}" for row in range(3 * n_levels + 40)]
    found = MemoryTable(framed(words)).matrix[:, 1:]
    assert found.shape[1] == min(n_levels, 100)
    assert_array_equal(found, dense_columns(words))
    assert_array_equal(found.sum(axis=1), 1.0)


@given(WORDS, st.permutations(["a", "b", "c", "d"]), st.randoms())
def test_the_names_and_the_order_of_levels_make_no_difference(words, others, random):
    renamed = [dict(zip("abcd", others, strict=True))[word] for word in words]
    expected = MemoryTable(framed(words)).matrix
    declared = sorted(set(words) | {"never"})
    random.shuffle(declared)
    for same in (
        framed(renamed),
        framed(pd.Categorical(words, declared)),
        pl.DataFrame(framed(words)),
        pl.DataFrame(framed(renamed)).with_columns(pl.col("word").cast(pl.Categorical)),
        pa.table(framed(renamed)),
        pa.table(framed(pd.Categorical(renamed))),
        framed(renamed).to_numpy(),
    ):
        assert_array_equal(MemoryTable(same).matrix, expected)


@given(WORDS, st.randoms())
def test_the_order_of_samples_makes_no_difference(words, random):
    rows = list(range(len(words)))
    random.shuffle(rows)
    table = framed(words, 3)
    y = np.arange(len(words)) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        found = GraphSieve("fisher").fit(table, y).scores_
        other = GraphSieve("fisher").fit(table.iloc[rows], y[rows]).scores_
        assert_allclose(other, found, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("pair", [("yes", "no"), ("Y", "N"), ("true", "false"), ("x", "")])
def test_two_levels_are_one_column(pair):
    answers = [pair[row % 3 == 0] for row in range(N)]
    table = as_table(framed(answers))
    assert_array_equal(table.matrix[:, 1], [float(row % 3 == 0) for row in range(N)])
    assert table.features.categorical.tolist() == [False, True]


@pytest.mark.parametrize("dtype", [bool, "boolean", object, pd.ArrowDtype(pa.bool_())])
def test_booleans_are_numbers(dtype):
    answers = np.arange(N) % 3 == 0
    frame = framed(pd.Series(answers, dtype=dtype))
    for table in (frame, pl.DataFrame({"x0": frame["x0"], "word": answers}), pa.table(frame)):
        found = as_table(table)
        assert found.features is None
        assert_array_equal(found.matrix[:, 1], answers.astype(float))


def test_a_single_level_is_constant():
    with pytest.warns(GraphSieveWarning, match="1 of 3 features cannot be scored"):
        found = rank(framed(["same"] * N, 2))
    assert np.isnan(found.scores[2])
    assert found.ranks[2] == 3


@pytest.mark.parametrize("n_levels", [N // 2, N // 2 + 1, N])
def test_a_text_with_fewer_than_two_samples_per_level_is_left_out(n_levels):
    words = [f"w{row % n_levels}" for row in range(N)]
    frame = framed(words, 2)
    message = r"column 'word': fewer than 2 samples per level \(an identifier or free text\)"
    if n_levels == N // 2:
        assert as_table(frame).features.sizes.tolist() == [1, 1, n_levels]
        return
    for held in (frame, pl.DataFrame(frame), pa.table(frame), frame.astype({"word": "category"})):
        with pytest.warns(GraphSieveWarning, match=message):
            assert_array_equal(as_table(held).matrix[:, 2:], np.zeros((N, 1)))
    with pytest.warns(GraphSieveWarning) as caught:
        found = rank(frame)
    assert len(caught) == 2
    assert found.ranks[2] == 3
    assert np.isnan(found.scores[2])


def test_an_ordered_category_with_many_levels_is_no_identifier():
    frame = framed(pd.Categorical([f"{row:02}" for row in range(N)], ordered=True))
    assert_array_equal(as_table(frame).matrix[:, 1], np.arange(N))


def test_numbers_become_categories_if_they_are_named():
    codes = [row * row % 5 for row in range(N)]  # 0, 1 and 4
    table = np.column_stack([numbers(), codes])
    frame = pd.DataFrame(table, columns=["x0", "x1", "code"])
    expected = np.hstack([numbers(), dense_columns(codes)])
    for held, named in (
        (table, [2]),
        (table.astype(object), (2,)),
        (table.astype(np.float32).astype(float).tolist(), [2]),
        (frame, ["code"]),
        (frame.astype({"code": int}), np.array(["code"])),
        (pl.DataFrame(frame), ["code"]),
        (pa.table(frame), pd.Index(["code"])),
    ):
        found = as_table(held, categorical=named)
        assert_allclose(found.matrix, expected, rtol=1e-6)
        assert found.features.categorical.tolist() == [False, False, True]
    assert as_table(frame, categorical=[]).features is None


def test_named_categories_follow_names_that_are_given():
    table = np.column_stack([numbers(), np.arange(N) % 3])
    found = as_table(table, categorical=["c"], names=["a", "b", "c"])
    assert found.features.sizes.tolist() == [1, 1, 3]
    groups = {"g": ["a", "b"]}
    found = rank(table, feature_names=["a", "b", "c"], categorical=["c"], feature_groups=groups)
    assert found.names == ("g", "c")
    assert found.members == (("a", "b"), ("c",))


def test_codes_have_the_names_of_their_levels():
    X = np.array([[0, 1.5], [2, 2.5], [2, 3.5], [1, 4.5], [1, 0.5], [2, 1.0], [0, 2.0]])
    coded = CodedColumns({"animal": ("ant", "bee", "cat")})
    table = as_table(X, categorical=coded, names=["animal", "size"])
    assert coded == ["animal"]
    assert table.features.levels == (("cat", "ant", "bee"), ())

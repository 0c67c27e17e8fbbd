"""Bad input about single features and samples: categories, groups, features to keep, candidates,
costs and weights.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from cases import about, case
from graphsieve import GraphSieve, GraphSieveWarning, InputError, InputTypeError, rank, scores
from strategies import frozen

N, NAMES = 24, ["age", "height", "weight", "colour"]
X = frozen(np.random.default_rng(5).normal(size=(N, 4)))
Y = frozen(np.arange(N) % 2)
FRAME = pd.DataFrame(X, columns=NAMES)


def refused(words, error=InputError, table=FRAME, **parameters):
    """Check that both entry points refuse the parameters in one sentence with all the words."""
    for door in (
        lambda: GraphSieve(**parameters).fit(table, Y),
        lambda: rank(table, Y, **parameters),
    ):
        with about(parameters), pytest.raises(error) as caught:
            door()
        message = str(caught.value)
        assert "\n" not in message
        assert message.endswith(".")
        assert all(word in message for word in words), message


def selected(table=FRAME, **parameters):
    return set(GraphSieve(**parameters).fit(table, Y).get_feature_names_out())


@case(211)
def test_identifiers_and_free_text():
    for words in ([f"patient {row}" for row in range(N)], [f"w{row % 13}" for row in range(N)]):
        for table in (FRAME.assign(name=words), pl.DataFrame(FRAME.assign(name=words))):
            with pytest.warns(GraphSieveWarning) as caught:
                found = rank(table, Y)
            assert "column 'name': fewer than 2 samples per level" in str(caught[0].message)
            assert found.ranks[4] == 5
            assert np.isnan(found.scores[4])


@case(212)
def test_a_category_with_one_level():
    with pytest.warns(GraphSieveWarning, match="1 of 5 features cannot be scored"):
        found = rank(FRAME.assign(same="x"), Y)
    assert np.isnan(found.scores[4])


@case(213)
def test_a_category_with_missing_values():
    words = [None if row in {3, 9} else "ab"[row % 3 == 0] for row in range(N)]
    expected = rank(FRAME.assign(word=words), Y).scores
    assert np.isfinite(expected).all()
    # The variance and ReliefF of two levels are those of zeros and ones.
    numbers = [{None: np.nan, "a": 0.0, "b": 1.0}[word] for word in words]
    for column in (words, pd.Categorical(words), pd.Series(words, dtype="string")):
        table = FRAME.assign(word=column)
        refused(
            ["2 NaN (missing) values in column 'word'", "row 3", "impute or drop"],
            table=table,
            missing="refuse",
        )
        for found in (rank(table, Y).scores, GraphSieve().fit(table, Y).scores_):
            assert_array_equal(found, expected)
        for score, *known in ((scores.variance_score,), (scores.relieff_score, Y)):
            as_numbers = score(FRAME.assign(word=numbers), *known)
            assert_allclose(score(table, *known), as_numbers, rtol=1e-12)
        assert_allclose(scores.variance_score(table)[4], np.nanvar(numbers), rtol=1e-12)


@case(214)
def test_categorical_is_auto_or_none_or_a_list():
    expected = "categorical must be 'auto', None or a list of features, got"
    for given in (3, 2.5, True, {"age": 1}, object(), np.array(3), iter(["age"]), lambda: 0):
        refused([expected], error=InputTypeError, categorical=given)
    refused([f"{expected} 'age'", "into a list"], error=InputTypeError, categorical="age")


LISTS = ("categorical", "keep", "candidates")


@case(215)
@pytest.mark.parametrize("name", [*LISTS, "feature_groups", "cost"])
def test_unknown_features_are_named(name):
    def given(one):
        return {"feature_groups": {"g": [one]}, "cost": {one: 2.0}}.get(name, [one])

    hint = [name, "contains 'wieght'", "(did you mean 'weight'?)", "use names of features"]
    refused(hint, **{name: given("wieght")})
    for one in (0, None, 1.5, ("age",), "", "AGE ", b"age"):
        refused([name, "no such feature", "use names of features"], **{name: given(one)})
    for one in (4, -1, 1.0, "age", None, 10**30):
        refused([name, "no such feature", "positions from 0 to 3"], table=X, **{name: given(one)})


@case(215)
@pytest.mark.parametrize("name", ["keep", "candidates"])
def test_features_are_given_in_a_list(name):
    for given in ("age", b"age", 3, {"age": 1}, iter(["age"]), np.array("age"), object()):
        refused([f"{name} must be a list of features"], error=InputTypeError, **{name: given})
    for given in ({"age", "weight"}, frozenset(["age"])):
        if name == "keep":
            refused(["in the order of selection"], error=InputTypeError, keep=given)
        else:
            assert selected(candidates=given, n_features_to_select=1) <= given


@case(216)
@pytest.mark.parametrize("name", LISTS)
def test_masks_have_one_entry_per_feature(name):
    for mask in ([True, False], np.ones(5, dtype=bool), pd.Series([True] * 3)):
        words = [name, f"mask of {len(mask)} entries", "there are 4 features", "one entry per"]
        refused(words, **{name: mask})
        refused(words, table=X, **{name: mask})
    mask = np.array(NAMES) == "weight"
    if name != "categorical":
        for given in (mask, mask.tolist(), pd.Series(mask)):
            assert selected(**{name: given}, n_features_to_select=1) == {"weight"}


@case(217)
def test_a_feature_that_is_given_twice_counts_once():
    assert selected(keep=["age", "age"], n_features_to_select=1) == {"age"}
    assert selected(candidates=["age"] * 9, n_features_to_select=1) == {"age"}
    twice = GraphSieve(feature_groups={"g": ["age", "age", "height"]}).fit(FRAME, Y)
    assert twice.feature_groups_["g"].tolist() == [0, 1]
    coded = FRAME.assign(colour=np.arange(N) % 3)
    twice = GraphSieve(categorical=["colour", "colour"]).fit(coded, Y).scores_
    np.testing.assert_array_equal(twice, GraphSieve(categorical=["colour"]).fit(coded, Y).scores_)


@case(218)
def test_groups_that_are_none():
    for given in (3, True, object(), b"abcd", iter("abcd"), set("abcd"), FRAME, np.eye(4)):
        words = ["feature_groups must be a dict, one label per feature or a separator, got"]
        refused(words, error=InputTypeError, feature_groups=given)
    for given in (["a"] * 3, np.arange(5), pd.Series(["a", "b"])):
        words = [f"feature_groups has {len(given)} labels", "4 features", "None for a feature"]
        refused(words, feature_groups=given)
    refused(["has the label ['a']"], InputTypeError, feature_groups=[["a"], None, None, None])
    refused(["is ':'", "no two names share"], feature_groups=":")
    refused(["must not be empty"], feature_groups="")
    refused(["X has none"], table=X, feature_groups="_")
    for given in ("age", 3, {"age": 1}, iter(["age"])):
        words = ["for 'g'", "expected a list of features"]
        refused(words, error=InputTypeError, feature_groups={"g": given})
    refused(["has no features for 'g'"], feature_groups={"g": []})
    refused(["has two groups named '1'"], feature_groups={"1": ["age"], 1: ["height"]})
    both = {"one": ["age", "height"], "two": ["height"]}
    refused(["column 'height' in 'one' and in 'two'"], feature_groups=both)
    refused(["'colour'", "also the name of a feature"], feature_groups={"colour": ["age"]})


@case(218)
def test_groups_that_are_empty_or_named_like_their_own_feature():
    expected = GraphSieve().fit(FRAME, Y).scores_
    for given in ({}, [None] * 4, [np.nan, None, pd.NA, float("nan")]):
        found = GraphSieve(feature_groups=given).fit(FRAME, Y)
        np.testing.assert_array_equal(found.scores_, expected)
        assert not hasattr(found, "feature_groups_")
    assert GraphSieve(feature_groups={"age": ["age", "height"]}).fit(FRAME, Y).scores_.shape == (3,)


@case(219)
def test_features_to_keep():
    words = ["keep names 3 features", "but 2 are to be selected", "raise n_features_to_select"]
    refused(words, keep=NAMES[:3], n_features_to_select=2)
    assert selected(keep=["age"], candidates=["weight"], n_features_to_select=2) == {
        "age",
        "weight",
    }
    assert selected(keep=["age"], candidates=[], n_features_to_select=1) == {"age"}


@case(220)
def test_candidates():
    for given in ([], [False] * 4, np.zeros(4, dtype=bool)):
        refused(["candidates allows no feature"], candidates=given)
    with pytest.warns(GraphSieveWarning, match="3 features were requested, but only 2 may be"):
        found = selected(candidates=["age", "weight"], n_features_to_select=3)
    assert found == {"age", "weight"}


@case(221)
def test_costs():
    for value in (0, -1.0, np.nan, np.inf, "2", None, True, 1j, [1.0], 10**400):
        words = ["cost must contain finite numbers above 0, got", "column 'height'"]
        refused(words, cost={"height": value})
        refused(words, cost=[1.0, value, 2.0, 3.0])
    for given in (
        2.0,
        "2",
        [1.0, 2.0],
        np.ones(5),
        {1.0, 2.0, 3.0, 4.0},
        iter([1.0] * 4),
        object(),
    ):
        refused(["cost must be a dict, or have one entry for each of the 4 features"], cost=given)
    by_name = pd.Series({"weight": 9.0, "age": 1.0, "colour": 1.0, "height": 5.0})
    found = GraphSieve(cost=by_name).fit(FRAME, Y).ranking_
    np.testing.assert_array_equal(GraphSieve(cost=dict(by_name)).fit(FRAME, Y).ranking_, found)
    np.testing.assert_array_equal(GraphSieve(cost=[1, 5, 9, 1]).fit(FRAME, Y).ranking_, found)


@case(222)
def test_costs_need_a_selection_by_gain():
    refused(
        ["features are ranked one by one", "redundancy='explain'"], method="fisher", cost=[1] * 4
    )


@case(223)
def test_categories_of_a_sparse_matrix():
    words = ["categorical needs", "X is sparse", "'auto'"]
    refused(words, table=sp.csr_array(X), categorical=[0])


@case(280)
def test_weights():
    for weights, words in (
        (np.ones(3), "must have one number for each of the 24 samples, got shape (3,)"),
        (np.ones((N, 1)), "got shape (24, 1)"),
        (["a"] * N, "must be one number per sample"),
        (np.r_[-1.0, np.ones(N - 1)], "got -1 at position 0"),
        (np.r_[1.0, np.nan, np.ones(N - 2)], "got nan at position 1"),
        (np.r_[np.ones(N - 1), np.inf], "got inf at position 23"),
        (np.zeros(N), "must be above zero for at least 2 samples, got 0"),
        (np.eye(N)[3], "must be above zero for at least 2 samples, got 1"),
        (np.r_[1e13, np.ones(N - 1)], "must not differ more than 1e+12-fold, got 1 and 1e+13"),
        (np.ones(N) + 1j, "must be one number per sample"),
        (["1"] * N, "must be one number per sample"),
        (np.array(["1"] * N, dtype=object), "must be one number per sample"),
        (np.ma.array(np.ones(N), mask=np.arange(N) == 3), "must be one number per sample"),
        (np.array(["2020-01-01"] * N, dtype="M8[D]"), "must be one number per sample"),
        ([10**400] * N, "must be one number per sample"),
        (pd.array([pd.NA] + [1.0] * (N - 1), dtype="Float64"), "got nan at position 0"),
        (pd.Series(np.ones(N), index=range(N - 1, -1, -1)), "has a different index from X"),
    ):
        for door in (GraphSieve().fit, rank):
            with about(weights), pytest.raises(InputError) as caught:
                door(FRAME, Y, sample_weight=weights)
            assert str(caught.value).startswith("sample_weight ")
            assert words in str(caught.value)

"""Rows of X and y that do not belong together, and names that look the same."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import graphsieve
from graphsieve import GraphSieve, GraphSieveWarning, InputError, LabeledOnly, rank, scores
from graphsieve.assess.evaluation.evaluating import evaluate
from graphsieve.assess.evaluation.evaluating_clusters import evaluate_clustering
from graphsieve.assess.evaluation.prefixes import score_prefixes
from graphsieve.search.floating import floating_selection
from graphsieve.search.hybrid import hybrid_selection
from graphsieve.search.propagation import harmonic_labels

N = 24
X = pd.DataFrame(
    np.random.default_rng(0).normal(size=(N, 3)),
    columns=list("abc"),
    index=[f"s{i}" for i in range(N)],
)
Y = pd.Series(np.arange(N) % 2, index=X.index)

DOORS = {
    "GraphSieve": lambda X, y: GraphSieve().fit(X, y),
    "IterativeSieve": lambda X, y: graphsieve.IterativeSieve("lsdf").fit(X, y),
    "HybridSieve": lambda X, y: graphsieve.HybridSieve().fit(X, y),
    "FloatingSieve": lambda X, y: graphsieve.FloatingSieve().fit(X, y),
    "rank": rank,
    "LabeledOnly": lambda X, y: LabeledOnly(LogisticRegression()).fit(X, y),
    "LabeledOnly.score": lambda X, y: (
        LabeledOnly(LogisticRegression()).fit(X.to_numpy(), Y.to_numpy()).score(X, y)
    ),
    "evaluate": lambda X, y: evaluate("fisher", X, y, sizes=[1], learners="1nn", folds=2),
    "evaluate_clustering": lambda X, y: evaluate_clustering("fisher", X, y, sizes=[1], repeats=1),
    "compare": lambda X, y: graphsieve.compare(X, y, methods=["fisher"], folds=2),
    "stability": lambda X, y: graphsieve.stability("fisher", X, y, n_resamples=2),
    "feature_p_values": lambda X, y: graphsieve.feature_p_values(X, y, method="fisher"),
    "score_prefixes": lambda X, y: score_prefixes([0], X, y, X, Y, sizes=[1], learner="1nn"),
    "floating_selection": lambda X, y: floating_selection(X, y, n_features_to_select=1),
    "hybrid_selection": lambda X, y: hybrid_selection(X, y, n_features_to_select=1),
    "harmonic_labels": lambda X, y: harmonic_labels(X, y.where(np.arange(N) > 2)),
    **{
        name: getattr(scores, name)
        for name in scores.__all__
        if name.endswith("_score") and "y" in inspect.signature(getattr(scores, name)).parameters
    },
}


def test_every_score_of_y_is_a_door():
    assert len([name for name in DOORS if name.endswith("_score")]) == 8


@pytest.mark.parametrize("door", DOORS)
def test_a_y_with_another_index_is_refused(door):
    words = r"y has a different index from X \(row 0 is 's0' in X and 's23' in y\); pass y.loc\[X.index\]"
    with pytest.raises(InputError, match=words):
        DOORS[door](X, Y[::-1])


def test_class_probabilities_with_another_index_are_refused():
    proba = pd.DataFrame(
        {"u": np.resize([0.2, 0.9], N), "v": np.resize([0.8, 0.1], N)}, index=X.index
    )
    scores.weighted_laplacian_score(X, proba)
    with pytest.raises(InputError, match="label_proba has a different index from X"):
        scores.weighted_laplacian_score(X, proba[::-1])


def fits(X, y):
    """Return the scores, or None if the index of y is refused."""
    try:
        return scores.fisher_score(X, y)
    except InputError as error:
        if "has a different index from X" not in str(error):
            raise
        return None


@given(data=st.data(), named=st.booleans())
def test_only_an_order_of_the_same_rows_is_refused(data, named):
    """A permutation is refused, whether the rows have names or numbers. Equal indexes are not."""
    order = data.draw(st.permutations(range(N)))
    index = X.index if named else pd.RangeIndex(N)
    table, y = X.set_axis(index), Y.set_axis(index)
    found = fits(table, y.iloc[list(order)])
    assert (found is None) == (list(order) != list(range(N)))
    both = fits(table.iloc[list(order)], y.iloc[list(order)])
    np.testing.assert_allclose(both, fits(table, y), rtol=1e-10)
    np.testing.assert_array_equal(fits(table.to_numpy(), y), fits(table, y.to_numpy()))


def test_an_index_that_pandas_made_tells_nothing():
    expected = fits(X, Y)
    for table, y in (
        (X, Y.reset_index(drop=True)),
        (X.reset_index(drop=True), Y),
        (pl.from_pandas(X), Y),
        (X, pl.Series(Y.to_numpy())),
        (X, Y.tolist()),
    ):
        np.testing.assert_array_equal(fits(table, y), expected)
    # Neither of these was made by pandas, so both name their rows.
    assert fits(X, Y.set_axis([f"t{i}" for i in range(N)])) is None
    assert fits(X.set_axis(range(100, 100 + N)), Y) is None
    levels = pd.MultiIndex.from_product([["u", "v"], range(N // 2)])
    np.testing.assert_array_equal(fits(X.set_axis(levels), Y.set_axis(levels)), expected)
    assert fits(X.set_axis(levels), Y.set_axis(levels[::-1])) is None


TWINS = ["caf\u00e9", "cafe\u0301"]


@pytest.mark.parametrize(
    "names", [TWINS, TWINS[::-1], ["\u212b", "\u00c5"], ["\uac00", "\u1100\u1161"]]
)
def test_names_that_look_the_same_raise_a_warning(names):
    table = np.random.default_rng(0).normal(size=(N, 3))
    named = ["x", *names]
    for act in (
        lambda: rank(pd.DataFrame(table, columns=named), Y.to_numpy()),
        lambda: GraphSieve().fit(pl.DataFrame(table, schema=named), Y.to_numpy()),
        lambda: rank(table, Y.to_numpy(), feature_names=named),
        lambda: scores.variance_score(pd.DataFrame(table, columns=named)),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", GraphSieveWarning)
            act()
        assert [str(one.message).partition(" (")[0] for one in caught] == [
            "two features look the same"
        ]


@given(st.lists(st.text("abcAB\u00e9", min_size=1), min_size=2, max_size=6, unique=True))
def test_names_that_differ_raise_no_warning(names):
    """These letters have a single Unicode form, so different names differ to the eye."""
    table = np.random.default_rng(0).normal(size=(N, len(names)))
    scores.variance_score(pd.DataFrame(table, columns=names))


GROUPS = pd.Series(np.arange(N) // 2, index=X.index)


@pytest.mark.parametrize(
    "act",
    [
        lambda groups: GraphSieve().fit(X, Y, groups=groups),
        lambda groups: rank(X, Y, groups=groups),
        lambda groups: evaluate("fisher", X, Y, sizes=[1], learners="1nn", folds=2, groups=groups),
        lambda groups: graphsieve.compare(X, Y, methods=["fisher"], folds=2, groups=groups),
        lambda groups: graphsieve.stability("fisher", X, Y, n_resamples=2, groups=groups),
        lambda groups: graphsieve.feature_p_values(X, Y, method="fisher", groups=groups),
    ],
)
def test_groups_with_another_index_are_refused(act):
    act(GROUPS)
    with pytest.raises(
        InputError, match=r"groups has a different index .* pass groups.loc\[X.index\]"
    ):
        act(GROUPS[::-1])


@pytest.mark.parametrize("dtype", ["object", "Int64"])
def test_an_index_with_missing_entries_is_compared(dtype):
    one, other = (pd.Index([pd.NA, *range(i, i + N - 1)], dtype=dtype) for i in (0, 1))
    assert fits(X.set_axis(one), Y.set_axis(one)) is not None
    assert fits(X.set_axis(one), Y.set_axis(other)) is None
    assert fits(X.set_axis(one), Y.set_axis(other[::-1])) is None


def test_numbers_and_their_text_look_different_in_the_message():
    numbers = range(1, N + 1)
    with pytest.raises(InputError, match="row 0 is 1 in X and '1' in y"):
        scores.fisher_score(X.set_axis(numbers), Y.set_axis([str(i) for i in numbers]))

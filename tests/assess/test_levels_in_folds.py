"""Levels that look like numbers: whether a column is a category must not depend on the fold.

The column "rooms" has the levels 1, 2 and 3+. Without 3+, it looks like a column of numbers as text.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from graphsieve import GraphSieve, InputError, stored
from graphsieve.assess import (
    compare,
    evaluate,
    evaluate_clustering,
    feature_p_values,
    score_prefixes,
    stability,
)

pytestmark = pytest.mark.usefixtures("one_thread")

N = 60
RNG = np.random.default_rng(2)
Y = np.arange(N) % 2
ROOMS = np.where(
    RNG.random(N) < 0.8, np.array(["1", "2"])[Y], RNG.permutation(["1", "2"] * (N // 2))
)
ROOMS = ROOMS.astype(object)
ROOMS[:2] = "3+"  # both in the first fold
FRAME = pd.DataFrame({"size": RNG.normal(size=N) + Y, "rooms": ROOMS, "noise": RNG.normal(size=N)})
FOLDS = [(np.arange(20, N), np.arange(20)), (np.arange(40), np.arange(40, N))]
DECLARED = {
    "pandas": FRAME.astype({"rooms": "category"}),
    "Arrow in pandas": FRAME.astype(
        {"rooms": pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))}
    ),
    "polars": pl.DataFrame(FRAME).with_columns(pl.col("rooms").cast(pl.Categorical)),
    "polars Enum": pl.DataFrame(FRAME).with_columns(
        pl.col("rooms").cast(pl.Enum(["1", "2", "3+"]))
    ),
    "Arrow": pa.table(FRAME).set_column(1, "rooms", pa.array(ROOMS).dictionary_encode()),
}


def rows_of(table, rows):
    if isinstance(table, pa.Table):
        return table.take(rows)
    return table[rows] if isinstance(table, pl.DataFrame) else table.iloc[rows]


def test_assessments_decide_once_for_all_rows():
    options = {"sizes": [1, 3], "folds": FOLDS, "learners": "1nn"}
    found = evaluate(["auto", "fisher"], FRAME, Y, **options)
    declared = evaluate(["auto", "fisher"], DECLARED["pandas"], Y, **options)
    assert_array_equal(found.values("auto"), declared.values("auto"))
    assert compare(FRAME, Y, methods=["auto", "fisher"], **options).evaluation is not None
    # A resample of a tenth rarely contains one of the two samples with the level 3+.
    small = stability("fisher", FRAME, Y, n_features_to_select=1, n_resamples=20, fraction=0.1)
    assert small.chosen.shape == (20, 3)
    assert evaluate_clustering("variance", FRAME, Y, sizes=[3], repeats=2).n_features == 3
    assert len(feature_p_values(FRAME, Y).p_values) == 3


@pytest.mark.parametrize("container", ["plain", *DECLARED])
def test_prefixes_decide_for_training_and_test_rows_together(container):
    table = FRAME if container == "plain" else DECLARED[container]
    for train, test in (FOLDS[0], FOLDS[0][::-1]):
        parts = (rows_of(table, train), Y[train], rows_of(table, test), Y[test])
        found = score_prefixes([1, 0, 2], *parts, sizes=[1, 3], learner="1nn")
        folds = [(train, test)]
        expected = evaluate(
            lambda X, y: [*range(1, X.shape[1] - 1), 0, X.shape[1] - 1],  # the category first
            FRAME,
            Y,
            sizes=[1, 3],
            folds=folds,
            learners="1nn",
        )
        if container != "polars Enum":  # Its levels have an order.
            assert_array_equal(found, expected.values("<lambda>")[:, 0])


def test_text_in_the_test_rows_only_is_refused():
    coded = FRAME.assign(rooms=1.0)
    with pytest.raises(InputError, match="mixes text and numbers in column 'rooms'"):
        score_prefixes([0], coded, Y, FRAME, Y, sizes=[1], learner="1nn")


def test_categories_of_stored_tables_are_not_joined(tmp_path):
    FRAME.to_parquet(tmp_path / "t.parquet")
    numbers = FRAME[["size", "noise"]]
    numbers.to_parquet(tmp_path / "n.parquet")
    options = {"sizes": [1], "learner": "1nn"}
    found = score_prefixes([0], stored(tmp_path / "n.parquet"), Y, numbers, Y, **options)
    assert_array_equal(found, score_prefixes([0], numbers, Y, numbers, Y, **options))
    message = "must be data frames or arrays if there are categories, got a Parquet; read both"
    table = stored(tmp_path / "t.parquet")
    for train, test, categorical in (
        (table, table, "auto"),
        (table, table, ["rooms"]),
        (FRAME, table, ["rooms"]),
    ):
        with pytest.raises(InputError, match=message):
            score_prefixes([0], train, Y, test, Y, categorical=categorical, **options)


@pytest.mark.parametrize("container", DECLARED)
def test_a_declared_category_is_one_in_every_fold(container):
    train = FOLDS[0][0]
    found = GraphSieve("fisher").fit(rows_of(DECLARED[container], train), Y[train])
    levels = (FRAME["rooms"].to_numpy()[train] == "2").astype(float)
    expected = GraphSieve("fisher").fit(FRAME.iloc[train].assign(rooms=levels), Y[train])
    assert_array_equal(found.scores_, expected.scores_)


def scores_of(sieve, frame):
    model = make_pipeline(sieve, OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    return cross_val_score(model, frame, Y, cv=KFold(3), error_score="raise")


def test_the_remedies_in_a_cross_validation():
    """A plain column of text is refused in a fold, and the message says what to do."""
    GraphSieve().fit(FRAME, Y)
    with pytest.raises(InputError, match="or name the column in categorical") as caught:
        scores_of(GraphSieve(), FRAME)
    assert "numbers as text in column 'rooms' (such as '" in str(caught.value)
    expected = scores_of(GraphSieve(), DECLARED["pandas"])
    assert np.isfinite(expected).all()
    assert_array_equal(scores_of(GraphSieve(categorical=["rooms"]), FRAME), expected)

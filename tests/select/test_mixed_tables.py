"""The sieves as scikit-learn selectors of mixed tables: categories, groups, and their columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from graphsieve import GraphSieve, rank

N = 60
RNG = np.random.default_rng(3)
Y = np.arange(N) % 3
FRAME = pd.DataFrame(
    {
        "size": RNG.normal(size=N) + Y,
        "colour": np.array(["red", "green", "blue"])[np.where(RNG.random(N) < 0.8, Y, 0)],
        "noise": RNG.normal(size=N),
        "smoker": RNG.choice(["yes", "no"], N),
        "weight": RNG.normal(size=N),
    }
)
GROUPS = {"body": ["size", "weight"]}
CONTAINERS = {
    "pandas": lambda frame: frame,
    "pandas categories": lambda frame: frame.astype({"colour": "category", "smoker": "category"}),
    "polars": pl.DataFrame,
    "arrow": pa.table,
}


def columns_of(table):
    return list(table.column_names if isinstance(table, pa.Table) else table.columns)


@pytest.mark.parametrize("container", CONTAINERS)
def test_transform_returns_the_columns_of_the_table(container):
    table = CONTAINERS[container](FRAME)
    sieve = GraphSieve(n_features_to_select=2, keep=["colour"]).fit(table, Y)
    assert sieve.get_support().shape == (5,)
    names = sieve.get_feature_names_out().tolist()
    assert "colour" in names
    found = sieve.transform(table)
    assert type(found) is type(table)
    assert columns_of(found) == names
    assert found.equals(table.select(names) if container in {"polars", "arrow"} else table[names])


def test_all_containers_give_the_same_result():
    expected = GraphSieve().fit(FRAME, Y)
    for name, make in CONTAINERS.items():
        found = GraphSieve().fit(make(FRAME), Y)
        assert_array_equal(found.scores_, expected.scores_, err_msg=name)
        assert_array_equal(found.ranking_, expected.ranking_, err_msg=name)
    for values in (FRAME.to_numpy(), FRAME.to_numpy().tolist()):
        assert_array_equal(GraphSieve().fit(values, Y).scores_, expected.scores_)


def test_an_array_of_objects_keeps_its_columns():
    sieve = GraphSieve(n_features_to_select=2, keep=[1]).fit(FRAME.to_numpy(), Y)
    found = sieve.transform(FRAME.to_numpy())
    assert_array_equal(found, FRAME.to_numpy()[:, sieve.get_support()])


def test_other_columns_than_in_fit_are_refused():
    for make in CONTAINERS.values():
        sieve = GraphSieve().fit(make(FRAME), Y)
        other = make(FRAME.rename(columns={"size": "length"}))
        with pytest.raises(ValueError, match="feature names should match those"):
            sieve.transform(other)


@pytest.mark.parametrize("wanted", ["pandas", "polars"])
@pytest.mark.parametrize("container", CONTAINERS)
def test_output_of_a_chosen_kind(container, wanted):
    table = CONTAINERS[container](FRAME)
    sieve = GraphSieve(n_features_to_select=3, keep=["colour"]).set_output(transform=wanted)
    found = sieve.fit(table, Y).transform(table)
    assert isinstance(found, {"pandas": pd.DataFrame, "polars": pl.DataFrame}[wanted])
    assert list(found.columns) == sieve.get_feature_names_out().tolist()
    for name in found.columns:
        assert found[name].to_list() == FRAME[name].to_list()
        assert (found[name].dtype in {np.dtype(float), pl.Float64}) == (FRAME[name].dtype == float)


@pytest.mark.parametrize("wanted", ["pandas", "polars"])
def test_output_of_a_chosen_kind_for_arrays(wanted):
    sieve = GraphSieve(n_features_to_select=2).set_output(transform=wanted)
    found = sieve.fit_transform(FRAME[["size", "noise", "weight"]].to_numpy(), Y)
    assert list(found.columns) == sieve.get_feature_names_out().tolist()
    assert set(found.columns) < {"x0", "x1", "x2"}


def test_groups_select_columns_of_the_table():
    sieve = GraphSieve(n_features_to_select=1, feature_groups=GROUPS, keep=["body"]).fit(FRAME, Y)
    assert sieve.get_support().tolist() == [True, False, False, False, True]
    assert sieve.get_support(indices=True).tolist() == [0, 4]
    assert sieve.get_feature_names_out().tolist() == ["size", "weight"]
    assert sieve.n_features_in_ == 5
    assert sieve.ranking_.shape == sieve.scores_.shape == (4,)
    assert list(sieve.feature_groups_) == ["body", "colour", "noise", "smoker"]
    assert sieve.feature_groups_["body"].tolist() == [0, 4]
    assert columns_of(sieve.transform(FRAME)) == ["size", "weight"]
    assert not hasattr(
        sieve.set_params(feature_groups=None, keep=None).fit(FRAME, Y), "feature_groups_"
    )


def test_inverse_transform_of_groups_and_numbers():
    numbers = FRAME[["size", "noise", "weight"]].to_numpy()
    sieve = GraphSieve(n_features_to_select=1, feature_groups={"body": [0, 2]}, keep=["body"])
    found = sieve.fit(numbers, Y).inverse_transform(sieve.transform(numbers))
    assert_array_equal(found, numbers * [1, 0, 1])


def test_before_a_column_transformer():
    encode = ColumnTransformer(
        [
            ("levels", OneHotEncoder(), make_column_selector(dtype_exclude=float)),
            ("numbers", StandardScaler(), make_column_selector(dtype_include=float)),
        ]
    )
    sieve = GraphSieve(n_features_to_select=2, keep=["colour", "size"])
    model = make_pipeline(sieve, encode, LogisticRegression()).fit(FRAME, Y)
    assert model[:-1].transform(FRAME).shape == (N, 3 + 1)
    assert model.score(FRAME, Y) > 0.6


def test_after_a_column_transformer():
    encode = ColumnTransformer(
        [("levels", OneHotEncoder(sparse_output=False), ["colour", "smoker"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    # The columns of an encoder form a group for each category.
    sieve = GraphSieve(n_features_to_select=2, feature_groups="_")
    found = make_pipeline(encode, sieve).fit(FRAME, Y)[-1]
    assert list(found.feature_groups_)[:2] == ["colour", "smoker"]
    assert [len(columns) for columns in found.feature_groups_.values()] == [3, 2, 1, 1, 1]
    by_category = GraphSieve("fisher").fit(FRAME[["colour"]], Y).scores_[0]
    grouped = GraphSieve("fisher", feature_groups="_").fit(encode.fit_transform(FRAME), Y)
    assert grouped.scores_[0] == pytest.approx(by_category, rel=1e-12)


def test_inside_a_column_transformer():
    split = ColumnTransformer(
        [("mixed", GraphSieve(n_features_to_select=1), ["colour", "noise"])],
        remainder="drop",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    assert list(split.fit_transform(FRAME, Y).columns) == ["colour"]


def test_grid_search_over_categories():
    coded = FRAME.assign(colour=FRAME["colour"].map({"red": 0, "green": 1, "blue": 2}))
    coded = coded.drop(columns="smoker")
    search = GridSearchCV(
        make_pipeline(GraphSieve(n_features_to_select=2), LogisticRegression()),
        {"graphsieve__categorical": ["auto", None, ["colour"]]},
        cv=3,
        error_score="raise",
    ).fit(coded, Y)
    assert len(search.cv_results_["mean_test_score"]) == 3
    refused = GridSearchCV(
        make_pipeline(GraphSieve(categorical=None), OneHotEncoder(), LogisticRegression()),
        {"graphsieve__n_features_to_select": [2]},
        cv=3,
        error_score="raise",
    )
    with pytest.raises(ValueError, match="text in column 'colour'"):
        refused.fit(FRAME, Y)


def test_the_sieve_states_what_it_reads():
    tags = GraphSieve().__sklearn_tags__().input_tags
    assert (tags.string, tags.categorical, tags.sparse, tags.allow_nan) == (True, True, True, False)


def test_kept_features_may_have_no_score():
    frame = FRAME.assign(same="x")
    with pytest.warns(UserWarning, match="1 of 6 features cannot be scored"):
        found = rank(frame, Y, keep=["same"], candidates=["size"], n_features_to_select=2)
    assert found.best(2) == ["same", "size"]

"""The sieves as scikit-learn selectors of mixed tables: categories, groups, and their columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from graphsieve import GraphSieve, LabeledOnly, Supervision, labeled_scorer, rank

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


@pytest.mark.parametrize("wanted", ["default", "pandas", "polars"])
def test_after_a_column_transformer_that_leaves_text(wanted):
    """Numbers are scaled, and categories remain categories, whatever the transformer returns."""
    scale = ColumnTransformer(
        [("numbers", StandardScaler(), ["size", "noise", "weight"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform=wanted)
    pipeline = make_pipeline(scale, GraphSieve("fisher", n_features_to_select=2))
    if wanted != "default":
        pipeline.set_output(transform=wanted)
    found = pipeline.fit(FRAME, Y)
    expected = GraphSieve("fisher").fit(FRAME, Y).scores_[[0, 2, 4, 1, 3]]
    assert_allclose(found[-1].scores_, expected)
    chosen = np.asarray(found.transform(FRAME), dtype=object)
    assert chosen.shape == (N, 2)
    assert any(isinstance(value, str) for value in chosen[0])


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


def encoding():
    """Encode the selected text columns, and scale the selected numbers."""
    text = make_column_selector(dtype_exclude=np.number)
    return ColumnTransformer(
        [("levels", OneHotEncoder(handle_unknown="ignore"), text)], remainder=StandardScaler()
    )


def test_grid_search_over_categories_of_a_mixed_frame():
    # The codes of the classes are 0 and 5, 1 and 4, and 2 and 3. Their means are equal.
    coded = FRAME.assign(code=np.where(np.arange(N) // 3 % 2, 5 - Y, Y))
    named = ["colour", "smoker"]
    search = GridSearchCV(
        make_pipeline(
            GraphSieve("fisher", n_features_to_select=1), encoding(), LogisticRegression()
        ),
        {"graphsieve__categorical": ["auto", named, [*named, "code"]]},
        cv=3,
        error_score="raise",
    ).fit(coded, Y)
    auto, same, other = search.cv_results_["mean_test_score"]
    assert auto == same
    assert np.isfinite(other)
    by_number, by_category = (
        GraphSieve("fisher", categorical=listed).fit(coded, Y)
        for listed in (named, [*named, "code"])
    )
    assert by_number.ranking_[5] == 6 > by_category.ranking_[5]


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("search", [False, True])
def test_supervision_is_routed_in_a_pipeline_of_a_mixed_frame(routing, search):
    """Pairs stay with their samples, and the model is fitted to the labelled ones."""
    same = [(row, row + 3) for row in range(0, N - 3, 2)]
    different = [(row, row + 1) for row in range(N - 1)]
    known = Supervision.from_pairs(N, same, different)
    few = np.where(np.arange(N) % 4 == 0, -1, Y)
    with sklearn.config_context(enable_metadata_routing=routing):
        sieve = GraphSieve(n_features_to_select=2)
        if routing:
            sieve.set_fit_request(supervision=True)
        model = make_pipeline(sieve, encoding(), LabeledOnly(LogisticRegression()))
        folds = KFold(3, shuffle=True, random_state=0)
        given = {"supervision" if routing else "graphsieve__supervision": known}
        if search:
            grid = {"graphsieve__n_features_to_select": [1, 2]}
            found = GridSearchCV(
                model, grid, cv=folds, scoring=labeled_scorer("accuracy"), error_score="raise"
            ).fit(FRAME, few, **given)
            fitted, rows = [found.best_estimator_], [np.arange(N)]
            assert np.isfinite(found.cv_results_["mean_test_score"]).all()
        else:
            found = cross_validate(
                model,
                FRAME,
                few,
                cv=folds,
                params=given,
                scoring=labeled_scorer("accuracy"),
                return_estimator=True,
                error_score="raise",
            )
            fitted, rows = found["estimator"], [train for train, _ in folds.split(FRAME)]
            assert np.isfinite(found["test_score"]).all()
    for one, train in zip(fitted, rows, strict=True):
        wanted = one[0].n_features_to_select
        alone = GraphSieve(n_features_to_select=wanted)
        alone.fit(FRAME.iloc[train], few[train], supervision=known[train])
        assert_array_equal(one[0].ranking_, alone.ranking_)
        assert one[-1].n_labeled_ == (few[train] >= 0).sum()


def test_the_sieve_states_what_it_reads():
    for missing, allow_nan in (("use", True), ("refuse", False)):
        tags = GraphSieve(missing=missing).__sklearn_tags__().input_tags
        assert (tags.string, tags.categorical, tags.sparse) == (True, True, True)
        assert tags.allow_nan == allow_nan
    assert GraphSieve().__sklearn_tags__().input_tags.allow_nan


def test_kept_features_may_have_no_score():
    frame = FRAME.assign(same="x")
    with pytest.warns(UserWarning, match="1 of 6 features cannot be scored"):
        found = rank(frame, Y, keep=["same"], candidates=["size"], n_features_to_select=2)
    assert found.best(2) == ["same", "size"]

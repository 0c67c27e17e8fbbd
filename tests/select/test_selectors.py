"""`GraphSieve`: the method that runs, the number of selected features, and refused input."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from graphsieve import (
    GraphSieve,
    GraphSieveWarning,
    InputError,
    Supervision,
    feature_p_values,
    rank,
    scores,
)
from graphsieve.scores import METHODS
from graphsieve.scores.choosing import choose_method
from graphsieve.select.preparation import ranks, wanted_features
from oracle import supervised_laplacian_score

IRIS, SPECIES = load_iris(return_X_y=True)
SOME = np.where(np.arange(150) % 10 == 0, SPECIES, -1)
LENGTH = IRIS[:, 2] + 0.1 * np.cos(np.arange(150))
SURE = np.eye(3)[SPECIES]
PAIRS = Supervision.from_pairs(150, must_link=[(0, 1), (60, 61)], cannot_link=[(0, 60), (1, 120)])
ALL_SUPERVISION = pytest.mark.parametrize(
    ("y", "supervision", "method"),
    [
        (None, None, "laplacian"),
        (SPECIES, None, "fisher"),
        (SOME, None, "constrained_laplacian"),
        (LENGTH, None, "supervised_laplacian"),
        (np.where(SOME >= 0, LENGTH, np.nan), None, "semi_supervised_laplacian"),
        (None, PAIRS, "constrained_laplacian"),
        (SOME, PAIRS, "constrained_laplacian"),
        (None, Supervision.from_probabilities(SURE), "weighted_laplacian"),
        (SOME, Supervision.from_probabilities(SURE), "weighted_laplacian"),
        # The labels in `supervision` are used; y is for the next step of a pipeline.
        (SPECIES, Supervision.from_labels(SOME), "constrained_laplacian"),
    ],
)


@ALL_SUPERVISION
def test_the_published_method_depends_on_the_supervision(y, supervision, method):
    sieve = GraphSieve(redundancy=None).fit(IRIS, y, supervision=supervision)
    assert sieve.method_ == method
    assert repr(sieve) == f"GraphSieve(redundancy=None) -> {method} ({sieve.reason_})"
    named = GraphSieve(method).fit(IRIS, y, supervision=supervision)
    assert_array_equal(sieve.scores_, named.scores_)
    assert_array_equal(sieve.ranking_, named.ranking_)


def largest_correlation(X):
    correlation = np.abs(np.corrcoef(np.asarray(X).T))
    np.fill_diagonal(correlation, 0)
    return correlation.max(axis=0)


@ALL_SUPERVISION
def test_the_default_is_one_search_for_any_supervision(y, supervision, method):
    """The search is always the same, and `reason_` describes the supervision.

    The relevance is the correlation with other columns only if there is no supervision.
    """
    sieve = GraphSieve().fit(IRIS, y, supervision=supervision)
    known = Supervision.nothing(150) if y is None else Supervision.from_y(y)
    if supervision is not None:  # It replaces the labels of y, or is joined with them.
        known = supervision if supervision.labels is not None else supervision | known
    assert (sieve.method_, sieve.reason_) == ("diverse", choose_method(known)[1])
    assert repr(sieve) == f"GraphSieve() -> diverse ({sieve.reason_})"
    assert repr(GraphSieve()) == "GraphSieve()"
    assert sieve.n_labeled_ == known.n_labeled
    assert ((sieve.relevance_ >= 0) & (sieve.relevance_ <= 1)).all()
    assert np.allclose(sieve.relevance_, largest_correlation(IRIS)) == (method == "laplacian")
    assert (sieve.n_neighbors_, sieve.bandwidth_, sieve.metric_, sieve.n_prototypes_) == (
        None,
        None,
        None,
        0,
    )
    assert sorted(sieve.ranking_) == [1, 2, 3, 4]
    assert sieve.ranking_[np.argmax(sieve.scores_)] == 1
    assert_array_equal(sieve.get_support(), sieve.ranking_ <= 2)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_runs_and_equals_its_function_on_the_same_numbers(name):
    """Without automatic parameters and scaling, the estimator equals the function."""
    method = METHODS[name]
    known = {
        "labels": (SOME,),
        "targets": (LENGTH,),
        "pairs": (PAIRS.must_link, PAIRS.cannot_link),
        "probabilities": (SURE,),
    }
    arguments = known[method.uses[0]] if method.uses else ()
    kinds = {
        "labels": {"y": SOME},
        "targets": {"y": LENGTH},
        "pairs": {"supervision": PAIRS},
        "probabilities": {"supervision": Supervision.from_probabilities(SURE)},
    }
    fixed = {
        key: value for key, value in method.defaults.items() if key in ("n_neighbors", "bandwidth")
    }
    sieve = GraphSieve(name, scale=None, **fixed).fit(
        IRIS, **(kinds[method.uses[0]] if method.uses else {})
    )
    assert_allclose(sieve.scores_, method.function(IRIS, *arguments), rtol=1e-12)
    assert sieve.n_neighbors_ == method.defaults.get("n_neighbors")
    assert sieve.bandwidth_ == method.defaults.get("bandwidth")
    order = np.argsort(
        -sieve.scores_ if method.direction == "large" else sieve.scores_, kind="stable"
    )
    assert_array_equal(sieve.ranking_[order], [1, 2, 3, 4])


def test_columns_and_the_target_are_scaled():
    X = IRIS * [1.0, 10.0, 100.0, 1000.0]
    by_hand = scores.laplacian_score(X / X.std(axis=0), bandwidth=0.5)
    assert_allclose(GraphSieve("laplacian", bandwidth=0.5).fit(X).scores_, by_hand, rtol=1e-9)
    y = 50 * LENGTH
    by_hand = scores.supervised_laplacian_score(X, (y - y.mean()) / y.std(), bandwidth=0.5)
    assert_allclose(
        GraphSieve("supervised_laplacian", bandwidth=0.5).fit(X, y).scores_, by_hand, rtol=1e-6
    )


def test_distances_and_a_target_are_compared_in_one_unit():
    """All columns are multiplied by one factor, because the target has another unit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) * [1, 2, 3, 4, 5]
    y = np.where(rng.random(60) < 0.4, X[:, 0] + rng.normal(size=60), np.nan)
    standard = (y - np.nanmean(y)) / np.nanstd(y)
    common = X / np.sqrt(X.var(axis=0).mean())
    by_hand = scores.semi_supervised_laplacian_score(common, standard, n_neighbors=6, bandwidth=0.5)
    for factor in (1.0, 0.001, 700.0):
        sieve = GraphSieve("semi_supervised_laplacian", n_neighbors=6, bandwidth=0.5).fit(
            factor * X, y
        )
        assert sieve.scale_ is None
        assert_allclose(sieve.scores_, by_hand, rtol=1e-9)
    as_it_is = GraphSieve(
        "semi_supervised_laplacian", n_neighbors=6, bandwidth=0.5, scale=None
    ).fit(X, y)
    assert_allclose(
        as_it_is.scores_,
        scores.semi_supervised_laplacian_score(X, y, n_neighbors=6, bandwidth=0.5),
        rtol=1e-9,
    )


@pytest.mark.parametrize(
    ("asked", "n_features", "expected"),
    [(None, 9, 4), (None, 1, 1), (3, 9, 3), (0.34, 9, 3), (1.0, 9, 9), (0.01, 9, 1)],
)
def test_the_number_of_selected_features(asked, n_features, expected):
    assert wanted_features(asked, n_features) == expected
    X = np.random.default_rng(0).normal(size=(30, n_features))
    for method in ("variance", "auto"):
        assert GraphSieve(method, n_features_to_select=asked).fit(X).get_support().sum() == expected


@pytest.mark.parametrize("asked", [0, -1, 5, True, np.nan, 0.0, 1.5, "3", np.inf])
def test_invalid_numbers_of_features_are_refused(asked):
    with pytest.raises(InputError, match="n_features_to_select"):
        GraphSieve(n_features_to_select=asked).fit(IRIS)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "fischer"}, "did you mean 'fisher'"),
        ({"method": "laplacian", "n_neighbors": 0}, "n_neighbors"),
        ({"method": "laplacian", "n_neighbors": 2.5}, "n_neighbors"),
        ({"bandwidth": -1.0}, "bandwidth"),
        ({"bandwidth": np.nan}, "bandwidth"),
        ({"scale": "standart"}, "did you mean 'standard'"),
        ({"target_type": "class"}, "did you mean 'classes'"),
        ({"method": "variance", "n_neighbors": 3}, "'variance' has no n_neighbors"),
        ({"method": "variance", "bandwidth": 3.0}, "'variance' has no bandwidth"),
        ({"method": "spec", "method_params": {"from": "phi1"}}, "did you mean 'form'"),
        ({"method": "spec", "method_params": {"form": "phi4"}}, "did you mean 'phi"),
        ({"method": "spec", "method_params": {"n_components": 3}}, "belongs to form='phi3'"),
        (
            {"method": "spec", "method_params": {"power": 0}},
            "power must be an integer from 1 to 100",
        ),
        (
            {"method": "spec", "method_params": {"power": 2000}},
            "power must be an integer from 1 to 100",
        ),
        ({"method": "spec", "method_params": 5}, "method_params must be None or a dict"),
        ({"method": "spec", "method_params": {"n_neighbors": 3}}, "pass n_neighbors= instead"),
        ({"unlabeled": "none"}, "unlabeled must be None or an integer"),
        ({"n_neighbors": "many"}, "n_neighbors must be 'auto' or an integer of at least 1"),
        ({"method": "fisher"}, "needs labels, but no supervision is available"),
    ],
)
def test_parameters_are_used_or_refused(parameters, message):
    sieve = GraphSieve(**parameters)  # Parameters are checked in fit, as scikit-learn requires.
    with pytest.raises(InputError, match=message):
        sieve.fit(IRIS)


def test_supervision_that_a_method_cannot_use_is_refused():
    with pytest.raises(
        InputError,
        match=r"'fisher' cannot use pairs.*choose a method for pairs: constraint, "
        r"constrained_laplacian, c4",
    ):
        GraphSieve("fisher").fit(IRIS, SPECIES, supervision=PAIRS)
    with pytest.raises(InputError, match="both class labels and a continuous target"):
        GraphSieve().fit(
            IRIS, supervision=Supervision.from_labels(SOME) | Supervision.from_targets(LENGTH)
        )
    with pytest.raises(TypeError, match=r"Supervision\.from_pairs"):
        GraphSieve().fit(IRIS, supervision=[(0, 1)])
    # y may be passed, because later steps of a pipeline may use it.
    assert GraphSieve("laplacian").fit(IRIS, SPECIES).method_ == "laplacian"


def test_uninformative_supervision_gives_an_unsupervised_ranking():
    """The result is the same for y and for supervision. A training fold may contain only one
    class.
    """
    for known in (
        Supervision.from_labels(np.where(SPECIES == 0, 0, -1)),
        Supervision.from_targets(np.where(SOME >= 0, 1.5, np.nan)),
    ):
        for redundancy, method in (("auto", "diverse"), (None, "laplacian")):
            sieve = GraphSieve(redundancy=redundancy)
            with pytest.warns(GraphSieveWarning, match="ranking is unsupervised"):
                assert sieve.fit(IRIS, supervision=known).method_ == method
            alone = GraphSieve(redundancy=redundancy).fit(IRIS)
            assert_array_equal(sieve.scores_, alone.scores_)
            assert_array_equal(sieve.ranking_, alone.ranking_)
    both = PAIRS | Supervision.from_probabilities(SURE)
    with pytest.raises(
        InputError, match=r"cannot use pairs; .* choose a method for pairs and probabilities: none"
    ):
        GraphSieve(redundancy=None).fit(IRIS, supervision=both)
    with pytest.raises(
        InputError, match=r"uses labels or probabilities and cannot use pairs; leave them out\.$"
    ):
        GraphSieve().fit(IRIS, supervision=both)


def test_a_method_without_a_target_ignores_y():
    """Pipelines pass y to every step, in the form that the last step needs."""
    for y in (np.where(SPECIES == 0, -1, 1), np.stack([LENGTH, LENGTH], axis=1), ["a date"] * 150):
        for method in ("laplacian", "variance", "spec"):
            assert GraphSieve(method).fit(IRIS, y).n_labeled_ == 0


def test_a_failed_fit_leaves_nothing_behind():
    sieve = GraphSieve(n_features_to_select=2)
    with (
        pytest.raises(InputError, match="nothing to select"),
        pytest.warns(GraphSieveWarning, match="3 of 3"),
    ):
        sieve.fit(np.ones((5, 3)))
    with pytest.raises(NotFittedError):
        sieve.get_support()
    assert repr(sieve) == "GraphSieve(n_features_to_select=2)"
    fitted = GraphSieve().fit(IRIS)
    with pytest.raises(InputError, match="15 inf"):
        fitted.fit(np.full((5, 3), np.inf))
    assert fitted.n_features_in_ == 4
    with pytest.raises(InputError, match="15 NaN"):
        fitted.set_params(missing="refuse").fit(np.full((5, 3), np.nan))
    assert fitted.n_features_in_ == 4


def test_large_scores_are_good_for_one_form_of_spec():
    sieve = GraphSieve("spec", method_params={"form": "phi3"}).fit(IRIS)
    assert sieve.large_is_good_
    assert sieve.ranking_[np.argmax(sieve.scores_)] == 1


def test_too_large_weights_are_refused():
    with pytest.raises(
        InputError,
        match=r"same_class_weight must be a positive number of at most 1e\+100, got 1e\+308",
    ):
        scores.lsdf_score(IRIS, SPECIES, same_class_weight=1e308)
    assert np.isfinite(scores.lsdf_score(IRIS, SPECIES, same_class_weight=1e100)).all()


def test_parameters_may_be_numbers_of_any_type():
    half = GraphSieve("laplacian", bandwidth=Fraction(1, 2), n_neighbors=np.int8(3)).fit(IRIS)
    assert_array_equal(
        half.scores_, GraphSieve("laplacian", bandwidth=0.5, n_neighbors=3).fit(IRIS).scores_
    )


def test_method_params_reach_the_method():
    y = np.where(SOME >= 0, LENGTH, np.nan)
    fitted = [
        GraphSieve(redundancy=None, method_params={"label_weight": w}).fit(IRIS, y)
        for w in (1.0, 50.0)
    ]
    assert not np.allclose(fitted[0].scores_, fitted[1].scores_)


@pytest.mark.parametrize("method", ["auto", "diverse"])
def test_graph_parameters_are_refused_if_no_graph_is_built(method):
    for name, value in (
        ("n_neighbors", 3),
        ("bandwidth", 0.5),
        ("metric", "euclidean"),
        ("compress", "som"),
        ("n_prototypes", np.array([3, 4])),
        ("method_params", {"form": "phi1"}),
    ):
        with pytest.raises(
            InputError, match=rf"^{name} applies only to .* leave {name} out, got .*\.$"
        ):
            GraphSieve(method, **{name: value}).fit(IRIS)
    empty = GraphSieve(method, method_params={}).fit(IRIS)
    assert_array_equal(empty.ranking_, GraphSieve().fit(IRIS).ranking_)


def test_uninformative_supervision_is_reported():
    for y, message in (
        (np.full(150, -1), "no target known"),
        (np.full(150, np.nan), "no target known"),
        (np.where(np.arange(150) < 3, 1.5, np.nan), "all 1.5"),
        (np.where(np.arange(150) < 3, 7, -1), "one class"),
    ):
        with pytest.warns(GraphSieveWarning, match=message):
            assert GraphSieve(redundancy=None).fit(IRIS, y).method_ == "laplacian"
        with pytest.warns(GraphSieveWarning, match=message):
            sieve = GraphSieve().fit(IRIS, y)
        assert_allclose(sieve.relevance_, largest_correlation(IRIS))
        assert sieve.skill_ is None
    for redundancy in ("auto", None):
        sieve = GraphSieve(redundancy=redundancy)
        with pytest.warns(GraphSieveWarning, match="identifier"):
            sieve.fit(IRIS, [f"sample {i}" for i in range(150)])
        with pytest.warns(
            GraphSieveWarning, match=r"1 of 3 classes have a single known member \(2\)"
        ):
            sieve.fit(IRIS[:101], SPECIES[:101])


def test_fewer_features_than_requested_can_be_scored():
    X = np.concatenate([IRIS, np.ones((150, 6))], axis=1)
    with (
        pytest.warns(GraphSieveWarning, match="only 4 can be scored"),
        pytest.warns(GraphSieveWarning, match="6 of 10"),
    ):
        assert GraphSieve(n_features_to_select=6).fit(X).get_support().sum() == 6
    with pytest.warns(GraphSieveWarning, match="6 of 10 features cannot be scored"):
        # Half would be five, but constant features are selected only if the number is given.
        assert GraphSieve().fit(X).get_support().sum() == 4


def test_ranks_put_ties_in_column_order_and_nan_last():
    values = np.array([2.0, np.nan, 1.0, 2.0, np.inf, -np.inf, np.nan])
    assert_array_equal(ranks(values, large_is_good=False), [3, 6, 2, 4, 5, 1, 7])
    assert_array_equal(ranks(values, large_is_good=True), [2, 6, 4, 3, 1, 5, 7])


def test_warnings_point_to_the_line_of_the_caller():
    for call in (
        lambda: GraphSieve().fit(IRIS, np.full(150, -1)),
        lambda: make_pipeline(GraphSieve("laplacian", n_neighbors=500)).fit(IRIS),
        lambda: make_pipeline(GraphSieve()).fit(np.ones((5, 2))),
        lambda: GraphSieve(n_features_to_select=2).fit(np.eye(5)[:, :2] * [1, 0]),
        lambda: GraphSieve().fit(IRIS[:101], SPECIES[:101]),
        lambda: GraphSieve(n_features_to_select="auto").fit(
            np.random.default_rng(11).normal(size=(40, 6))
        ),
        lambda: rank(IRIS, np.where(SPECIES == 0, 0, -1)),
        lambda: scores.laplacian_score(np.ones((5, 2))),
        lambda: Supervision.from_pairs(3, must_link=[(1, 1)]),
    ):
        with pytest.warns(GraphSieveWarning) as caught:
            call()
        assert {warning.filename for warning in caught} == {__file__}


def test_a_weight_without_a_difference_is_refused():
    with pytest.raises(InputError, match="weight belongs to form='difference'"):
        scores.constraint_score(IRIS, [(0, 1)], [(0, 60)], weight=0.5)


def test_a_scale_that_nobody_reads_is_refused():
    """Methods without distances in X score features as they are, and `scale_` is None."""
    # The units plainly differ, so "auto" scales the features if the method uses distances.
    X, y = IRIS * [1.0, 1.0, 1.0, 1000.0], SPECIES
    target = X[:, 0] + np.arange(150) % 7
    for name, method in METHODS.items():
        known = target if "targets" in method.uses else y
        if method.reads_neighbors:
            assert GraphSieve(name).fit(X, known).scale_ == "standard"
            assert GraphSieve(name, scale="rank").fit(X, known).scale_ == "rank"
            continue
        assert GraphSieve(name).fit(X, known).scale_ is None
        for scale in ("standard", "minmax", "robust", "rank"):
            with pytest.raises(
                InputError,
                match=f"'{name}' uses no distances in X and scores features as they are",
            ):
                GraphSieve(name, scale=scale).fit(X, known)
        assert GraphSieve(name, scale="rank", redundancy="explain").fit(X, known).scale_ == "rank"
    # An unused scale is accepted if the method was chosen automatically.
    assert GraphSieve(redundancy=None, scale="standard").fit(X, y).scale_ is None
    with pytest.raises(InputError, match="no distances in X"):
        feature_p_values(X, y, scale="rank")


def test_the_supervised_score_scales_the_target():
    """The target is divided by its standard deviation, unless `scale` is None."""
    X, target = IRIS, np.random.default_rng(0).normal(0, 30, size=150)
    asked = {"n_neighbors": 5, "bandwidth": 2.0}
    expected = supervised_laplacian_score(X, target / target.std(), **asked)
    assert_allclose(
        GraphSieve("supervised_laplacian", **asked).fit(X, target).scores_, expected, rtol=1e-9
    )
    as_they_are = GraphSieve("supervised_laplacian", scale=None, **asked).fit(X, target).scores_
    assert_allclose(as_they_are, supervised_laplacian_score(X, target, **asked), rtol=1e-9)


@pytest.mark.parametrize("method", ["supervised_laplacian", "semi_supervised_laplacian"])
def test_the_order_of_samples_does_not_matter_where_a_target_has_few_digits(method):
    """Ties between gaps of tenths are decided by their last bits.

    These bits must not depend on the order in which the target is summed.
    """
    random = np.random.default_rng(0)
    X, y = random.normal(size=(240, 4)), np.round(random.normal(10, 5, size=240), 1)
    expected = GraphSieve(method).fit(X, y).scores_
    for _ in range(5):
        order = random.permutation(240)
        assert_allclose(GraphSieve(method).fit(X[order], y[order]).scores_, expected, rtol=1e-9)


# The warning is that almost all weight of the graph is on two samples, which is intended here.
@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
@pytest.mark.parametrize("redundancy", [None, "explain", "correlation"])
def test_a_column_that_matters_and_has_no_score_ranks_last(redundancy):
    """The number of features is "auto", and a relevant column is constant along the only heavy
    edge.
    """
    random = np.random.default_rng(0)
    common = random.normal(size=(60, 1))
    # The last column is independent of the others.
    X = np.hstack([common + 0.3 * random.normal(size=(60, 5)), random.normal(size=(60, 1))])
    # Samples 0 and 1 are close to each other and equal in column 2.
    X[1] = X[0] + [1e-3, 1e-3, 0.0, 1e-3, 1e-3, 1e-3]
    found = GraphSieve(
        "laplacian",
        n_features_to_select="auto",
        n_neighbors=1,
        bandwidth=1e-6,
        scale=None,
        redundancy=redundancy,
    ).fit(X)
    assert_array_equal(np.isnan(found.scores_), [False, False, True, False, False, False])
    assert found.ranking_[2] == 6
    assert not found.get_support()[2]

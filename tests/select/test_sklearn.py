"""The estimators in scikit-learn: its checks, pipelines, grid searches, routing and containers."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer, make_scorer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import (
    check_estimator,
    estimator_checks_generator,
    parametrize_with_checks,
)

import graphsieve
from cases import about
from graphsieve import (
    FloatingSieve,
    GraphSieve,
    HybridSieve,
    IterativeSieve,
    LabeledOnly,
    Supervision,
    labeled_scorer,
)
from graphsieve._base.errors import InputError

DEFAULTS = [
    GraphSieve(),
    IterativeSieve(),
    # The checks use −1 as an ordinary class, so unlabeled must be None.
    FloatingSieve(unlabeled=None),
    HybridSieve(unlabeled=None),
    LabeledOnly(Ridge()),
    LabeledOnly(LogisticRegression(), unlabeled=None),
]
# Settings that run other parts of the code: a published method, n_features_to_select="auto", a
# graph of prototypes, and a criterion by an estimator.
VARIANTS = {
    "published": GraphSieve(redundancy=None),
    "counted": GraphSieve(n_features_to_select="auto", max_features=3),
    "prototypes": GraphSieve("laplacian", compress="som"),
    "estimator": FloatingSieve(
        LogisticRegression(), unlabeled=None, target_type="classes", n_features_to_select=1, cv=2
    ),
}


def expected_failures(estimator):
    """Return the checks that must fail, with the reason: a weighted sample differs from copies."""
    reason = None
    if isinstance(estimator, IterativeSieve) or getattr(estimator, "compress", None):
        reason = "the nearest neighbours of a sample are its copies"
    elif isinstance(estimator, GraphSieve) and estimator.method == "auto":
        reason = "copies of a labelled sample count once in the prediction"
    elif isinstance(estimator, FloatingSieve):
        reason = "the check passes cv, which is refused without an estimator"
    equivalence = [
        f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")
    ]
    return {} if reason is None else dict.fromkeys(equivalence, reason)


@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(DEFAULTS, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
@pytest.mark.parametrize("name", VARIANTS)
def test_all_scikit_learn_checks_of_a_variant(name):
    results = check_estimator(
        VARIANTS[name],
        on_skip=None,
        on_fail=None,
        expected_failed_checks=expected_failures(VARIANTS[name]),
    )
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert failed == set()
    assert sum(result["status"] == "passed" for result in results) >= 30


def test_the_checks_really_ran():
    """All estimators are checked, with at least 30 checks each.

    The check of array-API input is skipped unless scikit-learn is configured for it.
    """
    assert {type(estimator) for estimator in DEFAULTS} == {
        getattr(graphsieve, name)
        for name in graphsieve.__all__
        if hasattr(getattr(graphsieve, name), "get_params")
    }
    for estimator in DEFAULTS:
        assert len(list(estimator_checks_generator(estimator, legacy=True))) >= 30


class Witness(TransformerMixin, BaseEstimator):
    """Pass X on, and record the sample numbers in column 0 together with the pairs."""

    seen: ClassVar[list[tuple[np.ndarray, Supervision]]] = []

    def fit(self, X, y=None, supervision=None):
        Witness.seen.append((X[:, 0].astype(int), supervision))
        return self

    def transform(self, X):
        return X


def planted_problem(n_pairs: int, n_samples: int = 30):
    """Return a problem with the sample number in column 0, so that rows can be identified.

    The pairs are drawn at random: must-links within a class, cannot-links between classes.
    """
    rng = np.random.default_rng(n_pairs)
    y = np.arange(n_samples) % 2
    X = np.concatenate(
        [np.arange(n_samples)[:, None], rng.normal(size=(n_samples, 5)) + y[:, None]], axis=1
    ).astype(float)
    first, second = np.triu_indices(n_samples, k=1)
    pairs = np.stack([first, second], axis=1)[rng.permutation(len(first))[:n_pairs]]
    alike = y[pairs[:, 0]] == y[pairs[:, 1]]
    return X, y, pairs[alike], pairs[~alike]


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize(
    ("redundancy", "method", "grid"),
    [
        ("auto", "diverse", {"n_features_to_select": [2, 3]}),
        (None, "constrained_laplacian", {"n_neighbors": [2, 3]}),
    ],
)
def test_pairs_stay_with_their_samples_in_a_grid_search(redundancy, method, grid, routing):
    """Pairs are restricted to the samples of a fold, for any number of pairs.

    scikit-learn would slice a plain array with as many pairs as samples, and would not slice one of
    another length.
    """
    for extra in (-1, 0, 1):
        with about(f"{extra} pairs more than samples"):
            check_grid_search(redundancy, method, grid, extra, routing)


def check_grid_search(redundancy, method, grid, extra, routing):
    n = 30
    X, y, must_link, cannot_link = planted_problem(n + extra, n)
    known = Supervision.from_pairs(n, must_link, cannot_link)
    Witness.seen = []
    with sklearn.config_context(enable_metadata_routing=routing):
        witness, sieve = Witness(), GraphSieve(n_features_to_select=2, redundancy=redundancy)
        if routing:
            witness.set_fit_request(supervision=True)
            sieve.set_fit_request(supervision=True)
        pipeline = make_pipeline(witness, sieve, KNeighborsClassifier(1))
        settings = {f"graphsieve__{name}": values for name, values in grid.items()}
        search = GridSearchCV(pipeline, settings, cv=KFold(3, shuffle=True, random_state=0))
        params = (
            {"supervision": known}
            if routing
            else {"witness__supervision": known, "graphsieve__supervision": known}
        )
        search.fit(X, y, **params)
    assert len(Witness.seen) == 2 * 3 + 1  # two settings on three folds, then all samples
    truth = {
        True: {frozenset(p) for p in must_link.tolist()},
        False: {frozenset(p) for p in cannot_link.tolist()},
    }
    for numbers, seen in Witness.seen:
        assert len(seen) == len(numbers)
        for kind, pairs in ((True, seen.must_link), (False, seen.cannot_link)):
            found = {frozenset(numbers[pair].tolist()) for pair in pairs}
            assert found == {pair for pair in truth[kind] if pair <= set(numbers.tolist())}
    best = search.best_estimator_[1]
    assert best.method_ == method
    assert best.reason_.startswith(
        f"{len(must_link)} must-link and {len(cannot_link)} cannot-link pairs"
    )


@pytest.mark.parametrize(
    ("redundancy", "method"), [("auto", "diverse"), (None, "weighted_laplacian")]
)
def test_supervision_is_routed_in_cross_validation(redundancy, method):
    X, y = load_iris(return_X_y=True)
    proba = np.full((150, 3), 0.1)
    proba[np.arange(150), y] = 0.8
    pipeline = make_pipeline(
        GraphSieve(n_features_to_select=2, redundancy=redundancy), KNeighborsClassifier(3)
    )
    result = cross_validate(
        pipeline, X, y, cv=KFold(5, shuffle=True, random_state=0), return_estimator=True,
        params={"graphsieve__supervision": Supervision.from_probabilities(proba)},
    )  # fmt: skip
    assert {(e[0].method_, e[0].reason_) for e in result["estimator"]} == {
        (method, "class probabilities are known")
    }
    assert result["test_score"].mean() > 0.9


@pytest.mark.parametrize(
    ("redundancy", "method"), [("auto", "diverse"), (None, "semi_supervised_laplacian")]
)
def test_unknown_targets_in_a_pipeline_and_its_scorer(redundancy, method):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 8))
    y = 3 * X[:, 2] + 0.1 * rng.normal(size=120)
    y[rng.random(120) < 0.6] = np.nan
    pipeline = make_pipeline(
        GraphSieve(n_features_to_select=1, redundancy=redundancy), LabeledOnly(Ridge())
    )
    result = cross_validate(
        pipeline, X, y, scoring=labeled_scorer("r2"), cv=4, return_estimator=True
    )
    assert {e[0].method_ for e in result["estimator"]} == {method}
    assert all(e[0].ranking_[2] == 1 for e in result["estimator"])
    assert result["test_score"].min() > 0.9


@pytest.mark.parametrize(
    ("redundancy", "method"), [("auto", "diverse"), (None, "constrained_laplacian")]
)
def test_unknown_labels_in_a_grid_search(redundancy, method):
    X, y = load_iris(return_X_y=True)
    few = np.where(np.arange(150) % 5 == 0, y, -1)
    pipeline = make_pipeline(GraphSieve(redundancy=redundancy), LabeledOnly(LogisticRegression()))
    folds = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(
        pipeline,
        {"graphsieve__n_features_to_select": [1, 2]},
        scoring=labeled_scorer("accuracy"),
        cv=folds,
    )
    search.fit(X, few)
    assert search.best_estimator_[0].method_ == method
    assert search.best_estimator_[0].n_labeled_ == 30
    assert search.best_estimator_[1].n_labeled_ == 30
    assert search.best_score_ > 0.8


@pytest.mark.parametrize("folds", [3, KFold(3, shuffle=True, random_state=0)])
@pytest.mark.parametrize(
    "scoring", [None, labeled_scorer("accuracy"), labeled_scorer("roc_auc_ovr")]
)
@pytest.mark.parametrize("model", [LogisticRegression(), KNeighborsClassifier(1), SVC()])
def test_metadata_routing_does_not_change_a_grid_search(model, scoring, folds):
    """The pipeline of the README has the same finite scores with and without metadata routing."""
    if isinstance(model, SVC) and repr(scoring) == "labeled_scorer('roc_auc_ovr')":
        pytest.skip("SVC has no probabilities of several classes")
    X, y = load_iris(return_X_y=True)
    few = np.where(np.arange(150) % 5 == 0, y, -1)
    found = []
    for routing in (False, True):
        with sklearn.config_context(enable_metadata_routing=routing):
            search = GridSearchCV(
                make_pipeline(GraphSieve(), LabeledOnly(model)),
                {"graphsieve__n_features_to_select": [1, 2]},
                scoring=scoring,
                cv=folds,
                error_score="raise",
            ).fit(X, few)
            assert search.score(X, few) > 0.8
            found.append(search.cv_results_["mean_test_score"])
    assert np.isfinite(found).all()
    assert_array_equal(*found)


class Answering(ClassifierMixin, BaseEstimator):
    """A classifier that returns the parameters of its methods, to show what reaches them."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.fit_weight_ = sample_weight
        return self

    def predict(self, X, mark=None):
        return mark

    def predict_proba(self, X, mark=None):
        return mark

    def predict_log_proba(self, X, mark=None):
        return mark

    def decision_function(self, X, mark=None):
        return mark

    def score(self, X, y, sample_weight=None):
        return 0.0 if sample_weight is None else sample_weight.sum()


@pytest.mark.parametrize("routing", [False, True])
def test_parameters_of_every_method_reach_the_wrapped_estimator(routing):
    X, y, weight = np.arange(8.0).reshape(4, 2), np.array([0, -1, 1, -1]), np.array([1, 2, 4, 8])
    asking = ("predict", "predict_proba", "predict_log_proba", "decision_function")
    with sklearn.config_context(enable_metadata_routing=routing):
        model = Answering()
        if routing:
            model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
            for name in asking:
                getattr(model, f"set_{name}_request")(mark=True)
        wrapped = LabeledOnly(model).fit(X, y, sample_weight=weight)
        assert_array_equal(wrapped.estimator_.fit_weight_, [1, 4])
        assert wrapped.score(X, y, sample_weight=weight) == 5
        assert wrapped.score(X, y) == wrapped.score(X, y, sample_weight=None) == 0
        for name in asking:
            assert getattr(wrapped, name)(X, mark="seen") == "seen"
            assert getattr(wrapped, name)(X) is None
        scorer = make_scorer(lambda y, _, sample_weight: sample_weight.sum())
        if routing:
            scorer.set_score_request(sample_weight=True)
        assert labeled_scorer(scorer)(wrapped, X, y, sample_weight=weight) == 5


def test_a_scorer_of_labelled_samples_requests_weights_as_its_scorer_does():
    X, y = load_iris(return_X_y=True)
    few = np.where(np.arange(150) % 2 == 0, y, -1)
    weight = np.where(y == 0, 1.0, 0.0)  # Only the first class, which is easy, counts.
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = get_scorer("accuracy").set_score_request(sample_weight=True)
        model = LabeledOnly(DummyClassifier(strategy="constant", constant=0))
        model.estimator.set_fit_request(sample_weight=False)
        found = cross_validate(
            model, X, few, scoring=labeled_scorer(scorer), params={"sample_weight": weight}
        )
    assert_array_equal(found["test_score"], 1.0)


@pytest.mark.parametrize("make", [GraphSieve, FloatingSieve, HybridSieve])
@pytest.mark.parametrize(
    ("last", "warns"),
    [
        (LogisticRegression(), True),
        (GridSearchCV(LogisticRegression(), {"C": [1.0]}), True),
        (LabeledOnly(LogisticRegression()), False),
        (GridSearchCV(LabeledOnly(LogisticRegression()), {"estimator__C": [1.0]}), False),
        (SelfTrainingClassifier(LogisticRegression()), False),
        ("passthrough", False),
    ],
)
def test_a_mark_that_the_next_step_takes_for_a_class(make, last, warns):
    X, y = load_iris(return_X_y=True)
    few = np.where(np.arange(150) % 3 == 0, y, -1)
    pipeline = make_pipeline(make(n_features_to_select=2), last)
    words = "100 samples are unlabelled (-1), but"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pipeline.fit(X, few)
        pipeline.fit(X, y)  # all labels known
        make(n_features_to_select=2).fit(X, few)  # no pipeline
    told = [str(one.message) for one in caught if str(one.message).startswith(words)]
    assert len(told) == warns
    assert all("LabeledOnly(" in text for text in told)


@pytest.mark.parametrize("unknown", [np.nan, None, -1])
@pytest.mark.parametrize("routing", [False, True])
def test_two_classes_with_unknown_labels_in_folds_that_are_not_stratified(unknown, routing):
    X, y = load_iris(return_X_y=True)
    few = np.where(np.arange(150) % 5 == 0, y // 2, unknown)
    pipeline = make_pipeline(GraphSieve(n_features_to_select=2), LabeledOnly(LogisticRegression()))
    folds = KFold(3, shuffle=True, random_state=0)
    with sklearn.config_context(enable_metadata_routing=routing):
        found = cross_val_score(pipeline, X, few, cv=folds, error_score="raise")
    assert found.min() > 0.6


def test_one_known_class_is_refused_for_that_reason():
    with pytest.raises(InputError, match="so that all known labels are of one class; pass unlab"):
        GraphSieve().fit(np.arange(8.0).reshape(4, 2), [1, -1, 1, -1])


def test_data_frames_are_returned_as_data_frames():
    X, y = load_iris(return_X_y=True, as_frame=True)
    for sieve in (GraphSieve("fisher", n_features_to_select=2), GraphSieve(n_features_to_select=2)):
        bare = clone(sieve).fit(X.to_numpy(), y.to_numpy())
        expected = list(X.columns[bare.get_support()])
        if sieve.method == "fisher":
            assert expected == ["petal length (cm)", "petal width (cm)"]
        assert list(sieve.set_output(transform="pandas").fit(X, y).transform(X).columns) == expected
        polars_X = pl.from_pandas(X)
        out = (
            sieve.set_output(transform="polars")
            .fit(polars_X, pl.Series(y.to_numpy()))
            .transform(polars_X)
        )
        assert isinstance(out, pl.DataFrame)
        assert out.columns == expected
        assert_array_equal(out.to_numpy(), bare.transform(X.to_numpy()))
        assert list(sieve.feature_names_in_) == list(X.columns)


def test_sparse_tables_are_returned_as_sparse_tables():
    X = sp.random_array((50, 12), density=0.3, rng=np.random.default_rng(0), format="csr")
    out = GraphSieve(n_features_to_select=5).fit(X).transform(X)
    assert sp.issparse(out)
    assert out.shape == (50, 5)


def test_transform_requires_the_same_columns():
    X, y = load_iris(return_X_y=True, as_frame=True)
    sieve = GraphSieve().fit(X, y)
    with pytest.raises(ValueError, match="feature names should match"):
        sieve.transform(X.iloc[:, ::-1])
    with pytest.raises(ValueError, match="expecting 4 features"):
        GraphSieve().fit(X.to_numpy()).transform(X.to_numpy()[:, :3])


def test_fitting_again_replaces_everything():
    X, y = load_iris(return_X_y=True, as_frame=True)
    for redundancy, first, second in (
        ("auto", "diverse", "diverse"),
        (None, "fisher", "laplacian"),
    ):
        sieve = GraphSieve(redundancy=redundancy).fit(X, y)
        assert (sieve.method_, sieve.n_labeled_) == (first, 150)
        sieve.fit(X.to_numpy()[:, :3])
        assert (sieve.method_, sieve.n_labeled_) == (second, 0)
        assert not hasattr(sieve, "feature_names_in_")
        assert sieve.scores_.shape == (3,)
        fresh = GraphSieve(redundancy=redundancy).fit(X.to_numpy()[:, :3])
        assert vars(sieve).keys() == vars(fresh).keys()
        for name in vars(fresh):
            assert_array_equal(getattr(sieve, name), getattr(fresh, name))
    # Attributes of the search are None after a fit with a score.
    sieve = (
        GraphSieve(n_features_to_select="auto")
        .fit(X, y)
        .set_params(method="fisher", n_features_to_select=2)
        .fit(X, y)
    )
    for name in (
        "relevance_",
        "skill_",
        "redundancy_",
        "closest_",
        "closest_correlation_",
        "count_",
    ):
        assert getattr(sieve, name) is None


def test_clone_and_pickle():
    import pickle

    X, y = load_iris(return_X_y=True)
    sieve = GraphSieve("relieff", n_features_to_select=0.5).fit(X, y)
    assert not hasattr(clone(sieve), "scores_")
    again = pickle.loads(pickle.dumps(sieve))
    assert_array_equal(again.transform(X), sieve.transform(X))
    scorer = pickle.loads(pickle.dumps(labeled_scorer("accuracy")))
    model = LabeledOnly(LogisticRegression()).fit(X, np.where(np.arange(150) % 3 == 0, y, -1))
    assert scorer(model, X, y) == pytest.approx(model.score(X, y))


def test_sample_weights_reach_the_labelled_rows():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    y = np.array([0.0, np.nan, 2.0, 9.0])
    weighted = LabeledOnly(Ridge(alpha=1e-9)).fit(
        X, y, sample_weight=np.array([1.0, 1.0, 1.0, 1e-12])
    )
    assert_allclose(weighted.predict([[3.0]]), [3.0], atol=1e-3)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = LabeledOnly(Ridge(alpha=1e-9).set_fit_request(sample_weight=True))
        routed.fit(X, y, sample_weight=np.array([1.0, 1.0, 1.0, 1e-12]))
    assert_allclose(routed.predict([[3.0]]), [3.0], atol=1e-3)


def test_labeled_only_recognises_all_unknown_values():
    X = np.arange(12.0).reshape(6, 2)
    for y in (
        np.array([0, 1, -1, 0, 1, -1]),
        np.array([0.0, 1.0, np.nan, 0.0, 1.0, np.nan]),
        np.array(["a", "b", None, "a", "b", None], dtype=object),
        pd.Series(["a", "b", None, "a", "b", None], dtype="category"),
    ):
        assert LabeledOnly(KNeighborsClassifier(1)).fit(X, y).n_labeled_ == 4
    # For a regressor, −1 is an ordinary value.
    assert LabeledOnly(Ridge()).fit(X, np.array([0, 1, -1, 0, 1, -1])).n_labeled_ == 6
    with pytest.raises(ValueError, match="nothing to fit on"):
        LabeledOnly(Ridge()).fit(X, np.full(6, np.nan))
    with pytest.raises(ValueError, match="use folds that all contain labelled rows"):
        labeled_scorer("r2")(LabeledOnly(Ridge()).fit(X, np.arange(6.0)), X, np.full(6, np.nan))
    with pytest.raises(ValueError, match="pass unlabeled=None"):
        LabeledOnly(KNeighborsClassifier(1)).fit(X, np.array([1, -1, 1, -1, 1, -1]))


def test_a_fold_whose_labels_are_all_one_can_be_scored():
    """Labels 1 and -1 alone could be two classes, but not after a fit on the classes 0 and 1."""
    X, y = np.arange(12.0)[:, None], np.array([0, 0, 0, 0, -1, -1, 1, 1, 1, -1, -1, -1])
    folds = [(np.arange(8), np.arange(8, 12)), (np.arange(2, 12), np.arange(2))]
    model = LabeledOnly(KNeighborsClassifier(1))
    # In the second fold, the nearest labelled sample of both is of class 0, too.
    assert_array_equal(
        cross_val_score(
            model, X, y, scoring=labeled_scorer("accuracy"), cv=folds, error_score="raise"
        ),
        [1.0, 1.0],
    )
    assert_array_equal(cross_val_score(model, X, y, cv=folds, error_score="raise"), [1.0, 1.0])
    # The error is raised if the model was fitted with the class -1.
    with pytest.raises(InputError, match="pass unlabeled=None"):
        labeled_scorer("accuracy")(
            KNeighborsClassifier(1).fit([[0.0], [1.0]], [-1, 1]), X, np.where(y == 0, -1, 1)
        )


@pytest.mark.parametrize("missing", [True, False])
def test_labels_of_object_type_are_read_with_and_without_unknown_ones(missing):
    X = np.arange(6.0)[:, None]
    y = np.array([0, 0, None if missing else 0, 1, 1, 1], dtype=object)
    model = LabeledOnly(KNeighborsClassifier(1)).fit(X, y)
    assert_array_equal(model.predict(X), [0, 0, 0, 1, 1, 1])
    assert model.score(X, y) == 1.0


def test_a_row_with_several_targets_needs_all_of_them():
    X = np.arange(5.0)[:, None]
    marked = np.array([[0, 0], [0, 1], [-1, 1], [1, -1], [1, 1]])
    masked = np.ma.array(np.abs(marked), mask=marked == -1)
    text = np.array([["a", "b"], ["a", "c"], [None, "c"], ["d", None], ["d", "c"]], dtype=object)
    for y in (marked, masked, text):
        assert LabeledOnly(KNeighborsClassifier(1)).fit(X, y).n_labeled_ == 3
    assert LabeledOnly(Ridge()).fit(X, np.where(marked == -1, np.nan, marked)).n_labeled_ == 3
    assert LabeledOnly(Ridge()).fit(X, marked).n_labeled_ == 5


def test_labeled_only_answers_what_it_cannot_use():
    X, y = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1])
    model = LabeledOnly(KNeighborsClassifier(1)).fit(X, y)
    for act in (
        lambda: model.fit(X, y[:3]),
        lambda: model.score(X, y[:3]),
        lambda: labeled_scorer("accuracy")(model, X, y[:3]),
    ):
        with pytest.raises(InputError, match="X has 4 samples, but 3 are described by y"):
            act()
    for act, message in (
        (lambda: model.score(X, np.full(4, -1)), "none of the 4 rows to score has a known label"),
        (lambda: model.fit(5, y), "X is a int; expected a 2-D array"),
        (lambda: LabeledOnly(None).fit(X, y), "estimator must be a scikit-learn estimator"),
        (lambda: LabeledOnly(Ridge).fit(X, y), "estimator must be a scikit-learn estimator"),
        (lambda: labeled_scorer("acuracy"), "did you mean 'accuracy'"),
        (
            lambda: labeled_scorer(None),
            "scoring must be the name of a scorer or a function, got None",
        ),
    ):
        with pytest.raises(InputError, match=message):
            act()
    assert repr(labeled_scorer("r2", unlabeled=9)) == "labeled_scorer('r2', unlabeled=9)"


def test_what_is_masked_becomes_nan_in_transform():
    X, y = load_iris(return_X_y=True)
    sieve = GraphSieve(n_features_to_select=4).fit(X, y)
    hidden = np.ma.array(X, mask=X > 7)
    for table in (hidden, hidden.astype(np.float32), hidden.astype(int)):
        found = sieve.transform(table)
        assert type(found) is np.ndarray
        assert_array_equal(found, np.where(X > 7, np.nan, table.data))
    holes = np.where(X > 7, np.nan, X)
    assert_array_equal(sieve.transform(holes), holes)
    assert_array_equal(sieve.transform(np.ma.array(X)), X)  # without masked values

"""Tests of `compare`: agreement of rankings, curves equal to those of `evaluate`, and findings."""

from __future__ import annotations

import json
import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kendalltau
from sklearn.datasets import load_diabetes, load_iris, load_wine

import lookalikes
from graphsieve import GraphSieve, InputError, Supervision
from graphsieve._base.errors import GraphSieveWarning
from graphsieve.assess.comparison.candidates import (
    NAMES,
    SECONDS,
    Size,
    default_sizes,
    part_for,
    usual_methods,
)
from graphsieve.assess.comparison.comparing import (
    RANDOM_ORDERS,
    RandomSieve,
    compare,
    first_overlap,
    rank_agreement,
)
from graphsieve.assess.comparison.findings import Judged
from graphsieve.assess.comparison.results import Comparison
from graphsieve.assess.evaluation.evaluating import evaluate
from graphsieve.assess.evaluation.results import standard_error

pytestmark = pytest.mark.usefixtures("one_thread")


def classes_and_noise(n_samples: int = 60, n_noise: int = 6, seed: int = 0):
    """Return a table in which column 0 separates two classes and the others are noise."""
    random = np.random.default_rng(seed)
    y = np.arange(n_samples) % 2
    return np.column_stack(
        [y + 0.1 * random.normal(size=n_samples), random.normal(size=(n_samples, n_noise))]
    ), y


@pytest.fixture(scope="module")
def wine() -> Comparison:
    X, y = load_wine(return_X_y=True, as_frame=True)
    return compare(X, y)


def quick(X, y=None, **options) -> Comparison:
    return compare(X, y, **({"learners": "1nn", "folds": 3} | options))


# Agreement


def test_tau_by_hand():
    # Rankings 0 and 1 agree on two of the three pairs of columns; rankings 0 and 2 agree on none.
    found = rank_agreement(np.array([[1, 2, 3], [2, 1, 3], [3, 2, 1]]))
    assert_allclose(found, [[1, 1 / 3, -1], [1 / 3, 1, -1 / 3], [-1, -1 / 3, 1]])


def test_tau_b_with_ties_by_hand():
    # (1, 1, 3) ties one of three pairs and orders the other two as (1, 2, 3): 2 / sqrt(2 · 3).
    assert_allclose(rank_agreement(np.array([[1, 1, 3], [1, 2, 3]]))[0, 1], 2 / np.sqrt(6))


def test_agreement_with_a_fully_tied_ranking_is_undefined():
    found = rank_agreement(np.array([[1, 1, 1], [1, 2, 3]]))
    assert_array_equal(np.isnan(found), [[True, True], [True, False]])


def test_overlap_by_hand():
    orders = np.array([[0, 1, 2, 3], [1, 0, 3, 2], [3, 2, 1, 0]])
    assert_allclose(first_overlap(orders, 1), np.eye(3))
    assert_allclose(first_overlap(orders, 2), [[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    assert_allclose(
        first_overlap(orders, 3), [[1, 2 / 3, 2 / 3], [2 / 3, 1, 2 / 3], [2 / 3, 2 / 3, 1]]
    )
    assert_allclose(first_overlap(orders, 4), np.ones((3, 3)))


@pytest.mark.slow
def test_agreement_equals_that_of_the_fitted_sieves(wine):
    X, y = load_wine(return_X_y=True)
    for (i, one), (j, other) in combinations(enumerate(wine.methods), 2):
        sieves = [
            GraphSieve(name, n_features_to_select=max(wine.sizes)).fit(X, y)
            for name in (one, other)
        ]
        for at, sieve in ((i, sieves[0]), (j, sieves[1])):
            assert_array_equal(wine.orders[at], np.argsort(sieve.ranking_))
        assert_allclose(
            wine.agreement[i, j], kendalltau(*(sieve.ranking_ for sieve in sieves)).statistic
        )
        for size, shares in zip(wine.sizes, wine.overlap, strict=True):
            tops = [set(np.argsort(sieve.ranking_)[:size]) for sieve in sieves]
            assert_allclose(shares[i, j], len(tops[0] & tops[1]) / size)


def test_equal_scores_share_a_rank():
    X, y = classes_and_noise()
    X = np.column_stack([X, X[:, 0]])
    found = quick(X, y, methods=["fisher"])
    assert found.ranks[0, 0] == found.ranks[0, -1] == 1
    assert sorted(found.ranks[0]) == [1, 1, 3, 4, 5, 6, 7, 8]
    assert found.orders[0, :2].tolist() == [0, 7]


def test_columns_without_a_score_share_the_last_rank():
    X, y = classes_and_noise(n_noise=2)
    X = np.column_stack([np.ones(len(y)), X, np.zeros(len(y))])
    with pytest.warns(GraphSieveWarning, match="2 of 5 features cannot be scored"):
        found = quick(X, y, methods=["fisher"], sizes=[1])
    assert found.ranks[0, [0, 4]].tolist() == [4, 4]


# Curves


@pytest.mark.slow
def test_curves_equal_those_of_evaluate(wine):
    X, y = load_wine(return_X_y=True)
    plain = evaluate(wine.methods, X, y, sizes=wine.sizes)
    assert wine.evaluation.selectors == plain.selectors
    for selector in (*wine.methods, "all"):
        for learner in plain.learners:
            assert_array_equal(
                wine.evaluation.values(selector, learner), plain.values(selector, learner)
            )


def test_random_columns_are_the_mean_of_several_orders():
    X, y = classes_and_noise()
    found = quick(X, y, methods=["fisher"], sizes=[1, 3], random_state=5)
    draws = {f"draw {draw}": RandomSieve(draw) for draw in range(1, RANDOM_ORDERS)}
    plain = evaluate(draws, X, y, sizes=[1, 3], learners="1nn", folds=3, random_state=5)
    expected = np.mean([plain.values(name) for name in ("random", *draws)], axis=0)
    assert_allclose(found.evaluation.values("random"), expected)
    # The orders differ.
    assert len({plain.values(name).tobytes() for name in ("random", *draws)}) > 2


def test_another_seed_gives_other_folds():
    X, y = classes_and_noise(n_noise=3)
    one, same, other = (
        quick(X, y, methods=["variance"], sizes=[2], random_state=seed) for seed in (0, 0, 1)
    )
    assert one.to_json() == same.to_json() != other.to_json()
    assert_array_equal(one.orders, other.orders)


def test_several_processes_change_nothing():
    X, y = classes_and_noise(40)
    one, two = (
        quick(X, y, methods=["auto", "relieff"], sizes=[1, 2], n_jobs=n_jobs) for n_jobs in (1, 2)
    )
    assert one.to_json() == two.to_json()


def test_the_separating_column_is_found():
    X, y = classes_and_noise()
    found = quick(X, y, methods=["fisher", "auto"], sizes=[1])
    assert found.best("fisher", 1) == found.best("auto", 1) == ["x0"]
    assert_array_equal(found.evaluation.values("fisher"), 1.0)
    assert found.sentences()[0].startswith(
        "With 1nn, fisher is best with 1 of the columns: mean accuracy 100.0 %,"
    )
    assert "Not significantly worse: auto." in found.sentences()[0]


def test_noise_is_not_significant():
    random = np.random.default_rng(3)
    X, y = random.normal(size=(60, 8)), np.arange(60) % 2
    found = quick(X, y, methods=["variance"], sizes=[1, 2, 4], folds=5)
    gain, error = Judged(found.evaluation, "1nn").gain("variance", "random")
    assert gain < 2 * error
    assert (
        "variance is not significantly better than random columns on average over all sizes"
        in found.sentences()[0]
    )
    assert "*" not in str(found).partition("1nn ")[2]


def test_gains_are_the_differences_of_evaluation(wine):
    for learner in wine.evaluation.learners:
        judged = Judged(wine.evaluation, learner)
        for row in wine.evaluation.differences(to="random", over_sizes=True):
            if row["learner"] == learner and row["selector"] in wine.methods:
                assert_allclose(
                    judged.gain(row["selector"], "random"),
                    [100 * row["mean"], 100 * row["standard_error"]],
                )


def test_a_small_error_is_a_gain():
    X, y = load_diabetes(return_X_y=True)
    found = quick(X, y, methods=["pearson"], sizes=[2], learners="linear")
    mine, chance = (found.evaluation.values(name).mean() for name in ("pearson", "random"))
    assert mine < chance
    assert Judged(found.evaluation, "linear").gain("pearson", "random")[0] == pytest.approx(
        chance - mine
    )
    assert "below random columns" in found.sentences()[0]
    record = next(
        row for row in found.to_records() if row["method"] == "pearson" and row["metric"] == "rmse"
    )
    assert record["gain_over_random"] == pytest.approx(chance - mine)
    assert {row["metric"] for row in found.to_records()} == {"rmse", "relative_rmse"}


def test_stars_mark_the_best_significant_methods(wine):
    judged = Judged(wine.evaluation, "1nn")
    lines = str(wine).splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("1nn "))
    names = [*wine.methods, "random columns", "all columns"]
    table = {name: line for name, line in zip(names, lines[start + 1 :], strict=False)}
    assert all(line.startswith(name) for name, line in table.items())
    starred = [name for name in names for _ in range(table[name].count("*"))]
    places = [*range(len(wine.sizes)), None]
    expected = [
        judged.best(place)
        for place in places
        if judged.is_better(judged.best(place), "random", place)
    ]
    assert sorted(starred) == sorted(expected)
    assert expected


# Supervision


def test_no_supervision():
    X = load_iris().data
    found = compare(X)
    assert found.methods == ("auto", "laplacian", "spec", "variance", "iterative")
    assert found.evaluation is None
    assert found.to_records() == []
    assert found.page_facts()["curves"] is None
    assert any("no curves" in note for note in found.notes)
    with pytest.raises(InputError, match="no curves to draw"):
        found.plot()


@pytest.mark.parametrize("unknown", [-1, None])
def test_some_labels(unknown):
    X, y = load_iris(return_X_y=True)
    labels = [label if row % 5 == 0 else unknown for row, label in enumerate(y)]
    found = quick(
        X,
        np.array(labels, dtype=object if unknown is None else None),
        methods=["auto", "constrained_laplacian"],
    )
    plain = evaluate(
        found.methods,
        X,
        np.where(np.arange(150) % 5 == 0, y, -1),
        sizes=[1, 2, 3],
        learners="1nn",
        folds=3,
    )
    assert found.sizes == (1, 2, 3)
    assert_array_equal(found.evaluation.values("auto"), plain.values("auto"))


def test_text_labels_are_the_same_as_numbers():
    X, y = load_iris(return_X_y=True)
    named = np.array(["b", "c", "a"], dtype=object)[y]
    named[::7] = None
    numbers = np.where(np.arange(150) % 7 == 0, -1, y)
    one, other = (
        quick(X, values, methods=["fisher", "relieff"], sizes=[1, 2]) for values in (named, numbers)
    )
    assert_array_equal(one.orders, other.orders)


@pytest.mark.slow
def test_default_methods_depend_on_the_supervision():
    X, y = load_iris(return_X_y=True)
    n = len(y)
    length = X[:, 0] + 0.1 * np.cos(np.arange(n))
    assert quick(X, y).methods == (
        "auto",
        "fisher",
        "relieff",
        "mutual_information",
        "laplacian",
        "variance",
    )
    assert quick(X, np.where(np.arange(n) % 3, -1, y)).methods[1] == "constrained_laplacian"
    assert quick(X, length).methods == (
        "auto",
        "supervised_laplacian",
        "pearson",
        "mutual_information",
    )
    assert (
        quick(X, np.where(np.arange(n) % 3, np.nan, length)).methods[1]
        == "semi_supervised_laplacian"
    )


def test_pairs_without_labels_give_no_curves():
    X = load_iris().data
    pairs = Supervision.from_pairs(
        150, must_link=[(0, 1), (60, 61)], cannot_link=[(0, 60), (1, 140)]
    )
    found = compare(X, supervision=pairs)
    assert found.methods == ("auto", "constrained_laplacian", "constraint", "laplacian", "variance")
    assert found.evaluation is None
    sieve = GraphSieve("constraint").fit(X, supervision=pairs)
    assert_array_equal(found.orders[2], np.argsort(sieve.ranking_))


def test_pairs_and_labels_give_curves():
    X, y = load_iris(return_X_y=True)
    pairs = Supervision.from_pairs(150, must_link=[(0, 1)], cannot_link=[(0, 60)])
    found = quick(
        X, y, supervision=pairs, methods=["auto", "fisher", "constraint", "variance"], sizes=[2]
    )
    # The Fisher score only uses labels, so pairs must not change it.
    assert_array_equal(
        found.evaluation.values("fisher"),
        quick(X, y, methods=["fisher"], sizes=[2]).evaluation.values("fisher"),
    )


def test_probabilities():
    X, y = load_iris(return_X_y=True)
    told = Supervision.from_probabilities(0.1 + 0.7 * np.eye(3)[y])
    assert compare(X, supervision=told).methods == (
        "auto",
        "weighted_laplacian",
        "laplacian",
        "variance",
    )
    judged = quick(X, y, supervision=told, sizes=[2])
    assert judged.evaluation is not None
    assert "random" in judged.evaluation.selectors


def test_labels_in_supervision_and_y_for_testing():
    X, y = load_iris(return_X_y=True)
    few = Supervision.from_labels(np.where(np.arange(150) % 10 == 0, y, -1))
    found = quick(X, y, supervision=few, methods=["fisher"], sizes=[1, 2])
    assert found.known == "15 labels in 3 classes"
    plain = evaluate("fisher", X, y, supervision=few, sizes=[1, 2], learners="1nn", folds=3)
    assert_array_equal(found.evaluation.values("fisher"), plain.values("fisher"))
    alone = quick(X, supervision=few, methods=["fisher"], sizes=[1, 2])
    as_y = quick(X, few.labels, methods=["fisher"], sizes=[1, 2])
    assert alone.to_json() == as_y.to_json()


def test_part_for_a_method():
    known = Supervision.from_labels([0, 1, -1]) | Supervision.from_pairs(3, must_link=[(0, 2)])
    assert part_for(known, "fisher").kinds == ("labels",)
    assert part_for(known, "constraint").kinds == ("labels", "pairs")
    assert part_for(known, "auto").kinds == ("labels", "pairs")
    assert part_for(known, "variance") is None
    assert part_for(known, "iterative") is None
    assert part_for(Supervision.from_pairs(3, must_link=[(0, 2)]), "floating") is None


@pytest.mark.parametrize("name", NAMES)
def test_every_method_can_be_compared(name):
    X, y = classes_and_noise(30, n_noise=3)
    probabilities = Supervision.from_probabilities(0.1 + 0.8 * np.eye(2)[y])
    kinds = NEEDED.get(name)
    y_given = X[:, 0] + X[:, 1] if kinds == "targets" else y
    found = quick(
        X,
        y_given,
        supervision=probabilities if kinds == "probabilities" else None,
        methods=[name],
        sizes=[1, 2],
    )
    assert found.evaluation.selectors == (name, "random", "all")
    assert sorted(found.orders[0]) == [0, 1, 2, 3]


NEEDED = {
    "supervised_laplacian": "targets",
    "semi_supervised_laplacian": "targets",
    "weighted_laplacian": "probabilities",
}


# Too little supervision


@pytest.mark.parametrize(
    ("y", "why"),
    [
        ([0, 0, 1] + [-1] * 17, "fewer than 2 classes have at least 2 known members"),
        (
            [float(value) / 3 for value in range(9)] + [np.nan] * 11,
            "only 9 target values are known",
        ),
    ],
)
def test_too_little_supervision_for_curves(y, why):
    X, _ = classes_and_noise(20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)  # of classes with a single member
        found = quick(X, np.array(y))
    assert found.evaluation is None
    assert any(why in note for note in found.notes)


@pytest.mark.parametrize("y", [[1] * 20, [0.5] * 20])
def test_constant_supervision_counts_as_none(y):
    X, _ = classes_and_noise(20)
    with pytest.warns(GraphSieveWarning, match="ranking is unsupervised"):
        found = quick(X, np.array(y))
    assert found.methods[:2] == ("auto", "laplacian")
    assert found.evaluation is None


def test_no_target_at_all():
    X, _ = classes_and_noise(20)
    with pytest.warns(GraphSieveWarning, match="no target known"):
        found = quick(X, np.full(20, -1))
    assert found.evaluation is None


def test_small_classes_lower_the_folds():
    X, y = classes_and_noise(40, n_noise=3)
    y = np.where((y == 1) & (np.arange(40) > 8), -1, y)  # class 1 keeps rows 1, 3, 5 and 7
    found = compare(X, y, methods=["fisher"], learners="1nn")
    assert found.evaluation.folds == 4
    assert (
        "There are 4 folds instead of 5 because the smallest class has 4 known members."
        in found.notes
    )


def test_two_labels_per_class_give_two_folds():
    X, y = classes_and_noise(20, n_noise=3)
    with pytest.warns(GraphSieveWarning) as given:
        found = compare(
            X, np.where(np.arange(20) < 4, y, -1), methods=["fisher", "lsdf"], learners="1nn"
        )
    assert found.evaluation.folds == 2
    # One label per class is left for training. The warning is issued once for both methods.
    texts = [str(one.message) for one in given]
    assert len(texts) == 1
    assert texts[0].startswith(
        "in the folds of fisher and lsdf, 2 of 2 classes have a single known member"
    )


def test_a_method_without_enough_supervision_in_a_fold():
    # Both folds leave one label of each class for training, and so no must-link pair.
    X, y = classes_and_noise(20, n_noise=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)  # of classes with a single member
        found = compare(
            X,
            np.where(np.arange(20) < 4, y, -1),
            methods=["constraint", "variance"],
            learners="1nn",
        )
        alone = compare(
            X, np.where(np.arange(20) < 4, y, -1), methods=["constraint"], learners="1nn"
        )
    assert found.methods == ("constraint", "variance")
    assert found.evaluation.selectors == ("variance", "random", "all")
    assert any(
        note.startswith("constraint has no curves because a fold has too little supervision for it")
        for note in found.notes
    )
    assert alone.evaluation is None


def test_a_class_of_one_does_not_determine_the_folds():
    X, y = classes_and_noise(30, n_noise=3)
    y = np.where(np.arange(30) == 29, 2, y)
    with pytest.warns(GraphSieveWarning) as given:
        found = compare(X, y, methods=["fisher", "variance"], learners="1nn", sizes=[1])
    assert found.evaluation.folds == 3
    # The warning is issued once for the whole table, and not for every fold.
    assert sum("single known member" in str(one.message) for one in given) == 1


# Slow methods


def test_slow_methods_are_left_out_with_a_note():
    known = Supervision.from_labels(np.arange(40_000) % 2)
    size = Size.of(known, 50, 20)
    chosen, notes = usual_methods(known, size, size, 5)
    assert "relieff" not in chosen
    assert any(note.startswith("relieff was left out: it would take about") for note in notes)
    assert chosen[:2] == ("auto", "fisher")


def test_times_grow_with_the_table():
    small, large = Size(100, 20, 100, 2, 10), Size(1000, 200, 1000, 2, 100)
    assert set(SECONDS) <= set(NAMES)
    for name, seconds in SECONDS.items():
        assert 0 < seconds(small) < seconds(large), name


def test_row_sampling_keeps_labelled_rows():
    X, y = classes_and_noise(200, n_noise=3)
    partly = np.where(np.arange(200) < 20, y, -1)
    found = quick(X, partly, methods=["fisher"], sizes=[1], max_rows=50)
    assert found.evaluation.n_samples == 50
    assert found.evaluation.test_ratio == pytest.approx(1 / 2, rel=0.1)  # all 20 labels, in 3 folds
    assert "The curves use 50 of the 200 rows, drawn at random." in found.notes
    assert_array_equal(found.orders, quick(X, partly, methods=["fisher"], sizes=[1]).orders)


def test_all_rows_on_request():
    X, y = classes_and_noise(80, n_noise=3)
    assert quick(X, y, methods=["fisher"], max_rows=None).evaluation.n_samples == 80
    assert quick(X, y, methods=["fisher"], max_rows=40).evaluation.n_samples == 40


# Invalid input


def test_a_method_that_lacks_supervision():
    X = load_iris().data
    with pytest.raises(
        InputError,
        match=r"'fisher' needs labels, but nothing is known.* choose from auto, diverse, "
        r"iterative, laplacian",
    ):
        compare(X, methods=["auto", "fisher"])
    with pytest.raises(
        InputError, match="'pearson' needs targets or labels, but only pairs are known"
    ):
        compare(X, methods=["pearson"], supervision=Supervision.from_pairs(150, must_link=[(0, 1)]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ["fischer"]}, "did you mean 'fisher'"),
        ({"methods": ["score"]}, "methods contains 'score'"),
        ({"methods": []}, "methods is empty"),
        ({"methods": 3}, "methods must be a list of names"),
        ({"methods": ["fisher", "fisher"]}, "twice"),
        ({"sizes": [5]}, "there are 4 features"),
        ({"sizes": []}, "sizes is empty"),
        ({"folds": 1}, "folds must be an integer of at least 2"),
        ({"folds": True}, "folds must be an integer"),
        ({"repeats": 0}, "repeats must be"),
        ({"learners": "1nm"}, "learner must be one of"),
        ({"max_rows": 1}, "max_rows must be"),
        (
            {"feature_names": ["a"]},
            "feature_names must contain 4 names, one per column of X, got 1",
        ),
        ({"feature_names": "abcd"}, "feature_names must be a sequence of strings"),
        ({"supervision": [1, 2]}, "supervision must be a graphsieve.Supervision"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_wrong_parameters(options, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InputError, match=message):
        compare(X, y, **options)


def test_wrong_supervision():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InputError, match="150 samples, but 149"):
        compare(X, y[1:])
    with pytest.raises(InputError, match="pass it as supervision="):
        compare(X, Supervision.from_labels(y))
    both = Supervision.from_labels(y) | Supervision.from_targets(X[:, 0])
    with pytest.raises(InputError, match="both class labels and a continuous target"):
        compare(X, supervision=both)


def test_wrong_values_are_named():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.iloc[3, 1] = np.inf
    with pytest.raises(InputError, match="1 inf or -inf in column 'sepal width"):
        compare(X, y)


def test_missing_values_are_the_same_in_every_container():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.iloc[:, 0] = np.where(np.arange(150) % 5 < 3, np.nan, 1.2 * X.iloc[:, 0])
    by_array, by_nullable = (
        quick(table, y, methods=["auto", "fisher", "variance"], sizes=[1, 3])
        for table in (X.to_numpy(), X.convert_dtypes())
    )
    assert_array_equal(by_array.orders, by_nullable.orders)
    assert_array_equal(by_array.agreement, by_nullable.agreement)
    # With medians in place of the missing values, columns 0 and 3 would change places.
    assert_array_equal(np.argsort(-np.nanvar(X.to_numpy(), axis=0)), [2, 0, 3, 1])
    assert_array_equal(by_array.orders[2], [2, 0, 3, 1])


# Containers and shapes


@pytest.mark.slow
def test_names_of_a_frame_or_given():
    X, y = load_iris(return_X_y=True, as_frame=True)
    assert quick(X, y, methods="fisher").best("fisher", 1) == ["petal length (cm)"]
    assert quick(X.to_numpy(), y, methods="fisher", feature_names=list("abcd")).best(
        "fisher", 1
    ) == ["c"]


def test_sparse_tables_give_the_same():
    random = np.random.default_rng(0)
    X, y = classes_and_noise(40)
    X = X * (random.random(X.shape) < 0.7)
    dense, sparse = (
        quick(table, y, methods=["auto", "fisher"], sizes=[1, 3]) for table in (X, sp.csr_array(X))
    )
    assert_array_equal(dense.orders, sparse.orders)
    assert_allclose(dense.agreement, sparse.agreement)


def test_integers_and_one_column():
    y = np.arange(20) % 2
    found = quick((10 * y + np.arange(20) % 3)[:, None], y, methods=["fisher", "variance"])
    assert found.sizes == (1,)
    assert np.isnan(found.agreement).all()  # one column has no order
    json.loads(found.to_json())
    assert found.page_facts()["agreement"] == [[0.0, 0.0], [0.0, 0.0]]
    str(found)


def test_default_sizes():
    assert default_sizes(1) == [1]
    assert default_sizes(4) == [1, 2, 3]
    assert default_sizes(5000) == [1, 2, 3, 5, 10, 20, 50, 100]


# Output


def numbers_in(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for one in value for number in numbers_in(one)]
    return [value] if isinstance(value, float) else []


@pytest.mark.slow
def test_facts_are_plain(wine):
    facts = wine.facts()
    assert json.loads(wine.to_json()) == facts
    assert facts["schema"] == 1
    assert np.isfinite(numbers_in(facts)).all()
    assert [one["method"] for one in facts["rankings"]] == list(wine.methods)
    assert sorted(facts["rankings"][0]["features"]) == sorted(wine.names)
    assert facts["rankings"][1]["features"][:3] == wine.best("fisher", 3)
    assert [one["by_chance"] for one in facts["overlap"]] == [size / 13 for size in wine.sizes]


def test_a_fold_without_a_standard_error_has_none():
    X, y = classes_and_noise(30, n_noise=2)
    found = quick(X, y, methods=["fisher"], sizes=[1], folds=[(np.arange(20), np.arange(20, 30))])
    assert {row["standard_error"] for row in found.to_records()} == {None}
    assert found.page_facts()["curves"][0]["series"][0]["standard_error"] is None
    assert np.isfinite(numbers_in(json.loads(found.to_json()))).all()
    assert "not significantly better" in str(found)


def test_page_facts(wine):
    facts = wine.page_facts()
    assert set(facts) == {"methods", "agreement", "agreement_text", "curves", "text"}
    assert [one["label"] for one in facts["curves"]] == ["1nn", "linear"]
    for figure in facts["curves"]:
        assert set(figure) == {"label", "title", "x_label", "y_label", "note", "series"}
        assert [one["name"] for one in figure["series"]] == [
            *wine.methods,
            "random columns",
            "all columns",
        ]
        for one, selector in zip(figure["series"], wine.evaluation.selectors, strict=True):
            assert one["x"] == list(wine.sizes)
            assert_allclose(
                one["y"], 100 * wine.evaluation.values(selector, figure["label"]).mean(axis=1)
            )
    json.dumps(facts, allow_nan=False)


def test_records_and_frame(wine):
    records = wine.to_records()
    n_sizes, n_methods = len(wine.sizes), len(wine.methods)
    assert len(records) == 2 * (n_sizes * (n_methods + 1) + 1)
    one = next(
        row
        for row in records
        if row["method"] == "fisher" and row["learner"] == "1nn" and row["n_features"] == 5
    )
    values = wine.evaluation.values("fisher", "1nn")[wine.sizes.index(5)]
    assert one["mean"] == pytest.approx(values.mean())
    # Five folds test a fifth of the rows and train on the rest.
    assert one["standard_error"] == pytest.approx(
        values.std(ddof=1) * np.sqrt(1 / 5 + 1 / 4), rel=0.01
    )
    pd.testing.assert_frame_equal(wine.to_frame(), pd.DataFrame(records))


def test_hostile_names_stay_text():
    X, y = classes_and_noise(30, n_noise=1)
    found = quick(X, y, methods=["fisher"], feature_names=["<script>alert(1)</script>", "b"])
    assert "<script>" not in found._repr_html_()


def test_plot(wine):
    axes = wine.plot()
    assert len(axes) == 2
    assert [line.get_label() for line in axes[0].get_lines()][: len(wine.methods)] == list(
        wine.methods
    )


@pytest.mark.slow
def test_a_wide_table():
    X, y = lookalikes.load("genes")
    found = compare(X, y, methods=["auto", "fisher", "variance"], sizes=[5, 20], learners="linear")
    judged = Judged(found.evaluation, "linear")
    assert judged.mean("auto") > judged.mean("random")
    assert found.overlap.shape == (2, 3, 3)


def test_significance_uses_the_t_quantile_of_the_number_of_folds():
    """With five folds, a 95 % interval is 2.776 standard errors wide on each side, not 2."""

    class Folds(Judged):
        def __init__(self, gains):
            self.gains = np.array(gains)

        def values(self, name, place=None):
            return self.gains

        def gain(self, name, to, place=None):
            return float(self.gains.mean()), standard_error(self.gains)

    spread = np.array([-1.0, -1.0, 0.0, 1.0, 1.0])  # its standard error is √(1/5)
    assert not Folds(spread + 2.7 * np.sqrt(1 / 5)).is_better("a", "b")
    assert Folds(spread + 2.8 * np.sqrt(1 / 5)).is_better("a", "b")
    assert not Folds([1.0]).is_better("a", "b")

"""Evaluation, comparison, stability and p-values of categories and groups of columns."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from graphsieve import GraphSieve, InputError
from graphsieve.assess import (
    compare,
    evaluate,
    evaluate_clustering,
    feature_p_values,
    score_prefixes,
    stability,
)
from graphsieve.assess.evaluation.learners import LEARNERS, scaled_alike
from graphsieve.assess.resampling.duplicates import near_duplicates
from graphsieve.table.any_table import as_table
from graphsieve.table.columns import MemoryTable
from graphsieve.table.features import Features


def credit(n=90, seed=0):
    """A table with two informative categories, a copy of one of them, and noise."""
    random = np.random.default_rng(seed)
    y = random.integers(3, size=n)
    job = np.where(random.random(n) < 0.8, y, random.integers(3, size=n))
    frame = pd.DataFrame(
        {
            "age": random.normal(size=n) + (y == 1),
            "job": np.array(["clerk", "nurse", "pilot"])[job],
            "town": random.choice(list("abcde"), size=n),
            "income": random.normal(size=n),
            "work": np.array(["z", "y", "x"])[job],
            "rooms": random.normal(size=n),
        }
    )
    return frame, y


def one_hot(frame):
    """Return the columns of a frame with text, and the columns of each of its features."""
    parts = [
        pd.get_dummies(frame[name]).to_numpy(float)
        if frame[name].dtype == object
        else frame[[name]].to_numpy(float)
        for name in frame
    ]
    ends = np.cumsum([part.shape[1] for part in parts])
    return np.hstack(parts), [
        np.arange(end - part.shape[1], end) for part, end in zip(parts, ends, strict=True)
    ]


# --- Evaluation
# --------------------------------------------------------------------------------------------------


def test_a_learner_receives_all_columns_of_the_selected_features():
    frame, y = credit()
    columns, members = one_hot(frame)
    order, train, test = [1, 2, 0], np.arange(60), np.arange(60, 90)
    for size in (1, 2, 3):
        chosen = np.concatenate([members[j] for j in order[:size]])
        model = KNeighborsClassifier(3).fit(columns[train][:, chosen], y[train])
        expected = model.score(columns[test][:, chosen], y[test])
        found = score_prefixes(
            order,
            frame[:60],
            y[:60],
            frame[60:],
            y[60:],
            sizes=[size],
            learner=KNeighborsClassifier(3),
        )
        assert found == pytest.approx(expected)


@given(st.integers(0, 1000))
@settings(max_examples=20)
def test_scaled_features_count_as_much_as_single_columns(seed):
    random = np.random.default_rng(seed)
    codes = random.integers(4, size=30)
    codes[:4] = np.arange(4)
    X = np.hstack([random.normal(size=(30, 1)), np.eye(4)[codes], random.normal(size=(30, 3))])
    features = Features.of_sizes([1, 4, 3], [False, True, False])
    scaled, other = scaled_alike(features, X, X[:5])
    assert features.sums(scaled.var(axis=0)) == pytest.approx(np.ones(3))
    np.testing.assert_allclose(other, scaled[:5])
    # The distances between different levels are equal, as they are between indicators.
    levels = np.unique(scaled[:, 1:5], axis=0)
    distances = ((levels[:, None] - levels) ** 2).sum(axis=-1)[~np.eye(4, dtype=bool)]
    assert distances == pytest.approx(np.full(12, distances[0]))


def test_a_level_that_is_absent_from_the_training_rows_does_no_harm():
    frame, y = credit(60)
    frame.loc[:5, "town"] = "only here"
    folds = [(np.arange(6, 60), np.arange(6))]
    found = evaluate("auto", frame, y, sizes=[6], folds=folds, learners=list(LEARNERS))
    assert np.isfinite(found.values("auto", learner="1nn")).all()
    order = np.arange(6)
    together = score_prefixes(
        order, frame[6:], y[6:], frame[:6], y[:6], sizes=[6], learner="linear"
    )
    assert found.values("auto", learner="linear") == pytest.approx(together[:, None])


def test_sizes_count_features_and_all_means_all_features():
    frame, y = credit()
    found = evaluate(["auto", "fisher"], frame, y, sizes=[1, 6], learners="linear", folds=3)
    assert found.n_features == 6
    np.testing.assert_allclose(found.values("auto")[1], found.values("all")[0])
    with pytest.raises(InputError, match="there are 6 features"):
        evaluate("auto", frame, y, sizes=[7])


def test_selectors_see_the_features_of_the_training_rows():
    frame, y = credit()
    found = evaluate("fisher", frame, y, sizes=[3], learners="1nn", folds=3)
    for selection in found.selections:
        if selection.selector == "fisher":
            train = _training_rows(y, 3, selection.fold)
            sieve = GraphSieve("fisher").fit(frame.iloc[train], y[train])
            assert list(selection.features) == np.argsort(sieve.ranking_)[:3].tolist()


def _training_rows(y, folds, fold):
    parts = RepeatedStratifiedKFold(n_splits=folds, n_repeats=1, random_state=0)
    return list(parts.split(y, y))[fold][0]


def test_other_estimators_and_functions_rank_columns():
    """A feature has the place of its best column."""
    frame, y = credit()
    columns, members = one_hot(frame)

    def by_test(X, y):
        return np.argsort(-f_classif(X, y)[0], kind="stable")

    found = evaluate(
        {"estimator": SelectKBest(f_classif), "function": by_test},
        frame,
        y,
        sizes=[3],
        learners="1nn",
        folds=3,
    )
    for selection in found.selections:
        if selection.selector == "random":
            continue
        train = _training_rows(y, 3, selection.fold)
        best = f_classif(columns[train], y[train])[0]
        of_features = np.array([best[some].max() for some in members])
        assert list(selection.features) == np.argsort(-of_features, kind="stable")[:3].tolist()


def test_groups_of_columns_are_evaluated_together():
    frame, y = credit()
    groups = {"numbers": ["age", "income", "rooms"]}
    found = evaluate(
        "fisher", frame, y, sizes=[1, 4], learners="linear", folds=3, feature_groups=groups
    )
    assert found.n_features == 4
    everything = evaluate("fisher", frame, y, sizes=[6], learners="linear", folds=3)
    assert found.values("fisher").shape == (2, 3)
    assert np.abs(found.values("all") - everything.values("all")).max() < 0.2


def test_a_setting_of_the_table_is_refused_in_a_selector():
    frame, y = credit()
    with pytest.raises(InputError, match="feature_groups is a property of the table"):
        evaluate(GraphSieve(feature_groups={"a": ["age", "rooms"]}), frame, y, sizes=[2])


def test_numbers_can_be_categories():
    frame, y = credit()
    coded = frame.assign(job=pd.Categorical(frame["job"]).codes).drop(columns=["town", "work"])
    named = evaluate("fisher", coded, y, sizes=[1], learners="1nn", categorical=["job"])
    text = evaluate("fisher", frame.drop(columns=["town", "work"]), y, sizes=[1], learners="1nn")
    np.testing.assert_array_equal(named.values("fisher"), text.values("fisher"))


def test_clusters_of_standardised_features():
    frame, y = credit()
    found = evaluate_clustering("laplacian", frame, y, sizes=[1, 6], repeats=2, standardize=True)
    np.testing.assert_allclose(found.values("laplacian")[1], found.values("all")[0])


def test_comparison_of_methods_on_categories():
    frame, y = credit()
    found = compare(frame, y, methods=["auto", "fisher"], sizes=[1, 2], learners="1nn", folds=3)
    assert found.names == tuple(frame)
    assert sorted(found.best("fisher", 2)) == ["job", "work"]
    for name in ("auto", "fisher"):
        sieve = GraphSieve(name, n_features_to_select=2).fit(frame, y)
        np.testing.assert_array_equal(
            found.orders[found.methods.index(name)], np.argsort(sieve.ranking_)
        )


# --- Stability
# --------------------------------------------------------------------------------------------------


def test_stability_counts_features():
    frame, y = credit()
    found = stability("fisher", frame, y, n_features_to_select=2, n_resamples=6)
    assert found.names == tuple(frame)
    assert found.chosen.sum(axis=1).tolist() == [2] * 6
    # The copy with other levels and its original are interchangeable.
    assert ("job", "work") in [tuple(sorted(group.names)) for group in found.groups]


def test_a_category_is_selected_if_one_of_its_columns_is():
    frame, y = credit()
    columns, members = one_hot(frame)
    found = stability(SelectKBest(f_classif, k=2), frame, y, n_resamples=4)
    best = np.argsort(-f_classif(columns, y)[0], kind="stable")[:2]
    expected = [bool(set(some) & set(best)) for some in members]
    assert found.selected.tolist() == expected


def test_near_duplicates_explain_each_other():
    random = np.random.default_rng(0)
    codes = random.integers(3, size=60)
    X = np.hstack(
        [
            np.eye(3)[codes],
            np.eye(3)[(codes + 1) % 3],
            (codes == 0).astype(float)[:, None],  # explained by the category, but not vice versa
            random.normal(size=(60, 1)),
        ]
    )
    table = MemoryTable(X).grouped(
        Features.of_sizes([3, 3, 1, 1], [True, True, False, False]), tuple("abcd")
    )
    assert [group.tolist() for group in near_duplicates(table, np.arange(4))] == [[0, 1], [2], [3]]


# --- p-values
# --------------------------------------------------------------------------------------------------


def worse_or_equal(statistics, observed):
    return np.mean(np.array(statistics) <= observed + 1e-9)


def within_share(columns, y):
    """Return the share of the squared deviations within the classes, over all columns."""
    within = sum(((columns[y == c] - columns[y == c].mean(axis=0)) ** 2).sum() for c in set(y))
    return within / ((columns - columns.mean(axis=0)) ** 2).sum()


@given(st.integers(0, 10_000))
@settings(max_examples=4, deadline=None)
def test_all_orders_of_a_small_category(seed):
    random = np.random.default_rng(seed)
    level = np.array([0, 1, 2, 0, 1, 2, 2])[random.permutation(7)]
    y = np.array([0, 0, 0, 1, 1, 1, 1])
    frame = pd.DataFrame({"level": np.array(list("abc"))[level]})
    found = feature_p_values(frame, y, groups=np.arange(7), method="fisher")
    columns = np.eye(3)[level]
    every = [within_share(columns[list(order)], y) for order in permutations(range(7))]
    assert found.p_values[0] == pytest.approx(worse_or_equal(every, within_share(columns, y)))


def test_the_multiple_correlation_of_a_group():
    random = np.random.default_rng(3)
    X, y = random.normal(size=(7, 3)), random.normal(size=7)
    found = feature_p_values(X, y, method="pearson", feature_groups={"both": [0, 2]})
    centered = X[:, [0, 2]] - X[:, [0, 2]].mean(axis=0)
    basis = np.linalg.qr(centered)[0]
    every = [-float(((basis.T @ y[list(order)]) ** 2).sum()) for order in permutations(range(7))]
    assert found.p_values[0] == pytest.approx(worse_or_equal(every, every[0]))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fisher", "weighted_laplacian", "supervised_laplacian"])
def test_counted_p_values_are_close_to_brute_force(method):
    random = np.random.default_rng(5)
    y = random.normal(size=60) if method == "supervised_laplacian" else random.integers(2, size=60)
    level = np.where(random.random(60) < 0.25, (y > 0) * 1, random.integers(3, size=60))
    frame = pd.DataFrame({"level": np.array(list("abc"))[level], "noise": random.normal(size=60)})
    kind = "continuous" if method == "supervised_laplacian" else "classes"
    found = feature_p_values(
        frame, y, method=method, groups=np.arange(60), target_type=kind, n_permutations=2000
    )

    def score(order):
        sieve = GraphSieve(method, scale=None, target_type=kind)
        if method == "supervised_laplacian":  # the number of neighbours of the test
            sieve.set_params(n_neighbors=30)
        return sieve.fit(frame.iloc[order].reset_index(drop=True), y).scores_[0]

    sign = -1 if method == "fisher" else 1
    every = [sign * score(random.permutation(60)) for _ in range(300)]
    share = worse_or_equal(every, sign * score(np.arange(60)))
    assert found.p_values[0] == pytest.approx(
        share, abs=4 * np.sqrt(share * (1 - share) / 300) + 0.01
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fisher", "supervised_laplacian", "pearson", "laplacian"])
def test_p_values_of_noise_are_uniform(method):
    random = np.random.default_rng(2)
    n, p = 100, 80
    frame = pd.DataFrame(
        {f"c{j}": np.array(list("abcd"))[random.integers(4, size=n)] for j in range(p)}
    )
    y = random.integers(2, size=n) if method == "fisher" else random.normal(size=n)
    known = None if method == "laplacian" else y
    found = feature_p_values(frame, known, method=method, groups=np.arange(n), n_permutations=999)
    assert kstest(found.p_values, "uniform").pvalue > 0.01


def test_the_order_of_rows_levels_and_columns_does_not_matter():
    frame, y = credit(60, seed=4)
    found = feature_p_values(frame, y, groups=np.arange(60)).p_values
    other = np.random.default_rng(0).permutation(60)
    renamed = frame.replace({"town": dict(zip("abcde", "qrstu"[::-1], strict=True))})
    again = feature_p_values(renamed.iloc[other], y[other], groups=np.arange(60)).p_values
    np.testing.assert_allclose(again, found)


def test_groups_keep_their_features_when_samples_are_averaged():
    frame, y = credit(60)
    twice = pd.concat([frame, frame], ignore_index=True)
    subjects = np.tile(np.arange(60), 2)
    found = feature_p_values(twice, np.tile(y, 2), groups=subjects)
    np.testing.assert_allclose(
        found.p_values, feature_p_values(frame, y, groups=np.arange(60)).p_values
    )


def test_a_table_is_read_as_it_is():
    frame, _ = credit()
    table = as_table(frame)
    assert as_table(table) is table

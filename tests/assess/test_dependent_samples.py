"""Copies and repeated measurements stay on one side of every split, and count once in tests."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from graphsieve import (
    GraphSieveWarning,
    InputError,
    Supervision,
    compare,
    evaluate,
    feature_p_values,
    stability,
)
from graphsieve.assess.evaluation.folds import make_splits
from graphsieve.assess.resampling.drawing import drawn_groups

COPIES = pytest.warns(GraphSieveWarning, match="samples are copies of other samples")


def noise(n, p, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(n, p)), random.permutation(np.arange(n) % 2)


@pytest.mark.filterwarnings("ignore:.*classes have fewer members")
@given(
    groups=st.lists(st.integers(0, 9), min_size=30, max_size=60),
    folds=st.integers(2, 3),
    targets=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_folds_never_divide_a_group(groups, folds, targets, seed):
    random = np.random.default_rng(seed)
    together = np.array(groups)
    if targets:
        y = np.where(random.random(len(groups)) < 0.8, random.normal(size=len(groups)), np.nan)
        known = ~np.isnan(y)
    else:
        y = np.where(random.random(len(groups)) < 0.9, random.integers(0, 2, len(groups)), -1)
        known = y >= 0
    try:
        splits = make_splits(folds, y, repeats=2, seed=seed, groups=together)
    except InputError as error:
        assert "folds must be an integer from 2" in str(error)  # noqa: PT017
        return
    for split in splits:
        assert not set(together[split.train]) & set(together[split.test])
        assert known[split.test].all()
    for repeat in range(2):
        tested = np.concatenate([split.test for split in splits if split.repeat == repeat])
        assert sorted(tested) == np.flatnonzero(known).tolist()


@given(seed=st.integers(0, 1000), targets=st.booleans())
def test_folds_of_single_samples_are_those_without_groups(seed, targets):
    random = np.random.default_rng(seed)
    y = random.normal(size=30) if targets else random.integers(-1, 2, 30)
    try:
        expected = make_splits(3, y, repeats=2, seed=seed)
    except InputError:
        return
    found = make_splits(3, y, repeats=2, seed=seed, groups=random.permutation(30))
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one.train, other.train)
        np.testing.assert_array_equal(one.test, other.test)


@pytest.mark.parametrize("selector", ["auto", "fisher"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_noise_with_copies_cannot_be_predicted(selector, form):
    X, y = noise(40, 30)
    X, y = np.tile(X, (3, 1)), np.tile(y, 3)
    with COPIES:
        found = evaluate(selector, form(X), y, sizes=[5], learners="1nn", repeats=2)
    for name in (selector, "random", "all"):
        assert found.values(name).mean() < 0.75
    alone = evaluate(selector, X, y, sizes=[5], learners="1nn", groups=np.arange(120))
    assert alone.values(selector).mean() > 0.9  # The user says that no sample is a copy.


def test_subjects_stay_together_in_evaluate_and_compare():
    random = np.random.default_rng(0)
    subject = np.repeat(np.arange(24), 5)
    X = random.normal(size=(24, 15))[subject] + 0.05 * random.normal(size=(120, 15))
    y = (np.arange(24) % 2)[subject]
    apart = evaluate("fisher", X, y, sizes=[5], learners="1nn")
    together = evaluate("fisher", X, y, sizes=[5], learners="1nn", groups=subject)
    assert apart.values("fisher").mean() > 0.95
    assert together.values("fisher").mean() < 0.75
    found = compare(X, y, methods=["auto", "fisher"], sizes=[5], learners="1nn", groups=subject)
    for name in ("auto", "fisher"):
        assert found.evaluation.values(name).mean() < 0.75


@pytest.mark.parametrize("pairs", [False, True])
def test_compare_keeps_copies_together(pairs):
    X, y = noise(30, 20)
    rows = np.tile(np.arange(30), 2)
    further = Supervision.from_pairs(60, must_link=[np.flatnonzero(y == 0)[:2]]) if pairs else None
    with COPIES:
        found = compare(
            X[rows], y[rows], supervision=further, methods=["auto"], sizes=[5], learners="1nn"
        )
    assert found.evaluation.values("auto").mean() < 0.75


def test_compare_has_as_many_folds_as_subjects_allow():
    random = np.random.default_rng(0)
    subject = np.repeat(np.arange(6), 10)
    X, y = random.normal(size=(60, 5)), (np.arange(6) % 2)[subject]
    found = compare(X, y, methods=["fisher"], sizes=[2], learners="1nn", groups=subject)
    assert found.evaluation.folds == 3


def test_given_folds_that_divide_a_group():
    X, y = noise(20, 10)
    halves = [(np.arange(10), np.arange(10, 20)), (np.arange(10, 20), np.arange(10))]
    with pytest.raises(InputError, match="row 0 in the training set and row 10 in the test set"):
        evaluate("fisher", X, y, sizes=[2], folds=halves, groups=np.tile(np.arange(10), 2))
    X[10:] = X[:10]
    with (
        pytest.warns(GraphSieveWarning, match="are copies, so the result is too optimistic"),
        COPIES,
    ):
        evaluate("fisher", X, y, sizes=[2], folds=halves, learners="1nn")


@given(seed=st.integers(0, 1000), kind=st.sampled_from(["labels", "targets", "pairs", "nothing"]))
def test_resamples_contain_whole_groups(seed, kind):
    random = np.random.default_rng(seed)
    groups = random.integers(0, 20, 60)
    groups[:20] = np.arange(20)
    known = {
        "labels": Supervision.from_labels((groups % 2).astype(int)),
        "targets": Supervision.from_targets(random.normal(size=60)),
        "pairs": Supervision.from_pairs(60, must_link=[(0, 2)], cannot_link=[(1, 4)]),
        "nothing": Supervision.nothing(60),
    }[kind] | Supervision.from_groups(groups)
    rows = drawn_groups(known, 10, np.random.default_rng(seed))
    drawn = np.unique(groups[rows])
    assert rows.tolist() == np.flatnonzero(np.isin(groups, drawn)).tolist()
    assert 10 <= len(drawn) <= 13
    if kind == "pairs":
        assert len(known[rows].must_link) >= 1


def test_copies_do_not_make_a_selection_stable():
    X, y = noise(30, 40)
    alone = stability("fisher", X, y, n_features_to_select=4, n_resamples=20)
    with COPIES:
        copied = stability(
            "fisher", np.tile(X, (6, 1)), np.tile(y, 6), n_features_to_select=4, n_resamples=20
        )
    subjects = stability(
        "fisher",
        np.tile(X, (6, 1)),
        np.tile(y, 6),
        n_features_to_select=4,
        n_resamples=20,
        groups=np.tile(np.arange(30), 6),
    )
    assert copied.index == subjects.index == alone.index


CASES = ("labels", "targets", "probabilities", "pairs", "nothing")


@settings(max_examples=8)
@given(kind=st.sampled_from(CASES), times=st.integers(2, 4), seed=st.integers(0, 1000))
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_p_values_of_a_table_with_copies_are_those_without(form, kind, times, seed):
    X, y = noise(16, 6, seed)
    random = np.random.default_rng(seed)
    first = np.where(y == 0, 0.8, 0.3)
    known = {
        "labels": Supervision.from_labels(y),
        "targets": Supervision.from_targets(random.normal(size=16)),
        "probabilities": Supervision.from_probabilities(np.stack([first, 1 - first], axis=1)),
        "pairs": Supervision.from_pairs(
            16, must_link=[(0, 1), (2, 3), (4, 5)], cannot_link=[(0, 6), (7, 8), (9, 10)]
        ),
        "nothing": Supervision.nothing(16),
    }[kind]
    rows = np.tile(np.arange(16), times)
    expected = feature_p_values(form(X), supervision=known, n_permutations=99)
    with COPIES:
        found = feature_p_values(form(X[rows]), supervision=known[rows], n_permutations=99)
    np.testing.assert_allclose(found.p_values, expected.p_values)
    np.testing.assert_allclose(found.scores, expected.scores)


def test_noise_with_copies_has_no_significant_feature():
    total = 0
    for seed in range(5):
        X, y = noise(16, 60, seed)
        with COPIES:
            found = feature_p_values(np.repeat(X, 4, 0), np.repeat(y, 4), n_permutations=999)
        total += int(found.selected(0.05).sum())
    assert total <= 3


def test_subjects_are_tested_by_their_means():
    random = np.random.default_rng(0)
    subject, X = np.repeat(np.arange(20), 3), random.normal(size=(60, 5))
    y = np.arange(20) % 2
    found = feature_p_values(X, y[subject], groups=subject, n_permutations=199)
    expected = feature_p_values(X.reshape(20, 3, 5).mean(axis=1), y, n_permutations=199)
    np.testing.assert_allclose(found.p_values, expected.p_values)
    with pytest.raises(InputError, match="groups has a single group"):
        feature_p_values(X, random.normal(size=60), groups=np.zeros(60))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("shuffled", [False, True])
def test_subjects_with_every_class_are_compared(n_classes, shuffled):
    """One measurement of each subject under each condition."""
    random = np.random.default_rng(0)
    subject = np.repeat(np.arange(10), n_classes)
    y = np.tile(np.arange(n_classes), 10)
    if shuffled:
        order = random.permutation(len(y))
        subject, y = subject[order], y[order]
    X = random.normal(size=(len(y), 4))
    X[:, 0] += 3 * y
    found = compare(X, y, methods=["fisher"], sizes=[1], groups=subject)
    assert found.notes == ()
    assert found.evaluation.values("fisher", learner="1nn").shape == (1, 5)
    assert found.evaluation.values("fisher", learner="1nn").mean() > 0.6
    with pytest.raises(InputError, match="from 2 to the 10 labelled groups, got 11"):
        evaluate("fisher", X, y, sizes=[1], learners="1nn", folds=11, groups=subject)


def test_messages_count_groups():
    X, y = noise(40, 4)
    few = np.arange(40) % 4
    with pytest.raises(InputError, match="from 2 to the 3 groups of the largest class, got 5"):
        evaluate("fisher", X, few // 3, sizes=[1], learners="1nn", groups=few)
    found = compare(X, X[:, 0] + X[:, 1], methods=["auto"], groups=few)
    assert "only 4 independent target values are known" in found.notes[0]
    found = compare(X, y, methods=["auto"], groups=np.zeros(40))
    assert "fewer than 2 classes have at least 2 independent known members" in found.notes[0]


@pytest.mark.parametrize("n_groups", [1, 2])
def test_resamples_of_too_few_groups_are_refused(n_groups):
    """All resamples would be the whole table."""
    X, y = noise(40, 4)
    groups = np.arange(40) % n_groups
    with pytest.raises(InputError, match="resamples need at least 3 groups"):
        stability("fisher", X, y, groups=groups, n_features_to_select=2, n_resamples=3)

"""Copies and repeated measurements count once in the default search and in the count."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from graphsieve import GraphSieve, GraphSieveWarning, InputError, Supervision, rank
from graphsieve.search.prediction import predicted
from graphsieve.search.relevant import relevant_columns
from graphsieve.supervision.groups import Units
from graphsieve.table.columns import MemoryTable

COPIES = pytest.warns(GraphSieveWarning, match="samples are copies of other samples")
KINDS = ("labels", "targets", "probabilities")


def known_of(kind, random, n):
    if kind == "targets":
        return Supervision.from_targets(random.normal(size=n))
    labels = random.permutation(np.arange(n) % 2)
    if kind == "labels":
        return Supervision.from_labels(labels)
    first = np.where(labels == 0, 0.8, 0.3)
    return Supervision.from_probabilities(np.stack([first, 1 - first], axis=1))


@settings(max_examples=12)
@given(
    kind=st.sampled_from(KINDS),
    times=st.integers(2, 4),
    seed=st.integers(0, 2**20),
    each=st.booleans(),
)
def test_a_table_with_copies_is_predicted_and_tested_as_without_them(kind, times, seed, each):
    random = np.random.default_rng(seed)
    X, known = random.normal(size=(24, 30)), known_of(kind, random, 24)
    rows = np.repeat(np.arange(24), times) if each else np.tile(np.arange(24), times)
    alone = GraphSieve(n_features_to_select=6).fit(X, supervision=known)
    with COPIES:
        copied = GraphSieve(n_features_to_select=6).fit(X[rows], supervision=known[rows])
    assert copied.skill_ == pytest.approx(alone.skill_, abs=1e-9)
    assert copied.get_support().tolist() == alone.get_support().tolist()
    with_groups = known[rows] | Supervision.from_groups(rows)
    one = relevant_columns(MemoryTable(X), known)
    other = relevant_columns(MemoryTable(X[rows]), with_groups)
    np.testing.assert_allclose(other.p_values, one.p_values, rtol=1e-9)
    assert other.mask.tolist() == one.mask.tolist()


@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
@pytest.mark.parametrize("seed", range(6))
def test_noise_with_copies_has_no_skill_and_no_relevant_columns(seed):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(16, 60)), random.permutation(np.arange(16) % 2)
    with COPIES:
        sieve = GraphSieve(n_features_to_select="auto").fit(np.repeat(X, 4, 0), np.repeat(y, 4))
    assert sieve.skill_ < 0.6
    assert sieve.count_.n <= 2


@pytest.mark.parametrize("seed", range(3))
def test_a_stacked_table_gives_the_same_columns(seed):
    X, y = load_breast_cancer(return_X_y=True)
    random = np.random.default_rng(seed)
    rows = random.choice(len(X), 300, replace=False)
    X, y = X[rows], np.where(np.isin(np.arange(300), random.choice(300, 20)), y[rows], -1)
    alone = GraphSieve(n_features_to_select=5).fit(X, y)
    with COPIES:
        stacked = GraphSieve(n_features_to_select=5).fit(np.vstack([X, X]), np.hstack([y, y]))
    assert stacked.get_support().tolist() == alone.get_support().tolist()
    assert stacked.skill_ == pytest.approx(alone.skill_)


@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
@settings(max_examples=8)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**20))
def test_groups_of_single_samples_change_nothing(kind, seed):
    random = np.random.default_rng(seed)
    X, known = random.normal(size=(30, 8)), known_of(kind, random, 30)
    own = random.permutation(30)
    for number in ("auto", 3):
        one = GraphSieve(n_features_to_select=number).fit(X, supervision=known)
        other = GraphSieve(n_features_to_select=number).fit(X, supervision=known, groups=own)
        assert one.skill_ == other.skill_
        np.testing.assert_array_equal(one.scores_, other.scores_)
        assert one.get_support().tolist() == other.get_support().tolist()


@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
@pytest.mark.parametrize("kind", ["labels", "targets"])
def test_repeated_measurements_of_a_few_subjects_are_no_evidence(kind):
    """Each subject has its own level in each column, which has nothing to do with the label."""
    skills, counts = [], []
    for seed in range(8):
        random = np.random.default_rng(seed)
        subject = np.repeat(np.arange(12), 8)
        X = random.normal(size=(12, 40))[subject] + 0.1 * random.normal(size=(96, 40))
        y = random.permutation(np.arange(12) % 2) if kind == "labels" else random.normal(size=12)
        alone = GraphSieve(n_features_to_select="auto").fit(X, y[subject])
        sieve = GraphSieve(n_features_to_select="auto").fit(X, y[subject], groups=subject)
        assert alone.skill_ > 0.9
        assert alone.count_.n > 5
        skills.append(sieve.skill_)
        counts.append(relevant_columns(MemoryTable(X), known_with(y, subject)).rule)
    assert np.mean(skills) < 0.4
    assert counts.count("relevance") <= 1


def known_with(y, subject):
    return Supervision.from_y(y[subject]) | Supervision.from_groups(subject)


def test_groups_with_an_effect_are_found():
    random = np.random.default_rng(0)
    subject = np.repeat(np.arange(30), 4)
    y = np.arange(30) % 2
    X = random.normal(size=(120, 20))
    X[:, 3] += 3 * y[subject]
    sieve = GraphSieve(n_features_to_select="auto").fit(X, y[subject], groups=subject)
    assert np.flatnonzero(sieve.get_support()).tolist() == [3]
    assert sieve.skill_ > 0.8


def test_the_prediction_of_units_is_that_of_their_means():
    random = np.random.default_rng(1)
    subject, X = np.repeat(np.arange(20), 3), random.normal(size=(60, 7))
    y = random.normal(size=20)
    known = Supervision.from_targets(y[subject]) | Supervision.from_groups(subject)
    means = X.reshape(20, 3, 7).mean(axis=1)
    found = predicted(MemoryTable(X), known)
    expected = predicted(MemoryTable(means), Supervision.from_targets(y))
    assert found.skill == pytest.approx(expected.skill)
    np.testing.assert_allclose(
        found.values.reshape(20, 3, 1).mean(axis=1), expected.values, atol=1e-9
    )


@given(
    owner=st.lists(st.integers(0, 5), min_size=1, max_size=30),
    power=st.sampled_from([-300, 0, 1022]),
)
def test_means_of_units(owner, power):
    groups = np.array(owner)
    values = np.ldexp(np.random.default_rng(0).normal(size=(len(owner), 2)).clip(-1, 1), power)
    units = Units.of(np.arange(len(owner)), groups, np.zeros(len(owner), dtype=int))
    order = list(dict.fromkeys(owner))
    expected = [np.ldexp(np.ldexp(values[groups == g], -power).mean(axis=0), power) for g in order]
    np.testing.assert_allclose(units.means(values), expected, rtol=1e-12, atol=2.0 ** (power - 45))
    equal = units.means(values[:1].repeat(len(owner), axis=0))
    np.testing.assert_array_equal(equal, values[:1].repeat(units.n, axis=0))
    assert units.representatives.tolist() == [owner.index(g) for g in order]
    some = np.arange(units.n)[::-2]
    np.testing.assert_array_equal(
        units.take(some).means(values[units.take(some).rows]), units.means(values)[some]
    )


def test_samples_of_a_group_with_different_labels_stay_apart():
    known = Supervision.from_labels([0, 1, 0, 1]) | Supervision.from_groups(["a", "a", "a", "b"])
    assert known.units().owner.tolist() == [0, 1, 0, 2]
    assert known.n_independent == 2
    assert known[[0, 3]].units().owner is None


def test_groups_are_joined_sliced_and_refused():
    known = Supervision.from_groups(["x", "y", "x"])
    assert known.kinds == ()
    assert (Supervision.from_labels([0, 1, 1]) | known)[[2, 0]].groups.tolist() == [0, 0]
    with pytest.raises(InputError, match="have groups; keep one of them"):
        known | known
    with pytest.raises(
        InputError, match="groups must have an entry for every sample, but sample 1"
    ):
        Supervision.from_groups(["x", None, "x"])
    X, y = np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 2
    with pytest.raises(InputError, match="12 samples, but 5 are described"):
        GraphSieve().fit(X, y, groups=np.arange(5))
    with pytest.raises(InputError, match="leave it out, or use n_features_to_select='auto'"):
        GraphSieve("fisher", n_features_to_select=1).fit(X, y, groups=np.arange(12))
    with pytest.raises(InputError, match="groups applies to tests and predictions"):
        rank(X, y, method="iterative", groups=np.arange(12))


def test_scikit_learn_slices_groups_with_the_rows():
    random = np.random.default_rng(0)
    subject = np.repeat(np.arange(20), 3)
    X, y = random.normal(size=(60, 6)), (np.arange(20) % 2)[subject]
    pipeline = make_pipeline(GraphSieve(n_features_to_select=2), LogisticRegression())
    scores = cross_val_score(
        pipeline, X, y, cv=3, params={"graphsieve__groups": subject}, error_score="raise"
    )
    assert len(scores) == 3
    with pytest.raises(InputError, match="are described by y, supervision or groups"):
        cross_val_score(
            pipeline, X, y, cv=3, params={"graphsieve__groups": subject[:7]}, error_score="raise"
        )


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_a_single_group_is_ranked(kind):
    random = np.random.default_rng(0)
    known = known_of(kind, random, 20) | Supervision.from_groups(np.zeros(20))
    found = GraphSieve(n_features_to_select=2).fit(random.normal(size=(20, 4)), supervision=known)
    assert np.isfinite(found.scores_).all()


def test_a_group_in_two_spellings_raises_a_warning():
    with pytest.warns(GraphSieveWarning, match="groups 'Ann' and 'ann' are two groups, but may be"):
        Supervision.from_groups(["Ann", "ann", "bob"])

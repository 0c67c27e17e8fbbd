"""Samples without class probabilities have no weight in anything that uses probabilities.

Every part is compared with the same part on the known samples only.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from graphsieve import GraphSieve, Supervision, evaluate, feature_p_values, rank, scores, stability
from graphsieve.report.portraits import portray
from graphsieve.search.prediction import predicted
from graphsieve.search.relevance import relevance
from graphsieve.search.relevant import relevant_columns
from graphsieve.table.columns import MemoryTable
from strategies import problems


def with_unknown(proba, known):
    return np.where(known[:, None], proba, np.nan)


@st.composite
def partly_known(draw):
    problem = draw(problems(ties=draw(st.booleans()), min_samples=8))
    n = len(problem.X)
    known = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    known[:4] = True
    return problem.X, problem.probabilities, known


# A drawn feature may be constant. Both sides then have no score.
@pytest.mark.filterwarnings("ignore:.*cannot be scored")
@given(case=partly_known(), class_weight=st.sampled_from([None, "balanced"]))
def test_the_score_equals_the_dense_formula_on_the_known_samples(case, class_weight):
    X, proba, known = case
    found = scores.weighted_laplacian_score(
        X, with_unknown(proba, known), class_weight=class_weight
    )
    expected = oracle.weighted_laplacian_score(X[known], proba[known], class_weight=class_weight)
    assert_allclose(found, expected, rtol=1e-9)


@given(case=partly_known())
def test_relevance_uses_the_known_samples(case):
    X, proba, known = case
    whole = MemoryTable(X), Supervision.from_probabilities(with_unknown(proba, known))
    part = MemoryTable(X[known]), Supervision.from_probabilities(proba[known])
    assert_allclose(relevance(*whole), relevance(*part), rtol=1e-9, atol=1e-12)


def informative(n=60, n_known=40):
    """Return a table whose first feature follows the class, and probabilities of some samples."""
    random = np.random.default_rng(3)
    classes = np.arange(n) % 3
    X = random.normal(size=(n, 6))
    X[:, 0] += 3 * classes
    proba = 0.8 * np.eye(3)[classes] + 0.2 / 3
    known = random.permutation(n) < n_known
    return X, classes, with_unknown(proba, known), known


def test_the_prediction_is_trained_on_the_known_samples():
    X, _, proba, known = informative()
    whole = predicted(MemoryTable(X), Supervision.from_probabilities(proba))
    part = predicted(MemoryTable(X[known]), Supervision.from_probabilities(proba[known]))
    assert whole.skill == pytest.approx(part.skill, abs=1e-12)
    assert_allclose(
        np.ptp(whole.values[known], axis=0), np.ptp(part.values, axis=0), rtol=1e-9
    )  # The values have mean zero over all samples.
    assert len(whole.values) == len(X)
    nothing = np.full_like(proba, np.nan)
    assert predicted(MemoryTable(X), Supervision.from_probabilities(nothing)) is None


def test_counting_uses_the_known_samples():
    X, _, proba, known = informative()
    whole = relevant_columns(MemoryTable(X), Supervision.from_probabilities(proba))
    part = relevant_columns(MemoryTable(X[known]), Supervision.from_probabilities(proba[known]))
    assert_array_equal(whole.mask, [True] + [False] * 5)
    assert (whole.rule, whole.reason) == (part.rule, part.reason)
    few = Supervision.from_probabilities(with_unknown(proba, np.cumsum(known) < 6))
    assert "5 known class probabilities are too few" in relevant_columns(MemoryTable(X), few).reason


def test_p_values_use_the_known_samples():
    X, _, proba, known = informative()
    whole = feature_p_values(X, supervision=Supervision.from_probabilities(proba))
    part = feature_p_values(X[known], supervision=Supervision.from_probabilities(proba[known]))
    assert_allclose(whole.p_values, part.p_values, rtol=1e-9)
    assert_allclose(whole.scores, part.scores, rtol=1e-9)


@pytest.mark.parametrize("redundancy", ["auto", None])
def test_the_default_selects_by_the_known_samples(redundancy):
    X, _, proba, _ = informative()
    sieve = GraphSieve(n_features_to_select=1, redundancy=redundancy).fit(
        X, supervision=Supervision.from_probabilities(proba)
    )
    assert_array_equal(sieve.get_support(indices=True), [0])
    assert sieve.n_labeled_ == 40
    assert "40 of 60 class probabilities are known" in str(sieve)


def test_probabilities_of_no_sample_are_no_supervision():
    X, _, proba, _ = informative()
    nothing = Supervision.from_probabilities(np.full_like(proba, np.nan))
    assert_array_equal(
        GraphSieve().fit(X, supervision=nothing).ranking_, GraphSieve().fit(X).ranking_
    )


def test_folds_and_resamples_keep_the_unlabelled_samples():
    X, y, proba, _ = informative()
    known = Supervision.from_probabilities(proba)
    found = evaluate(
        "weighted_laplacian", X, y, supervision=known, sizes=[1], learners="1nn", random_state=0
    )
    chosen = {one.features for one in found.selections if one.selector == "weighted_laplacian"}
    assert chosen == {(0,)}
    steady = stability("auto", X, supervision=known, n_features_to_select=1, n_resamples=6)
    assert steady.frequency[0] == 1


def test_labels_with_a_confidence_of_one_are_certain():
    X, y, _, known = informative()
    labels = np.where(known, y, -1)
    certain = Supervision.from_labels(labels, confidence=1.0)
    found = GraphSieve("weighted_laplacian").fit(X, supervision=certain).scores_
    assert_allclose(found, GraphSieve("weighted_laplacian").fit(X, labels).scores_, rtol=1e-12)


def test_a_report_shows_unlabelled_samples_apart():
    X, _, proba, known = informative()
    proba[np.flatnonzero(known)[:3]] = 1 / 3
    found = rank(X, supervision=Supervision.from_probabilities(proba))
    assert "40 of 60 class probabilities are known" in found.to_html()
    facts = portray(MemoryTable(X), Supervision.from_probabilities(proba), np.arange(1))
    assert facts["classes"] == ["probably 0", "probably 1", "probably 2", "undecided or unlabelled"]
    counts = np.array(facts["features"][0]["histogram"]["counts"]).sum(axis=1)
    assert counts[-1] == 20 + 3

"""Hybrid selection: the toy example of the paper, single rounds, ties, fixed points and real
tables.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine

import lookalikes
from graphsieve import GraphSieveWarning, HybridSieve, InputError, Supervision
from graphsieve.scores import METHODS, fisher_score
from graphsieve.search import floating_selection, hybrid_selection
from graphsieve.search.hybrid import BASES, most_confident, refine, selecting
from graphsieve.search.propagation import Propagation, harmonic_labels
from graphsieve.table.columns import MemoryTable
from impatient import Impatient

TOY = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [-1, 1, 1, 1], [0, -1, 1, 1]], dtype=float)
TOY_LABELS = ["-", "+", None, None]


def few_labels(y, every=20):
    return np.where(np.arange(len(y)) % every == 0, y, -1)


@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
def test_the_toy_of_the_paper_ends_in_feature_four_alone():
    assert_array_equal(hybrid_selection(TOY, TOY_LABELS, n_features_to_select=1), [3])
    sieve = HybridSieve(n_features_to_select=1, scale=None).fit(
        TOY, np.array(TOY_LABELS, dtype=object)
    )
    assert_array_equal(sieve.get_support(), [False, False, False, True])
    # By the labels alone, features 2 and 4 tie, and both are kept.
    assert_array_equal(sieve.path_[0].graph_features, [1, 3])
    # The classes are "+" and "-". C and D are predicted as "-".
    assert_array_equal(sieve.path_[0].predicted, [1, 1])
    assert_array_equal(sieve.path_[0].features, [3])
    assert sieve.path_[1].confidence > sieve.path_[0].confidence
    assert "no longer changed after 2 rounds" in sieve.reason_
    assert "no longer changed" in repr(sieve)


def plain_rounds(X, y, size, n_iterations, fraction):
    """The algorithm as plain code with public functions. It returns the sets and the confidences."""
    known = y >= 0

    def select(labels):
        with np.errstate(invalid="ignore"):
            scores = fisher_score(X, labels)
        order = sorted(range(X.shape[1]), key=lambda f: (np.isnan(scores[f]), -scores[f], f))
        cut = scores[order[size - 1]]
        return [f for f in order if scores[f] >= cut]

    current, sets, confidences = select(y), [], []
    for _ in range(n_iterations):
        proba = harmonic_labels(X[:, sorted(current)], y)
        c = proba.shape[1]
        confidence = (c * proba.max(axis=1) - 1) / (c - 1)
        unknown = np.flatnonzero(~known)
        place = int(fraction * len(unknown) + 0.5)
        cut = np.sort(confidence[unknown])[::-1][place - 1]
        joined = [i for i in unknown if confidence[i] >= cut]
        labels = y.copy()
        labels[joined] = proba[joined].argmax(axis=1)
        current = select(labels)
        sets.append(current)
        confidences.append(confidence[joined].mean())
    return sets, confidences


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("size", [1, 3])
def test_the_rounds_are_those_of_plain_code(load, size):
    X, y = load(return_X_y=True)
    X, y = X / X.std(axis=0), few_labels(y, 15)
    table, known = MemoryTable(X), Supervision.from_labels(y)
    sets, confidences = plain_rounds(X, y, size, 10, 0.9)
    select = selecting(table, "fisher", size, {})
    path = refine(
        table,
        known,
        select,
        n_iterations=10,
        confident_fraction=0.9,
        n_neighbors=None,
        bandwidth=None,
    )
    for stage, expected, confidence in zip(path.rounds, sets, confidences, strict=False):
        assert_array_equal(stage.features, expected)
        assert_allclose(stage.confidence, confidence, rtol=1e-9)
    # The skipped rounds would repeat earlier ones, so the result is that of all ten rounds.
    assert_array_equal(path.order, sets[int(np.argmax(np.round(confidences, 12)))])
    assert path.order.tolist() == hybrid_selection(X, y, n_features_to_select=size).tolist()


def test_an_early_end_changes_nothing():
    X, y = load_wine(return_X_y=True)
    y = few_labels(y)
    long, short = (HybridSieve(n_features_to_select=3, n_iterations=n).fit(X, y) for n in (50, 10))
    assert len(long.path_) < 50
    assert_array_equal(long.ranking_, short.ranking_)


@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
@pytest.mark.parametrize("base", BASES)
def test_every_base_runs(base):
    X, y = load_wine(return_X_y=True)
    y = few_labels((y > 0).astype(int), 10)
    found = hybrid_selection(
        X / X.std(axis=0), y, n_features_to_select=4, base=base, n_iterations=3
    )
    assert len(found) >= 4
    assert len(set(found)) == len(found)
    sieve = HybridSieve(base, n_features_to_select=4, n_iterations=3).fit(X, y)
    assert sieve.get_support().sum() >= 4
    assert_array_equal(np.sort(sieve.ranking_), np.arange(1, 14))
    assert set(BASES) == {name for name, method in METHODS.items() if "labels" in method.uses} | {
        "floating"
    }


def test_without_unknown_labels_it_is_the_base_alone():
    X, y = load_wine(return_X_y=True)
    sieve = HybridSieve(n_features_to_select=4).fit(X, y)
    assert sieve.path_ == ()
    assert sieve.round_ is None
    expected = np.argsort(-fisher_score(X, y), kind="stable")[:4]
    assert_array_equal(np.flatnonzero(sieve.get_support()), np.sort(expected))
    floating = hybrid_selection(X, y, n_features_to_select=4, base="floating")
    assert_array_equal(floating, floating_selection(X, y, n_features_to_select=4))


def test_ties_at_the_cut_are_kept():
    X, y = load_wine(return_X_y=True)
    best = int(np.nanargmax(fisher_score(X, y)))
    copies = np.column_stack([X, X[:, best], X[:, best]])
    found = hybrid_selection(copies, y, n_features_to_select=1)
    assert_array_equal(found, [best, 13, 14])


def carried(confidence, unreached=None):
    confidence = np.asarray(confidence, dtype=float)
    unreached = (
        np.zeros(len(confidence), dtype=bool) if unreached is None else np.asarray(unreached)
    )
    return Propagation(np.zeros((len(confidence), 2)), confidence, 1.0, None, unreached)


def test_the_most_confident_samples_are_added():
    known = Supervision.from_labels([0, 1, -1, -1, -1, -1, -1])
    # 3 of 5
    assert_array_equal(
        most_confident(known, carried([1, 1, 0.9, 0.1, 0.5, 0.7, 0.3]), 0.6), [2, 4, 5]
    )
    # Ties are added together.
    assert_array_equal(
        most_confident(known, carried([1, 1, 0.9, 0.5, 0.5, 0.5, 0.3]), 0.4), [2, 3, 4, 5]
    )
    # Samples without a most likely class are not added.
    assert_array_equal(most_confident(known, carried([1, 1, 0.9, 0, 0, 0, 0]), 1.0), [2])
    reached = [False, False, True, False, False, False, False]
    assert_array_equal(
        most_confident(known, carried([1, 1, 0.9, 0.1, 0.5, 0.7, 0.3], reached), 0.2), [5]
    )
    two = Supervision.from_labels([0, 1, -1, -1])
    # 90 % of 2 is rounded to 2.
    assert_array_equal(most_confident(two, carried([1, 1, 0.2, 0.1]), 0.9), [2, 3])


def test_pairs_are_passed_to_a_base_that_uses_them():
    X, y = load_wine(return_X_y=True)
    known = Supervision.from_labels(few_labels(y)) | Supervision.from_pairs(
        len(y), [(1, 2)], [(1, 70)]
    )
    sieve = HybridSieve("constrained_laplacian", n_features_to_select=3).fit(X, supervision=known)
    assert sieve.get_support().sum() == 3
    with pytest.raises(InputError, match="'fisher' cannot use pairs"):
        HybridSieve().fit(X, supervision=known)


def test_an_interrupted_search_uses_the_complete_rounds():
    X = np.random.default_rng(5).normal(size=(60, 8))
    y = few_labels(np.arange(60) % 2, 5)
    options = {
        "base": "floating",
        "base_params": {"estimator": Impatient(), "cv": 2},
        "n_features_to_select": 2,
    }
    Impatient.fits, Impatient.patience = 0, 10**9
    one_round = hybrid_selection(X, y, n_iterations=1, **options)
    # The first selection and each round take 2 · 8 + 2 · 7 fits. One round is complete when the
    # second one is interrupted.
    assert Impatient.fits == 60
    Impatient.fits, Impatient.patience = 0, 75
    with pytest.warns(GraphSieveWarning, match="interrupted"):
        assert_array_equal(hybrid_selection(X, y, **options), one_round)
    Impatient.fits, Impatient.patience = 0, 45
    with pytest.raises(KeyboardInterrupt):
        hybrid_selection(X, y, **options)


def test_sparse_equals_dense():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(40, 10)), 1) * (rng.random((40, 10)) < 0.5)
    X[:20, 3] += 3
    y = few_labels(np.arange(40) < 20, 5).astype(int)
    assert_array_equal(
        hybrid_selection(sp.csr_array(X), y, n_features_to_select=2),
        hybrid_selection(X, y, n_features_to_select=2),
    )


@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
@pytest.mark.parametrize("base", ["fisher", "floating"])
def test_genes_at_the_bandwidth_where_the_inverse_is_singular(base):
    """|L| = 8, |U| = 20, λ = d0/3, as in the paper."""
    X, y = lookalikes.genes(60, 7129)
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:14] for c in (0, 1)])
    labels = np.where(np.arange(28) % 14 < 4, y[rows], -1)
    sieve = HybridSieve(base, n_features_to_select=10).fit(X[rows], labels)
    assert sieve.get_support().sum() >= 10
    for stage in sieve.path_:
        assert 0 <= stage.confidence <= 1
        assert len(stage.confident) >= 18  # 90 % of 20
        proba = harmonic_labels(
            np.asarray(X[rows][:, np.sort(stage.features)], dtype=float), labels
        )
        assert np.isfinite(proba).all()
        assert_allclose(proba.sum(axis=1), 1, atol=1e-9)

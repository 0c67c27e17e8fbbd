"""Comparisons with MATLAB's documentation, scikit-learn, fast-select and esda, and identities."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, load_iris
from sklearn.feature_selection import f_classif, mutual_info_classif, r_regression

import lookalikes
from graphsieve import GraphSieve, GraphSieveWarning, rank, scores
from graphsieve.graphs.builders import neighbor_graph
from graphsieve.table.columns import MemoryTable

IRIS, SPECIES = load_iris(return_X_y=True)


def best_first(values: np.ndarray) -> list[int]:
    return [int(j) + 1 for j in np.argsort(values)]


def test_laplacian_score_of_iris_on_the_complete_graph():
    """MATLAB documents the order 3 4 1 2 for weights exp(−d²) between all samples.

    A dense reference gives the four numbers. They count every sample as its own neighbour with
    weight exp(0) = 1. We do not. This changes no energy but adds 1 to every degree. With this
    correction the numbers agree.
    """
    ours = scores.laplacian_score(IRIS, n_neighbors=149, bandwidth=1.0)
    assert best_first(ours) == [3, 4, 1, 2]
    # Iris has duplicates, so the smallest d² is 0 and weights are exp(−d²)
    graph = neighbor_graph(MemoryTable(IRIS), 149, 1.0).graph
    degree = graph.degree() + 1.0
    centered = IRIS - degree @ IRIS / degree.sum()
    with_loops = graph.energy(IRIS) / (degree @ centered**2)
    assert_allclose(with_loops, [0.1770, 0.4006, 0.0329, 0.0816], atol=5e-5)


def test_relieff_of_iris():
    """MATLAB documents these weights for k = 10. It may break the many ties of Iris differently."""
    assert_allclose(
        scores.relieff_score(IRIS, SPECIES), [0.1399, 0.1226, 0.3590, 0.3754], atol=2e-4
    )


@pytest.mark.slow
def test_relieff_of_imbalanced_classes_equals_fast_select():
    from fast_select import ReliefF

    rng = np.random.default_rng(8)
    y = np.repeat([0, 1, 2], [240, 50, 10])
    X = rng.normal(size=(300, 6))
    X[:, 0] += 2.0 * (y == 1)
    X[:, 1] += 2.0 * (y == 2)
    ours = scores.relieff_score(X, y, n_neighbors=10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = ReliefF(n_features_to_select=6, n_neighbors=10).fit(X, y).feature_importances_
    assert_allclose(ours, theirs, atol=1e-5)  # theirs is computed in float32
    assert ours[0] > ours[1]  # the larger class counts for more


def test_fisher_score_is_the_f_statistic_but_for_the_degrees_of_freedom():
    f_statistic, _ = f_classif(IRIS, SPECIES)
    assert_allclose(
        scores.fisher_score(IRIS, SPECIES), f_statistic * (3 - 1) / (150 - 3), rtol=1e-10
    )


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_weighted_laplacian_score_of_sure_balanced_labels_is_a_function_of_fisher(n_classes):
    rng = np.random.default_rng(n_classes)
    y = np.arange(20 * n_classes) % n_classes
    X = rng.normal(size=(len(y), 7)) + rng.normal(size=(n_classes, 7))[y]
    weighted = scores.weighted_laplacian_score(X, np.eye(n_classes)[y])
    assert_allclose(weighted, 1 / (n_classes * (1 + scores.fisher_score(X, y)) - 1), rtol=1e-10)


def test_spec_phi2_is_the_laplacian_score():
    X = np.random.default_rng(0).normal(size=(80, 6)) + 5.0
    phi2 = scores.spec_score(X, form="phi2", n_neighbors=7, bandwidth=3.0)
    assert_allclose(phi2, scores.laplacian_score(X, n_neighbors=7, bandwidth=3.0), rtol=1e-10)


def test_laplacian_score_is_one_minus_modularity():
    X = np.random.default_rng(1).normal(size=(60, 5))
    graph = neighbor_graph(MemoryTable(X), 5, 2.0).graph
    W, d = graph.matrix.toarray(), graph.degree()
    B, M = W - np.outer(d, d) / d.sum(), np.diag(d) - np.outer(d, d) / d.sum()
    modularity = np.array([f @ B @ f / (f @ M @ f) for f in X.T])
    assert_allclose(scores.laplacian_score(X, bandwidth=2.0), 1 - modularity, rtol=1e-9)


def test_semi_supervised_score_without_labels_is_the_laplacian_score():
    X = np.random.default_rng(2).normal(size=(90, 4))
    with pytest.warns(GraphSieveWarning, match="0 target values are known"):
        alone = scores.semi_supervised_laplacian_score(X, np.full(90, np.nan))
    assert_allclose(alone, scores.laplacian_score(X, n_neighbors=30, bandwidth=4.0), rtol=1e-10)


def test_energy_is_gearys_c_but_for_its_normalisation():
    """esda's C is (n − 1) Σ w (f_i − f_j)² / (2 Σ w · SS), our energy over the plain spread."""
    from esda import Geary
    from libpysal.weights import WSP

    X = np.random.default_rng(3).normal(size=(70, 3))
    graph = neighbor_graph(MemoryTable(X), 6, np.inf).graph
    weights = WSP(graph.matrix.tocsr()).to_W(silence_warnings=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = [Geary(X[:, j], weights, transformation="B", permutations=0).C for j in range(3)]
    total = graph.degree().sum()
    ours = graph.energy(X) * 69 / (total * 70 * X.var(axis=0))
    assert_allclose(ours, theirs, rtol=1e-9)


def test_pearson_and_mutual_information_of_classes_equal_scikit_learn():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(120, 4)), rng.normal(size=120)
    assert_allclose(scores.pearson_score(X, y), np.abs(r_regression(X, y)), rtol=1e-10)
    classes = (X[:, 0] + 0.5 * rng.normal(size=120) > 0).astype(int)
    theirs = mutual_info_classif(X, classes, discrete_features=False, random_state=0)
    assert_allclose(scores.mutual_information_score(X, classes), theirs, rtol=1e-7, atol=1e-9)


def test_the_three_constant_pixels_of_digits_rank_last_with_any_supervision():
    X, y = load_digits(return_X_y=True)
    X, y = X[:400], y[:400]
    constant = np.flatnonzero(X.min(axis=0) == X.max(axis=0))
    assert {0, 32, 39} <= set(constant)
    few = np.where(np.arange(400) < 60, y, -1)
    for redundancy in ("auto", None):
        for known in (None, y, few):
            with pytest.warns(GraphSieveWarning, match="cannot be scored"):
                ranking = rank(X, known, redundancy=redundancy)
            assert set(ranking.order[-len(constant) :]) == set(constant)
            assert np.isnan(ranking.scores[constant]).all()
            # Pixels that are constant on the labelled samples can still be selected.
            if redundancy == "auto":
                assert np.isnan(ranking.scores).sum() == len(constant)


def test_constrained_laplacian_order_of_iris_for_every_number_of_neighbors():
    """Benabdeslem and Hindawi report F3, F4, F1, F2 for k = 1 … 20 and λ = 0.1, unscaled."""
    labels = np.full(150, -1)
    for species, n in ((0, 4), (1, 3), (2, 3)):
        labels[np.flatnonzero(species == SPECIES)[:n]] = species
    for k in range(1, 21):
        sieve = GraphSieve("constrained_laplacian", n_neighbors=k, bandwidth=0.1, scale=None).fit(
            IRIS, labels
        )
        assert best_first(sieve.scores_) == [3, 4, 1, 2]


def test_a_real_table_with_a_constant_column():
    X, y = lookalikes.load("breast_cancer")
    X = lookalikes.with_a_constant(X)
    for redundancy in ("auto", None):
        with pytest.warns(GraphSieveWarning, match="1 of 31"):
            ranking = rank(X, y, redundancy=redundancy)
        assert ranking.order[-1] == 1  # it is 0 everywhere


@pytest.mark.slow
def test_a_sparse_text_table_gives_what_its_dense_form_gives():
    X, y = lookalikes.load("texts")
    X, y = X[:300, :800], y[:300]
    labels = np.where(np.arange(len(y)) % 5 == 0, y, -1)
    for method in ("auto", "laplacian", "fisher", "lsdf", "constrained_laplacian", "sselect"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GraphSieveWarning)
            sparse, dense = (
                GraphSieve(method).fit(data, labels).scores_ for data in (X, X.toarray())
            )
        assert_allclose(sparse, dense, rtol=1e-9, atol=1e-12)

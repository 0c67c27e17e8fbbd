"""Tests of p-values: exact moments, exact small cases, uniformity under the null hypothesis,
control of the false discovery rate, and invalid input.
"""

from __future__ import annotations

import tracemalloc
from itertools import permutations
from math import comb

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from graphsieve import GraphSieveWarning, InputError, Supervision
from graphsieve.assess.significance.arrangement import by_classes
from graphsieve.assess.significance.chances import Chance, share_p_values
from graphsieve.assess.significance.forms import Form, energy_form, matrix_sums, spread_form
from graphsieve.assess.significance.moments import MATRIX_SUMS, permutation_moments
from graphsieve.assess.significance.results import adjusted_p_values
from graphsieve.assess.significance.shares import beta_law
from graphsieve.assess.significance.tested_methods import COVERED, laplacian_share, p_values_of
from graphsieve.assess.significance.testing import feature_p_values
from graphsieve.graphs.builders import neighbor_graph
from graphsieve.graphs.graph import CrossGraph, FactorGraph, SparseGraph, complete_graph
from graphsieve.scores import (
    constraint_score,
    fisher_score,
    laplacian_score,
    pearson_score,
    supervised_laplacian_score,
    weighted_laplacian_score,
)
from graphsieve.table.columns import MemoryTable

pytestmark = pytest.mark.usefixtures("one_thread")


# ------------------------------------------------------------------------------------------------
# forms and moments


def dense(form: Form) -> np.ndarray:
    factor = form.factor.toarray()
    return form.near.toarray() + (factor * form.signs) @ factor.T


def laplacian_of(weights: np.ndarray) -> np.ndarray:
    weights = weights - np.diag(np.diag(weights))
    return np.diag(weights.sum(axis=1)) - weights


def some_graphs(rng: np.random.Generator, n: int) -> dict:
    """Return graphs of every kind with their dense weight matrices."""
    proba = rng.dirichlet(np.ones(3), n)
    one_hot = np.eye(3)[rng.integers(0, 3, n)]
    first, second = np.triu_indices(n, 1)
    weights = rng.random(len(first)) * (rng.random(len(first)) < 0.4)
    edges = np.zeros((n, n))
    edges[first, second] = edges[second, first] = weights
    # More columns than are kept as a factor, so that some become edges.
    runs = np.eye(40)[rng.integers(0, 3, n)]
    return {
        "edges": (SparseGraph(n, first, second, weights), edges),
        "factor": (FactorGraph(proba), proba @ proba.T),
        "classes": (FactorGraph(one_hot), one_hot @ one_hot.T),
        "many groups": (FactorGraph(runs), runs @ runs.T),
        "cross": (CrossGraph(proba), 1 - proba @ proba.T),
        "sum": (
            SparseGraph(n, first, second, weights) + FactorGraph(one_hot),
            edges + one_hot @ one_hot.T,
        ),
        "difference": (complete_graph(n) - FactorGraph(proba), 1 - proba @ proba.T),
    }


KINDS = list(some_graphs(np.random.default_rng(0), 4))


@pytest.mark.parametrize("kind", KINDS)
def test_a_form_is_the_energy_of_its_graph(kind):
    rng = np.random.default_rng(3)
    graph, weights = some_graphs(rng, 9)[kind]
    np.testing.assert_allclose(dense(energy_form(graph)), laplacian_of(weights), atol=1e-12)
    degree = (weights - np.diag(np.diag(weights))).sum(axis=1)
    np.testing.assert_allclose(
        dense(spread_form(graph)),
        np.diag(degree) - np.outer(degree, degree) / degree.sum(),
        atol=1e-12,
    )
    traceless = dense(energy_form(graph).traceless())
    assert abs(np.trace(traceless)) < 1e-12
    np.testing.assert_allclose(traceless.sum(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_sums_over_a_matrix_are_those_of_the_matrix_written_out(kind):
    graph, _ = some_graphs(np.random.default_rng(5), 8)[kind]
    form = energy_form(graph) + spread_form(graph).times(-0.7)
    K = dense(form)
    d = np.diag(K)
    expected = {
        "loops2": np.einsum("i,i->", d, d),
        "edges2": np.einsum("ij,ij->", K, K),
        "loops3": (d**3).sum(),
        "loop_edges2": np.einsum("i,ij,ij->", d, K, K),
        "loops_edge": np.einsum("i,ij,j->", d, K, d),
        "edges3": np.einsum("ij,ij,ij->", K, K, K),
        "triangle": np.einsum("ij,jk,ki->", K, K, K),
    }
    found = matrix_sums(form)
    assert set(found) == set(expected) == set(MATRIX_SUMS)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-10, abs=1e-12), name


def test_both_ways_to_sum_cubes_agree():
    """Few columns and many rows use third moments, many columns and few rows use pairs.

    Both are compared with the dense matrix.
    """
    rng = np.random.default_rng(0)
    for shape in ((50, 2), (4, 7)):
        factor, signs = rng.random(shape), rng.normal(size=shape[1])
        form = Form(sp.csr_array((shape[0], shape[0])), sp.csr_array(factor), signs)
        assert matrix_sums(form)["edges3"] == pytest.approx(
            (((factor * signs) @ factor.T) ** 3).sum(), rel=1e-10
        )


@given(st.integers(3, 6), st.integers(0, 2**32 - 1), st.booleans())
def test_moments_are_those_of_all_permutations(n, seed, tied):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(n, n))
    form = Form.of_matrix(laplacian_of(weights + weights.T)).traceless()
    f = rng.integers(0, 3, n).astype(float) if tied else rng.lognormal(size=n)
    f[0] = f[1] + 1  # not constant
    f = (f - f.mean()) / np.linalg.norm(f - f.mean())
    K = dense(form)
    values = np.array([f[list(order)] @ K @ f[list(order)] for order in permutations(range(n))])
    sums = {"f3": (f**3).sum(), "f4": (f**4).sum(), "f6": (f**6).sum()}
    variance, third = permutation_moments(matrix_sums(form), sums, n)
    scale = np.abs(values).max()
    assert values.mean() == pytest.approx(0, abs=1e-10 * scale)
    assert variance == pytest.approx((values**2).mean(), rel=1e-8, abs=1e-10 * scale**2)
    assert third == pytest.approx((values**3).mean(), rel=1e-8, abs=1e-9 * scale**3)


@pytest.mark.parametrize("n", [7, 20_001])
def test_moments_average_to_those_of_normal_values(n):
    """Over all directions orthogonal to (1, …, 1), E (fᵀKf)² = 2 tr K² / (N (N + 2)), E (fᵀKf)³ = 8
    tr K³ / (N (N + 2) (N + 4)).

    The moments are linear in Σf⁴, Σf⁶ and (Σf³)². The means of these follow from those of centred
    normal values g: with v = N / n and c = −1 / n, E g_i⁴ = 3 v², E g_i⁶ = 15 v³ and E g_i³ g_j³ =
    6 c³ + 9 v² c. The computation must not lose digits to factors of n⁶.
    """
    N, v, c = n - 1, (n - 1) / n, -1 / n
    fourth, sixth = N * (N + 2), N * (N + 2) * (N + 4)
    mean = {"f4": 3 * n * v**2 / fourth, "f6": 15 * n * v**3 / sixth}
    mean["f3"] = np.sqrt((15 * n * v**3 + n * N * (6 * c**3 + 9 * v**2 * c)) / sixth)
    sums = matrix_sums(energy_form(SparseGraph(n, np.arange(n - 1), np.arange(1, n))).traceless())
    variance, third = permutation_moments(sums, mean, n)
    assert variance == pytest.approx(2 * sums["edges2"] / fourth, rel=1e-7)
    assert third == pytest.approx(8 * sums["triangle"] / sixth, rel=1e-5)


@pytest.mark.parametrize(
    ("law", "scale"),
    [
        (stats.beta(2.0, 5.0), 1.3),
        (stats.beta(40.0, 3.0), 1.0),
        (stats.gamma(4.0), 0.1),
        (stats.betaprime(3.0, 9.0), 0.5),
    ],
)
def test_a_distribution_is_recovered_from_its_moments(law, scale):
    mean, variance, skewness = (float(value) for value in law.stats("mvs"))
    x = np.array([law.ppf(q) for q in (1e-6, 0.01, 0.3, 0.9)]) * scale
    found = beta_law(x, mean * scale, variance * scale**2, skewness * variance**1.5 * scale**3)
    np.testing.assert_allclose(found, [1e-6, 0.01, 0.3, 0.9], rtol=1e-5)


# ------------------------------------------------------------------------------------------------
# small cases, exactly

TINY = 6
TINY_PROBABILITIES = np.random.default_rng(8).dirichlet(np.ones(2), TINY)
MUST, CANNOT = [(0, 1), (2, 3)], [(0, 2), (1, 4), (3, 5)]
TINY_LABELS = ["a", "a", "b", "b", "b", "a"]
TINY_TARGET = np.array([0.3, 1.1, 1.1, 2.0, 3.7, 9.0])
TINY_CASES = {
    "fisher": (Supervision.from_labels(TINY_LABELS), lambda X: -fisher_score(X, TINY_LABELS), {}),
    "pearson": (
        Supervision.from_targets(TINY_TARGET),
        lambda X: -pearson_score(X, TINY_TARGET),
        {},
    ),
    "supervised_laplacian": (
        Supervision.from_targets(TINY_TARGET),
        lambda X: supervised_laplacian_score(X, TINY_TARGET, n_neighbors=2, bandwidth=3.0),
        {"n_neighbors": 2, "bandwidth": 3.0},
    ),
    "weighted_laplacian": (
        Supervision.from_probabilities(TINY_PROBABILITIES),
        lambda X: weighted_laplacian_score(X, TINY_PROBABILITIES, class_weight="balanced"),
        {"class_weight": "balanced"},
    ),
    "constraint": (
        Supervision.from_pairs(TINY, MUST, CANNOT),
        lambda X: constraint_score(X, MUST, CANNOT),
        {},
    ),
}


@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
@pytest.mark.parametrize("name", TINY_CASES)
def test_with_few_samples_all_permutations_are_enumerated(name):
    """Compare with the published score of every permuted feature. Permutations without a score are
    not counted.
    """
    known, small_is_good, options = TINY_CASES[name]
    rng = np.random.default_rng(1)
    X = np.column_stack(
        [
            rng.normal(size=TINY),
            rng.lognormal(size=TINY),
            [0, 0, 1, 1, 1, 0],
            [0, 0, 0, 0, 0, 1],
            [0, 1, 1, 2, 2, 5],
            np.ones(TINY),
        ]
    )
    scores, found = p_values_of(MemoryTable(X), known, name, options=options)
    orders = [list(order) for order in permutations(range(TINY))]
    for j, feature in enumerate(X.T):
        good = small_is_good(X)[j]
        assert scores[j] == pytest.approx(abs(good), nan_ok=True)
        if np.isnan(good):
            assert np.isnan(found[j])
            continue
        every = small_is_good(np.stack([feature[order] for order in orders], axis=1))
        every = every[~np.isnan(every)]
        assert found[j] == pytest.approx(
            (every <= good + 1e-9 * max(1, min(abs(good), 1e9))).mean(), rel=1e-12
        ), j


def test_the_best_possible_split_of_eight_is_one_in_thirty_five():
    X = np.array([0.1, 0.2, 0.35, 0.4, 9.1, 9.2, 9.35, 9.4])[:, None]
    found = feature_p_values(X, [0] * 4 + [1] * 4, n_permutations=50_000)
    assert found.p_values[0] == pytest.approx(2 / 70, rel=1e-12)  # 8! orders are fewer than 50,000
    counted = feature_p_values(X, [0] * 4 + [1] * 4, n_permutations=5000).p_values[0]
    assert counted == pytest.approx(2 / 70, abs=4 * np.sqrt(2 / 70 / 1000))


def test_no_p_value_is_below_what_permutations_can_give():
    """Two well-separated classes of twelve samples each.

    The fitted distribution has no lower limit, but one in 2,704,156 / 2 splits is as good.
    """
    rng = np.random.default_rng(0)
    X = (np.repeat([0.0, 1000.0], 12) + rng.normal(size=24))[:, None]
    found = feature_p_values(X, np.repeat([0, 1], 12), n_permutations=999).p_values[0]
    assert 1 / comb(24, 12) * 0.999 <= found <= 2 / 1000


def test_an_outlier_outside_all_pairs_hides_nothing():
    """The pairs contain ten samples, so the score does not depend on the eleventh, an outlier."""
    rng = np.random.default_rng(0)
    known = Supervision.from_pairs(11, [(0, 1), (2, 3), (4, 5)], [(0, 6), (2, 7), (4, 8), (1, 9)])
    X = np.repeat(rng.normal(size=(11, 1)), 2, axis=1)
    X[10] = 0.0, 1e5
    found = feature_p_values(X, supervision=known, n_permutations=999)
    assert found.scores[0] == pytest.approx(found.scores[1])
    assert not np.isnan(found.p_values).any()


# ------------------------------------------------------------------------------------------------
# other libraries


def test_fisher_agrees_with_the_f_test_on_normal_values():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 400)
    X = rng.normal(size=(400, 60)) + 0.25 * y[:, None] * (np.arange(60) % 3 == 0)
    expected = stats.f_oneway(*(X[y == c] for c in range(4))).pvalue
    found = feature_p_values(X, y).p_values
    assert expected.min() < 1e-6
    np.testing.assert_allclose(
        np.log(found[expected > 1e-8]), np.log(expected[expected > 1e-8]), atol=0.6
    )
    np.testing.assert_allclose(found[expected > 0.01], expected[expected > 0.01], rtol=0.15)


def test_pearson_agrees_with_the_t_test_on_normal_values():
    rng = np.random.default_rng(1)
    y = rng.normal(size=1500)
    X = rng.normal(size=(1500, 60)) + 0.1 * y[:, None] * (np.arange(60) % 3 == 0)
    expected = stats.pearsonr(X, y[:, None], axis=0).pvalue
    found = feature_p_values(X, y, method="pearson").p_values
    np.testing.assert_allclose(np.log(found), np.log(expected), atol=0.35)
    np.testing.assert_allclose(found[expected > 0.01], expected[expected > 0.01], rtol=0.06)


def test_counting_agrees_with_scipys_exact_permutation_test():
    """All 126 splits of nine heavy-tailed and of nine tied values."""
    rng = np.random.default_rng(4)
    y = np.repeat([0, 1], [4, 5])
    X = np.column_stack(
        [
            rng.standard_cauchy(9),
            rng.lognormal(size=9),
            rng.integers(0, 3, 9),
            [0, 0, 0, 1, 1, 1, 1, 1, 1],
        ]
    )
    X = X.astype(float)
    found = feature_p_values(X, y, n_permutations=20_000).p_values

    def statistic(one, other, axis):
        return np.abs(one.mean(axis=axis) - other.mean(axis=axis)).round(9)

    exact = stats.permutation_test(
        (X[y == 0], X[y == 1]), statistic, n_resamples=1000, alternative="greater", axis=0
    ).pvalue
    # Counting uses at least 256 permutations, which limits the standard error.
    np.testing.assert_array_less(
        np.abs(found - exact), 5 * np.maximum(np.sqrt(exact * (1 - exact) / 256), 0.02 * exact)
    )


def test_adjusted_p_values_are_scipys():
    values = np.random.default_rng(0).random(200) ** 2
    for control in ("bh", "by"):
        np.testing.assert_allclose(
            adjusted_p_values(values, control=control),
            stats.false_discovery_control(values, method=control),
        )
    with_gaps = np.insert(values, [0, 100], np.nan)
    np.testing.assert_array_equal(
        adjusted_p_values(with_gaps)[~np.isnan(with_gaps)], adjusted_p_values(values)
    )


# ------------------------------------------------------------------------------------------------
# nothing but noise

DISTRIBUTIONS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "lognormal": lambda rng, shape: rng.lognormal(size=shape),
    "binary": lambda rng, shape: (rng.random(shape) < 0.4).astype(float),
    "counts": lambda rng, shape: rng.negative_binomial(0.3, 0.2, size=shape).astype(float),
}


def knowledge(kind: str, n: int) -> Supervision:
    rng = np.random.default_rng(99)
    classes = rng.permutation(np.arange(n) % 3)
    pairs = rng.integers(0, n, (2 * n, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    alike = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    return {
        "labels": lambda: Supervision.from_labels(np.where(np.arange(n) < n // 6, 1, 0)),
        "targets": lambda: Supervision.from_targets(rng.normal(size=n)),
        "probabilities": lambda: Supervision.from_probabilities(rng.dirichlet(np.full(3, 0.4), n)),
        "pairs": lambda: Supervision.from_pairs(n, pairs[alike], pairs[~alike]),
    }[kind]()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("kind", ["labels", "targets", "probabilities", "pairs"])
def test_p_values_of_ten_thousand_null_features_are_uniform(kind, distribution):
    n = 80 if distribution == "normal" else 40
    X = DISTRIBUTIONS[distribution](np.random.default_rng(5), (n, 10_000))
    found = feature_p_values(X, supervision=knowledge(kind, n), n_permutations=1000).p_values
    found = found[~np.isnan(found)]
    assert len(found) > 9_900
    # If few distinct values give few distinct statistics, p-values may be stochastically larger
    # than uniform, but never smaller.
    lumpy = kind in ("labels", "pairs") and distribution in ("binary", "counts")
    assert (
        stats.kstest(found, "uniform", alternative="greater" if lumpy else "two-sided").pvalue
        > 0.001
    )
    for level in (0.05, 0.01, 0.002):
        expected = level * len(found)
        assert (found <= level).sum() <= expected + 4 * np.sqrt(expected) + 0.15 * expected


@pytest.mark.slow
def test_small_p_values_of_noise_are_calibrated():
    """Test the law joined to 400 permutations (few samples), and the law alone (many samples)."""
    for n in (60, 1200):
        rng = np.random.default_rng(n)
        X = rng.normal(size=(n, 30_000 if n == 60 else 10_000))
        found = feature_p_values(X, np.arange(n) % 3, n_permutations=400).p_values
        for level in (0.01, 0.001, 0.0003):
            expected = level * X.shape[1]
            assert abs((found <= level).sum() - expected) <= 4 * np.sqrt(expected) + 0.5 * expected


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["labels", "targets"])
def test_the_false_discovery_rate_is_controlled(kind):
    """20 of 100 features are real; the mean false discovery proportion stays below the level."""
    n, n_real, n_runs = 50, 20, 60
    proportions: dict[float, list[float]] = {0.05: [], 0.1: []}
    power = []
    for run in range(n_runs):
        rng = np.random.default_rng([run, 7])
        target = rng.normal(size=n)
        known = (
            Supervision.from_targets(target)
            if kind == "targets"
            else Supervision.from_labels((target > 0).astype(int))
        )
        X = rng.lognormal(sigma=0.5, size=(n, 100))
        X[:, :n_real] += 0.8 * target[:, None]
        found = feature_p_values(X, supervision=known, n_permutations=1000)
        for level, kept in proportions.items():
            selected = found.selected(level)
            kept.append(selected[n_real:].sum() / max(1, selected.sum()))
        power.append(found.selected(0.05)[:n_real].mean())
    for level, kept in proportions.items():
        error = np.std(kept) / np.sqrt(n_runs)
        assert np.mean(kept) <= level * 0.8 + 3 * error
        assert error < 0.01
    assert np.mean(power) > 0.8


@pytest.mark.slow
def test_the_table_of_power_is_right_where_it_is_steep():
    found = []
    for run in range(12):
        rng = np.random.default_rng([run, 50])
        X, y = rng.normal(size=(50, 200)), np.arange(50) % 2
        X[:, :20] += y[:, None]
        found.append(feature_p_values(X, y).selected(0.05)[:20].mean())
    assert np.mean(found) == pytest.approx(0.67, abs=0.1)
    # The t-test, which assumes normal values, finds as many features.
    tests = stats.ttest_ind(X[y == 0], X[y == 1]).pvalue
    assert (stats.false_discovery_control(tests) <= 0.05)[:20].mean() == pytest.approx(
        found[-1], abs=0.1
    )


# ------------------------------------------------------------------------------------------------
# laws


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["labels", "targets", "probabilities", "pairs"]),
    st.sampled_from([7, 30, 90]),
)
def test_shift_scale_copies_and_other_columns_do_not_matter(seed, kind, n):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 2, n), rng.lognormal(size=n)])
    X[:2, 2] = 0, 1
    known = knowledge(kind, n)
    changed = X * [3.7, 1e-200, -2.0, 1e9] + [5.0, 0.0, 100.0, 0.0]
    plain = feature_p_values(X, supervision=known, n_permutations=300).p_values
    moved = feature_p_values(changed, supervision=known, n_permutations=300).p_values
    more = feature_p_values(
        np.column_stack([X[:, ::-1], X]), supervision=known, n_permutations=300
    ).p_values
    np.testing.assert_allclose(moved, plain, rtol=1e-6)
    np.testing.assert_allclose(more[4:], plain, rtol=1e-9)
    np.testing.assert_allclose(more[:4][::-1], plain, rtol=1e-9)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["labels", "targets"]))
def test_row_order_does_not_matter_where_nothing_is_drawn(seed, kind):
    rng = np.random.default_rng(seed)
    X, order = rng.normal(size=(6, 3)), rng.permutation(6)
    known = knowledge(kind, 6)
    plain = feature_p_values(X, supervision=known).p_values
    np.testing.assert_allclose(
        feature_p_values(X[order], supervision=known[order]).p_values, plain, rtol=1e-7
    )


def chains_of_pairs(n, rng):
    """Pairs of which many samples are in symmetric positions."""
    order = rng.permutation(n)
    chains = order[: n // 2 // 4 * 4].reshape(-1, 4)
    must = np.concatenate([chains[:, [0, 1]], chains[:, [1, 2]], chains[:, [2, 3]]])
    return Supervision.from_pairs(n, must, order[-6:].reshape(-1, 2))


def labels_and_pairs(n, rng):
    labels = np.where(rng.random(n) < 0.4, np.arange(n) % 2, -1)
    labels[:4] = 0, 0, 1, 1
    rest = np.flatnonzero(labels < 0)[:8]
    few = rest[: len(rest) // 4 * 4].reshape(-1, 2)
    half = len(few) // 2
    return Supervision.from_labels(labels) | Supervision.from_pairs(n, few[:half], few[half:])


SUPERVISION = {
    "two classes": lambda n, rng: Supervision.from_labels(np.arange(n) % 2),
    "three classes": lambda n, rng: Supervision.from_labels(rng.permutation(np.arange(n) ** 2 % 3)),
    "target": lambda n, rng: Supervision.from_targets(rng.normal(size=n)),
    "target with ties": lambda n, rng: Supervision.from_targets(np.round(2 * rng.normal(size=n))),
    "probabilities": lambda n, rng: Supervision.from_probabilities(rng.dirichlet(np.ones(3), n)),
    "pairs": lambda n, rng: knowledge("pairs", n),
    "chains of pairs": chains_of_pairs,
    "labels and pairs": labels_and_pairs,
    "nothing": lambda n, rng: Supervision.nothing(n),
}


def p_values_in_two_orders(kind, seed, n):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 3, n), rng.lognormal(size=n)])
    known, order = SUPERVISION[kind](n, rng), rng.permutation(n)
    return [
        feature_p_values(X[rows], supervision=known[rows], n_permutations=300).p_values
        for rows in (np.arange(n), order)
    ]


@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
@pytest.mark.parametrize("kind", SUPERVISION)
def test_row_order_does_not_matter(kind):
    one, other = p_values_in_two_orders(kind, 0, 40)
    np.testing.assert_allclose(other, one, rtol=1e-7)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
@pytest.mark.parametrize("kind", SUPERVISION)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(16, 60))
def test_no_row_order_matters(kind, seed, n):
    one, other = p_values_in_two_orders(kind, seed, n)
    np.testing.assert_allclose(other, one, rtol=1e-7)


@pytest.mark.parametrize("sizes", [(20, 20), (10, 30), (8, 16, 16)])
def test_names_of_classes_and_the_sign_of_a_feature_do_not_matter(sizes):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(40, 5)), np.arange(40) % 4])
    y = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    plain = feature_p_values(X, y, n_permutations=300).p_values
    renamed = np.array(["z", "b", "k"])[y]
    for X_changed, y_changed in ((X, renamed), (X, len(sizes) - 1 - y), (-3 * X, y)):
        changed = feature_p_values(X_changed, y_changed, n_permutations=300).p_values
        np.testing.assert_allclose(changed, plain, rtol=1e-9)


def test_features_with_the_same_distribution_have_different_permutations():
    """All features have the same values. If they had the same permutations too, all errors of the
    counts would be the same, and the p-values of noise would not be uniform.
    """
    rng = np.random.default_rng(0)
    ranks, y = rng.permuted(np.tile(np.arange(60.0), (2000, 1)), axis=1).T, np.arange(60) % 2
    shuffled = by_classes(y).shuffled(ranks - ranks.mean(axis=0))
    assert len(np.unique(shuffled, axis=1).T) == 2000
    heavy = np.exp(ranks / 6)  # The law is unreliable for these values, so all are counted.
    found = feature_p_values(heavy, y, n_permutations=300).p_values
    assert stats.kstest(found, "uniform").pvalue > 0.001


@pytest.mark.usefixtures("sparse_stays_sparse")
@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
@pytest.mark.parametrize("kind", ["labels", "targets", "probabilities", "pairs"])
def test_sparse_equals_dense(kind):
    X = DISTRIBUTIONS["counts"](np.random.default_rng(2), (60, 30))
    known = knowledge(kind, 60)
    dense_ones = feature_p_values(X, supervision=known, n_permutations=500).p_values
    np.testing.assert_allclose(
        feature_p_values(sp.csr_array(X), supervision=known, n_permutations=500).p_values,
        dense_ones,
    )


def test_the_seed_decides_and_nothing_else_is_random():
    X = np.random.default_rng(0).lognormal(size=(30, 20))
    y = np.arange(30) % 2
    one = feature_p_values(X, y, n_permutations=300)
    np.testing.assert_array_equal(feature_p_values(X, y, n_permutations=300).p_values, one.p_values)
    assert (
        feature_p_values(X, y, n_permutations=300, random_state=1).p_values != one.p_values
    ).any()


def test_unlabelled_samples_are_left_out():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 8)), np.arange(60) % 3
    y[40:] = -1
    plain = feature_p_values(X[:40], y[:40]).p_values
    np.testing.assert_array_equal(feature_p_values(X, y).p_values, plain)
    target = np.where(np.arange(60) < 40, rng.normal(size=60), np.nan)
    for method in ("pearson", "supervised_laplacian"):
        plain = feature_p_values(X[:40], target[:40], method=method).p_values
        np.testing.assert_array_equal(feature_p_values(X, target, method=method).p_values, plain)


def test_labels_may_be_used_by_all_methods_that_can():
    """For two classes of equal size, these scores are functions of one another, so the p-values are
    equal.
    """
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1200, 10)), np.arange(1200) % 2
    X[:, 0] += 0.1 * y
    by_method = {
        name: feature_p_values(X, y, method=name).p_values
        for name in ("fisher", "pearson", "weighted_laplacian", "constraint")
    }
    for name, found in by_method.items():
        np.testing.assert_allclose(found, by_method["fisher"], rtol=1e-5, err_msg=name)


# ------------------------------------------------------------------------------------------------
# graphs without the feature


def test_the_graph_does_not_contain_the_feature():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    scores, found = p_values_of(
        MemoryTable(X),
        Supervision.nothing(40),
        "laplacian",
        options={"n_neighbors": 4, "bandwidth": 2.0},
    )
    for j in range(5):
        graph = neighbor_graph(MemoryTable(np.delete(X, j, axis=1)), 4, 2.0).graph
        assert scores[j] == pytest.approx(
            float(graph.energy(X[:, [j]])[0] / graph.spread(X[:, [j]])[0]), rel=1e-12
        )
        expected = share_p_values(laplacian_share(graph), X[:, [j]], Chance(10_000, 0))[0]
        assert found[j] == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
def test_noise_is_uniform_without_itself_and_not_with_itself():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 150))
    found = feature_p_values(X, n_permutations=300).p_values
    assert stats.kstest(found, "uniform").pvalue > 0.001
    few = X[:, :5]
    own = neighbor_graph(MemoryTable(few), 5, 1.0).graph
    assert (share_p_values(laplacian_share(own), few, Chance(300, 0)) < 0.02).all()


def test_clusters_are_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 20))
    X[:, :4] += 4 * (np.arange(60) % 2)[:, None]
    X[:, 7] = 3.0
    with pytest.warns(GraphSieveWarning, match="1 of 20 features cannot be scored"):
        found = feature_p_values(X)
    assert found.method == "laplacian"
    assert found.selected(0.05)[:4].all()
    assert found.n_selected(0.05) <= 6
    assert np.isnan(found.p_values[7])


def test_graphs_without_each_feature_have_a_limit():
    with pytest.raises(
        InputError,
        match=r"would compare all pairs of 9000 samples 900 times; pass at most \d+ rows",
    ):
        feature_p_values(sp.csc_array(sp.random_array((9000, 900), density=1e-4, rng=0)))
    with pytest.raises(InputError, match="there is only one feature"):
        feature_p_values(np.arange(9.0)[:, None])


# ------------------------------------------------------------------------------------------------
# size, answers, errors


@pytest.mark.slow
def test_low_rank_graphs_are_not_expanded():
    n = 10_000
    rng = np.random.default_rng(0)
    X, proba = rng.normal(size=(n, 4)), rng.dirichlet(np.ones(4), n)
    X[:, 0] += 0.5 * proba[:, 0]
    tracemalloc.start()
    found = feature_p_values(X, supervision=Supervision.from_probabilities(proba))
    labeled = feature_p_values(X, proba.argmax(axis=1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * n  # bytes: an eighth of one matrix of pairs
    assert found.p_values[0] < 1e-6
    assert labeled.p_values[0] < 1e-6


def test_the_supervision_determines_the_method():
    X = np.random.default_rng(0).normal(size=(30, 3))
    for kind, method in [
        ("labels", "fisher"),
        ("targets", "supervised_laplacian"),
        ("probabilities", "weighted_laplacian"),
        ("pairs", "constraint"),
    ]:
        found = feature_p_values(X, supervision=knowledge(kind, 30), n_permutations=99)
        assert found.method == method in COVERED
    assert feature_p_values(X, n_permutations=99).method == "laplacian"
    np.testing.assert_allclose(
        feature_p_values(
            X, n_permutations=99, scale=None, bandwidth=1.0, n_neighbors=29
        ).scores.shape,
        (3,),
    )
    assert laplacian_score(X).shape == (3,)


def test_it_prints_and_exports():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(50, 24)), np.ones(50)])
    X[:, 3] += 3 * (np.arange(50) % 2)
    with pytest.warns(GraphSieveWarning, match="cannot be scored"):
        found = feature_p_values(X, np.arange(50) % 2)
    text = str(found)
    assert text.startswith(
        "24 of 25 features tested on 50 samples with the fisher score\n"
        "1 selected at a false discovery rate of 5 %"
    )
    assert text.splitlines()[4].startswith("x3 ")
    assert "… 5 more" in text
    assert repr(found) == text
    frame = found.to_frame()
    assert list(frame.columns) == ["feature", "score", "p_value", "adjusted"]
    assert frame["feature"].iloc[0] == "x3"
    assert frame["p_value"].isna().sum() == 1
    assert frame["p_value"].dropna().is_monotonic_increasing
    assert found.n_selected(0.05) == found.selected(0.05).sum() == 1
    assert len(found) == 25
    assert not found.selected(1.0)[24]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "relieff"}, "method must be one of 'auto', 'fisher'"),
        ({"method": "pearson"}, "a correlation needs a continuous target or 2 classes, got 3"),
        (
            {"method": "constraint", "method_params": {"form": "difference"}},
            "p-values need form='ratio'",
        ),
        ({"control": "holm"}, "control must be one of 'bh', 'by'"),
        ({"n_permutations": 10}, "n_permutations must be an integer of at least 99"),
        ({"n_neighbors": 3}, "method 'fisher' has no n_neighbors"),
        ({"supervision": "pairs"}, "supervision must be a graphsieve.Supervision"),
        (
            {"method_params": {"class_weight": "balanced"}},
            "method 'fisher' has no parameter 'class_weight'",
        ),
        ({"y": np.arange(29) % 3}, "X has 30 samples, but 29 are described"),
        ({"y": None, "method": "fisher"}, "needs labels, but no supervision is available"),
        (
            {"supervision": Supervision.from_pairs(30, [(0, 3)]), "method": "fisher"},
            "method 'fisher' cannot use pairs",
        ),
        (
            {"supervision": Supervision.from_targets(np.arange(30.0))},
            "both class labels and a continuous target are known",
        ),
        (
            {"y": np.ones(30), "target_type": "continuous", "method": "pearson"},
            "the known target values are all equal",
        ),
    ],
)
def test_invalid_calls_raise_one_sentence(change, message):
    given_ones = {
        "X": np.random.default_rng(0).normal(size=(30, 3)),
        "y": np.arange(30) % 3,
    } | change
    with pytest.raises(InputError, match=message) as caught:
        feature_p_values(given_ones.pop("X"), given_ones.pop("y"), **given_ones)
    assert "\n" not in str(caught.value)


def test_a_level_is_a_share():
    with pytest.raises(InputError, match="level must be a number from 0 to 1"):
        feature_p_values(np.random.default_rng(0).normal(size=(9, 2)), np.arange(9) % 2).selected(5)


def test_an_unlabelled_target_causes_a_warning():
    X = np.random.default_rng(0).normal(size=(12, 3))
    with pytest.warns(
        GraphSieveWarning,
        match="no target known: features are tested only against the other features",
    ):
        found = feature_p_values(X, np.full(12, -1), n_permutations=99)
    assert found.method == "laplacian"
    np.testing.assert_array_equal(found.p_values, feature_p_values(X, n_permutations=99).p_values)

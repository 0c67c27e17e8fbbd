"""Tests of the reproduction of the paper on the constrained Laplacian score."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

import lookalikes
from graphsieve.datasets import Dataset, make_waveform
from graphsieve.papers import cls, halves
from graphsieve.papers import experiment as running
from graphsieve.papers.cls import (
    EXPERIMENT,
    IRIS_NEIGHBORS,
    TABLE_2,
    DenseScore,
    IrisOrders,
    NoiseFound,
)
from graphsieve.papers.estimate import Estimate
from graphsieve.papers.experiment import Experiment, Run, perform
from graphsieve.papers.halves import (
    ALL,
    DRAWN,
    HALVES,
    LABEL_COUNTS,
    LAMBDAS,
    LARGE_READINGS,
    LEVEL_SERIES,
    PRINTED,
    PROBLEMS,
    RANDOM,
    SAME_HALVES,
    SMALL_READINGS,
    WIDE,
    WIDE_HALVES,
    Explored,
    Gain,
    Kernel,
    Levels,
    Reading,
)
from graphsieve.papers.results import Verdict, from_facts
from graphsieve.scores import constrained_laplacian_score, laplacian_score
from lookalikes import REAL_DATA

QUICK = Run(quick=True, progress=False, download=False)
IRIS_X, IRIS_Y = load_iris(return_X_y=True)


# Iris
# --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def orders() -> IrisOrders:
    return cls.iris_orders(IRIS_X, IRIS_Y)


def test_iris_orders_are_those_of_the_paper(orders):
    """The orders agree with Sec. 5.2. Neighbours are by angle, as in He, Cai and Niyogi.

    The paper prints nothing below three neighbours.
    """
    assert orders.constrained == (3412,) * 20
    assert orders.cosine[2:] == (4312,) * 12 + (3412,) * 6


def test_the_iris_order_of_the_laplacian_score_depends_on_the_metric(orders):
    """The reference is dense, with neighbours from scikit-learn and no ties for the fifth place."""
    for metric, found in (("euclidean", orders.laplacian), ("cosine", orders.cosine)):
        near = (
            NearestNeighbors(n_neighbors=5, metric=metric).fit(IRIS_X).kneighbors_graph().toarray()
            > 0
        )
        weights = (near | near.T) * (
            np.exp(-((IRIS_X[:, None] - IRIS_X) ** 2).sum(axis=2) / 0.1)
            if metric == "euclidean"
            else 1
        )
        degree = weights.sum(axis=1)
        centered = IRIS_X - degree @ IRIS_X / degree.sum()
        energy = [(weights * (f[:, None] - f) ** 2).sum() / 2 for f in IRIS_X.T]
        order = np.argsort(energy / (degree @ centered**2)) + 1
        assert found[4] == int("".join(map(str, order)))


def test_neighbours_by_angle_keep_ties():
    """Three samples in one direction: each ties with the other two for the first place."""
    X = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [1.0, 0.0], [0.9, 0.1]])
    graph = cls.cosine_graph(X, 1)
    assert set(zip(graph.first.tolist(), graph.second.tolist(), strict=True)) == {
        (0, 1),
        (0, 2),
        (1, 2),
        (3, 4),
    }
    assert_array_equal(graph.weights, 1)


def test_labels_of_iris_hold_the_samples_that_the_paper_names():
    labeled = cls.iris_labels(IRIS_Y)
    must_link, cannot_link = halves.labeled_pairs(IRIS_Y, labeled)
    assert len(labeled) == 10
    assert len(must_link) + len(cannot_link) == 45
    assert {(72, 149), (77, 110)} <= set(map(tuple, cannot_link.tolist()))


@pytest.mark.parametrize(
    ("euclidean", "cosine", "verdict"),
    [
        ((1,) * 2 + (4312,) * 12 + (3412,) * 6, (1234,) * 20, Verdict.HOLDS),
        ((3412,) * 20, (4321,) * 2 + (4312,) * 12 + (3412,) * 6, Verdict.CORRECTED),
        ((3412,) * 20, (4312,) * 13 + (3412,) * 7, Verdict.FAILS),
    ],
)
def test_judged_laplacian_orders(euclidean, cosine, verdict):
    assert cls.judged_laplacian(IrisOrders(euclidean, cosine, ())).verdict is verdict


def test_judged_iris_orders_and_help():
    right, once_wrong = (3412,) * 20, (3412,) * 19 + (4312,)
    assert cls.judged_constrained(IrisOrders((), (), right), [1.0]).verdict is Verdict.HOLDS
    assert cls.judged_constrained(IrisOrders((), (), once_wrong), [1.0]).verdict is Verdict.FAILS
    assert cls.judged_help(IrisOrders(right, (), right)).verdict is Verdict.FAILS
    assert cls.judged_help(IrisOrders(once_wrong, (), right)).verdict is Verdict.HOLDS
    assert "for 1 of 20" in cls.judged_help(IrisOrders(once_wrong, (), right)).why
    assert cls.runs((4321, 4321, *(4312,) * 18)) == "4321 for k = 1–2, 4312 for k = 3–20"
    assert cls.judged_edges([4, 22]).verdict is Verdict.FAILS
    assert cls.judged_edges([4, 10]).verdict is Verdict.CORRECTED
    assert cls.judged_variance(3142).verdict is Verdict.HOLDS
    assert cls.judged_variance(3412).verdict is Verdict.FAILS


def test_judged_scores_of_iris():
    def judged(constrained, cut, plain=1.0):
        scores = {"CLS": constrained, "CLS, cannot-links cut": cut, "LS, Eq. 1": plain}
        return cls.judged_smaller(
            {name: np.full(4, value) for name, value in scores.items()}
        ).verdict

    assert judged(0.1, 0.02) is Verdict.HOLDS  # the cut matters more than all the rest
    assert judged(0.1, 0.0999) is Verdict.CORRECTED
    assert judged(1.1, 1.0) is Verdict.FAILS
    # 8/2 = 4 against 6/2 = 3, and against 8/2: the gap is between the better of F1, F2 and the
    # worse of F3, F4.
    wide, narrow = np.array([8.0, 9, 1, 2]), np.array([6.0, 9, 1, 2])
    assert cls.judged_gap({"CLS": wide, "LS": narrow}).verdict is Verdict.HOLDS
    assert cls.judged_gap({"CLS": wide, "LS": wide}).verdict is Verdict.FAILS


# Algebra
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize(
    "labeled", [np.arange(0), np.array([0, 1, 60, 72, 77, 110, 149]), np.arange(150)]
)
def test_the_matrices_are_those_of_the_library(labeled, cut):
    score = cls.dense_score(IRIS_X, IRIS_Y, labeled, cut=cut)
    dense = [score.numerator(f) / score.denominator(f) for f in IRIS_X.T]
    pairs = halves.labeled_pairs(IRIS_Y, labeled)
    assert_allclose(
        dense, constrained_laplacian_score(IRIS_X, *pairs, cut_cannot_link=cut), rtol=1e-9
    )


def test_the_spectral_form_by_hand():
    """Samples 1 and 2 are cannot-linked and have degrees 1 and 3. L D f = L (−2, −3) = (1, −1), so
    f L D f = −2 + 1 = −1.

    After adding 2: L (0, 3) = (−3, 3), and f = (0, 1) gives 3. Eq. 4 with its mean 0 of (−2, −1, 3)
    does not change: V = {1, 2}, sample 1: 1 · ((−2 − 0)² + (−2 + 1)²), sample 2: 3 · ((−1 + 2)² +
    (−1 − 0)²), sample 3: 2 · 2 · (3 − 0)².
    """
    weights = np.array([[0.0, 1, 0], [1, 0, 2], [0, 2, 0]])
    apart = np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]])
    score = DenseScore(weights, apart)
    f = np.array([-2.0, -1, 3])
    assert_array_equal(score.degree, [1, 3, 2])
    assert score.spectral(f) == 2 * -1
    assert score.spectral(f + 2) == 2 * 3
    assert score.denominator(f) == score.denominator(f + 2) == 5 + 6 + 36


def test_judged_algebra():
    assert cls.judged_spectral([1.0, 1.0], [1.0, 1.0], [0.0]).verdict is Verdict.HOLDS
    judged = cls.judged_spectral([-0.5, 0.25], [3.0, -4.0], [0.25, 0.5])
    assert judged.verdict is Verdict.FAILS
    assert "−0.50 to 0.25" in judged.why
    assert "38 %" in judged.why
    with_labels = cls.dense_score(IRIS_X, IRIS_Y, np.arange(150))
    cut = cls.dense_score(IRIS_X, IRIS_Y, np.arange(150), cut=True)
    assert cls.judged_all_labels(IRIS_X, IRIS_Y, cut, cut).verdict is Verdict.HOLDS
    assert cls.judged_all_labels(IRIS_X, IRIS_Y, with_labels, cut).verdict is Verdict.CORRECTED
    assert cls.judged_all_labels(IRIS_X, IRIS_Y, with_labels, with_labels).verdict is Verdict.FAILS
    without = cls.dense_score(IRIS_X, IRIS_Y, np.arange(0))
    assert cls.judged_no_labels(IRIS_X, without).verdict is Verdict.HOLDS
    assert cls.judged_no_labels(IRIS_X, with_labels).verdict is Verdict.FAILS


def test_the_cost_of_a_map_grows_with_the_power_of_three_halves():
    """Every epoch compares u samples with √u units. The lemma has u, and all pairs have u²."""
    assert cls.judged_lemma_1().verdict is Verdict.HOLDS
    judged = cls.judged_lemma_2()
    assert judged.verdict is Verdict.CORRECTED
    assert "power of 1.50" in judged.why


# Waveform
# --------------------------------------------------------------------------------------------------


def test_noise_columns_are_counted_at_the_bad_end():
    # x40 is the worst, then x39, …: all of x21–x40 are last, but x1 is first.
    scores = np.arange(40.0)
    assert cls.noise_found(scores) == NoiseFound(20, 20)
    scores[0] = 100.0  # now x1 is the worst, and x21 falls out of the worst 20
    assert cls.noise_found(scores) == NoiseFound(19, 21)
    # The worst 20 are x2–x21, the worst 21 x2–x22
    assert cls.noise_found(-scores) == NoiseFound(1, 2)


def test_judged_noise():
    def judged(literal, widened, clusters=16):
        found = dict.fromkeys(
            ("LS, map, λ = mean d²", "CLS, map lifted to the samples, λ = 0.1"), NoiseFound(20, 21)
        )
        found |= {
            "CLS, map, λ = 0.1": NoiseFound(literal, 16),
            "CLS, map, λ = mean d²": NoiseFound(widened, 21),
        }
        found |= {
            "CLS, k-means, λ = 0.1": NoiseFound(15, clusters),
            "CLS, k-means, λ = mean d²": NoiseFound(19, 21),
        }
        return cls.judged_noise(found).verdict, cls.judged_clustering(found).verdict

    assert judged(19, 15) == (Verdict.HOLDS, Verdict.HOLDS)
    assert judged(15, 19) == (Verdict.CORRECTED, Verdict.HOLDS)
    assert judged(15, 18, clusters=12) == (Verdict.FAILS, Verdict.FAILS)


@pytest.fixture
def real_data(monkeypatch):
    if not REAL_DATA.is_dir():
        pytest.skip("GRAPHSIEVE_DATA names no folder of real data sets")
    monkeypatch.setenv("GRAPHSIEVE_DATA", str(REAL_DATA))


@pytest.mark.slow
def test_waveform_noise_is_found_once_the_bandwidth_fits(monkeypatch, one_thread):
    """Of the 19 columns x22–x40, 17 or 18 are in the last 19 places. The others are x1 and x21."""
    monkeypatch.setattr(running, "load", lookalikes.load_stand_in)
    findings = cls.waveform(QUICK)
    cells = {(cell.row, cell.column): cell.ours for cell in findings.tables[0].cells}
    for row in ("CLS, map, λ = mean d²", "CLS, map lifted to the samples, λ = 0.1"):
        assert cells[row, "of all noise among the worst 21"] >= 20
    assert findings.judgements["fig-3"].verdict is Verdict.CORRECTED


# Halves and accuracies
# --------------------------------------------------------------------------------------------------


def test_first_halves_and_first_labels():
    # Five of class 0, three of class 1: the larger halves are three and two
    y = np.array([0, 0, 1, 0, 1, 0, 0, 1])
    assert_array_equal(halves.first_halves(y, np.arange(8)), [0, 1, 2, 3, 4])
    assert_array_equal(halves.first_halves(y, np.arange(8)[::-1]), [7, 6, 5, 4, 3])
    # 0 and 1 in turn: rows 0, 2, 1, 4, 3
    assert_array_equal(halves.first_of_each_class(y, 5), [0, 1, 2, 3, 4])
    assert_array_equal(halves.first_of_each_class(y, 3), [0, 1, 2])
    assert_array_equal(halves.first_of_each_class(y, 4), [0, 1, 2, 4])
    assert_array_equal(halves.only(y, np.array([2, 3])), [-1, -1, 1, 0, -1, -1, -1, -1])


@pytest.mark.parametrize(
    "reading", dict.fromkeys([*SMALL_READINGS, *LARGE_READINGS]), ids=lambda reading: reading.title
)
def test_divisions_show_few_labels_of_one_half(reading):
    y = np.repeat([0, 1, 2], [20, 11, 8])
    division = halves.divided(y, reading, 7, np.random.default_rng(0))
    assert sorted([*division.train, *division.test]) == list(range(39))
    assert_array_equal(np.bincount(y[division.train]), [10, 6, 4])
    shown = np.flatnonzero(division.few >= 0)
    assert len(shown) == 7
    assert set(shown) <= set(division.train)
    assert_array_equal(division.few[shown], y[shown])
    other = halves.divided(y, reading, 7, np.random.default_rng(1))
    assert np.array_equal(division.few, other.few) == (not reading.by_chance)


def test_accuracies_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 30)), rng.integers(0, 3, 60)
    X[:, :4] += y[:, None]
    order, sizes = rng.permutation(30), (1, 2, 5, 17, 30)
    found = halves.nearest_neighbor_accuracies(order, sizes, (X[:35], y[:35]), (X[35:], y[35:]))
    for size, accuracy in zip(sizes, found, strict=True):
        chosen = X[:, order[:size]]
        assert accuracy == pytest.approx(
            100 * KNeighborsClassifier(1).fit(chosen[:35], y[:35]).score(chosen[35:], y[35:])
        )


def test_no_filter_sees_the_other_half():
    """Values of the test rows affect no order, unless the reading scores all samples.

    Labels of the test rows never do.
    """
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 25)
    X = rng.normal(size=(50, 6)) + y[:, None] * np.arange(6)
    division = halves.divided(y, PRINTED, 6, rng)
    other, flipped = X.copy(), y.copy()
    other[division.test] = rng.normal(size=(len(division.test), 6))
    flipped[division.test] = 1 - y[division.test]
    everywhere = Reading("all", scored_on="all")
    changed = 0
    for name in halves.FILTERS:
        order = halves.ranked_in_half(X, y, division, PRINTED, name)
        assert_array_equal(order, halves.ranked_in_half(other, flipped, division, PRINTED, name))
        seen = halves.ranked_in_half(X, y, division, everywhere, name)
        assert_array_equal(seen, halves.ranked_in_half(X, flipped, division, everywhere, name))
        changed += not np.array_equal(
            seen, halves.ranked_in_half(other, y, division, everywhere, name)
        )
    assert changed


def test_scaling_is_learned_from_the_half():
    X = np.array([[0.0, 5], [4, 5], [100, 6]])
    assert_allclose(halves.scaled(X, np.array([0, 1]), "minmax"), [[-0.5, 0], [0.5, 0], [24.5, 1]])
    assert_allclose(halves.scaled(X, np.array([0, 1]), "standard"), [[-1, 0], [1, 0], [49, 1]])
    assert halves.scaled(X, np.array([0, 1]), None) is X


def test_grids_end_with_all_features():
    large, small = PROBLEMS["leukemia"], PROBLEMS["sonar"]
    assert large.sizes(7129)[-1] == 7129
    assert large.averaged(7129).sum() == 20
    assert small.sizes(60) == tuple(range(1, 61))
    assert small.averaged(60).all()


# Earlier results of the deterministic columns of Table 2. The printed CLS of Soybean, 95.1, is not
# among them. With unscaled features, λ = 0.1 and k = 5 or 10, it is 91.4 to 92.4 for every choice
# of labels. Scaled features or a larger λ reach 95.
FOUND_BEFORE = {
    "ionosphere": {"Variance": 82.8, "Laplacian": 81.5, "Fisher": 85.8, "CLS": 81.8},
    "soybean_small": {"Variance": 88.9, "Laplacian": 91.3, "Fisher": 94.8},
}
FOUND_WITH_DRAWN_LABELS = {"ionosphere": 85.5, "soybean_small": 91.9}  # CS


@pytest.mark.slow
@pytest.mark.parametrize("name", FOUND_BEFORE)
def test_table_2(name, real_data, one_thread):
    data, problem = QUICK.load(name), PROBLEMS[name]
    found = halves.curves((data.X, data.y), problem, PRINTED, problem.filters, [0])
    for which, accuracy in FOUND_BEFORE[name].items():
        assert found[which].mean() == pytest.approx(accuracy, abs=1.0), which
    for which in ("Variance", "Fisher"):
        assert found[which].mean() == pytest.approx(TABLE_2[name][which][0], abs=1.0), which
    drawn = halves.curves((data.X, data.y), problem, DRAWN, ("CS",), range(30))["CS"].mean(axis=1)
    assert drawn.mean() == pytest.approx(
        FOUND_WITH_DRAWN_LABELS[name], abs=1.0 + 3 * drawn.std(ddof=1) / 30**0.5
    )


def test_the_least_spread_by_hand():
    """One column reaches 75 % at best (three of four test samples), 10 points below a mean of 85.

    m − 1 is 1.
    """
    train, test = [[0.0, 9], [0, 9], [1, 9], [1, 9]], [[0.0, 9], [0, 9], [1, 9], [0, 9]]
    y = np.array([0, 0, 1, 1, 0, 0, 1, 1])
    data = Dataset("made up", np.array(train + test), y, "classification", ("x1", "x2"), ("0", "1"))
    assert halves.least_spread(data, 85.0) == pytest.approx(10.0)
    assert halves.least_spread(data, 60.0) == 0


# Verdicts on made-up numbers
# --------------------------------------------------------------------------------------------------


def explored(
    name: str, accuracies: dict[Reading, dict[str, float]], noise: float = 0.0
) -> Explored:
    """Curves that are flat at the given accuracies, with a little chance in the random readings."""
    problem = PROBLEMS[name]
    n_features = 20
    n_sizes = len(problem.sizes(n_features))
    curves = {}
    for reading in problem.readings:
        given = accuracies.get(reading, accuracies[PRINTED])
        shake = np.array([-noise, noise])[:, None] if reading.by_chance else np.zeros((1, 1))
        curves[reading.title] = {
            which: np.full((len(shake), n_sizes), given.get(which, 50.0)) + shake
            for which in (*problem.filters, RANDOM)
        }
    return Explored(problem, n_features, curves)


PRINTED_IONOSPHERE = {which: mean for which, (mean, _) in TABLE_2["ionosphere"].items()}


@pytest.mark.parametrize(
    ("printed_off", "drawn_off", "halves_off", "noise", "verdict"),
    [
        (1.0, 9.0, 9.0, 0.0, Verdict.HOLDS),
        (9.0, 1.0, 9.0, 0.0, Verdict.HOLDS),
        (9.0, 9.0, 1.0, 0.0, Verdict.CORRECTED),
        (9.0, 9.0, 9.0, 0.0, Verdict.FAILS),
        # Two repetitions 0.1 off either way: chance reaches 12.7 · 0.1
        (9.0, 9.0, 2.5, 0.1, Verdict.CORRECTED),
    ],
)
def test_judged_cells(printed_off, drawn_off, halves_off, noise, verdict):
    # The others of the row are as printed: random halves alone must explain all of it.
    given = {
        reading: {**PRINTED_IONOSPHERE, "CS": PRINTED_IONOSPHERE["CS"] - off}
        for reading, off in ((PRINTED, printed_off), (DRAWN, drawn_off), (HALVES, halves_off))
    }
    found = explored("ionosphere", given, noise)
    judged = cls.judged_cells(found, PRINTED_IONOSPHERE, ["CS"])
    assert judged.verdict is verdict
    assert f"/ {PRINTED_IONOSPHERE['CS'] - printed_off:.1f} /" in judged.why
    if verdict is Verdict.CORRECTED:
        other = cls.judged_cells(found, {**PRINTED_IONOSPHERE, "Fisher": 10.0}, ["CS"])
        assert other.verdict is Verdict.FAILS


def test_disagreeing_cells_are_named():
    found = explored("ionosphere", {PRINTED: {"CS": 85.1, "Fisher": 86.0}})
    assert (
        "all but Variance agree"
        in cls.judged_cells(found, PRINTED_IONOSPHERE, ["CS", "Fisher", "Variance"]).why
    )
    assert "none agrees" in cls.judged_cells(found, PRINTED_IONOSPHERE, ["Variance"]).why


def sure(mean: float) -> Estimate:
    return Estimate(mean, 0.0, 9)


def test_gains_by_hand():
    found = explored(
        "leukemia",
        {PRINTED: {"CLS": 60, "Fisher": 58}, WIDE_HALVES: {"CLS": 61, "Fisher": 64}},
        noise=1.0,
    )
    gains = halves.gains_over(found, ["Fisher", RANDOM])
    assert gains == {  # chance moves all filters alike
        "λ = 0.1": {"Fisher": Gain(2, Estimate(2, 0, 2)), RANDOM: Gain(10, Estimate(10, 0, 2))},
        "λ = mean d²": {
            "Fisher": Gain(2, Estimate(-3, 0, 2)),
            RANDOM: Gain(10, Estimate(11, 0, 2)),
        },
    }
    assert gains["λ = 0.1"]["Fisher"] == halves.gain_over(found, "Fisher")
    # The end of any curve, here that of the first filter
    assert_allclose(found.means(HALVES, ALL), [49, 51])
    assert str(Gain(-1.26, Estimate(0.02, 0.5, 9))) == "−1.3 (0.0 ± 0.5)"


GOOD, BAD = Gain(5, sure(5)), Gain(-5, sure(-5))


@pytest.mark.parametrize(
    ("gain", "better", "worse"),
    [
        (Gain(1, sure(1)), Verdict.HOLDS, Verdict.FAILS),
        # Random halves are undecided, with a mean on the other side.
        (Gain(1, Estimate(-1, 1, 9)), Verdict.HOLDS, Verdict.CORRECTED),
        (Gain(1, Estimate(-3, 1, 9)), Verdict.FAILS, Verdict.CORRECTED),
        (Gain(-1, Estimate(3, 1, 9)), Verdict.CORRECTED, Verdict.FAILS),
        (Gain(-1, Estimate(-0.5, 1, 9)), Verdict.FAILS, Verdict.HOLDS),
        (Gain(-1, Estimate(0.5, 1, 9)), Verdict.CORRECTED, Verdict.HOLDS),
        (Gain(0, sure(0)), Verdict.FAILS, Verdict.FAILS),
    ],
)
def test_gains_decide(gain, better, worse):
    assert cls.judged_fisher(gain, superior=True).verdict is better
    assert cls.judged_fisher(gain, superior=False).verdict is worse
    assert cls.judged_better({"CS": GOOD, "Variance": gain}).verdict is better
    either = {"λ = 0.1": {"CS": BAD}, "λ = mean d²": {"CS": gain, "C4": GOOD}}
    assert cls.judged_superior(either).verdict is better
    assert cls.judged_everywhere(either, {"λ = 0.1": 0.0, "λ = mean d²": 0.0}).verdict is better
    assert (
        cls.judged_everywhere(either, {"λ = 0.1": 0.0, "λ = mean d²": -2.0}).verdict
        is Verdict.FAILS
    )
    assert (
        cls.judged_pie(
            {title: {"Laplacian": GOOD, "F3+r": gain, "ReliefF": BAD} for title in LAMBDAS}
        ).verdict
        is better
    )
    assert (
        cls.judged_pie({"λ = 0.1": {"Laplacian": GOOD, "F3+r": GOOD, "ReliefF": gain}}).verdict
        is worse
    )


def test_judged_comparable():
    behind, near, near_on_random = Gain(-9, sure(-4)), Gain(-2, sure(-2)), Gain(-9, sure(-2))
    for other, verdict in (
        (behind, Verdict.FAILS),
        (near, Verdict.HOLDS),
        (near_on_random, Verdict.CORRECTED),
    ):
        given = {"λ = 0.1": {"Fisher": behind}, "λ = mean d²": {"Fisher": other, "CS": GOOD}}
        assert cls.judged_comparable(given).verdict is verdict


def test_judged_level():
    def judged(first, random):
        found = explored(
            "pie10p",
            {
                PRINTED: {"CLS": first},
                WIDE: {"CLS": 1},
                HALVES: {"CLS": random},
                WIDE_HALVES: {"CLS": 1},
            },
        )
        return cls.judged_level(found, 90.0).verdict

    assert judged(90, 10) is Verdict.HOLDS
    assert judged(80, 95) is Verdict.CORRECTED
    assert judged(80, 85) is Verdict.FAILS


def test_judged_spread():
    least, not_least = {"CS": 3.0, "CLS": 2.0}, {"CS": 1.0, "CLS": 2.0}
    assert cls.judged_spread(least, 2.1, 1.0).verdict is Verdict.HOLDS
    assert cls.judged_spread(not_least, 2.1, 1.0).verdict is Verdict.FAILS
    impossible = cls.judged_spread(least, 1.3, 2.14)
    assert impossible.verdict is Verdict.FAILS
    assert "impossible" in impossible.why


def levels(first: dict[str, tuple[float, ...]], noise: float = 0.0) -> Levels:
    """Return four repetitions. Differences of CLS have standard errors of 0.58 times the noise."""
    values = {}
    for which in ("first", "random"):
        for name in LEVEL_SERIES:
            shake = noise * np.array([-1, -1, 1, 1])[:, None] if name == "CLS" else np.zeros((4, 1))
            values[which, name] = np.array(first.get(name, (50.0,) * 8)) + shake
    return Levels(LABEL_COUNTS, values)


def test_judged_leads():
    def judged(ahead, noise):
        found = levels({"CLS": (50 + ahead,) * 3 + (0.0,) * 5}, noise)
        return cls.judged_lead(found, "CLS", ("Fisher", "CS"), cls.FEWEST).verdict

    assert judged(2.0, 0.0) is Verdict.HOLDS
    assert judged(0.5, 0.0) is Verdict.FAILS
    assert judged(0.5, 1.0) is Verdict.HOLDS  # few repetitions cannot exclude a lead of one point
    assert judged(-5.0, 1.0) is Verdict.FAILS
    many = levels({"Fisher": (0.0,) * 5 + (60.0,) * 3, "CS": (50.0,) * 5 + (60.1,) * 3})
    assert cls.judged_lead(many, "Fisher", ("CLS",), cls.MOST).verdict is Verdict.HOLDS
    assert cls.judged_lead(many, "Fisher", ("CS", "CLS"), cls.MOST).verdict is Verdict.FAILS


def test_judged_rise_and_enough():
    fast_then_slow = (80.0, 82, 84, 86, 88, 88, 88.5, 89)
    slow_then_fast = (80.0, 80, 80, 80, 80, 85, 88, 95)
    flat, rising = (90.0,) * 8, (80.0, 81, 82, 83, 84, 85, 86, 87)
    for curve, rises in (
        (fast_then_slow, True),
        (slow_then_fast, False),
        (flat, False),
        (rising[::-1], False),
    ):
        assert (cls.judged_rise(levels({"CLS": curve})).verdict is Verdict.HOLDS) is rises
    for ours, fisher, enough in (
        (flat, rising, True),
        (fast_then_slow, rising, False),  # needs labels itself
        (flat, flat, False),  # Fisher needs none
        (tuple(x - 20 for x in flat), rising, False),  # behind from the start
    ):
        assert (
            cls.judged_enough(levels({"CLS": ours, "Fisher": fisher})).verdict is Verdict.HOLDS
        ) is enough


def test_judged_bandwidth_and_conclusion():
    fine, hollow, empty = (
        Kernel(0.1, 1, 0.0, 3.0),
        Kernel(6, 20, 0.0, 0.01),
        Kernel(1e5, 1e6, 1.0, 0.01),
    )
    assert (fine.serves, hollow.serves, empty.serves) == (True, False, False)
    assert cls.judged_bandwidth({"a": fine, "b": fine, "c": empty}).verdict is Verdict.HOLDS
    judged = cls.judged_bandwidth({"a": fine, "b": hollow, "c": empty})
    assert judged.verdict is Verdict.FAILS
    assert "On c, most samples" in judged.why
    assert (
        cls.judged_conclusion({"CS": 3, RANDOM: 0}, {"CS": 3, RANDOM: 5}, 7).verdict
        is Verdict.HOLDS
    )
    assert (
        cls.judged_conclusion({"CS": 2, "Fisher": 3}, {"CS": 3, "Fisher": 0}, 7).verdict
        is Verdict.FAILS
    )


def test_kernels_of_known_distances():
    """Eleven samples on a line have all pairs as neighbours. The weight of d² = 1 is e^−10.

    With steps of 9, the weight of d² = 81 is zero.
    """
    steps = np.arange(11.0)[:, None]
    near, far = halves.kernel(steps), halves.kernel(9 * steps)
    assert (near.shortest, near.without_weight) == (1, 0)
    assert (far.shortest, far.without_weight) == (81, 1)
    # Ten edges of the shortest length count; the next weigh e^−30 as much.
    assert near.effective_edges == pytest.approx(10 / 11)


# The whole experiment
# --------------------------------------------------------------------------------------------------


def test_statements_are_unique():
    statements = [statement for part in EXPERIMENT.parts for statement in part.statements]
    assert len({statement.key for statement in statements}) == len(statements) >= 40
    assert all(statement.text.endswith(".") and statement.where for statement in statements)
    assert set(TABLE_2) < set(PROBLEMS)


def test_work_can_be_sent_to_other_processes():
    items = (
        halves.curves,
        halves.level_accuracies,
        cls.share_of_order,
        PROBLEMS["pix10p"],
        *LARGE_READINGS,
        Run(),
    )
    assert pickle.loads(pickle.dumps(items)) == items


def made_up(name: str, **_) -> Dataset:
    """Return small artificial data of the right kind for every name."""
    if name == "iris":
        return Dataset(name, IRIS_X, IRIS_Y, "classification", tuple("abcd"), ("0", "1", "2"))
    if name == "waveform40":
        return replace(make_waveform(480, random_state=0), name=name)
    n_classes = {"soybean_small": 4, "pie10p": 10, "pix10p": 10}.get(name, 2)
    n_features = {"leukemia": 2700, "colon": 560}.get(name, 24)
    rng = np.random.default_rng(len(name))
    y = np.tile(np.arange(n_classes), 60 // n_classes)
    X = rng.normal(size=(60, n_features)) + 0.5 * y[:, None] * (np.arange(n_features) % 3 == 0)
    X[:, 1] = 7.0  # as in Ionosphere
    names = tuple(map(str, range(n_features)))
    return Dataset(name, X.astype(np.float32), y, "classification", names, names[:n_classes])


@pytest.fixture
def few_repetitions(monkeypatch):
    monkeypatch.setattr(running, "load", made_up)
    monkeypatch.setattr(Run, "repetitions", lambda self, quick, full: 2)
    monkeypatch.setattr(halves, "LABEL_COUNTS", LABEL_COUNTS[:4])
    halves.explored.cache_clear()
    yield
    halves.explored.cache_clear()


@pytest.mark.slow
def test_everything_runs_on_made_up_data(few_repetitions, one_thread):
    found = perform(EXPERIMENT, QUICK)
    facts = found.facts()
    assert from_facts(facts).facts() == facts
    assert len(found.claims) == sum(len(part.statements) for part in EXPERIMENT.parts)
    for claim in found.claims:
        assert claim.verdict is not Verdict.NO_DATA
        assert len(claim.why) > 40
        assert not {"nan", "inf"} & set(claim.why.lower().replace("(", " ").split())
    keys = [
        (table.label, table.title, cell.row, cell.column)
        for table in found.tables
        for cell in table.cells
    ]
    assert len(set(keys)) == len(keys)
    assert all(
        cell.ours is not None and np.isfinite(cell.ours)
        for table in found.tables
        for cell in table.cells
    )
    for table in found.tables:
        if table.title.endswith("accuracy of 1-NN"):
            assert {RANDOM, ALL} <= {cell.column for cell in table.cells}
            by_chance = {
                cell.row
                for cell in table.cells
                if cell.column == "CLS" and cell.standard_error is not None
            }
            assert by_chance <= {HALVES.title, DRAWN.title, WIDE_HALVES.title}
    labels = [figure.label for figure in found.figures]
    assert {label: labels.count(label) for label in labels} == {
        "Figure 3": 1,
        "Figure 4": 6,
        "Figure 5": 6,
        "Figure 6": 6,
        "Figure 7": 6,
    }
    for figure in found.figures:
        for series in figure.series:
            assert len(series.x) == len(series.y) == len(series.standard_error or series.x)
    assert any("k = 10" in sentence for sentence in found.settings)


@pytest.mark.parametrize(
    ("name", "reading"), [("colon", WIDE_HALVES), ("sonar", DRAWN), ("sonar", WIDE)]
)
def test_filters_that_a_reading_does_not_affect_are_not_run_again(
    name, reading, few_repetitions, one_thread
):
    """Their curves are copied from the reading with the same halves, and are correct."""
    problem, data = PROBLEMS[name], made_up(name)
    found = halves.explored(problem, QUICK)
    seeds = QUICK.seeds(2, f"{name}, {reading.halves} halves, {reading.labels} labels")
    again = halves.curves((data.X, data.y), problem, reading, problem.filters, seeds)
    for which, curves in again.items():
        assert_array_equal(
            np.broadcast_to(found.curves[reading.title][which], curves.shape), curves
        )
    other = found.curves[SAME_HALVES[reading].title]["CLS"]
    assert not np.array_equal(again["CLS"], np.broadcast_to(other, again["CLS"].shape))


def test_missing_data_are_named(monkeypatch, tmp_path):
    """Iris is part of scikit-learn. All other data sets are missing and not downloaded."""
    monkeypatch.setenv("GRAPHSIEVE_DATA", str(tmp_path))
    halves.explored.cache_clear()
    parts = tuple(part for part in EXPERIMENT.parts if part.run is not cls.iris)
    found = {claim.key: claim for claim in perform(Experiment("cls", "", "", parts), QUICK).claims}
    for key in ("fig-3", "table-2-sonar-cls", "fig-6-colon-few", "fig-7-pix10p", "conclusion"):
        assert found[key].verdict is Verdict.NO_DATA
    assert "pix10p" in found["fig-7-pix10p"].why
    assert found["spectral"].verdict is Verdict.FAILS
    assert "Of 1 data sets" in found["bandwidth"].why


def test_the_plain_score_is_the_library_s():
    """The score that the tables call LS is He's: half of Eq. 1 but for the mean."""
    scores = cls.iris_scores(IRIS_X, IRIS_Y)
    assert_allclose(scores["LS"], laplacian_score(IRIS_X, n_neighbors=10, bandwidth=0.1))
    assert (scores["LS, Eq. 1"] <= 2 * scores["LS"]).all()  # a spread around another mean is larger
    assert len(IRIS_NEIGHBORS) == 20

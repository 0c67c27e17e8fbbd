"""Tests of the reproduction of the paper on imprecise labels."""

from __future__ import annotations

import json
import pickle
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import KNeighborsClassifier

import lookalikes
from graphsieve.assess.evaluation.results import standard_error
from graphsieve.datasets import make_expert_labels, make_y4
from graphsieve.papers import experiment as running
from graphsieve.papers import wls
from graphsieve.papers.estimate import Estimate
from graphsieve.papers.experiment import Run, perform
from graphsieve.papers.results import Verdict, from_facts
from graphsieve.papers.wls import (
    CIRCLE,
    EXPERIMENT,
    FRIEDMAN,
    PROBLEMS,
    SPHERES,
    SQUARES,
    STRATEGIES,
    TABLE_1,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    TABLE_5,
    TRUTH,
    Y4,
    Y4_PRINTED,
    Y4_THREE,
    Y5,
    Accuracies,
    Measured,
)
from graphsieve.scores import weighted_laplacian_score

QUICK, FULL = Run(quick=True, download=False), Run(quick=False, download=False)
REPETITIONS = 500

# Tables
# --------------------------------------------------------------------------------------------------

# Earlier results of 2,000 repetitions: WLS, y^max and y^error at the four doubts of the table; for
# Y5 only WLS.
FOUND_BEFORE = {
    "spheres": ((99.7, 98.7, 97.0, 92.6), (98.5, 96.0, 91.8, 84.5), (97.1, 93.6, 88.2, 82.5)),
    "squares": ((100, 99.7, 98.7, 94.3), (99.6, 98.1, 92.5, 82.5), (99.0, 96.2, 90.9, 81.5)),
    "circle": ((97.8, 96.1, 90.0, 76.9), (96.2, 92.9, 83.8, 68.7), (94.5, 88.4, 76.6, 59.4)),
    "Y4": ((94.9, 93.0, 89.4, 84.8), (92.5, 89.3, 84.8, 78.7), (90.2, 86.6, 81.4, 75.5)),
    "Y5": ((81.0, 78.4, 73.0, 66.2),),
}


@pytest.fixture(scope="module")
def measured(one_thread) -> dict[str, Measured]:
    problems = (*PROBLEMS, Y4_PRINTED, Y4_THREE, FRIEDMAN)
    return {problem.name: wls.measure(QUICK, problem, REPETITIONS) for problem in problems}


@pytest.mark.slow
@pytest.mark.parametrize(
    "problem", [SPHERES, SQUARES, CIRCLE, Y4], ids=lambda problem: problem.name
)
def test_tables_1_to_4_agree_with_the_paper(measured, problem):
    distances = measured[problem.name].cells_with_distances()
    assert len(distances) == 12
    assert distances[0][0] <= 3, distances[0]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_tables_agree_with_earlier_results(measured, problem):
    found = measured[problem.name].found
    for strategy, row in enumerate(FOUND_BEFORE[problem.name]):
        for place, before in enumerate(row):
            values = found[:, place, strategy]
            # Standard deviation of one repetition. Near 100 %, where ours is based on a few misses,
            # the binomial one is used.
            middle = (values.mean() + before) / 200
            deviation = max(
                values.std(ddof=1), 100 * np.sqrt(middle * (1 - middle) / len(problem.relevant))
            )
            error = deviation * np.sqrt(1 / REPETITIONS + 1 / 2000)
            # Earlier results are rounded to one decimal.
            assert abs(values.mean() - before) <= 3 * error + 0.05, (
                STRATEGIES[strategy],
                problem.doubts[place],
            )


def test_table_5_is_out_of_reach(measured):
    """f3 shifts no class mean, so it is the best of six by chance: 4/5 + 1/5 · 1/6."""
    for name in (Y5.name, FRIEDMAN.name):
        truth = measured[name].at(0.25, TRUTH)
        assert abs(truth.mean() - 100 * (4 / 5 + 1 / 30)) <= 3 * standard_error(truth)
    judged = wls.table_5_judgement(measured[Y5.name], measured[FRIEDMAN.name])
    assert judged.verdict is Verdict.FAILS
    # The seven printed cells above 84 %.
    assert "83.3 %" in judged.why
    assert "7 of the 12 printed cells" in judged.why


def test_table_4_holds_with_the_formula_corrected(measured):
    judged = wls.table_4_judgement(measured)
    assert judged.verdict is Verdict.CORRECTED
    assert "does not depend on f2" in judged.why


def test_printed_percentages_imply_the_number_of_counted_features():
    """Multiples of 2/3, 1, 1, 1/2 and 2/5 in 50 data sets imply 3, 2, 2, 4 and 5 features."""
    assert [
        wls.features_counted(table) for table in (TABLE_1, TABLE_2, TABLE_3, TABLE_4, TABLE_5)
    ] == [3, 2, 2, 4, 5]
    assert [len(problem.relevant) for problem in PROBLEMS] == [3, 2, 2, 4, 5]


def test_problems_have_the_relevant_features():
    for problem in (*PROBLEMS, Y4_THREE, FRIEDMAN):
        data = problem.make(random_state=0)
        assert_array_equal(data.relevant, problem.relevant)
        assert data.X.shape[1] == problem.n_features
    friedman = wls.make_friedman(random_state=3)
    assert_array_equal(np.bincount(friedman.y), [150, 150])
    x = friedman.X.T
    outputs = 10 * np.sin(np.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]
    assert outputs[friedman.y == 0].max() < outputs[friedman.y == 1].min()


def test_the_claims_of_the_text_follow_from_the_same_numbers(measured):
    main = [measured[problem.name] for problem in PROBLEMS]
    assert wls.always_better(main, QUICK).verdict is Verdict.HOLDS
    # The circle at 0.25 and 0.30
    assert "2 rows in which WLS does not lead" in wls.always_better(main, QUICK).why
    assert wls.gap_grows(main, QUICK).verdict is Verdict.HOLDS
    assert wls.error_worst(main, QUICK).verdict is Verdict.HOLDS
    assert "Below 90 % individually: Y5" in wls.ninety_percent(main, QUICK).why
    spheres = wls.gap_in_text(measured["spheres"], wls.SPHERES_GAPS)
    assert spheres.verdict is Verdict.CORRECTED
    assert "7.33 at μ = 0.35 is a misprint: the paper's table has it at μ = 0.40" in spheres.why
    assert wls.gap_in_text(measured["squares"], wls.SQUARES_GAPS).verdict is Verdict.HOLDS


# Verdicts follow the numbers
# --------------------------------------------------------------------------------------------------


def invented(problem, shift=0.0):
    """Return 50 repetitions with the means of the paper plus a shift. True labels find all."""
    noise = np.resize([-5.0, 5.0], 50)
    found = np.full((50, len(problem.doubts), 5), 100.0)
    for place, row in enumerate(problem.printed.values()):
        for strategy, cell in enumerate(row):
            found[:, place, strategy] = cell + shift + noise
    return Measured(problem, found)


@pytest.mark.parametrize(
    ("shifts", "verdict"),
    [
        ((0, 0, 0), Verdict.HOLDS),
        ((0, -30, -30), Verdict.HOLDS),
        ((-30, 0, 0), Verdict.CORRECTED),
        ((-30, -30, 0), Verdict.FAILS),
    ],
)
def test_the_verdict_on_table_4(shifts, verdict):
    problems = (Y4_PRINTED, Y4, Y4_THREE)
    parts = {
        problem.name: invented(problem, shift)
        for problem, shift in zip(problems, shifts, strict=True)
    }
    assert wls.table_4_judgement(parts).verdict is verdict


@pytest.mark.parametrize(
    ("shift", "shift_with_pi", "verdict"),
    [(0, 0, Verdict.HOLDS), (-30, 0, Verdict.CORRECTED), (-30, -30, Verdict.FAILS)],
)
def test_the_verdict_on_table_5(shift, shift_with_pi, verdict):
    assert (
        wls.table_5_judgement(invented(Y5, shift), invented(FRIEDMAN, shift_with_pi)).verdict
        is verdict
    )


def test_verdicts_can_fail():
    assert wls.table_judgement(invented(SPHERES)).verdict is Verdict.HOLDS
    assert wls.table_judgement(invented(SPHERES, -30)).verdict is Verdict.FAILS
    turned = [
        Measured(problem, invented(problem).found[:, ::-1, [2, 1, 0, 3, 4]]) for problem in PROBLEMS
    ]
    for judge in (wls.always_better, wls.gap_grows, wls.error_worst):
        assert judge(turned, FULL).verdict is Verdict.FAILS
        assert judge([invented(problem) for problem in PROBLEMS], FULL).verdict is Verdict.HOLDS
    assert (
        wls.ninety_percent([invented(problem, -30) for problem in PROBLEMS], FULL).verdict
        is Verdict.FAILS
    )
    assert wls.gap_in_text(turned[0], wls.SPHERES_GAPS).verdict is Verdict.FAILS


def test_undecided_claims_hold_only_in_a_quick_run():
    assert (
        wls.weigh(Estimate(2.1, 1.0), FULL)[0]
        is wls.weigh(Estimate(2.1, 1.0), QUICK)[0]
        is Verdict.HOLDS
    )
    assert (
        wls.weigh(Estimate(-2.1, 1.0), FULL)[0]
        is wls.weigh(Estimate(-2.1, 1.0), QUICK)[0]
        is Verdict.FAILS
    )
    assert (
        wls.weigh(Estimate(1.9, 1.0), FULL)[0]
        is wls.weigh(Estimate(-1.9, 1.0), FULL)[0]
        is Verdict.FAILS
    )
    assert (
        wls.weigh(Estimate(1.9, 1.0), QUICK)[0]
        is wls.weigh(Estimate(-1.9, 1.0), QUICK)[0]
        is Verdict.HOLDS
    )


def test_distances_by_hand():
    values = np.resize([90.0, 100.0], 200)
    deviation = np.sqrt(200 / 199) * 5
    assert_allclose(
        wls.distance(90, values), 5 / np.hypot(deviation / np.sqrt(50), deviation / np.sqrt(200))
    )
    assert_allclose(wls.distance(90, values, of_paper=4), 5 / np.hypot(4, deviation / np.sqrt(200)))
    assert wls.distance(100, np.full(10, 100.0)) == 0
    # Halfway between 96 and 100 of 50 · 2 features: √(0.98 · 0.02 / 100).
    assert_allclose(wls.counting_error(96, 100, 2), 1.4)


# Scores and accuracies
# --------------------------------------------------------------------------------------------------


def test_scores_of_many_labelings_are_those_of_the_public_function():
    data = make_y4(60, random_state=1)
    labels = wls.memberships(data.y, (0.2, 0.4), 0.1, np.random.default_rng(2))
    assert labels.shape == (2, 5, 60, 3)
    together, weighted = (
        wls.weighted_scores(data.X + 50, labels),
        wls.weighted_scores(data.X, wls.balanced(labels)),
    )
    for doubt in range(2):
        for kind in range(5):
            assert_allclose(
                together[doubt, kind],
                weighted_laplacian_score(data.X, labels[doubt, kind]),
                rtol=1e-9,
            )
            expected = weighted_laplacian_score(
                data.X, labels[doubt, kind], class_weight="balanced"
            )
            assert_allclose(weighted[doubt, kind], expected, rtol=1e-9)


def test_the_five_kinds_of_labels():
    y = np.array([0, 1, 2, 2, 1, 0])
    kinds = wls.memberships(y, (0.4,), 0.1, np.random.default_rng(5))[0]
    expert = make_expert_labels(y, doubt=0.4, random_state=np.random.default_rng(5))
    assert_array_equal(kinds[0], expert.probabilities)
    assert_array_equal(kinds[1].argmax(axis=1), expert.most_probable)
    assert_array_equal(kinds[2].argmax(axis=1), expert.observed)
    assert_array_equal(kinds[TRUTH].argmax(axis=1), y)
    assert_allclose(kinds.sum(axis=2), 1)
    # One label with its confidence. The two other classes share the rest equally.
    for row, label in zip(kinds[3], expert.most_probable, strict=True):
        assert row.argmax() == label
        assert_allclose(np.sort(row)[:2], (1 - row.max()) / 2)
    assert_array_equal(kinds[3].max(axis=1), expert.probabilities.max(axis=1))


def test_percentage_found_by_hand():
    scores = np.array([[0.1, 0.2, 0.9, 0.3], [0.9, 0.1, 0.2, 0.3], [0.8, 0.9, 0.1, 0.2]])
    assert_array_equal(wls.percentage_found(scores, (0, 1)), [100, 50, 0])


def test_nearest_neighbours_are_those_of_scikit_learn():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(90, 7)), random.integers(3, size=90)
    orders = np.array([random.permutation(7) for _ in range(3)])
    curves = wls.prefix_accuracies(
        np.concatenate([orders, orders[:1]]), (X[:60], y[:60]), (X[60:], y[60:])
    )
    for order, curve in zip(orders, curves, strict=False):
        for size in range(1, 8):
            model = KNeighborsClassifier(1).fit(X[:60, order[:size]], y[:60])
            assert_allclose(curve[size - 1], 100 * model.score(X[60:, order[:size]], y[60:]))
    assert_array_equal(curves[3], curves[0])


def test_folds_have_equal_shares_of_every_class():
    y = np.repeat([0, 1, 2], [23, 40, 9])
    folds = wls.stratified_folds(y, np.random.default_rng(1))
    for rows in (y >= 0, y == 0, y == 1, y == 2):
        sizes = Counter(folds[rows].tolist())
        assert set(sizes) == set(range(5))
        assert max(sizes.values()) - min(sizes.values()) <= 1


@pytest.mark.slow
def test_features_are_selected_without_the_held_out_rows():
    """The first reading agrees with a plain loop: rank on the training rows, then apply 1-NN."""
    random = np.random.default_rng(8)
    y = np.repeat([0, 1, 2], 20)
    X = random.normal(size=(60, 5)) + y[:, None] * np.array([0.5, 0, 2, 0, 1])
    found = wls.accuracies(X, y, [np.random.SeedSequence(4)])[0]
    random = np.random.default_rng(np.random.SeedSequence(4))
    rows = random.permutation(60)
    X, y = X[rows], y[rows]
    folds = wls.stratified_folds(y, random)
    kinds = wls.memberships(y, (0.2, 0.3), 0.1, random)
    chance = random.permutation(5)
    for scaled, inside in ((False, True), (False, False), (True, True), (True, False)):
        for doubt, curve, kind in ((0, 0, 0), (1, 2, 2), (1, 4, None)):
            by_fold = []
            for fold in range(5):
                train = folds != fold
                seen = train if inside else np.full(60, True)
                order = (
                    chance
                    if kind is None
                    else weighted_laplacian_score(X[seen], kinds[doubt, kind][seen]).argsort()
                )
                Z = X / X[train].std(axis=0) if scaled else X
                models = [
                    KNeighborsClassifier(1).fit(Z[train][:, order[:size]], y[train])
                    for size in range(1, 6)
                ]
                by_fold.append(
                    [
                        model.score(Z[~train][:, order[: i + 1]], y[~train])
                        for i, model in enumerate(models)
                    ]
                )
            reading = 2 * scaled + (not inside)
            assert_allclose(found[reading, doubt, curve], 100 * np.mean(by_fold, axis=0))


def test_verdicts_on_the_figures_follow_the_curves():
    random = np.random.default_rng(0)

    def curves(lead_low, lead_high):
        """Return curves in which WLS leads both competitors at all sizes but the last."""
        values = 80 + random.normal(scale=0.1, size=(50, 4, 2, 5, 30))
        values[:, :, 0, 0, :-1] += lead_low
        values[:, :, 1, 0, :-1] += lead_high
        return Accuracies("Figure 4", "invented", values)

    ahead, behind = curves(1, 2), curves(-1, -2)
    assert wls.never_worse(ahead).verdict is Verdict.HOLDS
    assert wls.never_worse(behind).verdict is Verdict.FAILS
    assert wls.larger_when_in_doubt(ahead, FULL).verdict is Verdict.HOLDS
    assert wls.larger_when_in_doubt(behind, FULL).verdict is Verdict.FAILS
    for judge in (wls.first_features, wls.best_of_all):
        assert judge(ahead, FULL).verdict is Verdict.HOLDS
        assert judge(behind, FULL).verdict is Verdict.FAILS


# The whole experiment
# --------------------------------------------------------------------------------------------------


class Brief(Run):
    """A run of a few repetitions, which checks that all parts work together."""

    def repetitions(self, *, quick: int, full: int) -> int:
        return min(quick, 6)


@pytest.fixture
def stand_ins(monkeypatch):
    monkeypatch.setattr(running, "load", lookalikes.load_stand_in)


@pytest.mark.slow
@pytest.mark.usefixtures("stand_ins", "one_thread")
def test_every_statement_is_judged_and_every_figure_drawn():
    run = Brief(download=False, seed=3)
    found = perform(EXPERIMENT, run)
    assert len({claim.key for claim in found.claims}) == len(found.claims) == 21
    assert Verdict.NO_DATA not in {claim.verdict for claim in found.claims}
    assert all(claim.why.endswith(".") for claim in found.claims)
    labels = [table.label for table in found.tables]
    assert len(set(labels)) == len(labels)
    assert {
        "Table 1",
        "Table 2",
        "Table 3",
        "Table 4, corrected",
        "Table 4, as printed",
        "Table 5",
    } <= set(labels)
    assert [figure.label for figure in found.figures] == [
        f"Figure {n} ({side})" for n in (2, 3, 4) for side in ("left", "right")
    ]
    for figure in found.figures:
        assert [series.name for series in figure.series][:3] == list(STRATEGIES)
        assert {"random columns", "all columns"} <= {series.name for series in figure.series}
    facts = json.loads(json.dumps(found.facts(), allow_nan=False))
    assert from_facts(facts).facts() == facts


def test_printed_numbers_stand_in_their_tables():
    found = wls.artificial_problems(Brief(download=False))
    tables = {table.label: table for table in found.tables}
    cells = {(cell.row, cell.column): cell.paper for cell in tables["Table 1"].cells}
    assert cells["μ = 0.40", "WLS"] == 97.33
    assert cells["μ = 0.45", "y^error"] == 80
    assert cells["μ = 0.45", "true labels"] is None
    by_chance = {
        cell.row: cell.ours for cell in tables["Table 5"].cells if cell.column == "random columns"
    }
    assert set(by_chance.values()) == {50}


def test_batches_can_go_to_other_processes():
    run = Run(seed=1, download=False)
    batches = [(problem, 0.1, run.seeds(2, problem.name)) for problem in wls.ALL_READINGS]
    for here, there in zip(batches, pickle.loads(pickle.dumps(batches)), strict=True):
        assert_array_equal(wls.relevant_found(*here), wls.relevant_found(*there))
    together = wls.measure(run, SPHERES, wls.BATCH + 3)
    assert_array_equal(
        together.found, wls.relevant_found(SPHERES, 0.1, run.seeds(wls.BATCH + 3, SPHERES.name))
    )


def test_missing_data_are_reported(monkeypatch, tmp_path):
    monkeypatch.setenv("GRAPHSIEVE_DATA", str(tmp_path))
    monkeypatch.setenv("GRAPHSIEVE_CACHE", str(tmp_path))
    found = perform(EXPERIMENT, Brief(download=False))
    missing = {claim.key for claim in found.claims if claim.verdict is Verdict.NO_DATA}
    # Iris is part of scikit-learn.
    assert missing == {"fig-3", "fig-3-doubt", "fig-4", "fig-4-best"}

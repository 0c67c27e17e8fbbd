"""Tests of the reproduction of the paper on the iterative Laplacian score."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import KNeighborsClassifier

import lookalikes
import oracle
from graphsieve.datasets import Dataset, DataUnavailableError, load
from graphsieve.papers import iterative_ls as iterative
from graphsieve.papers.estimate import Estimate
from graphsieve.papers.experiment import Run, perform
from graphsieve.papers.iterative_ls import (
    ALL,
    EXPERIMENT,
    ITERATIVE,
    LS,
    PIXEL_READINGS,
    RANDOM,
    RAW,
    SECOND,
    STANDARD,
    TABLE_1,
    UNIT,
    VARIANCE,
)
from graphsieve.papers.results import Verdict, from_facts

KEYS = [
    "table-1",
    "parkinsons",
    "fig-1-ls",
    "fig-1-variance",
    "very-few-features",
    "variants",
    "graph-improves",
    "better-subsets",
    "same-class",
    "few-features",
    "background",
    "noise",
    "fig-2",
    "fig-2-few",
    "steps",
]


@dataclass(frozen=True)
class RunOf(Run):
    """A run on artificial tables. All other data sets are unavailable."""

    names: tuple[str, ...] = ()

    def load(self, name: str) -> Dataset:
        if name not in self.names:
            raise DataUnavailableError(f"{name} is on the moon.")
        y = np.arange(40) % 3
        X = np.random.default_rng(len(name)).normal(size=(40, 12)) + y[:, None] * (
            np.arange(12) < 4
        )
        return Dataset(
            name, X, y, "classification", tuple(f"x{i}" for i in range(12)), ("a", "b", "c")
        )


def gains(*pairs: tuple[float, float]) -> list[Estimate]:
    return [Estimate(*pair) for pair in pairs]


# The experiment
# --------------------------------------------------------------------------------------------------


def test_every_claim_has_a_unique_name():
    statements = [statement for part in EXPERIMENT.parts for statement in part.statements]
    assert [statement.key for statement in statements] == KEYS
    assert all(statement.where and statement.text.endswith(".") for statement in statements)
    assert EXPERIMENT.paper == "iterative"


def test_work_for_other_processes_can_be_pickled():
    for function in (
        iterative.measure_table,
        iterative.cross_validated_selection,
        iterative.measure_reading,
        iterative.measure_noise,
        iterative.face_orders,
        iterative.measure_clustering,
        iterative.measure_steps,
    ):
        assert pickle.loads(pickle.dumps(function)) is function
    assert pickle.loads(pickle.dumps(UNIT)) == UNIT


def test_without_data_only_the_noise_study_is_judged():
    without = replace(
        EXPERIMENT,
        parts=tuple(part for part in EXPERIMENT.parts if part.statements[0].key != "noise"),
    )
    found = perform(without, RunOf())
    assert {claim.verdict for claim in found.claims} == {Verdict.NO_DATA}
    why = {claim.key: claim.why for claim in found.claims}
    assert (
        why["fig-1-ls"]
        == "only 0 of the 8 UCI data sets are available. Wine is left out: wine is on the moon."
    )
    assert why["fig-2"] == "orl is on the moon."
    assert "57 samples and 16 features" in why["parkinsons"]
    assert from_facts(json.loads(json.dumps(found.facts()))).claims == found.claims


@pytest.mark.slow
def test_some_tables_suffice(one_thread):
    names = ("wine", "wpbc", "ionosphere", "zoo")
    tables = replace(EXPERIMENT, parts=EXPERIMENT.parts[:4])
    found = perform(tables, RunOf(names=names))
    assert sum("left out: " in sentence for sentence in found.settings) == 4
    verdicts = {claim.key: claim.verdict for claim in found.claims}
    assert verdicts.pop("parkinsons") is Verdict.NO_DATA
    assert Verdict.NO_DATA not in verdicts.values()
    assert verdicts["table-1"] is Verdict.FAILS  # 40 × 12 is none of the printed shapes
    assert verdicts["same-class"] is Verdict.HOLDS  # four columns follow the classes
    assert [figure.title.split(":")[0] for figure in found.figures] == [
        TABLE_1[name][0] for name in names
    ]
    for figure in found.figures:
        assert [series.name for series in figure.series] == [
            LS,
            ITERATIVE,
            SECOND,
            VARIANCE,
            RANDOM,
            ALL,
        ]
        assert all(series.x == tuple(range(1, 13)) for series in figure.series)
        # With all columns, all methods are equal.
        assert_allclose([series.y[-1] for series in figure.series], figure.series[-1].y[-1])
    for table in found.tables[1:]:
        assert all(cell.paper is None for cell in table.cells), "the paper prints Table 1 only"


# The UCI data sets
# --------------------------------------------------------------------------------------------------

# Earlier results: mean over 5 to 10 features, columns scaled to [0, 1], t = 1; LS, IterativeLS,
# variance. Columns are ranked once on all rows. With ranking in each fold, LS on Dermatology would
# be two points lower.
FOUND_BEFORE = {
    "wine": (96.2, 95.5, 94.0),
    "ionosphere": (83.8, 85.3, 85.2),
    "wpbc": (65.7, 71.2, 71.9),
    "dermatology": (74.7, 78.2, 78.5),
    "zoo": (91.4, 90.9, 79.7),
}
# Other folds change the accuracies by a standard deviation of 0.1 to 0.3 points, and of 1 point on
# Breast cancer, where the accuracy is near chance. The limit is three standard deviations of the
# difference.
TOLERANCE = {"wine": 1.0, "ionosphere": 1.2, "wpbc": 3.0, "dermatology": 1.5, "zoo": 1.0}


def real(name: str) -> tuple[np.ndarray, np.ndarray]:
    try:
        data = load(name, download=False)  # scikit-learn has wine
    except DataUnavailableError:
        pytest.skip(f"{name} is not at hand: let GRAPHSIEVE_DATA name a folder that has it")
    return iterative.completed(data.X, data.y, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", FOUND_BEFORE)
def test_accuracies_agree_with_earlier_results(name, one_thread):
    measured = iterative.measure_table(*real(name), Run().seeds(3, f"uci {name}"))
    for method, before in zip((LS, ITERATIVE, VARIANCE), FOUND_BEFORE[name], strict=True):
        ours = Estimate.of(iterative.over_sizes(measured.hits[method], iterative.FEW))
        assert abs(ours.mean - before) <= TOLERANCE[name], method
        assert 0 < ours.error < 4
    assert measured.overlap == 100  # what was dropped never comes back, so that the variants agree
    assert_array_equal(measured.hits[SECOND], measured.hits[ITERATIVE])


@pytest.mark.parametrize("name", [name for name in TABLE_1 if name != iterative.OTHER_SHAPE])
def test_shapes_are_those_of_table_1(name):
    data = lookalikes.load_stand_in(name)
    X, y = iterative.completed(data.X, data.y, name)
    assert (*X.shape, len(np.unique(y))) == TABLE_1[name][1:]
    assert not np.isnan(X).any()


def test_gaps_are_filled_by_means_or_dropped():
    X, y = np.array([[1.0, np.nan], [3.0, 4.0], [np.nan, 8.0]]), np.array([0, 1, 2])
    filled, kept = iterative.completed(X, y, "horse_colic")
    assert_array_equal(filled, [[1, 6], [3, 4], [2, 8]])
    assert_array_equal(kept, y)
    dropped, kept = iterative.completed(X, y, "dermatology")
    assert_array_equal(dropped, [[3, 4]])
    assert_array_equal(kept, [1])


def test_readings_scale_by_the_first_table():
    A, B = np.array([[0.0, 5.0], [4.0, 5.0]]), np.array([[2.0, 7.0]])
    assert_allclose(UNIT.scaled(A, B)[1], [[0.5, 2.0]])
    assert_allclose(STANDARD.scaled(A, B)[1], [[0.0, 2.0]])
    assert_array_equal(RAW.scaled(A, B)[1], B)


def test_nearest_hits_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    A, B, a, b = (
        rng.normal(size=(40, 6)),
        rng.normal(size=(15, 6)),
        rng.integers(3, size=40),
        rng.integers(3, size=15),
    )
    nested = iterative.prefixes(rng.permutation(6))
    loose = [np.array([0, 3]), np.array([1, 2, 5]), np.array([4])]
    found = iterative.nearest_hits(A, a, B, b, {"nested": nested, "loose": loose})
    for method, sets in (("nested", nested), ("loose", loose)):
        for hits, columns in zip(found[method], sets, strict=True):
            predicted = KNeighborsClassifier(1).fit(A[:, columns], a).predict(B[:, columns])
            assert_array_equal(hits, predicted == b)


def test_the_first_of_equally_close_rows_counts():
    # 0.1 + 0.2 beside 0.3: the same distance from the origin in another order of the columns, but
    # not to the last bit.
    A = np.sqrt([[0.3, 0.2, 0.1], [0.1, 0.2, 0.3]])
    hits = iterative.nearest_hits(
        A,
        np.array([0, 1]),
        np.zeros((1, 3)),
        np.array([0]),
        {"all": iterative.prefixes(np.arange(3))},
    )
    assert_array_equal(hits["all"].ravel(), [0, 0, 1])


@pytest.mark.parametrize("seed", range(3))
def test_successive_sets_are_those_of_the_second_variant(seed):
    X = np.random.default_rng(seed).normal(size=(20, 6))
    sets = iterative.successive_sets(iterative.iterated(X, 1.0, variant=2))
    for size, columns in enumerate(sets, start=1):
        expected = oracle.iterative_ranking(X, n_features_to_select=size, variant=2)[:size]
        assert set(columns) == set(expected)


def test_every_sample_is_held_out_once():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    # The class itself, and noise: one column is always right, and with both it is still the nearest
    # on most.
    X = np.column_stack([y * 100.0, rng.normal(size=60)])
    hits = iterative.cross_validated(X, y, {"good": [np.array([0])], "bad": [np.array([1])]}, 0)
    assert_array_equal(hits["good"], np.ones((1, 60)))
    assert 0.2 < hits["bad"].mean() < 0.8


def test_random_orders_are_joined_and_all_is_one_set():
    sets = iterative.with_baselines(
        {LS: iterative.prefixes(np.arange(4))}, 4, np.random.default_rng(0)
    )
    assert len([method for method in sets if method.startswith(RANDOM)]) == iterative.RANDOM_ORDERS
    assert_array_equal(sets[ALL], [np.arange(4)])
    joined = iterative.random_joined(
        {LS: np.zeros((1, 2)), "random 0": np.zeros((1, 2)), "random 1": np.ones((1, 2))}
    )
    assert_array_equal(joined[RANDOM], [[0.5, 0.5]])
    assert list(joined) == [LS, RANDOM]


def test_links_within_a_class():
    # Two groups of six on a line; one member of each bears the other's label. A good sample has
    # four of its five neighbours of its class, the odd one none.
    X = np.concatenate([np.arange(6.0), 100 + np.arange(6.0)])[:, None]
    y = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0])
    links = iterative.same_class_links(X, y, np.array([0]))
    assert_allclose(links, [80] * 5 + [0] + [80] * 5 + [0])


def test_gains_are_over_samples():
    hits = {
        LS: np.array([[1.0, 0, 0, 0], [1, 1, 0, 0]]),
        ITERATIVE: np.array([[1.0, 1, 0, 0], [1, 1, 1, 1]]),
    }
    found = iterative.gain(hits, ITERATIVE, LS, [1, 2])
    # By sample: 0, 50, 50, 50 percent; deviation 25, over the root of 4.
    assert (found.mean, found.error) == pytest.approx((37.5, 12.5))
    assert [one.mean for one in iterative.gains_by_size(hits, ITERATIVE, LS)] == [25.0]


# Rules
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("points", "verdict"),
    [
        (gains(*[(2, 1)] * 9, (-2, 1)), Verdict.HOLDS),
        (gains(*[(2, 1)] * 8, *[(-2, 1)] * 2), Verdict.FAILS),
        # Differences within one standard error do not count.
        (gains(*[(2, 1)] * 9, *[(-0.5, 1)] * 20), Verdict.HOLDS),
        (gains((2, 1), *[(0, 0)] * 20), Verdict.FAILS),  # but something must differ
        (gains(*[(0, 0)] * 5), Verdict.FAILS),
    ],
)
def test_almost_always_better(points, verdict):
    assert iterative.almost_always_better(points) is verdict


@pytest.mark.parametrize(
    ("cases", "verdict"),
    [
        (gains((3, 1), (3, 1), (-1, 1)), Verdict.HOLDS),
        (gains((9, 1), (9, 1), (-4, 1)), Verdict.FAILS),  # one clear loss
        (gains((1, 1), (1, 1)), Verdict.FAILS),  # 1 ± 0.7
        (gains(*[(1, 1)] * 9), Verdict.HOLDS),  # 1 ± 1/3
        (gains((9, 1), (0, 0), (0, 0)), Verdict.FAILS),  # one case alone
        (gains((-3, 1), (-3, 1)), Verdict.FAILS),
    ],
)
def test_better_on_the_whole(cases, verdict):
    assert iterative.better_on_the_whole(cases) is verdict


def test_rules_of_the_steps():
    same, matters, vague = gains((1.9, 0.1)), gains((-5, 1)), gains((5, 3))
    assert iterative.judge_steps(same, same) is Verdict.HOLDS
    assert iterative.judge_steps(vague, same) is Verdict.HOLDS
    assert iterative.judge_steps(matters, same) is Verdict.CORRECTED
    assert iterative.judge_steps(same, matters) is Verdict.FAILS


def test_rules_of_the_others():
    assert iterative.nearly_equal([0.5, -1.5]) is Verdict.HOLDS
    assert iterative.nearly_equal([-1.5, 1.5]) is Verdict.FAILS
    assert iterative.judge_noise(Estimate(3, 1), Estimate(3, 1)) is Verdict.HOLDS
    assert iterative.judge_noise(Estimate(1, 1), Estimate(3, 1)) is Verdict.FAILS
    assert iterative.judge_noise(Estimate(3, 1), Estimate(1, 1)) is Verdict.FAILS
    better, level, worse = gains((3, 1), (3, 1)), gains((1, 1), (-1, 1)), gains((-3, 1), (-3, 1))
    assert iterative.judge_background(better, level) is Verdict.HOLDS
    assert iterative.judge_background(level, better) is Verdict.FAILS
    assert iterative.judge_background(better, worse) is Verdict.FAILS
    assert iterative.in_all_readings([Verdict.HOLDS, Verdict.HOLDS]) is Verdict.HOLDS
    assert iterative.in_all_readings([Verdict.HOLDS, Verdict.FAILS]) is Verdict.CORRECTED
    assert iterative.in_all_readings([Verdict.FAILS, Verdict.FAILS]) is Verdict.FAILS


def test_a_claim_that_depends_on_the_reading():
    good, bad = (
        {"Wine": Estimate(3, 1), "Zoo": Estimate(2, 1)},
        {"Wine": Estimate(-1, 1), "Zoo": Estimate(0, 1)},
    )
    for readings, verdict in (
        ({UNIT.name: good, RAW.name: good}, Verdict.HOLDS),
        ({UNIT.name: good, RAW.name: bad}, Verdict.CORRECTED),
        ({UNIT.name: bad, RAW.name: bad}, Verdict.FAILS),
    ):
        judged = iterative.few_features_claim(readings)
        assert judged.verdict is verdict
    mixed = iterative.few_features_claim({UNIT.name: good, RAW.name: bad})
    assert "+2.5 ± 0.7 points on average (gains 2 of 2" in mixed.why
    assert f"{RAW.name}: −0.5 ± 0.7 (no)" in mixed.why


# Noise
# --------------------------------------------------------------------------------------------------


def test_clusters_and_noise():
    X, cluster = iterative.clustered(1.75, np.random.SeedSequence(0))
    assert X.shape == (100, 105)
    assert set(cluster) == {0, 1, 2}
    within = np.concatenate([X[cluster == c] - X[cluster == c].mean(axis=0) for c in range(3)])
    # 97 degrees of freedom in each of 105 columns: the mean variance is 1 to 3 · sqrt(2 / (97 ·
    # 105)).
    assert abs((within**2).sum() / (97 * 105) - 1) < 3 * np.sqrt(2 / (97 * 105))


def test_far_clusters_are_found_among_noise(one_thread):
    found = iterative.measure_noise(20.0, np.random.SeedSequence(1))
    for reading in iterative.NOISE_READINGS:
        share, links = found[reading.name][ITERATIVE]
        assert share >= 80
        assert links > 95
        assert found[reading.name][ALL][1] <= links


# Faces
# --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def faces() -> tuple[np.ndarray, np.ndarray]:
    """Return four images of twelve pixels for forty people, with large differences."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(40), 4)
    return 200 * rng.random((40, 12))[y] + rng.random((160, 12)), y


def test_clustering_of_clear_faces(faces, one_thread):
    ways = dict.fromkeys(PIXEL_READINGS[:2])
    found = iterative.measure_clustering(faces, 5, ways, [6, 12], np.random.SeedSequence(3))
    main, other = (found[reading.name] for reading in PIXEL_READINGS[:2])
    assert list(main) == [LS, ITERATIVE, VARIANCE, RANDOM, ALL]
    assert list(other) == [LS, ITERATIVE]
    assert main[ALL].shape == (2, 1)
    for curve in (*main.values(), *other.values()):
        assert_allclose(curve[:, -1], 100)
    again = iterative.measure_clustering(faces, 5, ways, [6, 12], np.random.SeedSequence(3))
    assert_array_equal(again[PIXEL_READINGS[0].name][ITERATIVE], main[ITERATIVE])


def test_classification_of_clear_faces(faces, one_thread):
    found = iterative.measure_steps(*faces, 2, [6, 12], np.random.SeedSequence(0))
    assert list(found) == [
        LS,
        *(f"{ITERATIVE}, d = {step}" for step in (1, 5, 20)),
        VARIANCE,
        RANDOM,
        ALL,
    ]
    assert all(curve[-1] == 100 for curve in found.values())


def clusterings(difference: float) -> dict:
    """Return three repetitions for two numbers of people.

    IterativeLS is better than LS by `difference`, and random pixels are better than both.
    """
    rng = np.random.default_rng(0)
    found = {}
    for people in (5, 40):
        found[people] = []
        for _ in range(3):
            base = 50 + rng.normal(size=(2, 3))
            curves = {
                LS: base,
                ITERATIVE: base + difference + rng.normal(size=(2, 3)),
                RANDOM: base + 20,
            }
            found[people].append({reading.name: curves for reading in PIXEL_READINGS})
    return found


@pytest.mark.parametrize(
    ("difference", "verdict"), [(30, Verdict.HOLDS), (0, Verdict.FAILS), (-30, Verdict.FAILS)]
)
def test_clustering_claims(difference, verdict):
    judged = iterative.clustering_claims(clusterings(difference), (100, 200, 500), 49219.0)
    assert {key: one.verdict for key, one in judged.items()} == {
        "fig-2": verdict,
        "fig-2-few": verdict,
    }
    assert "exp(−49,219)" in judged["fig-2"].why


def test_step_claim():
    rng = np.random.default_rng(0)
    runs = []
    for _ in range(4):
        base = 60 + rng.normal(size=4)
        small = base + np.array([10, 10, 0, 0]) + 0.1 * rng.normal(size=4)
        runs.append(
            {
                LS: base + 5,
                **{
                    f"{ITERATIVE}, d = {step}": small if step == 20 else base for step in (1, 5, 20)
                },
            }
        )
    judged = iterative.steps_claim({5: runs}, (20, 50, 100, 200))
    assert judged.verdict is Verdict.CORRECTED
    assert "Gain of d = 1 over LS: 5 images −5.0 ± 0.0" in judged.why

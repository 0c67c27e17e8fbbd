"""The iterative, hybrid and floating searches with categories and groups of columns, against naive
loops over features.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

import oracle
from graphsieve import (
    FloatingSieve,
    GraphSieveWarning,
    HybridSieve,
    InputError,
    IterativeSieve,
    Supervision,
)
from graphsieve.graphs.neighbors.exact import nearest_neighbors
from graphsieve.scores import METHODS
from graphsieve.scores.method import best_first
from graphsieve.search import floating_selection, hybrid_selection, iterative_ranking
from graphsieve.search.criteria import make_criterion
from graphsieve.search.floating import float_forward
from graphsieve.search.hybrid import refine, selecting
from graphsieve.search.iterative import iterate
from graphsieve.table.any_table import as_table
from graphsieve.table.columns import MemoryTable, Table
from mixed import KINDS, ONE_COLUMN, Mixed, mixed_problems, numbers

pytestmark = pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
READING_NEIGHBORS = [name for name, method in METHODS.items() if method.reads_neighbors]
VARYING = tuple(kind for kind in KINDS if kind != "one level")


def table_of(mixed: Mixed, *, sparse: bool = False) -> Table:
    table = as_table(mixed.frame, feature_groups=mixed.groups or None)
    if not sparse:
        return table
    return MemoryTable.trusted(sp.csc_array(mixed.matrix), None, features=table.features)


def part_of(mixed: Mixed, features: Any) -> Table:
    """Return some features, read from a frame of these features alone."""
    return table_of(mixed.having([mixed.features[f] for f in features]))


def knowledge(name: str, mixed: Mixed) -> Supervision:
    uses = METHODS[name].uses
    return mixed.problem.known(uses[0]) if uses else Supervision.nothing(len(mixed.matrix))


# ---- Iterative


@given(
    mixed=mixed_problems(ties=True, at_least=2),
    step=st.integers(1, 3),
    variant=st.sampled_from([1, 2]),
)
def test_the_iterative_ranking_equals_the_naive_loop(mixed, step, variant):
    options = {"step": step, "variant": variant, "n_neighbors": 3, "bandwidth": 5.0}
    expected = oracle.iterative_ranking(mixed.matrix, blocks=mixed.blocks, **options)
    # Different features may have the same score in theory. Then rounding decides.
    assume(no_ties(mixed, options))
    found = iterative_ranking(mixed.frame, feature_groups=mixed.groups or None, **options)
    assert_array_equal(found, expected)


def no_ties(mixed: Mixed, options: dict[str, Any]) -> bool:
    path = iterate(
        table_of(mixed),
        Supervision.nothing(len(mixed.matrix)),
        METHODS["laplacian"],
        {name: options[name] for name in ("n_neighbors", "bandwidth")},
        n_features_to_select=1,
        step=options["step"],
        variant=options["variant"],
    )
    return all(
        np.diff(np.sort(stage.scores[~np.isnan(stage.scores)])).min(initial=1.0) > 1e-9
        for stage in path.rounds
    )


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", READING_NEIGHBORS)
@given(data=st.data(), step=st.integers(1, 3), variant=st.sampled_from([1, 2]))
def test_every_round_equals_a_table_of_its_features(name, sparse, data, step, variant):
    """For every score: the graph and the scores are those of the features that remain."""
    kinds = ONE_COLUMN if name == "sselect" else KINDS
    mixed = data.draw(mixed_problems(ties=True, kinds=kinds, at_least=2))
    method, known, table = METHODS[name], knowledge(name, mixed), table_of(mixed, sparse=sparse)
    wanted = data.draw(st.integers(1, len(mixed.features)))
    path = iterate(
        table,
        known,
        method,
        method.defaults,
        n_features_to_select=wanted,
        step=step,
        variant=variant,
    )
    current, dropped = np.arange(len(mixed.features)), []
    for stage in path.rounds:
        assert_array_equal(stage.features, current)
        here = part_of(mixed, current)
        # In variant 2, all features are scored on the graph of the current ones.
        scored = here if variant == 1 else table_of(mixed).within(Positions(here))
        expected = method.core(scored, known, **method.defaults).values
        assert_allclose(stage.scores, expected, rtol=1e-6, atol=1e-12)
        order = stage.scored[
            best_first(stage.scores, large_is_good=method.large_is_good(method.defaults))
        ]
        size = max(len(current) - step, wanted)
        dropped.append(order[size:])
        current = np.sort(order[:size])
    assert len(current) == wanted
    rest = dropped[::-1] if variant == 1 else dropped[-1:]
    assert_array_equal(path.order, np.concatenate([order[:size], *rest]))


class Positions:
    """The positions of the samples in another table."""

    def __init__(self, table: Table) -> None:
        self.rows, self.n_compared = table.rows, table.n_features

    def nearest(self, n_neighbors: int, queries: Any, candidates: Any) -> Any:
        return nearest_neighbors(self.rows[0], n_neighbors, queries=queries, candidates=candidates)


# ---- Hybrid


def plain_rounds(mixed: Mixed, y: np.ndarray, size: int) -> list[tuple[list[int], float]]:
    """The algorithm as plain code, with the set and the confidence of each round.

    It ends where two numbers are equal in theory, because then rounding decides.
    """

    def select(labels: np.ndarray) -> list[int]:
        with np.errstate(all="ignore"):
            scores = oracle.fisher_score(mixed.matrix, labels, blocks=mixed.blocks)
        order = sorted(range(len(scores)), key=lambda f: (np.isnan(scores[f]), -scores[f], f))
        return order[:size] if distinct(scores[~np.isnan(scores)]) else []

    def distinct(numbers: np.ndarray) -> bool:
        return bool(np.diff(np.sort(numbers)).min(initial=1.0) > 1e-9)

    current, rounds = select(y), []
    unknown = np.flatnonzero(y < 0)
    while current and len(rounds) < 4:
        columns = [c for f in sorted(current) for c in mixed.blocks[f]]
        proba = oracle.harmonic_labels(mixed.matrix[:, columns], y, bandwidth=4.0)
        c = proba.shape[1]
        confidence = (c * proba.max(axis=1) - 1) / (c - 1)
        if not (distinct(confidence[unknown]) and all(distinct(proba[i]) for i in unknown)):
            break
        place = max(1, int(0.5 * len(unknown) + 0.5))
        joined = unknown[np.argsort(-confidence[unknown])[:place]]
        labels = y.copy()
        labels[joined] = proba[joined].argmax(axis=1)
        current = select(labels)
        if current:
            rounds.append((current, float(confidence[joined].mean())))
    return rounds


@given(mixed=mixed_problems(ties=False, kinds=VARYING, at_least=3), size=st.integers(1, 2))
def test_the_rounds_of_the_hybrid_search_are_those_of_plain_code(mixed, size):
    y = mixed.problem.labels
    assume((y < 0).sum() > 2)
    scores = oracle.fisher_score(mixed.matrix, y, blocks=mixed.blocks)
    assume(np.isfinite(scores).all())
    table = table_of(mixed)
    path = refine(
        table,
        Supervision.from_labels(y),
        selecting(table, "fisher", size, {}),
        n_iterations=4,
        confident_fraction=0.5,
        n_neighbors=None,
        bandwidth=4.0,
    )
    plain = plain_rounds(mixed, y, size)
    assume(plain)
    for stage, (expected, confidence) in zip(path.rounds, plain, strict=False):
        assert sorted(stage.features) == sorted(expected)
        assert_allclose(stage.confidence, confidence, rtol=1e-6, atol=1e-9)


# ---- Floating


def outcome(mixed: Mixed, *, classes: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return y and the variables that the regression predicts."""
    if not classes:
        y = np.where(np.isnan(mixed.problem.targets), 0.5, mixed.problem.targets)
        y = y + np.arange(len(y)) / 7
        return y, y
    y = np.where(mixed.problem.labels < 0, 0, mixed.problem.labels)
    return y, (y[:, None] == np.unique(y)) * 1.0


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("classes", [True, False])
@given(mixed=mixed_problems(ties=True, kinds=VARYING, at_least=3), seed=st.integers(0, 99))
def test_the_criterion_leaves_every_sample_out(classes, sparse, mixed, seed):
    y, Y = outcome(mixed, classes=classes)
    assume(np.ptp(y) > 0)
    known = Supervision.from_labels(y) if classes else Supervision.from_targets(y)
    criterion = make_criterion(table_of(mixed, sparse=sparse), known)

    def value(features: list[int]) -> float:
        parts = [
            oracle.standardized(mixed.matrix[:, mixed.blocks[f]], mixed.categorical[f])
            for f in features
        ]
        return oracle.leave_one_out_r2_of(np.hstack([np.empty((len(y), 0)), *parts]), Y)

    some = np.random.default_rng(seed).permutation(len(mixed.features))[:2].tolist()
    others = np.setdiff1d(np.arange(len(mixed.features)), some)
    assume(all(np.ptp(mixed.matrix[:, block], axis=0).any() for block in mixed.blocks))
    for chosen in ([], some):
        expected = [value([*chosen, f]) for f in others]
        assert_allclose(criterion.with_each(chosen, others), expected, rtol=1e-6, atol=1e-8)
    expected = [value([f for f in some if f != g]) for g in some]
    assert_allclose(criterion.without_each(some), expected, rtol=1e-6, atol=1e-8)


@given(mixed=mixed_problems(ties=False, kinds=VARYING, at_least=3), wanted=st.integers(1, 3))
def test_the_floating_search_equals_plain_loops_over_features(mixed, wanted):
    y, _ = outcome(mixed, classes=False)
    known = Supervision.from_targets(y)
    parts = [
        oracle.standardized(mixed.matrix[:, block], is_category)
        for block, is_category in zip(mixed.blocks, mixed.categorical, strict=True)
    ]

    def value(features: Any) -> float:
        columns = np.hstack([np.empty((len(y), 0)), *(parts[f] for f in features)])
        return round(oracle.leave_one_out_r2_of(columns, y), 9)

    expected, _ = oracle.floating_forward(value, len(parts), wanted, tie=1e-7)
    found = float_forward(make_criterion(table_of(mixed), known), wanted)
    # Two sets may be equally good in theory.
    assert_allclose(value(found.order), value(expected), atol=1e-6)
    if len({value([f]) for f in range(len(parts))}) == len(parts):
        assert_array_equal(found.order, expected)


@given(mixed=mixed_problems(ties=False, kinds=("number",), at_least=2), copies=st.integers(2, 4))
def test_a_group_of_copies_is_worth_its_column(mixed, copies):
    """So neither a group nor a category is penalised for the number of its columns."""
    y, _ = outcome(mixed, classes=False)
    known = Supervision.from_targets(y)
    several = mixed.having(
        [numbers(np.repeat(feature.columns, copies, axis=1)) for feature in mixed.features]
    )
    everything = np.arange(len(mixed.features))
    one, other = (
        make_criterion(table_of(each), known).with_each([], everything) for each in (mixed, several)
    )
    assert_allclose(one, other, rtol=1e-9)


def test_an_estimator_gets_all_columns_of_the_features():
    X, y = frame_and_labels()
    learner = KNeighborsClassifier(3)
    criterion = make_criterion(as_table(X), Supervision.from_labels(y), estimator=learner)
    color = (X["color"].to_numpy()[:, None] == ["blue", "green", "red"]) * 1.0
    columns = np.hstack([X[["size"]], color])
    expected = cross_val_score(learner, columns, y, cv=5).mean()
    # The features are sorted: size, color, kind.
    assert_allclose(criterion.with_each([1], np.array([0])), [expected])


# ---- The functions and estimators


def frame_and_labels() -> tuple[pd.DataFrame, np.ndarray]:
    """Return classes that are the color and, in part, the kind. The size is noise."""
    random = np.random.default_rng(0)
    y = np.arange(60) % 3
    kind = np.where(random.random(60) < 0.7, y, random.integers(3, size=60))
    X = pd.DataFrame(
        {
            "size": random.normal(size=60),
            "color": pd.Series(["red", "green", "blue"])[y].to_numpy(),
            "kind": pd.Series(["oak", "elm", "ash"])[kind].to_numpy(),
        }
    )
    return X, y


SIEVES = [
    IterativeSieve("lsdf", n_features_to_select=1),
    HybridSieve(n_features_to_select=1),
    FloatingSieve(n_features_to_select=1),
]


@pytest.mark.parametrize("sieve", SIEVES, ids=lambda sieve: type(sieve).__name__)
def test_estimators_select_a_category_and_return_its_column(sieve):
    X, y = frame_and_labels()
    few = np.where(np.arange(60) < 30, y, -1)
    sieve.set_params(categorical="auto", feature_groups=None).fit(X, few)
    assert sieve.get_support().tolist() == [False, True, False]
    assert sieve.transform(X).equals(X[["color"]])
    with pytest.raises(InputError, match="color"):
        sieve.set_params(categorical=None).fit(X, few)


@pytest.mark.parametrize("sieve", SIEVES, ids=lambda sieve: type(sieve).__name__)
def test_estimators_select_groups(sieve):
    X, y = frame_and_labels()
    wide = pd.DataFrame(
        {
            "noise_1": X["size"],
            "color_1": (y == 0) * 1.0,
            "noise_2": X["size"] ** 2,
            "color_2": (y == 1) * 1.0,
        }
    )
    sieve.set_params(categorical="auto", feature_groups="_").fit(wide, y)
    assert sieve.get_feature_names_out().tolist() == ["color_1", "color_2"]
    assert len(sieve.ranking_) == 2
    assert {name: list(c) for name, c in sieve.feature_groups_.items()} == {
        "noise": [0, 2],
        "color": [1, 3],
    }


def test_functions_take_categories_and_groups():
    X, y = frame_and_labels()
    groups = {"plant": ["color", "kind"]}
    assert iterative_ranking(X)[0] == 1
    assert iterative_ranking(X, feature_groups=groups).tolist() == [1, 0]
    assert hybrid_selection(X, y, n_features_to_select=1).tolist() == [1]
    assert hybrid_selection(X, y, n_features_to_select=1, feature_groups=groups).tolist() == [1]
    assert floating_selection(X, y, n_features_to_select=1).tolist() == [1]
    found = floating_selection(X, y, n_features_to_select=2, feature_groups=groups)
    assert found.tolist() == [1, 0]
    # Codes of levels are numbers unless they are named.
    codes = np.column_stack([np.arange(60.0) % 7, y, y])
    levels = floating_selection(codes, y, n_features_to_select=1, categorical=[2])
    assert levels.tolist() == [2]
    for function, arguments in (
        (iterative_ranking, ()),
        (hybrid_selection, (y,)),
        (floating_selection, (y,)),
    ):
        with pytest.raises(InputError, match="color"):
            function(X, *arguments, n_features_to_select=1, categorical=None)


def test_a_search_warns_of_an_identifier_and_never_selects_it():
    X, y = frame_and_labels()
    X["id"] = [f"sample {number}" for number in range(60)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", GraphSieveWarning)
        found = floating_selection(X, y, n_features_to_select=3)
    assert 3 not in found
    assert any("identifier" in str(warning.message) for warning in caught)

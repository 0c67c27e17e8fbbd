"""Tests of benchmarks/quality: its tables and pages, the supervision, and a run on two small sets."""

from __future__ import annotations

import dataclasses
import importlib.util
import itertools
import json
import math
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import rankdata, ttest_rel
from sklearn.datasets import load_wine
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from graphsieve import Supervision
from graphsieve._base.errors import InputError
from graphsieve.datasets import DATASETS, DataUnavailableError

FOLDER = Path(__file__).parents[1] / "benchmarks" / "quality"
_spec = importlib.util.spec_from_file_location(
    "quality", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
)
assert _spec is not None
sys.modules["quality"] = importlib.util.module_from_spec(_spec)

from quality import (  # noqa: E402
    candidates,
    command,
    filters,
    knowledge,
    missing,
    page,
    references,
    results,
    rivals,
    running,
    sets,
    summary,
    tables,
    verdicts,
)
from quality.knowledge import ALL, level_for  # noqa: E402

SETTINGS = running.Settings(rows=1500, folds=3, repeats=1, seed=0)


def result(knn, linear, test_ratio=0.5):
    return summary.Result((np.array(knn, float), np.array(linear, float)), 0.1, test_ratio)


FAILED = summary.Result(None, math.nan, 0.5)


# --- ranks, means, tests ---


def test_ranks_are_means_over_learners_with_ties_shared_and_failures_last():
    cell = {
        "a": result([0.1], [0.3]),
        "b": result([0.2], [0.3]),
        "c": FAILED,
        "d": FAILED,
        "all": result([0], [0]),
    }
    # k-NN: a 1, b 2, failed share (3 + 4) / 2; linear: a and b share 1.5
    assert summary.ranks(cell) == {"a": 1.25, "b": 1.75, "c": 3.5, "d": 3.5}
    assert summary.places(cell) == {"a": 0.25 / 3, "b": 0.75 / 3, "c": 2.5 / 3, "d": 2.5 / 3}


def test_ranks_are_those_of_scipy_on_random_numbers():
    errors = np.random.default_rng(0).integers(0, 5, size=(2, 12)) / 10
    cell = {f"m{j}": result([errors[0, j]], [errors[1, j]]) for j in range(12)}
    expected = (rankdata(errors[0]) + rankdata(errors[1])) / 2
    assert list(summary.ranks(cell).values()) == expected.tolist()


def test_errors_that_differ_by_rounding_only_share_a_rank():
    assert set(
        summary.ranks({"a": result([0.1 + 0.2], [1]), "b": result([0.3], [1])}).values()
    ) == {1.5}


def test_comparison_without_shared_rows_is_the_paired_t_test():
    ours, theirs = np.random.default_rng(1).random((2, 6))
    assert summary.compared(ours, theirs, 0.0).p == pytest.approx(ttest_rel(ours, theirs).pvalue)


def test_comparison_is_corrected_for_shared_rows():
    # differences 1, 2, 3: mean 2, deviation 1; with a ratio of 1/2 the error is √(1/3 + 1/2)
    test = summary.compared(np.array([2.0, 4, 6]), np.array([1.0, 2, 3]), 0.5)
    assert test.difference == 2
    assert test.standard_error == pytest.approx(math.sqrt(5 / 6))
    assert test.verdict == 0  # t = 2.19 with two degrees of freedom
    assert summary.compared(np.array([2.0, 2.01, 2.02]), np.zeros(3), 0.5).verdict == 1
    assert summary.compared(np.zeros(3), np.array([2.0, 2.01, 2.02]), 0.5).verdict == -1


def test_levels_are_averaged_fold_by_fold_before_a_test():
    found = {
        ("s", "2"): {"m": result([0.1, 0.5], [0, 0]), "random": result([0, 0], [0, 0])},
        ("s", "4"): {"m": result([0.5, 0.2], [0, 0]), "random": result([0, 0], [0, 0])},
    }
    test = summary.verdicts(found, "m")["s", 0]
    assert test.difference == pytest.approx(0.325)
    assert test.standard_error == pytest.approx(
        np.std([0.3, 0.35], ddof=1) * math.sqrt(1 / 2 + 0.5)
    )


def block_of_two():
    """Return two data sets. On the second, `weak` fails and counts as random columns."""
    chance = result([0.5, 0.5, 0.5], [0.4, 0.4, 0.4])
    good = result([0.1, 0.1001, 0.0999], [0.2, 0.2001, 0.1999])
    weak = result([0.6, 0.6001, 0.5999], [0.5, 0.5001, 0.4999])
    return {
        ("s", "4"): {"ours": good, "weak": weak, "random": chance},
        ("t", "4"): {"ours": chance, "weak": FAILED, "random": chance},
    }


def test_a_block_by_hand():
    rows = {row.method: row for row in summary.block(block_of_two())}
    ours, weak, chance = rows["ours"], rows["weak"], rows["random"]
    assert list(rows) == ["ours", "random", "weak"]
    # On t, ours and random columns share rank 1.5.
    assert (ours.rank, chance.rank, weak.rank) == (1.25, 1.75, 3.0)
    assert (ours.place, weak.place) == (0.125, 1.0)
    assert ours.errors == (pytest.approx(0.3), pytest.approx(0.3))
    assert (weak.cells, weak.failed) == (2, 1)
    assert weak.errors == (pytest.approx(0.55), pytest.approx(0.45))  # 0.6 and 0.5; 0.5 and 0.4
    # The differences from random columns are −0.4 and −0.2 on s (mean −0.3) and 0 on t. The
    # standard error is half the distance between −0.3 and 0.
    assert ours.difference == pytest.approx(-0.15)
    assert ours.standard_error == pytest.approx(0.15)
    assert (ours.worse, ours.better) == (0, 0.5)  # both learners on s, neither on t
    assert (weak.worse, weak.better) == (1, 0)  # only s is tested


def test_the_best_other_method_ran_in_every_cell():
    found = block_of_two()
    found["s", "4"]["elsewhere"] = result([0, 0, 0], [0, 0, 0])
    best = summary.best_single(summary.block(found))
    assert best is not None
    assert best.method == "weak"
    assert summary.gaps(found, "ours", "weak") == {
        "s": pytest.approx(-0.4),
        "t": pytest.approx(0.0),
    }


def test_cells_in_which_a_method_is_worse_than_random_columns():
    assert [
        (name, level, learner)
        for name, level, learner, _ in summary.worse_cells(block_of_two(), "weak")
    ] == [
        ("s", "4", 0),
        ("s", "4", 1),
    ]
    assert summary.worse_cells(block_of_two(), "ours") == []


def test_methods_without_supervision_have_results_at_every_level():
    def record(method, level, blind):
        errors = {"1nn": [[0.1, 0.3]], "linear": [[0.2, 0.2]]}
        return {
            "set": "s",
            "knowledge": level,
            "method": method,
            "blind": blind,
            "failed": None,
            "test_ratio": 0.5,
        } | {
            "errors": errors,
            "seconds": [1.0],
        }

    found = summary.grid(
        [
            record("variance", "none", True),
            record("fisher", "2", False),
            record("fisher", "4", False),
        ]
    )
    assert {key: set(cell) for key, cell in found.items()} == {
        ("s", "2"): {"fisher", "variance"},
        ("s", "4"): {"fisher", "variance"},
    }
    # The mean over numbers of columns.
    assert found["s", "2"]["variance"].means == (pytest.approx(0.2), pytest.approx(0.2))


# --- supervision ---


def test_labels_are_few_in_each_class_and_nested():
    y = np.repeat([0, 1, 2], [30, 20, 3])
    few = knowledge.draw_supervision(knowledge.LEVELS["2"], y, [0, 0]).codes
    more = knowledge.draw_supervision(knowledge.LEVELS["4"], y, [0, 0]).codes
    assert np.bincount(few[few >= 0]).tolist() == [2, 2, 2]
    assert np.bincount(more[more >= 0]).tolist() == [4, 4, 3]
    assert (more[few >= 0] == y[few >= 0]).all()
    assert (few != knowledge.draw_supervision(knowledge.LEVELS["2"], y, [0, 1]).codes).any()


def test_targets_are_a_share_and_at_least_three():
    y = np.arange(200.0)
    y[:100] = np.nan
    for level, count in (("3%", 3), ("5%", 5), ("10%", 10)):
        targets = knowledge.draw_supervision(knowledge.LEVELS[level], y, [0]).targets
        shown = ~np.isnan(targets)
        assert shown.sum() == count
        assert (targets[shown] == y[shown]).all()
    assert (
        ~np.isnan(knowledge.draw_supervision(knowledge.LEVELS["3%"], np.arange(20.0), [0]).targets)
    ).sum() == 3


def test_the_number_of_pairs_is_that_implied_by_four_labels_of_each_class():
    y = np.repeat([0, 1, 2], [30, 20, 3])
    known = knowledge.draw_supervision(knowledge.LEVELS["pairs"], y, [0])
    shown = np.repeat([0, 1, 2], [4, 4, 3])
    pairs = list(itertools.combinations(shown, 2))
    assert len(known.must_link) == sum(a == b for a, b in pairs)
    assert len(known.cannot_link) == sum(a != b for a, b in pairs)
    assert (y[known.must_link[:, 0]] == y[known.must_link[:, 1]]).all()
    assert (y[known.cannot_link[:, 0]] != y[known.cannot_link[:, 1]]).all()


def test_methods_that_support_labels_only_get_the_most_probable_class():
    known = Supervision.from_probabilities([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    assert candidates.CANDIDATES["fisher"].usable(known).codes.tolist() == [0, 1, 0]
    assert candidates.CANDIDATES["weighted_laplacian"].usable(known) is known


# --- references and rivals ---


@pytest.fixture
def alike():
    """Forty rows and twelve columns, some of which are nearly identical."""
    random = np.random.default_rng(3)
    base = random.normal(size=(40, 5))
    return base[:, [0, 0, 0, 1, 1, 2, 3, 3, 4, 4, 4, 4]] + 0.4 * random.normal(size=(40, 12))


def test_facility_location_is_the_greedy_maximum_of_its_definition(alike):
    similarity = np.corrcoef(alike.T) ** 2
    order = []
    for _ in range(8):
        gain = [
            similarity[:, [*order, j]].max(axis=1).sum() if j not in order else -1
            for j in range(12)
        ]
        order.append(int(np.argmax(gain)))
    assert references.facility_location(alike, Supervision.nothing(40), 8).tolist() == order


def test_pivoted_qr_selects_the_longest_residual(alike):
    rest, order = alike - alike.mean(axis=0), []
    for _ in range(12):
        order.append(int(np.argmax((rest**2).sum(axis=0))))
        unit = rest[:, order[-1]] / np.linalg.norm(rest[:, order[-1]])
        rest = rest - np.outer(unit, unit @ rest)
    assert references.pivoted_qr(alike, Supervision.nothing(40), 12).tolist() == order


def test_score_unlike_is_the_score_times_one_minus_the_largest_correlation(alike):
    y = alike[:, 0] + alike[:, 5]
    r = np.abs(np.corrcoef(alike.T))
    score = [abs(np.corrcoef(alike[:, j], y)[0, 1]) for j in range(12)]
    order = []
    for _ in range(6):
        gain = [
            -1 if j in order else score[j] * (1 - max([r[j, k] for k in order], default=0))
            for j in range(12)
        ]
        order.append(int(np.argmax(gain)))
    assert references.score_unlike(alike, Supervision.from_targets(y), 6).tolist() == order


def test_deflation_is_the_relevance_of_least_squares_residuals(alike):
    labels = np.where(np.arange(40) % 3 == 0, np.arange(40) % 2, -1)
    rows = np.flatnonzero(labels >= 0)
    indicators = np.column_stack([labels[rows] == 0, labels[rows] == 1]).astype(float)
    order: list[int] = []
    for _ in range(5):
        worth = []
        for j in range(alike.shape[1]):
            basis = np.column_stack([np.ones(40), *(alike[:, k] for k in order)])
            left = alike[:, j] - basis @ np.linalg.lstsq(basis, alike[:, j], rcond=None)[0]
            gone = j in order or left @ left < 1e-9 * np.var(alike[:, j]) * 40
            labeled = left[rows] - left[rows].mean()
            worth.append(
                -1 if gone else ((indicators.T @ labeled) ** 2).sum() / (labeled @ labeled)
            )
        order.append(int(np.argmax(worth)))
    assert references.deflation(alike, Supervision.from_labels(labels), 5).tolist() == order


def test_leaders_skip_columns_that_correlate_with_them():
    random = np.random.default_rng(0)
    y = random.normal(size=60)
    X = np.column_stack(
        [y + 0.1 * random.normal(size=60), random.normal(size=60), y + 0.5 * random.normal(size=60)]
    )
    assert abs(np.corrcoef(X.T)[0, 2]) > references.ALIKE
    assert references.leaders(X, Supervision.from_targets(y), 2).tolist() == [0, 1, 2]
    assert references.leaders(X[:, [0, 2]], Supervision.from_targets(y), 2).tolist() == [0, 1]


def test_the_trace_ratio_is_the_largest_of_all_sets():
    for seed in range(10):
        random = np.random.default_rng(seed)
        X, labels = random.normal(size=(30, 7)) * [1, 2, 3, 1, 1, 5, 1], np.arange(30) % 3
        X[:, :3] += labels[:, None] * random.random(3)
        total = X.var(axis=0) * 30
        within = sum(X[labels == code].var(axis=0) * 10 for code in range(3))
        ratios = {
            chosen: (total - within)[list(chosen)].sum() / within[list(chosen)].sum()
            for chosen in itertools.combinations(range(7), 3)
        }
        found = references.trace_ratio(X, Supervision.from_labels(labels), 3)[:3]
        assert ratios[tuple(sorted(found.tolist()))] == pytest.approx(max(ratios.values()))


def test_other_libraries_get_labelled_rows_only(alike):
    y = np.where(np.arange(40) < 12, np.arange(40) % 2, -1)
    known = Supervision.from_labels(y)
    other = alike.copy()
    other[12:] = 0
    for name in ("select_f", "select_mi", "l1", "relieff_fast_select"):
        order = candidates.CANDIDATES[name].order
        first, second = order(alike, known, 5), order(other, known, 5)
        assert first.tolist() == second.tolist()
        assert len(set(first.tolist())) == len(first) >= 1


def test_l1_finds_the_columns_that_matter():
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 10))
    y = 5 * X[:, 3] + 2 * X[:, 7] + 0.1 * random.normal(size=80)
    assert rivals.l1(X, y, 2)[:2].tolist() == [3, 7]
    assert set(rivals.l1(X, (y > 0).astype(np.int64), 2)[:2].tolist()) == {3, 7}


def test_a_selection_that_stops_early_is_restarted():
    def three_at_most(free, count):
        if count > 3:
            raise RuntimeError
        return free[:count]

    assert rivals.restarted(three_at_most, 10, 8).tolist() == list(range(8))

    def none(free, count):
        raise RuntimeError

    assert rivals.restarted(none, 10, 8).tolist() == []


def test_mrmr_gives_the_order_of_its_package(alike):
    package = pytest.importorskip("mrmr")
    import pandas as pd

    y = (alike[:, 0] > 0).astype(np.int64)
    expected = package.mrmr_classif(
        pd.DataFrame(alike), pd.Series(y), K=6, n_jobs=1, show_progress=False
    )
    assert rivals.mrmr(alike, y, 6).tolist() == expected


# --- cells ---


def test_random_columns_complete_an_order():
    order = running.completed(np.array([4, 2]), 6, np.random.default_rng(0))
    assert order[:2].tolist() == [4, 2]
    assert sorted(order.tolist()) == list(range(6))


def test_a_time_limit_stops_and_is_removed_afterwards():
    with pytest.raises(running.OverTimeError), running.time_limit(0.05):
        time.sleep(5)
    with running.time_limit(0.05):
        pass
    time.sleep(0.1)


def test_a_time_limit_holds_even_if_a_method_catches_the_exception():
    def misunderstand():
        try:
            time.sleep(5)
        except Exception as error:
            raise ValueError("check your data") from error

    with pytest.raises(running.OverTimeError), running.time_limit(0.05):
        misunderstand()
    with pytest.raises(running.OverTimeError), running.time_limit(0.05), suppress(Exception):
        time.sleep(5)
    with pytest.raises(ValueError, match="my own"), running.time_limit(5):
        raise ValueError("my own")


def test_methods_without_supervision_run_once():
    wanted = running.cells(
        [("wine", "classification"), ("diabetes", "regression")],
        ["none", "2", "4", "5%"],
        ["variance", "fisher"],
    )
    assert [(cell.dataset, cell.level, cell.method) for cell in wanted] == [
        ("wine", "none", "variance"),
        ("wine", "2", "fisher"),
        ("wine", "4", "fisher"),
        ("diabetes", "none", "variance"),
    ]


def test_only_cells_without_a_result_are_outstanding():
    cell = running.Cell("wine", "4", "fisher")
    done = running.run_cell(cell, SETTINGS, 10.0)
    other = running.Settings(rows=1500, folds=4, repeats=1, seed=0)
    late = done | {"failed": "over 5 s", "limit": 5.0}
    assert running.outstanding([cell], [done], SETTINGS, 10.0) == []
    assert running.outstanding([cell], [done], other, 10.0) == [cell]
    assert running.outstanding([cell], [late], SETTINGS, 10.0) == [cell]
    assert running.outstanding([cell], [late], SETTINGS, 5.0) == []


@pytest.mark.parametrize(
    ("body", "reason"),
    [("raise ValueError('no')", "ValueError: no"), ("time.sleep(5)", "over 0.1 s")],
)
def test_a_method_that_fails_is_recorded(tmp_path, body, reason):
    file = tmp_path / "trial.py"
    file.write_text(f"import time\ndef select(X, y, n):\n    {body}\n")
    record = running.run_cell(running.Cell("wine", "4", f"mine={file}:select"), SETTINGS, 0.1)
    assert (record["method"], record["failed"]) == ("mine", reason)
    assert "errors" not in record


def test_a_user_function_gets_the_supervision(tmp_path):
    file = tmp_path / "trial.py"
    file.write_text(
        "import numpy as np\n"
        "def select(X, y, n):\n"
        "    assert X.shape == (118, 13) or X.shape == (119, 13)\n"
        "    assert np.bincount(y + 1)[1:].tolist() == [4, 4, 4]\n"
        "    return np.arange(n)\n"
    )
    record = running.run_cell(running.Cell("wine", "4", f"mine={file}:select"), SETTINGS, 5.0)
    assert record["failed"] is None


def test_unavailable_methods_and_data_sets_are_reported_and_left_out(tmp_path, capsys, monkeypatch):
    absent = candidates.Candidate(
        "select_f", "peers", frozenset(["labels"]), lambda X, known, n: None, "no_such_package"
    )
    monkeypatch.setattr(candidates, "CANDIDATES", candidates.CANDIDATES | {"select_f": absent})

    def unavailable(name):
        raise DataUnavailableError("not today.")

    monkeypatch.setattr(command, "load", unavailable)
    assert command.main(["--sets", "orl", "--methods", "select_f", str(tmp_path / "x.jsonl")]) == 0
    reported = capsys.readouterr().err
    assert "select_f is left out: the package no_such_package is not installed" in reported
    assert "orl is left out: not today." in reported


def test_names_are_checked(tmp_path, capsys):
    with pytest.raises(InputError, match=r"no method 'fischer'.*fisher"):
        candidates.chosen("fischer")
    of_references = [*references.REFERENCES, *filters.FILTERS]
    assert candidates.chosen("references") == ["random", *of_references]
    assert command.main(["--knowledge", "5", str(tmp_path / "x.jsonl")]) == 2
    assert "there is no level of supervision '5'" in capsys.readouterr().err


def test_large_tables_are_sampled_in_proportion():
    found = sets.problem("wine", rows=90, folds=3, repeats=1, seed=0)
    assert np.bincount(found.y).tolist() == [30, 36, 24]  # half of 59, 71, 48
    assert found.sizes == (5, 10)
    assert found.test_ratio == pytest.approx(0.5)


def fisher_scores(X, y):
    classes = [X[y == code] for code in np.unique(y)]
    between = sum(len(part) * (part.mean(axis=0) - X.mean(axis=0)) ** 2 for part in classes)
    return between / sum(len(part) * part.var(axis=0) for part in classes)


def test_a_cell_has_the_same_errors_as_scikit_learn():
    """The same folds, labels and learners, combined by hand."""
    X, y = load_wine(return_X_y=True)
    expected = {"1nn": [], "linear": []}
    for fold, (train, test) in enumerate(
        StratifiedKFold(3, shuffle=True, random_state=np.random.RandomState(0)).split(X, y)
    ):
        shown = knowledge.draw_supervision(knowledge.LEVELS["4"], y[train], [0, fold]).codes >= 0
        order = np.argsort(-fisher_scores(X[train][shown], y[train][shown]))
        for name, model in (
            ("1nn", KNeighborsClassifier(1)),
            ("linear", LogisticRegression(max_iter=1000)),
        ):
            pipe = make_pipeline(StandardScaler(), model)
            columns = [order[:size] for size in (5, 10)]
            expected[name].append(
                [
                    1 - pipe.fit(X[train][:, c], y[train]).score(X[test][:, c], y[test])
                    for c in columns
                ]
            )
    record = running.run_cell(running.Cell("wine", "4", "fisher"), SETTINGS, 10.0)
    for name, errors in expected.items():
        np.testing.assert_allclose(record["errors"][name], errors, atol=1e-12)


# --- learners with the known labels only ---


KNOWN = running.Settings(rows=1500, folds=3, repeats=1, seed=0, protocol="known")


def test_learners_with_known_labels_have_the_same_errors_as_scikit_learn():
    """The learners train on the four labels of each class that the method saw."""
    X, y = load_wine(return_X_y=True)
    folds = StratifiedKFold(3, shuffle=True, random_state=np.random.RandomState(0)).split(X, y)
    expected = {"1nn": [], "linear": [], "trees": []}
    for fold, (train, test) in enumerate(folds):
        shown = knowledge.draw_supervision(knowledge.LEVELS["4"], y[train], [0, fold]).codes >= 0
        known = train[shown]
        assert len(known) == 12
        order = np.argsort(-fisher_scores(X[known], y[known]))
        for name, model in (
            ("1nn", make_pipeline(StandardScaler(), KNeighborsClassifier(1))),
            ("linear", make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))),
            ("trees", ExtraTreesClassifier(50, random_state=0)),
        ):
            columns = order[:5]
            fitted = model.fit(X[known][:, columns], y[known])
            expected[name].append(1 - fitted.score(X[test][:, columns], y[test]))
    record = running.run_cell(running.Cell("wine", "4", "fisher"), KNOWN, 10.0)
    for name, errors in expected.items():
        found = [by_size[0] for by_size in record["errors"][name]]
        np.testing.assert_allclose(found, errors, atol=1e-12)
    assert record["settings"]["protocol"] == "known"


def test_the_learners_of_both_protocols_see_the_same_test_rows_and_selections():
    """With all labels, both protocols train on the same rows."""
    cell = running.Cell("wine", ALL, "fisher")
    both = [running.run_cell(cell, settings, 10.0) for settings in (SETTINGS, KNOWN)]
    assert both[0]["errors"] == both[1]["errors"]
    assert running.key(both[0]) != running.key(both[1])


def test_methods_without_supervision_run_at_every_level_if_learners_see_known_labels_only():
    wanted = running.cells(
        [("wine", "classification"), ("diabetes", "regression")],
        ["2", "4", "5%"],
        ["variance", "all"],
        "known",
    )
    assert [(cell.dataset, cell.level, cell.method) for cell in wanted] == [
        ("wine", "2", "variance"),
        ("wine", "4", "variance"),
        ("wine", "2", "all"),
        ("wine", "4", "all"),
        ("diabetes", "5%", "variance"),
        ("diabetes", "5%", "all"),
    ]
    few, more = (running.run_cell(cell, KNOWN, 10.0) for cell in wanted[:2])
    assert few["failed"] is more["failed"] is None
    assert few["errors"] != more["errors"]
    assert not few["blind"]
    assert {key[1] for key in summary.grid([few, more])} == {"2", "4"}


def test_three_known_targets_are_enough(monkeypatch):
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 8))
    data = sets.Problem(
        "small",
        "regression",
        X,
        X[:, 0] + 0.1 * random.normal(size=60),
        sets._splits(X[:, 0], 3, 1, 0),
    )
    monkeypatch.setattr(running, "problem", lambda name, **sampling: data)
    records = {
        method: running.run_cell(running.Cell("small", "3%", method), KNOWN, 10.0)
        for method in ("ours", "jmi", "variance", "random", "all")
    }
    for record in records.values():
        assert record["failed"] is None
        assert list(record["errors"]) == ["5nn", "linear", "trees"]
        assert np.isfinite([*record["errors"].values()]).all()
    # Five neighbours of three rows would predict the mean, with a relative error of 1.
    assert (np.array(records["all"]["errors"]["5nn"]) != 1).all()


def test_levels_without_labels_are_refused_if_learners_see_known_labels_only(tmp_path, capsys):
    file = str(tmp_path / "x.jsonl")
    for level in ("none", "pairs", "expert", "all"):
        assert command.main(["--protocol", "known", "--knowledge", f"4,{level}", file]) == 2
        error = capsys.readouterr().err
        assert f"the level '{level}' is not possible" in error
        assert "2, 4, 10, 3%, 5%, 10%" in error
    assert command.main(["--protocol", "known", "--missing", file]) == 2
    assert "--missing cannot use --protocol known" in capsys.readouterr().err


def test_protocols_share_a_file_but_no_table(tmp_path, capsys):
    file = tmp_path / "results.jsonl"
    arguments = ["--sets", "wine", "--methods", "fisher", "--jobs", "1", "--folds", "3"]
    assert command.main([*arguments, "--knowledge", "4,all", str(file)]) == 0
    both = capsys.readouterr()
    assert "3 cells, 0 of them" in both.err
    assert "all labels: 1 data set, 1 cell (all)" in both.out
    assert command.main([*arguments, "--knowledge", "4", "--protocol", "known", str(file)]) == 0
    known = capsys.readouterr()
    assert "2 cells, 0 of them" in known.err
    assert "The learners train on the rows with known labels only." in known.out
    assert "all labels" not in known.out
    assert command.main(["table", str(file)]) == 0
    printed = capsys.readouterr().out
    assert printed.count("a few labels: 1 data set, 1 cell (4)") == 2
    found = dict(command._summaries_of(file))
    assert list(found) == ["all", "known"]
    assert [block["title"] for block in found["known"]["blocks"]] == ["a few labels"]


def test_a_page_needs_one_setting_for_each_protocol(tmp_path):
    file = tmp_path / "results.jsonl"
    cell = running.Cell("wine", "4", "fisher")
    other = running.Settings(rows=1500, folds=4, repeats=1, seed=0)
    for settings in (SETTINGS, other):
        with file.open("a") as out:
            out.write(json.dumps(running.run_cell(cell, settings, 10.0)) + "\n")
    with pytest.raises(InputError, match="2 different settings"):
        command._summaries_of(file)


# --- the level with all labels or targets ---


def test_the_complete_level_shows_all_labels_or_targets():
    y = np.array([0, 1, 1, -1, 2, 0])
    known = knowledge.draw_supervision(level_for(ALL, "classification"), y, [0])
    assert known.codes.tolist() == y.tolist()
    targets = np.array([1.0, np.nan, 3.0, 2.0, 5.0])
    known = knowledge.draw_supervision(level_for(ALL, "regression"), targets, [0])
    np.testing.assert_array_equal(known.targets, targets)
    assert level_for("4", "regression") is None
    assert level_for("none", "regression") is knowledge.LEVELS["none"]
    assert missing.KNOWLEDGE[0] == ALL


def test_the_complete_level_is_a_block_of_its_own():
    cells = [
        running.Cell(name, level, method)
        for name, level in (("wine", "4"), ("wine", ALL), ("diabetes", ALL))
        for method in ("ours", "random")
    ]
    run = tables.summarised([running.run_cell(cell, SETTINGS, 10.0) for cell in cells], SETTINGS)
    levels = {block["title"]: (block["sets"], block["levels"]) for block in run["blocks"]}
    assert levels == {
        "a few labels": (1, ["4"]),
        "all labels": (1, [ALL]),
        "all targets": (1, [ALL]),
        "all labels or targets": (2, [ALL]),
        "all levels": (2, ["4", ALL]),
    }


# --- any number of learners ---


def test_ranks_and_rows_are_means_over_any_number_of_learners():
    def three(*errors):
        return summary.Result(tuple(np.full(3, error) for error in errors), 0.1, 0.5)

    cell = {"ours": three(0.1, 0.2, 0.3), "random": three(0.3, 0.2, 0.1), "lost": FAILED}
    # ours: ranks 1, 1.5 and 2; random: 2, 1.5 and 1; the failure is last everywhere
    assert summary.ranks(cell) == {"ours": 1.5, "random": 1.5, "lost": 3.0}
    rows = {row.method: row for row in summary.block({("s", "4"): cell})}
    assert rows["ours"].errors == pytest.approx((0.1, 0.2, 0.3))
    assert rows["lost"].errors == pytest.approx((0.3, 0.2, 0.1))
    assert set(summary.verdicts({("s", "4"): cell}, "ours")) == {("s", 0), ("s", 1), ("s", 2)}
    lost = summary.ranks({"a": FAILED, "b": FAILED})
    assert lost == {"a": 1.5, "b": 1.5}


def test_tables_have_a_column_for_each_learner():
    cells = [running.Cell("wine", "4", name) for name in ("ours", "random")]
    records = [running.run_cell(cell, SETTINGS, 10.0) for cell in cells]
    text = tables.report(records, SETTINGS, markdown=True, detail=True)
    assert "| method | rank (place) | k-NN | linear | trees | minus random |" in text
    assert "| method | rank | k-NN | linear | trees | p k-NN | p linear | p trees |" in text


def test_missing_values_are_still_compared_with_two_learners():
    assert missing.LEARNERS == {
        "classification": ("1nn", "linear"),
        "regression": ("5nn", "linear"),
    }


# --- data sets ---


def test_groups_of_data_sets_are_known_disjoint_and_replaced_by_their_members():
    assert not set(sets.OTHER) & set(sets.DEVELOPMENT)
    assert set(sets.OTHER) | set(sets.DEVELOPMENT) <= set(DATASETS)
    # Variants of development data sets, and a table with gaps in nearly all rows.
    assert set(DATASETS) - set(sets.OTHER) - set(sets.DEVELOPMENT) == {
        *("leukemia_allaml", "leukemia_discrete", "colon_discrete", "horse_colic"),
    }
    assert sets.named("other") == list(sets.OTHER)
    assert sets.named("wine,quick") == list(sets.QUICK)  # wine is in it and listed once


def test_slow_methods_run_only_if_they_are_named():
    assert not set(candidates.SLOW) & set(candidates.FULL)
    strong = {"score_unlike", "jmi", "ridge_rfe", "forests_unlike", "fastcan", "mrmr", "relieff"}
    assert strong < set(candidates.FULL)
    assert candidates.chosen("boruta") == ["random", "boruta"]


# --- the command ---


def test_a_run_can_be_continued_and_printed(tmp_path, capsys):
    file = tmp_path / "results.jsonl"
    arguments = [
        "--sets",
        "wine,diabetes",
        "--knowledge",
        "4,5%",
        "--folds",
        "3",
        "--jobs",
        "1",
        str(file),
    ]
    assert command.main([*arguments, "--methods", "ours,fisher,pearson"]) == 0
    first = capsys.readouterr().out
    records = [json.loads(line) for line in file.read_text().splitlines()]
    assert sorted((record["set"], record["knowledge"], record["method"]) for record in records) == [
        ("diabetes", "5%", "ours"),
        ("diabetes", "5%", "pearson"),
        ("diabetes", "none", "random"),
        ("wine", "4", "fisher"),
        ("wine", "4", "ours"),
        ("wine", "none", "random"),
    ]
    assert all(record["failed"] is None for record in records)
    assert {record["set"]: record["sizes"] for record in records} == {
        "wine": [5, 10],
        "diabetes": [3, 5, 10],
    }
    for heading in (
        "a few labels: 1 data set, 1 cell (4)",
        "a few targets",
        "labels or targets: 2 data sets, 2 cells (4, 5%)",
    ):
        assert heading in first
    assert "Not run" in first

    # All cells are done, even if the last run was interrupted in the middle of a line.
    file.write_text(file.read_text() + '{"set": "wi')
    assert command.main([*arguments, "--methods", "ours,fisher,pearson"]) == 0
    assert "6 cells, 6 of them" in capsys.readouterr().err

    # A repeated run adds one line with the same numbers.
    assert command.main([*arguments, "--methods", "fisher", "--again"]) == 0
    capsys.readouterr()
    again = running.read_records(file)
    assert len(file.read_text().splitlines()) == 8
    assert {running.key(record): record["errors"] for record in again} == {
        running.key(record): record["errors"] for record in records
    }

    assert command.main(["table", str(file), "--markdown", "--detail"]) == 0
    printed = capsys.readouterr().out
    assert "| method | rank (place) |" in printed
    assert "### wine, 4" in printed
    assert command.main(["table", str(tmp_path / "none.jsonl")]) == 2


# --- the pages ---


def test_the_pages_are_those_of_the_stored_results():
    """The pages are made by `python benchmarks/quality page`, not edited by hand."""
    for path, text in page.pages(results.read()).items():
        assert path.read_text(encoding="utf-8") == text, path.name


def test_stored_values_make_the_same_tables(tmp_path, monkeypatch):
    cells = [running.Cell("wine", "4", name) for name in ("ours", "fisher", "random", "all")]
    records = [running.run_cell(cell, SETTINGS, 10.0) for cell in cells]
    run = tables.summarised(records, SETTINGS)
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results.json")
    results.write({"development": run})
    text = tables.text_of(results.read()["development"], markdown=True)
    assert text == tables.text_of(run, markdown=True)
    assert any("| random |" in part for part in text)
    results.add("synthetic", results.section("Text.", [["a"], ["b"]]))
    assert list(results.read()) == ["development", "synthetic"]


METHODS = ("ours", "fastcan", "score_unlike", "jmi", "select_f", "random", "all")


def artificial_records(levels, protocol="all", *, n_sets=6, lead=0.0, seed=0):
    """Return records with random errors. The first two thirds of the data sets have classes.

    The errors of the default are smaller by `lead`. JMI fails on the first data set. FastCan does
    not run on the last.
    """
    random = np.random.default_rng(seed)
    settings = dataclasses.asdict(running.Settings(900, 3, 1, 0, protocol))
    records = []
    for number in range(n_sets):
        task = "classification" if number < 2 * n_sets / 3 else "regression"
        for level, method in itertools.product(levels, METHODS):
            if level_for(level, task) is None or (method == "fastcan" and number == n_sets - 1):
                continue
            errors = random.uniform(0.3, 0.5, size=(3, 3, 4)) - lead * (method == "ours")
            records.append(
                {
                    "set": f"set{number}",
                    "knowledge": level,
                    "method": method,
                    "blind": False,
                    "task": task,
                    "settings": settings,
                    "test_ratio": 0.5,
                    "limit": 12.0,
                    "failed": "over 12 s" if method == "jmi" and number == 0 else None,
                    "errors": dict(zip(sets.LEARNERS[task], errors.tolist(), strict=True)),
                    "seconds": [0.1, 0.2, 0.3],
                }
            )
    return records


def artificial_run(levels, protocol="all", **options):
    records = artificial_records(levels, protocol, **options)
    return tables.summarised(records, running.Settings(**records[0]["settings"]))


def artificial_runs(lead=0.0):
    return {
        "development": artificial_run(["none", "4", "5%", "pairs", ALL], lead=lead),
        "unseen": artificial_run(["none", "4", "5%", ALL], seed=1, lead=lead),
        "development_known": artificial_run(["4", "10", "5%", "10%"], "known", lead=lead),
        "unseen_known": artificial_run(["4", "5%"], "known", seed=1, lead=lead),
    }


def mean_errors(records, method):
    """Return the mean error of a method for each data set, where failures are random columns."""
    found = {}
    for one in records:
        if one["method"] == method:
            source = next(
                other
                for other in records
                if (other["set"], other["knowledge"]) == (one["set"], one["knowledge"])
                and other["method"] == ("random" if one["failed"] else method)
            )
            found.setdefault(one["set"], []).append(np.mean(list(source["errors"].values())))
    return {name: np.mean(values) for name, values in found.items()}


@pytest.mark.parametrize(("levels", "protocol"), [(["4", "10", "5%"], "known"), ([ALL], "all")])
def test_differences_from_rivals_are_means_over_data_sets(levels, protocol):
    records = artificial_records(levels, protocol)
    run = tables.summarised(records, running.Settings(**records[0]["settings"]))
    regime = verdicts.KNOWN if protocol == "known" else verdicts.EVERY
    block = verdicts.block_of(run, regime.titles)
    assert list(block["rivals"]) == ["fastcan", "score_unlike", "jmi"]
    ours = mean_errors(records, "ours")
    for rival, found in block["rivals"].items():
        theirs = mean_errors(records, rival)
        differences = np.array([ours[name] - error for name, error in theirs.items()])
        assert found["sets"] == len(differences) == (5 if rival == "fastcan" else 6)
        assert found["difference"] == pytest.approx(differences.mean())
        error = differences.std(ddof=1) / math.sqrt(len(differences))
        assert found["standard_error"] == pytest.approx(error)
        assert found["better"] == (differences < 0).sum()
        shown = f"{differences.mean():+.3f} ± {error:.3f}, {found['better']}/{found['sets']}"
        suffix = "_known" if protocol == "known" else ""
        text = page._against_rivals(verdicts.cases({f"development{suffix}": run}))
        assert shown.replace("-", "−") in text


def test_equal_errors_are_not_better():
    found = summary.paired(block_of_two(), "ours", "random")
    assert found is not None
    assert (found.sets, found.better) == (2, 1)  # better on s, equal on t
    assert found.difference == pytest.approx(-0.15)
    assert summary.paired(block_of_two(), "ours", "elsewhere") is None


@pytest.mark.parametrize(
    ("difference", "error", "expected"),
    [
        (-0.02, 0.01, "ahead"),
        (-0.01, 0.01, "level"),
        (0.01, 0.01, "level"),
        (0.02, 0.01, "behind"),
        (-0.02, None, "level"),  # a single data set
    ],
)
def test_level_is_within_one_standard_error(difference, error, expected):
    compared = {"best": "fastcan", "difference": difference, "standard_error": error}
    assert verdicts.verdict(compared) == expected
    assert verdicts.verdict({"best": None}) is None


def with_differences(runs, differences):
    """Replace the differences from the best method in the blocks with these titles."""
    for group, title, difference in differences:
        block = verdicts.block_of(runs[group], [title])
        block["default"] |= {"difference": difference, "standard_error": 0.01}
    return runs


def test_verdicts_are_in_words():
    runs = with_differences(
        artificial_runs(),
        [
            ("development", "no supervision", -0.05),
            ("unseen", "no supervision", -0.05),
            ("development", "labels or targets", -0.05),
            ("unseen", "labels or targets", 0.005),
            ("development", "all labels or targets", -0.005),
            ("unseen", "all labels or targets", 0.05),
            ("development_known", "labels or targets", 0.05),
            ("unseen_known", "labels or targets", 0.05),
        ],
    )
    assert verdicts.in_words(verdicts.cases(runs)) == {
        "ahead": "without labels and with few labels (development)",
        "level": "with few labels (other) and with all labels (development)",
        "behind": "with all labels (other) and with few labels for the learners as well",
    }
    block = " ".join(page.readme_block(runs).split())
    assert "the default is ahead without labels and with few labels (development); level" in block
    text = " ".join(page.quality(runs).split())
    assert "**Level**: with few labels, other +0.005 ± 0.010" in text
    assert text.index("**Ahead**") < text.index("**Level**") < text.index("**Behind**")


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        (["4"], "4 per class"),
        (["4", "5%"], "4 per class or 5 % of the targets"),
        (["4", "10", "5%", "10%"], "4 or 10 per class, or 5 or 10 % of the targets"),
        (["2", "4", "10", "3%"], "2, 4 or 10 per class, or 3 % of the targets"),
        (["3%", "5%", "10%"], "3, 5 or 10 % of the targets"),
    ],
)
def test_levels_in_words(levels, expected):
    assert verdicts.amounts(levels) == expected


def test_the_pages_name_the_levels_of_the_results():
    runs = artificial_runs()
    text = " ".join(page.quality(runs).split())
    assert "few labels (4 per class or 5 % of the targets), all labels or targets or pairs." in text
    assert (
        "that the methods saw: 4 or 10 per class, or 5 or 10 % of the targets (development) and 4 "
        "per class or 5 % of the targets (other)." in text
    )
    few = {"development": artificial_run(["none", "2", "10"], n_sets=3)}
    few["development"]["settings"] |= {"folds": 5}
    text = " ".join(page.quality(few).split())
    assert "**Supervision.** No labels or few labels (2 or 10 per class)." in text
    assert "Five-fold cross-validation" in text
    assert "In a second comparison" not in text
    assert "Few labels are 2 or 10 per class:" in " ".join(page.readme_block(few).split())


def test_longer_time_limits_are_named():
    records = artificial_records(["none", "4", "5%"])
    again = [one | {"limit": 60.0} for one in records if one["method"] == "ours"]
    again[0] |= {"seconds": [1.0, 20.0, 2.0]}
    others = [one for one in records if one["method"] != "ours"]
    run = tables.summarised([*others, *again], running.Settings(**records[0]["settings"]))
    assert run["longer"] == {"ours": {"limit": 60.0, "cells": 1}}
    text = " ".join(page.quality({"development": run}).split())
    assert (
        "was 12 seconds. The default had up to 60 seconds, and needed more than 12 in 1 cell."
        in text
    )
    assert "The default had up to" not in page.quality(artificial_runs())


def test_the_overview_shows_all_regimes():
    runs = artificial_runs(lead=0.1)
    header, _, *rows = page._overview(runs, page.IN_README).splitlines()
    assert header == (
        "|  | no labels | few labels | all labels | other: no labels | other: few labels | "
        "other: all labels |"
    )
    assert len(rows) <= 7
    assert rows[0].startswith("| **the default** | −0.")
    assert rows[-1].startswith("| all columns |")
    # FastCan did not run on the last data set.
    fastcan = next(row for row in rows if "FastCan" in row)
    assert fastcan == f"| FastCan |{' – |' * 6}"
    development = verdicts.block_of(runs["development"], ["labels or targets"])
    expected = next(row for row in development["rows"] if row["method"] == "ours")["difference"]
    assert rows[0].split(" | ")[2] == f"{expected:+.3f}".replace("-", "−")


def test_pages_show_both_protocols_and_the_complete_level():
    runs = artificial_runs()
    text = page.quality(runs)
    for expected in (
        "|  | few labels | other: few labels | all labels | other: all labels |",
        "| few labels, learners too | other: few labels, learners too |",
        "Three-fold cross-validation",
        "50 extremely randomised trees",
        "The 6 *other* data sets",
    ):
        assert expected in text.replace("\n", " "), expected
    assert all(line.count("|") <= 8 for line in text.splitlines())  # at most seven columns
    every = page.all_tables(runs)
    assert every.count("The learners train on the rows with known labels only.") == 2
    assert "learners with known labels only" in every


def test_sections_of_problems_are_rendered():
    sections = {
        "counts": results.section(
            "Numbers.", [["supervision", "n"], ["none", "3"]], ["one", "two"]
        ),
        "synthetic": results.section("Recall.", [["problem", "ours"], ["xor", "0.50"]]),
    }
    text = page.problems(sections)
    assert text.endswith(
        "## Artificial problems\n\nRecall.\n\n| problem | **the default** |\n|---|---:|\n"
        "| xor | 0.50 |\n\n## Automatic number\n\nNumbers.\n\n- one\n- two\n\n"
        "| supervision | n |\n|---|---:|\n| none | 3 |"
    )
    runs = artificial_runs()
    written = {path.name for path in page.pages(runs | sections)}
    assert written == {"quality.md", "quality-tables.md", "quality-problems.md", "README.md"}
    assert "quality-problems.md" not in {path.name for path in page.pages(runs)}
    link = "[quality-problems.md](quality-problems.md) shows artificial problems and the automatic"
    assert link in " ".join(page.quality(runs, sections).split())
    assert "quality-problems" not in page.quality(runs)


def test_only_the_text_between_the_marks_is_replaced():
    begin, end = page.MARKS
    text = f"before\n{begin}\nold\n{end}\nafter\n"
    assert page.with_block(text, "new") == f"before\n{begin}\nnew\n{end}\nafter\n"
    assert page.with_block("no marks\n", "new") == "no marks\n"

"""Tests of the commands synthetic, counts and clustering of benchmarks/quality, on small tables."""

from __future__ import annotations

import importlib.util
import itertools
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from graphsieve import Supervision
from graphsieve._base.errors import InputError
from graphsieve.assess import clustering_accuracy
from graphsieve.datasets import DataUnavailableError

FOLDER = Path(__file__).parents[1] / "benchmarks" / "quality"
if "quality" not in sys.modules:
    _spec = importlib.util.spec_from_file_location(
        "quality", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
    )
    assert _spec is not None
    sys.modules["quality"] = importlib.util.module_from_spec(_spec)

from quality import clustering, command, counts, results, sets, synthetic  # noqa: E402

SEEDS = range(20)


def ignore(line):
    pass


# --- synthetic: the problems ---


def real_columns(data):
    """Return the true columns, in the order of the generator."""
    return data.X[:, [min(block) for block in data.blocks]]


def noise_columns(data):
    others = np.setdiff1d(np.arange(data.X.shape[1]), list(data.real | data.nuisance))
    return data.X[:, others]


def differences(X, y):
    """Return the distances of the class medians."""
    return np.abs(np.median(X[y == 1], axis=0) - np.median(X[y == 0], axis=0))


@pytest.mark.parametrize(
    ("name", "shape", "n_blocks"),
    [
        ("needles", (100, 5000), 10),
        ("circle", (200, 100), 2),
        ("xor", (300, 100), 2),
        ("parity", (500, 100), 3),
        ("friedman", (200, 100), 5),
        ("redundant_blocks", (200, 300), 10),
        ("sparse_binary", (300, 1000), 10),
        ("minority", (500, 100), 5),
        ("heavy_tails", (200, 100), 10),
        ("typo", (200, 100), 10),
        ("nuisance", (200, 500), 10),
    ],
)
def test_the_sizes_of_the_problems(name, shape, n_blocks):
    data = synthetic.PROBLEMS[name](0)
    assert data.X.shape == shape
    assert len(data.blocks) == n_blocks
    assert {len(block) for block in data.blocks} == {10 if name == "redundant_blocks" else 1}
    assert data.kind == ("targets" if name == "friedman" else "labels")
    again, other = synthetic.PROBLEMS[name](0), synthetic.PROBLEMS[name](1)
    assert (again.X == data.X).all()
    assert (again.y == data.y).all()
    # The true columns are not the first ones, and not the same ones for every seed.
    assert other.blocks != data.blocks != tuple(frozenset([j]) for j in range(n_blocks))


def test_every_problem_is_listed_in_the_test_of_sizes():
    assert len(synthetic.PROBLEMS) == 11
    assert set(synthetic.QUICK) <= set(synthetic.PROBLEMS)


def test_labels_follow_from_the_true_columns():
    for seed in SEEDS:
        data = synthetic.circle(seed)
        inside = np.hypot(*real_columns(data).T) < math.sqrt(2 / math.pi)
        assert (inside == (data.y == 0)).all()
        data = synthetic.xor(seed)
        assert ((np.sign(real_columns(data)).prod(axis=1) > 0) == (data.y == 1)).all()
        data = synthetic.parity(seed)
        assert set(np.unique(data.X)) == {0, 1}
        assert (real_columns(data).sum(axis=1) % 2 == data.y).all()


def test_the_target_of_friedman_has_noise_of_variance_one():
    data = synthetic.friedman(0)
    a, b, c, d, e = real_columns(data).T
    noise = data.y - (10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e)
    assert noise.std() == pytest.approx(1, abs=0.15)  # three standard errors


@pytest.mark.parametrize(
    ("name", "size", "n_minority"),
    [("needles", 1.3, 50), ("minority", 1.5, 30), ("heavy_tails", 1.5, 100), ("typo", 1.0, 100)],
)
def test_the_true_columns_are_shifted_and_the_others_are_not(name, size, n_minority):
    seeds = range(5) if name == "needles" else SEEDS
    problems = [synthetic.PROBLEMS[name](seed) for seed in seeds]
    assert {np.bincount(data.y).min() for data in problems} == {n_minority}
    real = np.concatenate(
        [
            real_columns(data)[data.y == 1].mean(axis=0)
            - real_columns(data)[data.y == 0].mean(axis=0)
            if name != "heavy_tails"
            else np.median(real_columns(data)[data.y == 1], axis=0)
            - np.median(real_columns(data)[data.y == 0], axis=0)
            for data in problems
        ]
    )
    assert np.abs(real).mean() == pytest.approx(size, abs=0.1)
    assert (real > 0).mean() == pytest.approx(0.5, abs=0.2)
    noise = [differences(noise_columns(data), data.y).mean() for data in problems]
    assert np.mean(noise) < size / 3


def test_heavy_tails_have_cauchy_quartiles():
    noise = noise_columns(synthetic.heavy_tails(0))
    assert np.quantile(noise, [0.25, 0.75]) == pytest.approx([-1, 1], abs=0.1)
    assert np.abs(noise).max() > 100


def test_one_value_of_the_typo_is_wrong():
    for seed in SEEDS:
        data = synthetic.typo(seed)
        _, columns = np.nonzero(data.X == synthetic.TYPO)
        assert len(columns) == 1
        assert columns[0] not in data.real


def test_blocks_are_copies_of_independent_factors():
    data = synthetic.redundant_blocks(0)
    blocks = [sorted(block) for block in data.blocks]
    within = [np.corrcoef(data.X[data.y == 0][:, block].T) for block in blocks]
    # The factors have variance 1 and the noise 0.09.
    assert np.mean(within) == pytest.approx(0.1 + 0.9 / 1.09, abs=0.03)
    factors = np.column_stack([data.X[:, block].mean(axis=1) for block in blocks])
    between = np.corrcoef(factors[data.y == 0].T)[np.triu_indices(10, 1)]
    assert np.abs(between).max() < 0.4
    shifts = np.concatenate(
        [
            differences(
                np.column_stack([found.X[:, sorted(block)].mean(axis=1) for block in found.blocks]),
                found.y,
            )
            for found in map(synthetic.redundant_blocks, SEEDS)
        ]
    )
    assert shifts.mean() == pytest.approx(1, abs=0.1)


def test_rates_of_the_sparse_columns():
    data = synthetic.sparse_binary(0)
    assert noise_columns(data).mean() == pytest.approx(0.1, abs=0.01)
    rates = np.sort(
        [real_columns(data)[data.y == code].mean(axis=0) for code in (0, 1)], axis=0
    ).mean(axis=1)
    assert rates == pytest.approx([0.1, 0.4], abs=0.05)


def test_nuisance_columns_share_five_factors_that_are_unrelated_to_the_labels():
    data = synthetic.nuisance(0)
    assert len(data.nuisance) == 200
    assert not data.nuisance & data.real
    assert np.bincount(data.y + 1).tolist() == [180, 10, 10]
    related = data.X[:, sorted(data.nuisance)]
    sizes = np.linalg.eigvalsh(np.corrcoef(related.T))[::-1]
    # Each factor is shared by 40 columns, with a correlation of 1 / 1.25.
    assert sizes[4] > 20
    assert sizes[5] < 3
    noise = np.linalg.eigvalsh(np.corrcoef(noise_columns(data).T))[::-1]
    assert noise[0] < 6
    shifts = [
        [
            differences(columns[found.y >= 0], found.y[found.y >= 0]).mean()
            for columns in (real_columns(found), found.X[:, sorted(found.nuisance)])
        ]
        for found in map(synthetic.nuisance, SEEDS)
    ]
    assert np.mean(shifts, axis=0)[0] == pytest.approx(1.5, abs=0.15)
    assert np.mean(shifts, axis=0)[1] < 0.7


def test_recall_counts_blocks():
    blocks = (frozenset([1, 4]), frozenset([2]), frozenset([7, 8]), frozenset([9]))
    data = synthetic.Artificial(np.zeros((2, 10)), np.array([0, 1]), blocks)
    assert data.recall([4, 1, 7, 0, 9, 2]) == 0.5  # two blocks among the first four columns
    assert data.recall([9, 8, 2, 4]) == 1
    assert data.recall([0, 3, 5, 6]) == 0


def test_a_tenth_of_the_labels_is_in_proportion():
    known = synthetic.known_part(synthetic.minority(0), 0.1, 0).codes
    assert np.bincount(known[known >= 0]).tolist() == [47, 3]
    few = synthetic.Artificial(np.zeros((24, 1)), np.repeat([0, 1], 12), (frozenset([0]),))
    known = synthetic.known_part(few, 0.1, 0).codes
    assert np.bincount(known[known >= 0]).tolist() == [2, 2]
    assert (known[known >= 0] == few.y[known >= 0]).all()
    assert (synthetic.known_part(few, 1.0, 0).codes == few.y).all()


def test_a_tenth_of_the_targets_is_at_least_five():
    data = synthetic.friedman(0)
    assert synthetic.known_part(data, 0.1, 0).n_labeled == 20
    few = synthetic.Artificial(data.X[:30], data.y[:30], data.blocks)
    assert synthetic.known_part(few, 0.1, 0).n_labeled == 5


def test_few_labels_of_a_problem_stay():
    data = synthetic.nuisance(0)
    assert synthetic.known_part(data, 0.1, 0).codes.tolist() == data.y.tolist()


# --- synthetic: the runs ---


def test_the_forest_finds_shifted_columns_with_labelled_rows_only():
    random = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = random.normal(size=(60, 5))
    X[:, 3] += 4 * y
    labels = np.where(np.arange(60) < 40, y, -1)
    other = X.copy()
    other[40:] = 0
    forest = synthetic.OWN["forest"].order
    assert forest(X, Supervision.from_labels(labels), 1)[0] == 3
    assert forest(other, Supervision.from_labels(labels), 1)[0] == 3
    assert forest(X, Supervision.from_targets(X[:, 2] * 3), 1)[0] == 2


def test_a_warning_about_the_size_is_reported():
    random = np.random.default_rng(0)
    unrelated = synthetic.Artificial(
        random.normal(size=(30, 8)), np.arange(30) % 2, (frozenset([0]),)
    )
    found = synthetic.auto_size(unrelated, Supervision.from_labels(unrelated.y), "diverse")
    assert found.warned
    X = unrelated.X.copy()
    X[:, 2] += 6 * unrelated.y
    clear = synthetic.Artificial(X, unrelated.y, (frozenset([2]),), frozenset([0, 1]))
    found = synthetic.auto_size(clear, Supervision.from_labels(clear.y), "diverse")
    assert (found.n, found.n_nuisance, found.warned) == (1, 0, False)


def test_the_command_synthetic_prints_recalls(capsys):
    arguments = ["synthetic", "--problems", "circle,friedman", "--seeds", "2"]
    assert (
        command.main([*arguments, "--methods", "relieff,score_unlike", "--labels", "all,10%"]) == 0
    )
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if line.startswith("Known")] == [
        "Known labels: all. Mean ± standard error, seeds: 2",
        "Known labels: 10%. Mean ± standard error, seeds: 2",
    ]
    # ReliefF finds the circle, and cannot use targets.
    assert printed[2].split() == ["recall", "relieff", "score_unlike"]
    assert printed[3].startswith("circle                      1.00 ± 0.00")
    assert printed[4].split()[0] == "friedman"
    assert len(printed[4].split()) == 4


def test_the_command_synthetic_counts_nuisance_columns(capsys, monkeypatch):
    def small(seed):
        data = synthetic.nuisance(seed)
        kept = [*data.real, *sorted(data.nuisance)[:20]]
        place = {old: new for new, old in enumerate(kept)}
        return synthetic.Artificial(
            data.X[:, kept],
            data.y,
            tuple(frozenset([place[min(block)]]) for block in data.blocks),
            frozenset(range(10, 30)),
        )

    monkeypatch.setattr(synthetic, "PROBLEMS", {"nuisance": small})
    arguments = ["--problems", "nuisance", "--seeds", "2", "--markdown"]
    assert command.main(["synthetic", *arguments, "--methods", "diverse,random"]) == 0
    rows = [line.split("|") for line in capsys.readouterr().out.splitlines() if "|" in line]
    table = {row[1].strip(): [cell.strip() for cell in row[2:-1]] for row in rows[-2:]}
    assert table["diverse"][-1] == "0 of 2"
    assert table["random"][2:] == ["", "", ""]
    assert float(table["diverse"][0].split()[0]) > float(table["random"][0].split()[0])
    # A method that ranks at random finds a third of the ten columns.
    assert float(table["random"][0].split()[0]) + float(table["random"][1].split()[0]) == 10


def test_a_method_that_fails_does_not_stop_the_run(tmp_path, capsys):
    file = tmp_path / "trial.py"
    file.write_text("def select(X, y, n):\n    raise ValueError('no')\n")
    arguments = ["synthetic", "--problems", "circle", "--seeds", "1"]
    assert command.main([*arguments, "--methods", f"mine={file}:select,score_unlike"]) == 0
    printed = capsys.readouterr().out
    assert "failed" in printed
    assert "Failed: mine on circle (ValueError: no)" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--problems", "circel"], "there is no problem 'circel' (did you mean 'circle'?)"),
        (["--labels", "half"], "there is no amount of labels 'half'; choose from all, 10%."),
        (["--methods", "fischer"], "there is no method 'fischer' (did you mean 'fisher'?)"),
        (["--methods", "all"], "all columns have no order"),
        (["--seeds", "0"], "--seeds must be at least 1, got 0."),
    ],
)
def test_names_of_synthetic_are_checked(arguments, message, capsys):
    assert command.main(["synthetic", *arguments]) == 2
    assert message in capsys.readouterr().err


# --- counts ---


def test_steadiness_is_the_interquartile_range_relative_to_the_median():
    found = counts.spread([1, 2, 3, 4, 5])
    assert (found.median, found.low, found.high) == (3, 2, 4)
    assert found.relative == pytest.approx(2 / 3)
    assert not found.steady
    assert counts.spread([4, 8, 8, 8, 12]).steady
    assert counts.spread([6, 6, 8, 10, 12]).steady  # exactly half of the median
    assert not counts.spread([5, 5, 8, 10, 12]).steady


def test_a_fall_is_relative_to_any_earlier_median():
    assert counts.largest_fall([10, 12, 15]) == 0
    assert counts.largest_fall([10, 8, 6]) == pytest.approx(0.4)  # from the first to the last
    assert counts.largest_fall([5, 12, 9]) == pytest.approx(0.25)
    assert counts.largest_fall([7]) == 0


def test_a_verdict_by_hand():
    # Mean errors 0.5, 0.22, 0.2, 0.3. The standard error of the best size is 0.02 √(1/4) = 0.01 ×
    # √(4/3), because the errors 0.18, 0.18, 0.22, 0.22 have the deviation 0.02 √(4/3).
    best = np.array([0.18, 0.18, 0.22, 0.22])
    errors = np.column_stack([np.full(4, 0.5), best + 0.01, best, best + 0.1])
    chosen = best + np.array([0.0, 0.02, 0.0, 0.02])
    found = counts.verdict((1, 5, 20, 50), errors, chosen, [11, 10, 9, 12], 0.0)
    assert (found.n, found.best, found.smallest) == (10.5, 20, 5)
    assert found.difference == pytest.approx(0.01)
    assert found.standard_error == pytest.approx(0.01 * math.sqrt(4 / 3) / 2)
    assert found.within  # 0.01 is below 0.0115
    assert not found.few  # 10.5 is above 2 × 5
    assert counts.verdict((1, 5, 20, 50), errors, chosen, [10, 10, 9, 12], 0.0).few
    far = counts.verdict((1, 5, 20, 50), errors, best + 0.012, [10] * 4, 0.0)
    assert not far.within
    # The correction for shared rows makes every standard error larger.
    assert counts.verdict((1, 5, 20, 50), errors, best + 0.012, [10] * 4, 0.25).within


def test_a_best_size_without_errors_has_the_standard_error_of_the_difference():
    errors = np.column_stack([np.full(4, 0.4), np.zeros(4)])
    chosen = [0.0, 0.0, 0.0, 0.1]
    found = counts.verdict((1, 13), errors, chosen, [8] * 4, 0.0)
    assert found.difference == pytest.approx(found.standard_error)
    assert found.within
    assert not counts.verdict((1, 13), errors, [0.1] * 4, [8] * 4, 0.0).within


def test_amounts_of_labels_and_targets():
    y = np.repeat([0, 1, 2], [30, 12, 3])
    known = {name: counts.amount_of(name, y, [0]).codes for name in ("4", "third", "all")}
    assert np.bincount(known["4"][known["4"] >= 0]).tolist() == [4, 4, 3]
    assert np.bincount(known["third"][known["third"] >= 0]).tolist() == [10, 4, 2]
    assert known["all"].tolist() == y.tolist()
    assert counts.amount_of("none", y, [0]).kinds == ()
    targets = np.where(np.arange(100) < 60, np.arange(100.0), np.nan)
    assert counts.amount_of("30%", targets, [0]).n_labeled == 18
    assert counts.amount_of("all", targets, [0]).n_labeled == 60


def test_draws_differ_in_the_labels_or_in_the_rows():
    y = np.repeat([0, 1], [30, 10])
    first, second = (counts.draw("4", y, [0, repeat]) for repeat in (0, 1))
    assert first[0].tolist() == list(range(40))
    assert (first[1].codes != second[1].codes).any()
    rows, known = counts.draw("all", y, [0, 0])
    assert np.bincount(y[rows]).tolist() == [27, 9]
    assert known.codes.tolist() == y[rows].tolist()
    assert rows.tolist() == counts.draw("all", y, [0, 0])[0].tolist()
    assert rows.tolist() != counts.draw("all", y, [0, 1])[0].tolist()


def test_amounts_that_show_every_label_are_left_out(monkeypatch):
    y = np.repeat([0, 1], 8)
    small = sets.Problem("small", "classification", np.zeros((16, 2)), y, ())
    monkeypatch.setattr(counts, "problem", lambda name, **options: small)
    wanted = counts.cells(
        [("small", "classification")], counts.PARTS, counts.Settings(800, 5, 10, 0)
    )
    assert [(cell.part, cell.amount) for cell in wanted] == [
        ("steadiness", "4"),
        ("steadiness", "third"),
        ("steadiness", "all"),
        ("adequacy", "none"),
        ("adequacy", "4"),
        ("adequacy", "all"),
    ]


def test_the_grid_ends_with_all_columns():
    assert counts.grid_of(13) == (1, 2, 3, 5, 8, 12, 13)
    assert counts.grid_of(12) == (1, 2, 3, 5, 8, 12)
    assert counts.grid_of(5000)[-2:] == (250, 5000)


def test_errors_on_the_grid_are_those_of_scikit_learn():
    settings = counts.Settings(rows=800, folds=3, draws=2, seed=0)
    record = counts.run_cell(counts.Cell("adequacy", "wine", "4"), settings, 10.0)
    X, y = load_wine(return_X_y=True)
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(1))
    folds = sets.problem("wine", rows=800, folds=3, repeats=1, seed=0).splits
    expected = [1 - model.fit(X[train], y[train]).score(X[test], y[test]) for train, test in folds]
    assert record["grid"][-1] == 13
    assert np.array(record["errors"]["1nn"])[:, -1] == pytest.approx(expected)
    by_size = np.array(record["errors"]["1nn"])
    for fold, number in enumerate(record["numbers"]):
        if number in record["grid"]:
            place = record["grid"].index(number)
            assert record["chosen"]["1nn"][fold] == by_size[fold, place]


def test_a_run_of_counts_is_resumed(tmp_path, capsys):
    file = tmp_path / "counts.jsonl"
    arguments = ["counts", "--sets", "wine,diabetes", "--rows", "60", "--quick", str(file)]
    assert command.main([*arguments, "--parts", "adequacy"]) == 0
    capsys.readouterr()
    records = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(one["dataset"], one["amount"]) for one in records] == [
        ("wine", "none"),
        ("wine", "4"),
        ("wine", "all"),
        ("diabetes", "none"),
        ("diabetes", "5%"),
        ("diabetes", "all"),
    ]
    file.write_text(file.read_text() + '{"part": "st')  # The run was interrupted.
    assert command.main(arguments) == 0
    captured = capsys.readouterr()
    assert "15 cells, 6 of them in" in captured.err
    assert len(counts.read(file)) == 15
    for text in (
        "Number of columns in 3 draws",
        "wine, 13 columns",
        "IQR above half of the median in",
        "Median falls by more than a third when labels are added:",
        "wine, none, linear",
        "diabetes, 5%, 5nn",
        "Not within one standard error of the best size in",
        "More than twice the smallest such size in",
    ):
        assert text in captured.out
    assert command.main(arguments) == 0
    again = capsys.readouterr()
    assert "15 cells, 15 of them in" in again.err
    assert again.out == captured.out


def records_of_counts():
    """Return records of one data set: two of steadiness, one of adequacy, and a failure."""
    settings = counts.Settings(800, 4, 4, 0)
    common = {"dataset": "s", "task": "classification", "shape": [9, 60], "failed": None}
    common |= {"settings": {"rows": 800, "folds": 4, "draws": 4, "seed": 0}}
    errors = [[0.5, 0.2], [0.5, 0.2], [0.5, 0.2], [0.5, 0.2]]
    records = [
        common | {"part": "steadiness", "amount": amount, "numbers": numbers, "n_labeled": labels}
        for amount, numbers, labels in (("all", [4, 4, 4, 4], 40.0), ("4", [2, 10, 30, 40], 8.0))
    ]
    records.append(
        common
        | {"part": "adequacy", "amount": "all", "numbers": [3, 3, 3, 3], "grid": [1, 2]}
        | {"errors": {"1nn": errors, "linear": errors}, "test_ratio": 0.25}
        | {"chosen": {"1nn": [0.3] * 4, "linear": [0.2] * 4}}
    )
    records.append(common | {"part": "adequacy", "amount": "none", "failed": "over 6 s"})
    return records, settings


def test_the_tables_of_counts_show_the_flags():
    records, settings = records_of_counts()
    text = counts.report(records, settings, markdown=False)
    assert "IQR above half of the median in 1 of 2 cells: s 4." in text
    assert "when labels are added: s (20 → 4)." in text
    assert "Not within one standard error of the best size in 1 of 2 cells: s, all, 1nn." in text
    assert "More than twice the smallest such size in 0 of 2 cells: none." in text
    assert "+0.100 ± 0.000" in text
    assert text.endswith("Skipped: adequacy of s, none (over 6 s).")


def test_slow_cells_are_skipped_and_run_again_with_a_longer_limit(monkeypatch):
    settings = counts.Settings(rows=60, folds=2, draws=2, seed=0)
    cell = counts.Cell("steadiness", "wine", "4")
    record = counts.run_cell(cell, settings, 1e-4)
    assert record["failed"] == "over 0.0001 s"
    assert counts.outstanding([cell], [record], settings, 1e-4) == []
    assert counts.outstanding([cell], [record], settings, 5.0) == [cell]
    other = counts.Settings(rows=60, folds=3, draws=2, seed=0)
    assert counts.outstanding([cell], [record], other, 1e-4) == [cell]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--parts", "steady"], "there is no part 'steady' (did you mean 'steadiness'?)"),
        (["--draws", "1"], "--draws must be at least 2, got 1."),
        (["--sets", "wien"], "wien"),
    ],
)
def test_names_of_counts_are_checked(arguments, message, capsys, tmp_path):
    assert command.main(["counts", *arguments, str(tmp_path / "x.jsonl")]) == 2
    assert message in capsys.readouterr().err


# --- clustering ---


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_the_accuracy_is_the_best_over_all_permutations(n_clusters):
    """The Hungarian method is compared with all assignments of clusters to classes."""
    for seed in range(10):
        random = np.random.default_rng(seed)
        y, groups = random.integers(3, size=25), random.integers(n_clusters, size=25)
        names = range(max(3, n_clusters))
        best = max(
            np.mean([permuted[group] == code for group, code in zip(groups, y, strict=True)])
            for permuted in itertools.permutations(names)
        )
        assert clustering_accuracy(y, groups) == pytest.approx(best)


def test_k_means_finds_separate_classes():
    y = np.repeat([0, 1, 2], 10)
    points = 100.0 * y[:, None] + np.random.default_rng(0).normal(size=(30, 2))
    assert clustering.agreement(points, y, starts=2, seed=0) == pytest.approx((1.0, 1.0))
    mixed = clustering.agreement(points, np.tile([0, 1, 2], 10), starts=2, seed=0)
    assert mixed[0] < 0.5
    assert mixed[1] < 0.1


def test_subset_selection_is_the_greedy_maximum_of_the_explained_variance():
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 3))[:, [0, 0, 1, 2, 2, 2]] + 0.5 * random.normal(size=(40, 6))
    rest = X - X.mean(axis=0)
    order = []
    for _ in range(4):
        gains = [
            -1 if j in order else ((rest.T @ rest[:, j]) ** 2).sum() / (rest[:, j] @ rest[:, j])
            for j in range(6)
        ]
        order.append(int(np.argmax(gains)))
        unit = rest[:, order[-1]] / np.linalg.norm(rest[:, order[-1]])
        rest = rest - np.outer(unit, unit @ rest)
    found = clustering.SUBSET_SELECTION.order(X, Supervision.nothing(40), 4)
    assert found[:4].tolist() == order


def test_columns_are_standardised_only_if_the_default_does_so():
    random = np.random.default_rng(0)
    alike = random.normal(size=(30, 5))
    assert (clustering.in_units_of_the_default(alike) == alike).all()
    mixed = alike * [1, 10, 100, 1000, 10000]
    assert clustering.in_units_of_the_default(mixed).std(axis=0) == pytest.approx(np.ones(5))


def outcome(dataset, method, size, accuracy, nmi, *, seconds=1.0):
    return clustering.Outcome(dataset, method, size, accuracy, nmi, seconds)


def test_ranks_and_differences_by_hand():
    found = [
        outcome("s", "ours", 50, 0.8, 0.5),
        outcome("s", "a", 50, 0.8, 0.6),
        outcome("s", "random", 50, 0.2, 0.1, seconds=0.0),
        outcome("s", "all", 50, 0.9, 0.9, seconds=0.0),
        outcome("s", "ours", 100, 0.6, 0.5),
        outcome("s", "a", 100, 0.8, 0.6),
        outcome("s", "random", 100, 0.2, 0.1, seconds=0.0),
        outcome("t", "ours", 50, 0.5, 0.5),
        outcome("t", "a", 50, 0.3, 0.5),
        outcome("t", "random", 50, 0.2, 0.1, seconds=0.0),
    ]
    # By accuracy and NMI: s 50 (1.5, 2), s 100 (2, 2), t 50 (1, 1.5).
    assert clustering.ranks(found) == {
        "ours": pytest.approx(10 / 6),
        "a": pytest.approx(8 / 6),
        "random": 3,
    }
    rows = [line.split("|") for line in clustering.report(found, markdown=True).splitlines()]
    table = {row[1].strip(): [cell.strip() for cell in row[2:-1]] for row in rows}
    # Differences of a: (0 + 0.2) / 2 = 0.1 on s and −0.2 on t. Half of their distance is 0.15.
    assert table["a"] == ["0.550", "0.550", "1.33", "−0.050 ± 0.150", "+0.050 ± 0.050", "1"]
    assert table["ours"] == ["0.600", "0.500", "1.67", "", "", "1"]
    assert table["all"][2] == ""
    assert [row[1].strip() for row in rows[2:]] == ["a", "ours", "random", "all"]


@pytest.fixture
def small(monkeypatch):
    """Two classes in the first columns of a table with 110 columns."""
    random = np.random.default_rng(0)
    y = np.repeat([0, 1], 15)
    X = 0.1 * random.normal(size=(30, 110))
    X[:, :60] += y[:, None] * random.normal(size=60)
    problem = sets.Problem("small", "classification", X, y, ())
    narrow = sets.Problem("narrow", "classification", X[:, :60], y, ())
    monkeypatch.setattr(
        clustering, "problem", lambda name, **options: narrow if name == "narrow" else problem
    )
    monkeypatch.setattr(
        command,
        "_available",
        lambda names: [
            (name, "regression" if name == "targets" else "classification") for name in names
        ],
    )


def test_the_command_clustering_compares_all_methods(small, capsys):
    arguments = ["clustering", "--sets", "small,narrow,targets", "--quick", "--detail"]
    assert command.main(arguments) == 0
    captured = capsys.readouterr()
    assert "narrow is left out: it has fewer than 100 columns" in captured.err
    assert "targets is left out: it has no classes" in captured.err
    header, *rows = captured.out.split("\n\n")[1].splitlines()
    assert header.split()[:4] == ["method", "accuracy", "NMI", "rank"]
    assert {row.split()[0] for row in rows} == set(clustering.METHODS)
    assert {row.split()[0]: float(row.split()[1]) for row in rows}["ours"] == 1
    assert captured.out.split("\n\n")[2].splitlines()[1].startswith("small")


def test_sizes_are_smaller_than_the_number_of_columns():
    assert clustering.sizes_for(256) == (50, 100, 200)
    assert clustering.sizes_for(100) == (50,)


def test_names_of_clustering_are_checked(small, capsys):
    for arguments, message in (
        (["--methods", "varience"], "there is no method 'varience' (did you mean 'variance'?)"),
        (["--methods", "fisher"], "method 'fisher' needs supervision"),
        (["--sets", "narrow"], "no data set has classes and at least 100 columns."),
        (["--starts", "-1"], "--starts must be at least 1, got -1."),
    ):
        assert command.main(["clustering", *arguments]) == 2
        assert message in capsys.readouterr().err


# --- all three ---


def test_the_section_of_counts_has_a_row_for_each_amount():
    section = counts.section(*records_of_counts())
    # The errors with the chosen number exceed the best by 0.1 (1-NN) and 0 (linear).
    assert section["table"][1:] == [
        ["4 labels per class", "0 of 1", "", "", ""],
        ["all labels or targets", "1 of 1", "+0.050", "1 of 2", "2 of 2"],
    ]
    assert section["text"].endswith(
        "The number is measured on 1 data set with at most 800 rows, without 1 cell that took too "
        "long."
    )
    assert section["items"][1].endswith("by more than a third on 1 of 1 data set.")


def test_the_section_of_synthetic_shows_both_amounts():
    def selections(*recalls):
        return [synthetic.Selection("xor", "ours", recall, 0.1) for recall in recalls] + [
            synthetic.Selection("circle", "ours", 1.0, 0.1),
            synthetic.Selection("circle", "relieff", 0.0, 0.1),
        ] * len(recalls)

    found = {"all": selections(1.0, 0.5), "10%": selections(0.5, 0.25)}
    section = synthetic.section(found, 2)
    assert section["table"] == [
        ["problem", "ours", "relieff"],
        ["xor", "0.75 / 0.38", ""],
        ["circle", "1.00 / 1.00", "0.00 / 0.00"],
    ]
    # The recalls 1 and 0.5 have the standard error 0.25.
    assert "with all labels or targets / with 10 % of them" in section["text"]
    assert "The largest standard error is 0.25." in section["text"]
    assert section["items"][0].startswith(
        "`xor`: 100 normal columns and 300 rows. The class is the sign"
    )


def test_sections_are_stored_under_their_names(tmp_path, monkeypatch, small, capsys):
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results.json")
    results.write({"development": {"sets": 1}})
    recalls = ["--problems", "circle", "--methods", "score_unlike,random", "--seeds", "1"]
    assert command.main(["synthetic", *recalls]) == 0
    assert list(results.read()) == ["development"]
    assert command.main(["synthetic", *recalls, "--store"]) == 0
    clusters = ["--sets", "small", "--quick", "--methods", "ours,variance,random"]
    assert command.main(["clustering", *clusters, "--store"]) == 0
    file = tmp_path / "counts.jsonl"
    records, settings = records_of_counts()
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    monkeypatch.setattr(counts, "cells", lambda *arguments: [])
    options = ["--folds", "4", "--draws", "4", "--sets", "wine", "--store"]
    assert command.main(["counts", *options, str(file)]) == 0
    capsys.readouterr()
    stored = results.read()
    assert list(stored) == ["development", "synthetic", "clustering", "counts"]
    assert stored["counts"] == counts.section(records, settings)
    assert stored["synthetic"]["table"][0] == ["problem", "score_unlike", "random"]
    assert stored["clustering"]["table"][0][0] == "method"
    for name in ("synthetic", "clustering", "counts"):
        assert {len(row) for row in stored[name]["table"]} <= set(range(2, 8))


def test_unavailable_data_sets_are_reported(monkeypatch, capsys, tmp_path):
    def unavailable(name):
        raise DataUnavailableError("not today.")

    monkeypatch.setattr(command, "load", unavailable)
    assert command.main(["counts", "--sets", "orl", str(tmp_path / "x.jsonl")]) == 0
    assert "orl is left out: not today." in capsys.readouterr().err
    assert command.main(["clustering", "--sets", "orl"]) == 2
    assert "orl is left out: not today." in capsys.readouterr().err


@pytest.mark.parametrize("name", ["synthetic", "counts", "clustering"])
def test_every_command_has_help(name, capsys):
    with pytest.raises(SystemExit) as stopped:
        command.main([name, "--help"])
    assert stopped.value.code == 0
    assert f"usage: quality {name}" in capsys.readouterr().out


def test_methods_are_chosen_by_name_or_group():
    assert [one.name for one in synthetic.chosen_methods("ours,forest")] == ["ours", "forest"]
    with pytest.raises(InputError, match="no method"):
        synthetic.chosen_methods("ours,nothing_known")

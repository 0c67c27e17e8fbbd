"""Tests of benchmarks/run.py: the page matches its stored results. Nothing here is timed."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import linregress, spearmanr

FOLDER = Path(__file__).parents[1] / "benchmarks"
sys.path.append(str(FOLDER))  # The scripts there are not a package.

import peers  # noqa: E402
import run  # noqa: E402
from suite import (  # noqa: E402
    endurance_part,
    growth,
    imports,
    laplacian,
    large,
    page,
    part,
    peers_part,
    scoring_part,
    scripts,
)

RESULTS = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))
NAMES = [one.name for one in page.PARTS]


# --- the page ---


def test_the_page_is_rendered_from_its_results():
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == page.page(RESULTS)


def test_the_page_contains_no_paths_of_the_machine():
    text = page.page(RESULTS)
    for word in (str(Path.home()), str(FOLDER.parent), "/tmp", "/home/", "/root", "http"):
        assert word not in text


def test_a_page_without_results_makes_no_claims():
    text = page.page({})
    assert all(target.met is None for target in page.all_targets({}))
    assert len(page.all_targets({})) >= 25
    assert text.count("Not measured yet") == len(page.PARTS)
    assert "NOT met" not in text


def test_a_failed_part_makes_no_claims_and_reports_the_reason():
    result = {
        "date": "2026-01-02T03:04:05",
        "seconds": 1.0,
        "load": 0.0,
        "machine": {},
        "found": {"failed": "no memory"},
    }
    for one in page.PARTS:
        assert "Not measured: no memory." in page.page({one.name: result})
        assert all(target.met is None for target in page.all_targets({one.name: result}))


def test_results_of_another_machine_report_the_differences():
    result = {
        "date": "2026-01-02T03:04:05",
        "seconds": 1.0,
        "load": 0.5,
        "machine": {"cores": 2},
        "found": {},
    }
    assert page.run_line(result, {"cores": 2}) == "*2026-01-02, 1 s; load before the run: 0.5.*"
    assert (
        page.run_line(result, {"cores": 4})
        == "*2026-01-02, 1 s; load before the run: 0.5; cores 2.*"
    )


# --- targets ---


def test_targets_include_their_limit():
    assert [part.at_least("", value, 2).met for value in (1.99, 2.0, 3.0, None)] == [
        False,
        True,
        True,
        None,
    ]
    assert [part.at_most("", value, 2).met for value in (1.99, 2.0, 3.0, None)] == [
        True,
        True,
        False,
        None,
    ]
    assert [part.at_most("", value, 2).verdict for value in (1, 3, None)] == [
        "met",
        "**NOT met**",
        "not measured",
    ]
    assert not part.at_least("", math.nan, 2).met


def line(n, p, ratio, share=0.5):
    return {
        "n": n,
        "p": p,
        "score": 1.0,
        "plain score": ratio,
        "apart": 1e-12,
        "near": 1.0,
        "limit": share,
    }


def test_targets_of_the_laplacian_score():
    lines = [
        line(150, 4, 1.5),
        line(5_000, 200, 1.9),
        line(20_000, 50, 3.5),
        line(20_000, 1_000, 3.0, 0.61),
    ]
    met = [target.met for target in laplacian.targets({"lines": lines})]
    assert met == [False, True, True, True, True, True]
    met = [
        target.met
        for target in laplacian.targets(
            {"lines": [line(150, 4, 0.9), *lines[1:3], {"n": 20_000, "p": 1_000, "failed": "no"}]}
        )
    ]
    # The smallest speed-up is defined only if all shapes were measured.
    assert met == [False, True, None, None, None, None]
    met = [target.met for target in laplacian.targets({"lines": [line(150, 4, 0.9), *lines[1:]]})]
    assert met == [False, True, True, False, True, True]


def test_targets_of_peers_count_time_and_memory():
    def found(seconds, extra):
        return {"cells": {"10,000 × 50": {"seconds": seconds, "extra": extra}}}

    packages = {"graphsieve": found(0.1, 20.0), "skfeature-chappers": found(4.9, 200.0)}
    assert [target.met for target in peers_part.targets({"packages": packages})] == [False, True]
    packages["skfeature-chappers"]["cells"]["10,000 × 50"] = {"failed": "more than 60 s"}
    assert [target.met for target in peers_part.targets({"packages": packages})] == [None, None]


def test_targets_of_the_scoring_pass_are_per_required_reading():
    names = [f"{name} {dtype}" for name in scoring_part.TALL for dtype in ("float32", "float64")]
    # Fisher and WLS need 4 readings, so their limit is 16.
    found = {name: {"wall": 16, "read": 1} for name in names}
    # The constraint score needs 2 readings.
    found |= {"cs float32": {"wall": 8, "read": 1}, "cs float64": {"wall": 9, "read": 1}}
    found |= {"sls float64": {"wall": 21, "read": 1}}  # SLS needs 5 readings.
    assert [target.met for target in scoring_part.targets(found)] == [True] * 5 + [False] + [
        True
    ] * 2 + [False]
    found["fisher float32"] = {"failed": "no memory"}
    assert scoring_part.targets(found)[0].met is None


def test_targets_of_imports_scripts_and_large_tables():
    found = {imports.OURS: 0.1, imports.SIEVE: 1.4, imports.THEIRS: 1.0}
    assert [target.met for target in imports.targets(found)] == [True, False]
    assert [
        scripts.targets(scripts.SCRIPTS[0], {"code": code, "lines": []})[0].met for code in (0, 1)
    ] == [True, False]
    assert (
        scripts.targets(
            scripts.SCRIPTS[0], {"code": 0, "lines": ["skrebate is missing: no network"]}
        )[0].met
        is None
    )
    cases = [{"n": n, "p": p, "neighbors": how, "extra": 1024.0} for n, p, how in large.CASES]
    assert [target.met for target in large.targets({"cases": cases})] == [True, True, True]
    cases[0]["extra"] = 1025.0
    cases[2] = {"n": 1_000_000, "p": 50, "neighbors": "approximate", "failed": "exact only"}
    assert [target.met for target in large.targets({"cases": cases})] == [False, True, None]


def endured(*, growth=1.0, seconds=1.5, peak=1.2, succeeded=50, refused=49):
    script = {"seconds": 1.0, "processor": 1.0, "peak": 1.0, "read": 0.5}
    command = {"seconds": seconds, "processor": 1.0, "peak": peak}
    return {
        "fits": [{"case": "a", "resident": {"50": 100.0, "1000": 100.0 + growth}}],
        "commands": {
            "succeeded": succeeded,
            "equal": 100,
            "same succeeded": 1,
            "same refused": refused,
            "files left": 0,
            "processes left": 0,
        },
        "files": [{"command": command, "script": script}],
    }


@pytest.mark.parametrize(
    ("change", "unmet"),
    [
        ({}, []),
        ({"growth": 5.1}, [0]),
        ({"succeeded": 49}, [1]),
        ({"refused": 48}, [2]),
        ({"seconds": 2.1}, [4]),
        ({"peak": 1.6}, [5]),
    ],
)
def test_targets_of_endurance(change, unmet):
    met = [target.met for target in endurance_part.targets(endured(**change))]
    assert met == [at not in unmet for at in range(6)]


def test_a_failed_file_is_not_measured():
    found = endured()
    found["files"][0]["script"] = {"failed": "no memory"}
    assert [target.met for target in endurance_part.targets(found)][4:] == [None, None]


# --- growth ---


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0, 1.37])
def test_the_exponent_of_a_power_law(exponent):
    sizes = [100, 200, 400, 800]
    found = growth.fitted(sizes, [3e-5 * size**exponent for size in sizes])
    assert found.slope == pytest.approx(exponent, abs=1e-12)
    assert found.error == pytest.approx(0, abs=1e-12)


def test_the_exponent_of_noisy_times_is_that_of_a_regression():
    rng = np.random.default_rng(0)
    sizes = [10, 30, 100, 200, 500]
    times = [size**1.5 * np.exp(0.1 * rng.normal()) for size in sizes]
    expected = linregress(np.log(sizes), np.log(times))
    assert growth.fitted(sizes, times) == pytest.approx((expected.slope, expected.stderr))


def test_every_method_has_at_least_four_sizes_up_to_eight_times_the_first():
    assert len(growth.METHODS) >= 8
    for method in growth.METHODS.values():
        for sizes in (method.samples, method.features):
            assert len(sizes) >= 4
            assert sizes[-1] >= 8 * sizes[0]


def test_memory_of_a_few_mib_is_flat():
    assert growth.memory_slope([1, 2, 4, 8], [0.0, 3.0, 1.0, 7.9]) == "flat"
    assert growth.memory_slope([1, 2, 4, 8], [10, 20, 40, 80]) == "1.00"
    # A memory of zero is not used in the fit.
    assert growth.memory_slope([1, 2, 4, 8], [0, 20, 40, 80]) == "1.00"
    assert growth.memory_slope([1, 2, 4, 8], [0, 1, 2, 80]) == "–"


def test_an_exponent_above_the_expected_one_is_bold():
    along = [{"n": n, "p": 5, "seconds": n**2.0, "extra": 0.0} for n in (10, 20, 40, 80)]
    assert growth.slope_cells(along, "n", 2)[2] == "2.00 ± 0.00"
    assert growth.slope_cells(along, "n", 1)[2] == "**2.00 ± 0.00**"


# --- formatting and comparison ---


def test_rank_correlation_is_spearmans():
    one, other = (np.random.default_rng(seed).permutation(9) for seed in (0, 1))
    expected = spearmanr(np.argsort(one), np.argsort(other)).statistic
    assert peers.rank_correlation(one.tolist(), other.tolist()) == pytest.approx(expected)


def test_scores_of_peers_are_compared_if_there_are_any():
    ours = {"seconds": 1.0, "extra": 1.0, "order": [0, 1, 2], "scores": [0.1, 0.2, 0.3]}
    assert peers_part.compared(ours | {"scores": [0.1, 0.2, 0.33]}, ours)["apart"] == pytest.approx(
        0.1
    )
    assert (
        peers_part.compared(ours | {"scores": [0.1, math.nan, 0.3]}, ours)["apart"]
        == peers_part.FAR
    )
    assert peers_part.compared("crashed", ours) == {"failed": "crashed"}
    assert peers_part.numbers({"a": peers_part.compared(ours, ours)}) == "same"
    assert (
        peers_part.numbers({"a": peers_part.compared(ours | {"scores": None}, ours)})
        == "same order (returns no scores)"
    )
    assert "different scores" in peers_part.numbers(
        {"a": peers_part.compared(ours | {"scores": [0.2, 0.4, 0.6]}, ours)}
    )


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0123456, "0.0123"),
        (1.0, "1"),
        (9.996, "10"),
        (99.96, "100"),
        (12345.6, "12,300"),
        (1e-7, "1e-07"),
        (0, "0"),
    ],
)
def test_figures_have_three_digits(value, shown):
    assert part.significant(value) == shown


def test_times_have_units():
    assert [part.seconds(value) for value in (0.001234, 0.0999, 0.1, 12.34)] == [
        "1.23 ms",
        "99.9 ms",
        "0.1 s",
        "12.3 s",
    ]
    assert [part.times(value) for value in (0.654, 1.999, 2.04, 19.99, 56.7)] == [
        "0.65×",
        "2.00×",
        "2.0×",
        "20.0×",
        "57×",
    ]


def test_stored_numbers_have_five_digits():
    assert run.rounded({"a": [1.234567, (2, "x", None)]}) == {"a": [1.2346, [2, "x", None]]}


def test_parts_are_selected_by_name_or_all_but_the_large():
    def chosen(names, large):
        return [one.name for one in run.wanted_parts(names, large)]

    assert len(set(NAMES)) == len(NAMES)
    assert chosen([], False) == [
        name for name in NAMES if name not in ("large", "scale", "endurance", "diverse", "quality")
    ]
    assert chosen([], True) == NAMES
    assert chosen(["imports", "limits"], False) == ["limits", "imports"]
    assert chosen(["imports"], True) == [
        "large",
        "scale",
        "endurance",
        "imports",
        "diverse",
        "quality",
    ]


def test_an_unknown_part_is_rejected(capsys):
    with pytest.raises(SystemExit):
        run.main(["speed"])
    assert "there is no part 'speed'; the parts are limits, " in capsys.readouterr().err


def test_paths_are_removed_from_the_output_of_scripts():
    assert (
        scripts.without_paths(f"in {Path.home()}/x and {FOLDER}", []) == "in …/x and …/benchmarks"
    )


@pytest.mark.slow
def test_a_measurement_in_a_separate_process_answers():
    arguments = json.dumps({"method": "fisher", "n": 300, "p": 4})
    done = subprocess.run(
        [sys.executable, str(FOLDER / "run.py"), "--work", "growth", arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(json.loads(done.stdout.splitlines()[-1])) == {"seconds", "extra"}

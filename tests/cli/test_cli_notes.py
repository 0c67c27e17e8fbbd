"""Notes, warnings and errors of the command on the error stream."""

from __future__ import annotations

import csv
import io
import os
import re
from pathlib import Path

import numpy as np
import pytest

from command import numbers, put


def test_warnings_are_shown_before_the_error(run):
    Path("t.csv").write_text("\n".join(["r1,3.5,1.5,2.5,red", "r2,4,5,6,blue", "r3,7,8,1,red", ""]))
    code, out, err = run("rank", "t.csv", "--target", "kind")
    assert (code, out) == (2, "")
    warning, complaint = err.splitlines()
    assert warning.startswith("warning: ")
    assert "--no-header" in warning
    assert complaint.startswith("graphsieve: t.csv has no column 'kind'")
    assert run("rank", "t.csv", "--target", "kind", "--quiet")[2].splitlines() == [complaint]


@pytest.mark.parametrize("command", ["rank", "select"])
def test_invalid_paths_give_an_error(run, command):
    put("t.csv", numbers())
    os.symlink("two", "one")
    os.symlink("one", "two")
    code, _, err = run(command, "t.csv", "-o", f"{'n' * 300}.csv")
    assert code == 4
    assert err.endswith(
        "graphsieve: a file name is longer than the file system allows; choose a shorter name.\n"
    )
    assert run(command, "t.csv", "-o", "one/r.csv")[0] == 4
    assert run(command, "one")[0] == 2
    assert sorted(os.listdir()) == ["one", "t.csv", "two"]


def test_a_circular_link_is_replaced(run):
    put("t.csv", numbers())
    os.symlink("r.csv", "r.csv")
    assert run("rank", "t.csv", "-o", "r.csv")[0] == 4
    assert run("rank", "t.csv", "-o", "r.csv", "--force")[0] == 0
    assert not Path("r.csv").is_symlink()


def test_an_excluded_column_that_does_not_exist(run):
    put("t.csv", numbers())
    code, _, err = run("rank", "t.csv", "--exclude", "zzz")
    assert code == 2
    assert "its columns are 'a', 'b', 'c'" in err


def test_select_reports_changed_cells(run):
    signs = ["+", "-"] * 12
    put("t.csv", numbers() | {"sign": signs})
    code, out, err = run("select", "t.csv", "--target", "sign", "--top", "1")
    assert code == 0
    assert [row["sign"] for row in csv.DictReader(io.StringIO(out))] == [
        f"'{sign}" for sign in signs
    ]
    assert "24 cells that look like formulas start with ' now; --raw-names keeps them" in err
    raw = run("select", "t.csv", "--target", "sign", "--top", "1", "--raw-names")
    assert [row["sign"] for row in csv.DictReader(io.StringIO(raw[1]))] == signs
    assert "formula" not in raw[2]
    pytest.importorskip("pyarrow")
    assert (
        "formula"
        not in run("select", "t.csv", "--target", "sign", "--top", "1", "-o", "r.parquet")[2]
    )


def test_select_writes_the_same_to_the_output_and_to_a_file(run):
    np.savez("t.npz", X=np.array(list(numbers().values()), dtype=np.float32).T)
    printed = run("select", "t.npz", "--top", "2")[1]
    run("select", "t.npz", "--top", "2", "-o", "r.csv")
    assert printed == Path("r.csv").read_text()


def test_select_reports_the_number_of_names_that_it_does_not_list(run):
    random = np.random.default_rng(0)
    put("t.csv", {f"x{at}": random.normal(size=20).tolist() for at in range(14)})
    listed = run("select", "t.csv", "--top", "12", "-o", "r.csv")[2]
    assert re.search(r"12 of 14 columns selected: (x\d+, ){9}x\d+ and 2 more\n", listed)
    assert "more" not in run("select", "t.csv", "--top", "10", "-o", "r.csv", "--force")[2]


def test_an_error_about_missing_supervision_names_the_option(run):
    put("t.csv", numbers())
    code, _, err = run("rank", "t.csv", "--method", "fisher")
    assert code == 3
    assert err.endswith(
        "but no supervision is available; name a column of labels or targets with --target.\n"
    )


def test_warnings_of_folds_name_the_classes(run):
    kinds = ["red"] * 10 + ["blue"] * 10 + ["green"] * 2 + [""] * 2
    put("t.csv", numbers() | {"kind": kinds})
    code, _, err = run(
        "compare",
        "t.csv",
        "--target",
        "kind",
        "--methods",
        "fisher",
        "--learners",
        "1nn",
        "--sizes",
        "1",
    )
    assert code == 0
    assert "1 of 3 classes have a single known member (green)" in err


def test_the_report_shows_the_name_of_the_target(run):
    put("t.csv", numbers() | {"fat & co": [str(value / 7) for value in range(24)]})
    assert run("rank", "t.csv", "--target", "fat & co", "--report", "r.html")[0] == 0
    text = Path("r.html").read_text()
    assert "<bdi>fat &amp; co</bdi> on the vertical axis" in text
    assert "The target is <bdi>fat &amp; co</bdi>." in text


def test_iterative_searches_refuse_an_automatic_number(run):
    put("t.csv", numbers())
    code, _, err = run("rank", "t.csv", "--method", "iterative", "--top", "auto")
    assert code == 2
    assert err.endswith("does not support --top auto; give a number, or leave --top out.\n")
    assert run("rank", "t.csv", "--method", "iterative")[0] == 0


def test_one_class_is_singular(run):
    put("t.csv", {"a": [1, 2, 4, 8], "b": [3, 1, 2, 9], "kind": ["u", "", "", "u"]})
    _, _, err = run("rank", "t.csv", "--target", "kind")
    assert "target 'kind': 1 class ('u'), known for 2 of 4 rows" in err

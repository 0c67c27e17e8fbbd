"""Results of the papers as text, Markdown and HTML, and the command that shows them."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from graphsieve._base.atomic_files import replace_file
from graphsieve._base.parallel import in_parallel
from graphsieve.cli import main
from graphsieve.papers.experiment import Experiment, Part, Run, perform
from graphsieve.papers.output.html_page import as_page
from graphsieve.papers.output.markdown import as_markdown
from graphsieve.papers.output.plain_text import as_text
from graphsieve.papers.results import (
    SCHEMA,
    Cell,
    Claim,
    Figure,
    Findings,
    Judgement,
    Reproduction,
    Series,
    Statement,
    Table,
    Verdict,
    from_facts,
)
from graphsieve.report.chart import chart
from graphsieve.report.plot import ticks

HOSTILE = '<script>alert(1)</script> | **a_b** & "q" `x`'


def found(text: str = "It works.", **changes) -> dict:
    """Return a small reproduction as plain values."""
    cells = (
        Cell("A", "left", 95.0, 94.25, 0.5),
        Cell("A", "right", None, 90.0),
        Cell("B", "left", 80.0, None),
    )
    series = (
        Series("A", (1.0, 2.0, 3.0), (0.5, float("nan"), 0.75), (0.1, 0.1, 0.1)),
        Series("random columns", (1.0, 3.0), (0.2, 0.3)),
    )
    whole = Reproduction(
        paper="wls",
        title=text,
        reference=text,
        depth="quick",
        seed=0,
        settings=(text,),
        tables=(
            Table("Table 1", text, "%", cells, text),
            Table("Study", "ours alone", "", (Cell("A", "k", None, 3.0),)),
        ),
        figures=(Figure("Fig. 1", text, text, text, series, text),),
        claims=tuple(
            Claim(f"claim-{i}", "Table 1", text, verdict, text) for i, verdict in enumerate(Verdict)
        ),
        seconds=1.5,
        introduction=text,
        notes=(text, text),
        summary=(text,),
    )
    return {**whole.facts(), **changes}


def test_facts_go_through_json_and_back():
    facts = found()
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert from_facts(facts).facts() == facts
    assert facts["figures"][0]["series"][0]["y"] == [0.5, None, 0.75]
    assert facts["claims"][1]["verdict"] == "holds with a correction"


def test_numbers_stand_side_by_side_in_every_form():
    facts = [found()]
    text, markdown, page = (
        as_text(facts),
        "".join(as_markdown(facts, command="c").values()),
        as_page(facts, command="c"),
    )
    assert re.search(r"A +95\.0 \| 94\.2 ± 0\.5 +– \| 90\.0\n", text)
    assert "| A | 95.0 / 94.2 ± 0.5 | – / 90.0 |\n| B | 80.0 / – |  |" in markdown
    assert "<small>95.0</small> 94.2 ± 0.5" in page
    for form in (text, markdown, page):
        assert (
            "4 claims: 1 holds, 1 holds with a correction, 1 does not hold, 1 lacks data."
            in " ".join(form.split())
        )
        for verdict in Verdict:
            assert verdict.value in form
    assert "k\n  A  3" in text  # a table without the paper's numbers has ours alone


def test_numbers_have_the_digits_that_mean_something():
    cells = (
        Cell("A", "small error", 0.5, 0.123456, 0.0123),
        Cell("A", "large", None, 1234.56, 23.4),
        Cell("A", "none", None, 2 / 3),
    )
    text = as_text(
        [
            found(
                tables=[
                    {
                        "label": "T",
                        "title": "t",
                        "unit": "",
                        "note": "",
                        "cells": [vars(cell) for cell in cells],
                    }
                ]
            )
        ]
    )
    assert re.search(r"0\.5 \| 0\.123 ± 0\.012 +– \| 1235 ± 23 +– \| 0\.6667\n", text)


@pytest.mark.parametrize(
    ("value", "error", "shown"), [(-0.04, 0.2, "0.0"), (-1.26, 0.2, "−1.3"), (1e-7, None, "0.0")]
)
def test_minus_is_a_minus_and_zero_has_none(value, error, shown):
    table = {
        "label": "T",
        "title": "t",
        "unit": "%",
        "note": "",
        "cells": [vars(Cell("A", "c", None, value, error))],
    }
    assert re.search(rf"\n  A  {shown}( ± 0\.2)?\n", as_text([found(tables=[table])]))


def test_wide_tables_are_folded():
    cells = [vars(Cell("A", f"column {i}", None, float(i))) for i in range(40)]
    text = as_text(
        [found(tables=[{"label": "T", "title": "t", "unit": "", "note": "", "cells": cells}])]
    )
    assert max(map(len, text.splitlines())) <= 110
    assert all(f"column {i}" in text for i in range(40))


def test_text_in_results_is_never_markup():
    page = as_page([found(HOSTILE)], command=HOSTILE)
    assert "<script" not in page
    pages = as_markdown([found(HOSTILE)], command="c")
    assert list(pages) == ["reproduction.md", "papers/wls.md"]
    for markdown in pages.values():
        assert "<script" not in markdown.replace("\\<", "")
    for line in pages["papers/wls.md"].splitlines():
        if line.startswith(("| A |", "| B |")):
            assert len(re.findall(r"(?<!\\)\|", line)) in (3, 4)  # one or two columns


def test_markdown_is_wrapped_and_its_tables_are_narrow():
    cells = {
        rows: [
            vars(Cell(f"row {row}", f"column {column}", None, float(column)))
            for row in range(rows)
            for column in range(8)
        ]
        for rows in (3, 9)
    }
    tables = [
        {"label": "T", "title": "t", "unit": "", "note": "", "cells": some}
        for some in cells.values()
    ]
    text = "A sentence that ends with 1. " * 20 + "- and - " * 40
    pages = as_markdown([found(text, tables=tables)], command="c")
    for page in pages.values():
        for line in page.splitlines():
            if line.startswith("|"):
                assert line.count("|") <= 8  # seven columns
            elif not line.startswith("#"):
                assert len(line) <= 100
                assert not re.match(r" *(- and|- -|1\. A)", line)
    page = pages["papers/wls.md"]
    assert "| column 7 | 7 | 7 | 7 |" in page  # transposed
    assert "| row 8 | 4 | 5 | 6 | 7 |" in page  # split


def test_markdown_of_a_quick_run_has_no_main_findings():
    with_findings, without = (
        as_markdown([found("FOUND", summary=summary)], command="c")["reproduction.md"]
        for summary in (["FOUND"], [])
    )
    assert "- FOUND" in with_findings
    assert "FOUND" not in without
    assert "| [wls](papers/wls.md) | 4 | 1 | 1 | 1 | 1 |" in without


class Nesting(HTMLParser):
    """Checks that elements are closed in order, and collects ids and links."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.ids, self.links = [], [], []

    def handle_starttag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]
        self.links += [value[1:] for name, value in attrs if name == "href"]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_loads_nothing():
    page = as_page([found(), found(paper="sls")], command="c")
    reader = Nesting()
    reader.feed(page)
    assert not reader.open
    assert len(set(reader.ids)) == len(reader.ids) >= 10
    assert set(reader.links) <= set(reader.ids)
    assert "default-src 'none'" in page
    assert not re.search(r"https?://|url\(|<script|@import", page)


def test_a_curve_goes_through_its_points():
    """The drawing is 1000 by 1000, and the curve extends from the left to the right edge."""
    drawn = chart(found()["figures"][0])
    curves = re.findall(r'<path class="line (k\w+)[^"]*" d="M([^"]+)"', drawn)
    assert [look for look, _ in curves] == ["k0", "kr"]  # baselines are grey
    points = [[tuple(map(float, point.split())) for point in line.split("L")] for _, line in curves]
    assert [len(line) for line in points] == [2, 2]  # the missing value is omitted
    (x_first, y_first), (x_last, y_last) = points[0]
    assert (x_first, x_last) == (0, 1000)
    # All values with their errors lie between 0.2 and 0.85. A margin of 5 % is added at both ends.
    low, high = 0.2 - 0.0325, 0.85 + 0.0325
    for y, at in ((0.5, y_first), (0.75, y_last)):
        assert at == pytest.approx(1000 - (y - low) / (high - low) * 1000, abs=0.51)


def test_a_band_goes_around_its_curve():
    series = {"name": "A", "x": [1.0, 2.0], "y": [0.5, 0.7], "standard_error": [0.1, 0.2]}
    drawn = chart({**found()["figures"][0], "series": [series]})
    (band,) = re.findall(r'<path class="band k0" d="M([^"]+)Z"', drawn)
    low, high = 0.4 - 0.025, 0.9 + 0.025  # the errors are inside the picture
    # Along the upper side and back along the lower one
    corners = [(0, 0.6), (1000, 0.9), (1000, 0.5), (0, 0.4)]
    for point, (x, y) in zip(band.split("L"), corners, strict=True):
        height = 1000 - (y - low) / (high - low) * 1000
        assert tuple(map(float, point.split())) == pytest.approx((x, height), abs=0.51)


def test_a_curve_without_a_name_is_drawn():
    figure = found()["figures"][0]
    assert 'class="line k0"' in chart({**figure, "series": [{**figure["series"][0], "name": ""}]})


def test_a_file_may_have_a_long_name(tmp_path):
    path = tmp_path / ("x" * 250)
    replace_file(path, "text")
    assert path.read_text(encoding="utf-8") == "text"
    assert list(tmp_path.iterdir()) == [path]


def test_file_permissions_follow_the_umask(tmp_path):
    """A new file has the usual permissions, and a replaced file keeps its own."""
    for mask in (0o077, 0o022):
        before = os.umask(mask)
        try:
            replace_file(tmp_path / f"{mask}.txt", "text")
            (tmp_path / f"{mask}.plain").write_text("text")
        finally:
            os.umask(before)
        assert (tmp_path / f"{mask}.txt").stat().st_mode == (
            tmp_path / f"{mask}.plain"
        ).stat().st_mode
    secret = tmp_path / "secret"
    secret.write_text("old")
    secret.chmod(0o600)
    replace_file(secret, "new")
    assert secret.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (3, 97), (-0.02, 0.013), (1e6, 1.1e6), (0, 1e-13), (5, 5)]
)
def test_ticks_are_round_and_inside(low, high):
    marks = ticks(low, high)
    assert 1 <= len(marks) <= 9
    assert all(low - 1e-9 <= mark <= high + 1e-9 for mark in marks)
    if high > low:
        steps = np.diff(marks)
        assert np.allclose(steps, steps[0], atol=0)
        assert f"{steps[0]:e}"[0] in "125"


def _finds(run: Run) -> Findings:
    return Findings(
        judgements={
            "a": Judgement(Verdict.HOLDS, f"{run.repetitions(quick=2, full=5)} repetitions")
        }
    )


def _has_no_data(run: Run) -> Findings:
    run.load("no such set")
    raise AssertionError


def test_parts_are_combined_and_missing_data_are_reported(monkeypatch):
    monkeypatch.setattr("graphsieve.papers.experiment.load", _refuses)
    parts = (
        Part((Statement("a", "Table 1", "A."),), _finds),
        Part((Statement("b", "Table 2", "B."), Statement("c", "Table 3", "C.")), _has_no_data),
        Part((Statement("d", "Fig. 1", "D."),), None, "The data are not public."),
    )
    result = perform(Experiment("x", "title", "reference", parts), Run(quick=False))
    assert [(claim.key, claim.verdict.value, claim.why) for claim in result.claims] == [
        ("a", "holds", "5 repetitions"),
        ("b", "data not available", "not available"),
        ("c", "data not available", "not available"),
        ("d", "data not available", "The data are not public."),
    ]
    assert result.depth == "full"


def _refuses(name: str, *, download: bool):
    from graphsieve.datasets import DataUnavailableError

    raise DataUnavailableError("not available")


def _doubled(number: int) -> int:
    return 2 * number


def test_seeds_and_results_do_not_depend_on_depth_or_processes():
    few, many = Run(quick=True).seeds(2, "x"), Run(quick=False).seeds(5, "x")
    assert [a.generate_state(2).tolist() for a in few] == [
        b.generate_state(2).tolist() for b in many[:2]
    ]
    assert few[0].generate_state(2).tolist() != Run().seeds(1, "y")[0].generate_state(2).tolist()
    items = [(i,) for i in range(7)]
    assert (
        Run(n_jobs=1).each(_doubled, items, "t")
        == Run(n_jobs=2).each(_doubled, items, "t")
        == [2 * i for i in range(7)]
    )


@pytest.fixture
def results(tmp_path):
    path = tmp_path / "results.json"
    path.write_text(
        json.dumps({"schema": SCHEMA, "papers": [found(), found(paper="sls")]}), encoding="utf-8"
    )
    return path


def test_the_command_shows_earlier_results(results, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert (
        main(
            [
                "reproduce",
                "all",
                "--results",
                str(results),
                "--page",
                str(page),
                "--markdown",
                str(tmp_path),
            ]
        )
        == 0
    )
    out, err = capsys.readouterr()
    assert "Table 1" in out
    assert str(page) in err
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    for name in ("reproduction.md", "papers/sls.md", "papers/wls.md"):
        markdown = (tmp_path / name).read_text(encoding="utf-8")
        assert "graphsieve reproduce all --quick" in markdown
    assert main(["reproduce", "sls", "--results", str(results), "--no-page", "--json"]) == 0
    assert [facts["paper"] for facts in json.loads(capsys.readouterr().out)["papers"]] == ["sls"]


def test_nothing_is_overwritten_unless_asked(results, tmp_path, capsys):
    page = tmp_path / "page.html"
    page.write_text("mine", encoding="utf-8")
    command = ["reproduce", "all", "--results", str(results), "--page", str(page)]
    assert main(command) == 4
    assert (
        capsys.readouterr().err
        == f"graphsieve: {page} exists; add --force to overwrite it, or write elsewhere.\n"
    )
    assert page.read_text(encoding="utf-8") == "mine"
    assert main([*command, "--force"]) == 0
    assert page.read_text(encoding="utf-8") != "mine"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("no json", "is not the output of graphsieve reproduce --json"),
        ('{"schema": 99, "papers": []}', "has results of version 99"),
        (f'{{"schema": {SCHEMA}, "papers": []}}', "has no results of all"),
        (f'{{"schema": {SCHEMA}, "papers": [{{"paper": "x"}}]}}', "is not the output of"),
        (f'{{"schema": {SCHEMA}, "papers": [3]}}', "is not the output of"),
        (json.dumps({"schema": SCHEMA, "papers": [found(seconds="long")]}), "is not the output of"),
        (json.dumps({"schema": SCHEMA, "papers": [found(paper=5)]}), "is not the output of"),
        (json.dumps({"schema": SCHEMA, "papers": [found(paper="../x")]}), "is not the output of"),
        ("[]", "is not the output of"),
        ("[" * 100_000, "is not the output of"),
    ],
)
def test_odd_results_are_refused_in_one_sentence(content, message, tmp_path, capsys):
    path = tmp_path / "odd.json"
    path.write_text(content, encoding="utf-8")
    assert main(["reproduce", "all", "--results", str(path), "--no-page"]) == 3
    out, err = capsys.readouterr()
    assert message in err
    assert err.count("\n") == 1
    assert not out


@pytest.mark.parametrize("option", [["--seed", "0"], ["--jobs", "2"], ["--no-download"]])
def test_options_of_a_run_are_refused_where_nothing_runs(option, results, capsys):
    assert main(["reproduce", "all", "--results", str(results), "--no-page", *option]) == 3
    assert f"{option[0]} has no effect" in capsys.readouterr().err


def test_missing_results_and_folders_are_reported(results, tmp_path, capsys):
    assert main(["reproduce", "all", "--results", str(tmp_path / "none.json"), "--no-page"]) == 3
    assert "cannot be read: No such file or directory." in capsys.readouterr().err
    for target, message in (
        (tmp_path, "is a folder"),
        (tmp_path / "no" / "page.html", "does not exist"),
    ):
        assert main(["reproduce", "all", "--results", str(results), "--page", str(target)]) == 4
        assert message in capsys.readouterr().err
    (tmp_path / "papers").write_text("a file", encoding="utf-8")
    for target, message in (
        ("", "needs the name of a folder"),
        (str(results), "is not a folder"),
        (str(tmp_path), "cannot be created: File exists"),
    ):
        command = ["reproduce", "all", "--results", str(results), "--no-page"]
        assert main([*command, "--markdown", target]) == 4
        assert message in capsys.readouterr().err


def test_two_outputs_need_two_files(results, tmp_path, capsys):
    page = str(tmp_path / "reproduction.md")
    assert (
        main(
            [
                "reproduce",
                "all",
                "--results",
                str(results),
                "--page",
                page,
                "--markdown",
                f"{tmp_path}/.",
            ]
        )
        == 4
    )
    assert "is named for two outputs" in capsys.readouterr().err
    # Not the default
    assert main(["reproduce", "all", "--results", str(results), "--page", ""]) == 4


def test_the_page_names_the_seed(tmp_path):
    path, page = tmp_path / "results.json", tmp_path / "page.html"
    path.write_text(json.dumps({"schema": SCHEMA, "papers": [found(seed=7)]}), encoding="utf-8")
    assert main(["reproduce", "wls", "--results", str(path), "--page", str(page)]) == 0
    assert "<code>graphsieve reproduce wls --quick --seed 7</code>" in page.read_text(
        encoding="utf-8"
    )


def _is_interrupted(options):
    raise KeyboardInterrupt


def _is_ended(options):
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(10)


def _loses_a_process(options):
    in_parallel(os._exit, [(1,), (1,)], title="work", n_jobs=2)


@pytest.mark.parametrize(
    ("happens", "expected"),
    [
        (_is_interrupted, (130, "interrupted.")),
        (_is_ended, (143, "terminated.")),
        (_loses_a_process, (3, "work: a worker process was killed")),
    ],
)
def test_what_ends_a_run_early_is_one_line_and_leaves_no_page(
    happens, expected, monkeypatch, tmp_path, capsys
):
    code, message = expected
    monkeypatch.setattr("graphsieve.cli.reproduce.run_experiments", happens)
    before = signal.getsignal(signal.SIGTERM)
    assert main(["reproduce", "all", "--page", str(tmp_path / "page.html")]) == code
    err = capsys.readouterr().err
    assert err.startswith(f"graphsieve: {message}")
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device")
def test_output_that_cannot_be_written_is_reported(results):
    command = [
        sys.executable,
        "-m",
        "graphsieve",
        "reproduce",
        "all",
        "--results",
        str(results),
        "--no-page",
    ]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 4
    assert (
        done.stderr
        == b"graphsieve: the result cannot be written to standard output: No space left on "
        b"device.\n"
    )
    done = subprocess.run(
        f"{shlex.join(command)} >&-", shell=True, stderr=subprocess.PIPE, check=False
    )
    assert done.returncode == 4
    assert done.stderr.startswith(b"graphsieve: standard output is closed")


@pytest.mark.slow
def test_output_has_letters_for_everything(results):
    command = [
        sys.executable,
        "-m",
        "graphsieve",
        "reproduce",
        "all",
        "--results",
        str(results),
        "--no-page",
    ]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert b"94.2 +- 0.5" in done.stdout
    done = subprocess.run([*command, "--json"], env=environment, capture_output=True, check=True)
    assert json.loads(done.stdout) == json.loads(results.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["reproduce"],
        ["reproduce", "unknown"],
        ["reproduce", "all", "--quick", "--full"],
        ["reproduce", "all", "--jobs", "x"],
        ["reproduce", "all", "--jobs", "0"],
        ["reproduce", "all", "--seed", "-1"],
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.slow
def test_a_reader_that_goes_away_gets_no_traceback(results):
    command = [
        sys.executable,
        "-m",
        "graphsieve",
        "reproduce",
        "all",
        "--results",
        str(results),
        "--no-page",
        "--json",
    ]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


def test_the_installed_command_is_this_one():
    script = Path(sys.executable).with_name("graphsieve")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"graphsieve \d+\.\d+\.\d+\n", done.stdout)


def test_one_paper_leaves_the_summary_alone_and_a_refused_call_leaves_nothing(tmp_path):
    results = Path(__file__).parents[2] / "docs" / "reproduction.json"
    command = ["reproduce", "wls", "--results", str(results), "--markdown", str(tmp_path)]
    summary = tmp_path / "reproduction.md"
    assert main([*command, "--no-page"]) == 0
    assert [path.name for path in (tmp_path / "papers").iterdir()] == ["wls.md"]
    assert not summary.exists()
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "page.html").write_text("old")
    command = ["reproduce", "all", "--results", str(results), "--markdown", str(folder)]
    assert main([*command, "--page", str(folder / "papers" / "wls.md")]) == 4
    assert sorted(path.name for path in folder.iterdir()) == ["page.html"]

"""The command with unusual encodings, folders, signals, threads and streams."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

import graphsieve.cli
from graphsieve import rank
from graphsieve._base import process
from graphsieve._base.errors import InputError
from graphsieve.cli import main
from graphsieve.table.files.writing import write_table

ROOT = Path(__file__).parents[2]
NAMES = ["é…", "é...", "😀"]


@pytest.fixture
def table(tmp_path):
    rows = [f"{i % 3},{i * i % 7},{i * 5 % 11},{'uv'[i % 2]}" for i in range(12)]
    path = tmp_path / "table.csv"
    path.write_text("\n".join([",".join([*NAMES, "y"]), *rows]) + "\n", encoding="utf-8")
    return path


def run(*arguments, **settings):
    """Run the command in a separate process."""
    environment = {**os.environ, **settings.pop("environment", {})}
    return subprocess.run(
        [sys.executable, "-m", "graphsieve", *arguments],
        capture_output=True,
        env=environment,
        timeout=120,
        check=False,
        **settings,
    )


@pytest.mark.slow
def test_json_is_json_in_any_encoding(table):
    arguments = ["rank", str(table), "--target", "y", "--json", "--quiet"]
    plain, utf8 = (
        run(*arguments, environment={"PYTHONIOENCODING": name}) for name in ("ascii", "utf-8")
    )
    assert plain.stdout.isascii()
    assert json.loads(plain.stdout) == json.loads(utf8.stdout)
    assert {record["feature"] for record in json.loads(plain.stdout)["features"]} == set(NAMES)


@pytest.mark.slow
def test_names_in_csv_stay_apart_in_any_encoding(table):
    found = run(
        "rank",
        str(table),
        "--target",
        "y",
        "--format",
        "csv",
        "--quiet",
        environment={"PYTHONIOENCODING": "ascii"},
    )
    names = {line.partition(b",")[0].decode("ascii") for line in found.stdout.splitlines()[1:]}
    assert names == {r"\xe9\u2026", r"\xe9...", r"\U0001f600"}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use cannot be removed there")
def test_the_working_folder_was_removed(table, tmp_path):
    gone = tmp_path / "gone"
    code = "import os, sys; os.mkdir(sys.argv[1]); os.chdir(sys.argv[1]); os.rmdir(sys.argv[1]); "
    code += "from graphsieve.cli import main; sys.exit(main(sys.argv[2:]))"
    for further, expected in (([], 0), (["-o", "out.csv"], 4), (["--report", "out.html"], 4)):
        found = subprocess.run(
            [
                sys.executable,
                "-c",
                code,
                str(gone),
                "rank",
                str(table),
                "--target",
                "y",
                "--quiet",
                *further,
            ],
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert found.returncode == expected, found.stderr
        assert b"bug in graphsieve" not in found.stderr
        assert found.stderr.count(b"\n") == (expected > 0)


def test_results_are_not_overwritten_by_their_page(tmp_path, capsys):
    results = tmp_path / "results.json"
    content = (ROOT / "docs" / "reproduction.json").read_bytes()
    results.write_bytes(content)
    command = ["reproduce", "sls", "--results", str(results), "--force"]
    assert main([*command, "--page", str(results)]) == 4
    assert "is an input and would be overwritten" in capsys.readouterr().err
    assert results.read_bytes() == content
    results = tmp_path / "reproduction.md"
    results.write_bytes(content)
    command = ["reproduce", "all", "--results", str(results), "--force", "--no-page"]
    assert main([*command, "--markdown", str(tmp_path)]) == 4
    assert "is an input and would be overwritten" in capsys.readouterr().err
    assert results.read_bytes() == content


def test_what_was_typed_does_not_reach_the_terminal_as_it_is(table, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["rank", str(table), "--\x1b[31m\nred\udcff"])
    assert ended.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith(r"graphsieve rank: unrecognized arguments: --\x1b[31m\nred\udcff")
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["\udcff", "ütf-8"])
def test_an_encoding_with_an_invalid_name(table, capsys, name):
    assert main(["rank", str(table), "--encoding", name]) == 2
    assert "is not a text encoding" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["parquet", "feather"])
@pytest.mark.parametrize("columns", [{"\ud800": [1.0]}, {"a": ["\ud800"]}], ids=["name", "cell"])
def test_half_a_character_in_a_file_that_holds_whole_ones(tmp_path, columns, ending):
    path = tmp_path / f"out.{ending}"
    with pytest.raises(InputError, match="half a character"):
        write_table(path, columns)
    assert not list(tmp_path.iterdir())


def test_half_a_character_from_an_encoding_that_has_them(tmp_path, capsys):
    # The second name is U+D800 in UTF-7.
    (tmp_path / "in.csv").write_bytes(
        b"a,+2AA-\n" + b"".join(b"%d,%d\n" % (i, i * i % 5) for i in range(8))
    )
    given = [
        "select",
        str(tmp_path / "in.csv"),
        "--encoding",
        "utf-7",
        "--top",
        "2",
        "--quiet",
        "-o",
    ]
    assert main([*given, str(tmp_path / "out.parquet")]) == 3
    assert "half a character" in capsys.readouterr().err
    assert main([*given, str(tmp_path / "out.csv")]) == 0
    assert (tmp_path / "out.csv").read_bytes().startswith(b"a,\\ud800\n")


def test_a_page_does_not_go_to_standard_output(table, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["rank", str(table), "--target", "y", "--report", "-"]) == 4
    assert (
        capsys.readouterr().err
        == "graphsieve: a page cannot be written to standard output; name a file.\n"
    )
    assert not Path("-").exists()


def test_results_without_end_are_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("graphsieve.cli.reproduce.LONGEST_RESULTS", 1000)
    path = tmp_path / "results.json"
    path.write_bytes(b"0" * 1001)
    assert main(["reproduce", "sls", "--results", str(path)]) == 3
    assert "holds more than the 1,000 bytes" in capsys.readouterr().err


def doing(monkeypatch, work):
    """Replace the work of the command."""
    monkeypatch.setattr(
        graphsieve.cli, "import_module", lambda name: SimpleNamespace(run=lambda options: work())
    )


@pytest.mark.parametrize("again", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_does_not_interrupt_the_clean_up(monkeypatch, capsys, again):
    """A user may interrupt twice. The clean-up after the first signal must still be completed."""
    cleaned = []

    def work():
        try:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):  # Python handles a signal between two steps.
                pass
        finally:
            os.kill(os.getpid(), again)
            cleaned.append("all")

    doing(monkeypatch, work)
    before = (
        signal.signal(signal.SIGINT, signal.default_int_handler),
        signal.signal(signal.SIGTERM, signal.SIG_DFL),
    )
    try:
        assert main(["methods"]) == 130
        assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == (
            signal.default_int_handler,
            signal.SIG_DFL,
        )
    finally:
        for number, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
            signal.signal(number, handler)
    assert cleaned == ["all"]
    assert capsys.readouterr().err == "graphsieve: interrupted.\n"


def test_signal_handlers_of_the_caller_are_kept(monkeypatch):
    received, found = [], []
    before = signal.signal(signal.SIGTERM, lambda number, frame: received.append(number))
    own = signal.getsignal(signal.SIGTERM)

    def work():
        os.kill(os.getpid(), signal.SIGTERM)
        found.append(signal.getsignal(signal.SIGTERM))

    doing(monkeypatch, work)
    try:
        assert main(["methods"]) == 0
        assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (received, found) == ([signal.SIGTERM], [own])


def test_the_command_in_several_threads_keeps_the_warning_filters(monkeypatch):
    before, showing, both_inside = (
        list(warnings.filters),
        warnings.showwarning,
        threading.Barrier(2),
    )

    def work():
        with graphsieve.cli.notes.shown_warnings(quiet=True, debug=False):
            both_inside.wait(timeout=60)

    doing(monkeypatch, work)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(main, [["methods"], ["methods"]])) == [0, 0]
    assert warnings.filters == before
    assert warnings.showwarning is showing


def test_the_command_called_from_python_changes_no_environment(monkeypatch, capsys):
    """The limit of the address space only matters before numpy is loaded."""
    monkeypatch.setattr(process, "allowed_address_space", lambda: 2**29)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    assert main(["methods"]) == 0
    assert "OPENBLAS_NUM_THREADS" not in os.environ
    capsys.readouterr()


@pytest.mark.parametrize(
    ("beyond", "threads"), [(0, "1"), (95, "1"), (200, "2"), (500, "5"), (800, None)]
)
def test_the_threads_of_blas_depend_on_the_address_space(monkeypatch, beyond, threads):
    """Libraries with pandas need 576 MiB, and each thread 96 MiB more. There are eight cores."""
    monkeypatch.setattr(process, "allowed_address_space", lambda: (576 + beyond) * 2**20)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    process.check_address_space()
    assert os.environ.get("OPENBLAS_NUM_THREADS") == threads
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)


@pytest.mark.parametrize("stream", [None, "closed"])
def test_no_error_stream_is_no_error(monkeypatch, tmp_path, stream):
    """pythonw has no error stream. If the stream is closed, progress is not reported."""
    if stream == "closed":
        stream = (tmp_path / "log").open("w")
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    for progress in (None, True):
        assert (
            len(
                rank(
                    [[0.0, 1.0], [1.0, 1.5], [2.0, 0.0], [3.0, 7.0]],
                    method="variance",
                    progress=progress,
                ).names
            )
            == 2
        )
    graphsieve.cli.notes.note("a line")
    assert main(["methods", "--format", "csv"]) == 0

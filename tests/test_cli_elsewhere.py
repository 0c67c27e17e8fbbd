"""The promise of test_cli_bad_input where the machine, the terminal or the names are odd."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from graphsieve import tables
from graphsieve.cli import main
from graphsieve.errors import InputError

ROOT = Path(__file__).parents[1]
NAMES = ["é…", "é...", "😀"]


@pytest.fixture
def table(tmp_path):
    rows = [f"{i % 3},{i * i % 7},{i * 5 % 11},{'uv'[i % 2]}" for i in range(12)]
    path = tmp_path / "table.csv"
    path.write_text("\n".join([",".join([*NAMES, "y"]), *rows]) + "\n", encoding="utf-8")
    return path


def run(*arguments, **settings):
    """The command in a process of its own."""
    environment = {**os.environ, **settings.pop("environment", {})}
    return subprocess.run(
        [sys.executable, "-m", "graphsieve", *arguments],
        capture_output=True,
        env=environment,
        timeout=120,
        check=False,
        **settings,
    )


def test_json_is_json_in_any_encoding(table):
    arguments = ["rank", str(table), "--target", "y", "--json", "--quiet"]
    plain, utf8 = (run(*arguments, environment={"PYTHONIOENCODING": name}) for name in ("ascii", "utf-8"))
    assert plain.stdout.isascii()
    assert json.loads(plain.stdout) == json.loads(utf8.stdout)
    assert {record["feature"] for record in json.loads(plain.stdout)["features"]} == set(NAMES)


def test_names_in_csv_stay_apart_in_any_encoding(table):
    found = run("rank", str(table), "--target", "y", "--format", "csv", "--quiet", environment={"PYTHONIOENCODING": "ascii"})
    names = {line.partition(b",")[0].decode("ascii") for line in found.stdout.splitlines()[1:]}
    assert names == {r"\xe9\u2026", r"\xe9...", r"\U0001f600"}


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use cannot be removed there")
def test_a_folder_that_was_removed(table, tmp_path):
    gone = tmp_path / "gone"
    code = "import os, sys; os.mkdir(sys.argv[1]); os.chdir(sys.argv[1]); os.rmdir(sys.argv[1]); "
    code += "from graphsieve.cli import main; sys.exit(main(sys.argv[2:]))"
    for further, expected in (([], 0), (["-o", "out.csv"], 4), (["--report", "out.html"], 4)):
        found = subprocess.run(
            [sys.executable, "-c", code, str(gone), "rank", str(table), "--target", "y", "--quiet", *further],
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert found.returncode == expected, found.stderr
        assert b"bug of ours" not in found.stderr
        assert found.stderr.count(b"\n") == (expected > 0)


def test_results_are_not_overwritten_by_their_page(tmp_path, capsys):
    results = tmp_path / "results.json"
    content = (ROOT / "docs" / "reproduction.json").read_bytes()
    results.write_bytes(content)
    for option in ("--page", "--markdown"):
        assert main(["reproduce", "sls", "--results", str(results), option, str(results), "--force"]) == 4
        assert "is read, and would be overwritten" in capsys.readouterr().err
        assert results.read_bytes() == content


def test_what_was_typed_does_not_reach_the_terminal_as_it_is(table, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["rank", str(table), "--\x1b[31m\nred\udcff"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith(r"graphsieve rank: unrecognized arguments: --\x1b[31m\nred\udcff")
    assert said.count("\n") == 1


@pytest.mark.parametrize("name", ["\udcff", "ütf-8"])
def test_an_encoding_by_a_name_that_cannot_be_written(table, capsys, name):
    assert main(["rank", str(table), "--encoding", name]) == 2
    assert "is no encoding of text" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["parquet", "feather"])
@pytest.mark.parametrize("columns", [{"\ud800": [1.0]}, {"a": ["\ud800"]}], ids=["name", "cell"])
def test_half_a_character_in_a_file_that_holds_whole_ones(tmp_path, columns, ending):
    path = tmp_path / f"out.{ending}"
    with pytest.raises(InputError, match="half a character"):
        tables.write_table(path, columns)
    assert not list(tmp_path.iterdir())


def test_half_a_character_from_an_encoding_that_has_them(tmp_path, capsys):
    (tmp_path / "in.csv").write_bytes(b"a,+2AA-\n" + b"".join(b"%d,%d\n" % (i, i * i % 5) for i in range(8)))  # UTF-7 of U+D800
    given = ["select", str(tmp_path / "in.csv"), "--encoding", "utf-7", "--top", "2", "--quiet", "-o"]
    assert main([*given, str(tmp_path / "out.parquet")]) == 3
    assert "half a character" in capsys.readouterr().err
    assert main([*given, str(tmp_path / "out.csv")]) == 0
    assert (tmp_path / "out.csv").read_bytes().startswith(b"a,\\ud800\n")


def test_a_page_does_not_go_to_standard_output(table, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["rank", str(table), "--target", "y", "--report", "-"]) == 4
    assert capsys.readouterr().err == "graphsieve: a page cannot go to standard output; name a file.\n"
    assert not Path("-").exists()


def test_results_without_end_are_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("graphsieve.cli.reproduce.LONGEST_RESULTS", 1000)
    path = tmp_path / "results.json"
    path.write_bytes(b"0" * 1001)
    assert main(["reproduce", "sls", "--results", str(path)]) == 3
    assert "holds more than the 1,000 bytes" in capsys.readouterr().err

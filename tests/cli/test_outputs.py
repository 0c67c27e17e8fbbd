"""Output files: no file that the user did not name for replacement is ever replaced."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

import graphsieve.cli.compare
import graphsieve.cli.rank
import graphsieve.cli.select
from command import numbers, put
from graphsieve._base.atomic_files import create_file

OUTPUTS = [
    ("rank", "--output", "out.csv"),
    ("rank", "-o", "out.json.gz"),
    ("rank", "--report", "out.html"),
    ("select", "-o", "out.parquet"),
    ("select", "-o", "out.csv.gz"),
    pytest.param(("compare", "--report", "out.html"), marks=pytest.mark.slow),
    pytest.param(("compare", "-o", "out.json"), marks=pytest.mark.slow),
]
APPEARING = {
    "a file": lambda path: path.write_text("precious"),
    "a link": lambda path: path.symlink_to("t.csv"),
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
    "a hard link of the input": lambda path: os.link("t.csv", path),
    "a folder": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
}


def contents(folder):
    """Everything that a run could change, except the times of the last access."""
    return {
        entry.name: (
            entry.stat(follow_symlinks=False).st_ino,
            Path(entry).read_bytes() if entry.is_file() else None,
        )
        for entry in os.scandir(folder)
    }


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("appearing", APPEARING)
@pytest.mark.parametrize("has_links", [True, False])
def test_what_appears_during_the_run_stays(run, monkeypatch, output, appearing, has_links):
    command, option, name = output
    if command == "select" and name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    put("t.csv", numbers() | {"y": ["u", "v"] * 12})
    module = getattr(graphsieve.cli, command)
    read_case = module.read_case
    before = {}

    def appear_then_read(*arguments, **options):
        APPEARING[appearing](Path(name))
        before.update(contents("."))
        if not has_links:
            monkeypatch.setattr(os, "link", without_links)
        return read_case(*arguments, **options)

    monkeypatch.setattr(module, "read_case", appear_then_read)
    answer = run(command, "t.csv", "--target", "y", option, name)
    assert answer.code in (3, 4)
    assert name in answer.err
    assert contents(".") == before


def without_links(*_, **__):
    raise OSError(errno.EPERM, os.strerror(errno.EPERM))


@pytest.mark.parametrize("has_links", [True, False])
def test_of_many_writers_one_succeeds(tmp_path, monkeypatch, has_links):
    if not has_links:
        monkeypatch.setattr(os, "link", without_links)
    n_writers = 8
    for attempt in range(20):
        path, start = tmp_path / f"{attempt}.txt", Barrier(n_writers)

        def write(number, path=path, start=start):
            start.wait()
            try:
                create_file(path, f"{number}" * 1000)
            except FileExistsError:
                return None
            return number

        with ThreadPoolExecutor(n_writers) as pool:
            winners = [one for one in pool.map(write, range(n_writers)) if one is not None]
        assert len(winners) == 1
        assert path.read_text() == f"{winners[0]}" * 1000
        assert len(list(tmp_path.iterdir())) == attempt + 1


@pytest.mark.slow
def test_of_four_commands_one_succeeds(folder):
    put("t.csv", numbers())
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "graphsieve", "rank", "t.csv", "-o", "out.json", "--quiet"],
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    said = [one.communicate(timeout=120)[1] for one in started]
    assert sorted(one.returncode for one in started) == [0, 4, 4, 4]
    assert sum("exists; add --force" in text for text in said) == 3
    assert sorted(os.listdir(folder)) == ["out.json", "t.csv"]


@pytest.mark.parametrize("has_links", [True, False])
def test_a_full_disk_leaves_no_file(tmp_path, monkeypatch, has_links):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    monkeypatch.setattr(os, "link", full if has_links else without_links)
    with pytest.raises(OSError, match="No space left"):
        create_file(tmp_path / "out.txt", "text")
    assert list(tmp_path.iterdir()) == []


NAMES_OF_THE_INPUT = {
    "itself": lambda: "t.csv",
    "another spelling": lambda: "folder/../t.csv",
    "a link": lambda: os.symlink("t.csv", "other.csv") or "other.csv",
    "a hard link": lambda: os.link("t.csv", "other.csv") or "other.csv",
    "a link to a hard link": lambda: (
        os.link("t.csv", "hard.csv") or os.symlink("hard.csv", "other.csv") or "other.csv"
    ),
}


@pytest.mark.parametrize("named", NAMES_OF_THE_INPUT)
@pytest.mark.parametrize("option", ["table", "pairs"])
@pytest.mark.parametrize("command", ["rank", "select"])
def test_an_input_by_any_name_is_refused(run, named, option, command):
    put("t.csv", numbers())
    Path("plain.csv").write_text("1,2,must\n")
    Path("folder").mkdir()
    if option == "pairs":
        os.replace("t.csv", "moved.csv")
        os.replace("plain.csv", "t.csv")
    name = NAMES_OF_THE_INPUT[named]()
    before = contents(".")
    inputs = ["t.csv"] if option == "table" else ["moved.csv", "--pairs", "t.csv"]
    answer = run(command, *inputs, "-o", name, "--force")
    assert answer.code == 4
    assert f"{name} is an input" in answer.err
    assert contents(".") == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_the_input_as_standard_input_is_refused(folder, name):
    put("t.csv", numbers())
    before = contents(".")
    with open("t.csv", "rb") as file:
        ended = subprocess.run(
            [sys.executable, "-m", "graphsieve", "rank", name, "-o", "t.csv", "--force"],
            stdin=file,
            capture_output=True,
            text=True,
            check=False,
        )
    assert ended.returncode == 4
    assert "t.csv is an input" in ended.stderr
    assert contents(".") == before

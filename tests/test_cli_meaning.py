"""What the command must not get wrong without a word: numbers, names of rows, marks of the unknown, options without effect."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphsieve import read_table
from graphsieve.cli import main


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """The command in this process, in an empty folder: exit code, output, error stream."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        code = main(list(arguments))
        return code, *capsys.readouterr()

    return call


def put(name, columns):
    rows = zip(*columns.values(), strict=True)
    Path(name).write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows), ""]))


def numbers(n_rows=24):
    random = np.random.default_rng(3)
    return {name: random.normal(size=n_rows).tolist() for name in ("a", "b", "c")}


@pytest.mark.parametrize("layout", ["array", "coordinate"])
@pytest.mark.parametrize(("field", "offset"), [("integer", 2**60), ("unsigned-integer", 2**63)])
def test_large_whole_numbers_in_mtx_are_written_as_they_are(run, layout, field, offset):
    """A float64 near 2**60 is a multiple of 256, so that none of these could be one."""
    given = [offset + 2 * i + 1 for i in range(12)]
    if layout == "array":
        lines = ["12 2", *map(str, given), *map(str, range(12))]
    else:
        lines = ["12 2 24", *(f"{i + 1} 1 {value}" for i, value in enumerate(given)), *(f"{i + 1} 2 {i + 1}" for i in range(12))]
    Path("t.mtx").write_text("\n".join([f"%%MatrixMarket matrix {layout} {field} general", *lines, ""]))
    code, out, err = run("select", "t.mtx", "--top", "2")
    assert code == 0
    assert [line.partition(",")[0] for line in out.splitlines()] == ["x0", *map(str, given)]
    assert "beyond 2**53 are rounded" in err  # in the scores
    assert read_table("t.mtx").matrix.dtype.kind in "iu"

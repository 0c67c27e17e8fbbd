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


@pytest.mark.parametrize("names", [["1.1", "1.10"], ["1E5", "100000.0"], ["true", "TRUE"], ["+5", "5"], ["5", "5.0"]])
def test_names_of_rows_stay_as_they_are_written(run, names):
    """Versions, plates and the like look like numbers, and different ones may stand for the same."""
    ids = [*names, *(f"{i}.50" for i in range(22))]
    put("t.csv", {"id": ids, **numbers(), "kind": [i % 2 for i in range(24)]})
    code, out, _ = run("select", "t.csv", "--id-column", "id", "--target", "kind", "--raw-names")
    assert code == 0
    assert [line.partition(",")[0] for line in out.splitlines()] == ["id", *ids]
    Path("pairs.csv").write_text(f"{names[0]},{names[1]},must\n0.50,1.50,cannot\n")
    assert run("rank", "t.csv", "--id-column", "id", "--pairs", "pairs.csv")[0] == 0
    put("proba.csv", {"id": ids[::-1], "u": [i / 23 for i in range(24)], "v": [1 - i / 23 for i in range(24)]})
    assert run("rank", "t.csv", "--id-column", "id", "--proba", "proba.csv", "--exclude", "kind")[0] == 0


@pytest.mark.parametrize(("given", "kind"), [(["-3", "12"], int), (["1.5", "-2.25"], float)])
def test_names_of_rows_that_are_numbers_as_they_are_written_stay_numbers(run, given, kind):
    put("t.csv", {"id": given, "a": [1, 2]})
    assert [type(value) for value in read_table("t.csv", id_column="id").kept["id"]] == [kind, kind]

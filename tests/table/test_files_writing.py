"""Writing of tables: they are read back unchanged, and spreadsheets run no formulas."""

from __future__ import annotations

import csv
import gzip
import io
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsieve._base.errors import InputError, UsageError
from graphsieve.table.files.reading import read_table
from graphsieve.table.files.writing import (
    check_writable_format,
    csv_text,
    output_columns,
    write_table,
)

SUFFIXES = ("csv", "tsv", "csv.gz", "tsv.gz", "parquet", "feather")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_written_tables_are_read_back(tmp_path, suffix):
    if suffix in ("parquet", "feather"):
        pytest.importorskip("pyarrow")
    source = io.BytesIO(
        b'id,n,r,gap,kind,ok\n1,1,0.1,,"a,b",true\n2,-5,1e300,7,,false\n3,9,2.0,8,"say ""so""",\n'
    )
    table = read_table(source, keep=["id", "kind"])
    path = tmp_path / f"out.{suffix}"
    write_table(path, output_columns(table, ["kind", "gap", "n", "id", "r", "ok"]))
    again = read_table(path, keep=["id", "kind"])
    assert again.columns == ("kind", "gap", "n", "id", "r", "ok")
    assert again.names == ("gap", "n", "r", "ok")
    for name in again.names:
        old, new = (
            table.matrix[:, table.names.index(name)],
            again.matrix[:, again.names.index(name)],
        )
        assert np.array_equal(old, new, equal_nan=True)
    assert again.whole == table.whole == {"n", "gap", "ok"}
    assert {name: values.tolist() for name, values in again.kept.items()} == {
        "id": [1, 2, 3],
        "kind": ["a,b", None, 'say "so"'],
    }


def test_text_of_numbers():
    columns = {
        "whole": np.array([1, -2]),
        "real": np.array([0.1, 1e22]),
        "single": np.array([0.1, np.nan], np.float32),
        "truth": np.array([True, False]),
        "mixed": np.array([None, 5], dtype=object),
    }
    rows = zip(*(list(values) for values in columns.values()), strict=True)
    assert (
        csv_text(list(columns), rows)
        == "whole,real,single,truth,mixed\n1,0.1,0.1,true,\n-2,1e+22,,false,5\n"
    )


@given(
    st.lists(st.floats(allow_nan=False), min_size=1, max_size=20),
    st.sampled_from([np.float64, np.float32]),
)
def test_numbers_read_back_equal(values, dtype):
    with np.errstate(over="ignore"):
        array = np.array(values).astype(dtype)
    text = csv_text(["a"], [[value] for value in array])
    assert [dtype(line) for line in text.split("\n")[1:-1]] == list(array)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\0"])
def test_formulas_are_escaped(start):
    name = f"{start}cmd|' /C calc'!A0"
    rows = list(csv.reader(io.StringIO(csv_text([name], [[name], [-1.5]]), newline="")))
    written = "'" + name.replace("\0", r"\x00")  # a control character is escaped as well
    assert rows == [[written], [written], ["-1.5"]]
    rows = list(csv.reader(io.StringIO(csv_text([name], [[name]], raw_names=True), newline="")))
    assert rows == [[name], [name]]


@given(st.text(st.characters(categories=["Cc", "Lu", "Po"]), min_size=1))
def test_no_control_characters_are_written(name):
    """Tabs and line breaks are data, and are quoted."""
    written = csv_text([name], [[name]])
    assert not {
        character
        for character in written
        if unicodedata.category(character) == "Cc" and character not in "\t\n\r"
    }
    (header,), (cell,) = csv.reader(io.StringIO(written, newline=""))
    assert header == cell
    if not any(unicodedata.category(character) == "Cc" for character in name):
        assert cell.removeprefix("'") == name or name.startswith(("@", "'"))


@given(
    st.lists(
        st.lists(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=6), min_size=2, max_size=2
        ),
        max_size=6,
    ),
    st.sampled_from(",;\t"),
)
def test_quoting_is_understood_by_the_standard_library(rows, delimiter):
    text = csv_text(["a", "b"], rows, delimiter, raw_names=True)
    assert list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)) == [
        ["a", "b"],
        *rows,
    ]


def test_a_row_with_one_empty_cell_is_kept():
    assert csv_text(["a"], [[None], [1]]) == 'a\n""\n1\n'


@pytest.mark.parametrize("name", ["out.xlsx", "out", "out.csv.zip", "out.json", "csv"])
def test_unknown_suffixes_are_refused_first(tmp_path, name):
    with pytest.raises(UsageError, match=r"use one of .csv, .tsv"):
        check_writable_format(tmp_path / name)
    with pytest.raises(UsageError):
        write_table(tmp_path / name, {"a": [1]})
    assert list(tmp_path.iterdir()) == []
    for suffix in SUFFIXES:
        check_writable_format(tmp_path / f"OUT.{suffix.upper()}")


def test_same_table_same_bytes_and_nothing_half_written(tmp_path):
    path = tmp_path / "out.csv.gz"
    write_table(path, {"a": np.array([1, 2])})
    first = path.read_bytes()
    assert gzip.decompress(first) == b"a\n1\n2\n"
    write_table(path, {"a": np.array([1, 2])})
    assert path.read_bytes() == first
    with pytest.raises(ValueError, match=r"equal length"):
        write_table(path, {"a": [1, 2], "b": [1]})
    assert path.read_bytes() == first
    assert [file.name for file in tmp_path.iterdir()] == ["out.csv.gz"]
    with pytest.raises(InputError, match="does not exist"):
        write_table(tmp_path / "no" / "out.csv", {"a": [1]})


def test_columns_of_mixed_kinds_are_text_in_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    write_table(
        tmp_path / "out.parquet",
        {"a": np.array(["x", 1, None], dtype=object), "=b": np.array([1, 2, 3])},
    )
    table = read_table(tmp_path / "out.parquet", keep=["a"])
    assert table.kept["a"].tolist() == ["x", "1", None]
    assert table.names == ("=b",)


def test_sparse_features_are_written(tmp_path):
    np.savez(
        tmp_path / "t.npz",
        data=np.array([1.5, 2]),
        indices=np.array([1, 0]),
        indptr=np.array([0, 1, 2]),
        shape=np.array([2, 2]),
    )
    table = read_table(tmp_path / "t.npz")
    write_table(tmp_path / "out.csv", output_columns(table, ["x1", "x0"]))
    assert (tmp_path / "out.csv").read_text() == "x1,x0\n1.5,0\n0.0,2\n"

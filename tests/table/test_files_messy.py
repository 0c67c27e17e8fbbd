"""Messy text files in Python: other notations, marks of missing values, and strict columns."""

from __future__ import annotations

import io
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphsieve.table.files.text as text_module
from graphsieve import Supervision, read_table
from graphsieve._base.errors import GraphSieveWarning, InputError, InputTypeError, UsageError
from graphsieve.table.files import cells as cells_module


def read(content: str, **options):
    return read_table(io.BytesIO(content.encode()), **options)


def column(name, cells):
    """Return a text file with one column."""
    return "\n".join([name, *(f'"{cell}"' for cell in cells), ""])


# --- missing values
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_cells", [1, 4, 10**6])
@pytest.mark.parametrize("cells", [["?", "1", "2.5", "-", ".", " ? "], ["1", "-", ".", "?", "2.5"]])
def test_marks_are_missing_in_otherwise_numeric_columns(monkeypatch, n_cells, cells):
    monkeypatch.setattr(text_module, "CELLS_AT_ONCE", n_cells)
    table = read(column("a", cells), keep=[])
    kept = read(column("a", cells), keep=["a"])
    expected = [None if cell.strip() in "?-." else float(cell) for cell in cells]
    assert kept.kept["a"].tolist() == expected
    assert [None if math.isnan(one) else one for one in table.matrix[:, 0]] == expected
    note = "'-', '.' and '?' are read as missing values in 1 column: 'a'"
    assert table.notes == kept.notes == (note,)


@pytest.mark.parametrize("n_cells", [1, 4, 10**6])
def test_marks_are_levels_of_a_category(monkeypatch, n_cells):
    """Marks before and after the first word are the same level."""
    monkeypatch.setattr(text_module, "CELLS_AT_ONCE", n_cells)
    cells = ["?", "1", "-", "?", "x", "x", "y", "y", "?", "1"]
    table = read(column("a", cells))
    assert table.levels == {"a": ("-", "1", "?", "x", "y")}
    assert [table.levels["a"][int(code)] for code in table.matrix[:, 0]] == cells
    assert read(column("a", cells), keep=["a"]).kept["a"].tolist() == cells
    assert table.notes == ()


def test_marks_beside_true_and_false_are_missing():
    table = read(column("a", ["true", "?", "false", "TRUE"]))
    assert np.array_equal(table.matrix[:, 0], [1, np.nan, 0, 1], equal_nan=True)
    assert table.notes == (
        "'?' is read as a missing value in 1 column: 'a'",
        "true and false are read as 1 and 0 in 1 column: 'a'",
    )
    kept = read(column("a", ["true", "?", "false"]), keep=["a"])
    assert kept.kept["a"].tolist() == [True, None, False]


def test_a_column_of_marks_is_empty():
    assert read("a,b\n?,1\n-,2\n?,3\n").left_out == {"a": "empty"}
    assert read("a,b\n?,1\n-,2\n", keep=["a"]).kept["a"].tolist() == [None, None]


def test_row_names_keep_their_marks():
    table = read("id,a\n?,1\n1,2\n-,3\n", id_column="id", na_values=["1"])
    assert table.kept["id"].tolist() == ["?", "1", "-"]


def test_marks_in_declared_columns():
    text = column("a", ["1", "?", "1", "?"])
    assert np.isnan(read(text, numeric=["a"]).matrix[:, 0]).tolist() == [False, True, False, True]
    assert read(text, categorical=["a"]).levels == {"a": ("1", "?")}
    assert read(text, categorical=["a"], na_values=["?"]).levels == {"a": (1,)}


@pytest.mark.parametrize("n_cells", [1, 4, 10**6])
def test_values_that_are_declared_missing(monkeypatch, n_cells):
    monkeypatch.setattr(text_module, "CELLS_AT_ONCE", n_cells)
    text = "a,b,c\n1.5,x,-999\nunknown,unknown,-999.00\n-999,y,7\n 3 , unknown ,8\n0.25,x,y\n"
    words = ["unknown", -999]
    with pytest.raises(InputTypeError, match="na_values must be a list of strings"):
        read(text, na_values=words)
    table = read(text, na_values=["unknown", "-999"], keep=["c"])
    assert table.levels == {"b": ("x", "y")}
    nan = np.nan
    expected = [[1.5, 0], [nan, nan], [nan, 1], [3, nan], [0.25, 0]]
    assert np.array_equal(table.matrix, expected, equal_nan=True)
    assert table.kept["c"].tolist() == [None, None, "7", "8", "y"]
    assert table.notes == ()
    kept = read("a,y\n1,NA\n2,?\n3,x\n", keep=["y"], keep_na_text=True, na_values=["?"])
    assert kept.kept["y"].tolist() == ["NA", None, "x"]


# --- notation of numbers
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_cells", [1, 5, 10**6])
@pytest.mark.parametrize(
    ("options", "cells", "expected"),
    [
        ({"decimal": ","}, ["1,5", "2", ",5", "-3e2", "NA", "."], [1.5, 2, 0.5, -300, None, None]),
        ({"thousands": ","}, ["1,500", "12", "1,234,567.5"], [1500, 12, 1234567.5]),
        ({"thousands": " "}, ["1 500", "12\u00a0345", "1\u202f234.5"], [1500, 12345, 1234.5]),
        ({"thousands": "'"}, ["-1'500", "12"], [-1500, 12]),
        ({"thousands": "_"}, ["1_500", "12"], [1500, 12]),
        ({"decimal": ",", "thousands": "."}, ["1.500", "1,5", "-1.500,25"], [1500, 1.5, -1500.25]),
        ({"decimal": ",", "na_values": ["n.a."]}, ["1,5", "n.a."], [1.5, None]),
    ],
)
def test_numbers_in_another_notation(monkeypatch, n_cells, options, cells, expected):
    monkeypatch.setattr(text_module, "CELLS_AT_ONCE", n_cells)
    text = column("a", cells)
    table, kept = read(text, **options), read(text, keep=["a"], **options)
    assert [None if math.isnan(one) else one for one in table.matrix[:, 0]] == expected
    assert kept.kept["a"].tolist() == expected


@given(st.lists(st.lists(st.floats(-1e9, 1e9), min_size=3, max_size=3), min_size=1, max_size=9))
def test_a_decimal_comma_reads_the_same_numbers(rows):
    """The second chunk is read by numpy."""
    plain = "a;b;c\n" + "".join(";".join(map(repr, row)) + "\n" for row in rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_module, "CELLS_AT_ONCE", 6)
        expected = read(plain, sep=";")
        found = read(plain.replace(".", ","), sep=";", decimal=",")
    assert found.matrix.tolist() == expected.matrix.tolist() == rows
    assert found.whole == expected.whole


def test_the_separator_is_not_a_decimal_comma():
    text = "1,5;2,5;3,5\n2,5;1,5;0,5\n"
    table = read(text, header=False, decimal=",")
    assert table.matrix.tolist() == [[1.5, 2.5, 3.5], [2.5, 1.5, 0.5]]
    assert read("a,b\n1,2\n", decimal=",").matrix.tolist() == [[1, 2]]
    assert read('a,b\n"1,5",2\n', decimal=",").matrix.tolist() == [[1.5, 2]]


def test_text_keeps_its_commas_and_points():
    text = "size;kind;y\n1,5;St. Ives, UK;a.b\n2,5;St. Ives, UK;a.b\n3,5;x;c\n4,5;x;c\n"
    table = read(text, decimal=",", keep=["y"])
    assert table.levels == {"kind": ("St. Ives, UK", "x")}
    assert table.kept["y"].tolist() == ["a.b", "a.b", "c", "c"]


def test_numbers_among_the_levels_of_a_category(monkeypatch):
    monkeypatch.setattr(text_module, "CELLS_AT_ONCE", 1)
    cells = ["1,5", "x", "x", "x", "1,5", "x"]
    assert read(column("a", cells), decimal=",").levels == {"a": ("1,5", "x")}
    assert read(column("a", ["1,5", "2", "1,5", "2"]), decimal=",", categorical=["a"]).levels == {
        "a": (1.5, 2.0)
    }


@pytest.mark.parametrize("decimal", ["", ";", "..", None, 1])
def test_invalid_decimal_signs(decimal):
    with pytest.raises(InputError, match="decimal must be"):
        read("a\n1\n", decimal=decimal)


@pytest.mark.parametrize("thousands", ["", "x", "1", ",,", "-", '"', 1])
def test_invalid_thousands_separators(thousands):
    with pytest.raises(InputError, match="thousands must be"):
        read("a\n1\n", thousands=thousands)
    with pytest.raises(UsageError, match="thousands must be"):
        read("a\n1\n", thousands=",", decimal=",")


# --- text among numbers
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_cells", [1, 4, 10**6])
@pytest.mark.parametrize("row", [0, 3, 6])
def test_text_among_numbers_is_refused_with_its_line(monkeypatch, n_cells, row):
    monkeypatch.setattr(text_module, "CELLS_AT_ONCE", n_cells)
    cells = ["1", "2", "?", "", "5", "6", "7"]
    cells[row] = "oops"
    text = column("a", cells)
    with pytest.raises(InputError) as caught:
        read(text)
    assert str(caught.value) == (
        f"the stream: column 'a' has numbers, but 'oops' in line {row + 2}; correct this cell, "
        "name it in na_values if it means missing, or name the column in categorical or exclude."
    )
    assert read(text, exclude=["a"]).left_out == {"a": "as requested"}
    assert read(text, na_values=["oops"]).names == ("a",)
    with pytest.raises(InputError, match=rf"numeric contains 'a', but line {row + 2} holds 'oops'"):
        read(text, numeric=["a"])


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["1,5", "2,5"], "which looks like a decimal comma; add decimal=',' if it is one"),
        (["1,234,567", "1"], "which looks like a thousands separator; add thousands=',' if it is"),
        (["1,234", "1"], "; add thousands=',' if this is 1234, or decimal=',' if it is 1.234"),
        (["0,234", "1"], "which looks like a decimal comma; add decimal=',' if it is one"),
        (["1.234,5", "1"], "which looks like a decimal comma; add decimal=',' if it is one"),
        (["1 234,5", "1"], "which looks like a decimal comma; add decimal=',' if it is one"),
        (["12%", "1"], "; remove the percent signs to use it as numbers"),
        (["$12", "1"], "; remove the currency signs to use it as numbers"),
    ],
)
@pytest.mark.parametrize("option", [{}, {"numeric": ["a"]}])
def test_numbers_that_need_an_option(cells, message, option):
    with pytest.raises(InputError) as caught:
        read(column("a", cells * 3), **option)
    assert message in str(caught.value)
    assert repr(cells[0]) in str(caught.value)


def test_hints_lead_to_a_table_one_by_one():
    text = column("a", ["1 234,5", "12 345 678,25"])
    with pytest.raises(InputError, match="add decimal=',' if it is one"):
        read(text)
    with pytest.raises(InputError, match="add thousands=' ' if it is one"):
        read(text, decimal=",")
    assert read(text, decimal=",", thousands=" ").matrix.tolist() == [[1234.5], [12345678.25]]


@pytest.mark.parametrize("cells", [["10%", "high", "low"], ["$", "%", "x"], ["1,2", "a,b", "c,d"]])
def test_words_that_resemble_numbers_are_levels(cells):
    assert read(column("a", cells * 2)).levels == {"a": tuple(sorted(cells))}


@pytest.mark.parametrize("reverse", [False, True])
def test_many_texts_are_counted_in_full(monkeypatch, reverse):
    """The decision does not depend on the rows before the column was given up."""
    monkeypatch.setattr(cells_module, "MOST_TEXTS", 3)
    monkeypatch.setattr(text_module, "CELLS_AT_ONCE", 2)
    cells = [f"w{row}" for row in range(8)] + [f"{row}" for row in range(20, 29)]
    text = column("a", reversed(cells) if reverse else cells)
    with pytest.raises(InputError, match=r"column 'a' has numbers, but 'w"):
        read(text)
    assert read(column("a", cells[:-2])).left_out == {"a": "an identifier or free text"}


WORDS = ["1", "2", "0.5", "?", "-", "", "x", "y", "true", "1,5", "1,234", "5%", "2026-01-31"]


def decision(cells, n_cells):
    """Return what a column becomes, or how its error message continues after the cell."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_module, "CELLS_AT_ONCE", n_cells)
        try:
            table = read(column("a", cells))
        except InputError as error:
            return re.sub(r"'[^']*' in line \d+|'?[\d,.]+'?", "…", str(error))
    return table.names, table.levels, table.left_out, table.notes


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12), st.randoms(), st.integers(1, 13))
def test_the_order_of_the_rows_changes_no_decision(cells, random, n_cells):
    shuffled = random.sample(cells, len(cells))
    assert decision(shuffled, n_cells) == decision(cells, 10**6)


def test_columns_can_be_excluded():
    text = "a,b,c\n1,x,1\n2,oops,2\n3,7,4\n"
    table = read(text, exclude=["b", "c"])
    assert table.names == ("a",)
    assert table.left_out == {"b": "as requested", "c": "as requested"}
    assert read(text, exclude=["b"], keep=["b"]).kept["b"].tolist() == ["x", "oops", "7"]
    with pytest.raises(UsageError, match="no column 'd'"):
        read(text, exclude=["d"])
    with pytest.raises(UsageError, match="numeric contains 'b', which is also named elsewhere"):
        read(text, exclude=["b"], numeric=["b"])


# --- row numbers and row names
# --------------------------------------------------------------------------------------------------


def test_a_counter_is_left_out():
    text = "id,a\n" + "".join(f"{row + 5},{row * row}\n" for row in range(10))
    table = read(text)
    assert table.names == ("a",)
    assert table.left_out == {"id": "numbers the rows"}
    assert table.notes == (
        "'id' numbers the rows, so it is excluded; use keep_counter if it is a measurement",
    )
    assert read(text, keep_counter=True).names == ("id", "a")
    assert read(text, numeric=["id"]).names == ("id", "a")


def test_row_names_without_a_name_in_the_header():
    text = 'a,b\n"r1",1,2\n"r2",3,5\n'
    table = read(text)
    assert table.columns == ("row_names", "a", "b")
    assert table.names == ("a", "b")
    assert table.matrix.tolist() == [[1, 2], [3, 5]]
    assert table.row_names.tolist() == ["r1", "r2"]
    assert table.left_out == {}
    assert [table.row_label(row) for row in range(2)] == ["line 2", "line 3"]
    named = read(text, id_column="row_names")
    assert named.kept["row_names"].tolist() == ["r1", "r2"]
    assert read("row_names,b\nr1,1,2\n").columns == ("row_names_", "row_names", "b")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("x,1,2\ny,1,2\nx,3,4\n", "because 'x' is in lines 2 and 4, so give every column a name"),
        ("x,1,2\n,3,4\n", "because line 3 has none, so give every column a name"),
        ("x,1,2\ny,3\n", "line 3 has 2 fields, expected 3; correct that line"),
        ("x,1,\ny,3,\n", "line 2 has 3 fields, expected 2; remove the separator at its end"),
    ],
)
def test_rows_that_are_not_named(rows, message):
    with pytest.raises(InputError) as caught:
        read("a,b\n" + rows)
    assert message in str(caught.value)


# --- classes
# --------------------------------------------------------------------------------------------------


def test_a_class_that_may_be_unknown():
    with pytest.warns(GraphSieveWarning) as caught:
        Supervision.from_labels(["u", "v", "unknown", "u", "v", "unknown"])
    assert [str(one.message) for one in caught] == [
        "'unknown' is one of 3 classes, but may mark unlabelled samples; replace it by None if it "
        "does."
    ]

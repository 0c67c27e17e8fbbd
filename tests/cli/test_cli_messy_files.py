"""Messy text files on the command line, with the exact messages: cases of docs/bad-input.md."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path

import numpy as np
import openpyxl
import pytest

from cases import case
from command import numbers, put

N = 24
ALONE = " or name the column in --categorical or --exclude.\n"


def with_cells(values, cells):
    """Return the values with other cells in some rows."""
    return [cells.get(row, value) for row, value in enumerate(values)]


def quoted(values):
    return [f'"{value}"' for value in values]


def real(n_rows=N):
    """Return numbers that are not whole, so that they are a quantity."""
    return [round(value, 3) + 0.0005 for value in np.random.default_rng(5).normal(size=n_rows)]


@pytest.fixture
def error(run):
    """Return a function that ranks t.csv, requires a failure and returns its message."""

    def call(*arguments, code=3, name="t.csv"):
        answer = run("rank", name, *arguments)
        assert (answer.code, answer.out) == (code, ""), answer.err
        return answer.err.removeprefix("graphsieve: ")

    return call


# --- cells that mark missing values
# --------------------------------------------------------------------------------------------------


@case(260)
def test_row_260_marks_are_missing_in_a_column_of_numbers(run, error):
    cells = {2: "?", 5: " - ", 9: ".", 12: ""}
    put("t.csv", {**numbers(), "d": with_cells(range(0, 2 * N, 2), cells)})
    assert error("--missing", "refuse") == (
        "t.csv has 4 missing values in 1 column ('d': 4), first in line 4; use "
        "--missing use, drop-columns, drop-rows or fill.\n"
    )
    answer = run("rank", "t.csv", "--missing", "drop-rows", "--json")
    assert answer.code == 0
    assert "'-', '.' and '?' are read as missing values in 1 column: 'd'\n" in answer.err
    assert sorted(answer.order) == ["a", "b", "c", "d"]
    assert answer.document["n_samples"] == N - 4
    put("clean.csv", {**numbers(), "d": with_cells(range(0, 2 * N, 2), dict.fromkeys(cells, ""))})
    assert run("rank", "clean.csv", "--missing", "drop-rows", "--json").features == answer.features


@case(260)
def test_row_260_marks_are_levels_of_a_category(run):
    put("t.csv", {**numbers(), "kind": ["yes", "no", "?"] * 8})
    answer = run("rank", "t.csv", "--json")
    assert answer.code == 0
    assert answer.document["table"]["categories"] == ["kind"]
    assert "missing" not in answer.err


@case(260)
def test_row_260_a_quantity_with_marks_is_a_quantity(run):
    target = with_cells(range(0, 70, 7), {}) * 3
    put("t.csv", {**numbers(50), "price": target + ["?"] * 20})
    answer = run("rank", "t.csv", "--target", "price")
    assert answer.code == 0
    assert "'?' is read as a missing value in 1 column: 'price'\n" in answer.err
    assert "known for 30 of 50 rows" in answer.err
    put("t.csv", {**numbers(50), "price": [*real(30), *["?"] * 20]})
    answer = run("rank", "t.csv", "--target", "price")
    assert "target 'price': continuous from" in answer.err
    assert "known for 30 of 50 rows" in answer.err


@case(261)
def test_row_261_words_that_mark_missing_values(run, error):
    column = with_cells(real(), {3: "unknown", 4: "-999", 7: "-999.0", 8: "?"})
    put("t.csv", {**numbers(), "d": column, "y": ["u", "v", "unknown"] * 8})
    words = ("--na-values", "unknown", "-999", "?")
    assert error("--target", "y", "--missing", "refuse", *words) == (
        "t.csv has 4 missing values in 1 column ('d': 4), first in line 5; use "
        "--missing use, drop-columns, drop-rows or fill.\n"
    )
    answer = run("rank", "t.csv", "--target", "y", "--missing", "fill", *words)
    assert answer.code == 0
    assert "target 'y': 2 classes ('u', 'v'), known for 16 of 24 rows\n" in answer.err


@case(270)
@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--na-values", "x"), "--na-values"),
        (("--decimal", ","), "--decimal"),
        (("--thousands", ","), "--thousands"),
        (("--decimal", ",", "--thousands", ".", "--sep", ";"), "--sep, --decimal and --thousands"),
    ],
)
def test_row_270_options_of_text_files(error, options, named):
    np.savez("t.npz", X=np.eye(4))
    assert error(*options, name="t.npz", code=2) == (
        f"t.npz has the format NPZ; {named} can only be used for text files.\n"
    )


@case(270)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--decimal", "x"), "--decimal must be '.' or ',', got 'x'.\n"),
        (
            ("--thousands", "x"),
            "--thousands must be one of , . ' _ and a blank, other than the decimal sign, got "
            "'x'.\n",
        ),
        (
            ("--thousands", "."),
            "--thousands must be one of , . ' _ and a blank, other than the decimal sign, got "
            "'.'.\n",
        ),
    ],
)
def test_row_270_signs_that_are_none(error, options, message):
    put("t.csv", numbers())
    assert error(*options, code=2) == message


# --- numbers in another notation
# --------------------------------------------------------------------------------------------------


@case(262)
def test_row_262_decimal_commas(run, error):
    plain = {**numbers(), "d": real()}
    put("plain.csv", plain)
    Path("t.csv").write_text(
        Path("plain.csv").read_text().replace(",", ";").replace(".", ","), encoding="utf-8"
    )
    first = str(plain["a"][0]).replace(".", ",")
    assert error() == (
        f"t.csv: column 'a' has '{first}' in line 2 (also 'b', 'c', 'd'), which looks like a "
        f"decimal comma; add --decimal , if it is one,{ALONE}"
    )
    answer = run("rank", "t.csv", "--decimal", ",", "--json")
    assert answer.code == 0
    assert answer.features == run("rank", "plain.csv", "--json").features


@case(262)
def test_row_262_some_numbers_and_a_word(error):
    """Whole numbers and a word do not hide that the others have commas."""
    put("t.csv", {**numbers(), "d": quoted(["1,5", "2", "0,125", "3"] * 5 + ["n.d."] * 4)})
    assert error().startswith("t.csv: column 'd' has '1,5' in line 2, which looks like a decimal")


@case(262)
def test_row_262_decimal_points_beside_the_option(error):
    put("t.csv", {"a": quoted(["1,5", "2,5"] * 12), "b": [1.5, 2] * 12})
    assert error("--decimal", ",") == (
        "t.csv: column 'b' has '1.5' in line 2, which looks like a decimal point; add --decimal . "
        f"if it is one,{ALONE}"
    )


@case(148)
def test_row_148_thousands_separators(run, error):
    given = [1234567.5 + 4321 * row * row for row in range(N)]
    put("plain.csv", {**numbers(), "d": given})
    put("t.csv", {**numbers(), "d": quoted(f"{value:,}" for value in given)})
    assert error() == (
        "t.csv: column 'd' has '1,234,567.5' in line 2, which looks like a thousands separator; "
        f"add --thousands , if it is one,{ALONE}"
    )
    answer = run("rank", "t.csv", "--thousands", ",", "--json")
    assert answer.code == 0
    assert answer.features == run("rank", "plain.csv", "--json").features


@case(148)
def test_row_148_one_comma_and_three_digits(error):
    put("t.csv", {**numbers(), "d": quoted(["1,500", "2,125", "7"] * 8)})
    assert error() == (
        "t.csv: column 'd' has '1,500' in line 2; add --thousands , if this is 1500, or --decimal "
        f", if it is 1.5,{ALONE}"
    )


@case(148)
@pytest.mark.parametrize(
    ("cell", "sign"), [("12 345", "' '"), ("12'345", '"\'"'), ("12\u00a0345", "' '")]
)
def test_row_148_other_thousands_separators(run, error, cell, sign):
    put("t.csv", {**numbers(), "d": [cell, "7", "8"] * 8})
    assert error() == (
        f"t.csv: column 'd' has {cell!r} in line 2, which looks like a thousands separator; add "
        f"--thousands {sign} if it is one,{ALONE}"
    )
    assert run("rank", "t.csv", "--thousands", sign[1]).code == 0


@case(148)
def test_row_148_thousands_in_groups_of_three_only(error):
    put("t.csv", {**numbers(), "d": quoted(["1,500", "2,12", "7"] * 8)})
    assert error("--thousands", ",") == (
        "t.csv: column 'd' has '2,12' in line 3, which looks like a decimal comma; add --decimal , "
        f"if it is one,{ALONE}"
    )


@case(263)
@pytest.mark.parametrize(
    ("cells", "what"),
    [
        (("12%", "7 %"), "percent signs"),
        (("$5", "$7.50"), "currency signs"),
        (("5 €", "1.200,50 €"), "currency signs"),
        (("-£3", "£4,000"), "currency signs"),
    ],
)
def test_row_263_percent_and_currency(run, error, cells, what):
    put("t.csv", {**numbers(), "d": quoted([*cells, "0"] * 8)})
    assert error() == (
        f"t.csv: column 'd' has '{cells[0]}' in line 2; remove the {what} to use it as "
        f"numbers,{ALONE}"
    )
    assert run("rank", "t.csv", "--exclude", "d").code == 0
    assert run("rank", "t.csv", "--categorical", "d").code == 0


# --- text among numbers
# --------------------------------------------------------------------------------------------------


@case(264)
@pytest.mark.parametrize("row", [0, 11, N - 1])
def test_row_264_a_word_among_numbers(run, error, row):
    put("t.csv", {**numbers(), "d": with_cells([1, 2, 3] * 8, {row: "oops"})})
    assert error() == (
        f"t.csv: column 'd' has numbers, but 'oops' in line {row + 2}; correct this cell, name it "
        "in --na-values if it means missing, or name the column in --categorical or --exclude.\n"
    )
    answer = run("rank", "t.csv", "--exclude", "d")
    assert answer.code == 0
    assert "excluded: 'd' (as requested)\n" in answer.err
    assert run("rank", "t.csv", "--na-values", "oops", "--missing", "fill").code == 0
    assert run("rank", "t.csv", "--categorical", "d", "--json").document["table"]["categories"] == [
        "d"
    ]


@case(264)
def test_row_264_several_such_columns(error):
    bad = {f"d{j}": with_cells([1, 2, 3] * 8, {j: "oops"}) for j in range(8)}
    put("t.csv", {**numbers(), **bad})
    assert error().startswith(
        "t.csv: column 'd0' has numbers, but 'oops' in line 2 (also 'd1', 'd2', 'd3', 'd4', 'd5' "
        "and 2 more); correct"
    )


@case(264)
@pytest.mark.slow
def test_row_264_text_in_line_200_001(error):
    lines = ["a,b"] + [f"{row % 7},{row % 5}" for row in range(200_000)]
    lines[200_000] = "oops,1"
    Path("t.csv").write_text("\n".join(lines) + "\n")
    assert error("--categorical", "b").startswith(
        "t.csv: column 'a' has numbers, but 'oops' in line 200001; correct this cell,"
    )


# --- the target
# --------------------------------------------------------------------------------------------------


@case(265)
@pytest.mark.parametrize("kind", [(), ("--target-type", "continuous")])
def test_row_265_a_word_in_a_quantity(run, error, kind):
    put("t.csv", {**numbers(), "price": with_cells(real(), {4: "?", 7: "oops"})})
    assert error("--target", "price", *kind) == (
        "the target 'price' of t.csv has numbers, but 'oops' in line 9; correct this cell, name it "
        "in --na-values if it means missing, or add --target-type classes.\n"
    )
    answer = run("rank", "t.csv", "--target", "price", "--target-type", "classes")
    assert answer.code == 0
    assert "24 classes" in answer.err
    answer = run("rank", "t.csv", "--target", "price", "--na-values", "oops", *kind)
    assert answer.code == 0
    assert "known for 22 of 24 rows" in answer.err


@case(265)
def test_row_265_decimal_commas_in_the_target(run, error):
    cells = [str(value).replace(".", ",") for value in real()]
    put("t.csv", {**numbers(), "price": quoted(cells)})
    assert error("--target", "price") == (
        f"the target 'price' of t.csv has '{cells[0]}' in line 2, which looks like a decimal "
        "comma; add --decimal , if it is one, or add --target-type classes.\n"
    )
    put("clean.csv", {**numbers(), "price": real()})
    put("t.csv", {**{name: quoted(str(v).replace(".", ",") for v in values)
                     for name, values in numbers().items()}, "price": quoted(cells)})  # fmt: skip
    answer = run("rank", "t.csv", "--target", "price", "--decimal", ",", "--json")
    assert answer.features == run("rank", "clean.csv", "--target", "price", "--json").features


@case(265)
def test_row_265_percent_in_the_target(error):
    put("t.csv", {**numbers(), "rate": ["12%", "5%", "7%", "9%"] * 6})
    assert error("--target", "rate") == (
        "the target 'rate' of t.csv has '12%' in line 2; remove the percent signs to use it as "
        "numbers, or add --target-type classes.\n"
    )


@case(265)
def test_row_265_several_targets_in_another_notation(error):
    put("t.csv", {"a": [7, 1, 3] * 8, "y": quoted(["1,5", "2,5", "oops"] * 8), "z": range(N)})
    assert error("--target", "y", "z", "--decimal", ",") == (
        "column 'y' holds 'oops' in line 4; expected a number.\n"
    )


@case(265)
def test_row_265_a_target_with_more_text_than_numbers_is_classes(run):
    put("t.csv", {**numbers(), "y": ["1", "3+", "3+"] * 8})
    assert "2 classes ('1', '3+')" in run("rank", "t.csv", "--target", "y").err


@case(266)
@pytest.mark.parametrize("word", ["unknown", "Unknown", "?", "missing", "not available", "-"])
def test_row_266_words_for_unknown_classes(run, word):
    put("t.csv", {**numbers(), "y": ["u", "v", word] * 8})
    answer = run("rank", "t.csv", "--target", "y")
    assert answer.code == 0
    assert (
        f"warning: '{word}' is one of 3 classes, but may mark unlabelled rows; leave its "
        "cells empty, or name it in --na-values for a text file, if it does.\n" in answer.err
    )
    answer = run("rank", "t.csv", "--target", "y", "--na-values", word)
    assert "may mark" not in answer.err
    assert "2 classes ('u', 'v'), known for 16 of 24 rows" in answer.err


@case(84)
@pytest.mark.parametrize(("one", "other"), [("a", "A"), ("TRUE", "true"), ("01", "1")])
def test_row_84_two_spellings(run, one, other):
    put("t.csv", {**numbers(), "y": [one, other, "other", "else"] * 6})
    answer = run("rank", "t.csv", "--target", "y", "--target-type", "classes")
    first, second = sorted((one, other))
    assert (
        f"warning: labels '{first}' and '{second}' are two classes, but may be one class in two "
        "spellings; write them alike if they are one.\n" in answer.err
    )


# --- row numbers and row names
# --------------------------------------------------------------------------------------------------


@case(267)
@pytest.mark.parametrize("name", ["", "id"])
@pytest.mark.parametrize("first", [0, 1, 1001])
def test_row_267_a_column_that_numbers_the_rows(run, name, first):
    """pandas and R write such a column. In a table sorted by class it would rank first."""
    put("t.csv", {name: range(first, first + N), **numbers(), "kind": ["u"] * 12 + ["v"] * 12})
    shown = name or "column_1"
    answer = run("rank", "t.csv", "--target", "kind", "--json")
    assert answer.code == 0
    assert (
        f"'{shown}' numbers the rows, so it is excluded; use --keep-counter if it is a "
        "measurement\n" in answer.err
    )
    assert f"excluded: '{shown}' (numbers the rows)\n" in answer.err
    assert sorted(answer.order) == ["a", "b", "c"]
    kept = run("rank", "t.csv", "--target", "kind", "--keep-counter", "--json")
    assert sorted(kept.order) == sorted(["a", "b", "c", shown])
    for option in ("--id-column", "--exclude"):
        assert "numbers the rows" not in run("rank", "t.csv", "--target", "kind", option, shown).err
    declared = run("rank", "t.csv", "--target", "kind", "--numeric", shown, "--json")
    assert declared.features == kept.features


@case(267)
def test_row_267_nothing_but_a_counter(error):
    put("t.csv", {"id": range(N)})
    assert error() == (
        "t.csv has no column to rank ('id' (numbers the rows)); use --keep-counter if it is a "
        "measurement.\n"
    )


@case(267)
def test_row_267_columns_that_almost_number_the_rows_are_kept(run):
    """The columns have one different step, the opposite direction, steps of two, a filled value,
    and another order.
    """
    rows = list(range(N))
    put(
        "t.csv",
        {
            "late": [*rows[:12], 12.5, *rows[13:]],
            "down": rows[::-1],
            "even": [2 * i for i in rows],
            "gap": [*rows[:5], "", *rows[6:]],
            "mixed": [0, *rows[22:0:-1], 23],
            "a": numbers()["a"],
        },
    )
    answer = run("rank", "t.csv", "--missing", "fill")
    assert answer.code == 0
    assert "the rows" not in answer.err
    put("t.csv", {"short": range(9), "a": numbers()["a"][:9]})
    assert "the rows" not in run("rank", "t.csv").err


@case(268)
def test_row_268_a_header_that_is_one_field_short(run, error):
    put("plain.csv", {"name": [f"r{row}" for row in range(N)], **numbers()})
    text = Path("plain.csv").read_text()
    Path("t.csv").write_text(text.removeprefix("name,"))
    answer = run("rank", "t.csv", "--json")
    assert answer.code == 0
    assert (
        "the header has one field fewer than the rows, so the first field of each row is its name "
        "('row_names')\n" in answer.err
    )
    assert answer.features == run("rank", "plain.csv", "--json").features
    Path("t.csv").write_text(text.removeprefix("name,").replace("r7,", "r3,"))
    assert error() == (
        "t.csv: line 2 has 4 fields, expected 3; the first field is no row name, because 'r3' is "
        "in lines 5 and 9, so give every column a name in the header.\n"
    )


@case(268)
def test_row_268_pairs_name_the_rows(run):
    put("t.csv", {"name": [f"r{row}" for row in range(N)], **numbers()})
    Path("t.csv").write_text(Path("t.csv").read_text().removeprefix("name,"))
    Path("pairs.csv").write_text("r0,r1,must\nr0,r2,cannot\n")
    assert run("rank", "t.csv", "--pairs", "pairs.csv").code == 0


# --- Excel
# --------------------------------------------------------------------------------------------------


def workbook(columns):
    book = openpyxl.Workbook()
    book.active.title = "Data"
    book.active.append(list(columns))
    for row in zip(*columns.values(), strict=True):
        book.active.append(row)
    return book


@case(269)
def test_row_269_a_workbook_is_read_as_a_text_file(run, error):
    kinds = ["u", "v"] * 12
    put("t.csv", {**numbers(), "kind": kinds})
    book = workbook({**numbers(), "kind": kinds})
    for title in ("Notes", "Old"):
        book.create_sheet(title).append(["nothing"])
    book.save("t.xlsx")
    answer = run("rank", "t.xlsx", "--target", "kind", "--json")
    assert answer.code == 0
    assert "sheet 'Data' is read; use --key to read 'Notes', 'Old'\n" in answer.err
    assert answer.features == run("rank", "t.csv", "--target", "kind", "--json").features
    chosen = run("rank", "t.xlsx", "--target", "kind", "--json", "--key", "Data")
    assert "sheet" not in chosen.err
    assert chosen.features == answer.features
    assert error("--key", "Date", name="t.xlsx", code=2) == (
        "t.xlsx has no sheet 'Date' (did you mean 'Data'?).\n"
    )
    assert error("--key", "2026", name="t.xlsx", code=2) == (
        "t.xlsx has no sheet '2026'; its sheets are 'Data', 'Notes', 'Old'.\n"
    )
    assert run("select", "t.xlsx", "--target", "kind", "-o", "out.csv").code == 0
    written = Path("out.csv").read_text().splitlines()[0]
    assert written == run("select", "t.csv", "--target", "kind").out.splitlines()[0]


@case(269)
def test_row_269_dates_merged_cells_and_formulas(error):
    days = [datetime.date(2026, 1, 1 + row) for row in range(N)]
    book = workbook({**numbers(), "day": days})
    book.save("t.xlsx")
    assert error("--target", "day", name="t.xlsx") == (
        "the target 'day' of t.xlsx holds dates; convert them to numbers or classes explicitly.\n"
    )
    book.active["B3"] = "=A3+1"
    book.save("t.xlsx")
    assert error(name="t.xlsx") == (
        "t.xlsx: cell B3 of sheet 'Data' has a formula without a stored value; open the workbook "
        "in a spreadsheet program and save it.\n"
    )
    book.active["B3"] = 1
    book.active.merge_cells("A5:B6")
    book.save("t.xlsx")
    assert error(name="t.xlsx") == (
        "t.xlsx: the cells A5:B6 of sheet 'Data' are merged, so only the first has a value; "
        "unmerge them, and fill in all of them.\n"
    )


@case(269)
def test_row_269_the_library_is_missing(error, monkeypatch):
    workbook(numbers()).save("t.xlsx")
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    assert error(name="t.xlsx") == (
        "t.xlsx is an Excel workbook; install python-calamine to read it: pip install "
        '"graphsieve[excel]".\n'
    )


# --- the messages in docs/bad-input.md
# --------------------------------------------------------------------------------------------------


def table_with(cells, name="d"):
    put("t.csv", {**numbers(len(cells)), name: quoted(cells)})


def write_example(example):
    """Write the file of an example, and return further arguments."""
    if example == "`oops` among numbers":
        table_with([*["1", "2.5"] * 99_999, "7", "oops"])
    elif example == "a header of R":
        put("t.csv", {"name": [f"r{row}" for row in range(N)], **numbers()})
        Path("t.csv").write_text(Path("t.csv").read_text().removeprefix("name,"))
    elif example == "a row counter":
        table_with(range(N), "id")
    elif example in TARGETS:
        table_with(TARGETS[example], "y")
        return ["--target", "y"]
    else:
        cells = ["?", "-"] if "among numbers" in example else [example.strip("`")]
        table_with([*cells, "7", "8"] * 8)
        return ["--missing", "fill"]
    return []


def write_workbook(example):
    book = workbook(numbers())
    if "sheet" in example:
        for title in ("Notes", "Old"):
            book.create_sheet(title).append(["nothing"])
    if example == "merged cells":
        book.active.merge_cells("A5:B6")
    if example == "a formula without a value":
        book.active["B3"] = "=A3+1"
    book.save("t.xlsx")
    return ["--key", "2026"] if example == "an unknown sheet" else []


TARGETS = {
    "`oops` in a target of numbers": with_cells([0.5, 1.5, 2.5] * 8, {7: "oops"}),
    "the class `unknown`": ["u", "v", "unknown"] * 8,
    "the classes `A` and `a`": ["A", "a", "b"] * 8,
}
PAGE = Path(__file__).parents[2] / "docs" / "bad-input.md"
EXAMPLES = dict(
    line.strip("| ").split(" | ")
    for line in PAGE.read_text(encoding="utf-8")
    .partition("| cell or file | message |\n|---|---|\n")[2]
    .partition("\n\n")[0]
    .splitlines()
)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_page_shows_the_exact_messages(run, monkeypatch, example):
    if example == "no python-calamine":
        monkeypatch.setitem(sys.modules, "python_calamine", None)
    is_workbook = "t.xlsx" in EXAMPLES[example] or "sheet" in example
    arguments = write_workbook(example) if is_workbook else write_example(example)
    answer = run("rank", "t.xlsx" if is_workbook else "t.csv", *arguments)
    lines = [line.removeprefix("graphsieve: ") for line in answer.err.splitlines()]
    assert EXAMPLES[example] in lines


def test_the_page_has_all_examples():
    assert len(EXAMPLES) == 17


@case(264)
def test_row_264_numbers_and_bounds_on_a_scale_are_a_category(run, error):
    scale = with_cells([1 + row % 3 for row in range(N)], {5: ">3", 20: "10+"})
    put("t.csv", {**numbers(), "scale": scale})
    answer = run("rank", "t.csv", "--json")
    assert answer.code == 0
    assert "'scale' is a category of few values, such as '>3'\n" in answer.err
    kinds = {record["feature"]: record["kind"] for record in answer.document["features"]}
    assert kinds["scale"] == "category"
    # Many different numbers are a quantity, in which a bound is no number.
    put("t.csv", {**numbers(), "quantity": with_cells(real(), {5: "<0.1"})})
    assert error().startswith("t.csv: column 'quantity' has numbers, but '<0.1' in line 7; ")
    put("t.csv", {**numbers(), "scale": with_cells(scale, {7: "oops"})})
    assert error().startswith("t.csv: column 'scale' has numbers, but '>3' in line 7; ")

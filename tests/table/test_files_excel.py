"""Excel workbooks: sheets, dates, formulas, merged cells and stray cells."""

from __future__ import annotations

import datetime
import io
import zipfile

import numpy as np
import openpyxl
import pytest

from graphsieve import read_table
from graphsieve._base.errors import InputError, UsageError


def book_of(*rows, title="Data"):
    book = openpyxl.Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    return book


def read(book, **options):
    content = io.BytesIO()
    book.save(content)
    content.seek(0)
    content.name = "t.xlsx"
    return read_table(content, **options)


def test_cells_of_every_kind():
    table = read(
        book_of(
            ["size", "kind", "truth", "code", "count", "gap"],
            [1.5, "red", True, "007", 3, None],
            [-2, "blue", False, "007", 4, "?"],
            [2**60, " red ", None, "8", 5, 7],
            [1e-9, "blue", True, "8", 6, "n.a."],
        ),
        keep=["kind"],
        na_values=["n.a."],
    )
    assert table.format == "xlsx"
    assert table.names == ("size", "truth", "code", "count", "gap")
    nan = np.nan
    expected = [
        [1.5, 1, 7, 3, nan],
        [-2, 0, 7, 4, nan],
        [2**60, nan, 8, 5, 7],
        [1e-9, 1, 8, 6, nan],
    ]
    assert np.array_equal(table.matrix, expected, equal_nan=True)
    assert table.whole == {"truth", "code", "count", "gap"}
    assert table.kept["kind"].tolist() == ["red", "blue", "red", "blue"]
    assert [table.row_label(row) for row in (0, 3)] == ["row 2", "row 5"]
    assert table.notes == (
        "'?' is read as a missing value in 1 column: 'gap'",
        "true and false are read as 1 and 0 in 1 column: 'truth'",
    )


def test_text_among_numbers_is_refused_with_its_row():
    book = book_of(["a", "b"], [1, 1], [2, 2], [None, None], ["oops", 3], [4, 4])
    with pytest.raises(InputError) as caught:
        read(book)
    assert str(caught.value) == (
        "t.xlsx: column 'a' has numbers, but 'oops' in row 5; correct this cell, name it in "
        "na_values if it means missing, or name the column in categorical or exclude."
    )
    table = read(book, exclude=["a"])
    assert table.notes == ("1 blank row skipped",)
    assert table.positions.tolist() == [2, 3, 5, 6]


def test_numbers_stored_as_text():
    book = book_of(["a"], ["1,5"], [2.25], ["1.000"])
    with pytest.raises(
        InputError, match="'a' has '1,5' in row 2, which looks like a decimal comma"
    ):
        read(book)
    table = read(book, decimal=",", thousands=".")
    assert table.matrix.tolist() == [[1.5], [2.25], [1000]]


def test_a_table_that_does_not_begin_in_the_first_cell():
    book = book_of()
    for row, cells in enumerate([["a", "b"], [1, 2], [3, 4.5]], start=4):
        for column, cell in enumerate(cells, start=3):
            book.active.cell(row, column, cell)
    table = read(book)
    assert table.columns == ("a", "b")
    assert table.matrix.tolist() == [[1, 2], [3, 4.5]]
    assert table.positions.tolist() == [5, 6]
    assert read(book_of([1, 2.5], [3, 4]), header=False).columns == ("column_1", "column_2")


def test_names_that_are_missing_twice_or_no_text():
    table = read(book_of([2020, None, "b"], [1, 2, 3], [4, 5, 7]))
    assert table.columns == ("2020", "column_2", "b")
    assert table.notes == ("names generated for 1 column: 'column_2'",)
    with pytest.raises(InputError, match="duplicated column names"):
        read(book_of(["a", "a"], [1, 2]))


def test_sheets():
    book = book_of(["a"], [1], [2])
    for title in ("Notes", "Old"):
        book.create_sheet(title).append(["b"])
        book[title].append([7])
    book.create_chartsheet("Chart")
    table = read(book)
    assert table.names == ("a",)
    assert table.notes == ("sheet 'Data' is read; use key to read 'Notes', 'Old'",)
    chosen = read(book, key="Old")
    assert (chosen.names, chosen.notes) == (("b",), ())
    with pytest.raises(UsageError) as caught:
        read(book, key="2026")
    assert str(caught.value) == "t.xlsx has no sheet '2026'; its sheets are 'Data', 'Notes', 'Old'."
    with pytest.raises(UsageError, match=r"no sheet 'note' \(did you mean 'Notes'\?\)"):
        read(book, key="note")
    book["Data"].sheet_state = "hidden"
    assert read(book).names == ("b",)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ((), "t.xlsx has nothing in sheet 'Data'; expected a header and rows."),
        ((["a", "b"],), "t.xlsx has no data rows; at least 2 are needed."),
    ],
)
def test_sheets_without_rows(rows, message):
    with pytest.raises(InputError) as caught:
        read(book_of(*rows))
    assert str(caught.value) == message


def test_dates_are_left_out():
    day, hour = datetime.datetime(2026, 1, 31, 10, 30), datetime.time(10, 30)
    rows = [["day", "time", "length", "a", "mixed"]]
    rows += [[day, hour, datetime.timedelta(hours=30 + row), row * row, row] for row in range(4)]
    table = read(book_of(*rows))
    assert table.names == ("a", "mixed")
    assert table.left_out == dict.fromkeys(["day", "time", "length"], "dates")
    assert read(book_of(*rows), keep=["day"]).dates == {"day"}
    assert read(book_of(*rows), keep=["day"]).kept["day"].tolist() == ["2026-01-31 10:30:00"] * 4
    assert read(book_of(*rows), categorical=["time"]).levels == {"time": ("10:30:00",)}
    rows[2][4] = day
    with pytest.raises(InputError, match="'mixed' has numbers, but '2026-01-31 10:30:00' in row 3"):
        read(book_of(*rows))


def test_merged_cells_are_refused():
    book = book_of(["a", "b"], ["x", 1], [None, 2], ["y", 3], [None, 4])
    book.active.merge_cells("A4:A5")
    book.active.merge_cells("A2:A3")
    with pytest.raises(InputError) as caught:
        read(book)
    assert str(caught.value) == (
        "t.xlsx: the cells A2:A3 of sheet 'Data' are merged, so only the first has a value; "
        "unmerge them, and fill in all of them."
    )
    beside = book_of(["a"], [1], [2])
    beside.active.merge_cells("D1:E9")
    assert read(beside).names == ("a",)


def test_formulas_without_values_are_refused():
    """openpyxl writes formulas without values, as other programs do that compute nothing."""
    with pytest.raises(InputError) as caught:
        read(book_of(["a", "b"], [1, 2], [3, "=A2+1"]))
    assert str(caught.value) == (
        "t.xlsx: cell B3 of sheet 'Data' has a formula without a stored value; open the workbook "
        "in a spreadsheet program and save it."
    )


def edited(book, old, new):
    """Return the workbook with another text in its first sheet."""
    content, result = io.BytesIO(), io.BytesIO()
    book.save(content)
    with zipfile.ZipFile(content) as source, zipfile.ZipFile(result, "w") as target:
        for name in source.namelist():
            part = source.read(name)
            if name == "xl/worksheets/sheet1.xml":
                assert old in part
                part = part.replace(old, new)
            target.writestr(name, part)
    result.seek(0)
    return result


def test_formulas_with_values_are_read():
    book = book_of(["a", "b", "c"], [1, "=A2+1", 5], [3, 4, 6])
    found = edited(
        book,
        b"<f>A2+1</f><v /></c>",
        b"<f>A2+1</f><v>2</v></c>",
    )
    assert read_table(found).matrix.tolist() == [[1, 2, 5], [3, 4, 6]]
    # A formula with the result "" has a value, which is empty.
    empty = edited(
        book,
        b'<c r="B2"><f>A2+1</f><v /></c>',
        b'<c r="B2" t="str"><f>A2+1</f><v /></c>',
    )
    assert np.isnan(read_table(empty).matrix[0, 1])


def test_errors_of_formulas_are_missing():
    book = book_of(["a", "b"], [1, 5], [3, 4])
    found = edited(book, b'<c r="B2" t="n"><v>5</v>', b'<c r="B2" t="e"><f>A2/0</f><v>#DIV/0!</v>')
    assert np.isnan(read_table(found).matrix[0, 1])


def test_a_stray_cell_does_not_fill_the_memory():
    book = book_of(["a", "b"], [1, 2])
    book.active["XFD1048576"] = 5
    with pytest.raises(InputError) as caught:
        read(book)
    assert str(caught.value) == (
        "t.xlsx: the cells of sheet 'Data' reach to XFD1048576, which is more than this file can "
        "fill; delete those outside the table, or raise --max-bytes."
    )
    styled = book_of(["a", "b"], [1, 2])
    styled.active["XFD1048576"].font = openpyxl.styles.Font(bold=True)
    assert read(styled).matrix.tolist() == [[1, 2]]


def test_options_that_a_workbook_cannot_use():
    for option in ({"sep": ";"}, {"encoding": "latin-1"}, {"comment": "#"}):
        with pytest.raises(
            UsageError, match=r"has the format XLSX; .* can only be used for text files"
        ):
            read(book_of(["a"], [1]), **option)


def test_the_old_format_is_refused():
    with pytest.raises(InputError, match=r"save it as \.xlsx without a password, or as CSV"):
        read_table(io.BytesIO(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512)))

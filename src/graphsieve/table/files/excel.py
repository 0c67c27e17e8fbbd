"""Reading of Excel workbooks (.xlsx) with python-calamine.

Each cell becomes text, so that the rules for text files decide what the columns are.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, time, timedelta
from typing import Any
from xml.etree import ElementTree

import numpy as np

from graphsieve._base.errors import InputError, UsageError
from graphsieve._base.messages import Message, parameter
from graphsieve._base.optional import needed
from graphsieve._base.parameters import nearest, quoted
from graphsieve.table.files.notation import Notation
from graphsieve.table.files.opening import AT_ONCE, ByteSource, damage_reported
from graphsieve.table.files.table_file import TableFile, check_rows, counted, listed
from graphsieve.table.files.text import (
    CELLS_AT_ONCE,
    TextOptions,
    column_names,
    empty_columns,
)

CELL = 32  # bytes of a cell in memory
_DATES = (date, time, timedelta)
_FILLED = re.compile(rb'<c [^>]*?\br="([A-Z]{1,3})(\d+)"(?:[^>]*[^/>])?>')
_FORMULA = re.compile(rb"<c ([^>]*)>\s*<f\b[^>]*(?:/>|>[^<]*</f>)\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>")


def read_excel(
    source: ByteSource, keep: Sequence[str], options: TextOptions, key: str | None
) -> TableFile:
    """Read the table in a sheet of an Excel workbook: `key`, or the first sheet."""
    calamine = needed(
        "python_calamine",
        f"{source.name} is an Excel workbook; install python-calamine to read it: pip install "
        '"graphsieve[excel]".',
    )
    with damage_reported(source.name, "an Excel workbook"):
        file = source.seekable_file()
        workbook = calamine.CalamineWorkbook.from_filelike(file)
        title, notes = _sheet(source.name, workbook, calamine, key)
        _check_content(source, file, title)
        sheet = workbook.get_sheet_by_name(title)
        rows = sheet.to_python()
    if not rows:
        raise InputError(
            f"{source.name} has nothing in sheet {quoted(title)}; expected a header and rows."
        )
    _refuse_merged_cells(source.name, title, sheet)
    numbered = list(enumerate(rows, sheet.start[0] + 1))
    return _table(source.name, numbered, keep, options, notes)


def _sheet(name: str, workbook: Any, calamine: Any, key: str | None) -> tuple[str, list[str]]:
    """Return the name of the sheet to read, and a note on the other sheets."""
    sheets = [
        one for one in workbook.sheets_metadata if one.typ == calamine.SheetTypeEnum.WorkSheet
    ]
    titles = [one.name for one in sheets]
    if key is not None and key not in titles:
        hint = nearest(key, titles) or f"; its sheets are {listed(titles)}"
        raise UsageError(f"{name} has no sheet {quoted(key)}{hint}.")
    if not titles:
        raise InputError(f"{name} has no sheet with cells; expected a header and rows.")
    shown = [one.name for one in sheets if one.visible == calamine.SheetVisibleEnum.Visible]
    title = (shown or titles)[0] if key is None else key
    others = [one for one in titles if one != title]
    if key is not None or not others:
        return title, []
    note = Message(
        f"sheet {quoted(title)} is read; use ", parameter("key"), f" to read {listed(others)}"
    )
    return title, [note]


def _check_content(source: ByteSource, file: Any, title: str) -> None:
    """Check the size of a sheet, and that its formulas have values, which calamine does not.

    A workbook stores only filled cells. calamine allocates the rectangle that contains them.
    """
    with zipfile.ZipFile(file) as archive:
        source.check_declared(sum(member.file_size for member in archive.infolist()))
        n_rows = n_columns = 0
        for part in _parts(archive, _path(archive, title)):
            cells = _FILLED.findall(part)
            if cells:
                n_columns = max(n_columns, *map(_column_number, {letters for letters, _ in cells}))
                n_rows = max(n_rows, *map(int, {row for _, row in cells}))
            for attributes in _FORMULA.findall(part):
                place = re.search(rb'\br="(\w+)"', attributes)
                if b't="str"' not in attributes and place:
                    raise InputError(
                        f"{source.name}: cell {place[1].decode()} of sheet {quoted(title)} has a "
                        "formula without a stored value; open the workbook in a spreadsheet "
                        "program and save it."
                    )
    file.seek(0)
    try:
        source.check_declared(n_rows * n_columns * CELL)
    except InputError:
        raise InputError(
            f"{source.name}: the cells of sheet {quoted(title)} reach to "
            f"{_letters(n_columns - 1)}{n_rows}, which is more than this file can fill; delete "
            "those outside the table, or raise --max-bytes."
        ) from None


def _path(archive: zipfile.ZipFile, title: str) -> str:
    """Return the path of a sheet in the archive."""
    number = next(
        value
        for element in ElementTree.fromstring(archive.read("xl/workbook.xml")).iter()
        if element.tag.endswith("}sheet") and element.get("name") == title
        for name, value in element.items()
        if name.endswith("}id")
    )
    links = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    target = next(str(link.get("Target")) for link in links if link.get("Id") == number)
    return posixpath.normpath(posixpath.join("/xl", target)).lstrip("/")


def _parts(archive: zipfile.ZipFile, path: str) -> Iterator[bytes]:
    """Yield parts of a sheet that consist of whole cells."""
    rest = b""
    with archive.open(path) as file:
        while block := file.read(AT_ONCE):
            rest += block
            cut = rest.rfind(b"<c ")
            if cut > 0:
                yield rest[:cut]
                rest = rest[cut:]
    yield rest


def _column_number(letters: bytes) -> int:
    """Return the number of a column, counted from 1.

    Examples
    --------
    >>> _column_number(b"A"), _column_number(b"Z"), _column_number(b"AB")
    (1, 26, 28)
    """
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


def _refuse_merged_cells(name: str, title: str, sheet: Any) -> None:
    """Refuse merged cells in the table, because only the first of them has a value."""
    for (top, left), (bottom, right) in sorted(sheet.merged_cell_ranges or ()):
        if top <= sheet.end[0] and left <= sheet.end[1]:
            place = f"{_letters(left)}{top + 1}:{_letters(right)}{bottom + 1}"
            raise InputError(
                f"{name}: the cells {place} of sheet {quoted(title)} are merged, so only the first "
                "has a value; unmerge them, and fill in all of them."
            )


def _letters(column: int) -> str:
    """Return the letters of a column, counted from 0.

    Examples
    --------
    >>> _letters(0), _letters(25), _letters(27)
    ('A', 'Z', 'AB')
    """
    before, last = divmod(column, 26)
    return (_letters(before - 1) if before else "") + chr(ord("A") + last)


def _table(
    name: str,
    numbered: list[tuple[int, list[Any]]],
    keep: Sequence[str],
    options: TextOptions,
    notes: list[str],
) -> TableFile:
    """Return the table in rows of values with their numbers in the sheet."""
    notation = options.notation
    top = [_text(cell, notation).strip() for cell in numbered[0][1]]
    names, named = column_names(name, top, options.header)
    rows = numbered[1:] if options.header else numbered
    filled = [(number, row) for number, row in rows if any(cell != "" for cell in row)]
    dates = _columns_of_dates(names, [row for _, row in filled])
    columns = empty_columns(name, names, keep, options, dates)
    check_rows(name, len(filled))
    at_once = max(1, CELLS_AT_ONCE // len(names))
    for start in range(0, len(filled), at_once):
        chunk = filled[start : start + at_once]
        columns.add([[_text(cell, notation) for cell in row] for _, row in chunk], odd=True)
    kept = columns.kept(options.notation_of_kept, (options.id_column,))
    positions = np.array([number for number, _ in filled], dtype=np.int64)
    table = columns.table(name, "xlsx", positions, kept)
    if len(filled) < len(rows):
        named.append(f"{counted(len(rows) - len(filled), 'blank row')} skipped")
    return replace(table, notes=(*notes, *named, *table.notes), dates=frozenset(dates & set(keep)))


def _columns_of_dates(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> set[str]:
    """Return the columns in which all filled cells are dates, times or durations."""
    found = set()
    for at, name in enumerate(names):
        filled = [row[at] for row in rows if row[at] != ""]
        if filled and all(isinstance(cell, _DATES) for cell in filled):
            found.add(name)
    return found


def _text(cell: Any, notation: Notation) -> str:
    """Return a cell as it would be written in a text file."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, int | float):
        return notation.written(float(cell))
    return str(cell)

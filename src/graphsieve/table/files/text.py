"""Strict reading of CSV, TSV and similar text files.

Error messages give line numbers, counted as in an editor. Python's `csv` splits lines with quotes
into cells, and the module `cells` converts the cells. The text is decoded in blocks and converted
in chunks of rows, so that only the numbers stay in memory.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from array import array
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import numpy as np

from graphsieve._base.errors import InputError, UsageError, warn
from graphsieve._base.locks import SharedSetting
from graphsieve._base.parameters import must_be, quoted
from graphsieve.table.files.cells import CellColumns
from graphsieve.table.files.notation import THOUSANDS, Notation, number
from graphsieve.table.files.opening import AT_ONCE, ByteSource
from graphsieve.table.files.table_file import (
    AS_REQUESTED,
    MISSING,
    TableFile,
    check_kept,
    check_names,
    check_rows,
    counted,
    listed,
    object_array,
)

CELLS_AT_ONCE = 2**18  # cells per chunk of rows
LONGEST_LINE = 2**29  # characters
# Characters. Without a limit, the cell after a quote that is not closed would be the rest of the
# file.
LONGEST_CELL = 2**27
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": '"|"'}
MOST_HEADER_LINES = 100
_ROW_NAMES_NOTE = (
    "the header has one field fewer than the rows, so the first field of each row is its name ({})"
)
_LINE_BREAK = re.compile("\r\n|\r|\n")
_SEPARATOR_LINE = re.compile(r'("?)sep=([^\w"\r\n\0])\1[\r\n]*', flags=re.IGNORECASE)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


@dataclass(frozen=True)
class TextOptions:
    """Options for reading a text file, see `read_table`."""

    sep: str | None = None
    encoding: str = "utf-8"
    header: bool = True
    comment: str | None = None
    keep_na_text: bool = False
    id_column: str | None = None
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    na_values: tuple[str, ...] = ()
    decimal: str = "."
    thousands: str | None = None

    @property
    def notation(self) -> Notation:
        """How numbers and missing values are written."""
        return Notation.of(self.decimal, self.thousands, self.na_values)

    @property
    def notation_of_kept(self) -> Notation:
        """How they are written in separate columns."""
        missing = frozenset(("",)) if self.keep_na_text else MISSING
        return Notation.of(self.decimal, self.thousands, self.na_values, missing)


def check_text_options(options: TextOptions) -> None:
    """Raise an error if an option is invalid for every text file."""
    sep = _separator(options.sep)
    if sep is not None and (len(sep) != 1 or sep in '"\r\n\0'):
        raise UsageError(
            must_be("sep", "one character other than a quote or a line break", options.sep)
        )
    if options.comment is not None and (not options.comment or _LINE_BREAK.search(options.comment)):
        raise UsageError(must_be("comment", "the start of a comment line", options.comment))
    if options.decimal not in (".", ","):
        raise UsageError(must_be("decimal", "'.' or ','", options.decimal))
    if options.thousands is not None and (
        options.thousands not in THOUSANDS or options.thousands == options.decimal
    ):
        expected = "one of , . ' _ and a blank, other than the decimal sign"
        raise UsageError(must_be("thousands", expected, options.thousands))
    unknown = UsageError(
        f"{quoted(options.encoding)} is not a text encoding; try 'utf-8', 'latin-1' or 'utf-16'."
    )
    if not isinstance(options.encoding, str) or not options.encoding.isascii():
        raise unknown
    try:
        b"a".decode(options.encoding, errors="replace")
    except UnicodeError:
        return  # The encoding exists, but this byte is not valid text in it.
    except (LookupError, ValueError):
        raise unknown from None


def read_text(
    source: ByteSource, keep: Sequence[str], options: TextOptions, *, prefers_tabs: bool = False
) -> TableFile:
    """Read the table in a text file.

    With `prefers_tabs` (for the suffix .tsv), tabs are the separator if the first line has any.
    """
    check_text_options(options)
    _check_is_text(source, options.encoding)
    source.check_whole_size()
    lines = Lines(source, options.encoding, options.comment)
    with _long_cells.held():
        try:
            return _read(lines, keep, options, prefers_tabs)
        except csv.Error as error:
            raise InputError(_quote_message(lines, str(error))) from None


class Lines:
    """Iterator over the lines of a text file for `csv.reader`, with line numbers.

    The code that reads the records sets `fresh` after each record. Comment lines are recognised
    only there, and not inside a quoted cell.
    """

    def __init__(self, source: ByteSource, encoding: str, comment: str | None) -> None:
        self.name = source.name
        self.number = 0  # number of the last line
        self.started = 0  # line in which the current record starts
        self.opened = 0  # line in which its last quote opens
        self.opened_before = 0  # line of the opening quote that the last line may have closed
        self.fresh = True
        # Whether a line since the last reset may contain cells that `float` accepts but that are
        # not numbers.
        self.odd = False
        self.n_comments = 0
        self._comment = comment
        self._source = source
        self._encoding = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
        text = io.TextIOWrapper(
            io.BufferedReader(source, AT_ONCE), encoding=self._encoding, errors="strict", newline=""
        )
        self._text = text
        self._at_start = True
        self._ahead: deque[str] = deque()

    def __iter__(self) -> Lines:
        return self

    def __next__(self) -> str:
        line = self._next_line()
        while self.fresh and self._comment is not None and line.startswith(self._comment):
            self.n_comments += 1
            line = self._next_line()
        if self.fresh:
            self.fresh = False
            self.started = self.opened = self.opened_before = self.number
        elif '"' in line:
            self.opened_before = self.opened
            if line.replace('""', "").count('"') >= 2:
                self.opened = self.number
        if "\0" in line:
            raise InputError(
                f"{self.name}: line {self.number} holds a NUL character, so it is not plain text; "
                "export it again."
            )
        if not self.odd and ("_" in line or not line.isascii()):
            self.odd = True
        return line

    def stated_separator(self) -> str | None:
        """Return the separator in a first line such as ``sep=;``, and skip this line.

        Excel does not treat this line as part of the table.
        """
        line = self._taken_line()
        found = _SEPARATOR_LINE.fullmatch(line)
        if found is not None:
            self.number += 1
            return found[2]
        if line:
            self._ahead.appendleft(line)
        return None

    def first_record(self) -> str:
        """Return the first record without consuming its lines.

        The record is the first line that is neither blank nor a comment, with further lines if a
        quoted cell spans them.
        """
        taken: list[str] = []
        record: list[str] = []
        while len(record) < MOST_HEADER_LINES and (line := self._taken_line()):
            taken.append(line)
            if not record and (
                not line.strip() or (self._comment is not None and line.startswith(self._comment))
            ):
                continue
            record.append(line)
            if "".join(record).count('"') % 2 == 0:
                break
        else:
            # The quote is an ordinary character, or it is not closed.
            record = record[:1]
        self._ahead.extendleft(reversed(taken))
        return "".join(record)

    def _next_line(self) -> str:
        line = self._taken_line()
        if not line:
            raise StopIteration
        self.number += 1
        return line

    def _taken_line(self) -> str:
        return self._ahead.popleft() if self._ahead else self._read_line()

    def _read_line(self) -> str:
        try:
            line = self._text.readline(LONGEST_LINE)
        except UnicodeDecodeError as error:
            raise InputError(self._undecodable(error)) from None
        except UnicodeError as error:  # for example UTF-16 without a byte order mark
            raise InputError(
                f"{self.name} is not text in {self._encoding}: {error}; try another --encoding."
            ) from None
        if self._at_start:
            self._at_start = False
            # A codec with a fixed byte order, such as utf-16-le, leaves the byte order mark in the
            # text.
            line = line.removeprefix("\ufeff")
        if len(line) >= LONGEST_LINE:
            raise InputError(
                f"{self.name}: line {self.number + 1} has more than {LONGEST_LINE:,} characters; "
                "check that the file is a table."
            )
        return line

    def _undecodable(self, error: UnicodeDecodeError) -> str:
        """Return the error message for a byte that cannot be decoded, with its offset and line.

        The decoder reports a position in the current block. The block ends at the current offset of
        the source.
        """
        offset = self._source.offset - len(error.object) + error.start
        before = error.object[: error.start].decode(self._encoding, errors="replace")
        line = self.number + len(self._ahead) + 1 + len(_LINE_BREAK.findall(before))
        name = self._encoding.removesuffix("-sig")
        hint = "latin-1" if name == "utf-8" else "utf-8"
        return (
            f"{self.name}: byte {offset} (0x{error.object[error.start]:02x}, line {line}) is not "
            f"{name.upper()} text; use --encoding {hint} if the file has that encoding."
        )


def _separator(sep: str | None) -> str | None:
    # A shell passes "\t" as two characters.
    return "\t" if sep == "\\t" else sep


def _named(sep: str) -> str:
    return SEPARATORS.get(sep, quoted(sep))


def sniffed_separator(record: str, prefers_tabs: bool = False, decimal: str = ".") -> str:
    """Return the most frequent candidate outside quotes, or a comma if there is none.

    A decimal comma is the separator only if there is no other candidate.
    """
    outside = "".join(record.split('"')[::2]) if record.count('"') % 2 == 0 else record
    if decimal == "," and any(sep in outside for sep in SEPARATORS if sep != ","):
        outside = outside.replace(",", "")
    return "\t" if prefers_tabs and "\t" in outside else max(SEPARATORS, key=outside.count)


def _read(lines: Lines, keep: Sequence[str], options: TextOptions, prefers_tabs: bool) -> TableFile:
    records, notes = _records(lines, options, prefers_tabs)
    rows = iter(records)
    top = records.cells(next(rows))
    row: str | list[str] | None = top
    if options.header:
        lines.odd = False
        row = next(rows, None)
    names, named = column_names(lines.name, top, options.header)
    row_names = _name_of_row_names(names, [] if row is None else records.cells(row))
    keep = (*keep, *row_names)
    columns = empty_columns(lines.name, [*row_names, *names], keep, options)
    positions = _gather(records, chain([] if row is None else [row], rows), columns)
    check_rows(lines.name, len(positions))
    kept = columns.kept(options.notation_of_kept, (options.id_column, *row_names))
    table = columns.table(lines.name, "csv", np.array(positions, dtype=np.int64), kept)
    if records.n_blank:
        named.append(f"{counted(records.n_blank, 'blank line')} skipped")
    if lines.n_comments:
        named.append(f"{counted(lines.n_comments, 'comment line')} skipped")
    table = replace(table, notes=(*notes, *named, *table.notes))
    return _with_row_names(table, row_names[0]) if row_names else table


def _records(lines: Lines, options: TextOptions, prefers_tabs: bool) -> tuple[_Records, list[str]]:
    """Return the records of a file, and a note on their separator."""
    stated, requested = lines.stated_separator(), _separator(options.sep)
    if stated is not None and requested not in (None, stated):
        raise UsageError(
            f"{lines.name} says in line 1 that columns are separated by {_named(stated)}, but "
            f"--sep says {_named(str(requested))}; leave --sep out, or remove line 1."
        )
    first = lines.first_record()
    if not first:
        raise InputError(f"{lines.name} is an empty file; expected a header and rows.")
    sep = requested or stated or sniffed_separator(first, prefers_tabs, options.decimal)
    separated = f"columns are separated by {_named(sep)}"
    if stated is not None:
        return _Records(lines, sep), [f"{separated}, as line 1 says"]
    return _Records(lines, sep), [separated] if requested is None and sep != "," else []


def empty_columns(
    name: str,
    names: Sequence[str],
    keep: Sequence[str],
    options: TextOptions,
    dates: Collection[str] = (),
) -> CellColumns:
    """Return the columns of a table before any row is added."""
    check_names(name, names)
    declared = (*options.categorical, *options.numeric)
    check_kept(name, (*keep, *declared, *options.exclude), names)
    left_out = dict.fromkeys((one for one in dates if one not in declared), "dates")
    return CellColumns(
        names,
        dict.fromkeys(keep),
        options.categorical,
        options.numeric,
        left_out=left_out | dict.fromkeys(options.exclude, AS_REQUESTED),
        notation=options.notation,
    )


def _name_of_row_names(names: list[str], row: list[str]) -> list[str]:
    """Return a name for the first column if the header has no name for it, as R writes a table.

    A first line of one field is a title, and a line with # is a comment. An empty last field comes
    from a separator at the end of the line.
    """
    if len(row) != len(names) + 1 or len(names) == 1:
        return []
    if names[0].startswith("#") or row[0].startswith("#") or not row[-1].strip():
        return []
    name = "row_names"
    while name in names:
        name += "_"
    return [name]


def _with_row_names(table: TableFile, column: str) -> TableFile:
    """Return the table with the names of its rows. Raise an error if they are not unique."""
    lines: dict[str, int] = {}
    for value, line in zip(table.kept[column], table.positions.tolist(), strict=True):
        if value is None or str(value) in lines:
            why = (
                f"line {line} has none"
                if value is None
                else f"{quoted(str(value))} is in lines {lines[str(value)]} and {line}"
            )
            width = len(table.columns)
            raise InputError(
                f"{table.name}: {table.row_label(0)} has {counted(width, 'field')}, expected "
                f"{width - 1}; the first field is no row name, because {why}, so give every "
                "column a name in the header."
            )
        lines[str(value)] = line
    return replace(
        table,
        row_names=object_array(list(lines)),
        notes=(*table.notes, _ROW_NAMES_NOTE.format(quoted(column))),
    )


class _Records:
    """The records of a text file.

    A record is a line if the line has no quotes, and a list of cells otherwise. Blank lines are
    counted and skipped.
    """

    def __init__(self, lines: Lines, sep: str) -> None:
        self.lines = lines
        self.sep = sep
        self.n_blank = 0
        self._pushed: str | None = None
        # Blanks after a separator do not belong to a cell, and a quote may follow them.
        self._reader = csv.reader(
            iter(self._next_line, None), delimiter=sep, strict=True, skipinitialspace=sep != " "
        )

    def __iter__(self) -> Iterator[str | list[str]]:
        for line in self.lines:
            record: str | list[str] = line
            if '"' in line:
                self._pushed = line
                record = next(self._reader)
            self.lines.fresh = True
            if isinstance(record, str) and record.isspace() and self.sep not in record:
                self.n_blank += 1
            else:
                yield record

    def cells(self, record: str | list[str]) -> list[str]:
        """Return the cells of a record in either form."""
        return record.rstrip("\r\n").split(self.sep) if isinstance(record, str) else record

    def _next_line(self) -> str | None:
        """Return the next line for `csv.reader`: a line with quotes, or a continuation of it."""
        line, self._pushed = self._pushed, None
        return next(self.lines) if line is None else line


def _gather(records: _Records, rows: Iterable[str | list[str]], columns: CellColumns) -> array[int]:
    """Add all rows to the columns, and return the lines in which they start."""
    lines, sep, width = records.lines, records.sep, len(columns.names)
    chunk: list[str | list[str]] = []
    positions = array("q")
    at_once = max(1, CELLS_AT_ONCE // width)
    for record in rows:
        found = record.count(sep) + 1 if isinstance(record, str) else len(record)
        if found != width:
            raise InputError(
                _ragged_message(
                    lines, records.cells(record), width, columns.names[0], not positions
                )
            )
        chunk.append(record)
        positions.append(lines.started)
        if len(chunk) >= at_once:
            _add(records, columns, chunk)
            chunk = []
    if chunk:
        _add(records, columns, chunk)
    return positions


def _add(records: _Records, columns: CellColumns, chunk: list[str | list[str]]) -> None:
    plain = [record for record in chunk if isinstance(record, str)]
    if len(plain) < len(chunk) or not columns.add_lines(plain, records.sep):
        columns.add([records.cells(record) for record in chunk], records.lines.odd)
    records.lines.odd = False


def column_names(name: str, top: list[str], header: bool) -> tuple[list[str], list[str]]:
    """Return the column names, and notes on names that were generated."""
    if not header:
        return [f"column_{at}" for at in range(1, len(top) + 1)], []
    names = [cell.strip() for cell in top]
    if _looks_like_data(names):
        warn(f"{name}: the header looks like data ({listed(names)}); use --no-header if it is.")
    taken, added = set(names), []
    for at, given in enumerate(names):
        if not given:
            names[at] = f"column_{at + 1}"
            while names[at] in taken:
                names[at] += "_"
            added.append(names[at])
    return names, [
        f"names generated for {counted(len(added), 'column')}: {listed(added)}"
    ] if added else []


def _looks_like_data(names: list[str]) -> bool:
    """Whether the names look like numbers of a data row.

    All names are numbers, or most are and these are not sorted. Wavelengths and years in a header
    are sorted.
    """
    values = [
        value for name in names if name not in MISSING and (value := number(name)) is not None
    ]
    in_order = values in (sorted(values), sorted(values, reverse=True))
    return len(values) == len(names) or (2 * len(values) > len(names) and not in_order)


def _ragged_message(lines: Lines, record: list[str], width: int, top: str, is_first: bool) -> str:
    found = len(record)
    hint = "correct that line"
    if record[0].startswith("#") or (is_first and top.startswith("#")):
        hint = "use --comment '#' if lines that start with # are comments"
    elif found == width + 1 and not record[-1].strip():
        hint = "remove the separator at its end"
    elif is_first:
        hint = (
            "use --sep if the columns have another separator, and --comment '#' if the lines "
            "above are comments"
        )
    return (
        f"{lines.name}: line {lines.started} has {counted(found, 'field')}, expected {width}; "
        f"{hint}."
    )


def _quote_message(lines: Lines, error: str) -> str:
    if "field larger" in error:
        return (
            f"{lines.name}: a cell that begins in line {lines.opened} has more than "
            f"{LONGEST_CELL:,} characters; check that every quote there is closed."
        )
    if "unexpected end" in error:
        return (
            f"{lines.name}: the quote that opens in line {lines.opened} is not closed; close it, "
            "or remove it."
        )
    opened = lines.opened_before
    where = f"line {lines.number}" + (
        f" (the cell opens in line {opened})" if opened != lines.number else ""
    )
    return (
        f"{lines.name}: {where} has text after a closing quote; "
        'write "" for a quote inside a quoted cell, or close the cell before.'
    )


def _check_is_text(source: ByteSource, encoding: str) -> None:
    """Raise an error with a hint if the first bytes are not text in this encoding."""
    head = source.head
    if not head:
        raise InputError(f"{source.name} is an empty file; expected a header and rows.")
    if codecs.lookup(encoding).name != "utf-8":
        return
    for mark, name in (
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF32_BE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if head.startswith(mark) and (name == "utf-32" or len(head) % 2 == 0):
            raise InputError(f"{source.name} looks like {name.upper()}; use --encoding {name}.")
    first, second = head[::2].count(0), head[1::2].count(0)
    if first + second > len(head) / 4 and min(first, second) < max(first, second) / 20:
        order = "le" if second > first else "be"
        raise InputError(
            f"{source.name} looks like UTF-16 without a byte order mark; use --encoding "
            f"utf-16-{order}."
        )
    if not _decodes(head) and _CONTROL.search(head):
        raise InputError(
            f"{source.name} is not text; expected CSV or similar text, Excel, Parquet, Feather, "
            "NPZ, MTX or h5ad."
        )


def _decodes(head: bytes) -> bool:
    """Whether the bytes are UTF-8. The last character may be incomplete."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def _allow_long_cells() -> Callable[[], object]:
    """Raise the limit of `csv` for the length of a cell, which is 131,072 characters by default."""
    return partial(csv.field_size_limit, csv.field_size_limit(LONGEST_CELL))


_long_cells = SharedSetting(_allow_long_cells)

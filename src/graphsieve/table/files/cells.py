"""Conversion of the cells of a text file to columns of numbers, in chunks of rows.

This module decides which cells are numbers, which are missing and which are text. Python's `float`
converts a cell in about 80 ns. It accepts slightly more than a number in a table: underscores
(``1_000``) and digits of other scripts. These are searched for in the text of a chunk. If `float`
fails for a chunk, its columns are converted one by one. If it fails for a column, the cells of that
column are converted one by one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve._base.array_types import Booleans, Floats
from graphsieve._base.parameters import quoted
from graphsieve.table.containers import LARGEST_EXACT_INTEGER
from graphsieve.table.files.table_file import MISSING, is_missing, kept_text, object_array

MOST_APART = 8  # columns for which the text is needed in addition to the numbers
# Number of distinct texts that are shared. A column with more of them holds names, which rarely
# repeat.
MOST_HELD = 10_000
LONGEST_NUMBER = 2000  # characters; the longest exact float64 has fewer digits
_AS_NAN = dict.fromkeys(MISSING, "nan")
_TRUTH = {"true": 1.0, "false": 0.0}
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_LEADING_ZERO = re.compile(r"[+-]?0[0-9]+")


@dataclass
class _TextColumn:
    """Counts and an example of a column that does not only contain numbers."""

    example: str
    line: int
    n_texts: int = 0
    n_numbers: int = 0
    shapes: set[str] = field(default_factory=set)

    @property
    def settled(self) -> bool:
        """Whether the cells are mostly text, so that more cells hardly change the reason."""
        return self.n_texts > self.n_numbers

    def reason(self) -> str:
        """Return why the column is left out, and how to change the file so that it is used."""
        if self.shapes == {"date"}:
            return "dates"
        if self.shapes == {"thousands"}:
            return f"text such as {quoted(self.example)}; remove thousands separators to use it"
        if self.shapes <= {"thousands", "decimal comma"}:
            return (
                f"text such as {quoted(self.example)}; write decimal points in place of commas to "
                "use it"
            )
        return "text" if self.settled else f"text ({quoted(self.example)} in line {self.line})"


@dataclass(frozen=True)
class _ConvertedCells:
    """A column of a chunk that was converted cell by cell."""

    values: Floats  # booleans as 1 and 0, NaN for text and missing values
    texts: list[int]  # positions of the cells that are text
    n_truths: int
    n_numbers: int


class CellColumns:
    """Columns of a text file, collected from chunks of rows.

    Parameters
    ----------
    names : sequence of str
        Names of all columns.
    keep : sequence of str
        Columns that are kept separately. They stay text until all rows have been read.
    """

    def __init__(self, names: Sequence[str], keep: Iterable[str]) -> None:
        position = {name: at for at, name in enumerate(names)}
        self.names = names
        self._kept: dict[int, list[str]] = {position[name]: [] for name in keep}
        self._numeric = [at for at in range(len(names)) if at not in self._kept]
        self._texts: dict[int, _TextColumn] = {}
        self._booleans: set[int] = set()
        self._has_numbers = np.zeros(len(names), dtype=bool)
        self._whole = np.ones(len(names), dtype=bool)
        self._rounded: set[int] = set()
        self._chunks: list[tuple[NDArray[np.intp], Floats]] = []
        self._gaps = False
        self._held: dict[str, str] = {}

    def add(self, rows: Sequence[Sequence[str]], lines: Sequence[int], odd: bool) -> None:
        """Add one or more rows, each with one cell per column.

        `odd` is true if the rows may contain cells that `float` accepts but that are not numbers.
        """
        for column, cells in self._kept.items():
            cells.extend(self._shared(map(itemgetter(column), rows)))
        for column, seen in self._texts.items():
            if not seen.settled:
                cells = [row[column] for row in rows]
                self._note_text(column, cells, lines, _converted_one_by_one(cells))
        if self._numeric:
            self._add_numbers(self._cells(rows), rows, lines, odd)

    def add_lines(self, lines: Sequence[str], sep: str) -> bool:
        """Add lines without quotes with numpy, or return False if they have to be added as rows.

        This is possible if the kinds of almost all columns are already decided. numpy reads such
        lines twice as fast and accepts the same numbers
        (`test_both_parsers_give_the_same_numbers`).
        """
        undecided = [at for at in self._numeric if self._whole[at] or not self._has_numbers[at]]
        apart = [*self._kept, *undecided]
        if (
            not self._chunks
            or self._gaps
            or self._booleans
            or len(apart) > MOST_APART
            or not self._numeric
        ):
            return False
        if any(not seen.settled for seen in self._texts.values()):
            return False
        try:
            chunk = np.loadtxt(
                lines,
                delimiter=sep,
                comments=None,
                usecols=self._numeric,
                ndmin=2,
                dtype=np.float64,
            )
        except ValueError:
            return False
        columns = np.array(self._numeric)
        cells = {column: _cells_of(lines, sep, column, len(self.names)) for column in apart}
        for column, kept in self._kept.items():
            kept.extend(self._shared(cells[column]))
        self._note_kinds(columns, chunk, cells.__getitem__)
        self._chunks.append((columns, chunk))
        return True

    def matrix(self) -> tuple[list[int], Floats]:
        """Return the positions of the numeric columns, and their values.

        The collected chunks are released on the way, so that memory never holds the values twice.
        """
        final = [
            column
            for column in self._numeric
            if self._has_numbers[column] or column in self._booleans
        ]
        n_rows = sum(len(values) for _, values in self._chunks)
        result = np.empty((n_rows, len(final)))
        start = 0
        self._chunks.reverse()
        while self._chunks:
            columns, values = self._chunks.pop()
            result[start : start + len(values)] = (
                values if len(columns) == len(final) else values[:, np.isin(columns, final)]
            )
            start += len(values)
        return final, result

    def whole(self) -> frozenset[str]:
        """Return the names of the numeric columns in which all numbers are written as integers."""
        return frozenset(self.names[column] for column in self._numeric if self._whole[column])

    def booleans(self) -> list[str]:
        """Return the names of the columns that contain true and false."""
        return [self.names[column] for column in sorted(self._booleans)]

    def rounded(self) -> list[str]:
        """Return the names of the columns with integers that float64 does not represent exactly."""
        return [self.names[column] for column in sorted(self._rounded & set(self._numeric))]

    def left_out(self) -> dict[str, str]:
        """Return the columns that are not numeric, with the reasons."""
        empty = {
            column
            for column in self._numeric
            if not (self._has_numbers[column] or column in self._booleans)
        }
        reasons = {column: "empty" for column in empty} | {
            column: seen.reason() for column, seen in self._texts.items()
        }
        return {self.names[column]: reasons[column] for column in sorted(reasons)}

    def kept(
        self, missing: frozenset[str], id_column: str | None = None
    ) -> dict[str, NDArray[np.object_]]:
        """Return the columns of `keep`. Row names in `id_column` stay as they are written."""
        return {
            self.names[column]: object_array(
                kept_values(cells, missing, are_names=self.names[column] == id_column)
            )
            for column, cells in self._kept.items()
        }

    def _shared(self, cells: Iterable[str]) -> Iterable[str]:
        """Return the cells, with one object for equal texts, because labels repeat many times."""
        if len(self._held) > MOST_HELD:
            return cells
        return [self._held.setdefault(cell, cell) for cell in cells]

    def _cells(self, rows: Sequence[Sequence[str]]) -> list[str]:
        """Return the cells of the numeric columns, row by row."""
        if len(self._numeric) == len(self.names):
            return list(chain.from_iterable(rows))
        if len(self._numeric) == 1:
            return list(map(itemgetter(self._numeric[0]), rows))
        return list(chain.from_iterable(map(itemgetter(*self._numeric), rows)))

    def _add_numbers(
        self, cells: list[str], rows: Sequence[Sequence[str]], lines: Sequence[int], odd: bool
    ) -> None:
        width = len(self._numeric)
        values = None if self._booleans else self._all_numbers(cells, odd)
        if values is None:
            values = np.empty(len(cells))
            for at, column in enumerate(list(self._numeric)):
                values[at::width] = self._one_column(column, cells[at::width], lines, odd)
        chunk = values.reshape(len(rows), width)
        position = {column: at for at, column in enumerate(self._numeric)}
        self._numeric = [column for column in self._numeric if column not in self._texts]
        if len(self._numeric) < width:
            chunk = chunk[:, [position[column] for column in self._numeric]]
        columns = np.array(self._numeric, dtype=np.intp)
        self._note_kinds(columns, chunk, lambda column: cells[position[column] :: width])
        self._chunks.append((columns, chunk))

    def _all_numbers(self, cells: list[str], odd: bool) -> Floats | None:
        """Return all cells as numbers, or None if one of them is not a number."""
        if odd and not _plain(cells):
            return None
        if not self._gaps:
            values = _floats(cells)
            if values is not None:
                return values
        values = _floats_or_missing(cells)
        self._gaps = values is not None
        return values

    def _one_column(
        self, column: int, cells: Sequence[str], lines: Sequence[int], odd: bool
    ) -> Floats:
        if column not in self._booleans and not (odd and not _plain(cells)):
            values = _floats_or_missing(cells)
            if values is not None:
                return values
        converted = _converted_one_by_one(cells)
        any_numbers = converted.n_numbers > 0 or bool(self._has_numbers[column])
        any_truths = converted.n_truths > 0 or column in self._booleans
        if converted.texts or (any_numbers and any_truths):
            self._note_text(column, cells, lines, converted)
        elif any_truths:
            self._booleans.add(column)
        return converted.values

    def _note_text(
        self, column: int, cells: Sequence[str], lines: Sequence[int], converted: _ConvertedCells
    ) -> None:
        """Record why a column with text, or with a mixture of kinds, is left out."""
        texts, n_truths, n_numbers = converted.texts, converted.n_truths, converted.n_numbers
        self._booleans.discard(column)
        if column not in self._texts:
            odd = texts[0] if texts else self._first_of_other_kind(column, cells)
            seen = _TextColumn(
                cells[odd].strip(), lines[odd], n_numbers=sum(self._counts_before(column))
            )
            self._texts[column] = seen
        seen = self._texts[column]
        seen.n_texts += len(texts) + n_truths
        seen.n_numbers += n_numbers
        seen.shapes |= {_shape(cells[at].strip()) for at in texts} | (
            {"truth"} if n_truths else set()
        )

    def _first_of_other_kind(self, column: int, cells: Sequence[str]) -> int:
        """Return the position of the first number after booleans, or boolean after numbers."""
        kinds = [
            (at, _truth(cell.strip()) is not None)
            for at, cell in enumerate(cells)
            if cell.strip() not in MISSING
        ]
        before = False if self._has_numbers[column] else kinds[0][1]
        return next((at for at, is_truth in kinds if is_truth != before), kinds[0][0])

    def _counts_before(self, column: int) -> Iterable[int]:
        for columns, values in self._chunks:
            yield int(np.count_nonzero(~np.isnan(values[:, np.searchsorted(columns, column)])))

    def _note_kinds(
        self, columns: NDArray[np.intp], chunk: Floats, cells_of: Callable[[int], Sequence[str]]
    ) -> None:
        """Record which columns have numbers, only integers, or integers that were rounded."""
        known = ~np.isnan(chunk)
        truth = np.isin(columns, list(self._booleans))
        self._has_numbers[columns[known.any(axis=0) & ~truth]] = True
        candidates = ~truth & self._whole[columns]
        candidates[candidates] = _is_whole(chunk[:, candidates])
        self._whole[columns[~candidates & ~truth]] = False
        for at in np.flatnonzero(candidates):
            column = int(columns[at])
            cells = cells_of(column)
            if not _written_whole(cells, known[:, at]):
                self._whole[column] = False
            elif np.nanmax(np.abs(chunk[:, at]), initial=0) >= LARGEST_EXACT_INTEGER and any(
                map(_is_rounded, cells)
            ):
                self._rounded.add(column)


def kept_values(
    cells: Sequence[str], missing: frozenset[str] = MISSING, *, are_names: bool = False
) -> list[Any]:
    """Convert a separate column to integers, floats, booleans or text, all of one kind.

    Missing values are None. A column in which a number has a leading zero stays text, because such
    numbers are names (007 is not 7). With `are_names`, a column also stays text if a number would
    be written differently afterwards (1.10 is not 1.1, and 1E5 is not 100000.0).
    """
    texts = [kept_text(cell, missing) for cell in cells]
    known = {text for text in texts if text is not None}
    meaning = _meaning(known)
    if are_names and any(str(value) != text for text, value in meaning.items()):
        meaning = {text: text for text in known}
    return [None if text is None else meaning[text] for text in texts]


def number(cell: str) -> float | None:
    """Return the number in a cell, or None. The caller has to check for missing values."""
    if len(cell) > LONGEST_NUMBER or "_" in cell or not cell.isascii():
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def _meaning(known: set[str]) -> dict[str, Any]:
    if all(_truth(text) is not None for text in known):
        return {text: text.lower() == "true" for text in known}
    if any(_LEADING_ZERO.fullmatch(text) for text in known):
        return {text: text for text in known}
    if all(_WHOLE.fullmatch(text) and len(text) < 400 for text in known):
        return {text: int(text) for text in known}
    numbers = {text: number(text) for text in known}
    if any(value is None for value in numbers.values()):
        return {text: text for text in known}
    return {text: None if is_missing(value) else value for text, value in numbers.items()}


def _cells_of(lines: Sequence[str], sep: str, column: int, width: int) -> list[str]:
    """Return one column of lines without quotes, split from the nearer end of each line."""
    if column < width // 2:
        return [line.split(sep, column + 1)[column] for line in lines]
    return [line.rsplit(sep, width - column)[column - width] for line in lines]


def _is_whole(chunk: Floats) -> Booleans:
    """Whether each column contains only integers and missing values."""
    return np.asarray(((chunk == np.trunc(chunk)) | np.isnan(chunk)).all(axis=0))


def _written_whole(cells: Sequence[str], known: Booleans) -> bool:
    """Whether integers are written without a point or exponent (1 and not 1.0)."""
    written = "".join(cells)
    if not any(sign in written for sign in ".eEnN"):
        return True
    return all(
        _WHOLE.fullmatch(cell.strip())
        for cell, there in zip(cells, known.tolist(), strict=True)
        if there
    )


def _plain(cells: Sequence[str]) -> bool:
    """Whether the cells contain nothing that `float` accepts but that is not a number."""
    written = " ".join(cells)
    return written.isascii() and "_" not in written


def _floats(cells: Sequence[str]) -> Floats | None:
    try:
        return np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
    except ValueError:
        return None


def _floats_or_missing(cells: Sequence[str]) -> Floats | None:
    get = _AS_NAN.get
    try:
        return np.array([float(get(cell, cell)) for cell in cells])
    except ValueError:
        return None


def _converted_one_by_one(cells: Sequence[str]) -> _ConvertedCells:
    values, texts, n_truths, n_numbers = np.full(len(cells), np.nan), [], 0, 0
    for at, cell in enumerate(cells):
        stripped = cell.strip()
        if stripped in MISSING:
            continue
        value = number(stripped)
        if value is not None:
            values[at] = value
            n_numbers += not math.isnan(value)
        elif (truth := _truth(stripped)) is not None:
            values[at] = truth
            n_truths += 1
        else:
            texts.append(at)
    return _ConvertedCells(values, texts, n_truths, n_numbers)


def _truth(text: str) -> float | None:
    return _TRUTH.get(text.lower()) if len(text) <= 5 else None


def _shape(text: str) -> str:
    for shape, pattern in (
        ("thousands", _THOUSANDS),
        ("decimal comma", _DECIMAL_COMMA),
        ("date", _DATE),
    ):
        if pattern.fullmatch(text):
            return shape
    return "other"


def _is_rounded(cell: str) -> bool:
    """Whether the cell is an integer that float64 does not represent exactly."""
    stripped = cell.strip()
    if not _WHOLE.fullmatch(stripped) or len(stripped) > 400:
        return False
    nearest = float(stripped)
    # Beyond the largest float the number becomes infinite, which is an error elsewhere.
    return math.isfinite(nearest) and int(stripped) != int(nearest)

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
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve._base.array_types import Booleans, Floats
from graphsieve.table.containers import LARGEST_EXACT_INTEGER
from graphsieve.table.files.table_file import (
    IDENTIFIER,
    MISSING,
    is_missing,
    kept_text,
    object_array,
)
from graphsieve.table.files.text_columns import (
    MOST_TEXTS,
    TextColumn,
    leveled,
    number,
    numbers_of,
    truth,
)

MOST_APART = 8  # columns for which the text is needed in addition to the numbers
# Number of distinct texts that are shared. A column with more of them holds names, which rarely
# repeat.
MOST_HELD = 10_000
_AS_NAN = dict.fromkeys(MISSING, "nan")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_LEADING_ZERO = re.compile(r"[+-]?0[0-9]+")


class CellColumns:
    """Columns of a text file, collected from chunks of rows.

    Parameters
    ----------
    names : sequence of str
        Names of all columns.
    keep : sequence of str
        Columns that are kept separately. They stay text until all rows have been read.
    categorical, numeric : sequence of str
        Columns that are declared as categories or as numbers.
    """

    def __init__(
        self,
        names: Sequence[str],
        keep: Iterable[str],
        categorical: Sequence[str] = (),
        numeric: Sequence[str] = (),
    ) -> None:
        position = {name: at for at, name in enumerate(names)}
        self.names = names
        self.levels: dict[str, tuple[Any, ...]] = {}
        self._kept: dict[int, list[str]] = {position[name]: [] for name in keep}
        # Numbers that are declared as a category are levels as they are written, such as 007.
        self._texts = {position[name]: TextColumn(most=None) for name in categorical}
        self._declared = {position[name] for name in categorical}
        self._declared_numbers = {position[name] for name in numeric}
        self._numeric = [
            at for at in range(len(names)) if at not in self._kept and at not in self._texts
        ]
        self._booleans: list[int] = []
        self._left_out: dict[int, str] = {}
        self._n_rows = 0
        self._has_numbers = np.zeros(len(names), dtype=bool)
        self._whole = np.ones(len(names), dtype=bool)
        self._rounded: set[int] = set()
        self._chunks: list[tuple[NDArray[np.intp], Floats]] = []
        self._gaps = False
        self._held: dict[str, str] = {}

    def add(self, rows: Sequence[Sequence[str]], odd: bool) -> None:
        """Add one or more rows, each with one cell per column.

        `odd` is true if the rows may contain cells that `float` accepts but that are not numbers.
        """
        for column, cells in self._kept.items():
            cells.extend(self._shared(map(itemgetter(column), rows)))
        for column, text in self._texts.items():
            text.add(map(itemgetter(column), rows))
        if self._numeric:
            self._add_numbers(self._cells(rows), rows, odd)
        self._n_rows += len(rows)

    def add_lines(self, lines: Sequence[str], sep: str) -> bool:
        """Add lines without quotes with numpy, or return False if they have to be added as rows.

        This is possible if the kinds of almost all columns are already decided. numpy reads such
        lines twice as fast and accepts the same numbers
        (`test_both_parsers_give_the_same_numbers`).
        """
        undecided = [at for at in self._numeric if self._whole[at] or not self._has_numbers[at]]
        texts = {at: text for at, text in self._texts.items() if not text.is_given_up}
        apart = [*self._kept, *undecided, *texts]
        if not self._chunks or self._gaps or len(apart) > MOST_APART or not self._numeric:
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
        for column, text in texts.items():
            text.add(cells[column])
        self._n_rows += len(lines)
        self._note_kinds(columns, chunk, cells.__getitem__)
        self._chunks.append((columns, chunk))
        return True

    def matrix(self, lines: Sequence[int]) -> tuple[list[int], Floats]:
        """Return the positions of the columns that are features, and their values.

        The values of a category are the positions of its `levels`. `lines` are the lines of the
        rows. The collected chunks are released on the way, so that memory never holds the values
        twice.
        """
        made = self._from_text(lines)
        numeric = [column for column in self._numeric if self._has_numbers[column]]
        final = sorted([*numeric, *made])
        result = np.empty((self._n_rows, len(final)))
        places = np.searchsorted(final, numeric)
        start = 0
        self._chunks.reverse()
        while self._chunks:
            columns, values = self._chunks.pop()
            stop = start + len(values)
            if len(columns) == len(numeric) == len(final):
                result[start:stop] = values
            else:
                result[start:stop, places] = values[:, np.isin(columns, numeric)]
            start = stop
        while made:
            column, codes = made.popitem()
            result[:, final.index(column)] = codes
        self._left_out |= {
            column: "empty" for column in self._numeric if not self._has_numbers[column]
        }
        return final, result

    def _from_text(self, lines: Sequence[int]) -> dict[int, Floats]:
        """Return the values of categories and booleans, and record why others are left out."""
        made: dict[int, Floats] = {}
        for column, text in self._texts.items():
            name, found = self.names[column], text.found()
            if column in self._declared_numbers and not found.is_truth:
                numbers_of(name, text, lambda row: f"line {lines[row]}")  # raises an error
            declared = column in self._declared and any(found.counts.values())
            why = None if declared else found.why_no_category(lambda row: f"line {lines[row]}")
            if why is None:
                text.add_levels(*self._written_before(column, text.first_row))
                why = IDENTIFIER if text.is_given_up else None
            if why is not None:
                self._left_out[column] = why
                continue
            codes = np.roll(text.codes, text.first_row)
            values = kept_values(text.levels)
            if found.is_truth and not declared:
                self._booleans.append(column)
                made[column] = np.array(values, dtype=np.float64)[codes]
            else:
                made[column], self.levels[name] = leveled(values, codes)
        return made

    def _written_before(self, column: int, n_rows: int) -> tuple[list[str], NDArray[np.int64]]:
        """Return the numbers of a column before its first text, as distinct texts and codes."""
        values = np.full(n_rows, np.nan)
        start = 0
        for columns, chunk in self._chunks:
            if start < n_rows and column in columns:
                values[start : start + len(chunk)] = chunk[:, np.searchsorted(columns, column)]
            start += len(chunk)
        distinct, codes = np.unique(values, return_inverse=True)
        # The text of a number is not kept. It is written in the shortest form.
        texts = [repr(int(one) if one.is_integer() else one) for one in distinct.tolist()]
        return texts, codes

    def whole(self) -> frozenset[str]:
        """Return the names of the numeric columns in which all numbers are written as integers."""
        return frozenset(
            self.names[column]
            for column in (*self._numeric, *self._booleans)
            if self._whole[column]
        )

    def booleans(self) -> list[str]:
        """Return the names of the columns that contain true and false."""
        return [self.names[column] for column in sorted(self._booleans)]

    def rounded(self) -> list[str]:
        """Return the names of the columns with integers that float64 does not represent exactly."""
        return [self.names[column] for column in sorted(self._rounded & set(self._numeric))]

    def left_out(self) -> dict[str, str]:
        """Return the columns that are no features, with the reasons."""
        return {self.names[column]: self._left_out[column] for column in sorted(self._left_out)}

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

    def _add_numbers(self, cells: list[str], rows: Sequence[Sequence[str]], odd: bool) -> None:
        width = len(self._numeric)
        values = self._all_numbers(cells, odd)
        if values is None:
            values = np.empty(len(cells))
            for at, column in enumerate(list(self._numeric)):
                values[at::width] = self._one_column(column, cells[at::width], odd)
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

    def _one_column(self, column: int, cells: Sequence[str], odd: bool) -> Floats:
        if not (odd and not _plain(cells)):
            values = _floats_or_missing(cells)
            if values is not None:
                return values
        values, has_text = _converted_one_by_one(cells)
        if has_text:
            most = None if column in self._declared_numbers else MOST_TEXTS
            self._texts[column] = TextColumn(self._n_rows, sum(self._counts_before(column)), most)
            self._texts[column].add(cells)
        return values

    def _counts_before(self, column: int) -> Iterable[int]:
        for columns, values in self._chunks:
            yield int(np.count_nonzero(~np.isnan(values[:, np.searchsorted(columns, column)])))

    def _note_kinds(
        self, columns: NDArray[np.intp], chunk: Floats, cells_of: Callable[[int], Sequence[str]]
    ) -> None:
        """Record which columns have numbers, only integers, or integers that were rounded."""
        known = ~np.isnan(chunk)
        self._has_numbers[columns[known.any(axis=0)]] = True
        candidates = self._whole[columns]
        candidates[candidates] = _is_whole(chunk[:, candidates])
        self._whole[columns[~candidates]] = False
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
    cells: Sequence[str | None], missing: frozenset[str] = MISSING, *, are_names: bool = False
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


def _meaning(known: set[str]) -> dict[str, Any]:
    if all(truth(text) is not None for text in known):
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


def _converted_one_by_one(cells: Sequence[str]) -> tuple[Floats, bool]:
    """Return the numbers in the cells, and whether a cell holds text."""
    values, has_text = np.full(len(cells), np.nan), False
    for at, cell in enumerate(cells):
        stripped = cell.strip()
        if stripped not in MISSING:
            value = number(stripped)
            values[at] = np.nan if value is None else value
            has_text |= value is None
    return values, has_text


def _is_rounded(cell: str) -> bool:
    """Whether the cell is an integer that float64 does not represent exactly."""
    stripped = cell.strip()
    if not _WHOLE.fullmatch(stripped) or len(stripped) > 400:
        return False
    nearest = float(stripped)
    # Beyond the largest float the number becomes infinite, which is an error elsewhere.
    return math.isfinite(nearest) and int(stripped) != int(nearest)

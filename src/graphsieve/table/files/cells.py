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
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.parameters import quoted
from graphsieve.table.containers import LARGEST_EXACT_INTEGER
from graphsieve.table.files.kinds import Found, Problem, refuse_problems
from graphsieve.table.files.notation import TYPED, Notation, number, truth
from graphsieve.table.files.table_file import (
    IDENTIFIER,
    MISSING,
    TableFile,
    boolean_note,
    is_missing,
    listed,
    marks_note,
    object_array,
    row_label,
    warn_of_rounded,
)
from graphsieve.table.files.text_columns import MOST_TEXTS, TextColumn, leveled, refuse_words

MOST_APART = 8  # columns for which the text is needed in addition to the numbers
# Number of distinct texts that are shared. A column with more of them holds names, which rarely
# repeat.
MOST_HELD = 10_000
MOST_ON_A_SCALE = 20  # different cells of a column of numbers and bounds that is a category
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
    left_out : dict
        Columns that are not converted, with the reasons.
    notation : Notation
        How numbers and missing values are written.
    """

    def __init__(
        self,
        names: Sequence[str],
        keep: Iterable[str],
        categorical: Sequence[str] = (),
        numeric: Sequence[str] = (),
        *,
        left_out: Mapping[str, str],
        notation: Notation,
    ) -> None:
        position = {name: at for at, name in enumerate(names)}
        self.names = names
        self._levels: dict[str, tuple[Any, ...]] = {}
        self._marked: dict[str, set[str]] = {}  # columns with marks of missing values
        self._scales: dict[str, str] = {}  # columns of few numbers and bounds, with such a bound
        self._notation = notation
        # Words are compared in the same notation as the numbers.
        marks = {notation.plain(mark): mark for mark in notation.marks}
        self._as_nan = dict.fromkeys([*map(notation.plain, notation.missing), *marks], "nan")
        self._as_mark = marks
        self._marks: dict[int, list[tuple[int, str]]] = {}  # rows and marks, by column
        self._kept: dict[int, list[str]] = {position[name]: [] for name in keep}
        # Numbers that are declared as a category are levels as they are written, such as 007.
        self._texts = {position[name]: TextColumn(notation, most=None) for name in categorical}
        self._declared = {position[name] for name in categorical}
        self._declared_numbers = {position[name] for name in numeric}
        self._left_out = {
            position[name]: why
            for name, why in left_out.items()
            if position[name] not in self._kept
        }
        apart = {*self._kept, *self._texts, *self._left_out}
        self._numeric = [at for at in range(len(names)) if at not in apart]
        self._booleans: list[int] = []
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
        apart = [*self._kept, *undecided, *self._texts]
        if not self._chunks or self._gaps or len(apart) > MOST_APART or not self._numeric:
            return False
        if self._notation.thousands is not None or self._notation.decimal == sep:
            return False
        plain = lines if self._notation.is_plain else list(map(self._notation.swapped, lines))
        try:
            chunk = np.loadtxt(
                plain,
                delimiter=sep,
                comments=None,
                usecols=self._numeric,
                ndmin=2,
                dtype=np.float64,
            )
        except ValueError:
            return False
        columns = np.array(self._numeric)
        width = len(self.names)
        for column, kept in self._kept.items():
            kept.extend(self._shared(_cells_of(lines, sep, column, width)))
        for column, text in self._texts.items():
            text.add(_cells_of(lines, sep, column, width))
        self._n_rows += len(lines)
        self._add_chunk(columns, chunk, lambda column: _cells_of(plain, sep, column, width))
        return True

    def table(
        self, name: str, format: str, positions: Integers, kept: dict[str, NDArray[np.object_]]
    ) -> TableFile:
        """Return the table, with notes on how its cells were read.

        Columns that are neither numbers nor categories raise an error.
        """
        found = {column: text.found() for column, text in self._texts.items()}
        self._refuse_problems(name, found, lambda row: row_label(format, int(positions[row])))
        final, matrix = self._matrix(self._from_text(found))
        names = tuple(self.names[column] for column in final)
        self._left_out |= {
            column: "empty" for column in self._numeric if not self._has_numbers[column]
        }
        rounded = sorted(self._rounded & set(self._numeric))
        warn_of_rounded([self.names[column] for column in rounded])
        whole = [at for at in (*self._numeric, *self._booleans) if self._whole[at]]
        booleans = [self.names[column] for column in sorted(self._booleans)]
        return TableFile(
            name=name,
            format=format,
            columns=tuple(self.names),
            names=names,
            matrix=matrix,
            whole=frozenset(self.names[column] for column in whole) & frozenset(names),
            kept=kept,
            left_out={self.names[at]: self._left_out[at] for at in sorted(self._left_out)},
            levels=self._levels,
            positions=positions,
            notes=(
                *marks_note(self._marked, self.names),
                *boolean_note(booleans),
                *self._scale_note(),
            ),
        )

    def _matrix(self, made: dict[int, Floats]) -> tuple[list[int], Floats]:
        """Return the positions of the columns that are features, and their values.

        The values of a category are the positions of its levels. The collected chunks are released
        on the way, so that memory never holds the values twice.
        """
        for column in self._numeric:
            if column in self._marks and self._has_numbers[column]:
                self._marked[self.names[column]] = {mark for _, mark in self._marks[column]}
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
        return final, result

    def _refuse_problems(
        self, table: str, found: dict[int, Found], label: Callable[[int], str]
    ) -> None:
        problems: dict[str, Problem] = {}
        for column, one in sorted(found.items()):
            name, problem = self.names[column], one.problem
            is_mixed = problem is None or problem.kind == "mixed"
            if column in self._declared_numbers and not one.is_truth and is_mixed:
                refuse_words(name, one, label)
            if problem is not None and column not in self._declared:
                if one.has_only_bounds and self._n_distinct(column) <= MOST_ON_A_SCALE:
                    self._scales[name] = one.first["bound"][0]
                else:
                    problems[name] = problem
        refuse_problems(table, problems, label, self._notation)

    def _scale_note(self) -> list[str]:
        if not self._scales:
            return []
        what = "is a category" if len(self._scales) == 1 else "are categories"
        cell = quoted(next(iter(self._scales.values())))
        return [f"{listed(list(self._scales))} {what} of few values, such as {cell}"]

    def _n_distinct(self, column: int) -> int:
        """Return the number of different cells of a column with text."""
        text = self._texts[column]
        before, _ = self._written_before(column, text.first_row)
        return len({*before, *filter(None, text.levels)})

    def _from_text(self, found: dict[int, Found]) -> dict[int, Floats]:
        """Return the values of categories and booleans, and record why others are left out."""
        made: dict[int, Floats] = {}
        for column, text in self._texts.items():
            name, one = self.names[column], found[column]
            is_declared = column in self._declared
            if not one.counts or (one.holds_dates and not is_declared):
                self._left_out[column] = "dates" if one.counts else "empty"
                continue
            text.add_levels(*self._written_before(column, text.first_row))
            if text.is_given_up:
                self._left_out[column] = IDENTIFIER
                continue
            codes = np.roll(text.codes, text.first_row)
            levels = text.levels
            if one.is_truth and not is_declared:
                self._booleans.append(column)
                if marks := self._notation.marks_among(filter(None, levels)):
                    self._marked[name] = marks
                values = kept_values(levels, self._notation)
                made[column] = np.array(values, dtype=np.float64)[codes]
            else:
                values = kept_values(levels, replace(self._notation, marks=frozenset()))
                made[column], self._levels[name] = leveled(values, codes)
        return made

    def _written_before(self, column: int, n_rows: int) -> tuple[list[str], NDArray[np.int64]]:
        """Return the numbers and marks of a column before its first text, as texts and codes."""
        values = np.full(n_rows, np.nan)
        start = 0
        for columns, chunk in self._chunks:
            if start < n_rows and column in columns:
                values[start : start + len(chunk)] = chunk[:, np.searchsorted(columns, column)]
            start += len(chunk)
        distinct, codes = np.unique(values, return_inverse=True)
        # The text of a number is not kept. It is written in the shortest form.
        texts = [self._notation.written(one) for one in distinct.tolist()]
        place: dict[str, int] = {}
        for row, mark in self._marks.get(column, ()):
            codes[row] = place.setdefault(mark, len(texts) + len(place))
        return [*texts, *place], codes

    def kept(
        self, notation: Notation, names: Collection[str | None] = ()
    ) -> dict[str, NDArray[np.object_]]:
        """Return the columns of `keep`. Row names in the columns `names` stay as they are written."""
        as_names = replace(TYPED, missing=notation.missing & MISSING)
        result = {}
        for column, cells in self._kept.items():
            name = self.names[column]
            used = as_names if name in names else notation
            result[name] = object_array(kept_values(cells, used, are_names=name in names))
            if marks := used.marks_among(filter(None, map(used.known, set(cells)))):
                self._marked[name] = marks
        return result

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
        cells = self._notation.plain_cells(cells)
        values = self._all_numbers(cells, odd)
        if values is None:
            values = np.empty(len(cells))
            for at, column in enumerate(list(self._numeric)):
                values[at::width], has_text = self._one_column(cells[at::width], odd)
                if has_text:
                    self._texts[column] = self._text_column(column)
                    self._texts[column].add(map(itemgetter(column), rows))
        chunk = values.reshape(len(rows), width)
        position = {column: at for at, column in enumerate(self._numeric)}
        self._numeric = [column for column in self._numeric if column not in self._texts]
        if len(self._numeric) < width:
            chunk = chunk[:, [position[column] for column in self._numeric]]
        columns = np.array(self._numeric, dtype=np.intp)
        self._add_chunk(columns, chunk, lambda column: cells[position[column] :: width])

    def _add_chunk(
        self, columns: NDArray[np.intp], chunk: Floats, cells_of: Callable[[int], Sequence[str]]
    ) -> None:
        if self._notation.missing_numbers:
            chunk[np.isin(chunk, list(self._notation.missing_numbers))] = np.nan
        missing = np.isnan(chunk)
        self._note_marks(columns, missing, cells_of)
        self._note_kinds(columns, chunk, ~missing, cells_of)
        self._chunks.append((columns, chunk))

    def _all_numbers(self, cells: list[str], odd: bool) -> Floats | None:
        """Return all cells as numbers, or None if one of them is not a number."""
        if odd and not _plain(cells):
            return None
        if not self._gaps:
            values = _floats(cells)
            if values is not None:
                return values
        values = _floats_or_missing(cells, self._as_nan)
        self._gaps = values is not None
        return values

    def _one_column(self, cells: Sequence[str], odd: bool) -> tuple[Floats, bool]:
        """Return the numbers of a column, and whether a cell holds text."""
        if not (odd and not _plain(cells)):
            values = _floats_or_missing(cells, self._as_nan)
            if values is not None:
                return values, False
        return _converted_one_by_one(cells, self._as_nan)

    def _text_column(self, column: int) -> TextColumn:
        """Return a column of text that begins after the rows that were added before."""
        before = Counter(mark=len(self._marks.get(column, ())))
        for columns, values in self._chunks:
            one = values[:, np.searchsorted(columns, column)]
            before["number"] += int(np.count_nonzero(~np.isnan(one)))
        return TextColumn(self._notation, self._n_rows, before, MOST_TEXTS)

    def _note_marks(
        self, columns: NDArray[np.intp], missing: Booleans, cells_of: Callable[[int], Sequence[str]]
    ) -> None:
        """Record the cells that mark missing values if the column turns out to be numeric."""
        for at in np.flatnonzero(missing.any(axis=0)):
            column = int(columns[at])
            cells = cells_of(column)
            found = self._marks.get(column, [])
            for row in np.flatnonzero(missing[:, at]).tolist():
                mark = self._as_mark.get(cells[row].strip())
                if mark is not None:
                    found.append((self._n_rows + row, mark))
            if found:
                self._marks[column] = found

    def _note_kinds(
        self,
        columns: NDArray[np.intp],
        chunk: Floats,
        known: Booleans,
        cells_of: Callable[[int], Sequence[str]],
    ) -> None:
        """Record which columns have numbers, only integers, or integers that were rounded."""
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
    cells: Sequence[str | None], notation: Notation, *, are_names: bool = False
) -> list[Any]:
    """Convert a separate column to integers, floats, booleans or text, all of one kind.

    Missing values are None. A column in which a number has a leading zero stays text, because such
    numbers are names (007 is not 7). With `are_names`, a column also stays text if a number would
    be written differently afterwards (1.10 is not 1.1, and 1E5 is not 100000.0).
    """
    texts = [notation.known(cell) for cell in cells]
    known = {text for text in texts if text is not None}
    marks = notation.marks_among(known)
    meaning = _meaning(known - marks, notation) | dict.fromkeys(marks)
    if are_names and any(str(value) != text for text, value in meaning.items()):
        meaning = {text: text for text in known}
    return [None if text is None else meaning[text] for text in texts]


def _meaning(known: set[str], notation: Notation) -> dict[str, Any]:
    if all(truth(text) is not None for text in known):
        return {text: text.lower() == "true" for text in known}
    plain = {text: notation.plain(text) for text in known}
    if any(_LEADING_ZERO.fullmatch(text) for text in plain.values()):
        return {text: text for text in known}
    if all(_WHOLE.fullmatch(text) and len(text) < 400 for text in plain.values()):
        return {text: int(digits) for text, digits in plain.items()}
    numbers = {text: number(digits) for text, digits in plain.items()}
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


def _floats_or_missing(cells: Sequence[str], as_nan: dict[str, str]) -> Floats | None:
    get = as_nan.get
    try:
        return np.array([float(get(cell, cell)) for cell in cells])
    except ValueError:
        return None


def _converted_one_by_one(cells: Sequence[str], missing: Container[str]) -> tuple[Floats, bool]:
    """Return the numbers in the cells, and whether a cell holds text."""
    values, has_text = np.full(len(cells), np.nan), False
    for at, cell in enumerate(cells):
        stripped = cell.strip()
        if stripped not in missing:
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

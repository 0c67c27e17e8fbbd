"""Columns of text in a file: which of them are categories, and the level of each row.

A column is held as one code for each row and a list of its distinct texts. A text that occurs a
million times is therefore held once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError, UsageError
from graphsieve._base.messages import parameter
from graphsieve._base.parameters import quoted
from graphsieve.table.files.kinds import Found, kind_of
from graphsieve.table.files.notation import TYPED, Notation, number
from graphsieve.table.files.table_file import TableFile

# A column with more distinct texts is left out, so that a column of a billion names needs no memory.
MOST_TEXTS = 100_000


class TextColumn:
    """The distinct texts of a column and the code of each row, collected from chunks of rows.

    Parameters
    ----------
    notation : Notation
        How the cells are written.
    first_row : int
        Number of rows of the file before the first one that is added.
    before : Counter or None
        Numbers of cells in these rows by kind.
    most : int or None
        Largest number of distinct texts. If there are more, the cells are only counted.
    """

    def __init__(
        self,
        notation: Notation = TYPED,
        first_row: int = 0,
        before: Counter[str] | None = None,
        most: int | None = MOST_TEXTS,
    ) -> None:
        self.first_row, self._notation, self._most = first_row, notation, most
        self._place: dict[Any, int] = {}
        self._codes: list[NDArray[np.int32]] = []
        self._n_rows = first_row
        self._counted = Found(Counter() if before is None else before, {})
        self.is_given_up = False  # whether there were too many distinct texts

    def add(self, cells: Iterable[str]) -> None:
        """Add cells as they are written."""
        place = self._place
        self._append([place.setdefault(cell, len(place)) for cell in cells])

    def add_levels(self, levels: Iterable[Any], codes: Integers) -> None:
        """Add rows by the positions of their levels in a list; −1 is a missing value."""
        place = self._place
        known = np.array([place.setdefault(one, len(place)) for one in (*levels, None)])
        self._append(known[codes])

    def _append(self, codes: Any) -> None:
        self._codes.append(np.asarray(codes, dtype=np.int32))
        if self.is_given_up or (self._most is not None and len(self._place) > self._most):
            self._counted = self.found()
            self._n_rows += len(self.codes)
            self._place, self._codes, self.is_given_up = {}, [], True

    @property
    def codes(self) -> NDArray[np.int32]:
        """The code of each row: a position in `levels`."""
        return np.concatenate([np.empty(0, dtype=np.int32), *self._codes])

    @property
    def levels(self) -> list[Any]:
        """The level of each code: text without blanks around it, or None for a missing value."""
        return [self._known(one) if isinstance(one, str) else one for one in self._place]

    def found(self) -> Found:
        """Return what the cells hold."""
        levels, codes = self.levels, self.codes
        kinds = [None if one is None else kind_of(str(one), self._notation) for one in levels]
        counts: Counter[str] = Counter()
        for kind, n in zip(kinds, np.bincount(codes, minlength=len(kinds)).tolist(), strict=True):
            if kind is not None:
                counts[kind] += n
        first = {}
        for kind in counts:
            row = int(np.argmax(np.array([one == kind for one in kinds])[codes]))
            first[kind] = (levels[codes[row]], row + self._n_rows)
        return self._counted.joined(Found(+counts, first))

    def _known(self, cell: str) -> str | None:
        """Return the text of a cell, or None if the cell marks a missing value in any spelling."""
        text = self._notation.known(cell)
        is_nan = text is not None and len(text) <= 4 and text.lower().lstrip("+-") == "nan"
        return None if is_nan else text


def leveled(
    values: Sequence[Any], codes: NDArray[Any], *, ordered: bool = False
) -> tuple[Floats, tuple[Any, ...]]:
    """Return the position of each row's level as a float, and the levels that occur.

    Parameters
    ----------
    values : sequence
        The level of each code: all text, all numbers or all booleans; None is a missing value,
        which becomes NaN.
    codes : array of int
        The code of each row.
    ordered : bool
        Whether the levels are in the order of `values`. Otherwise they are sorted.

    Examples
    --------
    >>> leveled(["b", None, "a", "c"], np.array([0, 1, 2, 0]))
    (array([ 1., nan,  0.,  1.]), ('a', 'b'))
    """
    present = np.bincount(codes, minlength=len(values)) > 0
    known = [one for one, there in zip(values, present, strict=True) if there and one is not None]
    levels = tuple(dict.fromkeys(known) if ordered else sorted(set(known)))
    position = {level: float(at) for at, level in enumerate(levels)}
    places = np.array([np.nan if one is None else position.get(one, np.nan) for one in values])
    return places[codes], levels


def with_categories(table: TableFile, declared: Sequence[str]) -> TableFile:
    """Return the table with these columns of numbers as categories."""
    matrix, levels = table.matrix, dict(table.levels)
    for name in declared:
        _refuse_left_out(table, name, "categorical", declared)
        if name in levels:
            continue
        if sp.issparse(matrix):
            raise InputError(
                parameter("categorical", declared),
                f" needs a table that is not sparse, but {table.name} is; leave it out.",
            )
        if matrix is table.matrix:
            matrix = matrix.astype(np.float64)
        at = table.names.index(name)
        values = matrix[:, at]
        distinct, codes = np.unique(values[~np.isnan(values)], return_inverse=True)
        values[~np.isnan(values)] = codes
        levels[name] = tuple(map(int if name in table.whole else float, distinct))
    return replace(table, matrix=matrix, levels=levels, whole=table.whole - set(levels))


def check_numeric(table: TableFile, declared: Sequence[str]) -> None:
    """Refuse columns that are declared as numbers and are not used as such."""
    for name in declared:
        _refuse_left_out(table, name, "numeric", declared)


def numbers_of(
    name: str, column: TextColumn, row_label: Callable[[int], str]
) -> list[float | None]:
    """Return the number in each distinct text of a column that is declared as numbers."""
    levels = column.levels
    if not any(isinstance(level, str) for level in levels):
        return levels
    refuse_words(name, column.found(), row_label)
    return [None if level is None else number(level) for level in levels]


def refuse_words(name: str, found: Found, row_label: Callable[[int], str]) -> None:
    """Refuse text in a column that is declared as numbers."""
    if found.first_text is not None:
        cell, row = found.first_text
        raise InputError(
            parameter("numeric", name),
            f" contains {quoted(name)}, but {row_label(row)} holds {quoted(cell)}; correct this "
            "cell, or leave the column out.",
        )


def _refuse_left_out(table: TableFile, name: str, option: str, declared: Sequence[str]) -> None:
    if name in table.left_out:
        raise InputError(
            parameter(option, declared),
            f" contains {quoted(name)}, but this column of {table.name} cannot be used "
            f"({table.left_out[name]}); leave it out.",
        )


def check_declared(
    categorical: Sequence[str], numeric: Sequence[str], apart: Sequence[str]
) -> None:
    """Refuse a column that is declared twice, or that is no feature."""
    for option, names, others in (
        ("categorical", categorical, {*numeric, *apart}),
        ("numeric", numeric, apart),
    ):
        for name in (name for name in names if name in others):
            raise UsageError(
                parameter(option, names),
                f" contains {quoted(name)}, which is also named elsewhere; name it once.",
            )

"""Columns of text in a file: which of them are categories, and the level of each row.

A column is held as one code for each row and a list of its distinct texts. A text that occurs a
million times is therefore held once.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError, UsageError
from graphsieve._base.messages import parameter
from graphsieve._base.parameters import quoted
from graphsieve.table.files.table_file import TableFile, kept_text

# A column with more distinct texts is left out, so that a column of a billion names needs no memory.
MOST_TEXTS = 100_000
LONGEST_NUMBER = 2000  # characters; the longest exact float64 has fewer digits
_TRUTH = {"true": 1.0, "false": 0.0}
_SHAPES = {
    "thousands": re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?"),
    "decimal comma": re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?"),
    "date": re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?"),
}


@dataclass(frozen=True)
class Found:
    """What the cells of a text column hold."""

    counts: Counter[str]  # cells by kind: text, truth and number
    shapes: frozenset[str]  # shapes of the texts: thousands, decimal comma, date and other
    first: tuple[str, int] | None  # the first text or truth, and its row in the file

    @property
    def is_truth(self) -> bool:
        """Whether the cells hold only true and false."""
        return bool(self.counts["truth"]) and not self.counts["text"] + self.counts["number"]

    def why_no_category(self, row_label: Callable[[int], str]) -> str | None:
        """Return why the column is left out if it is not declared, or None for a category."""
        texts, truths, numbers = (self.counts[kind] for kind in ("text", "truth", "number"))
        if self.first is None:
            return "numbers as text" if numbers else "empty"
        example, row = self.first
        if self.shapes == {"date"}:
            return "dates"
        if self.shapes == {"thousands"}:
            return f"text such as {quoted(example)}; remove thousands separators to use it"
        if self.shapes and self.shapes <= {"thousands", "decimal comma"}:
            return (
                f"text such as {quoted(example)}; write decimal points in place of commas to use it"
            )
        if not numbers or texts > numbers:
            return None
        settled = texts + truths > numbers
        return "text" if settled else f"text ({quoted(example)} in {row_label(row)})"


class TextColumn:
    """The distinct texts of a column and the code of each row, collected from chunks of rows.

    Parameters
    ----------
    first_row : int
        Number of rows of the file before the first one that is added.
    n_numbers : int
        Number of numbers in these rows.
    most : int or None
        Largest number of distinct texts. The column is given up if there are more.
    """

    def __init__(
        self, first_row: int = 0, n_numbers: int = 0, most: int | None = MOST_TEXTS
    ) -> None:
        self.first_row, self._n_numbers, self._most = first_row, n_numbers, most
        self._place: dict[Any, int] = {}
        self._codes: list[NDArray[np.int32]] = []
        self._given_up: Found | None = None

    def add(self, cells: Iterable[str]) -> None:
        """Add cells as they are written."""
        if self._given_up is None:
            place = self._place
            self._append([place.setdefault(cell, len(place)) for cell in cells])

    def add_levels(self, levels: Iterable[Any], codes: Integers) -> None:
        """Add rows by the positions of their levels in a list; −1 is a missing value."""
        if self._given_up is None:
            place = self._place
            known = np.array([place.setdefault(one, len(place)) for one in (*levels, None)])
            self._append(known[codes])

    def _append(self, codes: Any) -> None:
        self._codes.append(np.asarray(codes, dtype=np.int32))
        if self._most is not None and len(self._place) > self._most:
            self._given_up = self.found()
            self._place, self._codes = {}, []

    @property
    def is_given_up(self) -> bool:
        """Whether there were too many distinct texts."""
        return self._given_up is not None

    @property
    def codes(self) -> NDArray[np.int32]:
        """The code of each row: a position in `levels`."""
        return np.concatenate([np.empty(0, dtype=np.int32), *self._codes])

    @property
    def levels(self) -> list[Any]:
        """The level of each code: text without blanks around it, or None for a missing value."""
        return [_known(one) if isinstance(one, str) else one for one in self._place]

    def found(self) -> Found:
        """Return what the cells hold."""
        if self._given_up is not None:
            return self._given_up
        levels, codes = self.levels, self.codes
        counts: Counter[str] = Counter(number=self._n_numbers)
        shapes: set[str] = set()
        is_word = np.zeros(len(levels), dtype=bool)
        for code, n in enumerate(np.bincount(codes, minlength=len(levels)).tolist()):
            text = levels[code]
            if n and text is not None:
                kind = _kind(text)
                counts[kind] += n
                is_word[code] = kind != "number"
                shapes |= {_shape(text)} if kind == "text" else set()
        rows = np.flatnonzero(is_word[codes])
        first = (levels[codes[rows[0]]], int(rows[0]) + self.first_row) if len(rows) else None
        return Found(counts, frozenset(shapes), first)


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
    first = column.found().first
    if first is not None:
        raise InputError(
            parameter("numeric", name),
            f" contains {quoted(name)}, but {row_label(first[1])} holds {quoted(first[0])}; "
            "correct this cell, or leave the column out.",
        )
    return [None if level is None else number(level) for level in levels]


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


def number(cell: str) -> float | None:
    """Return the number in a cell, or None. The caller has to check for missing values."""
    if len(cell) > LONGEST_NUMBER or "_" in cell or not cell.isascii():
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def truth(text: str) -> float | None:
    """Return 1 for true, 0 for false and None for any other text."""
    return _TRUTH.get(text.lower()) if len(text) <= 5 else None


def _known(cell: str) -> str | None:
    """Return the text of a cell, or None if the cell marks a missing value in any spelling."""
    text = kept_text(cell)
    value = None if text is None else number(text)
    return None if value is not None and math.isnan(value) else text


def _kind(text: str) -> str:
    if number(text) is not None:
        return "number"
    return "text" if truth(text) is None else "truth"


def _shape(text: str) -> str:
    return next((shape for shape, like in _SHAPES.items() if like.fullmatch(text)), "other")

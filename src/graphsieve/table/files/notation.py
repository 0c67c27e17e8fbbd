"""How numbers and missing values are written in a text file.

Cells in another notation are first rewritten as Python writes numbers. Commas and points are
swapped if the decimal sign is a comma, so that a point is not taken for a decimal point.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from graphsieve.table.files.table_file import MISSING

MARKS = frozenset(("?", "-", "."))  # missing values in otherwise numeric columns
LONGEST_NUMBER = 2000  # characters; the longest exact float64 has fewer digits
# Thousands separators, and the characters that also stand for them. Spreadsheets write
# non-breaking blanks.
THOUSANDS = {",": ",", ".": ".", "_": "_", "'": "'\u2019", " ": " \u00a0\u202f"}
_SWAPPED = str.maketrans(",.", ".,")
_TRUTH = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class Notation:
    """The notation of the cells of a table.

    Parameters
    ----------
    decimal : str
        The decimal sign, a point or a comma.
    thousands : str or None
        The sign between groups of three digits.
    missing : frozenset of str
        Texts of missing values.
    missing_numbers : frozenset of float
        Numbers that mark missing values, however they are written.
    marks : frozenset of str
        Texts of missing values in columns that otherwise contain only numbers.
    """

    decimal: str = "."
    thousands: str | None = None
    missing: frozenset[str] = MISSING
    missing_numbers: frozenset[float] = frozenset()
    marks: frozenset[str] = MARKS

    @classmethod
    def of(
        cls,
        decimal: str,
        thousands: str | None,
        na_values: Iterable[str],
        missing: frozenset[str] = MISSING,
    ) -> Notation:
        """Return the notation for the arguments of `read_table`."""
        plain = cls(decimal, thousands, missing)
        words = {word.strip() for word in na_values}
        numbers = {word: value for word in words if (value := plain.number(word)) is not None}
        return replace(
            plain,
            missing=missing | (words - set(numbers)),
            missing_numbers=frozenset(numbers.values()),
        )

    @property
    def is_plain(self) -> bool:
        """Whether numbers are written as in Python."""
        return self.decimal == "." and self.thousands is None

    def plain(self, cell: str) -> str:
        """Return the cell as Python writes it, if it is a number."""
        return self.plain_cells([cell])[0]

    def plain_cells(self, cells: list[str]) -> list[str]:
        """Return the cells as Python writes them, if they are numbers."""
        if self.is_plain:
            return cells
        joined = self.swapped("\0".join(cells))  # A text file contains no NUL characters.
        if self.thousands is not None:
            joined = self._grouped.sub(_without_separators, joined)
        return joined.split("\0")

    def swapped(self, text: str) -> str:
        """Return the text with a decimal point, and with commas in place of points."""
        return text.translate(_SWAPPED) if self.decimal == "," else text

    @cached_property
    def _grouped(self) -> re.Pattern[str]:
        sign = "," if self.thousands == "." else THOUSANDS[str(self.thousands)]
        return re.compile(rf"(?<![^\0])\s*[+-]?\d{{1,3}}([{sign}]\d{{3}})+(?=(\.\d*)?\s*(\0|\Z))")

    def number(self, text: str) -> float | None:
        """Return the number in a text, or None."""
        return number(text if self.is_plain else self.plain(text))

    def written(self, value: float) -> str:
        """Return the shortest text of a number."""
        return self.swapped(repr(int(value) if value.is_integer() else value))

    def known(self, cell: str | None) -> str | None:
        """Return the cell without surrounding blanks, or None if it marks a missing value."""
        text = "" if cell is None else cell.strip()
        if text in self.missing:
            return None
        if not self.missing_numbers:
            return text
        return None if self.number(text) in self.missing_numbers else text

    def marks_among(self, known: Iterable[str]) -> set[str]:
        """Return the marks of missing values among the distinct texts of a column.

        There are none if one of the other texts is not a number, unless all are true or false.
        """
        texts = set(known)
        marks = texts & self.marks
        is_numeric = bool(marks) and any(
            all(read(text) is not None for text in texts - marks) for read in (self.number, truth)
        )
        return marks if is_numeric else set()


# Text in typed files, such as Parquet. A mark is an ordinary text there.
TYPED = Notation(marks=frozenset())


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


def _without_separators(found: re.Match[str]) -> str:
    return re.sub(r"[^\d+-]", "", found[0])

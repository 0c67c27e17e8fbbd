"""Counts of the levels of a category that is read in pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from graphsieve._base.array_types import Integers
from graphsieve._base.errors import InputError
from graphsieve.table.categories import MOST_LEVELS, has_too_many, refuse_numbers_as_text

# Levels that are counted. A column with more of them is taken as an identifier.
MOST_COUNTED = 2**20


@dataclass
class LevelCounts:
    """How often each level occurs, and its first row.

    Attributes
    ----------
    counts, first : dict
        The number of samples and the first sample of each level.
    order : list or None
        All levels of an ordered category in their order, whether they occur or not.
    declared : bool
        Whether the file declares the column as a category.
    n_missing, first_missing : int
        The number of missing values, and the first sample with one.
    """

    counts: dict[Any, int] = field(default_factory=dict)
    first: dict[Any, int] = field(default_factory=dict)
    order: list[Any] | None = None
    declared: bool = True
    n_missing: int = 0
    first_missing: int = -1

    def add(self, levels: Sequence[Any], first: Integers, counts: Integers) -> None:
        """Add the levels of a piece, with their first samples and numbers of samples."""
        for level, row, number in zip(levels, first.tolist(), counts.tolist(), strict=True):
            if level in self.counts:
                self.counts[level] += number
            elif len(self.counts) <= MOST_COUNTED:
                self.counts[level], self.first[level] = number, row

    def add_missing(self, rows: Integers, first_row: int) -> None:
        """Add the missing values of a piece that begins at a row."""
        if len(rows) and not self.n_missing:
            self.first_missing = first_row + int(rows[0])
        self.n_missing += len(rows)

    def add_order(self, levels: list[Any], where: str) -> None:
        """Add the ordered levels of a piece. One order must be the beginning of the other."""
        known = self.order or []
        shorter, longer = sorted((known, levels), key=len)
        if longer[: len(shorter)] != shorter:
            raise InputError(
                f"X has ordered levels in {where} that differ between parts of the file; write "
                "the same levels to all parts."
            )
        self.order = longer

    @property
    def n_levels(self) -> int:
        """The number of levels that occur."""
        return len(self.counts)

    @property
    def ordered(self) -> bool:
        """Whether the levels have an order."""
        return self.order is not None

    def is_identifier(self, n_samples: int) -> bool:
        """Whether the column is an identifier or free text, without an order."""
        too_many = self.n_levels > MOST_COUNTED or has_too_many(self.n_levels, n_samples)
        return not self.ordered and too_many

    def refuse_numbers_as_text(self, where: str) -> None:
        """Refuse numbers in text form, unless the file declares a category."""
        if not self.declared:
            refuse_numbers_as_text(sorted(self.first, key=self.first.__getitem__), where)

    def codes(self) -> dict[Any, int]:
        """Return the number of each level, as in `categories.Category`.

        Levels without a column of their own have the same number.
        """
        if self.order is not None:
            present = [level for level in self.order if level in self.counts]
            return {level: place for place, level in enumerate(present)}
        levels = sorted(self.counts, key=lambda level: (-self.counts[level], self.first[level]))
        return {level: min(place, MOST_LEVELS - 1) for place, level in enumerate(levels)}

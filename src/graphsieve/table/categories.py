"""Categories: columns of levels instead of numbers.

A category becomes one indicator column per level. Two levels need only one column. An ordered
category becomes one column of ranks. If there are many levels, the rare ones share a column.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from itertools import count
from numbers import Number
from typing import Any

import numpy as np

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError, InputTypeError, warn
from graphsieve._base.messages import parameter
from graphsieve._base.parameters import quoted

# Maximum number of columns of a category. Rare levels share the last one.
MOST_LEVELS = 100
# A text column with fewer rows per level is an identifier or free text.
ROWS_PER_LEVEL = 2
SHOWN = 5  # columns named in a message


@dataclass(frozen=True, eq=False)
class Category:
    """The level of each sample, from 0.

    Levels are numbered from the most frequent to the rarest one. Levels that are equally frequent
    are in the order of their first sample. The names of the levels make no difference. Levels that
    have an order are numbered in this order.

    Attributes
    ----------
    codes : array of int of shape (n_samples,)
        Number of the level of each sample, or −1 if it is missing.
    n_levels : int
        Number of levels that occur.
    ordered : bool
        Whether the levels have an order.
    names : tuple of str
        Names of the levels.
    """

    codes: Integers
    n_levels: int
    ordered: bool = False
    names: tuple[str, ...] = ()

    @property
    def n_columns(self) -> int:
        """The number of columns of the category."""
        return n_columns(self.n_levels, self.ordered)

    @property
    def places(self) -> Integers:
        """The column of each sample, if there are several. Rare levels share the last one."""
        return np.minimum(self.codes, self.n_columns - 1)

    def columns(self) -> Floats:
        """Return the columns of the category.

        >>> Category(np.array([1, 2, 0, 0]), 3).columns().tolist()
        [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
        >>> Category(np.array([0, 1, 1]), 2).columns().tolist()
        [[0.0], [1.0], [1.0]]
        """
        width = self.n_columns
        found = self.codes[:, None] if width == 1 else self.places[:, None] == np.arange(width)
        return np.asarray(found, dtype=np.float64)

    def filled(self) -> Category:
        """Return the category with its most frequent level, or middle rank, in place of missing ones."""
        missing = self.codes < 0
        if not missing.any() or missing.all():
            return replace(self, codes=np.maximum(self.codes, 0))
        known = np.sort(self.codes[~missing])
        usual = known[len(known) // 2] if self.ordered else np.bincount(known).argmax()
        return replace(self, codes=np.where(missing, usual, self.codes))

    @property
    def shown_names(self) -> tuple[str, ...]:
        """The names of the levels, of which the rare ones share the last."""
        if self.ordered or self.n_levels <= MOST_LEVELS:
            return self.names
        return (*self.names[: MOST_LEVELS - 1], "others")

    @property
    def is_identifier(self) -> bool:
        """Whether the column is an identifier or free text, without an order."""
        return not self.ordered and has_too_many(self.n_levels, len(self.codes))


def n_columns(n_levels: int, ordered: bool) -> int:
    """Return the number of columns of a category."""
    return 1 if ordered or n_levels <= 2 else min(n_levels, MOST_LEVELS)


def has_too_many(n_levels: int, n_samples: int) -> bool:
    """Whether so many levels occur that the column is an identifier or free text."""
    return n_levels > 2 and n_levels * ROWS_PER_LEVEL > n_samples


class CodedColumns(list[str]):
    """The names of columns of codes 0, 1, …, with the names of the levels.

    It is a list of columns for `categorical`. Reports show the names instead of the codes.
    """

    def __init__(self, levels: Mapping[str, Sequence[Any]]) -> None:
        super().__init__(levels)
        self.levels = dict(levels)

    def names_of(self, column: str, shown: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of some levels, given their codes as text. Other text is kept."""
        names = self.levels[column]
        return tuple(
            str(names[int(float(one))]) if is_number_as_text(one) else one for one in shown
        )


def category_of(values: Sequence[Any], where: str, *, asked: bool = True) -> Category | None:
    """Return the category of a sequence of texts, numbers or booleans.

    Missing values (None, NaN) have the code −1. Unless it is `asked` for, a column without text is
    no category, and a column of numbers in text form is refused.
    """
    place: dict[Any, int] = defaultdict(count().__next__)
    try:
        # Python numbers the distinct values faster than any loop, and only these are checked.
        codes = np.fromiter(map(place.__getitem__, values), np.int64, len(values))
        distinct = list(place)
    except TypeError:
        distinct = list(values)  # One of the values is a list, a dict or an array.
    if not (asked or any(isinstance(value, str | bytes) for value in distinct)):
        return None
    missing = [is_missing(value) for value in distinct]
    levels = [value for value, absent in zip(distinct, missing, strict=True) if not absent]
    if not all(map(_may_be_level, levels)):
        _refuse_other(values, where)
    _refuse_mixed(levels, values, where)
    if not asked:
        refuse_numbers_as_text(levels, where)
    number = np.where(missing, -1, np.cumsum(~np.array(missing, dtype=bool)) - 1)
    return category_of_codes(number[codes], ordered=False, names=levels)


def category_of_codes(codes: Any, ordered: bool, names: Any = None) -> Category:
    """Return the category of the codes of a data frame. Levels that do not occur are left out."""
    given = np.asarray(codes, dtype=np.int64)
    # The last entry is for missing values: their code −1 is the last position.
    counts = np.bincount(given + 1)[1:]
    present = np.flatnonzero(counts)
    if not ordered:
        first = np.full(len(counts) + 1, len(given))
        first[given[::-1]] = np.arange(len(given))[::-1]
        present = present[np.lexsort((first[present], -counts[present]))]
    place = np.full(len(counts) + 1, -1)
    place[present] = np.arange(len(present))
    return Category(
        place[given],
        len(present),
        ordered,
        () if names is None else tuple(str(names[level]) for level in present.tolist()),
    )


def refuse_numbers_as_text(levels: Sequence[Any], where: str) -> None:
    """Refuse levels that are all numbers in text form."""
    if levels and all(map(is_number_as_text, levels)):
        raise InputError(
            parameter("X"),
            f" holds numbers as text in {where} (such as {quoted(levels[0])}); convert them to "
            "numbers by astype(float), or name the column in ",
            parameter("categorical"),
            ".",
        )


def refuse_missing(n_missing: int, where: str, row: int) -> None:
    """Refuse missing values of a category."""
    if n_missing:
        raise InputError(
            f"X has {n_missing} NaN (missing) values in {where}, first at row {row}; impute or "
            "drop them before ranking."
        )


def warn_of_identifiers(labels: Sequence[str]) -> None:
    """Warn about columns of text that are left out of the selection."""
    if labels:
        shown = ", ".join(labels[:SHOWN]) + (
            f" and {len(labels) - SHOWN} more" if len(labels) > SHOWN else ""
        )
        warn(
            f"{shown}: fewer than {ROWS_PER_LEVEL} samples per level (an identifier or free text), "
            "so the feature cannot be selected; encode or drop it."
        )


def is_number_as_text(value: Any) -> bool:
    """Whether a value is text that is written like a number."""
    if not isinstance(value, str | bytes) or not value.strip():
        return False
    try:
        float(value)
    except ValueError:
        return False
    return True


def is_date(value: Any) -> bool:
    """Whether a value is a date, a time or a duration of Python, numpy or pandas."""
    dates = (date, time, timedelta, np.datetime64, np.timedelta64)
    return isinstance(value, dates) or type(value).__name__ == "Period"


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or a missing value of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, Number) and value != value  # noqa: PLR0124, NaN differs from itself


def _may_be_level(value: Any) -> bool:
    return isinstance(value, str | bytes | bool | np.bool_) or (
        isinstance(value, Number) and not isinstance(value, complex | np.complexfloating)
    )


def _refuse_mixed(levels: Sequence[Any], values: Sequence[Any], where: str) -> None:
    is_text = [isinstance(level, str | bytes) for level in levels]
    if len(set(is_text)) > 1:
        other = levels[is_text.index(not is_text[0])]
        raise InputError(
            parameter("X"),
            f" mixes text and numbers in {where} ({quoted(levels[0])}, and {quoted(other)} in row "
            f"{list(values).index(other)}); make them all text or all numbers.",
        )


def _refuse_other(values: Sequence[Any], where: str) -> None:
    """Refuse the first value that can be no level."""
    row, value = next(
        (row, value)
        for row, value in enumerate(values)
        if not (is_missing(value) or _may_be_level(value))
    )
    if is_date(value):
        raise InputError(
            parameter("X"),
            f" holds a date in {where}, row {row}; dates are not features: convert them to numbers "
            "explicitly.",
        )
    raise InputTypeError(
        parameter("X"),
        f" holds a {type(value).__name__} in {where}, row {row}; the levels of a category must be "
        "text, numbers or booleans.",
    )

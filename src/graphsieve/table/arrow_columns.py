"""Columns of Arrow tables: whether they can serve as features, and their numbers."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve._base.optional import needed
from graphsieve.table.categories import (
    Category,
    category_of_codes,
    is_missing,
    refuse_numbers_as_text,
)

EXACT_DIGITS = 15  # A decimal with so many digits is the shortest one for its float64.
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")


def is_pandas_index(name: str) -> bool:
    """Whether a column contains the row names that pandas stored with the table."""
    return _PANDAS_INDEX.fullmatch(name) is not None


def why_no_numbers(field: Any, pa: Any) -> str | None:
    """Return what a column contains instead of numbers, or None if it contains numbers."""
    kind, types = field.type, pa.types
    if is_pandas_index(field.name):
        return "the row names of pandas"
    if types.is_dictionary(kind):
        return "text" if is_text(kind.value_type, pa) else "categories"
    if is_text(kind, pa):
        return "text"
    if types.is_decimal(kind) or is_plain(kind, pa):
        return None
    if types.is_temporal(kind):
        return "dates"
    return "lists or records" if types.is_nested(kind) else f"values of type {kind}"


def is_category(kind: Any, pa: Any) -> bool:
    """Whether an Arrow type is a dictionary of text, numbers or booleans."""
    return bool(pa.types.is_dictionary(kind)) and (
        is_text(kind.value_type, pa) or is_plain(kind.value_type, pa)
    )


def is_text(kind: Any, pa: Any) -> bool:
    """Whether an Arrow type is a text type."""
    views = (pa.string_view(),) if hasattr(pa, "string_view") else ()
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind in views)


def is_plain(kind: Any, pa: Any) -> bool:
    """Whether an Arrow type is an integer, floating-point, Boolean or null type."""
    types = pa.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_null(kind)
    )


def may_be_category(kind: Any, pa: Any) -> bool:
    """Whether an Arrow type is a dictionary, text or binary type."""
    return bool(pa.types.is_dictionary(kind) or is_text_or_binary(kind, pa))


def is_text_or_binary(kind: Any, pa: Any) -> bool:
    """Whether an Arrow type is a text or binary type."""
    types = pa.types
    return bool(is_text(kind, pa) or types.is_binary(kind) or types.is_large_binary(kind))


def encoded(column: Any, pa: Any) -> tuple[list[Any], NDArray[Any], bool]:
    """Return the levels of a column, the position of each value among them, and the order.

    The position of a missing value is −1. The last result is whether the levels have an order.
    """
    ordered = bool(pa.types.is_dictionary(column.type) and column.type.ordered)
    if isinstance(column, pa.ChunkedArray):
        column = (column.unify_dictionaries() if ordered else column).combine_chunks()
    if not ordered:
        if pa.types.is_dictionary(column.type):  # It may contain a level twice.
            column = column.cast(column.type.value_type)
        column = column.dictionary_encode()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    levels = column.dictionary.to_pylist()
    codes = np.array(column.indices.cast(pa.int64()).fill_null(-1))
    codes[np.isin(codes, [at for at, level in enumerate(levels) if is_missing(level)])] = -1
    return levels, codes, ordered


def category_in(column: Any, where: str, pa: Any, *, asked: bool) -> Category | None:
    """Return the category of a column, or None if it holds numbers and is not `asked` for."""
    if not (asked or may_be_category(column.type, pa)):
        return None
    levels, codes, ordered = encoded(column, pa)
    if not asked and is_text_or_binary(column.type, pa):
        refuse_numbers_as_text(levels, where)
    return category_of_codes(codes, ordered, levels)


def numbers(column: Any, pa: Any) -> NDArray[Any]:
    """Return the column as an array of floats, with NaN for missing values.

    Arrow converts a decimal to a float with an error of one digit. Its text is converted exactly, so
    that the number is the same as from a text file.
    """
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.string()).cast(pa.float64())
    elif not pa.types.is_floating(column.type):
        column = column.cast(pa.float64(), safe=False)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def is_long(kind: Any, pa: Any) -> bool:
    """Whether an Arrow type may hold numbers that float64 rounds."""
    types = pa.types
    return bool(types.is_decimal(kind) or (types.is_integer(kind) and kind.bit_width == 64))


def has_rounded_values(column: Any, largest: int, pa: Any) -> bool:
    """Whether a column of a long type holds decimals that float64 rounds, or larger integers."""
    if pa.types.is_decimal(column.type):
        return has_rounded_decimals(column, pa)
    compute = needed("pyarrow.compute", "pyarrow has no compute functions; install it again.")
    ends = compute.min_max(column).as_py()
    return ends["max"] is not None and max(ends["max"], -ends["min"]) > largest


def has_rounded_decimals(column: Any, pa: Any) -> bool:
    """Whether the column holds decimals with more digits than float64 has."""
    kind = column.type
    if not pa.types.is_decimal(kind) or kind.precision <= EXACT_DIGITS:
        return False
    return any(is_rounded_decimal(value) for value in column.to_pylist() if value is not None)


def is_rounded_decimal(value: Decimal) -> bool:
    """Whether a decimal differs from its float64, both exactly and in the shortest notation.

    The float64 of 0.1 is not 0.1, but is written so. It has lost nothing that a reader can see.
    """
    if not value.is_finite() or len(value.as_tuple().digits) <= EXACT_DIGITS:
        return False
    nearest = float(value)
    return value not in (Decimal(nearest), Decimal(repr(nearest)))

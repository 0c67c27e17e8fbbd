"""Columns of Arrow tables: whether they can serve as features, and their numbers."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

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

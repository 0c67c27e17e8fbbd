"""Checks of whether the columns of an Arrow schema can serve as features."""

from __future__ import annotations

import re
from typing import Any

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

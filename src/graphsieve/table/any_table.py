"""Conversion of any supported X to a table.

The table is in memory, or is read in pieces if X is stored and large.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from graphsieve._base.errors import InputError, InputTypeError
from graphsieve._base.messages import parameter
from graphsieve._base.parameters import is_collection, must_be, quoted
from graphsieve._base.progress import say
from graphsieve.table.categories import CodedColumns
from graphsieve.table.columns import MemoryTable, Table
from graphsieve.table.containers import (
    Categorical,
    check_finite_piece,
    column_names,
    positions_of,
    refuse_other_index,
    warn_of_rounded,
    warn_of_twin_names,
)
from graphsieve.table.grouping import grouped
from graphsieve.table.stored.pieces import Stored, itself
from graphsieve.table.stored.recognition import KINDS, stored_in
from graphsieve.table.stored.stored_categories import with_categories
from graphsieve.table.stored.stored_table import StoredTable, refuse_pieces


def as_table(
    X: Any,
    y: Any = None,
    *,
    categorical: Categorical = "auto",
    feature_groups: Any = None,
    names: Any = None,
    missing: str = "refuse",
) -> Table:
    """Return X as a table, which is read in pieces if X is stored and too large for memory.

    A pandas y is refused if its index differs. `categorical` and `missing` are as in `MemoryTable`,
    and `feature_groups` as in `grouped`. `names` replace the names of the columns of X. A `Table` is
    returned as it is, because its categories and groups are known.
    """
    if isinstance(X, Table):
        for name, value, usual in (
            ("categorical", categorical, "auto"),
            ("feature_groups", feature_groups, None),
        ):
            if value is not usual and not (isinstance(value, str) and value == usual):
                raise InputError(
                    parameter(name, value),
                    " is a property of the table here, not of a selector; pass it together with X.",
                )
        return X
    refuse_other_index(X, y)
    given, categorical = categorical, _checked_categorical(categorical)
    stored = stored_in(X) if may_be_stored(X) else None
    if names is not None and isinstance(categorical, list):
        own = column_names(X) if stored is None else stored.names
        categorical = _by_own_names(categorical, checked_names(names, _length(names)), own)
    table = (
        MemoryTable(X, categorical=categorical, missing=missing)
        if stored is None
        else table_of(stored, categorical, missing)
    )
    if names is not None:
        table = table.named(checked_names(names, table.n_features))
    if isinstance(given, CodedColumns):
        table = _with_level_names(table, given)
    return grouped(table, feature_groups)


def _with_level_names(table: Table, coded: CodedColumns) -> Table:
    features, names = table.features, table.feature_names
    if features is None or features.levels is None or names is None:
        return table
    levels = tuple(
        coded.names_of(name, shown) if name in coded.levels else shown
        for name, shown in zip(names, features.levels, strict=True)
    )
    return table.grouped(replace(features, levels=levels), names)


def table_in_memory(X: Any, y: Any = None, **options: Any) -> Table:
    """Return X as a table for methods that need all values in memory, like `as_table`.

    A stored table is read completely if it fits into its memory limit. Otherwise an error is
    raised before anything is read.
    """
    stored = stored_in(X) if may_be_stored(X) else None
    if stored is not None and not is_read_whole(stored):
        refuse_pieces(stored)
    return as_table(X, y, **options)


def _checked_categorical(given: Any) -> Categorical:
    if given is None or (isinstance(given, str) and given == "auto"):
        return given
    what = "'auto', None or a list of features"
    if isinstance(given, str | bytes):
        hint = "; put the name of a single column into a list"
        raise InputTypeError(must_be("categorical", what, given, hint=hint))
    if isinstance(given, Mapping | Iterator) or not is_collection(given):
        raise InputTypeError(must_be("categorical", what, given))
    return list(given)


def _by_own_names(
    categorical: list[Any], names: tuple[str, ...], own: tuple[str, ...] | None
) -> list[Any]:
    """Return the columns with these names of the caller, as X names them itself."""
    positions = positions_of("categorical", categorical, names, len(names))
    return [position if own is None else own[position] for position in positions]


def _length(names: Any) -> int:
    return len(names) if hasattr(names, "__len__") else 0


def checked_names(given: Any, n_features: int) -> tuple[str, ...]:
    """Return names of features that the caller has given."""
    listed = given.tolist() if hasattr(given, "tolist") else given
    if not is_collection(listed) or isinstance(given, str | set | frozenset):  # a set has no order
        raise InputTypeError(must_be("feature_names", "a sequence of strings", given))
    names = tuple(listed)
    odd = [name for name in names if not isinstance(name, str)]
    if odd:
        raise InputTypeError(
            parameter("feature_names", given),
            f" must be a sequence of strings, got {quoted(odd[0])} among them.",
        )
    if len(names) != n_features:
        raise InputError(
            parameter("feature_names", given),
            f" must contain {n_features} names, one per column of X, got {len(names)}.",
        )
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise InputError(
            parameter("feature_names", given),
            f" contains {quoted(twice)} twice; give every column its own name.",
        )
    warn_of_twin_names(names)
    return names


def may_be_stored(X: Any) -> bool:
    """Whether X may be a stored table.

    This is the case for stored tables, memory maps and objects of a library with stored tables.
    """
    return isinstance(X, Stored | np.memmap) or type(X).__module__.partition(".")[0] in KINDS


def is_read_whole(stored: Stored) -> bool:
    """Whether this process reads the stored table, and the table fits into its memory limit."""
    return stored.at_hand and stored.n_bytes <= stored.memory


def table_of(stored: Stored, categorical: Categorical = "auto", missing: str = "refuse") -> Table:
    """Return the table for a stored table, in memory if `is_read_whole` allows it.

    `missing` is as in `MemoryTable`.
    """
    warn_of_twin_names(stored.names)
    names = stored.names
    stored, features = with_categories(stored, categorical, missing)
    if is_read_whole(stored):
        over, length = (
            (stored.over_columns, stored.shape[1])
            if stored.columnwise
            else (stored.over_rows, stored.shape[0])
        )
        whole = next(iter(over([slice(0, length)], itself)))
        if missing != "use":
            check_finite_piece(whole, stored.names, 0)
        table: Table = MemoryTable(whole, missing=missing)
        table.features, table.feature_names = features, names
        if whole.dtype.kind in "iu":  # MemoryTable has already warned about rounded integers.
            return table
    else:
        say(f"graphsieve: {stored.plan()}.")
        table = StoredTable(stored, missing=missing)
        table.features, table.feature_names = features, names
    warn_of_rounded(sorted(stored.rounded), stored.names)
    return table

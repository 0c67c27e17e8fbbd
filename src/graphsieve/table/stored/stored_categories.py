"""Categories of tables that are read in pieces.

One pass over the categories counts their levels. After that, a piece has the numbers of levels in
place of the levels, and `Expanded` makes indicator columns of them. Both are made where a piece is
read, so nothing larger than a piece is in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError
from graphsieve._base.messages import parameter
from graphsieve.table.categories import n_columns, refuse_missing, warn_of_identifiers
from graphsieve.table.containers import Categorical, column_label, positions_of
from graphsieve.table.features import Features
from graphsieve.table.stored.levels import LevelCounts
from graphsieve.table.stored.parquet import Parquet
from graphsieve.table.stored.pieces import BYTES, Group, Stored, View, Work, positions


def with_categories(
    stored: Stored, categorical: Categorical, missing: str
) -> tuple[Stored, Features | None]:
    """Return the table with the columns of its categories, and its features.

    `categorical` and `missing` are as in `MemoryTable`. The features are None if there are no categories.
    """
    asked = categorical is not None and not isinstance(categorical, str)
    chosen: list[int] = []
    if asked:
        chosen = sorted(positions_of("categorical", categorical, stored.names, stored.shape[1]))
    elif categorical is not None:
        chosen = sorted(stored.not_numeric)
    if isinstance(stored, Parquet):
        stored.refuse_not_numeric(chosen)
    if not chosen:
        return stored, None
    if stored.is_sparse:
        raise InputError(
            parameter("categorical", categorical),
            " needs a table of dense values, but X is sparse; leave it at 'auto'.",
        )
    found = stored.counted(chosen) if isinstance(stored, Parquet) else _counted(stored, chosen)
    for place, one in found.items():
        where = column_label(stored.names, place)
        refuse_missing(one.n_missing * (missing == "refuse"), where, one.first_missing)
        if not asked:
            one.refuse_numbers_as_text(where)
    left_out = [place for place, one in found.items() if one.is_identifier(len(stored))]
    warn_of_identifiers([column_label(stored.names, place) for place in left_out])
    for place in left_out:
        found[place] = LevelCounts()  # without levels: a constant
    coded = (
        stored.with_codes(found)
        if isinstance(stored, Parquet)
        else View(stored, change=partial(_with_codes, found=_lookups(found)))
    )
    widths = np.ones(stored.shape[1], dtype=np.int64)
    for place, one in found.items():
        widths[place] = n_columns(one.n_levels, one.ordered)
    is_category = [place in found and not found[place].ordered for place in range(stored.shape[1])]
    return Expanded(coded, widths), Features.of_sizes(widths, is_category)


def _counted(stored: Stored, places: list[int]) -> dict[int, LevelCounts]:
    """Count the levels of columns of numbers."""
    view = View(stored, columns=np.array(places))
    if stored.columnwise:
        groups = view.column_groups()
        pieces = view.over_columns(groups, _distinct)
        parts = [(group.start, 0, found) for group, found in zip(groups, pieces, strict=True)]
    else:
        groups = view.row_groups()
        pieces = view.over_rows(groups, _distinct)
        parts = [(0, group.start, found) for group, found in zip(groups, pieces, strict=True)]
    counts = {place: LevelCounts() for place in places}
    for first_column, first_row, found in parts:
        for place, (values, first, number, missing) in enumerate(found, first_column):
            one = counts[places[place]]
            one.add(values.tolist(), first + first_row, number)
            one.add_missing(missing, first_row)
    return counts


def _distinct(piece: Any) -> list[tuple[Floats, Integers, Integers, Integers]]:
    """Return the values of each column with their first rows and counts, and the missing rows."""
    found = []
    for column in np.asarray(piece, dtype=np.float64).T:
        known = np.flatnonzero(~np.isnan(column))
        values, first, number = np.unique(column[known], return_index=True, return_counts=True)
        found.append((values, known[first], number, np.flatnonzero(np.isnan(column))))
    return found


Lookups = dict[int, tuple[Floats, Integers]]


def _lookups(found: dict[int, LevelCounts]) -> Lookups:
    """Return the sorted values of each category, and their codes."""
    lookups: Lookups = {}
    for place, one in found.items():
        codes = one.codes()
        values = np.array(sorted(codes), dtype=np.float64)
        lookups[place] = values, np.array([codes[value] for value in values.tolist()], np.int64)
    return lookups


def _with_codes(piece: Any, columns: Group, *, found: Lookups) -> NDArray[Any]:
    """Replace the values of categories by their codes."""
    coded = np.array(piece, dtype=np.float64)
    for place, column in enumerate(positions(columns).tolist()):
        if column in found:
            values, codes = found[column]
            known = ~np.isnan(coded[:, place])
            coded[known, place] = (
                codes[np.searchsorted(values, coded[known, place])] if len(values) else 0
            )
    return coded


class Expanded(View):
    """A stored table in which the codes of a category become the columns of its levels.

    Parameters
    ----------
    base : Stored
        A table with the codes of levels in the columns of categories.
    widths : array of int
        The number of columns for each column of the base.
    """

    def __init__(self, base: Stored, widths: Integers) -> None:
        super().__init__(base)
        self._widths = widths
        self._starts = np.concatenate([[0], np.cumsum(widths)])
        self._owner = np.repeat(np.arange(len(widths)), widths)
        self.shape = (base.shape[0], len(self._owner))
        self.itemsize = BYTES
        self.columns_held = base.columns_held + 1  # the columns of codes
        self.names = None if base.names is None else tuple(base.names[j] for j in self._owner)

    @property
    def rounded(self) -> frozenset[int]:  # type: ignore[override]
        return frozenset(int(self._starts[place]) for place in self._base.rounded)

    @property
    def column_borders(self) -> Integers:
        return self._starts[self._base.column_borders]

    def _over_rows(
        self,
        groups: Sequence[Group],
        work: Work,
        *given: Sequence[Any],
        shared: tuple[Any, ...] = (),
    ) -> Iterator[Any]:
        every = self._columns_of(np.arange(self.shape[1]), np.arange(len(self._widths)))
        expanding = partial(_work_on_expanded, work, every)
        return self._base.over_rows(groups, expanding, *given, shared=shared)

    def _over_columns(
        self,
        groups: Sequence[Group],
        work: Work,
        *given: Sequence[Any],
        shared: tuple[Any, ...] = (),
    ) -> Iterator[Any]:
        wanted = [positions(group) for group in groups]
        owners = [np.unique(self._owner[columns]) for columns in wanted]
        columns = [self._columns_of(*pair) for pair in zip(wanted, owners, strict=True)]
        expanding = partial(_work_on_expanded_columns, work)
        return self._base.over_columns(owners, expanding, columns, *given, shared=shared)

    def _columns_of(self, wanted: Integers, owners: Integers) -> Integers:
        """Return where each wanted column comes from: place among owners, level and width."""
        owner = self._owner[wanted]
        return np.stack(
            [np.searchsorted(owners, owner), wanted - self._starts[owner], self._widths[owner]]
        )


def _work_on_expanded(work: Work, columns: Integers, piece: Any, *others: Any) -> Any:
    return work(_expanded(piece, columns), *others)


def _work_on_expanded_columns(work: Work, piece: Any, columns: Integers, *others: Any) -> Any:
    return work(_expanded(piece, columns), *others)


def _expanded(piece: Any, columns: Integers) -> Floats:
    places, levels, widths = columns
    found = np.asarray(piece[:, places], dtype=np.float64)
    for column in np.flatnonzero(widths > 1):
        last, codes = widths[column] - 1, found[:, column].copy()
        found[:, column] = np.minimum(codes, last) == levels[column]
        found[np.isnan(codes), column] = np.nan
    return found

"""Parquet files, which store columns in row groups.

A row group may be larger than memory, and its rows can be read only from its first row on. Rows are
therefore read in small batches. A request for rows continues where the previous request ended, if
possible. This keeps a page of every column in memory. If there are too many columns for that, a few
columns are read at a time, each from the first row of the row group on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import chain
from threading import Lock
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from graphsieve._base.array_types import Integers
from graphsieve._base.errors import InputError
from graphsieve._base.optional import needed
from graphsieve._base.threads import available_threads
from graphsieve.table.arrow_columns import (
    encoded,
    has_rounded_values,
    is_long,
    is_pandas_index,
    is_text_or_binary,
    may_be_category,
    numbers,
    why_no_numbers,
)
from graphsieve.table.containers import LARGEST_EXACT_INTEGER, column_label
from graphsieve.table.stored.levels import LevelCounts
from graphsieve.table.stored.pieces import Group, Local, positions, reading

MOST_ROWS = 2**16  # maximum number of rows in a batch
BATCH_BYTES = 128  # bytes per value that a batch is assumed to need, which keeps batches small
# Bytes of a column that are in memory while it is read: a page and a dictionary of usual size
PAGE = 2**21

# A function that iterates over batches, given column names and the maximum number of rows per batch
Batches = Callable[[Sequence[str], int], Iterator[Any]]


@dataclass(frozen=True)
class RowGroup:
    """A row group of a file, with its number of rows and its mean number of bytes per column."""

    n_rows: int
    n_bytes: int
    batches: Batches


class Parquet(Local):
    """A Parquet file, or the concatenated rows of several files.

    Parameters
    ----------
    groups : sequence of RowGroup
        Row groups of all files.
    schema : pyarrow.Schema
        Schema of the columns. All selected columns must be numbers, text or dictionaries.
    memory : int
        Memory limit for pieces, in bytes.
    columns : sequence of str or None
        Names of the selected columns, which keep the order of the file. None selects all columns
        except the row names of pandas.
    source : str
        Description of the source for messages.
    """

    columnwise = True

    def __init__(
        self,
        groups: Sequence[RowGroup],
        schema: Any,
        memory: int,
        columns: Sequence[str] | None,
        source: str,
    ) -> None:
        self._pa = needed(
            "pyarrow",
            'Parquet files are read with pyarrow; install it: pip install "graphsieve[arrow]".',
        )
        self._groups, self.memory, self.source = groups, memory, source
        self.names = usable_names(schema, columns, source, self._pa)
        self._schema = schema
        self._codes: dict[str, dict[Any, int]] = {}
        self.not_numeric = frozenset(
            place
            for place, name in enumerate(self.names)
            if may_be_category(schema.field(name).type, self._pa)
        )
        self._borders = np.concatenate(
            [[0], np.cumsum([group.n_rows for group in groups], dtype=np.int64)]
        ).astype(np.int64)
        self.shape = (int(self._borders[-1]), len(self.names))
        kinds = {schema.field(name).type for name in self.names}
        self._dtype = np.dtype(
            np.float32 if kinds <= {self._pa.float16(), self._pa.float32()} else np.float64
        )
        self.itemsize = self._dtype.itemsize
        self._long = {
            place
            for place, name in enumerate(self.names)
            if is_long(schema.field(name).type, self._pa)
        }
        self._width = max(
            1, memory // (2 * min(PAGE, max((group.n_bytes for group in groups), default=0) + 1))
        )
        self._lock = Lock()
        self._reader: _BatchReader | None = None

    @property
    def row_borders(self) -> Integers:
        return np.unique(self._borders)

    def read_rows(self, rows: Group) -> NDArray[Any]:
        assert self.names is not None
        requested = positions(rows)
        found = np.empty((len(requested), self.shape[1]), dtype=self._dtype)
        with self._lock:
            if self._width >= self.shape[1]:
                reader, self._reader = self._reader, None  # An error discards the reader.
                self._reader = self._read_with(requested, self.names, found, reader)
                return found
            for start in range(0, self.shape[1], self._width):
                part = slice(start, start + self._width)
                self._read_with(requested, self.names[part], found[:, part], None)
        return found

    def read_columns(self, columns: Group) -> NDArray[Any]:
        assert self.names is not None
        places = positions(columns)
        names, n_rows = [self.names[place] for place in places], self._batch_rows(len(places))
        found = np.empty((self.shape[0], len(names)), dtype=self._dtype)
        with self._lock:
            done = 0
            for batch in _batches(self._groups, names, n_rows):
                self._fill(found[done : done + batch.num_rows], batch, names, None)
                self._note_rounded(batch, names, places)
                done += batch.num_rows
        _refuse_fewer(done, len(found))
        return found

    def refuse_not_numeric(self, categories: Sequence[int]) -> None:
        """Refuse columns that are neither numeric nor among the categories."""
        assert self.names is not None
        for place in sorted(self.not_numeric - set(categories)):
            reason = why_no_numbers(self._schema.field(self.names[place]), self._pa)
            _refuse_column(self.source, reason, self.names, place)

    def counted(self, places: Sequence[int]) -> dict[int, LevelCounts]:
        """Count the levels of some columns in one pass."""
        assert self.names is not None
        names = [self.names[place] for place in places]
        kinds = [self._schema.field(name).type for name in names]
        found = {
            place: LevelCounts(declared=not is_text_or_binary(kind, self._pa))
            for place, kind in zip(places, kinds, strict=True)
        }
        with reading(self.source), self._lock:
            done = 0
            for batch in _batches(self._groups, names, self._batch_rows(len(names))):
                for name, place in zip(names, places, strict=True):
                    levels, codes, ordered = encoded(_column(batch, name), self._pa)
                    known = np.flatnonzero(codes >= 0)
                    here, first, number = np.unique(
                        codes[known], return_index=True, return_counts=True
                    )
                    one = found[place]
                    one.add([levels[code] for code in here.tolist()], known[first] + done, number)
                    one.add_missing(np.flatnonzero(codes < 0), done)
                    if ordered:
                        one.add_order(levels, column_label(self.names, place))
                done += batch.num_rows
        return found

    def with_codes(self, found: dict[int, LevelCounts]) -> Parquet:
        """Return the same table with the codes of levels in place of the levels."""
        assert self.names is not None
        table = copy(self)
        table._lock, table._reader = Lock(), None
        table.not_numeric = frozenset()
        table._long = self._long - found.keys()
        table._codes = {self.names[place]: one.codes() for place, one in found.items()}
        return table

    def own_columns(self, places: Sequence[int]) -> Any:
        """Return some columns as they are, as an Arrow table."""
        assert self.names is not None
        names = [self.names[place] for place in places]
        schema = self._pa.schema([self._schema.field(name) for name in names])
        with reading(self.source), self._lock:
            batches = list(_batches(self._groups, names, self._batch_rows(len(names))))
        return self._pa.Table.from_batches([batch.select(names) for batch in batches], schema)

    def _values(self, column: Any, name: str) -> NDArray[Any]:
        """Return the numbers of a column, or the codes of its levels."""
        codes = self._codes.get(name)
        if codes is None:
            return numbers(column, self._pa)
        levels, places, _ = encoded(column, self._pa)
        # The place of a missing level is −1, which selects the NaN at the end.
        found = np.array([*(codes.get(level, 0) for level in levels), np.nan])
        return np.asarray(found[places])

    def _read_with(
        self,
        requested: Integers,
        names: Sequence[str],
        found: NDArray[Any],
        reader: _BatchReader | None,
    ) -> _BatchReader | None:
        """Write the requested rows to `found`, and return the reader for the next request.

        The current reader continues if it can reach the rows. Otherwise a new reader is started.
        """
        done = 0
        while done < len(requested):
            reader = self._reader_for(int(requested[done]), names, reader)
            first = reader.position
            batch = reader.next(int(requested[-1]) + 1 - first)
            end = int(np.searchsorted(requested, reader.position))
            self._fill(found[done:end], batch, names, requested[done:end] - first)
            done = end
        return reader

    def _reader_for(
        self, row: int, names: Sequence[str], reader: _BatchReader | None
    ) -> _BatchReader:
        """Return the reader that reaches a row soonest.

        This is the current reader, or a new one from the start of the row group.
        """
        group = int(np.searchsorted(self._borders, row, side="right")) - 1
        if reader is not None and self._borders[group] <= reader.position <= row:
            return reader
        return _BatchReader(
            int(self._borders[group]),
            _batches(self._groups[group:], names, self._batch_rows(len(names))),
        )

    def _batch_rows(self, width: int) -> int:
        return min(MOST_ROWS, self.fitting(width, BATCH_BYTES))

    def _fill(
        self, found: NDArray[Any], batch: Any, names: Sequence[str], rows: Integers | None
    ) -> None:
        """Write some or all rows of a batch to `found`."""
        if rows is not None and not len(rows):
            return
        every = rows is None or len(rows) == batch.num_rows
        for place, name in enumerate(names):
            values = self._values(_column(batch, name), name)
            found[:, place] = values if every else values[rows]

    def _note_rounded(self, batch: Any, names: Sequence[str], places: Integers) -> None:
        for name, place in zip(names, places.tolist(), strict=True):
            if (
                place in self._long
                and place not in self.rounded
                and has_rounded_values(_column(batch, name), LARGEST_EXACT_INTEGER, self._pa)
            ):
                self.rounded |= {place}


class _BatchReader:
    """A sequential reader of batches, which returns each row once."""

    def __init__(self, position: int, batches: Iterator[Any]) -> None:
        self.position, self._batches, self._rest = position, batches, None

    def next(self, most: int) -> Any:
        """Return the next rows, at least one and at most `most`."""
        while self._rest is None or not self._rest.num_rows:
            self._rest = next(self._batches, None)
            _refuse_fewer(self._rest is not None, True)
        batch: Any = self._rest.slice(0, most)
        self._rest = self._rest.slice(batch.num_rows)
        self.position += batch.num_rows
        return batch


def parquet_file(file: Any, memory: int, columns: Sequence[str] | None) -> Parquet:
    """Return the stored table of a `pyarrow.parquet.ParquetFile`."""
    if file.closed:
        raise InputError("X is a closed ParquetFile; open it again.")
    about = [file.metadata.row_group(place) for place in range(file.num_row_groups)]
    groups = [
        RowGroup(
            one.num_rows,
            one.total_byte_size // max(1, one.num_columns),
            partial(_file_batches, file, place),
        )
        for place, one in enumerate(about)
    ]
    return Parquet(groups, file.schema_arrow, memory, columns, "the Parquet file")


def parquet_dataset(dataset: Any, memory: int, columns: Sequence[str] | None) -> Parquet:
    """Return the stored table of a `pyarrow.dataset.Dataset` of Parquet files."""
    try:
        fragments = list(dataset.get_fragments())
    except ValueError:
        raise InputError(
            "X is a dataset with a filter; write the selected rows to Parquet files and pass these."
        ) from None
    odd = next((fragment for fragment in fragments if not hasattr(fragment, "row_groups")), None)
    if odd is not None:
        raise InputError(
            f"X is a dataset that contains a {type(odd).__name__}; expected Parquet files."
        )
    width = max(1, len(dataset.schema))
    groups = [
        RowGroup(
            info.num_rows,
            info.total_byte_size // width,
            partial(_fragment_batches, fragment.subset(row_group_ids=[info.id]), dataset.schema),
        )
        for fragment in fragments
        for info in fragment.row_groups
    ]
    return Parquet(groups, dataset.schema, memory, columns, "the dataset of Parquet files")


def usable_names(
    schema: Any, columns: Sequence[str] | None, source: str, pa: Any
) -> tuple[str, ...]:
    """Return the names of the selected columns.

    All of them must be numeric, or of a type that can be a category.
    """
    names = checked_names(schema.names, source)
    chosen = (
        [name for name in names if not is_pandas_index(name)]
        if columns is None
        else chosen_names(names, columns, source)
    )
    for place, name in enumerate(chosen):
        kind = schema.field(name).type
        reason = why_no_numbers(schema.field(name), pa)
        if reason is not None and (is_pandas_index(name) or not may_be_category(kind, pa)):
            _refuse_column(source, reason, chosen, place)
    if not chosen:
        raise InputError(f"{source} has no columns; at least 1 feature is needed.")
    return tuple(chosen)


def _refuse_column(source: str, reason: str | None, names: Sequence[str], place: int) -> NoReturn:
    raise InputError(
        f"{source} holds {reason} in {column_label(names, place)}; every feature must be "
        "numeric: select numeric columns with graphsieve.stored(X, columns=[…])."
    )


def checked_names(names: Sequence[Any], source: str) -> tuple[str, ...]:
    """Return the names as strings after checking that they are unique."""
    found = tuple(str(name) for name in names)
    seen: set[str] = set()
    for place, name in enumerate(found):
        if name in seen:
            raise InputError(
                f"{source} has {column_label(found, place)} twice; give every column a unique name."
            )
        seen.add(name)
    return found


def chosen_names(names: Sequence[str], columns: Sequence[str], source: str) -> list[str]:
    """Return the requested names in the order of the file."""
    requested = set(columns)
    absent = [name for name in columns if name not in set(names)]
    if absent:
        raise InputError(
            f"{source} has no {column_label(absent, 0)}; columns must contain existing names."
        )
    if len(requested) < len(columns) or not columns:
        raise InputError("columns must contain at least one name, and each name only once.")
    return [name for name in names if name in requested]


def _batches(groups: Sequence[RowGroup], names: Sequence[str], n_rows: int) -> Iterator[Any]:
    return chain.from_iterable(group.batches(names, n_rows) for group in groups)


def _file_batches(file: Any, place: int, names: Sequence[str], n_rows: int) -> Iterator[Any]:
    found: Iterator[Any] = file.iter_batches(
        batch_size=n_rows,
        row_groups=[place],
        columns=list(names),
        use_threads=available_threads() > 1,
    )
    return found


def _fragment_batches(
    fragment: Any, schema: Any, names: Sequence[str], n_rows: int
) -> Iterator[Any]:
    dataset = needed("pyarrow.dataset", "pyarrow has no datasets; install it again.")
    found: Iterator[Any] = fragment.to_batches(
        schema=schema,
        columns={name: dataset.field(name) for name in names},
        batch_size=n_rows,
        batch_readahead=1,
        fragment_scan_options=dataset.ParquetFragmentScanOptions(
            use_buffered_stream=True, pre_buffer=False
        ),
        use_threads=available_threads() > 1,
    )
    return found


def _column(batch: Any, name: str) -> Any:
    return batch.column(batch.schema.get_field_index(name))


def _refuse_fewer(found: int, expected: int) -> None:
    if found < expected:
        raise OSError("the file has fewer rows than its metadata state")

"""Reading of Parquet files, Feather (Arrow) files and Arrow streams with pyarrow."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from graphsieve._base.array_types import Floats
from graphsieve._base.errors import InputError
from graphsieve._base.optional import needed
from graphsieve._base.parameters import quoted
from graphsieve.table.arrow_columns import (
    has_rounded_decimals,
    is_category,
    is_pandas_index,
    is_plain,
    is_text,
    numbers,
    why_no_numbers,
)
from graphsieve.table.containers import LARGEST_EXACT_INTEGER
from graphsieve.table.files.opening import ByteSource, damage_reported
from graphsieve.table.files.table_file import (
    IDENTIFIER,
    MISSING,
    TableFile,
    boolean_note,
    check_kept,
    check_names,
    check_rows,
    counted,
    is_missing,
    kept_text,
    listed,
    object_array,
    warn_of_rounded,
    without_empty_columns,
)
from graphsieve.table.files.text import TextOptions
from graphsieve.table.files.text_columns import (
    MOST_TEXTS,
    TextColumn,
    leveled,
    numbers_of,
)

ROWS_AT_ONCE = 2**14  # rows per batch
_TITLES = {"parquet": "Parquet", "feather": "Feather (Arrow)"}


def read_arrow(
    source: ByteSource,
    format: str,
    keep: Sequence[str],
    options: TextOptions,
) -> TableFile:
    """Read the table in a Parquet or Arrow file."""
    pa = needed(
        "pyarrow",
        f"{source.name} is a {_TITLES[format]} file; install pyarrow to read it: pip install "
        '"graphsieve[arrow]".',
    )
    with damage_reported(source.name, _TITLES[format]):
        schema, batches = (
            _parquet(source, keep, pa) if format == "parquet" else _ipc(source, keep, pa)
        )
        gathered = _Gathered(source.name, schema, keep, options, pa)
        for batch in batches:
            gathered.add(batch)
    check_rows(source.name, gathered.n_rows)
    warn_of_rounded([name for name in gathered.names if name in gathered.rounded])
    return without_empty_columns(gathered.table(format))


def _parquet(source: ByteSource, keep: Sequence[str], pa: Any) -> tuple[Any, Iterable[Any]]:
    file = importlib.import_module("pyarrow.parquet").ParquetFile(source.seekable_file())
    schema = file.schema_arrow
    wanted = _wanted(source.name, schema, keep, pa)
    # A file of a few bytes can hold a billion equal values.
    source.check_declared(file.metadata.num_rows * max(1, len(wanted)) * 8)
    return schema, file.iter_batches(
        batch_size=ROWS_AT_ONCE, columns=[schema.names[at] for at in wanted]
    )


def _ipc(source: ByteSource, keep: Sequence[str], pa: Any) -> tuple[Any, Iterable[Any]]:
    file = source.seekable_file()
    is_file = source.head.startswith(b"ARROW1")
    open_any = pa.ipc.open_file if is_file else pa.ipc.open_stream
    schema = open_any(file).schema
    options = pa.ipc.IpcReadOptions(included_fields=_wanted(source.name, schema, keep, pa))
    file.seek(0)
    reader = open_any(file, options=options)
    batches = (
        (reader.get_batch(at) for at in range(reader.num_record_batches)) if is_file else reader
    )
    return schema, _checked(source, batches)


def _checked(source: ByteSource, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the batches after validating them, because Arrow trusts the offsets in a file."""
    total = n_rows = 0
    for batch in batches:
        # A column of nulls takes no bytes, whatever its length. This also holds for a batch without
        # columns.
        n_rows += batch.num_rows
        source.check_declared(n_rows * max(1, batch.num_columns) * 8)
        # Validation must come first, because computing `nbytes` already follows the offsets.
        batch.validate(full=True)
        total += batch.nbytes
        source.check_size(total)
        yield batch


def _wanted(name: str, schema: Any, keep: Sequence[str], pa: Any) -> list[int]:
    """Return the positions of the columns that have to be read."""
    check_names(name, schema.names)
    check_kept(name, keep, schema.names)
    return [
        at
        for at, field in enumerate(schema)
        if field.name in keep or why_no_numbers(field, pa) is None or _holds_levels(field, pa)
    ]


def _holds_levels(field: Any, pa: Any) -> bool:
    """Whether a column of text or of a dictionary may be a category."""
    return not is_pandas_index(field.name) and (
        is_text(field.type, pa) or is_category(field.type, pa)
    )


class _Gathered:
    """The data read so far, collected batch by batch."""

    def __init__(
        self,
        name: str,
        schema: Any,
        keep: Sequence[str],
        options: TextOptions,
        pa: Any,
    ) -> None:
        self.n_rows = 0
        self.names = list(schema.names)
        self.rounded: set[str] = set()
        self._name, self._schema, self._pa = name, schema, pa
        self._missing = frozenset(("",)) if options.keep_na_text else MISSING
        self._kept: dict[str, list[Any]] = {name: [] for name in keep}
        reasons = {
            field.name: why_no_numbers(field, pa)
            for field in schema
            if field.name not in self._kept
        }
        self.numeric = [name for name, reason in reasons.items() if reason is None]
        self._declared, self._numeric = options.categorical, options.numeric
        self._texts = {
            field.name: TextColumn(
                most=None if field.name in (*self._declared, *self._numeric) else MOST_TEXTS
            )
            for field in schema
            if field.name not in self._kept and _holds_levels(field, pa)
        }
        self._orders: dict[str, list[Any]] = {}
        self._left_out = {
            name: reason
            for name, reason in reasons.items()
            if reason is not None and name not in self._texts
        }
        self._chunks: list[Floats] = []

    def add(self, batch: Any) -> None:
        """Add the rows of a batch."""
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        chunk = np.empty((batch.num_rows, len(self.numeric)))
        for at, name in enumerate(self.numeric):
            chunk[:, at] = numbers(columns[name], self._pa)
            if name not in self.rounded and _is_rounded(columns[name], chunk[:, at], self._pa):
                self.rounded.add(name)
        self._chunks.append(chunk)
        for name, text in self._texts.items():
            self._add_levels(name, text, columns[name])
        for name, values in self._kept.items():
            kind = columns[name].type
            if (
                name not in self.rounded
                and has_rounded_decimals(columns[name], self._pa)
                and kind.scale > 0  # Others become Python's integers, which are exact.
            ):
                self.rounded.add(name)
            values.extend(_kept(self._name, name, columns[name], self._missing, self._pa))
        self.n_rows += batch.num_rows

    def _add_levels(self, name: str, text: TextColumn, column: Any) -> None:
        encoded = column.dictionary_encode() if is_text(column.type, self._pa) else column
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        levels = _kept(self._name, name, encoded.dictionary, MISSING, self._pa)
        is_ordered = encoded is column and column.type.ordered
        if is_ordered and self._orders.setdefault(name, levels) != levels:
            self._orders[name] = []  # Levels have an order only if all batches agree on it.
        text.add_levels(levels, codes)

    def _from_text(self) -> tuple[dict[str, Floats], dict[str, tuple[Any, ...]]]:
        """Return the values of categories and their levels, and record why others are left out."""
        made: dict[str, Floats] = {}
        levels: dict[str, tuple[Any, ...]] = {}
        for name, text in self._texts.items():
            if name in self._numeric:
                numbers_in = numbers_of(name, text, _row_label)
                made[name] = np.array(numbers_in, dtype=np.float64)[text.codes]
                continue
            # The type says that a dictionary is a category.
            is_open = name not in self._declared and is_text(
                self._schema.field(name).type, self._pa
            )
            why = text.found().why_no_category(_row_label) if is_open else None
            if why is None and text.is_given_up:
                why = IDENTIFIER
            if why is not None:
                self._left_out[name] = why
                continue
            made[name], levels[name] = leveled(
                text.levels, text.codes, ordered=bool(self._orders.get(name))
            )
        return made, levels

    def table(self, format: str) -> TableFile:
        """Return the table of all batches."""
        made, levels = self._from_text()
        names = [name for name in self.names if name in made or name in self.numeric]
        kinds = {name: self._schema.field(name).type for name in self.numeric}
        index = [name for name in self._left_out if is_pandas_index(name)]
        booleans = [name for name, kind in kinds.items() if self._pa.types.is_boolean(kind)]
        notes = (
            [f"{counted(len(index), 'column')} of pandas row names left out: {listed(index)}"]
            if index
            else []
        )
        return TableFile(
            name=self._name,
            format=format,
            columns=tuple(self._schema.names),
            names=tuple(names),
            matrix=_stacked(self._chunks, self.n_rows, self.numeric, names, made),
            whole=frozenset(name for name, kind in kinds.items() if _is_whole(kind, self._pa)),
            kept={name: object_array(values) for name, values in self._kept.items()},
            left_out={name: self._left_out[name] for name in self.names if name in self._left_out},
            levels=levels,
            ordered=frozenset(name for name in levels if self._orders.get(name)),
            positions=np.arange(self.n_rows),
            notes=(*notes, *boolean_note(booleans)),
            dates=frozenset(
                name for name in self._kept if _is_temporal(self._schema.field(name).type, self._pa)
            ),
            types={
                field.name: field.type
                for field in self._schema
                if _is_restored_on_writing(field.type, self._pa)
            },
        )


def _stacked(
    chunks: list[Floats],
    n_rows: int,
    numeric: Sequence[str],
    names: Sequence[str],
    made: dict[str, Floats],
) -> Floats:
    """Return the numbers of all chunks and the other columns as one array.

    The list and the dict are emptied to release memory on the way.
    """
    result = np.empty((n_rows, len(names)))
    at = {name: place for place, name in enumerate(names)}
    places = slice(None) if len(numeric) == len(names) else [at[name] for name in numeric]
    stop = n_rows
    while chunks:
        chunk = chunks.pop()
        result[stop - len(chunk) : stop, places] = chunk
        stop -= len(chunk)
    while made:
        name, values = made.popitem()
        result[:, at[name]] = values
    return result


def _row_label(row: int) -> str:
    return f"row {row} (counted from 0)"


def _is_temporal(kind: Any, pa: Any) -> bool:
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_temporal(value))


def _is_whole(kind: Any, pa: Any) -> bool:
    types = pa.types
    return bool(
        types.is_integer(kind)
        or types.is_boolean(kind)
        or (types.is_decimal(kind) and kind.scale <= 0)
    )


def _is_restored_on_writing(kind: Any, pa: Any) -> bool:
    """Whether the type has to be restored on writing.

    Reading converts the values to a more general type, and both Parquet and Feather can store the
    original one.
    """
    types = pa.types
    known = (
        types.is_boolean,
        types.is_integer,
        types.is_float32,
        types.is_timestamp,
        types.is_date,
        types.is_dictionary,
    )
    return any(is_such(kind) for is_such in known)


def _is_rounded(column: Any, values: Floats, pa: Any) -> bool:
    if not pa.types.is_integer(column.type) or column.type.bit_width < 64:
        return has_rounded_decimals(column, pa)
    large = np.flatnonzero(np.abs(values) >= LARGEST_EXACT_INTEGER)
    return any(column[int(at)].as_py() != int(values[at]) for at in large)


def _kept(table: str, name: str, column: Any, missing: frozenset[str], pa: Any) -> list[Any]:
    """Return one Python value per row, with None for missing values."""
    types = pa.types
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if is_text(kind, pa):
        return [kept_text(value, missing) for value in column.to_pylist()]
    if types.is_temporal(kind):
        return _dates(column, pa)
    if types.is_decimal(kind):
        number = int if kind.scale <= 0 else float
        return [None if value is None else number(value) for value in column.to_pylist()]
    if is_plain(kind, pa):
        return [None if is_missing(value) else value for value in column.to_pylist()]
    raise InputError(
        f"column {quoted(name)} of {table} holds values of type {kind}; expected numbers or text."
    )


def _dates(column: Any, pa: Any) -> list[Any]:
    """Return dates, times or durations as text."""
    try:
        return list(column.cast(pa.string()).to_pylist())
    except pa.ArrowNotImplementedError:  # Arrow cannot convert durations to text.
        return [None if value is None else str(value) for value in column.to_pylist()]

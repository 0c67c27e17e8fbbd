"""Reading of supervision from separate files: must-link and cannot-link pairs of rows, and class
probabilities.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphsieve._base.array_types import Floats
from graphsieve._base.errors import InputError, UsageError
from graphsieve._base.messages import parameter
from graphsieve._base.parameters import quoted, texts
from graphsieve.table.files.opening import Source, decoded, opened
from graphsieve.table.files.reading import read_table
from graphsieve.table.files.table_file import TableFile

MUST = ("must", "must-link", "must_link", "mustlink", "same", "together", "1", "+1")
CANNOT = ("cannot", "cannot-link", "cannot_link", "cannotlink", "different", "apart", "0", "-1")
KEYS = ("must_link", "cannot_link")


class Pairs(NamedTuple):
    """Pairs of row positions, counted from 0, in the form required by `Supervision.from_pairs`."""

    must_link: list[tuple[int, int]]
    cannot_link: list[tuple[int, int]]


class _NamedPair(NamedTuple):
    first: str
    second: str
    is_must: bool
    where: str


def row_ids(table: TableFile, column: str | None = None) -> NDArray[np.object_]:
    """Return the names of all rows.

    The names come from a separate column, or from the file format if it has row names. Otherwise
    they are the row numbers, counted from 1.

    Parameters
    ----------
    table : TableFile
        The table as it was read, before any rows are left out.
    column : str or None
        The column with the names.
    """
    if column is None:
        names = range(1, table.matrix.shape[0] + 1) if table.row_names is None else table.row_names
        return np.array([str(name) for name in names], dtype=object)
    if not isinstance(column, str) or column not in table.kept:
        raise UsageError(
            f"{table.name} was read without row names in column {quoted(column)}; read the "
            "table with ",
            parameter("id_column", column),
            ".",
        )
    values = table.kept[column]
    seen: dict[str, int] = {}
    for row, value in enumerate(values):
        if value is None:
            raise InputError(
                f"{table.name} has no {quoted(column)} in {table.row_label(row)}; give every row a "
                "name."
            )
        if str(value) in seen:
            first = table.row_label(seen[str(value)])
            raise InputError(
                f"{quoted(str(value))} names two rows of {table.name}, {first} and "
                f"{table.row_label(row)}, "
                f"in column {quoted(column)}; give every row a unique name."
            )
        seen[str(value)] = row
    return np.array([str(value) for value in values], dtype=object)


def read_pairs_file(
    source: Source, ids: Sequence[str], *, gone: Sequence[str] = (), max_bytes: int | None = None
) -> Pairs:
    """Read pairs of rows from a text file or a JSON file.

    Parameters
    ----------
    source : path or stream
        Text with lines ``row,row,must`` or ``row,row,cannot`` (a header is skipped), or JSON:
        ``{"must_link": [["a", "b"]], "cannot_link": []}``.
    ids : sequence of str
        Names of the rows.
    gone : sequence of str
        Names of rows that were left out. Pairs with one of these rows are skipped.
    max_bytes : int or None
        Maximum size, as in `read_table`.
    """
    place = {name: row for row, name in enumerate(texts()("ids", ids))}
    skipped = set(texts()("gone", gone))
    found = Pairs([], [])
    with opened(source, max_bytes=max_bytes, progress=False) as stream:
        name, text = stream.name, decoded(stream.name, stream.read())
    if not text.strip():
        raise InputError(
            f"{name} is an empty file; expected lines of row, row, and must or cannot."
        )
    rows = {*place, *skipped}
    for pair in (
        _from_json(name, text) if text.lstrip()[:1] in ("{", "[") else _from_lines(name, text, rows)
    ):
        if pair.first in skipped or pair.second in skipped:
            continue
        for end in (pair.first, pair.second):
            if end not in place:
                raise InputError(
                    f"{name} names row {quoted(end)} in {pair.where}, which the table does not "
                    "have; its rows are "
                    f"{', '.join(quoted(known) for known in list(place)[:3])}, …, "
                    "and --id-column selects the column with the row names."
                )
        (found.must_link if pair.is_must else found.cannot_link).append(
            (place[pair.first], place[pair.second])
        )
    return found


def read_probabilities_file(
    source: Source,
    ids: Sequence[str],
    *,
    id_column: str | None = None,
    max_bytes: int | None = None,
) -> tuple[Floats, tuple[str, ...]]:
    """Read class probabilities, ordered like the rows of the table, and the class names.

    Parameters
    ----------
    source : path or stream
        A table with one column per class. If it has a column `id_column`, its rows are matched by
        name. Otherwise they are in the order of the table. A row of empty cells is an unlabelled
        sample.
    ids : sequence of str
        Names of the rows.
    id_column : str or None
        The column with the row names.
    max_bytes : int or None
        Maximum size, as in `read_table`.
    """
    table = _with_ids(source, id_column, max_bytes)
    odd = {**table.left_out, **dict.fromkeys(table.levels, "text")}
    if odd:
        column, why = next(iter(odd.items()))
        raise InputError(
            f"{table.name} holds no probabilities in column {quoted(column)} ({why}); leave only "
            "numbers in it."
        )
    matrix = table.matrix.toarray() if hasattr(table.matrix, "toarray") else table.matrix
    if id_column is not None and id_column in table.kept:
        place = {name: row for row, name in enumerate(row_ids(table, id_column))}
        absent = [name for name in ids if name not in place]
        if absent:
            raise InputError(
                f"{table.name} has no row {quoted(absent[0])} ({len(absent)} such rows); give one "
                "for every row."
            )
        return np.asarray(matrix[[place[name] for name in ids]], dtype=np.float64), table.names
    if len(matrix) != len(ids):
        raise InputError(
            f"{table.name} has {len(matrix)} rows of probabilities for {len(ids)} rows of the "
            "table; give one for each."
        )
    return np.asarray(matrix, dtype=np.float64), table.names


def _with_ids(source: Source, id_column: str | None, max_bytes: int | None) -> TableFile:
    """Read the table, with its column of row names if it has one."""
    if id_column is None:
        return read_table(source, max_bytes=max_bytes)
    again = _read_twice(source, max_bytes)
    try:
        return read_table(again(), id_column=id_column, max_bytes=max_bytes)
    except UsageError:
        return read_table(again(), max_bytes=max_bytes)


def _read_twice(source: Source, max_bytes: int | None) -> Callable[[], Source]:
    """Return a function that returns the source from its beginning on every call.

    Streams and pipes can be read only once, so their content is kept in memory.
    """
    if isinstance(source, str | os.PathLike) and source != "-" and Path(source).is_file():
        return lambda: source
    with opened(source, max_bytes=max_bytes, progress=None) as stream:
        content, name = stream.seekable_file().getvalue(), stream.name

    def from_memory() -> Source:
        file = io.BytesIO(content)
        file.name = name
        return file

    return from_memory


def _from_lines(name: str, text: str, names: set[str]) -> Iterator[_NamedPair]:
    """Yield the pairs in a text. The first line is a header if it contains no row names."""
    first = text.split("\n", 1)[0]
    rows = csv.reader(
        io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count), strict=True
    )
    try:
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            where = f"line {rows.line_num}"
            if len(row) != 3:
                raise InputError(
                    f"{name} has {len(row)} values in {where}; expected row, row, and must or "
                    "cannot."
                )
            one, other, kind = (cell.strip() for cell in row)
            if kind.lower() not in MUST + CANNOT:
                if rows.line_num == 1 and not {one, other} & names:
                    continue  # a header
                raise InputError(f"{name} has {quoted(kind)} in {where}; expected must or cannot.")
            yield _NamedPair(one, other, kind.lower() in MUST, where)
    except csv.Error as error:
        raise InputError(f"{name} cannot be read in line {rows.line_num}: {error}.") from None


def _from_json(name: str, text: str) -> Iterator[_NamedPair]:
    expected = 'expected {"must_link": [["a", "b"], …], "cannot_link": […]}'
    try:
        document: Any = json.loads(text, object_pairs_hook=lambda pairs: _each_once(name, pairs))
    except InputError:
        raise
    except json.JSONDecodeError as error:
        raise InputError(
            f"{name} is not valid JSON in line {error.lineno}: {error.msg}; {expected}."
        ) from None
    except ValueError:  # Python refuses integers of more than a few thousand digits.
        raise InputError(f"{name} holds a number with too many digits; {expected}.") from None
    except RecursionError:
        raise InputError(f"{name} is nested too deeply; {expected}.") from None
    if not isinstance(document, dict) or not document or set(document) - set(KEYS):
        odd = (
            sorted(map(str, set(document) - set(KEYS)))
            if isinstance(document, dict)
            else [type(document).__name__]
        )
        raise InputError(f"{name} holds {', '.join(map(quoted, odd)) or 'nothing'}; {expected}.")
    for key in KEYS:
        pairs = document.get(key, [])
        for number, pair in enumerate(pairs if isinstance(pairs, list) else [pairs]):
            if not isinstance(pair, list) or len(pair) != 2 or not all(_is_id(end) for end in pair):
                raise InputError(
                    f"{name} has {quoted(pair)} as pair {number} of {key}; expected the names of "
                    "two rows."
                )
            yield _NamedPair(
                str(pair[0]), str(pair[1]), key == "must_link", f"pair {number} of {key}"
            )


def _each_once(name: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a dict of the pairs, and refuse repeated keys (Python would keep only the last)."""
    for key, times in Counter(key for key, _ in pairs).items():
        if times > 1:
            raise InputError(
                f"{name} holds {quoted(key)} {times} times; put all of its pairs into one list."
            )
    return dict(pairs)


def _is_id(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))

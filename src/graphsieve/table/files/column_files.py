"""Reading of files that describe the columns of a table: their groups and their costs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from graphsieve._base.errors import InputError
from graphsieve._base.parameters import quoted
from graphsieve.table.files.notation import number
from graphsieve.table.files.opening import Source, decoded, opened


def read_groups_file(source: Source, *, max_bytes: int | None = None) -> dict[str, list[str]]:
    """Read groups of columns from a text file or a JSON file.

    Parameters
    ----------
    source : path or stream
        Text with lines ``column,group``, or JSON. A first line ``column,group`` or
        ``feature,group`` is skipped. JSON has the form
        ``{"group": ["column", …]}``.
    max_bytes : int or None
        Maximum size, as in `read_table`.

    Examples
    --------
    >>> read_groups_file(io.BytesIO(b"column,group\\na,first\\nb,first\\nc,second\\n"))
    {'first': ['a', 'b'], 'second': ['c']}
    """
    groups: dict[str, list[str]] = {}
    name, found = _entries(source, "group", max_bytes)
    for one, other, where in found:
        if isinstance(other, list):
            if not all(isinstance(column, str) for column in other):
                raise InputError(f"{name} has {quoted(other)} for {where}; expected column names.")
            groups[one] = other
        elif isinstance(other, str) and where.startswith("line"):
            groups.setdefault(other, []).append(one)
        else:
            raise InputError(f"{name} has {quoted(other)} for {where}; expected a list of columns.")
    return groups


def read_costs_file(source: Source, *, max_bytes: int | None = None) -> dict[str, float]:
    """Read the costs of columns from a text file or a JSON file.

    Parameters
    ----------
    source : path or stream
        Text with lines ``column,cost``, or JSON. A first line ``column,cost`` or
        ``feature,cost`` is skipped. JSON has the form
        ``{"column": cost}``.
    max_bytes : int or None
        Maximum size, as in `read_table`.

    Examples
    --------
    >>> read_costs_file(io.BytesIO(b'{"a": 2, "b": 0.5}'))
    {'a': 2.0, 'b': 0.5}
    >>> read_costs_file(io.BytesIO(b"feature,cost\\na,2\\n"))
    {'a': 2.0}
    """
    costs: dict[str, float] = {}
    name, found = _entries(source, "cost", max_bytes)
    for column, given, where in found:
        cost = number(given) if isinstance(given, str) else given
        if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 < cost < 2**1000:
            raise InputError(
                f"{name} has the cost {quoted(given)} in {where}; expected a number above 0."
            )
        if column in costs:
            raise InputError(f"{name} has a second cost of {quoted(column)} in {where}; keep one.")
        costs[column] = float(cost)
    return costs


def _entries(
    source: Source, what: str, max_bytes: int | None
) -> tuple[str, Iterator[tuple[str, Any, str]]]:
    """Return the name of the file, and pairs of texts or JSON values with their places."""
    with opened(source, max_bytes=max_bytes, progress=False) as stream:
        name, text = stream.name, decoded(stream.name, stream.read())
    if not text.strip():
        raise InputError(f"{name} is an empty file; expected lines of column and {what}.")
    is_json = text.lstrip()[:1] in ("{", "[")
    return name, (_from_json if is_json else _from_lines)(name, text, what)


def _from_lines(name: str, text: str, what: str) -> Iterator[tuple[str, Any, str]]:
    first = text.split("\n", 1)[0]
    rows = csv.reader(
        io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count), strict=True
    )
    try:
        for row in rows:
            cells = [cell.strip() for cell in row]
            if not any(cells) or (
                rows.line_num == 1 and cells in (["column", what], ["feature", what])
            ):
                continue
            if len(cells) != 2 or not all(cells):
                raise InputError(
                    f"{name} has {len([cell for cell in cells if cell])} values in line "
                    f"{rows.line_num}; expected a column and its {what}."
                )
            yield cells[0], cells[1], f"line {rows.line_num}"
    except csv.Error as error:
        raise InputError(f"{name} cannot be read in line {rows.line_num}: {error}.") from None


def _from_json(name: str, text: str, what: str) -> Iterator[tuple[str, Any, str]]:
    expected = {"group": '{"group": ["column", …]}', "cost": '{"column": 2.5}'}[what]
    twice: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        twice.extend(key for place, key in enumerate(keys) if key in keys[:place])
        return dict(pairs)

    try:
        document = json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError):
        raise InputError(f"{name} is not valid JSON; expected {expected}.") from None
    if not isinstance(document, dict) or not document:
        raise InputError(f"{name} holds {quoted(document)}; expected {expected}.")
    if twice:
        raise InputError(f"{name} holds {quoted(twice[0])} twice; name it once.")
    for key, value in document.items():
        yield key, value, quoted(key)

"""Writes columns as CSV, TSV, Parquet or Feather: whole or not at all, and safe to open in a
spreadsheet.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.atomic_files import named_file, replace_file
from graphsieve._base.errors import InputError, InputTypeError, UsageError
from graphsieve._base.optional import needed
from graphsieve._base.parameters import as_text, must_be, one_line, quoted, texts
from graphsieve.table.files.table_file import TableFile, object_array

WRITABLE = {
    ".csv": ",",
    ".tsv": "\t",
    ".csv.gz": ",",
    ".tsv.gz": "\t",
    ".parquet": "",
    ".feather": "",
}
# A spreadsheet takes a cell that begins so for a formula (OWASP ASVS 1.2.10).
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\0")


def check_writable_format(path: str | Path) -> str:
    """The ending of a file we can write, which says how; an error otherwise, before any work is
    done.
    """
    file = named_file(path)
    name = file.name.lower()
    for suffix in WRITABLE:
        if name.endswith(suffix):
            return suffix
    raise UsageError(
        f"{quoted(file.name)} does not say how to write it; let its name end in one of "
        f"{', '.join(WRITABLE)}."
    )


def output_columns(table: TableFile, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Columns of a table as `write_table` takes them, in the order of `names`: features and columns
    kept apart.

    Whole numbers are integers again, also beside missing values.
    """
    position = {name: at for at, name in enumerate(table.names)}
    names = texts()("names", names)
    for name in names:
        if name not in position and name not in table.kept:
            raise UsageError(
                f"{table.name} has no column {quoted(name)} among its features and those kept "
                "apart."
            )
    return {
        name: table.kept[name]
        if name in table.kept
        else _output_column(table, name, position[name])
        for name in names
    }


def write_table(
    path: str | Path,
    columns: Mapping[str, Any],
    *,
    raw_names: bool = False,
    types: Mapping[str, Any] | None = None,
) -> None:
    """Write a table to a file, in the format its name ends in.

    Parameters
    ----------
    path : path
        Ends in ``.csv``, ``.tsv`` (either also with ``.gz``), ``.parquet`` or ``.feather``.
    columns : mapping of str to array
        One value per row: numbers or text; None and NaN are missing. Whole numbers are written as
        such if the array is one of integers.
    raw_names : bool
        Whether names and texts that a spreadsheet would take for formulas are left as they are.
        Parquet and Feather always do.
    types : mapping of str to types of Arrow's, or None
        What Parquet and Feather are to hold these columns as, where that changes no value; see
        `TableFile`.
    """
    file = named_file(path)
    suffix = check_writable_format(file)
    separator = WRITABLE[suffix]
    _check_columns(columns)
    if not isinstance(types, Mapping | None):
        raise InputTypeError(must_be("types", "a dict of names and types of Arrow's", types))
    if not separator:
        try:
            content = _arrow_bytes(suffix, columns, types or {})
        except UnicodeError:
            raise InputError(
                f"a name or a text holds half a character (a lone surrogate), which {suffix} files "
                "cannot hold; write .csv."
            ) from None
        except (ValueError, TypeError, NotImplementedError, OverflowError) as error:
            # Pyarrow's own are of these kinds
            raise InputTypeError(
                f"{suffix} files cannot hold these values ({one_line(str(error))}); write .csv."
            ) from None
        replace_file(file, content)
        return
    replace_file(file, table_text(columns, separator, raw_names))


def _check_columns(columns: Any) -> None:
    """Lists of the same length, by names."""
    if not isinstance(columns, Mapping):
        raise InputTypeError(must_be("columns", "a dict of names and their values", columns))
    texts()("the names of columns", list(columns))
    try:
        shapes = {np.shape(values) for values in columns.values()}
    except ValueError:
        raise InputError(
            "columns must be lists of single values, got lists of different lengths in one of them."
        ) from None
    if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        raise InputError(
            "columns must be lists of values, none shorter than another, got shapes "
            f"{', '.join(map(str, sorted(shapes)))}."
        )


def table_text(columns: Mapping[str, Any], delimiter: str = ",", raw_names: bool = False) -> str:
    """The columns as `write_table` writes them to a text file."""
    return csv_text(list(columns), _rows(columns), delimiter, raw_names)


def is_like_a_formula(value: Any) -> bool:
    """Whether a spreadsheet would take it for a formula, so that a ``'`` is put in front."""
    return isinstance(value, str) and value.startswith(_FORMULA)


def csv_text(
    header: Sequence[str] | None,
    rows: Iterable[Sequence[Any]],
    delimiter: str = ",",
    raw_names: bool = False,
) -> str:
    r"""Rows as text after RFC 4180, with line feeds.

    Parameters
    ----------
    header : sequence of str or None
        The first line.
    rows : iterable of sequences
        Text, numbers, truth values; None and NaN give empty cells. Floats are written with as few
        digits as read back the same.
    delimiter : str
        Between two cells.
    raw_names : bool
        Whether texts that a spreadsheet would take for formulas are left as they are; otherwise a
        ``'`` is put in front.

    Examples
    --------
    >>> csv_text(["name", "-x"], [["a,b", -0.5], ["=1+1", None]])
    'name,\'-x\n"a,b",-0.5\n\'=1+1,\n'
    """
    lines = io.StringIO()
    for row in rows if header is None else (header, *rows):
        cells = [_cell(value, delimiter, raw_names) for value in row]
        # A line without anything is no row to a reader.
        lines.write('""' if cells == [""] else delimiter.join(cells))
        lines.write("\n")
    return lines.getvalue()


def _output_column(table: TableFile, name: str, at: int) -> NDArray[Any]:
    part = table.matrix[:, [at]]
    values: NDArray[Any] = (part.toarray() if sp.issparse(part) else np.asarray(part)).reshape(-1)
    if name not in table.whole or values.dtype.kind != "f":
        return values
    if np.isfinite(values).all() and (np.abs(values) < 2**63).all():
        return values.astype(np.int64)
    return object_array(
        [
            None if math.isnan(value) else int(value) if math.isfinite(value) else value
            for value in values.tolist()
        ]
    )


def _cell(value: Any, delimiter: str, raw_names: bool) -> str:
    if isinstance(value, str):
        text = value if raw_names or not is_like_a_formula(value) else f"'{value}"
        needs_quotes = (
            any(sign in text for sign in (delimiter, '"', "\n", "\r")) or text != text.strip()
        )
        return '"' + text.replace('"', '""') + '"' if needs_quotes else text
    if value is None:
        return ""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, np.floating) and value.dtype.itemsize < 8:
        return "" if np.isnan(value) else _shortest(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputTypeError(
            f"a cell must be a text, a number or None, got {quoted(value)}."
        ) from None
    return "" if math.isnan(number) else repr(number)


def _shortest(value: np.floating[Any]) -> str:
    """The fewest digits that give the same number of this precision."""
    return str(value.item() if not np.isfinite(value) else str(value))


def _rows(columns: Mapping[str, Any]) -> Iterable[tuple[Any, ...]]:
    return zip(*(_values(values) for values in columns.values()), strict=True)


def _values(values: Any) -> list[Any]:
    """Of a column, as Python has them where that loses nothing."""
    array = np.asarray(values)
    short_floats = array.dtype.kind == "f" and array.dtype.itemsize < 8
    return list(array) if short_floats else list(array.tolist())


def _arrow_bytes(suffix: str, columns: Mapping[str, Any], types: Mapping[str, Any]) -> bytes:
    pa = needed(
        "pyarrow", f'{suffix} files need pyarrow: pip install "graphsieve[arrow]", or write .csv.'
    )
    plain = {name: _arrow_column(np.asarray(values), pa) for name, values in columns.items()}
    table = pa.table(
        {name: _of_type(column, types.get(name), pa) for name, column in plain.items()}
    )
    content = io.BytesIO()
    if suffix == ".parquet":
        needed("pyarrow.parquet", "Parquet needs pyarrow.").write_table(table, content)
    else:
        with pa.ipc.new_file(content, table.schema) as file:
            file.write_table(table)
    return content.getvalue()


def _of_type(column: Any, wanted: Any, pa: Any) -> Any:
    """The column in this type if it says the same there; as it is otherwise, such as truth
    values of which some were filled.
    """
    if wanted is None:
        return column
    try:
        found = column.cast(wanted)
        return found if found.cast(column.type).equals(column) else column
    except pa.ArrowException:
        # a type that nothing can be made into, or a number that it cannot hold
        return column


def _arrow_column(values: NDArray[Any], pa: Any) -> Any:
    """With a null where a value is missing; a column of mixed kinds is one of text."""
    if values.dtype.kind == "O":
        plain = values.tolist()
        try:
            return pa.array(plain, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            return pa.array([None if value is None else as_text(value) for value in plain])
    return pa.array(values, from_pandas=True)

"""Writing of columns as CSV, TSV, Parquet or Feather.

A file is written completely or not at all. Text files are safe to open in a spreadsheet.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.atomic_files import create_file, named_file, replace_file
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
# A spreadsheet interprets a cell with such a beginning as a formula (OWASP ASVS 1.2.10).
# A terminal executes the sequences that such a character begins. Tabs and line breaks are data.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\0")


def check_writable_format(path: str | Path) -> str:
    """Return the suffix, which determines the output format, or raise an error.

    This is called before any work is done.
    """
    file = named_file(path)
    name = file.name.lower()
    for suffix in WRITABLE:
        if name.endswith(suffix):
            return suffix
    raise UsageError(
        f"{quoted(file.name)} has no suffix of a supported output format; use one of "
        f"{', '.join(WRITABLE)}."
    )


def output_columns(table: TableFile, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return features and separate columns of a table for `write_table`, in the order of `names`.

    Columns of integers are converted from floats to integers, also if they have missing values.
    """
    position = {name: at for at, name in enumerate(table.names)}
    names = texts()("names", names)
    for name in names:
        if name not in position and name not in table.kept:
            raise UsageError(
                f"{table.name} has no column {quoted(name)} among its features and separate "
                "columns."
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
    overwrite: bool = True,
) -> None:
    """Write a table to a file, in the format that the suffix indicates.

    Parameters
    ----------
    path : path
        Path with the suffix ``.csv``, ``.tsv``, ``.csv.gz``, ``.tsv.gz``, ``.parquet`` or
        ``.feather``.
    columns : mapping of str to array
        Columns with one value per row: numbers or text. None and NaN are missing values. Numbers
        are written as integers if the array has an integer type.
    raw_names : bool
        Whether names and texts that a spreadsheet or a terminal would execute are not changed.
        Parquet and Feather files never change them.
    types : mapping of str to Arrow type, or None
        Types of these columns in Parquet and Feather files. A type is ignored if it would change a
        value. See `TableFile`.
    overwrite : bool
        Whether an existing file is replaced. Otherwise it raises `FileExistsError`.
    """
    write = replace_file if overwrite else create_file
    file = named_file(path)
    suffix = check_writable_format(file)
    separator = WRITABLE[suffix]
    _check_columns(columns)
    if not isinstance(types, Mapping | None):
        raise InputTypeError(must_be("types", "a dict of names and Arrow types", types))
    if not separator:
        try:
            content = _arrow_bytes(suffix, columns, types or {})
        except UnicodeError:
            raise InputError(
                f"a name or a text holds half a character (a lone surrogate), which {suffix} files "
                "cannot hold; write .csv."
            ) from None
        except (ValueError, TypeError, NotImplementedError, OverflowError) as error:
            # The errors of pyarrow are subclasses of these.
            raise InputTypeError(
                f"{suffix} files cannot hold these values ({one_line(str(error))}); write .csv."
            ) from None
        write(file, content)
        return
    write(file, table_text(columns, separator, raw_names))


def _check_columns(columns: Any) -> None:
    """Raise an error unless the columns are named lists of equal length."""
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
            "columns must be lists of values of equal length, got shapes "
            f"{', '.join(map(str, sorted(shapes)))}."
        )


def table_text(columns: Mapping[str, Any], delimiter: str = ",", raw_names: bool = False) -> str:
    """Return the columns as the text that `write_table` writes."""
    return csv_text(list(columns), _rows(columns), delimiter, raw_names)


def is_like_a_formula(value: Any) -> bool:
    """Whether a spreadsheet would interpret the value as a formula, so that it needs a ``'``."""
    return isinstance(value, str) and value.startswith(_FORMULA)


def has_control_characters(value: Any) -> bool:
    """Whether a terminal would execute a part of the value, so that this part is escaped."""
    return isinstance(value, str) and _CONTROL.search(value) is not None


def _harmless(value: str) -> str:
    """Return the text so that neither a spreadsheet nor a terminal executes it."""
    text = f"'{value}" if is_like_a_formula(value) else value
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def csv_text(
    header: Sequence[str] | None,
    rows: Iterable[Sequence[Any]],
    delimiter: str = ",",
    raw_names: bool = False,
) -> str:
    r"""Return rows as text according to RFC 4180, but with line feeds as line endings.

    Parameters
    ----------
    header : sequence of str or None
        The first line.
    rows : iterable of sequences
        Rows of text, numbers and booleans. None and NaN give empty cells. Floats are written with
        the smallest number of digits that gives the same float when read.
    delimiter : str
        Separator of the cells.
    raw_names : bool
        Whether texts that a spreadsheet or a terminal would execute are not changed. Otherwise a
        ``'`` is put in front of formulas, and control characters become escapes such as ``\x1b``.

    Examples
    --------
    >>> csv_text(["name", "-x"], [["a,b", -0.5], ["=1+1", None]])
    'name,\'-x\n"a,b",-0.5\n\'=1+1,\n'
    """
    lines = io.StringIO()
    for row in rows if header is None else (header, *rows):
        cells = [_cell(value, delimiter, raw_names) for value in row]
        # Readers skip empty lines, so a row with one empty cell is written with quotes.
        lines.write('""' if cells == [""] else delimiter.join(cells))
        lines.write("\n")
    return lines.getvalue()


def _output_column(table: TableFile, name: str, at: int) -> NDArray[Any]:
    part = table.matrix[:, [at]]
    values: NDArray[Any] = (part.toarray() if sp.issparse(part) else np.asarray(part)).reshape(-1)
    if name in table.levels:
        levels = object_array([*table.levels[name], None])
        return np.asarray(levels[np.where(np.isnan(values), -1, values).astype(np.int64)])
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
        text = value if raw_names else _harmless(value)
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
            f"a cell must be text, a number or None, got {quoted(value)}."
        ) from None
    return "" if math.isnan(number) else repr(number)


def _shortest(value: np.floating[Any]) -> str:
    """Return the shortest text that gives the same number in this precision."""
    return str(value.item() if not np.isfinite(value) else str(value))


def _rows(columns: Mapping[str, Any]) -> Iterable[tuple[Any, ...]]:
    return zip(*(_values(values) for values in columns.values()), strict=True)


def _values(values: Any) -> list[Any]:
    """Return the values of a column, as Python values unless that would add digits."""
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
    """Return the column in this type, or unchanged if the type would change a value.

    For example, a column of booleans does not fit its original type if missing values were filled.
    """
    if wanted is None:
        return column
    try:
        found = column.cast(wanted)
        return found if found.cast(column.type).equals(column) else column
    except pa.ArrowException:
        # No conversion to this type exists, or the type cannot represent a number.
        return column


def _arrow_column(values: NDArray[Any], pa: Any) -> Any:
    """Return an Arrow array with nulls for missing values. A column of mixed types becomes text."""
    if values.dtype.kind == "O":
        plain = values.tolist()
        try:
            return pa.array(plain, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            return pa.array([None if value is None else as_text(value) for value in plain])
    return pa.array(values, from_pandas=True)

"""Reading of a file of any format. The first bytes decide which reader is used."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from graphsieve._base.errors import InputError, UsageError
from graphsieve._base.messages import Part, parameter, separated_by
from graphsieve._base.parameters import (
    boolean,
    checked,
    either,
    must_be,
    nearest,
    quoted,
    text,
    texts,
)
from graphsieve.table.files.arrow import read_arrow
from graphsieve.table.files.excel import read_excel
from graphsieve.table.files.h5ad import read_h5ad
from graphsieve.table.files.matrix_market import read_mtx
from graphsieve.table.files.npz import read_npy, read_npz
from graphsieve.table.files.opening import ByteSource, Source, check_disk, opened
from graphsieve.table.files.table_file import (
    MISSING,
    TableFile,
    check_kept,
    without_counters,
    without_excluded,
    without_identifiers,
)
from graphsieve.table.files.text import TextOptions, check_text_options, read_text
from graphsieve.table.files.text_columns import (
    check_declared,
    check_numeric,
    with_categories,
)

FORMATS = ("csv", "tsv", "xlsx", "parquet", "feather", "npz", "npy", "mtx", "h5ad")
_ALIASES = {
    "txt": "csv",
    "arrow": "feather",
    "ipc": "feather",
    "pq": "parquet",
    "h5": "h5ad",
    "hdf5": "h5ad",
    "tab": "tsv",
}
_BEGINNINGS = {
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"\xff\xff\xff\xff": "feather",
    b"\x93NUMPY": "npy",
    b"\x89HDF\r\n\x1a\n": "h5ad",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
}
_REFUSED = {
    b"FEA1": "is a Feather file of the first version; write it again with a newer pyarrow",
    b"BZh": "is compressed with bzip2; decompress it first, or use gzip or zstd",
    b"\xfd7zXZ\0": "is compressed with xz; decompress it first, or use gzip or zstd",
    b"\x1f\x8b": "is compressed twice; decompress it first",
    b"\x28\xb5\x2f\xfd": "is compressed twice; decompress it first",
    b"\xd0\xcf\x11\xe0": (
        "is an Excel workbook of an old version or with a password; save it as .xlsx without a "
        "password, or as CSV"
    ),
    b"\x89PNG": "is an image, not text; expected a table",
    b"%PDF-": "is a PDF document, not text; export the table as CSV",
}
PARAMETERS = {
    "keep": texts(),
    "categorical": texts(),
    "numeric": texts(),
    "id_column": either(None, text()),
    "sep": either(None, text()),
    "encoding": text(),
    "header": boolean(),
    "comment": either(None, text()),
    "key": either(None, text()),
    "keep_na_text": boolean(),
    "exclude": texts(),
    "na_values": texts(),
    "decimal": text(),
    "thousands": either(None, text()),
    "keep_counter": boolean(),
}
_PICKLES = ("pkl", "pickle", "joblib")


def read_table(
    source: Source,
    *,
    keep: Sequence[str] = (),
    id_column: str | None = None,
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    exclude: Sequence[str] = (),
    keep_counter: bool = False,
    na_values: Sequence[str] = (),
    decimal: str = ".",
    thousands: str | None = None,
    sep: str | None = None,
    encoding: str = "utf-8",
    header: bool = True,
    comment: str | None = None,
    key: str | None = None,
    format: str | None = None,
    max_bytes: int | None = None,
    keep_na_text: bool = False,
    progress: bool | None = None,
) -> TableFile:
    """Read a table from a file.

    The formats are CSV and similar text, Excel (.xlsx), Parquet, Feather, NPZ, NPY, MTX and h5ad, also compressed
    with gzip or zstd. The same rules decide for every format which values are missing, numbers or
    text. Text is never converted to numbers by guessing. A column with more text than numbers is a
    category. It is left out if it has fewer than two rows per level, or dates. Other text among
    numbers is an error, unless the file declares the type of the column. A column that numbers the
    rows is left out.

    Parameters
    ----------
    source : str, path or binary stream
        A file, ``"-"`` for standard input, or an open stream.
    keep : sequence of str
        Columns of any kind that are returned separately from the numbers, such as a target.
    id_column : str or None
        A further separate column, with row names. In a text file they stay as they are written
        (1.10 is not 1.1).
    categorical : sequence of str
        Columns that are categories, whatever they contain.
    numeric : sequence of str
        Columns that must be numbers. The first cell that is not raises an error.
    exclude : sequence of str
        Columns that are not features. A text file may contain anything in them.
    keep_counter : bool
        Whether columns that number the rows are features.
    na_values : sequence of str
        Further texts of missing values in a text file or in Excel. A number matches however it is written (-999
        and -999.0). In columns that otherwise contain only numbers, ``?``, ``-`` and ``.`` are
        always missing.
    decimal : str
        Decimal sign in a text file or in the text of an Excel file, a point or a comma.
    thousands : str or None
        Sign between groups of three digits in such text: a comma, a point, an apostrophe, an
        underscore or a blank.
    sep : str or None
        Separator of the columns of a text file. None uses the separator in Excel's line ``sep=;``
        above the header. Without this line, it uses the most frequent of comma, semicolon, tab and
        ``|`` in the first line.
    encoding : str
        Encoding of a text file.
    header : bool
        Whether the first line of a text file contains the column names. Otherwise the names are
        ``column_1``, ``column_2``, ...
    comment : str or None
        Lines of a text file that start with this text are skipped.
    key : str or None
        The array of an NPZ file that is the table, if the file has several arrays. The sheet of an
        Excel file; None is the first sheet.
    format : str or None
        Format of the file. None detects it from the first bytes or the suffix.
    max_bytes : int or None
        Maximum size after decompression. None is twice the memory of the machine.
    keep_na_text : bool
        Whether texts such as ``NA`` are ordinary values in the columns of `keep`. Then only empty
        cells are missing there.
    progress : bool or None
        Whether to show progress for a file that takes long. None shows it on a terminal.

    Returns
    -------
    TableFile
        The table.

    Raises
    ------
    UsageError
        If an argument names something that does not exist, such as a file or a column.
    InputError
        If the content of the file is invalid.

    Examples
    --------
    >>> import io
    >>> table = read_table(io.BytesIO(b"size,day,color\\n1.5,2026-01-31,red\\n2,2026-02-01,blue\\n"))
    >>> table.names, table.left_out, table.levels
    (('size', 'color'), {'day': 'dates'}, {'color': ('blue', 'red')})
    >>> table.matrix.tolist()
    [[1.5, 1.0], [2.0, 0.0]]
    """
    given: dict[str, Any] = {
        "keep": keep,
        "categorical": categorical,
        "numeric": numeric,
        "sep": sep,
        "encoding": encoding,
        "header": header,
        "comment": comment,
        "key": key,
        "id_column": id_column,
        "keep_na_text": keep_na_text,
        "exclude": exclude,
        "keep_counter": keep_counter,
        "na_values": na_values,
        "decimal": decimal,
        "thousands": thousands,
    }
    given = checked(given, PARAMETERS)
    keep = given["keep"] if id_column is None else (*given["keep"], id_column)
    named = {
        name: tuple(dict.fromkeys(given[name]))
        for name in ("categorical", "numeric", "exclude", "na_values")
    }
    options = TextOptions(
        sep,
        encoding,
        header,
        comment,
        keep_na_text,
        id_column,
        **named,
        decimal=decimal,
        thousands=thousands,
    )
    check_declared(options.categorical, options.numeric, (*keep, *options.exclude))
    check_text_options(options)
    requested = _requested_format(format)
    _refuse_pickles(source)
    with opened(source, max_bytes=max_bytes, progress=progress) as stream:
        found = _format(stream, _suffix(source)) if requested is None else requested
        _check_options(stream.name, found, options, key)
        try:
            table = _read(stream, found, tuple(dict.fromkeys(keep)), options, key)
            return _checked(table, options, keep_counter=keep_counter)
        except MemoryError:
            raise InputError(
                f"{stream.name} does not fit into the memory of this machine; use fewer rows or "
                "columns."
            ) from None


def _checked(table: TableFile, options: TextOptions, *, keep_counter: bool) -> TableFile:
    """Return the table with its declared categories, and without columns that are no features."""
    declared = (*options.categorical, *options.numeric)
    check_kept(table.name, (*declared, *options.exclude), table.columns)
    table = without_excluded(table, options.exclude)
    check_numeric(table, options.numeric)
    table = without_identifiers(with_categories(table, options.categorical), options.categorical)
    return table if keep_counter else without_counters(table, declared)


def _read(
    stream: ByteSource, format: str, keep: Sequence[str], options: TextOptions, key: str | None
) -> TableFile:
    missing = frozenset(("",)) if options.keep_na_text else MISSING
    readers: dict[str, Callable[[], TableFile]] = {
        "csv": lambda: read_text(stream, keep, options),
        "tsv": lambda: read_text(stream, keep, options, prefers_tabs=True),
        "xlsx": lambda: read_excel(stream, keep, options, key),
        "parquet": lambda: read_arrow(stream, format, keep, options),
        "feather": lambda: read_arrow(stream, format, keep, options),
        "npz": lambda: read_npz(stream, keep, key, missing),
        "npy": lambda: read_npy(stream, keep),
        "mtx": lambda: read_mtx(stream, keep),
        "h5ad": lambda: read_h5ad(stream, keep, missing),
    }
    return readers[format]()


def _requested_format(format: str | None) -> str | None:
    if format is None:
        return None
    found = _ALIASES.get(format, format) if isinstance(format, str) else None
    if found not in FORMATS:
        raise UsageError(
            must_be("format", f"one of {', '.join(FORMATS)}", format, hint=nearest(format, FORMATS))
        )
    return found


def _suffix(source: Source) -> str:
    """Return the format that the suffix of the file name indicates, ignoring compression."""
    if not isinstance(source, str | os.PathLike):
        return ""
    suffixes = [suffix.lower().removeprefix(".") for suffix in Path(source).suffixes]
    named = [suffix for suffix in suffixes if suffix not in ("gz", "zst", "zstd")]
    return _ALIASES.get(named[-1], named[-1]) if named else ""


def _refuse_pickles(source: Source) -> None:
    if _suffix(source) in _PICKLES:
        raise UsageError(
            f"{quoted(Path(str(source)).name)} is a pickle, which could run any code; save the "
            "table as CSV, Parquet or NPZ."
        )


def _format(stream: ByteSource, suffix: str) -> str:
    """Return the format according to the first bytes, or else according to the suffix."""
    head = stream.head
    for beginning, what in _REFUSED.items():
        if head.startswith(beginning):
            raise InputError(f"{stream.name} {what}.")
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        raise InputError(
            f"{stream.name} is a pickle, which could run any code; save the table as CSV, Parquet "
            "or NPZ."
        )
    if head[:14].lower() == b"%%matrixmarket":
        return "mtx"
    for beginning, found in _BEGINNINGS.items():
        if head.startswith(beginning):
            return _in_archive(stream, suffix) if found == "zip" else found
    if head and suffix in FORMATS and suffix not in ("csv", "tsv"):
        raise InputError(
            f"{stream.name} has the suffix .{suffix} but does not begin like such a file; get it "
            "again, or rename it."
        )
    return "tsv" if suffix == "tsv" else "csv"


def _in_archive(stream: ByteSource, suffix: str) -> str:
    """Return "npz" or "xlsx" if a zip archive is such a file. Refuse other archives."""
    file = stream.seekable_file()
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        check_disk(stream.name, error)
        kind = "NPZ file" if suffix == "npz" else "zip archive"
        raise InputError(f"{stream.name} is a damaged {kind}; get it again.") from None
    if any(name.endswith(".npy") for name in names):
        return "npz"
    if "xl/workbook.xml" in names:
        return "xlsx"
    if "[Content_Types].xml" in names or "mimetype" in names:
        raise InputError(
            f"{stream.name} is a document of another format than .xlsx; save the sheet as .xlsx or "
            "CSV."
        )
    raise InputError(f"{stream.name} is a zip archive, not text; extract the table first.")


def _listed(options: list[Part]) -> list[str]:
    """Return the options with commas, and with "and" before the last."""
    *others, last = options
    return [*separated_by(", ", others), " and ", last] if others else [last]


def _check_options(name: str, format: str, options: TextOptions, key: str | None) -> None:
    """Refuse options that have no effect for this format, because they indicate a mistake."""
    if key is not None and format not in ("npz", "xlsx"):
        raise UsageError(
            f"{name} has the format {format.upper()}; ",
            parameter("key", key),
            " chooses an array of an NPZ file or a sheet of an Excel file only.",
        )
    if format in ("csv", "tsv"):
        return
    of_text = ["sep", "encoding", "comment"]
    of_cells = [] if format == "xlsx" else ["header", "na_values", "decimal", "thousands"]
    plain = TextOptions()
    given = [
        parameter(option)
        for option in (*of_text, *of_cells)
        if getattr(options, option) != getattr(plain, option)
    ]
    if given:
        raise UsageError(
            f"{name} has the format {format.upper()}; ",
            *_listed(given),
            " can only be used for text files.",
        )

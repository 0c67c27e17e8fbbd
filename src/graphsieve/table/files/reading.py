"""Reading of a file of any format. The first bytes decide which reader is used."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphsieve._base.errors import InputError, UsageError
from graphsieve._base.messages import parameter, separated_by
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
from graphsieve.table.files.h5ad import read_h5ad
from graphsieve.table.files.matrix_market import read_mtx
from graphsieve.table.files.npz import read_npy, read_npz
from graphsieve.table.files.opening import ByteSource, Source, check_disk, opened
from graphsieve.table.files.table_file import MISSING, TableFile, check_kept, without_identifiers
from graphsieve.table.files.text import TextOptions, check_text_options, read_text
from graphsieve.table.files.text_columns import (
    check_declared,
    check_numeric,
    with_categories,
)

FORMATS = ("csv", "tsv", "parquet", "feather", "npz", "npy", "mtx", "h5ad")
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
    b"\xd0\xcf\x11\xe0": "is an Excel workbook; save the sheet as CSV",
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
}
_PICKLES = ("pkl", "pickle", "joblib")


def read_table(
    source: Source,
    *,
    keep: Sequence[str] = (),
    id_column: str | None = None,
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
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

    The formats are CSV and similar text, Parquet, Feather, NPZ, NPY, MTX and h5ad, also compressed
    with gzip or zstd. The same rules decide for every format which values are missing, numbers or
    text. Text is never converted to numbers by guessing. A column with more text than numbers is a
    category. It is left out if it has fewer than two rows per level, or dates.

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
        The array of an NPZ file that is the table, if the file has several arrays.
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
    }
    given = checked(given | {"id_column": id_column, "keep_na_text": keep_na_text}, PARAMETERS)
    keep = given["keep"] if id_column is None else (*given["keep"], id_column)
    declared = tuple(dict.fromkeys(given["categorical"])), tuple(dict.fromkeys(given["numeric"]))
    check_declared(*declared, keep)
    options = TextOptions(sep, encoding, header, comment, keep_na_text, id_column, *declared)
    check_text_options(options)
    requested = _requested_format(format)
    _refuse_pickles(source)
    with opened(source, max_bytes=max_bytes, progress=progress) as stream:
        found = _format(stream, _suffix(source)) if requested is None else requested
        _check_options(stream.name, found, options, key)
        try:
            table = _read(stream, found, tuple(dict.fromkeys(keep)), options, key)
            check_kept(table.name, [name for names in declared for name in names], table.columns)
            check_numeric(table, declared[1])
            return without_identifiers(with_categories(table, declared[0]), declared[0])
        except MemoryError:
            raise InputError(
                f"{stream.name} does not fit into the memory of this machine; use fewer rows or "
                "columns."
            ) from None


def _read(
    stream: ByteSource, format: str, keep: Sequence[str], options: TextOptions, key: str | None
) -> TableFile:
    missing = frozenset(("",)) if options.keep_na_text else MISSING
    if format in ("parquet", "feather"):
        return read_arrow(stream, format, keep, options)
    if format == "npz":
        return read_npz(stream, keep, key, missing)
    if format == "npy":
        return read_npy(stream, keep)
    if format == "mtx":
        return read_mtx(stream, keep)
    if format == "h5ad":
        return read_h5ad(stream, keep, missing)
    return read_text(stream, keep, options, prefers_tabs=format == "tsv")


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
    """Return "npz" if a zip archive is an NPZ file. Refuse workbooks and other archives."""
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
    if "[Content_Types].xml" in names or "mimetype" in names:
        raise InputError(f"{stream.name} is a workbook, not text; save the sheet as CSV.")
    raise InputError(f"{stream.name} is a zip archive, not text; extract the table first.")


def _check_options(name: str, format: str, options: TextOptions, key: str | None) -> None:
    """Refuse options that have no effect for this format, because they indicate a mistake."""
    if key is not None and format != "npz":
        raise UsageError(
            f"{name} is a {format.upper()} file; ",
            parameter("key", key),
            " chooses an array of NPZ files only.",
        )
    if format in ("csv", "tsv"):
        return
    plain = TextOptions()
    given = [
        parameter(option)
        for option in ("sep", "encoding", "header", "comment")
        if getattr(options, option) != getattr(plain, option)
    ]
    if given:
        raise UsageError(
            f"{name} is a {format.upper()} file; ",
            *separated_by(" and ", given),
            " can only be used for text files.",
        )

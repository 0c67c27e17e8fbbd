"""A file of any format → `TableFile`: the first bytes decide which reader it gets."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from pathlib import Path

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
from graphsieve.table.files.table_file import MISSING, TableFile
from graphsieve.table.files.text import TextOptions, check_text_options, read_text

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
    b"BZh": "is compressed by bzip2; decompress it first, or use gzip or zstd",
    b"\xfd7zXZ\0": "is compressed by xz; decompress it first, or use gzip or zstd",
    b"\x1f\x8b": "is compressed twice; decompress it first",
    b"\x28\xb5\x2f\xfd": "is compressed twice; decompress it first",
    b"\xd0\xcf\x11\xe0": "is an Excel workbook; save the sheet as CSV",
    b"\x89PNG": "is a picture, not text; expected a table",
    b"%PDF-": "is a PDF document, not text; export the table as CSV",
}
PARAMETERS = {
    "keep": texts(),
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
    """Read a table from a file: CSV and its kin, Parquet, Feather, NPZ, MTX or h5ad, also
    compressed by gzip or zstd.

    What is missing, what is a number and what is text is decided the same way for every format.
    Text is never guessed into numbers.

    Parameters
    ----------
    source : str, path or binary stream
        A file, ``"-"`` for standard input, or an open stream.
    keep : sequence of str
        Columns to hand over apart from the numbers, of whatever kind: a target, probabilities.
    id_column : str or None
        One more of them, with the names of rows: in a text they stay as they are written (1.10 is
        not 1.1).
    sep : str or None
        What separates the columns of a text; None: what Excel's line ``sep=;`` above the header
        says, or else the most frequent of comma, semicolon, tab and ``|`` in its first line.
    encoding : str
        Of a text.
    header : bool
        Whether the first line of a text names the columns; otherwise they are called ``column_1``,
        ``column_2``, ...
    comment : str or None
        What a line of a text starts with that is to be skipped.
    key : str or None
        The array of an NPZ file that is the table, where it has several.
    format : str or None
        What the file is; None: as its first bytes or its name say.
    max_bytes : int or None
        The most that is read, once decompressed; None: twice the memory of the machine.
    keep_na_text : bool
        Whether ``NA`` and the like are texts in the columns of `keep`, where only an empty cell is
        then missing.
    progress : bool or None
        Whether to tell of a file that takes long; None: on a terminal.

    Returns
    -------
    TableFile
        `UsageError` where an argument names what is not there, `InputError` where the content is
        wrong.

    Examples
    --------
    >>> import io
    >>> table = read_table(io.BytesIO(b"size;colour;kind\\n1.5;red;a\\n2;;b\\n"), keep=["kind"])
    >>> table.names, table.left_out, table.kept["kind"].tolist(), table.notes
    (('size',), {'colour': 'text'}, ['a', 'b'], ('columns are separated by semicolons',))
    """
    given = {
        "keep": keep,
        "sep": sep,
        "encoding": encoding,
        "header": header,
        "comment": comment,
        "key": key,
    }
    keep = checked(given | {"id_column": id_column, "keep_na_text": keep_na_text}, PARAMETERS)[
        "keep"
    ]
    keep = keep if id_column is None else (*keep, id_column)
    options = TextOptions(sep, encoding, header, comment, keep_na_text, id_column)
    check_text_options(options)
    asked = _asked_format(format)
    _refuse_pickles(source)
    with opened(source, max_bytes=max_bytes, progress=progress) as stream:
        found = _format(stream, _suffix(source)) if asked is None else asked
        _check_options(stream.name, found, options, key)
        try:
            return _read(stream, found, tuple(dict.fromkeys(keep)), options, key)
        except MemoryError:
            raise InputError(
                f"{stream.name} does not fit into the memory of this machine; take fewer rows or "
                "columns."
            ) from None


def _read(
    stream: ByteSource, format: str, keep: Sequence[str], options: TextOptions, key: str | None
) -> TableFile:
    missing = frozenset(("",)) if options.keep_na_text else MISSING
    if format in ("parquet", "feather"):
        return read_arrow(stream, format, keep, missing)
    if format == "npz":
        return read_npz(stream, keep, key, missing)
    if format == "npy":
        return read_npy(stream, keep)
    if format == "mtx":
        return read_mtx(stream, keep)
    if format == "h5ad":
        return read_h5ad(stream, keep, missing)
    return read_text(stream, keep, options, prefers_tabs=format == "tsv")


def _asked_format(format: str | None) -> str | None:
    if format is None:
        return None
    found = _ALIASES.get(format, format) if isinstance(format, str) else None
    if found not in FORMATS:
        raise UsageError(
            must_be("format", f"one of {', '.join(FORMATS)}", format, hint=nearest(format, FORMATS))
        )
    return found


def _suffix(source: Source) -> str:
    """What the name says, without the ending of a compressed file."""
    if not isinstance(source, str | os.PathLike):
        return ""
    suffixes = [suffix.lower().removeprefix(".") for suffix in Path(source).suffixes]
    named = [suffix for suffix in suffixes if suffix not in ("gz", "zst", "zstd")]
    return _ALIASES.get(named[-1], named[-1]) if named else ""


def _refuse_pickles(source: Source) -> None:
    if _suffix(source) in _PICKLES:
        raise UsageError(
            f"{quoted(Path(str(source)).name)} is a pickle, which could run anything; save the "
            "table as CSV, Parquet or NPZ."
        )


def _format(stream: ByteSource, suffix: str) -> str:
    """By the first bytes; by the name only where these could be anything."""
    head = stream.head
    for beginning, what in _REFUSED.items():
        if head.startswith(beginning):
            raise InputError(f"{stream.name} {what}.")
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        raise InputError(
            f"{stream.name} is a pickle, which could run anything; save the table as CSV, Parquet "
            "or NPZ."
        )
    if head[:14].lower() == b"%%matrixmarket":
        return "mtx"
    for beginning, found in _BEGINNINGS.items():
        if head.startswith(beginning):
            return _in_archive(stream, suffix) if found == "zip" else found
    if head and suffix in FORMATS and suffix not in ("csv", "tsv"):
        raise InputError(
            f"{stream.name} is called .{suffix} but does not begin like such a file; get it again, "
            "or give it the right name."
        )
    return "tsv" if suffix == "tsv" else "csv"


def _in_archive(stream: ByteSource, suffix: str) -> str:
    """A zip archive is an NPZ file, a workbook, or something to be extracted first."""
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
    """An option that would change nothing was meant for another file."""
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
            " can be used for text only.",
        )

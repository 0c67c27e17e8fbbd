"""A file is written whole or not at all, and holds text that can be read again."""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
from pathlib import Path
from secrets import token_hex
from typing import Any

from graphsieve._base.errors import InputError, InputTypeError, UsageError

_NOT_WRITTEN = (".zst", ".zstd", ".bz2", ".xz", ".zip", ".7z")


def named_file(name: Any) -> Path:
    """The path that somebody gave for a file to be written."""
    if not isinstance(name, str | os.PathLike) or isinstance(os.fspath(name), bytes):
        raise InputTypeError(
            f"a file must be named by a text or a path, got a value of type {type(name).__name__}."
        )
    if "\0" in os.fspath(name):
        raise InputError(
            "the name of a file holds the character NUL, which no file can have; name another."
        )
    try:
        os.lstat(name)
    except UnicodeError:
        raise InputError(
            "the name of a file holds half a character, which no file can have; name another."
        ) from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(
                "the name of a file is longer than any file can have; name another."
            ) from None
    # a path would lose the slash, and be one of a file
    if os.path.basename(name) in ("", ".") and os.fspath(name):
        raise InputError(f"{os.fspath(name)} is a folder; name a file in it.")
    return Path(name)


def check_compression(path: Path) -> None:
    """Raise if the name says that the file is compressed in a way that we do not write."""
    if path.suffix.lower() in _NOT_WRITTEN:
        raise UsageError(
            f"{path.name} would have to be compressed otherwise than by gzip; "
            f"let its name end in .gz, or leave {path.suffix} out."
        )


def json_text(document: Any) -> str:
    """The document as JSON for people to read; half characters (lone surrogates) are written by
    their numbers, as JSON can.
    """
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1)
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)


def replace_file(path: Path, content: str | bytes) -> None:
    """Write to a temporary file beside `path` and move it there, so that no reader ever sees half
    of it.

    A text is compressed where the name ends in .gz, without a time, so that the same text gives the
    same bytes.
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file in it.")
    if path.exists() and not path.is_file():  # also through a link, such as /dev/stdout
        # A move would put a file in the place of a device or a pipe, which others use; who may do
        # that may do harm.
        raise InputError(f"{path} is no ordinary file; write elsewhere.")
    if not path.parent.is_dir():
        raise InputError(
            f"the folder {path.parent} does not exist; create it first, or write elsewhere."
        )
    data = _as_named(path, content) if isinstance(content, str) else content
    mode = _mode(path)
    name = path.parent / f".graphsieve-{token_hex(8)}.part"
    try:
        # Rights as for any new file of this process; or as for the one that is replaced, and until
        # then nobody's but ours.
        with open(
            name,
            "xb",
            opener=lambda path, flags: os.open(path, flags, 0o666 if mode is None else 0o600),
        ) as file:
            file.write(data)
        if mode is not None:
            os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        name.unlink(missing_ok=True)
        raise


def _as_named(path: Path, text: str) -> bytes:
    check_compression(path)
    data = text.encode("utf-8", errors="backslashreplace")
    return gzip.compress(data, mtime=0) if path.suffix.lower() == ".gz" else data


def _mode(path: Path) -> int | None:
    """Who may read and write the file that is replaced; None where there is none."""
    return path.stat().st_mode & 0o777 if path.is_file() and not path.is_symlink() else None

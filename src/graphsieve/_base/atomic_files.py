"""Write files atomically: a file is written completely or not at all.

`replace_file` replaces an existing file. `create_file` never does.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex
from typing import Any

from graphsieve._base.errors import InputError, InputTypeError, UsageError

_ESCAPED = re.compile("[\ud800-\udfff\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_NOT_WRITTEN = (".zst", ".zstd", ".bz2", ".xz", ".zip", ".7z")


def named_file(name: Any) -> Path:
    """Return the path for an output file, or raise if the name cannot be used."""
    if not isinstance(name, str | os.PathLike) or isinstance(os.fspath(name), bytes):
        raise InputTypeError(
            f"a file name must be a string or a path, got a value of type {type(name).__name__}."
        )
    if "\0" in os.fspath(name):
        raise InputError("a file name must not contain the NUL character; choose another name.")
    try:
        os.lstat(name)
    except UnicodeError:
        raise InputError(
            "a file name must not contain half a character (a lone surrogate); choose another name."
        ) from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(
                "a file name is longer than the file system allows; choose a shorter name."
            ) from None
    # `Path` drops a trailing slash, so a folder would look like a file.
    if os.path.basename(name) in ("", ".") and os.fspath(name):
        raise InputError(f"{os.fspath(name)} is a folder; name a file in it.")
    return Path(name)


def check_compression(path: Path) -> None:
    """Raise if the file name implies a compression format that cannot be written."""
    if path.suffix.lower() in _NOT_WRITTEN:
        raise UsageError(
            f"{path.name} cannot be written, since gzip is the only supported compression; "
            f"use the suffix .gz, or remove {path.suffix}."
        )


def json_text(document: Any) -> str:
    """Return the document as indented JSON.

    Some characters are written as ``\\u`` escapes, which stand for the same text: lone surrogates,
    control characters, line separators, and marks that change the direction of the text. Otherwise
    a name could change what a terminal or an editor shows.
    """
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def replace_file(path: Path, content: str | bytes) -> None:
    """Replace a file atomically: write to a temporary file in the same folder, then rename it.

    Text is compressed with gzip if the name ends in .gz. The compressed data contains no time
    stamp, so that the same text always gives the same bytes.
    """
    _write_file(path, content, os.replace, _mode(path))


def create_file(path: Path, content: str | bytes) -> None:
    """Create a file atomically, and raise `FileExistsError` if the name is in use.

    The system decides this at the moment of creation. A file that appeared after an earlier check
    is therefore never replaced, and of several processes only one succeeds.
    """
    _write_file(path, content, _place_exclusively, None)


def _write_file(
    path: Path,
    content: str | bytes,
    place: Callable[[Path, Path], object],
    mode: int | None,
) -> None:
    """Write a temporary file in the same folder, and give it its final name with `place`."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file in it.")
    if path.exists() and not path.is_file():  # also through a link, such as /dev/stdout
        # The rename would replace a device or a pipe that other processes use.
        raise InputError(f"{path} is not a regular file; choose another path.")
    if not path.parent.is_dir():
        raise InputError(
            f"the folder {path.parent} does not exist; create it first, or write elsewhere."
        )
    data = _as_named(path, content) if isinstance(content, str) else content
    name = path.parent / f".graphsieve-{token_hex(8)}.part"
    try:
        # A new file gets the default permissions of this process. A replacement gets those of the
        # file that it replaces, and is readable only by the owner until then.
        with open(
            name,
            "xb",
            opener=lambda path, flags: os.open(path, flags, 0o666 if mode is None else 0o600),
        ) as file:
            file.write(data)
        if mode is not None:
            os.chmod(name, mode)
        place(name, path)
    except BaseException:
        name.unlink(missing_ok=True)
        raise


def _place_exclusively(name: Path, path: Path) -> None:
    """Rename a file, but raise `FileExistsError` if the new name is in use, also by a link."""
    try:
        os.link(name, path)
    except FileExistsError:
        raise
    except (OSError, NotImplementedError):  # from the file system, or from the operating system
        # Some file systems have no hard links. An empty file reserves the name there. Every error
        # that concerns the folder or the disk also occurs here.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        try:
            os.replace(name, path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    else:
        name.unlink()


def _as_named(path: Path, text: str) -> bytes:
    check_compression(path)
    data = text.encode("utf-8", errors="backslashreplace")
    return gzip.compress(data, mtime=0) if path.suffix.lower() == ".gz" else data


def _mode(path: Path) -> int | None:
    """Return the permissions of the file that is replaced, or None if there is no such file."""
    return path.stat().st_mode & 0o777 if path.is_file() and not path.is_symlink() else None

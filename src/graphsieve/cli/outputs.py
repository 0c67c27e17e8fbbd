"""Output of results: to standard output, or to files that are checked first and written whole."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from graphsieve._base.atomic_files import check_compression, create_file, named_file, replace_file
from graphsieve._base.errors import InputError
from graphsieve._base.messages import message_of
from graphsieve._base.streams import discard

_ASCII = str.maketrans(
    {"█": "#", "─": "-", "…": "...", "−": "-", "·": ".", "±": "+-", "×": "x", "∞": "inf"}
)


class OutputError(Exception):
    """An output cannot be written."""


def output_file(name: str) -> Path:
    """Return the path of an output file."""
    try:
        return named_file(name)
    except InputError as error:
        raise OutputError(message_of(error)) from None


def check_outputs(paths: Sequence[Path], *, force: bool, inputs: Sequence[str] = ()) -> None:
    """Refuse outputs that cannot be written, before any work is done."""
    if sys.stdout is None:
        raise OutputError("standard output is closed; open it, or redirect it to /dev/null.")
    if len({_real(path) for path in paths}) < len(paths):
        raise OutputError(f"{paths[0]} is named for two outputs; name two files.")
    for path in paths:
        if any(_is_same_file(path, name) for name in inputs):
            raise OutputError(f"{path} is an input and would be overwritten; write elsewhere.")
        try:
            _check_output(path, force=force)
        except OSError as error:  # for example, a name that is too long
            raise OutputError(
                f"{path} cannot be written: {error.strerror}; write elsewhere."
            ) from None


def _is_same_file(path: Path, name: str) -> bool:
    """Whether an output is an input, also by another name: a link, a hard link, or a redirection of
    standard input.
    """
    if name != "-" and _real(path) == _real(name):
        return True
    try:
        read = os.fstat(0) if name == "-" else os.stat(name)
        # Two names of a pipe or a terminal are the same file too, but nothing is overwritten there.
        return stat.S_ISREG(read.st_mode) and os.path.samestat(read, os.stat(path))
    except (OSError, ValueError):  # One of the two does not exist, or its name is no valid name.
        return False


def _real(path: str | Path) -> str:
    """Resolve a path. Unlike `Path.resolve`, this raises no error for circular links."""
    try:
        return os.path.realpath(path)
    except OSError:  # The current folder has been removed.
        return str(path)


def _check_output(path: Path, *, force: bool) -> None:
    if str(path) == "-":
        raise OutputError("a page cannot be written to standard output; name a file.")
    check_compression(path)
    if path.is_dir():
        raise OutputError(f"{path} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise OutputError(
            f"the folder {path.parent} does not exist; create it first, or write elsewhere."
        )
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"the folder {path.parent} cannot be written to; write elsewhere.")
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is not a regular file; write elsewhere.")
    if (path.exists() or path.is_symlink()) and not force:
        raise OutputError(_exists(path))


def _exists(path: Path) -> str:
    return f"{path} exists; add --force to overwrite it, or write elsewhere."


def write(path: Path, content: str | bytes, *, force: bool) -> None:
    """Write the content as a whole or not at all.

    With `force`, an existing file is replaced. A link is replaced too; its target is not changed.
    Without it, a file that appeared since `check_outputs` is an error.
    """
    try:
        with write_errors(path):
            (replace_file if force else create_file)(path, content)
    except InputError as error:
        raise OutputError(message_of(error)) from None


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Report an error of the system as an `OutputError`."""
    try:
        yield
    except FileExistsError:
        raise OutputError(_exists(path)) from None
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}.") from None


def put(
    text: str, output: Path | None = None, format: str = "table", *, force: bool = False
) -> None:
    """Write the result to a file or to standard output."""
    if output is None:
        show(text, format)
    else:
        write(output, text, force=force)


def _json_in_ascii(text: str) -> str:
    """Return the same JSON document in ASCII. Other characters occur in its strings only."""
    return "".join(
        character if character.isascii() else json.dumps(character)[1:-1] for character in text
    )


def show(text: str, format: str = "table") -> None:
    """Write to standard output, and replace characters that its encoding does not have."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = (
            _json_in_ascii(text)
            if format == "json"
            else text.translate(_ASCII)
            if format == "table"
            else text
        )
        text = text.encode(encoding, errors="backslashreplace").decode(encoding)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        discard(sys.stdout)
        if isinstance(error, BrokenPipeError):
            raise
        raise OutputError(
            f"the result cannot be written to standard output: {error.strerror}."
        ) from None

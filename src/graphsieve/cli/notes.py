"""Notes and warnings on the error stream, in colour on a terminal."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from graphsieve._base.errors import GraphSieveWarning
from graphsieve._base.messages import message_of
from graphsieve._base.streams import write_error
from graphsieve._base.warning_filters import warnings_kept
from graphsieve.cli.option_names import for_the_command

_COLORS = {
    "chosen": "\x1b[36m",
    "rest": "\x1b[90m",
    "soft": "\x1b[90m",
    "warning": "\x1b[33m",
    "strong": "\x1b[1m",
}
_END = "\x1b[0m"


def has_colors(stream: IO[str] | None) -> bool:
    """Whether the stream is a terminal with colours, and NO_COLOR is not set (no-color.org)."""
    if stream is None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def painter(stream: IO[str] | None) -> Any:
    """Return a function that colours a text by its kind, if the stream shows colours."""
    colored = has_colors(stream)
    return lambda text, kind: f"{_COLORS[kind]}{text}{_END}" if colored and text else text


def note(line: str, *, quiet: bool = False, kind: str | None = None) -> None:
    """Write a line to the error stream. A failure to write is ignored, so no result is lost."""
    if quiet:
        return
    text = "".join(
        character if character.isprintable() or character == "\n" else "·" for character in line
    )
    shown = painter(sys.stderr)(text, kind) if kind else text
    write_error(f"{shown}\n")


@contextmanager
def shown_warnings(*, quiet: bool, debug: bool) -> Iterator[list[str]]:
    """Collect warnings, and print each once with option names instead of parameter names.

    Warnings of other libraries are shown only with --debug.
    """
    messages: list[str] = []
    found: list[warnings.WarningMessage] = []
    try:
        with warnings_kept(everything=True) as found:
            yield messages
    finally:  # Warnings are shown before an error as well, because they often explain it.
        _show(found, messages, quiet=quiet, debug=debug)


def _show(
    found: list[warnings.WarningMessage], messages: list[str], *, quiet: bool, debug: bool
) -> None:
    for one in found:
        text = for_the_command(message_of(one.message))
        if issubclass(one.category, GraphSieveWarning):
            if text not in messages:
                messages.append(text)
                note(f"warning: {text}", quiet=quiet, kind="warning")
        elif debug:
            note(f"{one.category.__name__}: {text}", quiet=quiet)

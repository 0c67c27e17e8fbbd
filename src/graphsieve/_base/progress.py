"""A progress line on the terminal for work that takes longer than two seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import TracebackType

from graphsieve._base.streams import write_error

PATIENCE = 2.0  # seconds before the first update
PAUSE = 0.2  # seconds between updates

_wanted: ContextVar[bool | None] = ContextVar("wanted", default=None)


@contextmanager
def showing(wanted: bool | None) -> Iterator[None]:
    """Set the default of whether progress is shown within the block.

    None shows progress if the error stream is a terminal.
    """
    before = _wanted.set(wanted)
    try:
        yield
    finally:
        _wanted.reset(before)


def say(line: str) -> None:
    """Write a permanent line if progress is shown."""
    if _is_shown(_wanted.get()):
        write_error(f"{line}\n")


def _is_shown(wanted: bool | None) -> bool:
    if wanted is not None:
        return wanted
    with suppress(ValueError, AttributeError):  # The stream is closed or missing.
        return sys.stderr.isatty()
    return False


class Progress:
    """A progress line on the error stream. It is overwritten, and removed at the end.

    Parameters
    ----------
    title : str
        Name of the work.
    shown : bool or None
        Whether to show the line. None uses the default set by `showing`, which shows the line if
        the error stream is a terminal.
    """

    def __init__(self, title: str, shown: bool | None = None) -> None:
        self.title = title
        self.shown = _is_shown(_wanted.get() if shown is None else shown)
        self._next = time.monotonic() + PATIENCE
        self._width = 0

    def __enter__(self) -> Progress:
        return self

    def tell(self, state: str) -> None:
        """Show the state of the work, such as ``"round 3 of 40"``."""
        now = time.monotonic()
        if not self.shown or now < self._next:
            return
        self._next = now + PAUSE
        self._write(f"{self.title}: {state}")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._width:
            self._write("")
            write_error("\r")

    def _write(self, line: str) -> None:
        write_error("\r" + line.ljust(self._width))
        self._width = len(line)

"""A line on the terminal about work that takes longer than a second or two."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import TracebackType

from graphsieve._base.streams import write_error

PATIENCE = 2.0  # seconds before the first word
PAUSE = 0.2  # seconds between two

_wanted: ContextVar[bool | None] = ContextVar("wanted", default=None)


@contextmanager
def showing(wanted: bool | None) -> Iterator[None]:
    """While inside, whoever is not told otherwise shows progress or does not; None: on a
    terminal.
    """
    before = _wanted.set(wanted)
    try:
        yield
    finally:
        _wanted.reset(before)


def say(line: str) -> None:
    """A line that stays, where progress is shown."""
    if _is_shown(_wanted.get()):
        write_error(f"{line}\n")


def _is_shown(wanted: bool | None) -> bool:
    if wanted is not None:
        return wanted
    with suppress(ValueError, AttributeError):  # of a stream that is closed, or of none
        return sys.stderr.isatty()
    return False


class Progress:
    """Tells on the error stream how far work has come, in one line that is rewritten and removed at
    the end.

    Parameters
    ----------
    title : str
        What is being done.
    shown : bool or None
        None: as `showing` says, or if the error stream is a terminal.
    """

    def __init__(self, title: str, shown: bool | None = None) -> None:
        self.title = title
        self.shown = _is_shown(_wanted.get() if shown is None else shown)
        self._next = time.monotonic() + PATIENCE
        self._width = 0

    def __enter__(self) -> Progress:
        return self

    def tell(self, state: str) -> None:
        """Where the work stands, such as ``"round 3 of 40"``."""
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

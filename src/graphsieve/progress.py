"""A line on the terminal about work that takes longer than a second or two."""

from __future__ import annotations

import sys
import time
from types import TracebackType

PATIENCE = 2.0  # seconds before the first word
PAUSE = 0.2  # seconds between two


class Progress:
    """Tells on the error stream how far work has come, in one line that is rewritten and removed at the end.

    Parameters
    ----------
    title : str
        What is being done.
    shown : bool or None
        None: if the error stream is a terminal.
    """

    def __init__(self, title: str, shown: bool | None = None) -> None:
        self.title = title
        stream = sys.stderr
        self.shown = (stream is not None and stream.isatty()) if shown is None else shown
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

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._width:
            self._write("")
            sys.stderr.write("\r")
            sys.stderr.flush()

    def _write(self, line: str) -> None:
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = len(line)

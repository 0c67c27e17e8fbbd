"""Writing to the standard streams, which may be full, closed or missing."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import IO


def write_error(text: str) -> None:
    """Write to the error stream, and ignore failures."""
    stream = sys.stderr
    if stream is None:
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    with suppress(OSError, ValueError):  # full disk, closed terminal or closed stream
        stream.write(text.encode(encoding, errors="backslashreplace").decode(encoding))
        stream.flush()


def flush_or_discard() -> OSError | None:
    """Flush the standard streams before the process ends.

    Python also flushes them at exit. If that fails, Python ends the process with code 120 instead
    of the exit code of the command.

    Returns
    -------
    OSError or None
        The reason why output was lost, if it was.
    """
    lost: OSError | None = None
    for stream in (sys.stdout, sys.stderr):
        if stream is None:
            continue
        try:
            stream.flush()
        except OSError as error:
            discard(stream)
            lost = error if stream is sys.stdout else lost
        except ValueError:  # The stream is closed.
            pass
    return lost


def discard(stream: IO[str]) -> None:
    """Redirect a stream, including its buffered text, to the null device."""
    with suppress(OSError, ValueError):  # The stream has no file descriptor.
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(null, stream.fileno())
        finally:
            os.close(null)

"""The standard streams of the process, each of which may be full, closed or missing."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import IO


def write_error(text: str) -> None:
    """Write to the error stream; if it cannot be written, the work goes on."""
    stream = sys.stderr
    if stream is None:
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    with suppress(OSError, ValueError):  # a full disk, a terminal that is gone, a closed stream
        stream.write(text.encode(encoding, errors="backslashreplace").decode(encoding))
        stream.flush()


def flush_or_discard() -> OSError | None:
    """Flush the standard streams, for a process that is about to end.

    Python does the same at exit. If that fails, it ends the process with code 120, whatever the
    command returned. The result says why the output was lost, if it was.
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
        except ValueError:  # it is closed
            pass
    return lost


def discard(stream: IO[str]) -> None:
    """Send what a stream still holds, and all that follows, to the null device."""
    with suppress(OSError, ValueError):  # of a stream without a file
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(null, stream.fileno())
        finally:
            os.close(null)

"""The command as a process: the signals that end it, and the memory that it may have.

A library leaves both to its host. A command has to end in one sentence, with nothing half-written.
"""

from __future__ import annotations

import atexit
import errno
import os
import signal
import threading
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, NoReturn

from graphsieve._base.errors import EndedError
from graphsieve._base.streams import flush_or_discard

SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Bytes of address space that loading takes: numpy, scipy and scikit-learn; pandas, where
# scikit-learn finds it; a thread of BLAS.
_LIBRARIES, _PANDAS, _THREAD = 352 * 2**20, 224 * 2**20, 96 * 2**20
# What the loader of libraries says, in the words of several systems, where there is no memory for
# one that is there.
_NOT_LOADED = (
    "failed to map",
    "cannot allocate memory",
    "cannot create shared object descriptor",
    "out of memory",
)


def check_address_space() -> None:
    """Where this process may have little (ulimit -v), BLAS would wait for more without end, or
    end it without a word.
    """
    allowed = allowed_address_space()
    if allowed is None:
        return
    needed = _LIBRARIES + (_PANDAS if find_spec("pandas") else 0)
    if allowed < needed:
        raise MemoryError
    threads_that_fit = max(1, (allowed - needed) // _THREAD)
    if threads_that_fit < (os.cpu_count() or 1) and "OMP_NUM_THREADS" not in os.environ:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", str(threads_that_fit))


def allowed_address_space() -> int | None:
    """In bytes; None without a limit."""
    try:
        import resource  # noqa: PLC0415 - not on every system
    except ImportError:
        return None
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if allowed == resource.RLIM_INFINITY else allowed


def usual_handlers() -> dict[signal.Signals, Any]:
    """What answers the signals now, where that is ours to change: not in threads, and not where it
    was changed or is ignored.

    In the background of a shell an interruption is ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        return {}
    usual = (signal.SIG_DFL, signal.default_int_handler)
    return {number: handler for number in SIGNALS if (handler := signal.getsignal(number)) in usual}


def hear(before: Mapping[signal.Signals, Any]) -> None:
    """Let a signal end the command, instead of stopping a search that then returns its best so
    far.
    """

    def end(number: int, frame: object) -> NoReturn:
        # A second signal must not interrupt the clean-up.
        hear_no_more(before)
        raise EndedError(number)

    for number in before:
        signal.signal(number, end)


def hear_no_more(before: Mapping[signal.Signals, Any]) -> None:
    for number in before:
        signal.signal(number, signal.SIG_IGN)


def is_for_want_of_memory(error: BaseException) -> bool:
    """Also where libraries are loaded, files opened or threads started, which say so each in its
    own way.
    """
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, SystemError):  # of a library that fails without a reason
        return allowed_address_space() is not None
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    if isinstance(error, ImportError):
        told = f"{error} {error.__cause__ or ''}".lower()
        return any(words in told for words in _NOT_LOADED)
    return isinstance(error, RuntimeError) and str(error).startswith("can't start new thread")


def leave(code: int) -> NoReturn:
    """End this process at once: libraries that found no memory while they were loaded crash when
    they are taken down.
    """
    atexit._run_exitfuncs()
    flush_or_discard()
    os._exit(code)

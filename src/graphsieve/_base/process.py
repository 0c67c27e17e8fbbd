"""Signal handling and memory limits of the command-line process.

A library leaves both to its host. A command has to end with a one-sentence message and without
incomplete files.
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
# Address space in bytes for loading numpy, scipy and scikit-learn, for pandas (which scikit-learn
# imports if it is installed), and for each BLAS thread.
_LIBRARIES, _PANDAS, _THREAD = 352 * 2**20, 224 * 2**20, 96 * 2**20
# Messages of the dynamic loader on several systems when memory for a library is missing.
_NOT_LOADED = (
    "failed to map",
    "cannot allocate memory",
    "cannot create shared object descriptor",
    "out of memory",
)


def check_address_space() -> None:
    """Raise or limit the BLAS threads if the address space is limited (``ulimit -v``).

    Otherwise BLAS would wait for memory forever, or end the process without a message.
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
    """Return the limit of the address space in bytes, or None if there is no limit."""
    try:
        import resource  # noqa: PLC0415 - not available on every system
    except ImportError:
        return None
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if allowed == resource.RLIM_INFINITY else allowed


def default_handlers() -> dict[signal.Signals, Any]:
    """Return the current handlers of the signals that the command may handle itself.

    Signals with a custom handler and ignored signals are left alone: a shell ignores interruptions
    for background processes. Only the main thread can change handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        return {}
    usual = (signal.SIG_DFL, signal.default_int_handler)
    return {number: handler for number in SIGNALS if (handler := signal.getsignal(number)) in usual}


def handle_signals(before: Mapping[signal.Signals, Any]) -> None:
    """Let signals end the command. By default, an interrupted search returns its best result."""

    def end(number: int, frame: object) -> NoReturn:
        # A second signal must not interrupt the clean-up.
        ignore_signals(before)
        raise EndedError(number)

    for number in before:
        signal.signal(number, end)


def ignore_signals(before: Mapping[signal.Signals, Any]) -> None:
    for number in before:
        signal.signal(number, signal.SIG_IGN)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out.

    Loading libraries, opening files and starting threads each raise a different error then.
    """
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, SystemError):  # A library failed without giving a reason.
        return allowed_address_space() is not None
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    if isinstance(error, ImportError):
        message = f"{error} {error.__cause__ or ''}".lower()
        return any(words in message for words in _NOT_LOADED)
    return isinstance(error, RuntimeError) and str(error).startswith("can't start new thread")


def exit_immediately(code: int) -> NoReturn:
    """End this process without the usual shutdown.

    Libraries that ran out of memory while they were loaded crash during the shutdown.
    """
    atexit._run_exitfuncs()
    flush_or_discard()
    os._exit(code)

"""The command ``graphsieve``: each subcommand is a thin wrapper around the public names.

The result goes to standard output, everything else to standard error. Exit codes: 0 success, 1 a
bug in graphsieve, 2 wrong usage, 3 wrong input or a lost process, 4 output that cannot be written,
130 interrupted, 141 the reader closed the output, 143 terminated. Each command loads only the
modules that it needs.
"""

from __future__ import annotations

import atexit
import errno
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NoReturn

from graphsieve._base.errors import EndedError, InputError, LostProcessError, UsageError
from graphsieve._base.messages import Message, message_of
from graphsieve._base.streams import flush_or_discard, write_error
from graphsieve.cli.arguments import parser
from graphsieve.cli.option_names import for_the_command
from graphsieve.cli.outputs import OutputError

__all__ = ["main"]

_SIGNALS = {signal.SIGINT: (130, "interrupted."), signal.SIGTERM: (143, "ended from outside.")}
_MEMORY = (
    "graphsieve: the memory does not suffice; take fewer rows or columns, or a machine with more.\n"
)
_ENDINGS: tuple[tuple[type[BaseException], int, str | None], ...] = (
    (OutputError, 4, None),
    (UsageError, 2, None),
    (InputError, 3, None),
    (LostProcessError, 3, None),
    (ImportError, 3, None),  # an optional library; the message names it
    (KeyboardInterrupt, 130, "interrupted."),
)
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code.

    Given arguments, this is a call within Python. Without them, this process is the command: it
    ends with the code, whatever becomes of its streams.
    """
    if arguments is not None:
        return _run(list(arguments), is_process=False)
    try:
        code = _run(sys.argv[1:], is_process=True)
    except SystemExit as end:  # of argparse: help, the version, wrong usage
        code = end.code if isinstance(end.code, int) else 0
    lost = flush_or_discard()
    if lost is not None and code == 0:
        return 141 if isinstance(lost, BrokenPipeError) else 4
    return code


def _run(given: list[str], *, is_process: bool) -> int:
    before = _handlers()
    try:
        _hear(before)
        options = parser().parse_args(given)
        options.given = given
        if is_process:  # otherwise libraries may be loaded already
            _check_address_space()
        import_module(f"graphsieve.cli.{options.command}").run(options)
        _hear_no_more(before)
        code = 0
    except BaseException as error:
        try:  # noqa: SIM105 - a call to `suppress` could be interrupted itself
            _hear_no_more(before)
        except EndedError:
            pass  # it is ending anyway
        code = _answer_to(error, debug="--debug" in given)
        if is_process and _is_for_want_of_memory(error):
            _leave(code)
    finally:
        for number, handler in before.items():
            # A process that is about to end leaves it to the system, or Python would show where its
            # last steps were interrupted.
            is_last = is_process and handler is signal.default_int_handler
            signal.signal(number, signal.SIG_DFL if is_last else handler)
    return code


def _check_address_space() -> None:
    """Where this process may have little (ulimit -v), BLAS would wait for more without end, or
    end it without a word.
    """
    allowed = _allowed_address_space()
    if allowed is None:
        return
    needed = _LIBRARIES + (_PANDAS if find_spec("pandas") else 0)
    if allowed < needed:
        raise MemoryError
    threads_that_fit = max(1, (allowed - needed) // _THREAD)
    if threads_that_fit < (os.cpu_count() or 1) and "OMP_NUM_THREADS" not in os.environ:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", str(threads_that_fit))


def _allowed_address_space() -> int | None:
    """In bytes; None without a limit."""
    try:
        import resource
    except ImportError:  # not on every system
        return None
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if allowed == resource.RLIM_INFINITY else allowed


def _handlers() -> dict[signal.Signals, Any]:
    """What answers the signals now, where that is ours to change: not in threads, and not where it
    was changed or is ignored.

    In the background of a shell an interruption is ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        return {}
    usual = (signal.SIG_DFL, signal.default_int_handler)
    return {
        number: handler for number in _SIGNALS if (handler := signal.getsignal(number)) in usual
    }


def _hear(before: Mapping[signal.Signals, Any]) -> None:
    """Whoever asks this process to end is heard, and nobody takes that for a wish to see what
    there is so far.
    """

    def end(number: int, frame: object) -> NoReturn:
        # Whoever is impatient and asks twice must not interrupt what is left to be cleaned up
        _hear_no_more(before)
        raise EndedError(number)

    for number in before:
        signal.signal(number, end)


def _hear_no_more(before: Mapping[signal.Signals, Any]) -> None:
    for number in before:
        signal.signal(number, signal.SIG_IGN)


def _answer_to(error: BaseException, *, debug: bool) -> int:
    """One sentence about what ended the run; its exit code."""
    if isinstance(error, BrokenPipeError):
        return 141
    if isinstance(error, EndedError):
        code, said = _SIGNALS[signal.Signals(error.number)]
        return _complain(Message(said), code)
    if _is_for_want_of_memory(error):
        # What the run held is free for the answer
        error.__traceback__ = error.__context__ = error.__cause__ = None
        return _put(_MEMORY, 3)
    for kind, code, message in _ENDINGS:
        if isinstance(error, kind):
            return _complain(Message(message) if message else message_of(error), code)
    if debug or not isinstance(error, Exception):
        raise error
    what = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    said = f"this is a bug of ours ({what}); run it again with --debug and report what it says."
    return _complain(Message(said), 1)


def _is_for_want_of_memory(error: BaseException) -> bool:
    """Also where libraries are loaded, files opened or threads started, which say so each in its
    own way.
    """
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, SystemError):  # of a library that fails without a reason
        return _allowed_address_space() is not None
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    if isinstance(error, ImportError):
        told = f"{error} {error.__cause__ or ''}".lower()
        return any(words in told for words in _NOT_LOADED)
    return isinstance(error, RuntimeError) and str(error).startswith("can't start new thread")


def _leave(code: int) -> NoReturn:
    """End this process at once: libraries that found no memory while they were loaded crash when
    they are taken down.
    """
    atexit._run_exitfuncs()
    flush_or_discard()
    os._exit(code)


def _complain(message: Message, code: int) -> int:
    return _put(f"graphsieve: {for_the_command(message)}\n", code)


def _put(text: str, code: int) -> int:
    write_error(text)  # where that fails, the exit code says it, too
    return code

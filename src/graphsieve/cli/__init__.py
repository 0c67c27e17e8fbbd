"""The command ``graphsieve``: each subcommand is a thin wrapper around the public names.

The result goes to standard output, everything else to standard error. Exit codes: 0 success, 1 a
bug in graphsieve, 2 wrong usage, 3 wrong input or a lost process, 4 output that cannot be written,
130 interrupted, 141 the reader closed the output, 143 terminated. Each command loads only the
modules that it needs.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from importlib import import_module

from graphsieve._base.errors import EndedError, InputError, LostProcessError, UsageError
from graphsieve._base.messages import Message, message_of
from graphsieve._base.process import (
    check_address_space,
    default_handlers,
    exit_immediately,
    handle_signals,
    ignore_signals,
    is_out_of_memory,
)
from graphsieve._base.streams import flush_or_discard, write_error
from graphsieve.cli.arguments import parser
from graphsieve.cli.option_names import for_the_command
from graphsieve.cli.outputs import OutputError

__all__ = ["main"]

_ENDED = {signal.SIGINT: (130, "interrupted."), signal.SIGTERM: (143, "terminated.")}
_MEMORY = (
    "graphsieve: not enough memory; use fewer rows or columns, or a machine with more memory.\n"
)
_ENDINGS: tuple[tuple[type[BaseException], int, str | None], ...] = (
    (OutputError, 4, None),
    (UsageError, 2, None),
    (InputError, 3, None),
    (LostProcessError, 3, None),
    (ImportError, 3, None),  # The message names the missing optional library.
    (KeyboardInterrupt, 130, "interrupted."),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    With `arguments`, this is a call from Python. Without them, this process is the command, and its
    streams are flushed at the end.
    """
    if arguments is not None:
        return _run(list(arguments), is_process=False)
    try:
        code = _run(sys.argv[1:], is_process=True)
    except SystemExit as end:  # argparse ends with this after --help, --version and wrong usage
        code = end.code if isinstance(end.code, int) else 0
    lost = flush_or_discard()
    if lost is not None and code == 0:
        return 141 if isinstance(lost, BrokenPipeError) else 4
    return code


def _run(given: list[str], *, is_process: bool) -> int:
    before = default_handlers()
    try:
        handle_signals(before)
        options = parser().parse_args(given)
        options.given = given
        if is_process:  # In a call from Python, libraries may be loaded already.
            check_address_space()
        import_module(f"graphsieve.cli.{options.command}").run(options)
        ignore_signals(before)
        code = 0
    except BaseException as error:
        try:  # noqa: SIM105 - a call to `suppress` could be interrupted itself
            ignore_signals(before)
        except EndedError:
            pass  # The command is ending anyway.
        code = _answer_to(error, debug="--debug" in given)
        if is_process and is_out_of_memory(error):
            exit_immediately(code)
    finally:
        for number, handler in before.items():
            # At the end of the process, the system handles an interrupt. Python would print a
            # traceback.
            is_last = is_process and handler is signal.default_int_handler
            signal.signal(number, signal.SIG_DFL if is_last else handler)
    return code


def _answer_to(error: BaseException, *, debug: bool) -> int:
    """Report an error in one sentence, and return the exit code."""
    if isinstance(error, BrokenPipeError):
        return 141
    if isinstance(error, EndedError):
        code, text = _ENDED[signal.Signals(error.number)]
        return _report(Message(text), code)
    if is_out_of_memory(error):
        # Release the memory of the run before the message is written.
        error.__traceback__ = error.__context__ = error.__cause__ = None
        return _put(_MEMORY, 3)
    for kind, code, message in _ENDINGS:
        if isinstance(error, kind):
            return _report(Message(message) if message else message_of(error), code)
    if debug or not isinstance(error, Exception):
        raise error
    what = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    text = f"this is a bug in graphsieve ({what}); run again with --debug and report the output."
    return _report(Message(text), 1)


def _report(message: Message, code: int) -> int:
    return _put(f"graphsieve: {for_the_command(message)}\n", code)


def _put(text: str, code: int) -> int:
    write_error(text)  # A failure to write is ignored; the exit code reports the error as well.
    return code

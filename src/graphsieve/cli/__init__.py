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
    hear,
    hear_no_more,
    is_for_want_of_memory,
    leave,
    usual_handlers,
)
from graphsieve._base.streams import flush_or_discard, write_error
from graphsieve.cli.arguments import parser
from graphsieve.cli.option_names import for_the_command
from graphsieve.cli.outputs import OutputError

__all__ = ["main"]

_ENDED = {signal.SIGINT: (130, "interrupted."), signal.SIGTERM: (143, "ended from outside.")}
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
    before = usual_handlers()
    try:
        hear(before)
        options = parser().parse_args(given)
        options.given = given
        if is_process:  # otherwise libraries may be loaded already
            check_address_space()
        import_module(f"graphsieve.cli.{options.command}").run(options)
        hear_no_more(before)
        code = 0
    except BaseException as error:
        try:  # noqa: SIM105 - a call to `suppress` could be interrupted itself
            hear_no_more(before)
        except EndedError:
            pass  # it is ending anyway
        code = _answer_to(error, debug="--debug" in given)
        if is_process and is_for_want_of_memory(error):
            leave(code)
    finally:
        for number, handler in before.items():
            # A process that is about to end leaves it to the system, or Python would show where its
            # last steps were interrupted.
            is_last = is_process and handler is signal.default_int_handler
            signal.signal(number, signal.SIG_DFL if is_last else handler)
    return code


def _answer_to(error: BaseException, *, debug: bool) -> int:
    """One sentence about what ended the run; its exit code."""
    if isinstance(error, BrokenPipeError):
        return 141
    if isinstance(error, EndedError):
        code, said = _ENDED[signal.Signals(error.number)]
        return _complain(Message(said), code)
    if is_for_want_of_memory(error):
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


def _complain(message: Message, code: int) -> int:
    return _put(f"graphsieve: {for_the_command(message)}\n", code)


def _put(text: str, code: int) -> int:
    write_error(text)  # where that fails, the exit code says it, too
    return code

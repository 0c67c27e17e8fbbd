"""The command ``graphsieve``: each subcommand a thin shell over the public names.

The result goes to standard output, everything else to standard error. Exit codes: 0 done, 1 a bug of ours, 2 wrong usage, 3 wrong
input or a lost process, 4 output that cannot be written, 130 interrupted, 141 the reader of our output went away, 143 ended from
outside. What a command does not need is not loaded.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import NoReturn

from graphsieve.cli.arguments import parser
from graphsieve.cli.outputs import OutputError
from graphsieve.cli.wording import for_the_command
from graphsieve.errors import InputError, UsageError

__all__ = ["main"]


class EndedError(KeyboardInterrupt):
    """Somebody asked this process to end; an interruption, so that the processes it started end with it."""


_ENDINGS: tuple[tuple[type[BaseException], int, str | None], ...] = (
    (OutputError, 4, None),
    (UsageError, 2, None),
    (InputError, 3, None),
    (ImportError, 3, None),  # an optional library; the message names it
    (MemoryError, 3, "the memory does not suffice; take fewer rows or columns, or a machine with more."),
    (EndedError, 143, "ended from outside."),
    (KeyboardInterrupt, 130, "interrupted."),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = parser().parse_args(given)
    options.given = given
    try:
        with _ended_like_interrupted():
            import_module(f"graphsieve.cli.{options.command}").run(options)
    except BrokenPipeError:
        return 141
    except BaseException as error:
        for kind, code, message in _ENDINGS:
            if isinstance(error, kind):
                return _complain(message or error, code)
        if not isinstance(error, Exception):
            raise
        return _unexpected(error, debug=options.debug)
    return 0


@contextmanager
def _ended_like_interrupted() -> Iterator[None]:
    def end(number: int, frame: object) -> NoReturn:
        raise EndedError

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _unexpected(error: Exception, *, debug: bool) -> int:
    from graphsieve.parallel import LostProcessError

    if isinstance(error, LostProcessError):
        return _complain(error, 3)
    if debug:
        raise error
    what = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return _complain(f"this is a bug of ours ({what}); run it again with --debug and report what it says.", 1)


def _complain(message: object, code: int) -> int:
    if sys.stderr is not None:
        encoding = sys.stderr.encoding or "utf-8"
        text = f"graphsieve: {for_the_command(str(message))}\n"
        sys.stderr.write(text.encode(encoding, errors="backslashreplace").decode(encoding))
    return code

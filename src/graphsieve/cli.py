"""The command ``graphsieve``: each subcommand a thin shell over the public names.

The result goes to standard output, everything else to standard error. Exit codes: 0 done, 2 wrong usage, 3 wrong input or a
lost process, 4 output that cannot be written, 130 interrupted, 141 the reader of our output went away, 143 ended from outside.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from graphsieve.errors import InputError
from graphsieve.files import replace_file
from graphsieve.parallel import LostProcessError

PAPERS = ("sls", "cls", "hybrid", "wls", "iterative")
PAGE = "graphsieve-reproduction.html"


class OutputError(Exception):
    """Something that was to be written cannot be."""


class EndedError(KeyboardInterrupt):
    """Somebody asked this process to end; an interruption, so that the processes it started end with it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code."""
    options = _parser().parse_args(arguments)
    try:
        with _ended_like_interrupted():
            options.run(options)
        return 0
    except OutputError as error:
        return _complain(error, 4)
    except (InputError, LostProcessError) as error:
        return _complain(error, 3)
    except EndedError:
        return _complain("ended from outside.", 143)
    except KeyboardInterrupt:
        return _complain("interrupted.", 130)
    except BrokenPipeError:
        return 141


@contextmanager
def _ended_like_interrupted() -> Iterator[None]:
    def end(number: int, frame: object) -> NoReturn:
        raise EndedError

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _complain(message: object, code: int) -> int:
    print(f"graphsieve: {message}", file=sys.stderr)
    return code


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the whole usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    from graphsieve import __version__

    parser = _Parser(prog="graphsieve", description="Which columns matter, when few, partial, uncertain or no labels are known.")
    parser.add_argument("--version", action="version", version=f"graphsieve {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_reproduce(commands)
    return parser


def _add_reproduce(commands: Any) -> None:
    about = "Run the experiments of a paper again: its numbers beside ours, a verdict on every claim, a page with its figures."
    parser = commands.add_parser("reproduce", help="run the papers' experiments again", description=about)
    parser.add_argument("paper", choices=[*PAPERS, "all"], help="which paper")
    depth = parser.add_mutually_exclusive_group()
    depth.add_argument("--results", metavar="FILE", help="show what an earlier run printed with --json, run nothing")
    depth.add_argument("--quick", action="store_true", help="few repetitions, all papers in under three minutes (the default)")
    depth.add_argument("--full", action="store_true", help="the papers' own repetitions; takes a good while")
    parser.add_argument("--json", action="store_true", help="print the results as JSON instead of as text")
    page = parser.add_mutually_exclusive_group()
    page.add_argument("--page", metavar="FILE", default=PAGE, help=f"where the HTML page goes (default: {PAGE})")
    page.add_argument("--no-page", action="store_true", help="write no page")
    parser.add_argument("--markdown", metavar="FILE", help="also write the results as Markdown")
    parser.add_argument("--force", action="store_true", help="overwrite files that exist")
    parser.add_argument("--jobs", type=_at_least(1), metavar="N", help="processes (default: one per core)")
    parser.add_argument("--seed", type=_at_least(0), metavar="N", help="of everything random (default: 0)")
    parser.add_argument("--no-download", action="store_true", help="use only data that are at hand")
    parser.add_argument("--quiet", action="store_true", help="no progress display")
    parser.set_defaults(run=_reproduce)


def _at_least(least: int) -> Callable[[str], int]:
    """What argparse takes for the type of an option: a whole number, and how small it may be."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}, got {text!r}")
        return number

    return read


def _reproduce(options: argparse.Namespace) -> None:
    from graphsieve.experiments import SCHEMA
    from graphsieve.report.reproduction import as_markdown, as_page, as_text

    page = None if options.no_page else Path(options.page)
    markdown = None if options.markdown is None else Path(options.markdown)
    _check_outputs([path for path in (page, markdown) if path is not None], force=options.force)  # not after minutes of work
    if options.results is None:
        found = _run_experiments(options)
    else:
        _refuse_options_of_a_run(options)
        found = _read_results(Path(options.results), options.paper)
    seed = f" --seed {found[0]['seed']}" if found[0]["seed"] else ""
    command = f"graphsieve reproduce {options.paper} --{found[0]['depth']}{seed}"
    for path, render in ((page, as_page), (markdown, as_markdown)):
        if path is not None:
            _write(path, render(found, command=command))
    _print(json.dumps({"schema": SCHEMA, "papers": found}, allow_nan=False) + "\n" if options.json else as_text(found))
    if page is not None:
        print(f"The page with the figures: {page}", file=sys.stderr)


def _refuse_options_of_a_run(options: argparse.Namespace) -> None:
    given = {"--seed": options.seed is not None, "--jobs": options.jobs is not None, "--no-download": options.no_download}
    for name in (name for name, is_given in given.items() if is_given):
        raise InputError(f"--results shows what an earlier run found, so that {name} means nothing; leave one of the two out.")


def _run_experiments(options: argparse.Namespace) -> list[dict[str, Any]]:
    from graphsieve.experiments import EXPERIMENTS, Run, perform

    run = Run(
        quick=not options.full,
        seed=options.seed or 0,
        n_jobs=options.jobs or -1,
        progress=False if options.quiet else None,
        download=not options.no_download,
    )
    names = EXPERIMENTS if options.paper == "all" else (options.paper,)
    return [perform(EXPERIMENTS[name], run).facts() for name in names]


def _read_results(path: Path, paper: str) -> list[dict[str, Any]]:
    """Results of an earlier run, made whole again and shown once, so that anything odd is refused here."""
    from graphsieve.experiments import SCHEMA, from_facts
    from graphsieve.report.reproduction import as_page, as_text

    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise InputError(f"{path} has results of version {document['schema']}, this version reads {SCHEMA}; run it again.")
        found = [from_facts(facts).facts() for facts in document["papers"]]
        as_page(found, command="")
        as_text(found)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{path} does not hold what graphsieve reproduce --json prints; run it again.") from None
    wanted = [facts for facts in found if paper in ("all", facts["paper"])]
    if not wanted:
        raise InputError(f"{path} has no results of {paper}; run it again.")
    return wanted


def _check_outputs(paths: Sequence[Path], *, force: bool) -> None:
    if sys.stdout is None:
        raise OutputError("standard output is closed; open it, or send it to /dev/null.")
    if len({path.resolve() for path in paths}) < len(paths):
        raise OutputError(f"{paths[0]} is named for two outputs; name two files.")
    for path in paths:
        _check_output(path, force=force)


def _check_output(path: Path, *, force: bool) -> None:
    if path.is_dir():
        raise OutputError(f"{path} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise OutputError(f"the folder {path.parent} does not exist; create it first, or write elsewhere.")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"the folder {path.parent} cannot be written to; write elsewhere.")
    if path.exists() and not force:
        raise OutputError(f"{path} exists; add --force to overwrite it, or write elsewhere.")


def _write(path: Path, text: str) -> None:
    try:
        replace_file(path, text)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}.") from None
    except InputError as error:
        raise OutputError(str(error)) from None


def _print(text: str) -> None:
    """The result, to standard output; signs that it has no letters for are written as numbers."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, errors="backslashreplace").decode(encoding))
        sys.stdout.flush()
    except OSError as error:
        # Python would complain once more when it closes the stream at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise
        raise OutputError(f"the result cannot be written to standard output: {error.strerror}.") from None

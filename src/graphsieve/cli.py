"""The command ``graphsieve``: each subcommand a thin shell over the public names.

The result goes to standard output, everything else to standard error. Exit codes: 0 done, 2 wrong usage, 3 wrong input, 4 output
that cannot be written, 130 interrupted, 141 the reader of our output went away.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from graphsieve.errors import InputError, InputTypeError
from graphsieve.files import replace_file

PAPERS = ("sls", "cls", "hybrid", "wls", "iterative")
PAGE = "graphsieve-reproduction.html"


class OutputError(Exception):
    """Something that was to be written cannot be."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
        sys.stdout.flush()
        return 0
    except OutputError as error:
        return _complain(error, 4)
    except (InputError, InputTypeError) as error:
        return _complain(error, 3)
    except KeyboardInterrupt:
        return _complain("interrupted; nothing was written.", 130)
    except BrokenPipeError:
        # Python would complain once more when it closes the stream at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


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
    page.add_argument("--page", metavar="FILE", help=f"where the HTML page goes (default: {PAGE})")
    page.add_argument("--no-page", action="store_true", help="write no page")
    parser.add_argument("--markdown", metavar="FILE", help="also write the results as Markdown")
    parser.add_argument("--force", action="store_true", help="overwrite files that exist")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="processes (default: one per core)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of everything random (default: 0)")
    parser.add_argument("--no-download", action="store_true", help="use only data that are at hand")
    parser.add_argument("--quiet", action="store_true", help="no progress display")
    parser.set_defaults(run=_reproduce)


def _reproduce(options: argparse.Namespace) -> None:
    from graphsieve.experiments import SCHEMA
    from graphsieve.report.reproduction import as_markdown, as_page, as_text

    page = None if options.no_page else Path(options.page or PAGE)
    markdown = None if options.markdown is None else Path(options.markdown)
    for output in (page, markdown):
        if output is not None:
            _check_output(output, force=options.force)  # now, not after minutes of work
    found = _run_experiments(options) if options.results is None else _read_results(Path(options.results), options.paper)
    command = f"graphsieve reproduce {options.paper} --{found[0]['depth']}"
    for path, render in ((page, as_page), (markdown, as_markdown)):
        if path is not None:
            _write(path, render(found, command=command))
    if options.json:
        print(json.dumps({"schema": SCHEMA, "papers": found}, ensure_ascii=False, allow_nan=False))
    else:
        print(as_text(found), end="")
    if page is not None:
        print(f"The page with the figures: {page}", file=sys.stderr)


def _run_experiments(options: argparse.Namespace) -> list[dict[str, Any]]:
    from graphsieve.experiments import EXPERIMENTS, Run, perform

    run = Run(
        quick=not options.full,
        seed=options.seed,
        n_jobs=options.jobs,
        progress=False if options.quiet else None,
        download=not options.no_download,
    )
    names = EXPERIMENTS if options.paper == "all" else (options.paper,)
    return [perform(EXPERIMENTS[name], run).facts() for name in names]


def _read_results(path: Path, paper: str) -> list[dict[str, Any]]:
    """Results of an earlier run, made whole again so that anything odd is refused here."""
    from graphsieve.experiments import SCHEMA, from_facts

    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise InputError(f"{path} has results of version {document['schema']}, this version reads {SCHEMA}; run it again.")
        found = [from_facts(facts).facts() for facts in document["papers"]]
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} does not hold what graphsieve reproduce --json prints.") from None
    wanted = [facts for facts in found if paper in ("all", facts["paper"])]
    if not wanted:
        raise InputError(f"{path} has no results of {paper}.")
    return wanted


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
    except (OSError, InputError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise OutputError(f"{path} cannot be written: {reason}.") from None

"""What can be written after ``graphsieve``. Nothing heavy is loaded here, so that --help answers
at once.
"""

from __future__ import annotations

import argparse
import difflib
import math
import re
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from graphsieve import __version__

PAPERS = ("sls", "cls", "hybrid", "wls", "iterative")
REPRODUCTION_PAGE = "graphsieve-reproduction.html"
DEMO_PAGE = "graphsieve-demo.html"
FORMATS = ("table", "csv", "tsv", "json")
ROWS_SHOWN = 20
UNLABELED = -1  # marks an unknown class unless another number is named
TABLE_HELP = (
    "CSV, TSV, Parquet, Feather, NPZ, MTX or h5ad, also compressed by gzip or zstd; - is standard "
    "input"
)

EXAMPLES = """examples:
  graphsieve rank cells.csv                              which columns matter, nothing known of the rows
  graphsieve rank wine.csv --target class --report wine.html
  graphsieve compare wine.csv --target class             methods side by side, with random and all columns
  graphsieve select wine.csv --target class -o reduced.csv
  graphsieve demo                                        a real table, a ranking, a report
"""


def _help_formatter(prog: str) -> argparse.HelpFormatter:
    """Descriptions as they are written, with room for the longest command beside its summary."""
    formatter = argparse.RawDescriptionHelpFormatter(prog, max_help_position=26)
    formatter._action_max_length = 15  # argparse forgets how far commands are set in
    return formatter


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, with the nearest word, without the whole usage."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        options |= {"allow_abbrev": False, "formatter_class": _help_formatter}
        super().__init__(*arguments, **options)

    def error(self, message: str) -> NoReturn:
        # What was typed is shown, not done: a line break or a colour in it must not reach the
        # terminal.
        message = "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in message)
        self.exit(2, f"{self.prog}: {message}{self._nearest(message)}; see {self.prog} --help\n")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does; an option that is not there is answered by the command it was given
        to.
        """
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            command = getattr(options, "parser", self)
            command.error(f"unrecognized arguments: {' '.join(unknown)}")
        if "command" not in options:
            self.error("name a command, such as rank")
        return options

    def _nearest(self, message: str) -> str:
        flag = re.match(r"unrecognized arguments: (--[^\s=]+)", message)
        choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)$", message)
        if flag:
            wrong, right = (
                flag.group(1),
                [option for option in self._option_string_actions if option.startswith("--")],
            )
        elif choice:
            wrong, right = (
                choice.group(1),
                [word.strip(" '") for word in choice.group(2).split(",")],
            )
        else:
            return ""
        close = difflib.get_close_matches(wrong, right, n=1)
        return f" (did you mean {close[0]}?)" if close else ""


def parser() -> Parser:
    """Of the whole command."""
    top = Parser(
        prog="graphsieve",
        description="Which columns of a table matter, when few, partial, uncertain or no labels "
        "are known.",
        epilog=EXAMPLES,
    )
    top.add_argument("--version", action="version", version=f"graphsieve {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    for add in (
        _add_rank,
        _add_compare,
        _add_select,
        _add_methods,
        _add_explain,
        _add_demo,
        _add_reproduce,
    ):
        command = add(commands)
        command.add_argument(
            "--debug", action="store_true", help="show the whole trace of an unexpected error"
        )
        command.set_defaults(parser=command)
    return top


def _add_rank(commands: Any) -> Parser:
    about = (
        "Rank the columns of a table by what is known of its rows: a target, pairs, class "
        "probabilities, or nothing.\n"
        "Prints what was understood (to the error stream) and the ranking (to the output), and "
        "writes a report if asked to."
    )
    command = _command(commands, "rank", "rank the columns of a table", about)
    _add_table(command)
    _add_knowledge(command)
    _add_method(command)
    _add_output(command)
    command.add_argument(
        "--rows",
        type=_rows,
        metavar="N",
        help=f"rows of the table to print, or all (default: {ROWS_SHOWN})",
    )
    return command


def _add_compare(commands: Any) -> Parser:
    about = (
        "Several methods side by side: how far their rankings agree and, where a target is known, "
        "what their first columns are\n"
        "worth to a learner on rows held out, always beside random columns and all columns, on the "
        "same folds."
    )
    command = _command(
        commands, "compare", "several methods side by side, with random and all columns", about
    )
    _add_table(command)
    _add_knowledge(command)
    how = command.add_argument_group("how")
    how.add_argument(
        "--methods",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="see graphsieve methods (default: those that fit what is known)",
    )
    how.add_argument(
        "--sizes",
        nargs="+",
        action="extend",
        type=at_least(1),
        metavar="N",
        help="numbers of columns to try",
    )
    how.add_argument(
        "--learners",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="who judges: 1nn, 5nn, linear, … (default: 1nn linear)",
    )
    how.add_argument(
        "--folds",
        type=at_least(2),
        metavar="N",
        help="parts of the rows, each held out once (default: 5)",
    )
    how.add_argument(
        "--repeats", type=at_least(1), metavar="N", help="how often to split anew (default: 1)"
    )
    how.add_argument("--jobs", type=at_least(1), metavar="N", help="processes (default: 1)")
    _add_output(command)
    return command


def _add_select(commands: Any) -> Parser:
    about = (
        "Write the table with the selected columns only, in the order of the file; the columns "
        "named by --id-column, --target\n"
        "and --keep stay."
    )
    command = _command(commands, "select", "write the table with the selected columns only", about)
    _add_table(command)
    _add_knowledge(command)
    _add_method(command)
    output = command.add_argument_group("output")
    output.add_argument(
        "-o",
        "--output",
        type=_output,
        metavar="FILE",
        help="csv, tsv (also .gz), parquet or feather by its ending (default: CSV, to the output)",
    )
    output.add_argument(
        "--keep",
        nargs="+",
        action="extend",
        default=[],
        metavar="COL",
        help="further columns that stay",
    )
    _add_writing(output)
    return command


def _add_methods(commands: Any) -> Parser:
    command = _command(
        commands,
        "methods",
        "list the methods",
        "Every method and search: what it needs, what it looks for.",
    )
    _add_format(command)
    return command


def _add_explain(commands: Any) -> Parser:
    command = _command(
        commands,
        "explain",
        "explain one method",
        "What a method does, its formula, its parameters, its source.",
    )
    command.add_argument("method", metavar="METHOD", help="a name from graphsieve methods, or auto")
    return command


def _add_demo(commands: Any) -> Parser:
    about = (
        "A real table that comes along: tumours, 30 measurements each, of which 20 are labelled. A "
        "ranking, and a report."
    )
    command = _command(commands, "demo", "a real table, a ranking, a report", about)
    command.add_argument(
        "--report",
        metavar="FILE",
        default=DEMO_PAGE,
        help=f"where the report goes (default: {DEMO_PAGE})",
    )
    command.add_argument("--force", action="store_true", help="overwrite the report if it exists")
    command.add_argument(
        "--seed",
        type=at_least(0),
        default=0,
        metavar="N",
        help="of the labels that are known (default: 0)",
    )
    command.add_argument(
        "--quiet", action="store_true", help="print nothing but the result and errors"
    )
    return command


def _add_reproduce(commands: Any) -> Parser:
    about = (
        "Run the experiments of a paper again: its numbers beside ours, a verdict on every claim, "
        "a page with its figures."
    )
    command = _command(commands, "reproduce", "run the papers' experiments again", about)
    command.add_argument("paper", choices=[*PAPERS, "all"], help="which paper")
    depth = command.add_mutually_exclusive_group()
    depth.add_argument(
        "--results",
        metavar="FILE",
        help="show what an earlier run printed with --json, run nothing",
    )
    depth.add_argument(
        "--quick",
        action="store_true",
        help="few repetitions, all papers in under three minutes (the default)",
    )
    depth.add_argument(
        "--full", action="store_true", help="the papers' own repetitions; takes a good while"
    )
    command.add_argument(
        "--json", action="store_true", help="print the results as JSON instead of as text"
    )
    page = command.add_mutually_exclusive_group()
    page.add_argument(
        "--page",
        metavar="FILE",
        default=REPRODUCTION_PAGE,
        help=f"where the HTML page goes (default: {REPRODUCTION_PAGE})",
    )
    page.add_argument("--no-page", action="store_true", help="write no page")
    command.add_argument(
        "--markdown",
        metavar="FOLDER",
        help="also write Markdown pages: a summary, and a page per paper in the subfolder papers",
    )
    command.add_argument("--force", action="store_true", help="overwrite files that exist")
    command.add_argument(
        "--jobs", type=at_least(1), metavar="N", help="processes (default: one per core)"
    )
    command.add_argument(
        "--seed", type=at_least(0), metavar="N", help="of everything random (default: 0)"
    )
    command.add_argument(
        "--no-download", action="store_true", help="use only data that are at hand"
    )
    command.add_argument("--quiet", action="store_true", help="no progress display")
    return command


def _command(commands: Any, name: str, summary: str, about: str) -> Parser:
    command: Parser = commands.add_parser(name, help=summary, description=about)
    command.set_defaults(command=name)
    return command


def _add_table(command: Parser) -> None:
    command.add_argument("table", metavar="TABLE", help=TABLE_HELP)
    reading = command.add_argument_group("reading the table")
    reading.add_argument("--id-column", metavar="COL", help="what the rows are called; no feature")
    reading.add_argument(
        "--exclude",
        nargs="+",
        action="extend",
        default=[],
        metavar="COL",
        help="columns that are no features",
    )
    missing = reading.add_mutually_exclusive_group()
    missing.add_argument(
        "--drop-missing-columns",
        dest="missing",
        action="store_const",
        const="drop-columns",
        help="leave out columns with gaps",
    )
    missing.add_argument(
        "--drop-missing-rows",
        dest="missing",
        action="store_const",
        const="drop-rows",
        help="or rows",
    )
    missing.add_argument(
        "--fill-missing",
        dest="missing",
        action="store_const",
        const="fill",
        help="or put the column's median in the gaps",
    )
    reading.add_argument(
        "--sep",
        metavar="C",
        help="what separates columns (default: found out; tab may be written \\t)",
    )
    reading.add_argument("--encoding", metavar="NAME", help="of a text (default: utf-8)")
    reading.add_argument("--no-header", action="store_true", help="the first line is data")
    reading.add_argument("--comment", metavar="SIGN", help="skip lines that start so")
    reading.add_argument("--key", metavar="NAME", help="the array of an NPZ file that is the table")
    reading.add_argument(
        "--input-format",
        metavar="FORMAT",
        help="what the file is (default: as its first bytes say)",
    )
    reading.add_argument(
        "--max-bytes",
        type=at_least(1),
        metavar="N",
        help="read at most so many (default: twice the memory)",
    )
    command.set_defaults(missing="refuse")


def _add_knowledge(command: Parser) -> None:
    known = command.add_argument_group("what is known of the rows")
    known.add_argument(
        "--target",
        metavar="COL",
        help="a column of classes or of a quantity; an empty cell is unknown",
    )
    known.add_argument(
        "--target-type",
        choices=("auto", "classes", "continuous"),
        default="auto",
        help="what it is",
    )
    known.add_argument(
        "--unlabeled",
        type=_unlabeled,
        default=UNLABELED,
        metavar="N",
        help=f"the number that marks an unknown class, or none (default: {UNLABELED})",
    )
    known.add_argument(
        "--keep-na-text",
        action="store_true",
        help="NA and the like are classes, only empty cells are unknown",
    )
    known.add_argument(
        "--pairs",
        metavar="FILE",
        help="rows that belong together or apart: lines of row,row,must or cannot; or JSON",
    )
    known.add_argument(
        "--proba", metavar="FILE", help="a table of class probabilities, a row for each row"
    )
    known.add_argument(
        "--proba-columns",
        nargs="+",
        action="extend",
        metavar="COL",
        help="or the columns of the table that hold them",
    )
    known.add_argument(
        "--normalize-proba", action="store_true", help="divide each row of probabilities by its sum"
    )
    known.add_argument(
        "--unsupervised", action="store_true", help="nothing is known; refuses the options above"
    )


def _add_method(command: Parser) -> None:
    how = command.add_argument_group("method")
    how.add_argument(
        "--method", default="auto", metavar="NAME", help="see graphsieve methods (default: auto)"
    )
    many = how.add_mutually_exclusive_group()
    many.add_argument(
        "--top",
        type=_or_auto(at_least(1)),
        metavar="N",
        help="how many to select, or auto (the default: as many as matter)",
    )
    many.add_argument(
        "--fraction",
        type=_fraction,
        metavar="F",
        help="or which share of them, above 0 and up to 1",
    )
    how.add_argument("--max-features", type=at_least(1), metavar="N", help="select at most so many")
    how.add_argument(
        "--redundancy",
        choices=("auto", "none", "explain", "correlation"),
        default="auto",
        help="choose for what is new",
    )
    how.add_argument(
        "--scale", choices=("auto", "none", "standard", "minmax", "robust", "rank"), default="auto"
    )
    how.add_argument("--metric", choices=("auto", "euclidean", "cosine"), default="auto")
    how.add_argument(
        "--compress",
        choices=("som", "kmeans"),
        help="build the graph from prototypes of rows of which nothing is known",
    )
    how.add_argument(
        "--prototypes",
        type=at_least(1),
        metavar="N",
        help="how many at most (default: the root of their number)",
    )
    how.add_argument(
        "--neighbors",
        type=_or_auto(at_least(1)),
        default="auto",
        metavar="K",
        help="of the graph (default: as published)",
    )
    how.add_argument(
        "--neighbor-search",
        choices=("auto", "exact", "approximate"),
        default="auto",
        help="how they are found (default: exactly, unless that takes minutes)",
    )
    how.add_argument(
        "--bandwidth",
        type=_or_auto(_positive),
        default="auto",
        metavar="T",
        help="of the heat kernel (default: from the data)",
    )
    how.add_argument(
        "--param",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="further parameters of the method",
    )
    how.add_argument(
        "--jobs",
        type=at_least(1),
        metavar="N",
        help="threads (default: as many as there are cores)",
    )


def _add_output(command: Parser) -> None:
    output = command.add_argument_group("output")
    _add_format(output)
    output.add_argument(
        "-o",
        "--output",
        type=_output,
        metavar="FILE",
        help="write the result there instead of printing it",
    )
    output.add_argument(
        "--report", metavar="FILE", help="also write a report: one HTML file that opens offline"
    )
    output.add_argument(
        "--full-paths",
        action="store_true",
        help="show paths in report and JSON as given, not file names alone",
    )
    _add_writing(output)


def _add_format(group: Any) -> None:
    formats = group.add_mutually_exclusive_group()
    formats.add_argument(
        "--format",
        choices=FORMATS,
        help="of the result (default: table, or as the ending of --output says)",
    )
    formats.add_argument(
        "--json",
        dest="format",
        action="store_const",
        const="json",
        help="the same as --format json",
    )


def _add_writing(output: Any) -> None:
    output.add_argument(
        "--raw-names",
        action="store_true",
        help="in CSV, do not put ' before names that look like formulas",
    )
    output.add_argument("--force", action="store_true", help="overwrite files that exist")
    output.add_argument(
        "--seed", type=at_least(0), default=0, metavar="N", help="of everything random (default: 0)"
    )
    output.add_argument(
        "--quiet", action="store_true", help="print nothing but the result and errors"
    )


def at_least(least: int) -> Callable[[str], int]:
    """What argparse takes for the type of an option: a whole number, and how small it may be."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(
                f"must be a whole number of at least {least}, got {text!r}"
            )
        return number

    return read


def _or_auto(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """The word auto, or what the type reads."""

    def read_or_auto(text: str) -> Any:
        try:
            return text if text == "auto" else read(text)
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentTypeError(
                str(error).replace("must be", "must be auto or", 1)
            ) from None

    return read_or_auto


def _output(text: str) -> str | None:
    """A file; - is standard output, as it is everywhere."""
    return None if text == "-" else text


def _rows(text: str) -> int:
    return sys.maxsize if text == "all" else at_least(1)(text)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _fraction(text: str) -> float:
    number = _number(text)
    if not 0 < number <= 1:
        raise argparse.ArgumentTypeError(f"must be above 0 and up to 1, got {text!r}")
    return number


def _positive(text: str) -> float:
    number = _number(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number above 0, got {text!r}")
    return number


def _unlabeled(text: str) -> int | None:
    if text.lower() == "none":
        return None
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number or none, got {text!r}") from None

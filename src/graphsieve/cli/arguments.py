"""The arguments of the command. No heavy module is loaded here, so --help answers immediately."""

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
MISSING = ("use", "refuse", "drop-rows", "drop-columns", "fill")
FORMATS = ("table", "csv", "tsv", "json")
ROWS_SHOWN = 20
UNLABELED = -1  # default mark of an unknown class
TABLE_HELP = (
    "file to read: CSV, TSV, Excel, Parquet, Feather, NPZ, MTX or h5ad, optionally compressed with gzip "
    "or zstd; - reads standard input"
)

EXAMPLES = """examples:
  graphsieve rank cells.csv                                     rank without labels
  graphsieve rank wine.csv --target class --report wine.html    rank by a target, write a report
  graphsieve compare wine.csv --target class                    compare several methods
  graphsieve select wine.csv --target class -o reduced.csv      write the selected columns
  graphsieve demo                                               rank a bundled table
"""


def _help_formatter(prog: str) -> argparse.HelpFormatter:
    """Return a formatter that keeps line breaks and aligns the summaries of commands."""
    formatter = argparse.RawDescriptionHelpFormatter(prog, max_help_position=26)
    formatter._action_max_length = 15  # argparse does not count the indentation of commands
    return formatter


class Parser(argparse.ArgumentParser):
    """A parser that reports errors in one line, with a suggestion, and without the usage."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        options |= {"allow_abbrev": False, "formatter_class": _help_formatter}
        super().__init__(*arguments, **options)

    def error(self, message: str) -> NoReturn:
        # Line breaks and escape sequences in the arguments must not reach the terminal.
        message = "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in message)
        self.exit(2, f"{self.prog}: {message}{self._nearest(message)}; see {self.prog} --help\n")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, but let the subcommand report unknown options."""
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            command = getattr(options, "parser", self)
            command.error(f"unrecognized arguments: {' '.join(unknown)}")
        if "command" not in options:
            self.error("no command given; expected one such as rank")
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
    """Return the parser of the whole command."""
    top = Parser(
        prog="graphsieve",
        description="Find the columns of a table that matter, with few, partial, uncertain or no "
        "labels.",
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
            "--debug", action="store_true", help="show the traceback of an unexpected error"
        )
        command.set_defaults(parser=command)
    return top


def _add_rank(commands: Any) -> Parser:
    about = (
        "Rank the columns of a table, using a target, pairs of rows or class probabilities if "
        "given.\n"
        "The ranking goes to standard output; notes and warnings go to standard error."
    )
    command = _command(commands, "rank", "rank the columns of a table", about)
    _add_table(command)
    _add_knowledge(command)
    _add_groups(command)
    _add_choice(command)
    _add_method(command)
    _add_output(command)
    command.add_argument(
        "--rows",
        type=_rows,
        metavar="N",
        help=f"number of ranked columns to print, or all (default: {ROWS_SHOWN})",
    )
    return command


def _add_compare(commands: Any) -> Parser:
    about = (
        "Compare several methods: how far their rankings agree and, with a target, how well their "
        "first columns\n"
        "predict it on held-out rows. Random columns and all columns are the baselines, on the same "
        "folds."
    )
    command = _command(commands, "compare", "compare several methods with baselines", about)
    _add_table(command)
    _add_knowledge(command, of_rows=False)
    _add_groups(command)
    _add_choice(command)
    how = command.add_argument_group("comparison")
    how.add_argument(
        "--methods",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="methods to compare, as listed by graphsieve methods (default: those that fit the "
        "supervision)",
    )
    how.add_argument(
        "--sizes",
        nargs="+",
        action="extend",
        type=at_least(1),
        metavar="N",
        help="numbers of columns to evaluate (default: from 1 to all, roughly doubling)",
    )
    how.add_argument(
        "--learners",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="models that predict the target: 1nn, 5nn, linear, … (default: 1nn linear)",
    )
    how.add_argument(
        "--folds",
        type=at_least(2),
        metavar="N",
        help="number of cross-validation folds (default: 5)",
    )
    how.add_argument(
        "--repeats",
        type=at_least(1),
        metavar="N",
        help="repetitions of the cross-validation with new folds (default: 1)",
    )
    how.add_argument(
        "--jobs", type=at_least(1), metavar="N", help="number of processes (default: 1)"
    )
    _add_output(command)
    return command


def _add_select(commands: Any) -> Parser:
    about = (
        "Write the table with the selected columns only, in their original order. The columns "
        "named by --id-column,\n"
        "--target, --subject-column, --weight-column and --keep are written as well."
    )
    command = _command(commands, "select", "write the selected columns of a table", about)
    _add_table(command)
    _add_knowledge(command)
    _add_groups(command)
    _add_choice(command)
    _add_method(command)
    output = command.add_argument_group("output")
    output.add_argument(
        "-o",
        "--output",
        type=_output,
        metavar="FILE",
        help="file to write; its ending sets the format: .csv, .tsv (also .gz), .parquet or "
        ".feather (default: CSV to standard output)",
    )
    output.add_argument(
        "--keep",
        nargs="+",
        action="extend",
        default=[],
        metavar="COL",
        help="further columns to write",
    )
    _add_writing(output)
    return command


def _add_methods(commands: Any) -> Parser:
    command = _command(
        commands,
        "methods",
        "list all methods",
        "List all methods and searches, the supervision they need and what they do.",
    )
    _add_format(command, default="table")
    return command


def _add_explain(commands: Any) -> Parser:
    command = _command(
        commands,
        "explain",
        "explain a method",
        "Explain a method: its purpose, formula, parameters and reference.",
    )
    command.add_argument("method", metavar="METHOD", help="a name from graphsieve methods, or auto")
    return command


def _add_demo(commands: Any) -> Parser:
    about = (
        "Rank the columns of a bundled table, with 30 measurements of each of 569 tumours, of which "
        "20 are labelled.\n"
        "Write a report."
    )
    command = _command(commands, "demo", "rank a bundled table and write a report", about)
    command.add_argument(
        "--report",
        metavar="FILE",
        default=DEMO_PAGE,
        help=f"HTML report to write (default: {DEMO_PAGE})",
    )
    command.add_argument("--force", action="store_true", help="overwrite the report if it exists")
    command.add_argument(
        "--seed",
        type=at_least(0),
        default=0,
        metavar="N",
        help="random seed for the choice of the labelled rows (default: 0)",
    )
    command.add_argument("--quiet", action="store_true", help="print only the result and errors")
    return command


def _add_reproduce(commands: Any) -> Parser:
    about = (
        "Run the experiments of a paper again. Compare its numbers with ours, judge every claim, "
        "and write a page with\nthe figures."
    )
    command = _command(commands, "reproduce", "run the papers' experiments again", about)
    command.add_argument("paper", choices=[*PAPERS, "all"], help="paper to run, or all")
    depth = command.add_mutually_exclusive_group()
    depth.add_argument(
        "--results",
        metavar="FILE",
        help="show the results of an earlier run with --json; run nothing",
    )
    depth.add_argument(
        "--quick",
        action="store_true",
        help="few repetitions; all papers take less than three minutes (default)",
    )
    depth.add_argument(
        "--full",
        action="store_true",
        help="as many repetitions as in the papers; all papers take 15 minutes or more",
    )
    command.add_argument("--json", action="store_true", help="print the results as JSON")
    page = command.add_mutually_exclusive_group()
    page.add_argument(
        "--page",
        metavar="FILE",
        default=REPRODUCTION_PAGE,
        help=f"HTML page to write (default: {REPRODUCTION_PAGE})",
    )
    page.add_argument("--no-page", action="store_true", help="do not write an HTML page")
    command.add_argument(
        "--markdown",
        metavar="FOLDER",
        help="also write Markdown pages: a summary, and a page per paper in the subfolder papers",
    )
    command.add_argument("--force", action="store_true", help="overwrite existing files")
    command.add_argument(
        "--jobs", type=at_least(1), metavar="N", help="number of processes (default: one per core)"
    )
    command.add_argument("--seed", type=at_least(0), metavar="N", help="random seed (default: 0)")
    command.add_argument(
        "--no-download", action="store_true", help="use only data that is available locally"
    )
    command.add_argument("--quiet", action="store_true", help="do not show progress")
    return command


def _command(commands: Any, name: str, summary: str, about: str) -> Parser:
    command: Parser = commands.add_parser(name, help=summary, description=about)
    command.set_defaults(command=name)
    return command


def _add_table(command: Parser) -> None:
    command.add_argument("table", metavar="TABLE", help=TABLE_HELP)
    reading = command.add_argument_group("reading the table")
    reading.add_argument(
        "--id-column", metavar="COL", help="column with the names of the rows; not a feature"
    )
    reading.add_argument(
        "--exclude",
        nargs="+",
        action="extend",
        default=[],
        metavar="COL",
        help="columns that are not features",
    )
    reading.add_argument(
        "--categorical",
        nargs="+",
        action="extend",
        default=[],
        metavar="COL",
        help="columns to treat as categories, even if they hold numbers",
    )
    reading.add_argument(
        "--numeric",
        nargs="+",
        action="extend",
        default=[],
        metavar="COL",
        help="columns that must hold numbers",
    )
    reading.add_argument(
        "--keep-counter",
        action="store_true",
        help="keep columns that number the rows as features (default: they are excluded)",
    )
    reading.add_argument(
        "--na-values",
        nargs="+",
        action="extend",
        default=[],
        metavar="WORD",
        help="further words or numbers that mark missing values in a text file, such as unknown or "
        "-999",
    )
    reading.add_argument(
        "--missing",
        choices=MISSING,
        default="use",
        help="what to do about missing values: use (each column is scored on the rows where it has "
        "a value), refuse, drop-rows, drop-columns, or fill (with the median of the column, or the "
        "most frequent level of a category) (default: use)",
    )
    reading.add_argument(
        "--decimal", metavar="C", help="decimal sign of a text file: . or , (default: .)"
    )
    reading.add_argument(
        "--thousands",
        metavar="C",
        help="sign between groups of three digits in a text file: , . ' _ or a blank "
        "(default: none)",
    )
    reading.add_argument(
        "--sep",
        metavar="C",
        help="separator of a text file; \\t for a tab (default: detected)",
    )
    reading.add_argument(
        "--encoding", metavar="NAME", help="encoding of a text file (default: utf-8)"
    )
    reading.add_argument(
        "--no-header", action="store_true", help="the first line is data, not column names"
    )
    reading.add_argument(
        "--comment", metavar="SIGN", help="ignore lines that start with SIGN, such as '#'"
    )
    reading.add_argument(
        "--key",
        metavar="NAME",
        help="array of an NPZ file or sheet of an Excel file that holds the table",
    )
    reading.add_argument(
        "--input-format",
        metavar="FORMAT",
        help="file format (default: detected from the first bytes)",
    )
    reading.add_argument(
        "--max-bytes",
        type=at_least(1),
        metavar="N",
        help="largest uncompressed size to read (default: twice the main memory)",
    )


def _add_knowledge(command: Parser, *, of_rows: bool = True) -> None:
    known = command.add_argument_group("supervision")
    known.add_argument(
        "--target",
        nargs="+",
        action="extend",
        metavar="COL",
        help="column with class labels or a continuous target, or several columns of numbers; "
        "empty cells are unlabelled",
    )
    known.add_argument(
        "--subject-column",
        metavar="COL",
        help="column that names the subject of each row, if a subject has several rows; its rows "
        "stay together in every split and count once",
    )
    known.add_argument(
        "--target-type",
        choices=("auto", "classes", "continuous"),
        default="auto",
        help="type of the target (default: auto, from its values)",
    )
    known.add_argument(
        "--unlabeled",
        type=_unlabeled,
        default=UNLABELED,
        metavar="N",
        help="number that marks unlabelled rows, or none if every number is a class (default: "
        f"{UNLABELED})",
    )
    known.add_argument(
        "--keep-na-text",
        action="store_true",
        help="read NA, null and similar words as classes; only empty cells are unlabelled",
    )
    known.add_argument(
        "--pairs",
        metavar="FILE",
        help="pairs of rows, as lines row,row,must or row,row,cannot, or as JSON",
    )
    known.add_argument(
        "--proba", metavar="FILE", help="table of class probabilities, one row per row of TABLE"
    )
    known.add_argument(
        "--proba-columns",
        nargs="+",
        action="extend",
        metavar="COL",
        help="columns of TABLE that hold class probabilities",
    )
    known.add_argument(
        "--normalize-proba", action="store_true", help="divide each row of probabilities by its sum"
    )
    if of_rows:
        known.add_argument(
            "--confidence-column",
            metavar="COL",
            help="column with the probability that the label in --target is correct; the other "
            "classes share the rest evenly",
        )
        known.add_argument(
            "--weight-column",
            metavar="COL",
            help="column with the weight of each row, 0 or more; rows with weight 0 are left out",
        )
    command.set_defaults(confidence_column=None, weight_column=None)
    known.add_argument(
        "--unsupervised",
        action="store_true",
        help="state that there is no supervision; cannot be combined with the options above",
    )


def _add_groups(command: Parser) -> None:
    groups = command.add_argument_group("groups of columns").add_mutually_exclusive_group()
    groups.add_argument(
        "--feature-groups",
        metavar="FILE",
        help="columns that are selected together, as lines column,group or as JSON",
    )
    groups.add_argument(
        "--group-by-prefix",
        type=_not_empty,
        metavar="SEP",
        help="columns with the same name before SEP are selected together",
    )


def _add_choice(command: Parser) -> None:
    choice = command.add_argument_group("what may be selected")
    choice.add_argument(
        "--keep-feature",
        nargs="+",
        action="extend",
        default=[],
        metavar="COL",
        help="columns or groups to select first, in this order",
    )
    choice.add_argument(
        "--candidates",
        nargs="+",
        action="extend",
        metavar="COL",
        help="columns or groups that may be selected besides those to keep (default: all)",
    )
    choice.add_argument(
        "--costs",
        metavar="FILE",
        help="costs of columns or groups (default: 1), as lines column,cost or as JSON",
    )


def _add_method(command: Parser) -> None:
    how = command.add_argument_group("method")
    how.add_argument(
        "--method",
        default="auto",
        metavar="NAME",
        help="method, as listed by graphsieve methods (default: auto)",
    )
    many = how.add_mutually_exclusive_group()
    many.add_argument(
        "--top",
        type=_or_auto(at_least(1)),
        metavar="N",
        help="number of columns to select, or auto for as many as are relevant and not redundant "
        "(default: auto)",
    )
    many.add_argument(
        "--fraction",
        type=_fraction,
        metavar="F",
        help="share of the columns to select, above 0 and up to 1",
    )
    how.add_argument(
        "--max-features", type=at_least(1), metavar="N", help="largest number of columns to select"
    )
    how.add_argument(
        "--redundancy",
        choices=("auto", "none", "explain", "correlation"),
        default="auto",
        help="how to avoid redundant columns: by explained variance, by correlation, or not at all "
        "(default: auto, explain unless a method is named)",
    )
    how.add_argument(
        "--scale",
        choices=("auto", "none", "standard", "minmax", "robust", "rank"),
        default="auto",
        help="scaling of the columns (default: auto, standard if their units differ)",
    )
    how.add_argument(
        "--metric",
        choices=("auto", "euclidean", "cosine"),
        default="auto",
        help="distance between rows (default: auto, cosine for sparse counts)",
    )
    how.add_argument(
        "--compress",
        choices=("som", "kmeans"),
        help="build the graph from prototypes of the unlabelled rows: a self-organizing map or "
        "k-means",
    )
    how.add_argument(
        "--prototypes",
        type=at_least(1),
        metavar="N",
        help="largest number of prototypes (default: square root of the number of rows replaced)",
    )
    how.add_argument(
        "--neighbors",
        type=_or_auto(at_least(1)),
        default="auto",
        metavar="K",
        help="number of neighbours in the graph, or auto (default: as published)",
    )
    how.add_argument(
        "--neighbor-search",
        choices=("auto", "exact", "approximate"),
        default="auto",
        help="search for neighbours (default: auto, exact unless that takes minutes)",
    )
    how.add_argument(
        "--bandwidth",
        type=_or_auto(_positive),
        default="auto",
        metavar="T",
        help="bandwidth t of the heat kernel exp(-d²/t), or auto (default: from the data)",
    )
    how.add_argument(
        "--param",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="further parameters of the method; see graphsieve explain METHOD",
    )
    how.add_argument(
        "--jobs",
        type=at_least(1),
        metavar="N",
        help="number of threads (default: one per core)",
    )


def _add_output(command: Parser) -> None:
    output = command.add_argument_group("output")
    _add_format(output)
    output.add_argument(
        "-o",
        "--output",
        type=_output,
        metavar="FILE",
        help="file for the result (default: standard output)",
    )
    output.add_argument(
        "--report", metavar="FILE", help="HTML report to write; a single file that opens offline"
    )
    output.add_argument(
        "--full-paths",
        action="store_true",
        help="show full paths in the report and in JSON (default: file names only)",
    )
    _add_writing(output)


def _add_format(group: Any, default: str = "table, or by the ending of --output") -> None:
    formats = group.add_mutually_exclusive_group()
    formats.add_argument(
        "--format",
        choices=FORMATS,
        help=f"format of the result (default: {default})",
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
        help="in CSV and TSV, do not put ' before names that look like formulas",
    )
    output.add_argument("--force", action="store_true", help="overwrite existing files")
    output.add_argument(
        "--seed", type=at_least(0), default=0, metavar="N", help="random seed (default: 0)"
    )
    output.add_argument("--quiet", action="store_true", help="print only the result and errors")


def at_least(least: int) -> Callable[[str], int]:
    """Return an argparse type: an integer of at least `least`."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(
                f"must be an integer of at least {least}, got {text!r}"
            )
        return number

    return read


def _or_auto(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return an argparse type that also accepts the word auto."""

    def read_or_auto(text: str) -> Any:
        try:
            return text if text == "auto" else read(text)
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentTypeError(
                str(error).replace("must be", "must be auto or", 1)
            ) from None

    return read_or_auto


def _output(text: str) -> str | None:
    """Return a file name; - is standard output."""
    return None if text == "-" else text


def _not_empty(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("must not be empty")
    return text


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
        raise argparse.ArgumentTypeError(f"must be an integer or none, got {text!r}") from None

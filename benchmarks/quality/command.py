"""Arguments, and what they lead to."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from graphsieve._base.errors import InputError
from graphsieve.datasets import DataUnavailableError, load
from quality import candidates, sets, tables
from quality.knowledge import LEVELS
from quality.running import Settings, cells, outstanding, read_records, run

QUICK_SETTINGS = {"rows": 1500, "folds": 3, "limit": 5.0}
FULL_SETTINGS = {"rows": 3000, "folds": 5, "limit": 12.0}
QUICK_LEVELS = "4,5%"


def main(arguments: Sequence[str]) -> int:
    try:
        return _table(arguments[1:]) if arguments[:1] == ["table"] else _run(arguments)
    except InputError as error:
        print(f"quality: {error}", file=sys.stderr)
        return 2


def _run(arguments: Sequence[str]) -> int:
    given = _parser().parse_args(arguments)
    defaults = QUICK_SETTINGS if given.quick else FULL_SETTINGS
    settings = Settings(
        int(given.rows or defaults["rows"]),
        int(given.folds or defaults["folds"]),
        given.repeats,
        given.seed,
    )
    limit = float(given.limit or defaults["limit"])
    names = (
        given.sets.split(",")
        if given.sets
        else sets.QUICK
        if given.quick
        else [*sets.CLASSES, *sets.TARGETS]
    )
    levels = _levels(given.knowledge or (QUICK_LEVELS if given.quick else ",".join(LEVELS)))
    everyone = ",".join(candidates.QUICK if given.quick else candidates.CANDIDATES)
    methods = _installed(candidates.chosen(given.methods or everyone))
    wanted = cells(_at_hand(names), levels, methods)
    todo = outstanding(wanted, read_records(given.file), settings, limit)
    if given.again:
        # Chance is there only to compare with, unless it was asked for.
        named = candidates.chosen(given.methods or everyone, with_random=False)
        todo = [cell for cell in wanted if cell in todo or cell.method in named]
    _say(f"{len(wanted)} cells, {len(wanted) - len(todo)} of them in {given.file}")
    run(todo, settings, given.file, limit=limit, jobs=given.jobs, tell=_say)
    print(
        tables.report(
            read_records(given.file), settings, markdown=given.markdown, detail=given.detail
        )
    )
    return 0


def _table(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="quality table", description="Print the tables of a file of results."
    )
    parser.add_argument("file", type=Path)
    _add_form(parser)
    given = parser.parse_args(arguments)
    records = read_records(given.file)
    if not records:
        raise InputError(f"{given.file} holds no results; run the benchmark first.")
    for settings in dict.fromkeys(Settings(**record["settings"]) for record in records):
        print(tables.report(records, settings, markdown=given.markdown, detail=given.detail))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="quality", description=__doc__)
    parser.add_argument(
        "file",
        type=Path,
        nargs="?",
        default=Path("quality.jsonl"),
        help="where results are kept (quality.jsonl)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="eight sets, one amount of knowledge, few methods, three folds",
    )
    parser.add_argument("--sets", help="names of data sets, separated by commas")
    parser.add_argument("--knowledge", help=f"some of {', '.join(LEVELS)}".replace("%", "%%"))
    parser.add_argument(
        "--methods",
        help=f"names, groups ({', '.join(candidates.GROUPS)}), or name=file.py:function",
    )
    parser.add_argument(
        "--again",
        action="store_true",
        help="run the cells even where there are results; the new ones count",
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--folds", type=int)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--rows", type=int, help="of larger tables so many rows are used")
    parser.add_argument(
        "--limit",
        type=float,
        help="seconds that one selection may take; who needs more has no result in that cell",
    )
    parser.add_argument("--seed", type=int, default=0)
    _add_form(parser)
    return parser


def _add_form(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--markdown", action="store_true", help="tables for documents")
    parser.add_argument(
        "--detail", action="store_true", help="also every data set with every amount of knowledge"
    )


def _levels(names: str) -> list[str]:
    found = names.split(",")
    for name in found:
        if name not in LEVELS:
            raise InputError(f"there is no knowledge {name!r}; choose from {', '.join(LEVELS)}.")
    return found


def _at_hand(names: Sequence[str]) -> list[tuple[str, str]]:
    """The sets that can be had, with their tasks; the others are named and left out."""
    found: list[tuple[str, str]] = []
    for name in names:
        try:
            found.append((name, load(name).task))
        except DataUnavailableError as error:
            _say(f"{name} is left out: {error}")
    return found


def _installed(methods: Sequence[str]) -> list[str]:
    absent = [name for name in methods if not candidates.candidate_named(name).installed]
    for name in absent:
        _say(
            f"{name} is left out: the package {candidates.candidate_named(name).package} is not "
            "installed"
        )
    return [name for name in methods if name not in absent]


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

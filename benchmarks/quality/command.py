"""Run the quality benchmark and print its tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from graphsieve._base.errors import InputError
from graphsieve.datasets import DataUnavailableError, load
from quality import (
    candidates,
    clustering,
    counts,
    missing,
    page,
    results,
    sets,
    synthetic,
    tables,
    verdicts,
)
from quality.knowledge import FEW, NAMES
from quality.running import (
    ALL_LABELS,
    PROTOCOLS,
    Settings,
    cells,
    outstanding,
    read_records,
    run,
)

QUICK_SETTINGS = {"rows": 1500, "folds": 3, "limit": 5.0}
FULL_SETTINGS = {"rows": 900, "folds": 3, "limit": 12.0}
MISSING_SETTINGS = {"rows": 600, "folds": 3}
QUICK_LEVELS = "4,5%"


def main(arguments: Sequence[str]) -> int:
    try:
        if arguments[:1] == ["table"]:
            return _table(arguments[1:])
        if arguments[:1] == ["synthetic"]:
            return synthetic.main(arguments[1:], log=_log)
        if arguments[:1] == ["counts"]:
            return counts.main(arguments[1:], available=_available, log=_log)
        if arguments[:1] == ["clustering"]:
            return clustering.main(arguments[1:], available=_available, log=_log)
        return _page(arguments[1:]) if arguments[:1] == ["page"] else _run(arguments)
    except InputError as error:
        print(f"quality: {error}", file=sys.stderr)
        return 2


def _run(arguments: Sequence[str]) -> int:
    given = _parser().parse_args(arguments)
    defaults = (
        MISSING_SETTINGS if given.missing else QUICK_SETTINGS if given.quick else FULL_SETTINGS
    )
    settings = Settings(
        int(given.rows or defaults["rows"]),
        int(given.folds or defaults["folds"]),
        given.repeats,
        given.seed,
        given.protocol,
    )
    if given.missing:
        return _run_missing(given, settings)
    limit = float(given.limit or defaults["limit"])
    names = (
        sets.named(given.sets) if given.sets else sets.QUICK if given.quick else sets.DEVELOPMENT
    )
    usable = NAMES if given.protocol == ALL_LABELS else FEW
    levels = _levels(given.knowledge or (QUICK_LEVELS if given.quick else ",".join(usable)), usable)
    default_methods = ",".join(candidates.QUICK if given.quick else candidates.FULL)
    methods = _installed(candidates.chosen(given.methods or default_methods))
    wanted = cells(_available(names), levels, methods, given.protocol)
    todo = outstanding(wanted, read_records(given.file), settings, limit)
    if given.again:
        # Random columns are only the baseline. They run again only if they were requested.
        named = candidates.chosen(given.methods or default_methods, with_random=False)
        todo = [cell for cell in wanted if cell in todo or cell.method in named]
    _log(f"{len(wanted)} cells, {len(wanted) - len(todo)} of them in {given.file}")
    run(todo, settings, given.file, limit=limit, jobs=given.jobs, log=_log)
    print(
        tables.report(
            read_records(given.file), settings, markdown=given.markdown, detail=given.detail
        )
    )
    return 0


def _run_missing(given: argparse.Namespace, settings: Settings) -> int:
    if given.protocol != ALL_LABELS:
        raise InputError(
            f"--missing cannot use --protocol {given.protocol}; leave one of the options out."
        )
    levels = _levels(given.knowledge or "all,4,5%", missing.KNOWLEDGE)
    found = _available(sets.named(given.sets) if given.sets else missing.SETS)
    missing.run(found, levels, settings, given.file, jobs=given.jobs, log=_log)
    print(missing.report(missing.read(given.file, settings), markdown=given.markdown))
    return 0


def _table(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="quality table", description="Print the tables of a results file."
    )
    parser.add_argument("file", type=Path)
    _add_form(parser)
    given = parser.parse_args(arguments)
    records = read_records(given.file)
    if not records:
        raise InputError(f"{given.file} contains no results; run the benchmark first.")
    for settings in dict.fromkeys(Settings(**record["settings"]) for record in records):
        print(tables.report(records, settings, markdown=given.markdown, detail=given.detail))
    return 0


def _page(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="quality page",
        description="Write the pages in docs/ and the table in README.md from stored results.",
    )
    for group in verdicts.GROUPS:
        parser.add_argument(
            f"--{group}",
            type=Path,
            metavar="FILE",
            help="replace the stored results of this run, for each protocol that the file contains",
        )
    given = vars(parser.parse_args(arguments))
    stored = results.read()
    for group, file in given.items():
        if file is not None:
            stored |= {verdicts.name_of(group, one): run for one, run in _summaries_of(file)}
    results.write(stored)
    for path, text in page.pages(results.read()).items():
        path.write_text(text, encoding="utf-8")
        _log(f"{path} is written.")
    return 0


def _summaries_of(file: Path) -> list[tuple[str, tables.Summary]]:
    """Summarise the records of a file for each protocol, which must have only one setting."""
    records = read_records(file)
    found = list(dict.fromkeys(Settings(**record["settings"]) for record in records))
    protocols = {settings.protocol for settings in found}
    if not found or len(found) > len(protocols):
        raise InputError(
            f"{file} contains results with {len(found)} different settings; a page needs exactly "
            "one for each protocol."
        )
    return [
        (one.protocol, tables.summarised(tables.of_settings(records, one), one)) for one in found
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="quality", description=__doc__)
    parser.add_argument(
        "file",
        type=Path,
        nargs="?",
        default=Path("quality.jsonl"),
        help="file of the results (default: quality.jsonl)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="eight data sets, one amount of supervision, few methods, three folds",
    )
    parser.add_argument(
        "--missing",
        action="store_true",
        help="remove cells of the training rows, and compare selections from tables with gaps "
        "(--knowledge may contain all; default: all,4,5%%)",
    )
    parser.add_argument(
        "--protocol",
        choices=PROTOCOLS,
        default=ALL_LABELS,
        help="train the learners on all labels of the training rows, or on those known to the "
        "methods (default: all)",
    )
    parser.add_argument(
        "--sets",
        help=f"names of data sets, or groups ({', '.join(sets.GROUPS)}), separated by commas",
    )
    parser.add_argument(
        "--knowledge",
        help=f"levels of supervision, separated by commas: {', '.join(NAMES)}".replace("%", "%%"),
    )
    parser.add_argument(
        "--methods",
        help=f"names, groups ({', '.join(candidates.GROUPS)}), or name=file.py:function",
    )
    parser.add_argument(
        "--again",
        action="store_true",
        help="run the cells even if the file contains their results; the new results replace them",
    )
    parser.add_argument("--jobs", type=int, default=2, help="number of processes (default: 2)")
    parser.add_argument("--folds", type=int)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument(
        "--rows", type=int, help="maximum number of rows; larger tables are sampled"
    )
    parser.add_argument(
        "--limit",
        type=float,
        help="time limit of one selection in seconds; a slower selection has no result",
    )
    parser.add_argument("--seed", type=int, default=0)
    _add_form(parser)
    return parser


def _add_form(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    parser.add_argument(
        "--detail",
        action="store_true",
        help="also print a table for each data set and level of supervision",
    )


def _levels(names: str, known: Iterable[str]) -> list[str]:
    found = names.split(",")
    for name in found:
        if name in NAMES and name not in known:
            raise InputError(
                f"the level {name!r} is not possible with these options; choose from "
                f"{', '.join(known)}."
            )
        if name not in known:
            raise InputError(
                f"there is no level of supervision {name!r}; choose from {', '.join(known)}."
            )
    return found


def _available(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the available data sets with their tasks, and report the others."""
    found: list[tuple[str, str]] = []
    for name in names:
        try:
            found.append((name, load(name).task))
        except DataUnavailableError as error:
            _log(f"{name} is left out: {error}")
    return found


def _installed(methods: Sequence[str]) -> list[str]:
    absent = [name for name in methods if not candidates.candidate_named(name).installed]
    for name in absent:
        _log(
            f"{name} is left out: the package {candidates.candidate_named(name).package} is not "
            "installed"
        )
    return [name for name in methods if name not in absent]


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

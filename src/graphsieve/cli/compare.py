"""``graphsieve compare``: several methods side by side, with random columns and all columns."""

from __future__ import annotations

import argparse
from typing import Any

from graphsieve.cli.case import Case, read_case
from graphsieve.cli.outputs import put, write
from graphsieve.cli.rank import as_json, named_files, result_format, rounded
from graphsieve.cli.repeating import repeated
from graphsieve.cli.saying import say, told_warnings
from graphsieve.comparison import Comparison, compare
from graphsieve.comparison.candidates import NAMES
from graphsieve.errors import UsageError
from graphsieve.evaluation import LEARNERS
from graphsieve.parameters import nearest, quoted
from graphsieve.ranking import rank
from graphsieve.report import page
from graphsieve.tables import csv_text


def run(options: argparse.Namespace) -> None:
    """Read, compare, print, and write the report."""
    _check_names(options)
    chosen = result_format(options)
    output, report = named_files(options)
    with told_warnings(quiet=options.quiet, debug=options.debug) as warned:
        case = read_case(options)
        for line in case.lines:
            say(line, quiet=options.quiet)
        found = compare(case.table.matrix, case.y, **_settings(options, case))
    if report is not None:
        write(report, _page(found, case, options, warned))
    put(_result(found, case, options, chosen, warned), output)
    for path, what in ((output, "the comparison"), (report, "the report")):
        if path is not None:
            say(f"{what}: {path}", quiet=options.quiet)


def _check_names(options: argparse.Namespace) -> None:
    """A misspelt name is refused before the table is read."""
    for option, given, names in (("--methods", options.methods, NAMES), ("--learners", options.learners, tuple(LEARNERS))):
        for name in given or ():
            if name not in names:
                raise UsageError(f"{option} holds {quoted(name)}{nearest(name, names)}; choose from {', '.join(names)}.")


def _settings(options: argparse.Namespace, case: Case) -> dict[str, Any]:
    asked = {"methods": options.methods, "sizes": options.sizes, "learners": options.learners, "folds": options.folds}
    return {
        **{name: value for name, value in asked.items() if value is not None},
        "supervision": case.supervision,
        "feature_names": case.table.names,
        "repeats": options.repeats,
        "target_type": options.target_type,
        "unlabeled": options.unlabeled,
        "random_state": options.seed,
        "n_jobs": options.jobs,
        "progress": False if options.quiet else None,
    }


def _page(found: Comparison, case: Case, options: argparse.Namespace, warned: list[str]) -> str:
    """The report of the default's ranking, with the comparison in it."""
    settings = {"n_features_to_select": "auto", "target_type": options.target_type, "unlabeled": options.unlabeled}
    with told_warnings(quiet=True, debug=False):  # they have been said
        ranking = rank(
            case.table.matrix,
            case.y,
            supervision=case.supervision,
            feature_names=case.table.names,
            random_state=options.seed,
            progress=False if options.quiet else None,
            **settings,
        )
    facts = ranking.report_facts(
        title=f"Which columns of {case.table.name} matter",
        table=case.table_facts(options.table if options.full_paths else None),
        comparison=found.page_facts(),
        repeat=repeated(options, case, settings),
    )
    facts["done"]["warnings"] = warned
    facts["known"]["target"] = case.target
    return page(facts)


def _result(found: Comparison, case: Case, options: argparse.Namespace, chosen: str, warned: list[str]) -> str:
    if chosen == "json":
        return as_json({"command": "compare", **found.facts()}, None, case, options, warned)
    if chosen in ("csv", "tsv"):
        records = [rounded(record) for record in found.to_records()]
        rows = [list(record.values()) for record in records]
        return csv_text(list(records[0]) if records else None, rows, "," if chosen == "csv" else "\t", options.raw_names)
    return f"{found}\n"

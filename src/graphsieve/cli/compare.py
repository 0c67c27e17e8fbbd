"""``graphsieve compare``: compare several methods, random columns and all columns."""

from __future__ import annotations

import argparse
from typing import Any

from graphsieve._base.errors import UsageError
from graphsieve._base.parameters import nearest, quoted
from graphsieve.assess.comparison.candidates import NAMES
from graphsieve.assess.comparison.comparing import compare
from graphsieve.assess.comparison.results import Comparison
from graphsieve.assess.evaluation.learners import LEARNERS
from graphsieve.cli.arguments import UNLABELED
from graphsieve.cli.case import Case, columns_by_name, read_case
from graphsieve.cli.notes import note, shown_warnings
from graphsieve.cli.outputs import put, write
from graphsieve.cli.rank import (
    as_json,
    check_options_of_results,
    choosing,
    grouping,
    named_files,
    ranked,
    result_format,
    rounded,
)
from graphsieve.cli.reproducing import reproduction_code
from graphsieve.report.page import page
from graphsieve.table.files.writing import csv_text

# Arguments that the ranking in the report shares with the comparison
SHARED = ("feature_groups", "keep", "candidates", "cost", "target_type", "unlabeled")


def run(options: argparse.Namespace) -> None:
    """Read, compare, print, and write the report."""
    _check_names(options)
    _check_judging(options)
    chosen = result_format(options)
    check_options_of_results(options, chosen)
    output, report = named_files(options)
    asked = _asked(options)
    with shown_warnings(quiet=options.quiet, debug=options.debug) as warned:
        case = read_case(options)
        for line in case.lines:
            note(line, quiet=options.quiet)
        with columns_by_name(case.table.names):
            found = compare(
                case.table.matrix,
                case.y,
                supervision=case.supervision,
                groups=case.groups,
                feature_names=case.table.names,
                progress=False if options.quiet else None,
                **_features(case),
                **asked,
            )
    if report is not None:
        write(report, _page(found, case, options, asked, warned), force=options.force)
    text = _result(found, case, options, chosen, warned)
    put(text, output, chosen, force=options.force)
    for path, what in ((output, "comparison"), (report, "report")):
        if path is not None:
            note(f"{what} written to {path}", quiet=options.quiet)


def _check_names(options: argparse.Namespace) -> None:
    """Refuse a misspelt name before the table is read."""
    for option, given, names in (
        ("--methods", options.methods, NAMES),
        ("--learners", options.learners, tuple(LEARNERS)),
    ):
        for name in given or ():
            if name not in names:
                raise UsageError(
                    f"{option} contains the unknown name {quoted(name)}{nearest(name, names)}; "
                    f"choose from {', '.join(names)}."
                )


def _check_judging(options: argparse.Namespace) -> None:
    """Refuse options of the evaluation if there is no target."""
    judging = {
        "--learners": options.learners,
        "--folds": options.folds,
        "--repeats": options.repeats,
    }
    for name in (
        name for name, value in judging.items() if value is not None and options.target is None
    ):
        raise UsageError(f"{name} needs a target to predict; add --target, or leave it out.")


def _asked(options: argparse.Namespace) -> dict[str, Any]:
    """Return the keyword arguments of `compare` that differ from their defaults."""
    given = {
        "methods": options.methods,
        "sizes": options.sizes,
        "learners": options.learners,
        "folds": options.folds,
        "repeats": options.repeats,
        "random_state": options.seed or None,
        "n_jobs": options.jobs,
        **grouping(options),
        **choosing(options),
        **_of_target(options),
    }
    return {
        name: value for name, value in given.items() if value is not None or name == "unlabeled"
    }


def _features(case: Case) -> dict[str, Any]:
    """Return the categories as an argument, if there are any."""
    return {"categorical": case.table.categorical} if case.table.categories else {}


def _of_target(options: argparse.Namespace) -> dict[str, Any]:
    asked = {
        "target_type": (options.target_type, "auto"),
        "unlabeled": (options.unlabeled, UNLABELED),
    }
    return {name: value for name, (value, usual) in asked.items() if value != usual}


def _page(
    found: Comparison,
    case: Case,
    options: argparse.Namespace,
    asked: dict[str, Any],
    warned: list[str],
) -> str:
    """Return the report on the default ranking, with the comparison."""
    with shown_warnings(quiet=True, debug=False):  # They have been shown already.
        ranking = ranked(
            case,
            options,
            {
                "n_features_to_select": "auto",
                "random_state": options.seed,
                **{name: asked[name] for name in SHARED if name in asked},
            },
        )
    facts = ranking.report_facts(
        title=f"Columns of {case.table.name} that matter",
        target=case.target,
        table=case.table_facts(options.table if options.full_paths else None),
        comparison=found.page_facts(),
        repeat=reproduction_code(options, case, asked, "compare"),
    )
    facts["done"]["warnings"] = warned
    return page(facts)


def _result(
    found: Comparison, case: Case, options: argparse.Namespace, chosen: str, warned: list[str]
) -> str:
    if chosen == "json":
        return as_json({"command": "compare", **found.facts()}, None, case, options, warned)
    if chosen in ("csv", "tsv"):
        records = [rounded(record) for record in found.to_records() or _ranks(found)]
        rows = [list(record.values()) for record in records]
        return csv_text(list(records[0]), rows, "," if chosen == "csv" else "\t", options.raw_names)
    return f"{found}\n"


def _ranks(found: Comparison) -> list[dict[str, Any]]:
    """Return the rankings, which are the whole result if there is no target to predict."""
    return [
        {"method": one["method"], "feature": feature, "rank": rank}
        for one in found.facts()["rankings"]
        for feature, rank in zip(one["features"], one["ranks"], strict=True)
    ]

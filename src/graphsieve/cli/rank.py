"""``graphsieve rank``: rank the columns of a table."""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
from pathlib import Path
from typing import Any

from graphsieve._base.atomic_files import check_compression, json_text
from graphsieve._base.errors import UsageError
from graphsieve._base.parameters import nearest, quoted
from graphsieve.cli.arguments import ROWS_SHOWN, UNLABELED
from graphsieve.cli.case import Case, columns_by_name, input_files, read_case
from graphsieve.cli.notes import note, painter, shown_warnings
from graphsieve.cli.outputs import check_outputs, output_file, put, write
from graphsieve.cli.reproducing import reproduction_code
from graphsieve.report.page import page
from graphsieve.report.terminal import (
    COMMAND_LINE,
    LINE_WIDTH,
    further_lines,
    headline,
    subline,
    table_lines,
    wrapped,
)
from graphsieve.report.wording import missing_text
from graphsieve.scores.score_registry import METHODS
from graphsieve.search.search_registry import SEARCHES
from graphsieve.select.ranking import ITERATED, Ranking, rank, versions
from graphsieve.table.files.column_files import read_costs_file, read_groups_file
from graphsieve.table.files.table_file import counted, listed_plainly
from graphsieve.table.files.writing import csv_text

SCHEMA = 1
# Digits of numbers in CSV and JSON. Further digits are rounding errors, which differ by machine.
DIGITS = 12
NARROW = 114  # characters; a narrower terminal does not show the redundancy
ENDINGS = {".csv": "csv", ".tsv": "tsv", ".json": "json", ".txt": "table"}


def run(options: argparse.Namespace) -> None:
    """Read, rank, print, and write the report."""
    settings = rank_settings(options)
    chosen = result_format(options)
    check_options_of_results(options, chosen)
    output, report = named_files(options)
    with shown_warnings(quiet=options.quiet, debug=options.debug) as warned:
        case = read_case(options)
        for line in case.lines:
            note(line, quiet=options.quiet)
        ranking = ranked(case, options, settings)
    note_groups(ranking, quiet=options.quiet)
    if report is not None:
        facts = ranking.report_facts(
            title=f"Columns of {case.table.name} that matter",
            target=case.target,
            table=case.table_facts(options.table if options.full_paths else None),
            repeat=reproduction_code(options, case, settings),
        )
        facts["done"]["warnings"] = warned
        write(report, page(facts), force=options.force)
    text = _result(ranking, case, options, chosen, warned)
    put(text, output, chosen, force=options.force)
    for path, what in ((output, "ranking"), (report, "report")):
        if path is not None:
            note(f"{what} written to {path}", quiet=options.quiet)


def named_files(options: argparse.Namespace) -> tuple[Path | None, Path | None]:
    """Return the files for the result and the report, after checking that they can be written."""
    output = None if options.output is None else output_file(options.output)
    report = None if options.report is None else output_file(options.report)
    check_outputs(
        [path for path in (output, report) if path is not None],
        force=options.force,
        inputs=input_files(options),
    )
    return output, report


def ranked(case: Case, options: argparse.Namespace, settings: dict[str, Any]) -> Ranking:
    """Return the ranking of a case."""
    with columns_by_name(case.table.names):
        return rank(
            case.table.matrix,
            case.y,
            supervision=case.supervision,
            groups=case.groups,
            sample_weight=case.weights,
            feature_names=case.table.names,
            progress=False if options.quiet else None,
            categorical=case.table.categorical,
            **settings,
        )


def note_groups(ranking: Ranking, *, quiet: bool) -> None:
    """Tell how many columns the groups have."""
    if ranking.members is not None and ranking.kinds is not None:
        groups = [
            f"{quoted(name)} ({counted(len(columns), 'column')})"
            for name, columns, kind in zip(
                ranking.names, ranking.members, ranking.kinds, strict=True
            )
            if kind == "group"
        ]
        note(f"{counted(len(groups), 'group')}: {listed_plainly(groups)}", quiet=quiet)


def rank_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the keyword arguments of `rank` that differ from their defaults."""
    names = ("auto", "diverse", *ITERATED, *METHODS)
    if options.method not in names:
        if options.method in SEARCHES:
            raise UsageError(
                f"the search {options.method!r} selects a set and has no scores to rank by; "
                f"run graphsieve compare --methods {options.method}, or use it in Python."
            )
        raise UsageError(
            f"--method must be one of {', '.join(names)}, got "
            f"{quoted(options.method)}{nearest(options.method, names)}."
        )
    if options.method in ITERATED and options.top == "auto":
        raise UsageError(
            f"--method {options.method} does not support --top auto; give a number, or leave --top "
            "out."
        )
    settings = {
        **grouping(options),
        **choosing(options),
        "n_features_to_select": options.fraction
        or options.top
        or (None if options.method in ITERATED else "auto"),
        "method": options.method,
        "max_features": options.max_features,
        "redundancy": None if options.redundancy == "none" else options.redundancy,
        "scale": None if options.scale == "none" else options.scale,
        "metric": options.metric,
        "neighbors": options.neighbor_search,
        "compress": options.compress,
        "n_prototypes": options.prototypes,
        "n_neighbors": options.neighbors,
        "bandwidth": options.bandwidth,
        "target_type": options.target_type,
        "unlabeled": options.unlabeled,
        "method_params": _parameters(options.param) or None,
        "random_state": options.seed,
        "n_jobs": options.jobs,
    }
    usual = {
        "unlabeled": UNLABELED,
        "random_state": 0,
        **dict.fromkeys(
            (
                "feature_groups",
                "keep",
                "candidates",
                "cost",
                "max_features",
                "method_params",
                "n_features_to_select",
                "compress",
                "n_prototypes",
                "n_jobs",
            )
        ),
    }
    return {name: value for name, value in settings.items() if value != usual.get(name, "auto")}


def grouping(options: argparse.Namespace) -> dict[str, Any]:
    """Return the groups of columns as an argument."""
    if options.feature_groups is not None:
        groups = read_groups_file(options.feature_groups, max_bytes=options.max_bytes)
        return {"feature_groups": groups}
    return {"feature_groups": options.group_by_prefix}


def choosing(options: argparse.Namespace) -> dict[str, Any]:
    """Return the features to keep, the candidates and the costs as arguments."""
    return {
        "keep": options.keep_feature or None,
        "candidates": options.candidates,
        "cost": None
        if options.costs is None
        else read_costs_file(options.costs, max_bytes=options.max_bytes),
    }


def _parameters(texts: list[str]) -> dict[str, Any]:
    """Parse NAME=VALUE into Python values: numbers, true, false, null, or else text."""
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise UsageError(f"--param must be NAME=VALUE, got {quoted(text)}.")
        try:
            found[name] = json.loads(value)
        except (ValueError, RecursionError):
            found[name] = value
    return found


def result_format(options: argparse.Namespace) -> str:
    """Return the format of the result: as requested, or by the ending of the output."""
    if options.format is not None or options.output is None:
        return options.format or "table"
    file = Path(options.output)
    check_compression(file)
    ending = Path(file.name.lower().removesuffix(".gz")).suffix
    if ending not in ENDINGS:
        raise UsageError(
            f"the ending of {quoted(file.name)} is not a known format; add --format, or use one of "
            f"{', '.join(ENDINGS)} (also with .gz)."
        )
    return ENDINGS[ending]


def check_options_of_results(options: argparse.Namespace, chosen: str) -> None:
    """Refuse options that have no effect on this format."""
    is_text, has_paths = chosen in ("csv", "tsv"), chosen == "json" or options.report is not None
    unused = {
        "--rows applies to the table": getattr(options, "rows", None) is not None
        and chosen != "table",
        "--raw-names applies to CSV and TSV": options.raw_names and not is_text,
        "--full-paths applies to JSON and the report": options.full_paths and not has_paths,
    }
    for what in (what for what, is_given in unused.items() if is_given):
        raise UsageError(f"{what}, but the format is {chosen}; leave one of the two out.")


def _result(
    ranking: Ranking, case: Case, options: argparse.Namespace, chosen: str, warned: list[str]
) -> str:
    if chosen == "json":
        return as_json({"command": "rank", **ranking.facts()}, ranking, case, options, warned)
    if chosen in ("csv", "tsv"):
        records = [rounded(record) for record in ranking.to_records()]
        rows = [[_cell(value) for value in record.values()] for record in records]
        return csv_text(list(records[0]), rows, "," if chosen == "csv" else "\t", options.raw_names)
    return ranking_lines(
        ranking,
        rows=options.rows or ROWS_SHOWN,
        on_terminal=options.output is None and sys.stdout.isatty(),
    )


def as_json(
    facts: dict[str, Any],
    ranking: Ranking | None,
    case: Case,
    options: argparse.Namespace,
    warned: list[str],
) -> str:
    """Return a JSON document without NaN. The same input gives the same bytes."""
    known = {"text": facts["known"]} if ranking is None else ranking.known or {}
    further = {
        "table": case.table_facts(options.table if options.full_paths else None),
        "known": {**known, "target": case.target},
        "parameters": {} if ranking is None else dict(ranking.parameters),
        "versions": dict(versions()),
        "warnings": warned,
    }
    document = {
        "schema": SCHEMA,
        **{name: value for name, value in facts.items() if name != "schema"},
        **further,
    }
    return json_text(rounded(document)) + "\n"


def rounded(value: Any) -> Any:
    """Return the same value with every float rounded to 12 digits."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        return "; ".join(value)
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


def ranking_lines(ranking: Ranking, *, rows: int | None, on_terminal: bool) -> str:
    """Return the ranking as text, in colour on a terminal and without redundancy on a narrow one."""
    facts = ranking.page_facts()
    features = facts["features"]
    columns = shutil.get_terminal_size().columns if on_terminal else NARROW
    n_selected = int(ranking.selected.sum())
    lines = [headline(facts, COMMAND_LINE), subline(facts, COMMAND_LINE), *further_lines(facts)]
    # The number of missing values is in the notes on the table.
    for text in missing_text(facts)[1:]:
        lines += wrapped(text, min(LINE_WIDTH, columns))
    reason = COMMAND_LINE.worded(facts["count_reason"] or "")
    why = f". {reason}" if reason else ""
    lines += wrapped(f"{n_selected} of {len(ranking)} selected{why}", min(LINE_WIDTH, columns))
    more = "show all with --rows all, --format csv or --report"
    paint = painter(sys.stdout) if on_terminal else painter(None)
    return (
        "\n".join(
            [
                *lines,
                "",
                *table_lines(
                    features,
                    rows=rows or len(features),
                    more=more,
                    paint=paint,
                    show_cut=True,
                    show_redundancy=columns >= NARROW,
                    terms=COMMAND_LINE,
                ),
            ]
        )
        + "\n"
    )

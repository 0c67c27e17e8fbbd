"""``graphsieve select``: write the selected columns of a table."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphsieve._base.errors import InputError, UsageError
from graphsieve.cli.case import input_files, read_case
from graphsieve.cli.notes import note, shown_warnings
from graphsieve.cli.outputs import check_outputs, output_file, show, write_errors
from graphsieve.cli.rank import note_groups, rank_settings, ranked
from graphsieve.report.wording import recall_text
from graphsieve.table.files.writing import (
    WRITABLE,
    check_writable_format,
    has_control_characters,
    is_like_a_formula,
    output_columns,
    table_text,
    write_table,
)

NAMES_SHOWN = 10


def run(options: argparse.Namespace) -> None:
    """Read, rank, and write the selected columns."""
    output = None if options.output is None else output_file(options.output)
    if output is not None:
        check_writable_format(output)
    if options.raw_names and _is_binary(output):
        raise UsageError(
            "--raw-names applies to CSV and TSV, and other formats never change names; leave it "
            "out."
        )
    check_outputs(
        [] if output is None else [output], force=options.force, inputs=input_files(options)
    )
    settings = rank_settings(options)
    with shown_warnings(quiet=options.quiet, debug=options.debug):
        case = read_case(options, keep=options.keep)
        for line in case.lines:
            note(line, quiet=options.quiet)
        ranking = ranked(case, options, settings)
    note_groups(ranking, quiet=options.quiet)
    chosen = {
        name for name, selected in zip(ranking.names, ranking.selected, strict=True) if selected
    }
    if not chosen:
        raise InputError(
            f"no column can be selected: all {len(ranking)} feature columns of {case.table.name} "
            "are constant."
        )
    members = ranking.members or [(name,) for name in ranking.names]
    written = {
        column
        for columns, selected in zip(members, ranking.selected, strict=True)
        if selected
        for column in columns
    }
    stay = written | {
        name
        for name in (
            options.id_column,
            *(options.target or ()),
            options.subject_column,
            options.weight_column,
            *options.keep,
        )
        if name is not None
    }
    columns = output_columns(case.table, [name for name in case.table.columns if name in stay])
    if output is None:
        show(table_text(columns, raw_names=options.raw_names), "csv")
    else:
        with write_errors(output):
            write_table(
                output,
                columns,
                raw_names=options.raw_names,
                types=case.table.types,
                overwrite=options.force,
            )
    best = ranking.best(len(chosen))
    what = "columns" if ranking.members is None else "columns and groups"
    more = f" and {len(best) - NAMES_SHOWN} more" if len(best) > NAMES_SHOWN else ""
    note(
        f"{len(best)} of {len(ranking)} {what} selected: {', '.join(best[:NAMES_SHOWN])}{more}",
        quiet=options.quiet,
    )
    may_change = not options.raw_names and not _is_binary(output)
    n_changed = _n_texts(columns, is_like_a_formula) if may_change else 0
    if n_changed:
        what = (
            "cell that looks like a formula starts"
            if n_changed == 1
            else "cells that look like formulas start"
        )
        note(f"{n_changed:,} {what} with ' now; --raw-names keeps them", quiet=options.quiet)
    n_escaped = _n_texts(columns, has_control_characters) if may_change else 0
    if n_escaped:
        note(
            f"{n_escaped:,} {'cell' if n_escaped == 1 else 'cells'} with control characters "
            f"{'has' if n_escaped == 1 else 'have'} escapes now; --raw-names keeps them",
            quiet=options.quiet,
        )
    if (found := recall_text(ranking.facts())) is not None:
        note(found, quiet=options.quiet)
    if output is not None:
        note(f"reduced table written to {output}", quiet=options.quiet)


def _is_binary(output: Path | None) -> bool:
    return output is not None and not WRITABLE[check_writable_format(output)]


def _n_texts(columns: dict[str, Any], is_such: Callable[[Any], bool]) -> int:
    """Return the number of names and cells for which `is_such` holds."""
    texts = [values for values in columns.values() if values.dtype.kind == "O"]
    return sum(map(is_such, columns)) + sum(is_such(value) for values in texts for value in values)

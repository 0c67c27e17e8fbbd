"""``graphsieve select``: the table with the selected columns only."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from graphsieve.cli.case import read_case
from graphsieve.cli.outputs import OutputError, check_outputs, show
from graphsieve.cli.rank import rank_settings, ranked
from graphsieve.cli.saying import say, told_warnings
from graphsieve.errors import InputError, UsageError
from graphsieve.tables import check_writable_format, csv_text, output_columns, write_table


def run(options: argparse.Namespace) -> None:
    """Read, rank, and write what was selected."""
    settings = rank_settings(options)
    output = None if options.output is None else Path(options.output)
    if output is not None:
        check_writable_format(output)
    inputs = [name for name in (options.table, options.pairs, options.proba) if name is not None]
    check_outputs([] if output is None else [output], force=options.force, inputs=inputs)
    with told_warnings(quiet=options.quiet, debug=options.debug):
        case = read_case(options, keep=options.keep)
        for line in case.lines:
            say(line, quiet=options.quiet)
        ranking = ranked(case, options, settings)
    chosen = {name for name, selected in zip(ranking.names, ranking.selected, strict=True) if selected}
    if not chosen:
        raise InputError(
            f"nothing to select: none of the {len(ranking)} features of {case.table.name} can be scored; all are constant."
        )
    stay = chosen | {name for name in (options.id_column, options.target, *options.keep) if name is not None}
    columns = output_columns(case.table, [name for name in case.table.columns if name in stay])
    if output is None:
        show(csv_text(list(columns), zip(*(values.tolist() for values in columns.values()), strict=True), ",", options.raw_names))
    else:
        _write(output, columns, raw_names=options.raw_names)
    say(
        f"{len(chosen)} of {len(ranking)} features selected: {', '.join(ranking.best(len(chosen))[:10])}",
        quiet=options.quiet,
    )
    if output is not None:
        say(f"the reduced table: {output}", quiet=options.quiet)


def _write(output: Path, columns: dict[str, Any], *, raw_names: bool) -> None:
    try:
        write_table(output, columns, raw_names=raw_names)
    except UsageError:
        raise
    except OSError as error:
        raise OutputError(f"{output} cannot be written: {error.strerror}.") from None

"""The command and the Python code that reproduce a result, for reports.

Paths are reduced to file names, unless --full-paths is given.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import PurePath
from typing import Any

from graphsieve.cli.case import Case


def reproduction_code(
    options: argparse.Namespace, case: Case, settings: dict[str, Any], call: str = "rank"
) -> dict[str, Any]:
    """Return the command and the Python code; `call` is the name of the function to call."""
    return {"command": _command(options), "python": _python(options, case, settings, call)}


def _command(options: argparse.Namespace) -> str:
    paths = [options.table, options.pairs, options.proba, options.output, options.report]
    words = []
    for word in options.given:
        for path in paths:
            if path and path != "-" and (word == path or word.endswith(f"={path}")):
                word = word.removesuffix(path) + shown_path(path, options)  # noqa: PLW2901
                break
        words.append(word)
    return shlex.join(["graphsieve", *words])


def shown_path(path: str, options: argparse.Namespace) -> str:
    """Return the name of the file, or the full path if that was requested."""
    return path if options.full_paths else PurePath(path).name


def _python(options: argparse.Namespace, case: Case, settings: dict[str, Any], call: str) -> str:
    reading = _reading(options)
    further = [] if options.missing == "refuse" else ["without_missing"]
    further += ["without_columns"] if options.exclude else []
    lines = [f"from graphsieve import {call}, read_table"]
    if options.pairs or options.proba or options.proba_columns:
        lines = ["import numpy as np"] * bool(options.proba_columns) + [
            f"from graphsieve import Supervision, {call}, read_table"
        ]
        further += ["read_pairs_file"] * bool(options.pairs) + ["read_probabilities_file"] * bool(
            options.proba
        )
        further += ["row_ids"] * bool(options.pairs or options.proba)
    lines += [f"from graphsieve.table.files import {', '.join(sorted(further))}"] if further else []
    lines += ["", f"table = read_table({', '.join(reading)})"]
    lines += _changes(options)
    lines += _knowledge(options)
    given = ["table.matrix"] + (
        [f"table.kept[{options.target!r}]"] if options.target is not None else []
    )
    given += ["feature_names=table.names"] + (
        ["supervision=known"] if case.supervision is not None else []
    )
    given += [f"{name}={value!r}" for name, value in settings.items()]
    result = {"rank": "ranking", "compare": "comparison"}[call]
    lines += [f"{result} = {call}(", *(f"    {one}," for one in given), ")", f"print({result})"]
    return "\n".join(lines)


def _reading(options: argparse.Namespace) -> list[str]:
    apart = [options.target, *(options.proba_columns or ())]
    keep = [name for name in apart if name is not None]
    asked = {
        "keep": keep or None,
        "id_column": options.id_column,
        "sep": options.sep,
        "encoding": options.encoding,
        "header": False if options.no_header else None,
        "comment": options.comment,
        "key": options.key,
        "format": options.input_format,
        "max_bytes": options.max_bytes,
        "keep_na_text": options.keep_na_text or None,
    }
    source = options.table if options.table == "-" else shown_path(options.table, options)
    return [
        repr(source),
        *(f"{name}={value!r}" for name, value in asked.items() if value is not None),
    ]


def _changes(options: argparse.Namespace) -> list[str]:
    """Return the code that changes the table before it is ranked."""
    lines = []
    if options.pairs or options.proba:
        lines.append(f"ids = row_ids(table, {options.id_column!r})")
    if options.exclude:
        lines.append(
            f"excluded = [table.names.index(name) for name in {options.exclude!r} if name in "
            "table.names]"
        )
        lines.append('table = without_columns(table, excluded, "as requested")')
    if options.missing != "refuse":
        lines += ["before = table.positions"] * (
            options.missing == "drop-rows" and bool(options.pairs or options.proba)
        )
        lines.append(f"table = without_missing(table, {options.missing!r})")
    return lines


def _knowledge(options: argparse.Namespace) -> list[str]:
    lines, parts = [], []
    dropped = options.missing == "drop-rows" and (options.pairs or options.proba)
    if dropped:
        lines += ["stay = [position in set(table.positions) for position in before]"]
    rows, gone = ("ids[stay]", ", gone=ids[[not one for one in stay]]") if dropped else ("ids", "")
    if options.pairs:
        lines.append(
            f"pairs = read_pairs_file({shown_path(options.pairs, options)!r}, {rows}{gone})"
        )
        parts.append(
            "Supervision.from_pairs(table.matrix.shape[0], pairs.must_link, pairs.cannot_link)"
        )
    normalize = ", normalize=True" if options.normalize_proba else ""
    if options.proba:
        by = f", id_column={options.id_column!r}" if options.id_column else ""
        lines.append(
            f"proba, classes = read_probabilities_file({shown_path(options.proba, options)!r}, "
            f"ids{by})"
        )
        parts.append(
            f"Supervision.from_probabilities(proba{'[stay]' if dropped else ''}, "
            f"classes=classes{normalize})"
        )
    if options.proba_columns:
        lines.append(f"classes = {options.proba_columns!r}")
        lines.append(
            "proba = np.stack([table.kept[name].astype(float) for name in classes], axis=1)"
        )
        parts.append(f"Supervision.from_probabilities(proba, classes=classes{normalize})")
    return lines + ([f"known = {' | '.join(parts)}"] if parts else [])

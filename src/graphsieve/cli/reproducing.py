"""The command and the Python code that reproduce a result, for reports.

Paths are reduced to file names, unless --full-paths is given.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import PurePath
from typing import Any

from graphsieve.cli.arguments import UNLABELED
from graphsieve.cli.case import Case, input_files


def reproduction_code(
    options: argparse.Namespace, case: Case, settings: dict[str, Any], call: str = "rank"
) -> dict[str, Any]:
    """Return the command and the Python code; `call` is the name of the function to call."""
    return {"command": _command(options), "python": _python(options, case, settings, call)}


def _command(options: argparse.Namespace) -> str:
    paths = [*input_files(options), options.output, options.report]
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
    further = [] if options.missing in ("use", "refuse") else ["without_missing"]
    lines = [f"from graphsieve import {call}, read_table"]
    if case.supervision is not None:
        lines = [f"from graphsieve import Supervision, {call}, read_table"]
        further += ["read_pairs_file"] * bool(options.pairs) + ["read_probabilities_file"] * bool(
            options.proba
        )
        further += ["row_ids"] * bool(options.pairs or options.proba)
    if options.proba_columns or len(options.target or ()) > 1:
        lines.insert(0, "import numpy as np")
    lines += [f"from graphsieve.table.files import {', '.join(sorted(further))}"] if further else []
    lines += ["", f"table = read_table({', '.join(reading)})"]
    lines += _changes(options)
    lines += _knowledge(options)
    given = ["table.matrix"] + ([_target(options.target)] if case.y is not None else [])
    given += ["feature_names=table.names"] + (
        ["supervision=known"] if case.supervision is not None else []
    )
    if case.table.categories:
        given.append("categorical=table.categorical")
    if case.groups is not None:
        given.append(f"groups=table.kept[{options.subject_column!r}]")
    if case.weights is not None:
        given.append(f"sample_weight=table.kept[{options.weight_column!r}].astype(float)")
    given += [f"{name}={value!r}" for name, value in settings.items()]
    result = {"rank": "ranking", "compare": "comparison"}[call]
    lines += [f"{result} = {call}(", *(f"    {one}," for one in given), ")", f"print({result})"]
    return "\n".join(lines)


def _target(names: list[str]) -> str:
    """Return the code for the target."""
    if len(names) == 1:
        return f"table.kept[{names[0]!r}]"
    return f"np.stack([table.kept[name].astype(float) for name in {names!r}], axis=1)"


def _reading(options: argparse.Namespace) -> list[str]:
    apart = [
        *(options.target or ()),
        options.subject_column,
        options.confidence_column,
        options.weight_column,
        *(options.proba_columns or ()),
    ]
    keep = [name for name in apart if name is not None]
    asked = {
        "keep": keep or None,
        "id_column": options.id_column,
        "categorical": options.categorical or None,
        "numeric": options.numeric or None,
        "exclude": options.exclude or None,
        "keep_counter": options.keep_counter or None,
        "na_values": options.na_values or None,
        "decimal": options.decimal,
        "thousands": options.thousands,
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
    if options.missing not in ("use", "refuse"):
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
    if options.confidence_column:
        mark = "" if options.unlabeled == UNLABELED else f", unlabeled={options.unlabeled!r}"
        lines.append(f"confidence = table.kept[{options.confidence_column!r}].astype(float)")
        parts.append(
            f"Supervision.from_labels({_target(options.target)}, confidence=confidence{mark})"
        )
    return lines + ([f"known = {' | '.join(parts)}"] if parts else [])

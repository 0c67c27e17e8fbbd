"""From a file and options to a case: the table, the supervision, and notes for the user."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve._base.array_types import Floats
from graphsieve._base.errors import (
    ConstraintConflictError,
    InputError,
    UsageError,
    Warned,
    held_back,
    warn,
)
from graphsieve._base.messages import Part, message_of
from graphsieve._base.parameters import quoted
from graphsieve.cli.arguments import UNLABELED
from graphsieve.cli.option_names import for_the_command
from graphsieve.supervision.value import Supervision
from graphsieve.table.containers import column_label
from graphsieve.table.files.kinds import problem_message
from graphsieve.table.files.knowledge import read_pairs_file, read_probabilities_file, row_ids
from graphsieve.table.files.notation import TYPED, Notation, number
from graphsieve.table.files.opening import name_of
from graphsieve.table.files.reading import read_table
from graphsieve.table.files.table_file import (
    COUNTER,
    TableFile,
    counted,
    listed,
    without_missing,
)
from graphsieve.table.files.text_columns import TextColumn

LEFT_OUT_SHOWN = 5
CLASSES_SHOWN = 6
WRITTEN = ("csv", "xlsx")  # formats with numbers and missing values that may be written as text


@dataclass(frozen=True)
class Case:
    """A table and the supervision of its rows.

    Attributes
    ----------
    table : TableFile
        The table to rank, without excluded columns and rows.
    y : array of object, array of float of shape (n_rows, n_targets), or None
        The target, with None for unlabelled rows; or several, with NaN for unknown values.
    target : str or None
        Name of the target column, or of several.
    supervision : Supervision or None
        Pairs and class probabilities.
    groups : array of object or None
        The subject of each row.
    weights : array of float or None
        The weight of each row.
    lines : list of str
        Notes for the user on how the input was read.
    """

    table: TableFile
    y: NDArray[Any] | None
    target: str | None
    supervision: Supervision | None
    groups: NDArray[np.object_] | None
    weights: Floats | None
    lines: list[str]

    def table_facts(self, given_name: str | None = None) -> dict[str, Any]:
        """Return a description of the file, for reports and JSON."""
        table = self.table
        return {
            "name": given_name or table.name,
            "format": table.format,
            "n_rows": int(table.matrix.shape[0]),
            "n_columns": len(table.columns),
            "n_features": len(table.names),
            "categories": list(table.categories),
            "notes": list(table.notes),
            "left_out": [{"column": column, "why": why} for column, why in table.left_out.items()],
        }


def read_case(options: argparse.Namespace, *, keep: list[str] | None = None) -> Case:
    """Read the table and the supervision."""
    _check_knowledge_options(options)
    targets = list(options.target or ())
    apart = [
        *targets,
        options.subject_column,
        options.confidence_column,
        options.weight_column,
        *(options.proba_columns or ()),
        *(keep or ()),
    ]
    whole = read_table(
        options.table,
        keep=[name for name in apart if name is not None],
        id_column=options.id_column,
        categorical=options.categorical,
        numeric=options.numeric,
        exclude=options.exclude,
        keep_counter=options.keep_counter,
        na_values=options.na_values,
        decimal=options.decimal or ".",
        thousands=options.thousands,
        sep=options.sep,
        encoding=options.encoding or "utf-8",
        header=not options.no_header,
        comment=options.comment,
        key=options.key,
        format=options.input_format,
        max_bytes=options.max_bytes,
        keep_na_text=options.keep_na_text,
        progress=False if options.quiet else None,
    )
    whole = replace(whole, notes=tuple(for_the_command(message_of(one)) for one in whole.notes))
    _check_target(options, whole)
    table = without_missing(whole, options.missing)
    if not table.names:
        advice = "; use --keep-counter if it is a measurement"
        raise InputError(
            f"{table.name} has no column to rank ({_left_out(table) or 'none is left'})"
            f"{advice if COUNTER in table.left_out.values() else ''}."
        )
    for name in targets:
        if name in table.dates:
            raise InputError(
                f"the target {quoted(name)} of {table.name} holds dates; convert them to numbers "
                "or classes explicitly."
            )
    y = _target(options, table)
    known = (
        None
        if y is None
        else Supervision.from_y(y, target_type=options.target_type, unlabeled=options.unlabeled)
    )
    _check_mark_of_the_unknown(options, y, known)
    supervision = _further_knowledge(options, whole, table)
    if y is not None and known is not None and options.confidence_column is not None:
        certain = _confident(options, table, y, known)
        supervision = certain if supervision is None else supervision | certain
    if known is not None and supervision is not None and options.pairs is not None:
        with held_back(), _conflicts_by_name(_names_of_rows(options, whole, table)):
            known | supervision  # Only checked here. The ranking joins them and warns.
    groups = _subjects(options, table)
    lines = [_table_line(table), *_known_lines(options, y, known, supervision)]
    if groups is not None:
        n_subjects = counted(len(set(groups)), "subject")
        lines.append(f"subjects in {quoted(options.subject_column)}: {n_subjects}")
    weights = _weights(options, table)
    if weights is not None:
        share = f"{int((weights > 0).sum()):,} of {len(weights):,} rows"
        lines.append(f"weights in {quoted(options.weight_column)}: above 0 for {share}")
    lines += [f"excluded: {_left_out(table)}"] if table.left_out else []
    # The probabilities contain the labels. As labels they would count as certain.
    y = None if options.confidence_column is not None else y
    return Case(
        table,
        y,
        ", ".join(targets) or None,
        supervision,
        groups,
        weights,
        lines + list(table.notes),
    )


def input_files(options: argparse.Namespace) -> list[str]:
    """Return the files that are read."""
    names = ("table", "pairs", "proba", "feature_groups", "costs")
    given = [getattr(options, name, None) for name in names]
    return [name for name in given if name is not None]


def _check_knowledge_options(options: argparse.Namespace) -> None:
    named = {
        "--target": options.target,
        "--pairs": options.pairs,
        "--proba": options.proba,
        "--proba-columns": options.proba_columns,
    }
    given = [name for name, value in named.items() if value is not None]
    if options.unsupervised and given:
        raise UsageError(
            f"--unsupervised and {given[0]} cannot be combined; leave one of them out."
        )
    named["--confidence-column"] = options.confidence_column
    of_classes = [
        name
        for name in ("--proba", "--proba-columns", "--confidence-column")
        if named[name] is not None
    ]
    if len(of_classes) > 1:
        raise UsageError(
            f"{of_classes[0]} and {of_classes[1]} both give class probabilities; leave one of them "
            "out."
        )
    if options.normalize_proba and not {"--proba", "--proba-columns"} & set(given):
        raise UsageError(
            "--normalize-proba needs --proba or --proba-columns; add one of them, or leave it out."
        )
    about_target = {
        "--target-type": options.target_type != "auto",
        "--unlabeled": options.unlabeled != UNLABELED,
        "--keep-na-text": options.keep_na_text,
        "--confidence-column": options.confidence_column is not None,
    }
    unused = [name for name, is_given in about_target.items() if is_given]
    if options.target is None and unused:
        raise UsageError(f"{unused[0]} needs a target; add --target, or leave it out.")
    if input_files(options).count("-") > 1:
        raise UsageError("standard input can be read only once; name files for the others.")
    others = (
        options.id_column,
        options.subject_column,
        options.confidence_column,
        options.weight_column,
    )
    if len(set(options.target or ())) < len(options.target or ()):
        raise UsageError("--target names a column twice; name each once.")
    for name, role, apart in (
        *((name, "the target", others) for name in options.target or ()),
        (options.subject_column, "the subject", others[2:]),
        (options.confidence_column, "the confidence", (others[0], others[3])),
        (options.weight_column, "the weight", others[:1]),
    ):
        if name is not None and name in (
            *apart,
            *(options.proba_columns or ()),
            *options.exclude,
            *options.categorical,
            *options.numeric,
        ):
            raise UsageError(
                f"column {quoted(name)} is named as {role} and in another option; name it once."
            )


def _notation(options: argparse.Namespace, table: TableFile) -> Notation:
    """Return the notation of the cells of the table."""
    if table.format not in WRITTEN:
        return TYPED
    return Notation.of(options.decimal or ".", options.thousands, options.na_values)


def _check_target(options: argparse.Namespace, table: TableFile) -> None:
    """Refuse text among the numbers of a target, unless it is declared as classes.

    Otherwise one such cell would turn a continuous target into classes.
    """
    if options.target_type == "classes" or len(options.target or ()) != 1:
        return
    name = options.target[0]
    values, notation = table.kept[name], _notation(options, table)
    if name in table.dates or str not in {type(value) for value in values}:
        return
    column = TextColumn(notation, most=None)
    column.add("" if value is None else value for value in values)
    problem = column.found().problem
    if problem is not None:
        subject = f"the target {quoted(name)} of {table.name}"
        otherwise = [" or add --target-type classes."]
        raise InputError(
            problem_message(
                subject, problem, table.row_label(problem.row), notation, otherwise=otherwise
            )
        )


def _target(options: argparse.Namespace, table: TableFile) -> NDArray[Any] | None:
    """Return the column of the target, or several columns of numbers, or None."""
    names = options.target or ()
    if len(names) < 2:
        return table.kept[names[0]] if names else None
    return np.stack([_numbers(options, table, name, "a number") for name in names], axis=1)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(quoted(name) for name in names)


def _confident(
    options: argparse.Namespace, table: TableFile, y: NDArray[Any], known: Supervision
) -> Supervision:
    """Return the target as class probabilities, with the confidence in each label."""
    name = options.confidence_column
    if known.targets is not None:
        raise UsageError(
            f"--confidence-column needs class labels, but column {_listed(options.target)} is a "
            "continuous target; leave it out, or add --target-type classes."
        )
    values = _numbers(options, table, name, "a probability")
    unknown = np.flatnonzero(known.labeled & np.isnan(values))
    if len(unknown):
        raise InputError(
            f"column {quoted(name)} holds no value in {table.row_label(int(unknown[0]))}, which has "
            "a label; give the probability that this label is correct."
        )
    rows = [table.row_label(row) for row in range(len(y))]
    with _probabilities_by_name(f"column {quoted(name)}", rows, ()):
        return Supervision.from_labels(y, unlabeled=options.unlabeled, confidence=values)


def _weights(options: argparse.Namespace, table: TableFile) -> Floats | None:
    """Return the weight of each row."""
    name = options.weight_column
    if name is None:
        return None
    weights = _numbers(options, table, name, "a weight")
    for bad, what in (
        (np.isnan(weights), "no value"),
        (weights < 0, "a negative number"),
        (np.isinf(weights), "an infinite number"),
    ):
        if bad.any():
            row = table.row_label(int(np.flatnonzero(bad)[0]))
            raise InputError(
                f"column {quoted(name)} holds {what} in {row}; give every row a weight of 0 or more."
            )
    return weights


def _subjects(options: argparse.Namespace, table: TableFile) -> NDArray[np.object_] | None:
    """Return the subject of each row."""
    if options.subject_column is None:
        return None
    subjects = table.kept[options.subject_column]
    for row, subject in enumerate(subjects):
        if subject is None:
            raise InputError(
                f"column {quoted(options.subject_column)} holds no value in {table.row_label(row)}; "
                "give every row a subject."
            )
    return subjects


def _check_mark_of_the_unknown(
    options: argparse.Namespace, y: NDArray[Any] | None, known: Supervision | None
) -> None:
    """Check that the mark of unlabelled rows applies to the target.

    It applies to numeric classes only. Elsewhere it would silently be data.
    """
    mark = options.unlabeled
    if y is None or known is None or mark is None:
        return
    if len(options.target) > 1 and options.target_type == "classes":
        return
    if known.targets is not None and mark != UNLABELED:
        raise UsageError(
            f"--unlabeled {mark} needs class labels, but column {_listed(options.target)} is a "
            "continuous target; leave unknown cells empty, or add --target-type classes."
        )
    texts = {value for value in y.flat if isinstance(value, str) and number(value) == mark}
    if texts:
        warn(
            f"column {_listed(options.target)} holds text, so {quoted(min(texts))} is one of its "
            "classes; leave these cells empty if they are unlabelled, or add --unlabeled none."
        )


def _further_knowledge(
    options: argparse.Namespace, whole: TableFile, table: TableFile
) -> Supervision | None:
    """Return pairs and probabilities of the remaining rows."""
    ids = (
        row_ids(whole, options.id_column)
        if options.id_column or options.pairs or options.proba
        else np.empty(0)
    )
    stay = np.isin(whole.positions, table.positions)
    found = None
    if options.pairs is not None:
        found = _linked(options.pairs, ids[stay], ids[~stay], options.max_bytes)
    if options.proba is not None:
        limits = {"id_column": options.id_column, "max_bytes": options.max_bytes}
        matrix, classes = read_probabilities_file(options.proba, list(ids), **limits)
        with _probabilities_by_name(
            name_of(options.proba), [f"row {quoted(name)}" for name in ids[stay]], classes
        ):
            of_rows = Supervision.from_probabilities(
                matrix[stay], classes=np.array(classes), normalize=options.normalize_proba
            )
        found = of_rows if found is None else found | of_rows
    if options.proba_columns is not None:
        matrix = np.stack(
            [_numbers(options, table, name, "a probability") for name in options.proba_columns],
            axis=1,
        )
        names = np.array(options.proba_columns)
        with _probabilities_by_name(
            table.name, [table.row_label(row) for row in range(len(matrix))], options.proba_columns
        ):
            of_rows = Supervision.from_probabilities(
                matrix, classes=names, normalize=options.normalize_proba
            )
        found = of_rows if found is None else found | of_rows
    return found


def _names_of_rows(options: argparse.Namespace, whole: TableFile, table: TableFile) -> NDArray[Any]:
    """Return the names of the remaining rows."""
    return row_ids(whole, options.id_column)[np.isin(whole.positions, table.positions)]


def _linked(
    source: str, ids: NDArray[Any], gone: NDArray[Any], max_bytes: int | None
) -> Supervision:
    """Return the pairs of a file. Errors name the rows as the file does."""
    name, pairs = (
        name_of(source),
        read_pairs_file(source, list(ids), gone=list(gone), max_bytes=max_bytes),
    )
    for one, other in pairs.cannot_link:
        if one == other:
            raise InputError(
                f"{name} has a cannot-link between row {quoted(ids[one])} and itself; remove that "
                "pair."
            )
    must_link = [(one, other) for one, other in pairs.must_link if one != other]
    if len(must_link) < len(pairs.must_link):
        itself = next(one for one, other in pairs.must_link if one == other)
        n_left_out = counted(len(pairs.must_link) - len(must_link), "such pair")
        warn(f"{name} links row {quoted(ids[itself])} with itself; {n_left_out} ignored.")
    if not must_link and not pairs.cannot_link:
        warn(f"{name} holds no pair of two different rows of the table, so it has no effect.")
    with _conflicts_by_name(ids):
        return Supervision.from_pairs(len(ids), must_link, pairs.cannot_link)


@contextmanager
def columns_by_name(names: Sequence[str]) -> Iterator[None]:
    """Reword errors and warnings of the library with column names instead of positions."""

    def by_name(part: Part) -> str:
        return column_label(names, part.value) if part.kind == "column" else part

    found: list[Warned] = []
    try:
        with held_back() as found:
            yield
    except InputError as error:
        raise type(error)(message_of(error).worded(by_name)) from None
    finally:
        for one in found:
            warn(one.message.worded(by_name), category=one.category)


@contextmanager
def _conflicts_by_name(ids: NDArray[Any]) -> Iterator[None]:
    """Reword conflicts between pairs with row names instead of positions."""
    try:
        yield
    except ConstraintConflictError as error:
        by_name = message_of(error).worded(
            lambda part: quoted(ids[part.value]) if part.kind == "sample" else part
        )
        raise ConstraintConflictError(by_name) from None


@contextmanager
def _probabilities_by_name(
    file: str, rows: Sequence[str], classes: Sequence[str]
) -> Iterator[None]:
    """Reword errors in probabilities with the row and column names of the file."""

    def by_name(part: Part) -> str:
        if part.kind == "column":
            return f"column {quoted(str(classes[part.value]))}"
        if part.kind == "row":
            return rows[int(part.value)]
        return file if part.name in ("label_proba", "confidence") else part

    try:
        yield
    except InputError as error:
        raise InputError(message_of(error).worded(by_name)) from None


def _numbers(options: argparse.Namespace, table: TableFile, name: str, expected: str) -> Floats:
    """Return a column of numbers, with NaN for empty cells."""
    notation = _notation(options, table)
    # If a cell of the column holds text, all cells do, also those with numbers.
    values = [
        notation.number(value) if isinstance(value, str) else np.nan if value is None else value
        for value in table.kept[name]
    ]
    if None in values:
        row = values.index(None)
        raise InputError(
            f"column {quoted(name)} holds {quoted(table.kept[name][row])} in "
            f"{table.row_label(row)}; expected {expected}."
        )
    return np.array(values, dtype=np.float64)


def _table_line(table: TableFile) -> str:
    size = f"{counted(table.matrix.shape[0], 'row')}, {counted(len(table.columns), 'column')}"
    names = table.categories
    categories = (
        f" ({len(names):,} {'category' if len(names) == 1 else 'categories'}: {listed(names)})"
        if names
        else ""
    )
    return (
        f"{table.name}: {size}, {len(table.names):,} of them "
        f"{'a feature' if len(table.names) == 1 else 'features'}{categories}"
    )


def _known_lines(
    options: argparse.Namespace,
    y: NDArray[Any] | None,
    known: Supervision | None,
    supervision: Supervision | None,
) -> list[str]:
    lines = []
    if y is not None and known is not None:
        lines.append(f"target {_listed(options.target)}: {_target_words(options, y, known)}")
    if supervision is not None:
        lines.append(f"supervision: {repr(supervision).partition(': ')[2].removesuffix(')')}")
    if not lines and not options.unsupervised:
        lines.append(
            "no supervision; use --target to name a column of labels or target values, if there is "
            "one"
        )
    return lines


def _target_words(options: argparse.Namespace, y: NDArray[Any], known: Supervision) -> str:
    """Describe the type of the target, and how to choose the other type."""
    share = f"known for {known.n_labeled:,} of {len(known):,} rows"
    if known.n_targets > 1:
        return f"{known.n_targets} targets, all {share}"
    numbers = all(isinstance(value, int | float) for value in y if value is not None)
    if known.targets is not None:
        values = known.targets[~np.isnan(known.targets)]
        limits = f" from {values.min():.6g} to {values.max():.6g}" if len(values) else ""
        hint = (
            " (for class labels, use --target-type classes)"
            if options.target_type == "auto"
            else ""
        )
        return f"continuous{limits}, {share}{hint}"
    classes = [] if known.classes is None else [quoted(str(name)) for name in known.classes]
    listed = ", ".join(classes[:CLASSES_SHOWN]) + (", …" if len(classes) > CLASSES_SHOWN else "")
    hint = (
        " (for a continuous target, use --target-type continuous)"
        if numbers and options.target_type == "auto"
        else ""
    )
    count = "1 class" if len(classes) == 1 else f"{len(classes)} classes"
    return f"{count} ({listed}), {share}{hint}"


def _left_out(table: TableFile) -> str:
    shown = [f"{quoted(column)} ({why})" for column, why in table.left_out.items()]
    return ", ".join(shown[:LEFT_OUT_SHOWN]) + (
        f" and {len(shown) - LEFT_OUT_SHOWN} more" if len(shown) > LEFT_OUT_SHOWN else ""
    )

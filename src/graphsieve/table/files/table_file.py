"""The content of a table file of any format: numbers, separate columns and columns left out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Integers
from graphsieve._base.errors import InputError, UsageError, warn
from graphsieve._base.messages import Message, parameter
from graphsieve._base.parameters import choice, nearest, quoted
from graphsieve.table.categories import Category, CodedColumns

MISSING = frozenset(
    ("", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "null", "NULL", "None", "<NA>", "#N/A", "#NA")
)
NAMES_SHOWN = 5
IDENTIFIER = "an identifier or free text"
AS_REQUESTED = "as requested"
COUNTER = "numbers the rows"
FEWEST_COUNTED = 10  # rows; in a shorter table a measurement may be 1, 2, 3 by chance
HOW = ("use", "refuse", "drop-columns", "drop-rows", "fill")

How = Literal["use", "refuse", "drop-columns", "drop-rows", "fill"]


@dataclass(frozen=True, eq=False)
class TableFile:
    """A table that was read from a file.

    Parameters
    ----------
    name : str
        Name of the file for messages, never an absolute path.
    format : str
        ``"csv"`` (any separator), ``"xlsx"``, ``"parquet"``, ``"feather"``, ``"npz"``, ``"mtx"`` or
        ``"h5ad"``.
    columns : tuple of str
        Names of all columns, in the order of the file.
    names : tuple of str
        Names of the columns of `matrix`. These contain numbers or categories and were not requested
        separately.
    matrix : array or sparse matrix of shape (n_rows, len(names))
        The numbers, with NaN for missing values. Infinite values are not changed. A category has
        the position of its level, see `levels`.
    whole : frozenset of str
        The columns of `matrix` that contain only integers. In a text file they must also be written
        as integers (1 and not 1.0).
    kept : dict
        The columns that were requested separately, and row names in a text file without a name in
        the header, with one value per row: str, int, float or bool, or None if it is missing.
    left_out : dict
        All other columns, each with the reason why it is not in `matrix`.
    positions : array of shape (n_rows,)
        Position of each row in the file: its line in a text file or its row in a workbook, counted
        from 1, or its row in other files, counted from 0.
    row_names : array or None
        Names of the rows, if the format has row names.
    notes : tuple of str
        Decisions that were made while reading.
    types : dict
        Arrow types of the booleans, integers, float32 numbers, dates and categories in a Parquet or
        Feather file. `write_table` uses them to write the same types.
    dates : frozenset of str
        The separate columns that the file stores as dates, times or durations. Their values in
        `kept` are text.
    levels : dict
        The levels of the columns of `matrix` that are categories.
    ordered : frozenset of str
        The columns in `levels` with levels that have an order. They are ranked as numbers.
    """

    name: str
    format: str
    columns: tuple[str, ...]
    names: tuple[str, ...]
    matrix: Any
    whole: frozenset[str]
    kept: dict[str, NDArray[np.object_]]
    left_out: dict[str, str]
    positions: Integers
    row_names: NDArray[np.object_] | None = None
    notes: tuple[str, ...] = ()
    types: dict[str, Any] = field(default_factory=dict)
    dates: frozenset[str] = frozenset()
    levels: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    ordered: frozenset[str] = frozenset()

    @property
    def categories(self) -> tuple[str, ...]:
        """The names of the columns of `matrix` that are categories without an order."""
        return tuple(
            name for name in self.names if name in self.levels and name not in self.ordered
        )

    @property
    def categorical(self) -> list[str] | str:
        """The argument `categorical` for a function that takes `matrix` and `names`."""
        coded = {name: self.levels[name] for name in self.categories}
        return CodedColumns(coded) if coded else "auto"

    def row_label(self, i: int) -> str:
        """Return the position of row i in the file.

        It is ``"line 17"`` for a text file, counted as in an editor, ``"row 17"`` for a workbook,
        counted as in Excel, and ``"row 16 (counted from 0)"`` for other files.
        """
        return row_label(self.format, int(self.positions[i]))


def row_label(format: str, position: int) -> str:
    """Return the position of a row in a file of this format, as words."""
    labels = {"csv": f"line {position}", "xlsx": f"row {position}"}
    return labels.get(format, f"row {position} (counted from 0)")


def without_missing(table: TableFile, how: How) -> TableFile:
    """Return the table without missing values.

    Parameters
    ----------
    table : TableFile
        The table. Its `matrix` may contain missing values. Infinite values always raise an error.
    how : {"use", "refuse", "drop-columns", "drop-rows", "fill"}
        Whether to keep missing values for a method that can use them, to raise an error that lists
        them, to leave out columns or rows with missing values, or to replace these values by the
        median of the column. In a category they are replaced by the most frequent level.

    Returns
    -------
    TableFile
        The table, with a note that describes the change.
    """
    choice(HOW)("how", how)
    _refuse(
        table, np.isinf, "infinite", "correct them, or leave them empty to mark them as missing"
    )
    counts = _counts(table.matrix, np.isnan)
    if not counts.any():
        return table
    if how == "refuse":
        _refuse(
            table,
            np.isnan,
            "missing",
            "use --missing use, drop-columns, drop-rows or fill",
        )
    if how == "use":
        note = (
            f"{counted(int(counts.sum()), 'missing value')} in {counted(int((counts > 0).sum()), 'column')}: "
            "each column is scored on the rows where it has a value"
        )
        return replace(table, notes=(*table.notes, note))
    if how == "drop-rows":
        return _without_rows(table, counts)
    if how == "drop-columns":
        dropped = np.flatnonzero(counts)
        note = (
            f"{counted(len(dropped), 'column')} with missing values left out: "
            f"{_with_counts(table.names, counts)}"
        )
        return replace(
            without_columns(table, dropped, "missing values"), notes=(*table.notes, note)
        )
    return _filled(table, counts)


def without_columns(table: TableFile, dropped: Iterable[int], why: str) -> TableFile:
    """Return the table without these columns of its matrix, which are listed as left out."""
    gone = {int(column) for column in dropped}
    if not gone:
        return table
    remaining = [column for column in range(len(table.names)) if column not in gone]
    reasons = table.left_out | {table.names[column]: why for column in gone}
    return replace(
        table,
        names=tuple(table.names[column] for column in remaining),
        matrix=table.matrix[:, remaining],
        whole=table.whole - {table.names[column] for column in gone},
        levels={
            name: levels
            for name, levels in table.levels.items()
            if name in table.names and table.names.index(name) not in gone
        },
        left_out={name: reasons[name] for name in table.columns if name in reasons},
    )


def without_identifiers(table: TableFile, declared: Sequence[str] = ()) -> TableFile:
    """Return the table without categories of too many levels, and refuse those that are declared."""
    dropped = []
    for name in table.categories:
        at = table.names.index(name)
        codes = table.matrix[:, at]
        known = codes[~np.isnan(codes)].astype(np.int64)
        n_levels = int(np.count_nonzero(np.bincount(known)))
        if not Category(known, n_levels).is_identifier:
            continue
        if name in declared:
            raise InputError(
                parameter("categorical", declared),
                f" contains {quoted(name)}, which has {n_levels} levels in {len(known)} rows; a "
                "category needs 2 rows per level, so leave it out.",
            )
        dropped.append(at)
    return without_columns(table, dropped, IDENTIFIER)


def without_counters(table: TableFile, declared: Collection[str] = ()) -> TableFile:
    """Return the table without columns that number its rows in steps of one, unless declared.

    In a table sorted by the target, such a column predicts the target better than any other.
    """
    if sp.issparse(table.matrix) or table.matrix.shape[0] < FEWEST_COUNTED:
        return table
    rows, first = np.arange(table.matrix.shape[0]), table.matrix[0].astype(np.float64)
    with np.errstate(over="ignore"):
        # A cheap test of the last row, so that only few columns are compared as a whole
        likely = np.flatnonzero(table.matrix[-1] - first == rows[-1])
        found = [
            int(at)
            for at in likely
            if table.names[at] not in declared and (table.matrix[:, at] - first[at] == rows).all()
        ]
    if not found:
        return table
    several = len(found) > 1
    note = Message(
        f"{listed([table.names[at] for at in found])} {'number' if several else 'numbers'} the "
        f"rows, so {'they are' if several else 'it is'} excluded; use ",
        parameter("keep_counter"),
        f" if {'they are measurements' if several else 'it is a measurement'}",
    )
    return replace(without_columns(table, found, COUNTER), notes=(*table.notes, note))


def without_excluded(table: TableFile, excluded: Collection[str]) -> TableFile:
    """Return the table without the columns that the user excluded."""
    dropped = [at for at, name in enumerate(table.names) if name in excluded]
    left = without_columns(table, dropped, AS_REQUESTED)
    reasons = {
        name: AS_REQUESTED if name in excluded else why for name, why in left.left_out.items()
    }
    return replace(left, left_out=reasons)


def without_empty_columns(table: TableFile) -> TableFile:
    """Return the table without columns that have no value in any row."""
    counts = _counts(table.matrix, np.isnan)
    return without_columns(table, np.flatnonzero(counts == table.matrix.shape[0]), "empty")


def check_names(name: str, columns: Sequence[str]) -> None:
    """Raise an error if two columns have the same name."""
    repeated = [column for column, times in Counter(columns).items() if times > 1]
    if repeated:
        where = "; ".join(
            f"{quoted(column)} at positions "
            + listed_plainly([i + 1 for i, other in enumerate(columns) if other == column])
            for column in repeated[:NAMES_SHOWN]
        )
        raise InputError(
            f"{name} has duplicated column names ({where}{_more(len(repeated))}); rename them."
        )


def check_kept(name: str, keep: Sequence[str], columns: Sequence[str]) -> None:
    """Raise an error if a requested column does not exist."""
    there = set(columns)
    for wanted in keep:
        if wanted not in there:
            hint = nearest(wanted, columns) or f"; its columns are {listed(columns)}"
            raise UsageError(f"{name} has no column {quoted(wanted)}{hint}.")


def check_rows(name: str, n_rows: int) -> None:
    """Raise an error if the table has no rows."""
    if not n_rows:
        raise InputError(f"{name} has no data rows; at least 2 are needed.")


def warn_of_rounded(rounded: Sequence[str]) -> None:
    """Warn about columns with numbers that float64 does not represent exactly."""
    if rounded:
        warn(
            f"precision lost in column {quoted(rounded[0])}: integers beyond 2**53 and decimals of "
            f"more than 15 digits are rounded ({len(rounded)} such columns)."
        )


def is_missing(value: Any) -> bool:
    """Whether a value of a separate column is None or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def kept_text(value: str | None, missing: frozenset[str] = MISSING) -> str | None:
    """Return the text without surrounding blanks, or None if it marks a missing value."""
    stripped = "" if value is None else value.strip()
    return None if stripped in missing else stripped


def object_array(values: Sequence[Any]) -> NDArray[np.object_]:
    """Return an object array of the values, because `np.array` would convert their types."""
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


def boolean_note(names: Sequence[str]) -> list[str]:
    """Return a note that booleans were converted to numbers, if there were any."""
    return (
        [f"true and false are read as 1 and 0 in {counted(len(names), 'column')}: {listed(names)}"]
        if names
        else []
    )


def marks_note(marked: dict[str, set[str]], columns: Sequence[str]) -> list[str]:
    """Return a note on the marks of missing values in these columns, if there are any."""
    marks = [quoted(mark) for mark in sorted(set().union(*marked.values()))]
    if not marks:
        return []
    several = " and ".join([", ".join(marks[:-1]), marks[-1]]) if marks[1:] else marks[0]
    verb = "are read as missing values" if marks[1:] else "is read as a missing value"
    names = [name for name in columns if name in marked]
    return [f"{several} {verb} in {counted(len(names), 'column')}: {listed(names)}"]


def listed(names: Sequence[str]) -> str:
    """Return the first names, quoted, and the number of further ones."""
    return ", ".join(quoted(name) for name in names[:NAMES_SHOWN]) + _more(len(names))


def listed_plainly(values: Sequence[object]) -> str:
    """Return the first values, and the number of further ones."""
    return ", ".join(map(str, values[:NAMES_SHOWN])) + _more(len(values))


def counted(n: int, noun: str) -> str:
    """Return a count with its noun, such as ``1 row`` or ``2 rows``."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _more(total: int) -> str:
    return f" and {total - NAMES_SHOWN} more" if total > NAMES_SHOWN else ""


def _refuse(table: TableFile, is_bad: Any, kind: str, hint: str) -> None:
    counts = _counts(table.matrix, is_bad)
    if not counts.any():
        return
    columns = np.flatnonzero(counts)
    first = min(
        int(_bad_rows(table.matrix, int(column), is_bad)[0]) for column in columns[:NAMES_SHOWN]
    )
    mostly = np.flatnonzero(counts > table.matrix.shape[0] / 2)
    if kind == "missing" and len(mostly):
        hint = (
            f"{listed([table.names[j] for j in mostly])} {'is' if len(mostly) == 1 else 'are'} "
            f"mostly empty; {hint}"
        )
    raise InputError(
        f"{table.name} has {counted(int(counts.sum()), f'{kind} value')} in "
        f"{counted(len(columns), 'column')} "
        f"({_with_counts(table.names, counts)}), first in {table.row_label(first)}; {hint}."
    )


def _with_counts(names: Sequence[str], counts: Integers) -> str:
    columns = np.flatnonzero(counts)
    return ", ".join(f"{quoted(names[j])}: {counts[j]}" for j in columns[:NAMES_SHOWN]) + _more(
        len(columns)
    )


def _counts(matrix: Any, is_bad: Any) -> Integers:
    """Return the number of bad values in each column."""
    n_columns = matrix.shape[1]
    values = matrix.data if sp.issparse(matrix) else matrix
    if values.dtype.kind != "f" or _surely_finite(values):
        return np.zeros(n_columns, dtype=np.int64)
    if not sp.issparse(matrix):
        return np.asarray(np.count_nonzero(is_bad(matrix), axis=0), dtype=np.int64)
    entries = matrix.tocoo()
    return np.asarray(
        np.bincount(entries.col[is_bad(entries.data)], minlength=n_columns), dtype=np.int64
    )


def _surely_finite(values: NDArray[Any]) -> bool:
    """Whether the sum is finite, which proves that all values are finite.

    This needs no mask of the size of the array. If the sum overflows, the result is False, which
    is safe.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.sum(values)))


def _bad_rows(matrix: Any, column: int, is_bad: Any) -> NDArray[Any]:
    if not sp.issparse(matrix):
        return np.flatnonzero(is_bad(matrix[:, column]))
    entries = matrix.tocoo()
    return np.sort(entries.row[(entries.col == column) & is_bad(entries.data)])


def _without_rows(table: TableFile, counts: Integers) -> TableFile:
    bad = np.zeros(table.matrix.shape[0], dtype=bool)
    for column in np.flatnonzero(counts):
        bad[_bad_rows(table.matrix, int(column), np.isnan)] = True
    if bad.all():
        raise InputError(
            f"{table.name} has a missing value in every row ({_with_counts(table.names, counts)}), "
            "so none would be left; use --missing use, drop-columns or fill."
        )
    note = (
        f"{counted(int(bad.sum()), 'row')} with missing values left out (missing in "
        f"{_with_counts(table.names, counts)})"
    )
    rows = np.flatnonzero(~bad)
    left = replace(
        table,
        matrix=table.matrix[rows],
        kept={name: values[rows] for name, values in table.kept.items()},
        positions=table.positions[rows],
        row_names=None if table.row_names is None else table.row_names[rows],
        notes=(*table.notes, note),
    )
    return without_identifiers(left)  # A category may have lost most of its rows.


def _filled(table: TableFile, counts: Integers) -> TableFile:
    """Fill missing values with medians, which single outliers do not affect.

    A category has no median, so its most frequent level is used.
    """
    n_rows = table.matrix.shape[0]
    empty = np.flatnonzero(counts == n_rows)
    table, counts = without_columns(table, empty, "empty"), counts[counts < n_rows]
    matrix = table.matrix.tocsc(copy=True) if sp.issparse(table.matrix) else table.matrix.copy()
    broken = []
    for column in np.flatnonzero(counts):
        values = _column_values(matrix, int(column))
        if table.names[column] in table.levels:
            codes = values[~np.isnan(values)].astype(np.int64)
            values[np.isnan(values)] = np.argmax(np.bincount(codes))
            continue
        median = _median(matrix, values)
        values[np.isnan(values)] = median
        if not float(median).is_integer():
            broken.append(table.names[column])
    how = "the column's median" + (" or most frequent level" if table.levels else "")
    note = (
        f"{counted(int(counts.sum()), 'missing value')} filled with {how} "
        f"({_with_counts(table.names, counts)})"
    )
    return replace(
        table, matrix=matrix, whole=table.whole - set(broken), notes=(*table.notes, note)
    )


def _column_values(matrix: Any, column: int) -> NDArray[Any]:
    """Return a view of the values of a column, or of its stored values if the matrix is sparse."""
    if not sp.issparse(matrix):
        return np.asarray(matrix[:, column])
    return np.asarray(matrix.data[matrix.indptr[column] : matrix.indptr[column + 1]])


def _median(matrix: Any, stored: NDArray[Any]) -> float:
    known = stored[~np.isnan(stored)]
    if sp.issparse(matrix):
        known = np.concatenate([known, np.zeros(matrix.shape[0] - len(stored), dtype=known.dtype)])
    ordered = np.sort(known)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return float(low + (high - low) / 2) if np.isfinite(high - low) else float(low / 2 + high / 2)

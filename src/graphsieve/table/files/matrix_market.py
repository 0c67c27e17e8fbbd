"""Reading of Matrix Market files (MTX): a matrix without names, usually sparse.

The reader of scipy is faster, but it crashes the process if a line is damaged.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.errors import InputError
from graphsieve._base.parameters import quoted
from graphsieve._base.warning_filters import warnings_raised
from graphsieve.table.files.npz import assembled, checked_matrix, numbered
from graphsieve.table.files.opening import AT_ONCE, ByteSource, damage_reported, table_bytes
from graphsieve.table.files.table_file import TableFile, counted

# Integers are not read as floats. A float would round integers beyond 2**53, and later checks could
# not detect this.
FIELDS = {
    "real": np.float64,
    "double": np.float64,
    "integer": np.int64,
    "unsigned-integer": np.uint64,
}
MIRRORED = {"symmetric": 1, "skew-symmetric": -1}


class _Layout(NamedTuple):
    """The header of the file."""

    is_sparse: bool
    field: str
    symmetry: str
    n_rows: int
    n_columns: int
    n_entries: int


def read_mtx(source: ByteSource, keep: Sequence[str]) -> TableFile:
    """Read the table in a Matrix Market file. Its rows are the samples."""
    with damage_reported(source.name, "MTX"):
        source.check_whole_size()
        text = io.TextIOWrapper(io.BufferedReader(source, AT_ONCE), encoding="utf-8")
        layout = _layout(source.name, text)
        width = 3 if layout.is_sparse else 1
        n_bytes = table_bytes(layout.n_rows, layout.n_columns)
        source.check_size(n_bytes + 8 * width * layout.n_entries)
        # The declared number of entries is not passed as `max_rows`, because numpy would reserve
        # memory for it. Older versions of numpy only warn when they truncate 2.7 to 2, so this
        # warning is turned into an error.
        with warnings_raised(r"loadtxt\(\): Parsing an integer", DeprecationWarning):
            entries = np.loadtxt(
                text,
                comments="%",
                ndmin=2,
                dtype=FIELDS[layout.field],
            )
        if entries.shape != (layout.n_entries, width) and (layout.n_entries or entries.size):
            raise InputError(
                f"{source.name} has {_found(entries, layout, width)} where its header says "
                f"{layout.n_entries:,}; get it again."
            )
        source.check_declared(n_bytes)
        matrix = (
            _sparse(source.name, layout, entries) if layout.is_sparse else _dense(layout, entries)
        )
    return assembled(
        source.name, "mtx", checked_matrix(source.name, matrix), numbered(layout.n_columns), keep
    )


def _layout(name: str, text: Any) -> _Layout:
    words = text.readline().lower().split()
    if len(words) != 5 or words[1] != "matrix" or words[2] not in ("coordinate", "array"):
        raise InputError(
            f"{name} does not begin like an MTX file: %%MatrixMarket matrix coordinate real "
            "general."
        )
    is_sparse, field, symmetry = words[2] == "coordinate", words[3], words[4]
    if field == "pattern":
        raise InputError(
            f"{name} holds the positions of entries but no values (pattern); write it with values."
        )
    if field not in FIELDS:
        raise InputError(f"{name} holds {quoted(field)} numbers; expected real numbers.")
    if symmetry != "general" and not (is_sparse and symmetry in MIRRORED):
        raise InputError(
            f"{name} holds one half of a {quoted(symmetry)} matrix; write it in full, as general."
        )
    line = text.readline()
    while line and (line.startswith("%") or not line.strip()):
        line = text.readline()
    sizes = line.split()
    if len(sizes) != 2 + is_sparse or not all(
        size.isascii() and size.isdigit() and len(size) < 19 for size in sizes
    ):
        raise InputError(
            f"{name} has no valid size line; expected the numbers of rows, "
            f"columns{' and entries' if is_sparse else ''}."
        )
    n_rows, n_columns = int(sizes[0]), int(sizes[1])
    return _Layout(
        is_sparse,
        field,
        symmetry,
        n_rows,
        n_columns,
        int(sizes[2]) if is_sparse else n_rows * n_columns,
    )


def _found(entries: NDArray[Any], layout: _Layout, width: int) -> str:
    if entries.shape[1] != width:
        return f"lines of {counted(entries.shape[1], 'number')} instead of {width}"
    return (
        "more entries"
        if len(entries) > layout.n_entries
        else f"only {counted(len(entries), 'number')}"
    )


def _dense(layout: _Layout, entries: NDArray[Any]) -> NDArray[Any]:
    """Return a dense matrix, which the file stores column by column."""
    return np.ascontiguousarray(entries.reshape(layout.n_columns, layout.n_rows).T)


def _sparse(name: str, layout: _Layout, entries: NDArray[Any]) -> Any:
    places, values = entries.reshape(-1, 3)[:, :2], entries.reshape(-1, 3)[:, 2]
    shape = (layout.n_rows, layout.n_columns)
    wrong = ~((places >= 1) & (places <= shape) & (places == np.trunc(places))).all(axis=1)
    if wrong.any():
        row, column = places[wrong][0]
        raise InputError(
            f"{name} has an entry at {row:g}, {column:g} of a matrix of {shape[0]} × {shape[1]}; "
            "rows count from 1."
        )
    rows, columns = places.T.astype(np.int64) - 1
    if layout.symmetry in MIRRORED:
        if layout.n_rows != layout.n_columns:
            raise InputError(
                f"{name} is declared {layout.symmetry}, but has {shape[0]} rows and {shape[1]} "
                "columns."
            )
        off = rows != columns
        mirrored = MIRRORED[layout.symmetry] * values[off]
        rows, columns = np.concatenate([rows, columns[off]]), np.concatenate([columns, rows[off]])
        values = np.concatenate([values, mirrored])
    return sp.csr_array(sp.coo_array((values, (rows, columns)), shape=shape))

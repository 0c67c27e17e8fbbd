"""Reading of NPZ and NPY files: a dense or sparse matrix, and further arrays.

Pickled objects are never loaded, so no content of a file is executed.
"""

from __future__ import annotations

import math
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Booleans
from graphsieve._base.errors import InputError, UsageError
from graphsieve._base.parameters import nearest, quoted
from graphsieve.table.files.opening import AT_ONCE, ByteSource, damage_reported, table_bytes
from graphsieve.table.files.table_file import (
    MISSING,
    TableFile,
    check_kept,
    check_names,
    check_rows,
    is_missing,
    kept_text,
    listed,
    object_array,
    without_empty_columns,
)
from graphsieve.table.sparse_checks import refuse_unsound

COLUMNS_AT_ONCE = 256  # columns per block
FIRST_SURROGATE, LAST_SURROGATE, LAST_CHARACTER = 0xD800, 0xDFFF, 0x10FFFF
NAME_KEYS = ("feature_names", "columns", "names", "var_names")
SPARSE_KEYS = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
}


@dataclass(frozen=True)
class Header:
    """Shape, order and dtype of an array in a file, available before the array is read."""

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[Any]

    @property
    def n_bytes(self) -> int:
        """Memory that the array needs, in bytes."""
        return math.prod(self.shape, start=self.dtype.itemsize)


def read_npz(
    source: ByteSource, keep: Sequence[str], key: str | None, missing: frozenset[str] = MISSING
) -> TableFile:
    """Read the table in an NPZ archive."""
    with damage_reported(source.name, "NPZ"):
        file = source.seekable_file()
        with zipfile.ZipFile(file) as archive:
            members = _members(source.name, archive)
            headers = {
                name: _member_header(source.name, archive, info) for name, info in members.items()
            }

            def array(name: str) -> NDArray[Any]:
                with archive.open(members[name]) as member:
                    return _array(source, quoted(name), member)

            chosen = _chosen(source.name, headers, key)
            matrix = _sparse(source, headers, array) if chosen is None else array(chosen)
            used = (
                {chosen}
                if chosen is not None
                else {"shape", "format", "_is_array", *SPARSE_KEYS["csr"], *SPARSE_KEYS["coo"]}
            )
            matrix = checked_matrix(source.name, matrix)
            n_rows, n_columns = matrix.shape
            source.check_declared(table_bytes(n_rows, n_columns))
            names_key = _names_key(source.name, headers, n_columns)
            names = (
                numbered(n_columns)
                if names_key is None
                else tuple(_texts(source.name, array(names_key)))
            )
            rest = [name for name in headers if name not in used and name != names_key]
            for name in keep:
                if name in rest and name not in names:
                    _check_is_column(source.name, name, headers[name], n_rows)
            further = {
                name: array(name).reshape(-1) for name in rest if _is_column(headers[name], n_rows)
            }
    unused = [name for name in rest if name not in further]
    notes = (
        [f"arrays that are not columns of the table are not used: {listed(unused)}"]
        if unused
        else []
    )
    return assembled(
        source.name, "npz", matrix, names, keep, further=further, missing=missing, notes=notes
    )


def read_npy(source: ByteSource, keep: Sequence[str]) -> TableFile:
    """Read the table in an NPY file, which holds only a matrix."""
    with damage_reported(source.name, "NPY"):
        file = source.seekable_file()
        matrix = checked_matrix(source.name, _array(source, "the array", file))
        source.check_declared(table_bytes(*matrix.shape))
    return assembled(source.name, "npz", matrix, numbered(matrix.shape[1]), keep)


def _members(name: str, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the arrays of an archive by key, and refuse an archive with two arrays of a key."""
    arrays = [info for info in archive.infolist() if info.filename.endswith(".npy")]
    members = {info.filename.removesuffix(".npy"): info for info in arrays}
    if len(members) < len(arrays):
        times = Counter(info.filename.removesuffix(".npy") for info in arrays)
        key, n_times = next((key, number) for key, number in times.items() if number > 1)
        raise InputError(
            f"{name} holds {n_times} arrays with the name {quoted(key)}; save each array once, "
            "under a name of its own."
        )
    return members


def _member_header(name: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Header:
    # Python decompresses all of a bzip2 or LZMA member at once, however large it is. numpy writes
    # neither of the two.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InputError(
            f"{name} holds {quoted(info.filename)} in a compression that numpy does not write; "
            "save it with np.savez_compressed."
        )
    with archive.open(info) as member:
        return _header(member)


def assembled(
    name: str,
    format: str,
    matrix: Any,
    names: Sequence[str],
    keep: Sequence[str],
    *,
    further: Mapping[str, NDArray[Any]] = MappingProxyType({}),
    why_further: str = "a further array; name it as target to use it",
    missing: frozenset[str] = MISSING,
    row_names: NDArray[np.object_] | None = None,
    notes: Sequence[str] = (),
) -> TableFile:
    """Return the table of a matrix and further columns.

    If a further column has the name of a matrix column, `keep` selects the further one.
    """
    check_names(name, names)
    check_rows(name, matrix.shape[0])
    columns = tuple(dict.fromkeys((*names, *further)))
    check_kept(name, keep, columns)
    position = {column: at for at, column in enumerate(names)}
    kept = {
        column: object_array(
            python_values(
                name,
                column,
                further.get(column, _dense_column(matrix, position.get(column))),
                missing,
            )
        )
        for column in keep
    }
    remaining = [at for at, column in enumerate(names) if column not in kept]
    if len(remaining) < len(names):
        matrix = matrix[:, remaining]
    both = [column for column in further if column in position]
    table = TableFile(
        name=name,
        format=format,
        columns=columns,
        names=tuple(names[at] for at in remaining),
        matrix=matrix,
        whole=frozenset(
            names[at] for at, whole in zip(remaining, whole_columns(matrix), strict=True) if whole
        ),
        kept=kept,
        left_out={
            column: why_further
            for column in further
            if column not in kept and column not in position
        },
        positions=np.arange(matrix.shape[0]),
        row_names=row_names,
        dates=frozenset(
            column for column in keep if column in further and further[column].dtype.kind in "Mm"
        ),
        notes=(
            *notes,
            *(
                [f"some names belong to a feature and to another column: {listed(both)}"]
                if both
                else []
            ),
        ),
    )
    return without_empty_columns(table)


def checked_matrix(name: str, matrix: Any) -> Any:
    """Return the matrix in a real dtype with native byte order. Refuse other shapes and types."""
    if matrix.ndim != 2:
        raise InputError(
            f"{name} holds an array of shape {matrix.shape}; expected 2-D, samples × features."
        )
    dtype = matrix.dtype
    if dtype.kind not in "biuf":
        kind = {
            "c": "complex numbers",
            "U": "text",
            "S": "text",
            "M": "dates",
            "m": "dates",
            "V": "records",
        }.get(dtype.kind, str(dtype))
        raise InputError(f"{name} holds a matrix of {kind}; expected numbers.")
    if dtype.kind == "b":
        return matrix.astype(np.uint8)
    if dtype.kind == "f" and dtype.itemsize not in (4, 8):
        with np.errstate(over="ignore"):
            return matrix.astype(np.float32 if dtype.itemsize == 2 else np.float64)
    return matrix if dtype.isnative else matrix.astype(dtype.newbyteorder("="))


def numbered(n_columns: int) -> tuple[str, ...]:
    """Return generated column names, for files that contain none."""
    return tuple(f"x{at}" for at in range(n_columns))


def whole_columns(matrix: Any) -> Booleans:
    """Whether each column contains only integers, also if the matrix has a float dtype."""
    n_columns = matrix.shape[1]
    if matrix.dtype.kind != "f":
        return np.ones(n_columns, dtype=bool)
    if sp.issparse(matrix):
        entries = matrix.tocoo()
        broken = ~_is_whole(entries.data)
        return np.asarray(np.bincount(entries.col[broken], minlength=n_columns) == 0)
    blocks = [
        _is_whole(matrix[:, at : at + COLUMNS_AT_ONCE]).all(axis=0)
        for at in range(0, n_columns, COLUMNS_AT_ONCE)
    ]
    return np.concatenate([np.empty(0, dtype=bool), *blocks])


def python_values(
    table: str, column: str, values: NDArray[Any], missing: frozenset[str] = MISSING
) -> list[Any]:
    """Return one Python value per row, with None for missing values."""
    kind = values.dtype.kind
    if kind in "US":
        return [kept_text(value, missing) for value in _texts(table, values)]
    if kind in "Mm":
        return [
            None if missed else str(value)
            for value, missed in zip(values, np.isnat(values), strict=True)
        ]
    if kind not in "biufO":
        raise InputError(
            f"column {quoted(column)} of {table} holds values of type {values.dtype}; expected "
            "numbers or text."
        )
    plain = values.astype(np.float64) if kind == "f" and values.dtype.itemsize > 8 else values
    plain_values = [None if is_missing(value) else value for value in plain.tolist()]
    return [
        kept_text(value, missing) if isinstance(value, str) else value for value in plain_values
    ]


def _is_whole(values: NDArray[Any]) -> Booleans:
    return np.asarray((values == np.trunc(values)) | np.isnan(values))


def _dense_column(matrix: Any, at: int | None) -> Any:
    if at is None:
        return None
    column = matrix[:, [at]]
    return (column.toarray() if sp.issparse(column) else column).reshape(-1)


def _header(file: Any) -> Header:
    version = np.lib.format.read_magic(file)
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    header = Header(*read(file))
    if any(length < 0 for length in header.shape):
        raise ValueError(f"an array has the shape {header.shape}")
    return header


def _array(source: ByteSource, name: str, file: Any) -> NDArray[Any]:
    """Read an array.

    Memory grows with the bytes that are read. `np.load` would reserve the declared size first.
    """
    header = _header(file)
    if header.dtype.hasobject:
        raise InputError(_object_message(source.name, name))
    source.check_size(header.n_bytes)
    if not header.n_bytes:
        if math.prod(header.shape):  # of values without bytes, of which there could be billions
            raise ValueError(f"values of type {header.dtype} hold nothing")
        return np.empty(header.shape, dtype=header.dtype)
    data = bytearray()
    while len(data) < header.n_bytes and (
        part := file.read(min(AT_ONCE, header.n_bytes - len(data)))
    ):
        data += part
    if len(data) < header.n_bytes:
        raise ValueError(f"{header.n_bytes:,} bytes are declared, but there are {len(data):,}")
    order: Literal["F", "C"] = "F" if header.is_fortran else "C"
    return np.frombuffer(data, dtype=header.dtype).reshape(header.shape, order=order)


def _object_message(table: str, name: str) -> str:
    return (
        f"{table}: {name} holds Python objects, which are never loaded; save numbers or text with "
        "a plain dtype, for example with astype(str)."
    )


def _chosen(name: str, headers: Mapping[str, Header], key: str | None) -> str | None:
    """Return the key of the matrix, or None if the archive is one sparse matrix."""
    matrices = [other for other, header in headers.items() if len(header.shape) == 2]
    if key is not None:
        if key not in headers:
            raise UsageError(
                f"{name} has no array {quoted(key)}{nearest(key, headers)}; its arrays are "
                f"{_with_shapes(headers)}."
            )
        if key not in matrices:
            raise UsageError(
                f"{name}: the array {quoted(key)} is not 2-D; choose one of "
                f"{listed(matrices) or 'none'}."
            )
        return key
    if "X" in matrices:
        return "X"
    if "shape" in headers and (
        "format" in headers or any(set(parts) <= set(headers) for parts in SPARSE_KEYS.values())
    ):
        return None
    if len(matrices) > 1:
        raise UsageError(
            f"{name} holds several matrices; choose one with --key: "
            f"{_with_shapes(headers, matrices)}."
        )
    if not matrices:
        raise InputError(
            f"{name} holds no 2-D array, only {_with_shapes(headers) or 'nothing'}; save the table "
            "as X."
        )
    return matrices[0]


def _with_shapes(headers: Mapping[str, Header], keys: Sequence[str] | None = None) -> str:
    chosen = list(headers) if keys is None else list(keys)
    shown = ", ".join(
        f"{quoted(key)} {' × '.join(map(str, headers[key].shape)) or 'single'}"
        for key in chosen[:10]
    )
    return shown + (f" and {len(chosen) - 10} more" if len(chosen) > 10 else "")


def _sparse(
    source: ByteSource, headers: Mapping[str, Header], array: Callable[[str], NDArray[Any]]
) -> Any:
    """Return a sparse matrix that scipy saved. CSR is assumed if the file names no format."""
    layout = "csr"
    if "format" in headers:
        given = array("format").item()
        layout = given.decode() if isinstance(given, bytes) else str(given)
    if layout not in SPARSE_KEYS:
        raise InputError(
            f"{source.name} holds a sparse matrix in the format {quoted(layout)}; save it as CSR, "
            "CSC or COO."
        )
    shape = tuple(int(length) for length in array("shape").tolist())
    if len(shape) != 2:
        raise InputError(
            f"{source.name} holds a {len(shape)}-D sparse array; expected 2-D, samples × features."
        )
    if min(shape) < 0:
        raise ValueError(f"the sparse matrix has the shape {shape}")
    source.check_declared(table_bytes(*shape))
    data, first, second = (array(part) for part in SPARSE_KEYS[layout])
    if layout == "coo":
        return sp.csr_array(sp.coo_array((data, (first, second)), shape=shape))
    matrix = {"csr": sp.csr_array, "csc": sp.csc_array}[layout]((data, first, second), shape=shape)
    refuse_unsound(matrix, source.name)
    return matrix


def _names_key(name: str, headers: Mapping[str, Header], n_columns: int) -> str | None:
    """Return the key of the column names, or None if there are none.

    An array of the right length with such a key is used or refused. The array ``feature_names`` is
    refused if it has another length.
    """
    for key in NAME_KEYS:
        header = headers.get(key)
        if header is None:
            continue
        if header.shape == (n_columns,):
            if header.dtype.hasobject:
                raise InputError(_object_message(name, quoted(key)))
            if header.dtype.kind in "US" or key == "feature_names":
                return key
        elif key == "feature_names":
            n_names = " × ".join(map(str, header.shape)) or "a single value as"
            raise InputError(
                f"{name} has {n_columns} columns and {n_names} feature_names; expected equal "
                "numbers."
            )
    return None


def _is_column(header: Header, n_rows: int) -> bool:
    return (
        header.shape in ((n_rows,), (n_rows, 1))
        and not header.dtype.hasobject
        and header.dtype.kind != "V"
    )


def _check_is_column(table: str, name: str, header: Header, n_rows: int) -> None:
    """Raise an error if an array that exists cannot be used as a column."""
    if header.dtype.hasobject:
        raise InputError(_object_message(table, quoted(name)))
    if not _is_column(header, n_rows):
        what = (
            f"records of type {header.dtype}"
            if header.dtype.kind == "V"
            else f"the shape {header.shape}"
        )
        raise InputError(
            f"{table}: the array {quoted(name)} has {what}; expected one value for each of the "
            f"{n_rows:,} rows."
        )


def _texts(name: str, values: NDArray[Any]) -> list[str]:
    """Return the values as text. Numbers are written as Python writes them."""
    if values.dtype.kind not in "US":
        return [str(value) for value in values.tolist()]
    if values.dtype.kind == "S":
        return [value.decode("utf-8", errors="backslashreplace") for value in values.tolist()]
    # numpy accepts any four bytes as a character, but Python fails for invalid code points.
    if values.dtype.itemsize:
        codes = (
            np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))
            .reshape(-1)
            .view(np.uint32)
        )
        if (
            (codes > LAST_CHARACTER) | ((codes >= FIRST_SURROGATE) & (codes <= LAST_SURROGATE))
        ).any():
            raise InputError(
                f"{name} holds text with characters that do not exist; write it again, or get it "
                "again."
            )
    return list(values.tolist())

"""Recognition of tables in files or on other machines, which may be larger than memory.

`stored_in` recognises an object by the library of its class, without importing that library.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from graphsieve._base.errors import InputError, InputTypeError
from graphsieve._base.parameters import as_float, must_be, quoted
from graphsieve.table.stored.array_files import Filed, Mapped, checked_array
from graphsieve.table.stored.backed_anndata import annotated_data, sparse_dataset
from graphsieve.table.stored.dask_arrays import Distributed, refuse_unknown
from graphsieve.table.stored.parquet import parquet_dataset, parquet_file
from graphsieve.table.stored.pieces import HOURS, MEMORY, UNITS, Stored, reading
from graphsieve.table.stored.stored_files import from_group, opened


def stored(
    X: Any,
    *,
    memory: int | str = MEMORY,
    hours: float = HOURS,
    columns: Sequence[str] | None = None,
    key: str | None = None,
) -> Stored:
    """Return a table that is read in pieces, for all scores and for `GraphSieve`.

    Memory maps, HDF5, Zarr and Dask arrays, Parquet files and backed AnnData objects can also be
    passed directly. Use this function to set a memory limit, to select columns, or to pass the name
    of a file.

    Parameters
    ----------
    X : np.memmap, h5py.Dataset, zarr.Array, dask.array.Array, pyarrow.parquet.ParquetFile, pyarrow.dataset.Dataset, \
anndata.AnnData, str or pathlib.Path
        Table of shape (n_samples, n_features), or the name of a file that ends in .npy, .parquet,
        .h5, .hdf5, .h5ad or .zarr. A file is opened for reading only, and closed when the table is
        no longer used.
    memory : int or str
        Memory limit for all pieces in use, in bytes or as a text such as ``"512 MiB"`` or
        ``"4 GB"`` (units are powers of 1,024). With Dask, it applies to each worker. The graph
        needs additional memory. A smaller table is read completely, except for a Dask array.
    hours : float
        Maximum duration of an exact neighbour search. If the estimated duration is longer, an error
        reports it.
    columns : sequence of str, optional
        Names of the columns to read, for a table with column names. The columns keep the order of
        the file.
    key : str, optional
        Name of the array in an HDF5 or Zarr file with several arrays, such as ``"X"`` or
        ``"layers/counts"``.

    Returns
    -------
    Stored
        Table that can be passed as X.

    Examples
    --------
    >>> import tempfile
    >>> from graphsieve.scores import fisher_score
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     X = np.memmap(file.name, mode="w+", shape=(4, 1), dtype=float)
    ...     X[:, 0] = [0, 2, 4, 6]
    ...     fisher_score(stored(X, memory="1 MiB"), ["a", "a", "b", "b"])
    array([4.])
    """
    if isinstance(hours, bool) or not isinstance(hours, Real) or not hours > 0:
        raise InputError(must_be("hours", "a positive number", hours))
    _check_columns(columns)
    if key is not None and not isinstance(key, str):
        raise InputTypeError(must_be("key", "the name of an array", key))
    found = _as_stored(X, _bytes(memory), columns, key)
    if found is None:
        raise InputTypeError(
            "stored tables are memory maps, HDF5, Zarr or Dask arrays, Parquet files and "
            f"backed AnnData, got {quoted(X)}; pass data in memory directly."
        )
    found.hours = as_float(hours)
    return found


def stored_in(X: Any, *, memory: int = MEMORY) -> Stored | None:
    """Return X as a stored table, or None if X is in memory or a small memory map."""
    if isinstance(X, Stored):
        return _checked(X)
    if isinstance(X, np.memmap) and (
        X.nbytes <= memory or X.ndim != 2 or X.dtype.kind not in "biuf"
    ):
        return None  # handled like any other array
    return _recognized(X, memory, None, None)


def _as_stored(
    X: Any, memory: int, columns: Sequence[str] | None, key: str | None
) -> Stored | None:
    """Return the stored table for the argument of `stored`, or None if X is not recognised."""
    if isinstance(X, str | Path):
        return _checked(opened(X, memory, key, columns))
    if isinstance(X, Stored):
        raise InputTypeError(
            "X is already a stored table; pass it unchanged, or set memory and columns when it is "
            "created."
        )
    return _recognized(X, memory, columns, key)


def _recognized(
    X: Any, memory: int, columns: Sequence[str] | None, key: str | None
) -> Stored | None:
    """Return the stored table of an object, recognised by the library of its class."""
    library = type(X).__module__.partition(".")[0]
    make = KINDS.get(library) if not isinstance(X, np.memmap) else _from_map
    with reading(f"its source, a {type(X).__name__} of {library}"):
        found = None if make is None else make(X, memory, columns, key)
    return None if found is None else _checked(found)


def _from_map(X: Any, memory: int, columns: Sequence[str] | None, key: str | None) -> Stored | None:
    if X._mmap is None:  # The result of a computation with a map is in memory.
        return None
    _refuse_names(columns, key)
    return Mapped(checked_array(X), memory)


def _from_array_file(
    X: Any, memory: int, columns: Sequence[str] | None, key: str | None
) -> Stored | None:
    """Return the stored table of an HDF5 or Zarr array or group."""
    if type(X).__name__ in ("Group", "File"):
        return from_group(X, memory, key, columns)
    if type(X).__name__ not in ("Dataset", "Array"):
        return None
    _refuse_names(columns, key)
    return Filed(checked_array(X), memory)


def _from_arrow(
    X: Any, memory: int, columns: Sequence[str] | None, key: str | None
) -> Stored | None:
    """Return the stored table of one or several Parquet files."""
    make = {
        "ParquetFile": parquet_file,
        "FileSystemDataset": parquet_dataset,
        "UnionDataset": parquet_dataset,
    }.get(type(X).__name__)
    if make is None:
        return None
    _refuse_names(None, key)
    return make(X, memory, columns)


def _from_annotated(
    X: Any, memory: int, columns: Sequence[str] | None, key: str | None
) -> Stored | None:
    """Return the stored table of a backed AnnData object, or of its sparse matrix."""
    if getattr(X, "isbacked", False):
        _refuse_names(None, key)
        return annotated_data(X, memory, columns)
    if not hasattr(X, "group") or not hasattr(X, "format"):
        return None
    _refuse_names(columns, key)
    return sparse_dataset(X, memory)


def _from_dask(
    X: Any, memory: int, columns: Sequence[str] | None, key: str | None
) -> Stored | None:
    refuse_unknown(X)
    _refuse_names(columns, key)
    _refuse_few(checked_array(X).shape)  # before the first block is computed
    return Distributed(X, memory)


KINDS = {
    "h5py": _from_array_file,
    "zarr": _from_array_file,
    "pyarrow": _from_arrow,
    "anndata": _from_annotated,
    "dask": _from_dask,
    "dask_expr": _from_dask,
}


def _refuse_names(columns: Sequence[str] | None, key: str | None) -> None:
    """Raise an error for parameters that select by name, for an X without names."""
    if columns is not None:
        raise InputError("columns selects columns by name, but X has no names; leave out columns.")
    if key is not None:
        raise InputError(
            f"key selects an array in a file, but X is one table; leave out key, got {quoted(key)}."
        )


def _check_columns(columns: Any) -> None:
    if columns is None:
        return
    if (
        isinstance(columns, str)
        or not isinstance(columns, Sequence)
        or not all(isinstance(name, str) for name in columns)
    ):
        raise InputTypeError(must_be("columns", "a list of names", columns))


def _checked(found: Stored) -> Stored:
    _refuse_few(found.shape)
    return found


def _refuse_few(shape: tuple[int, ...]) -> None:
    if shape[0] < 2 or shape[1] < 1:
        raise InputError(
            f"X has shape {tuple(shape)}; at least 2 samples and 1 feature are needed."
        )


def _bytes(memory: Any) -> int:
    number = memory
    if isinstance(memory, str):
        match = re.fullmatch(
            r"\s*([0-9]+(?:\.[0-9]+)?)\s*(?:([KMGT])i?)?(?:B|bytes)?\s*", memory, re.IGNORECASE
        )
        unit = UNITS[(match[2] or "").upper()] if match else 0
        number = float(match[1]) * unit if match else None
    if (
        isinstance(number, bool)
        or not isinstance(number, int | float | np.integer | np.floating)
        or not 1 <= number < 2**62
    ):
        raise InputError(must_be("memory", "a number of bytes, or a text such as '2 GiB'", memory))
    return int(number)

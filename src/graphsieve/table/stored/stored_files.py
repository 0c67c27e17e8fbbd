"""Opening of files by name as tables that are read in pieces.

Files are opened for reading only, and closed when the table is no longer used.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphsieve._base.errors import InputError, UsageError
from graphsieve._base.optional import needed
from graphsieve._base.parameters import quoted
from graphsieve._base.warning_filters import warnings_ignored
from graphsieve.table.arrow_columns import is_pandas_index
from graphsieve.table.containers import column_label
from graphsieve.table.stored.array_files import Filed, Mapped, checked_array
from graphsieve.table.stored.backed_anndata import encoded, sparse_group, with_columns
from graphsieve.table.stored.parquet import checked_names, parquet_dataset, parquet_file
from graphsieve.table.stored.pieces import Stored, reading

HDF5 = (".h5", ".hdf5", ".h5ad")
SUFFIXES = (".npy", ".parquet", *HDF5, ".zarr")
NAMES_SHOWN = 5
PATH_LENGTH_SHOWN = 500  # characters that a message shows
BUFFER = 2**16  # bytes of every column of a Parquet file that are read in one step


def opened(path: str | Path, memory: int, key: str | None, columns: Sequence[str] | None) -> Stored:
    """Return the table in a file, or in a Parquet or Zarr folder."""
    place, shown = Path(path), quoted(str(path), PATH_LENGTH_SHOWN)
    suffix = place.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"stored tables are files that end in {', '.join(SUFFIXES)}, got {shown}.")
    if not os.path.exists(place):
        raise UsageError(f"{shown} does not exist; pass the name of an existing file.")
    # Opening a pipe would block until another process writes to it.
    if not (os.path.isfile(place) or os.path.isdir(place)):
        raise UsageError(
            f"{shown} is neither a file nor a folder; pieces are read in any order, so write the "
            "table to a file."
        )
    if key is not None and suffix in (".npy", ".parquet"):
        raise InputError(
            f"key selects an HDF5 or Zarr array; leave it out for {shown}, got {quoted(key)}."
        )
    with reading(shown):
        if suffix == ".npy":
            return _array(place, memory, columns)
        if suffix == ".parquet":
            return _parquet(place, memory, columns)
        return from_group(_root(place, suffix), memory, key, columns)


def from_group(group: Any, memory: int, key: str | None, columns: Sequence[str] | None) -> Stored:
    """Return the array, sparse matrix or AnnData in an HDF5 or Zarr group.

    With a key, it is the member of the group with that name.
    """
    if key is not None:
        if key not in group:
            raise UsageError(f"{_named(group)} has no {quoted(key)}; it contains {_listed(group)}.")
        return from_group(group[key], memory, None, columns)
    if hasattr(group, "shape"):
        return with_columns(Filed(checked_array(group), memory), columns, _named(group))
    if encoded(group)[:4] in ("csr_", "csc_"):
        return with_columns(sparse_group(group, memory), columns, _named(group))
    if "X" in group and "var" in group:
        return _annotated(group, memory, columns)
    members = _members(group)
    if len(members) == 1:
        return from_group(group, memory, members[0], columns)
    raise InputError(
        f"{_named(group)} is not an array, but contains {_listed(group)}; select one with "
        "graphsieve.stored(X, key=…)."
    )


def _annotated(group: Any, memory: int, columns: Sequence[str] | None) -> Stored:
    """Return the table of an AnnData group.

    Only X and its column names are read, because layers, embeddings and graphs may be much larger.
    """
    io = needed(
        "anndata.io",
        f"{_named(group)} is an AnnData; install anndata to read it: pip install "
        '"graphsieve[anndata]".',
    )
    names = checked_names(io.read_elem(group["var"]).index, _named(group))
    found = from_group(group["X"], memory, None, None)
    if len(names) != found.shape[1]:
        raise InputError(
            f"{_named(group)} has X of shape {found.shape}, but {len(names)} rows in var; write it "
            "again."
        )
    found.names = names
    return with_columns(found, columns, _named(group))


def _array(path: Path, memory: int, columns: Sequence[str] | None) -> Stored:
    return with_columns(
        Mapped(checked_array(np.load(path, mmap_mode="r", allow_pickle=False)), memory),
        columns,
        str(path),
    )


def _parquet(path: Path, memory: int, columns: Sequence[str] | None) -> Stored:
    hint = 'Parquet files are read with pyarrow; install it: pip install "graphsieve[arrow]".'
    if path.is_dir():
        dataset = needed("pyarrow.dataset", hint).dataset(path, format="parquet")
        if columns is None:
            _refuse_more_columns(dataset)
        return parquet_dataset(dataset, memory, columns)
    return parquet_file(
        needed("pyarrow.parquet", hint).ParquetFile(path, buffer_size=BUFFER, pre_buffer=False),
        memory,
        columns,
    )


def _refuse_more_columns(dataset: Any) -> None:
    """Raise an error if a file of a folder has more columns than the first file.

    The first file defines the columns, so additional ones would be ignored silently.
    """
    known = set(dataset.schema.names)
    for fragment in dataset.get_fragments():
        names = fragment.physical_schema.names
        place = next(
            (
                at
                for at, name in enumerate(names)
                if name not in known and not is_pandas_index(name)
            ),
            None,
        )
        if place is not None:
            raise InputError(
                f"{quoted(fragment.path, PATH_LENGTH_SHOWN)} has {column_label(names, place)}, "
                "which the first file of the folder does not have; write the same columns to all "
                "files, or select columns with graphsieve.stored(X, columns=[…])."
            )


def _root(path: Path, suffix: str) -> Any:
    if suffix in HDF5:
        return needed(
            "h5py", 'HDF5 files are read with h5py; install it: pip install "graphsieve[hdf5]".'
        ).File(path, "r")
    zarr = needed(
        "zarr", 'Zarr arrays are read with zarr; install it: pip install "graphsieve[zarr]".'
    )
    return zarr.open(str(path), mode="r")


def _named(group: Any) -> str:
    file = getattr(group, "file", None)
    return (
        f"{quoted(str(group.name))} of {str(file.filename)!r}"
        if file is not None
        else quoted(str(group.name))
    )


def _members(group: Any) -> list[str]:
    """Return the names in a group, without the warnings of Zarr about unrelated files."""
    with warnings_ignored("Object at .* is not recognized"):
        return [str(name) for name in group]


def _listed(group: Any) -> str:
    found = _members(group)
    shown = ", ".join(quoted(name) for name in found[:NAMES_SHOWN])
    return (shown or "nothing") + (
        f" and {len(found) - NAMES_SHOWN} more" if len(found) > NAMES_SHOWN else ""
    )

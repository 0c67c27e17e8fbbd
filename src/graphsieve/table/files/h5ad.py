"""Reading of AnnData files (h5ad): a matrix of cells × genes, their names, and cell annotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsieve._base.errors import InputError
from graphsieve._base.optional import needed
from graphsieve.table.files.npz import assembled, checked_matrix
from graphsieve.table.files.opening import ByteSource, damage_reported
from graphsieve.table.files.table_file import MISSING, TableFile, listed, object_array
from graphsieve.table.sparse_checks import refuse_unsound

PARTS = ("X", "obs", "var")
DEEPEST = 8  # nested groups; deeper nesting is a cycle of links


def read_h5ad(
    source: ByteSource, keep: Sequence[str], missing: frozenset[str] = MISSING
) -> TableFile:
    """Read the table in an AnnData file, with the columns of obs that `keep` names."""
    hint = (
        f"{source.name} is an HDF5 file; install anndata to read it: pip install "
        '"graphsieve[anndata]".'
    )
    h5py, anndata = needed("h5py", hint), needed("anndata.io", hint)
    with damage_reported(source.name, "h5ad"), h5py.File(source.seekable_file(), "r") as file:
        absent = [part for part in PARTS if part not in file]
        if absent:
            raise InputError(
                f"{source.name} has no {' and no '.join(absent)}; expected an AnnData file with X, "
                "obs and var."
            )
        source.check_declared(sum(_size(source.name, file, part, h5py) for part in PARTS))
        # Other parts are not read, because layers, embeddings and graphs may be far larger.
        X, obs, var = (anndata.read_elem(file[part]) for part in PARTS)
        matrix = _matrix(source.name, X)
        if matrix.shape != (len(obs), len(var)):
            raise InputError(
                f"{source.name} has X of shape {matrix.shape}, {len(obs)} rows of obs and "
                f"{len(var)} of var."
            )
        genes = [str(name) for name in var.index]
        repeated = var.index[var.index.duplicated()]
        if len(repeated):
            raise InputError(
                f"{source.name} has duplicated gene names "
                f"({listed([str(name) for name in repeated.unique()])}); "
                "call var_names_make_unique() and write it again."
            )
        further = {str(name): _values(obs[name]) for name in obs.columns}
        row_names = object_array([str(name) for name in obs.index])
    return assembled(
        source.name,
        "h5ad",
        matrix,
        genes,
        keep,
        further=further,
        why_further="a column of obs",
        missing=missing,
        row_names=row_names,
    )


def _size(name: str, parent: Any, key: str, h5py: Any, depth: int = 0) -> int:
    """Return the number of bytes of all arrays under a key, and refuse arrays in other files."""
    link = parent.get(key, getlink=True)
    if not isinstance(link, h5py.HardLink) or depth > DEEPEST:
        raise InputError(
            f"{name} has a link in place of {key}; write it again with anndata, as one file."
        )
    item = parent[key]
    if isinstance(item, h5py.Group):
        return sum(_size(name, item, str(child), h5py, depth + 1) for child in item)
    if item.external or item.is_virtual:
        raise InputError(
            f"{name} keeps the numbers of {key} in another file; write it as one file."
        )
    return int((item.size or 0) * item.dtype.itemsize)


def _matrix(name: str, X: Any) -> Any:
    if sp.issparse(X):
        refuse_unsound(X, name)
        layout = sp.csc_array if X.format == "csc" else sp.csr_array
        return checked_matrix(name, layout(X))
    if not isinstance(X, np.ndarray):
        raise InputError(
            f"{name} has X of type {type(X).__name__}; expected an array or a sparse matrix."
        )
    return checked_matrix(name, X)


def _values(series: Any) -> Any:
    """Return the values of a column, with None for missing values and categories decoded."""
    if series.dtype.kind in "biufMm" and isinstance(series.dtype, np.dtype):
        return series.to_numpy()
    known = ~series.isna().to_numpy()
    values = np.full(len(series), None, dtype=object)
    values[known] = series.astype(object).to_numpy()[known]
    return values

"""One table in every storage that graphsieve reads, for tests that compare them.

Every function takes a dense table and an empty folder for its files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anndata
import dask.array as da
import h5py
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import scipy.sparse as sp
import zarr


def chunks_of(X: np.ndarray) -> tuple[int, int]:
    return min(20, len(X)), min(5, X.shape[1])


def memory_map(X: np.ndarray, folder: Path) -> Any:
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


def hdf5(X: np.ndarray, folder: Path) -> Any:
    with h5py.File(folder / "X.h5", "w") as file:
        file.create_dataset("X", data=X, chunks=chunks_of(X))
    return h5py.File(folder / "X.h5", "r")["X"]


def zarr_array(X: np.ndarray, folder: Path) -> Any:
    array = zarr.create_array(folder / "X.zarr", shape=X.shape, chunks=chunks_of(X), dtype=X.dtype)
    array[:] = X
    return array


def arrow(X: np.ndarray) -> Any:
    return pa.table({f"gene {place}": column for place, column in enumerate(X.T)})


def parquet(X: np.ndarray, folder: Path) -> Any:
    pa.parquet.write_table(arrow(X), folder / "X.parquet", row_group_size=20)
    return pa.parquet.ParquetFile(folder / "X.parquet")


def backed(X: Any, folder: Path) -> Any:
    obs, var = (pd.DataFrame(index=[f"{place}" for place in range(size)]) for size in X.shape)
    anndata.AnnData(X, obs=obs, var=var).write_h5ad(folder / "X.h5ad")
    return anndata.read_h5ad(folder / "X.h5ad", backed="r")


def in_blocks(X: np.ndarray, chunks: tuple[int, int]) -> Any:
    return da.from_array(X, chunks=chunks)


def in_sparse_blocks(X: np.ndarray) -> Any:
    return in_blocks(X, (25, 5)).map_blocks(
        sp.csr_array, dtype=X.dtype, meta=sp.csr_array((0, 0), dtype=X.dtype)
    )


IN_MEMORY: dict[str, Any] = {
    "dense": lambda X, _: X,
    "column order": lambda X, _: np.asfortranarray(X),
    "CSR": lambda X, _: sp.csr_array(X),
    "CSC": lambda X, _: sp.csc_array(X),
    "pandas": lambda X, _: pd.DataFrame(X),
    "polars": lambda X, _: pl.DataFrame(X),
    "Arrow": lambda X, _: arrow(X),
}
IN_FILES: dict[str, Any] = {
    "memory map": memory_map,
    "memory map in column order": lambda X, folder: memory_map(np.asfortranarray(X), folder),
    "HDF5": hdf5,
    "Zarr": zarr_array,
    "Parquet": parquet,
    "AnnData": backed,
    "AnnData CSR": lambda X, folder: backed(sp.csr_matrix(X), folder),
    "AnnData CSC": lambda X, folder: backed(sp.csc_matrix(X), folder),
}
IN_DASK: dict[str, Any] = {
    "Dask by rows": lambda X, _: in_blocks(X, (25, X.shape[1])),
    "Dask by columns": lambda X, _: in_blocks(X, (len(X), 5)),
    "Dask by both": lambda X, _: in_blocks(X, (25, 5)),
    "Dask of CSR": lambda X, _: in_sparse_blocks(X),
}
STORAGES = IN_MEMORY | IN_FILES | IN_DASK

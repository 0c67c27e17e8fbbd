"""Tables that are larger than memory: in files, or on other machines.

`stored_in` recognises them by the library that they come from, which is loaded by then or not at all.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from graphsieve.errors import InputError, InputTypeError
from graphsieve.parameters import quoted
from graphsieve.storage.arrays import Filed, Mapped
from graphsieve.storage.distributed import Distributed, is_distributed, refuse_unknown
from graphsieve.storage.pieces import HOURS, MEMORY, UNITS, Stored, memory_text

__all__ = ["Stored", "memory_text", "stored", "stored_in"]


def stored(X: Any, *, memory: int | str = MEMORY, hours: float = HOURS) -> Stored:
    """A table that is read piece by piece, for every score and for `GraphSieve`.

    Arrays of HDF5, Zarr and Dask, Parquet files, backed AnnData and memory maps are taken as they are, too; this is for saying
    how much memory they may take.

    Parameters
    ----------
    X : np.memmap, h5py.Dataset, zarr.Array, dask.array.Array, pyarrow.parquet.ParquetFile or anndata.AnnData
        The table, of shape (n_samples, n_features).
    memory : int or str
        Bytes that the pieces in use may take together, such as ``"512 MiB"`` or ``"4 GB"``, with Dask on each worker. The graph
        comes on top of that. A table that is smaller than that is read whole, unless it is one of Dask.
    hours : float
        The longest exact search for neighbours that is begun; beyond, there is an error that says how long it would take.

    Returns
    -------
    Stored
        To be passed as X.

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
    found = stored_in(X, memory=_bytes(memory), always=True)
    if found is None:
        raise InputTypeError(
            f"stored tables are memory maps, arrays of HDF5, Zarr or Dask, Parquet files and backed AnnData, got {quoted(X)}; "
            "pass what is in memory already as it is."
        )
    if isinstance(hours, bool) or not isinstance(hours, int | float) or not hours > 0:
        raise InputError(f"hours must be a positive number, got {quoted(hours)}.")
    found.hours = float(hours)
    return found


def stored_in(X: Any, *, memory: int = MEMORY, always: bool = False) -> Stored | None:
    """What X is, if it is read piece by piece; None where it is in memory, or small enough to be read as any array is."""
    if isinstance(X, Stored):
        return X
    if isinstance(X, np.memmap):
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            return None  # to be refused as any other array is
        return Mapped(X, memory) if always or X.nbytes > memory else None
    if is_distributed(X):
        refuse_unknown(X)
        return Distributed(_checked(X), memory)
    library = type(X).__module__.partition(".")[0]
    if library in ("h5py", "zarr") and hasattr(X, "shape") and hasattr(X, "dtype"):
        return Filed(_checked(X), memory)
    return None


def _checked(X: Any) -> Any:
    if len(X.shape) != 2:
        raise InputError(f"X is {len(X.shape)}-D with shape {tuple(X.shape)}; expected a 2-D array (samples × features).")
    if np.dtype(X.dtype).kind not in "biuf":
        raise InputError(f"X holds values of type {X.dtype}; every feature must be numeric.")
    if X.shape[0] < 2 or X.shape[1] < 1:
        raise InputError(f"X has shape {tuple(X.shape)}; at least 2 samples and 1 feature are needed.")
    return X


def _bytes(memory: Any) -> int:
    number = memory
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(i?)B?\s*", memory, re.IGNORECASE)
        unit = UNITS[match[2].upper()] if match else 0
        number = float(match[1]) * unit if match else None
    if isinstance(number, bool) or not isinstance(number, int | float | np.integer) or not 1 <= number < 2**62:
        raise InputError(f"memory must be a number of bytes, or a text such as '2 GiB', got {quoted(memory)}.")
    return int(number)

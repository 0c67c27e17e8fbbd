"""Data sets in ``.npz`` files, the format of the folder GRAPHSIEVE_DATA and of the cache.

The keys are ``y`` and either ``X``, or ``data``, ``indices``, ``indptr`` and ``shape`` of a CSR
matrix. Optional keys are ``feature_names``, ``target_names`` (the class names), ``target_name`` and
the extras. No content of a file is executed.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.parameters import one_line
from graphsieve.datasets.dataset import Dataset, DataUnavailableError, numbered
from graphsieve.table.sparse_checks import refuse_unsound

Arrays = Mapping[str, NDArray[Any]]
SPARSE_KEYS = ("data", "indices", "indptr", "shape")
PER_SAMPLE = ("is_train", "is_test", "part", "domain", "year", "y_all")
EXTRAS = (*PER_SAMPLE, "y_all_names")


class _WrongFileError(Exception):
    """A problem in a file, described as the second half of a sentence."""


def read_ready(path: Path) -> Dataset:
    """Read the data set in a file. Raise a `DataUnavailableError` if the file is invalid."""
    try:
        # The file is opened here, because numpy does not close a damaged file.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
        return dataset_of(path.stem, arrays)
    except _WrongFileError as error:
        raise DataUnavailableError(
            f"{shown(path)} is not a valid data set: {error}; replace or remove the file."
        ) from None
    except MemoryError:
        raise
    except Exception as error:
        # Pickles, truncated archives, plain .npy files and other content raise errors of many
        # types.
        raise DataUnavailableError(
            f"{shown(path)} cannot be read ({one_line(str(error)) or type(error).__name__}); "
            "replace or remove the file."
        ) from None


def shown(path: Path) -> str:
    """Return the path for a message, without the home folder, which may contain a user name."""
    try:
        return f"~/{path.relative_to(Path.home()).as_posix()}"
    except (ValueError, RuntimeError):
        return str(path)


def ready_file(dataset: Dataset) -> bytes:
    """Return the content of a file from which `read_ready` reads this data set."""
    arrays: dict[str, Any] = {}
    if sp.issparse(dataset.X):
        rows = sp.csr_array(dataset.X)
        arrays |= {
            "data": rows.data,
            "indices": rows.indices,
            "indptr": rows.indptr,
            "shape": np.array(rows.shape),
        }
    else:
        arrays["X"] = dataset.X
    arrays |= {"y": dataset.y, "feature_names": np.array(dataset.feature_names), **dataset.extras}
    if dataset.class_names is not None:
        arrays["target_names"] = np.array(dataset.class_names)
    if dataset.target_name is not None:
        arrays["target_name"] = np.array([dataset.target_name])
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    return content.getvalue()


def dataset_of(name: str, arrays: Arrays) -> Dataset:
    """Return the data set of these arrays after checking that they are consistent."""
    X, y = _features(arrays), _wanted(arrays)
    n_samples, n_features = X.shape
    _require(len(y) == n_samples, f"X has {n_samples} rows, y has {len(y)}")
    extras = {key: arrays[key] for key in EXTRAS if key in arrays}
    for key in PER_SAMPLE:
        _require(
            key not in extras or len(np.atleast_1d(extras[key])) == n_samples,
            f"{key} and y differ in length",
        )
    names = _texts(arrays, "feature_names")
    _require(
        names is None or len(names) == n_features,
        f"X has {n_features} columns but a different number of feature_names",
    )
    classes = None
    if y.dtype.kind == "i":
        classes, largest = _texts(arrays, "target_names"), int(y.max())
        if classes is None:
            _require(
                largest < n_samples,
                f"y has the class code {largest}, but only {n_samples} samples (a continuous "
                "target must be float64)",
            )
            classes = numbered("", largest + 1, first=0)
        _require(
            largest < len(classes),
            f"y has codes up to {largest}, but target_names has only {len(classes)} names",
        )
    return Dataset(
        name=name,
        X=X,
        y=y,
        task="regression" if classes is None else "classification",
        feature_names=names or numbered("x", n_features),
        class_names=classes,
        target_name=_target_name(arrays) if classes is None else None,
        extras=extras,
    )


def _features(arrays: Arrays) -> Any:
    if "X" in arrays:
        X = arrays["X"]
        _require(
            X.ndim == 2 and min(X.shape) > 0 and _is_float(X),
            "X is not a table of float32 or float64 numbers",
        )
        return X
    missing = [key for key in SPARSE_KEYS if key not in arrays]
    _require(not missing, f"it has neither X nor {', '.join(missing)}")
    data, indices, indptr, shape = (arrays[key] for key in SPARSE_KEYS)
    _require(
        _is_float(data) and shape.shape == (2,),
        "its sparse table does not contain float32 or float64 numbers",
    )
    rows = sp.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
    refuse_unsound(rows, "X")
    return rows


def _wanted(arrays: Arrays) -> NDArray[Any]:
    _require("y" in arrays, "it has no y")
    y = arrays["y"]
    _require(
        y.ndim == 1 and len(y) > 0 and y.dtype in (np.int64, np.float64),
        "y is not a list of int64 codes or float64 values",
    )
    _require(y.dtype.kind == "f" or int(y.min()) >= 0, "y has negative class codes")
    return y


def _target_name(arrays: Arrays) -> str:
    """Return the name of the target, or the name of the column of ``y_all`` that equals y."""
    given, others = _texts(arrays, "target_name"), _texts(arrays, "y_all_names")
    if given:
        return given[0]
    if others is not None and "y_all" in arrays:
        for name, column in zip(others, arrays["y_all"].T, strict=False):
            if np.array_equal(column, arrays["y"], equal_nan=True):
                return name
    return "y"


def _texts(arrays: Arrays, key: str) -> tuple[str, ...] | None:
    if key not in arrays:
        return None
    _require(
        arrays[key].dtype.kind == "U" and arrays[key].ndim <= 1, f"{key} is not a list of texts"
    )
    return tuple(np.atleast_1d(arrays[key]).tolist())


def _is_float(values: NDArray[Any]) -> TypeGuard[NDArray[np.floating[Any]]]:
    return values.dtype in (np.float32, np.float64)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise _WrongFileError(otherwise)

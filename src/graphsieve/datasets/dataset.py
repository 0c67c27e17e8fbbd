"""A data set: the features, the classes or targets, and the source."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.errors import InputError

Task = Literal["classification", "regression"]


class DataUnavailableError(InputError):
    """A data set is not available locally and cannot be downloaded, or its content is wrong."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table of samples with their classes or targets.

    Attributes
    ----------
    name : str
        Name of the data set for `load`, or of the generated problem.
    X : array or scipy.sparse.csr_array of shape (n_samples, n_features)
        The original features. They are not scaled, and missing values are NaN.
    y : array of shape (n_samples,)
        Class codes from 0 (int64), or target values (float64, with NaN for unknown values).
    task : {"classification", "regression"}
        Whether y contains classes or targets.
    feature_names : tuple of str
        Names of the columns. They are ``"x1"``, ``"x2"``, ... if the source has no names.
    class_names : tuple of str or None
        Names of the classes, in the order of their codes. None for targets.
    target_name : str or None
        Name of the target. None for classes.
    relevant : array or None
        For artificial problems, the columns on which y depends.
    extras : mapping of str to array
        Further properties of the samples: ``is_train``, ``is_test``, ``part``, ``domain``,
        ``year`` and ``y_all``. ``y_all_names`` contains the names of the columns of ``y_all``.
    source, licence : str
        The source, and its terms of use. A note that must accompany the data is included.

    Examples
    --------
    >>> from graphsieve.datasets import load
    >>> iris = load("iris")
    >>> iris
    Dataset('iris', 150 samples × 4 features, 3 classes)
    >>> iris.class_names
    ('setosa', 'versicolor', 'virginica')
    """

    name: str
    X: Any
    y: NDArray[Any]
    task: Task
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...] | None = None
    target_name: str | None = None
    relevant: NDArray[np.intp] | None = None
    extras: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    source: str = ""
    licence: str = ""

    def __repr__(self) -> str:
        wanted = (
            f"{len(self.class_names)} classes"
            if self.class_names is not None
            else f"target {self.target_name}"
        )
        return (
            f"Dataset({self.name!r}, {self.X.shape[0]} samples × {self.X.shape[1]} features, "
            f"{wanted})"
        )


def numbered(prefix: str, count: int, first: int = 1) -> tuple[str, ...]:
    """Return numbered names such as x1, x2, x3."""
    return tuple(f"{prefix}{number}" for number in range(first, first + count))


def content_hash(dataset: Dataset) -> str:
    """Return the SHA-256 of the numbers of a data set, independent of the file format.

    The hash covers X, y and the extras sorted by name, in this order. Each part is a line ``name
    kind shape`` followed by its values in C order, little-endian:

    - Real numbers are in single precision, because programs that read decimals differ in the last
      bit of double precision. All NaN have the same bits, and −0 becomes 0.
    - A sparse X has three parts (data, indices, indptr) with sorted indices and without stored
      zeros. The line of the first part contains the shape of X.
    - Texts are in UTF-8, each followed by a zero byte.

    The names of features, classes and targets are not hashed, because their spelling differs
    between sources.

    Parameters
    ----------
    dataset : Dataset
        The data set.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    digest = hashlib.sha256()
    if sp.issparse(dataset.X):
        rows = sp.csr_array(dataset.X, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        _add(digest, "data", rows.data, rows.shape)
        _add(digest, "indices", rows.indices.astype(np.int64))
        _add(digest, "indptr", rows.indptr.astype(np.int64))
    else:
        _add(digest, "X", dataset.X)
    _add(digest, "y", dataset.y)
    for name in sorted(dataset.extras):
        _add(digest, name, dataset.extras[name])
    return digest.hexdigest()


def _add(
    digest: Any, name: str, values: NDArray[Any], shape: tuple[int, ...] | None = None
) -> None:
    if values.dtype.kind == "U":
        kind, content = "text", b"".join(text.encode() + b"\0" for text in values.ravel().tolist())
    elif values.dtype.kind == "f":
        # R marks missing values by signalling NaN, which cause warnings in conversions.
        with np.errstate(invalid="ignore", over="ignore"):
            single = values.astype("<f4")
        single[np.isnan(single)] = np.nan
        single[single == 0] = 0.0
        kind, content = "real", single.tobytes()
    else:
        kind, content = values.dtype.kind, values.astype("<i8").tobytes()
    dimensions = "x".join(map(str, values.shape if shape is None else shape))
    digest.update(f"{name} {kind} {dimensions}\n".encode())
    digest.update(content)

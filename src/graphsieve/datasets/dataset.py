"""A data set as a value: the features, what is to be predicted, and where it came from."""

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
    """A data set cannot be had: it is not at hand and cannot be fetched, or it is not what it
    should be.
    """


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table of samples and what is to be predicted.

    Attributes
    ----------
    name : str
        What `load` calls it, or the problem a generator made.
    X : array or scipy.sparse.csr_array of shape (n_samples, n_features)
        The features as their source has them: not scaled, missing values as NaN.
    y : array of shape (n_samples,)
        Class codes from 0 (int64), or target values (float64, NaN where unknown).
    task : {"classification", "regression"}
        Which of the two.
    feature_names : tuple of str
        One for each column; ``"x1"``, ``"x2"``, ... where the source has none.
    class_names : tuple of str or None
        In the order of the codes; None for targets.
    target_name : str or None
        What the target is; None for classes.
    relevant : array or None
        Artificial problems: the columns that y depends on.
    extras : mapping of str to array
        What else is known of the samples: ``is_train``, ``is_test``, ``part``, ``domain``,
        ``year``, ``y_all``; and ``y_all_names``, what the columns of ``y_all`` are.
    source, licence : str
        Where it came from, and what its source says about its use; with a note where one must go
        with the data.

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
    """Names such as x1, x2, x3."""
    return tuple(f"{prefix}{number}" for number in range(first, first + count))


def content_hash(dataset: Dataset) -> str:
    """SHA-256 of the numbers of a data set, whichever file they came from.

    Hashed are, in this order, X, y and the extras by name. Each part is a line ``name kind shape``
    followed by its values in C order, little-endian:

    - real numbers in single precision, since programs that read decimals differ in the last bit of
      double precision; every NaN is the same one, and −0 is 0;
    - a sparse X as three parts (data, indices, indptr) with sorted indices and without stored
      zeros, its shape in the first line;
    - texts in UTF-8, a zero byte after each.

    Names of features, classes and targets are not hashed: sources spell them differently.

    Parameters
    ----------
    dataset : Dataset
        Any.

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
        # R marks its missing values by signalling NaNs
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

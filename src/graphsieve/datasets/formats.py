"""Reading of data set files: ARFF, delimited text, MATLAB and R, also compressed."""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.io import arff

from graphsieve._base.array_types import Floats
from graphsieve.datasets.rdata import RVector, read_rdata

MOST_BYTES = 256 * 2**20  # after decompression; the largest data set has 30 million bytes
COMPRESSIONS: dict[bytes, Callable[[], Any]] = {
    b"\x1f\x8b": lambda: zlib.decompressobj(wbits=31),
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ": lzma.LZMADecompressor,
}


def unpacked(content: bytes, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the content of a file, decompressed if it is compressed.

    Raise a `ValueError` if the compressed data are truncated or too large.
    """
    for beginning, method in COMPRESSIONS.items():
        if content.startswith(beginning):
            machine = method()
            data: bytes = machine.decompress(content, most_bytes)
            if not machine.eof:
                raise ValueError(
                    f"it is truncated, or larger than {most_bytes} bytes after decompression"
                )
            return data
    return content


def read_arff(
    content: bytes, *, own_numbers: bool = False
) -> tuple[dict[str, Floats], dict[str, NDArray[np.str_]]]:
    """Read the columns of an ARFF file.

    The first result contains all columns as numbers, with NaN for missing values. The second one
    contains the nominal columns as text. A nominal value becomes its position in the list of values
    in the file header. With `own_numbers`, the value is itself a number and is used as it is.
    """
    rows, described = arff.loadarff(io.StringIO(unpacked(content).decode("latin-1")))
    numbers, texts = {}, {}
    for column in described.names():
        kind, values = described[column]
        name = column.strip("'\"")  # scipy does not remove the quotes around a single letter.
        if kind == "nominal":
            texts[name] = np.char.decode(rows[column], "latin-1")
            # A question mark marks a missing value, unless it is in the list of values.
            number = {"?": np.nan} | {
                value: float(value) if own_numbers else at for at, value in enumerate(values)
            }
            numbers[name] = np.array([number[text] for text in texts[name]], dtype=np.float64)
        else:
            numbers[name] = rows[column].astype(np.float64)
    return numbers, texts


def read_texts(content: bytes, *, delimiter: str = ",", skip: int = 0) -> NDArray[np.str_]:
    """Read the cells of a delimited table as text, without the first `skip` lines."""
    lines = unpacked(content).decode("utf-8-sig").splitlines()[skip:]
    cells = [
        [cell.strip().strip('"') for cell in line.split(delimiter)]
        for line in lines
        if line.strip()
    ]
    return np.array(cells, dtype=np.str_)


def as_numbers(cells: NDArray[np.str_]) -> Floats:
    """Convert cells of text to numbers. A question mark marks a missing value."""
    return np.where(cells == "?", "nan", cells).astype(np.float64)


def read_numbers(content: bytes, *, delimiter: str = ",") -> Floats:
    """Read a delimited table that contains only numbers."""
    text = io.StringIO(unpacked(content).decode("ascii"))
    return np.loadtxt(text, delimiter=delimiter, ndmin=2, comments=None)


def read_matlab(content: bytes, n_features: int) -> tuple[Any, NDArray[Any]]:
    """Read a table with `n_features` columns and the labels of its rows from a MATLAB file.

    Raise a `ValueError` unless exactly one variable has the shape of each.
    """
    variables = [
        value
        for name, value in scipy.io.loadmat(io.BytesIO(content)).items()
        if not name.startswith("__")
    ]
    tables = [value for value in variables if value.ndim == 2 and value.shape[1] == n_features]
    if len(tables) != 1:
        raise ValueError(f"{len(tables)} of its variables have {n_features} columns")
    n_samples = tables[0].shape[0]
    lists = [
        value
        for value in variables
        if value is not tables[0] and sorted(value.shape) == sorted((1, n_samples))
    ]
    if len(lists) != 1:
        raise ValueError(
            f"{len(lists)} of its variables have one value for each of the {n_samples} rows"
        )
    labels = lists[0].toarray() if sp.issparse(lists[0]) else lists[0]
    return tables[0], labels.ravel()


def read_r(content: bytes) -> dict[str, RVector]:
    """Read the variables in an R data file."""
    return read_rdata(unpacked(content))

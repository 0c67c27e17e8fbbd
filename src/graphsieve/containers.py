"""Whatever a person calls a table (array, frame, sparse matrix) → a checked matrix and its column names.

The only file that knows pandas, polars and the oddities of numpy containers. Neither frame library is imported here:
a frame is recognised by its module, so graphsieve needs neither.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve.errors import GraphSieveWarning, InputError, InputTypeError

LARGEST_EXACT_INTEGER = 2**53
NAMES_SHOWN = 5
_NOT_TABLES = (str, bytes, bytearray, dict, set, frozenset, Iterator)


def read_matrix(X: Any) -> tuple[Any, tuple[str, ...] | None]:
    """A finite real 2-D array or canonical CSC matrix of the numbers in `X`, and the names of its columns if it has any."""
    names = column_names(X)
    matrix = _read_sparse(X) if sp.issparse(X) else _read_dense(X, names)
    _check_shape(matrix.shape)
    _check_finite(matrix, names)
    return matrix, names


def column_names(X: Any) -> tuple[str, ...] | None:
    """The column names of a frame; several levels are joined by ``/``; None for anything else."""
    if not (_is_pandas(X) or _is_polars(X)) or getattr(X, "ndim", 2) != 2:
        return None
    if not hasattr(X, "to_numpy"):
        raise InputTypeError(f"X is a lazy frame ({type(X).__name__}); call .collect() first.")
    labels = list(X.columns)
    text = [isinstance(label, str) for label in labels]
    if any(text) and not all(text):
        raise InputTypeError(
            "X mixes text and other column names; as in scikit-learn, make them all strings: X.columns = X.columns.astype(str)."
        )
    names = ["/".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in labels]
    seen: set[str] = set()
    repeated = [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
    if repeated:
        raise InputError(f"X has duplicated column names ({_listed(sorted(set(repeated)))}); rename or drop them.")
    return tuple(names)


def column_label(names: Sequence[str] | None, position: int) -> str:
    """How an error names a column: ``column 'age'``, or ``column 3`` where there are no names."""
    return f"column {position}" if names is None else f"column {_short(names[position])!r}"


def _is_pandas(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] == "pandas"


def _is_polars(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] == "polars"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(_short(name)) for name in names[:NAMES_SHOWN])
    return shown + (f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else "")


def _short(name: str, length: int = 60) -> str:
    return name if len(name) <= length else name[: length - 1] + "…"


def _read_sparse(X: Any) -> sp.csc_array:
    if X.ndim != 2:
        raise InputError(f"X is a {X.ndim}-D sparse array; expected 2-D (samples × features).")
    _check_kind(X.dtype)
    # A copy in canonical form: the caller's matrix keeps its explicit zeros and its order of indices.
    matrix = sp.csc_array(X, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _read_dense(X: Any, names: tuple[str, ...] | None) -> NDArray[Any]:
    if isinstance(X, np.matrix):
        raise InputTypeError("X is a np.matrix; pass np.asarray(X) instead.")
    if isinstance(X, _NOT_TABLES):
        raise InputTypeError(f"X is a {type(X).__name__}; expected a 2-D array, a sparse matrix or a data frame.")
    if hasattr(X, "obs") and hasattr(X, "var") and hasattr(X, "X"):
        raise InputTypeError("X is an AnnData object; pass its matrix, X=adata.X (or adata.to_df() to keep gene names).")
    if _is_pandas(X) and getattr(X, "ndim", 1) == 2:
        return _read_pandas(X, names)
    if _is_polars(X) and hasattr(X, "schema"):
        return _read_polars(X)
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan) if np.ma.is_masked(X) else X.data
    return _as_numbers(_as_array(X), names)


def _as_array(X: Any) -> NDArray[Any]:
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise InputError(_ragged_message(X) or f"X could not be read as an array: {error}") from error
    except Exception as error:
        raise InputError(f"X could not be read as an array: {type(error).__name__}: {error}") from error
    if array.ndim == 0:
        raise InputTypeError(f"X is a {type(X).__name__}; expected a 2-D array, a sparse matrix or a data frame.")
    if array.ndim != 2:
        hint = ". Reshape your data with X.reshape(-1, 1) if it is one feature" if array.ndim == 1 else ""
        raise InputError(f"X is {array.ndim}-D with shape {array.shape}; expected a 2-D array (samples × features){hint}.")
    return array


def _ragged_message(X: Any) -> str | None:
    if not isinstance(X, Sequence) or not len(X) or not all(hasattr(row, "__len__") for row in X):
        return None
    odd = next((i for i, row in enumerate(X) if len(row) != len(X[0])), None)
    if odd is None:
        return None
    return f"X is ragged: row {odd} has {len(X[odd])} values where row 0 has {len(X[0])}."


def _as_numbers(array: NDArray[Any], names: tuple[str, ...] | None) -> NDArray[Any]:
    """The array with a native real dtype: integers and booleans as they are, odd precisions as the next usual one."""
    if array.dtype.kind == "O":
        array = _objects_to_floats(array, names)
    _check_kind(array.dtype)
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size:
        _warn_of_large_integers(array, names)
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        with np.errstate(over="ignore"):
            array = array.astype(np.float32 if array.dtype.itemsize == 2 else np.float64)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _check_kind(dtype: np.dtype[Any]) -> None:
    if dtype.kind == "c":
        raise InputError("Complex data not supported: X holds complex numbers; pass real features.")
    if dtype.kind in "Mm":
        raise InputError("X holds dates or durations; dates are not features: convert them to numbers explicitly.")
    if dtype.names is not None or dtype.kind == "V":
        raise InputTypeError("X is a structured array; convert it to a plain 2-D array of numbers.")
    if dtype.kind in "USTO":
        raise InputError("X holds text; every feature must be numeric: encode or drop the text columns.")


def _warn_of_large_integers(array: NDArray[Any], names: tuple[str, ...] | None) -> None:
    large = (array.max(axis=0) > LARGEST_EXACT_INTEGER) | (array.min(axis=0) < -LARGEST_EXACT_INTEGER)
    if large.any():
        where = column_label(names, int(np.flatnonzero(large)[0]))
        warnings.warn(
            f"precision lost in {where}: integers beyond 2**53 are rounded ({int(large.sum())} such columns).",
            GraphSieveWarning,
            stacklevel=2,
        )


def _objects_to_floats(array: NDArray[Any], names: tuple[str, ...] | None) -> NDArray[np.float64]:
    result = np.empty(array.shape, dtype=np.float64)
    for row, column in np.ndindex(*array.shape):
        result[row, column] = _object_to_float(array[row, column], names, row, column)
    return result


def _object_to_float(value: Any, names: tuple[str, ...] | None, row: int, column: int) -> float:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return float("nan")
    where = f"{column_label(names, column)}, row {row}"
    if isinstance(value, str | bytes):
        raise InputError(f"X holds text in {where} ({_short(repr(value))}); every feature must be numeric: encode or drop it.")
    if isinstance(value, np.datetime64 | np.timedelta64) or hasattr(value, "isoformat"):
        raise InputError(f"X holds a date in {where}; dates are not features: convert them to numbers explicitly.")
    if isinstance(value, complex | np.complexfloating):
        raise InputError(f"Complex data not supported: X holds a complex number in {where}.")
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"X holds a {type(value).__name__} in {where}: {error}.") from error
    except OverflowError:
        return float("inf")


def _read_pandas(X: Any, names: tuple[str, ...] | None) -> NDArray[Any]:
    for position, dtype in enumerate(X.dtypes):
        where = column_label(names, position)
        if dtype.kind in "Mm":
            raise InputError(f"X holds dates in {where}; dates are not features: convert them to numbers explicitly.")
        if dtype.kind == "c":
            raise InputError(f"Complex data not supported: X holds complex numbers in {where}.")
        if dtype.kind not in "biufO" or str(dtype) in ("category", "string", "str"):
            raise InputError(f"X holds text in {where}; every feature must be numeric: encode or drop it.")
    if all(isinstance(dtype, np.dtype) for dtype in X.dtypes):
        array = X.to_numpy()
    else:  # nullable columns: pandas' NA becomes NaN, which the finite check names
        array = X.to_numpy(dtype=np.float64, na_value=np.nan)
        _warn_of_large_frame_integers(X, names)
    return _as_numbers(array, names) if array.size else array.astype(np.float64)


def _read_polars(X: Any) -> NDArray[Any]:
    for name, dtype in X.schema.items():
        if dtype.is_temporal():
            raise InputError(f"X holds dates in column {name!r}; dates are not features: convert them to numbers explicitly.")
        if not (dtype.is_numeric() or str(dtype) in ("Boolean", "Null")):
            raise InputError(f"X holds text in column {_short(name)!r}; every feature must be numeric: encode or drop it.")
    array = X.to_numpy()
    if array.dtype.kind == "O":
        array = np.array([[np.nan if v is None else float(v) for v in row] for row in array], dtype=np.float64)
    return _as_numbers(array, tuple(X.columns))


def _warn_of_large_frame_integers(X: Any, names: tuple[str, ...] | None) -> None:
    for position, dtype in enumerate(X.dtypes):
        if dtype.kind in "iu":
            values = X.iloc[:, position].dropna().to_numpy(dtype=f"{dtype.kind}8")
            if values.size:
                _warn_of_large_integers(values[:, None], None if names is None else names[position : position + 1])


def _check_shape(shape: tuple[int, int]) -> None:
    if shape[0] == 0:
        raise InputError(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 2 is required.")
    if shape[1] == 0:
        raise InputError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
    if shape[0] == 1:
        raise InputError("X has 1 sample; at least 2 are needed to compare.")


def _check_finite(matrix: Any, names: tuple[str, ...] | None) -> None:
    values = matrix.data if sp.issparse(matrix) else matrix
    if values.dtype.kind != "f":
        return
    # A finite sum proves that all is finite; only an odd sum needs the slow look. It may overflow without harm.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(values)):
            return
    if sp.issparse(matrix):
        entries = matrix.tocoo()
        bad = ~np.isfinite(entries.data)
        rows, columns, bad_values = entries.row[bad], entries.col[bad], entries.data[bad]
    else:
        rows, columns = np.nonzero(~np.isfinite(values))
        bad_values = values[rows, columns]
    if len(rows):
        raise InputError(_not_finite_message(rows, columns, bad_values, matrix.shape[0], names))


def _not_finite_message(
    rows: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], n_samples: int, names: tuple[str, ...] | None
) -> str:
    missing = np.isnan(values)
    kind, chosen = ("NaN (missing) values", missing) if missing.any() else ("inf or -inf", ~missing)
    counts = np.bincount(columns[chosen])
    affected = np.flatnonzero(counts)
    first = affected[0]
    row = rows[chosen][columns[chosen] == first].min()
    shown = ", ".join(column_label(names, int(c)) for c in affected[:NAMES_SHOWN])
    more = f" and {len(affected) - NAMES_SHOWN} more columns" if len(affected) > NAMES_SHOWN else ""
    mostly = np.flatnonzero(counts > n_samples / 2)
    hint = "impute or drop them"
    if kind.startswith("NaN") and len(mostly):
        hint = "drop the mostly empty " + ", ".join(column_label(names, int(c)) for c in mostly[:NAMES_SHOWN])
    return f"X has {int(chosen.sum())} {kind} in {shown}{more}, first at row {row}; {hint} before ranking."

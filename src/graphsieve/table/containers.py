"""Conversion of arrays, data frames and sparse matrices to checked matrices with column names.

Only this file deals with pandas, polars and the special cases of numpy containers. It imports
neither pandas nor polars, so graphsieve does not depend on them. A data frame is recognised by the
module of its class.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError, InputTypeError, warn
from graphsieve._base.messages import numbered, parameter, phrase
from graphsieve._base.optional import needed
from graphsieve._base.parameters import is_collection, must_be, nearest, one_line, quoted
from graphsieve._base.threads import available_threads, in_threads
from graphsieve.table.arrow_columns import (
    category_in,
    has_rounded_values,
    is_long,
    is_rounded_decimal,
    may_be_category,
    numbers,
    why_no_numbers,
)
from graphsieve.table.categories import (
    Category,
    category_of,
    category_of_codes,
    is_date,
    refuse_missing,
    warn_of_identifiers,
)
from graphsieve.table.features import Features
from graphsieve.table.gaps import Gaps, filled, gaps_in, gaps_of_columns, too_few
from graphsieve.table.mixed import MANY_LEVELS, MixedMatrix
from graphsieve.table.sparse_checks import refuse_unsound

Categorical = str | Sequence[Any] | None  # "auto", the names or positions of columns, or None

LARGEST_EXACT_INTEGER = 2**53
NAMES_SHOWN = 5
NUMERIC = "every feature must be numeric: convert it by astype(float), encode or drop it"
WORTH_THREADS = 2**22  # values from which on several threads are faster than one
_POLARS_LEVELS = ("String", "Binary", "Object", "Categorical", "Enum")
_NOT_TABLES = (str, bytes, bytearray, dict, set, frozenset, Iterator)


class ReadMatrix(NamedTuple):
    """The values of a table in memory.

    Attributes
    ----------
    matrix : array, CSC matrix or MixedMatrix
        Finite real numbers. The CSC matrix is in canonical form.
    names : tuple of str or None
        The names of the columns of X, if it has any.
    features : Features or None
        None if each column is a feature, which is the case if there are no categories.
    gaps : sparse matrix of bool, or None
        The missing cells, which are filled in the matrix, or None if there are none.
    """

    matrix: Any
    names: tuple[str, ...] | None
    features: Features | None = None
    gaps: Gaps | None = None


def read_matrix(
    X: Any,
    all_finite: Callable[[NDArray[Any]], bool] | None = None,
    categorical: Categorical = "auto",
    *,
    missing: str = "refuse",
) -> ReadMatrix:
    """Read the values of `X`. Missing values are refused unless `missing` is ``"use"``.

    `all_finite` is a fast check of an array, for callers that read all values for another reason.
    If it returns False, a slower check decides.
    """
    X = unmasked(X)
    names = column_names(X)
    categories = _categories(X, names, categorical)
    if categories:
        return _read_mixed(X, names, categories, missing)
    matrix = _read_sparse(X) if sp.issparse(X) else _read_dense(X, names)
    warn_of_twin_names(names)
    _check_shape(matrix.shape)
    given, gaps = matrix, None
    if not _is_finite(matrix, all_finite or sums_are_finite):
        if missing == "use":
            _refuse_infinite(matrix, names)
            matrix, gaps = filled(matrix)
        else:
            refuse_not_finite(matrix, names)
    read_before = isinstance(X, np.ndarray | list | tuple) or names is not None
    if not read_before and categorical is not None and not isinstance(categorical, str):
        # A tensor, for example, is read as numbers first.
        categories = _categories(np.asarray(given), names, categorical)
        if categories:
            return _read_mixed(given, names, categories, missing)
    return ReadMatrix(matrix, names, gaps=gaps)


def _categories(
    X: Any, names: tuple[str, ...] | None, categorical: Categorical
) -> dict[int, Category]:
    """Return the categories among the columns of a table in memory, by position."""
    asked = not isinstance(categorical, str) and categorical is not None
    if sp.issparse(X) and asked:
        raise InputError(
            parameter("categorical", categorical),
            " needs a data frame or a dense array, but X is sparse; leave it at 'auto'.",
        )
    if categorical is None or sp.issparse(X):
        return {}
    if _is_frame(X, "pandas"):
        category_at = partial(_pandas_category, X)
    elif _is_frame(X, "polars"):
        category_at = partial(_polars_category, X)
    elif is_arrow_table(X):
        category_at = partial(_arrow_category, X)
    else:
        array = _objects(X, asked=asked)
        if array is None:
            return {}
        category_at = partial(_object_category, array)
    positions: Iterable[int] = range(_width(X))
    if asked:
        positions = sorted(positions_of("categorical", categorical, names, _width(X)))
    found: dict[int, Category] = {}
    for position in positions:
        category = category_at(position, column_label(names, position), asked)
        if category is not None:
            found[position] = category
    return found


def may_have_levels(X: Any, categorical: Categorical) -> bool:
    """Whether some columns of a table in memory may be categories, judging by their types."""
    if categorical is None or sp.issparse(X):
        return False
    if not isinstance(categorical, str):
        return True
    if _is_frame(X, "pandas"):
        return any(dtype.kind not in "biufcMm" for dtype in X.dtypes)
    if _is_frame(X, "polars"):
        return any(str(dtype).partition("(")[0] in _POLARS_LEVELS for dtype in X.dtypes)
    if is_arrow_table(X):
        return any(may_be_category(kind, _pyarrow()) for kind in X.schema.types)
    array = _objects(X, asked=False)
    return array is not None and any(isinstance(value, str | bytes) for value in array.flat)


def _pandas_category(X: Any, position: int, where: str, asked: bool) -> Category | None:
    """Return a column as a category, or None if it holds numbers and is not `asked` for."""
    column = X.iloc[:, position]
    if str(column.dtype) == "category":
        return category_of_codes(column.cat.codes, bool(column.cat.ordered), column.cat.categories)
    if hasattr(column.dtype, "pyarrow_dtype"):
        return category_in(column.array.__arrow_array__(), where, _pyarrow(), asked=asked)
    if not asked and column.dtype.kind in "biufcMm":
        return None
    return category_of(column.tolist(), where, asked=asked)


def _polars_category(X: Any, position: int, where: str, asked: bool) -> Category | None:
    column = X.to_series(position)
    kind = str(column.dtype).partition("(")[0]
    if kind in ("Enum", "Categorical"):
        codes = column.to_physical().cast(int).fill_null(-1).to_numpy()
        return category_of_codes(codes, kind == "Enum", _level_names(column, kind))
    if not asked and kind not in _POLARS_LEVELS:
        return None
    return category_of(column.to_list(), where, asked=asked)


def _level_names(column: Any, kind: str) -> Any:
    """Return the names of the levels of a column of polars by their codes."""
    if kind == "Enum":
        return column.dtype.categories
    distinct = column.drop_nulls().unique()
    return dict(zip(distinct.to_physical().to_list(), distinct.to_list(), strict=True))


def _arrow_category(X: Any, position: int, where: str, asked: bool) -> Category | None:
    return category_in(X.column(position), where, _pyarrow(), asked=asked)


def _object_category(
    array: NDArray[Any], position: int, where: str, asked: bool
) -> Category | None:
    return category_of(array[:, position].tolist(), where, asked=asked)


def _objects(X: Any, *, asked: bool) -> NDArray[Any] | None:
    """Return an array or nested lists as an array that may hold text, or None if it does not."""
    if isinstance(X, np.ndarray):
        may_hold_levels = X.ndim == 2 and X.dtype.kind in ("OUSTbiuf" if asked else "OUST")
        # Reading an object from a memory map would crash the process.
        is_usual = not isinstance(X, np.matrix | np.memmap if X.dtype.hasobject else np.matrix)
        return np.asarray(X) if may_hold_levels and is_usual else None
    if not isinstance(X, list | tuple) or not X or not isinstance(X[0], list | tuple):
        return None
    try:
        array = np.array(X, dtype=object)
    except Exception:  # ragged lists and odd objects, which are reported elsewhere
        return None
    return array if array.ndim == 2 else None


def _read_mixed(
    X: Any, names: tuple[str, ...] | None, categories: dict[int, Category], missing: str
) -> ReadMatrix:
    """Return numeric columns and the columns of categories in one matrix, with their features."""
    _check_shape(np.shape(X))
    width = _width(X)
    numeric = [position for position in range(width) if position not in categories]
    numbers, of_numbers = None, None
    if numeric:
        numbers, of_numbers = _numeric_columns(X, names, numeric, list(categories), missing)
    absent = _missing_by_feature(width, numeric, of_numbers)
    sizes, left_out, empty = np.ones(width, dtype=np.int64), [], []
    for position, category in categories.items():
        absent[position] = category.codes < 0
        if missing != "use":
            label, gaps = column_label(names, position), absent[position]
            refuse_missing(int(gaps.sum()), label, int(np.argmax(gaps)))
        if too_few(absent[position]):
            empty.append(position)
        elif category.is_identifier:
            left_out.append(position)
        else:
            sizes[position] = category.n_columns
    constant = [*left_out, *empty]
    read = {place: one.filled() for place, one in categories.items() if place not in constant}
    warn_of_identifiers([column_label(names, position) for position in left_out])
    matrix = _mixed_matrix((len(X), sizes), numbers, numeric, read)
    _check_shape(matrix.shape)
    is_category = [
        position in categories and not categories[position].ordered for position in range(width)
    ]
    levels = tuple(
        read[position].shown_names if position in read else () for position in range(width)
    )
    gaps = gaps_of_columns(
        [column for column, n in zip(absent, sizes, strict=True) for _ in range(n)], len(X)
    )
    return ReadMatrix(matrix, names, Features.of_sizes(sizes, is_category, levels=levels), gaps)


def _missing_by_feature(width: int, numeric: list[int], gaps: Gaps | None) -> list[Any]:
    """Return the missing samples of each feature, or None where no value is missing."""
    found: list[Any] = [None] * width
    if gaps is not None:
        for place, position in enumerate(numeric):
            found[position] = gaps[:, [place]].toarray()[:, 0]
    return found


def _mixed_matrix(
    shape: tuple[int, Integers],
    numbers: Floats | None,
    numeric: list[int],
    categories: dict[int, Category],
) -> MixedMatrix:
    """Return the columns of numbers and of categories. Other features are columns of zeros.

    `shape` is the number of samples, and the number of columns of each feature.
    """
    n_samples, sizes = shape
    starts = np.cumsum(sizes) - sizes
    coded = [place for place in categories if sizes[place] >= MANY_LEVELS]
    codes_at = np.concatenate(
        [np.empty(0, dtype=np.int64), *(starts[place] + np.arange(sizes[place]) for place in coded)]
    )
    dense_at = np.setdiff1d(np.arange(sizes.sum()), codes_at)
    dense = np.zeros((n_samples, len(dense_at)))
    if numbers is not None:
        dense[:, np.searchsorted(dense_at, starts[numeric])] = numbers
    for place in categories.keys() - coded:
        first = np.searchsorted(dense_at, starts[place])
        dense[:, first : first + sizes[place]] = categories[place].columns()
    codes = np.array([categories[place].places for place in coded], dtype=np.uint8)
    return MixedMatrix(
        dense,
        dense_at,
        codes.reshape(len(coded), n_samples),
        np.cumsum(sizes[coded]) - sizes[coded],
        codes_at,
        np.ones(len(codes_at)),
    )


def _numeric_columns(
    X: Any, names: tuple[str, ...] | None, numeric: list[int], others: list[int], missing: str
) -> tuple[Floats, Gaps | None]:
    """Return the numeric columns, and their gaps."""
    if names is not None:
        found = read_matrix(columns_at(X, numeric), categorical=None, missing=missing)
        return np.asarray(found.matrix), found.gaps
    # The others become zeros, so that messages have the positions of the columns of X.
    values = np.array(X, dtype=None if isinstance(X, np.ndarray) else object)
    values[:, others] = 0
    found = read_matrix(values, categorical=None, missing=missing)
    return np.asarray(found.matrix[:, numeric]), gaps_in(found.gaps, columns=numeric)


def _width(X: Any) -> int:
    shape = np.shape(X)
    return shape[1] if len(shape) == 2 else 0


def columns_at(X: Any, positions: list[int]) -> Any:
    """Return some columns of a data frame or an array, as the same kind of object."""
    if _is_frame(X, "pandas"):
        return X.iloc[:, positions]
    if _is_frame(X, "polars"):
        return X[:, positions]
    if is_arrow_table(X):
        return X.select(positions)
    return np.asarray(X)[:, positions]


def stacked(X: Any, Y: Any) -> Any:
    """Return the rows of two tables of the same kind and the same columns, one after the other."""
    names = column_names(X)
    if names != column_names(Y):
        raise InputError("the training and test rows have different columns; pass the same ones.")
    if _is_frame(X, "polars"):
        return X.vstack(Y)
    if is_arrow_table(X):
        return _pyarrow().concat_tables([X, Y])
    if names is None:
        one, other = np.asarray(X, dtype=object), np.asarray(Y, dtype=object)
        if one.shape[1:] != other.shape[1:]:
            raise InputError(
                f"the training rows have shape {one.shape}, and the test rows {other.shape}; they "
                "must have the same columns."
            )
        return np.concatenate([one, other])
    return sys.modules["pandas"].concat([X, Y], ignore_index=True)


def positions_of(name: str, given: Any, names: tuple[str, ...] | None, number: int) -> list[int]:
    """Return the positions of features that are given by names, by positions or by a mask.

    `name` is the parameter, and `number` is the number of features. A feature that is given twice
    counts once.
    """
    if isinstance(given, str | bytes | Mapping | Iterator) or not is_collection(given):
        raise InputTypeError(must_be(name, "a list of features", given))
    listed = list(given)
    if listed and all(isinstance(one, bool | np.bool_) for one in listed):
        if len(listed) != number:
            raise InputError(
                parameter(name, given),
                f" is a mask of {len(listed)} entries, but there are {number} features; give one "
                "entry per feature.",
            )
        return [int(position) for position in np.flatnonzero(listed)]
    places = places_of(names)
    return list(dict.fromkeys(position_of(name, one, given, places, number) for one in listed))


def places_of(names: tuple[str, ...] | None) -> dict[str, int] | None:
    """Return the position of each name, or None if there are no names."""
    return None if names is None else {name: place for place, name in enumerate(names)}


def position_of(name: str, one: Any, given: Any, places: dict[str, int] | None, number: int) -> int:
    """Return the position of a feature, which is given by its name, or without names by position.

    It was found in the value `given` of the parameter `name`.
    """
    if isinstance(one, str) and places is not None and one in places:
        return places[one]
    is_position = isinstance(one, Integral) and not isinstance(one, bool)
    if places is None and is_position and 0 <= int(one) < number:
        return int(one)
    expected = (
        (f"positions from 0 to {number - 1}",)
        if places is None
        else ("names of ", phrase("features"))
    )
    raise InputError(
        parameter(name, given),
        f" contains {quoted(one)}, but there is no such ",
        phrase("feature"),
        f"{nearest(one, places or ())}; use ",
        *expected,
        ".",
    )


def column_names(X: Any) -> tuple[str, ...] | None:
    """Return the column names of a data frame, or None for any other object.

    Several levels of names are joined by ``/``.
    """
    if not (_is_frame(X, "pandas") or _is_frame(X, "polars") or is_arrow_table(X)):
        return None
    if not hasattr(X, "to_numpy") and not is_arrow_table(X):
        raise InputTypeError(
            parameter("X"), f" is a lazy frame ({type(X).__name__}); call .collect() first."
        )
    labels = list(X.column_names if is_arrow_table(X) else X.columns)
    text = [isinstance(label, str) for label in labels]
    if any(text) and not all(text):
        raise InputTypeError(
            parameter("X"),
            " mixes text and other column names; as in scikit-learn, make them all "
            "strings: X.columns = X.columns.astype(str).",
        )
    names = [
        "/".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in labels
    ]
    seen: set[str] = set()
    repeated = [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
    if repeated:
        raise InputError(
            parameter("X"),
            f" has duplicated column names ({_listed(sorted(set(repeated)))}); rename or "
            "drop them.",
        )
    return tuple(names)


def warn_of_twin_names(names: Sequence[str] | None) -> None:
    """Warn about names that look the same, because they differ only in their Unicode form.

    For example, é can be one character, or e followed by an accent.
    """
    seen: dict[str, str] = {}
    for name in names or ():
        twin = seen.setdefault(unicodedata.normalize("NFC", name), name)
        if twin != name:
            warn(
                f"two features look the same ({_short(twin)!a} and {_short(name)!a} "
                "differ only in their Unicode form); rename or drop one of them."
            )
            return


def refuse_other_index(X: Any, y: Any, name: str = "y") -> None:
    """Refuse a pandas y if its index differs from that of a pandas X.

    They would be matched by position, although their indexes show that the rows differ. An index 0,
    1, … shows nothing, because it is the default of pandas. It is refused only if the other index
    is a permutation of it.
    """
    of_X, of_y = _pandas_index(X), _pandas_index(y)
    if of_X is None or of_y is None or len(of_X) != len(of_y) or of_X.equals(of_y):
        return
    made = any(_is_made_by_pandas(index) for index in (of_X, of_y))
    pairs = enumerate(zip(of_X, of_y, strict=True))
    row = next((at for at, (one, other) in pairs if _differ(one, other)), None)
    if row is None or (made and set(of_X) != set(of_y)):
        return
    # Only text is quoted, so that 1 and '1' look different.
    one, other = (
        repr(one_line(at)) if isinstance(at, str) else one_line(str(at))
        for at in (of_X[row], of_y[row])
    )
    raise InputError(
        parameter(name),
        f" has a different index from X (row {row} is {one} in X and {other} in {name}); pass "
        f"{name}.loc[X.index] to match them by index, or {name}.to_numpy() to match them by "
        "position.",
    )


def _differ(one: Any, other: Any) -> bool:
    if one is other:
        return False
    try:
        return bool(one != other)
    except (TypeError, ValueError):  # Comparisons with pandas.NA are neither true nor false.
        return True


def _pandas_index(values: Any) -> Any:
    """Return the index of a series or data frame of pandas, or None for any other object."""
    is_pandas = hasattr(type(values), "iloc") and any(
        base.__module__.partition(".")[0] == "pandas" for base in type(values).__mro__
    )
    return values.index if is_pandas else None


def _is_made_by_pandas(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)


def column_label(names: Sequence[str] | None, position: int) -> str:
    """Return a column as in messages: ``column 'age'``, or ``column 3`` if there are no names."""
    return numbered("column", position) if names is None else f"column {_short(names[position])!r}"


def _is_frame(X: Any, library: str) -> bool:
    """Whether X is a data frame (not a series) of the library, or of a derived class.

    Only the class of X is inspected, because attributes of a lazy frame may be expensive.
    """
    return hasattr(type(X), "columns") and any(
        base.__module__.partition(".")[0] == library for base in type(X).__mro__
    )


def is_arrow_table(X: Any) -> bool:
    """Whether X is a table or a record batch of pyarrow."""
    return type(X).__module__.partition(".")[0] == "pyarrow" and hasattr(type(X), "column_names")


def _pyarrow() -> Any:
    return needed("pyarrow", "X is an object of pyarrow, but pyarrow cannot be imported.")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(_short(name)) for name in names[:NAMES_SHOWN])
    return shown + (f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else "")


def shown_name(name: str, width: int) -> str:
    """Return a column name for display in a terminal table.

    Control characters such as line breaks are replaced, and long names are truncated.
    """
    printable = (
        "".join(character if character.isprintable() else "·" for character in name) or "(no name)"
    )
    return printable if len(printable) <= width else printable[: width - 1] + "…"


def _short(name: str, length: int = 60) -> str:
    return name if len(name) <= length else name[: length - 1] + "…"


def _read_sparse(X: Any) -> sp.csc_array:
    if X.ndim != 2:
        raise InputError(
            parameter("X"), f" is a {X.ndim}-D sparse array; expected 2-D (samples × features)."
        )
    _check_kind(X.dtype)
    refuse_unsound(X, "X")
    # The copy is in canonical form, and the caller's matrix keeps its explicit zeros and its order
    # of indices. If a sum of duplicates overflows, the finite check finds the infinite value.
    with np.errstate(over="ignore"):
        exact = sp.csc_array(X, copy=True)
        exact.sum_duplicates()
    exact.eliminate_zeros()
    if exact.dtype.kind in "iu":
        beyond = (exact.data > LARGEST_EXACT_INTEGER) | (exact.data < -LARGEST_EXACT_INTEGER)
        warn_of_rounded(
            np.unique(np.repeat(np.arange(exact.shape[1]), np.diff(exact.indptr))[beyond]), None
        )
    with np.errstate(over="ignore"):
        matrix = exact.astype(np.float64, copy=False)
    # Some compiled code reads only 32-bit indices, so they are used if they are large enough.
    index = sp.get_index_dtype(maxval=max(*matrix.shape, matrix.nnz))
    matrix.indices, matrix.indptr = (
        matrix.indices.astype(index, copy=False),
        matrix.indptr.astype(index, copy=False),
    )
    return matrix


def _read_dense(X: Any, names: tuple[str, ...] | None) -> NDArray[Any]:
    if isinstance(X, np.matrix):
        raise InputTypeError(parameter("X"), " is a np.matrix; pass np.asarray(X) instead.")
    if isinstance(X, _NOT_TABLES):
        raise InputTypeError(
            parameter("X"),
            f" is a {type(X).__name__}; expected a 2-D array, a sparse matrix or a data frame.",
        )
    if hasattr(X, "obs") and hasattr(X, "var") and hasattr(X, "X"):
        raise InputTypeError(
            parameter("X"),
            " is an AnnData object; pass its matrix, X=adata.X (or adata.to_df() to keep "
            "gene names).",
        )
    if hasattr(X, "compute_chunk_sizes") and any(size != size for size in X.shape):  # noqa: PLR0124, an unknown size is NaN
        raise InputError(
            parameter("X"), " is a Dask array of unknown size; call X.compute_chunk_sizes() first."
        )
    if (
        isinstance(X, np.memmap) and X.dtype.hasobject and getattr(X, "_mmap", None) is not None
    ):  # Reading an element would crash the process.
        raise InputError(
            parameter("X"),
            " is a memory map of Python objects, which no file can contain; write an array of "
            "numbers and map that file.",
        )
    _refuse_not_in_memory(X)
    if _is_frame(X, "pandas"):
        return _read_pandas(X, names)
    if _is_frame(X, "polars"):
        return _read_polars(X)
    if is_arrow_table(X):
        return _read_arrow(X)
    return _as_numbers(_as_array(unmasked(X)), names)


def _refuse_not_in_memory(X: Any) -> None:
    """Raise an error for tables that are not in memory, because they may not fit there."""
    if type(X).__module__.partition(".")[0] == "dask":
        raise InputTypeError(
            parameter("X"),
            " is a Dask array, but this function needs all of X in memory; pass X.compute() if "
            "it fits there.",
        )
    if hasattr(X, "over_columns"):
        raise InputTypeError(
            parameter("X"),
            " is a stored table, but this function needs all of X in memory; pass an array "
            "if it fits there.",
        )


def unmasked(X: Any) -> Any:
    """Return a masked array with missing values at masked positions, or any other X unchanged."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if X.dtype.kind not in "biufOUST" or not np.ma.is_masked(X):
        return X.data
    missing: Any = None if X.dtype.kind in "OUST" else np.nan
    return np.where(np.ma.getmaskarray(X), missing, X.data)


def _as_array(X: Any) -> NDArray[Any]:
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise InputError(
            _ragged_message(X) or f"X could not be read as an array ({one_line(str(error))})."
        ) from error
    except Exception as error:
        # A tensor on a GPU raises a TypeError, and its message gives the remedy.
        kind = InputTypeError if isinstance(error, TypeError) else InputError
        raise kind(
            parameter("X"),
            f" could not be read as an array ({one_line(f'{type(error).__name__}: {error}')}).",
        ) from error
    if array.ndim == 0:
        raise InputTypeError(
            parameter("X"),
            f" is a {type(X).__name__}; expected a 2-D array, a sparse matrix or a data frame.",
        )
    if array.dtype.kind == "V":
        _check_kind(array.dtype)
    if array.ndim == 1 and array.dtype.kind == "O" and (ragged := _ragged_message(array)):
        raise InputError(ragged)
    if array.ndim != 2:
        hint = (
            ". Reshape your data with X.reshape(-1, 1) if it is one feature"
            if array.ndim == 1
            else ""
        )
        raise InputError(
            parameter("X"),
            f" is {array.ndim}-D with shape {array.shape}; expected a 2-D array (samples × "
            f"features){hint}.",
        )
    return array


def _ragged_message(X: Any) -> str | None:
    if not isinstance(X, Sequence | np.ndarray):
        return None
    sizes = [_row_size(row) for row in X]
    odd = next((i for i, size in enumerate(sizes) if size != sizes[0]), None)
    return None if odd is None else f"X is ragged: row {odd} {sizes[odd]} where row 0 {sizes[0]}."


def _row_size(row: Any) -> str:
    if isinstance(row, str | bytes) or not hasattr(row, "__len__"):
        return "is a single value"
    return f"has {len(row)} values"


def _as_numbers(array: NDArray[Any], names: tuple[str, ...] | None) -> NDArray[Any]:
    """Return the array with a real dtype in native byte order.

    Integers and Booleans keep their dtype. float16 becomes float32, and long double becomes
    float64.
    """
    if array.dtype.kind == "O":
        array = _objects_to_floats(array, names)
    _check_kind(array.dtype)
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        _warn_of_large_integers(array, names, lambda j: array[:, j])
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        with np.errstate(over="ignore"):
            array = array.astype(np.float32 if array.dtype.itemsize == 2 else np.float64)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _check_kind(dtype: np.dtype[Any]) -> None:
    if dtype.kind == "c":
        raise InputError("Complex data not supported: X holds complex numbers; pass real features.")
    if dtype.kind in "Mm":
        raise InputError(
            parameter("X"),
            " holds dates or durations; dates are not features: convert them to numbers "
            "explicitly.",
        )
    if dtype.names is not None or dtype.kind == "V":
        raise InputTypeError(
            parameter("X"), " is a structured array; convert it to a plain 2-D array of numbers."
        )
    if dtype.kind in "USTO":
        raise InputError(
            parameter("X"),
            f" holds text; {NUMERIC}.",
        )


def _warn_of_large_integers(
    array: NDArray[Any], names: tuple[str, ...] | None, column: Callable[[int], Any]
) -> None:
    """Warn about integers that float64 rounds.

    `column` returns a column before its conversion to the dtype of `array`.
    """
    if not array.size:
        return
    with np.errstate(over="ignore"):  # 2**53 overflows float16; long double may overflow float64.
        high, low = (
            extreme.reduce(array, axis=0).astype(np.float64) for extreme in (np.fmax, np.fmin)
        )
    candidates = np.flatnonzero(
        (high >= LARGEST_EXACT_INTEGER) | (low <= -LARGEST_EXACT_INTEGER)
    ).tolist()
    warn_of_rounded(
        [j for j in candidates if _is_rounded(column(j).max()) or _is_rounded(column(j).min())],
        names,
    )


def _is_rounded(value: Any) -> bool:
    if isinstance(value, Decimal):
        return is_rounded_decimal(value)
    return isinstance(value, Integral) and abs(int(value)) > LARGEST_EXACT_INTEGER


def warn_of_rounded(columns: Sequence[int] | NDArray[Any], names: tuple[str, ...] | None) -> None:
    """Warn about columns with integers that float64 cannot represent exactly."""
    if len(columns):
        where = column_label(names, int(columns[0]))
        warn(
            "precision lost in ",
            where,
            ": integers beyond 2**53 and decimals of more than 15 digits are rounded "
            f"({len(columns)} such columns).",
        )


def _objects_to_floats(array: NDArray[Any], names: tuple[str, ...] | None) -> Floats:
    result = np.empty(array.shape, dtype=np.float64)
    for row, column in np.ndindex(*array.shape):
        result[row, column] = _object_to_float(array[row, column], names, row, column)
    rounded = [j for j in range(array.shape[1]) if any(_is_rounded(value) for value in array[:, j])]
    warn_of_rounded(rounded, names)
    return result


def _object_to_float(value: Any, names: tuple[str, ...] | None, row: int, column: int) -> float:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return float("nan")
    where = f"{column_label(names, column)}, row {row}"
    if isinstance(value, str | bytes):
        raise InputError(
            parameter("X"),
            f" holds text in {where} ({_short(repr(value))}); {NUMERIC}.",
        )
    if is_date(value):
        raise InputError(
            parameter("X"),
            f" holds a date in {where}; dates are not features: convert them to numbers "
            "explicitly.",
        )
    if isinstance(value, complex | np.complexfloating):
        raise InputError(f"Complex data not supported: X holds a complex number in {where}.")
    if isinstance(value, np.ndarray) and value.ndim:
        raise InputTypeError(
            parameter("X"), f" holds an array in {where}; expected a single number."
        )
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise InputTypeError(
            parameter("X"),
            f" holds a {type(value).__name__} in {where} ({one_line(str(error))}); expected "
            "a number.",
        ) from error
    except OverflowError:
        return float("inf")


def _read_pandas(X: Any, names: tuple[str, ...] | None) -> NDArray[Any]:
    for position, dtype in enumerate(X.dtypes):
        where = column_label(names, position)
        if dtype.kind in "Mm":
            raise InputError(
                parameter("X"),
                f" holds dates in {where}; dates are not features: convert them to numbers "
                "explicitly.",
            )
        if dtype.kind == "c":
            raise InputError(f"Complex data not supported: X holds complex numbers in {where}.")
        if dtype.kind not in "biufO" or str(dtype) in ("category", "string", "str"):
            kind = "categories" if str(dtype) == "category" else "text"
            raise InputError(
                parameter("X"),
                f" holds {kind} in {where}; {NUMERIC}.",
            )
    if not X.size:
        return np.empty(X.shape)
    # Object columns may contain any values, so each value is checked separately.
    if any(dtype.kind == "O" for dtype in X.dtypes):
        return _as_numbers(X.to_numpy(dtype=object), names)
    if all(isinstance(dtype, np.dtype) for dtype in X.dtypes):
        array = X.to_numpy(dtype=np.result_type(*set(X.dtypes)))
    else:  # Nullable columns: NA becomes NaN, which the finite check reports.
        array = X.to_numpy(dtype=np.float64, na_value=np.nan)
    if array.dtype.kind == "f" and any(dtype.kind in "iu" for dtype in X.dtypes):
        _warn_of_large_integers(array, names, lambda j: X.iloc[:, j])
    return _as_numbers(array, names)


def _read_polars(X: Any) -> NDArray[Any]:
    for name, dtype in X.schema.items():
        where = f"column {_short(name)!r}"
        if dtype.is_temporal():
            raise InputError(
                parameter("X"),
                f" holds dates in {where}; dates are not features: convert them to numbers "
                "explicitly.",
            )
        if not (dtype.is_numeric() or str(dtype) in ("Boolean", "Null")):
            kind = "lists or records" if dtype.is_nested() else "text"
            raise InputError(
                parameter("X"),
                f" holds {kind} in {where}; {NUMERIC}.",
            )
    array, names = X.to_numpy(), tuple(X.columns)
    if array.dtype.kind == "f" and any(dtype.is_integer() for dtype in X.schema.values()):
        _warn_of_large_integers(array, names, X.to_series)
    if array.dtype.kind == "f":
        warn_of_rounded(
            [
                j
                for j, dtype in enumerate(X.schema.values())
                if dtype.is_decimal()
                and any(map(is_rounded_decimal, X.to_series(j).drop_nulls().to_list()))
            ],
            names,
        )
    return _as_numbers(array, names)


def _read_arrow(X: Any) -> NDArray[Any]:
    pa, names, rounded = _pyarrow(), tuple(X.column_names), []
    array = np.empty(X.shape)
    for position, field in enumerate(X.schema):
        reason, column = why_no_numbers(field, pa), X.column(position)
        if reason is not None:
            raise InputError(
                parameter("X"),
                f" holds {reason} in {column_label(names, position)}; {NUMERIC}.",
            )
        array[:, position] = numbers(column, pa)
        if is_long(field.type, pa) and has_rounded_values(column, LARGEST_EXACT_INTEGER, pa):
            rounded.append(position)
    warn_of_rounded(rounded, names)
    return array


def _check_shape(shape: tuple[int, int]) -> None:
    if shape[0] == 0:
        raise InputError(
            f"Found array with 0 sample(s) (shape={shape}) while a minimum of 2 is required."
        )
    if shape[1] == 0:
        raise InputError(
            f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required."
        )
    if shape[0] == 1:
        raise InputError(parameter("X"), " has 1 sample; at least 2 are needed to compare.")


def sums_are_finite(values: NDArray[Any]) -> bool:
    """Whether the sums of the values are finite, which proves that all values are finite.

    The converse does not hold: sums of finite values may overflow. Only then is a slower check
    needed.
    """
    n_threads = available_threads() if values.size >= WORTH_THREADS else 1
    parts = np.array_split(values, n_threads)
    sums = np.empty(n_threads)

    def work(places: Iterator[int]) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            for place in places:
                sums[place] = np.sum(parts[place])

    if n_threads == 1:
        work(iter((0,)))
    else:
        in_threads(work, range(n_threads), n_threads)
    return bool(np.isfinite(sums).all())


def check_finite_piece(
    piece: Any, names: tuple[str, ...] | None, first_row: int, first_column: int = 0
) -> None:
    """Raise an error if a piece of a table has values that are not finite.

    `first_row` and `first_column` are the position of the piece in the table.
    """
    if not _is_finite(piece, sums_are_finite):
        refuse_not_finite(piece, names, first=(first_row, first_column))


def _is_finite(matrix: Any, all_finite: Callable[[NDArray[Any]], bool]) -> bool:
    """Whether a fast check shows that all values are finite."""
    values = matrix.data if sp.issparse(matrix) else matrix
    if values.dtype.kind != "f":
        return True
    return sums_are_finite(values) if sp.issparse(matrix) else all_finite(values)


def _refuse_infinite(matrix: Any, names: tuple[str, ...] | None) -> None:
    """Raise an error if a value is infinite. NaN is allowed."""
    if np.isinf(matrix.data if sp.issparse(matrix) else matrix).any():
        known = matrix.copy()
        values = known.data if sp.issparse(known) else known
        values[np.isnan(values)] = 0.0
        refuse_not_finite(known, names)


def refuse_not_finite(
    matrix: Any, names: tuple[str, ...] | None, *, first: tuple[int, int] = (0, 0)
) -> None:
    """Raise an error if a value is not finite. `first` is the position of a piece of a table."""
    values = matrix.data if sp.issparse(matrix) else matrix
    if sp.issparse(matrix):
        entries = matrix.tocoo()
        bad = ~np.isfinite(entries.data)
        rows, columns, bad_values = entries.row[bad], entries.col[bad], entries.data[bad]
    else:
        rows, columns = np.nonzero(~np.isfinite(values))
        bad_values = values[rows, columns]
    if len(rows):
        raise InputError(
            _not_finite_message(
                rows + first[0], columns + first[1], bad_values, matrix.shape[0], names
            )
        )


def _not_finite_message(
    rows: NDArray[Any],
    columns: NDArray[Any],
    values: NDArray[Any],
    n_samples: int,
    names: tuple[str, ...] | None,
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
        hint = "drop the mostly empty " + ", ".join(
            column_label(names, int(c)) for c in mostly[:NAMES_SHOWN]
        )
    return (
        f"X has {int(chosen.sum())} {kind} in {shown}{more}, first at row {row}; {hint} before "
        "ranking."
    )

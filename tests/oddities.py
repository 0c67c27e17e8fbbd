"""Hypothesis strategies for valid and invalid arguments: tables, labels, targets, pairs,
probabilities and parameters.

The numbers of an array are drawn from a few values with a seed. This gives many ties, copies and
constant columns.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import itertools
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import dask.array as da
import h5py
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp
import zarr
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning

from graphsieve import GraphSieveWarning, InputError, Supervision, stored

LONGEST_MESSAGE = 700  # characters; enough for a sentence with a list of names
OURS = (GraphSieveWarning, DataConversionWarning)

ORDINARY = (0.0, 1.0, -1.0, 0.25, 2.0, 3.0, -0.0, 1.5, 100.0)
EXTREME = (
    1e308,
    -1e308,
    1.7976931348623157e308,
    5e-324,
    -5e-324,
    2.2e-308,
    1e-300,
    1e300,
    1e155,
    -1e-160,
    1e16,
    2.0**53,
    0.1,
)
NO_NUMBERS = (float("nan"), float("inf"), float("-inf"))
DTYPES = (
    *("?", "b", "B", "h", "H", "i", "I", "l", "L", "q", "Q", "e", "f", "d", "g", "F", "D", "G"),
    *(">f8", ">f4", ">i4", ">u2", ">f2", "O", "U3", "S3", "M8[s]", "m8[D]", "V4"),
)
COLUMN_DTYPES = ("?", "b", "h", "i", "l", "Q", "e", "f", "d", "O", "U3", "M8[s]")
EXECUTIONS: Counter[str] = Counter()
_numbers = itertools.count()  # for the names of files in memory
SPARSE = ("csr", "csc", "coo", "bsr", "dia", "dok", "lil")


class Unreadable:
    """An object that raises errors with several lines."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("first line\nsecond line")

    def __repr__(self) -> str:
        raise RuntimeError("no words\nfor it")


class Lying:
    """An object that looks like an array but is not one."""

    shape, dtype, ndim = (3, 2), np.dtype(float), 2

    def __len__(self) -> int:
        return 3


OBJECTS: tuple[Any, ...] = (
    None,
    "",
    "a\nb",
    b"x",
    True,
    1,
    -1,
    10**400,
    -(10**5000),
    2**63,
    0.5,
    1j,
    float("nan"),
    float("inf"),
    decimal.Decimal("1.5"),
    decimal.Decimal("sNaN"),
    decimal.Decimal("1e999"),
    fractions.Fraction(1, 3),
    fractions.Fraction(10**400, 3),
    datetime.date(2020, 1, 1),
    datetime.timedelta(1),
    np.float64(1.5),
    np.int8(3),
    np.bool_(True),
    np.datetime64("2020"),
    np.datetime64("NaT"),
    pd.NA,
    pd.NaT,
    np.array([1, 2]),
    np.array(3.0),
    [1, 2],
    (),
    {},
    {1},
    object,
    len,
    Unreadable(),
    Lying(),
    "ü" * 2000,
    range(3),
)
# Drawn by index, because hypothesis cannot print some of the objects.
objects = st.integers(0, len(OBJECTS) - 1).map(OBJECTS.__getitem__)
SINGLE = tuple(
    one for one in OBJECTS if not isinstance(one, np.ndarray | list | tuple | range | Unreadable)
)
seeds = st.integers(0, 2**32 - 1)


# --------------------------------------------------------------------------------------------------
# Checks of the result
# --------------------------------------------------------------------------------------------------


def one_sentence(message: str) -> bool:
    """Whether a message is one line of limited length that ends with a full stop."""
    return (
        0 < len(message) <= LONGEST_MESSAGE
        and message.splitlines() == [message]
        and message.endswith(".")
    )


def answered(call: Callable[[], Any]) -> Any:
    """Return the result of the call, or None if graphsieve refuses it with a one-sentence error.

    Warnings of other libraries are faults.
    """
    EXECUTIONS["all"] += 1
    refusal = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = call()
        except InputError as error:
            found, refusal = None, str(error)
    assert refusal is None or one_sentence(refusal), f"not one sentence: {refusal!r}"
    strange = [
        f"{warning.filename}:{warning.lineno}: {warning.message}"
        for warning in caught
        if not issubclass(warning.category, OURS)
    ]
    assert not strange, f"warnings that are not ours: {strange}"
    loose = [str(warning.message) for warning in caught if not one_sentence(str(warning.message))]
    assert not [text for text in loose if "ravel()" not in text], f"not one sentence: {loose}"
    return found


# --------------------------------------------------------------------------------------------------
# Arrays
# --------------------------------------------------------------------------------------------------


@st.composite
def floats(draw: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Ordinary numbers, extreme numbers, or some that are not finite."""
    pool = draw(
        st.sampled_from([ORDINARY, ORDINARY, EXTREME, ORDINARY + EXTREME, ORDINARY + NO_NUMBERS])
    )
    few = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=6))
    rng = np.random.default_rng(draw(seeds))
    noise = rng.normal(size=shape) if draw(st.booleans()) and pool is ORDINARY else 0.0
    return rng.choice(np.array(few), size=shape) + noise


@st.composite
def arrays(draw: Any, shape: tuple[int, ...], dtypes: Any = DTYPES) -> Any:
    """An array of any dtype and layout."""
    values = draw(floats(shape))
    dtype = draw(st.sampled_from([*dtypes, *["f8"] * 12, *["f4"] * 2]))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if dtype == "O":
            array = values.astype(object)
            for at in (
                draw(st.lists(st.integers(0, max(values.size - 1, 0)), max_size=3))
                if values.size
                else ()
            ):
                array.flat[at] = SINGLE[draw(st.integers(0, len(SINGLE) - 1))]
        elif dtype[0] in "mM":
            array = (
                np.nan_to_num(values, posinf=9, neginf=-9)
                .clip(-1e6, 1e6)
                .astype(np.int64)
                .astype(dtype)
            )
        elif dtype == "V4":
            array = np.zeros(shape, dtype=[("a", "i2"), ("b", "i2")])
        elif dtype[-1] in "?bBhHiIlLqQ" or dtype[1:] in ("i4", "u2"):
            array = (
                np.nan_to_num(values, nan=7, posinf=9, neginf=-9)
                .clip(-9e18, 9e18)
                .astype(np.int64)
                .astype(dtype)
            )
        else:
            array = values.astype(dtype)
    layout = draw(st.sampled_from(["C", "C", "F", "reversed", "strided", "frozen", "masked"]))
    if layout == "F":
        array = np.asfortranarray(array)
    elif layout == "reversed":
        array = array[::-1]
    elif layout == "strided" and array.ndim:
        array = np.repeat(array, 2, axis=0)[::2]
    elif layout == "frozen":
        array.flags.writeable = False
    elif layout == "masked" and dtype != "V4":
        array = np.ma.masked_array(
            array, np.random.default_rng(1).random(shape) < draw(st.sampled_from([0.0, 0.2]))
        )
    return array


@st.composite
def sparse_tables(draw: Any, shape: tuple[int, int]) -> Any:
    """Every sparse format of scipy, with duplicates, unsorted indices and explicit zeros."""
    n, p = shape
    rng = np.random.default_rng(draw(seeds))
    n_entries = draw(st.integers(0, 2 * n * p)) if n * p else 0
    rows, columns = rng.integers(0, max(n, 1), n_entries), rng.integers(0, max(p, 1), n_entries)
    values = draw(floats((n_entries,)))
    dtype = draw(st.sampled_from(["f8", "f8", "f4", "i4", "i8", "u1", "?", "c16", "g"]))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clean = (
            values
            if dtype in ("f8", "f4", "c16", "g")
            else np.nan_to_num(values, posinf=9, neginf=-9).clip(-99, 99)
        )
        table = sp.coo_array((clean.astype(dtype), (rows, columns)), shape=shape)
        format = draw(st.sampled_from(SPARSE))
        # Indices are not sorted, and duplicates are not summed.
        if format in ("csr", "csc") and draw(st.booleans()):
            major, minor, size = (rows, columns, n) if format == "csr" else (columns, rows, p)
            order = np.argsort(major, kind="stable")
            starts = np.concatenate([[0], np.cumsum(np.bincount(major, minlength=size))]).astype(
                np.int32
            )
            make = sp.csr_array if format == "csr" else sp.csc_array
            return make(
                (clean.astype(dtype)[order], minor[order].astype(np.int32), starts), shape=shape
            )
        if draw(st.booleans()):
            table = sp.coo_matrix(table)
        return table.asformat(format)


@st.composite
def frames(draw: Any, shape: tuple[int, int]) -> Any:  # noqa: PLR0911
    """Data frames of pandas, polars and Arrow, with columns of any type and possibly equal names."""
    n, p = shape
    columns = {f"c{place}": draw(arrays((n,), COLUMN_DTYPES)) for place in range(p)}
    columns = {name: np.asarray(column) for name, column in columns.items()}
    kind = draw(
        st.sampled_from(
            [
                "pandas",
                "pandas",
                "nullable",
                "category",
                "alike",
                "numbered",
                "polars",
                "lazy",
                "arrow",
            ]
        )
    )
    try:
        frame = pd.DataFrame(columns, index=range(n))
    except OverflowError:  # pandas cannot represent some values
        frame, p = pd.DataFrame(index=range(n)), 0
    if kind == "nullable":
        with np.errstate(all="ignore"):
            return frame.convert_dtypes()
    if kind == "category" and p:
        return frame.assign(c0=pd.Categorical(np.arange(n) % 2))
    if kind == "alike":
        return frame.set_axis(["same\nname"] * p, axis=1)
    if kind == "numbered":
        return frame.set_axis(list(range(p)), axis=1)
    if kind in ("polars", "lazy", "arrow"):
        plain = {
            name: column
            for name, column in columns.items()
            if column.dtype.kind in "biuf" and column.dtype.itemsize > 1
        }
        plain = {
            name: column.astype("f4") if column.dtype == "e" else column
            for name, column in plain.items()
        }
        if kind == "arrow":
            return pa.table(plain)
        return pl.LazyFrame(plain) if kind == "lazy" else pl.DataFrame(plain)
    return frame


shapes = st.tuples(
    st.sampled_from([0, 1, 2, 2, 3, 3, 4, 5, 6, 8, 10, 12, 12]),
    st.sampled_from([0, 1, 1, 2, 2, 3, 3, 4, 5, 8]),
)


def unreadable(shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of objects that are not numbers."""
    array = np.empty(shape, dtype=object)
    for place in np.ndindex(*shape):
        array[place] = Unreadable()
    return array


@st.composite
def odd_tables(draw: Any, shape: tuple[int, int]) -> Any:
    """Unusual or invalid tables."""
    n, p = shape
    plain = np.ones(shape)
    rows = plain.tolist()
    makers: list[Callable[[], Any]] = [
        lambda: rows,
        lambda: tuple(map(tuple, rows)),
        lambda: [*rows, [1.0] * (p + 1)],
        lambda: [*rows, 3],
        lambda: [*rows, ["a"] * p],
        lambda: [*rows, [None] * p],
        lambda: [*rows, [10**400] * p],
        lambda: [*rows, [-(10**5000)] * p],
        plain.ravel,
        lambda: np.ones((n, p, 2)),
        lambda: np.float64(3),
        lambda: plain.view(np.matrix),
        lambda: iter(plain),
        lambda: memoryview(plain) if plain.size else b"",
        lambda: pd.Series(range(n)),
        lambda: pd.DataFrame(plain, columns=pd.MultiIndex.from_product([["a\n"], range(p)])),
        lambda: Supervision.nothing(3),
        lambda: sp.coo_array(np.ones(3)),
        lambda: [[Unreadable()] * p] * n,
        lambda: unreadable(shape),
    ]
    return draw(st.sampled_from(makers))()


@st.composite
def stored_tables(draw: Any, shape: tuple[int, ...]) -> Any:
    """A table outside memory, in pieces of any size, passed directly or through `stored`."""
    values = np.asarray(
        draw(arrays(shape, ("?", "b", "H", "i", "Q", "e", "f", "F", ">f4", "O", "U3")))
    )
    form = draw(st.sampled_from(["memory map", "HDF5", "Zarr", "Dask", "sparse blocks"]))
    pieces = tuple(draw(st.integers(1, max(1, size))) for size in values.shape)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Zarr warns about text
            table = _stored(values, form, pieces)
    except (TypeError, ValueError):  # the library does not support such a table
        return values
    memory = draw(st.sampled_from([None, None, 1, 2**12, 2**15, 2**30]))
    found = None if memory is None else answered(lambda: stored(table, memory=memory))
    return table if found is None else found


def _stored(values: np.ndarray, form: str, pieces: tuple[int, ...]) -> Any:
    if form == "memory map":
        with tempfile.TemporaryFile() as file:
            file.write(values.tobytes())
            file.flush()
            return np.memmap(file, dtype=values.dtype, shape=values.shape, mode="r")
    if form == "HDF5":
        file = h5py.File(f"{next(_numbers)}.h5", "w", driver="core", backing_store=False)
        return file.create_dataset("X", data=values, chunks=pieces if values.size else None)
    if form == "Zarr":
        return zarr.create_array(zarr.storage.MemoryStore(), data=values, chunks=pieces)
    lazy = da.from_array(values, chunks=pieces)
    return lazy.map_blocks(sp.csr_matrix) if form == "sparse blocks" else lazy


@st.composite
def tables(draw: Any) -> tuple[Any, int]:
    """Any table, and its likely number of rows."""
    shape = draw(shapes)
    kinds = {
        floats: 6,
        arrays: 4,
        sparse_tables: 3,
        frames: 3,
        stored_tables: 2,
        odd_tables: 1,
        None: 1,
    }
    kind = draw(st.sampled_from([kind for kind, times in kinds.items() for _ in range(times)]))
    return draw(objects if kind is None else kind(shape)), shape[0]


# --------------------------------------------------------------------------------------------------
# Supervision
# --------------------------------------------------------------------------------------------------


@st.composite
def labels(draw: Any, n: int) -> Any:
    """Class labels, some missing, as numbers, text or other objects."""
    n = max(0, n + draw(st.sampled_from([0] * 12 + [-1, 1])))
    rng = np.random.default_rng(draw(seeds))
    pool = draw(
        st.sampled_from(
            [
                [0, 1],
                [0, 1, -1],
                [0, 1, 2, 3],
                [-1],
                [1, -1],
                [5, -2, -1],
                ["a", "b", None],
                ["a", "", "b\nc"],
                [True, False],
                [0.0, 1.0, float("nan")],
                [0.5, 1.5, float("inf")],
                [1, "1", None],
                [2**63, 2**64, -1],
                [-(10**5000), 1],
                [b"x", b"y"],
                list(OBJECTS[:27]),
            ]
        )
    )
    chosen = [pool[at] for at in rng.integers(0, len(pool), n)]
    form = draw(
        st.sampled_from(["list", "object", "array", "series", "category", "column", "polars"])
    )
    if form == "object":
        values = np.empty(n, dtype=object)
        values[:] = chosen
        return values
    try:
        array = np.array(chosen)
    except Exception:
        return chosen
    if form == "list" or array.ndim != 1:
        return chosen
    if form == "polars":
        return pl.Series(array) if array.dtype.kind in "iufb" else chosen
    makers: dict[str, Callable[[], Any]] = {
        "array": lambda: array,
        "series": lambda: pd.Series(array, index=range(n)[::-1]),
        "category": lambda: (
            pd.Series(pd.Categorical(array)) if array.dtype.kind in "iUf" else chosen
        ),
        "column": lambda: array[:, None],
    }
    try:
        return makers[form]()
    except Exception:  # pandas cannot represent some values
        return chosen


def targets(n: int) -> st.SearchStrategy[Any]:
    """Continuous targets, some missing."""
    return st.one_of(
        arrays((n,)), floats((n,)), floats((n,)).map(list), arrays((n, 1)), arrays((n + 1,))
    )


@st.composite
def pairs(draw: Any, n: int) -> Any:
    """Pairs of rows, usually of existing rows."""
    ends = (
        st.integers(0, max(n - 1, 0))
        if draw(st.sampled_from([True] * 4 + [False]))
        else st.integers(-2, n + 2)
    )
    chosen = draw(st.lists(st.tuples(ends, ends), max_size=6))
    forms: dict[str, Callable[[], Any]] = {
        "list": lambda: chosen,
        "array": lambda: np.array(chosen),
        "unsigned": lambda: np.array(chosen, dtype=np.int64).clip(0, None).astype(np.uint64),
        "floats": lambda: np.array(chosen, dtype=float),
        "objects": lambda: np.array(chosen, dtype=object),
        "set": lambda: set(chosen),
        "iterator": lambda: iter(chosen),
        "frame": lambda: pd.DataFrame(chosen),
        "sparse": lambda: sp.csr_array(np.eye(3)),
        "triples": lambda: [(*pair, 1) for pair in chosen],
        "mixed": lambda: [*chosen, ("a", "b")],
        "large": lambda: [*chosen, (2**63, 10**400)],
    }
    return forms[draw(st.sampled_from(["list", "array"] * 6 + list(forms)))]()


@st.composite
def probabilities(draw: Any, n: int) -> Any:
    """Class probabilities, with rows that sum to one, nearly to one, or to another value."""
    shape = (
        max(0, n + draw(st.sampled_from([0] * 10 + [1]))),
        draw(st.sampled_from([0, 1, 2, 2, 3, 3, 70])),
    )
    kind = draw(st.sampled_from(["right"] * 5 + ["sure", "any", "text", "frame"]))
    rng = np.random.default_rng(draw(seeds))
    right = rng.dirichlet(np.ones(shape[1]), shape[0]) if shape[1] else np.empty(shape)
    if kind == "sure":
        return np.eye(max(shape[1], 1))[rng.integers(0, max(shape[1], 1), shape[0])]
    if kind == "any":
        return draw(arrays(shape))
    if kind == "text":
        return right.astype(str).tolist()
    return (
        pd.DataFrame(right, columns=[f"k{at}" for at in range(shape[1])])
        if kind == "frame"
        else right
    )


def maybe_odd(usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The usual values, and occasionally any object."""
    return st.integers(0, 11).flatmap(lambda dice: objects if dice == 11 else usual)


@st.composite
def supervisions(draw: Any, n: int) -> Any:
    """A `Supervision`, or None if it was refused. Other tests check the refusals."""
    n = max(n, 1)
    makers: list[Callable[[], Supervision]] = []
    for kind in draw(
        st.lists(
            st.sampled_from(["labels", "targets", "pairs", "probabilities"]),
            max_size=2,
            unique=True,
        )
    ):
        if kind == "labels":
            given = draw(labels(n))
            makers.append(lambda given=given: Supervision.from_labels(given))
        elif kind == "targets":
            values = draw(targets(n))
            makers.append(lambda values=values: Supervision.from_targets(values))
        elif kind == "pairs":
            must, cannot = draw(pairs(n)), draw(pairs(n))
            makers.append(lambda must=must, cannot=cannot: Supervision.from_pairs(n, must, cannot))
        else:
            proba = draw(probabilities(n))
            makers.append(lambda proba=proba: Supervision.from_probabilities(proba, normalize=True))

    def joined() -> Supervision:
        found = Supervision.nothing(n)
        for make in makers:
            found = found | make()
        return found

    return answered(joined)


# --------------------------------------------------------------------------------------------------
# Parameters
# --------------------------------------------------------------------------------------------------

NUMBERS = (
    1,
    2,
    3,
    5,
    12,
    13,
    100,
    0,
    -1,
    0.5,
    1.0,
    0.1,
    1e-6,
    1e-300,
    1e300,
    5e-324,
    1e100,
    2**62,
    2**64,
)
METHOD_WORDS = ("auto", "diverse", "iterative", "hybrid", "Laplacian")
WORDS: dict[str, tuple[Any, ...]] = {
    "form": ("phi1", "phi2", "phi3", "ratio", "difference"),
    "neighbors": ("auto", "exact", "approximate"),
    "class_weight": (None, "balanced"),
    "cut_cannot_link": (True, False),
    "redundancy": ("auto", None, "explain", "correlation"),
    "scale": ("auto", "standard", "minmax", "robust", "rank", None),
    "metric": ("auto", "euclidean", "cosine"),
    "target_type": ("auto", "classes", "continuous"),
    "unlabeled": (-1, None, 0, 7),
    "compress": (None, "som", "kmeans"),
    "n_prototypes": (None, 1, 3, (2, 2), (0, 1)),
    "n_jobs": (None, 1, 2, -1),
    "progress": (None, False),
    "n_features_to_select": (None, "auto", 1, 2, 0.5, 1.0),
    "max_features": (None, 1, 2),
    "method_params": (
        None,
        {},
        {"n_neighbors": 2},
        {"label_weight": 2.0},
        {"nonsense": 1},
        {"form": "phi3"},
        {1: 2},
    ),
    "base_params": (None, {}, {"n_neighbors": 2}, {"nonsense": 1}),
    "base": ("fisher", "laplacian", "relieff", "mutual_information", "spec"),
    "variant": (1, 2, 3),
    "step": (1, 2, 0.5),
    "cv": (5, 2, None),
    "scoring": (None,),
    "estimator": (None,),
    "random_state": (None, 0, 1),
}


@st.composite
def parameters(draw: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """A few of the named parameters, usually with valid values."""
    chosen = draw(st.lists(st.sampled_from(names), max_size=3, unique=True)) if names else []
    usual = {
        name: st.sampled_from(WORDS.get(name, ()) + (() if name in WORDS else NUMBERS))
        for name in chosen
    }
    return {name: draw(maybe_odd(values)) for name, values in usual.items()}

"""The interface of all tables that are read in pieces.

Two operations are sufficient for graphsieve: apply a function to groups of rows, or to groups of
columns. A table in a file reads one group after another. A table on a cluster sends the function to
the workers that hold the pieces. The caller does not need to distinguish these cases, and no
process holds more than a few groups in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsieve._base.array_types import Integers
from graphsieve._base.errors import InputError, InputTypeError, LostProcessError
from graphsieve._base.parameters import as_text, count, one_line
from graphsieve._base.progress import Progress
from graphsieve.table.containers import LARGEST_EXACT_INTEGER

MEMORY = 2**30  # default memory limit for pieces, in bytes
HOURS = 2.0  # default maximum duration of an exact search
BYTES = 8  # bytes per value during computation
# Groups of rows in memory: one in use, its copy for distances, one being read, and a reserve
ROWS_HELD = 4
# Groups of columns in memory. A file stored by rows is read once per group of columns, so groups
# are as large as possible and no group is read ahead.
COLUMNS_HELD = 1.25

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
# Bytes per neighbour while a graph is built: index and distance, and copies while edges are sorted
EDGE_BYTES = 64

NO_ARRAY = (
    "X is a stored table, which is read in pieces and is not an array; pass it to a score, rank "
    "or GraphSieve, or pass an array to this function."
)

Group = slice | Integers  # a range of rows or columns, or their positions
Work = Callable[..., Any]  # a function of a piece, the arguments of its group, and common arguments


class Stored(ABC):
    """A table that is read in pieces.

    Attributes
    ----------
    shape : (int, int)
        Numbers of samples and features.
    is_sparse : bool
        Whether pieces are sparse matrices (CSR for rows, CSC for columns) instead of 2-D arrays.
    density : float
        Share of stored values, which is 1 for a dense table.
    names : tuple of str or None
        Column names.
    memory : int
        Memory limit for all pieces in use, in bytes.
    itemsize : int
        Bytes per stored value.
    hours : float
        Maximum duration of an exact neighbour search.
    at_hand : bool
        Whether this process reads the table, so that a small table can be read completely.
    at_once : int
        Number of groups that are processed at the same time. There should be at least as many
        groups.
    beside : int
        Number of these groups that share the memory of one process.
    columns_held : float
        Number of groups of columns in memory for each group in progress.
    columnwise : bool
        Whether columns are faster to read than rows.
    rounded : frozenset of int
        Columns read so far with integers that float64 cannot represent exactly.
    not_numeric : frozenset of int
        Columns that can only be categories, such as text.
    """

    shape: tuple[int, int]
    is_sparse: bool = False
    density: float = 1.0
    names: tuple[str, ...] | None = None
    memory: int = MEMORY
    itemsize: int = BYTES
    hours: float = HOURS
    at_hand: bool = True
    at_once: int = 1
    beside: int = 1
    columns_held: float = COLUMNS_HELD
    columnwise: bool = False
    rounded: frozenset[int] = frozenset()
    not_numeric: frozenset[int] = frozenset()

    def over_rows(
        self,
        groups: Sequence[Group],
        work: Work,
        *given: Sequence[Any],
        shared: tuple[Any, ...] = (),
    ) -> Iterator[Any]:
        """Iterate over the results of `work` for groups of rows, in the order of the groups.

        The call is ``work(rows, *arguments, *shared)``, where `arguments` has the element of every
        sequence in `given` that belongs to the group. The positions in a group may be in any order
        and may be repeated. The rows of the piece are in this order.
        """
        return _in_requested_order(self._over_rows, groups, work, given, shared, axis=0)

    def over_columns(
        self,
        groups: Sequence[Group],
        work: Work,
        *given: Sequence[Any],
        shared: tuple[Any, ...] = (),
    ) -> Iterator[Any]:
        """Iterate over the results of `work` for groups of columns, as `over_rows` for rows."""
        return _in_requested_order(self._over_columns, groups, work, given, shared, axis=1)

    @abstractmethod
    def _over_rows(
        self,
        groups: Sequence[Group],
        work: Work,
        *given: Sequence[Any],
        shared: tuple[Any, ...] = (),
    ) -> Iterator[Any]:
        """Iterate as `over_rows`. The positions in each group increase."""

    @abstractmethod
    def _over_columns(
        self,
        groups: Sequence[Group],
        work: Work,
        *given: Sequence[Any],
        shared: tuple[Any, ...] = (),
    ) -> Iterator[Any]:
        """Iterate as `over_columns`. The positions in each group increase."""

    @property
    def row_borders(self) -> Integers:
        """Row positions at which groups can begin and end without reading any data twice."""
        return np.array([0, self.shape[0]])

    @property
    def column_borders(self) -> Integers:
        """Column positions at which groups can begin and end without reading any data twice."""
        return np.array([0, self.shape[1]])

    @property
    def n_bytes(self) -> int:
        """Number of bytes of the whole table in memory."""
        return int(
            self.shape[0]
            * self.shape[1]
            * self.density
            * (BYTES if not self.is_sparse else 2 * BYTES)
        )

    def plan(self, n_neighbors: int = 10) -> str:
        """Describe how the table is read, and the memory for pieces and for a graph.

        Methods without neighbours need no graph. The memory for a graph is proportional to the
        number of neighbours.
        """
        n_neighbors = count(0, sensible=2**31)("n_neighbors", n_neighbors)
        size, pieces = memory_text(self.n_bytes), memory_text(self.memory)
        graph = memory_text(self.shape[0] * n_neighbors * EDGE_BYTES)
        groups = (
            f"{len(self.row_groups())} groups of rows and {len(self.column_groups())} of columns"
        )
        return (
            f"{self.shape[0]:,} × {self.shape[1]:,} numbers ({size}), read in {groups}: up to "
            f"{pieces} of memory for pieces, and "
            f"about {graph} for a graph of {n_neighbors} neighbours"
        )

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} of {self.shape[0]:,} × {self.shape[1]:,} numbers, "
            f"{memory_text(self.n_bytes)}>"
        )

    def __getitem__(self, _: Any) -> Any:
        """Raise an error for slices such as cross-validation folds, which may not fit in memory."""
        raise InputTypeError(NO_ARRAY)

    def __array__(self, *_: Any, **__: Any) -> Any:
        """Raise an error for implicit conversions to an array, which may not fit in memory."""
        raise InputTypeError(NO_ARRAY)

    def row_groups(self, share: float = 1.0) -> list[slice]:
        """Return ranges of rows that fit into a share of the memory, and together cover all rows.

        The ranges follow the borders where possible.
        """
        return runs(
            self.row_borders, min(self.fitting_rows(share), -(-self.shape[0] // self.at_once))
        )

    def column_groups(
        self, start: int = 0, stop: int | None = None, share: float = 1.0
    ) -> list[slice]:
        """Return ranges of columns from `start` to `stop` that fit into a share of the memory.

        The ranges follow the borders where possible.
        """
        stop = self.shape[1] if stop is None else stop
        within = self.column_borders
        borders = np.concatenate([[start], within[(within > start) & (within < stop)], [stop]])
        return runs(borders, min(self.fitting_columns(share), -(-(stop - start) // self.at_once)))

    def fitting_rows(self, share: float = 1.0) -> int:
        """Return how many rows fit into a share of the memory."""
        return self.fitting(self.shape[1], BYTES * ROWS_HELD / share)

    def fitting_columns(self, share: float = 1.0) -> int:
        """Return how many columns fit into a share of the memory."""
        return self.fitting(self.shape[0], self.itemsize * self.columns_held / share)

    @property
    def column_bytes(self) -> int:
        """Number of bytes that a single column needs while it is processed."""
        return int(
            self.columns_held
            * self.shape[0]
            * self.density
            * (self.itemsize if not self.is_sparse else 2 * BYTES)
        )

    def fitting(self, length: int, bytes_each: float) -> int:
        """Return how many rows or columns of `length` values fit into memory.

        `bytes_each` is the number of bytes per value.
        """
        each = self.beside * (bytes_each if not self.is_sparse else 2 * bytes_each * self.density)
        return max(1, int(self.memory / (each * max(1, length)))) if each else max(1, length)


class Local(Stored):
    """A table that this process reads.

    The next group of rows is read while the previous one is processed.

    Attributes
    ----------
    source : str
        Description of the source for messages.
    """

    source: str = "where it is stored"

    @abstractmethod
    def read_rows(self, rows: Group) -> Any:
        """Return some rows as an array or a CSR matrix. Positions must be increasing."""

    @abstractmethod
    def read_columns(self, columns: Group) -> Any:
        """Return some columns as an array or a CSC matrix. Positions must be increasing."""

    def _over_rows(
        self,
        groups: Sequence[Group],
        work: Work,
        *given: Sequence[Any],
        shared: tuple[Any, ...] = (),
    ) -> Iterator[Any]:
        return _read_ahead(self._rows_read, groups, _with_arguments(work, given, shared))

    def _over_columns(
        self,
        groups: Sequence[Group],
        work: Work,
        *given: Sequence[Any],
        shared: tuple[Any, ...] = (),
    ) -> Iterator[Any]:
        bound = _with_arguments(work, given, shared)
        with Progress("reading groups of columns") as shown:
            for place, group in enumerate(groups):
                yield bound(usual(self._columns_read(group)), place)
                shown.tell(f"{place + 1} of {len(groups)}")

    def _rows_read(self, rows: Group) -> Any:
        with reading(self.source):
            piece = self.read_rows(rows)
            _refuse_other_shape(piece.shape, (length_of(rows), self.shape[1]))
        if isinstance(rows, slice):
            self.rounded |= _rounded_columns(piece)
        return piece

    def _columns_read(self, columns: Group) -> Any:
        with reading(self.source):
            piece = self.read_columns(columns)
            _refuse_other_shape(piece.shape, (self.shape[0], length_of(columns)))
        if isinstance(columns, slice):
            self.rounded |= {columns.start + place for place in _rounded_columns(piece)}
        return piece


class View(Stored):
    """A view of a stored table, with some of its rows or columns, or with transformed pieces.

    Parameters
    ----------
    base : Stored
        The underlying table.
    rows, columns : array of int or None
        Positions in any order, or None for all.
    change : callable or None
        Function that transforms a piece. Its arguments are the piece and the positions of its
        columns in this view.
    """

    def __init__(
        self,
        base: Stored,
        *,
        rows: Integers | None = None,
        columns: Integers | None = None,
        change: Work | None = None,
    ) -> None:
        self._base, self._rows, self._columns, self._change = base, rows, columns, change
        n_rows = base.shape[0] if rows is None else len(rows)
        self.shape = (n_rows, base.shape[1] if columns is None else len(columns))
        self.is_sparse, self.density, self.memory = base.is_sparse, base.density, base.memory
        self.itemsize, self.hours, self.at_hand = (
            BYTES if change else base.itemsize,
            base.hours,
            base.at_hand,
        )
        self.at_once, self.beside, self.columns_held = base.at_once, base.beside, base.columns_held
        self.columnwise = base.columnwise
        self.names = (
            base.names
            if columns is None or base.names is None
            else tuple(base.names[j] for j in columns)
        )

    @property
    def rounded(self) -> frozenset[int]:  # type: ignore[override]
        found = self._base.rounded
        if self._columns is None:
            return found
        return frozenset(
            place for place, column in enumerate(self._columns.tolist()) if column in found
        )

    @property
    def row_borders(self) -> Integers:
        borders = self._base.row_borders
        return borders if self._rows is None else _borders_among(self._rows, borders)

    @property
    def column_borders(self) -> Integers:
        borders = self._base.column_borders
        return borders if self._columns is None else _borders_among(self._columns, borders)

    def _over_rows(
        self,
        groups: Sequence[Group],
        work: Work,
        *given: Sequence[Any],
        shared: tuple[Any, ...] = (),
    ) -> Iterator[Any]:
        requested = [_within(self._rows, group) for group in groups]
        viewed_work = partial(_work_on_viewed_rows, work, self._columns, self._change)
        return self._base.over_rows(requested, viewed_work, *given, shared=shared)

    def _over_columns(
        self,
        groups: Sequence[Group],
        work: Work,
        *given: Sequence[Any],
        shared: tuple[Any, ...] = (),
    ) -> Iterator[Any]:
        requested = [_within(self._columns, group) for group in groups]
        viewed_work = partial(_work_on_viewed_columns, work, self._rows, self._change)
        return self._base.over_columns(requested, viewed_work, list(groups), *given, shared=shared)


def memory_text(n_bytes: int, *, enough: bool = False) -> str:
    """Return a number of bytes as text with a binary unit.

    The number is rounded up if `enough` is true, so that it is sufficient as a limit.

    Examples
    --------
    >>> memory_text(3 * 2**29)
    '1.5 GiB'
    >>> memory_text(3200), memory_text(3200, enough=True)
    ('3.1 KiB', '3.2 KiB')
    """
    unit = next((unit for unit in ("T", "G", "M", "K") if n_bytes >= UNITS[unit]), "")
    if not unit:
        return f"{n_bytes} bytes"
    tenths = -(-10 * n_bytes // UNITS[unit]) / 10 if enough else n_bytes / UNITS[unit]
    return f"{tenths:.1f} {unit}iB"


def runs(borders: Integers, longest: int) -> list[slice]:
    """Return ranges from the first to the last border, each at most `longest` long.

    The ranges have as few ends between borders as possible.

    Examples
    --------
    >>> runs(np.array([0, 4, 8, 20]), 8)
    [slice(0, 8, None), slice(8, 14, None), slice(14, 20, None)]
    """
    found: list[slice] = []
    start = int(borders[0])
    for begin, end in pairwise(borders.tolist()):
        if end - start <= longest:
            continue
        if begin > start:
            found.append(slice(start, begin))
        n_cuts = -(-(end - begin) // longest)
        cuts = [begin + (end - begin) * place // n_cuts for place in range(n_cuts + 1)]
        found += [slice(*ends) for ends in pairwise(cuts[:-1])]
        start = cuts[-2]
    if borders[-1] > start:
        found.append(slice(start, int(borders[-1])))
    return found


def positions(group: Group) -> Integers:
    """Return the positions in a group as an array."""
    return np.arange(group.start, group.stop) if isinstance(group, slice) else group


def length_of(group: Group) -> int:
    """Return the number of rows or columns in a group."""
    return int(group.stop - group.start) if isinstance(group, slice) else len(group)


def _refuse_other_shape(found: tuple[int, ...], expected: tuple[int, int]) -> None:
    """Raise an error if a piece has an unexpected shape.

    Another process may write to the file while it is read. Libraries then return fewer rows or
    columns than requested.
    """
    if found != expected:
        raise OSError(f"its size has changed: got {found}, expected {expected}")


def gathered(pieces: Sequence[Any]) -> Any:
    """Return the concatenated rows of several pieces, which are all dense or all sparse."""
    if len(pieces) == 1:
        return pieces[0]
    return (
        sp.csr_array(sp.vstack(pieces, format="csr"))
        if sp.issparse(pieces[0])
        else np.concatenate(pieces)
    )


def usual(piece: Any) -> Any:
    """Return a piece in a supported type.

    Arrays have native byte order and at most 64-bit numbers. Sparse matrices have float64 values,
    without duplicates and explicit zeros.
    """
    if sp.issparse(piece):
        piece = piece.astype(np.float64)
        piece.sum_duplicates()
        piece.eliminate_zeros()
        return piece
    if piece.dtype.kind == "f" and piece.dtype.itemsize not in (4, 8):
        with np.errstate(over="ignore"):  # The finite check reports infinite values.
            return piece.astype(np.float32 if piece.dtype.itemsize == 2 else np.float64)
    return piece if piece.dtype.isnative else piece.astype(piece.dtype.newbyteorder("="))


@contextmanager
def reading(
    source: str,
    remedy: str = "open it again, or write it again",
    but: tuple[type[BaseException], ...] = (),
) -> Iterator[None]:
    """Convert any error of a library during reading to an `InputError` with one sentence.

    Errors of the types in `but` are raised unchanged.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, (InputError, LostProcessError, MemoryError, *but)):
            raise
        description = one_line(f"{type(error).__name__}: {as_text(error)}".rstrip(" .:"))
        raise InputError(f"X could not be read from {source} ({description}); {remedy}.") from error


def itself(piece: Any) -> Any:
    """Return the piece, for callers that need the values themselves."""
    return piece


def _rounded_columns(piece: Any) -> frozenset[int]:
    """Return the columns with integers that float64 cannot represent exactly."""
    if piece.dtype.kind not in "iu" or piece.dtype.itemsize < BYTES or not piece.size:
        return frozenset()
    if sp.issparse(piece):
        beyond = (piece.data > LARGEST_EXACT_INTEGER) | (piece.data < -LARGEST_EXACT_INTEGER)
        return frozenset(piece.tocoo().coords[1][beyond].tolist()) if beyond.any() else frozenset()
    beyond = (piece.max(axis=0) > LARGEST_EXACT_INTEGER) | (
        piece.min(axis=0) < -LARGEST_EXACT_INTEGER
    )
    return frozenset(np.flatnonzero(beyond).tolist())


def _read_ahead(read: Work, groups: Sequence[Group], work: Work) -> Iterator[Any]:
    """Iterate over the results of `work` for each piece and its position.

    A thread reads the next piece in the meantime.
    """
    with ThreadPoolExecutor(1) as reader, Progress("reading groups of rows") as shown:
        coming = reader.submit(read, groups[0]) if len(groups) else None
        for place in range(len(groups)):
            assert coming is not None
            piece = usual(coming.result())
            coming = reader.submit(read, groups[place + 1]) if place + 1 < len(groups) else None
            yield work(piece, place)
            shown.tell(f"{place + 1} of {len(groups)}")
            del piece


def _with_arguments(work: Work, given: tuple[Sequence[Any], ...], shared: tuple[Any, ...]) -> Work:
    """Return `work` as a function of a piece and the position of its group."""
    return lambda piece, place: work(piece, *(part[place] for part in given), *shared)


def _in_requested_order(
    over: Callable[..., Iterator[Any]],
    groups: Sequence[Group],
    work: Work,
    given: tuple[Sequence[Any], ...],
    shared: tuple[Any, ...],
    *,
    axis: int,
) -> Iterator[Any]:
    """Iterate over groups with positions in any order by means of `over`.

    Files and blocks are found by bisection and read from the beginning to the end, so `over`
    requires increasing positions.
    """
    if all(_increases(group) for group in groups):
        return over(groups, work, *given, shared=shared)
    sorted_groups = [np.unique(positions(group), return_inverse=True) for group in groups]
    increasing, places = zip(*sorted_groups, strict=True)
    return over(increasing, partial(_work_on_reordered, work, axis), places, *given, shared=shared)


def _increases(group: Group) -> bool:
    return isinstance(group, slice) or bool((np.diff(group) > 0).all())


def _work_on_reordered(work: Work, axis: int, piece: Any, places: Integers, *others: Any) -> Any:
    return work(piece[places] if axis == 0 else piece[:, places], *others)


def _borders_among(chosen: Integers, borders: Integers) -> Integers:
    """Return the places among chosen positions at which another part between borders begins."""
    parts = np.searchsorted(borders, chosen, side="right")
    return np.concatenate([[0], np.flatnonzero(np.diff(parts)) + 1, [len(chosen)]])


def _within(chosen: Integers | None, group: Group) -> Group:
    return group if chosen is None else chosen[group]


def _work_on_viewed_rows(
    work: Work, columns: Integers | None, change: Work | None, piece: Any, *others: Any
) -> Any:
    piece = piece if columns is None else piece[:, columns]
    return work(piece if change is None else change(piece, slice(0, piece.shape[1])), *others)


def _work_on_viewed_columns(
    work: Work, rows: Integers | None, change: Work | None, piece: Any, group: Group, *others: Any
) -> Any:
    piece = piece if rows is None else _some_rows(piece, rows)
    return work(piece if change is None else change(piece, group), *others)


def _some_rows(piece: Any, rows: Integers) -> Any:
    return sp.csc_array(sp.csr_array(piece)[rows]) if sp.issparse(piece) else piece[rows]

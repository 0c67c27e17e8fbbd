"""What every table that is read piece by piece can do, wherever its pieces lie.

Two verbs are enough for all of graphsieve: *do this with each of these groups of rows*, and the
same with columns. A file reads one group after the other; a cluster sends the work to where the
pieces are. Nobody who asks knows which, and nobody holds more than a group at a time.
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

MEMORY = 2**30  # bytes that pieces may take unless somebody says otherwise
HOURS = 2.0  # that an exact search may take unless somebody says otherwise
BYTES = 8  # of a number while it is worked on
# Groups of rows in memory at once: one worked on, its copy for distances, one being read, and some
# room
ROWS_HELD = 4
# Of columns: the fewer groups there are, the less often a file of rows is read, so nothing is read
# ahead
COLUMNS_HELD = 1.25

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
# Of a neighbour while a graph is built: where it is, how far, and the same again while edges are
# sorted
EDGE_BYTES = 64

NO_ARRAY = (
    "X is a stored table, which is read piece by piece and is no array; pass it to a score, rank "
    "or GraphSieve, or pass the "
    "array itself to what takes arrays."
)

Group = slice | Integers  # which rows, or which columns: a run of them, or their positions
Work = Callable[..., Any]  # of a piece, what is given for its group, and what is shared by all


class Stored(ABC):
    """A table that is read piece by piece.

    Attributes
    ----------
    shape : (int, int)
        Samples and features.
    is_sparse : bool
        Whether pieces are sparse: rows as CSR, columns as CSC; otherwise they are 2-D arrays.
    density : float
        The share of all numbers that are kept: 1 where it is dense.
    names : tuple of str or None
        The columns' names.
    memory : int
        Bytes that the pieces in use may take together.
    itemsize : int
        Bytes of a number as it is kept.
    hours : float
        The longest exact search for neighbours that is begun.
    at_hand : bool
        Whether this process reads it, so that a small one may as well be read whole.
    at_once : int
        Groups that are worked on at the same time, so that there should be as many.
    beside : int
        How many of them share one memory.
    columns_held : float
        Groups of columns that each of them has in memory.
    columnwise : bool
        Whether columns are read with less effort than rows.
    rounded : frozenset of int
        Columns whose whole numbers are beyond those that float64 holds, as far as they have been
        read.
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

    @abstractmethod
    def over_rows(
        self,
        groups: Sequence[Group],
        work: Work,
        *given: Sequence[Any],
        shared: tuple[Any, ...] = (),
    ) -> Iterator[Any]:
        """What ``work(rows, *given of the group, *shared)`` returns for each group, in their
        order.
        """

    @abstractmethod
    def over_columns(
        self,
        groups: Sequence[Group],
        work: Work,
        *given: Sequence[Any],
        shared: tuple[Any, ...] = (),
    ) -> Iterator[Any]:
        """The same for groups of columns."""

    @property
    def row_borders(self) -> Integers:
        """Where reading rows may begin and end without reading anything twice."""
        return np.array([0, self.shape[0]])

    @property
    def column_borders(self) -> Integers:
        """The same for columns."""
        return np.array([0, self.shape[1]])

    @property
    def n_bytes(self) -> int:
        """What all numbers would take in memory."""
        return int(
            self.shape[0]
            * self.shape[1]
            * self.density
            * (BYTES if not self.is_sparse else 2 * BYTES)
        )

    def plan(self, n_neighbors: int = 10) -> str:
        """What a run will take, in words: how the table is read, the memory for pieces and for a
        graph of so many neighbours.

        Methods without neighbours need no graph, and twice as many neighbours take twice the
        memory.
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
        """Refuse to be cut, as scikit-learn's folds would: whoever gets a part might hold all of
        it.
        """
        raise InputTypeError(NO_ARRAY)

    def __array__(self, *_: Any, **__: Any) -> Any:
        """Refuse to be collected unasked."""
        raise InputTypeError(NO_ARRAY)

    def row_groups(self, share: float = 1.0) -> list[slice]:
        """All rows in runs that fit into a share of the memory, along the borders where those
        allow it.
        """
        return runs(
            self.row_borders, min(self.fitting_rows(share), -(-self.shape[0] // self.at_once))
        )

    def column_groups(
        self, start: int = 0, stop: int | None = None, share: float = 1.0
    ) -> list[slice]:
        """Columns from `start` to `stop` in runs that fit into a share of the memory, along the
        borders where those allow it.
        """
        stop = self.shape[1] if stop is None else stop
        within = self.column_borders
        borders = np.concatenate([[start], within[(within > start) & (within < stop)], [stop]])
        return runs(borders, min(self.fitting_columns(share), -(-(stop - start) // self.at_once)))

    def fitting_rows(self, share: float = 1.0) -> int:
        """How many rows may be read at once, within a share of the memory."""
        return self.fitting(self.shape[1], BYTES * ROWS_HELD / share)

    def fitting_columns(self, share: float = 1.0) -> int:
        """How many columns may be read at once, within a share of the memory."""
        return self.fitting(self.shape[0], self.itemsize * self.columns_held / share)

    @property
    def column_bytes(self) -> int:
        """What a single column takes while it is worked on."""
        return int(
            self.columns_held
            * self.shape[0]
            * self.density
            * (self.itemsize if not self.is_sparse else 2 * BYTES)
        )

    def fitting(self, length: int, bytes_each: float) -> int:
        """How many lines of so many numbers fit into memory, if each number takes so many bytes."""
        each = self.beside * (bytes_each if not self.is_sparse else 2 * bytes_each * self.density)
        return max(1, int(self.memory / (each * max(1, length)))) if each else max(1, length)


class Local(Stored):
    """A table of which this process reads the pieces, the next one while the last is worked on.

    Attributes
    ----------
    source : str
        Where it lies, as a message says it.
    """

    source: str = "where it is stored"

    @abstractmethod
    def read_rows(self, rows: Group) -> Any:
        """Some rows as an array or a CSR matrix; positions are increasing."""

    @abstractmethod
    def read_columns(self, columns: Group) -> Any:
        """Some columns as an array or a CSC matrix; positions are increasing."""

    def over_rows(
        self,
        groups: Sequence[Group],
        work: Work,
        *given: Sequence[Any],
        shared: tuple[Any, ...] = (),
    ) -> Iterator[Any]:
        return _one_ahead(self._rows_read, groups, _told(work, given, shared))

    def over_columns(
        self,
        groups: Sequence[Group],
        work: Work,
        *given: Sequence[Any],
        shared: tuple[Any, ...] = (),
    ) -> Iterator[Any]:
        told = _told(work, given, shared)
        with Progress("reading groups of columns") as shown:
            for place, group in enumerate(groups):
                yield told(usual(self._columns_read(group)), place)
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
    """Some rows or some columns of a stored table, or all of it with every piece changed in
    passing.

    Parameters
    ----------
    base : Stored
        The table behind it.
    rows, columns : array of int or None
        Positions, increasing; None for all.
    change : callable or None
        Of a piece and the columns that it has, as positions of this view: the piece as it is to be
        seen.
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
        return borders if self._rows is None else np.unique(np.searchsorted(self._rows, borders))

    @property
    def column_borders(self) -> Integers:
        borders = self._base.column_borders
        return (
            borders if self._columns is None else np.unique(np.searchsorted(self._columns, borders))
        )

    def over_rows(
        self,
        groups: Sequence[Group],
        work: Work,
        *given: Sequence[Any],
        shared: tuple[Any, ...] = (),
    ) -> Iterator[Any]:
        asked = [_within(self._rows, group) for group in groups]
        seen = partial(_seen_rows, work, self._columns, self._change)
        return self._base.over_rows(asked, seen, *given, shared=shared)

    def over_columns(
        self,
        groups: Sequence[Group],
        work: Work,
        *given: Sequence[Any],
        shared: tuple[Any, ...] = (),
    ) -> Iterator[Any]:
        asked = [_within(self._columns, group) for group in groups]
        seen = partial(_seen_columns, work, self._rows, self._change)
        return self._base.over_columns(asked, seen, list(groups), *given, shared=shared)


def memory_text(n_bytes: int, *, enough: bool = False) -> str:
    """A number of bytes as people say it; rounded up where it is to be enough.

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
    """From the first border to the last, at most so many at a time, with as few cuts between
    borders as that needs.

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
    """The members of a group."""
    return np.arange(group.start, group.stop) if isinstance(group, slice) else group


def length_of(group: Group) -> int:
    """How many rows or columns a group has."""
    return int(group.stop - group.start) if isinstance(group, slice) else len(group)


def _refuse_other_shape(found: tuple[int, ...], expected: tuple[int, int]) -> None:
    """Others may write to a file while it is read, and libraries cut what is asked for to what
    there is.
    """
    if found != expected:
        raise OSError(f"it has become another size: {found} where {expected} was asked for")


def gathered(pieces: Sequence[Any]) -> Any:
    """Row pieces of one kind, one below the other."""
    if len(pieces) == 1:
        return pieces[0]
    return (
        sp.csr_array(sp.vstack(pieces, format="csr"))
        if sp.issparse(pieces[0])
        else np.concatenate(pieces)
    )


def usual(piece: Any) -> Any:
    """A piece in the types that are worked with: native numbers, CSR and CSC without zeros that
    are stored.
    """
    if sp.issparse(piece):
        piece = piece.astype(np.float64)
        piece.sum_duplicates()
        piece.eliminate_zeros()
        return piece
    if piece.dtype.kind == "f" and piece.dtype.itemsize not in (4, 8):
        with np.errstate(over="ignore"):  # what becomes infinite is refused
            return piece.astype(np.float32 if piece.dtype.itemsize == 2 else np.float64)
    return piece if piece.dtype.isnative else piece.astype(piece.dtype.newbyteorder("="))


@contextmanager
def reading(
    source: str,
    remedy: str = "open it again, or write it again",
    but: tuple[type[BaseException], ...] = (),
) -> Iterator[None]:
    """Libraries raise whatever they like while they read; a person gets one sentence."""
    try:
        yield
    except Exception as error:
        if isinstance(error, (InputError, LostProcessError, MemoryError, *but)):
            raise
        said = one_line(f"{type(error).__name__}: {as_text(error)}".rstrip(" .:"))
        raise InputError(f"X could not be read from {source} ({said}); {remedy}.") from error


def itself(piece: Any) -> Any:
    """The work that only brings a piece."""
    return piece


def _rounded_columns(piece: Any) -> frozenset[int]:
    """Columns with whole numbers that float64 does not hold."""
    if piece.dtype.kind not in "iu" or piece.dtype.itemsize < BYTES or not piece.size:
        return frozenset()
    if sp.issparse(piece):
        beyond = (piece.data > LARGEST_EXACT_INTEGER) | (piece.data < -LARGEST_EXACT_INTEGER)
        return frozenset(piece.tocoo().coords[1][beyond].tolist()) if beyond.any() else frozenset()
    beyond = (piece.max(axis=0) > LARGEST_EXACT_INTEGER) | (
        piece.min(axis=0) < -LARGEST_EXACT_INTEGER
    )
    return frozenset(np.flatnonzero(beyond).tolist())


def _one_ahead(read: Work, groups: Sequence[Group], work: Work) -> Iterator[Any]:
    """What `work` makes of each piece and its place, while the next one is read."""
    with ThreadPoolExecutor(1) as reader, Progress("reading groups of rows") as shown:
        coming = reader.submit(read, groups[0]) if len(groups) else None
        for place in range(len(groups)):
            assert coming is not None
            piece = usual(coming.result())
            coming = reader.submit(read, groups[place + 1]) if place + 1 < len(groups) else None
            yield work(piece, place)
            shown.tell(f"{place + 1} of {len(groups)}")
            del piece


def _told(work: Work, given: tuple[Sequence[Any], ...], shared: tuple[Any, ...]) -> Work:
    """The work on a piece and its place among the groups."""
    return lambda piece, place: work(piece, *(part[place] for part in given), *shared)


def _within(chosen: Integers | None, group: Group) -> Group:
    return group if chosen is None else chosen[group]


def _seen_rows(
    work: Work, columns: Integers | None, change: Work | None, piece: Any, *others: Any
) -> Any:
    piece = piece if columns is None else piece[:, columns]
    return work(piece if change is None else change(piece, slice(0, piece.shape[1])), *others)


def _seen_columns(
    work: Work, rows: Integers | None, change: Work | None, piece: Any, group: Group, *others: Any
) -> Any:
    piece = piece if rows is None else _some_rows(piece, rows)
    return work(piece if change is None else change(piece, group), *others)


def _some_rows(piece: Any, rows: Integers) -> Any:
    return sp.csc_array(sp.csr_array(piece)[rows]) if sp.issparse(piece) else piece[rows]

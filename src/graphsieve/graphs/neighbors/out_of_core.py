"""Tables that are read piece by piece, as every score and sieve takes them.

A `StoredTable` is a `Table` whose columns are one block that nobody holds (`columns`, `sums`), and
whose rows are `StoredRows`, which answer the questions that are asked of rows: who is near whom,
and how near. The neighbours of a row are found by pairs of groups of rows, each searched as if it
were all there is, and merged; distances and ties are those of the search in memory.

Approximate neighbours come from a sketch: the rows along the directions in which most of a sample
of them varies. It fits into memory, and whoever is near there is measured on the table itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError
from graphsieve._base.progress import say
from graphsieve._kernels.samples import TEMPORARY_ELEMENTS
from graphsieve.graphs.neighbors.approximate import approximate_neighbors, drawn_rows
from graphsieve.graphs.neighbors.exact import (
    RowsElsewhere,
    absolute_distances,
    mutual_neighbors,
    nearest_neighbors,
    smallest_columns,
    squared_distances,
)
from graphsieve.table.columns import (
    NO_EXPONENT,
    Block,
    Form,
    Table,
    by_columns,
    exponents_of,
    extremes_of,
    replace_start,
    scale_by_power_of_two,
    unit_exponent,
)
from graphsieve.table.containers import check_finite_piece, warn_of_rounded
from graphsieve.table.stored import memory_text, stored_in
from graphsieve.table.stored.pieces import BYTES, ROWS_HELD, Group, Stored, View, gathered, itself

SKETCH_WIDTH, SKETCH_SAMPLE = 64, 4096  # directions of a sketch, and rows from which they are found
# Of a number in the sketch, with the copies that the search makes; together they may take the
# memory
SKETCH_BYTES = 16
# Times as many neighbours are looked for in a sketch as are wanted, and how many at most
PROPOSED, MOST_PROPOSED = 3, 96
ROWS_AT_ONCE = 2**15  # measured together
ABSOLUTE_WORK = 64  # times as long as by products it takes to compare rows by absolute differences
NOBODY = np.iinfo(np.int64).max  # a position behind all others
FEW_BYTES = 2**24  # of a part of a table that lies elsewhere, up to which it is brought here
EXACT_PER_HOUR = 60 * 2**43  # rows² × columns in an hour on two cores, as for a table in memory


def as_table(X: Any) -> Table:
    """The door: X as a table, which is read piece by piece where it is stored and too large for
    memory.
    """
    stored = stored_in(X)
    return Table(X) if stored is None else table_of(stored)


def table_in_memory(X: Any) -> Table:
    """The door of whoever needs all numbers at once: what is stored is read whole if it may be,
    and refused unread if not.
    """
    stored = stored_in(X)
    if stored is None:
        return Table(X)
    if not is_read_whole(stored):
        refuse_pieces(stored)
    return table_of(stored)


def is_read_whole(stored: Stored) -> bool:
    """Whether it fits into its memory, and this process reads it."""
    return stored.at_hand and stored.n_bytes <= stored.memory


def table_of(stored: Stored) -> Table:
    """A stored table, read whole if it fits into its memory and is at hand."""
    if is_read_whole(stored):
        over, length = (
            (stored.over_columns, stored.shape[1])
            if stored.columnwise
            else (stored.over_rows, stored.shape[0])
        )
        whole = next(iter(over([slice(0, length)], itself)))
        check_finite_piece(whole, stored.names, 0)
        table = Table(whole)
        table.feature_names = stored.names
        if whole.dtype.kind in "iu":  # of which it has warned itself
            return table
    else:
        say(f"graphsieve: {stored.plan()}.")
        table = StoredTable(stored)
    warn_of_rounded(sorted(stored.rounded), stored.names)
    return table


class StoredTable(Table):
    """Samples × features that are read piece by piece, checked once while their extremes are
    found.
    """

    def __init__(self, stored: Stored, *, extremes: Floats | None = None) -> None:
        self.stored = self._matrix = stored
        self.feature_names = stored.names
        self._block_elements = max(1, stored.memory // (4 * BYTES))
        self.geometry = self.compressed = self._prepared = None
        refuse_narrow_memory(stored)
        self._extremes = checked_extremes(stored) if extremes is None else extremes

    @property
    def is_sparse(self) -> bool:
        return self.stored.is_sparse

    @property
    def matrix(self) -> Any:
        """There is none in memory: whoever needs one asks for a part of the table first."""
        return self.need_memory()

    def need_memory(self) -> None:
        refuse_pieces(self.stored)

    @cached_property
    def whole(self) -> Block:
        """All columns as one block."""
        low, high, least = self._extremes
        exponent = exponents_of(self._extremes)
        shift = scale_by_power_of_two(least, -exponent)
        return Block(
            0,
            self.n_features,
            self.stored,
            shift,
            exponent,
            high == low,
            extremes=self._extremes[:2],
        )

    def blocks(self) -> Iterator[Block]:
        """The columns from left to right, brought here a few at a time."""
        for group in self.stored.column_groups():
            piece = next(iter(self.stored.over_columns([group], itself)))
            for block in Table.trusted(piece, None).blocks():
                yield replace_start(block, group.start)

    def evaluations(self, form: Form, *, wide: bool = False) -> Iterator[tuple[slice, Any]]:
        if wide:
            return iter(((slice(0, self.n_features), form(self.whole)),))
        return by_columns(self.whole, form)

    def wide_blocks(self) -> Iterator[Block]:
        return iter((self.whole,))

    @property
    def only_block(self) -> Block | None:
        return None

    def column_exponents(self) -> NDArray[np.intc]:
        block = self.whole
        return np.where(block.constant & (block.shift == 0), NO_EXPONENT, block.exponent).astype(
            np.intc
        )

    @cached_property
    def rows(self) -> tuple[Any, int]:
        if self.geometry is not None:
            return self.geometry.rows
        exponent = unit_exponent(int(exponents_of(self._extremes).max()))
        return StoredRows(self.stored, exponent), exponent

    @property
    def _most_brought(self) -> int:
        """Bytes of a part that is rather held here than read again and again; of a cluster's
        table very few.
        """
        return (
            self.stored.memory // 2
            if self.stored.at_hand
            else min(self.stored.memory // 2, FEW_BYTES)
        )

    def take(self, rows: NDArray[Any]) -> Table:
        chosen = np.asarray(rows, dtype=np.int64)
        view = View(self.stored, rows=chosen)
        if view.n_bytes <= self._most_brought:
            return Table.trusted(_columnwise(fetched_rows(self.stored, chosen)), self.feature_names)
        return StoredTable(view)

    def take_columns(self, columns: NDArray[Any]) -> Table:
        chosen = np.asarray(columns, dtype=np.int64)
        view = View(self.stored, columns=chosen)
        if view.n_bytes <= self._most_brought:
            piece = next(iter(self.stored.over_columns([chosen], itself)))
            return Table.trusted(piece, view.names)
        return StoredTable(view, extremes=self._extremes[:, columns])

    def within(self, geometry: Any) -> Table:
        table = StoredTable(self.stored, extremes=self._extremes)
        table.geometry = geometry
        return table

    def represented_by(self, compressed: Any) -> Table:
        table = StoredTable(self.stored, extremes=self._extremes)
        table.compressed = compressed
        return table

    def divided(self, exponent: NDArray[np.intc], size: Floats) -> Table:
        view = View(
            self.stored,
            change=partial(_divided, exponent=exponent, shift=np.zeros(len(size)), size=size),
        )
        # Division keeps the order, so that the extremes are those of before.
        return StoredTable(view, extremes=scale_by_power_of_two(self._extremes, -exponent) / size)

    def on_unit_ranges(self) -> StoredRows:
        """The rows on features whose range is 1; a column without zeros loses its offset first."""
        block = self.whole
        size = np.where(block.range > 0, block.range, 1.0)
        return StoredRows(
            View(
                self.stored,
                change=partial(_divided, exponent=block.exponent, shift=block.shift, size=size),
            )
        )

    def entries_by_row(self) -> Integers:
        groups = self.stored.row_groups()
        return np.concatenate(list(self.stored.over_rows(groups, _entries)))

    @property
    def at_hand(self) -> bool:
        return self.stored.at_hand

    @property
    def most_held(self) -> int:
        return self.stored.memory // (ROWS_HELD * BYTES)

    @property
    def n_entries(self) -> int:
        return int(self.n_samples * self.n_features * self.stored.density)

    @property
    def smallest(self) -> float:
        return float(self._extremes[0].min())

    def corner(self, rows: NDArray[Any], columns: NDArray[Any] | None = None) -> Any:
        chosen, where = np.unique(rows, return_inverse=True)
        kept, places = (
            (None, slice(None)) if columns is None else np.unique(columns, return_inverse=True)
        )
        view = View(self.stored, rows=chosen, columns=kept)
        piece = gathered(list(view.over_rows(View(self.stored, rows=chosen).row_groups(), itself)))
        dense = piece.toarray() if sp.issparse(piece) else piece
        return dense[where][:, places]

    def named(self, names: tuple[str, ...] | None) -> Table:
        table = StoredTable(self.stored, extremes=self._extremes)
        table.feature_names = names
        return table


class StoredRows(RowsElsewhere):
    """The rows of a stored table as distances are taken between them.

    Parameters
    ----------
    stored : Stored
        The table.
    exponent : int
        Its numbers are multiplied by ``2**-exponent``.
    directions : callable or None
        What is made of some rows instead, with one column more, where their directions are to be
        compared.
    """

    def __init__(
        self, stored: Stored, exponent: int = 0, *, directions: Callable[[Any], Any] | None = None
    ) -> None:
        change = (
            partial(_scaled, exponent=exponent)
            if directions is None
            else partial(_turned, directions=directions)
        )
        self._stored, self._hours = View(stored, change=change), stored.hours
        self._turned = directions is not None
        self.shape = (stored.shape[0], stored.shape[1] + self._turned)

    @property
    def pieces(self) -> Stored:
        """The rows themselves, to be read group by group."""
        return self._stored

    def only(self, rows: Integers) -> StoredRows:
        """Some of the rows, left where they are."""
        return StoredRows(View(self._stored, rows=rows))

    def __getitem__(self, rows: Any) -> Any:
        asked = np.arange(self.shape[0])[rows]
        distinct, where = np.unique(asked, return_inverse=True)
        refuse_beyond_memory(View(self._stored, rows=distinct), f"{len(distinct)} of its rows")
        found = fetched_rows(self._stored, distinct)
        return found if len(distinct) == len(asked) and (distinct == asked).all() else found[where]

    def nearest(
        self, n_neighbors: int, queries: Integers | None, candidates: Integers | None
    ) -> tuple[Integers, Floats]:
        """As `nearest_neighbors`, by pairs of groups of rows; where everybody looks for
        everybody, a pair serves both sides.
        """
        everyone, both = np.arange(self.shape[0]), queries is None and candidates is None
        queries = everyone if queries is None else queries
        candidates = everyone if candidates is None else np.sort(candidates)
        found = (
            np.full((len(queries), n_neighbors), -1, dtype=np.int64),
            np.full((len(queries), n_neighbors), np.inf),
        )
        if not len(queries) or not n_neighbors:
            return found
        self._refuse_hours(len(queries) * len(candidates))
        mine, theirs = (
            self._groups(len(queries), n_neighbors),
            self._groups(len(candidates), n_neighbors),
        )
        pairs = [
            (one, other)
            for one in range(len(mine))
            for other in range(one if both else 0, len(theirs))
        ]
        # With itself it is half the work: last
        pairs.sort(key=lambda pair: both and pair[0] == pair[1])
        ends = [(queries[mine[one]], candidates[theirs[other]]) for one, other in pairs]
        together = [np.union1d(*pair) for pair in ends]
        places = [
            tuple(np.searchsorted(rows, end) for end in pair)
            for rows, pair in zip(together, ends, strict=True)
        ]
        work = partial(_nearest_between, n_neighbors=n_neighbors, both=both)
        answers = self._stored.over_rows(together, work, places)
        for (one, other), rows, (forth, back) in zip(pairs, together, answers, strict=True):
            _merge(found, mine[one], rows, forth)
            if back is not None:
                _merge(found, theirs[other], rows, back)
        return found

    def _groups(self, length: int, n_neighbors: int) -> list[slice]:
        """Runs of so many rows that two of them fit into memory, and so many that each has
        enough neighbours within one.
        """
        fitting = max(n_neighbors + 1, self._stored.fitting_rows(0.5))
        n_runs = max(
            1, min(max(-(-length // fitting), self._stored.at_once), length // (n_neighbors + 1))
        )
        borders = [length * place // n_runs for place in range(n_runs + 1)]
        return [slice(*ends) for ends in pairwise(borders)]

    def _refuse_hours(self, n_pairs: int) -> None:
        hours = (
            n_pairs
            * self.shape[1]
            * self._stored.density
            / EXACT_PER_HOUR
            * 2
            / max(2, self._stored.at_once)
        )
        if hours > self._hours:
            raise InputError(
                f"an exact search for neighbours among {n_pairs:,} pairs of rows would take about "
                f"{hours:,.0f} hours; pass "
                "neighbors='approximate', or compress='kmeans' to a sieve, or wait: "
                "graphsieve.stored(X, hours=…)."
            )

    def nearest_in_groups(
        self, order: Integers, begin: Integers, n_neighbors: int, grid: float
    ) -> list[NDArray[np.int32]]:
        """As `manhattan.nearest_in_groups` on the rows in the given order, by pairs of runs of
        them.
        """
        n_rows, sizes = len(order), np.diff(begin)
        self._refuse_hours(ABSOLUTE_WORK * n_rows**2)
        runs_of_places = self._groups(n_rows, n_neighbors)
        kept = [min(n_neighbors, int(size)) for size in sizes]
        found = [
            (np.full((n_rows, k), NOBODY, dtype=np.int64), np.full((n_rows, k), np.inf))
            for k in kept
        ]
        pairs = [(mine, theirs) for mine in runs_of_places for theirs in runs_of_places]
        together = [np.union1d(order[mine], order[theirs]) for mine, theirs in pairs]
        ends = [
            (np.searchsorted(rows, order[mine]), np.searchsorted(rows, order[theirs]))
            for rows, (mine, theirs) in zip(together, pairs, strict=True)
        ]
        cuts = [_cuts(begin, theirs) for _, theirs in pairs]
        work = partial(_nearest_in_parts, n_neighbors=n_neighbors, grid=grid)
        answers = self._stored.over_rows(together, work, ends, cuts)
        for (mine, theirs), parts in zip(pairs, answers, strict=True):
            for group, distances, places in parts:
                more = np.where(np.isinf(distances), NOBODY, theirs.start + places), distances
                _keep_first(found[group], mine, more)
        return [_in_order_of_places(places) for places, _ in found]

    def distances(self, first: Integers, second: Integers) -> Floats:
        """As `squared_distances`, so many pairs at a time as the rows of which fit into memory."""
        result = np.empty(len(first))
        step = max(1, self._stored.fitting_rows() // 2)
        for start in range(0, len(first), step):
            part = slice(start, start + step)
            rows = np.union1d(first[part], second[part])
            ends = np.searchsorted(rows, first[part]), np.searchsorted(rows, second[part])
            result[part] = next(
                iter(self._stored.over_rows([rows], squared_distances, [ends[0]], [ends[1]]))
            )
        return result

    def approximately(self, n_neighbors: int) -> tuple[Integers, Floats]:
        """As `approximate_neighbors`: proposed by a sketch of the rows, measured on the rows
        themselves.
        """
        if self._turned:
            raise InputError(
                "neighbors='approximate' compares rows as they are, not by cosine; pass "
                "metric='euclidean'."
            )
        sketch, faithful = self._sketch()
        if faithful:
            return approximate_neighbors(sketch, n_neighbors)
        near = approximate_neighbors(
            sketch, max(n_neighbors, min(PROPOSED * n_neighbors, MOST_PROPOSED))
        )[0]
        del sketch
        # Long lists of short numbers
        near = near.astype(np.min_scalar_type(-self.shape[0]), copy=False)
        squared = np.zeros(near.shape)
        for part in self._stored.over_columns(
            self._stored.column_groups(share=0.5), _squares_of_columns, shared=(near,)
        ):
            squared += part
            del part
        return _first_in_lists(near, squared, n_neighbors)

    def _sketch(self) -> tuple[Floats, bool]:
        """The rows along some directions, and whether these are all that there are."""
        n_samples, n_features = self.shape
        width = min(SKETCH_WIDTH, max(2, self._stored.memory // (SKETCH_BYTES * n_samples)))
        groups = self._stored.row_groups()
        if n_features <= width:
            return np.concatenate(list(self._stored.over_rows(groups, itself))), True
        n_drawn = min(SKETCH_SAMPLE, max(4 * width, self._stored.fitting_rows()))
        sample = fetched_rows(self._stored, drawn_rows(n_samples, n_drawn, seed=5))
        center = sample.mean(axis=0)
        directions = randomized_svd(sample - center, width, random_state=0)[2].T
        along = self._stored.over_rows(
            groups, _along, shared=(center, np.ascontiguousarray(directions))
        )
        return np.concatenate(list(along)), False


def read_columns(stored: Stored, columns: Integers) -> Any:
    """Some columns, all samples, brought into memory: an array, or CSR."""
    view = View(stored, columns=columns)
    groups, found = view.column_groups(), None
    pieces = view.over_columns(groups, itself)
    if stored.is_sparse:
        return (
            sp.csr_array(sp.hstack(list(pieces))) if groups else sp.csr_array((stored.shape[0], 0))
        )
    for group, piece in zip(groups, pieces, strict=True):
        found = np.empty(view.shape, dtype=piece.dtype) if found is None else found
        found[:, group] = piece
    return np.empty(view.shape) if found is None else found


def fetched_rows(stored: Stored, rows: Group) -> Any:
    """Some rows, brought here."""
    return next(iter(stored.over_rows([rows], itself)))


def checked_extremes(stored: Stored) -> Floats:
    """The smallest and the largest value of every column, and the first of least magnitude; all
    of them finite.
    """
    groups = stored.column_groups() if stored.columnwise else stored.row_groups()
    starts, shared = [group.start for group in groups], (stored.names, stored.columnwise)
    if stored.columnwise:
        return np.concatenate(
            list(stored.over_columns(groups, _checked_extremes, starts, shared=shared)), axis=1
        )
    found: Floats | None = None
    for here in stored.over_rows(groups, _checked_extremes, starts, shared=shared):
        if found is None:
            found = here
        else:
            least = np.where(np.abs(here[2]) < np.abs(found[2]), here[2], found[2])
            found = np.stack([np.minimum(found[0], here[0]), np.maximum(found[1], here[1]), least])
    assert found is not None
    return found


def refuse_pieces(stored: Stored) -> NoReturn:
    """Some methods have to see all numbers at once."""
    raise InputError(
        "this method needs all of X in memory, and X is read piece by piece "
        f"({memory_text(stored.n_bytes)}); use a method that "
        "does not, or pass X as an array."
    )


def refuse_narrow_memory(stored: Stored) -> None:
    """A column is always read as a whole."""
    needed = stored.column_bytes
    if needed > stored.memory:
        raise InputError(
            f"a single column of {stored.shape[0]:,} rows takes {memory_text(needed)} while it is "
            "worked on, and memory is "
            f"{memory_text(stored.memory)}; pass graphsieve.stored(X, "
            f"memory={memory_text(needed, enough=True)!r}) or more."
        )


def refuse_beyond_memory(stored: Stored, what: str) -> None:
    """What is to be brought into memory as a whole must fit there."""
    if stored.n_bytes > stored.memory:
        raise InputError(
            f"this method needs {what} in memory at once, {memory_text(stored.n_bytes)}, and "
            "memory is "
            f"{memory_text(stored.memory)}; pass graphsieve.stored(X, memory=…) with more, or use "
            "another method."
        )


def _checked_extremes(
    piece: Any, first: int, names: tuple[str, ...] | None, columnwise: bool
) -> Floats:
    found = extremes_of(piece)
    if not np.isfinite(found).all():
        check_finite_piece(piece, names, *((0, first) if columnwise else (first, 0)))
    return found


def _entries(piece: Any) -> Integers:
    if sp.issparse(piece):
        return np.asarray(np.diff(sp.csr_array(piece).indptr), dtype=np.int64)
    return np.asarray(np.count_nonzero(piece, axis=1), dtype=np.int64)


def _divided(
    piece: Any, columns: Group, *, exponent: NDArray[np.intc], shift: Floats, size: Floats
) -> Any:
    """As `Table.divided`, of a piece that has these columns; less a shift, which columns with
    zeros do not have.
    """
    exponent, shift, size = exponent[columns], shift[columns], size[columns]
    if not sp.issparse(piece):
        return (scale_by_power_of_two(piece, -exponent) - shift) / size
    if isinstance(piece, sp.csr_array):
        owner = piece.indices
    else:
        owner = np.repeat(np.arange(piece.shape[1]), np.diff(piece.indptr))
    data = (scale_by_power_of_two(piece.data, -exponent[owner]) - shift[owner]) / size[owner]
    return type(piece)((data, piece.indices, piece.indptr), shape=piece.shape)


def _scaled(piece: Any, _: Group, *, exponent: int) -> Any:
    """A piece as distances are taken: float64, multiplied by a power of two."""
    if sp.issparse(piece):
        scaled = piece.astype(np.float64)
        if exponent:
            scaled.data = scale_by_power_of_two(scaled.data, -exponent)
        return scaled
    rows = np.ascontiguousarray(piece, dtype=np.float64)
    return scale_by_power_of_two(rows, -exponent) if exponent else rows


def _turned(piece: Any, _: Group, *, directions: Callable[[Any], Any]) -> Any:
    return directions(piece)


def _along(rows: Floats, center: Floats, directions: Floats) -> Floats:
    return np.asarray((rows - center) @ directions)


def _nearest_between(
    rows: Any, places: tuple[Integers, Integers], *, n_neighbors: int, both: bool
) -> tuple[Any, Any]:
    """Whom the rows at the first places have near them at the second places; and, for both
    sides, the other way round.
    """
    queries, candidates = places
    same = len(queries) == len(candidates) and bool((queries == candidates).all())
    overlap = bool(np.isin(queries, candidates).any())
    if both and not same:
        forth, back = mutual_neighbors(rows, n_neighbors, queries, candidates)
        return forth, back
    n_found = min(n_neighbors, len(candidates) - overlap)
    return nearest_neighbors(rows, n_found, queries=queries, candidates=candidates), None


def _cuts(begin: Integers, places: slice) -> list[tuple[int, int, int]]:
    """The groups that a run of places meets, and from where to where within it."""
    ends = np.clip(begin, places.start, places.stop) - places.start
    return [
        (group, int(ends[group]), int(ends[group + 1]))
        for group in np.flatnonzero(np.diff(ends)).tolist()
    ]


def _nearest_in_parts(
    rows: Any,
    places: tuple[Integers, Integers],
    cuts: list[tuple[int, int, int]],
    *,
    n_neighbors: int,
    grid: float,
) -> list[tuple[int, Floats, Integers]]:
    """Of each group that the candidates have, who is nearest to the queries by absolute
    differences, and how near on the grid.
    """
    queries, candidates = places
    found = []
    for group, start, stop in cuts:
        others, n_kept = candidates[start:stop], min(n_neighbors, stop - start)
        distances, near = (
            np.empty((len(queries), n_kept)),
            np.empty((len(queries), n_kept), dtype=np.int64),
        )
        step = max(1, TEMPORARY_ELEMENTS // len(others))
        for first in range(0, len(queries), step):
            here = slice(first, first + step)
            on_grid = np.rint(absolute_distances(rows[queries[here]], rows[others]) / grid)
            on_grid[queries[here][:, None] == others] = np.inf
            near[here] = smallest_columns(on_grid, n_kept)
            distances[here] = np.take_along_axis(on_grid, near[here], axis=1)
        found.append((int(group), distances, start + near))
    return found


def _in_order_of_places(places: Integers) -> NDArray[np.int32]:
    """Each list by places, −1 last where there is nobody left."""
    ordered = np.sort(places, axis=1)
    return np.where(ordered == NOBODY, -1, ordered).astype(np.int32)


def _merge(
    found: tuple[Integers, Floats], group: slice, rows: Integers, more: tuple[Integers, Floats]
) -> None:
    """Keep the nearest of those found so far and of more, ties by lower index."""
    _keep_first(found, group, (rows[more[0]], more[1]))


def _keep_first(
    found: tuple[Integers, Floats], group: slice, more: tuple[Integers, Floats]
) -> None:
    indices = np.concatenate([found[0][group], more[0]], axis=1)
    distances = np.concatenate([found[1][group], more[1]], axis=1)
    indices[np.isinf(distances)] = NOBODY  # who must stay behind everybody
    order = np.lexsort((indices, distances), axis=1)[:, : found[0].shape[1]]
    found[0][group], found[1][group] = (
        np.take_along_axis(indices, order, axis=1),
        np.take_along_axis(distances, order, axis=1),
    )


def _squares_of_columns(piece: Floats, near: Integers) -> Floats:
    """What some columns add to the squared distances of every row to those in its list."""
    piece = np.ascontiguousarray(piece)
    found, (n_samples, n_near) = np.empty(near.shape), near.shape
    for start in range(0, n_samples, ROWS_AT_ONCE):
        here = slice(start, min(start + ROWS_AT_ONCE, n_samples))
        mine = np.repeat(np.arange(here.start, here.stop), n_near)
        found[here] = squared_distances(piece, mine, near[here].astype(np.int64).ravel()).reshape(
            -1, n_near
        )
    return found


def _first_in_lists(
    near: NDArray[Any], squared: Floats, n_neighbors: int
) -> tuple[Integers, Floats]:
    """The nearest in every list, ties by lower index."""
    found = np.empty((len(near), n_neighbors), dtype=np.int64), np.empty((len(near), n_neighbors))
    for start in range(0, len(near), ROWS_AT_ONCE):
        here = slice(start, start + ROWS_AT_ONCE)
        order = np.lexsort((near[here], squared[here]), axis=1)[:, :n_neighbors]
        found[0][here] = np.take_along_axis(near[here], order, axis=1)
        found[1][here] = np.take_along_axis(squared[here], order, axis=1)
    return found


def _columnwise(piece: Any) -> Any:
    return sp.csc_array(piece) if sp.issparse(piece) else piece

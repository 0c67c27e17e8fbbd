"""Nearest neighbours among rows that are read in pieces.

The rows are divided into groups. Each pair of groups is searched as if it were the whole table,
and the results are merged. Distances and ties are those of the search in memory.

Approximate neighbours come from a sketch, which fits into memory. The sketch projects the rows onto
the directions in which a sample of them varies most. The distances to the neighbours found there
are computed on the table itself.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError
from graphsieve._base.parameters import remedy, setting
from graphsieve._kernels.column_sums import TEMPORARY_ELEMENTS
from graphsieve.graphs.neighbors import approximate, exact
from graphsieve.graphs.neighbors.approximate import drawn_rows
from graphsieve.graphs.neighbors.exact import absolute_distances, smallest_columns
from graphsieve.table.stored.pieces import itself
from graphsieve.table.stored.stored_rows import StoredRows, fetched_rows

SKETCH_WIDTH, SKETCH_SAMPLE = 64, 4096  # directions of a sketch, and rows from which they are found
# Of a number in the sketch, with the copies that the search makes; together they may take the
# memory
SKETCH_BYTES = 16
# Times as many neighbours are looked for in a sketch as are wanted, and how many at most
PROPOSED, MOST_PROPOSED = 3, 96
ROWS_AT_ONCE = 2**15  # measured together
ABSOLUTE_WORK = 64  # times as long as by products it takes to compare rows by absolute differences
NOBODY = np.iinfo(np.int64).max  # a position behind all others
EXACT_PER_HOUR = 60 * 2**43  # rows² × columns in an hour on two cores, as for a table in memory


def nearest_neighbors(
    rows: StoredRows, n_neighbors: int, queries: Integers | None, candidates: Integers | None
) -> tuple[Integers, Floats]:
    """As `exact.nearest_neighbors`, by pairs of groups of rows.

    If all rows are searched for all rows, a pair serves both sides.
    """
    everyone, both = np.arange(rows.shape[0]), queries is None and candidates is None
    queries = everyone if queries is None else queries
    candidates = everyone if candidates is None else np.sort(candidates)
    found = (
        np.full((len(queries), n_neighbors), -1, dtype=np.int64),
        np.full((len(queries), n_neighbors), np.inf),
    )
    if not len(queries) or not n_neighbors:
        return found
    refuse_hours(rows, len(queries) * len(candidates))
    mine, theirs = (
        _groups(rows, len(queries), n_neighbors),
        _groups(rows, len(candidates), n_neighbors),
    )
    pairs = [
        (one, other) for one in range(len(mine)) for other in range(one if both else 0, len(theirs))
    ]
    # With itself it is half the work: last
    pairs.sort(key=lambda pair: both and pair[0] == pair[1])
    ends = [(queries[mine[one]], candidates[theirs[other]]) for one, other in pairs]
    together = [np.union1d(*pair) for pair in ends]
    places = [
        tuple(np.searchsorted(members, end) for end in pair)
        for members, pair in zip(together, ends, strict=True)
    ]
    work = partial(_nearest_between, n_neighbors=n_neighbors, both=both)
    answers = rows.pieces.over_rows(together, work, places)
    for (one, other), members, (forth, back) in zip(pairs, together, answers, strict=True):
        _merge(found, mine[one], members, forth)
        if back is not None:
            _merge(found, theirs[other], members, back)
    return found


def _groups(rows: StoredRows, length: int, n_neighbors: int) -> list[slice]:
    """Runs of so many rows that two of them fit into memory, and so many that each has
    enough neighbours within one.
    """
    fitting = max(n_neighbors + 1, rows.pieces.fitting_rows(0.5))
    n_runs = max(
        1, min(max(-(-length // fitting), rows.pieces.at_once), length // (n_neighbors + 1))
    )
    borders = [length * place // n_runs for place in range(n_runs + 1)]
    return [slice(*ends) for ends in pairwise(borders)]


def refuse_hours(rows: StoredRows, n_pairs: int) -> None:
    hours = (
        n_pairs
        * rows.shape[1]
        * rows.pieces.density
        / EXACT_PER_HOUR
        * 2
        / max(2, rows.pieces.at_once)
    )
    if hours > rows.hours:
        raise InputError(
            f"an exact search for neighbours among {n_pairs:,} pairs of rows would take "
            f"about {hours:,.0f} hours; pass ",
            remedy("neighbors", "approximate"),
            ", or ",
            remedy("compress", "kmeans"),
            " to a sieve, or wait: graphsieve.stored(X, hours=…).",
        )


def nearest_in_groups(
    rows: StoredRows, order: Integers, begin: Integers, n_neighbors: int, grid: float
) -> list[NDArray[np.int32]]:
    """As `manhattan.nearest_in_groups` on the rows in the given order, by pairs of runs of
    them.
    """
    n_rows, sizes = len(order), np.diff(begin)
    refuse_hours(rows, ABSOLUTE_WORK * n_rows**2)
    runs_of_places = _groups(rows, n_rows, n_neighbors)
    kept = [min(n_neighbors, int(size)) for size in sizes]
    found = [
        (np.full((n_rows, k), NOBODY, dtype=np.int64), np.full((n_rows, k), np.inf)) for k in kept
    ]
    pairs = [(mine, theirs) for mine in runs_of_places for theirs in runs_of_places]
    together = [np.union1d(order[mine], order[theirs]) for mine, theirs in pairs]
    ends = [
        (np.searchsorted(members, order[mine]), np.searchsorted(members, order[theirs]))
        for members, (mine, theirs) in zip(together, pairs, strict=True)
    ]
    cuts = [_cuts(begin, theirs) for _, theirs in pairs]
    work = partial(_nearest_in_parts, n_neighbors=n_neighbors, grid=grid)
    answers = rows.pieces.over_rows(together, work, ends, cuts)
    for (mine, theirs), parts in zip(pairs, answers, strict=True):
        for group, distances, places in parts:
            more = np.where(np.isinf(distances), NOBODY, theirs.start + places), distances
            _keep_first(found[group], mine, more)
    return [_in_order_of_places(places) for places, _ in found]


def squared_distances(rows: StoredRows, first: Integers, second: Integers) -> Floats:
    """As `exact.squared_distances`, so many pairs at a time as the rows of which fit into memory."""
    result = np.empty(len(first))
    step = max(1, rows.pieces.fitting_rows() // 2)
    for start in range(0, len(first), step):
        part = slice(start, start + step)
        members = np.union1d(first[part], second[part])
        ends = [np.searchsorted(members, side[part]) for side in (first, second)]
        work = exact.squared_distances
        result[part] = next(iter(rows.pieces.over_rows([members], work, [ends[0]], [ends[1]])))
    return result


def approximate_neighbors(rows: StoredRows, n_neighbors: int) -> tuple[Integers, Floats]:
    """As `approximate.approximate_neighbors`: proposed by a sketch of the rows, measured on the rows
    themselves.
    """
    if rows.turned:
        raise InputError(
            setting("neighbors", "approximate"),
            " compares rows as they are, not by cosine; pass ",
            remedy("metric", "euclidean"),
            ".",
        )
    sketch, faithful = _sketch(rows)
    if faithful:
        return approximate.approximate_neighbors(sketch, n_neighbors)
    near = approximate.approximate_neighbors(
        sketch, max(n_neighbors, min(PROPOSED * n_neighbors, MOST_PROPOSED))
    )[0]
    del sketch
    # Long lists of short numbers
    near = near.astype(np.min_scalar_type(-rows.shape[0]), copy=False)
    squared = np.zeros(near.shape)
    for part in rows.pieces.over_columns(
        rows.pieces.column_groups(share=0.5), _squares_of_columns, shared=(near,)
    ):
        squared += part
        del part
    return _first_in_lists(near, squared, n_neighbors)


def _sketch(rows: StoredRows) -> tuple[Floats, bool]:
    """The rows along some directions, and whether these are all that there are."""
    n_samples, n_features = rows.shape
    width = min(SKETCH_WIDTH, max(2, rows.pieces.memory // (SKETCH_BYTES * n_samples)))
    groups = rows.pieces.row_groups()
    if n_features <= width:
        return np.concatenate(list(rows.pieces.over_rows(groups, itself))), True
    n_drawn = min(SKETCH_SAMPLE, max(4 * width, rows.pieces.fitting_rows()))
    sample = fetched_rows(rows.pieces, drawn_rows(n_samples, n_drawn, seed=5))
    center = sample.mean(axis=0)
    directions = randomized_svd(sample - center, width, random_state=0)[2].T
    along = rows.pieces.over_rows(groups, _along, shared=(center, np.ascontiguousarray(directions)))
    return np.concatenate(list(along)), False


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
        forth, back = exact.mutual_neighbors(rows, n_neighbors, queries, candidates)
        return forth, back
    n_found = min(n_neighbors, len(candidates) - overlap)
    return exact.nearest_neighbors(rows, n_found, queries=queries, candidates=candidates), None


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
        found[here] = exact.squared_distances(
            piece, mine, near[here].astype(np.int64).ravel()
        ).reshape(-1, n_near)
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

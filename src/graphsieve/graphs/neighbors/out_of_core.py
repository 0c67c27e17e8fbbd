"""Out-of-core nearest neighbours, for rows that are read in pieces.

The rows are divided into groups. Each pair of groups is searched as if it were the whole table,
and the results are merged. Distances and ties are the same as in the search in memory.

Approximate neighbours come from a sketch that fits into memory. The sketch projects the rows onto
the directions in which a random subset of them varies most. The distances to the neighbours found
in the sketch are computed on the table itself.
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
from graphsieve.graphs.neighbors import approximate, exact, with_gaps
from graphsieve.graphs.neighbors.approximate import drawn_rows
from graphsieve.graphs.neighbors.exact import absolute_distances, smallest_columns
from graphsieve.table.gaps import RowsWithGaps
from graphsieve.table.stored.pieces import itself
from graphsieve.table.stored.stored_rows import StoredRows, fetched_rows

SKETCH_WIDTH, SKETCH_SAMPLE = 64, 4096  # directions of a sketch, and rows used to find them
# Bytes per number of the sketch, including the copies made by the search. The sketch may fill the
# available memory.
SKETCH_BYTES = 16
# The sketch proposes PROPOSED times the requested number of neighbours, up to MOST_PROPOSED.
PROPOSED, MOST_PROPOSED = 3, 96
ROWS_PER_STEP = 2**15  # rows compared with their candidates in one step
ABSOLUTE_WORK = 64  # cost of a Manhattan distance relative to a Euclidean distance by products
NO_INDEX = np.iinfo(np.int64).max  # sorts after all valid indices
WORK_PER_HOUR = 60 * 2**43  # pairs of rows × columns per hour on two cores, as for tables in memory


def nearest_neighbors(
    rows: StoredRows, n_neighbors: int, queries: Integers | None, candidates: Integers | None
) -> tuple[Integers, Floats]:
    """Return the result of `exact.nearest_neighbors`, computed by pairs of groups of rows.

    If queries and candidates are all rows, each pair of groups is searched once for both
    directions.
    """
    all_rows, symmetric = np.arange(rows.shape[0]), queries is None and candidates is None
    queries = all_rows if queries is None else queries
    candidates = all_rows if candidates is None else np.sort(candidates)
    found = (
        np.full((len(queries), n_neighbors), -1, dtype=np.int64),
        np.full((len(queries), n_neighbors), np.inf),
    )
    if not len(queries) or not n_neighbors:
        return found
    refuse_hours(rows, len(queries) * len(candidates))
    query_groups, candidate_groups = (
        _groups(rows, len(queries), n_neighbors),
        _groups(rows, len(candidates), n_neighbors),
    )
    pairs = [
        (one, other)
        for one in range(len(query_groups))
        for other in range(one if symmetric else 0, len(candidate_groups))
    ]
    # A group paired with itself is half the work. Such pairs come last, to balance the workers.
    pairs.sort(key=lambda pair: symmetric and pair[0] == pair[1])
    ends = [
        (queries[query_groups[one]], candidates[candidate_groups[other]]) for one, other in pairs
    ]
    row_sets = [np.union1d(*pair) for pair in ends]
    places = [
        tuple(np.searchsorted(members, end) for end in pair)
        for members, pair in zip(row_sets, ends, strict=True)
    ]
    work = partial(_nearest_between, n_neighbors=n_neighbors, symmetric=symmetric)
    answers = rows.pieces.over_rows(row_sets, work, places)
    for (one, other), members, (forward, backward) in zip(pairs, row_sets, answers, strict=True):
        _merge(found, query_groups[one], members, forward)
        if backward is not None:
            _merge(found, candidate_groups[other], members, backward)
    found[0][np.isinf(found[1])] = 0  # Samples that share no feature are not neighbours.
    return found


def _groups(rows: StoredRows, length: int, n_neighbors: int) -> list[slice]:
    """Divide rows into runs of consecutive rows.

    Two runs fit into memory together. Each run has enough rows for `n_neighbors` neighbours within
    it.
    """
    fitting = max(n_neighbors + 1, rows.pieces.fitting_rows(0.5))
    n_runs = max(
        1, min(max(-(-length // fitting), rows.pieces.at_once), length // (n_neighbors + 1))
    )
    borders = [length * place // n_runs for place in range(n_runs + 1)]
    return [slice(*ends) for ends in pairwise(borders)]


def refuse_hours(rows: StoredRows, n_pairs: int) -> None:
    """Raise an error if an exact search would exceed the time limit of the stored table."""
    hours = (
        n_pairs
        * rows.shape[1]
        * rows.pieces.density
        / WORK_PER_HOUR
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
            " to a sieve, or raise the limit with graphsieve.stored(X, hours=…).",
        )


def nearest_in_groups(
    rows: StoredRows, order: Integers, begin: Integers, n_neighbors: int, grid: float
) -> list[NDArray[np.int32]]:
    """Return the result of `manhattan.nearest_in_groups` on the rows in the given order.

    It is computed by pairs of runs of rows.
    """
    n_rows, sizes = len(order), np.diff(begin)
    refuse_hours(rows, ABSOLUTE_WORK * n_rows**2)
    runs_of_places = _groups(rows, n_rows, n_neighbors)
    kept = [min(n_neighbors, int(size)) for size in sizes]
    found = [
        (np.full((n_rows, k), NO_INDEX, dtype=np.int64), np.full((n_rows, k), np.inf)) for k in kept
    ]
    pairs = [
        (query_run, candidate_run)
        for query_run in runs_of_places
        for candidate_run in runs_of_places
    ]
    row_sets = [
        np.union1d(order[query_run], order[candidate_run]) for query_run, candidate_run in pairs
    ]
    ends = [
        (np.searchsorted(members, order[query_run]), np.searchsorted(members, order[candidate_run]))
        for members, (query_run, candidate_run) in zip(row_sets, pairs, strict=True)
    ]
    cuts = [_cuts(begin, candidate_run) for _, candidate_run in pairs]
    work = partial(_nearest_in_parts, n_neighbors=n_neighbors, grid=grid)
    answers = rows.pieces.over_rows(row_sets, work, ends, cuts)
    for (query_run, candidate_run), parts in zip(pairs, answers, strict=True):
        for group, distances, places in parts:
            more = np.where(np.isinf(distances), NO_INDEX, candidate_run.start + places), distances
            _keep_first(found[group], query_run, more)
    return [_in_order_of_places(places) for places, _ in found]


def squared_distances(rows: StoredRows, first: Integers, second: Integers) -> Floats:
    """Return the result of `exact.squared_distances`.

    The pairs are processed in blocks for which the rows fit into memory.
    """
    result = np.empty(len(first))
    step = max(1, rows.pieces.fitting_rows() // 2)
    for start in range(0, len(first), step):
        part = slice(start, start + step)
        members = np.union1d(first[part], second[part])
        ends = [np.searchsorted(members, side[part]) for side in (first, second)]
        work = with_gaps.squared_distances if rows.with_gaps else exact.squared_distances
        result[part] = next(iter(rows.pieces.over_rows([members], work, [ends[0]], [ends[1]])))
    return result


def approximate_neighbors(rows: StoredRows, n_neighbors: int) -> tuple[Integers, Floats]:
    """Find approximate neighbours of all rows, as `approximate.approximate_neighbors` does.

    Candidates come from a sketch of the rows. Their distances are computed on the rows themselves.
    """
    if rows.turned:
        raise InputError(
            setting("neighbors", "approximate"),
            " does not support cosine distances for stored tables; pass ",
            remedy("metric", "euclidean"),
            ".",
        )
    sketch, is_exact = _sketch(rows)
    if is_exact:
        return approximate.approximate_neighbors(sketch, n_neighbors)
    near = approximate.approximate_neighbors(
        sketch, max(n_neighbors, min(PROPOSED * n_neighbors, MOST_PROPOSED))
    )[0]
    del sketch
    # The lists are long, so the smallest integer type saves memory.
    near = near.astype(np.min_scalar_type(-rows.shape[0]), copy=False)
    squared = np.zeros(near.shape)
    for part in rows.pieces.over_columns(
        rows.pieces.column_groups(share=0.5), _squares_of_columns, shared=(near,)
    ):
        squared += part
        del part
    return _first_in_lists(near, squared, n_neighbors)


def _sketch(rows: StoredRows) -> tuple[Floats, bool]:
    """Project the rows onto a few directions.

    The second result is true if the sketch contains the rows unchanged, because they have few
    columns.
    """
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
    rows: Any, places: tuple[Integers, Integers], *, n_neighbors: int, symmetric: bool
) -> tuple[Any, Any]:
    """Find the nearest rows at the second places for the rows at the first places.

    In a symmetric search, the second result contains the opposite direction. It is None otherwise,
    and for a group paired with itself.
    """
    queries, candidates = places
    identical = len(queries) == len(candidates) and bool((queries == candidates).all())
    overlap = bool(np.isin(queries, candidates).any())
    if symmetric and not identical and not isinstance(rows, RowsWithGaps):
        forward, backward = exact.mutual_neighbors(rows, n_neighbors, queries, candidates)
        return forward, backward
    n_found = min(n_neighbors, len(candidates) - overlap)
    if isinstance(rows, RowsWithGaps):
        found = with_gaps.nearest_neighbors(rows, n_found, queries, candidates)
        if not symmetric or identical:
            return found, None
        n_back = min(n_neighbors, len(queries))
        return found, with_gaps.nearest_neighbors(rows, n_back, candidates, queries)
    return exact.nearest_neighbors(rows, n_found, queries=queries, candidates=candidates), None


def _cuts(begin: Integers, places: slice) -> list[tuple[int, int, int]]:
    """Return the groups that overlap a run of places, with the start and end of each overlap."""
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
    """Find the nearest candidates of the queries by Manhattan distance, separately for each group.

    The result contains, for every group among the candidates, the distances in units of `grid` and
    the positions of the nearest candidates.
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
            distances_here = (
                with_gaps.absolute_distances(rows, queries[here], others)
                if isinstance(rows, RowsWithGaps)
                else absolute_distances(rows[queries[here]], rows[others])
            )
            on_grid = np.rint(distances_here / grid)
            on_grid[queries[here][:, None] == others] = np.inf
            near[here] = smallest_columns(on_grid, n_kept)
            distances[here] = np.take_along_axis(on_grid, near[here], axis=1)
        found.append((int(group), distances, start + near))
    return found


def _in_order_of_places(places: Integers) -> NDArray[np.int32]:
    """Sort each list of places; missing neighbours become −1 and come last."""
    ordered = np.sort(places, axis=1)
    return np.where(ordered == NO_INDEX, -1, ordered).astype(np.int32)


def _merge(
    found: tuple[Integers, Floats], group: slice, rows: Integers, more: tuple[Integers, Floats]
) -> None:
    """Merge further neighbours into those found so far; ties are broken by the lower index."""
    _keep_first(found, group, (rows[more[0]], more[1]))


def _keep_first(
    found: tuple[Integers, Floats], group: slice, more: tuple[Integers, Floats]
) -> None:
    indices = np.concatenate([found[0][group], more[0]], axis=1)
    distances = np.concatenate([found[1][group], more[1]], axis=1)
    indices[np.isinf(distances)] = NO_INDEX  # missing neighbours stay last
    order = np.lexsort((indices, distances), axis=1)[:, : found[0].shape[1]]
    found[0][group], found[1][group] = (
        np.take_along_axis(indices, order, axis=1),
        np.take_along_axis(distances, order, axis=1),
    )


def _squares_of_columns(piece: Floats, near: Integers) -> Floats:
    """Compute the share of some columns in the squared distances of each row to its candidates."""
    piece = np.ascontiguousarray(piece)
    found, (n_samples, n_near) = np.empty(near.shape), near.shape
    for start in range(0, n_samples, ROWS_PER_STEP):
        here = slice(start, min(start + ROWS_PER_STEP, n_samples))
        owners = np.repeat(np.arange(here.start, here.stop), n_near)
        found[here] = exact.squared_distances(
            piece, owners, near[here].astype(np.int64).ravel()
        ).reshape(-1, n_near)
    return found


def _first_in_lists(
    near: NDArray[Any], squared: Floats, n_neighbors: int
) -> tuple[Integers, Floats]:
    """Return the nearest candidates of every list; ties are broken by the lower index."""
    found = np.empty((len(near), n_neighbors), dtype=np.int64), np.empty((len(near), n_neighbors))
    for start in range(0, len(near), ROWS_PER_STEP):
        here = slice(start, start + ROWS_PER_STEP)
        order = np.lexsort((near[here], squared[here]), axis=1)[:, :n_neighbors]
        found[0][here] = np.take_along_axis(near[here], order, axis=1)
        found[1][here] = np.take_along_axis(squared[here], order, axis=1)
    return found

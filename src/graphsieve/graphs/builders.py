"""Construction of graphs from the features and the supervision.

Every builder with heat kernel weights exp(−d²/t) subtracts the smallest d² first. All scores are
ratios that do not depend on the scale of the weights, so the scores do not change. The subtraction
ensures that the weights of a graph cannot all underflow to zero for a small t. `bandwidth=None`
means that t is the mean d² of the edges with d² > 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.errors import warn
from graphsieve._base.parameters import setting
from graphsieve._base.threads import available_threads, in_threads
from graphsieve._kernels.rounds import list_links
from graphsieve.graphs.graph import (
    BandGraph,
    CrossGraph,
    Edges,
    FactorGraph,
    Graph,
    SparseGraph,
    StreamedGraph,
    lifted,
)
from graphsieve.graphs.neighbors.exact import TargetRuns, largest_tie, target_runs
from graphsieve.graphs.neighbors.nearest import nearest_in, squared_distances
from graphsieve.graphs.neighbors.strategy import once
from graphsieve.supervision.parsing import all_known
from graphsieve.supervision.value import Supervision
from graphsieve.table.blocks import LARGEST_EXPONENT
from graphsieve.table.columns import Table
from graphsieve.table.gaps import RowsWithGaps
from graphsieve.table.stored.stored_rows import StoredRows
from graphsieve.table.sums import group_weightings

# Largest difference between the exponents of targets and features; larger ones are reduced to it
FARTHEST_APART = 400
EDGES_KEPT = 2**21  # stored pairs of equal labels; more pairs are generated on the fly
EDGES_PER_CHUNK = 2**19
MANY_EDGES = 2**20  # edges from which several threads compute the weights
EDGES_IN_CACHE = 2**15  # edges that a thread processes in one step
# Up to this number of neighbours, a linear search finds mutual neighbours. In longer lists, sorting
# is faster.
FEW_NEIGHBORS = 32
EFFECTIVE_EDGES_PER_SAMPLE = 0.1  # below this, a few edges dominate the graph


@dataclass(frozen=True)
class Neighborhood:
    """A graph with the number of neighbours and the bandwidth used to build it."""

    graph: Graph
    n_neighbors: int
    bandwidth: float


def neighbor_graph(
    table: Table, n_neighbors: int, bandwidth: float | None, *, not_between: Integers | None = None
) -> Neighborhood:
    """Build the graph of the k nearest neighbours in the space of all features.

    Two samples are linked if either is among the k nearest neighbours of the other. With
    `not_between`, edges between two samples that both have a code ≥ 0 are dropped.
    """
    if table.compressed is not None:
        small = table.compressed
        codes = None if not_between is None else small.known.codes
        return _lifted(
            neighbor_graph(small.table, n_neighbors, bandwidth, not_between=codes), small
        )
    key = (n_neighbors, bandwidth, None if not_between is None else not_between.tobytes())
    build = partial(
        _neighbor_graph, n_neighbors=n_neighbors, bandwidth=bandwidth, not_between=not_between
    )
    found: Neighborhood = once(table, ("neighbor graph", *key), build)
    return found


def _neighbor_graph(
    table: Table, *, n_neighbors: int, bandwidth: float | None, not_between: Integers | None
) -> Neighborhood:
    k = capped_neighbors(n_neighbors, table.n_samples)
    exponent = table.rows[1]
    first, second, squared = union(
        *nearest_in(table, k, None, None), np.arange(table.n_samples), table.n_samples
    )
    weights, used = heat_weights(squared, bandwidth, exponent=exponent)
    warn_if_few_edges(weights, table.n_samples)
    graph = SparseGraph.of_distinct(table.n_samples, first, second, weights)
    if not_between is not None:
        graph = graph.keep((not_between[graph.first] < 0) | (not_between[graph.second] < 0))
    return Neighborhood(graph, k, used)


def _lifted(near: Neighborhood, small: Any) -> Neighborhood:
    """Extend a graph of kept samples and prototypes to all samples that they represent."""
    return replace(near, graph=lifted(near.graph, small.member))


def target_graph(target: Floats, n_neighbors: int, bandwidth: float | None) -> Neighborhood:
    """Build the graph of the k nearest neighbours along a continuous target or several.

    Two samples are linked if either is among the k nearest neighbours of the other, including all
    tied samples. Samples with equal targets form a complete block, stored as a low-rank graph.
    """
    k = capped_neighbors(n_neighbors, len(target))
    scaled, exponent = _scaled_target(target)
    runs = target_runs(scaled, k)
    has_blocks = len(runs.size) < len(target)
    band = None if has_blocks else runs.band()
    if band is not None:
        weights, used = heat_weights(band[1], bandwidth, exponent=exponent, overwrite=True)
        warn_if_few_edges(weights, len(target))
        return Neighborhood(BandGraph(runs.order, band[0], weights), k, used)
    first, second, squared = runs.sample_pairs()
    smallest = 0.0 if has_blocks else None
    weights, used = heat_weights(
        squared, bandwidth, exponent=exponent, smallest=smallest, overwrite=True
    )
    graph: Graph = SparseGraph.of_distinct(len(target), first, second, weights)
    if has_blocks:
        graph = graph + _equal_target_graph(runs, 1.0)
    else:
        warn_if_few_edges(weights, len(target))
    return Neighborhood(graph, k, used)


def partly_known_target_graph(
    table: Table, target: Floats, n_neighbors: int, bandwidth: float | None, label_weight: float
) -> Neighborhood:
    """Build the neighbour graph for a partly known target (SSLS, Eq. 10–11).

    The distance of two samples is the squared difference of their targets if both are known.
    Otherwise it is the mean squared difference of their features.

    Two searches give the exact graph. The neighbours of an unlabelled sample are searched among all
    samples in X. The neighbours of a labelled sample are merged from its k nearest unlabelled
    samples in X and its nearest labelled samples along the target. At the distance of the k-th
    neighbour, all tied labelled samples are kept. Tied unlabelled samples only fill the remaining
    places.
    """
    if table.compressed is not None:
        small = table.compressed
        return _lifted(
            partly_known_target_graph(
                small.table, small.known.targets, n_neighbors, bandwidth, label_weight
            ),
            small,
        )
    n = table.n_samples
    k = capped_neighbors(n_neighbors, n)
    labeled = all_known(target)
    known, unknown = np.flatnonzero(labeled), np.flatnonzero(~labeled)
    row_exponent = table.rows[1]
    scaled, target_exponent = _scaled_target(target[known])
    row_exponent, target_exponent = comparable(
        row_exponent, target_exponent if scaled.any() else row_exponent, bandwidth
    )
    # Exponent of the unit in which distances of targets and of features are compared
    exponent = (row_exponent + target_exponent) // 2

    def mean_squares(squared: Floats) -> Floats:
        found = _in_original_units(squared / table.n_compared, row_exponent - exponent)
        return np.where(np.isinf(squared), np.inf, found)

    near, squared = nearest_in(table, k, unknown, None)
    parts = [union(near, mean_squares(squared), unknown, n)]
    blocks = None
    if len(known):
        near, squared = nearest_in(table, min(k, len(unknown)), known, unknown)
        runs = target_runs(scaled, k)
        parts += merge_labeled(
            known, runs, target_exponent - exponent, near, mean_squares(squared), k=k
        )
        if (runs.size > 1).any():
            blocks = runs
    joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
    shared = np.isfinite(joined[2])  # Samples without a shared feature are not neighbours.
    one, other, lengths = (column[shared] for column in joined)
    first, second, lengths = _distinct(one, other, lengths, n)
    weights, used = heat_weights(
        lengths, bandwidth, exponent=exponent, smallest=None if blocks is None else 0.0
    )
    weights = np.where(labeled[first] & labeled[second], label_weight * weights, weights)
    graph: Graph = SparseGraph.of_distinct(n, first, second, weights)
    if blocks is not None:
        graph = graph + _equal_target_graph(blocks, label_weight, known, n)
    else:
        warn_if_few_edges(weights, n)
    return Neighborhood(graph, k, used)


def group_graph(codes: Integers, weight: float = 1.0) -> FactorGraph:
    """Build the low-rank graph of all pairs of samples with the same code ≥ 0."""
    return FactorGraph(group_weightings(codes, int(codes.max()) + 1) * np.sqrt(weight))


def apart_graph(codes: Integers) -> CrossGraph:
    """Build the low-rank graph of all pairs of samples with different codes ≥ 0, with weights 1."""
    return CrossGraph(group_weightings(codes, int(codes.max()) + 1))


def pair_graph(n_samples: int, pairs: Integers, weights: Floats | None = None) -> SparseGraph:
    """Build the graph of the given distinct pairs."""
    return SparseGraph(n_samples, pairs[:, 0], pairs[:, 1], weights)


def constrained_neighbor_graph(
    table: Table,
    known: Supervision,
    n_neighbors: int,
    bandwidth: float | None,
    *,
    cut_cannot_link: bool,
) -> Neighborhood:
    """Build the union of the neighbour graph in X and the must-link pairs (CLS, Eq. 5).

    All edges have heat kernel weights. Two samples with equal labels are a must-link pair. If there
    are many pairs of equal labels, they are generated on the fly. With `cut_cannot_link`, edges of
    the neighbour graph between cannot-link pairs and between different labels are dropped.
    """
    if table.compressed is not None:
        small = table.compressed
        return _lifted(
            constrained_neighbor_graph(
                small.table, small.known, n_neighbors, bandwidth, cut_cannot_link=cut_cannot_link
            ),
            small,
        )
    n, codes = table.n_samples, known.codes
    k = capped_neighbors(n_neighbors, n)
    rows, exponent = table.rows
    first, second, squared = union(*nearest_in(table, k, None, None), np.arange(n), n)
    if cut_cannot_link:
        kept = ~_contains(known.cannot_link, first, second, n) & ~_labeled_apart(
            codes, first, second
        )
        first, second, squared = first[kept], second[kept], squared[kept]
    low, high = known.must_link[:, 0], known.must_link[:, 1]
    first, second = np.concatenate([first, low]), np.concatenate([second, high])
    squared = np.concatenate([squared, squared_distances(rows, low, high)])
    # Pairs of equal labels are added below, so they are dropped here to occur only once.
    kept = ~_labeled_alike(codes, first, second) & np.isfinite(squared)
    first, second, squared = _distinct(first[kept], second[kept], squared[kept], n)

    keep = count_same_code_pairs(codes) <= EDGES_KEPT
    if keep:
        parts = [(first, second, squared), *same_code_distances(rows, codes)]
        first, second, squared = (np.concatenate(column) for column in zip(*parts, strict=True))
    smallest, mean = squared.min(initial=np.inf), _MeanLength()
    mean.add(squared)
    if not keep:
        for _, _, lengths in same_code_distances(rows, codes):
            smallest = min(smallest, lengths.min(initial=np.inf))
            mean.add(lengths)
    scaled_bandwidth = mean.value if bandwidth is None else in_scaled_units(bandwidth, exponent)
    weights = _heat(squared, smallest, scaled_bandwidth)
    graph: Graph = SparseGraph(n, first, second, weights)
    if keep:
        warn_if_few_edges(weights, n)
    else:
        graph = graph + StreamedGraph(
            n, lambda: _heat_edges(rows, codes, smallest, scaled_bandwidth)
        )
    used = (
        bandwidth
        if bandwidth is not None
        else float(_in_original_units(np.asarray(scaled_bandwidth), exponent))
    )
    return Neighborhood(graph, k, used)


def _heat_edges(rows: Any, codes: Integers, smallest: float, bandwidth: float) -> Iterator[Edges]:
    for one, other, squared in same_code_distances(rows, codes):
        yield one, other, _heat(squared, smallest, bandwidth)


def same_code_distances(rows: Any, codes: Integers) -> Iterator[Edges]:
    """Yield all pairs of samples with the same code ≥ 0 in chunks, with their squared distances.

    Each pair occurs once.
    """
    # Stored rows are read into memory one code at a time.
    if isinstance(rows, StoredRows):
        for code in np.unique(codes[codes >= 0]):
            members = np.flatnonzero(codes == code)
            for one, other, squared in same_code_distances(
                rows[members], np.zeros(len(members), dtype=np.int64)
            ):
                yield members[one], members[other], squared
        return
    if sp.issparse(rows) or isinstance(rows, RowsWithGaps):
        for one, other in same_code_pairs(codes):
            squared = squared_distances(rows, one, other)
            shared = np.isfinite(squared)
            yield one[shared], other[shared], squared[shared]
        return
    for code in np.unique(codes[codes >= 0]):
        members = np.flatnonzero(codes == code)
        step = max(1, EDGES_PER_CHUNK // len(members))
        for start in range(0, len(members), step):
            here, later = members[start : start + step], members[start:]
            row, column = np.triu_indices(len(here), k=1, m=len(later))
            yield (
                here[row],
                later[column],
                cdist(rows[here], rows[later], "sqeuclidean")[row, column],
            )


def same_code_pairs(codes: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Yield all pairs of samples with the same code ≥ 0 in chunks; each pair occurs once."""
    order = np.argsort(codes, kind="stable")
    order = order[codes[order] >= 0]
    sorted_codes = codes[order]
    # The sample at position a is paired with all later positions up to the end of its group.
    end = np.searchsorted(sorted_codes, sorted_codes, side="right")
    partners = end - np.arange(len(order)) - 1
    total = np.concatenate([[0], np.cumsum(partners)])
    start = 0
    while start < len(order):
        stop = int(np.searchsorted(total, total[start] + EDGES_PER_CHUNK, side="right")) - 1
        stop = min(max(stop, start + 1), len(order))
        places = np.arange(start, stop)
        one = np.repeat(places, partners[places])
        other = (
            one
            + 1
            + np.arange(len(one))
            - np.repeat(total[places] - total[start], partners[places])
        )
        if len(one):
            yield order[one], order[other]
        start = stop


def heat_weights(
    squared: Floats,
    bandwidth: float | None,
    *,
    exponent: int = 0,
    smallest: float | None = None,
    overwrite: bool = False,
) -> tuple[Floats, float]:
    """Compute heat kernel weights exp(−(d² − smallest d²)/t) and the bandwidth t.

    `squared` is in units of ``2**(2 * exponent)``, and t is in the original units.
    """
    least = float(squared.min(initial=np.inf)) if smallest is None else smallest
    if bandwidth is None:
        mean = _MeanLength()
        mean.add(squared)
        used = float(_in_original_units(np.asarray(mean.value), exponent))
        return _heat(squared, least, mean.value, overwrite=overwrite), used
    return _heat(
        squared, least, in_scaled_units(bandwidth, exponent), overwrite=overwrite
    ), bandwidth


def capped_neighbors(n_neighbors: int, n_samples: int) -> int:
    """Return `n_neighbors`, reduced to the number of samples minus one if necessary."""
    if n_neighbors < n_samples:
        return n_neighbors
    warn(
        setting("n_neighbors", n_neighbors),
        f" is lowered to {n_samples - 1}: there are only {n_samples} samples (or "
        "prototypes) to link.",
    )
    return n_samples - 1


def warn_if_few_edges(weights: Floats, n_samples: int) -> None:
    """Warn if a few edges have nearly all the weight, so that a score depends on few samples."""
    squares = float(weights @ weights)
    effective = float(weights.sum()) ** 2 / squares if squares else 0.0
    if n_samples > 2 and effective < EFFECTIVE_EDGES_PER_SAMPLE * n_samples:
        warn(
            f"the graph is uninformative: its {len(weights)} edges among {n_samples} samples have "
            f"the effect of only about {effective:.1f} equal edges, "
            "because the bandwidth is small compared with the distances; scale the features or "
            "raise the bandwidth."
        )


class _MeanLength:
    """Running mean of positive squared lengths; 1 if there are none."""

    def __init__(self) -> None:
        self._total, self._count = 0.0, 0

    def add(self, squared: Floats) -> None:
        positive = squared[squared > 0]
        self._total += float(positive.sum())
        self._count += len(positive)

    @property
    def value(self) -> float:
        return self._total / self._count if self._total > 0 else 1.0


def _heat(squared: Floats, smallest: float, bandwidth: float, *, overwrite: bool = False) -> Floats:
    """Compute heat kernel weights, in several threads if there are very many edges."""
    weights = squared if overwrite else np.empty_like(squared)
    if len(squared) < MANY_EDGES:
        fill_heat(squared, smallest, bandwidth, weights)
        return weights
    parts = [
        np.array_split(column, -(-len(column) // EDGES_IN_CACHE)) for column in (squared, weights)
    ]

    def work(places: Iterator[int]) -> None:
        for place in places:
            fill_heat(parts[0][place], smallest, bandwidth, parts[1][place])

    in_threads(work, range(len(parts[0])), available_threads())
    return weights


def fill_heat(squared: Floats, smallest: float, bandwidth: float, weights: Floats) -> None:
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        np.subtract(squared, smallest, out=weights)
        # A bandwidth can underflow to zero next to huge features. Only the shortest edges then
        # remain, as in the limit t → 0.
        if bandwidth == 0:
            weights[:] = weights == 0
            return
        weights /= -bandwidth
        np.exp(weights, out=weights)


def _in_original_units(squared: Floats, exponent: int) -> Floats:
    with np.errstate(over="ignore", under="ignore"):
        return np.minimum(np.ldexp(squared, 2 * exponent), np.finfo(np.float64).max)


def in_scaled_units(squared: float, exponent: int) -> float:
    """Convert a squared length, such as a bandwidth, to units of ``2**(2 * exponent)``.

    The result is infinite if it overflows.
    """
    try:
        return math.ldexp(squared, -2 * exponent)
    except OverflowError:
        return math.inf


def comparable(row_exponent: int, target_exponent: int, bandwidth: float | None) -> tuple[int, int]:
    """Bring two exponents close enough that squares of both fit into a common unit.

    Their position relative to the bandwidth is preserved. Edges far shorter than the bandwidth have
    weight 1, and edges far longer have weight 0. At a difference of half of `FARTHEST_APART`, these
    limits are already reached, so larger differences can be reduced to it. Without a bandwidth, the
    larger exponent does not change, because the mean length depends on it.
    """
    low, high = sorted((row_exponent, target_exponent))
    if high - low <= FARTHEST_APART:
        return row_exponent, target_exponent
    half = FARTHEST_APART // 2
    middle = high if bandwidth is None else math.frexp(bandwidth)[1] // 2
    middle = min(max(middle, low + half), high - half)
    near = (middle - half, middle + half)
    return near if row_exponent < target_exponent else near[::-1]


def _scaled_target(target: Floats) -> tuple[Floats, int]:
    exponent = int(np.frexp(np.abs(target).max(initial=0.0))[1])
    if abs(exponent) <= LARGEST_EXPONENT:  # same result as ldexp, but faster
        return target * np.ldexp(1.0, -exponent), exponent
    return np.ldexp(target, -exponent), exponent


def union(
    near: Integers, squared: Floats, queries: Integers, n_samples: int
) -> tuple[Integers, Integers, Floats]:
    """Return the distinct undirected edges of neighbour lists.

    Samples at an infinite distance, which share no observed column, are not neighbours.
    """
    if not np.isfinite(squared).all():
        query, place = np.nonzero(np.isfinite(squared))
        return _distinct(queries[query], near[query, place], squared[query, place], n_samples)
    if len(queries) == n_samples and near.shape[1] <= FEW_NEIGHBORS:
        more = ((0, 0), (0, 1))  # list_links ignores the last column
        first, second, squared = list_links(np.pad(near, more), np.pad(squared, more))
        low, high = np.minimum(first, second), np.maximum(first, second)
        order = np.argsort(low * n_samples + high)
        return low[order], high[order], squared[order]
    query = np.repeat(queries, near.shape[1])
    return _distinct(query, near.ravel(), squared.ravel(), n_samples)


def _distinct(
    first: Integers, second: Integers, squared: Floats, n_samples: int
) -> tuple[Integers, Integers, Floats]:
    key = np.minimum(first, second) * n_samples + np.maximum(first, second)
    key, where = np.unique(key, return_index=True)
    return key // n_samples, key % n_samples, squared[where]


def _equal_target_graph(
    runs: TargetRuns, weight: float, samples: Integers | None = None, n_samples: int | None = None
) -> FactorGraph:
    """Build the graph of complete blocks of samples with equal targets.

    If the target is only known for some samples, `samples` are their indices among all `n_samples`.
    """
    codes = np.where(runs.size > 1, np.cumsum(runs.size > 1) - 1, -1)[runs.run]
    if samples is not None and n_samples is not None:
        all_codes = np.full(n_samples, -1, dtype=np.int64)
        all_codes[samples] = codes
        codes = all_codes
    return group_graph(codes, weight)


def merge_labeled(
    known: Integers, runs: TargetRuns, exponent: int, near: Integers, squared: Floats, *, k: int
) -> list[tuple[Integers, Integers, Floats]]:
    """Return the edges of labelled samples, except those to samples with an equal target.

    Targets are in units of ``2**exponent`` of the features.
    """
    labeled = _in_original_units(runs.nearest_samples()[:, :k] ** 2, exponent)[runs.run]
    both = np.concatenate([labeled, squared], axis=1)
    reach = np.sqrt(np.partition(both, k - 1, axis=1)[:, k - 1])
    farthest = largest_tie(np.ldexp(runs.magnitude, exponent)[runs.run], reach)
    least, most = np.maximum(2 * reach - farthest, 0.0)[:, None] ** 2, farthest[:, None] ** 2
    # All unlabelled samples that are closer than the k-th neighbour are neighbours. Those at the
    # same distance fill the remaining places in the order of their indices.
    nearer, at_reach = squared < least, (squared >= least) & (squared <= most)
    places = k - (labeled <= most).sum(axis=1) - nearer.sum(axis=1)
    chosen = nearer | (at_reach & (np.cumsum(at_reach, axis=1) <= places[:, None]))
    query, column = np.nonzero(chosen)
    to_unlabeled = (known[query], near[query, column], squared[query, column])
    # Labelled neighbours with a different target enter as complete runs.
    query, run = runs.runs_within(runs.run, np.ldexp(farthest, -exponent))
    length = _in_original_units(runs.squared_gaps(run, runs.run[query]), exponent)
    member, owner = runs.members(run)
    to_labeled = (known[query[owner]], known[member], length[owner])
    return [to_unlabeled, to_labeled]


def _contains(pairs: Integers, first: Integers, second: Integers, n_samples: int) -> Booleans:
    key = np.minimum(first, second) * n_samples + np.maximum(first, second)
    return np.isin(key, pairs[:, 0] * n_samples + pairs[:, 1])


def _labeled_alike(codes: Integers, first: Integers, second: Integers) -> Booleans:
    return np.asarray((codes[first] == codes[second]) & (codes[first] >= 0))


def _labeled_apart(codes: Integers, first: Integers, second: Integers) -> Booleans:
    return np.asarray((codes[first] != codes[second]) & (codes[first] >= 0) & (codes[second] >= 0))


def count_same_code_pairs(codes: Integers) -> int:
    sizes = np.bincount(codes[codes >= 0])
    return int((sizes * (sizes - 1) // 2).sum())

"""Kernels for one round of the iterative search.

They update the nearest neighbours after features changed, list the links between neighbours, and
compute the sums for the scores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from graphsieve import _kernels
from graphsieve._base.array_types import Floats, Integers
from graphsieve._kernels.column_sums import TEMPORARY_ELEMENTS, plain_sums, weighted_rows

LANES = 16  # adjacent columns in a strip
LINE = 8  # numbers per cache line


def room_for_pairs(n: int) -> Floats:
    """Return an array for the pairs of `follow_nearest`.

    It is n × n, with padding so that each row starts at a cache line.
    """
    width = -(-n // LINE) * LINE
    pairs = _aligned((n, width))
    pairs[:, n:] = np.inf
    return pairs


def any_neighbors(n: int, k: int) -> Integers | None:
    """Return previous neighbours for the first call of `follow_nearest`.

    The compiled version accepts arbitrary samples. The numpy version needs near ones, so the result
    is None.
    """
    if not hasattr(_kernels.compiled, "follow_nearest"):
        return None
    return (np.arange(n)[:, None] + np.arange(1, k + 1)) % n


def follow_nearest(
    changed: Sequence[Floats],
    pairs: Floats,
    slack: Floats,
    near: Integers,
    lengths: Floats,
    *,
    n_gone: int,
) -> None:
    """Update the squared distances of all pairs of samples after features changed, and find the
    nearest neighbours. All arrays are updated in place.

    Parameters
    ----------
    changed : arrays of shape (n, any number)
        The changed features: first the `n_gone` removed ones, then the added ones.
    pairs : array of `room_for_pairs`
        Squared distances: symmetric, with an infinite diagonal. The values below the diagonal are
        undefined afterwards.
    slack : array of shape (n,)
        Only samples up to this much farther away than the farthest previous neighbour are
        considered.
    near : array of shape (n, k + 1)
        On input, the first k columns contain the previous neighbours. On output, all columns
        contain the nearest samples. Ties are ordered by index. The value n marks places for which
        no sample is near enough.
    lengths : array of shape (n, k + 1)
        On input, the squared distances of the previous neighbours, as in `pairs`. On output, those
        of the nearest samples; infinite if no sample is near enough.
    """
    n, width, n_changed = len(pairs), pairs.shape[1], sum(part.shape[1] for part in changed)
    features, done = np.zeros((n_changed, width)), 0
    for part in changed:
        features[done : done + part.shape[1], :n] = part.T
        done += part.shape[1]
    kernels = _kernels.compiled
    if hasattr(kernels, "follow_nearest"):  # an older build may lack it
        limits = np.full(width, -np.inf)
        limits[:n] = slack
        kernels.follow_nearest(features, n_gone, pairs, limits, near, lengths)
        return
    values = pairs[:, :n]
    _plain_correction(features[:, :n], n_gone, values)
    limits = slack + np.take_along_axis(values, near[:, :-1], axis=1).max(axis=1)
    query, other = np.nonzero(values <= limits[:, None])
    length = values[query, other]
    order = np.lexsort((other, length, query))
    # `query` is already sorted, so `order` does not change it.
    rank = np.arange(len(query)) - np.searchsorted(query, query)
    some = rank < near.shape[1]
    place = (query[some], rank[some])
    near[:], lengths[:] = n, np.inf
    near[place], lengths[place] = other[order[some]], length[order[some]]


def list_links(near: Integers, lengths: Floats) -> tuple[Integers, Integers, Floats]:
    """Return the links between all samples and their neighbours: both ends and the length.

    The last column of `near` is ignored. Each link is listed once, in the order of the rows. If two
    samples list each other, the link belongs to the one with the lower index.
    """
    n, k = near.shape[0], near.shape[1] - 1
    kernels = _kernels.compiled
    if hasattr(kernels, "list_links"):
        first, second, length = (
            np.empty(n * k, dtype=np.int64),
            np.empty(n * k, dtype=np.int64),
            np.empty(n * k),
        )
        count = kernels.list_links(near, lengths, first, second, length)
        return first[:count], second[:count], length[:count]
    first, second = np.repeat(np.arange(n), k), near[:, :k].ravel()
    mutual = np.isin(second * n + first, first * n + second)
    kept = (second > first) | ~mutual
    return first[kept], second[kept], lengths[:, :k].ravel()[kept]


def strips_of(rows: Floats) -> Floats:
    """Return the columns of an array in strips of `LANES` columns, for `graph_sums`.

    Each strip is stored row by row. The last strip is padded with zeros.
    """
    n, width = rows.shape
    strips = _aligned((-(-width // LANES), n, LANES))
    for number, strip in enumerate(strips):
        part = rows[:, number * LANES : (number + 1) * LANES]
        strip[:, : part.shape[1]] = part
        strip[:, part.shape[1] :] = 0.0
    return strips


def graph_sums(
    strips: Floats, centers: Floats, first: Integers, second: Integers, weights: Floats
) -> tuple[Floats, Floats]:
    """Return the degree of every sample in a weighted graph, and three sums for every column of the
    strips.

    The sums are Σ_e w_e (f_first − f_second)², Σ_i d_i (f_i − center) and Σ_i d_i (f_i − center)².
    """
    n_strips, n, _ = strips.shape
    kernels = _kernels.compiled
    if hasattr(kernels, "graph_sums"):
        degree, sums = np.empty(n), np.empty((3, n_strips, LANES))
        kernels.graph_sums(strips, centers, first, second, weights, degree, sums)
        return degree, sums.reshape(3, -1)
    degree = np.asarray(
        np.bincount(
            np.concatenate([first, second]), np.concatenate([weights, weights]), minlength=n
        ),
        np.float64,
    )
    rows = np.ascontiguousarray(strips.transpose(1, 0, 2)).reshape(n, -1)
    energy = plain_sums(rows, first, second, weights, 2)
    gather = weighted_rows(degree, np.array([0, n]))
    rows = rows - centers.ravel()  # a copy: one strip is its own row-wise array
    return degree, np.stack([energy, (gather @ rows)[0], (gather @ rows**2)[0]])


def sum_ratios(
    sums: Floats, lanes: Integers, total: float, of_all: float, of_spread: float
) -> tuple[Floats, Floats]:
    """Return energy / spread for some columns of `graph_sums`, and bounds on the relative errors.

    The spread is Σ_i d_i (f_i − mean)², and `total` is the sum of all degrees. The spread is
    computed as a difference, which amplifies its rounding error. The bound is therefore `of_all` +
    `of_spread` · moment / spread. It is infinite if the spread is not positive.
    """
    kernels = _kernels.compiled
    if hasattr(kernels, "sum_ratios"):
        values, errors = np.empty(len(lanes)), np.empty(len(lanes))
        kernels.sum_ratios(sums, lanes, total, of_all, of_spread, values, errors)
        return values, errors
    energy, mean, moment = np.take(sums, lanes, axis=1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        spread = moment - mean * mean / total
        return energy / spread, np.where(spread > 0, of_all + of_spread * (moment / spread), np.inf)


def _aligned(shape: tuple[int, ...]) -> Floats:
    """Return an empty array that starts at a cache line.

    Reading vectors that do not cross cache lines takes half the time.
    """
    size = math.prod(shape)
    padded = np.empty(size + LINE)
    start = -padded.ctypes.data // padded.itemsize % LINE
    return padded[start : start + size].reshape(shape)


def _plain_correction(changed: Floats, n_gone: int, values: Floats) -> None:
    step = max(1, TEMPORARY_ELEMENTS // max(1, len(values)))
    for start in range(0, len(values), step):
        part = values[start : start + step]
        for number, feature in enumerate(changed):
            apart = feature[start : start + step, None] - feature
            apart *= apart
            if number < n_gone:
                part -= apart
            else:
                part += apart

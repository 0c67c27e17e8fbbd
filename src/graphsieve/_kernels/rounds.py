"""One round of the iterative search: the nearest after features changed, their links, and the
sums that scores are made of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from graphsieve import _kernels
from graphsieve._base.array_types import Floats, Integers
from graphsieve._kernels.column_sums import TEMPORARY_ELEMENTS, plain_sums, weighted_rows

LANES = 16  # columns that stand side by side in a strip
LINE = 8  # numbers that memory delivers together


def room_for_pairs(n: int) -> Floats:
    """Room for the pairs of `follow_nearest`: n × n, and a little wider, so that each row begins
    with a line of the cache.
    """
    width = -(-n // LINE) * LINE
    pairs = _aligned((n, width))
    pairs[:, n:] = np.inf
    return pairs


def any_neighbors(n: int, k: int) -> Integers | None:
    """Previous neighbours for a first call of `follow_nearest`: compiled, it takes anybody;
    plain (None), it needs near ones.
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
    """Correct squared distances of all pairs of samples by some features, and find who is nearest;
    all in place.

    Parameters
    ----------
    changed : arrays of shape (n, any number)
        The features: first the `n_gone` that left, then those that came.
    pairs : array of `room_for_pairs`
        Symmetric, with an infinite diagonal. Of what is below the diagonal nothing can be said
        afterwards.
    slack : array of shape (n,)
        How much farther than the farthest of its previous neighbours someone may be who could
        matter.
    near : array of shape (n, k + 1)
        In the first k columns those neighbours. Then who is nearest, ties by lower index; n where
        nobody is near enough.
    lengths : array of shape (n, k + 1)
        How far those neighbours were, as in `pairs`. Then how far these are; infinite where nobody
        is near enough.
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
    # `query` increases, and sorting leaves it as it is
    rank = np.arange(len(query)) - np.searchsorted(query, query)
    some = rank < near.shape[1]
    place = (query[some], rank[some])
    near[:], lengths[:] = n, np.inf
    near[place], lengths[place] = other[order[some]], length[order[some]]


def list_links(near: Integers, lengths: Floats) -> tuple[Integers, Integers, Floats]:
    """The links of all samples with those in all but the last column of `near`, each once: both
    ends, and how long it is.

    By rows; a link of two who list each other belongs to the lower of them.
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
    """The columns of an array in strips of `LANES`, each row by row, as `graph_sums` reads them;
    zeros fill the last.
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
    """For a graph of weighted links the degree of every sample, and three sums for every column of
    the strips.

    Σ_e w_e (f_first − f_second)², Σ_i d_i (f_i − center) and Σ_i d_i (f_i − center)².
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
    """Of some columns of `graph_sums` the energy over the spread Σ_i d_i (f_i − mean)², given the
    sum of all degrees.

    And bounds on the relative errors: `of_all`, and what the spread, a difference, adds
    (`of_spread`); infinite without one.
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
    """An empty array that begins with a line of the cache: what does not cross lines is read in
    half the time.
    """
    size = math.prod(shape)
    room = np.empty(size + LINE)
    start = -room.ctypes.data // room.itemsize % LINE
    return room[start : start + size].reshape(shape)


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

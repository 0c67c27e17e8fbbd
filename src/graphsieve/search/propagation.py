"""From a few known labels to class probabilities of all samples: the harmonic function of a graph
over the samples.

The value of an unlabelled sample is the weighted mean of its neighbours' values; that of a labelled
one is its label. In other words: the probability that a random walk from the sample meets a label
of the class before any other label.

At the bandwidths that the literature advises, the system of equations is singular in float64,
because a group of close samples leaves itself with a probability of 1e-30 or 1e-3000. So a solution
by factorization or iteration counts only with a proof of its accuracy. Otherwise nodes are
eliminated one at a time (the star-mesh transform), which takes only sums, products and quotients of
positive numbers and so loses no digit (Grassmann, Taksar, Heyman 1985); each weight has an integer
exponent of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.linalg import lapack
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.sparse.linalg import splu
from scipy.spatial.distance import cdist

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.errors import InputError, warn
from graphsieve._base.messages import keyword, parameter
from graphsieve._base.parameters import count, either, positive, quoted
from graphsieve._base.underflow import vanishing
from graphsieve.graphs.builders import capped_neighbors
from graphsieve.graphs.neighbors.exact import nearest_neighbors, squared_distances
from graphsieve.scores.method import check_length
from graphsieve.supervision.value import Supervision
from graphsieve.table.any_table import table_in_memory
from graphsieve.table.columns import Table

LARGEST_COMPLETE = 2**31  # bytes that the arrays of a complete graph may take
DENSE_UP_TO = 2_000  # unlabelled samples of a neighbour graph that are solved as a dense matrix
# … that are solved by a sparse factorization where iteration fails; more would fill the memory
FACTORS_UP_TO = 20_000
# The reciprocal condition number that proves a dense solution to 1e-10
CERTAIN_CONDITION = 16 * np.finfo(np.float64).eps / 1e-10
PROVEN = 1e-9  # the bound on the error of a probability that a sparse solution must prove
# a probability to leave a pair of samples; below it no solution in float64 can be proven
HOPELESS = 1e-8
REFINEMENTS = 4
RESIDUAL = 1e-14  # of a probability, at which conjugate gradients stop
MOST_ITERATIONS = 500
ITERATIONS_BETWEEN_CHECKS = 10
LARGEST_EXPONENT = 2.0**48  # of a weight; paths of 2,000 such edges still fit an integer
ABSENT = -(2**61)  # the exponent of a weight that is zero
CACHED_ELEMENTS = 2**15  # numbers in a temporary array that stays in the cache of a processor
LOG2_E = 1.4426950408889634


@dataclass(frozen=True)
class Propagation:
    """Class probabilities of all samples, and the graph they were made with.

    Attributes
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Rows sum to one; a class without a labelled sample has none.
    confidence : array of shape (n_samples,)
        (c · max − 1) / (c − 1) for c classes that occur: 0 where all are equally probable, 1 where
        one is certain.
    bandwidth : float
        The t of the weights exp(−d²/t).
    n_neighbors : int or None
        As used; None is the complete graph.
    unreached : array of bool of shape (n_samples,)
        Samples in components of the graph without any label.
    """

    probabilities: Floats
    confidence: Floats
    bandwidth: float
    n_neighbors: int | None
    unreached: Booleans


@dataclass(frozen=True)
class _Edges:
    """Distinct undirected edges with their squared lengths."""

    first: Integers
    second: Integers
    squared: Floats


@vanishing
def harmonic_labels(
    X: Any, y: ArrayLike, *, n_neighbors: int | None = None, bandwidth: float | str = "auto"
) -> Floats:
    """Class probabilities of all samples by the harmonic function over a graph of the samples.

    With weights w_ij = exp(−‖x_i − x_j‖²/t) and P_ij = w_ij / Σ_k w_ik, the unlabelled rows solve
    F_u = P_uu F_u + P_ul Y_l; the labelled rows are their labels.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The samples.
    y : array of shape (n_samples,)
        Class labels; −1, None and NaN mark the unknown ones.
    n_neighbors : int or None
        Samples are linked if either is among the k nearest of the other; None links everyone with
        everyone, as in the paper.
    bandwidth : float or "auto"
        The t of the weights. ``"auto"`` is (d0/3)², where d0 is the shortest edge of the minimum
        spanning tree that joins groups of different labels when edges are added by length; edges of
        length zero do not count.

    Returns
    -------
    array of shape (n_samples, n_classes)
        Probabilities, one column per class in sorted order. Samples without any path to a label get
        equal probabilities and a warning.

    References
    ----------
    X. Zhu, Z. Ghahramani, J. Lafferty, Semi-supervised learning using Gaussian fields and harmonic
    functions, ICML 2003, Eq. 5. E. Zhong, S. Xie, W. Fan, J. Ren, J. Peng, K. Zhang, Graph-based
    iterative hybrid feature selection, ICDM 2008, Eq. 1–3.

    Examples
    --------
    On a path of four samples a random walk from the second meets the first before the last in two
    of three cases:

    >>> harmonic_labels([[0.0], [1.0], [2.0], [3.0]], ["a", None, None, "b"], n_neighbors=1)
    array([[1.        , 0.        ],
           [0.66666667, 0.33333333],
           [0.33333333, 0.66666667],
           [0.        , 1.        ]])
    """
    neighbors = either(None, count(1))("n_neighbors", n_neighbors)
    width = either("auto", positive())("bandwidth", bandwidth)
    table, known = table_in_memory(X), Supervision.from_labels(y)
    check_length(known, table)
    found = propagate(
        table, known, n_neighbors=neighbors, bandwidth=None if isinstance(width, str) else width
    )
    return found.probabilities


def propagate(
    table: Table, known: Supervision, *, n_neighbors: int | None, bandwidth: float | None
) -> Propagation:
    """The harmonic function of the known labels; `n_neighbors` None is the complete graph,
    `bandwidth` None the automatic one.
    """
    codes = known.codes
    present = np.unique(codes[codes >= 0])
    if known.classes is None or not len(present):
        raise InputError(
            "no sample has a known label, but labels can only be propagated from at least one; "
            "label some samples."
        )
    k = None if n_neighbors is None else capped_neighbors(n_neighbors, table.n_samples)
    # Codes that count only the classes that occur
    columns = np.full(table.n_samples, -1, dtype=np.int64)
    columns[codes >= 0] = np.searchsorted(present, codes[codes >= 0])
    if len(present) == 1:
        warn(
            f"all known labels are of class {quoted(known.classes[present[0]])}: every sample is "
            "given to it with certainty."
        )
        used, unreached = (
            1.0 if bandwidth is None else bandwidth,
            np.zeros(table.n_samples, dtype=bool),
        )
        shares = np.ones((table.n_samples, 1))
    else:
        shares, used, unreached = _shares(table, columns, k, bandwidth)
    probabilities = np.zeros((table.n_samples, len(known.classes)))
    probabilities[:, present] = shares
    return Propagation(probabilities, _confidence(shares), used, k, unreached)


def _confidence(shares: Floats) -> Floats:
    n_classes = shares.shape[1]
    if n_classes == 1:
        return np.ones(len(shares))
    return np.asarray(np.clip((n_classes * shares.max(axis=1) - 1) / (n_classes - 1), 0.0, 1.0))


def _shares(
    table: Table, codes: Integers, k: int | None, bandwidth: float | None
) -> tuple[Floats, float, Booleans]:
    """Probabilities of the classes that occur, the bandwidth, and who is in a component without
    a label.
    """
    rows, exponent = table.rows
    edges = None
    if k is None:
        _check_memory(int((codes < 0).sum()))
    else:
        edges = _neighbor_edges(rows, k)
    width, used = _bandwidth(rows, exponent, edges, codes, bandwidth)
    shares, unreached, raised, deviation = _solved(rows, edges, codes, width)
    if deviation > PROVEN:
        warn(
            "the labels could not be propagated with certainty at any bandwidth: "
            f"probabilities sum to one only within {deviation:.1g}; link more samples by a "
            "larger ",
            parameter("n_neighbors"),
            ", or label more.",
        )
        used *= raised
    elif raised > 1:
        warn(
            f"at bandwidth {used:.3g} groups of close samples leave each other too rarely for "
            f"float64; the labels are those at bandwidth {used * raised:.3g}, {raised:.0f} times "
            "that, the first at which their accuracy could be shown."
        )
        used *= raised
    if unreached.any():
        warn(
            f"{int(unreached.sum())} of {len(codes)} samples are in components of the graph "
            "without any label and get equal probabilities; raise ",
            parameter("n_neighbors"),
            " to link them.",
        )
    return shares, used, unreached


def _solved(
    rows: Any, edges: _Edges | None, codes: Integers, width: float
) -> tuple[Floats, Booleans, float, float]:
    """Probabilities of the classes, who is in a component without a label; by how much the width
    was raised, and the error.

    `edges` None is the complete graph.
    """
    n_classes = int(codes.max()) + 1
    shares = np.full((len(codes), n_classes), 1.0 / n_classes)
    shares[codes >= 0] = np.eye(n_classes)[codes[codes >= 0]]
    unreached = np.zeros(len(codes), dtype=bool) if edges is None else _without_label(edges, codes)
    asked = np.flatnonzero((codes < 0) & ~unreached)
    raised, deviation = 1.0, 0.0
    if len(asked) and edges is None:
        shares[asked] = _as_probabilities(_complete_shares(rows, codes, asked, width))
    elif len(asked) and edges is not None:
        solved, raised = _sparse_shares(edges, codes, asked, width)
        shares[asked], deviation = _as_probabilities(solved.values), solved.deviation
    return shares, unreached, raised, deviation


def _as_probabilities(values: Floats) -> Floats:
    """Take off what rounding put beyond 0 and 1, and make rows sum to one."""
    clipped = np.clip(values, 0.0, 1.0)
    total = clipped.sum(axis=1, keepdims=True)
    return np.where(total > 0, clipped / np.where(total > 0, total, 1.0), 1.0 / values.shape[1])


def _check_memory(n_unlabeled: int) -> None:
    needed = 24 * n_unlabeled**2
    if needed > LARGEST_COMPLETE:
        raise InputError(
            f"a complete graph of {n_unlabeled} unlabelled samples needs about "
            f"{needed / 2**30:.1f} GiB, more than the {LARGEST_COMPLETE / 2**30:.0f} "
            "GiB that are allowed; link neighbours only with ",
            keyword("n_neighbors"),
            ".",
        )


def _neighbor_edges(rows: Any, k: int) -> _Edges:
    n = rows.shape[0]
    near, squared = nearest_neighbors(rows, k)
    query = np.repeat(np.arange(n), near.shape[1])
    key = np.minimum(query, near.ravel()) * n + np.maximum(query, near.ravel())
    key, where = np.unique(key, return_index=True)
    return _Edges(key // n, key % n, squared.ravel()[where])


def _without_label(edges: _Edges, codes: Integers) -> Booleans:
    """Samples in components without any label."""
    _, component = _components(len(codes), edges.first, edges.second)
    labeled = np.bincount(component, weights=codes >= 0) > 0
    return np.asarray(~labeled[component])


def _components(n: int, first: Integers, second: Integers) -> tuple[int, Integers]:
    links = sp.csr_array((np.ones(len(first), dtype=np.int8), (first, second)), shape=(n, n))
    n_components, component = connected_components(links, directed=False)
    return int(n_components), component.astype(np.int64)


def _distances_from(rows: Any, sample: int) -> Floats:
    """Squared distances of one sample to all, from explicit differences."""
    if sp.issparse(rows):
        return squared_distances(rows, np.full(rows.shape[0], sample), np.arange(rows.shape[0]))
    return np.asarray(cdist(rows[sample : sample + 1], rows, "sqeuclidean")[0])


# ---- the bandwidth


def _bandwidth(
    rows: Any, exponent: int, edges: _Edges | None, codes: Integers, bandwidth: float | None
) -> tuple[float, float]:
    """The bandwidth in units of the scaled rows and in those of X."""
    with np.errstate(over="ignore", under="ignore"):
        if bandwidth is not None:
            return float(np.ldexp(bandwidth, -2 * exponent)), bandwidth
        squared = first_length_between_labels(
            _complete_tree(rows) if edges is None else _sparse_tree(edges, len(codes)), codes
        )
        if squared is None:
            return float(np.ldexp(1.0, -2 * exponent)), 1.0
        limits = np.finfo(np.float64)
        return squared / 9, float(
            np.clip(np.ldexp(squared / 9, 2 * exponent), limits.tiny, limits.max)
        )


def first_length_between_labels(tree: _Edges, codes: Integers) -> float | None:
    """The squared length of the first edge longer than zero that joins groups of different labels,
    by increasing length.

    That is the smallest length up to which edges connect two samples of different labels that those
    of length zero do not; so ties make no difference, and it can be found by bisection.
    """
    _, copies = _components(
        len(codes), tree.first[tree.squared == 0], tree.second[tree.squared == 0]
    )
    lengths = np.unique(tree.squared[tree.squared > 0])
    low, high = 0, len(lengths)
    while low < high:
        middle = (low + high) // 2
        short = tree.squared <= lengths[middle]
        if _joins_labels(tree.first[short], tree.second[short], copies, codes):
            high = middle
        else:
            low = middle + 1
    return float(lengths[low]) if low < len(lengths) else None


def _joins_labels(first: Integers, second: Integers, copies: Integers, codes: Integers) -> bool:
    """Whether some component holds two samples of different labels that are not copies of each
    other.
    """
    n_components, component = _components(len(codes), first, second)
    labeled = codes >= 0
    # A component with labels at two different places has such a pair if it has two different
    # labels, wherever they are.
    places = np.unique(component[labeled] * len(codes) + copies[labeled]) // len(codes)
    labels = np.unique(component[labeled] * len(codes) + codes[labeled]) // len(codes)
    several_places = np.bincount(places, minlength=n_components) > 1
    several_labels = np.bincount(labels, minlength=n_components) > 1
    return bool((several_places & several_labels).any())


def _complete_tree(rows: Any) -> _Edges:
    """The minimum spanning tree of the complete graph by Prim's algorithm, a row of distances at
    a time.
    """
    n = rows.shape[0]
    outside = np.ones(n, dtype=bool)
    nearest, parent = np.full(n, np.inf), np.zeros(n, dtype=np.int64)
    joined, current = np.empty(n - 1, dtype=np.int64), 0
    for step in range(n - 1):
        outside[current] = False
        distances = _distances_from(rows, current)
        closer = outside & (distances < nearest)
        nearest[closer], parent[closer] = distances[closer], current
        current = int(np.where(outside, nearest, np.inf).argmin())
        joined[step] = current
    return _Edges(parent[joined], joined, nearest[joined])


def _sparse_tree(edges: _Edges, n: int) -> _Edges:
    """The minimum spanning forest of a graph."""
    # SciPy takes a length of zero for no edge, so edges are known by their rank, from 1.
    order = np.argsort(edges.squared, kind="stable")
    rank = np.empty(len(order))
    rank[order] = np.arange(1, len(order) + 1)
    tree = minimum_spanning_tree(sp.csr_array((rank, (edges.first, edges.second)), shape=(n, n)))
    chosen = order[tree.data.astype(np.int64) - 1]
    return _Edges(edges.first[chosen], edges.second[chosen], edges.squared[chosen])


def _steepness(width: float, largest: float) -> float:
    """The factor from a squared distance to the binary logarithm of a weight, limited where
    nothing changes any more.
    """
    if largest == 0:
        return 0.0
    with np.errstate(over="ignore", divide="ignore"):
        return -min(float(np.divide(LOG2_E, width)), LARGEST_EXPONENT / largest)


# ---- dense graphs


def _complete_shares(rows: Any, codes: Integers, asked: Integers, width: float) -> Floats:
    n_classes = int(codes.max()) + 1
    members = [np.flatnonzero(codes == code) for code in range(n_classes)]
    # No two samples are farther apart than twice the distance of the farthest from the first.
    factor = _steepness(width, 4 * float(_distances_from(rows, 0).max()))
    logarithms = np.empty((len(asked), n_classes + len(asked)))
    for place, sample in enumerate(asked):
        to_all = factor * _distances_from(rows, int(sample))
        logarithms[place, n_classes:] = to_all[asked]
        logarithms[place, n_classes + place] = -np.inf
        logarithms[place, :n_classes] = [_log_sum(to_all[of_class]) for of_class in members]
    return solve_dense(logarithms, n_classes)


def _log_sum(logarithms: Floats) -> float:
    """log2 Σ 2**x."""
    top = logarithms.max()
    with np.errstate(under="ignore"):
        return float(top + np.log2(np.exp2(logarithms - top).sum()))


def solve_dense(logarithms: Floats, n_classes: int) -> Floats:
    """The harmonic function of a dense graph of unlabelled samples.

    Parameters
    ----------
    logarithms : array of shape (n_unlabeled, n_classes + n_unlabeled)
        Binary logarithms of the weights to each class and to each other, which are symmetric; −∞
        where there is no edge. Every sample must have a path to a class.
    n_classes : int
        How many columns are classes.
    """
    found = by_factorization(logarithms, n_classes)
    return by_elimination(logarithms, n_classes) if found is None else found


def by_factorization(logarithms: Floats, n_classes: int) -> Floats | None:
    """Solve (I − P_uu) F = P_ul Y by LU; None where the condition number does not prove the
    result.
    """
    weights = np.exp2(logarithms - logarithms.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    system = -weights[:, n_classes:]
    np.fill_diagonal(system, 1.0)
    # The transpose of a C array is the Fortran array that LAPACK overwrites; it is dominated by its
    # diagonal in every column, so that pivoting changes nothing. Its 1-norm is the largest sum of a
    # row: the one that bounds every single probability.
    norm = float(np.abs(system).sum(axis=1).max())
    factors, pivots, failed = lapack.dgetrf(system.T, overwrite_a=True)
    if failed:
        return None
    condition, _ = lapack.dgecon(factors, norm, norm="1")
    if not condition >= CERTAIN_CONDITION:
        return None
    solution, _ = lapack.dgetrs(factors, pivots, weights[:, :n_classes], trans=1)
    return np.asarray(solution)


def by_elimination(logarithms: Floats, n_classes: int) -> Floats:
    """Eliminate the samples from the last to the first, then walk back; exact to rounding whatever
    the weights.

    Without sample k, its neighbours i and j are linked by w_ik w_kj / Σ_l w_kl in addition. The sum
    leaves out what leads back to k itself, so nothing is ever subtracted. A weight is mantissa ·
    2**exponent with an exponent of any size. Each row is overwritten by the probabilities to go
    from its sample to the classes and to the samples before it: all that is needed from then on.
    """
    n = len(logarithms)
    mantissa, exponent = _split(logarithms)
    degree, degree_exponent = np.empty(n), np.empty(n, dtype=np.int64)
    for i in range(n - 1, -1, -1):
        here = slice(0, n_classes + i)
        row, powers = mantissa[i, here], exponent[i, here]
        rows_at_once = max(1, CACHED_ELEMENTS // (n_classes + i))
        for start in range(i + 1, n, rows_at_once):
            gone = slice(start, start + rows_at_once)
            # Weights are symmetric: what leads from i to k is what led from k to i.
            to_gone = mantissa[gone, n_classes + i] * degree[gone]
            to_gone_exponent = exponent[gone, n_classes + i] + degree_exponent[gone]
            detour_exponents = exponent[gone, here] + to_gone_exponent[:, None]
            top = detour_exponents.max(axis=0)
            detour_exponents -= top
            detours = _powers_of_two(detour_exponents)
            detours *= mantissa[gone, here]
            _add(row, powers, to_gone @ detours, top)
        row[:], shift = np.frexp(row)
        powers += shift
        degree_exponent[i] = powers.max()
        powers -= degree_exponent[i]
        degree[i] = (row * _powers_of_two(powers.copy())).sum()
        row /= degree[i]
    solution = np.empty((n, n_classes))
    for i in range(n):
        powers = np.maximum(exponent[i, : n_classes + i], -2000).astype(np.intc)
        # What underflows here is no probability
        shares = np.ldexp(mantissa[i, : n_classes + i], powers)
        solution[i] = shares[:n_classes] + shares[n_classes:] @ solution[:i]
    return solution


def _split(logarithms: Floats) -> tuple[Floats, Integers]:
    """Mantissas from 1 to 2 and exponents of the weights whose binary logarithms are given."""
    absent = np.isneginf(logarithms)
    mantissa = np.where(absent, 0.0, logarithms)
    exponent = np.floor(mantissa)
    mantissa -= exponent
    np.exp2(mantissa, out=mantissa)
    mantissa[absent] = 0.0
    exponent[absent] = ABSENT
    return mantissa, exponent.astype(np.int64)


def _add(mantissa: Floats, exponent: Integers, more: Floats, more_exponent: Integers) -> None:
    """Add weights to weights in place, spoiling the second; mantissas may grow: sums of a few
    thousand are far from overflow.
    """
    top = np.maximum(exponent, more_exponent)
    exponent -= top
    more_exponent -= top
    mantissa *= _powers_of_two(exponent)
    more *= _powers_of_two(more_exponent)
    mantissa += more
    exponent[...] = top


def _powers_of_two(exponent: Integers) -> Floats:
    """2**exponent for exponents up to zero, made in place; those below −1000 are of no weight and
    count as −1000.

    An exponent plus 1023, moved to the upper bits, is the float64 itself: several times faster than
    ldexp.
    """
    np.maximum(exponent, -1000, out=exponent)
    exponent += 1023
    np.left_shift(exponent, 52, out=exponent)
    return exponent.view(np.float64)


# ---- sparse graphs


def _sparse_shares(
    edges: _Edges, codes: Integers, asked: Integers, width: float
) -> tuple[_Attempt, float]:
    """Probabilities of the samples in question, and the factor by which the width had to be
    raised to find them.
    """
    n_classes = int(codes.max()) + 1
    place = np.full(len(codes), -1, dtype=np.int64)
    place[asked] = np.arange(len(asked))
    # Every edge once from each end; only those that start at a sample in question matter.
    source, target = (
        np.concatenate([edges.first, edges.second]),
        np.concatenate([edges.second, edges.first]),
    )
    steepness = _steepness(width, float(edges.squared.max()))
    chosen = place[source] >= 0
    source, target, logarithms = (
        place[source[chosen]],
        target[chosen],
        np.tile(steepness * edges.squared, 2)[chosen],
    )
    to_class = codes[target] >= 0
    if len(asked) <= DENSE_UP_TO:
        matrix = np.full((len(asked), n_classes + len(asked)), -np.inf)
        matrix[source[~to_class], n_classes + place[target[~to_class]]] = logarithms[~to_class]
        key = source[to_class] * n_classes + codes[target[to_class]]
        matrix[:, :n_classes] = _grouped_log_sum(
            logarithms[to_class], key, len(asked) * n_classes
        ).reshape(-1, n_classes)
        return _Attempt(solve_dense(matrix, n_classes), 0.0), 1.0
    column = np.where(to_class, codes[target], n_classes + place[target])
    return solve_raised(source, column, logarithms, len(asked), n_classes)


def solve_raised(
    source: Integers, column: Integers, logarithms: Floats, n: int, n_classes: int
) -> tuple[_Attempt, float]:
    """The harmonic function at the given width, or at the first of four, sixteen, … times it where
    it can be found.

    Once all weights are alike, a larger width changes nothing, and the best that was found must do.
    """
    raised = 1.0
    while True:
        attempt = solve_sparse(source, column, logarithms / raised, n, n_classes)
        if attempt.deviation <= PROVEN or not np.abs(logarithms).max() > raised:
            return attempt, raised
        raised *= 4.0


def _grouped_log_sum(logarithms: Floats, group: Integers, n_groups: int) -> Floats:
    """log2 Σ 2**x of every group, −∞ for an empty one."""
    top = np.full(n_groups, -np.inf)
    np.maximum.at(top, group, logarithms)
    total = np.bincount(group, weights=np.exp2(logarithms - top[group]), minlength=n_groups)
    filled = total > 0
    top[filled] += np.log2(total[filled])
    return top


@dataclass(frozen=True)
class _Walk:
    """The random walk from n samples: to each other (`inner`, sparse) and to the classes
    (`outer`); `root` is √degree.
    """

    inner: Any
    outer: Floats
    symmetric: Any  # root · inner / root
    root: Floats

    def residual(self, wanted: Floats, values: Floats) -> Floats:
        return np.asarray(wanted - (values - self.inner @ values))


@dataclass(frozen=True)
class _Attempt:
    """A solution, and how far it may be off: by a proof, or else by how far rows are from
    summing to one.
    """

    values: Floats
    deviation: float


def solve_sparse(
    source: Integers, column: Integers, logarithms: Floats, n: int, n_classes: int
) -> _Attempt:
    """The harmonic function of a sparse graph of n unlabelled samples.

    Edges lead from `source` to `column`: a class, or `n_classes` + a sample. Each edge between
    samples is given from both ends.
    """
    walk = _walk(source, column, logarithms, n, n_classes)
    found = [_Attempt(np.full((n, n_classes), 1.0 / n_classes), np.inf)]
    if _rarest_leave(walk) < HOPELESS:
        return found[0]
    for attempt in (by_gradients, _by_factors) if n <= FACTORS_UP_TO else (by_gradients,):
        solution, bound = refine(walk, attempt(walk))
        if bound <= PROVEN:
            return _Attempt(solution, bound)
        # Where the bound proves nothing, the sums of the rows still tell: they are 1 in the true
        # solution, unenforced.
        deviation = float(np.abs(solution.sum(axis=1) - 1).max())
        found.append(_Attempt(solution, deviation if np.isfinite(deviation) else np.inf))
    return min(found, key=lambda attempt: attempt.deviation)


def _rarest_leave(walk: _Walk) -> float:
    """The smallest probability to leave a pair of samples that are each other's likeliest next
    step: a walk stays that long.
    """
    inner, n = walk.inner, len(walk.root)
    source = np.repeat(np.arange(n), np.diff(inner.indptr))
    if not len(source):
        return 1.0
    order = np.lexsort((inner.data, source))
    last = np.searchsorted(source, np.arange(n), side="right") - 1
    within = np.flatnonzero(np.diff(inner.indptr) > 0)
    likeliest = np.full(n, -1, dtype=np.int64)
    likeliest[within] = inner.indices[order[last[within]]]
    paired = within[likeliest[likeliest[within]] == within]
    if not len(paired):
        return 1.0
    # All steps but the likeliest, summed as they are: one minus the likeliest would be zero long
    # before they are.
    others = inner.data.copy()
    others[order[last[within]]] = 0.0
    leaving = np.bincount(source, weights=others, minlength=n) + walk.outer.sum(axis=1)
    return float((leaving[paired] + leaving[likeliest[paired]]).min())


def _walk(source: Integers, column: Integers, logarithms: Floats, n: int, n_classes: int) -> _Walk:
    degree = _grouped_log_sum(logarithms, source, n)
    steps = np.exp2(logarithms - degree[source])
    to_class = column < n_classes
    key = source[to_class] * n_classes + column[to_class]
    outer = (
        np.bincount(key, weights=steps[to_class], minlength=n * n_classes)
        .astype(np.float64)
        .reshape(n, n_classes)
    )
    one, other = source[~to_class], column[~to_class] - n_classes
    inner = sp.csr_array((steps[~to_class], (one, other)), shape=(n, n))
    balanced = np.exp2(logarithms[~to_class] - (degree[one] + degree[other]) / 2)
    symmetric = sp.csr_array((balanced, (one, other)), shape=(n, n))
    return _Walk(inner, outer, symmetric, np.exp2(np.maximum((degree - degree.max()) / 2, -500)))


def refine(walk: _Walk, correction: Callable[[Floats], Floats]) -> tuple[Floats, float]:
    """The harmonic function by repeated correction, with a bound on the error of any probability.

    With it the mean number of steps h until a walk meets a label is found: (I − P) h = 1. Where (I
    − P) h ≥ s > 0 and h ≥ 0 hold for the numbers found, no entry of (I − P)⁻¹ r exceeds max|r|
    max(h) / s; so the residual tells the error, whatever the solver did.
    """
    wanted = np.column_stack([walk.outer, np.ones(len(walk.root))])
    values, bound, smallest = np.zeros_like(wanted), np.inf, np.inf
    for _ in range(REFINEMENTS):
        trial = values + correction(walk.residual(wanted, values))
        residual = walk.residual(wanted, trial)
        largest = float(np.abs(residual[:, :-1]).max())
        if not largest < smallest / 2:  # no progress, or no number
            break
        values, smallest, bound = trial, largest, _error_bound(residual, trial)
        if bound <= PROVEN:
            break
    return values[:, :-1], bound


def _error_bound(residual: Floats, values: Floats) -> float:
    """Infinite where the mean numbers of steps, the last column, are too far from right to prove
    anything.
    """
    fewest, most = float(values[:, -1].min()), float(values[:, -1].max())
    certain = 1.0 - float(np.abs(residual[:, -1]).max())
    if not (fewest >= 0 and certain > 0):
        return np.inf
    rounding = 4 * np.finfo(np.float64).eps
    return (float(np.abs(residual[:, :-1]).max()) + rounding) * most / certain


def _by_factors(walk: _Walk) -> Callable[[Floats], Floats]:
    system = sp.csc_array(sp.eye_array(len(walk.root)) - walk.inner)
    try:
        # Rows are dominated by their diagonal: no pivoting is needed, and the ordering can be that
        # of a symmetric matrix.
        factors = splu(
            system,
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except (RuntimeError, MemoryError):  # exactly singular in float64, or too full
        return lambda residual: np.full_like(residual, np.nan)
    return lambda residual: np.asarray(factors.solve(residual))


def by_gradients(walk: _Walk) -> Callable[[Floats], Floats]:
    def correction(residual: Floats) -> Floats:
        # The probabilities are wanted as exactly as can be; of the mean numbers of steps, a digit
        # proves enough.
        reach = np.full(residual.shape[1], RESIDUAL)
        reach[-1] = 0.1
        root = walk.root[:, None]
        return conjugate_gradients(walk.symmetric, residual * root, reach * root) / root

    return correction


def conjugate_gradients(symmetric: Any, wanted: Floats, allowed: Floats) -> Floats:
    """Solve (I − S) x = b for all columns of b at once, until no residual exceeds what is allowed;
    I − S has a unit diagonal.

    With S = D^-½ W D^-½ these are the conjugate gradients of D − W with its diagonal as
    preconditioner.
    """
    values, residual, direction = np.zeros_like(wanted), wanted.copy(), wanted.copy()
    squares, scratch = np.einsum("ij,ij->j", residual, residual), np.empty_like(wanted)
    for iteration in range(MOST_ITERATIONS):
        if iteration % ITERATIONS_BETWEEN_CHECKS == 0 and (np.abs(residual) <= allowed).all():
            break
        image = symmetric @ direction
        np.subtract(direction, image, out=image)
        step = _quotient(squares, np.einsum("ij,ij->j", direction, image))
        # Fresh arrays of this size would take as long as the sums
        values += np.multiply(step, direction, out=scratch)
        image *= step
        residual -= image
        before, squares = squares, np.einsum("ij,ij->j", residual, residual)
        direction *= _quotient(squares, before)
        direction += residual
    return values


def _quotient(numerator: Floats, denominator: Floats) -> Floats:
    """Zero where the denominator is not positive: a column that has arrived, or that rounding
    has spoilt, stands still.
    """
    useful = denominator > 0
    return np.where(useful, numerator / np.where(useful, denominator, 1.0), 0.0)

"""Label propagation: class probabilities of all samples from a few labels.

The probabilities are the harmonic function of a graph of the samples. The value of an unlabelled
sample is the weighted mean of the values of its neighbours. The value of a labelled sample is its
label. Equivalently, the value is the probability that a random walk from the sample reaches a label
of the class before any other label.

At the bandwidths that the literature recommends, the system of equations is singular in float64. A
random walk leaves a group of close samples with a probability of only 1e-30 or 1e-3000. A solution
by factorization or iteration is therefore accepted only with a proof of its accuracy. Otherwise the
nodes are eliminated one at a time (the star-mesh transform). This uses only sums, products and
quotients of positive numbers and therefore loses no digits (Grassmann, Taksar, Heyman 1985). Each
weight is stored with a separate integer exponent.
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
from graphsieve._base.underflow import ignoring_underflow
from graphsieve.graphs.builders import capped_neighbors
from graphsieve.graphs.neighbors.exact import nearest_neighbors, squared_distances
from graphsieve.scores.method import check_length
from graphsieve.supervision.value import Supervision
from graphsieve.table.any_table import table_in_memory
from graphsieve.table.columns import Table
from graphsieve.table.imputation import imputed

LARGEST_COMPLETE = 2**31  # maximum size of the arrays of a complete graph, in bytes
DENSE_UP_TO = 2_000  # unlabelled samples up to which a neighbour graph is solved as a dense matrix
# Unlabelled samples up to which a sparse factorization is tried if the iteration fails. More would
# need too much memory.
FACTORS_UP_TO = 20_000
# Reciprocal condition number that proves an accuracy of 1e-10 for a dense solution.
CERTAIN_CONDITION = 16 * np.finfo(np.float64).eps / 1e-10
PROVEN = 1e-9  # required upper bound of the error of a probability in a sparse solution
# If the probability of leaving a pair of samples is smaller, no solution in float64 can be proven.
HOPELESS = 1e-8
REFINEMENTS = 4
RESIDUAL = 1e-14  # residual of a probability at which the conjugate gradients stop
MOST_ITERATIONS = 500
ITERATIONS_BETWEEN_CHECKS = 10
LARGEST_EXPONENT = 2.0**48  # of a weight; a path of 2,000 such edges still fits an int64
ABSENT = -(2**61)  # exponent of a weight of zero
CACHED_ELEMENTS = 2**15  # size of a temporary array that fits into the processor cache
LOG2_E = 1.4426950408889634


@dataclass(frozen=True)
class Propagation:
    """Class probabilities of all samples, and the parameters of the graph.

    Attributes
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Class probabilities. Each row sums to one. A class without labelled samples has the
        probability zero.
    confidence : array of shape (n_samples,)
        (c · max − 1) / (c − 1) for the c classes that occur, where max is the largest probability.
        It is 0 if all classes are equally probable, and 1 if one class is certain.
    bandwidth : float
        Bandwidth t of the weights exp(−d²/t).
    n_neighbors : int or None
        Number of neighbours that was used; None for the complete graph.
    unreached : array of bool of shape (n_samples,)
        Whether the sample is in a component of the graph without any label.
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


@ignoring_underflow
def harmonic_labels(
    X: Any, y: ArrayLike, *, n_neighbors: int | None = None, bandwidth: float | str = "auto"
) -> Floats:
    """Compute class probabilities of all samples by the harmonic function of a graph.

    The nodes of the graph are the samples. With the weights w_ij = exp(−‖x_i − x_j‖²/t) and
    P_ij = w_ij / Σ_k w_ik, the probabilities F_u of the unlabelled samples solve
    F_u = P_uu F_u + P_ul Y_l. Each labelled sample has probability 1 for its label.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features. They are not rescaled.
    y : array of shape (n_samples,)
        Class labels; −1, None or NaN for unlabelled samples.
    n_neighbors : int or None
        Number of neighbours per sample. Two samples are linked if either is among the nearest
        neighbours of the other. With None, all samples are linked with each other, as in the paper.
    bandwidth : float or "auto"
        Bandwidth t of the weights. With ``"auto"``, it is (d0/3)². Here d0 is the length of the
        first edge that joins groups of different labels when the edges of the minimum spanning tree
        are added by increasing length. Edges of length zero are ignored.

    Returns
    -------
    probabilities : array of shape (n_samples, n_classes)
        Class probabilities, with one column per class in sorted order. Samples without a path to a
        label get equal probabilities, with a warning.

    References
    ----------
    X. Zhu, Z. Ghahramani, J. Lafferty, Semi-supervised learning using Gaussian fields and harmonic
    functions, ICML 2003, Eq. 5. E. Zhong, S. Xie, W. Fan, J. Ren, J. Peng, K. Zhang, Graph-based
    iterative hybrid feature selection, ICDM 2008, Eq. 1–3.

    Examples
    --------
    The four samples form a path. A random walk from the second sample reaches the first before the
    last with probability 2/3:

    >>> harmonic_labels([[0.0], [1.0], [2.0], [3.0]], ["a", None, None, "b"], n_neighbors=1)
    array([[1.        , 0.        ],
           [0.66666667, 0.33333333],
           [0.33333333, 0.66666667],
           [0.        , 1.        ]])
    """
    neighbors = either(None, count(1))("n_neighbors", n_neighbors)
    width = either("auto", positive())("bandwidth", bandwidth)
    table, known = table_in_memory(X, y, missing="use"), Supervision.from_labels(y)
    check_length(known, table)
    found = propagate(
        table, known, n_neighbors=neighbors, bandwidth=None if isinstance(width, str) else width
    )
    return found.probabilities


def propagate(
    table: Table, known: Supervision, *, n_neighbors: int | None, bandwidth: float | None
) -> Propagation:
    """Compute the harmonic function of the known labels.

    If `n_neighbors` is None, the graph is complete. If `bandwidth` is None, it is estimated.
    Missing values are imputed.
    """
    table = imputed(table)
    codes = known.codes
    present = np.unique(codes[codes >= 0])
    if known.classes is None or not len(present):
        raise InputError(
            "no sample has a known label, but labels can only be propagated from at least one; "
            "label some samples."
        )
    k = None if n_neighbors is None else capped_neighbors(n_neighbors, table.n_samples)
    # Class codes without gaps, counting only the classes that occur.
    columns = np.full(table.n_samples, -1, dtype=np.int64)
    columns[codes >= 0] = np.searchsorted(present, codes[codes >= 0])
    if len(present) == 1:
        warn(
            f"all known labels are of class {quoted(known.classes[present[0]])}, so every sample "
            "gets this class with probability 1."
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
    """Return the probabilities of the classes that occur, the bandwidth, and the unreached samples.

    Unreached samples are in a component of the graph without any label.
    """
    rows, exponent = table.rows
    edges = None
    if k is None:
        _check_memory(int((codes < 0).sum()))
    else:
        edges = _neighbor_edges(rows, k)
    width, used = _bandwidth(rows, exponent, edges, codes, bandwidth)
    shares, unreached, raised, deviation = _solved(rows, edges, codes, width, np.log2(table.masses))
    if deviation > PROVEN:
        warn(
            "the labels could not be propagated accurately at any bandwidth, because the "
            f"probabilities sum to one only within {deviation:.1g}; use a larger ",
            parameter("n_neighbors"),
            " or label more samples.",
        )
        used *= raised
    elif raised > 1:
        warn(
            f"at bandwidth {used:.3g} the links between groups of close samples are too weak for "
            f"float64; the bandwidth was multiplied by {raised:.0f}, to {used * raised:.3g}, so "
            "that the accuracy of the labels could be proven."
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
    rows: Any, edges: _Edges | None, codes: Integers, width: float, log_masses: Floats
) -> tuple[Floats, Booleans, float, float]:
    """Return the class probabilities, the unreached samples, the width factor and the error.

    The width factor is the factor by which the width was raised. If `edges` is None, the graph is
    complete. `log_masses` are the binary logarithms of the masses of the samples.
    """
    n_classes = int(codes.max()) + 1
    shares = np.full((len(codes), n_classes), 1.0 / n_classes)
    shares[codes >= 0] = np.eye(n_classes)[codes[codes >= 0]]
    unreached = np.zeros(len(codes), dtype=bool) if edges is None else _without_label(edges, codes)
    unlabeled = np.flatnonzero((codes < 0) & ~unreached)
    raised, deviation = 1.0, 0.0
    if len(unlabeled) and edges is None:
        shares[unlabeled] = _as_probabilities(
            _complete_shares(rows, codes, unlabeled, width, log_masses)
        )
    elif len(unlabeled) and edges is not None:
        solved, raised = _sparse_shares(edges, codes, unlabeled, width, log_masses)
        shares[unlabeled], deviation = _as_probabilities(solved.values), solved.deviation
    return shares, unreached, raised, deviation


def _as_probabilities(values: Floats) -> Floats:
    """Clip rounding errors beyond 0 and 1, and scale the rows to sum to one."""
    clipped = np.clip(values, 0.0, 1.0)
    total = clipped.sum(axis=1, keepdims=True)
    return np.where(total > 0, clipped / np.where(total > 0, total, 1.0), 1.0 / values.shape[1])


def _check_memory(n_unlabeled: int) -> None:
    needed = 24 * n_unlabeled**2
    if needed > LARGEST_COMPLETE:
        raise InputError(
            f"a complete graph of {n_unlabeled} unlabelled samples needs about "
            f"{needed / 2**30:.1f} GiB, more than the limit of {LARGEST_COMPLETE / 2**30:.0f} "
            "GiB; link only neighbours with ",
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
    """Whether each sample is in a component without any label."""
    _, component = _components(len(codes), edges.first, edges.second)
    labeled = np.bincount(component, weights=codes >= 0) > 0
    return np.asarray(~labeled[component])


def _components(n: int, first: Integers, second: Integers) -> tuple[int, Integers]:
    links = sp.csr_array((np.ones(len(first), dtype=np.int8), (first, second)), shape=(n, n))
    n_components, component = connected_components(links, directed=False)
    return int(n_components), component.astype(np.int64)


def _distances_from(rows: Any, sample: int) -> Floats:
    """Squared distances from one sample to all samples, computed from explicit differences."""
    if sp.issparse(rows):
        return squared_distances(rows, np.full(rows.shape[0], sample), np.arange(rows.shape[0]))
    return np.asarray(cdist(rows[sample : sample + 1], rows, "sqeuclidean")[0])


# ---- The bandwidth


def _bandwidth(
    rows: Any, exponent: int, edges: _Edges | None, codes: Integers, bandwidth: float | None
) -> tuple[float, float]:
    """Return the bandwidth in the units of the scaled rows and in the units of X."""
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
    """Return the squared length of the first edge that joins groups of different labels.

    Edges are added by increasing length, and edges of length zero are ignored. The result is the
    smallest length for which the edges up to this length connect two samples of different labels
    that the edges of length zero do not connect. Ties therefore have no influence, and the length
    can be found by bisection. The result is None if no edge joins different labels.
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
    """Whether a component contains two samples of different labels that are not copies."""
    n_components, component = _components(len(codes), first, second)
    labeled = codes >= 0
    # A component with labelled samples at two different positions has such a pair if and only if it
    # has two different labels. Their positions do not matter.
    places = np.unique(component[labeled] * len(codes) + copies[labeled]) // len(codes)
    labels = np.unique(component[labeled] * len(codes) + codes[labeled]) // len(codes)
    several_places = np.bincount(places, minlength=n_components) > 1
    several_labels = np.bincount(labels, minlength=n_components) > 1
    return bool((several_places & several_labels).any())


def _complete_tree(rows: Any) -> _Edges:
    """Return the minimum spanning tree of the complete graph.

    Prim's algorithm needs only one row of distances at a time.
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
    """Return the minimum spanning forest of a graph."""
    # SciPy interprets a length of zero as no edge. The ranks of the edges, from 1, replace their
    # lengths.
    order = np.argsort(edges.squared, kind="stable")
    rank = np.empty(len(order))
    rank[order] = np.arange(1, len(order) + 1)
    tree = minimum_spanning_tree(sp.csr_array((rank, (edges.first, edges.second)), shape=(n, n)))
    chosen = order[tree.data.astype(np.int64) - 1]
    return _Edges(edges.first[chosen], edges.second[chosen], edges.squared[chosen])


def _steepness(width: float, largest: float) -> float:
    """Return the factor from a squared distance to the binary logarithm of a weight.

    The factor is limited, because beyond the limit the probabilities no longer change.
    """
    if largest == 0:
        return 0.0
    with np.errstate(over="ignore", divide="ignore"):
        return -min(float(np.divide(LOG2_E, width)), LARGEST_EXPONENT / largest)


# ---- Dense graphs


def _complete_shares(
    rows: Any, codes: Integers, unlabeled: Integers, width: float, log_masses: Floats
) -> Floats:
    n_classes = int(codes.max()) + 1
    members = [np.flatnonzero(codes == code) for code in range(n_classes)]
    # No distance exceeds twice the largest distance from the first sample.
    factor = _steepness(width, 4 * float(_distances_from(rows, 0).max()))
    logarithms = np.empty((len(unlabeled), n_classes + len(unlabeled)))
    for place, sample in enumerate(unlabeled):
        to_all = factor * _distances_from(rows, int(sample)) + log_masses + log_masses[sample]
        logarithms[place, n_classes:] = to_all[unlabeled]
        logarithms[place, n_classes + place] = -np.inf
        logarithms[place, :n_classes] = [_log_sum(to_all[of_class]) for of_class in members]
    return solve_dense(logarithms, n_classes)


def _log_sum(logarithms: Floats) -> float:
    """Return log2 Σ 2**x."""
    top = logarithms.max()
    with np.errstate(under="ignore"):
        return float(top + np.log2(np.exp2(logarithms - top).sum()))


def solve_dense(logarithms: Floats, n_classes: int) -> Floats:
    """Compute the harmonic function of a dense graph of unlabelled samples.

    Parameters
    ----------
    logarithms : array of shape (n_unlabeled, n_classes + n_unlabeled)
        Binary logarithms of the weights, first to each class and then to each unlabelled sample.
        The weights between samples are symmetric. The value is −∞ if there is no edge. Every sample
        must have a path to a class.
    n_classes : int
        Number of columns for classes.
    """
    found = by_factorization(logarithms, n_classes)
    return by_elimination(logarithms, n_classes) if found is None else found


def by_factorization(logarithms: Floats, n_classes: int) -> Floats | None:
    """Solve (I − P_uu) F = P_ul Y by LU factorization.

    The result is None if the condition number does not prove its accuracy.
    """
    weights = np.exp2(logarithms - logarithms.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    system = -weights[:, n_classes:]
    np.fill_diagonal(system, 1.0)
    # The transpose of a C array is a Fortran array, which LAPACK can overwrite. In every column the
    # diagonal dominates, so pivoting changes nothing. The 1-norm of the transpose is the largest
    # row sum of the system. This norm bounds the error of each single probability.
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
    """Eliminate the samples from last to first, then substitute back.

    The result is exact up to rounding for any weights. When sample k is eliminated, the weight
    between its neighbours i and j grows by w_ik w_kj / Σ_l w_kl. The sum excludes loops at k, so
    nothing is ever subtracted. A weight is mantissa · 2**exponent with an exponent of any size.
    Each row is overwritten by the probabilities of moving from its sample to the classes and to the
    samples before it. Nothing else is needed afterwards.
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
            # The weights are symmetric, so the weight from i to k equals the weight from k to i.
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
        # Probabilities that underflow here are negligible.
        shares = np.ldexp(mantissa[i, : n_classes + i], powers)
        solution[i] = shares[:n_classes] + shares[n_classes:] @ solution[:i]
    return solution


def _split(logarithms: Floats) -> tuple[Floats, Integers]:
    """Return mantissas from 1 to 2 and exponents for the given binary logarithms of weights."""
    absent = np.isneginf(logarithms)
    mantissa = np.where(absent, 0.0, logarithms)
    exponent = np.floor(mantissa)
    mantissa -= exponent
    np.exp2(mantissa, out=mantissa)
    mantissa[absent] = 0.0
    exponent[absent] = ABSENT
    return mantissa, exponent.astype(np.int64)


def _add(mantissa: Floats, exponent: Integers, more: Floats, more_exponent: Integers) -> None:
    """Add weights to weights in place. The second operand is overwritten.

    The mantissas may grow, but sums of a few thousand terms are far from overflow.
    """
    top = np.maximum(exponent, more_exponent)
    exponent -= top
    more_exponent -= top
    mantissa *= _powers_of_two(exponent)
    more *= _powers_of_two(more_exponent)
    mantissa += more
    exponent[...] = top


def _powers_of_two(exponent: Integers) -> Floats:
    """Compute 2**exponent in place, for exponents of at most zero.

    Exponents below −1000 are negligible and count as −1000. An exponent plus 1023, shifted to the
    upper bits, is the float64 itself. This is several times faster than ldexp.
    """
    np.maximum(exponent, -1000, out=exponent)
    exponent += 1023
    np.left_shift(exponent, 52, out=exponent)
    return exponent.view(np.float64)


# ---- Sparse graphs


def _sparse_shares(
    edges: _Edges, codes: Integers, unlabeled: Integers, width: float, log_masses: Floats
) -> tuple[_Attempt, float]:
    """Return the probabilities of the given samples, and the factor that raised the width."""
    n_classes = int(codes.max()) + 1
    place = np.full(len(codes), -1, dtype=np.int64)
    place[unlabeled] = np.arange(len(unlabeled))
    # Every edge is listed once from each end. Only edges that start at a given sample are used.
    source, target = (
        np.concatenate([edges.first, edges.second]),
        np.concatenate([edges.second, edges.first]),
    )
    steepness = _steepness(width, float(edges.squared.max()))
    chosen = place[source] >= 0
    of_ends = (log_masses[source] + log_masses[target])[chosen]
    source, target, logarithms = (
        place[source[chosen]],
        target[chosen],
        np.tile(steepness * edges.squared, 2)[chosen],
    )
    to_class = codes[target] >= 0
    if len(unlabeled) <= DENSE_UP_TO:
        matrix = np.full((len(unlabeled), n_classes + len(unlabeled)), -np.inf)
        logarithms = logarithms + of_ends
        matrix[source[~to_class], n_classes + place[target[~to_class]]] = logarithms[~to_class]
        key = source[to_class] * n_classes + codes[target[to_class]]
        matrix[:, :n_classes] = _grouped_log_sum(
            logarithms[to_class], key, len(unlabeled) * n_classes
        ).reshape(-1, n_classes)
        return _Attempt(solve_dense(matrix, n_classes), 0.0), 1.0
    column = np.where(to_class, codes[target], n_classes + place[target])
    return solve_raised(source, column, logarithms, len(unlabeled), n_classes, of_ends=of_ends)


def solve_raised(
    source: Integers,
    column: Integers,
    logarithms: Floats,
    n: int,
    n_classes: int,
    *,
    of_ends: Floats | float = 0.0,
) -> tuple[_Attempt, float]:
    """Compute the harmonic function at the given width or at a larger one.

    `of_ends` are the binary logarithms of the masses of both ends of each edge. They do not depend
    on the width.

    If the accuracy cannot be proven, the width is multiplied by 4 until it can. Once all weights
    are nearly equal, a larger width changes nothing, and the last attempt is returned.
    """
    raised = 1.0
    while True:
        attempt = solve_sparse(source, column, logarithms / raised + of_ends, n, n_classes)
        if attempt.deviation <= PROVEN or not np.abs(logarithms).max() > raised:
            return attempt, raised
        raised *= 4.0


def _grouped_log_sum(logarithms: Floats, group: Integers, n_groups: int) -> Floats:
    """Return log2 Σ 2**x of each group, −∞ for an empty group."""
    top = np.full(n_groups, -np.inf)
    np.maximum.at(top, group, logarithms)
    total = np.bincount(group, weights=np.exp2(logarithms - top[group]), minlength=n_groups)
    filled = total > 0
    top[filled] += np.log2(total[filled])
    return top


@dataclass(frozen=True)
class _Walk:
    """Transition probabilities of the random walk from n samples.

    `inner` (sparse) leads to the other samples and `outer` to the classes. `root` is √degree.
    """

    inner: Any
    outer: Floats
    symmetric: Any  # root · inner / root
    root: Floats

    def residual(self, wanted: Floats, values: Floats) -> Floats:
        return np.asarray(wanted - (values - self.inner @ values))


@dataclass(frozen=True)
class _Attempt:
    """A solution with its deviation.

    The deviation is a proven error bound or, without a proof, the largest deviation of a row sum
    from one.
    """

    values: Floats
    deviation: float


def solve_sparse(
    source: Integers, column: Integers, logarithms: Floats, n: int, n_classes: int
) -> _Attempt:
    """Compute the harmonic function of a sparse graph of n unlabelled samples.

    Edges lead from `source` to `column`, which is a class or `n_classes` plus a sample number. Each
    edge between samples is given from both ends.
    """
    walk = _walk(source, column, logarithms, n, n_classes)
    found = [_Attempt(np.full((n, n_classes), 1.0 / n_classes), np.inf)]
    if _rarest_leave(walk) < HOPELESS:
        return found[0]
    for attempt in (by_gradients, _by_factors) if n <= FACTORS_UP_TO else (by_gradients,):
        solution, bound = refine(walk, attempt(walk))
        if bound <= PROVEN:
            return _Attempt(solution, bound)
        # Without a proof, the row sums still indicate the error. They are 1 in the true solution
        # and are not enforced here.
        deviation = float(np.abs(solution.sum(axis=1) - 1).max())
        found.append(_Attempt(solution, deviation if np.isfinite(deviation) else np.inf))
    return min(found, key=lambda attempt: attempt.deviation)


def _rarest_leave(walk: _Walk) -> float:
    """Return the smallest probability of leaving a pair of mutually most likely next steps.

    A random walk stays in such a pair of samples for about the reciprocal number of steps.
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
    # The steps other than the likeliest one are added directly. One minus the likeliest step would
    # round to zero long before this sum does.
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
    """Compute the harmonic function by repeated correction, with an upper bound of the error.

    The same system also gives the mean number of steps h until a random walk reaches a label:
    (I − P) h = 1. If the computed h satisfies (I − P) h ≥ s > 0 and h ≥ 0, no entry of (I − P)⁻¹ r
    exceeds max|r| max(h) / s. The residual r therefore bounds the error of every probability,
    independently of the solver.
    """
    wanted = np.column_stack([walk.outer, np.ones(len(walk.root))])
    values, bound, smallest = np.zeros_like(wanted), np.inf, np.inf
    for _ in range(REFINEMENTS):
        trial = values + correction(walk.residual(wanted, values))
        residual = walk.residual(wanted, trial)
        largest = float(np.abs(residual[:, :-1]).max())
        if not largest < smallest / 2:  # no progress, or NaN
            break
        values, smallest, bound = trial, largest, _error_bound(residual, trial)
        if bound <= PROVEN:
            break
    return values[:, :-1], bound


def _error_bound(residual: Floats, values: Floats) -> float:
    """Return the error bound of `refine`.

    It is infinite if the mean numbers of steps, in the last column, are too inaccurate for a proof.
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
        # The diagonal dominates each row, so no pivoting is needed, and the ordering for symmetric
        # matrices can be used.
        factors = splu(
            system,
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except (RuntimeError, MemoryError):  # exactly singular in float64, or out of memory
        return lambda residual: np.full_like(residual, np.nan)
    return lambda residual: np.asarray(factors.solve(residual))


def by_gradients(walk: _Walk) -> Callable[[Floats], Floats]:
    def correction(residual: Floats) -> Floats:
        # The probabilities need the best possible accuracy. For the mean numbers of steps, one
        # digit is enough for the proof.
        tolerance = np.full(residual.shape[1], RESIDUAL)
        tolerance[-1] = 0.1
        root = walk.root[:, None]
        return conjugate_gradients(walk.symmetric, residual * root, tolerance * root) / root

    return correction


def conjugate_gradients(symmetric: Any, wanted: Floats, allowed: Floats) -> Floats:
    """Solve (I − S) x = b for all columns of b together, until no residual exceeds `allowed`.

    I − S has a unit diagonal. With S = D^-½ W D^-½, this is the method of conjugate gradients for
    D − W with its diagonal as preconditioner.
    """
    values, residual, direction = np.zeros_like(wanted), wanted.copy(), wanted.copy()
    squares, scratch = np.einsum("ij,ij->j", residual, residual), np.empty_like(wanted)
    for iteration in range(MOST_ITERATIONS):
        if iteration % ITERATIONS_BETWEEN_CHECKS == 0 and (np.abs(residual) <= allowed).all():
            break
        image = symmetric @ direction
        np.subtract(direction, image, out=image)
        step = _quotient(squares, np.einsum("ij,ij->j", direction, image))
        # A scratch array is reused, because allocating a new one takes as long as the sum.
        values += np.multiply(step, direction, out=scratch)
        image *= step
        residual -= image
        before, squares = squares, np.einsum("ij,ij->j", residual, residual)
        direction *= _quotient(squares, before)
        direction += residual
    return values


def _quotient(numerator: Floats, denominator: Floats) -> Floats:
    """Return the quotient, or zero if the denominator is not positive.

    Columns that have converged, or that suffer from rounding errors, are then no longer changed.
    """
    useful = denominator > 0
    return np.where(useful, numerator / np.where(useful, denominator, 1.0), 0.0)

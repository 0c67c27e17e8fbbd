"""Reference implementations of every score of graphsieve, as printed in the papers: dense, slow and
simple.

The library is tested against this file, so this file must not import from it. Graphs are dense n x n
arrays ``W``, features are columns ``f``, and every energy is a sum over pairs of samples.

A feature may have several columns: ``blocks`` lists the columns of each feature. ``f`` is then an
array of n x columns, and a squared difference is that of two points. Where a score treats a category
differently from a group of columns, ``categorical`` says which features are categories.

``masses`` are the weights m of the samples: graphs have the weights m_i m_j W_ij, and means and
counts use m_i instead of 1.

X may contain NaN for missing values. Distances then use the features that two samples share
(`squared_distances`). `with_gaps` scores each feature where it is observed: all other samples have
mass 0, and their values do not matter.
"""

import math

import numpy as np
from scipy.special import digamma


def score_columns(X, score, blocks=None):
    """Apply ``score`` to every column, or to the columns of every block. Without its constant
    columns (max == min), a feature has no column or keeps the others; no column is NaN.
    """
    X = without_nan(X)
    if blocks is None:
        return np.array([math.nan if f.max() == f.min() else score(f) for f in X.T])
    varying = X.max(axis=0) > X.min(axis=0)
    kept = [[c for c in block if varying[c]] for block in blocks]
    return np.array([score(X[:, columns]) if columns else math.nan for columns in kept])


def without_nan(X):
    """X with an observed value of the same column in place of NaN."""
    X = np.array(X, dtype=float)
    for f in X.T:
        observed = f[~np.isnan(f)]
        f[np.isnan(f)] = observed[0] if len(observed) else 0.0
    return X


def with_gaps(score, X, *args, blocks=None, masses=None, **options):
    """The score of each feature on the samples where all of its columns are observed."""
    X = np.asarray(X, dtype=float)
    found = []
    for j, columns in enumerate(blocks or [[c] for c in range(X.shape[1])]):
        observed = ~np.isnan(X[:, columns]).any(axis=1)
        given = {} if blocks is None else {"blocks": blocks}
        m = ones(len(X), masses) * observed
        found.append(score(X, *args, masses=m, **given, **options)[j])
    return np.array(found)


def square(difference):
    """Squared length: of a number, or of a row of an array."""
    return np.sum(np.square(difference))


def squares(differences):
    """Squared lengths for all samples or pairs. The last axis has the columns of a feature."""
    return np.square(differences) if differences.ndim == 1 else np.sum(differences**2, axis=-1)


def ratio(numerator, denominator):
    """Divide; positive / 0 is inf and 0 / 0 is NaN."""
    if denominator > 0:
        return numerator / denominator
    return math.inf if numerator > 0 else math.nan


def mean(f, weights=None):
    """Weighted mean, computed relative to a value of positive weight, so that the mean of a
    constant is exact.
    """
    weights = np.ones(len(f)) if weights is None else weights
    origin = f[np.argmax(weights > 0)]
    return origin + weights @ (f - origin) / np.sum(weights)


def sum_of_squares(f, weights=None):
    """Squared deviations from the mean, sum_i w_i (f_i - mean)^2."""
    weights = np.ones(len(f)) if weights is None else weights
    return np.sum(weights * squares(f - mean(f, weights)))


def ones(n, masses):
    """The masses of n samples, 1 by default."""
    return np.ones(n) if masses is None else np.asarray(masses, dtype=float)


def weighted(W, masses):
    """The graph with the weights m_i m_j W_ij."""
    m = ones(len(W), masses)
    return m[:, None] * W * m[None, :]


def energy(W, f):
    """E(f) = 1/2 sum_ij W_ij (f_i - f_j)^2."""
    f = f.reshape(len(f), -1)
    return 0.5 * np.sum(W * squares(f[:, None] - f[None, :]))


def spread(W, f):
    """V(f) = sum_i d_i (f_i - mu)^2 with degrees d = W 1 and the degree-weighted mean mu."""
    d = W.sum(axis=1)
    return np.sum(d * squares(f - mean(f, d)))


def laplacian_ratio(W, f):
    """E(f) / V(f), the Laplacian score on a given graph."""
    return ratio(energy(W, f), spread(W, f))


def squared_distances(X):
    """Squared Euclidean distances by explicit differences."""
    X = np.asarray(X, dtype=float)
    return np.array([rescaled((X - x) ** 2) for x in X])


def rescaled(differences):
    """Sums over columns. If some are NaN, the others are summed and divided by their share. Without
    any, the result is infinite.
    """
    shared = np.sum(~np.isnan(differences), axis=1) / differences.shape[1]
    sums = np.sum(np.nan_to_num(differences, nan=0.0), axis=1)
    return np.where(shared > 0, sums / np.where(shared > 0, shared, 1.0), np.inf)


def nearest(distances, candidates, k):
    """The k candidates with the smallest finite distance. Ties are ordered by index."""
    near = sorted(candidates, key=lambda j: (distances[j], j))[:k]
    return [j for j in near if distances[j] < math.inf]


def others(n, i):
    """All samples except i."""
    return [j for j in range(n) if j != i]


def union(neighbor_lists):
    """Adjacency with an edge if i is among the neighbours of j or the reverse."""
    n = len(neighbor_lists)
    A = np.zeros((n, n), dtype=bool)
    for i, neighbors in enumerate(neighbor_lists):
        for j in neighbors:
            A[i, j] = A[j, i] = True
    return A


def knn_adjacency(X, k):
    """Neighbours in X: the k nearest, ties ordered by index (all others if k > n - 1)."""
    d2 = squared_distances(X)
    n = len(d2)
    return union([nearest(d2[i], others(n, i), k) for i in range(n)])


def kth_smallest(values, k):
    """The k-th smallest value, or the largest if there are fewer."""
    return sorted(values)[min(k, len(values)) - 1]


def target_adjacency(y, k):
    """Neighbours in a target: all samples up to the distance of the k-th nearest, with all ties."""
    n = len(y)
    gap = np.abs(y[:, None] - y[None, :])
    reach = [kth_smallest([gap[i, j] for j in others(n, i)], k) for i in range(n)]
    return union([[j for j in others(n, i) if gap[i, j] <= reach[i]] for i in range(n)])


def heat(d2, A, bandwidth):
    """Weights exp(-(d2 - d2_min) / t) on the edges of A, d2_min being the shortest edge."""
    shortest = d2[A].min() if A.any() else 0.0
    return np.where(A, np.exp(-np.maximum(d2 - shortest, 0) / bandwidth), 0.0)


def knn_heat_graph(X, k, bandwidth):
    """The neighbour graph of the Laplacian score."""
    return heat(squared_distances(X), knn_adjacency(X, k), bandwidth)


def pair_graph(n, pairs):
    """W_ij = W_ji = 1 for each pair, independent of its order and of repetitions."""
    W = np.zeros((n, n))
    for i, j in np.asarray(pairs, dtype=int).reshape(-1, 2):
        W[i, j] = W[j, i] = float(i != j)
    return W


def labelled_rows(X, y, masses=None):
    """Labelled rows (class other than -1), their classes and their masses."""
    X, y, m = np.asarray(X, dtype=float), np.asarray(y), ones(len(X), masses)
    return X[y != -1], y[y != -1], m[y != -1]


def laplacian_score(X, *, n_neighbors=5, bandwidth=1.0, blocks=None, masses=None):
    """He, Cai, Niyogi 2005: E(f) / V(f) on the nearest-neighbour graph of X."""
    W = weighted(knn_heat_graph(X, n_neighbors, bandwidth), masses)
    return score_columns(X, lambda f: laplacian_ratio(W, f), blocks)


def supervised_laplacian_score(X, y, *, n_neighbors=5, bandwidth=1.0, blocks=None, masses=None):
    """Doquire, Verleysen 2013, Eq. 3-4: E(f) / V(f) on the nearest-neighbour graph of the
    target.
    """
    y = np.asarray(y, dtype=float)
    d2 = (y[:, None] - y[None, :]) ** 2
    W = weighted(heat(d2, target_adjacency(y, n_neighbors), bandwidth), masses)
    return score_columns(X, lambda f: laplacian_ratio(W, f), blocks)


def semi_supervised_neighbors(d2, known, i, k):
    """The k nearest neighbours of sample i by Eq. 10. A labelled sample keeps all labelled ties at
    the k-th distance.
    """
    candidates = others(len(d2), i)
    if not known[i]:
        return nearest(d2[i], candidates, k)
    reach = kth_smallest([d2[i, j] for j in candidates], k)
    inside = [j for j in candidates if d2[i, j] < reach or (d2[i, j] == reach and known[j])]
    unlabelled_ties = [j for j in candidates if d2[i, j] == reach and not known[j]]
    return inside + unlabelled_ties[: max(0, k - len(inside))]


def semi_supervised_laplacian_score(
    X,
    y,
    *,
    n_neighbors=30,
    n_neighbors_supervised=5,
    bandwidth=1.0,
    label_weight=5.0,
    blocks=None,
    masses=None,
):
    """Doquire, Verleysen 2013, Eq. 10-12: the semi-supervised term times SLS on the labelled
    samples.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    known = ~np.isnan(y)
    both = known[:, None] & known[None, :]
    n_features = X.shape[1] if blocks is None else len(blocks)
    d2 = np.where(both, (y[:, None] - y[None, :]) ** 2, squared_distances(X) / n_features)
    A = union([semi_supervised_neighbors(d2, known, i, n_neighbors) for i in range(len(X))])
    W = weighted(heat(d2, A, bandwidth) * np.where(both, label_weight, 1.0), masses)
    semi = score_columns(X, lambda f: laplacian_ratio(W, f), blocks)
    if known.sum() < 2:
        return semi
    return semi * supervised_laplacian_score(
        X[known],
        y[known],
        n_neighbors=n_neighbors_supervised,
        bandwidth=bandwidth,
        blocks=blocks,
        masses=ones(len(X), masses)[known],
    )


def constraint_score(
    X, must_link, cannot_link, *, form="ratio", weight=0.1, blocks=None, masses=None
):
    """Zhang, Chen, Zhou 2008: sum_ML (f_i - f_j)^2 divided by sum_CL (CS-1), or minus weight times
    sum_CL (CS-2).
    """
    must = weighted(pair_graph(len(X), must_link), masses)
    cannot = weighted(pair_graph(len(X), cannot_link), masses)
    if form == "ratio":
        return score_columns(X, lambda f: ratio(energy(must, f), energy(cannot, f)), blocks)
    return score_columns(X, lambda f: energy(must, f) - weight * energy(cannot, f), blocks)


def constrained_laplacian_score(
    X,
    must_link,
    cannot_link,
    *,
    n_neighbors=10,
    bandwidth=0.1,
    cut_cannot_link=False,
    blocks=None,
    masses=None,
):
    """Benabdeslem, Hindawi 2011, Eq. 4-6, as printed: the numerator is a sum over ordered pairs."""
    n, m = len(X), ones(len(X), masses)
    cannot = pair_graph(n, cannot_link) > 0
    A = knn_adjacency(X, n_neighbors)
    if cut_cannot_link:
        A = A & ~cannot
    cannot = cannot & (np.outer(m, m) > 0)
    S = weighted(heat(squared_distances(X), A | (pair_graph(n, must_link) > 0), bandwidth), masses)
    D = S.sum(axis=1)
    constrained = [j for j in range(n) if cannot[j].any()]

    def score(f):
        mu = mean(f, m)
        numerator = sum(S[i, j] * square(f[i] - f[j]) for i in range(n) for j in range(n))
        denominator = 0.0
        for i in range(n):
            for j in constrained:
                alpha = f[j] if cannot[i, j] else mu
                denominator += square(f[i] - alpha) * D[i] * m[j]
            if not constrained:
                denominator += square(f[i] - mu) * D[i]
        return ratio(numerator, denominator)

    return score_columns(X, score, blocks)


def c4_score(X, must_link, cannot_link, *, n_neighbors=10, bandwidth=1.0, blocks=None, masses=None):
    """Kalakech et al. 2011: the Laplacian score times the constraint score (0 x inf is NaN)."""
    with np.errstate(invalid="ignore"):
        return laplacian_score(
            X, n_neighbors=n_neighbors, bandwidth=bandwidth, blocks=blocks, masses=masses
        ) * constraint_score(X, must_link, cannot_link, blocks=blocks, masses=masses)


def weighted_laplacian_score(X, label_proba, *, class_weight=None, blocks=None, masses=None):
    """Doquire, Verleysen 2012, Eq. 3-5: W_ij = sum_c P_ic P_jc over its complement 1 - W_ij."""
    P = np.asarray(label_proba, dtype=float)
    if class_weight == "balanced":
        P = P[:, P.sum(axis=0) > 0]
        P = P / np.sqrt(ones(len(P), masses) @ P)
    similar = np.array([[np.sum(p * q) for q in P] for p in P])
    alike, different = weighted(similar, masses), weighted(1.0 - similar, masses)
    return score_columns(X, lambda f: ratio(energy(alike, f), energy(different, f)), blocks)


def variance_score(X, *, blocks=None, masses=None):
    """Population variance, 1/n sum_i (f_i - mean)^2. For several columns it is the trace of their
    covariance.
    """
    m = ones(len(X), masses)
    return score_columns(X, lambda f: sum_of_squares(f, m) / m.sum(), blocks)


def fisher_score(X, y, *, blocks=None, masses=None):
    """Sum_c n_c (mu_c - mu)^2 / sum_c n_c sigma_c^2 over the labelled samples."""
    X, y, m = labelled_rows(X, y, masses)

    def score(f):
        groups = [(f[y == c], m[y == c]) for c in np.unique(y)]
        between = sum(w.sum() * square(mean(g, w) - mean(f, m)) for g, w in groups)
        within = sum(sum_of_squares(g, w) for g, w in groups)
        return ratio(between, within)

    return score_columns(X, score, blocks)


def pearson_score(X, y, *, blocks=None, masses=None):
    """Absolute correlation |sum (f - mean f)(y - mean y)| / sqrt(SS_f SS_y). For several columns it
    is the correlation of y with its least-squares fit by them.
    """
    y, m = np.asarray(y, dtype=float), ones(len(X), masses)

    def score(f):
        if f.ndim == 2:
            centered, root = f - mean(f, m), np.sqrt(m)
            f = centered @ np.linalg.lstsq(root[:, None] * centered, root * (y - mean(y, m)))[0]
        product = np.sum(m * (f - mean(f, m)) * (y - mean(y, m)))
        sizes = sum_of_squares(f, m), sum_of_squares(y, m)
        return ratio(abs(product), math.sqrt(sizes[0]) * math.sqrt(sizes[1]))

    return score_columns(X, score, blocks)


def average_ranks(y):
    """Ranks from 1. Equal values get the mean of their ranks."""
    return np.array([np.sum(y < v) + (np.sum(y == v) + 1) / 2 for v in y])


def scaled_gaps(f):
    """|f_i - f_j| / std(f) for all pairs. Equal differences stay exactly equal."""
    return np.abs(f[:, None] - f[None, :]) / (f.std() or 1.0)


def kraskov_information(f, y, k, m):
    """Kraskov et al. 2004, Eq. 8: psi(n) + psi(k) - <psi(n_f + 1) + psi(n_y + 1)>, at least 0."""
    n = len(f)
    k = min(k, n - 1)
    gap_f, gap_y = scaled_gaps(f), scaled_gaps(y)
    terms = []
    for i in range(n):
        rest = others(n, i)
        inside = np.nextafter(kth_smallest(np.maximum(gap_f[i, rest], gap_y[i, rest]), k), 0)
        n_f, n_y = np.sum(gap_f[i, rest] <= inside), np.sum(gap_y[i, rest] <= inside)
        terms.append(digamma(n_f + 1) + digamma(n_y + 1))
    return max(0.0, digamma(n) + digamma(k) - np.average(terms, weights=m))


def ross_information(f, y, k, m):
    """Ross 2014, Eq. 1: psi(n) + <psi(k_i) - psi(N_class) - psi(m_i)>, at least 0.

    Classes with one member are omitted. As in scikit-learn, m_i counts the sample itself and all
    samples strictly nearer than its k_i-th neighbour of the same class.
    """
    keep = np.array([np.sum(y == c) > 1 for c in y])
    gap, y = scaled_gaps(f)[np.ix_(keep, keep)], y[keep]
    n = len(y)
    terms = []
    for i in range(n):
        hits = [j for j in others(n, i) if y[j] == y[i]]
        m_i = np.sum(gap[i] <= np.nextafter(kth_smallest(gap[i, hits], k), 0))
        terms.append(digamma(min(k, len(hits))) - digamma(len(hits) + 1) - digamma(m_i))
    return max(0.0, digamma(n) + np.average(terms, weights=m[keep])) if terms else math.nan


def discrete_information(a, b, m):
    """Mutual information sum_ab p_ab ln(p_ab / (p_a p_b)) of the frequencies of two categories."""
    pairs = list(zip(a, b, strict=True))
    return max(0.0, entropy(list(a), m) + entropy(list(b), m) - entropy(pairs, m))


def mutual_information_score(X, y, *, n_neighbors=3, blocks=None, categorical=None, masses=None):
    """Nearest-neighbour mutual information: Kraskov on the ranked target, or Ross for classes. A
    category is discrete: Ross on the ranked target, or frequencies for classes.
    """
    y, m = np.asarray(y), ones(len(X), masses)
    X, y, masses = np.asarray(X, dtype=float)[m > 0], y[m > 0], m[m > 0]
    m = masses
    if y.dtype.kind == "f" and np.any(y != np.round(y)):
        y = average_ranks(y)
        of_number, of_category = kraskov_information, ross_information_of_target
    else:
        X, y, m = labelled_rows(X, y, masses)
        of_number, of_category = ross_information, discrete_information_of_classes
    X = np.asarray(X, dtype=float)
    blocks = [[c] for c in range(X.shape[1])] if blocks is None else blocks
    categorical = [False] * len(blocks) if categorical is None else categorical

    def score(columns, is_category):
        if not is_category:
            (column,) = columns
            return score_columns(X[:, [column]], lambda f: of_number(f, y, n_neighbors, m))[0]
        levels = [tuple(row) for row in X[:, columns].tolist()]
        return of_category(levels, y, n_neighbors, m) if len(set(levels)) > 1 else math.nan

    return np.array([score(*one) for one in zip(blocks, categorical, strict=True)])


def ross_information_of_target(levels, y, k, m):
    codes = np.array([sorted(set(levels)).index(level) for level in levels])
    found = ross_information(y, codes, k, m)
    return 0.0 if math.isnan(found) else found


def discrete_information_of_classes(levels, y, _, m):
    return discrete_information(levels, y.tolist(), m)


def relieff_score(X, y, *, n_neighbors=10, blocks=None, categorical=None, masses=None):
    """Robnik-Sikonja, Kononenko 2003: nearest misses, weighted P(C) / (1 - P(own)), minus
    nearest hits. Two levels of a category differ by 1. A group of columns differs by the mean
    difference of those that vary.
    """
    X, y, m = labelled_rows(X, y, masses)
    n = len(X)
    blocks = [[c] for c in range(X.shape[1])] if blocks is None else blocks
    categorical = [False] * len(blocks) if categorical is None else categorical
    span = np.ptp(without_nan(X), axis=0)
    scaled = X / np.where(span > 0, span, 1.0)
    prior = {c: np.sum(m[y == c]) / np.sum(m) for c in np.unique(y)}
    total = np.zeros(len(blocks))

    def varying(columns):
        return [c for c in columns if span[c] > 0] or columns

    for i in range(n):
        difference = np.stack(
            [
                np.where(
                    np.isnan(X[:, columns] + X[i, columns]).any(axis=1),
                    np.nan,
                    np.any(X[:, columns] != X[i, columns], axis=1),
                )
                if is_category
                else np.abs(scaled - scaled[i])[:, varying(columns)].mean(axis=1)
                for columns, is_category in zip(blocks, categorical, strict=True)
            ],
            axis=1,
        )
        # Differences that are equal in exact arithmetic, such as steps of 1/3, may differ in their
        # last bit. Therefore distances are compared on a fine grid.
        distance = np.rint(rescaled(difference) / 2.0 ** (math.ceil(math.log2(X.shape[1])) - 40))
        for c, share in prior.items():
            members = [j for j in others(n, i) if y[j] == c]
            near = nearest(distance, members, n_neighbors)
            if np.sum(m[near]) > 0 and m[i] > 0:
                observed = np.nan_to_num(difference[near], nan=0.0)
                mean_difference = np.average(observed, axis=0, weights=m[near])
                factor = -1.0 if c == y[i] else share / (1 - prior[y[i]])
                total += m[i] * factor * mean_difference
    return np.where([np.any(span[columns] > 0) for columns in blocks], total / m.sum(), np.nan)


def spec_score(
    X,
    *,
    form="phi2",
    n_neighbors=5,
    bandwidth=1.0,
    power=1,
    n_components=None,
    blocks=None,
    masses=None,
):
    """Zhao, Liu 2007 (SPEC): phi1, phi2, phi3 from the eigenpairs of the normalised Laplacian."""
    W = weighted(knn_heat_graph(X, n_neighbors, bandwidth), masses)
    d = W.sum(axis=1)
    linked = d > 0
    X, W, d = np.asarray(X, dtype=float)[linked], W[np.ix_(linked, linked)], d[linked]
    root = np.sqrt(d)
    calL = (np.diag(d) - W) / np.outer(root, root)
    xi1 = root / np.linalg.norm(root)
    # xi1 has eigenvalue 0. Shifted to 3, it becomes the last one, and the others are orthogonal to
    # it.
    values, vectors = np.linalg.eigh(calL + 3.0 * np.outer(xi1, xi1))
    values, vectors = np.maximum(values[:-1], 0.0), vectors[:, :-1]

    def score(f):
        f_hat = root[:, None] * f.reshape(len(f), -1)
        f_hat = f_hat / np.linalg.norm(f_hat)
        rest = f_hat - np.outer(xi1, xi1 @ f_hat)  # |rest|^2 = 1 - (f_hat . xi1)^2
        along = squares(vectors.T @ rest)
        phi1 = np.sum(values**power * along)
        if form == "phi1":
            return phi1
        if form == "phi2":
            return ratio(phi1, square(rest))
        kept = slice(None) if n_components is None else slice(n_components - 1)
        return np.sum((2.0**power - values[kept] ** power) * along[kept])

    return score_columns(X, score, blocks)


def entropy(labels, m):
    """Entropy of the empirical distribution of samples with the masses m, in nats."""
    mass = dict.fromkeys(labels, 0.0)
    for label, one in zip(labels, m, strict=True):
        mass[label] += one
    shares = [one / sum(m) for one in mass.values()]
    return -sum(share * math.log(share) for share in shares if share > 0)


def normalized_information(a, b, m):
    """MI / max(H, H) of two discrete variables; 0 if both are constant."""
    largest = max(entropy(a, m), entropy(b, m))
    information = entropy(a, m) + entropy(b, m) - entropy(list(zip(a, b, strict=True)), m)
    return information / largest if largest > 0 else 0.0


def sselect_score(X, y, *, n_neighbors=10, bandwidth=1.0, trade_off=0.1, masses=None):
    """Zhao, Liu 2007 (sSelect): trade_off LS + (1 - trade_off)(1 - NMI(sign of centred f,
    labels)).
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    W = weighted(knn_heat_graph(X, n_neighbors, bandwidth), masses)
    known, m = y != -1, ones(len(X), masses)

    def score(f):
        above = f - mean(f, W.sum(axis=1)) >= -1e-12 * (f.max() - f.min())
        information = normalized_information(above[known].tolist(), y[known].tolist(), m[known])
        return trade_off * laplacian_ratio(W, f) + (1 - trade_off) * (1 - information)

    return score_columns(X, score)


def lsdf_score(X, y, *, n_neighbors=5, same_class_weight=100.0, blocks=None, masses=None):
    """Zhao, Lu, He 2008 (LSDF): E_b(f) / E_w(f), between classes over within classes and
    neighbours.
    """
    y = np.asarray(y)
    known = y != -1
    both = known[:, None] & known[None, :]
    same = both & (y[:, None] == y[None, :])
    within = np.where(
        same, same_class_weight, np.where(knn_adjacency(X, n_neighbors) & ~both, 1.0, 0.0)
    )
    between = np.where(both & ~same, 1.0, 0.0)
    within, between = weighted(within, masses), weighted(between, masses)
    return score_columns(X, lambda f: ratio(energy(between, f), energy(within, f)), blocks)


def harmonic_labels(X, y, *, n_neighbors=None, bandwidth=1.0, masses=None):
    """Zhong 2008, Eq. 1-3 (Zhu 2003): F_u = (I - P_uu)^-1 P_ul Y_l with P = D^-1 W.

    The label -1 means unlabelled, and the classes are 0, 1, ...
    """
    y = np.asarray(y)
    n_classes = y.max() + 1
    linked = ~np.eye(len(y), dtype=bool) if n_neighbors is None else knn_adjacency(X, n_neighbors)
    W = weighted(np.where(linked, np.exp(-squared_distances(X) / bandwidth), 0.0), masses)
    P = W / W.sum(axis=1, keepdims=True)
    unknown, known = np.flatnonzero(y == -1), np.flatnonzero(y != -1)
    F = np.zeros((len(y), n_classes))
    F[known, y[known]] = 1.0
    F[unknown] = (
        np.linalg.inv(np.eye(len(unknown)) - P[np.ix_(unknown, unknown)])
        @ P[np.ix_(unknown, known)]
        @ F[known]
    )
    return F


def harmonic_labels_exact(W, n_classes):
    """Solve (D - W_uu) F = W_ul Y in fractions.

    W has rows for the unlabelled samples, and columns for the classes and then for the unlabelled
    samples.
    """
    n = len(W)
    rows = [
        [-W[i][n_classes + j] for j in range(n)] + [W[i][c] for c in range(n_classes)]
        for i in range(n)
    ]
    for i in range(n):
        rows[i][i] = sum(value for j, value in enumerate(W[i]) if j != n_classes + i)
    for i in range(n):  # Gauss-Jordan elimination
        pivot = next(row for row in range(i, n) if rows[row][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for other in range(n):
            if other != i:
                rows[other] = [
                    a - rows[other][i] * b for a, b in zip(rows[other], rows[i], strict=True)
                ]
    return [row[n:] for row in rows]


def first_edge_between_labels(X, y, *, n_neighbors=None):
    """Squared length of the first edge longer than 0 that joins groups with different labels in the
    algorithm of Kruskal, or None.
    """
    squared = squared_distances(X)
    linked = (
        np.ones(squared.shape, dtype=bool) if n_neighbors is None else knn_adjacency(X, n_neighbors)
    )
    group = list(range(len(y)))
    labels = [{label} - {-1} for label in np.asarray(y).tolist()]
    pairs = [(squared[i, j], i, j) for i in range(len(y)) for j in range(i) if linked[i, j]]
    for length, i, j in sorted(pairs):
        one, other = group[i], group[j]
        if one == other:
            continue
        if length > 0 and any(a != b for a in labels[one] for b in labels[other]):
            return length
        group = [one if g == other else g for g in group]
        labels[one] = labels[one] | labels[other]
    return None


def distances_in_order(X):
    """Squared Euclidean distances, summed from the first feature to the last. The order determines
    the ties that result from rounding.
    """
    X = np.asarray(X, dtype=float)
    total = np.zeros((len(X), len(X)))
    for f in X.T:
        total += (f[:, None] - f[None, :]) ** 2
    return total


def knn_heat_graph_in_order(X, k, bandwidth):
    """The nearest-neighbour graph with heat weights, on distances that are summed in order."""
    d2 = distances_in_order(X)
    n = len(d2)
    A = union([nearest(d2[i], others(n, i), k) for i in range(n)])
    return heat(d2, A, bandwidth)


def by_score(features, scores):
    """Features from the smallest score to the largest, with ties in column order and NaN last."""
    return [
        f
        for f, s in sorted(
            zip(features, scores, strict=True),
            key=lambda pair: (math.isnan(pair[1]), pair[1], pair[0]),
        )
    ]


def iterative_ranking(
    X, *, n_features_to_select=1, step=1, variant=1, n_neighbors=5, bandwidth=1.0, blocks=None
):
    """IterativeLS as printed in the paper: build the graph, score, rank, discard the last, repeat.

    The graph is built from all columns of the current features.
    """
    X = np.asarray(X, dtype=float)
    blocks = [[c] for c in range(X.shape[1])] if blocks is None else blocks
    all_features = list(range(len(blocks)))
    current, discarded = all_features, []
    while True:
        columns = [c for f in current for c in blocks[f]]
        W = knn_heat_graph_in_order(X[:, columns], n_neighbors, bandwidth)
        scored = current if variant == 1 else all_features
        scores = score_columns(X, lambda f, W=W: laplacian_ratio(W, f), [blocks[f] for f in scored])
        order = by_score(scored, scores)
        size = max(len(current) - step, n_features_to_select)
        rest, discarded = order[:size], (order[size:] + discarded if variant == 1 else order[size:])
        current = sorted(rest)
        if size == n_features_to_select:
            return np.array(rest + discarded)


def standardized(f, is_category):
    """The columns of a feature with a total variance of 1: those of a category divided by one
    number, those of a group each by a separate one. Constant columns are left out.
    """
    f = f[:, f.max(axis=0) > f.min(axis=0)] - f.mean(axis=0)[f.max(axis=0) > f.min(axis=0)]
    deviations = f.std(axis=0)
    return f / (np.linalg.norm(deviations) if is_category else deviations * math.sqrt(f.shape[1]))


def leave_one_out_r2(X, y, features, ridge=1.0):
    """1 - PRESS / PRESS of the mean, for ridge regression on standardised columns with each sample
    left out in turn.
    """
    X = np.asarray(X, dtype=float)[:, list(features)]
    return leave_one_out_r2_of((X - X.mean(axis=0)) / X.std(axis=0), y, ridge)


def leave_one_out_r2_of(Z, y, ridge=1.0):
    """The same for columns that are already standardised."""
    Y = np.asarray(y, dtype=float)
    Y = Y[:, None] if Y.ndim == 1 else Y
    error = total = 0.0
    for i in range(len(Z)):
        rest = np.arange(len(Z)) != i
        # The intercept is not penalised, so the remaining samples are centred before the fit.
        mz, my = Z[rest].mean(axis=0), Y[rest].mean(axis=0)
        A = (Z[rest] - mz).T @ (Z[rest] - mz) + ridge * np.eye(Z.shape[1])
        beta = (
            np.linalg.solve(A, (Z[rest] - mz).T @ (Y[rest] - my))
            if Z.shape[1]
            else np.zeros((0, Y.shape[1]))
        )
        error += np.sum((Y[i] - my - (Z[i] - mz) @ beta) ** 2)
        total += np.sum((Y[i] - my) ** 2)
    return 1 - error / total


def floating_forward(value, n_features, wanted, tie=1e-10):
    """SFFS on a function of sets: include the best feature, then exclude features while this
    improves on all smaller sets found so far.
    """
    best = {}

    def first_best(sets):
        values = [value(s) for s in sets]
        return next((s, v) for s, v in zip(sets, values, strict=True) if v >= max(values) - tie)

    def improves(s, v):
        return len(s) not in best or v > best[len(s)][1] + tie

    current = ()
    while len(current) < wanted:
        larger, v = first_best([(*current, f) for f in range(n_features) if f not in current])
        if not improves(larger, v):
            current = best[len(larger)][0]
            continue
        best[len(larger)] = (larger, v)
        current, added = larger, larger[-1]
        first_time = True
        while len(current) > 2:
            smaller, v = first_best([tuple(f for f in current if f != g) for g in current])
            # Step 2 of the paper does not exclude the feature just added. Step 3, which follows an
            # exclusion, may exclude it.
            if (first_time and added not in smaller) or not improves(smaller, v):
                break
            best[len(smaller)] = (smaller, v)
            current, first_time = smaller, False
    return best[wanted][0], best

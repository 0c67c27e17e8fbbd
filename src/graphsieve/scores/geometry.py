"""Scores that need no supervision. They use only the geometry of the samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError, warn
from graphsieve._base.messages import parameter, phrase
from graphsieve._base.parameters import choice, setting
from graphsieve._kernels.column_sums import weighted_sum
from graphsieve.graphs.builders import neighbor_graph
from graphsieve.graphs.graph import LiftedGraph, SparseGraph
from graphsieve.graphs.ratio import laplacian_ratio, on_samples, per_column, quotients
from graphsieve.scores.method import Scored, score
from graphsieve.supervision.value import Supervision
from graphsieve.table.blocks import Block
from graphsieve.table.columns import Table
from graphsieve.table.sums import dense_weighting, group_weightings, moments

SPEC_FORMS = ("phi1", "phi2", "phi3")


def laplacian_score(
    X: Any, *, n_neighbors: int = 5, bandwidth: float = 1.0, neighbors: Any = "auto"
) -> Floats:
    """Compute the Laplacian score of each feature.

    The score compares the variation of a feature between nearest neighbours with its total
    variation. It is E(f) / spread(f) on the graph of nearest neighbours in X, where each edge has
    the weight W_ij = exp(−d_ij²/bandwidth). Here E(f) = ½ Σ_ij W_ij (f_i − f_j)² and spread(f) =
    Σ_i D_i (f_i − μ)², with the degrees D and the degree-weighted mean μ of the feature. Small is
    good. The score lies in [0, 2]. A constant feature gets NaN.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features. They are not rescaled, so scale them first if their units differ.
    n_neighbors : int
        Number of neighbours per sample. Two samples are linked if either is among the
        `n_neighbors` nearest neighbours of the other.
    bandwidth : float
        Bandwidth t of the heat kernel.
    neighbors : {"auto", "exact", "approximate"} or transformer
        Method of the neighbour search. ``"auto"`` is exact if that takes at most about a minute on
        two cores (400,000 × 50, or 130,000 × 500). Beyond that it is approximate, and a warning
        reports the recall, measured on some of the samples. A transformer finds the neighbours as
        scikit-learn's ``KNeighborsTransformer`` does; the distances are then recomputed.

    Returns
    -------
    scores : array of shape (n_features,)
        The score of each feature.

    References
    ----------
    He, Cai, Niyogi (2005), Laplacian score for feature selection.

    Examples
    --------
    The first column separates the two groups, and the second alternates within them:

    >>> laplacian_score([[0, 0], [0, 1], [9, 0], [9, 1]], n_neighbors=1).round(2)
    array([0., 2.])
    """
    return score(laplacian, X, neighbors=neighbors, n_neighbors=n_neighbors, bandwidth=bandwidth)


def laplacian(table: Table, _: Supervision, *, n_neighbors: int, bandwidth: float | None) -> Scored:
    near = neighbor_graph(table, n_neighbors, bandwidth)
    return Scored(laplacian_ratio(table, near.graph), near.n_neighbors, near.bandwidth)


def variance_score(X: Any) -> Floats:
    """Compute the variance of each feature, Σ_i (f_i − mean)² / n.

    Large is good. A constant feature gets NaN. The variance of a category is the sum of the
    variances of its indicators.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features. The score depends on their units.

    Returns
    -------
    scores : array of shape (n_features,)
        The variance of each feature.

    References
    ----------
    Bishop (1995), Neural networks for pattern recognition.

    Examples
    --------
    >>> variance_score([[0, 1], [2, 1.5]])
    array([1.    , 0.0625])
    """
    return score(variance, X)


def variance(table: Table, _: Supervision) -> Scored:
    shares = dense_weighting(table.masses / table.masses.sum())
    return Scored(in_original_units(table, lambda block: moments(block, shares).scatter[0]))


def in_original_units(table: Table, value: Any) -> Floats:
    """Evaluate a quadratic form in the units of X, for the few scores that are not ratios."""

    def unscaled(block: Block) -> Floats:
        scaled = value(block)
        with np.errstate(over="ignore", under="ignore"):
            result = np.ldexp(scaled, 2 * block.exponent)
        for lost, what in (
            (np.isinf(result), "exceeds the largest number; divide"),
            ((result == 0) & (scaled != 0), "is below the smallest number; multiply"),
        ):
            if lost.any():
                where = table.label(block.start + int(np.flatnonzero(lost)[0]))
                raise InputError(
                    "the score of ", where, f" {what} ", phrase("X by a constant"), " first."
                )
        return np.asarray(result)

    values = per_column(table, unscaled)
    if table.features is None:
        return values
    varies = table.features.sums(~np.isnan(values) * 1) > 0
    return np.where(varies, table.features.sums(np.nan_to_num(values, nan=0.0)), np.nan)


def spec_score(
    X: Any,
    *,
    form: str = "phi2",
    n_neighbors: int = 5,
    bandwidth: float = 1.0,
    power: int = 1,
    n_components: int | None = None,
    neighbors: Any = "auto",
) -> Floats:
    """Compute the spectral feature selection score (SPEC) of each feature.

    The score measures how a feature is distributed over the eigenvectors of the neighbour graph.
    The graph has the degrees D and the normalised Laplacian 𝓛 = Σ_j λ_j ξ_j ξ_jᵀ. With
    g = D^½ f / ‖D^½ f‖, the three forms are:

    - ``"phi1"``: gᵀ 𝓛^r g (small is good).
    - ``"phi2"``: phi1 / (1 − (gᵀξ₁)²) (small is good). For power 1 it equals the Laplacian score.
    - ``"phi3"``: Σ_{j=2}^k (2^r − λ_j^r) (gᵀξ_j)² (large is good).

    Only phi2 is invariant when a constant is added to a feature. The other forms are defined on its
    raw values. Isolated samples have no influence. A constant feature gets NaN.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features. They are not rescaled.
    form : {"phi1", "phi2", "phi3"}
        The form of the score.
    n_neighbors, bandwidth : int, float
        Number of neighbours and bandwidth of the graph, as in `laplacian_score`.
    power : int
        Exponent r of the spectrum.
    n_components : int, optional
        Number k of eigenvectors for phi3. It includes the trivial eigenvector and must be at least
        the number of connected components of the graph. By default all eigenvectors count; in this
        case none needs to be computed.
    neighbors : {"auto", "exact", "approximate"} or transformer
        Method of the neighbour search, as in `laplacian_score`.

    Returns
    -------
    scores : array of shape (n_features,)
        The score of each feature.

    References
    ----------
    Zhao, Liu (2007), Spectral feature selection for supervised and unsupervised learning.

    Examples
    --------
    >>> spec_score([[0, 0], [0, 1], [9, 0], [9, 1]], n_neighbors=1).round(2)
    array([0., 2.])
    """
    options: dict[str, Any] = {
        "form": form,
        "n_neighbors": n_neighbors,
        "bandwidth": bandwidth,
        "power": power,
        "n_components": n_components,
    }
    return score(spec, X, neighbors=neighbors, **options)


def spec(
    table: Table,
    _: Supervision,
    *,
    form: str,
    n_neighbors: int,
    bandwidth: float | None,
    power: int,
    n_components: int | None,
) -> Scored:
    choice(SPEC_FORMS)("form", form)
    if n_components is not None and form != "phi3":
        raise InputError(
            parameter("n_components", n_components),
            f" belongs to form='phi3', got form={form!r}; leave it out.",
        )
    near = neighbor_graph(table, n_neighbors, bandwidth)
    spectrum = _Spectrum(on_samples(near.graph, table), power, n_components)
    value = {"phi1": spectrum.phi1, "phi2": spectrum.phi2, "phi3": spectrum.phi3}[form]
    return Scored(quotients(table, value), near.n_neighbors, near.bandwidth)


class _Spectrum:
    """The normalised Laplacian of a graph, with the three SPEC forms for a block of features."""

    def __init__(self, graph: Any, power: int, n_components: int | None) -> None:
        self.graph: SparseGraph | LiftedGraph = graph
        self.power = power
        self.degree = graph.degree()
        self.root = np.sqrt(self.degree)
        # Isolated samples have degree 0, which must not be divided by.
        self.inverse_root = 1.0 / np.where(self.degree > 0, self.root, 1.0)
        self.weighting = dense_weighting(self.degree)
        linked = int((self.degree > 0).sum())
        truncated = n_components is not None and n_components < linked
        self.pairs = (
            self._smallest_pairs(n_components) if truncated and n_components is not None else None
        )

    def phi1(self, block: Block) -> tuple[Floats, Floats]:
        return self._quadratic(block), self._squared_norm(block)

    def phi2(self, block: Block) -> tuple[Floats, Floats]:
        return self._quadratic(block), moments(block, self.weighting).scatter[0]

    def phi3(self, block: Block) -> tuple[Floats, Floats]:
        # The sum over all eigenvectors but the first needs no eigenvectors: it is 2^r times the
        # centred norm, minus the quadratic form.
        if self.pairs is None:
            whole = 2.0**self.power * moments(block, self.weighting).scatter[0]
            return whole - self._quadratic(block), self._squared_norm(block)
        eigenvalues, eigenvectors = self.pairs
        total = np.zeros(block.width)
        for part, centered in self._centered_parts(block):
            # A sparse product always adds in the same order, whichever columns are next to each
            # other. Copies of a column therefore get exactly equal scores.
            along = sp.csr_array(eigenvectors.T) @ centered
            total[part] = weighted_sum(2.0**self.power - eigenvalues**self.power, along**2)
        return total, self._squared_norm(block)

    def _apply(self, vectors: Floats) -> Floats:
        """Return 𝓛 times one vector, or times each column of an array."""
        scale = self.inverse_root if vectors.ndim == 1 else self.inverse_root[:, None]
        linked = (self.degree > 0) if vectors.ndim == 1 else (self.degree > 0)[:, None]
        return np.asarray(vectors * linked - scale * (self.graph.times(scale * vectors)))

    def _quadratic(self, block: Block) -> Floats:
        if self.power == 1:
            return self.graph.block_energy(block)
        total = np.zeros(block.width)
        for part, vectors in self._centered_parts(block):
            half = vectors
            for _ in range(self.power // 2):
                half = self._apply(half)
            other = self._apply(half) if self.power % 2 else half
            total[part] = np.maximum(weighted_sum(np.ones(len(half)), half * other), 0.0)
        return total

    def _centered_parts(self, block: Block) -> Any:
        """Yield D^½ (f − μ) in parts.

        𝓛 maps it to the same vector as D^½ f, but a large mean costs no digits.
        """
        mean = moments(block, self.weighting).mean[0]
        for part, values in block.dense_parts():
            yield part, self.root[:, None] * (values - mean[part])

    def _squared_norm(self, block: Block) -> Floats:
        found = moments(block, self.weighting)
        return np.asarray(found.scatter_around(-block.shift)[0])

    def _smallest_pairs(self, n_components: int) -> tuple[Floats, Floats]:
        """Return the smallest eigenvalues and their eigenvectors, including the trivial one.

        Each connected component of the graph has an eigenvalue 0 with a known eigenvector. These
        eigenvectors are constructed directly, because an iterative solver may miss copies of a
        repeated eigenvalue. The solver then finds the remaining ones in their orthogonal
        complement.
        """
        component = self._components()
        n_kernel = component.max() + 1
        if n_components < n_kernel:
            raise InputError(
                setting("n_components", n_components),
                f", but the graph has {n_kernel} connected components, which are equally smooth; "
                f"use at least {n_kernel} components or raise ",
                parameter("n_neighbors"),
                ".",
            )
        kernel = group_weightings(component, n_kernel, self.root).toarray()
        kernel /= np.linalg.norm(kernel, axis=0)
        wanted = n_components - n_kernel
        if not wanted:
            return np.zeros(n_kernel), kernel
        values, vectors = self._iterated_pairs(kernel, wanted)
        return np.concatenate([np.zeros(n_kernel), values]), np.concatenate(
            [kernel, vectors], axis=1
        )

    def _components(self) -> Integers:
        """Return the component number of each sample, −1 for isolated samples."""
        linked = self.degree > 0
        found = self.graph.components()
        numbers = np.full(len(found), -1, dtype=np.int64)
        numbers[linked] = np.unique(found[linked], return_inverse=True)[1]
        return numbers

    def _iterated_pairs(self, kernel: Floats, wanted: int) -> tuple[Floats, Floats]:
        n_samples = len(self.degree)
        linked = (self.degree > 0).astype(np.float64)

        # The operator 2·I − 𝓛 with the kernel of 𝓛 mapped to zero. The wanted eigenvalues are then
        # the largest ones.
        def flipped(vector: Floats) -> Floats:
            vector = np.ravel(vector)
            return np.asarray(
                linked * (2 * vector - self._apply(vector) - 2 * (kernel @ (kernel.T @ vector)))
            )

        operator = sla.LinearOperator((n_samples, n_samples), matvec=flipped, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(n_samples) * linked
        try:
            values, vectors = sla.eigsh(operator, k=wanted, which="LA", v0=start)
        except sla.ArpackNoConvergence:
            n_vectors = min(n_samples, 4 * wanted + 40)
            try:
                values, vectors = sla.eigsh(
                    operator, k=wanted, which="LA", v0=start, ncv=n_vectors, maxiter=100 * n_samples
                )
            except sla.ArpackNoConvergence as error:
                values, vectors = error.eigenvalues, error.eigenvectors
                warn(f"only {len(values)} of {wanted} eigenvectors converged; phi3 uses those.")
        return np.maximum(2 - values, 0.0), vectors

"""The scikit-learn front door: what is known → method → scores → ranks."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

from graphsieve.columns import Table
from graphsieve.parameters import checked
from graphsieve.scaling import rescaled, standardized_target
from graphsieve.scores.method import warn_of_unscorable
from graphsieve.selectors.knowledge import (
    PARAMETERS,
    all_knowledge,
    chosen_method,
    compression,
    method_options,
    ranks,
    selected_count,
    wanted_features,
)
from graphsieve.selectors.sieve import Sieve
from graphsieve.supervision import Supervision, TargetType


class GraphSieve(Sieve):
    """Select features by what is known of the samples, expressed as a graph.

    Parameters
    ----------
    method : str
        A name from `graphsieve.scores.METHODS`, or ``"auto"``: the one that fits what is known (see the table in the README).
    n_features_to_select : int, float or None
        A number of features, a fraction of them, or None for half of them, as in scikit-learn's RFE.
    n_neighbors : int or "auto"
        Neighbours of the graph; ``"auto"`` is the method's published default, at most one fewer than there are samples.
    bandwidth : float or "auto"
        The t of the heat kernel exp(−d²/t); ``"auto"`` is the mean squared length of the graph's edges.
    scale : {"standard", "minmax", None}
        Divide features by their standard deviation or their range before distances are taken, and a continuous target by its
        standard deviation; None takes them as they are. The variance is always taken of the features as they are.
    target_type : {"auto", "classes", "continuous"}
        What `y` is; ``"auto"`` decides as `Supervision.from_y` does.
    unlabeled : int or None
        The number that marks an unknown class label in `y`, besides None and NaN; None if every number is a class.
    method_params : dict, optional
        Further parameters of the method's function, such as ``{"label_weight": 10.0}``.
    compress : {"som", "kmeans", None}
        Build the graph from prototypes in place of the samples of which nothing is known: those of a self-organizing map or of
        k-means. Labelled and paired samples are never compressed. Only for methods whose graph comes from X.
    n_prototypes : int, (int, int) or None
        How many prototypes at most, or the two sides of the map; None is the square root of the number of samples they stand for.

    Attributes
    ----------
    scores_ : array of shape (n_features,)
        The method's own number for each feature; NaN where it cannot be scored.
    ranking_ : array of int of shape (n_features,)
        1 is the best; equal scores in the order of the columns, features without a score last.
    method_, reason_ : str
        The method that ran, and why.
    large_is_good_ : bool
        Whether large scores are good.
    n_neighbors_, bandwidth_ : int, float or None
        As used; None where the method has no such thing.
    scale_ : str or None
        As used.
    n_samples_, n_labeled_ : int
        Samples in all, and those with a known label or target.
    n_prototypes_ : int
        How many prototypes stood for samples; 0 without compression.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> sieve = GraphSieve(n_features_to_select=2).fit(X, y)
    >>> sieve.method_
    'fisher'
    >>> list(sieve.get_feature_names_out())
    ['petal length (cm)', 'petal width (cm)']
    """

    def __init__(
        self,
        method: str = "auto",
        *,
        n_features_to_select: int | float | None = None,
        n_neighbors: int | str = "auto",
        bandwidth: float | str = "auto",
        scale: str | None = "standard",
        target_type: TargetType = "auto",
        unlabeled: int | None = -1,
        method_params: dict[str, Any] | None = None,
        compress: str | None = None,
        n_prototypes: int | tuple[int, int] | None = None,
    ) -> None:
        self.method = method
        self.n_features_to_select = n_features_to_select
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.scale = scale
        self.target_type = target_type
        self.unlabeled = unlabeled
        self.method_params = method_params
        self.compress = compress
        self.n_prototypes = n_prototypes

    def fit(self, X: Any, y: Any = None, supervision: Supervision | None = None) -> GraphSieve:
        """Score and rank the features.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        y : array of shape (n_samples,), optional
            Class labels (−1, None or NaN where unknown) or a continuous target (NaN where unknown).
        supervision : Supervision, optional
            Anything else that is known. It is joined with `y`, unless it brings labels or targets itself: then `y` is left to
            the steps that follow in a pipeline.
        """
        given = checked(self.get_params(deep=False), PARAMETERS)
        table = Table(X)
        wanted = wanted_features(given["n_features_to_select"], table.n_features)
        known = all_knowledge(table, y, supervision, given)
        method, reason = chosen_method(known, supervision, given["method"])
        scale = given["scale"] if method.reads_neighbors or "targets" in method.uses else None
        if scale is not None and known.targets is not None:
            known = replace(known, targets=standardized_target(known.targets))
        scaled = rescaled(table, scale) if method.reads_neighbors else table
        small = compression(scaled, known, method, given)
        options = method_options(method, known if small is None else small.known, given)
        scored = method.core(scaled if small is None else scaled.represented_by(small), known, **options)
        warn_of_unscorable(scored.values)
        large_is_good = method.large_is_good(options)
        ranking = ranks(scored.values, large_is_good=large_is_good)
        support = ranking <= selected_count(wanted, scored.values, exactly=isinstance(given["n_features_to_select"], Integral))
        # Only now, when nothing can fail any more, is anything kept.
        self._describe(X)
        self.method_, self.reason_, self.scale_ = method.name, reason, scale
        self.n_neighbors_, self.bandwidth_ = scored.n_neighbors, scored.bandwidth
        self.n_prototypes_ = 0 if small is None else small.n_prototypes
        self.n_samples_, self.n_labeled_ = table.n_samples, known.n_labeled
        self.scores_, self.ranking_, self.large_is_good_ = scored.values, ranking, large_is_good
        self._support = support
        return self

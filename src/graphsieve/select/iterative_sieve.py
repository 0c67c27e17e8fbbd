"""Iterative selection as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from graphsieve._base.parameters import boolean, checked, choice, either
from graphsieve.scores.method import warn_of_unscorable
from graphsieve.scores.score_registry import METHODS
from graphsieve.search.iterative import Round, check_method, dropped_per_round, iterate, last_scores
from graphsieve.select.preparation import (
    PARAMETERS,
    chosen_method,
    joined_supervision,
    method_options,
    scale_used,
    selected_count,
    wanted_features,
    with_weights,
)
from graphsieve.select.sieve import FittingSieve
from graphsieve.supervision.value import Supervision, TargetType
from graphsieve.table.any_table import table_in_memory
from graphsieve.table.columns import Table
from graphsieve.table.scaling import of_unit_variance, rescaled, standardized_target


class IterativeSieve(FittingSieve):
    """Select features by repeatedly dropping the worst and rebuilding the graph (IterativeLS).

    Each round scores the features on a graph, drops the worst, and rebuilds the graph from the
    others. This helps if a few features carry the structure of the data and many noisy features
    hide it: the graph improves as noise is dropped. It does not remove redundancy. Neighbours are
    updated from round to round, which is faster than a new search and gives the same result.

    Parameters
    ----------
    method : str
        Any score that builds its graph from X: ``"laplacian"`` (as in the paper),
        ``"constrained_laplacian"``, ``"semi_supervised_laplacian"``, ``"sselect"``, ``"lsdf"``,
        ``"c4"`` or ``"spec"``.
    n_features_to_select : int, float or None
        Number of features at which the rounds end, or a fraction of them. None selects half of the
        features, as in scikit-learn's RFE.
    step : int or float
        Number of features to drop in each round. A value below 1 is a fraction of all features. It
        is rounded down, but at least one feature is dropped, as in RFE.
    variant : {1, 2}
        With 1, a dropped feature never returns (IterativeLS-1). With 2, each round scores all
        features, and a dropped feature may return (IterativeLS-2).
    n_neighbors : int or "auto"
        Number of neighbours in the graph. ``"auto"`` is the method's published default, at most
        n_samples − 1.
    bandwidth : float or "auto"
        The t of the heat kernel exp(−d²/t). ``"auto"`` is the mean squared length of the edges in
        each round.
    scale : {"auto", "standard", "minmax", "robust", "rank", None}
        Scaling of the features before distances are computed, as in `GraphSieve`. None uses
        features and target as they are.
    target_type : {"auto", "classes", "continuous"}
        Type of `y`. ``"auto"`` decides as `Supervision.from_y` does.
    unlabeled : int or None
        Number that marks an unknown class label in `y`, besides None and NaN. None if every number
        is a class.
    method_params : dict, optional
        Further parameters of the method's function, such as ``{"label_weight": 10.0}``.
    categorical, feature_groups : {"auto", None} or sequence, dict or sequence or str or None
        The categories and the feature groups, as in `GraphSieve`.
    missing : {"use", "refuse"}
        What to do about missing values, as in `GraphSieve`.
    n_jobs : int or None
        Number of threads, as in scikit-learn. None uses as many as BLAS may use, -1 all cores.
        Results differ by rounding at most.
    progress : bool or None
        Whether to report progress on the error stream. With None, only on a terminal.

    Attributes
    ----------
    ranking_ : array of int of shape (n_features,)
        1 is the best feature. The features that remain come first, in the order of the last round.
        With variant 1, the others follow in reverse order of being dropped. With variant 2, they
        follow in the order of the last round.
    scores_ : array of shape (n_features,)
        Score of each feature in the last round that scored it. Scores of different rounds are not
        comparable.
    path_ : tuple of Round
        The rounds. Each contains its `size`, the `features` of its graph, the features that were
        `scored`, and their `scores`. It is large for thousands of features: with ``step=1`` it
        contains about p²/2 scores for p features (p² with variant 2).
    method_, reason_ : str
        The method that ran, and the reason for it with the number of rounds.
    large_is_good_ : bool
        Whether large scores are good.
    n_neighbors_, bandwidth_ : int, float or None
        The values used in the last round; None if the method has no such parameter.
    scale_ : str or None
        The scale used.
    n_samples_, n_labeled_ : int
        Number of samples, and of those with a known label, a target or class probabilities.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Zhu, Miao, Zhang (2012), Iterative Laplacian score for feature selection.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, _ = load_wine(return_X_y=True, as_frame=True)
    >>> sieve = IterativeSieve(n_features_to_select=3).fit(X)
    >>> len(sieve.get_feature_names_out()), [stage.size for stage in sieve.path_][:3]
    (3, [13, 12, 11])
    """

    path_: tuple[Round, ...]

    def __init__(
        self,
        method: str = "laplacian",
        *,
        n_features_to_select: int | float | None = None,
        step: int | float = 1,
        variant: int = 1,
        n_neighbors: int | str = "auto",
        bandwidth: float | str = "auto",
        scale: str | None = "standard",
        target_type: TargetType = "auto",
        unlabeled: int | None = -1,
        method_params: dict[str, Any] | None = None,
        categorical: Any = "auto",
        feature_groups: Any = None,
        missing: str = "use",
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> None:
        self.method = method
        self.n_features_to_select = n_features_to_select
        self.step = step
        self.variant = variant
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.scale = scale
        self.target_type = target_type
        self.unlabeled = unlabeled
        self.method_params = method_params
        self.categorical = categorical
        self.feature_groups = feature_groups
        self.missing = missing
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(
        self,
        X: Any,
        y: Any = None,
        supervision: Supervision | None = None,
        sample_weight: Any = None,
    ) -> IterativeSieve:
        """Rank the features by the round in which they are dropped.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        y : array of shape (n_samples,) or (n_samples, n_targets), optional
            Class labels (−1, None or NaN where unknown) or a continuous target (NaN where unknown).
        supervision : Supervision, optional
            Other supervision, such as pairs. It is joined with `y`. If it contains labels or
            targets itself, `y` is ignored here and left to later steps of a pipeline.
        sample_weight : array of shape (n_samples,), optional
            Weight of each sample, 0 or more: it multiplies the mass of the sample in every graph
            and mean. Samples with weight 0 are left out.
        """
        self._fit(X, y, supervision, sample_weight=sample_weight)
        return self

    def _fit_here(
        self, X: Any, y: Any, supervision: Supervision | None, sample_weight: Any
    ) -> tuple[Table, Supervision]:
        given = checked(self.get_params(deep=False), _RULES)
        check_method(METHODS[given["method"]])
        table = table_in_memory(
            X,
            y,
            categorical=given["categorical"],
            feature_groups=given["feature_groups"],
            names=self._names,
            missing=given["missing"],
        )
        wanted = wanted_features(given["n_features_to_select"], table.n_features)
        known = joined_supervision(table, y, supervision, given)
        table, known = with_weights(table, known, sample_weight, X)
        read = known
        method, reason = chosen_method(known, supervision, given["method"])
        scale = scale_used(table, given["scale"])
        scaled = rescaled(table, scale)
        if given["scale"] is not None and known.targets is not None:
            known = replace(known, targets=standardized_target(known.targets))
            # The method compares distances in X with distances along the target, which has another
            # unit.
            scaled = of_unit_variance(scaled) if scale is None else scaled
        options = method_options(method, known, given)
        path = iterate(
            scaled,
            known,
            method,
            options,
            n_features_to_select=wanted,
            step=given["step"],
            variant=given["variant"],
            progress=given["progress"],
        )
        scores = last_scores(path, table.n_features)
        warn_of_unscorable(scores, table)
        ranking = np.empty(table.n_features, dtype=np.int64)
        ranking[path.order] = np.arange(1, table.n_features + 1)
        support = ranking <= selected_count(
            wanted, scores, exactly=isinstance(given["n_features_to_select"], Integral)
        )
        # Attributes are set last, so that a failed fit changes nothing.
        self._describe(X, table)
        self.method_, self.scale_, self.large_is_good_ = (
            method.name,
            scale,
            method.large_is_good(options),
        )
        self.reason_ = (
            f"{reason}, {len(path.rounds)} rounds, "
            f"{dropped_per_round(self.step, table.n_features)} dropped in each"
        )
        self.n_neighbors_, self.bandwidth_ = path.last.n_neighbors, path.last.bandwidth
        self.n_samples_, self.n_labeled_ = table.n_samples, known.n_labeled
        self.scores_, self.ranking_, self.path_ = scores, ranking, path.rounds
        self._select(support)
        return table, read


_RULES = {**PARAMETERS, "method": choice(tuple(METHODS)), "progress": either(None, boolean())}

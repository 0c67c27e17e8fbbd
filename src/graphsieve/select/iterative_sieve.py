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
    all_knowledge,
    chosen_method,
    method_options,
    scale_used,
    selected_count,
    wanted_features,
)
from graphsieve.select.sieve import Sieve
from graphsieve.supervision.value import Supervision, TargetType
from graphsieve.table.any_table import table_in_memory
from graphsieve.table.columns import Table
from graphsieve.table.scaling import of_unit_variance, rescaled, standardized_target


class IterativeSieve(Sieve):
    """Drop the worst features, rebuild the graph from the rest, score again, until enough are left
    (IterativeLS and more).

    It helps where a few features carry the structure and many hide it, since the graph is freed of
    noise as noise is dropped. It does not help where features are redundant. Neighbours are
    corrected from round to round, not searched anew.

    Parameters
    ----------
    method : str
        Any score whose graph comes from X: ``"laplacian"`` (the paper's),
        ``"constrained_laplacian"``, ``"semi_supervised_laplacian"``, ``"sselect"``, ``"lsdf"``,
        ``"c4"`` or ``"spec"``.
    n_features_to_select : int, float or None
        Where the rounds end: a number of features, a fraction of them, or None for half of them.
    step : int or float
        How many features to drop in each round; below 1, the fraction of all features, rounded
        down, but at least one, as in RFE.
    variant : {1, 2}
        1: a dropped feature is gone. 2: every round scores all features, and a dropped one may come
        back.
    n_neighbors, bandwidth, scale, target_type, unlabeled, method_params
        As in `GraphSieve`; an automatic bandwidth follows the distances of each round.
    n_jobs : int or None
        Threads, in scikit-learn's sense: None for as many as BLAS may use, -1 for all cores.
        Results differ by rounding at most.
    progress : bool or None
        Whether to tell on the error stream how far it has come; None: if that is a terminal.

    Attributes
    ----------
    ranking_ : array of int of shape (n_features,)
        1 is the best; features are ordered by survival, those that were never dropped by the last
        round.
    scores_ : array of shape (n_features,)
        The score of each feature in the last round in which it had one; not comparable between
        rounds.
    path_ : tuple of Round
        Every round: its `size`, the `features` of its graph, those `scored`, and their `scores`.
        With thousands of features it is large: steps of one keep p² / 2 numbers.
    method_, reason_, large_is_good_, n_neighbors_, bandwidth_, scale_, n_samples_, n_labeled_
        As in `GraphSieve`; neighbours and bandwidth of the last round.

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
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: Any, y: Any = None, supervision: Supervision | None = None) -> IterativeSieve:
        """Rank the features by how long they survive; `X`, `y` and `supervision` as in
        `GraphSieve.fit`.
        """
        self._fit(X, y, supervision)
        return self

    def _fit_here(
        self, X: Any, y: Any, supervision: Supervision | None
    ) -> tuple[Table, Supervision]:
        given = checked(self.get_params(deep=False), _RULES)
        check_method(METHODS[given["method"]])
        table = table_in_memory(X)
        wanted = wanted_features(given["n_features_to_select"], table.n_features)
        known = read = all_knowledge(table, y, supervision, given)
        method, reason = chosen_method(known, supervision, given["method"])
        scale = scale_used(table, given["scale"])
        scaled = rescaled(table, scale)
        if given["scale"] is not None and known.targets is not None:
            known = replace(known, targets=standardized_target(known.targets))
            # Distances are compared with those along the target, which has a unit of its own.
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
        warn_of_unscorable(scores)
        ranking = np.empty(table.n_features, dtype=np.int64)
        ranking[path.order] = np.arange(1, table.n_features + 1)
        support = ranking <= selected_count(
            wanted, scores, exactly=isinstance(given["n_features_to_select"], Integral)
        )
        # Only now, when nothing can fail any more, is anything kept.
        self._describe(X)
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
        self.scores_, self.ranking_, self.path_, self._support = (
            scores,
            ranking,
            path.rounds,
            support,
        )
        return table, read


_RULES = {**PARAMETERS, "method": choice(tuple(METHODS)), "progress": either(None, boolean())}

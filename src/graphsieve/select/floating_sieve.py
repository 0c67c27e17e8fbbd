"""Floating selection as a scikit-learn estimator."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from graphsieve._base.errors import InputError
from graphsieve._base.parameters import boolean, checked, either
from graphsieve.search.criteria import make_criterion
from graphsieve.search.floating import float_forward
from graphsieve.select.preparation import (
    PARAMETERS,
    all_knowledge,
    refuse_unusable,
    wanted_features,
)
from graphsieve.select.sieve import Sieve
from graphsieve.supervision.value import Supervision, TargetType
from graphsieve.table.any_table import table_in_memory
from graphsieve.table.columns import Table


class FloatingSieve(Sieve):
    """Sequential floating forward selection (SFFS): judges sets, and takes out again what has
    become worthless.

    Parameters
    ----------
    estimator : scikit-learn estimator, optional
        The criterion is its cross-validated score; by default the leave-one-out R² of a ridge
        regression, in closed form.
    n_features_to_select : int, float or None
        A number of features, a fraction of them, or None for half of them.
    scoring, cv, ridge, progress
        As in `floating_selection`.
    target_type, unlabeled
        As in `GraphSieve`. Samples without a known label or target are left out.
    n_jobs : int or None
        Threads, in scikit-learn's sense: None for as many as BLAS may use, -1 for all cores.
        Results differ by rounding at most.

    Attributes
    ----------
    ranking_ : array of int of shape (n_features,)
        What was selected in the order in which it came in; all others share the place after it.
    criteria_ : dict
        The criterion of the best set of every size that was met.
    sets_ : dict
        Those sets, as column positions.
    interrupted_ : bool
        Whether the search was cut short; the best set of the largest size reached is then selected.
    method_, reason_, n_samples_, n_labeled_
        As in `GraphSieve`.

    References
    ----------
    Pudil, Novovičová, Kittler (1994), Floating search methods in feature selection.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> sieve = FloatingSieve(n_features_to_select=2).fit(X, y)
    >>> list(sieve.get_feature_names_out())
    ['color_intensity', 'proline']
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_features_to_select: int | float | None = None,
        scoring: Any = None,
        cv: Any = 5,
        ridge: float = 1.0,
        target_type: TargetType = "auto",
        unlabeled: int | None = -1,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.scoring = scoring
        self.cv = cv
        self.ridge = ridge
        self.target_type = target_type
        self.unlabeled = unlabeled
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: Any, y: Any = None, supervision: Supervision | None = None) -> FloatingSieve:
        """Select a set of features by the known labels or targets; `X`, `y` and `supervision` as
        in `GraphSieve.fit`.
        """
        self._fit(X, y, supervision)
        return self

    def _fit_here(
        self, X: Any, y: Any, supervision: Supervision | None
    ) -> tuple[Table, Supervision]:
        given = checked(self.get_params(deep=False), _RULES)
        self._need_knowledge(y, supervision)
        table = table_in_memory(X)
        wanted = wanted_features(given["n_features_to_select"], table.n_features)
        known = all_knowledge(table, y, supervision, {**given, "method": "mutual_information"})
        refuse_unusable(known.kinds, ("labels", "targets"), "the floating search")
        if {"labels", "targets"} <= set(known.kinds):
            raise InputError(
                "the floating search judges by labels or by targets, and both are known; pass one "
                "of them."
            )
        names = ("estimator", "scoring", "cv", "ridge")
        criterion = make_criterion(table, known, **{name: given[name] for name in names})
        exactly = isinstance(given["n_features_to_select"], Integral)
        path = float_forward(criterion, wanted, exactly=exactly, progress=given["progress"])
        # Only now, when nothing can fail any more, is anything kept.
        self._describe(X)
        judged = "ridge regression" if self.estimator is None else type(self.estimator).__name__
        self.method_, self.reason_ = (
            "floating",
            f"sets judged by {judged} on {known.n_labeled} of {len(known)} samples",
        )
        self.n_samples_, self.n_labeled_ = table.n_samples, known.n_labeled
        self.criteria_, self.sets_, self.interrupted_ = path.values, path.sets, path.interrupted
        self.ranking_ = np.full(table.n_features, len(path.order) + 1, dtype=np.int64)
        self.ranking_[path.order] = np.arange(1, len(path.order) + 1)
        self._support = self.ranking_ <= len(path.order)
        return table, known

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


_RULES = {name: PARAMETERS[name] for name in ("target_type", "unlabeled")} | {
    "progress": either(None, boolean())
}

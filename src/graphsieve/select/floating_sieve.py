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
    joined_supervision,
    refuse_unusable,
    wanted_features,
    with_weights,
)
from graphsieve.select.sieve import FittingSieve
from graphsieve.supervision.value import Supervision, TargetType
from graphsieve.table.any_table import table_in_memory
from graphsieve.table.columns import Table


class FloatingSieve(FittingSieve):
    """Select a set of features by sequential floating forward selection (SFFS).

    The search evaluates sets of features, not single features. Each step adds the feature that
    improves the set most. It then removes features, one after another, as long as the remaining set
    is better than every earlier set of the same size. Only labelled samples are used. If the search
    is interrupted (Ctrl-C), it keeps the best set found so far, with a warning.

    Parameters
    ----------
    estimator : scikit-learn estimator, optional
        If given, the criterion is the cross-validated score of this estimator. By default the
        criterion is the leave-one-out R² of a ridge regression of the target, or of the class
        indicators, on the standardised features. This default has a closed form and is fast.
    n_features_to_select : int, float or None
        Number of features, or a fraction of them. None selects half of the features, as in
        scikit-learn's RFE.
    scoring : str or callable, optional
        Score of the estimator, as in `cross_val_score`. Only with an estimator.
    cv : int or splitter
        Cross-validation folds, as in `cross_val_score`. Only with an estimator.
    ridge : float
        Penalty of the default criterion, at least 1e-8. It is added to the sum of squares of each
        standardised feature, which equals the number of labelled samples. Only without an
        estimator.
    target_type : {"auto", "classes", "continuous"}
        Type of `y`. ``"auto"`` decides as `Supervision.from_y` does.
    unlabeled : int or None
        Number that marks an unknown class label in `y`, besides None and NaN. None if every number
        is a class.
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
        Ranks of the selected features, in the order in which they were added. All other features
        share the next rank.
    criteria_ : dict
        Criterion of the best set of each size that was reached. Large is good.
    sets_ : dict
        The best set of each size, as positions of features.
    interrupted_ : bool
        Whether the search was interrupted. The selection is then the best set of the largest size
        that was reached.
    method_, reason_ : str
        ``"floating"``, and the criterion with the number of labelled samples.
    n_samples_, n_labeled_ : int
        Number of samples, and of those with a known label or target.
    n_features_in_, feature_names_in_
        As in scikit-learn.

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
        categorical: Any = "auto",
        feature_groups: Any = None,
        missing: str = "use",
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
    ) -> FloatingSieve:
        """Select a set of features by labels or targets.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        y : array of shape (n_samples,)
            Class labels (−1, None or NaN where unknown) or a continuous target (NaN where unknown).
        supervision : Supervision, optional
            Labels or targets. `y` is then ignored here and left to later steps of a pipeline.
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
        self._require_supervision(y, supervision)
        table = table_in_memory(
            X,
            y,
            categorical=given["categorical"],
            feature_groups=given["feature_groups"],
            names=self._names,
            missing=given["missing"],
        )
        wanted = wanted_features(given["n_features_to_select"], table.n_features)
        known = joined_supervision(table, y, supervision, {**given, "method": "mutual_information"})
        table, known = with_weights(table, known, sample_weight, X)
        refuse_unusable(known.kinds, ("labels", "targets"), "the floating search")
        if {"labels", "targets"} <= set(known.kinds):
            raise InputError(
                "the floating search uses either labels or targets, but both are known; pass only "
                "one of them."
            )
        names = ("estimator", "scoring", "cv", "ridge")
        criterion = make_criterion(table, known, **{name: given[name] for name in names})
        exactly = isinstance(given["n_features_to_select"], Integral)
        path = float_forward(criterion, wanted, exactly=exactly, progress=given["progress"])
        # Attributes are set last, so that a failed fit changes nothing.
        self._describe(X, table)
        model_name = "ridge regression" if self.estimator is None else type(self.estimator).__name__
        self.method_, self.reason_ = (
            "floating",
            f"sets evaluated by {model_name} on {known.n_labeled} of {len(known)} samples",
        )
        self.n_samples_, self.n_labeled_ = table.n_samples, known.n_labeled
        self.criteria_, self.sets_, self.interrupted_ = path.values, path.sets, path.interrupted
        self.ranking_ = np.full(table.n_features, len(path.order) + 1, dtype=np.int64)
        self.ranking_[path.order] = np.arange(1, len(path.order) + 1)
        self._select(self.ranking_ <= len(path.order))
        return table, known

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = False
        return tags


_RULES = {name: PARAMETERS[name] for name in ("target_type", "unlabeled", "missing")} | {
    "progress": either(None, boolean())
}

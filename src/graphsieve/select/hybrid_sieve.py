"""Hybrid selection as a scikit-learn estimator."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from graphsieve._base.errors import InputError
from graphsieve._base.messages import phrase
from graphsieve._base.parameters import checked
from graphsieve.scores.choosing import warn_of_weak_supervision
from graphsieve.scores.method import best_first, extra_options
from graphsieve.scores.score_registry import METHODS
from graphsieve.search.hybrid import (
    HYBRID_RULES,
    OF_LABELS,
    HybridRound,
    base_options,
    refine,
    selecting,
)
from graphsieve.select.preparation import (
    PARAMETERS,
    chosen_method,
    joined_supervision,
    method_options,
    refuse_unusable,
    scale_used,
    wanted_features,
    with_weights,
)
from graphsieve.select.sieve import FittingSieve
from graphsieve.supervision.value import Supervision
from graphsieve.table.any_table import table_in_memory
from graphsieve.table.columns import Table
from graphsieve.table.scaling import rescaled


class HybridSieve(FittingSieve):
    """Select features from few labels by propagating them over a graph (IteraGraph_FS).

    The first selection uses the given labels alone. Each round then builds a graph of all samples
    in the selected features and predicts the labels of the unlabelled samples. The samples with the
    most confident predictions are added to the labelled ones, and features are selected again. The
    result is the selection of the round with the highest mean confidence.

    Parameters
    ----------
    base : str
        The method that selects by labels: any score that uses them, or ``"floating"``.
    n_features_to_select : int, float or None
        Number of features, or a fraction of them. None selects half of the features, as in
        scikit-learn's RFE. Features that tie with the last one are also selected.
    n_iterations : int
        Maximum number of rounds. The rounds end early if a set of features is selected again.
    confident_fraction : float
        Share of the unlabelled samples that is added in each round, the most confident first.
        Samples with equal confidence are added together. Samples without a most likely class are
        never added.
    n_neighbors : int or None
        Number of neighbours in the graph that propagates the labels. None links all samples with
        each other, as in the paper. This is feasible for up to a few thousand samples.
    bandwidth : float or "auto"
        The t of the heat kernel exp(−d²/t). ``"auto"`` is (d0/3)². Here d0 is the length of the
        first edge that connects samples of different labels, directly or through other samples,
        when edges are added by increasing length. Edges of length zero do not count.
    scale : {"auto", "standard", "minmax", "robust", "rank", None}
        Scaling of the features before they are scored and distances are computed, as in
        `GraphSieve`. None uses features as they are.
    unlabeled : int or None
        Number that marks an unknown class label in `y`, besides None and NaN. None if every number
        is a class.
    base_params : dict, optional
        Further parameters of the base, such as ``{"n_neighbors": 5}`` for ``"relieff"``.
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
        1 is the best feature. The selected features come first. The others follow in the order of
        the scores of the base.
    scores_ : array of shape (n_features,)
        Scores of the base in the round that gave the result. NaN for ``"floating"``, which scores
        sets.
    path_ : tuple of HybridRound
        The rounds. Each contains the features of its graph, the added samples, their predicted
        classes and mean confidence, and the features selected with them.
    round_ : int or None
        Position in `path_` of the round that gave the result. None if the given labels alone gave
        it.
    method_, reason_ : str
        The base, and the reason why the rounds ended.
    large_is_good_ : bool
        Whether large scores are good.
    scale_ : str or None
        The scale used.
    n_samples_, n_labeled_ : int
        Number of samples, and of those with a known label.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Zhong, Xie, Fan, Ren, Peng, Zhang (2008), Graph-based iterative hybrid feature selection.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> few = np.where(np.arange(len(y)) % 20 == 0, y, -1)
    >>> sieve = HybridSieve(n_features_to_select=3).fit(X, few)
    >>> len(sieve.get_feature_names_out())
    3
    """

    path_: tuple[HybridRound, ...]

    def __init__(
        self,
        base: str = "fisher",
        *,
        n_features_to_select: int | float | None = None,
        n_iterations: int = 10,
        confident_fraction: float = 0.9,
        n_neighbors: int | None = None,
        bandwidth: float | str = "auto",
        scale: str | None = "standard",
        unlabeled: int | None = -1,
        base_params: dict[str, Any] | None = None,
        categorical: Any = "auto",
        feature_groups: Any = None,
        missing: str = "use",
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> None:
        self.base = base
        self.n_features_to_select = n_features_to_select
        self.n_iterations = n_iterations
        self.confident_fraction = confident_fraction
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.scale = scale
        self.unlabeled = unlabeled
        self.base_params = base_params
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
    ) -> HybridSieve:
        """Select features.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        y : array of shape (n_samples,)
            Class labels; −1, None or NaN where unknown.
        supervision : Supervision, optional
            Labels, and other supervision that the base can use. If it contains labels, `y` is
            ignored here and left to later steps of a pipeline.
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
        of_labels = {"method": "fisher", "target_type": "classes", "unlabeled": given["unlabeled"]}
        known = joined_supervision(table, y, supervision, of_labels)
        table, known = with_weights(table, known, sample_weight, X)
        if "labels" not in known.kinds:
            raise InputError(
                "the hybrid search propagates class labels, but none are known; ",
                phrase("pass y with some of them"),
                ".",
            )
        scale = scale_used(table, given["scale"])
        scaled = rescaled(table, scale)
        exactly = isinstance(given["n_features_to_select"], Integral)
        select = selecting(
            scaled, given["base"], wanted, self._options(known, supervision, given), exactly=exactly
        )
        path = refine(
            scaled,
            known,
            select,
            n_iterations=given["n_iterations"],
            confident_fraction=given["confident_fraction"],
            n_neighbors=given["n_neighbors"],
            bandwidth=None if given["bandwidth"] == "auto" else given["bandwidth"],
            progress=given["progress"],
        )
        base = METHODS.get(given["base"])
        large_is_good = base is not None and base.large_is_good(given["base_params"] or {})
        rest = best_first(path.scores, large_is_good=large_is_good)
        order = np.concatenate([path.order, rest[~np.isin(rest, path.order)]])
        # Attributes are set last, so that a failed fit changes nothing.
        self._describe(X, table)
        self.method_, self.scale_ = f"hybrid of {given['base']}", scale
        self.reason_ = f"{known.n_labeled} of {len(known)} labels are known; {path.stopped}"
        self.n_samples_, self.n_labeled_ = table.n_samples, known.n_labeled
        self.scores_, self.path_, self.round_ = path.scores, path.rounds, path.chosen
        self.large_is_good_ = large_is_good
        self.ranking_ = np.empty(table.n_features, dtype=np.int64)
        self.ranking_[order] = np.arange(1, table.n_features + 1)
        self._select(np.isin(np.arange(table.n_features), path.order))
        return table, known

    def _options(
        self, known: Supervision, supervision: Supervision | None, given: dict[str, Any]
    ) -> dict[str, Any]:
        if given["base"] == "floating":
            refuse_unusable(
                () if supervision is None else supervision.kinds, OF_LABELS, "base 'floating'"
            )
            warn_of_weak_supervision(known, OF_LABELS)
            return base_options("floating", given["base_params"])
        method, _ = chosen_method(known, supervision, given["base"])
        automatic = {"n_neighbors": "auto", "bandwidth": "auto", "method_params": None}
        extra = extra_options(method, given["base_params"] or {}, what="base_params")
        return method_options(method, known, automatic) | extra

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = False
        return tags


_RULES = {**PARAMETERS, **HYBRID_RULES, "base_params": PARAMETERS["method_params"]}

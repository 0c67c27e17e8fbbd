"""Hybrid selection as a scikit-learn estimator."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from graphsieve._base.errors import InputError
from graphsieve._base.messages import phrase
from graphsieve._base.parameters import checked
from graphsieve.scores.choosing import warn_of_poor_knowledge
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
    all_knowledge,
    chosen_method,
    method_options,
    refuse_unusable,
    scale_used,
    wanted_features,
)
from graphsieve.select.sieve import Sieve
from graphsieve.supervision.value import Supervision
from graphsieve.table.any_table import table_in_memory
from graphsieve.table.columns import Table
from graphsieve.table.scaling import rescaled


class HybridSieve(Sieve):
    """A few labels choose features, these carry the labels to more samples along a graph, which
    choose again (IteraGraph_FS).

    Parameters
    ----------
    base : str
        What selects by labels: any score that uses them, or ``"floating"``.
    n_features_to_select : int, float or None
        A number of features, a fraction of them, or None for half of them; features that score as
        well as the last one are kept too.
    n_iterations : int
        At most so many rounds; they end early where a set of features comes back.
    confident_fraction : float
        The share of the unlabelled samples that joins the labelled ones in each round, the most
        confident first.
    n_neighbors : int or None
        Neighbours of the graph that carries labels; None links everybody with everybody, as in the
        paper, for up to some thousand samples.
    bandwidth : float or "auto"
        The t of the weights exp(−d²/t); ``"auto"`` is (d/3)², where d is the first gap between
        samples of different labels.
    scale : {"auto", "standard", "minmax", "robust", "rank", None}
        Divide features by their standard deviation or their range before distances are taken.
    unlabeled : int or None
        The number that marks an unknown label in `y`, besides None and NaN.
    base_params : dict, optional
        Further parameters of the base.
    n_jobs : int or None
        Threads, in scikit-learn's sense: None for as many as BLAS may use, -1 for all cores.
        Results differ by rounding at most.
    progress : bool or None
        Whether to tell on the error stream how far it has come; None: if that is a terminal.

    Attributes
    ----------
    ranking_ : array of int of shape (n_features,)
        1 is the best; first what was selected, then the rest by the base's score.
    scores_ : array of shape (n_features,)
        The base's scores in the round that was chosen; NaN for ``"floating"``, which scores sets.
    path_ : tuple of HybridRound
        Every round: the features of its graph, who joined with which class and what average
        confidence, what was then selected.
    round_ : int or None
        The place in `path_` of the round that was chosen; None where the labels alone decided.
    method_, reason_ : str
        The base, and how the rounds ended.
    large_is_good_, scale_, n_samples_, n_labeled_
        As in `GraphSieve`.

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
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: Any, y: Any = None, supervision: Supervision | None = None) -> HybridSieve:
        """Select features.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        y : array of shape (n_samples,)
            Class labels; −1, None or NaN where unknown.
        supervision : Supervision, optional
            Labels, and what else the base can use. Labels there win over `y`, which is then left to
            the steps that follow.
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
        of_labels = {"method": "fisher", "target_type": "classes", "unlabeled": given["unlabeled"]}
        known = all_knowledge(table, y, supervision, of_labels)
        if "labels" not in known.kinds:
            raise InputError(
                "the hybrid search carries class labels along, but none are known; ",
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
        # Only now, when nothing can fail any more, is anything kept.
        self._describe(X)
        self.method_, self.scale_ = f"hybrid of {given['base']}", scale
        self.reason_ = f"{known.n_labeled} of {len(known)} labels are known; {path.stopped}"
        self.n_samples_, self.n_labeled_ = table.n_samples, known.n_labeled
        self.scores_, self.path_, self.round_ = path.scores, path.rounds, path.chosen
        self.large_is_good_ = large_is_good
        self.ranking_ = np.empty(table.n_features, dtype=np.int64)
        self.ranking_[order] = np.arange(1, table.n_features + 1)
        self._support = np.isin(np.arange(table.n_features), path.order)
        return table, known

    def _options(
        self, known: Supervision, supervision: Supervision | None, given: dict[str, Any]
    ) -> dict[str, Any]:
        if given["base"] == "floating":
            refuse_unusable(
                () if supervision is None else supervision.kinds, OF_LABELS, "base 'floating'"
            )
            warn_of_poor_knowledge(known, OF_LABELS)
            return base_options("floating", given["base_params"])
        method, _ = chosen_method(known, supervision, given["base"])
        automatic = {"n_neighbors": "auto", "bandwidth": "auto", "method_params": None}
        extra = extra_options(method, given["base_params"] or {}, what="base_params")
        return method_options(method, known, automatic) | extra

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


_RULES = {**PARAMETERS, **HYBRID_RULES, "base_params": PARAMETERS["method_params"]}

"""The scikit-learn front door. Thin: what is known → method → scores → ranks; the arithmetic is elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from graphsieve.choosing import choose_method, warn_of_poor_knowledge
from graphsieve.columns import Table
from graphsieve.errors import InputError, InputTypeError, warn
from graphsieve.parameters import checked, choice, count, either, nearest, positive, whole_number
from graphsieve.scaling import SCALES, rescaled, standardized_target
from graphsieve.scores import METHODS, Method
from graphsieve.scores.method import RULES, check_length, warn_of_unscorable
from graphsieve.supervision import Supervision, TargetType

Floats = NDArray[np.float64]


class GraphSieve(SelectorMixin, BaseEstimator):  # type: ignore[misc]
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
    ) -> None:
        self.method = method
        self.n_features_to_select = n_features_to_select
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.scale = scale
        self.target_type = target_type
        self.unlabeled = unlabeled
        self.method_params = method_params

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
        given = checked(self.get_params(deep=False), _PARAMETERS)
        table = Table(X)
        wanted = wanted_features(given["n_features_to_select"], table.n_features)
        known = all_knowledge(table, y, supervision, given)
        method, reason = chosen_method(known, supervision, given["method"])
        scale = given["scale"] if method.reads_neighbors or "targets" in method.uses else None
        if scale is not None and known.targets is not None:
            known = replace(known, targets=standardized_target(known.targets))
        options = method_options(method, known, given)
        scored = method.core(rescaled(table, scale) if method.reads_neighbors else table, known, **options)
        warn_of_unscorable(scored.values)
        large_is_good = method.large_is_good(options)
        ranking = ranks(scored.values, large_is_good=large_is_good)
        support = ranking <= selected_count(wanted, scored.values, exactly=isinstance(given["n_features_to_select"], Integral))
        # Only now, when nothing can fail any more, is anything kept.
        validate_data(self, X, skip_check_array=True)
        self.method_, self.reason_, self.scale_ = method.name, reason, scale
        self.n_neighbors_, self.bandwidth_ = scored.n_neighbors, scored.bandwidth
        self.n_samples_, self.n_labeled_ = table.n_samples, known.n_labeled
        self.scores_, self.ranking_, self.large_is_good_ = scored.values, ranking, large_is_good
        self._support = support
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self._support

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = str(super().__repr__(N_CHAR_MAX))
        return f"{text} -> {self.method_} ({self.reason_})" if hasattr(self, "method_") else text


def _mapping(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InputTypeError(f"{name} must be a dict of parameter names and values, got {value!r}.")
    return dict(value)


_PARAMETERS = {
    "method": choice(("auto", *METHODS)),
    "n_neighbors": either("auto", count(1)),
    "bandwidth": either("auto", positive()),
    "scale": choice(SCALES),
    "target_type": choice(("auto", "classes", "continuous")),
    "unlabeled": either(None, whole_number()),
    "method_params": either(None, _mapping),
}


def all_knowledge(table: Table, y: Any, supervision: Supervision | None, given: Mapping[str, Any]) -> Supervision:
    """What `supervision` says, and y: unless the method needs neither, or supervision brings labels or targets itself."""
    if supervision is not None and not isinstance(supervision, Supervision):
        raise InputTypeError(
            f"supervision must be a graphsieve.Supervision, got {type(supervision).__name__}; "
            "make one with Supervision.from_pairs, from_labels, from_targets or from_probabilities."
        )
    if isinstance(y, Supervision):
        raise InputTypeError("y is a Supervision; pass it as supervision=.")
    known = Supervision.nothing(table.n_samples) if supervision is None else supervision
    check_length(known, table)
    if table.n_samples == 2:
        warn("there are 2 samples: a graph of 2 nodes tells little.")
    readable = given["method"] == "auto" or {"labels", "targets"} & set(METHODS[given["method"]].uses)
    if y is None or not readable or known.labels is not None or known.targets is not None:
        return known
    of_y = Supervision.from_y(y, target_type=given["target_type"], unlabeled=given["unlabeled"])
    check_length(of_y, table)
    if not of_y.kinds:
        warn("no target known: ranking is unsupervised.")
    return known | of_y


def chosen_method(known: Supervision, supervision: Supervision | None, asked: str) -> tuple[Method, str]:
    """The method that runs, and why; refused where it needs what is not known, or cannot use what was given."""
    name, reason = choose_method(known) if asked == "auto" else (asked, "as asked")
    method = METHODS[name]
    method.check_knowledge(known)
    kinds = set(supervision.kinds if supervision is not None else ())
    # Where the choice was ours and fell on no supervision at all, what is known has just been reported as telling nothing.
    if kinds - set(method.uses) and not (asked == "auto" and not method.uses):
        able = ", ".join(name for name, other in METHODS.items() if kinds <= set(other.uses)) or "none"
        unused = " and ".join(sorted(kinds - set(method.uses)))
        everything = " and ".join(sorted(kinds))
        raise InputError(f"method {method.name!r} cannot use {unused}; leave them out, or choose one for {everything}: {able}.")
    warn_of_poor_knowledge(known, method.uses)
    return method, reason


def method_options(method: Method, known: Supervision, given: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments of the method's core; bandwidth None stands for "auto"."""
    options = dict(method.defaults)
    for name in ("n_neighbors", "bandwidth"):
        if given[name] != "auto" and name not in options:
            raise InputError(f"method {method.name!r} has no {name}; leave it 'auto', got {given[name]!r}.")
        if given[name] != "auto":
            options[name] = given[name]
        elif name == "bandwidth" and name in options:
            options[name] = None
        elif name in options:
            searched = len(known) if method.reads_neighbors else known.n_labeled
            options[name] = max(1, min(options[name], searched - 1))
    if "n_neighbors_supervised" in options:
        options["n_neighbors_supervised"] = max(1, min(options["n_neighbors_supervised"], known.n_labeled - 1))
    return options | _extra_options(method, given["method_params"] or {})


def _extra_options(method: Method, extra: Mapping[str, Any]) -> dict[str, Any]:
    own = ("n_neighbors", "bandwidth")
    allowed = [name for name in method.defaults if name not in own]
    for name in extra:
        if name in own and name in method.defaults:
            raise InputError(f"method_params holds {name!r}, which is a parameter of its own; pass {name}= instead.")
        if name not in allowed:
            listed = ", ".join(allowed) or "nothing"
            raise InputError(
                f"method {method.name!r} has no parameter {name!r}{nearest(name, allowed)}; method_params may hold: {listed}."
            )
    return checked(extra, RULES)


def selected_count(wanted: int, scores: Floats, *, exactly: bool) -> int:
    """How many of the best to select: never a feature without a score, unless that many were asked for."""
    scorable = int((~np.isnan(scores)).sum())
    if not exactly:
        return min(wanted, scorable)
    if not scorable:
        raise InputError(f"nothing to select: none of the {len(scores)} features can be scored, all are constant.")
    if wanted > scorable:
        warn(f"{wanted} features were asked for, but only {scorable} can be scored; the rest come in column order.")
    return wanted


def wanted_features(asked: Any, n_features: int) -> int:
    """The number of features meant by a count, a fraction or None."""
    if asked is None:
        return max(1, n_features // 2)
    if isinstance(asked, Integral) and not isinstance(asked, bool):
        if not 1 <= int(asked) <= n_features:
            raise InputError(f"n_features_to_select is {asked}, but there are {n_features} features; ask for 1 to {n_features}.")
        return int(asked)
    if isinstance(asked, Real) and not isinstance(asked, bool) and 0 < float(asked) <= 1:
        return max(1, int(n_features * float(asked)))
    raise InputError(f"n_features_to_select must be a count, a fraction above 0 and up to 1, or None, got {asked!r}.")


def ranks(scores: Floats, *, large_is_good: bool) -> NDArray[np.int64]:
    """1 for the best score, distinct numbers for all; ties by position, NaN last."""
    order = np.lexsort((-scores if large_is_good else scores, np.isnan(scores)))
    result = np.empty(len(scores), dtype=np.int64)
    result[order] = np.arange(1, len(scores) + 1)
    return result

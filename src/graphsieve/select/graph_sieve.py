"""The scikit-learn front door: what is known → what matters → which columns, and how many."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.errors import InputError, warn
from graphsieve._base.messages import parameter
from graphsieve._base.parameters import checked, setting
from graphsieve.graphs.neighbors.metrics import measured
from graphsieve.graphs.neighbors.strategy import recall_of
from graphsieve.scores.choosing import choose_method, warn_of_poor_knowledge
from graphsieve.scores.method import warn_of_unscorable
from graphsieve.search.counting import Count, Mattering, columns_that_matter, count_features
from graphsieve.search.default import explain_what_is_known
from graphsieve.search.diverse import DiversePath, choose_diverse
from graphsieve.select.preparation import (
    DIVERSE,
    PARAMETERS,
    all_knowledge,
    chosen_method,
    compression,
    method_options,
    metric_used,
    ranks,
    refuse_graph_parameters,
    refuse_unusable,
    refuse_unused_scale,
    scale_used,
    selected_count,
    wanted_features,
    weights_by_rank,
    with_neighbors,
)
from graphsieve.select.sieve import Sieve
from graphsieve.supervision.value import Supervision, TargetType
from graphsieve.table.any_table import as_table
from graphsieve.table.columns import Table
from graphsieve.table.scaling import of_unit_variance, rescaled, standardized_target


class GraphSieve(Sieve):
    """Select features by what is known of the samples, expressed as a graph.

    Parameters
    ----------
    method : str
        ``"auto"``: choose columns that together explain the table and what is known of its samples
        (the search ``"diverse"``). Or a name from `graphsieve.scores.METHODS`: rank features one by
        one by that score, as published.
    n_features_to_select : int, float, "auto" or None
        A number of features, a fraction of them, None for half of them, as in scikit-learn's RFE,
        or ``"auto"``: as many as matter and are not explained by the others; `count_` then says
        why.
    redundancy : {"auto", "explain", "correlation", None}
        How features that repeat each other are kept apart (see `search.diverse_selection`):
        ``"explain"`` chooses each for what the chosen ones leave unexplained, ``"correlation"`` for
        its score times one minus its largest correlation with them; None ranks one by one.
        ``"auto"`` is ``"explain"`` where the method is ``"auto"`` too, and None where one is named.
        With ``method="auto"`` and None, the method is the published one that fits what is known.
    max_features : int or None
        At most so many, whatever a fraction, None or ``"auto"`` comes to; a larger number in
        `n_features_to_select` is refused.
    n_neighbors : int or "auto"
        Neighbours of the graph; ``"auto"`` is the method's published default, at most one fewer
        than there are samples.
    bandwidth : float or "auto"
        The t of the heat kernel exp(−d²/t); ``"auto"`` is the mean squared length of the graph's
        edges.
    scale : {"auto", "standard", "minmax", "robust", "rank", None}
        Divide features by their standard deviation, range or interquartile range, or put ranks in
        their place, before distances and correlations are taken, and divide a continuous target by
        its standard deviation; None takes them as they are. ``"auto"`` takes features as they are,
        unless they plainly have different units (ranges differ more than a hundredfold, or one
        varies more than all others together); then it is ``"standard"``. Where distances are
        compared with those along a target, features as they are all get one factor, by which their
        mean variance is 1. Methods that take no distances between samples score features as they
        are, so that beside the name of one, and without `redundancy`, other scales are refused.
    metric : {"auto", "euclidean", "cosine"}
        Of the distances between samples, for methods that need neighbours; ``"auto"`` is cosine for
        tables of counts, of which nearly all are zero.
    neighbors : {"auto", "exact", "approximate"} or transformer
        Who looks for neighbours in X. ``"auto"`` is exact as long as that takes no more than about
        a minute on two cores (400,000 × 50, or 130,000 × 500), and beyond that approximate, with a
        warning. Or an estimator such as scikit-learn's ``KNeighborsTransformer``, of which a copy
        is fitted; distances are taken anew.
    target_type : {"auto", "classes", "continuous"}
        What `y` is; ``"auto"`` decides as `Supervision.from_y` does.
    unlabeled : int or None
        The number that marks an unknown class label in `y`, besides None and NaN; None if every
        number is a class.
    method_params : dict, optional
        Further parameters of the method's function, such as ``{"label_weight": 10.0}``.
    compress : {"som", "kmeans", None}
        Build the graph from prototypes in place of the samples of which nothing is known: those of
        a self-organizing map or of k-means. Labelled and paired samples are never compressed. Only
        for methods whose graph comes from X.
    n_prototypes : int, (int, int) or None
        How many prototypes at most, or the two sides of the map; None is the square root of the
        number of samples they stand for.
    n_jobs : int or None
        Threads, in scikit-learn's sense: None for as many as BLAS may use, -1 for all cores.
        Results differ by rounding at most.
    progress : bool or None
        Whether to tell on the error stream how far it has come; None: if that is a terminal.

    Attributes
    ----------
    scores_ : array of shape (n_features,)
        The method's own number for each feature; NaN where it cannot be scored. For ``"diverse"``,
        the share of all there is to explain that the feature explains alone; with ``"auto"`` as the
        number, of the features that matter, and 0 for others.
    ranking_ : array of int of shape (n_features,)
        1 is the best, or was chosen first; equal scores in the order of the columns, features
        without a score last. Where features are chosen, `n_features_to_select` of them are (at most
        256); the others follow by what each would still add.
    method_, reason_ : str
        The method that ran, and why.
    relevance_ : array of shape (n_features,) or None
        For ``"diverse"``, the share of each feature's variation that goes with what is known; if
        nothing is, its largest absolute correlation with another feature.
    skill_ : float or None
        For ``"diverse"``, how well labels left out are predicted from all features, from 0 to 1:
        how much they are trusted.
    redundancy_ : array of shape (n_features,) or None
        The share of each feature's variance that the chosen ones explain; for a chosen one, those
        before it.
    duplicate_of_ : array of int of shape (n_features,) or None
        The chosen feature that it repeats most, for a chosen one among those before it; −1 where
        there is none.
    duplicate_correlation_ : array of shape (n_features,) or None
        The correlation with that feature.
    count_ : graphsieve.search.counting.Count or None
        With ``n_features_to_select="auto"``: how many, by which rule, why, and the curve.
    large_is_good_ : bool
        Whether large scores are good.
    n_neighbors_, bandwidth_ : int, float or None
        As used; None where the method has no such thing.
    scale_, metric_ : str or None
        As used.
    neighbor_recall_ : float or None
        The share of the neighbours of some samples that an approximate search found; None where the
        search was exact.
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
    >>> list(sieve.get_feature_names_out())
    ['sepal width (cm)', 'petal length (cm)']
    >>> GraphSieve("fisher", n_features_to_select=2).fit(X, y).get_feature_names_out().tolist()
    ['petal length (cm)', 'petal width (cm)']
    """

    def __init__(
        self,
        method: str = "auto",
        *,
        n_features_to_select: int | float | str | None = None,
        redundancy: str | None = "auto",
        max_features: int | None = None,
        n_neighbors: int | str = "auto",
        bandwidth: float | str = "auto",
        scale: str | None = "auto",
        metric: str = "auto",
        neighbors: Any = "auto",
        target_type: TargetType = "auto",
        unlabeled: int | None = -1,
        method_params: dict[str, Any] | None = None,
        compress: str | None = None,
        n_prototypes: int | tuple[int, int] | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> None:
        self.method = method
        self.n_features_to_select = n_features_to_select
        self.redundancy = redundancy
        self.max_features = max_features
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.scale = scale
        self.metric = metric
        self.neighbors = neighbors
        self.target_type = target_type
        self.unlabeled = unlabeled
        self.method_params = method_params
        self.compress = compress
        self.n_prototypes = n_prototypes
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: Any, y: Any = None, supervision: Supervision | None = None) -> GraphSieve:
        """Score and rank the features.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        y : array of shape (n_samples,), optional
            Class labels (−1, None or NaN where unknown) or a continuous target (NaN where unknown).
        supervision : Supervision, optional
            Anything else that is known. It is joined with `y`, unless it brings labels or targets
            itself: then `y` is left to the steps that follow in a pipeline.
        """
        self._fit(X, y, supervision)
        return self

    def _fit_here(
        self, X: Any, y: Any, supervision: Supervision | None
    ) -> tuple[Table, Supervision]:
        given = checked(self.get_params(deep=False), PARAMETERS)
        table = as_table(X)
        wanted = _wanted(given, table.n_features)
        known = all_knowledge(table, y, supervision, given)
        by_search = given["method"] in ("auto", DIVERSE) and given["redundancy"] in (
            "auto",
            "explain",
        )
        run = _by_search if by_search else _by_score
        found = run(table, known, supervision, given, wanted)
        warn_of_unscorable(found.scores)
        n_selected = _n_selected(found, wanted, given)
        # Only now, when nothing can fail any more, is anything kept.
        self._describe(X)
        self.method_, self.reason_, self.scale_, self.metric_ = (
            found.method,
            found.reason,
            found.scale,
            found.metric,
        )
        self.n_neighbors_, self.bandwidth_ = found.n_neighbors, found.bandwidth
        self.n_prototypes_, self.neighbor_recall_ = found.n_prototypes, found.neighbor_recall
        self.n_samples_, self.n_labeled_ = table.n_samples, known.n_labeled
        self.scores_, self.large_is_good_ = found.scores, found.large_is_good
        self.ranking_ = np.empty(table.n_features, dtype=np.int64)
        self.ranking_[found.order] = np.arange(1, table.n_features + 1)
        self.relevance_, self.skill_, self.count_ = found.relevance, found.skill, found.count
        path = found.path
        self.redundancy_ = None if path is None else path.redundancy
        self.duplicate_of_ = None if path is None else path.duplicate_of
        self.duplicate_correlation_ = None if path is None else path.correlation
        self._support = self.ranking_ <= n_selected
        return table, known


@dataclass(frozen=True)
class _Found:
    """What a fit comes to."""

    method: str
    reason: str
    scores: Floats
    large_is_good: bool
    order: Integers
    scale: str | None
    metric: str | None = None
    n_neighbors: int | None = None
    bandwidth: float | None = None
    n_prototypes: int = 0
    neighbor_recall: float | None = None
    path: DiversePath | None = None
    relevance: Floats | None = None
    skill: float | None = None
    count: Count | None = None


def _by_search(
    table: Table,
    known: Supervision,
    supervision: Supervision | None,
    given: dict[str, Any],
    wanted: int,
) -> _Found:
    """The default: columns that together explain the table and what is known."""
    refuse_graph_parameters(given)
    if supervision is not None and "probabilities" in supervision.kinds:
        refuse_unusable(
            supervision.kinds,
            ("labels", "probabilities"),
            "the search, where class probabilities are known,",
        )
    name, reason = choose_method(known)
    if name == "laplacian":  # nothing is known, or nothing that tells samples apart
        known = Supervision.nothing(table.n_samples)
    warn_of_poor_knowledge(known, known.kinds)
    scale = scale_used(table, given["scale"])
    scaled = rescaled(table, scale)
    matter = _mattering(table, known, given)
    explained = explain_what_is_known(
        table, scaled, known, n_wanted=wanted, allowed=_allowed(matter), progress=given["progress"]
    )
    path = explained.path
    scores = (
        path.alone
        if matter is None
        else np.where(np.isnan(path.redundancy), np.nan, np.nan_to_num(path.alone))
    )
    return _Found(
        method=DIVERSE,
        reason=reason,
        scores=scores,
        large_is_good=True,
        order=_unscored_last(path.order, scores),
        scale=scale,
        path=path,
        relevance=explained.relevance,
        skill=explained.skill,
        count=_count(scaled, known, path.order, matter, given, weights=explained.relevance),
    )


def _by_score(
    table: Table,
    known: Supervision,
    supervision: Supervision | None,
    given: dict[str, Any],
    wanted: int,
) -> _Found:
    """One score for every feature, as published; and a set of them by that score, if asked for."""
    if given["method"] == DIVERSE:
        raise InputError(
            setting("method", "diverse"),
            " is the search for what explains; leave ",
            parameter("redundancy", given["redundancy"]),
            f" 'auto', got {given['redundancy']!r}.",
        )
    method, reason = chosen_method(known, supervision, given["method"])
    form = None if given["redundancy"] == "auto" else given["redundancy"]
    reads_scale = method.reads_neighbors or form is not None
    if not reads_scale and given["method"] != "auto":
        refuse_unused_scale(method, given["scale"])
    scale = scale_used(table, given["scale"]) if reads_scale else None
    told = known
    if known.targets is not None and given["scale"] is not None:
        told = replace(known, targets=standardized_target(known.targets))
    scaled = rescaled(table, scale)
    metric = metric_used(table, method, given)
    basis = scaled if method.reads_neighbors else table
    if (
        given["scale"] == "auto"
        and scale is None
        and method.reads_neighbors
        and "targets" in method.uses
    ):
        # Distances are compared with those along the target, which has a unit of its own
        basis = of_unit_variance(basis)
    small = compression(basis, told, method, given)
    options = method_options(method, told if small is None else small.known, given)
    located = with_neighbors(
        measured(basis, metric) if metric is not None else basis, method, given
    )
    scored = method.core(located if small is None else basis.represented_by(small), told, **options)
    large_is_good = method.large_is_good(options)
    matter = _mattering(table, known, given)
    path = None
    if form is not None:
        weights = weights_by_rank(scored.values, large_is_good=large_is_good)
        allowed = _allowed(matter)
        weights = weights if allowed is None else np.where(allowed, weights, np.nan)
        path = choose_diverse(
            scaled, weights, n_wanted=wanted, form=form, progress=given["progress"]
        )
    order = _unscored_last(
        _order(scored.values, large_is_good, matter) if path is None else path.order, scored.values
    )
    # a column may matter and still have no score
    candidates = order[~np.isnan(scored.values[order])]
    return _Found(
        method=method.name,
        reason=reason,
        scores=scored.values,
        large_is_good=large_is_good,
        order=order,
        scale=scale,
        metric=metric,
        n_neighbors=scored.n_neighbors,
        bandwidth=scored.bandwidth,
        n_prototypes=0 if small is None else small.n_prototypes,
        neighbor_recall=recall_of(located),
        path=path,
        count=_count(scaled, known, candidates, matter, given),
    )


def _unscored_last(order: Integers, scores: Floats) -> Integers:
    """The same order, but with the columns that cannot be scored at its end."""
    return order[np.argsort(np.isnan(scores[order]), kind="stable")]


def _order(scores: Floats, large_is_good: bool, matter: Mattering | None) -> Integers:
    """Best first; where the number is to be found, the features that matter before the others."""
    order = np.argsort(ranks(scores, large_is_good=large_is_good))
    return order if matter is None else order[np.argsort(~matter.mask[order], kind="stable")]


def _wanted(given: dict[str, Any], n_features: int) -> int:
    asked, most = given["n_features_to_select"], given["max_features"]
    wanted = wanted_features(asked, n_features, or_auto=True)
    if most is None:
        return wanted
    if isinstance(asked, Integral) and wanted > most:
        raise InputError(
            parameter("n_features_to_select", asked),
            f" is {asked}, but ",
            parameter("max_features", most),
            f" allows {most}; raise one or lower the other.",
        )
    return min(wanted, int(most))


def _allowed(matter: Mattering | None) -> Booleans | None:
    """The features among which to choose; all of them (None) where none can be told from chance."""
    return matter.mask if matter is not None and matter.mask.any() else None


def _mattering(table: Table, known: Supervision, given: dict[str, Any]) -> Mattering | None:
    return columns_that_matter(table, known) if given["n_features_to_select"] == "auto" else None


def _count(
    table: Table,
    known: Supervision,
    order: Integers,
    matter: Mattering | None,
    given: dict[str, Any],
    *,
    weights: Floats | None = None,
) -> Count | None:
    if matter is None:
        return None
    return count_features(
        table, known, order, mattering=matter, weights=weights, max_features=given["max_features"]
    )


def _n_selected(found: _Found, wanted: int, given: dict[str, Any]) -> int:
    """How many of the first features are selected."""
    if found.count is None:
        return selected_count(
            wanted, found.scores, exactly=isinstance(given["n_features_to_select"], Integral)
        )
    if found.count.n == 0 and not np.isnan(found.scores).all():
        warn(
            "one feature is selected, since there is no telling how many matter: "
            f"{found.count.reason}"
        )
        return 1
    return int(found.count.n)

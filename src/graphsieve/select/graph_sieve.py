"""The scikit-learn selector: supervision in, selected features and their number out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError, warn
from graphsieve._base.messages import parameter, phrase
from graphsieve._base.parameters import checked, remedy, setting
from graphsieve.graphs.neighbors.metrics import measured
from graphsieve.graphs.neighbors.strategy import recall_of
from graphsieve.scores.choosing import choose_method, warn_of_weak_supervision
from graphsieve.scores.method import warn_of_unscorable
from graphsieve.search.alternatives import Chosen, can_compare, choose
from graphsieve.search.counting import Count, count_features, prediction_counts
from graphsieve.search.default import Explanation, select_by_explanation
from graphsieve.search.diverse import MOST_SELECTED, Choice, DiversePath, select_diverse
from graphsieve.search.relevant import RelevantColumns
from graphsieve.select.preparation import (
    DIVERSE,
    PARAMETERS,
    chosen_method,
    compression,
    joined_supervision,
    method_options,
    metric_used,
    ranks,
    read_choice,
    refuse_graph_parameters,
    refuse_unusable,
    refuse_unused_scale,
    scale_used,
    selected_count,
    wanted_features,
    weights_by_rank,
    with_copies,
    with_neighbors,
    with_weights,
)
from graphsieve.select.sieve import FittingSieve
from graphsieve.supervision.value import Supervision, TargetType
from graphsieve.table.any_table import as_table
from graphsieve.table.columns import Table
from graphsieve.table.imputation import imputed
from graphsieve.table.scaling import of_unit_variance, rescaled, standardized_target


class GraphSieve(FittingSieve):
    """Select features with any kind of supervision, expressed as graphs over the samples.

    Parameters
    ----------
    method : str
        ``"diverse"`` selects features that together explain the table and the supervision.
        ``"auto"`` does the same, but with at least 40 labels it first compares this search with
        others by cross-validation (see `candidate_`). A name from `graphsieve.scores.METHODS` ranks
        features one by one by that score.
    n_features_to_select : int, float, "auto" or None
        Number of features, or a fraction of them. None selects half of the features, as in
        scikit-learn's RFE. ``"auto"`` selects as many as are relevant and not redundant; `count_`
        gives the reason.
    redundancy : {"auto", "explain", "correlation", None}
        How to avoid redundant features (see `search.diverse_selection`). ``"explain"`` selects each
        feature by the variance that the selected ones leave unexplained. ``"correlation"`` selects
        by score × (1 − largest correlation with a selected feature). None ranks features one by
        one. ``"auto"`` is None if a method is named. With ``method="auto"``, ``"explain"`` skips
        the comparison with other searches, and None uses the published score for the given
        supervision.
    max_features : int or None
        Upper limit if `n_features_to_select` is a fraction, None or ``"auto"``. A larger integer in
        `n_features_to_select` is refused.
    n_neighbors : int or "auto"
        Number of neighbours in the graph. ``"auto"`` is the method's published default, at most
        n_samples − 1.
    bandwidth : float or "auto"
        The t of the heat kernel exp(−d²/t). ``"auto"`` is the mean squared length of the edges.
    scale : {"auto", "standard", "minmax", "robust", "rank", None}
        Scaling of the features before distances and correlations are computed: by standard
        deviation, by range, by interquartile range, or to ranks. A continuous target is divided by
        its standard deviation. None uses features and target as they are.

        ``"auto"`` uses the features as they are, unless they plainly have different units. This is
        the case if their ranges differ more than a hundredfold, or if one feature varies more than
        all others together. It is then ``"standard"``. If a method compares distances in X with
        distances along the target, ``"auto"`` multiplies all features by one factor, so that their
        mean variance is 1.

        Methods without distances between samples score features as they are. If such a method is
        named without `redundancy`, other scales are refused.
    metric : {"auto", "euclidean", "cosine"}
        Distance between samples, for methods that need neighbours. ``"auto"`` is cosine for tables
        of counts that are mostly zero, and Euclidean otherwise.
    neighbors : {"auto", "exact", "approximate"} or transformer
        Search for neighbours in X. ``"auto"`` is exact if the search takes up to about a minute on
        two cores (400,000 × 50, or 130,000 × 500). Beyond that it is approximate, with a warning.
        An estimator such as scikit-learn's ``KNeighborsTransformer`` is cloned and fitted; the
        distances are recomputed.
    target_type : {"auto", "classes", "continuous"}
        Type of `y`. ``"auto"`` decides as `Supervision.from_y` does.
    unlabeled : int or None
        Number that marks an unknown class label in `y`, besides None and NaN. None if every number
        is a class.
    method_params : dict, optional
        Further parameters of the method's function, such as ``{"label_weight": 10.0}``.
    compress : {"som", "kmeans", None}
        Build the graph from prototypes that replace the unlabelled samples: the units of a
        self-organizing map or the centres of k-means. Labelled and paired samples are never
        compressed. Only for methods with a graph from X.
    n_prototypes : int, (int, int) or None
        Largest number of prototypes, or the two sides of the map. None is the square root of the
        number of samples that are replaced.
    categorical : {"auto", None} or sequence
        The categories of X. ``"auto"``: all columns that are not numeric. An ordered categorical of
        pandas or an Enum of polars becomes ranks. Text with fewer than two samples per level raises
        a warning and cannot be selected. A sequence of names (positions for an array) lists all
        categories. None: there are none, and columns that are not numeric are refused.
    feature_groups : dict, sequence, str or None
        Columns that are scored and selected together: a dict of name → columns, one label per
        column (None for a column without a group), or a separator such as ``"_"``. Columns with the
        same name before the separator form a group. Columns without a group remain features.
    missing : {"use", "refuse"}
        What to do about missing values (NaN, None, NA, masked cells). ``"use"`` scores each feature
        on the samples where it is observed. Distances between samples use the features that both
        have. Searches, label propagation and prototypes impute missing values internally. ``"refuse"`` raises an
        error.
    keep : sequence or None
        Names (positions for an array) of features that are selected first, in this order. The gains
        of the others take them into account.
    candidates : sequence, array of bool or None
        The features that may be selected besides those to keep. Others rank last. None allows all.
    cost : dict, sequence or None
        The cost of each feature, 1 if a dict omits it. Features are selected by gain divided by
        cost. Costs are refused if features are ranked one by one.
    n_jobs : int or None
        Number of threads, as in scikit-learn. None uses as many as BLAS may use, -1 all cores.
        Results differ by rounding at most.
    progress : bool or None
        Whether to report progress on the error stream. With None, only on a terminal.

    Attributes
    ----------
    scores_ : array of shape (n_features,)
        Score of each feature by the method; NaN if it cannot be scored. For ``"diverse"``, the
        share of the total that the feature explains alone. For another `candidate_`, the weight of
        the feature in that search.
    ranking_ : array of int of shape (n_features,)
        1 is the best feature, or the first one selected. It does not depend on
        `n_features_to_select`. Equal scores are ranked by position; features without a score come
        last. If features are selected by gain, the first 256 are selected one by one. The others
        follow by the gain that they would still add.
    method_, reason_ : str
        The method that ran, and the reason for it.
    relevance_ : array of shape (n_features,) or None
        For ``"diverse"``, the share of each feature's variation that is associated with the
        supervision, corrected for chance. Without supervision, its largest absolute correlation
        with another feature.
    relevant_ : array of bool of shape (n_features,) or None
        For ``"diverse"``, the features that matter according to tests. They are selected first,
        unless another search was chosen (`candidate_`).
    candidate_ : str or None
        With ``method="auto"``, the search that was chosen: ``"diverse"`` or another name in
        `graphsieve.search.alternatives.CANDIDATES`. ``"diverse"`` if nothing was compared, and
        None if a score is named.
    candidates_ : dict or None
        The cross-validated error of each of these searches. None if they were not compared: with
        fewer than 40 labels, or with sample weights, `keep`, `candidates` or `cost`.
    skill_ : float or None
        For ``"diverse"``, how well held-out labels are predicted from all features, from 0 to 1.
        It determines the weight of the labels.
    gain_ : array of shape (n_features,) or None
        What each feature adds to those ranked before it, or 0 beyond the 256 features that are
        selected one by one. For ``"diverse"`` it has the unit of `scores_`. NaN for features that
        cannot be selected.
    redundancy_ : array of shape (n_features,) or None
        Share of each feature's variance explained by the selected features, or, for a selected
        feature, by those selected before it.
    closest_ : array of int of shape (n_features,) or None
        Position of the selected feature that correlates most with each feature, by absolute value.
        For a selected feature, only those selected before it count. −1 if there is none.
    closest_correlation_ : array of shape (n_features,) or None
        Correlation with that feature.
    count_ : graphsieve.search.counting.Count or None
        With ``n_features_to_select="auto"``: the number of features, the rule, the reason and the
        curve.
    large_is_good_ : bool
        Whether large scores are good.
    n_neighbors_, bandwidth_ : int, float or None
        The values used; None if the method has no such parameter.
    scale_, metric_ : str or None
        The values used.
    neighbor_recall_ : float or None
        Recall of an approximate neighbour search, estimated on some samples. None if the search was
        exact.
    n_samples_, n_labeled_ : int
        Number of samples, and of those with a known label, a target or class probabilities.
    n_prototypes_ : int
        Number of prototypes; 0 without compression.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> sieve = GraphSieve(n_features_to_select=2).fit(X, y)
    >>> list(sieve.get_feature_names_out())
    ['sepal width (cm)', 'petal width (cm)']
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
        categorical: Any = "auto",
        feature_groups: Any = None,
        missing: str = "use",
        keep: Any = None,
        candidates: Any = None,
        cost: Any = None,
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
        self.categorical = categorical
        self.feature_groups = feature_groups
        self.missing = missing
        self.keep = keep
        self.candidates = candidates
        self.cost = cost
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(
        self,
        X: Any,
        y: Any = None,
        supervision: Supervision | None = None,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> GraphSieve:
        """Score and rank the features.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        y : array of shape (n_samples,) or (n_samples, n_targets), optional
            Class labels (−1, None or NaN where unknown) or a continuous target (NaN where unknown).
        supervision : Supervision, optional
            Other supervision, such as pairs or class probabilities. It is joined with `y`. If it
            contains labels or targets itself, `y` is ignored here and left to later steps of a
            pipeline.
        groups : array of shape (n_samples,), optional
            Samples that are not independent, such as the subject of each measurement. The samples
            of a group are left out together and count once in tests. With None, only copies of a
            sample form a group, with a warning. Groups apply to the default search and to
            ``n_features_to_select="auto"``; other selections refuse them.
        sample_weight : array of shape (n_samples,), optional
            Weight of each sample, 0 or more: it multiplies the mass of the sample in every graph
            and mean. Samples with weight 0 are left out. Tests count every other sample once.
        """
        self._fit(X, y, supervision, groups, sample_weight)
        return self

    @property
    def _uses_groups(self) -> bool:
        by_search = self.method in ("auto", DIVERSE) and self.redundancy in ("auto", "explain")
        number = self.n_features_to_select
        return by_search or (isinstance(number, str) and number == "auto")

    def _fit_here(
        self, X: Any, y: Any, supervision: Supervision | None, sample_weight: Any
    ) -> tuple[Table, Supervision]:
        given = checked(self.get_params(deep=False), PARAMETERS)
        table = as_table(
            X,
            y,
            categorical=given["categorical"],
            feature_groups=given["feature_groups"],
            names=self._names,
            missing=given["missing"],
        )
        wanted = _wanted(given, table.n_features)
        choice = read_choice(table, given, wanted)
        known = joined_supervision(table, y, supervision, given)
        table, known = with_weights(table, known, sample_weight, X)
        if self._uses_groups:
            known = with_copies(table, known)
        by_search = given["method"] in ("auto", DIVERSE) and given["redundancy"] in (
            "auto",
            "explain",
        )
        run = _by_search if by_search else _by_score
        found = run(table, known, supervision, given, choice=choice)
        warn_of_unscorable(found.scores, table)
        n_selected = _n_selected(found, wanted, given, choice)
        # Attributes are set last, so that a failed fit changes nothing.
        self._describe(X, table)
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
        matter, chosen = found.matter, found.chosen
        self.relevant_ = None if matter is None or found.relevance is None else matter.mask
        self.candidate_ = None if found.relevance is None else DIVERSE
        self.candidates_ = None
        if chosen is not None:
            self.candidate_, self.candidates_ = chosen.name, dict(chosen.errors)
        self.gain_ = self.redundancy_ = self.closest_ = self.closest_correlation_ = None
        if found.path is not None and found.path.cut is not None:
            self.gain_ = found.path.gain
            cut = found.path.cut(n_selected)
            self.redundancy_, self.closest_, self.closest_correlation_ = cut
        self._select(self.ranking_ <= n_selected)
        return table, known


@dataclass(frozen=True)
class _Found:
    """The results of a fit."""

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
    matter: RelevantColumns | None = None
    chosen: Chosen | None = None


def _by_search(
    table: Table,
    known: Supervision,
    supervision: Supervision | None,
    given: dict[str, Any],
    *,
    choice: Choice,
) -> _Found:
    """Select features that together explain the table and the supervision (the default)."""
    refuse_graph_parameters(given)
    if supervision is not None and "probabilities" in supervision.kinds:
        refuse_unusable(
            supervision.kinds,
            ("labels", "probabilities"),
            "the search with class probabilities",
        )
    name, reason = choose_method(known)
    if name == "laplacian":  # The supervision is empty, or it does not distinguish any samples.
        known = known.groups_only()
    warn_of_weak_supervision(known, known.kinds)
    scale = scale_used(table, given["scale"])
    scaled = imputed(rescaled(table, scale))
    explained = select_by_explanation(
        table, scaled, known, choice=choice, progress=given["progress"]
    )
    path, matter = explained.path, explained.matter
    chosen = None
    if given["method"] == given["redundancy"] == "auto" and can_compare(scaled, choice):
        chosen = choose(table, scaled, known, progress=given["progress"])
    other = None if chosen is None or chosen.is_default else chosen
    if other is not None:
        path, matter = other.path(scaled), replace(matter, none_associated=False)
    order = choice.ordered(_unscored_last(path.order, path.alone))
    count = None
    if given["n_features_to_select"] == "auto":
        count = count_features(explained, known) if other is None else _count_by_errors(other)
        if other is not None and prediction_counts(explained, known):
            # Cross-validated errors are noisy. The larger number is steadier.
            in_order = count_features(_in_this_order(table, scaled, known, order), known)
            count = max(count, in_order, key=lambda one: one.n)
        count = count.at_most(given["max_features"])
    return _Found(
        method=DIVERSE,
        reason=reason,
        scores=path.alone,
        large_is_good=True,
        order=order,
        scale=scale,
        path=path,
        relevance=explained.relevance,
        skill=explained.skill,
        count=count,
        matter=matter,
        chosen=chosen,
    )


def _in_this_order(table: Table, scaled: Table, known: Supervision, order: Integers) -> Explanation:
    """Return what the features explain if they are selected in a given order."""
    choice = Choice(tuple(order.tolist()), np.zeros(table.n_features, dtype=bool))
    return select_by_explanation(table, scaled, known, choice=choice, progress=False)


def _count_by_errors(chosen: Chosen) -> Count:
    """Return the number of features of another candidate, by its cross-validated errors.

    Such a candidate may find features that explain nothing by themselves.
    """
    number = "1 feature" if chosen.n_features == 1 else f"{chosen.n_features} features"
    reason = (
        f"The search {chosen.name!r} predicts held-out labels better than the default. Its "
        f"cross-validated error is smallest with about {number}."
    )
    return Count(chosen.n_features, ((0, 0.0, 0.0),), reason, "predicted", chosen.curve)


def _by_score(
    table: Table,
    known: Supervision,
    supervision: Supervision | None,
    given: dict[str, Any],
    *,
    choice: Choice,
) -> _Found:
    """Rank features by a score; with `redundancy`, select a set of features by that score."""
    if given["method"] == DIVERSE:
        raise InputError(
            setting("method", "diverse"),
            " is a search by explained variance; leave ",
            parameter("redundancy", given["redundancy"]),
            f" at 'auto', got {given['redundancy']!r}.",
        )
    method, reason = chosen_method(known, supervision, given["method"])
    form = None if given["redundancy"] == "auto" else given["redundancy"]
    if form is None and choice.cost is not None:
        raise InputError(
            parameter("cost"),
            " applies to a selection by gain, but ",
            phrase("features"),
            " are ranked one by one; leave it out, or use ",
            remedy("redundancy", "explain"),
            ".",
        )
    reads_scale = method.reads_neighbors or form is not None
    if not reads_scale and given["method"] != "auto":
        refuse_unused_scale(method, given["scale"])
    scale = scale_used(table, given["scale"]) if reads_scale else None
    told = known
    if known.targets is not None and (given["scale"] is not None or known.n_targets > 1):
        told = replace(known, targets=standardized_target(known.targets))
    measured_by = rescaled(table, scale)
    metric = metric_used(table, method, given)
    basis = measured_by if method.reads_neighbors else table
    if (
        given["scale"] == "auto"
        and scale is None
        and method.reads_neighbors
        and "targets" in method.uses
    ):
        # The method compares distances in X with distances along the target, which has another
        # unit.
        basis = of_unit_variance(basis)
    small = compression(basis, told, method, given)
    options = method_options(method, told if small is None else small.known, given)
    located = with_neighbors(
        measured(basis, metric) if metric is not None else basis, method, given
    )
    scored = method.score(
        located if small is None else basis.represented_by(small), told, **options
    )
    large_is_good = method.large_is_good(options)
    counts = given["n_features_to_select"] == "auto"
    scaled = imputed(measured_by) if form is not None or counts else measured_by
    path = None
    if form is not None:
        path = select_diverse(
            scaled,
            weights_by_rank(scored.values, large_is_good=large_is_good),
            n_wanted=MOST_SELECTED,
            form=form,
            choice=choice,
            progress=given["progress"],
        )
    best_first = np.argsort(ranks(scored.values, large_is_good=large_is_good))
    order = _unscored_last(best_first if path is None else path.order, scored.values)
    order = choice.ordered(order)
    count, matter = None, None
    if counts:
        candidates = order[~np.isnan(scored.values[order]) & choice.selectable(len(order))[order]]
        explained = _in_this_order(table, scaled, known, candidates)
        matter = explained.matter
        count = count_features(explained, known).at_most(given["max_features"])
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
        count=count,
        matter=matter,
    )


def _unscored_last(order: Integers, scores: Floats) -> Integers:
    """Move features that cannot be scored to the end of the order."""
    return order[np.argsort(np.isnan(scores[order]), kind="stable")]


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


def _n_selected(found: _Found, wanted: int, given: dict[str, Any], choice: Choice) -> int:
    """Return the number of selected features."""
    if found.count is None:
        exactly = isinstance(given["n_features_to_select"], Integral)
        allowed = int(choice.selectable(len(found.scores)).sum())
        if exactly and wanted > allowed:
            warn(
                f"{wanted} ",
                phrase("features"),
                f" were requested, but only {allowed} may be selected.",
            )
        return min(allowed, selected_count(wanted, found.scores, exactly=exactly))
    unscored = np.isnan(found.scores)
    if unscored.all():
        return 0
    if unscored[choice.selectable(len(unscored))].all():
        raise InputError(
            "nothing to select: ",
            parameter("candidates"),
            " contains only ",
            phrase("features"),
            " that do not vary; add others.",
        )
    if found.count.n == 0:
        warn(
            "the number of features could not be determined, so one feature is selected: "
            f"{found.count.reason}"
        )
        return max(1, len(choice.keep))
    if found.matter is not None and found.matter.none_associated and found.count.n:
        warn(
            "no ",
            phrase("feature"),
            " is significantly associated with the supervision by itself, so the number is "
            f"uncertain: {found.count.reason}",
        )
    return max(int(found.count.n), len(choice.keep))

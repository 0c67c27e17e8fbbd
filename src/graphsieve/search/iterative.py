"""Iterative selection (IterativeLS-1 and IterativeLS-2).

It drops the worst features, rebuilds the graph from the others, and scores them again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError, RoundWarnings
from graphsieve._base.parameters import checked, must_be
from graphsieve._base.progress import Progress
from graphsieve._base.threads import one_product_thread
from graphsieve._base.underflow import ignoring_underflow
from graphsieve.graphs.neighbors.strategy import SearchedAnew
from graphsieve.graphs.neighbors.tracking import Tracker
from graphsieve.scores.method import (
    RULES,
    Method,
    Scored,
    best_first,
    wanted_count,
    warn_of_unscorable,
)
from graphsieve.scores.score_registry import METHODS
from graphsieve.search.estimates import Estimate, LaplacianEstimates
from graphsieve.supervision.value import Supervision
from graphsieve.table.any_table import table_in_memory
from graphsieve.table.columns import Table

VARIANTS = (1, 2)


@dataclass(frozen=True)
class Round:
    """One round of an iterative selection.

    Attributes
    ----------
    features : array of int
        The features that the graph was built from, in increasing order.
    scored : array of int
        The features that were scored: the same in variant 1, all features in variant 2.
    scores : array of float
        The scores of the `scored` features. They are accurate to at least six digits if this was
        enough to determine which features to drop, and to full precision otherwise.
    """

    features: Integers
    scored: Integers
    scores: Floats

    @property
    def size(self) -> int:
        """The number of features that the graph was built from."""
        return len(self.features)


@dataclass(frozen=True)
class IterativePath:
    """The features from best to worst, the rounds, and the result of the last round."""

    order: Integers
    rounds: tuple[Round, ...]
    last: Scored


@ignoring_underflow
def iterative_ranking(
    X: Any,
    *,
    n_features_to_select: int = 1,
    step: int | float = 1,
    variant: int = 1,
    n_neighbors: int = 5,
    bandwidth: float = 1.0,
    categorical: Any = "auto",
    feature_groups: Any = None,
) -> Integers:
    """Rank features by the iterative Laplacian score.

    Each round computes the Laplacian score, drops the worst features, and rebuilds the graph from
    the others. Features that were dropped later rank higher. Those that were never dropped come
    first, in the order of the last round. If noisy features disturb the neighbours in the space of
    all features, the graph improves as these features are dropped. The result is the same as with
    `laplacian_score` computed from scratch in each round, but the cost is far lower.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features. They are not rescaled, so scale them first if their units differ.
    n_features_to_select : int
        Number of features at which the rounds end.
    step : int or float
        Number of features to drop in each round. A value below 1 is a fraction of all features; the
        number is rounded down, but at least one feature is dropped (as in RFE).
    variant : {1, 2}
        With 1, a dropped feature never returns (IterativeLS-1). With 2, each round scores all
        features on the graph of the current set (IterativeLS-2). The next set then contains the
        best of all features and is one step smaller, so a dropped feature may return. The last
        round determines the order of all features.
    n_neighbors, bandwidth : int, float
        Number of neighbours and bandwidth of the graph, as in `laplacian_score`.
    categorical, feature_groups : {"auto", None} or sequence, dict or sequence or str or None
        The categories and the feature groups, as in `GraphSieve`.

    Returns
    -------
    ranking : array of int of shape (n_features,)
        Positions of features, best first. Ties are in column order, and constant features come
        last.

    References
    ----------
    Zhu, Miao, Zhang (2012), Iterative Laplacian score for feature selection.

    Examples
    --------
    The first column separates two groups, and the other columns are noise:

    >>> X = [[0, 3, 9], [1, 0, 0], [0, 1, 4], [5, 2, 8], [6, 1, 1], [5, 0, 5]]
    >>> int(iterative_ranking(X, n_neighbors=2, bandwidth=10.0)[0])
    0
    """
    table = table_in_memory(
        X, categorical=categorical, feature_groups=feature_groups, missing="use"
    )
    options = checked({"n_neighbors": n_neighbors, "bandwidth": bandwidth}, RULES)
    wanted = wanted_count(n_features_to_select, table.n_features)
    known = Supervision.nothing(table.n_samples)
    path = iterate(
        table,
        known,
        METHODS["laplacian"],
        options,
        n_features_to_select=wanted,
        step=step,
        variant=variant,
    )
    warn_of_unscorable(last_scores(path, table.n_features), table)
    return path.order


def iterate(
    table: Table,
    known: Supervision,
    method: Method,
    options: Mapping[str, Any],
    *,
    n_features_to_select: int,
    step: Any,
    variant: Any,
    progress: bool | None = None,
) -> IterativePath:
    """Run the iterative selection with any score that builds its graph from X.

    `options` are the options of the core of the method.
    """
    check_method(method)
    n_dropped = dropped_per_round(step, table.n_features)
    if (
        not isinstance(variant, Integral)
        or isinstance(variant, bool)
        or int(variant) not in VARIANTS
    ):
        raise InputError(
            must_be("variant", "1 (dropped features never return) or 2 (they may return)", variant)
        )
    large_is_good = method.large_is_good(options)
    tracker: Tracker | SearchedAnew = Tracker(table) if table.gaps is None else SearchedAnew(table)
    repeated = RoundWarnings()
    all_features = np.arange(table.n_features)
    full_table = table.take_features(all_features) if variant == 2 else table
    estimates = (
        LaplacianEstimates(table, tracker, options)
        if isinstance(tracker, Tracker) and LaplacianEstimates.suit(table, method)
        else None
    )
    current, survived, dropped, rounds = all_features, all_features, [], []
    with Progress("dropping features", progress) as shown, one_product_thread():
        while True:
            tracker.follow(current)
            scored = current if variant == 1 else all_features
            size = max(len(current) - n_dropped, n_features_to_select)
            with repeated.round():
                certain = None
                if estimates is not None and size > n_features_to_select:
                    certain = _certain_estimate(estimates, scored, size, ordered=variant == 1)
                if certain is None:
                    part = table.take_features(current) if variant == 1 else full_table
                    result = method.score(part.within(tracker), known, **options)
                    by_score = best_first(result.values, large_is_good=large_is_good)
                else:
                    result, by_score = (
                        Scored(certain.values, certain.n_neighbors, certain.bandwidth),
                        certain.order,
                    )
            rounds.append(Round(current, scored, result.values))
            order = scored[by_score]
            survived = order[:size]
            dropped.append(order[size:])
            current = np.sort(survived)
            shown.tell(f"{size} of {table.n_features} left, {n_features_to_select} wanted")
            if size == n_features_to_select:
                break
    repeated.give()
    # Features that were dropped later rank higher. In variant 2 the last round scored all features.
    order = np.concatenate([survived, *(dropped[::-1] if variant == 1 else dropped[-1:])])
    return IterativePath(order, tuple(rounds), result)


def last_scores(path: IterativePath, n_features: int) -> Floats:
    """Return the score of each feature in the last round that scored it."""
    scores = np.full(n_features, np.nan)
    for stage in path.rounds:
        scores[stage.scored] = stage.scores
    return scores


def _certain_estimate(
    estimates: LaplacianEstimates, scored: Integers, size: int, *, ordered: bool
) -> Estimate | None:
    """Return estimated scores if they determine with certainty which features to drop.

    If `ordered`, the order of these features must be certain as well. Otherwise return None.
    """
    estimate = estimates.of(scored)
    return estimate if estimate is not None and estimate.is_certain(size, ordered=ordered) else None


def check_method(method: Method) -> None:
    """Raise an error if the score does not use neighbours in X.

    Such a score does not change when features are dropped.
    """
    if not method.reads_neighbors:
        able = ", ".join(name for name, other in METHODS.items() if other.reads_neighbors)
        raise InputError(
            f"method {method.name!r} builds no graph from X, so dropping features does not change "
            f"its scores; choose one of: {able}."
        )


def dropped_per_round(step: Any, n_features: int) -> int:
    """Return the number of features to drop per round.

    A fraction refers to all features. It is rounded down, but at least one feature is dropped.
    """
    if isinstance(step, Integral) and not isinstance(step, bool) and int(step) >= 1:
        return int(step)
    if isinstance(step, Real) and not isinstance(step, bool | Integral) and 0 < float(step) < 1:
        return max(1, int(float(step) * n_features))
    raise InputError(must_be("step", "a count of at least 1 or a fraction between 0 and 1", step))

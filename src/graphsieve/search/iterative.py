"""Iterative selection: drop the worst features, rebuild the graph from the rest, score again
(IterativeLS-1 and -2).
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
from graphsieve._base.underflow import vanishing
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
        The features that were scored: the same in variant 1, all in variant 2.
    scores : array of float
        The score of each of `scored`: to at least six digits where more were not needed to tell who
        goes, else to the last.
    """

    features: Integers
    scored: Integers
    scores: Floats

    @property
    def size(self) -> int:
        """How many features the graph was built from."""
        return len(self.features)


@dataclass(frozen=True)
class IterativePath:
    """The features from best to worst, the rounds that led there, and what the last one used."""

    order: Integers
    rounds: tuple[Round, ...]
    last: Scored


@vanishing
def iterative_ranking(
    X: Any,
    *,
    n_features_to_select: int = 1,
    step: int | float = 1,
    variant: int = 1,
    n_neighbors: int = 5,
    bandwidth: float = 1.0,
) -> Integers:
    """Iterative Laplacian score: rank by the Laplacian score, drop the worst, rebuild the graph
    from the rest, and so on.

    Features are ordered by survival; those that are never dropped come first, in the order of the
    last round. Where neighbours in the space of all features are spoilt by noise, the graph
    improves as noise leaves it. It equals running `laplacian_score` from scratch in every round,
    but costs far less.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features, used as they are: scale them first if their units differ.
    n_features_to_select : int
        The rounds end when this many are left.
    step : int or float
        How many to drop in each round; below 1, the fraction of all features, rounded down, but at
        least one (as in RFE).
    variant : {1, 2}
        1: a dropped feature is gone (IterativeLS-1). 2: every round scores all features on the
        graph of those in the set, and the next set is the best of all, one step smaller, so that
        features may come back (IterativeLS-2); the last round then orders all features.
    n_neighbors, bandwidth : int, float
        As in `laplacian_score`.

    Returns
    -------
    array of int of shape (n_features,)
        Column positions, best first; equal scores in the order of the columns, constant features
        last.

    References
    ----------
    Zhu, Miao, Zhang (2012), Iterative Laplacian score for feature selection.

    Examples
    --------
    The first column follows two groups, the others are noise:

    >>> X = [[0, 3, 9], [1, 0, 0], [0, 1, 4], [5, 2, 8], [6, 1, 1], [5, 0, 5]]
    >>> int(iterative_ranking(X, n_neighbors=2, bandwidth=10.0)[0])
    0
    """
    table = table_in_memory(X)
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
    warn_of_unscorable(last_scores(path, table.n_features))
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
    """Any score whose graph comes from X, on the engine's terms: `options` are those of the
    method's core.
    """
    check_method(method)
    n_dropped = dropped_per_round(step, table.n_features)
    if (
        not isinstance(variant, Integral)
        or isinstance(variant, bool)
        or int(variant) not in VARIANTS
    ):
        raise InputError(
            must_be("variant", "1 (what is dropped is gone) or 2 (it may come back)", variant)
        )
    large_is_good = method.large_is_good(options)
    tracker, repeated = Tracker(table), RoundWarnings()
    everyone = np.arange(table.n_features)
    all_features = table.take_columns(everyone) if variant == 2 else table
    estimates = (
        LaplacianEstimates(table, tracker, options)
        if LaplacianEstimates.suit(table, method)
        else None
    )
    current, survived, dropped, rounds = everyone, everyone, [], []
    with Progress("dropping features", progress) as shown, one_product_thread():
        while True:
            tracker.follow(current)
            scored = current if variant == 1 else everyone
            size = max(len(current) - n_dropped, n_features_to_select)
            with repeated.round():
                certain = None
                if estimates is not None and size > n_features_to_select:
                    certain = _certain_estimate(estimates, scored, size, ordered=variant == 1)
                if certain is None:
                    judged = table.take_columns(current) if variant == 1 else all_features
                    result = method.core(judged.within(tracker), known, **options)
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
    # What was dropped later is better; in variant 2 the last round has scored everything.
    order = np.concatenate([survived, *(dropped[::-1] if variant == 1 else dropped[-1:])])
    return IterativePath(order, tuple(rounds), result)


def last_scores(path: IterativePath, n_features: int) -> Floats:
    """The score of each feature in the last round that scored it."""
    scores = np.full(n_features, np.nan)
    for stage in path.rounds:
        scores[stage.scored] = stage.scores
    return scores


def _certain_estimate(
    estimates: LaplacianEstimates, scored: Integers, size: int, *, ordered: bool
) -> Estimate | None:
    """Estimated scores, if it is certain which features the round drops, and (if `ordered`) in
    which order.
    """
    estimate = estimates.of(scored)
    return estimate if estimate is not None and estimate.is_certain(size, ordered=ordered) else None


def check_method(method: Method) -> None:
    """Only a score that looks for neighbours in X changes when features leave."""
    if not method.reads_neighbors:
        able = ", ".join(name for name, other in METHODS.items() if other.reads_neighbors)
        raise InputError(
            f"method {method.name!r} builds no graph from X, so that dropping features changes "
            f"nothing; choose one of: {able}."
        )


def dropped_per_round(step: Any, n_features: int) -> int:
    """A count as it is; a fraction of all features, rounded down, but at least one."""
    if isinstance(step, Integral) and not isinstance(step, bool) and int(step) >= 1:
        return int(step)
    if isinstance(step, Real) and not isinstance(step, bool | Integral) and 0 < float(step) < 1:
        return max(1, int(float(step) * n_features))
    raise InputError(must_be("step", "a count of at least 1 or a fraction between 0 and 1", step))

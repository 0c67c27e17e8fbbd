"""Hybrid selection (IteraGraph_FS).

It selects features by the labels, propagates the labels over a graph of the selected features, and
selects again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import EndedError, InputError, InputTypeError, RoundWarnings, warn
from graphsieve._base.messages import parameter
from graphsieve._base.parameters import (
    Rule,
    between,
    boolean,
    checked,
    choice,
    count,
    either,
    must_be,
    nearest,
    positive,
    quoted,
)
from graphsieve._base.progress import Progress
from graphsieve._base.underflow import ignoring_underflow
from graphsieve.scores.choosing import warn_of_weak_supervision
from graphsieve.scores.method import Method, best_first, check_length, extra_options, wanted_count
from graphsieve.scores.score_registry import METHODS
from graphsieve.search.criteria import make_criterion
from graphsieve.search.floating import float_forward
from graphsieve.search.propagation import Propagation, propagate
from graphsieve.supervision.value import Kind, Supervision
from graphsieve.table.any_table import table_in_memory
from graphsieve.table.columns import Table

BASES = (*(name for name, method in METHODS.items() if "labels" in method.uses), "floating")
"""The methods that can select features by labels alone: all scores that use labels, and the
floating search.
"""
OF_LABELS: tuple[Kind, ...] = ("labels",)
# Number of decimals in which confidences are compared. Confidences that are equal in theory differ
# by rounding errors, and these depend on the number of threads.
DIGITS = 12


@dataclass(frozen=True)
class Selection:
    """The selected features, best first, and the scores of all features (NaN if not scored)."""

    features: Integers
    scores: Floats


@dataclass(frozen=True)
class HybridRound:
    """One round of a hybrid selection.

    Attributes
    ----------
    graph_features : array of int
        The features of the graph that propagated the labels.
    confident : array of int
        The unlabelled samples that were added to the labelled samples.
    predicted : array of int
        The predicted class codes of these samples.
    confidence : float
        The mean confidence of these predictions, from 0 (all classes equally likely) to 1.
    features : array of int
        The features that were selected with these samples, best first.
    scores : array of float
        The scores of all features in this selection.
    """

    graph_features: Integers
    confident: Integers
    predicted: Integers
    confidence: float
    features: Integers
    scores: Floats


@dataclass(frozen=True)
class HybridPath:
    """The result of a hybrid selection.

    It contains the selected features and their scores, the selection by the labels alone (`seed`),
    the rounds, the number of the round that gave the result, and the reason why the rounds ended.
    `chosen` is None if the selection by the labels alone is the result.
    """

    order: Integers
    scores: Floats
    seed: Selection
    rounds: tuple[HybridRound, ...]
    chosen: int | None
    stopped: str


@ignoring_underflow
def hybrid_selection(
    X: Any,
    y: Any,
    *,
    n_features_to_select: int,
    base: str = "fisher",
    n_iterations: int = 10,
    confident_fraction: float = 0.9,
    n_neighbors: int | None = None,
    bandwidth: float | str = "auto",
    base_params: Mapping[str, Any] | None = None,
    categorical: Any = "auto",
    feature_groups: Any = None,
    progress: bool | None = None,
) -> Integers:
    """Select features with few labels by hybrid selection (IteraGraph_FS).

    The first selection uses the given labels alone. Each round then builds a graph of all samples
    in the selected features and predicts the unlabelled samples by their harmonic labels. The
    samples with the most confident predictions are added to the labelled samples for the next
    selection. The result is the selection of the round with the highest mean confidence. The rounds
    end early if a set is selected again, because all later rounds would repeat.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features. They are not rescaled, so scale them first if their units differ.
    y : array of shape (n_samples,)
        Class labels; −1, None or NaN for unlabelled samples.
    n_features_to_select : int
        Size of the set. Features that tie with the last one are also selected, so the set may be
        larger. ``"floating"`` has no such ties, because it scores sets.
    base : str
        The method that selects by labels: a score that uses them, or ``"floating"``.
    n_iterations : int
        Maximum number of rounds.
    confident_fraction : float
        Share of the unlabelled samples that is added in each round, the most confident first.
        Samples with equal confidence are added together. Samples without a most likely class are
        never added.
    n_neighbors, bandwidth : int or None, float or "auto"
        Number of neighbours and bandwidth of the graph, as in `harmonic_labels`.
    base_params : dict, optional
        Parameters of the base, such as ``{"n_neighbors": 5}`` for ``"relieff"``.
    categorical, feature_groups : {"auto", None} or sequence, dict or sequence or str or None
        The categories and the feature groups, as in `GraphSieve`.
    progress : bool or None
        Whether to show the progress on the error stream. With None, it is shown if the stream is a
        terminal.

    Returns
    -------
    features : array of int
        Positions of features, best first.

    References
    ----------
    Zhong, Xie, Fan, Ren, Peng, Zhang (2008), Graph-based iterative hybrid feature selection.

    Examples
    --------
    The toy example of the paper. By the two labels alone, features 2 and 4 are equally good. Only
    feature 4 agrees with the labels that the graph predicts for the other samples.

    >>> X = [[1, 1, 1, 1], [1, -1, 1, -1], [-1, 1, 1, 1], [0, -1, 1, 1]]
    >>> hybrid_selection(X, ["-", "+", None, None], n_features_to_select=1)
    array([3])
    """
    table = table_in_memory(
        X, y, categorical=categorical, feature_groups=feature_groups, missing="use"
    )
    known = Supervision.from_labels(y)
    check_length(known, table)
    given = checked(
        {
            "base": base,
            "n_iterations": n_iterations,
            "confident_fraction": confident_fraction,
            "n_neighbors": n_neighbors,
            "bandwidth": bandwidth,
            "progress": progress,
        },
        HYBRID_RULES,
    )
    wanted = wanted_count(n_features_to_select, table.n_features)
    select = selecting(table, given["base"], wanted, base_options(given["base"], base_params))
    if known.n_labeled > 2:  # Two labels of two classes are single members by necessity.
        warn_of_weak_supervision(known, OF_LABELS)
    return refine(table, known, select, **_refining_options(given)).order


def _share(name: str, value: Any) -> float:
    fraction: float = between(0, 1)(name, value)
    if not fraction:
        raise InputError(must_be(name, "a number above 0 and up to 1", value))
    return fraction


HYBRID_RULES: Mapping[str, Rule] = {
    "base": choice(BASES),
    "n_iterations": count(1),
    "confident_fraction": _share,
    "n_neighbors": either(None, count(1)),
    "bandwidth": either("auto", positive()),
    "progress": either(None, boolean()),
}


def _refining_options(given: Mapping[str, Any]) -> dict[str, Any]:
    names = ("n_iterations", "confident_fraction", "n_neighbors", "progress")
    return {name: given[name] for name in names} | {
        "bandwidth": None if given["bandwidth"] == "auto" else given["bandwidth"]
    }


def base_options(base: str, extra: Any) -> dict[str, Any]:
    """Return the options of a base: its published defaults, updated by `extra`."""
    if extra is not None and not isinstance(extra, Mapping):
        raise InputTypeError(must_be("base_params", "a dict of parameter names and values", extra))
    if base != "floating":
        return METHODS[base].defaults | extra_options(
            METHODS[base], extra or {}, what="base_params"
        )
    allowed = ("estimator", "scoring", "cv", "ridge")
    for name in extra or {}:
        if name not in allowed:
            hint, listed = nearest(name, allowed), ", ".join(allowed)
            raise InputError(
                f"base 'floating' has no parameter {quoted(name)}{hint}; ",
                parameter("base_params", extra),
                f" may contain: {listed}.",
            )
    return dict(extra or {})


def selecting(
    table: Table, base: str, n_features: int, options: Mapping[str, Any], *, exactly: bool = True
) -> Callable[[Supervision], Selection]:
    """Return the function that selects features of `table` for a given supervision.

    Without `exactly`, it never selects a feature that cannot be scored.
    """
    if base == "floating":
        return lambda known: _by_floating(table, known, n_features, options, exactly=exactly)
    return lambda known: _by_score(
        table, known, METHODS[base], n_features, options, exactly=exactly
    )


def _by_score(
    table: Table,
    known: Supervision,
    method: Method,
    n_features: int,
    options: Mapping[str, Any],
    *,
    exactly: bool,
) -> Selection:
    scores = method.score(table, known, **options).values
    order = best_first(scores, large_is_good=method.large_is_good(options))
    scorable = int((~np.isnan(scores)).sum())
    if not scorable:
        raise InputError(
            f"nothing to select: method {method.name!r} can score none of the {table.n_features} "
            "features."
        )
    if n_features < scorable:
        as_good = np.flatnonzero(scores[order] == scores[order[n_features - 1]])
        return Selection(order[: as_good[-1] + 1], scores)
    if exactly and n_features > scorable:
        warn(
            f"{n_features} features were requested, but only {scorable} can be scored; the others "
            "follow in column order."
        )
    return Selection(order[: n_features if exactly else scorable], scores)


def _by_floating(
    table: Table, known: Supervision, n_features: int, options: Mapping[str, Any], *, exactly: bool
) -> Selection:
    criterion = make_criterion(table, known, **options)
    found = float_forward(criterion, n_features, exactly=exactly, partial=False, progress=False)
    return Selection(found.order, np.full(table.n_features, np.nan))


def refine(
    table: Table,
    known: Supervision,
    select: Callable[[Supervision], Selection],
    *,
    n_iterations: int,
    confident_fraction: float,
    n_neighbors: int | None,
    bandwidth: float | None,
    progress: bool | None = None,
) -> HybridPath:
    """Alternate between selecting features and propagating labels over their graph.

    After an interruption, the result is the best complete round. If no round is complete, the
    interruption is raised.
    """
    repeated, rounds = RoundWarnings("selection"), list[HybridRound]()
    with repeated.round():
        seed = select(known)
    if known.labels is None or (known.codes >= 0).all():
        repeated.give()
        return HybridPath(
            seed.features,
            seed.scores,
            seed,
            (),
            None,
            "there is no unlabelled sample, so no labels were propagated",
        )

    def next_round(current: Integers) -> HybridRound:
        with repeated.round():
            carried = propagate(
                table.take_features(np.sort(current)),
                known,
                n_neighbors=n_neighbors,
                bandwidth=bandwidth,
            )
            return _one_round(known, carried, current, confident_fraction, select)

    with Progress("hybrid selection", progress) as shown:
        try:
            stopped = _until_a_set_returns(next_round, seed.features, rounds, n_iterations, shown)
        except EndedError:
            raise
        except KeyboardInterrupt:
            if not rounds:
                raise
            stopped = f"interrupted after {_n_rounds(len(rounds))}"
            warn(f"{stopped}; the result is the best round so far.")
    repeated.give()
    return _best_round(seed, rounds, stopped)


def _until_a_set_returns(
    next_round: Callable[[Integers], HybridRound],
    features: Integers,
    rounds: list[HybridRound],
    n_iterations: int,
    shown: Progress,
) -> str:
    """Append rounds until a set is selected again, and return the reason why they ended."""
    current, met = features, {_key(features)}
    for number in range(1, n_iterations + 1):
        joined = next_round(current)
        rounds.append(joined)
        shown.tell(f"round {number} of {n_iterations}, confidence {joined.confidence:.3g}")
        same = _key(joined.features) == _key(current)
        current = joined.features
        if _key(current) in met:
            what = "the set no longer changed" if same else "an earlier set was selected again"
            return f"{what} after {_n_rounds(number)}"
        met.add(_key(current))
    return f"the limit of {_n_rounds(n_iterations)} was reached"


def _n_rounds(number: int) -> str:
    return "1 round" if number == 1 else f"{number} rounds"


def _best_round(seed: Selection, rounds: list[HybridRound], stopped: str) -> HybridPath:
    """Return the round with the highest confidence.

    If no round added a sample, return the first selection.
    """
    confidences = np.array([joined.confidence for joined in rounds]).round(DIGITS)
    if not len(rounds[int(confidences.argmax())].confident):
        warn(
            "no unlabelled sample has a most likely class, so the labels could not be propagated; "
            "the result is the first selection."
        )
        return HybridPath(seed.features, seed.scores, seed, tuple(rounds), None, stopped)
    chosen = int(confidences.argmax())
    return HybridPath(
        rounds[chosen].features, rounds[chosen].scores, seed, tuple(rounds), chosen, stopped
    )


def _one_round(
    known: Supervision,
    carried: Propagation,
    graph_features: Integers,
    confident_fraction: float,
    select: Callable[[Supervision], Selection],
) -> HybridRound:
    confident = most_confident(known, carried, confident_fraction)
    predicted = carried.probabilities[confident].round(DIGITS).argmax(axis=1)
    labels = known.codes.copy()
    labels[confident] = predicted
    selection = select(replace(known, labels=labels))
    average = float(carried.confidence[confident].mean()) if len(confident) else 0.0
    return HybridRound(
        graph_features, confident, predicted, average, selection.features, selection.scores
    )


def most_confident(known: Supervision, carried: Propagation, fraction: float) -> Integers:
    """Return the given share of the unlabelled samples with the highest confidence.

    The number is rounded. Samples that tie with the last one are included.
    """
    unlabeled = np.flatnonzero(known.codes < 0)
    confidence = carried.confidence[unlabeled].round(DIGITS)
    able = (confidence > 0) & ~carried.unreached[unlabeled]
    if not able.any():
        return unlabeled[:0]
    place = min(max(1, int(np.floor(fraction * len(unlabeled) + 0.5))), int(able.sum()))
    least = np.sort(confidence[able])[::-1][place - 1]
    return np.asarray(unlabeled[able & (confidence >= least)], dtype=np.int64)


def _key(features: Integers) -> bytes:
    return np.sort(features).tobytes()

"""Hybrid selection (IteraGraph_FS): select by the labels, carry them along a graph of the
selected features, select again.
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
from graphsieve._base.underflow import vanishing
from graphsieve.scores.choosing import warn_of_poor_knowledge
from graphsieve.scores.method import Method, best_first, check_length, extra_options, wanted_count
from graphsieve.scores.score_registry import METHODS
from graphsieve.search.criteria import make_criterion
from graphsieve.search.floating import float_forward
from graphsieve.search.propagation import Propagation, propagate
from graphsieve.supervision.value import Kind, Supervision
from graphsieve.table.any_table import table_in_memory
from graphsieve.table.columns import Table

BASES = (*(name for name, method in METHODS.items() if "labels" in method.uses), "floating")
"""What can select features by labels alone: every score that uses them, and the floating search."""
OF_LABELS: tuple[Kind, ...] = ("labels",)
DIGITS = (
    # In which confidences are compared: those that are equal on paper differ by rounding, and that
    # by the number of threads
    12
)


@dataclass(frozen=True)
class Selection:
    """Features from the best on, with a score for all (NaN where there is none)."""

    features: Integers
    scores: Floats


@dataclass(frozen=True)
class HybridRound:
    """One round of a hybrid selection.

    Attributes
    ----------
    graph_features : array of int
        The features whose graph carried the labels.
    confident : array of int
        The samples that joined the labelled ones.
    predicted : array of int
        Their class codes.
    confidence : float
        Their average confidence, from 0 (all classes equally likely) to 1.
    features : array of int
        What was selected with their help, best first.
    scores : array of float
        The base's scores of all features then.
    """

    graph_features: Integers
    confident: Integers
    predicted: Integers
    confidence: float
    features: Integers
    scores: Floats


@dataclass(frozen=True)
class HybridPath:
    """The chosen set, the selection by the labels alone, the rounds, which of them was chosen, and
    why they ended.

    `chosen` is None where the selection by the labels alone is the answer.
    """

    order: Integers
    scores: Floats
    seed: Selection
    rounds: tuple[HybridRound, ...]
    chosen: int | None
    stopped: str


@vanishing
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
    progress: bool | None = None,
) -> Integers:
    """Hybrid selection (IteraGraph_FS): a few labels choose features, these carry the labels to
    more samples, and so on.

    Each round builds a graph of all samples in the current features, finds the harmonic labels of
    the unlabelled ones, lets the most confident join the labelled, and selects again. The result is
    the set that was selected with the highest average confidence. The rounds end early where a set
    comes back, since all later ones would repeat.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features, used as they are: scale them first if their units differ.
    y : array of shape (n_samples,)
        Class labels; −1, None or NaN where unknown.
    n_features_to_select : int
        Size of the set. Features that score as well as the last one are kept too, so there may be
        more (``"floating"`` scores sets and knows no ties).
    base : str
        What selects by labels: a score that uses them, or ``"floating"``.
    n_iterations : int
        At most so many rounds.
    confident_fraction : float
        The share of the unlabelled samples that joins in each round, the most confident first;
        equally confident ones join together. Samples without a most likely class never do.
    n_neighbors, bandwidth : int or None, float or "auto"
        Of the graph, as in `harmonic_labels`.
    base_params : dict, optional
        Parameters of the base, such as ``{"n_neighbors": 5}`` for ``"relieff"``.
    progress : bool or None
        Whether to tell on the error stream how far it has come; None: if that is a terminal.

    Returns
    -------
    array of int
        Column positions, best first.

    References
    ----------
    Zhong, Xie, Fan, Ren, Peng, Zhang (2008), Graph-based iterative hybrid feature selection.

    Examples
    --------
    The paper's toy: by the two labels alone, features 2 and 4 are as good; only the last agrees
    with what the graph says of the others.

    >>> X = [[1, 1, 1, 1], [1, -1, 1, -1], [-1, 1, 1, 1], [0, -1, 1, 1]]
    >>> hybrid_selection(X, ["-", "+", None, None], n_features_to_select=1)
    array([3])
    """
    table, known = table_in_memory(X), Supervision.from_labels(y)
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
    if known.n_labeled > 2:  # of two, each has a class of its own by necessity
        warn_of_poor_knowledge(known, OF_LABELS)
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
    """The options of a base by its published defaults and `extra`."""
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
                f" may hold: {listed}.",
            )
    return dict(extra or {})


def selecting(
    table: Table, base: str, n_features: int, options: Mapping[str, Any], *, exactly: bool = True
) -> Callable[[Supervision], Selection]:
    """The function that selects features of `table` by what is known; without `exactly`, never
    one that tells nothing.
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
    scores = method.core(table, known, **options).values
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
            f"{n_features} features were asked for, but only {scorable} can be scored; the rest "
            "come in column order."
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
    """Alternate between selecting features and carrying labels along their graph.

    An interruption ends with the best of the rounds that are complete, or goes through where there
    is none.
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
            "all labels are known, so that there is nothing to carry along",
        )

    def next_round(current: Integers) -> HybridRound:
        with repeated.round():
            carried = propagate(
                table.take_columns(np.sort(current)),
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
            stopped = f"interrupted after {len(rounds)} rounds"
            warn(f"{stopped}; this is the best of them.")
    repeated.give()
    return _best_round(seed, rounds, stopped)


def _until_a_set_returns(
    next_round: Callable[[Integers], HybridRound],
    features: Integers,
    rounds: list[HybridRound],
    n_iterations: int,
    shown: Progress,
) -> str:
    """Append rounds, and say why they ended."""
    current, met = features, {_key(features)}
    for number in range(1, n_iterations + 1):
        joined = next_round(current)
        rounds.append(joined)
        shown.tell(f"round {number} of {n_iterations}, confidence {joined.confidence:.3g}")
        same = _key(joined.features) == _key(current)
        current = joined.features
        if _key(current) in met:
            return (
                f"{'the set no longer changed' if same else 'an earlier set came back'} after "
                f"{number} rounds"
            )
        met.add(_key(current))
    return f"after {n_iterations} rounds"


def _best_round(seed: Selection, rounds: list[HybridRound], stopped: str) -> HybridPath:
    """The round of the highest confidence, or the first selection where nobody could join."""
    confidences = np.array([joined.confidence for joined in rounds]).round(DIGITS)
    if not len(rounds[int(confidences.argmax())].confident):
        warn(
            "no unlabelled sample has a most likely class, so that the labels could not be carried "
            "along; this is the first selection."
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
    """The given share of the unlabelled samples, rounded, with whoever is as confident as the
    last of them.
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

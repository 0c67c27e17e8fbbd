"""Run a selector (a name, an estimator or a function) on the training rows, and return its order
of the features.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError, InputTypeError, Warned
from graphsieve._base.messages import phrase
from graphsieve._base.parameters import is_collection, must_be, nearest, quoted
from graphsieve._base.randomness import generator, seed_number
from graphsieve.assess.evaluation.gathering import gathered, noted
from graphsieve.assess.evaluation.prefixes import checked_order, known_rows
from graphsieve.scores.method import best_first
from graphsieve.scores.score_registry import METHODS
from graphsieve.select.graph_sieve import GraphSieve
from graphsieve.select.sieve import Sieve
from graphsieve.select.sieves import SIEVES
from graphsieve.supervision.value import Supervision

BASELINES = ("random", "all")


@dataclass(frozen=True)
class Selected:
    """Result of a selector: column positions (best first), run time in seconds, and warnings."""

    order: Integers
    seconds: float
    warned: tuple[Warned, ...]


@dataclass(frozen=True)
class Baseline:
    """Baseline selector: columns in random order, or all columns."""

    name: str


def named(things: Any, what: str, name_of: Callable[[Any], str]) -> dict[str, Any]:
    """Return a dict from names to items, given a mapping, a sequence or a single item."""
    if isinstance(things, Mapping):
        pairs = list(things.items())
    else:
        # An unfitted forest is iterable, but it is a single item and has no trees yet.
        single = isinstance(things, str) or hasattr(things, "fit") or not is_collection(things)
        pairs = [(name_of(thing), thing) for thing in ([things] if single else things)]
    result: dict[str, Any] = {}
    for name, thing in pairs:
        if not isinstance(name, str) or not name:
            raise InputTypeError(f"{what} must be named by text, got {quoted(name)}.")
        if name in result:
            raise InputError(
                f"two of the {what} have the name {quoted(name)}; ",
                phrase("pass a dict with different names"),
                ".",
            )
        result[name] = thing
    return result


def named_selectors(selectors: Any, baselines: Any) -> dict[str, Any]:
    """Return all selectors by name. The baselines come last."""
    found = named(selectors, "selectors", selector_name)
    for name, selector in found.items():
        _check_selector(name, selector)
    wanted = [baselines] if isinstance(baselines, str) else baselines
    if (
        not isinstance(wanted, Sequence)
        or any(name not in BASELINES for name in wanted)
        or len(set(wanted)) < len(wanted)
    ):
        raise InputError(
            must_be("baselines", f"some of {', '.join(map(repr, BASELINES))}, each once", baselines)
        )
    for name in BASELINES:
        if name in found:
            raise InputError(
                f"a selector has the name {name!r}, which is the name of a baseline; choose "
                "another name."
            )
    if not found and not wanted:
        raise InputError("there is nothing to evaluate; pass at least one selector or baseline.")
    return found | {name: Baseline(name) for name in wanted}


def selector_name(selector: Any) -> str:
    """Default name of a selector."""
    if isinstance(selector, str):
        return selector
    return str(getattr(selector, "__name__", type(selector).__name__))


def _check_selector(name: str, selector: Any) -> None:
    if isinstance(selector, str):
        if selector not in METHODS and selector not in SIEVES and selector != "auto":
            names = ("auto", *METHODS, *SIEVES)
            raise InputError(
                f"selector {quoted(name)} is not a registered method; choose from "
                f"{', '.join(names)}, or pass an estimator or a function{nearest(selector, names)}."
            )
    elif isinstance(selector, type) or not (hasattr(selector, "fit") or callable(selector)):
        raise InputTypeError(
            f"selector {quoted(name)} must be the name of a method, an estimator with fit, or a "
            f"function of X and y, got {quoted(selector)}."
        )


def select(
    name: str,
    selector: Any,
    X: Any,
    y: NDArray[Any],
    *,
    supervision: Supervision | None,
    sizes: Sequence[int],
    random_state: Sequence[int],
    where: str,
) -> Selected:
    """Run a selector on the training rows.

    `y` contains the labels or targets that the selector may use, with −1 or NaN for unlabelled
    rows.
    """
    start = time.perf_counter()
    with gathered() as warned, noted(f"selector {name!r}, {where}"):
        order = _order(
            name, selector, X, y, supervision=supervision, sizes=sizes, random_state=random_state
        )
    return Selected(order, time.perf_counter() - start, tuple(warned))


def _order(
    name: str,
    selector: Any,
    X: Any,
    y: NDArray[Any],
    *,
    supervision: Supervision | None,
    sizes: Sequence[int],
    random_state: Sequence[int],
) -> Integers:
    n_features, largest = X.shape[1], max(sizes)
    if isinstance(selector, Baseline):
        return (
            generator([*random_state, 1]).permutation(n_features)
            if selector.name == "random"
            else np.arange(n_features)
        )
    if isinstance(selector, str):
        sieve = sieve_called(selector, n_features_to_select=largest)
        return ranked(fitted_sieve(sieve, X, y, supervision), n_features, sizes, name)
    if hasattr(selector, "fit"):
        model = seeded(clone(selector), [*random_state, 2])
        fit = fitted_sieve if isinstance(model, Sieve) else fitted_elsewhere
        return ranked(fit(model, X, y, supervision), n_features, sizes, name)
    order = selector(X, y if supervision is None else supervision)
    return checked_order(order, n_features, largest, f"the order of selector {name!r}")


def sieve_called(name: str, **options: Any) -> Any:
    """Return the unfitted sieve of a registered search or score."""
    return SIEVES[name](**options) if name in SIEVES else GraphSieve(name, **options)


def seeded(model: Any, random_state: Sequence[int]) -> Any:
    """Set every `random_state` of None to a seed, so that the run is reproducible."""
    unset = [
        key
        for key, value in model.get_params(deep=True).items()
        if value is None and (key == "random_state" or key.endswith("__random_state"))
    ]
    return (
        model.set_params(**dict.fromkeys(unset, seed_number(list(random_state))))
        if unset
        else model
    )


def fitted_sieve(sieve: Any, X: Any, y: NDArray[Any], supervision: Supervision | None) -> Any:
    """Fit a sieve of this library.

    Unlabelled rows are NaN, so that any number, such as −1, can be a class.
    """
    given = sieve.get_params(deep=False)
    # A few labelled rows do not show whether they are classes or a continuous target, so the type
    # is set here. Nested progress output is suppressed.
    settings: dict[str, Any] = {"unlabeled": None, "progress": False}
    if given.get("target_type") == "auto":
        settings["target_type"] = "classes" if y.dtype.kind == "i" else "continuous"
    sieve.set_params(**{name: value for name, value in settings.items() if name in given})
    if supervision is not None:
        method = METHODS.get(given.get("method", ""))
        # A method that uses no supervision refuses any.
        is_unused = method is not None and not method.uses
        return sieve.fit(X, supervision=None if is_unused else supervision)
    known = known_rows(y)
    return sieve.fit(X, np.where(known, y, np.nan) if known.any() else None)


def fitted_elsewhere(model: Any, X: Any, y: NDArray[Any], supervision: Supervision | None) -> Any:
    """Fit an estimator of another library on the labelled rows.

    If no row is labelled, it is fitted on all rows without y.
    """
    if supervision is not None:
        raise InputTypeError(
            f"{type(model).__name__} cannot read a Supervision; pass a function of X and the "
            "Supervision instead."
        )
    rows = np.flatnonzero(known_rows(y))
    if not len(rows):
        return model.fit(X)
    return model.fit(X, y) if len(rows) == len(y) else model.fit(X[rows], y[rows])


def ranked(model: Any, n_features: int, sizes: Sequence[int], name: str) -> Integers:
    """Return the order of the features, best first, from a fitted selector."""
    if hasattr(model, "ranking_"):
        ranks = _one_each(model.ranking_, n_features, name, "ranking_")
    elif hasattr(model, "scores_"):
        scores = _one_each(model.scores_, n_features, name, "scores_")
        return best_first(scores, large_is_good=bool(getattr(model, "large_is_good_", True)))
    elif hasattr(model, "get_support"):
        ranks = 1 - _one_each(model.get_support(), n_features, name, "get_support()")
    else:
        raise InputTypeError(
            f"selector {name!r} has neither ranking_ nor scores_ nor get_support after fit; pass a "
            "function that returns an order."
        )
    order = np.argsort(ranks, kind="stable")
    for size in sizes:
        if size < n_features and ranks[order[size - 1]] == ranks[order[size]]:
            shared = int((ranks == ranks[order[size]]).sum())
            raise InputError(
                f"selector {name!r} gives {shared} features the same rank, so its best {size} are "
                "ambiguous; let it rank more features, or choose other sizes."
            )
    return order.astype(np.int64)


def _one_each(values: Any, n_features: int, name: str, attribute: str) -> Floats:
    """Return an attribute of a fitted selector as an array with one number per feature."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape != (n_features,):
        raise InputError(
            f"{attribute} of selector {name!r} must be one number for each of the {n_features} "
            f"features, got {quoted(values)}; pass a function that returns an order."
        )
    return numbers

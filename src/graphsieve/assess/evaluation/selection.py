"""From whatever ranks features (a name, an estimator, a function) to an order, seeing the
training rows only.
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
from graphsieve._base.parameters import has_parts, must_be, nearest, quoted
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
    """What a selector chose: column positions, best first, the seconds it took, and what it
    warned of.
    """

    order: Integers
    seconds: float
    warned: tuple[Warned, ...]


@dataclass(frozen=True)
class Baseline:
    """Columns chosen by chance, or all of them."""

    name: str


def named(things: Any, what: str, name_of: Callable[[Any], str]) -> dict[str, Any]:
    """Names and what they stand for, of a mapping, a sequence, or a single thing."""
    if isinstance(things, Mapping):
        pairs = list(things.items())
    else:
        # Forests can be iterated too, over trees that they do not have yet.
        single = isinstance(things, str) or hasattr(things, "fit") or not has_parts(things)
        pairs = [(name_of(thing), thing) for thing in ([things] if single else things)]
    result: dict[str, Any] = {}
    for name, thing in pairs:
        if not isinstance(name, str) or not name:
            raise InputTypeError(f"{what} must be named by text, got {quoted(name)}.")
        if name in result:
            raise InputError(
                f"two of the {what} are called {quoted(name)}; ",
                phrase("pass a dict with different names"),
                ".",
            )
        result[name] = thing
    return result


def named_selectors(selectors: Any, baselines: Any) -> dict[str, Any]:
    """All selectors by name, the baselines last; a baseline stands for itself."""
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
                f"a selector is called {name!r}, which is the name of a baseline; call it "
                "something else."
            )
    if not found and not wanted:
        raise InputError("there is nothing to evaluate; name at least one selector or baseline.")
    return found | {name: Baseline(name) for name in wanted}


def selector_name(selector: Any) -> str:
    """What a selector is called where nobody gave it a name."""
    if isinstance(selector, str):
        return selector
    return str(getattr(selector, "__name__", type(selector).__name__))


def _check_selector(name: str, selector: Any) -> None:
    if isinstance(selector, str):
        if selector not in METHODS and selector not in SIEVES and selector != "auto":
            names = ("auto", *METHODS, *SIEVES)
            raise InputError(
                f"selector {quoted(name)} is no registered method; choose from {', '.join(names)}, "
                f"or pass an estimator or a function{nearest(selector, names)}."
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
    """The order a selector makes of the training rows; `y` is what it may know of them (−1 or
    NaN: nothing).
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
    """An unfitted sieve of a search or of a score by its name."""
    return SIEVES[name](**options) if name in SIEVES else GraphSieve(name, **options)


def seeded(model: Any, random_state: Sequence[int]) -> Any:
    """The estimator with a seed wherever it has a `random_state` of None, so that a run can be
    repeated.
    """
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
    """One of ours: it reads unknown labels itself, written as NaN, so that whatever number is
    known is a class.
    """
    given = sieve.get_params(deep=False)
    # A few known values no longer show whether they are classes or a quantity; and no line of
    # progress within another.
    told: dict[str, Any] = {"unlabeled": None, "progress": False}
    if given.get("target_type") == "auto":
        told["target_type"] = "classes" if y.dtype.kind == "i" else "continuous"
    sieve.set_params(**{name: value for name, value in told.items() if name in given})
    if supervision is not None:
        method = METHODS.get(given.get("method", ""))
        of_no_use = method is not None and not method.uses  # and would be refused
        return sieve.fit(X, supervision=None if of_no_use else supervision)
    known = known_rows(y)
    return sieve.fit(X, np.where(known, y, np.nan) if known.any() else None)


def fitted_elsewhere(model: Any, X: Any, y: NDArray[Any], supervision: Supervision | None) -> Any:
    """One of another library: it learns from the rows whose label is known, or from all without
    any where none is.
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
    """The order that a fitted selector stands for."""
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
                f"selector {name!r} puts {shared} features on one place, so that its best {size} "
                "are not determined; let it rank more of them, or ask for other sizes."
            )
    return order.astype(np.int64)


def _one_each(values: Any, n_features: int, name: str, attribute: str) -> Floats:
    """The numbers of a fitted selector, one for each feature."""
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

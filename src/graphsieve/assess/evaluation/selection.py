"""Run a selector (a name, an estimator or a function) on the training rows, and return its order
of the features.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from graphsieve.search.diverse import NO_CHOICE, Choice
from graphsieve.select.graph_sieve import GraphSieve
from graphsieve.select.sieve import Sieve
from graphsieve.select.sieves import SIEVES
from graphsieve.supervision.value import Supervision
from graphsieve.table.columns import MemoryTable
from graphsieve.table.features import Features
from graphsieve.table.gaps import filled_alike

BASELINES = ("random", "all")


@dataclass(frozen=True)
class Selected:
    """Result of a selector: column positions (best first), run time in seconds, and warnings."""

    order: Integers
    seconds: float
    warned: tuple[Warned, ...]


@dataclass(frozen=True)
class Baseline:
    """Baseline selector: features in random order, or all features.

    Random features come after those to keep. All features are those that may be selected.
    """

    name: str
    choice: Choice = NO_CHOICE

    def order(self, n_features: int, random_state: Sequence[int]) -> Integers:
        """Return the order of the features."""
        if self.name == "all":
            return np.flatnonzero(self.choice.selectable(n_features))
        return self.choice.ordered(generator(random_state).permutation(n_features))


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
    wanted = _named_baselines(baselines)
    for name in BASELINES:
        if name in found:
            raise InputError(
                f"a selector has the name {name!r}, which is the name of a baseline; choose "
                "another name."
            )
    if not found and not wanted:
        raise InputError("there is nothing to evaluate; pass at least one selector or baseline.")
    return found | wanted


def _named_baselines(baselines: Any) -> dict[str, Baseline]:
    """Return the baselines by name. `compare` passes them with its choice of features."""
    listed = [baselines] if isinstance(baselines, str) else baselines
    if isinstance(listed, Sequence):
        made = [one if isinstance(one, Baseline) else Baseline(one) for one in listed]
        found = {one.name: one for one in made if one.name in BASELINES}
        if len(found) == len(listed):
            return found
    raise InputError(
        must_be("baselines", f"some of {', '.join(map(repr, BASELINES))}, each once", baselines)
    )


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
    groups: Integers | None = None,
    features: Features | None = None,
) -> Selected:
    """Run a selector on the training rows.

    `y` contains the labels or targets that the selector may use, with −1 or NaN for unlabelled
    rows. Sieves that test or predict receive the groups of the rows. `features` are the columns of
    each feature, or None if every column is a feature.
    """
    start = time.perf_counter()
    with gathered() as warned, noted(f"selector {name!r}, {where}"):
        order = _order(
            name,
            selector,
            X,
            y,
            supervision=supervision,
            groups=groups,
            sizes=sizes,
            random_state=random_state,
            features=features,
        )
    return Selected(order, time.perf_counter() - start, tuple(warned))


def _order(
    name: str,
    selector: Any,
    X: Any,
    y: NDArray[Any],
    *,
    supervision: Supervision | None,
    groups: Integers | None,
    sizes: Sequence[int],
    random_state: Sequence[int],
    features: Features | None,
) -> Integers:
    n_features, largest = X.shape[1] if features is None else len(features), max(sizes)
    if isinstance(selector, Baseline):
        return selector.order(n_features, [*random_state, 1])
    if isinstance(selector, str):
        model = sieve_called(selector, n_features_to_select=largest)
    elif hasattr(selector, "fit"):
        model = seeded(clone(selector), [*random_state, 2])
    else:
        order = selector(filled_alike(X)[0], y if supervision is None else supervision)
        what = f"the order of selector {name!r}"
        columns = checked_order(order, X.shape[1], largest, what)
        return checked_order(in_order(columns, features), n_features, largest, what)
    found = fitted(model, X, y, supervision, groups=groups, features=features)
    return ranked(*found, sizes, name)


def fitted(
    model: Any,
    X: Any,
    y: NDArray[Any],
    supervision: Supervision | None,
    *,
    groups: Integers | None,
    features: Features | None,
) -> tuple[Any, int, Features | None]:
    """Fit a model, and return it with the number of its inputs and their features.

    Sieves of this library see features. Estimators of other libraries see columns, with medians in
    place of missing values.
    """
    if not isinstance(model, Sieve):
        complete = filled_alike(X)[0]
        return fitted_elsewhere(model, complete, y, supervision), X.shape[1], features
    if features is None:
        return fitted_sieve(model, X, y, supervision, groups), X.shape[1], None
    table = MemoryTable.of_values(X, features)
    return fitted_sieve(model, table, y, supervision, groups), len(features), None


def in_order(columns: Integers, features: Features | None) -> Integers:
    """Return the features of an order of columns. A feature is ranked by its first column."""
    if features is None:
        return columns
    owners = features.owner[columns]
    return owners[np.sort(np.unique(owners, return_index=True)[1])]


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


def fitted_sieve(
    sieve: Any,
    X: Any,
    y: NDArray[Any],
    supervision: Supervision | None,
    groups: Integers | None = None,
) -> Any:
    """Fit a sieve of this library.

    Unlabelled rows are NaN, so that any number, such as −1, can be a class. The sieve receives the
    groups if it can use them.
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
        told = None if is_unused else replace(supervision, groups=None)
        return sieve.fit(X, supervision=told, **_if_used(sieve, groups))
    known = known_rows(y)
    values = y if y.dtype.kind == "f" else np.where(known, y, np.nan)
    anything = known.any() if y.ndim == 1 else not np.isnan(y).all()
    return sieve.fit(X, values if anything else None, **_if_used(sieve, groups))


def _if_used(sieve: Any, groups: Integers | None) -> dict[str, Any]:
    return {"groups": groups} if groups is not None and sieve._uses_groups else {}


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


def ranked(
    model: Any, n_inputs: int, features: Features | None, sizes: Sequence[int], name: str
) -> Integers:
    """Return the order of the features, best first, from a fitted selector.

    If it has ranked the columns of `features`, a feature is ranked by its best column.
    """
    if hasattr(model, "ranking_"):
        ranks = _one_each(model.ranking_, n_inputs, name, "ranking_")
    elif hasattr(model, "scores_"):
        scores = _one_each(model.scores_, n_inputs, name, "scores_")
        large_is_good = bool(getattr(model, "large_is_good_", True))
        return in_order(best_first(scores, large_is_good=large_is_good), features)
    elif hasattr(model, "get_support"):
        ranks = 1 - _one_each(model.get_support(), n_inputs, name, "get_support()")
    else:
        raise InputTypeError(
            f"selector {name!r} has neither ranking_ nor scores_ nor get_support after fit; pass a "
            "function that returns an order."
        )
    if features is not None:
        ranks = np.minimum.reduceat(ranks, features.starts[:-1])
    order = np.argsort(ranks, kind="stable")
    for size in sizes:
        if size < len(ranks) and ranks[order[size - 1]] == ranks[order[size]]:
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

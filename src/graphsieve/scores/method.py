"""What a scoring method is, and how one is run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from numbers import Integral
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError, warn
from graphsieve._base.messages import keyword, parameter, phrase
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
from graphsieve._base.underflow import vanishing
from graphsieve.graphs.neighbors.strategy import searched, way_to_search
from graphsieve.supervision.value import Kind, Supervision
from graphsieve.table.any_table import as_table
from graphsieve.table.columns import Table

Law = Literal["shift", "scale", "row order", "column order", "copies", "sparse", "chunks"]
ALL_LAWS: frozenset[Law] = frozenset(
    ["shift", "scale", "row order", "column order", "copies", "sparse", "chunks"]
)

LARGEST_WEIGHT = 1e100  # beyond it, sums of weights and squares may be no numbers any more
LARGEST_POWER = 100  # 2**100 still leaves digits

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "n_neighbors": count(1),
        "n_neighbors_supervised": count(1),
        "bandwidth": positive(),
        "label_weight": positive(LARGEST_WEIGHT),
        "weight": positive(LARGEST_WEIGHT),
        "same_class_weight": positive(LARGEST_WEIGHT),
        "trade_off": between(0, 1),
        "power": count(1, LARGEST_POWER),
        "n_components": either(None, count(1)),
        "class_weight": choice((None, "balanced")),
        "cut_cannot_link": boolean(),
    }
)


@dataclass(frozen=True)
class Scored:
    """A score for every feature, with the neighbours and the bandwidth that were really used, if
    any.
    """

    values: Floats
    n_neighbors: int | None = None
    bandwidth: float | None = None


Core = Callable[..., Scored]


@dataclass(frozen=True)
class Method:
    """A scoring method as tests, tables and selectors read it.

    Attributes
    ----------
    name : str
        What a selector's `method` parameter calls it.
    function : callable
        The public function: the published formula, literally.
    core : callable
        The same on a checked `Table` and `Supervision`; `bandwidth` may be None there (chosen from
        the data).
    direction : {"small", "large"}
        Which scores are good.
    uses : tuple of str
        The kinds of knowledge it can use; at least one of them must be given. Empty: none is
        needed.
    reads_neighbors : bool
        Whether neighbours in X enter, so that the scaling of the features matters.
    summary, reference : str
        One line for tables, and where the method was published.
    laws : frozenset of str
        The invariances it obeys.
    """

    name: str
    function: Callable[..., Floats]
    core: Core
    direction: Literal["small", "large"]
    uses: tuple[Kind, ...]
    reads_neighbors: bool
    summary: str
    reference: str
    laws: frozenset[Law] = ALL_LAWS

    @property
    def defaults(self) -> dict[str, Any]:
        """The keyword parameters of the core with the defaults of the public function.

        That also has `neighbors`, if it looks for any in X; for the core that is a matter of the
        table (`searching`).
        """
        parameters = inspect.signature(self.function).parameters.values()
        return {
            p.name: p.default
            for p in parameters
            if p.kind is p.KEYWORD_ONLY and p.name != "neighbors"
        }

    def large_is_good(self, parameters: Mapping[str, Any]) -> bool:
        """Whether large scores are good with these parameters: one form of SPEC differs from the
        others.
        """
        return self.direction == "large" or parameters.get("form") == "phi3"

    def check_knowledge(
        self, known: Supervision, *, hint: str = phrase("target_type= says what y is")
    ) -> None:
        """Refuse to run without what the method needs; the hint is for those who know labels or
        targets.
        """
        if self.uses and not set(self.uses) & set(known.kinds):
            given = (
                f"only {' and '.join(known.kinds)} are known of the samples"
                if known.kinds
                else phrase("nothing is known of the samples")
            )
            hints = ("; ", hint) if {"labels", "targets"} & set(known.kinds) else ()
            raise InputError(
                f"method {self.name!r} needs {' or '.join(self.uses)}, but ", given, *hints, "."
            )


@vanishing
def score(
    core: Core,
    X: Any,
    known: Supervision | Callable[[int], Supervision] = Supervision.nothing,
    *,
    neighbors: Any = "exact",
    **parameters: Any,
) -> Floats:
    """Run a method on raw input, as its public function does: check, compute, warn of what could
    not be scored.

    What is known may be given as a function of the number of samples, where only X can tell it.
    """
    neighbors = way_to_search("neighbors", neighbors)
    table = as_table(X)
    known = known if isinstance(known, Supervision) else known(table.n_samples)
    check_length(known, table)
    values = core(searched(table, neighbors), known, **checked(parameters, RULES)).values
    warn_of_unscorable(values)
    return values


def best_first(values: Floats, *, large_is_good: bool) -> Integers:
    """Positions from the best score to the worst; ties in their order, NaN last."""
    return np.argsort(-values if large_is_good else values, kind="stable").astype(
        np.int64, copy=False
    )


def extra_options(
    method: Method,
    extra: Mapping[str, Any],
    *,
    what: str = "method_params",
    elsewhere: Collection[str] = (),
) -> dict[str, Any]:
    """Further parameters of a method's function, checked; those in `elsewhere` are parameters of
    their own.
    """
    allowed = [name for name in method.defaults if name not in elsewhere]
    for name in extra:
        if name in elsewhere and name in method.defaults:
            raise InputError(
                parameter(what, extra),
                f" holds {quoted(name)}, which is a parameter of its own; pass ",
                keyword(name),
                " instead.",
            )
        if name not in allowed:
            listed = ", ".join(allowed) or "nothing"
            raise InputError(
                f"method {method.name!r} has no parameter {quoted(name)}{nearest(name, allowed)}; ",
                parameter(what, extra),
                f" may hold: {listed}.",
            )
    return checked(extra, RULES)


def wanted_count(asked: Any, n_features: int) -> int:
    """A number of features to select, from 1 to all of them."""
    if (
        isinstance(asked, Integral)
        and not isinstance(asked, bool)
        and 1 <= int(asked) <= n_features
    ):
        return int(asked)
    if isinstance(asked, Integral) and not isinstance(asked, bool):
        raise InputError(
            parameter("n_features_to_select", asked),
            f" is {quoted(asked)}, but there are {n_features} features; ask for 1 to {n_features}.",
        )
    raise InputError(
        must_be("n_features_to_select", f"a whole number from 1 to {n_features}", asked)
    )


def check_length(known: Supervision, table: Table) -> None:
    if known.n_samples != table.n_samples:
        raise InputError(
            parameter("X"),
            f" has {table.n_samples} samples, but {known.n_samples} are described by y or "
            "supervision; they must be the same samples.",
        )


def warn_of_unscorable(values: Floats) -> None:
    """One warning with the count of features that have no score."""
    unscorable = int(np.isnan(values).sum())
    if unscorable:
        warn(
            f"{unscorable} of {len(values)} features cannot be scored (constant, or "
            "constant where it matters); ",
            phrase("they are NaN"),
            " and rank last.",
        )

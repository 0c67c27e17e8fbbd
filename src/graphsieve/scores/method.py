"""Definition of a scoring method, and the functions that run it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from numbers import Integral
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError, RoundWarnings, warn
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
from graphsieve._base.underflow import ignoring_underflow
from graphsieve.graphs.neighbors.strategy import searched, way_to_search
from graphsieve.graphs.observed import on_observed
from graphsieve.supervision.value import Kind, Supervision
from graphsieve.table.any_table import as_table
from graphsieve.table.columns import Table
from graphsieve.table.gaps import FEWEST_OBSERVED, gaps_of_features

Law = Literal["shift", "scale", "row order", "column order", "copies", "sparse", "chunks"]
ALL_LAWS: frozenset[Law] = frozenset(
    ["shift", "scale", "row order", "column order", "copies", "sparse", "chunks"]
)

LARGEST_WEIGHT = 1e100  # Sums and squares of larger weights could overflow.
LARGEST_POWER = 100  # 2**100 still leaves enough digits.

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
    """The score of each feature, with the number of neighbours and the bandwidth that were used."""

    values: Floats
    n_neighbors: int | None = None
    bandwidth: float | None = None


Core = Callable[..., Scored]


def scored(core: Core, table: Table, known: Supervision, **options: Any) -> Scored:
    """Run the core of a method. A feature with gaps is scored where it is observed."""
    if table.gaps is None:
        return core(table, known, **options)
    found: list[Scored] = []
    repeated = RoundWarnings("pattern of missing values")

    def values(part: Table) -> Floats:
        with repeated.round():
            found.append(core(part, known, **options))
        return found[-1].values

    of_all = on_observed(table, values)
    repeated.give()
    numbers = [one.n_neighbors for one in found if one.n_neighbors is not None]
    bandwidth = found[0].bandwidth if found else None
    return Scored(of_all, max(numbers, default=None), bandwidth)


@dataclass(frozen=True)
class Method:
    """Description of a scoring method for selectors, tables and tests.

    Attributes
    ----------
    name : str
        The name, as used in the `method` parameter of a selector.
    function : callable
        The public function. It computes exactly the published formula.
    core : callable
        The same computation on a checked `Table` and `Supervision`. Its `bandwidth` may be None, in
        which case it is estimated from the data.
    direction : {"small", "large"}
        Whether small or large scores are good.
    uses : tuple of str
        The kinds of supervision it can use. At least one of them is required. If the tuple is
        empty, none is required.
    reads_neighbors : bool
        Whether the score depends on neighbours in X, and therefore on the scaling of the features.
    summary, reference : str
        A one-line summary for tables, and the publication.
    laws : frozenset of str
        The invariances of the score.
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
        """The keyword parameters of the core, with the defaults of the public function.

        The public function may also have the parameter `neighbors`. It is left out here, because
        the core gets the search method with its table (`searched`).
        """
        parameters = inspect.signature(self.function).parameters.values()
        return {
            p.name: p.default
            for p in parameters
            if p.kind is p.KEYWORD_ONLY and p.name != "neighbors"
        }

    def score(self, table: Table, known: Supervision, **options: Any) -> Scored:
        """Return the scores of all features. A feature with gaps is scored where it is observed."""
        return scored(self.core, table, known, **options)

    def large_is_good(self, parameters: Mapping[str, Any]) -> bool:
        """Whether large scores are good with these parameters.

        They matter only for SPEC, where the form phi3 has the opposite direction.
        """
        return self.direction == "large" or parameters.get("form") == "phi3"

    def check_supervision(
        self, known: Supervision, *, hint: str = phrase("target_type= sets the kind of y")
    ) -> None:
        """Raise an error if the supervision that the method needs is missing.

        The hint is added if labels or targets were given.
        """
        if self.uses and not set(self.uses) & set(known.kinds):
            given = (
                f"only {' and '.join(known.kinds)} are available"
                if known.kinds
                else phrase("no supervision is available")
            )
            told = {"labels", "targets"} & set(known.kinds) and known.n_targets < 2
            hints = ("; ", hint) if told else ()
            raise InputError(
                f"method {self.name!r} needs {' or '.join(self.uses)}, but ", given, *hints, "."
            )


@ignoring_underflow
def score(
    core: Core,
    X: Any,
    known: Supervision | Callable[[int], Supervision] = Supervision.nothing,
    *,
    y: Any = None,
    neighbors: Any = "exact",
    **parameters: Any,
) -> Floats:
    """Run a method on raw input, as its public function does.

    The input is checked, the scores are computed, and a warning reports features without a score.
    `known` may be a function of the number of samples, if only X determines that number. `y` is
    what it was made from. The indexes of `y` and X must agree.
    """
    neighbors = way_to_search("neighbors", neighbors)
    table = as_table(X, y, missing="use")
    known = known if isinstance(known, Supervision) else known(table.n_samples)
    check_length(known, table)
    checked_parameters = checked(parameters, RULES)
    values = scored(core, searched(table, neighbors), known, **checked_parameters).values
    warn_of_unscorable(values, table)
    return values


def best_first(values: Floats, *, large_is_good: bool) -> Integers:
    """Return the positions from the best to the worst score; ties keep their order, NaN is last."""
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
    """Check further parameters of a method's function.

    Those in `elsewhere` are separate parameters of the caller and are refused here.
    """
    allowed = [name for name in method.defaults if name not in elsewhere]
    for name in extra:
        if name in elsewhere and name in method.defaults:
            raise InputError(
                parameter(what, extra),
                f" contains {quoted(name)}, which is a separate parameter; pass ",
                keyword(name),
                " instead.",
            )
        if name not in allowed:
            valid = f"may contain: {', '.join(allowed)}" if allowed else "must be omitted"
            raise InputError(
                f"method {method.name!r} has no parameter {quoted(name)}{nearest(name, allowed)}; ",
                parameter(what, extra),
                f" {valid}.",
            )
    return checked(extra, RULES)


def wanted_count(requested: Any, n_features: int) -> int:
    """Check the number of features to select, from 1 to `n_features`."""
    if (
        isinstance(requested, Integral)
        and not isinstance(requested, bool)
        and 1 <= int(requested) <= n_features
    ):
        return int(requested)
    if isinstance(requested, Integral) and not isinstance(requested, bool):
        raise InputError(
            parameter("n_features_to_select", requested),
            f" is {quoted(requested)}, but there are {n_features} features; choose 1 to {n_features}.",
        )
    raise InputError(
        must_be("n_features_to_select", f"an integer from 1 to {n_features}", requested)
    )


def check_length(known: Supervision, table: Table) -> None:
    if known.n_samples != table.n_samples:
        raise InputError(
            parameter("X"),
            f" has {table.n_samples} samples, but {known.n_samples} are described by y, "
            "supervision or groups; they must be the same samples.",
        )


def refuse_several_columns(
    table: Table, method: str, what: str, *, categories: bool = False
) -> None:
    """Refuse features of several columns, for a score that is not defined for them.

    `what` names what the score is based on. With `categories`, categories are not refused.
    """
    if table.features is None:
        return
    refused = table.features.several
    if categories:
        refused = refused[~table.features.categorical[refused]]
    if len(refused):
        kind = "a category" if table.features.categorical[refused[0]] else "a group of columns"
        raise InputError(
            f"method {method!r} is based on {what}, which {kind} does not have "
            f"({table.label(int(table.features.starts[refused[0]]))}); choose another method, or "
            "leave such features out."
        )


def warn_of_unscorable(values: Floats, table: Table) -> None:
    """Warn once about features that have no score, and samples without any value."""
    unscorable, reason, empty_samples = int(np.isnan(values).sum()), "", 0
    if table.gaps is not None:
        n_missing = np.diff(gaps_of_features(table.gaps, table.features).indptr)
        few = n_missing > max(0, table.n_samples - FEWEST_OBSERVED)
        if few.any():
            reason = f"observed in fewer than {FEWEST_OBSERVED} samples, "
        empty_samples = int(np.count_nonzero(table.gaps.sum(axis=1) == table.n_columns))
    empty: tuple[str, ...] = ()
    if empty_samples:
        has = "has" if empty_samples == 1 else "have"
        empty = f"{empty_samples} of {table.n_samples} ", phrase("samples"), f" {has} no values"
    if unscorable:
        warn(
            f"{unscorable} of {len(values)} ",
            phrase("features"),
            f" cannot be scored ({reason}constant, or constant among the ",
            phrase("samples"),
            " that the score compares); ",
            phrase("they are NaN"),
            " and rank last",
            *(("; ", *empty) if empty else ()),
            ".",
        )
    elif empty:
        warn(*empty, " and no neighbours; consider dropping such ", phrase("samples"), ".")

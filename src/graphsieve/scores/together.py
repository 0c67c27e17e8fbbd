"""Several scores of one table with a single input check and a single neighbour search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphsieve._base.array_types import Floats
from graphsieve._base.errors import InputError, InputTypeError
from graphsieve._base.messages import parameter
from graphsieve._base.parameters import checked, is_collection, must_be, quoted
from graphsieve._base.underflow import ignoring_underflow
from graphsieve.graphs.neighbors.strategy import remembering, searched, way_to_search
from graphsieve.scores.method import RULES, Method, check_length, extra_options, warn_of_unscorable
from graphsieve.supervision.value import Supervision
from graphsieve.table.any_table import as_table


@ignoring_underflow
def scored_together(
    requested: list[tuple[Method, Any]], X: Any, supervision: Supervision | None, neighbors: Any
) -> dict[str, Floats]:
    """Compute the scores of each requested method with its parameters."""
    options = {method: _options(method, given) for method, given in requested}
    neighbors = way_to_search("neighbors", neighbors)
    table = as_table(X, missing="use")
    known = Supervision.nothing(table.n_samples) if supervision is None else supervision
    if not isinstance(known, Supervision):
        raise InputTypeError(
            parameter("supervision", known),
            f" must be a Supervision, got {quoted(known)}; Supervision.from_labels(y) makes one.",
        )
    check_length(known, table)
    for method in options:
        method.check_supervision(
            known, hint="Supervision.from_labels and Supervision.from_targets set the kind of y"
        )
    if not any(method.reads_neighbors for method in options) and not (
        isinstance(neighbors, str) and neighbors == "auto"
    ):
        raise InputError(
            "none of the methods uses neighbours in X; leave ",
            parameter("neighbors", neighbors),
            f" at 'auto', got {quoted(neighbors)}.",
        )
    most = max(
        (
            chosen.get("n_neighbors", 0)
            for method, chosen in options.items()
            if method.reads_neighbors
        ),
        default=0,
    )
    table = remembering(searched(table, neighbors), most)
    found = {
        method.name: method.score(table, known, **chosen).values
        for method, chosen in options.items()
    }
    for values in found.values():
        warn_of_unscorable(values, table)
    return found


def names_and_parameters(methods: Any) -> list[tuple[str, Any]]:
    """Return the requested methods as pairs of a name and its parameters."""
    if isinstance(methods, str) or not is_collection(methods):
        raise InputTypeError(
            must_be("methods", "a list of names, or a dict of names and their parameters", methods)
        )
    return (
        list(methods.items()) if isinstance(methods, Mapping) else [(name, {}) for name in methods]
    )


def _options(method: Method, given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise InputTypeError(
            f"the parameters of {method.name!r} must be a dict, got {quoted(given)}."
        )
    if "neighbors" in given:
        raise InputError(
            parameter("neighbors"),
            f" applies to all methods; pass it to score_together, not to {method.name!r}.",
        )
    return checked(method.defaults | extra_options(method, given, what="methods"), RULES)

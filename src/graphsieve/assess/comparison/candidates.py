"""Methods to compare: those requested, or those that suit the supervision and are fast enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from graphsieve._base.errors import InputError, InputTypeError, held_back
from graphsieve._base.messages import parameter
from graphsieve._base.parameters import is_collection, must_be, nearest, quoted
from graphsieve.scores.choosing import choose_method
from graphsieve.scores.score_registry import METHODS
from graphsieve.search.search_registry import SEARCHES
from graphsieve.supervision.value import Kind, Supervision

NAMES = ("auto", *SEARCHES, *METHODS)
"""All valid names: the default, searches and scores."""

PATIENCE = 10.0  # seconds per method for all runs, if the method was not requested

CLASSICS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "labels": ("fisher", "relieff", "mutual_information", "laplacian", "variance"),
        "targets": ("pearson", "mutual_information"),
        "pairs": ("constraint", "laplacian", "variance"),
        "probabilities": ("laplacian", "variance"),
        "nothing": ("spec", "variance", "iterative"),
    }
)
"""Classical methods by kind of supervision.

They are compared in addition to the default and the published method for the supervision.
"""


class Size(NamedTuple):
    """Quantities that determine the run time of a method.

    They are the shape of the table, the amount of supervision, and the number of features to
    select.
    """

    n_samples: int
    n_features: int
    n_labeled: int
    n_classes: int
    n_wanted: int

    @classmethod
    def of(cls, known: Supervision, n_features: int, n_wanted: int) -> Size:
        """Return the size of a table with this supervision."""
        return cls(len(known), n_features, known.n_labeled, max(1, known.n_known_classes), n_wanted)


def _neighbors(size: Size) -> float:
    n, p = size.n_samples, size.n_features
    return n * n * (8e-9 + 8e-11 * p) + 2e-7 * n * p


def _pairs(size: Size) -> float:
    return _neighbors(size) + 8e-10 * size.n_labeled**2 * size.n_features


def _rounds(size: Size) -> float:
    n, p = size.n_samples, size.n_features
    return _neighbors(size) + max(1, p - size.n_wanted) * (4e-9 * n * n + 1e-8 * n * p)


SECONDS: Mapping[str, Callable[[Size], float]] = MappingProxyType(
    {
        "laplacian": _neighbors,
        "spec": _neighbors,
        "semi_supervised_laplacian": _neighbors,
        "constrained_laplacian": _pairs,
        "iterative": _rounds,
        "relieff": lambda size: (
            size.n_labeled**2 * (2e-9 + 2e-11 * size.n_features)
            + 2e-8 * size.n_labeled * size.n_features
        ),
        "mutual_information": lambda size: (
            size.n_features * (1.5e-4 * size.n_classes + 2e-6 * size.n_labeled)
        ),
    }
)
"""Approximate seconds per run on one core, for methods that may be slow.

The constants were measured and are accurate to a factor of three.
"""


def named_methods(methods: Any, known: Supervision) -> tuple[str, ...]:
    """Return the requested methods after checking them.

    Raises `InputError` for unknown names, duplicates, and methods that lack the supervision they
    need.
    """
    listed = [methods] if isinstance(methods, str) else methods
    if not is_collection(listed):
        raise InputTypeError(
            must_be("methods", "a list of names, such as ['auto', 'fisher']", methods)
        )
    names = list(listed)
    if not names:
        raise InputError(
            parameter("methods", methods), " is empty; list at least one, or leave it out."
        )
    able = [name for name in NAMES if not missing(name, known)]
    for name in names:
        if not isinstance(name, str) or name not in NAMES:
            raise InputError(
                parameter("methods", name),
                f" contains {quoted(name)}; choose from {', '.join(NAMES)}{nearest(name, NAMES)}.",
            )
        if name not in able:
            given = f"only {' and '.join(known.kinds)} are" if known.kinds else "nothing is"
            raise InputError(
                f"method {name!r} needs {' or '.join(missing(name, known))}, but {given} known of "
                f"the samples; choose from {', '.join(able)}."
            )
    if len(set(names)) < len(names):
        raise InputError(
            parameter("methods", names),
            f" contains a name twice: {', '.join(names)}; list each once.",
        )
    return tuple(names)


def usual_methods(
    known: Supervision, whole: Size, part: Size, n_parts: int
) -> tuple[tuple[str, ...], list[str]]:
    """Return the default, the published method for the supervision, and classical methods.

    The second value contains notes on methods that were left out because they are slow. A method
    runs once on the whole table and once on each of `n_parts` parts.
    """
    with held_back():  # The default issues the same warnings itself.
        published, _ = choose_method(known)
    chosen, notes = [], []
    for name in dict.fromkeys(("auto", published, *CLASSICS[deciding_kind(known)])):
        if name == "mutual_information" and known.n_targets > 1:  # It is defined for one target.
            continue
        seconds = SECONDS[name](whole) + n_parts * SECONDS[name](part) if name in SECONDS else 0.0
        if seconds <= PATIENCE:
            chosen.append(name)
        else:
            runs = f" for {1 + n_parts} runs" if n_parts else ""
            notes.append(
                f"{name} was left out: it would take about {_duration(seconds)}{runs}; list it in "
                "methods to include it."
            )
    return tuple(chosen), notes


def deciding_kind(known: Supervision) -> str:
    """Return the kind of supervision that determines the methods, or "nothing".

    Supervision that does not distinguish samples, such as a single class, counts as nothing.
    """
    with held_back():
        published, _ = choose_method(known)
    if published == "laplacian":
        return "nothing"
    return next(
        kind for kind in ("probabilities", "pairs", "labels", "targets") if kind in known.kinds
    )


def usable(name: str) -> tuple[Kind, ...]:
    """Kinds of supervision that a method can use."""
    if name in METHODS:
        return METHODS[name].uses
    return (
        ("labels", "targets", "probabilities", "pairs")
        if name in ("auto", "diverse")
        else SEARCHES[name].uses
    )


def missing(name: str, known: Supervision) -> tuple[Kind, ...]:
    """Kinds of supervision of which a method needs at least one, if none of them is available."""
    needed = (
        METHODS[name].uses
        if name in METHODS
        else SEARCHES["diverse" if name == "auto" else name].uses
    )
    return () if not needed or set(needed) & set(known.kinds) else needed


def part_for(known: Supervision, name: str) -> Supervision | None:
    """Return the supervision that a method can use, or None if there is none."""
    kinds = usable(name)
    labels = known.labels if "labels" in kinds else None
    probabilities = known.probabilities if "probabilities" in kinds else None
    links: dict[str, Any] = (
        {"must_link": known.must_link, "cannot_link": known.cannot_link} if "pairs" in kinds else {}
    )
    part = Supervision(
        len(known),
        labels=labels,
        classes=None if labels is None and probabilities is None else known.classes,
        targets=known.targets if "targets" in kinds else None,
        probabilities=probabilities,
        groups=known.groups if name in ("auto", "diverse") else None,
        **links,
    )
    return part if part.kinds or part.groups is not None else None


def default_sizes(n_features: int) -> list[int]:
    """Return numbers of features on an approximately logarithmic scale, from 1 to 100.

    All columns are a separate baseline.
    """
    return [size for size in (1, 2, 3, 5, 10, 20, 50, 100) if size < n_features] or [1]


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(5, 5 * math.ceil(seconds / 5))} seconds"
    return (
        f"{math.ceil(seconds / 60)} minutes"
        if seconds < 5400
        else f"{math.ceil(seconds / 3600)} hours"
    )

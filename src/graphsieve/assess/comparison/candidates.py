"""Which methods are compared: those named, or those that suit what is known and take seconds,
not minutes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from graphsieve._base.errors import InputError, InputTypeError, held_back
from graphsieve._base.messages import parameter
from graphsieve._base.parameters import has_parts, must_be, nearest, quoted
from graphsieve.scores.choosing import choose_method
from graphsieve.scores.score_registry import METHODS
from graphsieve.search.search_registry import SEARCHES
from graphsieve.supervision.value import Kind, Supervision

NAMES = ("auto", *SEARCHES, *METHODS)
"""Everything that may be named: the default, searches, and scores."""

PATIENCE = 10.0  # seconds that one method may take in all folds, where nobody named it

CLASSICS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "labels": ("fisher", "relieff", "mutual_information", "laplacian", "variance"),
        "targets": ("pearson", "mutual_information"),
        "pairs": ("constraint", "laplacian", "variance"),
        "probabilities": ("laplacian", "variance"),
        "nothing": ("spec", "variance", "iterative"),
    }
)
"""What is compared besides the default and the published method for what is known."""


class Size(NamedTuple):
    """What the time of a method depends on: the table, how much is known of it, and how many
    features are wanted.
    """

    n_samples: int
    n_features: int
    n_labeled: int
    n_classes: int
    n_wanted: int

    @classmethod
    def of(cls, known: Supervision, n_features: int, n_wanted: int) -> Size:
        """The size of a table of which so much is known."""
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
"""About how long one run takes on one core, where that may be long; measured, and good to a
factor of three.
"""


def named_methods(methods: Any, known: Supervision) -> tuple[str, ...]:
    """The methods asked for, each once; refused where one needs what is not known."""
    listed = [methods] if isinstance(methods, str) else methods
    if not has_parts(listed):
        raise InputTypeError(
            must_be("methods", "a list of names, such as ['auto', 'fisher']", methods)
        )
    names = list(listed)
    if not names:
        raise InputError(
            parameter("methods", methods), " is empty; name at least one, or leave it out."
        )
    able = [name for name in NAMES if not missing(name, known)]
    for name in names:
        if not isinstance(name, str) or name not in NAMES:
            raise InputError(
                parameter("methods", name),
                f" holds {quoted(name)}; choose from {', '.join(NAMES)}{nearest(name, NAMES)}.",
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
            f" names one of them twice: {', '.join(names)}; name each once.",
        )
    return tuple(names)


def usual_methods(
    known: Supervision, whole: Size, part: Size, n_parts: int
) -> tuple[tuple[str, ...], list[str]]:
    """The default, the published method for what is known, and classical ones; and what was left
    out, and why.

    A method runs once on the whole table and once on each of so many parts.
    """
    with held_back():  # the default itself will say it
        published, _ = choose_method(known)
    chosen, notes = [], []
    for name in dict.fromkeys(("auto", published, *CLASSICS[told_by(known)])):
        seconds = SECONDS[name](whole) + n_parts * SECONDS[name](part) if name in SECONDS else 0.0
        if seconds <= PATIENCE:
            chosen.append(name)
        else:
            runs = f" for {1 + n_parts} runs" if n_parts else ""
            notes.append(
                f"{name} was left out: it would take about {_duration(seconds)}{runs}; name it in "
                "methods to have it."
            )
    return tuple(chosen), notes


def told_by(known: Supervision) -> str:
    """The kind of knowledge that decides which methods suit: what tells samples apart, or
    nothing.
    """
    with held_back():
        published, _ = choose_method(known)
    if published == "laplacian":
        return "nothing"
    return next(
        kind for kind in ("probabilities", "pairs", "labels", "targets") if kind in known.kinds
    )


def usable(name: str) -> tuple[Kind, ...]:
    """The kinds of knowledge that a method can be told."""
    if name in METHODS:
        return METHODS[name].uses
    return (
        ("labels", "targets", "probabilities", "pairs")
        if name in ("auto", "diverse")
        else SEARCHES[name].uses
    )


def missing(name: str, known: Supervision) -> tuple[Kind, ...]:
    """What a method needs one of, where none of it is known."""
    needed = (
        METHODS[name].uses
        if name in METHODS
        else SEARCHES["diverse" if name == "auto" else name].uses
    )
    return () if not needed or set(needed) & set(known.kinds) else needed


def part_for(known: Supervision, name: str) -> Supervision | None:
    """What a method can use of what is known; None where that is nothing."""
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
        **links,
    )
    return part if part.kinds else None


def default_sizes(n_features: int) -> list[int]:
    """Numbers of features that grow by factors, up to a hundred; all columns are there anyway."""
    return [size for size in (1, 2, 3, 5, 10, 20, 50, 100) if size < n_features] or [1]


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(5, 5 * math.ceil(seconds / 5))} seconds"
    return (
        f"{math.ceil(seconds / 60)} minutes"
        if seconds < 5400
        else f"{math.ceil(seconds / 3600)} hours"
    )

"""Changes of a data set that should not matter, and random data sets to change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from graphsieve import Supervision


@dataclass(frozen=True)
class Data:
    """A table with its supervision: `y`, or pairs or probabilities in `known`.

    After a change, `columns` and `rows` are the positions of the features and samples of the
    original table, and `units` are the factors by which its features were multiplied.
    """

    X: np.ndarray
    y: np.ndarray | None
    known: Supervision | None
    columns: np.ndarray
    rows: np.ndarray
    units: np.ndarray
    n_jobs: int | None = None


Change = Callable[[Data, np.random.Generator], Data]


def of_targets(function: Callable[[np.ndarray], np.ndarray]) -> Change:
    return lambda data, _: replace(data, y=function(data.y))


def in_units(draw: Callable[[np.random.Generator, int], np.ndarray]) -> Change:
    def change(data: Data, rng: np.random.Generator) -> Data:
        units = draw(rng, data.X.shape[1])
        return replace(data, X=data.X * units, units=units)

    return change


def renamed(names: list[str], step: int) -> Change:
    """Rename the classes. Class probabilities have no names, but their columns can be reversed."""

    def change(data: Data, rng: np.random.Generator) -> Data:
        if data.y is None:
            turned = data.known.probabilities[:, ::step]
            return replace(data, known=Supervision.from_probabilities(turned))
        return replace(data, y=np.where(data.y < 0, None, np.array(names, dtype=object)[data.y]))

    return change


def permuted_rows(data: Data, rng: np.random.Generator) -> Data:
    order = rng.permutation(len(data.X))
    return replace(at_rows(data, order), rows=np.argsort(order))


def at_rows(data: Data, rows: np.ndarray) -> Data:
    return replace(
        data,
        X=data.X[rows],
        y=None if data.y is None else data.y[rows],
        known=None if data.known is None else data.known[rows],
    )


def repeated_rows(data: Data, rng: np.random.Generator) -> Data:
    if data.known is not None and len(data.known.must_link):
        n = len(data.X)
        links = [
            np.concatenate([pairs + np.array([n * i, n * j]) for i in (0, 1) for j in (0, 1)])
            for pairs in (data.known.must_link, data.known.cannot_link)
        ]
        return replace(data, X=np.tile(data.X, (2, 1)), known=Supervision.from_pairs(2 * n, *links))
    return at_rows(data, np.tile(np.arange(len(data.X)), 2))


def permuted_columns(data: Data, rng: np.random.Generator) -> Data:
    order = rng.permutation(data.X.shape[1])
    return replace(data, X=data.X[:, order], columns=np.argsort(order))


def repeated_columns(data: Data, rng: np.random.Generator) -> Data:
    return replace(data, X=np.repeat(data.X, 2, axis=1), columns=2 * data.columns)


def with_constants(constants: tuple[float, ...]) -> Change:
    return lambda data, rng: replace(data, X=data.X + rng.choice(constants, data.X.shape[1]))


def bent(data: Data, rng: np.random.Generator) -> Data:
    return replace(data, X=np.sinh(data.X / 2))


CHANGES: dict[str, Change] = {
    "target × 4": of_targets(lambda y: y * 4),
    "target × 2.20462": of_targets(lambda y: y * 2.20462),
    "target + 1000": of_targets(lambda y: y + 1000),
    "target negated": of_targets(lambda y: -y),
    "target, increasing function": of_targets(lambda y: y**3 + y),
    "classes renamed": renamed(["ant", "bee", "cat", "dog"], 1),
    "classes reordered": renamed(["yak", "wolf", "owl", "emu"], -1),
    "rows permuted": permuted_rows,
    "all rows repeated": repeated_rows,
    "features permuted": permuted_columns,
    "all features repeated": repeated_columns,
    "constants added exactly": with_constants((-32.0, 0.0, 1000.0)),
    "constants added, with rounding": with_constants((-0.1, 32.3, 273.15)),
    "features × powers of 2": in_units(lambda rng, p: 2.0 ** rng.integers(-9, 10, p)),
    "features × other factors": in_units(lambda rng, p: 10 ** rng.uniform(-3, 3, p)),
    "all features × 4": in_units(lambda _, p: np.full(p, 4.0)),
    "all features × 0.3": in_units(lambda _, p: np.full(p, 0.3)),
    "features, increasing function": bent,
    "another container": lambda data, _: data,
    "`n_jobs=2`": lambda data, _: replace(data, n_jobs=2),
}
# Supervision that a change needs, by the first word
NEEDS = {"target": ("targets",), "classes": ("labels", "probabilities")}
# These changes round the features.
ROUNDED = {
    "constants added, with rounding",
    "features × other factors",
    "all features × 0.3",
    "features, increasing function",
}

# The kind of each supervision
SUPERVISION = {
    "labels": "labels",
    "few labels": "labels",
    "targets": "targets",
    "few targets": "targets",
    "probabilities": "probabilities",
    "pairs": "pairs",
    "nothing": None,
}


@st.composite
def data_sets(
    draw: Any, supervision: str, *, ties: bool, exact: bool, place: int
) -> tuple[Data, np.random.Generator]:
    """Draw a data set, and a generator for its change.

    With ties, features are whole numbers, halves or tenths, and one of them may be a copy or a
    constant.
    Otherwise their values are in general position. `place` makes the first data sets of several
    cases different.
    """
    first = np.random.default_rng(place)

    def one_of(*values: Any) -> Any:
        return draw(st.sampled_from([values[at] for at in first.permutation(len(values))]))

    n, p, n_classes, share = (
        one_of(*range(18, 43)),
        one_of(4, 5, 6, 7),
        one_of(2, 3, 4),
        one_of(0.5, 0.7),
    )
    steps = one_of(1, 2, 4 if exact else 10) if ties else 4096
    odd = one_of("nothing", "copy", "constant", "two values") if ties else "nothing"
    rng = np.random.default_rng([place, draw(st.integers(0, 2**32 - 1))])
    classes = rng.permutation(np.arange(n) % n_classes)
    target = np.round(3 * steps * rng.normal(size=n)) / steps
    X = rng.normal(size=(n, p)) * rng.uniform(1, 3, p)
    X += np.outer(classes, rng.uniform(0, 2, p)) + np.outer(target / 3, rng.uniform(0, 2, p))
    X = np.round(X * steps) / steps
    if odd == "copy":
        X[:, -1] = X[:, 1]
    elif odd == "constant":
        X[:, -2] = X[0, -2]
    elif odd == "two values":
        X[:, -1] = X[:, -1] > np.median(X[:, -1])
    y, known = _supervision(supervision, classes, target, rng, share)
    return Data(X, y, known, np.arange(p), np.arange(n), np.ones(p)), rng


def _supervision(
    name: str, classes: np.ndarray, target: np.ndarray, rng: np.random.Generator, share: float
) -> tuple[np.ndarray | None, Supervision | None]:
    n, n_classes = len(classes), classes.max() + 1
    shown = rng.random(n) < share
    shown[np.argsort(classes, kind="stable")[:: n // (3 * n_classes)]] = True
    if name == "probabilities":
        chance = rng.dirichlet(np.ones(n_classes), n)
        return None, Supervision.from_probabilities((chance + np.eye(n_classes)[classes]) / 2)
    if name == "pairs":
        pairs = rng.permutation(np.stack(np.triu_indices(n, k=1), axis=1))[: 3 * n]
        alike = classes[pairs[:, 0]] == classes[pairs[:, 1]]
        return None, Supervision.from_pairs(n, pairs[alike], pairs[~alike])
    every = {
        "labels": classes,
        "few labels": np.where(shown, classes, -1),
        "targets": target,
        "few targets": np.where(shown, target, np.nan),
    }
    return every.get(name), None

"""The supervision of the training rows that the methods get."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve import Supervision
from graphsieve.datasets import make_expert_labels

Integers = NDArray[np.int64]

FEWEST_TARGETS = 3  # 3 % of 48 rows would be a single target, which is useless.
PAIRS_AS_OF = 4  # The number of pairs is that implied by this number of labels per class.
ALL = "all"  # the level with every label or target of the training rows
DOUBT = 0.3  # mean probability that the expert assigns to the wrong classes


@dataclass(frozen=True)
class Level:
    """A kind and an amount of supervision.

    `kind` is ``"nothing"`` or one of `Supervision.kinds`. `task` is the task that the level applies
    to, or None for both.
    """

    name: str
    kind: str
    task: str | None
    amount: float = 0.0


LEVELS: Mapping[str, Level] = MappingProxyType(
    {
        level.name: level
        for level in (
            Level("none", "nothing", None),
            Level("2", "labels", "classification", 2),
            Level("4", "labels", "classification", 4),
            Level("10", "labels", "classification", 10),
            Level("pairs", "pairs", "classification"),
            Level("expert", "probabilities", "classification"),
            Level("3%", "targets", "regression", 0.03),
            Level("5%", "targets", "regression", 0.05),
            Level("10%", "targets", "regression", 0.10),
        )
    }
)


COMPLETE: Mapping[str, Level] = MappingProxyType(
    {
        "classification": Level(ALL, "labels", "classification", math.inf),
        "regression": Level(ALL, "targets", "regression", 1.0),
    }
)
"""The level of full supervision by task. Its name is the same for both tasks."""
NAMES = (*LEVELS, ALL)
FEW = tuple(name for name, level in LEVELS.items() if level.kind in ("labels", "targets"))
"""The levels with labels or targets of some of the training rows."""


def level_for(name: str, task: str) -> Level | None:
    """Return the level of supervision with this name, or None if it does not fit the task."""
    level = COMPLETE[task] if name == ALL else LEVELS[name]
    return level if level.task in (None, task) else None


def draw_supervision(level: Level, y: NDArray[Any], seed: list[int]) -> Supervision:
    """Draw the supervision of training rows with these class codes or targets.

    With the same seed, the 2 labels of a class are among its 4 labels.
    """
    random = np.random.default_rng(seed)
    if level.kind == "labels":
        return Supervision.from_labels(_few_labels(y, level.amount, random))
    if level.kind == "targets":
        return Supervision.from_targets(_few_targets(y, level.amount, random))
    if level.kind == "pairs":
        return Supervision.from_pairs(len(y), *_random_pairs(y, random))
    if level.kind == "probabilities":
        return Supervision.from_probabilities(
            make_expert_labels(y, doubt=DOUBT, random_state=random).probabilities
        )
    return Supervision.nothing(len(y))


def most_probable(known: Supervision) -> Supervision:
    """Return the most probable classes, for methods that support labels only."""
    assert known.probabilities is not None
    return Supervision.from_labels(known.probabilities.argmax(axis=1))


def _few_labels(y: Integers, count: float, random: np.random.Generator) -> Integers:
    """Return at most `count` labels of each class, and −1 elsewhere."""
    shown = np.full(len(y), -1, dtype=np.int64)
    for code in np.unique(y[y >= 0]):
        members = np.flatnonzero(y == code)
        shown[random.permutation(members)[: int(min(count, len(members)))]] = code
    return shown


def _few_targets(
    y: NDArray[np.float64], share: float, random: np.random.Generator
) -> NDArray[np.float64]:
    """Return a share of the known targets, at least three, and NaN elsewhere."""
    rows = random.permutation(np.flatnonzero(~np.isnan(y)))
    rows = rows[: max(FEWEST_TARGETS, round(share * len(rows)))]
    shown = np.full(len(y), np.nan)
    shown[rows] = y[rows]
    return shown


def _random_pairs(y: Integers, random: np.random.Generator) -> tuple[Integers, Integers]:
    """Return pairs of the same class and pairs of different classes.

    The number of each is the number implied by four labels of each class.
    """
    members = [np.flatnonzero(y == code) for code in np.unique(y)]
    shares = [min(PAIRS_AS_OF, len(rows)) for rows in members]
    must = [
        _distinct_pairs(rows, share * (share - 1) // 2, random)
        for rows, share in zip(members, shares, strict=True)
    ]
    n_cannot = sum(one * other for one, other in combinations(shares, 2))
    different = np.argwhere(np.triu(y[:, np.newaxis] != y))
    drawn = random.choice(len(different), size=n_cannot, replace=False)
    return np.concatenate(must), different[drawn]


def _distinct_pairs(rows: Integers, count: int, random: np.random.Generator) -> Integers:
    first, second = np.triu_indices(len(rows), 1)
    drawn = random.permutation(len(first))[:count]
    return np.column_stack([rows[first[drawn]], rows[second[drawn]]])

"""Random tables with categories and groups of columns, and what their columns should be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from strategies import Problem, problems

KINDS = ("number", "two levels", "category", "ordered", "group", "one level")
ONE_COLUMN = ("number", "two levels", "ordered")


@dataclass(frozen=True)
class Feature:
    """A feature of the given kind, with its values in a frame and its columns in a table."""

    kind: str
    values: Any  # of the columns of the frame
    columns: np.ndarray


@dataclass(frozen=True)
class Mixed:
    """Features, and a problem with supervision for the same samples."""

    features: list[Feature]
    problem: Problem

    @property
    def frame(self) -> pd.DataFrame:
        parts = {}
        for place, feature in enumerate(self.features):
            for number, values in enumerate(feature.values):
                parts[f"f{place}_{number}"] = values
        return pd.DataFrame(parts)

    @property
    def groups(self) -> dict[str, list[str]]:
        return {
            f"group {place}": [f"f{place}_{number}" for number in range(len(feature.values))]
            for place, feature in enumerate(self.features)
            if feature.kind == "group"
        }

    @property
    def matrix(self) -> np.ndarray:
        return np.hstack([feature.columns for feature in self.features])

    @property
    def blocks(self) -> list[list[int]]:
        ends = np.cumsum([feature.columns.shape[1] for feature in self.features])
        return [
            list(range(end - feature.columns.shape[1], end))
            for end, feature in zip(ends.tolist(), self.features, strict=True)
        ]

    @property
    def categorical(self) -> list[bool]:
        return [
            feature.kind in ("two levels", "category", "one level") for feature in self.features
        ]

    def having(self, features: list[Feature]) -> Mixed:
        return replace(self, features=features)


def one_hot(codes: np.ndarray) -> np.ndarray:
    """The columns of a category: one per level that occurs, but one for two levels.

    Levels are sorted from the most frequent to the rarest, and then by their first sample.
    """
    levels, first, counts = np.unique(codes, return_index=True, return_counts=True)
    levels = levels[np.lexsort((first, -counts))]
    if len(levels) <= 2:
        return (codes == levels[-1])[:, None] * float(len(levels) > 1)
    return (codes[:, None] == levels) * 1.0


def categorical_feature(kind: str, codes: np.ndarray, names: list[str]) -> Feature:
    """Return a category of which level c is called names[c]."""
    return Feature(kind, [pd.Series(np.array(names)[codes], dtype=object)], one_hot(codes))


def ordered_feature(codes: np.ndarray, names: list[str]) -> Feature:
    values = pd.Categorical.from_codes(codes, names, ordered=True)
    return Feature("ordered", [values], np.unique(codes, return_inverse=True)[1][:, None] * 1.0)


def numbers(columns: np.ndarray) -> Feature:
    kind = "number" if columns.shape[1] == 1 else "group"
    return Feature(kind, list(columns.T), columns)


@st.composite
def mixed_problems(
    draw: Any, *, ties: bool, kinds: tuple[str, ...] = KINDS, at_least: int = 1
) -> Mixed:
    """Draw a table of features of some kinds. With `ties`, the numbers are on a coarse grid."""
    problem = draw(problems(ties=ties, min_samples=12))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, features = len(problem.X), []
    for kind in draw(st.lists(st.sampled_from(kinds), min_size=at_least, max_size=5)):
        if kind in ("number", "group"):
            shape = (n, 1 if kind == "number" else int(random.integers(2, 5)))
            drawn = random.integers(-6, 7, shape) / 4 if ties else random.normal(size=shape)
            features.append(numbers(drawn))
            continue
        n_levels = {"one level": 1, "two levels": 2}.get(kind, int(random.integers(3, 6)))
        # Every level occurs at least twice. Otherwise a category could be an identifier.
        codes = random.permutation(
            np.concatenate([np.arange(2 * n_levels), random.integers(n_levels, size=n)])[:n]
            % n_levels
        )
        names = random.permutation(["red", "Blue", "10", "7", "z a"][:n_levels]).tolist()
        features.append(
            ordered_feature(codes, names)
            if kind == "ordered"
            else categorical_feature(kind, codes, names)
        )
    return Mixed(features, problem)

"""The tables: numbers and categories, with or without gaps, a target, and the folds."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold, train_test_split

from graphsieve.datasets import DataUnavailableError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# The target of each CSV table. A target of text is a class.
TARGETS = {
    "acs12": "income",
    "attrition": "Attrition",
    "bfi": "age",
    "flchain": "death",
    "german_credit": "class",
    "gestation": "wt",
    "hawks": "Species",
    "heart_disease": "diameter narrowing",
    "helpmiss": "substance",
    "hitters": "Salary",
    "indo_rct": "outcome",
    "math_placement": "CourseSuccess",
    "mlc_churn": "churn",
    "nhefs": "wt82_71",
    "oj": "Purchase",
    "pima2": "diabetes",
    "reddit_finance": "2020_gross_inc",
    "vega_cars": "Miles_per_Gallon",
}
# Tables of `graphsieve.datasets` that have their categories as numbers.
CODED = ("anneal", "dermatology", "horse_colic")
MOST_CODES = 10  # distinct values of a category in a coded table
FEWEST_VALUES = 20  # distinct values of a numeric target; otherwise its values are classes
ROWS_PER_LEVEL = 2  # Text with fewer rows per level is an identifier, which is left out.


@dataclass(frozen=True, eq=False)
class Problem:
    """A table with its target.

    Attributes
    ----------
    frame : DataFrame
        The features. Categories are text. Missing cells are NaN.
    y : array
        Class codes (int) or target (float).
    numeric_codes : bool
        Whether the categories are numbers in the file, so that they can be read as numbers.
    """

    name: str
    frame: pd.DataFrame
    y: Any
    numeric_codes: bool

    @property
    def is_classification(self) -> bool:
        return self.y.dtype.kind == "i"

    @cached_property
    def categories(self) -> list[str]:
        return [name for name in self.frame if self.frame[name].dtype == object]

    @cached_property
    def columns(self) -> tuple[Floats, list[Integers]]:
        """One-hot columns in their original units, and the columns of each feature."""
        parts = [
            _one_hot(self.frame[name])
            if name in self.categories
            else self.frame[[name]].to_numpy(float)
            for name in self.frame
        ]
        starts = np.cumsum([0] + [part.shape[1] for part in parts])
        return np.hstack(parts), [np.arange(start, end) for start, end in pairwise(starts)]

    def splits(self, folds: int, repeats: int, seed: int) -> list[tuple[Integers, Integers]]:
        kind = RepeatedStratifiedKFold if self.is_classification else RepeatedKFold
        parts = kind(n_splits=folds, n_repeats=repeats, random_state=seed)
        return list(parts.split(self.frame, self.y))


def _one_hot(values: pd.Series) -> Floats:
    """Return a column for each level. Two levels need only one column."""
    columns = pd.get_dummies(values).to_numpy(float)[:, int(values.nunique() == 2) :]
    columns[values.isna()] = np.nan
    return columns


@lru_cache(maxsize=1)
def problem(name: str, rows: int, seed: int, *, fill: bool = True) -> Problem:
    """Read a table, fill its gaps if requested, and draw at most this number of rows."""
    frame = read(name)
    target = frame.pop("target for the benchmark" if name in CODED else TARGETS[name])
    known = target.notna()
    frame, target = frame[known], target[known]
    classes = target.dtype == object or target.nunique() < FEWEST_VALUES
    y = np.unique(target, return_inverse=True)[1] if classes else target.to_numpy(float)
    if len(y) > rows:
        keep, _ = train_test_split(
            np.arange(len(y)), train_size=rows, random_state=seed, stratify=y if classes else None
        )
        frame, y = frame.iloc[np.sort(keep)], y[np.sort(keep)]
    if classes:
        frequent = np.flatnonzero(np.bincount(y)[y] >= 5)
        frame, y = frame.iloc[frequent], np.unique(y[frequent], return_inverse=True)[1]
    typed = {name: (filled if fill else _with_gaps)(frame[name]) for name in frame}
    usable = {
        name: values
        for name, values in typed.items()
        if values.dtype != object
        or values.nunique() <= 2
        or values.nunique() * ROWS_PER_LEVEL <= len(values)
    }
    return Problem(
        name, pd.DataFrame(usable).reset_index(drop=True), y, numeric_codes=name in CODED
    )


def read(name: str) -> pd.DataFrame:
    folder = Path(os.environ.get("GRAPHSIEVE_DATA", "."))
    if name not in CODED:
        places = [folder / f"{name}.csv", folder / "mixed" / f"{name}.csv"]
        found = next((place for place in places if place.exists()), None)
        if found is None:
            raise DataUnavailableError(f"{places[0]} does not exist; set GRAPHSIEVE_DATA.")
        return pd.read_csv(found)
    place = next(
        (p for p in (folder / f"{name}.npz", folder.parent / f"{name}.npz") if p.exists()), None
    )
    if place is None:
        raise DataUnavailableError(f"{folder / name}.npz does not exist; set GRAPHSIEVE_DATA.")
    with np.load(place) as stored:
        frame = pd.DataFrame(stored["X"], columns=[str(one) for one in stored["feature_names"]])
        target = stored["y"]
    for column in list(frame):
        if 2 < frame[column].nunique() <= MOST_CODES:
            frame[column] = frame[column].map(lambda code: f"level {code:g}", na_action="ignore")
    frame["target for the benchmark"] = target
    return frame


def _with_gaps(values: pd.Series) -> pd.Series:
    return filled(values).where(values.notna(), np.nan)


def filled(values: pd.Series) -> pd.Series:
    """Fill gaps with the median, or with the most frequent level."""
    if values.dtype == bool:
        return values.astype(float)
    if values.dtype != object:
        return values.fillna(values.median()).astype(float)
    return values.fillna(values.mode().iloc[0]).astype(str).astype(object)

"""The development data sets, sampled to a maximum number of rows.

Rows and classes that cannot be evaluated are removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold, train_test_split

from graphsieve.datasets import load

CLASSES = (
    *(
        "wine",
        "ionosphere",
        "sonar",
        "dermatology",
        "zoo",
        "wpbc",
        "colon",
        "leukemia",
        "orl",
        "pie10p",
        "mnist5k",
        "usps",
    ),
    *("madelon", "basehock", "pcmac", "reuters_orgspeople", "pbmc68k_reduced"),
)
TARGETS = (
    "tecator",
    "cookie_nir",
    "corn_m5",
    "gasoline_nir",
    "nirsoil",
    "pollen",
    "census_house_sub",
)
QUICK = ("wine", "ionosphere", "sonar", "colon", "orl", "tecator", "corn_m5", "gasoline_nir")

SIZES = {"classification": (5, 10, 20, 40), "regression": (3, 5, 10, 20, 30)}
LEARNERS = {"classification": ("1nn", "linear"), "regression": ("5nn", "linear")}


@dataclass(frozen=True, eq=False)
class Problem:
    """A table with class codes (−1: unknown) or targets (NaN: unknown), and its folds."""

    name: str
    task: str
    X: Any
    y: NDArray[Any]
    splits: tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of columns to evaluate.

        Numbers above that of the table are dropped. If none is left, half of the columns are used.
        """
        n_features = self.X.shape[1]
        return tuple(size for size in SIZES[self.task] if size <= n_features) or (
            max(1, n_features // 2),
        )

    @property
    def test_ratio(self) -> float:
        """Ratio of test rows to labelled training rows, for the correction of standard errors."""
        return float(
            np.mean([len(test) / _known(self.y[train]).sum() for train, test in self.splits])
        )


@lru_cache(maxsize=2)  # The cells of a data set run one after the other.
def problem(name: str, *, rows: int, folds: int, repeats: int, seed: int) -> Problem:
    """Return a data set with at most this number of rows, and its folds.

    Larger tables are sampled at random, with the classes in proportion. Rows with missing values
    and classes with fewer members than folds are left out. Rows without a target stay.
    """
    data = load(name)
    classes = data.task == "classification"
    keep = np.flatnonzero(_complete(data.X))
    if classes:
        keep = _of_frequent_classes(keep, data.y, folds)
    if len(keep) > rows:
        keep = np.sort(
            train_test_split(
                keep, train_size=rows, random_state=seed, stratify=data.y[keep] if classes else None
            )[0]
        )
    if classes:
        keep = _of_frequent_classes(keep, data.y, folds)
    y = np.unique(data.y[keep], return_inverse=True)[1] if classes else data.y[keep]
    return Problem(name, data.task, data.X[keep], y, _splits(y, folds, repeats, seed))


def _splits(
    y: NDArray[Any], folds: int, repeats: int, seed: int
) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...]:
    """Return the training and test rows. Unlabelled rows are in every training part."""
    known = np.flatnonzero(_known(y))
    kind = RepeatedKFold if y.dtype.kind == "f" else RepeatedStratifiedKFold
    parts = kind(n_splits=folds, n_repeats=repeats, random_state=seed).split(
        known.reshape(-1, 1), y[known]
    )
    return tuple((np.setdiff1d(np.arange(len(y)), known[test]), known[test]) for _, test in parts)


def _complete(X: Any) -> NDArray[np.bool_]:
    return np.ones(X.shape[0], dtype=bool) if sp.issparse(X) else ~np.isnan(X).any(axis=1)


def _of_frequent_classes(rows: NDArray[np.int64], y: NDArray[Any], least: int) -> NDArray[np.int64]:
    _, code, count = np.unique(y[rows], return_inverse=True, return_counts=True)
    return rows[count[code] >= least]


def _known(y: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(~np.isnan(y) if y.dtype.kind == "f" else y >= 0)

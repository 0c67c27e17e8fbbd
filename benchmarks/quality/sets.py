"""The data sets, sampled to a maximum number of rows.

Rows and classes that cannot be evaluated are removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
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
OTHER_CLASSES = (
    *("iris", "digits", "breast_cancer", "waveform40", "soybean_small", "anneal", "parkinsons"),
    *("breast_tissue", "pix10p", "arcene", "orlraws10p", "yale", "glioma", "lymphoma_discrete"),
    *("nci9_discrete", "lung_discrete", "tox171", "cns", "reuters_peopleplaces"),
    "chemotools_coffee",
)
OTHER_TARGETS = (
    *("diabetes", "cassava_nir", "chemotools_fermentation_train", "yarn_nir", "octane_nir"),
)
OTHER = (*OTHER_CLASSES, *OTHER_TARGETS)
"""Data sets that were not used to choose the default. They are reserved for final checks.

Variants of development data sets (leukemia_allaml, leukemia_discrete and colon_discrete) are not
listed, nor is horse_colic, in which nearly every row has a missing value.
"""
DEVELOPMENT = (*CLASSES, *TARGETS)
QUICK = ("wine", "ionosphere", "sonar", "colon", "orl", "tecator", "corn_m5", "gasoline_nir")

SIZES = {"classification": (5, 10, 20, 40), "regression": (3, 5, 10, 20, 30)}
NAMED_LEARNERS = {"classification": ("1nn", "linear"), "regression": ("5nn", "linear")}
TREES = 50
"""Trees of the third learner. More trees change the errors little and take longer."""
LEARNERS: Mapping[str, Mapping[str, Any]] = {
    task: {name: name for name in NAMED_LEARNERS[task]}
    | {"trees": ensemble(TREES, random_state=0, n_jobs=1)}
    for task, ensemble in (
        ("classification", ExtraTreesClassifier),
        # With all features at every node, the baseline of all columns would take minutes.
        ("regression", partial(ExtraTreesRegressor, max_features=1 / 3)),
    )
}
"""The learners by task and name: names of `graphsieve.assess`, and an ensemble of trees."""
LEARNER_TITLES = {"1nn": "k-NN", "5nn": "k-NN", "linear": "linear", "trees": "trees"}


GROUPS: Mapping[str, tuple[str, ...]] = {
    "development": DEVELOPMENT,
    "quick": QUICK,
    "other": OTHER,
}
"""Names for lists of data sets."""


def named(names: str) -> list[str]:
    """Return the data sets for a list of names or groups, separated by commas."""
    found = (one for name in names.split(",") for one in GROUPS.get(name, (name,)))
    return list(dict.fromkeys(found))


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

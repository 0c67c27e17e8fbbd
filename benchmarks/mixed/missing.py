"""Selections from tables with their natural gaps.

The other methods need complete columns. They get one-hot columns with the medians of the training
rows in place of missing cells, and a feature is ranked by its first selected column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer

from graphsieve.assess.evaluation.results import standard_error
from mixed import selections
from mixed.data import Floats, Problem, filled
from mixed.selections import MOST, Order, by_first_column, of_features

TABLES = ("gestation", "hawks", "helpmiss", "math_placement", "pima2", "reddit_finance")
COLUMNS_PER_FEATURE = 6  # one-hot columns that mRMR and FastCan select for each feature


def _without_gaps(data: Problem) -> Problem:
    """Return the training rows with medians, or the most frequent level of a category."""
    columns, members = data.columns
    complete = replace(
        data, frame=pd.DataFrame({name: filled(data.frame[name]) for name in data.frame})
    )
    medians = SimpleImputer(strategy="median", keep_empty_features=True)
    complete.__dict__["columns"] = medians.fit_transform(columns), members
    return complete


def _after_filling(
    selection: Callable[[Problem, int], Order],
) -> Callable[[Problem, int], Order]:
    return lambda data, seed: selection(_without_gaps(data), seed)


def _library(name: str) -> Callable[[Problem, int], Order]:
    """Return a selection by another library, called as in the quality benchmark."""

    def selection(data: Problem, seed: int) -> Order:
        from quality import rivals  # The library may not be installed.

        adapter: Callable[[Floats, Any, int], Any] = getattr(rivals, name)
        columns, members = data.columns
        known = data.y >= 0 if data.is_classification else ~np.isnan(data.y)
        n = min(COLUMNS_PER_FEATURE * MOST, columns.shape[1])
        order = by_first_column(members, adapter(columns[known], data.y[known], n).tolist())
        rest = np.setdiff1d(np.arange(len(members)), order)
        return of_features(data, [*order, *np.random.default_rng(seed).permutation(rest)])

    return selection


WITH_GAPS: dict[str, Callable[[Problem, int], Order]] = {
    "gaps": selections.blocks,
    "filled": _after_filling(selections.blocks),
    "filled_f_test": _after_filling(selections.f_test),
    "filled_mrmr": _after_filling(_library("mrmr")),
    "filled_fastcan": _after_filling(_library("fastcan")),
    "random": selections.random,
}
"""Selections from tables with gaps."""


def differences(records: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return the error of the default minus that of the other selections, ± its standard error.

    The standard error over folds is corrected for shared training rows.
    """
    ours = {(one["table"], one["level"]): one for one in records if one["method"] == "gaps"}
    rows = []
    for one in records:
        place = one["table"], one["level"]
        for learner in one["by_fold"] if one["method"] != "gaps" and place in ours else ():
            difference = np.subtract(ours[place]["by_fold"][learner], one["by_fold"][learner])
            error = standard_error(difference, test_ratio=1 / (one["settings"]["folds"] - 1))
            rows.append(
                (one["level"], learner, *place[:1], one["method"], difference.mean(), error)
            )
    names = ["level", "learner", "table", "method", "difference", "error"]
    found = pd.DataFrame(rows, columns=names)
    found["shown"] = [
        f"{d:+.3f} ± {e:.3f}" for d, e in zip(found.difference, found.error, strict=True)
    ]
    return found.pivot_table(
        index=["level", "learner", "table"], columns="method", values="shown", aggfunc="last"
    )

"""p-values of the columns of a table, and their adjustment for multiple tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.parameters import between
from graphsieve.assess.evaluation.results import Records
from graphsieve.scores.method import best_first
from graphsieve.table.containers import shown_name

Control = Literal["bh", "by"]

ROWS_SHOWN = 20
NAME_WIDTH = 32


def adjusted_p_values(p_values: Any, *, control: Control = "bh") -> Floats:
    """Return the smallest false discovery rate at which each feature is selected.

    NaN stays NaN and is not counted as a test.

    Parameters
    ----------
    p_values : array of shape (n_features,)
        p-values, or NaN for features that were not tested.
    control : {"bh", "by"}
        Benjamini–Hochberg or Benjamini–Yekutieli.

    Examples
    --------
    >>> adjusted_p_values([0.01, 0.04, 0.02, float("nan")])  # 3 · 0.01, 3/2 · 0.02, 3/3 · 0.04
    array([0.03, 0.04, 0.03,  nan])
    """
    values = np.asarray(p_values, dtype=np.float64)
    result = np.full(len(values), np.nan)
    tested = np.flatnonzero(~np.isnan(values))
    n_tests = len(tested)
    order = tested[np.argsort(values[tested], kind="stable")]
    factor = float((1 / np.arange(1, n_tests + 1)).sum()) if control == "by" else 1.0
    stepped = values[order] * factor * n_tests / np.arange(1, n_tests + 1)
    result[order] = np.minimum(np.minimum.accumulate(stepped[::-1])[::-1], 1.0)
    return result


@dataclass(frozen=True, eq=False)
class Significance:
    """p-values of the columns of a table. It prints as a table.

    Attributes
    ----------
    names : tuple of str
        Names of the features, in column order, as in all arrays of this class.
    scores : array of float
        Scores of the method. NaN if a feature cannot be scored.
    p_values : array of float
        Probability of a score at least as good by chance. NaN if there is no score.
    adjusted : array of float
        Smallest false discovery rate at which the feature is selected.
    method, control : str
        Method that computes the scores, and procedure that controls the false discovery rate.
    n_samples : int
        Number of rows of the table.
    large_is_good : bool
        Whether large scores are good.
    """

    names: tuple[str, ...]
    scores: Floats
    p_values: Floats
    adjusted: Floats
    method: str
    control: Control
    n_samples: int
    large_is_good: bool

    def __len__(self) -> int:
        return len(self.p_values)

    def selected(self, level: float = 0.05) -> Booleans:
        """Return a mask of the features selected at this false discovery rate."""
        level = between(0, 1)("level", level)
        return np.asarray(self.adjusted <= level)  # False for NaN

    def n_selected(self, level: float = 0.05) -> int:
        """Number of features selected at this false discovery rate."""
        return int(self.selected(level).sum())

    @property
    def order(self) -> Integers:
        """Column positions by p-value, then by score. Features without a p-value come last."""
        by_score = best_first(self.scores, large_is_good=self.large_is_good)
        return by_score[np.argsort(self.p_values[by_score], kind="stable")]

    def __str__(self) -> str:
        tested = int((~np.isnan(self.p_values)).sum())
        lines = [
            f"{tested} of {len(self)} features tested on {self.n_samples} samples with the "
            f"{self.method} score",
            f"{self.n_selected(0.05)} selected at a false discovery rate of 5 %, "
            f"{self.n_selected(0.1)} at 10 % ({self.control.upper()})",
            "",
        ]
        shown = [shown_name(name, NAME_WIDTH) for name in self.names]
        width = max(len("feature"), *(len(shown[j]) for j in self.order[:ROWS_SHOWN]))
        lines.append(f"{'feature':<{width}}  {'score':>10}  {'p-value':>9}  {'adjusted':>9}")
        for j in self.order[:ROWS_SHOWN]:
            numbers = f"{self.scores[j]:>10.4g}  {self.p_values[j]:>9.2g}  {self.adjusted[j]:>9.2g}"
            lines.append(
                f"{shown[j]:<{width}}  "
                f"{numbers if not np.isnan(self.p_values[j]) else 'not tested':>10}"
            )
        if len(self) > ROWS_SHOWN:
            lines.append(f"… {len(self) - ROWS_SHOWN} more; to_frame() has them all")
        return "\n".join(lines)

    __repr__ = __str__

    def to_frame(self) -> Any:
        """Return a pandas data frame, in order of significance."""
        return Records(
            {
                "feature": self.names[j],
                "score": self.scores[j],
                "p_value": self.p_values[j],
                "adjusted": self.adjusted[j],
            }
            for j in self.order
        ).to_frame()

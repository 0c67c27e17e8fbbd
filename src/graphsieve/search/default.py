"""What runs unless something else is asked for: columns that together explain the table and what is
known of its samples.

Every column of the table is to be explained, and counts by the share of its variation that goes
with what is known (`relevance`). So is what all columns together predict of the labels
(`prediction`), and counts by how well labels that were left out are predicted: many good labels
lead, few or bad ones leave the lead to the table. With nothing known, a column counts by its
largest correlation with another one: what no other column confirms may be noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphsieve._base.array_types import Booleans, Floats
from graphsieve.search.diverse import DiversePath, choose_diverse
from graphsieve.search.prediction import predicted
from graphsieve.search.relevance import relevance
from graphsieve.supervision.value import Supervision
from graphsieve.table.centered import ColumnSpace, largest_correlations
from graphsieve.table.columns import Table

LEAST_TRUST = 0.3  # in a prediction: the skill on a handful of labels is itself a guess


@dataclass(frozen=True)
class Explanation:
    """The columns chosen, and what they were chosen by.

    Attributes
    ----------
    path : DiversePath
        The order of choice, and what became of every column.
    relevance : array of shape (n_features,)
        How much each column counted: the share of its variation that goes with what is known; if
        nothing is, its largest absolute correlation with another column.
    skill : float or None
        How well left-out labels are predicted, from 0 to 1; None where there is nothing to predict.
    """

    path: DiversePath
    relevance: Floats
    skill: float | None


def explain_what_is_known(
    table: Table,
    scaled: Table,
    known: Supervision,
    *,
    n_wanted: int,
    allowed: Booleans | None = None,
    progress: bool | None = None,
) -> Explanation:
    """Choose columns of `scaled`, which is `table` in the units in which columns are compared;
    only `allowed` ones.
    """
    space = ColumnSpace(scaled)
    shares = relevance(table, known) if known.kinds else np.zeros(table.n_features)
    if not shares.any():  # nothing is known, or nothing that any column goes with
        shares = largest_correlations(space)
    prediction = predicted(scaled, known)
    weights = shares if allowed is None else np.where(allowed, shares, np.nan)
    path = choose_diverse(
        space,
        weights,
        n_wanted=n_wanted,
        targets=None if prediction is None else prediction.values,
        target_share=0.0 if prediction is None else max(LEAST_TRUST, prediction.skill),
        beyond=True,  # who asks for more features than matter wants no copies of those that do
        progress=progress,
    )
    return Explanation(path, shares, None if prediction is None else prediction.skill)

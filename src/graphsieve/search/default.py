"""The default search: features that together explain the table and the supervision.

The search explains two things. The first is every feature of the table, weighted by its relevance
(`relevance`). The second is the prediction of the labels from all features (`prediction`), weighted
by its skill on held-out labels. With many good labels the prediction dominates; with few or bad
labels the table does. Without supervision, the weight of a feature is its largest correlation with
another feature, because a feature that resembles no other may be noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from graphsieve._base.array_types import Booleans, Floats
from graphsieve.search.diverse import NO_CHOICE, Choice, DiversePath, select_diverse
from graphsieve.search.prediction import predicted
from graphsieve.search.relevance import relevance
from graphsieve.supervision.value import Supervision
from graphsieve.table.centered import ColumnSpace, largest_correlations
from graphsieve.table.columns import Table

# Least weight of the prediction. The skill itself is a rough estimate if labels are few.
LEAST_TRUST = 0.3


@dataclass(frozen=True)
class Explanation:
    """The selected features, and the quantities that determined them.

    Attributes
    ----------
    path : DiversePath
        The selection order, with gain, redundancy and closest feature.
    relevance : array of shape (n_features,)
        Weight of each feature: the share of its variance that is associated with the supervision.
        Without supervision, its largest absolute correlation with another feature.
    skill : float or None
        How well held-out labels are predicted, from 0 to 1. None without labels or targets.
    select : callable
        Selects a given number of features again, and returns the path.
    """

    path: DiversePath
    relevance: Floats
    skill: float | None
    select: Callable[[int], DiversePath]


def select_by_explanation(
    table: Table,
    scaled: Table,
    known: Supervision,
    *,
    n_wanted: int,
    allowed: Booleans | None = None,
    choice: Choice = NO_CHOICE,
    progress: bool | None = None,
) -> Explanation:
    """Select features of `scaled`, the table in the units in which features are compared.

    Only the features to keep and the `allowed` ones are selected and explained.
    """
    space = ColumnSpace(scaled)
    shares = relevance(table, known) if known.kinds else np.zeros(table.n_features)
    if not shares.any():  # There is no supervision, or no feature is associated with it.
        shares = largest_correlations(space)
    prediction = predicted(scaled, known, space)
    if allowed is not None:
        allowed = allowed.copy()
        allowed[list(choice.keep)] = True
    weights = shares if allowed is None else np.where(allowed, shares, np.nan)
    select = partial(
        select_diverse,
        space,
        weights,
        targets=None if prediction is None else prediction.values,
        target_share=0.0 if prediction is None else max(LEAST_TRUST, prediction.skill),
        n_known=None if prediction is None else known.n_labeled,
        # A request for more features than have a weight must not be filled with copies.
        beyond=True,
        choice=choice,
        progress=progress,
    )
    return Explanation(
        path=select(n_wanted=n_wanted),
        relevance=shares,
        skill=None if prediction is None else prediction.skill,
        select=lambda number: select(n_wanted=number),
    )

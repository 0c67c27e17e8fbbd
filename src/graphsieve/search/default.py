"""The default search: features that together explain the table and the supervision.

The search explains two things. The first is every feature of the table, weighted by its relevance
(`relevance`). The second is the prediction of the labels from all features (`prediction`), weighted
by its skill on held-out labels. With many good labels the prediction dominates; with few or bad
labels the table does. Without supervision, the weight of a feature is its largest correlation with
another feature, because a feature that resembles no other may be noise.

The features that matter (`relevant`) are selected first. The others follow by the same rule, with
their own relevance as weights. The order does not depend on the number of features requested.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphsieve._base.array_types import Floats
from graphsieve.search.diverse import (
    MOST_SELECTED,
    NO_CHOICE,
    Choice,
    DiversePath,
    Preference,
    select_diverse,
)
from graphsieve.search.prediction import Prediction, predicted
from graphsieve.search.relevance import Relevance, corrected_relevance
from graphsieve.search.relevant import RelevantColumns, relevant_columns
from graphsieve.supervision.value import Supervision
from graphsieve.table.centered import ColumnSpace, largest_correlations
from graphsieve.table.columns import Table

# Minimum weight of the prediction. With few labels, its skill is only a rough estimate.
LEAST_TRUST = 0.3
LEAST_FACTOR = 1e-6  # factor of a feature without relevance, before it is raised to a power


@dataclass(frozen=True)
class Explanation:
    """The selected features, and the quantities that determined them.

    Attributes
    ----------
    path : DiversePath
        The selection order, with gain, redundancy and closest feature.
    relevance : array of shape (n_features,)
        Weight of each feature: the share of its variation that is associated with the supervision,
        corrected for chance. Without supervision, its largest absolute correlation with another
        feature.
    matter : RelevantColumns
        The features that matter, which are selected first, and the tests that found them.
    skill : float or None
        How well held-out labels are predicted, from 0 to 1. None without labels or targets.
    skill_of_relevant : callable
        Returns the skill if only the features that matter are used for the prediction.
    """

    path: DiversePath
    relevance: Floats
    matter: RelevantColumns
    skill: float | None
    skill_of_relevant: Callable[[], float | None]


def select_by_explanation(
    table: Table,
    scaled: Table,
    known: Supervision,
    *,
    n_wanted: int = MOST_SELECTED,
    choice: Choice = NO_CHOICE,
    structure: Callable[[], Floats] | None = None,
    progress: bool | None = None,
) -> Explanation:
    """Select features of `scaled`, the table in the units in which features are compared.

    `n_wanted` features are selected one by one. A smaller number saves time and changes only the
    order of the features after them. `structure` returns the result of `structure_p_values`. It is
    useful if this result is needed more than once.
    """
    space = ColumnSpace(scaled)
    found = Relevance(np.zeros(table.n_features), 0.0)
    if known.kinds:
        found = corrected_relevance(table, known, space)
    shares = found.values
    if not shares.any():  # There is no supervision, or no feature is associated with it.
        shares = largest_correlations(space)
    # Sample weights do not change the number of observations.
    once = table if table.weights is None else table.weighted_by(None)
    matter = relevant_columns(
        once, known, doubt=found.doubt, p_values=found.p_values, structure=structure
    )
    prediction = predicted(scaled, known, space)
    first = matter.mask if (shares * matter.mask).any() else None
    path = select_diverse(
        space,
        shares if first is None else shares * first,
        n_wanted=n_wanted,
        targets=None if prediction is None else prediction.values,
        target_share=0.0 if prediction is None else max(LEAST_TRUST, prediction.skill),
        n_known=None if prediction is None else known.n_labeled,
        # If more features are requested than have a weight, the rest must not be copies.
        beyond=True,
        choice=choice,
        preference=Preference(first, shares, _factor(shares, found.doubt)),
        progress=progress,
    )

    def skill_of_relevant() -> float | None:
        return _skill_of(predicted(scaled.take_features(np.flatnonzero(matter.mask)), known))

    return Explanation(path, shares, matter, _skill_of(prediction), skill_of_relevant)


def _skill_of(prediction: Prediction | None) -> float | None:
    return None if prediction is None else prediction.skill


def _factor(shares: Floats, doubt: float) -> Floats | None:
    """Return the factor by which the gain of each feature is multiplied in comparisons.

    If the structure of the table is hardly related to the supervision, a feature must be relevant
    itself. It is not enough that it resembles many others.
    """
    if not doubt or not shares.any():
        return None
    return np.asarray(np.maximum(shares / shares.max(), LEAST_FACTOR) ** (doubt / 2))

"""Stability index of several sets, and confidence intervals of shares."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from graphsieve._base.array_types import Booleans, Floats

LEVEL = 0.95  # confidence level of all intervals


class Agreement(NamedTuple):
    """Stability index and its confidence interval. All values are NaN if it is undefined."""

    value: float
    low: float
    high: float


def agreement(chosen: Booleans, *, level: float = LEVEL) -> Agreement:
    """Stability index of Nogueira, Sechidis and Brown for M sets of d features.

    Let h_f be the share of sets that contain feature f, s_f² = M/(M−1) h_f (1 − h_f), and
    k̄ = Σ h_f the mean size of a set. Then

        index = 1 − (1/d) Σ_f s_f² / (k̄/d (1 − k̄/d)) .

    The index is 1 if all sets are equal. Its mean is 0 for random sets of any size, and its lower
    bound is −1/(M−1). If the sizes k_i differ, the mean for random sets is −var(k_i/d) / ((M−1)
    k̄/d (1 − k̄/d)), which is about 0 unless M is small. The index is undefined (NaN) if every set is
    empty or every set contains all features. The confidence interval is index ± z √v, with the
    variance v = 4/M² Σ_i (φ_i − φ̄)² of the paper, where φ_i is the contribution of set i. It is
    clipped to −1 and 1.

    Parameters
    ----------
    chosen : array of bool of shape (n_sets, n_features)
        Features that each set contains, for at least two sets.
    level : float
        Confidence level.

    References
    ----------
    Nogueira, Sechidis, Brown (2018), On the stability of feature selection algorithms, definition
    4.

    Examples
    --------
    Two sets of two features each, out of four, have one feature in common. Two of the four
    h_f (1 − h_f) are 1/4 and two are 0, so the index is 1 − (1/4)/(1/4).

    >>> import numpy as np
    >>> agreement(np.array([[True, True, False, False], [True, False, True, False]])).value
    0.0
    """
    n_sets, n_features = chosen.shape
    share = chosen.mean(axis=0)
    size, filled = chosen.sum(axis=1) / n_features, float(share.mean())  # k_i/d and k̄/d
    by_chance = filled * (1 - filled)
    if by_chance == 0:
        return Agreement(math.nan, math.nan, math.nan)
    index = 1 - float(np.mean(share * (1 - share))) * n_sets / (n_sets - 1) / by_chance
    influence = (
        (chosen @ share) / n_features
        - size * filled
        + index / 2 * (2 * filled * size - size - filled + 1)
    )
    error = 2 / n_sets * float(np.sqrt(np.sum((influence - influence.mean()) ** 2))) / by_chance
    reach = float(norm.ppf((1 + level) / 2)) * error
    return Agreement(index, max(-1.0, index - reach), min(1.0, index + reach))


def share_interval(times: ArrayLike, n: int, *, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Lower and upper bounds of Wilson's confidence interval for a share of `times` out of `n`.

    Unlike share ± error, the interval stays between 0 and 1, and has a positive width for shares of
    0 and 1.

    Examples
    --------
    >>> low, high = share_interval([0, 5, 10], 10)
    >>> low.round(2), high.round(2)
    (array([0.  , 0.24, 0.72]), array([0.28, 0.76, 1.  ]))
    """
    seen = np.asarray(times, dtype=np.float64)
    share, z = seen / n, float(norm.ppf((1 + level) / 2))
    center = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # The bounds are exactly 0 and 1 there, apart from rounding errors.
    return np.where(seen == 0, 0.0, center - reach), np.where(seen == n, 1.0, center + reach)

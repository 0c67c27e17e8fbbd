"""How much sets agree, and how well a share is known: two formulas, each with its interval."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from graphsieve._base.array_types import Booleans, Floats

LEVEL = 0.95  # of every confidence interval here


class Agreement(NamedTuple):
    """A stability index and its confidence interval; all NaN where it is not defined."""

    value: float
    low: float
    high: float


def agreement(chosen: Booleans, *, level: float = LEVEL) -> Agreement:
    """The stability index of Nogueira, Sechidis and Brown for M sets of d features, with its
    confidence interval.

    With h_f the share of sets that hold feature f, s_f² = M/(M−1) h_f (1 − h_f), and k̄ = Σ h_f the
    mean size of a set,

        index = 1 − (1/d) Σ_f s_f² / (k̄/d (1 − k̄/d)) .

    It is 1 where all sets are equal, 0 on average where they are drawn by chance, whatever their
    size, and −1/(M−1) at least. (Where sizes k_i differ, sets drawn by chance have −var(k_i/d) /
    ((M−1) k̄/d (1 − k̄/d)) on average: about 0 unless M is small.) It is not defined (NaN) where
    every set is empty or holds all features. The interval is index ± z √v, with the variance v =
    4/M² Σ_i (φ_i − φ̄)² of the paper, in which φ_i is the part of set i; it is cut at −1 and 1.

    Parameters
    ----------
    chosen : array of bool of shape (n_sets, n_features)
        Which features each set holds; at least two sets.
    level : float
        Of the confidence interval.

    References
    ----------
    Nogueira, Sechidis, Brown (2018), On the stability of feature selection algorithms, definition
    4.

    Examples
    --------
    Two sets of two among four features share one: every h_f (1 − h_f) is 0 or 1/4, so that the
    index is 1 − (1/4)/(1/4).

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
    """Wilson's confidence interval of a share that was seen `times` out of `n`: its lower and its
    upper ends.

    Unlike share ± error it stays within 0 and 1, and has a width where the share is 0 or 1.

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
    # On paper the ends are exactly 0 and 1 there.
    return np.where(seen == 0, 0.0, center - reach), np.where(seen == n, 1.0, center + reach)

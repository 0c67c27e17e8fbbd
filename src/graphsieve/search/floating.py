"""Sequential floating forward selection (SFFS): add the best feature, then take out again
whichever have become worthless.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import EndedError, InputError, warn
from graphsieve._base.parameters import boolean, either
from graphsieve._base.progress import Progress
from graphsieve._base.underflow import vanishing
from graphsieve.scores.method import check_length, wanted_count
from graphsieve.search.criteria import Criterion, make_criterion
from graphsieve.supervision.value import Supervision
from graphsieve.table.any_table import table_in_memory

# Criteria that differ by less are equal: rounding must not decide between copies of a column
TIE = 1e-10
FEWEST_LEFT = 2  # nothing is taken out of a set of two, as published


@dataclass(frozen=True)
class FloatingPath:
    """The best set found of every size, and its criterion.

    Attributes
    ----------
    order : array of int
        The set of the wanted size (of the largest size reached, if interrupted), in the order in
        which its features came in.
    values : dict
        The criterion of the best set of every size that was met.
    sets : dict
        Those sets.
    interrupted : bool
        Whether the search was cut short.
    """

    order: Integers
    values: dict[int, float]
    sets: dict[int, tuple[int, ...]]
    interrupted: bool = False


@vanishing
def floating_selection(
    X: Any,
    y: Any,
    *,
    n_features_to_select: int,
    estimator: Any = None,
    scoring: Any = None,
    cv: Any = 5,
    ridge: float = 1.0,
    progress: bool | None = None,
) -> Integers:
    """Sequential floating forward selection (SFFS): the set, not the list, is judged.

    Each step adds the feature that helps the set most, then takes features out as long as what is
    left is better than every set of its size so far: several at a time if need be. Interrupting it
    (Ctrl-C) gives the best set found so far, with a warning.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features.
    y : array of shape (n_samples,)
        Class labels or a continuous target, told apart as in `Supervision.from_y`; samples where it
        is unknown are left out.
    n_features_to_select : int
        Size of the set.
    estimator : scikit-learn estimator, optional
        The criterion is then its cross-validated score. By default it is the leave-one-out R² of a
        ridge regression of the target, or of the class indicators, on the standardised features,
        which has a closed form and is quick.
    scoring : str or callable, optional
        As in `cross_val_score`; only with an estimator.
    cv : int or splitter
        As in `cross_val_score`; only with an estimator.
    ridge : float
        The penalty of the default criterion, beside sums of squares that equal the number of known
        samples, at least 1e-8; only without an estimator.
    progress : bool or None
        Whether to tell on the error stream how far it has come; None: if that is a terminal.

    Returns
    -------
    array of int of shape (n_features_to_select,)
        Column positions in the order in which they came in. Features that are constant on the known
        samples come last, and only if nothing else is left.

    References
    ----------
    Pudil, Novovičová, Kittler (1994), Floating search methods in feature selection.

    Examples
    --------
    Neither of the first two columns says much alone; their difference is the target:

    >>> X = [[1, 0, 1], [2, 2, 1], [3, 1, 2], [4, 4, 3], [5, 3, 3], [6, 7, 4]]
    >>> y = [1.0, 0.0, 2.0, 0.1, 2.1, -1.0]
    >>> sorted(floating_selection(X, y, n_features_to_select=2).tolist())
    [0, 1]
    """
    table, known = table_in_memory(X), Supervision.from_y(y)
    check_length(known, table)
    wanted = wanted_count(n_features_to_select, table.n_features)
    shown = either(None, boolean())("progress", progress)
    criterion = make_criterion(
        table, known, estimator=estimator, scoring=scoring, cv=cv, ridge=ridge
    )
    return float_forward(criterion, wanted, progress=shown).order


def float_forward(
    criterion: Criterion,
    n_features_to_select: int,
    *,
    exactly: bool = True,
    partial: bool = True,
    progress: bool | None = None,
) -> FloatingPath:
    """Run the search; only features that vary are ever tried.

    The others fill up where too few vary, if `exactly` so many are wanted. An interruption ends
    with the best set so far, unless `partial` is False: then it goes through.
    """
    usable = np.flatnonzero(criterion.usable)
    wanted = min(n_features_to_select, len(usable))
    if not wanted:
        raise InputError(
            f"nothing to select: none of the {len(criterion.usable)} features varies on the known "
            "samples."
        )
    if exactly and wanted < n_features_to_select:
        warn(
            f"{n_features_to_select} features were asked for, but only {wanted} vary on the known "
            "samples; the rest come in column order."
        )
    search, interrupted = _Search(criterion, usable), False
    with Progress("floating selection", progress) as shown:
        criterion.tell = shown.tell
        try:
            while len(search.current) < wanted:
                search.add_the_best()
                search.take_out_the_worthless()
                shown.tell(
                    f"{len(search.current)} of {wanted} features, criterion {search.value:.4g}"
                )
        except EndedError:
            raise
        except KeyboardInterrupt:
            if not (partial and search.sets):
                raise
            interrupted = True
    size = max(search.sets) if interrupted else wanted
    if interrupted:
        warn(
            f"interrupted with {size} of {wanted} features; this is the best set of that size so "
            "far."
        )
    order = list(search.sets[size])
    if exactly and not interrupted:
        order += [
            int(f) for f in np.flatnonzero(~criterion.usable)[: n_features_to_select - wanted]
        ]
    return FloatingPath(np.array(order, dtype=np.int64), search.values, search.sets, interrupted)


class _Search:
    """The state of a floating search: the set at hand, and the best set of every size so far."""

    def __init__(self, criterion: Criterion, usable: Integers) -> None:
        self.criterion, self.usable = criterion, usable
        self.current: tuple[int, ...] = ()
        self.values: dict[int, float] = {}
        self.sets: dict[int, tuple[int, ...]] = {}
        # By the last step, unless that only took up a set known from before
        self._added: int | None = None

    @property
    def value(self) -> float:
        return self.values[len(self.current)]

    def add_the_best(self) -> None:
        candidates = self.usable[~np.isin(self.usable, self.current)]
        values = self.criterion.with_each(self.current, candidates)
        place = _first_best(values)
        if self._improves(len(self.current) + 1, float(values[place])):
            self._added = int(candidates[place])
            self._keep((*self.current, self._added), float(values[place]))
        else:  # a better set of that size is known from before something was taken out
            self.current, self._added = self.sets[len(self.current) + 1], None

    def take_out_the_worthless(self) -> None:
        if self._added is None:
            return
        taken_out = 0
        while len(self.current) > FEWEST_LEFT:
            values = self.criterion.without_each(self.current)
            place = _first_best(values)
            # What was just added is not taken out at once; after something else it may be, as
            # published.
            if (self.current[place] == self._added and not taken_out) or not self._improves(
                len(self.current) - 1, float(values[place])
            ):
                return
            self._keep(self.current[:place] + self.current[place + 1 :], float(values[place]))
            taken_out += 1

    def _improves(self, size: int, value: float) -> bool:
        return size not in self.values or value > self.values[size] + TIE

    def _keep(self, features: tuple[int, ...], value: float) -> None:
        self.current = self.sets[len(features)] = features
        self.values[len(features)] = value


def _first_best(values: Floats) -> int:
    return int(np.flatnonzero(values >= values.max() - TIE)[0])

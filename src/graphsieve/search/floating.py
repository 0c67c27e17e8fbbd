"""Sequential floating forward selection (SFFS).

It adds the best feature and then removes features that became useless.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import EndedError, InputError, warn
from graphsieve._base.parameters import boolean, either
from graphsieve._base.progress import Progress
from graphsieve._base.underflow import ignoring_underflow
from graphsieve.scores.method import check_length, wanted_count
from graphsieve.search.criteria import Criterion, make_criterion
from graphsieve.supervision.value import Supervision
from graphsieve.table.any_table import table_in_memory

# Criteria that differ by less are ties, so that rounding error does not decide between copies of a
# column.
TIE = 1e-10
FEWEST_LEFT = 2  # As published, no feature is removed from a set of two.


@dataclass(frozen=True)
class FloatingPath:
    """The best set of each size that was found, and its criterion.

    Attributes
    ----------
    order : array of int
        The set of the requested size, in the order in which its features were added. After an
        interruption it is the best set of the largest size that was reached.
    values : dict
        The criterion of the best set of each size that was reached.
    sets : dict
        The best set of each size.
    interrupted : bool
        Whether the search was interrupted.
    """

    order: Integers
    values: dict[int, float]
    sets: dict[int, tuple[int, ...]]
    interrupted: bool = False


@ignoring_underflow
def floating_selection(
    X: Any,
    y: Any,
    *,
    n_features_to_select: int,
    estimator: Any = None,
    scoring: Any = None,
    cv: Any = 5,
    ridge: float = 1.0,
    categorical: Any = "auto",
    feature_groups: Any = None,
    progress: bool | None = None,
) -> Integers:
    """Select features by sequential floating forward selection (SFFS).

    The search evaluates sets of features, not single features. Each step adds the feature that
    improves the set most. It then removes features, one after another, as long as the remaining set
    is better than every earlier set of the same size. If the search is interrupted (Ctrl-C), it
    returns the best set found so far, with a warning.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features.
    y : array of shape (n_samples,)
        Class labels or a continuous target, distinguished as in `Supervision.from_y`. Unlabelled
        samples are left out.
    n_features_to_select : int
        Size of the set.
    estimator : scikit-learn estimator, optional
        If given, the criterion is the cross-validated score of this estimator. By default the
        criterion is the leave-one-out R² of a ridge regression of the target, or of the class
        indicators, on the standardised features. This default is fast, because it has a closed
        form.
    scoring : str or callable, optional
        The score of the estimator, as in `cross_val_score`. Only with an estimator.
    cv : int or splitter
        The cross-validation folds, as in `cross_val_score`. Only with an estimator.
    ridge : float
        Penalty of the default criterion, at least 1e-8. It is added to the sum of squares of each
        standardised feature, which equals the number of labelled samples. Only without an
        estimator.
    categorical, feature_groups : {"auto", None} or sequence, dict or sequence or str or None
        The categories and the feature groups, as in `GraphSieve`.
    progress : bool or None
        Whether to show the progress on the error stream. With None, it is shown if the stream is a
        terminal.

    Returns
    -------
    features : array of int of shape (n_features_to_select,)
        Positions of features in the order in which they were added. Features that are constant on
        the labelled samples come last, and only if too few others exist.

    References
    ----------
    Pudil, Novovičová, Kittler (1994), Floating search methods in feature selection.

    Examples
    --------
    Neither of the first two columns predicts the target well alone, but their difference does:

    >>> X = [[1, 0, 1], [2, 2, 1], [3, 1, 2], [4, 4, 3], [5, 3, 3], [6, 7, 4]]
    >>> y = [1.0, 0.0, 2.0, 0.1, 2.1, -1.0]
    >>> sorted(floating_selection(X, y, n_features_to_select=2).tolist())
    [0, 1]
    """
    table = table_in_memory(
        X, y, categorical=categorical, feature_groups=feature_groups, missing="use"
    )
    known = Supervision.from_y(y)
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
    """Run the search with a criterion. Only features that vary are evaluated.

    If too few features vary and `exactly` is True, constant features fill the set. After an
    interruption, the best set so far is returned. If `partial` is False, the interruption is raised
    instead.
    """
    usable = np.flatnonzero(criterion.usable)
    wanted = min(n_features_to_select, len(usable))
    if not wanted:
        raise InputError(
            f"nothing to select: none of the {len(criterion.usable)} features varies on the "
            "labelled samples."
        )
    if exactly and wanted < n_features_to_select:
        warn(
            f"{n_features_to_select} features were requested, but only {wanted} vary on the "
            "labelled samples; the others follow in column order."
        )
    search, interrupted = _Search(criterion, usable), False
    with Progress("floating selection", progress) as shown:
        criterion.tell = shown.tell
        try:
            while len(search.current) < wanted:
                search.add_the_best()
                search.remove_the_useless()
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
            f"interrupted with {size} of {wanted} features; the result is the best set of this "
            "size so far."
        )
    order = list(search.sets[size])
    if exactly and not interrupted:
        order += [
            int(f) for f in np.flatnonzero(~criterion.usable)[: n_features_to_select - wanted]
        ]
    return FloatingPath(np.array(order, dtype=np.int64), search.values, search.sets, interrupted)


class _Search:
    """The state of a floating search: the current set, and the best set of each size so far."""

    def __init__(self, criterion: Criterion, usable: Integers) -> None:
        self.criterion, self.usable = criterion, usable
        self.current: tuple[int, ...] = ()
        self.values: dict[int, float] = {}
        self.sets: dict[int, tuple[int, ...]] = {}
        # The feature that the last step added, or None if the step returned to an earlier set.
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
        else:  # An earlier set of this size, found before a removal, is better.
            self.current, self._added = self.sets[len(self.current) + 1], None

    def remove_the_useless(self) -> None:
        if self._added is None:
            return
        n_removed = 0
        while len(self.current) > FEWEST_LEFT:
            values = self.criterion.without_each(self.current)
            place = _first_best(values)
            # As published, the feature that was just added is not the first one to be removed. It
            # may be removed after another one.
            if (self.current[place] == self._added and not n_removed) or not self._improves(
                len(self.current) - 1, float(values[place])
            ):
                return
            self._keep(self.current[:place] + self.current[place + 1 :], float(values[place]))
            n_removed += 1

    def _improves(self, size: int, value: float) -> bool:
        return size not in self.values or value > self.values[size] + TIE

    def _keep(self, features: tuple[int, ...], value: float) -> None:
        self.current = self.sets[len(features)] = features
        self.values[len(features)] = value


def _first_best(values: Floats) -> int:
    return int(np.flatnonzero(values >= values.max() - TIE)[0])

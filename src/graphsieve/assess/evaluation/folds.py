"""Division of the rows into training and test sets."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

from graphsieve._base.array_types import Booleans, Integers
from graphsieve._base.errors import InputError, InputTypeError, warn
from graphsieve._base.messages import parameter
from graphsieve._base.parameters import count, is_collection, must_be, quoted, setting
from graphsieve._base.warning_filters import warnings_ignored
from graphsieve.assess.evaluation.prefixes import known_rows


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test rows of one fold. Rows, repeats and folds are counted from 0."""

    repeat: int
    fold: int
    train: Integers
    test: Integers

    @property
    def where(self) -> str:
        """Repeat and fold, as shown in messages."""
        return f"repeat {self.repeat}, fold {self.fold}"


def make_splits(
    folds: Any,
    y: NDArray[Any],
    *,
    repeats: Any,
    seed: int,
    groups: Integers | None = None,
    may_divide: bool = False,
) -> list[Split]:
    """Return repeated folds of the labelled rows. Unlabelled rows are in every training set.

    `y` contains class codes or targets. The rows of a group are never divided. If some of them are
    tested, the unlabelled rows of the group are not in the training set. Given folds that divide a
    group are refused, or raise a warning if they `may_divide` it.
    """
    repeats = count(1)("repeats", repeats)
    if not isinstance(folds, Integral) or isinstance(folds, bool):
        return _given_splits(folds, y, repeats, groups, may_divide)
    if groups is not None:
        return _grouped_splits(int(folds), y, repeats, seed, groups)
    return _splits(int(folds), y, repeats, seed, of_groups=False)


def _splits(
    folds: int, y: NDArray[Any], repeats: int, seed: int, *, of_groups: bool
) -> list[Split]:
    """Divide rows, or groups with one row each."""
    known = np.flatnonzero(known_rows(y))
    classes = y.dtype.kind == "i"
    _check_number(folds, y[known], classes, of_groups)
    kind = RepeatedStratifiedKFold if classes else RepeatedKFold
    # `_check_number` has already warned about small classes.
    with warnings_ignored("The least populated class", UserWarning):
        parts = list(
            kind(n_splits=folds, n_repeats=repeats, random_state=seed).split(
                known.reshape(-1, 1), y[known]
            )
        )
    tests = [known[test] for _, test in parts]
    all_rows = np.arange(len(y))
    return [
        Split(i // folds, i % folds, np.setdiff1d(all_rows, test), test)
        for i, test in enumerate(tests)
    ]


def _grouped_splits(
    folds: int, y: NDArray[Any], repeats: int, seed: int, groups: Integers
) -> list[Split]:
    """Divide the groups as `make_splits` divides rows, by the first labelled row of each group.

    If most groups contain several classes, the classes of the first rows are not informative. The
    groups are then divided regardless of classes.
    """
    known = known_rows(y)
    first = first_of_groups(groups, known)
    of_first = y[first]
    if y.dtype.kind == "i":
        mixed = _have_several_classes(groups, y)[first[known[first]]]
        largest = np.bincount(of_first[of_first >= 0], minlength=1).max()
        if 2 * mixed.sum() > len(mixed) or (mixed.any() and largest < folds <= len(mixed)):
            of_first = np.where(of_first >= 0, 0.0, np.nan)
    parts = _splits(folds, of_first, repeats, seed, of_groups=True)
    splits = []
    for part in parts:
        tested = np.isin(groups, groups[first[part.test]])
        test = np.flatnonzero(tested & known)
        splits.append(Split(part.repeat, part.fold, np.flatnonzero(~tested), test))
    return splits


def _have_several_classes(groups: Integers, codes: Integers) -> Booleans:
    """Whether the group of each row has rows of several classes."""
    both = np.unique(np.stack([groups, codes], axis=1)[codes >= 0], axis=0)
    of_group, times = np.unique(both[:, 0], return_counts=True)
    return np.isin(groups, of_group[times > 1])


def first_of_groups(groups: Integers, preferred: Booleans) -> Integers:
    """Return the first preferred row of each group, or its first row if none is preferred.

    The rows are in ascending order.
    """
    order = np.argsort(~preferred, kind="stable")
    return np.sort(order[np.unique(groups[order], return_index=True)[1]])


def _check_number(folds: int, y: NDArray[Any], classes: bool, of_groups: bool) -> None:
    sizes = np.bincount(y)[np.unique(y)] if classes else np.array([len(y)])
    most = int(sizes.max(initial=0))
    if not 2 <= folds <= most:
        if of_groups:
            of = "groups of the largest class" if classes else "labelled groups"
        else:
            of = "members of the largest class" if classes else "rows with a known target"
        raise InputError(
            parameter("folds", folds),
            f" must be an integer from 2 to the {most} {of}, got {folds}.",
        )
    if sizes.min() < folds:
        warn(
            f"{int((sizes < folds).sum())} of {len(sizes)} classes have fewer members than the "
            f"{folds} folds, the smallest {sizes.min()}; some folds test none of them."
        )


def _given_splits(
    folds: Any, y: NDArray[Any], repeats: int, groups: Integers | None, may_divide: bool
) -> list[Split]:
    if isinstance(folds, str) or not is_collection(folds):
        raise InputTypeError(
            must_be("folds", "an integer, or pairs of training and test rows", folds)
        )
    if repeats > 1:
        raise InputError(
            setting("repeats", repeats),
            " needs a number of folds, but ",
            parameter("folds"),
            " contains row indices; list the folds of all repeats there.",
        )
    splits = []
    for fold, pair in enumerate(folds):
        try:
            train, test = (np.asarray(rows) for rows in pair)
        except (TypeError, ValueError) as error:
            raise InputTypeError(
                parameter("folds"),
                f" must contain pairs of training and test rows; item {fold} is not a pair.",
            ) from error
        _check_split(fold, train, test, y)
        if groups is not None:
            _check_groups(fold, train, test, groups, may_divide)
        splits.append(Split(0, fold, train.astype(np.int64), test.astype(np.int64)))
    if not splits:
        raise InputError(
            parameter("folds"), " is empty; pass at least one pair of training and test rows."
        )
    return splits


def _check_groups(
    fold: int, train: Integers, test: Integers, groups: Integers, may_divide: bool
) -> None:
    divided = train[np.isin(groups[train], groups[test])]
    if not len(divided):
        return
    tested = test[groups[test] == groups[divided[0]]][0]
    rows = f"row {divided[0]} in the training set and row {tested} in the test set of fold {fold}"
    if may_divide:
        warn(
            f"{rows} are copies, so the result is too optimistic; keep them on the same side of "
            "the split."
        )
    else:
        raise InputError(
            f"{rows} belong to the same group; keep them on the same side of the split."
        )


def _check_split(fold: int, train: NDArray[Any], test: NDArray[Any], y: NDArray[Any]) -> None:
    for name, rows in (("training", train), ("test", test)):
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or not len(rows):
            raise InputTypeError(
                f"the {name} rows of fold {fold} must be a list of row numbers, got {quoted(rows)}."
            )
        if rows.min() < 0 or rows.max() >= len(y) or len(np.unique(rows)) < len(rows):
            raise InputError(
                f"the {name} rows of fold {fold} must be different numbers from 0 to {len(y) - 1}."
            )
    both = np.intersect1d(train, test)
    if len(both):
        raise InputError(
            f"row {both[0]} is in the training set and in the test set of fold {fold}; keep it in "
            "one of them."
        )
    unknown = test[~known_rows(y[test])]
    if len(unknown):
        raise InputError(
            f"row {unknown[0]} is in the test set of fold {fold}, but its y is unknown; remove it "
            "from the test set."
        )
    if len(train) < 2 or not known_rows(y[train]).any():
        raise InputError(
            f"the training set of fold {fold} must have at least 2 rows and at least one known y."
        )

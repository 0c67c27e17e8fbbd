"""Label budgets: show a few labels, hide the others."""

from __future__ import annotations

from math import floor
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve._base.array_types import Booleans, Integers
from graphsieve._base.errors import InputError
from graphsieve._base.parameters import boolean, must_be, setting
from graphsieve._base.randomness import generator
from graphsieve.supervision.value import Supervision, TargetType


def hide_labels(
    y: Any,
    known: int | float | None,
    *,
    per_class: bool = False,
    target_type: TargetType = "auto",
    unlabeled: int | None = -1,
    random_state: Any = None,
) -> NDArray[Any]:
    """A copy of `y` in which only some labels or targets are left, chosen by chance.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Class labels or a continuous target, as in `GraphSieve.fit`. What is unknown stays unknown
        and counts nowhere.
    known : int, float or None
        How many stay known: a count (0 hides all), a fraction above 0 and up to 1 of the known
        ones, or None for all. A fraction gives the nearest count (halves upwards), at least 1.
    per_class : bool
        Whether `known` is meant of each class. Otherwise a count is shared among the classes in
        proportion to their sizes: each gets its share rounded down, and what is left goes to the
        largest remainders, equal ones by chance; then every class that got nothing gets one from
        the class that is furthest above its share, as long as there are as many labels to show as
        classes. Targets are chosen uniformly.
    target_type, unlabeled
        As in `GraphSieve`: what `y` is, and the number that marks an unknown label.
    random_state : None, int, sequence of int, SeedSequence, RandomState or Generator
        The same seed shows the same labels.

    Returns
    -------
    array of shape (n_samples,)
        Hidden class numbers are `unlabeled`, or NaN where that is None or `y` holds floats; hidden
        text is None. Hidden targets are NaN. Booleans come back as 0 and 1.

    Examples
    --------
    >>> y = [0] * 40 + [1] * 20
    >>> few = hide_labels(y, 6, random_state=0)  # of 60, so that two in three are of class 0
    >>> [int((few == label).sum()) for label in (-1, 0, 1)]
    [54, 4, 2]
    >>> hide_labels(["yes", "no", None], 1, per_class=True)
    array(['yes', 'no', None], dtype=object)
    """
    described = Supervision.from_y(y, target_type=target_type, unlabeled=unlabeled)
    shown = shown_rows(described, known, per_class=per_class, random=generator(random_state))
    if described.targets is not None:
        return np.where(shown, described.targets, np.nan)
    assert described.labels is not None
    assert described.classes is not None
    return _written(described.labels, described.classes, shown, unlabeled)


def shown_rows(
    described: Supervision, known: Any, *, per_class: bool, random: np.random.Generator
) -> Booleans:
    """Which rows show their label or target: a mask. `described` holds labels or targets, not
    both.
    """
    classes = described.targets is None
    per_class = boolean()("per_class", per_class)
    if per_class and not classes:
        raise InputError(
            setting("per_class", True),
            " needs class labels, and y is a continuous target; leave it out.",
        )
    groups = described.codes if classes else np.where(np.isnan(described.targets), -1, 0)  # type: ignore[arg-type]
    sizes = np.bincount(groups[groups >= 0])
    shares = _per_class_shares(sizes, known) if per_class else _shares(sizes, known, random)
    shown = np.zeros(len(groups), dtype=bool)
    for group, share in enumerate(shares):
        shown[random.choice(np.flatnonzero(groups == group), size=share, replace=False)] = True
    return shown


def _shares(sizes: Integers, known: Any, random: np.random.Generator) -> Integers:
    """How many of each class are shown where `known` is meant of all together."""
    total = int(sizes.sum())
    wanted = known_count(known, total)
    if wanted > total:
        raise InputError(
            setting("known", wanted),
            f" labels or targets cannot stay known, for only {total} are; ask for at most {total}.",
        )
    return proportional(sizes, wanted, random)


def _per_class_shares(sizes: Integers, known: Any) -> Integers:
    shares = np.array([known_count(known, int(size)) for size in sizes], dtype=np.int64)
    if (shares > sizes).any():
        raise InputError(
            setting("known", shares.max()),
            f" of each class cannot stay known, for the smallest class has {sizes.min()} "
            f"known members; ask for at most {sizes.min()}.",
        )
    return shares


def known_count(known: Any, total: int) -> int:
    """The count that a count, a fraction or None means."""
    if known is None:
        return total
    if isinstance(known, Integral) and not isinstance(known, bool) and int(known) >= 0:
        return int(known)
    if isinstance(known, Real) and not isinstance(known, Integral) and 0 < float(known) <= 1:
        return min(total, max(1, floor(float(known) * total + 0.5)))
    raise InputError(
        must_be(
            "known", "a count of at least 0, a fraction above 0 and up to 1, or None for all", known
        )
    )


def proportional(sizes: Integers, wanted: int, random: np.random.Generator) -> Integers:
    """`wanted` shared in proportion to the sizes, by largest remainders; nobody goes without
    where that can be helped.
    """
    if not wanted:
        return np.zeros(len(sizes), dtype=np.int64)
    exact = sizes * (wanted / sizes.sum())
    # The remainders as whole numbers: equal ones must not differ by rounding.
    shares, remainders = np.divmod(sizes * wanted, sizes.sum())
    by_chance = random.permutation(len(sizes))
    order = by_chance[np.argsort(-remainders[by_chance], kind="stable")]
    shares[order[: wanted - shares.sum()]] += 1
    if wanted >= len(sizes):
        for empty in np.flatnonzero(shares == 0):
            shares[np.argmax(np.where(shares > 1, shares - exact, -np.inf))] -= 1
            shares[empty] = 1
    return shares


def _written(
    labels: Integers, classes: NDArray[Any], shown: Booleans, unlabeled: int | None
) -> NDArray[Any]:
    """Labels in the form they came in, with the sign for "unknown" that fits it."""
    marker: Any
    if classes.dtype.kind in "biu" and unlabeled is not None:
        fits = classes.dtype.kind == "i" and np.can_cast(
            np.min_scalar_type(unlabeled), classes.dtype
        )
        held = np.dtype(np.int64 if -(2**63) <= unlabeled < 2**63 else object)
        dtype, marker = classes.dtype if fits else held, unlabeled
    elif classes.dtype.kind in "biuf":
        dtype, marker = np.dtype(np.float64), np.nan
    else:
        dtype, marker = np.dtype(object), None
    result = np.full(len(labels), marker, dtype=dtype)
    result[shown] = classes[labels[shown]]
    return result

"""Hide all labels except for a given number of them."""

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
from graphsieve.supervision.parsing import all_known
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
    """Return a copy of `y` in which only some labels or targets remain, drawn at random.

    Parameters
    ----------
    y : array of shape (n_samples,) or (n_samples, n_targets)
        Class labels or a continuous target, as in `GraphSieve.fit`. Unlabelled samples stay
        unlabelled and are not counted. All targets of a sample are hidden together, even if some of
        them are unknown.
    known : int, float or None
        Number of labels that remain: a count (0 hides all), a fraction of the known labels (above 0
        and up to 1), or None for all. A fraction is rounded to the nearest count (halves upwards),
        at least 1.
    per_class : bool
        Whether `known` applies to each class. Otherwise, the count is divided among the classes in
        proportion to their sizes. Each class receives its share rounded down. The rest goes to the
        largest remainders, with ties broken at random. If there are at least as many labels as
        classes, every class without a label then receives one from the class furthest above its
        share. Targets are drawn uniformly.
    target_type, unlabeled
        Type of `y`, and the number that marks an unlabelled sample, as in `GraphSieve`.
    random_state : None, int, sequence of int, SeedSequence, RandomState or Generator
        Seed. The same seed keeps the same labels.

    Returns
    -------
    array of the shape of y
        Hidden class numbers are `unlabeled`, or NaN if that is None or `y` contains floats. Hidden
        text is None. Hidden targets are NaN. Booleans are returned as 0 and 1.

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
        hidden = ~shown if described.n_targets == 1 else ~shown[:, None]
        return np.where(hidden, np.nan, described.targets)
    assert described.labels is not None
    assert described.classes is not None
    return _written(described.labels, described.classes, shown, unlabeled)


def shown_rows(
    described: Supervision, known: Any, *, per_class: bool, random: np.random.Generator
) -> Booleans:
    """Mask of the rows that keep their label or target.

    `described` contains labels or targets, not both.
    """
    classes = described.targets is None
    per_class = boolean()("per_class", per_class)
    if per_class and not classes:
        raise InputError(
            setting("per_class", True),
            " needs class labels, but y is a continuous target; leave it out.",
        )
    groups = (
        described.codes
        if described.targets is None
        else np.where(all_known(described.targets), 0, -1)
    )
    sizes = np.bincount(groups[groups >= 0])
    shares = _per_class_shares(sizes, known) if per_class else _shares(sizes, known, random)
    shown = np.zeros(len(groups), dtype=bool)
    for group, share in enumerate(shares):
        shown[random.choice(np.flatnonzero(groups == group), size=share, replace=False)] = True
    return shown


def _shares(sizes: Integers, known: Any, random: np.random.Generator) -> Integers:
    """Number of labels to keep in each class, if `known` is the total."""
    total = int(sizes.sum())
    wanted = known_count(known, total)
    if wanted > total:
        raise InputError(
            setting("known", wanted),
            f" labels or targets were requested, but only {total} are known; choose at most "
            f"{total}.",
        )
    return proportional(sizes, wanted, random)


def _per_class_shares(sizes: Integers, known: Any) -> Integers:
    shares = np.array([known_count(known, int(size)) for size in sizes], dtype=np.int64)
    if (shares > sizes).any():
        raise InputError(
            setting("known", shares.max()),
            f" labels per class were requested, but the smallest class has {sizes.min()} "
            f"known members; choose at most {sizes.min()}.",
        )
    return shares


def known_count(known: Any, total: int) -> int:
    """Convert a count, a fraction or None (all) to a count."""
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
    """Divide `wanted` in proportion to the sizes, by largest remainders.

    If possible, every share is at least 1.
    """
    if not wanted:
        return np.zeros(len(sizes), dtype=np.int64)
    exact = sizes * (wanted / sizes.sum())
    # Integer remainders, because equal remainders must not differ by rounding errors.
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
    """Return the labels in their original type, with a suitable marker for hidden labels."""
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

"""Features to keep, candidates and costs in a comparison of methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

from graphsieve._base.array_types import Booleans, Integers
from graphsieve._base.errors import InputError
from graphsieve._base.messages import parameter
from graphsieve.assess.comparison.candidates import default_sizes
from graphsieve.assess.evaluation.prefixes import checked_sizes
from graphsieve.assess.evaluation.selection import sieve_called
from graphsieve.report.wording import joined
from graphsieve.scores.score_registry import METHODS
from graphsieve.search.diverse import Choice

BY_GAIN = ("auto", "diverse")
"""Methods that select features by gain, to which costs apply."""


def sieve_choosing(
    name: str, choice: Choice, names: tuple[str, ...] | None = None, **options: Any
) -> Any:
    """Return the unfitted sieve of a method with this choice.

    `names` are the names of the features, or None if the table has none. Costs are left out for a
    method that ranks features one by one.
    """
    keep = [place if names is None else names[place] for place in choice.keep]
    given: dict[str, Any] = {"keep": keep or None, "candidates": choice.candidates}
    asked = {what: value for what, value in given.items() if value is not None}
    if asked and name not in (*BY_GAIN, *METHODS):
        raise InputError(
            f"the search {name!r} has no ", parameter(next(iter(asked))), "; leave it out."
        )
    if name in BY_GAIN and choice.cost is not None:
        asked["cost"] = choice.cost
    return sieve_called(name, **options, **asked)


def refuse_unused(methods: Sequence[str], choice: Choice) -> None:
    """Refuse costs that no method uses, and searches that cannot use the choice."""
    if choice.cost is not None and not set(methods) & set(BY_GAIN):
        raise InputError(
            parameter("cost"),
            " applies to a selection by gain, but none of the methods selects by gain; leave it "
            "out, or add 'auto' to ",
            parameter("methods"),
            ".",
        )
    for name in methods:
        sieve_choosing(name, choice)


def free_features(choice: Choice, n_features: int) -> Booleans:
    """Return the features that methods may rank freely: those that are neither kept nor excluded."""
    free = choice.selectable(n_features)
    free[list(choice.keep)] = False
    return free


def chosen_sizes(sizes: Any, choice: Choice, n_features: int) -> list[int]:
    """Return the numbers of features. All of them leave room for the features to keep.

    The default is `default_sizes`, in addition to the features to keep.
    """
    n_kept, n_selectable = len(choice.keep), int(choice.selectable(n_features).sum())
    if n_kept == n_selectable:
        raise InputError(
            parameter("keep"),
            f" names all {n_kept} features that may be selected, so nothing is left to choose; "
            "keep fewer features, or allow more ",
            parameter("candidates"),
            ".",
        )
    if sizes is None:
        return [n_kept + size for size in default_sizes(n_selectable - n_kept)]
    numbers = checked_sizes(sizes, n_features, distinct=True)
    for size in numbers:
        if not n_kept <= size <= n_selectable:
            raise InputError(
                parameter("sizes", sizes),
                f" contains {size}, but {n_kept} features are kept and {n_selectable} may be "
                f"selected; choose {max(1, n_kept)} to {n_selectable}.",
            )
    return numbers


def ranks_with_choice(ranks: Integers, choice: Choice) -> Integers:
    """Return ranks in which features to keep come first, and excluded ones last.

    Ties share the best rank.

    >>> ranks_with_choice(np.array([1, 2, 2, 4]), Choice(keep=(3,))).tolist()
    [2, 3, 3, 1]
    """
    place = np.where(choice.selectable(len(ranks)), len(choice.keep), len(choice.keep) + 1)
    place[list(choice.keep)] = np.arange(len(choice.keep))
    together = rankdata(place * (len(ranks) + 2) + ranks, method="min")
    return np.asarray(together, dtype=np.int64)


def overlap_by_chance(choice: Choice, n_features: int, size: int) -> float:
    """Return the share of the first features that two random orders have in common on average.

    Features to keep are in both.

    >>> overlap_by_chance(Choice(), 10, 4)
    0.4
    """
    n_kept, n_free = len(choice.keep), int(free_features(choice, n_features).sum())
    return (n_kept * n_free + (size - n_kept) ** 2) / (size * n_free)


def notes_on_choice(methods: Sequence[str], choice: Choice, n_features: int) -> list[str]:
    """Return notes on what the choice means for the methods and the baselines."""
    notes = []
    n_kept, n_selectable = len(choice.keep), int(choice.selectable(n_features).sum())
    if n_kept or n_selectable < n_features:
        kept = f", and {n_kept} of them {'is' if n_kept == 1 else 'are'} kept" if n_kept else ""
        notes.append(
            f"{n_selectable} of the {n_features} columns may be selected{kept}. This also "
            "applies to random columns and all columns."
        )
    by_gain = [name for name in methods if name in BY_GAIN]
    if choice.cost is not None and len(by_gain) < len(methods):
        notes.append(
            f"The costs apply to {joined(by_gain)}; the other methods rank columns one by one."
        )
    return notes

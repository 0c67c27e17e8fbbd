"""Few rows of a table of options in which every pair of values occurs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product
from typing import Any

Row = dict[str, Any]
Pair = tuple[tuple[str, Any], tuple[str, Any]]


def pairs_of(row: Row) -> set[Pair]:
    """Return all pairs of values in a row."""
    return set(combinations(row.items(), 2))


def covering_rows(
    factors: Mapping[str, Sequence[Any]], allowed: Callable[[Row], bool] = lambda row: True
) -> list[Row]:
    """Return rows that contain every pair of values of two factors that an allowed row contains.

    Each row is the one with most pairs that are still missing, and the first of several such rows.

    Examples
    --------
    >>> covering_rows({"a": [0, 1], "b": [0, 1], "c": [0, 1]})
    [{'a': 0, 'b': 0, 'c': 0}, {'a': 0, 'b': 1, 'c': 1}, {'a': 1, 'b': 0, 'c': 1}, {'a': 1, 'b': 1, 'c': 0}]
    """
    every = (dict(zip(factors, values, strict=True)) for values in product(*factors.values()))
    rows = [row for row in every if allowed(row)]
    # A set of pairs is a number with one bit for each pair.
    bits: dict[Pair, int] = {}
    masks = [sum(1 << bits.setdefault(pair, len(bits)) for pair in pairs_of(row)) for row in rows]
    missing = (1 << len(bits)) - 1
    chosen: list[Row] = []
    # The number of missing pairs in a row only decreases, so an earlier number is an upper bound.
    bounds = [len(factors) ** 2] * len(rows)
    while missing:
        best, most = -1, 0
        for place, bound in enumerate(bounds):
            if bound > most:
                bounds[place] = (masks[place] & missing).bit_count()
                if bounds[place] > most:
                    best, most = place, bounds[place]
        chosen.append(rows[best])
        missing &= ~masks[best]
    return chosen

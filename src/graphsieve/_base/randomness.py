"""Whatever a person gives as `random_state` → a generator, or a number that seeds many."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from graphsieve._base.errors import InputError
from graphsieve._base.parameters import must_be

LARGEST_SEED = 2**32  # what scikit-learn's splitters and k-means accept, exclusive


def generator(random_state: Any) -> np.random.Generator:
    """A generator for None, a whole number, several of them, a SeedSequence, a RandomState, or a
    generator (used as it is).
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(LARGEST_SEED, size=4, dtype=np.uint32))
    if not (
        random_state is None
        or isinstance(random_state, np.random.SeedSequence | np.random.Generator)
        or _is_seed(random_state)
        or (
            isinstance(random_state, Sequence)
            and len(random_state)
            and all(_is_seed(part) for part in random_state)
        )
    ):
        raise InputError(
            must_be(
                "random_state",
                "None, a whole number of at least 0, several of them, a SeedSequence, a "
                "RandomState or a Generator",
                random_state,
            )
        )
    # Bytes are whole numbers, too, but numpy takes no bytes.
    return np.random.default_rng(
        list(random_state) if isinstance(random_state, Sequence) else random_state
    )


def seed_number(random_state: Any) -> int:
    """The number itself where one is given, so that others can use it too; otherwise one drawn."""
    if _is_seed(random_state) and random_state < LARGEST_SEED:
        return int(random_state)
    return int(generator(random_state).integers(LARGEST_SEED))


def _is_seed(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0

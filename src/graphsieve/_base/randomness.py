"""Convert `random_state` to a random generator or to a seed."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from graphsieve._base.errors import InputError
from graphsieve._base.parameters import must_be

LARGEST_SEED = 2**32  # exclusive upper limit of scikit-learn's splitters and k-means


def generator(random_state: Any) -> np.random.Generator:
    """Return a generator for None, an integer, several integers, a SeedSequence or a RandomState.

    A Generator is returned unchanged.
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
                "None, an integer of at least 0, several such integers, a SeedSequence, a "
                "RandomState or a Generator",
                random_state,
            )
        )
    # Bytes are a sequence of integers, but numpy does not accept them.
    return np.random.default_rng(
        list(random_state) if isinstance(random_state, Sequence) else random_state
    )


def seed_number(random_state: Any) -> int:
    """Return `random_state` itself if it is a valid seed, otherwise a seed drawn from it."""
    if _is_seed(random_state) and random_state < LARGEST_SEED:
        return int(random_state)
    return int(generator(random_state).integers(LARGEST_SEED))


def _is_seed(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0

"""Numbers too small for a float."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
T = TypeVar("T")


def vanishing(function: Callable[P, T]) -> Callable[P, T]:
    """Let what underflows in the function vanish, as it is meant to, also for whoever has told
    numpy to raise.

    `numpy.errstate` as a decorator would do, but before numpy 2 all calls, in all threads, share
    what it remembers.
    """

    @wraps(function)
    def with_underflow(*arguments: P.args, **options: P.kwargs) -> T:
        with np.errstate(under="ignore"):
            return function(*arguments, **options)

    return with_underflow

"""Handling of floating-point underflow."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
T = TypeVar("T")


def ignoring_underflow(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function so that underflow gives 0, even if numpy is configured to raise.

    `numpy.errstate` also works as a decorator. Before numpy 2, however, all calls in all threads
    share its saved state.
    """

    @wraps(function)
    def with_underflow(*arguments: P.args, **options: P.kwargs) -> T:
        with np.errstate(under="ignore"):
            return function(*arguments, **options)

    return with_underflow

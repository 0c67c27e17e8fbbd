"""One thread for products of matrices, where several would only wait for each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_users: list[int] = []
_limits: list[Any] = []


@cache
def controller() -> ThreadpoolController:
    """Looking for the libraries takes milliseconds, so it is done once; all that matter here are loaded with scikit-learn."""
    return ThreadpoolController()


@contextmanager
def one_product_thread() -> Iterator[None]:
    """While anybody is inside, BLAS uses one thread in this process; the last one out restores what the first one found.

    The number of threads belongs to the process, so that two who each restored what they found would leave it at one.
    """
    with _lock:
        _users.append(1)
        if len(_users) == 1:
            _limits.append(controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            _users.pop()
            if not _users:
                _limits.pop().restore_original_limits()

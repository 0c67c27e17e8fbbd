"""One thread for scikit-learn's own loops: several merge their neighbours and sums in an order of their own.

Samples at equal distance, or halfway between two clusters, would otherwise change sides with the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """While inside, the loops of this thread are not shared out; those of others are not concerned."""
    with _controller().limit(limits=1, user_api="openmp"):
        yield


@cache
def _controller() -> ThreadpoolController:
    """Looking for the libraries takes milliseconds, so it is done once; all that matter here are loaded with scikit-learn."""
    return ThreadpoolController()

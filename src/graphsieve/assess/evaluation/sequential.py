"""One thread for the loops of scikit-learn and the products of BLAS: several add up in an order of
their own.

Samples at equal distance, or halfway between two clusters, would otherwise change sides with the
number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from graphsieve._base.threads import controller, one_product_thread


@contextmanager
def one_thread() -> Iterator[None]:
    """While inside, the work of this thread is not shared out; other threads only have their
    products done by one as well.
    """
    with one_product_thread(), controller().select(user_api="openmp").limit(limits=1):
        yield

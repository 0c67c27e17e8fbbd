"""Locks over what belongs to the whole process, such as its filters of warnings and its number
of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock


def lock_of_the_process(in_child: Callable[[], None] | None = None) -> Lock:
    """A lock that nobody but the one who forks holds while the process forks.

    A child has one thread only. If another one held the lock at that moment, the child would wait
    for it for ever. What other threads were about to restore, `in_child` restores.
    """
    lock = Lock()

    def release_in_child() -> None:
        lock.release()
        if in_child is not None:
            in_child()

    if hasattr(os, "register_at_fork"):  # not on every system
        os.register_at_fork(
            before=lock.acquire, after_in_parent=lock.release, after_in_child=release_in_child
        )
    return lock

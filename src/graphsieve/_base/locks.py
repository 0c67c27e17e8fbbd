"""What belongs to the whole process, such as its filters of warnings: locks over it, and settings
that several threads want at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, get_ident


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


class SharedSetting:
    """A setting of the process: of several threads that want it, the first sets it and the last
    restores what was before.

    Parameters
    ----------
    set_it : callable
        Sets it, and returns what restores it.
    """

    def __init__(self, set_it: Callable[[], Callable[[], object]]) -> None:
        self._set_it = set_it
        self._threads: list[int] = []  # of those that are inside
        self._restore: Callable[[], object] = lambda: None
        self.lock = lock_of_the_process(self._leave_for_others)

    @contextmanager
    def held(self) -> Iterator[None]:
        """While inside, it is set."""
        thread = get_ident()
        with self.lock:
            if not self._threads:
                self._restore = self._set_it()
            self._threads.append(thread)
        try:
            yield
        finally:
            with self.lock:
                self._leave(thread)

    def _leave(self, thread: int) -> None:
        self._threads.remove(thread)
        if not self._threads:
            self._restore()

    def _leave_for_others(self) -> None:
        """In a child, which has none of the other threads, nothing else would."""
        for thread in [thread for thread in self._threads if thread != get_ident()]:
            self._leave(thread)

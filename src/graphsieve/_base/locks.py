"""Locks and shared settings for state that belongs to the whole process, such as warning
filters.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, get_ident


def process_lock(in_child: Callable[[], None] | None = None) -> Lock:
    """Return a lock that only the forking thread holds while the process forks.

    A child process has one thread only. If another thread held the lock during the fork, the child
    would wait for it forever. The callback `in_child` restores the settings that other threads
    would have restored.
    """
    lock = Lock()

    def release_in_child() -> None:
        lock.release()
        if in_child is not None:
            in_child()

    if hasattr(os, "register_at_fork"):  # not available on every system
        os.register_at_fork(
            before=lock.acquire, after_in_parent=lock.release, after_in_child=release_in_child
        )
    return lock


class SharedSetting:
    """A process-wide setting that several threads may need at the same time.

    The first thread sets it. The last thread restores the previous state.

    Parameters
    ----------
    set_it : callable
        Changes the setting, and returns a function that restores the previous state.
    """

    def __init__(self, set_it: Callable[[], Callable[[], object]]) -> None:
        self._set_it = set_it
        self._threads: list[int] = []  # identifiers of the threads that use the setting
        self._restore: Callable[[], object] = lambda: None
        self.lock = process_lock(self._leave_for_others)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the setting in force within the block."""
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
        """Release the setting for all other threads, which do not exist in a child process."""
        for thread in [thread for thread in self._threads if thread != get_ident()]:
            self._leave(thread)

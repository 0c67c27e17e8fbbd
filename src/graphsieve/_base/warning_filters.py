"""Warnings of other libraries, ignored, raised or kept for later.

What is done about warnings belongs to the process. Of several threads that are in here, the first
remembers how it was and the last restores it, however they overlap; `warnings.catch_warnings` alone
would leave the filters of one to everybody.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Literal

from graphsieve._base.locks import lock_of_the_process

_inside: list[int] = []  # the thread of each that is in here
_before: list[warnings.catch_warnings[None]] = []  # the filters as they were before all of them
_kept: ContextVar[list[warnings.WarningMessage] | None] = ContextVar("kept", default=None)


@contextmanager
def warnings_ignored(message: str = "", category: type[Warning] = Warning) -> Iterator[None]:
    """Nothing is said of warnings that begin like this."""
    with _filtered("ignore", message, category):
        yield


@contextmanager
def warnings_raised(message: str, category: type[Warning]) -> Iterator[None]:
    """Warnings that begin like this are errors."""
    with _filtered("error", message, category):
        yield


@contextmanager
def warnings_kept(*, everything: bool = False) -> Iterator[list[warnings.WarningMessage]]:
    """The warnings of this thread that would be shown, or all of them, in a list instead."""
    found: list[warnings.WarningMessage] = []
    with _filtered("always", "", Warning) if everything else _filters_shared():
        before = _kept.set(found)
        try:
            yield found
        finally:
            _kept.reset(before)


@contextmanager
def _filtered(
    action: Literal["ignore", "error", "always"], message: str, category: type[Warning]
) -> Iterator[None]:
    # `warnings.filterwarnings` would take away an equal filter of somebody else, who may need it
    # for longer.
    ours = (action, re.compile(message, re.IGNORECASE) if message else None, category, None, 0)
    with _filters_shared():
        filters: list[Any] = warnings.filters  # type: ignore[assignment]
        with _lock:
            filters.insert(0, ours)
        try:
            yield
        finally:
            with _lock:
                filters[:] = [one for one in filters if one is not ours]


@contextmanager
def _filters_shared() -> Iterator[None]:
    thread = threading.get_ident()
    with _lock:
        if not _inside:
            _before.append(warnings.catch_warnings())
            _before[0].__enter__()
            warnings.showwarning = partial(_show, warnings.showwarning)
        _inside.append(thread)
    try:
        yield
    finally:
        with _lock:
            _leave(thread)


def _leave(thread: int) -> None:
    _inside.remove(thread)
    if not _inside:
        _before.pop().__exit__(None, None, None)


def _leave_for_others() -> None:
    """In a child, which has none of the other threads, nobody else would."""
    for thread in [thread for thread in _inside if thread != threading.get_ident()]:
        _leave(thread)


def _show(otherwise: Any, *warned: Any, **options: Any) -> None:
    kept = _kept.get()
    if kept is None:
        otherwise(*warned, **options)
    else:
        kept.append(warnings.WarningMessage(*warned, **options))


_lock = lock_of_the_process(_leave_for_others)

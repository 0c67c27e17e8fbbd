"""Warnings of other libraries, ignored or kept for later.

What is done about warnings belongs to the process. Of several threads that are in here, the first remembers how it was and the
last restores it, however they overlap; `warnings.catch_warnings` alone would leave the filters of one to everybody.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import Any

from graphsieve.locks import lock_of_the_process

_lock = lock_of_the_process()
_inside: list[warnings.catch_warnings[None]] = []  # one for each that is in here: the filters as they were before all of them
_kept: ContextVar[list[warnings.WarningMessage] | None] = ContextVar("kept", default=None)


@contextmanager
def warnings_ignored(message: str = "", category: type[Warning] = Warning) -> Iterator[None]:
    """Nothing is said of warnings that begin like this."""
    with _filters_shared():
        with _lock:
            warnings.filterwarnings("ignore", message=message, category=category)
            ours = warnings.filters[0]
        try:
            yield
        finally:
            with _lock, suppress(ValueError):  # another thread with the same filter has removed it
                warnings.filters.remove(ours)  # type: ignore[attr-defined]


@contextmanager
def warnings_kept() -> Iterator[list[warnings.WarningMessage]]:
    """The warnings of this thread that would be shown, in a list instead."""
    found: list[warnings.WarningMessage] = []
    with _filters_shared():
        before = _kept.set(found)
        try:
            yield found
        finally:
            _kept.reset(before)


@contextmanager
def _filters_shared() -> Iterator[None]:
    with _lock:
        if not _inside:
            _inside.append(warnings.catch_warnings())
            _inside[0].__enter__()
            warnings.showwarning = partial(_show, warnings.showwarning)
        else:
            _inside.append(_inside[0])
    try:
        yield
    finally:
        with _lock:
            before = _inside.pop()
            if not _inside:
                before.__exit__(None, None, None)


def _show(otherwise: Any, *warned: Any, **options: Any) -> None:
    kept = _kept.get()
    if kept is None:
        otherwise(*warned, **options)
    else:
        kept.append(warnings.WarningMessage(*warned, **options))

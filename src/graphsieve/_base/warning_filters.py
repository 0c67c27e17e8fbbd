"""Ignore, raise or collect the warnings of other libraries.

Warning filters belong to the whole process. The last thread that leaves these context managers
restores them, however the threads overlap. With `warnings.catch_warnings` alone, the filters of one
thread could remain in force for all threads.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Literal

from graphsieve._base.locks import SharedSetting

_kept: ContextVar[list[warnings.WarningMessage] | None] = ContextVar("kept", default=None)


@contextmanager
def warnings_ignored(message: str = "", category: type[Warning] = Warning) -> Iterator[None]:
    """Ignore warnings that start with `message`."""
    with _filtered("ignore", message, category):
        yield


@contextmanager
def warnings_raised(message: str, category: type[Warning]) -> Iterator[None]:
    """Turn warnings that start with `message` into errors."""
    with _filtered("error", message, category):
        yield


@contextmanager
def warnings_kept(*, everything: bool = False) -> Iterator[list[warnings.WarningMessage]]:
    """Collect the warnings of this thread in a list instead of showing them.

    With `everything`, the list also contains warnings that the filters would hide.
    """
    found: list[warnings.WarningMessage] = []
    with _filtered("always", "", Warning) if everything else _shared.held():
        before = _kept.set(found)
        try:
            yield found
        finally:
            _kept.reset(before)


@contextmanager
def _filtered(
    action: Literal["ignore", "error", "always"], message: str, category: type[Warning]
) -> Iterator[None]:
    # `warnings.filterwarnings` would remove an equal filter that another thread may still need.
    ours = (action, re.compile(message, re.IGNORECASE) if message else None, category, None, 0)
    with _shared.held():
        filters: list[Any] = warnings.filters  # type: ignore[assignment]
        with _shared.lock:
            filters.insert(0, ours)
        try:
            yield
        finally:
            with _shared.lock:
                filters[:] = [one for one in filters if one is not ours]


def _show_through_here() -> Callable[[], None]:
    before = warnings.catch_warnings()
    before.__enter__()
    warnings.showwarning = partial(_show, warnings.showwarning)
    return lambda: before.__exit__(None, None, None)


def _show(otherwise: Any, *warned: Any, **options: Any) -> None:
    kept = _kept.get()
    if kept is None:
        otherwise(*warned, **options)
    else:
        kept.append(warnings.WarningMessage(*warned, **options))


_shared = SharedSetting(_show_through_here)

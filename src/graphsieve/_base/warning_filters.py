"""Warnings of other libraries, ignored, raised or kept for later.

What is done about warnings belongs to the process, and is restored by the last thread that is in
here, however they overlap; `warnings.catch_warnings` alone would leave the filters of one to all.
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
    # `warnings.filterwarnings` would take away an equal filter of somebody else, who may need it
    # for longer.
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

"""Errors and warnings of graphsieve.

Each message is one sentence. It names the given value, the expected value and a remedy.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from graphsieve._base.messages import Message, Part, message_of, parameter


class InputError(ValueError):
    """The data or a parameter cannot be used as given.

    Attributes
    ----------
    parameter : str or None
        The invalid parameter, such as ``"n_neighbors"``; None if the message names no parameter.
    value : object
        The value of this parameter; None if the message does not contain it. In an error from
        another process, the value is a number, a string or None.

    Examples
    --------
    >>> import graphsieve
    >>> try:
    ...     graphsieve.GraphSieve(n_neighbors=0).fit([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0]])
    ... except graphsieve.InputError as error:
    ...     print(error)
    ...     print(error.parameter, error.value)
    n_neighbors must be 'auto' or an integer of at least 1, got 0.
    n_neighbors 0
    """

    def __init__(self, *parts: str) -> None:
        super().__init__(Message(*parts))

    @property
    def parameter(self) -> str | None:
        """The invalid parameter."""
        return self._blamed.name or None

    @property
    def value(self) -> Any:
        """The value of the invalid parameter."""
        return None if self._blamed.value is ... else self._blamed.value

    @property
    def _blamed(self) -> Part:
        """The first parameter that the message names with its value, otherwise the first one."""
        named = [
            part
            for part in message_of(self).parts
            if isinstance(part, Part) and part.kind in ("parameter", "setting")
        ]
        given = [part for part in named if part.value is not ...]
        return (given or named or [parameter("")])[0]


class InputTypeError(InputError, TypeError):
    """The data or a parameter has a type that cannot be used."""


class UsageError(InputError):
    """An argument names a column, a file or an array that does not exist.

    The command line exits with code 2 for this error, and with code 3 for other input errors.
    """


class ConstraintConflictError(InputError):
    """The supervision contradicts itself."""


class LostProcessError(RuntimeError):
    """A worker process ended unexpectedly."""


class EndedError(KeyboardInterrupt):
    """A signal requested that this process end.

    The error is a `KeyboardInterrupt`, so that worker processes end too. After an ordinary
    interruption, a search returns its best result so far; after this error, it does not.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class GraphSieveWarning(UserWarning):
    """The result is valid, but something about the data needs attention."""


@dataclass(frozen=True)
class Warned:
    """A warning that was held back: its text, its category and its place in the source code."""

    message: Message
    category: type[Warning]
    place: tuple[str, int]


_held_back: ContextVar[list[Warned] | None] = ContextVar("held_back", default=None)


@contextmanager
def held_back() -> Iterator[list[Warned]]:
    """Collect the warnings of graphsieve in a list instead of showing them.

    This avoids repeated warnings when work has many rounds. Other threads are not affected.
    """
    found: list[Warned] = []
    token = _held_back.set(found)
    try:
        yield found
    finally:
        _held_back.reset(token)


def warn(*parts: str, category: type[Warning] = GraphSieveWarning) -> None:
    """Warn at the closest line of the call stack outside graphsieve and scikit-learn."""
    message = Message(*parts)
    level, frame = 2, sys._getframe(1)
    found = _held_back.get()
    if found is not None:
        found.append(Warned(message, category, (frame.f_code.co_filename, frame.f_lineno)))
        return
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (
        "graphsieve",
        "sklearn",
        "contextlib",
    ):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def noting_warnings() -> Iterator[list[str]]:
    """Show the warnings of graphsieve at the end of the block, and keep their texts in a list."""
    messages: list[str] = []
    found: list[Warned] = []
    try:
        with held_back() as found:
            yield messages
    finally:
        messages.extend(one.message for one in found)
        for one in found:
            warn(one.message, category=one.category)


class RoundWarnings:
    """The warnings of many rounds, each shown once with the number of rounds that raised it.

    Parameters
    ----------
    called : str
        The word for a round in the messages.
    """

    def __init__(self, called: str = "round") -> None:
        self._called = called
        self._first: dict[tuple[str, int], Warned] = {}
        self._rounds: dict[tuple[str, int], list[int]] = {}
        self._n_rounds = 0

    @contextmanager
    def round(self) -> Iterator[None]:
        """Run one round, and hold its warnings back."""
        with held_back() as found:
            yield
        for warned in found:
            self._first.setdefault(warned.place, warned)
            self._rounds.setdefault(warned.place, []).append(self._n_rounds)
        self._n_rounds += 1

    def give(self) -> None:
        """Show the warnings of all rounds."""
        for place, warned in self._first.items():
            rounds = sorted(set(self._rounds[place]))
            name, total = self._called, self._n_rounds
            often = (
                f" (in {len(rounds)} of {total} {name}s, first in {name} {rounds[0] + 1})"
                if total > 1
                else ""
            )
            warn(warned.message.without_end(), often, ".", category=warned.category)

"""What graphsieve raises and warns: one sentence each, naming what was given, what was expected,
what to do.
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
        The parameter to blame, such as ``"n_neighbors"``; None where the message names none.
    value : object
        What the parameter was given; None where the message does not say. In an error that comes
        from another process it is a number, a text or None.

    Examples
    --------
    >>> import graphsieve
    >>> try:
    ...     graphsieve.GraphSieve(n_neighbors=0).fit([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0]])
    ... except graphsieve.InputError as error:
    ...     print(error)
    ...     print(error.parameter, error.value)
    n_neighbors must be 'auto' or a whole number of at least 1, got 0.
    n_neighbors 0
    """

    def __init__(self, *parts: str) -> None:
        super().__init__(Message(*parts))

    @property
    def parameter(self) -> str | None:
        """The parameter to blame."""
        return self._blamed.name or None

    @property
    def value(self) -> Any:
        """What it was given."""
        return None if self._blamed.value is ... else self._blamed.value

    @property
    def _blamed(self) -> Part:
        """The first parameter that the message names with its value, or else the first at all."""
        named = [
            part
            for part in message_of(self).parts
            if isinstance(part, Part) and part.kind in ("parameter", "setting")
        ]
        given = [part for part in named if part.value is not ...]
        return (given or named or [parameter("")])[0]


class InputTypeError(InputError, TypeError):
    """The data or a parameter is of a kind that cannot be used at all."""


class UsageError(InputError):
    """An argument names what is not there: a column, a file, an array. The command line exits
    with 2 for it, not with 3.
    """


class ConstraintConflictError(InputError):
    """What is known of the samples contradicts itself."""


class LostProcessError(RuntimeError):
    """A process that shared the work is gone."""


class EndedError(KeyboardInterrupt):
    """Somebody asked this process to end; an interruption, so that the processes it started end
    with it.

    A search answers an interruption with the best that it has found so far; not this one.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class GraphSieveWarning(UserWarning):
    """The result stands, but something about the data deserves a look."""


@dataclass(frozen=True)
class Warned:
    """A warning that was held back: its text, its category, and the place in our code that gave
    it.
    """

    message: Message
    category: type[Warning]
    place: tuple[str, int]


_held_back: ContextVar[list[Warned] | None] = ContextVar("held_back", default=None)


@contextmanager
def held_back() -> Iterator[list[Warned]]:
    """Hold our warnings back in a list, for work of many rounds that would repeat them. Other
    threads are not concerned.
    """
    found: list[Warned] = []
    token = _held_back.set(found)
    try:
        yield found
    finally:
        _held_back.reset(token)


def warn(*parts: str, category: type[Warning] = GraphSieveWarning) -> None:
    """Warn at the caller's own line: the nearest one that is neither ours nor scikit-learn's."""
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
    """Give our warnings after the work, and keep their texts in a list."""
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
    """The warnings of many rounds (or what they are `called`), each kind given once, with the
    number of rounds it came up in.
    """

    def __init__(self, called: str = "round") -> None:
        self._called = called
        self._first: dict[tuple[str, int], Warned] = {}
        self._rounds: dict[tuple[str, int], list[int]] = {}
        self._n_rounds = 0

    @contextmanager
    def round(self) -> Iterator[None]:
        """One round: what it warns of is held back."""
        with held_back() as found:
            yield
        for warned in found:
            self._first.setdefault(warned.place, warned)
            self._rounds.setdefault(warned.place, []).append(self._n_rounds)
        self._n_rounds += 1

    def give(self) -> None:
        """Warn of all that came up."""
        for place, warned in self._first.items():
            rounds = sorted(set(self._rounds[place]))
            name, total = self._called, self._n_rounds
            often = (
                f" (in {len(rounds)} of {total} {name}s, first in {name} {rounds[0] + 1})"
                if total > 1
                else ""
            )
            warn(warned.message.without_end(), often, ".", category=warned.category)

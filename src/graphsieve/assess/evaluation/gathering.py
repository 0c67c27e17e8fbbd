"""Warnings of many folds, each kind given once; errors with a word on where they came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from graphsieve._base.errors import Warned, held_back, warn
from graphsieve._base.messages import Message
from graphsieve._base.parameters import one_line
from graphsieve._base.warning_filters import warnings_kept


@contextmanager
def gathered() -> Iterator[list[Warned]]:
    """Hold back what is warned of, by us or by others; the list is filled at the end. What the
    user ignores stays ignored.
    """
    found: list[Warned] = []
    with warnings_kept() as others, held_back() as ours:
        yield found
    found.extend(ours)
    found.extend(
        Warned(
            Message(one_line(str(other.message))), other.category, (other.filename, other.lineno)
        )
        for other in others
    )


@contextmanager
def noted(where: str) -> Iterator[None]:
    """Whatever is raised inside says where that was."""
    try:
        yield
    except Exception as error:
        error.add_note(f"({where})")
        raise


def give(rounds: Iterable[tuple[str, Iterable[Warned]]]) -> None:
    """Warn once of every kind that came up; each round says who warned (``"selector 'fisher'"``)
    and of what.
    """
    first: dict[tuple[str, tuple[str, int]], Warned] = {}
    times: dict[tuple[str, tuple[str, int]], int] = {}
    totals: dict[str, int] = {}
    for who, found in rounds:
        totals[who] = totals.get(who, 0) + 1
        for warned in {warned.place: warned for warned in reversed(list(found))}.values():
            first.setdefault((who, warned.place), warned)
            times[who, warned.place] = times.get((who, warned.place), 0) + 1
    for (who, place), warned in first.items():
        often = f" (in {times[who, place]} of {totals[who]} rounds)" if totals[who] > 1 else ""
        warn(f"{who}: ", warned.message.without_end(), often, ".", category=warned.category)

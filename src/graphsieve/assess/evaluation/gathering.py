"""Collect the warnings of many folds and issue each kind once; add the location to errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from graphsieve._base.errors import Warned, held_back, warn
from graphsieve._base.messages import Message
from graphsieve._base.parameters import one_line
from graphsieve._base.warning_filters import warnings_kept


@contextmanager
def gathered() -> Iterator[list[Warned]]:
    """Collect all warnings in a list, which is filled at the end of the block.

    The warnings may come from this library or from others. Ignored warnings stay ignored.
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
    """Add the location as a note to any exception raised inside the block."""
    try:
        yield
    except Exception as error:
        error.add_note(f"({where})")
        raise


def give(rounds: Iterable[tuple[str, Iterable[Warned]]]) -> None:
    """Issue each kind of warning once, with the number of rounds in which it occurred.

    Each round consists of the source of the warnings, such as ``"selector 'fisher'"``, and the
    warnings.
    """
    first: dict[tuple[str, tuple[str, int]], Warned] = {}
    times: dict[tuple[str, tuple[str, int]], int] = {}
    totals: dict[str, int] = {}
    for source, found in rounds:
        totals[source] = totals.get(source, 0) + 1
        for warned in {warned.place: warned for warned in reversed(list(found))}.values():
            first.setdefault((source, warned.place), warned)
            times[source, warned.place] = times.get((source, warned.place), 0) + 1
    for (source, place), warned in first.items():
        often = (
            f" (in {times[source, place]} of {totals[source]} rounds)" if totals[source] > 1 else ""
        )
        warn(f"{source}: ", warned.message.without_end(), often, ".", category=warned.category)

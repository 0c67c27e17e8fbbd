"""The cases of the table of bad input (BAD_INPUT.md): which test answers which, by number.

A test is marked by `case`, which puts the numbers into its id (``pytest -k case31``); `cases_of`
reads them back from a module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

TABLE = Path(__file__).parents[2] / "shared" / "BAD_INPUT.md"


def case(*numbers: int) -> pytest.MarkDecorator:
    """Mark a test with the cases that it answers."""
    return pytest.mark.parametrize((), [()], ids=["+".join(f"case{number}" for number in numbers)])


def cases_of(module: ModuleType) -> set[int]:
    """The cases in the ids of a module's tests: ``case1+case4`` where `case` marked one,
    ``1-what`` in lists of cases.
    """
    found: set[int] = set()
    for name, test in vars(module).items():
        if name.startswith("test_"):
            found |= {
                number for mark in getattr(test, "pytestmark", ()) for number in _of_mark(mark)
            }
    return found


def _of_mark(mark: pytest.Mark) -> set[int]:
    if mark.name != "parametrize":
        return set()
    ids = (
        [getattr(value, "id", None) for value in mark.args[1]]
        if isinstance(mark.args[1], list | tuple)
        else []
    )
    ids += mark.kwargs["ids"] if isinstance(mark.kwargs.get("ids"), list) else []
    return {
        int(number)
        for one in ids
        for number in re.findall(r"(?:(?:^|\+)case|^)(\d+)(?=[-+]|$)", str(one))
    }


def cases_in_table() -> dict[int, str]:
    """The number of every case with where it applies (A: Python, C: the command line); skips
    where the table is not at hand.
    """
    if not TABLE.exists():
        pytest.skip("BAD_INPUT.md is not at hand")
    rows = re.findall(r"^\| (\d+) \| (A?C?) \|", TABLE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len({number for number, _ in rows}) == len(rows)
    return {int(number): where for number, where in rows}


@contextmanager
def about(case: object) -> Iterator[None]:
    """Name the case of a loop in whatever fails inside."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"in the case of: {case}")
        raise

"""The cases of the table of bad input (docs/bad-input.md): which test answers which, by number.

A test is marked by `case`, which puts the numbers into its id (``pytest -k case31``); `cases_of`
reads them back from a module.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

TABLE = Path(__file__).parents[1] / "docs" / "bad-input.md"


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
    """The number of every case with where it applies (A: Python, C: the command line)."""
    text = TABLE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| [^|]+ \| ([^|]+) \| ([^|]+) \|$", text, re.MULTILINE)
    assert len(rows) == len(re.findall(r"^\| \d+ ", text, re.MULTILINE))
    assert len({number for number, _, _ in rows}) == len(rows)
    return {
        int(number): "A" * (not python.startswith("—")) + "C" * (not command.startswith("—"))
        for number, python, command in rows
    }


def module_of(path: str) -> ModuleType:
    """A module of tests by its path in this folder, whichever tests are run."""
    name = Path(path).stem
    folder = str(Path(__file__).parent / Path(path).parent)
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(name)


@contextmanager
def about(case: object) -> Iterator[None]:
    """Name the case of a loop in whatever fails inside."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"in the case of: {case}")
        raise

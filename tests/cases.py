"""The numbered cases of the table of bad input (docs/bad-input.md), and the tests for them.

The mark `case` adds the numbers to the id of a test (``pytest -k case31``). `cases_of` reads them
from a module.
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
    """Mark a test with the cases that it covers."""
    return pytest.mark.parametrize((), [()], ids=["+".join(f"case{number}" for number in numbers)])


def cases_of(module: ModuleType) -> set[int]:
    """Return the cases in the test ids of a module.

    The ids have the form ``case1+case4`` for tests marked with `case`, and ``1-what`` in lists of
    cases.
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
    """Return where each numbered case applies (A: Python API, C: command line)."""
    text = TABLE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| [^|]+ \| ([^|]+) \| ([^|]+) \|$", text, re.MULTILINE)
    assert len(rows) == len(re.findall(r"^\| \d+ ", text, re.MULTILINE))
    assert len({number for number, _, _ in rows}) == len(rows)
    return {
        int(number): "A" * (not python.startswith("—")) + "C" * (not command.startswith("—"))
        for number, python, command in rows
    }


def module_of(path: str) -> ModuleType:
    """Import a test module by its path in this folder, independent of the tests that run."""
    name = Path(path).stem
    folder = str(Path(__file__).parent / Path(path).parent)
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(name)


@contextmanager
def about(case: object) -> Iterator[None]:
    """Add the current case of a loop to any error raised inside."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"in the case of: {case}")
        raise

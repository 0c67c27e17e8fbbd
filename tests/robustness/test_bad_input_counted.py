"""Every case of docs/bad-input.md has tests for Python, for the command line, or for both."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cases import cases_in_table, cases_of, module_of

DOCS = Path(__file__).parents[2] / "docs"
RELIABILITY, CASES = DOCS / "reliability.md", DOCS / "reliability-cases.md"
N_CASES, N_BY_PYTHON, N_BY_COMMAND = 223, 143, 134


@pytest.fixture(scope="module")
def by_python():
    modules = ("test_bad_input", "test_bad_input_choices", "test_bad_input_faults")
    return set().union(*(cases_of(module_of(f"robustness/{name}.py")) for name in modules))


@pytest.fixture(scope="module")
def by_command():
    modules = ("test_cli_bad_input", "test_cli_messy_files")
    return set().union(*(cases_of(module_of(f"cli/{name}.py")) for name in modules))


def test_as_many_cases_as_ever_are_covered(by_python, by_command):
    assert len(by_python | by_command) == N_CASES
    assert (len(by_python), len(by_command)) == (N_BY_PYTHON, N_BY_COMMAND)


def test_every_case_of_the_table_is_covered_and_no_other(by_python, by_command):
    table = cases_in_table()
    assert {number for number, where in table.items() if "A" in where} == by_python
    assert {number for number, where in table.items() if "C" in where} == by_command
    assert all(table.values())


def test_every_test_that_the_pages_name_exists():
    """A page may give a complete test name, or its beginning followed by an ellipsis."""
    page = RELIABILITY.read_text(encoding="utf-8") + CASES.read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)(…|`)", page))
    assert len(named) > 80
    sources = [
        path.read_text(encoding="utf-8") for path in Path(__file__).parents[1].rglob("test_*.py")
    ]
    there = set(re.findall(r"^def (test_\w+)\(", "\n".join(sources), re.MULTILINE))
    missing = {
        name
        for name, rest in named
        if not (name in there or (rest == "…" and any(one.startswith(name) for one in there)))
    }
    assert missing == set()


def test_every_figure_of_the_pages_is_filled_in():
    for page in (RELIABILITY, CASES):
        assert re.findall(r"@[A-Z]\b", page.read_text(encoding="utf-8")) == []


def test_the_page_states_the_numbers_of_cases():
    page = RELIABILITY.read_text(encoding="utf-8")
    for number in (N_CASES, N_BY_PYTHON, N_BY_COMMAND):
        assert re.search(rf"\b{number}\b", page), number

"""Every case of the table of bad input has its test, and where our answer is another one, the
reason is told to people, too.
"""

from __future__ import annotations

import re
from pathlib import Path

import test_bad_input
import test_bad_input_faults
import test_cli_bad_input

from cases import cases_in_table, cases_of

RELIABILITY = Path(__file__).parents[2] / "docs" / "reliability.md"
N_CASES, N_BY_PYTHON, N_BY_COMMAND = 179, 120, 104
BY_PYTHON = cases_of(test_bad_input) | cases_of(test_bad_input_faults)
BY_COMMAND = cases_of(test_cli_bad_input)

# Of those that Python meets; those of the command line are in test_cli_bad_input.DIFFERENT.
OF_THE_VARIANCE = (
    "the variance is in the units of X, and refused where it is no number any more; all other "
    "scores are answered"
)
DIFFERENT = {
    17: OF_THE_VARIANCE,
    18: OF_THE_VARIANCE,
    20: OF_THE_VARIANCE,
    23: "no warning: with equal weights the graph is the ordinary one of nearest neighbours, which "
    "says a lot",
    52: "no warning: the work goes to the blocks however they are cut, and none of them is put "
    "together anew",
    63: "the flag is 'unscorable': a column may also be constant only where it matters",
    69: "no score carries labels along a graph, so none warns of a component without any; "
    "harmonic_labels does",
    91: "X and y are given apart",
    103: "samples are known by their row, and rows have no names",
    106: "an error always: who knows which of the two is wrong can leave it out",
    126: "the error is that of the step after ours, which we do not see; LabeledOnly, as in the "
    "README, is the way round it",
    202: "a MemoryError, as everywhere in Python; the sieve stays as it was, and the command line "
    "exits with 3",
    208: "the warning says how many eigenvectors converged, which are used; propagation of labels "
    "says how far it is off",
    210: "whoever has an array of Dask has Dask; a file that needs a library that is missing is an "
    "InputError with its name",
}
# The table says Python and the command line; Python has nothing that the case could be about.
NOT_IN_PYTHON = {91, 103}


def test_as_many_cases_as_ever_are_covered():
    assert len(BY_PYTHON | BY_COMMAND) == N_CASES
    assert (len(BY_PYTHON), len(BY_COMMAND)) == (N_BY_PYTHON, N_BY_COMMAND)


def test_every_case_of_the_table_is_covered_and_no_other():
    table = cases_in_table()
    assert len(table) == N_CASES
    assert table.keys() == BY_PYTHON | BY_COMMAND
    assert {number for number, where in table.items() if "A" in where} - BY_PYTHON == NOT_IN_PYTHON
    assert {number for number, where in table.items() if "C" in where} == BY_COMMAND


def told():
    """The rows of the section of docs/reliability.md: number, where, reason."""
    section = (
        RELIABILITY.read_text(encoding="utf-8")
        .partition("## Answers that differ from the list")[2]
        .partition("\n## ")[0]
    )
    rows = re.findall(r"^\| (\d+) \| ([^|]*) \| (.*) \|$", section, re.MULTILINE)
    return [(int(number), where, reason) for number, where, reason in rows]


def test_every_test_that_the_page_names_is_there():
    """By its whole name, or by its beginning."""
    page = RELIABILITY.read_text(encoding="utf-8")
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


def test_every_figure_of_the_page_is_filled_in():
    assert re.findall(r"@[A-Z]\b", RELIABILITY.read_text(encoding="utf-8")) == []


def test_every_answer_that_differs_is_explained_in_the_documentation():
    ours = [(number, "Python", reason) for number, reason in DIFFERENT.items()]
    ours += [
        (number, "command line", reason) for number, reason in test_cli_bad_input.DIFFERENT.items()
    ]
    assert told() == sorted(ours)
    assert DIFFERENT.keys() - BY_PYTHON == NOT_IN_PYTHON
    assert test_cli_bad_input.DIFFERENT.keys() <= BY_COMMAND

"""What `import graphsieve` costs, beside the import of scikit-learn's selectors."""

from __future__ import annotations

import sys
from typing import Any

from peers import run, say

from suite.part import Bar, Part, at_most, seconds, table, times

TURNS = 7
OURS, THEIRS = "import graphsieve", "import sklearn.feature_selection"
# The package loads what is asked for and nothing before: this is asking
SIEVE = "from graphsieve import GraphSieve"
STATEMENTS = (OURS, SIEVE, "from graphsieve.scores import laplacian_score", THEIRS)
TIMED = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
BAR = 1.3


def measure() -> dict[str, Any]:
    found: dict[str, list[float]] = {statement: [] for statement in STATEMENTS}
    for turn in range(TURNS):
        say(f"imports, turn {turn + 1} of {TURNS}")
        for statement, taken in found.items():
            well, line = run([sys.executable, "-c", TIMED.format(statement)], 60)
            if not well:
                return {"failed": f"{statement}: {line[:100]}"}
            taken.append(float(line))
    return {statement: min(taken) for statement, taken in found.items()}


def text(found: dict[str, Any]) -> list[str]:
    rows = [
        [f"`{statement}`", seconds(taken), times(taken / found[THEIRS])]
        for statement, taken in found.items()
    ]
    return table(["in a fresh process", "time", "of scikit-learn's"], rows)


def bars(found: dict[str, Any] | None) -> list[Bar]:
    ratios = {one: None if found is None else found[one] / found[THEIRS] for one in (OURS, SIEVE)}
    return [
        at_most(f"`{one}`: times the cost of `{THEIRS}`", ratio, BAR, "×")
        for one, ratio in ratios.items()
    ]


PART = Part(
    "imports", "Imports", f"Fresh processes by turns, the best of {TURNS}.", measure, text, bars
)

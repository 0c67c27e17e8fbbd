"""Import time of graphsieve, compared with that of scikit-learn's selectors."""

from __future__ import annotations

import sys
from typing import Any

from peers import progress, run

from suite.part import Part, Target, at_most, seconds, table, times

TURNS = 7
OURS, THEIRS = "import graphsieve", "import sklearn.feature_selection"
# The package imports its modules lazily. This statement triggers the imports.
SIEVE = "from graphsieve import GraphSieve"
STATEMENTS = (OURS, SIEVE, "from graphsieve.scores import laplacian_score", THEIRS)
TIMED = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
TARGET = 1.3


def measure() -> dict[str, Any]:
    found: dict[str, list[float]] = {statement: [] for statement in STATEMENTS}
    for turn in range(TURNS):
        progress(f"imports, turn {turn + 1} of {TURNS}")
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
    return table(["statement", "time", "relative to scikit-learn"], rows)


def targets(found: dict[str, Any] | None) -> list[Target]:
    ratios = {one: None if found is None else found[one] / found[THEIRS] for one in (OURS, SIEVE)}
    return [
        at_most(f"`{one}`: time relative to `{THEIRS}`", ratio, TARGET, "×")
        for one, ratio in ratios.items()
    ]


PART = Part(
    "imports",
    "Imports",
    f"Each statement runs in {TURNS} new processes. The statements alternate, and the table shows "
    "the shortest times.",
    measure,
    text,
    targets,
)

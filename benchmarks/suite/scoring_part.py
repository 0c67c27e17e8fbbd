"""Time of the scoring pass relative to reading X, with the cases of `benchmarks/scoring.py`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from peers import progress, run
from scoring import CASES, TARGET

from suite.part import Part, Target, at_most, seconds, table, times

SCRIPT = str(Path(__file__).parents[1] / "scoring.py")
LIMIT = 240  # seconds per case
TALL = ("fisher", "wls", "cs", "sls pass")
WHOLE = "sls float64"
SHOWN = (
    "scipy W @ X",
    "pass",
    "scipy W @ X single",
    "pass single",
    *(f"{name} {dtype}" for name in TALL for dtype in ("float32", "float64")),
    WHOLE,
)
NAMES = {
    "fisher": "Fisher",
    "wls": "WLS",
    "cs": "Constraint score",
    "sls pass": "SLS, pass over X",
}


def measure() -> dict[str, Any]:
    return {name: case(name) for name in SHOWN}


def case(name: str) -> dict[str, Any]:
    progress(f"scoring {name}")
    well, line = run([sys.executable, SCRIPT, "--case", name], LIMIT)
    return {"title": CASES[name].title, "reads": CASES[name].reads} | (
        json.loads(line) if well else {"failed": line[:100]}
    )


def row(found: dict[str, Any]) -> list[str]:
    title = found["title"].replace(" x ", " × ")
    if "failed" in found:
        return [title, found["failed"], *[""] * 5]
    in_reads = found["wall"] / found["read"]
    reads = (
        ["–", "–"]
        if found["reads"] is None
        else [f"{found['reads']}", f"{in_reads / found['reads']:.1f}"]
    )
    return [
        title,
        seconds(found["wall"]),
        seconds(found["read"]),
        times(in_reads),
        *reads,
        f"{found['extra']:,.0f}",
    ]


def text(found: dict[str, Any]) -> list[str]:
    header = [
        "",
        "time",
        "reading X once",
        "ratio",
        "required readings",
        "ratio per required reading",
        "MiB above X",
    ]
    return table(header, [row(one) for one in found.values()])


def per_reading(found: dict[str, Any], reads: int) -> float | None:
    return None if "failed" in found else found["wall"] / found["read"] / reads


def targets(found: dict[str, Any] | None) -> list[Target]:
    """Return a target for each method and precision.

    SLS with its neighbour search has the same target as its pass over X alone.
    """
    named = {
        f"{name} {dtype}": f"{NAMES[name]}, 1,000,000 × 100, {dtype}"
        for name in TALL
        for dtype in ("float32", "float64")
    }
    named |= {WHOLE: "SLS with its neighbour search, 1,000,000 × 100, float64"}
    claims = []
    for name, title in named.items():
        needed = CASES["sls pass float64" if name == WHOLE else name].reads
        value = None if found is None else per_reading(found[name], needed)
        claims.append(at_most(f"{title}: time per required reading of X", value, TARGET, "×"))
    return claims


PART = Part(
    "scoring",
    "The scoring pass",
    "Once the graph exists, a score takes little more time than reading X. *Reading X once* uses "
    "all threads, alternates with the score and runs in the same process. *Required readings* is "
    "the number of passes over X that a method needs: to check the values, to find the scales of "
    "the columns, and to sum. SLS with its neighbour search also searches along the target. This "
    "search does not read X, so the number of required readings is the same. SciPy's product does "
    "not include the checks and the variances that our pass includes.",
    measure,
    text,
    targets,
)

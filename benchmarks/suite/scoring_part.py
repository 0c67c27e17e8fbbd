"""The scoring pass in units of reading X, by `benchmarks/scoring.py`, whose cases these are."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from peers import run, say
from scoring import BAR, CASES

from suite.part import Bar, Part, at_most, seconds, table, times

SCRIPT = str(Path(__file__).parents[1] / "scoring.py")
LIMIT = 240  # seconds for one case
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
    "sls pass": "SLS, the pass over X",
}


def measure() -> dict[str, Any]:
    return {name: case(name) for name in SHOWN}


def case(name: str) -> dict[str, Any]:
    say(f"scoring {name}")
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
        "in readings",
        "needed",
        "time per needed reading",
        "MiB above X",
    ]
    return table(header, [row(one) for one in found.values()])


def per_reading(found: dict[str, Any], reads: int) -> float | None:
    return None if "failed" in found else found["wall"] / found["read"] / reads


def bars(found: dict[str, Any] | None) -> list[Bar]:
    """One for each method and precision; SLS as a whole is held to the readings of its pass."""
    named = {
        f"{name} {dtype}": f"{NAMES[name]}, 1,000,000 × 100, {dtype}"
        for name in TALL
        for dtype in ("float32", "float64")
    }
    named |= {WHOLE: "SLS as a whole, 1,000,000 × 100, float64"}
    claims = []
    for name, title in named.items():
        needed = CASES["sls pass float64" if name == WHOLE else name].reads
        value = None if found is None else per_reading(found[name], needed)
        claims.append(at_most(f"{title}: time in needed readings of X", value, BAR, "×"))
    return claims


PART = Part(
    "scoring",
    "The scoring pass",
    "With the graph at hand a score costs little more than reading X. *Reading X once* is by all "
    "threads, in the same process "
    "and by turns; *needed* is how often a method must read it: to check it, to find the sizes of "
    "its columns, and to sum. SLS "
    "as a whole also searches along the target, which never reads X, and is held to the same "
    "number of readings. SciPy's "
    "product is beside ours without the checks and the spreads that ours includes.",
    measure,
    text,
    bars,
)

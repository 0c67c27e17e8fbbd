"""Time and memory of the Laplacian score in other packages, each in a separate process."""

from __future__ import annotations

import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import peers

from suite.part import Part, Target, at_least, seconds, shape, table, times

JUDGED, RIVAL, FASTER, LEANER = 10_000, "skfeature-chappers", 50, 10
SAME = 1e-6  # relative
FAR = 1e9
LEAST_MIB = 1.0  # smaller values cannot be distinguished from zero


def measure() -> dict[str, Any]:
    state = {package: peers.interpreter(package) for package in peers.TIMED}
    pythons = {package: python for package, (python, _) in state.items() if python}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peers.ask(sys.executable, peers.OURS, "data", folder, peers.FACTS_LIMIT)
        tall = peers.measured_times(pythons, folder)
        wide = {package: ask_wide(python, package, folder) for package, python in pythons.items()}
    found = {}
    for package, (_, note) in state.items():
        cells = {
            shape(n, 50): (cell, tall[peers.OURS][n]) for n, cell in tall.get(package, {}).items()
        }
        if package in wide:
            cells[shape(*peers.WIDE)] = (wide[package], wide[peers.OURS])
        found[package] = {
            "note": note,
            "cells": {name: compared(*pair) for name, pair in cells.items()},
        }
    return {"packages": found}


def ask_wide(python: str, package: str, folder: Path) -> Any:
    answer, reason = peers.ask(python, package, "wide", folder, peers.TIME_LIMIT)
    return answer or reason


def compared(cell: Any, ours: Any) -> dict[str, Any]:
    """Return seconds, MiB, and the agreement of the scores and the order with ours."""
    if isinstance(cell, str):
        return {"failed": cell}
    found = {"seconds": cell["seconds"], "extra": cell["extra"]}
    if isinstance(ours, str):
        return found
    if cell["scores"] is not None and ours["scores"] is not None:
        found["apart"] = max(map(apart, cell["scores"], ours["scores"]))
    return found | {"order": peers.rank_correlation(cell["order"], ours["order"])}


def apart(one: float, other: float) -> float:
    """Return the relative difference. NaN counts as a very large difference."""
    difference = abs(one - other) / max(abs(other), 1e-300)
    return FAR if math.isnan(difference) else min(difference, FAR)


def cell_text(cell: dict[str, Any], ours: dict[str, Any], same: bool) -> str:
    if "failed" in cell:
        return cell["failed"]
    text = f"{seconds(cell['seconds'])}, {cell['extra']:.0f} MiB"
    if same or "failed" in ours:
        return text
    return f"{text} ({times(cell['seconds'] / ours['seconds'])}, {times(leaner(cell, ours))})"


def leaner(cell: dict[str, Any], ours: dict[str, Any]) -> float:
    return float(max(cell["extra"], LEAST_MIB) / max(ours["extra"], LEAST_MIB))


def numbers(cells: dict[str, Any]) -> str:
    """Describe the worst agreement with our scores over all tables."""
    done = [cell for cell in cells.values() if "order" in cell]
    if not done:
        return "–"
    order = min(cell["order"] for cell in done)
    text = "same order" if order > 1 - 1e-9 else f"different order, rank correlation {order:.4f}"
    differences = [cell["apart"] for cell in done if "apart" in cell]
    if not differences:
        return f"{text} (returns no scores)"
    return "same" if max(differences) < SAME else f"**different scores**, {text}"


def text(found: dict[str, Any]) -> list[str]:
    packages = found["packages"]
    ours = packages[peers.OURS]["cells"]
    rows = []
    for package, answer in packages.items():
        title = " ".join([package, answer["note"] if answer["cells"] else ""]).strip()
        same = package == peers.OURS
        cells = [
            cell_text(answer["cells"][name], ours[name], same) if name in answer["cells"] else "–"
            for name in ours
        ]
        rows.append([title, *cells, "" if same else numbers(answer["cells"])])
    versions = ", ".join(
        f"{package} {answer['note']}" for package, answer in packages.items() if answer["note"]
    )
    return [*table(["", *ours, "scores"], rows), "", f"Versions: {versions}."]


def targets(found: dict[str, Any] | None) -> list[Target]:
    cells = (
        {}
        if found is None
        else {
            name: one["cells"].get(shape(JUDGED, 50), {}) for name, one in found["packages"].items()
        }
    )
    ours, rival = cells.get(peers.OURS, {}), cells.get(RIVAL, {})
    both = "seconds" in ours and "seconds" in rival
    where = f"Laplacian score, {shape(JUDGED, 50)}, against {RIVAL}"
    return [
        at_least(
            f"{where}: speed-up",
            rival["seconds"] / ours["seconds"] if both else None,
            FASTER,
            "×",
        ),
        at_least(f"{where}: memory ratio", leaner(rival, ours) if both else None, LEANER, "×"),
    ]


PART = Part(
    "peers",
    "Other packages",
    f"The Laplacian score with k = {peers.N_NEIGHBORS}. Each package is called as in its "
    "documentation, in a separate process. The cells contain the time and the peak memory above "
    "the data. The ratios to graphsieve are in brackets. *Scores* compares the scores with ours. "
    f"The limits of a process are {peers.TIME_LIMIT} s and {peers.MEMORY_LIMIT // 2**30} GiB. "
    "`python benchmarks/peers.py` runs further comparisons.",
    measure,
    text,
    targets,
)

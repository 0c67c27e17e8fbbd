"""The other scripts of this folder. The suite shows their output and checks their exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from peers import progress

from suite.part import Part, Target

FOLDER = Path(__file__).parents[1]
LIMIT = 480  # seconds per script
MOST_LINES = 60  # lines of output on the page
SCRATCH = "{scratch}"  # placeholder for a temporary file


class Script(NamedTuple):
    """A script, its arguments, a description, and the claim that exit code 0 confirms.

    A script without a claim runs only on request.
    """

    name: str
    title: str
    about: str
    arguments: tuple[str, ...] = ()
    claim: str = ""
    one_thread: bool = False


SCRIPTS = (
    Script(
        "relieff",
        "ReliefF",
        "Comparison with skrebate and fast-select, called as in their documentation.",
        claim="ReliefF, 2,000 × 200: 5 times as fast as skrebate, no slower than fast-select",
    ),
    Script(
        "iterative",
        "Iterative search",
        "Comparison with two loops that repeat the neighbour search in every round.",
        claim="Iterative search: 8 and 4 times as fast as the tuned loop, same order",
    ),
    Script(
        "memory",
        "Memory of other scores",
        "Peak memory above the data, each case in a separate process.",
        claim="All cases of `memory.py` are within their limits",
    ),
    Script(
        "propagation",
        "Label propagation",
        "Label propagation on a given graph, compared with a direct solution.",
        claim="Label propagation, 50,000 samples: within the limits of `propagation.py`",
    ),
    Script(
        "prototypes",
        "Prototypes",
        "The batch map, compared with that of MiniSom.",
        ("map",),
        "Batch map: 10 times as fast as MiniSom, at equal or lower error",
    ),
    Script(
        "command_line",
        "Command line",
        "The command, compared with a Python script that uses pandas.",
        ("--repeats", "3"),
        claim="Command line: below twice the time of a script with pandas, --help below 150 ms",
    ),
    Script(
        "categories",
        "Categories",
        "The default selection for a table with categories, compared with a table of numbers.",
        claim="50 of 200 columns are categories of ten levels: at most 3 times the time of numbers",
        one_thread=True,
    ),
    Script(
        "missing",
        "Missing values",
        "The Laplacian score and the default for a table with gaps, compared with a complete table.",
        claim="20,000 × 500 with 5 % missing cells: at most 4 times the time of the complete table",
        one_thread=True,
    ),
    Script(
        "diverse",
        "Diverse search",
        "Time relative to passes over the table, with one thread.",
        one_thread=True,
    ),
    Script(
        "quality",
        "Quality",
        "Errors of the selections on a few data sets.",
        ("--quick", SCRATCH),
        one_thread=True,
    ),
)


def measure(script: Script) -> dict[str, Any]:
    path = FOLDER / script.name
    path = path if path.is_dir() else path.with_suffix(".py")
    if not path.exists():
        return {"failed": "the script does not exist"}
    progress(path.name)
    settings = os.environ | (
        {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"} if script.one_thread else {}
    )
    with tempfile.TemporaryDirectory() as folder:
        arguments = [
            str(Path(folder) / "results.jsonl") if one == SCRATCH else one
            for one in script.arguments
        ]
        start = time.perf_counter()
        try:
            command = [sys.executable, str(path), *arguments]
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=LIMIT, check=False, env=settings
            )
        except subprocess.TimeoutExpired:
            return {"failed": f"more than {LIMIT} s"}
        taken = time.perf_counter() - start
        output = without_paths(done.stdout, [folder, tempfile.gettempdir()])
    if not output.strip() or done.returncode not in (0, 1) or "Traceback" in done.stderr:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return {"failed": without_paths(last, [tempfile.gettempdir()])[:100]}
    return {"code": done.returncode, "seconds": taken, "lines": output.strip("\n").splitlines()}


def without_paths(text: str, folders: list[str]) -> str:
    """Remove paths of this machine from the text."""
    for folder in [*folders, str(FOLDER.parent), str(Path.home()), sys.prefix]:
        text = text.replace(folder, "…")
    return text


def text(found: dict[str, Any]) -> list[str]:
    lines = [line.rstrip() for line in found["lines"]]
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f"… {len(lines) - MOST_LINES} further lines"]
    return ["```text", *lines, "```"]


def targets(script: Script, found: dict[str, Any] | None) -> list[Target]:
    if not script.claim:
        return []
    if found is None:
        return [Target(script.claim, "exit code 0", "–", None)]
    # Without the peer, the claim cannot be checked.
    if any(" is missing" in line for line in found["lines"]):
        return [Target(script.claim, "exit code 0", "a peer is missing", None)]
    return [Target(script.claim, "exit code 0", str(found["code"]), found["code"] == 0)]


def part(script: Script) -> Part:
    called = " ".join(
        [script.name if (FOLDER / script.name).is_dir() else f"{script.name}.py", *script.arguments]
    )
    about = (
        f"{script.about} Printed by `python benchmarks/{called.replace(SCRATCH, 'results.jsonl')}`."
    )
    return Part(
        script.name,
        script.title,
        about,
        partial(measure, script),
        text,
        partial(targets, script),
        large=not script.claim,
    )


PARTS = tuple(part(script) for script in SCRIPTS)

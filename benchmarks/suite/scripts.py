"""The other scripts of this folder, run as they are: what they print, and what their exit code
says.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from peers import say

from suite.part import Bar, Part

FOLDER = Path(__file__).parents[1]
LIMIT = 480  # seconds for one script
MOST_LINES = 60  # of its output on the page
SCRATCH = "{scratch}"  # stands for a file that is thrown away


class Script(NamedTuple):
    """How a script is called, what it is about, and what exit code 0 means (empty: nothing, and
    it need not run always).
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
        "Against skrebate and fast-select, called as their documentation does.",
        claim="ReliefF, 2,000 × 200: 5 times skrebate, no slower than fast-select",
    ),
    Script(
        "iterative",
        "The iterative search",
        "Against two loops that search neighbours anew in every round.",
        claim="iterative search: 8 and 4 times the tuned loop, same order",
    ),
    Script(
        "memory",
        "Memory of further scores",
        "Peak above the data, each in a process of its own.",
        claim="all cases of `memory.py` within their limits",
    ),
    Script(
        "propagation",
        "Label propagation",
        "From a graph to labels, beside a direct solution.",
        claim="labels of 50,000 samples within the limits of `propagation.py`",
    ),
    Script(
        "prototypes",
        "Prototypes",
        "A batch map against MiniSom's.",
        ("map",),
        "batch map: 10 times MiniSom at equal or lower error",
    ),
    Script(
        "command_line",
        "The command",
        "From the shell, beside a script with pandas.",
        ("--repeats", "3"),
        claim="command: below twice a script with pandas, --help below 150 ms",
    ),
    Script(
        "diverse",
        "The diverse search",
        "Seconds beside passes over the table, one thread.",
        one_thread=True,
    ),
    Script(
        "quality",
        "Quality",
        "What selections are worth, on a few sets.",
        ("--quick", SCRATCH),
        one_thread=True,
    ),
)


def measure(script: Script) -> dict[str, Any]:
    path = FOLDER / script.name
    path = path if path.is_dir() else path.with_suffix(".py")
    if not path.exists():
        return {"failed": "there is no such script yet"}
    say(path.name)
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
        output = without_places(done.stdout, [folder, tempfile.gettempdir()])
    if not output.strip() or done.returncode not in (0, 1) or "Traceback" in done.stderr:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return {"failed": without_places(last, [tempfile.gettempdir()])[:100]}
    return {"code": done.returncode, "seconds": taken, "lines": output.strip("\n").splitlines()}


def without_places(text: str, folders: list[str]) -> str:
    """Where things lie on the machine is nobody's business."""
    for folder in [*folders, str(FOLDER.parent), str(Path.home()), sys.prefix]:
        text = text.replace(folder, "…")
    return text


def text(found: dict[str, Any]) -> list[str]:
    lines = [line.rstrip() for line in found["lines"]]
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f"… {len(lines) - MOST_LINES} further lines"]
    return ["```text", *lines, "```"]


def bars(script: Script, found: dict[str, Any] | None) -> list[Bar]:
    if not script.claim:
        return []
    if found is None:
        return [Bar(script.claim, "exit code 0", "–", None)]
    # a peer that does not install was not beaten
    if any(" is missing" in line for line in found["lines"]):
        return [Bar(script.claim, "exit code 0", "a peer is missing", None)]
    return [Bar(script.claim, "exit code 0", str(found["code"]), found["code"] == 0)]


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
        partial(bars, script),
        large=not script.claim,
    )


PARTS = tuple(part(script) for script in SCRIPTS)

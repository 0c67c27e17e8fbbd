"""Run measurements in separate processes.

Peak memory is a property of a process, and caches warmed by one measurement would affect the next.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from peers import progress, run

RUN = str(Path(__file__).parents[1] / "run.py")


def answer(
    module: str, limit: float, python: str = sys.executable, **arguments: Any
) -> dict[str, Any]:
    """Return the result of `work(**arguments)` of a suite module, or {"failed": reason}."""
    progress(f"{module} {' '.join(str(value) for value in arguments.values())}")
    well, line = run([python, RUN, "--work", module, json.dumps(arguments)], limit)
    if not well:
        return {"failed": line[:100] or "no output"}
    found: dict[str, Any] = json.loads(line)
    return found

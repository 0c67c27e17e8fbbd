"""Measurements in processes of their own: a peak of memory belongs to a process, and nobody
inherits another's warm caches.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from peers import run, say

RUN = str(Path(__file__).parents[1] / "run.py")


def answer(
    module: str, limit: float, python: str = sys.executable, **arguments: Any
) -> dict[str, Any]:
    """What `work(**arguments)` of a module of the suite finds, or {"failed": why}."""
    say(f"{module} {' '.join(str(value) for value in arguments.values())}")
    well, line = run([python, RUN, "--work", module, json.dumps(arguments)], limit)
    if not well:
        return {"failed": line[:100] or "no word"}
    found: dict[str, Any] = json.loads(line)
    return found

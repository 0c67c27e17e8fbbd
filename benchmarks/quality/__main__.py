"""Entry point: `python benchmarks/quality` runs cells into a file and prints the tables.

`python benchmarks/quality table` only prints the tables. `python benchmarks/quality page` writes
the pages in docs/ and the table in README.md.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # Each process uses one core.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from quality.command import main  # noqa: E402 - needs the path set above

if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

"""`python benchmarks/quality` runs cells into a file and prints the tables; `python
benchmarks/quality table` only prints.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # processes share the cores, not threads
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from quality.command import main  # noqa: E402 - only now can it be found

if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

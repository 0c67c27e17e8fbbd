"""Computational kernels: loops that numpy cannot express efficiently.

Each kernel exists in C and in numpy, with the same results. The environment variable
``GRAPHSIEVE_PLAIN=1`` selects the numpy versions.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import Any

from graphsieve._base.errors import warn

# Number of multiplications from which a search without compiled kernels is slow enough for a
# warning.
LARGE_SEARCH = 2**36

try:
    _installed: Any = import_module("graphsieve._kernels._compiled")
except ImportError:
    _installed = None

# The compiled module, or None if it is not installed or the numpy versions are requested.
compiled: Any = None if os.environ.get("GRAPHSIEVE_PLAIN", "0") not in ("", "0") else _installed


def mention_plain_kernels(work: int) -> None:
    """Warn once if a large search runs without compiled kernels because they are not installed."""
    if _installed is None and work >= LARGE_SEARCH:
        _mention()


@cache
def _mention() -> None:
    warn(
        "graphsieve was installed without its compiled kernels, so large neighbour searches take "
        "several times as long; "
        "install a C compiler and reinstall graphsieve. The results are the same."
    )

"""Loops that numpy cannot express well, compiled from C or written in plain numpy, with the same
results.

Each file here contains only kernels. ``GRAPHSIEVE_PLAIN=1`` in the environment selects the plain
ones.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import Any

from graphsieve._base.errors import warn

# Products of numbers in a search, from which it takes so long without compiled kernels that we say
# so
LARGE_SEARCH = 2**36

try:
    _installed: Any = import_module("graphsieve._kernels._compiled")
except ImportError:
    _installed = None

# The compiled module, or None where there is none or plain kernels are asked for.
compiled: Any = None if os.environ.get("GRAPHSIEVE_PLAIN", "0") not in ("", "0") else _installed


def mention_plain_kernels(work: int) -> None:
    """Warn, once, of a large search without compiled kernels that nobody asked for."""
    if _installed is None and work >= LARGE_SEARCH:
        _mention()


@cache
def _mention() -> None:
    warn(
        "graphsieve was installed without its compiled kernels, so large neighbour searches take "
        "several times as long; "
        "install it where a C compiler is at hand. The results are the same."
    )

"""Facts about the machine, and its limits for matrix products and for reading memory."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from suite.part import Part, significant, table
from suite.processes import answer

SIDE = 3_000  # rows and columns of the matrices that are multiplied
READ = 2**29  # bytes, far more than any cache
LONG_ENOUGH = 3.0  # seconds per limit


def facts() -> dict[str, Any]:
    """Return cores, processor, memory and versions, determined in a separate process."""
    return answer("machine", 60, what="facts")


def work(what: str) -> dict[str, Any]:
    return found_facts() if what == "facts" else found_limits()


def found_facts() -> dict[str, Any]:
    from importlib.metadata import version

    import numpy as np  # noqa: F401  (loads the BLAS that is queried below)
    import scipy.linalg  # noqa: F401

    from graphsieve import __version__
    from graphsieve import _kernels as kernels
    from graphsieve._base.threads import controller

    found = [
        library.info() for library in controller().lib_controllers if library.user_api == "blas"
    ]
    # SciPy may load a second BLAS.
    blas = next((info for info in found if "numpy" in info["filepath"]), found[0] if found else {})
    affinity = getattr(os, "sched_getaffinity", None)
    return {
        "processor": processor(),
        "cores": len(affinity(0)) if affinity else os.cpu_count(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30,
        "blas": f"{blas.get('internal_api', 'unknown')} {blas.get('version', '')}, "
        f"{blas.get('num_threads', '?')} threads",
        "python": sys.version.split()[0],
        "graphsieve": __version__,
        "kernels": "compiled" if kernels.compiled is not None else "plain",
        **{name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
    }


def processor() -> str:
    import platform

    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def best(call: Callable[[], Any]) -> float:
    found: list[float] = []
    begin = time.perf_counter()
    while len(found) < 3 or time.perf_counter() - begin < LONG_ENOUGH:
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def found_limits() -> dict[str, Any]:
    import numpy as np
    from scoring import reading

    rng = np.random.default_rng(0)
    found = {}
    for dtype in ("float32", "float64"):
        one, other = rng.standard_normal((2, SIDE, SIDE)).astype(dtype)
        found[dtype] = 2 * SIDE**3 / best(lambda one=one, other=other: one @ other) / 1e9
    X = np.ones((READ // 800, 100))
    return found | {"bandwidth": X.nbytes / best(reading(X)) / 1e9}


def text(found: dict[str, Any]) -> list[str]:
    rows = [
        [
            f"product of two {SIDE:,} × {SIDE:,} matrices, float32",
            f"{significant(found['float32'])} GFLOP/s",
        ],
        [
            f"product of two {SIDE:,} × {SIDE:,} matrices, float64",
            f"{significant(found['float64'])} GFLOP/s",
        ],
        ["reading half a GiB from memory", f"{significant(found['bandwidth'])} GB/s"],
    ]
    return table(["operation", "limit"], rows)


def measure() -> dict[str, Any]:
    return answer("machine", 120, what="limits")


PART = Part(
    "limits",
    "Limits of the machine",
    "These are upper limits for the speed of everything below: the best of several calls with all "
    "threads.",
    measure,
    text,
)

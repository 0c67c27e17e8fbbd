"""Measure the resident memory above the data, and the time.

    python benchmarks/memory.py

Each case runs in a separate process, because peak memory is a property of a process. The process
creates its data and records its resident memory. It then calls graphsieve, up to three times if the
call is short, and reports the best time and the increase of the peak memory. The exit code is 1 if
a case exceeds its limit.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

MIB = 2**20
QUICK = 5.0  # seconds; calls repeat until their total time reaches this
ROWS_AT_ONCE = 4096
Call = Callable[[], Any]


class Case(NamedTuple):
    """A title, a memory limit in MiB, and a function that creates the data and returns the call."""

    title: str
    limit: int
    prepare: Callable[[], Call]


def peak_memory() -> int:
    """Return the peak resident memory of this process in bytes.

    On Linux a file contains the value. It is preferred, because the value of `getrusage` is never
    below the peak of the parent process.
    """
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        status = ""
    if "VmHWM:" in status:
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def resident_memory() -> int:
    """Return the current resident memory in bytes, or the peak if the system does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return peak_memory()
    return pages * resource.getpagesize()


def forget_peak() -> None:
    """Reset the peak to the current memory, if the system supports it.

    The memory needed to create the data then does not count.
    """
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def measured(call: Call, most_calls: int = 3) -> tuple[Any, float, float]:
    """Return the result of a call, its best time in seconds, and the increase of the peak in MiB."""
    forget_peak()
    before = resident_memory()
    times: list[float] = []
    while len(times) < most_calls and sum(times) < QUICK:
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return result, min(times), max(0, peak_memory() - before) / MIB


def grouped_rows(n_samples: int, n_features: int, n_groups: int = 10) -> tuple[Any, Any]:
    """Return random rows in groups that differ in the first half of the columns, and the groups.

    They are created without large temporary arrays.
    """
    import numpy as np

    rng = np.random.default_rng(0)
    groups = rng.integers(n_groups, size=n_samples)
    centers = 2 * rng.standard_normal((n_groups, n_features))
    centers[:, n_features // 2 :] = 0
    X = np.empty((n_samples, n_features))
    for start in range(0, n_samples, ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        rng.standard_normal(out=X[rows])
        X[rows] += centers[groups[rows]]
    return X, groups


def uncertain(groups: Any, n_classes: int) -> Any:
    """Return class probabilities of 0.8 for the true class, and equal ones for the others."""
    import numpy as np

    probabilities = np.full((len(groups), n_classes), 0.2 / (n_classes - 1))
    probabilities[np.arange(len(groups)), groups % n_classes] = 0.8
    return probabilities


def sparse_rows(n_samples: int, n_features: int = 100_000, entries: int = 20) -> tuple[Any, Any]:
    """Return a CSR matrix with the same number of random entries in every row, and two classes."""
    import numpy as np
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    columns = rng.integers(n_features, size=n_samples * entries, dtype=np.int32)
    starts = np.arange(0, n_samples * entries + 1, entries, dtype=np.int32)
    X = sp.csr_array(
        (rng.random(n_samples * entries), columns, starts), shape=(n_samples, n_features)
    )
    X.sum_duplicates()
    return X, rng.integers(2, size=n_samples)


def laplacian(n_samples: int, n_features: int) -> Call:
    from graphsieve import scores

    X, _ = grouped_rows(n_samples, n_features)
    return lambda: scores.laplacian_score(X, n_neighbors=5, bandwidth=n_features)


def sparse_laplacian(n_samples: int) -> Call:
    from graphsieve import scores

    X, _ = sparse_rows(n_samples)
    return lambda: scores.laplacian_score(X, n_neighbors=5, bandwidth=10)


def weighted_laplacian(n_samples: int, n_features: int) -> Call:
    from graphsieve import scores

    X, groups = grouped_rows(n_samples, n_features)
    probabilities = uncertain(groups, 5)
    return lambda: scores.weighted_laplacian_score(X, probabilities)


def sparse_weighted_laplacian(n_samples: int) -> Call:
    from graphsieve import scores

    X, classes = sparse_rows(n_samples)
    probabilities = uncertain(classes, 2)
    return lambda: scores.weighted_laplacian_score(X, probabilities)


def sparse_fisher(n_samples: int) -> Call:
    from graphsieve import scores

    X, classes = sparse_rows(n_samples)
    return lambda: scores.fisher_score(X, classes)


def constrained_laplacian(n_samples: int, n_features: int, n_labeled: int) -> Call:
    from graphsieve import GraphSieve

    X, labels = grouped_rows(n_samples, n_features)
    labels[n_labeled:] = -1
    return lambda: GraphSieve("constrained_laplacian").fit(X, labels)


def semi_supervised_laplacian(n_samples: int, n_features: int, n_labeled: int) -> Call:
    import numpy as np

    from graphsieve import scores

    X, _ = grouped_rows(n_samples, n_features)
    target = np.full(n_samples, np.nan)
    target[:n_labeled] = X[:n_labeled, 0]
    return lambda: scores.semi_supervised_laplacian_score(X, target)


CASES = {
    "ls-20000x200": Case(
        "Laplacian score, k = 5, 20,000 x 200", 1024, lambda: laplacian(20_000, 200)
    ),
    "wls-100000x200": Case(
        "WLS, 5 classes, 100,000 x 200", 1024, lambda: weighted_laplacian(100_000, 200)
    ),
    "ls-5000x50": Case("Laplacian score, k = 5, 5,000 x 50", 256, lambda: laplacian(5_000, 50)),
    "ls-10000x50": Case("Laplacian score, k = 5, 10,000 x 50", 256, lambda: laplacian(10_000, 50)),
    "ls-20000x50": Case("Laplacian score, k = 5, 20,000 x 50", 256, lambda: laplacian(20_000, 50)),
    "cls-2000-of-20000": Case(
        "CLS, 2,000 labels of 20,000 x 50", 512, lambda: constrained_laplacian(20_000, 50, 2_000)
    ),
    "ssls-1000-of-20000": Case(
        "SSLS, 1,000 targets of 20,000 x 50",
        512,
        lambda: semi_supervised_laplacian(20_000, 50, 1_000),
    ),
    "fisher-sparse": Case(
        "Fisher, sparse 100,000 x 100,000, 20 per row", 512, lambda: sparse_fisher(100_000)
    ),
    "wls-sparse": Case(
        "WLS, sparse 100,000 x 100,000, 20 per row", 512, lambda: sparse_weighted_laplacian(100_000)
    ),
    "ls-sparse-5000": Case(
        "Laplacian score, k = 5, 5,000 sparse rows", 512, lambda: sparse_laplacian(5_000)
    ),
    "ls-sparse-20000": Case(
        "Laplacian score, k = 5, 20,000 sparse rows", 1024, lambda: sparse_laplacian(20_000)
    ),
}


def run_case(name: str) -> None:
    """Run a case in this process, and print seconds and MiB as JSON."""
    import graphsieve  # noqa: F401  (so that the import is not measured)

    call = CASES[name].prepare()
    # The distances between random sparse rows are all similar, so a few edges may dominate the heat
    # kernel. The warning about this does not matter here.
    warnings.simplefilter("ignore")
    _, seconds, extra = measured(call)
    print(json.dumps({"seconds": seconds, "extra": extra}))


def main() -> int:
    """Run all cases, print a line for each, and return 1 if a case exceeds its limit."""
    print(f"{'case':<46}{'seconds':>9}{'MiB above the data':>20}{'limit':>7}")
    all_kept = True
    for name, case in CASES.items():
        answer = subprocess.run(
            [sys.executable, __file__, "--case", name], capture_output=True, text=True, check=False
        )
        if answer.returncode:
            print(f"{case.title:<46}failed: {answer.stderr.strip().splitlines()[-1]}", flush=True)
            all_kept = False
            continue
        found = json.loads(answer.stdout.splitlines()[-1])
        kept = found["extra"] <= case.limit
        all_kept &= kept
        verdict = "ok" if kept else "over"
        print(
            f"{case.title:<46}{found['seconds']:>9.2f}{found['extra']:>20.0f}{case.limit:>7}  "
            f"{verdict}",
            flush=True,
        )
    return 0 if all_kept else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--case"]:
        run_case(sys.argv[2])
    else:
        sys.exit(main())

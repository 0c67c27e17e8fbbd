"""Time of the scoring pass relative to reading X from memory, and memory above X.

    python benchmarks/scoring.py

Every case runs in a separate process, because peak memory is a property of a process. It creates
its data, records its resident memory, and alternates one call with reading X, with all threads of
the kernels. The best times count. The table shows wall time, processor time, and their ratios to
reading. The ratio of processor times depends less on the load of the machine, because a short
reading may fit into an idle moment, and a long call does not. `plain` is without compiled kernels.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from memory import MIB, ROWS_AT_ONCE, Call, forget_peak, peak_memory, resident_memory

# Minimum and maximum number of calls, and seconds after which no further call starts.
AT_LEAST, AT_MOST, ENOUGH = 2, 7, 15.0
TARGET = 4  # upper limit for the time, in multiples of the required readings of X


class Case(NamedTuple):
    """A call, its table, and how often the method must read X.

    It reads X to check the values, to find their scale, and to sum.
    """

    title: str
    prepare: Callable[[str], tuple[Any, Call]]
    dtype: str = "float64"
    reads: int | None = None
    plain: bool = False


def rows(n_samples: int, n_features: int, dtype: str) -> Any:
    import numpy as np

    rng, X = np.random.default_rng(0), np.empty((n_samples, n_features), dtype=dtype)
    for start in range(0, n_samples, ROWS_AT_ONCE):
        X[start : start + ROWS_AT_ONCE] = rng.standard_normal(X[start : start + ROWS_AT_ONCE].shape)
    return X


def edges(n_samples: int, a_row: int = 14) -> tuple[Any, Any, Any]:
    """Return random edges with this average number per sample.

    No order of the rows places the ends of these edges close together in memory.
    """
    import numpy as np

    rng = np.random.default_rng(1)
    first, second = rng.integers(n_samples, size=(2, n_samples * a_row // 2))
    # The order of the edges is that of a graph.
    keys = np.unique(np.minimum(first, second) * n_samples + np.maximum(first, second))
    first, second = keys // n_samples, keys % n_samples
    apart = first != second
    return first[apart], second[apart], rng.random(int(apart.sum()))


def scipy_energies(dtype: str) -> tuple[Any, Call]:
    """Compute energies by the textbook formula fᵀDf − fᵀWf."""
    import numpy as np
    import scipy.sparse as sp

    X, (first, second, weights) = rows(20_000, 1_000, dtype), edges(20_000)
    ends = (np.concatenate([first, second]), np.concatenate([second, first]))
    W = sp.csr_array((np.tile(weights, 2).astype(dtype), ends), shape=(len(X), len(X)))
    degree = np.asarray(W.sum(axis=1))
    return X, lambda: degree @ (X * X) - np.einsum("ij,ij->j", X, W @ X)


def scipy_product(dtype: str) -> tuple[Any, Call]:
    import numpy as np
    import scipy.sparse as sp

    X, (first, second, weights) = rows(20_000, 1_000, dtype), edges(20_000)
    ends = (np.concatenate([first, second]), np.concatenate([second, first]))
    W = sp.csr_array((np.tile(weights, 2).astype(dtype), ends), shape=(len(X), len(X)))
    return X, lambda: W @ X


def kernel_energies(dtype: str) -> tuple[Any, Call]:
    """Run the kernel alone: sums over edges of unscaled X."""
    import numpy as np

    from graphsieve._kernels.column_sums import Numbers, edge_sums

    X, listed = rows(20_000, 1_000, dtype), edges(20_000)
    numbers = Numbers(X, np.ones(1_000), np.zeros(1_000))
    return X, lambda: edge_sums(numbers, *listed)


def laplacian_pass(dtype: str) -> tuple[Any, Call]:
    """Compute a score on a given graph: all steps except the neighbour search."""
    from graphsieve.graphs.graph import SparseGraph
    from graphsieve.graphs.ratio import laplacian_ratio
    from graphsieve.table.columns import MemoryTable

    X, graph = rows(20_000, 1_000, dtype), SparseGraph(20_000, *edges(20_000))
    return X, lambda: laplacian_ratio(MemoryTable(X), graph)


def classes(X: Any, n_classes: int = 5) -> Any:
    import numpy as np

    return np.random.default_rng(2).integers(n_classes, size=len(X))


def fisher(dtype: str) -> tuple[Any, Call]:
    from graphsieve import scores

    X = rows(1_000_000, 100, dtype)
    y = classes(X)
    return X, lambda: scores.fisher_score(X, y)


def weighted_laplacian(dtype: str) -> tuple[Any, Call]:
    import numpy as np

    from graphsieve import scores

    X = rows(1_000_000, 100, dtype)
    probabilities = np.full((len(X), 5), 0.05)
    probabilities[np.arange(len(X)), classes(X)] = 0.8
    return X, lambda: scores.weighted_laplacian_score(X, probabilities)


def constraint(dtype: str) -> tuple[Any, Call]:
    import numpy as np

    from graphsieve import scores

    X = rows(1_000_000, 100, dtype)
    y = classes(X)
    pairs = np.arange(2_000).reshape(-1, 2)
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    alike, apart = pairs[same], pairs[~same]
    return X, lambda: scores.constraint_score(X, alike, apart)


def supervised_laplacian(dtype: str) -> tuple[Any, Call]:
    import numpy as np

    from graphsieve import scores

    X = rows(1_000_000, 100, dtype)
    target = np.random.default_rng(3).standard_normal(len(X))
    return X, lambda: scores.supervised_laplacian_score(X, target)


def supervised_laplacian_pass(dtype: str) -> tuple[Any, Call]:
    """Run SLS without the search along the target, which does not read X."""
    import numpy as np

    from graphsieve.graphs.builders import target_graph
    from graphsieve.graphs.ratio import laplacian_ratio
    from graphsieve.table.columns import MemoryTable

    X = rows(1_000_000, 100, dtype)
    graph = target_graph(np.random.default_rng(3).standard_normal(len(X)), 5, 1.0).graph
    return X, lambda: laplacian_ratio(MemoryTable(X), graph)


def sparse_columns(filled: float) -> Callable[[str], tuple[Any, Call]]:
    def prepare(_: str) -> tuple[Any, Call]:
        import scipy.sparse as sp

        from graphsieve.graphs.graph import SparseGraph
        from graphsieve.graphs.ratio import laplacian_ratio
        from graphsieve.table.columns import MemoryTable

        X = sp.random_array((20_000, 20_000), density=filled, rng=0, format="csc")
        graph = SparseGraph(20_000, *edges(20_000))
        return X.data, lambda: laplacian_ratio(MemoryTable(X), graph)

    return prepare


TALL = (
    ("fisher", fisher, 4),
    ("wls", weighted_laplacian, 4),
    ("cs", constraint, 2),
    ("sls pass", supervised_laplacian_pass, 5),
)
TITLES = {"fisher": "Fisher", "wls": "WLS", "cs": "constraint score", "sls pass": "SLS pass"}
CASES = {
    "scipy W @ X": Case("SciPy W @ X alone, 20,000 x 1,000", scipy_product),
    "scipy energies": Case("SciPy energies by W @ X", scipy_energies),
    "kernel": Case("energies, kernel alone", kernel_energies),
    "pass": Case("pass: checks, energies, variances", laplacian_pass),
    "pass plain": Case("pass, plain", laplacian_pass, plain=True),
    "scipy W @ X single": Case("SciPy W @ X alone, float32", scipy_product, "float32"),
    "kernel single": Case("energies, float32", kernel_energies, "float32"),
    "pass single": Case("pass, float32", laplacian_pass, "float32"),
    **{
        f"{name} {dtype}": Case(f"{TITLES[name]}, 1,000,000 x 100, {dtype}", prepare, dtype, reads)
        for name, prepare, reads in TALL
        for dtype in ("float32", "float64")
    },
    "sls float64": Case("SLS with its neighbour search", supervised_laplacian, "float64", 5),
    **{
        f"sparse {filled}": Case(f"CSC 20,000 x 20,000, {filled:.2%}", sparse_columns(filled))
        for filled in (0.001, 0.002, 0.004)
    },
}


def reading(X: Any) -> Call:
    """Return a call that reads all of X, with the number of threads of the kernels."""
    import numpy as np

    from graphsieve._base.threads import available_threads

    n_threads = available_threads()
    parts = np.array_split(X, n_threads)

    def read() -> None:
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(np.max, parts))

    return read


def timed(call: Call) -> tuple[float, float]:
    """Return the wall time and the processor time in seconds."""
    wall, processor = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - processor


def run_case(name: str) -> None:
    """Run a case in this process, and print the measurements as JSON."""
    import graphsieve  # noqa: F401  (so that the import is not measured)

    warnings.simplefilter("ignore")
    X, call = CASES[name].prepare(CASES[name].dtype)
    read = reading(X)
    forget_peak()
    before, started = resident_memory(), time.perf_counter()
    calls, reads = [], []
    while len(calls) < AT_LEAST or (
        len(calls) < AT_MOST and time.perf_counter() - started < ENOUGH
    ):
        reads.append(timed(read))
        calls.append(timed(call))
    wall, processor = (min(times) for times in zip(*calls, strict=True))
    extra = max(0, peak_memory() - before) / MIB
    read_wall, read_processor = (min(times) for times in zip(*reads, strict=True))
    found = {
        "wall": wall,
        "processor": processor,
        "read": read_wall,
        "read_processor": read_processor,
        "extra": extra,
    }
    print(json.dumps(found))


def line(case: Case, found: dict[str, float]) -> str:
    ratio, work = found["wall"] / found["read"], found["processor"] / found["read_processor"]
    text = f"{case.title:<42}{found['wall']:>8.3f}{found['processor']:>10.3f}{found['read']:>9.4f}{ratio:>9.1f}{work:>11.1f}"
    text += f"{found['extra']:>11.0f}"
    if case.reads is None:
        return text
    verdict = "ok" if ratio <= TARGET * case.reads else "over"
    return (
        f"{text}   {ratio / case.reads:.1f} (processor {work / case.reads:.1f}) of {TARGET} x "
        f"{case.reads} reads: {verdict}"
    )


def main(wanted: list[str]) -> int:
    """Run these cases, or all, one after another, and print a line for each."""
    print(
        f"{'case':<42}{'seconds':>8}{'processor':>10}{'read X':>9}{'in reads':>9}{'processor':>11}{'MiB above':>11}"
    )
    failed = 0
    for name in wanted or CASES:
        case = CASES[name]
        settings = os.environ | ({"GRAPHSIEVE_PLAIN": "1"} if case.plain else {})
        command = [sys.executable, __file__, "--case", name]
        answer = subprocess.run(command, capture_output=True, text=True, check=False, env=settings)
        if answer.returncode:
            print(f"{case.title:<42}failed: {answer.stderr.strip().splitlines()[-1]}", flush=True)
            failed = 1
            continue
        print(line(case, json.loads(answer.stdout.splitlines()[-1])), flush=True)
    return failed


if __name__ == "__main__":
    if sys.argv[1:2] == ["--case"]:
        run_case(sys.argv[2])
    else:
        sys.exit(main(sys.argv[1:]))

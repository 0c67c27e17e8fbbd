"""Compare the approximate neighbour search with other libraries and with the exact search.

    python benchmarks/approximate.py [quick | large]

Each line runs in a separate process. It shows the time of the first call, which includes imports
and compilation, and of the second call. It also shows the recall for the ten neighbours of 200
rows, the memory above the table, and the share of results that are the same in both calls. Missing
libraries are reported. Some libraries are called with more than ten neighbours; the recall then
counts the true neighbours among all of them, as after a second exact ranking. On a busy machine
only the order of the lines within a table is meaningful.

`large` computes Laplacian scores, including the neighbour search: 100,000 × 500 with exact and
approximate neighbours, and 1,000,000 × 50 with approximate neighbours.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

K = 10
CHECKED = 200
PATIENCE = 900  # seconds per line
SHAPES = [(20_000, 50), (100_000, 50), (100_000, 500)]
QUICK_SHAPES = [(20_000, 50)]
KINDS = ("grouped", "curved", "noise")
LARGE = [(100_000, 500, "exact"), (100_000, 500, "approximate"), (1_000_000, 50, "approximate")]
ROWS_MADE = 2**14  # rows per block, so that creating the table needs little extra memory


def table(kind: str, n: int, p: int) -> np.ndarray:
    """Create ten groups that differ in half of the columns, a curved six-dimensional surface, or
    pure noise.
    """
    rng = np.random.default_rng(0)
    centers = 2 * rng.standard_normal((10, p)) * (np.arange(p) < p / 2)
    directions = rng.standard_normal((6, p))
    X = np.empty((n, p), dtype=np.float32)
    for start in range(0, n, ROWS_MADE):
        part = X[start : start + ROWS_MADE]
        part[:] = rng.standard_normal(part.shape)
        if kind == "grouped":
            part += centers[rng.integers(10, size=len(part))]
        elif kind == "curved":
            part *= 0.05
            part += np.sin(rng.standard_normal((len(part), 6)) @ directions)
    return X


def exact(X: np.ndarray) -> np.ndarray:
    from graphsieve.graphs.neighbors.exact import nearest_neighbors

    return nearest_neighbors(np.asarray(X, dtype=np.float64), K)[0]


def cells(X: np.ndarray) -> np.ndarray:
    from graphsieve.graphs.neighbors.approximate import approximate_neighbors

    return approximate_neighbors(np.asarray(X, dtype=np.float64), K)[0]


def descent(n_neighbors: int) -> Callable[[np.ndarray], np.ndarray]:
    def search(X: np.ndarray) -> np.ndarray:
        from pynndescent import NNDescent

        return NNDescent(X, n_neighbors=n_neighbors, random_state=0).neighbor_graph[0]

    return search


def inverted_lists(X: np.ndarray) -> np.ndarray:
    import faiss

    n, p = X.shape
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(p), p, max(16, int(4 * n**0.5)))
    index.train(X)
    index.add(X)
    index.nprobe = 24
    return index.search(X, K + 1)[1]


def layers(X: np.ndarray) -> np.ndarray:
    import faiss

    index = faiss.IndexHNSWFlat(X.shape[1], 16)
    index.hnsw.efConstruction = index.hnsw.efSearch = 40
    index.add(X)
    return index.search(X, K + 1)[1]


def usearch(X: np.ndarray) -> np.ndarray:
    from usearch.index import Index

    index = Index(
        ndim=X.shape[1],
        metric="l2sq",
        dtype="f32",
        connectivity=16,
        expansion_add=64,
        expansion_search=40,
    )
    index.add(np.arange(len(X)), X)
    return np.asarray(index.search(X, K + 1).keys).astype(np.int64)


def hnswlib(X: np.ndarray) -> np.ndarray:
    import hnswlib as library

    index = library.Index(space="l2", dim=X.shape[1])
    index.init_index(max_elements=len(X), ef_construction=100, M=16, random_seed=0)
    index.add_items(X)
    index.set_ef(40)
    return index.knn_query(X, K + 1)[0].astype(np.int64)


SEARCHES: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "graphsieve, exact": ("graphsieve", exact),
    "graphsieve, cells": ("graphsieve", cells),
    "pynndescent, 20": ("pynndescent", descent(20)),
    "pynndescent, 30": ("pynndescent", descent(30)),
    "faiss IVF": ("faiss", inverted_lists),
    "faiss HNSW": ("faiss", layers),
    "usearch": ("usearch", usearch),
    "hnswlib": ("hnswlib", hnswlib),
}


def forget_peak() -> None:
    """Reset the peak memory of the process, if the system supports it."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        print("the peak memory includes the creation of the table", file=sys.stderr)


def memory(field: str) -> float:
    """Return memory in MiB: VmHWM is the peak, VmRSS the current use."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def measured(call: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return the result, the seconds, and the peak memory above the initial memory in MiB."""
    forget_peak()
    before, start = memory("VmRSS"), time.perf_counter()
    result = call()
    return result, time.perf_counter() - start, memory("VmHWM") - before


def recall(X: np.ndarray, found: np.ndarray) -> float:
    from graphsieve.graphs.neighbors.exact import nearest_neighbors

    rows = np.sort(np.random.default_rng(1).choice(len(X), CHECKED, replace=False))
    right = nearest_neighbors(np.asarray(X, dtype=np.float64), K, queries=rows)[0]
    return (
        sum(len(np.intersect1d(mine, found[row])) for row, mine in zip(rows, right, strict=True))
        / right.size
    )


def one_search(name: str, kind: str, n: int, p: int) -> dict[str, float]:
    X, search = table(kind, n, p), SEARCHES[name][1]
    first, cold, extra = measured(lambda: search(X))
    again, warm, _ = measured(lambda: search(X))
    return {
        "cold": cold,
        "warm": warm,
        "memory": extra,
        "same": float((first == again).mean()),
        "recall": recall(X, first),
    }


def one_score(how: str, n: int, p: int) -> dict[str, Any]:
    from graphsieve import GraphSieve

    X = table("curved", n, p)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sieve, seconds, extra = measured(
            lambda: GraphSieve("laplacian", n_neighbors=K, scale=None, neighbors=how).fit(X)
        )
    return {
        "seconds": seconds,
        "memory": extra,
        "recall": sieve.neighbor_recall_,
        "table": X.nbytes / 2**20,
    }


def in_separate_process(*arguments: Any) -> dict[str, Any] | str:
    """Return the output of a separate process, or the reason of its failure."""
    try:
        done = subprocess.run(
            [sys.executable, __file__, "one", json.dumps(arguments)],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"more than {PATIENCE} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:90]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def searches(shapes: list[tuple[int, int]]) -> None:
    missing = sorted({package for package, _ in SEARCHES.values() if find_spec(package) is None})
    print(f"not installed: {', '.join(missing)}" if missing else "all libraries are installed")
    for n, p in shapes:
        for kind in KINDS:
            print(
                f"\n{kind}, {n:,} × "
                f"{p:,}\n{'':20}{'first, s':>10}{'second, s':>10}{'recall':>9}{'MiB':>8}{'same':>9}"
            )
            for name, (package, _) in SEARCHES.items():
                if package in missing:
                    continue
                found = in_separate_process("search", name, kind, n, p)
                if isinstance(found, str):
                    print(f"{name:20}{found}", flush=True)
                    continue
                times = f"{found['cold']:>10.2f}{found['warm']:>10.2f}"
                print(
                    f"{name:20}{times}{found['recall']:>9.4f}{found['memory']:>8.0f}{found['same']:>9.2%}",
                    flush=True,
                )


def scores() -> None:
    print("Laplacian score with neighbour search; curved surface, float32; memory above the table")
    for n, p, how in LARGE:
        found = in_separate_process("score", how, n, p)
        line = f"{n:>10,} × {p:<5,}{how:<13}"
        if not isinstance(found, str):
            right = "all" if found["recall"] is None else f"{found['recall']:.2%}"
            found = (
                f"{found['seconds']:8.1f} s {found['memory']:8.0f} MiB (table {found['table']:.0f} "
                f"MiB), recall {right}"
            )
        print(line + found, flush=True)


def main() -> None:
    """Print the tables."""
    if sys.argv[1:2] == ["one"]:
        what, *arguments = json.loads(sys.argv[2])
        print(json.dumps({"search": one_search, "score": one_score}[what](*arguments)))
    elif sys.argv[1:] == ["large"]:
        scores()
    else:
        searches(QUICK_SHAPES if sys.argv[1:] == ["quick"] else SHAPES)


if __name__ == "__main__":
    main()

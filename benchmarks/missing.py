"""Time of the Laplacian score and of the default for a table with gaps, relative to a complete table.

    OMP_NUM_THREADS=1 python benchmarks/missing.py [number of samples]

Five per cent of the cells of 500 related columns are missing at random. The two tables are timed in
turn, and the shortest of three times is reported. Memory is the peak allocated by Python, as a
multiple of the size of the table. The exit code is 1 if a table with gaps takes more than four
times as long as a complete one.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from graphsieve import GraphSieve
from graphsieve.scores import laplacian_score

LIMIT = 4.0  # time relative to that of the complete table
N_SAMPLES, N_FEATURES, N_FACTORS, N_LABELED = 20_000, 500, 10, 60
SHARE = 0.05  # of missing cells
REPEATS = 3


def tables(n_samples: int) -> tuple[Any, Any, Any]:
    """Create a complete table, the same table with gaps, and two classes."""
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(n_samples, N_FACTORS))
    complete = rng.normal(size=(n_samples, N_FEATURES))
    complete += factors @ rng.normal(size=(N_FACTORS, N_FEATURES))
    gaps = np.where(rng.random(complete.shape) < SHARE, np.nan, complete)
    return complete, gaps, (factors[:, 0] > 0).astype(int)


def selection(number: int | str, y: Any) -> Callable[[Any], Any]:
    def select(X: Any) -> Any:
        return GraphSieve(n_features_to_select=number).fit(X, None if y is None else y[: len(X)])

    return select


def seconds(work: Callable[[Any], Any], X: Any) -> float:
    start = time.perf_counter()
    work(X)
    return time.perf_counter() - start


def peak(work: Callable[[Any], Any], X: Any) -> float:
    """Return the largest amount of allocated memory, relative to the size of the table."""
    tracemalloc.start()
    work(X)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / X.nbytes


def main(n_samples: int) -> int:
    complete, gaps, classes = tables(n_samples)
    few = np.where(np.arange(n_samples) < N_LABELED, classes, -1)
    tasks: dict[str, Callable[[Any], Any]] = {"Laplacian score": laplacian_score}
    for number in (20, "auto"):
        for name, y in {"all": classes, str(N_LABELED): few, "no": None}.items():
            tasks[f"default ({number}), {name} labels"] = selection(number, y)
    for work in tasks.values():
        work(gaps[:500])  # The first call imports modules.
    print(f"{n_samples:,} × {N_FEATURES}, {SHARE:.0%} of the cells missing\n")
    print(f"{'':<30}{'complete':>12}{'gaps':>12}{'ratio':>8}{'memory':>10}{'gaps':>8}")
    largest = 0.0
    for name, work in tasks.items():
        times = [[seconds(work, X) for X in (complete, gaps)] for _ in range(REPEATS)]
        plain, other = np.min(times, axis=0)
        memory = [peak(work, X) for X in (complete, gaps)]
        largest = max(largest, other / plain)
        print(
            f"{name:<30}{plain:>10.2f} s{other:>10.2f} s{other / plain:>7.2f}×"
            f"{memory[0]:>9.1f}×{memory[1]:>7.1f}×",
            flush=True,
        )
    return int(largest > LIMIT)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else N_SAMPLES))

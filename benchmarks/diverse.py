"""Time and memory of the diverse search on large tables, relative to a pass over the table.

Usage: OMP_NUM_THREADS=1 python benchmarks/diverse.py

A pass is one product of the table with a vector, which reads every value once. Each selected column
needs three passes, or one if there are more rows than columns. The gains for the first column need
as many passes as the shorter side of the table is long, but at the speed of matrix products.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsieve import GraphSieve
from graphsieve.search import diverse_selection

CHOSEN = 100
HEADER = (
    f"{'table':<26}{'n × p':>17}{f'{CHOSEN} columns':>13}{'first':>10}"
    f"{'passes each':>13}{'MiB above':>11}{'/ table':>9}"
)


def seconds(work: Callable[[], Any], times: int = 1) -> float:
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def measured(name: str, X: Any) -> None:
    n_samples, n_features = X.shape
    rows = sp.csr_array(X) if sp.issparse(X) else X
    vector = np.random.default_rng(1).normal(size=n_samples)
    one_pass = seconds(lambda: rows.T @ vector, 5)
    ones = np.ones(n_features)
    few, many = (
        seconds(lambda k=k: diverse_selection(ones, X, n_features_to_select=k)) for k in (1, CHOSEN)
    )
    tracemalloc.start()
    diverse_selection(ones, X, n_features_to_select=10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    held = X.nnz * 12 if sp.issparse(X) else X.nbytes
    per_choice = (many - few) / (CHOSEN - 1)
    shape = f"{n_samples:,} × {n_features:,}"
    print(
        f"{name:<26}{shape:>17}{many:>11.2f} s{few:>8.2f} s{per_choice / one_pass:>13.1f}"
        f"{peak / 2**20:>11,.0f}{peak / held:>8.1f}×"
    )


def main() -> None:
    print(HEADER)
    rng = np.random.default_rng(0)
    for n_samples, n_features in ((500, 2_000), (500, 20_000), (2_000, 20_000), (20_000, 500)):
        hidden = rng.normal(size=(n_samples, 50)) @ rng.normal(size=(50, n_features))
        measured("dense, 50 latent factors", hidden + rng.normal(size=(n_samples, n_features)))
    for n_samples, n_features in ((2_000, 20_000), (20_000, 20_000)):
        measured(
            "sparse, 1 % nonzero",
            sp.random_array((n_samples, n_features), density=0.01, rng=rng, format="csc"),
        )
    X = rng.normal(size=(1_000, 50)) @ rng.normal(size=(50, 5_000)) + rng.normal(
        size=(1_000, 5_000)
    )
    y = np.where(np.arange(1_000) % 50 == 0, (X[:, 0] > 0).astype(int), -1)
    print(
        f"\nGraphSieve() with 20 labels, 1,000 × 5,000, {CHOSEN} features: "
        f"{seconds(lambda: GraphSieve(n_features_to_select=CHOSEN).fit(X, y)):.2f} s; "
        "automatic number: "
        f"{seconds(lambda: GraphSieve(n_features_to_select='auto').fit(X, y)):.2f} s"
    )


if __name__ == "__main__":
    main()

"""The iterative Laplacian score against the loop that anyone would write on scikit-learn's neighbours.

    python benchmarks/iterative.py    # exits with 1 if it is not 8 and 4 times faster, or if the orders differ

The loop searches neighbours anew in every round (brute force at BLAS speed, all cores) and scores all features by one sparse
product on centred columns: nothing in it is slow on purpose. Both run in this process, in turn; the best time of each counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from graphsieve.search import iterative_ranking

K = 5
CASES = ((500, 300, 1, 8.0, 3), (2_000, 1_000, 5, 4.0, 2))  # samples, features, step, times faster at least, repetitions


def table(n_samples: int, n_features: int) -> Any:
    """Three groups that differ in a tenth of the columns, the rest noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, n_features))
    relevant = n_features // 10
    X[:, :relevant] += 3 * rng.normal(size=(3, relevant))[rng.integers(3, size=n_samples)]
    return X


def loop(X: Any, step: int, bandwidth: float) -> Any:
    """Rank, drop, search again."""
    current, dropped = np.arange(X.shape[1]), []
    while len(current) > 1:
        order = current[np.argsort(laplacian(X[:, current], bandwidth), kind="stable")]
        size = max(len(current) - step, 1)
        dropped.append(order[size:])
        current = np.sort(order[:size])
    return np.concatenate([current, *dropped[::-1]])


def laplacian(rows: Any, bandwidth: float) -> Any:
    n_samples = len(rows)
    distances, near = NearestNeighbors(n_neighbors=K, algorithm="brute").fit(rows).kneighbors()
    weights = np.exp(-(distances**2 - distances.min() ** 2) / bandwidth)
    W = sp.csr_array((weights.ravel(), near.ravel(), np.arange(n_samples + 1) * K), shape=(n_samples, n_samples))
    W = W.maximum(W.T).tocsr()
    degree = np.asarray(W.sum(axis=1)).ravel()
    centered = rows - degree @ rows / degree.sum()
    spread = degree @ centered**2
    return (spread - np.einsum("ij,ij->j", centered, W @ centered)) / spread


def best_time(call: Callable[[], Any], repetitions: int) -> tuple[Any, float]:
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return result, min(times)


def main() -> int:
    good = True
    print(f"{'table':>14}  {'step':>4}  {'rounds':>6}  {'loop':>8}  {'graphsieve':>10}  {'faster':>7}  same order")
    for n_samples, n_features, step, wanted, repetitions in CASES:
        X = table(n_samples, n_features)
        bandwidth = float(n_features)
        ours, our_time = best_time(lambda: iterative_ranking(X, step=step, bandwidth=bandwidth), repetitions)  # noqa: B023
        theirs, their_time = best_time(lambda: loop(X, step, bandwidth), repetitions - 1)  # noqa: B023
        same = bool((ours == theirs).all())
        times = their_time / our_time
        good &= same and times >= wanted
        rounds = -(-(n_features - 1) // step)
        size = f"{n_samples:,} × {n_features:,}"
        print(
            f"{size:>14}  {step:>4}  {rounds:>6}  {their_time:>6.2f} s  {our_time:>8.2f} s  {times:>5.1f} ×  {same}", flush=True
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

"""Compare exact neighbours and the Laplacian score with scikit-learn and SciPy.

    python benchmarks/neighbors.py [quick]

All values of a line come from one run with alternating calls, and are the best of several. On a
busy machine ratios are more reliable than times. The limit is the time of a float32 product of
large matrices with all threads, for the work of a symmetric search. This work is n² p additions and
multiplications, because half of the n² inner products suffice.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from graphsieve import _kernels as kernels
from graphsieve import scores
from graphsieve.graphs.neighbors import exact as neighbors

K = 10
SHAPES = [
    (150, 4),
    (300, 20_000),
    (200, 7_000),
    (1_000, 50),
    (5_000, 200),
    (20_000, 3),
    (20_000, 50),
    (20_000, 1_000),
]
QUICK_SHAPES = SHAPES[:5]
PRODUCT = 3_000  # rows and columns of the matrices in the measurement of the limit
WIDTHS = (14, 9, 8, 9, 9, 8, 8, 10, 10)
PATIENCE = 4.0  # seconds per line, with at least two and at most MOST_TURNS turns
MOST_TURNS = 100


def plain_score(X: np.ndarray, bandwidth: float) -> np.ndarray:
    """Compute the Laplacian score in ten lines."""
    n = len(X)
    distances, near = NearestNeighbors(n_neighbors=K, algorithm="auto").fit(X).kneighbors()
    weights = np.exp(-(distances.ravel() ** 2) / bandwidth)
    half = sp.csr_array((weights, (np.repeat(np.arange(n), K), near.ravel())), shape=(n, n))
    W = half.maximum(half.T)
    degree = np.asarray(W.sum(axis=0)).ravel()
    F = X - (degree @ X) / degree.sum()
    spread = degree @ F**2
    return (spread - (F * (W @ F)).sum(axis=0)) / spread


def best_in_turns(calls: dict[str, Callable[[], Any]]) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the best time of each call, and its last result."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    results: dict[str, Any] = {}
    begin = time.perf_counter()
    for turn in range(MOST_TURNS):
        if turn >= 2 and time.perf_counter() - begin > PATIENCE:
            break
        for name, call in calls.items():
            start = time.perf_counter()
            results[name] = call()
            times[name].append(time.perf_counter() - start)
    return {name: min(found) for name, found in times.items()}, results


def product_call() -> Callable[[], Any]:
    one, other = np.random.default_rng(0).normal(size=(2, PRODUCT, PRODUCT)).astype(np.float32)
    return lambda: one @ other


def brute(X: Any) -> Callable[[], Any]:
    return lambda: NearestNeighbors(n_neighbors=K, algorithm="brute").fit(X).kneighbors()


def grouped(n: int, p: int) -> np.ndarray:
    """Create ten groups that differ in the first half of the columns."""
    rng = np.random.default_rng(0)
    centers = 2 * rng.standard_normal((10, p)) * (np.arange(p) < p / 2)
    return rng.standard_normal((n, p)) + centers[rng.integers(10, size=n)]


def dense_found(n: int, p: int) -> dict[str, float]:
    """Return all times, the limit, the largest relative difference between the scores, and the
    share of equal neighbours.
    """
    X = grouped(n, p)
    found, results = best_in_turns(
        {
            "score": lambda: scores.laplacian_score(X, n_neighbors=K, bandwidth=float(p)),
            "plain score": lambda: plain_score(X, float(p)),
            "near": lambda: neighbors.nearest_neighbors(X, K),
            "brute": brute(X),
            "product": product_call(),
        }
    )
    return found | {
        "limit": found["product"] * (n * n * p / (2 * PRODUCT**3)),
        "apart": float(np.abs(results["score"] / results["plain score"] - 1).max()),
        "agree": float(
            (np.sort(results["near"][0], axis=1) == np.sort(results["brute"][1], axis=1)).mean()
        ),
    }


def dense_line(n: int, p: int) -> str:
    found = dense_found(n, p)
    near = found["near"]
    return (
        f"{n:>7,} × "
        f"{p:<7,}{found['score']:>9.4f}{found['plain score']:>9.4f}{found['plain score'] / found['score']:>7.2f}×"
        f"{near:>9.4f}{found['brute']:>9.4f}{found['brute'] / near:>7.2f}×{found['limit'] / near:>8.0%}"
        f"{found['apart']:>10.0e}{found['agree']:>10.4%}"
    )


def sparse_found(n: int, p: int, filled: float) -> dict[str, float]:
    X = sp.random_array((n, p), density=filled, format="csr", rng=np.random.default_rng(0))
    found, _ = best_in_turns({"near": lambda: neighbors.nearest_neighbors(X, K)})
    return found | best_in_turns({"brute": brute(X)})[0]


def sparse_line(n: int, p: int, filled: float) -> str:
    found = sparse_found(n, p, filled)
    times = (
        f"{found['near']:.2f} s, scikit-learn {found['brute']:.2f} s, "
        f"{found['brute'] / found['near']:.1f}×"
    )
    return f"sparse {n:,} × {p:,} at {filled:.1%}: {times}"


def main() -> None:
    """Print one line per shape."""
    quick = sys.argv[1:] == ["quick"]
    print("compiled kernels" if kernels.compiled is not None else "plain kernels")
    print(
        f"{'':>17}{'Laplacian score':>26}{'':>12}{'exact neighbours':<22}{'share of':>8}{'scores':>10}{'same':>10}"
    )
    titles = ("ours, s", "plain", "ratio", "ours, s", "brute", "ratio", "limit", "differ", "edges")
    print(
        f"{'n × p':>12}"
        + "".join(f"{title:>{width}}" for title, width in zip(titles, WIDTHS, strict=True))
    )
    for n, p in QUICK_SHAPES if quick else SHAPES:
        print(dense_line(n, p), flush=True)
    print(sparse_line(*((2_000, 2_000, 0.005) if quick else (20_000, 20_000, 0.005))), flush=True)


if __name__ == "__main__":
    main()

"""Time of the default selection for a table with categories, relative to a table of numbers.

    OMP_NUM_THREADS=1 python benchmarks/categories.py [number of samples]

Both tables are data frames of 200 columns with the same information. In the second one, every
fourth column is text: the tenth of the values of the first table in which the value lies. These 50
categories of ten levels have 500 indicator columns. The tables are fitted alternately, and the best
of two times counts. The exit code is 1 if categories take more than three times as long.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd

from graphsieve import GraphSieve

LIMIT = 3.0  # time relative to that of numbers
N_SAMPLES, N_FEATURES, N_LABELED = 100_000, 200, 60
N_INFORMATIVE, N_DEPENDENT = 30, 70
REPEATS = 2
LEVELS = list("abcdefghij")


def tables(n_samples: int) -> tuple[pd.DataFrame, pd.DataFrame, Any]:
    """Create a table of numbers, the same table with categories, and three classes."""
    rng = np.random.default_rng(0)
    classes = rng.integers(3, size=n_samples)
    X = rng.normal(size=(n_samples, N_FEATURES))
    X[:, :N_INFORMATIVE] += classes[:, None] * rng.random(N_INFORMATIVE)
    X[:, N_INFORMATIVE : N_INFORMATIVE + N_DEPENDENT] += 0.7 * X[:, :N_DEPENDENT]
    numbers = pd.DataFrame(X).add_prefix("column ")
    mixed = numbers.copy()
    for name in numbers.columns[::4]:
        mixed[name] = pd.qcut(numbers[name], len(LEVELS), labels=LEVELS).astype(str)
    return numbers, mixed, classes


def seconds(number: int | str, X: pd.DataFrame, y: Any) -> float:
    start = time.perf_counter()
    GraphSieve(n_features_to_select=number).fit(X, y)
    return time.perf_counter() - start


def main(n_samples: int) -> int:
    numbers, mixed, classes = tables(n_samples)
    supervision = {
        "all": classes,
        str(N_LABELED): np.where(np.arange(n_samples) < N_LABELED, classes, -1),
        "none": None,
    }
    seconds(1, mixed[:1000], classes[:1000])  # The first call imports modules.
    print(f"{n_samples:,} × {N_FEATURES}, of which 50 columns are categories of ten levels\n")
    print(f"{'selected':<10}{'labels':>8}{'numbers':>12}{'categories':>12}{'ratio':>8}")
    largest = 0.0
    for number in (20, "auto"):
        for name, y in supervision.items():
            times = [[seconds(number, X, y) for X in (numbers, mixed)] for _ in range(REPEATS)]
            plain, other = np.min(times, axis=0)
            largest = max(largest, other / plain)
            print(f"{number!s:<10}{name:>8}{plain:>10.2f} s{other:>10.2f} s{other / plain:>7.2f}×")
    return int(largest > LIMIT)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else N_SAMPLES))

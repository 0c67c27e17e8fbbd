"""Many fits in one process keep their memory, and many commands at once do not disturb each other.

`benchmarks/endurance.py` measures the same with other scores, and with large files.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from graphsieve import GraphSieve, scores

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
N_BATCHES, BATCH = 4, 25  # together a hundred fits
WARM_UP = 5
# Bytes per fit. The lists in which Python and numpy keep freed objects for reuse fill up during the
# first fits, at up to 400 bytes per fit. The smallest table below has 960 bytes.
MOST_KEPT = 512
MOST_GROWTH = 5  # MiB of resident memory between the fits 50 and 1,000


def data(number, storage=np.asarray):
    random = np.random.default_rng(number)
    X = np.where(random.random((20 + number % 3, 6)) < 0.6, random.normal(size=6), 0.0)
    X = X + random.normal(size=X.shape) * (X != 0)
    return storage(X), np.arange(len(X)) % 2


def kept_per_fit(fit):
    """Return the bytes that remain allocated after a fit, on average over the best batch of fits.

    A leak adds to every batch.
    """
    for number in range(WARM_UP):
        fit(number)
    tracemalloc.start()
    try:
        traced = []
        for batch in range(N_BATCHES + 1):
            for number in range(BATCH if batch else 1):
                fit(number)
            gc.collect()
            traced.append(tracemalloc.get_traced_memory()[0])
        return np.diff(traced).min() / BATCH
    finally:
        tracemalloc.stop()


FITS = {
    "auto": lambda X, y: GraphSieve(n_features_to_select="auto").fit(X, y),
    "fixed": lambda X, y: GraphSieve(n_features_to_select=2).fit(X, y),
    "laplacian": lambda X, y: scores.laplacian_score(X),
    "fisher": scores.fisher_score,
    "relieff": scores.relieff_score,
}


SLOW = [(name, storage) for storage in (np.asarray, sp.csr_array) for name in FITS]
QUICK = [("fixed", np.asarray), ("fisher", sp.csr_array)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "storage"),
    [
        *QUICK,
        *(pytest.param(*one, marks=pytest.mark.slow) for one in SLOW if one not in QUICK),
    ],
)
def test_memory_is_flat_over_a_hundred_fits(name, storage):
    assert kept_per_fit(lambda number: FITS[name](*data(number, storage))) < MOST_KEPT


def test_a_hundred_fits_that_keep_their_table_are_noticed():
    kept = []

    def leaking(number):
        X, y = data(number)
        kept.append(X)
        scores.fisher_score(X, y)

    assert kept_per_fit(leaking) > MOST_KEPT


@pytest.mark.slow
@pytest.mark.parametrize("case", ["dense, auto", "sparse, auto", "dense, 5 features"])
def test_resident_memory_is_flat_over_a_thousand_fits(case):
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "endurance.py"), "--work", case],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    resident = json.loads(done.stdout.splitlines()[-1])["resident"]
    assert resident["1000"] - resident["50"] < MOST_GROWTH


@pytest.mark.slow
def test_fifty_commands_at_once(tmp_path):
    measure = f"import endurance; print(endurance.json.dumps(endurance.measure_commands({str(tmp_path)!r})))"
    done = subprocess.run(
        [sys.executable, "-c", measure],
        capture_output=True,
        text=True,
        check=True,
        cwd=BENCHMARKS,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["number"] == 50
    assert found["succeeded"] == found["succeeded alone"] == 50
    assert found["equal"] == found["outputs"] == 100
    assert (found["same succeeded"], found["same refused"], found["same equal"]) == (1, 49, True)
    assert found["files left"] == found["processes left"] == 0

"""Time and memory of out-of-core tables and of Dask arrays.

    python benchmarks/scale.py                       # all parts
    python benchmarks/scale.py memmap --gigabytes 2  # a smaller memory-mapped array
    python benchmarks/scale.py approximate dask      # single parts

All parts take half an hour on an idle machine, and 20 GB of disk space. Every case runs in a
separate process, because peak memory is a property of a process. The file of the memory-mapped
array is in a temporary folder. `--folder` sets its parent folder, which needs enough disk space.

- memmap: a table of 1,000,000 rows in a file, scored block by block within 3 GiB of resident
  memory. Some columns are also scored in memory and must have the same scores.
- approximate: the Laplacian score of 1,000,000 × 100 in memory and from a file, and the rank
  correlation with exact neighbours on 20,000 of the rows.
- dask: the same work with one and with two worker processes, compared with an array in memory, at
  40,000 × 200 and 100,000 × 500.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from memory import forget_peak, peak_memory, resident_memory

GIB = 2**30
ROWS = 1_000_000
ROWS_AT_ONCE = 4096
BUDGET = "1.5 GiB"  # working memory for blocks
NOISE = 0.05  # in every column; the sines have amplitudes from 1 to 0
MOST_RESIDENT = 3.0  # GiB, for the whole process
CHECKED_COLUMNS = 8  # columns that are also scored in memory
NEIGHBORS = 10
SUBSAMPLE = 20_000
SIZES = {"scaling": (40_000, 200), "overhead": (100_000, 500)}
FEW_ROWS = 400  # scored first, so that imports are not timed
LIMIT = 3600  # seconds per case
PARTS = ("memmap", "approximate", "dask")


def rows(n_samples: int, n_features: int, start: int, stop: int) -> tuple[Any, Any]:
    """Return some rows of the table, and their coordinates on a curved six-dimensional surface.

    The amplitude of the surface differs between the columns.
    """
    import numpy as np

    mixing = np.random.default_rng(7).normal(size=(6, n_features)).astype(np.float32)
    share = np.linspace(1.0, 0.0, n_features, dtype=np.float32)[
        np.random.default_rng(8).permutation(n_features)
    ]
    random = np.random.default_rng([11, start])
    places = random.standard_normal((stop - start, 6), dtype=np.float32)
    values = share * np.sin(places @ mixing)
    values += NOISE * random.standard_normal(values.shape, dtype=np.float32)
    return values, places


def table(n_samples: int, n_features: int, path: str | None = None) -> tuple[Any, dict[str, Any]]:
    """Create the table, in memory or in a file, with labels, a target and class probabilities."""
    import numpy as np

    shape = (n_samples, n_features)
    X = (
        np.empty(shape)
        if path is None
        else np.memmap(path, mode="w+", shape=shape, dtype=np.float64)
    )
    places = np.empty((n_samples, 6))
    for start in range(0, n_samples, ROWS_AT_ONCE):
        stop = min(start + ROWS_AT_ONCE, n_samples)
        X[start:stop], places[start:stop] = rows(n_samples, n_features, start, stop)
    return X, supervision(places)


def supervision(places: Any) -> dict[str, Any]:
    import numpy as np

    labels = (places[:, 0] > 0).astype(int) + 2 * (places[:, 1] > 0)
    probabilities = np.full((len(places), 4), 0.1)
    probabilities[np.arange(len(places)), labels] = 0.7
    return {"labels": labels, "target": places[:, 2], "probabilities": probabilities}


# ---- Cases. Each runs in a separate process and returns plain values.


def made(path: str, gigabytes: float) -> dict[str, Any]:
    """Write the file of the memory-mapped array."""
    import numpy as np

    n_features = int(gigabytes * 1e9 / 8 / ROWS)
    start = time.perf_counter()
    X, about = table(ROWS, n_features, path)
    X.flush()
    np.savez(f"{path}.npz", **about)
    return {
        "n": ROWS,
        "p": n_features,
        "gigabytes": X.nbytes / 1e9,
        "seconds": time.perf_counter() - start,
    }


def mapped(path: str, method: str, n: int, p: int) -> dict[str, Any]:
    """Run one method on the memory-mapped array."""
    import numpy as np

    import graphsieve

    about = dict(np.load(f"{path}.npz"))
    X = np.memmap(path, mode="r", shape=(n, p), dtype=np.float64)
    stored = graphsieve.stored(X, memory=BUDGET)
    few = np.ascontiguousarray(X[:, :: max(1, p // CHECKED_COLUMNS)])
    del X
    X = np.memmap(path, mode="r", shape=(n, p), dtype=np.float64)  # No page is resident yet.
    stored = graphsieve.stored(X, memory=BUDGET)
    call = calls(about)[method]
    found, taken, peak, messages = timed(lambda: call(stored))
    apart = None
    # These scores of a column do not depend on the other columns.
    if method in ("fisher", "weighted", "supervised"):
        here = call(few)
        apart = float(np.max(np.abs(found[:: max(1, p // CHECKED_COLUMNS)] / here - 1)))
    return {
        "method": method,
        "seconds": taken,
        "peak": peak / GIB,
        "apart": apart,
        "told": messages,
    }


def calls(about: dict[str, Any]) -> dict[str, Any]:
    from graphsieve import scores

    wide = {"n_neighbors": NEIGHBORS, "bandwidth": 1000.0, "neighbors": "approximate"}
    return {
        "fisher": lambda X: scores.fisher_score(X, about["labels"]),
        "weighted": lambda X: scores.weighted_laplacian_score(X, about["probabilities"]),
        "supervised": lambda X: scores.supervised_laplacian_score(X, about["target"]),
        "laplacian": lambda X: scores.laplacian_score(X, **wide),
    }


def timed(call: Any) -> tuple[Any, float, int, list[str]]:
    """Return the result, the seconds, the peak resident memory in bytes, and the warnings."""
    import graphsieve

    forget_peak()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        found = call()
        taken = time.perf_counter() - start
    messages = [
        str(one.message) for one in caught if issubclass(one.category, graphsieve.GraphSieveWarning)
    ]
    return found, taken, peak_memory(), messages


def approximate(path: str, where: str) -> dict[str, Any]:
    """Score 1,000,000 × 100 in memory or from a file, and compare with exact neighbours of some
    rows.
    """
    import numpy as np
    from scipy.stats import spearmanr

    import graphsieve
    from graphsieve import scores

    X, _ = table(ROWS, 100, None if where == "memory" else path)
    some = np.sort(np.random.default_rng(0).choice(ROWS, SUBSAMPLE, replace=False))
    part = np.array(X[some])
    given = {"n_neighbors": NEIGHBORS, "bandwidth": 100.0}
    exact = scores.laplacian_score(part, **given, neighbors="exact")
    if where == "file":
        X.flush()
        del X
        X = graphsieve.stored(
            np.memmap(path, mode="r", shape=(ROWS, 100), dtype=np.float64), memory="256 MiB"
        )
    before = resident_memory()
    found, taken, peak, messages = timed(
        lambda: scores.laplacian_score(X, **given, neighbors="approximate")
    )
    correlation = float(spearmanr(found, exact).statistic)
    return {
        "where": where,
        "seconds": taken,
        "peak": peak / GIB,
        "extra": (peak - before) / GIB,
        "order": correlation,
        "told": messages,
    }


def in_memory(size: str) -> dict[str, Any]:
    n, p = SIZES[size]
    X = table(n, p)[0]
    laplacian(X[:FEW_ROWS], p)  # Imports happen in the first call.
    found, taken, _, _ = timed(lambda: laplacian(X, p))
    return {"seconds": taken, "scores": found.tolist()}


def by_dask(size: str, workers: int) -> dict[str, Any]:
    """Measure the Laplacian score of a Dask array. The workers create the rows before the timing."""
    import dask.array as da
    from dask.distributed import Client, LocalCluster

    n, p = SIZES[size]
    step = -(-n // 16 // ROWS_AT_ONCE) * ROWS_AT_ONCE
    parts = [
        da.from_delayed(
            _delayed_rows(n, p, start, min(start + step, n)),
            (min(start + step, n) - start, p),
            float,
        )
        for start in range(0, n, step)
    ]
    X = da.concatenate(parts)
    with (
        LocalCluster(
            workers, threads_per_worker=1, dashboard_address=":0", processes=True
        ) as cluster,
        Client(cluster),
    ):
        X = X.persist()
        # The first call imports modules in every worker.
        laplacian(X[:FEW_ROWS].rechunk((FEW_ROWS // 8, -1)), p)
        found, taken, _, _ = timed(lambda: laplacian(X, p))
    return {"workers": workers, "seconds": taken, "scores": found.tolist()}


def _delayed_rows(n: int, p: int, start: int, stop: int) -> Any:
    import dask

    return dask.delayed(_many_rows, pure=True)(n, p, start, stop)


def _many_rows(n: int, p: int, start: int, stop: int) -> Any:
    import numpy as np

    found = np.empty((stop - start, p))
    for begin in range(start, stop, ROWS_AT_ONCE):
        end = min(begin + ROWS_AT_ONCE, stop)
        found[begin - start : end - start] = rows(n, p, begin, end)[0]
    return found


def laplacian(X: Any, p: int) -> Any:
    from graphsieve import scores

    return scores.laplacian_score(X, n_neighbors=NEIGHBORS, bandwidth=float(p), neighbors="exact")


# ---- Parts


def answer(case: str, *arguments: Any) -> dict[str, Any]:
    """Return the result of a case in a separate process, or {"failed": reason}."""
    print(
        f"… {case} {' '.join(map(str, arguments[1:] if len(arguments) > 1 else arguments))}",
        file=sys.stderr,
        flush=True,
    )
    command = [sys.executable, __file__, "--case", json.dumps([case, *arguments])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return {"failed": f"more than {LIMIT} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        errors = done.stderr.strip().splitlines()
        return {"failed": errors[-1][:200] if errors else "no output"}
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def memmap_part(folder: str, gigabytes: float) -> dict[str, Any]:
    path = str(Path(folder) / "table.dat")
    file = answer("made", path, gigabytes)
    methods = ["fisher", "weighted", "supervised", "laplacian"] if "failed" not in file else []
    return {
        "file": file,
        "methods": [answer("mapped", path, method, file["n"], file["p"]) for method in methods],
    }


def approximate_part(folder: str) -> dict[str, Any]:
    path = str(Path(folder) / "approximate.dat")
    return {"cases": [answer("approximate", path, where) for where in ("memory", "file")]}


def dask_part() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for size in SIZES:
        alone = answer("in_memory", size)
        workers = [answer("by_dask", size, number) for number in (1, 2)]
        for one in workers:
            if "scores" in one and "scores" in alone:
                pairs = zip(one.pop("scores"), alone["scores"], strict=True)
                one["apart"] = max(abs(mine / other - 1) for mine, other in pairs)
        alone.pop("scores", None)
        found[size] = {
            "n": SIZES[size][0],
            "p": SIZES[size][1],
            "memory": alone,
            "workers": workers,
        }
    return found


CASES = {one.__name__: one for one in (made, mapped, approximate, in_memory, by_dask)}


def measure(parts: list[str], gigabytes: float, parent: str | None) -> dict[str, Any]:
    folder = tempfile.mkdtemp(prefix="graphsieve-scale-", dir=parent)
    try:
        found: dict[str, Any] = {}
        if "memmap" in parts:
            found["memmap"] = memmap_part(folder, gigabytes)
        if "approximate" in parts:
            found["approximate"] = approximate_part(folder)
        if "dask" in parts:
            found["dask"] = dask_part()
        return found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main(given: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument(
        "--gigabytes", type=float, default=20.0, help="size of the memory-mapped array"
    )
    parser.add_argument("--folder", help="parent folder of the temporary files")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args(given)
    if options.case:
        name, *arguments = json.loads(options.case)
        print(json.dumps(CASES[name](*arguments)))
        return 0
    if unknown := [part for part in options.parts if part not in PARTS]:
        parser.error(f"there is no part {unknown[0]!r}; the parts are {', '.join(PARTS)}.")
    print(
        json.dumps(
            measure(options.parts or list(PARTS), options.gigabytes, options.folder), indent=1
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

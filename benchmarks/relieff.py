"""Compare ReliefF with skrebate and fast-select: time, agreement, growth and memory.

    python benchmarks/relieff.py           # comparison with the other packages
    python benchmarks/relieff.py growth    # graphsieve only: growth, and memory above X

Each package runs in a separate process that stays alive, so that compilation does not count. The
packages are called alternately with the same table, and the best time counts. skrebate needs
minutes, so it is called once per case, and only in cases with a target. The packages are searched
in this environment and in those of `peers.py`. A package that does not install is reported as
missing. The exit code is 1 if a target is missed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from math import log
from pathlib import Path
from typing import Any, NamedTuple

from memory import measured
from peers import installed_version, interpreter, print_table, progress

OURS, SKREBATE, FAST_SELECT = "graphsieve", "skrebate", "fast-select"
N_NEIGHBORS = 10
# Minimum and maximum number of turns, and seconds after which no further turn starts.
AT_LEAST, AT_MOST, ENOUGH = 3, 9, 10.0
GROWING = (
    (1_000, 200),
    (2_000, 200),
    (4_000, 200),
    (8_000, 200),
    (2_000, 400),
    (2_000, 800),
    (2_000, 1_600),
)
LARGE = (20_000, 500)


class Case(NamedTuple):
    """The size of a random table, and the target speed-up over each package that is called."""

    n_samples: int
    n_features: int
    n_classes: int
    targets: dict[str, float]


CASES = (
    Case(2_000, 200, 2, {SKREBATE: 5, FAST_SELECT: 1}),
    Case(2_000, 200, 5, {SKREBATE: 5, FAST_SELECT: 1}),
    Case(500, 2_000, 2, {FAST_SELECT: 1}),
    Case(200, 20_000, 2, {FAST_SELECT: 1}),
    Case(10_000, 50, 2, {FAST_SELECT: 1}),
)


def table(n_samples: int, n_features: int, n_classes: int) -> tuple[Any, Any]:
    """Create normally distributed columns, five of which depend on the classes."""
    import numpy as np

    rng = np.random.default_rng(0)
    y, X = rng.integers(n_classes, size=n_samples), rng.standard_normal((n_samples, n_features))
    X[:, :5] += y[:, None]
    return X, y


# --- In a separate process
# --------------------------------------------------------------------------------------------------


def our_scores(X: Any, y: Any) -> Any:
    from graphsieve.scores import relieff_score

    return relieff_score(X, y, n_neighbors=N_NEIGHBORS)


def scores_of_skrebate(X: Any, y: Any) -> Any:
    from skrebate import ReliefF

    return (
        ReliefF(n_features_to_select=1, n_neighbors=N_NEIGHBORS, n_jobs=-1)
        .fit(X, y)
        .feature_importances_
    )


def scores_of_fast_select(X: Any, y: Any) -> Any:
    from fast_select import ReliefF

    return ReliefF(n_neighbors=N_NEIGHBORS, backend="cpu", n_jobs=-1).fit(X, y).feature_importances_


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    OURS: our_scores,
    SKREBATE: scores_of_skrebate,
    FAST_SELECT: scores_of_fast_select,
}


def work(package: str) -> None:
    """Read paths of tables from stdin, and print the seconds and the scores of one call for each.

    A first call on a small table triggers imports and compilation.
    """
    import numpy as np

    warnings.simplefilter("ignore")
    CALLS[package](*table(40, 10, 2))
    for line in sys.stdin:
        with np.load(line.strip()) as data:
            X, y = data["X"], data["y"]
        start = time.perf_counter()
        scores = CALLS[package](X, y)
        print(json.dumps([time.perf_counter() - start, np.asarray(scores).tolist()]), flush=True)


def measure(n_samples: int, n_features: int) -> None:
    """Print the seconds, the MiB above X and the size of X in MiB for our call."""
    X, y = table(n_samples, n_features, 2)
    our_scores(*table(40, 10, 2))
    _, seconds, extra = measured(lambda: our_scores(X, y), 5)
    print(json.dumps([seconds, extra, X.nbytes / 2**20]))


# --- Alternating calls
# --------------------------------------------------------------------------------------------------


class Worker:
    """The process of a package."""

    def __init__(self, python: str, package: str) -> None:
        command = [python, __file__, "--work", package]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(python),
        )

    def answer(self, path: Path) -> tuple[float, list[float]]:
        """Return the seconds and the scores of one call."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of {self.process.args} has ended")
        seconds, scores = json.loads(line)
        return seconds, scores

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def environment(python: str) -> dict[str, str]:
    """Return the environment variables, without PYTHONPATH for another interpreter."""
    return {
        name: value
        for name, value in os.environ.items()
        if python == sys.executable or name != "PYTHONPATH"
    }


def python_of(package: str) -> tuple[str | None, str]:
    """Return the interpreter that has the package, and its version; or None and the reason."""
    here = installed_version(sys.executable, package)
    return (sys.executable, here) if here or package == OURS else interpreter(package)


def by_turns(
    case: Case, workers: dict[str, Worker], path: Path
) -> dict[str, tuple[float, list[float]]]:
    """Return the best time of each package in seconds, and its scores."""
    found: dict[str, tuple[float, list[float]]] = {}
    began, turn = time.perf_counter(), 0
    while turn < AT_LEAST or (turn < AT_MOST and time.perf_counter() - began < ENOUGH):
        for package, worker in workers.items():
            if (package != OURS and package not in case.targets) or (package == SKREBATE and turn):
                continue
            seconds, scores = worker.answer(path)
            found[package] = (min(seconds, found.get(package, (seconds,))[0]), scores)
        turn += 1
    return found


def difference(scores: list[float], ours: list[float]) -> float:
    """Return the largest difference, relative to our largest score."""
    return max(abs(a - b) for a, b in zip(scores, ours, strict=True)) / max(map(abs, ours))


def compare() -> bool:
    """Print the table, and return whether all targets are met."""
    import numpy as np

    state = {package: python_of(package) for package in CALLS}
    workers = {package: Worker(python, package) for package, (python, _) in state.items() if python}
    rows, reached = [], True
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            progress(f"{case.n_samples:,} × {case.n_features:,}, {case.n_classes} classes")
            path = Path(folder) / "case.npz"
            X, y = table(*case[:3])
            np.savez(path, X=X, y=y)
            found = by_turns(case, workers, path)
            seconds, ours = found.pop(OURS)
            for package, (theirs, scores) in found.items():
                ratio, target = theirs / seconds, case.targets[package]
                reached &= ratio >= target
                title = f"{case.n_samples:,} × {case.n_features:,}, {case.n_classes} classes"
                verdict = f"×{ratio:.1f}" + ("" if ratio >= target else f" MISSED ×{target}")
                rows.append(
                    [
                        title,
                        f"{seconds:.3f} s",
                        package,
                        f"{theirs:.3f} s",
                        verdict,
                        f"{difference(scores, ours):.0e}",
                    ]
                )
    for worker in workers.values():
        worker.close()
    print_table(
        ["table", "graphsieve", "peer", "time", "ratio", "largest difference"], rows, markdown=False
    )
    for package, (python, note) in state.items():
        print(f"{package} {note}" if python else f"{package} is missing: {note}")
    print(
        f"k = {N_NEIGHBORS}. Differences are relative to our largest score. Load before the last "
        f"case: {os.getloadavg()[0]:.1f}."
    )
    return bool(reached)


def growth() -> None:
    """Print time and memory for growing tables, each in a separate process, and the exponents."""
    found = {}
    for shape in (*GROWING, LARGE):
        progress(f"{shape[0]:,} × {shape[1]:,}")
        command = [sys.executable, __file__, "--measure", *map(str, shape)]
        found[shape] = json.loads(
            subprocess.run(command, capture_output=True, text=True, check=True).stdout
        )
    rows = [
        [f"{n:,} × {p:,}", f"{s:.3f} s", f"{extra:.0f} MiB", f"{x:.0f} MiB"]
        for (n, p), (s, extra, x) in found.items()
    ]
    print_table(["table", "time", "memory above X", "X"], rows, markdown=False)
    for what, ends in (
        ("samples", (GROWING[0], GROWING[3])),
        ("features", (GROWING[1], GROWING[6])),
    ):
        place = what == "features"
        exponent = log(found[ends[1]][0] / found[ends[0]][0]) / log(ends[1][place] / ends[0][place])
        print(f"time grows with the number of {what} to the power {exponent:.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2])
    elif sys.argv[1:2] == ["--measure"]:
        measure(int(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1:] == ["growth"]:
        growth()
    elif sys.argv[1:]:
        sys.exit(f"got {' '.join(sys.argv[1:])!r}, expected nothing or 'growth'.")
    else:
        sys.exit(not compare())

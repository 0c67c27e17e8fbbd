"""ReliefF beside skrebate and fast-select: times in one run, agreement, growth and memory. Exits
with 1 if a bar is missed.

    python benchmarks/relieff.py           # against the peers
    python benchmarks/relieff.py growth    # ours alone: growth with samples and features, memory above X

Each package has a process of its own that stays alive, so that whatever it compiles is compiled
before it is timed. They are called by turns with the same table, and of each the best time counts.
skrebate needs minutes, so it is called once a case, and only where there is a bar. Peers are found
in this environment or in those of `peers.py`; whoever is in neither and does not install is
missing.
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
from peers import installed_version, interpreter, print_table, say

OURS, SKREBATE, FAST_SELECT = "graphsieve", "skrebate", "fast-select"
N_NEIGHBORS = 10
# Turns of the quick ones, and seconds after which no further one starts
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
    """A table of random numbers, and by how much we must be faster than each peer that is asked."""

    n_samples: int
    n_features: int
    n_classes: int
    bars: dict[str, float]


CASES = (
    Case(2_000, 200, 2, {SKREBATE: 5, FAST_SELECT: 1}),
    Case(2_000, 200, 5, {SKREBATE: 5, FAST_SELECT: 1}),
    Case(500, 2_000, 2, {FAST_SELECT: 1}),
    Case(200, 20_000, 2, {FAST_SELECT: 1}),
    Case(10_000, 50, 2, {FAST_SELECT: 1}),
)


def table(n_samples: int, n_features: int, n_classes: int) -> tuple[Any, Any]:
    """Normal columns, of which five follow the classes."""
    import numpy as np

    rng = np.random.default_rng(0)
    y, X = rng.integers(n_classes, size=n_samples), rng.standard_normal((n_samples, n_features))
    X[:, :5] += y[:, None]
    return X, y


# --- In a process of its own
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
    """Answer each line, which names a table, with the seconds of one call and its scores; warm
    up first.
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
    """Seconds and MiB above X of our call."""
    X, y = table(n_samples, n_features, 2)
    our_scores(*table(40, 10, 2))
    _, seconds, extra = measured(lambda: our_scores(X, y), 5)
    print(json.dumps([seconds, extra, X.nbytes / 2**20]))


# --- The turns
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
        """Seconds and scores of one call."""
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
        """No further calls."""
        self.process.communicate()


def environment(python: str) -> dict[str, str]:
    """Ours, without the path to our own packages where the interpreter is another."""
    return {
        name: value
        for name, value in os.environ.items()
        if python == sys.executable or name != "PYTHONPATH"
    }


def python_of(package: str) -> tuple[str | None, str]:
    """The interpreter that has the package, and its version; or None and why there is none."""
    here = installed_version(sys.executable, package)
    return (sys.executable, here) if here or package == OURS else interpreter(package)


def by_turns(
    case: Case, workers: dict[str, Worker], path: Path
) -> dict[str, tuple[float, list[float]]]:
    """The best seconds of each package, and its scores."""
    found: dict[str, tuple[float, list[float]]] = {}
    began, turn = time.perf_counter(), 0
    while turn < AT_LEAST or (turn < AT_MOST and time.perf_counter() - began < ENOUGH):
        for package, worker in workers.items():
            if (package != OURS and package not in case.bars) or (package == SKREBATE and turn):
                continue
            seconds, scores = worker.answer(path)
            found[package] = (min(seconds, found.get(package, (seconds,))[0]), scores)
        turn += 1
    return found


def difference(scores: list[float], ours: list[float]) -> float:
    """The largest difference, in shares of our largest score."""
    return max(abs(a - b) for a, b in zip(scores, ours, strict=True)) / max(map(abs, ours))


def compare() -> bool:
    """Print the table; whether all bars were reached."""
    import numpy as np

    state = {package: python_of(package) for package in CALLS}
    workers = {package: Worker(python, package) for package, (python, _) in state.items() if python}
    rows, reached = [], True
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            say(f"{case.n_samples:,} × {case.n_features:,}, {case.n_classes} classes")
            path = Path(folder) / "case.npz"
            X, y = table(*case[:3])
            np.savez(path, X=X, y=y)
            found = by_turns(case, workers, path)
            seconds, ours = found.pop(OURS)
            for package, (theirs, scores) in found.items():
                ratio, bar = theirs / seconds, case.bars[package]
                reached &= ratio >= bar
                title = f"{case.n_samples:,} × {case.n_features:,}, {case.n_classes} classes"
                verdict = f"×{ratio:.1f}" + ("" if ratio >= bar else f" MISSED ×{bar}")
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
        ["table", "ours", "peer", "the peer's", "ratio", "largest difference"], rows, markdown=False
    )
    for package, (python, note) in state.items():
        print(f"{package} {note}" if python else f"{package} is missing: {note}")
    print(
        f"k = {N_NEIGHBORS}; differences are shares of our largest score; load before the last "
        f"case {os.getloadavg()[0]:.1f}"
    )
    return bool(reached)


def growth() -> None:
    """Time and memory of ours for growing tables, each in a process of its own, and the
    exponents between the ends.
    """
    found = {}
    for shape in (*GROWING, LARGE):
        say(f"{shape[0]:,} × {shape[1]:,}")
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

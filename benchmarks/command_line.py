"""Compare the time of the command line with that of an equivalent Python script.

    python benchmarks/command_line.py [--rows 10000] [--columns 100] [--repeats 5]

The script reads the table with pandas and calls `graphsieve.rank` with the same settings. This is
the shortest equivalent script. Each call runs in a separate process. `--help` must respond without
noticeable delay. The exit code is 1 if either takes too long.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

COMMAND = str(Path(sys.executable).parent / "graphsieve")
DIRECT = """
import sys, time
import pandas as pd
from graphsieve import rank
start = time.perf_counter()
X = pd.read_csv(sys.argv[1])
y = X.pop("class")
read = time.perf_counter()
ranking = rank(X, y, n_features_to_select="auto")
text = str(ranking)
print(read - start, time.perf_counter() - read)
"""


def write_table(path: Path, n_rows: int, n_columns: int) -> None:
    random = np.random.default_rng(0)
    hidden = random.normal(size=(n_rows, 12))
    X = hidden @ random.normal(size=(12, n_columns)) + random.normal(size=(n_rows, n_columns))
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join([*(f"x{j}" for j in range(n_columns)), "class"]) + "\n")
        for row, kind in zip(X, hidden[:, 0] > 0, strict=True):
            file.write(",".join([*(f"{value:.6g}" for value in row), "ab"[int(kind)]]) + "\n")


def seconds(command: list[str]) -> tuple[float, str]:
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return time.perf_counter() - start, done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        write_table(path, given.rows, given.columns)
        shell, script, reading, ranking, help_time = [], [], [], [], []
        # The calls alternate, so that other load on the machine affects both.
        for _ in range(given.repeats):
            shell.append(seconds([COMMAND, "rank", str(path), "--target", "class"])[0])
            took, printed = seconds([sys.executable, "-c", DIRECT, str(path)])
            script.append(took)
            read, ranked = map(float, printed.split())
            reading.append(read)
            ranking.append(ranked)
            help_time.append(seconds([COMMAND, "--help"])[0])
        print(f"{given.rows} × {given.columns}, median of {given.repeats}")
        print(f"graphsieve rank, from the shell           {statistics.median(shell):6.2f} s")
        print(f"Python script with pandas, from the shell {statistics.median(script):6.2f} s")
        print(
            f"  of which reading {statistics.median(reading):.2f} s, ranking "
            f"{statistics.median(ranking):.2f} s"
        )
        ratio = statistics.median(shell) / statistics.median(script)
        print(f"ratio to the script                       {ratio:6.2f}   (must be below 2)")
        print(
            f"graphsieve --help                         {1000 * statistics.median(help_time):6.0f} "
            "ms (must be below 150)"
        )
    return 0 if ratio < 2 and statistics.median(help_time) < 0.15 else 1


if __name__ == "__main__":
    sys.exit(main())

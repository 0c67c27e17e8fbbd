"""Many fits in one process, many commands at once, and large files from end to end.

    python benchmarks/endurance.py fits         # memory over 1,000 fits in one process
    python benchmarks/endurance.py commands     # 50 commands at once, and one after another
    python benchmarks/endurance.py files        # a CSV file of 2 GB, and 1,000,000 × 50

Without an argument all parts run. Large files are ranked by the command and by a script with
pandas, one after the other, each in a separate process. All processes use one thread, because a
busy machine affects several threads more than one. The files are written to --folder and removed.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from memory import resident_memory
from peers import progress

MIB, GIB = 2**20, 2**30
PARTS = ("fits", "commands", "files")
SETTINGS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
COMMAND = [sys.executable, "-m", "graphsieve"]
MOST_SECONDS = 3600

N_FITS = 1_000
MARKS = (50, 250, 500, 1_000)  # fits after which the memory is measured; the first is the warm-up
FITS = (
    "dense, auto",
    "dense, 5 features",
    "sparse, auto",
    "sparse, 5 features",
    "Laplacian score",
    "Fisher score",
    "ReliefF",
)
N_COMMANDS = 50


class FileCase(NamedTuple):
    """A file to rank: format, size, whether all rows have a label, and the number to select."""

    format: str
    n: int
    p: int
    labels: str
    top: str


FEW_LABELS = 1_000
FILES = (
    FileCase("csv", 400_000, 500, "all", "20"),
    FileCase("csv", 1_000_000, 50, "all", "auto"),
    FileCase("csv", 1_000_000, 50, "few", "auto"),
    FileCase("parquet", 1_000_000, 50, "all", "auto"),
    FileCase("parquet", 1_000_000, 50, "few", "auto"),
)
READERS = {
    "csv": {
        "pandas": "import pandas; pandas.read_csv(file)",
        "polars": "import polars; polars.read_csv(file)",
        "pyarrow": "import pyarrow.csv; pyarrow.csv.read_csv(file)",
    },
    "parquet": {
        "pandas": "import pandas; pandas.read_parquet(file)",
        "polars": "import polars; polars.read_parquet(file)",
        "pyarrow": "import pyarrow.parquet; pyarrow.parquet.read_table(file)",
    },
}
SCRIPT = """
import json, sys, time
import pandas
from graphsieve import GraphSieve
file, top = sys.argv[1:]
start = time.perf_counter()
frame = pandas.read_csv(file) if file.endswith("csv") else pandas.read_parquet(file)
y = frame.pop("class").to_numpy()
names, X = frame.columns, frame.to_numpy()
del frame
read = time.perf_counter()
sieve = GraphSieve(n_features_to_select=top if top == "auto" else int(top)).fit(X, y)
print(json.dumps({"read": read - start, "fit": time.perf_counter() - read,
                  "selected": list(names[sieve.get_support()])}))
"""


# --- many fits in one process ---


def fitting(case: str) -> Callable[[int], Any]:
    """Return a function that fits new data, so that a cache of earlier data would be visible."""
    import numpy as np
    import scipy.sparse as sp

    from graphsieve import GraphSieve, scores

    def data(number: int) -> tuple[Any, Any]:
        random = np.random.default_rng(number)
        hidden = random.normal(size=(80 + number % 7, 4))
        X = hidden @ random.normal(size=(4, 40)) + random.normal(size=(len(hidden), 40))
        if case.startswith("sparse"):
            X = sp.csr_array(np.where(np.abs(X) > 2, X, 0.0))
        return X, (hidden[:, 0] > 0).astype(int)

    calls: dict[str, Callable[[Any, Any], Any]] = {
        "auto": lambda X, y: GraphSieve(n_features_to_select="auto").fit(X, y),
        "5 features": lambda X, y: GraphSieve(n_features_to_select=5).fit(X, y),
        "Laplacian score": lambda X, y: scores.laplacian_score(X),
        "Fisher score": scores.fisher_score,
        "ReliefF": scores.relieff_score,
    }
    call = calls[case.rsplit(", ", maxsplit=1)[-1]]
    return lambda number: call(*data(number))


def memory_of_fits(case: str, n_fits: int = N_FITS) -> dict[str, Any]:
    """Return the resident memory in MiB after some of the fits. This runs in its own process."""
    import warnings

    fit = fitting(case)
    found = {}
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(1, n_fits + 1):
            fit(number)
            if number in MARKS:
                found[str(number)] = resident_memory() / MIB
    return {"case": case, "seconds": time.perf_counter() - start, "resident": found}


def measure_fits() -> list[dict[str, Any]]:
    return [answer(["--work", case], f"{N_FITS} fits: {case}") | {"case": case} for case in FITS]


def answer(arguments: list[str], title: str) -> dict[str, Any]:
    progress(title)
    done = subprocess.run(
        [sys.executable, __file__, *arguments],
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
        env=os.environ | SETTINGS,
    )
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["no output"])[-1][:100]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


# --- many commands at once ---


def start(folder: Path, arguments: list[str], **options: Any) -> subprocess.Popen[str]:
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    return subprocess.Popen(
        [*COMMAND, *arguments],
        env=os.environ | SETTINGS | {"TMPDIR": str(scratch)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def processes_of(folder: Path) -> int:
    """Count the processes that have the folder in their command line."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes())
        except OSError:
            continue  # The process has ended.
    return sum(str(folder).encode() in line for line in lines)


def measure_commands(parent: str | None = None, number: int = N_COMMANDS) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=parent) as name:
        folder = Path(name)
        table = folder / "table.csv"
        written(FileCase("csv", 300, 20, "all", "auto"), table)

        def rank(output: str) -> subprocess.Popen[str]:
            given = ["rank", str(table), "--target", "class", "-o", str(folder / output), "--quiet"]
            return start(folder, given)

        def wait(running: list[subprocess.Popen[str]]) -> list[tuple[int, str]]:
            said = [one.communicate()[1] for one in running]
            return [(one.returncode, text) for one, text in zip(running, said, strict=True)]

        progress(f"{number} commands at once")
        begin = time.perf_counter()
        together = wait([rank(f"together{i}.csv") for i in range(number)])
        middle = time.perf_counter()
        progress(f"{number} commands one after another")
        alone = [wait([rank(f"alone{i}.csv")])[0] for i in range(number)]
        end = time.perf_counter()
        outputs = [
            folder / f"{kind}{i}.csv" for kind in ("together", "alone") for i in range(number)
        ]
        first = folder / "alone0.csv"
        progress(f"{number} commands with the same output")
        same = wait([rank("same.csv") for _ in range(number)])
        expected = {"table.csv", "scratch", "same.csv", *(path.name for path in outputs)}
        left = {path.name for path in folder.iterdir()} - expected
        return {
            "number": number,
            "succeeded": sum(code == 0 for code, _ in together),
            "succeeded alone": sum(code == 0 for code, _ in alone),
            "equal": sum(
                path.exists() and filecmp.cmp(path, first, shallow=False) for path in outputs
            ),
            "outputs": len(outputs),
            "seconds": middle - begin,
            "seconds alone": end - middle,
            "same succeeded": sum(code == 0 for code, _ in same),
            "same refused": sum(code != 0 and "exists" in text for code, text in same),
            "same equal": filecmp.cmp(folder / "same.csv", first, shallow=False),
            "files left": len(left) + len(list((folder / "scratch").iterdir())),
            "processes left": processes_of(folder),
        }


# --- large files ---


def write_file(case: FileCase, path: Path, rows_at_once: int = 20_000) -> None:
    """Write a table of 12 hidden variables and noise, with seven decimal places."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    random = np.random.default_rng(0)
    names = [*(f"x{j}" for j in range(case.p)), "class"]
    schema = pa.schema([*((name, pa.float64()) for name in names[:-1]), ("class", pa.string())])
    loadings = random.normal(size=(12, case.p))
    share = FEW_LABELS / case.n if case.labels == "few" else 1.0
    options = pyarrow.csv.WriteOptions(quoting_style="none")
    writer = (
        pyarrow.csv.CSVWriter(path, schema, write_options=options)
        if case.format == "csv"
        else pyarrow.parquet.ParquetWriter(path, schema)
    )
    with writer:
        for first in range(0, case.n, rows_at_once):
            n_rows = min(rows_at_once, case.n - first)
            hidden = random.normal(size=(n_rows, 12))
            X = hidden @ loadings + random.normal(size=(n_rows, case.p))
            columns = [pa.array(column) for column in X.round(7).T]
            labels = np.where(hidden[:, 0] > 0, "a", "b")
            unknown = random.random(n_rows) >= share
            columns.append(pa.array(labels, mask=unknown))
            writer.write_table(pa.table(columns, schema=schema))


def written(case: FileCase, path: Path) -> None:
    """Write a file in a separate process.

    The peak memory of a command includes that of the process that starts it.
    """
    given = [sys.executable, __file__, "--write", json.dumps(case), str(path)]
    subprocess.run(given, check=True)


def timed(command: list[str]) -> dict[str, Any]:
    """Return time, processor time and peak memory of a command, and its last line of output."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        begin = time.perf_counter()
        running = subprocess.Popen(
            command, stdout=output, stderr=errors, env=os.environ | SETTINGS, text=True
        )
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
        taken = time.perf_counter() - begin
        for stream in (output, errors):
            stream.seek(0)
        if running.returncode:
            return {"failed": (errors.read().strip().splitlines() or ["no output"])[-1][:100]}
        unit = 1 if sys.platform == "darwin" else 1024
        return {
            "seconds": taken,
            "processor": used.ru_utime + used.ru_stime,
            "peak": used.ru_maxrss * unit / GIB,
            "line": (output.read().strip().splitlines() or [""])[-1],
        }


def measure_file(case: FileCase, parent: str | None = None) -> dict[str, Any]:
    import csv

    with tempfile.TemporaryDirectory(dir=parent) as name:
        path, output = Path(name) / f"table.{case.format}", Path(name) / "out.csv"
        progress(f"writing {case.format}, {case.n:,} × {case.p}")
        written(case, path)
        found: dict[str, Any] = case._asdict() | {"gigabytes": path.stat().st_size / 1e9}
        progress("the command")
        given = ["rank", str(path), "--target", "class", "--top", case.top, "-o", str(output)]
        found["command"] = timed([*COMMAND, *given, "--quiet"])
        progress("the script")
        found["script"] = timed([sys.executable, "-c", SCRIPT, str(path), case.top])
        found["readers"] = {}
        for package, code in READERS[case.format].items():
            progress(f"reading with {package}")
            found["readers"][package] = timed(
                [sys.executable, "-c", f"import sys; file = sys.argv[1]; {code}", str(path)]
            )
        if "failed" not in found["command"] and "failed" not in found["script"]:
            printed = json.loads(found["script"].pop("line"))
            with output.open(encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
            selected = {row["feature"] for row in rows if row["selected"] == "yes"}
            others = set(printed.pop("selected"))
            found["script"] |= printed
            found |= {"selected": len(selected), "shared": len(selected & others)}
            found["selected by script"] = len(others)
    for one in (found["command"], found["script"], *found["readers"].values()):
        one.pop("line", None)
    return found


def measure(parts: list[str] | None = None, folder: str | None = None) -> dict[str, Any]:
    parts = list(PARTS) if parts is None else parts
    found: dict[str, Any] = {}
    if "fits" in parts:
        found["fits"] = measure_fits()
    if "commands" in parts:
        found["commands"] = measure_commands(folder)
    if "files" in parts:
        found["files"] = [measure_file(case, folder) for case in FILES]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument("--folder", help="folder for large files (default: that of the system)")
    given = parser.parse_args()
    if unknown := [name for name in given.parts if name not in PARTS]:
        parser.error(f"there is no part {unknown[0]!r}; the parts are {', '.join(PARTS)}.")
    print(json.dumps(measure(given.parts or None, given.folder), indent=1))
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        print(json.dumps(memory_of_fits(sys.argv[2])))
    elif sys.argv[1:2] == ["--write"]:
        write_file(FileCase(*json.loads(sys.argv[2])), Path(sys.argv[3]))
    else:
        sys.exit(main())

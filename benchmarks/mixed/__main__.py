"""Compare selections on tables with categories: `python benchmarks/mixed results.jsonl`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # Each process uses one core.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

from graphsieve.datasets import DataUnavailableError  # noqa: E402
from mixed import data, missing, selections  # noqa: E402 - needs the path set above
from mixed.running import SIZES, Settings, read_records, run  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(prog="mixed", description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", default=Path("mixed.jsonl"))
    parser.add_argument("--tables", help="names of tables, separated by commas")
    parser.add_argument("--labels", default="60,all", help="numbers of known labels, or all")
    parser.add_argument("--methods", help="names of selections, separated by commas")
    parser.add_argument(
        "--missing", action="store_true", help="select from tables with their natural gaps"
    )
    parser.add_argument("--rows", type=int, default=2000, help="maximum number of rows")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    parser.add_argument("--only-table", action="store_true", help="print the results of the file")
    given = parser.parse_args()
    settings = Settings(given.rows, given.folds, given.repeats, given.seed, given.missing)
    if not given.only_table:
        names = _available(
            given.tables.split(",")
            if given.tables
            else missing.TABLES
            if given.missing
            else [*data.TARGETS, *data.CODED]
        )
        known = missing.WITH_GAPS if given.missing else selections.SELECTIONS
        methods = given.methods.split(",") if given.methods else list(known)
        levels = given.labels.split(",")
        run(names, levels, methods, settings, given.file, jobs=given.jobs, log=_log)
    records = [
        one
        for one in read_records(given.file)
        if one["settings"].get("missing", False) == given.missing
    ]
    complete = [one for one in records if "failed" not in one]
    print(_text(complete))
    if given.missing:
        print(missing.differences(complete).to_string())
    for one in records:
        if "failed" in one:
            print(f"{one['table']}, {one['level']} labels, {one['method']}: {one['failed']}")
    return 0


def _available(names: Sequence[str]) -> list[str]:
    found = []
    for name in names:
        try:
            data.read(name)
            found.append(name)
        except DataUnavailableError as error:
            _log(f"{name} is left out: {error}")
    return found


def _text(records: list[dict[str, Any]]) -> str:
    """Return the error of each selection on each table, and the means over the tables."""
    rows = pd.DataFrame(
        {"table": one["table"], "level": one["level"], "method": one["method"]}
        | {"learner": learner, "error": np.mean(errors)}
        for one in records
        for learner, errors in one["errors"].items()
    ).drop_duplicates(["table", "level", "method", "learner"], keep="last")
    parts = []
    for (level, learner), some in rows.groupby(["level", "learner"]):
        whole = some.pivot(index="table", columns="method", values="error").dropna()
        of_files = whole[whole.index.isin(list(data.TARGETS))]
        whole.loc[f"mean of {len(of_files)} CSV tables"] = of_files.mean()
        whole.loc[f"mean of {len(whole) - 1} tables"] = whole[:-1].mean()
        parts.append(f"{level} labels, {learner}, mean over {SIZES} features")
        parts.append(whole.round(3).to_string())
    return "\n".join(parts)


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())

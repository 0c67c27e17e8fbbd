"""Run all benchmarks and write benchmarks/README.md.

    python benchmarks/run.py                  # all parts with targets, except large tables
    python benchmarks/run.py --large          # all parts
    python benchmarks/run.py growth imports   # single parts; the results of the others stay
    python benchmarks/run.py --page           # only write the page again
    python benchmarks/run.py --list           # list the parts

On an idle machine the first call takes 15 minutes, and the second 30 minutes. The results are saved
in benchmarks/results.json after every part, with date and machine, so an interrupted run loses at
most one part. This process only starts others, because peak memory is a property of a process.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from suite.machine import facts
from suite.page import PARTS, Results, all_targets, page
from suite.part import Part

FOLDER = Path(__file__).parent
RESULTS, PAGE = FOLDER / "results.json", FOLDER / "README.md"


def rounded(value: Any) -> Any:
    """Round all numbers to five digits, which exceeds the precision of the measurements."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list | tuple) else value


def kept_results() -> Results:
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def keep(results: Results) -> None:
    """Write both files atomically, with the parts in the order of the page."""
    ordered = {part.name: results[part.name] for part in PARTS if part.name in results}
    for path, text in (
        (RESULTS, json.dumps(ordered, indent=1, ensure_ascii=False) + "\n"),
        (PAGE, page(ordered)),
    ):
        temporary = path.with_name(path.name + ".part")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)


def run_part(part: Part, machine: dict[str, Any]) -> dict[str, Any]:
    load, start = os.getloadavg()[0], time.perf_counter()
    try:
        found = part.measure()
    except Exception as problem:  # A failed part must not stop the others.
        found = {"failed": f"{type(problem).__name__}: {problem}"[:100]}
    taken = time.perf_counter() - start
    date = datetime.now(UTC).isoformat(timespec="seconds")
    return rounded(
        {"date": date, "seconds": taken, "load": load, "machine": machine, "found": found}
    )


def wanted_parts(names: list[str], large: bool) -> list[Part]:
    return [
        part
        for part in PARTS
        if part.name in names or (not names and (large or not part.large)) or (large and part.large)
    ]


def main(given: list[str]) -> int:
    """Run the parts, save the results and report all targets.

    Return 1 if a part could not be measured.
    """
    names = [part.name for part in PARTS]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="part",
        help="default: all parts with targets that are not large",
    )
    parser.add_argument(
        "--large",
        action="store_true",
        help="also run large tables, the diverse search and the quality benchmark",
    )
    parser.add_argument("--page", action="store_true", help="only write the page again")
    parser.add_argument("--list", action="store_true", help="list the parts")
    options = parser.parse_args(given)
    if unknown := [name for name in options.parts if name not in names]:
        parser.error(f"there is no part {unknown[0]!r}; the parts are {', '.join(names)}.")
    if options.list:
        print("\n".join(f"{part.name:<14}{part.title}" for part in PARTS))
        return 0
    results = kept_results()
    return run_all([] if options.page else wanted_parts(options.parts, options.large), results)


def run_all(parts: list[Part], results: Results) -> int:
    machine = rounded(facts()) if parts else {}
    begin, failed = time.perf_counter(), []
    for place, part in enumerate(parts, start=1):
        print(
            f"{time.perf_counter() - begin:5.0f} s  part {place} of {len(parts)}: {part.title}",
            file=sys.stderr,
            flush=True,
        )
        results[part.name] = run_part(part, machine)
        failed += [part.name] if "failed" in results[part.name]["found"] else []
        keep(results)
    keep(results)
    for target in all_targets(results):
        print(f"{target.verdict.strip('*'):<13} {target.claim}: {target.found} ({target.wanted})")
    for name in failed:
        print(f"not measured: {name} ({results[name]['found']['failed']})")
    print(f"The run took {time.perf_counter() - begin:.0f} s. The page is benchmarks/{PAGE.name}.")
    return 1 if failed else 0


def work(module: str, arguments: str) -> None:
    """Run a measurement in this process and print the result as the last line."""
    found = importlib.import_module(f"suite.{module}").work(**json.loads(arguments))
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(*sys.argv[2:4])
    else:
        sys.exit(main(sys.argv[1:]))

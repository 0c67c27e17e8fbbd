"""Render the page of all results, as a pure function of the measured values."""

from __future__ import annotations

from typing import Any

from suite import (
    endurance_part,
    floating,
    growth,
    imports,
    laplacian,
    large,
    machine,
    peers_part,
    scale_part,
    scoring_part,
    scripts,
)
from suite.part import Part, Target, table, wrapped

PARTS: tuple[Part, ...] = (
    machine.PART,
    laplacian.PART,
    large.PART,
    scale_part.PART,
    endurance_part.PART,
    peers_part.PART,
    scoring_part.PART,
    growth.PART,
    floating.PART,
    imports.PART,
    *scripts.PARTS,
)
OPENING = """\
# Benchmarks

`make bench` writes this page from `benchmarks/results.json`. Do not edit it by hand.

- `make bench` runs all parts that have targets, except for large tables.
- `make bench LARGE=1` runs all parts.
- `python benchmarks/run.py growth imports` runs single parts and keeps the results of the others.
- `python benchmarks/run.py --list` lists the parts.
- `python benchmarks/run.py --page` only writes the page again.

All values of a table come from one run. Most times are the best of several calls. On a busy machine
ratios are more reliable than times.
"""
FACTS = (
    ("processor", "processor"),
    ("cores", "cores"),
    ("memory", "memory"),
    ("BLAS", "blas"),
    ("Python", "python"),
    ("graphsieve", "graphsieve"),
    ("kernels", "kernels"),
    ("numpy", "numpy"),
    ("SciPy", "scipy"),
    ("scikit-learn", "scikit-learn"),
)
Results = dict[str, dict[str, Any]]


def measured(results: Results, part: Part) -> dict[str, Any] | None:
    """Return the result of a part, or None if it did not run or failed."""
    found: dict[str, Any] | None = results.get(part.name, {}).get("found")
    return None if found is None or "failed" in found else found


def all_targets(results: Results) -> list[Target]:
    return [target for part in PARTS for target in part.targets(measured(results, part))]


def latest(results: Results) -> dict[str, Any]:
    """Return the machine of the latest run that recorded one."""
    recorded = [one for one in results.values() if one["machine"].get("cores")]
    last = max(recorded, key=lambda result: result["date"], default={"machine": {}})
    machine_facts: dict[str, Any] = last["machine"]
    return machine_facts


def page(results: Results) -> str:
    """Return the Markdown of the whole page."""
    here = latest(results)
    targets = all_targets(results)
    reached = sum(target.met is True for target in targets)
    open_ones = sum(target.met is None for target in targets)
    lines = [
        OPENING,
        "## Targets",
        "",
        f"{reached} of {len(targets)} targets are met, and {open_ones} were not measured.",
        "",
    ]
    lines += table(
        ["", "target", "measured", "result"],
        [[target.claim, target.wanted, target.found, target.verdict] for target in targets],
    )
    lines += [
        "",
        "## Machine",
        "",
        *wrapped(
            "The values below were measured on this machine, unless the last line of a section "
            "reports a difference."
        ),
        "",
        *table(["", ""], [[title, fact(here, name)] for title, name in FACTS if name in here]),
    ]
    for part in PARTS:
        lines += ["", *section(part, results.get(part.name), here)]
    return "\n".join(lines) + "\n"


def fact(here: dict[str, Any], name: str) -> str:
    return f"{here[name]:.0f} GiB" if name == "memory" else str(here[name])


def section(part: Part, result: dict[str, Any] | None, here: dict[str, Any]) -> list[str]:
    lines = [f"## {part.title}", "", *wrapped(part.about), ""]
    if result is None:
        return [*lines, f"Not measured yet: `python benchmarks/run.py {part.name}`."]
    failed = result["found"].get("failed")
    lines += [f"Not measured: {failed}."] if failed else part.text(result["found"])
    return [*lines, "", *wrapped(run_line(result, here))]


def run_line(result: dict[str, Any], here: dict[str, Any]) -> str:
    """Return the date, the duration, the load of the machine and any differences between machines."""
    load = f"load before the run: {result['load']:.1f}" if "load" in result else result["remark"]
    line = f"*{result['date'][:10]}, {result['seconds']:.0f} s; {load}"
    other = [
        f"{title} {fact(result['machine'], name)}"
        for title, name in FACTS
        if name in result["machine"] and result["machine"][name] != here.get(name)
    ]
    return f"{line}{''.join(f'; {one}' for one in other)}.*"

"""The page of all results: a pure function of what was measured."""

from __future__ import annotations

from typing import Any

from suite import (
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
from suite.part import Bar, Part, table

PARTS: tuple[Part, ...] = (
    machine.PART,
    laplacian.PART,
    large.PART,
    scale_part.PART,
    peers_part.PART,
    scoring_part.PART,
    growth.PART,
    floating.PART,
    imports.PART,
    *scripts.PARTS,
)
OPENING = """\
# Benchmarks

Written by `make bench` from `benchmarks/results.json`; not edited by hand. `make bench LARGE=1` runs all of it, large tables
included; `python benchmarks/run.py growth imports` runs parts alone and leaves the others as they were (`--list` names them). All
figures of a table come from one run, the best of several where that is affordable: on a busy machine times mean little, ratios
more. Whether a bar is met is computed from the figures."""
FACTS = (
    ("processor", "processor"),
    ("cores", "cores"),
    ("memory", "memory"),
    ("products by", "blas"),
    ("Python", "python"),
    ("graphsieve", "graphsieve"),
    ("kernels", "kernels"),
    ("numpy", "numpy"),
    ("SciPy", "scipy"),
    ("scikit-learn", "scikit-learn"),
)
Results = dict[str, dict[str, Any]]


def measured(results: Results, part: Part) -> dict[str, Any] | None:
    """What was found, or None where the part did not run or failed."""
    found: dict[str, Any] | None = results.get(part.name, {}).get("found")
    return None if found is None or "failed" in found else found


def all_bars(results: Results) -> list[Bar]:
    return [bar for part in PARTS for bar in part.bars(measured(results, part))]


def latest(results: Results) -> dict[str, Any]:
    """The machine of the part that was run last."""
    last = max(results.values(), key=lambda result: result["date"], default={"machine": {}})
    machine_facts: dict[str, Any] = last["machine"]
    return machine_facts


def page(results: Results) -> str:
    """The Markdown of the whole page."""
    here = latest(results)
    bars = all_bars(results)
    reached = sum(bar.met is True for bar in bars)
    open_ones = sum(bar.met is None for bar in bars)
    lines = [
        OPENING,
        "",
        "## Bars",
        "",
        f"{reached} of {len(bars)} are met, {open_ones} were not measured.",
        "",
    ]
    lines += table(
        ["", "wanted", "found", "verdict"],
        [[bar.claim, bar.wanted, bar.found, bar.verdict] for bar in bars],
    )
    lines += [
        "",
        "## The machine",
        "",
        *table(["", ""], [[title, fact(here, name)] for title, name in FACTS if name in here]),
    ]
    for part in PARTS:
        lines += ["", *section(part, results.get(part.name), here)]
    return "\n".join(lines) + "\n"


def fact(here: dict[str, Any], name: str) -> str:
    return f"{here[name]:.0f} GiB" if name == "memory" else str(here[name])


def section(part: Part, result: dict[str, Any] | None, here: dict[str, Any]) -> list[str]:
    lines = [f"## {part.title}", "", part.about, ""]
    if result is None:
        return [*lines, f"Not measured yet: `python benchmarks/run.py {part.name}`."]
    failed = result["found"].get("failed")
    lines += [f"Not measured: {failed}."] if failed else part.text(result["found"])
    return [*lines, "", run_line(result, here)]


def run_line(result: dict[str, Any], here: dict[str, Any]) -> str:
    """When, how long, how busy the machine was with other things, and what differed from the
    machine above.
    """
    load = f"load before: {result['load']:.1f}" if "load" in result else result["remark"]
    line = f"*{result['date'][:10]}, {result['seconds']:.0f} s; {load}"
    other = [
        f"{title} {fact(result['machine'], name)}"
        for title, name in FACTS
        if name in result["machine"] and result["machine"][name] != here.get(name)
    ]
    return f"{line}{''.join(f'; {one}' for one in other)}.*"

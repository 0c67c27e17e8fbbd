"""Larger than memory, larger than one process: what `scale.py` finds."""

from __future__ import annotations

from typing import Any

import scale

from suite.part import Bar, Part, at_most, seconds, shape, table, times

GIGABYTES = 20.0
SAME = 1e-10
TITLES = {
    "fisher": "Fisher score (labels)",
    "weighted": "WLS (probabilities)",
    "supervised": "SLS (target)",
    "laplacian": "Laplacian score, approximate neighbours",
}


def measure() -> dict[str, Any]:
    return scale.measure(list(scale.PARTS), GIGABYTES, None)


def memmap_text(found: dict[str, Any]) -> list[str]:
    file = found["file"]
    if "failed" in file:
        return [f"Memory map: {file['failed']}."]
    lines = [
        f"A memory map of {file['gigabytes']:.0f} GB, {shape(file['n'], file['p'])}, with "
        f"{scale.BUDGET} for pieces:",
        "",
    ]
    rows = []
    for one in found["methods"]:
        if "failed" in one:
            rows.append([one["failed"], "", "", "", ""])
            continue
        apart = "–" if one["apart"] is None else f"{one['apart']:.0e}"
        rows.append(
            [
                TITLES[one["method"]],
                seconds(one["seconds"]),
                f"{one['peak']:.2f} GiB",
                apart,
                " ".join(one["told"]) or "–",
            ]
        )
    return lines + table(
        ["", "time", "resident, all of it", "apart from memory", "what it says"], rows
    )


def approximate_text(found: dict[str, Any]) -> list[str]:
    rows = []
    for one in found["cases"]:
        if "failed" in one:
            rows.append([one["failed"], "", "", "", ""])
            continue
        told = " ".join(one["told"]) or "–"
        rows.append(
            [
                one["where"],
                seconds(one["seconds"]),
                f"{one['extra']:.2f} GiB",
                f"{one['order']:.4f}",
                told,
            ]
        )
    lines = [
        f"The Laplacian score of {shape(scale.ROWS, 100)}, k = {scale.NEIGHBORS}, approximate "
        "neighbours, end to end:",
        "",
    ]
    header = [
        "X in",
        "time",
        "memory above X",
        f"order beside exact on {scale.SUBSAMPLE:,} rows",
        "what it says",
    ]
    return lines + table(header, rows)


def dask_text(found: dict[str, Any]) -> list[str]:
    rows = []
    for one in found.values():
        alone, workers = one["memory"], one["workers"]
        if "failed" in alone or any("failed" in worker for worker in workers):
            rows.append(
                [
                    shape(one["n"], one["p"]),
                    *[str(case.get("failed", "–")) for case in (alone, *workers)],
                    "",
                    "",
                    "",
                ]
            )
            continue
        first, second = workers
        apart = max(worker["apart"] for worker in workers)
        rows.append(
            [
                shape(one["n"], one["p"]),
                *[seconds(case["seconds"]) for case in (alone, first, second)],
                times(first["seconds"] / second["seconds"]),
                times(second["seconds"] / alone["seconds"]),
                f"{apart:.0e}",
            ]
        )
    lines = [
        "The exact Laplacian score of a Dask array, by processes of one thread, beside an array in "
        "memory (two threads):",
        "",
    ]
    return lines + table(
        ["", "memory", "1 process", "2 processes", "gain", "2 processes over memory", "apart"], rows
    )


def text(found: dict[str, Any]) -> list[str]:
    return [
        *memmap_text(found["memmap"]),
        "",
        *approximate_text(found["approximate"]),
        "",
        *dask_text(found["dask"]),
    ]


def bars(found: dict[str, Any] | None) -> list[Bar]:
    methods = [] if found is None else found["memmap"].get("methods", [])
    whole = bool(methods) and not any("failed" in one for one in methods)
    peak = max(one["peak"] for one in methods) if whole else None
    apart = max(one["apart"] for one in methods if one["apart"] is not None) if whole else None
    return [
        at_most(
            f"a memory map of {GIGABYTES:.0f} GB: resident memory",
            peak,
            scale.MOST_RESIDENT,
            " GiB",
        ),
        at_most("… with the scores of memory: largest relative difference", apart, SAME),
    ]


PART = Part(
    "scale",
    "Larger than memory, more than one process",
    "`python benchmarks/scale.py`: tables in a file and of Dask, each case in a process of its own "
    "(`make bench LARGE=1`).",
    measure,
    text,
    bars,
    large=True,
)

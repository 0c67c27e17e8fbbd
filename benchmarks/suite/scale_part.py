"""Tables larger than memory and several processes, measured by `scale.py`."""

from __future__ import annotations

from typing import Any

import scale

from suite.part import Part, Target, at_most, seconds, shape, table, times, warned, wrapped

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
        f"A memory-mapped array of {file['gigabytes']:.0f} GB, {shape(file['n'], file['p'])}, with "
        f"a working memory of {scale.BUDGET}:",
        "",
    ]
    rows = []
    for one in found["methods"]:
        if "failed" in one:
            rows.append([one["failed"], "", "", ""])
            continue
        apart = "–" if one["apart"] is None else f"{one['apart']:.0e}"
        rows.append(
            [
                TITLES[one["method"]],
                seconds(one["seconds"]),
                f"{one['peak']:.2f} GiB",
                apart,
            ]
        )
    return [
        *lines,
        *table(["", "time", "resident memory", "relative difference from an array"], rows),
        *warned((TITLES[one["method"]], one["told"]) for one in found["methods"] if "told" in one),
    ]


def approximate_text(found: dict[str, Any]) -> list[str]:
    rows = []
    for one in found["cases"]:
        if "failed" in one:
            rows.append([one["failed"], "", "", ""])
            continue
        rows.append(
            [
                one["where"],
                seconds(one["seconds"]),
                f"{one['extra']:.2f} GiB",
                f"{one['order']:.4f}",
            ]
        )
    lines = wrapped(
        f"The Laplacian score of {shape(scale.ROWS, 100)} with k = {scale.NEIGHBORS} and "
        "approximate neighbours, including the search. The last column is the rank correlation "
        f"with the exact score on {scale.SUBSAMPLE:,} rows:"
    )
    return [
        *lines,
        "",
        *table(["X in", "time", "memory above X", "rank correlation"], rows),
        *warned((one["where"], one["told"]) for one in found["cases"] if "told" in one),
    ]


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
    lines = wrapped(
        "The exact Laplacian score of a Dask array in processes with one thread each, compared "
        "with an array in memory and two threads:"
    )
    header = ["", "memory", "1 process", "2 processes", "speed-up", "2 processes / memory"]
    return [*lines, "", *table([*header, "difference"], rows)]


def text(found: dict[str, Any]) -> list[str]:
    return [
        *memmap_text(found["memmap"]),
        "",
        *approximate_text(found["approximate"]),
        "",
        *dask_text(found["dask"]),
    ]


def targets(found: dict[str, Any] | None) -> list[Target]:
    methods = [] if found is None else found["memmap"].get("methods", [])
    whole = bool(methods) and not any("failed" in one for one in methods)
    peak = max(one["peak"] for one in methods) if whole else None
    apart = max(one["apart"] for one in methods if one["apart"] is not None) if whole else None
    return [
        at_most(
            f"Memory-mapped array of {GIGABYTES:.0f} GB: resident memory",
            peak,
            scale.MOST_RESIDENT,
            " GiB",
        ),
        at_most(
            f"Memory-mapped array of {GIGABYTES:.0f} GB: largest relative difference", apart, SAME
        ),
    ]


PART = Part(
    "scale",
    "Out-of-core tables and several processes",
    "Measured by `python benchmarks/scale.py`: memory-mapped arrays and Dask arrays, each case in "
    "a separate process (`make bench LARGE=1`).",
    measure,
    text,
    targets,
    large=True,
)

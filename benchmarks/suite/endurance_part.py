"""Many fits, many commands at once and large files, measured by `endurance.py`."""

from __future__ import annotations

from typing import Any

import endurance

from suite.part import Part, Target, at_least, at_most, seconds, shape, table, times, wrapped

MOST_GROWTH = 5  # MiB of resident memory after the warm-up
MOST_TIME = 2.0  # time of the command relative to the script
MOST_MEMORY = 1.5  # peak memory of the command relative to the script
FORMATS = {"csv": "CSV", "parquet": "Parquet"}


def measure() -> dict[str, Any]:
    return endurance.measure()


def growth(one: dict[str, Any]) -> float:
    first, *_, last = endurance.MARKS
    return float(one["resident"][str(last)] - one["resident"][str(first)])


def fits_text(found: list[dict[str, Any]]) -> list[str]:
    marks = endurance.MARKS
    rows = [
        [one["case"], one["failed"], *[""] * len(marks)]
        if "failed" in one
        else [
            one["case"],
            *(f"{one['resident'][str(mark)]:.1f}" for mark in marks),
            f"{growth(one):.2f}",
        ]
        for one in found
    ]
    lines = wrapped(
        "Resident memory in MiB after a number of fits in one process. Every fit has new data of "
        f"about 80 × 40. The growth is measured from fit {marks[0]}:"
    )
    return [*lines, "", *table(["", *(f"{mark:,} fits" for mark in marks), "growth"], rows)]


def commands_text(found: dict[str, Any]) -> list[str]:
    number = found["number"]
    return wrapped(
        f"{number} simultaneous `graphsieve rank` commands take {seconds(found['seconds'])}, and "
        f"{seconds(found['seconds alone'])} if they run one after another "
        f"({times(found['seconds'] / found['seconds alone'])}). {found['succeeded']} of {number} "
        f"succeed, and {found['equal']} of {found['outputs']} outputs are equal. If all {number} "
        f"write the same file, {found['same succeeded']} succeeds and {found['same refused']} are "
        f"refused. Afterwards {found['files left']} temporary files and "
        f"{found['processes left']} processes are left."
    )


def title(one: dict[str, Any]) -> str:
    return (
        f"{FORMATS[one['format']]}, {shape(one['n'], one['p'])}, {one['gigabytes']:.1f} GB, "
        f"{one['labels']} labels, {one['top']}"
    )


def both(one: dict[str, Any]) -> bool:
    return not any("failed" in one[side] for side in ("command", "script"))


def ratio(one: dict[str, Any], what: str) -> float | None:
    return one["command"][what] / one["script"][what] if both(one) else None


def file_row(one: dict[str, Any]) -> list[str]:
    command, script = one["command"], one["script"]
    if not both(one):
        return [title(one), str(command.get("failed") or script.get("failed")), *[""] * 7]
    return [
        title(one),
        seconds(command["seconds"]),
        seconds(script["seconds"]),
        seconds(script["read"]),
        times(command["seconds"] / script["seconds"]),
        times(command["processor"] / script["processor"]),
        f"{command['peak']:.2f} GiB",
        f"{script['peak']:.2f} GiB",
        times(command["peak"] / script["peak"]),
    ]


def reader_cell(found: dict[str, Any]) -> str:
    return (
        found["failed"]
        if "failed" in found
        else f"{seconds(found['seconds'])}, {found['peak']:.2f} GiB"
    )


def files_text(found: list[dict[str, Any]]) -> list[str]:
    header = ["", "command", "script", "of which reading", "ratio", "ratio of processor time"]
    header += ["memory, command", "memory, script", "ratio"]
    packages = list(endurance.READERS["csv"])
    lines = wrapped(
        "Large files, ranked by `graphsieve rank` and by a script that reads the file with pandas "
        "and fits `GraphSieve` to the array. The two run one after the other in separate processes "
        "with one thread each. Times include the start of Python. Memory is the peak. *Few labels* "
        f"are about {endurance.FEW_LABELS:,}. The last entry of a title is the number of features "
        "to select:"
    )
    shared = "; ".join(f"{one['shared']} of {one['selected']}" for one in found if "shared" in one)
    return [
        *lines,
        "",
        *table(header, [file_row(one) for one in found]),
        "",
        *wrapped(f"Selected features that the command and the script have in common: {shared}."),
        "",
        "Time and peak memory of reading these files only, in a new process:",
        "",
        *table(
            ["", *packages],
            [
                [title(one), *(reader_cell(one["readers"][name]) for name in packages)]
                for one in found
            ],
        ),
    ]


def text(found: dict[str, Any]) -> list[str]:
    return [
        *fits_text(found["fits"]),
        "",
        *commands_text(found["commands"]),
        "",
        *files_text(found["files"]),
    ]


def largest(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return max(known) if known and len(known) == len(values) else None


def targets(found: dict[str, Any] | None) -> list[Target]:
    fits, files = ([], []) if found is None else (found["fits"], found["files"])
    commands = {} if found is None else found["commands"]
    number, growths = (
        endurance.N_COMMANDS,
        [None if "failed" in one else growth(one) for one in fits],
    )
    equal = None if not commands else min(commands["succeeded"], commands["equal"] / 2)
    refused = commands.get("same refused") if commands.get("same succeeded") == 1 else None
    left = None if not commands else commands["files left"] + commands["processes left"]
    return [
        at_most(
            f"{endurance.N_FITS:,} fits in one process: largest growth of resident memory",
            largest(growths),
            MOST_GROWTH,
            " MiB",
        ),
        at_least(f"{number} commands at once: successful, with equal outputs", equal, number),
        at_least(f"{number} commands with the same output: refused", refused, number - 1),
        at_most(f"{number} commands at once: files and processes left", left, 0),
        at_most(
            "Large files: time of the command relative to pandas and a fit",
            largest([ratio(one, "seconds") for one in files]),
            MOST_TIME,
            "×",
        ),
        at_most(
            "Large files: memory of the command relative to pandas and a fit",
            largest([ratio(one, "peak") for one in files]),
            MOST_MEMORY,
            "×",
        ),
    ]


PART = Part(
    "endurance",
    "Endurance",
    "Measured by `python benchmarks/endurance.py` (`make bench LARGE=1`).",
    measure,
    text,
    targets,
    large=True,
)

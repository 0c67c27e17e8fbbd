"""Tables of the results: a block for each kind of supervision, and blocks for several kinds."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from graphsieve.assess.evaluation.results import standard_error, table_lines
from quality import summary
from quality.candidates import CANDIDATES
from quality.knowledge import ALL, FEW, NAMES
from quality.running import ALL_LABELS, KNOWN_LABELS, Settings
from quality.sets import LEARNER_TITLES

TASKS = ("classification", "regression")
BLOCKS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "no supervision": (["none"], TASKS),
    "a few labels": (FEW, ["classification"]),
    "a few targets": (FEW, ["regression"]),
    "pairs": (["pairs"], TASKS),
    "class probabilities": (["expert"], TASKS),
    "labels or targets": (FEW, TASKS),
    "all labels": ([ALL], ["classification"]),
    "all targets": ([ALL], ["regression"]),
    "all labels or targets": ([ALL], TASKS),
    "all levels": (NAMES, TASKS),
}
"""The levels of supervision and the tasks of each block."""
LEGEND = (
    "A cell is a data set at one level of supervision. Numbers in brackets after a method count its "
    "cells, if it did not run in all of them, and its failures.",
    "rank: mean rank over cells and learners. place: the same rank scaled from 0 (first) to "
    "100 (last).",
    "k-NN, linear, trees: mean error over numbers of columns, folds and cells. The error is the share of "
    "wrong classes, or the RMSE relative to predicting the mean.",
    "minus random: the error minus that of random columns, ± its standard error over data sets.",
    "worse / better: share of data sets × learners with a significant difference from random "
    "columns. The test is paired over folds, at p < .05. It is corrected for shared training rows, "
    "but not for the number of tests.",
    "failed: cells without a result. They rank last and count as random columns in the means.",
    "seconds: median time of a selection.",
)

TRAINED_ON = {
    ALL_LABELS: "The learners train on all labels of the training rows.",
    KNOWN_LABELS: "The learners train on the rows with known labels only.",
}
RIVALS = (
    *("fastcan", "score_unlike", "jmi", "cmim", "ridge_rfe", "forests_unlike", "mrmr"),
    *("equal_weights", "pivoted_qr", "hsic_lasso"),
)
"""Methods with which the default is compared one by one."""
WIDTH = 100  # columns of the prose
Summary = dict[str, Any]  # The values of one run, ready for JSON.


def report(
    records: Iterable[Mapping[str, Any]],
    settings: Settings,
    *,
    markdown: bool = False,
    detail: bool = False,
) -> str:
    """Return the tables of all blocks that have cells, with a comparison of the default."""
    mine = of_settings(records, settings)
    run = summarised(mine, settings)
    details = (
        [_cell(key, cell, run["learners"], markdown) for key, cell in summary.grid(mine).items()]
        if detail
        else []
    )
    parts = text_of(run, markdown=markdown, details=details)
    return "\n\n".join([*parts, "\n".join(textwrap.fill(line, WIDTH) for line in LEGEND)])


# --- Values
# --------------------------------------------------------------------------------------------------


def of_settings(records: Iterable[Mapping[str, Any]], settings: Settings) -> list[Any]:
    """Return the records with these settings. Records with other settings are not comparable."""
    return [record for record in records if record["settings"] == asdict(settings)]


def summarised(records: Sequence[Mapping[str, Any]], settings: Settings) -> Summary:
    """Return everything that the tables show, as values that JSON can store."""
    found = summary.grid(records)
    blocks: list[Summary] = []
    shown: list[list[Any]] = []
    tasks = {record["set"]: record["task"] for record in records}
    titles = _learner_titles(records)
    for title, (levels, of_tasks) in BLOCKS.items():
        cells = {
            key: cell
            for key, cell in summary.of_levels(found, levels).items()
            if tasks[key[0]] in of_tasks
        }
        if cells and list(cells) not in shown:
            shown.append(list(cells))
            blocks.append(_block(title, cells, titles))
    ran = {name for cell in found.values() for name in cell}
    return {
        "settings": asdict(settings),
        "learners": titles,
        "limits": sorted({record["limit"] for record in records}),
        "longer": _longer(records),
        "sets": len({name for name, _ in found}),
        "blocks": blocks,
        "not_run": [_with_package(name) for name in CANDIDATES if name not in ran],
        "failures": _failures(records),
    }


def _learner_titles(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the titles of the learners, of which both tasks have one at the same position."""
    names = next((record["errors"] for record in records if not record["failed"]), ())
    return [LEARNER_TITLES[name] for name in names]


def _block(title: str, found: summary.Grid, learners: Sequence[str]) -> Summary:
    rows = summary.block(found)
    return {
        "title": title,
        "sets": len({name for name, _ in found}),
        "cells": len(found),
        "levels": [level for level in NAMES if any(level == other for _, other in found)],
        "rows": [_without_nan(asdict(row)) for row in rows],
        **(
            {"default": _default(found, rows, learners), "rivals": _rivals(found)}
            if any(row.method == "ours" for row in rows)
            else {}
        ),
    }


def _default(found: summary.Grid, rows: Sequence[summary.Row], learners: Sequence[str]) -> Summary:
    """Compare the default with the best single method, and list where random columns are better."""
    best = summary.best_single(rows)
    paired = None if best is None else summary.paired(found, "ours", best.method)
    compared: Summary = {"best": None}
    if best is not None and paired is not None:
        compared = {"best": best.method} | asdict(paired)
    worse = [
        f"{name} {level} {learners[learner]} ({signed(test.difference)}, p = {test.p:.2g})"
        for name, level, learner, test in summary.worse_cells(found, "ours")
    ]
    return _without_nan(compared) | {"worse_than_random": worse}


def _rivals(found: summary.Grid) -> Summary:
    """Compare the default with each rival that ran."""
    pairs = {name: summary.paired(found, "ours", name) for name in RIVALS}
    return {name: _without_nan(asdict(one)) for name, one in pairs.items() if one is not None}


def _failures(records: Iterable[Mapping[str, Any]]) -> list[Summary]:
    """Return each reason for which a method failed, with the cells."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for record in records:
        if record["failed"]:
            reasons.setdefault((record["method"], record["failed"]), []).append(
                f"{record['set']} {record['knowledge']}"
            )
    return [
        {"method": method, "reason": reason, "cells": cells}
        for (method, reason), cells in reasons.items()
    ]


def _longer(records: Sequence[Mapping[str, Any]]) -> Summary:
    """Return the methods with a longer time limit than others: the limit, and how many cells needed
    it.
    """
    usual = min((record["limit"] for record in records), default=0.0)
    found: Summary = {}
    for record in records:
        if record["limit"] > usual:
            one = found.setdefault(record["method"], {"limit": usual, "cells": 0})
            one["limit"] = max(one["limit"], record["limit"])
            one["cells"] += not record["failed"] and max(record["seconds"]) > usual
    return found


def _without_nan(values: Summary) -> Summary:
    """Replace NaN, which JSON cannot store, by None."""
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in values.items()
    }


# --- Text
# --------------------------------------------------------------------------------------------------


def text_of(run: Summary, *, markdown: bool, details: Sequence[str] = ()) -> list[str]:
    """Return the paragraphs and tables of a run."""
    settings = run["settings"]
    times = f"{settings['folds']} folds" + (
        f" × {settings['repeats']}" if settings["repeats"] > 1 else ""
    )
    parts = [
        f"{count(run['sets'], 'data set')} with at most {settings['rows']} rows, {times}. "
        f"{TRAINED_ON[settings['protocol']]}",
        *(_block_text(block, run["learners"], markdown) for block in run["blocks"]),
        *details,
    ]
    if run["not_run"]:
        parts.append(textwrap.fill(f"Not run: {', '.join(run['not_run'])}.", WIDTH))
    if run["failures"]:
        bullet = "- " if markdown else "  "
        lines = [
            f"{bullet}{one['method']} ({one['reason']}): {', '.join(one['cells'])}"
            for one in run["failures"]
        ]
        parts.append("\n".join(["Failed:", *([""] if markdown else []), *lines]))
    return parts


def _block_text(block: Summary, learners: Sequence[str], markdown: bool) -> str:
    title = (
        f"{block['title'].capitalize() if markdown else block['title']}: "
        f"{count(block['sets'], 'data set')}, {count(block['cells'], 'cell')} "
        f"({', '.join(block['levels'])})"
    )
    header = [
        "method",
        "rank (place)",
        *learners,
        "minus random",
        "worse / better",
        "seconds",
    ]
    rows = [header, *(_shown(row, block["cells"]) for row in block["rows"])]
    texts = default_text(block["default"]) if "default" in block else []
    compared = [textwrap.fill(text, WIDTH, break_on_hyphens=False) for text in texts]
    return "\n".join([_heading(title, markdown), *lines_of(rows, markdown), *compared])


def _shown(row: Summary, cells: int) -> list[str]:
    counts = [
        *([] if row["cells"] == cells else [count(row["cells"], "cell")]),
        *([f"{row['failed']} failed"] if row["failed"] else []),
    ]
    return [
        row["method"] + (f" ({', '.join(counts)})" if counts else ""),
        ranked(row),
        *(number(error, 3) for error in row["errors"]),
        difference(row),
        shares(row),
        "" if row["seconds"] is None else f"{row['seconds']:.2g}",
    ]


def ranked(row: Summary) -> str:
    """Return the mean rank with the scaled rank in brackets; empty for all columns."""
    return "" if row["rank"] is None else f"{row['rank']:.1f} ({100 * row['place']:.0f})"


def difference(row: Summary) -> str:
    """Return the difference from random columns ± its standard error; empty for random columns."""
    if row["method"] == "random" or row["difference"] is None:
        return ""
    return signed(row["difference"]) + plus_minus(row["standard_error"])


def shares(row: Summary) -> str:
    """Return the shares of significantly worse and better results; empty for random columns."""
    if row["method"] == "random" or row["worse"] is None:
        return ""
    return f"{100 * row['worse']:.0f} % / {100 * row['better']:.0f} %"


def default_text(compared: Summary) -> list[str]:
    lines = []
    if compared["best"] is not None:
        lines.append(
            f"Error of the default minus that of the best other method ({compared['best']}): "
            f"{signed(compared['difference'])}{plus_minus(compared['standard_error'])}."
        )
    worse = ", ".join(compared["worse_than_random"])
    return [
        *lines,
        f"Cells where the default is significantly worse than random: {worse or 'none'}.",
    ]


def _cell(
    key: summary.Key,
    cell: dict[str, summary.Result],
    learners: Sequence[str],
    markdown: bool,
) -> str:
    """Return the table of one cell: errors ± corrected standard errors, and p-values of the
    differences from random columns.
    """
    ranks = summary.ranks(cell)
    rows = [["method", "rank", *learners, *(f"p {learner}" for learner in learners)]]
    for name in sorted(cell, key=lambda name: ranks.get(name, math.inf)):
        result = cell[name]
        if result.errors is None:
            rows.append([name, number(ranks[name], 1), "failed", *[""] * (2 * len(learners) - 1)])
            continue
        tests = summary.verdicts({key: cell}, name)
        errors = [
            number(values.mean(), 3)
            + plus_minus(standard_error(values, test_ratio=result.test_ratio))
            for values in result.errors
        ]
        p = [
            "" if name == "random" or (key[0], i) not in tests else f"{tests[key[0], i].p:.2g}"
            for i in range(len(learners))
        ]
        rows.append([name, number(ranks.get(name, math.nan), 1), *errors, *p])
    return "\n".join([_heading(f"{key[0]}, {key[1]}", markdown), *lines_of(rows, markdown)])


def _with_package(name: str) -> str:
    candidate = CANDIDATES[name]
    return name if candidate.installed else f"{name} (package {candidate.package} is not installed)"


def count(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


def _heading(text: str, markdown: bool) -> str:
    return f"### {text}\n" if markdown else f"{text}\n{'─' * len(text)}"


def lines_of(rows: Sequence[Sequence[str]], markdown: bool) -> list[str]:
    if not markdown:
        return table_lines(rows, left=[True] + [False] * (len(rows[0]) - 1))
    header, *rest = (f"| {' | '.join(row)} |" for row in rows)
    return [header, f"|---|{'---:|' * (len(rows[0]) - 1)}", *rest, ""]


def number(value: float | None, digits: int) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def signed(value: float) -> str:
    return "" if math.isnan(value) else f"{value:+.3f}".replace("-", "−")


def plus_minus(error: float | None) -> str:
    return "" if error is None or math.isnan(error) else f" ± {error:.3f}"

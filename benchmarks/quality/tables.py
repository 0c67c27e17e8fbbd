"""The results as people read them: a block for each kind of knowledge, one for labels and
targets together, one for all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from graphsieve.assess.evaluation.results import standard_error, table_lines
from quality import summary
from quality.candidates import CANDIDATES
from quality.knowledge import LEVELS
from quality.running import Settings

BLOCKS = {
    "nothing known": ["nothing"],
    "a few labels": ["labels"],
    "a few targets": ["targets"],
    "pairs": ["pairs"],
    "a doubting expert": ["probabilities"],
    "labels or targets": ["labels", "targets"],
    "everything": ["nothing", "labels", "targets", "pairs", "probabilities"],
}
HEADER = [
    "method",
    "rank",
    "place",
    "k-NN",
    "linear",
    "to random",
    "±",
    "worse",
    "better",
    "failed",
    "seconds",
]
LEGEND = (
    "rank: mean over cells (data set × knowledge) and both learners; place: the same from 0 "
    "(first) to 100 (last).",
    "k-NN, linear: mean error over sizes, folds and cells (share of wrong classes, or RMSE "
    "relative to predicting the mean).",
    "to random: error minus that of random columns, ± its standard error over data sets.",
    "worse, better: share of data sets × learners that differ significantly from random (p < .05, "
    "paired over folds, corrected",
    "for shared training rows, not for the number of tests).",
    "failed: cells without a result; they rank last and count as random in the means. seconds: "
    "median of a selection.",
)


def report(
    records: Iterable[Mapping[str, Any]],
    settings: Settings,
    *,
    markdown: bool = False,
    detail: bool = False,
) -> str:
    """All blocks that have cells, and what they say of our default."""
    mine = [record for record in records if record["settings"] == asdict(settings)]
    found = summary.grid(mine)
    times = f"{settings.folds} folds" + (f" × {settings.repeats}" if settings.repeats > 1 else "")
    parts = [
        f"{len({name for name, _ in found})} data sets of at most {settings.rows} rows, {times}"
    ]
    shown: list[list[Any]] = []
    for title, kinds in BLOCKS.items():
        cells = summary.of_kinds(found, kinds)
        if cells and list(cells) not in shown:
            shown.append(list(cells))
            parts.append(_block(title, cells, markdown))
    if detail:
        parts += [_cell(key, cell, markdown) for key, cell in found.items()]
    parts.append(_absent(found))
    parts.append(_failures(mine))
    parts.append("\n".join(LEGEND))
    return "\n\n".join(part for part in parts if part)


def _block(title: str, found: summary.Grid, markdown: bool) -> str:
    rows = summary.block(found)
    names = {name for name, _ in found}
    levels = ", ".join(level for level in LEVELS if any(level == other for _, other in found))
    lines = [_heading(f"{title}: {len(names)} data sets, {len(found)} cells ({levels})", markdown)]
    lines += _lines([HEADER, *(_shown(row, len(found)) for row in rows)], markdown)
    return "\n".join([*lines, *_verdict(found, rows)])


def _shown(row: summary.Row, cells: int) -> list[str]:
    partly = "" if row.cells == cells else f" ({row.cells})"
    return [
        row.method + partly,
        _number(row.rank, 1),
        _number(100 * row.place, 0),
        _number(row.errors[0], 3),
        _number(row.errors[1], 3),
        "" if row.method == "random" else _signed(row.difference),
        "" if row.method == "random" else _number(row.standard_error, 3),
        "" if row.method == "random" else _percent(row.worse),
        "" if row.method == "random" else _percent(row.better),
        str(row.failed) if row.failed else "",
        "" if math.isnan(row.seconds) else f"{row.seconds:.2g}",
    ]


def _verdict(found: summary.Grid, rows: Sequence[summary.Row]) -> list[str]:
    """How our default stands to the best single method, and where it is worse than chance."""
    if all(row.method != "ours" for row in rows):
        return []
    lines = []
    best = summary.best_single(rows)
    if best is not None:
        differences = list(summary.gaps(found, "ours", best.method).values())
        mean, error = sum(differences) / len(differences), standard_error(differences)
        spread = "" if math.isnan(error) else f" ± {error:.3f}"
        lines.append(
            f"ours minus the best single method by mean error ({best.method}): "
            f"{_signed(mean)}{spread}"
        )
    worse = [
        f"{name} {level} {('k-NN', 'linear')[learner]} ({_signed(test.difference)}, p = "
        f"{test.p:.2g})"
        for name, level, learner, test in summary.worse_cells(found, "ours")
    ]
    lines.append(f"ours significantly worse than random: {', '.join(worse) or 'nowhere'}")
    return lines


def _cell(key: summary.Key, cell: dict[str, summary.Result], markdown: bool) -> str:
    """One data set with one kind of knowledge: errors ± corrected standard errors, and p of the
    difference to chance.
    """
    ranked = summary.ranks(cell)
    rows = [["method", "rank", "k-NN", "±", "linear", "±", "p k-NN", "p linear"]]
    for name in sorted(cell, key=lambda name: ranked.get(name, math.inf)):
        result = cell[name]
        if result.errors is None:
            rows.append([name, _number(ranked[name], 1), *["failed"], *[""] * 5])
            continue
        tests = summary.verdicts({key: cell}, name)
        numbers = [
            text
            for errors in result.errors
            for text in (
                _number(errors.mean(), 3),
                _number(standard_error(errors, test_ratio=result.test_ratio), 3),
            )
        ]
        p = [
            "" if name == "random" or (key[0], i) not in tests else f"{tests[key[0], i].p:.2g}"
            for i in (0, 1)
        ]
        rows.append([name, _number(ranked.get(name, math.nan), 1), *numbers, *p])
    return "\n".join([_heading(f"{key[0]}, {key[1]}", markdown), *_lines(rows, markdown)])


def _absent(found: summary.Grid) -> str:
    ran = {name for cell in found.values() for name in cell}
    absent = [name for name in CANDIDATES if name not in ran]
    missing = [
        f"{name} (package {CANDIDATES[name].package} absent)"
        for name in absent
        if not CANDIDATES[name].installed
    ]
    others = [name for name in absent if CANDIDATES[name].installed]
    return f"not run: {', '.join(missing + others)}" if absent else ""


def _failures(records: Iterable[Mapping[str, Any]]) -> str:
    """Every reason for which a method failed, with the cells."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for record in records:
        if record["failed"]:
            reasons.setdefault((record["method"], record["failed"]), []).append(
                f"{record['set']} {record['knowledge']}"
            )
    return "\n".join(
        f"failed: {method} ({reason}): {', '.join(where)}"
        for (method, reason), where in reasons.items()
    )


def _heading(text: str, markdown: bool) -> str:
    return f"### {text}\n" if markdown else f"{text}\n{'─' * len(text)}"


def _lines(rows: Sequence[Sequence[str]], markdown: bool) -> list[str]:
    if not markdown:
        return table_lines(rows, left=[True] + [False] * (len(rows[0]) - 1))
    header, *rest = (f"| {' | '.join(row)} |" for row in rows)
    return [header, f"|---|{'---:|' * (len(rows[0]) - 1)}", *rest, ""]


def _number(value: float, digits: int) -> str:
    return "" if math.isnan(value) else f"{value:.{digits}f}"


def _signed(value: float) -> str:
    return "" if math.isnan(value) else f"{value:+.3f}".replace("-", "−")


def _percent(value: float) -> str:
    return "" if math.isnan(value) else f"{100 * value:.0f} %"

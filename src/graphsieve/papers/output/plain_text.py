"""The claims and tables as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from graphsieve.papers.output.grid import counted, grid

WIDTH = 110


def as_text(reproductions: Sequence[Mapping[str, Any]]) -> str:
    """Return the results paper by paper: notes, tables, and a verdict per claim."""
    parts = [part for one in reproductions for part in _paper(one)]
    return "\n".join([*parts, counted(reproductions)]) + "\n"


def _paper(facts: Mapping[str, Any]) -> list[str]:
    heading = f"{facts['paper'].upper()}  {facts['title']} ({facts['reference']})"
    lines = [heading, "=" * min(len(heading), WIDTH), ""]
    if facts["introduction"]:
        lines += [*_wrapped(facts["introduction"], "", ""), ""]
    for note in facts["notes"]:
        lines += _wrapped(note, "- ", "  ")
    if facts["notes"]:
        lines.append("")
    for table in facts["tables"]:
        lines += [*_table(table), ""]
    for claim in facts["claims"]:
        lines += _wrapped(f"[{claim['verdict']}] {claim['where']}: {claim['text']}", "", "  ")
        lines += [*_wrapped(claim["why"], "    ", "    "), ""]
    return lines


def _table(table: Mapping[str, Any]) -> list[str]:
    cells = grid(table)
    unit = f" ({table['unit']})" if table["unit"] else ""
    reading = "; paper | ours ± standard error" if cells.compares else ""
    lines = _wrapped(f"{table['label']}: {table['title']}{unit}{reading}", "", "  ")
    widths = [
        max(map(len, column))
        for column in zip(cells.columns, *(row for _, row in cells.rows), strict=True)
    ]
    first = max((len(name) for name, _ in cells.rows), default=0)
    for group in _groups(widths, WIDTH - first - 2):
        for name, texts in (("", cells.columns), *cells.rows):
            lines.append(
                f"  {name:<{first}}"
                + "".join(f"  {texts[column]:>{widths[column]}}" for column in group)
            )
    return lines + (_wrapped(table["note"], "  ", "  ") if table["note"] else [])


def _groups(widths: Sequence[int], room: int) -> list[list[int]]:
    """Divide the columns into groups that fit into `room` characters."""
    groups: list[list[int]] = []
    left = 0
    for column, width in enumerate(widths):
        if not groups or width + 2 > left:
            groups.append([])
            left = room
        groups[-1].append(column)
        left -= width + 2
    return groups


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest)

"""The results as Markdown: a summary page (docs/reproduction.md) and one page per paper."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from itertools import groupby
from math import ceil
from operator import itemgetter
from typing import Any

from graphsieve.papers.output.grid import ABOUT_VERDICTS, VERDICTS, Grid, counted, grid

SUMMARY, PAGES = "reproduction.md", "papers"  # file and folder names
WIDTH = 100  # columns of text
MOST_COLUMNS = 7  # of a table, including the names of its rows

ABOUT_RUN = (
    "graphsieve implements methods of five papers. We ran the experiments of these papers again "
    "with the library, on public data, and compared the results with every claim that can be "
    "tested. Tables show the paper's numbers next to ours, with the standard error of ours. "
    "Random columns and all columns are baselines in nearly all experiments. Most papers do not "
    "show them."
)
ABOUT_PAGES = (
    "Each paper has a page with its claims, the reason for every verdict, all tables, and the "
    "settings that the paper leaves open. `graphsieve reproduce` also writes an HTML page with the "
    "figures."
)
ABOUT_TABLES = (
    "A cell contains the paper's value, a slash, and our value ± its standard error. Without a "
    "slash, it contains our value only."
)


def as_markdown(reproductions: Sequence[Mapping[str, Any]], *, command: str) -> dict[str, str]:
    """Return the pages by their path: the summary, and a page for each paper."""
    pages = {SUMMARY: _joined(_summary(reproductions, command))}
    for facts in reproductions:
        pages[page_name(facts["paper"])] = _joined(_paper(facts, command))
    return pages


def page_name(paper: str) -> str:
    """Return the path of a paper's page, relative to the summary."""
    return f"{PAGES}/{paper}.md"


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"


def _summary(reproductions: Sequence[Mapping[str, Any]], command: str) -> list[str]:
    lines = [
        "# Reproduction of the papers",
        "",
        *_wrapped(f"This page was made by `{command}`. Do not edit it. {counted(reproductions)}"),
        "",
        "## What was done",
        "",
        *_wrapped(ABOUT_RUN),
        "",
        *_wrapped(ABOUT_PAGES),
        "",
        "## How verdicts are reached",
        "",
        *_wrapped(ABOUT_VERDICTS),
        "",
        "## Results",
        "",
        "| paper | claims | hold | hold with a correction | do not hold | no data |",
        "|---|---|---|---|---|---|",
    ]
    for facts in reproductions:
        verdicts = [claim["verdict"] for claim in facts["claims"]]
        counts = " | ".join(str(verdicts.count(verdict)) for verdict in VERDICTS)
        link = f"[{facts['paper']}]({page_name(facts['paper'])})"
        lines.append(f"| {link} | {len(verdicts)} | {counts} |")
    for facts in reproductions:
        if facts["summary"]:
            lines += [
                "",
                f"## {facts['paper']}: {_plain(facts['title'])}",
                "",
                *_items(facts["summary"]),
            ]
    return lines


def _paper(facts: Mapping[str, Any], command: str) -> list[str]:
    lines = [f"# {_plain(facts['title'])}", ""]
    lines += _wrapped(f"{_plain(facts['reference'])}.")
    about = f"This page was made by `{command}`. Do not edit it. {counted([facts])}"
    lines += ["", *_wrapped(f"{about} [Summary of all papers](../{SUMMARY}).")]
    if facts["introduction"]:
        lines += ["", *_wrapped(_plain(facts["introduction"]))]
    if facts["notes"]:
        lines += ["", "## Notes", "", *_items(facts["notes"])]
    lines += ["", "## Claims"]
    # Successive claims of one place with the same verdict share a heading.
    for (where, verdict), claims in groupby(facts["claims"], itemgetter("where", "verdict")):
        lines += ["", f"### {_plain(where)}: {verdict}", ""]
        texts = [f"*{_plain(claim['text'])}* {_plain(claim['why'])}" for claim in claims]
        first, rest = ("- ", "  ") if len(texts) > 1 else ("", "")
        lines += [line for text in texts for line in _wrapped(text, first=first, rest=rest)]
    if facts["tables"]:
        lines += ["", "## Tables", "", *_wrapped(ABOUT_TABLES)]
    for table in facts["tables"]:
        lines += _table(table)
    if facts["settings"]:
        lines += ["", "## Choices", "", *_items(facts["settings"])]
    return lines


def _table(table: Mapping[str, Any]) -> list[str]:
    cells = grid(table)
    unit = f" ({_plain(table['unit'])})" if table["unit"] else ""
    title = f"**{_plain(table['label'])}.** {_plain(table['title'])}{unit}."
    note = f" {_plain(table['note'])}" if table["note"] else ""
    lines = ["", *_wrapped(title + note)]
    for part in _narrow(cells):
        lines += [
            "",
            "| | " + " | ".join(map(_plain, part.columns)) + " |",
            "|---" * (len(part.columns) + 1) + "|",
        ]
        for name, texts in part.rows:
            row = " | ".join(text.replace(" | ", " / ") for text in texts)
            lines.append(f"| {_plain(name)} | {row} |")
    return lines


def _narrow(cells: Grid) -> list[Grid]:
    """Transpose a wide table, or split its columns into several tables."""
    most = MOST_COLUMNS - 1
    if len(cells.columns) <= most:
        return [cells]
    if len(cells.rows) <= most:
        names = tuple(name for name, _ in cells.rows)
        rows = tuple(
            (column, tuple(texts[place] for _, texts in cells.rows))
            for place, column in enumerate(cells.columns)
        )
        return [Grid(names, rows, cells.compares)]
    parts = ceil(len(cells.columns) / most)
    size = ceil(len(cells.columns) / parts)
    return [
        _part(cells, slice(start, start + size)) for start in range(0, len(cells.columns), size)
    ]


def _part(cells: Grid, columns: slice) -> Grid:
    """Return some columns of a table, without rows that are empty there."""
    rows = tuple((name, texts[columns]) for name, texts in cells.rows if any(texts[columns]))
    return Grid(cells.columns[columns], rows, cells.compares)


def _items(sentences: Sequence[str]) -> list[str]:
    return [
        line for sentence in sentences for line in _wrapped(_plain(sentence), first="- ", rest="  ")
    ]


def _wrapped(text: str, *, first: str = "", rest: str = "") -> list[str]:
    # Lines do not break inside "1.5 ± 0.2 %" or "t = 1". The wrapper keeps non-breaking spaces.
    text = re.sub(r" ([±=×/]) ", "\u00a0\\1\u00a0", text).replace(" %", "\u00a0%")
    width = WIDTH - len(first) - 1  # one column is for a backslash
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    lines = [line.replace("\u00a0", " ") for line in lines]
    # A wrapped line must not begin like a list item or a heading.
    safe = [re.sub(r"^([-+#]|\d+(?=[.)]))(?=\s|[.)]\s|$)", _escaped_start, line) for line in lines]
    return [(rest if place else first) + line for place, line in enumerate(safe)]


def _escaped_start(found: re.Match[str]) -> str:
    mark = found.group(1)
    return f"{mark}\\" if mark.isdigit() else f"\\{mark}"


def _plain(text: str) -> str:
    """Escape text so that Markdown shows it unchanged."""
    for mark in "\\|<>*_`[":
        text = text.replace(mark, "\\" + mark)
    return text

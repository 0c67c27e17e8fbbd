"""The claims and the numbers behind them as Markdown: what docs/reproduction.md is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphsieve.papers.output.grid import ABOUT_VERDICTS, counted, grid


def as_markdown(reproductions: Sequence[Mapping[str, Any]], *, command: str) -> str:
    """Every claim in one table, then for each paper why, with the numbers and every choice."""
    lines = [
        "# The papers, reproduced",
        "",
        f"Made by `{command}`; do not edit. {counted(reproductions)}",
        "",
        ABOUT_VERDICTS,
        "",
        "| paper | where | claim | verdict |",
        "|---|---|---|---|",
    ]
    for one in reproductions:
        for claim in one["claims"]:
            link = f"[{claim['verdict']}](#{_anchor(one, claim)})"
            lines.append(
                f"| {one['paper']} | {_plain(claim['where'])} | {_plain(claim['text'])} | {link} |"
            )
    for one in reproductions:
        lines += _paper(one)
    return "\n".join(lines).rstrip() + "\n"


def _paper(facts: Mapping[str, Any]) -> list[str]:
    lines = [
        "",
        f"## {facts['paper']}: {_plain(facts['title'])}",
        "",
        f"{_plain(facts['reference'])}.",
    ]
    for claim in facts["claims"]:
        lines += ["", f'<a id="{_anchor(facts, claim)}"></a>']
        lines.append(
            f"**{_plain(claim['where'])}: {claim['verdict']}.** *{_plain(claim['text'])}* "
            f"{_plain(claim['why'])}"
        )
    for table in facts["tables"]:
        lines += _table(table)
    if facts["settings"]:
        lines += [
            "",
            f"### Choices ({facts['paper']})",
            "",
            *(f"- {_plain(sentence)}" for sentence in facts["settings"]),
        ]
    return lines


def _table(table: Mapping[str, Any]) -> list[str]:
    cells = grid(table)
    unit = f", {table['unit']}" if table["unit"] else ""
    reading = "paper / ours ± standard error" if cells.compares else "ours ± standard error"
    lines = [
        "",
        f"**{_plain(table['label'])}**: {_plain(table['title'])} ({reading}{_plain(unit)})",
        "",
    ]
    lines += [
        "| | " + " | ".join(map(_plain, cells.columns)) + " |",
        "|---" * (len(cells.columns) + 1) + "|",
    ]
    for name, texts in cells.rows:
        lines.append(
            f"| {_plain(name)} | " + " | ".join(text.replace(" | ", " / ") for text in texts) + " |"
        )
    return lines + (["", _plain(table["note"])] if table["note"] else [])


def _anchor(facts: Mapping[str, Any], claim: Mapping[str, Any]) -> str:
    return f"{facts['paper']}-{claim['key']}"


def _plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    for mark in "\\|<>*_`":
        text = text.replace(mark, "\\" + mark)
    return text

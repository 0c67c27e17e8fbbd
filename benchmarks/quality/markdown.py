"""Pieces of Markdown: paragraphs, lists and tables."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from quality.tables import lines_of

WIDTH = 100
NO_BREAK = "\xa0"


def joined(parts: Sequence[str], last: str = "and") -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(lines_of([header, *rows], markdown=True)).rstrip("\n")


def items(*texts: str) -> str:
    return "\n".join(f"- {text}" for text in texts)


def paragraphs(*parts: str) -> str:
    """Wrap prose and list items, leave tables as they are, and join all parts that have text."""
    return "\n\n".join(_unless_table(part) for part in parts if part)


def bold_term(line: str) -> str:
    term, colon, rest = line.partition(": ")
    return f"**{term}**: {rest}" if colon else line


def _unless_table(part: str) -> str:
    lines = part.splitlines()
    if any(line.startswith("|") for line in lines):
        return part
    if len(lines) == 1:
        return _wrapped(part, "  " if part.startswith("- ") else "")
    return "\n".join(_wrapped(line, "  ") if line.startswith("- ") else line for line in lines)


def _wrapped(text: str, indent: str = "") -> str:
    """Wrap a paragraph, but not inside links, code and values with units."""
    together = re.sub(
        r"\[[^]]*\]\([^)]*\)|`[^`]*`|\S+ ± \S+|\d [%s]\b|\d %",
        lambda found: found[0].replace(" ", NO_BREAK),
        text,
    )
    lines = textwrap.fill(
        together, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return lines.replace(NO_BREAK, " ")

"""The stored results, from which `page` writes the pages.

They are the values of the tables (`tables.summarised`), not the single records, and one section for
each of the commands `synthetic`, `clustering` and `counts`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results.json"
Section = dict[str, Any]


def read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def write(values: Mapping[str, Any]) -> None:
    text = json.dumps(_rounded(dict(values)), indent=1, ensure_ascii=False) + "\n"
    RESULTS.write_text(text, encoding="utf-8")


def add(name: str, value: Any) -> None:
    """Store a value under its own name, and keep all others."""
    write(read() | {name: value})


def section(text: str, table: Sequence[Sequence[str]], items: Sequence[str] = ()) -> Section:
    """Return a section of a page: a paragraph, a list and a table, of which the first row is the
    header.
    """
    return {"text": text, "items": list(items), "table": [list(row) for row in table]}


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--store",
        action="store_true",
        help="store a table in results.json, from which `page` writes docs/quality-problems.md",
    )


def _rounded(value: Any) -> Any:
    """Round to five digits, which is more than any of the tables shows."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list | tuple) else value

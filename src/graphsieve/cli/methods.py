"""``graphsieve methods``: list all methods and searches."""

from __future__ import annotations

import argparse
import json
from typing import Any

from graphsieve.cli.outputs import check_outputs, show
from graphsieve.scores.score_registry import METHODS
from graphsieve.search.search_registry import SEARCHES
from graphsieve.table.files.writing import csv_text

SCHEMA = 1
HEADER = ("method", "kind", "needs", "good", "summary", "reference")


def run(options: argparse.Namespace) -> None:
    """Print every method and search."""
    check_outputs([], force=False)
    rows = registry()
    if options.format == "json":
        show(
            json.dumps({"schema": SCHEMA, "methods": rows}, ensure_ascii=False, indent=1) + "\n",
            "json",
        )
    elif options.format in ("csv", "tsv"):
        show(
            csv_text(
                list(HEADER),
                [list(row.values()) for row in rows],
                "," if options.format == "csv" else "\t",
            ),
            options.format,
        )
    else:
        show(_as_text(rows))


def registry() -> list[dict[str, Any]]:
    """Return every method and search as plain values."""
    entries: list[tuple[Any, str, str | None]] = [
        (about, "score", about.direction) for about in METHODS.values()
    ]
    entries += [(about, "search", None) for about in SEARCHES.values()]
    return [
        dict(
            zip(
                HEADER,
                (
                    about.name,
                    kind,
                    " or ".join(about.uses) or "nothing",
                    good,
                    about.summary,
                    about.reference,
                ),
                strict=True,
            )
        )
        for about, kind, good in entries
    ]


def _as_text(rows: list[dict[str, Any]]) -> str:
    lines = []
    for kind, about in (
        ("score", "Scores rank columns one by one (--method NAME). A good column …"),
        (
            "search",
            "Searches select sets of columns. The default (auto) is diverse; floating is available "
            "only in graphsieve compare. The search …",
        ),
    ):
        some = [row for row in rows if row["kind"] == kind]
        width = max(len(row["method"]) for row in some)
        needs = max(len(row["needs"]) for row in some)
        head = f"  {'method':<{width}}  {'needs':<{needs}}"
        lines += [about, "", f"{head}  good" if kind == "score" else head.rstrip()]
        for row in some:
            good = f"  {row['good']:<5}" if row["good"] else ""
            lines.append(
                f"  {row['method']:<{width}}  {row['needs']:<{needs}}{good}  "
                f"{row['summary']} ({row['reference']})"
            )
        lines.append("")
    return "\n".join([*lines, "For details, run graphsieve explain METHOD.", ""])

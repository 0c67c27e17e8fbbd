"""Tables as rows and columns of text, shared by all output formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Any

ABOUT_VERDICTS = (
    "A verdict follows from the numbers by a rule. The rule is given with the claim or in the "
    "notes of the paper. “Holds with a correction” means that the claim holds once a misprint or "
    "an unstated setting is corrected. If a paper leaves a setting open, our choice is listed, and "
    "tables show other readings. We made some choices and several rules after trial runs, so the "
    "numbers matter as much as the verdicts. “Data not available” means that the data are not "
    "public or could not be loaded."
)
VERDICTS = ("holds", "holds with a correction", "does not hold", "data not available")


@dataclass(frozen=True)
class Grid:
    """Texts in rows and columns, in the order of their first cell. Missing cells are empty."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    compares: bool


def grid(table: Mapping[str, Any]) -> Grid:
    """Format each cell as ``paper | ours ± standard error``.

    If the paper has no number in the whole table, cells contain our value only.
    """
    cells: Sequence[Mapping[str, Any]] = table["cells"]
    compares = any(cell["paper"] is not None for cell in cells)
    columns = tuple(dict.fromkeys(cell["column"] for cell in cells))
    texts = {(cell["row"], cell["column"]): _text(cell, table["unit"], compares) for cell in cells}
    rows = tuple(dict.fromkeys(cell["row"] for cell in cells))
    return Grid(
        columns,
        tuple((row, tuple(texts.get((row, column), "") for column in columns)) for row in rows),
        compares,
    )


def counted(reproductions: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence with the number of claims for each verdict."""
    verdicts = [claim["verdict"] for one in reproductions for claim in one["claims"]]
    counts = ", ".join(
        f"{verdicts.count(verdict)} {_plural(verdict, verdicts.count(verdict))}"
        for verdict in VERDICTS
    )
    return f"{len(verdicts)} claims: {counts}."


def _plural(verdict: str, count: int) -> str:
    if count == 1:
        return verdict if verdict != VERDICTS[3] else "lacks data"
    plurals = ("hold", "hold with a correction", "do not hold", "lack data")
    return plurals[VERDICTS.index(verdict)]


def _text(cell: Mapping[str, Any], unit: str, compares: bool) -> str:
    error = cell["standard_error"] if cell["ours"] is not None else None
    digits = _decimals(error, unit)
    ours = _number(cell["ours"], digits)
    if error is not None:
        ours += f" ± {_number(error, digits)}"
    return f"{_number(cell['paper'], _decimals(None, unit))} | {ours}" if compares else ours


def _decimals(error: float | None, unit: str) -> int | None:
    """Return the number of decimals: one for per cent, else two digits of the standard error.

    None stands for four significant digits.
    """
    if unit == "%":
        return 1
    return max(0, 1 - floor(log10(error))) if error else None


def _number(value: float | None, decimals: int | None) -> str:
    if value is None:
        return "–"
    text = f"{value:.4g}" if decimals is None else f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")

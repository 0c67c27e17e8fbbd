"""The results of an experiment as plain values: tables, curves, and a verdict on every claim."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from math import isfinite
from typing import Any

SCHEMA = 1  # version of the JSON form; raised when old files can no longer be read


class Verdict(StrEnum):
    """The verdict on a claim."""

    HOLDS = "holds"
    CORRECTED = "holds with a correction"
    FAILS = "does not hold"
    NO_DATA = "data not available"


@dataclass(frozen=True)
class Cell:
    """One number of a table: the paper's value and ours.

    Attributes
    ----------
    row, column : str
        Names of its row and column.
    paper : float or None
        The paper's value; None if the paper has none.
    ours : float or None
        Our value; None if it cannot be computed.
    standard_error : float or None
        Standard error of our value; None if nothing was random.
    """

    row: str
    column: str
    paper: float | None
    ours: float | None
    standard_error: float | None = None


@dataclass(frozen=True)
class Table:
    """A table of numbers.

    Attributes
    ----------
    label : str
        Its place in the paper, such as ``"Table 1"``. A table without a counterpart in the paper
        has a label such as ``"Study: …"``.
    title : str
        Description of the numbers.
    unit : str
        Their unit (``"%"``, ``"rank"``, ...).
    cells : tuple of Cell
        The numbers in reading order. Rows and columns appear in the order of their first cell.
    note : str
        Settings and caveats needed to read the table.
    """

    label: str
    title: str
    unit: str
    cells: tuple[Cell, ...]
    note: str = ""


@dataclass(frozen=True)
class Series:
    """One curve of a figure."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    standard_error: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Figure:
    """A figure of the paper, drawn from our numbers."""

    label: str
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    note: str = ""


@dataclass(frozen=True)
class Statement:
    """A claim of a paper in our words.

    Attributes
    ----------
    key : str
        Short name, unique within the paper, such as ``"table-1"``.
    where : str
        Section, table or figure of the paper.
    text : str
        The claim in one sentence.
    """

    key: str
    where: str
    text: str


@dataclass(frozen=True)
class Judgement:
    """The verdict on a statement and its reason.

    The verdict follows from the numbers by a rule. The reason gives the decisive numbers.
    """

    verdict: Verdict
    why: str


@dataclass(frozen=True)
class Claim:
    """A statement with its judgement."""

    key: str
    where: str
    text: str
    verdict: Verdict
    why: str


@dataclass(frozen=True)
class Findings:
    """The results of one part of an experiment.

    Attributes
    ----------
    tables, figures : tuple
        The numbers.
    judgements : dict
        The judgement of each statement of the part, by key.
    settings : tuple of str
        Choices that the paper leaves open.
    """

    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    judgements: dict[str, Judgement] = field(default_factory=dict)
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reproduction:
    """All results for one paper.

    `introduction`, `notes` and `summary` are described in `Experiment`.
    """

    paper: str
    title: str
    reference: str
    depth: str
    seed: int
    settings: tuple[str, ...]
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]
    seconds: float
    introduction: str = ""
    notes: tuple[str, ...] = ()
    summary: tuple[str, ...] = ()

    def facts(self) -> dict[str, Any]:
        """Return plain values for JSON, without NaN or infinity."""
        facts: dict[str, Any] = _plain(asdict(self))
        return facts


def from_facts(facts: dict[str, Any]) -> Reproduction:
    """Invert `Reproduction.facts`."""
    tables = tuple(
        Table(**{**table, "cells": tuple(Cell(**cell) for cell in table["cells"])})
        for table in facts["tables"]
    )
    figures = tuple(
        Figure(**{**figure, "series": tuple(map(_series, figure["series"]))})
        for figure in facts["figures"]
    )
    claims = tuple(
        Claim(**{**claim, "verdict": Verdict(claim["verdict"])}) for claim in facts["claims"]
    )
    sentences: dict[str, Any] = {
        name: tuple(facts[name]) for name in ("settings", "notes", "summary") if name in facts
    }
    values: dict[str, Any] = {**facts, **sentences}
    return Reproduction(**{**values, "tables": tables, "figures": figures, "claims": claims})


def _series(facts: dict[str, Any]) -> Series:
    errors = facts["standard_error"]
    return Series(
        facts["name"],
        tuple(facts["x"]),
        tuple(facts["y"]),
        None if errors is None else tuple(errors),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, Verdict):
        return value.value
    if isinstance(value, float):
        return float(f"{value:.6g}") if isfinite(value) else None
    return value

"""What an experiment found, as plain values: the paper's numbers beside ours, curves, and a
verdict on every claim.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from math import isfinite
from typing import Any

SCHEMA = 1  # of the JSON form; raised when a reader of the old one would fail


class Verdict(StrEnum):
    """What became of a claim."""

    HOLDS = "holds"
    CORRECTED = "holds with a correction"
    FAILS = "does not hold"
    NO_DATA = "data not available"


@dataclass(frozen=True)
class Cell:
    """One number of a table: as the paper printed it, and as it came out here.

    Attributes
    ----------
    row, column : str
        Where it stands.
    paper : float or None
        None where the paper has no such number.
    ours : float or None
        None where there is nothing to compute it from.
    standard_error : float or None
        Of ours; None where nothing was random.
    """

    row: str
    column: str
    paper: float | None
    ours: float | None
    standard_error: float | None = None


@dataclass(frozen=True)
class Table:
    """Numbers side by side.

    Attributes
    ----------
    label : str
        Where the paper has it, such as ``"Table 1"``; ours alone: ``"Study: …"``.
    title, unit, note : str
        What the numbers are; their unit (``"%"``, ``"rank"``, ...); settings and caveats that a
        reader of the table needs.
    cells : tuple of Cell
        In reading order; rows and columns appear in the order of their first cell.
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
    """A figure of the paper, drawn again from our numbers."""

    label: str
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    note: str = ""


@dataclass(frozen=True)
class Statement:
    """What a paper claims, in our words.

    Attributes
    ----------
    key : str
        Short name, unique within the paper: ``"table-1"``.
    where : str
        Section, table or figure.
    text : str
        One sentence.
    """

    key: str
    where: str
    text: str


@dataclass(frozen=True)
class Judgement:
    """What became of a statement: the verdict, which follows from the numbers by a rule, and one
    paragraph on why.
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
    """What one part of an experiment found.

    Attributes
    ----------
    tables, figures : tuple
        The numbers.
    judgements : dict
        By the key of each statement of the part.
    settings : tuple of str
        Every choice that the paper leaves open, a sentence each.
    """

    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    judgements: dict[str, Judgement] = field(default_factory=dict)
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reproduction:
    """All that came of one paper."""

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

    def facts(self) -> dict[str, Any]:
        """Plain values for JSON, without NaN or infinity."""
        facts: dict[str, Any] = _plain(asdict(self))
        return facts


def from_facts(facts: dict[str, Any]) -> Reproduction:
    """The inverse of `Reproduction.facts`."""
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
    return Reproduction(
        **{
            **facts,
            "settings": tuple(facts["settings"]),
            "tables": tables,
            "figures": figures,
            "claims": claims,
        }
    )


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

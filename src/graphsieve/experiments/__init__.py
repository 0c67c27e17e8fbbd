"""The five papers run again: what each did, what it reported, what comes out here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from graphsieve.experiments import cls, hybrid, iterative, sls, wls
from graphsieve.experiments.results import SCHEMA, Cell, Claim, Figure, Reproduction, Series, Table, Verdict, from_facts
from graphsieve.experiments.running import Experiment, Run, perform

__all__ = [
    "EXPERIMENTS",
    "SCHEMA",
    "Cell",
    "Claim",
    "Experiment",
    "Figure",
    "Reproduction",
    "Run",
    "Series",
    "Table",
    "Verdict",
    "from_facts",
    "perform",
]

EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType(
    {module.EXPERIMENT.paper: module.EXPERIMENT for module in (sls, cls, hybrid, wls, iterative)}
)
"""Every paper by its short name."""

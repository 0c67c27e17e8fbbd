"""The five papers run again: what each did, what it reported, what comes out here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from graphsieve.papers import cls, sls, wls
from graphsieve.papers import iteragraph as hybrid
from graphsieve.papers import iterative_ls as iterative
from graphsieve.papers.experiment import Experiment, Run, perform
from graphsieve.papers.results import SCHEMA, Cell, Claim, Figure, Reproduction, Series, Table, Verdict, from_facts

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

"""Reproductions of the five papers: their experiments, their printed results, and ours."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from graphsieve.papers import cls, iteragraph, iterative_ls, sls, wls
from graphsieve.papers.experiment import Experiment, perform

__all__ = ["EXPERIMENTS", "perform"]

EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType(
    {
        module.EXPERIMENT.paper: module.EXPERIMENT
        for module in (sls, cls, iteragraph, wls, iterative_ls)
    }
)
"""The experiments of all papers by their short names."""

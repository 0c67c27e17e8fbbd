"""The scikit-learn estimators: thin shells around scores and searches, and a list of them for front ends."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from graphsieve.selectors.floating_sieve import FloatingSieve
from graphsieve.selectors.graph_sieve import GraphSieve
from graphsieve.selectors.hybrid_sieve import HybridSieve
from graphsieve.selectors.iterative_sieve import IterativeSieve
from graphsieve.selectors.sieve import Sieve

__all__ = ["SIEVES", "FloatingSieve", "GraphSieve", "HybridSieve", "IterativeSieve", "Sieve"]

SIEVES: Mapping[str, type[Sieve]] = MappingProxyType(
    {
        "score": GraphSieve,
        "diverse": GraphSieve,
        "iterative": IterativeSieve,
        "hybrid": HybridSieve,
        "floating": FloatingSieve,
    }
)
"""Every sieve by the search it runs, as in `graphsieve.search.SEARCHES`; ``"score"`` is none, a ranking by
one score. `GraphSieve` does both: the diverse search where it decides itself, and any score."""

"""The registry of estimators by search."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from graphsieve.select.floating_sieve import FloatingSieve
from graphsieve.select.graph_sieve import GraphSieve
from graphsieve.select.hybrid_sieve import HybridSieve
from graphsieve.select.iterative_sieve import IterativeSieve
from graphsieve.select.sieve import Sieve

SIEVES: Mapping[str, type[Sieve]] = MappingProxyType(
    {
        "score": GraphSieve,
        "diverse": GraphSieve,
        "iterative": IterativeSieve,
        "hybrid": HybridSieve,
        "floating": FloatingSieve,
    }
)
"""The estimator of each search in `graphsieve.search.SEARCHES`. ``"score"`` is not a search but a
ranking by one score. `GraphSieve` runs both, and its default is the diverse search."""

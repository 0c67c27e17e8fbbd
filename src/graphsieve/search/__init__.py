"""Searches that evaluate the features more than once.

Their parts are relevance, prediction, label propagation and the number of features.
"""

from graphsieve.search.diverse import diverse_selection
from graphsieve.search.floating import floating_selection
from graphsieve.search.hybrid import hybrid_selection
from graphsieve.search.iterative import iterative_ranking
from graphsieve.search.propagation import harmonic_labels
from graphsieve.search.search_registry import SEARCHES

__all__ = [
    "SEARCHES",
    "diverse_selection",
    "floating_selection",
    "harmonic_labels",
    "hybrid_selection",
    "iterative_ranking",
]

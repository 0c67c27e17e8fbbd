"""The registry of searches, with the supervision, summary and reference of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from graphsieve.search.diverse import diverse_selection
from graphsieve.search.floating import floating_selection
from graphsieve.search.hybrid import hybrid_selection
from graphsieve.search.iterative import iterative_ranking
from graphsieve.supervision.value import Kind


@dataclass(frozen=True)
class Search:
    """Description of a search for tables and user interfaces.

    Attributes
    ----------
    name : str
        The name, as in `graphsieve.select.sieves.SIEVES`.
    function : callable
        The public function.
    uses : tuple of str
        The kinds of supervision it can use. At least one of them is required. If the tuple is
        empty, none is required.
    summary, reference : str
        A one-line summary for tables, and the publication.
    """

    name: str
    function: Callable[..., Any]
    uses: tuple[Kind, ...]
    summary: str
    reference: str


SEARCHES: Mapping[str, Search] = MappingProxyType(
    {
        search.name: search
        for search in (
            Search(
                "diverse",
                diverse_selection,
                (),
                "selects features that together explain the table and the supervision",
                "Farahat, Ghodsi, Kamel 2011, with weights and targets",
            ),
            Search(
                "iterative",
                iterative_ranking,
                (),
                "drops the worst features, rebuilds the graph from the others, and scores again",
                "Zhu, Miao, Zhang 2012",
            ),
            Search(
                "hybrid",
                hybrid_selection,
                ("labels",),
                "propagates the labels over a graph of the selected features, and selects again",
                "Zhong et al. 2008",
            ),
            Search(
                "floating",
                floating_selection,
                ("labels", "targets"),
                "adds the feature that improves the set most, and removes useless features",
                "Pudil, Novovičová, Kittler 1994",
            ),
        )
    }
)
"""All searches by name."""

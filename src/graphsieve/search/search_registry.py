"""The registry of searches: what each uses, its summary and reference."""

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
    """A search as tables and front ends read it.

    Attributes
    ----------
    name : str
        Its name, as in `graphsieve.select.sieves.SIEVES`.
    function : callable
        The public function.
    uses : tuple of str
        The kinds of knowledge, of which at least one must be given; empty: none is needed.
    summary, reference : str
        One line for tables, and where it was published.
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
                "adds what those before it do not say, of the table and of what is known",
                "Farahat, Ghodsi, Kamel 2011, with weights and targets",
            ),
            Search(
                "iterative",
                iterative_ranking,
                (),
                "drops the worst features, rebuilds the graph from the rest, and scores again",
                "Zhu, Miao, Zhang 2012",
            ),
            Search(
                "hybrid",
                hybrid_selection,
                ("labels",),
                "carries the labels along a graph of the selected features, and selects again",
                "Zhong et al. 2008",
            ),
            Search(
                "floating",
                floating_selection,
                ("labels", "targets"),
                "adds the feature that helps the set most, and takes out what has become worthless",
                "Pudil, Novovičová, Kittler 1994",
            ),
        )
    }
)
"""Every search by its name."""

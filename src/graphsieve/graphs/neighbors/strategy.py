"""The choice of the neighbour search in X: exact, approximate, or by a transformer of the caller.

The search is a property of the table (`Table.geometry`). Every graph built from the table uses it,
and the scores do not depend on the choice. A search only proposes neighbours. Distances and ties
are always computed here, from explicit differences.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError, InputTypeError, warn
from graphsieve._base.messages import parameter
from graphsieve._base.parameters import must_be, nearest, one_line, quoted, remedy, setting
from graphsieve.graphs.neighbors.approximate import drawn_rows, searches_cells
from graphsieve.graphs.neighbors.exact import first_of_each, suits_tree
from graphsieve.graphs.neighbors.nearest import approximate_neighbors, nearest_in, squared_distances
from graphsieve.table.columns import Table
from graphsieve.table.stored.stored_table import StoredTable

SEARCHES = ("auto", "exact", "approximate")
# Samples² × features up to which "auto" is exact. This takes about a minute on two cores, for
# example for 400,000 × 50 or 130,000 × 500. The approximate search takes a third of that time.
EXACT_UP_TO = 2**43
CHECKED_SAMPLES = 200  # samples with exact neighbours, from which the recall is estimated
POOR_RECALL = 0.9  # a lower recall causes a warning even if approximate neighbours were requested
QUERY_SHARE = 4  # if there is less than one query per QUERY_SHARE samples, the search is exact

Found = tuple[Integers, Floats]


def way_to_search(name: str, value: Any) -> Any:
    """Check a value of the parameter `neighbors` and return it.

    It must be one of `SEARCHES`, or a transformer such as scikit-learn's KNeighborsTransformer.
    """
    if isinstance(value, str):
        if value in SEARCHES:
            return value
        raise InputError(
            must_be(
                name,
                f"one of {', '.join(map(repr, SEARCHES))} or a transformer",
                value,
                hint=nearest(value, SEARCHES),
            )
        )
    if (
        isinstance(value, type)
        or not callable(getattr(value, "fit_transform", None))
        or not hasattr(value, "get_params")
    ):
        raise InputTypeError(
            must_be(
                name,
                f"one of {', '.join(map(repr, SEARCHES))} or an estimator such as scikit-learn's "
                "KNeighborsTransformer",
                value,
            )
        )
    if getattr(value, "mode", "distance") != "distance":
        raise InputError(
            parameter(name, value),
            f" must return distances, got a transformer with mode={quoted(value.mode)}; set "
            "mode='distance'.",
        )
    return value


def searched(table: Table, neighbors: Any) -> Table:
    """Return the table with the neighbour search given by `neighbors`.

    `neighbors` is one of `SEARCHES` or a transformer.

    Examples
    --------
    >>> from graphsieve.table.columns import MemoryTable
    >>> from sklearn.neighbors import KNeighborsTransformer
    >>> table = MemoryTable([[0.0], [1.0], [3.0], [7.0]])
    >>> searched(table, "auto") is table  # the table is small, so the search is exact
    True
    >>> searched(table, KNeighborsTransformer(n_neighbors=2)).geometry.nearest(1, None, None)[0].ravel().tolist()
    [1, 0, 1, 2]
    """
    if table.gaps is not None:
        if isinstance(neighbors, str) and neighbors in ("auto", "exact"):
            return table
        raise InputError(
            parameter("neighbors", neighbors),
            " needs complete rows, but X has missing values; use 'auto' or 'exact', or impute them.",
        )
    if isinstance(neighbors, str):
        if neighbors == "exact" or (neighbors == "auto" and not takes_long(table)):
            return table
        if table.is_sparse:
            raise InputError(
                setting("neighbors", "approximate"),
                " needs dense rows, but X is sparse; leave it 'auto', or pass a transformer "
                "that accepts sparse rows.",
            )
        if _suits_tree(table):  # a search by a tree is exact and faster
            return table
        return table.within(
            _Searched(table, partial(_by_cells, table), requested=neighbors == "approximate")
        )
    return table.within(
        _Searched(
            table, partial(_by_transformer, table, neighbors), requested=True, for_all_queries=True
        )
    )


def remembering(table: Table, n_neighbors: int) -> Table:
    """Return the table with a neighbour search that keeps its result.

    All graphs with up to `n_neighbors` neighbours then share one search.
    """
    return table.within(_Remembered(table, min(n_neighbors, table.n_samples - 1)))


class _Remembered:
    """A `Geometry` that keeps the neighbours of all samples.

    If fewer neighbours are requested, it returns the first ones of those kept.
    """

    def __init__(self, table: Table, n_neighbors: int) -> None:
        self._table, self._n_neighbors = table, n_neighbors
        self._kept: Found | None = None
        self.results: dict[Any, Any] = {}

    @property
    def whole(self) -> Table:
        """The table of all features, with this geometry."""
        return self._table.within(self)

    @property
    def rows(self) -> tuple[Any, int]:
        """The rows of the table, in the form of `Table.rows`."""
        return self._table.rows

    @property
    def n_compared(self) -> int:
        """The number of features in the distances of the table."""
        return self._table.n_compared

    def nearest(
        self, n_neighbors: int, queries: Integers | None, candidates: Integers | None
    ) -> Found:
        """Return the result of `nearest_neighbors` on `rows`."""
        if queries is not None or candidates is not None:
            return nearest_in(self._table, n_neighbors, queries, candidates)
        if self._kept is None or self._kept[0].shape[1] < n_neighbors:
            self._kept = nearest_in(self._table, max(n_neighbors, self._n_neighbors), None, None)
        return self._kept[0][:, :n_neighbors], self._kept[1][:, :n_neighbors]


def once(table: Table, key: Any, compute: Callable[[Table], Any]) -> Any:
    """Compute something from the distances of a table, once for all of its parts.

    The parts share the geometry of `remembering`. `compute` gets the whole table.
    """
    if not isinstance(table.geometry, _Remembered):
        return compute(table)
    kept = table.geometry
    if key not in kept.results:
        kept.results[key] = compute(kept.whole)
    return kept.results[key]


class SearchedAnew(_Remembered):
    """A `Geometry` of some features of a table with gaps, with a new search for every set.

    It replaces a `Tracker`, which updates the neighbours of complete tables.
    """

    def __init__(self, table: Table) -> None:
        super().__init__(table, 1)
        self._all = table

    def follow(self, features: Integers) -> None:
        """Use the distances in the given features from now on."""
        super().__init__(self._all.take_features(features), 1)


def takes_long(table: Table) -> bool:
    """Whether the exact search among all samples takes more than about a minute on two cores."""
    return (
        not table.is_sparse
        and table.n_samples**2 * table.n_columns > EXACT_UP_TO
        and not _suits_tree(table)
    )


def _suits_tree(table: Table) -> bool:
    """Whether a single tree of all samples is faster than products.

    No such tree is built for out-of-core rows. They are searched by pairs of groups, and the number
    of pairs grows as n².
    """
    return not isinstance(table, StoredTable) and suits_tree(table.n_samples, table.n_columns)


def recall_of(table: Table) -> float | None:
    """Return the estimated recall of the neighbour search; None if the search was exact."""
    return table.geometry.recall if isinstance(table.geometry, _Searched) else None


class _Searched:
    """A `Geometry` that finds the neighbours of all samples by a given search.

    Parameters
    ----------
    table : Table
        The table.
    find : callable
        Returns the neighbours of all samples and their squared distances, given the number of
        neighbours.
    requested : bool
        Whether the caller requested this search, so that only a poor recall causes a warning.
    for_all_queries : bool
        Whether `find` is used even if there are few queries, as for a transformer. Otherwise the
        search is exact for few queries. It is always exact for a subset of the candidates.
    """

    def __init__(
        self,
        table: Table,
        find: Callable[[int], Found],
        *,
        requested: bool,
        for_all_queries: bool = False,
    ) -> None:
        self._table, self._find, self._requested, self._for_all_queries = (
            table,
            find,
            requested,
            for_all_queries,
        )
        self.recall: float | None = None

    @property
    def rows(self) -> tuple[Any, int]:
        """The rows of the table, in the form of `Table.rows`."""
        return self._table.rows

    @property
    def n_compared(self) -> int:
        """The number of features in the distances of the table."""
        return self._table.n_compared

    def nearest(
        self, n_neighbors: int, queries: Integers | None, candidates: Integers | None
    ) -> Found:
        """Return neighbours as `nearest_neighbors` does on `rows`; some may be missing."""
        few = (
            queries is not None
            and len(queries) * QUERY_SHARE < self._table.n_samples
            and not self._for_all_queries
        )
        exact = few or not (
            self._for_all_queries or searches_cells(self._table.n_samples, n_neighbors)
        )
        if candidates is not None or exact or not n_neighbors:
            return self._exact_neighbors(n_neighbors, queries, candidates)
        found = self._find(n_neighbors)
        self._report_recall(found[1])
        return found if queries is None else (found[0][queries], found[1][queries])

    def _exact_neighbors(
        self, n_neighbors: int, queries: Integers | None, candidates: Integers | None
    ) -> Found:
        return nearest_in(self._table, n_neighbors, queries, candidates)

    def _report_recall(self, squared: Floats) -> None:
        """Estimate the recall from the exact neighbours of a few samples, and warn if needed.

        A neighbour counts as correct if it is no farther away than the farthest exact neighbour.
        """
        n = len(squared)
        sample = drawn_rows(n, CHECKED_SAMPLES, seed=3)
        farthest = self._exact_neighbors(squared.shape[1], sample, None)[1][:, -1:]
        self.recall = float((squared[sample] <= farthest).mean())
        check = (
            f"in a check of {len(sample)} samples, {100 * self.recall:.1f} % of the neighbours are "
            "correct"
        )
        if not self._requested:
            warn(
                f"the neighbours of {n} samples are approximate: {check}; pass ",
                remedy("neighbors", "exact"),
                " to find all of them, which takes longer, or ",
                remedy("neighbors", "approximate"),
                " to accept this without a warning.",
            )
        elif self.recall < POOR_RECALL:
            warn(
                f"the neighbours of {n} samples are approximate, and {check}; pass ",
                remedy("neighbors", "exact"),
                " to find all of them.",
            )


def _by_cells(table: Table, n_neighbors: int) -> Found:
    return approximate_neighbors(table.rows[0], n_neighbors)


def _by_transformer(table: Table, transformer: Any, n_neighbors: int) -> Found:
    """Return the nearest of the neighbours that a copy of the transformer finds.

    The transformer receives the rows of X in their original units, or normalized for the cosine
    metric.
    """
    n = table.n_samples
    entries = _entries_of(transformer, _transformer_input(table), n)
    others = entries.row != entries.col
    owner, near = entries.row[others].astype(np.int64), entries.col[others].astype(np.int64)
    found = np.bincount(owner, minlength=n)
    if found.min() < n_neighbors:
        row = int(found.argmin())
        raise InputError(
            f"{_named(transformer)} found {found[row]} neighbours of sample {row}, and "
            f"{n_neighbors} are needed; raise its "
            "number of neighbours, which may include the sample itself."
        )
    squared = squared_distances(table.rows[0], owner, near)
    chosen = first_of_each(owner, squared, near, n, n_neighbors)
    return near[chosen], squared[chosen]


def _transformer_input(table: Table) -> Any:
    """Return the rows for a transformer, which cannot modify X through them.

    These are the rows of X, or the normalized rows for the cosine metric.
    """
    rows = table.matrix if table.geometry is None else table.geometry.rows[0]
    if table.is_sparse:
        return sp.csr_array(rows, copy=True)
    # A scaler with copy=False would otherwise change the caller's X, and thus the scores.
    read_only = rows.view()
    read_only.flags.writeable = False
    return read_only


def _entries_of(transformer: Any, rows: Any, n_samples: int) -> Any:
    """Return the distances found by a copy of the transformer, checked and without duplicates."""
    try:
        graph = clone(transformer).fit_transform(rows)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{_named(transformer)} cannot find neighbours in X: {one_line(str(error))}"
        ) from error
    if not sp.issparse(graph) or graph.shape != (n_samples, n_samples):
        what = (
            f"a sparse matrix of shape {graph.shape}"
            if sp.issparse(graph)
            else f"a {type(graph).__name__}"
        )
        raise InputError(
            f"{_named(transformer)} returned {what}; expected a sparse matrix of distances between "
            f"all {n_samples} samples."
        )
    distances = sp.csr_array(graph, copy=True)
    if not (np.isfinite(distances.data).all() and (distances.data >= 0).all()):
        raise InputError(
            f"{_named(transformer)} returned distances that are negative or not finite; scale "
            "X, or use another transformer."
        )
    distances.sum_duplicates()  # stored zeros remain, because they are distances of copies
    return distances.tocoo()


def _named(transformer: Any) -> str:
    return f"neighbors={type(transformer).__name__}"

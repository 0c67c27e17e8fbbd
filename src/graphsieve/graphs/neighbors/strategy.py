"""Who looks for neighbours in X: the exact search, the approximate one, or somebody whom the caller
brings.

It is a matter of the table (`Table.geometry`), so that every graph built from it has these
neighbours, and no score knows of it. Whoever it is says only who is near; how near is measured
here, by explicit differences, and so are ties.
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

WAYS = ("auto", "exact", "approximate")
# Samples² × features, up to which "auto" is exact: about a minute on two cores, as for 400,000 × 50
# or 130,000 × 500; the approximate search takes a third of that there.
EXACT_UP_TO = 2**43
SAMPLED = 200  # samples whose exact neighbours tell the recall
POOR_RECALL = 0.9  # below it, also who asked for approximate neighbours hears of it
WORTH_SEARCHING_ALL = 4  # fewer queries than one in so many samples are answered exactly

Found = tuple[Integers, Floats]


def way_to_search(name: str, value: Any) -> Any:
    """A rule of `parameters`: one of the words, or what finds neighbours as scikit-learn's
    KNeighborsTransformer does.
    """
    if isinstance(value, str):
        if value in WAYS:
            return value
        raise InputError(
            must_be(
                name,
                f"one of {', '.join(map(repr, WAYS))} or a transformer",
                value,
                hint=nearest(value, WAYS),
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
                f"one of {', '.join(map(repr, WAYS))} or an estimator such as scikit-learn's "
                "KNeighborsTransformer",
                value,
            )
        )
    if getattr(value, "mode", "distance") != "distance":
        raise InputError(
            parameter(name, value),
            f" must give distances, got a transformer with mode={quoted(value.mode)}; set "
            "mode='distance'.",
        )
    return value


def searched(table: Table, neighbors: Any) -> Table:
    """The same table, whose samples find their neighbours as `neighbors` says: a word, or a
    transformer.

    Examples
    --------
    >>> from graphsieve.table.columns import MemoryTable
    >>> from sklearn.neighbors import KNeighborsTransformer
    >>> table = MemoryTable([[0.0], [1.0], [3.0], [7.0]])
    >>> searched(table, "auto") is table  # it is small, so the exact search it is
    True
    >>> searched(table, KNeighborsTransformer(n_neighbors=2)).geometry.nearest(1, None, None)[0].ravel().tolist()
    [1, 0, 1, 2]
    """
    if isinstance(neighbors, str):
        if neighbors == "exact" or (neighbors == "auto" and not takes_long(table)):
            return table
        if table.is_sparse:
            raise InputError(
                setting("neighbors", "approximate"),
                " compares dense rows, and X is sparse; leave it 'auto', or pass a transformer "
                "that takes sparse rows.",
            )
        if _suits_tree(table):  # which is exact, and quicker
            return table
        return table.within(
            _Searched(table, partial(_by_cells, table), asked=neighbors == "approximate")
        )
    return table.within(
        _Searched(table, partial(_by_transformer, table, neighbors), asked=True, always=True)
    )


def remembering(table: Table, n_neighbors: int) -> Table:
    """The same table, whose samples look once for so many neighbours, for all graphs of as many
    or fewer.
    """
    return table.within(_Remembered(table, min(n_neighbors, table.n_samples - 1)))


class _Remembered:
    """A `Geometry` that keeps the neighbours of all samples; fewer of them are the first of
    those that are kept.
    """

    def __init__(self, table: Table, n_neighbors: int) -> None:
        self._table, self._n_neighbors = table, n_neighbors
        self._kept: Found | None = None

    @property
    def rows(self) -> tuple[Any, int]:
        """As `Table.rows`."""
        return self._table.rows

    def nearest(
        self, n_neighbors: int, queries: Integers | None, candidates: Integers | None
    ) -> Found:
        """As `nearest_neighbors` on `rows`."""
        if queries is not None or candidates is not None:
            return nearest_in(self._table, n_neighbors, queries, candidates)
        if self._kept is None or self._kept[0].shape[1] < n_neighbors:
            self._kept = nearest_in(self._table, max(n_neighbors, self._n_neighbors), None, None)
        return self._kept[0][:, :n_neighbors], self._kept[1][:, :n_neighbors]


def takes_long(table: Table) -> bool:
    """Whether the exact search among all samples takes more than about a minute on two cores."""
    return (
        not table.is_sparse
        and table.n_samples**2 * table.n_features > EXACT_UP_TO
        and not _suits_tree(table)
    )


def _suits_tree(table: Table) -> bool:
    """As `suits_tree`; of rows that are elsewhere nobody makes one of all, but pairs of groups,
    whose number grows as n².
    """
    return not isinstance(table, StoredTable) and suits_tree(table.n_samples, table.n_features)


def recall_of(table: Table) -> float | None:
    """The share of neighbours that were found, on a sample of rows; None where the search was
    exact.
    """
    return table.geometry.recall if isinstance(table.geometry, _Searched) else None


class _Searched:
    """A `Geometry` of a table whose samples' neighbours somebody `finds`, given their number.

    Few queries, and those among some candidates only, are answered exactly; a transformer
    (`always`) answers all but the latter.
    """

    def __init__(
        self, table: Table, finds: Callable[[int], Found], *, asked: bool, always: bool = False
    ) -> None:
        self._table, self._finds, self._asked, self._always = table, finds, asked, always
        self.recall: float | None = None

    @property
    def rows(self) -> tuple[Any, int]:
        """As `Table.rows`."""
        return self._table.rows

    def nearest(
        self, n_neighbors: int, queries: Integers | None, candidates: Integers | None
    ) -> Found:
        """As `nearest_neighbors` on `rows`, as far as they are found."""
        few = (
            queries is not None
            and len(queries) * WORTH_SEARCHING_ALL < self._table.n_samples
            and not self._always
        )
        exact = few or not (self._always or searches_cells(self._table.n_samples, n_neighbors))
        if candidates is not None or exact or not n_neighbors:
            return self._exactly(n_neighbors, queries, candidates)
        found = self._finds(n_neighbors)
        self._tell_recall(found[1])
        return found if queries is None else (found[0][queries], found[1][queries])

    def _exactly(
        self, n_neighbors: int, queries: Integers | None, candidates: Integers | None
    ) -> Found:
        return nearest_in(self._table, n_neighbors, queries, candidates)

    def _tell_recall(self, squared: Floats) -> None:
        """Compare with the exact neighbours of a few samples; whoever is no farther than the
        last of those is right.
        """
        n = len(squared)
        sample = drawn_rows(n, SAMPLED, seed=3)
        farthest = self._exactly(squared.shape[1], sample, None)[1][:, -1:]
        self.recall = float((squared[sample] <= farthest).mean())
        right = (
            f"of those of {len(sample)} samples that were checked, {100 * self.recall:.1f} % are "
            "right"
        )
        if not self._asked:
            warn(
                f"the neighbours of {n} samples are approximate: {right}; rank with ",
                remedy("neighbors", "exact"),
                " for all of them, which takes longer, or with ",
                remedy("neighbors", "approximate"),
                " to agree.",
            )
        elif self.recall < POOR_RECALL:
            warn(
                f"the neighbours of {n} samples are approximate, and {right}; ",
                remedy("neighbors", "exact"),
                " finds all of them.",
            )


def _by_cells(table: Table, n_neighbors: int) -> Found:
    return approximate_neighbors(table.rows[0], n_neighbors)


def _by_transformer(table: Table, transformer: Any, n_neighbors: int) -> Found:
    """The nearest of those whom a copy of the transformer finds in X, in its own units, or in
    the directions of its rows.
    """
    n = table.n_samples
    entries = _entries_of(transformer, _as_given(table), n)
    others = entries.row != entries.col
    owner, near = entries.row[others].astype(np.int64), entries.col[others].astype(np.int64)
    found = np.bincount(owner, minlength=n)
    if found.min() < n_neighbors:
        row = int(found.argmin())
        raise InputError(
            f"{_named(transformer)} found {found[row]} neighbours of sample {row}, and "
            f"{n_neighbors} are needed; let it look for "
            "more, one of which may be the sample itself."
        )
    squared = squared_distances(table.rows[0], owner, near)
    chosen = first_of_each(owner, squared, near, n, n_neighbors)
    return near[chosen], squared[chosen]


def _as_given(table: Table) -> Any:
    """The rows among which a transformer looks: those of X, or what the table's metric makes of
    them; not to be written to.
    """
    rows = table.matrix if table.geometry is None else table.geometry.rows[0]
    if table.is_sparse:
        return sp.csr_array(rows, copy=True)
    # a scaler with copy=False would change the caller's X, and the scores after it
    shown = rows.view()
    shown.flags.writeable = False
    return shown


def _entries_of(transformer: Any, rows: Any, n_samples: int) -> Any:
    """The distances that a copy of the transformer gives, checked, each once."""
    try:
        graph = clone(transformer).fit_transform(rows)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{_named(transformer)} cannot look for neighbours in X: {one_line(str(error))}"
        ) from error
    if not sp.issparse(graph) or graph.shape != (n_samples, n_samples):
        what = (
            f"a sparse matrix of shape {graph.shape}"
            if sp.issparse(graph)
            else f"a {type(graph).__name__}"
        )
        raise InputError(
            f"{_named(transformer)} gave {what}; expected a sparse matrix of distances between all "
            f"{n_samples} samples."
        )
    distances = sp.csr_array(graph, copy=True)
    if not (np.isfinite(distances.data).all() and (distances.data >= 0).all()):
        raise InputError(
            f"{_named(transformer)} gave distances that are negative or no finite numbers; scale "
            "X, or use another."
        )
    distances.sum_duplicates()  # which leaves the zeros that are stored
    return distances.tocoo()


def _named(transformer: Any) -> str:
    return f"neighbors={type(transformer).__name__}"

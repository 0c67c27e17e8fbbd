"""Missing values of a table: how many there are, and whether they are informative.

Some people leave a questionnaire incomplete more often than others. If missing values are
associated with the supervision, the fact that a value is missing is itself information.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import false_discovery_control

from graphsieve._base.array_types import Booleans, Floats
from graphsieve.search.association import FALSE_DISCOVERIES, association_p_values
from graphsieve.supervision.value import Supervision
from graphsieve.table.columns import MemoryTable, Table
from graphsieve.table.gaps import gaps_of_features

FEWEST = 5  # missing samples, and observed ones, that a test of a feature needs


@dataclass(frozen=True, eq=False)
class Missingness:
    """Missing values of the features of a table.

    Attributes
    ----------
    n_cells, n_features : int
        Number of missing values, and of features with missing values.
    shares : array of shape (n_features,)
        Share of the samples in which each feature is missing.
    p_values : array of shape (n_features,)
        Whether being missing is associated with the supervision: p-values adjusted for the number of
        tested features (Benjamini and Hochberg). NaN for features that are not tested.
    """

    n_cells: int
    n_features: int
    shares: Floats
    p_values: Floats

    @property
    def informative(self) -> Booleans:
        """The features in which missing values are associated with the supervision."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.p_values <= FALSE_DISCOVERIES)


def missingness(table: Table, known: Supervision) -> Missingness | None:
    """Describe the missing values of a table, or return None if there are none.

    A feature is tested if it is missing in at least five samples and observed in at least five.
    """
    if table.gaps is None:
        return None
    gaps = gaps_of_features(table.gaps, table.features)
    counts = np.diff(gaps.indptr)
    p_values = np.full(table.n_features, np.nan)
    tested = np.flatnonzero((counts >= FEWEST) & (counts <= table.n_samples - FEWEST))
    if len(tested):
        indicators = MemoryTable.trusted(gaps[:, tested].astype(np.float64), None)
        found = association_p_values(indicators, known)
        if found is not None:
            p_values[tested] = false_discovery_control(np.nan_to_num(found, nan=1.0))
    return Missingness(
        n_missing_cells(table),
        int(np.count_nonzero(counts)),
        counts / table.n_samples,
        p_values,
    )


def n_missing_cells(table: Table) -> int:
    """Return the number of missing cells of X. A category is one column of X."""
    if table.gaps is None:
        return 0
    by_column, features = np.diff(table.gaps.indptr), table.features
    if features is None:
        return int(by_column.sum())
    of_category = by_column[features.starts[:-1]]
    return int(np.where(features.categorical, of_category, features.sums(by_column)).sum())

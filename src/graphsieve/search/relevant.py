"""Which features matter: those associated with the supervision, or with each other.

With labels, targets or class probabilities, these are the features that are associated with the
supervision (`association`). Without supervision, or if this test finds none, they are the features
that are associated with the other features (`structure`). The false discovery rate is 5 %.

The first test misses features that matter only in combination, and with few labels it misses others
as well. The features of the second test are therefore added in two cases: if nearest neighbours in
all these features predict the supervision clearly better, or if too little supervision is available
to test this. They are never added if the structure of the table is no more related to the
supervision than expected by chance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from graphsieve._base.array_types import Booleans, Floats
from graphsieve.search.association import (
    FALSE_DISCOVERIES,
    FEWEST_ROWS,
    NOTHING_LEFT,
    Outcome,
    association_p_values,
    discoveries,
    outcome_of,
)
from graphsieve.search.structure import gram_of_ranks, spread_out, structure_p_values
from graphsieve.supervision.groups import Units
from graphsieve.supervision.parsing import all_known
from graphsieve.supervision.value import Supervision
from graphsieve.table.columns import Table
from graphsieve.table.scaling import standardized_target

DOUBTFUL = 0.67  # doubt beyond which the structure of a table does not count
FEWEST_PREDICTED = 30  # minimum number of labelled samples for leave-one-out errors
FEWEST_PER_CLASS = 5
CLEARLY = 2.0  # standard errors
N_NEIGHBORS = 5


@dataclass(frozen=True, eq=False)
class RelevantColumns:
    """The columns that matter, and the tests that found them.

    Attributes
    ----------
    mask : array of bool of shape (n_features,)
        Whether each column matters.
    p_values : array of shape (n_features,)
        The p-value of each column. It is 1 for a column that cannot be tested, and NaN for a
        constant column.
    rule : {"relevance", "structure", "both", "untested"}
        The test that decided. "relevance": association with the supervision. "structure":
        association with the other columns. "both": either of the two, because the relevant columns
        alone predict worse or there is too little supervision to test this. "untested": there are
        too few samples for a test.
    reason : str
        The reason in sentences.
    none_associated : bool
        Whether there was enough supervision for a test, but no column is associated with it.

    Examples
    --------
    >>> from graphsieve.table.columns import MemoryTable
    >>> from graphsieve.datasets import make_squares
    >>> data = make_squares(random_state=0)
    >>> found = relevant_columns(MemoryTable(data.X), Supervision.from_labels(data.y))
    >>> found.mask
    array([ True,  True, False, False, False, False])
    >>> found.reason
    '2 of 6 features are associated with the labels (false discovery rate 5 %).'
    """

    mask: Booleans
    p_values: Floats
    rule: str
    reason: str
    none_associated: bool = False


def relevant_columns(
    table: Table,
    known: Supervision,
    *,
    doubt: float = 0.0,
    p_values: Floats | None = None,
    structure: Callable[[], Floats] | None = None,
) -> RelevantColumns:
    """Find the columns that are associated with the supervision or with each other.

    Parameters
    ----------
    table : Table
        The features. The result does not change if a feature is transformed by an increasing
        function.
    known : Supervision
        The supervision. Labels, targets and probabilities are used. Pairs are not used: if only
        pairs are given, the columns are tested for association with each other.
    doubt : float
        Doubt that the structure of the table is related to the supervision, from 0 to 1 (see
        `relevance.Relevance`). Beyond `DOUBTFUL`, columns that are associated only with each other
        do not matter.
    p_values : array, optional
        The result of `association_p_values`, if it is already available.
    structure : callable, optional
        Returns the result of `structure_p_values`. Useful if it is needed more than once.

    Returns
    -------
    RelevantColumns

    Examples
    --------
    Independent columns without supervision:

    >>> from graphsieve.table.columns import MemoryTable
    >>> from graphsieve.datasets import make_squares
    >>> table = MemoryTable(make_squares(random_state=0).X)
    >>> relevant_columns(table, Supervision.nothing(100)).reason
    'No supervision was used. None of 6 features is associated with the other features (false discovery rate 5 %).'
    """
    structured = structure or (lambda: structure_p_values(table, known))
    outcome = outcome_of(known)
    if known.kinds == ("pairs",):
        why = "Pairs alone do not determine the number of features."
    elif outcome is None:
        why = "No supervision was used."
    elif outcome.units.n < FEWEST_ROWS:
        why = f"{outcome.amount} are too few for a test, which needs at least {FEWEST_ROWS}."
    else:
        found = _relevant(table, known, outcome, p_values)
        if doubt > DOUBTFUL:
            return found
        if found.mask.any():
            return _with_structure(table, known, found, outcome, structured())
        return replace(_structured(structured(), known, found.reason), none_associated=True)
    return _structured(structured(), known, why)


def _relevant(
    table: Table, known: Supervision, outcome: Outcome, p_values: Floats | None
) -> RelevantColumns:
    if p_values is None:
        p_values = association_p_values(table, known)
    assert p_values is not None
    testable = ~np.isnan(p_values)
    mask = discoveries(p_values)
    reason = _associated(mask.sum(), testable.sum(), outcome.name)
    return RelevantColumns(mask, p_values, "relevance", reason, none_associated=not mask.any())


def _associated(number: int, tested: int, what: str) -> str:
    """Return the sentence that reports how many of the tested columns are associated with `what`.

    Examples
    --------
    >>> _associated(1, 20, "the labels")
    '1 of 20 features is associated with the labels (false discovery rate 5 %).'
    """
    if not tested:
        return "No feature varies."
    if tested == 1:
        subject = "The only varying feature is" if number else "The only varying feature is not"
    else:
        subject = f"{number or 'None'} of {tested} features {'is' if number < 2 else 'are'}"
    return (
        f"{subject} associated with {what} (false discovery rate {100 * FALSE_DISCOVERIES:.0f} %)."
    )


def _structured(p_values: Floats, known: Supervision, why: str) -> RelevantColumns:
    """Return the columns that are associated with the other columns.

    `why` is the first sentence of the reason.
    """
    varies = ~np.isnan(p_values)
    n = len(known.groups_only().units().representatives)
    if n < FEWEST_ROWS:
        reason = (
            f"{why} {n} samples are too few to test associations between features, so all features "
            f"that vary were considered ({varies.sum()})."
        )
        return RelevantColumns(varies, p_values, "untested", reason)
    mask = discoveries(p_values)
    found = _associated(mask.sum(), varies.sum(), "the other features")
    return RelevantColumns(mask, p_values, "structure", f"{why} {found}")


def _with_structure(
    table: Table,
    known: Supervision,
    found: RelevantColumns,
    outcome: Outcome,
    structure: Floats,
) -> RelevantColumns:
    """Add the columns of the structure test to the relevant columns, if they may be needed.

    They are not added if nearest neighbours in the relevant columns alone predict as well.
    """
    table = table.complete()
    both = found.mask | discoveries(structure)
    if both.sum() == found.mask.sum():
        return found
    n_both, n_tested = both.sum(), (~np.isnan(found.p_values)).sum()
    target = predicted_values(known)
    if target is None:
        added = (
            f"all {n_both} were considered"
            if n_both == n_tested
            else f"those associated with other features were added, which gives {n_both}"
        )
        why = f"With {outcome.amount} the others cannot be ruled out"
        return RelevantColumns(both, found.p_values, "both", f"{found.reason} {why}, so {added}.")
    some = spread_out(target[0].n)
    part, values = table.take(target[0].representatives[some]), target[1][some]
    gain = _neighbor_errors(part, found.mask, values) - _neighbor_errors(part, both, values)
    if gain.mean() <= CLEARLY * gain.std() / np.sqrt(len(gain)):
        return found
    why = (
        f"Nearest neighbours predict {outcome.name} better if features associated with other "
        f"features are added, which gives {n_both}."
    )
    return RelevantColumns(both, found.p_values, "both", f"{found.reason} {why}")


def _neighbor_errors(table: Table, mask: Booleans, values: Floats) -> Floats:
    """Return the squared error of each row if its values are predicted from its nearest rows.

    The prediction is the mean of the nearest rows. Distances use the ranks in the columns of
    `mask`. Rows at the same distance as the last of the nearest rows share its weight. The
    prediction therefore does not depend on the order of the rows.
    """
    gram = gram_of_ranks(table.take_features(np.flatnonzero(mask)))
    squares = np.diag(gram)
    distances = squares[:, None] + squares - 2 * gram
    np.fill_diagonal(distances, np.inf)
    weights = neighbor_weights(distances, N_NEIGHBORS, NOTHING_LEFT * squares.max())
    return np.asarray(((values - weights @ values) ** 2).sum(axis=1))


def neighbor_weights(distances: Floats, n_neighbors: int, rounding: float) -> Floats:
    """Return the weight of each neighbour, given by a column, in the mean of the nearest ones.

    Neighbours at the same distance as the last of the nearest ones share its weight. Distances that
    differ by at most `rounding` are equal.
    """
    last = np.partition(distances, n_neighbors - 1, axis=1)[:, n_neighbors - 1, None]
    closer = distances < last - rounding
    equal = ~closer & (distances <= last + rounding)
    left = n_neighbors - closer.sum(axis=1, keepdims=True)
    return np.asarray(
        np.where(equal, left / equal.sum(axis=1, keepdims=True), closer) / n_neighbors
    )


def predicted_values(known: Supervision) -> tuple[Units, Floats] | None:
    """Return the labelled units and the values to predict there, or None if there are too few."""
    if known.n_known_classes >= 2:
        units = known.units(np.flatnonzero(known.codes >= 0))
        codes = known.codes[units.rows]
        values = units.means((codes[:, None] == np.unique(codes)).astype(np.float64))
        enough = values.sum(axis=0).min() >= FEWEST_PER_CLASS
    elif known.targets is not None:
        units = known.units(np.flatnonzero(all_known(known.targets)))
        several = known.n_targets > 1
        targets = standardized_target(known.targets) if several else known.targets[:, None]
        values = units.means(targets[units.rows])
        enough = bool(units.n) and bool((values.min(axis=0) < values.max(axis=0)).any())
        if enough:
            values = np.ldexp(values, -int(np.frexp(np.abs(values).max())[1]))
    else:
        return None
    return (units, values) if enough and units.n >= FEWEST_PREDICTED else None

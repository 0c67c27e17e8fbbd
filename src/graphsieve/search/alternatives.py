"""Candidate searches, and the choice among them by cross-validation.

The default search finds features that are individually related to the supervision. With enough
labels, other searches are compared with it. ReliefF finds features that matter only in combination.
Backward elimination finds features that matter only once others are selected. Fisher score ×
dissimilarity is best on some tables of text.

Each candidate selects features from four fifths of the labels. Nearest neighbours and a ridge
regression on its first features then predict the remaining labels. Candidates that are not better
than the default in the first two folds are dropped. The default is kept unless another candidate is
better by at least 0.01 on average, and by at least one standard error. The candidate must also be
clearly better than the most frequent class or the mean. The errors are averaged over several
numbers of features, so the choice does not depend on the number requested.

Nothing here is random. The folds follow from the labels and the values, so the order of the samples
has no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from types import MappingProxyType

import numpy as np
import scipy.sparse as sp
from scipy.stats import rankdata

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.progress import Progress
from graphsieve.scores.score_registry import METHODS
from graphsieve.search.default import select_by_explanation
from graphsieve.search.diverse import MOST_SELECTED, Choice, DiversePath, select_diverse
from graphsieve.search.prediction import predicted
from graphsieve.search.relevant import neighbor_weights
from graphsieve.search.structure import structure_p_values
from graphsieve.supervision.value import Supervision
from graphsieve.table.blocks import Block
from graphsieve.table.centered import ColumnSpace
from graphsieve.table.columns import MemoryTable, Table
from graphsieve.table.scaling import standardized_target

FEWEST_LABELED = 40  # With fewer labels, the choice does not help on the development sets.
FEWEST_PER_CLASS = 5
N_FOLDS = 5
SIZES = (2, 5, 10, 20, 40)  # Candidates are compared by their mean error with these numbers.
FINER_SIZES = (1, 2, 3, 5, 7, 10, 14, 20, 28, 40)  # for the number of features
LEAST_IMPROVEMENT = 0.01  # of the mean error
CLEARLY = 2.0  # standard errors between a candidate and the most frequent class or the mean
MOST_ROWS = 800  # labelled samples on which the candidates are compared
FIRST_FOLDS = 2  # A candidate that is not better than the default in these folds is dropped.
NEIGHBORS_OF_CLASSES, NEIGHBORS_OF_TARGETS = 3, 5
PENALTY = 1.0  # of the ridge regression on standardised columns
NO_DEVIATION = 1e-12  # A smaller standard deviation, relative to the values, is rounding error.
SAME_DISTANCE = 1e-9  # squared distances of standardised columns that are equal, per column
TARGET_BINS = 5  # ReliefF needs classes
OUTLYING = 3.0  # interquartile ranges beyond the quartiles
LARGEST_SCORE = 1e300  # in place of an infinite one
LEAST_SHARE = 1e-6  # weight of a feature without a positive score, relative to the largest
DROPPED = 0.2  # share of the columns that a round of backward elimination drops
ELIMINATION_PENALTY = 1e-3  # relative to the mean eigenvalue


@dataclass(frozen=True, eq=False)
class Case:
    """The input of a candidate: a table, the table in common units, and the supervision."""

    table: Table
    scaled: Table
    known: Supervision
    structure: Callable[[], Floats]

    @classmethod
    def of(cls, table: Table, scaled: Table, known: Supervision) -> Case:
        return cls(table, scaled, known, cache(lambda: structure_p_values(table, known)))


def _by_explanation(case: Case, whole: Table, n_wanted: int) -> DiversePath:
    return select_by_explanation(
        case.table,
        case.scaled,
        case.known,
        n_wanted=n_wanted,
        structure=case.structure,
        progress=False,
    ).path


def _by_fisher(case: Case, whole: Table, n_wanted: int) -> DiversePath:
    method = METHODS["fisher" if case.known.targets is None else "pearson"]
    return _unlike(case, whole, method.score(case.table, case.known).values, n_wanted)


def _by_relieff(case: Case, whole: Table, n_wanted: int) -> DiversePath:
    known = case.known
    if known.targets is not None:
        bins = np.full(len(known.targets), -1)
        ranks = rankdata(known.targets[known.labeled]) - 0.5
        bins[known.labeled] = np.floor(TARGET_BINS * ranks / len(ranks))
        known = Supervision.from_labels(bins)
    method = METHODS["relieff"]
    found = method.score(case.scaled, known, **method.defaults)
    return _unlike(case, whole, found.values, n_wanted)


def _unlike(case: Case, whole: Table, scores: Floats, n_wanted: int) -> DiversePath:
    """Select by score × (1 − largest correlation with a selected feature).

    Scores of 0 or less become tiny weights in the same order, so that the order of the columns
    never decides.
    """
    scores = np.nan_to_num(np.abs(scores) if case.known.targets is not None else scores)
    scores = np.minimum(scores, LARGEST_SCORE)
    top = float(scores.max(initial=0.0)) or 1.0
    tiny = LEAST_SHARE * rankdata(scores) / len(scores)
    return select_diverse(
        whole,
        np.maximum(scores / top, tiny),
        n_wanted=n_wanted,
        form="correlation",
        progress=False,
    )


def _by_elimination(case: Case, whole: Table, n_wanted: int) -> DiversePath:
    """Drop the features that a ridge regression of the prediction needs least, round by round.

    The prediction is that of the default search. The path describes the features in this order.
    """
    space = ColumnSpace(case.scaled)
    prediction = predicted(case.scaled, case.known, space)
    if prediction is None:
        return _by_explanation(case, whole, n_wanted)
    order = _eliminated(space, space.project(prediction.values), n_wanted)
    return select_diverse(
        space if whole is case.scaled else whole,
        np.ones(space.n_features),
        n_wanted=n_wanted,
        choice=Choice(keep=tuple(order[:n_wanted].tolist())),
        progress=False,
    )


def _eliminated(space: ColumnSpace, outputs: Floats, n_wanted: int) -> Integers:
    """Return the features in reverse order of their elimination."""
    alive = np.flatnonzero(space.variances > 0)
    dropped: list[Integers] = []
    while len(alive) > 1:
        columns = alive if space.features is None else space.features.columns_of(alive)
        values = space.columns(columns)
        size = float(np.einsum("ij,ij->", values, values)) / min(values.shape)
        penalty = ELIMINATION_PENALTY * size
        if values.shape[1] <= len(values):
            inner = values.T @ values
            inner[np.diag_indices_from(inner)] += penalty
            slopes = np.linalg.solve(inner, values.T @ outputs)
        else:
            inner = values @ values.T
            inner[np.diag_indices_from(inner)] += penalty
            slopes = values.T @ np.linalg.solve(inner, outputs)
        effects = (slopes**2).sum(axis=1) * np.einsum("ij,ij->j", values, values)
        if space.features is not None:
            ends = np.cumsum(space.features.sizes[alive])
            effects = np.add.reduceat(effects, ends - space.features.sizes[alive])
        several = len(alive) > (1 + DROPPED) * n_wanted
        number = max(1, int(DROPPED * len(alive))) if several else 1
        last = np.argsort(np.round(effects / effects.max(), 9), kind="stable")[:number]
        dropped.append(alive[last])
        alive = np.delete(alive, last)
    return np.concatenate([*dropped, alive])[::-1]


DEFAULT = "diverse"
CANDIDATES: Mapping[str, Callable[[Case, Table, int], DiversePath]] = MappingProxyType(
    {
        DEFAULT: _by_explanation,
        "elimination": _by_elimination,
        "fisher_unlike": _by_fisher,
        "relieff_unlike": _by_relieff,
    }
)
"""The candidates by name.

Each is a function of a sample of the table, of the whole table in common units, and of the number
of features. Features are scored on the sample, and their redundancy refers to the whole table.
"""


@dataclass(frozen=True, eq=False)
class Chosen:
    """The candidate that was chosen.

    Attributes
    ----------
    name : str
        Its name in `CANDIDATES`.
    errors : dict of str to float
        The cross-validated error of each candidate: the share of wrong classes, or the root mean
        squared error relative to that of the mean. A candidate that ran in fewer folds than the
        default has the error of the default plus the mean difference in these folds.
    curve : tuple of (size, error)
        The error of this candidate with its first features.
    case : Case
        The samples on which the candidates were compared.
    """

    name: str
    errors: Mapping[str, float]
    curve: tuple[tuple[int, float], ...]
    case: Case

    @property
    def is_default(self) -> bool:
        return self.name == DEFAULT

    def path(self, scaled: Table) -> DiversePath:
        """Return the order with all labels, and the redundancy in the whole table."""
        return CANDIDATES[self.name](self.case, scaled, MOST_SELECTED)

    @property
    def n_features(self) -> int:
        """The smallest number of features with an error close to the smallest one."""
        least = min(error for _, error in self.curve)
        return next(size for size, error in self.curve if error <= least + LEAST_IMPROVEMENT)


def choose(
    table: Table, scaled: Table, known: Supervision, *, progress: bool | None = None
) -> Chosen | None:
    """Choose a candidate by cross-validation, or return None if there are too few labels.

    `scaled` is the table in the units in which features are compared, without gaps.
    """
    case = _sample(table, scaled, known)
    folds = None if case is None or table.n_features < 2 else _folds(case.known)
    if case is None or folds is None:
        return None
    sizes = [size for size in FINER_SIZES if size <= table.n_features]
    is_compared = np.isin(sizes, SIZES)
    curves: dict[str, list[Floats]] = {name: [] for name in CANDIDATES}
    errors: dict[str, list[Floats]] = {name: [] for name in CANDIDATES}
    compared = list(CANDIDATES)
    with Progress("comparing searches", progress) as shown:
        for fold, (train, test) in enumerate(folds):
            hidden = replace(case, known=_without(case.known, test))
            for name in compared:
                path = CANDIDATES[name](hidden, hidden.scaled, max(sizes))
                curves[name].append(_error(case, path.order, train, test, sizes=sizes))
                errors[name].append(curves[name][-1][is_compared])
                if shown.shown:
                    shown.tell(f"{name}, fold {fold + 1} of {N_FOLDS}")
            if fold + 1 == FIRST_FOLDS:
                compared = _still_compared(errors)
    gains = {name: _gains(errors, name) for name in CANDIDATES}
    level = float(np.mean(errors[DEFAULT]))
    useful = np.array([_error_without_features(case, *fold) for fold in folds])
    better = [
        name
        for name in compared
        if name != DEFAULT
        and gains[name].mean() >= max(LEAST_IMPROVEMENT, _standard_error(gains[name]))
        and _exceeds(useful - np.mean(errors[name], axis=1), CLEARLY)
    ]
    chosen = max(better, key=lambda name: float(gains[name].mean()), default=DEFAULT)
    curve = np.mean(curves[chosen], axis=0)
    return Chosen(
        chosen,
        {name: level - float(gain.mean()) for name, gain in gains.items()},
        tuple(zip(sizes, curve.tolist(), strict=True)),
        case,
    )


def _standard_error(values: Floats) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _exceeds(gains: Floats, n_errors: float) -> bool:
    """Whether the mean of the gains exceeds a number of its standard errors."""
    return bool(gains.mean() > n_errors * _standard_error(gains))


def _error_without_features(case: Case, train: Integers, test: Integers) -> float:
    """Return the error of predicting the most frequent class or the mean."""
    if case.known.targets is not None:
        return 1.0
    codes = case.known.codes
    return float(np.mean(codes[test] != np.bincount(codes[train]).argmax()))


def _gains(errors: Mapping[str, list[Floats]], name: str) -> Floats:
    """Return the error of the default minus that of a candidate, in the folds where it ran."""
    own = np.mean(errors[name], axis=1)
    return np.asarray(np.mean(errors[DEFAULT], axis=1)[: len(own)] - own)


def _still_compared(errors: Mapping[str, list[Floats]]) -> list[str]:
    """Return the candidates that were better in the first folds, with the default before them.

    If there are none, nothing is left to compare.
    """
    better = [name for name in errors if _gains(errors, name).mean() > 0]
    return [DEFAULT, *better] if better else []


def _sample(table: Table, scaled: Table, known: Supervision) -> Case | None:
    """Return the samples on which candidates are compared, or None if there are too few labels."""
    rows = _rows_to_compare(scaled, known)
    if rows is None:
        return None
    if known.targets is not None:
        known = replace(known, targets=_without_outliers(standardized_target(known.targets)))
    return Case.of(_in_memory(table.take(rows)), _in_memory(scaled.take(rows)), known[rows])


def _without_outliers(targets: Floats) -> Floats:
    """Limit targets to three interquartile ranges beyond the quartiles.

    A few extreme values would otherwise determine the errors of all candidates.
    """
    low, high = np.nanquantile(targets, [0.25, 0.75])
    margin = OUTLYING * (high - low)
    return np.clip(targets, low - margin, high + margin) if margin > 0 else targets


def _in_memory(table: Table) -> Table:
    """Read a table with few rows into memory, because it is used many times."""
    if isinstance(table, MemoryTable):
        return table
    values = table.corner(np.arange(table.n_samples))
    if not sp.issparse(values):
        values = np.asarray(values, dtype=np.float64)
    held = MemoryTable.trusted(values, table.feature_names, features=table.features)
    held.gaps = table.gaps
    return held


def _rows_to_compare(table: Table, known: Supervision) -> Integers | None:
    """Return the samples on which candidates are compared, in an order that follows from the data.

    The result is None if there are too few labels. Samples are left out of large tables, evenly
    over the classes or over the target.
    """
    if known.kinds not in (("labels",), ("targets",)) or known.n_targets > 1:
        return None
    labeled = np.flatnonzero(known.labeled)
    if known.units(labeled).n < FEWEST_LABELED:
        return None
    if known.targets is None:
        sizes = np.bincount(known.codes[labeled])
        # Rare classes cannot be in every fold. They are left out.
        labeled = labeled[sizes[known.codes[labeled]] >= FEWEST_PER_CLASS]
        values = known.codes.astype(np.float64)
        if len(labeled) < FEWEST_LABELED or len(np.unique(values[labeled])) < 2:
            return None
    else:
        values = known.targets
        if values[labeled].min() == values[labeled].max():
            return None
        values = standardized_target(values)
        # Targets with the opposite sign give the same folds.
        values = np.asarray(np.round(np.abs(values - float(np.nanmedian(values))), 9))
    order = _ordered_by_content(table)
    place = np.empty(table.n_samples, dtype=np.int64)
    place[order] = np.arange(table.n_samples)
    labeled = labeled[np.lexsort((place[labeled], values[labeled]))]
    others = order[~known.labeled[order]]
    kept = [
        _evenly(part, limit) for part, limit in ((labeled, MOST_ROWS), (others, MOST_ROWS // 2))
    ]
    return np.concatenate(kept)


def _ordered_by_content(table: Table) -> Integers:
    """Return the samples in an order that does not depend on that of the samples or columns.

    They are sorted by sums over their values. Samples that contain the same values in different
    columns are distinguished by a sum in which each column has a weight of its own.
    """
    sums = np.zeros((2, table.n_samples))
    for _, part in table.evaluations(_sums_of_rows):
        sums += part
    rounded = [np.round(one / max(float(np.abs(one).max()), 1e-300), 9) for one in sums]
    weighted = np.zeros(table.n_samples)
    for _, part in table.evaluations(partial(_weighted_sums, of_rows=rounded[0])):
        weighted += part
    largest = max(float(np.abs(weighted).max()), 1e-300)
    return np.lexsort([np.round(weighted / largest, 9), *rounded])


def _sums_of_rows(block: Block) -> Floats:
    """Return the sums and the sums of squares of the rows of a block."""
    sums = np.zeros((2, block.n_samples))
    for _, values in block.dense_parts():
        sums += np.stack([values.sum(axis=1), np.einsum("ij,ij->i", values, values)])
    return sums


def _weighted_sums(block: Block, *, of_rows: Floats) -> Floats:
    """Return sums of the rows of a block. The weights follow from the columns and the row sums."""
    sums = np.zeros(block.n_samples)
    for _, values in block.dense_parts():
        sums += values @ np.sqrt(np.abs(values.T @ of_rows))
    return sums


def _evenly(rows: Integers, most: int) -> Integers:
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).round().astype(np.int64)]


def _folds(known: Supervision) -> list[tuple[Integers, Integers]] | None:
    """Return the training and test samples of each fold, or None if they cannot be compared.

    Samples are assigned class by class, or by the distance from the median of the target, so every
    fold has its share of them. The samples of a group are in the same fold.
    """
    labeled = np.flatnonzero(known.labeled)
    folds = np.arange(len(labeled)) % N_FOLDS
    if known.groups is not None:
        _, first, owner = np.unique(known.groups[labeled], return_index=True, return_inverse=True)
        folds = np.argsort(np.argsort(first))[owner] % N_FOLDS
    elif known.targets is None:
        codes = known.codes[labeled]
        for code in np.unique(codes):
            folds[codes == code] = np.arange((codes == code).sum()) % N_FOLDS
    found = [(labeled[folds != fold], labeled[folds == fold]) for fold in range(N_FOLDS)]
    values = known.codes if known.targets is None else known.targets
    enough = all(len(test) and len(np.unique(values[train])) > 1 for train, test in found)
    return found if enough else None


def _without(known: Supervision, rows: Integers) -> Supervision:
    """Return the supervision without the labels of some samples."""
    if known.targets is None:
        codes = known.codes.copy()
        codes[rows] = -1
        hidden = Supervision.from_labels(codes)
    else:
        targets = known.targets.copy()
        targets[rows] = np.nan
        hidden = Supervision.from_targets(targets)
    return hidden if known.groups is None else hidden | Supervision.from_groups(known.groups)


def _error(
    case: Case, order: Integers, train: Integers, test: Integers, *, sizes: list[int]
) -> Floats:
    """Return the mean error of two learners for several numbers of features."""
    codes, targets = case.known.codes, case.known.targets
    named = np.unique(codes[train])
    if targets is None:
        outputs, n_neighbors = (codes[train][:, None] == named) * 1.0, NEIGHBORS_OF_CLASSES
    else:
        outputs, n_neighbors = targets[train][:, None], NEIGHBORS_OF_TARGETS
    values, ends = _columns_of(case.scaled, order[: max(sizes)])
    found = []
    for size in sizes:
        some = values[:, : ends[size - 1]]
        for said in _predictions(some[train], outputs, some[test], n_neighbors):
            if targets is None:
                found.append(np.mean(named[said.argmax(axis=1)] != codes[test]))
            else:
                by_mean = np.square(targets[test] - outputs.mean()).mean()
                error = np.square(targets[test] - said[:, 0]).mean()
                found.append(np.sqrt(error / by_mean) if by_mean > 0 else 1.0)
    return np.asarray(np.reshape(found, (len(sizes), -1)).mean(axis=1))


def _columns_of(table: Table, features: Integers) -> tuple[Floats, Integers]:
    """Return the columns of some features, and where the columns of each feature end."""
    columns, ends = features, np.arange(1, len(features) + 1)
    if table.features is not None:
        columns = table.features.columns_of(features)
        ends = np.cumsum(table.features.sizes[features])
    blocks = table.take_columns(columns).blocks()
    return np.hstack([part for block in blocks for _, part in block.dense_parts()]), ends


def _predictions(
    train: Floats, outputs: Floats, test: Floats, n_neighbors: int
) -> tuple[Floats, Floats]:
    """Return the predictions of nearest neighbours and of a ridge regression.

    Samples at the same distance as the last of the nearest neighbours share its weight.
    """
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    constant = deviation <= NO_DEVIATION * np.abs(train).max(axis=0)
    scale = np.where(constant, np.inf, deviation)
    one, other = (train - mean) / scale, (test - mean) / scale
    distances = (other**2).sum(axis=1)[:, None] + (one**2).sum(axis=1) - 2 * other @ one.T
    level = outputs.mean(axis=0)
    slopes = np.linalg.solve(
        one.T @ one + PENALTY * np.eye(one.shape[1]), one.T @ (outputs - level)
    )
    weights = neighbor_weights(distances, n_neighbors, SAME_DISTANCE * max(1, one.shape[1]))
    return weights @ outputs, other @ slopes + level


def can_compare(table: Table, choice: Choice) -> bool:
    """Whether candidates can be compared. They support neither weights nor choices of the user."""
    any_feature = choice.candidates is None or bool(choice.candidates.all())
    same_cost = choice.cost is None or bool((choice.cost == choice.cost[0]).all())
    return not choice.keep and any_feature and same_cost and table.weights is None

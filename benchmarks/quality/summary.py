"""Compute ranks, means and significance tests from the records."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from graphsieve.assess.evaluation.results import standard_error, two_sided

Floats = NDArray[np.float64]

SIGNIFICANT = 0.05
NO_RIVALS = ("ours", "random", "all")
DECIMALS = 12  # Errors that differ only by rounding errors are equal.


@dataclass(frozen=True, eq=False)
class Result:
    """The errors of a method in one cell.

    `errors` contains, for each learner, the error of every fold, averaged over the numbers of
    columns. It is None if the method failed.
    """

    errors: tuple[Floats, ...] | None
    seconds: float
    test_ratio: float

    @property
    def means(self) -> tuple[float, ...] | None:
        return None if self.errors is None else tuple(float(one.mean()) for one in self.errors)


Key = tuple[str, str]  # data set, level
Grid = dict[Key, dict[str, Result]]


def grid(records: Iterable[Mapping[str, Any]]) -> Grid:
    """Return the results by cell.

    Methods that ignore the supervision have the same result at every level.
    """
    found: Grid = {}
    blind: dict[str, dict[str, Result]] = {}
    for record in records:
        result = _result(record)
        if record["blind"]:
            blind.setdefault(record["set"], {})[record["method"]] = result
        else:
            found.setdefault((record["set"], record["knowledge"]), {})[record["method"]] = result
    for name, methods in blind.items():
        cells = [key for key in found if key[0] == name] or [(name, "none")]
        for key in cells:
            found[key] = found.get(key, {}) | methods
    return found


def _result(record: Mapping[str, Any]) -> Result:
    if record["failed"]:
        return Result(None, math.nan, record["test_ratio"])
    by_fold = tuple(np.asarray(values).mean(axis=1) for values in record["errors"].values())
    return Result(by_fold, float(np.mean(record["seconds"])), record["test_ratio"])


def n_learners(results: Iterable[Result]) -> int:
    """Return the number of learners, which all methods share; 1 if all methods failed."""
    return next((len(result.errors) for result in results if result.errors is not None), 1)


# --- Ranks
# --------------------------------------------------------------------------------------------------


def ranks(cell: Mapping[str, Result]) -> dict[str, float]:
    """Return the mean rank over the learners, where 1 is the smallest error.

    Ties share a rank, and failed methods share the last. "All columns" is not a selection and has
    no rank.
    """
    names = [name for name in cell if name != "all"]
    count = n_learners(cell.values())
    means = [cell[name].means or (math.inf,) * count for name in names]
    by_learner = [
        rankdata(np.round([mean[learner] for mean in means], DECIMALS)) for learner in range(count)
    ]
    return dict(zip(names, np.mean(by_learner, axis=0).tolist(), strict=True))


def places(cell: Mapping[str, Result]) -> dict[str, float]:
    """Return ranks scaled from 0 (first) to 1 (last).

    Cells with many methods and cells with few methods then have the same weight.
    """
    found = ranks(cell)
    return {name: (rank - 1) / max(len(found) - 1, 1) for name, rank in found.items()}


# --- Tests
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """A mean difference of errors over folds, its corrected standard error and its p-value.

    A negative difference means that the first method is better.
    """

    difference: float
    standard_error: float
    p: float

    @property
    def verdict(self) -> int:
        """1: significantly worse; −1: significantly better; 0: neither."""
        return int(np.sign(self.difference)) if self.p < SIGNIFICANT else 0


def compared(ours: Floats, theirs: Floats, test_ratio: float) -> Comparison:
    """Compare the errors of two methods on the same folds.

    The variance is corrected for the training rows that folds share, as in
    `Evaluation.differences`.
    """
    difference = ours - theirs
    mean, error = float(difference.mean()), standard_error(difference, test_ratio=test_ratio)
    return Comparison(mean, error, two_sided(mean, error, len(difference) - 1))


def verdicts(found: Grid, method: str, to: str = "random") -> dict[tuple[str, int], Comparison]:
    """Compare a method with another for each data set and learner.

    The errors of each fold are first averaged over the levels of supervision.
    """
    result = {}
    for name in dict.fromkeys(name for name, _ in found):
        both = [
            (cell[method], cell[to])
            for (other, _), cell in found.items()
            if other == name
            and method in cell
            and to in cell
            and cell[method].errors
            and cell[to].errors
        ]
        for learner in range(n_learners(ours for ours, _ in both)) if both else ():
            ours, theirs = (
                np.mean([pair[side].errors[learner] for pair in both], axis=0)  # type: ignore[index]
                for side in (0, 1)
            )
            result[name, learner] = compared(ours, theirs, both[0][0].test_ratio)
    return result


# --- One block of the table
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """The summary of a method in a block of cells.

    `rank` and `place` are means over cells. `errors` are means over cells by learner, where a
    failed cell counts as random columns. `difference` is the error minus that of random columns,
    averaged over data sets and learners, with its standard error over data sets. `worse` and
    `better` are shares of data sets × learners.
    """

    method: str
    cells: int
    failed: int
    rank: float
    place: float
    errors: tuple[float, ...]
    difference: float
    standard_error: float
    worse: float
    better: float
    seconds: float


def block(found: Grid) -> list[Row]:
    """Summarise all methods of a block: the best mean place first, "all columns" last."""
    methods = dict.fromkeys(name for cell in found.values() for name in cell)
    ranked = {key: ranks(cell) for key, cell in found.items()}
    placed = {key: places(cell) for key, cell in found.items()}
    rows = [_row(found, ranked, placed, name) for name in methods]
    return sorted(rows, key=lambda row: (row.method == "all", row.place))


def _row(
    found: Grid,
    ranked: Mapping[Key, Mapping[str, float]],
    placed: Mapping[Key, Mapping[str, float]],
    name: str,
) -> Row:
    cells = [key for key, cell in found.items() if name in cell]
    tests = list(verdicts(found, name).values())
    per_set = gaps(found, name, "random")
    filled = [error for key in cells if (error := _filled(found[key], name)) is not None]
    seconds = [found[key][name].seconds for key in cells if found[key][name].errors is not None]
    return Row(
        method=name,
        cells=len(cells),
        failed=sum(found[key][name].errors is None for key in cells),
        rank=_mean(ranked[key][name] for key in cells if name in ranked[key]),
        place=_mean(placed[key][name] for key in cells if name in placed[key]),
        errors=tuple(
            _mean(error[learner] for error in filled)
            for learner in range(n_learners(one for key in cells for one in found[key].values()))
        ),
        difference=_mean(per_set.values()),
        standard_error=standard_error(list(per_set.values())),
        worse=_mean(test.verdict > 0 for test in tests),
        better=_mean(test.verdict < 0 for test in tests),
        seconds=float(np.median(seconds)) if seconds else math.nan,
    )


def _filled(cell: Mapping[str, Result], name: str) -> tuple[float, ...] | None:
    """Return the mean errors. A failed method gets the errors of random columns."""
    return cell[name].means or (cell["random"].means if "random" in cell else None)


def gaps(found: Grid, method: str, to: str) -> dict[str, float]:
    """Return, for each data set, the mean difference of errors between two methods.

    The mean is over levels of supervision and learners.
    """
    by_set: dict[str, list[float]] = {}
    for (name, _), cell in found.items():
        if method in cell and to in cell:
            ours, theirs = _filled(cell, method), _filled(cell, to)
            if ours is not None and theirs is not None:
                by_set.setdefault(name, []).append(float(np.mean(ours) - np.mean(theirs)))
    return {name: float(np.mean(values)) for name, values in by_set.items()}


@dataclass(frozen=True)
class Paired:
    """A mean difference of errors over data sets, with its standard error.

    A negative difference means that the first method is better. `better` is the number of `sets` in
    which its error is smaller.
    """

    difference: float
    standard_error: float
    sets: int
    better: int


def paired(found: Grid, method: str, to: str) -> Paired | None:
    """Compare two methods over data sets; None if they share no cell."""
    differences = list(gaps(found, method, to).values())
    if not differences:
        return None
    better = sum(round(difference, DECIMALS) < 0 for difference in differences)
    return Paired(_mean(differences), standard_error(differences), len(differences), better)


def best_single(rows: Sequence[Row]) -> Row | None:
    """Return the other method with the smallest mean error among those run in every cell."""
    most = max((row.cells for row in rows), default=0)
    rivals = [row for row in rows if row.method not in NO_RIVALS and row.cells == most]
    return min(rivals, key=lambda row: sum(row.errors), default=None)


def worse_cells(found: Grid, method: str) -> list[tuple[str, str, int, Comparison]]:
    """Return the single cells in which a method is significantly worse than random columns.

    Each entry contains the data set, the level of supervision, the learner and the test.
    """
    result = []
    for (name, level), cell in found.items():
        for learner, test in (
            (key[1], test) for key, test in verdicts({(name, level): cell}, method).items()
        ):
            if test.verdict > 0:
                result.append((name, level, learner, test))
    return result


def of_levels(found: Grid, levels: Iterable[str]) -> Grid:
    """Return the cells with these levels of supervision."""
    wanted = set(levels)
    return {key: cell for key, cell in found.items() if key[1] in wanted}


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return float(np.mean(numbers)) if numbers else math.nan

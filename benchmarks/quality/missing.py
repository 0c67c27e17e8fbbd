"""Selections from tables with missing cells, compared with the selection from the complete table.

Cells of the training rows are removed. The learners see the complete values of the selected
columns, so that only the selections differ.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.stats import rankdata, wilcoxon
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 - makes the next line work
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.preprocessing import StandardScaler

from graphsieve import Supervision
from graphsieve.assess.evaluation.evaluating import evaluate
from graphsieve.assess.evaluation.results import standard_error
from quality import summary
from quality.candidates import CANDIDATES
from quality.knowledge import ALL, LEVELS, Level, draw_supervision, level_for
from quality.running import Settings, completed
from quality.sets import NAMED_LEARNERS, Problem, problem
from quality.summary import Grid, Result
from quality.tables import lines_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Records = list[dict[str, Any]]

# Dense tables of small or medium size.
SETS = (
    *("wine", "ionosphere", "sonar", "dermatology", "zoo", "wpbc", "colon", "orl", "usps"),
    *("madelon", "tecator", "cookie_nir", "corn_m5", "gasoline_nir", "nirsoil", "census_house_sub"),
)
PATTERNS = ("at random", "by value")
SHARES = (0.05, 0.2, 0.5)
COMPLETE, GAPS, MEDIAN = "complete", "gaps", "median"
# The published tables on missing values use two learners. A third would double the time.
LEARNERS = {task: learners[:2] for task, learners in NAMED_LEARNERS.items()}
LARGEST_ITERATIVE = 40  # columns; IterativeImputer takes seconds per table beyond
SUPPORTED = ("nothing", "labels", "targets")  # kinds of supervision
KNOWLEDGE = (ALL, *(name for name, level in LEVELS.items() if level.kind in SUPPORTED))


# --- Gaps and fills
# --------------------------------------------------------------------------------------------------


def removed(X: Floats, pattern: str, share: float, random: np.random.Generator) -> Floats:
    """Return a table without this share of its cells.

    By value, the probability of a gap is proportional to the rank of the cell in its column.
    """
    place = rankdata(X, axis=0) / len(X) if pattern == "by value" else 0.5
    return np.where(random.random(X.shape) < 2 * share * place, np.nan, X)


def _as_it_is(X: Floats) -> Floats:
    return X


def _median(X: Floats) -> Floats:
    filled: Floats = SimpleImputer(strategy="median", keep_empty_features=True).fit_transform(X)
    return filled


def _nearest(X: Floats) -> Floats:
    """Fill with the means of the five nearest rows, in standardised columns."""
    units = StandardScaler().fit(X)
    filled = KNNImputer(keep_empty_features=True).fit_transform(units.transform(X))
    original: Floats = units.inverse_transform(filled)
    return original


def _iterative(X: Floats) -> Floats:
    filled: Floats = IterativeImputer(random_state=0, keep_empty_features=True).fit_transform(X)
    return filled


METHODS: Mapping[str, tuple[Callable[[Floats], Floats], str]] = {
    GAPS: (_as_it_is, "ours"),
    MEDIAN: (_median, "ours"),
    "nearest": (_nearest, "ours"),
    "iterative": (_iterative, "ours"),
    "mrmr": (_median, "mrmr"),
    "fastcan": (_median, "fastcan"),
}
"""For each method, the fill and the candidate that selects from the filled table."""


def methods_for(level: Level, n_features: int) -> list[str]:
    return [
        name
        for name, (_, selector) in METHODS.items()
        if CANDIDATES[selector].installed
        and CANDIDATES[selector].can_use(level)
        and (name != "iterative" or n_features <= LARGEST_ITERATIVE)
    ]


# --- One data set
# --------------------------------------------------------------------------------------------------


def run_set(name: str, level: Level, settings: Settings) -> Records:
    """Return the records of one data set at one level of supervision, over all folds."""
    warnings.simplefilter("ignore")
    data = problem(name, **settings.sampling)
    folds = [_fold(data, level, fold, settings.seed) for fold in range(len(data.splits))]
    return [
        {
            "set": name,
            "knowledge": level.name,
            "pattern": pattern,
            "share": share,
            "method": method,
            "settings": asdict(settings),
            "test_ratio": data.test_ratio,
            "errors": {
                learner: [fold[key][0][learner] for fold in folds]
                for learner in LEARNERS[data.task]
            },
            "seconds": float(np.mean([fold[key][1] for fold in folds])),
            "failed": [fold[key][2] for fold in folds if fold[key][2] is not None],
        }
        for key in folds[0]
        for pattern, share, method in [key]
    ]


def _fold(data: Problem, level: Level, fold: int, seed: int) -> dict[Any, Any]:
    """Return the errors by learner, the seconds and the failure of all selections of one fold."""
    train, _ = data.splits[fold]
    known = draw_supervision(level, data.y[train], [seed, fold])
    orders = {
        key: _timed(X, known, method, max(data.sizes), [seed, fold])
        for key, X, method in _tables(data.X[train], level, [seed, fold])
    }
    errors = _errors(data, fold, {key: order for key, (order, *_) in orders.items()})
    return {key: (errors[key], *rest) for key, (_, *rest) in orders.items()}


def _tables(X: Floats, level: Level, seed: list[int]) -> Iterator[tuple[Any, Floats, str]]:
    """Yield pattern, share and method, the table, and the method that selects from it."""
    yield (None, 0.0, COMPLETE), X, GAPS
    for pattern in PATTERNS:
        for share in SHARES:
            with_gaps = removed(X, pattern, share, np.random.default_rng([*seed, 3]))
            for method in methods_for(level, X.shape[1]):
                yield (pattern, share, method), with_gaps, method


def _timed(
    X: Floats, known: Supervision, method: str, n: int, seed: list[int]
) -> tuple[Integers, float, str | None]:
    """Return the order, the seconds, and the reason of a failure, which gives a random order."""
    fill, selector = METHODS[method]
    order, failed = np.empty(0, dtype=np.int64), None
    start = time.perf_counter()
    try:
        order = np.asarray(CANDIDATES[selector].order(fill(X), known, n), dtype=np.int64)
    except Exception as error:  # The run continues.
        failed = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    seconds = time.perf_counter() - start
    return completed(order, X.shape[1], np.random.default_rng([*seed, 2])), seconds, failed


def _errors(data: Problem, fold: int, orders: Mapping[Any, Integers]) -> dict[Any, Any]:
    """Return 1 − accuracy or 1 − R² of each order by learner, averaged over the sizes.

    Equal orders are evaluated once.
    """
    distinct = {order[: max(data.sizes)].tobytes(): order for order in orders.values()}
    selectors = {
        str(place): partial(_given, order=order) for place, order in enumerate(distinct.values())
    }
    classes = data.task == "classification"
    found = evaluate(
        selectors,
        data.X,
        data.y,
        sizes=data.sizes,
        learners=LEARNERS[data.task],
        known=0,
        folds=[data.splits[fold]],
        baselines=(),
        target_type="classes" if classes else "continuous",
        random_state=0,
        progress=False,
    )

    def errors(name: str, learner: str) -> float:
        if classes:
            return float(np.mean(1 - found.values(name, learner, metric="accuracy")))
        return float(np.mean(found.values(name, learner, metric="relative_rmse") ** 2))

    names = dict(zip(distinct, selectors, strict=True))
    return {
        key: {
            learner: errors(names[order[: max(data.sizes)].tobytes()], learner)
            for learner in LEARNERS[data.task]
        }
        for key, order in orders.items()
    }


def _given(X: Any, y: Any, order: Integers) -> Integers:
    return order


# --- Many data sets
# --------------------------------------------------------------------------------------------------


def run(
    sets: Iterable[tuple[str, str]],
    levels: Iterable[str],
    settings: Settings,
    file: Path,
    *,
    jobs: int,
    log: Callable[[str], None],
) -> None:
    """Run the data sets and levels that the file does not contain, and append them."""
    done = {(one["set"], one["knowledge"]) for one in read(file, settings)}
    sets = list(sets)
    tasks = (
        delayed(run_set)(name, level, settings)
        for wanted in levels
        for name, task in sets
        if (level := level_for(wanted, task)) is not None and (name, wanted) not in done
    )
    for records in Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)(tasks):
        with file.open("a", encoding="utf-8") as out:
            out.writelines(json.dumps(one) + "\n" for one in records)
        log(f"{records[0]['set']}, {records[0]['knowledge']}")


def read(file: Path, settings: Settings) -> Records:
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    records = [json.loads(line) for line in lines]
    return [one for one in records if one["settings"] == asdict(settings)]


# --- Tables
# --------------------------------------------------------------------------------------------------


def report(records: Records, *, markdown: bool) -> str:
    """Return, for each level of supervision, the points lost, the ranks and the tests."""
    parts = []
    for level in dict.fromkeys(one["knowledge"] for one in records):
        some = [one for one in records if one["knowledge"] == level]
        grids = {(p, s): _grid(some, p, s) for p in PATTERNS for s in SHARES}
        names = [name for name in METHODS if any(one["method"] == name for one in some)]
        parts.append(f"Supervision: {level} ({len({one['set'] for one in some})} data sets)")
        for table in (_losses(grids, names), _ranks(grids, names), _tests(grids)):
            parts.append("\n".join(lines_of(table, markdown)).rstrip())
        parts.extend(_failures(some))
    return "\n\n".join(parts)


def _failures(records: Records) -> list[str]:
    """Return a line for each method and data set with failures."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in records:
        found.setdefault((one["method"], one["set"]), []).extend(one["failed"])
    return [
        f"Failed: {method} on {name}, {len(reasons)} selections ({'; '.join(sorted(set(reasons)))})"
        for (method, name), reasons in found.items()
        if reasons
    ]


def _grid(records: Records, pattern: str, share: float) -> Grid:
    """Return the results with these gaps and on the complete table, by data set.

    A method that fails in any fold has no result. It ranks last, and is not in the other tables.
    """
    found: Grid = {}
    for one in records:
        if one["method"] == COMPLETE or (one["pattern"], one["share"]) == (pattern, share):
            by_learner = tuple(np.asarray(errors) for errors in one["errors"].values())
            errors = None if one["failed"] else by_learner
            result = Result(errors, one["seconds"], one["test_ratio"])
            found.setdefault((one["set"], one["knowledge"]), {})[one["method"]] = result
    return found


def _losses(grids: Mapping[Any, Grid], names: Sequence[str]) -> list[list[str]]:
    """Return the points lost relative to the complete table, ± standard errors over data sets."""

    def shown(found: Grid, name: str) -> str:
        lost = [100 * loss for loss in summary.gaps(found, name, COMPLETE).values()]
        failed = sum(name in cell and cell[name].errors is None for cell in found.values())
        return _mean(lost, ".2f") + (f" ({failed} failed)" if failed else "")

    return [
        ["points lost", *names],
        *([_title(key), *(shown(found, name) for name in names)] for key, found in grids.items()),
    ]


def _ranks(grids: Mapping[Any, Grid], names: Sequence[str]) -> list[list[str]]:
    """Return mean ranks among the methods that ran on all data sets."""
    everywhere = [
        name
        for name in names
        if all(name in cell for grid in grids.values() for cell in grid.values())
    ]
    rows = {
        key: np.mean(
            [
                list(summary.ranks({n: cell[n] for n in everywhere}).values())
                for cell in grid.values()
            ],
            axis=0,
        )
        for key, grid in grids.items()
    }
    return [
        ["mean rank", *everywhere],
        *([_title(key), *(f"{rank:.2f}" for rank in row)] for key, row in rows.items()),
        ["mean", *(f"{rank:.2f}" for rank in np.mean(list(rows.values()), axis=0))],
    ]


def _tests(grids: Mapping[Any, Grid]) -> list[list[str]]:
    """Return tests of the gaps as they are against median fill."""
    return [
        ["gaps − median", "points", "p (Wilcoxon)", "sets better / worse", "significant"],
        *([_title(key), *_test(found)] for key, found in grids.items()),
    ]


def _test(found: Grid) -> list[str]:
    gained = -100 * np.array(list(summary.gaps(found, GAPS, MEDIAN).values()))
    verdicts = [one.verdict for one in summary.verdicts(found, GAPS, MEDIAN).values()]
    return [
        _mean(gained, "+.2f"),
        f"{wilcoxon(gained).pvalue:.2g}" if gained.any() else "1",
        f"{np.sum(gained > 0)} / {np.sum(gained < 0)}",
        f"{verdicts.count(-1)} / {verdicts.count(1)}",
    ]


def _mean(values: Any, form: str) -> str:
    """Return the mean, ± its standard error if there are several values."""
    if len(values) == 0:
        return ""
    error = f" ± {standard_error(values):.2f}" if len(values) > 1 else ""
    return f"{np.mean(values):{form}}{error}".replace("-", "−")


def _title(key: tuple[str, float]) -> str:
    return f"{100 * key[1]:.0f} % {key[0]}"

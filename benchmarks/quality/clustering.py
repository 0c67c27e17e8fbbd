"""Clusters in the columns that are selected without supervision, compared with the classes.

K-means searches for as many clusters as there are classes. The accuracy is the share of rows in the
cluster of their class, under the best matching of clusters and classes.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

from graphsieve import Supervision
from graphsieve._base.errors import InputError
from graphsieve.assess import clustering_accuracy
from graphsieve.assess.evaluation.results import standard_error
from graphsieve.search.diverse import diverse_selection
from graphsieve.select.preparation import scale_used
from graphsieve.table.any_table import as_table
from graphsieve.table.scaling import rescaled
from quality import candidates, results, sets
from quality.candidates import NOTHING, Candidate, candidate_named
from quality.references import dense
from quality.results import Section
from quality.running import RANDOM_DRAWS, completed
from quality.sets import problem
from quality.tables import count, lines_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

OURS, RANDOM, EVERY = "ours", "random", "all"
SIZES = (50, 100, 200, 300)
FEWEST_COLUMNS = 100
ROWS, STARTS = 800, 20
QUICK_ROWS, QUICK_STARTS = 200, 3
QUICK_SETS = ("usps", "madelon")
DECIMALS = 12  # Values that differ only by rounding errors are equal.


def _subset_selection(X: Any, known: Supervision, n: int) -> Integers:
    """Select greedily the columns that explain most of the variance of all columns."""
    return diverse_selection(np.ones(X.shape[1]), X, n_features_to_select=n, progress=False).order


SUBSET_SELECTION = Candidate("subset_selection", "references", NOTHING, _subset_selection)
OWN = {SUBSET_SELECTION.name: SUBSET_SELECTION}
"""Methods that are not candidates of the benchmark."""
IN_UNITS = ("subset_selection", "pivoted_qr")
"""Methods that compare columns in the given units. They get the units of the default."""
METHODS = (
    *(OURS, "subset_selection", "pivoted_qr", "facility_location", "kmeans_columns"),
    *("score_unlike", "variance", "laplacian", "spec", RANDOM, EVERY),
)


# --- One data set
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """The agreement of the clusters with the classes, for one method, data set and size."""

    dataset: str
    method: str
    size: int
    accuracy: float
    nmi: float
    seconds: float


def in_units_of_the_default(X: Any) -> Any:
    """Return the table with the scale that the default chooses for it."""
    table = as_table(X)
    matrix = rescaled(table, scale_used(table, "auto")).matrix
    return sp.csr_array(matrix) if sp.issparse(matrix) else matrix


def agreement(points: Any, y: Integers, *, starts: int, seed: int) -> tuple[float, float]:
    """Return the accuracy and the normalised mutual information of k-means."""
    model = KMeans(len(np.unique(y)), n_init=starts, random_state=seed)
    with warnings.catch_warnings():
        # There may be fewer distinct points than clusters. The accuracy accounts for this.
        warnings.simplefilter("ignore")
        groups = model.fit_predict(points)
    return clustering_accuracy(y, groups), float(normalized_mutual_info_score(y, groups))


def orders(method: str, X: Any, units: Any, n: int, seed: int) -> tuple[list[Integers], float]:
    """Return the order of a method, or several random orders, and the seconds of the selection."""
    random = np.random.default_rng([seed, 2])
    if method == RANDOM:
        return [random.permutation(X.shape[1]) for _ in range(RANDOM_DRAWS)], 0.0
    candidate = _named(method)
    table = units if method in IN_UNITS else X
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = candidate.order(table, Supervision.nothing(X.shape[0]), n)
    seconds = time.perf_counter() - start
    return [completed(np.asarray(found, dtype=np.int64), X.shape[1], random)], seconds


def run_set(
    name: str, methods: Sequence[str], *, rows: int, starts: int, seed: int
) -> list[Outcome]:
    """Return the results of all methods on one data set, for all sizes below its columns."""
    data = problem(name, rows=rows, folds=2, repeats=1, seed=seed)
    units = in_units_of_the_default(data.X)
    sizes = sizes_for(data.X.shape[1])
    found = []
    for method in methods:
        if method == EVERY:
            values = agreement(units, data.y, starts=starts, seed=seed)
            found += [Outcome(name, EVERY, size, *values, 0.0) for size in sizes]
            continue
        several, seconds = orders(method, data.X, units, max(sizes), seed)
        for size in sizes:
            accuracy, nmi = np.mean(
                [
                    agreement(dense(units[:, order[:size]]), data.y, starts=starts, seed=seed)
                    for order in several
                ],
                axis=0,
            )
            found.append(Outcome(name, method, size, float(accuracy), float(nmi), seconds))
    return found


def sizes_for(n_features: int) -> tuple[int, ...]:
    return tuple(size for size in SIZES if size < n_features)


def _named(method: str) -> Candidate:
    return OWN.get(method) or candidate_named(method)


# --- Tables
# --------------------------------------------------------------------------------------------------


def report(outcomes: Sequence[Outcome], *, markdown: bool, detail: bool = False) -> str:
    """Return the table of all methods by mean rank, and with `detail` that of all data sets."""
    tables = [rows_of(outcomes)]
    if detail:
        methods = [row[0] for row in tables[0][1:]]
        by_set = {method: _by_set(outcomes, method, "accuracy") for method in methods}
        tables.append(
            [
                ["accuracy", *methods],
                *(
                    [name, *(f"{by_set[method][name]:.3f}" for method in methods)]
                    for name in dict.fromkeys(one.dataset for one in outcomes)
                ),
            ]
        )
    return "\n\n".join("\n".join(lines_of(table, markdown)).rstrip() for table in tables)


def rows_of(outcomes: Sequence[Outcome]) -> list[list[str]]:
    """Return the header and the rows of all methods by mean rank."""
    ranked = ranks(outcomes)
    methods = list(dict.fromkeys(one.method for one in outcomes))
    methods.sort(key=lambda method: ranked.get(method, np.inf))
    header = ["method", "accuracy", "NMI", "rank", "accuracy − default", "NMI − default", "seconds"]
    return [header, *(_row(method, outcomes, ranked) for method in methods)]


def section(outcomes: Sequence[Outcome], rows: int) -> Section:
    """Return the section of docs/quality-problems.md."""
    n_sets = len({one.dataset for one in outcomes})
    return results.section(
        "K-means searches for as many clusters as there are classes, in the first "
        f"{', '.join(map(str, SIZES[:-1]))} and {SIZES[-1]} columns that are selected without "
        f"supervision. The comparison uses {count(n_sets, 'data set')} with at most {rows} rows. "
        "*Accuracy* is the share of rows in the cluster of their class, under the best matching. "
        "*NMI* is the normalised mutual information of clusters and classes. For both, larger is "
        "better. *Rank* is the mean rank over data sets, numbers of columns and both measures.",
        rows_of(outcomes),
    )


def ranks(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Return mean ranks over data sets, sizes and both measures, where 1 is the best.

    All columns are not a selection and have no rank.
    """
    found: dict[str, list[float]] = {}
    selected = [one for one in outcomes if one.method != EVERY]
    for key in dict.fromkeys((one.dataset, one.size) for one in selected):
        cell = [one for one in selected if (one.dataset, one.size) == key]
        for measure in ("accuracy", "nmi"):
            values = [-round(getattr(one, measure), DECIMALS) for one in cell]
            for one, rank in zip(cell, rankdata(values), strict=True):
                found.setdefault(one.method, []).append(float(rank))
    return {method: float(np.mean(values)) for method, values in found.items()}


def _by_set(outcomes: Sequence[Outcome], method: str, measure: str) -> dict[str, float]:
    """Return the mean over sizes for each data set."""
    values: dict[str, list[float]] = {}
    for one in outcomes:
        if one.method == method:
            values.setdefault(one.dataset, []).append(getattr(one, measure))
    return {name: float(np.mean(some)) for name, some in values.items()}


def _row(method: str, outcomes: Sequence[Outcome], ranked: Mapping[str, float]) -> list[str]:
    by_set = {measure: _by_set(outcomes, method, measure) for measure in ("accuracy", "nmi")}
    seconds = [one.seconds for one in outcomes if one.method == method]
    return [
        method,
        *(f"{np.mean(list(values.values())):.3f}" for values in by_set.values()),
        f"{ranked[method]:.2f}" if method in ranked else "",
        *(
            _difference(values, _by_set(outcomes, OURS, measure)) if method != OURS else ""
            for measure, values in by_set.items()
        ),
        "" if method in candidates.BASELINES else f"{np.median(seconds):.2g}",
    ]


def _difference(values: Mapping[str, float], ours: Mapping[str, float]) -> str:
    """Return the mean difference from the default, ± its standard error over data sets."""
    if not ours:
        return ""
    differences = [value - ours[name] for name, value in values.items()]
    error = f" ± {standard_error(differences):.3f}" if len(differences) > 1 else ""
    # Adding 0 turns a rounded −0 into 0.
    return f"{round(float(np.mean(differences)), 3) + 0.0:+.3f}".replace("-", "−") + error


# --- The command
# --------------------------------------------------------------------------------------------------


def chosen_methods(names: Sequence[str]) -> list[str]:
    """Return the methods with these names. All of them must work without supervision."""
    found: dict[str, None] = {}
    for name in names:
        for member in [name] if name in OWN else candidates.chosen(name, with_random=False):
            if "nothing" not in _named(member).uses:
                raise InputError(
                    f"method {member!r} needs supervision; choose methods that work without it."
                )
            found[member] = None
    return list(found)


def large_enough(names: Sequence[tuple[str, str]], log: Callable[[str], None]) -> list[str]:
    """Return the data sets with classes and at least 100 columns."""
    found = []
    for name, task in names:
        if task != "classification":
            log(f"{name} is left out: it has no classes")
        elif _n_columns(name) < FEWEST_COLUMNS:
            log(f"{name} is left out: it has fewer than {FEWEST_COLUMNS} columns")
        else:
            found.append(name)
    return found


def _n_columns(name: str) -> int:
    return int(problem(name, rows=QUICK_ROWS, folds=2, repeats=1, seed=0).X.shape[1])


def main(
    arguments: Sequence[str],
    *,
    available: Callable[[Sequence[str]], list[tuple[str, str]]],
    log: Callable[[str], None],
) -> int:
    """Run the command `clustering` and print its tables."""
    given = _parser().parse_args(arguments)
    methods = chosen_methods(given.methods.split(",") if given.methods else METHODS)
    names = given.sets.split(",") if given.sets else QUICK_SETS if given.quick else sets.CLASSES
    rows = given.rows or (QUICK_ROWS if given.quick else ROWS)
    starts = given.starts or (QUICK_STARTS if given.quick else STARTS)
    for name, value in (("rows", rows), ("starts", starts)):
        if value < 1:
            raise InputError(f"--{name} must be at least 1, got {value}.")
    outcomes: list[Outcome] = []
    for name in large_enough(available(names), log):
        start = time.perf_counter()
        outcomes += run_set(name, methods, rows=rows, starts=starts, seed=given.seed)
        log(f"{name} is done ({time.perf_counter() - start:.0f} s)")
    if not outcomes:
        raise InputError(f"no data set has classes and at least {FEWEST_COLUMNS} columns.")
    n_sets = len({one.dataset for one in outcomes})
    print(
        f"K-means without supervision: {n_sets} data sets with at most {rows} rows, sizes "
        f"{', '.join(map(str, SIZES))}.\n"
    )
    print(report(outcomes, markdown=given.markdown, detail=given.detail))
    if given.store:
        results.add("clustering", section(outcomes, rows))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="quality clustering", description=__doc__)
    parser.add_argument(
        "--sets",
        help="names of data sets, separated by commas (default: development data sets with classes "
        f"and at least {FEWEST_COLUMNS} columns)",
    )
    parser.add_argument(
        "--methods",
        help=f"names or groups of the benchmark, or subset_selection (default: {','.join(METHODS)})",
    )
    parser.add_argument("--rows", type=int, help=f"maximum number of rows (default: {ROWS})")
    parser.add_argument(
        "--starts", type=int, help=f"number of starts of k-means (default: {STARTS})"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"the data sets {', '.join(QUICK_SETS)} with {QUICK_ROWS} rows, {QUICK_STARTS} starts",
    )
    parser.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    parser.add_argument(
        "--detail", action="store_true", help="also print the accuracies on each data set"
    )
    results.add_option(parser)
    return parser

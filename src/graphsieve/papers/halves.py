"""Compare filters by the accuracy of 1-NN on halves of a data set, in several readings.

This module serves the paper on the constrained Laplacian score. On the paper's halves, the first
half of each class, nothing is random. Random halves have standard errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal

import numpy as np
from scipy.spatial.distance import cdist

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.errors import held_back
from graphsieve.assess.evaluation.hiding import hide_labels
from graphsieve.datasets.dataset import Dataset
from graphsieve.graphs.builders import EFFECTIVE_EDGES_PER_SAMPLE, neighbor_graph
from graphsieve.graphs.graph import SparseGraph
from graphsieve.graphs.neighbors.exact import nearest_neighbors
from graphsieve.papers.estimate import Estimate, estimates, holds, listed, series, written
from graphsieve.papers.experiment import Run, batches
from graphsieve.papers.results import Cell, Figure, Series, Table, Verdict
from graphsieve.select.graph_sieve import GraphSieve
from graphsieve.supervision.value import Supervision
from graphsieve.table.columns import MemoryTable

Pairs = tuple[Integers, Integers]  # must-link, cannot-link

NEIGHBORS, BANDWIDTH = 10, 0.1  # Sec. 5.1: k and λ "in most experiments"
TABLE_2_LABELS = 5  # give 10 constraints
FACE_LABELS = 20  # two for each of ten persons, the smallest number with a must-link in each
GRID = 20  # equal steps of the number of features, if there are too many to try all
FEW_FEATURES = (10, 20, 50)  # in addition to the grid, for the figures
BATCH = 10  # repetitions of a small data set per task of a process


# Filters


@dataclass(frozen=True)
class Filter:
    """A method of the paper in this library, with the labels it uses."""

    method: str
    labels: Literal["none", "few", "all"] = "none"
    has_graph: bool = False
    options: tuple[tuple[str, Any], ...] = ()


FILTERS: Mapping[str, Filter] = {
    "Variance": Filter("variance"),
    "Laplacian": Filter("laplacian", has_graph=True),
    "Fisher": Filter("fisher", "all"),
    "CS": Filter("constraint", "few"),
    "C4": Filter("c4", "few", has_graph=True),
    "ReliefF": Filter("relieff", "all"),
    "F2+r4": Filter("spec", has_graph=True, options=(("form", "phi2"), ("power", 4))),
    "F3+r": Filter("spec", has_graph=True, options=(("form", "phi3"), ("power", 1))),
    "CLS": Filter("constrained_laplacian", "few", has_graph=True),
}
RANDOM, ALL = "random columns", "all columns"


def fitted(
    name: str,
    X: Floats,
    known: Supervision | None,
    bandwidth: float | str = BANDWIDTH,
    **options: Any,
) -> GraphSieve:
    """Fit one filter to unscaled features."""
    chosen = FILTERS[name]
    # The paper's settings cause warnings: constant columns, a bandwidth far below all distances,
    # classes with one label.
    with held_back():
        return GraphSieve(
            chosen.method,
            n_neighbors=NEIGHBORS if chosen.has_graph else "auto",
            bandwidth=bandwidth if chosen.has_graph else "auto",
            scale=None,
            metric="euclidean" if chosen.has_graph else "auto",  # as published, for any table
            method_params=dict(chosen.options),
            **options,
        ).fit(X, supervision=known)


def ranked(
    name: str, X: Floats, known: Supervision | None, bandwidth: float | str = BANDWIDTH
) -> Integers:
    """Return the columns from best to worst by one filter."""
    return np.argsort(fitted(name, X, known, bandwidth).ranking_)


@dataclass(frozen=True)
class Kernel:
    """Properties of the neighbour graph with k = 10 and λ = 0.1.

    They are squared distances, the share of samples without weight, and effective edges per
    sample.
    """

    shortest: float
    median: float
    without_weight: float
    effective_edges: float

    @property
    def serves(self) -> bool:
        """Whether the score depends on more than a few samples, by the library's warning rule."""
        return self.without_weight < 0.5 and self.effective_edges >= EFFECTIVE_EDGES_PER_SAMPLE


def kernel(X: Any) -> Kernel:
    """Return the properties of the weights of Eq. 2 with k = 10 and λ = 0.1."""
    rows = np.asarray(X, dtype=np.float64)
    squared = nearest_neighbors(rows, NEIGHBORS)[1]
    with np.errstate(under="ignore"):
        literal = np.exp(-squared / BANDWIDTH)
    with held_back():
        near = neighbor_graph(MemoryTable(rows), NEIGHBORS, BANDWIDTH).graph
    assert isinstance(near, SparseGraph)
    effective = near.weights.sum() ** 2 / (near.weights**2).sum() / len(rows)
    return Kernel(
        float(squared.min()),
        float(np.median(squared)),
        float((literal.max(axis=1) == 0).mean()),
        float(effective),
    )


# Readings and problems


@dataclass(frozen=True)
class Reading:
    """One reading of how the paper divided, labelled, scaled and scored the samples.

    Features are scaled by the training rows. The bandwidth ``"auto"`` is the mean squared length
    of the edges.
    """

    title: str
    halves: Literal["first", "random"] = "first"
    labels: Literal["first", "drawn"] = "first"
    scale: str | None = None
    bandwidth: float | str = BANDWIDTH
    scored_on: Literal["half", "all"] = "half"

    @property
    def by_chance(self) -> bool:
        """Whether the repetitions differ."""
        return self.halves == "random" or self.labels == "drawn"


PRINTED = Reading("as printed: first halves, first labels")
DRAWN = Reading("first halves, random labels", labels="drawn")
HALVES = Reading("random halves", halves="random")
WIDE = Reading("first halves, λ = mean d²", bandwidth="auto")
WIDE_HALVES = Reading("random halves, λ = mean d²", halves="random", bandwidth="auto")
STANDARD = Reading("first halves, standardised, λ = mean d²", scale="standard", bandwidth="auto")
SMALL_READINGS = (
    PRINTED,
    DRAWN,
    HALVES,
    WIDE,
    Reading("first halves, standardised", scale="standard"),
    Reading("first halves, scaled to [0, 1]", scale="minmax"),
    Reading("first halves, scored on all samples", scored_on="all"),
)
LARGE_READINGS = (PRINTED, HALVES, WIDE, WIDE_HALVES, STANDARD)
LAMBDAS = {"λ = 0.1": (PRINTED, HALVES), "λ = mean d²": (WIDE, WIDE_HALVES)}
# Readings with the same halves as another. Filters that do not use what differs are not run again.
SAME_HALVES = {DRAWN: PRINTED, WIDE: PRINTED, WIDE_HALVES: HALVES}


@dataclass(frozen=True)
class Problem:
    """A data set on which filters are compared."""

    name: str
    title: str
    filters: tuple[str, ...]
    n_labels: int
    readings: tuple[Reading, ...]
    every_size: bool = False
    is_large: bool = False

    def sizes(self, n_features: int) -> tuple[int, ...]:
        """Return the numbers of features: all, or an even grid and a few small numbers."""
        if self.every_size:
            return tuple(range(1, n_features + 1))
        return tuple(sorted({*FEW_FEATURES, *_grid(n_features)}))

    def averaged(self, n_features: int) -> Booleans:
        """Return a mask of the sizes that a mean accuracy covers: an even grid."""
        return np.isin(
            self.sizes(n_features), self.sizes(n_features) if self.every_size else _grid(n_features)
        )

    def repetitions(self, run: Run) -> int:
        """Return the number of random halves and of random draws of labels."""
        return run.repetitions(
            quick=6 if self.is_large else 20, full=100 if self.every_size else 30
        )


def _grid(n_features: int) -> list[int]:
    return [round(n_features * step / GRID) for step in range(1, GRID + 1)]


TABLE_2_FILTERS = ("Variance", "Laplacian", "Fisher", "CS", "CLS")
GENE_FILTERS = ("Laplacian", "Fisher", "C4", "CS", "CLS")
_table_2_problem = partial(
    Problem,
    filters=TABLE_2_FILTERS,
    n_labels=TABLE_2_LABELS,
    readings=SMALL_READINGS,
    every_size=True,
)
PROBLEMS = {
    problem.name: problem
    for problem in (
        _table_2_problem("ionosphere", "Ionosphere"),
        _table_2_problem("sonar", "Sonar"),
        _table_2_problem("soybean_small", "Soybean"),
        Problem(
            "leukemia", "Leukemia", GENE_FILTERS, TABLE_2_LABELS, LARGE_READINGS, is_large=True
        ),
        Problem("colon", "Colon cancer", GENE_FILTERS, TABLE_2_LABELS, LARGE_READINGS),
        Problem(
            "pie10p",
            "Pie10P",
            ("Laplacian", "ReliefF", "F3+r", "CLS"),
            FACE_LABELS,
            LARGE_READINGS,
            is_large=True,
        ),
        Problem(
            "pix10p",
            "Pix10P",
            ("Laplacian", "ReliefF", "F2+r4", "CLS"),
            FACE_LABELS,
            LARGE_READINGS,
            is_large=True,
        ),
    )
}


# Halves, labels and accuracies


def first_of_each_class(y: Integers, count: int) -> Integers:
    """Return the first samples of every class in turn, `count` in total.

    The paper uses "the first labeled examples (with different labels)".
    """
    turns = np.empty(len(y), dtype=np.int64)
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        turns[members] = np.arange(len(members))
    return np.sort(np.lexsort((np.arange(len(y)), y, turns))[:count])


def only(y: Integers, labeled: Integers) -> Integers:
    """Return y at the labelled samples, and −1 elsewhere."""
    few = np.full(len(y), -1, dtype=np.int64)
    few[labeled] = y[labeled]
    return few


def labeled_pairs(y: Integers, labeled: Integers) -> Pairs:
    """Return all pairs of labelled samples of equal class, and all of different classes."""
    one, other = np.triu_indices(len(labeled), k=1)
    pairs = np.stack([labeled[one], labeled[other]], axis=1)
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return pairs[same], pairs[~same]


def nearest_neighbor_accuracies(
    order: Integers,
    sizes: Sequence[int],
    train: tuple[Floats, Integers],
    test: tuple[Floats, Integers],
) -> Floats:
    """Return the accuracy of 1-NN in per cent for the first features of an order.

    Squared distances are accumulated from size to size. The first of equally close samples counts.
    """
    distances = np.zeros((len(test[1]), len(train[1])))
    found = []
    for start, stop in zip((0, *sizes[:-1]), sizes, strict=True):
        columns = order[start:stop]
        distances += cdist(test[0][:, columns], train[0][:, columns], "sqeuclidean")
        found.append(100 * np.mean(train[1][distances.argmin(axis=1)] == test[1]))
    return np.array(found)


def first_halves(y: Integers, order: Integers) -> Integers:
    """Return the first half of every class in the given order of samples.

    An odd class contributes its larger half.
    """
    chosen = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        members = order[y[order] == label]
        chosen[members[: (len(members) + 1) // 2]] = True
    return order[chosen[order]]


@dataclass(frozen=True)
class Division:
    """Training rows, test rows, and the labels for semi-supervised filters (−1 elsewhere)."""

    train: Integers
    test: Integers
    few: Integers


def divided(y: Integers, reading: Reading, n_labels: int, random: np.random.Generator) -> Division:
    """Return the halves and labels of a reading."""
    rows = random.permutation(len(y)) if reading.halves == "random" else np.arange(len(y))
    train = first_halves(y, rows)
    few = np.full(len(y), -1, dtype=np.int64)
    if reading.labels == "drawn":
        few[train] = hide_labels(y[train], n_labels, random_state=random)
    else:
        few[train] = only(y[train], first_of_each_class(y[train], n_labels))
    return Division(train, np.setdiff1d(np.arange(len(y)), train), few)


def scaled(X: Floats, train: Integers, scale: str | None) -> Floats:
    if scale is None:
        return X
    unit = X[train].std(axis=0) if scale == "standard" else np.ptp(X[train], axis=0)
    return np.asarray((X - X[train].mean(axis=0)) / np.where(unit > 0, unit, 1.0))


def ranked_in_half(
    X: Floats, y: Integers, division: Division, reading: Reading, name: str
) -> Integers:
    """Return the columns from best to worst by one filter, with the labels it may use."""
    rows = division.train if reading.scored_on == "half" else np.arange(len(y))
    given = FILTERS[name].labels
    if given == "none":
        return ranked(name, X[rows], None, reading.bandwidth)
    labels = division.few if given == "few" else only(y, division.train)
    return ranked(name, X[rows], Supervision.from_labels(labels[rows]), reading.bandwidth)


def curves(
    data: tuple[Any, Integers],
    problem: Problem,
    reading: Reading,
    names: Sequence[str],
    seeds: Sequence[Any],
) -> dict[str, Floats]:
    """Return accuracies in per cent by filter, of shape (len(seeds), n_sizes)."""
    X, y = np.asarray(data[0], dtype=np.float64), data[1]
    sizes = problem.sizes(X.shape[1])
    found: dict[str, list[Floats]] = {name: [] for name in names}
    for seed in seeds:
        random = np.random.default_rng(seed)
        division = divided(y, reading, problem.n_labels, random)
        rows = scaled(X, division.train, reading.scale)
        halves = [(rows[part], y[part]) for part in (division.train, division.test)]
        for name in names:
            order = (
                random.permutation(X.shape[1])
                if name == RANDOM
                else ranked_in_half(rows, y, division, reading, name)
            )
            found[name].append(nearest_neighbor_accuracies(order, sizes, *halves))
    return {name: np.array(values) for name, values in found.items()}


def least_spread(data: Dataset, mean: float) -> float:
    """Return the smallest standard deviation of accuracies with the given mean.

    The accuracy of one column is at most that of the best single column. One of m accuracies is
    therefore at least δ below the mean, and the variance is at least δ²/(m − 1).
    """
    train = first_halves(data.y, np.arange(len(data.y)))
    test = np.setdiff1d(np.arange(len(data.y)), train)
    halves = [(np.asarray(data.X[part], dtype=np.float64), data.y[part]) for part in (train, test)]
    n_features = data.X.shape[1]
    best = max(
        nearest_neighbor_accuracies(np.array([column]), [1], *halves)[0]
        for column in range(n_features)
    )
    return float(max(0.0, mean - best) / np.sqrt(n_features - 1))


@dataclass(frozen=True)
class Explored:
    """All curves of a problem, by the title of the reading and the filter."""

    problem: Problem
    n_features: int
    curves: Mapping[str, Mapping[str, Floats]]

    def means(self, reading: Reading, name: str) -> Floats:
        """Return the accuracy of each repetition, averaged over the numbers of features."""
        if name == ALL:
            return np.asarray(self.curves[reading.title][self.problem.filters[0]][:, -1])
        return np.asarray(
            self.curves[reading.title][name][:, self.problem.averaged(self.n_features)].mean(axis=1)
        )

    def gains(self, reading: Reading, rival: str, chosen: Booleans | None = None) -> Floats:
        """Return the lead of CLS over a competitor in each repetition, in points.

        It is averaged over all or the `chosen` numbers of features.
        """
        at = self.problem.averaged(self.n_features) if chosen is None else chosen
        found = self.curves[reading.title]
        return np.asarray((found["CLS"] - found[rival])[:, at].mean(axis=1))


def _differs(reading: Reading, name: str) -> bool:
    """Whether the result of a filter may differ from that of the reading with the same halves."""
    if reading not in SAME_HALVES:
        return True
    return FILTERS[name].labels == "few" if reading.labels == "drawn" else FILTERS[name].has_graph


@cache
def explored(problem: Problem, run: Run) -> Explored:
    """Run every reading of a problem. Results are cached for the comparison of all data sets."""
    data = run.load(problem.name)
    count = problem.repetitions(run)
    items: list[tuple[Any, ...]] = []
    for reading in problem.readings:
        # All readings share their random halves and labels.
        seeds = run.seeds(
            count, f"{problem.name}, {reading.halves} halves, {reading.labels} labels"
        )
        names = [name for name in problem.filters if _differs(reading, name)]
        for batch in batches(
            seeds if reading.by_chance else seeds[:1], BATCH if problem.every_size else 1
        ):
            items.append(((data.X, data.y), problem, reading, names, batch))
        if reading not in SAME_HALVES:
            items.append(((data.X, data.y), problem, reading, (RANDOM,), seeds))
    found: dict[str, dict[str, list[Floats]]] = {reading.title: {} for reading in problem.readings}
    for item, result in zip(items, run.each(curves, items, f"CLS, {problem.title}"), strict=True):
        for name, values in result.items():
            found[item[2].title].setdefault(name, []).append(values)
    joined = {
        title: {name: np.concatenate(parts) for name, parts in by_name.items()}
        for title, by_name in found.items()
    }
    for reading, other in SAME_HALVES.items():
        if reading in problem.readings:
            joined[reading.title] = {**joined[other.title], **joined[reading.title]}
    return Explored(problem, data.X.shape[1], joined)


# Accuracies by the number of labels, for Figure 5

LABEL_COUNTS = (5, 7, 10, 15, 20, 30, 50, 80)
FIGURE_5_RUNS = 100  # in the paper
LEVEL_SERIES = ("Fisher", "CS", "CLS", "CS, pairs drawn", "CLS, pairs drawn")


@dataclass(frozen=True)
class Levels:
    """Accuracies with half of the features, by halves and series.

    The arrays have shape (repetitions, numbers of labels or pairs).
    """

    counts: tuple[int, ...]
    values: Mapping[tuple[str, str], Floats]

    def lead(self, halves: str, one: str, other: str, at: slice) -> Estimate:
        """Return the lead of one filter over another in points, averaged over `at`."""
        return Estimate.of(
            (self.values[halves, one] - self.values[halves, other])[:, at].mean(axis=1)
        )

    def rise(self, halves: str, name: str, start: int, stop: int) -> Floats:
        """Return the gain in points between two numbers of labels, in each repetition."""
        return np.asarray(self.values[halves, name][:, stop] - self.values[halves, name][:, start])


def level_accuracies(
    X: Floats,
    y: Integers,
    halves: Literal["first", "random"],
    counts: Sequence[int],
    seeds: Sequence[Any],
) -> dict[str, Floats]:
    """Return accuracies with half of the features for random labels or random pairs."""
    found: dict[str, list[list[float]]] = {name: [] for name in LEVEL_SERIES}
    for seed in seeds:
        random = np.random.default_rng(seed)
        division = divided(y, Reading("", halves=halves), TABLE_2_LABELS, random)
        train = division.train
        rows = [(X[part], y[part]) for part in (train, division.test)]
        for values in found.values():
            values.append([])
        for count in counts:
            labels = Supervision.from_labels(hide_labels(y[train], count, random_state=random))
            pairs = _drawn_pairs(y[train], count, random)
            for name in LEVEL_SERIES:
                which, _, drawn = name.partition(", ")
                order = ranked(which, X[train], pairs if drawn else labels)
                found[name][-1].append(
                    float(nearest_neighbor_accuracies(order, [X.shape[1] // 2], *rows)[0])
                )
    return {name: np.array(values) for name, values in found.items()}


def _drawn_pairs(y: Integers, count: int, random: np.random.Generator) -> Supervision:
    """Draw `count` pairs of samples, half of them of equal class."""
    must_link, cannot_link = labeled_pairs(y, np.arange(len(y)))
    n_apart = count // 2
    return Supervision.from_pairs(
        len(y),
        must_link[random.choice(len(must_link), count - n_apart, replace=False)],
        cannot_link[random.choice(len(cannot_link), n_apart, replace=False)],
    )


def measure_levels(data: Dataset, run: Run) -> Levels:
    """Measure both kinds of halves with each number of labels that the half allows."""
    n_train = len(first_halves(data.y, np.arange(len(data.y))))
    counts = tuple(count for count in LABEL_COUNTS if count < n_train)
    n_runs = run.repetitions(quick=6, full=FIGURE_5_RUNS)
    items = [
        (data.X, data.y, halves, counts, batch)
        for halves in ("first", "random")
        for batch in batches(run.seeds(n_runs, f"{data.name}, Figure 5, {halves}"), 3)
    ]
    parts: dict[tuple[str, str], list[Floats]] = {}
    for item, found in zip(
        items, run.each(level_accuracies, items, f"CLS, Figure 5, {data.name}"), strict=True
    ):
        for name, values in found.items():
            parts.setdefault((item[2], name), []).append(values)
    return Levels(counts, {key: np.concatenate(values) for key, values in parts.items()})


def level_figures(problem: Problem, levels: Levels) -> tuple[Figure, ...]:
    """Return Figure 5 for one data set."""
    note = (
        "CS and CLS use all pairs of the labelled samples. Series marked as pairs use this number "
        "of pairs, half of them must-links."
    )
    figures = []
    for halves, title in (("first", "the paper's halves"), ("random", "random halves")):
        shown = tuple(
            series(name, levels.counts, estimates(levels.values[halves, name]))
            for name in LEVEL_SERIES
        )
        titles = (
            f"{problem.title}, {title}, half of the features",
            "random labels (or pairs, where marked)",
            "accuracy, %",
        )
        figures.append(Figure("Figure 5", *titles, shown, note))
    return tuple(figures)


# Gains of CLS


@dataclass(frozen=True)
class Gain:
    """The lead of CLS over another filter in points, on the paper's halves and on random halves."""

    first: float
    random: Estimate

    def verdict(self, least: float = 0.0) -> Verdict:
        """Return the verdict on a lead of more than `least` points.

        It must exceed `least` on the paper's halves, and the interval on random halves must allow
        it. If only random halves show it, the claim holds with a correction.
        """
        return holds(
            self.first > least and self.random.may_reach(least), corrected=self.random.mean > least
        )

    def __neg__(self) -> Gain:
        return Gain(-self.first, -self.random)

    def __str__(self) -> str:
        return f"{written(self.first)} ({self.random})"


def gain_over(
    found: Explored,
    rival: str,
    readings: tuple[Reading, Reading] = (PRINTED, HALVES),
    chosen: Booleans | None = None,
) -> Gain:
    """Return the gain over one competitor, averaged over all or the `chosen` sizes."""
    return Gain(
        float(found.gains(readings[0], rival, chosen).mean()),
        Estimate.of(found.gains(readings[1], rival, chosen)),
    )


def gains_over(
    found: Explored, rivals: Iterable[str], chosen: Booleans | None = None
) -> dict[str, dict[str, Gain]]:
    """Return the gains by λ and by competitor."""
    return {
        title: {rival: gain_over(found, rival, readings, chosen) for rival in rivals}
        for title, readings in LAMBDAS.items()
    }


def by_lambda(gains: Mapping[str, Mapping[str, Gain]]) -> str:
    """Format gains by λ."""
    return ". ".join(f"With {title}: {listed(against)}" for title, against in gains.items())


def smallest_by_lambda(gains: Mapping[str, Mapping[str, Gain]]) -> str:
    """Format the smallest gain on the paper's halves by λ."""
    smallest = {
        title: min(against.items(), key=lambda item: item[1].first)
        for title, against in gains.items()
    }
    return " and ".join(f"{gain} over {name} ({title})" for title, (name, gain) in smallest.items())


def gain_table(
    label: str, title: str, gains: Mapping[str, Mapping[str, Mapping[str, Gain]]]
) -> Table:
    """Return the gains of CLS by range of features, λ and competitor."""
    cells = []
    for where, by_bandwidth in gains.items():
        for bandwidth, against in by_bandwidth.items():
            for name, gain in against.items():
                cells += [
                    Cell(name + where, f"{bandwidth}, paper's halves", None, gain.first),
                    gain.random.cell(name + where, f"{bandwidth}, random halves"),
                ]
    return Table(label, f"{title}: gain of CLS", "points", tuple(cells))


# Tables, figures and texts


def reading_table(
    label: str, title: str, found: Explored, printed: Mapping[str, float], note: str
) -> Table:
    """Return the accuracies by reading and filter, averaged over the numbers of features."""
    cells = []
    for reading in found.problem.readings:
        for name in (*found.problem.filters, RANDOM, ALL):
            paper = printed.get(name) if reading is PRINTED else None
            cells.append(Estimate.of(found.means(reading, name)).cell(reading.title, name, paper))
    return Table(label, title, "%", tuple(cells), note)


def curve_figure(label: str, found: Explored, reading: Reading, which: str) -> Figure:
    """Return a figure of accuracies by number of features. The title calls the reading `which`."""
    sizes = found.problem.sizes(found.n_features)
    by_name = found.curves[reading.title]
    everything = float(by_name["CLS"][:, -1].mean())
    shown = [
        series(name, sizes, estimates(by_name[name])) for name in (*found.problem.filters, RANDOM)
    ]
    shown.append(Series(ALL, (float(sizes[0]), float(sizes[-1])), (everything, everything)))
    return Figure(
        label, f"{found.problem.title}, {which}", "selected features", "accuracy, %", tuple(shown)
    )

"""Recall of the true columns of artificial problems.

Each problem has a few true columns among many others, in random positions. The recall is the share
of the true columns among the first k columns of an order, where k is the number of true columns. If
a problem has blocks of near copies, one column of each block is enough.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve import GraphSieve, Supervision
from graphsieve._base.errors import GraphSieveWarning, InputError
from graphsieve._base.parameters import nearest
from graphsieve.assess.evaluation.results import standard_error
from quality import candidates, results
from quality.candidates import Candidate
from quality.references import dense
from quality.results import Section
from quality.running import completed
from quality.tables import count, lines_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

AMOUNTS = {"all": 1.0, "10%": 0.1}
"""Share of the labels or targets that are known."""
AMOUNT_WORDS = {"all": "all labels or targets", "10%": "10 % of them"}
FEWEST_LABELS = 2  # of each class
FEWEST_TARGETS = 5
FIRST = 10  # columns for which the number of nuisance columns is reported
TREES = 300
COPIES, COPY_NOISE = 10, 0.3
N_FACTORS, PER_FACTOR, FACTOR_NOISE = 5, 40, 0.5
TYPO = 1e6


# --- Problems
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Artificial:
    """A table with class codes (−1: unknown) or targets, and its true columns.

    A block contains the columns that represent the same thing: a single column, or near copies.
    Nuisance columns are related to each other, but not to the labels.
    """

    X: Floats
    y: NDArray[Any]
    blocks: tuple[frozenset[int], ...]
    nuisance: frozenset[int] = frozenset()

    @property
    def kind(self) -> str:
        """The kind of supervision."""
        return "labels" if self.y.dtype.kind == "i" else "targets"

    @property
    def real(self) -> frozenset[int]:
        return frozenset().union(*self.blocks)

    def recall(self, order: Sequence[int] | Integers) -> float:
        """Return the share of blocks with a column among the first k, for k blocks."""
        first = {int(column) for column in order[: len(self.blocks)]}
        return float(np.mean([not first.isdisjoint(block) for block in self.blocks]))


def _shuffled(
    X: Floats,
    y: NDArray[Any],
    n_true: int,
    random: np.random.Generator,
    *,
    copies: int = 1,
    n_nuisance: int = 0,
) -> Artificial:
    """Shuffle the columns: first the blocks of true columns, then nuisance, then noise.

    Without this, a method that ranks all columns equally would select the true columns.
    """
    source = random.permutation(X.shape[1])
    place = np.argsort(source)
    n_real = n_true * copies
    return Artificial(
        X[:, source],
        y,
        tuple(frozenset(block.tolist()) for block in place[:n_real].reshape(n_true, copies)),
        frozenset(place[n_real : n_real + n_nuisance].tolist()),
    )


def _two_classes(n: int, random: np.random.Generator, share: float = 0.5) -> Integers:
    """Return classes 0 and 1 in random order. Class 1 has this share of the rows."""
    return random.permutation((np.arange(n) < round(share * n)).astype(np.int64))


def _shift(y: Integers, n_columns: int, size: float, random: np.random.Generator) -> Floats:
    """Return the shifts of the columns in class 1, up or down at random."""
    return np.multiply.outer(y, size * random.choice([-1.0, 1.0], n_columns))


def _shifted(
    n: int, p: int, n_true: int, size: float, random: np.random.Generator, *, share: float = 0.5
) -> tuple[Floats, Integers]:
    """Return normal columns, of which the first ones are shifted in class 1, and the classes."""
    X, y = random.standard_normal((n, p)), _two_classes(n, random, share)
    X[:, :n_true] += _shift(y, n_true, size, random)
    return X, y


def needles(seed: int) -> Artificial:
    """Generate 5,000 columns and 100 rows. The class means of 10 columns differ by 1.3 sd."""
    random = np.random.default_rng(seed)
    return _shuffled(*_shifted(100, 5000, 10, 1.3, random), 10, random)


def circle(seed: int) -> Artificial:
    """Generate 100 uniform columns and 200 rows. A circle in 2 columns separates the classes."""
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, (200, 100))
    # The circle contains half of the square.
    y = ((X[:, :2] ** 2).sum(axis=1) > 2 / np.pi).astype(np.int64)
    return _shuffled(X, y, 2, random)


def xor(seed: int) -> Artificial:
    """Generate 100 normal columns and 300 rows.

    The class is the sign of the product of 2 columns.
    """
    random = np.random.default_rng(seed)
    X = random.standard_normal((300, 100))
    return _shuffled(X, (X[:, 0] * X[:, 1] > 0).astype(np.int64), 2, random)


def parity(seed: int) -> Artificial:
    """Generate 100 binary columns and 500 rows. The class is the parity of 3 columns."""
    random = np.random.default_rng(seed)
    X = random.integers(2, size=(500, 100)).astype(np.float64)
    return _shuffled(X, X[:, :3].sum(axis=1).astype(np.int64) % 2, 3, random)


def friedman(seed: int) -> Artificial:
    """Generate 100 columns and 200 rows.

    The target is that of Friedman's first problem, with 5 true columns.
    """
    random = np.random.default_rng(seed)
    X = random.random((200, 100))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    y += 10 * X[:, 3] + 5 * X[:, 4] + random.standard_normal(200)
    return _shuffled(X, y, 5, random)


def redundant_blocks(seed: int) -> Artificial:
    """Generate 10 factors with 10 noisy copies each and 200 noise columns, with 200 rows.

    The class means of each factor differ by 1 sd. The log odds of the classes are therefore a
    linear combination of the factors, and no factor is hidden by the others.
    """
    random = np.random.default_rng(seed)
    factors, y = _shifted(200, 10, 10, 1.0, random)
    blocks = np.repeat(factors, COPIES, axis=1)
    blocks += COPY_NOISE * random.standard_normal(blocks.shape)
    X = np.hstack([blocks, random.standard_normal((200, 200))])
    return _shuffled(X, y, 10, random, copies=COPIES)


def sparse_binary(seed: int) -> Artificial:
    """Generate 1,000 binary columns with 10 % ones, and 300 rows.

    In 10 of the columns, one of the classes has 40 % ones.
    """
    random = np.random.default_rng(seed)
    y = _two_classes(300, random)
    rate = np.full((300, 1000), 0.1)
    rate[:, :10][y[:, None] == random.integers(2, size=10)] = 0.4
    return _shuffled((random.random(rate.shape) < rate).astype(np.float64), y, 10, random)


def minority(seed: int) -> Artificial:
    """Generate 100 columns and 500 rows. In a class of 6 %, 5 columns are shifted by 1.5 sd."""
    random = np.random.default_rng(seed)
    return _shuffled(*_shifted(500, 100, 5, 1.5, random, share=0.06), 5, random)


def heavy_tails(seed: int) -> Artificial:
    """Generate 100 Cauchy columns and 200 rows. In one class, 10 are shifted by 1.5 quartiles."""
    random = np.random.default_rng(seed)
    X, y = random.standard_cauchy((200, 100)), _two_classes(200, random)
    X[:, :10] += _shift(y, 10, 1.5, random)
    return _shuffled(X, y, 10, random)


def typo(seed: int) -> Artificial:
    """Generate 100 columns and 200 rows. In one class, 10 columns are shifted by 1 sd.

    One noise column contains the value 1e6.
    """
    random = np.random.default_rng(seed)
    X, y = _shifted(200, 100, 10, 1.0, random)
    X[random.integers(200), random.integers(10, 100)] = TYPO
    return _shuffled(X, y, 10, random)


def nuisance(seed: int) -> Artificial:
    """Generate 10 real columns, 200 nuisance columns with 5 factors, and 290 noise columns.

    The real columns are shifted by 1.5 sd in one class. Of the 200 rows, 20 are labelled.
    """
    random = np.random.default_rng(seed)
    real, y = _shifted(200, 10, 10, 1.5, random)
    factors = np.repeat(random.standard_normal((200, N_FACTORS)), PER_FACTOR, axis=1)
    related = factors + FACTOR_NOISE * random.standard_normal(factors.shape)
    X = np.hstack([real, related, random.standard_normal((200, 290))])
    shown = np.concatenate([np.flatnonzero(y == code)[:10] for code in (0, 1)])
    labels = np.full(200, -1, dtype=np.int64)
    labels[shown] = y[shown]
    return _shuffled(X, labels, 10, random, n_nuisance=N_FACTORS * PER_FACTOR)


PROBLEMS: Mapping[str, Callable[[int], Artificial]] = MappingProxyType(
    {
        "needles": needles,
        "circle": circle,
        "xor": xor,
        "parity": parity,
        "friedman": friedman,
        "redundant_blocks": redundant_blocks,
        "sparse_binary": sparse_binary,
        "minority": minority,
        "heavy_tails": heavy_tails,
        "typo": typo,
        "nuisance": nuisance,
    }
)
QUICK = ("circle", "friedman", "nuisance")


def known_part(data: Artificial, amount: float, seed: int) -> Supervision:
    """Return a share of the labels, in proportion to the classes, or of the targets.

    Problems with unlabelled rows keep all their labels, because they have few.
    """
    random = np.random.default_rng([seed, 1])
    if data.kind == "targets":
        targets = np.full(len(data.y), np.nan)
        shown = random.permutation(len(data.y))[: max(FEWEST_TARGETS, round(amount * len(data.y)))]
        targets[shown] = data.y[shown]
        return Supervision.from_targets(targets)
    if (data.y < 0).any():
        return Supervision.from_labels(data.y)
    labels = np.full(len(data.y), -1, dtype=np.int64)
    for code in np.unique(data.y):
        rows = random.permutation(np.flatnonzero(data.y == code))
        labels[rows[: max(FEWEST_LABELS, round(amount * len(rows)))]] = code
    return Supervision.from_labels(labels)


# --- Methods
# --------------------------------------------------------------------------------------------------


def _diverse(X: Any, known: Supervision, n: int) -> Integers:
    sieve = GraphSieve(method="diverse", n_features_to_select=n).fit(X, supervision=known)
    return np.argsort(sieve.ranking_, kind="stable")


def _forest(X: Any, known: Supervision, n: int) -> Integers:
    """Rank by the importances of a random forest of the labelled rows."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    forest: Any
    y: NDArray[Any]
    if known.targets is None:
        forest, y = RandomForestClassifier, known.codes
        rows = np.flatnonzero(y >= 0)
    else:
        forest, y = RandomForestRegressor, known.targets
        rows = np.flatnonzero(~np.isnan(y))
    fitted = forest(TREES, random_state=0, n_jobs=1).fit(dense(X)[rows], y[rows])
    return np.argsort(-fitted.feature_importances_, kind="stable")


def _random(X: Any, known: Supervision, n: int) -> Integers:
    return np.empty(0, dtype=np.int64)  # The order is filled up with random columns.


LABELS_OR_TARGETS = frozenset(["labels", "targets"])
OWN = {
    "diverse": Candidate("diverse", "ours", candidates.EVERYTHING, _diverse),
    "forest": Candidate("forest", "references", LABELS_OR_TARGETS, _forest),
    "random": Candidate("random", "baselines", LABELS_OR_TARGETS, _random),
}
"""Methods that are not candidates of the benchmark, or have no order there."""
METHODS = ("ours", "diverse", "score_unlike", "relieff", "forest")
AUTO = {"ours": "auto", "diverse": "diverse"}
"""The methods that determine the number of columns, and the `method` of `GraphSieve`."""


def chosen_methods(names: str) -> list[Candidate]:
    """Return the methods for a list of names or groups, separated by commas."""
    found: dict[str, Candidate] = {}
    for name in names.split(","):
        if name in OWN:
            found[name] = OWN[name]
            continue
        for member in candidates.chosen(name, with_random=False):
            found[member] = OWN.get(member) or candidates.candidate_named(member)
    if "all" in found:
        raise InputError("all columns have no order; leave 'all' out.")
    absent = [one for one in found.values() if not one.installed]
    if absent:
        raise InputError(
            f"method {absent[0].name!r} needs the package {absent[0].package}; install it, or "
            "leave the method out."
        )
    return list(found.values())


# --- Runs
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Selection:
    """The order that a method found for one seed of a problem, or the reason of its failure."""

    problem: str
    method: str
    recall: float
    seconds: float
    n_nuisance: int = 0
    failed: str | None = None


@dataclass(frozen=True)
class AutoSize:
    """The number of columns with ``n_features_to_select="auto"`` for one seed of a problem."""

    method: str
    n: int
    n_nuisance: int
    warned: bool


def select(
    problem: str, data: Artificial, known: Supervision, method: Candidate, seed: int
) -> Selection:
    """Run a method on a problem. A method may fail in any way, and the run continues."""
    start = time.perf_counter()
    try:
        found = np.asarray(method.order(data.X, known, max(FIRST, len(data.blocks))), np.int64)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        return Selection(problem, method.name, np.nan, np.nan, failed=reason)
    seconds = time.perf_counter() - start
    order = completed(found, data.X.shape[1], np.random.default_rng([seed, 2]))
    first = {int(column) for column in order[:FIRST]}
    return Selection(problem, method.name, data.recall(order), seconds, len(first & data.nuisance))


def auto_size(data: Artificial, known: Supervision, method: str) -> AutoSize:
    """Return the size that a method chooses, and whether there was a warning."""
    sieve = GraphSieve(method=AUTO[method], n_features_to_select="auto")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sieve.fit(data.X, supervision=known)
    columns = set(np.flatnonzero(sieve.get_support()).tolist())
    warned = any(issubclass(one.category, GraphSieveWarning) for one in caught)
    return AutoSize(method, len(columns), len(columns & data.nuisance), warned)


def run(
    problems: Sequence[str],
    methods: Sequence[Candidate],
    *,
    amount: float,
    seeds: int,
    log: Callable[[str], None],
) -> tuple[list[Selection], list[AutoSize]]:
    """Run all methods on all problems that they support."""
    selections, sizes = [], []
    for name in problems:
        for seed in range(seeds):
            data = PROBLEMS[name](seed)
            known = known_part(data, amount, seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Most methods warn about few labels.
                selections += [
                    select(name, data, known, method, seed)
                    for method in methods
                    if method.blind or data.kind in method.uses
                ]
            if data.nuisance:
                sizes += [auto_size(data, known, one.name) for one in methods if one.name in AUTO]
        log(f"{name} is done.")
    return selections, sizes


# --- Tables
# --------------------------------------------------------------------------------------------------


def report(selections: Sequence[Selection], sizes: Sequence[AutoSize], *, markdown: bool) -> str:
    """Return the tables of the recalls and of the nuisance columns, and the failures."""
    methods = list(dict.fromkeys(one.method for one in selections))
    by_cell: dict[tuple[str, str], list[Selection]] = {}
    for one in selections:
        by_cell.setdefault((one.problem, one.method), []).append(one)
    problems = list(dict.fromkeys(one.problem for one in selections))
    recalls = [
        ["recall", *methods],
        *(
            [problem, *(_recall(by_cell.get((problem, method), [])) for method in methods)]
            for problem in problems
        ),
        ["mean where all methods ran", *_means(by_cell, problems, methods)],
        ["seconds (median)", *(_seconds(selections, method) for method in methods)],
    ]
    parts = ["\n".join(lines_of(recalls, markdown))]
    if "nuisance" in problems:
        rows = [
            [method, *_nuisance(by_cell["nuisance", method], sizes)]
            for method in methods
            if ("nuisance", method) in by_cell
        ]
        header = ["nuisance", "real in first 10", "nuisance in first 10", "auto size"]
        table = [[*header, "nuisance in auto", "warned"], *rows]
        parts.append("\n".join(lines_of(table, markdown)))
    reasons = dict.fromkeys(
        f"Failed: {one.method} on {one.problem} ({one.failed})" for one in selections if one.failed
    )
    return "\n\n".join([part.rstrip() for part in parts] + list(reasons))


def _recall(found: Sequence[Selection]) -> str:
    if any(one.failed for one in found):
        return "failed"
    return mean_text([one.recall for one in found], 2)


def _means(
    by_cell: Mapping[tuple[str, str], Sequence[Selection]],
    problems: Sequence[str],
    methods: Sequence[str],
) -> list[str]:
    """Return the mean recall of each method over the problems that all methods support."""
    shared = [
        problem for problem in problems if all((problem, method) in by_cell for method in methods)
    ]
    return [
        mean_text(
            [np.mean([one.recall for one in by_cell[problem, method]]) for problem in shared],
            2,
            with_error=False,
        )
        for method in methods
    ]


def _seconds(selections: Sequence[Selection], method: str) -> str:
    found = [one.seconds for one in selections if one.method == method and not one.failed]
    return f"{np.median(found):.2g}" if found else ""


def _nuisance(found: Sequence[Selection], sizes: Sequence[AutoSize]) -> list[str]:
    """Return the cells of a method in the table of the nuisance columns."""
    own = [one for one in sizes if one.method == found[0].method]
    return [
        mean_text([FIRST * one.recall for one in found], 1),
        mean_text([one.n_nuisance for one in found], 1),
        mean_text([one.n for one in own], 1),
        mean_text([one.n_nuisance for one in own], 1),
        f"{sum(one.warned for one in own)} of {len(own)}" if own else "",
    ]


def mean_text(values: Sequence[Any], digits: int, *, with_error: bool = True) -> str:
    """Return the mean, ± its standard error if there are several values."""
    if not len(values) or np.isnan(values).any():
        return ""
    error = f" ± {standard_error(values):.{digits}f}" if with_error and len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{error}"


def section(found: Mapping[str, Sequence[Selection]], seeds: int) -> Section:
    """Return the section of docs/quality-problems.md: the mean recalls with each amount of labels."""
    by_cell: dict[tuple[str, str], dict[str, list[Selection]]] = {}
    for amount, selections in found.items():
        for one in selections:
            cell = by_cell.setdefault((one.problem, one.method), {})
            cell.setdefault(amount, []).append(one)
    problems = list(dict.fromkeys(problem for problem, _ in by_cell))
    methods = list(dict.fromkeys(method for _, method in by_cell))
    rows = [
        [problem, *(_recalls(by_cell.get((problem, method), {})) for method in methods)]
        for problem in problems
    ]
    amounts = " / with ".join(AMOUNT_WORDS[amount] for amount in found)
    errors = [
        standard_error([one.recall for one in some])
        for cell in by_cell.values()
        for some in cell.values()
        if seeds > 1 and not any(one.failed for one in some)
    ]
    incomplete = any("" in row for row in rows)
    empty = " An empty cell means that the method cannot run." if incomplete else ""
    largest = f" The largest standard error is {max(errors):.2f}." if errors else ""
    return results.section(
        "Mean recall of the k true columns, or blocks of copies, among the first k columns: with "
        f"{amounts}. The means are over {count(seeds, 'table')} of each problem.{largest}{empty}",
        [["problem", *methods], *rows],
        [f"`{problem}`: {description(problem)}" for problem in problems],
    )


def description(problem: str) -> str:
    """Return the docstring of a problem without its verb."""
    return " ".join((PROBLEMS[problem].__doc__ or "").split()).removeprefix("Generate ")


def _recalls(cell: Mapping[str, Sequence[Selection]]) -> str:
    """Return the mean recalls with each amount of labels; empty if the method cannot run."""
    return " / ".join(
        "failed"
        if any(one.failed for one in some)
        else f"{np.mean([one.recall for one in some]):.2f}"
        for some in cell.values()
    )


# --- The command
# --------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str], *, log: Callable[[str], None]) -> int:
    """Run the command `synthetic` and print its tables."""
    given = _parser().parse_args(arguments)
    problems = (
        given.problems.split(",") if given.problems else list(QUICK if given.quick else PROBLEMS)
    )
    for name in problems:
        _check(name, "problem", PROBLEMS)
    amounts = given.labels.split(",")
    for name in amounts:
        _check(name, "amount of labels", AMOUNTS)
    methods = chosen_methods(given.methods)
    seeds = (2 if given.quick else 5) if given.seeds is None else given.seeds
    if seeds < 1:
        raise InputError(f"--seeds must be at least 1, got {seeds}.")
    selections: dict[str, list[Selection]] = {}
    for name in amounts:
        found = run(problems, methods, amount=AMOUNTS[name], seeds=seeds, log=log)
        selections[name] = found[0]
        print(f"Known labels: {name}. Mean ± standard error, seeds: {seeds}\n")
        print(report(*found, markdown=given.markdown) + "\n", flush=True)
    if given.store:
        results.add("synthetic", section(selections, seeds))
    return 0


def _check(name: str, what: str, known: Mapping[str, Any]) -> None:
    if name not in known:
        raise InputError(
            f"there is no {what} {name!r}{nearest(name, known)}; choose from {', '.join(known)}."
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="quality synthetic", description=__doc__)
    parser.add_argument(
        "--seeds", type=int, help="number of tables per problem (default: 5; with --quick: 2)"
    )
    parser.add_argument(
        "--labels",
        default="all",
        help="share of the labels or targets that is known: all, 10%%, or both, separated by a "
        "comma (default: all)",
    )
    parser.add_argument(
        "--problems", help=f"names, separated by commas (default: {','.join(PROBLEMS)})"
    )
    parser.add_argument(
        "--methods",
        default=",".join(METHODS),
        help=f"names or groups of the benchmark, {', '.join(OWN)}, or name=file.py:function "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--quick", action="store_true", help=f"two seeds of the problems {', '.join(QUICK)}"
    )
    parser.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    results.add_option(parser)
    return parser

"""Steadiness and adequacy of the number of columns that the default selects.

Steadiness: the number of columns for ten random draws of the known labels or targets. Adequacy: the
cross-validated error with this number of columns, compared with the best of many sizes along the
same order.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from graphsieve import GraphSieve, Supervision
from graphsieve._base.errors import InputError
from graphsieve._base.parameters import nearest
from graphsieve.assess.evaluation.evaluating import evaluate
from graphsieve.assess.evaluation.results import standard_error
from quality import results, sets
from quality.knowledge import Level, draw_supervision
from quality.results import Section
from quality.running import OverTimeError, read_records, time_limit
from quality.sets import Problem, problem
from quality.tables import count, lines_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Record = dict[str, Any]

STEADINESS, ADEQUACY = PARTS = ("steadiness", "adequacy")
GRID = (1, 2, 3, 5, 8, 12, 20, 30, 45, 70, 100, 150, 250)
"""Sizes that the number is compared with. The number of all columns is added."""
LEARNERS = {"classification": ("1nn", "linear"), "regression": ("5nn", "linear")}
NONE, THIRD, ALL = "none", "third", "all"
AMOUNTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    STEADINESS: {
        "classification": ("4", "8", "16", THIRD, ALL),
        "regression": ("5%", "10%", "30%", ALL),
    },
    ADEQUACY: {"classification": (NONE, "4", ALL), "regression": (NONE, "5%", ALL)},
}
"""Amounts of supervision: labels of each class, shares of the targets, a third or all."""
AMOUNT_WORDS = {
    NONE: "none",
    "4": "4 labels per class",
    "8": "8 labels per class",
    "16": "16 labels per class",
    THIRD: "a third of the labels",
    "5%": "5 % of the targets",
    "10%": "10 % of the targets",
    "30%": "30 % of the targets",
    ALL: "all labels or targets",
}
FEWEST_OF_THIRD = 2  # labels of each class, if a third of the labels are known
SUBSAMPLE = 0.9  # share of the rows in each draw, if all labels are known
MOST_SPREAD = 0.5  # of the median, for the interquartile range of a steady number
MOST_FALL = 1 / 3  # share of the median that the number may lose when labels are added
MOST_TIMES = 2  # multiple of the smallest sufficient size that the number may have
ROUNDING = 1e-12
QUICK = ("wine", "tecator")


@dataclass(frozen=True)
class Settings:
    """The settings that two results must share to be in the same table."""

    rows: int
    folds: int
    draws: int
    seed: int


@dataclass(frozen=True)
class Cell:
    """A data set with an amount of supervision, for one of the two parts."""

    part: str
    dataset: str
    amount: str


# --- Supervision
# --------------------------------------------------------------------------------------------------


def amount_of(name: str, y: NDArray[Any], seed: list[int]) -> Supervision:
    """Return the supervision of rows with these class codes or targets."""
    if name == NONE:
        return Supervision.nothing(len(y))
    classes = y.dtype.kind == "i"
    if name == ALL:
        return Supervision.from_labels(y) if classes else Supervision.from_targets(y)
    if name == THIRD:
        return Supervision.from_labels(_a_third(y, np.random.default_rng(seed)))
    if classes:
        return draw_supervision(Level(name, "labels", "classification", int(name)), y, seed)
    share = float(name.removesuffix("%")) / 100
    return draw_supervision(Level(name, "targets", "regression", share), y, seed)


def _a_third(y: Integers, random: np.random.Generator) -> Integers:
    """Return a third of the labels of each class, at least two, and −1 elsewhere."""
    shown = np.full(len(y), -1, dtype=np.int64)
    for code in np.unique(y[y >= 0]):
        rows = random.permutation(np.flatnonzero(y == code))
        shown[rows[: max(FEWEST_OF_THIRD, round(len(rows) / 3))]] = code
    return shown


def draw(name: str, y: NDArray[Any], seed: list[int]) -> tuple[Integers, Supervision]:
    """Return the rows and the supervision of one draw.

    If all labels are known, the draws differ in the rows: each contains 90 % of them.
    """
    rows = np.arange(len(y))
    if name == ALL:
        classes = y.dtype.kind == "i"
        state = int(np.random.default_rng(seed).integers(2**31))
        rows = np.sort(
            train_test_split(
                rows, train_size=SUBSAMPLE, random_state=state, stratify=y if classes else None
            )[0]
        )
    return rows, amount_of(name, y[rows], seed)


def fitted(X: Any, known: Supervision, limit: float) -> GraphSieve:
    """Fit the default, with the number of columns that it chooses."""
    with time_limit(limit):
        return GraphSieve(n_features_to_select="auto").fit(
            X, supervision=known if known.kinds else None
        )


def n_selected(sieve: GraphSieve) -> int:
    return int(np.count_nonzero(sieve.get_support()))


# --- Cells
# --------------------------------------------------------------------------------------------------


def run_cell(cell: Cell, settings: Settings, limit: float) -> Record:
    """Return the record of a cell. The only possible failure is a fit over the time limit."""
    data = problem(
        cell.dataset, rows=settings.rows, folds=settings.folds, repeats=1, seed=settings.seed
    )
    record: Record = {
        **asdict(cell),
        "task": data.task,
        "shape": list(data.X.shape),
        "settings": asdict(settings),
        "limit": limit,
        "failed": None,
    }
    measured = _steadiness if cell.part == STEADINESS else _adequacy
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            # Every draw may warn about few labels. The table shows the consequences.
            warnings.simplefilter("ignore")
            record |= measured(data, cell.amount, settings, limit)
    except OverTimeError:
        record["failed"] = f"over {limit:g} s"
    return record | {"seconds": time.perf_counter() - start}


def _steadiness(data: Problem, amount: str, settings: Settings, limit: float) -> Record:
    """Return the numbers of columns of all draws, and the mean number of known labels."""
    numbers, n_known = [], []
    for repeat in range(settings.draws):
        rows, known = draw(amount, data.y, [settings.seed, repeat])
        numbers.append(n_selected(fitted(data.X[rows], known, limit)))
        n_known.append(known.n_labeled)
    return {"numbers": numbers, "n_labeled": float(np.mean(n_known))}


def _adequacy(data: Problem, amount: str, settings: Settings, limit: float) -> Record:
    """Return the errors of all folds on the grid and with the chosen number of columns."""
    grid = grid_of(data.X.shape[1])
    numbers: list[int] = []
    on_grid: dict[str, list[list[float]]] = {learner: [] for learner in LEARNERS[data.task]}
    chosen: dict[str, list[float]] = {learner: [] for learner in LEARNERS[data.task]}
    for fold, split in enumerate(data.splits):
        known = amount_of(amount, data.y[split[0]], [settings.seed, fold])
        sieve = fitted(data.X[split[0]], known, limit)
        numbers.append(n_selected(sieve))
        order = np.argsort(sieve.ranking_, kind="stable")
        errors = _errors(data, split, order, sorted({*grid, numbers[-1]}))
        for learner, by_size in errors.items():
            on_grid[learner].append([by_size[size] for size in grid])
            chosen[learner].append(by_size[numbers[-1]])
    return {
        "numbers": numbers,
        "grid": list(grid),
        "errors": on_grid,
        "chosen": chosen,
        "test_ratio": data.test_ratio,
    }


def grid_of(n_features: int) -> tuple[int, ...]:
    return (*(size for size in GRID if size < n_features), n_features)


def _errors(
    data: Problem, split: tuple[Integers, Integers], order: Integers, sizes: Sequence[int]
) -> dict[str, dict[int, float]]:
    """Return the errors of one fold by learner and size.

    The error is the share of wrong classes, or the RMSE relative to predicting the mean. The
    learners train on all labels of the training rows.
    """
    classes = data.task == "classification"
    found = evaluate(
        {"chosen": lambda X, y: order},
        data.X,
        data.y,
        sizes=sizes,
        learners=LEARNERS[data.task],
        known=0,
        folds=[split],
        baselines=(),
        target_type="classes" if classes else "continuous",
        progress=False,
    )

    def errors(learner: str) -> Floats:
        if classes:
            return 1 - found.values("chosen", learner, metric="accuracy")[:, 0]
        return found.values("chosen", learner, metric="relative_rmse")[:, 0]

    return {
        learner: dict(zip(sizes, errors(learner).tolist(), strict=True))
        for learner in LEARNERS[data.task]
    }


# --- Many cells
# --------------------------------------------------------------------------------------------------


def cells(
    available: Iterable[tuple[str, str]], parts: Iterable[str], settings: Settings
) -> list[Cell]:
    """Return all cells to run. Amounts that would show every label are covered by `all`."""
    found = []
    available = list(available)
    for part in parts:
        for name, task in available:
            amounts = AMOUNTS[part][task]
            if part == STEADINESS:
                y = problem(
                    name, rows=settings.rows, folds=settings.folds, repeats=1, seed=settings.seed
                ).y
                amounts = tuple(one for one in amounts if one == ALL or _hides(one, y))
            found += [Cell(part, name, amount) for amount in amounts]
    return found


def _hides(amount: str, y: NDArray[Any]) -> bool:
    return bool(amount_of(amount, y, [0]).n_labeled < amount_of(ALL, y, [0]).n_labeled)


def key(record: Mapping[str, Any]) -> tuple[str, ...]:
    settings = json.dumps(record["settings"], sort_keys=True)
    return record["part"], record["dataset"], record["amount"], settings


def read(file: Path) -> list[Record]:
    """Return the last record of each cell in a file."""
    return read_records(file, key)


def outstanding(
    wanted: Iterable[Cell], done: Iterable[Record], settings: Settings, limit: float
) -> list[Cell]:
    """Return the cells without a result, and those that exceeded a shorter time limit."""
    have = {key(record): record for record in done}
    found = []
    for cell in wanted:
        record = have.get(key(asdict(cell) | {"settings": asdict(settings)}))
        if record is None or (record["failed"] and record["limit"] < limit):
            found.append(cell)
    return found


def run(
    wanted: Sequence[Cell],
    settings: Settings,
    file: Path,
    *,
    limit: float,
    log: Callable[[str], None],
) -> None:
    """Run the cells and append each to the file as soon as it is done."""
    with file.open("a", encoding="utf-8") as out:
        if out.tell() and not file.read_bytes().endswith(b"\n"):
            out.write("\n")  # A run was interrupted in the middle of a line.
        for number, cell in enumerate(wanted, 1):
            record = run_cell(cell, settings, limit)
            out.write(json.dumps(record) + "\n")
            out.flush()
            what = record["failed"] or f"{np.median(record['numbers']):g} columns"
            log(
                f"{number}/{len(wanted)} {cell.part}, {cell.dataset}, {cell.amount}: {what} "
                f"({record['seconds']:.1f} s)"
            )


# --- Verdicts
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spread:
    """The median and the quartiles of the numbers of columns."""

    median: float
    low: float
    high: float

    @property
    def relative(self) -> float:
        """The interquartile range as a share of the median."""
        return (self.high - self.low) / self.median

    @property
    def steady(self) -> bool:
        return self.relative <= MOST_SPREAD


def spread(numbers: Sequence[int]) -> Spread:
    low, median, high = np.quantile(numbers, (0.25, 0.5, 0.75))
    return Spread(float(median), float(low), float(high))


def largest_fall(medians: Sequence[float]) -> float:
    """Return the largest share of a median that is lost at a later one."""
    falls = [
        1 - later / earlier
        for place, earlier in enumerate(medians)
        for later in medians[place + 1 :]
    ]
    return max(0.0, *falls) if falls else 0.0


@dataclass(frozen=True)
class Verdict:
    """The chosen number of columns compared with the sizes of the grid.

    `smallest` is the smallest size with an error within one standard error of the best size.
    `difference` is the error with the chosen number minus that of the best size. It is `within` one
    standard error of the best size's error, or of the difference itself if that is larger: a best
    size without any error has a standard error of 0.
    """

    n: float
    best: int
    smallest: int
    difference: float
    standard_error: float
    within: bool
    few: bool


def verdict(
    grid: Sequence[int], errors: Any, chosen: Any, numbers: Sequence[int], test_ratio: float
) -> Verdict:
    """Judge the number of columns of one data set by one learner.

    `errors` are folds × sizes, and `chosen` are the errors of the folds with the chosen number. All
    standard errors are corrected for the training rows that folds share.
    """
    by_size, given = np.asarray(errors, dtype=np.float64), np.asarray(chosen, dtype=np.float64)
    means = by_size.mean(axis=0)
    best = int(np.argmin(means))
    of_best = standard_error(by_size[:, best], test_ratio=test_ratio)
    smallest = grid[int(np.flatnonzero(means <= means[best] + of_best + ROUNDING)[0])]
    difference = given - by_size[:, best]
    of_difference = standard_error(difference, test_ratio=test_ratio)
    n = float(np.median(numbers))
    return Verdict(
        n=n,
        best=grid[best],
        smallest=smallest,
        difference=float(difference.mean()),
        standard_error=of_difference,
        within=bool(difference.mean() <= max(of_best, of_difference) + ROUNDING),
        few=n <= MOST_TIMES * smallest,
    )


def verdicts(record: Record) -> dict[str, Verdict]:
    """Return the verdict by each learner on a record of adequacy."""
    return {
        learner: verdict(
            record["grid"],
            record["errors"][learner],
            record["chosen"][learner],
            record["numbers"],
            record["test_ratio"],
        )
        for learner in LEARNERS[record["task"]]
    }


# --- Tables
# --------------------------------------------------------------------------------------------------


def report(records: Iterable[Record], settings: Settings, *, markdown: bool) -> str:
    """Return the tables of both parts, with the flagged cells below each."""
    mine = [record for record in records if record["settings"] == asdict(settings)]
    done = [record for record in mine if not record["failed"]]
    steadiness = [record for record in done if record["part"] == STEADINESS]
    adequacy = [record for record in done if record["part"] == ADEQUACY]
    parts = [
        *(_steadiness_text(steadiness, settings, markdown) if steadiness else []),
        *(_adequacy_text(adequacy, settings, markdown) if adequacy else []),
    ]
    skipped = ", ".join(
        f"{one['part']} of {one['dataset']}, {one['amount']} ({one['failed']})"
        for one in mine
        if one["failed"]
    )
    return "\n\n".join([*parts, *([f"Skipped: {skipped}."] if skipped else [])])


def _by_set(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the records of each data set, fewest known labels first."""
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record["dataset"], []).append(record)
    return {name: sorted(some, key=lambda one: one["n_labeled"]) for name, some in found.items()}


def _steadiness_text(records: Sequence[Record], settings: Settings, markdown: bool) -> list[str]:
    rows = [["data set", "known", "labels", "median n", "quartiles", "IQR / median", ""]]
    unsteady, falling = [], []
    for name, some in _by_set(records).items():
        spreads = [spread(one["numbers"]) for one in some]
        for one, found in zip(some, spreads, strict=True):
            rows.append(
                [
                    f"{name}, {one['shape'][1]} columns",
                    one["amount"],
                    f"{one['n_labeled']:.0f}",
                    f"{found.median:g}",
                    f"{found.low:g}–{found.high:g}",
                    f"{found.relative:.2f}",
                    "" if found.steady else "unsteady",
                ]
            )
            unsteady += [] if found.steady else [f"{name} {one['amount']}"]
        medians = [found.median for found in spreads]
        if largest_fall(medians) > MOST_FALL:
            falling.append(f"{name} ({' → '.join(f'{median:g}' for median in medians)})")
    return [
        f"Number of columns in {settings.draws} draws of the known labels or targets (all: in 90 % "
        "of the rows)",
        "\n".join(lines_of(rows, markdown)).rstrip(),
        f"IQR above half of the median in {len(unsteady)} of {len(records)} cells: "
        f"{', '.join(unsteady) or 'none'}.",
        f"Median falls by more than a third when labels are added: {', '.join(falling) or 'none'}.",
    ]


def _adequacy_text(records: Sequence[Record], settings: Settings, markdown: bool) -> list[str]:
    rows = [["error", "median n", "best size", "smallest", "difference", "within", "few"]]
    found: list[tuple[str, Verdict]] = []
    for one in records:
        for learner, judged in verdicts(one).items():
            name = f"{one['dataset']}, {one['amount']}, {learner}"
            found.append((name, judged))
            rows.append([name, *_shown(judged)])
    return [
        f"Error with the chosen number of columns, {settings.folds} folds. Best size: smallest "
        "mean error on the grid. Smallest: smallest size within one standard error of it. Difference: "
        "error with the chosen number minus that of the best size. Within: it is at most one "
        "standard error. Few: the chosen number is at most twice the smallest size.",
        "\n".join(lines_of(rows, markdown)).rstrip(),
        _flagged("Not within one standard error of the best size", found, "within"),
        _flagged("More than twice the smallest such size", found, "few"),
    ]


def _shown(judged: Verdict) -> list[str]:
    return [
        f"{judged.n:g}",
        str(judged.best),
        str(judged.smallest),
        _signed(judged.difference, judged.standard_error),
        "yes" if judged.within else "NO",
        "yes" if judged.few else "NO",
    ]


def _signed(difference: float, error: float) -> str:
    # Adding 0 turns a rounded −0 into 0.
    text = f"{round(difference, 3) + 0.0:+.3f}".replace("-", "−")
    return text if math.isnan(error) else f"{text} ± {error:.3f}"


def _flagged(title: str, found: Sequence[tuple[str, Verdict]], flag: str) -> str:
    names = [name for name, judged in found if not getattr(judged, flag)]
    return f"{title} in {len(names)} of {len(found)} cells: {'; '.join(names) or 'none'}."


def section(records: Iterable[Record], settings: Settings) -> Section:
    """Return the section of docs/quality-problems.md: both parts by the amount of supervision."""
    mine = [record for record in records if record["settings"] == asdict(settings)]
    done = [record for record in mine if not record["failed"]]
    steadiness = [record for record in done if record["part"] == STEADINESS]
    by_set = {
        name: [spread(one["numbers"]).median for one in some]
        for name, some in _by_set(steadiness).items()
    }
    n_falling = sum(largest_fall(medians) > MOST_FALL for medians in by_set.values())
    rows = [
        [words, *_by_amount(done, amount)]
        for amount, words in AMOUNT_WORDS.items()
        if any(record["amount"] == amount for record in done)
    ]
    n_failed = len(mine) - len(done)
    return results.section(
        'With `n_features_to_select="auto"`, the default chooses the number of columns. The number '
        f"is measured on {count(len({one['dataset'] for one in done}), 'data set')} with at most "
        f"{settings.rows} rows"
        + (f", without {count(n_failed, 'cell')} that took too long." if n_failed else "."),
        [
            [
                "supervision",
                "steady",
                "error − best",
                "within one standard error",
                "at most twice the smallest",
            ],
            *rows,
        ],
        [
            f"*Steady*: data sets in which the interquartile range of the number, over "
            f"{settings.draws} draws of the labels (all labels: of 90 % of the rows), is at most "
            "half of the median.",
            f"More labels reduce the median number by more than a third on {n_falling} of "
            f"{count(len(by_set), 'data set')}.",
            "*Error − best*: mean error with the chosen number minus that with the best number in "
            "the same order, ± standard error over data sets. The learners train on all labels "
            f"({settings.folds} folds).",
            "*Within one standard error*: data sets × learners in which this difference is at most "
            "one standard error.",
            "*At most twice the smallest*: data sets × learners in which the number is at most "
            "twice the smallest sufficient number.",
        ],
    )


def _by_amount(records: Sequence[Record], amount: str) -> list[str]:
    """Return the cells of a row; empty for a part that did not run with this amount."""
    steady = [
        spread(one["numbers"]).steady
        for one in records
        if one["part"] == STEADINESS and one["amount"] == amount
    ]
    judged = {
        one["dataset"]: verdicts(one)
        for one in records
        if one["part"] == ADEQUACY and one["amount"] == amount
    }
    every = [one for some in judged.values() for one in some.values()]
    means = [np.mean([one.difference for one in some.values()]) for some in judged.values()]
    return [
        _share(steady),
        _mean_difference(means),
        _share([one.within for one in every]),
        _share([one.few for one in every]),
    ]


def _share(flags: Sequence[bool]) -> str:
    return f"{sum(flags)} of {len(flags)}" if flags else ""


def _mean_difference(values: Sequence[Any]) -> str:
    if not values:
        return ""
    return _signed(float(np.mean(values)), standard_error(values))


# --- The command
# --------------------------------------------------------------------------------------------------


def main(
    arguments: Sequence[str],
    *,
    available: Callable[[Sequence[str]], list[tuple[str, str]]],
    log: Callable[[str], None],
) -> int:
    """Run the command `counts` and print its tables."""
    given = _parser().parse_args(arguments)
    parts = given.parts.split(",")
    for name in parts:
        if name not in PARTS:
            raise InputError(
                f"there is no part {name!r}{nearest(name, PARTS)}; choose from {', '.join(PARTS)}."
            )
    for name, least in (("rows", 20), ("folds", 2), ("draws", 2)):
        value = getattr(given, name)
        if value is not None and value < least:
            raise InputError(f"--{name} must be at least {least}, got {value}.")
    settings = Settings(
        given.rows,
        given.folds or (3 if given.quick else 5),
        given.draws or (3 if given.quick else 10),
        given.seed,
    )
    names = (
        given.sets.split(",")
        if given.sets
        else QUICK
        if given.quick
        else (*sets.CLASSES, *sets.TARGETS)
    )
    wanted = cells(available(names), parts, settings)
    todo = outstanding(wanted, read(given.file), settings, given.limit)
    log(f"{len(wanted)} cells, {len(wanted) - len(todo)} of them in {given.file}")
    run(todo, settings, given.file, limit=given.limit, log=log)
    records = read(given.file)
    print(report(records, settings, markdown=given.markdown))
    if given.store:
        results.add("counts", section(records, settings))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="quality counts", description=__doc__)
    parser.add_argument(
        "file",
        type=Path,
        nargs="?",
        default=Path("counts.jsonl"),
        help="file of the results (default: counts.jsonl); cells that it contains do not run again",
    )
    parser.add_argument(
        "--parts", default=",".join(PARTS), help="separated by commas (default: %(default)s)"
    )
    parser.add_argument(
        "--sets", help="names of data sets, separated by commas (default: development data sets)"
    )
    parser.add_argument(
        "--rows", type=int, default=800, help="maximum number of rows (default: %(default)s)"
    )
    parser.add_argument("--folds", type=int, help="number of folds (default: 5; with --quick: 3)")
    parser.add_argument("--draws", type=int, help="number of draws (default: 10; with --quick: 3)")
    parser.add_argument(
        "--limit",
        type=float,
        default=6.0,
        help="time limit of one fit in seconds; slower cells are skipped (default: %(default)g)",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--quick", action="store_true", help=f"the data sets {', '.join(QUICK)}, few draws"
    )
    parser.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    results.add_option(parser)
    return parser

"""Run cells. A cell is one method on one data set at one level of supervision, over all folds.

Each finished cell is a line of a JSON-lines file.
"""

from __future__ import annotations

import json
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from graphsieve import Supervision
from graphsieve.assess.evaluation.evaluating import evaluate
from graphsieve.assess.evaluation.results import Evaluation
from quality.candidates import Candidate, candidate_named
from quality.knowledge import draw_supervision, level_for
from quality.sets import LEARNERS, Problem, problem

Integers = NDArray[np.int64]

ALL_LABELS, KNOWN_LABELS = "all", "known"
PROTOCOLS = (ALL_LABELS, KNOWN_LABELS)
"""The learners train on all labelled training rows, or on those that the methods saw."""
FEWEST_FOR_FIVE_NEIGHBORS = 10  # training rows
SIGNAL_INTERVAL = 1.0  # seconds between further signals to a method that ignored the time limit
RANDOM_DRAWS = 5  # random orders per fold; their errors are averaged


@dataclass(frozen=True)
class Settings:
    """The settings that two cells must share to be comparable."""

    rows: int
    folds: int
    repeats: int
    seed: int
    protocol: str = ALL_LABELS

    @property
    def sampling(self) -> dict[str, int]:
        """The settings that determine the rows and the folds."""
        return {name: getattr(self, name) for name in ("rows", "folds", "repeats", "seed")}


@dataclass(frozen=True)
class Cell:
    """A combination to run. `method` is a name as in `candidate_named`."""

    dataset: str
    level: str
    method: str

    @property
    def label(self) -> str:
        return self.method.partition("=")[0]


class OverTimeError(Exception):
    """A selection exceeded the time limit."""


# --- One cell
# --------------------------------------------------------------------------------------------------


def run_cell(cell: Cell, settings: Settings, limit: float) -> dict[str, Any]:
    """Return the record of a cell: errors by learner, size and fold, or the reason of a failure."""
    data = problem(cell.dataset, **settings.sampling)
    record: dict[str, Any] = {
        "set": cell.dataset,
        "knowledge": cell.level,
        "method": cell.label,
        "blind": _runs_once(candidate_named(cell.method), settings.protocol),
        "task": data.task,
        "shape": list(data.X.shape),
        "settings": asdict(settings),
        "test_ratio": data.test_ratio,
        "sizes": list(data.sizes),
        "limit": limit,
        "failed": None,
    }
    try:
        with warnings.catch_warnings():
            # Some methods warn about few labels in every fold. The table shows the consequences.
            warnings.simplefilter("ignore")
            return record | _measured(cell, data, settings, limit)
    except OverTimeError:
        return record | {"failed": f"over {limit:g} s"}
    except Exception as error:  # Other libraries may raise anything. The run continues.
        return record | {"failed": f"{type(error).__name__}: {error}".splitlines()[0][:200]}


def _measured(cell: Cell, data: Problem, settings: Settings, limit: float) -> dict[str, Any]:
    learners = LEARNERS[data.task]
    errors: dict[str, list[list[float]]] = {learner: [] for learner in learners}
    seconds = []
    for fold in range(len(data.splits)):
        found = _evaluated(cell, data, fold, settings, limit)
        for learner in learners:
            errors[learner].append(
                np.mean(
                    [_errors(found, name, learner) for name in found.selectors], axis=0
                ).tolist()
            )
        seconds.append(
            float(np.mean([one.seconds for one in found.selections])) if found.selections else 0.0
        )
    return {"errors": errors, "seconds": seconds}


def _evaluated(
    cell: Cell, data: Problem, fold: int, settings: Settings, limit: float
) -> Evaluation:
    """Evaluate one fold.

    The supervision is drawn here, because `evaluate` rejects a number of labels that exceeds the
    size of a class.
    """
    train, seed = data.splits[fold][0], [settings.seed, fold]
    level = level_for(cell.level, data.task)
    assert level is not None
    drawn = draw_supervision(level, data.y[train], seed)
    y, learners = data.y, LEARNERS[data.task]
    if settings.protocol == KNOWN_LABELS:
        y = _with_hidden(data.y, train, drawn)
        learners = _for_few_rows(learners, drawn.n_labeled)
    selectors: dict[str, Any]
    if cell.method == "random":
        selectors = {f"random {draw}": _random_order([*seed, draw]) for draw in range(RANDOM_DRAWS)}
    elif cell.method == "all":
        selectors = {}
    else:
        candidate = candidate_named(cell.method)
        if candidate.package is not None:
            _warm_up(candidate.name)
        known = candidate.usable(drawn)
        selectors = {candidate.name: _limited(candidate, known, max(data.sizes), seed, limit)}
    return evaluate(
        selectors,
        data.X,
        y,
        sizes=data.sizes,
        learners=learners,
        known=0,
        folds=[data.splits[fold]],
        baselines=() if selectors else ("all",),
        target_type="classes" if data.task == "classification" else "continuous",
        random_state=seed[0],
        progress=False,
    )


def _with_hidden(y: NDArray[Any], train: Integers, known: Supervision) -> NDArray[Any]:
    """Return y with the training rows as unlabelled as in the supervision.

    `evaluate` then trains the learners on the labelled rows alone. All test rows stay labelled.
    """
    shown = y.copy()
    shown[train] = known.codes if known.targets is None else known.targets
    return shown


def _for_few_rows(learners: Mapping[str, Any], n_rows: int) -> dict[str, Any]:
    """Replace five nearest neighbours by one if there are few training rows.

    With five rows or fewer they predict the mean, whatever the columns are.
    """
    few = n_rows < FEWEST_FOR_FIVE_NEIGHBORS
    return {
        name: "1nn" if few and learner == "5nn" else learner for name, learner in learners.items()
    }


def _errors(found: Evaluation, name: str, learner: str) -> NDArray[np.float64]:
    """Return the errors of one fold by number of columns.

    The error is the share of wrong predictions, or the RMSE relative to predicting the mean.
    """
    if found.task == "classification":
        return 1 - found.values(name, learner, metric="accuracy")[:, 0]
    return found.values(name, learner, metric="relative_rmse")[:, 0]


def _random_order(seed: list[int]) -> Callable[[Any, Any], Integers]:
    return lambda X, _: np.random.default_rng([*seed, 1]).permutation(X.shape[1])


def _limited(
    candidate: Candidate, known: Any, n: int, seed: list[int], limit: float
) -> Callable[[Any, Any], Integers]:
    def order(X: Any, _: Any) -> Integers:
        with time_limit(limit):
            found = np.asarray(candidate.order(X, known, n), dtype=np.int64)
        return completed(found, X.shape[1], np.random.default_rng([*seed, 2]))

    return order


@lru_cache
def _warm_up(name: str) -> None:
    """Let a library import and compile what it needs, so that this does not count as selection."""
    y = np.arange(12) % 2
    with suppress(Exception):  # Any problem appears in the cell.
        candidate_named(name).order(
            np.random.default_rng(0).normal(size=(12, 4)), Supervision.from_labels(y), 2
        )


def completed(order: Integers, n_features: int, random: np.random.Generator) -> Integers:
    """Append all columns that are missing from the order, in random order."""
    return np.concatenate([order, random.permutation(np.setdiff1d(np.arange(n_features), order))])


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `OverTimeError` after this number of seconds, as soon as Python code runs again.

    It has no effect outside the main thread and on platforms without interval timers.
    """
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return

    expired = False

    def stop(*_: Any) -> None:
        nonlocal expired
        expired = True
        raise OverTimeError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, SIGNAL_INTERVAL)
    try:
        yield
    except Exception:
        if not expired:
            raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    # The method may have caught the exception: Boruta treats it as an error in the data.
    if expired:
        raise OverTimeError


# --- Many cells
# --------------------------------------------------------------------------------------------------


def cells(
    sets: Iterable[tuple[str, str]],
    levels: Iterable[str],
    methods: Iterable[str],
    protocol: str = ALL_LABELS,
) -> list[Cell]:
    """Return all cells to run, data set by data set.

    Methods that ignore the supervision run once, without supervision. If the learners train on the
    known labels only, they run at every level.
    """
    wanted: dict[Cell, None] = {}
    levels, methods = list(levels), list(methods)
    for name, task in sets:
        fitting = [level for name in levels if (level := level_for(name, task)) is not None]
        for method in methods:
            candidate = candidate_named(method)
            if _runs_once(candidate, protocol) and fitting:
                wanted[Cell(name, "none", method)] = None
            elif not _runs_once(candidate, protocol):
                wanted.update(
                    {
                        Cell(name, level.name, method): None
                        for level in fitting
                        if candidate.blind or candidate.can_use(level)
                    }
                )
    return list(wanted)


def _runs_once(candidate: Candidate, protocol: str) -> bool:
    """Whether the errors of a method are the same at every level of supervision."""
    return candidate.blind and protocol == ALL_LABELS


def read_records(
    file: Path, key_of: Callable[[dict[str, Any]], tuple[str, ...]] | None = None
) -> list[dict[str, Any]]:
    """Return the last record of each cell in a file. Truncated lines are ignored.

    `key_of` returns what identifies a cell, by default `key`.
    """
    identify = key_of or key
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    if file.exists():
        for line in file.read_text(encoding="utf-8").splitlines():
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            found[identify(record)] = record
    return list(found.values())


def key(record: dict[str, Any]) -> tuple[str, ...]:
    return (
        record["set"],
        record["knowledge"],
        record["method"],
        json.dumps(record["settings"], sort_keys=True),
    )


def outstanding(
    wanted: Iterable[Cell], done: Iterable[dict[str, Any]], settings: Settings, limit: float
) -> list[Cell]:
    """Return the cells without a result at these settings.

    Cells that exceeded a shorter time limit are included.
    """
    have = {key(record): record for record in done}
    result = []
    for cell in wanted:
        plain = {
            "set": cell.dataset,
            "knowledge": cell.level,
            "method": cell.label,
            "settings": asdict(settings),
        }
        record = have.get(key(plain))
        if record is None or (
            str(record["failed"]).startswith("over ") and record["limit"] < limit
        ):
            result.append(cell)
    return result


def run(
    wanted: list[Cell],
    settings: Settings,
    file: Path,
    *,
    limit: float,
    jobs: int,
    log: Callable[[str], None],
) -> None:
    """Run the cells and append each to the file as soon as it is done."""
    start = time.monotonic()
    work = (delayed(run_cell)(cell, settings, limit) for cell in wanted)
    results = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)(work)
    with file.open("a", encoding="utf-8") as out:
        if out.tell() and not file.read_bytes().endswith(b"\n"):
            out.write("\n")  # A run was interrupted in the middle of a line.
        for count, record in enumerate(results, 1):
            out.write(json.dumps(record) + "\n")
            out.flush()
            log(f"{count}/{len(wanted)} {time.monotonic() - start:.0f} s  {_line(record)}")


def _line(record: dict[str, Any]) -> str:
    name = f"{record['set']} {record['knowledge']} {record['method']}"
    if record["failed"]:
        return f"{name}: {record['failed']}"
    means = " | ".join(f"{np.mean(values):.3f}" for values in record["errors"].values())
    return f"{name}: {means} ({np.mean(record['seconds']):.2g} s)"

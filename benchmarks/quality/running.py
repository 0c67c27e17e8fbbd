"""Cells: one method on one data set with one kind of knowledge, over all folds. Each is a line
of a JSON file, once done.
"""

from __future__ import annotations

import json
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
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
from quality.knowledge import LEVELS, told
from quality.sets import LEARNERS, Problem, problem

Integers = NDArray[np.int64]

RING_AGAIN = 1.0  # seconds after which a method that went on regardless is told once more
RANDOM_DRAWS = 5  # orders by chance in every fold, of which the mean counts


@dataclass(frozen=True)
class Settings:
    """What must be the same for two cells to be compared."""

    rows: int
    folds: int
    repeats: int
    seed: int


@dataclass(frozen=True)
class Cell:
    """What is to be run; a method is named as in `candidate_named`."""

    dataset: str
    level: str
    method: str

    @property
    def label(self) -> str:
        return self.method.partition("=")[0]


class OverTimeError(Exception):
    """A selection takes longer than it may."""


# --- One cell
# --------------------------------------------------------------------------------------------------


def run_cell(cell: Cell, settings: Settings, limit: float) -> dict[str, Any]:
    """The record of a cell: errors by learner, size and fold, or why there are none."""
    data = problem(cell.dataset, **asdict(settings))
    record: dict[str, Any] = {
        "set": cell.dataset,
        "knowledge": cell.level,
        "method": cell.label,
        "blind": candidate_named(cell.method).blind,
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
            # Some methods warn of few labels in every fold; the table is the place for that
            warnings.simplefilter("ignore")
            return record | _measured(cell, data, settings, limit)
    except OverTimeError:
        return record | {"failed": f"over {limit:g} s"}
    except Exception as error:  # a rival may raise anything, and the others go on
        return record | {"failed": f"{type(error).__name__}: {error}".splitlines()[0][:200]}


def _measured(cell: Cell, data: Problem, settings: Settings, limit: float) -> dict[str, Any]:
    learners = LEARNERS[data.task]
    errors: dict[str, list[list[float]]] = {learner: [] for learner in learners}
    seconds = []
    for fold, split in enumerate(data.splits):
        seed = [settings.seed, fold]
        found = _evaluated(cell, data, split, seed, limit)
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
    cell: Cell, data: Problem, split: tuple[Integers, Integers], seed: list[int], limit: float
) -> Evaluation:
    """One fold. What may be known is drawn here, for `evaluate` refuses to show more labels of a
    class than there are.
    """
    selectors: dict[str, Any]
    if cell.method == "random":
        selectors = {f"random {draw}": _by_chance([*seed, draw]) for draw in range(RANDOM_DRAWS)}
    elif cell.method == "all":
        selectors = {}
    else:
        candidate = candidate_named(cell.method)
        if candidate.package is not None:
            _warm_up(candidate.name)
        known = candidate.told(told(LEVELS[cell.level], data.y[split[0]], seed))
        selectors = {candidate.name: _limited(candidate, known, max(data.sizes), seed, limit)}
    return evaluate(
        selectors,
        data.X,
        data.y,
        sizes=data.sizes,
        learners=LEARNERS[data.task],
        known=0,
        folds=[split],
        baselines=() if selectors else ("all",),
        target_type="classes" if data.task == "classification" else "continuous",
        random_state=seed[0],
        progress=False,
    )


def _errors(found: Evaluation, name: str, learner: str) -> NDArray[np.float64]:
    """Of one fold, by size: the share of wrong predictions, or the error relative to predicting
    the mean.
    """
    if found.task == "classification":
        return 1 - found.values(name, learner, metric="accuracy")[:, 0]
    return found.values(name, learner, metric="relative_rmse")[:, 0]


def _by_chance(seed: list[int]) -> Callable[[Any, Any], Integers]:
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
    """Let a rival load and compile what it needs, which is not part of a selection."""
    y = np.arange(12) % 2
    with suppress(Exception):  # whatever is wrong will show in the cell
        candidate_named(name).order(
            np.random.default_rng(0).normal(size=(12, 4)), Supervision.from_labels(y), 2
        )


def completed(order: Integers, n_features: int, random: np.random.Generator) -> Integers:
    """The order with all columns that it does not name after it, by chance: who has no opinion
    draws lots.
    """
    return np.concatenate([order, random.permutation(np.setdiff1d(np.arange(n_features), order))])


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `OverTimeError` after so many seconds, as soon as Python code runs again; without
    effect off the main thread or where there are no such signals.
    """
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return

    rung = False

    def stop(*_: Any) -> None:
        nonlocal rung
        rung = True
        raise OverTimeError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, RING_AGAIN)
    try:
        yield
    except Exception:
        if not rung:
            raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    if rung:  # whatever was made of it: Boruta takes it for a fault of the data
        raise OverTimeError


# --- Many cells
# --------------------------------------------------------------------------------------------------


def cells(
    sets: Iterable[tuple[str, str]], levels: Iterable[str], methods: Iterable[str]
) -> list[Cell]:
    """All that there is to run, set by set; methods that never look at what is known run once,
    with nothing.
    """
    wanted: dict[Cell, None] = {}
    levels, methods = list(levels), list(methods)
    for name, task in sets:
        fitting = [level for level in levels if LEVELS[level].task in (None, task)]
        for method in methods:
            candidate = candidate_named(method)
            if candidate.blind and fitting:
                wanted[Cell(name, "none", method)] = None
            elif not candidate.blind:
                wanted.update(
                    {
                        Cell(name, level, method): None
                        for level in fitting
                        if candidate.can_use(LEVELS[level])
                    }
                )
    return list(wanted)


def read_records(file: Path) -> list[dict[str, Any]]:
    """The records of a file, the last one of each cell; a line that was cut off is as if it were
    not there.
    """
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    if file.exists():
        for line in file.read_text(encoding="utf-8").splitlines():
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            found[key(record)] = record
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
    """Cells that have no result with these settings; one that failed for want of time is tried
    again with more of it.
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
    tell: Callable[[str], None],
) -> None:
    """Run the cells and append each to the file as soon as it is done."""
    start = time.monotonic()
    work = (delayed(run_cell)(cell, settings, limit) for cell in wanted)
    results = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)(work)
    with file.open("a", encoding="utf-8") as out:
        if out.tell() and not file.read_bytes().endswith(b"\n"):
            out.write("\n")  # a run was cut off in the middle of a line
        for count, record in enumerate(results, 1):
            out.write(json.dumps(record) + "\n")
            out.flush()
            tell(f"{count}/{len(wanted)} {time.monotonic() - start:.0f} s  {_line(record)}")


def _line(record: dict[str, Any]) -> str:
    name = f"{record['set']} {record['knowledge']} {record['method']}"
    if record["failed"]:
        return f"{name}: {record['failed']}"
    means = " | ".join(f"{np.mean(values):.3f}" for values in record["errors"].values())
    return f"{name}: {means} ({np.mean(record['seconds']):.2g} s)"

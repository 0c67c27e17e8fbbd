"""Cells: one selection on one table with one number of known labels, over all folds."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mixed.data import Floats, Integers, Problem, problem
from mixed.missing import WITH_GAPS
from mixed.selections import RANDOM_DRAWS, SELECTIONS

SIZES = (3, 6, 10)


@dataclass(frozen=True)
class Settings:
    """The settings that two cells must share to be comparable."""

    rows: int
    folds: int
    repeats: int
    seed: int
    missing: bool = False  # whether selections and learners get the gaps of the table


def learners(classes: bool) -> dict[str, Any]:
    ridge = RidgeCV(np.logspace(-3, 3, 7))
    return {
        "trees": HistGradientBoostingClassifier(random_state=0)
        if classes
        else HistGradientBoostingRegressor(random_state=0),
        "linear": make_pipeline(
            SimpleImputer(strategy="median", keep_empty_features=True),
            StandardScaler(),
            LogisticRegression(max_iter=1000) if classes else ridge,
        ),
    }


@dataclass(eq=False)
class Judge:
    """Errors of the learners on sets of columns. Equal sets of a fold are judged once."""

    data: Problem
    splits: Sequence[tuple[Integers, Integers]]
    found: dict[Any, float] = field(default_factory=dict)

    def error(self, learner: str, fold: int, order: Sequence[Integers]) -> float:
        """Return the error of a learner that is trained on all targets of the training rows."""
        some = np.sort(np.concatenate(order))
        key = (learner, fold, some.tobytes())
        if key not in self.found:
            (train, test), y = self.splits[fold], self.data.y
            model = learners(self.data.is_classification)[learner]
            columns = self.data.columns[0][:, some]
            predicted = model.fit(columns[train], y[train]).predict(columns[test])
            # Heavy tails of a feature must not cause absurd predictions.
            predicted = np.clip(predicted, y[train].min(), y[train].max())
            self.found[key] = self._loss(y[test], predicted)
        return self.found[key]

    def baseline(self) -> float:
        """Return the mean error of predicting the mean or the most frequent class."""
        y = self.data.y
        constant = (
            (lambda some: np.bincount(some).argmax()) if self.data.is_classification else np.mean
        )
        return float(
            np.mean(
                [
                    self._loss(y[test], np.full(len(test), constant(y[train])))
                    for train, test in self.splits
                ]
            )
        )

    def _loss(self, y: Any, predicted: Any) -> float:
        """Return the share of wrong classes, or the mean absolute error."""
        wrong = y != predicted if self.data.is_classification else np.abs(y - predicted)
        return float(np.mean(wrong))


def run_table(
    name: str, level: str, methods: Sequence[str], settings: Settings
) -> list[dict[str, Any]]:
    """Return the records of one table with one number of known labels."""
    warnings.simplefilter("ignore")
    data = problem(name, settings.rows, settings.seed, fill=not settings.missing)
    judge = Judge(data, data.splits(settings.folds, settings.repeats, settings.seed))
    baseline = judge.baseline()
    records = []
    for method in methods:
        record = {
            "table": name,
            "level": level,
            "method": method,
            "settings": asdict(settings),
            "shape": list(data.frame.shape),
            "categories": len(data.categories),
        }
        try:
            errors, seconds = _over_folds(judge, level, method, settings.seed)
        except Exception as error:  # The run continues. The tables show the failure.
            records.append(record | {"failed": f"{type(error).__name__}: {error}"})
            continue
        record["errors"] = {
            learner: (found.mean(axis=(0, 1)) / baseline).round(5).tolist()
            for learner, found in errors.items()
        }
        record["by_fold"] = {
            learner: (found.mean(axis=(1, 2)) / baseline).round(5).tolist()
            for learner, found in errors.items()
        }
        records.append(record | {"seconds": round(seconds / len(judge.splits), 3)})
    return records


def _over_folds(
    judge: Judge, level: str, method: str, seed: int
) -> tuple[dict[str, Floats], float]:
    """Return the errors of each learner by fold, draw and size, and the seconds of all selections."""
    errors: dict[str, list[list[float]]] = {learner: [] for learner in learners(True)}
    seconds, (columns, members) = 0.0, judge.data.columns
    for fold, (train, _) in enumerate(judge.splits):
        told = replace(
            judge.data,
            frame=judge.data.frame.iloc[train],
            y=_partly_known(judge.data, train, level, [seed, fold]),
        )
        # Columns are those of the whole table, so that every level has one.
        told.__dict__["columns"] = columns[train], members
        for draw in range(RANDOM_DRAWS if method == "random" else 1):
            start = time.perf_counter()
            order = (SELECTIONS | WITH_GAPS)[method](told, 1000 * fold + draw)
            seconds += time.perf_counter() - start
            for learner, found in errors.items():
                found.append([judge.error(learner, fold, order[:size]) for size in SIZES])
    shape = len(judge.splits), -1, len(SIZES)
    return {learner: np.reshape(found, shape) for learner, found in errors.items()}, seconds


def _partly_known(data: Problem, train: Integers, level: str, seed: Any) -> Any:
    """Return the targets of the training rows, of which only some are known."""
    y = data.y[train].copy()
    if level == "all" or int(level) >= len(train):
        return y
    _, rest = train_test_split(
        np.arange(len(train)),
        train_size=int(level),
        random_state=int(np.random.default_rng(seed).integers(2**31)),
        stratify=y if data.is_classification else None,
    )
    y[rest] = -1 if data.is_classification else np.nan
    return y


def read_records(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def run(
    names: Sequence[str],
    levels: Sequence[str],
    methods: Sequence[str],
    settings: Settings,
    file: Path,
    *,
    jobs: int,
    log: Callable[[str], None],
) -> None:
    """Run the cells that the file does not contain, and append them."""
    done = {
        (one["table"], one["level"], one["method"])
        for one in read_records(file)
        if one["settings"] == asdict(settings)
    }
    tasks = []
    for name in names:
        for level in levels:
            todo = [method for method in methods if (name, level, method) not in done]
            if todo:
                tasks.append(delayed(run_table)(name, level, todo, settings))
    for records in Parallel(n_jobs=jobs, return_as="generator_unordered")(tasks):
        with file.open("a", encoding="utf-8") as stream:
            stream.writelines(json.dumps(one) + "\n" for one in records)
        log(f"{records[0]['table']}, {records[0]['level']}")

"""Selectors side by side: selection inside the fold, on labels partly hidden, judged on rows
that were held out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from graphsieve._base.errors import InputError, InputTypeError, Warned
from graphsieve._base.messages import parameter
from graphsieve._base.parallel import in_parallel
from graphsieve._base.parameters import boolean, choice, setting
from graphsieve._base.randomness import generator, seed_number
from graphsieve._base.threads import one_thread
from graphsieve._base.underflow import vanishing
from graphsieve.assess.evaluation.folds import Split, make_splits
from graphsieve.assess.evaluation.gathering import gathered, give, noted
from graphsieve.assess.evaluation.hiding import known_count, shown_rows
from graphsieve.assess.evaluation.learners import check_learner, learner_name
from graphsieve.assess.evaluation.prefixes import (
    checked_sizes,
    known_part,
    known_rows,
    prefix_score,
    read_moderate,
    root_mean_square,
)
from graphsieve.assess.evaluation.results import Evaluation, Measurement, Selection
from graphsieve.assess.evaluation.selection import Selected, named, named_selectors, seeded, select
from graphsieve.supervision.value import Supervision, TargetType


@vanishing
def evaluate(
    selectors: Any,
    X: Any,
    y: Any,
    *,
    sizes: Sequence[int],
    learners: Any = ("1nn", "linear"),
    known: int | float | None = None,
    per_class: bool = False,
    folds: Any = 5,
    repeats: int = 1,
    learn_from: Literal["all", "known"] = "all",
    baselines: Sequence[str] = ("random", "all"),
    supervision: Supervision | None = None,
    target_type: TargetType = "auto",
    unlabeled: int | None = -1,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Evaluation:
    """Compare selectors by what a learner reaches with their first features on held-out rows.

    In every fold the selector gets the training rows alone, with all labels hidden but those it may
    know. Then the learner trains on the training rows, with the first 5, 10, … features, and is
    tested on the others. All selectors meet the same folds and the same hidden labels.

    Parameters
    ----------
    selectors : dict, sequence or single selector
        By name (a sequence names them by themselves). A selector is a registered method or search
        such as ``"fisher"`` or ``"iterative"``; an estimator, which is cloned and must have
        `ranking_`, `scores_` (large is good, unless its `large_is_good_` says otherwise) or
        `get_support` after fit; or a function of X and y that returns column positions, best first.
        Functions get y as class codes 0, 1, … with −1 where unknown, or as floats with NaN; sieves
        of this library read unknown labels too; estimators of other libraries are fitted on the
        rows with a known label (on all, without y, where none is known).
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features; selectors get them as an array, or as a CSR array if sparse.
    y : array of shape (n_samples,)
        Classes or a continuous target. Rows where it is unknown are in every training part,
        unlabelled, and never tested.
    sizes : sequence of int
        Numbers of features; the result has them in ascending order.
    learners : sequence or dict of str or estimator
        Names from `LEARNERS`, or scikit-learn estimators, which are used as they are (without
        scaling).
    known, per_class
        What a selector may know of the training rows, as in `hide_labels`; None is all.
    folds : int, or pairs of training and test rows
        A number of (for classes stratified) folds, or the rows themselves, as scikit-learn's
        splitters give them.
    repeats : int
        How often to split anew.
    learn_from : {"all", "known"}
        Whether the learner trains on all training rows, which judges the features alone, or on
        those whose label the selector knew.
    baselines : sequence of {"random", "all"}
        Columns in random order, anew in every fold, and all columns.
    supervision : Supervision, optional
        What selectors may know, in place of labels of `y`; they get its part of the training rows.
        Functions get it as their second argument; methods that use nothing, such as ``"variance"``,
        do not get it.
    target_type, unlabeled
        As in `GraphSieve`: what `y` is, and the number that marks an unknown label.
    random_state : None, int, SeedSequence, RandomState or Generator
        Of folds, hidden labels, random columns, and of estimators whose own `random_state` is None.
        With a number s the folds are those of scikit-learn's
        ``RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=s)``
        (``RepeatedKFold`` for targets), and the labels known in a fold are ``hide_labels(y[train],
        known, random_state=[s, repeat, fold])``.
    n_jobs : int or None
        Processes; the result does not depend on it.
    progress : bool or None
        Whether to tell on the error stream how far it has come; None: if that is a terminal.

    Returns
    -------
    Evaluation
        Accuracies for classes; for targets root mean squared errors, also relative to that of the
        mean of the training targets.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> result = evaluate(["fisher", "laplacian"], X, y, sizes=[2, 4], learners="1nn", known=9)
    >>> result.values("fisher").shape  # sizes × folds
    (2, 5)
    """
    table = read_table(X)
    values = read_y(y, table.shape[0], target_type, unlabeled)
    classes = values.dtype.kind == "i"
    numbers = checked_sizes(sizes, table.shape[1], distinct=True)
    judges = _named_learners(learners, classes=classes)
    everyone = named_selectors(selectors, baselines)
    known = checked_knowledge(known, per_class, supervision, values)
    from_known = choice(("all", "known"))("learn_from", learn_from) == "known"
    if from_known and (known == 0 or supervision is not None):
        raise InputError(
            setting("learn_from", "known"),
            " needs known labels of y; raise known, or leave supervision out.",
        )
    seed = seed_number(random_state)
    splits = make_splits(folds, values, repeats=repeats, seed=seed)
    task = Task(table, values, numbers, judges, known, per_class, from_known, supervision, seed)
    units = [
        (task, split, name, selector) for split in splits for name, selector in everyone.items()
    ]
    title = f"evaluating {len(everyone)} selectors"
    outcomes: list[Outcome] = in_parallel(
        _run_alone, units, title=title, n_jobs=n_jobs, progress=progress
    )
    give((who, warned) for outcome in outcomes for who, warned in outcome.warned)
    return Evaluation(
        task="classification" if classes else "regression",
        selectors=tuple(everyone),
        learners=tuple(judges),
        metrics=METRICS_OF[classes],
        sizes=tuple(numbers),
        n_samples=table.shape[0],
        n_features=table.shape[1],
        folds=len(splits) // repeats,
        repeats=repeats,
        test_ratio=float(
            np.mean([len(split.test) / known_rows(values[split.train]).sum() for split in splits])
        ),
        knowledge=knowledge_text(known, per_class, supervision, classes),
        measurements=tuple(measured for outcome in outcomes for measured in outcome.measurements),
        selections=tuple(
            outcome.selection for outcome in outcomes if outcome.selection is not None
        ),
    )


METRICS_OF = {True: ("accuracy",), False: ("rmse", "relative_rmse")}


@dataclass(frozen=True, eq=False)
class Task:
    """What all folds and selectors have in common."""

    X: Any
    y: NDArray[Any]
    sizes: list[int]
    learners: dict[str, Any]
    known: int | float | None
    per_class: bool
    learn_from_known: bool
    supervision: Supervision | None
    seed: int

    @property
    def classes(self) -> bool:
        return self.y.dtype.kind == "i"


@dataclass(frozen=True)
class Outcome:
    """What came of one selector in one fold."""

    measurements: tuple[Measurement, ...]
    selection: Selection | None
    warned: tuple[tuple[str, tuple[Warned, ...]], ...]


def _run_alone(task: Task, split: Split, name: str, selector: Any) -> Outcome:
    with one_thread():
        return _run_unit(task, split, name, selector)


def _run_unit(task: Task, split: Split, name: str, selector: Any) -> Outcome:
    """One selector in one fold."""
    at = [task.seed, split.repeat, split.fold]
    # What a selector gets is made of training rows alone, and of the labels of theirs that may be
    # known.
    y_known = partly_known(
        task.y[split.train], 0 if task.supervision is not None else task.known, task.per_class, at
    )
    selected = select(
        name,
        selector,
        # a copy of its own: whatever a selector does to it, the learner does not see
        task.X[split.train],
        y_known.copy(),
        supervision=None if task.supervision is None else task.supervision[split.train],
        sizes=task.sizes,
        random_state=at,
        where=split.where,
    )
    train = known_part(
        task.X[split.train], y_known if task.learn_from_known else task.y[split.train]
    )
    test = (task.X[split.test], task.y[split.test])
    return _measured(task, split, name, selected, train=_by_columns(train), test=_by_columns(test))


def _measured(
    task: Task,
    split: Split,
    name: str,
    selected: Selected,
    *,
    train: tuple[Any, NDArray[Any]],
    test: tuple[Any, NDArray[Any]],
) -> Outcome:
    sizes = [task.X.shape[1]] if name == "all" else task.sizes
    measurements = []
    warned = [(f"selector {name!r}", selected.warned)]
    divisors = _divisors(train[1], test[1], task.classes)
    for called, learner in task.learners.items():
        model = (
            learner
            if isinstance(learner, str)
            else seeded(clone(learner), [task.seed, split.repeat, split.fold, 3])
        )
        with gathered() as found, noted(f"learner {called!r}, selector {name!r}, {split.where}"):
            scores = [
                prefix_score(selected.order[:size], train, test, model, classes=task.classes)
                for size in sizes
            ]
        warned.append((f"learner {called!r}", tuple(found)))
        measurements += [
            Measurement(
                name,
                called,
                metric,
                size,
                split.repeat,
                split.fold,
                score / divisor,
                selected.seconds,
            )
            for metric, divisor in divisors.items()
            for size, score in zip(sizes, scores, strict=True)
        ]
    return Outcome(
        tuple(measurements),
        selection_of(name, selected, split.repeat, split.fold, sizes),
        tuple(warned),
    )


def selection_of(
    name: str, selected: Selected, repeat: int, fold: int, sizes: Sequence[int]
) -> Selection | None:
    """What is kept of a selection; all columns are none."""
    if name == "all":
        return None
    return Selection(
        name, repeat, fold, tuple(selected.order[: max(sizes)].tolist()), selected.seconds
    )


def _divisors(y_train: NDArray[Any], y_test: NDArray[Any], classes: bool) -> dict[str, float]:
    """By what a score is divided in every metric."""
    if classes:
        return {"accuracy": 1.0}
    of_the_mean = root_mean_square(y_test - y_train.mean())
    return {"rmse": 1.0, "relative_rmse": of_the_mean if of_the_mean > 0 else np.nan}


def _by_columns(part: tuple[Any, NDArray[Any]]) -> tuple[Any, NDArray[Any]]:
    """Sparse rows in the form of which columns are quickly taken."""
    return (sp.csc_array(part[0]), part[1]) if sp.issparse(part[0]) else part


def _named_learners(learners: Any, *, classes: bool) -> dict[str, Any]:
    judges = named(learners, "learners", learner_name)
    if not judges:
        raise InputError(parameter("learners", learners), " is empty; name at least one.")
    for learner in judges.values():
        check_learner(learner, classes=classes)
    return judges


def read_table(X: Any) -> Any:
    """X as selectors get it: an array of floats, or a CSR array."""
    table = read_moderate(X)
    if sp.issparse(table):
        return sp.csr_array(table)
    return table if table.dtype.kind == "f" else table.astype(np.float64)


def read_y(y: Any, n_samples: int, target_type: TargetType, unlabeled: int | None) -> NDArray[Any]:
    """Class codes, −1 where unknown, or targets, NaN where unknown; refused where they tell
    nothing apart.
    """
    described = Supervision.from_y(y, target_type=target_type, unlabeled=unlabeled)
    if len(described) != n_samples:
        raise InputError(
            parameter("X"),
            f" has {n_samples} samples, but y has {len(described)} values; they must be the "
            "same samples.",
        )
    values: NDArray[Any] = described.codes if described.targets is None else described.targets
    different = len(np.unique(values[known_rows(values)]))
    if different < 2:
        what = "different classes" if described.targets is None else "different target values"
        raise InputError(parameter("y"), f" must hold at least 2 {what}, got {different}.")
    if described.targets is None and different == np.count_nonzero(known_rows(values)):
        raise InputError(
            parameter("y"),
            f" has a class of its own for each of {different} samples; give classes that "
            "samples share.",
        )
    return values


def checked_knowledge(known: Any, per_class: Any, supervision: Any, y: NDArray[Any]) -> Any:
    """What a selector may know of y, after a look at whether the arguments go together."""
    if boolean()("per_class", per_class) and y.dtype.kind == "f":
        raise InputError(
            setting("per_class", True),
            " needs class labels, and y is a continuous target; leave it out.",
        )
    known_count(known, len(y))
    if supervision is None:
        return known
    if not isinstance(supervision, Supervision):
        raise InputTypeError(
            parameter("supervision", supervision),
            f" must be a graphsieve.Supervision, got {type(supervision).__name__}.",
        )
    if len(supervision) != len(y):
        raise InputError(
            parameter("X"),
            f" has {len(y)} samples, but supervision speaks of {len(supervision)}; they "
            "must be the same samples.",
        )
    if known is not None or per_class:
        raise InputError(
            parameter("known"),
            " and ",
            parameter("per_class"),
            " are about y, in place of which supervision was given; leave them out.",
        )
    return known


def partly_known(
    y: NDArray[Any], known: Any, per_class: bool, random_state: Sequence[int]
) -> NDArray[Any]:
    """Class codes or targets of which some are hidden, as `hide_labels` hides them."""
    rows = known_rows(y)
    if y.dtype.kind == "f":
        described = Supervision(len(y), targets=y.copy())
    else:
        labels = np.full(len(y), -1, dtype=np.int64)
        names, labels[rows] = np.unique(y[rows], return_inverse=True)
        described = Supervision(len(y), labels=labels, classes=names)
    shown = shown_rows(described, known, per_class=per_class, random=generator(random_state))
    return np.where(shown, y, np.nan if y.dtype.kind == "f" else -1)


def knowledge_text(
    known: Any, per_class: bool, supervision: Supervision | None, classes: bool
) -> str:
    """What selectors are told of the training rows, in a few words."""
    what = "labels" if classes else "targets"
    if supervision is not None:
        return f"known: a part of {supervision!r}"
    if known is None:
        return f"all {what} known"
    if known == 0:
        return "nothing known"
    amount = (
        f"{100 * float(known):g} % of the {what}"
        if not isinstance(known, Integral)
        else f"{known} {what}"
    )
    return f"{amount}{' of each class' if per_class else ''} known"

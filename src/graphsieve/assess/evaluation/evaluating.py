"""Cross-validated evaluation of selectors.

Selectors see only the training rows and a part of their labels. Learners are tested on held-out
rows.
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

from graphsieve._base.array_types import Integers
from graphsieve._base.errors import InputError, InputTypeError, Warned
from graphsieve._base.messages import parameter
from graphsieve._base.parallel import in_parallel
from graphsieve._base.parameters import boolean, choice, setting
from graphsieve._base.randomness import generator, seed_number
from graphsieve._base.threads import one_thread
from graphsieve._base.underflow import ignoring_underflow
from graphsieve.assess.evaluation.folds import Split, make_splits
from graphsieve.assess.evaluation.gathering import gathered, give, noted
from graphsieve.assess.evaluation.hiding import known_count, shown_rows
from graphsieve.assess.evaluation.learners import check_learner, learner_name
from graphsieve.assess.evaluation.prefixes import (
    checked_sizes,
    codes_or_targets,
    known_part,
    known_rows,
    prefix_score,
    read_moderate,
    root_mean_square,
)
from graphsieve.assess.evaluation.results import Evaluation, Measurement, Selection
from graphsieve.assess.evaluation.selection import Selected, named, named_selectors, seeded, select
from graphsieve.scores.method import check_length
from graphsieve.select.preparation import with_copies
from graphsieve.supervision.value import Supervision, TargetType, with_groups
from graphsieve.table.columns import MemoryTable
from graphsieve.table.features import Features


@ignoring_underflow
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
    groups: Any = None,
    target_type: TargetType = "auto",
    unlabeled: int | None = -1,
    categorical: Any = "auto",
    feature_groups: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Evaluation:
    """Compare selectors by how well a learner predicts held-out rows from their first features.

    In every fold, the selector receives only the training rows and the `known` part of their
    labels. The learner is then fitted to the training rows with the first 5, 10, … features, and
    tested on the held-out rows. All selectors use the same folds and the same hidden labels.

    Parameters
    ----------
    selectors : dict, sequence or single selector
        Selectors by name; in a sequence, names are derived from the selectors. A selector is one of
        the following.

        - The name of a registered method or search, such as ``"fisher"`` or ``"iterative"``.
        - An estimator. It is cloned and must have `ranking_`, `scores_` or `get_support` after fit.
          Large scores are good unless its `large_is_good_` is False.
        - A function of X and y that returns column positions, best first.

        Functions receive y as class codes 0, 1, … with −1 for unlabelled rows, or as floats with
        NaN. Sieves of this library accept unlabelled rows. Estimators of other libraries are fitted
        on the labelled rows, or on all rows without y if no row is labelled.
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        Features. Selectors receive an array, or a CSR array if X is sparse. The array contains all
        columns of categories and feature groups. Sieves of this library rank features. Functions
        and other estimators rank columns, and a feature is ranked by its best column.
    y : array of shape (n_samples,) or (n_samples, n_targets)
        Class labels or a continuous target. The error of several targets is the root mean square
        over them, in units of their standard deviations. Unlabelled rows are in every training set
        and are never tested.
    sizes : sequence of int
        Numbers of features. The result lists them in ascending order.
    learners : sequence or dict of str or estimator
        Names from `LEARNERS`, or scikit-learn estimators, which are used without scaling.
    known, per_class
        Number of training labels that selectors receive, as in `hide_labels`. None means all.
    folds : int, or pairs of training and test rows
        Number of folds (stratified for classes), or the row indices as returned by scikit-learn's
        splitters.
    repeats : int
        Number of repetitions of the split.
    learn_from : {"all", "known"}
        Whether learners are trained on all labelled training rows, which assesses the features
        only, or on the rows with labels that the selector received.
    baselines : sequence of {"random", "all"}
        Baselines: columns in random order, drawn again in every fold, and all columns.
    supervision : Supervision, optional
        Supervision for the selectors, instead of labels from `y`. Selectors receive the part that
        belongs to the training rows. Functions receive it as their second argument. Methods that
        use no supervision, such as ``"variance"``, do not receive it.
    groups : array of shape (n_samples,), optional
        Samples that are not independent, such as the subject of each measurement. The samples of a
        group are all in the training set or all in the test set. With None, only copies of a sample
        form a group, with a warning. Folds then consist of whole groups.
    target_type, unlabeled
        Type of `y`, and the number that marks an unlabelled row, as in `GraphSieve`.
    categorical, feature_groups
        As in `GraphSieve`. The levels of a category are those of all rows. Learners receive the
        columns of the selected features, one for each level of a category. Sizes count features.
    random_state : None, int, SeedSequence, RandomState or Generator
        Seed for folds, hidden labels, random columns, and estimators with a `random_state` of None.
        With an integer s, the folds are those of scikit-learn's
        ``RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=s)``
        (``RepeatedKFold`` for targets), and the labels that a selector receives in a fold are
        ``hide_labels(y[train], known, random_state=[s, repeat, fold])``.
    n_jobs : int or None
        Number of processes. The result does not depend on it.
    progress : bool or None
        Whether to report progress on the error stream. None reports it if the stream is a terminal.

    Returns
    -------
    Evaluation
        Accuracies for classes. For targets, root mean squared errors, also relative to the error of
        predicting the mean of the training targets.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> result = evaluate(["fisher", "laplacian"], X, y, sizes=[2, 4], learners="1nn", known=9)
    >>> result.values("fisher").shape  # sizes × folds
    (2, 5)
    """
    table, features = read_table(X, y, categorical=categorical, feature_groups=feature_groups)
    n_features = table.shape[1] if features is None else len(features)
    joined = with_groups(supervision, groups, X)
    values = read_y(y, table.shape[0], target_type, unlabeled)
    classes = values.dtype.kind == "i"
    numbers = checked_sizes(sizes, n_features, distinct=True)
    models = _named_learners(learners, classes=classes)
    candidates = named_selectors(selectors, baselines)
    known = checked_knowledge(known, per_class, supervision, values)
    from_known = choice(("all", "known"))("learn_from", learn_from) == "known"
    if from_known and (known == 0 or supervision is not None):
        raise InputError(
            setting("learn_from", "known"),
            " needs known labels of y; raise known, or leave supervision out.",
        )
    seed = seed_number(random_state)
    of_user, together = _groups_of(table, joined)
    splits = make_splits(
        folds, values, repeats=repeats, seed=seed, groups=together, may_divide=not of_user
    )
    task = Task(
        table,
        features,
        values,
        numbers,
        models,
        known,
        per_class,
        from_known,
        supervision,
        seed,
        together,
    )
    units = [
        (task, split, name, selector) for split in splits for name, selector in candidates.items()
    ]
    title = f"evaluating {len(candidates)} selectors"
    outcomes: list[Outcome] = in_parallel(
        _run_alone, units, title=title, n_jobs=n_jobs, progress=progress
    )
    give((source, warned) for outcome in outcomes for source, warned in outcome.warned)
    return Evaluation(
        task="classification" if classes else "regression",
        selectors=tuple(candidates),
        learners=tuple(models),
        metrics=METRICS_OF[classes],
        sizes=tuple(numbers),
        n_samples=table.shape[0],
        n_features=n_features,
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
    """Arguments that all folds and selectors share."""

    X: Any
    features: Features | None
    y: NDArray[Any]
    sizes: list[int]
    learners: dict[str, Any]
    known: int | float | None
    per_class: bool
    learn_from_known: bool
    supervision: Supervision | None
    seed: int
    groups: Integers | None

    @property
    def classes(self) -> bool:
        return self.y.dtype.kind == "i"


@dataclass(frozen=True)
class Outcome:
    """Result of one selector in one fold."""

    measurements: tuple[Measurement, ...]
    selection: Selection | None
    warned: tuple[tuple[str, tuple[Warned, ...]], ...]


def _run_alone(task: Task, split: Split, name: str, selector: Any) -> Outcome:
    with one_thread():
        return _run_unit(task, split, name, selector)


def _run_unit(task: Task, split: Split, name: str, selector: Any) -> Outcome:
    """Run one selector in one fold."""
    at = [task.seed, split.repeat, split.fold]
    # The selector must not see test rows or hidden labels.
    y_known = partly_known(
        task.y[split.train], 0 if task.supervision is not None else task.known, task.per_class, at
    )
    selected = select(
        name,
        selector,
        # A copy, so that a selector that modifies its input does not affect the learner.
        task.X[split.train],
        y_known.copy(),
        supervision=None if task.supervision is None else task.supervision[split.train],
        sizes=task.sizes,
        random_state=at,
        where=split.where,
        groups=None if task.groups is None else task.groups[split.train],
        features=task.features,
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
    sizes = [len(selected.order)] if name == "all" else task.sizes
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
                prefix_score(
                    selected.order[:size],
                    train,
                    test,
                    model,
                    classes=task.classes,
                    of=task.features,
                )
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
    """Return the record of a selection, or None for the baseline of all columns."""
    if name == "all":
        return None
    return Selection(
        name, repeat, fold, tuple(selected.order[: max(sizes)].tolist()), selected.seconds
    )


def _divisors(y_train: NDArray[Any], y_test: NDArray[Any], classes: bool) -> dict[str, float]:
    """Return the divisor of the score for each metric."""
    if classes:
        return {"accuracy": 1.0}
    of_the_mean = root_mean_square(y_test - y_train.mean(axis=0))
    return {"rmse": 1.0, "relative_rmse": of_the_mean if of_the_mean > 0 else np.nan}


def _by_columns(part: tuple[Any, NDArray[Any]]) -> tuple[Any, NDArray[Any]]:
    """Convert sparse rows to CSC, from which columns are taken quickly."""
    return (sp.csc_array(part[0]), part[1]) if sp.issparse(part[0]) else part


def _groups_of(X: Any, supervision: Supervision | None) -> tuple[bool, Integers | None]:
    """Return whether groups are given, and these groups, those of copies, or None."""
    given = Supervision.nothing(X.shape[0]) if supervision is None else supervision
    table = MemoryTable.of_values(X)
    check_length(given, table)
    return given.groups is not None, with_copies(table, given).groups


def _named_learners(learners: Any, *, classes: bool) -> dict[str, Any]:
    models = named(learners, "learners", learner_name)
    if not models:
        raise InputError(parameter("learners", learners), " is empty; pass at least one.")
    for learner in models.values():
        check_learner(learner, classes=classes)
    return models


def read_table(X: Any, y: Any, **reading: Any) -> tuple[Any, Features | None]:
    """Return X in the form that selectors receive: an array of floats, or a CSR array.

    The second value gives the columns of each feature, or is None if every column is a feature.
    """
    table = read_moderate(X, y, **reading)
    matrix = table.with_nan
    if sp.issparse(matrix):
        return sp.csr_array(matrix), table.features
    return matrix if matrix.dtype.kind == "f" else matrix.astype(np.float64), table.features


def read_y(y: Any, n_samples: int, target_type: TargetType, unlabeled: int | None) -> NDArray[Any]:
    """Return class codes (−1 where unlabelled) or targets (NaN where unlabelled).

    Several targets are divided by their standard deviations.

    Raises `InputError` if all values are equal, or if every sample has a different class.
    """
    described = Supervision.from_y(y, target_type=target_type, unlabeled=unlabeled)
    if len(described) != n_samples:
        raise InputError(
            parameter("X"),
            f" has {n_samples} samples, but y has {len(described)} values; they must be the "
            "same samples.",
        )
    values = codes_or_targets(described)
    different = len(np.unique(values[known_rows(values)]))
    if different < 2:
        what = "different classes" if described.targets is None else "different target values"
        raise InputError(parameter("y"), f" must hold at least 2 {what}, got {different}.")
    if described.targets is None and different == np.count_nonzero(known_rows(values)):
        raise InputError(
            parameter("y"),
            f" has a different class for each of {different} samples; pass classes that "
            "several samples share.",
        )
    return values


def checked_knowledge(known: Any, per_class: Any, supervision: Any, y: NDArray[Any]) -> Any:
    """Return `known` after checking that the arguments are compatible."""
    if boolean()("per_class", per_class) and y.dtype.kind == "f":
        raise InputError(
            setting("per_class", True),
            " needs class labels, but y is a continuous target; leave it out.",
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
            f" has {len(y)} samples, but supervision describes {len(supervision)}; they "
            "must be the same samples.",
        )
    if known is not None or per_class:
        raise InputError(
            parameter("known"),
            " and ",
            parameter("per_class"),
            " apply to y, but supervision is used instead of y; leave them out.",
        )
    return known


def partly_known(
    y: NDArray[Any], known: Any, per_class: bool, random_state: Sequence[int]
) -> NDArray[Any]:
    """Return class codes or targets with some values hidden, as in `hide_labels`."""
    rows = known_rows(y)
    if y.ndim == 2 and known is None:
        return y  # with the targets of samples where some are unknown
    if y.dtype.kind == "f":
        described = Supervision(len(y), targets=y.copy())
    else:
        labels = np.full(len(y), -1, dtype=np.int64)
        names, labels[rows] = np.unique(y[rows], return_inverse=True)
        described = Supervision(len(y), labels=labels, classes=names)
    shown = shown_rows(described, known, per_class=per_class, random=generator(random_state))
    return np.where(
        shown if y.ndim == 1 else shown[:, None], y, -1 if y.dtype.kind == "i" else np.nan
    )


def knowledge_text(
    known: Any, per_class: bool, supervision: Supervision | None, classes: bool
) -> str:
    """Describe the supervision that selectors receive, such as "10 labels" or "all targets"."""
    what = "labels" if classes else "targets"
    if supervision is not None:
        return f"taken from {supervision!r}"
    if known is None:
        return f"all {what}"
    if known == 0:
        return "none"
    amount = (
        f"{100 * float(known):g} % of the {what}"
        if not isinstance(known, Integral)
        else f"{known} {what}"
    )
    return f"{amount}{' per class' if per_class else ''}"

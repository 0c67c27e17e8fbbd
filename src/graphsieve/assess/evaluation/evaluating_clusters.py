"""Evaluation of selectors by clustering: how well clusters in the selected features match the
classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsieve._base.array_types import Integers
from graphsieve._base.parallel import in_parallel
from graphsieve._base.parameters import boolean, count
from graphsieve._base.randomness import seed_number
from graphsieve._base.threads import one_thread
from graphsieve._base.underflow import ignoring_underflow
from graphsieve.assess.evaluation.clustering import clustered
from graphsieve.assess.evaluation.evaluating import (
    checked_knowledge,
    knowledge_text,
    partly_known,
    read_table,
    read_y,
    selection_of,
)
from graphsieve.assess.evaluation.gathering import give
from graphsieve.assess.evaluation.prefixes import checked_sizes
from graphsieve.assess.evaluation.results import Evaluation, Measurement
from graphsieve.assess.evaluation.selection import Baseline, Selected, named_selectors, select
from graphsieve.supervision.value import Supervision
from graphsieve.table.features import Features

LEARNER = "kmeans"
METRICS = ("accuracy", "nmi")


@ignoring_underflow
def evaluate_clustering(
    selectors: Any,
    X: Any,
    y: Any,
    *,
    sizes: Sequence[int],
    known: int | float | None = 0,
    per_class: bool = False,
    repeats: int = 10,
    n_clusters: int | None = None,
    n_init: int = 10,
    standardize: bool = False,
    baselines: Sequence[str] = ("random", "all"),
    supervision: Supervision | None = None,
    unlabeled: int | None = -1,
    categorical: Any = "auto",
    feature_groups: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Evaluation:
    """Compare selectors by the clusters that k-means finds in their first features.

    As is usual for clustering, no rows are held out. The selector sees all rows, k-means clusters
    all rows, and the clusters are compared with all known classes. K-means never sees a label. Each
    repeat hides other labels and starts k-means from other centres. If all repeats have the same
    supervision (none, all labels, or `supervision`), a selector runs only once. The standard errors
    then reflect only the starts of k-means and the random columns, not the sampling of the data.

    Parameters
    ----------
    selectors, X, sizes, baselines, supervision, categorical, feature_groups, n_jobs, progress
        As in `evaluate`.
    y : array of shape (n_samples,)
        Class labels. Unlabelled rows are clustered, but left out of the comparison.
    known, per_class
        Number of labels that selectors receive, as in `hide_labels`. The default is none.
    repeats : int
        Number of repeats, each with other hidden labels and other starts of k-means.
    n_clusters : int or None
        Number of clusters. None means the number of classes.
    n_init : int
        Number of starts of k-means. The result with the smallest inertia is used.
    standardize : bool
        Whether to scale features to standard deviation 1. A category or feature group then has the
        same weight as a single column.
    unlabeled : int or None
        Number that marks an unlabelled row.
    random_state : None, int, SeedSequence, RandomState or Generator
        Seed. With an integer s, the labels that a selector receives in a repeat are
        ``hide_labels(y, known, random_state=[s, repeat, 0])``.

    Returns
    -------
    Evaluation
        Result for the learner ``"kmeans"``, with the metrics ``"accuracy"`` (see
        `clustering_accuracy`) and ``"nmi"``.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> result = evaluate_clustering("laplacian", X, y, sizes=[2, 4], repeats=3, standardize=True)
    >>> result.values("laplacian", metric="nmi").shape  # sizes × repeats
    (2, 3)
    """
    table, features = read_table(X, y, categorical=categorical, feature_groups=feature_groups)
    n_features = table.shape[1] if features is None else len(features)
    codes = read_y(y, table.shape[0], "classes", unlabeled)
    numbers = checked_sizes(sizes, n_features, distinct=True)
    candidates = named_selectors(selectors, baselines)
    known = checked_knowledge(
        None if supervision is not None and known == 0 else known, per_class, supervision, codes
    )
    repeats = count(1)("repeats", repeats)
    n_classes = len(np.unique(codes[codes >= 0]))
    means = {
        "n_clusters": n_classes
        if n_clusters is None
        else count(1, table.shape[0])("n_clusters", n_clusters),
        "n_init": count(1)("n_init", n_init),
        "standardize": boolean()("standardize", standardize),
    }
    task = _Task(
        table,
        features,
        codes,
        numbers,
        known,
        per_class,
        supervision,
        means,
        seed_number(random_state),
    )
    # If all repeats have the same supervision, one selection is sufficient.
    distinct = 1 if supervision is not None or known is None or known == 0 else repeats
    asked = [
        (task, repeat, name, selector)
        for name, selector in candidates.items()
        for repeat in range(repeats if isinstance(selector, Baseline) else distinct)
    ]
    selected: list[Selected] = in_parallel(
        _select, asked, title="selecting", n_jobs=n_jobs, progress=progress
    )
    by_name = {
        (name, repeat): found for (_, repeat, name, _), found in zip(asked, selected, strict=True)
    }
    units = [
        (task, repeat, name, by_name.get((name, repeat)) or by_name[name, 0])
        for repeat in range(repeats)
        for name in candidates
    ]
    measured = in_parallel(_measured, units, title="clustering", n_jobs=n_jobs, progress=progress)
    give((f"selector {name!r}", found.warned) for (name, _), found in by_name.items())
    selections = [selection_of(name, found, repeat, 0, numbers) for _, repeat, name, found in units]
    return Evaluation(
        task="clustering",
        selectors=tuple(candidates),
        learners=(LEARNER,),
        metrics=METRICS,
        sizes=tuple(numbers),
        n_samples=table.shape[0],
        n_features=n_features,
        folds=1,
        repeats=repeats,
        test_ratio=0.0,
        knowledge=knowledge_text(known, per_class, supervision, classes=True),
        measurements=tuple(one for several in measured for one in several),
        selections=tuple(one for one in selections if one is not None),
    )


@dataclass(frozen=True, eq=False)
class _Task:
    """Arguments that all repeats and selectors share."""

    X: Any
    features: Features | None
    codes: Integers
    sizes: list[int]
    known: int | float | None
    per_class: bool
    supervision: Supervision | None
    means: dict[str, Any]
    seed: int


def _select(task: _Task, repeat: int, name: str, selector: Any) -> Selected:
    with one_thread():
        return select(
            name,
            selector,
            task.X.copy(),
            partly_known(
                task.codes,
                0 if task.supervision is not None else task.known,
                task.per_class,
                [task.seed, repeat, 0],
            ),
            supervision=task.supervision,
            sizes=task.sizes,
            random_state=[task.seed, repeat, 0],
            where=f"repeat {repeat}",
            features=task.features,
        )


def _measured(task: _Task, repeat: int, name: str, selected: Selected) -> list[Measurement]:
    X = sp.csc_array(task.X) if sp.issparse(task.X) else task.X
    seed = seed_number([task.seed, repeat, 0, 3])
    measurements = []
    for size in [len(selected.order)] if name == "all" else task.sizes:
        found = clustered(
            X, selected.order[:size], task.codes, of=task.features, seed=seed, **task.means
        )
        measurements += [
            Measurement(name, LEARNER, metric, size, repeat, 0, value, selected.seconds)
            for metric, value in zip(METRICS, found, strict=True)
        ]
    return measurements

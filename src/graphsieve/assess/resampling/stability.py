"""Repeat a selection on random subsets of the samples."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import clone

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.errors import InputError, Warned
from graphsieve._base.messages import keyword, parameter, phrase
from graphsieve._base.parallel import in_parallel
from graphsieve._base.parameters import (
    boolean,
    choice,
    count,
    either,
    must_be,
    positive,
    quoted,
    setting,
)
from graphsieve._base.randomness import generator, seed_number
from graphsieve._base.threads import one_thread
from graphsieve._base.underflow import ignoring_underflow
from graphsieve.assess.evaluation.gathering import gathered, give, noted
from graphsieve.assess.evaluation.prefixes import checked_order
from graphsieve.assess.evaluation.selection import (
    fitted,
    in_order,
    named_selectors,
    ranked,
    seeded,
    sieve_called,
)
from graphsieve.assess.resampling.drawing import drawn_groups, partly_hidden
from graphsieve.assess.resampling.duplicates import groups_of
from graphsieve.assess.resampling.measures import agreement, share_interval
from graphsieve.assess.resampling.results import RANKS_WITHIN, Stability, most_frequent_first
from graphsieve.select.preparation import joined_supervision, wanted_features, with_copies
from graphsieve.select.sieve import Sieve
from graphsieve.supervision.value import Supervision, TargetType, with_groups
from graphsieve.table.any_table import table_in_memory
from graphsieve.table.features import Features

MOST_RESAMPLES = 10**6
FEWEST_GROUPS = 3  # Two of two groups would be all samples, in every resample.


@ignoring_underflow
def stability(
    selector: Any,
    X: Any,
    y: Any = None,
    *,
    supervision: Supervision | None = None,
    groups: Any = None,
    n_features_to_select: int | float | str | None = None,
    n_resamples: int = 50,
    fraction: float = 0.5,
    hide: float | None = None,
    target_type: TargetType = "auto",
    unlabeled: int | None = -1,
    categorical: Any = "auto",
    feature_groups: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Stability:
    """Measure how much a selection depends on the samples and labels, by resampling.

    Every resample is drawn without replacement. It contains the same share of every class and of
    the unlabelled samples, and at least one labelled sample of every class. The selector sees only
    the resample.

    Parameters
    ----------
    selector : str, estimator or function
        A registered method or search such as ``"auto"``, ``"fisher"`` or ``"iterative"``; an
        estimator, which is cloned and must have `ranking_`, `scores_` or `get_support` after fit;
        or a function of X and y that returns column positions, best first. Their arguments are as
        in `graphsieve.evaluate`.
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        Features.
    y : array of shape (n_samples,) or (n_samples, n_targets), optional
        Class labels (−1, None or NaN where unlabelled) or a continuous target (NaN where
        unlabelled).
    supervision : Supervision, optional
        Further supervision, combined with `y` as in `GraphSieve.fit`. A resample keeps the pairs of
        which it contains both samples.
    groups : array of shape (n_samples,), optional
        Samples that are not independent, such as the subject of each measurement. A resample
        contains all samples of a group or none of them. With None, only copies of a sample form a
        group, with a warning.
    n_features_to_select : int, float, "auto" or None
        Number (or fraction) of features to select. ``"auto"`` requires a selector that determines
        the number itself. None leaves the number to the selector, and it may then differ between
        resamples. If the selector has a parameter of this name, the parameter is set. Otherwise the
        best features of its order are taken.
    n_resamples : int
        Number of resamples.
    fraction : float
        Share of the samples in a resample. The number of samples is rounded down and at least 2.
    hide : float, optional
        Share of the known labels or targets to hide, drawn again for every resample. None hides
        nothing.
    target_type, unlabeled
        Type of `y`, and the number that marks an unlabelled sample, as in `GraphSieve`. For a
        sieve, ``"auto"`` means the `target_type` of the sieve.
    categorical, feature_groups
        As in `graphsieve.evaluate`.
    random_state : None, int, SeedSequence, RandomState or Generator
        Seed for the rows, the hidden labels, and estimators with a `random_state` of None.
    n_jobs : int or None
        Number of processes. The result does not depend on it.
    progress : bool or None
        Whether to report progress on the error stream. None reports it if the stream is a terminal.

    Returns
    -------
    Stability

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> found = stability("fisher", X, y, n_features_to_select=2, n_resamples=20)
    >>> found.index  # always the same two
    1.0
    >>> [name for name, stable in zip(found.names, found.stable(0.9)) if stable]
    ['petal length (cm)', 'petal width (cm)']
    """
    table = table_in_memory(
        X, y, categorical=categorical, feature_groups=feature_groups, missing="use"
    )
    names = table.feature_names or tuple(f"x{j}" for j in range(table.n_features))
    called, one = _one_selector(selector)
    reading = {
        "method": "auto",
        "target_type": _target_type(target_type, one),
        "unlabeled": unlabeled,
    }
    known = joined_supervision(table, y, with_groups(supervision, groups, X), reading)
    known = with_copies(table, known)
    n_resamples = count(2, sensible=MOST_RESAMPLES)("n_resamples", n_resamples)
    fraction, hide = _checked_shares(fraction, hide, known)
    # The small addend prevents rounding errors: 0.29 of 100 samples are 29, not 28.
    n_drawn = max(2, floor(fraction * known.n_independent + 1e-9))
    if known.groups is not None and known.n_independent < FEWEST_GROUPS:
        raise InputError(
            f"resamples need at least {FEWEST_GROUPS} groups or different samples, but there "
            f"{'is' if known.n_independent == 1 else 'are'} {known.n_independent}; if all samples "
            "are independent, ",
            phrase("pass groups with a different entry for each sample"),
            ".",
        )
    n_rows = n_drawn if known.n_independent == len(known) else round(fraction * len(known))
    progress = either(None, boolean())("progress", progress)
    matrix = sp.csr_array(table.with_nan) if table.is_sparse else table.with_nan
    seed = seed_number(random_state)
    task = Task(
        matrix,
        table.features,
        known,
        supervision is None,
        called,
        one,
        n_features_to_select,
        n_drawn,
        hide,
        seed,
        n_resamples,
    )
    units = [(task, place) for place in (None, *range(n_resamples))]
    title = f"stability of {called!r}"
    full, *parts = in_parallel(_run_alone, units, title=title, n_jobs=n_jobs, progress=progress)
    give((f"selector {called!r}", outcome.warned) for outcome in (full, *parts))
    chosen: Booleans = np.array([part.chosen for part in parts])
    places: Floats = np.array([part.places for part in parts])
    ever = np.asarray(chosen.any(axis=0))
    low, high = share_interval(chosen.sum(axis=0), n_resamples)
    ranks = np.quantile(
        places, (RANKS_WITHIN[0], 0.5, RANKS_WITHIN[1]), axis=0, method="inverted_cdf"
    )
    order = most_frequent_first(chosen.mean(axis=0), ranks[1])
    return Stability(
        names=names,
        frequency=chosen.mean(axis=0),
        frequency_low=low,
        frequency_high=high,
        rank_low=ranks[0],
        rank_median=ranks[1],
        rank_high=ranks[2],
        selected=full.chosen,
        agreement=agreement(chosen),
        groups=groups_of(table.complete(), names, chosen, order[ever[order]]),
        chosen=chosen,
        selector=called,
        n_samples=table.n_samples,
        n_rows=n_rows,
        hide=hide,
    )


def _one_selector(selector: Any) -> tuple[str, Any]:
    found = named_selectors(selector, ())
    if len(found) > 1:
        raise InputError(
            parameter("selector", selector),
            f" must be one selector, got {len(found)}: {quoted(list(found))}; pass them one "
            "at a time.",
        )
    return next(iter(found.items()))


def _target_type(asked: Any, selector: Any) -> Any:
    """Return the requested type of y. For a sieve, "auto" is replaced by its own `target_type`.

    The type cannot be inferred reliably from a resample of y.
    """
    kind = choice(("auto", "classes", "continuous"))("target_type", asked)
    return (
        getattr(selector, "target_type", kind)
        if kind == "auto" and isinstance(selector, Sieve)
        else kind
    )


def _checked_shares(fraction: Any, hide: Any, known: Supervision) -> tuple[float, float | None]:
    """Return the share of samples to draw and the share of labels to hide.

    At least one of them must make the resamples differ.
    """
    fraction = positive(1)("fraction", fraction)
    if hide is None:
        if fraction == 1:
            raise InputError(
                setting("fraction", 1),
                " draws all samples every time; reduce it, or hide some labels with ",
                keyword("hide"),
                ".",
            )
        return fraction, None
    if not isinstance(hide, float) or not 0 < hide < 1:
        raise InputError(
            must_be("hide", "None or a fraction above 0 and below 1 of the known labels", hide)
        )
    if not {"labels", "targets"} & set(known.kinds):
        raise InputError(
            setting("hide", hide),
            " needs known labels or targets to hide, but there are none; leave it out.",
        )
    return fraction, hide


@dataclass(frozen=True, eq=False)
class Task:
    """Arguments that all resamples share.

    `from_y` is True if all supervision was passed as y. `n_drawn` is the number of groups in a
    resample, or of samples if there are no groups.
    """

    X: Any
    features: Features | None
    known: Supervision
    from_y: bool
    name: str
    selector: Any
    n_features_to_select: Any
    n_drawn: int
    hide: float | None
    seed: int
    n_resamples: int


@dataclass(frozen=True, eq=False)
class Outcome:
    """Result of one selection: mask of the selected features, their ranks, and warnings.

    Ties share their mean rank.
    """

    chosen: Booleans
    places: Floats
    warned: tuple[Warned, ...]


def _run_alone(task: Task, place: int | None) -> Outcome:
    with one_thread():
        return _run(task, place)


def _run(task: Task, place: int | None) -> Outcome:
    """Run the selector on one resample, or on all samples if `place` is None."""
    where = "all samples" if place is None else f"resample {place + 1} of {task.n_resamples}"
    with gathered() as warned, noted(f"selector {task.name!r}, {where}"):
        X, known = (task.X, task.known) if place is None else _resample(task, place)
        y: NDArray[Any] = known.codes if known.targets is None else known.targets
        # Copies, so that a selector that modifies its input does not affect later runs.
        chosen, places = _selected(
            task,
            X.copy(),
            y.copy(),
            None if task.from_y else known,
            groups=known.groups,
            random_state=[task.seed, task.n_resamples if place is None else place, 2],
        )
    return Outcome(chosen, places, tuple(warned))


def _resample(task: Task, place: int) -> tuple[Any, Supervision]:
    rows = drawn_groups(task.known, task.n_drawn, generator([task.seed, place, 0]))
    known = task.known[rows]
    return task.X[rows], known if task.hide is None else partly_hidden(
        known, task.hide, generator([task.seed, place, 1])
    )


def _selected(
    task: Task,
    X: Any,
    y: NDArray[Any],
    supervision: Supervision | None,
    *,
    groups: Integers | None,
    random_state: list[int],
) -> tuple[Booleans, Floats]:
    n_features = X.shape[1] if task.features is None else len(task.features)
    asked = task.n_features_to_select
    if not isinstance(task.selector, str) and not hasattr(task.selector, "fit"):
        wanted = _wanted(asked, n_features, task.name)
        columns = checked_order(
            task.selector(X, y if supervision is None else supervision),
            X.shape[1],
            wanted,
            "the order",
        )
        order = checked_order(in_order(columns, task.features), n_features, wanted, "the order")
        named = np.full(n_features, len(order))
        named[order] = np.arange(len(order))
        return named < wanted, rankdata(named)
    model = _model(task.selector, asked, random_state)
    model, n_inputs, features = fitted(
        model, X, y, supervision, groups=groups, features=task.features
    )
    its_own = asked is None or "n_features_to_select" in model.get_params(deep=False)
    if its_own and hasattr(model, "get_support"):
        chosen = np.asarray(model.get_support(), dtype=bool)
        if features is not None:  # A feature is selected if one of its columns is.
            chosen = features.sums(chosen) > 0
        order = ranked(model, n_inputs, features, (), task.name)
        return chosen, _places(model, order, features)
    wanted = _wanted(asked, n_features, task.name)
    order = ranked(model, n_inputs, features, (wanted,), task.name)
    return np.isin(np.arange(n_features), order[:wanted]), _places(model, order, features)


def _model(selector: Any, asked: Any, random_state: list[int]) -> Any:
    """Return an unfitted estimator, with the number of features set if it has this parameter."""
    if isinstance(selector, str):
        model = sieve_called(selector)
    else:
        model = seeded(clone(selector), random_state)
    if asked is not None and "n_features_to_select" in model.get_params(deep=False):
        model.set_params(n_features_to_select=asked)
    return model


def _places(model: Any, order: Integers, features: Features | None) -> Floats:
    """Return the rank of each feature, from 1. Ties share their mean rank.

    If the model has ranked the columns of `features`, the best column of a feature counts.
    """
    if not hasattr(model, "ranking_") and hasattr(model, "scores_"):
        return np.asarray(np.argsort(order) + 1.0)
    ranks = (
        np.asarray(model.ranking_)
        if hasattr(model, "ranking_")
        else 1 - np.asarray(model.get_support(), dtype=np.int64)
    )
    if features is not None:
        ranks = np.minimum.reduceat(ranks, features.starts[:-1])
    return np.asarray(rankdata(ranks))


def _wanted(asked: Any, n_features: int, name: str) -> int:
    if asked is None:
        raise InputError(
            f"selector {name!r} does not determine the number of features; pass ",
            parameter("n_features_to_select"),
            ".",
        )
    return wanted_features(asked, n_features)

"""Comparison of methods: rankings of the whole table, and cross-validation on the same folds if
there are labels or targets to predict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import kendalltau, rankdata

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError, InputTypeError, Warned, warn
from graphsieve._base.messages import Message, keyword, parameter
from graphsieve._base.parallel import in_parallel
from graphsieve._base.parameters import count, either, is_collection
from graphsieve._base.randomness import generator, seed_number
from graphsieve._base.threads import one_thread
from graphsieve._base.underflow import ignoring_underflow
from graphsieve.assess.comparison.candidates import Size, named_methods, part_for, usual_methods
from graphsieve.assess.comparison.choices import (
    chosen_sizes,
    free_features,
    notes_on_choice,
    overlap_by_chance,
    ranks_with_choice,
    refuse_unused,
    sieve_choosing,
)
from graphsieve.assess.comparison.results import Comparison
from graphsieve.assess.evaluation.evaluating import evaluate
from graphsieve.assess.evaluation.gathering import gathered, noted
from graphsieve.assess.evaluation.prefixes import known_rows
from graphsieve.assess.evaluation.results import Evaluation
from graphsieve.assess.evaluation.selection import BASELINES, Baseline
from graphsieve.report.wording import joined
from graphsieve.search.diverse import NO_CHOICE, Choice
from graphsieve.select.graph_sieve import GraphSieve
from graphsieve.select.preparation import read_choice, with_copies
from graphsieve.select.ranking import names_of
from graphsieve.select.sieve import Sieve
from graphsieve.supervision.value import Supervision, TargetType, with_groups
from graphsieve.table.any_table import table_in_memory
from graphsieve.table.columns import Table

FEWEST_TARGETS = 10  # smallest number of known targets for which curves are computed
USUAL_FOLDS = 5
FEWER_FOLDS = 3  # on large tables, and for small classes
RANDOM_ORDERS = 5  # random orders per fold; the baseline is their mean
LARGE_TABLE = 1_000_000  # elements; tables of this size or larger have fewer folds


@ignoring_underflow
def compare(
    X: Any,
    y: Any = None,
    *,
    supervision: Supervision | None = None,
    groups: Any = None,
    methods: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    sizes: Sequence[int] | None = None,
    learners: Any = ("1nn", "linear"),
    folds: Any = None,
    repeats: int = 1,
    target_type: TargetType = "auto",
    unlabeled: int | None = -1,
    categorical: Any = "auto",
    feature_groups: Any = None,
    keep: Any = None,
    candidates: Any = None,
    cost: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: bool | None = None,
    max_rows: int | None = 5_000,
) -> Comparison:
    """Compare several methods by the agreement of their rankings and by the performance of learners.

    Every method ranks the whole table once. If labels or targets are known, every method also
    selects columns in the same cross-validation folds. Learners are then tested on held-out rows
    with its first columns, and with random columns and all columns as baselines.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        Features.
    y : array of shape (n_samples,) or (n_samples, n_targets), optional
        Class labels or a continuous target, possibly for some samples only. It is combined with
        `supervision`. If `supervision` contains labels or targets itself, methods receive only
        those, and `y` is only used to test learners.
    supervision : Supervision, optional
        Further supervision. Each method receives the kinds that it can use.
    groups : array of shape (n_samples,), optional
        Samples that are not independent, as in `evaluate`.
    methods : sequence of str, optional
        ``"auto"`` or names from `graphsieve.scores.METHODS` and `graphsieve.search.SEARCHES`. None
        means the default search, the published method for the supervision, and classical methods,
        except for those that would take too long.
    feature_names : sequence of str, optional
        Names of the columns, if X is not a data frame.
    sizes : sequence of int, optional
        Numbers of columns. None means 1, 2, 3, 5, 10, 20, 50 and 100, up to the number of columns.
        The number of columns to keep is added to each.
    learners, repeats
        As in `evaluate`.
    folds : int or pairs of training and test rows, optional
        As in `evaluate`, but reduced if classes are too small. None means 5, or 3 on large tables.
    target_type, unlabeled
        As in `GraphSieve`.
    categorical, feature_groups, random_state, n_jobs, progress
        As in `evaluate`.
    keep, candidates
        As in `GraphSieve`. Random columns come after those to keep, and the baseline of all columns
        consists of those that may be selected. The iterative, hybrid and floating searches are
        refused.
    cost
        As in `GraphSieve`, for the methods ``"auto"`` and ``"diverse"``. The others rank columns
        one by one.
    max_rows : int or None
        Largest number of rows for the curves. Rows are drawn at random, with preference for rows
        with supervision. None means all rows. Rankings always use the whole table.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> found = compare(X, y, methods=["auto", "fisher"], sizes=[2, 4], learners="1nn")
    >>> found.best("fisher", 2)
    ['flavanoids', 'proline']
    >>> found.evaluation.selectors
    ('auto', 'fisher', 'random', 'all')
    """
    table = table_in_memory(
        X,
        y,
        categorical=categorical,
        feature_groups=feature_groups,
        names=feature_names,
        missing="use",
    )
    n_samples, n_features = table.n_samples, table.n_features
    names = names_of(None, table.feature_names, n_features)
    choice = read_choice(table, {"keep": keep, "candidates": candidates, "cost": cost}, n_features)
    numbers = chosen_sizes(sizes, choice, n_features)
    known, judge = _knowledge(
        y, with_groups(supervision, groups, X), n_samples, target_type, unlabeled
    )
    known = with_copies(table, known)
    judge = None if judge is None else replace(judge, groups=known.groups)
    seed = seed_number(random_state)
    rows = _rows_tested(known, judge, either(None, count(2))("max_rows", max_rows), folds, seed)
    plan = _plan(
        None if judge is None else judge[rows], folds, count(1)("repeats", repeats), n_features
    )
    notes = list(plan.notes)
    if plan.folds is not None and len(rows) < n_samples:
        notes.append(f"The curves use {len(rows)} of the {n_samples} rows, drawn at random.")
    if methods is None:
        whole, part = (Size.of(some, n_features, max(numbers)) for some in (known, known[rows]))
        chosen, left_out = usual_methods(known, whole, part, plan.n_runs)
        notes += left_out
    else:
        chosen = named_methods(methods, known)
        refuse_unused(chosen, choice)
    if groups is not None and plan.folds is None and not {"auto", "diverse"} & set(chosen):
        raise InputError(
            parameter("groups"),
            " applies to folds and to the default search, but neither is used; leave it out.",
        )
    ranked, refused = _rank_all(
        chosen,
        table,
        known,
        max(numbers),
        choice=choice,
        asked=methods is not None,
        n_jobs=n_jobs,
        progress=progress,
    )
    notes += refused + notes_on_choice(tuple(ranked), choice, n_features)
    reported = _give_warnings(ranked)
    evaluation = None
    if plan.folds is not None and judge is not None:
        given, tested = (known, judge) if len(rows) == n_samples else (known[rows], judge[rows])
        evaluation, without = _evaluated_if_possible(
            tuple(ranked),
            table if len(rows) == n_samples else table.take(rows),
            None if _is_all(known, judge) else given,
            tested,
            choice=choice,
            reported=reported,
            sizes=numbers,
            learners=learners,
            folds=plan.folds,
            repeats=repeats,
            random_state=seed,
            n_jobs=n_jobs,
            progress=progress,
        )
        notes += without
    ranks = np.array([one.ranks for one in ranked.values()])
    orders = np.array([one.order for one in ranked.values()])
    return Comparison(
        methods=tuple(ranked),
        names=names,
        n_samples=n_samples,
        known=repr(known).partition(": ")[2].removesuffix(")"),
        sizes=tuple(numbers),
        orders=orders,
        ranks=ranks,
        agreement=rank_agreement(ranks[:, free_features(choice, n_features)]),
        overlap=np.array([first_overlap(orders, size) for size in numbers]),
        by_chance=tuple(overlap_by_chance(choice, n_features, size) for size in numbers),
        evaluation=evaluation,
        notes=tuple(notes),
    )


def rank_agreement(ranks: Integers) -> Floats:
    """Kendall's tau-b between all pairs of rankings, which are the rows of `ranks`.

    It is NaN if one of the two rankings ties all columns.
    """
    differ = [row.min() < row.max() for row in ranks]
    result = np.diag(np.where(differ, 1.0, np.nan))
    for one, other in combinations(range(len(ranks)), 2):
        tau = (
            kendalltau(ranks[one], ranks[other], variant="b").statistic
            if differ[one] and differ[other]
            else np.nan
        )
        result[one, other] = result[other, one] = tau
    return result


def first_overlap(orders: Integers, n: int) -> Floats:
    """Share of the first `n` columns that two orders have in common, for all pairs of orders."""
    chosen = np.zeros(orders.shape, dtype=np.int64)
    np.put_along_axis(chosen, orders[:, :n], 1, axis=1)
    return np.asarray((chosen @ chosen.T) / n)


def _knowledge(
    y: Any, supervision: Any, n_samples: int, target_type: TargetType, unlabeled: int | None
) -> tuple[Supervision, Supervision | None]:
    """Return the supervision for the methods, and the labels or targets that learners predict.

    The latter are those of `y` or, without `y`, those of `supervision`.
    """
    if isinstance(y, Supervision):
        raise InputTypeError(
            parameter("y"), " is a Supervision; pass it as ", keyword("supervision"), "."
        )
    if supervision is not None and not isinstance(supervision, Supervision):
        raise InputTypeError(
            parameter("supervision", supervision),
            f" must be a graphsieve.Supervision, got {type(supervision).__name__}.",
        )
    of_y = (
        None if y is None else Supervision.from_y(y, target_type=target_type, unlabeled=unlabeled)
    )
    for described in (of_y, supervision):
        if described is not None and len(described) != n_samples:
            raise InputError(
                parameter("X"),
                f" has {n_samples} samples, but {len(described)} are described by y, "
                "supervision or groups; they must be the same samples.",
            )
    known = Supervision.nothing(n_samples) if supervision is None else supervision
    has_labels = known.labels is not None or known.targets is not None
    if of_y is None:
        return known, known if has_labels else None
    if not of_y.kinds:
        warn("no target known: ranking is unsupervised.")
    return known if has_labels else known | of_y, of_y


@dataclass(frozen=True)
class _Plan:
    """Folds (None for no curves), number of runs per method, and notes for the user."""

    folds: Any
    n_runs: int
    notes: tuple[str, ...]


def _rows_tested(
    known: Supervision, judge: Supervision | None, most: int | None, folds: Any, seed: int
) -> Integers:
    """Return the rows for the curves: all rows, or at most `most`.

    Rows with supervision are preferred: they fill at least half of the sample, if there are enough.
    """
    n_samples = len(known)
    if judge is None or most is None or n_samples <= most or is_collection(folds):
        return np.arange(n_samples)
    supervised = known_rows(judge.codes if judge.targets is None else judge.targets)
    supervised[np.concatenate([known.must_link.ravel(), known.cannot_link.ravel()])] = True
    order = generator([seed, 4]).permutation(n_samples)
    first, rest = order[supervised[order]], order[~supervised[order]]
    n_first = min(len(first), max(most // 2, round(most * len(first) / n_samples)))
    return np.sort(np.concatenate([first[:n_first], rest[: most - n_first]]))


def _plan(judge: Supervision | None, folds: Any, repeats: int, n_features: int) -> _Plan:
    if judge is None or not judge.kinds:
        return _Plan(
            None,
            0,
            ("There are no curves because there are no labels or targets to predict.",),
        )
    if {"labels", "targets"} <= set(judge.kinds):
        raise InputError(
            "both class labels and a continuous target are known; pass only one of them, or pass "
            "the one to predict as y."
        )
    n_rows, judge = len(judge), _independent(judge)
    most, why_not = _most_folds(judge)
    if why_not is not None:
        return _Plan(None, 0, (f"There are no curves because {why_not}.",))
    if is_collection(folds):
        given = list(folds)
        return _Plan(given, len(given), ())
    large = n_rows * n_features >= LARGE_TABLE
    asked = count(2)("folds", folds) if folds is not None else FEWER_FOLDS if large else USUAL_FOLDS
    notes = (
        [f"There are {FEWER_FOLDS} folds instead of {USUAL_FOLDS} because the table is large."]
        if folds is None and large
        else []
    )
    if asked > most:
        notes.append(f"There are {most} folds instead of {asked} because {_why_fewer(judge)}.")
    used = min(asked, most)
    return _Plan(used, used * repeats, tuple(notes))


def _independent(judge: Supervision) -> Supervision:
    """Return the supervision of one labelled row of each group and class."""
    labeled = known_rows(judge.codes if judge.targets is None else judge.targets)
    return judge[judge.units(np.flatnonzero(labeled)).representatives]


def _why_fewer(judge: Supervision) -> str:
    if judge.targets is not None:
        return f"only {judge.n_labeled} {_independent_or_not(judge)}target values are known"
    smallest = int(_members(judge)[0])
    what = f"{_independent_or_not(judge)}known member{'' if smallest == 1 else 's'}"
    return f"the smallest class has {smallest} {what}"


def _independent_or_not(judge: Supervision) -> str:
    return "" if judge.groups is None else "independent "


def _members(judge: Supervision) -> Integers:
    """Sizes of the classes among the known labels, in ascending order."""
    return np.sort(np.unique(judge.codes[judge.codes >= 0], return_counts=True)[1])


def _most_folds(judge: Supervision) -> tuple[int, str | None]:
    """Return the largest sensible number of folds, or 0 and the reason."""
    if judge.targets is not None:
        values = judge.targets[known_rows(judge.targets)]
        if len(values) < FEWEST_TARGETS:
            return 0, (
                f"only {len(values)} {_independent_or_not(judge)}target values are known, but at "
                f"least {FEWEST_TARGETS} are needed"
            )
        return (
            (0, "the known target values are all equal")
            if (values.min(axis=0) == values.max(axis=0)).all()
            else (len(values) // 2, None)
        )
    members = _members(judge)
    if (members >= 2).sum() < 2:
        what = f"{_independent_or_not(judge)}known members"
        return 0, f"fewer than 2 classes have at least 2 {what}"
    # One very small class must not reduce the folds of all other classes to two.
    return max(int(members[0]), min(FEWER_FOLDS, int(members[-1]))), None


@dataclass(frozen=True)
class _Ranked:
    """Ranking by one method: order (best first), ranks (ties share the best rank), and warnings."""

    order: Integers
    ranks: Integers
    warned: tuple[Warned, ...]


def _rank_all(
    methods: Sequence[str],
    table: Table,
    known: Supervision,
    wanted: int,
    *,
    choice: Choice,
    asked: bool,
    n_jobs: int | None,
    progress: bool | None,
) -> tuple[dict[str, _Ranked], list[str]]:
    """Rank the whole table by all methods.

    Returns the rankings, and notes on the methods that could not rank this table.
    """
    units = [(name, not asked and name != "auto") for name in methods]
    rank_one = partial(_rank_one, table=table, known=known, wanted=wanted, choice=choice)
    title = f"ranking by {len(methods)} methods"
    outcomes: list[_Ranked | str] = in_parallel(
        rank_one, units, title=title, n_jobs=n_jobs, progress=progress
    )
    ranked = {
        name: one for name, one in zip(methods, outcomes, strict=True) if isinstance(one, _Ranked)
    }
    refused = [
        f"{name} was left out: {one.removesuffix('.')}."
        for name, one in zip(methods, outcomes, strict=True)
        if isinstance(one, str)
    ]
    return ranked, refused


def _rank_one(
    name: str, may_refuse: bool, *, table: Table, known: Supervision, wanted: int, choice: Choice
) -> _Ranked | str:
    try:
        with one_thread(), gathered() as warned, noted(f"method {name!r}"):
            sieve = _fitted(name, table, known, wanted, choice)
    except InputError as error:
        if not may_refuse:
            raise
        return str(error)
    order = np.argsort(sieve.ranking_, kind="stable").astype(np.int64)
    return _Ranked(order, ranks_with_choice(_tied_ranks(sieve), choice), tuple(warned))


def _fitted(name: str, X: Any, known: Supervision, wanted: int, choice: Choice) -> Any:
    names = X.feature_names if isinstance(X, Table) else None
    sieve = sieve_choosing(name, choice, names, n_features_to_select=wanted, progress=False)
    return sieve.fit(X, supervision=part_for(known, name))


def _tied_ranks(sieve: Any) -> Integers:
    """Return ranks in which equal scores share the best rank. A search has no ties."""
    if not isinstance(sieve, GraphSieve) or sieve.redundancy_ is not None:
        return np.asarray(sieve.ranking_, dtype=np.int64)
    scores = -sieve.scores_ if sieve.large_is_good_ else sieve.scores_
    scored = ~np.isnan(scores)
    result = np.full(len(scores), int(scored.sum()) + 1, dtype=np.int64)
    result[scored] = rankdata(scores[scored], method="min")
    return result


class ByPart(Sieve):
    """Sieve of a method that receives only the kinds of supervision that it can use."""

    _uses_groups = True

    def __init__(self, name: str = "auto", wanted: int = 1, choice: Choice = NO_CHOICE) -> None:
        self.name = name
        self.wanted = wanted
        self.choice = choice

    def fit(
        self, X: Any, y: Any = None, supervision: Supervision | None = None, groups: Any = None
    ) -> ByPart:
        """Rank the features."""
        known = with_groups(supervision, groups, X)
        assert known is not None
        self.ranking_ = _fitted(self.name, X, known, self.wanted, self.choice).ranking_
        return self


class RandomSieve(Sieve):
    """Sieve that ranks features at random, after those to keep and before those that are excluded.

    Different values of `draw` give different orders.
    """

    def __init__(
        self, draw: int = 0, choice: Choice = NO_CHOICE, random_state: int | None = None
    ) -> None:
        self.draw = draw
        self.choice = choice
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, supervision: Supervision | None = None) -> RandomSieve:
        """Rank the features at random."""
        n_features = X.n_features if isinstance(X, Table) else X.shape[1]
        order = generator([seed_number(self.random_state), self.draw]).permutation(n_features)
        self.ranking_ = np.argsort(self.choice.ordered(order)) + 1
        return self


def _evaluated_if_possible(
    methods: Sequence[str], *arguments: Any, **options: Any
) -> tuple[Evaluation | None, list[str]]:
    """Evaluate all methods that can select columns in every fold.

    Returns the evaluation, and notes on the other methods. A fold may lack the supervision that a
    method needs, such as a must-link pair, although the whole table has it.
    """
    notes: list[str] = []
    able = list(methods)
    while able:
        try:
            return _evaluated(able, *arguments, **options), notes
        except InputError as error:
            unable = _blamed(error, able)
            if unable is None:
                raise
            able.remove(unable)
            notes.append(
                f"{unable} has no curves because a fold has too little supervision for it: "
                f"{str(error).removesuffix('.')}."
            )
    return None, notes


def _blamed(error: InputError, methods: Sequence[str]) -> str | None:
    """Return the method that caused an error in `evaluate`, according to the note of the error."""
    notes = getattr(error, "__notes__", ())
    return next(
        (
            name
            for name in methods
            if any(note.startswith(f"(selector {name!r}, ") for note in notes)
        ),
        None,
    )


def _evaluated(
    methods: Sequence[str],
    X: Any,
    known: Supervision | None,
    judge: Supervision,
    *,
    choice: Choice,
    reported: set[str],
    sizes: list[int],
    **options: Any,
) -> Evaluation:
    """Evaluate the methods.

    `known` is None if the supervision consists of the labels or targets that learners predict.
    `reported` contains the texts of warnings that have been issued for the whole table.
    """
    selectors: dict[str, Any] = {
        name: sieve_choosing(name, choice, n_features_to_select=max(sizes))
        if known is None
        else ByPart(name, max(sizes), choice)
        for name in methods
    }
    further = {f"random {draw + 1}": RandomSieve(draw, choice) for draw in range(1, RANDOM_ORDERS)}
    baselines: Any = [Baseline(name, choice) for name in BASELINES]
    with gathered() as warned:
        result = evaluate(
            selectors | further,
            X,
            judge.codes if judge.targets is None else judge.targets,
            sizes=sizes,
            supervision=known,
            groups=judge.groups if known is None else None,
            target_type="classes" if judge.targets is None else "continuous",
            baselines=baselines,
            **options,
        )
    new = [one for one in warned if not any(text in _skeleton(one.message) for text in reported)]
    _give_fold_warnings(new, methods, judge.classes if known is None else None)
    return _with_one_random(result, tuple(further))


def _with_one_random(evaluation: Evaluation, further: Sequence[str]) -> Evaluation:
    """Replace several random orders by one selector "random" with their mean values.

    The mean reduces the influence of a lucky or unlucky random order.
    """
    draws = ("random", *further)
    values: dict[tuple[Any, ...], list[float]] = {}
    for one in evaluation.measurements:
        if one.selector in draws:
            values.setdefault(
                (one.learner, one.metric, one.n_features, one.repeat, one.fold), []
            ).append(one.value)
    measurements = tuple(
        one._replace(
            value=float(
                np.mean(values[one.learner, one.metric, one.n_features, one.repeat, one.fold])
            )
        )
        if one.selector == "random"
        else one
        for one in evaluation.measurements
        if one.selector not in further
    )
    return replace(
        evaluation,
        selectors=tuple(name for name in evaluation.selectors if name not in further),
        measurements=measurements,
        selections=tuple(one for one in evaluation.selections if one.selector not in further),
    )


def _is_all(known: Supervision, judge: Supervision) -> bool:
    """Whether the supervision consists only of the labels or targets that learners predict."""
    if set(known.kinds) - {"labels", "targets"}:
        return False
    return known.targets is judge.targets and known.labels is judge.labels


def _give_warnings(ranked: dict[str, _Ranked]) -> set[str]:
    """Issue every warning once, with the methods that issued it.

    Returns the texts of the warnings without their numbers.
    """
    sources: dict[tuple[Message, type[Warning]], list[str]] = {}
    for name, one in ranked.items():
        for message, category in dict.fromkeys(
            (warned.message, warned.category) for warned in one.warned
        ):
            sources.setdefault((message, category), []).append(name)
    for (message, category), names in sources.items():
        by = "" if len(names) == len(ranked) else f" ({', '.join(names)})"
        warn(message.without_end(), by, ".", category=category)
    return {_skeleton(message) for message, _ in sources}


def _give_fold_warnings(warned: Sequence[Warned], methods: Sequence[str], classes: Any) -> None:
    """Issue every warning from the folds once, with the methods that issued it.

    Methods in folds receive class codes. Messages show the names in `classes` instead.
    """
    sources: dict[tuple[Message, type[Warning]], list[str]] = {}
    for one in warned:
        first, *rest = one.message.parts
        name = next((name for name in methods if first == f"selector {name!r}: "), None)
        text = one.message if name is None else Message(*rest)
        if classes is not None:
            text = text.worded(
                lambda part: str(classes[int(part.value)]) if part.kind == "class label" else part
            )
        sources.setdefault((text, one.category), []).extend([] if name is None else [name])
    for (text, category), names in sources.items():
        where = f"in the folds of {joined(names)}, " if names else ""
        warn(where, text, category=category)


def _skeleton(message: str) -> str:
    """Return a message without its numbers and without text in parentheses.

    Warnings of the whole table and of its folds then compare equal.
    """
    return re.sub(r"\d+", "#", message.removesuffix(".").partition(" (")[0])

"""Zhong et al. (2008), IteraGraph_FS: the toy example, Table 2 on the available data, the ideas of
the method one by one, and Fig. 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import held_back
from graphsieve.assess.evaluation.prefixes import score_prefixes
from graphsieve.papers.estimate import Estimate, estimates, holds, series, written
from graphsieve.papers.experiment import Experiment, Part, Run
from graphsieve.papers.results import Cell, Figure, Findings, Judgement, Statement, Table, Verdict
from graphsieve.report.wording import joined
from graphsieve.scores.labels import fisher_score, sselect_score
from graphsieve.search.criteria import make_criterion
from graphsieve.search.floating import float_forward
from graphsieve.search.propagation import harmonic_labels
from graphsieve.select.graph_sieve import GraphSieve
from graphsieve.select.hybrid_sieve import HybridSieve
from graphsieve.supervision.value import Supervision
from graphsieve.table.columns import MemoryTable

# Numbers printed in the paper

SIZES = tuple(range(5, 21))  # "sizeFS from 5 to 20"
LEARNERS = ("NaiveBayes", "k-NN", "SMO")
SFFS, SSELECT, HYBRID = "SFFS", "sSelect", "IG_FS"
RIVALS = (SFFS, SSELECT)

TABLE_1 = {  # |L|, |U|, testing, features
    "Arcene": (8, 20, 72, 10000),
    "Leukemia": (8, 20, 44, 7129),
    "CNS": (8, 20, 32, 7129),
    "OrgsPeople": (12, 500, 2445, 9729),
    "OrgsPlaces": (12, 500, 2059, 9729),
    "PeoplePlaces": (12, 500, 2154, 9729),
}

TABLE_2 = {  # accuracy in %: mean and standard deviation over the 16 sizes, for each of LEARNERS
    "Arcene": {
        SFFS: ((53.9, 2.2), (51.0, 3.3), (58.8, 6.2)),
        SSELECT: ((61.5, 4.1), (50.2, 3.0), (60.1, 3.5)),
        HYBRID: ((66.4, 9.0), (66.1, 5.9), (66.6, 7.4)),
    },
    "Leukemia": {
        SFFS: ((42.4, 2.9), (25.5, 0.0), (58.9, 4.8)),
        SSELECT: ((75.0, 4.6), (25.5, 0.0), (60.6, 3.1)),
        HYBRID: ((86.0, 11.6), (81.6, 12.5), (81.6, 9.7)),
    },
    "CNS": {
        SFFS: ((63.9, 9.7), (74.2, 0.0), (56.8, 3.7)),
        SSELECT: ((63.7, 4.7), (74.2, 0.0), (57.8, 4.9)),
        HYBRID: ((73.9, 2.9), (75.1, 1.3), (70.8, 5.6)),
    },
    "OrgsPeople": {
        SFFS: ((61.7, 0.0), (61.7, 0.0), (57.9, 0.0)),
        SSELECT: ((52.4, 0.7), (52.4, 0.0), (52.4, 0.0)),
        HYBRID: ((64.0, 1.4), (62.7, 2.4), (58.6, 0.5)),
    },
    "OrgsPlaces": {
        SFFS: ((51.1, 0.1), (41.0, 0.2), (45.2, 0.0)),
        SSELECT: ((42.9, 6.4), (42.9, 6.4), (45.3, 8.3)),
        HYBRID: ((60.0, 0.7), (59.4, 0.0), (59.5, 0.1)),
    },
    "PeoplePlaces": {
        SFFS: ((38.8, 0.0), (35.8, 0.0), (36.5, 0.0)),
        SSELECT: ((51.1, 12.2), (57.1, 9.6), (51.1, 12.3)),
        HYBRID: ((61.3, 0.1), (61.7, 0.0), (61.7, 0.1)),
    },
}

CLAIMED_GAIN = 10.0  # abstract and conclusion: "at least 10 %"
CLAIMED_SPAN = 5.0  # Section 4 on Fig. 4(c): "less than 5 %"

# A, B, C, D of Section 1
TOY = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [-1, 1, 1, 1], [0, -1, 1, 1]], dtype=np.float64)
TOY_LABELS = np.array(["-", "+", None, None], dtype=object)
TOY_TRUTH = ("-", "+", "-", "-")

# Our own choices

SEED, ORACLE, RANDOM, ALL = (
    "Fisher, labels alone",
    "Fisher, true labels of U",
    "random columns",
    "all columns",
)
ROWS = (SFFS, SSELECT, HYBRID, SEED, ORACLE, RANDOM, ALL)
WORTH = 1.0  # points; smallest relevant gain if the paper prints no number
CERTAIN, SURE = 2.0, 3.0  # standard errors for one comparison, and for each of several
OVERCONFIDENT = 5.0  # points by which a confidence may exceed the share of correct labels

GENERAL_SETTINGS = (
    "The paper reports one random split, with means and standard deviations over 16 sizes. Our "
    "numbers are means over random splits of the mean over sizes.",
    "A split with labelled samples of only one class is drawn again.",
    "The paper does not name the supervised base of IG_FS. We use the Fisher score, which keeps "
    "ties, as the toy example requires. A study uses SFFS.",
    "The paper does not name the criterion of SFFS. We use the leave-one-out R² of a ridge "
    "regression of the class indicators. The set of each size is the best one found by one search "
    "up to the largest size.",
    "Features are not scaled, because the paper mentions no scaling. A study shows both readings.",
    "sSelect uses 10 neighbours, trade-off 0.1 and a bandwidth estimated from the distances. With "
    "bandwidth 1, all weights of raw intensities are negligible compared with the largest.",
    "IG_FS uses 10 iterations and s = 90 % as in the paper. Rounds end early if a set recurs, "
    "which does not change the result.",
    "The learners follow Weka's defaults: Gaussian naive Bayes, 1-NN and a linear support vector "
    "machine with C = 1. Features are scaled to [0, 1] over the labelled samples. The learners are "
    "trained on these samples only, without columns that are constant there.",
)


@dataclass(frozen=True)
class Plan:
    """How samples are divided and features are selected.

    Attributes
    ----------
    labeled, unlabeled : int
        Numbers of labelled and unlabelled samples, |L| and |U|.
    sizes : tuple of int
        Numbers of features, over which accuracies are averaged.
    test : int or None
        Number of test samples; None for all remaining samples.
    labeled_pool, unlabeled_pool : int
        Samples reserved for L and U, at least as many as are used. With equal pools, plans with
        different |L| or |U| have the same test samples.
    fewest : int
        Number of first labelled samples that must contain both classes.
    fraction, base, scale
        Parameters of the hybrid search.
    rows : tuple of str
        Names of the selections that are tried.
    """

    labeled: int
    unlabeled: int
    sizes: tuple[int, ...]
    test: int | None = None
    labeled_pool: int = 0
    unlabeled_pool: int = 0
    fewest: int = 0
    fraction: float = 0.9
    base: str = "fisher"
    scale: str | None = None
    rows: tuple[str, ...] = ROWS


@dataclass(frozen=True)
class Outcome:
    """One split: the accuracies in % of every selection, one per learner, and observations."""

    accuracy: Mapping[str, Floats]
    seen: Mapping[str, float]


@dataclass(frozen=True)
class Case:
    """A data set of Table 2: its title, its name in the library, and its settings."""

    title: str
    data: str
    settings: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return self.title.lower()


# One split


@dataclass(frozen=True)
class Shown:
    """The input of a selection: samples of L and U with their known labels (−1 elsewhere).

    The true labels are for the oracle only.
    """

    X: Floats
    codes: Integers
    truth: Integers


def outcome(X: Any, y: Integers, plan: Plan, seed: np.random.SeedSequence) -> Outcome:
    """Divide the samples, select by every method, train on L, and test on the test samples."""
    random = np.random.default_rng(seed)
    labeled, unlabeled, test = divided(y, plan, random)
    shown = _shown(X, y, labeled, unlabeled)
    # Such splits cause warnings about constant columns, few labels and capped neighbours.
    with held_back():
        sieves = [hybrid(plan, size).fit(shown.X, shown.codes) for size in plan.sizes]
        chosen = _chosen(shown, plan, sieves, random)
    train = (X[labeled], y[labeled])
    accuracy = {name: accuracies(sets, train, (X[test], y[test])) for name, sets in chosen.items()}
    return Outcome(accuracy, carried_labels(shown, sieves))


def divided(
    y: Integers, plan: Plan, random: np.random.Generator
) -> tuple[Integers, Integers, Integers]:
    """Return the rows of L, U and the test samples."""
    first = max(plan.labeled, plan.labeled_pool)
    second = first + max(plan.unlabeled, plan.unlabeled_pool)
    order = random.permutation(len(y))
    while len(np.unique(y[order[: plan.fewest or plan.labeled]])) < 2:
        order = random.permutation(len(y))
    test = order[second:] if plan.test is None else order[second : second + plan.test]
    return order[: plan.labeled], order[first : first + plan.unlabeled], test


def _shown(X: Any, y: Integers, labeled: Integers, unlabeled: Integers) -> Shown:
    rows = np.concatenate([labeled, unlabeled])
    codes = np.where(np.arange(len(rows)) < len(labeled), y[rows], -1)
    # For so few rows, a dense array is faster even if most values are zero.
    return Shown(_dense(X[rows]), codes, y[rows])


def hybrid(plan: Plan, size: int) -> HybridSieve:
    return HybridSieve(
        plan.base,
        n_features_to_select=size,
        confident_fraction=plan.fraction,
        scale=plan.scale,
        progress=False,
    )


def _chosen(
    shown: Shown, plan: Plan, sieves: Sequence[HybridSieve], random: np.random.Generator
) -> dict[str, list[Integers]]:
    """Return the columns of every requested method, one set per size."""
    n_features = shown.X.shape[1]

    def best(method: str, y: Integers, **given: Any) -> list[Integers]:
        ranking = GraphSieve(method, **given).fit(shown.X, y).ranking_
        return [np.flatnonzero(ranking <= size) for size in plan.sizes]

    ways: dict[str, Callable[[], list[Integers]]] = {
        SFFS: lambda: _floating_sets(shown, plan.sizes),
        SSELECT: lambda: best(
            "sselect", shown.codes, scale=plan.scale, n_neighbors=10, metric="euclidean"
        ),
        HYBRID: lambda: [np.flatnonzero(sieve.get_support()) for sieve in sieves],
        SEED: lambda: [sieve.path_[0].graph_features for sieve in sieves],
        ORACLE: lambda: best("fisher", shown.truth),
        RANDOM: lambda: [random.choice(n_features, size, replace=False) for size in plan.sizes],
        ALL: lambda: [np.arange(n_features)],
    }
    return {name: ways[name]() for name in plan.rows}


def _floating_sets(shown: Shown, sizes: Sequence[int]) -> list[Integers]:
    criterion = make_criterion(MemoryTable(shown.X), Supervision.from_labels(shown.codes))
    found = float_forward(criterion, max(sizes), progress=False)
    return [np.array(found.sets[size]) for size in sizes]


def _learners() -> tuple[Any, ...]:
    """Return the learners in the order of LEARNERS."""
    return GaussianNB(), KNeighborsClassifier(1), SVC(kernel="linear", C=1.0)


def accuracies(
    sets: Sequence[Integers], train: tuple[Any, Integers], test: tuple[Any, Integers]
) -> Floats:
    """Return the accuracy in % of each learner, averaged over the sets of columns."""
    values = np.empty((len(sets), len(LEARNERS)))
    for row, columns in enumerate(sets):
        known = _dense(train[0][:, columns])
        # Constant columns are useless, and naive Bayes divides by their zero variance.
        telling = known.min(axis=0) < known.max(axis=0)
        if not telling.any():
            values[row] = 100 * np.mean(test[1] == np.bincount(train[1]).argmax())
            continue
        known, unknown = known[:, telling], _dense(test[0][:, columns[telling]])
        low, span = known.min(axis=0), np.ptp(known, axis=0)
        known, unknown = (known - low) / span, (unknown - low) / span  # no effect on naive Bayes
        order = np.arange(known.shape[1])
        for place, learner in enumerate(_learners()):
            score = score_prefixes(
                order, known, train[1], unknown, test[1], sizes=[len(order)], learner=learner
            )
            values[row, place] = 100 * score[0]
    return np.asarray(values.mean(axis=0))


def _dense(X: Any) -> Floats:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def carried_labels(shown: Shown, sieves: Sequence[HybridSieve]) -> dict[str, float]:
    """Return the share of added labels that are correct, and their confidence.

    Both are means over the sizes, in %.
    """
    rounds = [sieve.path_[sieve.round_] for sieve in sieves if sieve.round_ is not None]
    unknown = shown.truth[shown.codes < 0]
    return {
        "right": _percent(
            [np.mean(joined.predicted == shown.truth[joined.confident]) for joined in rounds]
        ),
        "claimed": _percent([joined.confidence for joined in rounds]),
        "larger class": _percent([np.bincount(unknown).max() / len(unknown)]),
    }


def _percent(shares: Any) -> float:
    return 100 * float(np.mean(shares)) if len(shares) else float("nan")


def mechanism(X: Any, y: Integers, plan: Plan, seed: np.random.SeedSequence) -> dict[str, float]:
    """Analyse one split: propagated labels in two graphs, and the margins of Theorem 3.3.

    The graphs use the initial features and all columns.
    """
    labeled, unlabeled, _ = divided(y, plan, np.random.default_rng(seed))
    shown = _shown(X, y, labeled, unlabeled)
    with held_back():
        sieves = [hybrid(plan, size).fit(shown.X, shown.codes) for size in plan.sizes]
        of_seed = [_share_right(shown, sieve.path_[0].graph_features) for sieve in sieves]
        of_all = _share_right(shown, np.arange(shown.X.shape[1]))
    rounds = [sieve.path_[sieve.round_] for sieve in sieves if sieve.round_ is not None]
    margins = np.array(
        [
            margin_gain(shown.X[:, joined.graph_features], shown.codes, joined.confident)
            for joined in rounds
        ]
    )
    lost = _percent(margins < -1e-12)  # beyond rounding
    return dict(
        zip(
            SEEN_INSIDE,
            (_percent(of_seed), _percent([of_all]), float(margins.mean()), lost),
            strict=True,
        )
    )


def _share_right(shown: Shown, columns: Integers) -> float:
    unknown = shown.codes < 0
    found = harmonic_labels(shown.X[:, columns], shown.codes)[unknown].argmax(axis=1)
    return float(np.mean(found == shown.truth[unknown]))


def margin_gain(X: Floats, codes: Integers, confident: Integers) -> float:
    """Return the mean normalised margin (Eq. 9) of the confident samples minus that of all.

    The mean of all unlabelled samples is the expectation for a random draw.
    """
    unlabeled = np.flatnonzero(codes < 0)
    margin = np.full(len(codes), np.nan)
    margin[unlabeled] = normalized_margins(X[unlabeled], X[codes == 0], X[codes == 1])
    return float(margin[confident].mean() - margin[unlabeled].mean())


def normalized_margins(X: Floats, one: Floats, other: Floats) -> Floats:
    """Return the normalised margins of Eq. 9.

    A margin is the difference of the distances to the nearest labelled sample of each class,
    divided by the distance between these two. The absolute value makes it independent of the
    sample's own class.
    """
    to_one, to_other = cdist(X, one), cdist(X, other)
    nearest_one, nearest_other = one[to_one.argmin(axis=1)], other[to_other.argmin(axis=1)]
    between = np.linalg.norm(nearest_one - nearest_other, axis=1)
    return np.asarray(np.abs(to_one.min(axis=1) - to_other.min(axis=1)) / between)


# Numbers over splits


def estimate(values: Any) -> Estimate:
    """Return the estimate from one number per split. NaN is omitted."""
    numbers = np.asarray(values, dtype=np.float64)
    return Estimate.of(numbers[~np.isnan(numbers)])


def stacked(outcomes: Sequence[Outcome], name: str) -> Floats:
    """Return the accuracies of one selection: splits × learners."""
    return np.stack([one.accuracy[name] for one in outcomes])


def gains(outcomes: Sequence[Outcome], rivals: Sequence[str] = RIVALS) -> Floats:
    """Return paired differences of IG_FS and its competitors: splits × (competitors · learners)."""
    return np.concatenate(
        [stacked(outcomes, HYBRID) - stacked(outcomes, rival) for rival in rivals], axis=1
    )


def printed_gains(title: str) -> Floats:
    """Return the same differences in Table 2 of the paper: competitors · learners."""
    printed = TABLE_2[title]
    each = [
        printed[HYBRID][j][0] - printed[rival][j][0]
        for rival in RIVALS
        for j in range(len(LEARNERS))
    ]
    return np.round(each, 1)  # the printed number of decimals


# Rules


def judge_gain(differences: Floats, claimed: float) -> Verdict:
    """Return the verdict on a gain in all comparisons, in points: splits × comparisons.

    The claim fails if a comparison is lost by more than three standard errors, or if the mean over
    all comparisons is below zero by more than one. It also fails if that mean is not above zero by
    two and is more than two below the claimed gain. Otherwise it holds, because a run that is too
    small to exclude the claimed gain refutes nothing.
    """
    overall = estimate(differences.mean(axis=1))
    lost = overall.clearly_below(0, 1) or any(
        one.clearly_below(0, SURE) for one in estimates(differences)
    )
    missed = not overall.clearly_above(0, CERTAIN) and overall.clearly_below(claimed, CERTAIN)
    return Verdict.FAILS if lost or missed else Verdict.HOLDS


def judge_at_least(differences: Mapping[str, Floats], least: float) -> Verdict:
    """Return the verdict on a minimum of each gain, with one number per split.

    The claim fails if one gain is below the minimum by more than two standard errors.
    """
    return holds(all(estimate(values).may_reach(least, CERTAIN) for values in differences.values()))


def judge_never_behind(differences: Floats) -> Verdict:
    """Return the verdict on "nowhere worse": splits × levels × competitors.

    The claim fails if the method is behind a competitor by more than three standard errors at one
    level, or by more than two in the mean over levels.
    """
    at_levels = estimates(differences.reshape(len(differences), -1))
    overall = estimates(differences.mean(axis=1))
    return holds(
        all(one.may_reach(0, SURE) for one in at_levels)
        and all(one.may_reach(0, CERTAIN) for one in overall)
    )


def judge_flat(rise: Floats, others: Sequence[Floats]) -> Verdict:
    """Return the verdict on "one rise is not significant, and no other is a loss".

    The limit is two standard errors. There is one number per split.
    """
    return holds(
        not estimate(rise).clearly_above(0, CERTAIN)
        and all(estimate(other).may_reach(0, CERTAIN) for other in others)
    )


def judge_not_strict(steps: Floats) -> Verdict:
    """Return the verdict on "does not rise with every step": splits × steps.

    The claim fails if all steps are positive by more than two standard errors.
    """
    return holds(not all(step.clearly_above(0, CERTAIN) for step in estimates(steps)))


def span_of(levels: Floats) -> Estimate:
    """Return the difference between the best and the worst level: splits × levels."""
    means = levels.mean(axis=0)
    return estimate(levels[:, means.argmax()] - levels[:, means.argmin()])


def judge_spans(spans: Sequence[Estimate], limit: float) -> Verdict:
    """Return the verdict on a limit that no span exceeds by more than two standard errors."""
    return holds(not any(span.clearly_above(limit, CERTAIN) for span in spans))


def judge_confidence(right: Floats, claimed: Floats) -> Verdict:
    """Return the verdict on the confidence of added labels.

    The claim fails if they are correct less often than claimed, by more than five points and more
    than two standard errors.
    """
    excess = estimate(claimed - right)
    return holds(not (excess.mean > OVERCONFIDENT and excess.clearly_above(0, CERTAIN)))


def judge_margins(gained: Floats, lost: Floats) -> Verdict:
    """Return the verdict on Theorem 3.3.

    It holds if no selection loses margin. It holds with a correction if the mean gain exceeds two
    standard errors.
    """
    return holds(not np.any(lost > 0), corrected=estimate(gained).clearly_above(0, CERTAIN))


def is_possible(percent: float, n_samples: int) -> bool:
    """Whether a number of `n_samples` gives this percentage, rounded to one decimal."""
    return bool(np.any(np.abs(100 * np.arange(n_samples + 1) / n_samples - percent) <= 0.05 + 1e-9))


# The toy example of Section 1


def toy(run: Run) -> Findings:
    with held_back():
        by_labels = fisher_score(TOY, TOY_LABELS)
        both = [
            sselect_score(TOY, TOY_LABELS, n_neighbors=k, bandwidth=t)
            for k in (1, 2, 3)
            for t in (0.1, 1.0, 10.0)
        ]
        sieve = HybridSieve(n_features_to_select=1, scale=None, progress=False).fit(TOY, TOY_LABELS)
    supervised = np.flatnonzero(by_labels == np.nanmax(by_labels)) + 1
    together = {int(np.nanargmin(scores)) + 1 for scores in both}
    final = np.flatnonzero(sieve.get_support()) + 1
    classes = np.unique([label for label in TOY_LABELS if label is not None])
    predicted = dict(
        zip(sieve.path_[0].confident.tolist(), classes[sieve.path_[0].predicted], strict=True)
    )
    steps = {
        "supervised: A and B": (supervised.tolist(), [2, 4]),
        "semi-supervised: sSelect": (sorted(together), [2]),
        "hybrid: IG_FS": (final.tolist(), [4]),
    }
    cells = [
        Cell(step, f"feature {number}", float(number in printed), float(number in ours))
        for step, (ours, printed) in steps.items()
        for number in range(1, 5)
    ]
    right = [sample for sample, label in predicted.items() if label == TOY_TRUTH[sample]]
    shown = [f"“{label}”" for label in predicted.values()]
    exact = {step: ours == printed for step, (ours, printed) in steps.items()}
    judgements = {
        "toy-supervised": Judgement(
            holds(exact["supervised: A and B"]),
            f"The best features by the Fisher score of A and B are {joined(supervised)}, tied.",
        ),
        "toy-semi-supervised": Judgement(
            holds(exact["semi-supervised: sSelect"]),
            f"sSelect ranks feature {joined(sorted(together))} first with 1, 2 or 3 neighbours and "
            "bandwidths 0.1, 1 and 10. Features 2 and 4 fit the labels equally well. In the graph "
            "of all features, D is as close to B as to A and C, and feature 2 varies less.",
        ),
        "toy": Judgement(
            holds(exact["hybrid: IG_FS"] and len(right) == 2),
            f"The graph of features 2 and 4 gives C and D the labels {joined(shown)} "
            f"({len(right)} of 2 correct). The search ends with feature {joined(final)}. Ties at "
            "the cut must be kept, and a feature that is constant within but not between classes "
            "must score infinity.",
        ),
    }
    table = Table(
        "Figure 1", "Toy example: selected (1) or not selected (0)", "selected", tuple(cells)
    )
    return Findings((table,), (), judgements, GENERAL_SETTINGS)


# The printed numbers themselves


def _printed(run: Run) -> Findings:
    gained = {title: printed_gains(title) for title in TABLE_2}
    every = np.concatenate(list(gained.values()))
    enough = int((every >= CLAIMED_GAIN).sum())
    own_table = (
        "The paper's own table supports the claim"
        if enough == len(every)
        else "The paper's own table contradicts the claim"
    )
    relative = 100 * np.concatenate([gained[title] / _printed_means(title) for title in TABLE_2])
    impossible = impossible_cells()
    cells = [
        Cell(title, f"− {rival}, {learner}", float(gained[title][i * len(LEARNERS) + j]), None)
        for title in TABLE_2
        for i, rival in enumerate(RIVALS)
        for j, learner in enumerate(LEARNERS)
    ]
    table = Table(
        "Table 2",
        "Printed gains of IG_FS over its competitors",
        "points",
        tuple(cells),
        note="Differences of the paper's printed means.",
    )
    judgements = {
        "printed-highest": Judgement(
            holds(bool((every > 0).all())),
            f"IG_FS has the higher printed mean in {int((every > 0).sum())} of {len(every)} "
            "comparisons. Each is from one split.",
        ),
        "printed-ten-percent": Judgement(
            holds(enough == len(every)),
            f"Of {len(every)} printed differences, {enough} are at least ten points, and "
            f"{int((relative >= CLAIMED_GAIN).sum())} are at least ten per cent of the "
            f"competitor's accuracy. The smallest is {every.min():.1f} points. {own_table}.",
        ),
        "printed-possible": Judgement(
            holds(not impossible),
            "A printed standard deviation of 0.0 means the same accuracy at all sizes, which is a "
            f"share of the test samples. {_impossible_text(impossible)} For OrgsPeople and "
            "PeoplePlaces, the printed numbers of test samples equal the sizes of the whole sets, "
            "which also contain L and U.",
        ),
    }
    return Findings((table,), (), judgements)


def _printed_means(title: str) -> Floats:
    return np.array([TABLE_2[title][rival][j][0] for rival in RIVALS for j in range(len(LEARNERS))])


def impossible_cells() -> list[tuple[str, float, int]]:
    """Return printed accuracies with deviation 0.0 that no count of test samples gives.

    The items are data set, accuracy and number of test samples.
    """
    found = []
    for title, methods in TABLE_2.items():
        n_test = TABLE_1[title][2]
        constant = {
            mean for cells in methods.values() for mean, deviation in cells if deviation == 0.0
        }
        found += [
            (title, mean, n_test) for mean in sorted(constant) if not is_possible(mean, n_test)
        ]
    return found


def _impossible_text(impossible: Sequence[tuple[str, float, int]]) -> str:
    if not impossible:
        return "All such cells are possible."
    cells = "; ".join(
        f"{percent} % of {n_test} on {title}" for title, percent, n_test in impossible
    )
    return f"No number of samples gives {cells}."


# Table 2

CASES = (
    Case(
        "Arcene",
        "arcene",
        (
            "Arcene: the paper has 100 samples. Our file has all 200 public ones, and each split "
            "draws 100.",
        ),
    ),
    Case("Leukemia", "leukemia"),
    Case("CNS", "cns"),
    Case("OrgsPeople", "reuters_orgspeople"),
    Case("PeoplePlaces", "reuters_peopleplaces"),
)
TEXTS = ("OrgsPeople", "PeoplePlaces")
SPLITS = {"Arcene": (8, 40), "Leukemia": (12, 60), "CNS": (10, 40)}  # quick, full
INSIDE = "Leukemia"  # data set on which the ideas of the method are tested one by one
TEXT_SETTING = (
    "{title}: counts of {n} terms (paper: 9729), all documents except L and U tested, {unlabeled} "
    "unlabelled, {splits} splits, sizes {sizes}{reason}."
)


def _plan(case: Case, run: Run) -> tuple[Plan, int]:
    """Return the plan for one data set of Table 2, and the number of splits."""
    labeled, unlabeled, test, _ = TABLE_1[case.title]
    if case.title in TEXTS:
        # A complete graph of 500 documents takes seconds per size.
        plan = (
            Plan(labeled, 100, (5, 20)) if run.quick else Plan(labeled, unlabeled, (5, 10, 15, 20))
        )
        return plan, run.repetitions(quick=6, full=10)
    quick, full = SPLITS[case.title]
    return Plan(labeled, unlabeled, (5, 20) if run.quick else SIZES, test), run.repetitions(
        quick=quick, full=full
    )


def _table_2(case: Case, run: Run) -> Findings:
    data, (plan, splits) = run.load(case.data), _plan(case, run)
    seeds = run.seeds(splits, f"hybrid {case.data}")
    outcomes = run.each(
        outcome, [(data.X, data.y, plan, seed) for seed in seeds], f"hybrid: {case.title}"
    )
    tables = (
        _accuracy_table(case.title, outcomes),
        _gain_table(case.title, outcomes),
        _carried_table(case.title, outcomes),
    )
    judgements = {
        f"table-2-{case.key}": table_2_judgement(case.title, outcomes),
        f"gain-{case.key}": gain_judgement(case.title, outcomes),
    }
    if case.title == INSIDE:
        judgements |= {
            "seed": seed_judgement(outcomes),
            "confidence": confidence_judgement(outcomes),
        }
    return Findings(
        tables,
        (),
        judgements,
        (*case.settings, *_size_settings(case, plan, splits, data.X.shape[1], run)),
    )


def _size_settings(
    case: Case, plan: Plan, splits: int, n_features: int, run: Run
) -> tuple[str, ...]:
    sizes = (
        f"{plan.sizes[0]} to {plan.sizes[-1]}"
        if plan.sizes == SIZES
        else ", ".join(map(str, plan.sizes))
    )
    if case.title in TEXTS:
        reason = (
            " to keep the quick run short"
            if run.quick
            else " (paper: all from 5 to 20) to keep the run short"
        )
        given = {
            "title": case.title,
            "n": n_features,
            "unlabeled": plan.unlabeled,
            "sizes": sizes,
            "splits": splits,
            "reason": reason,
        }
        return (TEXT_SETTING.format(**given),)
    return (f"{case.title}: {splits} splits, sizes {sizes}.",)


def _accuracy_table(title: str, outcomes: Sequence[Outcome]) -> Table:
    printed, cells = TABLE_2[title], []
    for row in ROWS:
        for place, learner in enumerate(LEARNERS):
            paper = printed[row][place][0] if row in printed else None
            cells.append(estimate(stacked(outcomes, row)[:, place]).cell(row, learner, paper))
    note = f"Paper: one split. Ours: mean over {len(outcomes)} splits."
    return Table("Table 2", f"{title}: accuracy, mean over the sizes", "%", tuple(cells), note)


def _gain_table(title: str, outcomes: Sequence[Outcome]) -> Table:
    rows = (*RIVALS, SEED, RANDOM, ALL)
    printed = dict(zip(RIVALS, printed_gains(title).reshape(2, -1), strict=True))
    cells = []
    for row in rows:
        differences = gains(outcomes, [row])
        for place, learner in enumerate(LEARNERS):
            paper = float(printed[row][place]) if row in printed else None
            cells.append(estimate(differences[:, place]).cell(f"{HYBRID} − {row}", learner, paper))
    return Table("Table 2", f"{title}: gains of IG_FS, paired by split", "points", tuple(cells))


def _seen(outcomes: Sequence[Outcome], name: str) -> Floats:
    return np.array([one.seen[name] for one in outcomes])


def _carried_table(title: str, outcomes: Sequence[Outcome]) -> Table:
    names = {"right": "correct", "claimed": "mean confidence", "larger class": "larger class of U"}
    cells = tuple(
        estimate(_seen(outcomes, name)).cell("added labels", shown) for name, shown in names.items()
    )
    return Table(f"Study: added labels, {title}", "Labels of the selected round", "%", cells)


def table_2_judgement(title: str, outcomes: Sequence[Outcome]) -> Judgement:
    """Return the verdict on "IG_FS is better than both competitors with every learner"."""
    differences, printed = gains(outcomes), printed_gains(title)
    verdict = judge_gain(differences, float(printed.mean()))
    each, overall = estimates(differences), estimate(differences.mean(axis=1))
    won, lost = (
        sum(one.clearly_above(0, CERTAIN) for one in each),
        sum(one.clearly_below(0, CERTAIN) for one in each),
    )
    return Judgement(
        verdict,
        f"IG_FS gains {overall} points (printed {written(printed.mean())}; clear gains {won}, clear "
        f"losses {lost} of 6). {_outlook(verdict, overall)} {_spread(title, outcomes)}",
    )


def _outlook(verdict: Verdict, gain: Estimate) -> str:
    if verdict is Verdict.FAILS:
        return "This does not confirm the printed lead."
    return (
        "It leads."
        if gain.clearly_above(0, CERTAIN)
        else "Too few splits exclude the printed lead."
    )


def _spread(title: str, outcomes: Sequence[Outcome]) -> str:
    """Count the printed cells that a single split may give."""
    near = 0
    for row in (*RIVALS, HYBRID):
        values = stacked(outcomes, row)
        printed = np.array([mean for mean, _ in TABLE_2[title][row]])
        near += int(
            (np.abs(printed - values.mean(axis=0)) <= SURE * values.std(axis=0, ddof=1)).sum()
        )
    return f"{near} of 9 printed cells are plausible."


def gain_judgement(title: str, outcomes: Sequence[Outcome]) -> Judgement:
    """Return the verdict on "IG_FS gains ten points on both, averaged over the learners"."""
    differences = {rival: gains(outcomes, [rival]).mean(axis=1) for rival in RIVALS}
    verdict = judge_at_least(differences, CLAIMED_GAIN)
    printed = dict(zip(RIVALS, printed_gains(title).reshape(2, -1).mean(axis=1), strict=True))
    parts = [
        f"{estimate(differences[rival])} points over {rival} (printed {written(printed[rival])})"
        for rival in RIVALS
    ]
    from_truth = estimate((stacked(outcomes, ORACLE) - stacked(outcomes, SEED)).mean(axis=1))
    below = (
        "At least one is clearly below ten"
        if verdict is Verdict.FAILS
        else "Neither is clearly below ten"
    )
    return Judgement(
        verdict,
        f"IG_FS gains {joined(parts)}. {below}. The Fisher score gains {from_truth} from the true "
        "labels of U.",
    )


# The ideas of the method, tested on Leukemia


def _inside(run: Run) -> Findings:
    data = run.load("leukemia")
    plan = Plan(8, 20, (5, 20) if run.quick else (5, 10, 15, 20))
    seeds = run.seeds(run.repetitions(quick=24, full=60), "hybrid inside")
    found = run.each(
        mechanism, [(data.X, data.y, plan, seed) for seed in seeds], "hybrid: labels and margins"
    )
    of_seed, of_all, gained, lost = (np.array([one[name] for one in found]) for name in SEEN_INSIDE)
    graphs = Table(
        "Study: graphs, Leukemia",
        "Unlabelled samples labelled correctly by the harmonic function",
        "%",
        tuple(
            estimate(share).cell("labelled correctly", name)
            for name, share in zip(SEEN_INSIDE, (of_seed, of_all), strict=False)
        ),
    )
    judgements = {
        "distance": distance_judgement(of_seed, of_all),
        "theorem-3.3": margin_judgement(gained, lost),
    }
    sizes = ", ".join(map(str, plan.sizes))
    settings = (
        f"Graphs and margins: Leukemia, {len(seeds)} splits with |L| = 8 and |U| = 20, sizes "
        f"{sizes}.",
    )
    if run.quick:
        return Findings(
            (graphs,),
            (),
            judgements,
            (*settings, "Scaled features are studied in the full run only."),
        )
    scaled = {}
    for name, scale in SCALES.items():
        items = [
            (data.X, data.y, replace(plan, scale=scale), seed) for seed in seeds[:SCALE_SPLITS]
        ]
        scaled[name] = run.each(outcome, items, f"hybrid: features {name}")
    return Findings((graphs, _scale_table(scaled)), (), judgements, settings)


SEEN_INSIDE = (
    "graph of the initial features",
    "graph of all columns",
    "margin gain",
    "margin lost",
)
SCALE_SPLITS = 30
SCALES = {"as given": None, "divided by the deviation": "standard"}


def _scale_table(outcomes: Mapping[str, Sequence[Outcome]]) -> Table:
    cells = tuple(
        estimate(stacked(found, row)[:, place]).cell(f"{row}, features {name}", learner)
        for row in (SSELECT, HYBRID, RANDOM, ALL)
        for name, found in outcomes.items()
        for place, learner in enumerate(LEARNERS)
        if row in (SSELECT, HYBRID) or name == "as given"
    )
    note = "The Fisher score and SFFS do not depend on the scale. The learners scale the features themselves."
    return Table(
        "Study: scale, Leukemia",
        "Accuracy by scaling of the features before selection",
        "%",
        cells,
        note,
    )


def seed_judgement(outcomes: Sequence[Outcome]) -> Judgement:
    """Return the verdict on "IG_FS improves on its initial features"."""
    differences = gains(outcomes, [SEED])
    verdict = judge_gain(differences, WORTH)
    each, overall = (
        dict(zip(LEARNERS, estimates(differences), strict=True)),
        estimate(differences.mean(axis=1)),
    )
    parts = [f"{learner} {gain}" for learner, gain in each.items()]
    helped = [learner for learner, gain in each.items() if gain.clearly_above(0, SURE)]
    if verdict is Verdict.FAILS:
        meaning = "Unlabelled samples improve the initial features no more than they harm them."
    elif overall.clearly_above(0, CERTAIN):
        meaning = "Unlabelled samples help."
    else:
        shown = f"They help with {joined(helped)}. " if helped else ""
        meaning = f"{shown}A mean gain of {WORTH:g} point is neither shown nor excluded."
    return Judgement(
        verdict,
        f"On Leukemia, IG_FS gains {overall} points over the Fisher score of the labelled samples, "
        f"its initial features ({', '.join(parts)}; {len(outcomes)} splits). {meaning}",
    )


def confidence_judgement(outcomes: Sequence[Outcome]) -> Judgement:
    """Return the verdict on "added labels are as correct as their confidence"."""
    right, claimed, larger = (
        _seen(outcomes, name) for name in ("right", "claimed", "larger class")
    )
    verdict = judge_confidence(right, claimed)
    from_truth = estimate((stacked(outcomes, ORACLE) - stacked(outcomes, HYBRID)).mean(axis=1))
    meaning = (
        "The narrow bandwidth λ = d0/3 makes nearly every probability 0 or 1, correct or not."
        if verdict is Verdict.FAILS
        else "The confidence is a fair measure."
    )
    bottleneck = (
        "The added labels are the bottleneck"
        if from_truth.clearly_above(0, CERTAIN)
        else "Better labels would not clearly help"
    )
    return Judgement(
        verdict,
        f"On Leukemia, {estimate(right):.1f} % of the added labels are correct, at a mean "
        f"confidence of {estimate(claimed):.1f} %. Always predicting the larger class of U gives "
        f"{estimate(larger).mean:.0f} %. {meaning} {bottleneck}: true labels would give the Fisher "
        f"score {from_truth} points over IG_FS.",
    )


def distance_judgement(of_seed: Floats, of_all: Floats) -> Judgement:
    """Return the verdict on "the graph of the initial features is better than that of all"."""
    verdict = judge_gain((of_seed - of_all)[:, None], WORTH)
    gain = estimate(of_seed - of_all)
    if verdict is Verdict.FAILS:
        meaning = "no better"
    else:
        meaning = "better" if gain.clearly_above(0, CERTAIN) else "not clearly better or worse"
    return Judgement(
        verdict,
        f"On Leukemia, the graph of the initial features labels {estimate(of_seed):.1f} % of the "
        f"unlabelled samples correctly, and the graph of all 7129 columns {estimate(of_all):.1f} "
        f"%. The difference is {gain} points, so the smaller graph is {meaning}.",
    )


def margin_judgement(gained: Floats, lost: Floats) -> Judgement:
    """Return the verdict on Theorem 3.3 for real splits."""
    verdict = judge_margins(gained, lost)
    gain, share = estimate(gained), float(np.mean(lost))
    assumption = (
        "The proof assumes that the nearest labelled sample of each class alone determines the "
        "harmonic function, which is wrong."
    )
    meaning = {
        Verdict.HOLDS: "The theorem holds in every case.",
        Verdict.CORRECTED: f"The theorem holds on average, not in every case. {assumption}",
        Verdict.FAILS: assumption,
    }[verdict]
    return Judgement(
        verdict,
        "On Leukemia, the mean normalised margin (Eq. 9) of the confident samples exceeds that of "
        f"all unlabelled samples, the expectation for a random draw, by {gain:+.3f}. It is smaller "
        f"in {share:.0f} % of the selections. {meaning}",
    )


# SFFS as the base


def _of_floating(run: Run) -> Findings:
    data = run.load("leukemia")
    plan = Plan(
        8,
        20,
        (5, 10) if run.quick else (5, 10, 15, 20),
        base="floating",
        rows=(HYBRID, SEED, RANDOM, ALL),
    )
    seeds = run.seeds(run.repetitions(quick=5, full=24), "hybrid of floating")
    outcomes = run.each(
        outcome, [(data.X, data.y, plan, seed) for seed in seeds], "hybrid: SFFS as the base"
    )
    names = {SEED: SFFS, HYBRID: f"{HYBRID} of SFFS", RANDOM: RANDOM, ALL: ALL}
    cells = [
        estimate(stacked(outcomes, row)[:, j]).cell(shown, learner)
        for row, shown in names.items()
        for j, learner in enumerate(LEARNERS)
    ]
    differences = gains(outcomes, [SEED])
    gained = zip(LEARNERS, estimates(differences), strict=True)
    cells += [one.cell(f"{HYBRID} of SFFS − {SFFS}", learner) for learner, one in gained]
    table = Table(
        "Study: SFFS as the base, Leukemia", "Accuracy, mean over the sizes", "%", tuple(cells)
    )
    settings = (
        f"SFFS as the base: Leukemia, {len(seeds)} splits with |L| = 8 and |U| = 20, sizes "
        f"{', '.join(map(str, plan.sizes))}. A search over all 7129 columns in every round is "
        "slow.",
    )
    return Findings((table,), (), {"flexible": floating_judgement(outcomes)}, settings)


def floating_judgement(outcomes: Sequence[Outcome]) -> Judgement:
    """Return the verdict on "IG_FS improves on SFFS if SFFS is its base"."""
    differences = gains(outcomes, [SEED])
    verdict = judge_gain(differences, WORTH)
    right, overall = estimate(_seen(outcomes, "right")), estimate(differences.mean(axis=1))
    if verdict is Verdict.FAILS:
        meaning = "It works with any base but does not improve this one."
    else:
        meaning = (
            "It improves this base, too."
            if overall.clearly_above(0, CERTAIN)
            else "There are too few splits to decide."
        )
    return Judgement(
        verdict,
        f"On Leukemia, IG_FS with SFFS as its base gains {overall} points over SFFS of the "
        f"labelled samples ({len(outcomes)} splits). {right:.1f} % of its added labels are "
        f"correct. {meaning}",
    )


# Fig. 4

LABELED = (6, 8, 10, 12)
UNLABELED = (10, 20, 30, 40)
FRACTIONS = (0.5, 0.6, 0.7, 0.8, 0.9)
SHOWN = (SFFS, SSELECT, HYBRID, SEED, RANDOM, ALL)


def levels(
    X: Any, y: Integers, plans: Sequence[Plan], seed: np.random.SeedSequence
) -> list[Outcome]:
    """Run several plans on one division of the samples.

    Selections that a plan omits are those of the first plan.
    """
    found = [outcome(X, y, plan, seed) for plan in plans]
    return [replace(one, accuracy={**found[0].accuracy, **one.accuracy}) for one in found]


def _sensitivity(run: Run) -> Findings:
    data = run.load("leukemia")
    base = Plan(8, 20, (10,) if run.quick else (5, 10, 15, 20), rows=SHOWN)
    labeled, unlabeled = ((6, 8, 10), (10, 20, 40)) if run.quick else (LABELED, UNLABELED)
    splits = run.repetitions(quick=6, full=40)
    plans = {
        "|L|": [
            replace(base, labeled=n, labeled_pool=max(labeled), fewest=min(labeled))
            for n in labeled
        ],
        "|U|": [replace(base, unlabeled=n, unlabeled_pool=max(unlabeled)) for n in unlabeled],
        "s": [replace(base, fraction=share, rows=(HYBRID, RANDOM, ALL)) for share in FRACTIONS],
    }
    plans["|U|"][1:] = [replace(plan, rows=(SSELECT, HYBRID)) for plan in plans["|U|"][1:]]
    plans["s"][1:] = [replace(plan, rows=(HYBRID,)) for plan in plans["s"][1:]]
    found = {}
    for name, several in plans.items():
        items = [(data.X, data.y, several, seed) for seed in run.seeds(splits, f"hybrid {name}")]
        found[name] = list(zip(*run.each(levels, items, f"hybrid: {name}"), strict=True))
    percent = tuple(100 * share for share in FRACTIONS)
    figures = (
        _curves(
            "Fig. 4(a)", "Accuracy by |L|, |U| = 20", "labelled samples", labeled, found["|L|"]
        ),
        _curves(
            "Fig. 4(b)", "Accuracy by |U|, |L| = 8", "unlabelled samples", unlabeled, found["|U|"]
        ),
        _learner_curves("Fig. 4(c)", "IG_FS by s, |L| = 8, |U| = 20", "s (%)", percent, found["s"]),
    )
    settings = (
        "Fig. 4: the paper prints no numbers and does not name the data set. We use Leukemia, "
        f"{splits} splits, sizes {', '.join(map(str, base.sizes))}, and the mean over three "
        "learners. The levels of a split share their other samples. s = 90 % is added to the "
        "paper's 50 to 80 %.",
    )
    judgements = {
        "figure-4a": lead_judgement(found["|L|"], labeled),
        "figure-4a-labels": labels_judgement(found["|L|"], labeled),
        "figure-4b": unlabeled_judgement(found["|U|"], unlabeled),
        "figure-4b-more": more_judgement(found["|U|"], unlabeled),
        "figure-4c": share_judgement(found["s"][: len(FRACTIONS) - 1]),
    }
    return Findings((), figures, judgements, settings)


def _means(outcomes: Sequence[Outcome], row: str) -> Floats:
    return np.asarray(stacked(outcomes, row).mean(axis=1))


def _curves(
    label: str, title: str, x_label: str, x: Sequence[float], found: Sequence[Sequence[Outcome]]
) -> Figure:
    curves = [
        series(row, x, [estimate(_means(outcomes, row)) for outcomes in found]) for row in SHOWN
    ]
    return Figure(label, f"{title} (Leukemia)", x_label, "accuracy (%)", tuple(curves))


def _learner_curves(
    label: str, title: str, x_label: str, x: Sequence[float], found: Sequence[Sequence[Outcome]]
) -> Figure:
    curves = [
        series(
            f"{row}, {learner}",
            x,
            [estimate(stacked(outcomes, row)[:, place]) for outcomes in found],
        )
        for row in (HYBRID, RANDOM, ALL)
        for place, learner in enumerate(LEARNERS)
    ]
    return Figure(label, f"{title} (Leukemia)", x_label, "accuracy (%)", tuple(curves))


def _leads(found: Sequence[Sequence[Outcome]], rivals: Sequence[str]) -> Floats:
    """Return paired differences of IG_FS and its competitors, averaged over the learners.

    The shape is splits × levels × competitors.
    """
    return np.stack(
        [
            np.stack(
                [_means(outcomes, HYBRID) - _means(outcomes, rival) for outcomes in found], axis=1
            )
            for rival in rivals
        ],
        axis=2,
    )


def _by_level(differences: Floats, at: Sequence[int]) -> str:
    return ", ".join(f"{estimate(differences[:, j])} ({n})" for j, n in enumerate(at))


def lead_judgement(found: Sequence[Sequence[Outcome]], labeled: Sequence[int]) -> Judgement:
    """Return the verdict on Fig. 4(a): IG_FS is at least as good as both for every |L|."""
    differences = _leads(found, RIVALS)
    verdict = judge_never_behind(differences)
    texts = []
    for place, rival in enumerate(RIVALS):
        part = differences[:, :, place]
        texts.append(f"over {rival} {_by_level(part, labeled)}, mean {estimate(part.mean(axis=1))}")
    end = (
        "It is behind by more than three standard errors at some |L|, or by more than two on "
        "average."
        if verdict is Verdict.FAILS
        else "It is nowhere behind by more than three standard errors, nor on average by more than "
        "two."
    )
    return Judgement(
        verdict,
        f"Lead of IG_FS in points by |L| (in brackets), {len(differences)} splits: "
        f"{'; '.join(texts)}. {end}",
    )


def labels_judgement(found: Sequence[Sequence[Outcome]], labeled: Sequence[int]) -> Judgement:
    """Return the verdict on Fig. 4(a): more labels help all, but not IG_FS from 6 to 10."""
    six, ten = labeled.index(6), labeled.index(10)
    rises = {row: _means(found[-1], row) - _means(found[0], row) for row in (*RIVALS, HYBRID)}
    rise = _means(found[ten], HYBRID) - _means(found[six], HYBRID)
    verdict = judge_flat(rise, list(rises.values()))
    listed = ", ".join(f"{row} {estimate(values)}" for row, values in rises.items())
    losers = [row for row, values in rises.items() if estimate(values).clearly_below(0, CERTAIN)]
    significant = "significant" if estimate(rise).clearly_above(0, CERTAIN) else "not significant"
    end = (
        f"This is {significant}, and {joined(losers) + ' lost' if losers else 'no method lost'} "
        "through more labels."
    )
    return Judgement(
        verdict,
        f"From |L| = {labeled[0]} to {labeled[-1]}, the accuracy changes by {listed} points. From "
        f"6 to 10, IG_FS changes by {estimate(rise)}. {end}",
    )


def unlabeled_judgement(found: Sequence[Sequence[Outcome]], unlabeled: Sequence[int]) -> Judgement:
    """Return the verdict on Fig. 4(b): IG_FS is better than sSelect for every |U|."""
    differences = _leads(found, [SSELECT])[:, :, 0]
    verdict = judge_gain(differences, WORTH)
    overall = estimate(differences.mean(axis=1))
    if verdict is Verdict.FAILS:
        end = "This is not a consistent lead."
    else:
        end = (
            "It leads."
            if overall.clearly_above(0, CERTAIN)
            else f"Too few splits exclude a lead of {WORTH:g} point."
        )
    return Judgement(
        verdict,
        f"Lead of IG_FS over sSelect in points by |U| (in brackets), {len(differences)} splits: "
        f"{_by_level(differences, unlabeled)}, mean {overall}. {end}",
    )


def more_judgement(found: Sequence[Sequence[Outcome]], unlabeled: Sequence[int]) -> Judgement:
    """Return the verdict on Fig. 4(b): more unlabelled samples do not always help."""
    accuracy = np.stack([_means(outcomes, HYBRID) for outcomes in found], axis=1)
    steps = np.diff(accuracy, axis=1)
    verdict = judge_not_strict(steps)
    listed = ", ".join(
        f"{estimate(steps[:, j])} ({unlabeled[j]} to {unlabeled[j + 1]})"
        for j in range(steps.shape[1])
    )
    every = "Every step is" if verdict is Verdict.FAILS else "Not every step is"
    return Judgement(
        verdict,
        f"IG_FS changes in points by |U| (in brackets): {listed}. {every} positive by more than "
        "two standard errors.",
    )


def share_judgement(found: Sequence[Sequence[Outcome]]) -> Judgement:
    """Return the verdict on Fig. 4(c): s from 50 to 80 % changes less than five points."""
    spans = [
        span_of(np.stack([stacked(outcomes, HYBRID)[:, place] for outcomes in found], axis=1))
        for place in range(len(LEARNERS))
    ]
    verdict = judge_spans(spans, CLAIMED_SPAN)
    listed = ", ".join(
        f"{learner} {span:.1f}" for learner, span in zip(LEARNERS, spans, strict=True)
    )
    which = "One exceeds" if verdict is Verdict.FAILS else "None exceeds"
    return Judgement(
        verdict,
        f"From s = 50 % to 80 %, the mean accuracies of IG_FS over {len(found[0])} splits span "
        f"{listed} points. {which} five by more than two standard errors.",
    )


# The paper

TOY_STATEMENTS = (
    Statement(
        "toy-supervised",
        "Section 1, Figure 1(a)",
        "Toy example: selection by the labels of A and B gives features 2 and 4.",
    ),
    Statement(
        "toy-semi-supervised",
        "Section 1, Figure 1(b)",
        "Toy example: semi-supervised selection of one feature in the whole space gives feature 2, "
        "which is wrong.",
    ),
    Statement(
        "toy",
        "Section 1, Figure 1(c)",
        "Toy example: IG_FS labels C and D correctly and ends with feature 4.",
    ),
)
PRINTED_STATEMENTS = (
    Statement(
        "printed-highest",
        "Table 2",
        "The printed means of IG_FS are highest in all comparisons.",
    ),
    Statement(
        "printed-ten-percent",
        "Abstract, Section 6",
        "The printed gains of IG_FS are at least 10 % in accuracy.",
    ),
    Statement(
        "printed-possible",
        "Tables 1 and 2",
        "The printed accuracies are shares of the printed numbers of test samples.",
    ),
)
START_STATEMENTS = (
    Statement(
        "seed",
        "Sections 1 and 3",
        "Unlabelled samples correct and extend the features selected by the labels.",
    ),
    Statement(
        "confidence",
        "Sections 1 and 2",
        "The confident labels added to the training set are likely to be correct.",
    ),
)
INSIDE_STATEMENTS = (
    Statement(
        "distance",
        "Sections 3 and 4",
        "A graph of the selected features separates the classes better than a graph of all.",
    ),
    Statement(
        "theorem-3.3",
        "Theorem 3.3",
        "Confident unlabelled samples have at least the mean margin of random ones.",
    ),
)
FIGURE_STATEMENTS = (
    Statement(
        "figure-4a",
        "Figure 4(a)",
        "IG_FS is at least as good as sSelect and SFFS for every |L|.",
    ),
    Statement(
        "figure-4a-labels",
        "Figure 4(a)",
        "More labels help all three methods, but IG_FS does not improve significantly from 6 to "
        "10.",
    ),
    Statement("figure-4b", "Figure 4(b)", "IG_FS is better than sSelect for every |U|."),
    Statement(
        "figure-4b-more",
        "Figure 4(b)",
        "The accuracy of IG_FS does not strictly increase with |U|.",
    ),
    Statement(
        "figure-4c", "Figure 4(c)", "The accuracy changes by less than 5 % from s = 50 % to 80 %."
    ),
)


def _statements(title: str) -> tuple[Statement, ...]:
    key = title.lower()
    return (
        *(START_STATEMENTS if title == INSIDE else ()),
        Statement(
            f"table-2-{key}",
            "Table 2, Section 4",
            f"{title}: IG_FS is more accurate than SFFS and sSelect with all learners.",
        ),
        Statement(
            f"gain-{key}",
            "Abstract, Section 6",
            f"{title}: IG_FS gains at least 10 % over SFFS and over sSelect.",
        ),
    )


EXPERIMENT = Experiment(
    paper="hybrid",
    title="Graph-based iterative hybrid feature selection (IteraGraph_FS)",
    reference="E. Zhong, S. Xie, W. Fan, J. Ren, J. Peng, K. Zhang, Graph-based iterative hybrid "
    "feature selection, ICDM 2008",
    introduction=(
        "IteraGraph_FS (IG_FS) selects features with few labels, propagates labels to unlabelled "
        "samples in a graph of these features, adds the confident labels and repeats. The paper "
        "compares it with the supervised search SFFS and the semi-supervised score sSelect. L, U "
        "and s are the labelled samples, the unlabelled samples and the confident share."
    ),
    notes=(
        "Gains are paired by split, in points of accuracy, and averaged over three learners (naive "
        "Bayes, 1-NN, SMO) and, unless stated, both competitors. The initial features of IG_FS are "
        "those of the Fisher score of the labelled samples.",
        "A lead fails if a comparison is lost by more than three standard errors, or if the mean "
        "is below zero by more than one. It also fails if the mean is not above zero by two and "
        "the claimed gain (1 point if none is printed) lies more than two above it. A gain of ten "
        "points fails if it is clearly lower. With few splits, Student's t widens the limits.",
        "“Clear” means by more than two standard errors. A printed cell is plausible for a single "
        "split if it lies within three standard deviations of ours.",
        "Random columns, all columns, initial features and the true labels of U are our baselines. "
        "The gain from the true labels of U is about the upper bound for added labels.",
    ),
    summary=(
        "The toy example holds exactly: supervised, semi-supervised and hybrid selection give the "
        "printed features.",
        "The printed gains are not at least 10 %. The paper's own table contradicts this claim: "
        "its smallest gain is 0.7 points.",
        "Over many random splits, the printed leads of IG_FS over SFFS and sSelect do not "
        "reproduce on any of the five available data sets. The paper reports one split per set.",
        "On Leukemia, 76.5 % of the added labels are correct at a mean confidence of 99.9 %. The "
        "narrow bandwidth makes nearly every probability 0 or 1.",
        "Two printed accuracies (25.5 % on Leukemia, 74.2 % on CNS) are impossible for the printed "
        "numbers of test samples.",
    ),
    parts=(
        Part(TOY_STATEMENTS, toy),
        Part(PRINTED_STATEMENTS, _printed),
        *(Part(_statements(case.title), partial(_table_2, case)) for case in CASES),
        Part(
            _statements("OrgsPlaces"),
            None,
            "The library has no data set for the pair organisations and places.",
        ),
        Part(INSIDE_STATEMENTS, _inside),
        Part(
            (Statement("flexible", "Section 1", "IG_FS also improves other bases: SFFS."),),
            _of_floating,
        ),
        Part(FIGURE_STATEMENTS, _sensitivity),
    ),
)

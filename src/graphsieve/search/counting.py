"""The number of features that are worth keeping.

Features are taken in selection order until they explain 95 % of the features that matter, weighted
by relevance, and 95 % of these features and the predicted labels together. The prediction is
weighted by its skill, because the noise in a poor prediction is not worth explaining.

If features are very similar, as in spectra, a few explain nearly all variance, but the remaining
variance may distinguish the samples. If at most a tenth of the features is enough, further features
are therefore added. Each must explain far more of the remaining variance than expected by chance.
The limit is twice the square root of the number of known labels (without labels, of samples).

There are two upper limits. The number never exceeds the number of known labels. If the features
that matter alone predict held-out labels clearly better than all features, no feature follows the
last one that matters. If no feature matters, a number is justified only if all features together
predict held-out labels far better than chance.

Samples of one group, such as copies or repeated measurements, count once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isqrt

import numpy as np

from graphsieve._base.array_types import Floats
from graphsieve.search.association import best_by_chance, outcome_of
from graphsieve.search.default import Explanation
from graphsieve.search.diverse import MOST_SELECTED
from graphsieve.supervision.value import Supervision

ENOUGH = 0.95  # share to explain
ROUNDING = 1e-9  # of this share
# A prediction counts if the best of this number of unrelated features would not reach its skill.
UNRELATED = 20
UNRELATED_ALONE = 1000  # if no feature is associated with the supervision
# A random direction explains on average 1 part in (n − 1 − selected) of the remaining variance. The
# standard deviation is at most √2 times this mean. Three standard deviations above the mean are
# therefore 1 + 3√2 times the mean, or about 5.
FAR_MORE = 5.0
ALIKE = 0.1  # If at most this share of the features explains enough, they are very similar.
# Upper limit of the number of features if similar features are added, as a multiple of the square
# root of the number of known labels or of samples.
ALIKE_PER_ROOT = 2


@dataclass(frozen=True)
class Count:
    """The number of features to keep, and the reason.

    Attributes
    ----------
    n : int
        The number of features. It is 0 if no feature can be distinguished from noise.
    curve : tuple of (size, explained, chance)
        `explained` is what the first `size` features explain: the share of the features that
        matter, or of these and the prediction together, whichever is smaller. `chance` is the share
        that as many random features would explain.
    reason : str
        The reason for this number, in sentences.
    rule : {"explained", "alike", "relevant", "labels", "predicted", "cap", "nothing"}
        The rule that decided. "explained": 95 % is explained, or no more features are selected one
        by one. "alike": features are very similar, so more were added. "relevant": the others do
        not matter. "labels": the limit by the number of known labels. "predicted": the errors of
        another search on held-out labels. "cap": the limit `max_features`. "nothing": no feature
        matters.
    errors : tuple of (size, error)
        The cross-validated error of another search with the first `size` features. Empty for other
        rules.
    """

    n: int
    curve: tuple[tuple[int, float, float], ...]
    reason: str
    rule: str
    errors: tuple[tuple[int, float], ...] = ()

    def at_most(self, limit: int | None) -> Count:
        """Return the count with an upper limit."""
        if limit is None or self.n <= limit:
            return self
        reason = f"{self.reason} The upper limit of {limit} applies."
        return replace(self, n=limit, rule="cap", reason=reason)


def count_features(found: Explanation, known: Supervision) -> Count:
    """Count how many of the first features of a selection order are worth keeping.

    Parameters
    ----------
    found : Explanation
        The selection order, what its features explain, and the features that matter.
    known : Supervision
        The supervision of the search.

    Examples
    --------
    Two columns are enough to represent two columns and their copies:

    >>> from graphsieve.table.columns import MemoryTable
    >>> from graphsieve.datasets import make_squares
    >>> from graphsieve.search.default import select_by_explanation
    >>> data = make_squares(random_state=0)
    >>> table, known = MemoryTable(np.tile(data.X[:, :2], 3)), Supervision.from_labels(data.y)
    >>> found = count_features(select_by_explanation(table, table, known), known)
    >>> found.n
    2
    >>> found.reason
    '6 of 6 features are associated with the labels (false discovery rate 5 %). The first 2 explain
    100 % of these features and of the predicted labels.'
    """
    evidence = _Evidence.of(found, known)
    if not found.path.steps or not (evidence.n_relevant or evidence.predicts):
        return Count(0, ((0, 0.0, 0.0),), found.matter.reason, "nothing")
    shares = evidence.shares(found)
    enough = np.flatnonzero(shares >= ENOUGH - ROUNDING)
    n, rule = int(enough[0]) + 1 if len(enough) else len(shares), "explained"
    sentences = [found.matter.reason, *evidence.sentences(found, n, shares[n - 1])]
    further = _far_more(found, n, evidence.n_known, known.n_independent)
    if further > n:
        some = "The next one" if further == n + 1 else f"Each of the next {further - n}"
        n, rule = further, "alike"
        sentences.append(
            f"{some} explains more than {FAR_MORE:.0f} times as much of the remaining variance as "
            "expected by chance."
        )
    if rule == "explained" and shares[n - 1] < ENOUGH and n == MOST_SELECTED:
        sentences.append(f"At most {n} features are selected one by one.")
    relevant = _last_relevant(found, n)
    if 0 < relevant < n and evidence.predicts and _relevant_suffice(found, evidence.n_known):
        n, rule = relevant, "relevant"
        sentences.append(
            f"The features associated with {evidence.name} predict better than all features, so the "
            "others are left out."
        )
    if evidence.kind and n > evidence.n_known:
        n, rule = evidence.n_known, "labels"
        sentences.append(f"The number is limited to {n}, the number of known {evidence.kind}.")
    degrees = max(1, known.n_independent - 1)
    curve = tuple(
        (size, share, min(1.0, size / degrees))
        for size, share in enumerate([0.0, *shares.tolist()])
    )
    return Count(n, curve, " ".join(sentences), rule)


def prediction_counts(found: Explanation, known: Supervision) -> bool:
    """Whether any feature matters, and all features together predict better than chance."""
    evidence = _Evidence.of(found, known)
    return bool(evidence.n_relevant) and evidence.predicts


@dataclass(frozen=True)
class _Evidence:
    """What supports a number of features.

    Attributes
    ----------
    n_relevant : int
        The number of features that matter.
    n_known : int
        The number of known labels, or of samples if there are none.
    kind, name : str
        The kind of labels and what is predicted, for messages. Empty if there are none.
    predicts : bool
        Whether the prediction is better than chance.
    """

    n_relevant: int
    n_known: int
    kind: str
    name: str
    predicts: bool

    @classmethod
    def of(cls, found: Explanation, known: Supervision) -> _Evidence:
        n_relevant, outcome = int(found.matter.mask.sum()), outcome_of(known)
        if outcome is None:
            return cls(n_relevant, known.n_independent, "", "", predicts=False)
        chance = best_by_chance(1, outcome.units.n, UNRELATED if n_relevant else UNRELATED_ALONE)
        predicts = found.skill is not None and bool(found.skill > chance)
        return cls(n_relevant, outcome.units.n, outcome.kind, outcome.name, predicts)

    def shares(self, found: Explanation) -> Floats:
        """Return the share of what is to be explained after each step."""
        explained, predicted = np.array(
            [(step.explained, step.predicted) for step in found.path.steps]
        ).T
        if not self.predicts:
            shares = explained
        elif not self.n_relevant:
            shares = predicted
        else:
            skill = found.skill or 0.0
            shares = np.minimum(explained, (1 - skill) * explained + skill * predicted)
        return np.asarray(np.clip(shares, 0.0, 1.0))

    def sentences(self, found: Explanation, n: int, share: float) -> list[str]:
        """Return sentences on what the first n features explain."""
        first = "The first one explains" if n == 1 else f"The first {n} explain"
        first = f"{first} {100 * share:.0f} % of"
        if not self.n_relevant:
            return [
                f"Together, the features predict {self.name} better than chance (skill "
                f"{found.skill:.2f}).",
                f"{first} the predicted {self.kind}.",
            ]
        if self.predicts:
            return [f"{first} these features and of the predicted {self.kind}."]
        return [] if self.n_relevant == 1 else [f"{first} these features."]


def _last_relevant(found: Explanation, n: int) -> int:
    """Return how many of the first n features there are up to the last one that matters."""
    first = [step.position for step in found.path.steps[:n]]
    return int(np.flatnonzero(found.matter.mask[first]).max(initial=-1)) + 1


def _relevant_suffice(found: Explanation, n_known: int) -> bool:
    """Whether the features that matter predict held-out labels clearly better than all features.

    They were found with the same labels, which favours them. The difference must therefore exceed
    the share that the best of as many unrelated features would reach.
    """
    if found.matter.rule != "relevance" or not found.matter.mask.any():
        return False
    skill = found.skill_of_relevant()
    favour = best_by_chance(1, n_known, len(found.matter.mask))
    return skill is not None and found.skill is not None and skill - favour >= found.skill


def _far_more(found: Explanation, n: int, n_known: int, n_independent: int) -> int:
    """Return the number after adding features that explain far more than expected by chance.

    They are added only if very few features are enough, because the features are then very similar.
    """
    steps = found.path.steps
    if n > ALIKE * len(found.matter.mask):
        return n
    most = min(len(steps), ALIKE_PER_ROOT * isqrt(n_known))
    while n < most:
        before = steps[n - 1].n_directions
        rank = max(1, steps[n].n_directions - before)
        chance = rank / max(1, n_independent - 2 - before)
        if steps[n].of_others <= FAR_MORE * chance:
            break
        n += 1
    return n

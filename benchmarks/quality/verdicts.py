"""Comparisons of the default with other methods, in words that follow from the numbers.

A case is a regime of supervision on a group of data sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from quality.knowledge import LEVELS
from quality.markdown import joined
from quality.running import ALL_LABELS, KNOWN_LABELS
from quality.tables import Summary

KNOWN_SUFFIX = "_known"  # ends the name of a run in which the learners train on the known labels
GROUPS: Mapping[str, str] = MappingProxyType({"development": "development", "unseen": "other"})
"""The words for the groups of data sets. The keys are the names of their runs."""
AHEAD, LEVEL, BEHIND = VERDICTS = ("ahead", "level", "behind")


@dataclass(frozen=True)
class Regime:
    """A kind of supervision and a protocol.

    `titles` are those of its block in the tables: for both tasks, or for the only one that ran.
    `words` are for sentences and `column` is for headers.
    """

    protocol: str
    titles: tuple[str, ...]
    words: str
    column: str


_FEW = ("labels or targets", "a few labels", "a few targets")
NONE = Regime(ALL_LABELS, ("no supervision",), "without labels", "no labels")
FEW = Regime(ALL_LABELS, _FEW, "with few labels", "few labels")
EVERY = Regime(
    ALL_LABELS,
    ("all labels or targets", "all labels", "all targets"),
    "with all labels",
    "all labels",
)
KNOWN = Regime(
    KNOWN_LABELS, _FEW, "with few labels for the learners as well", "few labels, learners too"
)
REGIMES = (NONE, FEW, EVERY, KNOWN)
PAIRS = Regime(ALL_LABELS, ("pairs",), "with pairs", "pairs")
EXPERT = Regime(
    ALL_LABELS, ("class probabilities",), "with class probabilities", "class probabilities"
)
ALL_REGIMES = (*REGIMES, PAIRS, EXPERT)


@dataclass(frozen=True, eq=False)
class Case:
    regime: Regime
    group: str
    run: Summary
    block: Summary

    @property
    def verdict(self) -> str | None:
        """Compare the default with the best other method; None if there is none."""
        return verdict(self.block.get("default", {"best": None}))


def name_of(group: str, protocol: str) -> str:
    """Return the name of the run with this protocol."""
    return group if protocol == ALL_LABELS else f"{group}{KNOWN_SUFFIX}"


def block_of(run: Summary, titles: Iterable[str]) -> Summary | None:
    """Return the block with the first of these titles that the run has."""
    found = {block["title"]: block for block in run["blocks"]}
    return next((found[title] for title in titles if title in found), None)


def cases(runs: Mapping[str, Summary], regimes: Iterable[Regime] = REGIMES) -> list[Case]:
    """Return the cases that ran: all groups of the first regime, then all of the next."""
    found = []
    for regime in regimes:
        for group in GROUPS:
            run = runs.get(name_of(group, regime.protocol))
            block = None if run is None else block_of(run, regime.titles)
            if run is not None and block is not None:
                found.append(Case(regime, group, run, block))
    return found


def verdict(compared: Summary) -> str | None:
    """Return "ahead", "behind", or "level" if the difference is at most one standard error."""
    if compared["best"] is None:
        return None
    error = compared["standard_error"]
    if error is None or abs(compared["difference"]) <= error:
        return LEVEL
    return AHEAD if compared["difference"] < 0 else BEHIND


def in_words(found: Iterable[Case]) -> dict[str, str]:
    """Return for each verdict the cases that it applies to."""
    found = list(found)
    by_verdict = {one: [case for case in found if case.verdict == one] for one in VERDICTS}
    return {one: where(some, found) for one, some in by_verdict.items() if some}


def where(some: Iterable[Case], found: Iterable[Case]) -> str:
    """Return the regimes of some of the cases.

    The groups of data sets are named if only some of those of a regime are included.
    """
    included, possible = _groups(some), _groups(found)
    return joined(
        [
            regime.words + ("" if groups == possible[regime] else f" ({joined(groups)})")
            for regime, groups in included.items()
        ]
    )


def _groups(found: Iterable[Case]) -> dict[Regime, list[str]]:
    """Return the groups of data sets of each regime."""
    groups: dict[Regime, list[str]] = {}
    for case in found:
        groups.setdefault(case.regime, []).append(GROUPS[case.group])
    return groups


def amounts(levels: Iterable[str]) -> str:
    """Describe levels with labels or targets: "4 per class or 5 % of the targets"."""
    given = [LEVELS[level] for level in levels]
    labels = [f"{level.amount:g}" for level in given if level.kind == "labels"]
    targets = [f"{100 * level.amount:g}" for level in given if level.kind == "targets"]
    return (", or " if max(len(labels), len(targets)) > 1 else " or ").join(
        [
            *([f"{joined(labels, 'or')} per class"] if labels else []),
            *([f"{joined(targets, 'or')} % of the targets"] if targets else []),
        ]
    )


def amounts_of(found: Iterable[Case]) -> str:
    """Describe the levels of several cases, by group if they differ."""
    by_text: dict[str, list[str]] = {}
    for case in found:
        by_text.setdefault(amounts(case.block["levels"]), []).append(GROUPS[case.group])
    if len(by_text) == 1:
        return next(iter(by_text))
    return joined([f"{text} ({joined(some)})" for text, some in by_text.items()])

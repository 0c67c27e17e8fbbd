"""The methods that are compared. Each is a function that returns an order of the columns.

They are the default, all registered methods, random columns, simple references and other libraries.
Every candidate gets the training rows and their supervision. Candidates that support labels but not
probabilities get the most probable class of each row.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve import GraphSieve, Supervision
from graphsieve._base.errors import InputError
from graphsieve._base.parameters import nearest
from graphsieve.scores import METHODS
from graphsieve.scores.method import best_first
from graphsieve.search import SEARCHES
from graphsieve.select.sieves import SIEVES
from quality import filters, references, rivals
from quality.knowledge import Level, most_probable

Integers = NDArray[np.int64]

EVERYTHING = frozenset(["nothing", "labels", "targets", "pairs", "probabilities"])
NOTHING = frozenset(["nothing"])
BASELINES = ("random", "all")


@dataclass(frozen=True)
class Candidate:
    """A method that takes part in the comparison.

    `order(X, known, n)` returns at least n columns, best first. Other libraries may return fewer.
    `uses` contains the kinds of supervision that the method supports; ``"nothing"`` alone means
    that it ignores all supervision. `package` must be installed for it.
    """

    name: str
    group: str
    uses: frozenset[str]
    order: Callable[[Any, Supervision, int], Any]
    package: str | None = None

    @property
    def installed(self) -> bool:
        return self.package is None or importlib.util.find_spec(self.package) is not None

    @property
    def blind(self) -> bool:
        """Whether the method ignores the supervision, so that it needs to run only once."""
        return self.uses == NOTHING

    def can_use(self, level: Level) -> bool:
        return level.kind in self.uses or (level.kind == "probabilities" and "labels" in self.uses)

    def usable(self, known: Supervision) -> Supervision:
        """Return the supervision in a form that the method supports."""
        if self.blind:
            return Supervision.nothing(len(known))
        return (
            most_probable(known)
            if "probabilities" in known.kinds and "probabilities" not in self.uses
            else known
        )


def _by_default(X: Any, known: Supervision, n: int) -> Integers:
    sieve = GraphSieve(n_features_to_select=n).fit(X, supervision=known if known.kinds else None)
    return np.argsort(sieve.ranking_, kind="stable")


def _registered(name: str) -> Candidate:
    """Return a candidate that ranks the columns by the method's scores alone, without a search."""

    def order(X: Any, known: Supervision, n: int) -> Integers:
        sieve = GraphSieve(name, n_features_to_select=n)
        if "redundancy" in sieve.get_params():
            sieve.set_params(redundancy=None)  # Not needed here, and it would add to the time.
        sieve.fit(X, supervision=known if known.kinds else None)
        return best_first(sieve.scores_, large_is_good=sieve.large_is_good_)

    # The correlation with labels is defined for two classes only. Its ranking is then the same as
    # that of the Fisher score.
    uses = frozenset(METHODS[name].uses) - (
        frozenset(["labels"]) if name == "pearson" else frozenset()
    )
    return Candidate(name, "registered", uses or NOTHING, order)


def _search(name: str) -> Candidate:
    def order(X: Any, known: Supervision, n: int) -> Integers:
        sieve = SIEVES[name](n_features_to_select=n, progress=False).fit(
            X, supervision=known if known.kinds else None
        )
        return np.argsort(sieve.ranking_, kind="stable")

    return Candidate(name, "searches", frozenset(SEARCHES[name].uses) or NOTHING, order)


def _no_selection(X: Any, known: Supervision, n: int) -> Integers:
    raise AssertionError("random columns and all columns are created in running.py.")


CANDIDATES: Mapping[str, Candidate] = MappingProxyType(
    {
        candidate.name: candidate
        for candidate in (
            Candidate("ours", "ours", EVERYTHING, _by_default),
            *(Candidate(name, "baselines", NOTHING, _no_selection) for name in BASELINES),
            *(_registered(name) for name in METHODS),
            # The search of GraphSieve is the candidate "ours".
            *(_search(name) for name in SEARCHES if SIEVES[name] is not GraphSieve),
            *(
                Candidate(name, "references", uses, order)
                for name, (uses, order) in (references.REFERENCES | filters.FILTERS).items()
            ),
            *(
                Candidate(name, "peers", uses, order, package)
                for name, (package, uses, order) in rivals.RIVALS.items()
            ),
        )
    }
)
"""All candidates by name."""

GROUPS = tuple(dict.fromkeys(candidate.group for candidate in CANDIDATES.values()))
SLOW = ("iterative", "select_mi", "boruta")
"""Methods that often exceed the time limit. They run only if they are named, or their group is."""
FULL = tuple(name for name in CANDIDATES if name not in SLOW)
QUICK = (
    *(
        "ours",
        "random",
        "all",
        "fisher",
        "pearson",
        "laplacian",
        "variance",
        "constrained_laplacian",
        "supervised_laplacian",
    ),
    *(
        "semi_supervised_laplacian",
        "pivoted_qr",
        "facility_location",
        "score_unlike",
        "select_f",
        "fastcan",
        "mrmr",
    ),
)


def candidate_named(name: str) -> Candidate:
    """Return the candidate with this name, or a new one from ``name=file.py:function``.

    Such a function takes (X, y, n) and returns an order. It gets y as class codes (−1: unknown),
    targets (NaN: unknown), a Supervision of pairs or probabilities, or None.
    """
    if name in CANDIDATES:
        return CANDIDATES[name]
    label, _, place = name.partition("=")
    if not place:
        raise InputError(
            f"there is no method {name!r}{nearest(name, CANDIDATES)}; choose from "
            f"{', '.join(CANDIDATES)}."
        )
    function = _function_in(place)

    def order(X: Any, known: Supervision, n: int) -> Any:
        return function(X, _as_target(known), n)

    return Candidate(label, "given", frozenset(getattr(function, "uses", EVERYTHING)), order)


def chosen(names: str, *, with_random: bool = True) -> list[str]:
    """Return the candidates for a list of names or groups, separated by commas.

    Random columns are included by default, because every method is compared with them.
    """
    wanted: dict[str, None] = {"random": None} if with_random else {}
    for name in names.split(","):
        members = [other.name for other in CANDIDATES.values() if other.group == name] or [name]
        for member in members:
            candidate_named(member)
        wanted.update(dict.fromkeys(members))
    return list(wanted)


def _as_target(known: Supervision) -> Any:
    if known.kinds == ("labels",):
        return known.codes
    if known.kinds == ("targets",):
        return known.targets
    return known if known.kinds else None


def _function_in(place: str) -> Callable[..., Any]:
    file, _, name = place.rpartition(":")
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    if spec is None or spec.loader is None or not Path(file).is_file():
        raise InputError(f"{place!r} must be file.py:function.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Callable[..., Any] = getattr(module, name)
    return function

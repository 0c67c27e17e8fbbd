"""`rank`, which ranks the features of a table in one call, and the `Ranking` that it returns."""

from __future__ import annotations

import inspect
import math
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from graphsieve import __version__
from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.atomic_files import json_text, named_file, replace_file
from graphsieve._base.errors import InputError, InputTypeError, held_back, noting_warnings
from graphsieve._base.messages import parameter
from graphsieve._base.parameters import count, nearest, quoted
from graphsieve._base.randomness import seed_number
from graphsieve._base.underflow import ignoring_underflow
from graphsieve.report.figures import draw_ranking
from graphsieve.report.notebook import fragment
from graphsieve.report.page import page
from graphsieve.report.portraits import class_name, portray
from graphsieve.report.terminal import ROWS_SHOWN, ranking_text
from graphsieve.scores.choosing import choose_method
from graphsieve.scores.score_registry import METHODS
from graphsieve.search.missingness import Missingness, missingness
from graphsieve.search.search_registry import SEARCHES
from graphsieve.select.graph_sieve import GraphSieve
from graphsieve.select.preparation import PARAMETERS
from graphsieve.select.sieves import SIEVES
from graphsieve.supervision.value import Supervision, TargetType
from graphsieve.table.any_table import checked_names
from graphsieve.table.columns import Table
from graphsieve.table.scaling import Scale
from graphsieve.table.stored.stored_table import StoredTable

SCHEMA = 1
ITERATED = ("iterative", "hybrid")  # searches that give every feature a score
DEPENDENCIES = ("numpy", "scipy", "scikit-learn")


@ignoring_underflow
def rank(
    X: Any,
    y: Any = None,
    *,
    supervision: Supervision | None = None,
    groups: Any = None,
    sample_weight: Any = None,
    feature_names: Sequence[str] | None = None,
    method: str = "auto",
    n_features_to_select: int | float | str | None = None,
    redundancy: str | None = "auto",
    max_features: int | None = None,
    n_neighbors: int | str = "auto",
    bandwidth: float | str = "auto",
    scale: str | None = "auto",
    metric: str = "auto",
    neighbors: Any = "auto",
    target_type: TargetType = "auto",
    unlabeled: int | None = -1,
    method_params: dict[str, Any] | None = None,
    compress: str | None = None,
    n_prototypes: int | tuple[int, int] | None = None,
    categorical: Any = "auto",
    feature_groups: Any = None,
    missing: str = "use",
    keep: Any = None,
    candidates: Any = None,
    cost: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Ranking:
    """Rank the features of a table, with or without supervision.

    Parameters
    ----------
    X, y, supervision, groups, sample_weight
        As in `GraphSieve.fit`.
    feature_names : sequence of str, optional
        Names of the features, for tables without names, such as arrays and sparse matrices.
    method : str
        As in `GraphSieve`. ``"iterative"`` and ``"hybrid"`` run the searches of `IterativeSieve`
        and `HybridSieve`, with their parameters in `method_params`.
    n_features_to_select, redundancy, max_features, n_neighbors, bandwidth, scale, metric, neighbors, target_type, unlabeled, \
method_params, compress, n_prototypes, categorical, feature_groups, missing, keep, candidates, cost, n_jobs, progress
        As in `GraphSieve`.
    random_state : None, int, SeedSequence, RandomState or Generator
        Determines which samples the plots of a report show, if the table has too many to show all.
        The ranking itself has no random part.

    Returns
    -------
    Ranking

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> rank(X, y).best(2)
    ['petal width (cm)', 'sepal width (cm)']
    >>> rank(X, y, method="fisher").best(2)
    ['petal length (cm)', 'petal width (cm)']
    """
    settings: dict[str, Any] = {
        "n_features_to_select": n_features_to_select,
        "redundancy": redundancy,
        "max_features": max_features,
        "n_neighbors": n_neighbors,
        "bandwidth": bandwidth,
        "scale": scale,
        "metric": metric,
        "neighbors": neighbors,
        "target_type": target_type,
        "unlabeled": unlabeled,
        "method_params": method_params,
        "compress": compress,
        "n_prototypes": n_prototypes,
        "categorical": categorical,
        "feature_groups": feature_groups,
        "missing": missing,
        "keep": keep,
        "candidates": candidates,
        "cost": cost,
        "n_jobs": n_jobs,
        "progress": progress,
    }
    is_iterated = isinstance(method, str) and method in ITERATED
    sieve = _search_sieve(method, settings) if is_iterated else GraphSieve(method, **settings)
    with noting_warnings() as warned:
        table, known = sieve._fit(X, y, supervision, groups, sample_weight, names=feature_names)
    names = names_of(None, table.feature_names, table.n_features)
    scored = np.argsort(sieve.ranking_)
    scored = scored[~np.isnan(sieve.scores_[scored])]
    count = getattr(sieve, "count_", None)
    ranking = Ranking(
        names=names,
        scores=sieve.scores_,
        ranks=sieve.ranking_,
        selected=sieve._selected,
        members=_members(table, sieve),
        kinds=_kinds(table),
        method=method if is_iterated else sieve.method_,
        reason=sieve.reason_,
        large_is_good=sieve.large_is_good_,
        n_samples=sieve.n_samples_,
        n_neighbors=getattr(sieve, "n_neighbors_", None),
        bandwidth=getattr(sieve, "bandwidth_", None),
        neighbor_recall=getattr(sieve, "neighbor_recall_", None),
        gain=getattr(sieve, "gain_", None),
        redundancy=getattr(sieve, "redundancy_", None),
        closest=getattr(sieve, "closest_", None),
        closest_correlation=getattr(sieve, "closest_correlation_", None),
        count_reason=None if count is None else count.reason,
        candidate=getattr(sieve, "candidate_", None),
        candidates=getattr(sieve, "candidates_", None),
        known=supervision_facts(known),
        missing=missingness(table, known),
        parameters=_parameters(sieve),
        warnings=tuple(warned),
        _portraits=_Portraits(
            partial(
                portray,
                table.named(names),
                known,
                scored,
                scale=cast(Scale, sieve.scale_),
                random_state=seed_number(random_state),
            )
        ),
    )
    if _is_in_a_file(table):
        ranking.portraits  # noqa: B018 - the file may be closed before they are needed
    return ranking


def _members(table: Table, sieve: Any) -> tuple[tuple[str, ...], ...] | None:
    """Return the names of the columns of each feature, or None if columns are not grouped."""
    if table.features is None or table.features.inputs is None:
        return None
    names = getattr(sieve, "feature_names_in_", None) if sieve._names is None else sieve._names
    return tuple(
        tuple(f"x{j}" if names is None else str(names[j]) for j in columns)
        for columns in table.features.inputs
    )


def _kinds(table: Table) -> tuple[str, ...] | None:
    """Return the kind of each feature, or None if all are numbers."""
    if table.features is None:
        return None
    inputs = table.features.inputs
    sizes = [1] * len(table.features) if inputs is None else [len(one) for one in inputs]
    return tuple(
        "group" if size > 1 else "category" if is_category else "number"
        for size, is_category in zip(sizes, table.features.categorical, strict=True)
    )


def _is_in_a_file(table: Table) -> bool:
    """Whether the values are read from a file or a memory-mapped array."""
    if isinstance(table, StoredTable):
        return True
    held = table.matrix.data if table.is_sparse else table.matrix
    while held is not None and not isinstance(held, np.memmap):
        held = getattr(held, "base", None)
    return held is not None


def _search_sieve(method: str, settings: dict[str, Any]) -> Any:
    """Return the estimator of an iterative search, with its parameters from `method_params`.

    Parameters that it does not have are refused.
    """
    make = SIEVES[method]
    takes = inspect.signature(make).parameters
    usual = inspect.signature(rank).parameters
    own = PARAMETERS["method_params"]("method_params", settings["method_params"]) or {}
    for name, value in settings.items():
        if name not in takes and name != "method_params" and _differs(value, usual[name].default):
            raise InputError(
                f"the search {method!r} has no ",
                parameter(name, value),
                f"; leave it out, got {quoted(value)}.",
            )
    for name in own:
        if name not in takes or name in settings:
            mine = [other for other in takes if other not in settings]
            raise InputError(
                parameter("method_params", name),
                f" of {method!r} are {', '.join(mine)}, got {quoted(name)}{nearest(name, mine)}.",
            )
    # Parameters that were not set keep the estimator's own defaults.
    given = {
        name: settings[name]
        for name in settings
        if name in takes and _differs(settings[name], usual[name].default)
    }
    return make(
        **{**given, **own, "method_params": None} if "method_params" in takes else {**given, **own}
    )


def _differs(value: Any, default: Any) -> bool:
    """Whether a parameter was set. Arrays and the like are never defaults and not compared."""
    return value is not default and not (isinstance(value, str | int | float) and value == default)


def names_of(given: Any, found: tuple[str, ...] | None, n_features: int) -> tuple[str, ...]:
    """Return the feature names: as given, from the table, or x0, x1, …."""
    if given is None:
        return found or tuple(f"x{j}" for j in range(n_features))
    return checked_names(given, n_features)


def supervision_facts(known: Supervision) -> dict[str, Any]:
    """Describe the supervision, for reports."""
    kinds = known.kinds
    try:
        with held_back():
            text = choose_method(known)[1]
    except InputError:  # labels and targets at once
        text = repr(known).partition(": ")[2].removesuffix(")")
    sizes = np.bincount(
        known.codes[known.codes >= 0], minlength=0 if known.classes is None else len(known.classes)
    )
    counted = (
        []
        if known.labels is None or known.classes is None
        else zip(known.classes, sizes, strict=True)
    )
    return {
        "text": text,
        "kind": kinds[0] if kinds else "nothing",
        "target": None,
        "n_targets": known.n_targets,
        "classes": [{"name": class_name(name), "n": int(n)} for name, n in counted] or None,
    }


def _parameters(sieve: Any) -> tuple[tuple[str, str], ...]:
    """Return the parameters that were used, with the values chosen for "auto"."""
    found = {
        name: getattr(sieve, f"{name}_", None)
        for name in ("scale", "metric", "n_neighbors", "bandwidth")
    }
    result = []
    for name, asked in sieve.get_params(deep=False).items():
        came_to = found.get(name)
        if (
            name in ("progress", "n_jobs")
            or asked is None
            or (asked == "auto" and name in found and came_to is None and name != "scale")
        ):
            continue
        used = f" ({_short(came_to)})" if asked == "auto" and came_to is not None else ""
        used = " (unscaled)" if name == "scale" and asked == "auto" and came_to is None else used
        result.append((name, f"{asked}{used}"))
    return tuple(result)


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class _Portraits:
    """Portraits that are computed on first use and kept. X is released afterwards."""

    def __init__(self, draw: Callable[[], dict[str, Any]]) -> None:
        self._draw: Callable[[], dict[str, Any]] | None = draw
        self._facts: dict[str, Any] = {}
        self._lock = Lock()

    def drawn(self) -> dict[str, Any]:
        with self._lock:
            if self._draw is not None:
                self._facts, self._draw = self._draw(), None
            return self._facts

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave X out of copies and pickles."""
        return _Portraits, (partial(dict, self.drawn()),)


@dataclass(frozen=True, eq=False)
class Ranking:
    """The features of a table, ranked. It prints as a table.

    Attributes
    ----------
    names : tuple of str
        Feature names, in the order of the columns of X, as in all arrays here.
    scores : array of float
        Score by the method; NaN if a feature cannot be scored.
    ranks : array of int
        1 is the best.
    selected : array of bool
        The features within `n_features_to_select`.
    members : tuple of tuples of str or None
        The names of the columns of each feature. None if columns are not grouped.
    kinds : tuple of str or None
        ``"number"``, ``"category"`` or ``"group"`` for each feature. None if all are numbers.
    method, reason : str
        The method that ran, and the reason for it.
    large_is_good : bool
        Whether large scores are good.
    n_samples : int
        Number of samples.
    n_neighbors, bandwidth : int, float or None
        The values used.
    neighbor_recall : float or None
        Recall of an approximate neighbour search, estimated on some samples. None if the search was
        exact.
    gain : array of float or None
        What each feature adds to those ranked before it. NaN if it cannot be selected. None if
        features were ranked by score; so are the next three.
    redundancy : array of float or None
        Share of each feature's variance explained by the selected features, or, for a selected
        feature, by those selected before it.
    closest : array of int or None
        Position of the selected feature with the largest absolute correlation, or, for a selected
        feature, of those selected before it. −1 if there is none.
    closest_correlation : array of float or None
        Correlation with that feature.
    candidate : str or None
        With ``method="auto"``, the search that was chosen.
    candidates : dict or None
        The cross-validated error of each search. None if they were not compared.
    count_reason : str or None
        Reason for the number of features, with ``n_features_to_select="auto"``.
    known : dict or None
        Description of the supervision, for reports.
    missing : graphsieve.search.missingness.Missingness or None
        Missing values by feature, and whether they are associated with the supervision. None if no
        value is missing.
    portraits : dict or None
        Data of the plots in a report. They are computed from X on first use. Until then the ranking
        keeps a reference to X. For a stored table they are computed immediately.
    parameters : tuple of (str, str)
        The parameters that were used, with the values chosen for "auto".
    warnings : tuple of str
        The warnings of the fit.
    """

    names: tuple[str, ...]
    scores: Floats
    ranks: Integers
    selected: Booleans
    method: str
    reason: str
    large_is_good: bool
    n_samples: int
    n_neighbors: int | None = None
    bandwidth: float | None = None
    neighbor_recall: float | None = None
    gain: Floats | None = None
    redundancy: Floats | None = None
    closest: Integers | None = None
    closest_correlation: Floats | None = None
    candidate: str | None = None
    candidates: dict[str, float] | None = None
    count_reason: str | None = None
    known: dict[str, Any] | None = None
    missing: Missingness | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    members: tuple[tuple[str, ...], ...] | None = None
    kinds: tuple[str, ...] | None = None
    _portraits: _Portraits | None = None

    @property
    def portraits(self) -> dict[str, Any] | None:
        """Data of the plots in a report; see above."""
        return None if self._portraits is None else self._portraits.drawn()

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def order(self) -> NDArray[np.intp]:
        """Feature positions, best first."""
        return np.argsort(self.ranks)

    @property
    def tied_ranks(self) -> Integers:
        """Ranks in which equal scores share the best rank.

        In a selection order every feature has its own rank.
        """
        if self.redundancy is not None or self.method in ITERATED:
            return self.ranks.copy()
        scored = ~np.isnan(self.scores)
        distinct, which = np.unique(self.scores[scored], return_inverse=True)
        best = np.full(len(distinct), len(self), dtype=np.int64)
        np.minimum.at(best, which, self.ranks[scored])
        result = self.ranks.copy()
        result[scored] = best[which]
        return result

    def best(self, n: int) -> list[str]:
        """Return the names of the n best features."""
        n = count(1, len(self))("n", n)
        return [self.names[j] for j in self.order[:n]]

    def strengths(self) -> Floats:
        """Return the length of each feature's bar: 0 for the worst finite score, 1 for the best.

        Features without a score have length 0.
        """
        signed = self.scores if self.large_is_good else -self.scores
        finite = np.isfinite(signed)
        low, high = (signed[finite].min(), signed[finite].max()) if finite.any() else (0.0, 1.0)
        with np.errstate(invalid="ignore"):
            lengths = (signed - low) / (high - low) if high > low else np.ones(len(signed))
        lengths = np.where(
            np.isposinf(signed), 1.0, np.where(np.isneginf(signed) | np.isnan(signed), 0.0, lengths)
        )
        return np.asarray(lengths)

    def __str__(self) -> str:
        return ranking_text(self.page_facts())

    __repr__ = __str__

    @property
    def _about(self) -> Any:
        """The registry entry of the method or search."""
        return METHODS[self.method] if self.method in METHODS else SEARCHES[self.method]

    def to_records(self) -> list[dict[str, Any]]:
        """Return one plain dict per feature, best first.

        Scores that are NaN or infinite are None, and `flag` says which. A table with categories or
        groups also gives the kind of each feature, and one with groups its columns.
        """
        tied = self.tied_ranks
        return [
            {
                "feature": self.names[j],
                "rank": int(self.ranks[j]),
                "rank_min": int(tied[j]),
                "score": float(self.scores[j]) if math.isfinite(self.scores[j]) else None,
                "selected": bool(self.selected[j]),
                "flag": _flag(self.scores[j]),
                **({} if self.kinds is None else {"kind": self.kinds[j]}),
                **({} if self.members is None else {"columns": list(self.members[j])}),
                **self._selection_facts(j),
                **self._missing_facts(j),
            }
            for j in self.order
        ]

    def _selection_facts(self, j: int) -> dict[str, Any]:
        if (
            self.gain is None
            or self.redundancy is None
            or self.closest is None
            or self.closest_correlation is None
        ):
            return {}
        of = int(self.closest[j])
        return {
            "gain": None if math.isnan(self.gain[j]) else float(self.gain[j]),
            "redundancy": None if math.isnan(self.redundancy[j]) else float(self.redundancy[j]),
            "closest": self.names[of] if of >= 0 else None,
            "closest_correlation": float(self.closest_correlation[j]) if of >= 0 else None,
        }

    def _missing_facts(self, j: int) -> dict[str, Any]:
        if self.missing is None:
            return {}
        p_value = float(self.missing.p_values[j])
        return {
            "missing": float(self.missing.shares[j]),
            "missing_p_value": None if math.isnan(p_value) else p_value,
        }

    def to_frame(self) -> Any:
        """Return a pandas data frame, best first. NaN and infinite scores stay as they are."""
        try:
            import pandas as pd
        except ModuleNotFoundError as error:
            raise ImportError('to_frame needs pandas: pip install "graphsieve[pandas]"') from error
        records = self.to_records()
        frame = pd.DataFrame(records, columns=list(records[0]) if records else None)
        frame["score"] = self.scores[self.order]
        for name, values in (("gain", self.gain), ("redundancy", self.redundancy)):
            if values is not None:
                frame[name] = values[self.order]
        return frame

    def facts(self) -> dict[str, Any]:
        """Return the ranking as plain values, for JSON and reports."""
        return {
            "schema": SCHEMA,
            "method": self.method,
            "is_search": self.method not in METHODS,
            "reason": self.reason,
            "summary": self._about.summary,
            "reference": self._about.reference,
            "good": "large" if self.large_is_good else "small",
            "n_samples": self.n_samples,
            "n_features": len(self),
            "n_neighbors": self.n_neighbors,
            "bandwidth": self.bandwidth,
            "neighbor_recall": self.neighbor_recall,
            "candidate": self.candidate,
            "candidates": self.candidates,
            "count_reason": self.count_reason,
            **({} if self.missing is None else {"missing": self._all_missing_facts()}),
            "features": self.to_records(),
        }

    def _all_missing_facts(self) -> dict[str, Any]:
        assert self.missing is not None
        informative = [j for j in self.order if self.missing.informative[j]]
        return {
            "n_values": self.missing.n_cells,
            "n_features": self.missing.n_features,
            "informative": [self.names[j] for j in informative],
        }

    def to_json(self) -> str:
        """Return the ranking as JSON."""
        return json_text(self.facts())

    def to_html(
        self,
        path: str | Path | None = None,
        *,
        title: str = "graphsieve ranking",
        comparison: Any = None,
    ) -> str:
        """Return a self-contained HTML page that opens offline.

        It shows the ranking, the cut-off, plots of the best features, and their redundancy.

        Parameters
        ----------
        path : str or Path, optional
            File to write. An existing file is replaced as a whole, never left half-written.
        title : str
            Heading of the page.
        comparison : graphsieve.assess.comparison.results.Comparison, optional
            Result of `graphsieve.compare` on the same table, shown on the page.
        """
        if comparison is not None and not hasattr(comparison, "evaluation"):
            raise InputTypeError(
                parameter("comparison", comparison),
                f" must be a result of graphsieve.compare, got {quoted(comparison)}.",
            )
        file = None if path is None else named_file(path)
        compared = None if comparison is None else comparison.page_facts()
        text = page(self.report_facts(title=title, comparison=compared))
        if file is not None:
            replace_file(file, text)
        return text

    def report_facts(
        self,
        *,
        title: str = "graphsieve ranking",
        target: str | None = None,
        table: dict[str, Any] | None = None,
        comparison: dict[str, Any] | None = None,
        repeat: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return everything that the page shows, as plain values.

        `target` is the name of the target, `table` describes the file, and `repeat` holds the
        commands that reproduce the result.
        """
        drawn = self.portraits
        if drawn is not None and drawn["target"] is not None:
            several = self.known is not None and self.known["n_targets"] > 1
            name = "the first target" if several else target
            drawn = {**drawn, "target": {**drawn["target"], "name": name}}
        return {
            "schema": SCHEMA,
            "title": title,
            "ranking": self.page_facts(),
            "table": table,
            "known": None if self.known is None else {**self.known, "target": target},
            "portraits": drawn,
            "comparison": comparison,
            "done": {
                "parameters": [list(pair) for pair in self.parameters],
                "versions": [list(pair) for pair in versions()],
                "warnings": list(self.warnings),
            },
            "repeat": repeat,
        }

    def page_facts(self) -> dict[str, Any]:
        """Return the facts with the type of the target and the length of each bar, for reports."""
        facts = {**self.facts(), "target_read_as": _target_read_as(self.known)}
        for record, strength in zip(facts["features"], self.strengths()[self.order], strict=True):
            record["strength"] = float(strength)
        return facts

    def _repr_html_(self) -> str:
        return fragment(self.report_facts())

    def plot(self, *, n: int = ROWS_SHOWN, ax: Any = None) -> Any:
        """Draw the scores of the best `n` features as bars, and return the matplotlib axes."""
        return draw_ranking(self, n=n, ax=ax)


def versions() -> list[tuple[str, str]]:
    """Return the versions that a result depends on."""
    return [
        ("graphsieve", __version__),
        ("Python", platform.python_version()),
        *((name, version(name)) for name in DEPENDENCIES),
    ]


def _target_read_as(known: dict[str, Any] | None) -> str | None:
    """Return the type of the target in words, or None if there are neither labels nor targets."""
    if known is None or known["kind"] not in ("labels", "targets"):
        return None
    if known["kind"] == "targets":
        several = known["n_targets"] > 1
        return f"{known['n_targets']} targets" if several else "a continuous target"
    n_classes = sum(one["n"] > 0 for one in known["classes"] or ())
    return f"{n_classes} {'class' if n_classes == 1 else 'classes'}"


def _flag(score: float) -> str | None:
    if math.isnan(score):
        return "unscorable"
    return "infinite" if math.isinf(score) else None

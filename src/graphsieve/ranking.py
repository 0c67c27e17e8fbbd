"""The one-call way: rank the columns of a table and look at the answer."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve.containers import column_names, shown_name
from graphsieve.parameters import count
from graphsieve.report import write_page
from graphsieve.report.page import already_said
from graphsieve.scores import METHODS
from graphsieve.search import SEARCHES
from graphsieve.selectors import GraphSieve
from graphsieve.supervision import Supervision, TargetType

ROWS_SHOWN = 20
NAME_WIDTH = 32
BAR_WIDTH = 24
SCHEMA = 1


def rank(
    X: Any,
    y: Any = None,
    *,
    supervision: Supervision | None = None,
    method: str = "auto",
    n_features_to_select: int | float | str | None = None,
    redundancy: str | None = "auto",
    max_features: int | None = None,
    n_neighbors: int | str = "auto",
    bandwidth: float | str = "auto",
    scale: str | None = "auto",
    metric: str = "auto",
    target_type: TargetType = "auto",
    unlabeled: int | None = -1,
    method_params: dict[str, Any] | None = None,
    compress: str | None = None,
    n_prototypes: int | tuple[int, int] | None = None,
    progress: bool | None = None,
) -> Ranking:
    """Rank the columns of a table by what is known of its rows.

    Parameters
    ----------
    X, y, supervision
        As in `GraphSieve.fit`.
    method, n_features_to_select, redundancy, max_features, n_neighbors, bandwidth, scale, metric, target_type, unlabeled, \
method_params, compress, n_prototypes, progress
        As in `GraphSieve`.

    Returns
    -------
    Ranking

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> rank(X, y).best(2)
    ['petal length (cm)', 'sepal width (cm)']
    >>> rank(X, y, method="fisher").best(2)
    ['petal length (cm)', 'petal width (cm)']
    """
    sieve = GraphSieve(
        method,
        n_features_to_select=n_features_to_select,
        redundancy=redundancy,
        max_features=max_features,
        n_neighbors=n_neighbors,
        bandwidth=bandwidth,
        scale=scale,
        metric=metric,
        target_type=target_type,
        unlabeled=unlabeled,
        method_params=method_params,
        compress=compress,
        n_prototypes=n_prototypes,
        progress=progress,
    ).fit(X, y, supervision=supervision)
    names = column_names(X) or tuple(f"x{j}" for j in range(sieve.n_features_in_))
    return Ranking(
        names=names,
        scores=sieve.scores_,
        ranks=sieve.ranking_,
        selected=sieve.get_support(),
        method=sieve.method_,
        reason=sieve.reason_,
        large_is_good=sieve.large_is_good_,
        n_samples=sieve.n_samples_,
        n_neighbors=sieve.n_neighbors_,
        bandwidth=sieve.bandwidth_,
        redundancy=sieve.redundancy_,
        duplicate_of=sieve.duplicate_of_,
        duplicate_correlation=sieve.duplicate_correlation_,
        count_reason=None if sieve.count_ is None else sieve.count_.reason,
    )


@dataclass(frozen=True, eq=False)
class Ranking:
    """The columns of a table, ranked. It prints as a table.

    Attributes
    ----------
    names : tuple of str
        In the order of the columns, as are all arrays here.
    scores : array of float
        The method's own number; NaN where a feature cannot be scored.
    ranks : array of int
        1 is the best.
    selected : array of bool
        The features within `n_features_to_select`.
    method, reason : str
        The method that ran, and why.
    large_is_good : bool
        Whether large scores are good.
    n_samples : int
        Rows of the table.
    n_neighbors, bandwidth : int, float or None
        As used.
    redundancy : array of float or None
        Where features were chosen for what others do not say: the share of each one's variance that the chosen ones explain; for
        a chosen one, those before it.
    duplicate_of : array of int or None
        The chosen feature that each one repeats most; −1 where there is none.
    duplicate_correlation : array of float or None
        The correlation with that feature.
    count_reason : str or None
        Why so many are selected, if that was to be found out.
    """

    names: tuple[str, ...]
    scores: NDArray[np.float64]
    ranks: NDArray[np.int64]
    selected: NDArray[np.bool_]
    method: str
    reason: str
    large_is_good: bool
    n_samples: int
    n_neighbors: int | None = None
    bandwidth: float | None = None
    redundancy: NDArray[np.float64] | None = None
    duplicate_of: NDArray[np.int64] | None = None
    duplicate_correlation: NDArray[np.float64] | None = None
    count_reason: str | None = None

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def order(self) -> NDArray[np.intp]:
        """Column positions, best first."""
        return np.argsort(self.ranks)

    @property
    def tied_ranks(self) -> NDArray[np.int64]:
        """Ranks in which equal scores share the best of their places; in an order of choice every feature has its own."""
        if self.redundancy is not None:
            return self.ranks.copy()
        scored = ~np.isnan(self.scores)
        distinct, which = np.unique(self.scores[scored], return_inverse=True)
        best = np.full(len(distinct), len(self), dtype=np.int64)
        np.minimum.at(best, which, self.ranks[scored])
        result = self.ranks.copy()
        result[scored] = best[which]
        return result

    def best(self, n: int) -> list[str]:
        """The names of the n best features."""
        n = count(1, len(self))("n", n)
        return [self.names[j] for j in self.order[:n]]

    def strengths(self) -> NDArray[np.float64]:
        """Each score as a length from 0 (worst finite score) to 1 (best), for bars; 0 where there is no score."""
        signed = self.scores if self.large_is_good else -self.scores
        finite = np.isfinite(signed)
        low, high = (signed[finite].min(), signed[finite].max()) if finite.any() else (0.0, 1.0)
        with np.errstate(invalid="ignore"):
            lengths = (signed - low) / (high - low) if high > low else np.ones(len(signed))
        lengths = np.where(np.isposinf(signed), 1.0, np.where(np.isneginf(signed) | np.isnan(signed), 0.0, lengths))
        return np.asarray(lengths)

    def __str__(self) -> str:
        lines = [self._headline(), self._subline()]
        if self.count_reason is not None:
            n_selected = int(self.selected.sum())
            lines.append(f"{n_selected} {'is' if n_selected == 1 else 'are'} selected: {self.count_reason}")
        width = min(NAME_WIDTH, max(len("feature"), *(len(shown_name(name, NAME_WIDTH)) for name in self.names)))
        repeated = "" if self.redundancy is None else f"  {'':<{BAR_WIDTH}}  already said"
        lines += ["", f"{'rank':>5}  {'feature':<{width}}  {'score':>10}{repeated}".rstrip()]
        strengths = self.strengths()
        for j in self.order[:ROWS_SHOWN]:
            name = shown_name(self.names[j], width)
            bar = "█" * round(BAR_WIDTH * strengths[j]) if not math.isnan(self.scores[j]) else "not scored"
            note = self._repetition(j)
            bar = f"{bar:<{BAR_WIDTH}}  {note}" if note else bar
            lines.append(f"{self.ranks[j]:>5}  {name:<{width}}  {_number(self.scores[j]):>10}  {bar}".rstrip())
        if len(self) > ROWS_SHOWN:
            lines.append(f"       … {len(self) - ROWS_SHOWN} more; to_frame() has them all")
        return "\n".join(lines)

    def _headline(self) -> str:
        if self.redundancy is not None:
            score = "" if self.method not in METHODS else f"its {self.method} score and "
            return f"{len(self)} features of {self.n_samples} samples, in the order of choice: each for {score}what it adds"
        good = "large" if self.large_is_good else "small"
        return f"{len(self)} features of {self.n_samples} samples, ranked by {self.method} ({good} is good)"

    def _subline(self) -> str:
        return f"because {self.reason}" if self.reason != "as asked" else f"a good feature {self._about.summary}"

    @property
    def _about(self) -> Any:
        """The entry of the registry: a method, or the search."""
        return METHODS[self.method] if self.method in METHODS else SEARCHES[self.method]

    def _repetition(self, j: int) -> str:
        """What of a feature others have already said, such as ``"93 %, most like hue"``."""
        if self.redundancy is None or self.duplicate_of is None:
            return ""
        of = int(self.duplicate_of[j])
        return already_said(float(self.redundancy[j]), shown_name(self.names[of], NAME_WIDTH) if of >= 0 else None)

    __repr__ = __str__

    def to_records(self) -> list[dict[str, Any]]:
        """One plain dict per feature, best first; no NaN or infinity: such scores are None, with a flag that says which."""
        tied = self.tied_ranks
        return [
            {
                "feature": self.names[j],
                "rank": int(self.ranks[j]),
                "rank_min": int(tied[j]),
                "score": float(self.scores[j]) if math.isfinite(self.scores[j]) else None,
                "selected": bool(self.selected[j]),
                "flag": _flag(self.scores[j]),
                **self._repetition_facts(j),
            }
            for j in self.order
        ]

    def _repetition_facts(self, j: int) -> dict[str, Any]:
        if self.redundancy is None or self.duplicate_of is None or self.duplicate_correlation is None:
            return {}
        of = int(self.duplicate_of[j])
        return {
            "redundancy": None if math.isnan(self.redundancy[j]) else float(self.redundancy[j]),
            "duplicate_of": self.names[of] if of >= 0 else None,
            "duplicate_correlation": float(self.duplicate_correlation[j]) if of >= 0 else None,
        }

    def to_frame(self) -> Any:
        """A pandas data frame, best first, with the scores as they are."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError('to_frame needs pandas: pip install "graphsieve[pandas]"') from error
        records = self.to_records()
        frame = pd.DataFrame(records, columns=list(records[0]) if records else None)
        frame["score"] = self.scores[self.order]
        if self.redundancy is not None:
            frame["redundancy"] = self.redundancy[self.order]
        return frame

    def facts(self) -> dict[str, Any]:
        """Everything about the ranking as plain values, the source of JSON and pages."""
        return {
            "schema": SCHEMA,
            "method": self.method,
            "reason": self.reason,
            "summary": self._about.summary,
            "reference": self._about.reference,
            "good": "large" if self.large_is_good else "small",
            "n_samples": self.n_samples,
            "n_features": len(self),
            "n_neighbors": self.n_neighbors,
            "bandwidth": self.bandwidth,
            "count_reason": self.count_reason,
            "features": self.to_records(),
        }

    def to_json(self) -> str:
        """The ranking as JSON text."""
        return json.dumps(self.facts(), ensure_ascii=False, allow_nan=False, indent=1)

    def to_html(self, path: str | Path | None = None, *, title: str = "graphsieve ranking") -> str:
        """A self-contained page with the ranking as bars; written to `path` if one is given.

        An existing file is replaced whole, never left half-written.
        """
        return write_page([self.page_facts()], title=title, path=path)

    def page_facts(self) -> dict[str, Any]:
        """The facts with the length of each feature's bar, as a page wants them."""
        facts = self.facts()
        for record, strength in zip(facts["features"], self.strengths()[self.order], strict=True):
            record["strength"] = float(strength)
        return facts

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def plot(self, *, n: int = ROWS_SHOWN, ax: Any = None) -> Any:
        """The best `n` features as horizontal bars of their scores; returns the matplotlib axes."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError('plot needs matplotlib: pip install "graphsieve[plot]"') from error
        n = count(1)("n", n)
        shown = [j for j in self.order[:n] if math.isfinite(self.scores[j])]
        if ax is None:
            _, ax = plt.subplots(figsize=(7, 0.6 + 0.28 * len(shown)), layout="constrained")
        colors = ["#1f6f78" if self.selected[j] else "#b8c4c6" for j in shown]
        ax.barh(range(len(shown)), self.scores[shown], color=colors)
        names = [shown_name(self.names[j], NAME_WIDTH) for j in shown]
        ax.set_yticks(range(len(shown)), [name.replace("$", r"\$") for name in names])
        ax.invert_yaxis()
        good = "large" if self.large_is_good else "small"
        score = f"{self.method} score ({good} is good)" if self.method in METHODS else "share explained alone"
        ax.set_xlabel(score if self.redundancy is None else f"{score}; from top to bottom in the order of choice")
        ax.spines[["top", "right"]].set_visible(False)
        return ax


def _number(score: float) -> str:
    return "" if math.isnan(score) else f"{score:.4g}"


def _flag(score: float) -> str | None:
    if math.isnan(score):
        return "unscorable"
    return "infinite" if math.isinf(score) else None

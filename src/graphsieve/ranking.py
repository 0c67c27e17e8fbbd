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

from graphsieve.containers import column_names
from graphsieve.parameters import count
from graphsieve.report import write_page
from graphsieve.scores import METHODS
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
    n_features_to_select: int | float | None = None,
    n_neighbors: int | str = "auto",
    bandwidth: float | str = "auto",
    scale: str | None = "standard",
    target_type: TargetType = "auto",
    unlabeled: int | None = -1,
    method_params: dict[str, Any] | None = None,
    compress: str | None = None,
    n_prototypes: int | tuple[int, int] | None = None,
) -> Ranking:
    """Rank the columns of a table by what is known of its rows.

    Parameters
    ----------
    X, y, supervision
        As in `GraphSieve.fit`.
    method, n_features_to_select, n_neighbors, bandwidth, scale, target_type, unlabeled, method_params, compress, n_prototypes
        As in `GraphSieve`.

    Returns
    -------
    Ranking

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> rank(X, y).best(2)
    ['petal length (cm)', 'petal width (cm)']
    """
    sieve = GraphSieve(
        method,
        n_features_to_select=n_features_to_select,
        n_neighbors=n_neighbors,
        bandwidth=bandwidth,
        scale=scale,
        target_type=target_type,
        unlabeled=unlabeled,
        method_params=method_params,
        compress=compress,
        n_prototypes=n_prototypes,
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

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def order(self) -> NDArray[np.intp]:
        """Column positions, best first."""
        return np.argsort(self.ranks)

    @property
    def tied_ranks(self) -> NDArray[np.int64]:
        """Ranks in which equal scores share the best of their places."""
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
        good = "large" if self.large_is_good else "small"
        lines = [
            f"{len(self)} features of {self.n_samples} samples, ranked by {self.method} ({good} is good)",
            f"because {self.reason}" if self.reason != "as asked" else f"a good feature {METHODS[self.method].summary}",
            "",
        ]
        width = min(NAME_WIDTH, max(len("feature"), *(len(_one_line(name)) for name in self.names)))
        lines.append(f"{'rank':>5}  {'feature':<{width}}  {'score':>10}")
        strengths = self.strengths()
        for j in self.order[:ROWS_SHOWN]:
            name = _shortened(_one_line(self.names[j]), width)
            bar = "█" * round(BAR_WIDTH * strengths[j]) if not math.isnan(self.scores[j]) else "not scored"
            lines.append(f"{self.ranks[j]:>5}  {name:<{width}}  {_number(self.scores[j]):>10}  {bar}".rstrip())
        if len(self) > ROWS_SHOWN:
            lines.append(f"       … {len(self) - ROWS_SHOWN} more; to_frame() has them all")
        return "\n".join(lines)

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
            }
            for j in self.order
        ]

    def to_frame(self) -> Any:
        """A pandas data frame, best first, with the scores as they are."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError('to_frame needs pandas: pip install "graphsieve[pandas]"') from error
        frame = pd.DataFrame(self.to_records(), columns=["feature", "rank", "rank_min", "score", "selected", "flag"])
        frame["score"] = self.scores[self.order]
        return frame

    def facts(self) -> dict[str, Any]:
        """Everything about the ranking as plain values, the source of JSON and pages."""
        return {
            "schema": SCHEMA,
            "method": self.method,
            "reason": self.reason,
            "summary": METHODS[self.method].summary,
            "reference": METHODS[self.method].reference,
            "good": "large" if self.large_is_good else "small",
            "n_samples": self.n_samples,
            "n_features": len(self),
            "n_neighbors": self.n_neighbors,
            "bandwidth": self.bandwidth,
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
        shown = [j for j in self.order[:n] if math.isfinite(self.scores[j])]
        if ax is None:
            _, ax = plt.subplots(figsize=(7, 0.6 + 0.28 * len(shown)), layout="constrained")
        colors = ["#1f6f78" if self.selected[j] else "#b8c4c6" for j in shown]
        ax.barh(range(len(shown)), self.scores[shown], color=colors)
        names = [_shortened(_one_line(self.names[j]), NAME_WIDTH) for j in shown]
        ax.set_yticks(range(len(shown)), [name.replace("$", r"\$") for name in names])
        ax.invert_yaxis()
        ax.set_xlabel(f"{self.method} score ({'large' if self.large_is_good else 'small'} is good)")
        ax.spines[["top", "right"]].set_visible(False)
        return ax


def _number(score: float) -> str:
    return "" if math.isnan(score) else f"{score:.4g}"


def _flag(score: float) -> str | None:
    if math.isnan(score):
        return "unscorable"
    return "infinite" if math.isinf(score) else None


def _one_line(name: str) -> str:
    """A name without line breaks and other control characters, so that a table stays a table."""
    return "".join(character if character.isprintable() else "·" for character in name) or "(no name)"


def _shortened(name: str, width: int) -> str:
    return name if len(name) <= width else name[: width - 1] + "…"

"""Results of a comparison: rankings, their agreement, curves, and findings in sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any

import numpy as np

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.atomic_files import json_text
from graphsieve._base.errors import InputError
from graphsieve._base.parameters import choice, count
from graphsieve.assess.comparison.findings import SHOWN, Judged, agreement_table, sentences, tables
from graphsieve.assess.evaluation.learners import LEARNERS
from graphsieve.assess.evaluation.results import METRICS, Evaluation, Records

SCHEMA = 1
TEXT_WIDTH = 100
FIRST = 10  # largest number of first columns for which the overlap is shown


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Comparison of several methods. It prints as sentences and tables.

    Attributes
    ----------
    methods : tuple of str
        Names of the methods.
    names : tuple of str
        Names of the columns.
    n_samples : int
        Number of rows.
    known : str
        Short description of the supervision.
    sizes : tuple of int
        Numbers of columns, in ascending order.
    orders : array of int of shape (n_methods, n_features)
        Column positions, best first, for each method on the whole table. Searches select as many
        columns as the largest size. The remaining columns follow in the order of the search.
    ranks : array of int of shape (n_methods, n_features)
        Ranks, where 1 is the best. Ties share the best rank.
    agreement : array of float of shape (n_methods, n_methods)
        Kendall's tau-b between the ranks. It is NaN if a method ties all columns. Columns that are
        kept or excluded do not count.
    overlap : array of float of shape (n_sizes, n_methods, n_methods)
        Share of the first columns that two methods have in common, for every size.
    by_chance : tuple of float
        Share of the first columns that two random orders have in common on average, for every size.
        Without columns to keep and candidates, it is size / n_features.
    evaluation : Evaluation or None
        Cross-validated performance, with the baselines ``"random"`` (mean over five random orders
        in every fold) and ``"all"``. None if there is nothing to predict.
    notes : tuple of str
        Deviations from the default procedure, with their reasons.
    """

    methods: tuple[str, ...]
    names: tuple[str, ...]
    n_samples: int
    known: str
    sizes: tuple[int, ...]
    orders: Integers
    ranks: Integers
    agreement: Floats
    overlap: Floats
    by_chance: tuple[float, ...]
    evaluation: Evaluation | None
    notes: tuple[str, ...]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.names)

    @property
    def n_first(self) -> int:
        """Number of first columns for which the overlap is shown.

        It is the largest size up to ten at which random orders overlap by at most half, or else the
        smallest size.
        """
        shares = zip(self.sizes, self.by_chance, strict=True)
        few = [size for size, share in shares if size <= FIRST and share <= 0.5]
        return few[-1] if few else self.sizes[0]

    def best(self, method: str, n: int) -> list[str]:
        """Return the names of the n best columns by one method."""
        row = self.methods.index(str(choice(self.methods)("method", method)))
        n = count(1, self.n_features)("n", n)
        return [self.names[j] for j in self.orders[row, :n]]

    def sentences(self) -> list[str]:
        """Return the findings: one text per learner (if there are curves), one on agreement, and
        the notes.
        """
        found = [] if self.evaluation is None else sentences(self.evaluation)
        return [*found, *self._agreement_sentences(), *self.notes]

    def _agreement_sentences(self) -> list[str]:
        if len(self.methods) < 2:
            return []
        pairs = np.triu_indices(len(self.methods), 1)
        taus = self.agreement[pairs]
        mean = float(self._overlap[pairs].mean())
        text = (
            f"{self._first} of two methods overlap by {100 * mean:.0f} % on average; two random "
            f"orders overlap by {self._by_chance}"
        )
        if np.isnan(taus).all() or len(taus) < 2:
            correlation = f". The Kendall rank correlation of the two methods is {_tau(taus[0])}"
            return [f"{text}{'' if np.isnan(taus).all() else correlation}."]
        most, least = int(np.nanargmax(taus)), int(np.nanargmin(taus))
        alike, apart = (
            f"{self.methods[pairs[0][at]]} and {self.methods[pairs[1][at]]} ({_tau(taus[at])})"
            for at in (most, least)
        )
        return [
            f"{text}. The Kendall rank correlation is highest for {alike} and lowest for {apart}."
        ]

    @property
    def _overlap(self) -> Floats:
        return np.asarray(self.overlap[self.sizes.index(self.n_first)])

    @property
    def _first(self) -> str:
        return "The first columns" if self.n_first == 1 else f"The first {self.n_first} columns"

    @property
    def _by_chance(self) -> str:
        return f"{100 * self.by_chance[self.sizes.index(self.n_first)]:.2g} %"

    def __str__(self) -> str:
        lines = [
            line
            for text in self.sentences()
            for line in wrap(text, TEXT_WIDTH, break_long_words=False)
        ]
        lines += ["", f"Table: {self.n_features} columns, {self.n_samples} rows; {self.known}"]
        if self.evaluation is not None:
            lines += tables(self.evaluation)
        if len(self.methods) > 1:
            lines += [
                "",
                *self._agreement_heading(),
                *agreement_table(self.methods, self.agreement, self._overlap),
            ]
        return "\n".join(lines)

    def _agreement_heading(self) -> list[str]:
        first = "column" if self.n_first == 1 else f"{self.n_first} columns"
        return [
            "Agreement of rankings, below the diagonal: Kendall's tau (1: same order, 0: chance);",
            f"above the diagonal: overlap of the first {first} (chance: {self._by_chance})",
        ]

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def to_records(self) -> list[dict[str, Any]]:
        """Return the curves as plain dicts, one per method, learner, metric and number of columns.

        The values are the mean, its standard error, and the gain over random columns.
        ``gain_over_random`` is positive if the method is better. ``gain_standard_error`` is its
        standard error over the same folds. Undefined values are None, not NaN. Without curves the
        list is empty.
        """
        if self.evaluation is None:
            return []
        rows = []
        for metric in self.evaluation.metrics:
            sign = 1 if METRICS[metric][1] else -1
            gains = {
                (row["selector"], row["learner"], row["n_features"]): row
                for row in self.evaluation.differences(to="random", metric=metric)
            }
            for row in self.evaluation.summary(metric=metric):
                gain = gains.get((row["selector"], row["learner"], row["n_features"]))
                rows.append(
                    {
                        "method": SHOWN.get(row["selector"], row["selector"]),
                        "learner": row["learner"],
                        "metric": metric,
                        "n_features": row["n_features"],
                        "mean": _finite(row["mean"]),
                        "standard_error": _finite(row["standard_error"]),
                        "n": row["n"],
                        "gain_over_random": None if gain is None else _finite(sign * gain["mean"]),
                        "gain_standard_error": None
                        if gain is None
                        else _finite(gain["standard_error"]),
                    }
                )
        return rows

    def to_frame(self) -> Any:
        """Return `to_records` as a pandas data frame."""
        return Records(self.to_records()).to_frame()

    def facts(self) -> dict[str, Any]:
        """Return the comparison as plain values, without NaN or infinity."""
        return {
            "schema": SCHEMA,
            "methods": list(self.methods),
            "n_samples": self.n_samples,
            "n_features": self.n_features,
            "known": self.known,
            "sizes": list(self.sizes),
            "text": self.sentences(),
            "rankings": [
                {
                    "method": name,
                    "features": [self.names[j] for j in order],
                    "ranks": ranks[order].tolist(),
                }
                for name, order, ranks in zip(self.methods, self.orders, self.ranks, strict=True)
            ],
            "agreement": [[_finite(value) for value in row] for row in self.agreement],
            "overlap": [
                {"n_features": size, "by_chance": by_chance, "values": shares.tolist()}
                for size, by_chance, shares in zip(
                    self.sizes, self.by_chance, self.overlap, strict=True
                )
            ],
            "evaluation": self._evaluation_facts(),
            "notes": list(self.notes),
        }

    def _evaluation_facts(self) -> dict[str, Any] | None:
        found = self.evaluation
        if found is None:
            return None
        return {
            "task": found.task,
            "learners": list(found.learners),
            "metrics": list(found.metrics),
            "folds": found.folds,
            "repeats": found.repeats,
            "test_ratio": _finite(found.test_ratio),
            "known": found.knowledge,
            "curves": self.to_records(),
        }

    def to_json(self) -> str:
        """Return the comparison as JSON text."""
        return json_text(self.facts())

    def page_facts(self) -> dict[str, Any]:
        """Return the facts that a report page needs."""
        return {
            "methods": list(self.methods),
            # The page can only draw numbers, so an undefined agreement is shown as 0.
            "agreement": [[_finite(value) or 0.0 for value in row] for row in self.agreement],
            "agreement_text": "Kendall's tau between the rankings: 1 means the same order, 0 is "
            "expected by chance.",
            "curves": None
            if self.evaluation is None
            else [self._figure(learner) for learner in self.evaluation.learners],
            "text": self.sentences(),
        }

    def _figure(self, learner: str) -> dict[str, Any]:
        found = self.evaluation
        assert found is not None
        judged = Judged(found, learner)
        times = f"{found.folds} folds" + (
            f" × {found.repeats} repeats" if found.repeats > 1 else ""
        )
        metric = METRICS[judged.metric][0]
        return {
            "label": learner,
            "title": LEARNERS[learner].summary if learner in LEARNERS else "user-defined learner",
            "x_label": "number of columns",
            "y_label": f"{metric} (%)" if judged.in_percent else metric,
            "note": f"Mean over {times}, which are the same for all methods. Bands show one "
            "standard error.",
            "series": [self._series(judged, name) for name in found.selectors],
        }

    def _series(self, judged: Judged, name: str) -> dict[str, Any]:
        places = range(len(self.sizes))
        errors = [_finite(judged.error(name, place)) for place in places]
        return {
            "name": SHOWN.get(name, name),
            "x": list(self.sizes),
            "y": [_finite(judged.mean(name, place)) for place in places],
            "standard_error": None if None in errors else errors,
        }

    def plot(self, *, metric: str | None = None, axes: Any = None) -> Any:
        """Plot the curves, one panel per learner, as in `Evaluation.plot`. Requires matplotlib."""
        if self.evaluation is None:
            raise InputError(
                "there are no curves to draw; pass labels or targets to predict as y to compare."
            )
        return self.evaluation.plot(metric=metric, axes=axes)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _tau(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")

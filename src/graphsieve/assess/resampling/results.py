"""Results of resampling: selection frequencies and ranks of the features, tables and plots."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.errors import InputError
from graphsieve._base.parameters import count, must_be, one_line, remedy
from graphsieve.assess.evaluation.results import Records, table_lines
from graphsieve.assess.resampling.duplicates import SAME_FROM, Group
from graphsieve.assess.resampling.measures import LEVEL, Agreement
from graphsieve.report.figures import draw_rank_intervals
from graphsieve.table.containers import shown_name

RANKS_WITHIN = (0.05, 0.95)  # quantiles that bound a rank interval
ROWS_SHOWN = 20
GROUPS_SHOWN = 8
NAME_WIDTH = 32
BAR_WIDTH = 25
# Largest rank on a linear axis. Longer axes are logarithmic, so that the first ranks are readable.
EVEN_UP_TO = 60


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """Selection frequency and rank of each feature over resamples. It prints as a table.

    Attributes
    ----------
    names : tuple of str
        Names of the features, in column order, as in all arrays of this class.
    frequency : array of float
        Share of resamples in which a feature is selected.
    frequency_low, frequency_high : array of float
        Wilson's 95 % confidence interval for the frequency in the limit of infinitely many
        resamples of the same data.
    rank_low, rank_median, rank_high : array of float
        5 %, 50 % and 95 % quantiles of the rank of a feature, where 1 is the best. Each quantile is
        a rank that occurred.
    selected : array of bool
        Features that are selected from all samples.
    agreement : Agreement
        Stability index of Nogueira, Sechidis and Brown (2018) with its 95 % confidence interval.
        See `index`.
    groups : tuple of Group
        Features that were selected at least once, in groups with an absolute correlation of at
        least 0.95 with the first feature. Near-duplicates replace each other in the selections:
        each of them may be selected rarely, although one of them is always selected.
    chosen : array of bool of shape (n_resamples, n_features)
        Features selected in each resample.
    selector : str
        Name of the selector.
    n_samples, n_rows : int
        Number of samples in total, and in a resample.
    hide : float or None
        Share of the known labels or targets that is hidden in each resample.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from graphsieve import stability
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> stability("fisher", X, y, n_features_to_select=1, n_resamples=10)  # doctest: +ELLIPSIS
    Stability of selector 'fisher': 75 of 150 samples drawn 10 times ...
    """

    names: tuple[str, ...]
    frequency: Floats
    frequency_low: Floats
    frequency_high: Floats
    rank_low: Floats
    rank_median: Floats
    rank_high: Floats
    selected: Booleans
    agreement: Agreement
    groups: tuple[Group, ...]
    chosen: Booleans
    selector: str
    n_samples: int
    n_rows: int
    hide: float | None = None

    def __len__(self) -> int:
        return len(self.names)

    @property
    def n_resamples(self) -> int:
        """Number of resamples."""
        return len(self.chosen)

    @property
    def index(self) -> float:
        """Stability index: 1 for identical selections, 0 on average for random selections.

        It is NaN if every resample selects no features or every resample selects all features.
        """
        return self.agreement.value

    @property
    def mean_selected(self) -> float:
        """Mean number of features selected in a resample."""
        return float(self.chosen.sum(axis=1).mean())

    @property
    def order(self) -> Integers:
        """Column positions in descending order of selection frequency."""
        return most_frequent_first(self.frequency, self.rank_median)

    def stable(self, threshold: float = 0.75) -> Booleans:
        """Return a mask of the features selected in at least this share of the resamples.

        Parameters
        ----------
        threshold : float
            Share above 0 and up to 1. According to Meinshausen and Bühlmann, the result depends
            little on values from 0.6 to 0.9. `expected_false` bounds the expected number of
            irrelevant features among these.
        """
        share = _threshold(threshold, above=0.0)
        # The tolerance prevents rounding errors: 0.7 of 10 resamples must be 7.
        return np.asarray(self.chosen.sum(axis=0) >= share * self.n_resamples - 1e-9)

    def expected_false(self, threshold: float = 0.75) -> float:
        """Upper bound on the expected number of irrelevant features in `stable(threshold)`.

        The bound is q² / ((2·threshold − 1) p). Here q is the mean number of features selected in a
        resample, and p is the number of all features. Select few features per resample to obtain a
        small bound. If q² is close to p, the bound is useless.

        The bound has three assumptions. Resamples contain at most half of the samples. All
        irrelevant features are equally likely to be selected. The selector is not worse than
        chance. The second assumption is strong, because noise that correlates with relevant
        features is selected more often than other noise.

        Parameters
        ----------
        threshold : float
            Share above 0.5 and up to 1.

        References
        ----------
        Meinshausen, Bühlmann (2010), Stability selection, theorem 1.
        """
        share = _threshold(threshold, above=0.5)
        if 2 * self.n_rows > self.n_samples:
            raise InputError(
                "expected_false needs resamples of at most half of the samples, but these contain "
                f"{self.n_rows} of {self.n_samples}; use ",
                remedy("fraction", 0.5),
                ".",
            )
        return self.mean_selected**2 / ((2 * share - 1) * len(self))

    def __str__(self) -> str:
        return "\n".join([*self._head(), "", *self._table(), *self._interchangeable()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def _head(self) -> Iterator[str]:
        hidden = (
            ""
            if self.hide is None
            else f", {self.hide:.0%} of their labels or targets hidden".replace("%", " %")
        )
        times = f"{self.n_resamples} times{hidden}"
        yield (
            f"Stability of selector {self.selector!r}: {self.n_rows} of {self.n_samples} samples "
            f"drawn {times}"
        )
        number = f"{self.mean_selected:.1f}".removesuffix(".0")
        yield f"{number} of {len(self)} features selected per resample" + (
            "; the stability index is undefined because all resamples select no or all features"
            if math.isnan(self.index)
            else f"; stability index {self.index:.2f} ({LEVEL:.0%} interval "
            f"{self.agreement.low:.2f} to {self.agreement.high:.2f}; 1: identical, 0: chance)"
        ).replace("%", " %")

    def _table(self) -> Iterator[str]:
        """Format the most frequent features, with a bar over the rank interval and a dot at the
        median.
        """
        order = self.order[:ROWS_SHOWN]
        last = int(max(self.rank_high[order].max(), 2))
        scale = f"1{f'{last}' + (' (log)' if last > EVEN_UP_TO else ''):>{BAR_WIDTH - 1}}"
        rows = [["", "feature", "selected", f"{LEVEL:.0%}".replace("%", " %"), "rank", scale]]
        for j in order:
            low, high = 100 * self.frequency_low[j], 100 * self.frequency_high[j]
            rank = f"{self.rank_median[j]:g} ({self.rank_low[j]:g}–{self.rank_high[j]:g})"
            share = f"{100 * self.frequency[j]:.0f} %"
            mark = "*" if self.selected[j] else ""
            rows.append(
                [
                    mark,
                    shown_name(self.names[j], NAME_WIDTH),
                    share,
                    f"{low:.0f}–{high:.0f}",
                    rank,
                    self._bar(j, last),
                ]
            )
        yield from table_lines(rows, left=[True, True, False, False, False, True])
        if len(self) > ROWS_SHOWN:
            yield f"   … {len(self) - ROWS_SHOWN} more; to_frame() has them all"
        central = f"{RANKS_WITHIN[1] - RANKS_WITHIN[0]:.0%}".replace("%", " %")
        yield f"* selected from all samples; rank: median (range of the central {central})"

    def _bar(self, j: int, last: int) -> str:
        low, middle, high = (
            round(
                (BAR_WIDTH - 1)
                * (
                    math.log(rank) / math.log(last)
                    if last > EVEN_UP_TO
                    else (rank - 1) / (last - 1)
                )
            )
            for rank in (self.rank_low[j], min(self.rank_median[j], last), self.rank_high[j])
        )
        return " " * low + "─" * (middle - low) + "●" + "─" * (high - middle)

    def _interchangeable(self) -> Iterator[str]:
        """Format the groups that are selected more often than any of their features alone."""
        interchangeable = [
            group
            for group in self.groups
            if group.frequency > self.frequency[list(group.columns)].max()
        ]
        if interchangeable:
            yield ""
            yield (
                f"Interchangeable features (absolute correlation of at least {SAME_FROM:g} with "
                "the first):"
            )
        for group in interchangeable[:GROUPS_SHOWN]:
            alone = 100 * self.frequency[group.columns[0]]
            names = one_line(
                ", ".join(shown_name(name, NAME_WIDTH) for name in group.names), 2 * NAME_WIDTH
            )
            often = "in all" if group.frequency == 1 else f"in {100 * group.frequency:.0f} % of"
            yield (
                f"  one of {len(group.columns)} is selected {often} resamples, the first in "
                f"{alone:.0f} %: {names}"
            )
        if len(interchangeable) > GROUPS_SHOWN:
            yield f"  … {len(interchangeable) - GROUPS_SHOWN} more groups"

    def to_records(self) -> list[dict[str, Any]]:
        """Return one plain dict per feature, in descending order of selection frequency.

        `group` is the name of the first feature of its group.
        """
        leader = {j: group for group in self.groups for j in group.columns}
        return [
            {
                "feature": self.names[j],
                "frequency": float(self.frequency[j]),
                "frequency_low": float(self.frequency_low[j]),
                "frequency_high": float(self.frequency_high[j]),
                "rank_low": float(self.rank_low[j]),
                "rank_median": float(self.rank_median[j]),
                "rank_high": float(self.rank_high[j]),
                "selected": bool(self.selected[j]),
                "group": leader[j].names[0] if j in leader else None,
                "group_frequency": leader[j].frequency if j in leader else 0.0,
            }
            for j in self.order.tolist()
        ]

    def to_frame(self) -> Any:
        """Return `to_records` as a pandas data frame."""
        return Records(self.to_records()).to_frame()

    def plot(self, *, n: int = ROWS_SHOWN, ax: Any = None) -> Any:
        """Plot the rank intervals of the `n` most frequently selected features.

        A line covers the central 90 % of the ranks of a feature, coloured by selection frequency. A
        dot marks the median. It is filled if the feature is selected from all samples. Returns the
        matplotlib axes.
        """
        order = self.order[: count(1)("n", n)]
        title = f"stability index {self.index:.2f}" if not math.isnan(self.index) else ""
        return draw_rank_intervals(
            [self.names[j] for j in order],
            self.frequency[order],
            np.stack([self.rank_low[order], self.rank_median[order], self.rank_high[order]]),
            self.selected[order],
            title=f"{self.selector}, {self.n_resamples} resamples, {title}".removesuffix(", "),
            by_factors=self.rank_high[order].max() > EVEN_UP_TO,
            ax=ax,
        )


def most_frequent_first(frequency: Floats, rank_median: Floats) -> Integers:
    """Column positions in descending order of frequency; ties by median rank, then by column."""
    return np.lexsort((rank_median, -frequency)).astype(np.int64)


def _threshold(value: Any, *, above: float) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | np.number)
        or not above < float(value) <= 1
    ):
        raise InputError(
            must_be("threshold", f"a share of the resamples, above {above:g} and up to 1", value)
        )
    return float(value)

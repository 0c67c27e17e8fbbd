"""What many selections have in common: how often each feature is chosen, where it ranks, a
table, a picture.
"""

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

RANKS_WITHIN = (0.05, 0.95)  # the quantiles that a rank interval lies between
ROWS_SHOWN = 20
GROUPS_SHOWN = 8
NAME_WIDTH = 32
BAR_WIDTH = 25
EVEN_UP_TO = 60  # ranks beyond are spaced by factors, or the first ones could not be told apart


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """How often each feature is chosen, and where it ranks, over resamples of the samples. It
    prints as a table.

    Attributes
    ----------
    names : tuple of str
        In the order of the columns, as are all arrays here.
    frequency : array of float
        The share of resamples in which a feature is chosen.
    frequency_low, frequency_high : array of float
        Wilson's 95 % interval for the share that endlessly many resamples of the same data would
        give.
    rank_low, rank_median, rank_high : array of float
        The 5 %, 50 % and 95 % quantiles of a feature's rank (1 is the best), each a rank that
        occurred.
    selected : array of bool
        What is selected from all samples.
    agreement : Agreement
        The stability index of Nogueira, Sechidis and Brown (2018) with its 95 % interval; see
        `index`.
    groups : tuple of Group
        The features that were ever chosen, in groups whose columns correlate with the first one by
        at least 0.95, either sign. Copies of a column take turns, so that each alone is chosen
        seldom and one of them always.
    chosen : array of bool of shape (n_resamples, n_features)
        What was chosen in each resample.
    selector : str
        What the selector is called.
    n_samples, n_rows : int
        Samples in all, and in a resample.
    hide : float or None
        The share of known labels or targets that each resample hides.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from graphsieve import stability
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> stability("fisher", X, y, n_features_to_select=1, n_resamples=10)  # doctest: +ELLIPSIS
    selector 'fisher': what it chooses from 75 of 150 samples, 10 times ...
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
        """How often features were selected."""
        return len(self.chosen)

    @property
    def index(self) -> float:
        """1: always the same features; 0: as if drawn by chance; NaN where none or all of them
        are always chosen.
        """
        return self.agreement.value

    @property
    def mean_selected(self) -> float:
        """How many features are chosen in a resample, on average."""
        return float(self.chosen.sum(axis=1).mean())

    @property
    def order(self) -> Integers:
        """Column positions, those chosen most often first."""
        return most_frequent_first(self.frequency, self.rank_median)

    def stable(self, threshold: float = 0.75) -> Booleans:
        """The features that are chosen in at least this share of the resamples, as a mask.

        Parameters
        ----------
        threshold : float
            Above 0 and up to 1. From 0.6 to 0.9 it matters little, say Meinshausen and Bühlmann;
            `expected_false` bounds how many of these features are there by accident.
        """
        share = _threshold(threshold, above=0.0)
        # Shares are quotients of whole numbers: 0.7 of 10 resamples are 7, whatever the last bit of
        # 0.7 * 10 says.
        return np.asarray(self.chosen.sum(axis=0) >= share * self.n_resamples - 1e-9)

    def expected_false(self, threshold: float = 0.75) -> float:
        """A bound on the expected number of features in `stable(threshold)` that do not matter: q²
        / ((2·threshold − 1) p).

        Here q is the mean number of features chosen in a resample and p that of all features. To
        have few false ones choose few features at a time: where q² is near p the bound is worth
        nothing. It holds if resamples are at most half of the samples, if all features that do not
        matter are equally likely to be chosen, and if the selector is not worse than chance. The
        second is a strong assumption: noise that correlates with what matters is chosen more often
        than other noise.

        Parameters
        ----------
        threshold : float
            Above 0.5 and up to 1.

        References
        ----------
        Meinshausen, Bühlmann (2010), Stability selection, theorem 1.
        """
        share = _threshold(threshold, above=0.5)
        if 2 * self.n_rows > self.n_samples:
            raise InputError(
                "expected_false needs resamples of at most half of the samples, and these hold "
                f"{self.n_rows} of {self.n_samples}; use ",
                remedy("fraction", 0.5),
                ".",
            )
        return self.mean_selected**2 / ((2 * share - 1) * len(self))

    def __str__(self) -> str:
        return "\n".join([*self._head(), "", *self._table(), *self._exchanged()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def _head(self) -> Iterator[str]:
        hidden = (
            ""
            if self.hide is None
            else f", {self.hide:.0%} of their labels hidden".replace("%", " %")
        )
        times = f"{self.n_resamples} times{hidden}"
        yield (
            f"selector {self.selector!r}: what it chooses from {self.n_rows} of {self.n_samples} "
            f"samples, {times}"
        )
        number = f"{self.mean_selected:.1f}".removesuffix(".0")
        yield f"{number} of {len(self)} features at a time" + (
            "; the index of stability is not defined, for it is always none or all of them"
            if math.isnan(self.index)
            else f"; index of stability {self.index:.2f} ({LEVEL:.0%}: {self.agreement.low:.2f} to "
            f"{self.agreement.high:.2f}), where 1 is always the same and 0 is chance"
        ).replace("%", " %")

    def _table(self) -> Iterator[str]:
        """The features chosen most often, with a bar from the lowest to the highest rank and a
        dot at the median.
        """
        order = self.order[:ROWS_SHOWN]
        last = int(max(self.rank_high[order].max(), 2))
        scale = f"1{f'{last}' + (' (log)' if last > EVEN_UP_TO else ''):>{BAR_WIDTH - 1}}"
        rows = [["", "feature", "chosen", f"{LEVEL:.0%}".replace("%", " %"), "rank", scale]]
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
        yield f"* selected from all samples; rank: median, and where {RANKS_WITHIN[1] - RANKS_WITHIN[0]:.0%} of them lie".replace(
            "%", " %"
        )

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

    def _exchanged(self) -> Iterator[str]:
        """The groups of columns that take turns: together they are chosen more often than any of
        them alone.
        """
        turns = [
            group
            for group in self.groups
            if group.frequency > self.frequency[list(group.columns)].max()
        ]
        if turns:
            yield ""
            yield (
                f"columns that take turns (correlation of at least {SAME_FROM:g} with the first "
                "one):"
            )
        for group in turns[:GROUPS_SHOWN]:
            alone = 100 * self.frequency[group.columns[0]]
            names = one_line(
                ", ".join(shown_name(name, NAME_WIDTH) for name in group.names), 2 * NAME_WIDTH
            )
            often = "always" if group.frequency == 1 else f"in {100 * group.frequency:.0f} %"
            yield (
                f"  one of {len(group.columns)} is chosen {often}, the first one in {alone:.0f} %: "
                f"{names}"
            )
        if len(turns) > GROUPS_SHOWN:
            yield f"  … {len(turns) - GROUPS_SHOWN} more such groups"

    def to_records(self) -> list[dict[str, Any]]:
        """One plain dict per feature, those chosen most often first; `group` is the first column
        of its group.
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
        """A pandas data frame of `to_records`."""
        return Records(self.to_records()).to_frame()

    def plot(self, *, n: int = ROWS_SHOWN, ax: Any = None) -> Any:
        """The `n` features chosen most often: a line where 90 % of their ranks lie, coloured by how
        often they are chosen.

        A dot at the median is filled where the feature is selected from all samples. Returns the
        matplotlib axes.
        """
        order = self.order[: count(1)("n", n)]
        title = f"index of stability {self.index:.2f}" if not math.isnan(self.index) else ""
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
    """Column positions by how often they are chosen; equal ones by their median rank, then by
    column.
    """
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

"""How the chosen features behave, as facts for small pictures: distributions, scatter, smoothness
along the graph, correlations.

Only a few columns of at most 2,000 rows are looked at, so a portrait of a huge table costs little
more than one of a small one. A column is first brought to shares of its own range, 0 for its least
and 1 for its largest value, after an exact scaling by a power of two: so 1e300, 1e-300 and an
offset of 1e8 are drawn like any other numbers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.randomness import generator
from graphsieve._base.underflow import vanishing
from graphsieve.graphs.neighbors.exact import nearest_neighbors
from graphsieve.supervision.value import Supervision
from graphsieve.table.blocks import scale_by_power_of_two
from graphsieve.table.columns import MemoryTable, Table
from graphsieve.table.scaling import Scale, rescaled

FEATURES = 24  # drawn at most
ROWS = 2_000  # looked at
POINTS = 360  # drawn as dots: 24 pictures of them are 100 kB of text
SPACE_ROWS = 1_000  # among which neighbours are sought, fewer where there are more numbers than
SPACE_NUMBERS = 4_000_000
SPACE_COLUMNS = 20_000  # beyond which only the columns shown say who is near
NEIGHBORS = 5
MOSTLY_ZERO = 0.1  # share of other numbers up to which sparse rows are compared faster
GROUPS = 6  # of known samples
FEW_VALUES = 12  # up to which each may get a bin of its own
FEWEST_BINS, MOST_BINS = 8, 24
TAIL = 0.005  # on either side, which may be cut off
LONG_TAIL = 5  # times the range of the rest, from which the tails are cut off
DIGITS = 6  # that a picture can show


@vanishing
def portray(
    table: Table,
    known: Supervision,
    order: Sequence[int] | NDArray[Any],
    *,
    scale: Scale = None,
    random_state: Any = 0,
) -> dict[str, Any]:
    """Facts for pictures of the first 24 features of `order`: plain, finite, rounded.

    Parameters
    ----------
    table : Table
        Samples × features.
    known : Supervision
        What is known of the samples.
    order : sequence of int
        Column positions, best first.
    scale : {"standard", "minmax", "robust", "rank"} or None
        On which scale samples are near each other.
    random_state : int, Generator or None
        Which rows are looked at where there are more than 2,000, and drawn as dots where there are
        more than 360.

    Returns
    -------
    dict
        - ``n_samples``, ``n_drawn``: rows in all, rows looked at;
        - ``classes``: names of the groups of the histograms, ``"unknown"`` last, or None;
        - ``target``: low, high; or None;
        - ``neighbors``: by which columns samples are near, ``"all columns"`` or ``"the columns
          shown"``; or None;
        - ``features``: for each its name, ``low`` and ``high`` (the range that is shown),
          ``clipped`` (whether there are values beyond it, drawn at its ends), ``histogram``,
          ``scatter`` against the target, and ``along_graph``: its value against the mean of the
          five nearest samples. Dots are shares of the range that is shown;
        - ``correlations`` between them.

    Examples
    --------
    >>> facts = portray(MemoryTable([[1, 5], [2, 5], [2, 7], [3, 9]]), Supervision.from_labels(["a", "a", None, "b"]), [0])
    >>> facts["classes"]
    ['a', 'b', 'unknown']
    >>> facts["features"][0]["histogram"]
    {'edges': [0.5, 1.5, 2.5, 3.5], 'counts': [[1, 1, 0], [0, 0, 1], [0, 1, 0]]}
    """
    chance = generator(random_state)
    columns = np.asarray(order, dtype=np.int64)[:FEATURES]
    rows = _rows_to_look_at(known, chance)
    axes = [_axis(values) for values in _corner(table, rows, columns).T]
    names = [f"x{j}" if table.feature_names is None else table.feature_names[j] for j in columns]
    classes, group = _groups(known)
    target, scatters = _scatters(known, rows, axes, chance)
    neighbors, alongs = _along_graph(table, known, rows, columns, axes, scale=scale, chance=chance)
    return {
        "n_samples": table.n_samples,
        "n_drawn": len(rows),
        "classes": classes,
        "target": target,
        "neighbors": neighbors,
        "features": [
            {
                "feature": name,
                **axis.range_shown(),
                "clipped": axis.clipped,
                "histogram": _histogram(axis, group[rows], 1 if classes is None else len(classes)),
                "scatter": scatter,
                "along_graph": along,
            }
            for name, axis, scatter, along in zip(names, axes, scatters, alongs, strict=True)
        ],
        "correlations": {
            "features": names,
            "values": _correlations([axis.shares for axis in axes]),
        },
    }


def _rows_to_look_at(known: Supervision, chance: np.random.Generator) -> Integers:
    """All rows, or 2,000 of them: those of which something is known get half of the places, or
    more if they are more.
    """
    if known.n_samples <= ROWS:
        return np.arange(known.n_samples)
    told = _told(known)
    n_told = int(told.sum())
    n_told = min(n_told, max(ROWS // 2, ROWS * n_told // known.n_samples))
    parts = [
        _some(np.flatnonzero(told), n_told, chance),
        _some(np.flatnonzero(~told), ROWS - n_told, chance),
    ]
    return np.sort(np.concatenate(parts))


def _told(known: Supervision) -> Booleans:
    """Of which samples something is known."""
    told = np.full(known.n_samples, known.probabilities is not None)
    if known.labels is not None:
        told |= known.labels >= 0
    if known.targets is not None:
        told |= ~np.isnan(known.targets)
    told[known.must_link.ravel()] = True
    told[known.cannot_link.ravel()] = True
    return told


def _some(places: Integers, number: int, chance: np.random.Generator) -> Integers:
    """At most `number` of the places, in their order."""
    if len(places) <= number:
        return places
    return np.sort(chance.choice(places, number, replace=False))


def _corner(table: Table, rows: Integers, columns: Integers) -> Floats:
    """Some rows of some columns; nothing larger is made on the way."""
    return np.asarray(table.corner(rows, columns), dtype=np.float64)


@dataclass(frozen=True)
class _Axis:
    """Values as shares of their range, which is ``low`` to ``low + width``, times
    ``2**exponent``; and what of it is shown.
    """

    shares: Floats
    low: float
    width: float
    exponent: int
    shown: tuple[float, float]  # in shares
    centers: int  # bins that are centred on as many evenly spaced values, or 0

    @property
    def clipped(self) -> bool:
        return self.shown != (0.0, 1.0)

    def places(self, shares: Floats) -> Floats:
        """Shares of the whole range as shares of what is shown; all in the middle where there is
        no range.
        """
        first, last = self.shown
        return (
            np.clip((shares - first) / (last - first), 0, 1)
            if self.width > 0
            else np.full(len(shares), 0.5)
        )

    def range_shown(self) -> dict[str, float]:
        low, high = self.values(np.array(self.shown))
        return {"low": low, "high": high}

    def values(self, shares: Floats) -> list[float]:
        """Shares as the numbers they stand for, as exactly as a picture of this range needs."""
        return [
            _shown_number(self.low + share * self.width, self.width, self.exponent)
            for share in shares.tolist()
        ]


def _axis(values: Floats) -> _Axis:
    exponent = int(np.frexp(np.abs(values).max())[1])
    scaled = scale_by_power_of_two(values, -exponent)
    low = float(scaled.min())
    width = float(scaled.max()) - low
    with np.errstate(under="ignore"):
        shares = (scaled - low) / width if width > 0 else np.zeros(len(scaled))
    centers = _evenly_spaced(np.unique(shares))
    return _Axis(
        shares, low, width, exponent, (0.0, 1.0) if centers else _without_tails(shares), centers
    )


def _evenly_spaced(distinct: Floats) -> int:
    """How many evenly spaced values the few distinct ones are, or are part of; 0 if they are not
    few or not so.
    """
    if not 1 < len(distinct) <= FEW_VALUES:
        return 0
    # Two that are next to equal beside the others are not evenly spaced
    with np.errstate(over="ignore"):
        steps = distinct / np.diff(distinct).min()
    even = steps[-1] < MOST_BINS - 0.5 and np.abs(steps - steps.round()).max() < 1e-6
    return int(steps[-1].round()) + 1 if even else 0


def _without_tails(shares: Floats) -> tuple[float, float]:
    """The range between the tails, if it is so much shorter; it ends at values that occur, never
    between two of them.
    """
    first = float(np.quantile(shares, TAIL, method="lower"))
    last = float(np.quantile(shares, 1 - TAIL, method="higher"))
    return (first, last) if 0 < last - first < 1 / LONG_TAIL else (0.0, 1.0)


def _shown_number(scaled: float, width: float, exponent: int) -> float:
    """``scaled * 2**exponent``, rounded to six digits of the width of the range; the largest
    float where it is beyond that.
    """
    try:
        value = math.ldexp(scaled, exponent)
    except OverflowError:
        return math.copysign(sys.float_info.max, scaled)
    above = math.log10(abs(scaled) / width) if scaled != 0 and width > 0 else 0.0
    rounded = float(f"{value:.{DIGITS - 1 + min(max(0, math.ceil(above)), 11)}e}")
    return rounded + 0.0 if math.isfinite(rounded) else value  # + 0.0: no minus before a zero


class _Bins(NamedTuple):
    """Edges in shares of the whole range, and the bin of each value."""

    edges: Floats
    which: Integers


def _histogram(axis: _Axis, group: Integers, n_groups: int) -> dict[str, Any]:
    """Counts by bin for each group; what lies beyond the range that is shown is counted in the
    bins at its ends.
    """
    if axis.width == 0:
        return {
            "edges": _around(axis),
            "counts": np.bincount(group, minlength=n_groups)[:, None].tolist(),
        }
    bins = _bins(axis)
    n_bins = len(bins.edges) - 1
    counts = np.bincount(group * n_bins + bins.which, minlength=n_groups * n_bins).reshape(
        n_groups, n_bins
    )
    return {"edges": axis.values(bins.edges), "counts": counts.tolist()}


def _bins(axis: _Axis) -> _Bins:
    if axis.centers:
        which = (axis.shares * (axis.centers - 1)).round().astype(np.int64)
        return _Bins((np.arange(axis.centers + 1) - 0.5) / (axis.centers - 1), which)
    places = axis.places(axis.shares)
    n_bins = _bin_count(places)
    edges = np.arange(n_bins + 1) / n_bins
    first, last = axis.shown
    return _Bins(first + edges * (last - first), np.searchsorted(edges[1:-1], places, side="right"))


def _bin_count(places: Floats) -> int:
    """By the rule of Freedman and Diaconis; that of Sturges where half of the values are equal."""
    lower, upper = np.quantile(places, [0.25, 0.75])
    width = 2 * (upper - lower) / np.cbrt(len(places))
    wanted = 1 / max(width, 1 / MOST_BINS) if width > 0 else 1 + np.log2(len(places))
    return int(np.clip(np.ceil(wanted), FEWEST_BINS, MOST_BINS))


def _around(axis: _Axis) -> list[float]:
    """The edges of the one bin of a constant: half its size to either side."""
    if math.ldexp(abs(axis.low), axis.exponent) < sys.float_info.min * 4:
        return [-0.5, 0.5]  # zero, or too near to it for halves
    half = abs(axis.low) / 2
    return [_shown_number(edge, half, axis.exponent) for edge in (axis.low - half, axis.low + half)]


def _groups(known: Supervision) -> tuple[list[str] | None, Integers]:
    """The names of the groups and the group of every sample: by known label or most probable
    class, the unknown ones last.
    """
    codes, prefix = known.codes, ""
    if known.probabilities is not None:
        codes, prefix = _most_probable(known), "probably "
    if known.classes is None or (codes < 0).all():
        return None, np.zeros(known.n_samples, dtype=np.int64)
    sizes = np.bincount(codes[codes >= 0], minlength=len(known.classes))
    present = np.flatnonzero(sizes)
    kept = present
    if len(present) > GROUPS:
        most_frequent = np.argsort(-sizes, kind="stable")[: GROUPS - 1]
        kept = np.sort(most_frequent)
    names = [prefix + class_name(known.classes[code]) for code in kept]
    # The last is for the code −1
    place = np.full(len(known.classes) + 1, len(names), dtype=np.int64)
    place[kept] = np.arange(len(kept))
    if len(kept) < len(present):
        names.append("other")
    if (codes < 0).any():
        place[-1] = len(names)
        names.append("unknown")
    return names, place[codes]


def _most_probable(known: Supervision) -> Integers:
    """The code of the most probable class, −1 where several are equally probable."""
    proba = known.label_probabilities()
    best = proba.max(axis=1, keepdims=True)
    return np.where((proba == best).sum(axis=1) == 1, proba.argmax(axis=1), -1)


def class_name(name: Any) -> str:
    """1 rather than 1.0, which is what a whole number becomes beside missing ones."""
    return (
        str(int(name))
        if isinstance(name, float | np.floating) and float(name).is_integer()
        else str(name)
    )


def _scatters(
    known: Supervision, rows: Integers, axes: Sequence[_Axis], chance: np.random.Generator
) -> tuple[dict[str, Any] | None, list[dict[str, Any] | None]]:
    """The range of the target, and each feature against it."""
    if known.targets is None or "targets" not in known.kinds:
        return None, [None] * len(axes)
    target = known.targets[rows]
    there = np.flatnonzero(~np.isnan(target))
    up = _axis(target[there])
    drawn = _some(np.arange(len(there)), POINTS, chance)
    y = _dots(up, up.shares[drawn])
    scatters: list[dict[str, Any] | None] = [
        {"x": _dots(axis, axis.shares[there[drawn]]), "y": y} for axis in axes
    ]
    return up.range_shown(), scatters


def _dots(axis: _Axis, shares: Floats) -> list[float]:
    return [round(place, 3) for place in axis.places(shares).tolist()]


def _along_graph(
    table: Table,
    known: Supervision,
    rows: Integers,
    columns: Integers,
    axes: Sequence[_Axis],
    *,
    scale: Scale,
    chance: np.random.Generator,
) -> tuple[str | None, list[dict[str, Any] | None]]:
    """Each feature's value against the mean of the nearest samples, where nothing but the
    samples' nearness tells them apart.
    """
    if not len(axes) or {"labels", "targets", "probabilities"} & set(known.kinds):
        return None, [None] * len(axes)
    everything = table.n_features <= SPACE_COLUMNS
    n_columns = table.n_features if everything else len(columns)
    space = _some(np.arange(len(rows)), min(SPACE_ROWS, SPACE_NUMBERS // n_columns), chance)
    drawn = _some(np.arange(len(space)), POINTS, chance)
    # Rows of CSC are taken as they are: Table.take would turn the whole table first.
    near = table.corner(rows[space]) if everything else _corner(table, rows[space], columns)
    lines, _ = rescaled(MemoryTable.trusted(_sparse_if_mostly_zero(near), None), scale).rows
    neighbors, _ = nearest_neighbors(lines, min(NEIGHBORS, len(space) - 1), queries=drawn)
    alongs: list[dict[str, Any] | None] = [
        _along(axis, space[drawn], space[neighbors]) for axis in axes
    ]
    return "all columns" if everything else "the columns shown", alongs


def _sparse_if_mostly_zero(values: Any) -> Any:
    """The same numbers; among one-hot rows all are equally far, and only sparse ones are
    compared quickly then.
    """
    if sp.issparse(values) or np.count_nonzero(values) > MOSTLY_ZERO * values.size:
        return values
    return sp.csc_array(np.asarray(values, dtype=np.float64))


def _along(axis: _Axis, own: Integers, neighbors: Integers) -> dict[str, Any]:
    values, means = axis.shares[own], axis.shares[neighbors].mean(axis=1)
    share = _correlation_matrix([values, means])[0, 1] ** 2
    return {"x": _dots(axis, values), "y": _dots(axis, means), "share": round(float(share), 3)}


def _correlations(columns: Sequence[Floats]) -> list[list[float]]:
    return [
        [round(value, 3) + 0.0 for value in line] for line in _correlation_matrix(columns).tolist()
    ]


def _correlation_matrix(columns: Sequence[Floats]) -> Floats:
    """Correlations of columns of shares, in which a constant is all zeros; 0 between one and any
    other.
    """
    if not len(columns):
        return np.empty((0, 0))
    values = np.stack(columns)
    centered = values - values.mean(axis=1, keepdims=True)
    norms = np.sqrt((centered**2).sum(axis=1, keepdims=True))
    unit = np.divide(centered, norms, out=np.zeros_like(centered), where=norms > 0)
    result = np.clip(unit @ unit.T, -1, 1)
    np.fill_diagonal(result, 1.0)
    return np.asarray(result)

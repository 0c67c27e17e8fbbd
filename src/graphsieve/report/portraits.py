"""Data for small plots of the best features: distributions, scatter plots, correlations.

Only a few columns of at most 2,000 rows are used, so a huge table costs little more than a small
one. Each column is scaled by a power of two, which is exact, and then mapped to shares of its range:
0 for its smallest and 1 for its largest value. Columns around 1e300 or 1e-300, or with an offset of
1e8, are therefore drawn correctly.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.parameters import quoted
from graphsieve._base.randomness import generator
from graphsieve._base.underflow import ignoring_underflow
from graphsieve.graphs.neighbors.nearest import nearest_neighbors
from graphsieve.supervision.value import Supervision
from graphsieve.table.blocks import scale_by_power_of_two
from graphsieve.table.centered import spanning
from graphsieve.table.columns import MemoryTable, Table
from graphsieve.table.features import Features
from graphsieve.table.gaps import gaps_in, gaps_of_features
from graphsieve.table.scaling import Scale, rescaled

FEATURES = 24  # at most
ROWS = 2_000  # at most
POINTS = 360  # dots per plot at most; 24 plots with 360 dots take 100 kB
SPACE_ROWS = 1_000  # rows of the neighbour search at most
SPACE_NUMBERS = 4_000_000  # rows × columns of the neighbour search at most
SPACE_COLUMNS = 20_000  # wider tables search for neighbours in the columns shown only
NEIGHBORS = 5
MOSTLY_ZERO = 0.1  # share of nonzero values up to which sparse rows are compared faster
GROUPS = 6  # classes shown at most
LEVELS = 8  # of a category, at most
FEW_VALUES = 12  # distinct values up to which each may have its own bin
FEWEST_BINS, MOST_BINS = 8, 24
TAIL = 0.005  # share of the values at either end that may be cut off
LONG_TAIL = 5  # tails are cut off if the full range is this many times the range without them
DIGITS = 6  # significant digits
# Groups of samples without a label, or without a single most probable class
UNLABELLED, UNDECIDED = "unlabelled", "undecided"
UNDECIDED_OR_UNLABELLED = "undecided or unlabelled"


@ignoring_underflow
def portray(
    table: Table,
    known: Supervision,
    order: Sequence[int] | NDArray[Any],
    *,
    scale: Scale = None,
    random_state: Any = 0,
) -> dict[str, Any]:
    """Return data for plots of the first 24 features of `order`: plain, finite, rounded values.

    Parameters
    ----------
    table : Table
        Samples × features.
    known : Supervision
        The supervision.
    order : sequence of int
        Feature positions, best first.
    scale : {"standard", "minmax", "robust", "rank"} or None
        Scaling of the features for distances between samples.
    random_state : int, Generator or None
        Determines which rows are used if there are more than 2,000, and which are drawn as dots if
        there are more than 360.

    Returns
    -------
    dict
        - ``n_samples``, ``n_drawn``: number of rows, and of those used;
        - ``classes``: names of the groups of the histograms, ``"unlabelled"`` or
          ``"undecided"`` last; or None;
        - ``target``: low, high; or None;
        - ``neighbors``: the columns that determine neighbours, ``"all columns"`` or ``"the columns
          shown"``; or None;
        - ``features``: name, ``low`` and ``high`` (the range shown), ``clipped`` (whether values
          beyond it are drawn at its ends), ``histogram``, ``scatter`` against the target, and
          ``along_graph``, the values against the means of the five nearest samples. Dots are given
          as shares of the range shown. A feature group is drawn as its first principal component. A
          category has only ``levels``, with the number of rows of each group and the quartiles of
          the target;
        - ``correlations`` between the features: Cramér's V of two categories, and the correlation
          ratio of a category and a number.

    Examples
    --------
    >>> facts = portray(MemoryTable([[1, 5], [2, 5], [2, 7], [3, 9]]), Supervision.from_labels(["a", "a", None, "b"]), [0])
    >>> facts["classes"]
    ['a', 'b', 'unlabelled']
    >>> facts["features"][0]["histogram"]
    {'edges': [0.5, 1.5, 2.5, 3.5], 'counts': [[1, 1, 0], [0, 0, 1], [0, 1, 0]]}
    """
    chance = generator(random_state)
    columns = np.asarray(order, dtype=np.int64)[:FEATURES]
    rows = _rows_to_look_at(known, chance)
    seen = _seen(table, rows, columns)
    values = [
        _with_observed(_values(table, rows, int(feature)), here)
        for feature, here in zip(columns, seen, strict=True)
    ]
    # A feature group is drawn as its first principal component.
    axes = [_axis(some[:, 0] if some.shape[1] == 1 else _principal(some)) for some in values]
    levels = [_levels(table, int(j), some) for j, some in zip(columns, values, strict=True)]
    names = [f"x{j}" if table.feature_names is None else table.feature_names[j] for j in columns]
    classes, group = _groups(known)
    n_groups = 1 if classes is None else len(classes)
    target, scatters = _scatters(known, rows, axes, seen, chance)
    neighbors, alongs = _along_graph(
        table, known, rows, columns, axes, seen=seen, scale=scale, chance=chance
    )
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
                "histogram": _histogram(axis.of(here), group[rows[here]], n_groups),
                "scatter": scatter,
                "along_graph": along,
            }
            if level is None
            else {
                "feature": name,
                "levels": _by_level(level.of(here), group[rows[here]], n_groups, known, rows[here]),
            }
            for name, axis, scatter, along, level, here in zip(
                names, axes, scatters, alongs, levels, seen, strict=True
            )
        ],
        "correlations": {
            "features": names,
            "values": _correlations([axis.shares[:, None] for axis in axes], seen, _correlations_of)
            if table.features is None
            else _correlations(values, seen, _associations),
            **({} if table.features is None else {"of_single_columns": False}),
        },
    }


def _rows_to_look_at(known: Supervision, chance: np.random.Generator) -> Integers:
    """Return all rows, or a sample of 2,000. At least half of a sample has supervision, if possible."""
    if known.n_samples <= ROWS:
        return np.arange(known.n_samples)
    supervised = _is_supervised(known)
    n_supervised = int(supervised.sum())
    n_supervised = min(n_supervised, max(ROWS // 2, ROWS * n_supervised // known.n_samples))
    parts = [
        _some(np.flatnonzero(supervised), n_supervised, chance),
        _some(np.flatnonzero(~supervised), ROWS - n_supervised, chance),
    ]
    return np.sort(np.concatenate(parts))


def _is_supervised(known: Supervision) -> Booleans:
    """Whether there is any supervision for each sample."""
    supervised = known.labeled.copy()
    supervised[known.must_link.ravel()] = True
    supervised[known.cannot_link.ravel()] = True
    return supervised


def _some(places: Integers, number: int, chance: np.random.Generator) -> Integers:
    """Return at most `number` random elements of `places`, in their order."""
    if len(places) <= number:
        return places
    return np.sort(chance.choice(places, number, replace=False))


def _seen(table: Table, rows: Integers, features: Integers) -> list[Booleans]:
    """Return the rows in which each feature is observed."""
    if table.gaps is None:
        return [np.ones(len(rows), dtype=bool)] * len(features)
    missing = gaps_of_features(table.gaps, table.features)[:, features].toarray()[rows]
    return list(~missing.T)


def _values(table: Table, rows: Integers, feature: int) -> Floats:
    """Return some rows of the columns of a feature."""
    columns = np.array([feature]) if table.features is None else table.features.columns(feature)
    return _corner(table, rows, columns)


def _with_observed(values: Floats, seen: Booleans) -> Floats:
    """Return the values with an observed row in place of missing ones, which are not drawn."""
    return (
        values if seen.all() or not seen.any() else np.where(seen[:, None], values, values[seen][0])
    )


def _standardized(values: Floats) -> Floats:
    """Return columns of mean 0 and, unless they are constant, length 1."""
    # A power of two prevents overflow and changes no digits.
    exponents = np.frexp(np.abs(values).max(axis=0))[1]
    scaled = scale_by_power_of_two(values, -exponents)
    centered = scaled - scaled.mean(axis=0)
    norms = np.sqrt((centered**2).sum(axis=0))
    unit = np.divide(centered, norms, out=np.zeros_like(centered), where=norms > 0)
    return np.asarray(unit)


def _principal(values: Floats) -> Floats:
    """Return the first principal component of the standardised columns.

    The column with the largest weight has a positive weight.
    """
    columns = _standardized(values)
    weights = np.linalg.eigh(columns.T @ columns)[1][:, -1]
    sign = np.sign(weights[np.abs(weights).argmax()]) or 1.0
    return np.asarray(columns @ (sign * weights) * np.sqrt(len(values)))


class _Levels(NamedTuple):
    """Names of the levels of a category, and the level of each row."""

    names: list[str]
    codes: Integers

    def of(self, rows: Booleans) -> _Levels:
        """Return the levels of some rows."""
        return self._replace(codes=self.codes[rows])


def _levels(table: Table, feature: int, values: Floats) -> _Levels | None:
    """Return the levels of a category, with the rarest ones combined. None for other features."""
    features = table.features
    if features is None or (not features.categorical[feature] and not _named(features, feature)):
        return None
    codes = values.argmax(axis=1) if values.shape[1] > 1 else values[:, 0].astype(np.int64)
    n_levels = max(int(codes.max()) + 1, values.shape[1])
    names = list(_named(features, feature)) or [f"level {code + 1}" for code in range(n_levels)]
    if len(names) <= LEVELS:
        return _Levels(names, codes)
    frequent = np.sort(
        np.argsort(-np.bincount(codes, minlength=len(names)), kind="stable")[: LEVELS - 1]
    )
    place = np.full(len(names), LEVELS - 1)
    place[frequent] = np.arange(LEVELS - 1)
    other = f"{len(names) - LEVELS + 1} others"
    return _Levels([*(names[level] for level in frequent), other], place[codes])


def _named(features: Features, feature: int) -> tuple[str, ...]:
    return () if features.levels is None else features.levels[feature]


def _by_level(
    level: _Levels, group: Integers, n_groups: int, known: Supervision, rows: Integers
) -> list[dict[str, Any]]:
    """Return the number of rows of each group, and the quartiles of the target, by level."""
    target = known.targets[rows] if known.targets is not None and "targets" in known.kinds else None
    axis = None if target is None else _axis(target[~np.isnan(target)])
    found = []
    for code, name in enumerate(level.names):
        here = level.codes == code
        quartiles = None
        if target is not None and axis is not None and (here & ~np.isnan(target)).any():
            shares = axis.shares[here[~np.isnan(target)]]
            quartiles = _dots(axis, np.quantile(shares, [0.25, 0.5, 0.75]))
        found.append(
            {
                "level": name,
                "counts": np.bincount(group[here], minlength=n_groups).tolist(),
                "quartiles": quartiles,
            }
        )
    return found


def _corner(table: Table, rows: Integers, columns: Integers) -> Floats:
    """Return some rows of some columns, without a larger intermediate array."""
    return np.asarray(table.corner(rows, columns), dtype=np.float64)


@dataclass(frozen=True)
class _Axis:
    """Values as shares of their range, and the part of the range that is shown.

    The range is from ``low`` to ``low + width``, times ``2**exponent``.
    """

    shares: Floats
    low: float
    width: float
    exponent: int
    shown: tuple[float, float]  # in shares
    centers: int  # number of evenly spaced values on which bins are centred, or 0

    def of(self, rows: Booleans) -> _Axis:
        """Return the same axis with the values of some rows."""
        return replace(self, shares=self.shares[rows])

    @property
    def clipped(self) -> bool:
        return self.shown != (0.0, 1.0)

    def places(self, shares: Floats) -> Floats:
        """Convert shares of the whole range to shares of the range shown.

        Without a range, all values are in the middle.
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
        """Convert shares to values, rounded to the precision that a plot needs."""
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
    """Return the length of the evenly spaced grid that contains the few distinct values.

    0 if they are too many or not evenly spaced.
    """
    if not 1 < len(distinct) <= FEW_VALUES:
        return 0
    # Two nearly equal values make the number of steps overflow. They are not evenly spaced.
    with np.errstate(over="ignore"):
        steps = distinct / np.diff(distinct).min()
    even = steps[-1] < MOST_BINS - 0.5 and np.abs(steps - steps.round()).max() < 1e-6
    return int(steps[-1].round()) + 1 if even else 0


def _without_tails(shares: Floats) -> tuple[float, float]:
    """Return the range without long tails. Both ends are values that occur."""
    first = float(np.quantile(shares, TAIL, method="lower"))
    last = float(np.quantile(shares, 1 - TAIL, method="higher"))
    return (first, last) if 0 < last - first < 1 / LONG_TAIL else (0.0, 1.0)


def _shown_number(scaled: float, width: float, exponent: int) -> float:
    """Return ``scaled * 2**exponent``, rounded to six digits relative to the width of the range.

    An overflow gives the largest float.
    """
    try:
        value = math.ldexp(scaled, exponent)
    except OverflowError:
        return math.copysign(sys.float_info.max, scaled)
    above = math.log10(abs(scaled) / width) if scaled != 0 and width > 0 else 0.0
    rounded = float(f"{value:.{DIGITS - 1 + min(max(0, math.ceil(above)), 11)}e}")
    return rounded + 0.0 if math.isfinite(rounded) else value  # + 0.0 turns −0.0 into 0.0


class _Bins(NamedTuple):
    """Edges in shares of the whole range, and the bin of each value."""

    edges: Floats
    which: Integers


def _histogram(axis: _Axis, group: Integers, n_groups: int) -> dict[str, Any]:
    """Return counts by bin for each group.

    Values beyond the range shown are counted in the first and last bins.
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
    """Return the number of bins by the Freedman–Diaconis rule.

    Sturges' rule applies if the interquartile range is zero.
    """
    lower, upper = np.quantile(places, [0.25, 0.75])
    width = 2 * (upper - lower) / np.cbrt(len(places))
    wanted = 1 / max(width, 1 / MOST_BINS) if width > 0 else 1 + np.log2(len(places))
    return int(np.clip(np.ceil(wanted), FEWEST_BINS, MOST_BINS))


def _around(axis: _Axis) -> list[float]:
    """Return the edges of the single bin of a constant: its value ± 50 %."""
    if math.ldexp(abs(axis.low), axis.exponent) < sys.float_info.min * 4:
        return [-0.5, 0.5]  # Half of the value is zero or subnormal.
    half = abs(axis.low) / 2
    return [_shown_number(edge, half, axis.exponent) for edge in (axis.low - half, axis.low + half)]


def _groups(known: Supervision) -> tuple[list[str] | None, Integers]:
    """Return the names of the groups and the group of every sample.

    Groups are known labels or most probable classes. Unlabelled samples are the last group.
    """
    codes, prefix, without = known.codes, "", UNLABELLED
    if "probabilities" in known.kinds:
        codes, prefix = _most_probable(known), "probably "
        without = UNDECIDED if known.labeled.all() else UNDECIDED_OR_UNLABELLED
    if known.classes is None or (codes < 0).all():
        return None, np.zeros(known.n_samples, dtype=np.int64)
    sizes = np.bincount(codes[codes >= 0], minlength=len(known.classes))
    present = np.flatnonzero(sizes)
    kept = present
    if len(present) > GROUPS:
        most_frequent = np.argsort(-sizes, kind="stable")[: GROUPS - 1]
        kept = np.sort(most_frequent)
    names = [prefix + class_name(known.classes[code]) for code in kept]
    # The last element belongs to the code −1.
    place = np.full(len(known.classes) + 1, len(names), dtype=np.int64)
    place[kept] = np.arange(len(kept))
    if len(kept) < len(present):
        names.append("other")
    if (codes < 0).any():
        place[-1] = len(names)
        names.append(without)
    return names, place[codes]


def _most_probable(known: Supervision) -> Integers:
    """Return the code of the most probable class.

    It is −1 if several are equally probable, and for an unlabelled sample.
    """
    rows, proba = known.label_probabilities()
    best = proba.max(axis=1, keepdims=True)
    codes = np.full(known.n_samples, -1, dtype=np.int64)
    codes[rows] = np.where((proba == best).sum(axis=1) == 1, proba.argmax(axis=1), -1)
    return codes


def class_name(name: Any) -> str:
    """Return a class name as text. Integers that missing labels turned into floats become "1"."""
    if isinstance(name, float | np.floating) and float(name).is_integer():
        return str(int(name))
    # Python refuses to write integers of more than 4300 digits.
    return quoted(name) if isinstance(name, int) else str(name)


def _scatters(
    known: Supervision,
    rows: Integers,
    axes: Sequence[_Axis],
    seen: Sequence[Booleans],
    chance: np.random.Generator,
) -> tuple[dict[str, Any] | None, list[dict[str, Any] | None]]:
    """Return the range of the target, and a scatter plot of each feature against it."""
    if known.targets is None or "targets" not in known.kinds:
        return None, [None] * len(axes)
    target = known.targets[rows] if known.n_targets == 1 else known.targets[rows, 0]
    there = np.flatnonzero(~np.isnan(target))
    up = _axis(target[there])
    drawn = _some(np.arange(len(there)), POINTS, chance)
    y, points = np.array(_dots(up, up.shares[drawn])), there[drawn]
    scatters: list[dict[str, Any] | None] = [
        {"x": _dots(axis, axis.shares[points[here[points]]]), "y": y[here[points]].tolist()}
        for axis, here in zip(axes, seen, strict=True)
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
    seen: Sequence[Booleans],
    scale: Scale,
    chance: np.random.Generator,
) -> tuple[str | None, list[dict[str, Any] | None]]:
    """Return each feature's values against the means of the nearest samples.

    Only without labels, targets and probabilities; their plots are more informative.
    """
    if not len(axes) or {"labels", "targets", "probabilities"} & set(known.kinds):
        return None, [None] * len(axes)
    features = table.features
    everything = table.n_columns <= SPACE_COLUMNS
    if not everything and features is not None:
        columns, features = features.columns_of(columns), features.take(columns)
    n_columns = table.n_columns if everything else len(columns)
    space = _some(np.arange(len(rows)), min(SPACE_ROWS, SPACE_NUMBERS // n_columns), chance)
    drawn = _some(np.arange(len(space)), POINTS, chance)
    # Table.take would convert a whole CSC table to CSR first.
    near = table.corner(rows[space]) if everything else _corner(table, rows[space], columns)
    held = MemoryTable.trusted(_sparse_if_mostly_zero(near), None, features=features)
    held.gaps = gaps_in(table.gaps, rows[space], None if everything else columns)
    lines, _ = rescaled(held, scale).rows
    neighbors, _ = nearest_neighbors(lines, min(NEIGHBORS, len(space) - 1), queries=drawn)
    alongs: list[dict[str, Any] | None] = [
        _along(axis, here, space[drawn], space[neighbors])
        for axis, here in zip(axes, seen, strict=True)
    ]
    return "all columns" if everything else "the columns shown", alongs


def _sparse_if_mostly_zero(values: Any) -> Any:
    """Convert mostly zero values to a sparse matrix.

    One-hot rows are all equally distant, and only sparse rows are compared quickly then.
    """
    if sp.issparse(values) or np.count_nonzero(values) > MOSTLY_ZERO * values.size:
        return values
    return sp.csc_array(np.asarray(values, dtype=np.float64))


def _along(axis: _Axis, seen: Booleans, own: Integers, neighbors: Integers) -> dict[str, Any]:
    number = seen[neighbors].sum(axis=1)
    kept = seen[own] & (number > 0)
    own, neighbors, number = own[kept], neighbors[kept], number[kept]
    values = axis.shares[own]
    means = np.where(seen[neighbors], axis.shares[neighbors], 0.0).sum(axis=1) / number
    share = _correlation_matrix([values, means])[0, 1] ** 2
    return {"x": _dots(axis, values), "y": _dots(axis, means), "share": round(float(share), 3)}


def _correlations(
    features: Sequence[Floats],
    seen: Sequence[Booleans],
    measure: Callable[[Sequence[Floats]], Floats],
) -> list[list[float]]:
    """Return a measure of the correlation of features, each pair on the rows in which both are observed."""
    found = measure(features)
    if not all(here.all() for here in seen):
        for i, one in enumerate(features):
            for j, other in enumerate(features[:i]):
                both = seen[i] & seen[j]
                pair = measure([one[both], other[both]])[0, 1] if both.sum() > 1 else 0.0
                found[i, j] = found[j, i] = pair
    return [[round(value, 3) + 0.0 for value in line] for line in found.tolist()]


def _associations(features: Sequence[Floats]) -> Floats:
    """Return the association of each pair of features, given their columns.

    It is the correlation of two columns. Otherwise it is the root of the mean squared canonical
    correlation: Cramér's V of two categories, and the correlation ratio of a category and a number.
    """
    bases = [spanning(_standardized(values)) for values in features]
    result = np.eye(len(features))
    for i, one in enumerate(bases):
        for j, other in enumerate(bases[:i]):
            products, least = one.T @ other, min(one.shape[1], other.shape[1])
            if one.shape[1] == other.shape[1] == 1:
                result[i, j] = products[0, 0]
            elif least:
                result[i, j] = np.sqrt((products**2).sum() / least)
            result[j, i] = result[i, j]
    return np.clip(result, -1, 1)


def _correlations_of(features: Sequence[Floats]) -> Floats:
    return _correlation_matrix([values[:, 0] for values in features])


def _correlation_matrix(columns: Sequence[Floats]) -> Floats:
    """Return the correlations between columns of shares. A constant has correlation 0."""
    if not len(columns):
        return np.empty((0, 0))
    values = np.stack(columns)
    centered = values - values.mean(axis=1, keepdims=True)
    norms = np.sqrt((centered**2).sum(axis=1, keepdims=True))
    unit = np.divide(centered, norms, out=np.zeros_like(centered), where=norms > 0)
    result = np.clip(unit @ unit.T, -1, 1)
    np.fill_diagonal(result, 1.0)
    return np.asarray(result)

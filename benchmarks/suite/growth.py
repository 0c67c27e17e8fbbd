"""Growth of time and memory with samples and features: fitted slopes of their logarithms."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from suite.part import Part, seconds, table
from suite.processes import answer

LIMIT = 120  # seconds for one point
# Tolerance of an exponent. Caches overflow, and four points are few.
TOLERANCE = 0.25
# A point is repeated for this number of seconds, at most this often, and at least three times.
LONG_ENOUGH, MOST_CALLS = 1.0, 20
FLAT = 8.0  # MiB; memory below this limit counts as constant
Call = Callable[[], Any]


class Method(NamedTuple):
    """A method, the sizes of its tables, and its expected exponents in samples and features."""

    title: str
    prepare: Callable[[int, int], Call]
    samples: tuple[int, ...]
    at_features: int
    features: tuple[int, ...]
    at_samples: int
    expected: tuple[float, float]


class Line(NamedTuple):
    """The slope of a fitted line, and its standard error."""

    slope: float
    error: float


def fitted(sizes: Sequence[float], values: Sequence[float]) -> Line:
    """Fit the power law value ~ size^slope by least squares of the logarithms."""
    x, y = [math.log(size) for size in sizes], [math.log(value) for value in values]
    middle, mean = sum(x) / len(x), sum(y) / len(y)
    spread = sum((one - middle) ** 2 for one in x)
    slope = sum((one - middle) * (other - mean) for one, other in zip(x, y, strict=True)) / spread
    rest = sum(
        (other - mean - slope * (one - middle)) ** 2 for one, other in zip(x, y, strict=True)
    )
    return Line(slope, math.sqrt(rest / (len(x) - 2) / spread))


def laplacian(n: int, p: int) -> Call:
    from memory import grouped_rows

    from graphsieve import scores

    X, _ = grouped_rows(n, p)
    return lambda: scores.laplacian_score(X, n_neighbors=10, bandwidth=float(p))


def nearest(n: int, p: int) -> Call:
    from memory import grouped_rows

    from graphsieve.graphs.neighbors.exact import nearest_neighbors

    X, _ = grouped_rows(n, p)
    return lambda: nearest_neighbors(X, 10)


def scoring_pass(n: int, p: int) -> Call:
    import scoring

    from graphsieve.graphs.graph import SparseGraph
    from graphsieve.graphs.ratio import laplacian_ratio
    from graphsieve.table.columns import MemoryTable

    X, graph = scoring.rows(n, p, "float64"), SparseGraph(n, *scoring.edges(n))
    return lambda: laplacian_ratio(MemoryTable(X), graph)


def fisher(n: int, p: int) -> Call:
    from memory import grouped_rows

    from graphsieve import scores

    X, groups = grouped_rows(n, p)
    return lambda: scores.fisher_score(X, groups)


def weighted_laplacian(n: int, p: int) -> Call:
    from memory import grouped_rows, uncertain

    from graphsieve import scores

    X, groups = grouped_rows(n, p)
    probabilities = uncertain(groups, 5)
    return lambda: scores.weighted_laplacian_score(X, probabilities)


def supervised_laplacian(n: int, p: int) -> Call:
    import numpy as np
    from memory import grouped_rows

    from graphsieve import scores

    X, _ = grouped_rows(n, p)
    target = np.random.default_rng(3).standard_normal(n)
    return lambda: scores.supervised_laplacian_score(X, target)


def constraint(n: int, p: int) -> Call:
    """Prepare the constraint score. The number of pairs is a tenth of the number of samples."""
    import numpy as np
    from memory import grouped_rows

    from graphsieve import scores

    X, groups = grouped_rows(n, p)
    pairs = np.arange(n // 5 * 2)[: n // 10 * 2].reshape(-1, 2)
    same = groups[pairs[:, 0]] == groups[pairs[:, 1]]
    alike, apart = pairs[same], pairs[~same]
    return lambda: scores.constraint_score(X, alike, apart)


def relieff(n: int, p: int) -> Call:
    from memory import grouped_rows

    from graphsieve import scores

    X, groups = grouped_rows(n, p)
    labels = groups % 2
    return lambda: scores.relieff_score(X, labels, n_neighbors=10)


SEARCHED = ((3_000, 6_000, 12_000, 24_000), 200, (250, 500, 1_000, 2_000), 4_000)
READ = ((50_000, 100_000, 200_000, 400_000), 100, (100, 200, 400, 800), 50_000)
# Random edges access rows in random order. A table that fits in the cache would be much faster, so
# all of these tables are larger.
GATHERED = ((100_000, 200_000, 400_000, 800_000), 100, (100, 200, 400, 800), 100_000)
METHODS = {
    "laplacian": Method("Laplacian score", laplacian, *SEARCHED, (2, 1)),
    "neighbors": Method("exact neighbours", nearest, *SEARCHED, (2, 1)),
    "pass": Method("scoring pass, random edges", scoring_pass, *GATHERED, (1, 1)),
    "fisher": Method("Fisher", fisher, *READ, (1, 1)),
    "wls": Method("WLS, 5 classes", weighted_laplacian, *READ, (1, 1)),
    "sls": Method("SLS", supervised_laplacian, *READ, (1, 1)),
    "cs": Method("constraint score, n / 10 pairs", constraint, *READ, (1, 1)),
    "relieff": Method(
        "ReliefF, 2 classes",
        relieff,
        (1_000, 2_000, 4_000, 8_000),
        50,
        (100, 200, 400, 800),
        1_000,
        (2, 1),
    ),
}


def work(method: str, n: int, p: int) -> dict[str, Any]:
    """Return the seconds and MiB of one point.

    The first call measures the memory, and the fastest of several calls gives the time.
    """
    import memory

    warnings.simplefilter("ignore")
    METHODS[method].prepare(200, 10)()  # Imports happen in the first call.
    call = METHODS[method].prepare(n, p)
    _, best, extra = memory.measured(call, most_calls=1)
    taken = best
    for turn in range(1, MOST_CALLS):
        if turn >= 3 and taken > LONG_ENOUGH:
            break
        _, again, _ = memory.measured(call, most_calls=1)
        best, taken = min(best, again), taken + again
    return {"seconds": best, "extra": extra}


def points(name: str, sizes: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    return [{"n": n, "p": p} | answer("growth", LIMIT, method=name, n=n, p=p) for n, p in sizes]


def measure() -> dict[str, Any]:
    found = {}
    for name, method in METHODS.items():
        found[name] = {
            "title": method.title,
            "expected": method.expected,
            "n": points(name, [(n, method.at_features) for n in method.samples]),
            "p": points(name, [(method.at_samples, p) for p in method.features]),
        }
    return found


def slope_cells(along: list[dict[str, Any]], axis: str, expected: float) -> list[str]:
    """Return the sizes, the fitted and the expected exponent of time, and the memory."""
    other = "p" if axis == "n" else "n"
    failed = [one["failed"] for one in along if "failed" in one]
    where = f"{along[0][axis]:,} … {along[-1][axis]:,} ({other} = {along[0][other]:,})"
    if failed:
        return [where, failed[0], "", "", "", ""]
    line = fitted([one[axis] for one in along], [one["seconds"] for one in along])
    verdict = f"{line.slope:.2f} ± {line.error:.2f}"
    return [
        where,
        f"{seconds(along[0]['seconds'])} … {seconds(along[-1]['seconds'])}",
        verdict if line.slope <= expected + TOLERANCE else f"**{verdict}**",
        f"{expected:g}",
        f"{along[0]['extra']:,.0f} … {along[-1]['extra']:,.0f}",
        memory_slope([one[axis] for one in along], [one["extra"] for one in along]),
    ]


def memory_slope(sizes: Sequence[float], extra: Sequence[float]) -> str:
    """Return the exponent of the memory, from the points above a few MiB."""
    if max(extra) < FLAT:
        return "flat"
    used = [(size, one) for size, one in zip(sizes, extra, strict=True) if one >= FLAT / 2]
    return f"{fitted(*zip(*used, strict=True)).slope:.2f}" if len(used) >= 3 else "–"


def text(found: dict[str, Any]) -> list[str]:
    header = ["", "sizes", "time", "exponent", "expected", "MiB above X", "memory exponent"]
    lines = []
    for axis, name in (("n", "samples"), ("p", "features")):
        rows = [
            [one["title"], *slope_cells(one[axis], axis, one["expected"][axis == "p"])]
            for one in found.values()
        ]
        lines += [f"Growth with the number of {name}:", "", *table(header, rows), ""]
    return lines[:-1]


PART = Part(
    "growth",
    "Growth",
    "The exponent a in time ~ sizeᵃ is fitted to the best times at four sizes. The table shows it "
    "± its standard error. Each size runs in a separate process. Bold exponents exceed the "
    f"expected value by more than {TOLERANCE:g}. Fixed costs lower the exponent. Memory below "
    f"{FLAT:.0f} MiB counts as flat. A memory exponent of at most 1 in n shows that no n × n "
    "matrix is held in memory.",
    measure,
    text,
)

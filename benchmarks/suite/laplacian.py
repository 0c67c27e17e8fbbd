"""The Laplacian score and its neighbour search, compared with ten lines on scikit-learn and SciPy."""

from __future__ import annotations

from typing import Any

from suite.part import Part, Target, at_least, at_most, seconds, shape, table, times, wrapped
from suite.processes import answer

SHAPES = (
    (150, 4),
    (1_000, 50),
    (200, 7_000),
    (300, 20_000),
    (5_000, 200),
    (20_000, 3),
    (20_000, 50),
    (20_000, 1_000),
)
SPARSE = (20_000, 20_000, 0.005)
LIMIT = 300  # seconds per measurement
WANTED = {(5_000, 200): 2.0, (20_000, 50): 3.0, (20_000, 1_000): 3.0}  # times as fast
NO_SLOWER = 1.0
SHARE = ((20_000, 1_000), 60)  # per cent of the machine's limit for matrix products
SAME = 1e-6  # relative; the ten lines subtract large sums and are not exact themselves
MEMORY = ("score", "plain score")


def work(what: str, n: int, p: int) -> dict[str, Any]:
    import neighbors
    from memory import grouped_rows, measured

    from graphsieve import scores

    if what == "times":
        return neighbors.dense_found(n, p)
    if what == "sparse":
        return neighbors.sparse_found(n, p, SPARSE[2])
    X, _ = grouped_rows(n, p)
    calls = {
        "score": lambda rows: scores.laplacian_score(
            rows, n_neighbors=neighbors.K, bandwidth=float(p)
        ),
        "plain score": lambda rows: neighbors.plain_score(rows, float(p)),
    }
    calls[what](X[:100].copy())  # Imports happen in the first call.
    return {"extra": measured(lambda: calls[what](X), most_calls=1)[2]}


def line(n: int, p: int) -> dict[str, Any]:
    found = answer("laplacian", LIMIT, what="times", n=n, p=p)
    memory = {name: answer("laplacian", LIMIT, what=name, n=n, p=p).get("extra") for name in MEMORY}
    return {"n": n, "p": p, "memory": memory} | found


def measure() -> dict[str, Any]:
    n, p, filled = SPARSE
    sparse = answer("laplacian", LIMIT, what="sparse", n=n, p=p)
    return {
        "lines": [line(n, p) for n, p in SHAPES],
        "sparse": {"n": n, "p": p, "filled": filled} | sparse,
    }


def ratio(found: dict[str, Any]) -> float:
    return float(found["plain score"] / found["score"])


def mib(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def score_row(found: dict[str, Any]) -> list[str]:
    title = shape(found["n"], found["p"])
    if "failed" in found:
        return [title, found["failed"], *[""] * 5]
    apart = f"{found['apart']:.0e}"
    return [
        title,
        seconds(found["score"]),
        seconds(found["plain score"]),
        times(ratio(found)),
        mib(found["memory"]["score"]),
        mib(found["memory"]["plain score"]),
        apart if found["apart"] < SAME else f"**{apart}**",
    ]


def search_row(found: dict[str, Any]) -> list[str]:
    title = shape(found["n"], found["p"])
    if "failed" in found:
        return [title, found["failed"], *[""] * 4]
    return [
        title,
        seconds(found["near"]),
        seconds(found["brute"]),
        times(found["brute"] / found["near"]),
        f"{found['limit'] / found['near']:.0%}",
        f"{found['agree']:.2%}",
    ]


def text(found: dict[str, Any]) -> list[str]:
    header = ["n × p", "score", "ten lines", "speed-up", "MiB", "MiB, ten lines", "difference"]
    lines = table(header, [score_row(one) for one in found["lines"]])
    lines += [
        "",
        *wrapped(
            "The exact neighbour search alone, compared with the brute-force search of "
            "scikit-learn. *Share of the limit* is the minimum time of the float32 products as a "
            "share of the measured time. The products of a symmetric search are n² p "
            "multiplications and additions at the machine's limit. The limit is not relevant for "
            "small tables, or for trees, which need no products. *Same edges* is the share of "
            "neighbours that both searches find."
        ),
        "",
    ]
    header = ["n × p", "search", "brute force", "speed-up", "share of the limit", "same edges"]
    lines += table(header, [search_row(one) for one in found["lines"]])
    sparse = found["sparse"]
    result = f"The neighbour search in a CSR table of {shape(sparse['n'], sparse['p'])} with "
    result += f"{sparse['filled']:.1%} nonzero entries "
    if "failed" in sparse:
        result += f"failed: {sparse['failed']}."
    else:
        result += f"takes {seconds(sparse['near'])}, that of scikit-learn "
        result += f"{seconds(sparse['brute'])} ({times(sparse['brute'] / sparse['near'])})."
    return [*lines, "", *wrapped(result)]


def targets(found: dict[str, Any] | None) -> list[Target]:
    lines = [] if found is None else [one for one in found["lines"] if "failed" not in one]
    by_shape = {(one["n"], one["p"]): one for one in lines}
    claims = []
    for size, target in WANTED.items():
        value = ratio(by_shape[size]) if size in by_shape else None
        claims.append(
            at_least(
                f"Laplacian score, {shape(*size)}: speed-up over ten lines on scikit-learn",
                value,
                target,
                "×",
            )
        )
    complete = found is not None and len(lines) == len(found["lines"])
    slowest = min(lines, key=ratio) if complete else None
    where = "" if slowest is None else f" (at {shape(slowest['n'], slowest['p'])})"
    least = None if slowest is None else ratio(slowest)
    claims.append(at_least(f"Laplacian score: smallest speed-up{where}", least, NO_SLOWER, "×"))
    apart = max(one["apart"] for one in lines) if complete else None
    claims.append(at_most("Laplacian score: largest relative difference", apart, SAME))
    size, share = SHARE
    value = 100 * by_shape[size]["limit"] / by_shape[size]["near"] if size in by_shape else None
    return [
        *claims,
        at_least(
            f"Exact neighbours, {shape(*size)}: share of the machine's limit for matrix products",
            value,
            share,
            " %",
        ),
    ]


PART = Part(
    "laplacian",
    "The Laplacian score",
    "The Laplacian score with k = 10. *Ten lines* is a short implementation on scikit-learn's "
    "neighbours and SciPy's sparse matrices. Both run alternately in one process, and the table "
    "shows the best times. *MiB* is the peak memory above the data, measured in separate "
    "processes. *Difference* is the largest relative difference between the scores.",
    measure,
    text,
    targets,
)

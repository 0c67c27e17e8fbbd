"""The whole Laplacian score, and the search for neighbours in it, against ten lines on
scikit-learn and SciPy.
"""

from __future__ import annotations

from typing import Any

from suite.part import Bar, Part, at_least, at_most, seconds, shape, table, times
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
LIMIT = 300  # seconds for one line
WANTED = {(5_000, 200): 2.0, (20_000, 50): 3.0, (20_000, 1_000): 3.0}  # times as fast
NO_SLOWER = 1.0
SHARE = ((20_000, 1_000), 60)  # per cent of the limit for products
SAME = 1e-6  # relative: ten lines that subtract large sums from each other are not exact themselves
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
    calls[what](X[:100].copy())  # what is loaded on the first call is nobody's fault
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


def row(found: dict[str, Any]) -> list[str]:
    title = shape(found["n"], found["p"])
    if "failed" in found:
        return [title, found["failed"], *[""] * 9]
    apart = (
        f"{found['apart']:.0e}" if found["apart"] < SAME else f"**apart by {found['apart']:.0e}**"
    )
    return [
        title,
        seconds(found["score"]),
        seconds(found["plain score"]),
        times(ratio(found)),
        f"{mib(found['memory']['score'])} / {mib(found['memory']['plain score'])}",
        apart,
        seconds(found["near"]),
        seconds(found["brute"]),
        times(found["brute"] / found["near"]),
        f"{found['limit'] / found['near']:.0%}",
        f"{found['agree']:.2%}",
    ]


def text(found: dict[str, Any]) -> list[str]:
    header = [
        "n × p",
        "score",
        "ten lines",
        "ratio",
        "MiB, both",
        "numbers",
        "search",
        "brute force",
        "ratio",
        "of the limit",
        "same edges",
    ]
    lines = table(header, [row(one) for one in found["lines"]])
    sparse = found["sparse"]
    lines += [
        "",
        f"Neighbours in a CSR table of {shape(sparse['n'], sparse['p'])}, {sparse['filled']:.1%} "
        "filled: ",
    ]
    if "failed" in sparse:
        lines[-1] += f"{sparse['failed']}."
    else:
        each = f"{seconds(sparse['near'])}, scikit-learn {seconds(sparse['brute'])}"
        lines[-1] += f"{each}, {times(sparse['brute'] / sparse['near'])}."
    return lines


def bars(found: dict[str, Any] | None) -> list[Bar]:
    lines = [] if found is None else [one for one in found["lines"] if "failed" not in one]
    by_shape = {(one["n"], one["p"]): one for one in lines}
    claims = []
    for size, bar in WANTED.items():
        value = ratio(by_shape[size]) if size in by_shape else None
        claims.append(
            at_least(
                f"Laplacian score, {shape(*size)}: times as fast as ten lines on scikit-learn",
                value,
                bar,
                "×",
            )
        )
    complete = found is not None and len(lines) == len(found["lines"])
    slowest = min(lines, key=ratio) if complete else None
    where = "" if slowest is None else f" (the least at {shape(slowest['n'], slowest['p'])})"
    least = None if slowest is None else ratio(slowest)
    claims.append(at_least(f"… and no slower anywhere{where}", least, NO_SLOWER, "×"))
    apart = max(one["apart"] for one in lines) if complete else None
    claims.append(at_most("… with the same numbers: largest relative difference", apart, SAME))
    size, share = SHARE
    value = 100 * by_shape[size]["limit"] / by_shape[size]["near"] if size in by_shape else None
    return [
        *claims,
        at_least(
            f"Exact neighbours, {shape(*size)}: share of the machine's limit for products",
            value,
            share,
            " %",
        ),
    ]


PART = Part(
    "laplacian",
    "The whole Laplacian score",
    "k = 10, both in one process by turns, the best of several. *Ten lines* is what one would "
    "write on scikit-learn's "
    "neighbours and SciPy's sparse matrices; *ratio* says how many times as fast we are; *MiB* is "
    "the peak above the data of "
    "both, each in a process of its own; *numbers* is the largest relative difference of the "
    "scores. *Search* is our exact "
    "search for neighbours, beside scikit-learn's brute force; *of the limit* is the time that "
    "float32 products of a symmetric "
    "search (n² p multiplications and additions) would take at the machine's limit, as a share of "
    "ours: small tables and "
    "trees, which need no products, have little to do with it.",
    measure,
    text,
    bars,
)

"""Large tables end to end: time and memory, exact and approximate."""

from __future__ import annotations

import warnings
from typing import Any

from suite.part import Bar, Part, at_most, seconds, shape, table
from suite.processes import answer

LIMIT = 600  # seconds for one
CASES = ((100_000, 500, "exact"), (100_000, 500, "approximate"), (1_000_000, 50, "approximate"))
MOST = {(100_000, 500): 1024, (1_000_000, 50): 4096}  # MiB above X
K = 10


def work(n: int, p: int, neighbors: str) -> dict[str, Any]:
    import inspect

    from memory import grouped_rows, measured

    import graphsieve
    from graphsieve import scores

    given: dict[str, Any] = {"n_neighbors": K, "bandwidth": float(p)}
    if "neighbors" in inspect.signature(scores.laplacian_score).parameters:
        given["neighbors"] = neighbors
    elif neighbors != "exact":
        return {"failed": "this version searches exactly only"}
    X, _ = grouped_rows(n, p)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found, taken, extra = measured(lambda: scores.laplacian_score(X, **given), most_calls=1)
    told = [
        str(one.message) for one in said if issubclass(one.category, graphsieve.GraphSieveWarning)
    ]
    return {"seconds": taken, "extra": extra, "scores": found.tolist(), "told": told}


def measure() -> dict[str, Any]:
    found = [
        {"n": n, "p": p, "neighbors": how} | answer("large", LIMIT, n=n, p=p, neighbors=how)
        for n, p, how in CASES
    ]
    exact = {
        (one["n"], one["p"]): one.get("scores") for one in found if one["neighbors"] == "exact"
    }
    for one in found:
        truth, scores = exact.get((one["n"], one["p"])), one.pop("scores", None)
        if truth and scores and one["neighbors"] != "exact":
            one["apart"] = max(
                abs(mine / other - 1) for mine, other in zip(scores, truth, strict=True)
            )
    return {"cases": found}


def row(found: dict[str, Any]) -> list[str]:
    title = f"{shape(found['n'], found['p'])}, {found['neighbors']}"
    if "failed" in found:
        return [title, found["failed"], "", "", ""]
    apart = f"{found['apart']:.1e}" if "apart" in found else "–"
    return [
        title,
        seconds(found["seconds"]),
        f"{found['extra']:,.0f}",
        apart,
        " ".join(found["told"]) or "–",
    ]


def text(found: dict[str, Any]) -> list[str]:
    return table(
        ["", "time", "MiB above X", "scores apart from exact", "what it says"],
        [row(one) for one in found["cases"]],
    )


def bars(found: dict[str, Any] | None) -> list[Bar]:
    cases = (
        {}
        if found is None
        else {(one["n"], one["p"], one["neighbors"]): one for one in found["cases"]}
    )
    claims = []
    for n, p, how in CASES:
        extra = cases.get((n, p, how), {}).get("extra")
        claims.append(
            at_most(
                f"Laplacian score, {shape(n, p)}, {how} neighbours: MiB above X",
                extra,
                MOST[n, p],
                " MiB",
            )
        )
    return claims


PART = Part(
    "large",
    "Large tables, end to end",
    f"The whole Laplacian score, k = {K}, one call in a process of its own (`make bench LARGE=1`).",
    measure,
    text,
    bars,
    large=True,
)

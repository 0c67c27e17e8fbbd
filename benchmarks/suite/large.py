"""Time and memory of the Laplacian score of large tables, with exact and approximate neighbours."""

from __future__ import annotations

import warnings
from typing import Any

from suite.part import Part, Target, at_most, seconds, shape, table, warned
from suite.processes import answer

LIMIT = 600  # seconds per case
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
        return {"failed": "this version supports exact neighbours only"}
    X, _ = grouped_rows(n, p)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found, taken, extra = measured(lambda: scores.laplacian_score(X, **given), most_calls=1)
    messages = [
        str(one.message) for one in caught if issubclass(one.category, graphsieve.GraphSieveWarning)
    ]
    return {"seconds": taken, "extra": extra, "scores": found.tolist(), "told": messages}


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


def title(found: dict[str, Any]) -> str:
    return f"{shape(found['n'], found['p'])}, {found['neighbors']}"


def row(found: dict[str, Any]) -> list[str]:
    if "failed" in found:
        return [title(found), found["failed"], "", ""]
    apart = f"{found['apart']:.1e}" if "apart" in found else "–"
    return [title(found), seconds(found["seconds"]), f"{found['extra']:,.0f}", apart]


def text(found: dict[str, Any]) -> list[str]:
    header = ["", "time", "MiB above X", "largest relative difference from exact scores"]
    return [
        *table(header, [row(one) for one in found["cases"]]),
        *warned((title(one), one.get("told", [])) for one in found["cases"]),
    ]


def targets(found: dict[str, Any] | None) -> list[Target]:
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
    "Large tables",
    f"The Laplacian score with k = {K}, including the neighbour search. Each case is one call in a "
    "separate process (`make bench LARGE=1`).",
    measure,
    text,
    targets,
    large=True,
)

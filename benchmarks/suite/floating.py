"""Sequential floating forward selection (SFFS) of graphsieve and of mlxtend.

Both use the same estimator and the same folds.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any, NamedTuple

from peers import interpreter

from suite.part import Part, seconds, table
from suite.processes import answer

LIMIT = 180  # seconds for one search
FOLDS = 5


class Problem(NamedTuple):
    """A data set of scikit-learn, the estimator, and the number of features to select."""

    data: str
    estimator: str
    wanted: int


class Task(NamedTuple):
    """The input of a search. `scoring` counts how often an estimator is scored."""

    X: Any
    y: Any
    judge: Any
    wanted: int
    scoring: Any


PROBLEMS = (Problem("wine", "GaussianNB", 6), Problem("breast_cancer", "KNeighborsClassifier", 8))
OURS, PEER = "graphsieve", "mlxtend"
SEARCHES = (OURS, PEER, f"{PEER}, n_jobs=-1", f"{OURS}, built-in criterion")


def work(search: str, data: str, estimator: str, wanted: int) -> dict[str, Any]:
    """Return the selected features, the time, the number of evaluated sets, and the accuracy.

    The same function computes the accuracy for all searches.
    """
    from sklearn import datasets
    from sklearn.model_selection import cross_val_score
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.preprocessing import StandardScaler

    warnings.simplefilter("ignore")
    X, y = getattr(datasets, f"load_{data}")(return_X_y=True)
    X, judge = (
        StandardScaler().fit_transform(X),
        {"GaussianNB": GaussianNB(), "KNeighborsClassifier": KNeighborsClassifier()}[estimator],
    )
    fits = [0]

    def counted(fitted: Any, rows: Any, outcome: Any) -> float:
        fits[0] += 1
        return float(fitted.score(rows, outcome))

    task = Task(X, y, judge, wanted, counted)
    start = time.perf_counter()
    run_search = mlxtend_search if search.startswith(PEER) else graphsieve_search
    chosen = run_search(search, task)
    taken = time.perf_counter() - start
    value = float(cross_val_score(judge, X[:, chosen], y, cv=FOLDS).mean())
    return {"seconds": taken, "judged": fits[0] / FOLDS, "value": value, "chosen": sorted(chosen)}


def graphsieve_search(search: str, task: Task) -> list[int]:
    from graphsieve.search import floating_selection

    judged = (
        {"estimator": task.judge, "scoring": task.scoring, "cv": FOLDS} if search == OURS else {}
    )
    return [
        int(feature)
        for feature in floating_selection(
            task.X, task.y, n_features_to_select=task.wanted, **judged
        )
    ]


def mlxtend_search(search: str, task: Task) -> list[int]:
    from mlxtend.feature_selection import SequentialFeatureSelector

    alone = search == PEER
    settings = {
        "n_jobs": 1 if alone else -1,
        "scoring": task.scoring if alone else "accuracy",
        "cv": FOLDS,
    }
    selector = SequentialFeatureSelector(
        task.judge, k_features=task.wanted, forward=True, floating=True, **settings
    )
    return [int(feature) for feature in selector.fit(task.X, task.y).k_feature_idx_]


def measure() -> dict[str, Any]:
    python, version = interpreter(PEER)
    pythons = {search: python if search.startswith(PEER) else sys.executable for search in SEARCHES}
    found = []
    for problem in PROBLEMS:
        for search, used in pythons.items():
            result = (
                answer("floating", LIMIT, used, search=search, **problem._asdict())
                if used
                else {"failed": version}
            )
            found.append({"search": search, **problem._asdict()} | result)
    return {"version": version, "searches": found}


def row(found: dict[str, Any]) -> list[str]:
    problem = f"{found['data']}, {found['estimator']}, {found['wanted']} features"
    if "failed" in found:
        return [problem, found["search"], found["failed"], "", "", "", ""]
    counted = found["judged"] > 0
    return [
        problem,
        found["search"],
        seconds(found["seconds"]),
        f"{found['judged']:.0f}" if counted else "–",
        seconds(found["seconds"] / found["judged"]) if counted else "–",
        f"{found['value']:.4f}",
        " ".join(map(str, found["chosen"])),
    ]


def text(found: dict[str, Any]) -> list[str]:
    header = ["problem", "search", "time", "sets", "time per set", "accuracy", "columns"]
    return [
        *table(header, [row(one) for one in found["searches"]]),
        "",
        f"mlxtend {found['version']}.",
    ]


PART = Part(
    "floating",
    "Floating search (SFFS)",
    f"Both packages use the same estimator and the same {FOLDS} folds on standardised data of "
    "scikit-learn. *Sets* is the number of evaluated feature sets. The same function computes the "
    "*accuracy* of all selected sets. The searches differ. graphsieve removes a feature if the "
    "remaining set is better than every earlier set of that size, as published, and never "
    "evaluates a set twice. mlxtend removes a feature only if the remaining set is also better "
    "than the larger set. The searches can therefore end in different sets, and neither is always "
    "better. The estimator takes nearly all of the time, so compare the *time per set*. The "
    "built-in criterion is the leave-one-out error of a ridge regression, which has a closed form. "
    "It fits no estimator, and it may select a different set.",
    measure,
    text,
)

"""Sequential floating forward selection (SFFS) against mlxtend's: the same estimator, the same
folds.
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
    """A data set of scikit-learn's, the estimator that judges, and how many features are wanted."""

    data: str
    estimator: str
    wanted: int


class Task(NamedTuple):
    """What a search is given; `scoring` counts how often an estimator is judged."""

    X: Any
    y: Any
    judge: Any
    wanted: int
    scoring: Any


PROBLEMS = (Problem("wine", "GaussianNB", 6), Problem("breast_cancer", "KNeighborsClassifier", 8))
OURS, PEER = "graphsieve", "mlxtend"
WHO = (OURS, PEER, f"{PEER}, n_jobs=-1", f"{OURS}, its own criterion")


def work(who: str, data: str, estimator: str, wanted: int) -> dict[str, Any]:
    """The set that was found, the time, how many sets were judged, and the set's criterion by
    one function for all.
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
    chosen = mlxtend_search(who, task) if who.startswith(PEER) else graphsieve_search(who, task)
    taken = time.perf_counter() - start
    value = float(cross_val_score(judge, X[:, chosen], y, cv=FOLDS).mean())
    return {"seconds": taken, "judged": fits[0] / FOLDS, "value": value, "chosen": sorted(chosen)}


def graphsieve_search(who: str, task: Task) -> list[int]:
    from graphsieve.search import floating_selection

    judged = {"estimator": task.judge, "scoring": task.scoring, "cv": FOLDS} if who == OURS else {}
    return [
        int(feature)
        for feature in floating_selection(
            task.X, task.y, n_features_to_select=task.wanted, **judged
        )
    ]


def mlxtend_search(who: str, task: Task) -> list[int]:
    from mlxtend.feature_selection import SequentialFeatureSelector

    alone = who == PEER
    settings = {
        "n_jobs": 1 if alone else -1,
        "scoring": task.scoring if alone else "accuracy",
        "cv": FOLDS,
    }
    search = SequentialFeatureSelector(
        task.judge, k_features=task.wanted, forward=True, floating=True, **settings
    )
    return [int(feature) for feature in search.fit(task.X, task.y).k_feature_idx_]


def measure() -> dict[str, Any]:
    python, version = interpreter(PEER)
    pythons = {who: python if who.startswith(PEER) else sys.executable for who in WHO}
    found = []
    for problem in PROBLEMS:
        for who, used in pythons.items():
            told = (
                answer("floating", LIMIT, used, who=who, **problem._asdict())
                if used
                else {"failed": version}
            )
            found.append({"who": who, **problem._asdict()} | told)
    return {"version": version, "searches": found}


def row(found: dict[str, Any]) -> list[str]:
    problem = f"{found['data']}, {found['estimator']}, {found['wanted']} features"
    if "failed" in found:
        return [problem, found["who"], found["failed"], "", "", "", ""]
    counted = found["judged"] > 0
    return [
        problem,
        found["who"],
        seconds(found["seconds"]),
        f"{found['judged']:.0f}" if counted else "–",
        seconds(found["seconds"] / found["judged"]) if counted else "–",
        f"{found['value']:.4f}",
        " ".join(map(str, found["chosen"])),
    ]


def text(found: dict[str, Any]) -> list[str]:
    header = ["problem", "who", "time", "sets judged", "time a set", "accuracy", "columns"]
    return [
        *table(header, [row(one) for one in found["searches"]]),
        "",
        f"mlxtend {found['version']}.",
    ]


PART = Part(
    "floating",
    "Floating search (SFFS)",
    f"The same estimator and the same {FOLDS} folds on scikit-learn's data, standardised; "
    "*accuracy* is that of the set that "
    "came out, by one function for all. What is searched differs: ours takes a feature out "
    "whenever what is left beats every "
    "set of its size so far, as published, and never judges a set twice; mlxtend's takes it out "
    "only if what is left beats "
    "the larger set, too. So they may end in different sets, and neither in the better one always. "
    "With an estimator nearly "
    "all the time is the estimator's, so *time a set* is what to compare. Our own criterion (a "
    "ridge regression whose "
    "leave-one-out error has a closed form) fits no estimator at all, and looks for another set "
    "than the estimator would.",
    measure,
    text,
)

"""Compare graphsieve with other packages: measured properties, and the time and memory of the
Laplacian score.

    python benchmarks/peers.py             # two tables as text
    python benchmarks/peers.py --markdown  # the same as Markdown, for docs/peers.md

This script installs the packages in virtual environments in the user's cache folder, or in the
folder GRAPHSIEVE_PEERS. One environment contains the packages with compatible requirements. Another
contains delve-fs, which requires numpy < 2. Every measurement runs in a separate process, which
reads the data from an .npz file and answers in JSON. A package that does not install is reported.

Each package is called as in its documentation, with the same number of neighbours. Where it has the
parameter, it also uses the same heat kernel exp(-d²/t). The calls are printed. If a package returns
scores only, NaN ranks last.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from memory import grouped_rows, measured

OURS = "graphsieve"
REFERENCE = "10-line reference"
PACKAGES = [
    OURS,
    "skfeature-chappers",
    "ITMO_FS",
    "delve-fs",
    "skrebate",
    "fast-select",
    "scikit-learn",
]
TIMED = [OURS, REFERENCE, "delve-fs", "skfeature-chappers", "ITMO_FS"]
ENVIRONMENTS = {name: "peers" for name in [*PACKAGES[1:-1], "mlxtend"]} | {"delve-fs": "delve"}
SIZES = (2_000, 5_000, 10_000, 20_000)
WIDE = (200, 7_000)  # few samples and many features, as in gene expression data
N_NEIGHBORS = 5
# Seconds per time measurement. A package that needs more is not run on larger tables.
TIME_LIMIT = 60
FACTS_LIMIT = 180  # seconds for all facts of one package
MEMORY_LIMIT = 12 * 2**30  # bytes of address space, so that a package cannot exhaust the memory


# --- Calls
# --------------------------------------------------------------------------------------------------


class Call(NamedTuple):
    """A call of a package that computes a score.

    `run(X, y, t)` uses the settings of this benchmark, and `default(X, y)` those of the package, if
    they differ. `best` is "small" or "large" for the good scores, or "order" if the call returns
    the columns, best first.
    """

    text: str
    run: Callable[[Any, Any, float], Any]
    best: str
    default: Callable[[Any, Any], Any] | None = None


def graphsieve_calls() -> dict[str, Call]:
    from graphsieve import GraphSieve, scores

    def with_labels(X: Any, y: Any, t: float) -> Any:
        return (
            GraphSieve("laplacian", n_neighbors=N_NEIGHBORS, bandwidth=t, scale=None)
            .fit(X, y)
            .scores_
        )

    def one_selected(X: Any, y: Any, _: float) -> Any:
        return GraphSieve("fisher", n_features_to_select=1).fit(X, y).get_support(indices=True)

    return {
        "Laplacian": Call(
            "scores.laplacian_score(X, n_neighbors=5, bandwidth=t)",
            lambda X, y, t: scores.laplacian_score(X, n_neighbors=N_NEIGHBORS, bandwidth=t),
            "small",
            lambda X, y: scores.laplacian_score(X),
        ),
        "Laplacian, y given": Call(
            "GraphSieve('laplacian', n_neighbors=5, bandwidth=t, scale=None).fit(X, y)",
            with_labels,
            "small",
        ),
        "SPEC": Call(
            "scores.spec_score(X, n_neighbors=5, bandwidth=t)",
            lambda X, y, t: scores.spec_score(X, n_neighbors=N_NEIGHBORS, bandwidth=t),
            "small",
        ),
        "Fisher": Call(
            "scores.fisher_score(X, y)", lambda X, y, t: scores.fisher_score(X, y), "large"
        ),
        "Fisher, select 1": Call(
            "GraphSieve('fisher', n_features_to_select=1).fit(X, y)", one_selected, "order"
        ),
        "ReliefF": Call(
            "scores.relieff_score(X, y, n_neighbors=5)",
            lambda X, y, t: scores.relieff_score(X, y, n_neighbors=N_NEIGHBORS),
            "large",
        ),
    }


def reference_calls() -> dict[str, Call]:
    """Return a minimal implementation, without checks and without care for ties, offsets or
    constants.
    """
    import numpy as np
    import scipy.sparse as sp
    from sklearn.neighbors import NearestNeighbors

    def laplacian(X: Any, y: Any, t: float) -> Any:
        distance, neighbor = NearestNeighbors(n_neighbors=N_NEIGHBORS).fit(X).kneighbors()
        row = np.repeat(np.arange(len(X)), N_NEIGHBORS)
        W = sp.csr_array(
            (np.exp(-(distance.ravel() ** 2) / t), (row, neighbor.ravel())), shape=(len(X), len(X))
        )
        W = W.maximum(W.T)
        degree = W.sum(axis=1)
        F = X - degree @ X / degree.sum()
        spread = degree @ F**2
        return (spread - (F * (W @ F)).sum(axis=0)) / spread

    return {
        "Laplacian": Call(
            "sklearn NearestNeighbors(n_neighbors=5) and a CSR matrix", laplacian, "small"
        )
    }


def skfeature_calls() -> dict[str, Call]:
    from skfeature.function.similarity_based.fisher_score import fisher_score
    from skfeature.function.similarity_based.lap_score import lap_score
    from skfeature.function.similarity_based.reliefF import reliefF
    from skfeature.function.similarity_based.SPEC import spec
    from skfeature.utility.construct_W import construct_W
    from sklearn.feature_selection import SelectKBest

    def graph(X: Any, t: float) -> Any:
        # Its kernel is exp(-d²/2t²).
        return construct_W(
            X,
            metric="euclidean",
            neighbor_mode="knn",
            weight_mode="heat_kernel",
            k=N_NEIGHBORS,
            t=(t / 2) ** 0.5,
        )

    def one_selected(X: Any, y: Any, _: float) -> Any:
        return SelectKBest(fisher_score, k=1).fit(X, y).get_support(indices=True)

    return {
        "Laplacian": Call(
            "lap_score(X, W=construct_W(X, metric='euclidean', weight_mode='heat_kernel', k=5, "
            "t=sqrt(t/2)), mode='index')",
            lambda X, y, t: lap_score(X, W=graph(X, t), mode="index"),
            "order",
            lambda X, y: lap_score(X),
        ),
        "Laplacian, y given": Call(
            "lap_score(X, y, …)",
            lambda X, y, t: lap_score(X, y, W=graph(X, t), mode="index"),
            "order",
        ),
        "SPEC": Call(
            "spec(X, W=the same, style=0, mode='index')",
            lambda X, y, t: spec(X, W=graph(X, t), style=0, mode="index"),
            "order",
        ),
        "Fisher": Call(
            "fisher_score(X, y, mode='index')",
            lambda X, y, t: fisher_score(X, y, mode="index"),
            "order",
        ),
        "Fisher, select 1": Call("SelectKBest(fisher_score, k=1).fit(X, y)", one_selected, "order"),
        "ReliefF": Call(
            "reliefF(X, y, k=5, mode='raw')",
            lambda X, y, t: reliefF(X, y, k=N_NEIGHBORS, mode="raw"),
            "large",
        ),
    }


def itmo_calls() -> dict[str, Call]:
    import numpy as np
    from ITMO_FS.filters.sparse import SPEC
    from ITMO_FS.filters.univariate import (
        UnivariateFilter,
        f_ratio_measure,
        laplacian_score,
        reliefF_measure,
        select_k_best,
    )

    def one_selected(X: Any, y: Any, _: float) -> Any:
        one = UnivariateFilter(f_ratio_measure, select_k_best(1))
        one.fit(X, y)
        return one.selected_features

    return {
        "Laplacian": Call(
            "laplacian_score(X, y, k_neighbors=5, t=t), all y different so that labels have no "
            "effect",
            lambda X, y, t: laplacian_score(X, np.arange(X.shape[0]), k_neighbors=N_NEIGHBORS, t=t),
            "small",
            laplacian_score,
        ),
        "Laplacian, y given": Call(
            "laplacian_score(X, y, …)",
            lambda X, y, t: laplacian_score(X, y, k_neighbors=N_NEIGHBORS, t=t),
            "small",
        ),
        "SPEC": Call(
            "SPEC(p, sigma=sqrt(t)/2, phi_type=2).run(X)",
            lambda X, y, t: SPEC(X.shape[1], sigma=t**0.5 / 2, phi_type=2).run(X),
            "small",
        ),
        "Fisher": Call("f_ratio_measure(X, y)", lambda X, y, t: f_ratio_measure(X, y), "large"),
        "Fisher, select 1": Call(
            "UnivariateFilter(f_ratio_measure, select_k_best(1)).fit(X, y)", one_selected, "order"
        ),
        "ReliefF": Call(
            "reliefF_measure(X, y, k_neighbors=5)",
            lambda X, y, t: reliefF_measure(X, y, k_neighbors=N_NEIGHBORS),
            "large",
        ),
    }


def delve_calls() -> dict[str, Call]:
    from delve import construct_affinity, laplacian_score

    return {
        "Laplacian": Call(
            "laplacian_score(X, construct_affinity(X, k=5)), a heat kernel with a width for each "
            "sample; its main function delve_fs(AnnData) makes sparse X dense",
            lambda X, y, t: laplacian_score(X, construct_affinity(X, k=N_NEIGHBORS)),
            "small",
            lambda X, y: laplacian_score(X, construct_affinity(X)),
        )
    }


def skrebate_calls() -> dict[str, Call]:
    from skrebate import ReliefF

    def weights(X: Any, y: Any, _: float) -> Any:
        return (
            ReliefF(n_features_to_select=1, n_neighbors=N_NEIGHBORS, n_jobs=-1)
            .fit(X, y)
            .feature_importances_
        )

    return {"ReliefF": Call("ReliefF(n_neighbors=5, n_jobs=-1).fit(X, y)", weights, "large")}


def fast_select_calls() -> dict[str, Call]:
    from fast_select import ReliefF

    def weights(X: Any, y: Any, _: float) -> Any:
        return ReliefF(n_neighbors=N_NEIGHBORS).fit(X, y).feature_importances_

    return {"ReliefF": Call("ReliefF(n_neighbors=5).fit(X, y)", weights, "large")}


def sklearn_calls() -> dict[str, Call]:
    from sklearn.feature_selection import SelectKBest, f_classif

    def one_selected(X: Any, y: Any, _: float) -> Any:
        return SelectKBest(f_classif, k=1).fit(X, y).get_support(indices=True)

    return {
        "Fisher": Call(
            "f_classif(X, y), the F statistic", lambda X, y, t: f_classif(X, y)[0], "large"
        ),
        "Fisher, select 1": Call("SelectKBest(f_classif, k=1).fit(X, y)", one_selected, "order"),
    }


CALLS: dict[str, Callable[[], dict[str, Call]]] = {
    OURS: graphsieve_calls,
    REFERENCE: reference_calls,
    "skfeature-chappers": skfeature_calls,
    "ITMO_FS": itmo_calls,
    "delve-fs": delve_calls,
    "skrebate": skrebate_calls,
    "fast-select": fast_select_calls,
    "scikit-learn": sklearn_calls,
}


# --- The facts
# --------------------------------------------------------------------------------------------------


class Answer(NamedTuple):
    """Whether the fact holds, and the value that shows it."""

    holds: bool
    figure: str


def result(call: Call, X: Any, y: Any, t: float) -> tuple[Any, list[int]]:
    """Return the scores and the order of the columns, best first.

    The scores are None if the package returns the order only.
    """
    import numpy as np

    values = np.asarray(call.run(X, y, t))
    if call.best == "order":
        return None, [int(column) for column in values]
    values = values.astype(float)
    return values, [
        int(column)
        for column in np.argsort(values if call.best == "small" else -values, kind="stable")
    ]


def same(call: Call, t: float, one: tuple[Any, Any], other: tuple[Any, Any]) -> Answer:
    """Whether two inputs (X, y) give the same scores, or the same order if there are no scores."""
    import numpy as np

    (scores, order), (other_scores, other_order) = result(call, *one, t), result(call, *other, t)
    if scores is None:
        return Answer(
            order == other_order, "same order" if order == other_order else "different order"
        )
    difference = float(np.abs(scores - other_scores).max())
    return Answer(difference < 1e-6, f"differs by {difference:.1g}")


def kept(call: Call, data: Any, column: int, changed: Any) -> Answer:
    """Whether one column keeps its score (to a relative tolerance of 0.001) and its rank."""
    import numpy as np

    X, y, t = data["units_X"], data["y"], float(data["units_t"])
    (before, order), (after, new_order) = result(call, X.copy(), y, t), result(call, changed, y, t)
    place, new_place = order.index(column) + 1, new_order.index(column) + 1
    if before is None:
        return Answer(place == new_place, f"rank {place} → {new_place} of {len(order)}")
    close = bool(np.isclose(before[column], after[column], rtol=1e-3, atol=0))
    return Answer(close and place == new_place, f"{before[column]:.3g} → {after[column]:.3g}")


def keeps_scale(call: Call, data: Any) -> Answer:
    """Test a rescaled column. It is too narrow to affect the neighbours, so only its score can
    change.
    """
    changed = data["units_X"].copy()
    changed[:, -1] *= 1e-8
    return kept(call, data, changed.shape[1] - 1, changed)


def keeps_offset(call: Call, data: Any) -> Answer:
    changed = data["units_X"].copy()
    changed[:, 0] += 1e8
    return kept(call, data, 0, changed)


def constants_last(call: Call, data: Any, rows: int | None = None) -> Answer:
    import numpy as np

    X, y = data["digits_X"][:rows], data["digits_y"][:rows]
    constant = np.flatnonzero(X.max(axis=0) == X.min(axis=0)).tolist()
    scores, order = result(call, X.copy(), y, float(data["digits_t"]))
    first = min(order.index(column) for column in constant) + 1
    score = "" if scores is None else f", score {scores[constant[0]]:.3g}"
    return Answer(first > X.shape[1] - len(constant), f"from rank {first} of {X.shape[1]}{score}")


def fewer_constants_last(call: Call, data: Any) -> Answer:
    """Test the first 300 rows only, because ReliefF in pure Python is slow."""
    return constants_last(call, data, 300)


def first_column_first(call: Call, data: Any) -> Answer:
    _, order = result(call, data["first_X"].copy(), None, float(data["first_t"]))
    return Answer(order[0] == 0, f"rank {order.index(0) + 1} of {len(order)}")


def takes_sparse(call: Call, data: Any) -> Answer:
    import scipy.sparse as sp

    # Only 100 rows, because one package creates an n × n array of sparse matrices.
    X, y = data["sparse_X"], data["y"][::3]
    return same(call, float(data["units_t"]), (X.copy(), y), (sp.csr_matrix(X), y))


def leaves_input_alone(call: Call, data: Any) -> Answer:
    import numpy as np

    X, y = data["units_X"].copy(), data["y"].copy()
    if call.default is None:
        call.run(X, y, float(data["units_t"]))
    else:
        call.default(X, y)
    change = float(np.abs(X - data["units_X"]).max())
    return Answer(change == 0, f"changed by up to {change:.3g}" if change else "unchanged")


def ignores_labels(call: Call, data: Any) -> Answer:
    X = data["units_X"]
    return same(call, float(data["units_t"]), (X.copy(), data["y"]), (X.copy(), data["other_y"]))


def finds_the_one(call: Call, data: Any) -> Answer:
    problems = list(zip(data["easy_X"], data["easy_y"], data["easy_one"], strict=True))
    right = sum(result(call, X.copy(), y, 1.0)[1] == [int(one)] for X, y, one in problems)
    return Answer(right == len(problems), f"{right} of {len(problems)}")


def orders_as_the_paper(call: Call, data: Any) -> Answer:
    """Test the order of f0 and f1. By the paper's formula f0 comes first in every draw.

    The mean scores of the formula are printed below the table.
    """
    import numpy as np

    found = np.array(
        [result(call, X.copy(), data["rare_y"].copy(), 1.0)[0][:2] for X in data["rare_X"]]
    )
    right = int((found[:, 0] > found[:, 1]).sum())
    return Answer(right == len(found), f"{right} of {len(found)} draws, {two(found.mean(axis=0))}")


def two(scores: Any) -> str:
    return f"f0 {scores[0]:.3g} f1 {scores[1]:.3g}"


class Fact(NamedTuple):
    """A statement about a score, and its test."""

    statement: str
    score: str
    test: Callable[[Call, Any], Answer]


SCALE, OFFSET = "a column × 1e-8 keeps score and rank", "a column + 1e8 keeps score and rank"
CONSTANT, FIRST = (
    "digits: the 3 constant pixels come last",
    "graph of the first column: it comes first",
)
SPARSE, ALONE = "sparse and dense input give the same result", "the caller's X is not modified"

FACTS = [
    Fact(SCALE, "Laplacian", keeps_scale),
    Fact(SCALE, "Fisher", keeps_scale),
    Fact(SCALE, "ReliefF", keeps_scale),
    Fact(OFFSET, "Laplacian", keeps_offset),
    Fact(OFFSET, "Fisher", keeps_offset),
    Fact(OFFSET, "ReliefF", keeps_offset),
    Fact(CONSTANT, "Laplacian", constants_last),
    Fact(CONSTANT, "SPEC", constants_last),
    Fact(CONSTANT, "Fisher", constants_last),
    Fact("300 digits: the 9 constant pixels come last", "ReliefF", fewer_constants_last),
    Fact(FIRST, "Laplacian", first_column_first),
    Fact(FIRST, "SPEC", first_column_first),
    Fact(SPARSE, "Laplacian", takes_sparse),
    Fact(SPARSE, "Fisher", takes_sparse),
    Fact(SPARSE, "ReliefF", takes_sparse),
    Fact(ALONE + " (default call)", "Laplacian", leaves_input_alone),
    Fact(ALONE, "Fisher", leaves_input_alone),
    Fact(ALONE, "ReliefF", leaves_input_alone),
    Fact("unsupervised: a different y has no effect", "Laplacian, y given", ignores_labels),
    Fact("50 easy problems: finds the 1 relevant column of 8", "Fisher, select 1", finds_the_one),
    Fact("classes of 240, 50, 10: the paper's order", "ReliefF", orders_as_the_paper),
]


# --- The data
# --------------------------------------------------------------------------------------------------


def make_data(folder: Path) -> None:
    import numpy as np
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 100)
    # Two wide columns depend on the classes, two are noise, and a narrow one depends on the classes
    # most strongly.
    wide = np.column_stack([4 * y, 4 * (y == 1), 0 * y, 0 * y]) + rng.normal(size=(300, 4))
    units = np.column_stack([wide, 1e-3 * (y + 0.1 * rng.normal(size=300))])
    sparse = np.where(rng.random((100, 20)) < 0.3, rng.random((100, 20)), 0) + (
        y[::3, None] == 1
    ) * (np.arange(20) < 3)
    first = np.column_stack([1000 * rng.random(300), rng.random((300, 2))])
    digits = load_digits()

    rare_y = np.repeat([0, 1, 2], [240, 50, 10])
    rare = rng.normal(size=(10, 300, 6))
    rare[:, rare_y == 1, 0] += 4
    rare[:, rare_y == 2, 1] += 4

    easy = rng.normal(size=(50, 60, 8))
    easy_y = np.tile(np.repeat([0, 1], 30), (50, 1))
    easy_one = rng.integers(8, size=50)
    easy[np.arange(50)[:, None], np.arange(60), easy_one[:, None]] += 3 * easy_y

    np.savez(
        folder / "facts.npz",
        y=y,
        other_y=rng.permutation(y),
        units_X=units,
        units_t=2.0,
        sparse_X=sparse,
        first_X=first,
        first_t=100.0,
        digits_X=digits.data,
        digits_y=digits.target,
        digits_t=300.0,
        rare_X=rare,
        rare_y=rare_y,
        rare_paper=np.mean([relieff_of_the_paper(X, rare_y, N_NEIGHBORS) for X in rare], axis=0),
        easy_X=easy,
        easy_y=easy_y,
        easy_one=easy_one,
    )
    np.savez(folder / "times.npz", X=grouped_rows(max(SIZES), 50)[0], t=50.0)
    np.savez(folder / "wide.npz", X=grouped_rows(*WIDE)[0], t=float(WIDE[1]))


def relieff_of_the_paper(X: Any, y: Any, k: int) -> Any:
    """Compute ReliefF with plain loops, as published by Robnik-Šikonja and Kononenko (2003)."""
    import numpy as np

    X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    share = {label: np.mean(y == label) for label in np.unique(y)}
    weights = np.zeros(X.shape[1])
    for i in range(len(X)):
        difference = np.abs(X - X[i])
        distance = difference.sum(axis=1)
        for label, prior in share.items():
            others = np.flatnonzero((y == label) & (np.arange(len(X)) != i))
            near = others[np.argsort(distance[others])[:k]]
            factor = -1 if label == y[i] else prior / (1 - share[y[i]])
            weights += factor * difference[near].mean(axis=0) / len(X)
    return weights


# --- In a separate process
# --------------------------------------------------------------------------------------------------


def attempt(fact: Fact, call: Call, data: Any) -> Answer:
    try:
        return fact.test(call, data)
    except (Exception, SystemExit) as problem:
        text = str(problem).strip().splitlines()
        return Answer(False, f"{type(problem).__name__}: {text[0] if text else ''}"[:50])


def answer_facts(package: str, folder: Path) -> Any:
    import numpy as np

    data, calls = np.load(folder / "facts.npz"), CALLS[package]()
    answers = [
        attempt(fact, calls[fact.score], data) if fact.score in calls else None for fact in FACTS
    ]
    return {
        "answers": answers,
        "called": {score: call.text for score, call in calls.items()},
        "paper": two(data["rare_paper"]),
    }


def answer_time(package: str, data: Any, n_samples: int) -> Any:
    X, t, call = data["X"][:n_samples].copy(), float(data["t"]), CALLS[package]()["Laplacian"]
    result(call, X[:200].copy(), None, t)  # Imports and thread pools start in the first call.
    (scores, order), seconds, extra = measured(lambda: result(call, X, None, t), most_calls=5)
    return {
        "seconds": seconds,
        "extra": extra,
        "order": order,
        "scores": None if scores is None else scores.tolist(),
    }


def work(package: str, task: str, folder: Path) -> None:
    """Print the answer as the last line of the output. Packages may print other lines before it."""
    import resource

    import numpy as np

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    warnings.simplefilter("ignore")
    if task == "data":
        found: Any = make_data(folder)
    elif task == "facts":
        found = answer_facts(package, folder)
    elif task == "wide":
        found = answer_time(package, np.load(folder / "wide.npz"), WIDE[0])
    else:
        found = answer_time(package, np.load(folder / "times.npz"), int(task))
    print("\n" + json.dumps(found))


# --- Starting processes
# --------------------------------------------------------------------------------------------------


def progress(text: str) -> None:
    """Print progress to stderr, so that it does not mix with the tables."""
    print(f"… {text}", file=sys.stderr, flush=True)


def run(command: list[str], seconds: float) -> tuple[bool, str]:
    """Return whether a command succeeded, and its last line of output, or of errors if it failed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return False, f"more than {seconds:.0f} s"
    if done.returncode < 0:
        return False, f"killed by signal {-done.returncode}"
    lines = (done.stderr if done.returncode else done.stdout).strip().splitlines()
    return done.returncode == 0, lines[-1] if lines else ""


def ask(python: str, package: str, task: str, folder: Path, seconds: float) -> tuple[Any, str]:
    """Return the answer of a separate process, or None and the reason of the failure."""
    progress(f"{package}: {task}")
    well, line = run([python, __file__, "--work", package, task, str(folder)], seconds)
    if well:
        return json.loads(line), ""
    return None, f"needs more than {MEMORY_LIMIT // 2**30} GiB" if "MemoryError" in line else line[
        :70
    ]


def cache_folder() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return Path(os.environ.get("GRAPHSIEVE_PEERS") or base / "graphsieve-peers") / version


def installed_version(python: str, package: str) -> str | None:
    well, version = run(
        [python, "-c", f"import importlib.metadata as m; print(m.version({package!r}))"], 60
    )
    return version if well else None


def interpreter(package: str) -> tuple[str | None, str]:
    """Return the interpreter that has the package, and its version; or None and the reason."""
    if package not in ENVIRONMENTS:
        return sys.executable, installed_version(sys.executable, package) or ""
    folder = cache_folder() / ENVIRONMENTS[package]
    python = str(folder / "bin" / "python")
    if not Path(python).exists():
        well, reason = run([sys.executable, "-m", "venv", "--clear", str(folder)], 120)
        if not well:
            return None, f"no virtual environment: {reason}"
    version = installed_version(python, package)
    if version is None:
        progress(f"installing {package}")
        _, reason = run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package], 600
        )
        version = installed_version(python, package)
    return (python, version) if version else (None, f"does not install: {reason}")


# --- The tables
# --------------------------------------------------------------------------------------------------


def measured_times(pythons: dict[str, str], folder: Path) -> dict[str, dict[int, Any]]:
    """Return seconds, MiB and order by package and size, or the reason of a failure.

    All packages run at one size before the next, so that changes of the load affect all of them.
    """
    times: dict[str, dict[int, Any]] = {package: {} for package in TIMED if package in pythons}
    last: dict[str, tuple[int, float]] = {}
    for n_samples in SIZES:
        for package, found in times.items():
            if any(isinstance(earlier, str) for earlier in found.values()):
                found[n_samples] = "not tried"
                continue
            if (
                package in last
                and (expected := last[package][1] * (n_samples / last[package][0]) ** 2)
                > TIME_LIMIT
            ):
                found[n_samples] = f"not tried (n²: {expected:.0f} s)"
                continue
            answer, reason = ask(pythons[package], package, str(n_samples), folder, TIME_LIMIT)
            found[n_samples] = answer or reason
            last[package] = (n_samples, answer["seconds"] if answer else TIME_LIMIT)
    return times


def ratio(value: float, ours: float) -> str:
    times = value / max(ours, 1e-3)
    return f"×{times:.0f}" if times >= 10 else f"×{times:.1f}" if times >= 1 else f"×{times:.2f}"


def time_cell(here: Any, ours: Any) -> str:
    if isinstance(here, str):
        return here
    cell = [f"{here['seconds']:.2f} s", f"{here['extra']:.0f} MiB"]
    if isinstance(ours, dict) and ours is not here:
        cell = [
            f"{cell[0]} {ratio(here['seconds'], ours['seconds'])}",
            f"{cell[1]} {ratio(here['extra'], ours['extra'])}",
        ]
    return ", ".join(cell)


def rank_correlation(order: list[int], other: list[int]) -> float:
    """Return Spearman's rank correlation of two orders of the same columns."""
    place = {column: rank for rank, column in enumerate(other)}
    squares = sum((rank - place[column]) ** 2 for rank, column in enumerate(order))
    return 1 - 6 * squares / (len(order) * (len(order) ** 2 - 1))


def agreement(found: dict[int, Any], ours: dict[int, Any]) -> str:
    """Return the rank correlation of the orders on the largest table that both completed."""
    common = [n for n in found if isinstance(found[n], dict) and isinstance(ours[n], dict)]
    if not common:
        return "–"
    return f"{rank_correlation(found[max(common)]['order'], ours[max(common)]['order']):.3f}"


def time_table(times: dict[str, dict[int, Any]]) -> tuple[list[str], list[list[str]]]:
    ours = times[OURS]
    rows = [
        [name, *(time_cell(found[n], ours[n]) for n in SIZES), agreement(found, ours)]
        for name, found in times.items()
    ]
    return ["package", *(f"n = {n:,}" for n in SIZES), "order"], rows


def fact_cell(answer: list[Any] | None, no: str = "NO") -> str:
    return "–" if answer is None else f"{'yes' if answer[0] else no}: {answer[1]}"


def wide_fact_table(facts: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return a table with a row for each fact and a column for each package."""
    rows = [
        [
            fact.statement,
            fact.score,
            *(fact_cell(found["answers"][place], "**no**") for found in facts.values()),
        ]
        for place, fact in enumerate(FACTS)
    ]
    return ["fact", "score", *facts], rows


def long_fact_table(facts: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return a table with a row for each fact and package."""
    rows = []
    for place, fact in enumerate(FACTS):
        ours = fact_cell(facts[OURS]["answers"][place])
        for package, found in facts.items():
            if package != OURS and found["answers"][place] is not None:
                rows.append(
                    [fact.statement, fact.score, ours, package, fact_cell(found["answers"][place])]
                )
    return ["fact", "score", "graphsieve", "package", "its result"], rows


def print_table(header: list[str], rows: list[list[str]], markdown: bool) -> None:
    if markdown:
        for row in (header, ["---"] * len(header), *rows):
            print("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
        return
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    for row in (header, *rows):
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )


def print_list(title: str, lines: list[str]) -> None:
    print(f"\n{title}\n")
    for line in lines:
        print(f"- {line}")


def main(markdown: bool) -> None:
    """Install the packages, run all measurements, and print the tables."""
    asked = list(dict.fromkeys([*PACKAGES, *TIMED]))
    state = {package: interpreter(package) for package in asked}
    pythons = {package: python for package, (python, _) in state.items() if python}
    notes = {package: note for package, (_, note) in state.items()}
    load = os.getloadavg()[0]
    facts = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ask(sys.executable, OURS, "data", folder, FACTS_LIMIT)
        times = measured_times(pythons, folder)
        for package in PACKAGES:
            if package in pythons:
                answer, reason = ask(pythons[package], package, "facts", folder, FACTS_LIMIT)
                if answer:
                    facts[package] = answer
                else:
                    notes[package] += f", failed: {reason}"

    print("Facts, measured in this run (–: the package does not have this score)\n")
    print_table(*(wide_fact_table if markdown else long_fact_table)(facts), markdown)
    print(f"\nThe published ReliefF gives {facts[OURS]['paper']} (mean of the draws).")
    print(
        "\nLaplacian score, k = 5, 50 columns: best time, memory above the data, ratios to "
        "graphsieve, rank correlation with its order\n"
    )
    print_table(*time_table(times), markdown)
    machine = (
        f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {load:.1f} before the run"
    )
    print_list(
        f"Packages ({machine}):", [f"{package} {note}".strip() for package, note in notes.items()]
    )
    called = [
        f"{package}, {score}: `{text}`"
        for package, answer in facts.items()
        for score, text in answer["called"].items()
    ]
    print_list("Calls:", called)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2], sys.argv[3], Path(sys.argv[4]))
    else:
        main("--markdown" in sys.argv[1:])

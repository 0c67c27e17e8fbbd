"""Evaluate the searches: iterative, hybrid and floating selection, harmonic labels, compression.

Usage: OMP_NUM_THREADS=1 python examples/searches.py [docs/searches.png]

The script prints one table per question. Accuracies come with standard errors and are compared with
random columns and all columns. It draws one figure if a file is given. Everything is seeded. Real
tables come from scikit-learn, and from the folder ../shared/data if it exists. Missing tables are
reported and left out. The script takes about two minutes. docs/searches.md shows and explains the
output.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.datasets import load_digits, load_wine
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from graphsieve import FloatingSieve, GraphSieve, GraphSieveWarning, HybridSieve, IterativeSieve
from graphsieve.search.propagation import propagate
from graphsieve.supervision.value import Supervision
from graphsieve.table.columns import MemoryTable

SHARED = Path(__file__).parents[2] / "shared" / "data"
N_RELEVANT, N_NOISE, N_CLUSTERED, N_CLUSTERS, NOISE_RUNS = 5, 100, 100, 3, 50
FOLDS, SIZES, RANDOM_DRAWS = 10, range(5, 11), 5
# For the hybrid search: labelled and unlabelled samples, features to select, random splits.
HYBRID_CASES = {"wine": (9, 60, 4, 40), "digits": (30, 300, 10, 20), "leukemia": (8, 20, 10, 40)}
FLOATING_CASES = {"wine": (3, 20), "digits": (10, 5)}  # features to select, splits
SYNTHETIC_SAMPLES, SYNTHETIC_COLUMNS, COMPRESSION_RUNS = 20_000, 50, 3
# The plain scores use the scale and the metric of the searches, for a fair comparison.
SAME_SCALE: dict[str, Any] = {"scale": "standard", "metric": "euclidean"}
NAVY, TEAL, LIME, GREY = "#253494", "#41b6c4", "#a1dab4", "0.6"


# ---- Data, accuracy, tables


def load(name: str) -> tuple[Any, Any] | None:
    """Return a table without its incomplete rows, or None if it is not available."""
    bundled = {"wine": load_wine, "digits": load_digits}
    if name in bundled:
        return bundled[name](return_X_y=True)
    if not (SHARED / f"{name}.npz").exists():
        print(f"  ({name} is left out: there is no {name}.npz in {SHARED})")
        return None
    with np.load(SHARED / f"{name}.npz", allow_pickle=False) as file:
        X, y = file["X"].astype(np.float64), file["y"]
    complete = ~np.isnan(X).any(axis=1)
    return X[complete], y[complete]


def scaled(train: Any, *others: Any, how: str = "standard") -> list[Any]:
    """Scale all tables by the first: to a standard deviation of 1, or to the range 0 to 1.

    Constant columns become 0.
    """
    shift = train.mean(axis=0) if how == "standard" else train.min(axis=0)
    scale = train.std(axis=0) if how == "standard" else np.ptp(train, axis=0)
    varies = scale > 0
    return [
        np.where(varies, (X - shift) / np.where(varies, scale, 1), 0.0) for X in (train, *others)
    ]


def nearest(A: Any, labels: Any, B: Any, truth: Any) -> float:
    """Return the accuracy of the nearest neighbour in percent."""
    return 100 * float((labels[cdist(B, A, "sqeuclidean").argmin(axis=1)] == truth).mean())


def naive_bayes(A: Any, labels: Any, B: Any, truth: Any) -> float:
    return 100 * float(GaussianNB(var_smoothing=1e-2).fit(A, labels).score(B, truth))


def mean_and_error(values: Iterable[float], independent: int | None = None) -> tuple[float, float]:
    """Return the mean and its standard error.

    `independent` is the number of independent values, if it is smaller than their number.
    """
    found = np.array(list(values))
    return float(found.mean()), float(found.std(ddof=1) / np.sqrt(independent or len(found)))


def cell(
    values: Iterable[float], digits: int = 1, *, sign: bool = False, independent: int | None = None
) -> str:
    mean, error = mean_and_error(values, independent)
    return f"{mean:{'+' if sign else ''}.{digits}f} ± {error:.{digits}f}".replace("-", "−")


def show(header: list[str], rows: list[list[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        print(
            "  "
            + "  ".join(
                f"{text:<{w}}" if i == 0 else f"{text:>{w}}"
                for i, (text, w) in enumerate(zip(row, widths, strict=True))
            )
        )
    print(flush=True)


# ---- Iteration: where it helps


def clustered(seed: int, separation: float) -> Any:
    """Return a few columns that depend on clusters, followed by noise columns.

    The cluster centres have a standard deviation of `separation`.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_CLUSTERED, N_RELEVANT + N_NOISE))
    centers = separation * rng.normal(size=(N_CLUSTERS, N_RELEVANT))
    X[:, :N_RELEVANT] += centers[rng.integers(N_CLUSTERS, size=N_CLUSTERED)]
    return X


def found_share(sieve: Any, X: Any) -> float:
    """Return the percentage of relevant columns among the same number of selected columns."""
    return 100 * float((sieve.fit(X).get_support(indices=True) < N_RELEVANT).mean())


def even_separation() -> float:
    """Return the separation at which the plain Laplacian score finds about half of the columns.

    The tables of this search are not used again.
    """
    plain = GraphSieve("laplacian", n_features_to_select=N_RELEVANT, **SAME_SCALE)
    grid = np.arange(0.5, 3.01, 0.25)
    shares = [
        np.mean([found_share(plain, clustered(10_000 + seed, s)) for seed in range(NOISE_RUNS)])
        for s in grid
    ]
    return float(grid[np.abs(np.array(shares) - 50).argmin()])


def kept_noise_variance(sieve: Any, X: Any) -> float:
    """Return the variance of the selected noise columns relative to that of all noise columns.

    The columns are scaled to the range 0 to 1.
    """
    kept = sieve.fit(X).get_support()[N_RELEVANT:]
    variances = scaled(X, how="minmax")[0].var(axis=0)[N_RELEVANT:]
    return float(variances[kept].mean() / variances.mean())


def iterating_among_noise() -> dict[str, Any]:
    middle = even_separation()
    separations = (middle / 2, middle, 1.5 * middle)
    size = (
        f"{N_RELEVANT} columns depend on {N_CLUSTERS} clusters, {N_NOISE} are noise, {N_CLUSTERED} "
        "samples"
    )
    print(f"1. Iteration with noise columns: {size}.")
    print(
        f"   Percentage of the {N_RELEVANT} relevant columns among the best {N_RELEVANT}, "
        f"{NOISE_RUNS} tables. The plain score on standardised"
    )
    print(f"   columns finds about half at separation {middle:g} (grid search on other tables).\n")
    found: dict[str, Any] = {}
    for title, options in (("defaults", {}), ("0 to 1", {"scale": "minmax", "bandwidth": 1.0})):
        given = {"n_features_to_select": N_RELEVANT, **options}
        ways = {
            "Laplacian score": GraphSieve("laplacian", **(SAME_SCALE | given)),
            "IterativeLS-1, step 1": IterativeSieve(**given),
            "IterativeLS-2, step 1": IterativeSieve(variant=2, **given),
            "IterativeLS-1, step 5": IterativeSieve(step=5, **given),
        }
        found[title] = {
            name: np.array(
                [
                    [found_share(sieve, clustered(seed, s)) for seed in range(NOISE_RUNS)]
                    for s in separations
                ]
            )
            for name, sieve in ways.items()
        }
    print(
        "  defaults: standardised columns, automatic bandwidth; 0 to 1: columns scaled to this "
        "range, bandwidth 1"
    )
    rows = [
        [name, *(cell(values) for shares in found.values() for values in shares[name])]
        for name in ways
    ]
    for step in (1, 5):
        gains = [
            shares[f"IterativeLS-1, step {step}"] - shares["Laplacian score"]
            for shares in found.values()
        ]
        rows.append(
            [
                f"  step {step} − score",
                *(cell(values, sign=True) for gain in gains for values in gain),
            ]
        )
    rows.append(["random columns", *[f"{100 * N_RELEVANT / (N_RELEVANT + N_NOISE):.1f}"] * 6])
    show(["separation", *(f"{title}, {s:.3g}" for title in found for s in separations)], rows)
    ten = {"n_features_to_select": 2 * N_RELEVANT, "scale": "minmax", "bandwidth": 1.0}
    print(
        f"  noise columns among the best {2 * N_RELEVANT}, scaled to 0 to 1, separation "
        f"{middle:g}: variance relative to that of all noise columns"
    )
    rows = [
        [
            name,
            cell(
                [kept_noise_variance(sieve, clustered(seed, middle)) for seed in range(NOISE_RUNS)],
                2,
            ),
        ]
        for name, sieve in (
            ("Laplacian score", GraphSieve("laplacian", **(SAME_SCALE | ten))),
            ("IterativeLS-1, step 1", IterativeSieve(**ten)),
        )
    ]
    show(["", "ratio"], rows)
    return {"separations": separations, **found}


# ---- Iteration: where it does not help


def fold_accuracies(X: Any, y: Any, repeats: int, how: str) -> dict[str, list[float]]:
    """Return, for each fold, the mean accuracy over the best 5 to 10 columns.

    The columns are selected and scaled on the training part.
    """
    found: dict[str, list[float]] = {}
    rng = np.random.default_rng(0)
    sizes = [size for size in SIZES if size <= X.shape[1]]
    for repeat in range(repeats):
        for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=repeat).split(X, y):
            A, B = scaled(X[train], X[test], how=how)

            def accuracy(order: Any, A=A, B=B, train=train, test=test) -> float:
                return float(
                    np.mean(
                        [
                            nearest(A[:, order[:m]], y[train], B[:, order[:m]], y[test])
                            for m in sizes
                        ]
                    )
                )

            bandwidth = 1.0 if how == "minmax" else "auto"
            given = {
                "n_neighbors": 5,
                "bandwidth": bandwidth,
                "scale": None,
                "n_features_to_select": min(sizes),
            }
            orders = {
                "Laplacian": np.argsort(
                    GraphSieve("laplacian", **(SAME_SCALE | given)).fit(A).ranking_
                ),
                "IterativeLS": np.argsort(IterativeSieve(**given).fit(A).ranking_),
                "variance": np.argsort(
                    -scaled(X[train], how="minmax")[0].var(axis=0), kind="stable"
                ),
            }
            for name, order in orders.items():
                found.setdefault(name, []).append(accuracy(order))
            draws = [accuracy(rng.permutation(X.shape[1])) for _ in range(RANDOM_DRAWS)]
            found.setdefault("random", []).append(float(np.mean(draws)))
            found.setdefault("all columns", []).append(nearest(A, y[train], B, y[test]))
    return found


def iterating_on_tables() -> dict[str, dict[str, dict[str, list[float]]]]:
    print(
        "2. Iteration on real tables: 1-NN accuracy in percent, mean over the best 5 to 10 "
        "columns; 10 folds, twice"
    )
    print(
        "   (digits once). Columns are scaled and selected on the training part. Standard errors "
        "are those of 10 folds.\n"
    )
    tables = {
        name: load(name) for name in ("wine", "ionosphere", "wpbc", "dermatology", "zoo", "digits")
    }
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for title, how in (
        ("columns scaled to 0 to 1, bandwidth 1", "minmax"),
        ("defaults of the search: standardised columns, automatic bandwidth", "standard"),
    ):
        rows, found[how] = [], {}
        for name, data in tables.items():
            if data is None:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # zoo has a class of four samples
                by = found[how][name] = fold_accuracies(*data, 1 if name == "digits" else 2, how)
            gains = [np.subtract(by["IterativeLS"], by[other]) for other in ("Laplacian", "random")]
            cells = [cell(values, independent=FOLDS) for values in by.values()]
            rows.append(
                [name, *cells, *(cell(gain, sign=True, independent=FOLDS) for gain in gains)]
            )
        print(f"  {title}")
        show(["table", *by, "Iter − Lap", "Iter − random"], rows)
    return found


# ---- Hybrid selection


def draw_split(y: Any, n_labeled: int, n_unlabeled: int, rng: Any) -> tuple[Any, Any, Any]:
    """Split into labelled samples of all classes, unlabelled samples, and the rest."""
    while True:
        order = rng.permutation(len(y))
        parts = np.split(order, [n_labeled, n_labeled + n_unlabeled])
        if len(np.unique(y[parts[0]])) == len(np.unique(y)):
            return tuple(parts)


def carried(sieve: HybridSieve, truth: Any) -> tuple[float, float]:
    """Return the accuracy and the confidence of the propagated labels of the selected round.

    Both are percentages.
    """
    chosen = sieve.path_[sieve.round_]
    return 100 * float(
        (chosen.predicted == truth[chosen.confident]).mean()
    ), 100 * chosen.confidence


def hybrid_run(
    X: Any, y: Any, case: tuple[int, int, int, int], rng: Any
) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """Return accuracies by selector, accuracy and confidence of propagated labels by base, and a
    comparison of two harmonic solutions.
    """
    labeled, unlabeled, held_out = draw_split(y, *case[:2], rng)
    seen = np.concatenate([labeled, unlabeled])
    A, B = scaled(X[seen], X[held_out])
    few = np.where(np.arange(len(seen)) < len(labeled), y[seen], -1)
    n = case[2]
    hybrids = {
        base: HybridSieve(base, n_features_to_select=n).fit(A, few)
        for base in ("fisher", "floating")
    }
    first = GraphSieve("fisher", n_features_to_select=n).fit(A, few)
    columns = {
        "fisher": first.get_support(indices=True),
        "floating": FloatingSieve(n_features_to_select=n).fit(A, few).get_support(indices=True),
        "sselect": GraphSieve("sselect", n_features_to_select=n, **SAME_SCALE)
        .fit(A, few)
        .get_support(indices=True),
        "hybrid of fisher": hybrids["fisher"].get_support(indices=True),
        "hybrid of floating": hybrids["floating"].get_support(indices=True),
        "fisher, all labels": GraphSieve("fisher", n_features_to_select=n)
        .fit(A, y[seen])
        .get_support(indices=True),
        "all columns": np.arange(X.shape[1]),
    }

    def accuracies(chosen: Any) -> Any:
        given = A[: len(labeled), chosen], y[labeled], B[:, chosen], y[held_out]
        return np.array([nearest(*given), naive_bayes(*given)])

    by_way = {name: accuracies(chosen) for name, chosen in columns.items()}
    by_way["random columns"] = np.mean(
        [accuracies(rng.permutation(X.shape[1])[:n]) for _ in range(20)], axis=0
    )
    labels = {base: carried(sieve, y[seen]) for base, sieve in hybrids.items()}
    return by_way, labels, textbook(A[:, columns["fisher"]], few)


def textbook(rows: Any, few: Any) -> tuple[bool, float]:
    """Return whether (I − P_uu)⁻¹ P_ul Y gives probabilities, to a tolerance of 1e-6, and the
    percentage of labels that differ from the exact ones.
    """
    exact = propagate(
        MemoryTable(rows), Supervision.from_labels(few), n_neighbors=None, bandwidth=None
    )
    exponents = -cdist(rows, rows, "sqeuclidean") / exact.bandwidth
    np.fill_diagonal(exponents, -np.inf)
    P = np.exp(exponents - exponents.max(axis=1, keepdims=True))  # No row underflows.
    P /= P.sum(axis=1, keepdims=True)
    u, known = few < 0, few >= 0
    Y = (few[known, None] == np.unique(few[known])).astype(np.float64)
    try:
        F = np.linalg.inv(np.eye(int(u.sum())) - P[np.ix_(u, u)]) @ P[np.ix_(u, known)] @ Y
    except np.linalg.LinAlgError:
        return False, 100.0
    good = bool(np.isfinite(F).all() and (np.abs(F.sum(axis=1) - 1) < 1e-6).all())
    return good, 100 * float((F.argmax(axis=1) != exact.probabilities[u].argmax(axis=1)).mean())


def hybrid_tables() -> dict[str, Any]:
    print(
        "3. Hybrid selection with few labelled and some unlabelled samples: accuracy in percent on "
        "all other samples, after training on the labelled ones.\n"
    )
    found: dict[str, Any] = {}
    for name, case in HYBRID_CASES.items():
        data = load(name)
        if data is not None:
            rng = np.random.default_rng(0)
            found[name] = [hybrid_run(*data, case, rng) for _ in range(case[3])]
    ways = list(next(iter(found.values()))[0][0])
    accuracy = {
        name: {way: np.array([run[0][way] for run in runs]) for way in ways}
        for name, runs in found.items()
    }
    sizes = [
        f"{name}, {HYBRID_CASES[name][2]} columns, {HYBRID_CASES[name][0]} + "
        f"{HYBRID_CASES[name][1]}"
        for name in found
    ]
    print(
        "  "
        + "; ".join(
            f"{size}, {HYBRID_CASES[name][3]} splits"
            for size, name in zip(sizes, found, strict=True)
        )
    )
    header = ["columns by", *(f"{name} {how}" for name in found for how in ("1-NN", "Bayes"))]
    rows = [
        [way, *(cell(accuracy[name][way][:, how]) for name in found for how in (0, 1))]
        for way in ways
    ]
    for base in ("fisher", "floating"):
        gain = {name: accuracy[name][f"hybrid of {base}"] - accuracy[name][base] for name in found}
        rows.append(
            [
                f"  hybrid − {base}",
                *(cell(gain[name][:, how], sign=True) for name in found for how in (0, 1)),
            ]
        )
    show(header, rows)
    print(
        "  propagated labels in the selected round: accuracy in percent, and their estimated "
        "confidence in percent"
    )
    bases = ("fisher", "floating")
    labels = {
        name: {base: np.array([run[1][base] for run in runs]) for base in bases}
        for name, runs in found.items()
    }
    rows = [
        [
            ("accuracy", "confidence")[column],
            *(cell(labels[name][base][:, column]) for name in found for base in bases),
        ]
        for column in (0, 1)
    ]
    show(["hybrid of", *(f"{name} {base}" for name in found for base in bases)], rows)
    print(
        "4. Harmonic labels from the textbook matrix inverse at the automatic bandwidth, on the "
        "same splits (columns selected by fisher).\n"
    )
    rows = [
        [
            name,
            f"{sum(not run[2][0] for run in runs)} of {len(runs)}",
            cell([run[2][1] for run in runs]),
        ]
        for name, runs in found.items()
    ]
    show(["table", "splits without probabilities", "labels that differ from exact ones, %"], rows)
    return {"accuracy": accuracy, "labels": labels}


# ---- Floating selection


def floating_accuracies(X: Any, y: Any, n: int, splits: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    rng = np.random.default_rng(0)
    sieves = {
        "floating": FloatingSieve(n_features_to_select=n),
        "floating by 1-NN": FloatingSieve(KNeighborsClassifier(1), cv=2, n_features_to_select=n),
        "fisher": GraphSieve("fisher", n_features_to_select=n),
    }
    for train, test in StratifiedShuffleSplit(splits, test_size=0.5, random_state=0).split(X, y):
        A, B = scaled(X[train], X[test])

        def accuracy(chosen: Any, A=A, B=B, train=train, test=test) -> float:
            return nearest(A[:, chosen], y[train], B[:, chosen], y[test])

        for way, sieve in sieves.items():
            found.setdefault(way, []).append(accuracy(sieve.fit(A, y[train]).get_support()))
        draws = [accuracy(rng.permutation(X.shape[1])[:n]) for _ in range(20)]
        found.setdefault("random columns", []).append(float(np.mean(draws)))
        found.setdefault("all columns", []).append(accuracy(np.arange(X.shape[1])))
    return found


def floating_tables() -> None:
    print("5. Floating selection with all labels: 1-NN accuracy in percent on the held-out half.\n")
    found = {
        f"{name}, {n} columns, {splits} splits": floating_accuracies(*load(name), n, splits)
        for name, (n, splits) in FLOATING_CASES.items()
    }
    rows = [[way, *(cell(by[way]) for by in found.values())] for way in next(iter(found.values()))]
    for way in ("floating", "floating by 1-NN"):
        gains = [np.subtract(by[way], by["fisher"]) for by in found.values()]
        rows.append([f"  {way} − fisher", *(cell(gain, sign=True) for gain in gains)])
    show(["columns by", *found], rows)


# ---- Compression


def graded(seed: int) -> Any:
    """Return ten groups with a dependence that increases from column to column."""
    rng = np.random.default_rng(seed)
    centers = np.linspace(0, 2, SYNTHETIC_COLUMNS) * rng.normal(size=(10, SYNTHETIC_COLUMNS))
    return (
        rng.normal(size=(SYNTHETIC_SAMPLES, SYNTHETIC_COLUMNS))
        + centers[rng.integers(10, size=SYNTHETIC_SAMPLES)]
    )


def timed(sieve: Any, X: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    return sieve.fit(X).scores_, time.perf_counter() - start


def compressed_runs(tables: Iterable[Any]) -> dict[str, list[tuple[float, float]]]:
    """Return, by method, the rank correlation with the scores from all samples, and the seconds."""
    found: dict[str, list[tuple[float, float]]] = {}
    for number, X in enumerate(tables):
        rng = np.random.default_rng(number)
        reference, seconds = timed(GraphSieve("laplacian", **SAME_SCALE), X)
        found.setdefault("all samples", []).append((1.0, seconds))
        for times, text in ((1, "√u"), (5, "5√u")):
            size = round(times * len(X) ** 0.5)
            chosen = rng.permutation(len(X))[:size]
            ways = {
                f"som, {text}": (
                    GraphSieve("laplacian", compress="som", n_prototypes=size, **SAME_SCALE),
                    X,
                ),
                f"kmeans, {text}": (
                    GraphSieve("laplacian", compress="kmeans", n_prototypes=size, **SAME_SCALE),
                    X,
                ),
                f"random samples, {text}": (GraphSieve("laplacian", **SAME_SCALE), X[chosen]),
            }
            for name, (sieve, rows) in ways.items():
                scores, seconds = timed(sieve, rows)
                correlation = float(spearmanr(reference, scores, nan_policy="omit").statistic)
                found.setdefault(name, []).append((correlation, seconds))
    return found


def parts_of(X: Any) -> list[Any]:
    """Return several random subsets with 80 % of the samples."""
    return [
        X[np.random.default_rng(seed).permutation(len(X))[: len(X) * 4 // 5]]
        for seed in range(COMPRESSION_RUNS)
    ]


def compression_tables() -> dict[str, dict[str, list[tuple[float, float]]]]:
    print(
        "6. Compression: rank correlation of the Laplacian scores with those from all samples, and "
        "seconds.\n"
        f"   Synthetic tables of {SYNTHETIC_SAMPLES:,} × {SYNTHETIC_COLUMNS}, 80 % of the samples "
        f"of real tables, {COMPRESSION_RUNS} runs.\n"
    )
    found = {"synthetic": compressed_runs(graded(seed) for seed in range(COMPRESSION_RUNS))}
    for name in ("digits", "waveform40"):
        data = load(name)
        if data is not None:
            found[name] = compressed_runs(parts_of(data[0]))
    header = ["graph of", *(f"{name}{what}" for name in found for what in ("", ", s"))]
    rows = []
    for way in found["synthetic"]:
        cells: list[str] = []
        for by in found.values():
            correlations, seconds = np.array(by[way]).T
            cells += [
                cell(correlations, 3) if way != "all samples" else "1",
                f"{seconds.mean():.3f}",
            ]
        rows.append([way, *cells])
    show(header, rows)
    return found


# ---- Figure


def draw(path: str, noise: Any, tables: Any, hybrid: Any, compression: Any) -> None:
    import matplotlib as mpl  # noqa: PLC0415 (the tables need no matplotlib)

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(1, 4, figsize=(13, 3.8), layout="constrained")
    draw_noise(axes[0], noise)
    draw_tables(axes[1], tables)
    draw_labels(axes[2], hybrid["labels"])
    draw_compression(axes[3], compression)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=8)
    figure.savefig(path, dpi=130)
    print(f"Figure: {path}")


def draw_noise(axis: Any, noise: Any) -> None:
    for title, line in (("defaults", "-"), ("0 to 1", "--")):
        for name, color in (("Laplacian score", TEAL), ("IterativeLS-1, step 1", NAVY)):
            means, errors = np.array([mean_and_error(values) for values in noise[title][name]]).T
            label = f"{name.split(',')[0]}, {title}"
            axis.errorbar(
                noise["separations"],
                means,
                errors,
                ls=line,
                color=color,
                marker="o",
                ms=3,
                label=label,
            )
    axis.axhline(
        100 * N_RELEVANT / (N_RELEVANT + N_NOISE), color=GREY, ls=":", label="random columns"
    )
    axis.set_title("Iteration with noise columns:\nrelevant columns found (%)", fontsize=9)
    axis.set_xlabel("separation of the clusters", fontsize=8)
    axis.set(ylim=(0, 100), xticks=noise["separations"])
    axis.legend(
        fontsize=6.5, frameon=False, loc="lower right", bbox_to_anchor=(1.02, 0.05), handlelength=4
    )


def draw_tables(axis: Any, found: Any) -> None:
    axis.axvline(0, color=GREY, ls=":")
    shown = [
        ("variance", "minmax", LIME),
        *((n, how, c) for n, c in (("Laplacian", TEAL), ("IterativeLS", NAVY)) for how in found),
    ]
    for place, (name, how, color) in enumerate(shown):
        gains = [
            mean_and_error(np.subtract(by[name], by["random"]), FOLDS) for by in found[how].values()
        ]
        means, errors = np.array(gains).T
        fill = color if how == "minmax" else "white"
        label = (
            name if name == "variance" else f"{name}, {'0 to 1' if how == 'minmax' else 'defaults'}"
        )
        heights = np.arange(len(means)) + 0.16 * (place - 2)
        axis.errorbar(
            means, heights, xerr=errors, fmt="o", ms=4, color=color, mfc=fill, label=label
        )
    axis.set_yticks(range(len(found["minmax"])), list(found["minmax"]))
    axis.invert_yaxis()
    axis.set_title("Iteration on real tables:\naccuracy minus random columns (%)", fontsize=9)
    axis.legend(fontsize=6.5, frameon=False, loc="upper right")


def draw_labels(axis: Any, labels: Any) -> None:
    pairs = [
        (f"{name}\n{base}", values) for name, by in labels.items() for base, values in by.items()
    ]
    for place, (_, values) in enumerate(pairs):
        for column, color, shift in ((0, TEAL, -0.2), (1, NAVY, 0.2)):
            mean, error = mean_and_error(values[:, column])
            label = ("accuracy", "confidence")[column] if place == 0 else None
            axis.barh(place + shift, mean, 0.38, xerr=error, color=color, ecolor="0.3", label=label)
    axis.set_yticks(range(len(pairs)), [name for name, _ in pairs])
    axis.tick_params(axis="y", length=0)
    axis.set(xlim=(0, 105), ylim=(len(pairs) - 0.4, -1.1))
    axis.set_title("Hybrid: accuracy and confidence\nof propagated labels (%)", fontsize=9)
    axis.legend(fontsize=6.5, frameon=False, ncols=2, loc="upper right")


def draw_compression(axis: Any, compression: Any) -> None:
    colors, markers = (
        {"som": NAVY, "kmeans": TEAL, "random samples": GREY},
        {"synthetic": "o", "digits": "s", "waveform40": "^"},
    )
    for table, by in compression.items():
        full_time = np.mean([seconds for _, seconds in by["all samples"]])
        for way, color in colors.items():
            correlation, seconds = np.array(
                [np.mean(by[f"{way}, {size}"], axis=0) for size in ("√u", "5√u")]
            ).T
            axis.plot(
                seconds / full_time, correlation, color=color, marker=markers[table], ms=5, lw=0.8
            )
    axis.axvline(1, color=GREY, ls=":")
    for way, color in colors.items():
        axis.plot([], [], color=color, label=way)
    for table in compression:
        axis.plot([], [], color="0.3", marker=markers[table], ls="", label=table)
    axis.set(xscale="log", ylim=(None, 1.02))
    axis.set_xlabel("time relative to all samples", fontsize=8)
    axis.set_title("Compression to √u and 5√u prototypes:\nrank correlation of scores", fontsize=9)
    axis.legend(fontsize=6.5, frameon=False)


def main(arguments: list[str]) -> None:
    began = time.perf_counter()
    # The warnings are about constant columns, which are never selected here.
    warnings.simplefilter("ignore", GraphSieveWarning)
    parts: list[Callable[[], Any]] = [
        iterating_among_noise,
        iterating_on_tables,
        hybrid_tables,
        floating_tables,
        compression_tables,
    ]
    noise, tables, hybrid, _, compression = (part() for part in parts)
    if arguments:
        draw(arguments[0], noise, tables, hybrid, compression)
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])

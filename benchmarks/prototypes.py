"""Prototypes that represent samples: the speed of the batch map, and the use of counts in scores.

    python benchmarks/prototypes.py            # both parts
    python benchmarks/prototypes.py map        # part one: comparison with MiniSom
    python benchmarks/prototypes.py counts     # part two: needs the shared data sets; some minutes

The exit code is 1 if the map is not 10 times as fast as MiniSom at equal quality.

Part one installs MiniSom in a temporary folder. Both packages train in batches on 20,000 × 50 with
a 26 × 14 lattice, the same number of epochs, the same shrinking radius, one thread, and a start in
the principal plane. MiniSom has learning rate 1, so that its update is Eq. 14. The quality is the
mean distance of a sample to the nearest of the resulting vectors, computed by the same function for
both. Our vectors are means of samples; those of MiniSom are smoothed. MiniSom runs once, and
graphsieve up to three times; the best time counts.

Part two computes the rank correlation of scores from prototypes with scores from all samples. A
prototype i represents c_i samples. The options are:

    A   counts are ignored, as in the paper
    B   edges w_ij c_i c_j
    C   edges w_ij √(c_i c_j)
    D   edges w_ij, variance weighted by d_i c_i
    E   edges w_ij (c_i + c_j) / 2
    LA  the graph is lifted to the samples: every sample of i is linked to every sample of j, with a
        total weight of w_ij; the variances within the prototypes then enter energy and variance
    LB  lifted, with a total weight of w_ij c_i c_j
    LC  lifted, with a total weight of w_ij √(c_i c_j)
    LO  as LC, and the samples of a prototype are linked to each other with a total weight of c_i
    S   for comparison, the same number of random samples instead of prototypes

Every replicate uses a random 80 % of the samples, standardised, with 8 random labels for the
constrained Laplacian score (CLS) and a seed for k-means. "All samples" are these samples. The last
table is the Waveform case of the paper: are the noise features (22 to 40) the worst by CLS?
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from peers import print_table, progress, run

SIDES = (26, 14)
EPOCHS = 20
TIMES_FASTER = 10
INSTALL_LIMIT, MAP_LIMIT = 600, 900  # seconds
CASES = ("blobs and noise", "curved and correlated")

SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"
SETS = ("waveform40", "mnist5k", "usps", "madelon", "pollen", "ionosphere")
# These sets were not used while the options were designed. At most HELD_OUT_SAMPLES samples of each
# are used.
HELD_OUT = ("census_house_sub", "orl", "sonar", "tecator", "cassava_nir", "yale", "pie10p")
HELD_OUT_SAMPLES = 4000
REPLICATES = 3
N_LABELS = 8
NOISE_FROM = 21  # the first of the noise features of Waveform, counted from 0
WAVEFORM_DRAWS = 10


# --- Part one: the map
# --------------------------------------------------------------------------------------------------


def map_rows(case: str) -> Any:
    """Return ten groups that differ in half of the columns, or six curved factors with noise."""
    import numpy as np
    from memory import grouped_rows

    if case == CASES[0]:
        return grouped_rows(20_000, 50)[0]
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(20_000, 6)) @ rng.normal(size=(6, 50))
    return np.tanh(factors / 2) + 0.3 * rng.normal(size=factors.shape)


def radius_at(_: float, epoch: int, n_epochs: int) -> float:
    """Return the radius of graphsieve in this epoch, in the form that MiniSom requires."""
    first, last = max(SIDES) / 2, 0.3
    return float(first * (last / first) ** (epoch / (n_epochs - 1)))


def work_of_minisom(folder: Path) -> None:
    """Train on rows.npy, save the units in units.npy, and print the seconds."""
    import numpy as np
    from minisom import MiniSom

    rows = np.load(folder / "rows.npy")
    start = time.perf_counter()
    peer = MiniSom(
        *SIDES,
        rows.shape[1],
        sigma=max(SIDES) / 2,
        learning_rate=1.0,
        decay_function=lambda rate, epoch, n_epochs: rate,
        random_seed=0,
    )
    # The constructor accepts a function for the rate but not for the radius. Both packages must use
    # the same radius.
    peer._sigma_decay_function = radius_at
    peer.pca_weights_init(rows)
    peer.train_batch_offline(rows, EPOCHS)
    seconds = time.perf_counter() - start
    np.save(folder / "units.npy", peer.get_weights().reshape(-1, rows.shape[1]))
    print(json.dumps(seconds))


def work_of_ours(folder: Path) -> None:
    import numpy as np
    from memory import measured

    from graphsieve.graphs.prototypes import som

    rows = np.load(folder / "rows.npy")
    found, seconds, _ = measured(lambda: som(rows, SIDES, n_epochs=EPOCHS))
    np.save(folder / "units.npy", found.centers)
    print(json.dumps(seconds))


WORK: dict[str, Callable[[Path], None]] = {"graphsieve": work_of_ours, "MiniSom": work_of_minisom}


def quantization_error(rows: Any, units: Any) -> float:
    """Return the mean distance to the nearest unit, computed from explicit differences."""
    import numpy as np
    from scipy.spatial.distance import cdist

    return float(np.mean([cdist(part, units).min(axis=1).mean() for part in np.split(rows, 20)]))


def minisom_interpreter(folder: Path) -> str | None:
    python = str(folder / "peer" / "bin" / "python")
    progress("installing MiniSom")
    for command in (
        [sys.executable, "-m", "venv", str(folder / "peer")],
        [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "numpy",
            "minisom",
        ],
    ):
        well, reason = run(command, INSTALL_LIMIT)
        if not well:
            progress(f"MiniSom does not install: {reason}")
            return None
    return python


def compare_maps() -> bool:
    """Print the comparison, and return whether the target speed-up is met.

    The quantisation error must not exceed that of MiniSom.
    """
    import numpy as np

    # The measured processes inherit these settings.
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    table, good = [], True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peer = minisom_interpreter(folder)
        if peer is None:
            return False
        for case in CASES:
            rows = map_rows(case)
            np.save(folder / "rows.npy", rows)
            seconds, errors = {}, {}
            for package, python in (("graphsieve", sys.executable), ("MiniSom", peer)):
                progress(f"{case}: {package}")
                well, line = run([python, __file__, "--work", package, name], MAP_LIMIT)
                if not well:
                    progress(line)
                    return False
                seconds[package] = json.loads(line)
                errors[package] = quantization_error(rows, np.load(folder / "units.npy"))
            times = seconds["MiniSom"] / seconds["graphsieve"]
            good &= times >= TIMES_FASTER and errors["graphsieve"] <= errors["MiniSom"]
            for package in WORK:
                table.append([case, package, f"{seconds[package]:.2f} s", f"{errors[package]:.4f}"])
            table[-1].append(f"× {times:.0f}")
            table[-2].append("")
    print(f"Batch map, 20,000 × 50, {SIDES[0]} × {SIDES[1]}, {EPOCHS} epochs, one thread\n")
    print_table(["data", "package", "time", "quantisation error", "relative time"], table, False)
    return good


# --- Part two: the counts
# --------------------------------------------------------------------------------------------------


class Rows(NamedTuple):
    """Means, inner variances, counts and class codes of labelled samples and prototypes."""

    means: Any
    within: Any
    counts: Any
    codes: Any


class Option(NamedTuple):
    """A way to use the counts.

    `factor` multiplies the edges. `in_spread` and `in_mean` apply the counts to the variance and to
    the mean of CLS. `lifted` lifts the graph to the samples. `own` is the weight of the links
    within a prototype, for each of its samples.
    """

    factor: Callable[[Any, Any], Any]
    in_spread: bool = False
    in_mean: bool = True
    lifted: bool = False
    own: float = 0.0


def ones(one: Any, other: Any) -> Any:
    return 1.0


def product(one: Any, other: Any) -> Any:
    return one * other


def root(one: Any, other: Any) -> Any:
    return (one * other) ** 0.5


def half(one: Any, other: Any) -> Any:
    return (one + other) / 2


OPTIONS = {
    "A": Option(ones, in_mean=False),
    "B": Option(product),
    "C": Option(root),
    "D": Option(ones, in_spread=True),
    "E": Option(half),
    "LA": Option(ones, lifted=True),
    "LB": Option(product, lifted=True),
    "LC": Option(root, lifted=True),
    "LO": Option(root, lifted=True, own=1.0),
}


def forms(graph: Any, rows: Rows, option: Option) -> tuple[Any, Any, Any]:
    """Return the energies of all features, the weights of the rows, and their inner variances."""
    import numpy as np

    first, second = graph.first, graph.second
    weights = graph.weights * option.factor(rows.counts[first], rows.counts[second])
    degree = np.bincount(first, weights, len(rows.counts)) + np.bincount(
        second, weights, len(rows.counts)
    )
    energy = weights @ (rows.means[first] - rows.means[second]) ** 2
    within = rows.within if option.lifted else np.zeros_like(rows.within)
    own = option.own * rows.counts * (rows.counts > 1)
    energy = energy + (degree + own) @ within
    degree = degree + own
    return energy, degree * (rows.counts if option.in_spread else 1.0), within


def laplacian_by(option: Option, rows: Rows, graph: Any) -> Any:
    energy, weight, within = forms(graph, rows, option)
    mean = weight @ rows.means / weight.sum()
    return energy / (weight @ ((rows.means - mean) ** 2 + within))


def constrained_by(option: Option, rows: Rows, graph: Any) -> Any:
    """Compute Eq. 4 to 6 of the paper for constraints from labels.

    The 8 labelled rows are pushed away from those of other classes.
    """
    import numpy as np

    energy, weight, within = forms(graph, rows, option)
    mean = np.average(rows.means, axis=0, weights=rows.counts if option.in_mean else None)
    around_mean = (rows.means - mean) ** 2 + within
    pushed = np.zeros(rows.means.shape[1])
    for labeled in np.flatnonzero(rows.codes >= 0):
        apart = (rows.codes >= 0) & (rows.codes != rows.codes[labeled])
        pushed += (
            weight[apart] @ (rows.means[apart] - rows.means[labeled]) ** 2
            + weight[~apart] @ around_mean[~apart]
        )
    return 2 * energy / pushed


def standardized(X: Any) -> Any:
    deviation = X.std(axis=0)
    varies = deviation > 1e-9 * abs(X).max()
    return (X[:, varies] - X[:, varies].mean(axis=0)) / deviation[varies]


def load(name: str) -> tuple[Any, Any]:
    """Return features and classes. A continuous target is split at its median."""
    import numpy as np

    with np.load(SHARED_DATA / f"{name}.npz", allow_pickle=False) as file:
        X, y = file["X"].astype(np.float64), file["y"]
    if name in HELD_OUT:
        chosen = np.random.default_rng(7).permutation(len(X))[:HELD_OUT_SAMPLES]
        X, y = X[chosen], y[chosen]
    return X, (y > np.median(y)).astype(np.int64) if y.dtype.kind == "f" else y


def drawn_labels(y: Any, rng: Any) -> Any:
    """Return a few random labels of at least two classes, and −1 for the other samples."""
    import numpy as np

    while True:
        chosen = rng.choice(len(y), N_LABELS, replace=False)
        if len(np.unique(y[chosen])) > 1:
            return np.where(np.isin(np.arange(len(y)), chosen), y, -1)


def grouped(X: Any, codes: Any, assignment: Any) -> Rows:
    """Return the labelled samples unchanged, and the groups of all others."""
    import numpy as np

    kept, others = np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
    counts = np.bincount(assignment)
    member = (np.arange(len(counts))[:, None] == assignment).astype(float)
    means = member @ X[others] / counts[:, None]
    within = member @ (X[others] - means[assignment]) ** 2 / counts[:, None]
    return Rows(
        np.concatenate([X[kept], means]),
        np.concatenate([np.zeros((len(kept), X.shape[1])), within]),
        np.concatenate([np.ones(len(kept)), counts]),
        np.concatenate([codes[kept], np.full(len(counts), -1)]),
    )


def graphs(rows: Rows, bandwidth: float | None = None) -> tuple[Any, Any]:
    """Return the neighbour graph (for the Laplacian score) and the constrained graph (for CLS)."""
    from graphsieve.graphs.builders import constrained_neighbor_graph, neighbor_graph
    from graphsieve.supervision.value import Supervision
    from graphsieve.table.columns import MemoryTable

    table, known = MemoryTable(rows.means), Supervision.from_labels(rows.codes)
    near = neighbor_graph(table, 5, bandwidth).graph
    return near, constrained_neighbor_graph(
        table, known, 10, bandwidth, cut_cannot_link=False
    ).graph


def scores_of(rows: Rows, options: list[Option]) -> list[tuple[Any, Any]]:
    near, constrained = graphs(rows)
    return [
        (laplacian_by(option, rows, near), constrained_by(option, rows, constrained))
        for option in options
    ]


def replicate(name: str, seed: int) -> dict[tuple[str, int], Any]:
    """Return the correlations by compression and size, as arrays of (score, option).

    The last option is that of random samples.
    """
    import numpy as np
    from scipy.stats import spearmanr

    from graphsieve.graphs.prototypes import kmeans, som

    rng = np.random.default_rng(seed)
    X, y = load(name)
    chosen = rng.permutation(len(X))[: len(X) * 4 // 5]
    X, codes = standardized(X[chosen]), drawn_labels(y[chosen], rng)
    others = np.flatnonzero(codes < 0)
    plain = OPTIONS["A"]
    (reference,) = scores_of(grouped(X, codes, np.arange(len(others))), [plain])
    found = {}
    for times in (1, 5):
        size = round(times * len(others) ** 0.5)
        for how, compress in (("som", som), ("kmeans", partial(kmeans, random_state=seed))):
            prototypes = compress(X[others], size)
            values = scores_of(grouped(X, codes, prototypes.assignment), list(OPTIONS.values()))
            few = np.concatenate(
                [
                    np.flatnonzero(codes >= 0),
                    rng.choice(others, len(prototypes.counts), replace=False),
                ]
            )
            values += scores_of(
                grouped(X[few], codes[few], np.arange(len(prototypes.counts))), [plain]
            )
            found[how, times] = np.array(
                [
                    [
                        spearmanr(reference[s], value[s], nan_policy="omit").statistic
                        for value in values
                    ]
                    for s in (0, 1)
                ]
            )
    return found


def compare_counts(title: str, sets: tuple[str, ...]) -> None:
    import numpy as np

    header = ["score", "method", "prototypes", "set", *OPTIONS, "S"]
    found: dict[tuple[str, int], list[Any]] = {}
    for name in sets:
        progress(name)
        runs = [replicate(name, seed) for seed in range(REPLICATES)]
        for key in runs[0]:
            found.setdefault(key, []).append(np.mean([one[key] for one in runs], axis=0))
    table = []
    for place, score in enumerate(("Laplacian", "CLS")):
        for (how, times), by_set in found.items():
            size = f"{times if times > 1 else ''}√u"
            for name, values in zip(
                (*sets, "MEAN"), (*by_set, np.mean(by_set, axis=0)), strict=True
            ):
                table.append([score, how, size, name, *(f"{value:.3f}" for value in values[place])])
    everything = np.mean([values for by_set in found.values() for values in by_set], axis=(0, 1))
    table.append(["both", "both", "both", "MEAN", *(f"{value:.3f}" for value in everything)])
    print(
        f"\n{title}: rank correlation with the scores from all samples, mean of {REPLICATES} "
        "replicates\n"
    )
    print_table(header, table, False)


def noise_among_worst(scores: Any) -> int:
    """Return the number of the 19 noise features among the 19 features with the largest scores."""
    import numpy as np

    n_noise = len(scores) - NOISE_FROM
    return int((np.argsort(-scores, kind="stable")[:n_noise] >= NOISE_FROM).sum())


def waveform_case() -> None:
    import numpy as np

    from graphsieve.graphs.prototypes import som

    X, y = load("waveform40")
    names = ("A", "C", "LC", "LO")
    counted: dict[tuple[str, str], list[int]] = {}
    for draw in range(WAVEFORM_DRAWS):
        codes = drawn_labels(y, np.random.default_rng(draw))
        rows = grouped(X, codes, som(X[codes < 0], SIDES).assignment)
        for text, bandwidth in (("0.1", 0.1), ("auto", None)):
            graph = graphs(rows, bandwidth)[1]
            for name in names:
                counted.setdefault((text, name), []).append(
                    noise_among_worst(constrained_by(OPTIONS[name], rows, graph))
                )
    print(
        f"\nWaveform, CLS of raw features, {SIDES[0]} × {SIDES[1]}: noise features among the 19 "
        "worst, for each draw of the labels\n"
    )
    table = [
        [*key, *map(str, values), f"{sum(v >= 17 for v in values)} of {len(values)}"]
        for key, values in counted.items()
    ]
    print_table(
        ["bandwidth", "option", *map(str, range(WAVEFORM_DRAWS)), "at least 17"], table, False
    )


def main(parts: list[str]) -> int:
    warnings.simplefilter("ignore")
    good = compare_maps() if not parts or "map" in parts else True
    if not parts or "counts" in parts:
        compare_counts("Data sets used to design the options", SETS)
        compare_counts("Held-out data sets", HELD_OUT)
        waveform_case()
    return 0 if good else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        WORK[sys.argv[2]](Path(sys.argv[3]))
    else:
        sys.exit(main(sys.argv[1:]))

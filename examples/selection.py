"""Measure and draw the results in docs/default.md, how-many.md, how-sure.md and limits.md.

Usage: OMP_NUM_THREADS=1 python examples/selection.py [docs]

The script prints one table per question. All accuracies are compared with random columns and all
columns. If a folder is given, it draws selection-which.png, selection-how-many.png and
selection-how-sure.png there. Everything is seeded. The tables are those of scikit-learn, and
tecator, orl and pbmc68k_reduced if `graphsieve.datasets.load` finds them (`GRAPHSIEVE_DATA` is the
folder of the data). Missing tables are reported and left out. The script takes two or three
minutes.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.model_selection import KFold, StratifiedKFold

from graphsieve import (
    GraphSieve,
    GraphSieveWarning,
    Supervision,
    datasets,
    feature_p_values,
    stability,
)
from graphsieve.assess.evaluation.evaluating import evaluate
from graphsieve.assess.evaluation.hiding import hide_labels
from graphsieve.assess.evaluation.prefixes import score_prefixes
from graphsieve.search.relevant import relevant_columns
from graphsieve.table.columns import MemoryTable

# Columns in the first figure, columns in its tables, and repeats of five folds.
N_SHOWN, SIZES, REPEATS = 10, (5, 10, 20), 4
PER_CLASS, SHARE_OF_TARGETS = 4, 0.05  # supervision of digits and of tecator
SHUFFLED_COPIES, COPY_DRAWS = 9, 100  # shuffled copies of a table, as noise columns
BLOCK_SAMPLES = 100  # samples of the synthetic columns in blocks
COUNT_SEEDS = range(9000, 9040)  # These seeds were not used to choose the constants of counting.
N_STABLE, FEW = 5, 20  # selected columns and labels of breast_cancer
LABEL_SHUFFLES = 200  # shuffles of the labels for the p-values
PROBLEM_SAMPLES, PROBLEM_COLUMNS, PROBLEM_RUNS = 200, 22, 50
DEFAULT = "default"
# Ink is for text, teal for the default, and the warm colour for the methods compared with it.
INK, SOFT, PALE, TEAL, DARK, WARM = "#24373a", "#6b787a", "#dfe6e7", "#1f6f78", "#0b3b42", "#c8643c"


def show(header: list[str], rows: list[list[str]]) -> None:
    """Print a table with left-aligned names and right-aligned numbers."""
    widths = [max(len(row[j]) for row in [header, *rows]) for j in range(len(header))]
    for first, *others in [header, *rows]:
        cells = [
            first.ljust(widths[0]),
            *(text.rjust(width) for text, width in zip(others, widths[1:], strict=True)),
        ]
        print("  ".join(cells).rstrip())
    print()


def stored(name: str) -> tuple[Any, Any] | None:
    """Return a table that is not part of scikit-learn, or None if it is not available."""
    try:
        data = datasets.load(name)
    except (OSError, ValueError) as error:
        print(f"({name} is left out: {error})\n")
        return None
    return data.X, data.y


# ---- Which columns


def which_tables() -> dict[str, Any]:
    X, y = load_digits(return_X_y=True)
    print(
        f"1. Which columns. digits, {PER_CLASS} labels per class, {SIZES} pixels: accuracy in "
        f"percent, {REPEATS} × 5 folds. In"
    )
    print("   brackets: difference from the default, in standard errors of the difference.\n")
    sieves = {
        "Fisher": GraphSieve("fisher"),
        "Laplacian, z-scores": GraphSieve("laplacian", scale="standard"),
        "Laplacian": GraphSieve("laplacian"),
        "variance": GraphSieve("variance"),
        DEFAULT: GraphSieve(),
    }
    few = hide_labels(y, PER_CLASS, per_class=True, random_state=0)
    found = {
        "digits": (
            X,
            y,
            chosen_by(sieves, X, few),
            worth(sieves, X, y, ["1nn", "linear"], known=PER_CLASS, per_class=True),
        )
    }
    spectra = stored("tecator")
    if spectra is not None:
        X, y = spectra
        percent = f"{100 * SHARE_OF_TARGETS:g} %"
        print(
            f"   tecator, {percent} of the targets, {SIZES} wavelengths: RMSE relative to "
            "predicting the mean.\n"
        )
        sieves = {
            "correlation": GraphSieve("pearson"),
            "Laplacian": GraphSieve("laplacian"),
            DEFAULT: GraphSieve(),
        }
        few = hide_labels(y, SHARE_OF_TARGETS, random_state=0)
        found["tecator"] = (
            X,
            y,
            chosen_by(sieves, X, few),
            worth(sieves, X, y, ["5nn", "linear"], known=SHARE_OF_TARGETS),
        )
    return found


def chosen_by(sieves: dict[str, Any], X: Any, known: Any) -> dict[str, Any]:
    """Return the first columns of every sieve, in selection order."""
    fitted = {
        name: sieve.set_params(n_features_to_select=N_SHOWN).fit(X, known)
        for name, sieve in sieves.items()
    }
    return {name: np.argsort(sieve.ranking_)[:N_SHOWN] for name, sieve in fitted.items()}


def worth(
    sieves: dict[str, Any],
    X: Any,
    y: Any,
    learners: list[str],
    *,
    sizes: tuple[int, ...] = SIZES,
    **known: Any,
) -> dict[str, float]:
    """Print the accuracy or error of the first columns of every sieve.

    Return the means for the first learner at the number of columns in the figure.
    """
    result = evaluate(sieves, X, y, sizes=list(sizes), learners=learners, repeats=REPEATS, **known)
    metric, factor, digits = (
        ("accuracy", 100, 1) if "per_class" in known else ("relative_rmse", 1, 3)
    )
    means = {
        (row["selector"], row["learner"], row["n_features"]): row
        for row in result.summary(metric=metric)
    }
    against = {
        (row["selector"], row["learner"], row["n_features"]): row
        for row in result.differences(to=DEFAULT, metric=metric)
    }
    names, rows = list(dict.fromkeys(name for name, *_ in means)), []

    def at(name: str, learner: str, size: int) -> tuple[str, str, int]:
        return name, learner, X.shape[1] if name == "all" else size

    for name in names:
        cells = []
        for learner in learners:
            for size in sizes if name != "all" else sizes[-1:]:
                row, other = means[at(name, learner, size)], against.get(at(name, learner, size))
                apart = (
                    ""
                    if other is None
                    else f"  ({other['mean'] / other['standard_error']:+.1f})".replace("-", "−")
                )
                cells.append(
                    f"{factor * row['mean']:.{digits}f} ± "
                    f"{factor * row['standard_error']:.{digits}f}{apart:>8}"
                )
            if name == "all":
                cells[-1:] = [""] * (len(sizes) - 1) + cells[-1:]
        rows.append([name if name in sieves else f"{name} columns", *cells])
    show(["columns by", *(f"{learner}, {size}" for learner in learners for size in sizes)], rows)
    pictured = N_SHOWN if N_SHOWN in sizes else sizes[0]
    return {name: means[at(name, learners[0], pictured)]["mean"] for name in names}


# ---- How many columns


def how_many_tables() -> dict[tuple[str, str], Any]:
    tables: dict[str, Any] = {
        name: function(return_X_y=True)
        for name, function in {
            "wine": load_wine,
            "breast_cancer": load_breast_cancer,
            "diabetes": load_diabetes,
            "digits": load_digits,
        }.items()
    }
    shuffled = {
        f"{name} + shuffled": (with_shuffled(X, 0), y) for name, (X, y) in list(tables.items())[:3]
    }
    meat = stored("tecator")
    if meat is not None:
        tables["tecator"] = meat
    print(
        '2. How many columns: n_features_to_select="auto" on all rows. Then, in five folds, the '
        "error of the linear learner with the"
    )
    print(
        "   selected columns, with the same number of random columns, and with all columns: share "
        "of wrong classes, or relative RMSE.\n"
    )
    rows, counts = [], {}
    for name, (X, y) in (tables | shuffled).items():
        for known, given in (("full", y), ("none", None)):
            count = GraphSieve(n_features_to_select="auto").fit(X, given).count_
            counts[name, known] = count
            errors = errors_with_as_many(X, y, given is not None)
            rows.append([name, known, str(X.shape[1]), str(count.n), count.rule, *errors])
    header = ["table", "supervision", "columns", "selected", "rule"]
    show([*header, "error", "random", "all", "selected − all"], rows)
    for (name, known), count in counts.items():
        print(f"   {name}, supervision {known}: {count.reason}")
    print()
    false_names(tables)
    numbers_and_truth()
    numbers_of_large_tables()
    return counts


def with_shuffled(X: Any, seed: int) -> Any:
    """Return the table, followed by copies in which every column is shuffled separately."""
    rng = np.random.default_rng(seed)
    return np.hstack([X, *(rng.permuted(X, axis=0) for _ in range(SHUFFLED_COPIES))])


def errors_with_as_many(X: Any, y: Any, supervised: bool) -> list[str]:
    """Return errors of the linear learner on held-out rows.

    They are those of the selected columns, of the same number of random columns, of all columns,
    and the difference between selected and all columns.
    """
    classes = len(np.unique(y)) < 20
    folds = (StratifiedKFold if classes else KFold)(5, shuffle=True, random_state=0)
    rng, found = np.random.default_rng(0), []
    for train, test in folds.split(X, y):
        sieve = GraphSieve(n_features_to_select="auto").fit(
            X[train], y[train] if supervised else None
        )
        order, n = np.argsort(sieve.ranking_), int(sieve.get_support().sum())
        values = [
            score_prefixes(
                columns,
                X[train],
                y[train],
                X[test],
                y[test],
                sizes=[len(columns)],
                learner="linear",
            )[0]
            for columns in (order[:n], rng.permutation(X.shape[1])[:n], order)
        ]
        of_the_mean = np.sqrt(np.mean((y[test] - y[train].mean()) ** 2))
        found.append([1 - value if classes else value / of_the_mean for value in values])
    chosen, random, everything = np.transpose(found)
    apart = chosen - everything
    # The correction accounts for shared training rows (Nadeau and Bengio).
    error = apart.std(ddof=1) * np.sqrt(1 / len(apart) + 1 / 4)
    return [f"{values.mean():.3f}" for values in (chosen, random, everything)] + [
        f"{apart.mean():+.3f} ± {error:.3f}".replace("-", "−")
    ]


def false_names(tables: dict[str, Any]) -> None:
    print(
        f"   Relevant columns of a table with {SHUFFLED_COPIES} shuffled copies: percentage of the "
        "real columns that are found, and"
    )
    print(
        "   percentage of shuffled columns among those found (false discovery rate, target 5 %); "
        f"{COPY_DRAWS} draws.\n"
    )
    rows = []
    for name in ("wine", "breast_cancer", "diabetes"):
        X, y = tables[name]
        row = [name]
        for known in (Supervision.from_y(y), Supervision.nothing(len(y))):
            masks = np.array(
                [
                    relevant_columns(MemoryTable(with_shuffled(X, seed)), known).mask
                    for seed in range(COPY_DRAWS)
                ]
            )
            real, false = (
                masks[:, : X.shape[1]].mean(),
                masks[:, X.shape[1] :].sum(axis=1) / masks.sum(axis=1),
            )
            row += [
                f"{100 * real:.0f}",
                f"{100 * false.mean():.1f} ± {100 * false.std() / COPY_DRAWS**0.5:.1f}",
            ]
        rows.append(row)
    show(["table", "full supervision: real", "shuffled", "none: real", "shuffled"], rows)
    print(
        "   The same without supervision: 30 normal columns in blocks with one common factor each, "
        "and 270 noise columns;"
    )
    print(f"   {BLOCK_SAMPLES} samples.\n")
    rows = []
    for n_blocks in (1, 3, 10):
        shares = [false_share(n_blocks, seed) for seed in range(COPY_DRAWS)]
        rows.append(
            [
                str(n_blocks),
                f"{100 * np.mean(shares):.1f} ± {100 * np.std(shares) / COPY_DRAWS**0.5:.1f}",
            ]
        )
    show(["blocks", "noise among the columns found, %"], rows)


def false_share(n_blocks: int, seed: int) -> float:
    """Return the share of noise among the relevant columns found.

    Columns of one block correlate by 0.9.
    """
    rng = np.random.default_rng(seed)
    n = BLOCK_SAMPLES
    factors = rng.normal(size=(n, n_blocks))[:, np.arange(30) % n_blocks]
    X = np.hstack(
        [
            0.95 * factors + np.sqrt(1 - 0.95**2) * rng.normal(size=(n, 30)),
            rng.normal(size=(n, 270)),
        ]
    )
    mask = relevant_columns(MemoryTable(X), Supervision.nothing(n)).mask
    return float(mask[30:].sum() / max(1, mask.sum()))


ARTIFICIAL: dict[str, Callable[..., Any]] = {
    "spheres": datasets.make_spheres,
    "squares": datasets.make_squares,
    "circle": datasets.make_circle,
    "Y1": partial(datasets.make_regression_problem, "Y1"),
    "Y2": partial(datasets.make_regression_problem, "Y2"),
    "Y3": partial(datasets.make_regression_problem, "Y3"),
    "Y4": datasets.make_y4,
    "Y5": datasets.make_y5,
}


def numbers_and_truth() -> None:
    print(
        "   Problems of the papers with all, half and a tenth of the labels or targets: mean "
        "number of selected columns, its mean"
    )
    print(
        "   absolute deviation from the number of relevant columns, and the share of relevant "
        f"columns selected; {len(COUNT_SEEDS)} draws.\n"
    )
    rows = []
    for name, make in ARTIFICIAL.items():
        for share in (1, 0.5, 0.1):
            found = []
            for seed in COUNT_SEEDS:
                data = make(random_state=seed)
                known = data.y if share == 1 else hide_labels(data.y, share, random_state=seed)
                sieve = GraphSieve(n_features_to_select="auto").fit(data.X, known)
                found.append((sieve.count_.n, sieve.get_support()[data.relevant].mean()))
            (numbers, shares), truth = np.transpose(found), len(data.relevant)
            n_known = f"{round(share * len(data.y))} of {len(data.y)}"
            off = f"{100 * np.abs(numbers - truth).mean() / truth:.0f} %"
            rows.append(
                [
                    name,
                    n_known,
                    str(truth),
                    f"{numbers.mean():.1f}",
                    off,
                    f"{100 * shares.mean():.0f} %",
                ]
            )
    show(["problem", "labels", "relevant", "selected", "deviation", "relevant selected"], rows)


def numbers_of_large_tables() -> None:
    rows = []
    for name in ("orl", "pbmc68k_reduced"):
        table = stored(name)
        if table is not None:
            X, y = table
            numbers = [
                GraphSieve(n_features_to_select="auto").fit(X, known).count_.n
                for known in (None, y)
            ]
            rows.append([name, str(X.shape[1]), *map(str, numbers)])
    if rows:
        print("   Tables with a large number of selected columns.\n")
        show(["table", "columns", "no supervision", "full supervision"], rows)


# ---- How sure


def how_sure_tables() -> Any:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    few = hide_labels(y.to_numpy(), FEW, random_state=0)
    print(
        f"3. How sure. breast_cancer, {N_STABLE} of 30 columns from half of the rows, 50 "
        "resamples: stability index (95 %"
    )
    print(
        "   interval), columns selected in at least 75 % of them, and groups of columns (correlation "
        "0.95) with at least one selected.\n"
    )
    rows, found = [], {}
    for known, labels in (("all labels", y), (f"{FEW} labels", few)):
        for name, method in ((DEFAULT, "auto"), ("Fisher", "fisher")):
            result = stability(method, X, labels, n_features_to_select=N_STABLE)
            found[name, known] = result
            interval = (
                f"{result.index:.2f} ({result.agreement.low:.2f} to {result.agreement.high:.2f})"
            )
            groups = sum(group.frequency >= 0.75 for group in result.groups)
            rows.append(
                [f"{name}, {known}", interval, str(int(result.stable().sum())), str(groups)]
            )
    show(["selector", "index", "columns", "groups"], rows)
    chosen = dict(zip(X.columns, found[DEFAULT, "all labels"].chosen.T, strict=True))
    for name in (X.columns[j] for j in found[DEFAULT, "all labels"].order[:5]):
        correlated = [
            other
            for other in X.columns
            if other != name and abs(np.corrcoef(X[name], X[other])[0, 1]) >= 0.9
        ]
        absent = ~chosen[name]
        others = [chosen[other] for other in correlated]
        instead = np.any(others, axis=0)[absent].sum() if others else 0
        print(
            f"   {name}: not selected in {absent.sum()} resamples; in {instead} of them a column "
            "with a correlation of 0.9 is selected"
        )
    print()
    rng = np.random.default_rng(0)
    tests = [
        feature_p_values(X, rng.permutation(few), n_permutations=2000)
        for _ in range(LABEL_SHUFFLES)
    ]
    values = np.array([test.p_values for test in tests])
    below = ", ".join(f"{100 * np.mean(values <= level):.1f} %" for level in (0.1, 0.05, 0.01))
    anything = 100 * np.mean([test.selected(0.05).any() for test in tests])
    print(
        f"   p-values of its columns for {FEW} labels, shuffled {LABEL_SHUFFLES} times: {below} "
        "are at most 10 %, 5 %, 1 %."
    )
    print(
        "   At least one column is found at a false discovery rate of 5 % in "
        f"{anything:.1f} % of the shuffles.\n"
    )
    return found[DEFAULT, "all labels"]


# ---- Limitations

RELEVANT = (7, 13)  # columns
# The label or target of a sample, as a function of its two relevant columns.
PROBLEMS: dict[str, Callable[[Any, Any], Any]] = {
    "classes: two sides of a line": lambda a, b: (a + b > 0).astype(int),
    "classes: in and around a circle": lambda a, b: (a**2 + b**2 > 1.4).astype(int),
    "classes: sign of a product": lambda a, b: (a * b > 0).astype(int),
    "target: sum": lambda a, b: a + b,
    "target: sum of squares": lambda a, b: a**2 + b**2,
    "target: product": lambda a, b: a * b,
}
RIVALS = {
    "classes": ("fisher", "mutual_information", "relieff"),
    "target": ("pearson", "mutual_information"),
}


def weakness_tables() -> None:
    print(
        f"4. Limitations. Two of {PROBLEM_COLUMNS} columns determine the label or target of "
        f"{PROBLEM_SAMPLES} samples: percentage of the"
    )
    print(
        f"   two among the first two, mean of {PROBLEM_RUNS} runs; last column: among those "
        "selected with an automatic number.\n"
    )
    columns = ["auto", "fisher", "pearson", "mutual_information", "relieff"]
    rows = []
    for name, known in PROBLEMS.items():
        methods = ["auto", *RIVALS[name.split(":")[0]]]
        shares: dict[str, list[float]] = {method: [] for method in methods}
        automatic = []
        for seed in range(PROBLEM_RUNS):
            X = np.random.default_rng(seed).normal(size=(PROBLEM_SAMPLES, PROBLEM_COLUMNS))
            y = known(*X[:, RELEVANT].T)
            for method in methods:
                support = GraphSieve(method, n_features_to_select=2).fit(X, y).get_support()
                shares[method].append(100 * support[list(RELEVANT)].mean())
            support = GraphSieve(n_features_to_select="auto").fit(X, y).get_support()
            automatic.append((100 * support[list(RELEVANT)].mean(), support.sum()))
        share, number = np.mean(automatic, axis=0)
        cells = (f"{np.mean(shares[method]):.0f}" if method in shares else "" for method in columns)
        rows.append([name, *cells, f"{share:.0f} (of {number:.1f})"])
    show(["", DEFAULT, *columns[1:], "default, auto"], rows)
    print("   iris, all labels, two of four columns: accuracy in percent.\n")
    X, y = load_iris(return_X_y=True)
    sieves = {"Fisher": GraphSieve("fisher"), DEFAULT: GraphSieve()}
    worth(sieves, X, y, ["1nn", "linear"], sizes=(2,), known=None, per_class=False)


# ---- Figures


def draw_which(path: Path, found: dict[str, Any]) -> None:
    import matplotlib.pyplot as plt  # noqa: PLC0415 (the tables need no matplotlib)

    if "tecator" in found:
        figure = plt.figure(figsize=(12, 4.7), layout="constrained")
        left, right = figure.subfigures(1, 2, width_ratios=[1.25, 1], wspace=0.06)
        draw_spectra(left, *found["tecator"])
        draw_pixels(right, *found["digits"], columns=3)
    else:
        figure = plt.figure(figsize=(11, 2.7), layout="constrained")
        draw_pixels(figure, *found["digits"], columns=6)
    figure.savefig(path, dpi=130, facecolor="white")
    print(f"Figure: {path}")


def draw_spectra(
    figure: Any, X: Any, y: Any, chosen: dict[str, Any], worth: dict[str, float]
) -> None:
    from matplotlib.colors import LinearSegmentedColormap  # noqa: PLC0415

    wavelengths = np.linspace(850, 1050, X.shape[1])
    top, strips = figure.subplots(2, 1, height_ratios=[1.45, 1], sharex=True)
    shade = LinearSegmentedColormap.from_list("fat", ["#cfe3e5", "#5aa0a7", DARK])
    for row in np.argsort(y):
        top.plot(
            wavelengths, X[row], color=shade((y[row] - y.min()) / np.ptp(y)), lw=0.5, alpha=0.7
        )
    figure.suptitle(
        "Ten of 100 wavelengths, selected with 12 known fat contents",
        x=0.01,
        ha="left",
        fontsize=11.5,
        color=INK,
    )
    top.text(
        851, X.max(), "240 meat samples; dark: high fat content", fontsize=8.5, color=SOFT, va="top"
    )
    top.set_yticks([])
    top.spines[:].set_visible(False)
    top.tick_params(length=0)
    for height, name in enumerate(chosen):
        color = TEAL if name == DEFAULT else WARM
        strips.hlines(height, wavelengths[0], wavelengths[-1], color=PALE, lw=11, zorder=1)
        strips.vlines(
            wavelengths[chosen[name]], height - 0.3, height + 0.3, color=color, lw=2.2, zorder=2
        )
        beside(strips, height, f"error {worth[name]:.2f}", color)
    beside(strips, len(chosen) - 0.3, f"random {worth['random']:.2f}", SOFT)
    strips.set_yticks(range(len(chosen)), list(chosen), fontsize=9.5, color=INK)
    strips.set(ylim=(len(chosen) - 0.2, -0.6), xlim=(848, 1052))
    strips.set_xlabel("wavelength in nm", fontsize=8.5, color=SOFT)
    strips.spines[["top", "right", "left"]].set_visible(False)
    strips.spines["bottom"].set_color(PALE)
    strips.tick_params(axis="x", colors=SOFT, labelsize=8, length=3)
    strips.tick_params(axis="y", length=0)


def beside(axis: Any, height: float, text: str, color: str) -> None:
    axis.annotate(
        text,
        (1.01, height),
        xycoords=("axes fraction", "data"),
        va="center",
        fontsize=9.5,
        color=color,
    )


def draw_pixels(
    figure: Any, X: Any, _: Any, chosen: dict[str, Any], worth: dict[str, float], *, columns: int
) -> None:
    from matplotlib.patches import Rectangle  # noqa: PLC0415

    figure.suptitle(
        "Ten of 64 pixels, selected with 4 labels per digit",
        x=0.01,
        ha="left",
        fontsize=11.5,
        color=INK,
    )
    mean = X.mean(axis=0).reshape(8, 8)
    axes = figure.subplots(6 // columns, columns).flat
    axes[5].set_axis_off()
    for place, name in enumerate(("random", "all")):
        words = f"{name} columns:\naccuracy {100 * worth[name]:.0f} %"
        axes[5].text(
            0.5,
            0.66 - 0.36 * place,
            words,
            transform=axes[5].transAxes,
            fontsize=9,
            color=SOFT,
            ha="center",
            va="center",
        )
    for axis, (name, pixels) in zip(axes[:5], chosen.items(), strict=True):
        color = TEAL if name == DEFAULT else WARM
        axis.imshow(mean, cmap="Greys", vmax=2.6 * mean.max())
        for place, pixel in enumerate(pixels, start=1):
            row, column = divmod(int(pixel), 8)
            axis.add_patch(Rectangle((column - 0.44, row - 0.44), 0.88, 0.88, color=color, lw=0))
            axis.text(
                column, row + 0.04, str(place), color="white", fontsize=7, ha="center", va="center"
            )
        axis.set_title(f"{name}\naccuracy {100 * worth[name]:.0f} %", fontsize=9, color=color)
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set_color(PALE)


def draw_how_many(path: Path, counts: dict[tuple[str, str], Any]) -> None:
    import matplotlib.pyplot as plt  # noqa: PLC0415

    titles = {
        ("wine + shuffled", "none"): "wine and 117 shuffled columns,\nno supervision",
        ("breast_cancer", "full"): "breast_cancer, 30 columns,\nall labels",
        ("tecator", "none"): "tecator, 100 wavelengths,\nno supervision",
    }
    shown = [key for key in titles if key in counts]
    figure, axes = plt.subplots(
        1,
        len(shown),
        figsize=(4 * len(shown), 3.5),
        layout="constrained",
        sharey=True,
        squeeze=False,
    )
    for axis, key in zip(axes.flat, shown, strict=True):
        draw_curve(axis, counts[key])
        axis.set_title(titles[key], loc="left", fontsize=10.5, color=INK)
    axes.flat[0].set_ylabel("explained by the first columns (%)", fontsize=8.5, color=SOFT)
    figure.savefig(path, dpi=130, facecolor="white")
    print(f"Figure: {path}")


def draw_curve(axis: Any, count: Any) -> None:
    last = min(len(count.curve) - 1, round(1.5 * count.n))
    sizes, explained, chance = np.array(count.curve[: last + 1]).T
    axis.axhline(95, color=PALE, lw=1.2, zorder=1)
    axis.plot(sizes, 100 * explained, color=TEAL, lw=2.2, zorder=3)
    axis.plot(sizes, 100 * chance, color=SOFT, lw=1.2, ls=(0, (4, 3)), zorder=2)
    quarter = len(sizes) // 4
    axis.text(
        sizes[quarter],
        100 * chance[quarter] + 1.5,
        "random columns",
        fontsize=8.5,
        color=SOFT,
        ha="center",
        va="bottom",
    )
    if count.rule == "alike":
        words = "Each further column explains\nover five times as much of the\nrest as expected by chance."
        axis.text(0.08 * last, 72, words, fontsize=8.5, color=WARM, va="center")
    height = 100 * explained[min(count.n, len(explained) - 1)]
    axis.vlines(count.n, 0, height, color=DARK, lw=1, zorder=2)
    axis.plot([count.n], [height], "o", color=DARK, ms=7, zorder=4)
    axis.annotate(
        f"{count.n} selected",
        (count.n, 30),
        xytext=(-5, 0),
        textcoords="offset points",
        fontsize=10,
        color=DARK,
        ha="right",
    )
    axis.set(ylim=(0, 107), xlim=(0, 1.03 * last), yticks=[0, 50, 95])
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.set_xlabel("number of columns, in selection order", fontsize=8.5, color=SOFT)
    axis.spines[["top", "right"]].set_visible(False)
    axis.spines[["left", "bottom"]].set_color(PALE)
    axis.tick_params(colors=SOFT, labelsize=8, length=3)


def draw_how_sure(path: Path, found: Any) -> None:
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, axis = plt.subplots(figsize=(8.6, 4.8), layout="constrained")
    found.plot(n=13, ax=axis)
    title = (
        f"breast_cancer: {N_STABLE} of 30 columns from half of the rows, {found.n_resamples} "
        "resamples"
    )
    axis.set_title(title, loc="left", fontsize=11.5, color=INK)
    figure.savefig(path, dpi=130, facecolor="white")
    print(f"Figure: {path}")


def main(arguments: list[str]) -> None:
    began = time.perf_counter()
    # The warnings are about constant pixels, and about selections in which no feature is
    # significant.
    warnings.simplefilter("ignore", GraphSieveWarning)
    which, counts, sure = which_tables(), how_many_tables(), how_sure_tables()
    weakness_tables()
    if arguments:
        import matplotlib as mpl  # noqa: PLC0415

        mpl.use("Agg")
        folder = Path(arguments[0])
        draw_which(folder / "selection-which.png", which)
        draw_how_many(folder / "selection-how-many.png", counts)
        draw_how_sure(folder / "selection-how-sure.png", sure)
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])

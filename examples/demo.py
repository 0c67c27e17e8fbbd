"""What each kind of knowledge changes: two tables, ranked with none, a few labels, pairs, a doubting expert, and all labels.

Run it with `make demo`. It prints rankings and pictures, measures what the chosen columns are worth on rows that were not used to
choose them (beside Fisher's score, random columns and all columns), and writes everything to graphsieve-demo.html.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, load_wine
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from graphsieve import GraphSieveWarning, Ranking, Supervision, rank
from graphsieve.report import write_page

PAGE = Path("graphsieve-demo.html")
SPLITS = 10
RANDOM_DRAWS = 20
FISHER = "Fisher, all labels"  # one column at a time, as everybody knows it


def knowledge(y: np.ndarray, seed: int) -> dict[str, dict]:
    """What five people might know of the same rows, as arguments of `rank`."""
    rng = np.random.default_rng(seed)
    n, classes = len(y), np.unique(y)
    few = np.full(n, -1)
    for label in classes:
        few[rng.permutation(np.flatnonzero(y == label))[:3]] = label
    pairs = rng.permutation(n)[: 2 * min(n // 2, 40)].reshape(-1, 2)
    alike = y[pairs[:, 0]] == y[pairs[:, 1]]
    doubt = rng.beta(2, 4, size=n)  # the expert is a third in doubt on average, and names one wrong class beside the right one
    wrong = (y + rng.integers(1, len(classes), size=n)) % len(classes)
    expert = np.zeros((n, len(classes)))
    expert[np.arange(n), y] = 1 - doubt
    expert[np.arange(n), wrong] += doubt
    return {
        "nothing": {},
        "3 per class": {"y": few},
        "40 pairs": {"supervision": Supervision.from_pairs(n, pairs[alike], pairs[~alike])},
        "an expert": {"supervision": Supervision.from_probabilities(expert)},
        "all labels": {"y": y},
    }


def quietly_ranked(X: np.ndarray, **given) -> Ranking:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)  # constant pixels, which the ranking itself shows
        return rank(X, **given)


def rankings(X: np.ndarray, y: np.ndarray, seed: int = 0, **parameters) -> dict[str, Ranking]:
    return {name: quietly_ranked(X, **known, **parameters) for name, known in knowledge(np.asarray(y), seed).items()}


def worth(X: np.ndarray, y: np.ndarray, n_best: int, n_neighbors: int) -> dict[str, list[float]]:
    """Accuracy of nearest neighbours on held-out rows, in each of several splits; columns are chosen on training rows alone."""
    found: dict[str, list[float]] = {}
    rng = np.random.default_rng(0)
    splits = StratifiedShuffleSplit(SPLITS, test_size=0.5, random_state=0)
    for number, (train, test) in enumerate(splits.split(X, y)):
        scaler = StandardScaler().fit(X[train])
        A, B = scaler.transform(X[train]), scaler.transform(X[test])

        def accuracy(columns: np.ndarray, A=A, B=B, train=train, test=test) -> float:
            model = KNeighborsClassifier(n_neighbors).fit(A[:, columns], y[train])
            return 100 * float(model.score(B[:, columns], y[test]))

        for name, ranking in rankings(X[train], y[train], seed=number).items():
            found.setdefault(name, []).append(accuracy(ranking.order[:n_best]))
        by_fisher = quietly_ranked(X[train], y=y[train], method="fisher")
        found.setdefault(FISHER, []).append(accuracy(by_fisher.order[:n_best]))
        draws = [accuracy(rng.permutation(X.shape[1])[:n_best]) for _ in range(RANDOM_DRAWS)]
        found.setdefault("random columns", []).append(float(np.mean(draws)))
        found.setdefault("all columns", []).append(accuracy(np.arange(X.shape[1])))
        progress(f"  measuring, split {number + 1} of {SPLITS}")
    progress("")
    return found


def progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def ranks_table(found: dict[str, Ranking]) -> list[str]:
    """The order of choice side by side, a row for each feature, in the order of the last column."""
    names = next(iter(found.values())).names
    width = max(map(len, names))
    lines = [" " * width + "".join(f"{name:>13}" for name in found)]
    for j in list(found.values())[-1].order:
        cells = "".join(f"{'●' if r.ranks[j] <= 3 else ' ':>10}{r.ranks[j]:>3}" for r in found.values())
        lines.append(f"{names[j]:<{width}}{cells}")
    return lines


def pixel_maps(found: dict[str, Ranking], n_best: int) -> list[str]:
    """The best pixels of an 8 × 8 image, side by side."""
    lines = ["   ".join(f"{name:<16}" for name in found)]
    for row in range(8):
        cells = []
        for ranking in found.values():
            ranks = ranking.ranks[8 * row : 8 * row + 8]
            cells.append("".join("██" if r <= n_best // 2 else "▒▒" if r <= n_best else "· " for r in ranks))
        lines.append("   ".join(cells))
    return lines


def worth_lines(found: dict[str, list[float]]) -> list[str]:
    baseline = np.array(found["random columns"])
    width = max(map(len, found))
    lines = []
    for name, values in found.items():
        mean, gain = np.mean(values), np.array(values) - baseline
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        against = "" if name.endswith("columns") else f"  {gain.mean():+5.1f} ± {error:.1f} against random"
        lines.append(f"{name:<{width}} {mean:5.1f} %  {'█' * round(mean / 4)}{against}")
    return lines


def honest_remark(found: dict[str, list[float]]) -> str:
    """What the default gains over Fisher's score and loses to all columns, and what did not help beyond two standard errors."""

    def against(other: str) -> str:
        gain = np.array(found["all labels"]) - np.array(found[other])
        return f"{gain.mean():+.1f} ± {gain.std(ddof=1) / np.sqrt(len(gain)):.1f} points against"

    lines = [f"The default with all labels: {against(FISHER)} Fisher's score, {against('all columns')} all columns."]
    baseline = np.array(found["random columns"])
    gains = {name: np.array(values) - baseline for name, values in found.items() if not name.endswith("columns")}
    idle = [name for name, gain in gains.items() if gain.mean() < 2 * gain.std(ddof=1) / np.sqrt(len(gain))]
    if idle:
        lines.append(f"No better than random columns here: {', '.join(idle)}.")
    return "\n".join(lines) + "\n"


def show(lines: list[str], indent: str = "  ") -> None:
    print("\n".join((indent + line).rstrip() for line in lines), end="\n\n")


def facts(found: dict[str, Ranking], worths: dict[str, list[float]], table: str, n_best: int) -> list[dict]:
    sections = []
    for name, ranking in found.items():
        section = ranking.page_facts()
        section["heading"] = f"{table}, known: {name}"
        section["notes"] = [
            f"The first {n_best} columns reach {np.mean(worths[name]):.1f} % on held-out rows; the best {n_best} by Fisher's "
            f"score with all labels {np.mean(worths[FISHER]):.1f} %, {n_best} random columns "
            f"{np.mean(worths['random columns']):.1f} %, all columns {np.mean(worths['all columns']):.1f} %."
        ]
        sections.append(section)
    return sections


def main() -> None:
    began = time.perf_counter()
    wine, cultivar = load_wine(return_X_y=True, as_frame=True)
    print("\nWine: 178 bottles, 13 measurements, 3 cultivars. The order of choice by what is known of the bottles (● first 3):\n")
    by_wine = rankings(wine, cultivar.to_numpy())
    show(ranks_table(by_wine))
    print("What the first 3 columns are worth: 5 nearest neighbours, half of the bottles held out, 10 splits.\n")
    wine_worth = worth(wine.to_numpy(), cultivar.to_numpy(), 3, 5)
    show(worth_lines(wine_worth))
    print(honest_remark(wine_worth))

    digits, digit = load_digits(return_X_y=True)
    print("Handwritten digits: 1,797 images of 8 × 8 pixels. The first 16 pixels (█ the first 8, ▒ the next 8):\n")
    by_digit = rankings(digits, digit)
    show(pixel_maps(by_digit, 16))
    print("What the first 16 pixels are worth: nearest neighbour, half of the images held out, 10 splits.\n")
    digit_worth = worth(digits, digit, 16, 1)
    show(worth_lines(digit_worth))
    print(honest_remark(digit_worth))

    sections = facts(by_wine, wine_worth, "Wine", 3) + facts(by_digit, digit_worth, "Digits", 16)
    intro = [
        "The same two tables, by what five people might know of their rows. Columns stand in the order of choice: each is chosen "
        "for what those before it do not say. Bars show how much a column explains alone, from the worst to the best; the darker "
        "half is what the selector keeps by default.",
        "Worth was measured on rows that were not used to choose the columns, over ten splits.",
    ]
    write_page(sections, title="graphsieve: what knowledge changes", intro=intro, path=PAGE)
    print(f"All rankings are in {PAGE} ({time.perf_counter() - began:.0f} s).")


if __name__ == "__main__":
    main()

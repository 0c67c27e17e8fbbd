"""Draw the digits figure: ranks of the pixels of handwritten digits with different supervision.

Usage: python examples/picture.py docs/digits.png

The upper row shows the selection order of the default. The lower row shows the ranking by the
published score for each kind of supervision, on standardised features. Dots mark the first 16
pixels.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_digits

from graphsieve import GraphSieveWarning, Ranking, Supervision, rank

mpl.use("Agg")
import matplotlib.pyplot as plt

N_LABELS, N_PAIRS, N_MARKED = 3, 40, 16  # labels per class, pairs, marked pixels


def supervisions(y: Any) -> dict[str, dict[str, Any]]:
    """Return different kinds of supervision of the same rows, as arguments of `rank`."""
    rng = np.random.default_rng(0)
    n, classes = len(y), np.unique(y)
    few = np.full(n, -1)
    for label in classes:
        few[rng.permutation(np.flatnonzero(y == label))[:N_LABELS]] = label
    pairs = rng.permutation(n)[: 2 * N_PAIRS].reshape(-1, 2)
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    # The expert assigns a third of the probability to one wrong class on average.
    doubt = rng.beta(2, 4, size=n)
    wrong = (y + rng.integers(1, len(classes), size=n)) % len(classes)
    expert = np.zeros((n, len(classes)))
    expert[np.arange(n), y] = 1 - doubt
    expert[np.arange(n), wrong] += doubt
    return {
        "no supervision": {},
        f"{N_LABELS} labels per class": {"y": few},
        f"{N_PAIRS} pairs": {"supervision": Supervision.from_pairs(n, pairs[same], pairs[~same])},
        "class probabilities": {"supervision": Supervision.from_probabilities(expert)},
        "all labels": {"y": y},
    }


def rankings(X: Any, y: Any, **parameters: Any) -> dict[str, Ranking]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)  # The figure marks constant pixels.
        return {name: rank(X, **given, **parameters) for name, given in supervisions(y).items()}


X, y = load_digits(return_X_y=True)
rows = (rankings(X, y), rankings(X, y, redundancy=None, scale="standard"))
figure, axes = plt.subplots(2, 6, figsize=(11, 4.6), layout="constrained")
axes[0, 0].imshow(X.mean(axis=0).reshape(8, 8), cmap="Greys")
axes[0, 0].set_title("mean image", fontsize=10)
for line, found in zip(axes, rows, strict=True):
    for axis, (name, ranking) in zip(line[1:], found.items(), strict=True):
        goodness = np.where(np.isnan(ranking.scores), np.nan, 65.0 - ranking.ranks).reshape(8, 8)
        picture = axis.imshow(goodness, cmap="YlGnBu", vmin=1, vmax=64)
        axis.set_title(
            f"{name}\n{'the default' if ranking.method == 'diverse' else ranking.method}",
            fontsize=9,
        )
        for row, column in np.argwhere(np.isnan(goodness)):
            axis.text(column, row, "×", ha="center", va="center", color="0.6", fontsize=8)
        for row, column in np.argwhere(goodness >= 65 - N_MARKED):
            axis.text(column, row, "•", ha="center", va="center", color="white", fontsize=9)
for axis in axes.flat:
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
axes[1, 0].set_visible(False)
bar = figure.colorbar(picture, ax=axes, shrink=0.8, pad=0.01, ticks=[1, 64])
bar.ax.set_yticklabels(["last", "first"], fontsize=8)
figure.savefig(sys.argv[1], dpi=130)

"""Draw the picture of the README: which pixels of handwritten digits matter, by what is known of
the images.

Above in the order in which the default chooses them, below one by one by the published score for
what is known, on standardised features; a dot marks the first 16 of each.

Usage: python examples/picture.py docs/digits.png
"""

from __future__ import annotations

import sys

import matplotlib as mpl
import numpy as np
from demo import rankings
from sklearn.datasets import load_digits

mpl.use("Agg")
import matplotlib.pyplot as plt

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
            f"known: {name}\n{'the default' if ranking.method == 'diverse' else ranking.method}",
            fontsize=9,
        )
        for row, column in np.argwhere(np.isnan(goodness)):
            axis.text(column, row, "×", ha="center", va="center", color="0.6", fontsize=8)
        for row, column in np.argwhere(goodness >= 65 - 16):
            axis.text(column, row, "•", ha="center", va="center", color="white", fontsize=9)
for axis in axes.flat:
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
axes[1, 0].set_visible(False)
bar = figure.colorbar(picture, ax=axes, shrink=0.8, pad=0.01, ticks=[1, 64])
bar.ax.set_yticklabels(["last", "first"], fontsize=8)
figure.savefig(sys.argv[1], dpi=130)

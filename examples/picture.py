"""Draw the picture of the README: which pixels of handwritten digits matter, by what is known of the images.

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
found = rankings(X, y)
figure, axes = plt.subplots(1, 6, figsize=(11, 2.5), layout="constrained")
axes[0].imshow(X.mean(axis=0).reshape(8, 8), cmap="Greys")
axes[0].set_title("mean image", fontsize=10)
for axis, (name, ranking) in zip(axes[1:], found.items(), strict=True):
    goodness = np.where(np.isnan(ranking.scores), np.nan, 65.0 - ranking.ranks).reshape(8, 8)
    picture = axis.imshow(goodness, cmap="YlGnBu", vmin=1, vmax=64)
    axis.set_title(f"known: {name}\n{ranking.method}", fontsize=9)
    for row, column in np.argwhere(np.isnan(goodness)):
        axis.text(column, row, "×", ha="center", va="center", color="0.6", fontsize=8)
for axis in axes:
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
bar = figure.colorbar(picture, ax=axes, shrink=0.8, pad=0.01, ticks=[1, 64])
bar.ax.set_yticklabels(["worst", "best"], fontsize=8)
figure.savefig(sys.argv[1], dpi=130)

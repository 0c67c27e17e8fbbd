"""Tables as people have them, for every contributor: those that scikit-learn brings along, and
generated ones with the properties of spectra, genes, texts and questionnaires.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy.sparse as sp
from sklearn import datasets as bundled
from sklearn.datasets import load_diabetes

from graphsieve import datasets


def spectra(n: int = 240, p: int = 100, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Smooth columns: a dozen broad bands, each weaker than the one before, a baseline and a
    little noise; the target is the height of one band.
    """
    rng = np.random.default_rng(seed)
    place = np.linspace(0, 1, p)
    bands = np.exp(-((place - rng.random((12, 1))) ** 2) / (2 * 0.15**2))
    heights = rng.gamma(2.0, size=(n, 12)) * 0.4 ** np.arange(12)
    X = heights @ bands + rng.normal(3, 0.2, size=(n, 1)) + 1e-4 * rng.normal(size=(n, p))
    return X, 10 + 20 * heights[:, 2] + 0.5 * rng.normal(size=n)


def genes(n: int = 62, p: int = 2000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Many more columns than rows, in modules that vary together; two classes differ in a few."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 3 == 0).astype(np.int64)
    modules = rng.normal(size=(n, 40))
    X = modules[:, rng.integers(0, 40, p)] * rng.uniform(0, 1, p) + rng.normal(size=(n, p))
    X[:, :60] += np.outer(y, rng.uniform(1, 2.5, 60))
    return (X + 8).astype(np.float32), y


def texts(n: int = 600, p: int = 1000, seed: int = 0) -> tuple[sp.csr_array, np.ndarray]:
    """Counts of words, few in each text, the rarer the further down the list; two topics."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    common = 1 / np.arange(50, p + 50)  # without the words that every text has
    X = np.zeros((n, p))
    for row, topic in zip(X, y, strict=True):
        odds = common * np.where(np.arange(p) % 7 == topic, 6.0, 1.0)
        words = rng.choice(p, size=rng.integers(20, 80), p=odds / odds.sum())
        np.add.at(row, words, 1)
    return sp.csr_array(X), y


def answers(n: int = 101, p: int = 16, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Yes and no, and one small number; rows and columns that tie abound."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    X = (rng.random((n, p)) < rng.random((4, p))[y]).astype(float)
    X[:, 12] = 2 * rng.integers(0, 4, n)
    return X, y


def households(n: int = 6000, p: int = 36, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Counts, shares and amounts of many places: skewed, correlated, of all units."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 5))
    logs = hidden @ rng.normal(size=(5, p)) * 0.4 + 0.2 * rng.normal(size=(n, p))
    X = np.exp(logs) * 10.0 ** rng.integers(-2, 5, p)
    return X, np.exp(hidden[:, 0] + 0.2 * rng.normal(size=n))


GENERATED = {
    "households": households,
    "spectra": spectra,
    "genes": genes,
    "texts": texts,
    "answers": answers,
}


@cache
def load(name: str) -> tuple[np.ndarray | sp.csr_array, np.ndarray]:
    """X and y by name; nobody may write to them."""
    if name in GENERATED:
        X, y = GENERATED[name]()
    elif name == "waveform":
        made = datasets.make_waveform(5000, random_state=0)
        X, y = made.X, made.y
    elif name == "diabetes":
        X, y = load_diabetes(return_X_y=True, scaled=False)
    else:
        X, y = getattr(bundled, f"load_{name}")(return_X_y=True)
    for array in (X.data, X.indices, X.indptr, y) if sp.issparse(X) else (X, y):
        array.flags.writeable = False
    return X, y


def with_a_constant(X: np.ndarray, place: int = 1) -> np.ndarray:
    """The table with a column of zeros inserted."""
    return np.insert(np.asarray(X, dtype=float), place, 0.0, axis=1)

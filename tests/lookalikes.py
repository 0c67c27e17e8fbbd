"""Realistic tables that need no download: those of scikit-learn, and generated ones with the
properties of spectra, genes, texts and questionnaires.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn import datasets as bundled
from sklearn.datasets import load_diabetes

from graphsieve import datasets
from graphsieve.datasets import DATASETS, Dataset, recipes
from graphsieve.datasets.catalog import Source
from graphsieve.datasets.dataset import content_hash, numbered

# The folder of real data sets, if the environment names one. The results of papers can only be
# reproduced on the real data.
REAL_DATA = Path(os.environ.get("GRAPHSIEVE_DATA") or "no folder")


def spectra(n: int = 240, p: int = 100, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Smooth columns: twelve broad bands, each weaker than the previous one, a baseline and a
    little noise. The target is the height of one band.
    """
    rng = np.random.default_rng(seed)
    place = np.linspace(0, 1, p)
    bands = np.exp(-((place - rng.random((12, 1))) ** 2) / (2 * 0.15**2))
    heights = rng.gamma(2.0, size=(n, 12)) * 0.4 ** np.arange(12)
    X = heights @ bands + rng.normal(3, 0.2, size=(n, 1)) + 1e-4 * rng.normal(size=(n, p))
    return X, 10 + 20 * heights[:, 2] + 0.5 * rng.normal(size=n)


def genes(n: int = 62, p: int = 2000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Many more columns than rows, in correlated modules. Two classes differ in a few columns."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 3 == 0).astype(np.int64)
    modules = rng.normal(size=(n, 40))
    X = modules[:, rng.integers(0, 40, p)] * rng.uniform(0, 1, p) + rng.normal(size=(n, p))
    X[:, :60] += np.outer(y, rng.uniform(1, 2.5, 60))
    return (X + 8).astype(np.float32), y


def texts(n: int = 600, p: int = 1000, seed: int = 0) -> tuple[sp.csr_array, np.ndarray]:
    """Word counts with few words per text, and two topics. Later words are less frequent."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    common = 1 / np.arange(50, p + 50)  # without the most frequent words
    X = np.zeros((n, p))
    for row, topic in zip(X, y, strict=True):
        odds = common * np.where(np.arange(p) % 7 == topic, 6.0, 1.0)
        words = rng.choice(p, size=rng.integers(20, 80), p=odds / odds.sum())
        np.add.at(row, words, 1)
    return sp.csr_array(X), y


def answers(n: int = 101, p: int = 16, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Binary answers and one small integer, with many tied rows and columns."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    X = (rng.random((n, p)) < rng.random((4, p))[y]).astype(float)
    X[:, 12] = 2 * rng.integers(0, 4, n)
    return X, y


def households(n: int = 6000, p: int = 36, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Counts, shares and amounts: skewed, correlated, and in different units."""
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
    """Return X and y by name, as read-only arrays."""
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
    """Return the table with an additional column of zeros."""
    return np.insert(np.asarray(X, dtype=float), place, 0.0, axis=1)


# --- stand-ins for data sets of the catalog

ANNEALED = ("carbon", "hardness", "strength", "thick", "width", "len")
MEASURED = (
    "rectal temperature",
    "pulse",
    "respiratory rate",
    "nasogastric reflux PH",
    "packed cell volume",
    "total protein",
    "abdomcentesis total protein",
)
NAMES = {
    "soybean_small": recipes.SOYBEAN_FEATURES,
    "wpbc": recipes.RECURRENCE_FEATURES,
    "parkinsons": recipes.VOICE_FEATURES,
    "breast_tissue": recipes.TISSUE_FEATURES,
    "sonar": tuple(f"band_{number:02d}" for number in range(1, 61)),
    "pollen": ("RIDGE", "NUB", "CRACK", "WEIGHT"),
    "tecator": numbered("absorbance_", 100),
    "cookie_nir": recipes.NEAR_INFRARED,
    "nirsoil": recipes.NEAR_INFRARED,
    "anneal": ANNEALED + numbered("kind ", 32),
    "dermatology": (*numbered("sign ", 33), "Age"),
    "horse_colic": MEASURED + numbered("code ", 20),
    "zoo": (*numbered("has ", 15), "legs"),
}
CODED = ("soybean_small", "anneal", "dermatology", "horse_colic", "mnist5k")


def _values(name: str, shape: tuple[int, int], y: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """Features with the codes and missing values of the real data set. The first third depends on
    y.
    """
    rng = np.random.default_rng(len(name))
    effect = np.linspace(1.0, 0.0, shape[1]) * (np.arange(shape[1]) <= shape[1] // 3)
    X = rng.normal(size=shape) + np.outer((y - y.mean()) / y.std(), effect)
    if name in CODED:
        measured = np.isin(names, (*ANNEALED, *MEASURED))
        X = np.where(measured, X, np.clip(np.rint(X), -1, 2) + 1)
    if name == "zoo":
        X = np.where(np.array(names) == "legs", np.clip(np.rint(X), -2, 2) + 2, X > 0)
    if name == "dermatology":
        X[:, -1] = rng.integers(1, 80, len(X))
        X[:8, -1] = np.nan
    if name == "horse_colic":
        X[rng.random(shape) < 0.05] = np.nan
    if name == "wpbc":
        X[:4, -1] = np.nan
    return X


def _extras(name: str, y: np.ndarray) -> dict[str, np.ndarray]:
    n, rng = len(y), np.random.default_rng(1)
    simple = {
        "leukemia": {"is_train": np.arange(n) >= 34},
        "usps": {"is_test": np.arange(n) >= 0.8 * n},
        "reuters_orgspeople": {"domain": (np.arange(n) >= n // 2).astype(np.int64)},
        "reuters_peopleplaces": {"domain": (np.arange(n) >= n // 2).astype(np.int64)},
        "cassava_nir": {"year": 2009 + np.arange(n) % 5},
    }
    if name in simple:
        return simple[name]
    targets = {
        "tecator": ("moisture", "fat", "protein"),
        "cookie_nir": ("fat", "sucrose", "dry_flour", "water"),
        "nirsoil": ("Nt", "Ciso", "CEC"),
    }.get(name)
    if targets is None:
        return {}
    y_all = rng.normal(size=(n, len(targets)))
    y_all[:, targets.index("fat") if "fat" in targets else 0] = y
    extras = {"y_all": y_all, "y_all_names": np.array(targets)}
    if name == "tecator":
        parts = recipes.MEAT_PARTS
        return extras | {"part": np.repeat(list(parts), list(parts.values()))}
    return extras | (
        {"is_test": np.arange(n) >= 40}
        if name == "cookie_nir"
        else {"is_train": rng.random(n) < 0.7}
    )


def stand_in(name: str) -> tuple[Source, Dataset]:
    """Return a generated data set and its catalog entry.

    It has the shape, the classes, the types and the missing values of the real data set. Large data
    sets have a tenth of their rows.
    """
    source, rng = DATASETS[name], np.random.default_rng(3)
    fewer = 10 if source.shape[0] > 1000 and np.prod(source.shape) > 100_000 else 1
    counts = tuple(count // fewer for count in source.class_counts)
    n = sum(counts) or source.shape[0] // fewer
    y = rng.permutation(np.repeat(np.arange(len(counts)), counts)) if counts else rng.normal(size=n)
    names = NAMES.get(name, numbered("x", source.shape[1]))
    X = _values(name, (n, source.shape[1]), y, names)
    if name == "nirsoil":
        y = np.where(np.arange(n) % 5 == 2, np.nan, y)
    kind = np.float32 if source.single_precision else np.float64
    made = Dataset(
        name=name,
        X=sp.csr_array(np.where(X > 1.5, np.rint(X), 0), dtype=kind)
        if source.sparse
        else X.astype(kind),
        y=y,
        task=source.task,
        feature_names=names,
        class_names=source.class_names or None,
        target_name=source.target_name,
        extras=_extras(name, y),
    )
    return replace(source, shape=made.X.shape, class_counts=counts, sha256=content_hash(made)), made


def load_stand_in(name: str, *, download: bool = True) -> Dataset:
    """Replace `graphsieve.datasets.load`: return the data of scikit-learn, and stand-ins for all
    other data sets.
    """
    if name == "waveform40":
        return replace(datasets.make_waveform(5000, random_state=0), name=name)
    return datasets.load(name) if DATASETS[name].bundled else stand_in(name)[1]

"""Conversion of the published files to the arrays of a data set.

A recipe is a function of the contents of the files, in the order of the catalog. It returns the
features, the class labels or target values, and the extras. The class codes of the labels are
assigned later, by `class_codes`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve.datasets.dataset import numbered
from graphsieve.datasets.formats import (
    as_numbers,
    read_arff,
    read_matlab,
    read_numbers,
    read_r,
    read_texts,
)


@dataclass(frozen=True, eq=False)
class Prepared:
    """The result of a recipe.

    Attributes
    ----------
    X : array or sparse matrix
        The features.
    wanted : array
        Class labels, or target values.
    feature_names : tuple of str or None
        Names of the features, or None if the files do not contain names.
    extras : mapping
        Further arrays, as in `Dataset`.
    """

    X: Any
    wanted: NDArray[Any]
    feature_names: tuple[str, ...] | None = None
    extras: Mapping[str, NDArray[Any]] = field(default_factory=dict)


Recipe = Callable[[Sequence[bytes]], Prepared]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


SOYBEAN_FEATURES = _words(
    "date plant-stand precip temp hail crop-hist area-damaged severity seed-tmt germination "
    "plant-growth leaves leafspots-halo leafspots-marg leafspot-size leaf-shread leaf-malf "
    "leaf-mild stem lodging stem-cankers canker-lesion fruiting-bodies external-decay mycelium "
    "int-discolor sclerotia fruit-pods fruit-spots seed mold-growth seed-discolor seed-size "
    "shriveling roots"
)
CELL_MEASURES = _words(
    "radius texture perimeter area smoothness compactness concativity concave_points symmetry "
    "fractal_dimension"
)
RECURRENCE_FEATURES = (
    "time",
    *(f"{measure}_{form}" for form in ("mean", "se", "worst") for measure in CELL_MEASURES),
    "tumor_size",
    "lymph_node_status",
)
VOICE_FEATURES = _words(
    "MDVP:Fo(Hz) MDVP:Fhi(Hz) MDVP:Flo(Hz) MDVP:Jitter(%) MDVP:Jitter(Abs) MDVP:RAP MDVP:PPQ "
    "Jitter:DDP MDVP:Shimmer MDVP:Shimmer(dB) Shimmer:APQ3 Shimmer:APQ5 MDVP:APQ Shimmer:DDA NHR "
    "HNR RPDE DFA spread1 spread2 D2 PPE"
)
TISSUE_FEATURES = ("I0", "PA500", "HFS", "DA", "Area", "A/DA", "Max IP", "DR", "P")
NEAR_INFRARED = tuple(f"{wavelength} nm" for wavelength in range(1100, 2500, 2))
MEAT_PARTS = {"C": 129, "M": 43, "T": 43, "E1": 8, "E2": 17}  # samples, in the order of the file


def arff_classes(label: str, *, without: Sequence[str] = (), own_numbers: bool = False) -> Recipe:
    """Return a recipe for an ARFF file with a column of class labels.

    The features are the other columns, except those in `without`.
    """

    def convert(files: Sequence[bytes]) -> Prepared:
        numbers, texts = read_arff(files[0], own_numbers=own_numbers)
        names = tuple(name for name in numbers if name != label and name not in without)
        return Prepared(np.column_stack([numbers[name] for name in names]), texts[label], names)

    return convert


def labeled_table(label: int, features: slice, names: Sequence[str], *, skip: int = 0) -> Recipe:
    """Return a recipe for a text file with a column of class labels and columns of features."""

    def convert(files: Sequence[bytes]) -> Prepared:
        cells = read_texts(files[0], skip=skip)
        return Prepared(as_numbers(cells[:, features]), cells[:, label], tuple(names))

    return convert


def matlab(n_features: int) -> Recipe:
    """Return a recipe for MATLAB files with a table and its labels.

    Several files are stacked, and ``domain`` contains the number of the file of each row.
    """

    def convert(files: Sequence[bytes]) -> Prepared:
        tables, labels = zip(*(read_matlab(content, n_features) for content in files), strict=True)
        X = sp.vstack(tables, format="csr") if any(map(sp.issparse, tables)) else np.vstack(tables)
        domain = np.repeat(np.arange(len(files)), [len(part) for part in labels])
        return Prepared(
            X, np.concatenate(labels), extras={"domain": domain} if len(files) > 1 else {}
        )

    return convert


def pollen(files: Sequence[bytes]) -> Prepared:
    """Pollen: the target is the density. The number of the observation is not a feature."""
    numbers, _ = read_arff(files[0])
    names = ("RIDGE", "NUB", "CRACK", "WEIGHT")
    return Prepared(np.column_stack([numbers[name] for name in names]), numbers["DENSITY"], names)


def tecator(files: Sequence[bytes]) -> Prepared:
    """Tecator: the target is the fat content. The principal components are not features."""
    numbers, _ = read_arff(files[0])
    names, targets = numbered("absorbance_", 100), ("moisture", "fat", "protein")
    return Prepared(
        np.column_stack([numbers[name] for name in names]),
        numbers["fat"],
        names,
        {
            "y_all": np.column_stack([numbers[name] for name in targets]),
            "y_all_names": np.array(targets),
            "part": np.repeat(list(MEAT_PARTS), list(MEAT_PARTS.values())),
        },
    )


def cookies(files: Sequence[bytes]) -> Prepared:
    """Cookies: a data frame of 700 wavelengths and four contents. The target is the fat content."""
    table = read_r(files[0])["cookie"].matrix
    targets = np.array(["fat", "sucrose", "dry_flour", "water"])
    extras = {
        "y_all": table[:, 700:],
        "y_all_names": targets,
        "is_test": np.arange(len(table)) >= 40,
    }
    return Prepared(table[:, :700], table[:, 700], NEAR_INFRARED, extras)


def soils(files: Sequence[bytes]) -> Prepared:
    """Soils: a data frame with the spectra as one matrix column. The target is nitrogen."""
    frame = read_r(files[0])["NIRsoil"]
    targets = ("Nt", "Ciso", "CEC")
    y_all = np.column_stack([frame[name].values for name in targets])
    extras = {
        "y_all": y_all,
        "y_all_names": np.array(targets),
        "is_train": frame["train"].values == 1,
    }
    return Prepared(frame["spc"].matrix, y_all[:, 0], NEAR_INFRARED, extras)


def leukemia(files: Sequence[bytes]) -> Prepared:
    """Leukemia: a list of a matrix and a factor. The original test set comes first."""
    data = read_r(files[0])["golub"]
    X = data["x"].matrix
    return Prepared(
        X, data["y"].labels, tuple(data["x"].column_names), {"is_train": np.arange(len(X)) >= 34}
    )


def colon(files: Sequence[bytes]) -> Prepared:
    """Colon: a list of a matrix and a factor."""
    data = read_r(files[0])["alon"]
    return Prepared(data["x"].matrix, data["y"].labels)


def postal_digits(files: Sequence[bytes]) -> Prepared:
    """USPS digits: a training and a test matrix, with the digit in the first column."""
    parts = [
        read_r(content)[name].matrix
        for content, name in zip(files, ("zip.train", "zip.test"), strict=True)
    ]
    table = np.vstack(parts)
    return Prepared(
        table[:, 1:], table[:, 0], extras={"is_test": np.arange(len(table)) >= len(parts[0])}
    )


def written_digits(files: Sequence[bytes]) -> Prepared:
    """MNIST digits: a table of pixels with the digit in the last column."""
    table = read_numbers(files[0])
    return Prepared(table[:, :-1], table[:, -1])


def cassava(files: Sequence[bytes]) -> Prepared:
    """Cassava: a table of spectra and a table of years and targets, both with a header."""
    spectra = read_texts(files[0], delimiter=";")
    year, target = as_numbers(read_texts(files[1], delimiter=";", skip=1)).T
    return Prepared(
        as_numbers(spectra[1:]), target, tuple(spectra[0].tolist()), {"year": year.astype(np.int64)}
    )


def fermentation(files: Sequence[bytes]) -> Prepared:
    """Fermentation: a table of spectra and a table of measurements, both with a header."""
    spectra, measured = (read_texts(content) for content in files)
    target = as_numbers(measured[1:, measured[0].tolist().index("glucose")])
    return Prepared(as_numbers(spectra[1:]), target, tuple(spectra[0].tolist()))


def coffee(files: Sequence[bytes]) -> Prepared:
    """Coffee: a table of spectra and a table of countries, both with a header."""
    return Prepared(as_numbers(read_texts(files[0], skip=1)), read_texts(files[1], skip=1)[:, -1])

"""Generators for the artificial problems of the papers, with known relevant features.

The docstrings describe what the papers leave open, and their misprints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError
from graphsieve._base.messages import parameter
from graphsieve._base.parameters import choice, count, positive, quoted
from graphsieve._base.randomness import generator
from graphsieve.datasets.dataset import Dataset, numbered

SLS_PAPER = (
    "generated as in Doquire, Verleysen (2013), A graph Laplacian based approach to "
    "semi-supervised feature selection"
)
WLS_PAPER = (
    "generated as in Doquire, Verleysen (2012), Handling imprecise labels in feature selection "
    "with graph Laplacian"
)
WAVEFORM_BOOK = (
    "generated as in Breiman, Friedman, Olshen, Stone (1984), Classification and regression "
    "trees, Sec. 2.6.2"
)
LARGEST = 2**28  # rows or columns; the size in bytes of the largest table does not overflow
LICENCE = "none needed: random numbers"

SPHERE_CENTERS = np.array(
    [[0.25, 0.25, 0.25], [0.25, 0.75, 0.75], [0.75, 0.75, 0.25], [0.75, 0.25, 0.75]]
)
SPHERE_RADIUS = 0.25
CIRCLE_INSIDE, CIRCLE_OUTSIDE = 0.40, 0.45


@dataclass(frozen=True)
class RegressionProblem:
    """A regression problem with a few relevant features."""

    n_relevant: int
    n_irrelevant: int
    formula: Callable[[Floats], Floats]


REGRESSION_PROBLEMS = {
    "Y1": RegressionProblem(3, 6, lambda X: 5 * X[:, 0] + 7 * X[:, 1] - 10 * X[:, 2]),
    "Y2": RegressionProblem(
        4,
        8,
        lambda X: np.cos(2 * np.pi * X[:, 0] * X[:, 1]) * np.sin(2 * np.pi * X[:, 2] * X[:, 3]),
    ),
    "Y3": RegressionProblem(2, 4, lambda X: X[:, 0] ** 2 / X[:, 1] ** 2),
}


def make_regression_problem(
    problem: str,
    *,
    n_samples: int = 1000,
    n_irrelevant: int | None = None,
    random_state: Any = None,
) -> Dataset:
    """Generate the problem Y1, Y2 or Y3 of the paper on the supervised Laplacian score.

    All features are uniform on (0, 1]. The target depends only on the first ones:

    - Y1 = 5 x1 + 7 x2 − 10 x3
    - Y2 = cos(2π x1 x2) sin(2π x3 x4)
    - Y3 = x1² / x2²

    According to the paper, the problems *have* six, eight and four features. Its Table 1 is
    reproduced if these are the numbers of irrelevant features (nine, twelve and six features in
    total), which is the default. ``n_irrelevant=3``, 4 and 2 give the problems as printed.

    Parameters
    ----------
    problem : {"Y1", "Y2", "Y3"}
        The problem.
    n_samples : int
        Number of samples, 1000 in the paper.
    n_irrelevant : int or None
        Number of irrelevant features, which follow the relevant ones. None gives 6, 8 or 4.
    random_state : None, int, numpy.random.SeedSequence, Generator or RandomState
        Source of the random numbers.

    Returns
    -------
    Dataset

    References
    ----------
    Doquire, Verleysen (2013), A graph Laplacian based approach to semi-supervised feature selection
    for regression problems, Eq. 7–9.

    Examples
    --------
    >>> data = make_regression_problem("Y3", n_samples=10, random_state=0)
    >>> data
    Dataset('Y3', 10 samples × 6 features, target Y3)
    >>> data.relevant
    array([0, 1])
    """
    chosen = REGRESSION_PROBLEMS[str(choice(REGRESSION_PROBLEMS)("problem", problem))]
    n_others = (
        chosen.n_irrelevant
        if n_irrelevant is None
        else count(0, sensible=LARGEST)("n_irrelevant", n_irrelevant)
    )
    # random() may return 0, and Y3 would divide by 0. 1 - random() is never 0.
    X = 1.0 - generator(random_state).random((_samples(n_samples), chosen.n_relevant + n_others))
    return Dataset(
        name=problem,
        X=X,
        y=chosen.formula(X),
        task="regression",
        feature_names=numbered("x", X.shape[1]),
        target_name=problem,
        relevant=np.arange(chosen.n_relevant),
        source=SLS_PAPER,
        licence=LICENCE,
    )


def make_spheres(n_samples: int = 50, *, n_features: int = 6, random_state: Any = None) -> Dataset:
    """Generate four classes: four spheres of radius 1/4 in alternate corners of the unit cube.

    The first three features are the coordinates. They are uniform inside the spheres, and every
    sphere is equally likely. The other features are uniform on [0, 1). The paper describes features
    that are uniform in the cube. Most of the cube is outside the spheres and has no class, so such
    points are not generated.

    Parameters
    ----------
    n_samples : int
        Number of samples, 50 in the paper.
    n_features : int
        Number of features, of which the first three are relevant.
    random_state : None, int, numpy.random.SeedSequence, Generator or RandomState
        Source of the random numbers.

    Returns
    -------
    Dataset

    References
    ----------
    Doquire, Verleysen (2012), Handling imprecise labels in feature selection with graph Laplacian,
    Sec. 5.2.

    Examples
    --------
    >>> make_spheres(random_state=0)
    Dataset('spheres', 50 samples × 6 features, 4 classes)
    """
    random, X = _uniform(n_samples, n_features, 3, random_state)
    y = random.integers(len(SPHERE_CENTERS), size=len(X))
    # For a uniform distribution in a ball, the cube of the radius is uniform.
    direction = random.standard_normal((len(X), 3))
    reach = (
        SPHERE_RADIUS
        * np.cbrt(random.random(len(X)))
        / np.sqrt(np.einsum("ij,ij->i", direction, direction))
    )
    X[:, :3] = SPHERE_CENTERS[y] + reach[:, None] * direction
    return _classes("spheres", X, y, np.arange(3), n_classes=4)


def make_squares(n_samples: int = 100, *, n_features: int = 6, random_state: Any = None) -> Dataset:
    """Generate four classes: the four quarters of the unit square.

    All features are uniform on [0, 1), and the first two are the coordinates. In the paper the four
    contiguous squares have a side of one, although the features also have a range of one. Here the
    side is one half. The scores of the paper do not depend on the scale of a feature, so this makes
    no difference.

    Parameters
    ----------
    n_samples : int
        Number of samples, 100 in the paper.
    n_features : int
        Number of features, of which the first two are relevant.
    random_state : None, int, numpy.random.SeedSequence, Generator or RandomState
        Source of the random numbers.

    Returns
    -------
    Dataset

    References
    ----------
    Doquire, Verleysen (2012), Handling imprecise labels in feature selection with graph Laplacian,
    Sec. 5.2.

    Examples
    --------
    >>> make_squares(random_state=0)
    Dataset('squares', 100 samples × 6 features, 4 classes)
    """
    _, X = _uniform(n_samples, n_features, 2, random_state)
    y = 2 * (X[:, 0] >= 0.5).astype(np.int64) + (X[:, 1] >= 0.5)
    return _classes("squares", X, y, np.arange(2), n_classes=4)


def make_circle(n_samples: int = 500, *, n_features: int = 6, random_state: Any = None) -> Dataset:
    """Generate two classes: inside and outside a circle, with an empty ring between them.

    The first two features are the coordinates. They are uniform on the unit square without the
    ring. The distance from the centre is below 0.40 in class 0, and above 0.45 in class 1. The
    other features are uniform on [0, 1). The paper does not state their number. The default is six
    features in total, as in its other problems.

    Parameters
    ----------
    n_samples : int
        Number of samples, 500 in the paper.
    n_features : int
        Number of features, of which the first two are relevant.
    random_state : None, int, numpy.random.SeedSequence, Generator or RandomState
        Source of the random numbers.

    Returns
    -------
    Dataset

    References
    ----------
    Doquire, Verleysen (2012), Handling imprecise labels in feature selection with graph Laplacian,
    Sec. 5.2.

    Examples
    --------
    >>> make_circle(random_state=0)
    Dataset('circle', 500 samples × 6 features, 2 classes)
    """
    random, X = _uniform(n_samples, n_features, 2, random_state)
    in_ring = np.arange(len(X))
    while len(in_ring):
        radius = np.hypot(X[in_ring, 0] - 0.5, X[in_ring, 1] - 0.5)
        in_ring = in_ring[(radius >= CIRCLE_INSIDE) & (radius <= CIRCLE_OUTSIDE)]
        X[in_ring, :2] = random.random((len(in_ring), 2))
    y = (np.hypot(X[:, 0] - 0.5, X[:, 1] - 0.5) > CIRCLE_OUTSIDE).astype(np.int64)
    return _classes("circle", X, y, np.arange(2), n_classes=2)


def make_y4(
    n_samples: int = 300, *, n_features: int = 10, form: str = "corrected", random_state: Any = None
) -> Dataset:
    """Generate three classes of equal size: the lower, middle and upper third of an output Y4.

    - ``"corrected"``: Y4 = cos(2 f1) cos(2 f2) exp(2 f3) exp(2 f4)
    - ``"printed"``: Y4 = cos(2 f1) cos(f3) exp(2 f3) exp(2 f4), which does not depend on f2

    The percentages in Table 4 of the paper are multiples of 1/2. These result from 50 runs with
    *four* relevant features. Three relevant features would give multiples of 2/3. The paper does
    not state the distribution of the features. Here they are uniform on [0, 1), as in its other
    problems.

    Parameters
    ----------
    n_samples : int
        Number of samples, 300 in the paper. Class sizes differ by one if it is not a multiple of
        three.
    n_features : int
        Number of features. The first four are relevant, except for the second one in the printed
        form.
    form : {"corrected", "printed"}
        The formula.
    random_state : None, int, numpy.random.SeedSequence, Generator or RandomState
        Source of the random numbers.

    Returns
    -------
    Dataset

    References
    ----------
    Doquire, Verleysen (2012), Handling imprecise labels in feature selection with graph Laplacian,
    Eq. 11.

    Examples
    --------
    >>> make_y4(random_state=0).relevant
    array([0, 1, 2, 3])
    >>> make_y4(form="printed", random_state=0).relevant
    array([0, 2, 3])
    """
    printed = choice(("corrected", "printed"))("form", form) == "printed"
    _, X = _uniform(n_samples, n_features, 4, random_state)
    second = np.cos(X[:, 2]) if printed else np.cos(2 * X[:, 1])
    output = np.cos(2 * X[:, 0]) * second * np.exp(2 * X[:, 2]) * np.exp(2 * X[:, 3])
    relevant = np.array([0, 2, 3]) if printed else np.arange(4)
    return _classes("Y4", X, _equal_parts(output, 3), relevant, n_classes=3)


def make_y5(n_samples: int = 300, *, n_features: int = 10, random_state: Any = None) -> Dataset:
    """Generate two classes of equal size: the lower and upper half of an output Y5.

    The output is Y5 = 10 sin(f1 f2) + 20 (f3 − 0.5)² + 10 f4 + 5 f5, as printed. The original
    function by Friedman has a factor π in the sine. The paper does not state the distribution of
    the features. Here they are uniform on [0, 1), as in Friedman's problem.

    Parameters
    ----------
    n_samples : int
        Number of samples, 300 in the paper. Class sizes differ by one if it is odd.
    n_features : int
        Number of features, of which the first five are relevant.
    random_state : None, int, numpy.random.SeedSequence, Generator or RandomState
        Source of the random numbers.

    Returns
    -------
    Dataset

    References
    ----------
    Doquire, Verleysen (2012), Handling imprecise labels in feature selection with graph Laplacian,
    Eq. 12.

    Examples
    --------
    >>> make_y5(random_state=0)
    Dataset('Y5', 300 samples × 10 features, 2 classes)
    """
    _, X = _uniform(n_samples, n_features, 5, random_state)
    output = 10 * np.sin(X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return _classes("Y5", X, _equal_parts(output, 2), np.arange(5), n_classes=2)


def make_waveform(n_samples: int = 5000, *, n_noise: int = 19, random_state: Any = None) -> Dataset:
    """Generate Breiman's waveforms: three classes of noisy mixtures of triangular waves.

    The waves at i = 1, ..., 21 are h1(i) = max(6 − \\|i − 11\\|, 0), h2(i) = h1(i − 4) and h3(i) =
    h1(i + 4). A sample of class 0 is u h1 + (1 − u) h2 + noise. Class 1 has h1 and h3 instead, and
    class 2 has h2 and h3. The share u is uniform on [0, 1), and the classes are equally likely. The
    noise of every feature is standard normal. These 21 features are followed by features of pure
    noise. All three waves are 0 at both ends, so x1 and x21 are also pure noise and not in
    `relevant`. In the copy of the UCI repository, ``load("waveform40")``, the classes 0 and 2 are
    exchanged.

    Parameters
    ----------
    n_samples : int
        Number of samples, 5000 in the copy of the UCI repository.
    n_noise : int
        Number of additional features of pure noise.
    random_state : None, int, numpy.random.SeedSequence, Generator or RandomState
        Source of the random numbers.

    Returns
    -------
    Dataset

    References
    ----------
    Breiman, Friedman, Olshen, Stone (1984), Classification and regression trees, Sec. 2.6.2.

    Examples
    --------
    >>> data = make_waveform(100, random_state=0)
    >>> data
    Dataset('waveform', 100 samples × 40 features, 3 classes)
    >>> data.relevant
    array([ 1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19])
    """
    random = generator(random_state)
    X = random.standard_normal(
        (_samples(n_samples), 21 + count(0, sensible=LARGEST)("n_noise", n_noise))
    )
    place = np.arange(1, 22)
    waves = np.maximum(6.0 - np.abs(place - np.array([[11], [15], [7]])), 0.0)
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    y = random.integers(3, size=len(X))
    share = random.random((len(X), 1))
    X[:, :21] += share * waves[pairs[y, 0]] + (1 - share) * waves[pairs[y, 1]]
    return _classes("waveform", X, y, np.arange(1, 20), n_classes=3, source=WAVEFORM_BOOK)


@dataclass(frozen=True, eq=False)
class ExpertLabels:
    """Simulated class probabilities and labels of an uncertain expert.

    Attributes
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Class probabilities: one minus the doubt for the true class, and the doubt for one other
        class.
    observed : array of shape (n_samples,)
        Labels by the expert. A label is the other class with the probability of the doubt (y^error
        in the paper).
    most_probable : array of shape (n_samples,)
        Classes with the highest probability (y^max in the paper).

    Examples
    --------
    >>> make_expert_labels([0, 1, 1], doubt=0.2, random_state=1).observed.shape
    (3,)
    """

    probabilities: Floats
    observed: Integers
    most_probable: Integers


def make_expert_labels(
    y: Any, *, doubt: float, variance: float = 0.1, random_state: Any = None
) -> ExpertLabels:
    """Simulate class probabilities and labels of an uncertain expert.

    For every sample, a doubt β is drawn from the Beta distribution with mean `doubt` and the given
    variance. One of the other classes is drawn with equal probabilities. The true class has the
    probability 1 − β, and the other class has β. The expert's label is the other class with
    probability β. The paper writes "variance σ = 0.1". Its tables are reproduced if 0.1 is the
    variance.

    Parameters
    ----------
    y : array of shape (n_samples,)
        The true classes, as codes 0, 1, ...; at least two classes are required.
    doubt : float
        Mean of the doubts.
    variance : float
        Variance of the doubts. It must be smaller than ``doubt * (1 - doubt)``, because all
        distributions on [0, 1] have at most this variance.
    random_state : None, int, numpy.random.SeedSequence, Generator or RandomState
        Source of the random numbers.

    Returns
    -------
    ExpertLabels

    References
    ----------
    Doquire, Verleysen (2012), Handling imprecise labels in feature selection with graph Laplacian,
    Sec. 5.1.

    Examples
    --------
    >>> labels = make_expert_labels([0, 1, 2, 2], doubt=0.3, random_state=0)
    >>> labels.probabilities.shape
    (4, 3)
    >>> labels.probabilities.sum(axis=1)
    array([1., 1., 1., 1.])
    """
    true, n_classes = _codes(y)
    alpha, beta = _beta_parameters(doubt, variance)
    random = generator(random_state)
    doubts = random.beta(alpha, beta, size=len(true))
    other = (true + random.integers(1, n_classes, size=len(true))) % n_classes
    rows = np.arange(len(true))
    probabilities = np.zeros((len(true), n_classes))
    probabilities[rows, true] = 1.0 - doubts
    probabilities[rows, other] = doubts
    return ExpertLabels(
        probabilities=probabilities,
        observed=np.where(random.random(len(true)) < doubts, other, true),
        most_probable=np.where(doubts > 0.5, other, true),
    )


def _samples(n_samples: int) -> int:
    return int(count(1, sensible=LARGEST)("n_samples", n_samples))


def _uniform(
    n_samples: int, n_features: int, n_relevant: int, random_state: Any
) -> tuple[np.random.Generator, Floats]:
    random = generator(random_state)
    return random, random.random(
        (_samples(n_samples), count(n_relevant, sensible=LARGEST)("n_features", n_features))
    )


def _equal_parts(output: Floats, n_parts: int) -> Integers:
    """Return codes of `n_parts` classes of (nearly) equal size, in the order of the output."""
    codes = np.empty(len(output), dtype=np.int64)
    codes[np.argsort(output, kind="stable")] = np.arange(len(output)) * n_parts // len(output)
    return codes


def _classes(
    name: str,
    X: Floats,
    y: Integers,
    relevant: NDArray[np.intp],
    *,
    n_classes: int,
    source: str = WLS_PAPER,
) -> Dataset:
    return Dataset(
        name=name,
        X=X,
        y=y,
        task="classification",
        feature_names=numbered("x", X.shape[1]),
        class_names=numbered("", n_classes, first=0),
        relevant=relevant,
        source=source,
        licence=LICENCE,
    )


def _codes(y: Any) -> tuple[Integers, int]:
    true = np.asarray(y)
    if true.ndim != 1 or true.dtype.kind not in "iu" or not len(true) or true.min() < 0:
        raise InputError(
            parameter("y", y),
            f" must be a list of class codes 0, 1, ..., got {quoted(y)}; code the classes first.",
        )
    n_classes = int(true.max()) + 1
    if n_classes < 2:
        raise InputError(
            parameter("y"),
            " has only one class; an uncertain expert needs at least two.",
        )
    return true.astype(np.int64), n_classes


def _beta_parameters(mean: float, variance: float) -> tuple[float, float]:
    mean, variance = positive()("doubt", mean), positive()("variance", variance)
    if mean >= 1 or variance >= mean * (1 - mean):
        raise InputError(
            f"no distribution on [0, 1] has the mean doubt {mean:g} and the variance {variance:g}: "
            "the variance must be below doubt × (1 − doubt)."
        )
    total = mean * (1 - mean) / variance - 1
    return mean * total, (1 - mean) * total

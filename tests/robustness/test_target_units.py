"""The unit of a continuous target must not change an answer.

A change of unit rounds every value. Distances along the target that are equal on paper must remain
ties, so the neighbours of every sample remain the same.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphsieve import FloatingSieve, GraphSieve, IterativeSieve, Supervision, feature_p_values
from graphsieve.assess.significance.forms import energy_form
from graphsieve.graphs.builders import target_graph
from graphsieve.scores.score_registry import METHODS
from graphsieve.table.scaling import standardized_target

WITH_TARGETS = sorted(name for name, method in METHODS.items() if "targets" in method.uses)
UNITS = {
    "pounds": lambda y: y * 2.20462,
    "Celsius": lambda y: (y - 32) / 1.8,
    "Fahrenheit": lambda y: y * 1.8 + 32,
    "thirds": lambda y: y / 3,
    "offset": lambda y: y + 1000,
    "towards zero": lambda y: y * 0.37 - 5.3,
    "hundredths": lambda y: y * 0.01,
}


@st.composite
def units(draw):
    """An affine map with an arbitrary positive factor. Its offset may cancel the values."""
    factor = draw(st.floats(1e-3, 1e3))
    offset = draw(st.floats(-100, 100)) * factor
    if draw(st.booleans()):
        return lambda y: y * factor + offset
    return lambda y: (y + offset / factor) * factor


def linked(target, k):
    """Return the matrix of linked samples: the nonzeros of the Laplacian off its diagonal."""
    form = energy_form(target_graph(target, k, np.inf).graph)
    laplacian = form.near.toarray() + (form.factor * form.signs) @ form.factor.toarray().T
    return (np.abs(laplacian) > 0.5) & ~np.eye(len(target), dtype=bool)


@given(
    steps=st.lists(st.integers(-60, 300), min_size=3, max_size=30),
    digits=st.sampled_from([0, 1, 2]),
    unit=units(),
    k=st.integers(1, 5),
    standard=st.booleans(),
)
@example(steps=[1, 2, 3, 7], digits=1, unit=lambda y: y, k=1, standard=False)
@example(steps=[1, 2, 3, 4, 5, 6, 7, 9], digits=0, unit=UNITS["pounds"], k=1, standard=True)
@example(steps=[11, 12, 13, 15, 17, 18], digits=0, unit=UNITS["towards zero"], k=1, standard=False)
def test_neighbours_along_the_target_are_those_of_exact_arithmetic(
    steps, digits, unit, k, standard
):
    k = min(k, len(steps) - 1)
    exact = np.array(steps, dtype=np.int64)
    gaps = np.abs(exact[:, None] - exact)
    reach = np.sort(gaps, axis=1)[:, k]  # the sample itself is first
    expected = (gaps <= reach[:, None]) | (gaps <= reach)
    np.fill_diagonal(expected, val=False)
    target = unit(exact / 10**digits)
    assert_array_equal(linked(standardized_target(target) if standard else target, k), expected)


@pytest.mark.parametrize("far", [1e6, -1e16])
def test_the_tolerance_is_local_to_each_value(far):
    """A value far away must not make the distances between small values equal."""
    target = np.array([0, 1, 3, 6, 10, 15]) * 1e-9
    alone = linked(target, 1)
    assert_array_equal(linked(np.append(target, far), 1)[:-1, :-1], alone)
    assert alone.sum() == 2 * 5  # each value is linked with the one below only


def test_finely_measured_values_remain_different():
    fine = 1e15 + np.arange(50) / 2
    assert_array_equal(Supervision.from_targets(fine).targets, fine)
    assert len(np.unique(Supervision.from_targets(np.nextafter(fine[::10], 0)).targets)) == 5
    assert len(Supervision.from_targets(np.empty(0)).targets) == 0


@given(
    values=st.lists(st.integers(1, 999), min_size=1, max_size=20),
    unit=units(),
    copies=st.integers(1, 3),
)
def test_values_that_are_equal_on_paper_are_equal(values, unit, copies):
    exact = unit(np.repeat(values, copies) / 10)
    up = exact.copy()
    up[::2] = np.nextafter(up[::2], np.inf)
    found = Supervision.from_targets(up).targets
    for value in np.unique(exact):
        if abs(value) > 1e-9:  # elsewhere the unit cancels all digits
            assert len(np.unique(found[exact == value])) == 1
    assert_allclose(found, up, rtol=1e-14)


def drawn(seed: int, *, digits: int, known: float, n: int = 36, p: int = 10):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = np.round(20 * (X[:, 0] + X[:, 1]) + 10 * rng.normal(size=n) + 60) / 10**digits
    return X, np.where(rng.random(n) < known, y, np.nan)


def quietly(function):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function()


def graph_sieve(method, n_features):
    def answer(X, y):
        sieve = GraphSieve(
            method=method, n_features_to_select=n_features, target_type="continuous"
        ).fit(X, y)
        return sieve.get_support(), sieve.scores_

    return answer


def iterative(method):
    def answer(X, y):
        sieve = IterativeSieve(method=method, n_features_to_select=3, target_type="continuous")
        sieve.fit(X, y)
        return sieve.get_support(), sieve.scores_

    return answer


def floating(X, y):
    sieve = FloatingSieve(n_features_to_select=3, target_type="continuous").fit(X, y)
    return sieve.get_support(), np.array(list(sieve.criteria_.values()))


def p_values_by(method):
    def answer(X, y):
        found = feature_p_values(X, y, method=method, target_type="continuous", n_permutations=300)
        return found.selected(0.05), np.stack([found.scores, found.p_values])

    return answer


ANSWERS = {
    "default": graph_sieve("auto", 3),
    "default, automatic number": graph_sieve("auto", "auto"),
    **{name: graph_sieve(name, 3) for name in WITH_TARGETS},
    "iterative": iterative("semi_supervised_laplacian"),
    "floating": floating,
    **{
        f"p-values of {name}": p_values_by(name)
        for name in ("auto", "pearson", "supervised_laplacian")
    },
}


@pytest.mark.parametrize("known", [1.0, 0.5])
@pytest.mark.parametrize("name", ANSWERS)
def test_the_unit_of_the_target_changes_no_answer(name, known):
    for seed, (unit, digits) in enumerate(zip(UNITS, [0, 1] * 4, strict=False)):
        X, y = drawn(seed, digits=digits, known=known)
        selected, scores = quietly(lambda: ANSWERS[name](X, y))  # noqa: B023
        changed = quietly(lambda: ANSWERS[name](X, UNITS[unit](y)))  # noqa: B023
        assert_array_equal(changed[0], selected, err_msg=unit)
        assert_allclose(changed[1], scores, rtol=1e-9, atol=1e-12, err_msg=unit)


@pytest.mark.slow
@given(
    seed=st.integers(0, 10_000),
    digits=st.integers(0, 2),
    known=st.sampled_from([1.0, 0.6]),
    unit=units(),
    name=st.sampled_from(list(ANSWERS)),
)
def test_no_unit_of_the_target_changes_an_answer(seed, digits, known, unit, name):
    X, y = drawn(seed, digits=digits, known=known)
    selected, scores = quietly(lambda: ANSWERS[name](X, y))
    changed = quietly(lambda: ANSWERS[name](X, unit(y)))
    assert_array_equal(changed[0], selected)
    assert_allclose(changed[1], scores, rtol=1e-9, atol=1e-9)

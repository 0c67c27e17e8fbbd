"""The law of one order: order and scores do not depend on the number of features requested.

It holds for every method of `GraphSieve` and `rank`. It does not hold for the iterative, hybrid and
floating searches, which build other graphs or sets for another number.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from graphsieve import GraphSieve, rank
from graphsieve._base.errors import GraphSieveWarning
from graphsieve.datasets import make_circle, make_squares
from graphsieve.scores import METHODS
from strategies import Problem, problems

KINDS = ("nothing", "labels", "targets", "probabilities", "pairs")
NUMBERS = st.one_of(st.integers(1, 6), st.floats(0.1, 1.0), st.sampled_from(["auto", None]))


def fitted(problem: Problem, kind: str, number, **options) -> GraphSieve:
    supervision = None if kind == "nothing" else problem.known(kind)
    assume((problem.X[0] != problem.X).any())
    wanted = min(number, problem.X.shape[1]) if isinstance(number, int) else number
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        return GraphSieve(n_features_to_select=wanted, **options).fit(
            problem.X, supervision=supervision
        )


def assert_one_order(one: GraphSieve, other: GraphSieve) -> None:
    for name in ("ranking_", "scores_", "relevance_", "relevant_", "gain_"):
        first, second = getattr(one, name), getattr(other, name)
        assert (first is None) == (second is None)
        if first is not None:
            assert_array_equal(first, second)
    assert one.skill_ == other.skill_
    for sieve in (one, other):  # The selected features are a prefix of the order.
        assert_array_equal(sieve.get_support(), sieve.ranking_ <= sieve.get_support().sum())


@pytest.mark.parametrize("kind", KINDS)
@given(problem=problems(ties=True, min_samples=4), numbers=st.tuples(NUMBERS, NUMBERS))
def test_the_default_has_one_order(kind, problem, numbers):
    assert_one_order(*(fitted(problem, kind, number) for number in numbers))


@settings(max_examples=5)
@given(seed=st.integers(0, 2**20), numbers=st.tuples(NUMBERS, NUMBERS), product=st.booleans())
def test_the_order_of_another_search_does_not_depend_on_the_number(seed, numbers, product):
    """With 100 labels, the searches are compared. The product of two columns needs another one."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(100, 8))
    y = ((X[:, 0] * X[:, 1] if product else X[:, 0]) > 0).astype(int)
    found = [GraphSieve(n_features_to_select=number).fit(X, y) for number in numbers]
    assert found[0].candidate_ == found[1].candidate_
    assert found[0].candidates_ == found[1].candidates_
    assert_one_order(*found)


@pytest.mark.parametrize("redundancy", [None, "explain", "correlation"])
@pytest.mark.parametrize("method", ["variance", "laplacian", "fisher"])
@given(problem=problems(ties=True, min_samples=6), numbers=st.tuples(NUMBERS, NUMBERS))
def test_named_methods_have_one_order(method, redundancy, problem, numbers):
    kind = "labels" if "labels" in METHODS[method].uses else "nothing"
    options = {"method": method, "redundancy": redundancy}
    assert_one_order(*(fitted(problem, kind, number, **options) for number in numbers))


@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
@given(problem=problems(ties=True, min_samples=4), number=NUMBERS)
def test_rank_and_the_estimator_agree(problem, number):
    sieve = fitted(problem, "labels", number)
    ranking = rank(
        problem.X,
        supervision=problem.known("labels"),
        n_features_to_select=sieve.n_features_to_select,
    )
    assert_array_equal(ranking.ranks, sieve.ranking_)
    assert_array_equal(ranking.scores, sieve.scores_)
    assert_array_equal(ranking.selected, sieve.get_support())


@pytest.mark.parametrize("make", [make_squares, make_circle])
def test_a_fixed_number_uses_the_tests_of_the_automatic_one(make):
    """Both classes of the circle have the same means, so only squared ranks find its columns."""
    data = make(random_state=0)
    found = GraphSieve(n_features_to_select=2).fit(data.X, data.y)
    assert_array_equal(np.flatnonzero(found.get_support()), [0, 1])
    automatic = GraphSieve(n_features_to_select="auto").fit(data.X, data.y)
    assert_array_equal(automatic.get_support(), found.get_support())


def test_heavy_tails_do_not_hide_the_real_columns():
    random = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = random.standard_t(1, size=(200, 100))
    X[:, :10] += 3 * y[:, None]
    found = GraphSieve(n_features_to_select=10).fit(X, y)
    assert found.get_support()[:10].sum() >= 9


def test_a_typing_error_does_not_displace_a_real_column():
    random = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = random.normal(size=(200, 100))
    X[:, :10] += 1.5 * y[:, None]
    X[3, 50] = X[8, 60] = 1e6
    assert GraphSieve(n_features_to_select=10).fit(X, y).get_support()[:10].all()


def test_columns_of_a_factor_unrelated_to_the_labels_do_not_come_first():
    """20 labels, 10 real columns, 200 columns of 5 unrelated factors, and 290 columns of noise."""
    real, unrelated = [], []
    for seed in range(8):
        random = np.random.default_rng(seed)
        y = np.arange(300) % 2
        X = random.normal(size=(300, 500))
        X[:, :10] += 1.3 * y[:, None]
        X[:, 10:210] = np.repeat(random.normal(size=(300, 5)), 40, axis=1)
        X[:, 10:210] += 0.5 * random.normal(size=(300, 200))
        known = np.where(np.isin(np.arange(300), random.permutation(150)[:10] * 2), 0, -1)
        known[random.permutation(150)[:10] * 2 + 1] = 1
        first = np.argsort(GraphSieve().fit(X, known).ranking_)[:10]
        real.append((first < 10).sum())
        unrelated.append(((first >= 10) & (first < 210)).sum())
    assert np.mean(real) >= 4
    assert np.mean(unrelated) <= 2.5

"""Every public score equals the formula in `oracle`, in every container and memory layout."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from graphsieve import GraphSieveWarning, InputError, Supervision, scores
from graphsieve.graphs.neighbors import exact as neighbors
from graphsieve.scores import METHODS
from score_cases import CASES, TIE_FREE_CASES
from strategies import Problem, problems

CONTAINERS = {
    "C order": np.ascontiguousarray,
    "F order": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
    "float32": lambda X: X.astype(np.float32),
    "CSR": sp.csr_array,
    "CSC": sp.csc_matrix,
}
pytestmark = pytest.mark.usefixtures("sparse_stays_sparse")


def test_every_function_of_the_registry_is_compared_with_its_formula():
    compared = {name for name, _, _ in CASES + TIE_FREE_CASES}
    assert compared == {method.function.__name__ for method in METHODS.values()}
    assert len(compared) == 15


def agree(problem: Problem, container: str, case: tuple[str, Any, dict[str, Any]]) -> None:
    name, arguments, keywords = case
    X = CONTAINERS[container](problem.X)
    plain = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        ours = getattr(scores, name)(X, *arguments(problem), **keywords)
    with np.errstate(all="ignore"):
        expected = getattr(oracle, name)(plain, *arguments(problem), **keywords)
    assert ours.shape == (problem.X.shape[1],)
    assert ours.dtype == np.float64
    assert_allclose(ours, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2]}")
@given(problem=problems(ties=True), container=st.sampled_from(list(CONTAINERS)))
def test_equals_the_formula_where_ties_abound(problem, container, case):
    agree(problem, container, case)


@pytest.mark.parametrize("case", CASES + TIE_FREE_CASES, ids=lambda case: f"{case[0]}-{case[2]}")
@given(problem=problems(ties=False), container=st.sampled_from(list(CONTAINERS)))
def test_equals_the_formula_in_general_position(problem, container, case):
    agree(problem, container, case)


@pytest.mark.parametrize("n_components", [1, 2, 5, 12])
@given(problem=problems(ties=False, min_samples=14))
def test_phi3_with_some_eigenvectors_equals_the_dense_eigenproblem(problem, n_components):
    # With ten neighbours of at most twenty and a wide kernel, there is one component and the
    # eigenvalues are distinct.
    keywords = {"form": "phi3", "n_neighbors": 10, "bandwidth": 50.0, "n_components": n_components}
    ours = scores.spec_score(problem.X, **keywords)
    assert_allclose(ours, oracle.spec_score(problem.X, **keywords), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("n_components", [3, 4, 7])
@given(seed=st.integers(0, 99))
def test_phi3_of_a_graph_with_three_components(n_components, seed):
    """The eigenvalue 0 occurs three times. An iterative solver may miss copies of an eigenvalue."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 4)) + 100.0 * np.repeat([0, 1, 2], [6, 8, 10])[:, None]
    keywords = {"form": "phi3", "n_neighbors": 4, "bandwidth": 50.0, "n_components": n_components}
    assert_allclose(
        scores.spec_score(X, **keywords), oracle.spec_score(X, **keywords), rtol=1e-7, atol=1e-9
    )
    with pytest.raises(InputError, match="has 3 connected components"):
        scores.spec_score(X, form="phi3", n_neighbors=4, bandwidth=50.0, n_components=2)


@pytest.mark.parametrize("doubt", [1e-3, 1e-8, 1e-12])
def test_nearly_certain_probabilities_of_one_class_lose_no_digits(doubt):
    """The expected values are exact fractions. Computing 1 − P Pᵀ as a difference would lose most
    digits.
    """
    rng = np.random.default_rng(0)
    second = [Fraction(float(value)) for value in doubt * rng.random(12)]
    P = [(1 - value, value) for value in second]
    f = [Fraction(float(value)) for value in rng.normal(size=12)]
    alike = {(i, j): P[i][0] * P[j][0] + P[i][1] * P[j][1] for i in range(12) for j in range(12)}
    within = sum(w * (f[i] - f[j]) ** 2 for (i, j), w in alike.items())
    apart = sum((1 - w) * (f[i] - f[j]) ** 2 for (i, j), w in alike.items())
    ours = scores.weighted_laplacian_score(
        np.array(f, dtype=float)[:, None], np.array(P, dtype=float)
    )
    # Storing 1 − ε as a float rounds ε by up to 1e-16. This is the only loss that is allowed.
    assert_allclose(ours, float(within / apart), rtol=1e-9 + 1e-15 / doubt)


def test_scores_together_equal_single_scores_after_one_search(monkeypatch):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 7)), rng.integers(3, size=60)
    y[::4] = -1
    searches, exact = [], neighbors.nearest_neighbors

    def counted(rows, k, **options):
        searches.append(k)
        return exact(rows, k, **options)

    monkeypatch.setattr(neighbors, "nearest_neighbors", counted)
    wanted = {
        "laplacian": {"n_neighbors": 6},
        "spec": {},
        "lsdf": {},
        "sselect": {"bandwidth": 3.0, "n_neighbors": 12},
        "fisher": {},
        "variance": {},
    }
    found = scores.score_together(X, wanted, supervision=Supervision.from_labels(y))
    assert searches == [12]
    assert list(found) == list(wanted)
    for name, options in wanted.items():
        known = {"y": y} if scores.METHODS[name].uses else {}
        assert_array_equal(found[name], scores.METHODS[name].function(X, **known, **options))
    assert_array_equal(scores.score_together(X, ["variance"])["variance"], scores.variance_score(X))


@pytest.mark.parametrize(
    ("methods", "complaint"),
    [
        ("laplacian", "methods must be a list of names"),
        (7, "methods must be a list of names"),
        (["laplacean"], "did you mean 'laplacian'"),
        ({"laplacian": {"n_neighbours": 3}}, "no parameter 'n_neighbours'"),
        ({"laplacian": {"n_neighbors": 0}}, "n_neighbors"),
        ({"laplacian": {"neighbors": "exact"}}, "neighbors applies to all methods"),
        (["auto"], "methods must be some of laplacian"),
        ({"laplacian": 3}, "the parameters of 'laplacian' must be a dict"),
        (["fisher"], "needs labels"),
    ],
)
def test_scores_together_refuse_unusable_input(methods, complaint):
    with pytest.raises((ValueError, TypeError), match=complaint):
        scores.score_together(np.eye(4), methods)
    with pytest.raises(TypeError, match="from_labels"):
        scores.score_together(np.eye(4), ["fisher"], supervision=[0, 0, 1, 1])
    with pytest.raises(ValueError, match="none of the methods uses neighbours"):
        scores.score_together(np.eye(4), ["variance"], neighbors="exact")
    with pytest.raises(ValueError, match="from_targets"):
        scores.score_together(
            np.eye(4), ["supervised_laplacian"], supervision=Supervision.from_labels([0, 0, 1, 1])
        )

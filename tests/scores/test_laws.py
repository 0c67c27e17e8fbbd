"""Every registered method with every law that it declares, and laws that hold for all methods."""

from __future__ import annotations

import warnings
from typing import Any, get_args

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphsieve import GraphSieve, GraphSieveWarning, Supervision
from graphsieve.scores import METHODS
from graphsieve.scores.method import Law, Method
from graphsieve.select.preparation import ranks
from graphsieve.table import columns
from graphsieve.table.columns import MemoryTable
from strategies import Problem, problems

LAWS = get_args(Law)
pytestmark = pytest.mark.usefixtures("sparse_stays_sparse")


def values(
    method: Method, X: Any, known: Supervision, *, block_elements: int = 2**22, **overrides: Any
) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        return method.core(
            MemoryTable(X, block_elements=block_elements), known, **(method.defaults | overrides)
        ).values


def knowledge(method: Method, problem: Problem) -> list[Supervision]:
    """Return each kind of supervision that the method uses, or none if it needs none."""
    kinds = [
        kind
        for kind in method.uses
        if not (method.name == "pearson" and kind == "labels" and problem.labels.max() > 1)
    ]
    return [problem.known(kind) for kind in kinds] or [Supervision.nothing(len(problem.X))]


def assert_same(one: np.ndarray, other: np.ndarray) -> None:
    assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def check_shift(method: Method, problem: Problem) -> None:
    # The shift is exact on the grid of the problems.
    shift = np.arange(problem.X.shape[1]) * 3.0 - 4.0
    for known in knowledge(method, problem):
        assert_same(values(method, problem.X + shift, known), values(method, problem.X, known))


def check_scale(method: Method, problem: Problem) -> None:
    """Scale each column by a separate factor.

    If distances matter, all columns and the values they are compared with get the same factor.
    """
    for known in knowledge(method, problem):
        plain = values(method, problem.X, known)
        if not method.reads_neighbors:
            factors = np.array([0.1, 3.0, 1e6, 1 / 7, 1.0])[: problem.X.shape[1]]
            assert_same(values(method, problem.X * factors, known), plain)
            continue
        # The factor is exact on the grid, so ties remain ties.
        targets = None if known.targets is None else 3.0 * known.targets
        scaled = Supervision(
            len(known),
            known.labels,
            known.classes,
            targets,
            known.probabilities,
            known.must_link,
            known.cannot_link,
        )
        bandwidth = (
            {"bandwidth": 9.0 * method.defaults["bandwidth"]}
            if "bandwidth" in method.defaults
            else {}
        )
        assert_same(values(method, problem.X * 3.0, scaled, **bandwidth), plain)


def check_row_order(method: Method, problem: Problem) -> None:
    order = np.random.default_rng(len(problem.X)).permutation(len(problem.X))
    for known in knowledge(method, problem):
        assert_same(
            values(method, problem.X[order], known[order]), values(method, problem.X, known)
        )


def check_column_order(method: Method, problem: Problem) -> None:
    for known in knowledge(method, problem):
        assert_same(
            values(method, problem.X[:, ::-1], known)[::-1], values(method, problem.X, known)
        )


def check_copies(method: Method, problem: Problem) -> None:
    doubled = np.concatenate([problem.X, problem.X], axis=1)
    for known in knowledge(method, problem):
        found = values(method, doubled, known)
        assert_array_equal(found[: problem.X.shape[1]], found[problem.X.shape[1] :])


def check_sparse(method: Method, problem: Problem) -> None:
    for known in knowledge(method, problem):
        plain = values(method, problem.X, known)
        for container in (sp.csr_array, sp.csc_array, sp.coo_matrix):
            assert_same(values(method, container(problem.X), known), plain)
        # Test also a well-filled block, which is made dense.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(columns, "DENSE_FROM", 0.3)
            assert_same(values(method, sp.csr_array(problem.X), known), plain)


def check_chunks(method: Method, problem: Problem) -> None:
    for known in knowledge(method, problem):
        for X in (problem.X, sp.csr_array(problem.X)):
            plain = values(method, X, known)
            for size in (1, 7 * len(problem.X), 3 * len(problem.X) - 1):
                assert_allclose(
                    values(method, X, known, block_elements=size), plain, rtol=1e-10, atol=1e-13
                )


CHECKS = {
    "shift": check_shift,
    "scale": check_scale,
    "row order": check_row_order,
    "column order": check_column_order,
    "copies": check_copies,
    "sparse": check_sparse,
    "chunks": check_chunks,
}
DECLARED = [(method, law) for method in METHODS for law in sorted(METHODS[method].laws)]


def test_every_law_has_a_check_and_every_method_is_covered():
    assert set(CHECKS) == set(LAWS)
    assert len(METHODS) == 15
    # All fifteen methods obey all seven laws, except the variance, which keeps the units of its
    # feature.
    assert len(DECLARED) == 15 * 7 - 1
    assert METHODS["variance"].laws == set(LAWS) - {"scale"}


@pytest.mark.parametrize(("name", "law"), DECLARED)
@given(data=st.data())
def test_obeys_its_laws(name, law, data):
    # Ties are broken by row order, so only the test of that law must avoid them.
    problem = data.draw(problems(ties=law != "row order"))
    CHECKS[law](METHODS[name], problem)


def default(X: Any, known: Supervision, **settings: Any) -> GraphSieve:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        return GraphSieve(**settings).fit(X, supervision=known)


def knowledge_of_the_default(problem: Problem) -> list[Supervision]:
    kinds = ("labels", "targets", "probabilities", "pairs")
    return [Supervision.nothing(len(problem.X)), *(problem.known(kind) for kind in kinds)]


@pytest.mark.slow
@given(problem=problems(ties=False, min_samples=8))
def test_the_default_obeys_the_same_laws(problem):
    """The problems are in general position, because ridge regression and its predicted classes can
    have further ties.
    """
    X, p = problem.X, problem.X.shape[1]
    order = np.random.default_rng(len(X)).permutation(len(X))
    for known in knowledge_of_the_default(problem):
        plain = default(X, known, scale="standard")
        factors = np.array([0.1, 3.0, 1e6, 1 / 7, 1.0])[:p]
        for found in (
            default(X + np.arange(p) * 3.0 - 4.0, known, scale="standard"),
            default(X * factors, known, scale="standard"),
            default(X[order], known[order], scale="standard"),
            default(sp.csr_array(X), known, scale="standard"),
            default(sp.coo_matrix(X), known, scale="standard"),
        ):
            assert_allclose(found.scores_, plain.scores_, rtol=1e-6, atol=1e-9)
            assert_allclose(found.relevance_, plain.relevance_, rtol=1e-6, atol=1e-9)
            assert_array_equal(found.ranking_, plain.ranking_)
        # The columns are not scaled. Two standardised columns would explain each other equally, and
        # the first would be selected.
        plain, turned = default(X, known, scale=None), default(X[:, ::-1], known, scale=None)
        assert_allclose(turned.scores_[::-1], plain.scores_, rtol=1e-6, atol=1e-9)
        # Columns with equal relevance, such as zero, stay in column order.
        if (plain.relevance_ > 0).all():
            assert_array_equal(turned.ranking_[::-1], plain.ranking_)


@given(problem=problems(ties=True))
def test_the_default_ranks_any_table(problem):
    """Constant columns are last and have no score. Shares lie in [0, 1]. Two copies are never both
    selected before a column that adds more.
    """
    X = np.concatenate([problem.X, problem.X[:, :1], np.full((len(problem.X), 1), 0.3)], axis=1)
    constant = X.min(axis=0) == X.max(axis=0)
    for known in knowledge_of_the_default(problem):
        before = X.copy()
        X.flags.writeable = False
        sieve = default(X, known, n_features_to_select=None)
        assert_array_equal(X, before)
        assert_array_equal(np.isnan(sieve.scores_), constant)
        assert ((sieve.scores_[~constant] >= 0) & (sieve.scores_[~constant] <= 1 + 1e-9)).all()
        assert sorted(sieve.ranking_) == list(range(1, X.shape[1] + 1))
        assert set(np.flatnonzero(constant)) == set(
            np.argsort(sieve.ranking_)[X.shape[1] - constant.sum() :]
        )
        if not constant[0]:  # The last but one column repeats it.
            assert sieve.ranking_[0] < sieve.ranking_[-2]
            assert_allclose(sieve.scores_[-2], sieve.scores_[0], rtol=1e-9)
        whole = default((4 * problem.X).astype(np.int64), known)
        assert_allclose(whole.scores_, default(4 * problem.X, known).scores_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", METHODS)
@given(problem=problems(ties=True))
def test_does_not_change_its_input(name, problem):
    method = METHODS[name]
    for known in knowledge(method, problem):
        X = problem.X.copy()
        arrays = [
            a
            for a in (
                known.labels,
                known.targets,
                known.probabilities,
                known.must_link,
                known.cannot_link,
            )
            if a is not None
        ]
        before = [array.copy() for array in arrays]
        for array in (X, *arrays):
            array.flags.writeable = False
        values(method, X, known)
        sparse = sp.csr_array(problem.X)
        kept = (sparse.data.copy(), sparse.indices.copy(), sparse.indptr.copy())
        values(method, sparse, known)
        assert_array_equal(X, problem.X)
        for array, copy in zip(arrays, before, strict=True):
            assert_array_equal(array, copy)
        for array, copy in zip((sparse.data, sparse.indices, sparse.indptr), kept, strict=True):
            assert_array_equal(array, copy)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("constant", [0.0, 0.1 * 3, 1e8])
@given(problem=problems(ties=False))
def test_a_constant_feature_is_nan_and_ranks_last(name, constant, problem):
    method = METHODS[name]
    X = np.concatenate([np.full((len(problem.X), 1), constant), problem.X], axis=1)
    for known in knowledge(method, problem):
        found = values(method, X, known)
        assert np.isnan(found[0])
        assume(not np.isnan(found[1:]).any())
        assert ranks(found, large_is_good=method.direction == "large")[0] == X.shape[1]


@pytest.mark.parametrize("name", METHODS)
@given(problem=problems(ties=True))
def test_integers_give_what_floats_give(name, problem):
    method, whole = METHODS[name], (4 * problem.X).astype(np.int64)
    for known in knowledge(method, problem):
        expected = values(method, whole.astype(np.float64), known)
        for dtype in (np.int64, np.int8, np.uint16):
            X = (whole + (32 if dtype is np.uint16 else 0)).astype(dtype)
            assert_same(values(method, X, known), expected)
        assert_same(values(method, whole.astype(object), known), expected)


@pytest.mark.parametrize(
    "name", ["laplacian", "supervised_laplacian", "semi_supervised_laplacian", "spec"]
)
@given(problem=problems(ties=True))
def test_laplacian_scores_lie_from_0_to_2_per_factor(name, problem):
    """A negative Laplacian score proves a bug. Several other libraries have this bug."""
    for known in knowledge(METHODS[name], problem):
        found = values(METHODS[name], problem.X, known)
        found = found[~np.isnan(found)]
        most = 4 if name.startswith("semi") else 2
        assert ((found >= 0) & (found <= most + 1e-12)).all()


COPIED = [
    ("sselect", {}),
    ("spec", {"power": 2}),
    ("spec", {"power": 3, "form": "phi1"}),
    ("spec", {"power": 2, "form": "phi3", "n_components": 10}),
    ("spec", {"form": "phi3", "n_components": 3}),
]


@pytest.mark.parametrize(("name", "options"), COPIED)
def test_copies_have_the_same_bits_whatever_columns_are_beside_them(name, options):
    """Products and sums of several columns may round the last few columns differently. A block of
    one column may do so as well.
    """
    rng = np.random.default_rng(0)
    n = 250
    labels = Supervision.from_labels(np.where(rng.random(n) < 0.5, rng.integers(7, size=n), -1))
    for n_others in range(1, 12):
        column, others = rng.normal(size=(n, 1)), rng.normal(size=(n, n_others))
        X = np.concatenate([column, others, column, column], axis=1)
        # in one block, and with a separate block for the last column
        for width in (X.shape[1], X.shape[1] - 1):
            found = values(METHODS[name], X, labels, block_elements=width * n, **options)
            assert len(set(found[[0, -2, -1]].tolist())) == 1

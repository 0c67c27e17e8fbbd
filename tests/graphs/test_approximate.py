"""Neighbours from the approximate search and from transformers, and the reports about them."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from graphsieve import GraphSieve, GraphSieveWarning, HybridSieve, InputError, IterativeSieve, rank
from graphsieve import _kernels as kernels
from graphsieve.cli import main
from graphsieve.graphs.neighbors import approximate
from graphsieve.graphs.neighbors import strategy as searching
from graphsieve.graphs.neighbors.approximate import approximate_neighbors
from graphsieve.graphs.neighbors.exact import nearest_neighbors
from graphsieve.graphs.neighbors.metrics import measured
from graphsieve.graphs.neighbors.strategy import recall_of, searched
from graphsieve.scores import (
    METHODS,
    c4_score,
    constrained_laplacian_score,
    fisher_score,
    laplacian_score,
    lsdf_score,
    semi_supervised_laplacian_score,
    spec_score,
    sselect_score,
)
from graphsieve.table.columns import MemoryTable

K = 6


def curved(n: int = 3000, p: int = 12) -> np.ndarray:
    """Return points near a three-dimensional surface."""
    rng = np.random.default_rng(0)
    return np.sin(rng.normal(size=(n, 3)) @ rng.normal(size=(3, p))) + 0.05 * rng.normal(
        size=(n, p)
    )


@pytest.fixture
def small_cells(monkeypatch):
    """Make a few thousand rows fill many cells."""
    monkeypatch.setattr(approximate, "CELL_ROWS", 64)


@pytest.fixture
def long_search(monkeypatch, small_cells):
    """Make even small tables too large for an exact search with "auto"."""
    monkeypatch.setattr(searching, "EXACT_UP_TO", 0)


# ---- the search by cells


def test_most_neighbors_agree_with_scikit_learn(small_cells):
    rows = curved()
    found = approximate_neighbors(rows, K)[0]
    expected = NearestNeighbors(n_neighbors=K, algorithm="brute").fit(rows).kneighbors()[1]
    common = [
        len(set(actual) & set(wanted_neighbors))
        for actual, wanted_neighbors in zip(found.tolist(), expected.tolist(), strict=True)
    ]
    assert sum(common) / found.size > 0.93


@pytest.mark.parametrize(
    "kind", ["curved", "noise", "copies", "all equal", "offset", "huge", "tiny", "one outlier"]
)
def test_distances_and_order_are_as_in_the_exact_search(kind, small_cells):
    rows = curved(1500, 5)
    if kind == "noise":
        rows = np.random.default_rng(1).normal(size=(1500, 5))
    rows = {
        "copies": rows[np.random.default_rng(2).integers(40, size=1500)],
        "all equal": np.ones((1500, 5)),
        "offset": rows + 1e8,
        "huge": rows * 2.0**400,
        "tiny": rows * 2.0**-400,
    }.get(kind, rows)
    if kind == "one outlier":
        rows[700] = 1e9
    found, squared = approximate_neighbors(rows, K)
    owner = np.arange(1500)[:, None]
    assert (found != owner).all()
    assert all(len(set(actual)) == K for actual in found.tolist())
    total = np.zeros(found.shape)  # summed in feature order, as in all searches
    for feature in rows.T:
        total += (feature[owner] - feature[found]) ** 2
    assert_array_equal(squared, total)
    later = np.diff(squared, axis=1)
    assert ((later > 0) | ((later == 0) & (np.diff(found, axis=1) > 0))).all()
    exact = nearest_neighbors(rows, K)[1]
    assert (squared >= exact).all()
    if kind in ("copies", "all equal"):
        assert (squared == 0).mean() > 0.9


def test_the_number_of_threads_does_not_change_the_result(small_cells):
    rows = curved(2000)
    first = approximate_neighbors(rows, K)
    with threadpool_limits(1):
        alone = approximate_neighbors(rows, K)
    for one, other, third in zip(first, alone, approximate_neighbors(rows, K), strict=True):
        assert_array_equal(one, other)
        assert_array_equal(one, third)


def test_numpy_kernels_find_the_same_neighbors(small_cells, monkeypatch):
    rows = curved(1500)
    compiled = approximate_neighbors(rows, K)
    monkeypatch.setattr(kernels, "compiled", None)
    plain = approximate_neighbors(rows, K)
    assert_array_equal(compiled[0], plain[0])
    assert_array_equal(compiled[1], plain[1])


@pytest.mark.parametrize(("n", "k"), [(300, 5), (2000, 300)])
def test_few_rows_and_many_neighbors_are_searched_exactly(n, k):
    rows = curved(n)
    for found, exact in zip(
        approximate_neighbors(rows, k), nearest_neighbors(rows, k), strict=True
    ):
        assert_array_equal(found, exact)


def test_outliers_do_not_reduce_the_precision_of_other_rows(small_cells):
    rows = curved(2000, 6)
    rows[::40] *= 1e7
    exact = nearest_neighbors(rows, K)[1][:, -1:]
    assert (approximate_neighbors(rows, K)[1] <= exact).mean() > 0.9


def test_more_cells_are_visited_for_a_higher_target_recall(small_cells, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(2000, 20))
    exact = nearest_neighbors(rows, K)[1][:, -1:]
    recall = {}
    for wanted in (0.5, 0.99):
        monkeypatch.setattr(approximate, "TARGET_RECALL", wanted)
        recall[wanted] = (approximate_neighbors(rows, K)[1] <= exact).mean()
    assert recall[0.5] < 0.9
    assert recall[0.99] > 0.98


# ---- a transformer


class Stub(TransformerMixin, BaseEstimator):
    """A transformer that returns a given graph or raises a given error for any X."""

    def __init__(self, graph=None, error=None):
        self.graph = graph
        self.error = error

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        if self.error is not None:
            raise self.error
        return self.graph


X = curved(120, 6)
TARGET = np.where(np.arange(120) % 3 == 0, X[:, 0], np.nan)
CLASSES = np.where(np.arange(120) % 4 == 0, (X[:, 0] > 0).astype(int), -1)
PAIRS = ([(0, 1), (5, 9)], [(2, 3), (0, 7)])
SCORES = {
    "laplacian": laplacian_score,
    "spec": spec_score,
    "semi_supervised_laplacian": lambda X, **how: semi_supervised_laplacian_score(
        X, TARGET, n_neighbors=9, **how
    ),
    "lsdf": lambda X, **how: lsdf_score(X, CLASSES, **how),
    "sselect": lambda X, **how: sselect_score(X, CLASSES, **how),
    "constrained_laplacian": lambda X, **how: constrained_laplacian_score(X, *PAIRS, **how),
    "c4": lambda X, **how: c4_score(X, *PAIRS, **how),
}


def test_every_score_with_a_neighbor_search_is_tested():
    assert set(SCORES) == {name for name, method in METHODS.items() if method.reads_neighbors}


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("name", SCORES)
def test_an_exact_transformer_gives_the_exact_scores(name, container):
    """The scores are bit-identical, because distances and their order are computed again."""
    for n_neighbors in (12, 40):
        transformer = KNeighborsTransformer(n_neighbors=n_neighbors, algorithm="brute")
        assert_array_equal(
            SCORES[name](container(X), neighbors=transformer),
            SCORES[name](container(X), neighbors="exact"),
        )
        assert not hasattr(transformer, "n_samples_fit_")  # a copy was fitted


def test_a_transformer_may_omit_the_sample_itself_and_repeat_neighbors():
    near = NearestNeighbors(n_neighbors=5).fit(X)
    without = near.kneighbors_graph(mode="distance")
    entries = without.tocoo()
    again = sp.coo_array(
        (np.tile(entries.data, 2), (np.tile(entries.row, 2), np.tile(entries.col, 2))),
        shape=entries.shape,
    )
    for graph in (without, again, sp.csc_array(without)):
        assert_array_equal(laplacian_score(X, neighbors=Stub(graph)), laplacian_score(X))


def test_a_transformer_receives_original_units_and_the_requested_metric():
    found = GraphSieve(
        "laplacian",
        metric="cosine",
        neighbors=KNeighborsTransformer(n_neighbors=9, algorithm="brute"),
    ).fit(X)
    assert_array_equal(found.scores_, GraphSieve("laplacian", metric="cosine").fit(X).scores_)
    assert found.neighbor_recall_ == 1.0
    cosine = measured(MemoryTable(X), "cosine")
    assert_array_equal(searched(cosine, "approximate").rows[0], cosine.rows[0])


NAN = sp.csr_array(NearestNeighbors(n_neighbors=8).fit(X).kneighbors_graph(mode="distance"))
NAN.data = NAN.data.copy()
NEGATIVE, INFINITE = NAN.copy(), NAN.copy()
NAN.data[3], NEGATIVE.data[3], INFINITE.data[3] = np.nan, -1.0, np.inf
BAD = {
    "a word": (
        "exactly",
        "neighbors must be one of 'auto', 'exact', 'approximate' or a transformer, got 'exactly'",
    ),
    "a misspelt word": ("approximat", "did you mean 'approximate'"),
    "nothing": (None, "neighbors must be one of .* KNeighborsTransformer, got None"),
    "a number": (5, "got 5"),
    "a class": (KNeighborsTransformer, "neighbors must be one of"),
    "an estimator that transforms nothing": (NearestNeighbors(), "neighbors must be one of"),
    "connectivity": (
        KNeighborsTransformer(mode="connectivity", n_neighbors=9),
        "mode='connectivity'; set mode='distance'",
    ),
    "too few": (
        KNeighborsTransformer(n_neighbors=3),
        "KNeighborsTransformer found 3 neighbours of sample 0, and 5 are needed",
    ),
    "more than there are": (
        KNeighborsTransformer(n_neighbors=500),
        "KNeighborsTransformer cannot find neighbours in X",
    ),
    "its own error": (
        Stub(error=ValueError("line one\nline two")),
        "cannot find neighbours in X: line one line two",
    ),
    "wrong shape": (
        Stub(sp.csr_array((120, 7))),
        r"a sparse matrix of shape \(120, 7\); expected .* all 120 samples",
    ),
    "dense": (Stub(np.zeros((120, 120))), "returned a ndarray; expected a sparse matrix"),
    "no graph": (Stub(None), "returned a NoneType"),
    "no neighbours": (Stub(sp.csr_array((120, 120))), "found 0 neighbours of sample 0"),
    "NaN": (Stub(NAN), "negative or not finite"),
    "negative": (Stub(NEGATIVE), "negative or not finite"),
    "infinite": (Stub(INFINITE), "negative or not finite"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_neighbors_are_refused_in_one_sentence(case):
    value, message = BAD[case]
    for call in (
        lambda: laplacian_score(X, neighbors=value),
        lambda: GraphSieve("laplacian", neighbors=value).fit(X),
        lambda: rank(X, method="laplacian", neighbors=value),
    ):
        with pytest.raises(InputError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)


def test_neighbors_is_refused_without_a_neighbor_search():
    y = (X[:, 0] > 0).astype(int)
    cases = [
        (
            lambda: GraphSieve("fisher", neighbors="exact").fit(X, y),
            "method 'fisher' does not search for neighbours in X",
        ),
        (
            lambda: GraphSieve(neighbors="approximate").fit(X, y),
            "neighbors applies only to methods that use a graph",
        ),
        (
            lambda: GraphSieve("laplacian", compress="som", neighbors="approximate").fit(X),
            "compress='som' leaves few prototypes",
        ),
        (
            lambda: rank(X, method="iterative", neighbors="approximate"),
            "the search 'iterative' has no neighbors",
        ),
        (
            lambda: rank(X, y, method="hybrid", neighbors="exact"),
            "the search 'hybrid' has no neighbors",
        ),
        (
            lambda: GraphSieve("laplacian", method_params={"neighbors": "exact"}).fit(X),
            "no parameter 'neighbors'",
        ),
        (
            lambda: HybridSieve("lsdf", base_params={"neighbors": "exact"}).fit(X, CLASSES),
            "no parameter 'neighbors'",
        ),
        (
            lambda: laplacian_score(sp.csr_array(X), neighbors="approximate"),
            "needs dense rows, but X is sparse",
        ),
    ]
    for call, message in cases:
        with pytest.raises(InputError, match=message):
            call()
    for make in (
        lambda: IterativeSieve(neighbors="exact"),
        lambda: fisher_score(X, y, neighbors="exact"),
    ):
        with pytest.raises(TypeError, match="neighbors"):
            make()
    assert (
        GraphSieve("laplacian", compress="som", neighbors="exact").fit(X).neighbor_recall_ is None
    )


def test_parameters_are_those_of_scikit_learn():
    sieve = GraphSieve("laplacian", neighbors=KNeighborsTransformer(n_neighbors=9), n_jobs=1)
    assert sieve.get_params()["neighbors__n_neighbors"] == 9
    copy = clone(sieve).set_params(neighbors__n_neighbors=20)
    assert copy.neighbors.n_neighbors == 20
    assert_array_equal(sieve.fit(X).scores_, copy.fit(X).scores_)


# ---- reports


def test_auto_is_exact_up_to_a_size_and_for_trees_and_sparse_tables(monkeypatch):
    for table in (MemoryTable(X), MemoryTable(sp.csr_array(X))):
        assert searched(table, "auto") is table
        assert recall_of(searched(table, "exact")) is None
    monkeypatch.setattr(searching, "EXACT_UP_TO", 0)
    sparse, flat = (
        MemoryTable(sp.csr_array(X)),
        MemoryTable(np.random.default_rng(0).normal(size=(6000, 2))),
    )
    assert searched(sparse, "auto") is sparse
    assert searched(flat, "auto") is flat
    assert searched(MemoryTable(X), "auto").geometry is not None


def test_auto_is_exact_up_to_the_documented_size():
    """400,000 × 50 and 130,000 × 500 are exact, but not with 1.5 times as many samples."""
    for n, p in ((400_000, 50), (130_000, 500)):
        assert n**2 * p <= searching.EXACT_UP_TO < (1.5 * n) ** 2 * p


def test_auto_beyond_that_size_reports_the_recall_and_the_remedy(long_search):
    rows = curved()
    with pytest.warns(
        GraphSieveWarning,
        match=r"neighbours of 3000 samples are approximate: .* 9\d\.\d % .* correct; .*'exact'",
    ):
        laplacian_score(rows)
    with pytest.warns(GraphSieveWarning, match="are approximate"):
        found = rank(rows, method="laplacian")
    assert 0.9 < found.neighbor_recall < 1
    assert found.facts()["neighbor_recall"] == found.neighbor_recall
    line = f"eighbours are approximate (recall {100 * found.neighbor_recall:.1f} %)"
    assert line in str(found)
    assert line.replace(" %", "\u00a0%") in found.to_html()
    assert any("are approximate" in one for one in found.warnings)


def test_requested_approximate_neighbors_warn_only_for_a_poor_recall(small_cells, monkeypatch):
    rows = curved()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = rank(rows, method="laplacian", neighbors="approximate")
        exact = rank(rows, method="laplacian", neighbors="exact")
    assert exact.neighbor_recall is None
    assert "approximate" not in str(exact)
    assert "approximate" not in exact.to_html()
    np.testing.assert_allclose(found.scores, exact.scores, rtol=0.02)
    monkeypatch.setattr(approximate, "TARGET_RECALL", 0.1)
    monkeypatch.setattr(approximate, "FEWEST_VISITED", 2)
    with pytest.warns(GraphSieveWarning, match="'exact' to find all of them"):
        laplacian_score(
            np.random.default_rng(0).normal(size=(2000, 30)),
            bandwidth=50.0,
            neighbors="approximate",
        )


def test_the_recall_is_measured_on_the_checked_rows(small_cells, monkeypatch):
    """The expected recall on all rows comes from scikit-learn."""
    rows = np.random.default_rng(0).normal(size=(1200, 15))
    monkeypatch.setattr(approximate, "TARGET_RECALL", 0.6)
    monkeypatch.setattr(searching, "CHECKED_SAMPLES", 1200)
    monkeypatch.setattr(searching, "POOR_RECALL", 0.0)
    table = searched(MemoryTable(rows), "approximate")
    found = table.geometry.nearest(K, None, None)[0]
    expected = NearestNeighbors(n_neighbors=K).fit(rows).kneighbors()[1]
    common = sum(
        len(set(actual) & set(wanted_neighbors))
        for actual, wanted_neighbors in zip(found.tolist(), expected.tolist(), strict=True)
    )
    assert recall_of(table) == pytest.approx(common / found.size, abs=1e-12)
    assert recall_of(table) < 0.95


def test_few_queries_and_subsets_of_candidates_are_searched_exactly(small_cells):
    rows = curved(2000)
    table = searched(MemoryTable(rows), "approximate")
    scaled = MemoryTable(rows).rows[0]
    few, some = np.arange(0, 2000, 9), np.arange(1, 2000, 2)
    for queries, candidates in ((few, None), (few, some), (None, some)):
        for found, exact in zip(
            table.geometry.nearest(K, queries, candidates),
            nearest_neighbors(scaled, K, queries=queries, candidates=candidates),
            strict=True,
        ):
            assert_array_equal(found, exact)
    assert recall_of(table) is None
    many = np.arange(0, 2000, 2)
    assert_array_equal(
        table.geometry.nearest(K, many, None)[0], table.geometry.nearest(K, None, None)[0][many]
    )


@pytest.mark.parametrize("name", SCORES)
def test_every_score_accepts_approximate_neighbors(name, monkeypatch):
    """If all cells are visited, the neighbours and the scores are exact."""
    monkeypatch.setattr(approximate, "CELL_ROWS", 6)
    monkeypatch.setattr(approximate, "TARGET_RECALL", 1.0)
    monkeypatch.setattr(approximate, "FEWEST_VISITED", 20)
    assert_array_equal(SCORES[name](X, neighbors="approximate"), SCORES[name](X, neighbors="exact"))


# ---- the command


@pytest.fixture
def table_file(tmp_path):
    path = tmp_path / "t.csv"
    rows = [",".join(f"{value:.6f}" for value in row) for row in curved(1200, 5)]
    path.write_text("\n".join(["a,b,c,d,e", *rows]) + "\n", encoding="utf-8")
    return str(path)


def test_the_command_reports_the_recall_with_its_own_options(
    table_file, long_search, capsys, tmp_path
):
    assert main(["rank", table_file, "--method", "laplacian", "--top", "2"]) == 0
    out, err = capsys.readouterr()
    assert "neighbours are approximate (recall 9" in out
    assert "pass --neighbor-search exact to find all of them" in err
    assert (
        main(
            [
                "rank",
                table_file,
                "--method",
                "laplacian",
                "--neighbor-search",
                "approximate",
                "--jobs",
                "1",
                "--json",
            ]
        )
        == 0
    )
    out, err = capsys.readouterr()
    assert 0.9 < json.loads(out)["neighbor_recall"] <= 1
    assert "neighbors" in json.loads(out)["parameters"]
    assert "n_jobs" not in json.loads(out)["parameters"]
    assert "warning" not in err
    chosen = [
        "--method",
        "laplacian",
        "--top",
        "2",
        "--neighbor-search",
        "approximate",
        "-o",
        str(tmp_path / "out.csv"),
    ]
    assert main(["select", table_file, *chosen]) == 0
    assert "neighbours are approximate" in capsys.readouterr().err


def test_the_command_refuses_it_with_its_own_options(table_file, capsys):
    assert main(["rank", table_file, "--neighbor-search", "exact"]) == 3
    assert "--neighbor-search applies only to methods that use a graph" in capsys.readouterr().err
    assert main(["rank", table_file, "--method", "variance", "--neighbor-search", "exact"]) == 3
    assert "leave --neighbor-search at 'auto'" in capsys.readouterr().err
    assert (
        main(
            [
                "rank",
                table_file,
                "--method",
                "iterative",
                "--top",
                "2",
                "--neighbor-search",
                "exact",
            ]
        )
        == 3
    )
    assert "has no --neighbor-search" in capsys.readouterr().err


def test_a_transformer_cannot_modify_x():
    X = np.random.default_rng(0).normal(size=(60, 4)) * [1, 10, 100, 1000]
    before = X.copy()
    found = []
    for copy in (True, False):
        transformer_pipeline = make_pipeline(
            StandardScaler(copy=copy), KNeighborsTransformer(n_neighbors=8)
        )
        # On another scale, the pipeline finds other neighbours.
        with pytest.warns(GraphSieveWarning, match="are correct"):
            found.append(laplacian_score(X, bandwidth=1e6, neighbors=transformer_pipeline))
        assert_array_equal(X, before)
    assert_array_equal(*found)


def test_an_exact_search_has_no_recall():
    X = np.random.default_rng(0).normal(size=(300, 5))
    assert rank(X, method="laplacian", neighbors="approximate").neighbor_recall is None

"""Tables that are read in pieces, tested with arrays in memory that imitate stored tables."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB

from graphsieve import (
    FloatingSieve,
    GraphSieve,
    GraphSieveWarning,
    HybridSieve,
    InputError,
    InputTypeError,
    IterativeSieve,
    LabeledOnly,
    Supervision,
    compare,
    feature_p_values,
    rank,
    scores,
    search,
    stability,
    stored,
)
from graphsieve._base.progress import Progress, say, showing
from graphsieve.assess.evaluation.prefixes import read_moderate
from graphsieve.graphs.neighbors import out_of_core
from graphsieve.graphs.neighbors.metrics import measured
from graphsieve.graphs.neighbors.nearest import (
    approximate_neighbors,
    nearest_neighbors,
    squared_distances,
)
from graphsieve.graphs.neighbors.strategy import searched
from graphsieve.search import propagation
from graphsieve.table.any_table import as_table
from graphsieve.table.columns import MemoryTable
from graphsieve.table.stored.pieces import View, memory_text, runs
from graphsieve.table.stored.stored_rows import StoredRows
from graphsieve.table.stored.stored_table import StoredTable
from graphsieve.table.sums import group_weightings, moments
from pretended import Pretended


def small_memory(X: Any, groups: int = 3) -> int:
    """Return a memory limit that splits columns and rows into about this number of groups."""
    return max(20 * len(X) + 20, X.size * 10 // groups)


@st.composite
def tables(draw: Any, *, least: int = 6) -> np.ndarray:
    """Return tables with ties, copies and constants, with values on a grid so that sums are exact."""
    n, p = draw(st.integers(least, 30)), draw(st.integers(1, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.integers(-6, 7, size=(n, p)) / 4
    X[:, 0] = draw(st.sampled_from([0.0, 3.25, 1e8]))
    return X + draw(st.sampled_from([0.0, 1024.0]))


# ---- groups


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.integers(1, 20))
def test_runs_cover_everything_once_and_are_short_enough(lengths: list[int], longest: int) -> None:
    borders = np.concatenate([[0], np.cumsum(lengths)])
    found = runs(borders, longest)
    assert [place for run in found for place in range(run.start, run.stop)] == list(
        range(borders[-1])
    )
    assert max(run.stop - run.start for run in found) <= longest
    if longest >= max(lengths):  # Then no part of the file is read twice.
        assert {run.start for run in found} <= set(borders.tolist())


def test_pieces_do_not_exceed_the_memory_limit() -> None:
    X = np.random.default_rng(0).normal(size=(200, 40))
    pretended = Pretended(X, 200 * 10 * 4)
    scores.fisher_score(pretended, np.arange(200) % 3)
    scores.laplacian_score(pretended, bandwidth=50.0)
    assert len(pretended.column_groups()) == 10
    assert 8 * pretended.largest <= pretended.memory


@given(tables(), st.data())
def test_views_are_what_indexing_gives(X: np.ndarray, data: Any) -> None:
    some_rows, some_columns = (
        np.array(data.draw(st.lists(st.integers(0, length - 1), min_size=2))) for length in X.shape
    )
    view = View(
        Pretended(X, small_memory(X)),
        rows=some_rows,
        columns=some_columns,
        change=lambda piece, _: piece * 2,
    )
    wanted = 2 * X[np.ix_(some_rows, some_columns)]
    np.testing.assert_array_equal(
        np.concatenate(list(view.over_rows(view.row_groups(), np.copy))), wanted
    )
    np.testing.assert_array_equal(
        np.concatenate(list(view.over_columns(view.column_groups(), np.copy)), axis=1), wanted
    )
    assert view.shape == wanted.shape


# ---- sums


@given(tables(), st.integers(2, 9), st.booleans(), st.data())
def test_moments_merged_from_rows_are_those_of_all_rows(
    X: np.ndarray, groups: int, sparse: bool, data: Any
) -> None:
    codes = np.array(data.draw(st.lists(st.integers(-1, 2), min_size=len(X), max_size=len(X))))
    weightings = group_weightings(codes, 3, np.arange(1.0, len(X) + 1))
    table = StoredTable(Pretended(sp.csr_array(X) if sparse else X, small_memory(X, groups)))
    found = moments(table.whole, weightings)
    for code in range(3):
        weights, here = np.arange(1.0, len(X) + 1)[codes == code], X[codes == code]
        if not len(here):
            assert not found.mass[code]
            assert not found.scatter[code].any()
            continue
        mean = (weights @ here) / weights.sum()
        scatter = weights @ (here - mean) ** 2
        unscaled = (found.mean[code] + table.whole.shift) * np.exp2(table.whole.exponent)
        np.testing.assert_allclose(unscaled, mean, rtol=1e-12)
        np.testing.assert_allclose(
            found.scatter[code] * np.exp2(2 * table.whole.exponent), scatter, rtol=1e-9, atol=1e-9
        )
        equal = (here == here[0]).all(axis=0)
        assert (found.scatter[code][equal] == 0).all()  # exactly, for any groups of rows


def test_extremes_and_constants_are_those_of_the_table() -> None:
    X = np.array([[3.0, -2.0, 0.0, 5.0], [-1.0, 2.0, 0.0, 5.0], [4.0, 7.0, 0.0, 5.0]])
    for given_X in (X, sp.csr_array(X)):
        table = StoredTable(Pretended(given_X, 60))
        whole, block = table.whole, next(MemoryTable(given_X).blocks())
        assert whole.constant.tolist() == [False, False, True, True]
        np.testing.assert_array_equal(whole.exponent, block.exponent)
        # The first value of least magnitude: -1, -2, 0, 5
        np.testing.assert_array_equal(whole.shift, block.shift)
        np.testing.assert_array_equal(whole.range * np.exp2(whole.exponent), [5.0, 9.0, 0.0, 0.0])


# ---- neighbours


@given(tables(least=8), st.integers(1, 4), st.booleans(), st.data())
def test_neighbours_by_groups_are_those_of_all_rows(
    X: np.ndarray, k: int, sparse: bool, data: Any
) -> None:
    kept = sp.csr_array(X) if sparse else X
    rows = StoredTable(Pretended(kept, small_memory(X, 6))).rows[0]
    whole = MemoryTable(kept).rows[0]
    subset = st.sets(st.integers(0, len(X) - 1), min_size=k + 2)
    queries = data.draw(st.none() | subset.map(lambda chosen: np.array(sorted(chosen))))
    candidates = data.draw(st.none() | subset.map(lambda chosen: np.array(sorted(chosen))))
    found = nearest_neighbors(rows, k, queries=queries, candidates=candidates)
    wanted = nearest_neighbors(whole, k, queries=queries, candidates=candidates)
    np.testing.assert_array_equal(found[1], wanted[1])  # bit for bit; ties go to the lower index
    np.testing.assert_array_equal(found[0], wanted[0])


def test_neighbours_come_from_several_groups() -> None:
    X = np.random.default_rng(0).normal(size=(100, 3))
    rows = StoredRows(Pretended(X, 100 * 3 * 8))
    assert len(out_of_core._groups(rows, 100, 2)) > 3


@given(tables(), st.integers(0, 2**32 - 1))
def test_distances_of_pairs(X: np.ndarray, seed: int) -> None:
    first, second = np.random.default_rng(seed).integers(len(X), size=(2, 50))
    rows = StoredTable(Pretended(X, small_memory(X, 6))).rows[0]
    np.testing.assert_array_equal(
        squared_distances(rows, first, second), ((X[first] - X[second]) ** 2).sum(axis=1)
    )


@given(tables(least=8), st.integers(1, 5), st.booleans(), st.integers(0, 2**32 - 1))
def test_relieff_by_groups_is_that_of_all_rows(
    X: np.ndarray, k: int, sparse: bool, seed: int
) -> None:
    labels = np.random.default_rng(seed).integers(-1, 3, size=len(X))
    labels[:4] = [0, 1, 0, 1]
    kept = sp.csr_array(X) if sparse else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)  # constants, and classes smaller than k
        found = scores.relieff_score(Pretended(kept, small_memory(X, 6)), labels, n_neighbors=k)
        wanted = scores.relieff_score(kept, labels, n_neighbors=k)
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_an_offset_changes_no_neighbour_of_stored_rows(sparse: bool) -> None:
    """Steps of one third tie exactly only if the offset is subtracted before the division."""
    rng = np.random.default_rng(3)
    X, labels = rng.integers(4, size=(60, 6)).astype(float), rng.integers(3, size=60)
    far = sp.csr_array(X + 1e8) if sparse else X + 1e8
    found = scores.relieff_score(Pretended(far, small_memory(X, 6)), labels, n_neighbors=3)
    np.testing.assert_allclose(
        found, scores.relieff_score(X, labels, n_neighbors=3), rtol=1e-10, atol=1e-14
    )


def test_directions_are_compared_as_in_memory() -> None:
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.1, size=(120, 60)).astype(float)
    counts[7] = counts[70] = 0.0
    for X in (counts, sp.csr_array(counts)):
        table = StoredTable(Pretended(X, 120 * 60 * 4))
        found = nearest_neighbors(measured(table, "cosine").rows[0], 4)
        wanted = measured(MemoryTable(X), "cosine")
        np.testing.assert_array_equal(found[0], nearest_neighbors(wanted.rows[0], 4)[0])
        chosen = GraphSieve("laplacian", n_features_to_select=5).fit(Pretended(X, 120 * 60 * 4))
        assert chosen.metric_ == "cosine"
        np.testing.assert_array_equal(
            chosen.ranking_, GraphSieve("laplacian", n_features_to_select=5).fit(X).ranking_
        )


def test_approximate_neighbours_are_close_and_have_exact_distances() -> None:
    rng = np.random.default_rng(0)
    places = rng.normal(size=(6000, 4))
    X = np.sin(places @ rng.normal(size=(4, 150))) + 0.02 * rng.normal(size=(6000, 150))
    table = StoredTable(Pretended(X, 6000 * 150 * 4))
    near, squared = approximate_neighbors(table.rows[0], 5)
    np.testing.assert_allclose(squared, ((X[:, None] - X[near]) ** 2).sum(axis=2), rtol=1e-12)
    exact = nearest_neighbors(X, 5)[1]
    assert (squared <= exact[:, -1:] * (1 + 1e-12)).mean() > 0.9
    given_X = {"n_neighbors": 5, "bandwidth": 10.0}
    found = scores.laplacian_score(Pretended(X, 6000 * 150 * 4), **given_X, neighbors="approximate")
    np.testing.assert_allclose(found, scores.laplacian_score(X, **given_X), rtol=0.05)


def test_a_sketch_of_few_columns_is_the_rows_themselves() -> None:
    X = np.random.default_rng(0).normal(size=(5000, 4))
    rows = StoredTable(Pretended(X, 5000 * 4 * 16)).rows[0]
    sketch, faithful = out_of_core._sketch(rows)
    assert faithful
    np.testing.assert_array_equal(sketch, X)


# ---- errors


def test_many_rows_of_few_columns_may_be_searched_approximately(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = np.random.default_rng(0).normal(size=(6000, 2))
    assert searched(MemoryTable(X), "approximate").geometry is None  # a tree, which is exact
    table = StoredTable(Pretended(X, 90_000))
    assert searched(table, "auto").geometry is None
    near, squared = searched(table, "approximate").geometry.nearest(4, None, None)
    wanted = nearest_neighbors(X, 4)
    assert (near == wanted[0]).mean() > 0.95
    right = (near == wanted[0]).all(axis=1)
    np.testing.assert_array_equal(squared[right], wanted[1][right])
    monkeypatch.setattr("graphsieve.graphs.neighbors.strategy.EXACT_UP_TO", 6000**2)
    assert searched(table, "auto").geometry is not None
    assert searched(MemoryTable(X), "auto").geometry is None


def test_long_searches_are_refused_with_an_estimate() -> None:
    class Huge(Pretended):
        """A table that reports more rows than it has."""

    X = np.random.default_rng(0).normal(size=(50, 4))
    rows = StoredRows(Huge(X, 10_000))
    rows.shape = (10**8, 1000)
    with pytest.raises(
        InputError, match=r"about 18,948 hours; pass neighbors='approximate', or compress='kmeans'"
    ):
        out_of_core.refuse_hours(rows, 10**16)  # 1e16 · 1000 / (60 · 2^43) = 18,947.8
    out_of_core.refuse_hours(rows, 10**9)


def test_memory_that_holds_no_column_is_refused() -> None:
    X = np.zeros((1000, 3))
    with pytest.raises(
        InputError,
        match=r"a single column of 1,000 rows needs 9.8 KiB .* memory limit is 4.9 KiB; pass "
        r"graphsieve.stored",
    ):
        StoredTable(Pretended(X, 5000))


# Two of these give 3.125 KiB and 1.024 MiB, which ordinary rounding would round down.
@pytest.mark.parametrize("n_rows", [70, 320, 1000, 107_375])
def test_the_suggested_memory_is_sufficient(n_rows: int, tmp_path: Any) -> None:
    X = np.lib.format.open_memmap(
        tmp_path / "X.npy", mode="w+", shape=(n_rows, 2), dtype=np.float64
    )
    with pytest.raises(InputError, match="needs") as refused:
        as_table(stored(X, memory=600))
    suggested = str(refused.value).split("memory='")[1].split("'")[0]
    assert isinstance(as_table(stored(X, memory=suggested)), StoredTable)


def test_methods_that_need_all_values_raise_an_error() -> None:
    X = np.random.default_rng(0).normal(size=(60, 8))
    pretended = Pretended(X, 60 * 8 * 4)
    for call in (lambda: GraphSieve("laplacian", scale="rank").fit(pretended),):
        with pytest.raises(
            InputError, match=r"needs all of X in memory, but X is read in pieces \(3.8 KiB\)"
        ):
            call()


def searches_in_rounds(X: Any, y: np.ndarray) -> dict[str, Any]:
    """Return calls of all functions that need the whole of X in memory."""
    selectors = IterativeSieve, FloatingSieve, HybridSieve
    return {
        one.__name__: lambda one=one: one(n_features_to_select=2).fit(X, y) for one in selectors
    } | {
        "iterative_ranking": lambda: search.iterative_ranking(X),
        "floating_selection": lambda: search.floating_selection(X, y, n_features_to_select=2),
        "hybrid_selection": lambda: search.hybrid_selection(X, y, n_features_to_select=2),
        "harmonic_labels": lambda: propagation.harmonic_labels(X, y),
        "feature_p_values": lambda: feature_p_values(X, y),
        "stability": lambda: stability("fisher", X, y, n_resamples=2),
        "compare": lambda: compare(X, y),
        "learners": lambda: read_moderate(X),
    }


@pytest.mark.parametrize("name", list(searches_in_rounds(None, np.array([]))))
def test_searches_in_rounds_refuse_pieces_before_anything_is_read(name: str) -> None:
    pretended = Pretended(np.random.default_rng(0).normal(size=(40, 4)), 1000)
    with pytest.raises(
        InputError, match=r"needs all of X in memory, but X is read in pieces \(1\.2 KiB\)"
    ):
        searches_in_rounds(pretended, np.arange(40) % 2)[name]()
    assert not pretended.largest


def test_searches_in_rounds_accept_tables_that_fit_into_memory() -> None:
    X, y = np.random.default_rng(0).normal(size=(40, 4)), np.arange(40) % 2
    found = FloatingSieve(n_features_to_select=2).fit(Pretended(X, 10**6), y)
    np.testing.assert_array_equal(
        found.ranking_, FloatingSieve(n_features_to_select=2).fit(X, y).ranking_
    )


def test_a_stored_table_is_never_taken_for_an_array() -> None:
    X, y = np.random.default_rng(0).normal(size=(40, 4)), np.arange(40) % 2
    pretended = Pretended(X, 1000)
    assert (len(pretended), repr(pretended)) == (40, "<Pretended of 40 × 4 numbers, 1.2 KiB>")
    attempts: list[Any] = [
        lambda: np.asarray(pretended),
        lambda: pretended[:3],
        lambda: list(pretended),
        lambda: cross_val_score(GaussianNB(), pretended, y),
        lambda: LabeledOnly(GaussianNB()).fit(pretended, np.where(np.arange(40) < 9, -1, y)),
    ]
    for attempt in attempts:
        with pytest.raises(InputTypeError, match="is read in pieces and is not an array"):
            attempt()
    assert not pretended.largest


@pytest.mark.parametrize("memory", ["many", "-1", 0, True, None, "1 EB", float("nan")])
def test_memory_is_a_number_of_bytes(memory: Any, tmp_path: Any) -> None:
    X = np.memmap(tmp_path / "x.dat", mode="w+", shape=(4, 2), dtype=float)
    with pytest.raises(
        InputError, match="memory must be a number of bytes, or a text such as '2 GiB'"
    ):
        stored(X, memory=memory)


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [("1.5 GiB", 3 * 2**29), ("512MB", 2**29), ("100", 100), (2**20, 2**20), ("2 k", 2048)],
)
def test_memory_as_text(text: Any, n_bytes: int, tmp_path: Any) -> None:
    X = np.memmap(tmp_path / "x.dat", mode="w+", shape=(4, 2), dtype=float)
    assert stored(X, memory=text).memory == n_bytes


@pytest.mark.parametrize("hours", [0, -1, True, "2", float("nan")])
def test_hours_are_a_positive_number(hours: Any, tmp_path: Any) -> None:
    X = np.memmap(tmp_path / "x.dat", mode="w+", shape=(4, 2), dtype=float)
    with pytest.raises(InputError, match="hours must be a positive number"):
        stored(X, hours=hours)


def test_an_array_in_memory_is_not_a_stored_table() -> None:
    with pytest.raises(InputTypeError, match="pass data in memory directly"):
        stored(np.zeros((4, 2)))


# ---- messages


def test_bytes_as_text() -> None:
    assert [memory_text(size) for size in (5, 2048, 3 * 2**29, 2**41)] == [
        "5 bytes",
        "2.0 KiB",
        "1.5 GiB",
        "2.0 TiB",
    ]


def test_the_plan_is_printed_before_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    X = np.random.default_rng(0).normal(size=(60, 8))
    GraphSieve("fisher", progress=True).fit(Pretended(X, 60 * 8 * 4), np.arange(60) % 2)
    printed = capsys.readouterr().err
    assert printed.startswith("graphsieve: 60 × 8 numbers (3.8 KiB), read in ")
    GraphSieve("fisher", progress=False).fit(Pretended(X, 60 * 8 * 4), np.arange(60) % 2)
    # The error stream is not a terminal here.
    scores.fisher_score(Pretended(X, 60 * 8 * 4), np.arange(60) % 2)
    assert capsys.readouterr().err == ""


def test_progress_is_shown_only_inside_the_context(capsys: pytest.CaptureFixture[str]) -> None:
    with showing(True):
        assert Progress("work").shown
        say("inside")
    say("outside")
    assert not Progress("work").shown
    assert capsys.readouterr().err == "inside\n"


# ---- complete runs


def test_only_small_tables_are_read_completely() -> None:
    X = np.random.default_rng(0).normal(size=(20, 3))
    assert type(as_table(Pretended(X, 10**6))) is MemoryTable
    assert isinstance(as_table(Pretended(X, 300)), StoredTable)


def test_ranking_of_a_stored_table_is_that_of_the_array() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=90)
    X = rng.normal(size=(90, 12)) + 2.0 * labels[:, None] * (np.arange(12) < 3)
    names = [f"gene {j}" for j in range(12)]
    pretended = Pretended(X, 90 * 12 * 4, borders=[0, 7, 50, 90])
    for given_X in (
        {"n_features_to_select": "auto"},
        {"n_features_to_select": 3},
        {"method": "laplacian"},
    ):
        found = rank(pretended, labels, **given_X, feature_names=names)
        wanted = rank(X, labels, **given_X, feature_names=names)
        np.testing.assert_array_equal(found.ranks, wanted.ranks)
        np.testing.assert_allclose(found.scores, wanted.scores, rtol=1e-10)
        assert found.portraits == wanted.portraits
        assert found.to_json().count('"feature": "gene 3"') == 1


def test_labelled_rows_may_exceed_memory() -> None:
    rng = np.random.default_rng(0)
    X, target = rng.normal(size=(80, 9)), rng.normal(size=80)
    target[::5] = np.nan
    pretended = Pretended(X, 80 * 9 * 3)
    assert isinstance(as_table(pretended).take(np.flatnonzero(~np.isnan(target))), StoredTable)
    found = scores.supervised_laplacian_score(pretended, target)
    np.testing.assert_allclose(found, scores.supervised_laplacian_score(X, target), rtol=1e-10)


def test_labels_that_imply_many_pairs_on_a_stored_table(monkeypatch: pytest.MonkeyPatch) -> None:
    # The limit is low, so that pairs are generated on the fly.
    monkeypatch.setattr("graphsieve.graphs.builders.EDGES_KEPT", 10)
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(60, 9)), rng.integers(2, size=60)
    known = Supervision.from_labels(labels)
    found = GraphSieve("constrained_laplacian").fit(Pretended(X, 60 * 9 * 7), supervision=known)
    np.testing.assert_allclose(
        found.scores_,
        GraphSieve("constrained_laplacian").fit(X, supervision=known).scores_,
        rtol=1e-10,
    )


@pytest.mark.parametrize("kept", [10, 2**21])  # pairs generated on the fly, or kept
def test_labels_imply_pairs_on_a_sparse_stored_table(
    kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphsieve.graphs.builders.EDGES_KEPT", kept)
    rng = np.random.default_rng(0)
    X, labels = (
        sp.csr_array(rng.normal(size=(60, 9)) * (rng.random((60, 9)) < 0.5)),
        rng.integers(-1, 2, size=60),
    )
    found = GraphSieve("constrained_laplacian").fit(Pretended(X, 3 * 60 * 9 * 4), labels)
    np.testing.assert_allclose(
        found.scores_,
        GraphSieve("constrained_laplacian").fit(X.toarray(), labels).scores_,
        rtol=1e-10,
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_transform_reads_the_selected_columns(sparse: bool) -> None:
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(60, 12)), np.arange(60) % 2
    kept = sp.csr_array(X) if sparse else X
    sieve = GraphSieve("fisher", n_features_to_select=4).fit(Pretended(kept, 60 * 12 * 4), labels)
    found = sieve.transform(Pretended(kept, 60 * 25))
    np.testing.assert_array_equal(found.toarray() if sparse else found, X[:, sieve.get_support()])
    np.testing.assert_array_equal(sieve.transform(X), X[:, sieve.get_support()])
    with pytest.raises(
        InputError, match=r"X has shape \(60, 11\), but GraphSieve is expecting 12 features"
    ):
        sieve.transform(Pretended(kept[:, :11], 60 * 12 * 4))


def test_transform_refuses_other_column_names() -> None:
    X, labels = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    first, other = Pretended(X, 60 * 25), Pretended(X, 60 * 25)
    first.names, other.names = ("a", "b", "c"), ("a", "c", "b")
    sieve = GraphSieve("fisher", n_features_to_select=2).fit(first, labels)
    assert set(sieve.get_feature_names_out()) <= {"a", "b", "c"}
    with pytest.raises(InputError, match="column 1 of X is 'c', but it was 'b' in fit"):
        sieve.transform(other)


@given(tables(), st.data())
def test_columns_and_rows_are_taken_in_the_requested_order(X: np.ndarray, data: Any) -> None:
    """The table is read in pieces, and the taken part fits into memory or not."""
    rows, columns = (
        np.array(data.draw(st.lists(st.integers(0, length - 1), min_size=2))) for length in X.shape
    )
    kept = sp.csr_array(X) if data.draw(st.booleans()) else X
    table = StoredTable(Pretended(kept, small_memory(X, data.draw(st.integers(1, 6)))))
    for part, wanted in ((table.take_columns(columns), X[:, columns]), (table.take(rows), X[rows])):
        found = np.empty(wanted.shape)
        for block in part.blocks():
            for place, values in block.dense_parts():
                here = slice(block.start + place.start, block.start + place.stop)
                found[:, here] = (values + block.shift[place]) * np.exp2(block.exponent[place])
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("memory", [0.3, 1.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_number_of_features_is_that_of_the_array(sparse: bool, memory: float) -> None:
    """The columns are read in the order in which they were selected."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=60)
    X = rng.normal(size=(60, 12)) * (rng.random((60, 12)) < 0.8) + labels[:, None] * (
        np.arange(12) > 8
    )
    kept = sp.csr_array(X) if sparse else X
    found, wanted = (
        GraphSieve(n_features_to_select="auto").fit(one, labels)
        for one in (Pretended(kept, int(60 * 12 * 8 * memory * (1 + sparse))), X)
    )
    np.testing.assert_allclose(found.count_.curve, wanted.count_.curve, rtol=1e-10)
    np.testing.assert_array_equal(found.get_support(), wanted.get_support())

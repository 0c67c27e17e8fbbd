"""Tables in files give the scores of the same table in memory, for any layout and memory limit."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import anndata
import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
import scipy.sparse as sp
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphsieve import GraphSieve, Supervision, rank, scores, stored
from graphsieve._base.errors import GraphSieveWarning, InputError, InputTypeError, UsageError
from graphsieve.scores import METHODS, score_together
from graphsieve.table.any_table import as_table
from graphsieve.table.imputation import imputed
from graphsieve.table.scaling import divisors
from graphsieve.table.stored.pieces import COLUMNS_HELD, Stored, itself
from graphsieve.table.stored.stored_table import StoredTable

PROMISED = [
    "laplacian",
    "supervised_laplacian",
    "semi_supervised_laplacian",
    "constrained_laplacian",
    "weighted_laplacian",
    "fisher",
    "lsdf",
]
BANDWIDTH = 50.0  # large enough that no weight underflows

pytestmark = pytest.mark.usefixtures("one_thread")


@dataclass(frozen=True)
class Layout:
    """A table, the chunks of its file, and the memory limit for reading it."""

    X: np.ndarray
    chunks: tuple[int, int]
    columns_in_memory: float  # number of columns that fit into memory

    @property
    def names(self) -> list[str]:
        return [f"gene {place}" for place in range(self.X.shape[1])]

    def memory(self, kind: Any) -> int:
        """Return a memory limit for `columns_in_memory` columns of this kind."""
        each = (
            max(4, self.X.itemsize)
            if kind not in (parquet, parquet_folder) or self.X.dtype == np.float32
            else 8
        )
        if kind in SPARSE:
            each = 16 * np.count_nonzero(self.X) / self.X.size
        return int(COLUMNS_HELD * each * len(self.X) * self.columns_in_memory) + 2


def memory_map(folder: Path, layout: Layout) -> Any:
    X = np.memmap(folder / "X.dat", mode="w+", shape=layout.X.shape, dtype=layout.X.dtype)
    X[:] = layout.X
    return X


def map_by_columns(folder: Path, layout: Layout) -> Any:
    np.save(folder / "X.npy", np.asfortranarray(layout.X))
    return np.load(folder / "X.npy", mmap_mode="r")


def map_of_every_other(folder: Path, layout: Layout) -> Any:
    """Return a reversed view of a larger map."""
    wide = np.repeat(np.repeat(layout.X, 2, axis=0), 3, axis=1)
    np.save(folder / "X.npy", wide[::-1, ::-1])
    return np.load(folder / "X.npy", mmap_mode="c")[::-2, ::-3]


def npy_file(folder: Path, layout: Layout) -> Any:
    np.save(folder / "X.npy", layout.X)
    return folder / "X.npy"


def hdf5_in_one_run(folder: Path, layout: Layout) -> Any:
    with h5py.File(folder / "X.h5", "w") as file:
        file["X"] = layout.X
    return str(folder / "X.h5")


def hdf5_in_chunks(folder: Path, layout: Layout) -> Any:
    with h5py.File(folder / "X.hdf5", "w") as file:
        file.create_dataset("X", data=layout.X, chunks=layout.chunks, compression="gzip")
    return h5py.File(folder / "X.hdf5", "r")["X"]


def zarr_array(folder: Path, layout: Layout) -> Any:
    X = zarr.create_array(
        folder / "X.zarr", shape=layout.X.shape, chunks=layout.chunks, dtype=layout.X.dtype
    )
    X[:] = layout.X
    return X


def zarr_in_shards(folder: Path, layout: Layout) -> Any:
    shards = (2 * layout.chunks[0], layout.chunks[1])
    X = zarr.create_array(
        folder / "X.zarr",
        shape=layout.X.shape,
        chunks=layout.chunks,
        shards=shards,
        dtype=layout.X.dtype,
        zarr_format=3,
    )
    X[:] = layout.X
    return folder / "X.zarr"


def zarr_of_the_second_format(folder: Path, layout: Layout) -> Any:
    X = zarr.create_array(
        folder / "X.zarr",
        shape=layout.X.shape,
        chunks=layout.chunks,
        dtype=layout.X.dtype,
        zarr_format=2,
    )
    X[:] = layout.X
    return folder / "X.zarr"


def arrow(layout: Layout) -> Any:
    return pa.table(dict(zip(layout.names, layout.X.T, strict=True)))


def parquet(folder: Path, layout: Layout) -> Any:
    pa.parquet.write_table(arrow(layout), folder / "X.parquet", row_group_size=layout.chunks[0])
    return pa.parquet.ParquetFile(folder / "X.parquet")


def parquet_folder(folder: Path, layout: Layout) -> Any:
    (folder / "X.parquet").mkdir()
    for start in range(0, len(layout.X), 11):
        part = arrow(layout).slice(start, 11)
        pa.parquet.write_table(
            part, folder / "X.parquet" / f"{start:03}.parquet", row_group_size=layout.chunks[0]
        )
    return pa.dataset.dataset(folder / "X.parquet", format="parquet")


def annotated(folder: Path, layout: Layout, X: Any) -> Path:
    obs = pd.DataFrame(index=[f"cell {place}" for place in range(len(layout.X))])
    anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=layout.names)).write_h5ad(folder / "X.h5ad")
    return folder / "X.h5ad"


def h5ad(folder: Path, layout: Layout) -> Any:
    return anndata.read_h5ad(annotated(folder, layout, layout.X), backed="r")


def h5ad_by_rows(folder: Path, layout: Layout) -> Any:
    return anndata.read_h5ad(annotated(folder, layout, sp.csr_matrix(layout.X)), backed="r")


def h5ad_by_columns(folder: Path, layout: Layout) -> Any:
    return anndata.read_h5ad(annotated(folder, layout, sp.csc_matrix(layout.X)), backed="r")


def h5ad_file(folder: Path, layout: Layout) -> Any:
    return annotated(folder, layout, sp.csr_matrix(layout.X))


def sparse_dataset(folder: Path, layout: Layout) -> Any:
    return h5ad_by_columns(folder, layout).X


KINDS = [
    memory_map,
    map_by_columns,
    map_of_every_other,
    npy_file,
    hdf5_in_one_run,
    hdf5_in_chunks,
    zarr_array,
    zarr_in_shards,
    zarr_of_the_second_format,
    parquet,
    parquet_folder,
    h5ad,
    h5ad_by_rows,
    h5ad_by_columns,
    h5ad_file,
    sparse_dataset,
]
NAMED = [parquet, parquet_folder, h5ad, h5ad_by_rows, h5ad_by_columns, h5ad_file]
SPARSE = (h5ad_by_rows, h5ad_by_columns, h5ad_file, sparse_dataset)
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


@st.composite
def layouts(draw: Any, dtypes: tuple[str, ...] = ("f8", "f4", "i4")) -> Layout:
    """Return tables with columns of different sizes and many zeros.

    The second column is constant, and the last one is a copy of the first.
    """
    n, p = draw(st.integers(24, 50)), draw(st.integers(5, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = np.round(rng.normal(size=(n, p)) * rng.integers(1, 5, size=p), 2) * (
        rng.random((n, p)) < 0.7
    )
    X[:, 1] = 3
    X[:, -1] = X[:, 0]
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    return Layout(
        X.astype(dtype),
        (draw(st.integers(n // 5, n)), draw(st.integers(2, p))),
        draw(st.floats(1, 2)),
    )


class Opened:
    """A table in a temporary folder, which is deleted at the end."""

    def __init__(self, kind: Any, layout: Layout) -> None:
        self._folder = Path(tempfile.mkdtemp())
        self.given = kind(self._folder, layout)
        self._stored = stored(self.given, memory=layout.memory(kind))

    def __enter__(self) -> Stored:
        return self._stored

    def __exit__(self, *_: object) -> None:
        del self._stored, self.given
        shutil.rmtree(self._folder)


def supervisions(n: int) -> dict[str, Supervision]:
    rng = np.random.default_rng(n)
    labels, targets = np.arange(n) % 3, rng.normal(size=n)
    labels[::4], targets[::3] = -1, np.nan
    return {
        "labels": Supervision.from_labels(labels),
        "targets": Supervision.from_targets(targets),
        "probabilities": Supervision.from_probabilities(rng.dirichlet([1, 1, 1], n)),
        "pairs": Supervision.from_pairs(n, [(0, 5), (7, 9)], [(1, 2), (3, n - 1)]),
    }


def scored(X: Any, n: int, name: str) -> np.ndarray:
    method = METHODS[name]
    parameters = {"bandwidth": BANDWIDTH} if "bandwidth" in method.defaults else {}
    known = supervisions(n)[method.uses[0]] if method.uses else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        return score_together(X, {name: parameters}, supervision=known)[name]


def assert_in_pieces(table: Stored) -> None:
    assert len(table.row_groups()) > 1
    assert len(table.column_groups()) > 1
    assert isinstance(as_table(table), StoredTable)


def dense(piece: Any) -> np.ndarray:
    return piece.toarray() if sp.issparse(piece) else piece


# Scores.


def assert_scored_as_in_memory(table: Stored, X: np.ndarray, names: Any) -> None:
    for name in names:
        found = scored(table, len(X), name)
        assert_allclose(found, scored(X, len(X), name), rtol=1e-10, atol=1e-10, err_msg=name)
        assert_array_equal(found[0], found[-1], f"{name}: copies of a column do not tie")


@every_kind
@settings(max_examples=3)
@given(layout=layouts())
def test_scores_are_those_in_memory(kind, layout):
    with Opened(kind, layout) as table:
        assert_in_pieces(table)
        assert_scored_as_in_memory(table, layout.X, PROMISED)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [memory_map, map_by_columns, h5ad_by_rows])
@given(layout=layouts())
def test_all_scores_are_those_in_memory(kind, layout):
    """Tables stored by rows, tables stored by columns, and sparse tables.

    Scores distinguish no other kinds.
    """
    with Opened(kind, layout) as table:
        assert_in_pieces(table)
        assert_scored_as_in_memory(table, layout.X, METHODS.keys() - set(PROMISED))


@pytest.mark.slow
@every_kind
def test_public_functions_take_stored_tables(kind):
    rng = np.random.default_rng(3)
    layout = Layout(rng.normal(size=(40, 6)) * (rng.random((40, 6)) < 0.8), (9, 2), 1.5)
    labels, targets = (
        np.where(np.arange(40) % 4, np.arange(40) % 3, -1),
        np.where(np.arange(40) % 2, rng.normal(size=40), np.nan),
    )
    chances, links = rng.dirichlet([1, 1, 1], 40), ([(0, 5), (7, 9)], [(1, 2), (3, 30)])
    functions = {
        "LS": lambda X: scores.laplacian_score(X, bandwidth=BANDWIDTH),
        "SLS": lambda X: scores.supervised_laplacian_score(X, targets),
        "SSLS": lambda X: scores.semi_supervised_laplacian_score(X, targets, n_neighbors=5),
        "CLS": lambda X: scores.constrained_laplacian_score(X, *links, bandwidth=BANDWIDTH),
        "WLS": lambda X: scores.weighted_laplacian_score(X, chances),
        "Fisher": lambda X: scores.fisher_score(X, labels),
        "LSDF": lambda X: scores.lsdf_score(X, labels),
    }
    with Opened(kind, layout) as table:
        assert_in_pieces(table)
        for name, function in functions.items():
            assert_allclose(
                function(table), function(layout.X), rtol=1e-10, atol=1e-10, err_msg=name
            )


@every_kind
def test_tables_are_accepted_without_stored(kind):
    """All kinds except file names can be passed directly. A small table is read completely."""
    layout = Layout(np.random.default_rng(1).normal(size=(30, 5)), (8, 2), 1.0)
    labels = np.arange(30) % 3
    opened = Opened(kind, layout)
    with opened:
        if not isinstance(opened.given, str | Path):
            assert_allclose(
                scores.fisher_score(opened.given, labels),
                scores.fisher_score(layout.X, labels),
                rtol=1e-12,
            )


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [memory_map, hdf5_in_chunks, parquet, h5ad_by_rows, h5ad_by_columns]
)
@given(layout=layouts(), columns_in_memory=st.floats(1, 4))
def test_scores_do_not_depend_on_memory(kind, layout, columns_in_memory):
    n = len(layout.X)
    other = Layout(layout.X, layout.chunks, columns_in_memory)
    with Opened(kind, layout) as one, Opened(kind, other) as another:
        for name in ("laplacian", "fisher", "supervised_laplacian"):
            assert_allclose(scored(one, n, name), scored(another, n, name), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", NAMED, ids=lambda kind: kind.__name__)
def test_names_appear_in_the_result(kind):
    rng = np.random.default_rng(2)
    labels = np.arange(60) % 3
    X = rng.normal(size=(60, 8)) * (rng.random((60, 8)) < 0.9)
    X[:, [2, 5]] += labels[:, None] * [3, 2]
    layout = Layout(X, (13, 3), 2.0)
    frame = pd.DataFrame(X, columns=layout.names)
    with Opened(kind, layout) as table:
        sieve = GraphSieve("fisher", n_features_to_select=2).fit(table, labels)
        assert sieve.get_feature_names_out().tolist() == ["gene 2", "gene 5"]
        assert_array_equal(sieve.ranking_, GraphSieve("fisher").fit(X, labels).ranking_)
        assert rank(table, labels).names == rank(frame, labels).names
        assert stored(Opened(kind, layout).given, columns=["gene 5", "gene 2"]).names == (
            "gene 2",
            "gene 5",
        )


@pytest.mark.parametrize("kind", NAMED, ids=lambda kind: kind.__name__)
def test_selected_columns_are_read(kind, tmp_path):
    layout = Layout(np.random.default_rng(2).normal(size=(30, 8)), (13, 3), 1.0)
    table = stored(
        kind(tmp_path, layout), columns=["gene 6", "gene 1", "gene 4"], memory=layout.memory(kind)
    )
    labels = np.arange(30) % 2
    assert_allclose(
        scores.fisher_score(table, labels),
        scores.fisher_score(layout.X[:, [1, 4, 6]], labels),
        rtol=1e-12,
    )


# Reading.


@pytest.mark.slow
@every_kind
@settings(max_examples=10)
@given(layout=layouts(), data=st.data())
def test_any_rows_and_columns_are_read_in_any_order(kind, layout, data):
    n, p = layout.X.shape
    with Opened(kind, layout) as table:
        for _ in range(4):
            rows, columns = (
                np.array(data.draw(st.lists(st.integers(0, length - 1), min_size=1)))
                for length in (n, p)
            )
            for group in (rows, slice(int(rows.min()), int(rows.max()) + 1)):
                assert_array_equal(
                    dense(next(iter(table.over_rows([group], itself)))), layout.X[group]
                )
            for group in (columns, slice(int(columns.min()), int(columns.max()) + 1)):
                assert_array_equal(
                    dense(next(iter(table.over_columns([group], itself)))), layout.X[:, group]
                )


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "u2", ">i4", ">i8", "u8", "f2", ">f4", ">f8", "longdouble"]
)
@pytest.mark.parametrize(
    "kind", [memory_map, map_by_columns, hdf5_in_one_run, hdf5_in_chunks, zarr_array]
)
def test_all_numeric_types(kind, dtype):
    if kind is zarr_array and dtype == "longdouble":
        pytest.skip("Zarr has no long double")
    X = np.random.default_rng(0).integers(0, 2 if dtype == "?" else 9, (40, 6)).astype(dtype)
    with Opened(kind, Layout(X, (7, 2), 2.0)) as table:
        for name in ("laplacian", "fisher"):
            assert_allclose(scored(table, 40, name), scored(X, 40, name), rtol=1e-10, atol=1e-10)


@every_kind
@pytest.mark.parametrize("memory", ["1 GiB", None])
def test_large_integers_give_a_warning_as_in_memory(kind, memory):
    X = np.random.default_rng(0).integers(1, 9, (40, 6))
    X[33, 4] = 2**53 + 1
    label = "column 'gene 4'" if kind in NAMED and not (kind is h5ad and memory) else "column 4"
    opened = Opened(kind, Layout(X, (7, 2), 2.0))
    with opened as table:
        if memory:
            table = stored(opened.given, memory=memory)  # noqa: PLW2901
        with pytest.warns(
            GraphSieveWarning, match=rf"precision lost in {label}: .* \(1 such columns\)"
        ):
            as_table(table)


def with_gaps(X: np.ndarray) -> np.ndarray:
    """Remove some values. Copies of a column have the same gaps."""
    X = X.copy()
    X[np.random.default_rng(len(X)).random(X.shape) < 0.03] = np.nan
    X[3, 0] = np.nan
    X[:, -1] = X[:, 0]
    return X


def assert_table_as_in_memory(table: Stored, X: np.ndarray) -> None:
    found, expected = as_table(table, missing="use"), as_table(X, missing="use")
    assert isinstance(found, StoredTable)
    assert_array_equal(found.gaps.toarray(), expected.gaps.toarray())
    for scale in ("standard", "minmax", "robust"):
        for one, other in zip(divisors(found, scale), divisors(expected, scale), strict=True):
            assert_allclose(one, other, rtol=1e-10)
    every = np.arange(X.shape[1])
    means = imputed(found).corner(np.arange(len(X)))
    assert_allclose(means, np.where(np.isnan(X), np.nanmean(X, axis=0), X), rtol=1e-5, atol=1e-6)
    for rows in (np.arange(len(X)), np.array([5, 3, 8])):
        missing = found.take(rows).gaps
        assert np.isnan(X[rows]).sum() == (0 if missing is None else missing.sum())
    assert_array_equal(found.take_columns(every[:1]).gaps.toarray()[:, 0], np.isnan(X[:, 0]))


@every_kind
@settings(max_examples=3)
@given(layout=layouts(("f8", "f4")))
def test_scores_with_gaps_are_those_in_memory(kind, layout):
    X = with_gaps(layout.X)
    with Opened(kind, replace(layout, X=X, columns_in_memory=2.8)) as table:
        assert_table_as_in_memory(table, X)
        assert_scored_as_in_memory(table, X, PROMISED)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [memory_map, map_by_columns, h5ad_by_rows])
@given(layout=layouts(("f8",)))
def test_all_scores_with_gaps_are_those_in_memory(kind, layout):
    X = with_gaps(layout.X)
    with Opened(kind, replace(layout, X=X, columns_in_memory=2.8)) as table:
        assert_scored_as_in_memory(table, X, METHODS.keys() - set(PROMISED))


def test_positions_of_gaps_must_fit_into_memory(tmp_path):
    X = np.where(np.random.default_rng(0).random((40, 6)) < 0.5, np.nan, 1.0)
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(
        InputError, match=r"^the positions of \d+ or more missing values need [^\n]*$"
    ):
        as_table(stored(tmp_path / "X.npy", memory=600), missing="use")


@every_kind
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_reported_with_their_position(kind, value):
    X = np.random.default_rng(0).normal(size=(60, 7))
    layout = Layout(X, (9, 3), 1.5)
    with Opened(kind, layout) as table:
        third = table.row_groups()[2]
        assert len(table.column_groups()) > 3
    X[third.start, 5] = value
    label = "'gene 5'" if kind in NAMED else "5"
    opened = Opened(kind, layout)
    with (
        opened as table,
        pytest.raises(
            InputError, match=rf"in column {label}, first at row {third.start}; impute or drop"
        ),
    ):
        as_table(table)
    with pytest.raises(InputError, match=rf"in column {label}, first at row {third.start}"):
        as_table(stored(Opened(kind, layout).given, memory="1 GiB"))


def test_nulls_are_missing_values(tmp_path):
    columns = {
        "a": pa.array([1, 2, 3, 4, None, 6]),
        "b": pa.array([True, False] * 3),
        "c": pa.array([0.5] * 6),
    }
    pa.parquet.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=2)
    for memory in (100, 10_000):
        with pytest.raises(
            InputError, match="1 NaN \\(missing\\) values in column 'a', first at row 4"
        ):
            as_table(stored(tmp_path / "t.parquet", memory=memory))
    assert_array_equal(
        as_table(stored(tmp_path / "t.parquet", columns=["c", "b"])).matrix[:, 0], [1, 0] * 3
    )


def test_a_parquet_of_many_columns_is_read_a_few_at_a_time(tmp_path, monkeypatch):
    """The page size imitates a table for which a page of every column does not fit in memory."""
    monkeypatch.setattr("graphsieve.table.stored.parquet.PAGE", 50)
    layout = Layout(np.random.default_rng(5).normal(size=(60, 40)), (23, 1), 1.0)
    parquet(tmp_path, layout)
    table = stored(tmp_path / "X.parquet", memory=layout.memory(parquet))
    assert table._width < 40
    read = list(table.over_rows(table.row_groups(), itself))
    assert len(read) > 10
    assert_array_equal(np.concatenate(read), layout.X)


def test_reading_rows_continues_where_the_last_run_ended(tmp_path, monkeypatch):
    """A row group is read once for all its pieces, not once for each piece."""
    # With this page size, a page of every column fits into memory.
    monkeypatch.setattr("graphsieve.table.stored.parquet.PAGE", 1)
    layout = Layout(np.random.default_rng(5).normal(size=(500, 4)), (500, 1), 1.0)
    parquet(tmp_path, layout)
    table = stored(tmp_path / "X.parquet", memory=layout.memory(parquet))
    readers: list[Any] = []
    reader_for = type(table)._reader_for
    monkeypatch.setattr(
        type(table), "_reader_for", lambda *given: readers.append(reader_for(*given)) or readers[-1]
    )
    read = list(table.over_rows(table.row_groups(), itself))
    assert len(read) > 3
    assert len({id(reader) for reader in readers}) == 1
    assert_array_equal(np.concatenate(read), layout.X)


def test_names_with_dots_and_row_names_of_pandas(tmp_path):
    """A name may be the beginning of another one, and row names of pandas are not a feature."""
    frame = pd.DataFrame({"a": [1.0, 2, 3], "a.b": [4.0, 5, 7]}, index=[7, 3, 5])
    frame.to_parquet(tmp_path / "t.parquet")
    table = stored(tmp_path / "t.parquet", columns=["a"])
    assert_array_equal(table.read_columns(slice(0, 1)), [[1], [2], [3]])
    assert stored(tmp_path / "t.parquet").names == ("a", "a.b")
    again = stored(pa.dataset.dataset(tmp_path / "t.parquet"))
    assert_array_equal(again.read_rows(slice(0, 3)), frame.to_numpy())


# Maps.


def test_changes_of_a_copy_on_write_are_seen_and_kept(tmp_path):
    layout = Layout(np.zeros((600, 5)), (1, 1), 1.0)
    path = npy_file(tmp_path, layout)
    X = np.load(path, mmap_mode="c")
    changed = np.random.default_rng(0).normal(size=(600, 5))
    X[:] = changed
    labels = np.arange(600) % 2
    assert_allclose(
        scores.fisher_score(stored(X, memory=8000), labels),
        scores.fisher_score(changed, labels),
        rtol=1e-10,
    )
    assert_array_equal(X, changed)
    assert not np.load(path).any()


def test_changes_of_a_shared_map_are_seen_and_kept(tmp_path):
    X = memory_map(tmp_path, Layout(np.zeros((600, 5)), (1, 1), 1.0))
    changed = np.random.default_rng(0).normal(size=(600, 5))
    X[:] = changed
    as_table(stored(X, memory=8000))
    assert_array_equal(X, changed)
    assert_array_equal(np.fromfile(tmp_path / "X.dat").reshape(600, 5), changed)


@pytest.mark.parametrize("offset", [0, 128, 8192])
def test_a_map_of_a_file_that_became_shorter_is_refused(tmp_path, offset):
    """Reading it would crash the process."""
    (tmp_path / "X.dat").write_bytes(bytes(offset + 600 * 5 * 8))
    X = np.memmap(tmp_path / "X.dat", mode="r", shape=(600, 5), dtype=float, offset=offset)
    table = stored(X, memory=8000)
    assert table.read_rows(slice(590, 600)).shape == (10, 5)
    os.truncate(tmp_path / "X.dat", offset + 600 * 5 * 8 - 1)
    with pytest.raises(
        InputError, match=r"X\.dat' has .* bytes, but the map needs .*; write it again, then map it"
    ):
        as_table(table)


def test_the_result_of_a_computation_with_a_map_is_in_memory(tmp_path):
    X = memory_map(tmp_path, Layout(np.ones((6, 2)), (1, 1), 1.0))
    with pytest.raises(InputTypeError, match="pass data in memory directly"):
        stored(X + 1)


# Files.


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are counted in /proc")
@pytest.mark.parametrize("kind", [npy_file, hdf5_in_one_run, zarr_in_shards, h5ad_file, parquet])
def test_files_are_closed_with_the_table(kind, tmp_path):
    layout = Layout(np.random.default_rng(0).normal(size=(30, 6)), (7, 2), 1.0)
    name = kind(tmp_path, layout)
    table = stored(
        tmp_path / "X.parquet" if kind is parquet else name, memory=layout.memory(kind) * 2
    )
    del name
    labels = np.arange(30) % 2
    scores.fisher_score(table, labels)
    del table
    gc.collect()
    links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    assert not [link for link in links if str(tmp_path) in os.path.realpath(link)]
    assert str(tmp_path) not in Path("/proc/self/maps").read_text()


def test_arrays_in_files_are_found_by_their_key(tmp_path):
    X, labels = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["deep/inside"], file["other"] = X, X[:, :2]
    assert stored(tmp_path / "t.h5", key="deep/inside").shape == (20, 3)
    with h5py.File(tmp_path / "t.h5") as file:
        assert stored(file, key="other").shape == (20, 2)
        assert stored(file["deep"]).shape == (20, 3)  # the only array of the group
        assert_allclose(
            scores.fisher_score(file["deep"], labels), scores.fisher_score(X, labels), rtol=1e-12
        )
    with pytest.raises(
        InputError, match=r"is not an array, but contains 'deep', 'other'; select one with"
    ):
        stored(tmp_path / "t.h5")
    with pytest.raises(UsageError, match="has no 'X'; it contains 'deep', 'other'"):
        stored(tmp_path / "t.h5", key="X")
    layout = Layout(X, (7, 2), 1.0)
    assert stored(h5ad_file(tmp_path, layout), key="X").is_sparse
    assert stored(tmp_path / "X.h5ad", key="X").names is None


@pytest.mark.parametrize("layout_kind", [np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_annotated_data_in_zarr(tmp_path, layout_kind):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of anndata about formats
        anndata.AnnData(layout_kind(X), var=pd.DataFrame(index=["a", "b", "c"])).write_zarr(
            tmp_path / "X.zarr"
        )
    table = stored(tmp_path / "X.zarr", memory=700)
    assert table.names == ("a", "b", "c")
    assert_array_equal(dense(table.read_rows(np.array([1, 5, 19]))), X[[1, 5, 19]])


def broken_files(folder: Path) -> dict[str, Any]:
    X = np.random.default_rng(0).normal(size=(60, 6))
    hdf5_in_chunks(folder, Layout(X, (60, 6), 1.0)).file.close()
    content = bytearray((folder / "X.hdf5").read_bytes())
    content[-2000:-100] = bytes(1900)
    (folder / "X.hdf5").write_bytes(content)
    array = zarr_array(folder, Layout(X, (30, 3), 1.0))
    next(
        path for path in (folder / "X.zarr").rglob("*") if path.is_file() and "c" in path.parts
    ).write_bytes(b"nothing")
    parquet(folder, Layout(X, (30, 3), 1.0)).close()
    content = bytearray((folder / "X.parquet").read_bytes())
    content[100:900] = bytes(800)
    (folder / "X.parquet").write_bytes(content)
    return {"hdf5": folder / "X.hdf5", "zarr": array, "parquet": folder / "X.parquet"}


@pytest.mark.parametrize("name", ["hdf5", "zarr", "parquet"])
def test_read_errors_are_one_sentence(tmp_path, name):
    table = stored(broken_files(tmp_path)[name], memory=1000)
    with pytest.raises(
        InputError,
        match=r"^X could not be read from the .* \(.*\); open it again, or write it again\.$",
    ):
        as_table(table)


def test_an_inconsistent_sparse_matrix_is_refused(tmp_path):
    for name, values in {"indices": [99, 1], "indptr": [5, 4]}.items():
        (tmp_path / name).mkdir()
        path = h5ad_file(tmp_path / name, Layout(np.ones((6, 3)), (1, 1), 1.0))
        with h5py.File(path, "r+") as file:
            file[f"X/{name}"][2:4] = values
        for memory in (200, 10_000):
            with pytest.raises(
                InputError, match=r"^X could not be read from the sparse matrix '/X' \(OSError: ind"
            ):
                as_table(stored(path, memory=memory))


def test_closed_files(tmp_path):
    layout = Layout(np.random.default_rng(0).normal(size=(40, 6)), (7, 2), 1.0)
    X = hdf5_in_chunks(tmp_path, layout)
    table, file, rows = stored(X, memory=1000), X.file, parquet(tmp_path, layout)
    file.close()
    rows.close()
    with pytest.raises(InputError, match="an HDF5 dataset of a closed file; open the file again"):
        scores.variance_score(X)
    with pytest.raises(
        InputError, match=r"X could not be read from the HDF5 dataset '/X' of .*X\.hdf5"
    ):
        scores.variance_score(table)
    with pytest.raises(InputError, match="X could not be read"):
        stored(file)
    with pytest.raises(InputError, match="a closed ParquetFile"):
        scores.variance_score(rows)


@pytest.mark.parametrize(("n_rows", "memory"), [(12, 600), (12, 10_000), (90, 600)])
@pytest.mark.parametrize("kind", ["hdf5", "zarr"])
def test_an_array_that_changes_its_size_is_refused(tmp_path, kind, n_rows, memory):
    """The array is resized after it is opened. Additional rows matter only if columns are read."""
    X = np.random.default_rng(0).normal(size=(40, 6))
    if kind == "hdf5":
        array = h5py.File(tmp_path / "X.hdf5", "w").create_dataset(
            "X", data=X, chunks=(7, 2), maxshape=(None, 6)
        )
    else:
        array = zarr.create_array(str(tmp_path / "X.zarr"), data=X, chunks=(7, 2))
    table = stored(array, memory=memory)
    array.resize((n_rows, 6))
    for score in (scores.variance_score, scores.laplacian_score):
        with pytest.raises(
            InputError,
            match=r"^X could not be read from [^\n]* \(OSError: its size has changed: "
            r"[^\n]*$",
        ):
            score(table)


def test_unrelated_files_in_a_zarr_group(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 3))
    zarr.open_group(tmp_path / "X.zarr", mode="w").create_array("X", data=X)
    (tmp_path / "X.zarr" / "notes.txt").write_text("by hand")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert stored(tmp_path / "X.zarr").shape == (20, 3)
        with pytest.raises(UsageError, match="has no 'Y'; it contains 'X'"):
            stored(tmp_path / "X.zarr", key="Y")


def test_a_column_that_only_later_files_have_is_not_lost(tmp_path):
    folder = tmp_path / "t.parquet"
    folder.mkdir()
    pa.parquet.write_table(pa.table({"a": [1.0, 2.0]}), folder / "1.parquet")
    pa.parquet.write_table(pa.table({"a": [3.0, 4.0], "b": [5.0, 6.0]}), folder / "2.parquet")
    with pytest.raises(
        InputError,
        match=r"^[^\n]*2\.parquet' has column 'b', which the first file of the folder does not have"
        r"[^\n]*$",
    ):
        stored(folder)
    assert stored(folder, columns=["a"]).shape == (4, 1)


@pytest.mark.parametrize(
    "name", ["x" * 300 + ".npy", "x/" * 3000 + "x.h5", "x" * 100_000 + ".zarr", "a\0.npy"]
)
def test_names_that_no_file_can_have(name):
    with pytest.raises(
        UsageError, match=r"^'[^\n]{1,520} does not exist; pass the name of an existing file\.$"
    ):
        stored(name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("suffix", [".npy", ".h5", ".parquet", ".zarr"])
def test_a_pipe_is_not_waited_for(tmp_path, suffix):
    os.mkfifo(tmp_path / f"pipe{suffix}")
    with pytest.raises(UsageError, match="is neither a file nor a folder"):
        stored(tmp_path / f"pipe{suffix}")


@pytest.mark.parametrize(
    "hours", [10**400, np.int64(3), np.float32(3), float("inf"), Fraction(1, 2)]
)
def test_hours_of_any_kind_of_number(tmp_path, hours):
    X = np.random.default_rng(0).normal(size=(40, 6))
    table = stored(npy_file(tmp_path, Layout(X, (1, 1), 1.0)), memory=600, hours=hours)
    assert_allclose(scores.laplacian_score(table), scores.laplacian_score(X), rtol=1e-10)


@pytest.mark.parametrize("n_neighbors", [None, "5", -1, 1.5, 10**400])
def test_a_plan_for_an_invalid_number_of_neighbours(tmp_path, n_neighbors):
    table = stored(npy_file(tmp_path, Layout(np.ones((40, 6)), (1, 1), 1.0)))
    with pytest.raises(InputError, match=r"^n_neighbors must be [^\n]*, got [^\n]*\.$"):
        table.plan(n_neighbors)


def unusual_parquet(folder: Path) -> Path:
    columns = {
        "number": pa.array([1, 2]),
        "text": pa.array(["u", "v"]),
        "day": pa.array([1, 2], pa.date32()),
        "list": pa.array([[1], [2]]),
        "kind": pa.array(["x", "y"]).dictionary_encode(),
    }
    pa.parquet.write_table(pa.table(columns), folder / "t.parquet")
    return folder / "t.parquet"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            None,
            "holds dates in column 'day'; every feature must be numeric: select numeric columns "
            "with .*columns=",
        ),
        (["number", "day"], "holds dates in column 'day'"),
        (["list"], "holds lists or records in column 'list'"),
        (["number", "absent"], "has no column 'absent'"),
        (["number", "number"], "each name only once"),
        ([], "at least one"),
        ("number", "columns must be a list of names, got 'number'"),
        ([1], "columns must be a list of names"),
    ],
)
def test_columns_that_cannot_be_selected(tmp_path, columns, message):
    path = unusual_parquet(tmp_path)
    with pytest.raises(InputError, match=message):
        stored(path, columns=columns)
    with pytest.raises(InputError, match=message):
        stored(pa.dataset.dataset(path), columns=columns)


def test_parameters_that_do_not_apply_are_refused(tmp_path):
    layout = Layout(np.random.default_rng(0).normal(size=(40, 6)), (7, 2), 1.0)
    X, path = memory_map(tmp_path, layout), unusual_parquet(tmp_path)
    refused = [
        (lambda: stored(X, columns=["a"]), "X has no names; leave out columns"),
        (lambda: stored(X, key="X"), "leave out key, got 'X'"),
        (
            lambda: stored(npy_file(tmp_path, layout), columns=["a"]),
            "has no column names; leave out the parameter columns",
        ),
        (lambda: stored(path, key="X"), "leave it out for .*, got 'X'"),
        (lambda: stored(hdf5_in_chunks(tmp_path, layout), columns=["a"]), "X has no names"),
        (
            lambda: stored(tmp_path / "t.csv"),
            r"files that end in \.npy, \.parquet, .*, got .*t.csv'",
        ),
        (lambda: stored(tmp_path / "none.npy"), "none.npy' does not exist"),
        (lambda: stored(X, key=3), "key must be the name of an array, got 3"),
        (lambda: stored(stored(X)), "already a stored table"),
        (lambda: stored(layout.X), "pass data in memory directly"),
        (
            lambda: stored(pa.dataset.dataset(path).filter(pa.dataset.field("number") > 1)),
            "a dataset with a filter",
        ),
        (lambda: stored(X[:1]), r"X has shape \(1, 6\); at least 2 samples"),
        (lambda: stored(X[:, 0]), "X is 1-D"),
        (lambda: stored(X.view("c16")), "type complex128; every feature must be numeric"),
    ]
    for call, message in refused:
        with pytest.raises(InputError, match=message):
            call()


def test_arrays_that_are_not_tables(tmp_path):
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["text"], file["line"], file["empty"] = [["a", "b"]], np.arange(3), h5py.Empty("f")
        for name, message in {
            "text": "every feature must be numeric",
            "line": "X is 1-D",
            "empty": "X is 0-D",
        }.items():
            with pytest.raises(InputError, match=message):
                scores.variance_score(file[name])


def test_annotated_data_in_other_states(tmp_path):
    layout = Layout(np.random.default_rng(0).normal(size=(40, 6)), (7, 2), 1.0)
    backed = h5ad(tmp_path, layout)
    with pytest.raises(InputError, match="a view of a backed AnnData"):
        scores.variance_score(backed[:20])
    with pytest.raises(InputError, match=r"pass its matrix, X=adata\.X"):
        scores.variance_score(backed.to_memory())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of anndata about names
        twice = anndata.AnnData(np.ones((3, 2)), var=pd.DataFrame(index=["g", "g"]))
        twice.write_h5ad(tmp_path / "twice.h5ad")
        again = anndata.read_h5ad(tmp_path / "twice.h5ad", backed="r")
    for given_as in (tmp_path / "twice.h5ad", again):
        with pytest.raises(InputError, match="column 'g' twice"):
            stored(given_as)


# Memory.

PEAK = """
import sys
import numpy as np
from graphsieve import stored
from graphsieve.scores import fisher_score, supervised_laplacian_score

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

def run(X, n):
    targets = np.full(n, np.nan)
    targets[:2000] = np.sin(np.arange(2000))
    fisher_score(X, np.arange(n) % 3)
    supervised_laplacian_score(X, targets)

run(np.random.default_rng(0).normal(size=(4000, 10)), 4000)
before = peak()
run(stored(sys.argv[1], memory="32 MiB"), 500_000)
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured in /proc")
@pytest.mark.parametrize("order", ["C", "F"])
def test_peak_memory_is_limited_by_the_pieces(tmp_path, order):
    """A table of 400 MB with 32 MiB for pieces needs much less memory than the table in total."""
    if shutil.disk_usage(tmp_path).free < 2**30:
        pytest.skip("not enough free disk space")
    path = tmp_path / "X.npy"
    X = np.lib.format.open_memmap(
        path, mode="w+", dtype=float, shape=(500_000, 100), fortran_order=order == "F"
    )
    rng = np.random.default_rng(0)
    for place in range(10):
        part = (
            (slice(None), slice(10 * place, 10 * place + 10))
            if order == "F"
            else slice(50_000 * place, 50_000 * (place + 1))
        )
        X[part] = rng.normal(size=X[part].shape)
    del X
    run = subprocess.run(
        [sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True
    )
    assert int(run.stdout) < 250 * 2**10
    path.unlink()

"""Sparse matrices with indices outside their shape, which could crash the process."""

from __future__ import annotations

import io

import numpy as np
import pytest
import scipy.sparse as sp

from graphsieve import GraphSieve, InputError, rank, read_table, scores
from graphsieve.datasets.fetching import DataUnavailableError
from graphsieve.datasets.ready import read_ready
from graphsieve.table.sparse_checks import refuse_unsound

VALUES = np.array(
    [[1.5, 0.0, 3.0, 0.5], [2.25, 1.0, 0.0, 0.0], [0.0, 0.0, 1e-3, 7.0], [7.0, 1.0, 2.0, 0.0]]
)
FORMATS = ("csr", "csc", "bsr", "coo", "lil", "dok", "dia")


def matrix(layout):
    return sp.coo_array(VALUES).asformat(layout)


def broken_pointers(found):
    """Set pointers far beyond the entries, with a last pointer of zero, as in a damaged file."""
    found.indptr = np.array([0, *[2**29] * (len(found.indptr) - 2), 0], dtype=found.indptr.dtype)


def too_many_entries(found):
    found.indptr = found.indptr.copy()
    found.indptr[-1] += 1


def falling_pointers(found):
    found.indptr = found.indptr.copy()
    found.indptr[1] = found.indptr[-1]
    found.indptr[2] = 0


def later_first_pointer(found):
    found.indptr = found.indptr.copy()
    found.indptr[0] = 1


def too_few_pointers(found):
    found.indptr = found.indptr[:-1]


def index_beyond(found):
    found.indices = found.indices.copy()
    found.indices[-1] = 4


def index_below(found):
    found.indices = found.indices.copy()
    found.indices[0] = -1


def few_indices(found):
    found.indices = found.indices[:-1]


def few_values(found):
    found.data = found.data[:-1]


COMPRESSED = [
    broken_pointers,
    too_many_entries,
    falling_pointers,
    later_first_pointer,
    too_few_pointers,
]
COMPRESSED += [index_beyond, index_below, few_indices, few_values]


def coordinate_beyond(found):
    found.coords = (found.coords[0], np.where(np.arange(found.nnz) == 2, 4, found.coords[1]))


def coordinate_below(found):
    found.coords = (np.where(np.arange(found.nnz) == 2, -1, found.coords[0]), found.coords[1])


def few_coordinates(found):
    found.coords = (found.coords[0][:-1], found.coords[1])


def column_beyond(found):
    found.rows[0] = [0, 2, 4]


def few_cells(found):
    found.data[0] = [1.5]


CASES = [(layout, spoil) for layout in ("csr", "csc", "bsr") for spoil in COMPRESSED]
CASES += [
    ("coo", spoil) for spoil in (coordinate_beyond, coordinate_below, few_coordinates, few_values)
]
CASES += [("lil", spoil) for spoil in (column_beyond, few_cells)]


@pytest.mark.parametrize(
    ("layout", "spoil"), CASES, ids=[f"{layout}-{spoil.__name__}" for layout, spoil in CASES]
)
def test_indices_outside_the_matrix_are_refused(layout, spoil):
    fitted = GraphSieve("variance", n_features_to_select=2).fit(VALUES)
    spoilt = matrix(layout)
    spoil(spoilt)
    for call in (
        scores.variance_score,
        scores.laplacian_score,
        GraphSieve().fit,
        rank,
        fitted.transform,
    ):
        with pytest.raises(
            InputError,
            match=r"^X is a sparse matrix with indices that do not fit its shape; build it again",
        ):
            call(spoilt)


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize(
    "values", [VALUES, np.zeros((4, 3)), np.zeros((0, 2))], ids=["some", "no entries", "no rows"]
)
def test_ordinary_matrices_are_sound(layout, values):
    refuse_unsound(
        sp.coo_array(values).asformat(layout)
        if len(values) or layout != "dia"
        else sp.csr_array(values),
        "X",
    )


@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_unused_capacity_is_valid_and_not_modified(layout):
    """The check of scipy would truncate the arrays."""
    oversized = matrix(layout)
    oversized.data, oversized.indices = (
        np.append(oversized.data, [9.0, 9.0]),
        np.append(oversized.indices, [99, -9]),
    )
    np.testing.assert_array_equal(scores.variance_score(oversized), scores.variance_score(VALUES))
    assert (len(oversized.data), len(oversized.indices)) == (VALUES.astype(bool).sum() + 2,) * 2


def npz(spoil):
    found = matrix("csr")
    spoil(found)
    file = io.BytesIO()
    parts = {"data": found.data, "indices": found.indices, "indptr": found.indptr}
    np.savez(file, **parts, shape=np.array(VALUES.shape), format=b"csr", y=[0, 1, 0, 1])
    return file.getvalue()


def test_a_damaged_file_with_such_pointers_is_refused(tmp_path):
    content = npz(broken_pointers)
    with pytest.raises(
        InputError, match="the stream is a sparse matrix with indices that do not fit its shape"
    ):
        read_table(io.BytesIO(content))
    (tmp_path / "one.npz").write_bytes(content)
    with pytest.raises(DataUnavailableError, match="indices that do not fit its shape"):
        read_ready(tmp_path / "one.npz")


def test_blocks_of_dask_with_such_pointers_are_refused():
    dask = pytest.importorskip("dask")
    array = pytest.importorskip("dask.array")
    spoilt = matrix("csr")
    broken_pointers(spoilt)
    X = array.from_delayed(
        dask.delayed(spoilt, traverse=False),
        shape=VALUES.shape,
        dtype=float,
        meta=sp.csr_array((0, 0)),
    )
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(InputError, match="a block of X is a sparse matrix with indices"),
    ):
        scores.variance_score(X)

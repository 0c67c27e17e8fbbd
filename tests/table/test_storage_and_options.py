"""Combinations of storage and options give the result of the dense array in memory.

The table below has all storages and options. The tests run few of their combinations, in which
every storage occurs with every option, and every option with every other one.
"""

from __future__ import annotations

import warnings
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covering import Row, covering_rows, pairs_of
from graphsieve import GraphSieve, stored
from graphsieve._base.errors import GraphSieveWarning
from graphsieve.scores import METHODS
from storages import IN_DASK, IN_FILES, IN_MEMORY, STORAGES

N_SAMPLES, N_FEATURES = 72, 12
TOLERANCE = 1e-9

pytestmark = pytest.mark.usefixtures("one_thread")


# One storage for each way of reading, which is tested with every pair of options
TYPICAL = ("dense", "CSR", "HDF5", "Parquet", "AnnData CSR", "Dask by both", "Dask of CSR")

# ---- options

RANDOM = np.random.default_rng(7)
CLASSES = RANDOM.integers(3, size=N_SAMPLES)
TARGET = RANDOM.normal(size=N_SAMPLES)
SUPERVISION: dict[str, Any] = {
    "labels": CLASSES,
    "few labels": np.where(np.arange(N_SAMPLES) < 12, CLASSES, -1),
    "nothing": None,
    "target": np.where(np.arange(N_SAMPLES) % 3 > 0, TARGET, np.nan),
}
KINDS = {"labels": "labels", "few labels": "labels", "target": "targets"}

FACTORS: dict[str, list[Any]] = {
    "storage": list(STORAGES),
    "method": ["auto", *METHODS],
    "number": [3, "auto", 0.4],
    "redundancy": ["auto", "explain", "correlation", None],
    "supervision": list(SUPERVISION),
    "scale": ["auto", "robust"],
    "metric": ["auto", "cosine"],
    "dtype": ["float64", "float32"],
    "pieces": [False, True],
}


def is_allowed(row: Row) -> bool:
    """Whether the method uses all options. Only files are read either in pieces or completely."""
    return (
        _is_usable(row["method"], KINDS.get(row["supervision"]))
        and (row["metric"] == "auto" or _reads_neighbors(row["method"]))
        and (
            row["scale"] == "auto"
            or row["method"] == "auto"
            or _reads_neighbors(row["method"])
            or row["redundancy"] in ("explain", "correlation")
        )
        and (row["storage"] in IN_FILES or row["pieces"] == (row["storage"] in IN_DASK))
    )


def _reads_neighbors(method: str) -> bool:
    return method != "auto" and METHODS[method].reads_neighbors


def _is_usable(method: str, known: str | None) -> bool:
    if method == "auto":
        return True
    if method == "pearson":  # A correlation needs a target, or two classes.
        return known == "targets"
    uses = METHODS[method].uses
    return known in uses if uses else known is None


@cache
def table(dtype: str) -> np.ndarray:
    """Return a table with zeros and columns of several sizes.

    Most columns are associated with the supervision or with another column. The strengths are in
    no order, so that columns are not selected in the order of the table.
    """
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N_SAMPLES, N_FEATURES)) * rng.uniform(0.5, 4, size=N_FEATURES)
    X[:, 7:9] += 2 * X[:, 2:4]
    X += CLASSES[:, None] * rng.uniform(0, 2, size=N_FEATURES)
    X += TARGET[:, None] * rng.uniform(0, 2, size=N_FEATURES)
    return (X * (rng.random(X.shape) < 0.8)).astype(dtype)


def fitted(X: Any, row: Row) -> GraphSieve:
    sieve = GraphSieve(
        row["method"],
        n_features_to_select=row["number"],
        redundancy=row["redundancy"],
        scale=row["scale"],
        metric=row["metric"],
    )
    with warnings.catch_warnings(), dask.config.set(scheduler="synchronous"):
        warnings.simplefilter("ignore", GraphSieveWarning)
        return sieve.fit(X, SUPERVISION[row["supervision"]])


@cache
def chosen_rows() -> list[Row]:
    return covering_rows(FACTORS, is_allowed)


def rows_with(storage: str) -> list[Row]:
    """Return rows with every pair of options for one storage, in pieces if possible."""
    pieces = storage not in IN_MEMORY
    return covering_rows(FACTORS | {"storage": [storage], "pieces": [pieces]}, is_allowed)


def differences(found: GraphSieve, wanted: GraphSieve) -> list[str]:
    """Return the attributes of two fits that differ."""
    equal = {
        name: getattr(found, name) == getattr(wanted, name)
        for name in ("method_", "reason_", "scale_", "metric_", "n_neighbors_", "n_labeled_")
    }
    equal["ranking_"] = np.array_equal(found.ranking_, wanted.ranking_)
    equal["support"] = np.array_equal(found.get_support(), wanted.get_support())
    for name in (
        "scores_",
        "relevance_",
        "skill_",
        "gain_",
        "redundancy_",
        "closest_",
        "closest_correlation_",
        "bandwidth_",
    ):
        equal[name] = _close(getattr(found, name), getattr(wanted, name))
    if wanted.count_ is None or found.count_ is None:
        equal["count_"] = found.count_ is wanted.count_
    else:
        equal["reason"] = found.count_.reason == wanted.count_.reason
        equal["curve"] = _close(found.count_.curve, wanted.count_.curve)
        equal["errors"] = _close(found.count_.errors, wanted.count_.errors)
    return [name for name, is_equal in equal.items() if not is_equal]


def _close(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    return np.shape(one) == np.shape(other) and np.allclose(
        one, other, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True
    )


def assert_as_in_memory(rows: list[Row], tmp_path: Path) -> None:
    for place, row in enumerate(rows):
        X, folder, storage = table(row["dtype"]), tmp_path / str(place), row["storage"]
        folder.mkdir()
        given_X = STORAGES[storage](X, folder)
        if storage in IN_FILES and row["pieces"]:
            given_X = stored(given_X, memory=5 * X.size)  # of 8 bytes per number
        assert not differences(fitted(given_X, row), fitted(X, row)), row


@pytest.mark.parametrize("storage", STORAGES)
def test_the_result_is_that_of_the_dense_array(storage: str, tmp_path: Path) -> None:
    assert_as_in_memory([row for row in chosen_rows() if row["storage"] == storage], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("storage", TYPICAL)
def test_every_pair_of_options_gives_the_result_of_the_dense_array(
    storage: str, tmp_path: Path
) -> None:
    rows = rows_with(storage)
    assert len(rows) == 64
    assert_as_in_memory(rows, tmp_path)


def test_every_storage_is_tested_with_every_option() -> None:
    """The number of tested rows is close to the least possible number."""
    assert len(STORAGES) * len(FACTORS["method"]) == 304
    assert len(chosen_rows()) == 306
    tested = set().union(*(pairs_of(row) for row in chosen_rows()))
    wanted = {
        (("storage", storage), (factor, value))
        for storage in STORAGES
        for factor in FACTORS.keys() - {"storage", "pieces"}
        for value in FACTORS[factor]
    }
    assert len(wanted) == 19 * (16 + 3 + 4 + 4 + 2 + 2 + 2)
    assert wanted <= tested
    assert {row["storage"] for row in chosen_rows() if row["pieces"]} == {*IN_FILES, *IN_DASK}
    assert {row["storage"] for row in chosen_rows() if not row["pieces"]} == {
        *IN_MEMORY,
        *IN_FILES,
    }


@given(st.lists(st.integers(1, 4), min_size=2, max_size=5), st.integers(0, 6))
def test_every_pair_of_values_is_covered(sizes: list[int], forbidden: int) -> None:
    factors = {f"factor {place}": range(size) for place, size in enumerate(sizes)}
    every = [dict(zip(factors, values, strict=True)) for values in product(*factors.values())]

    def is_possible(row: Row) -> bool:
        return sum(row.values()) != forbidden

    possible = set().union(*(pairs_of(row) for row in every if is_possible(row)))
    chosen = covering_rows(factors, is_possible)
    assert set().union(*(pairs_of(row) for row in chosen)) == possible
    assert all(is_possible(row) for row in chosen)
    assert len(chosen) <= max(1, len(possible))

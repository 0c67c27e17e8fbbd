"""Features that are the target itself, or a one-to-one function of it."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from graphsieve import (
    FloatingSieve,
    GraphSieve,
    GraphSieveWarning,
    HybridSieve,
    IterativeSieve,
    rank,
    stored,
)
from graphsieve.select.leaks import MOST_FEATURES

WORDS = "is a one-to-one function of the target"
MONOTONE = {
    "itself": lambda y: y,
    "another unit": lambda y: (y - 32) / 1.8,
    "reversed": lambda y: 5 - 3 * y,
    "exponential": np.exp,
    "ranks": lambda y: np.argsort(np.argsort(y)),
    "single precision": lambda y: y.astype(np.float32),
    "rounded": lambda y: np.round(y, 2),
    "huge": lambda y: y / np.abs(y).max() * 1.7e308,
}
RENAMED = {
    "itself": [0, 1, 2],
    "other codes": [7, 3, 5],
    "fractions": [0.5, -1.5, 0.25],
}


def told(act):
    """Return the warnings of leaks."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [str(one.message) for one in caught if WORDS in str(one.message)]


def table_with(feature, n_features=4, seed=0):
    X = np.random.default_rng(seed).normal(size=(len(feature), n_features))
    X[:, 2] = feature
    return X


@pytest.mark.parametrize("known", [1.0, 0.4])
@pytest.mark.parametrize("function", MONOTONE)
def test_a_function_of_a_continuous_target_is_named(function, known):
    rng = np.random.default_rng(1)
    y = rng.normal(size=60)
    X = table_with(MONOTONE[function](y))
    hidden = np.where(rng.random(60) < known, y, np.nan)
    method = "pearson" if function != "huge" else "auto"
    for act in (lambda: rank(X, hidden), lambda: GraphSieve(method).fit(X, hidden)):
        assert told(act) == [
            "column 2 is a one-to-one function of the target; leave out what was derived from the "
            "target."
        ]


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, pd.DataFrame])
@pytest.mark.parametrize("values", RENAMED)
@pytest.mark.parametrize(
    "sieve",
    [GraphSieve(), GraphSieve("fisher"), FloatingSieve(), HybridSieve(), IterativeSieve("lsdf")],
)
def test_a_function_of_classes_is_named(sieve, values, container):
    codes = np.arange(45) % 3
    X = container(table_with(np.array(RENAMED[values])[codes]))
    name = "column '2'" if container is pd.DataFrame else "column 2"
    for y in (codes, np.array(["x", "y", "z"])[codes], np.where(np.arange(45) < 30, codes, -1)):
        (text,) = told(lambda y=y: sieve.fit(X, y))
        assert text.startswith(f"{name} is a one-to-one function of the target")


@given(
    n=st.integers(3, 60),
    n_features=st.integers(1, 40),
    n_values=st.integers(2, 5),
    seed=st.integers(0, 2**32 - 1),
    classes=st.booleans(),
)
def test_noise_raises_no_warning(n, n_features, n_values, seed, classes):
    """Features with few values, of few samples, are functions of the target by chance."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, size=(n, n_features)).astype(float)
    y = rng.integers(0, n_values, size=n) if classes else rng.normal(size=n)
    assert told(lambda: GraphSieve().fit(X, y)) == []


def test_noise_on_a_copy_raises_no_warning():
    """The samples that are compared first may hide it, so all samples are compared in the end."""
    rng = np.random.default_rng(0)
    y = np.linspace(0, 1, 5000)
    feature = y.copy()
    feature[[2000, 2001]] = feature[[2001, 2000]]
    order = rng.permutation(5000)
    assert told(lambda: GraphSieve().fit(table_with(feature)[order], y[order])) == []
    assert len(told(lambda: GraphSieve().fit(table_with(y)[order], y[order]))) == 1
    codes = np.arange(5000) % 2
    wrong = codes.copy()
    wrong[2501] = 0
    assert told(lambda: GraphSieve().fit(table_with(wrong), codes)) == []
    assert len(told(lambda: GraphSieve().fit(table_with(codes), codes))) == 1


def test_a_rare_class_counts_too():
    codes = np.zeros(5000, dtype=int)
    codes[[17, 1234, 4000]] = 1
    assert len(told(lambda: GraphSieve().fit(table_with(codes), codes))) == 1


@pytest.mark.parametrize("n_known", [5, 9, 10, 20])
def test_few_known_samples_raise_no_warning(n_known):
    y = np.r_[np.random.default_rng(0).normal(size=n_known), [np.nan] * 30]
    assert len(told(lambda: GraphSieve().fit(table_with(np.nan_to_num(y)), y))) == (n_known > 9)


def test_several_functions_are_counted():
    y = np.random.default_rng(0).normal(size=40)
    X = np.column_stack([table_with(y), -y, np.exp(y)])
    assert told(lambda: rank(X, y))[0].startswith(
        "column 4 is a one-to-one function of the target (one of 3 such features)"
    )


def test_stored_tables_are_read_for_it(tmp_path):
    y = np.random.default_rng(0).normal(size=400)
    X = np.asfortranarray(table_with(y, n_features=MOST_FEATURES + 5))
    np.save(tmp_path / "X.npy", X)
    (text,) = told(lambda: GraphSieve().fit(stored(tmp_path / "X.npy", memory=40_000), y))
    assert text.startswith("column 2 is")


def test_the_warning_is_in_the_ranking():
    y = np.random.default_rng(0).normal(size=40)
    with pytest.warns(GraphSieveWarning, match=WORDS):
        found = rank(table_with(y), y)
    assert any(WORDS in text for text in found.warnings)


def test_a_feature_of_few_subjects_raises_no_warning():
    """Ten subjects, of which the five men are ill, with six measurements each."""
    subject = np.repeat(np.arange(10), 6)
    X = table_with(subject % 2, n_features=8)
    assert not told(lambda: GraphSieve().fit(X, subject % 2, groups=subject))
    assert told(lambda: GraphSieve().fit(X, subject % 2))
    assert told(lambda: GraphSieve().fit(X, subject % 2, groups=np.arange(60)))

"""Bad input to the searches, to label propagation and to compression, as in test_bad_input.py.

`Table`, `Supervision` and the rules for parameters are tested with every odd value in
test_bad_input.py and test_parameters.py. Here every search is tested with one value of each kind,
which shows that it reads its input through them.

The result is sensible (every column at most once, probabilities that sum to one, finite scores), or
an `InputError` of one sentence that names the input. Odd but usable input gives the same result as
its clean equivalent. All arrays are read-only.
"""

from __future__ import annotations

import itertools
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cases import about
from graphsieve import (
    ConstraintConflictError,
    FloatingSieve,
    GraphSieve,
    GraphSieveWarning,
    HybridSieve,
    InputError,
    InputTypeError,
    IterativeSieve,
    Supervision,
    scores,
)
from graphsieve.search import (
    diverse_selection,
    floating_selection,
    hybrid_selection,
    iterative_ranking,
)
from graphsieve.search.hybrid import BASES
from graphsieve.search.propagation import harmonic_labels
from strategies import frozen

NAN, INF = float("nan"), float("inf")


pytestmark = pytest.mark.usefixtures("one_thread")


# --------------------------------------------------------------------------------------------------
# A clean problem, and every entry point
# --------------------------------------------------------------------------------------------------

N, P, NAMES = 24, 5, list("abcde")
RNG = np.random.default_rng(7)
# Multiples of 2**-10 below 2**4: an offset of 2**27 and a power of two as a factor are exact.
X = frozen(
    np.round((RNG.normal(size=(N, P)) + np.outer(np.arange(N) % 2, [3, 0, 0, 1, 2])) * 2**10)
    / 2**10
)
WHOLE = frozen(np.round(X * 20))  # whole numbers that float16 and int8 hold exactly
MOSTLY_ZERO = frozen(np.where(RNG.random((N, P)) < 0.4, X, 0.0))
FEW = frozen(np.where(np.arange(N) % 3 == 0, np.arange(N) % 2, -1))
TARGET = frozen(np.where(np.arange(N) % 5 == 4, NAN, X[:, 0] + X[:, 2] / 2))
BANDWIDTH = 16.0
KNN = KNeighborsClassifier(3)


class Answer(NamedTuple):
    """Result of an entry point: columns, ranks, scores or class probabilities."""

    order: np.ndarray | None = None
    ranking: np.ndarray | None = None
    support: np.ndarray | None = None
    scores: np.ndarray | None = None
    probabilities: np.ndarray | None = None


def of_sieve(sieve):
    return Answer(
        ranking=sieve.ranking_, support=sieve.get_support(), scores=getattr(sieve, "scores_", None)
    )


def diverse(table):
    shape = getattr(table, "shape", ())
    n_features = shape[1] if len(shape) == 2 else P
    path = diverse_selection(np.ones(n_features), table, n_features_to_select=1)
    ranking = np.argsort(path.order) + 1
    return Answer(
        order=path.order, ranking=ranking, support=ranking <= path.n_selected, scores=path.alone
    )


def graph_sieve(how, method="laplacian", **parameters):
    return GraphSieve(
        method, compress=how, n_prototypes=parameters.pop("n_prototypes", 6), **parameters
    )


BY_X = {
    "iterative_ranking": lambda table, _: Answer(
        order=iterative_ranking(table, bandwidth=BANDWIDTH)
    ),
    "iterative_ranking(2)": lambda table, _: Answer(
        order=iterative_ranking(table, variant=2, bandwidth=BANDWIDTH)
    ),
    "IterativeSieve": lambda table, _: of_sieve(
        IterativeSieve(n_features_to_select=0.3).fit(table)
    ),
    "IterativeSieve(2)": lambda table, _: of_sieve(
        IterativeSieve("spec", variant=2, step=0.3, scale="minmax").fit(table)
    ),
    "GraphSieve(som)": lambda table, _: of_sieve(graph_sieve("som").fit(table)),
    "GraphSieve(kmeans)": lambda table, _: of_sieve(graph_sieve("kmeans").fit(table)),
    "GraphSieve(standard, som)": lambda table, _: of_sieve(
        graph_sieve("som", scale="standard").fit(table)
    ),
    "GraphSieve(standard, kmeans)": lambda table, _: of_sieve(
        graph_sieve("kmeans", scale="standard").fit(table)
    ),
    "diverse_selection": lambda table, _: diverse(table),
    "GraphSieve": lambda table, _: of_sieve(GraphSieve().fit(table)),
    "GraphSieve(standard)": lambda table, _: of_sieve(GraphSieve(scale="standard").fit(table)),
}
BY_LABELS = {
    "hybrid_selection": lambda table, y: Answer(
        order=hybrid_selection(table, y, n_features_to_select=1)
    ),
    "hybrid_selection(5)": lambda table, y: Answer(
        order=hybrid_selection(table, y, n_features_to_select=1, n_neighbors=5)
    ),
    "harmonic_labels": lambda table, y: Answer(probabilities=harmonic_labels(table, y)),
    "harmonic_labels(8)": lambda table, y: Answer(
        probabilities=harmonic_labels(table, y, n_neighbors=8)
    ),
    "HybridSieve": lambda table, y: of_sieve(HybridSieve(n_features_to_select=0.3).fit(table, y)),
    "IterativeSieve(lsdf)": lambda table, y: of_sieve(
        IterativeSieve("lsdf", n_features_to_select=0.3).fit(table, y)
    ),
    "GraphSieve(lsdf, som)": lambda table, y: of_sieve(
        graph_sieve("som", "lsdf", n_prototypes=(2, 3)).fit(table, y)
    ),
    "GraphSieve(standard, lsdf, som)": lambda table, y: of_sieve(
        graph_sieve("som", "lsdf", n_prototypes=(2, 3), scale="standard").fit(table, y)
    ),
    "GraphSieve(labels)": lambda table, y: of_sieve(GraphSieve().fit(table, y)),
    "GraphSieve(standard, labels)": lambda table, y: of_sieve(
        GraphSieve(scale="standard").fit(table, y)
    ),
    "GraphSieve(lsdf, correlation)": lambda table, y: of_sieve(
        GraphSieve("lsdf", redundancy="correlation", scale="standard").fit(table, y)
    ),
    "floating_selection": lambda table, y: Answer(
        order=floating_selection(table, y, n_features_to_select=1)
    ),
    "FloatingSieve": lambda table, y: of_sieve(
        FloatingSieve(n_features_to_select=0.5).fit(table, y)
    ),
}
DOORS = BY_X | BY_LABELS
every_door = pytest.mark.parametrize("door", DOORS)
every_door_for_labels = pytest.mark.parametrize("door", BY_LABELS)


class Outcome(NamedTuple):
    answer: Answer
    warned: list[str]


def outcome(run, *arguments, ours=True):
    """Return the result and the warnings.

    Warnings from other libraries and repeated warnings are failures.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer = run(*arguments)
    messages = [str(warning.message) for warning in caught]
    assert not ours or all(issubclass(warning.category, GraphSieveWarning) for warning in caught), (
        messages
    )
    assert len(set(messages)) == len(messages), messages
    return Outcome(answer, sorted(messages))


@cache
def clean_outcome(door, kind="as it is"):
    table = {"as it is": X, "whole": WHOLE, "mostly zero": MOSTLY_ZERO}[kind]
    return outcome(DOORS[door], table, FEW)


def same(found, expected, *, rtol=0.0, atol=0.0):
    """Check that columns, ranks and selections are equal, and numbers nearly equal."""
    for name, mine, theirs in zip(Answer._fields, found, expected, strict=True):
        if theirs is None:
            assert mine is None
        elif theirs.dtype.kind == "f":
            assert_allclose(mine, theirs, rtol=rtol, atol=atol, err_msg=name)
        else:
            assert_array_equal(mine, theirs, err_msg=name)


def check_sensible(door, answer, table, y=FEW):
    """Check the properties that every result must have."""
    n_features = np.shape(table)[1]
    if answer.order is not None:
        assert answer.order.dtype.kind == "i"
        assert 1 <= len(answer.order) <= n_features
        assert len(set(answer.order.tolist())) == len(answer.order)
        assert 0 <= answer.order.min() <= answer.order.max() < n_features
        assert len(answer.order) == n_features or not door.startswith("iterative")
    if answer.ranking is not None:
        places = np.arange(1, n_features + 1)
        n_selected = int(answer.support.sum())
        shared = np.minimum(places, n_selected + 1) if door.startswith("Floating") else places
        assert_array_equal(np.sort(answer.ranking), shared)
        assert_array_equal(answer.support, answer.ranking <= n_selected)
    if answer.scores is not None:
        unscored = np.isnan(answer.scores)
        assert not np.isinf(answer.scores[~unscored]).any()
        assert answer.ranking[unscored].min(initial=n_features + 1) > answer.ranking[~unscored].max(
            initial=0
        )
        constant = (np.asarray(table) == np.asarray(table)[0]).all(axis=0)
        assert unscored[constant].all()
    if answer.probabilities is not None:
        assert answer.probabilities.shape[0] == np.shape(table)[0]
        assert (answer.probabilities >= 0).all()
        assert_allclose(answer.probabilities.sum(axis=1), 1.0, rtol=1e-12)
        known = np.flatnonzero(np.asarray(y) >= 0)
        assert_array_equal(
            answer.probabilities[known].argmax(axis=1),
            np.unique(np.asarray(y)[known], return_inverse=True)[1],
        )
        assert_array_equal(answer.probabilities[known].max(axis=1), 1.0)


def check_sentence(error):
    assert isinstance(error, InputError), repr(error)
    message = str(error)
    assert "\n" not in message, message
    assert message.endswith("."), message
    return message


def attempt(run, *arguments):
    """Return the outcome, or an `InputError` of one sentence. Other errors are raised."""
    try:
        return outcome(run, *arguments)
    except InputError as error:
        return check_sentence(error)


def refused(run, *words, error=InputError):
    """Check for an `InputError` of one sentence that contains all the words. Warnings are ignored."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(error) as raised:
            run()
    messages = [str(w.message) for w in caught]
    assert all(issubclass(w.category, GraphSieveWarning | DataConversionWarning) for w in caught), (
        messages
    )
    message = check_sentence(raised.value)
    assert all(word in message for word in words), message


@every_door
def test_clean_input_is_answered_without_a_warning(door):
    answer, warned = clean_outcome(door)
    check_sensible(door, answer, X)
    assert not warned


# --------------------------------------------------------------------------------------------------
# A and B. Values in X and their containers
# --------------------------------------------------------------------------------------------------


def with_value(value, dtype=object):
    table = X.astype(dtype)
    table[7, 1] = value
    return frozen(table)


FRAME = pd.DataFrame(X, columns=NAMES)
NOT_NUMBERS = {
    "inf": (with_value(INF, float), ["1 inf", "column 1", "row 7"]),
    "inf in CSR": (sp.csr_array(with_value(INF, float)), ["1 inf", "column 1", "row 7"]),
    "inf beside NaN": (
        np.where(np.arange(P) == 3, NAN, with_value(INF, float)),
        ["1 inf", "column 1", "row 7"],
    ),
    "-inf in a frame": (
        FRAME.assign(b=with_value(-INF, float)[:, 1]),
        ["-inf", "column 'b'", "row 7"],
    ),
    "complex": (X + 1j, ["Complex"]),
    "dates": (FRAME.assign(b=pd.date_range("2020-01-01", periods=N)), ["dates", "column 'b'"]),
    "a word": (with_value("seven"), ["text and numbers", "column 1", "'seven' in row 7"]),
    "one row": (X[:1], ["1 sample"]),
    "no columns": (X[:, :0], ["0 feature"]),
    "1-D": (X[:, 0], ["1-D", "2-D"]),
    "ragged": ([*X[:4].tolist(), [1.0]], ["ragged", "row 4"]),
    "nothing": (None, ["X is", "2-D"]),
    "two columns of one name": (pd.DataFrame(X, columns=list("abbde")), ["duplicated", "'b'"]),
    "lazy": (pl.LazyFrame(X, schema=NAMES), [".collect()"]),
}


@every_door
def test_what_is_no_table_of_numbers_is_named(door):
    for kind, (table, words) in NOT_NUMBERS.items():
        with about(kind):
            refused(lambda table=table: DOORS[door](table, FEW), *words)


HOLES = with_value(NAN, float)
HALF = frozen(np.column_stack([X[:, 0], [1.0, NAN, 2.0, NAN] * (N // 4), X[:, 2:]]))
# Missing values, the same table as an array with NaN, and words of the error where they are refused
MISSING = {
    "NaN": (HOLES.tolist(), HOLES, ["1 NaN", "column 1", "row 7"]),
    "NaN in CSR": (sp.csr_array(HOLES), HOLES, ["1 NaN", "column 1", "row 7"]),
    "None": (with_value(None), HOLES, ["1 NaN", "column 1", "row 7"]),
    "null": (
        pl.DataFrame(X, schema=NAMES).with_columns(b=pl.Series([1.0, None, 2.0, None] * (N // 4))),
        HALF,
        [f"{N // 2} NaN", "'b'", "row 1"],
    ),
    "masked": (
        np.ma.array(with_value(1e6, float), mask=np.isnan(HOLES)),
        HOLES,
        ["1 NaN", "column 1", "row 7"],
    ),
}


@every_door
def test_missing_values_are_the_same_in_every_container(door):
    for kind, (table, values, _) in MISSING.items():
        with about(kind):
            expected, warned_by_array = outcome(DOORS[door], values, FEW)
            check_sensible(door, expected, values)
            found, warned = outcome(DOORS[door], table, FEW)
            same(found, expected, rtol=1e-10)
            assert warned == warned_by_array


def memmap_of(values, folder):
    path = folder / "table.bin"
    values.tofile(path)
    return np.memmap(path, dtype=values.dtype, shape=values.shape, mode="r")


def spread(values):
    wide = np.zeros((2 * N, 3 * P))
    wide[::2, ::3] = values
    return frozen(wide)[::2, ::3]


SAME_NUMBERS = {
    "Fortran order": np.asfortranarray,
    "spread": spread,
    "big-endian": lambda table: frozen(table, ">f8"),
    "list": lambda table: table.tolist(),
    "objects": lambda table: frozen(table, object),
    "pandas": lambda table: pd.DataFrame(table, columns=NAMES),
    "nothing masked": np.ma.array,
}


@every_door
def test_what_holds_the_numbers_makes_no_difference(door, tmp_path):
    tables = {holder: make(X) for holder, make in SAME_NUMBERS.items()}
    for holder, table in (tables | {"memmap": memmap_of(X, tmp_path)}).items():
        with about(holder):
            found, warned = outcome(DOORS[door], table, FEW)
            same(found, clean_outcome(door).answer)
            assert not warned


@every_door
def test_the_type_of_the_numbers_makes_no_difference(door):
    for table in (frozen(WHOLE, np.float16), frozen(WHOLE, np.float32), frozen(WHOLE, np.int8)):
        assert_array_equal(table, WHOLE)
        expected = clean_outcome(door, "whole")
        with about(table.dtype):
            found, warned = outcome(DOORS[door], table, FEW)
            same(found, expected.answer)
            assert warned == expected.warned
    found, warned = outcome(DOORS[door], frozen(X > 0.5), FEW)
    expected = outcome(DOORS[door], frozen(X > 0.5, float), FEW)
    same(found, expected.answer)
    assert warned == expected.warned


def untidy(table):
    """CSR with unsorted and duplicate indices and explicit zeros."""
    tidy = sp.coo_array(table)
    row, column = np.r_[tidy.row, tidy.row, 0][::-1], np.r_[tidy.col, tidy.col, 0][::-1]
    data = np.r_[tidy.data / 2, tidy.data / 2, 0.0][::-1]
    order = np.argsort(row, kind="stable")
    return sp.csr_matrix(
        (data[order], column[order], np.searchsorted(row[order], np.arange(N + 1))),
        shape=table.shape,
    )


SPARSE = {"csr": sp.csr_array, "csc": sp.csc_matrix, "untidy": untidy}


@every_door
def test_sparse_tables_give_what_dense_ones_give(door):
    expected = clean_outcome(door, "mostly zero")
    for kind, make in SPARSE.items():
        table = make(MOSTLY_ZERO)
        before = table.copy()
        with about(kind):
            found, warned = outcome(DOORS[door], table, FEW)
            same(found, expected.answer, rtol=1e-10, atol=1e-12)
            assert warned == expected.warned
            assert_array_equal(table.indices, before.indices)
            assert_array_equal(table.data, before.data)


@every_door
def test_zero_has_no_sign(door):
    found, warned = outcome(DOORS[door], frozen(np.where(MOSTLY_ZERO == 0, -0.0, MOSTLY_ZERO)), FEW)
    expected = clean_outcome(door, "mostly zero")
    same(found, expected.answer)
    assert warned == expected.warned


@every_door
def test_integers_beyond_two_to_the_53_are_reported_once(door):
    table = WHOLE.astype(np.int64)
    table[0, 2] = 2**60 + 1
    answer, warned = outcome(DOORS[door], table, FEW)
    check_sensible(door, answer, table)
    assert sum("precision lost in column 2" in message for message in warned) == 1


@pytest.mark.parametrize(
    "sieve", [IterativeSieve(), HybridSieve(), FloatingSieve(), GraphSieve()], ids=repr
)
def test_names_of_columns_come_back_and_are_asked_for(sieve):
    fitted = clone(sieve).set_params(n_features_to_select=2).fit(FRAME, FEW)
    names = fitted.get_feature_names_out()
    assert set(names) < set(NAMES)
    assert_array_equal(fitted.transform(FRAME), FRAME[names])
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(FRAME[NAMES[::-1]])
    with pytest.raises(ValueError, match=r"3 features, but .* expecting 5"):
        clone(fitted).fit(X, FEW).transform(X[:, :3])


# --------------------------------------------------------------------------------------------------
# A and C. Numbers of any size, tables of any shape
# --------------------------------------------------------------------------------------------------

# Their bandwidth is a number, so that units matter
IN_UNITS = ("iterative_ranking", "iterative_ranking(2)")


@pytest.mark.parametrize("door", [door for door in DOORS if door not in IN_UNITS])
def test_the_unit_of_all_numbers_makes_no_difference(door):
    for power in (990, -990):
        with about(f"2**{power}"):
            found, warned = outcome(DOORS[door], frozen(np.ldexp(X, power)), FEW)
            same(found, clean_outcome(door).answer)
            assert not warned


@pytest.mark.parametrize("variant", [1, 2])
def test_a_bandwidth_in_the_unit_of_the_numbers(variant):
    expected = iterative_ranking(X, variant=variant, bandwidth=BANDWIDTH)
    for power in (300, -300):
        table, bandwidth = frozen(np.ldexp(X, power)), BANDWIDTH * 4.0**power
        found = iterative_ranking(table, variant=variant, bandwidth=bandwidth)
        assert_array_equal(found, expected, err_msg=f"2**{power}")


BY_COLUMN = [
    "IterativeSieve",
    "HybridSieve",
    "IterativeSieve(lsdf)",
    "floating_selection",
    "FloatingSieve",
]
BY_COLUMN += [door for door in DOORS if door.startswith("GraphSieve(standard")] + [
    "GraphSieve(lsdf, correlation)"
]


@pytest.mark.parametrize("door", BY_COLUMN)
def test_the_unit_of_each_column_makes_no_difference_where_columns_are_scaled(door):
    found, warned = outcome(DOORS[door], frozen(np.ldexp(X, [990, 0, -990, 27, -300])), FEW)
    same(found, clean_outcome(door).answer)
    assert not warned


@every_door
def test_an_offset_makes_no_difference(door):
    shifted = frozen(X + 2.0**27)
    assert_array_equal(shifted - 2.0**27, X)
    found, warned = outcome(DOORS[door], shifted, FEW)
    # Scaled by a deviation, such columns are rounded to 2**-26
    same(found, clean_outcome(door).answer, rtol=1e-5, atol=1e-7)
    assert not warned


ODD_TABLES = {
    "1e300": X * 1e300,
    "1e-300": X * 1e-300,
    "1e-310": X * 1e-310,
    "1.7e308": X / np.abs(X).max() * 1.7e308,
    "columns of all sizes": X * [1e300, 1.0, 1e-300, 1e8, 1e-8],
    "one outlier of 1e300": np.where(np.arange(N)[:, None] == 1, 1e300, X),
    "one column": X[:, :1],
    "two rows": X[:2],
    "three rows": X[:3],
    "seven rows": X[:7],
    "copies of rows": np.repeat(X[::4], 4, axis=0),
    "copies with other labels": np.repeat(X[:8], 3, axis=0),
    "copies of columns": np.repeat(X, 2, axis=1),
    "constant columns": np.insert(X, [0, 3], [4.0, 0.0], axis=1),
    "all columns but one constant": np.where(np.arange(P) == 2, X, 3.0),
    "constant": np.full((N, P), 1e300),
    "zeros": np.zeros((N, P)),
    "one row over and over": np.repeat(X[:1], N, axis=0),
    "-0.0": np.where(MOSTLY_ZERO == 0, -0.0, MOSTLY_ZERO),
    "more columns than rows": np.tile(X[:6], 8) + np.arange(8 * P) ** 2 * np.arange(6)[:, None] % 7,
}


@every_door
def test_odd_tables_get_a_sensible_answer_or_a_sentence(door):
    for kind, table in ODD_TABLES.items():
        with about(kind):
            check_odd_table(door, frozen(table))


def check_odd_table(door, table):
    y = FEW[: len(table)] if len(table) > 3 else frozen([0, 1, -1][: len(table)])
    varies = (table != table[0]).any()
    found = attempt(DOORS[door], table, y)
    if isinstance(found, str):
        assert "nothing to select" in found
        assert not varies, found  # only then is there nothing to say
        return
    # No spread inside any class, so that the score is infinite by its formula
    infinite = door in BY_LABELS and len(table) == 2
    check_sensible(door, found.answer._replace(scores=None) if infinite else found.answer, table, y)
    # The latter has NaN for such columns, as was checked
    silent = door.startswith(("harmonic", "diverse"))
    assert varies or silent or found.warned, "all is constant, and not a word"


@every_door
def test_constant_columns_come_last_and_are_told_once(door):
    for kind in ("constant columns", "all columns but one constant"):
        with about(kind):
            check_constant_columns(door, frozen(ODD_TABLES[kind]))


def check_constant_columns(door, table):
    constant = np.flatnonzero((table == table[0]).all(axis=0))
    answer, warned = outcome(DOORS[door], table, FEW)
    if answer.order is not None and len(answer.order) == table.shape[1]:
        assert_array_equal(answer.order[-len(constant) :], constant)
    elif answer.order is not None:
        assert not set(answer.order.tolist()) & set(constant.tolist())
    if answer.ranking is not None:
        assert not answer.support[constant].any()
        assert answer.ranking[constant].min() > answer.ranking[
            np.delete(np.arange(table.shape[1]), constant)
        ].max() or (
            door == "FloatingSieve"  # unselected features share one rank
        )
    # They list or score all columns
    if not door.startswith(("harmonic", "hybrid", "floating", "Floating", "Hybrid", "diverse")):
        assert (
            sum(
                str(len(constant)) in message and "cannot be scored" in message
                for message in warned
            )
            == 1
        ), warned


@pytest.mark.parametrize("base", ["fisher", "floating"])
def test_more_columns_asked_for_than_vary_is_said(base):
    table = frozen(ODD_TABLES["constant columns"])

    def by_function(asked):
        return hybrid_selection(table, FEW, n_features_to_select=asked, base=base)

    def by_sieve(asked):
        sieve = HybridSieve(base, n_features_to_select=asked).fit(table, FEW)
        return sieve.get_support(indices=True)

    for run, asked in itertools.product((by_function, by_sieve), (6, 7)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = run(asked)
        said = [str(warning.message) for warning in caught]
        assert {*range(table.shape[1])} - {0, 4} <= set(found.tolist()), (run, asked)
        assert any(str(asked) in message and str(P) in message for message in said), said


@pytest.mark.parametrize(
    "door",
    [
        "iterative_ranking",
        "iterative_ranking(2)",
        "IterativeSieve",
        "GraphSieve(som)",
        "HybridSieve",
    ],
)
def test_copies_of_a_column_stay_in_their_order(door):
    answer, warned = outcome(DOORS[door], frozen(ODD_TABLES["copies of columns"]), FEW)
    order = answer.order if answer.order is not None else np.argsort(answer.ranking)
    assert not warned
    # In a single ranking, copies are adjacent. In rounds, one copy may be dropped earlier, and this
    # is the second one.
    if door.startswith(("Graph", "Hybrid")):
        assert_array_equal(answer.scores[::2], answer.scores[1::2])
        assert_array_equal(order[1::2], order[::2] + 1)
    else:
        place = np.argsort(order)
        assert (place[::2] < place[1::2]).all()


def from_scratch(table, n_neighbors, variant, bandwidth):
    """Compute the Laplacian scores of every round by the public function only.

    Variant 1 drops features. Variant 2 takes the best of all features on the graph of the set.
    """
    all_columns = np.arange(table.shape[1])
    current, dropped = all_columns, []
    while True:
        values = scores.laplacian_score(
            table[:, current], n_neighbors=n_neighbors, bandwidth=bandwidth
        )
        order = current[np.lexsort((values, np.isnan(values)))]
        size = max(1, len(current) - 1)
        dropped.append(order[size:])
        current = np.sort(order[:size])
        if size == 1 or variant == 2:
            return np.concatenate([order[:size], *dropped[::-1]])


NASTY = [
    "1e-300",
    "columns of all sizes",
    "copies of rows",
    "copies of columns",
    "constant columns",
    "seven rows",
    "-0.0",
    "zeros",
]


@pytest.mark.parametrize(
    "kind", [*NASTY, "one outlier of 1e300", "more columns than rows", "1.7e308"]
)
@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
def test_the_rounds_equal_rounds_from_scratch_whatever_the_numbers(kind):
    table = frozen(ODD_TABLES[kind])
    for bandwidth in (1.0, 1e300):
        expected = from_scratch(table, 4, 1, bandwidth)
        found = iterative_ranking(table, n_neighbors=4, bandwidth=bandwidth)
        assert_array_equal(found, expected, err_msg=f"bandwidth={bandwidth}")


@pytest.mark.parametrize(
    "door",
    ["iterative_ranking", "IterativeSieve", "harmonic_labels", "hybrid_selection", "HybridSieve"],
)
def test_too_many_neighbors_are_lowered_and_told_once(door):
    run = {
        "iterative_ranking": lambda k: iterative_ranking(X, n_neighbors=k, bandwidth=BANDWIDTH),
        "IterativeSieve": lambda k: IterativeSieve(n_neighbors=k).fit(X).ranking_,
        "harmonic_labels": lambda k: harmonic_labels(X, FEW, n_neighbors=k),
        "hybrid_selection": lambda k: hybrid_selection(
            X, FEW, n_features_to_select=2, n_neighbors=k
        ),
        "HybridSieve": lambda k: HybridSieve(n_neighbors=k).fit(X, FEW).ranking_,
    }[door]
    found, warned = outcome(run, 10**9)
    assert_array_equal(found, run(N - 1))
    assert len(warned) == 1
    assert f"lowered to {N - 1}" in warned[0]


def test_neighbors_as_used_are_kept():
    with pytest.warns(GraphSieveWarning, match="lowered"):
        assert IterativeSieve(n_neighbors=100).fit(X).n_neighbors_ == N - 1


# --------------------------------------------------------------------------------------------------
# D. Target
# --------------------------------------------------------------------------------------------------

NOT_LABELS = {
    "too short": (FEW[:-1], [str(N), str(N - 1)]),
    "three axes": (np.stack([FEW, FEW], axis=1)[:, :, None], [f"({N}, 2, 1)"]),
    "-1 and 1": (np.where(FEW == 0, -1, 1), ["-1 or 1", "unlabeled=None"]),
    "below -1": (np.where(FEW == 0, -2, FEW), []),
    "dates": (np.arange(N).astype("datetime64[D]"), ["dates"]),
    "sparse": (sp.csr_array(FEW[None]), []),
    "infinite": (np.where(FEW == 0, INF, FEW), ["infinite"]),
    "a number": (3, ["y is a int"]),
    "lists": (np.array([*([[1]] * N), None], dtype=object)[:-1], []),
    "a supervision": (Supervision.from_labels(FEW), ["Supervision"]),
}


NO_LABEL = {"-1": np.full(N, -1), "NaN": np.full(N, NAN), "None": [None] * N, "empty": [""] * N}
# Entry points that need no labels, and their equivalents without labels.
LABELS_OR_NOT = {
    "GraphSieve(labels)": "GraphSieve",
    "GraphSieve(standard, labels)": "GraphSieve(standard)",
}


@every_door_for_labels
def test_what_cannot_be_labels_is_refused(door):
    for kind in NOT_LABELS:
        with about(kind):
            check_no_labels(door, kind)


def check_no_labels(door, kind):
    y, words = NOT_LABELS[kind]
    if kind in ("below -1", "infinite") and (
        door.lower().startswith("floating") or door in LABELS_OR_NOT
    ):
        y = np.where(FEW == 0, -INF, TARGET)  # there, numbers below -1 are a target
        words = ["infinite"]
    if kind == "infinite" and not door.startswith(("hybrid", "harmonic")):
        words = ["infinite"]
    refused(lambda: BY_LABELS[door](X, y), *words)


@pytest.mark.parametrize("door", LABELS_OR_NOT)
def test_without_labels_the_table_alone_decides(door):
    expected = clean_outcome(LABELS_OR_NOT[door]).answer
    found, warned = outcome(BY_LABELS[door], X, None)
    same(found, expected)
    assert not warned
    for y in NO_LABEL.values():
        found, warned = outcome(BY_LABELS[door], X, y)
        same(found, expected)
        assert warned == ["no target known: ranking is unsupervised."]


@pytest.mark.parametrize("door", [door for door in BY_LABELS if door not in LABELS_OR_NOT])
def test_no_label_at_all_is_refused(door):
    refused(lambda: BY_LABELS[door](X, None))
    if door.startswith("hybrid_"):
        needed = "labels of at least 2 classes"
    elif door.startswith(("floating_", "FloatingSieve")):
        needed = "at least 2"  # classes, or different target values
    else:
        by_score = door.startswith(("GraphSieve", "IterativeSieve"))
        needed = "no supervision is available" if by_score else "known"
    for kind, y in NO_LABEL.items():
        with about(kind):
            refused(lambda y=y: BY_LABELS[door](X, y), needed)


@every_door_for_labels
def test_one_class_only_is_refused_or_told(door):
    y = frozen(np.where(FEW == 1, -1, FEW))
    found = attempt(BY_LABELS[door], X, y)
    if isinstance(found, str):
        assert "class" in found or "nothing to select" in found
    else:
        check_sensible(door, found.answer, X, y)
        assert any("class" in message for message in found.warned)


def test_one_class_is_named_as_the_user_wrote_it():
    with pytest.warns(GraphSieveWarning, match=r"class 0\b"):
        harmonic_labels(X, np.where(FEW == 1, -1, FEW))
    with pytest.warns(GraphSieveWarning, match="'ill'"):
        harmonic_labels(X, np.where(FEW == 1, "ill", ""))


@every_door_for_labels
def test_single_members_get_a_sensible_answer_or_a_sentence(door):
    y = frozen(np.where(np.arange(N) < 2, np.arange(N), -1))
    answer, _ = outcome(BY_LABELS[door], X, y)
    check_sensible(door, answer, X, y)


FOR_BASES = {
    "single members": (X, np.where(np.arange(N) < 3, np.arange(N), -1)),
    "one class": (X, np.where(FEW == 1, -1, FEW)),
    "none": (X, np.full(N, -1)),
    "identifiers": (X, np.arange(N)),
    "continuous": (X, TARGET),
    "constant": (np.ones((N, P)), FEW),
    "three rows": (X[:3], np.array([0, 1, -1])),
}


@pytest.mark.parametrize("base", BASES)
def test_every_base_gives_a_sensible_answer_or_a_sentence(base):
    for case in FOR_BASES:
        with about(case):
            check_base(base, case)


def check_base(base, case):
    table, y = FOR_BASES[case]
    for run in (
        lambda: Answer(order=hybrid_selection(table, y, n_features_to_select=2, base=base)),
        lambda: of_sieve(HybridSieve(base).fit(table, y))._replace(scores=None),
    ):
        found = attempt(run)
        if isinstance(found, str):
            # These need a pair of each kind
            assert case != "three rows" or base in ("constraint", "c4")
        else:
            check_sensible("hybrid", found.answer, table)
            assert case not in ("none", "constant")
            assert len(found.warned) <= 4, found.warned


IDENTIFIERS = {
    "whole": np.arange(N),
    "real": X[:, 0] + np.arange(N) / 64,
    "text": np.array([f"id {i}" for i in range(N)]),
}


@pytest.mark.parametrize("door", ["hybrid_selection", "HybridSieve", "IterativeSieve(lsdf)"])
def test_a_target_where_classes_are_needed_is_refused_or_told(door):
    """If every sample has a different class, labels cannot be propagated, which needs a message."""
    for kind, y in IDENTIFIERS.items():
        assert len(np.unique(y)) == N
        found = attempt(BY_LABELS[door], X, frozen(y))
        assert isinstance(found, str) or found.warned, f"{kind}: not a word"


@every_door_for_labels
def test_a_column_of_labels_is_flattened_with_one_warning(door):
    with pytest.warns(DataConversionWarning, match="column-vector") as caught:
        found = BY_LABELS[door](X, FEW[:, None])
    assert len(caught) == 1
    same(found, clean_outcome(door).answer)


TEXT = [None if label < 0 else "ab"[label] for label in FEW]
SAME_LABELS = {
    "floats": np.where(FEW < 0, NAN, FEW),
    "None": [None if label < 0 else int(label) for label in FEW],
    "text": TEXT,
    "empty text": ["" if label is None else label for label in TEXT],
    "pandas": pd.Series(FEW),
    "nullable": pd.Series([None if label < 0 else int(label) for label in FEW], dtype="Int64"),
    "category": pd.Series(TEXT, dtype="category"),
    "polars": pl.Series(TEXT),
    "int8": frozen(FEW, np.int8),
    "list": FEW.tolist(),
    "backwards": frozen(FEW[::-1])[::-1],
}


@every_door_for_labels
def test_labels_of_any_kind_are_labels(door):
    for kind in ("floats", "None", "text", "nullable", "category"):
        with about(kind):
            found, warned = outcome(BY_LABELS[door], X, SAME_LABELS[kind])
            same(found, clean_outcome(door).answer)
            assert not warned


def test_labels_of_any_kind_are_labels_to_an_estimator():
    def run(y):
        return floating_selection(X, y, n_features_to_select=2, estimator=KNN, cv=3)

    expected = run(FEW)
    for kind, y in SAME_LABELS.items():
        assert_array_equal(run(y), expected, err_msg=kind)


def test_mixed_labels_with_an_estimator():
    mixed = [None if label < 0 else (1, "a")[label] for label in FEW]
    found = attempt(
        lambda: floating_selection(X, mixed, n_features_to_select=2, estimator=KNN, cv=3)
    )
    if not isinstance(found, str):
        assert_array_equal(
            found.answer, floating_selection(X, FEW, n_features_to_select=2, estimator=KNN, cv=3)
        )


@pytest.mark.parametrize("unlabeled", [None, -1])
def test_minus_one_is_a_class_if_the_sieve_is_told(unlabeled):
    plus_minus = np.where(np.arange(N) % 2, 1, -1)
    for sieve in (FloatingSieve(unlabeled=unlabeled), HybridSieve(unlabeled=unlabeled)):
        if unlabeled == -1:
            refused(lambda sieve=sieve: sieve.fit(X, plus_minus), "-1 or 1", "unlabeled=None")
        else:
            assert_array_equal(
                sieve.fit(X, plus_minus).ranking_, clone(sieve).fit(X, np.arange(N) % 2).ranking_
            )


@pytest.mark.parametrize(
    "target", [TARGET, TARGET * 1e300, TARGET * 1e-300, TARGET * 1e-310, TARGET.astype(np.float32)]
)
def test_targets_of_any_size_select_the_same(target):
    expected = floating_selection(X, TARGET, n_features_to_select=P)
    assert_array_equal(floating_selection(X, frozen(target), n_features_to_select=P), expected)
    assert_array_equal(
        FloatingSieve(n_features_to_select=P).fit(X, frozen(target)).ranking_[expected],
        np.arange(1, P + 1),
    )


@pytest.mark.parametrize(
    "y", [np.full(N, 2.5), np.r_[2.5, np.full(N - 1, NAN)]], ids=["all equal", "one known"]
)
def test_a_target_that_says_nothing_is_refused(y):
    refused(lambda: floating_selection(X, y, n_features_to_select=1), "target", "2", "got 1")
    refused(lambda: FloatingSieve().fit(X, y), "target", "2", "got 1")


def test_columns_that_vary_only_where_nothing_is_known_come_last():
    table = X.copy()
    table[FEW >= 0, 0] = 1.0
    with pytest.warns(
        GraphSieveWarning,
        match="5 features were requested, but only 4 vary on the labelled samples",
    ):
        assert floating_selection(table, FEW, n_features_to_select=P)[-1] == 0


# --------------------------------------------------------------------------------------------------
# E. Pairs and probabilities
# --------------------------------------------------------------------------------------------------

PAIRS = Supervision.from_pairs(N, [(0, 6), (1, 2)], [(0, 3), (1, 4)])
PROBABILITIES = Supervision.from_probabilities(
    np.where(np.arange(N)[:, None] % 2 == [0, 1], 0.8, 0.2)
)
ABLE = {
    "IterativeSieve": IterativeSieve("constrained_laplacian"),
    "HybridSieve": HybridSieve("constrained_laplacian"),
    "HybridSieve(c4)": HybridSieve("c4"),
    "GraphSieve(som)": graph_sieve("som", "constrained_laplacian"),
    "GraphSieve(kmeans)": graph_sieve("kmeans", "c4"),
    "GraphSieve": GraphSieve(),
    "GraphSieve(published)": GraphSieve(redundancy=None),
    "GraphSieve(c4, explain)": GraphSieve("c4", redundancy="explain"),
}


@pytest.mark.parametrize("name", ABLE)
def test_pairs_that_contradict_labels_are_named(name):
    sieve = clone(ABLE[name])
    apart = Supervision.from_pairs(N, cannot_link=[(0, 6)])
    refused(
        lambda: sieve.fit(X, FEW, supervision=apart),
        "0 and 6",
        "'0'",
        error=ConstraintConflictError,
    )
    together = Supervision.from_pairs(N, must_link=[(0, 1), (1, 3)])
    refused(
        lambda: sieve.fit(X, FEW, supervision=together), "0 = 1 = 3", error=ConstraintConflictError
    )
    assert not hasattr(sieve, "ranking_")


@pytest.mark.parametrize("name", ABLE)
def test_pairs_of_other_samples_are_refused(name):
    refused(
        lambda: clone(ABLE[name]).fit(X, FEW, supervision=Supervision.from_pairs(N + 1, [(0, N)])),
        str(N),
        str(N + 1),
    )
    refused(
        lambda: clone(ABLE[name]).fit(X, FEW, supervision=[(0, 1)]),
        "supervision",
        "list",
        error=InputTypeError,
    )


@pytest.mark.parametrize("name", ABLE)
def test_carried_labels_may_contradict_pairs_without_harm(name):
    apart = Supervision.from_pairs(N, cannot_link=[(i, i + 2) for i in range(1, N - 4, 3)])
    answer, _ = outcome(lambda: of_sieve(clone(ABLE[name]).fit(X, FEW, supervision=apart)))
    check_sensible(name, answer, X)


def test_all_samples_linked_is_told():
    linked = Supervision.from_pairs(N, [(i, i + 1) for i in range(N - 1)])
    with pytest.warns(GraphSieveWarning, match=f"all {N} samples"):
        IterativeSieve("constrained_laplacian").fit(X, supervision=linked)
    with pytest.warns(GraphSieveWarning, match=f"all {N} samples"):
        GraphSieve().fit(X, supervision=linked)


BOTH = Supervision.from_labels(FEW) | Supervision.from_targets(TARGET)
UNUSABLE = {
    "IterativeSieve, pairs": (IterativeSieve("lsdf"), PAIRS, "pairs"),
    "IterativeSieve, probabilities": (IterativeSieve("lsdf"), PROBABILITIES, "probabilities"),
    "IterativeSieve, labels": (IterativeSieve(), Supervision.from_labels(FEW), "labels"),
    "HybridSieve, pairs": (HybridSieve(), PAIRS, "pairs"),
    "HybridSieve, probabilities": (HybridSieve(), PROBABILITIES, "probabilities"),
    "HybridSieve, targets": (HybridSieve(), BOTH, "targets"),
    "HybridSieve(floating), pairs": (HybridSieve("floating"), PAIRS, "pairs"),
    "HybridSieve(floating), probabilities": (
        HybridSieve("floating"),
        PROBABILITIES,
        "probabilities",
    ),
    "HybridSieve(floating), targets": (HybridSieve("floating"), BOTH, "targets"),
    "FloatingSieve, pairs": (FloatingSieve(), PAIRS, "pairs"),
    "FloatingSieve, probabilities": (FloatingSieve(), PROBABILITIES, "probabilities"),
    "FloatingSieve, both": (FloatingSieve(), BOTH, "targets"),
    "GraphSieve, pairs": (graph_sieve("som", "lsdf"), PAIRS, "pairs"),
    "GraphSieve, probabilities": (graph_sieve("som", "auto"), PROBABILITIES, "compress"),
    "GraphSieve(published), probabilities": (
        graph_sieve("som", "auto", redundancy=None),
        PROBABILITIES,
        "compress",
    ),
    "GraphSieve, both": (GraphSieve(), BOTH, "target"),
    "GraphSieve, pairs and probabilities": (GraphSieve(), PAIRS | PROBABILITIES, "pairs"),
    "GraphSieve(correlation), pairs": (
        GraphSieve("fisher", redundancy="correlation"),
        PAIRS,
        "pairs",
    ),
}


@pytest.mark.parametrize("name", UNUSABLE)
@pytest.mark.filterwarnings(
    "ignore:.*disagree with the most probable class:graphsieve.GraphSieveWarning"
)
def test_knowledge_that_cannot_be_used_is_refused_not_ignored(name):
    sieve, knowledge, word = UNUSABLE[name]
    refused(lambda: clone(sieve).fit(X, FEW, supervision=knowledge), word)


def test_probabilities_help_the_one_base_that_uses_them():
    sieve = HybridSieve("weighted_laplacian").fit(X, FEW, supervision=PROBABILITIES)
    check_sensible("hybrid", of_sieve(sieve), X)
    refused(
        lambda: HybridSieve("weighted_laplacian").fit(X, supervision=PROBABILITIES),
        "labels",
        "known",
    )


# --------------------------------------------------------------------------------------------------
# F. Parameters
# --------------------------------------------------------------------------------------------------

# One wrong value of each kind: test_parameters.py has them all, for the rules themselves.
MATRIX = np.eye(3)
COUNT = [0, True, NAN, "3", 2.5]
POSITIVE = [0, True, INF, "1"]
FRACTION = [0, 1.1, True, "all", None]
N_SELECTED = [0, P + 1, True, "2", 1.5]
PROGRESS = ["yes", 1]
MAPPING = ["x", [], 3]
WORD = [3, MATRIX, "nonsense"]
ESTIMATOR = ["knn", KNeighborsClassifier, MATRIX, StandardScaler()]
CV = [0, 1, True, "five", 3.5, [], MATRIX, 10**6]
SCORING = ["acuracy", 3, MATRIX]

FUNCTIONS = {
    "iterative_ranking": (
        lambda **given: iterative_ranking(X, **given),
        {
            "n_features_to_select": [*N_SELECTED, None, 0.5],
            "step": [0, -1, True, INF, "1", None, 1.0, 1.5],
            "variant": [0, 3, True, "1", None, 1.5],
            "n_neighbors": [*COUNT, None, "auto"],
            "bandwidth": [*POSITIVE, None, "auto"],
        },
    ),
    "hybrid_selection": (
        lambda **given: hybrid_selection(X, FEW, **({"n_features_to_select": 2} | given)),
        {
            "n_features_to_select": [*N_SELECTED, None, 0.5],
            "base": [*WORD, None, "laplacian"],
            "n_iterations": [*COUNT, None],
            "confident_fraction": FRACTION,
            "n_neighbors": COUNT,
            "bandwidth": [*POSITIVE, None],
            "base_params": MAPPING,
            "progress": PROGRESS,
        },
    ),
    "floating_selection": (
        lambda **given: floating_selection(X, FEW, **({"n_features_to_select": 2} | given)),
        {
            "n_features_to_select": [*N_SELECTED, None, 0.5],
            "estimator": ESTIMATOR,
            "ridge": [*POSITIVE, None],
            "progress": PROGRESS,
        },
    ),
    "diverse_selection": (
        lambda **given: diverse_selection(np.ones(P), X, **({"n_features_to_select": 2} | given)),
        {
            "n_features_to_select": [*N_SELECTED, None, 0.5, "auto"],
            "form": [*WORD, None, "auto"],
            "targets": [
                3,
                True,
                "target",
                MATRIX,
                TARGET,
                [[1.0], [2.0, 3.0]],
                X[:, :1] * 1j,
                ["1.5"] * N,
                np.zeros(N, "M8[D]"),
            ],
            "target_share": [-0.1, 1.1, True, NAN, "all", None, MATRIX],
            "progress": PROGRESS,
        },
    ),
    "diverse_selection(scores)": (
        lambda **given: diverse_selection(given["scores"], X, n_features_to_select=2),
        {
            "scores": [
                3,
                True,
                None,
                "best",
                MATRIX,
                np.ones(P - 1),
                -np.ones(P),
                [INF] * P,
                np.ones(P) * 1j,
                list(NAMES),
                ["1.5"] * P,
            ]
        },
    ),
    "floating_selection(knn)": (
        lambda **given: floating_selection(X, FEW, n_features_to_select=2, estimator=KNN, **given),
        {"scoring": SCORING, "cv": CV, "ridge": [*POSITIVE, None]},
    ),
    "hybrid_selection(floating)": (
        lambda **given: hybrid_selection(
            X, FEW, n_features_to_select=2, base="floating", base_params=given
        ),
        {"estimator": ESTIMATOR, "ridge": [*POSITIVE, None]},
    ),
    "harmonic_labels": (
        lambda **given: harmonic_labels(X, FEW, **given),
        {"n_neighbors": [*COUNT, "auto"], "bandwidth": [*POSITIVE, None]},
    ),
}


def fitting(sieve, y=FEW):
    return lambda **given: clone(sieve).set_params(**given).fit(X, y)


SIEVE_RULES = {
    "n_features_to_select": [*N_SELECTED, 0.0, -0.5],
    "scale": [*WORD, "standart"],
    "unlabeled": ["no", 1.5, True, NAN],
    "missing": [*WORD, None, True, NAN, "drop", "Refuse"],
}
GRAPH_SIEVE_RULES = SIEVE_RULES | {
    "method": [*WORD, None, "iterative", "floating"],
    "redundancy": [*WORD, 0, False, "none", "Explain", MATRIX],
    "max_features": [*COUNT, "auto", 0.5],
    "metric": [*WORD, None, "manhattan"],
    "target_type": [*WORD, None],
    "n_neighbors": [*COUNT, None],
    "bandwidth": [*POSITIVE, None],
    "method_params": MAPPING,
    "compress": [*WORD, "none", "SOM"],
    "n_prototypes": [*COUNT, (2,), (2, 2)],
    "progress": PROGRESS,
}
SIEVES = {
    "GraphSieve": (fitting(GraphSieve()), GRAPH_SIEVE_RULES),
    "GraphSieve(laplacian)": (fitting(GraphSieve("laplacian")), GRAPH_SIEVE_RULES),
    "IterativeSieve": (
        fitting(IterativeSieve()),
        SIEVE_RULES
        | {
            "method": [*WORD, None, "auto", "diverse", "fisher"],
            "step": [0, True, "1", None, 1.0],
            "variant": [0, 3, True, "1", None],
            "n_neighbors": [*COUNT, None],
            "bandwidth": [*POSITIVE, None],
            "target_type": [*WORD, None],
            "method_params": MAPPING,
            "progress": PROGRESS,
        },
    ),
    "HybridSieve": (
        fitting(HybridSieve()),
        SIEVE_RULES
        | {
            "base": [*WORD, None, "laplacian", "auto", "diverse"],
            "n_iterations": [*COUNT, None],
            "confident_fraction": FRACTION,
            "n_neighbors": [*COUNT, "auto"],
            "bandwidth": [*POSITIVE, None],
            "base_params": MAPPING,
            "progress": PROGRESS,
        },
    ),
    "FloatingSieve": (
        fitting(FloatingSieve()),
        {
            "n_features_to_select": SIEVE_RULES["n_features_to_select"],
            "unlabeled": SIEVE_RULES["unlabeled"],
            "missing": SIEVE_RULES["missing"],
            "estimator": ESTIMATOR,
            "ridge": [*POSITIVE, None],
            "target_type": [*WORD, None],
            "progress": PROGRESS,
        },
    ),
    "FloatingSieve(knn)": (
        fitting(FloatingSieve(KNN)),
        {"scoring": SCORING, "cv": CV, "ridge": [2.0, 0, NAN, MATRIX]},
    ),
    "GraphSieve(compress)": (
        fitting(GraphSieve("laplacian", compress="som")),
        {
            "compress": [*WORD, "none", "SOM"],
            "n_prototypes": [*COUNT, (2,), (2, 2, 2), (2.5, 2), (0, 3), (True, 2), (), {}],
        },
    ),
    "GraphSieve(kmeans)": (
        fitting(GraphSieve("lsdf", compress="kmeans")),
        {"n_prototypes": [*COUNT, (2, 2), [2, 2], (2,)]},
    ),
    "GraphSieve(nothing to compress)": (
        fitting(GraphSieve("lsdf", compress="som"), np.arange(N) % 2),
        {"n_prototypes": [*COUNT, (2,), (0, 3)]},
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS | SIEVES)
def test_a_bad_parameter_is_refused_by_its_name(name):
    run, rules = (FUNCTIONS | SIEVES)[name]
    for parameter, values in rules.items():
        for value in values:
            with about(f"{parameter}={value!r}"):
                check_bad_parameter(run, parameter, value)


def check_bad_parameter(run, parameter, value):
    # Words in messages that may replace the name of the parameter.
    called = {
        "n_prototypes": ("n_prototypes", "map"),
        "method": ("method",),
        "estimator": ("estimator", "StandardScaler"),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        with pytest.raises(InputError) as raised:
            run(**{parameter: value})
    message = check_sentence(raised.value)
    assert any(word in message for word in called.get(parameter, (parameter,))), message


MISSPELT = {
    "base": (lambda: hybrid_selection(X, FEW, n_features_to_select=2, base="fischer"), "'fisher'"),
    "HybridSieve base": (lambda: HybridSieve("floatin").fit(X, FEW), "'floating'"),
    "base_params": (
        lambda: hybrid_selection(
            X, FEW, n_features_to_select=2, base="relieff", base_params={"n_neigbors": 3}
        ),
        "'n_neighbors'",
    ),
    "floating base_params": (
        lambda: hybrid_selection(
            X, FEW, n_features_to_select=2, base="floating", base_params={"estimater": KNN}
        ),
        "'estimator'",
    ),
    "HybridSieve base_params": (
        lambda: HybridSieve("floating", base_params={"rigde": 2.0}).fit(X, FEW),
        "'ridge'",
    ),
    "method": (lambda: IterativeSieve("laplacain").fit(X), "'laplacian'"),
    "method_params": (
        lambda: IterativeSieve("lsdf", method_params={"same_clas_weight": 3.0}).fit(X, FEW),
        "'same_class_weight'",
    ),
    "scale": (lambda: HybridSieve(scale="standart").fit(X, FEW), "'standard'"),
    "target_type": (lambda: FloatingSieve(target_type="clases").fit(X, FEW), "'classes'"),
    "compress": (lambda: GraphSieve("laplacian", compress="kmean").fit(X), "'kmeans'"),
    "missing": (lambda: IterativeSieve(missing="refuze").fit(X), "'refuse'"),
    "GraphSieve": (lambda: GraphSieve("divers").fit(X), "'diverse'"),
    "GraphSieve scale": (lambda: GraphSieve(scale="robus").fit(X), "'robust'"),
    "redundancy": (lambda: GraphSieve(redundancy="explian").fit(X), "'explain'"),
    "metric": (lambda: GraphSieve("laplacian", metric="cosin").fit(X), "'cosine'"),
    "form": (
        lambda: diverse_selection(np.ones(P), X, n_features_to_select=1, form="corelation"),
        "'correlation'",
    ),
}


def test_the_nearest_name_is_suggested():
    for name, (run, suggestion) in MISSPELT.items():
        with about(name):
            refused(run, f"did you mean {suggestion}?")


NOT_ITS_OWN = {
    "scoring": (
        lambda: floating_selection(X, FEW, n_features_to_select=2, scoring="accuracy"),
        ["scoring", "estimator"],
    ),
    "cv": (lambda: floating_selection(X, FEW, n_features_to_select=2, cv=3), ["cv", "estimator"]),
    "a splitter": (
        lambda: floating_selection(X, FEW, n_features_to_select=2, cv=KFold(3)),
        ["cv", "estimator"],
    ),
    "splits": (
        lambda: floating_selection(X, FEW, n_features_to_select=2, cv=np.ones((2, 2))),
        ["cv", "estimator"],
    ),
    "FloatingSieve cv": (lambda: FloatingSieve(cv=3).fit(X, FEW), ["cv", "estimator"]),
    "ridge": (
        lambda: floating_selection(X, FEW, n_features_to_select=2, estimator=KNN, ridge=2.0),
        ["ridge", "estimator"],
    ),
    "FloatingSieve ridge": (
        lambda: FloatingSieve(KNN, ridge=0.5).fit(X, FEW),
        ["ridge", "estimator"],
    ),
    "base_params": (
        lambda: HybridSieve(base_params={"ridge": 2.0}).fit(X, FEW),
        ["fisher", "ridge"],
    ),
    "base ridge": (
        lambda: HybridSieve("floating", base_params={"ridge": 2.0, "estimator": KNN}).fit(X, FEW),
        ["ridge"],
    ),
    "base cv": (
        lambda: HybridSieve("floating", base_params={"cv": 3}).fit(X, FEW),
        ["cv", "estimator"],
    ),
    "method without a graph": (
        lambda: IterativeSieve("fisher").fit(X, FEW),
        ["fisher", "graph", "lsdf"],
    ),
    "bandwidth": (
        lambda: IterativeSieve("lsdf", bandwidth=2.0).fit(X, FEW),
        ["lsdf", "bandwidth", "2.0"],
    ),
    "method_params": (
        lambda: IterativeSieve(method_params={"n_neighbors": 3}).fit(X),
        ["n_neighbors", "n_neighbors="],
    ),
    "n_prototypes": (
        lambda: GraphSieve("laplacian", n_prototypes=3).fit(X),
        ["n_prototypes=3", "compress"],
    ),
    "compress": (
        lambda: GraphSieve("fisher", compress="som").fit(X, FEW),
        ["fisher", "compress", "'som'"],
    ),
    "compress, published": (
        lambda: GraphSieve(compress="kmeans", redundancy=None).fit(X, np.arange(N) % 2),
        ["fisher", "compress", "'kmeans'"],
    ),
    "compress, automatic": (
        lambda: GraphSieve(compress="kmeans").fit(X, FEW),
        ["compress", "method='auto'", "'kmeans'"],
    ),
    "n_prototypes, automatic": (
        lambda: GraphSieve(n_prototypes=(2, 3)).fit(X, FEW),
        ["n_prototypes", "method='auto'", "(2, 3)"],
    ),
    "n_neighbors, automatic": (
        lambda: GraphSieve(n_neighbors=3).fit(X, FEW),
        ["n_neighbors", "method='auto'", "got 3"],
    ),
    "bandwidth, automatic": (
        lambda: GraphSieve(bandwidth=2.5).fit(X, FEW),
        ["bandwidth", "method='auto'", "got 2.5"],
    ),
    "metric, automatic": (
        lambda: GraphSieve(metric="cosine").fit(X, FEW),
        ["metric", "method='auto'", "'cosine'"],
    ),
    "method_params, automatic": (
        lambda: GraphSieve(method_params={"label_weight": 2.0}).fit(X, FEW),
        ["method_params", "method='auto'", "label_weight"],
    ),
    "metric": (
        lambda: GraphSieve("fisher", metric="cosine").fit(X, FEW),
        ["fisher", "metric", "'cosine'"],
    ),
    "metric, published": (
        lambda: GraphSieve(metric="euclidean", redundancy=None).fit(X, np.arange(N) % 2),
        ["fisher", "metric", "'euclidean'"],
    ),
    "metric of prototypes": (
        lambda: GraphSieve("laplacian", metric="cosine", compress="som").fit(X),
        ["compress='som'", "metric"],
    ),
    "no redundancy": (
        lambda: GraphSieve("diverse", redundancy=None).fit(X),
        ["'diverse'", "redundancy", "None"],
    ),
    "other redundancy": (
        lambda: GraphSieve("diverse", redundancy="correlation").fit(X),
        ["'diverse'", "'correlation'"],
    ),
    "max_features": (
        lambda: GraphSieve(n_features_to_select=4, max_features=3).fit(X),
        ["n_features_to_select is 4", "max_features allows 3"],
    ),
    "targets": (
        lambda: diverse_selection(
            np.ones(P), X, n_features_to_select=1, form="correlation", targets=X[:, 0]
        ),
        ["targets", "form='correlation'"],
    ),
    "a lattice": (
        lambda: GraphSieve("laplacian", compress="kmeans", n_prototypes=(2, 3)).fit(X),
        ["(2, 3)", "k-means"],
    ),
}


@pytest.mark.parametrize("name", NOT_ITS_OWN)
def test_a_parameter_that_does_not_apply_is_refused_not_ignored(name):
    run, words = NOT_ITS_OWN[name]
    refused(run, *words)


@pytest.mark.parametrize("number", [np.int8, np.uint64])
def test_numbers_of_numpy_are_numbers(number):
    k, two = number(3), number(2)
    one, other = (
        iterative_ranking(X, n_neighbors=k, step=two, variant=two),
        iterative_ranking(X, n_neighbors=3, step=2, variant=2),
    )
    assert_array_equal(one, other)
    assert_array_equal(
        hybrid_selection(
            X,
            FEW,
            n_features_to_select=two,
            n_iterations=k,
            n_neighbors=k,
            confident_fraction=np.float32(0.5),
        ),
        hybrid_selection(
            X, FEW, n_features_to_select=2, n_iterations=3, n_neighbors=3, confident_fraction=0.5
        ),
    )
    assert_array_equal(
        GraphSieve("laplacian", compress="som", n_prototypes=(two, k)).fit(X).scores_,
        GraphSieve("laplacian", compress="som", n_prototypes=[2, 3]).fit(X).scores_,
    )
    assert_array_equal(
        GraphSieve(n_features_to_select=k, max_features=k).fit(X, FEW).get_support(),
        GraphSieve(n_features_to_select=3, max_features=3).fit(X, FEW).get_support(),
    )
    assert_array_equal(
        GraphSieve(max_features=number(1)).fit(X).get_support(),
        GraphSieve(n_features_to_select=1).fit(X).get_support(),
    )
    assert floating_selection(X, FEW, n_features_to_select=two, ridge=number(4)).tolist() == (
        floating_selection(X, FEW, n_features_to_select=2, ridge=4.0).tolist()
    )


@pytest.mark.parametrize("kind", ["columns", "copies of columns", "more columns than rows"])
def test_any_ridge_selects_as_many_as_asked_for(kind):
    table = frozen(ODD_TABLES.get(kind, X))
    y = (np.arange(len(table)) // 2) % 2
    wanted = min(8, table.shape[1])
    for ridge in (1e-8, 1e-6, 1e12, 1e300):
        found = floating_selection(table, y, n_features_to_select=wanted, ridge=ridge)
        assert len(set(found.tolist())) == wanted, ridge


def test_a_small_ridge_knows_the_one_column_that_is_the_target():
    """With n columns or more, a tiny ridge fits everything. The held-out samples must still
    determine the column.
    """
    table = frozen(np.c_[RNG.normal(size=(N, 3)), X[:, 0]])
    for ridge in (1e-8, 1e-6):
        assert floating_selection(table, X[:, 0], n_features_to_select=1, ridge=ridge).tolist() == [
            3
        ]


@pytest.mark.parametrize("ridge", [5e-324, 1e-20, 9e-9])
def test_a_ridge_that_rounding_would_swallow_is_refused(ridge):
    refused(
        lambda: floating_selection(X, FEW, n_features_to_select=2, ridge=ridge),
        "ridge",
        "1e-08",
        repr(ridge),
    )


@pytest.mark.parametrize("n_neighbors", [None, 1, 5])
@pytest.mark.filterwarnings(
    "ignore:.*components of the graph without any label:graphsieve.GraphSieveWarning"
)
@pytest.mark.filterwarnings(
    "ignore:no unlabelled sample has a most likely class:graphsieve.GraphSieveWarning"
)
def test_any_bandwidth_carries_labels(n_neighbors):
    for bandwidth in (1e-300, 5e-324, 1e300, 1.7e308):
        with about(f"bandwidth={bandwidth}"):
            given = {"n_neighbors": n_neighbors, "bandwidth": bandwidth}
            found = harmonic_labels(X, FEW, **given)
            check_sensible("harmonic", Answer(probabilities=found), X)
            order = hybrid_selection(X, FEW, n_features_to_select=2, **given)
            check_sensible("hybrid", Answer(order=order), X)


@pytest.mark.parametrize("how", ["som", "kmeans"])
@pytest.mark.parametrize("size", [2, 3, N - 1])
def test_any_number_of_prototypes_scores(how, size):
    sieve = GraphSieve("laplacian", compress=how, n_prototypes=size)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sieve.fit(X)
    assert 1 <= sieve.n_prototypes_ <= size
    check_sensible("Graph", of_sieve(sieve), X)
    assert not any("lowered to 0" in str(w.message) for w in caught), [
        str(w.message) for w in caught
    ]


@pytest.mark.parametrize(("how", "size"), [("som", 1), ("som", (1, 1)), ("kmeans", 1)])
def test_a_single_prototype_makes_no_graph_unless_samples_are_kept(how, size):
    refused(
        lambda: GraphSieve("laplacian", compress=how, n_prototypes=size).fit(X),
        "n_prototypes",
        "single prototype",
    )
    assert GraphSieve("lsdf", compress=how, n_prototypes=size).fit(X, FEW).n_prototypes_ == 1


@pytest.mark.parametrize("how", ["som", "kmeans"])
@pytest.mark.parametrize("size", [N, 10**18])
def test_as_many_prototypes_as_samples_compress_nothing(how, size):
    with pytest.warns(
        GraphSieveWarning, match=f"nothing to compress: {size} prototypes were requested"
    ):
        sieve = GraphSieve("laplacian", compress=how, n_prototypes=size).fit(X)
    assert sieve.n_prototypes_ == 0
    assert_array_equal(sieve.scores_, GraphSieve("laplacian").fit(X).scores_)


@pytest.mark.parametrize("how", ["som", "kmeans"])
def test_prototypes_of_one_repeated_row_are_told_in_words_of_samples(how):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sieve = GraphSieve("laplacian", compress=how).fit(np.repeat(X[:1], N, axis=0))
    assert np.isnan(sieve.scores_).all()
    assert not sieve.get_support().any()
    messages = [str(w.message) for w in caught]
    assert any("cannot be scored" in message for message in messages)
    assert not any("only 1 samples" in message for message in messages), messages  # there are N


# --------------------------------------------------------------------------------------------------
# F. The life of a sieve
# --------------------------------------------------------------------------------------------------

LIVES = {
    "IterativeSieve": IterativeSieve(n_features_to_select=2, step=2),
    "IterativeSieve(lsdf)": IterativeSieve("lsdf", method_params={"same_class_weight": 10.0}),
    "HybridSieve": HybridSieve(n_features_to_select=2),
    "HybridSieve(floating)": HybridSieve(
        "floating", n_features_to_select=2, base_params={"ridge": 2.0}
    ),
    "FloatingSieve": FloatingSieve(n_features_to_select=2),
    "FloatingSieve(knn)": FloatingSieve(
        KNeighborsClassifier(1), cv=KFold(3), scoring="accuracy", n_features_to_select=2
    ),
    "GraphSieve(som)": GraphSieve(
        "laplacian", compress="som", n_prototypes=(2, 3), n_features_to_select=2
    ),
    "GraphSieve(kmeans)": GraphSieve("lsdf", compress="kmeans", n_features_to_select=2),
    "GraphSieve": GraphSieve(n_features_to_select=2),
    "GraphSieve(published)": GraphSieve(
        n_features_to_select=2, redundancy=None, scale="robust", metric="cosine"
    ),
    "GraphSieve(lsdf, correlation)": GraphSieve(
        "lsdf", redundancy="correlation", n_features_to_select=2, max_features=2
    ),
}
every_life = pytest.mark.parametrize("name", LIVES)


def same_state(one, other):
    """Compare all fitted attributes as bytes."""
    mine, theirs = vars(one), vars(other)
    assert set(mine) == set(theirs)
    for key in mine:
        assert pickle.dumps(mine[key]) == pickle.dumps(theirs[key]), key


@every_life
def test_parameters_go_round(name):
    sieve = LIVES[name]
    copy = clone(sieve)
    assert repr(copy.get_params(deep=False)) == repr(sieve.get_params(deep=False))
    assert type(sieve)(**sieve.get_params(deep=False)).get_params(deep=False) == sieve.get_params(
        deep=False
    )
    assert copy.set_params(n_features_to_select=3).get_params()["n_features_to_select"] == 3
    fitted = clone(sieve).fit(X, FEW)
    assert repr(fitted.get_params(deep=False)) == repr(sieve.get_params(deep=False))
    with pytest.raises(ValueError, match="n_featurs"):
        copy.set_params(n_featurs=3)


@every_life
def test_a_bad_parameter_is_no_error_before_fit(name):
    sieve = clone(LIVES[name]).set_params(n_features_to_select="many")
    clone(sieve)
    repr(sieve)
    refused(lambda: sieve.fit(X, FEW), "n_features_to_select", "'many'")


@every_life
def test_a_second_fit_replaces_everything(name):
    other, labels = (
        frozen(RNG.normal(size=(30, 7))),
        frozen(np.where(np.arange(30) % 2, -1, np.arange(30) // 2 % 3)),
    )
    again = clone(LIVES[name]).fit(FRAME, FEW).fit(other, labels)
    same_state(again, clone(LIVES[name]).fit(other, labels))
    assert not hasattr(again, "feature_names_in_")
    assert again.transform(other).shape == (30, 2 if again.n_features_to_select == 2 else 3)


# The last two change a parameter.
FAILURES = {
    "inf": lambda sieve: sieve.fit(with_value(INF, float), FEW),
    "wrong length": lambda sieve: sieve.fit(X, supervision=Supervision.from_labels(FEW[:-1])),
    "names": lambda sieve: sieve.fit(pd.DataFrame(X, columns=["a", "a", "b", "c", "d"]), FEW),
    "mixed names": lambda sieve: sieve.fit(pd.DataFrame(X, columns=["a", 1, 2, 3, 4]), FEW),
    "supervision": lambda sieve: sieve.fit(X, FEW, supervision="pairs"),
    "too many": lambda sieve: sieve.set_params(n_features_to_select=50).fit(X, FEW),
    "constant": lambda sieve: sieve.set_params(n_features_to_select=1).fit(np.ones((N, 3)), FEW),
}


def found_by(sieve):
    """Return all fitted attributes as bytes."""
    return {
        key: pickle.dumps(value)
        for key, value in vars(sieve).items()
        if key.endswith("_") or key[0] == "_"
    }


@every_life
def test_a_fit_that_fails_leaves_the_earlier_one_whole(name):
    sieve = clone(LIVES[name]).fit(FRAME, FEW)
    before, selected = found_by(sieve), sieve.transform(FRAME)
    for failure, fit in FAILURES.items():
        with about(failure):
            refused(lambda fit=fit: fit(sieve))
            assert found_by(sieve) == before
            assert_array_equal(sieve.transform(FRAME), selected)


@every_life
def test_missing_values_are_named_where_they_are_refused(name):
    sieve = clone(LIVES[name]).set_params(missing="refuse").fit(FRAME, FEW)
    before = found_by(sieve)
    for kind, (table, _, words) in MISSING.items():
        with about(kind):
            refused(lambda table=table: sieve.fit(table, FEW), *words, "impute or drop them")
            assert found_by(sieve) == before
    same_state(
        clone(LIVES[name]).set_params(missing="use").fit(HOLES, FEW),
        clone(LIVES[name]).fit(HOLES, FEW),
    )


@pytest.mark.slow
def test_eight_threads_do_not_meet():
    tables = [frozen(np.roll(X, shift, axis=0) * (1 + shift)) for shift in range(8)]
    jobs = [(name, table) for table in tables for name in LIVES]

    def run(job):
        return clone(LIVES[job[0]]).fit(job[1], FEW).ranking_

    expected = [run(job) for job in jobs]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(run, jobs))
    for job, mine, theirs in zip(jobs, found, expected, strict=True):
        assert_array_equal(mine, theirs, err_msg=job[0])


def test_warnings_of_rounds_reach_the_thread_they_belong_to():
    """Warnings held back by the rounds of one thread must not hide those of another thread."""

    # Catching warnings affects the whole process, so the threads do not catch any. The filters of
    # the caller apply.
    with warnings.catch_warnings(record=True) as caught, ThreadPoolExecutor(8) as pool:
        warnings.simplefilter("always")
        found = list(
            pool.map(lambda k: IterativeSieve(n_neighbors=k).fit(X).n_neighbors_, range(N, N + 8))
        )
    assert found == [N - 1] * 8
    messages = [str(w.message) for w in caught]
    assert all(
        sum(f"n_neighbors={k} is lowered" in message for message in messages) == 1
        for k in range(N, N + 8)
    ), messages


@every_door
def test_nothing_given_is_changed(door):
    table, y = X.copy(), FEW.copy()
    DOORS[door](table, y)
    assert_array_equal(table, X)
    assert_array_equal(y, FEW)
    frame, series = FRAME.copy(), pd.Series(FEW.copy(), index=np.arange(N) * 2)
    DOORS[door](frame, series)
    pd.testing.assert_frame_equal(frame, FRAME)
    assert_array_equal(series, FEW)


def test_parameters_given_as_dicts_and_estimators_are_left_alone():
    base_params, estimator = {"n_neighbors": 3}, KNeighborsClassifier(2)
    hybrid_selection(X, FEW, n_features_to_select=2, base="relieff", base_params=base_params)
    HybridSieve("relieff", base_params=base_params).fit(X, FEW)
    floating_selection(X, FEW, n_features_to_select=2, estimator=estimator, cv=3)
    FloatingSieve(estimator, cv=3).fit(X, FEW)
    assert base_params == {"n_neighbors": 3}
    assert not hasattr(estimator, "classes_")


# --------------------------------------------------------------------------------------------------
# Many rounds: warnings, interruptions, estimators that fail
# --------------------------------------------------------------------------------------------------

WIDE = frozen(np.random.default_rng(3).normal(size=(12, 40)))
WIDE_LABELS = frozen(np.where(np.arange(12) < 4, np.arange(12) % 2, -1))
NOISY = {
    "few edges": lambda: iterative_ranking(WIDE * 1e9),
    "few edges, both ways": lambda: iterative_ranking(WIDE * 1e9, variant=2),
    "two rows": lambda: IterativeSieve(n_neighbors=50).fit(WIDE[:2]),
    "lowered neighbours": lambda: IterativeSieve("lsdf", n_neighbors=50).fit(WIDE, WIDE_LABELS),
    "base with many neighbours": lambda: hybrid_selection(
        WIDE,
        WIDE_LABELS,
        n_features_to_select=3,
        base="relieff",
        n_iterations=30,
        n_neighbors=50,
        confident_fraction=0.3,
    ),
    "no path": lambda: hybrid_selection(
        WIDE, WIDE_LABELS, n_features_to_select=3, n_neighbors=1, confident_fraction=0.3
    ),
    "a base with a graph": lambda: hybrid_selection(
        WIDE * 1e9,
        WIDE_LABELS,
        n_features_to_select=3,
        base="constrained_laplacian",
        n_iterations=30,
        n_neighbors=50,
    ),
    "constant columns": lambda: hybrid_selection(
        np.c_[WIDE, np.ones((12, 3))],
        WIDE_LABELS,
        n_features_to_select=43,
        base="floating",
        base_params={"ridge": 3.0},
    ),
    "constant columns, one by one": lambda: IterativeSieve(n_features_to_select=1).fit(
        np.c_[WIDE, np.ones((12, 9))]
    ),
}


@pytest.mark.parametrize("name", NOISY)
def test_many_rounds_say_it_once(name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        NOISY[name]()
    messages = [str(w.message) for w in caught]
    assert all(issubclass(w.category, GraphSieveWarning) for w in caught), messages
    assert len(messages) <= 4, messages
    # The kind of a warning is its text without numbers and without its count.
    kinds = [
        "".join(c for c in message.split(" (in ")[0] if not c.isdigit()) for message in messages
    ]
    # Once before the rounds, and once for all of them
    assert all(kinds.count(kind) <= 2 for kind in kinds), messages


@pytest.mark.parametrize("cv", [3, 5])
def test_a_small_class_with_an_estimator_says_it_once(cv):
    y = np.r_[0, 0, np.ones(8), np.full(N - 10, -1)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = floating_selection(
            X, y, n_features_to_select=3, estimator=KNeighborsClassifier(1), cv=cv
        )
    assert len(found) == 3
    assert len(caught) <= 1, f"{len(caught)} times: {caught[0].message}"


def test_fewer_known_samples_than_folds_is_refused_in_our_words():
    y = np.r_[0, 0, 1, 1, np.full(N - 4, -1)]
    refused(
        lambda: floating_selection(X, y, n_features_to_select=2, estimator=KNeighborsClassifier(1)),
        "cv",
        "5",
        "4",
    )


def test_an_estimator_that_cannot_read_the_target_is_refused_in_our_words():
    text = ["ab"[i % 2] for i in range(N)]
    refused(
        lambda: floating_selection(
            X, text, n_features_to_select=2, estimator=LinearRegression(), cv=3
        ),
        "LinearRegression",
    )
    refused(lambda: FloatingSieve(KNN).fit(X, TARGET), "KNeighborsClassifier")


@pytest.mark.parametrize("score", [NAN, INF, -INF])
@pytest.mark.parametrize(
    "estimator",
    [KNN, make_pipeline(StandardScaler(), KNeighborsClassifier(3, weights="distance", p=1))],
)
def test_a_score_that_is_no_number_is_named(score, estimator):
    def scoring(*_):
        return score

    words = [str(score), "KNeighborsClassifier", "scoring"]
    refused(
        lambda: floating_selection(
            X, FEW, n_features_to_select=2, estimator=estimator, scoring=scoring, cv=3
        ),
        *words,
    )
    sieve = FloatingSieve(estimator, cv=3, n_features_to_select=2).fit(X, FEW)
    selected = sieve.get_support()
    refused(lambda: sieve.set_params(scoring=scoring).fit(X[:, ::-1], FEW), *words)
    assert_array_equal(sieve.get_support(), selected)
    given = {"estimator": estimator, "scoring": scoring, "cv": 3}
    refused(
        lambda: hybrid_selection(
            X, FEW, n_features_to_select=2, base="floating", base_params=given
        ),
        *words,
    )


@pytest.mark.parametrize("score", ["good", None, [1.0, 2.0], {"a": 1.0}])
def test_a_score_of_another_kind_is_refused_in_our_words(score):
    refused(
        lambda: floating_selection(
            X, FEW, n_features_to_select=2, estimator=KNN, scoring=lambda *_: score, cv=3
        ),
        "scor",
    )


class Interrupting:
    """Scorer that records the sets it has scored on all folds, and interrupts at a given call."""

    def __init__(self, at):
        self.at, self.calls = at, 0
        self.folds: dict[frozenset[int], list[float]] = {}

    def __call__(self, estimator, table, y):
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        where = frozenset(
            next(j for j in range(P) if np.isin(column, X[:, j]).all()) for column in table.T
        )
        value = estimator.score(table, y)
        self.folds.setdefault(where, []).append(value)
        return value

    def values(self, size):
        return {
            where: np.mean(found)
            for where, found in self.folds.items()
            if len(found) == 3 and len(where) == size
        }


def test_the_scorer_tells_the_columns_apart():
    scorer = Interrupting(at=None)
    found = floating_selection(X, FEW, n_features_to_select=2, estimator=KNN, scoring=scorer, cv=3)
    assert_array_equal(
        found, floating_selection(X, FEW, n_features_to_select=2, estimator=KNN, cv=3)
    )
    assert len(scorer.values(1)) == P
    assert len(scorer.values(2)) == P - 1


@pytest.mark.parametrize("at", [1, 2, 3 * P])
def test_an_interruption_before_any_set_is_known_goes_through(at):
    with pytest.raises(KeyboardInterrupt):
        floating_selection(
            X, FEW, n_features_to_select=3, estimator=KNN, scoring=Interrupting(at), cv=3
        )
    sieve = FloatingSieve(KNN, cv=3).fit(X, FEW)
    before = pickle.dumps(vars(sieve)["ranking_"])
    with pytest.raises(KeyboardInterrupt):
        sieve.set_params(scoring=Interrupting(at)).fit(X[:, ::-1], FEW)
    assert pickle.dumps(sieve.ranking_) == before


@pytest.mark.parametrize(
    "at",
    [3 * P + 1, 3 * (2 * P - 1), 3 * (2 * P - 1) + 1, 3 * (3 * P - 3) + 1, 3 * (3 * P - 3) + 5],
)
def test_an_interruption_gives_the_best_set_so_far(at):
    scorer = Interrupting(at)
    with pytest.warns(GraphSieveWarning, match="interrupted with .* of 4 features") as caught:
        found = floating_selection(
            X, FEW, n_features_to_select=4, estimator=KNN, scoring=scorer, cv=3
        )
    assert len(caught) == 1
    assert scorer.calls == at  # and not one fit more
    values = scorer.values(len(found))
    assert values[frozenset(found.tolist())] >= max(values.values()) - 1e-10
    # The first step scores single columns, the second pairs, and the third triples.
    assert len(found) == 1 + (at > 3 * (2 * P - 1)) + (at > 3 * (3 * P - 3))
    assert str(len(found)) in str(caught[0].message)


def test_an_interrupted_sieve_says_so_and_can_be_used():
    sieve = FloatingSieve(KNN, n_features_to_select=3, scoring=Interrupting(3 * P + 1), cv=3)
    with pytest.warns(GraphSieveWarning, match="interrupted with 1 of 3 features"):
        sieve.fit(X, FEW)
    assert sieve.interrupted_
    assert sieve.get_support().sum() == 1
    assert sieve.transform(X).shape == (N, 1)
    check_sensible("FloatingSieve", of_sieve(sieve), X)
    assert not clone(sieve).set_params(scoring=None).fit(X, FEW).interrupted_


@pytest.mark.parametrize("at", [3 * P + 1, 3 * (2 * P - 1) + 1])
def test_an_interruption_ends_the_hybrid_search_too(at):
    """Ctrl-C must end the whole search, and not only one of its rounds."""
    scorer = Interrupting(at)
    given = {"estimator": KNeighborsClassifier(1), "scoring": scorer, "cv": 3}
    try:
        with pytest.warns(GraphSieveWarning, match="interrupted"):
            found = hybrid_selection(
                X, FEW, n_features_to_select=3, base="floating", base_params=given
            )
        check_sensible("hybrid", Answer(order=found), X)
    except KeyboardInterrupt:
        pass
    assert scorer.calls == at, f"{scorer.calls - at} more scores were taken after Ctrl-C"


def test_the_terminal_stays_silent_unless_asked(capfd):
    iterative_ranking(X, bandwidth=BANDWIDTH)
    hybrid_selection(X, FEW, n_features_to_select=2)
    floating_selection(X, FEW, n_features_to_select=2)
    IterativeSieve(progress=False).fit(X)
    assert capfd.readouterr() == ("", "")

"""Fuzz tests with any table, supervision and parameters: finite scores, NaN for features without a
score, or an `InputError` of one sentence.

The suite tries a few hundred of each. ``HYPOTHESIS_PROFILE=fuzz pytest -s
tests/robustness/test_fuzz_estimators.py`` searches longer.
"""

from __future__ import annotations

import inspect
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import oddities
from graphsieve import (
    ConstraintConflictError,
    FloatingSieve,
    GraphSieve,
    GraphSieveWarning,
    HybridSieve,
    InputError,
    IterativeSieve,
    Supervision,
    rank,
    scores,
    stored,
)
from graphsieve.scores import METHODS
from graphsieve.table.columns import MemoryTable
from graphsieve.table.scaling import rescaled
from oddities import answered, maybe_odd, objects, parameters

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]


@pytest.fixture(scope="module", autouse=True)
def counted():
    """Print the number of calls, for docs/reliability.md (`pytest -s`)."""
    yield
    print(f"\nexecutions: {oddities.EXECUTIONS['all']:,}")


EXAMPLES = settings.default.max_examples
few, more = settings(max_examples=2 * EXAMPLES), settings(max_examples=4 * EXAMPLES)
SIEVES = {
    sieve.__name__: sieve for sieve in (GraphSieve, IterativeSieve, HybridSieve, FloatingSieve)
}
# Scores that are fractions with a denominator that can be zero. They are infinite if all samples of
# a class are equal, or if none differ.
CAN_BE_INFINITE = {
    "fisher",
    "lsdf",
    "constraint",
    "constrained_laplacian",
    "weighted_laplacian",
    "c4",
    "semi_supervised_laplacian",  # if the label weight underflows
}
BY_Y = {"labels": oddities.labels, "targets": oddities.targets}


def check_scores(values, n_features, *, infinite):
    """Check for one float per feature. NaN marks features without a score."""
    assert isinstance(values, np.ndarray)
    assert values.dtype == np.float64
    assert n_features is None or values.shape == (n_features,)
    assert infinite or not np.isinf(values).any(), values


def check_ranking(ranking):
    assert sorted(ranking.tolist()) == list(range(1, len(ranking) + 1))


@st.composite
def score_calls(draw, method):
    """Draw arguments of a score function: a table, supervision and some parameters."""
    table, n = draw(oddities.tables())
    uses = METHODS[method].uses
    if "pairs" in uses:
        known = (draw(maybe_odd(oddities.pairs(n))), draw(maybe_odd(oddities.pairs(n))))
    elif "probabilities" in uses:
        known = (draw(maybe_odd(oddities.probabilities(n))),)
    else:
        kinds = [draw(st.sampled_from(sorted(BY_Y)))] if uses else []
        known = tuple(draw(maybe_odd(BY_Y[kind](n))) for kind in kinds)
    names = tuple(inspect.signature(METHODS[method].function).parameters)[1 + len(known) :]
    return table, known, draw(parameters(names))


@pytest.mark.parametrize("method", METHODS)
def test_any_arguments_of_a_score(method):
    @more
    @given(score_calls(method))
    def check(call):
        table, known, options = call
        found = answered(lambda: METHODS[method].function(table, *known, **options))
        if found is not None:
            check_scores(found, None, infinite=method in CAN_BE_INFINITE)

    check()


@st.composite
def fits(draw, names, methods=(), parameter="method"):
    """Draw a table, y, supervision, and parameters of an estimator."""
    table, n = draw(oddities.tables())
    by = draw(st.sampled_from(["nothing", "y", "y", "supervision", "supervision", "both"]))
    y = (
        draw(maybe_odd(st.one_of(oddities.labels(n), oddities.targets(n))))
        if by in ("y", "both")
        else None
    )
    supervision = (
        draw(maybe_odd(oddities.supervisions(n))) if by in ("supervision", "both") else None
    )
    given_parameters = draw(parameters(tuple(name for name in names if name != parameter)))
    if methods and draw(st.booleans()):
        given_parameters[parameter] = draw(maybe_odd(st.sampled_from(methods)))
    return table, y, supervision, given_parameters


def names_of(function):
    return tuple(
        name
        for name in inspect.signature(function).parameters
        if name not in ("self", "X", "y", "supervision")
    )


@pytest.mark.parametrize("name", SIEVES)
def test_any_fit_of_a_sieve(name):
    sieve = SIEVES[name]
    many = settings(max_examples=(12 if sieve is GraphSieve else 4) * EXAMPLES)
    words = (*METHODS, *oddities.METHOD_WORDS)

    @many
    @given(fits(names_of(sieve.__init__), words, "base" if sieve is HybridSieve else "method"))
    def check(call):
        table, y, supervision, options = call
        if sieve is FloatingSieve:
            options.pop("method", None)
        fitted = answered(lambda: sieve(**options).fit(table, y, supervision))
        if fitted is None:
            return
        assert fitted.get_support().shape == (fitted.n_features_in_,)
        if hasattr(fitted, "scores_") and fitted.scores_ is not None:
            check_scores(fitted.scores_, fitted.n_features_in_, infinite=True)
        if sieve is GraphSieve:
            check_ranking(fitted.ranking_)

    check()


@settings(max_examples=8 * EXAMPLES)
@given(fits(names_of(rank), (*METHODS, *oddities.METHOD_WORDS)))
def test_any_ranking(call):
    table, y, supervision, options = call
    found = answered(lambda: rank(table, y, supervision=supervision, **options))
    if found is not None:
        check_scores(found.scores, len(found.names), infinite=True)
        check_ranking(found.ranks)
        str(found)
        assert "NaN" not in found.to_json()


@more
@given(
    st.integers(0, 12).flatmap(
        lambda n: maybe_odd(st.one_of(oddities.labels(n), oddities.targets(n)))
    ),
    objects,
)
def test_any_labels_and_targets(y, other):
    for make in (
        lambda: Supervision.from_labels(y),
        lambda: Supervision.from_labels(y, unlabeled=other),
        lambda: Supervision.from_targets(y),
        lambda: Supervision.from_y(y),
        lambda: Supervision.from_y(y, target_type=other),
        lambda: Supervision.from_y(y, unlabeled=None),
    ):
        found = answered(make)
        if found is not None:
            repr(found)
            assert found[:1].n_samples == min(1, found.n_samples)


@more
@given(
    st.integers(0, 12).flatmap(
        lambda n: st.tuples(maybe_odd(st.just(n)), oddities.pairs(n), maybe_odd(oddities.pairs(n)))
    )
)
def test_any_pairs(given_pairs):
    n, must_link, cannot_link = given_pairs
    found = answered(lambda: Supervision.from_pairs(n, must_link, cannot_link))
    if found is not None:
        for linked in (found.must_link, found.cannot_link):
            assert linked.shape[1] == 2
            assert ((linked >= 0) & (linked < n)).all()


@more
@given(
    st.integers(0, 12).flatmap(lambda n: maybe_odd(oddities.probabilities(n))),
    maybe_odd(st.none()),
    maybe_odd(st.booleans()),
)
def test_any_probabilities(proba, classes, normalize):
    found = answered(
        lambda: Supervision.from_probabilities(proba, classes=classes, normalize=normalize)
    )
    if found is not None:
        assert np.isfinite(found.probabilities).all()
        np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0, rtol=1e-5)


@few
@given(
    st.integers(1, 12).flatmap(
        lambda n: st.tuples(oddities.supervisions(n), oddities.supervisions(n))
    ),
    objects,
)
def test_any_union_and_rows_of_what_is_known(two, key):
    one, other = two
    if one is None or other is None:
        return
    joined = answered(lambda: one | other)
    if joined is not None:
        assert answered(lambda: joined[np.arange(joined.n_samples)[::-1]]) is not None


# Regression tests for failures found by fuzzing.

ENDLESS = 10**5000  # more digits than Python writes
HUGE = 10**400  # more than a float holds
X = np.arange(12.0).reshape(4, 3) ** 2 % 7
LABELS = [0, 1, 0, 1]


def refused(call, *words):
    with pytest.raises(InputError) as caught:
        call()
    assert oddities.one_sentence(str(caught.value)), str(caught.value)
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize(
    "value", [HUGE, -HUGE, ENDLESS, Fraction(HUGE, 3)], ids=["huge", "below", "endless", "fraction"]
)
def test_numbers_beyond_the_largest_float_as_parameters(value):
    refused(
        lambda: scores.laplacian_score(X, bandwidth=value), "bandwidth must be a positive number"
    )
    refused(lambda: GraphSieve("laplacian", bandwidth=value).fit(X), "bandwidth must be")
    refused(
        lambda: HybridSieve(confident_fraction=value).fit(X, LABELS), "confident_fraction must be"
    )
    refused(
        lambda: scores.sselect_score(X, LABELS, trade_off=value),
        "trade_off must be a number from 0 to 1",
    )
    refused(lambda: GraphSieve(n_features_to_select=value).fit(X), "n_features_to_select")


def test_values_that_cannot_be_shown():
    for value in (oddities.Unreadable(), ENDLESS):
        refused(
            lambda value=value: GraphSieve(scale=value).fit(X),
            "scale must be one of",
            f"type {type(value).__name__}",
        )
        refused(
            lambda value=value: Supervision.from_y(LABELS, target_type=value),
            "target_type must be one of",
        )
        refused(lambda value=value: Supervision.from_pairs(value), "n_samples must be")


def test_errors_of_others_in_one_line():
    broken = oddities.Unreadable()
    refused(
        lambda: GraphSieve().fit(broken),
        "X could not be read as an array",
        "first line second line",
    )
    refused(lambda: Supervision.from_y(broken), "y could not be read as an array")
    refused(
        lambda: Supervision.from_probabilities(broken), "label_proba could not be read as an array"
    )
    refused(lambda: Supervision.from_pairs(3, broken), "must_link could not be read as an array")
    refused(lambda: GraphSieve().fit([[broken, 1], [2, 3]]), "X could not be read")


def test_words_of_any_length_in_one_sentence():
    refused(lambda: scores.laplacian_score(X, neighbors="long " * 1000), "neighbors must be one of")
    refused(lambda: Supervision.from_pairs("long\n" * 1000), "n_samples must be")
    refused(
        lambda: GraphSieve("laplacian", method_params={"long\n" * 1000: 1}).fit(X),
        "has no parameter",
    )
    refused(
        lambda: Supervision.from_probabilities(np.full((4, 2), 0.5), classes=["long\n" * 1000] * 2),
        "a different name for each column",
    )


def test_class_names_with_line_breaks_in_a_warning():
    with pytest.warns(GraphSieveWarning, match=r"single known member \(b c\)"):
        GraphSieve("fisher").fit(X, ["a", "a", "a", "b\nc"])


def test_a_decimal_that_signals_is_missing():
    """Comparing a signalling NaN with itself raises InvalidOperation."""
    known = Supervision.from_labels([Decimal("sNaN"), Decimal(1), Decimal(2), Decimal(1)])
    assert known.labels.tolist() == [-1, 0, 1, 0]
    assert np.isnan(Supervision.from_targets([Decimal("sNaN"), Decimal(1)]).targets).tolist() == [
        True,
        False,
    ]


@pytest.mark.parametrize(
    "mark", [HUGE, ENDLESS, 2**70, -(2**70)], ids=["huge", "endless", "large", "below"]
)
def test_a_mark_of_the_unlabelled_that_no_label_can_be(mark):
    for y in (
        [0.0, 1.0, 0.0],
        [0, 1, 0],
        np.array([0, 1, 0], dtype=np.uint8),
        np.array([0, 1, 0], dtype=np.float16),
    ):
        assert Supervision.from_labels(y, unlabeled=mark).labels.tolist() == [0, 1, 0]


def test_labels_of_more_digits_than_python_writes():
    known = Supervision.from_labels([ENDLESS, 2, ENDLESS + 1, None])
    assert known.n_known_classes == 3
    found = rank(np.eye(4), [ENDLESS, 2, ENDLESS, 2])
    assert {"name": "a value of type int", "n": 2} in found.known["classes"]
    refused(lambda: Supervision.from_labels([ENDLESS, "a"]), "y mixes numbers and text")
    proba = Supervision.from_probabilities(
        np.full((4, 3), 1 / 3), classes=np.array([ENDLESS, 2, ENDLESS + 1], dtype=object)
    )
    # Of equal probabilities the first counts as the largest
    with pytest.warns(GraphSieveWarning, match="disagree"):
        assert (known | proba).labels[3] == -1
    refused(lambda: Supervision.from_pairs(3, [(0, ENDLESS)]), "samples are numbered 0 to 2")
    with pytest.raises(ConstraintConflictError, match="of type int"):
        Supervision.from_labels([ENDLESS, ENDLESS]) | Supervision.from_pairs(2, [], [(0, 1)])


def test_more_samples_than_anything_can_hold():
    refused(lambda: Supervision.from_pairs(HUGE), "n_samples must be")
    refused(lambda: Supervision.from_pairs(2**62, [(0, 1)]), "n_samples must be")


def test_duplicates_whose_sum_is_beyond_the_largest_number():
    for dtype in (np.float32, np.float64, np.longdouble):
        large = np.finfo(np.float32 if dtype is np.float32 else np.float64).max
        twice = (np.array([large, large, 1], dtype=dtype), ([0, 0, 1], [0, 0, 1]))
        for convert in (sp.coo_array.tocoo, sp.coo_array.tocsr, sp.coo_array.todok):
            with np.errstate(over="ignore"):
                table = convert(sp.coo_array(twice, shape=(3, 2)))
            refused(lambda table=table: scores.variance_score(table), "1 inf", "column 0")


def test_half_precision_beside_small_integers_in_a_frame():
    """Their common type is float16, in which 2**53 is infinite. numpy used to warn about it."""
    frame = pd.DataFrame(
        {"a": np.array([1, 2, 4], dtype=np.float16), "b": np.array([1, 0, 1], dtype=np.int8)}
    )
    expected = scores.variance_score(frame.to_numpy(dtype=float))
    np.testing.assert_allclose(scores.variance_score(frame), expected, rtol=1e-12)


def test_a_largest_value_beyond_all_interquartile_ranges():
    """1e308 is 1e309 ranges of 0.1, which overflows. Such a column is divided by its standard
    deviation instead.
    """
    column = np.array([0.0, 0.0, 0.1, 0.1, 0.1, 0.05, -1e308])
    table = np.stack([column, np.arange(7.0)], axis=1)
    for make in (np.asarray, sp.csr_array):
        found = rescaled(MemoryTable(make(table)), "robust").matrix
        found = found.toarray() if sp.issparse(found) else found
        # For n − 1 equal values and one value at distance d, σ = d √(n − 1) / n.
        np.testing.assert_allclose(
            found[:, 0], [0, 0, 0, 0, 0, 0, -7 / np.sqrt(6)], rtol=1e-12, atol=1e-300
        )
        np.testing.assert_allclose(found[:, 1], np.arange(7) / 3, rtol=1e-12)


def test_values_next_to_equal_in_a_picture():
    """Steps of 5e-324 in a range of 1 used to overflow in the plots of a report."""
    found = rank(np.array([[0.0, 1.0], [1e-308, 0.0], [1.0, 1.0], [1.0, 0.5]]), [0, 1, 1, 0])
    assert sorted(found.ranks.tolist()) == [1, 2]


def test_half_precision_as_a_target():
    """The same for y, because its largest number is compared with 2**53."""
    y = np.array([1.5, 0.25, 3.0, 7.0], dtype=np.float16)
    np.testing.assert_array_equal(Supervision.from_y(y).targets, [1.5, 0.25, 3.0, 7.0])
    assert Supervision.from_y(np.array([0, 1, 1], dtype=np.float16)).labels.tolist() == [0, 1, 1]


def test_a_ranking_of_odd_parameters():
    refused(lambda: rank(X, feature_names=3), "feature_names must be a sequence of strings")
    refused(lambda: rank(X, method=np.array([1, 2])), "method must be")
    refused(lambda: rank(X, LABELS, method="hybrid", method_params=3), "method_params must be")
    refused(
        lambda: rank(X, LABELS, method="hybrid", neighbors=np.array([1, 2])), "has no neighbors"
    )


def test_a_memory_map_of_objects_is_refused_before_it_is_read(tmp_path):
    """The file contains memory addresses. Following one of them would crash the process."""
    path = tmp_path / "objects"
    np.full(20, 2**40 + 1, dtype=np.int64).tofile(path)
    table = np.memmap(path, dtype=object, shape=(5, 4), mode="r")
    for call in (
        lambda: scores.variance_score(table),
        lambda: GraphSieve().fit(table),
        lambda: stored(table),
    ):
        with pytest.raises(InputError, match="object"):
            call()

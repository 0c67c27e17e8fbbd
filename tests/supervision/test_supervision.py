"""Supervision of the samples: parsing, checks, joining and slicing."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes
from sklearn.utils import _safe_indexing

from graphsieve import ConstraintConflictError, GraphSieveWarning, InputError, Supervision, rank
from strategies import problems


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([0, 1, -1, 2], "classes"),
        (["a", "b", None, "a"], "classes"),
        ([True, False, True, True], "classes"),
        (pd.Series(["a", None, "b", "a"], dtype="category"), "classes"),
        (pd.array([1, 2, None, 1], dtype="Int64"), "classes"),
        ([1.0, 2.0, np.nan, 1.0], "classes"),  # integers with a missing value
        ([0.5, 2.0, np.nan, 1.0], "continuous"),
        (np.repeat(np.arange(100), 2), "classes"),
        (np.repeat(np.arange(101), 2), "continuous"),
        (np.arange(100), "continuous"),  # None repeats.
        (np.repeat(np.arange(-1, 90), 2), "classes"),
        ([-2, -1, 0, 1, 2], "continuous"),  # Class codes are not below −1.
        ([-2.0, -1.0, 0.0, np.nan], "continuous"),
        (np.repeat(np.arange(20.0), 2), "classes"),
        (np.repeat(np.arange(21.0), 2), "continuous"),
        (np.arange(20.0), "continuous"),
        (np.r_[np.repeat(np.arange(19), 9), 19], "continuous"),  # One occurs once.
        (np.r_[np.repeat(np.arange(10), 3), 10], "classes"),  # small codes
        ([0, 4, 5, 5], "continuous"),  # More than two thirds are different.
        ([0, 4, 5, 4, 0, 7], "classes"),
        ([0, 4, 11, 4, 0, 11, 12], "continuous"),
        ([0, 1, 2, 3], "classes"),
        (np.r_[-1, np.repeat(np.arange(100), 2)], "classes"),  # beside the mark
        (np.r_[-1.0, np.nan, 150, 7, 7], "classes"),
        ([-1, -1, -1], "classes"),
        ([0.1, 0.5, 0.9, 0.1], "continuous"),
    ],
)
def test_classes_and_continuous_targets_are_distinguished(y, expected):
    known = Supervision.from_y(y)
    assert (known.labels is not None) == (expected == "classes")
    assert (known.targets is not None) == (expected == "continuous")
    numeric = expected == "continuous" or np.asarray(y).dtype.kind in "if"
    forced = (
        Supervision.from_y(y, target_type="continuous")
        if numeric
        else Supervision.from_y(y, target_type="classes")
    )
    assert (forced.targets is not None) == numeric


def stored_in_all_ways(values, n_samples):
    """Integers of some samples, in every type that can hold them."""
    n_unknown = n_samples - len(values)
    yield np.asarray(values)
    yield np.asarray(values, dtype=np.uint16)
    yield np.r_[np.full(n_unknown, np.nan), values]
    yield np.array([None] * n_unknown + np.asarray(values).tolist(), dtype=object)
    yield pd.array([None] * n_unknown + np.asarray(values).tolist(), dtype="Int64")


@given(
    n_known=st.integers(5, 500),
    quantity=st.sampled_from(["normal", "exponential", "two groups", "all different"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_rounded_quantity_is_not_taken_for_classes(n_known, quantity, seed):
    rng = np.random.default_rng(seed)
    values = {
        "normal": lambda: rng.normal(150, 40, n_known),
        "exponential": lambda: 20 + rng.exponential(60, n_known),
        "two groups": lambda: rng.normal(200, 30, n_known) + 300 * rng.integers(0, 2, n_known),
        "all different": lambda: rng.permutation(600)[:n_known],
    }[quantity]()
    values = np.abs(np.round(values)).astype(int)
    for y in stored_in_all_ways(values, n_known + 100):
        known = Supervision.from_y(y)
        assert known.kinds == ("targets",)
        assert known.n_labeled == n_known


@given(
    n_classes=st.integers(2, 9),
    n_known=st.integers(5, 500),
    start=st.integers(0, 1),
    seed=st.integers(0, 2**32 - 1),
)
def test_codes_of_few_classes_are_classes(n_classes, n_known, start, seed):
    """They are drawn at random, so that some may occur once, but enough of them repeat."""
    codes = np.random.default_rng(seed).integers(0, n_classes, n_known) + start
    assume(codes.max() <= 3 or 3 * len(np.unique(codes)) <= 2 * n_known)
    for y in stored_in_all_ways(codes, n_known + 10):
        assert Supervision.from_y(y).n_known_classes == len(np.unique(codes))


@given(
    n_classes=st.integers(2, 20),
    members=st.integers(2, 25),
    start=st.sampled_from([0, 1, 7, 1000]),
    data=st.data(),
)
def test_repeated_codes_are_classes(n_classes, members, start, data):
    codes = np.repeat(np.arange(n_classes), members) + start
    order = np.array(data.draw(st.permutations(range(len(codes)))))
    marked = np.r_[codes[order], np.full(10, -1)]
    for y in (*stored_in_all_ways(codes[order], len(codes) + 10), marked, marked.astype(float)):
        assert Supervision.from_y(y).n_known_classes == n_classes


@pytest.mark.parametrize("dtype", [int, float])
@pytest.mark.parametrize("n_known", [5, 20, 60, 240])
def test_rounded_fat_content_is_a_quantity(n_known, dtype):
    """About 47 integers, most of which repeat, but not those at the ends of the range."""
    fat = np.round(np.random.default_rng(0).gamma(1.7, 10, n_known)).astype(dtype)
    assert Supervision.from_y(fat).kinds == ("targets",)


@pytest.mark.parametrize("dtype", [int, float, object])
@pytest.mark.parametrize("n_classes", [2, 3, 4, 20, 100])
def test_one_label_per_class_beside_the_mark_is_kept_with_a_warning(n_classes, dtype):
    y = np.r_[7 * np.arange(n_classes), [-1] * 50].astype(dtype)
    words = f"y was read as {n_classes} classes with one sample each; for a quantity, replace -1"
    if n_classes > 3:
        with pytest.warns(GraphSieveWarning, match=words):
            known = Supervision.from_y(y)
    else:
        known = Supervision.from_y(y)
    assert known.n_known_classes == n_classes
    assert Supervision.from_y(y, target_type="classes").n_known_classes == n_classes


@pytest.mark.parametrize("mark", [-9, 99])
def test_another_mark_is_no_value(mark):
    y = [0, 1, 7, 7, mark]
    assert Supervision.from_y(y, unlabeled=mark).n_labeled == 4
    assert Supervision.from_y(y, unlabeled=mark).n_known_classes == 3
    with pytest.raises(InputError, match="unlabeled must be"):
        Supervision.from_y([0.5, 1.5], unlabeled="none")


@pytest.mark.parametrize("n_known", [5, 20, 60])
@pytest.mark.parametrize("kind", [int, float])
def test_known_disease_progression_is_a_quantity(n_known, kind):
    """The targets of the diabetes data are integers. Few of them are known here."""
    X, y = load_diabetes(return_X_y=True)
    y[n_known:] = np.nan
    if kind is int:
        X, y = X[:n_known], y[:n_known].astype(int)
    found = rank(X, y)
    assert f"{len(X)} samples with a continuous target" in str(found).splitlines()[0]
    if n_known == 60:
        with pytest.warns(GraphSieveWarning, match="have a single known member"):
            forced = rank(X, y, target_type="classes", method="fisher")
        assert f"{len(X)} samples with 54 classes" in str(forced).splitlines()[0]


def test_ambiguous_targets_are_refused_with_a_hint():
    with pytest.raises(InputError, match="200 different integers beside -1"):
        Supervision.from_y(np.arange(-1, 200))
    assert Supervision.from_y(np.arange(-1, 200), target_type="classes").n_labeled == 200
    assert Supervision.from_y(np.arange(-1, 200), target_type="continuous").n_labeled == 201
    with pytest.raises(InputError, match="numbers below -1, so that -1 may be a class"):
        Supervision.from_labels([-2, -1, 0, 1])
    assert Supervision.from_labels([-2, -1, 0, 1], unlabeled=None).n_labeled == 4


def test_labels_become_codes_of_sorted_classes():
    known = Supervision.from_labels(["pear", None, "apple", np.nan, "pear", ""])
    assert_array_equal(known.labels, [1, -1, 0, -1, 1, -1])
    assert list(known.classes) == ["apple", "pear"]
    assert (known.n_labeled, known.n_known_classes, known.kinds) == (3, 2, ("labels",))


def test_minus_one_and_plus_one_are_refused_with_a_hint():
    with pytest.raises(InputError, match="unlabeled=None"):
        Supervision.from_labels([-1, 1, 1, -1])
    assert_array_equal(Supervision.from_labels([-1, 1, 1, -1], unlabeled=None).labels, [0, 1, 1, 0])
    assert_array_equal(Supervision.from_labels([9, 1, 0], unlabeled=9).labels, [-1, 1, 0])


def test_contradictions_show_their_chain():
    with pytest.raises(
        ConstraintConflictError, match=r"samples 0 and 2 are cannot-linked.*0 = 1 = 2"
    ):
        Supervision.from_pairs(4, must_link=[(0, 1), (1, 2)], cannot_link=[(2, 0)])
    with pytest.raises(ConstraintConflictError, match=r"samples 1 and 0 |samples 0 and 1 "):
        Supervision.from_pairs(4, must_link=[(0, 1)], cannot_link=[(1, 0)])
    labels = Supervision.from_labels(["a", -1, "b", "a"])
    with pytest.raises(ConstraintConflictError, match=r"different labels.*0 = 1 = 2"):
        labels | Supervision.from_pairs(4, must_link=[(0, 1), (1, 2)])
    with pytest.raises(
        ConstraintConflictError, match=r"samples 0 and 3 are cannot-linked.*both labelled 'a'"
    ):
        labels | Supervision.from_pairs(4, cannot_link=[(0, 3)])
    # Pairs that already follow from the labels are not a contradiction.
    joined = labels | Supervision.from_pairs(4, must_link=[(0, 3)], cannot_link=[(0, 2)])
    assert joined.kinds == ("labels", "pairs")


def test_pairs_are_accepted_in_any_collection():
    for pairs in (
        [(2, 0)],
        ((2, 0),),
        {(2, 0)},
        zip([2], [0], strict=True),
        np.array([[2, 0]]),
        pd.DataFrame({"a": [2], "b": [0]}),
    ):
        assert_array_equal(Supervision.from_pairs(3, must_link=pairs).must_link, [[0, 2]])


def test_checked_arrays_are_read_only():
    known = Supervision.from_labels([0, 1]) | Supervision.from_pairs(2, cannot_link=[(0, 1)])
    for values in (known.labels, known.cannot_link, known[[0, 1]].labels):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 1


def test_class_names_come_from_a_data_frame():
    doubt = Supervision.from_probabilities(pd.DataFrame({1: [0.9, 0.2], 0: [0.1, 0.8]}))
    joined = doubt | Supervision.from_labels(["1", None])
    assert_allclose(joined.label_probabilities()[1], [[1.0, 0.0], [0.2, 0.8]])


def test_a_missing_target_may_be_any_nan():
    """Files from R mark missing values by a signalling NaN, which causes warnings in use."""
    y = np.array([0.5, 1.5, 2.5, np.nan])
    y.view(np.uint64)[3] = 0x7FF00000000007A2
    found = Supervision.from_targets(y).targets
    assert found.view(np.uint64)[3] == np.array([np.nan]).view(np.uint64)[0]


def test_joining_needs_the_same_samples_and_different_kinds():
    with pytest.raises(InputError, match=r"3 samples .* 4"):
        Supervision.from_labels([0, 1, 0]) | Supervision.from_labels([0, 1, 0, 1])
    with pytest.raises(InputError, match=r"both sides of \| have labels"):
        Supervision.from_labels([0, 1]) | Supervision.from_labels([0, 1])
    with pytest.raises(TypeError):
        Supervision.from_labels([0, 1]) | [0, 1]


def test_labels_take_precedence_over_probabilities():
    doubt = Supervision.from_probabilities(
        [[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]], classes=["yes", "no"]
    )
    with pytest.warns(GraphSieveWarning, match="1 known labels disagree"):
        joined = doubt | Supervision.from_labels(["no", "no", None])
    assert_allclose(joined.label_probabilities()[1], [[0, 1], [0, 1], [0.5, 0.5]])
    with pytest.raises(InputError, match="'maybe' is none of the classes"):
        doubt | Supervision.from_labels(["maybe", None, None])


PARTLY = np.array([[0.9, 0.1], [np.nan, np.nan], [0.2, 0.8], [np.nan, np.nan]])


def test_a_row_of_nan_is_an_unlabelled_sample():
    known = Supervision.from_probabilities(PARTLY)
    assert_array_equal(known.probabilities, PARTLY)
    assert_array_equal(known.labeled, [True, False, True, False])
    assert known.n_labeled == 2
    assert repr(known) == "Supervision(4 samples: probabilities of 2 classes for 2 samples)"
    rows, proba = known.label_probabilities()
    assert_array_equal(rows, [0, 2])
    assert_array_equal(proba, PARTLY[[0, 2]])
    assert known[[1, 3]].kinds == ()
    assert_array_equal(known[[2, 1]].probabilities, PARTLY[[2, 1]])
    weights = Supervision.from_probabilities(7 * PARTLY, normalize=True).probabilities
    assert_allclose(weights, PARTLY, rtol=1e-15)


def test_labels_fill_unknown_probabilities():
    """An unknown row disagrees with no label, and the label makes it known."""
    joined = Supervision.from_probabilities(PARTLY) | Supervision.from_labels([0, 1, -1, -1])
    rows, proba = joined.label_probabilities()
    assert_array_equal(rows, [0, 1, 2])
    assert_array_equal(proba, [[1, 0], [0, 1], [0.2, 0.8]])


def test_a_group_has_the_mean_of_its_known_probabilities():
    known = Supervision.from_probabilities(PARTLY[[0, 1, 2, 3, 1]])
    grouped = known | Supervision.from_groups(["a", "a", "a", "b", "b"])
    units = grouped.units()
    assert_allclose(grouped.of_units(units).probabilities, [[0.55, 0.45], [np.nan, np.nan]])


@given(
    codes=st.lists(st.integers(-1, 3), min_size=2, max_size=12),
    data=st.data(),
)
def test_confidence_goes_to_the_label_and_the_rest_to_the_other_classes(codes, data):
    n_classes = len(set(codes) - {-1})
    assume(n_classes >= 2)
    one = st.floats(1 / n_classes, 1)
    shares = data.draw(one | st.lists(one, min_size=len(codes), max_size=len(codes)))
    known = Supervision.from_labels(codes, confidence=shares)
    assert known.labels is None
    classes = sorted(set(codes) - {-1})
    assert known.classes.tolist() == classes
    for row, code in enumerate(codes):
        share = shares[row] if isinstance(shares, list) else shares
        expected = [
            np.nan if code < 0 else share if name == code else (1 - share) / (n_classes - 1)
            for name in classes
        ]
        assert_allclose(known.probabilities[row], expected, rtol=1e-15)


@given(problem=problems(ties=True), data=st.data())
def test_indexing_keeps_the_supervision_of_the_rows(problem, data):
    n = len(problem.X)
    rows = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=2 * n)))
    pairs = problem.known("pairs")
    known = pairs | problem.known("targets") | problem.known("probabilities")
    part = known[rows]
    assert len(part) == part.shape[0] == len(rows)
    assert_array_equal(part.targets, known.targets[rows])
    assert_array_equal(part.probabilities, known.probabilities[rows])
    for before, after in ((known.must_link, part.must_link), (known.cannot_link, part.cannot_link)):
        linked = {frozenset(pair) for pair in before.tolist()}
        expected = {
            (i, j)
            for i in range(len(rows))
            for j in range(i + 1, len(rows))
            if frozenset((int(rows[i]), int(rows[j]))) in linked
        }
        assert {tuple(pair) for pair in after.tolist()} == expected


def test_every_way_to_index_rows():
    known = Supervision.from_labels([0, 1, 2, -1]) | Supervision.from_pairs(4, must_link=[(2, 3)])
    mask = np.array([False, False, True, True])
    for key in (mask, slice(2, None), [2, 3], np.array([2, 3]), (np.array([2, 3]), ...)):
        assert_array_equal(known[key].must_link, [[0, 1]])
        assert_array_equal(known[key].labels, [2, -1])
    assert_array_equal(_safe_indexing(known, np.array([3, 2])).must_link, [[0, 1]])
    with pytest.raises(InputError, match="by rows"):
        known[0]


def test_repr():
    assert repr(Supervision.nothing(3)) == "Supervision(3 samples: none)"
    assert "2 targets" in repr(Supervision.from_targets([1.0, np.nan, 2.0]))
    assert "probabilities of 2 classes" in repr(Supervision.from_probabilities([[0.5, 0.5]]))


@pytest.mark.parametrize(
    ("kind", "low", "high"), [(np.int8, -100, 100), (np.int16, -20_000, 20_000), (np.uint8, 0, 255)]
)
def test_classes_of_small_integer_types_do_not_overflow(kind, low, high):
    y = np.where(np.arange(50_000) % 2, high, low).astype(kind)
    known = Supervision.from_labels(y, unlabeled=None)
    assert_array_equal(known.classes, [low, high])
    assert_array_equal(known.labels, np.arange(50_000) % 2)


@pytest.mark.parametrize(
    "rows", [[500], [-5], "a", [0.5], np.array([True, False]), (0, 1, 2), {1: 2}]
)
def test_rows_that_are_not_there_are_an_error_of_ours(rows):
    with pytest.raises(
        InputError, match=r"supervision of 4 samples cannot be indexed by .*; index it by rows"
    ):
        Supervision.from_labels([0, 1, 0, 1])[rows]


def test_what_was_checked_stays_so():
    """Changes of the given array of names have no effect, and unpickled arrays are read-only."""
    names = np.array(["a", "b"])
    known = Supervision.from_probabilities(
        [[0.5, 0.5]] * 3, classes=names
    ) | Supervision.from_labels(["a", None, "a"])
    names[0] = "c"
    assert known.classes.tolist() == ["a", "b"]
    for again in (pickle.loads(pickle.dumps(known)), copy.deepcopy(known)):
        for values in (again.labels, again.probabilities, again.must_link, again.cannot_link):
            with pytest.raises(ValueError, match="read-only"):
                values[...] = 0


def test_invalid_arguments():
    for make, message in (
        (lambda: Supervision.nothing(-3), "a positive integer, got -3"),
        (lambda: Supervision.nothing("3"), "a positive integer, got '3'"),
        (
            lambda: Supervision.from_probabilities([[5, 5]], normalize="no"),
            "normalize must be True or False, got 'no'",
        ),
        (
            lambda: Supervision.from_probabilities([[0.5, 0.5]], classes=[[1], [2, 3]]),
            "one for each column of label_proba",
        ),
    ):
        with pytest.raises(InputError, match=message):
            make()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("TRUE", "true"),
        ("01", "1"),
        ("sick ", "sick"),
        ("not  sick", "Not sick"),
        ("caf\u00e9", "cafe\u0301"),
        (b"Yes", b"yes"),
    ],
)
@pytest.mark.parametrize("container", [list, np.array, pd.Series, pd.Categorical])
def test_classes_that_may_be_one_class_are_named(one, other, container):
    y = [one, other, one, other, None, one]
    if container is np.array:
        y = np.array(y, dtype=object)
    with pytest.warns(GraphSieveWarning, match="may be one class in two spellings"):
        known = Supervision.from_y(container(y) if container is not np.array else y)
    assert known.n_known_classes == 2


@pytest.mark.parametrize(
    "names", [("a", "b"), ("1", "2"), ("1", "10"), ("0", "00x"), ("true", "truth"), ("-1", "1")]
)
def test_classes_with_different_names_raise_no_warning(names):
    assert Supervision.from_labels([*names, None]).n_known_classes == 2

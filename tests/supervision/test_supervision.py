"""Supervision of the samples: parsing, checks, joining and slicing."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils import _safe_indexing

from graphsieve import ConstraintConflictError, GraphSieveWarning, InputError, Supervision
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
        (np.arange(100), "classes"),
        (np.arange(101), "continuous"),
        (np.arange(-1, 90), "classes"),
        ([-2, -1, 0, 1, 2], "continuous"),  # Class codes are not below −1.
        ([-2.0, -1.0, 0.0, np.nan], "continuous"),
        (np.arange(20.0), "classes"),
        (np.arange(21.0), "continuous"),
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


def test_ambiguous_targets_are_refused_with_a_hint():
    with pytest.raises(InputError, match="201 different integers including -1"):
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
    assert_allclose(joined.label_probabilities(), [[1.0, 0.0], [0.2, 0.8]])


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
    assert_allclose(joined.label_probabilities(), [[0, 1], [0, 1], [0.5, 0.5]])
    with pytest.raises(InputError, match="'maybe' is none of the classes"):
        doubt | Supervision.from_labels(["maybe", None, None])


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

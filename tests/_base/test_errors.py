"""Errors and warnings as data: the invalid parameter, its value, and the parts of the message."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.exceptions import DataConversionWarning

import graphsieve
from graphsieve._base.errors import (
    ConstraintConflictError,
    GraphSieveWarning,
    InputError,
    InputTypeError,
    RoundWarnings,
    UsageError,
    held_back,
    noting_warnings,
    warn,
)
from graphsieve._base.messages import (
    Message,
    Part,
    keyword,
    message_of,
    numbered,
    parameter,
    phrase,
    separated_by,
)
from graphsieve._base.parameters import choice, count, either, must_be, remedy, setting
from graphsieve.datasets import DataUnavailableError

X = np.random.default_rng(0).normal(size=(12, 3))
y = ["u", "v"] * 6
KINDS = (InputError, InputTypeError, UsageError, ConstraintConflictError, DataUnavailableError)


def in_capitals(part):
    return f"<{part.upper()}>"


def refuse(value):
    raise InputError(must_be("n_jobs", "something else", value))


# --- the invalid parameter
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_neighbors", 0),
        ("n_features_to_select", 4),
        ("max_features", -1),
        ("method", "fischer"),
        ("metric", "cosinus"),
        ("scale", "standart"),
        ("redundancy", 3),
        ("neighbors", "aproximate"),
        ("compress", "k-means"),
        ("method_params", 5),
        ("bandwidth", -1.0),
        ("unlabeled", 0.5),
        ("target_type", "class"),
        ("n_jobs", 0),
    ],
)
def test_errors_name_the_parameter_and_its_value(name, value):
    with pytest.raises(InputError) as caught:
        graphsieve.GraphSieve(**{name: value}).fit(X, y)
    assert (caught.value.parameter, caught.value.value) == (name, value)
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("options", "name", "value"),
    [
        ({"method": "fisher", "scale": "rank"}, "scale", "rank"),
        ({"method": "fisher", "bandwidth": 2.0}, "bandwidth", 2.0),
        ({"n_prototypes": 3}, "n_prototypes", 3),
        ({"method_params": {"foo": 1}, "method": "fisher"}, "method_params", {"foo": 1}),
        ({"n_features_to_select": 3, "max_features": 2}, "n_features_to_select", 3),
    ],
)
def test_incompatible_parameters_name_one_of_them(options, name, value):
    with pytest.raises(InputError) as caught:
        graphsieve.GraphSieve(**options).fit(X, y)
    assert (caught.value.parameter, caught.value.value) == (name, value)


def test_a_remedy_is_not_the_invalid_parameter():
    error = InputError(
        "rows are too many; pass ", remedy("metric", "cosine"), ", or ", keyword("y")
    )
    assert str(error) == "rows are too many; pass metric='cosine', or y="
    assert error.parameter is None
    assert error.value is None


def test_a_parameter_with_a_value_has_priority_over_a_parameter_without():
    error = InputError(parameter("X"), " is too long for ", setting("n_jobs", 3), ".")
    assert (error.parameter, error.value) == ("n_jobs", 3)
    assert InputError(parameter("X"), " is too long.").parameter == "X"


def test_an_error_without_parameters_names_none():
    with pytest.raises(InputError) as caught:
        graphsieve.rank(np.ones((5, 0)))
    assert caught.value.parameter is None
    assert caught.value.value is None
    assert str(InputError()) == ""


def test_none_can_be_the_value():
    error = InputError(setting("compress", None), " is no choice.")
    assert str(error) == "compress=None is no choice."
    assert (error.parameter, error.value) == ("compress", None)


# --- messages of parts
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (parameter("scale", "rank"), "scale"),
        (setting("scale", "rank"), "scale='rank'"),
        (setting("cv", np.int64(3)), "cv=3"),
        (remedy("unlabeled", None), "unlabeled=None"),
        (keyword("supervision"), "supervision="),
        (phrase("they are NaN"), "they are NaN"),
        (numbered("column", np.int64(3)), "column 3"),
    ],
)
def test_parts_read_as_python(part, text):
    assert part == text
    assert isinstance(part, Part)


def test_only_marked_parts_are_worded():
    message = Message(parameter("sep"), " must not be 'sep' or ", "sep", ", got sep.")
    assert message.worded(in_capitals) == "<SEP> must not be 'sep' or sep, got sep."
    assert (
        message.changed(str.upper).worded(in_capitals) == "<SEP> MUST NOT BE 'SEP' OR SEP, GOT SEP."
    )


def test_messages_in_messages_keep_their_parts():
    inner = Message(parameter("sep"), " is wrong.")
    outer = Message(
        "in line 3: ", inner.without_end(), " (", *separated_by(" and ", ["a", "b"]), ")."
    )
    assert outer == "in line 3: sep is wrong (a and b)."
    assert outer.worded(in_capitals) == "in line 3: <SEP> is wrong (a and b)."


def test_the_end_of_a_sentence_is_its_full_stop():
    assert Message("a.b", ".").without_end() == "a.b"
    assert Message("a.b").without_end() == "a.b"
    assert Message().without_end() == ""


def test_an_alternative_is_added_to_the_rule_and_not_to_the_value():
    rule = either("auto", choice(["a", "b"]))
    with pytest.raises(InputError) as caught:
        rule("sep", "it must be c")
    assert str(caught.value) == "sep must be 'auto' or one of 'a', 'b', got 'it must be c'."
    assert (caught.value.parameter, caught.value.value) == ("sep", "it must be c")
    with pytest.raises(InputError) as caught:
        either(None, count())("must be ", 0)
    assert str(caught.value) == "must be  must be None or an integer of at least 1, got 0."


# --- other processes
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "carried", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
)
@pytest.mark.parametrize("value", [None, True, 3, 0.5, "rank"])
def test_copies_of_errors_have_the_same_message(kind, carried, value):
    error = kind("row 3: ", setting("scale", value), " is wrong; ", phrase("pass"), " another.")
    again = carried(error)
    assert type(again) is kind
    assert str(again) == str(error) == f"row 3: scale={value!r} is wrong; pass another."
    assert (again.parameter, again.value) == ("scale", value)
    assert message_of(again).worded(in_capitals) == message_of(error).worded(in_capitals)


def test_a_value_that_cannot_be_pickled_is_dropped():
    error = InputError(must_be("scoring", "a name", lambda: None))
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert (again.parameter, again.value) == ("scoring", None)
    assert callable(error.value)


@pytest.mark.slow
def test_errors_come_back_from_processes():
    with pytest.raises(InputError) as caught:
        Parallel(n_jobs=2)(delayed(refuse)(value) for value in (5, 5))
    assert str(caught.value) == "n_jobs must be something else, got 5."
    assert (caught.value.parameter, caught.value.value) == ("n_jobs", 5)


# --- warnings
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("category", [GraphSieveWarning, DataConversionWarning])
def test_warnings_keep_their_parts(category):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warn(setting("n_neighbors", 5), " is lowered.", category=category)
    assert [one.category for one in found] == [category]
    assert str(found[0].message) == "n_neighbors=5 is lowered."
    assert message_of(found[0].message).worded(in_capitals) == "<N_NEIGHBORS=5> is lowered."
    again = pickle.loads(pickle.dumps(found[0].message))
    assert message_of(again).worded(in_capitals) == "<N_NEIGHBORS=5> is lowered."


def test_warnings_that_are_held_back_keep_their_parts():
    with held_back() as found:
        warn(parameter("sep"), " is odd.")
    kept = pickle.loads(pickle.dumps(found))
    assert [one.message.worded(in_capitals) for one in kept] == ["<SEP> is odd."]
    with warnings.catch_warnings(record=True) as shown, noting_warnings() as noted:
        warnings.simplefilter("always")
        warn(parameter("sep"), " is odd.")
    assert noted == ["sep is odd."]
    assert [message_of(one.message).worded(in_capitals) for one in shown] == ["<SEP> is odd."]


def test_warnings_of_rounds_keep_their_parts():
    rounds = RoundWarnings()
    for is_odd in (False, True, True):
        with rounds.round():
            if is_odd:
                warn(parameter("sep"), " is odd.")
    with pytest.warns(GraphSieveWarning) as shown:
        rounds.give()
    expected = "<SEP> is odd (in 2 of 3 rounds, first in round 2)."
    assert [message_of(one.message).worded(in_capitals) for one in shown] == [expected]


def test_messages_of_other_libraries_are_one_part():
    assert message_of(OSError(2, "no such file")).parts == ("[Errno 2] no such file",)
    assert message_of(UserWarning("odd")).parts == ("odd",)
    assert message_of("odd").parts == ("odd",)
    assert message_of(KeyboardInterrupt()).parts == ("",)

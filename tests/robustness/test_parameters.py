"""Rules for parameters with odd values: a result, or one sentence with the name and the value.

The rules of the parameters of each search and sieve are tested in test_bad_input_searches.py.
"""

from __future__ import annotations

import math
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from cases import about
from graphsieve._base import parameters
from graphsieve._base.errors import InputError, InputTypeError

NAN, INF = float("nan"), float("inf")


class Speechless:
    """An object that cannot be shown."""

    def __repr__(self):
        raise RuntimeError("no words\nfor it")


# Values that most rules refuse. Values that a rule accepts are excluded by name.
ODD = {
    "None": None,
    "True": True,
    "np.bool": np.bool_(True),
    "0": 0,
    "-1": -1,
    "0.0": 0.0,
    "half": 0.5,
    "1.5": 1.5,
    "NaN": NAN,
    "inf": INF,
    "-inf": -INF,
    "complex": 1j,
    "10**400": 10**400,
    "-10**5000": -(10**5000),
    "fraction": Fraction(1, 3),
    "large fraction": Fraction(10**400, 3),
    "decimal": Decimal("1.5"),
    "signalling": Decimal("sNaN"),
    "text": "3",
    "empty text": "",
    "lines": "a\nb",
    "long text": "x" * 100_000,
    "bytes": b"x",
    "list": [],
    "list of a number": [3],
    "dict": {},
    "matrix": np.eye(3),
    "no dimension": np.array(3),
    "NA": pd.NA,
    "time": np.datetime64("NaT"),
    "speechless": Speechless(),
    "type": int,
}
# Every rule with accepted values, as passed and as used, and names of accepted values from above.
RULES = {
    "count": (
        parameters.count(),
        [(1, 1), (10**9, 10**9), (np.int8(3), 3), (np.uint64(7), 7)],
        {"10**400"},
    ),
    "count from 2 to 5": (parameters.count(2, 5), [(2, 2), (5, 5)], set()),
    "sensible count": (parameters.count(0, sensible=9), [(0, 0), (9, 9)], {"0"}),
    "integer": (
        parameters.whole_number(),
        [(-7, -7), (np.int64(4), 4)],
        {"0", "-1", "10**400", "-10**5000"},
    ),
    "jobs": (
        parameters.jobs(),
        [(None, None), (-1, -1), (2, 2), (np.int32(2), 2)],
        {"None", "-1", "10**400", "-10**5000"},
    ),
    "positive": (
        parameters.positive(),
        [
            (1, 1.0),
            (5e-324, 5e-324),
            (sys.float_info.max, sys.float_info.max),
            (np.float32(2), 2.0),
        ],
        {"half", "1.5", "fraction"},
    ),
    "positive up to 1": (
        parameters.positive(1.0),
        [(1, 1.0), (0.25, 0.25)],
        {"half", "fraction"},
    ),
    "between 0 and 1": (
        parameters.between(0, 1),
        [(0, 0.0), (1, 1.0), (np.float64(0.5), 0.5)],
        {"0", "0.0", "half", "fraction"},
    ),
    "boolean": (parameters.boolean(), [(True, True), (False, False)], {"True"}),
    "text": (
        parameters.text(),
        [("a", "a")],
        {"text", "empty text", "lines", "long text"},
    ),
    "texts": (
        parameters.texts(),
        [("a", ("a",)), (["a", "b"], ("a", "b")), (("a",), ("a",)), ([], ())],
        {"text", "empty text", "lines", "long text", "list", "dict"},
    ),
    "axes": (parameters.axes(), [(None, None)], {"None"}),
    "mapping": (parameters.mapping(), [({}, {}), ({"a": 1}, {"a": 1})], {"dict"}),
    "choice": (
        parameters.choice(["standard", None]),
        [("standard", "standard"), (None, None), (np.str_("standard"), "standard")],
        {"None"},
    ),
    "auto or a count": (
        parameters.either("auto", parameters.count()),
        [("auto", "auto"), (3, 3)],
        {"10**400"},
    ),
    "None or a positive number": (
        parameters.either(None, parameters.positive()),
        [(None, None), (2, 2.0)],
        {"None", "half", "1.5", "fraction"},
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_takes_what_it_says(name):
    rule, taken, _ = RULES[name]
    for given, used in taken:
        found = rule("parameter", given)
        assert found == used, given
        assert type(found) is type(used), given


@pytest.mark.parametrize("name", RULES)
def test_a_rule_refuses_everything_else_in_one_sentence(name):
    rule, _, accepted = RULES[name]
    assert accepted <= ODD.keys()
    for kind, value in ODD.items():
        with about(kind):
            if kind in accepted:
                rule("parameter", value)
                continue
            with pytest.raises(InputError) as caught:
                rule("parameter", value)
            message = str(caught.value)
            assert message.startswith("parameter must be ")
            assert message.endswith(".")
            assert "\n" not in message
            assert len(message) < 300


def test_messages_say_what_is_taken_and_what_was_given():
    for rule, value, message in (
        (parameters.count(), np.int64(0), "p must be an integer of at least 1, got 0."),
        (parameters.count(2, 5), 6, "p must be an integer from 2 to 5, got 6."),
        (parameters.count(sensible=9), 10, "p must be at most 9, got 10."),
        (parameters.positive(), NAN, "p must be a positive number less than infinity, got nan."),
        (parameters.positive(4.0), 5, "p must be a positive number of at most 4, got 5."),
        (parameters.between(0, 1), 2, "p must be a number from 0 to 1, got 2."),
        (
            parameters.choice(["standard", None]),
            "standart",
            "p must be one of 'standard', None, got 'standart' (did you mean 'standard'?).",
        ),
        (
            parameters.either("auto", parameters.count()),
            0,
            "p must be 'auto' or an integer of at least 1, got 0.",
        ),
        (
            parameters.count(),
            Speechless(),
            "p must be an integer of at least 1, got a value of type Speechless.",
        ),
    ):
        with pytest.raises(InputError) as caught:
            rule("p", value)
        assert str(caught.value) == message


def test_what_is_of_another_type_is_a_type_error():
    for rule in (
        parameters.boolean(),
        parameters.text(),
        parameters.texts(),
        parameters.axes(),
        parameters.mapping(),
        parameters.either(None, parameters.boolean()),
    ):
        with pytest.raises(InputTypeError, match="must be"):
            rule("p", 5)
    assert issubclass(InputTypeError, TypeError)


def test_numbers_beyond_the_largest_float_are_infinite():
    assert parameters.as_float(10**400) == math.inf
    assert parameters.as_float(Fraction(-(10**400), 3)) == -math.inf
    assert parameters.as_float(Fraction(1, 4)) == 0.25


def test_only_what_has_a_rule_is_checked():
    rules = {"a": parameters.count()}
    assert parameters.checked({"a": np.int8(2), "b": "x"}, rules) == {"a": 2, "b": "x"}
    with pytest.raises(InputError, match="a must be"):
        parameters.checked({"a": 0, "b": "x"}, rules)

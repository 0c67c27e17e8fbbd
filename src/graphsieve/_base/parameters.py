"""Validation rules for scalar parameters.

A rule is a function that takes the name and the value of a parameter. It returns the value to use,
or raises `InputError` with a one-sentence message.
"""

from __future__ import annotations

import difflib
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np

from graphsieve._base.errors import InputError, InputTypeError
from graphsieve._base.messages import Message, Part, message_of, parameter

Rule = Callable[[str, Any], Any]
MOST_COMPARED = 20_000  # options among which a similar one is sought
MOST_SHOWN = 80  # maximum number of characters of a value in a message


def quoted(value: Any, most: int = MOST_SHOWN) -> str:
    """Format a value for a message: on one line, shortened, and 0 rather than np.int64(0)."""
    try:
        text = repr(value.item() if isinstance(value, np.generic) else value)
    except Exception:
        # `repr` of the object fails, or the integer has more digits than Python converts.
        text = f"a value of type {type(value).__name__}"
    return one_line(text, most)


def setting(name: str, value: Any) -> Part:
    """Mark a parameter with its given value, such as ``scale='rank'``."""
    return Part(f"{name}={quoted(value)}", "setting", name, value)


def remedy(name: str, value: Any) -> Part:
    """Mark a parameter with a value to use instead, such as ``metric='euclidean'``."""
    return Part(f"{name}={quoted(value)}", "remedy", name, value)


def must_be(name: str, expected: str, value: Any, *, hint: str = "") -> Message:
    """Return the message for a parameter with an invalid value."""
    sentence = f" must be {expected}, got {quoted(value)}{hint}."
    return Message(parameter(name, value), sentence)


def as_text(value: Any) -> str:
    """Return ``str(value)``, or a description of the value if `str` fails."""
    try:
        return str(value)
    except Exception:
        return quoted(value)


def one_line(text: str, most: int = 2 * MOST_SHOWN) -> str:
    """Format text on one line: without line breaks and control characters, and shortened.

    Examples
    --------
    >>> one_line("two\\nlines, \\x1b[31mred")
    'two lines, ·[31mred'
    """
    words = " ".join(text.split())
    shown = words if len(words) <= most else words[: most - 1] + "…"
    return "".join(character if character.isprintable() else "·" for character in shown)


def as_float(value: Any) -> float:
    """Convert a real number to a float. Numbers beyond the float range, such as 10**400, become
    infinite.
    """
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def is_collection(value: Any) -> TypeGuard[Iterable[Any]]:
    """Whether a value can be iterated over.

    Arrays without dimensions are excluded: they are `Iterable`, but iteration raises an error.
    """
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


def count(minimum: int = 1, maximum: int | None = None, *, sensible: int | None = None) -> Rule:
    """Accept an integer from `minimum` to `maximum`, but no boolean.

    `sensible` is an upper limit that the message mentions only if the value exceeds it.
    """
    limits = f"of at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"

    def check(name: str, value: Any) -> int:
        is_integer = isinstance(value, Integral) and not isinstance(value, bool)
        if not is_integer or int(value) < minimum or (maximum is not None and int(value) > maximum):
            raise InputError(must_be(name, f"an integer {limits}", value))
        if sensible is not None and int(value) > sensible:
            raise InputError(must_be(name, f"at most {sensible:,}", value))
        return int(value)

    return check


def whole_number() -> Rule:
    """Accept any integer, but no boolean."""

    def check(name: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise InputError(must_be(name, "an integer", value))
        return int(value)

    return check


def jobs() -> Rule:
    """Accept a number of jobs as scikit-learn defines it: None or an integer other than 0.

    Negative numbers count down from all cores.
    """

    def check(name: str, value: Any) -> int | None:
        if value is not None and (
            not isinstance(value, Integral) or isinstance(value, bool) or value == 0
        ):
            raise InputError(
                must_be(name, "None or an integer other than 0 (-1 for all cores)", value)
            )
        return None if value is None else int(value)

    return check


def positive(most: float = sys.float_info.max) -> Rule:
    """Accept a number greater than 0 and at most `most`."""
    limit = "less than infinity" if most == sys.float_info.max else f"of at most {most:g}"

    def check(name: str, value: Any) -> float:
        if (
            isinstance(value, bool)
            or not isinstance(value, Real)
            or not 0 < as_float(value) <= most
        ):
            raise InputError(must_be(name, f"a positive number {limit}", value))
        return float(value)

    return check


def between(low: float, high: float) -> Rule:
    """Accept a number in the closed interval from `low` to `high`."""

    def check(name: str, value: Any) -> float:
        if (
            isinstance(value, bool)
            or not isinstance(value, Real)
            or not low <= as_float(value) <= high
        ):
            raise InputError(must_be(name, f"a number from {low:g} to {high:g}", value))
        return float(value)

    return check


def boolean() -> Rule:
    """Accept True or False."""

    def check(name: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise InputTypeError(must_be(name, "True or False", value))
        return value

    return check


def text() -> Rule:
    """Accept any string."""

    def check(name: str, value: Any) -> str:
        if not isinstance(value, str):
            raise InputTypeError(must_be(name, "a string", value))
        return value

    return check


def texts() -> Rule:
    """Accept a sequence of strings, or a single string as a sequence of one."""

    def check(name: str, value: Any) -> tuple[str, ...]:
        parts = (
            (value,)
            if isinstance(value, str)
            else tuple(value)
            if is_collection(value)
            else (value,)
        )
        odd = next((part for part in parts if not isinstance(part, str)), None)
        if any(not isinstance(part, str) for part in parts):
            raise InputTypeError(must_be(name, "a list of strings", odd))
        return parts

    return check


def axes() -> Rule:
    """Accept None or matplotlib Axes. The check does not import matplotlib."""

    def check(name: str, value: Any) -> Any:
        if value is not None and not (hasattr(value, "barh") and hasattr(value, "figure")):
            raise InputTypeError(must_be(name, "None or a matplotlib Axes object", value))
        return value

    return check


def mapping() -> Rule:
    """Accept a mapping of parameter names to values."""

    def check(name: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise InputTypeError(must_be(name, "a dict of parameter names and values", value))
        return dict(value)

    return check


def choice(options: Iterable[str | None]) -> Rule:
    """Accept one of a few words. The error message suggests the most similar one."""
    allowed = tuple(options)

    def check(name: str, value: Any) -> str | None:
        if any(
            value is option or (isinstance(value, str) and value == option) for option in allowed
        ):
            return None if value is None else str(value)
        listed = ", ".join(repr(option) for option in allowed)
        raise InputError(must_be(name, f"one of {listed}", value, hint=nearest(value, allowed)))

    return check


def either(word: str | None, rule: Rule) -> Rule:
    """Accept the given word (such as ``"auto"``), or any value that `rule` accepts."""

    def check(name: str, value: Any) -> Any:
        if value is None if word is None else isinstance(value, str) and value == word:
            return value
        try:
            return rule(name, value)
        except InputError as error:
            wider = message_of(error).changed(
                lambda text: text.replace("must be ", f"must be {word!r} or ", 1)
            )
            raise type(error)(wider) from None

    return check


def nearest(value: Any, options: Iterable[Any]) -> str:
    """Return a hint such as ``" (did you mean 'fisher'?)"``, or an empty string."""
    words = [option for option in islice(options, MOST_COMPARED) if isinstance(option, str)]
    close = difflib.get_close_matches(value, words, n=1) if isinstance(value, str) else []
    return f" (did you mean {close[0]!r}?)" if close else ""


def checked(values: Mapping[str, Any], rules: Mapping[str, Rule]) -> dict[str, Any]:
    """Apply its rule to every value. A value without a rule is returned unchanged."""
    return {
        name: rules[name](name, value) if name in rules else value for name, value in values.items()
    }

"""Checks of scalar parameters: a small vocabulary that selectors and builders share.

A rule is a function from (name, value) to the value to use; it raises `InputError` with one
sentence otherwise.
"""

from __future__ import annotations

import difflib
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np

from graphsieve._base.errors import InputError, InputTypeError
from graphsieve._base.messages import Message, Part, message_of, parameter

Rule = Callable[[str, Any], Any]
MOST_SHOWN = 80  # characters of a value in a message


def quoted(value: Any, most: int = MOST_SHOWN) -> str:
    """A value as a message shows it: on one line, not too long, and 0 rather than np.int64(0)."""
    try:
        text = repr(value.item() if isinstance(value, np.generic) else value)
    except Exception:
        # Of an object without words, or of a number with more digits than Python writes
        text = f"a value of type {type(value).__name__}"
    return one_line(text, most)


def setting(name: str, value: Any) -> Part:
    """A parameter and what it was given, such as ``scale='rank'``."""
    return Part(f"{name}={quoted(value)}", "setting", name, value)


def remedy(name: str, value: Any) -> Part:
    """A parameter and what to give it instead, such as ``metric='euclidean'``."""
    return Part(f"{name}={quoted(value)}", "remedy", name, value)


def must_be(name: str, expected: str, value: Any, *, hint: str = "") -> Message:
    """What to say of a parameter with a value that it cannot have."""
    said = f" must be {expected}, got {quoted(value)}{hint}."
    return Message(parameter(name, value), said)


def as_text(value: Any) -> str:
    """What `str` gives, also of what it fails at."""
    try:
        return str(value)
    except Exception:
        return quoted(value)


def one_line(text: str, most: int = 2 * MOST_SHOWN) -> str:
    """A text with its line breaks as blanks and without what would steer a terminal, cut where it
    is too long.

    Examples
    --------
    >>> one_line("two\\nlines, \\x1b[31mred")
    'two lines, ·[31mred'
    """
    words = " ".join(text.split())
    shown = words if len(words) <= most else words[: most - 1] + "…"
    return "".join(character if character.isprintable() else "·" for character in shown)


def as_float(value: Any) -> float:
    """A real number as a float; infinite where it is too large for one, as 10**400 and some
    fractions are.
    """
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def has_parts(value: Any) -> TypeGuard[Iterable[Any]]:
    """Whether it can be gone through; an array without dimensions says so of itself, and fails."""
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


def count(minimum: int = 1, maximum: int | None = None, *, sensible: int | None = None) -> Rule:
    """A whole number of at least `minimum`; booleans are not numbers here.

    `sensible` is a limit that only those hear of who exceed it.
    """
    limits = f"of at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"

    def check(name: str, value: Any) -> int:
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not whole or int(value) < minimum or (maximum is not None and int(value) > maximum):
            raise InputError(must_be(name, f"a whole number {limits}", value))
        if sensible is not None and int(value) > sensible:
            raise InputError(must_be(name, f"at most {sensible:,}", value))
        return int(value)

    return check


def whole_number() -> Rule:
    """Any whole number; booleans are not numbers here."""

    def check(name: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise InputError(must_be(name, "a whole number", value))
        return int(value)

    return check


def jobs() -> Rule:
    """As in scikit-learn: None, or a whole number other than 0, of which negative ones count
    from all cores downwards.
    """

    def check(name: str, value: Any) -> int | None:
        if value is not None and (
            not isinstance(value, Integral) or isinstance(value, bool) or value == 0
        ):
            raise InputError(
                must_be(name, "None or a whole number other than 0 (-1 for all cores)", value)
            )
        return None if value is None else int(value)

    return check


def positive(most: float = sys.float_info.max) -> Rule:
    """A number above zero, and at most `most`."""
    limit = "finite" if most == sys.float_info.max else f"up to {most:g}"

    def check(name: str, value: Any) -> float:
        if (
            isinstance(value, bool)
            or not isinstance(value, Real)
            or not 0 < as_float(value) <= most
        ):
            raise InputError(must_be(name, f"a positive number, {limit}", value))
        return float(value)

    return check


def between(low: float, high: float) -> Rule:
    """A number in the closed interval from `low` to `high`."""

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
    """True or False."""

    def check(name: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise InputTypeError(must_be(name, "True or False", value))
        return value

    return check


def text() -> Rule:
    """Any text."""

    def check(name: str, value: Any) -> str:
        if not isinstance(value, str):
            raise InputTypeError(must_be(name, "a text", value))
        return value

    return check


def texts() -> Rule:
    """Several texts; one alone stands for itself."""

    def check(name: str, value: Any) -> tuple[str, ...]:
        parts = (
            (value,) if isinstance(value, str) else tuple(value) if has_parts(value) else (value,)
        )
        odd = next((part for part in parts if not isinstance(part, str)), None)
        if any(not isinstance(part, str) for part in parts):
            raise InputTypeError(must_be(name, "a list of texts", odd))
        return parts

    return check


def axes() -> Rule:
    """None, or one pair of axes of matplotlib, which is not asked for here."""

    def check(name: str, value: Any) -> Any:
        if value is not None and not (hasattr(value, "barh") and hasattr(value, "figure")):
            raise InputTypeError(must_be(name, "None or one pair of matplotlib's axes", value))
        return value

    return check


def mapping() -> Rule:
    """Further parameters by their names."""

    def check(name: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise InputTypeError(must_be(name, "a dict of parameter names and values", value))
        return dict(value)

    return check


def choice(options: Iterable[str | None]) -> Rule:
    """One of a few words; the error suggests the nearest."""
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
    """The given word (such as ``"auto"``), or whatever `rule` accepts."""

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
    """A hint such as ``" (did you mean 'fisher'?)"``, or nothing."""
    words = [option for option in options if isinstance(option, str)]
    close = difflib.get_close_matches(value, words, n=1) if isinstance(value, str) else []
    return f" (did you mean {close[0]!r}?)" if close else ""


def checked(values: Mapping[str, Any], rules: Mapping[str, Rule]) -> dict[str, Any]:
    """Every value after its rule; a value without a rule is passed as it is."""
    return {
        name: rules[name](name, value) if name in rules else value for name, value in values.items()
    }

"""Conversion of labels, targets, probabilities and pairs to checked arrays.

The module `containers` does the same for X.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.errors import ConstraintConflictError, InputError, InputTypeError, warn
from graphsieve._base.messages import keyword, numbered, parameter, phrase
from graphsieve._base.parameters import (
    as_float,
    as_text,
    either,
    one_line,
    quoted,
    remedy,
    whole_number,
)
from graphsieve.table.categories import is_date
from graphsieve.table.containers import LARGEST_EXACT_INTEGER

SUM_TOLERANCE = 1e-6  # for the sums of probabilities and for single probabilities above 1
SMALL_SUM = 2.0**-900  # rows with a smaller sum are scaled before they are summed
FEW_COLUMNS = 64  # up to this number of columns, rows are reduced column by column
# Largest rounding error of target values, relative to the larger value: 8 units in the last place
EQUAL_VALUES = 8 * 2.0**-52
MOST_INTEGER_CLASSES = 100  # an integer target with more distinct values is continuous
# The same limit for integers stored as floats. Integers with missing values are stored in this way.
MOST_FLOAT_CLASSES = 20
LARGEST_PLAIN_CODE = 3  # Integers up to this number are codes, even if few are known.
LARGEST_SMALL_CODE = 10  # Integers up to this number are codes if a third of them are repetitions.
# Class names that may stand for samples without a label
UNKNOWN = frozenset(
    (
        *("unknown", "unk", "missing", "undefined", "unspecified", "unlabelled", "unlabeled"),
        *("not known", "not available", "not specified", "no data"),
        *("?", "??", "???", "-", "--", "."),
    )
)
FEW_SINGLE_SAMPLES = 3  # More classes than this with one sample each raise a warning.


NO_PAIRS: Integers = np.empty((0, 2), dtype=np.int64)


def read_labels(y: Any, unlabeled: int | None, what: str = "y") -> tuple[Integers, NDArray[Any]]:
    """Return class codes, with −1 for unlabelled samples, and the sorted classes they index.

    Messages call the labels `what`.
    """
    unlabeled = either(None, whole_number())("unlabeled", unlabeled)
    values = one_dimensional(y, what)
    given, marked = _given_and_marked(values, unlabeled)
    if unlabeled == -1 and marked.any():
        _refuse_if_minus_one_is_a_class(values[given])
    known = given & ~marked
    _refuse_numbers_and_text(values[known], what)
    classes, codes = _sorted_classes(values[known])
    _warn_of_names_alike(classes, what)
    if what == "y":
        _warn_of_unknown_classes(classes)
    labels = np.full(len(values), -1, dtype=np.int64)
    labels[known] = codes
    return labels, classes


def labeled_samples(y: Any, unlabeled: int | None) -> Booleans:
    """Whether each sample has a label.

    The number `unlabeled` is never treated as a class here, regardless of the other labels.
    """
    given, marked = _given_and_marked(
        one_dimensional(y), either(None, whole_number())("unlabeled", unlabeled)
    )
    return given & ~marked


def marked_samples(y: Any, unlabeled: int | None) -> Booleans:
    """Whether each sample is marked as unlabelled by the number `unlabeled`."""
    several = several_columns(y)
    if several is not None:
        return all_known(read_targets(several)) & ~all_known(
            read_several(several, "auto", unlabeled)
        )
    return _given_and_marked(one_dimensional(y), unlabeled)[1]


def _given_and_marked(values: NDArray[Any], unlabeled: int | None) -> tuple[Booleans, Booleans]:
    """Whether each value is not missing, and whether it equals the number `unlabeled`."""
    given = ~_missing(values)
    if unlabeled is None or values.dtype.kind not in "iufO":
        return given, np.zeros(len(values), dtype=bool)
    return given, given & _equal(values, unlabeled)


def _refuse_if_minus_one_is_a_class(values: NDArray[Any]) -> None:
    if _are_plus_and_minus_one(values):
        raise InputError(
            "all labels are -1 or 1, but -1 marks an unlabelled sample, so that all known labels are "
            "of one class; ",
            phrase("pass"),
            " ",
            remedy("unlabeled", None),
            " if -1 is a class, or add samples of another class if it is not.",
        )
    if _any_below(values, -1):
        raise InputError(
            "labels hold numbers below -1, so that -1 may be a class, but it marks an "
            "unlabelled sample; ",
            phrase("pass"),
            " ",
            remedy("unlabeled", None),
            " if -1 is a class.",
        )


def _refuse_numbers_and_text(values: NDArray[Any], what: str) -> None:
    """Refuse a mixture such as 1 and "1", in which one class may have two names."""
    if values.dtype.kind != "O":
        return
    texts = [value for value in values if isinstance(value, str | bytes)]
    numbers = [value for value in values if isinstance(value, Real | Decimal | np.bool_)]
    if texts and numbers:
        raise InputTypeError(
            parameter(what),
            f" mixes numbers and text, such as {one_line(as_text(numbers[0]))} and "
            f"{quoted(texts[0])}; make them all text or all numbers.",
        )


def _warn_of_names_alike(names: NDArray[Any], what: str) -> None:
    """Warn about names that may be one name in two spellings, such as TRUE and true, or 01 and 1."""
    seen: dict[str, Any] = {}
    for name in names.tolist() if names.dtype.kind in "USO" else ():
        other = seen.setdefault(_spelling(name), name) if isinstance(name, str | bytes) else name
        if other is not name:
            labels, several, one = (
                ("labels", "classes", "class") if what == "y" else ("groups", "groups", "group")
            )
            warn(
                f"{labels} {quoted(other)} and {quoted(name)} are two {several}, but may be one "
                f"{one} in two spellings; write them alike if they are one."
            )
            return


def _warn_of_unknown_classes(names: NDArray[Any]) -> None:
    """Warn about a class that may stand for samples without a label, such as "unknown"."""
    texts = [name for name in names.tolist() if isinstance(name, str)]
    unknown = UNKNOWN - {"-"} if "+" in texts else UNKNOWN  # "-" and "+" are two classes.
    found = [name for name in texts if _spelling(name) in unknown]
    if found:
        warn(
            f"{quoted(found[0])} is one of {len(names)} classes, but may mark unlabelled ",
            phrase("samples"),
            "; ",
            phrase("replace it by None"),
            " if it does.",
        )


def _spelling(name: str | bytes) -> str:
    """Return a text that is equal for different spellings of a name.

    Case, blanks, the Unicode form and leading zeros do not count.
    """
    text = name.decode(errors="replace") if isinstance(name, bytes) else name
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return plain.lstrip("0") if plain.isdecimal() else plain


def readable_classes(classes: NDArray[Any]) -> NDArray[Any]:
    """Return the classes in a form that models accept.

    Text, booleans and integers are returned as a plain array. In all other cases the result is 0,
    1, ….
    """
    plain = np.array(classes.tolist()) if classes.dtype.kind == "O" else classes
    whole = plain.dtype.kind != "f" or bool((plain == np.floor(plain)).all())
    if (
        plain.ndim == 1
        and plain.dtype.kind in "biufU"
        and whole
        and len(np.unique(plain)) == len(classes)
    ):
        return plain
    return np.arange(len(classes))


def several_columns(y: Any) -> NDArray[Any] | None:
    """Return y as an array if it has several columns, and else None."""
    if sp.issparse(y):
        return np.asarray(y.toarray()) if y.ndim == 2 and y.shape[1] > 1 else None
    if type(y).__name__ == "Supervision":  # refused by `one_dimensional`
        return None
    values = _as_array(y, "y")
    return values if values.ndim == 2 and values.shape[1] > 1 else None


def read_several(values: NDArray[Any], target_type: str, unlabeled: int | None) -> Floats:
    """Return several targets, given several columns of quantities or of classes 0 and 1.

    Among classes, the number `unlabeled` marks an unknown value.
    """
    targets = read_targets(values)
    marked = targets == unlabeled
    odd = np.argwhere(~(np.isnan(targets) | (targets == 0) | (targets == 1) | marked))
    if target_type == "classes" and len(odd):
        raise InputError(
            parameter("y"),
            f" is {targets[tuple(odd[0])]:g} at ",
            numbered("row", odd[0][0]),
            ", ",
            numbered("column", odd[0][1]),
            "; several columns of classes must hold 0 and 1; ",
            phrase("pass"),
            " ",
            remedy("target_type", "continuous"),
            " for several quantities.",
        )
    if target_type != "continuous" and not len(odd):
        targets[marked] = np.nan
    return targets


def all_known(values: Floats) -> Booleans:
    """Whether all values of each sample are known, given one or several targets."""
    missing = np.isnan(values)
    return np.asarray(~missing if values.ndim == 1 else ~missing.any(axis=1))


def read_targets(y: Any) -> Floats:
    """Return one or several continuous targets, with NaN for unknown values."""
    several = several_columns(y)
    if several is not None:
        return np.stack([read_targets(column) for column in several.T], axis=1)
    values = one_dimensional(y)
    if values.dtype.kind in "US":
        raise InputTypeError(
            "a continuous target must be numeric, got text; convert it by astype(float), or use "
            "from_labels for classes."
        )
    if values.dtype.kind == "O":
        values = np.array(
            [_number(value, "a continuous target") for value in values], dtype=np.float64
        )
    with np.errstate(over="ignore"):
        targets = values.astype(np.float64)
    infinite = np.flatnonzero(np.isinf(targets))
    if len(infinite):
        raise InputError(
            f"the target is infinite at row {infinite[0]}; use NaN for an unknown value."
        )
    # Some files mark missing values by a signalling NaN, which causes warnings in computations.
    # All NaN are therefore replaced by the ordinary one.
    targets[np.isnan(targets)] = np.nan
    return _joined_by_rounding(targets)


def _joined_by_rounding(targets: Floats) -> Floats:
    """Return targets in which values that differ only by rounding are equal.

    For example, 0.1 + 0.2 becomes 0.3. Otherwise the unit would decide whether they are equal.
    Values that form a longer chain of such differences are kept, because they may be measured so
    finely.
    """
    order = np.argsort(targets)
    ordered = targets[order]
    apart = np.ones(len(ordered), dtype=bool)
    # Differences may overflow. Differences to NaN, which is last, separate values as well.
    with np.errstate(over="ignore"):
        apart[1:] = ~(ordered[1:] - ordered[:-1] <= EQUAL_VALUES * np.abs(ordered[1:]))
        first = np.flatnonzero(apart)
        size = np.diff(first, append=len(ordered))
        last = first + size - 1
        near = ordered[last] - ordered[first] <= EQUAL_VALUES * np.abs(ordered[last])
    joined = np.repeat(near & (size > 1), size)
    targets[order[joined]] = np.repeat(ordered[first], size)[joined]
    return targets


def looks_like_classes(values: NDArray[Any], unlabeled: int | None) -> bool:
    """Whether y is treated as classes rather than as a continuous target.

    `Supervision.from_y` states the rule.
    """
    known = values[~_missing(values)]
    most = MOST_INTEGER_CLASSES
    if values.dtype.kind == "O" and all(_is_number(value) for value in known):
        if len(known) and all(isinstance(value, Integral) for value in known):
            return _are_codes(Counter(known.tolist()), most, unlabeled)
        known = np.array([_number(value, parameter("y")) for value in known], dtype=np.float64)
    if known.dtype.kind not in "iuf":
        return True
    if known.dtype.kind == "f":
        most = MOST_FLOAT_CLASSES
        with np.errstate(over="ignore"):
            known = known.astype(np.float64)  # float16 cannot represent 2**53.
        if (
            not len(known)
            or not (known == np.floor(known)).all()
            or np.abs(known).max() > LARGEST_EXACT_INTEGER
        ):
            return False  # Beyond 2**53 every float is an integer, so being one means nothing.
    different, counts = np.unique(known, return_counts=True)
    return _are_codes(dict(zip(different.tolist(), counts.tolist(), strict=True)), most, unlabeled)


def _are_codes(counts: dict[Any, int], most: int, unlabeled: int | None) -> bool:
    """Whether integers, with the number of samples of each, are codes of classes."""
    marked = unlabeled is not None and counts.pop(unlabeled, 0) > 0
    if min(counts, default=0) < -1:
        return False  # Class codes are not below −1, unlike temperatures or ratings.
    if marked:
        _check_marked_codes(counts, unlabeled)
        return True  # A continuous target has no mark of unlabelled samples.
    largest, fewest = max(counts, default=0), min(counts.values(), default=0)
    return (
        largest <= LARGEST_PLAIN_CODE
        or (largest <= LARGEST_SMALL_CODE and 3 * len(counts) <= 2 * sum(counts.values()))
        or (len(counts) <= most and fewest >= 2)
    )


def _check_marked_codes(counts: dict[Any, int], unlabeled: int | None) -> None:
    """Refuse too many different integers beside the mark, and warn if none repeats."""
    if len(counts) > MOST_INTEGER_CLASSES:
        raise InputError(
            parameter("y"),
            f" holds {len(counts)} different integers beside {unlabeled}, which "
            "may be classes or a continuous target; use ",
            remedy("target_type", "classes"),
            " or ",
            remedy("target_type", "continuous"),
            ".",
        )
    if len(counts) > FEW_SINGLE_SAMPLES and max(counts.values()) == 1:
        warn(
            parameter("y"),
            f" was read as {len(counts)} classes with one sample each; for a quantity, replace "
            f"{unlabeled} by NaN and use ",
            remedy("target_type", "continuous"),
            ".",
        )


def read_probabilities(label_proba: Any, *, normalize: bool) -> Floats:
    """Return class probabilities. Every row sums to one, or is NaN for an unlabelled sample."""
    proba = _two_dimensional_floats(label_proba)
    if proba.shape[1] < 2:
        raise InputError(
            parameter("label_proba"),
            f" needs a column for each of at least 2 classes, got shape {proba.shape}.",
        )
    unknown = np.isnan(_by_row(np.minimum, proba))
    if unknown.any():
        _refuse_partly_unknown(proba, unknown)
        proba[unknown] = 1 / proba.shape[1]
    totals = _checked_totals(proba, normalize)
    if totals.min() < SMALL_SUM or totals.max() > 1 / SMALL_SUM:
        # Scaling by powers of two is exact and prevents overflow and underflow of the sums.
        proba = np.ldexp(proba, -np.frexp(proba.max(axis=1, keepdims=True))[1])
        totals = _by_row(np.add, proba)
    proba /= totals[:, None]
    proba[unknown] = np.nan
    return proba


def _refuse_partly_unknown(proba: Floats, unknown: Booleans) -> None:
    """Refuse rows with some NaN, given the rows that contain any."""
    partly = np.flatnonzero(unknown & ~np.isnan(proba).all(axis=1))
    if len(partly):
        row = int(partly[0])
        raise InputError(
            parameter("label_proba"),
            " is NaN at ",
            numbered("row", row),
            ", ",
            numbered("column", int(np.isnan(proba[row]).argmax())),
            ", but not in the whole row; give all probabilities of a sample, or none of them if it "
            "is unlabelled.",
        )


def spread_confidence(confidence: Any, codes: Integers, n_classes: int) -> Floats:
    """Return class probabilities: the confidence for the label, the rest divided among the others.

    The probabilities of unlabelled samples, which have the code −1, are NaN.
    """
    labeled = np.flatnonzero(codes >= 0)
    if n_classes < 2:
        raise InputError(
            parameter("confidence"),
            f" needs labels of at least 2 classes, got {n_classes}; leave it out.",
        )
    shares = _confidence_of_each(confidence, len(codes))
    # A share of 1/n_classes may be rounded downwards.
    odd = labeled[~((shares[labeled] >= 1 / n_classes - 1e-9) & (shares[labeled] <= 1))]
    if len(odd):
        raise InputError(
            parameter("confidence"),
            f" is {shares[odd[0]]:g} at ",
            numbered("row", odd[0]),
            f"; expected a probability from 1/{n_classes} (all {n_classes} classes are equally "
            "probable) to 1.",
        )
    proba = np.full((len(codes), n_classes), np.nan)
    proba[labeled] = ((1 - shares[labeled]) / (n_classes - 1))[:, None]
    proba[labeled, codes[labeled]] = shares[labeled]
    return proba


def _confidence_of_each(confidence: Any, n_samples: int) -> Floats:
    """Return the confidence of each sample, given one number or one for each sample."""
    values = _as_array(confidence, "confidence")
    if values.ndim == 0:
        values = np.repeat(values, n_samples)
    if values.shape != (n_samples,):
        raise InputError(
            parameter("confidence"),
            f" has shape {values.shape}; expected one number, or one for each of the {n_samples} ",
            phrase("samples"),
            ".",
        )
    if values.dtype.kind not in "biufO":
        raise InputTypeError(parameter("confidence"), f" must be numeric, got {values.dtype}.")
    return np.array([_number(value, parameter("confidence")) for value in values])


def _by_row(reduction: np.ufunc, values: Floats) -> Floats:
    """Return the reduction of each row.

    Short rows are reduced column by column, because numpy reduces short rows slowly.
    """
    if values.shape[1] > FEW_COLUMNS:
        return np.asarray(reduction.reduce(values, axis=1))
    total = values[:, 0].copy()
    for column in values.T[1:]:
        reduction(total, column, out=total)
    return total


def one_dimensional(y: Any, what: str = "y") -> NDArray[Any]:
    """Return y as a 1-D array, and refuse types that are neither labels nor targets.

    Messages call it `what`.
    """
    if sp.issparse(y):
        raise InputTypeError(
            parameter(what), " is sparse; pass a dense array of shape (n_samples,)."
        )
    # The class is compared by name, because its module imports this one.
    if type(y).__name__ == "Supervision":
        raise InputTypeError(
            parameter(what),
            " is a Supervision; pass the labels or targets themselves, or pass it to a sieve as ",
            keyword("supervision"),
            ".",
        )
    values = _as_array(y, what)
    if values.ndim == 0:
        raise InputTypeError(
            parameter(what),
            f" is a {type(y).__name__}; expected one value per sample, shape (n_samples,).",
        )
    if values.ndim == 2 and values.shape[1] == 1:
        warn(
            parameter(what),
            f" has shape {values.shape}; a column-vector {what} was passed when a 1d array was "
            f"expected. Please change the shape of {what} to (n_samples,), for example using ravel().",
            category=DataConversionWarning,
        )
        values = values.ravel()
    if values.ndim != 1:
        raise InputError(
            parameter(what),
            f" has shape {values.shape}; expected one value per sample, shape (n_samples,).",
        )
    _check_kind_of_y(values, what)
    return values


def _check_kind_of_y(values: NDArray[Any], what: str) -> None:
    known = values[~_missing(values)] if values.dtype.kind == "O" else values[:0]
    if values.dtype.kind in "Mm" or any(is_date(value) for value in known):
        raise InputError(
            parameter(what), " holds dates; convert them to numbers or classes explicitly."
        )
    if values.dtype.kind == "c" or any(
        isinstance(value, complex | np.complexfloating) for value in known
    ):
        raise InputError(
            parameter(what),
            " holds complex numbers; expected classes or real values. Complex data not supported.",
        )
    if values.dtype.kind == "V":
        raise InputTypeError(
            parameter(what), " holds structured records; expected one value per sample."
        )


def _as_array(values: Any, name: str) -> NDArray[Any]:
    """Return the values as a plain array, with None for masked values.

    A list that contains text becomes an object array, so that None and NaN in it are not converted
    to text.
    """
    if isinstance(values, np.ma.MaskedArray):
        plain = np.asarray(values.data)
        if plain.dtype.kind != "V" and np.ma.is_masked(values):
            plain = plain.astype(object)
            plain[np.ma.getmaskarray(values)] = None
        return plain
    try:
        array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
    except Exception as error:
        # A tensor on a GPU raises a TypeError, and its message gives the remedy.
        kind = InputTypeError if isinstance(error, TypeError) else InputError
        raise kind(
            parameter(name),
            f" could not be read as an array ({one_line(f'{type(error).__name__}: {error}')}).",
        ) from error
    if array.dtype.kind in "US" and isinstance(values, list | tuple):
        return np.array(values, dtype=object)
    return array.astype(object) if array.dtype.kind == "T" else array


def _missing(values: NDArray[Any]) -> Booleans:
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind in "US":
        return np.asarray(np.char.strip(values) == ("" if values.dtype.kind == "U" else b""))
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=bool)
    return np.array([_is_missing(value) for value in values], dtype=bool)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str | bytes):
        return not value.strip()
    if isinstance(value, Decimal):
        return value.is_nan()  # Comparing a signalling NaN raises an error.
    return _is_number(value) and bool(value != value)  # noqa: PLR0124 - only NaN differs from itself


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | Decimal) and not isinstance(value, bool)


def _is_known_number(value: Any) -> bool:
    return _is_number(value) and not _is_missing(value)


def _equal(values: NDArray[Any], number: int) -> Booleans:
    if values.dtype.kind != "O":
        return (
            _floats_equal(values, as_float(number))
            if values.dtype.kind == "f"
            else np.asarray(values == number)
        )
    return np.array(
        [_is_known_number(value) and bool(value == number) for value in values], dtype=bool
    )


def _floats_equal(values: NDArray[Any], number: float) -> Booleans:
    with np.errstate(over="ignore"):
        wide = values.astype(np.float64)  # In half precision, 2**63 would be infinite.
    return np.asarray((wide == number) & np.isfinite(wide))


def _any_below(values: NDArray[Any], number: int) -> bool:
    if values.dtype.kind != "O":
        return bool((values < number).any())
    return any(_is_known_number(value) and value < number for value in values)


def _are_plus_and_minus_one(values: NDArray[Any]) -> bool:
    plus = _equal(values, 1)
    return bool(plus.any() and (plus | _equal(values, -1)).all())


def _sorted_classes(values: NDArray[Any]) -> tuple[NDArray[Any], Integers]:
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise InputError("labels hold an infinite number; use None or NaN for an unknown label.")
    if (
        values.dtype.kind in "iu"
        and len(values)
        and int(values.max()) - int(values.min()) < len(values)
    ):
        # Counting the numbers between the smallest and the largest is faster than sorting. The type
        # is widened because differences may overflow, such as 100 - (-100) in int8.
        wide = values if values.dtype.itemsize == 8 else values.astype(np.int64)
        shifted = (wide - wide.min()).astype(np.int64)
        present = np.bincount(shifted) > 0
        classes = np.flatnonzero(present).astype(wide.dtype) + wide.min()
        return classes.astype(values.dtype), (np.cumsum(present) - 1)[shifted]
    if values.dtype.kind != "O":
        classes, codes = np.unique(values, return_inverse=True)
        return classes, codes.astype(np.int64)
    try:
        distinct = list(dict.fromkeys(values))
    except TypeError as error:
        raise InputTypeError(
            f"labels must be text, numbers or other hashable values ({one_line(str(error))})."
        ) from error
    try:
        distinct.sort()
    except Exception:  # Mixed types, such as numbers and text, can only be compared as text.
        distinct.sort(key=as_text)
    place = {name: code for code, name in enumerate(distinct)}
    classes = np.empty(len(distinct), dtype=object)
    classes[:] = distinct
    return classes, np.array([place[value] for value in values], dtype=np.int64)


def _number(value: Any, name: str) -> float:
    """Convert an object to a float, with NaN for a missing value."""
    if _is_missing(value):
        return float("nan")
    if isinstance(value, str | bytes):
        raise InputTypeError(name, f" must be numeric, got {quoted(value)}; convert text by float.")
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise InputTypeError(name, f" must be numeric, got {quoted(value)}.") from error
    except OverflowError:
        return float("inf")


def _two_dimensional_floats(label_proba: Any) -> Floats:
    if sp.issparse(label_proba):
        raise InputTypeError(
            parameter("label_proba"),
            " is sparse; pass a dense array of shape (n_samples, n_classes).",
        )
    array = _as_array(label_proba, "label_proba")
    if array.dtype.kind == "O":
        array = np.array(
            [_number(value, parameter("label_proba")) for value in array.flat]
        ).reshape(array.shape)
    if array.dtype.kind not in "biuf":
        raise InputTypeError(parameter("label_proba"), f" must be numeric, got {array.dtype}.")
    values = array.astype(np.float64)
    if values.ndim != 2 or not len(values):
        raise InputError(
            parameter("label_proba"),
            f" must have shape (n_samples, n_classes), got {values.shape}.",
        )
    return values


def _checked_totals(proba: Floats, normalize: bool) -> Floats:
    """Return the sums of the rows, and refuse invalid probabilities."""
    # Valid input needs only the extremes. If there is a NaN, both extremes are NaN.
    if not (
        proba.min() >= 0
        and proba.max() <= (np.finfo(np.float64).max if normalize else 1 + SUM_TOLERANCE)
    ):
        odd = ~np.isfinite(proba) | (proba < 0) | ((proba > 1 + SUM_TOLERANCE) & (not normalize))
        row, column = (int(place) for place in np.argwhere(odd)[0])
        raise InputError(
            parameter("label_proba"),
            f" is {proba[row, column]:g} at ",
            numbered("row", row),
            ", ",
            numbered("column", column),
            "; probabilities must be between 0 and 1; convert logits by softmax.",
        )
    with np.errstate(over="ignore"):
        totals = _by_row(np.add, proba)
    empty = np.flatnonzero(totals == 0)
    if len(empty):
        raise InputError(
            numbered("row", empty[0]),
            " of ",
            parameter("label_proba"),
            " is all zero; write NaN everywhere if the class is unknown.",
        )
    off = np.flatnonzero(np.abs(totals - 1) > SUM_TOLERANCE)
    if len(off) and not normalize:
        raise InputError(
            numbered("row", off[0]),
            " of ",
            parameter("label_proba"),
            f" sums to {totals[off[0]]:.9g}, not 1 ({len(off)} such rows); ",
            phrase("pass"),
            " ",
            remedy("normalize", True),
            " to accept.",
        )
    return totals


def read_pairs(pairs: Any, n_samples: int, name: str) -> Integers:
    """Return the distinct pairs of sample indices, with the lower index first."""
    if sp.issparse(pairs):
        raise InputTypeError(
            parameter(name), " is sparse; pass an integer array of shape (n_pairs, 2)."
        )
    values = _as_array(
        list(pairs) if isinstance(pairs, set | frozenset | Iterator) else pairs, name
    )
    if values.size == 0 and values.ndim in (1, 2):
        return NO_PAIRS
    if values.ndim != 2 or values.shape[1] != 2:
        raise InputError(parameter(name), f" must have shape (n_pairs, 2), got {values.shape}.")
    if values.dtype.kind not in "iu" and not _all_integers(values):
        raise InputError(
            parameter(name), f" must hold integers: indices must be integers, got {values.dtype}."
        )
    outside = np.argwhere((values < 0) | (values >= n_samples))
    if len(outside):
        row = int(outside[0, 0])
        raise InputError(
            parameter(name),
            f" pair {row} is ({quoted(values[row, 0])}, {quoted(values[row, 1])}), but "
            f"samples are numbered 0 to {n_samples - 1}; in cross-validation pass a "
            "Supervision of all samples, which is sliced together with X.",
        )
    values = values.astype(np.int64)
    itself = values[:, 0] == values[:, 1]
    if itself.any():
        sample = int(values[itself][0, 0])
        if name == "cannot_link":
            raise ConstraintConflictError(
                parameter("cannot_link"), f" links sample {sample} with itself; remove this pair."
            )
        warn(
            parameter(name),
            f" links sample {sample} with itself; {int(itself.sum())} such pairs are left out.",
        )
    return distinct_pairs(values[~itself])


def _all_integers(values: NDArray[Any]) -> bool:
    """Whether an object array, for example from nullable columns, contains only integers."""
    return values.dtype.kind == "O" and all(
        isinstance(v, Integral) and not isinstance(v, bool) for v in values.flat
    )


def distinct_pairs(pairs: Integers) -> Integers:
    return np.unique(np.sort(pairs, axis=1), axis=0) if len(pairs) else NO_PAIRS

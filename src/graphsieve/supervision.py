"""What is known of the samples: labels, targets, class probabilities, must-link and cannot-link pairs.

A `Supervision` is checked once, when it is made, and is as long as the samples, so that scikit-learn slices it together with
X in cross-validation (a bare list of index pairs would be passed on unsliced and point at the wrong rows).
"""

from __future__ import annotations

import warnings
from collections import deque
from dataclasses import dataclass, field, replace
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import DataConversionWarning

from graphsieve.containers import LARGEST_EXACT_INTEGER, is_date
from graphsieve.errors import ConstraintConflictError, GraphSieveWarning, InputError, InputTypeError
from graphsieve.parameters import choice

SUM_TOLERANCE = 1e-6
MOST_INTEGER_CLASSES = 100  # an integer target with more distinct values is taken for a quantity
MOST_FLOAT_CLASSES = 20  # likewise for whole numbers stored as floats, as integers with missing values are
CLASSES_SHOWN = 5

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
TargetType = Literal["auto", "classes", "continuous"]
Kind = Literal["labels", "targets", "probabilities", "pairs"]

NO_PAIRS: Integers = np.empty((0, 2), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Supervision:
    """Everything known of the samples. Make one with `from_labels`, `from_targets`, `from_probabilities` or `from_pairs`.

    Two are joined with ``|``. Indexing by rows gives what is known of those rows: pairs with both ends inside are kept and
    renumbered.

    Attributes
    ----------
    n_samples : int
        Number of samples it speaks of.
    labels : array of int or None
        Class codes, −1 where unknown; they index `classes`.
    classes : array or None
        The class names as given, sorted.
    targets : array of float or None
        A continuous target, NaN where unknown.
    probabilities : array of float of shape (n_samples, n_classes) or None
        Class probabilities; every row sums to one.
    must_link, cannot_link : array of int of shape (n_pairs, 2)
        Distinct pairs, the lower index first.

    Examples
    --------
    >>> known = Supervision.from_labels(["a", None, "b"]) | Supervision.from_pairs(3, must_link=[(0, 1)])
    >>> known
    Supervision(3 samples: 2 labels in 2 classes, 1 must-link, 0 cannot-link)
    >>> known[[1, 0]].must_link
    array([[0, 1]])
    """

    n_samples: int
    labels: Integers | None = None
    classes: NDArray[Any] | None = None
    targets: Floats | None = None
    probabilities: Floats | None = None
    must_link: Integers = field(default_factory=lambda: NO_PAIRS)
    cannot_link: Integers = field(default_factory=lambda: NO_PAIRS)

    @classmethod
    def nothing(cls, n_samples: int) -> Supervision:
        """Nothing is known."""
        return cls(n_samples)

    @classmethod
    def from_labels(cls, y: ArrayLike, *, unlabeled: int | None = -1) -> Supervision:
        """Class labels of any type; None, NaN, NA, empty text and the number `unlabeled` mark the unknown ones.

        Parameters
        ----------
        y : array of shape (n_samples,)
            The labels.
        unlabeled : int or None
            The number that marks an unknown label; None if every number is a class.
        """
        if unlabeled is not None and (isinstance(unlabeled, bool) or not isinstance(unlabeled, Integral)):
            raise InputError(
                f"unlabeled must be a whole number or None (None, NaN and empty text always are), got {unlabeled!r}."
            )
        values = _one_dimensional(y)
        known = ~_missing(values)
        if unlabeled is not None and values.dtype.kind in "iufO":
            marked = np.array([known[i] and _equals(values[i], unlabeled) for i in range(len(values))], dtype=bool)
            if marked.any() and _are_plus_and_minus_one(values[known]):
                raise InputError(
                    "labels are -1 and +1, but -1 marks an unlabelled sample; "
                    "pass unlabeled=None if -1 is a class, or recode the labels as 0 and 1."
                )
            known &= ~marked
        classes, codes = _sorted_classes(values[known])
        labels = np.full(len(values), -1, dtype=np.int64)
        labels[known] = codes
        return cls(len(values), labels=labels, classes=classes)

    @classmethod
    def from_targets(cls, y: ArrayLike) -> Supervision:
        """A continuous target; NaN, None and NA mark the unknown values."""
        values = _one_dimensional(y)
        if values.dtype.kind in "US":
            raise InputTypeError("a continuous target must be numeric, got text; use from_labels for classes.")
        if values.dtype.kind == "O":
            values = np.array([_number(value, "a continuous target") for value in values], dtype=np.float64)
        with np.errstate(over="ignore"):
            targets = values.astype(np.float64)
        infinite = np.flatnonzero(np.isinf(targets))
        if len(infinite):
            raise InputError(f"the target is infinite at row {infinite[0]}; use NaN for an unknown value.")
        return cls(len(targets), targets=targets)

    @classmethod
    def from_y(cls, y: ArrayLike, *, target_type: TargetType = "auto", unlabeled: int | None = -1) -> Supervision:
        """Labels or a continuous target, whichever `y` is by its type and values.

        Text, booleans and categories are classes. So are integers with at most 100 different values (or with the unlabelled
        mark among them), and whole numbers stored as floats with at most 20. All other numbers are a continuous target.
        """
        kind = choice(("auto", "classes", "continuous"))("target_type", target_type)
        values = _one_dimensional(y)
        if kind == "auto":
            categories = str(getattr(y, "dtype", "")) == "category"
            kind = "classes" if categories or _looks_like_classes(values, unlabeled) else "continuous"
        return cls.from_labels(values, unlabeled=unlabeled) if kind == "classes" else cls.from_targets(values)

    @classmethod
    def from_probabilities(
        cls, label_proba: ArrayLike, *, classes: ArrayLike | None = None, normalize: bool = False
    ) -> Supervision:
        """Class probabilities, one row per sample, as doubting experts give them.

        Parameters
        ----------
        label_proba : array of shape (n_samples, n_classes)
            Rows sum to one.
        classes : array of shape (n_classes,), optional
            Names of the columns, needed to join with labels that are not 0, 1, ….
        normalize : bool
            Accept non-negative rows of any positive sum and divide by it.
        """
        proba = _two_dimensional_floats(label_proba)
        if proba.shape[1] < 2:
            raise InputError(f"label_proba needs a column for each of at least 2 classes, got shape {proba.shape}.")
        _check_probabilities(proba, normalize)
        names = np.arange(proba.shape[1]) if classes is None else np.asarray(classes)
        if names.shape != (proba.shape[1],):
            raise InputError(f"classes must name the {proba.shape[1]} columns of label_proba, got shape {names.shape}.")
        if len({_class_key(name) for name in names}) < len(names):
            raise InputError(f"classes must name the columns of label_proba differently, got {names.tolist()}.")
        proba = np.ldexp(proba, -np.frexp(proba.max(axis=1, keepdims=True))[1])  # exact, and no sum overflows
        return cls(len(proba), probabilities=proba / proba.sum(axis=1, keepdims=True), classes=names)

    @classmethod
    def from_pairs(cls, n_samples: int, must_link: ArrayLike = (), cannot_link: ArrayLike = ()) -> Supervision:
        """Pairs of sample indices that belong together (`must_link`) or apart (`cannot_link`), each of shape (n_pairs, 2)."""
        if isinstance(n_samples, bool) or not isinstance(n_samples, int | np.integer) or n_samples < 1:
            raise InputError(f"n_samples must be the number of samples, a positive whole number, got {n_samples!r}.")
        pairs = cls(
            int(n_samples),
            must_link=_checked_pairs(must_link, int(n_samples), "must_link"),
            cannot_link=_checked_pairs(cannot_link, int(n_samples), "cannot_link"),
        )
        pairs._check_consistency()
        return pairs

    @property
    def shape(self) -> tuple[int]:
        return (self.n_samples,)

    def __len__(self) -> int:
        return self.n_samples

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of knowledge that hold at least one known thing."""
        present: list[tuple[Kind, bool]] = [
            ("labels", self.labels is not None and bool((self.labels >= 0).any())),
            ("targets", self.targets is not None and not bool(np.isnan(self.targets).all())),
            ("probabilities", self.probabilities is not None),
            ("pairs", bool(len(self.must_link) or len(self.cannot_link))),
        ]
        return tuple(kind for kind, there in present if there)

    @property
    def codes(self) -> Integers:
        """The class codes of all samples, −1 for all of them where no labels were given."""
        return np.full(self.n_samples, -1, dtype=np.int64) if self.labels is None else self.labels

    @property
    def n_labeled(self) -> int:
        """How many samples have a known label or target."""
        known = np.zeros(self.n_samples, dtype=bool)
        if self.labels is not None:
            known |= self.labels >= 0
        if self.targets is not None:
            known |= ~np.isnan(self.targets)
        return int(known.sum())

    @property
    def n_known_classes(self) -> int:
        """How many different classes occur among the known labels."""
        return 0 if self.labels is None else len(np.unique(self.labels[self.labels >= 0]))

    def __or__(self, other: object) -> Supervision:
        if not isinstance(other, Supervision):
            return NotImplemented
        if self.n_samples != other.n_samples:
            raise InputError(f"cannot join what is known of {self.n_samples} samples with what is known of {other.n_samples}.")
        for kind in ("labels", "targets", "probabilities"):
            if getattr(self, kind) is not None and getattr(other, kind) is not None:
                raise InputError(f"both sides of | bring {kind}; keep one of them.")
        labels, names = _joined_classes(self, other)
        joined = Supervision(
            self.n_samples,
            labels=labels,
            classes=names,
            targets=self.targets if self.targets is not None else other.targets,
            probabilities=self.probabilities if self.probabilities is not None else other.probabilities,
            must_link=_distinct_pairs(np.concatenate([self.must_link, other.must_link])),
            cannot_link=_distinct_pairs(np.concatenate([self.cannot_link, other.cannot_link])),
        )
        joined._check_consistency()
        joined._warn_of_disagreement()
        return joined

    def __getitem__(self, key: Any) -> Supervision:
        # scikit-learn indexes anything with a shape as array[rows, ...].
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]
        rows = np.arange(self.n_samples)[key]
        if rows.ndim != 1:
            raise InputError("index what is known by rows: a slice, a mask or an array of row numbers.")

        def sliced(values: NDArray[Any] | None) -> Any:
            return None if values is None else values[rows]

        return replace(
            self,
            n_samples=len(rows),
            labels=sliced(self.labels),
            targets=sliced(self.targets),
            probabilities=sliced(self.probabilities),
            must_link=_renumbered(self.must_link, rows, self.n_samples),
            cannot_link=_renumbered(self.cannot_link, rows, self.n_samples),
        )

    def __repr__(self) -> str:
        parts = []
        if self.labels is not None:
            parts.append(f"{int((self.labels >= 0).sum())} labels in {self.n_known_classes} classes")
        if self.targets is not None:
            parts.append(f"{int((~np.isnan(self.targets)).sum())} targets")
        if self.probabilities is not None:
            parts.append(f"probabilities of {self.probabilities.shape[1]} classes")
        if "pairs" in self.kinds:
            parts += [f"{len(self.must_link)} must-link", f"{len(self.cannot_link)} cannot-link"]
        return f"Supervision({self.n_samples} samples: {', '.join(parts) or 'nothing known'})"

    def label_probabilities(self) -> Floats:
        """The probabilities, with certainty where a label is known; for labels alone, certainty and nothing else."""
        if self.probabilities is None:
            raise InputError("there are no class probabilities.")
        proba = self.probabilities.copy()
        if self.labels is not None:
            known = np.flatnonzero(self.labels >= 0)
            proba[known] = 0.0
            proba[known, self.labels[known]] = 1.0
        return proba

    def _warn_of_disagreement(self) -> None:
        if self.probabilities is None or self.labels is None:
            return
        known = np.flatnonzero(self.labels >= 0)
        against = int((self.probabilities[known].argmax(axis=1) != self.labels[known]).sum())
        if against:
            warnings.warn(
                f"{against} known labels disagree with the most probable class; the labels win.",
                GraphSieveWarning,
                stacklevel=3,
            )

    def _check_consistency(self) -> None:
        """Refuse pairs and labels that contradict each other, and show the chain of reasons."""
        if not len(self.must_link) and not len(self.cannot_link):
            return
        links = _Links(self)
        for one, other in self.cannot_link[links.together(self.cannot_link)]:
            raise ConstraintConflictError(
                f"samples {one} and {other} are cannot-linked, yet belong together: {links.chain(int(one), int(other))}."
            )
        clash = links.classes_in_one_component()
        if clash is not None:
            one, other = clash
            raise ConstraintConflictError(
                f"samples {one} and {other} have different labels, yet belong together: {links.chain(one, other)}."
            )


class _Links:
    """Samples joined by must-links and, through a node for each class, by equal labels."""

    def __init__(self, known: Supervision) -> None:
        self._known = known
        n, labels = known.n_samples, known.labels
        labeled = np.empty(0, dtype=np.int64) if labels is None else np.flatnonzero(labels >= 0)
        ends = [known.must_link]
        if labels is not None:
            ends.append(np.stack([labeled, n + labels[labeled]], axis=1))
        edges = np.concatenate(ends)
        size = n + (0 if labels is None else int(labels.max(initial=-1)) + 1)
        self._adjacency = sp.csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(size, size))
        self._adjacency = sp.csr_array(self._adjacency + self._adjacency.T)
        self._component = sp.csgraph.connected_components(self._adjacency, directed=False)[1]

    def together(self, pairs: Integers) -> NDArray[np.bool_]:
        return np.asarray(self._component[pairs[:, 0]] == self._component[pairs[:, 1]])

    def classes_in_one_component(self) -> tuple[int, int] | None:
        labels, n = self._known.labels, self._known.n_samples
        if labels is None:
            return None
        seen: dict[int, int] = {}
        for node in range(n, self._adjacency.shape[0]):
            other = seen.setdefault(int(self._component[node]), node)
            if other != node and (labels == node - n).any() and (labels == other - n).any():
                return self._nearest_members(other, node)
        return None

    def _nearest_members(self, one_class: int, other_class: int) -> tuple[int, int]:
        path = self._path(one_class, other_class)
        return path[1], path[-2]

    def chain(self, start: int, end: int) -> str:
        n, classes = self._known.n_samples, self._known.classes
        words = []
        for node in self._path(start, end):
            if node < n:
                words.append(str(node))
            else:
                words.append(f"(both labelled {str(classes[node - n])!r})" if classes is not None else "")
        return " = ".join(words)

    def _path(self, start: int, end: int) -> list[int]:
        """A shortest chain of links; classes are not passed through on the way between two classes' members."""
        came_from: dict[int, int] = {start: -1}
        queue = deque([start])
        while queue and end not in came_from:
            node = queue.popleft()
            for neighbor in self._adjacency.indices[self._adjacency.indptr[node] : self._adjacency.indptr[node + 1]]:
                if int(neighbor) not in came_from:
                    came_from[int(neighbor)] = node
                    queue.append(int(neighbor))
        path = [end]
        while came_from[path[-1]] != -1:
            path.append(came_from[path[-1]])
        return path[::-1]


def _one_dimensional(y: Any) -> NDArray[Any]:
    if sp.issparse(y):
        raise InputTypeError("y is sparse; pass a dense array of shape (n_samples,).")
    values = _as_array(y, "y")
    if values.ndim == 0:
        raise InputTypeError(f"y is a {type(y).__name__}; expected one value per sample, shape (n_samples,).")
    if values.ndim == 2 and values.shape[1] == 1:
        warnings.warn(
            f"y has shape {values.shape}; a column-vector y was passed when a 1d array was expected. "
            "Please change the shape of y to (n_samples,), for example using ravel().",
            DataConversionWarning,
            stacklevel=3,
        )
        values = values.ravel()
    if values.ndim != 1:
        raise InputError(f"y has shape {values.shape}; expected one value per sample, shape (n_samples,).")
    _check_kind_of_y(values)
    return values


def _check_kind_of_y(values: NDArray[Any]) -> None:
    known = values[~_missing(values)] if values.dtype.kind == "O" else values[:0]
    if values.dtype.kind in "Mm" or any(is_date(value) for value in known):
        raise InputError("y holds dates; convert them to numbers or classes explicitly.")
    if values.dtype.kind == "c" or any(isinstance(value, complex | np.complexfloating) for value in known):
        raise InputError("y holds complex numbers; expected classes or real values. Complex data not supported.")
    if values.dtype.kind == "V":
        raise InputTypeError("y holds structured records; expected one value per sample.")


def _as_array(values: Any, name: str) -> NDArray[Any]:
    """The values as a plain array, None for what is masked; text in a list keeps the None and NaN beside it."""
    if isinstance(values, np.ma.MaskedArray):
        plain = np.asarray(values.data)
        if plain.dtype.kind != "V" and np.ma.is_masked(values):
            plain = plain.astype(object)
            plain[np.ma.getmaskarray(values)] = None
        return plain
    try:
        array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
    except Exception as error:
        raise InputError(f"{name} could not be read as an array: {type(error).__name__}: {error}") from error
    if array.dtype.kind in "US" and isinstance(values, list | tuple):
        return np.array(values, dtype=object)
    return array.astype(object) if array.dtype.kind == "T" else array


def _missing(values: NDArray[Any]) -> NDArray[np.bool_]:
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
    return _is_number(value) and bool(value != value)  # noqa: PLR0124 - only NaN differs from itself


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | Decimal) and not isinstance(value, bool)


def _equals(value: Any, number: int) -> bool:
    return _is_number(value) and bool(value == number)


def _are_plus_and_minus_one(values: NDArray[Any]) -> bool:
    return all(_equals(value, 1) or _equals(value, -1) for value in values) and any(_equals(v, 1) for v in values)


def _sorted_classes(values: NDArray[Any]) -> tuple[NDArray[Any], Integers]:
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise InputError("labels hold an infinite number; use None or NaN for an unknown label.")
    if values.dtype.kind != "O":
        classes, codes = np.unique(values, return_inverse=True)
        return classes, codes.astype(np.int64)
    try:
        distinct = list(dict.fromkeys(values))
    except TypeError as error:
        raise InputTypeError(f"labels must be text, numbers or the like: {error}.") from error
    try:
        distinct.sort()
    except TypeError:  # a mixture such as numbers and text cannot be compared; its text can
        distinct.sort(key=str)
    place = {name: code for code, name in enumerate(distinct)}
    classes = np.empty(len(distinct), dtype=object)
    classes[:] = distinct
    return classes, np.array([place[value] for value in values], dtype=np.int64)


def _number(value: Any, name: str) -> float:
    """A number that came as an object; NaN where it is missing."""
    if _is_missing(value):
        return float("nan")
    if isinstance(value, str | bytes):
        raise InputTypeError(f"{name} must be numeric, got {value!r}.")
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"{name} must be numeric, got {value!r}.") from error
    except OverflowError:
        return float("inf")


def _looks_like_classes(values: NDArray[Any], unlabeled: int | None) -> bool:
    known = values[~_missing(values)]
    if values.dtype.kind == "O" and all(_is_number(value) for value in known):
        if len(known) and all(isinstance(value, Integral) for value in known):
            return _few_integers(set(known), unlabeled)
        known = np.array([_number(value, "y") for value in known], dtype=np.float64)
    if known.dtype.kind not in "iuf":
        return True
    if known.dtype.kind == "f":
        if not len(known) or not (known == np.floor(known)).all() or np.abs(known).max() > LARGEST_EXACT_INTEGER:
            return False  # beyond 2**53 every float is a whole number, which says nothing
        return len(np.unique(known)) <= MOST_FLOAT_CLASSES
    return _few_integers(set(np.unique(known).tolist()), unlabeled)


def _few_integers(values: set[int], unlabeled: int | None) -> bool:
    return len(values) <= MOST_INTEGER_CLASSES or unlabeled in values


def _two_dimensional_floats(label_proba: Any) -> Floats:
    if sp.issparse(label_proba):
        raise InputTypeError("label_proba is sparse; pass a dense array of shape (n_samples, n_classes).")
    array = _as_array(label_proba, "label_proba")
    if array.dtype.kind == "O":
        array = np.array([_number(value, "label_proba") for value in array.flat]).reshape(array.shape)
    if array.dtype.kind not in "biuf":
        raise InputTypeError(f"label_proba must be numeric, got {array.dtype}.")
    values = array.astype(np.float64)
    if values.ndim != 2 or not len(values):
        raise InputError(f"label_proba must have shape (n_samples, n_classes), got {values.shape}.")
    return values


def _check_probabilities(proba: Floats, normalize: bool) -> None:
    odd = ~np.isfinite(proba) | (proba < 0) | ((proba > 1 + SUM_TOLERANCE) & (not normalize))
    if odd.any():
        row, column = (int(place) for place in np.argwhere(odd)[0])
        raise InputError(f"label_proba is {proba[row, column]:g} at row {row}, column {column}; probabilities lie from 0 to 1.")
    with np.errstate(over="ignore"):
        totals = proba.sum(axis=1)
    empty = np.flatnonzero(totals == 0)
    if len(empty):
        raise InputError(f"row {empty[0]} of label_proba is all zero; write 1/n_classes everywhere if nothing is known.")
    off = np.flatnonzero(np.abs(totals - 1) > SUM_TOLERANCE)
    if len(off) and not normalize:
        raise InputError(
            f"row {off[0]} of label_proba sums to {totals[off[0]]:.9g}, not 1 ({len(off)} such rows); "
            "pass normalize=True to accept."
        )


def _checked_pairs(pairs: Any, n_samples: int, name: str) -> Integers:
    if sp.issparse(pairs):
        raise InputTypeError(f"{name} is sparse; pass an integer array of shape (n_pairs, 2).")
    values = _as_array(list(pairs) if isinstance(pairs, set | frozenset) else pairs, name)
    if values.size == 0 and values.ndim in (1, 2):
        return NO_PAIRS
    if values.ndim != 2 or values.shape[1] != 2:
        raise InputError(f"{name} must have shape (n_pairs, 2), got {values.shape}.")
    if values.dtype.kind not in "iu" and not _all_integers(values):
        raise InputError(f"{name} must hold integers: indices must be integers, got {values.dtype}.")
    outside = np.argwhere((values < 0) | (values >= n_samples))
    if len(outside):
        row = int(outside[0, 0])
        raise InputError(
            f"{name} pair {row} is ({values[row, 0]}, {values[row, 1]}), but samples are numbered 0 to {n_samples - 1}; "
            "in cross-validation pass a Supervision of all samples, which is sliced with them."
        )
    values = values.astype(np.int64)
    itself = values[:, 0] == values[:, 1]
    if itself.any():
        sample = int(values[itself][0, 0])
        if name == "cannot_link":
            raise ConstraintConflictError(f"cannot_link says that sample {sample} does not belong with itself.")
        warnings.warn(
            f"{name} links sample {sample} with itself; {int(itself.sum())} such pairs are left out.",
            GraphSieveWarning,
            stacklevel=4,
        )
    return _distinct_pairs(values[~itself])


def _all_integers(values: NDArray[Any]) -> bool:
    """Whether an array of objects, as nullable columns give, holds integers only."""
    return values.dtype.kind == "O" and all(isinstance(v, Integral) and not isinstance(v, bool) for v in values.flat)


def _distinct_pairs(pairs: Integers) -> Integers:
    return np.unique(np.sort(pairs, axis=1), axis=0) if len(pairs) else NO_PAIRS


def _renumbered(pairs: Integers, rows: Integers, n_samples: int) -> Integers:
    """Pairs among the chosen rows by their new numbers; a row chosen twice is in each of its pairs twice."""
    if not len(pairs):
        return NO_PAIRS
    chosen = sp.csr_array((np.ones(len(rows)), (np.arange(len(rows)), rows)), shape=(len(rows), n_samples))
    linked = sp.csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n_samples, n_samples))
    found = (chosen @ linked @ chosen.T).tocoo()
    return _distinct_pairs(np.stack([found.row, found.col], axis=1).astype(np.int64))


def _joined_classes(one: Supervision, other: Supervision) -> tuple[Integers | None, NDArray[Any] | None]:
    """Labels and class names of a union; labels are recoded to the columns of the probabilities, if there are any."""
    with_labels = one if one.labels is not None else other
    with_proba = one if one.probabilities is not None else other
    if with_labels.labels is None or with_proba.probabilities is None or with_labels is with_proba:
        return with_labels.labels, with_labels.classes if with_labels.labels is not None else with_proba.classes
    assert with_labels.classes is not None
    assert with_proba.classes is not None
    place = {_class_key(name): column for column, name in enumerate(with_proba.classes)}
    unknown = [str(name) for name in with_labels.classes if _class_key(name) not in place]
    if unknown:
        raise InputError(
            f"label {unknown[0]!r} is none of the classes of label_proba ({', '.join(list(place)[:CLASSES_SHOWN])}); "
            "name the columns with classes=."
        )
    recode = np.array([place[_class_key(name)] for name in with_labels.classes] + [-1], dtype=np.int64)
    return recode[with_labels.labels], with_proba.classes


def _class_key(name: Any) -> str:
    """What two names of one class have in common: 1, 1.0 (a label beside missing ones) and True are the same class."""
    whole = isinstance(name, Integral | np.bool_) or (isinstance(name, float | np.floating) and float(name).is_integer())
    return str(int(name)) if whole else str(name)

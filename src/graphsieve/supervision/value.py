"""Supervision of the samples: labels, targets, class probabilities, must-link and cannot-link
pairs.

A `Supervision` is checked once, when it is created. Its length is the number of samples, so
scikit-learn slices it together with X in cross-validation. A plain list of index pairs would not be
sliced, and its indices would refer to the wrong rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError, warn
from graphsieve._base.messages import parameter, phrase
from graphsieve._base.parameters import as_text, boolean, choice, one_line, quoted
from graphsieve.supervision.consistency import check_consistency
from graphsieve.supervision.parsing import (
    NO_PAIRS,
    distinct_pairs,
    looks_like_classes,
    one_dimensional,
    read_labels,
    read_pairs,
    read_probabilities,
    read_targets,
)

CLASSES_SHOWN = 5  # classes named in a message
MOST_SAMPLES = 2**48  # exceeds any memory, but numpy accepts it as the size of an array
MOST_BITS = 2000  # longer integers are written in hexadecimal

TargetType = Literal["auto", "classes", "continuous"]
Kind = Literal["labels", "targets", "probabilities", "pairs"]


@dataclass(frozen=True, eq=False)
class Supervision:
    """Labels, targets, class probabilities and pairs of the samples.

    Create one with `from_labels`, `from_targets`, `from_y`, `from_probabilities` or `from_pairs`.
    The operator ``|`` joins two of them. Indexing by rows returns the supervision of these rows.
    Pairs within these rows are kept and renumbered.

    Attributes
    ----------
    n_samples : int
        Number of samples.
    labels : array of int or None
        Class codes, which index `classes`, with −1 for unlabelled samples.
    classes : array or None
        The class names. The classes of labels are sorted, those of probabilities keep their order.
    targets : array of float or None
        Continuous target, with NaN for unknown values.
    probabilities : array of float of shape (n_samples, n_classes) or None
        Class probabilities. Every row sums to one.
    must_link, cannot_link : array of int of shape (n_pairs, 2)
        Distinct pairs of sample indices, with the lower index first.

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

    def __post_init__(self) -> None:
        for values in (
            self.labels,
            self.targets,
            self.probabilities,
            self.must_link,
            self.cannot_link,
        ):
            if values is not None:
                # The arrays were checked, so they must not change afterwards.
                values.flags.writeable = False

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields without cached properties."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the fields, and make the unpickled or copied arrays read-only again."""
        self.__dict__.update(state)
        self.__post_init__()

    @classmethod
    def nothing(cls, n_samples: int) -> Supervision:
        """Return an empty supervision of this number of samples."""
        return cls(_checked_size(n_samples))

    @classmethod
    def from_labels(cls, y: ArrayLike, *, unlabeled: int | None = -1) -> Supervision:
        """Create supervision from class labels.

        Parameters
        ----------
        y : array of shape (n_samples,)
            Labels of any type. None, NaN, NA, empty text and the number `unlabeled` mark unlabelled
            samples.
        unlabeled : int or None
            The number that marks an unlabelled sample, or None if every number is a class.
        """
        labels, classes = read_labels(y, unlabeled)
        return cls(len(labels), labels=labels, classes=classes)

    @classmethod
    def from_targets(cls, y: ArrayLike) -> Supervision:
        """Create supervision from a continuous target. NaN, None and NA mark unknown values.

        Values that differ only by rounding become equal, such as 0.1 + 0.2 and 0.3.
        """
        targets = read_targets(y)
        return cls(len(targets), targets=targets)

    @classmethod
    def from_y(
        cls, y: ArrayLike, *, target_type: TargetType = "auto", unlabeled: int | None = -1
    ) -> Supervision:
        """Create supervision from labels or a continuous target.

        With ``target_type="auto"``, the type and the values of `y` decide. Text, booleans and
        categories are classes. Integers with at most 100 different values are classes, and so are
        integers stored as floats with at most 20, unless some are below −1. All other numbers are a
        continuous target.
        """
        kind = choice(("auto", "classes", "continuous"))("target_type", target_type)
        values = one_dimensional(y)
        if kind == "auto":
            categories = str(getattr(y, "dtype", "")) == "category"
            kind = (
                "classes" if categories or looks_like_classes(values, unlabeled) else "continuous"
            )
        return (
            cls.from_labels(values, unlabeled=unlabeled)
            if kind == "classes"
            else cls.from_targets(values)
        )

    @classmethod
    def from_probabilities(
        cls, label_proba: ArrayLike, *, classes: ArrayLike | None = None, normalize: bool = False
    ) -> Supervision:
        """Create supervision from class probabilities, for example from uncertain experts.

        Parameters
        ----------
        label_proba : array of shape (n_samples, n_classes)
            Probabilities. Every row sums to one.
        classes : array of shape (n_classes,), optional
            Class names of the columns. They are needed to join the probabilities with labels other
            than 0, 1, …. The default is the column names of a data frame.
        normalize : bool
            Whether to accept rows of non-negative numbers with any positive sum, and divide them by
            their sum.
        """
        proba = read_probabilities(label_proba, normalize=boolean()("normalize", normalize))
        if classes is None:
            classes = getattr(label_proba, "columns", np.arange(proba.shape[1]))
        try:
            names = np.array(classes)  # a copy, because the caller may change the original
        except ValueError as error:
            raise InputError(
                parameter("classes", classes),
                " must be a list of names, one for each column of ",
                parameter("label_proba"),
                f", got {quoted(classes)}.",
            ) from error
        if names.shape != (proba.shape[1],):
            raise InputError(
                parameter("classes", classes),
                f" must name the {proba.shape[1]} columns of ",
                parameter("label_proba"),
                f", got shape {names.shape}.",
            )
        if len({_class_key(name) for name in names}) < len(names):
            raise InputError(
                parameter("classes", classes),
                " must have a different name for each column of ",
                parameter("label_proba"),
                f", got {quoted(names.tolist())}.",
            )
        return cls(len(proba), probabilities=proba, classes=names)

    @classmethod
    def from_pairs(
        cls, n_samples: int, must_link: ArrayLike = (), cannot_link: ArrayLike = ()
    ) -> Supervision:
        """Create supervision from pairs of sample indices.

        Parameters
        ----------
        n_samples : int
            Number of samples.
        must_link : array of shape (n_pairs, 2)
            Pairs of samples that belong to the same class.
        cannot_link : array of shape (n_pairs, 2)
            Pairs of samples that belong to different classes.
        """
        size = _checked_size(n_samples)
        pairs = cls(
            size,
            must_link=read_pairs(must_link, size, "must_link"),
            cannot_link=read_pairs(cannot_link, size, "cannot_link"),
        )
        pairs._check()
        return pairs

    @property
    def shape(self) -> tuple[int]:
        return (self.n_samples,)

    def __len__(self) -> int:
        return self.n_samples

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of supervision that are not empty."""
        present: list[tuple[Kind, bool]] = [
            ("labels", self.labels is not None and bool((self.labels >= 0).any())),
            ("targets", self.targets is not None and not bool(np.isnan(self.targets).all())),
            ("probabilities", self.probabilities is not None),
            ("pairs", bool(len(self.must_link) or len(self.cannot_link))),
        ]
        return tuple(kind for kind, there in present if there)

    @cached_property
    def codes(self) -> Integers:
        """The class codes of all samples. All are −1 if there are no labels."""
        if self.labels is not None:
            return self.labels
        unknown = np.full(self.n_samples, -1, dtype=np.int64)
        unknown.flags.writeable = False
        return unknown

    @cached_property
    def n_labeled(self) -> int:
        """Number of samples with a known label or target."""
        known = np.zeros(self.n_samples, dtype=bool)
        if self.labels is not None:
            known |= self.labels >= 0
        if self.targets is not None:
            known |= ~np.isnan(self.targets)
        return int(known.sum())

    @cached_property
    def n_known_classes(self) -> int:
        """Number of different classes among the known labels."""
        return (
            0
            if self.labels is None
            else int(np.count_nonzero(np.bincount(self.labels[self.labels >= 0])))
        )

    def __or__(self, other: object) -> Supervision:
        if not isinstance(other, Supervision):
            return NotImplemented
        if self.n_samples != other.n_samples:
            raise InputError(
                f"cannot join supervision of {self.n_samples} samples with supervision of "
                f"{other.n_samples}."
            )
        for kind in ("labels", "targets", "probabilities"):
            if getattr(self, kind) is not None and getattr(other, kind) is not None:
                raise InputError(f"both sides of | have {kind}; keep one of them.")
        labels, names = _joined_classes(self, other)
        joined = Supervision(
            self.n_samples,
            labels=labels,
            classes=names,
            targets=self.targets if self.targets is not None else other.targets,
            probabilities=self.probabilities
            if self.probabilities is not None
            else other.probabilities,
            must_link=distinct_pairs(np.concatenate([self.must_link, other.must_link])),
            cannot_link=distinct_pairs(np.concatenate([self.cannot_link, other.cannot_link])),
        )
        joined._check()
        joined._warn_of_disagreement()
        return joined

    def __getitem__(self, key: Any) -> Supervision:
        # scikit-learn indexes anything with a shape as array[rows, ...].
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]
        try:
            rows = np.arange(self.n_samples)[key]
        except (IndexError, TypeError, ValueError) as error:
            raise InputError(
                f"supervision of {self.n_samples} samples cannot be indexed by {quoted(key)}; "
                "index it by rows: a slice, "
                "a mask with one value per sample, or an array of row numbers."
            ) from error
        if rows.ndim != 1:
            raise InputError(
                "supervision must be indexed by rows: a slice, a mask or an array of row numbers."
            )

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
            parts.append(
                f"{int((self.labels >= 0).sum())} labels in {self.n_known_classes} classes"
            )
        if self.targets is not None:
            parts.append(f"{int((~np.isnan(self.targets)).sum())} targets")
        if self.probabilities is not None:
            parts.append(f"probabilities of {self.probabilities.shape[1]} classes")
        if "pairs" in self.kinds:
            parts += [f"{len(self.must_link)} must-link", f"{len(self.cannot_link)} cannot-link"]
        return f"Supervision({self.n_samples} samples: {', '.join(parts) or 'none'})"

    def label_probabilities(self) -> Floats:
        """Return the probabilities, with probability 1 for the class of each known label."""
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
            warn(
                f"{against} known labels disagree with the most probable class; the labels take "
                "precedence."
            )

    def _check(self) -> None:
        names = np.empty(0) if self.classes is None else self.classes
        check_consistency(self.codes, names, self.must_link, self.cannot_link)


def _checked_size(n_samples: Any) -> int:
    if (
        isinstance(n_samples, bool)
        or not isinstance(n_samples, int | np.integer)
        or not 1 <= n_samples <= MOST_SAMPLES
    ):
        raise InputError(
            parameter("n_samples", n_samples),
            f" must be the number of samples, a positive integer, got {quoted(n_samples)}.",
        )
    return int(n_samples)


def _renumbered(pairs: Integers, rows: Integers, n_samples: int) -> Integers:
    """Return the pairs within the selected rows, with the new row numbers.

    The pairs of a row that is selected twice occur for both copies.
    """
    if not len(pairs):
        return NO_PAIRS
    chosen = sp.csr_array(
        (np.ones(len(rows)), (np.arange(len(rows)), rows)), shape=(len(rows), n_samples)
    )
    linked = sp.csr_array(
        (np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n_samples, n_samples)
    )
    found = (chosen @ linked @ chosen.T).tocoo()
    return distinct_pairs(np.stack([found.row, found.col], axis=1).astype(np.int64))


def _joined_classes(
    one: Supervision, other: Supervision
) -> tuple[Integers | None, NDArray[Any] | None]:
    """Return the labels and class names of a union.

    Labels are recoded to the columns of the probabilities, if there are any.
    """
    with_labels = one if one.labels is not None else other
    with_proba = one if one.probabilities is not None else other
    if with_labels.labels is None or with_proba.probabilities is None or with_labels is with_proba:
        return (
            with_labels.labels,
            with_labels.classes if with_labels.labels is not None else with_proba.classes,
        )
    assert with_labels.classes is not None
    assert with_proba.classes is not None
    place = {_class_key(name): column for column, name in enumerate(with_proba.classes)}
    unknown = [as_text(name) for name in with_labels.classes if _class_key(name) not in place]
    if unknown:
        shown = one_line(", ".join(list(place)[:CLASSES_SHOWN]))
        raise InputError(
            f"label {quoted(unknown[0])} is none of the classes of ",
            parameter("label_proba"),
            f" ({shown}); ",
            phrase("name the columns with classes="),
            ".",
        )
    recode = np.array(
        [place[_class_key(name)] for name in with_labels.classes] + [-1], dtype=np.int64
    )
    return recode[with_labels.labels], with_proba.classes


def _class_key(name: Any) -> str:
    """Return a text that is equal for all names of a class.

    1, 1.0 and True are the same class. Integer labels become floats such as 1.0 if some labels are
    missing.
    """
    whole = isinstance(name, Integral | np.bool_) or (
        isinstance(name, float | np.floating) and float(name).is_integer()
    )
    if not whole:
        return as_text(name)
    number = int(name)
    # Python refuses to write very long integers in decimal.
    return str(number) if number.bit_length() < MOST_BITS else hex(number)

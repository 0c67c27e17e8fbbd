"""Supervision of the samples: labels, targets, class probabilities, must-link and cannot-link
pairs, and groups of samples that are not independent.

A `Supervision` is checked once, when it is created. Its length is the number of samples, so
scikit-learn slices it together with X in cross-validation. A plain list of index pairs would not be
sliced, and its indices would refer to the wrong rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Literal, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.errors import InputError, warn
from graphsieve._base.messages import parameter, phrase
from graphsieve._base.parameters import (
    as_text,
    boolean,
    choice,
    either,
    one_line,
    quoted,
    whole_number,
)
from graphsieve.supervision.consistency import check_consistency
from graphsieve.supervision.groups import Units, pairs_of_units, read_groups
from graphsieve.supervision.parsing import (
    NO_PAIRS,
    all_known,
    distinct_pairs,
    looks_like_classes,
    one_dimensional,
    read_labels,
    read_pairs,
    read_probabilities,
    read_several,
    read_targets,
    several_columns,
    spread_confidence,
)
from graphsieve.table.containers import refuse_other_index

CLASSES_SHOWN = 5  # classes named in a message
MOST_SAMPLES = 2**48  # exceeds any memory, but numpy accepts it as the size of an array
MOST_BITS = 2000  # longer integers are written in hexadecimal

TargetType = Literal["auto", "classes", "continuous"]
Kind = Literal["labels", "targets", "probabilities", "pairs"]


@dataclass(frozen=True, eq=False)
class Supervision:
    """Labels, targets, class probabilities, pairs and groups of the samples.

    Create one with `from_labels`, `from_targets`, `from_y`, `from_probabilities`, `from_pairs` or
    `from_groups`.
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
    targets : array of float of shape (n_samples,) or (n_samples, n_targets), or None
        One continuous target or several, with NaN for unknown values.
    probabilities : array of float of shape (n_samples, n_classes) or None
        Class probabilities. Every row sums to one, or is NaN for an unlabelled sample.
    must_link, cannot_link : array of int of shape (n_pairs, 2)
        Distinct pairs of sample indices, with the lower index first.
    groups : array of int or None
        A number for each sample, the same for all samples that are not independent.

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
    groups: Integers | None = None

    def __post_init__(self) -> None:
        for values in (
            self.labels,
            self.targets,
            self.probabilities,
            self.must_link,
            self.cannot_link,
            self.groups,
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
    def from_labels(
        cls,
        y: ArrayLike,
        *,
        unlabeled: int | None = -1,
        confidence: float | ArrayLike | None = None,
    ) -> Supervision:
        """Create supervision from class labels.

        Parameters
        ----------
        y : array of shape (n_samples,)
            Labels of any type. None, NaN, NA, empty text and the number `unlabeled` mark unlabelled
            samples.
        unlabeled : int or None
            The number that marks an unlabelled sample, or None if every number is a class.
        confidence : float or array of shape (n_samples,), optional
            The probability c that a label is correct, from 1/K (no information) to 1, for K
            classes. The result then contains class probabilities instead of labels: c for the class
            of the label, and (1 − c)/(K − 1) for each of the others (Doquire, Verleysen 2012).
            The confidence of unlabelled samples is not used.

        Examples
        --------
        >>> Supervision.from_labels(["a", "b", None], confidence=0.75).probabilities
        array([[0.75, 0.25],
               [0.25, 0.75],
               [ nan,  nan]])
        """
        labels, classes = read_labels(y, unlabeled)
        if confidence is None:
            return cls(len(labels), labels=labels, classes=classes)
        proba = spread_confidence(confidence, labels, len(classes))
        return cls(len(labels), probabilities=proba, classes=classes)

    @classmethod
    def from_targets(cls, y: ArrayLike) -> Supervision:
        """Create supervision from a continuous target, or from several in the columns of `y`.

        NaN, None and NA mark unknown values. Values that differ only by rounding, such as 0.1 + 0.2
        and 0.3, become equal.
        """
        targets = read_targets(y)
        return cls(len(targets), targets=targets)

    @classmethod
    def from_y(
        cls, y: ArrayLike, *, target_type: TargetType = "auto", unlabeled: int | None = -1
    ) -> Supervision:
        """Create supervision from labels or a continuous target.

        If `y` has several columns, they are several targets. `y` may then be sparse. A column of 0
        and 1 describes two classes and is also treated as a target. In such columns, the number
        `unlabeled` marks an unknown value. With ``target_type="classes"``, all columns must be of
        this kind.

        With ``target_type="auto"``, the type and the values of `y` decide. Text, booleans and
        categories are classes. Whole numbers are classes if none is below −1 and one of these
        conditions holds, not counting missing values and `unlabeled`:

        - `y` contains the number `unlabeled`, because a continuous target has no such mark. More
          than 100 different numbers are then refused. More than 3 different numbers, none of which
          occurs twice, raise a warning.
        - All are at most 3.
        - All are at most 10, and at most two thirds of the known values are different.
        - At most 100 are different (20 if they are stored as floats), and each occurs at least
          twice.

        All other numbers are a continuous target.

        Examples
        --------
        >>> Supervision.from_y([151, 75, 141, 206, 135, None])
        Supervision(6 samples: 5 targets)
        >>> Supervision.from_y([11, 11, 12, 12, None])
        Supervision(5 samples: 4 labels in 2 classes)
        """
        kind = choice(("auto", "classes", "continuous"))("target_type", target_type)
        unlabeled = either(None, whole_number())("unlabeled", unlabeled)
        several = several_columns(y)
        if several is not None:
            targets = read_several(several, kind, unlabeled)
            return cls(len(targets), targets=targets)
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
            Probabilities. Every row sums to one. A row of NaN is an unlabelled sample.
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

    @classmethod
    def from_groups(cls, groups: ArrayLike) -> Supervision:
        """Create supervision from groups of samples that are not independent.

        Parameters
        ----------
        groups : array of shape (n_samples,)
            Labels of any type, such as the subject of each measurement. The samples of a group stay
            together in every split, and count once in tests.

        Examples
        --------
        >>> Supervision.from_labels([0, 0, 1]) | Supervision.from_groups(["ann", "ann", "bob"])
        Supervision(3 samples: 3 labels in 2 classes, 2 groups)
        """
        codes = read_groups(groups)
        return cls(len(codes), groups=codes)

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
            ("probabilities", bool(self._has_probabilities.any())),
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

    @property
    def _has_probabilities(self) -> Booleans:
        if self.probabilities is None:
            return np.zeros(self.n_samples, dtype=bool)
        return ~np.isnan(self.probabilities[:, 0])

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        if self.targets is None:
            return 0
        return 1 if self.targets.ndim == 1 else self.targets.shape[1]

    def each_target(self) -> list[Supervision]:
        """Return the supervision with one target at a time."""
        if self.targets is None or self.targets.ndim == 1:
            return [self]
        return [replace(self, targets=target.copy()) for target in self.targets.T]

    @cached_property
    def labeled(self) -> Booleans:
        """Whether each sample has a known label, all targets or class probabilities."""
        known = (self.codes >= 0) | self._has_probabilities
        if self.targets is not None:
            known |= all_known(self.targets)
        known.flags.writeable = False
        return known

    @cached_property
    def n_labeled(self) -> int:
        """Number of samples with a known label, a target or class probabilities."""
        return int(self.labeled.sum())

    @cached_property
    def n_known_classes(self) -> int:
        """Number of different classes among the known labels."""
        return (
            0
            if self.labels is None
            else int(np.count_nonzero(np.bincount(self.labels[self.labels >= 0])))
        )

    @cached_property
    def n_independent(self) -> int:
        """Number of independent samples: the number of groups, if there are any."""
        return self.n_samples if self.groups is None else len(np.unique(self.groups))

    def units(self, rows: Integers | None = None) -> Units:
        """Return the samples in `rows` (all by default), of which those of a group count once.

        Samples of one group with different labels stay apart.
        """
        every = np.arange(self.n_samples)
        return Units.of(every if rows is None else rows, self.groups, self.codes)

    def groups_only(self) -> Supervision:
        """Return the groups without labels, targets, probabilities and pairs."""
        return Supervision(self.n_samples, groups=self.groups)

    def of_units(self, units: Units) -> Supervision:
        """Return the supervision of units: mean targets, mean probabilities, and pairs of units.

        The units must contain all samples.
        """
        if units.owner is None:
            return self
        return Supervision(
            units.n,
            labels=None if self.labels is None else self.labels[units.first],
            classes=self.classes,
            targets=_known_means(self.targets, units),
            probabilities=_known_means(self.probabilities, units),
            must_link=pairs_of_units(self.must_link, units.owner),
            cannot_link=pairs_of_units(self.cannot_link, units.owner),
        )

    def __or__(self, other: object) -> Supervision:
        if not isinstance(other, Supervision):
            return NotImplemented
        if self.n_samples != other.n_samples:
            raise InputError(
                f"cannot join supervision of {self.n_samples} samples with supervision of "
                f"{other.n_samples}."
            )
        for kind in ("labels", "targets", "probabilities", "groups"):
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
            groups=self.groups if self.groups is not None else other.groups,
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
            groups=sliced(self.groups),
        )

    def __repr__(self) -> str:
        parts = []
        if self.labels is not None:
            parts.append(
                f"{int((self.labels >= 0).sum())} labels in {self.n_known_classes} classes"
            )
        if self.targets is not None:
            several = f" of {self.n_targets} targets" if self.n_targets > 1 else ""
            n_known = int((~np.isnan(self.targets)).sum())
            parts.append(f"{n_known} values{several}" if several else f"{n_known} targets")
        if self.probabilities is not None:
            n_known = int(self._has_probabilities.sum())
            for_some = "" if n_known == self.n_samples else f" for {n_known} samples"
            parts.append(f"probabilities of {self.probabilities.shape[1]} classes{for_some}")
        if "pairs" in self.kinds:
            parts += [f"{len(self.must_link)} must-link", f"{len(self.cannot_link)} cannot-link"]
        if self.groups is not None:
            parts.append(f"{self.n_independent} groups")
        return f"Supervision({self.n_samples} samples: {', '.join(parts) or 'none'})"

    def label_probabilities(self) -> tuple[Integers, Floats]:
        """Return the samples with class probabilities or labels, and their probabilities.

        The class of a known label has the probability 1.
        """
        if self.probabilities is None:
            raise InputError("there are no class probabilities.")
        proba = self.probabilities.copy()
        if self.labels is not None:
            known = np.flatnonzero(self.labels >= 0)
            proba[known] = 0.0
            proba[known, self.labels[known]] = 1.0
        rows = np.flatnonzero(~np.isnan(proba[:, 0]))
        return rows, proba if len(rows) == len(proba) else proba[rows]

    def _warn_of_disagreement(self) -> None:
        if self.probabilities is None or self.labels is None:
            return
        known = np.flatnonzero((self.labels >= 0) & self._has_probabilities)
        against = int((self.probabilities[known].argmax(axis=1) != self.labels[known]).sum())
        if against:
            warn(
                f"{against} known labels disagree with the most probable class; the labels take "
                "precedence."
            )

    def _check(self) -> None:
        names = np.empty(0) if self.classes is None else self.classes
        check_consistency(self.codes, names, self.must_link, self.cannot_link)


def with_groups(supervision: Supervision | None, groups: Any, X: Any) -> Supervision | None:
    """Return the supervision joined with groups, if there are any.

    Pandas groups are refused if their index differs from that of X.
    """
    refuse_other_index(X, groups, "groups")
    # Other objects are refused where the supervision is read.
    if groups is None or not isinstance(supervision, Supervision | None):
        return supervision
    of_groups = Supervision.from_groups(groups)
    return of_groups if supervision is None else supervision | of_groups


@overload
def _known_means(values: None, units: Units) -> None: ...
@overload
def _known_means(values: Floats, units: Units) -> Floats: ...
def _known_means(values: Floats | None, units: Units) -> Floats | None:
    """Return the mean of the known values of each unit, or NaN if none is known."""
    if values is None:
        return None
    if values.ndim == 2:
        return np.stack([_known_means(column, units) for column in values.T], axis=1)
    known = np.flatnonzero(~np.isnan(values))
    assert units.owner is not None
    part = Units.of(known, units.owner, np.zeros(len(values), dtype=np.int64))
    found = np.full(units.n, np.nan)
    found[units.owner[part.representatives]] = part.means(values[known])
    return found


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

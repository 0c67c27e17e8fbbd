"""Random subsets of the samples and of their supervision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve._base.array_types import Booleans, Integers
from graphsieve._base.errors import InputError
from graphsieve.assess.evaluation.evaluating import partly_known
from graphsieve.assess.evaluation.folds import first_of_groups
from graphsieve.assess.evaluation.hiding import known_count, proportional
from graphsieve.assess.evaluation.prefixes import known_rows
from graphsieve.supervision.groups import pairs_of_units
from graphsieve.supervision.value import Supervision


def drawn_groups(known: Supervision, n_groups: int, random: np.random.Generator) -> Integers:
    """Draw groups as `drawn_rows` draws rows, and return all of their rows in ascending order.

    The first labelled row of a group determines its class. Without groups, rows are drawn.
    """
    if known.groups is None or known.n_independent == len(known):
        return drawn_rows(known, n_groups, random)
    first = first_of_groups(known.groups, known.labeled)
    place = np.empty(int(known.groups.max()) + 1, dtype=np.int64)
    place[known.groups[first]] = np.arange(len(first))
    owner = place[known.groups]
    described = replace(
        known[first],
        must_link=pairs_of_units(known.must_link, owner),
        cannot_link=pairs_of_units(known.cannot_link, owner),
    )
    return np.flatnonzero(np.isin(owner, drawn_rows(described, n_groups, random)))


def drawn_rows(known: Supervision, n_rows: int, random: np.random.Generator) -> Integers:
    """Draw distinct rows, in ascending order, in proportion from every class and from the samples
    without supervision.

    Every class keeps at least one labelled sample, and known targets keep at least one. If samples
    have only pairs, at least one must-link and one cannot-link pair are kept. This may take up to
    three rows more than `n_rows`.
    """
    stratum, n_free = _strata(known)
    sizes = np.bincount(stratum)
    if n_rows < len(sizes):
        raise InputError(
            f"{n_rows} of {len(known)} samples cannot contain one of each of the {len(sizes)} "
            "groups (known classes, and samples without a label); increase fraction."
        )
    shares = proportional(sizes, n_rows, random)
    rows = [
        random.choice(np.flatnonzero(stratum == place), size=shares[place], replace=False)
        for place in range(n_free, len(sizes))
    ]
    if n_free:
        in_pairs, at_least = _pair_by_pair(known, stratum == 0, random)
        rows.append(in_pairs[: max(int(shares[0]), at_least)])
    return np.sort(np.concatenate(rows))


def partly_hidden(known: Supervision, hide: float, random: np.random.Generator) -> Supervision:
    """Return the supervision with a share of its labels and targets hidden, as in `hide_labels`.

    Every class keeps at least one label.
    """
    hidden: dict[str, Any] = {
        kind: partly_known(values, _n_shown(values, hide), False, random)  # type: ignore[arg-type]
        for kind, values in (("labels", known.labels), ("targets", known.targets))
        if values is not None and known_rows(values).any()
    }
    return replace(known, **hidden)


def _n_shown(y: NDArray[Any], hide: float) -> int:
    values = y[known_rows(y)]
    classes = len(np.unique(values)) if y.dtype.kind == "i" else 1
    return max(known_count(1 - hide, len(values)), classes)


def _strata(known: Supervision) -> tuple[Integers, int]:
    """Return the stratum of each sample, numbered from 0 without gaps.

    Classes are numbered in the order of the samples, so that their names do not matter. The second
    value is 1 if stratum 0 contains the samples that have only pairs, and 0 otherwise.
    """
    codes = _by_appearance(known.codes)
    nothing, target, pairs = codes.max(initial=-1) + 1, codes.max(initial=-1) + 2, -1
    stratum = np.full(len(known), nothing, dtype=np.int64)
    stratum[np.concatenate([known.must_link, known.cannot_link]).ravel()] = pairs
    stratum[known.labeled] = target
    stratum = np.where(codes >= 0, codes, stratum)
    return np.unique(stratum, return_inverse=True)[1].astype(np.int64), int(stratum.min() == pairs)


def _by_appearance(codes: Integers) -> Integers:
    """Number the classes by their first sample. Unknown classes stay −1."""
    known = codes >= 0
    _, first, of_class = np.unique(codes[known], return_index=True, return_inverse=True)
    result = np.full(len(codes), -1, dtype=np.int64)
    result[known] = np.argsort(np.argsort(first))[of_class]
    return result


def _pair_by_pair(
    known: Supervision, among: Booleans, random: np.random.Generator
) -> tuple[Integers, int]:
    """Order the samples in `among` by their pairs, and return the order and a minimum number.

    The pairs are in random order, but one pair of each kind comes first. The minimum number of
    samples is the number that these first pairs contain. If pairs are few, the first half of the
    samples contains about half of the pairs. A random half of the samples would contain only a
    quarter of them, and often none.
    """
    must, cannot = random.permutation(known.must_link), random.permutation(known.cannot_link)
    first, others = (
        np.concatenate([must[:1], cannot[:1]]),
        random.permutation(np.concatenate([must[1:], cannot[1:]])),
    )
    ends = np.concatenate([first, others]).ravel()
    ends = ends[among[ends]]
    return ends[np.sort(np.unique(ends, return_index=True)[1])], int(among[np.unique(first)].sum())

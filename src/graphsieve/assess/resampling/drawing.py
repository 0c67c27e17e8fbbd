"""Some of the samples and some of what is known of them, drawn anew every time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve._base.array_types import Booleans, Integers
from graphsieve._base.errors import InputError
from graphsieve.assess.evaluation.evaluating import partly_known
from graphsieve.assess.evaluation.hiding import known_count, proportional
from graphsieve.assess.evaluation.prefixes import known_rows
from graphsieve.supervision.value import Supervision


def drawn_rows(known: Supervision, n_rows: int, random: np.random.Generator) -> Integers:
    """Different rows in ascending order: every class, and the samples of which nothing is known, in
    proportion.

    Nothing loses its last: every class keeps a known label, known targets keep one, and where only
    pairs are known one must-link and one cannot-link stay whole, for which there may be up to three
    rows more than `n_rows`.
    """
    stratum, n_free = _strata(known)
    sizes = np.bincount(stratum)
    if n_rows < len(sizes):
        raise InputError(
            f"{n_rows} of {len(known)} samples cannot hold one of each of the {len(sizes)} kinds "
            "there are (known classes, and samples without a label); raise fraction."
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
    """What is known, with a share of its labels and targets hidden as `hide_labels` does; every
    class keeps a known one.
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
    """For each sample the number of those it is drawn among, without gaps; and 1 if number 0 are
    those known by pairs alone.
    """
    nothing, target, pairs = known.codes.max(initial=-1) + 1, known.codes.max(initial=-1) + 2, -1
    stratum = np.full(len(known), nothing, dtype=np.int64)
    stratum[np.concatenate([known.must_link, known.cannot_link]).ravel()] = pairs
    if known.targets is not None:
        stratum[~np.isnan(known.targets)] = target
    stratum = np.where(known.codes >= 0, known.codes, stratum)
    return np.unique(stratum, return_inverse=True)[1].astype(np.int64), int(stratum.min() == pairs)


def _pair_by_pair(
    known: Supervision, among: Booleans, random: np.random.Generator
) -> tuple[Integers, int]:
    """Those samples in the order of their pairs, which come by chance, but first one of each kind;
    and how many these two fill.

    The first half of them holds about half of the pairs where pairs are few; half of them by chance
    would hold a quarter, and often none at all.
    """
    must, cannot = random.permutation(known.must_link), random.permutation(known.cannot_link)
    first, others = (
        np.concatenate([must[:1], cannot[:1]]),
        random.permutation(np.concatenate([must[1:], cannot[1:]])),
    )
    ends = np.concatenate([first, others]).ravel()
    ends = ends[among[ends]]
    return ends[np.sort(np.unique(ends, return_index=True)[1])], int(among[np.unique(first)].sum())

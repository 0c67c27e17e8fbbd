"""Choice of the scoring method from the supervision.

The page docs/methods.md shows the same table:

supervision                                 method
------------------------------------------  -------------------------
none                                        laplacian
class labels, all samples                   fisher
class labels, some samples                  constrained_laplacian
a continuous target, all samples            supervised_laplacian
a continuous target, some samples           semi_supervised_laplacian
must-link and cannot-link pairs (± labels)  constrained_laplacian
class probabilities (± labels)              weighted_laplacian
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import scipy.sparse as sp

from graphsieve._base.array_types import Floats
from graphsieve._base.errors import InputError, warn
from graphsieve._base.messages import Part, separated_by
from graphsieve._base.parameters import as_text, one_line
from graphsieve.supervision.value import Kind, Supervision


def choose_method(known: Supervision) -> tuple[str, str]:
    """Return the name of the method for this supervision, and the reason as a short clause."""
    kinds = known.kinds
    if "labels" in kinds and "targets" in kinds:
        raise InputError(
            "both class labels and a continuous target are known; choose the method, or pass one "
            "of them."
        )
    if "probabilities" in kinds:
        n, n_labeled = known.n_samples, known.n_labeled
        share = "" if n_labeled == n else f"{n_labeled} of {n} "
        return "weighted_laplacian", f"{share}class probabilities are known"
    if "pairs" in kinds:
        count = f"{len(known.must_link)} must-link and {len(known.cannot_link)} cannot-link pairs"
        return "constrained_laplacian", count + (
            " and some labels" if "labels" in kinds else ""
        ) + " are known"
    if "labels" in kinds:
        return _by_labels(known)
    if "targets" in kinds:
        return _by_targets(known)
    return "laplacian", "no supervision is available"


def _by_labels(known: Supervision) -> tuple[str, str]:
    n, n_labeled = known.n_samples, known.n_labeled
    share = f"{n_labeled} of {n} labels are known"
    if known.n_known_classes < 2:
        warn("all known labels are of one class: ranking is unsupervised.")
        return "laplacian", f"{share}, all of one class"
    name = "fisher" if n_labeled == n else "constrained_laplacian"
    return name, f"{share}, in {known.n_known_classes} classes"


def _by_targets(known: Supervision) -> tuple[str, str]:
    assert known.targets is not None
    n, n_labeled = known.n_samples, known.n_labeled
    if known.n_targets > 1:
        return _by_several_targets(known)
    share = f"{n_labeled} of {n} target values are known"
    values = known.targets[~np.isnan(known.targets)]
    if values.min() == values.max():
        warn(f"the known target values are all {values[0]:g}: ranking is unsupervised.")
        return "laplacian", f"{share}, and they are all equal"
    if len(values) == n and _are_row_numbers(values):
        warn(f"the target looks like an identifier: it numbers the {len(values)} samples.")
    return "supervised_laplacian" if n_labeled == n else "semi_supervised_laplacian", share


def _by_several_targets(known: Supervision) -> tuple[str, str]:
    n, n_labeled = known.n_samples, known.n_labeled
    share = f"{n_labeled} of {n} sets of {known.n_targets} targets are known"
    if not _any_varies(known):
        warn("the known values of each target are all equal: ranking is unsupervised.")
        return "laplacian", f"{share}, and the values of each are all equal"
    return "supervised_laplacian" if n_labeled == n else "semi_supervised_laplacian", share


def _any_varies(known: Supervision) -> bool:
    """Whether the known values of one of several targets differ."""
    assert known.targets is not None
    with np.errstate(invalid="ignore"):
        lowest, highest = (f.reduce(known.targets, axis=0) for f in (np.fmin, np.fmax))
    return bool((lowest < highest).any())


def _are_row_numbers(values: Floats) -> bool:
    """Whether the values are consecutive integers, each occurring once."""
    ordered = np.sort(values)
    return len(values) > 2 and bool(
        (ordered == np.floor(ordered[0]) + np.arange(len(ordered))).all()
    )


def warn_of_weak_supervision(known: Supervision, uses: Collection[Kind]) -> None:
    """Warn if the supervision that a method uses hardly distinguishes the samples."""
    if "labels" in uses and "labels" in known.kinds:
        _warn_of_poor_labels(known)
    if "targets" in uses and known.targets is not None:
        values = known.targets[~np.isnan(known.targets)]
        if known.n_targets > 1:
            if not _any_varies(known):
                warn(
                    "the known values of each target are all equal, so they do not distinguish the "
                    "samples."
                )
        elif len(values) and values.min() == values.max():
            warn(
                f"the known target values are all {values[0]:g}, so they do not distinguish the "
                "samples."
            )
    if "pairs" in uses and len(known.must_link) >= known.n_samples - 1 and _are_one_group(known):
        warn(
            f"must-links join all {known.n_samples} samples, so they do not distinguish the "
            "samples."
        )


def _are_one_group(known: Supervision) -> bool:
    links = (np.ones(len(known.must_link)), (known.must_link[:, 0], known.must_link[:, 1]))
    graph = sp.csr_array(links, shape=(known.n_samples, known.n_samples))
    return bool(sp.csgraph.connected_components(graph, directed=False)[0] == 1)


def _warn_of_poor_labels(known: Supervision) -> None:
    """Warn if all labels are of one class, or if some or all classes have a single sample."""
    sizes = np.bincount(known.codes[known.codes >= 0])
    single = np.flatnonzero(sizes == 1)
    if np.count_nonzero(sizes) == 1 and known.kinds == ("labels",):
        warn("all known labels are of one class, so they do not distinguish the samples.")
    elif len(single) == np.count_nonzero(sizes) and len(single) == known.n_samples > 2:
        warn(
            f"the target looks like an identifier: each of the {len(single)} samples has a "
            "different class."
        )
    elif len(single):
        names = known.classes if known.classes is not None else np.arange(len(sizes))
        shown = [
            Part(one_line(as_text(names[code])), "class label", value=names[code])
            for code in single[:5]
        ]
        warn(
            f"{len(single)} of {np.count_nonzero(sizes)} classes have a single known member (",
            *separated_by(", ", shown),
            ", …)." if len(single) > 5 else ").",
        )

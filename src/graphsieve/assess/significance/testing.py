"""Public function for p-values with control of the false discovery rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsieve._base.errors import InputError, InputTypeError, warn
from graphsieve._base.messages import parameter
from graphsieve._base.parameters import boolean, checked, choice, count, either, mapping, positive
from graphsieve._base.underflow import ignoring_underflow
from graphsieve.assess.significance.results import Control, Significance, adjusted_p_values
from graphsieve.assess.significance.tested_methods import COVERED, p_values_of
from graphsieve.scores.method import Method, check_length, extra_options, warn_of_unscorable
from graphsieve.scores.score_registry import METHODS
from graphsieve.select.preparation import with_copies
from graphsieve.supervision.groups import Units
from graphsieve.supervision.value import Supervision, TargetType, with_groups
from graphsieve.table.any_table import table_in_memory
from graphsieve.table.columns import MemoryTable, Table
from graphsieve.table.scaling import SCALES, Scale, rescaled, standardized_target

# For a target, tests have more power with more neighbours than the published 5 (see
# `feature_p_values`). The default is half of the samples, up to these numbers of neighbours per
# sample and of edges in total.
MOST_TARGET_NEIGHBORS, MOST_TARGET_EDGES = 50, 50_000
PARAMETERS = {
    "method": choice(("auto", *COVERED)),
    "control": choice(("bh", "by")),
    "n_permutations": count(99),
    "n_neighbors": either("auto", count(1)),
    "bandwidth": either("auto", positive()),
    "scale": choice(SCALES),
    "progress": either(None, boolean()),
    "method_params": either(None, mapping()),
}


@ignoring_underflow
def feature_p_values(
    X: Any,
    y: Any = None,
    *,
    supervision: Supervision | None = None,
    groups: Any = None,
    method: str = "auto",
    target_type: TargetType = "auto",
    unlabeled: int | None = -1,
    categorical: Any = "auto",
    feature_groups: Any = None,
    control: Control = "bh",
    n_permutations: int = 10_000,
    random_state: Any = 0,
    n_neighbors: int | str = "auto",
    bandwidth: float | str = "auto",
    scale: Scale = "standard",
    method_params: dict[str, Any] | None = None,
    progress: bool | None = None,
) -> Significance:
    """Test the association of each feature with the supervision, by permutation.

    A p-value is the probability of a score at least as good if the feature is independent of the
    supervision.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        Features.
    y : array of shape (n_samples,) or (n_samples, n_targets), optional
        Labels or a continuous target, as in `Supervision.from_y`.
    supervision : Supervision, optional
        Supervision in addition to `y`, or instead of it.
    groups : array of shape (n_samples,), optional
        Samples that are not independent, such as the subject of each measurement. The samples of a
        group with the same label are replaced by their mean, and so are their targets and
        probabilities. With None, only copies of a sample form a group, with a warning.
    method : str
        ``"fisher"`` (labels), ``"supervised_laplacian"`` or ``"pearson"`` (target),
        ``"weighted_laplacian"`` (probabilities), ``"constraint"`` (pairs), ``"laplacian"`` (no
        supervision; the graph contains the neighbours in all *other* features), or ``"auto"``.
        ``"auto"`` is the method for the given supervision, and ``"supervised_laplacian"`` for a
        target.
    target_type, unlabeled
        As in `Supervision.from_y`.
    categorical, feature_groups
        As in `GraphSieve`. The columns of a feature are permuted together, and their energies and
        spreads are summed.
    control : {"bh", "by"}
        Procedure that controls the false discovery rate: Benjamini–Hochberg, or
        Benjamini–Yekutieli, which needs no assumption about the dependence between features.
    n_permutations : int
        Largest number of permutations per feature. Few features need all of them. It limits the
        smallest p-value that can be counted.
    random_state : int, generator or None
        Seed for the permutations.
    n_neighbors, bandwidth : int, float or "auto"
        Parameters of the graph, if it has them. For a target, ``"auto"`` is half of the samples, at
        most 50, and fewer from 1,000 samples on. For neighbours in X, it is 5.
    scale : {"standard", "minmax", "robust", "rank", None}
        Scaling of the columns before the neighbour search of ``"laplacian"``. The other methods do
        not scale columns.
    method_params : dict, optional
        Further parameters of the method, such as ``{"class_weight": "balanced"}``.
    progress : bool or None
        Whether to report progress on the error stream. None reports it if the stream is a terminal.

    Returns
    -------
    Significance

    Notes
    -----
    A p-value refers to one feature and one score. It does not measure the value of a feature in
    addition to others. For features with several columns, few distinct values or a heavy tail,
    permutations are counted, so p-values are never below 1 / (n_permutations + 1). Other p-values
    below that number are extrapolated from a fitted distribution and indicate only an order of
    magnitude.

    Share of real features found at a false discovery rate of 5 % (20 real features among 200,
    normal noise, 12 repetitions; standard errors up to 0.08, and 0.2 in the last row, which has 2
    repetitions):

    ======================================================  ======  ======  =======  =======
    supervision, and its association with real features     n = 20  n = 50  n = 100  n = 200
    ======================================================  ======  ======  =======  =======
    labels, two classes one standard deviation apart          0.04    0.67     0.98     1.00
    the same, probabilities of the true class 0.5 to 1        0.02    0.39     0.90     1.00
    the same, 2 n pairs drawn at random                       0.00    0.05     0.23     0.57
    a target, with a correlation of 0.5                       0.04    0.50     0.96     1.00
    the square of a target, with the same correlation         0.00    0.07     0.38     0.85
    none; two clusters two standard deviations apart          0.68    0.97     1.00     1.00
    ======================================================  ======  ======  =======  =======

    For a target, ``"auto"`` uses the supervised Laplacian score instead of the correlation. With
    half of the samples as neighbours, it finds somewhat fewer features if relations are linear and
    samples are few (Y1 of the paper, 50 samples: 0.77 instead of 1.00; pollen, gasoline). It finds
    about as many on the other spectra. It finds more if relations are nonlinear (Y2, 300 samples:
    0.97 instead of 0.57; Y3: 1.00 instead of 0.55). With the published 5 neighbours it finds fewer.
    The number of neighbours was chosen on these data sets.

    Most features need about 300 permutations. A feature with a heavy tail that scores better than
    chance needs all of them. Each permutation costs about 1 ns (labels) to 100 ns (a target with
    many equal values) per sample. ``"laplacian"`` searches for neighbours once per feature, which
    costs about 20 ms plus 25 ns × samples² each. It is refused if features × samples² exceeds 2³⁴.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> X["noise"] = np.random.default_rng(0).normal(size=150)
    >>> found = feature_p_values(X, y)
    >>> found.selected(0.05)
    array([ True,  True,  True,  True, False])
    """
    given = checked(
        {"method": method, "control": control, "n_permutations": n_permutations}
        | {
            "n_neighbors": n_neighbors,
            "bandwidth": bandwidth,
            "scale": scale,
            "progress": progress,
            "method_params": method_params,
        },
        PARAMETERS,
    )
    table = table_in_memory(
        X, y, categorical=categorical, feature_groups=feature_groups, missing="use"
    )
    supervision = with_groups(supervision, groups, X)
    known = with_copies(table, _what_is_known(table, y, supervision, target_type, unlabeled))
    table, known = _each_once(table, known)
    chosen = METHODS[_by_what_is_known(known) if given["method"] == "auto" else given["method"]]
    chosen.check_supervision(known)
    _refuse_unused(chosen, supervision)
    if not chosen.reads_neighbors and given["scale"] not in ("standard", None):
        raise InputError(
            f"method {chosen.name!r} takes no distances in X and scores features as they are; "
            "leave ",
            parameter("scale", scale),
            " out",
            f", got {scale!r}.",
        )
    options = _options(chosen, known, given, given["method_params"] or {})
    if known.targets is not None:
        known = replace(known, targets=standardized_target(known.targets))
    used = rescaled(table, given["scale"]) if chosen.reads_neighbors else table
    scores, values = p_values_of(
        used,
        known,
        chosen.name,
        options=options,
        n_permutations=given["n_permutations"],
        random_state=random_state,
        progress=given["progress"],
    )
    warn_of_unscorable(scores, table)
    return Significance(
        names=table.feature_names or tuple(f"x{j}" for j in range(table.n_features)),
        scores=scores,
        p_values=values,
        adjusted=adjusted_p_values(values, control=given["control"]),
        method=chosen.name,
        control=given["control"],
        n_samples=table.n_samples,
        large_is_good=chosen.direction == "large",
    )


def _each_once(table: Table, known: Supervision) -> tuple[Table, Supervision]:
    """Replace the samples of each group and class by their mean."""
    units = known.units()
    if units.owner is None:
        return table, known
    if units.n < 2:
        raise InputError(
            parameter("groups"),
            " has a single group, but a test needs independent samples; leave it out, or pass more "
            "groups.",
        )
    if table.gaps is not None:
        return _observed_means(table, units), known.of_units(units)
    matrix = (
        sp.csc_array(units.sparse_means(table.matrix))
        if table.is_sparse
        else units.means(np.asarray(table.matrix, dtype=np.float64))
    )
    replaced = MemoryTable.trusted(matrix, table.feature_names, features=table.features)
    return replaced, known.of_units(units)


def _observed_means(table: Table, units: Units) -> Table:
    """Return the means of the observed values of each unit, and gaps where it has none."""
    values = np.asarray(table.with_nan.toarray() if table.is_sparse else table.with_nan)
    observed = ~np.isnan(values)
    share = units.means(observed.astype(np.float64))
    with np.errstate(invalid="ignore"):
        means = units.means(np.where(observed, values, 0.0)) / share
    return MemoryTable.of_values(means, table.features).named(table.feature_names)


def _what_is_known(
    table: Table,
    y: Any,
    supervision: Supervision | None,
    target_type: TargetType,
    unlabeled: int | None,
) -> Supervision:
    if supervision is not None and not isinstance(supervision, Supervision):
        raise InputTypeError(
            parameter("supervision", supervision),
            f" must be a graphsieve.Supervision, got {type(supervision).__name__}.",
        )
    known = Supervision.nothing(table.n_samples) if supervision is None else supervision
    check_length(known, table)
    if y is None:
        return known
    of_y = Supervision.from_y(y, target_type=target_type, unlabeled=unlabeled)
    check_length(of_y, table)
    joined = known | of_y
    if not joined.kinds:
        warn("no target known: features are tested only against the other features.")
    return joined


def _refuse_unused(method: Method, supervision: Supervision | None) -> None:
    unused = [
        kind
        for kind in (supervision.kinds if supervision is not None else ())
        if kind not in method.uses
    ]
    if unused:
        raise InputError(
            f"method {method.name!r} cannot use {' and '.join(unused)}; leave them out, or choose "
            "another."
        )


def _by_what_is_known(known: Supervision) -> str:
    kinds = known.kinds
    if "labels" in kinds and "targets" in kinds:
        raise InputError(
            "both class labels and a continuous target are known; choose the method, or pass only "
            "one of them."
        )
    by_kind = (
        ("probabilities", "weighted_laplacian"),
        ("pairs", "constraint"),
        ("labels", "fisher"),
        ("targets", "supervised_laplacian"),
    )
    return next((name for kind, name in by_kind if kind in kinds), "laplacian")


def _options(
    method: Method, known: Supervision, given: Mapping[str, Any], extra: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the keyword arguments of the method's core function.

    A bandwidth of None means "auto".
    """
    options = method.defaults | ({"bandwidth": None} if "bandwidth" in method.defaults else {})
    if method.name == "supervised_laplacian":
        few = max(min(options["n_neighbors"], known.n_labeled - 1), 1)
        most = min(
            known.n_labeled // 2,
            MOST_TARGET_NEIGHBORS,
            MOST_TARGET_EDGES // max(known.n_labeled, 1),
        )
        options["n_neighbors"] = max(few, most)
    elif "n_neighbors" in options:
        options["n_neighbors"] = max(1, min(options["n_neighbors"], len(known) - 1))
    for name in ("n_neighbors", "bandwidth"):
        if given[name] == "auto":
            continue
        if name not in options:
            raise InputError(
                f"method {method.name!r} has no ",
                parameter(name, given[name]),
                f"; leave it 'auto', got {given[name]!r}.",
            )
        options[name] = given[name]
    return options | extra_options(method, extra, elsewhere=("n_neighbors", "bandwidth"))

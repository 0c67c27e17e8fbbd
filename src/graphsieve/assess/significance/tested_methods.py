"""Scores as shares: the graph that each method uses, and the p-values of all features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError, RoundWarnings
from graphsieve._base.parameters import remedy
from graphsieve._base.progress import Progress
from graphsieve._base.randomness import seed_number
from graphsieve.assess.significance.arrangement import (
    Arrangement,
    by_classes,
    by_pairs,
    by_probabilities,
    by_target,
)
from graphsieve.assess.significance.chances import (
    Chance,
    narrow_parts,
    over_columns,
    several_p_value,
    share_p_values,
)
from graphsieve.assess.significance.forms import Form, centering, energy_form, spread_form
from graphsieve.assess.significance.shares import Share
from graphsieve.graphs.builders import neighbor_graph, target_graph
from graphsieve.graphs.graph import EdgeGraph, FactorGraph, Graph, among, complete_graph
from graphsieve.graphs.neighbors.strategy import SearchedAnew
from graphsieve.graphs.neighbors.tracking import Tracker
from graphsieve.graphs.ratio import laplacian_ratio
from graphsieve.scores.labels import labeled_part
from graphsieve.scores.method import Method
from graphsieve.scores.pairs import cannot_link_graph, must_link_graph
from graphsieve.scores.score_registry import METHODS
from graphsieve.scores.targets import known_targets, numeric_target, rows_of, target_basis
from graphsieve.supervision.parsing import all_known
from graphsieve.supervision.value import Supervision
from graphsieve.table.centered import feature_columns
from graphsieve.table.columns import Table
from graphsieve.table.gaps import gaps_of_features
from graphsieve.table.scaling import standardized_target
from graphsieve.table.sums import group_weightings

FIXED_GRAPH = ("fisher", "pearson", "supervised_laplacian", "weighted_laplacian", "constraint")
COVERED = (*FIXED_GRAPH, "laplacian")
LARGEST_SEARCH = 2**34  # upper limit of features × samples² for graphs without each feature


def p_values_of(
    table: Table,
    known: Supervision,
    method_name: str,
    *,
    options: Mapping[str, Any] | None = None,
    n_permutations: int = 10_000,
    random_state: Any = 0,
    progress: bool | None = False,
) -> tuple[Floats, Floats]:
    """Return scores and p-values of all features. `feature_p_values` calls it with checked data.

    `options` are those of the method's core function. Missing options have their defaults. A
    bandwidth of None is chosen from the data. The table and the target are not scaled.
    """
    method = METHODS[method_name]
    method.check_supervision(known)
    given = method.defaults | dict(options or {})
    chance = Chance(n_permutations, seed_number(random_state), progress)
    if method.name == "laplacian":
        return _without_each_feature(table, given, chance)
    if table.gaps is not None:
        return _where_observed(table, known, method.name, given, chance)
    return _tested(table, known, method, given, chance)


def _where_observed(
    table: Table, known: Supervision, name: str, given: Mapping[str, Any], chance: Chance
) -> tuple[Floats, Floats]:
    """Test each feature on the samples where it is observed.

    Features that cannot be tested there, for example because all labels are equal, get NaN.
    """
    _share_of(name, table.complete(), known, given)  # raises errors of the supervision itself
    scores, values = np.full((2, table.n_features), np.nan)
    for features, observed, part in table.observed_parts():
        rows = np.flatnonzero(observed)
        if len(rows) < 2:
            continue
        try:
            scores[features], values[features] = _tested(
                part.take(rows), known[rows], METHODS[name], given, chance
            )
        except InputError:
            if observed.all():
                raise
    return scores, values


def _tested(
    table: Table, known: Supervision, method: Method, given: Mapping[str, Any], chance: Chance
) -> tuple[Floats, Floats]:
    scores = method.score(table, known, **given).values
    rows, share, arrangement = _share_of(method.name, table, known, given)
    return scores, over_columns(
        rows_of(table, rows),
        share,
        chance,
        ~np.isnan(scores),
        arrangement,
        spanned=method.name == "pearson",  # the share of a multiple correlation
    )


def _share_of(
    name: str, table: Table, known: Supervision, given: Mapping[str, Any]
) -> tuple[Integers, Share, Arrangement]:
    """Return the rows that a method uses, the share that ranks features as its score does, and the
    arrangement of the rows for permutations.
    """
    all_rows = np.arange(table.n_samples)
    if name == "constraint":
        if given["form"] != "ratio":
            raise InputError(
                "p-values need ",
                remedy("form", "ratio"),
                " of the constraint score, because its difference depends on units.",
            )
        alike = energy_form(must_link_graph(known))
        share = Share.of(alike, alike + energy_form(cannot_link_graph(known)))
        return all_rows, share, by_pairs(known)
    if name == "supervised_laplacian":
        target = known_targets(known)
        rows = np.flatnonzero(all_known(target))
        graph = target_graph(target[rows], given["n_neighbors"], given["bandwidth"]).graph
        return rows, laplacian_share(graph), by_target(target[rows])
    if name == "pearson":
        target = numeric_target(known)
        rows = np.flatnonzero(all_known(target))
        return rows, _correlation_share(target[rows]), by_target(target[rows])
    if name == "weighted_laplacian" and "probabilities" in known.kinds:
        rows, factor = known.label_probabilities()
        share = _class_share(factor, balanced=given["class_weight"] == "balanced")
        return rows, share, by_probabilities(factor)
    rows = np.flatnonzero(known.codes >= 0)
    _, codes, n_classes = labeled_part(table, known)
    factor = group_weightings(codes, n_classes).toarray()
    share = _class_share(factor, balanced=name == "fisher" or given["class_weight"] == "balanced")
    return rows, share, by_classes(codes)


def laplacian_share(graph: Graph) -> Share:
    """Half the Laplacian score: E(f) / (2 spread(f))."""
    return Share.of(energy_form(graph), spread_form(graph).times(2.0))


def _class_share(factor: Floats, *, balanced: bool) -> Share:
    """Share of the variation within classes in the total variation.

    For balanced classes and certain labels it is 1 / (1 + Fisher score).
    """
    total = factor.sum(axis=0)
    scaled = factor[:, total > 0] / (np.sqrt(total[total > 0]) if balanced else 1.0)
    whole = centering(len(factor)) if balanced else energy_form(complete_graph(len(factor)))
    return Share.of(energy_form(FactorGraph(scaled)), whole)


def _correlation_share(target: Floats) -> Share:
    """1 − correlation², or 1 − multiple correlation² for several targets."""
    if target.ndim == 2:
        return _explained_share(target_basis(target))
    scaled = standardized_target(target)  # prevents overflow
    centered = scaled - scaled.mean()
    norm = float(np.sqrt(centered @ centered))
    if target.min() == target.max():
        raise InputError(
            "the known target values are all equal, so no feature can be associated with them; "
            "pass different values."
        )
    return _explained_share((centered / norm)[:, None])


def _explained_share(basis: Floats) -> Share:
    """Share of the variance that an orthonormal basis of centred columns leaves unexplained."""
    n, rank = basis.shape
    if not rank:
        raise InputError(
            "the known values of each target are all equal, so no feature can be associated with "
            "them; pass different values."
        )
    lines = Form(sp.csr_array((n, n)), sp.csr_array(basis), np.full(rank, -1.0))
    return Share.of(centering(n) + lines, centering(n))


def _without_each_feature(
    table: Table, given: Mapping[str, Any], chance: Chance
) -> tuple[Floats, Floats]:
    """Laplacian scores on the neighbour graph of all other features, and their p-values.

    Distances are updated from feature to feature: the next feature is removed and the previous one
    is added again. This costs O(n²) per feature instead of O(n² p).
    """
    n, p = table.n_samples, table.n_features
    if p < 2:
        raise InputError(
            "the graph for a feature is built from the other features, but there is only one "
            "feature."
        )
    if p * n**2 > LARGEST_SEARCH:
        raise InputError(
            f"building a graph without each of {p} features would compare all pairs of {n} samples "
            f"{p} times; pass at most {int(np.sqrt(LARGEST_SEARCH / p))} rows, drawn at random, or "
            "fewer columns."
        )
    tracker: Tracker | SearchedAnew = Tracker(table) if table.gaps is None else SearchedAnew(table)
    everything = np.arange(p)
    scores, values, warnings = np.full(p, np.nan), np.full(p, np.nan), RoundWarnings("feature")
    with Progress("testing features", chance.progress) as shown:
        for feature in range(p):
            part = table.take_features(np.array([feature]))
            if not part.evaluated(lambda block: block.constant).all():
                tracker.follow(np.delete(everything, feature))
                with warnings.round():
                    graph = neighbor_graph(
                        table.within(tracker), given["n_neighbors"], given["bandwidth"]
                    ).graph
                if part.gaps is not None:  # The test uses the observed samples only.
                    missing = gaps_of_features(part.gaps, part.features).toarray()[:, 0]
                    graph = among(cast(EdgeGraph, graph), ~missing)
                    part = part.take(np.flatnonzero(~missing))
                scores[feature] = laplacian_ratio(part, graph)[0]
            if not np.isnan(scores[feature]):
                share = laplacian_share(graph)
                values[feature] = (
                    share_p_values(share, next(narrow_parts(part, 1))[1], chance)[0]
                    if part.n_columns == 1
                    else several_p_value(share, feature_columns(part, 0), chance)
                )
            shown.tell(f"{feature + 1} of {p}")
    warnings.give()
    return scores, values

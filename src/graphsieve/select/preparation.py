"""Steps that the estimators share: the supervision, the method with its options, and the ranks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
from scipy.stats import rankdata

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError, InputTypeError, warn
from graphsieve._base.messages import keyword, parameter, phrase
from graphsieve._base.parameters import (
    as_float,
    boolean,
    choice,
    count,
    either,
    is_collection,
    mapping,
    must_be,
    positive,
    quoted,
    remedy,
    setting,
    whole_number,
)
from graphsieve.graphs.neighbors.metrics import METRICS, Metric, chosen_metric
from graphsieve.graphs.neighbors.strategy import searched, way_to_search
from graphsieve.graphs.prototypes import COMPRESSIONS, Compressed, compressed
from graphsieve.scores.choosing import choose_method, warn_of_weak_supervision
from graphsieve.scores.method import Method, best_first, check_length, extra_options, wanted_count
from graphsieve.scores.score_registry import METHODS
from graphsieve.search.diverse import FORMS, Choice
from graphsieve.supervision.value import Kind, Supervision
from graphsieve.table.columns import Table
from graphsieve.table.containers import places_of, position_of, positions_of, refuse_other_index
from graphsieve.table.copies import sets_of_copies
from graphsieve.table.imputation import imputed
from graphsieve.table.masses import read_weights
from graphsieve.table.scaling import SCALES, Scale, chosen_scale

DIVERSE = "diverse"  # the search of method="auto", unless redundancy=None


PARAMETERS = {
    "method": choice(("auto", DIVERSE, *METHODS)),
    "redundancy": choice(("auto", None, *FORMS)),
    "n_neighbors": either("auto", count(1)),
    "bandwidth": either("auto", positive()),
    "scale": choice(("auto", *SCALES)),
    "metric": choice(("auto", *METRICS)),
    "neighbors": way_to_search,
    "max_features": either(None, count(1)),
    "progress": either(None, boolean()),
    "target_type": choice(("auto", "classes", "continuous")),
    "unlabeled": either(None, whole_number()),
    "method_params": either(None, mapping()),
    "compress": choice((None, *COMPRESSIONS)),
    "missing": choice(("use", "refuse")),
}


def joined_supervision(
    table: Table, y: Any, supervision: Supervision | None, given: Mapping[str, Any]
) -> Supervision:
    """Return the supervision joined with y.

    y is ignored if the method uses neither labels nor targets, or if `supervision` contains labels
    or targets itself.
    """
    if supervision is not None and not isinstance(supervision, Supervision):
        raise InputTypeError(
            parameter("supervision", supervision),
            f" must be a graphsieve.Supervision, got {type(supervision).__name__}; make one "
            "with Supervision.from_pairs, from_labels, from_targets or from_probabilities.",
        )
    if isinstance(y, Supervision):
        raise InputTypeError(
            parameter("y"), " is a Supervision; pass it as ", keyword("supervision"), "."
        )
    known = Supervision.nothing(table.n_samples) if supervision is None else supervision
    check_length(known, table)
    if table.n_samples == 2:
        warn("there are 2 samples, and a graph of 2 nodes carries little information.")
    method = METHODS.get(given["method"])
    readable = method is None or {"labels", "targets"} & set(method.uses)
    if y is None or not readable or known.labels is not None or known.targets is not None:
        return known
    of_y = Supervision.from_y(y, target_type=given["target_type"], unlabeled=given["unlabeled"])
    check_length(of_y, table)
    if not of_y.kinds:
        warn("no target known: ranking is unsupervised.")
    return known | of_y


def with_weights(
    table: Table, known: Supervision, sample_weight: Any, X: Any
) -> tuple[Table, Supervision]:
    """Return the table with the masses of its samples, and the supervision.

    Samples with weight 0 are left out. Pandas weights are refused if their index differs from that
    of X.
    """
    refuse_other_index(X, sample_weight, "sample_weight")
    if sample_weight is None:
        return table, known
    weights = read_weights(sample_weight, table.n_samples)
    kept = np.flatnonzero(weights)
    if len(kept) < len(weights):
        table, known, weights = table.take(kept), known[kept], weights[kept]
    return table if (weights == 1).all() else table.weighted_by(weights), known


def with_copies(table: Table, known: Supervision) -> Supervision:
    """Return the supervision with copies of samples as groups, unless groups are given.

    Copies raise a warning.
    """
    if known.groups is not None:
        return known
    sets = sets_of_copies(table)
    if sets is None:
        return known
    n_copies = len(sets) - len(np.unique(sets))
    warn(
        f"{n_copies} of {len(sets)} ",
        phrase("samples"),
        f" {'is a copy' if n_copies == 1 else 'are copies'} of other ",
        phrase("samples"),
        ", with the same values in all ",
        phrase("features"),
        "; copies stay together in every split and count once; if they are independent, ",
        phrase("pass groups with a different entry for each sample"),
        ".",
    )
    return replace(known, groups=sets)


def read_choice(table: Table, given: Mapping[str, Any], wanted: int) -> Choice:
    """Return the features to keep, the candidates and the costs."""
    keep, candidates, cost = given["keep"], given["candidates"], given["cost"]
    if isinstance(keep, set | frozenset):
        raise InputTypeError(must_be("keep", "a list of features, in the order of selection", keep))
    kept = () if keep is None else tuple(_positions(table, "keep", keep))
    if len(kept) > wanted:
        raise InputError(
            parameter("keep", keep),
            f" names {len(kept)} ",
            phrase("features"),
            f", but {wanted} {'is' if wanted == 1 else 'are'} to be selected; raise ",
            parameter("n_features_to_select"),
            ".",
        )
    mask = None
    if candidates is not None:
        mask = np.zeros(table.n_features, dtype=bool)
        mask[_positions(table, "candidates", candidates)] = True
        if not (mask.any() or kept):
            raise InputError(
                parameter("candidates", candidates),
                " allows no ",
                phrase("feature"),
                "; name at least one, or leave it out.",
            )
    return Choice(kept, mask, None if cost is None else _costs(table, cost))


def _positions(table: Table, name: str, given: Any) -> list[int]:
    return positions_of(name, given, table.feature_names, table.n_features)


def _costs(table: Table, given: Any) -> Floats:
    """Return the cost of each feature, from a dict, a series with names, or one cost for each."""
    by_name = given if isinstance(given, Mapping) else _by_name(given)
    if by_name is None:
        listed = None if isinstance(given, str | bytes | set | Iterator) else given
        values = list(listed) if is_collection(listed) else []
        if len(values) != table.n_features:
            raise InputError(
                parameter("cost", given),
                f" must be a dict, or have one entry for each of the {table.n_features} features.",
            )
        by_position = dict(enumerate(values))
    else:
        places = places_of(table.feature_names)
        by_position = {
            position_of("cost", one, given, places, table.n_features): value
            for one, value in by_name.items()
        }
    cost = np.ones(table.n_features)
    for position, value in by_position.items():
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        cost[position] = as_float(value) if is_number else np.nan
        if not 0 < cost[position] < np.inf:
            raise InputError(
                parameter("cost", given),
                f" must contain finite numbers above 0, got {quoted(value)} for "
                f"{table.label_of_feature(position)}.",
            )
    return cost


def _by_name(given: Any) -> Mapping[Any, Any] | None:
    """Return a pandas series with text as its index as a dict, because its order may differ."""
    index = getattr(given, "index", None)
    if index is None or callable(index) or not all(isinstance(one, str) for one in index):
        return None
    return dict(given)


def chosen_method(
    known: Supervision, supervision: Supervision | None, asked: str
) -> tuple[Method, str]:
    """Return the method to run and the reason for it.

    A method is refused if the supervision that it needs is missing, or if it cannot use the given
    supervision.
    """
    name, reason = choose_method(known) if asked == "auto" else (asked, "as requested")
    method = METHODS[name]
    method.check_supervision(known)
    kinds = set(supervision.kinds if supervision is not None else ())
    # "auto" chooses an unsupervised method if the supervision does not distinguish the samples. A
    # warning has then reported this, so the supervision is not refused here.
    if kinds - set(method.uses) and not (asked == "auto" and not method.uses):
        able = (
            ", ".join(name for name, other in METHODS.items() if kinds <= set(other.uses)) or "none"
        )
        unused = " and ".join(sorted(kinds - set(method.uses)))
        everything = " and ".join(sorted(kinds))
        raise InputError(
            f"method {method.name!r} cannot use {unused}; leave them out, or choose a method for "
            f"{everything}: {able}."
        )
    warn_of_weak_supervision(known, method.uses)
    return method, reason


def refuse_unusable(kinds: Collection[Kind], usable: Collection[Kind], what: str) -> None:
    """Refuse supervision that would be ignored."""
    beyond = [kind for kind in kinds if kind not in usable]
    if beyond:
        raise InputError(
            f"{what} uses {' or '.join(usable)} and cannot use {' and '.join(beyond)}; leave them "
            "out."
        )


def method_options(method: Method, known: Supervision, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments of the method's core. The bandwidth is None for "auto"."""
    options = dict(method.defaults)
    for name in ("n_neighbors", "bandwidth"):
        if given[name] != "auto" and name not in options:
            raise InputError(
                f"method {method.name!r} has no ",
                parameter(name, given[name]),
                f"; leave it at 'auto', got {given[name]!r}.",
            )
        if given[name] != "auto":
            options[name] = given[name]
        elif name == "bandwidth" and name in options:
            options[name] = None
        elif name in options:
            searched = len(known) if method.reads_neighbors else known.n_labeled
            options[name] = max(1, min(options[name], searched - 1))
    if "n_neighbors_supervised" in options:
        options["n_neighbors_supervised"] = max(
            1, min(options["n_neighbors_supervised"], known.n_labeled - 1)
        )
    return options | extra_options(
        method, given["method_params"] or {}, elsewhere=("n_neighbors", "bandwidth")
    )


def scale_used(table: Table, asked: str | None) -> Scale:
    """Return the requested scale, or the one chosen for ``"auto"``."""
    return chosen_scale(table)[0] if asked == "auto" else cast(Scale, asked)


def refuse_unused_scale(method: Method, asked: str | None) -> None:
    """Refuse a scale that the method would ignore.

    None is allowed, because the method uses the features as they are.
    """
    if asked not in ("auto", None):
        raise InputError(
            f"method {method.name!r} uses no distances in X and scores features as they are; "
            "leave ",
            parameter("scale", asked),
            f" at 'auto', got {asked!r}.",
        )


def metric_used(table: Table, method: Method, given: Mapping[str, Any]) -> Metric | None:
    """Return the metric of the distances between samples, or None if the method uses none."""
    asked = given["metric"]
    if asked != "auto" and not method.reads_neighbors:
        raise InputError(
            f"method {method.name!r} uses no distances in X; leave ",
            parameter("metric", asked),
            f" at 'auto', got {asked!r}.",
        )
    if asked == "cosine" and given["compress"] is not None:
        raise InputError(
            setting("compress", given["compress"]),
            " computes prototypes with Euclidean distances; leave ",
            parameter("metric", asked),
            " at 'auto'.",
        )
    if not method.reads_neighbors:
        return None
    if asked == "auto":
        return "euclidean" if given["compress"] is not None else chosen_metric(table)[0]
    return cast(Metric, asked)


def with_neighbors(table: Table, method: Method, given: Mapping[str, Any]) -> Table:
    """Return the table with the requested search for neighbours.

    A search is refused if the method would not use it.
    """
    asked = given["neighbors"]
    if (
        isinstance(asked, str)
        and asked == "auto"
        and (given["compress"] is not None or not method.reads_neighbors)
    ):
        return table
    if not method.reads_neighbors:
        raise InputError(
            f"method {method.name!r} does not search for neighbours in X; leave ",
            parameter("neighbors", asked),
            f" at 'auto', got {quoted(asked)}.",
        )
    if given["compress"] is not None and not (isinstance(asked, str) and asked == "exact"):
        raise InputError(
            setting("compress", given["compress"]),
            " leaves few prototypes, so the search for their neighbours is exact; leave ",
            parameter("neighbors", asked),
            f" at 'auto', got {quoted(asked)}.",
        )
    return searched(table, asked)


def refuse_graph_parameters(given: Mapping[str, Any]) -> None:
    """Refuse the parameters of graphs for the default search, which builds none."""
    for name in (
        "n_neighbors",
        "bandwidth",
        "metric",
        "neighbors",
        "method_params",
        "compress",
        "n_prototypes",
    ):
        asked = given[name]
        if asked is None or (isinstance(asked, (str, dict)) and asked in ("auto", {})):
            continue
        raise InputError(
            parameter(name, asked),
            " applies only to methods that use a graph, but ",
            setting("method", given["method"]),
            " builds none; name a method, or leave ",
            parameter(name),
            f" out, got {quoted(asked)}.",
        )


def weights_by_rank(scores: Floats, *, large_is_good: bool) -> Floats:
    """Convert scores to weights for a search.

    The best score has weight 1, and the weights decrease in equal steps. Ties have the same
    weight. The weight is NaN if there is no score.
    """
    scored = ~np.isnan(scores)
    weights = np.full(len(scores), np.nan)
    places = rankdata(scores[scored] if large_is_good else -scores[scored], method="average")
    weights[scored] = places / max(1, scored.sum())
    return weights


def compression(
    table: Table, known: Supervision, method: Method, given: Mapping[str, Any]
) -> Compressed | None:
    """Return the prototypes that replace the samples without supervision.

    The result is None if no compression was requested, or if there is nothing to compress.
    """
    how, size = given["compress"], given["n_prototypes"]
    if how is None:
        if size is not None:
            raise InputError(
                setting("n_prototypes", size),
                " requires ",
                remedy("compress", "som"),
                " or 'kmeans', but ",
                phrase("compress is None"),
                "; leave it out.",
            )
        return None
    if not method.reads_neighbors:
        raise InputError(
            f"method {method.name!r} builds no graph from X, so there is nothing to compress; "
            "leave ",
            parameter("compress", how),
            f" out, got {how!r}.",
        )
    small = compressed(imputed(table), known, how, tuple(size) if isinstance(size, list) else size)
    return small if small.n_prototypes else None


def selected_count(wanted: int, scores: Floats, *, exactly: bool) -> int:
    """Return the number of features to select.

    Features without a score are only selected if `exactly` this number was requested.
    """
    scorable = int((~np.isnan(scores)).sum())
    if not exactly:
        return min(wanted, scorable)
    if not scorable:
        raise InputError(
            f"nothing to select: none of the {len(scores)} features can be scored, because they "
            "do not vary between the samples that the score compares."
        )
    if wanted > scorable:
        warn(
            f"{wanted} ",
            phrase("features"),
            f" were requested, but only {scorable} can be scored; the others follow in column order.",
        )
    return wanted


def wanted_features(asked: Any, n_features: int, *, or_auto: bool = False) -> int:
    """Return the number of features for a count, a fraction or None.

    For "auto" it is the number of all features, because the number is determined later.
    """
    if or_auto and isinstance(asked, str) and asked == "auto":
        return n_features
    if asked is None:
        return max(1, n_features // 2)
    if isinstance(asked, Integral) and not isinstance(asked, bool):
        return wanted_count(asked, n_features)
    if isinstance(asked, Real) and not isinstance(asked, bool) and 0 < as_float(asked) <= 1:
        return max(1, int(n_features * float(asked)))
    words = "None or 'auto'" if or_auto else "or None"
    raise InputError(
        must_be("n_features_to_select", f"a count, a fraction above 0 and up to 1, {words}", asked)
    )


def ranks(scores: Floats, *, large_is_good: bool) -> Integers:
    """Return distinct ranks: 1 for the best score, ties by position, NaN last."""
    order = best_first(scores, large_is_good=large_is_good)
    result = np.empty(len(scores), dtype=np.int64)
    result[order] = np.arange(1, len(scores) + 1)
    return result

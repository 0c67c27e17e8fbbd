"""The registry of scores, with the supervision, direction, summary, reference and laws of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from graphsieve._base.array_types import Floats
from graphsieve._base.errors import InputError
from graphsieve._base.parameters import must_be, nearest
from graphsieve.scores import geometry, labels, pairs, probabilities, targets
from graphsieve.scores.geometry import laplacian_score, spec_score, variance_score
from graphsieve.scores.labels import (
    fisher_score,
    lsdf_score,
    mutual_information_score,
    relieff_score,
    sselect_score,
)
from graphsieve.scores.method import ALL_LAWS, Method
from graphsieve.scores.pairs import c4_score, constrained_laplacian_score, constraint_score
from graphsieve.scores.probabilities import weighted_laplacian_score
from graphsieve.scores.targets import (
    pearson_score,
    semi_supervised_laplacian_score,
    supervised_laplacian_score,
)
from graphsieve.scores.together import names_and_parameters, scored_together
from graphsieve.supervision.value import Supervision

_ALL = (
    Method(
        name="laplacian",
        function=laplacian_score,
        core=geometry.laplacian,
        direction="small",
        uses=(),
        reads_neighbors=True,
        summary="varies little between nearest neighbours",
        reference="He, Cai, Niyogi 2005",
    ),
    Method(
        name="variance",
        function=variance_score,
        core=geometry.variance,
        direction="large",
        uses=(),
        reads_neighbors=False,
        summary="has a large variance in its own units",
        reference="Bishop 1995",
        laws=ALL_LAWS - {"scale"},
    ),
    Method(
        name="spec",
        function=spec_score,
        core=geometry.spec,
        direction="small",
        uses=(),
        reads_neighbors=True,
        summary="is smooth on the graph of nearest neighbours, as measured by its spectrum",
        reference="Zhao, Liu 2007",
    ),
    Method(
        name="supervised_laplacian",
        function=supervised_laplacian_score,
        core=targets.supervised_laplacian,
        direction="small",
        uses=("targets",),
        reads_neighbors=False,
        summary="varies little between samples with similar target values",
        reference="Doquire, Verleysen 2013",
    ),
    Method(
        name="semi_supervised_laplacian",
        function=semi_supervised_laplacian_score,
        core=targets.semi_supervised_laplacian,
        direction="small",
        uses=("targets",),
        reads_neighbors=True,
        summary="varies little between samples with similar target values, and between nearest "
        "neighbours where the target is unknown",
        reference="Doquire, Verleysen 2013",
    ),
    Method(
        name="pearson",
        function=pearson_score,
        core=targets.pearson,
        direction="large",
        uses=("targets", "labels"),
        reads_neighbors=False,
        summary="correlates linearly with the target",
        reference="Pearson 1895",
    ),
    Method(
        name="mutual_information",
        function=mutual_information_score,
        core=labels.mutual_information,
        direction="large",
        uses=("labels", "targets"),
        reads_neighbors=False,
        summary="is associated with the target or the class, linearly or nonlinearly",
        reference="Kraskov et al. 2004; Ross 2014",
    ),
    Method(
        name="fisher",
        function=fisher_score,
        core=labels.fisher,
        direction="large",
        uses=("labels",),
        reads_neighbors=False,
        summary="has class means far apart and little variation within the classes",
        reference="Duda, Hart, Stork 2000",
    ),
    Method(
        name="relieff",
        function=relieff_score,
        core=labels.relieff,
        direction="large",
        uses=("labels",),
        reads_neighbors=False,
        summary="differs between nearby samples of different classes, but not of the same class",
        reference="Robnik-Šikonja, Kononenko 2003",
    ),
    Method(
        name="lsdf",
        function=lsdf_score,
        core=labels.lsdf,
        direction="large",
        uses=("labels",),
        reads_neighbors=True,
        summary="varies between classes, but little within them or between nearest neighbours",
        reference="Zhao, Lu, He 2008",
    ),
    Method(
        name="sselect",
        function=sselect_score,
        core=labels.sselect,
        direction="small",
        uses=("labels",),
        reads_neighbors=True,
        summary="varies little between nearest neighbours, and its sign agrees with the labels",
        reference="Zhao, Liu 2007",
    ),
    Method(
        name="constraint",
        function=constraint_score,
        core=pairs.constraint,
        direction="small",
        uses=("pairs", "labels"),
        reads_neighbors=False,
        summary="varies little across must-links and much across cannot-links",
        reference="Zhang, Chen, Zhou 2008",
    ),
    Method(
        name="constrained_laplacian",
        function=constrained_laplacian_score,
        core=pairs.constrained_laplacian,
        direction="small",
        uses=("pairs", "labels"),
        reads_neighbors=True,
        summary="varies little across nearest neighbours and must-links, and much across "
        "cannot-links",
        reference="Benabdeslem, Hindawi 2011",
    ),
    Method(
        name="c4",
        function=c4_score,
        core=pairs.c4,
        direction="small",
        uses=("pairs", "labels"),
        reads_neighbors=True,
        summary="has both a good Laplacian score and a good constraint score",
        reference="Kalakech et al. 2011",
    ),
    Method(
        name="weighted_laplacian",
        function=weighted_laplacian_score,
        core=probabilities.weighted_laplacian,
        direction="small",
        uses=("probabilities", "labels"),
        reads_neighbors=False,
        summary="varies little between samples that probably belong to the same class",
        reference="Doquire, Verleysen 2012",
    ),
)

METHODS: Mapping[str, Method] = MappingProxyType({method.name: method for method in _ALL})
"""All scoring methods by name."""


def _method_named(name: Any) -> Method:
    if not isinstance(name, str) or name not in METHODS:
        raise InputError(
            must_be("methods", f"some of {', '.join(METHODS)}", name, hint=nearest(name, METHODS))
        )
    return METHODS[name]


def score_together(
    X: Any,
    methods: Iterable[str] | Mapping[str, Mapping[str, Any]],
    *,
    supervision: Supervision | None = None,
    neighbors: Any = "auto",
) -> dict[str, Floats]:
    """Compute several scores of one table with a single neighbour search.

    X is checked and its columns are measured only once. For a large table, the neighbour search
    takes nearly all of the time, so several scores cost little more than one.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features. They are not rescaled.
    methods : list of str, or dict
        Names from `METHODS`, or a dictionary from each name to the parameters of its function.
    supervision : Supervision, optional
        The supervision, for the methods that need it.
    neighbors : {"auto", "exact", "approximate"} or transformer
        The neighbour search, as in `laplacian_score`.

    Returns
    -------
    dict
        The scores of each method by name. They equal the result of the method's own function.

    Examples
    --------
    >>> X = [[0, 0], [0, 1], [9, 0], [9, 1]]
    >>> found = score_together(X, {"laplacian": {"n_neighbors": 1}, "variance": {}})
    >>> found["laplacian"].round(2).tolist(), found["variance"].tolist()
    ([0.0, 2.0], [20.25, 0.25])
    """
    requested = [(_method_named(name), given) for name, given in names_and_parameters(methods)]
    return scored_together(requested, X, supervision, neighbors)

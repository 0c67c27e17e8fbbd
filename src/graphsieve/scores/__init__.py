"""Every scoring method: one file per kind of knowledge, and the registry that tests, tables and selectors read."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from graphsieve.errors import InputError
from graphsieve.parameters import nearest
from graphsieve.scores import geometry, labels, pairs, probabilities, targets
from graphsieve.scores.geometry import laplacian_score, spec_score, variance_score
from graphsieve.scores.labels import (
    fisher_score,
    lsdf_score,
    mutual_information_score,
    relieff_score,
    sselect_score,
)
from graphsieve.scores.method import ALL_LAWS, Method, Scored
from graphsieve.scores.pairs import c4_score, constrained_laplacian_score, constraint_score
from graphsieve.scores.probabilities import weighted_laplacian_score
from graphsieve.scores.targets import pearson_score, semi_supervised_laplacian_score, supervised_laplacian_score

__all__ = [
    "METHODS",
    "Method",
    "Scored",
    "c4_score",
    "constrained_laplacian_score",
    "constraint_score",
    "fisher_score",
    "laplacian_score",
    "lsdf_score",
    "method_named",
    "mutual_information_score",
    "pearson_score",
    "relieff_score",
    "semi_supervised_laplacian_score",
    "spec_score",
    "sselect_score",
    "supervised_laplacian_score",
    "variance_score",
    "weighted_laplacian_score",
]

_ALL = (
    Method(
        "laplacian",
        laplacian_score,
        geometry.laplacian,
        "small",
        (),
        True,
        "varies little between near neighbours",
        "He, Cai, Niyogi 2005",
    ),
    Method(
        "variance",
        variance_score,
        geometry.variance,
        "large",
        (),
        False,
        "varies much, in its own units",
        "Bishop 1995",
        ALL_LAWS - {"scale"},
    ),
    Method(
        "spec",
        spec_score,
        geometry.spec,
        "small",
        (),
        True,
        "is smooth in the spectrum of the neighbour graph",
        "Zhao, Liu 2007",
    ),
    Method(
        "supervised_laplacian",
        supervised_laplacian_score,
        targets.supervised_laplacian,
        "small",
        ("targets",),
        False,
        "varies little between samples of similar target",
        "Doquire, Verleysen 2013",
    ),
    Method(
        "semi_supervised_laplacian",
        semi_supervised_laplacian_score,
        targets.semi_supervised_laplacian,
        "small",
        ("targets",),
        True,
        "varies little between samples of similar target, and between near neighbours where it is unknown",
        "Doquire, Verleysen 2013",
    ),
    Method(
        "pearson",
        pearson_score,
        targets.pearson,
        "large",
        ("targets", "labels"),
        False,
        "correlates with the target",
        "Pearson 1895",
    ),
    Method(
        "mutual_information",
        mutual_information_score,
        labels.mutual_information,
        "large",
        ("labels", "targets"),
        False,
        "tells of the target or the class in any way",
        "Kraskov et al. 2004; Ross 2014",
    ),
    Method(
        "fisher",
        fisher_score,
        labels.fisher,
        "large",
        ("labels",),
        False,
        "has class means far apart and tight classes",
        "Duda, Hart, Stork 2000",
    ),
    Method(
        "relieff",
        relieff_score,
        labels.relieff,
        "large",
        ("labels",),
        False,
        "differs to near samples of other classes, not of the same",
        "Robnik-Šikonja, Kononenko 2003",
    ),
    Method(
        "lsdf",
        lsdf_score,
        labels.lsdf,
        "large",
        ("labels",),
        True,
        "varies between classes, not inside them or between near neighbours",
        "Zhao, Lu, He 2008",
    ),
    Method(
        "sselect",
        sselect_score,
        labels.sselect,
        "small",
        ("labels",),
        True,
        "varies little between near neighbours, and its sign agrees with the labels",
        "Zhao, Liu 2007",
    ),
    Method(
        "constraint",
        constraint_score,
        pairs.constraint,
        "small",
        ("pairs", "labels"),
        False,
        "varies little over must-links, much over cannot-links",
        "Zhang, Chen, Zhou 2008",
    ),
    Method(
        "constrained_laplacian",
        constrained_laplacian_score,
        pairs.constrained_laplacian,
        "small",
        ("pairs", "labels"),
        True,
        "varies little between neighbours and must-links, much over cannot-links",
        "Benabdeslem, Hindawi 2011",
    ),
    Method(
        "c4",
        c4_score,
        pairs.c4,
        "small",
        ("pairs", "labels"),
        True,
        "does well by the Laplacian score and by the constraint score",
        "Kalakech et al. 2011",
    ),
    Method(
        "weighted_laplacian",
        weighted_laplacian_score,
        probabilities.weighted_laplacian,
        "small",
        ("probabilities", "labels"),
        False,
        "varies little between samples that are likely of one class",
        "Doquire, Verleysen 2012",
    ),
)

METHODS: Mapping[str, Method] = MappingProxyType({method.name: method for method in _ALL})
"""Every method by its name."""


def method_named(name: str) -> Method:
    """The method of that name; the error lists them all and suggests the nearest."""
    if not isinstance(name, str) or name not in METHODS:
        raise InputError(f"method must be 'auto' or one of {', '.join(METHODS)}, got {name!r}{nearest(name, METHODS)}.")
    return METHODS[name]

"""The published scores, with one module per kind of supervision, and their registry."""

from graphsieve.scores.geometry import laplacian_score, spec_score, variance_score
from graphsieve.scores.labels import (
    fisher_score,
    lsdf_score,
    mutual_information_score,
    relieff_score,
    sselect_score,
)
from graphsieve.scores.pairs import c4_score, constrained_laplacian_score, constraint_score
from graphsieve.scores.probabilities import weighted_laplacian_score
from graphsieve.scores.score_registry import METHODS, score_together
from graphsieve.scores.targets import (
    pearson_score,
    semi_supervised_laplacian_score,
    supervised_laplacian_score,
)

__all__ = [
    "METHODS",
    "c4_score",
    "constrained_laplacian_score",
    "constraint_score",
    "fisher_score",
    "laplacian_score",
    "lsdf_score",
    "mutual_information_score",
    "pearson_score",
    "relieff_score",
    "score_together",
    "semi_supervised_laplacian_score",
    "spec_score",
    "sselect_score",
    "supervised_laplacian_score",
    "variance_score",
    "weighted_laplacian_score",
]

"""How good is a selection: curves over the number of features, with random and all columns beside it."""

from __future__ import annotations

from graphsieve.evaluation.clustering import ClusteringCurve, cluster_prefixes, clustering_accuracy
from graphsieve.evaluation.comparing import evaluate
from graphsieve.evaluation.comparing_clusters import evaluate_clustering
from graphsieve.evaluation.hiding import hide_labels
from graphsieve.evaluation.learners import LEARNERS, Learner
from graphsieve.evaluation.prefixes import score_prefixes
from graphsieve.evaluation.results import Evaluation, Measurement, Records, Selection, standard_error

__all__ = [
    "LEARNERS",
    "ClusteringCurve",
    "Evaluation",
    "Learner",
    "Measurement",
    "Records",
    "Selection",
    "cluster_prefixes",
    "clustering_accuracy",
    "evaluate",
    "evaluate_clustering",
    "hide_labels",
    "score_prefixes",
    "standard_error",
]

"""How good is a selection: curves over the number of features, with random and all columns beside it."""

from __future__ import annotations

from graphsieve.assess.evaluation.clustering import ClusteringCurve, cluster_prefixes, clustering_accuracy
from graphsieve.assess.evaluation.evaluating import evaluate
from graphsieve.assess.evaluation.evaluating_clusters import evaluate_clustering
from graphsieve.assess.evaluation.hiding import hide_labels
from graphsieve.assess.evaluation.learners import LEARNERS, Learner
from graphsieve.assess.evaluation.prefixes import score_prefixes
from graphsieve.assess.evaluation.results import Evaluation, Measurement, Records, Selection, standard_error

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

"""Evaluation of selections, comparison of methods, stability of selections and p-values."""

from graphsieve.assess.comparison.comparing import compare
from graphsieve.assess.evaluation.clustering import clustering_accuracy
from graphsieve.assess.evaluation.evaluating import evaluate
from graphsieve.assess.evaluation.evaluating_clusters import evaluate_clustering
from graphsieve.assess.evaluation.hiding import hide_labels
from graphsieve.assess.evaluation.prefixes import score_prefixes
from graphsieve.assess.resampling.stability import stability
from graphsieve.assess.significance.testing import feature_p_values

__all__ = [
    "clustering_accuracy",
    "compare",
    "evaluate",
    "evaluate_clustering",
    "feature_p_values",
    "hide_labels",
    "score_prefixes",
    "stability",
]

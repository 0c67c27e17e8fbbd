"""graphsieve: find the features that matter when labels are few, partial, uncertain or absent.

Modules are imported only when they are needed. ``graphsieve --help`` therefore starts quickly, and
a pipeline that only selects features does not import the code that reproduces papers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # Type checkers and editors do not run `__getattr__`.
    from graphsieve import assess, datasets, papers, scores, search
    from graphsieve._base.errors import (
        ConstraintConflictError,
        GraphSieveWarning,
        InputError,
        InputTypeError,
    )
    from graphsieve.assess.comparison.comparing import compare
    from graphsieve.assess.evaluation.evaluating import evaluate
    from graphsieve.assess.evaluation.evaluating_clusters import evaluate_clustering
    from graphsieve.assess.resampling.stability import stability
    from graphsieve.assess.significance.testing import feature_p_values
    from graphsieve.select.floating_sieve import FloatingSieve
    from graphsieve.select.graph_sieve import GraphSieve
    from graphsieve.select.hybrid_sieve import HybridSieve
    from graphsieve.select.iterative_sieve import IterativeSieve
    from graphsieve.select.labeled import LabeledOnly, labeled_scorer
    from graphsieve.select.ranking import Ranking, rank
    from graphsieve.supervision.value import Supervision
    from graphsieve.table.files.reading import read_table
    from graphsieve.table.stored.recognition import stored

__version__ = "0.1.0"

_HOMES = {
    "ConstraintConflictError": "_base.errors",
    "FloatingSieve": "select.floating_sieve",
    "GraphSieve": "select.graph_sieve",
    "GraphSieveWarning": "_base.errors",
    "HybridSieve": "select.hybrid_sieve",
    "InputError": "_base.errors",
    "InputTypeError": "_base.errors",
    "IterativeSieve": "select.iterative_sieve",
    "LabeledOnly": "select.labeled",
    "Ranking": "select.ranking",
    "Supervision": "supervision.value",
    "compare": "assess.comparison.comparing",
    "evaluate": "assess.evaluation.evaluating",
    "evaluate_clustering": "assess.evaluation.evaluating_clusters",
    "feature_p_values": "assess.significance.testing",
    "labeled_scorer": "select.labeled",
    "rank": "select.ranking",
    "read_table": "table.files.reading",
    "stability": "assess.resampling.stability",
    "stored": "table.stored.recognition",
}
_PACKAGES = ("assess", "datasets", "papers", "scores", "search")

__all__ = [
    "ConstraintConflictError",
    "FloatingSieve",
    "GraphSieve",
    "GraphSieveWarning",
    "HybridSieve",
    "InputError",
    "InputTypeError",
    "IterativeSieve",
    "LabeledOnly",
    "Ranking",
    "Supervision",
    "__version__",
    "assess",
    "compare",
    "datasets",
    "evaluate",
    "evaluate_clustering",
    "feature_p_values",
    "labeled_scorer",
    "papers",
    "rank",
    "read_table",
    "scores",
    "search",
    "stability",
    "stored",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"graphsieve.{name}")
    if name in _HOMES:
        value = globals()[name] = getattr(import_module(f"graphsieve.{_HOMES[name]}"), name)
        return value
    raise AttributeError(f"module 'graphsieve' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""graphsieve: which columns matter, when few, partial, uncertain or no labels are known."""

from importlib import import_module
from typing import Any

from graphsieve import propagation, scores, search
from graphsieve.errors import ConstraintConflictError, GraphSieveWarning, InputError, InputTypeError
from graphsieve.labeled import LabeledOnly, labeled_scorer
from graphsieve.ranking import Ranking, rank
from graphsieve.selectors import FloatingSieve, GraphSieve, HybridSieve, IterativeSieve
from graphsieve.supervision import Supervision

__version__ = "0.1.0"

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
    "datasets",
    "evaluation",
    "experiments",
    "feature_p_values",
    "labeled_scorer",
    "propagation",
    "rank",
    "scores",
    "search",
    "stability",
]

# Not needed to select features, so not loaded for it.
_PARTS = ("datasets", "evaluation", "experiments")
_FUNCTIONS = {"feature_p_values": "significance", "stability": "resampling"}


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return import_module(f"graphsieve.{name}")
    if name in _FUNCTIONS:
        return getattr(import_module(f"graphsieve.{_FUNCTIONS[name]}"), name)
    raise AttributeError(f"module 'graphsieve' has no attribute {name!r}")

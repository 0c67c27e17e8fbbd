"""graphsieve: which columns matter, when few, partial, uncertain or no labels are known."""

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
    "labeled_scorer",
    "propagation",
    "rank",
    "scores",
    "search",
]

"""graphsieve: which columns matter, when few, partial, uncertain or no labels are known."""

from graphsieve import scores
from graphsieve.errors import ConstraintConflictError, GraphSieveWarning, InputError, InputTypeError
from graphsieve.labeled import LabeledOnly, labeled_scorer
from graphsieve.ranking import Ranking, rank
from graphsieve.selectors import GraphSieve
from graphsieve.supervision import Supervision

__version__ = "0.1.0"

__all__ = [
    "ConstraintConflictError",
    "GraphSieve",
    "GraphSieveWarning",
    "InputError",
    "InputTypeError",
    "LabeledOnly",
    "Ranking",
    "Supervision",
    "__version__",
    "labeled_scorer",
    "rank",
    "scores",
]

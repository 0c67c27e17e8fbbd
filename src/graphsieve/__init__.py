"""graphsieve: which columns matter, when few, partial, uncertain or no labels are known.

Nothing is loaded before it is asked for: the command line answers ``--help`` at once, and a pipeline that only selects never
loads what reproduces papers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers and editors, which do not run `__getattr__`
    from graphsieve import datasets, scores, search
    from graphsieve import papers as experiments
    from graphsieve._base.errors import ConstraintConflictError, GraphSieveWarning, InputError, InputTypeError
    from graphsieve.assess import evaluation
    from graphsieve.assess.comparison import compare
    from graphsieve.assess.significance import feature_p_values
    from graphsieve.assess.stability import stability
    from graphsieve.search import propagation
    from graphsieve.select import FloatingSieve, GraphSieve, HybridSieve, IterativeSieve
    from graphsieve.select.labeled import LabeledOnly, labeled_scorer
    from graphsieve.select.ranking import Ranking, rank
    from graphsieve.supervision.value import Supervision
    from graphsieve.table import files as tables
    from graphsieve.table.files import read_table
    from graphsieve.table.stored import stored

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
    "compare",
    "datasets",
    "evaluation",
    "experiments",
    "feature_p_values",
    "labeled_scorer",
    "propagation",
    "rank",
    "read_table",
    "scores",
    "search",
    "stability",
    "stored",
    "tables",
]

_HOMES = {
    "assess.comparison": ("compare",),
    "_base.errors": ("ConstraintConflictError", "GraphSieveWarning", "InputError", "InputTypeError"),
    "select.labeled": ("LabeledOnly", "labeled_scorer"),
    "select.ranking": ("Ranking", "rank"),
    "assess.stability": ("stability",),
    "table.stored": ("stored",),
    "select": ("FloatingSieve", "GraphSieve", "HybridSieve", "IterativeSieve"),
    "assess.significance": ("feature_p_values",),
    "supervision.value": ("Supervision",),
    "table.files": ("read_table",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_PARTS = {
    "datasets": "datasets",
    "evaluation": "assess.evaluation",
    "experiments": "papers",
    "propagation": "search.propagation",
    "scores": "scores",
    "search": "search",
    "tables": "table.files",
}


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return import_module(f"graphsieve.{_PARTS[name]}")
    if name in _HOME_OF:
        value = globals()[name] = getattr(import_module(f"graphsieve.{_HOME_OF[name]}"), name)
        return value
    raise AttributeError(f"module 'graphsieve' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

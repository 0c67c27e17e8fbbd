"""What graphsieve raises and warns: one sentence each, naming what was given, what was expected, what to do."""

from __future__ import annotations

import sys
import warnings


class InputError(ValueError):
    """The data or a parameter cannot be used as given."""


class InputTypeError(InputError, TypeError):
    """The data or a parameter is of a kind that cannot be used at all."""


class ConstraintConflictError(InputError):
    """What is known of the samples contradicts itself."""


class GraphSieveWarning(UserWarning):
    """The result stands, but something about the data deserves a look."""


def warn(message: str, category: type[Warning] = GraphSieveWarning) -> None:
    """Warn at the caller's own line: the nearest one that is neither ours nor scikit-learn's."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("graphsieve", "sklearn"):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)

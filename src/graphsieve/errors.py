"""What graphsieve raises and warns: one sentence each, naming what was given, what was expected, what to do."""

from __future__ import annotations


class InputError(ValueError):
    """The data or a parameter cannot be used as given."""


class InputTypeError(InputError, TypeError):
    """The data or a parameter is of a kind that cannot be used at all."""


class ConstraintConflictError(InputError):
    """What is known of the samples contradicts itself."""


class GraphSieveWarning(UserWarning):
    """The result stands, but something about the data deserves a look."""

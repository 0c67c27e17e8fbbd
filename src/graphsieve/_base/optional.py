"""Optional dependencies of graphsieve."""

from __future__ import annotations

import importlib
from typing import Any

from graphsieve._base.errors import InputError


def needed(module: str, otherwise: str) -> Any:
    """Import an optional library, or raise `InputError` with the message `otherwise`."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        raise InputError(otherwise) from None

"""Libraries that graphsieve can do without."""

from __future__ import annotations

import importlib
from typing import Any

from graphsieve._base.errors import InputError


def needed(module: str, otherwise: str) -> Any:
    """An optional library; where it is not installed, an error that says so."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        raise InputError(otherwise) from None

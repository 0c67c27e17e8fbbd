"""Weights of the samples, which are their masses in graphs and means."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsieve._base.array_types import Floats
from graphsieve._base.errors import InputError, InputTypeError
from graphsieve._base.messages import parameter, phrase
from graphsieve._base.parameters import must_be

# Products of two weights must neither overflow nor underflow.
LARGEST_WEIGHT = 1e50


def read_weights(given: Any, n_samples: int) -> Floats:
    """Return one weight per sample, 0 or more.

    Examples
    --------
    >>> read_weights([1, 0, 2.5], 3)
    array([1. , 0. , 2.5])
    """
    try:
        weights = np.array(given)
        weights = weights if weights.dtype.kind in "biuf" else np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputTypeError(must_be("sample_weight", "one number per sample", given)) from error
    if weights.shape != (n_samples,):
        raise InputError(
            parameter("sample_weight"),
            f" must have one number for each of the {n_samples} ",
            phrase("samples"),
            f", got shape {weights.shape}.",
        )
    weights = weights.astype(np.float64)
    possible = (weights == 0) | ((weights >= 1 / LARGEST_WEIGHT) & (weights <= LARGEST_WEIGHT))
    if not possible.all():
        place = int(np.flatnonzero(~possible)[0])
        raise InputError(
            parameter("sample_weight"),
            f" must contain 0 and numbers from {1 / LARGEST_WEIGHT:g} to {LARGEST_WEIGHT:g}, got "
            f"{weights[place]:g} at position {place}.",
        )
    if not weights.any():
        raise InputError(
            parameter("sample_weight"),
            " is zero for every ",
            phrase("sample"),
            "; give at least one a positive weight.",
        )
    return weights

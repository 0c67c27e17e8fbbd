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
# Largest quotient of two weights. Beyond it, some samples would be all that is left in a mean.
LARGEST_QUOTIENT = 1e12


def read_weights(given: Any, n_samples: int) -> Floats:
    """Return one weight per sample, 0 or more.

    Examples
    --------
    >>> read_weights([1, 0, 2.5], 3)
    array([1. , 0. , 2.5])
    """
    weights = _numbers(given)
    if weights.shape != (n_samples,):
        raise InputError(
            parameter("sample_weight"),
            f" must have one number for each of the {n_samples} ",
            phrase("samples"),
            f", got shape {weights.shape}.",
        )
    possible = (weights == 0) | ((weights >= 1 / LARGEST_WEIGHT) & (weights <= LARGEST_WEIGHT))
    if not possible.all():
        place = int(np.flatnonzero(~possible)[0])
        raise InputError(
            parameter("sample_weight"),
            f" must contain 0 and numbers from {1 / LARGEST_WEIGHT:g} to {LARGEST_WEIGHT:g}, got "
            f"{weights[place]:g} at position {place}.",
        )
    positive = weights[weights > 0]
    if len(positive) < 2:
        raise InputError(
            parameter("sample_weight"),
            " must be above zero for at least 2 ",
            phrase("samples"),
            f", got {len(positive)}.",
        )
    if positive.max() > LARGEST_QUOTIENT * positive.min():
        raise InputError(
            parameter("sample_weight"),
            f" must not differ more than {LARGEST_QUOTIENT:g}-fold, got {positive.min():g} and "
            f"{positive.max():g}; use 0 for ",
            phrase("samples"),
            " to leave out.",
        )
    return weights


def _numbers(given: Any) -> Floats:
    """Return the weights as an array of floats. Text, dates and masked values are refused."""
    try:
        weights = np.array(given)
        if weights.dtype.kind == "O" and not any(isinstance(one, str) for one in weights.flat):
            weights = weights.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputTypeError(must_be("sample_weight", "one number per sample", given)) from error
    masked = isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given)
    if masked or weights.dtype.kind not in "biuf":
        raise InputTypeError(must_be("sample_weight", "one number per sample", given))
    return weights.astype(np.float64)

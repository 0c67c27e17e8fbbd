"""Columns on a common scale, so that no unit of measurement decides who is near whom.

Only differences matter to every score, so columns are divided and never shifted; sparse tables stay sparse.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graphsieve.columns import Block, Table
from graphsieve.sums import dense_weighting, moments

Scale = Literal["standard", "minmax"] | None
SCALES: tuple[Scale, ...] = ("standard", "minmax", None)


def rescaled(table: Table, scale: Scale) -> Table:
    """The table with every column divided by its standard deviation or its range; constant columns stay constant."""
    if scale is None:
        return table
    exponents, sizes = [], []
    for block in table.blocks():
        size = block.range if scale == "minmax" else _standard_deviation(block)
        exponents.append(block.exponent)
        sizes.append(np.where(block.constant | (size == 0), 1.0, size))
    return table.divided(np.concatenate(exponents), np.concatenate(sizes))


def _standard_deviation(block: Block) -> NDArray[np.float64]:
    everyone = dense_weighting(np.ones(block.values.shape[0]))
    return np.asarray(np.sqrt(moments(block, everyone).scatter[0] / block.values.shape[0]))


def standardized_target(target: NDArray[np.float64]) -> NDArray[np.float64]:
    """A target with mean 0 and standard deviation 1 over its known values; only centred where it does not vary."""
    known = ~np.isnan(target)
    if not known.any():
        return target
    exponent = int(np.frexp(np.abs(target[known]).max())[1])
    scaled = np.ldexp(target, -exponent)
    scaled = scaled - scaled[known].mean()
    deviation = scaled[known].std()
    return np.asarray(scaled / deviation if deviation > 0 else scaled)

"""Gains of features of several columns, for the search by explained variance.

A feature with the residual columns R explains the projection of everything on the span of R. Two
small matrices per feature determine this gain: the products RᵀR, and the fits Σ_i w_i Rᵀr_i r_iᵀR
over all weighted residual columns r_i of the table. Features with the same number of columns are
kept in the same arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphsieve._base.array_types import Floats, Integers
from graphsieve.table.features import Features


@dataclass(eq=False)
class OfOneSize:
    """The features with a certain number of columns, and the matrices of each of them."""

    members: Integers
    columns: Integers  # one row per member
    products: Floats
    fits: Floats


@dataclass(frozen=True, eq=False)
class Gains:
    """The gains of some features, with the number of dimensions that each of them would add.

    `smallest` is the smallest eigenvalue of the products that counts. The rounding error of the
    gain is inversely proportional to it.
    """

    members: Integers
    of_table: Floats
    of_targets: Floats
    ranks: Integers
    smallest: Floats


class SeveralColumns:
    """The matrices of all features of several columns."""

    def __init__(self, features: Features) -> None:
        self.place = np.full(len(features), -1, dtype=np.int64)
        self.parts: list[OfOneSize] = []
        for size in np.unique(features.sizes[features.several]):
            members = np.flatnonzero(features.sizes == size)
            self.place[members] = np.arange(len(members))
            columns = features.starts[members][:, None] + np.arange(size)
            empty = np.zeros((len(members), size, size))
            self.parts.append(OfOneSize(members, columns, empty, empty.copy()))

    def part_of(self, size: int) -> OfOneSize:
        return next(part for part in self.parts if part.columns.shape[1] == size)

    def set(self, feature: int, products: Floats, fits: Floats) -> None:
        """Set the matrices of a feature."""
        part, place = self.part_of(len(products)), self.place[feature]
        part.products[place], part.fits[place] = products, fits

    def update(self, along: Floats, back: Floats, energy: Floats) -> None:
        """Subtract the projection on orthonormal directions u_k from all columns.

        `along` are the products a_ki = u_kᵀr_i, `back` is Σ_i w_i a_ki r_iᵀr_j for each column j,
        and `energy` is Σ_i w_i a_ki a_li.
        """
        for part in self.parts:
            here = along[:, part.columns].transpose(1, 2, 0)
            there = back[:, part.columns].transpose(1, 0, 2)
            mixed = here @ there
            part.products -= here @ here.transpose(0, 2, 1)
            part.fits += here @ energy @ here.transpose(0, 2, 1)
            part.fits -= mixed + mixed.transpose(0, 2, 1)

    def gains(self, of_targets: Floats, least: Floats) -> list[Gains]:
        """Return the gains, given the products of the targets with all columns.

        `least` is the smallest eigenvalue of each feature that is not rounding error.
        """
        found = []
        for part in self.parts:
            values, vectors = np.linalg.eigh(part.products)
            counts = values > least[part.members][:, None]
            inverse = np.where(counts, 1 / np.where(counts, values, 1.0), 0.0)
            fits = np.maximum(((part.fits @ vectors) * vectors).sum(axis=1), 0.0)
            targets = of_targets[:, part.columns].transpose(1, 0, 2) @ vectors
            found.append(
                Gains(
                    part.members,
                    (fits * inverse).sum(axis=1),
                    ((targets**2).sum(axis=1) * inverse).sum(axis=1),
                    counts.sum(axis=1),
                    np.where(counts, values, np.inf).min(axis=1),
                )
            )
        return found

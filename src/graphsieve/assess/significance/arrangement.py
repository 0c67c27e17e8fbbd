"""An arrangement of samples and features that does not depend on the order of the rows.

Permutations are drawn for positions. If the positions were those of the rows, the same samples in
another order would get other permutations, and thus other p-values.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve.supervision.value import Supervision

DIGITS = 9  # of numbers that are compared between orders of the rows
MOST_ROUNDS = 100  # rounds that distinguish samples of symmetric pairs


@dataclass(frozen=True)
class Arrangement:
    """Samples in an order that follows from their supervision.

    Attributes
    ----------
    colors : array of shape (n_samples,)
        Number of the group of each sample. It is the same for samples that can be exchanged.
    places : array of shape (n_samples,)
        Position of each sample. Positions within a group are arbitrary.
    nameless : bool
        Whether groups of the same size can be exchanged too, such as classes.
    """

    colors: Integers
    places: Integers
    nameless: bool = False

    @classmethod
    def by(cls, colors: Integers, *, nameless: bool = False) -> Arrangement:
        """Sort samples by color, and smaller groups first if groups can be exchanged."""
        sizes = np.bincount(colors)[colors] if nameless else np.zeros_like(colors)
        return cls(colors, _inverse(np.lexsort((colors, sizes))), nameless)

    def shuffled(self, features: Floats) -> Floats:
        """Shuffle each feature by a seed that follows from its relation to the groups.

        Without this step, features with the same distribution would get the same values after
        every permutation. Their p-values would then have the same error.
        """
        result = np.empty_like(features)
        for j, values in enumerate(features.T):
            sign = _sign(values)
            # If the distribution is symmetric, only its relation to the groups has a direction.
            seeds = [self._seed(turned * values) for turned in ([sign] if sign else [1.0, -1.0])]
            random = np.random.default_rng(min(seeds))
            result[:, j] = random.permutation(np.sort(sign * values if sign else values))
        return result

    def shuffled_together(self, columns: Floats) -> Floats:
        """Shuffle the rows of the columns of one feature, as `shuffled` does for one column."""
        values = np.unique(columns, axis=0, return_inverse=True)[1].ravel().astype(np.float64)
        random = np.random.default_rng(self._seed(values))
        order = random.permutation(np.argsort(values, kind="stable"))
        return np.asarray(columns[order])

    def _seed(self, values: Floats) -> int:
        if self.nameless:  # The ranks of the values in each group, whatever its number is
            ranks = _ranked(values)[np.lexsort((values, self.colors))].astype("<i8")
            groups = np.split(ranks, np.cumsum(np.bincount(self.colors))[:-1])
            description = b"".join(sorted(group.tobytes() for group in groups))
        else:
            colors = self.colors[np.lexsort((self.colors, values))]
            description = colors.astype("<i8").tobytes()
        return int.from_bytes(hashlib.blake2b(description, digest_size=8).digest(), "little")


def by_classes(codes: Integers) -> Arrangement:
    return Arrangement.by(_ranked(codes), nameless=True)


def by_target(target: Floats) -> Arrangement:
    """Sort samples by a target. The sign of the target does not matter.

    Several targets are sorted by their values, so that their given order does not matter.
    """
    if target.ndim == 2:
        return by_probabilities(np.round(target, DIGITS))
    centered = target - (target.min() / 2 + target.max() / 2)
    return Arrangement.by(_ranked((_sign(centered) or 1.0) * target))


def by_probabilities(factor: Floats) -> Arrangement:
    """Sort samples by their probabilities, with the classes in the order of their values."""
    classes = np.lexsort(np.sort(factor, axis=0))
    return Arrangement.by(np.unique(factor[:, classes], axis=0, return_inverse=True)[1].ravel())


def by_numbers(*numbers: Floats) -> Arrangement:
    """Sort samples by numbers that may contain rounding errors."""
    rounded = [np.round(values / (np.abs(values).max() or 1.0), DIGITS) for values in numbers]
    return Arrangement.by(
        np.unique(np.stack(rounded, axis=1), axis=0, return_inverse=True)[1].ravel()
    )


def by_pairs(known: Supervision) -> Arrangement:
    """Sort samples by their position in the graph of pairs and labels.

    The color of a sample is refined by the colors of the linked samples, until no further samples
    can be distinguished. Of the remaining symmetric samples of each component, one is then
    distinguished, and so on.
    """
    links = _links(known)
    n_nodes, n_samples = links[0].shape[0], known.n_samples
    colors = _refined((np.arange(n_nodes) >= n_samples).astype(np.int64), links)
    linked = sum(links[1:], start=links[0])
    component = sp.csgraph.connected_components(linked, directed=False)[1]
    described = colors
    for _ in range(MOST_ROUNDS):
        chosen = _symmetric(described, component, links)
        if not len(chosen):
            break
        described = 2 * described + 1
        described[chosen] -= 1
        described = _refined(described, links)
    # Components that look alike can be exchanged as a whole.
    kind = np.zeros(n_nodes, dtype=np.uint64)
    np.add.at(kind, component, _random_numbers(n_nodes)[described])
    order = np.lexsort((described, component, kind[component]))
    order = order[order < n_samples]
    return Arrangement(colors[:n_samples], _inverse(order))


def _links(known: Supervision) -> list[sp.csr_array]:
    """Return a matrix of links for each kind: must-link, cannot-link, and sample with its class."""
    n, codes = known.n_samples, known.codes
    labeled = np.flatnonzero(codes >= 0)
    classes = np.stack([labeled, n + codes[labeled]], axis=1)
    size = n + int(codes.max(initial=-1)) + 1
    found = []
    for pairs in (known.must_link, known.cannot_link, classes):
        ends = np.concatenate([pairs, pairs[:, ::-1]]).astype(np.int64)
        ones = np.ones(len(ends), dtype=np.uint64)
        found.append(sp.csr_array((ones, (ends[:, 0], ends[:, 1])), shape=(size, size)))
    return found


def _refined(colors: Integers, links: list[sp.csr_array]) -> Integers:
    """Distinguish samples with different colors among their links, as often as possible."""
    random = _random_numbers(2 * len(colors) + 2)
    n_colors = 0
    while True:
        around = [(link @ random[colors]).view(np.int64) for link in links]
        found = np.unique(np.stack([colors, *around], axis=1), axis=0, return_inverse=True)[1]
        colors = np.asarray(found.ravel(), dtype=np.int64)
        if colors.max(initial=0) + 1 == n_colors:
            return colors
        n_colors = int(colors.max(initial=0)) + 1


def _symmetric(colors: Integers, component: Integers, links: list[sp.csr_array]) -> Integers:
    """Return a sample of each component that cannot yet be distinguished from another one.

    Samples with the same links can be exchanged on their own, so they need no distinction.
    """
    random = _random_numbers(len(colors))
    open_links = np.stack([(link @ random).view(np.int64) for link in links], axis=1)
    closed_links = open_links.copy()
    closed_links[:, 0] += random.view(np.int64)  # must-linked with each other
    tied = np.lexsort((colors, component))
    alike = (np.diff(colors[tied]) == 0) & (np.diff(component[tied]) == 0)
    for twins in (open_links, closed_links):
        alike &= (np.diff(twins[tied], axis=0) != 0).any(axis=1)
    first = tied[:-1][alike]
    return np.asarray(first[np.unique(component[first], return_index=True)[1]], dtype=np.int64)


def _random_numbers(n: int) -> NDArray[np.uint64]:
    """Return fixed random numbers. Their sums identify sets, because they hardly ever coincide."""
    return np.random.default_rng(0).integers(0, 2**63, size=n, dtype=np.uint64)


def _sign(values: Floats) -> float:
    """Return the direction of centred values: −1, 1, or 0 if their distribution is symmetric.

    The first difference between the sorted values and their sorted negatives decides.
    """
    ordered = np.sort(values)
    difference = ordered + ordered[::-1]
    clear: Booleans = np.abs(difference) > 10.0**-DIGITS * np.abs(ordered).max()
    return float(np.sign(difference[clear.argmax()])) if clear.any() else 0.0


def _ranked(values: NDArray[np.generic]) -> Integers:
    return np.asarray(np.unique(values, return_inverse=True)[1].ravel(), dtype=np.int64)


def _inverse(order: Integers) -> Integers:
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return places

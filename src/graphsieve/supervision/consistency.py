"""Check that labels and pairs do not contradict each other."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from graphsieve._base.array_types import Booleans, Integers
from graphsieve._base.errors import ConstraintConflictError
from graphsieve._base.messages import Part, phrase, separated_by
from graphsieve._base.parameters import as_text, quoted

LONGEST_CHAIN = 20  # links shown in a message


def check_consistency(
    labels: Integers, classes: NDArray[Any], must_link: Integers, cannot_link: Integers
) -> None:
    """Raise an error if labels and pairs contradict each other.

    Must-links and equal labels join samples into groups. A cannot-link or different labels within a
    group are a contradiction. `labels` are indices into `classes`, with −1 for unlabelled samples.
    """
    if not len(must_link) and not len(cannot_link):
        return
    links = _Links(labels, classes, must_link)
    for one, other in cannot_link[links.together(cannot_link)]:
        raise ConstraintConflictError(
            *_ends(int(one), int(other)),
            " are cannot-linked, yet belong together: ",
            *links.chain(int(one), int(other)),
            "; remove one of these links.",
        )
    clash = links.classes_in_one_component()
    if clash is not None:
        one, other = clash
        raise ConstraintConflictError(
            *_ends(one, other),
            " have different labels, yet belong together: ",
            *links.chain(one, other),
            "; correct a label or remove a link.",
        )


class _Links:
    """Graph of samples joined by must-links and, through one node per class, by equal labels."""

    def __init__(self, labels: Integers, classes: NDArray[Any], must_link: Integers) -> None:
        self._labels, self._classes, self._n_samples = labels, classes, len(labels)
        labeled = np.flatnonzero(labels >= 0)
        edges = np.concatenate(
            [must_link, np.stack([labeled, self._n_samples + labels[labeled]], axis=1)]
        )
        size = self._n_samples + len(classes)
        joined = sp.csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(size, size))
        self._adjacency = sp.csr_array(joined + joined.T)
        self._component = connected_components(self._adjacency, directed=False)[1]

    def together(self, pairs: Integers) -> Booleans:
        return np.asarray(self._component[pairs[:, 0]] == self._component[pairs[:, 1]])

    def classes_in_one_component(self) -> tuple[int, int] | None:
        """Return one sample of each of two joined classes, or None if no classes are joined."""
        first_class: dict[int, int] = {}
        for node in self._n_samples + np.unique(self._labels[self._labels >= 0]):
            other = first_class.setdefault(int(self._component[node]), int(node))
            if other != node:
                path = self._path(other, int(node))
                return path[1], path[-2]
        return None

    def chain(self, start: int, end: int) -> list[str]:
        """Return the links from one sample to another, such as ``0 = 1 = 2``.

        Only the first and the last links of a long chain are shown.
        """
        names = [
            _sample(node)
            if node < self._n_samples
            else f"(both labelled {quoted(as_text(self._classes[node - self._n_samples]))})"
            for node in self._path(start, end)
        ]
        if len(names) > LONGEST_CHAIN:
            names = [
                *names[: LONGEST_CHAIN // 2],
                f"… {len(names) - LONGEST_CHAIN:,} more …",
                *names[-(LONGEST_CHAIN // 2) :],
            ]
        return separated_by(" = ", names)

    def _path(self, start: int, end: int) -> list[int]:
        """Return a shortest path between two nodes."""
        came_from: dict[int, int] = {start: -1}
        queue = deque([start])
        while queue and end not in came_from:
            node = queue.popleft()
            for neighbor in self._adjacency.indices[
                self._adjacency.indptr[node] : self._adjacency.indptr[node + 1]
            ]:
                if int(neighbor) not in came_from:
                    came_from[int(neighbor)] = node
                    queue.append(int(neighbor))
        path = [end]
        while came_from[path[-1]] != -1:
            path.append(came_from[path[-1]])
        return path[::-1]


def _ends(one: int, other: int) -> list[str]:
    """Return the message parts that name two contradicting samples."""
    return [phrase("samples"), " ", _sample(one), " and ", _sample(other)]


def _sample(number: int) -> Part:
    return Part(str(number), "sample", value=number)

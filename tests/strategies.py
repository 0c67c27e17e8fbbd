"""Random problems for hypothesis: a table and all kinds of supervision for its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
from hypothesis import strategies as st

from graphsieve import Supervision


def frozen(values: Any, dtype: Any = None) -> np.ndarray:
    """Return a read-only array."""
    array = np.array(values, dtype=dtype)
    array.flags.writeable = False
    return array


@dataclass(frozen=True)
class Problem:
    """A table of features with labels (−1: unlabelled), targets (NaN: unknown), probabilities and
    consistent pairs.
    """

    X: np.ndarray
    labels: np.ndarray
    targets: np.ndarray
    probabilities: np.ndarray
    must_link: np.ndarray
    cannot_link: np.ndarray

    def known(self, kind: str) -> Supervision:
        makers: dict[str, Any] = {
            "labels": lambda: Supervision.from_labels(self.labels),
            "targets": lambda: Supervision.from_targets(self.targets),
            "probabilities": lambda: Supervision.from_probabilities(self.probabilities),
            "pairs": lambda: Supervision.from_pairs(len(self.X), self.must_link, self.cannot_link),
        }
        return makers[kind]()


def grid_values(low: int = -12, high: int = 12) -> st.SearchStrategy[float]:
    """Multiples of 1/4. Sums and squares of their differences are exact, so every method finds the
    same ties.
    """
    return st.integers(low, high).map(lambda value: value / 4)


@st.composite
def problems(draw: Any, *, ties: bool, min_samples: int = 6, max_samples: int = 20) -> Problem:
    """Draw a problem. With `ties`, there are many duplicates, constant columns and equal distances.
    Otherwise the values are in general position.
    """
    n = draw(st.integers(min_samples, max_samples))
    p = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if ties:
        X = draw(hnp.arrays(np.float64, (n, p), elements=grid_values()))
        targets = draw(hnp.arrays(np.float64, n, elements=grid_values(-4, 4)))
    else:
        X, targets = rng.normal(size=(n, p)), rng.normal(size=n)
    truth = rng.permutation(np.arange(n) % draw(st.integers(2, 3)))
    hidden = rng.random(n) < draw(st.sampled_from([0.0, 0.3, 0.6]))
    hidden[np.unique(truth, return_index=True)[1]] = False  # at least one label per class
    hidden[n - 1 - np.unique(truth[::-1], return_index=True)[1]] = (
        False  # two if it has two samples
    )
    known = rng.random(n) < draw(st.sampled_from([0.4, 0.8, 1.0]))
    known[[0, -1]] = True
    must_link, cannot_link = _pairs(rng, truth)
    return Problem(
        X,
        np.where(hidden, -1, truth),
        np.where(known, targets, np.nan),
        rng.dirichlet(np.ones(3), n),
        must_link,
        cannot_link,
    )


def _pairs(rng: np.random.Generator, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.triu_indices(len(truth), k=1)
    order = rng.permutation(len(first))
    first, second = first[order], second[order]
    alike = truth[first] == truth[second]
    pairs = np.stack([first, second], axis=1)
    flipped = pairs[:, ::-1]  # the order within a pair must not matter
    return pairs[alike][:7], flipped[~alike][:9]

"""What the labelled samples say of all others by way of a straight line: ridge regression on all
columns.

A prediction for every sample is a better thing to explain than the few labels themselves: columns
that reproduce it stand for what all columns together know of the labels, and there are as many
values of it as samples, so that little can be fitted by chance. How far it can be trusted is
measured on labels that were left out one at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from graphsieve._base.array_types import Floats, Integers
from graphsieve.supervision.value import Supervision
from graphsieve.table.blocks import Block
from graphsieve.table.centered import centered_parts
from graphsieve.table.columns import Table

PENALTIES = 10.0 ** np.arange(-6, 2.1, 0.5)  # times the largest eigenvalue
# Samples to learn from, if there are more columns than that as well: the time grows with the third
# power
MOST_LABELED = 1024


@dataclass(frozen=True)
class Prediction:
    """What is predicted of every sample, and how well it would have predicted what is known.

    Attributes
    ----------
    values : array of shape (n_samples, n_outputs)
        Class indicators, probabilities or the target, each with mean zero.
    skill : float
        From 0 (no better than a guess) to 1: for classes Cohen's κ, for a target R², of labels that
        were left out one at a time.
    """

    values: Floats
    skill: float


def predicted(table: Table, known: Supervision) -> Prediction | None:
    """Ridge regression from the labelled samples to all; None where neither labels nor targets
    nor probabilities are known.
    """
    outputs, rows = _outputs(known)
    if len(rows) < 3:
        return None
    most = _most_labeled(table)
    if len(rows) > most:
        kept = _spread_over_classes(outputs)[
            np.linspace(0, len(rows) - 1, most).round().astype(np.int64)
        ]
        outputs, rows = outputs[kept], rows[kept]
    centered = outputs - outputs.mean(axis=0)
    if not centered.any():
        return None
    left, squares = _left_singular(table, rows)
    if not len(squares):
        return None
    penalty, left_out = best_penalty(left, squares, centered)
    inner = left @ ((left.T @ centered) / (squares + penalty)[:, None])
    values = np.zeros((table.n_samples, outputs.shape[1]))
    for _, part in table.evaluations(
        partial(_predictions, top=table.top_exponent, rows=rows, inner=inner)
    ):
        values += part
    of_classes = known.targets is None or known.probabilities is not None
    return Prediction(values - values.mean(axis=0), _skill(outputs, left_out, classes=of_classes))


def _most_labeled(table: Table) -> int:
    """From how many labelled samples to learn."""
    if table.n_features > MOST_LABELED:
        return MOST_LABELED
    return max(MOST_LABELED, table.most_held // table.n_features)


def _outputs(known: Supervision) -> tuple[Floats, Integers]:
    """What is to be predicted of the samples of which it is known, and which samples those are."""
    if known.probabilities is not None:
        return known.label_probabilities(), np.arange(len(known))
    if known.targets is not None:
        rows = np.flatnonzero(~np.isnan(known.targets))
        target = _of_size_one(known.targets[rows])
        # The offset leaves after the size: else it might overflow
        return _of_size_one(target - target[:1])[:, None], rows
    rows = np.flatnonzero(known.codes >= 0)
    return (known.codes[rows][:, None] == np.unique(known.codes[rows])).astype(np.float64), rows


def _of_size_one(values: Floats) -> Floats:
    return np.asarray(np.ldexp(values, -int(np.frexp(np.abs(values).max(initial=0.0))[1])))


def _spread_over_classes(outputs: Floats) -> Integers:
    """The labelled in an order in which every stretch has its share of every class, or of low
    and high targets.
    """
    return np.lexsort((outputs[:, 0], outputs.argmax(axis=1))).astype(np.int64)


def _of_rows(part: Floats, rows: Integers) -> Floats:
    chosen = part[rows] - part[rows[0]]  # so that a column without differences here is exactly zero
    return np.asarray(chosen - chosen.mean(axis=0))


def _left_singular(table: Table, rows: Integers) -> tuple[Floats, Floats]:
    """Left singular vectors and squared singular values of the labelled samples, by way of the
    smaller product.
    """
    if len(rows) <= table.n_features:
        kernel = np.zeros((len(rows), len(rows)))
        for _, part in table.evaluations(partial(_kernel, top=table.top_exponent, rows=rows)):
            kernel += part
        squares, vectors = np.linalg.eigh(kernel)
    else:
        own = table.evaluated(partial(_labeled, top=table.top_exponent, rows=rows))
        squares, right = np.linalg.eigh(own.T @ own)
        vectors = (own @ right) / np.sqrt(np.maximum(squares, np.finfo(float).tiny))
    real = squares > 1e-12 * max(float(squares.max(initial=0.0)), 0.0)
    return np.asarray(vectors[:, real]), np.asarray(squares[real])


def _labeled(block: Block, *, top: int, rows: Integers) -> Floats:
    return np.concatenate([_of_rows(part, rows) for _, part in centered_parts(block, top)], axis=1)


def _kernel(block: Block, *, top: int, rows: Integers) -> Floats:
    total = np.zeros((len(rows), len(rows)))
    for _, part in centered_parts(block, top):
        own = _of_rows(part, rows)
        total += own @ own.T
    return total


def _predictions(block: Block, *, top: int, rows: Integers, inner: Floats) -> Floats:
    """What the columns of a block add to the predictions of all samples."""
    total = np.zeros((block.n_samples, inner.shape[1]))
    for _, part in centered_parts(block, top):
        total += part @ (_of_rows(part, rows).T @ inner)
    return total


def best_penalty(left: Floats, squares: Floats, centered: Floats) -> tuple[float, Floats]:
    """The penalty with the least squared error on labels left out one at a time, and those
    predictions; in closed form.
    """
    inner, best = left.T @ centered, None
    for penalty in PENALTIES * squares.max():
        kept = squares / (squares + penalty)
        leverage = np.minimum((left**2) @ kept + 1 / len(left), 1 - 1e-9)
        errors = (centered - left @ (kept[:, None] * inner)) / (1 - leverage)[:, None]
        size = float((errors**2).sum())
        if best is None or size < best[0]:
            best = size, float(penalty), centered - errors
    assert best is not None
    return best[1], best[2]


def _skill(outputs: Floats, left_out: Floats, *, classes: bool) -> float:
    centered = outputs - outputs.mean(axis=0)
    if not classes:
        n = len(outputs)
        # The mean of the others, too, is one of those left out
        of_the_mean = float(((centered * n / (n - 1)) ** 2).sum())
        return float(np.clip(1 - ((centered - left_out) ** 2).sum() / of_the_mean, 0.0, 1.0))
    true, said = outputs.argmax(axis=1), (left_out + outputs.mean(axis=0)).argmax(axis=1)
    n_classes = outputs.shape[1]
    by_chance = (
        float(np.bincount(true, minlength=n_classes) @ np.bincount(said, minlength=n_classes))
        / len(true) ** 2
    )
    right = float((true == said).mean())
    return max(0.0, (right - by_chance) / (1 - by_chance)) if by_chance < 1 else 0.0

"""The selections that are compared.

Each function receives a `Problem` of the training rows, with NaN or −1 for unknown targets, and
returns groups of one-hot columns. The first k groups are the first k features.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.feature_selection import f_classif, f_regression

from graphsieve import GraphSieve
from mixed.data import Floats, Integers, Problem

MOST = 10  # features that are selected one by one
Order = list[Integers]
RANDOM_DRAWS = 3


def blocks(data: Problem, seed: int) -> Order:
    """The default: a category is one feature of several columns."""
    # Without names, text such as "1" would be refused if the other levels are absent.
    sieve = GraphSieve(categorical=data.categories or None)
    return of_features(data, ranked(sieve, data.frame, data))


def without_categories(data: Problem, seed: int) -> Order:
    """The default on the numbers. Text is left out, and coded categories are read as numbers."""
    frame = data.frame
    if data.numeric_codes:
        codes = {
            name: frame[name].str.removeprefix("level ").astype(float) for name in data.categories
        }
        frame = frame.assign(**codes)
    else:
        frame = frame.drop(columns=data.categories)
    places = [data.frame.columns.get_loc(name) for name in frame]
    order = [places[j] for j in ranked(GraphSieve(), frame, data)] if places else []
    # A random order of the others follows.
    rest = np.setdiff1d(np.arange(data.frame.shape[1]), order)
    return of_features(data, [*order, *np.random.default_rng(seed).permutation(rest)])


def one_hot(data: Problem, seed: int) -> Order:
    """The default on scaled one-hot columns. A feature is ranked by its first selected column."""
    columns, members = data.columns
    scaled = np.empty_like(columns)
    for some in members:
        total = np.sqrt(columns[:, some].var(axis=0).sum())
        scaled[:, some] = columns[:, some] / (total or 1.0)
    order = ranked(GraphSieve(scale=None), pd.DataFrame(scaled), data, most=3 * MOST)
    return of_features(data, by_first_column(members, order))


def single_columns(data: Problem, seed: int) -> Order:
    """The default on one-hot columns as they are. Only the selected columns are used."""
    columns, _ = data.columns
    return [np.array([j]) for j in ranked(GraphSieve(), pd.DataFrame(columns), data)]


def f_test(data: Problem, seed: int) -> Order:
    """The F test on one-hot columns. A feature is ranked by its best column."""
    columns, members = data.columns
    known = data.y >= 0 if data.is_classification else ~np.isnan(data.y)
    test = f_classif if data.is_classification else f_regression
    with np.errstate(all="ignore"):
        values = test(columns[known], data.y[known])[0]
    order = np.argsort(-np.nan_to_num(values, nan=-1.0), kind="stable")
    return of_features(data, by_first_column(members, order.tolist()))


def random(data: Problem, seed: int) -> Order:
    return of_features(data, np.random.default_rng(seed).permutation(data.frame.shape[1]).tolist())


SELECTIONS: dict[str, Callable[[Problem, int], Order]] = {
    "blocks": blocks,
    "without_categories": without_categories,
    "one_hot": one_hot,
    "single_columns": single_columns,
    "f_test": f_test,
    "random": random,
}


def ranked(sieve: GraphSieve, frame: pd.DataFrame, data: Problem, most: int = MOST) -> list[int]:
    """Return the order of the features of a frame."""
    sieve.set_params(
        n_features_to_select=min(most, frame.shape[1]),
        target_type="classes" if data.is_classification else "continuous",
    )
    frame = frame.set_axis([str(name) for name in frame], axis=1)
    return np.argsort(sieve.fit(frame, data.y).ranking_).tolist()


def of_features(data: Problem, order: list[int] | Floats) -> Order:
    return [data.columns[1][int(j)] for j in order]


def by_first_column(members: list[Integers], order: list[int]) -> list[int]:
    owner = {int(column): feature for feature, some in enumerate(members) for column in some}
    return list(dict.fromkeys(owner[int(column)] for column in order))

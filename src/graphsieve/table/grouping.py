"""Groups of columns that are selected together, such as a spectral band or a gene set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from numbers import Number
from typing import Any

import numpy as np

from graphsieve._base.errors import InputError, InputTypeError
from graphsieve._base.messages import parameter
from graphsieve._base.parameters import is_collection, must_be, quoted
from graphsieve.table.categories import is_missing
from graphsieve.table.columns import Table
from graphsieve.table.containers import positions_of
from graphsieve.table.features import Features

Groups = dict[str, list[int]]


def grouped(table: Table, groups: Any) -> Table:
    """Return the table with groups of its features as features.

    Parameters
    ----------
    table : Table
        The table. Its features may be categories.
    groups : dict, sequence, str or None
        The names or positions of the features of each group; one label per feature (None for a
        feature without a group); or a separator. Features with the same text before the first
        separator in their names then form a group. Features without a group remain as they are.

    Examples
    --------
    >>> from graphsieve.table.columns import MemoryTable
    >>> table = grouped(MemoryTable(np.eye(4)), {"ends": [0, 3]})
    >>> table.feature_names, table.features.sizes
    (('ends', 'x1', 'x2'), array([2, 1, 1]))
    """
    if groups is None:
        return table
    named = _read(table, groups)
    if not named:
        return table
    owner = {position: name for name, positions in named.items() for position in positions}
    names = table.feature_names or tuple(f"x{j}" for j in range(table.n_features))
    inputs: list[list[int]] = []
    labels: list[str] = []
    for position, name in enumerate(names):
        group = owner.get(position)
        if group is None:
            inputs.append([position])
            labels.append(name)
        elif position == min(named[group]):
            inputs.append(sorted(named[group]))
            labels.append(group)
    _refuse_twins(labels, groups)
    before = table.features or Features.of_sizes(
        np.ones(table.n_columns, dtype=np.int64), np.zeros(table.n_columns, dtype=bool)
    )
    order = [before.columns_of(np.array(positions)) for positions in inputs]
    is_category = [len(one) == 1 and bool(before.categorical[one[0]]) for one in inputs]
    found = table.take_columns(np.concatenate(order))
    features = Features.of_sizes(
        [len(columns) for columns in order],
        is_category,
        inputs=tuple(map(np.array, inputs)),
        levels=None
        if before.levels is None
        else tuple(before.levels[one[0]] if len(one) == 1 else () for one in inputs),
    )
    return found.grouped(features, tuple(labels))


def _read(table: Table, groups: Any) -> Groups:
    if isinstance(groups, str):
        return _by_prefix(table, groups)
    if isinstance(groups, Mapping):
        return _by_name(table, groups)
    return _by_label(table, groups)


def _by_prefix(table: Table, separator: str) -> Groups:
    if not separator or table.feature_names is None:
        why = "must not be empty" if not separator else "needs names of features, and X has none"
        raise InputError(
            parameter("feature_groups", separator), f" as a separator {why}; use a dict or labels."
        )
    found: Groups = {}
    for position, name in enumerate(table.feature_names):
        before, separated, _ = name.partition(separator)
        if separated:
            found.setdefault(before, []).append(position)
    several = {name: positions for name, positions in found.items() if len(positions) > 1}
    if not several:
        raise InputError(
            parameter("feature_groups", separator),
            f" is {quoted(separator)}, but no two names share the text before it; use another "
            "separator.",
        )
    return several


def _by_name(table: Table, groups: Mapping[Any, Any]) -> Groups:
    found: Groups = {}
    taken: dict[int, str] = {}
    for key, members in groups.items():
        name = str(key)
        if name in found:
            raise InputError(
                parameter("feature_groups", groups),
                f" has two groups named {quoted(name)}; rename one of them.",
            )
        positions = _members(table, groups, key, members)
        for position in positions:
            if position in taken:
                label = table.label_of_feature(position)
                raise InputError(
                    parameter("feature_groups", groups),
                    f" has {label} in {quoted(taken[position])} and in {quoted(name)}; keep it in "
                    "one of them.",
                )
            taken[position] = name
        found[name] = positions
    return found


def _members(table: Table, groups: Any, name: Any, members: Any) -> list[int]:
    if isinstance(members, str | bytes | Mapping | Iterator) or not is_collection(members):
        raise InputTypeError(
            parameter("feature_groups", groups),
            f" has {quoted(members)} for {quoted(name)}; expected a list of features.",
        )
    positions = positions_of("feature_groups", members, table.feature_names, table.n_features)
    if not positions:
        raise InputError(
            parameter("feature_groups", groups),
            f" has no features for {quoted(name)}; leave the group out.",
        )
    return positions


def _by_label(table: Table, groups: Any) -> Groups:
    unordered = isinstance(groups, bytes | set | frozenset | Iterator)
    if unordered or not is_collection(groups) or getattr(groups, "ndim", 1) != 1:
        what = "a dict, one label per feature or a separator"
        raise InputTypeError(must_be("feature_groups", what, groups))
    labels = list(groups)
    if len(labels) != table.n_features:
        raise InputError(
            parameter("feature_groups", groups),
            f" has {len(labels)} labels, but there are {table.n_features} features; give one label "
            "per feature, and None for a feature without a group.",
        )
    found: Groups = {}
    for position, label in enumerate(labels):
        if is_missing(label):
            continue
        if not isinstance(label, str | Number | np.bool_):
            raise InputTypeError(
                parameter("feature_groups", groups),
                f" has the label {quoted(label)}; expected text, a number or None.",
            )
        found.setdefault(str(label), []).append(position)
    return found


def _refuse_twins(labels: list[str], groups: Any) -> None:
    twins = sorted({label for label in labels if labels.count(label) > 1})
    if twins:
        raise InputError(
            parameter("feature_groups", groups),
            f" has the name {quoted(twins[0])}, which is also the name of a feature; rename one of "
            "them.",
        )

"""Data of the plots: comparison with simple dense code, invariances, and unusual columns."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats.contingency import association

import lookalikes
from graphsieve.report import portraits
from graphsieve.report.portraits import portray
from graphsieve.supervision.value import Supervision
from graphsieve.table.any_table import as_table
from graphsieve.table.columns import MemoryTable


@pytest.fixture
def rng():
    return np.random.default_rng(6)


def only(values, known=None, **options):
    """Return the facts of one column."""
    known = Supervision.nothing(len(values)) if known is None else known
    return portray(
        MemoryTable(np.asarray(values, dtype=np.float64)[:, None]), known, [0], **options
    )["features"][0]


def numbers(facts):
    """Yield all numbers in nested facts."""
    if isinstance(facts, dict | list):
        for part in facts.values() if isinstance(facts, dict) else facts:
            yield from numbers(part)
    elif isinstance(facts, int | float):
        yield facts


# Histograms


def test_bins_and_counts_are_those_of_numpy(rng):
    values = rng.normal(size=300)
    labels = rng.integers(0, 3, size=300)
    histogram = only(values, Supervision.from_labels(labels))["histogram"]
    between = np.subtract(*np.quantile(values, [0.75, 0.25]))
    n_bins = int(np.ceil(np.ptp(values) / (2 * between / 300 ** (1 / 3))))  # Freedman and Diaconis
    assert 8 < n_bins < 24
    for label in range(3):
        counts, edges = np.histogram(
            values[labels == label], bins=n_bins, range=(values.min(), values.max())
        )
        assert histogram["counts"][label] == counts.tolist()
        assert_allclose(histogram["edges"], edges, rtol=1e-5, atol=1e-5)


def test_a_value_on_an_edge_is_counted_above_it_and_the_largest_in_the_last_bin():
    """Integers from 0 to 80 in 8 bins: every tenth is an edge."""
    values = np.concatenate([np.arange(81), np.repeat(np.arange(0, 81, 10), 2)])
    histogram = only(values)["histogram"]
    assert histogram["edges"] == list(range(0, 81, 10))
    # Each bin has ten integers and two more on its lower edge. The last bin also has 80, three
    # times.
    assert histogram["counts"] == [[12, 12, 12, 12, 12, 12, 12, 15]]
    assert histogram["counts"][0] == np.histogram(values, bins=8)[0].tolist()


@pytest.mark.parametrize(
    ("values", "n_bins"),
    [
        (np.linspace(0, 1, 50) ** 2, 8),  # The rule gives 3.
        (
            np.concatenate([np.linspace(0, 1, 1990), np.linspace(1, 4, 10)]),
            24,
        ),  # The rule gives 51.
        # The interquartile range is 0, so the rule is 1 + log2(2000) ≈ 11.97.
        (np.concatenate([np.zeros(1600), np.linspace(1, 4, 400)]), 12),
    ],
)
def test_there_are_8_to_24_bins(values, n_bins):
    assert len(only(values)["histogram"]["counts"][0]) == n_bins


def test_few_values_have_bins_centred_on_them():
    histogram = only([0, 1, 1, 3, 3, 3])["histogram"]
    assert histogram == {"edges": [-0.5, 0.5, 1.5, 2.5, 3.5], "counts": [[1, 2, 0, 3]]}
    tenths = only([0.1, 0.2, 0.3, 0.3])["histogram"]
    assert tenths == {"edges": [0.05, 0.15, 0.25, 0.35], "counts": [[1, 1, 2]]}


def test_few_values_without_a_common_step_get_bins_of_equal_width():
    histogram = only([0, 1, 1, 1000])["histogram"]
    assert_allclose(np.diff(histogram["edges"]), 1000 / 8)
    assert histogram["counts"] == [[3, 0, 0, 0, 0, 0, 0, 1]]


def test_long_tails_are_counted_at_the_ends(rng):
    values = np.concatenate([rng.normal(size=1000), [1e6, 2e6, -1e9]])
    facts = only(values, Supervision.from_targets(np.arange(1003.0)))
    low, high = np.sort(values)[[5, -6]]  # 0.5 % of 1,002 steps is 5.01, rounded outwards
    assert facts["clipped"]
    assert_allclose([facts["low"], facts["high"]], [low, high], rtol=1e-5)
    edges, counts = facts["histogram"]["edges"], facts["histogram"]["counts"][0]
    assert (edges[0], edges[-1]) == (facts["low"], facts["high"])
    assert counts == np.histogram(np.clip(values, low, high), bins=len(counts))[0].tolist()
    assert sum(counts) == 1003


def test_short_tails_are_not_clipped(rng):
    values = rng.normal(size=1000)
    facts = only(values)
    assert not facts["clipped"]
    assert_allclose([facts["low"], facts["high"]], [values.min(), values.max()], rtol=1e-5)


def test_rare_values_are_not_clipped():
    """If 99 % of the values are equal, the whole range is shown."""
    values = np.concatenate([np.zeros(1991), np.geomspace(1, 100, 9)])
    facts = only(values)
    assert (facts["low"], facts["high"], facts["clipped"]) == (0, 100, False)
    assert facts["histogram"]["counts"][0][-1] == (values >= facts["histogram"]["edges"][-2]).sum()


# Groups


def test_groups_are_the_classes_and_then_the_unlabelled():
    known = Supervision.from_labels(["b", None, "a", "b", None])
    facts = portray(MemoryTable([[0], [0], [1], [1], [1]]), known, [0])
    assert facts["classes"] == ["a", "b", "unlabelled"]
    assert facts["features"][0]["histogram"]["counts"] == [[0, 1], [1, 1], [1, 1]]


def test_the_five_most_frequent_of_many_classes_are_kept_in_order():
    labels = [*"hhhhaaaccccceeedddfgb", None]
    facts = portray(MemoryTable(np.arange(22)[:, None] % 2), Supervision.from_labels(labels), [0])
    assert facts["classes"] == ["a", "c", "d", "e", "h", "other", "unlabelled"]
    sizes = [sum(counts) for counts in facts["features"][0]["histogram"]["counts"]]
    assert sizes == [3, 5, 3, 3, 4, 3, 1]


def test_six_classes_are_all_kept():
    facts = portray(
        MemoryTable(np.arange(12)[:, None]), Supervision.from_labels(list("abcdef") * 2), [0]
    )
    assert facts["classes"] == list("abcdef")


def test_groups_are_the_most_probable_classes_and_labels_take_precedence():
    proba = Supervision.from_probabilities(
        [[0.6, 0.4], [0.2, 0.8], [0.5, 0.5], [0.3, 0.7]], classes=["no", "yes"]
    )
    with pytest.warns(match="disagree"):
        known = proba | Supervision.from_labels([None, None, None, "no"])
    facts = portray(MemoryTable([[0], [1], [2], [3]]), known, [0])
    assert facts["classes"] == ["probably no", "probably yes", "undecided"]
    assert facts["features"][0]["histogram"]["counts"] == [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]]


def test_integer_class_names_beside_unknown_labels_have_no_decimals():
    assert portray(MemoryTable([[0], [1], [2]]), Supervision.from_labels([1.0, np.nan, 2.0]), [0])[
        "classes"
    ] == ["1", "2", "unlabelled"]


@pytest.mark.parametrize(
    "known",
    [
        Supervision.nothing(4),
        Supervision.from_labels([None] * 4),
        Supervision.from_pairs(4, [(0, 1)]),
        Supervision.from_targets(range(4)),
    ],
)
def test_without_classes_there_is_one_group(known):
    facts = portray(MemoryTable([[0], [1], [1], [2]]), known, [0])
    assert facts["classes"] is None
    assert facts["features"][0]["histogram"]["counts"] == [[1, 2, 1]]


# Scatter


def test_scatter_is_feature_and_target_as_shares_of_their_ranges():
    known = Supervision.from_targets([10, np.nan, 20, 12])
    facts = portray(MemoryTable([[0], [8], [1], [4]]), known, [0])
    assert facts["target"] == {"low": 10, "high": 20}
    assert facts["features"][0]["scatter"] == {"x": [0, 0.125, 0.5], "y": [0, 1, 0.2]}
    assert facts["features"][0]["along_graph"] is None


def test_scatter_of_many_rows_draws_some_of_the_known_ones(rng):
    values = rng.uniform(size=5000)
    targets = np.where(rng.uniform(size=5000) < 0.3, values, np.nan)
    facts = only(values, Supervision.from_targets(targets))
    x, y = facts["scatter"]["x"], facts["scatter"]["y"]
    assert len(x) == len(y) == portraits.POINTS
    # The target is the feature itself, and their ranges are almost equal.
    assert_allclose(x, y, atol=0.01)


def test_a_constant_target_is_drawn_in_the_middle():
    facts = portray(MemoryTable([[0], [1], [2]]), Supervision.from_targets([7, 7, 7]), [0])
    assert facts["target"] == {"low": 7, "high": 7}
    assert facts["features"][0]["scatter"] == {"x": [0, 0.5, 1], "y": [0.5] * 3}


# Means of the neighbours


def naive_neighbor_means(X, column, k=5):
    means = []
    for i in range(len(X)):
        nearest = sorted((((X[i] - X[j]) ** 2).sum(), j) for j in range(len(X)) if j != i)[:k]
        means.append(np.mean([column[j] for _, j in nearest]))
    return np.array(means)


@pytest.mark.parametrize("scale", [None, "standard"])
def test_neighbour_means_equal_a_double_loop(rng, scale):
    X = rng.normal(size=(60, 4)) * [1, 5, 0.2, 1]
    facts = portray(MemoryTable(X), Supervision.from_pairs(60, [(0, 1)]), [2, 1], scale=scale)
    assert facts["neighbors"] == "all columns"
    for feature, j in zip(facts["features"], [2, 1], strict=True):
        column = X[:, j]
        means = naive_neighbor_means(X if scale is None else X / X.std(axis=0), column)
        along = feature["along_graph"]
        assert_allclose(along["x"], (column - column.min()) / np.ptp(column), atol=6e-4)
        assert_allclose(along["y"], (means - column.min()) / np.ptp(column), atol=6e-4)
        assert_allclose(along["share"], np.corrcoef(column, means)[0, 1] ** 2, atol=6e-4)


@pytest.mark.parametrize("scale", [None, "minmax"])
def test_ties_between_neighbours_are_broken_by_position(scale):
    """For one-hot rows, the neighbours of each row are the first five other rows."""
    X = np.eye(30)
    along = portray(MemoryTable(X), Supervision.nothing(30), [3], scale=scale)["features"][0][
        "along_graph"
    ]
    by_hand = [0.2] * 30  # Row 3 is among the first five other rows of every other row.
    by_hand[3] = 0
    assert along["y"] == by_hand
    assert_allclose(along["y"], naive_neighbor_means(X, X[:, 3]))


def test_neighbours_are_found_in_the_columns_shown_if_there_are_too_many(rng, monkeypatch):
    monkeypatch.setattr(portraits, "SPACE_COLUMNS", 5)
    X = rng.normal(size=(50, 6))
    facts = portray(MemoryTable(X), Supervision.nothing(50), [4, 1])
    alone = portray(MemoryTable(X[:, [4, 1]]), Supervision.nothing(50), [0, 1])
    assert (facts["neighbors"], alone["neighbors"]) == ("the columns shown", "all columns")
    assert [f["along_graph"] for f in facts["features"]] == [
        f["along_graph"] for f in alone["features"]
    ]


@pytest.mark.parametrize(
    "known", [Supervision.from_labels([0, 1, -1]), Supervision.from_probabilities(np.eye(3))]
)
def test_classes_are_drawn_without_a_graph(known):
    facts = portray(MemoryTable([[0], [1], [3]]), known, [0])
    assert (
        facts["neighbors"]
        is facts["features"][0]["along_graph"]
        is facts["features"][0]["scatter"]
        is None
    )


# Correlations


def test_correlations_are_those_of_numpy(rng):
    X = rng.normal(size=(100, 5)) @ rng.normal(size=(5, 5)) + 1e8
    facts = portray(MemoryTable(X), Supervision.nothing(100), [3, 0, 4])
    assert facts["correlations"]["features"] == ["x3", "x0", "x4"]
    assert_allclose(facts["correlations"]["values"], np.corrcoef(X[:, [3, 0, 4]].T), atol=6e-4)


def test_a_constant_correlates_with_nothing_but_itself():
    X = [[0.1, 1, 5], [0.1, 2, 4], [0.1, 3, 3]]
    values = portray(MemoryTable(X), Supervision.nothing(3), [0, 1, 2])["correlations"]["values"]
    assert values == [[1, 0, 0], [0, 1, -1], [0, -1, 1]]


# Choice of features and rows


def test_at_most_24_features_in_the_order_given(rng):
    table = MemoryTable(rng.normal(size=(20, 30)))
    order = rng.permutation(30)
    facts = portray(table, Supervision.nothing(20), order)
    names = [f"x{j}" for j in order[:24]]
    assert (
        [feature["feature"] for feature in facts["features"]]
        == facts["correlations"]["features"]
        == names
    )


def test_no_features_give_no_plots():
    facts = portray(MemoryTable([[0], [1]]), Supervision.nothing(2), [])
    assert (facts["features"], facts["correlations"]) == ([], {"features": [], "values": []})


@pytest.mark.parametrize(
    ("n_known", "drawn"),
    [(300, 300), (1500, 1000), (2500, 1000), (4000, 1600), (4999, 1999), (5000, 2000)],
)
def test_known_rows_are_preferred_but_do_not_exclude_the_others(rng, n_known, drawn):
    labels = np.where(rng.permutation(5000) < n_known, 2, -1)
    facts = portray(MemoryTable(rng.normal(size=(5000, 1))), Supervision.from_labels(labels), [0])
    sizes = [sum(counts) for counts in facts["features"][0]["histogram"]["counts"]]
    assert (facts["n_samples"], facts["n_drawn"]) == (5000, 2000)
    assert sizes == ([drawn, 2000 - drawn] if n_known < 5000 else [2000])


def test_rows_in_pairs_count_as_known():
    """Only the 20 rows in pairs are not zero, and all of them are drawn from 10,000 rows."""
    values = np.zeros(10_000)
    values[::500] = 1
    ends = np.flatnonzero(values).reshape(-1, 2)
    for pairs in ({"must_link": ends}, {"cannot_link": ends}):
        facts = only(values, Supervision.from_pairs(10_000, **pairs))
        assert facts["histogram"]["counts"] == [[1980, 20]]


def test_the_same_seed_draws_the_same_rows(rng):
    table, known = MemoryTable(rng.normal(size=(3000, 3))), Supervision.nothing(3000)
    assert portray(table, known, [0, 1]) == portray(table, known, [0, 1], random_state=0)
    assert portray(table, known, [0, 1]) != portray(table, known, [0, 1], random_state=1)


@pytest.mark.parametrize("make", [np.asarray, sp.csc_array])
def test_a_large_table_is_never_copied(rng, make):
    X = rng.integers(0, 3, size=(200_000, 40)).astype(np.float64)  # 64 MB
    table = MemoryTable(make(X))
    known = Supervision.nothing(200_000)
    tracemalloc.start()
    portray(table, known, np.arange(3), scale="standard")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6


# Invariances


def tables():
    """Tables of integers with ties, constants and few values. Shifts and products are exact."""
    numbers = st.integers(-50, 50)
    return st.integers(2, 40).flatmap(
        lambda n: st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=n, max_size=n)
    )


def labels_of(X):
    return Supervision.from_labels(np.abs(np.asarray(X)[:, 0]) % 3, unlabeled=2)


@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(X, random):
    X = np.array(X, dtype=np.float64)
    rows = np.array(random.sample(range(len(X)), len(X)))
    one, other = (portray(MemoryTable(part), labels_of(part), [0, 1, 2]) for part in (X, X[rows]))
    assert [f["histogram"] for f in one["features"]] == [f["histogram"] for f in other["features"]]
    assert_allclose(one["correlations"]["values"], other["correlations"]["values"], atol=1.1e-3)


@given(
    tables(), st.integers(-1000, 1000), st.sampled_from([2.0**-900, 0.25, 3.0, 1024.0, 2.0**900])
)
def test_units_do_not_matter(X, shift, factor):
    X = np.array(X, dtype=np.float64)
    known = labels_of(X)
    one, other = (
        portray(MemoryTable(values), known, [0, 1, 2]) for values in (X, (X + shift) * factor)
    )
    for before, after in zip(one["features"], other["features"], strict=True):
        assert before["histogram"]["counts"] == after["histogram"]["counts"]
        if before["low"] < before["high"]:
            edges = (np.array(before["histogram"]["edges"]) + shift) * factor
            assert_allclose(after["histogram"]["edges"], edges, rtol=1e-5, atol=1e-3 * factor)
    assert_allclose(one["correlations"]["values"], other["correlations"]["values"], atol=1.1e-3)


@given(tables())
def test_every_row_is_counted_once_in_a_bin_that_holds_it(X):
    X = np.array(X, dtype=np.float64)
    known = labels_of(X)
    for feature, column in zip(
        portray(MemoryTable(X), known, [0, 1, 2])["features"], X.T, strict=True
    ):
        histogram = feature["histogram"]
        edges = np.array(histogram["edges"])
        assert (np.diff(edges) > 0).all()
        assert not feature["clipped"]
        total = np.sum(histogram["counts"], axis=0)
        # The count up to an edge is at least the number of values below it, and at most the number
        # of values not above it. Edges are rounded.
        reach = np.cumsum(total)
        slack = 1e-5 * (edges[-1] - edges[0])
        for edge, found in zip(edges[1:], reach, strict=True):
            assert (column < edge - slack).sum() <= found <= (column <= edge + slack).sum()
        assert reach[-1] == len(column)


@given(tables())
def test_sparse_is_dense(X):
    X = np.array(X, dtype=np.float64)
    X[np.abs(X) < 30] = 0
    for known in (labels_of(X), Supervision.nothing(len(X)), Supervision.from_targets(X[:, 1])):
        dense, sparse = (
            portray(MemoryTable(make(X)), known, [2, 0], scale="minmax")
            for make in (np.asarray, sp.csr_array)
        )
        assert dense == sparse


# Unusual columns


@pytest.mark.parametrize("size", [1.7e308, 1e300, 1e155, 1.0, 1e-155, 1e-300, 1e-310, 5e-324])
def test_plots_of_any_magnitude(rng, size):
    shapes = np.stack(
        [np.ones(50), np.linspace(-1, 1, 50), np.arange(50) % 2, rng.uniform(-1, 1, 50)], axis=1
    )
    X = shapes * size
    for known in (
        Supervision.nothing(50),
        Supervision.from_targets(X[:, 3]),
        Supervision.from_labels(np.arange(50) % 2),
    ):
        facts = portray(MemoryTable(X), known, np.arange(4))
        json.dumps(facts, allow_nan=False)
        assert np.isfinite(list(numbers(facts))).all()
        for feature, column in zip(facts["features"], X.T, strict=True):
            assert_allclose(
                [feature["low"], feature["high"]], [column.min(), column.max()], rtol=1e-5
            )
            edges = feature["histogram"]["edges"]
            assert edges[0] < edges[-1]
            assert edges[0] <= feature["low"] <= feature["high"] <= edges[-1]
            assert np.sum(feature["histogram"]["counts"]) == 50
    if size > 1e-300:  # For smaller sizes, the 50 values are not distinct.
        ordinary = portray(MemoryTable(shapes), Supervision.nothing(50), np.arange(4))
        assert (
            ordinary["correlations"]
            == portray(MemoryTable(X), Supervision.nothing(50), np.arange(4))["correlations"]
        )


def test_a_small_range_far_from_zero_keeps_its_digits():
    values = 1e8 + np.arange(100) / 1024
    facts = only(values)
    assert_allclose(facts["low"], 1e8, rtol=0, atol=1e-6)
    assert_allclose(facts["high"] - facts["low"], 99 / 1024, rtol=1e-5)
    assert (np.diff(facts["histogram"]["edges"]) > 0).all()


def test_constants_have_one_bin():
    assert only([4, 4, 4])["histogram"] == {"edges": [2, 6], "counts": [[3]]}
    assert only([0, 0])["histogram"] == {"edges": [-0.5, 0.5], "counts": [[2]]}
    assert only([-4, -4], Supervision.from_labels(["a", None]))["histogram"] == {
        "edges": [-6, -2],
        "counts": [[1], [1]],
    }
    assert only([4, 4, 4])["along_graph"] == {"x": [0.5] * 3, "y": [0.5] * 3, "share": 0}


def test_two_rows_are_enough():
    facts = portray(MemoryTable([[0, 3], [1, 2]]), Supervision.nothing(2), [0, 1])
    # Each row is the only neighbour of the other.
    assert facts["features"][0]["along_graph"] == {"x": [0, 1], "y": [1, 0], "share": 1}
    assert facts["correlations"]["values"] == [[1, -1], [-1, 1]]


def test_one_class_is_a_group():
    assert portray(MemoryTable([[0], [1]]), Supervision.from_labels(["a", "a"]), [0])[
        "classes"
    ] == ["a"]


def test_integers_and_short_floats_are_read():
    X = np.array([[0, 1], [200, 0], [255, 1]])
    expected = portray(MemoryTable(X.astype(np.float64)), Supervision.nothing(3), [0, 1])
    for kind in (np.uint8, np.float32, bool):
        assert (
            portray(MemoryTable(X.astype(kind)), Supervision.nothing(3), [1])["features"][0]["high"]
            == 1
        )
    assert portray(MemoryTable(X.astype(np.uint8)), Supervision.nothing(3), [0, 1]) == expected


@pytest.mark.parametrize("kind", ["nothing", "targets"])
def test_the_facts_of_24_features_stay_small(rng, kind):
    X = rng.normal(size=(3000, 30)) * 1e-7
    known = Supervision.nothing(3000) if kind == "nothing" else Supervision.from_targets(X[:, 0])
    assert (
        len(json.dumps(portray(MemoryTable(X), known, np.arange(30)), separators=(",", ":")))
        < 120_000
    )


# Realistic tables


def test_a_share_of_wine_labels():
    X, y = lookalikes.load("wine")
    labels = np.where(np.arange(len(y)) % 5 == 0, y, -1)
    facts = portray(MemoryTable(X), Supervision.from_labels(labels), [6, 0])
    assert facts["classes"] == ["0", "1", "2", "unlabelled"]
    for feature, j in zip(facts["features"], [6, 0], strict=True):
        edges = feature["histogram"]["edges"]
        for counts, code in zip(feature["histogram"]["counts"], [0, 1, 2, -1], strict=True):
            values = X[labels == code, j]
            assert sum(counts) == len(values)
            # Values on an edge may be counted on either side, because the edges are rounded.
            assert_allclose(
                np.cumsum(counts), np.cumsum(np.histogram(values, bins=edges)[0]), atol=2
            )


def test_correlations_of_neighbouring_wavelengths():
    X, y = lookalikes.load("spectra")
    facts = portray(MemoryTable(X), Supervision.from_targets(y), [40, 41, 0])
    assert_array_equal(facts["correlations"]["values"][0][1] > 0.99, True)
    assert_allclose(facts["correlations"]["values"], np.corrcoef(X[:, [40, 41, 0]].T), atol=6e-4)
    assert_allclose(
        [facts["target"]["low"], facts["target"]["high"]], [y.min(), y.max()], rtol=1e-5
    )


# --- Categories and groups of columns
# --------------------------------------------------------------------------------------------------


def mixed_frame(n=40, seed=0):
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "level": random.choice(["low", "middle", "high"], size=n),
            "town": random.choice([f"t{j:02d}" for j in range(12)], size=n),
            "age": random.normal(size=n),
            "height": random.normal(size=n),
            "sex": random.choice(["f", "m"], size=n),
        }
    )


def test_a_category_is_counted_by_level_and_class():
    frame = mixed_frame()
    y = np.random.default_rng(1).choice(["a", "b"], size=40)
    found = portray(MemoryTable(frame), Supervision.from_labels(y), range(5))["features"]
    assert [one["feature"] for one in found if "levels" in one] == ["level", "town", "sex"]
    expected = pd.crosstab(frame["level"], y).loc[frame["level"].value_counts().index]
    assert [one["level"] for one in found[0]["levels"]] == list(expected.index)
    assert [one["counts"] for one in found[0]["levels"]] == expected.to_numpy().tolist()
    assert [one["level"] for one in found[4]["levels"]] == list(frame["sex"].value_counts().index)
    # The most frequent levels are shown, and the others are counted together.
    sizes = frame["town"].value_counts()
    shown = [one["level"] for one in found[1]["levels"]]
    assert shown[-1] == f"{len(sizes) - 7} others"
    assert len(shown) == 8
    assert sizes[shown[:-1]].min() >= sizes.drop(shown[:-1]).max()
    assert sum(sum(one["counts"]) for one in found[1]["levels"]) == 40


def test_the_target_has_quartiles_by_level():
    frame, y = mixed_frame(), np.random.default_rng(2).uniform(size=40)
    found = portray(MemoryTable(frame), Supervision.from_targets(y), [0])["features"][0]
    shares = (y - y.min()) / (y.max() - y.min())
    for one in found["levels"]:
        expected = np.quantile(shares[frame["level"] == one["level"]], [0.25, 0.5, 0.75])
        assert one["quartiles"] == pytest.approx(expected.tolist(), abs=1e-3)


def test_an_ordered_category_has_levels_in_its_order():
    order = ["low", "middle", "high"]
    frame = mixed_frame()
    frame["level"] = pd.Categorical(frame["level"], order, ordered=True)
    found = portray(MemoryTable(frame), Supervision.nothing(40), [0])["features"][0]
    assert [one["level"] for one in found["levels"]] == order
    assert [one["counts"] for one in found["levels"]] == [
        [int((frame["level"] == level).sum())] for level in order
    ]


def test_the_levels_of_an_enum_have_names():
    levels = pl.Series(["s", "l", "s", "l"], dtype=pl.Enum(["s", "m", "l"]))
    frame = pl.DataFrame({"size": levels, "x": [1.0, 2.0, 4.0, 3.0]})
    found = portray(MemoryTable(frame), Supervision.nothing(4), [0])["features"][0]
    assert [(one["level"], one["counts"]) for one in found["levels"]] == [("s", [2]), ("l", [2])]


def test_rare_levels_share_a_name():
    towns = np.array([f"t{j % 120:03d}" for j in range(400)])
    table = MemoryTable(pd.DataFrame({"town": towns, "x": np.arange(400.0)}))
    levels = table.features.levels
    assert len(levels[0]) == table.features.sizes[0] == 100
    assert levels[0][-1] == "others"
    assert levels[1] == ()
    # Forty towns occur four times. Their columns have their names.
    place = levels[0].index("t017")
    np.testing.assert_array_equal(table.matrix[:, place], towns == "t017")


def test_the_associations_are_those_of_the_literature():
    frame = mixed_frame(200)
    frame["town"] = np.where(np.random.default_rng(3).random(200) < 0.5, frame["level"], "other")
    values = portray(MemoryTable(frame), Supervision.nothing(200), range(5))["correlations"]
    found = np.array(values["values"])
    table = pd.crosstab(frame["level"], frame["town"]).to_numpy()
    assert found[0, 1] == pytest.approx(association(table, method="cramer"), abs=1e-3)
    means = frame.groupby("level")["age"].transform("mean")
    ratio = np.sqrt(means.var() / frame["age"].var())
    assert found[0, 2] == pytest.approx(ratio, abs=1e-3)
    assert found[2, 3] == pytest.approx(np.corrcoef(frame["age"], frame["height"])[0, 1], abs=1e-3)
    np.testing.assert_array_equal(found, found.T)


def test_a_group_is_drawn_as_its_first_principal_component():
    random = np.random.default_rng(4)
    hidden = random.normal(size=60)
    X = np.stack([hidden, 1e6 * hidden + 1e8, random.normal(size=60)], axis=1)
    table = as_table(X, feature_groups={"both": [0, 1]})
    found = portray(table, Supervision.from_targets(hidden), [0, 1])["features"]
    points = np.array([found[0]["scatter"]["x"], found[0]["scatter"]["y"]])
    assert np.corrcoef(points)[0, 1] > 0.999  # positive, because both columns have positive weights


def test_neighbours_of_categories_are_those_of_the_scaled_features():
    frame = mixed_frame()
    facts = portray(MemoryTable(frame), Supervision.nothing(40), [2, 0], scale="standard")
    assert facts["neighbors"] == "all columns"
    assert facts["features"][0]["along_graph"] is not None
    assert "along_graph" not in facts["features"][1]

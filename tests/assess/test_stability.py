"""Tests of stability: the index, resamples without leaks, and groups of near-duplicate columns."""

from __future__ import annotations

import builtins
import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binomtest, rankdata
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression

from graphsieve import GraphSieve, GraphSieveWarning, HybridSieve, InputError, Supervision
from graphsieve._base.errors import warn
from graphsieve.assess.resampling.drawing import drawn_rows, partly_hidden
from graphsieve.assess.resampling.duplicates import correlations, near_duplicates
from graphsieve.assess.resampling.measures import agreement, share_interval
from graphsieve.assess.resampling.results import Stability
from graphsieve.assess.resampling.stability import stability
from graphsieve.table.columns import MemoryTable

WINE, CULTIVAR = load_wine(return_X_y=True, as_frame=True)

# ---- the index


def textbook_index(chosen):
    """One minus the mean sample variance of the indicators, divided by the variance of a Bernoulli
    variable with their mean.
    """
    n_sets, d = len(chosen), len(chosen[0])
    variances = []
    for f in range(d):
        column = [int(row[f]) for row in chosen]
        mean = sum(column) / n_sets
        variances.append(sum((value - mean) ** 2 for value in column) / (n_sets - 1))
    filled = sum(int(value) for row in chosen for value in row) / (n_sets * d)
    return 1 - (sum(variances) / d) / (filled * (1 - filled))


def sets_of(n_sets, shares, seed):
    return np.random.default_rng(seed).random((n_sets, len(shares))) < np.asarray(shares)


@given(arrays(bool, st.tuples(st.integers(2, 8), st.integers(1, 9))))
def test_the_index_is_that_of_the_textbook(chosen):
    found = agreement(chosen)
    if chosen.all() or not chosen.any():
        assert all(math.isnan(value) for value in found)
        return
    assert found.value == pytest.approx(textbook_index(chosen), abs=1e-12)
    assert -1 / (len(chosen) - 1) - 1e-12 <= found.value <= 1
    assert found.low <= found.value <= found.high
    # Neither the order of the sets nor that of the features matters.
    turned = agreement(chosen[::-1, ::-1])
    assert turned == pytest.approx(found, abs=1e-12)


@given(st.integers(2, 9), st.integers(2, 12), st.data())
def test_equal_sets_agree_fully_and_only_they_do(n_sets, d, data):
    one = np.array(
        data.draw(
            st.lists(st.booleans(), min_size=d, max_size=d).filter(lambda row: 0 < sum(row) < d)
        )
    )
    chosen = np.tile(one, (n_sets, 1))
    assert agreement(chosen) == pytest.approx((1.0, 1.0, 1.0))
    chosen[0, data.draw(st.integers(0, d - 1))] ^= True
    if 0 < chosen.sum() < chosen.size:
        assert agreement(chosen).value < 1


def test_the_index_of_two_sets_of_one_size_is_kunchevas():
    # (r d − k²) / (k (d − k)) for r features in common: the form of 2007, which the index
    # generalizes.
    for d, k in [(6, 2), (7, 3), (5, 4)]:
        for one, other in itertools.product(itertools.combinations(range(d), k), repeat=2):
            chosen = np.array([np.isin(np.arange(d), one), np.isin(np.arange(d), other)])
            common = len(set(one) & set(other))
            assert agreement(chosen).value == pytest.approx((common * d - k * k) / (k * (d - k)))


@pytest.mark.parametrize("k", [1, 3, 10, 18])
def test_the_index_of_sets_drawn_by_chance_is_zero_on_average_whatever_their_size(k):
    random = np.random.default_rng(k)
    found = [agreement(np.argsort(random.random((10, 20)), axis=1) < k).value for _ in range(800)]
    assert abs(np.mean(found)) < 4 * np.std(found) / math.sqrt(800)


def test_sets_of_all_sizes_drawn_by_chance_are_off_zero_by_a_term_that_vanishes():
    # E z_f = k_i/d in set i, so the mean sample variance of the indicators is on average p̄(1 − p̄)
    # + var(k_i/d)/(M − 1).
    random = np.random.default_rng(0)
    sizes = random.integers(1, 20, size=(10, 1))
    found = [
        agreement(np.argsort(np.argsort(random.random((10, 20))), axis=1) < sizes).value
        for _ in range(800)
    ]
    filled = sizes.mean() / 20
    expected = -np.var(sizes / 20) / (9 * filled * (1 - filled))
    assert expected < -0.02
    assert abs(np.mean(found) - expected) < 4 * np.std(found) / math.sqrt(800)


@pytest.mark.parametrize("shares", [[0.9] * 3 + [0.1] * 20, [0.5] * 10 + [0.02] * 30, [0.7, 0.3]])
def test_the_interval_covers_the_limit_of_the_index(shares):
    shares = np.array(shares)
    filled = shares.mean()
    truth = 1 - np.mean(shares * (1 - shares)) / (filled * (1 - filled))
    found = [agreement(sets_of(60, shares, seed)) for seed in range(400)]
    covered = np.mean([one.low <= truth <= one.high for one in found])
    assert 0.90 <= covered <= 0.985
    # The standard error equals the standard deviation of the index over repetitions.
    errors = np.mean([(one.value - one.low) / 1.959964 for one in found if one.low > -1])
    assert errors == pytest.approx(np.std([one.value for one in found]), rel=0.15)


def test_the_interval_is_that_of_the_infinitesimal_jackknife():
    # Derivatives of the index by the weight of each set, from finite differences. The variance is
    # their mean square divided by M.
    chosen = sets_of(500, [0.9, 0.8, 0.5, 0.3, 0.1, 0.1, 0.05], 1).astype(float)

    def weighted(weights):
        share = weights @ chosen / weights.sum()
        return 1 - np.mean(share * (1 - share)) / (share.mean() * (1 - share.mean()))

    step, slopes = 1e-5, []
    for i in range(500):
        change = step * (np.arange(500) == i)
        slopes.append(500 * (weighted(1 + change) - weighted(1 - change)) / (2 * step))
    error = math.sqrt(np.mean(np.square(slopes)) / 500)
    found = agreement(chosen > 0)
    assert (found.high - found.low) / 2 == pytest.approx(1.959964 * error, rel=0.01)


@given(st.integers(1, 200), st.data())
def test_shares_have_wilsons_interval(n, data):
    times = data.draw(st.integers(0, n))
    low, high = share_interval([times], n)
    expected = binomtest(times, n).proportion_ci(method="wilson")
    assert low[0] == pytest.approx(expected.low, abs=1e-12)
    assert high[0] == pytest.approx(expected.high, abs=1e-12)
    assert 0 <= low[0] <= times / n <= high[0] <= 1


# ---- rows and labels


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=5),
    st.integers(0, 30),
    st.integers(0, 2**31),
    st.data(),
)
def test_rows_are_different_and_every_class_keeps_its_share(sizes, n_unknown, seed, data):
    y = np.random.default_rng(seed).permutation(
        np.repeat(np.arange(-1, len(sizes)), [n_unknown, *sizes])
    )
    known = Supervision.from_labels(y)
    n_kinds = len(sizes) + (n_unknown > 0)
    n_rows = data.draw(st.integers(n_kinds, len(y)))
    rows = drawn_rows(known, n_rows, np.random.default_rng(seed))
    assert len(rows) == len(np.unique(rows)) == n_rows
    assert (np.diff(rows) > 0).all()
    kept = np.bincount(y[rows] + 1, minlength=len(sizes) + 1)
    assert kept[1:].min() >= 1
    exact = np.array([n_unknown, *sizes]) * n_rows / len(y)
    assert (kept <= np.maximum(1, np.ceil(exact - 1e-9))).all()
    if n_rows > n_kinds:
        with pytest.raises(InputError, match="increase fraction"):
            drawn_rows(known, n_kinds - 1, np.random.default_rng(seed))


def test_every_row_is_drawn_as_often_as_any_other_of_its_class():
    known = Supervision.from_labels([0] * 12 + [1] * 8 + [-1] * 20)
    times = np.zeros(40)
    for seed in range(2000):
        times[drawn_rows(known, 20, np.random.default_rng(seed))] += 1
    assert abs(times / 2000 - 0.5).max() < 4 * math.sqrt(0.25 / 2000)


def test_known_targets_are_drawn_in_proportion():
    target = np.full(100, np.nan)
    target[:6] = [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]
    for seed in range(20):
        rows = drawn_rows(Supervision.from_targets(target), 50, np.random.default_rng(seed))
        assert len(rows) == 50
        assert (rows < 6).sum() == 3


def test_few_pairs_are_partly_kept():
    pairs = Supervision.from_pairs(
        100, must_link=[(0, 1), (2, 3), (4, 5)], cannot_link=[(6, 7), (8, 9), (10, 11)]
    )
    kept = []
    for seed in range(50):
        rows = drawn_rows(pairs, 50, np.random.default_rng(seed))
        assert len(rows) == len(np.unique(rows)) == 50
        part = pairs[rows]
        assert len(part.must_link)
        assert len(part.cannot_link)
        kept.append(len(part.must_link) + len(part.cannot_link))
    # About half of six pairs remain; a random half of the rows would keep a quarter.
    assert np.mean(kept) == pytest.approx(3.0, abs=0.01)
    single = Supervision.from_pairs(100, must_link=[(0, 1)], cannot_link=[(5, 6)])
    for seed in range(20):
        part = single[drawn_rows(single, 10, np.random.default_rng(seed))]
        assert (len(part.must_link), len(part.cannot_link)) == (1, 1)
        assert 10 <= len(part) <= 13


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=5),
    st.floats(0.01, 0.99),
    st.integers(0, 2**31),
)
def test_a_share_of_the_labels_is_hidden_and_no_class_disappears(sizes, hide, seed):
    y = np.concatenate([np.repeat(np.arange(len(sizes)), sizes), [-1, -1]])
    few = partly_hidden(Supervision.from_labels(y), hide, np.random.default_rng(seed)).codes
    shown = few >= 0
    np.testing.assert_array_equal(few[shown], y[shown])
    assert set(few[shown]) == set(range(len(sizes)))
    total = sum(sizes)
    assert shown.sum() == max(len(sizes), math.floor((1 - hide) * total + 0.5), 1)


def test_targets_are_hidden_too_and_pairs_stay():
    known = Supervision.from_targets(np.arange(20) + 0.5) | Supervision.from_pairs(
        20, [(0, 1)], [(2, 3)]
    )
    few = partly_hidden(known, 0.75, np.random.default_rng(0))
    assert few.n_labeled == 5
    np.testing.assert_array_equal(few.must_link, [[0, 1]])
    shown = ~np.isnan(few.targets)
    np.testing.assert_array_equal(few.targets[shown], known.targets[shown])


class Spy:
    """A selector that records its rows (column 0 contains the row numbers) and ranks columns at
    random.
    """

    def __init__(self):
        self.seen, self.knew = [], []

    def __call__(self, X, y):
        self.seen.append(X[:, 0].astype(int))
        self.knew.append(y)
        return np.random.default_rng(len(X)).permutation(X.shape[1])


def numbered(n, p=4):
    X = np.random.default_rng(n).normal(size=(n, p))
    X[:, 0] = np.arange(n)
    return X


@given(
    codes=arrays(np.int64, st.integers(12, 30), elements=st.integers(-1, 3)),
    names=st.permutations(["ant", "bee", "cat", "dog"]),
    seed=st.integers(0, 99),
)
def test_the_names_of_the_classes_do_not_change_the_drawn_rows(codes, names, seed):
    labels = np.where(codes < 0, None, np.array(names, dtype=object)[codes])
    plain, named = Supervision.from_labels(codes), Supervision.from_labels(labels)
    draws = [drawn_rows(known, 8, np.random.default_rng(seed)).tolist() for known in (plain, named)]
    assert draws[0] == draws[1]


def test_the_selector_sees_the_drawn_rows_with_their_own_labels_and_no_others():
    X, y, spy = numbered(60), np.repeat([0, 1, 2], [30, 20, 10]), Spy()
    found = stability(
        spy, X, y, n_features_to_select=2, n_resamples=12, fraction=0.25, hide=0.4, random_state=3
    )
    assert len(spy.seen) == 13
    np.testing.assert_array_equal(spy.seen[0], np.arange(60))  # all samples, nothing hidden
    np.testing.assert_array_equal(spy.knew[0], y)
    for rows, knew in zip(spy.seen[1:], spy.knew[1:], strict=True):
        assert len(set(rows)) == len(rows) == found.n_rows == 15
        shown = knew >= 0
        np.testing.assert_array_equal(knew[shown], y[rows][shown])
        assert shown.sum() == 9
        assert set(knew[shown]) == {0, 1, 2}
    assert len({tuple(rows) for rows in spy.seen}) == 13


def test_supervision_is_restricted_to_the_rows():
    X, spy = numbered(40), Spy()
    share = np.random.default_rng(0).integers(0, 9, size=40) / 8
    proba = np.column_stack([share, 1 - share])
    stability(
        spy,
        X,
        supervision=Supervision.from_probabilities(proba),
        n_features_to_select=1,
        n_resamples=3,
    )
    for rows, knew in zip(spy.seen, spy.knew, strict=True):
        np.testing.assert_array_equal(knew.probabilities, proba[rows])


def test_y_and_supervision_are_joined():
    X, y, spy = numbered(40), np.tile([0, 1, -1, -1], 10), Spy()
    pairs = Supervision.from_pairs(40, must_link=[(2, 3)])
    stability(spy, X, y, supervision=pairs, n_features_to_select=1, n_resamples=3)
    assert all(knew.kinds[0] == "labels" and knew.n_known_classes == 2 for knew in spy.knew)
    assert spy.knew[0].kinds == ("labels", "pairs")


# ---- the whole


def test_frequencies_and_ranks_are_those_of_a_plain_loop():
    X, y = WINE.to_numpy(), CULTIVAR.to_numpy()
    found = stability("fisher", X, y, n_features_to_select=4, n_resamples=15, random_state=7)
    spy = Spy()
    stability(
        spy,
        np.column_stack([np.arange(len(X)), X]),
        y,
        n_features_to_select=1,
        n_resamples=15,
        random_state=7,
    )
    ranks = np.array([GraphSieve("fisher").fit(X[rows], y[rows]).ranking_ for rows in spy.seen])
    np.testing.assert_array_equal(found.chosen, ranks[1:] <= 4)
    np.testing.assert_allclose(found.frequency, (ranks[1:] <= 4).mean(axis=0))
    np.testing.assert_array_equal(found.selected, ranks[0] <= 4)
    # Of 15: the 1st, 8th and 15th, since 0.75 and 14.25 are rounded up
    ordered = np.sort(ranks[1:], axis=0)
    np.testing.assert_array_equal(found.rank_low, ordered[0])
    np.testing.assert_array_equal(found.rank_median, ordered[7])
    np.testing.assert_array_equal(found.rank_high, ordered[14])
    assert found.index == pytest.approx(textbook_index(found.chosen))
    low, high = share_interval(found.chosen.sum(axis=0), 15)
    np.testing.assert_array_equal(found.frequency_low, low)
    np.testing.assert_array_equal(found.frequency_high, high)


def same(one, other):
    for name in ("chosen", "selected", "rank_low", "rank_median", "rank_high", "frequency_low"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.groups == other.groups
    assert one.agreement == other.agreement


def test_the_result_does_not_depend_on_the_number_of_processes():
    forest = SelectFromModel(RandomForestClassifier(5), threshold=-np.inf, max_features=3)
    for selector in ("fisher", forest):
        given_to = {"n_resamples": 4, "hide": 0.2, "n_features_to_select": 3}
        same(
            stability(selector, WINE, CULTIVAR, **given_to),
            stability(selector, WINE, CULTIVAR, **given_to, n_jobs=2),
        )


def test_seeds_make_the_difference_and_nothing_else_does():
    one, again, other = (
        stability("fisher", WINE, CULTIVAR, n_resamples=6, random_state=seed) for seed in (1, 1, 2)
    )
    same(one, again)
    assert (one.chosen != other.chosen).any()


@pytest.mark.parametrize(
    ("selector", "size"),
    [
        ("auto", 6),  # half of 13
        ("iterative", 6),
        (GraphSieve("fisher", n_features_to_select=3), 3),
        (HybridSieve(n_features_to_select=2), 2),
        (SelectKBest(f_classif, k=4), 4),
        (RFE(LogisticRegression(max_iter=5000, tol=0.1), n_features_to_select=5, step=4), 5),
    ],
)
def test_none_leaves_the_number_to_the_selector(selector, size):
    X = (WINE - WINE.mean()) / WINE.std()
    found = stability(selector, X, CULTIVAR, n_resamples=3)
    if isinstance(selector, HybridSieve):
        assert (found.chosen.sum(axis=1) >= size).all()  # ties at the cut are kept
    else:
        assert (found.chosen.sum(axis=1) == size).all()
    assert found.mean_selected == found.chosen.sum() / 3


def test_sets_may_differ_in_size():
    X = (WINE - WINE.mean()) / WINE.std()
    selector = SelectFromModel(
        LogisticRegression(max_iter=5000, l1_ratio=1.0, C=0.03, solver="saga", tol=0.01),
        threshold=1e-5,
    )
    found = stability(selector, X, CULTIVAR, n_resamples=8)
    sizes = found.chosen.sum(axis=1)
    assert len(set(sizes)) > 1
    assert found.index == pytest.approx(textbook_index(found.chosen))
    # Selected features share their mean rank, and so do the others.
    places = np.array([rankdata(~row) for row in found.chosen])
    np.testing.assert_array_equal(found.rank_high, np.sort(places, axis=0)[7])


@pytest.mark.parametrize(
    "selector",
    [SelectKBest(f_classif, k=10), GraphSieve("fisher", n_features_to_select=10), "fisher"],
)
def test_a_requested_number_overrides_that_of_the_selector(selector):
    found = stability(selector, WINE, CULTIVAR, n_features_to_select=3, n_resamples=4)
    assert (found.chosen.sum(axis=1) == 3).all()
    assert found.selected.sum() == 3
    np.testing.assert_array_equal(
        found.selected,
        GraphSieve("fisher", n_features_to_select=3).fit(WINE, CULTIVAR).get_support(),
    )


def test_features_missing_from_the_order_share_their_rank():
    found = stability(lambda X, y: [2], numbered(10), n_features_to_select=1, n_resamples=3)
    np.testing.assert_array_equal(found.rank_median, [3, 3, 1, 3])
    assert found.index == 1


@pytest.mark.parametrize("sparse", [False, True])
def test_no_supervision_targets_and_sparse_tables(sparse):
    X, y = load_diabetes(return_X_y=True)
    X = np.where(np.abs(X) > 0.04, X, 0.0)
    table = sp.csr_matrix(X) if sparse else X
    dense = stability("supervised_laplacian", X, y, n_features_to_select=3, n_resamples=4)
    same(stability("supervised_laplacian", table, y, n_features_to_select=3, n_resamples=4), dense)
    assert stability("auto", table, n_features_to_select=3, n_resamples=3).mean_selected == 3


@pytest.mark.parametrize(
    "known", [{"y": CULTIVAR}, {"supervision": Supervision.from_labels(CULTIVAR)}]
)
def test_unsupervised_methods_accept_labels(known):
    found = stability("variance", WINE, **known, n_features_to_select=3, n_resamples=3)
    best = np.argsort(-WINE.var().to_numpy())[:3]
    np.testing.assert_array_equal(np.flatnonzero(found.selected), np.sort(best))
    assert (found.chosen.sum(axis=1) == 3).all()


def test_the_sieve_may_determine_the_target_type():
    X, y = load_diabetes(return_X_y=True)
    y = np.floor(y / 50)  # integers are classes, unless the sieve has another target type
    told = stability(
        GraphSieve("pearson", target_type="continuous", n_features_to_select=3), X, y, n_resamples=3
    )
    same(
        told,
        stability("pearson", X, y, target_type="continuous", n_features_to_select=3, n_resamples=3),
    )
    np.testing.assert_array_equal(
        told.selected, rankdata(-np.abs(np.corrcoef(X.T, y)[-1, :-1])) <= 3
    )


# ---- near-duplicates


def with_copies(n=80, copies=6, seed=0):
    """Return a column that separates two classes, noisy copies of it, another such column, and
    noise.
    """
    random = np.random.default_rng(seed)
    y = np.repeat([0, 1], n // 2)
    copied = y + 0.5 * random.normal(size=n)
    columns = [copied + 0.05 * random.normal(size=n) for _ in range(copies)]
    columns[-1] = 3 - columns[-1]  # a reflected copy is equivalent
    return np.column_stack(
        [*columns, 3 * y + random.normal(size=n), random.normal(size=(n, 10))]
    ), y


def test_copies_are_selected_rarely_but_one_of_them_always():
    X, y = with_copies()
    found = stability("fisher", X, y, n_features_to_select=2, n_resamples=40)
    group = next(group for group in found.groups if len(group.columns) > 1)
    ever = {j for j in range(6) if found.frequency[j] > 0}
    assert set(group.columns) == ever
    assert len(ever) >= 4
    assert found.frequency[:6].max() < 0.7
    assert group.frequency == 1
    assert group.frequency == found.chosen[:, sorted(ever)].any(axis=1).mean()
    expected = binomtest(40, 40).proportion_ci(method="wilson")
    assert (group.low, group.high) == pytest.approx((expected.low, expected.high))
    assert group.names == tuple(f"x{j}" for j in group.columns)
    assert found.frequency[group.columns[0]] == found.frequency[list(group.columns)].max()
    assert f"one of {len(ever)} is selected in all resamples" in str(found)


def test_groups_contain_each_selected_feature_once():
    X, y = with_copies(seed=1)
    found = stability("fisher", X, y, n_features_to_select=5, n_resamples=10)
    columns = [j for group in found.groups for j in group.columns]
    assert sorted(columns) == np.flatnonzero(found.frequency).tolist()
    frequencies = [group.frequency for group in found.groups]
    assert frequencies == sorted(frequencies, reverse=True)
    size = np.abs(np.corrcoef(X.T))
    for group in found.groups:
        assert (size[group.columns[0], list(group.columns)] >= 0.95).all()
    leaders = [group.columns[0] for group in found.groups]
    assert (size[np.ix_(leaders, leaders)][~np.eye(len(leaders), dtype=bool)] < 0.95).all()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("at_once", [1, 3, 256])
def test_groups_are_those_of_the_double_loop(sparse, at_once, monkeypatch):
    monkeypatch.setattr("graphsieve.assess.resampling.duplicates.LEADERS_AT_ONCE", at_once)
    random = np.random.default_rng(4)
    base = random.normal(size=(30, 5)) * (random.random((30, 5)) < 0.4)
    X = np.column_stack([base, base + 0.15 * base**2, -2.0 * base, np.zeros(30), 1e6 + base[:, :2]])
    order = random.permutation(X.shape[1])
    size = np.abs(
        [
            [0.0 if 15 in (i, j) else np.corrcoef(X[:, i], X[:, j])[0, 1] for j in range(18)]
            for i in range(18)
        ]
    )
    left, expected = list(order), []
    while left:
        expected.append([left[0]] + [j for j in left[1:] if size[left[0], j] >= 0.95])
        left = [j for j in left if j not in expected[-1]]
    table = MemoryTable(sp.csc_array(X) if sparse else X)
    assert [group.tolist() for group in near_duplicates(table, order)] == expected
    assert [15] in expected  # a constant is in a group of its own
    assert len(expected) < 14
    np.testing.assert_allclose(
        np.abs(correlations(table, order, order)), size[np.ix_(order, order)], atol=1e-8
    )


# ---- results


@pytest.fixture
def found():
    return stability("fisher", WINE, CULTIVAR, n_features_to_select=3, n_resamples=10)


def made(chosen, *, n_samples=100, n_rows=50, names=None, index=None):
    """Return a result with the given selections, in which selected features rank first."""
    chosen = np.asarray(chosen, dtype=bool)
    places = np.sort([rankdata(~row) for row in chosen], axis=0)
    low, high = share_interval(chosen.sum(axis=0), len(chosen))
    return Stability(
        names=names or tuple(f"x{j}" for j in range(chosen.shape[1])),
        frequency=chosen.mean(axis=0),
        frequency_low=low,
        frequency_high=high,
        rank_low=places[0],
        rank_median=places[len(places) // 2],
        rank_high=places[-1],
        selected=chosen[0],
        agreement=agreement(chosen),
        groups=(),
        chosen=chosen,
        selector="it",
        n_samples=n_samples,
        n_rows=n_rows,
    )


def test_stable_features_by_hand():
    # Out of ten: 10, 7, 3 and 0 times.
    result = made(np.arange(10)[:, None] < [10, 7, 3, 0])
    assert result.stable(0.7).tolist() == [True, True, False, False]
    assert result.stable(0.3).tolist() == [True, True, True, False]
    assert result.stable().tolist() == [True, False, False, False]
    assert result.mean_selected == 2
    assert result.expected_false(0.75) == pytest.approx(2**2 / (0.5 * 4))
    assert result.expected_false(1) == pytest.approx(1)


@pytest.mark.slow
def test_the_bound_on_false_features_holds_where_its_assumptions_do():
    results = []
    for seed in range(25):
        random = np.random.default_rng(seed)
        y = np.tile([0, 1], 30)
        X = random.normal(size=(60, 100))
        X[:, :3] += 1.5 * y[:, None]
        results.append(
            stability("fisher", X, y, n_features_to_select=6, n_resamples=30, random_state=seed)
        )
    for threshold in (0.6, 0.8):
        stable = np.array([result.stable(threshold) for result in results])
        bound = results[0].expected_false(threshold)
        assert bound == pytest.approx(36 / ((2 * threshold - 1) * 100))
        false = stable[:, 3:].sum(axis=1)
        assert false.mean() <= bound + 2 * false.std() / 5
        assert stable[:, :3].mean() > 0.8  # and what matters is found


def test_invalid_thresholds_and_fractions():
    result = made([[True, False], [True, False]])
    for bad in (0, 1.1, "half", True, None):
        with pytest.raises(
            InputError, match="threshold must be a share of the resamples, above 0 and up to 1"
        ):
            result.stable(bad)
    with pytest.raises(InputError, match=r"above 0.5 and up to 1, got 0.5"):
        result.expected_false(0.5)
    with pytest.raises(
        InputError, match="at most half of the samples, but these contain 51 of 100"
    ):
        made([[True, False]] * 2, n_rows=51).expected_false(0.9)
    odd = stability("fisher", WINE[:177], CULTIVAR[:177], n_features_to_select=2, n_resamples=2)
    assert odd.n_rows == 88
    assert odd.expected_false(1) == pytest.approx(4 / 13)


def test_it_prints_as_a_short_table(found):
    lines = str(found).splitlines()
    assert lines[0] == "Stability of selector 'fisher': 89 of 178 samples drawn 10 times"
    assert lines[1].startswith("3 of 13 features selected per resample; stability index ")
    body = lines[4:17]
    assert len(body) == 13
    assert all(line.count("●") == 1 for line in body)
    starred = {line.split()[1] for line in body if line.startswith("*")}
    assert starred == {
        name for name, chosen in zip(found.names, found.selected, strict=True) if chosen
    }
    first = found.names[found.order[0]]
    assert first in body[0]
    assert "100 %" in body[0]
    assert repr(found) == str(found)
    assert "<pre>" in found._repr_html_()


def test_the_bars_lie_where_the_ranks_are():
    # Ranks from 1 to 5 on 25 signs: one rank is six signs. The first column is always 1st, the last
    # always 5th.
    chosen = np.array([[1, 0, 0, 0, 0]] * 2, dtype=bool)
    result = made(chosen)
    object.__setattr__(result, "rank_low", np.array([1.0, 1, 2, 2, 5]))
    object.__setattr__(result, "rank_median", np.array([1.0, 2, 2, 3, 5]))
    object.__setattr__(result, "rank_high", np.array([1.0, 3, 2, 5, 5]))
    bars = [line[line.index(")") + 3 :] for line in str(result).splitlines()[4:9]]
    assert bars == [
        "●",
        "─" * 6 + "●" + "─" * 6,
        " " * 6 + "●",
        " " * 6 + "─" * 6 + "●" + "─" * 12,
        " " * 24 + "●",
    ]


def test_many_features_are_cut_and_spaced_by_factors():
    X = np.random.default_rng(0).normal(size=(40, 200))
    found = stability("variance", X, n_features_to_select=5, n_resamples=5)
    text = str(found)
    assert "… 180 more; to_frame() has them all" in text
    assert "(log)" in text
    assert max(map(len, text.splitlines())) < 130
    axes = found.plot(n=8)
    assert axes.get_xscale() == "log"
    assert len(axes.get_yticklabels()) == 8


def test_odd_names_break_no_line():
    names = ["a\nb", "", "x" * 200, "\x1b[31mred", "$x_1$"]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 5)), columns=names)
    found = stability("variance", X, n_features_to_select=2, n_resamples=3)
    assert found.names == tuple(names)
    text = str(found)
    assert len(text.splitlines()) == 4 + 5 + 1
    assert "(no name)" in text
    assert "\x1b" not in text
    found.plot().figure.canvas.draw()


def test_an_undefined_index():
    found = stability("fisher", WINE, CULTIVAR, n_features_to_select=13, n_resamples=3)
    assert math.isnan(found.index)
    assert "undefined" in str(found)
    assert found.plot().get_title(loc="left") == "fisher, 3 resamples"


def test_the_frame_holds_the_same_in_order(found):
    frame = found.to_frame()
    assert frame["feature"].tolist() == [found.names[j] for j in found.order]
    assert set(frame["feature"]) == set(WINE.columns)
    assert frame["frequency"].is_monotonic_decreasing
    for column in (
        "frequency",
        "frequency_low",
        "frequency_high",
        "rank_low",
        "rank_median",
        "rank_high",
        "selected",
    ):
        np.testing.assert_array_equal(frame[column], getattr(found, column)[found.order])
    never = frame["frequency"] == 0
    assert frame.loc[never, "group"].isna().all()
    assert (frame["group_frequency"] >= frame["frequency"]).all()
    records = json.loads(json.dumps(found.to_records(), allow_nan=False))
    assert [record["feature"] for record in records] == frame["feature"].tolist()


def test_the_plot_shows_intervals_and_frequencies(found):
    axes = found.plot(n=4)
    order = found.order[:4]
    assert [label.get_text() for label in axes.get_yticklabels()] == [found.names[j] for j in order]
    (lines,) = [drawn for drawn in axes.collections if hasattr(drawn, "get_segments")]
    ends = np.array([segment[:, 0] for segment in lines.get_segments()])
    np.testing.assert_array_equal(
        ends, np.column_stack([found.rank_low[order], found.rank_high[order]])
    )
    assert [text.get_text() for text in axes.texts] == [
        f"{100 * found.frequency[j]:.0f} %" for j in order
    ]
    with pytest.raises(InputError, match="n must be an integer of at least 1"):
        found.plot(n=0)


def test_the_plot_uses_the_given_axes(found):
    import matplotlib.pyplot as plt

    _, axes = plt.subplots()
    assert found.plot(ax=axes) is axes


@pytest.mark.parametrize(
    ("library", "call", "extra"), [("pandas", "to_frame", "pandas"), ("matplotlib", "plot", "plot")]
)
def test_a_missing_extra_is_named(found, monkeypatch, library, call, extra):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == library:
            raise ModuleNotFoundError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=rf"graphsieve\[{extra}\]"):
        getattr(found, call)()


# ---- warnings and errors


def test_warnings_of_resamples_are_issued_once_with_a_count():
    def selector(X, y):
        if len(X) < 60 and X[0, 0] > 0:
            warn("the first row is missing.")
        return np.arange(X.shape[1])

    with pytest.warns(GraphSieveWarning) as caught:
        stability(selector, numbered(60), n_features_to_select=2, n_resamples=40)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert message.startswith("selector 'selector': the first row is missing (in ")
    times = int(message.split("(in ")[1].split(maxsplit=1)[0])
    assert 8 <= times <= 32  # half of the time
    assert message.endswith(" of 41 rounds).")


def test_an_error_contains_the_resample():
    calls = itertools.count()

    def selector(X, y):
        if next(calls) == 3:
            raise RuntimeError("lost")
        return np.arange(X.shape[1])

    with pytest.raises(RuntimeError, match="lost") as caught:
        stability(selector, numbered(20), n_features_to_select=2, n_resamples=5)
    assert caught.value.__notes__ == ["(selector 'selector', resample 3 of 5)"]
    with pytest.raises(InputError, match="needs labels") as caught:
        stability("fisher", numbered(20), n_resamples=5)
    assert caught.value.__notes__ == ["(selector 'fisher', all samples)"]


@pytest.mark.parametrize(
    ("selector", "options", "message"),
    [
        ("fischer", {}, "did you mean 'fisher'"),
        (["fisher", "relieff"], {}, "selector must be one selector, got 2"),
        (3, {}, "must be the name of a method, an estimator with fit, or a function"),
        ("fisher", {"n_resamples": 1}, "n_resamples must be an integer of at least 2, got 1"),
        ("fisher", {"fraction": 0}, "fraction must be a positive number of at most 1, got 0"),
        ("fisher", {"fraction": 1.5}, "fraction must be a positive number of at most 1, got 1.5"),
        ("fisher", {"fraction": 1}, "fraction=1 draws all samples every time"),
        (
            "fisher",
            {"fraction": 0.01},
            "2 of 178 samples cannot contain one of each of the 3 groups",
        ),
        ("fisher", {"hide": 1}, "hide must be None or a fraction above 0 and below 1"),
        ("fisher", {"hide": "half"}, "hide must be None or a fraction above 0 and below 1"),
        (
            "fisher",
            {"n_features_to_select": 14},
            "n_features_to_select is 14, but there are 13 features",
        ),
        (
            SelectKBest(),
            {"n_features_to_select": 14},
            "n_features_to_select is 14, but there are 13 features",
        ),
        (
            lambda X, y: [0],
            {},
            "does not determine the number of features; pass n_features_to_select",
        ),
        (lambda X, y: [0, 0], {"n_features_to_select": 2}, "contains column 0 more than once"),
        (
            SelectFromModel(LogisticRegression(max_iter=5000, tol=1)),
            {"n_features_to_select": 2},
            "the same rank",
        ),
        ("fisher", {"target_type": "words"}, "target_type must be one of"),
        ("fisher", {"progress": "yes"}, "progress must be None or True or False"),
        ("fisher", {"n_jobs": 0}, "n_jobs must be None or an integer other than 0"),
        ("fisher", {"random_state": -1}, "random_state must be"),
        ("fisher", {"supervision": [(0, 1)]}, "supervision must be a graphsieve.Supervision"),
    ],
)
def test_invalid_arguments_raise_one_sentence(selector, options, message):
    X = (WINE - WINE.mean()) / WINE.std()
    with pytest.raises(InputError, match=message) as caught:
        stability(selector, X, CULTIVAR, **{"n_resamples": 2} | options)
    assert "\n" not in str(caught.value)


def test_data_that_cannot_be_used_are_refused():
    with pytest.raises(InputError, match="X has 178 samples, but 177 are described"):
        stability("fisher", WINE, CULTIVAR[:-1])
    with pytest.raises(InputError, match=r"hide=0\.5 needs known labels or targets to hide"):
        stability("laplacian", WINE, hide=0.5)
    with pytest.raises(InputError, match="X holds text"):
        stability("fisher", WINE.assign(text="a"), CULTIVAR, categorical=None)
    with pytest.raises(InputError, match="X holds numbers as text"):
        stability("fisher", WINE.assign(text="1"), CULTIVAR)
    with pytest.raises(InputError, match="SelectKBest cannot read a Supervision"):
        stability(SelectKBest(), WINE, supervision=Supervision.from_labels(CULTIVAR))


def test_neither_the_selector_nor_the_table_is_changed():
    selector, X = GraphSieve("fisher"), WINE.to_numpy().copy()
    before = X.copy()

    def vandal(X, y):
        X[:] = 0
        y[:] = 0
        return np.arange(X.shape[1])

    stability(selector, X, CULTIVAR, n_features_to_select=2, n_resamples=2)
    assert not hasattr(selector, "scores_")
    assert selector.n_features_to_select is None
    labels = CULTIVAR.to_numpy().copy()
    stability(vandal, X, labels, n_features_to_select=2, n_resamples=2)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(labels, CULTIVAR)


def test_what_is_public_is_documented():
    for parameter in ("selector", "supervision", "fraction", "hide", "n_resamples", "n_jobs"):
        assert parameter in stability.__doc__

"""Features to keep, candidates and costs in `compare`."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from graphsieve import GraphSieve, InputError, Supervision, compare, evaluate
from graphsieve.assess.comparison.choices import overlap_by_chance
from graphsieve.assess.comparison.comparing import rank_agreement
from graphsieve.assess.evaluation.prefixes import score_prefixes
from graphsieve.search.diverse import Choice

pytestmark = pytest.mark.usefixtures("one_thread")

N = 60
RNG = np.random.default_rng(7)
Y = np.arange(N) % 3
FRAME = pd.DataFrame(
    {
        "size": RNG.normal(size=N) + Y,
        "colour": np.array(["red", "green", "blue"])[np.where(RNG.random(N) < 0.7, Y, 0)],
        "noise": RNG.normal(size=N),
        "length": RNG.normal(size=N) + 0.5 * Y,
        "town": RNG.choice(list("abc"), N),
        "weight": RNG.normal(size=N) - Y,
    }
)
NUMBERS = FRAME[["size", "noise", "length", "weight"]]
KEEP, CANDIDATES = ["town"], ["noise", "length", "weight", "size"]
COST = {"weight": 30.0, "length": 0.1}


def quick(X=FRAME, y=Y, **options):
    return compare(
        X, y, **({"learners": "1nn", "folds": 3, "methods": ["auto", "fisher"]} | options)
    )


# Rankings


@pytest.mark.parametrize(
    "given",
    [
        {"keep": KEEP},
        {"candidates": CANDIDATES},
        {"keep": ["town", "noise"], "candidates": CANDIDATES},
        {"cost": COST},
    ],
    ids=", ".join,
)
def test_rankings_equal_those_of_the_sieves(given):
    found = quick(**given)
    for name, order in zip(found.methods, found.orders, strict=True):
        own = {key: value for key, value in given.items() if name == "auto" or key != "cost"}
        sieve = GraphSieve(name, n_features_to_select=max(found.sizes), **own).fit(FRAME, Y)
        assert_array_equal(order, np.argsort(sieve.ranking_), err_msg=name)


def test_features_are_also_given_by_position_mask_or_group():
    expected = quick(NUMBERS, keep=["noise"], candidates=["size", "weight"]).orders
    array = NUMBERS.to_numpy()
    mask = np.isin(NUMBERS.columns, ["size", "weight"])
    for candidates in ([0, 3], mask, mask.tolist()):
        assert_array_equal(quick(array, keep=[1], candidates=candidates).orders, expected)
    names = list(NUMBERS)
    assert_array_equal(
        quick(array, feature_names=names, keep=["noise"], candidates=mask).orders, expected
    )
    grouped = quick(
        feature_groups={"body": ["size", "weight"]}, keep=["body"], candidates=["noise", "colour"]
    )
    assert {grouped.names[order[0]] for order in grouped.orders} == {"body"}


def test_ranks_follow_the_choice():
    """Kept features have their own ranks, and excluded ones come last. Equal scores still tie."""
    X = np.column_stack([NUMBERS["noise"], NUMBERS["size"], NUMBERS["size"], NUMBERS["weight"]])
    found = quick(X, methods=["fisher"], keep=[3], candidates=[1, 2])
    assert found.ranks.tolist() == [[4, 2, 2, 1]]
    excluded = quick(X, methods=["fisher"], candidates=[0, 3])
    assert sorted(excluded.ranks[0, [0, 3]]) == [1, 2]
    assert excluded.ranks[0, [1, 2]].tolist() == [3, 3]


def test_agreement_is_that_of_the_features_that_are_free():
    found = quick(methods=["auto", "fisher", "variance"], keep=KEEP, candidates=CANDIDATES)
    free = [list(FRAME).index(name) for name in CANDIDATES]
    assert_allclose(found.agreement, rank_agreement(found.ranks[:, free]))


@pytest.mark.parametrize(("n_kept", "n_free", "n_other"), [(0, 4, 0), (1, 3, 1), (2, 3, 0)])
def test_overlap_of_random_orders(n_kept, n_free, n_other):
    """All pairs of orders of the free features, after those that are kept."""
    n = n_kept + n_free + n_other
    choice = Choice(tuple(range(n_kept)), np.arange(n) < n_kept + n_free)
    for size in range(max(1, n_kept), n_kept + n_free + 1):
        shared = [
            len({*range(n_kept), *one[: size - n_kept]} & {*range(n_kept), *other[: size - n_kept]})
            for one in permutations(range(n_kept, n_kept + n_free))
            for other in permutations(range(n_kept, n_kept + n_free))
        ]
        assert overlap_by_chance(choice, n, size) == pytest.approx(np.mean(shared) / size)


def test_the_overlap_by_chance_is_shown():
    found = quick(keep=KEEP, candidates=CANDIDATES, sizes=[2])
    # One column is kept, and two of four others are the same with a chance of 1/4.
    assert found.facts()["overlap"][0]["by_chance"] == pytest.approx((1 + 1 / 4) / 2)
    assert "(chance: 62 %)" in str(found)


def test_the_overlap_is_shown_where_chance_leaves_room():
    """Two of four candidates are half of them, and three of four are more than half."""
    assert quick(candidates=CANDIDATES, sizes=[1, 2, 3]).n_first == 2
    assert quick(sizes=[1, 2, 3]).n_first == 3


# Sizes


def test_sizes_add_features_to_those_that_are_kept():
    assert quick(keep=KEEP).sizes == (2, 3, 4)
    assert quick(candidates=CANDIDATES).sizes == (1, 2, 3)
    assert quick(keep=["town", "noise"], candidates=CANDIDATES).sizes == (3, 4)
    assert quick(keep=KEEP, candidates=["size"]).sizes == (2,)
    assert quick(keep=KEEP, sizes=[1, 6]).sizes == (1, 6)


# Curves


@pytest.mark.parametrize(
    "known", [None, Supervision.from_pairs(N, [(0, 3)], [(0, 1)])], ids=["labels", "pairs as well"]
)
def test_curves_use_the_choice_in_every_fold(known):
    found = quick(keep=KEEP, candidates=CANDIDATES, supervision=known)
    if known is None:
        own = {"keep": [4], "candidates": [0, 2, 3, 5], "n_features_to_select": max(found.sizes)}
        sieves = {name: GraphSieve(name, **own) for name in found.methods}
        plain = evaluate(sieves, FRAME, Y, sizes=found.sizes, learners="1nn", folds=3)
        for name in found.methods:
            assert_array_equal(found.evaluation.values(name), plain.values(name))
    for one in found.evaluation.selections:
        assert one.features[0] == 4
        assert set(one.features) <= {4, 0, 2, 3, 5}


def test_random_columns_come_after_those_to_keep():
    found = quick(methods=["fisher"], keep=["town", "noise"], candidates=CANDIDATES, sizes=[3, 4])
    draws = [one.features for one in found.evaluation.selections if one.selector == "random"]
    assert {one[:2] for one in draws} == {(4, 2)}
    assert {one[2] for one in draws} <= {0, 3, 5}
    # With every column that may be selected, there is nothing left to draw.
    everything = quick(methods=["fisher"], keep=["town", "noise"], candidates=["size"], sizes=[3])
    for name in ("random", "fisher"):
        assert_allclose(everything.evaluation.values(name), everything.evaluation.values("all"))


def test_all_columns_are_those_that_may_be_selected():
    folds = [(np.arange(20, N), np.arange(20))]
    found = quick(methods=["fisher"], keep=["weight"], candidates=["size", "noise"], folds=folds)
    expected = score_prefixes(
        [0, 2, 5], FRAME[20:], Y[20:], FRAME[:20], Y[:20], sizes=[3], learner="1nn"
    )
    assert_allclose(found.evaluation.values("all"), np.tile(expected, (len(found.sizes), 1)))
    assert [row["n_features"] for row in found.to_records() if row["method"] == "all columns"] == [
        3
    ]
    text = " ".join(str(found).split())
    assert "All 3 columns that may be selected reach" in text
    assert "3 of the 6 columns may be selected, and 1 of them is kept" in text


def test_costs_apply_to_methods_that_select_by_gain():
    found = quick(methods=["auto", "fisher", "variance"], cost=COST)
    plain = quick(methods=["auto", "fisher", "variance"])
    assert_array_equal(found.orders[1:], plain.orders[1:])
    assert found.orders[0].tolist() != plain.orders[0].tolist()
    note = "The costs apply to auto; the other methods rank columns one by one."
    assert note in found.notes
    assert not any("cost" in one for one in quick(methods=["auto"], cost=COST).notes)


def test_without_a_choice_nothing_changes():
    plain, given = quick(), quick(keep=[], candidates=list(FRAME), cost=[1.0] * 6)
    assert given.sizes == plain.sizes
    assert_array_equal(given.orders, plain.orders)
    assert_array_equal(given.agreement, plain.agreement)
    for name in plain.evaluation.selectors:
        assert_array_equal(given.evaluation.values(name), plain.evaluation.values(name))


def test_searches_that_cannot_keep_features():
    with pytest.raises(InputError, match="the search 'iterative' has no keep; leave it out"):
        quick(methods=["fisher", "iterative"], keep=KEEP)
    with pytest.raises(InputError, match="the search 'floating' has no candidates; leave it out"):
        quick(methods=["floating"], candidates=CANDIDATES)
    found = compare(NUMBERS, keep=["noise"])
    assert "iterative" not in found.methods
    assert any(one.startswith("iterative was left out: the search") for one in found.notes)
    assert "iterative" in compare(NUMBERS).methods


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": ["lenght"]}, r"keep contains 'lenght', .* \(did you mean 'length'\?\)"),
        ({"keep": {"town"}}, "in the order of selection"),
        ({"candidates": "town"}, "candidates must be a list of features"),
        ({"candidates": []}, "candidates allows no feature"),
        ({"cost": {"size": -1}}, "cost must contain finite numbers above 0, got -1"),
        ({"cost": [1, 2]}, "one entry for each of the 6 features"),
        ({"cost": COST, "methods": ["fisher"]}, "cost applies to a selection by gain, but none of"),
        ({"keep": list(FRAME)}, "nothing is left to choose; keep fewer features"),
        ({"keep": KEEP, "candidates": KEEP}, "nothing is left to choose; keep fewer features"),
        ({"keep": ["town", "size"], "sizes": [1, 3]}, "sizes contains 1, but 2 .* choose 2 to 6"),
        ({"candidates": CANDIDATES, "sizes": [5]}, "sizes contains 5, but 0 .* choose 1 to 4"),
    ],
)
def test_choices_that_are_refused(options, message):
    with pytest.raises(InputError, match=message) as caught:
        quick(**options)
    assert str(caught.value).count("\n") == 0


# Evaluation takes a sieve with its own choice. Selectors receive arrays, so features have positions.


def test_a_sieve_in_evaluate_brings_its_own_choice():
    sieve = GraphSieve(n_features_to_select=3, keep=[4], candidates=[0, 5])
    found = evaluate({"mine": sieve}, FRAME, Y, sizes=[3], learners="1nn", folds=3)
    for one in found.selections:
        if one.selector == "mine":
            assert one.features[0] == 4
            assert set(one.features) == {0, 4, 5}
    with pytest.raises(InputError, match=r"keep contains 'town'.* use positions from 0 to 5"):
        evaluate(GraphSieve(keep=["town"]), FRAME, Y, sizes=[3])

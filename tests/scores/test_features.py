"""Every score of categories and groups of columns, also of weighted samples: the formulas, the laws,
and what is refused.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from graphsieve import GraphSieve, GraphSieveWarning, InputError, Supervision
from graphsieve.graphs.builders import neighbor_graph
from graphsieve.graphs.neighbors.metrics import chosen_metric, measured
from graphsieve.graphs.prototypes import compressed
from graphsieve.scores import METHODS
from graphsieve.scores.method import Method
from graphsieve.table.any_table import as_table
from graphsieve.table.columns import MemoryTable, Table
from graphsieve.table.features import Features
from graphsieve.table.scaling import of_unit_variance
from graphsieve.table.stored.stored_table import StoredTable
from mixed import (
    KINDS,
    ONE_COLUMN,
    Feature,
    Mixed,
    categorical_feature,
    mixed_problems,
    numbers,
    ordered_feature,
)
from pretended import Pretended
from score_cases import CASES, TIE_FREE_CASES
from strategies import Problem

pytestmark = pytest.mark.usefixtures("sparse_stays_sparse")

# What the scores are defined for. The others are defined for all kinds of features.
USABLE = {
    "sselect": ONE_COLUMN,
    "mutual_information": tuple(kind for kind in KINDS if kind != "group"),
}
# Scores that are not quotients, or products of quotients, of quadratic forms
OTHER_SCORES = {"pearson", "mutual_information", "relieff", "sselect"}
QUADRATIC = sorted(set(METHODS) - OTHER_SCORES)
BY_FUNCTION = {method.function.__name__: method for method in METHODS.values()}


def table_of(mixed: Mixed, form: str = "frame") -> Table:
    """Return the table, from a frame or with its columns in another form."""
    table = as_table(mixed.frame, feature_groups=mixed.groups or None)
    if form == "frame":
        return table
    X, n = mixed.matrix, len(mixed.matrix)
    if form == "stored":
        held: Table = StoredTable(Pretended(X, max(20 * n + 20, X.size * 4)))
        return held.grouped(table.features, table.feature_names)
    if form == "stored CSR":
        held = StoredTable(Pretended(sp.csr_array(X), max(40 * n + 40, X.size * 4)))
        return held.grouped(table.features, table.feature_names)
    return MemoryTable.trusted(
        sp.csc_array(X) if form == "CSR" else X,
        table.feature_names,
        features=table.features,
        block_elements=n + 1 if form == "narrow blocks" else 2**22,
    )


FORMS = ("frame", "CSR", "narrow blocks", "stored", "stored CSR")


def values(method: Method, table: Table, known: Supervision, **options: Any) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        return method.core(table, known, **(method.defaults | options)).values


def knowledge(method: Method, problem: Problem) -> list[Supervision]:
    """Return each kind of supervision that the method uses, or none if it needs none."""
    kinds = [
        kind
        for kind in method.uses
        if not (method.name == "pearson" and kind == "labels" and problem.labels.max() > 1)
    ]
    return [problem.known(kind) for kind in kinds] or [Supervision.nothing(len(problem.X))]


def drawn(data: Any, name: str, **options: Any) -> Mixed:
    return data.draw(mixed_problems(ties=True, kinds=USABLE.get(name, KINDS), **options))


def assert_same(one: np.ndarray, other: np.ndarray) -> None:
    assert_allclose(one, other, rtol=1e-9, atol=1e-12)


# ---- The formulas


def supervised(method: Method, n: int, given_arguments: tuple[Any, ...]) -> Supervision:
    """Return the positional arguments of a public function as supervision."""
    if not given_arguments:
        return Supervision.nothing(n)
    if "pairs" in method.uses:
        return Supervision.from_pairs(n, *given_arguments)
    if "probabilities" in method.uses:
        return Supervision.from_probabilities(*given_arguments)
    if method.name == "mutual_information":
        return Supervision.from_y(*given_arguments)
    kind = Supervision.from_targets if "targets" in method.uses else Supervision.from_labels
    return kind(*given_arguments)


def agrees(
    mixed: Mixed,
    form: str,
    case: tuple[str, Any, dict[str, Any]],
    masses: np.ndarray | None = None,
) -> None:
    name, arguments, keywords = case
    method, given_arguments = BY_FUNCTION[name], arguments(mixed.problem)
    known = supervised(method, len(mixed.matrix), given_arguments)
    found = values(method, table_of(mixed, form).weighted_by(masses), known, **keywords)
    categories = (
        {"categorical": mixed.categorical} if name in ("relieff_score", *INFORMATION) else {}
    )
    blocks = {} if name == "sselect_score" else {"blocks": mixed.blocks}
    with np.errstate(all="ignore"):
        expected = getattr(oracle, name)(
            mixed.matrix, *given_arguments, **keywords, **blocks, **categories, masses=masses
        )
    assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


INFORMATION = ("mutual_information_score",)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2]}")
@given(data=st.data(), form=st.sampled_from(FORMS))
def test_equals_the_formula_where_ties_abound(case, data, form):
    agrees(drawn(data, BY_FUNCTION[case[0]].name), form, case)


@pytest.mark.parametrize("case", CASES + TIE_FREE_CASES, ids=lambda case: f"{case[0]}-{case[2]}")
@given(data=st.data(), form=st.sampled_from(FORMS))
def test_equals_the_formula_in_general_position(case, data, form):
    # The estimates for numbers are not defined for the ties of an ordered category.
    kinds = tuple(
        kind
        for kind in USABLE.get(BY_FUNCTION[case[0]].name, KINDS)
        if kind != "ordered" or case[0] not in INFORMATION
    )
    agrees(data.draw(mixed_problems(ties=False, kinds=kinds)), form, case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2]}")
@given(data=st.data(), form=st.sampled_from(FORMS), seed=st.integers(0, 999))
def test_weighted_samples_equal_the_formula(case, data, form, seed):
    mixed = drawn(data, BY_FUNCTION[case[0]].name)
    random = np.random.default_rng(seed)
    agrees(mixed, form, case, random.choice([0.25, 1.0, 2.5, 3.0], len(mixed.matrix)))


@pytest.mark.parametrize("case", TIE_FREE_CASES, ids=lambda case: f"{case[0]}-{case[2]}")
@given(data=st.data(), form=st.sampled_from(FORMS), seed=st.integers(0, 999))
def test_weighted_information_equals_the_formula(case, data, form, seed):
    kinds = ("number", "two levels", "category", "one level")
    mixed = data.draw(mixed_problems(ties=False, kinds=kinds))
    masses = np.random.default_rng(seed).choice([0.25, 1.0, 2.5, 3.0], len(mixed.matrix))
    agrees(mixed, form, case, masses)


def repeated(known: Supervision, times: np.ndarray) -> Supervision:
    """Return the supervision of samples that occur several times.

    A pair of two samples becomes all pairs of their copies, and copies are not paired.
    """
    return known[np.repeat(np.arange(len(known)), times)]


# Scores on graphs that are not built from neighbours
WITHOUT_NEIGHBORS = ("variance", "constraint", "weighted_laplacian", "fisher", "pearson")


@pytest.mark.parametrize("name", WITHOUT_NEIGHBORS)
@given(data=st.data(), form=st.sampled_from(FORMS[:3]), seed=st.integers(0, 999))
def test_an_integer_weight_equals_repetition(name, data, form, seed):
    mixed, method = drawn(data, name), METHODS[name]
    times = np.random.default_rng(seed).integers(1, 4, len(mixed.matrix))
    table, rows = table_of(mixed, form), np.repeat(np.arange(len(times)), times)
    for known in knowledge(method, mixed.problem):
        assert_same(
            values(method, table.weighted_by(times.astype(np.float64)), known),
            values(method, table.take(rows), repeated(known, times)),
        )


def test_the_law_of_repetition_covers_all_scores_without_neighbors():
    of_targets = {"supervised_laplacian", "relieff", "mutual_information"}
    assert {
        name for name, method in METHODS.items() if not method.reads_neighbors
    } - of_targets == set(WITHOUT_NEIGHBORS)


@pytest.mark.parametrize("name", METHODS)
@given(data=st.data(), form=st.sampled_from(FORMS[:3]), weight=st.sampled_from([0.5, 3.0, 1e40]))
def test_equal_weights_change_nothing(name, data, form, weight):
    mixed, method = drawn(data, name), METHODS[name]
    table = table_of(mixed, form)
    masses = np.full(table.n_samples, weight)
    # Its denominator sums over all samples with a cannot-link, so twice as many give half the score.
    unit = weight if name == "constrained_laplacian" else 1.0
    for known in knowledge(method, mixed.problem):
        found = values(method, table.weighted_by(masses), known)
        assert_same(found * unit, values(method, table, known))


def test_a_category_by_hand():
    """Three levels, the edges 0–1 and 2–3 in the target. Only the samples 2 and 3 differ, in two
    indicators, so the energy is 2. Every degree is 1, and the spreads are ½ + ¼·3 + ¼·3 = 2.
    """
    X = np.array([["a"], ["a"], ["b"], ["c"]], dtype=object)
    # Four samples of three levels would be an identifier, so every sample occurs twice as often.
    X, y = np.repeat(X, 2, axis=0), np.repeat([1.0, 2.0, 11.0, 12.0], 2)
    # Copies of a target value are the nearest neighbours, with equal levels.
    table, known = as_table(X), Supervision.from_targets(y)
    core = METHODS["supervised_laplacian"].core
    assert core(table, known, n_neighbors=1, bandwidth=1e6).values[0] == 0
    # With three neighbours, each value is linked with the two nearest values. 1 and 2 have equal
    # levels. The 4 pairs of 11 and 12 differ by 2. Every degree is 3, so the spread is
    # 3 · (4·4/8 + 2·6/8 + 2·6/8) = 15.
    found = core(table, known, n_neighbors=3, bandwidth=1e6).values[0]
    assert_allclose(found, 8 / 15, rtol=1e-6)


# ---- The laws


@pytest.mark.parametrize("name", METHODS)
@given(data=st.data(), seed=st.integers(0, 99))
def test_renaming_levels_changes_nothing(name, data, seed):
    mixed, random = drawn(data, name), np.random.default_rng(seed)

    def renamed(feature: Feature) -> Feature:
        if not hasattr(feature.values[0], "dtype") or feature.kind in ("number", "group"):
            return feature
        texts = np.asarray(feature.values[0], dtype=object)
        levels, codes = np.unique(texts.astype(str), return_inverse=True)
        others = random.permutation([f"level {c}" for c in range(len(levels))]).tolist()
        if feature.kind == "ordered":  # another name for each level, in the same order
            order = list(feature.values[0].categories)
            others = [f"rank {order.index(level)}" for level in levels]
            place = np.array([order.index(text) for text in texts])
            return ordered_feature(place, [f"rank {c}" for c in range(len(order))])
        return categorical_feature(feature.kind, codes, others)

    again = mixed.having([renamed(feature) for feature in mixed.features])
    for known in knowledge(METHODS[name], mixed.problem):
        assert_array_equal(  # to the last bit
            values(METHODS[name], table_of(again), known),
            values(METHODS[name], table_of(mixed), known),
        )


@pytest.mark.parametrize("name", METHODS)
@given(data=st.data(), form=st.sampled_from(FORMS))
def test_a_feature_of_one_column_is_the_column(name, data, form):
    """To the last bit, for numbers, ordered categories and groups of one column."""
    mixed = data.draw(mixed_problems(ties=True, kinds=("number", "ordered")))
    table = table_of(mixed, form)
    single = Features.of_sizes(np.ones(table.n_columns), np.zeros(table.n_columns, dtype=bool))
    for known in knowledge(METHODS[name], mixed.problem):
        assert_array_equal(
            values(METHODS[name], table.grouped(single, None), known),
            values(METHODS[name], table.grouped(None, None), known),
        )


@pytest.mark.parametrize("name", [*QUADRATIC, "pearson", "relieff", "sselect"])
@given(data=st.data())
def test_a_category_of_two_levels_is_its_indicator(name, data):
    mixed = drawn(data, name)
    as_numbers = mixed.having(
        [
            numbers(feature.columns) if feature.kind == "two levels" else feature
            for feature in mixed.features
        ]
    )
    for known in knowledge(METHODS[name], mixed.problem):
        assert_array_equal(
            values(METHODS[name], table_of(mixed), known),
            values(METHODS[name], table_of(as_numbers), known),
        )


@pytest.mark.parametrize(
    "name", ["fisher", "supervised_laplacian", "constraint", "weighted_laplacian", "pearson"]
)
@given(data=st.data())
def test_both_indicators_of_two_levels_score_as_one(name, data):
    """So the coding of a category does not matter. Distances in X are not used by these scores."""
    mixed = data.draw(mixed_problems(ties=True, kinds=("two levels",)))
    both = mixed.having(
        [numbers(np.hstack([feature.columns, 1 - feature.columns])) for feature in mixed.features]
    )
    for known in knowledge(METHODS[name], mixed.problem):
        assert_same(
            values(METHODS[name], table_of(both), known),
            values(METHODS[name], table_of(mixed), known),
        )


@pytest.mark.parametrize("name", METHODS)
@given(data=st.data(), seed=st.integers(0, 99))
def test_the_order_of_the_columns_of_a_feature_does_not_matter(name, data, seed):
    mixed, random = drawn(data, name), np.random.default_rng(seed)
    table = table_of(mixed)
    order = np.concatenate([random.permutation(block) for block in mixed.blocks])
    turned = MemoryTable.trusted(mixed.matrix[:, order], None, features=table.features)
    for known in knowledge(METHODS[name], mixed.problem):
        assert_same(values(METHODS[name], turned, known), values(METHODS[name], table, known))


@pytest.mark.parametrize("name", [name for name in METHODS if name not in USABLE])
@given(data=st.data(), form=st.sampled_from(FORMS), constant=st.sampled_from([0.0, 3.25, -1e8]))
def test_a_constant_column_of_a_feature_changes_nothing(name, data, form, constant):
    mixed = drawn(data, name)
    wider = with_numbers(mixed, lambda f, _: np.hstack([f, np.full((len(f), 1), constant)]))
    for known in knowledge(METHODS[name], mixed.problem):
        assert_same(
            values(METHODS[name], table_of(wider, form), known),
            values(METHODS[name], table_of(mixed, form), known),
        )


@pytest.mark.parametrize("name", METHODS)
@given(data=st.data(), form=st.sampled_from(FORMS))
def test_copies_of_a_feature_tie(name, data, form):
    mixed = drawn(data, name)
    doubled = mixed.having(mixed.features * 2)
    for known in knowledge(METHODS[name], mixed.problem):
        found = values(METHODS[name], table_of(doubled, form), known)
        assert_array_equal(found[: len(mixed.features)], found[len(mixed.features) :])


@pytest.mark.parametrize("name", METHODS)
@given(data=st.data())
def test_features_in_another_order_have_the_same_scores(name, data):
    mixed = drawn(data, name)
    turned = mixed.having(mixed.features[::-1])
    for known in knowledge(METHODS[name], mixed.problem):
        assert_same(
            values(METHODS[name], table_of(turned), known)[::-1],
            values(METHODS[name], table_of(mixed), known),
        )


def with_numbers(mixed: Mixed, change: Any) -> Mixed:
    """Return the problem with other numbers. `change` gets the columns and the place of each."""
    return mixed.having(
        [
            numbers(change(feature.columns, place))
            if feature.kind in ("number", "group")
            else feature
            for place, feature in enumerate(mixed.features)
        ]
    )


@pytest.mark.parametrize("name", METHODS)
@given(data=st.data())
def test_a_shift_of_numbers_changes_nothing(name, data):
    mixed = drawn(data, name)
    shifted = with_numbers(mixed, lambda f, place: f + np.arange(f.shape[1]) * 3.0 - 4.0 + place)
    for known in knowledge(METHODS[name], mixed.problem):
        assert_same(
            values(METHODS[name], table_of(shifted), known),
            values(METHODS[name], table_of(mixed), known),
        )


@pytest.mark.parametrize("name", [name for name in METHODS if name != "variance"])
@given(data=st.data())
def test_the_unit_of_a_feature_changes_nothing(name, data):
    """If distances matter, all columns and the target get the same factor, which is exact."""
    method, mixed = METHODS[name], drawn(data, name)
    for known in knowledge(method, mixed.problem):
        plain = values(method, table_of(mixed), known)
        if not method.reads_neighbors:
            factors = [0.1, 3.0, 1e6, 1 / 7, 1.0]
            other = with_numbers(mixed, lambda f, place, factors=factors: f * factors[place])
            assert_same(values(method, table_of(other), known), plain)
            continue
        table = table_of(mixed)
        larger = MemoryTable.trusted(3.0 * mixed.matrix, None, features=table.features)
        targets = None if known.targets is None else 3.0 * known.targets
        bandwidth = (
            {"bandwidth": 9.0 * method.defaults["bandwidth"]}
            if "bandwidth" in method.defaults
            else {}
        )
        assert_same(values(method, larger, replace(known, targets=targets), **bandwidth), plain)


@pytest.mark.parametrize("factor", [1e-170, 1e170])
@given(data=st.data())
def test_columns_of_very_different_size_do_not_overflow(data, factor):
    """The larger column decides. The squares of the others underflow, or would overflow."""
    mixed = data.draw(mixed_problems(ties=True, kinds=("number",), at_least=2))
    X = mixed.matrix[:, :2]
    pair = Features.of_sizes([2], [False])
    known = Supervision.from_labels(mixed.problem.labels)
    larger = int(factor < 1)  # the second column is multiplied
    column = values(METHODS["fisher"], MemoryTable(X[:, [1 - larger]]), known)
    assume(not np.isnan(column[0]))
    scaled = MemoryTable.trusted(X * [1.0, factor], None, features=pair)
    assert_same(values(METHODS["fisher"], scaled, known), column)


# ---- Refusals


@pytest.mark.parametrize(
    ("name", "groups", "sentence"),
    [
        (
            "sselect",
            None,
            "method 'sselect' is based on the sign of a feature, which a category does not have "
            "(column 'c'); choose another method, or leave such features out.",
        ),
        (
            "sselect",
            {"g": ["a", "b"]},
            "method 'sselect' is based on the sign of a feature, which a group of columns does not "
            "have (column 'g'); choose another method, or leave such features out.",
        ),
        (
            "mutual_information",
            {"g": ["a", "b"]},
            "method 'mutual_information' is based on the distances along a feature, which a group "
            "of columns does not have (column 'g'); choose another method, or leave such features "
            "out.",
        ),
    ],
)
def test_scores_without_a_meaning_are_refused(name, groups, sentence):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"a": np.arange(9.0), "b": np.arange(9.0) ** 2, "c": list("xyzxyzxyz")})
    y = np.arange(9) % 2
    with pytest.raises(InputError) as caught:
        GraphSieve(name, feature_groups=groups).fit(X, y)
    assert str(caught.value) == sentence


# ---- Prototypes, metrics and units


@pytest.mark.parametrize("how", ["som", "kmeans"])
@pytest.mark.parametrize(
    "form",
    [
        pytest.param(form, marks=pytest.mark.slow) if form.startswith("stored") else form
        for form in FORMS
    ],
)
@given(data=st.data())
def test_prototypes_are_means_of_columns(how, form, data):
    """The graph is that of the columns, and the forms are summed over the columns of a feature."""
    mixed = data.draw(mixed_problems(ties=True, at_least=2))
    n = len(mixed.matrix)
    table = table_of(mixed, form)
    columns = table.grouped(None, None)
    known = Supervision.nothing(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        small, plain = (compressed(one, known, how, 4) for one in (table, columns))
        assert small.table.n_compared == len(mixed.features)
        graph = neighbor_graph(columns.represented_by(plain), 2, 5.0).graph
    found = values(
        METHODS["laplacian"], table.represented_by(small), known, n_neighbors=2, bandwidth=5.0
    )
    forms = [graph.energy(mixed.matrix), graph.spread(mixed.matrix)]
    with np.errstate(invalid="ignore"):
        expected = [np.divide(*(form[block].sum() for form in forms)) for block in mixed.blocks]
    expected = np.where(
        [np.ptp(mixed.matrix[:, block], axis=0).any() for block in mixed.blocks], expected, np.nan
    )
    assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@given(data=st.data())
def test_cosine_compares_the_columns(data):
    mixed = data.draw(mixed_problems(ties=True))
    table = table_of(mixed)
    directions = (
        mixed.matrix
        / np.where((size := np.linalg.norm(mixed.matrix, axis=1)) > 0, size, 1.0)[:, None]
    )
    assume((size > 0).all())
    assert_allclose(measured(table, "cosine").rows[0], directions, rtol=1e-12, atol=1e-15)
    assert measured(table, "cosine").n_compared == len(mixed.features)


def test_indicators_are_no_counts():
    """The indicators of many levels are mostly zero, as counts are."""
    codes = np.arange(400)[:, None] * np.array([1, 3, 7, 11, 13, 17]) % 20
    indicators = np.hstack([(column[:, None] == np.arange(20)) * 1.0 for column in codes.T])
    assert chosen_metric(MemoryTable(indicators))[0] == "cosine"
    names = np.array([f"level {c}" for c in range(20)], dtype=object)
    assert chosen_metric(as_table(names[codes])) == ("euclidean", "there are categories")


@given(data=st.data())
def test_the_mean_variance_of_the_features_is_one(data):
    mixed = data.draw(mixed_problems(ties=True))
    scaled = of_unit_variance(table_of(mixed)).matrix
    varying = [block for block in mixed.blocks if np.ptp(mixed.matrix[:, block], axis=0).any()]
    assume(varying)
    assert_allclose(np.mean([scaled[:, block].var(axis=0).sum() for block in varying]), 1.0)

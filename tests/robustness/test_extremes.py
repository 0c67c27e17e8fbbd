"""Extreme numbers, ties, copies and very few samples, for every method and every search.

The result must be finite scores, or NaN for features that rank last. Scores may be infinite if a
column separates classes without variation within classes. Errors must come from this library. numpy
warnings and other exceptions are failures.
"""

from __future__ import annotations

import contextlib
import itertools
import warnings
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

from cases import about
from graphsieve import (
    GraphSieve,
    GraphSieveWarning,
    InputError,
    Supervision,
    compare,
    feature_p_values,
    rank,
    stability,
)
from graphsieve.assess.evaluation.evaluating_clusters import evaluate_clustering
from graphsieve.scores import METHODS, score_together
from graphsieve.search import (
    SEARCHES,
    diverse_selection,
    floating_selection,
    hybrid_selection,
    iterative_ranking,
)
from graphsieve.search.propagation import harmonic_labels
from graphsieve.select.sieves import SIEVES
from graphsieve.table.columns import MemoryTable
from strategies import frozen

N, P = 40, 6
RNG = np.random.default_rng(21)
PLAIN = frozen(RNG.normal(size=(N, P)) + np.outer(np.arange(N) % 2, [2, 0, 0, 0, 1, 0]))
LARGEST, SMALLEST, TINY = np.finfo(float).max, 5e-324, np.finfo(float).tiny


def one_of(values, seed=0):
    return np.random.default_rng(seed).choice(values, size=(N, P))


def mostly_copies():
    """Return a table in which nine of ten rows are copies of the first four."""
    rows = np.where(np.arange(N) % 10 == 0, np.arange(N), np.arange(N) % 4)
    return PLAIN[rows]


def spanning():
    """Return a table in which every column has values from 1e-308 to 1e308."""
    return PLAIN * 10.0 ** np.random.default_rng(1).uniform(-308, 307, size=(N, P))


TABLES = {
    "from 1e-308 to 1e308": spanning,
    "columns from 1e-308 to 1e308": lambda: PLAIN * 10.0 ** np.linspace(-308, 307, P),
    "1e-300 beside 1e300": lambda: PLAIN * np.tile([1e-300, 1e300], P // 2),
    "rows of 1e-300 beside rows of 1e300": lambda: (
        PLAIN * np.tile([1e-300, 1e300], N // 2)[:, None]
    ),
    "subnormal": lambda: np.round(PLAIN * 1000) * SMALLEST,
    "subnormal and ordinary": lambda: np.where(
        np.arange(P) % 2, PLAIN, np.round(PLAIN * 1000) * SMALLEST
    ),
    "smallest steps": lambda: one_of([0.0, SMALLEST]),
    "steps around 1": lambda: one_of([1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0)]),
    "largest and its negative": lambda: one_of([LARGEST, -LARGEST, 0.0]),
    "largest and its neighbour": lambda: one_of([LARGEST, np.nextafter(LARGEST, 0.0)]),
    "smallest normal": lambda: one_of([TINY, -TINY, 0.0]),
    "offset 1e8": lambda: PLAIN + 1e8 * np.arange(1, P + 1),
    "offset 1e300": lambda: PLAIN * 1e290 + 1e300,
    "offset that leaves two digits": lambda: PLAIN + 1e14,
    "outlier": lambda: np.where(np.arange(N)[:, None] == 7, LARGEST / 2, PLAIN),
    "mostly copies of rows": mostly_copies,
    "ties everywhere": lambda: one_of([0.0, 1.0]),
    "three values": lambda: one_of([-1.0, 0.0, 1.0]),
    "ties and one value apart": lambda: np.where(
        np.arange(N)[:, None] == np.arange(P) * 5, 1.0, 0.0
    ),
    "copies of one column": lambda: np.repeat(PLAIN[:, :1], P, axis=1),
    "constants among others": lambda: np.where(np.arange(P) % 2, PLAIN, 1e300),
    "float32 at its ends": lambda: (PLAIN * 10.0 ** np.linspace(-44, 37, P)).astype(np.float32),
    "unsigned bytes": lambda: one_of(np.arange(256)).astype(np.uint8),
}


@cache
def table_of(kind):
    return frozen(TABLES[kind]())


def known_of(n):
    """Return supervision of every kind for n samples, few of them labelled."""
    rng = np.random.default_rng(n)
    labels = np.where((np.arange(n) % 3 == 2) & (np.arange(n) > 3), -1, np.arange(n) % 2)
    targets = np.where((np.arange(n) % 4 == 3) & (np.arange(n) > 3), np.nan, rng.normal(size=n))
    cannot = [(0, 1)]
    must = [(0, 2)] if n > 2 else []
    return {
        "labels": Supervision.from_labels(labels),
        "targets": Supervision.from_targets(targets),
        "pairs": Supervision.from_pairs(n, must, cannot),
        "probabilities": Supervision.from_probabilities(rng.dirichlet([1, 1, 1], n)),
    }


def extreme_knowledge():
    """Return targets of every magnitude, classes of one member, and very unbalanced classes."""
    few = np.where(np.arange(N) < 3, np.arange(N), 0)
    spread = 10.0 ** np.random.default_rng(2).uniform(-308, 308, N)
    return {
        "targets from 1e-308 to 1e308": Supervision.from_targets(spread),
        "subnormal targets": Supervision.from_targets(np.arange(N) * SMALLEST),
        "two targets": Supervision.from_targets(np.where(np.arange(N) % 2, LARGEST, -LARGEST)),
        "targets that tie but for one": Supervision.from_targets(
            np.where(np.arange(N) == 5, 1.5, 0.5)
        ),
        "classes of one member": Supervision.from_labels(
            np.where(np.arange(N) < 4, np.arange(N), -1)
        ),
        "one class and two members of others": Supervision.from_labels(few),
        "every sample a class": Supervision.from_labels(np.arange(N)),
        "certain and impossible": Supervision.from_probabilities(np.eye(3)[np.arange(N) % 3]),
        "nearly even": Supervision.from_probabilities(
            np.full((N, 2), 0.5) + np.outer(np.ones(N), [1e-15, -1e-15])
        ),
        "tiny probabilities": Supervision.from_probabilities(
            np.where(np.arange(2) == 0, SMALLEST, 1.0) + np.zeros((N, 2))
        ),
    }


class Answer:
    """Scores (if any), ranks and selected features."""

    def __init__(self, sieve):
        self.scores = getattr(sieve, "scores_", None)
        self.ranking, self.support = sieve.ranking_, sieve.get_support()


def methods_and_searches():
    """Return every method and search as a function of (table, supervision), with the kinds of
    supervision that it accepts.
    """
    ways = {}
    for name, method in METHODS.items():
        # The other methods do not scale.
        for scale in ("standard", None) if method.reads_neighbors else ("auto",):
            sieve = GraphSieve(name, scale=scale)
            ways[f"{name}, scale={scale}"] = (lambda sieve=sieve: sieve), method.uses
    for name, search in SEARCHES.items():
        uses = search.uses or (
            ("labels", "targets", "pairs", "probabilities") if name == "diverse" else ()
        )
        ways[f"search {name}"] = SIEVES[name], uses
        if name == "diverse":
            ways["search diverse, nothing known"] = SIEVES[name], ()
    return ways


WAYS = methods_and_searches()
every_way = pytest.mark.parametrize("way", WAYS)


def answer(way, table, known):
    """Return the result, or None for an `InputError` of one sentence. numpy must not warn."""
    make, _ = WAYS[way]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found, sentence = Answer(make().fit(table, supervision=known)), "None is needed."
        except InputError as error:
            found, sentence = None, str(error)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    strange = [warning for warning in caught if not issubclass(warning.category, GraphSieveWarning)]
    assert not strange, [str(warning.message) for warning in strange]
    if found is not None:
        check(found, table)
    return found


def check(found, table):
    """Check that ranks are complete, features without a score come last, and constants have no
    score.
    """
    n_features = table.shape[1]
    assert found.ranking.shape == found.support.shape == (n_features,)
    assert found.ranking.min() == 1
    if found.scores is None:
        return
    unscored = np.isnan(found.scores)
    assert_array_equal(np.sort(found.ranking), np.arange(1, n_features + 1))
    assert found.ranking[unscored].min(initial=n_features + 1) > found.ranking[~unscored].max(
        initial=0
    )
    assert unscored[(table == table[0]).all(axis=0)].all()


def each_knowledge(way, n=N):
    uses = WAYS[way][1]
    return [known_of(n)[kind] for kind in uses] or [None]


@every_way
def test_extreme_tables(way):
    """Only the variance refuses a table because of the magnitude of its numbers.

    Underflow in sums is intended, also if numpy is set to raise errors. That setting does not reach
    the library's own threads, which would issue warnings instead.
    """
    refused, tables = set(), {kind: table_of(kind) for kind in TABLES}
    for kind, known in itertools.product(TABLES, each_knowledge(way)):
        with about(kind), np.errstate(all="raise"):
            if answer(way, tables[kind], known) is None:
                refused.add(kind)
    assert bool(refused) == way.startswith("variance"), refused


@every_way
def test_a_handful_of_samples(way):
    """Every class may have only one member."""
    for n in (2, 3, 4, 7):
        for kind, table in {
            "plain": PLAIN[:n],
            "ties": table_of("ties everywhere")[:n],
            "1e-300 beside 1e300": table_of("1e-300 beside 1e300")[:n],
            "copies of a row": PLAIN[np.zeros(n, dtype=int)],
        }.items():
            for known in each_knowledge(way, n):
                with about(f"{n} samples, {kind}"):
                    answer(way, frozen(table), known)


EXTREME_KNOWLEDGE = extreme_knowledge()


def used_by(way):
    return {
        kind: known
        for kind, known in EXTREME_KNOWLEDGE.items()
        if set(known.kinds) & set(WAYS[way][1])
    }


@pytest.mark.parametrize("way", [way for way in WAYS if used_by(way)])
def test_extreme_knowledge(way):
    for kind, known in used_by(way).items():
        for table in (PLAIN, table_of("ties everywhere"), table_of("1e-300 beside 1e300")):
            with about(kind):
                answer(way, table, known)


def test_probabilities_too_small_to_be_multiplied_are_compared_with_all_pairs():
    """Almost no pair consists of two classes.

    As in the case without any such pair, pairs within classes are compared with all pairs.
    """
    tiny, nothing = (
        Supervision.from_probabilities(np.array([[value, 1.0]] * N)) for value in (SMALLEST, 0.0)
    )
    found, expected = (
        GraphSieve().fit(PLAIN, supervision=known).relevance_ for known in (tiny, nothing)
    )
    assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


LABELS = np.where(np.arange(N) % 3 == 2, -1, np.arange(N) % 2)
DOORS = {
    "diverse_selection": lambda X: diverse_selection(np.ones(P), X, n_features_to_select=3),
    "floating_selection": lambda X: floating_selection(X, LABELS, n_features_to_select=2),
    "hybrid_selection": lambda X: hybrid_selection(X, LABELS, n_features_to_select=2),
    "iterative_ranking": iterative_ranking,
    "harmonic_labels": lambda X: harmonic_labels(X, LABELS),
    "harmonic_labels by neighbours": lambda X: harmonic_labels(X, LABELS, n_neighbors=3),
    "feature_p_values": lambda X: feature_p_values(X, LABELS, n_permutations=200),
    "feature_p_values, nothing known": lambda X: feature_p_values(X, n_permutations=200),
    "stability": lambda X: stability(GraphSieve(n_features_to_select=2), X, LABELS, n_resamples=3),
    "score_together": lambda X: score_together(X, ["laplacian", "spec"]),
    "rank": lambda X: rank(X, LABELS).to_json(),
    "compare": lambda X: compare(
        X, LABELS, methods=["laplacian", "fisher"], learners=["1nn"], folds=2
    ),
    "evaluate_clustering": lambda X: evaluate_clustering(
        [GraphSieve()], X, np.arange(N) % 2, sizes=[2], repeats=1, n_init=1
    ),
}


SLOW = ("feature_p_values, nothing known", "compare")


@pytest.mark.parametrize(
    "door",
    [pytest.param(door, marks=pytest.mark.slow if door in SLOW else ()) for door in DOORS],
)
def test_no_function_raises_errors_of_numpy(door):
    """Functions that need no sieve give a result or an `InputError` of one sentence."""
    answers = 0
    for kind in TABLES:
        table = table_of(kind)
        with about(kind), np.errstate(all="raise"), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", GraphSieveWarning)
            with contextlib.suppress(InputError):
                answers += DOORS[door](table) is not None
    assert answers >= len(TABLES) // 3


COUNTED = ("labels", "targets", "pairs", "probabilities", None)


@pytest.mark.parametrize("what", COUNTED)
def test_how_many_matter_in_extreme_tables(what):
    known = known_of(N).get(what)
    for kind in TABLES:
        with about(kind), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", GraphSieveWarning)
            sieve = GraphSieve(n_features_to_select="auto").fit(table_of(kind), supervision=known)
            check(Answer(sieve), table_of(kind))


@pytest.mark.parametrize("what", COUNTED)
@pytest.mark.filterwarnings("ignore:.*cannot be scored")
@pytest.mark.filterwarnings("ignore:the number of features could not be determined")
def test_huge_constants_do_not_change_how_many_matter(what):
    known, wide = known_of(N).get(what), np.insert(PLAIN, [1, 3], [1e300, -1e300], axis=1)
    alone, beside = (
        GraphSieve(n_features_to_select="auto").fit(table, supervision=known)
        for table in (PLAIN, wide)
    )
    assert_array_equal(np.delete(beside.get_support(), [1, 4]), alone.get_support())


def same(one, other):
    assert (one is None) == (other is None)
    if one is not None:
        assert_array_equal(one.ranking, other.ranking)
        assert_array_equal(one.support, other.support)
        if one.scores is not None:
            assert_allclose(one.scores, other.scores, rtol=1e-12)


# Tables that reveal a changed order of summation: ties, copies, and numbers with few valid digits.
ON_THE_EDGE = (
    "ties everywhere",
    "smallest steps",
    "mostly copies of rows",
    "offset that leaves two digits",
    "1e-300 beside 1e300",
)


@every_way
def test_one_thread_or_two(way):
    for kind, known in itertools.product(ON_THE_EDGE, each_knowledge(way)):
        with threadpool_limits(1):
            one = answer(way, table_of(kind), known)
        with threadpool_limits(2):
            two = answer(way, table_of(kind), known)
        with about(kind):
            same(one, two)


@every_way
def test_blocks_of_any_size(way, monkeypatch):
    """Every table creates blocks, so their size is changed globally."""
    cases = list(itertools.product(ON_THE_EDGE, each_knowledge(way)))
    expected = [answer(way, table_of(kind), known) for kind, known in cases]
    for size in (1, 3 * N - 1):
        for made in (MemoryTable.__init__, MemoryTable.trusted.__func__):
            smaller = made.__kwdefaults__ | {"block_elements": size}
            monkeypatch.setattr(made, "__kwdefaults__", smaller)
        for (kind, known), one in zip(cases, expected, strict=True):
            with about(f"{kind}, blocks of {size}"):
                same(one, answer(way, table_of(kind), known))


def test_every_method_and_every_search_is_here():
    assert {way.partition(",")[0] for way in WAYS} == {
        *METHODS,
        *(f"search {name}" for name in SEARCHES),
    }
    scaled = [name for name, method in METHODS.items() if method.reads_neighbors]
    assert len(WAYS) == len(METHODS) + len(scaled) + len(SEARCHES) + 1

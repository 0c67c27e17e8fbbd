"""Relevance and prediction against their definitions: sums over listed pairs, and refitted
regressions.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import beta, rankdata, spearmanr
from sklearn.feature_selection import f_classif
from sklearn.linear_model import Ridge
from sklearn.metrics import cohen_kappa_score

from graphsieve import Supervision
from graphsieve.search import prediction
from graphsieve.search.prediction import PENALTIES, predicted
from graphsieve.search.relevance import corrected_relevance, relevance
from graphsieve.table.centered import ColumnSpace
from graphsieve.table.columns import MemoryTable
from strategies import Problem, problems

pytestmark = pytest.mark.usefixtures("one_thread")


# ---- Slow versions, directly from the definitions


def explained(values: np.ndarray, by: np.ndarray) -> float:
    """R² of a least-squares fit of the values on some columns; 0 if the values are constant."""
    if np.ptp(values) <= 1e-6 * max(1.0, np.abs(values).max()):
        return 0.0
    design = np.column_stack([np.ones(len(values)), by])
    fitted = design @ np.linalg.lstsq(design, values, rcond=1e-9)[0]
    return float(1 - ((values - fitted) ** 2).sum() / ((values - values.mean()) ** 2).sum())


def bent_ranks(ranks: np.ndarray) -> np.ndarray:
    """Squares of the centred ranks, without the part that is a linear function of the ranks."""
    squares = ((ranks - ranks.mean()) / max(len(ranks), 1)) ** 2
    design = np.column_stack([np.ones(len(ranks)), ranks])
    return squares - design @ np.linalg.lstsq(design, squares, rcond=None)[0]


def by_ranks(X: np.ndarray, outputs: np.ndarray, *, target: bool) -> np.ndarray:
    """The relevance of each column, from ranks, regressions and quantiles of a beta distribution."""
    n, rank = len(X), np.linalg.matrix_rank(outputs - outputs.mean(axis=0), tol=1e-9)
    straight, curved = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for j, column in enumerate(X.T):
        ranks = rankdata(column)
        bent = bent_ranks(ranks)
        if target:
            of_target = rankdata(outputs[:, 0])
            straight[j] = explained(ranks, of_target)
            curved[j] = straight[j] + max(
                explained(bent, of_target), explained(ranks, bent_ranks(of_target))
            )
        else:
            straight[j], curved[j] = explained(ranks, outputs), explained(bent, outputs)
    number = max(2, np.count_nonzero((straight > 1e-12) | (curved > 1e-12)) * (1 + target))
    freedom = (2, n - 3) if target else (rank, n - 1 - rank)
    if freedom[1] <= 0:
        return straight
    chance = beta.ppf(1 - 1 / number, freedom[0] / 2, freedom[1] / 2)
    return np.maximum(straight, np.maximum(curved - chance, 0) / (1 - chance))


def weighted_mean_square(values: np.ndarray, pairs: list[tuple[int, int, float]]) -> float:
    """Return the weighted mean of (f_i − f_j)² over the pairs."""
    return sum(w * (values[i] - values[j]) ** 2 for i, j, w in pairs) / sum(w for _, _, w in pairs)


def share_of_pairs(values: np.ndarray, together: list, apart: list) -> float:
    """Return one minus the ratio of the mean squares, between 0 and 1; 0 if it is undefined."""
    all_pairs = [(i, j, 1.0) for i, j in combinations(range(len(values)), 2)]
    near = weighted_mean_square(values, together or all_pairs)
    far = weighted_mean_square(values, apart or all_pairs)
    return float(np.clip(1 - near / far, 0, 1)) if far > 0 else 0.0


def refitted(X: np.ndarray, outputs: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the best penalty and its prediction of each row by a regression on all other rows."""
    centered = X - X.mean(axis=0)
    largest = np.linalg.svd(centered, compute_uv=False)[0] ** 2
    errors, left_out = [], []
    for penalty in PENALTIES * largest:
        said = np.array(
            [
                _ridge(np.delete(X, i, 0), np.delete(outputs, i, 0), penalty, X[[i]])[0]
                for i in range(len(X))
            ]
        )
        left_out.append(said)
        errors.append(((said - outputs) ** 2).sum())
    best = int(np.argmin(errors))
    # If two penalties are equally good, rounding may select either.
    assume(sum(error <= errors[best] * (1 + 1e-6) for error in errors) == 1)
    return float(PENALTIES[best] * largest), left_out[best]


def _ridge(X: np.ndarray, outputs: np.ndarray, penalty: float, where: np.ndarray) -> np.ndarray:
    """Solve the normal equations, with an intercept that is not penalised."""
    mean, level = X.mean(axis=0), outputs.mean(axis=0)
    slopes = np.linalg.solve(
        (X - mean).T @ (X - mean) + penalty * np.eye(X.shape[1]), (X - mean).T @ (outputs - level)
    )
    return np.asarray((where - mean) @ slopes + level)


# ---- Relevance


@pytest.mark.parametrize("kind", ["labels", "targets", "probabilities"])
@given(problem=problems(ties=True))
def test_it_is_the_share_of_the_ranks_that_the_supervision_explains(
    kind: str, problem: Problem
) -> None:
    outputs, rows = outputs_of(problem, kind)
    assume(np.ptp(outputs, axis=0).max() > 1e-6)
    found = relevance(MemoryTable(problem.X), problem.known(kind))
    expected = by_ranks(problem.X[rows], outputs, target=kind == "targets")
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_a_curve_counts_although_its_correlation_is_zero() -> None:
    target = np.linspace(-1, 1, 41)
    X = np.column_stack([target**2, target, np.random.default_rng(0).normal(size=41)])
    found = relevance(MemoryTable(X), Supervision.from_targets(target))
    assert abs(np.corrcoef(target**2, target)[0, 1]) < 1e-10
    assert found[0] > 0.8
    assert found[1] == pytest.approx(1.0)
    assert found[2] < 0.2


def test_a_difference_of_spread_counts() -> None:
    random = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = random.normal(size=(200, 3))
    X[:, 0] *= 1 + 3 * y
    found = relevance(MemoryTable(X), Supervision.from_labels(y))
    assert found[0] > 0.2
    assert found[1:].max() < 0.1


@pytest.mark.parametrize("kind", ["labels", "targets"])
def test_a_typing_error_hardly_matters(kind: str) -> None:
    random = np.random.default_rng(1)
    y = np.arange(100) % 2 if kind == "labels" else random.normal(size=100)
    X = random.normal(size=(100, 3))
    X[:, 0] += 2 * y
    known = Supervision.from_y(y)
    before = relevance(MemoryTable(X), known)
    X[7, 0], X[8, 1] = 1e6, -1e6
    np.testing.assert_allclose(relevance(MemoryTable(X), known), before, atol=0.06)


def test_chance_is_subtracted_only_where_many_columns_share_a_factor() -> None:
    """Twenty labels, a real column, and fifty columns of a factor that is unrelated to them."""
    random = np.random.default_rng(4)
    y = np.arange(20) % 2
    factor = random.normal(size=(20, 1))
    factor -= (y - y.mean())[:, None] * (factor[y == 1].mean() - factor[y == 0].mean())
    factor += 0.4 * (y - y.mean())[:, None]  # a chance association
    X = np.column_stack(
        [2 * y + random.normal(size=20), factor + 0.1 * random.normal(size=(20, 50))]
    )
    table, known = MemoryTable(X), Supervision.from_labels(y)
    plain, found = relevance(table, known), corrected_relevance(table, known, ColumnSpace(table))
    assert found.doubt > 0.5
    assert found.values[0] > 0.7 * plain[0] > 0
    assert (found.values[1:] < 0.5 * plain[1:]).all()


@given(problems(ties=True), st.sampled_from(["both", "must", "cannot"]))
def test_of_pairs_it_compares_mean_squared_differences(problem: Problem, kinds: str) -> None:
    must = problem.must_link if kinds != "cannot" else np.empty((0, 2), dtype=int)
    cannot = problem.cannot_link if kinds != "must" else np.empty((0, 2), dtype=int)
    assume(len(must) or len(cannot))
    found = relevance(MemoryTable(problem.X), Supervision.from_pairs(len(problem.X), must, cannot))
    together, apart = [(i, j, 1.0) for i, j in must], [(i, j, 1.0) for i, j in cannot]
    np.testing.assert_allclose(
        found, [share_of_pairs(column, together, apart) for column in problem.X.T], atol=1e-12
    )


@given(problems(ties=True))
def test_labels_are_pairs_beside_pairs_and_none_counts_twice(problem: Problem) -> None:
    n, labels = len(problem.X), problem.labels
    known = problem.known("labels") | problem.known("pairs")
    same = {(i, j) for i, j in combinations(range(n), 2) if labels[i] == labels[j] >= 0}
    other = {
        (i, j)
        for i, j in combinations(range(n), 2)
        if min(labels[i], labels[j]) >= 0 and labels[i] != labels[j]
    }
    together = [
        (i, j, 1.0) for i, j in same | {tuple(sorted(pair)) for pair in problem.must_link.tolist()}
    ]
    apart = [
        (i, j, 1.0)
        for i, j in other | {tuple(sorted(pair)) for pair in problem.cannot_link.tolist()}
    ]
    expected = [share_of_pairs(column, together, apart) for column in problem.X.T]
    np.testing.assert_allclose(relevance(MemoryTable(problem.X), known), expected, atol=1e-12)


def test_certain_probabilities_of_one_class_distinguish_nothing() -> None:
    X = np.random.default_rng(0).normal(size=(8, 3))
    known = Supervision.from_probabilities(np.column_stack([np.ones(8), np.zeros(8)]))
    np.testing.assert_allclose(relevance(MemoryTable(X), known), 0.0, atol=1e-12)


def test_without_supervision_all_columns_are_equally_relevant() -> None:
    X = np.column_stack([np.arange(5.0), np.ones(5)])
    assert relevance(MemoryTable(X), Supervision.nothing(5)).tolist() == [1.0, 1.0]


def test_perfect_and_useless_columns_by_hand() -> None:
    # The first column is the class. The second has the same mean in both classes. The third is
    # constant on the labelled samples, and the fourth on all samples. The ranks of the fifth are
    # 1 2 | 3 4. Their total variation around the mean 2.5 is 5, and within the classes 0.5 + 0.5.
    # The share is 1 − 1/5. Four samples are too few for squared ranks.
    X = np.array(
        [[0, 1, 4, 2, 0], [0, 2, 4, 2, 1], [1, 1, 4, 2, 2], [1, 2, 4, 2, 3], [5, 9, 5, 2, 9]],
        dtype=float,
    )
    found = relevance(MemoryTable(X), Supervision.from_labels([0, 0, 1, 1, -1]))
    np.testing.assert_allclose(found, [1, 0, 0, 0, 0.8], atol=1e-15)


def test_other_libraries_agree() -> None:
    random = np.random.default_rng(3)
    X, labels, target = (
        random.normal(size=(50, 7)) + random.integers(0, 3, 50)[:, None] * [3, 2, 1, 1, 1, 1, 1],
        random.integers(0, 3, 50),
        random.normal(size=50),
    )
    X[:, :2] += 2 * labels[:, None]
    statistic = f_classif(rankdata(X, axis=0), labels)[0]  # F = (η² / 2) / ((1 − η²) / 47)
    share = statistic * 2 / (statistic * 2 + 47)
    found = relevance(MemoryTable(X), Supervision.from_labels(labels))
    np.testing.assert_allclose(found[:2], share[:2], rtol=1e-10)
    assert (found >= share - 1e-12).all()
    straight = 5 * target[:, None] + X  # A monotone relation, so that no curve explains more.
    expected = [spearmanr(column, target).statistic ** 2 for column in straight.T]
    found = relevance(MemoryTable(straight), Supervision.from_targets(target))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


KINDS = ("labels", "targets", "probabilities", "pairs")


@pytest.mark.parametrize("kind", KINDS)
@given(problem=problems(ties=False, min_samples=8), seed=st.integers(0, 999))
def test_laws(kind: str, problem: Problem, seed: int) -> None:
    """Units, offsets, signs, the order of columns and rows, storage and chunks do not change the
    result.
    """
    X, known = problem.X, problem.known(kind)
    assume(kind != "labels" or known.n_known_classes > 1)
    found = relevance(MemoryTable(X), known)
    assert ((found >= 0) & (found <= 1)).all()
    random = np.random.default_rng(seed)
    units = random.choice([-1.0, 1.0], X.shape[1]) * 10.0 ** random.integers(-200, 200, X.shape[1])
    np.testing.assert_allclose(relevance(MemoryTable(X * units), known), found, atol=1e-11)
    # An offset of 2²⁷ leaves steps of 2⁻²⁶. The values lie on a grid of such steps, so nothing is
    # lost.
    grid = np.round(X * 2**10) / 2**10
    np.testing.assert_allclose(
        relevance(MemoryTable(grid + 2.0**27), known),
        relevance(MemoryTable(grid), known),
        atol=1e-12,
    )
    columns, rows = random.permutation(X.shape[1]), random.permutation(len(X))
    np.testing.assert_allclose(
        relevance(MemoryTable(X[:, columns]), known), found[columns], atol=1e-12
    )
    np.testing.assert_allclose(relevance(MemoryTable(X[rows]), known[rows]), found, atol=1e-11)
    np.testing.assert_allclose(relevance(MemoryTable(sp.csr_array(X)), known), found, atol=1e-11)
    np.testing.assert_allclose(
        relevance(MemoryTable(X, block_elements=1), known), found, atol=1e-12
    )


# ---- Prediction


def with_a_signal(problem: Problem) -> Problem:
    """The first column is associated with the supervision, so that there is some skill to measure."""
    X = problem.X.copy()
    X[:, 0] += problem.labels + 2 * np.nan_to_num(problem.targets) + 5 * problem.probabilities[:, 0]
    return replace(problem, X=X)


def outputs_of(problem: Problem, kind: str) -> tuple[np.ndarray, np.ndarray]:
    if kind == "probabilities":
        return problem.probabilities, np.arange(len(problem.X))
    if kind == "targets":
        rows = np.flatnonzero(~np.isnan(problem.targets))
        return problem.targets[rows][:, None], rows
    rows = np.flatnonzero(problem.labels >= 0)
    return (problem.labels[rows][:, None] == np.unique(problem.labels[rows])).astype(float), rows


@pytest.mark.parametrize("kind", ["labels", "targets", "probabilities"])
@given(problem=problems(ties=False, min_samples=8))
def test_prediction_equals_refitted_ridge_regressions(kind: str, problem: Problem) -> None:
    problem = with_a_signal(problem)
    outputs, rows = outputs_of(problem, kind)
    assume(len(rows) >= 4 and np.ptp(outputs, axis=0).all())
    found = predicted(MemoryTable(problem.X), problem.known(kind))
    assert found is not None
    penalty, left_out = refitted(problem.X[rows], outputs)
    expected = _ridge(problem.X[rows], outputs, penalty, problem.X)
    expected -= expected.mean(axis=0)
    factor = np.ptp(outputs) / np.ptp(_as_used(outputs, kind))
    np.testing.assert_allclose(found.values * factor, expected, atol=1e-7 * np.abs(expected).max())
    by_sklearn = (
        Ridge(alpha=penalty)
        .fit(problem.X[rows], outputs)
        .predict(problem.X)
        .reshape(expected.shape)
    )
    np.testing.assert_allclose(
        expected, by_sklearn - by_sklearn.mean(axis=0), atol=1e-7 * np.abs(expected).max()
    )
    if kind == "targets":
        means = np.array([np.delete(outputs, i, 0).mean(axis=0) for i in range(len(outputs))])
        skill = 1 - ((outputs - left_out) ** 2).sum() / ((outputs - means) ** 2).sum()
    else:
        gap = np.sort(left_out, axis=1)
        # Rounding does not decide which class is most likely.
        assume((gap[:, -1] - gap[:, -2] > 1e-7).all())
        skill = cohen_kappa_score(outputs.argmax(axis=1), left_out.argmax(axis=1))
    assert found.skill == pytest.approx(np.clip(np.nan_to_num(skill), 0, 1), abs=1e-7)


def _as_used(outputs: np.ndarray, kind: str) -> np.ndarray:
    """Divide a target by the power of two above the largest difference from its first value."""
    if kind != "targets":
        return outputs
    return outputs / 2.0 ** np.frexp(np.abs(outputs - outputs[0]).max())[1]


@pytest.mark.parametrize(("n", "p"), [(60, 5), (12, 300)])
def test_prediction_by_either_product_and_in_any_chunks(
    n: int, p: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(p)
    X, target = random.normal(size=(n, p)), random.normal(size=n)
    known = Supervision.from_targets(np.where(np.arange(n) % 3 > 0, target, np.nan))
    found = predicted(MemoryTable(X), known)
    assert found is not None
    for table in (
        MemoryTable(X, block_elements=n),
        MemoryTable(sp.csr_array(X)),
        MemoryTable(X * 1e150),
        MemoryTable(X * 1e-150),
    ):
        other = predicted(table, known)
        assert other is not None
        # The smallest penalty is 1e-6 of the largest eigenvalue, which magnifies rounding errors.
        np.testing.assert_allclose(other.values, found.values, atol=1e-7)
        assert other.skill == pytest.approx(found.skill, abs=1e-7)


def test_a_linear_relation_has_skill_and_noise_has_none() -> None:
    random = np.random.default_rng(1)
    X = random.normal(size=(80, 4))
    labels = np.where(np.arange(80) < 40, (X[:, 0] > 0).astype(int), -1)
    found = predicted(MemoryTable(X), Supervision.from_labels(labels))
    assert found is not None
    assert found.skill > 0.7
    # These samples are unlabelled.
    assert np.mean((found.values.argmax(axis=1) == (X[:, 0] > 0))[40:]) > 0.85
    noise = predicted(MemoryTable(X), Supervision.from_labels(random.integers(0, 2, 80)))
    assert noise is not None
    assert noise.skill < 0.35


@pytest.mark.parametrize(
    "known",
    [
        Supervision.nothing(6),
        Supervision.from_pairs(6, [(0, 1)], [(1, 2)]),
        Supervision.from_labels([0, 1, -1, -1, -1, -1]),
        Supervision.from_labels([0, 0, 0, 0, -1, -1]),
        Supervision.from_targets([3.0, 3.0, 3.0, 3.0, np.nan, np.nan]),
        Supervision.from_targets([3.0, 4.0, np.nan, np.nan, np.nan, np.nan]),
    ],
    ids=["nothing", "pairs", "two labels", "one class", "one value", "two values"],
)
def test_nothing_to_predict(known: Supervision) -> None:
    assert predicted(MemoryTable(np.random.default_rng(0).normal(size=(6, 3))), known) is None


def test_columns_that_are_constant_on_the_labelled_predict_nothing() -> None:
    # The mean of several 0.1 is not 0.1 in floating point. The remainder of such columns must not
    # be mistaken for a difference.
    X = np.random.default_rng(0).normal(size=(20, 5))
    X[:7] = 0.1
    labels = np.where(np.arange(20) < 7, np.arange(20) % 2, -1)
    assert predicted(MemoryTable(X), Supervision.from_labels(labels)) is None
    assert predicted(MemoryTable(np.full((7, 2), 0.1)), Supervision.from_labels(labels[:7])) is None


@pytest.mark.parametrize("size", [1e308, 1e-300, 1.0])
def test_targets_of_any_size_and_offset(size: float) -> None:
    random = np.random.default_rng(5)
    X = random.normal(size=(30, 3))
    target = np.round(np.clip(X[:, 0] / 4, -1, 1) * 2**20) / 2**20
    plain = predicted(MemoryTable(X), Supervision.from_targets(target))
    for changed in (target * size, target + 2.0**30):
        other = predicted(MemoryTable(X), Supervision.from_targets(changed))
        assert plain is not None
        assert other is not None
        assert other.skill == pytest.approx(plain.skill, abs=1e-9)
        assert np.corrcoef(other.values[:, 0], plain.values[:, 0])[0, 1] == pytest.approx(
            1, abs=1e-9
        )


def test_probabilities_are_judged_as_classes_although_a_target_is_known_too() -> None:
    random = np.random.default_rng(2)
    X = random.normal(size=(40, 4))
    sure = 1 / (1 + np.exp(-4 * X[:, 0] + random.normal(size=40)))
    alone = Supervision.from_probabilities(np.column_stack([sure, 1 - sure]))
    both = alone | Supervision.from_targets(random.normal(size=40))
    one, other = predicted(MemoryTable(X), alone), predicted(MemoryTable(X), both)
    assert one is not None
    assert other is not None
    assert one.skill == other.skill > 0.5


@pytest.mark.parametrize("kind", ["labels", "targets"])
def test_of_very_many_labels_a_representative_part_is_used(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond `MOST_LABELED`, in wide tables, each class or the whole range of the target keeps its
    share.
    """
    random = np.random.default_rng(7)
    # The classes are in blocks of rows, so the first 40 rows would miss a class.
    labels = np.repeat([0, 1, 2], [20, 60, 120])
    X = random.normal(size=(200, 50))
    X[:, :3] += 3 * (labels[:, None] == np.arange(3))
    target = X[:, 0] + 0.1 * random.normal(size=200)
    known = (
        Supervision.from_labels(labels) if kind == "labels" else Supervision.from_targets(target)
    )
    full = predicted(MemoryTable(X), known)
    seen: list[np.ndarray] = []
    original = prediction.best_penalty
    monkeypatch.setattr(prediction, "MOST_LABELED", 40)
    monkeypatch.setattr(
        prediction, "best_penalty", lambda *given: (seen.append(given[2]), original(*given))[1]
    )
    part = predicted(MemoryTable(X), known)
    assert full is not None
    assert part is not None
    assert len(seen[0]) == 40
    if kind == "labels":
        assert np.abs((seen[0] > 0).sum(axis=0) - [4, 12, 24]).max() <= 1
        assert (part.values.argmax(axis=1) == labels).mean() > 0.8
    else:
        assert np.corrcoef(part.values[:, 0], target)[0, 1] > 0.8
    assert part.skill > 0.5

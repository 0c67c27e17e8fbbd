"""The search by explained variance, for features of several columns."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from graphsieve.search import diverse
from graphsieve.search.diverse import Choice, select_diverse
from graphsieve.table.columns import MemoryTable
from graphsieve.table.features import Features


def residuals(X, chosen):
    """Project the span of some columns out of all columns."""
    centered = X - X.mean(axis=0)
    if not len(chosen):
        return centered
    basis, sizes, _ = np.linalg.svd(centered[:, chosen], full_matrices=False)
    basis = basis[:, sizes > 1e-9 * max(1e-300, sizes[0])]
    return centered - basis @ (basis.T @ centered)


def dense_search(X, features, weights, targets, *, share, n_known, n_wanted, choice):
    """Select features one by one, with every projection computed from scratch."""
    n, chosen, order, gains = len(X), [], [], []
    column_weights = (weights / weights.max())[features.owner]
    centered = X - X.mean(axis=0)
    total = float(column_weights @ (centered**2).sum(axis=0))
    everything = np.hstack([X, targets])
    scale = np.sqrt((targets**2).sum())
    price = choice.price(len(features))
    for step in range(n_wanted):
        left = residuals(everything, chosen)
        table, target = left[:, : X.shape[1]], left[:, X.shape[1] :] / scale
        used = np.linalg.matrix_rank(centered[:, chosen]) if chosen else 0
        of_table = (1 - share) * float(column_weights @ (table**2).sum(axis=0)) / total
        by_chance = of_table / max(1, n - 1 - used)
        by_chance += share * float((target**2).sum()) / max(1, n_known - 1 - used)
        found, merits = np.zeros(len(features)), np.full(len(features), -np.inf)
        for feature in range(len(features)):
            columns = features.columns(feature)
            basis, sizes, _ = np.linalg.svd(table[:, columns], full_matrices=False)
            basis = basis[:, sizes**2 > 1e-10 * (centered[:, columns] ** 2).sum()]
            explained = float(((basis.T @ table) ** 2 @ column_weights).sum()) / total
            found[feature] = (1 - share) * explained + share * float(
                ((basis.T @ target) ** 2).sum()
            )
            rank = basis.shape[1]
            if rank and feature not in order:
                merits[feature] = (found[feature] - (rank - 1) * by_chance) / price[feature]
        best = choice.keep[step] if step < len(choice.keep) else int(merits.argmax())
        order.append(best)
        gains.append(found[best])
        chosen += features.columns(best).tolist()
    return order, gains


@st.composite
def problems(draw):
    seed = draw(st.integers(0, 2**20))
    random = np.random.default_rng(seed)
    sizes = draw(st.lists(st.integers(1, 4), min_size=3, max_size=7))
    n = draw(st.sampled_from([14, 40]))
    features = Features.of_sizes(sizes, np.zeros(len(sizes), dtype=bool))
    X = random.normal(size=(n, sum(sizes))) @ random.normal(size=(sum(sizes), sum(sizes)))
    targets = random.normal(size=(n, 2))
    targets -= targets.mean(axis=0)
    return features, X, random.uniform(0.1, 1, len(sizes)), targets, random


@settings(max_examples=60)
@given(
    problem=problems(),
    share=st.sampled_from([0.0, 0.4, 1.0]),
    form=st.sampled_from([np.asarray, sp.csr_array]),
)
def test_the_search_equals_projections_from_scratch(problem, share, form):
    features, X, weights, targets, random = problem
    choice = Choice()
    if random.random() < 0.5:
        choice = Choice(
            keep=(int(random.integers(len(features))),), cost=random.uniform(0.5, 2, len(features))
        )
    n_wanted, n_known = min(3, len(features)), int(random.integers(8, len(X) + 1))
    order, gains = dense_search(
        X,
        features,
        weights,
        targets,
        share=share,
        n_known=n_known,
        n_wanted=n_wanted,
        choice=choice,
    )
    table = MemoryTable.trusted(
        sp.csc_array(X) if form is sp.csr_array else X, None, features=features
    )
    path = select_diverse(
        table,
        weights,
        n_wanted=n_wanted,
        targets=targets,
        target_share=share,
        n_known=n_known,
        choice=choice,
    )
    assert path.order[: path.n_selected].tolist() == order[: path.n_selected]
    np.testing.assert_allclose(path.gains, gains[: path.n_selected], rtol=1e-6, atol=1e-9)


@settings(max_examples=30)
@given(problem=problems(), form=st.sampled_from(diverse.FORMS))
def test_features_of_one_column_equal_their_columns(problem, form):
    _, X, _, targets, random = problem
    weights = random.uniform(0.1, 1, X.shape[1])
    single = Features.of_sizes(np.ones(X.shape[1]), np.zeros(X.shape[1], dtype=bool))
    options = {} if form == "correlation" else {"targets": targets, "target_share": 0.5}
    one, other = (
        select_diverse(
            MemoryTable.trusted(X, None, features=features),
            weights,
            n_wanted=4,
            form=form,
            **options,
        )
        for features in (None, single)
    )
    assert one.order.tolist() == other.order.tolist()
    for name in ("alone", "gain", "redundancy", "closest", "closest_correlation"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-12)


@given(problem=problems(), form=st.sampled_from(diverse.FORMS))
def test_the_order_and_the_basis_of_the_columns_of_a_feature_do_not_matter(problem, form):
    features, X, weights, _, random = problem
    turned = X.copy()
    for feature in range(len(features)):
        columns = features.columns(feature)
        rotation, _ = np.linalg.qr(random.normal(size=(len(columns), len(columns))))
        turned[:, columns] = X[:, columns] @ rotation
    one, other = (
        select_diverse(
            MemoryTable.trusted(values, None, features=features), weights, n_wanted=3, form=form
        )
        for values in (X, turned)
    )
    assert one.order[: one.n_selected].tolist() == other.order[: other.n_selected].tolist()
    np.testing.assert_allclose(one.gain, other.gain, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(one.redundancy, other.redundancy, rtol=1e-6, atol=1e-9)

"""Missing values in the default search, the other selectors, rankings, reports and assessments."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from graphsieve import (
    FloatingSieve,
    GraphSieve,
    GraphSieveWarning,
    HybridSieve,
    InputError,
    IterativeSieve,
    Supervision,
    compare,
    evaluate,
    feature_p_values,
    rank,
    scores,
    stability,
)
from graphsieve.search import diverse_selection, harmonic_labels
from graphsieve.search.association import association_p_values
from graphsieve.search.missingness import missingness
from graphsieve.search.relevance import _shares, relevance
from graphsieve.search.relevant import relevant_columns
from graphsieve.table.columns import MemoryTable
from graphsieve.table.imputation import imputed

N = 150
RNG = np.random.default_rng(0)
CLASSES = RNG.integers(3, size=N)


def table(share=0.15, seed=0):
    """Return a table of two relevant columns, a near copy of the first, and noise; then with gaps."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 8))
    X[:, 0] += 2 * CLASSES
    X[:, 1] -= 1.5 * CLASSES
    X[:, 2] = X[:, 0] + 0.1 * rng.normal(size=N)
    return X, np.where(rng.random(X.shape) < share, np.nan, X)


X, HOLED = table()
FRAME = pd.DataFrame(HOLED).add_prefix("x")
FRAME["level"] = pd.Series(np.array(list("abc"))[CLASSES]).where(RNG.random(N) > 0.3)
FEW = np.where(np.arange(N) < 40, CLASSES, -1)
SIEVES = {
    "default": GraphSieve(n_features_to_select=3),
    "auto": GraphSieve(n_features_to_select="auto"),
    "laplacian": GraphSieve("laplacian", n_features_to_select=3),
    "relieff": GraphSieve("relieff", n_features_to_select=3),
    "correlation": GraphSieve("fisher", n_features_to_select=2, redundancy="correlation"),
    "som": GraphSieve("laplacian", n_features_to_select=3, compress="som"),
    "kmeans": GraphSieve("laplacian", n_features_to_select=3, compress="kmeans"),
    "iterative": IterativeSieve(n_features_to_select=3),
    "iterative, 2": IterativeSieve(n_features_to_select=3, variant=2),
    "hybrid": HybridSieve(n_features_to_select=3),
    "floating": FloatingSieve(n_features_to_select=3),
    "floating, estimator": FloatingSieve(n_features_to_select=3, estimator=LogisticRegression()),
}
pytestmark = pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")


@pytest.mark.parametrize("given", [HOLED, FRAME], ids=["array", "frame"])
@pytest.mark.parametrize("name", SIEVES)
def test_every_selector_finds_the_relevant_features(name, given):
    y = FEW if name == "hybrid" else CLASSES
    sieve = SIEVES[name].fit(given, y)
    relevant = {0, 1, 2, 8} if given is FRAME else {0, 1, 2}
    chosen = sieve.get_support(indices=True).tolist()
    assert set(chosen) & relevant
    assert len(set(chosen) - relevant) <= 1


def test_a_near_copy_with_gaps_is_redundant():
    """Medians would hide that the third column repeats the first."""
    sieve = GraphSieve(n_features_to_select=2).fit(HOLED, CLASSES)
    chosen = set(sieve.get_support(indices=True).tolist())
    assert chosen in ({0, 1}, {1, 2})
    (other,) = {0, 2} - chosen
    assert sieve.redundancy_[other] > 0.8


def test_without_gaps_nothing_changes():
    for method in ("auto", "laplacian"):
        one, other = (
            GraphSieve(method, n_features_to_select=3, missing=missing).fit(X, CLASSES)
            for missing in ("use", "refuse")
        )
        assert_array_equal(one.scores_, other.scores_)


def test_relevance_and_tests_use_the_observed_samples():
    known = Supervision.from_labels(CLASSES)
    holed = MemoryTable(HOLED, missing="use")
    found, p_values = _shares(holed, known), association_p_values(holed, known)
    for feature in range(HOLED.shape[1]):
        rows = np.flatnonzero(~np.isnan(HOLED[:, feature]))
        alone = MemoryTable(X[rows][:, [feature]])
        one = _shares(alone, known[rows])
        assert_allclose(found.straight[feature], one.straight[0], rtol=1e-11)
        assert_allclose(found.curved[feature], one.curved[0], rtol=1e-11)
        assert found.n[feature] == one.n[0] == len(rows)
        assert_allclose(found.observed[feature], len(rows) / len(HOLED))
        assert_allclose(p_values[feature], association_p_values(alone, known[rows])[0], rtol=1e-12)
    assert_array_equal(relevant_columns(holed, known).mask[:3], [True, True, True])


def test_imputed_values_are_not_shown():
    """Only the missing cells of the internal copy differ, and users get their own cells."""
    filled = imputed(MemoryTable(HOLED, missing="use"))
    observed = ~np.isnan(HOLED)
    assert filled.gaps is None
    assert_array_equal(filled.matrix[observed], HOLED[observed])
    sieve = GraphSieve(n_features_to_select=3).fit(HOLED, CLASSES)
    assert_array_equal(sieve.transform(HOLED), HOLED[:, sieve.get_support()])
    taken = SIEVES["default"].fit(FRAME, CLASSES).transform(FRAME)
    pd.testing.assert_frame_equal(taken, FRAME[list(taken.columns)])


def test_transform_still_refuses_infinite_values():
    sieve = GraphSieve(n_features_to_select=8).fit(X, CLASSES)
    with pytest.raises(InputError, match="X contains infinite values in the selected features"):
        sieve.transform(np.where(X[0, 0] == X, np.inf, X))
    sieve.set_params(missing="refuse")
    with pytest.raises(
        InputError, match="X contains masked values, which missing='refuse' does not allow"
    ):
        sieve.transform(np.ma.masked_invalid(HOLED))


def test_imputation_uses_the_units_of_the_table():
    units = 10.0 ** np.arange(8)
    one, other = (
        imputed(MemoryTable(values, missing="use")).matrix for values in (HOLED, HOLED * units)
    )
    assert_allclose(other, one * units, rtol=1e-9)


@pytest.mark.parametrize("name", ["default", "iterative", "hybrid", "floating"])
def test_missing_values_can_be_refused(name):
    sieve = SIEVES[name].__class__(missing="refuse")
    with pytest.raises(InputError, match=r"X has \d+ NaN \(missing\) values in column 0, "):
        sieve.fit(HOLED, CLASSES)
    assert not get_tags(sieve).input_tags.allow_nan
    assert get_tags(SIEVES[name]).input_tags.allow_nan
    with pytest.raises(InputError, match="missing must be one of 'use', 'refuse', got 'drop'"):
        SIEVES[name].__class__(missing="drop").fit(X, CLASSES)


def test_a_pipeline_with_an_imputer():
    from sklearn.impute import SimpleImputer

    sieve = GraphSieve(n_features_to_select=3)
    model = make_pipeline(sieve, SimpleImputer(), LogisticRegression()).fit(HOLED, CLASSES)
    assert model.score(HOLED, CLASSES) > 0.7


def test_weights_and_gaps():
    weights = np.random.default_rng(2).integers(1, 4, size=N)
    found = GraphSieve("fisher", n_features_to_select=2).fit(HOLED, CLASSES, sample_weight=weights)
    rows = np.repeat(np.arange(N), weights)
    assert_allclose(found.scores_, scores.fisher_score(HOLED[rows], CLASSES[rows]), rtol=1e-10)


def test_copies_have_the_same_gaps():
    from graphsieve.table.copies import sets_of_copies

    rows = np.r_[np.arange(N), :20]
    sets = sets_of_copies(MemoryTable(HOLED[rows], missing="use"))
    assert_array_equal(sets, rows)
    # A value in place of a gap makes another sample, even if it is the median.
    other = HOLED[rows]
    place = np.argwhere(np.isnan(other[N:]))[0]
    other[N + place[0], place[1]] = np.nanmedian(HOLED[:, place[1]])
    assert sets_of_copies(MemoryTable(other, missing="use"))[N + place[0]] == N


# --- informative missing values


def with_informative_gaps():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(N, 6))
    values[rng.random(N) < np.where(CLASSES == 0, 0.6, 0.1), 1] = np.nan
    values[rng.random(N) < 0.3, 2] = np.nan
    values[:3, 3] = np.nan
    values[:, 4] = np.nan
    return values


def test_missing_values_that_depend_on_the_class_are_found():
    given = with_informative_gaps()
    known = Supervision.from_labels(CLASSES)
    found = missingness(MemoryTable(given, missing="use"), known)
    assert_array_equal(found.informative, [False, True, False, False, False, False])
    # Too few missing values, or too few observed ones, are not tested.
    assert_array_equal(np.isnan(found.p_values), [True, False, False, True, True, True])
    assert_allclose(found.shares, np.isnan(given).mean(axis=0))
    assert found.n_cells == np.isnan(given).sum()
    assert found.n_features == 4
    assert missingness(MemoryTable(X), known) is None
    nothing = missingness(MemoryTable(given, missing="use"), Supervision.nothing(N))
    assert np.isnan(nothing.p_values).all()


def test_missing_values_by_chance_are_rarely_called_informative():
    known, called = Supervision.from_labels(CLASSES), 0
    for seed in range(40):
        _, holed = table(0.2, seed)
        called += missingness(MemoryTable(holed, missing="use"), known).informative.any()
    assert called <= 6  # 40 tables at a false discovery rate of 5 %


def test_rankings_report_missing_values():
    found = rank(with_informative_gaps(), CLASSES)
    n_cells = found.missing.n_cells
    text = str(found)
    assert f"{n_cells} missing values in 4 features: each feature is scored where it has a" in text
    assert (
        "in x1, missing values are associated with the supervision (false discovery rate 5 %)"
        in text
    )
    facts = json.loads(found.to_json())
    assert facts["missing"] == {"n_values": n_cells, "n_features": 4, "informative": ["x1"]}
    by_name = {record["feature"]: record for record in facts["features"]}
    assert by_name["x0"]["missing"] == 0
    assert by_name["x0"]["missing_p_value"] is None
    assert by_name["x1"]["missing_p_value"] < 0.05
    assert "In x1, missing values are associated" in found.to_html()
    assert "missing" not in json.loads(rank(X, CLASSES).to_json())


def test_reports_show_observed_values_only():
    for y in (CLASSES, X[:, 0] + X[:, 1], None):
        drawn = rank(FRAME, y).portraits
        for feature in drawn["features"]:
            observed = int(FRAME[feature["feature"]].notna().sum())
            if "levels" in feature:
                assert sum(sum(level["counts"]) for level in feature["levels"]) == observed
                continue
            assert np.sum(feature["histogram"]["counts"]) == observed
            if feature["scatter"] is not None:
                assert len(feature["scatter"]["x"]) == len(feature["scatter"]["y"]) == observed
            if feature["along_graph"] is not None:
                assert len(feature["along_graph"]["x"]) <= observed
    drawn = rank(HOLED, CLASSES).portraits["correlations"]
    at = [drawn["features"].index(name) for name in ("x0", "x3")]
    both = ~np.isnan(HOLED[:, [0, 3]]).any(axis=1)
    expected = np.corrcoef(HOLED[both][:, [0, 3]].T)[0, 1]
    assert drawn["values"][at[0]][at[1]] == pytest.approx(expected, abs=1e-3)


# --- searches and assessments


def test_the_other_searches():
    path = diverse_selection(np.ones(8), HOLED, n_features_to_select=2)
    assert path.order[0] in (0, 2)
    assert path.redundancy[2 - path.order[0]] > 0.8
    labels = harmonic_labels(HOLED, np.where(FEW < 0, None, FEW).tolist(), n_neighbors=5)
    assert (labels.argmax(axis=1) == CLASSES).mean() > 0.6
    together = scores.score_together(
        HOLED, ["laplacian", "fisher"], supervision=Supervision.from_labels(CLASSES)
    )
    assert_allclose(together["fisher"], scores.fisher_score(HOLED, CLASSES))


@pytest.mark.parametrize("given", [HOLED, FRAME], ids=["array", "frame"])
def test_evaluations(given):
    found = evaluate(["auto", "fisher"], given, CLASSES, sizes=[2], learners="1nn")
    frame = found.to_frame()
    assert frame[frame["selector"] == "auto"]["value"].mean() > 0.5
    assert compare(given, CLASSES, methods=["fisher"], sizes=[2]).best("fisher", 1)[0] in (
        "x0",
        "x2",
        "level",
    )
    assert stability("fisher", given, CLASSES, n_features_to_select=2, n_resamples=10).index > 0.5


def test_learners_get_the_medians_of_the_training_rows():
    """With an outlier in the test rows, the medians of all rows would differ."""
    from sklearn.base import BaseEstimator, RegressorMixin

    seen = []

    class Recording(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            self.X_, self.n_features_in_ = X, X.shape[1]
            return self

        def predict(self, X):
            seen.append((self.X_, X))
            return np.zeros(len(X))

    target = np.random.default_rng(3).normal(size=N)
    evaluate(["variance"], HOLED, target, sizes=[8], learners=Recording())
    for train, test in seen:
        medians = np.nanmedian(np.where(np.isin(train, HOLED), train, np.nan), axis=0)
        for part in (train, test):
            gaps = ~np.isin(part, HOLED)
            assert gaps.any()
            assert_allclose(part[gaps], np.broadcast_to(medians, part.shape)[gaps])


@pytest.mark.parametrize("method", ["fisher", "pearson", "supervised_laplacian"])
def test_p_values_use_the_observed_samples(method):
    y = CLASSES if method == "fisher" else X[:, 0] - X[:, 1]
    found = feature_p_values(HOLED, y, method=method)
    rows = np.flatnonzero(~np.isnan(HOLED[:, 1]))
    alone = feature_p_values(X[rows][:, [1]], y[rows], method=method)
    assert found.p_values[1] == alone.p_values[0]
    assert (found.p_values[:2] < 0.01).all()


def test_p_values_without_supervision():
    found = feature_p_values(HOLED)
    assert found.p_values[0] < 0.01
    assert found.p_values[3:].min() > 0.001


def test_p_values_of_groups():
    groups = np.r_[np.arange(N), np.arange(N)]
    both = np.vstack([HOLED, X])
    found = feature_p_values(both, np.r_[CLASSES, CLASSES], groups=groups)
    means = np.where(np.isnan(HOLED), X, (HOLED + X) / 2)
    assert_allclose(found.scores, feature_p_values(means, CLASSES).scores, rtol=1e-9)


# --- faults that a review found


@pytest.mark.parametrize("kind", ["block", "staggered"])
def test_shared_gaps_do_not_look_like_structure(kind):
    """Noise that is missing in the same samples, as in a questionnaire with a skipped page."""
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        noise = rng.exponential(size=(200, 10))
        if kind == "block":
            noise[:80, :9] = np.nan
        else:
            noise[np.arange(10) > rng.integers(3, 11, size=(200, 1))] = np.nan
        noise = MemoryTable(noise, missing="use")
        found += relevant_columns(noise, Supervision.nothing(200)).mask.any()
    assert found <= 4  # 20 tables at a false discovery rate of 5 %


def test_the_structure_test_does_not_depend_on_the_order():
    rng = np.random.default_rng(4)
    rows, columns = rng.permutation(N), rng.permutation(8)
    one, other = (
        relevant_columns(MemoryTable(values, missing="use"), Supervision.nothing(N)).p_values
        for values in (HOLED, HOLED[rows][:, columns])
    )
    assert_allclose(other, one[columns], rtol=1e-6)


def test_a_copy_of_the_target_with_gaps_is_a_leak():
    leaky = HOLED.copy()
    leaky[:, 4] = np.where(np.arange(N) < 5, np.nan, CLASSES)
    (warned,) = rank(leaky, CLASSES).warnings
    assert "column 4 is a one-to-one function of the target" in warned


def test_errors_of_the_supervision_are_not_hidden():
    with pytest.raises(InputError, match="labels of at least 2 classes are needed"):
        feature_p_values(HOLED, np.zeros(N, dtype=int), method="fisher")


@pytest.mark.parametrize("neighbors", ["approximate", "transformer"])
def test_other_searches_for_neighbours_are_refused(neighbors):
    from sklearn.neighbors import KNeighborsTransformer

    asked = KNeighborsTransformer() if neighbors == "transformer" else neighbors
    with pytest.raises(InputError, match="neighbors needs complete rows, but X has missing values"):
        GraphSieve("laplacian", neighbors=asked).fit(HOLED)


def test_warnings_are_given_once(recwarn):
    GraphSieve("relieff", n_neighbors=200, n_features_to_select=2).fit(HOLED, CLASSES)
    assert len([one for one in recwarn if "n_neighbors" in str(one.message)]) <= 1


def test_the_number_of_neighbours_does_not_depend_on_the_order_of_columns():
    few = HOLED.copy()
    few[6:, 0] = np.nan
    one, other = (
        rank(values, CLASSES, method="mutual_information", n_neighbors=8).n_neighbors
        for values in (few, few[:, ::-1])
    )
    assert one == other == 8


def test_cells_of_groups_are_counted():
    groups = {"g": [0, 1], "h": [2, 3]}
    found = rank(HOLED, CLASSES, feature_groups=groups).missing
    assert found.n_cells == np.isnan(HOLED).sum()
    assert rank(FRAME, CLASSES).missing.n_cells == FRAME.isna().sum().sum()


def test_tensors_with_categories_keep_their_gaps():
    class Tensor:
        shape = (6, 2)

        def __array__(self, dtype=None, copy=None):
            return np.array([[0, 1.0], [1, np.nan], [2, 3], [0, 4], [np.nan, 5], [1, 6]])

    gaps = MemoryTable(Tensor(), categorical=[0], missing="use").gaps.toarray()
    assert_array_equal(gaps.any(axis=1), [False, True, False, False, True, False])


def test_histograms_have_no_bin_for_a_fill():
    coded = HOLED.copy()
    coded[:, 0] = CLASSES % 2
    coded[:4, 0] = np.nan
    drawn = rank(coded, CLASSES).portraits["features"]
    (feature,) = [one for one in drawn if one["feature"] == "x0"]
    assert len(feature["histogram"]["edges"]) == 3


@pytest.mark.parametrize("n_selected", [3, "auto"])
@pytest.mark.parametrize("kind", ["labels", "targets", "pairs", "probabilities"])
@pytest.mark.parametrize("seen", range(5))
def test_a_feature_that_few_supervised_samples_have(kind, seen, n_selected):
    """Two of its values would separate the classes perfectly."""
    rng = np.random.default_rng(1)
    table, classes = rng.normal(size=(40, 6)), np.where(np.arange(40) < 8, np.arange(40) % 2, -1)
    table[:, 0] += 3 * (np.arange(40) % 2)
    table[seen:8, 5] = np.nan
    probabilities = np.full((40, 2), np.nan)
    probabilities[:8] = np.where(classes[:8, None] == [0, 1], 0.9, 0.1)
    known = {
        "labels": Supervision.from_labels(classes),
        "targets": Supervision.from_targets(np.where(classes < 0, np.nan, table[:, 0])),
        "pairs": Supervision.from_pairs(40, [(0, 2), (1, 3)], [(0, 1), (4, 5)]),
        "probabilities": Supervision.from_probabilities(probabilities),
    }[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        sieve = GraphSieve(n_features_to_select=n_selected).fit(table, supervision=known)
    assert sieve.relevance_[5] <= seen / (8 if kind != "pairs" else 6) + 1e-12
    assert sieve.ranking_[0] == 1


def test_features_with_fewer_than_three_values_rank_last():
    table = X.copy()
    table[2:, 1] = np.nan
    for given in (table, sp.csr_array(np.where(table == 0, 1e-9, table)), pd.DataFrame(table)):
        with pytest.warns(
            GraphSieveWarning,
            match=r"1 of \d+ features cannot be scored \(observed in fewer than 3",
        ):
            sieve = GraphSieve(n_features_to_select=3).fit(given, CLASSES)
        assert sieve.ranking_[1] == X.shape[1]
    with pytest.warns(GraphSieveWarning, match="fewer than 3 samples"):
        assert np.isnan(scores.laplacian_score(table)[1])
    frame = pd.DataFrame(X).add_prefix("x").assign(word=np.where(np.arange(len(X)) < 2, "a", None))
    with pytest.warns(GraphSieveWarning, match="fewer than 3 samples"):
        assert GraphSieve("fisher").fit(frame, CLASSES).ranking_[-1] == X.shape[1] + 1


def test_samples_without_values_are_reported():
    table = X.copy()
    table[4] = np.nan
    with pytest.warns(GraphSieveWarning, match=f"^1 of {len(X)} samples has no values"):
        GraphSieve(n_features_to_select=3).fit(table, CLASSES)
    table[:, 0] = np.nan
    with pytest.warns(GraphSieveWarning, match=f"rank last; 1 of {len(X)} samples has no values"):
        GraphSieve(n_features_to_select=3).fit(table, CLASSES)


def test_a_line_about_missing_values_if_progress_is_shown(capsys):
    GraphSieve(n_features_to_select=3, progress=True).fit(HOLED, CLASSES)
    told = capsys.readouterr().err
    assert f"scored where it is observed (missing values: {np.isnan(HOLED).sum()})." in told


def test_two_labelled_samples_suffice_for_complete_features():
    table, labels = X.copy(), np.full(N, -1)
    labels[:2] = 0, 1
    table[0, 4] = np.nan
    found = relevance(MemoryTable(table, missing="use"), Supervision.from_labels(labels))
    assert_array_equal(found[:4], relevance(MemoryTable(X[:, :4]), Supervision.from_labels(labels)))
    assert found[4] == 0

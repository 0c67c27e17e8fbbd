"""`rank` and its result: printed text, exports, pages and plots."""

from __future__ import annotations

import builtins
import dataclasses
import inspect
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine

from graphsieve import (
    GraphSieve,
    GraphSieveWarning,
    HybridSieve,
    InputError,
    IterativeSieve,
    Supervision,
    compare,
    rank,
    stability,
)
from graphsieve.report.wording import redundancy_text
from graphsieve.search.default import LEAST_TRUST
from graphsieve.search.prediction import predicted
from graphsieve.select import ranking as ranking_module
from graphsieve.table.columns import MemoryTable

FRAME, SPECIES = load_iris(return_X_y=True, as_frame=True)

WITH_COPY = FRAME.assign(constant=1.0, copy=FRAME["petal width (cm)"])


def ranked(**settings):
    """Rank six columns, one of which is constant and one a copy.

    Five are requested, so all columns except the constant are selected.
    """
    with pytest.warns(GraphSieveWarning):
        return rank(WITH_COPY, SPECIES, n_features_to_select=5, **settings)


@pytest.fixture
def ranking():
    """A ranking in selection order, which is the default."""
    return ranked()


@pytest.fixture
def scored():
    """A ranking by the published score for the supervision."""
    return ranked(redundancy=None)


def test_a_ranking_prints_names_scores_and_reason(ranking, scored):
    for found, headline in (
        (ranking, "6 features of 150 samples with 3 classes, in selection order"),
        (scored, "6 features of 150 samples with 3 classes, ranked by fisher (large is good)"),
        (
            ranked(method="fisher", redundancy="correlation"),
            "in selection order by fisher score and gain",
        ),
    ):
        text = str(found)
        assert headline in text.splitlines()[0]
        assert "not scored" in text
        lines = text.splitlines()
        assert [line.split()[0] for line in lines[-6:]] == list("123456")
        assert repr(found) == text
    for found in (ranking, scored):
        assert (
            str(found).splitlines()[1] == "supervision: 150 of 150 labels are known, in 3 classes"
        )


def test_a_ranking_prints_gain_and_redundancy(ranking, scored):
    assert "gain" not in str(scored)
    assert "redundancy" not in str(scored)
    header, *rows = str(ranking).splitlines()[-7:]
    assert header.split() == ["rank", "feature", "score", "gain", "redundancy"]
    assert "%" not in rows[0]  # no feature was selected before the first
    assert next(row for row in rows if " copy " in row).endswith(
        "100 % (closest: petal width (cm))"
    )
    assert rows[-1].split()[:2] == ["6", "constant"]
    assert rows[-1].endswith("not scored")


def test_the_reason_for_the_number_of_features_is_shown():
    with pytest.warns(GraphSieveWarning):
        found = rank(WITH_COPY, SPECIES, n_features_to_select="auto")
    n_selected = int(found.selected.sum())
    text = " ".join(str(found).split("\n\n")[0].splitlines()[3:])
    assert text == f"{n_selected} selected. {found.count_reason}"
    assert str(found).splitlines()[2].startswith("cross-validated errors: ")
    assert json.loads(found.to_json())["count_reason"] == found.count_reason
    assert not found.selected[[4, 5]].any()  # neither the constant nor the copy


@pytest.mark.parametrize("redundancy", ["auto", "correlation", None])
def test_results_equal_those_of_the_selector(redundancy):
    found = ranked(redundancy=redundancy)
    with pytest.warns(GraphSieveWarning):
        sieve = GraphSieve(redundancy=redundancy, n_features_to_select=5).fit(WITH_COPY, SPECIES)
    np.testing.assert_array_equal(found.scores, sieve.scores_)
    np.testing.assert_array_equal(found.ranks, sieve.ranking_)
    np.testing.assert_array_equal(found.selected, sieve.get_support())
    for name in ("gain", "redundancy", "closest", "closest_correlation"):
        np.testing.assert_array_equal(getattr(found, name), getattr(sieve, name + "_"))
        assert (getattr(found, name) is None) == (redundancy is None)
    assert found.best(1) == [WITH_COPY.columns[np.argmin(sieve.ranking_)]]
    with pytest.raises(InputError, match="n must be an integer from 1 to 6"):
        found.best(7)


def test_copies_share_the_best_of_their_ranks(scored):
    names = list(scored.names)
    width, copy = names.index("petal width (cm)"), names.index("copy")
    assert scored.scores[width] == scored.scores[copy]
    assert scored.ranks[copy] == scored.ranks[width] + 1
    assert scored.tied_ranks[copy] == scored.tied_ranks[width] == scored.ranks[width]


def test_a_copy_is_selected_last_and_names_its_original(ranking):
    names = list(ranking.names)
    width, copy = names.index("petal width (cm)"), names.index("copy")
    # Alone, the copy explains as much as the original.
    assert ranking.scores[copy] == pytest.approx(ranking.scores[width], rel=1e-9)
    assert ranking.ranks[copy] == 5  # after the other four, before the constant
    np.testing.assert_array_equal(ranking.tied_ranks, ranking.ranks)
    record = ranking.to_records()[4]
    assert (record["feature"], record["closest"]) == ("copy", "petal width (cm)")
    assert record["redundancy"] == pytest.approx(1)
    assert record["closest_correlation"] == pytest.approx(1)


def test_redundancy_is_the_fit_of_a_regression_on_the_features_before():
    """The redundancy is the R² of a regression on the columns selected before, and the closest
    column is the one with the largest correlation among them.
    """
    X, ranking = WITH_COPY.to_numpy(), ranked(method="diverse")
    frame = ranking.to_frame().set_index("feature")
    for place in range(1, 5):
        j, before = ranking.order[place], ranking.order[:place]
        design = np.column_stack([np.ones(150), X[:, before]])
        residual = X[:, j] - design @ np.linalg.lstsq(design, X[:, j], rcond=None)[0]
        assert frame["redundancy"][ranking.names[j]] == pytest.approx(
            1 - residual.var() / X[:, j].var(), abs=1e-9
        )
        with_each = np.array([np.corrcoef(X[:, j], X[:, i])[0, 1] for i in before])
        assert (
            frame["closest"][ranking.names[j]] == ranking.names[before[np.abs(with_each).argmax()]]
        )
        assert frame["closest_correlation"][ranking.names[j]] == pytest.approx(
            with_each[np.abs(with_each).argmax()]
        )


def test_gain_is_the_share_of_the_targets_and_the_table_that_a_feature_adds():
    """The gain of each feature, from regressions on the features before it and with it.

    The table has weight 1 − s and the relevances as weights of its features; the prediction of the
    labels has weight s. The fifth feature is a copy and adds nothing.
    """
    with pytest.warns(GraphSieveWarning):
        sieve = GraphSieve("diverse", n_features_to_select=5).fit(WITH_COPY, SPECIES)
    ranking = ranked(method="diverse")
    X = WITH_COPY.to_numpy()
    X = X - X.mean(axis=0)
    targets = predicted(MemoryTable(X), Supervision.from_labels(SPECIES)).values
    targets = targets - targets.mean(axis=0)
    share = max(LEAST_TRUST, sieve.skill_)

    def explained(features):
        basis = np.linalg.qr(X[:, features])[0]
        of_table = (
            ((basis.T @ X) ** 2).sum(axis=0)
            @ sieve.relevance_
            / ((X**2).sum(axis=0) @ sieve.relevance_)
        )
        of_targets = ((basis.T @ targets) ** 2).sum() / (targets**2).sum()
        return (1 - share) * of_table + share * of_targets

    before = 0.0
    for place in range(4):
        after = explained(ranking.order[: place + 1])
        assert ranking.gain[ranking.order[place]] == pytest.approx(after - before, abs=1e-9)
        before = after
    assert ranking.gain[ranking.order[4]] == pytest.approx(0, abs=1e-9)
    assert np.isnan(ranking.gain[ranking.order[5]])  # the constant


def test_the_gain_of_a_feature_that_is_not_selected_is_what_it_would_add_next():
    few = rank(FRAME, SPECIES, n_features_to_select=1)
    more = rank(FRAME, SPECIES, n_features_to_select=2)
    assert (few.order[:2] == more.order[:2]).all()
    second = few.order[1]
    assert few.gain[second] == pytest.approx(more.gain[second])
    assert few.gain[second] == few.gain[few.order[1:]].max()


def test_frame_and_json(ranking, scored):
    plain = ["feature", "rank", "rank_min", "score", "selected", "flag"]
    for found, columns in (
        (scored, plain),
        (ranking, [*plain, "gain", "redundancy", "closest", "closest_correlation"]),
    ):
        frame = found.to_frame()
        assert list(frame.columns) == columns
        assert list(frame["rank"]) == [1, 2, 3, 4, 5, 6]
        assert frame["score"].isna().tolist() == [False] * 5 + [True]
        assert frame["flag"].iloc[-1] == "unscorable"
        facts = json.loads(
            found.to_json(), parse_constant=lambda name: pytest.fail(f"JSON holds {name}")
        )
        assert facts["schema"] == 1
        assert facts["features"][-1]["score"] is None
        assert list(facts["features"][-1]) == columns
        assert [record["feature"] for record in facts["features"]] == list(frame["feature"])
    first, last = facts["features"][0], facts["features"][-1]
    assert (first["redundancy"], first["closest"], first["closest_correlation"]) == (
        0,
        None,
        None,
    )
    assert (last["redundancy"], last["closest"], last["closest_correlation"]) == (
        None,
        None,
        None,
    )


def test_infinite_scores_are_flagged_in_json():
    X = pd.DataFrame({"sure": [0.0, 0.0, 1.0, 1.0], "noise": [0.0, 1.0, 0.0, 2.0]})
    records = rank(X, ["a", "a", "b", "b"], redundancy=None).to_records()
    assert records[0] == {
        "feature": "sure",
        "rank": 1,
        "rank_min": 1,
        "score": None,
        "selected": True,
        "flag": "infinite",
    }
    # The score of the search is a share, so it is at most 1 for perfect separation.
    best = rank(X, ["a", "a", "b", "b"]).to_records()[0]
    assert (best["feature"], best["flag"]) == ("sure", None)
    assert 0 < best["score"] <= 1


def test_pages_are_self_contained_and_escape_names(tmp_path):
    evil = "</td><script>alert(1)</script>"
    X = FRAME.set_axis([evil, "b", "c\nd", "e" * 10_000], axis=1)
    path = tmp_path / "page.html"
    text = rank(X).to_html(path, title="A & B")
    assert path.read_text(encoding="utf-8") == text
    assert "<script>alert" not in text
    assert "&lt;script&gt;" in text
    assert "A &amp; B" in text
    assert "default-src 'none'" in text
    assert "http://" not in text.replace("http-equiv", "")
    assert 'src="' not in text
    # A line break in a name is not printed.
    assert len(str(rank(X)).splitlines()) == 4 + 4
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_page_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        rank(FRAME).to_html(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_invalid_path_of_a_page_is_refused(tmp_path):
    with pytest.raises(InputError, match="is a folder; name a file in it"):
        rank(FRAME).to_html(tmp_path)
    with pytest.raises(InputError, match=r"the folder .*missing does not exist"):
        rank(FRAME).to_html(tmp_path / "missing" / "page.html")
    assert not list(tmp_path.iterdir())


def test_default_names_are_those_of_scikit_learn():
    assert rank(FRAME.to_numpy()).names == ("x0", "x1", "x2", "x3")
    assert rank(FRAME.to_numpy().tolist()).n_samples == 150


def test_long_rankings_are_shortened_only_when_printed():
    X = np.random.default_rng(0).normal(size=(20, 50))
    found = rank(X)
    assert "… 30 more" in str(found)
    assert len(found.to_frame()) == len(found) == 50


def test_plot_shows_the_best(ranking, scored):
    for found, label in (
        (ranking, "in selection order"),
        (scored, "fisher score (large is good)"),
    ):
        axes = found.plot(n=3)
        assert [text.get_text() for text in axes.get_yticklabels()] == found.best(3)
        np.testing.assert_array_equal(
            [bar.get_width() for bar in axes.patches], found.scores[found.order[:3]]
        )
        assert label in axes.get_xlabel()


def test_plot_names_the_score_of_a_selection_order():
    X = np.random.default_rng(0).normal(size=(20, 4))
    found = rank(X, np.arange(20) % 2, method="fisher", redundancy="explain")
    assert (
        found.plot().get_xlabel() == "fisher score (large is good); features are in selection order"
    )


@pytest.mark.parametrize("n", [0, -1, "3", 2.0])
def test_plot_refuses_an_invalid_number_of_features(ranking, n):
    with pytest.raises(InputError, match="n must be an integer of at least 1"):
        ranking.plot(n=n)


@pytest.mark.parametrize(
    ("library", "call", "extra"), [("pandas", "to_frame", "pandas"), ("matplotlib", "plot", "plot")]
)
def test_a_missing_extra_is_named(ranking, monkeypatch, library, call, extra):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == library:
            raise ModuleNotFoundError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=rf"graphsieve\[{extra}\]"):
        getattr(ranking, call)()


def test_all_supervision_and_parameters_can_be_passed():
    pairs = Supervision.from_pairs(150, must_link=[(0, 1)], cannot_link=[(0, 60)])
    found = rank(
        FRAME, supervision=pairs, redundancy=None, n_neighbors=4, bandwidth=2.0, scale="minmax"
    )
    assert (found.method, found.n_neighbors, found.bandwidth) == ("constrained_laplacian", 4, 2.0)
    found = rank(FRAME, supervision=pairs, scale="minmax", n_features_to_select=0.9, max_features=1)
    sieve = GraphSieve(scale="minmax").fit(FRAME, supervision=pairs)
    assert (found.method, found.reason) == (
        "diverse",
        "1 must-link and 1 cannot-link pairs are known",
    )
    np.testing.assert_array_equal(found.scores, sieve.scores_)
    assert found.selected.sum() == 1


def test_rank_has_the_parameters_of_the_estimator():
    taken = inspect.signature(rank).parameters
    for name, parameter in inspect.signature(GraphSieve).parameters.items():
        assert taken[name].default == parameter.default
    further = {"feature_names", "random_state"}  # names for arrays, and samples of the plots
    assert (
        set(taken)
        == {
            *inspect.signature(GraphSieve.fit).parameters,
            *inspect.signature(GraphSieve).parameters,
        }
        - {"self"}
        | further
    )


def test_names_can_be_given_to_any_table():
    names = ["a", "b", "c", "d"]
    assert rank(FRAME.to_numpy(), SPECIES, feature_names=names).names == tuple(names)
    assert rank(FRAME, SPECIES, feature_names=np.array(names)).names == tuple(names)
    for wrong, message in (
        (names[:3], "must contain 4 names, one per column of X, got 3"),
        (["a", "b", "c", "a"], "contains 'a' twice"),
        (["a", "b", "c", 4], "sequence of strings, got 4"),
        ("abcd", "sequence of strings, got 'abcd'"),
        (["a", "b", "c", None], "sequence of strings, got None"),
        (set(names), "sequence of strings, got {"),  # a set has no order
    ):
        with pytest.raises(InputError, match=message):
            rank(FRAME.to_numpy(), SPECIES, feature_names=wrong)
        with pytest.raises(InputError, match=message):
            compare(FRAME.to_numpy(), SPECIES, methods=["fisher"], feature_names=wrong)


def test_names_may_be_any_ordered_collection():
    names = dict.fromkeys(["b", "a"]).keys()
    assert rank(
        [[0.0, 1.0], [1.0, 1.5], [2.0, 0.0]], method="variance", feature_names=names
    ).names == ("b", "a")


def test_invalid_axes_are_refused(ranking):
    pytest.importorskip("matplotlib")
    with pytest.raises(InputError, match="ax must be None or a matplotlib Axes object, got 3"):
        ranking.plot(ax=3)
    found = stability("variance", FRAME, n_features_to_select=2, n_resamples=3)
    with pytest.raises(InputError, match="ax must be None or a matplotlib Axes object"):
        found.plot(ax=np.array([None, None]))


def test_a_ranking_contains_supervision_parameters_and_warnings(ranking):
    assert [one["n"] for one in ranking.known["classes"]] == [50, 50, 50]
    assert dict(ranking.parameters)["n_features_to_select"] == "5"
    assert any("cannot be scored" in message for message in ranking.warnings)
    shown = [one["feature"] for one in ranking.portraits["features"]]
    assert shown == [name for name in ranking.best(6) if name != "constant"]
    facts = ranking.report_facts()
    json.dumps(facts, allow_nan=False)
    assert facts["done"]["warnings"] == list(ranking.warnings)


def test_a_notebook_shows_a_part_of_the_page(ranking):
    shown = ranking._repr_html_()
    assert "<script" not in shown
    assert all(name in shown for name in ranking.best(3))


def test_redundancy_near_100_percent_has_more_digits():
    assert redundancy_text(0.1, "hue") == ""
    assert redundancy_text(float("nan"), "hue") == ""
    assert redundancy_text(0.9, None) == ""
    assert redundancy_text(0.934, "hue") == "93 % (closest: hue)"
    assert redundancy_text(0.9968, "hue") == "99.68 % (closest: hue)"
    assert redundancy_text(0.99999, "hue") == "over 99.99 % (closest: hue)"
    assert redundancy_text(1.0, "hue") == "100 % (closest: hue)"


def test_iterative_searches_can_be_ranked():
    few = np.where(np.arange(150) % 10 == 0, SPECIES, -1)
    for method, make, own in (
        ("iterative", IterativeSieve, {"step": 2}),
        ("hybrid", HybridSieve, {"n_iterations": 2}),
    ):
        found = rank(FRAME, few, method=method, n_features_to_select=2, method_params=own)
        sieve = make(n_features_to_select=2, **own).fit(FRAME, few)
        np.testing.assert_array_equal(found.ranks, sieve.ranking_)
        np.testing.assert_array_equal(found.scores, sieve.scores_)
        np.testing.assert_array_equal(found.selected, sieve.get_support())
        np.testing.assert_array_equal(found.tied_ranks, found.ranks)
        assert (found.method, found.large_is_good) == (method, method == "hybrid")
        assert f"ranked by {method}" in str(found)
        json.dumps(found.report_facts(), allow_nan=False)
    assert (
        str(rank(FRAME, method="iterative"))
        .splitlines()[1]
        .startswith("the search drops the worst features")
    )


def test_searches_refuse_parameters_that_they_do_not_have():
    with pytest.raises(InputError, match="the search 'iterative' has no metric"):
        rank(FRAME, method="iterative", metric="cosine")
    with pytest.raises(
        InputError, match=r"method_params of 'iterative' are .*step.*did you mean 'step'"
    ):
        rank(FRAME, method="iterative", method_params={"stp": 2})


def test_features_without_a_score_rank_last_with_an_automatic_number():
    """A constant column has no score and ranks after those that are not relevant."""
    random = np.random.default_rng(3)
    informative = np.repeat([0.0, 1.0], 40) + 0.1 * random.normal(size=80)
    X = np.column_stack(
        [np.ones(80), informative, random.normal(size=80), random.normal(size=80), np.zeros(80)]
    )
    with pytest.warns(GraphSieveWarning, match="2 of 5 features cannot be scored"):
        found = rank(X, np.repeat([0, 1], 40), n_features_to_select="auto")
    assert sorted(found.best(5)[-2:]) == ["x0", "x4"]
    assert found.selected[[0, 1, 4]].tolist() == [False, True, False]


def test_report_facts_do_not_change_the_ranking():
    X = np.random.default_rng(0).normal(size=(30, 3))
    ranking = rank(X, X[:, 0] + 0.5 * X[:, 1])
    facts = ranking.report_facts(target="fat")
    assert facts["known"]["target"] == facts["portraits"]["target"]["name"] == "fat"
    assert ranking.known["target"] is None
    assert "name" not in ranking.portraits["target"]


def test_classes_have_the_same_name_in_the_header_and_in_the_plots():
    y = np.where(np.arange(30) < 20, np.arange(30) % 2, np.nan)  # 0.0, 1.0 and unknown
    facts = rank(np.random.default_rng(0).normal(size=(30, 3)), y).report_facts()
    assert [one["name"] for one in facts["known"]["classes"]] == ["0", "1"]
    assert facts["portraits"]["classes"] == ["0", "1", "unlabelled"]


def test_pages_describe_an_iterative_search_and_its_rounds():
    text = rank(
        np.random.default_rng(0).normal(size=(30, 4)), method="iterative", n_features_to_select=2
    )._repr_html_()
    assert "<strong>iterative</strong>. The search drops the worst features" in text
    assert "as requested" not in text
    assert "2 rounds, 1 dropped in each." in text


def test_plots_are_computed_on_first_use_and_x_is_released(monkeypatch):
    made = []
    portray = ranking_module.portray

    def counted(*arguments, **options):
        made.append(1)
        return portray(*arguments, **options)

    monkeypatch.setattr(ranking_module, "portray", counted)
    X, y = load_wine(return_X_y=True, as_frame=True)
    found = rank(X, y)
    str(found), found.to_json(), found.to_records()
    assert not made
    page = found.to_html()
    assert (made, found._portraits._draw) == ([1], None)
    assert found.to_html() == page
    assert made == [1]
    again = pickle.loads(pickle.dumps(rank(X, y)))
    assert len(pickle.dumps(again)) < 200_000
    assert again.portraits == found.portraits
    assert dataclasses.replace(found, reason="another").portraits == found.portraits


def test_plots_of_a_memory_map_are_computed_immediately(tmp_path):
    X, y = load_wine(return_X_y=True)
    np.save(tmp_path / "X.npy", X)
    found = rank(np.load(tmp_path / "X.npy", mmap_mode="r"), y)
    assert found._portraits._draw is None
    assert found.portraits == rank(X, y).portraits


def test_below_the_cut_off_gain_and_closest_refer_to_the_selected_features():
    X, y = load_digits(return_X_y=True)
    with pytest.warns(GraphSieveWarning):
        found = rank(X[:300], y[:300], n_features_to_select="auto")
    n = int(found.selected.sum())
    below = found.order[n:]
    assert 0 < n < 60
    closest = found.closest[below]
    assert found.selected[closest[closest >= 0]].all()
    kept = X[:300][:, found.selected] - X[:300][:, found.selected].mean(axis=0)
    basis = np.linalg.qr(kept)[0]
    for j in below:
        column = X[:300, j] - X[:300, j].mean()
        if column.any():
            share = ((basis.T @ column) ** 2).sum() / (column**2).sum()
            assert found.redundancy[j] == pytest.approx(share, abs=1e-8)


def test_the_columns_of_a_group_are_listed():
    X = np.random.default_rng(0).normal(size=(20, 3))
    found = rank(X, feature_groups={"both": [2, 0]})
    records = {record["feature"]: record["columns"] for record in found.to_records()}
    assert records == {"both": ["x0", "x2"], "x1": ["x1"]}
    assert json.loads(found.to_json())["features"] == found.to_records()
    assert found.to_frame()["columns"].tolist() == [
        records[name] for name in found.to_frame()["feature"]
    ]
    assert "columns" not in rank(X).to_records()[0]

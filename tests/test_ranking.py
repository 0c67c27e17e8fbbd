"""The one-call way and what it prints, exports and writes."""

from __future__ import annotations

import builtins
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from graphsieve import GraphSieve, GraphSieveWarning, InputError, Supervision, rank

FRAME, SPECIES = load_iris(return_X_y=True, as_frame=True)


@pytest.fixture
def ranking():
    X = FRAME.assign(constant=1.0, copy=FRAME["petal width (cm)"])
    with pytest.warns(GraphSieveWarning):
        return rank(X, SPECIES)


def test_it_prints_names_scores_and_reason(ranking):
    text = str(ranking)
    assert "6 features of 150 samples, ranked by fisher (large is good)" in text
    assert "because 150 of 150 labels are known, in 3 classes" in text
    assert "not scored" in text
    lines = text.splitlines()
    assert [line.split()[0] for line in lines[4:]] == list("123456")
    assert repr(ranking) == text


def test_numbers_are_those_of_the_selector(ranking):
    X = FRAME.assign(constant=1.0, copy=FRAME["petal width (cm)"])
    with pytest.warns(GraphSieveWarning):
        sieve = GraphSieve().fit(X, SPECIES)
    np.testing.assert_array_equal(ranking.scores, sieve.scores_)
    np.testing.assert_array_equal(ranking.ranks, sieve.ranking_)
    assert ranking.best(1) == [X.columns[np.argmin(sieve.ranking_)]]
    with pytest.raises(InputError, match="n must be a whole number from 1 to 6"):
        ranking.best(7)


def test_copies_share_the_best_of_their_ranks(ranking):
    names = list(ranking.names)
    width, copy = names.index("petal width (cm)"), names.index("copy")
    assert ranking.scores[width] == ranking.scores[copy]
    assert ranking.ranks[copy] == ranking.ranks[width] + 1
    assert ranking.tied_ranks[copy] == ranking.tied_ranks[width] == ranking.ranks[width]


def test_frame_and_json(ranking):
    frame = ranking.to_frame()
    assert list(frame.columns) == ["feature", "rank", "rank_min", "score", "selected", "flag"]
    assert list(frame["rank"]) == [1, 2, 3, 4, 5, 6]
    assert frame["score"].isna().tolist() == [False] * 5 + [True]
    assert frame["flag"].iloc[-1] == "unscorable"
    facts = json.loads(ranking.to_json(), parse_constant=lambda name: pytest.fail(f"JSON holds {name}"))
    assert facts["schema"] == 1
    assert facts["features"][-1]["score"] is None
    assert [record["feature"] for record in facts["features"]] == list(frame["feature"])


def test_infinite_scores_are_flagged_in_json():
    X = pd.DataFrame({"sure": [0.0, 0.0, 1.0, 1.0], "noise": [0.0, 1.0, 0.0, 2.0]})
    records = rank(X, ["a", "a", "b", "b"]).to_records()
    assert records[0] == {"feature": "sure", "rank": 1, "rank_min": 1, "score": None, "selected": True, "flag": "infinite"}


def test_pages_are_self_contained_and_escape_names(tmp_path):
    evil = "</td><script>alert(1)</script>"
    X = FRAME.set_axis([evil, "b", "c\nd", "e" * 10_000], axis=1)
    path = tmp_path / "page.html"
    text = rank(X).to_html(path, title="A & B")
    assert path.read_text(encoding="utf-8") == text
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "A &amp; B" in text
    assert "default-src 'none'" in text
    assert "http://" not in text.replace("http-equiv", "")
    assert "src=" not in text.replace("default-src", "")
    assert len(str(rank(X)).splitlines()) == 4 + 4  # a line break in a name breaks no line of the table
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_page_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        rank(FRAME).to_html(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_page_that_has_no_place_is_refused(tmp_path):
    with pytest.raises(InputError, match="is a folder; name a file in it"):
        rank(FRAME).to_html(tmp_path)
    with pytest.raises(InputError, match=r"the folder .*missing does not exist"):
        rank(FRAME).to_html(tmp_path / "missing" / "page.html")
    assert not list(tmp_path.iterdir())


def test_names_without_a_frame_are_those_of_scikit_learn():
    assert rank(FRAME.to_numpy()).names == ("x0", "x1", "x2", "x3")
    assert rank(FRAME.to_numpy().tolist()).n_samples == 150


def test_many_features_are_cut_on_the_screen_only():
    X = np.random.default_rng(0).normal(size=(20, 50))
    found = rank(X)
    assert "… 30 more" in str(found)
    assert len(found.to_frame()) == len(found) == 50


def test_plot_shows_the_best(ranking):
    axes = ranking.plot(n=3)
    assert [label.get_text() for label in axes.get_yticklabels()] == ranking.best(3)
    assert "large is good" in axes.get_xlabel()


@pytest.mark.parametrize(("library", "call", "extra"), [("pandas", "to_frame", "pandas"), ("matplotlib", "plot", "plot")])
def test_a_missing_extra_is_named(ranking, monkeypatch, library, call, extra):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == library:
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=rf"graphsieve\[{extra}\]"):
        getattr(ranking, call)()


def test_everything_known_can_be_passed():
    pairs = Supervision.from_pairs(150, must_link=[(0, 1)], cannot_link=[(0, 60)])
    found = rank(FRAME, supervision=pairs, n_neighbors=4, bandwidth=2.0, scale="minmax")
    assert (found.method, found.n_neighbors, found.bandwidth) == ("constrained_laplacian", 4, 2.0)

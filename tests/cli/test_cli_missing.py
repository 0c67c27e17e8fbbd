"""Missing values on the command line: every format, every choice, and the user's own cells."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from graphsieve import rank

N = 60
RNG = np.random.default_rng(0)
CLASSES = np.array(["u", "v"])[np.arange(N) % 2]


def frame():
    values = RNG.normal(size=(N, 4)).round(3) + 0.0005
    values[:, 0] += 2 * (CLASSES == "u")
    found = pd.DataFrame(values, columns=list("abcd"))
    found["level"] = np.where(RNG.random(N) < 0.8, CLASSES, "w")
    found.loc[::7, "a"] = np.nan
    found.loc[3::5, "level"] = None
    found.loc[CLASSES == "u", "d"] = np.nan
    found.loc[:3, "d"] = 1.5
    found["y"] = CLASSES
    return found


FRAME = frame()
N_MISSING = int(FRAME.isna().sum().sum())


@pytest.fixture
def table():
    FRAME.to_csv("t.csv", index=False)
    return "t.csv"


def test_a_table_with_gaps_is_ranked_as_it_is(run, table):
    answer = run("rank", table, "--target", "y", "--json")
    note = f"{N_MISSING} missing values in 3 columns: each column is scored on the rows where it has a value"
    assert answer.code == 0
    assert note in answer.err
    document = json.loads(answer.out)
    assert document["missing"] == {"n_values": N_MISSING, "n_features": 3, "informative": ["d"]}
    expected = rank(FRAME.drop(columns="y"), CLASSES, n_features_to_select="auto")
    scores = {record["feature"]: record["score"] for record in document["features"]}
    for name, score in zip(expected.names, expected.scores, strict=True):
        assert scores[name] == pytest.approx(score, rel=1e-9)


def test_informative_missing_values_are_named(run, table):
    text = run("rank", table, "--target", "y").out
    assert (
        "in d, missing values are associated with the supervision (false discovery rate 5 %)"
        in text
    )
    run("rank", table, "--target", "y", "--report", "r.html")
    page = Path("r.html").read_text(encoding="utf-8")
    assert "In d, missing values are associated with the supervision" in page


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.npz", "t.xlsx"])
def test_every_format(run, table, name):
    numeric = FRAME[list("abcd")]
    numeric.to_csv("n.csv", index=False)
    if name.endswith("npz"):
        np.savez(name, X=numeric.to_numpy(), feature_names=np.array(list("abcd")))
    elif name.endswith("xlsx"):
        numeric.to_excel(name, index=False)
    else:
        getattr(numeric, f"to_{name[2:]}")(name)
    expected = run("rank", "n.csv", "--json").document
    found = run("rank", name, "--json").document
    assert found["features"] == expected["features"]
    assert found["missing"] == expected["missing"]


def test_select_writes_the_cells_of_the_user(run, table):
    assert run("select", table, "--target", "y", "--top", "4", "-o", "out.csv").code == 0
    written = pd.read_csv("out.csv")
    pd.testing.assert_frame_equal(written, pd.read_csv(table)[list(written.columns)])
    assert written.isna().sum().sum() > 0
    chosen = run("select", table, "--target", "y", "--top", "5", "--missing", "fill", "-o", "f.csv")
    assert chosen.code == 0
    filled = pd.read_csv("f.csv")
    assert not filled.isna().any().any()
    assert filled["a"][0] == pytest.approx(FRAME["a"].median())


def test_compare_uses_gaps_too(run, table):
    words = ("--target", "y", "--methods", "auto", "fisher", "--sizes", "2")
    answer = run("compare", table, *words)
    assert answer.code == 0
    assert f"{N_MISSING} missing values in 3 columns" in answer.err


@pytest.mark.parametrize("how", ["drop-rows", "drop-columns", "fill", "use"])
def test_every_choice(run, table, how):
    answer = run("rank", table, "--target", "y", "--missing", how, "--json")
    assert answer.code == 0
    complete = FRAME.drop(columns=["a", "d", "level"]) if how == "drop-columns" else FRAME
    assert len(answer.document["features"]) == complete.shape[1] - 1
    n_rows = len(FRAME.dropna()) if how == "drop-rows" else N
    assert answer.document["n_samples"] == n_rows
    assert ("missing" in answer.document) == (how == "use")

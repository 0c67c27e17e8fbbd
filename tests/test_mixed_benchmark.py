"""Tests of benchmarks/mixed: the tables, the selections and their errors, on a small table."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks" / "mixed"
_spec = importlib.util.spec_from_file_location(
    "mixed", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
)
assert _spec is not None
sys.modules["mixed"] = importlib.util.module_from_spec(_spec)

from mixed import data, running, selections  # noqa: E402

SETTINGS = running.Settings(rows=100, folds=5, repeats=1, seed=0)


@pytest.fixture
def oj(tmp_path, monkeypatch):
    """A table in which the category `brand` determines the class."""
    random = np.random.default_rng(0)
    brand = random.choice(["a", "b", "c"], size=80)
    frame = pd.DataFrame(
        {
            "price": random.normal(size=80),
            "brand": brand,
            "card": random.choice(["yes", "no"], size=80),
            "note": [f"text {j}" for j in range(80)],
            "Purchase": np.where(brand == "c", "CH", "MM"),
        }
    )
    frame.loc[79, "Purchase"] = "CH" if brand[79] != "c" else "MM"  # no one-to-one function
    frame.loc[:9, "price"] = np.nan
    frame.loc[3, "card"] = None
    frame.to_csv(tmp_path / "oj.csv", index=False)
    monkeypatch.setenv("GRAPHSIEVE_DATA", str(tmp_path))
    data.problem.cache_clear()
    yield frame
    data.problem.cache_clear()


def test_gaps_are_filled_and_identifiers_left_out(oj):
    found = data.problem("oj", 100, 0)
    assert list(found.frame) == ["price", "brand", "card"]
    assert found.categories == ["brand", "card"]
    assert found.frame["price"][0] == pytest.approx(oj["price"].median())
    assert found.frame["card"][3] == oj["card"].mode()[0]
    columns, members = found.columns
    assert [len(some) for some in members] == [1, 3, 1]
    np.testing.assert_array_equal(columns[:, 2], oj["brand"] == "b")


@pytest.mark.slow
def test_the_error_is_relative_to_the_most_frequent_class(oj):
    records = running.run_table("oj", "all", ["blocks", "without_categories"], SETTINGS)
    for record in records:
        assert record["shape"] == [80, 3]
        assert all(len(errors) == len(running.SIZES) for errors in record["errors"].values())
    blocks, without = (np.mean(record["errors"]["trees"]) for record in records)
    assert blocks == without < 0.2  # All three features are used.
    judge = running.Judge(data.problem("oj", 100, 0), [(np.arange(40), np.arange(40, 80))])
    rows = judge.data.y[40:]
    assert judge.baseline() == np.mean(rows != np.bincount(judge.data.y[:40]).argmax())


@pytest.mark.slow
def test_selections_see_only_the_known_labels_of_the_training_rows(oj, monkeypatch):
    seen = []

    def spy(problem, seed):
        seen.append(problem)
        return problem.columns[1]

    monkeypatch.setitem(selections.SELECTIONS, "spy", spy)
    running.run_table("oj", "20", ["spy"], SETTINGS)
    assert [len(problem.frame) for problem in seen] == [64] * 5
    assert [int((problem.y >= 0).sum()) for problem in seen] == [20] * 5
    assert all(len(problem.columns[0]) == 64 for problem in seen)


@pytest.mark.parametrize("name", [name for name in selections.SELECTIONS if name != "random"])
def test_the_determining_category_is_selected_first(oj, name):
    found = data.problem("oj", 100, 0)
    order = selections.SELECTIONS[name](found, 0)
    first = order[0].tolist()
    assert first == {"without_categories": [0], "single_columns": [3]}.get(name, [1, 2, 3])

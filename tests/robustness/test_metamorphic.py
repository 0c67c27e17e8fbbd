"""Changes of the data that must not change the result, as listed in docs/reliability.md.

A table in that page says what each change does to each kind of result. The cases are generated
from it: every change occurs with every container, method, number of features and supervision.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import dask
import joblib
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from changes import CHANGES, NEEDS, ROUNDED, SUPERVISION, Data, data_sets
from covering import Row, covering_rows
from graphsieve import (
    GraphSieve,
    GraphSieveWarning,
    Supervision,
    evaluate,
    feature_p_values,
    stability,
    stored,
)
from graphsieve.assess.evaluation.folds import make_splits
from graphsieve.assess.significance.tested_methods import COVERED
from graphsieve.scores import METHODS
from graphsieve.search import SEARCHES
from graphsieve.search.relevant import relevant_columns
from graphsieve.select.sieves import SIEVES
from graphsieve.table.any_table import as_table
from storages import IN_DASK, IN_FILES, STORAGES

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
TOLERANCE = 1e-9
# The tail of the test for associations between features loses digits near its mean.
TOLERANCES = {"tested": 1e-6}
WORDS = {"bits", "same", "permuted", "untied", "labelled", "standard", "scores", "changes"}
UNITS = ("features × powers of 2", "features × other factors")

# The columns of the table that describe methods
SUMS = ("variance", "pearson", "fisher", "constraint", "weighted_laplacian")
GROUPS = {
    "auto": "default",
    **{
        name: "sums" if name in SUMS else "neighbours" if method.reads_neighbors else "other scores"
        for name, method in METHODS.items()
    },
    **{name: "searches" for name in SEARCHES if name != "diverse"},  # diverse is the default
}
VARIANTS = ("column order", "AnnData CSR", "AnnData CSC", "Dask of CSR")
CONTAINERS: dict[str, Callable[[np.ndarray, Path], Any]] = {
    **{name: stored_as for name, stored_as in STORAGES.items() if not name.endswith(VARIANTS)},
    "float32": lambda X, _: X.astype(np.float32),
}

pytestmark = pytest.mark.usefixtures("one_thread")


@cache
def claims() -> dict[str, dict[str, str]]:
    """Return the cells of each row of the table by column."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    begin = next(place for place, line in enumerate(lines) if line.startswith("| change |"))
    header, _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines[begin : lines.index("", begin)]
    )
    return {row[0]: dict(zip(header, row, strict=True)) for row in rows}


# ---- results


@dataclass(frozen=True)
class Result:
    """Numbers, and the ranks and the selection of the features of the original table."""

    numbers: dict[str, Any]
    ranks: Any = None
    selected: Any = None


def kind_of(row: Row) -> dict[str, str]:
    continuous = SUPERVISION[row["supervision"]] == "targets"
    return {"target_type": "continuous" if continuous else "auto"}


def sieve(row: Row, n_jobs: int | None = None) -> Any:
    name = row["method"]
    given = {"n_features_to_select": row["number"], "n_jobs": n_jobs}
    given |= {} if name == "hybrid" else kind_of(row)
    made = SIEVES[name](**given) if name in SEARCHES else GraphSieve(name, **given)
    reads_scale = GROUPS[name] in ("default", "neighbours") or name in ("iterative", "hybrid")
    return made.set_params(scale="standard") if row["standard"] and reads_scale else made


def fitted(X: Any, data: Data, row: Row) -> Result:
    found = sieve(row, data.n_jobs).fit(X, data.y, supervision=data.known)
    if row["method"] == "floating":
        numbers = {"criteria": list(found.criteria_.values())}
    else:
        unit = data.units**2 if row["method"] == "variance" else 1.0
        numbers = {"scores": found.scores_[data.columns] / unit}
    if row["method"] == "auto":
        numbers["relevance"] = found.relevance_[data.columns]
        numbers["skill"] = np.nan if found.skill_ is None else found.skill_
    if row["number"] == "auto":
        numbers["number"] = found.count_.n
    return Result(numbers, found.ranking_[data.columns], found.get_support()[data.columns])


def relevant(X: Any, data: Data, row: Row) -> Result:
    """Return the features that are relevant according to the tests for the automatic number."""
    known = data.known or Supervision.nothing(len(data.X))
    known = known if data.y is None else Supervision.from_y(data.y, **kind_of(row))
    found = relevant_columns(as_table(X), known)
    return Result({"tested": found.p_values[data.columns]}, selected=found.mask[data.columns])


def p_values(X: Any, data: Data, row: Row) -> Result:
    found = feature_p_values(
        X,
        data.y,
        supervision=data.known,
        method=row["method"],
        n_permutations=99,
        **kind_of(row),
    )
    return Result(
        {name: getattr(found, name)[data.columns] for name in ("scores", "p_values", "adjusted")}
    )


def stable(X: Any, data: Data, row: Row) -> Result:
    found = stability(
        sieve(row),
        X,
        data.y,
        supervision=data.known,
        n_resamples=2,
        n_jobs=data.n_jobs,
        **kind_of(row),
    )
    numbers = {name: getattr(found, name)[data.columns] for name in ("frequency", "rank_median")}
    return Result(numbers | {"index": found.index}, selected=found.selected[data.columns])


def evaluated(X: Any, data: Data, row: Row) -> Result:
    """Evaluate with the same folds, even if the rows are permuted."""
    folds: Any = 2
    if (np.diff(data.rows) != 1).any():
        values = Supervision.from_y(data.y[data.rows], **kind_of(row))
        splits = make_splits(
            2, values.codes if values.targets is None else values.targets, repeats=1, seed=0
        )
        folds = [(data.rows[split.train], data.rows[split.test]) for split in splits]
    found = evaluate(
        {"sieve": sieve(row)},
        X,
        data.y,
        sizes=[3],
        folds=folds,
        learners="linear" if row["supervision"].startswith("few") else "1nn",
        baselines=(),
        n_jobs=data.n_jobs,
        **kind_of(row),
    )
    values = {
        f"{one.learner}, fold {one.fold}": one.value
        for one in found.measurements
        if one.metric != "rmse"  # It has the unit of the target.
    }
    return Result(values)


RESULTS: dict[str, Callable[[Any, Data, Row], Result]] = {
    "selection": fitted,
    "relevant features": relevant,
    "p-values": p_values,
    "stability": stable,
    "evaluate": evaluated,
}


# ---- cases


def factors(result: str) -> dict[str, list[Any]]:
    every: dict[str, list[Any]] = {
        "change": list(CHANGES),
        "container": list(CONTAINERS),
        "method": list(GROUPS),
        "number": [3, "auto"],
        "supervision": list(SUPERVISION),
    }
    if result == "relevant features":
        return every | {"method": ["auto"], "number": [3]}
    if result == "p-values":
        return every | {"method": ["auto", *COVERED], "number": [3]}
    if result == "evaluate":
        return every | {"number": [3], "supervision": [*SUPERVISION][:4]}
    return every


def claimed(result: str, row: Row) -> set[str]:
    """Return the words of the table that apply to a case, with the exceptions below the table."""
    group = GROUPS[row["method"]]
    columns = [group if result == "selection" else result]
    if row["number"] == "auto":
        columns.append("automatic number")
    changes = (
        [row["change"]] if row["container"] == "dense" else [row["change"], "another container"]
    )
    words = {
        word for one in changes for column in columns for word in claims()[one][column].split(", ")
    }
    if "labelled" in words and SUPERVISION[row["supervision"]] not in ("labels", "targets"):
        words.add("changes")
    if row["change"] in UNITS and row["method"] == "variance":  # in the squared unit of its feature
        words.add("scores" if result == "selection" else "changes")
    if row["change"] in UNITS and row["number"] == "auto" and group in ("sums", "other scores"):
        words.add("changes")  # These methods have no scale.
    if (
        row["change"] == "features permuted"
        and row["method"] == "mutual_information"  # Many features tie at zero.
        and result in ("stability", "evaluate")
    ):
        words.add("changes")
    if (
        row["change"] == "target, increasing function"
        and row["method"] == "mutual_information"  # It replaces the target by its ranks.
        and row["number"] != "auto"
        and result in ("selection", "stability")
    ):
        words = {"same"}
    return words


def reads_whole_table(result: str, row: Row) -> bool:
    return result in ("p-values", "stability", "evaluate") or GROUPS[row["method"]] == "searches"


def is_applicable(change: str, kind: str | None) -> bool:
    needed = NEEDS.get(change.replace(",", "").split()[0])
    return needed is None or kind in needed


def is_allowed(result: str, row: Row) -> bool:
    kind = SUPERVISION[row["supervision"]]
    return (
        is_applicable(row["change"], kind)
        and "changes" not in claimed(result, row)
        and _is_usable(row["method"], kind)
        and not (row["number"] == "auto" and GROUPS[row["method"]] == "searches")
        and not (row["container"] in IN_DASK and reads_whole_table(result, row))
        and not (row["container"] == "float32" and row["change"] in ROUNDED)
    )


def _is_usable(method: str, kind: str | None) -> bool:
    if method == "auto":
        return True
    if method == "pearson":  # A correlation needs a target, or two classes.
        return kind == "targets"
    if method == "iterative":
        return kind in ("labels", "targets", None)
    uses = (METHODS.get(method) or SEARCHES[method]).uses
    return kind in uses if uses else kind is None


@cache
def cases(result: str) -> list[Row]:
    return covering_rows(factors(result), lambda row: is_allowed(result, row))


def run(result: str, data: Data, row: Row, container: str) -> Result:
    with (
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(),
        dask.config.set(scheduler="synchronous"),
        joblib.parallel_config("threading"),
    ):
        warnings.simplefilter("ignore", GraphSieveWarning)
        X = CONTAINERS[container](data.X, Path(folder))
        if container in IN_FILES and not reads_whole_table(result, row):
            X = stored(X, memory=5 * data.X.size)  # of 8 bytes per number, so it has pieces
        return RESULTS[result](X, data, row)


def numbers_of_ties(data: Data, changed: Data, wanted: Result, row: Row) -> np.ndarray:
    """Number the features. If a change rounds or permutes them, those that tie get the same number.

    Features tie if their scores are equal. For a search, they tie if they are copies of each other,
    possibly in other units.
    """
    same_columns = np.array_equal(changed.columns, data.columns)
    if wanted.ranks is None or (same_columns and np.array_equal(changed.X, data.X)):
        return data.columns
    if GROUPS[row["method"]] in ("default", "searches"):
        with np.errstate(invalid="ignore"):
            apart = 1 - np.abs(np.corrcoef(data.X.T))
    else:
        apart = np.abs(np.subtract.outer(*[wanted.numbers["scores"]] * 2))
    np.fill_diagonal(apart, 0.0)  # A constant feature has no score. It ties with itself only.
    return np.argmax(apart < TOLERANCE, axis=0)


def differences(found: Result, wanted: Result, words: set[str], ties: np.ndarray) -> list[str]:
    """Return the parts of two results that differ, although the words of the table allow none."""
    wrong = []
    for name, values in wanted.numbers.items():
        tolerance = 0.0 if words == {"bits"} else TOLERANCES.get(name, TOLERANCE)
        other = found.numbers[name]
        if not np.allclose(other, values, rtol=tolerance, atol=tolerance, equal_nan=True):
            wrong.append(f"{name}: {other} instead of {values}")
    if "scores" in words:
        return wrong
    if wanted.ranks is not None:
        one, other = (ties[np.argsort(result.ranks)] for result in (found, wanted))
        if (one != other).any():
            wrong.append(f"order: {one} instead of {other}")
    if wanted.selected is not None:
        one, other = (np.sort(ties[result.selected]) for result in (found, wanted))
        if not np.array_equal(one, other):
            wrong.append(f"selected: {one} instead of {other}")
    return wrong


# ---- tests


def check(result: str, row: Row, place: int, draw: Any) -> None:
    """Compare the result of changed data in a container with that of the dense array."""
    words = claimed(result, row)
    row = row | {"standard": "standard" in words}
    data, rng = draw(
        data_sets(
            row["supervision"],
            ties="untied" not in words,
            exact=row["container"] == "float32" or row["change"] == "constants added exactly",
            place=place,
        )
    )
    changed = CHANGES[row["change"]](data, rng)
    wanted = run(result, data, row, "dense")
    found = run(result, changed, row, row["container"])
    wrong = differences(found, wanted, words, numbers_of_ties(data, changed, wanted, row))
    assert not wrong, f"{row}: {'; '.join(wrong)}"


def check_cases(result: str, change: str, draw: Any) -> None:
    for place, row in enumerate(cases(result)):
        if row["change"] == change:
            check(result, row, place, draw)


EVERYTHING = pytest.mark.parametrize(
    ("result", "change"), [(result, change) for result in RESULTS for change in CHANGES]
)
# One example contains a separate data set for each case. They are not made smaller after a failure.
NOT_SMALLER = (Phase.generate,)


@EVERYTHING
@settings(max_examples=1, phases=NOT_SMALLER)
@given(data=st.data())
def test_the_result_is_as_the_table_says(result: str, change: str, data: Any) -> None:
    check_cases(result, change, data.draw)


@pytest.mark.slow
@EVERYTHING
@settings(max_examples=10, phases=NOT_SMALLER)
@given(data=st.data())
def test_the_table_holds_for_more_data_sets(result: str, change: str, data: Any) -> None:
    check_cases(result, change, data.draw)


def test_the_table_lists_every_change_and_every_method() -> None:
    assert list(claims()) == list(CHANGES)
    assert len(CONTAINERS) == 14 + 1
    assert set(GROUPS) == {"auto", *METHODS, *SEARCHES} - {"diverse"}
    described = {*GROUPS.values(), "automatic number", *RESULTS} - {"selection"}
    for row in claims().values():
        assert set(row) == {"change", *described}
        assert {word for column in described for word in row[column].split(", ")} <= WORDS


@pytest.mark.parametrize("change", CHANGES)
def test_the_change_occurs_with_every_container_method_and_option(change: str) -> None:
    rows = [row for result in RESULTS for row in cases(result) if row["change"] == change]
    found = {factor: {row[factor] for row in rows} for factor in factors("selection")}
    assert found["container"] == CONTAINERS.keys() - ({"float32"} if change in ROUNDED else set())
    cells = claims()[change]
    kinds = {kind for kind in SUPERVISION.values() if is_applicable(change, kind)}
    assert found["method"] >= {
        method
        for method, group in GROUPS.items()
        if "changes" not in cells[group] and any(_is_usable(method, kind) for kind in kinds)
    }
    if "changes" not in cells["automatic number"]:
        assert found["number"] == {3, "auto"}
    if "changes" not in cells["default"] and "labelled" not in cells["default"]:
        assert {SUPERVISION[supervision] for supervision in found["supervision"]} == kinds


def test_the_page_states_the_number_of_cases() -> None:
    counts = {result: len(cases(result)) for result in RESULTS}
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"{sum(counts.values()):,} cases" in page
    for result, number in counts.items():
        assert f"{number} for {result}" in page, (result, number)

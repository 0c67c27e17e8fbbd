"""The papers are reproduced as the documentation says: a quick run of all of them, and docs/reproduction.md."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from math import hypot
from pathlib import Path

import pytest

from conftest import SHARED_DATA
from graphsieve.experiments import EXPERIMENTS, SCHEMA, Verdict, from_facts
from graphsieve.report.reproduction import as_markdown

DOCS = Path(__file__).parents[1] / "docs"
DOCUMENTED = json.loads((DOCS / "reproduction.json").read_text(encoding="utf-8"))
KEYS = {
    "paper": str,
    "title": str,
    "reference": str,
    "depth": str,
    "seed": int,
    "settings": list,
    "tables": list,
    "figures": list,
    "claims": list,
    "seconds": float,
}
NUMBER = (int, float, type(None))


@pytest.fixture(scope="module")
def quick() -> dict:
    """What ``graphsieve reproduce all --quick --json`` prints; a minute or two."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the real data sets are not at hand")
    command = [
        sys.executable,
        "-m",
        "graphsieve",
        "reproduce",
        "all",
        "--quick",
        "--json",
        "--no-page",
        "--no-download",
        "--quiet",
    ]
    environment = {**os.environ, "GRAPHSIEVE_DATA": str(SHARED_DATA)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.parametrize("which", ["quick", "documented"])
def test_results_have_the_promised_form(which, request):
    results = DOCUMENTED if which == "documented" else request.getfixturevalue("quick")
    assert results["schema"] == SCHEMA
    assert [facts["paper"] for facts in results["papers"]] == list(EXPERIMENTS) == ["sls", "cls", "hybrid", "wls", "iterative"]
    for facts in results["papers"]:
        assert {name: type(value) for name, value in facts.items()} == KEYS
        assert from_facts(facts).facts() == facts
        for table in facts["tables"]:
            assert set(table) == {"label", "title", "unit", "cells", "note"}
            assert table["cells"]
            for cell in table["cells"]:
                assert isinstance(cell["paper"], NUMBER)
                assert isinstance(cell["ours"], NUMBER)
                assert cell["standard_error"] is None or cell["standard_error"] >= 0
        for figure in facts["figures"]:
            for series in figure["series"]:
                assert len(series["x"]) == len(series["y"]) == len(series["standard_error"] or series["x"])
        assert len({claim["key"] for claim in facts["claims"]}) == len(facts["claims"]) >= 3
        for claim in facts["claims"]:
            assert claim["verdict"] in set(Verdict)
            assert len(claim["why"]) > 40
            assert "nan" not in claim["why"].lower().split()


def test_the_page_is_what_the_results_say():
    """docs/reproduction.md is made of docs/reproduction.json, which holds a full run."""
    assert {facts["depth"] for facts in DOCUMENTED["papers"]} == {"full"}
    page = as_markdown(DOCUMENTED["papers"], command="graphsieve reproduce all --full")
    assert (DOCS / "reproduction.md").read_text(encoding="utf-8") == page


def cells(results: dict) -> Iterator[tuple[tuple[str, ...], dict]]:
    for facts in results["papers"]:
        for table in facts["tables"]:
            for cell in table["cells"]:
                yield (facts["paper"], table["label"], table["title"], cell["row"], cell["column"]), cell


def test_the_documented_claims_are_those_of_the_code():
    """Statements and the papers' numbers are the same: a change of either needs a new full run."""
    for facts in DOCUMENTED["papers"]:
        stated = [statement for part in EXPERIMENTS[facts["paper"]].parts for statement in part.statements]
        assert [(claim["key"], claim["where"], claim["text"]) for claim in facts["claims"]] == [
            (statement.key, statement.where, statement.text) for statement in stated
        ]


def test_the_documented_numbers_are_those_of_the_code(quick):
    """A quick run differs from the documented full one by chance alone; where nothing is random, not at all."""
    documented = dict(cells(DOCUMENTED))
    compared = 0
    for key, cell in cells(quick):
        if key not in documented:
            continue
        other = documented[key]
        assert cell["paper"] == other["paper"], key
        if cell["ours"] is None or other["ours"] is None:
            assert cell["ours"] == other["ours"], key
        elif cell["standard_error"] is not None and other["standard_error"] is not None:
            # Some errors are estimated from few repetitions and the cells are many, hence five of them.
            allowed = 5 * hypot(cell["standard_error"], other["standard_error"])
            assert cell["ours"] == pytest.approx(other["ours"], abs=max(allowed, 1e-4 * abs(other["ours"]))), key
        elif cell["standard_error"] is None and other["standard_error"] is None:
            assert cell["ours"] == pytest.approx(other["ours"], rel=1e-4), key
        else:
            continue
        compared += 1
    assert compared >= 150

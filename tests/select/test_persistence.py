"""The statements of docs/persistence.md and SECURITY.md on storing a fitted pipeline."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import graphsieve
from graphsieve import LabeledOnly
from graphsieve.select.sieves import SIEVES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "persistence.md").read_text(encoding="utf-8")
NAMES = {
    estimator: re.findall(r"`([\w.]+)`", names)
    for estimator, names in re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE, re.MULTILINE)
}
X = np.random.default_rng(0).normal(size=(60, 6))
Y = np.where(np.arange(60) % 4 == 3, -1, np.arange(60) % 2)


def test_all_estimators_are_listed_with_existing_types():
    assert NAMES.keys() == {sieve.__name__ for sieve in SIEVES.values()} | {"LabeledOnly"}
    for estimator, names in NAMES.items():
        module, _, name = names[0].rpartition(".")
        assert getattr(import_module(module), name) is getattr(graphsieve, estimator)
        for other in names[1:]:
            module, _, name = other.rpartition(".")
            assert isinstance(getattr(import_module(module), name), type)


@pytest.mark.parametrize("sieve", sorted({sieve.__name__ for sieve in SIEVES.values()}))
def test_a_pipeline_can_be_stored_with_skops_and_the_listed_types(sieve):
    skops = pytest.importorskip("skops.io")
    model = make_pipeline(getattr(graphsieve, sieve)(), LabeledOnly(LogisticRegression())).fit(X, Y)
    content = skops.dumps(model)
    trusted = sorted({*NAMES[sieve], *NAMES["LabeledOnly"]})
    assert sorted(skops.get_untrusted_types(data=content)) == trusted
    again = skops.loads(content, trusted=trusted)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again[0].ranking_, model[0].ranking_)
    np.testing.assert_array_equal(again[0].transform(X), model[0].transform(X))


@pytest.mark.slow
def test_the_example_prints_the_output_shown():
    pytest.importorskip("skops.io")
    ((code, output),) = re.findall(
        r"```python\n(.*?)```\n+```text\n(.*?)```", PAGE, flags=re.DOTALL
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == output


def test_links_of_these_pages_exist():
    for page in (
        ROOT / "SECURITY.md",
        ROOT / "docs" / "persistence.md",
        ROOT / "docs" / "reliability.md",
        ROOT / "docs" / "reliability-cases.md",
    ):
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"

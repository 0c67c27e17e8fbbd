"""The public API is documented, importable and typed."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import graphsieve
from graphsieve import assess, datasets, papers, scores, search
from graphsieve.graphs.graph import FactorGraph, LiftedGraph, SparseGraph
from graphsieve.scores import METHODS
from graphsieve.search import SEARCHES
from graphsieve.select.sieve import Sieve
from graphsieve.select.sieves import SIEVES

ROOT = Path(__file__).parents[1]
METHODS_PAGE = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")

CONTRACT = {
    "laplacian_score": "(X, *, n_neighbors=5, bandwidth=1.0, neighbors='auto')",
    "supervised_laplacian_score": "(X, y, *, n_neighbors=5, bandwidth=1.0)",
    "semi_supervised_laplacian_score": "(X, y, *, n_neighbors=30, n_neighbors_supervised=5, "
    "bandwidth=1.0, label_weight=5.0, "
    "neighbors='auto')",
    "constraint_score": "(X, must_link, cannot_link, *, form='ratio', weight=0.1)",
    "constrained_laplacian_score": "(X, must_link, cannot_link, *, n_neighbors=10, bandwidth=0.1, "
    "cut_cannot_link=False, "
    "neighbors='auto')",
    "c4_score": "(X, must_link, cannot_link, *, n_neighbors=10, bandwidth=1.0, neighbors='auto')",
    "weighted_laplacian_score": "(X, label_proba, *, class_weight=None)",
    "variance_score": "(X)",
    "fisher_score": "(X, y)",
    "pearson_score": "(X, y)",
    "mutual_information_score": "(X, y, *, n_neighbors=3)",
    "relieff_score": "(X, y, *, n_neighbors=10)",
    "spec_score": "(X, *, form='phi2', n_neighbors=5, bandwidth=1.0, power=1, n_components=None, "
    "neighbors='auto')",
    "sselect_score": "(X, y, *, n_neighbors=10, bandwidth=1.0, trade_off=0.1, neighbors='auto')",
    "lsdf_score": "(X, y, *, n_neighbors=5, same_class_weight=100.0, neighbors='auto')",
}


SEARCH_CONTRACT = {
    "iterative_ranking": "(X, *, n_features_to_select=1, step=1, variant=1, n_neighbors=5, "
    "bandwidth=1.0, categorical='auto', feature_groups=None)",
    "hybrid_selection": "(X, y, *, n_features_to_select, base='fisher', n_iterations=10, "
    "confident_fraction=0.9, ",
    "floating_selection": "(X, y, *, n_features_to_select, ",
    "diverse_selection": "(scores, X, *, n_features_to_select, form='explain', targets=None, "
    "target_share=0.5, progress=None)",
    "harmonic_labels": "(X, y, *, n_neighbors=None, bandwidth='auto')",
}
NAMES = [
    *sorted(CONTRACT),
    *sorted(SEARCH_CONTRACT),
    "FloatingSieve",
    "GraphSieve",
    "HybridSieve",
    "IterativeSieve",
    "LabeledOnly",
    "labeled_scorer",
    "feature_p_values",
    "rank",
    "stability",
    "Supervision",
    "graphs",
]


def public(name):
    places = (scores, search, graphsieve)
    return next(getattr(place, name) for place in places if hasattr(place, name))


@pytest.mark.parametrize(("name", "signature"), [*CONTRACT.items(), *SEARCH_CONTRACT.items()])
def test_signatures_are_those_of_the_contract(name, signature):
    found = inspect.signature(public(name))
    bare = found.replace(
        parameters=[
            p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values()
        ],
        return_annotation=inspect.Signature.empty,
    )
    assert str(bare) == signature or (signature.endswith(", ") and str(bare).startswith(signature))


def test_all_names_exist_and_nothing_is_missing():
    for module in (graphsieve, assess, datasets, papers, scores, search):
        assert len(set(module.__all__)) == len(module.__all__)
        for name in module.__all__:
            assert hasattr(module, name)
    assert {m.function for m in METHODS.values()} == {getattr(scores, name) for name in CONTRACT}


@pytest.mark.parametrize("name", NAMES)
def test_public_names_have_a_summary_parameters_and_an_example(name):
    if name == "graphs":
        documented = [SparseGraph, FactorGraph, LiftedGraph]
    else:
        documented = [public(name)]
    for thing in documented:
        text = inspect.getdoc(thing) or ""
        assert text.splitlines()[0].strip()
        assert ">>>" in text, f"{thing.__name__} has no example"
        assert "Parameters" in text or "Attributes" in text
        if name in SEARCH_CONTRACT:
            for parameter in inspect.signature(thing).parameters:
                assert parameter in text
        if name in CONTRACT:
            assert re.search(r"(Small|Large|small|large)\s+is\s+good", text), (
                "the direction is not documented"
            )
            assert "NaN" in text, "the degenerate case is not documented"
            for parameter in inspect.signature(thing).parameters:
                assert parameter in text


@pytest.mark.parametrize("module", [assess, datasets, papers])
def test_public_names_beside_the_selectors_are_documented(module):
    for name in module.__all__:
        thing = getattr(module, name)
        if not inspect.isroutine(thing) and not inspect.isclass(thing):
            continue
        text = inspect.getdoc(thing) or ""
        assert text.splitlines()[0].strip(), name
        if inspect.isroutine(thing) and module is not papers:
            assert ">>>" in text, f"{name} has no example"
            for parameter in inspect.signature(thing).parameters:
                assert re.search(rf"\b{parameter}\b", text), f"{name} does not document {parameter}"


@pytest.mark.slow
def test_modules_are_imported_on_demand():
    code = (
        "import sys, graphsieve; print('graphsieve.papers' in sys.modules, 'graphsieve.assess' in "
        "sys.modules,"
        "graphsieve.papers.__name__, graphsieve.datasets.__name__, graphsieve.assess.__name__,"
        "graphsieve.stability.__module__, hasattr(graphsieve, 'nothing'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    parts = ["graphsieve.papers", "graphsieve.datasets", "graphsieve.assess"]
    assert done.stdout.split() == [
        "False",
        "False",
        *parts,
        graphsieve.stability.__module__,
        "False",
    ]


def test_the_registry_is_complete():
    for name, method in METHODS.items():
        assert method.name == name
        assert re.search(r"(18|19|20)\d\d", method.reference)
        assert method.summary
        assert method.function.__name__ == f"{name}_score"


def test_the_searches_and_their_sieves_are_registered():
    assert set(SEARCHES) | {"score"} == set(SIEVES)
    for name, found in SEARCHES.items():
        assert found.name == name
        assert found.function is getattr(search, found.function.__name__)
        assert issubclass(SIEVES[name], Sieve)
        row = next(line for line in METHODS_PAGE.splitlines() if line.startswith(f"| `{name}`"))
        for shown in (
            found.summary,
            found.reference,
            f"`search.{found.function.__name__}`",
            f"`{SIEVES[name].__name__}`",
        ):
            assert shown in row
        assert f"| {' or '.join(found.uses) or 'nothing'} |" in row


def test_the_page_of_methods_shows_every_method_and_the_table_of_choices():
    for name, method in METHODS.items():
        row = next(line for line in METHODS_PAGE.splitlines() if line.startswith(f"| `{name}`"))
        assert method.summary in row
        assert method.reference in row
        assert f"| {method.direction} |" in row
    from graphsieve.scores import choosing

    for chosen in re.findall(r"  ([a-z_]+)$", choosing.__doc__ or "", flags=re.MULTILINE):
        if chosen != "method":
            assert f"`{chosen}`" in METHODS_PAGE


def test_importing_needs_no_optional_library_and_starts_nothing():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['pandas', 'polars', 'matplotlib']));"
        "import graphsieve; print(graphsieve.__version__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == graphsieve.__version__, done.stderr
    assert (Path(graphsieve.__file__).parent / "py.typed").exists()


def test_the_version_is_the_same_everywhere():
    assert f"version: {graphsieve.__version__}" in (ROOT / "CITATION.cff").read_text(
        encoding="utf-8"
    )
    assert f"## [{graphsieve.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

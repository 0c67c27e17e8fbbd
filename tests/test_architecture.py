"""The walk of the data has one direction: a file imports only what stands before it here."""

from __future__ import annotations

import ast
from pathlib import Path

import graphsieve

ROOT = Path(graphsieve.__file__).parent
ORDER = [
    "",  # the package itself, which loads what is asked for and nothing before
    "_base",
    "_base.errors",
    "_base.streams",
    "_base.locks",
    "_base.warning_filters",
    "table",
    "table.sparse_checks",
    "_base.compatibility",
    "_base.underflow",
    "_base.optional",
    "table.arrow_columns",
    "_kernels",
    "_base.atomic_files",
    "_base.parameters",
    "_base.randomness",
    "_base.progress",
    "_base.parallel",
    "datasets.dataset",
    "datasets.artificial",
    "datasets.rdata",
    "datasets.formats",
    "datasets.recipes",
    "datasets.catalog",
    "datasets.ready",
    "datasets.fetching",
    "datasets.loading",
    "datasets",
    "_base.threads",
    "table.containers",
    "table.stored.pieces",
    "table.stored.array_files",
    "table.stored.tasks",
    "table.stored.engines",
    "table.stored.dask_arrays",
    "table.stored.parquet",
    "table.stored.backed_anndata",
    "table.stored.stored_files",
    "table.stored",
    "table.files.opening",
    "table.files.table_file",
    "table.files.cells",
    "table.files.text",
    "table.files.npz",
    "table.files.arrow",
    "table.files.matrix_market",
    "table.files.h5ad",
    "table.files.reading",
    "table.files.knowledge",
    "table.files.writing",
    "table.files",
    "_kernels.rows",
    "_kernels.edges",
    "_kernels.samples",
    "_kernels.band",
    "table.columns",
    "table.sums",
    "_kernels.tiles",
    "_kernels.pair_distances",
    "_kernels.line",
    "_kernels.rounds",
    "graphs",
    "graphs.neighbors",
    "graphs.neighbors.proposals",
    "graphs.neighbors.exact",
    "graphs.neighbors.approximate",
    "graphs.neighbors.out_of_core",
    "graphs.neighbors.strategy",
    "graphs.neighbors.manhattan",
    "graphs.neighbors.tracking",
    "graphs.graph",
    "supervision",
    "supervision.parsing",
    "supervision.consistency",
    "supervision.value",
    "scores.choosing",
    "graphs.builders",
    "graphs.ratio",
    "table.scaling",
    "graphs.neighbors.metrics",
    "table.centered",
    "graphs.prototypes",
    "scores.information",
    "scores.method",
    "search.propagation",
    "scores.geometry",
    "scores.targets",
    "scores.labels",
    "scores.pairs",
    "scores.probabilities",
    "scores.together",
    "scores",
    "search.relevance",
    "search.prediction",
    "search.diverse",
    "search.default",
    "search.estimates",
    "search.iterative",
    "search.criteria",
    "search.floating",
    "search.hybrid",
    "search",
    "search.counting",
    "assess",
    "assess.significance.moments",
    "assess.significance.forms",
    "assess.significance.shares",
    "assess.significance.chances",
    "assess.significance.tested_methods",
    "assess.significance.results",
    "assess.significance.testing",
    "assess.significance",
    "select.preparation",
    "select.sieve",
    "select.graph_sieve",
    "select.iterative_sieve",
    "select.hybrid_sieve",
    "select.floating_sieve",
    "select",
    "select.labeled",
    "report.frame",
    "report.plot",
    "report.wording",
    "report.chart",
    "report.cut",
    "report.matrix",
    "report.pictures",
    "report.ranking_table",
    "report.page",
    "report.notebook",
    "report",
    "report.terminal",
    "report.figures",
    "report.portraits",
    "select.ranking",
    "assess.evaluation.gathering",
    "assess.evaluation.learners",
    "assess.evaluation.plotting",
    "assess.evaluation.sequential",
    "assess.evaluation.hiding",
    "assess.evaluation.prefixes",
    "assess.evaluation.clustering",
    "assess.evaluation.folds",
    "assess.evaluation.selection",
    "assess.evaluation.results",
    "assess.evaluation.evaluating",
    "assess.evaluation.evaluating_clusters",
    "assess.evaluation",
    "assess.comparison.candidates",
    "assess.comparison.findings",
    "assess.comparison.results",
    "assess.comparison.comparing",
    "assess.comparison",
    "assess.stability.measures",
    "assess.stability.duplicates",
    "assess.stability.picture",
    "assess.stability.results",
    "assess.stability.drawing",
    "assess.stability.resampling",
    "assess.stability",
    "papers.results",
    "papers.experiment",
    "papers.estimate",
    "papers.halves",
    "papers.sls",
    "papers.cls",
    "papers.iteragraph",
    "papers.wls",
    "papers.iterative_ls",
    "papers",
    "papers.output.grid",
    "papers.output.plain_text",
    "papers.output.markdown",
    "papers.output.html_page",
    "papers.output",
    "cli.option_names",
    "cli.arguments",
    "cli.outputs",
    "cli.saying",
    "cli.case",
    "cli.repeating",
    "cli.rank",
    "cli.compare",
    "cli.select",
    "cli.methods",
    "cli.explain",
    "cli.demo",
    "cli.reproduce",
    "cli",
    "__main__",
]
OPTIONAL = {"pandas", "polars", "matplotlib", "pyarrow", "anndata", "h5py", "zstandard", "dask", "distributed"}
FORBIDDEN_NAMES = {"utils", "util", "helpers", "misc", "common", "tools"}


def modules() -> dict[str, Path]:
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = list(path.relative_to(ROOT).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path: Path, known: set[str]) -> set[str]:
    names = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    # What only type checkers read is not loaded.
    tree.body = [node for node in tree.body if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "graphsieve":
            base = (node.module or "").removeprefix("graphsieve").lstrip(".")
            inner = {f"{base}.{alias.name}".lstrip(".") for alias in node.names} & known
            names |= inner or {base}
    return names


def test_every_module_has_its_place():
    assert set(modules()) == set(ORDER)


def test_no_module_imports_upwards():
    found = modules()
    for position, name in enumerate(ORDER):
        allowed = set(ORDER[:position])
        # A method's package is imported through its last file, the registry.
        upward = imported(found[name], set(found)) - allowed
        assert not upward, f"{name or 'graphsieve'} imports {sorted(upward)}, which comes later"


def test_no_drawer_for_odds_and_ends():
    for name in modules():
        assert not set(name.split(".")) & FORBIDDEN_NAMES


def test_containers_are_known_in_one_file_only():
    """Only `containers` may ask what kind of frame something is; optional libraries are imported nowhere at the top."""
    for name, path in modules().items():
        top_level = [
            node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        for node in top_level:
            named = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            assert not {part.split(".")[0] for part in named} & OPTIONAL, name


def test_estimators_hold_no_arithmetic():
    """Selectors count, choose and store; sums and products of data are elsewhere."""
    files = sorted((ROOT / "select").glob("*.py"))
    assert len(files) >= 6
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not isinstance(node, ast.MatMult), f"a matrix product in {path.name}"

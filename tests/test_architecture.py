"""The packages, their allowed imports, and the locations of modules."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import graphsieve

ROOT = Path(graphsieve.__file__).parent
PACKAGES = [  # Each package imports only packages above it.
    "_base",
    "_kernels",
    "table",
    "supervision",
    "graphs",
    "scores",
    "search",
    "report",
    "select",
    "assess",
    "datasets",
    "papers",
    "cli",
]
LOOSE = {"__init__.py", "__main__.py", "py.typed"}
OPTIONAL = {
    "pandas",
    "polars",
    "matplotlib",
    "pyarrow",
    "anndata",
    "h5py",
    "zarr",
    "zstandard",
    "dask",
    "distributed",
}
FORBIDDEN_NAMES = {"utils", "util", "helpers", "misc", "common", "tools"}


def modules() -> dict[str, Path]:
    """Return every module by its dotted name below graphsieve."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path) -> set[str]:
    """Return the modules of graphsieve that a file imports anywhere, except for type checkers
    only.
    """
    tree, names = parsed(path), set()
    tree.body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} has a relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {
        name.removeprefix("graphsieve.") for name in names if name.split(".")[0] == "graphsieve"
    } - {"__version__"}


def test_the_packages_are_those_listed_and_there_are_no_other_files():
    found = {path.name for path in ROOT.iterdir() if path.name != "__pycache__"}
    assert found == {*PACKAGES, *LOOSE}


def test_the_architecture_page_shows_the_packages_and_names_modules_that_exist():
    page = (Path(__file__).parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert re.findall(r"^      (\w+)/ ", page, flags=re.MULTILINE) == PACKAGES
    files = re.findall(r"`((?:src|tests|docs|benchmarks|examples)/[\w./]+)`", page)
    assert files
    assert all((Path(__file__).parents[1] / name).exists() for name in files)
    named = re.findall(rf"`((?:{'|'.join(PACKAGES)})/\w+)", page)
    assert named
    assert {name.replace("/", ".") for name in named} <= set(modules())


def test_no_package_imports_one_below_it():
    checked = 0
    for name, path in modules().items():
        package = name.split(".")[0]
        if package not in PACKAGES:
            continue
        allowed = PACKAGES[: PACKAGES.index(package) + 1]
        for other in imported(path):
            assert other.split(".")[0] in allowed, f"{name} imports {other}, which is further down"
            checked += 1
    assert checked > 500


def test_no_cycles_within_a_package():
    """In a cycle of imports, a module is used before all of its names are defined."""
    found = modules()
    graph = {
        name: {other if other in found else other.rpartition(".")[0] for other in imported(path)}
        & set(found) - {name}
        for name, path in found.items()
    }
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, f"a cycle of imports: {' → '.join((*way[way.index(name) :], name))}"
        if name not in done:
            for other in graph[name]:
                visit(other, (*way, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_the_docstring_of_every_package_states_its_purpose():
    for name, path in modules().items():
        if path.name == "__init__.py" and name:
            first = (ast.get_docstring(parsed(path)) or "").split("\n\n")[0]
            assert first.endswith("."), f"{name} does not state its purpose in one sentence"


def test_no_module_name_is_used_in_two_packages():
    homes = defaultdict(set)
    for name in modules():
        homes[name.rpartition(".")[2]].add(name.split(".")[0])
    assert {name for name, packages in homes.items() if len(packages) > 1} <= {"results", *PACKAGES}


def test_no_module_for_miscellaneous_code():
    for name in modules():
        assert not set(name.split(".")) & FORBIDDEN_NAMES


def test_optional_libraries_are_loaded_only_where_they_are_used():
    for name, path in modules().items():
        for node in parsed(path).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                named = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
                assert not {part.split(".")[0] for part in named} & OPTIONAL, name


def test_estimators_hold_no_arithmetic():
    """Estimators select and store features. Other modules compute sums and products of data."""
    files = sorted((ROOT / "select").glob("*_sieve.py"))
    assert len(files) == 4
    for path in files:
        for node in ast.walk(parsed(path)):
            assert not isinstance(node, ast.MatMult), f"a matrix product in {path.name}"

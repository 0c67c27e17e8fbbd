"""Rules for the prose of the repository: words, lengths, line width."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")]
)
SOURCES = sorted(
    path
    for ending in ("py", "c", "h", "js", "css")
    for path in (ROOT / "src" / "graphsieve").rglob(f"*.{ending}")
)
# Reference pages list facts and are not read from beginning to end.
REFERENCE = {
    "benchmarks/README.md",
    "docs/bad-input.md",
    "docs/command-line.md",
    "docs/quality-tables.md",
    "docs/reliability-cases.md",
    *(f"docs/papers/{paper}.md" for paper in ("sls", "cls", "wls", "iterative", "hybrid")),
}
MOST_WORDS = 1_500
MOST_LINES = {"README.md": 120, "ARCHITECTURE.md": 80}
WIDTH = 100

PERSON = r"who|whom|whose|whoever|nobody|somebody|anybody|everybody|everyone|anyone|someone"
PEOPLE = r"users?|people|readers?|reviewers?|maintainers?|contributors?|authors?|analysts?|experts?"
OLD_TERMS = (
    "already said",
    "most like",
    "order of choice",
    "what is known of",
    "repeats whom",
    "told apart",
    "as asked",
)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_there_are_pages_and_sources_to_check():
    assert len(PAGES) > 50
    assert len(SOURCES) > 150
    assert {name_of(path) for path in PAGES} >= REFERENCE


@pytest.mark.parametrize("path", [*SOURCES, *PAGES], ids=name_of)
def test_things_are_not_people(path):
    text = path.read_text(encoding="utf-8")
    text = re.sub(rf"\b(?:{PEOPLE})\s+(?:who|whose)\b", "", text, flags=re.IGNORECASE)
    found = re.findall(rf"\b(?:{PERSON})\b", text, flags=re.IGNORECASE)
    assert not found


@pytest.mark.parametrize("path", [*SOURCES, *PAGES], ids=name_of)
def test_terms_are_those_of_the_glossary(path):
    text = " ".join(path.read_text(encoding="utf-8").lower().split())
    assert [term for term in OLD_TERMS if re.search(rf"\b{term}\b", text)] == []


@pytest.mark.parametrize(("name", "most"), MOST_LINES.items())
def test_the_first_pages_are_short(name, most):
    assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) <= most


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_pages_are_short(path):
    if name_of(path) not in REFERENCE:
        assert len(path.read_text(encoding="utf-8").split()) <= MOST_WORDS


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_prose_wraps(path):
    """Tables, code and single long words such as links may be wider."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
    wide = [
        line
        for line in text.splitlines()
        if len(line) > WIDTH
        and not line.lstrip().startswith("|")
        and not line.startswith("    ")
        and len(line.split(" ", 1)[0]) <= WIDTH
    ]
    assert not wide


def test_the_glossary_defines_the_terms_of_the_output():
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    for term in (
        "feature",
        "sample",
        "relevance",
        "redundancy",
        "closest",
        "gain",
        "selection order",
        "skill",
        "supervision",
        "unlabelled",
        "missing",
        "recall",
        "false discovery rate",
        "stability",
    ):
        assert f"\n| {term} |" in glossary

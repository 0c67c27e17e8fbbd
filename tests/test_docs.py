"""The examples, commands, links and files of the pages are real."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from graphsieve.cli import main
from graphsieve.cli.arguments import parser

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"```python\n(.*?)```(?:\n+```text\n(.*?)```)?", flags=re.DOTALL)
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
EXAMPLES = [
    pytest.param(code, output, id=f"{page.relative_to(ROOT).as_posix()}-{number}")
    for page in PAGES
    for number, (code, output) in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")))
]
# Pages with examples: the number of examples, and of those that show their output
SHOWN = {
    "README.md": (1, 1),
    "docs/default.md": (2, 2),
    "docs/evaluation.md": (4, 4),
    "docs/how-many.md": (1, 1),
    "docs/how-sure.md": (2, 2),
    "docs/large-tables.md": (2, 2),
    "docs/methods.md": (1, 0),
    "docs/missing-values.md": (1, 1),
    "docs/mixed-tables.md": (1, 1),
    "docs/persistence.md": (1, 1),
    "docs/prototypes.md": (1, 0),
    "docs/scaling.md": (1, 1),
    "docs/searches.md": (3, 0),
    "docs/supervision.md": (6, 0),
}


def test_the_pages_have_their_examples():
    found: dict[str, tuple[int, int]] = {}
    for page in PAGES:
        blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
        if blocks:
            shown = sum(bool(output) for _, output in blocks)
            found[page.relative_to(ROOT).as_posix()] = len(blocks), shown
    assert found == SHOWN


@pytest.mark.slow
@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_examples_run_and_print_what_is_shown(code, output):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    if output:
        assert done.stdout.strip() == output.strip()


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_shown_make_targets_exist(name):
    shown = set(
        re.findall(
            r"^    make ?([a-z-]*)", (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE
        )
    )
    expected = {"README.md": {"demo", "test"}, "CONTRIBUTING.md": {"", "check", "test", "test-all"}}
    assert expected[name] == shown
    listed = subprocess.run(
        ["make", "-C", str(ROOT)], capture_output=True, text=True, check=True
    ).stdout
    for target in shown - {""}:
        assert f"make {target} " in listed


def test_shown_files_exist():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for link in re.findall(r"\]\(([\w/.-]+\.(?:md|png))\)", text):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"
        for path in re.findall(r"`((?:tests|examples|benchmarks|docs)/[\w/.-]*)`", text):
            assert (ROOT / path).exists(), f"{page.name} names {path}"
        for module in re.findall(r"`(\w+\.py)`", text):
            assert list((ROOT / "src").rglob(module)), f"{page.name} names {module}"


def test_the_index_of_decisions_is_complete():
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"\]\((\d{3}-[\w-]+\.md)\)", index)
    assert listed == sorted(path.name for path in folder.glob("[0-9]*.md"))


def test_the_page_of_the_command_line_names_every_option():
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    commands = next(
        action.choices for action in parser()._actions if isinstance(action.choices, dict)
    )
    options = {
        name
        for command in commands.values()
        for action in command._actions
        for name in action.option_strings
        if name.startswith("--")
    }
    assert options == set(re.findall(r"`(?:graphsieve \w+ )?(--[a-z-]+)", page)) | {"--help"}


def test_ci_runs_what_the_readme_says_in_a_clean_environment():
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert 'env -i "${kept[@]}" make demo test check' in lines
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^check: lint types test test-all ", makefile, flags=re.MULTILINE)


@pytest.mark.slow
def test_the_demo_runs_and_writes_its_report(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    printed = capsys.readouterr().out
    for word in ("mean concave points", "random columns", "all columns", "██"):
        assert word in printed
    assert printed.rstrip().endswith("graphsieve-demo.html")
    page = (tmp_path / "graphsieve-demo.html").read_text(encoding="utf-8")
    assert "random columns" in page
    assert main(["demo"]) == 4  # what is there is not overwritten

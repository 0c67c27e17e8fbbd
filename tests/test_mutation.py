"""The explanations of mutants refer to lines that exist."""

from __future__ import annotations

from pathlib import Path

from mutants_explained import EXPLAINED

SOURCE = Path(__file__).parents[1] / "src" / "graphsieve"


def test_every_explained_line_exists():
    texts = {
        path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8")
        for path in SOURCE.rglob("*.py")
    }
    assert len(EXPLAINED) > 50
    for ending, line, _, _ in EXPLAINED:
        assert any(name.endswith(ending) and line in text for name, text in texts.items()), (
            f"{ending} has no line with {line!r}"
        )

"""Mutants that no test can notice, and why: by the text of their line, so that a reason stays with the line it is about."""

from __future__ import annotations

# End of the file's path, part of the line, part of the change or of what the statement becomes, and why nothing is different.
EXPLAINED: list[tuple[str, str, str, str]] = []


def explanation(file: str, line: str, change: str, result: str) -> str | None:
    """Why nothing notices this mutant, if that is known."""
    for where, text, what, why in EXPLAINED:
        if file.endswith(where) and text in line and (what in change or what in result):
            return why
    return None

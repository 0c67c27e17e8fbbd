"""Kinds of cells: which columns with text are numbers, categories or neither."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from graphsieve._base.errors import InputError
from graphsieve._base.messages import Message, parameter
from graphsieve._base.parameters import quoted, remedy
from graphsieve.table.files.notation import THOUSANDS, TYPED, Notation, truth
from graphsieve.table.files.table_file import listed

_AMOUNT = r"[+-]?\d[\d.,']*"
_BLANKS = THOUSANDS["'"] + THOUSANDS[" "]
_CURRENCY = "[$¢£¤¥₠-⃀]"
# Text that looks like a number, with a decimal point in place of the decimal sign of the notation.
# The first form that a text has is its kind. The last kind of a column is its problem.
_NUMBER_LIKE = {
    "percent": re.compile(rf"{_AMOUNT}\s*%|%\s*{_AMOUNT}"),
    "currency": re.compile(rf"[+-]?{_CURRENCY}\s*{_AMOUNT}|{_AMOUNT}\s*{_CURRENCY}"),
    "either": re.compile(r"[+-]?[1-9]\d{0,2},\d{3}"),
    "thousands": re.compile(
        rf"[+-]?\d{{1,3}}((,\d{{3}}){{2,}}(\.\d*)?|,\d{{3}}\.\d*|([{_BLANKS}]\d{{3}})+(\.\d*)?)"
    ),
    "decimal": re.compile(rf"[+-]?(\d*|\d{{1,3}}([.{_BLANKS}]\d{{3}})+),\d+([eE][+-]?\d+)?"),
}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?")
_BOUND = re.compile(r"[<>≤≥]=?\s*[+-]?\d[\d.,]*|\d[\d.,]*\s*\+")  # such as >3, <= 5 or 10+
_TEXT = ("word", "bound", "date", *_NUMBER_LIKE)
_SPELLED_NUMBERS = ("inf", "infinity", "nan")


def kind_of(text: str, notation: Notation) -> str:
    """Return the kind of a text that is not missing.

    It is "number", "truth" (true or false), "mark" (of a missing value), "date", "bound" (such as >3),
    "word", or what a text that looks like a number has besides digits.
    """
    if text[:1].isalpha() and truth(text) is None and text.lower() not in _SPELLED_NUMBERS:
        return "word"  # This shortcut saves most of the time for names.
    if notation.number(text) is not None:
        return "number"
    if truth(text) is not None:
        return "truth"
    if text in notation.marks:
        return "mark"
    for kind, form in (("date", _DATE), ("bound", _BOUND)):
        if form.fullmatch(text):
            return kind
    plain = notation.swapped(text)
    return next((kind for kind, like in _NUMBER_LIKE.items() if like.fullmatch(plain)), "word")


@dataclass(frozen=True)
class Problem:
    """A cell because of which a column is neither numbers nor a category."""

    kind: str  # "mixed", or what a text that looks like a number has besides digits
    cell: str
    row: int


@dataclass(frozen=True)
class Found:
    """The cells of a column: their number by kind, and the first of each kind with its row."""

    counts: Counter[str]
    first: dict[str, tuple[str, int]]

    def joined(self, later: Found) -> Found:
        """Return what these rows and later rows hold."""
        return Found(self.counts + later.counts, later.first | self.first)

    @property
    def is_truth(self) -> bool:
        """Whether the cells hold only true and false, and marks of missing values."""
        return bool(self.counts["truth"]) and not self.counts.keys() - {"truth", "mark"}

    @property
    def first_text(self) -> tuple[str, int] | None:
        """The first cell that is no number, and its row."""
        return self._first(*_TEXT, "truth")

    @property
    def problem(self) -> Problem | None:
        """Why the column cannot be used, or None.

        Texts that look like numbers are a problem unless there are more words than numbers and such
        texts. Other text is a problem if there are numbers, and at least as many as words.
        """
        numbers = self.counts["number"]
        n_like = sum(self.counts[kind] for kind in _NUMBER_LIKE)
        words = self.counts["word"] + self.counts["bound"] + self.counts["date"]
        words += self.counts["mark"] if words else 0
        if n_like and words <= numbers + n_like:
            # 1,500 has a decimal comma or a thousands separator if another text surely has one.
            kind = next(kind for kind in reversed(_NUMBER_LIKE) if self.counts[kind])
            return Problem(kind, *self.first[kind])
        first = self._first("word", "bound", "date", "truth")
        return Problem("mixed", *first) if numbers and first and words <= numbers else None

    @property
    def has_only_bounds(self) -> bool:
        """Whether all texts are bounds, such as >3 among the numbers 1, 2 and 3."""
        return bool(self.counts["bound"]) and not self.counts.keys() - {"number", "bound", "mark"}

    def why_no_category(self, row_label: Callable[[int], str]) -> str | None:
        """Return why a column of text in a typed file is left out, or None for a category."""
        if self.first_text is None:
            return "numbers as text" if self.counts["number"] else "empty"
        if self.problem is not None:
            return f"text ({quoted(self.problem.cell)} in {row_label(self.problem.row)})"
        return "dates" if self.holds_dates else None

    @property
    def holds_dates(self) -> bool:
        """Whether all texts are dates."""
        others = self.counts.keys() - {"date", "number", "truth", "mark"}
        return bool(self.counts["date"]) and not others

    def _first(self, *kinds: str) -> tuple[str, int] | None:
        cells = [self.first[kind] for kind in kinds if kind in self.first]
        return min(cells, key=lambda cell: cell[1], default=None)


def problem_message(
    subject: str,
    problem: Problem,
    where: str,
    notation: Notation,
    *,
    otherwise: Sequence[str],
    also: Sequence[str] = (),
) -> Message:
    """Return the message for a column that is neither numbers nor a category.

    Parameters
    ----------
    subject : str
        The column, as the beginning of a sentence.
    problem : Problem
        The cell.
    where : str
        Its place in the file.
    notation : Notation
        How the cells are written.
    otherwise : sequence of str
        The end of the sentence: what to do if the column is not meant to be numbers.
    also : sequence of str
        Further columns with the same problem.
    """
    also_in = f" (also {listed(also)})" if also else ""
    place = f"{quoted(problem.cell)} in {where}{also_in}"
    if problem.kind == "mixed":
        opening = f"{subject} has numbers, but {place}; correct this cell,"
        if notation == TYPED:
            return Message(opening, *otherwise)
        named = " name it in ", parameter("na_values"), " if it means missing,"
        return Message(opening, *named, *otherwise)
    return Message(f"{subject} has {place}", *_advice(problem, notation), *otherwise)


def _advice(problem: Problem, notation: Notation) -> list[str]:
    """Return what to do about a text that looks like a number."""
    if problem.kind in ("percent", "currency"):
        return [f"; remove the {problem.kind} signs to use it as numbers,"]
    other, word = (",", "comma") if notation.decimal == "." else (".", "point")
    decimal, thousands = remedy("decimal", other), remedy("thousands", _sign(problem.cell))
    if problem.kind == "decimal":
        return [f", which looks like a decimal {word}; add ", decimal, " if it is one,"]
    if problem.kind == "thousands":
        return [", which looks like a thousands separator; add ", thousands, " if it is one,"]
    digits, fraction = problem.cell.split(other)
    return [
        "; add ",
        thousands,
        f" if this is {digits}{fraction}, or ",
        decimal,
        f" if it is {float(f'{digits}.{fraction}'):g},",
    ]


def _sign(cell: str) -> str:
    """Return the separator before the first group of three digits."""
    found = re.search(r"(?<=\d)\D(?=\d{3})", cell)
    return next((sign for sign, alike in THOUSANDS.items() if found and found[0] in alike), ",")


def refuse_problems(
    table: str,
    problems: dict[str, Problem],
    row_label: Callable[[int], str],
    notation: Notation,
) -> None:
    """Raise an error for the first of these columns, and name the others with the same problem."""
    if not problems:
        return
    name, problem = next(iter(problems.items()))
    also = [other for other, one in problems.items() if one.kind == problem.kind and other != name]
    named = " or name the column in ", parameter("categorical"), " or ", parameter("exclude"), "."
    subject, where = f"{table}: column {quoted(name)}", row_label(problem.row)
    raise InputError(problem_message(subject, problem, where, notation, otherwise=named, also=also))

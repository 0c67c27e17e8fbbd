"""Names and numbers as a page shows them: data, never markup."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from graphsieve.table.containers import shown_name

# a name may be a whole document; what is left out of it is in the middle, since names differ at
# their ends
NAME_LENGTH = 100
TEXT_LENGTH = 1_000
WORTH_TELLING = 0.2  # share of a feature that others have said, from which on it is shown


def shown(text: object, length: int = NAME_LENGTH) -> str:
    """A name without control characters (also those that turn the direction of writing),
    shortened in its middle.
    """
    whole = str(text)
    printable = shown_name(whole, max(len(whole), len("(no name)")))
    if not printable.strip():
        printable = "(no name)"
    if len(printable) <= length:
        return printable
    tail = length // 3
    return f"{printable[: length - tail - 1]}…{printable[-tail:]}"


def name(text: object, length: int = NAME_LENGTH) -> str:
    """A name as markup, isolated from the direction in which its surroundings are written."""
    return f"<bdi>{escape(shown(text, length))}</bdi>"


def sentence(text: object) -> str:
    """A sentence that may hold names, as markup."""
    # Which stays with its number
    return escape(shown(" ".join(str(text).split()), TEXT_LENGTH)).replace(" %", "\u00a0%")


def full_stop(text: str) -> str:
    """The text as a sentence."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def block(text: str) -> str:
    """Lines of code as markup: line breaks and tabs stay, other control characters are made
    visible.
    """
    return escape(
        "\n".join(
            "".join(c if c.isprintable() or c == "\t" else "·" for c in line)
            for line in text.split("\n")
        )
    )


def number(value: float, digits: int = 4) -> str:
    """A number with so many digits that mean something, and a minus that is a minus."""
    text = f"{value:.{digits}g}"
    return ("0" if float(text) == 0 else text).replace("-", "−")


def thousands(value: int) -> str:
    """A count, with thin spaces that no line breaks at."""
    return f"{value:,}".replace(",", "\u202f") if abs(value) >= 10_000 else str(value)


def counted(n: int, what: str) -> str:
    """Such as "1 feature", "20 000 features"; `what` is the singular."""
    return f"{thousands(n)} {what}" if n == 1 else f"{thousands(n)} {what}s"


def listed(texts: Sequence[str], most: int) -> str:
    """The first of the texts (markup) and how many more there are."""
    if len(texts) > most + 1:
        return f"{', '.join(texts[:most])} and {thousands(len(texts) - most)} more"
    return joined(texts)


def joined(words: Iterable[object]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *others, last = list(map(str, words)) or [""]
    return f"{', '.join(others)} and {last}" if others else last


def score_text(record: Mapping[str, Any]) -> str:
    """The score of a feature as its row shows it."""
    if record["flag"] == "unscorable":
        return "not scored"
    return "∞" if record["score"] is None else number(record["score"])


def already_said(share: float | None, of: str | None) -> str:
    """How much of a feature the chosen ones say, and which of them it is most like; nothing
    where that is little.
    """
    return (
        ""
        if (percent := said_percent(share)) is None or of is None
        else f"{percent} %, most like {of}"
    )


def said_percent(share: float | None) -> str | None:
    """The share in percent where it is worth telling.

    Near the whole, what is left is what matters, so there are as many digits as show it.
    """
    if share is None or not share >= WORTH_TELLING:
        return None
    digits = 0 if share < 0.995 else 2
    return (
        f"{100 * share:.{digits}f}"
        if share < 1 - 5e-5
        else "100"
        if share >= 1 - 1e-9
        else "over 99.99"
    )


def how_it_went(reason: str) -> str | None:
    """What a search says of its rounds after "as asked"; None where nobody asked and the reason
    is one.
    """
    return reason.removeprefix("as asked").lstrip(", ") if reason.startswith("as asked") else None


def neighbors_found(ranking: Mapping[str, Any]) -> str | None:
    """How good approximate neighbours are; None where they are exact."""
    recall = ranking.get("neighbor_recall")
    return (
        None
        if recall is None
        else f"neighbours are approximate: of those that were checked, {100 * recall:.1f} % are "
        "right"
    )


def in_order_of_choice(ranking: Mapping[str, Any]) -> bool:
    """Whether features were chosen one by one for what they add, rather than ranked by a score."""
    return bool(ranking["features"]) and "redundancy" in ranking["features"][0]


def about_score(ranking: Mapping[str, Any]) -> str:
    """What the score is, in words."""
    if in_order_of_choice(ranking) and ranking.get("is_search", ranking["method"] == "diverse"):
        return "share that the feature explains alone"
    return f"{ranking['method']} score ({ranking['good']} is good)"

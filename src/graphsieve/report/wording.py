"""Names, numbers and short phrases as reports and the terminal show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from graphsieve.table.containers import shown_name

# Longer names are shortened in the middle, because names tend to differ at their ends.
NAME_LENGTH = 100  # characters
TEXT_LENGTH = 1_000  # characters
SHOWN_FROM = 0.2  # smallest redundancy that is shown
NAMES_SHOWN = 5  # names in a sentence
AS_REQUESTED = "as requested"  # reason for a method that was named


def shown(text: object, length: int = NAME_LENGTH) -> str:
    """Return a name without control and direction characters, shortened in the middle."""
    whole = str(text)
    printable = shown_name(whole, max(len(whole), len("(no name)")))
    if not printable.strip():
        printable = "(no name)"
    if len(printable) <= length:
        return printable
    tail = length // 3
    return f"{printable[: length - tail - 1]}…{printable[-tail:]}"


def name(text: object, length: int = NAME_LENGTH) -> str:
    """Return a name as HTML, isolated from the writing direction of the surrounding text."""
    return f"<bdi>{escape(shown(text, length))}</bdi>"


def sentence(text: object) -> str:
    """Return a sentence, which may contain names, as HTML."""
    # A no-break space keeps the percent sign with its number.
    return escape(shown(" ".join(str(text).split()), TEXT_LENGTH)).replace(" %", "\u00a0%")


def full_stop(text: str) -> str:
    """Return the text with a full stop at its end."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def block(text: str) -> str:
    """Return code as HTML. Control characters other than line breaks and tabs are made visible."""
    return escape(
        "\n".join(
            "".join(c if c.isprintable() or c == "\t" else "·" for c in line)
            for line in text.split("\n")
        )
    )


def number(value: float, digits: int = 4) -> str:
    """Return a number with a given number of significant digits and a proper minus sign."""
    text = f"{value:.{digits}g}"
    return ("0" if float(text) == 0 else text).replace("-", "−")


def thousands(value: int) -> str:
    """Return a count, with narrow no-break spaces between thousands."""
    return f"{value:,}".replace(",", "\u202f") if abs(value) >= 10_000 else str(value)


def counted(n: int, what: str) -> str:
    """Return a count with its noun, such as "20 000 features". `what` is the singular."""
    return f"{thousands(n)} {what}" if n == 1 else f"{thousands(n)} {what}s"


def listed(texts: Sequence[str], most: int) -> str:
    """Return the first texts (HTML) and the number of further ones."""
    if len(texts) > most + 1:
        return f"{', '.join(texts[:most])} and {thousands(len(texts) - most)} more"
    return joined(texts)


def joined(words: Iterable[object]) -> str:
    """Join words: ``a``, ``a and b``, ``a, b and c``."""
    *others, last = list(map(str, words)) or [""]
    return f"{', '.join(others)} and {last}" if others else last


def score_text(record: Mapping[str, Any]) -> str:
    """Return the score of a feature as text."""
    if record["flag"] == "unscorable":
        return "not scored"
    return "∞" if record["score"] is None else number(record["score"])


def gain_text(record: Mapping[str, Any]) -> str:
    """Return the gain of a feature as text. It is empty for features without a gain."""
    gain = record.get("gain")
    return "" if gain is None else number(gain, 2)


def redundancy_text(share: float | None, closest: str | None) -> str:
    """Return the redundancy of a feature and its closest selected feature.

    The text is empty for a redundancy below 20 %.
    """
    percent = redundancy_percent(share)
    return "" if percent is None or closest is None else f"{percent} % (closest: {closest})"


def redundancy_percent(share: float | None) -> str | None:
    """Return a redundancy in per cent, or None below 20 %.

    Values near 100 % have more digits, because the remaining share is what matters there.
    """
    if share is None or not share >= SHOWN_FROM:
        return None
    digits = 0 if share < 0.995 else 2
    return (
        f"{100 * share:.{digits}f}"
        if share < 1 - 5e-5
        else "100"
        if share >= 1 - 1e-9
        else "over 99.99"
    )


def search_outcome(reason: str) -> str | None:
    """Return how the rounds of a requested search ended, or None if the method was not requested.

    The reason for a requested method is "as requested", followed by the outcome of a search.
    """
    if not reason.startswith(AS_REQUESTED):
        return None
    return reason.removeprefix(AS_REQUESTED).lstrip(", ")


def recall_text(ranking: Mapping[str, Any]) -> str | None:
    """Return the estimated recall of approximate neighbours, or None if they are exact."""
    recall = ranking.get("neighbor_recall")
    return None if recall is None else f"neighbours are approximate (recall {100 * recall:.1f} %)"


def comparison_text(ranking: Mapping[str, Any]) -> str | None:
    """Return the outcome of the comparison of searches, or None if there was none.

    Examples
    --------
    >>> errors = {"diverse": 0.25, "elimination": 0.31}
    >>> comparison_text({"candidate": "diverse", "candidates": errors})
    'cross-validated errors: diverse 0.250 (chosen), elimination 0.310'
    """
    errors = ranking.get("candidates")
    if not errors:
        return None
    chosen = ranking["candidate"]
    parts = [
        f"{name} {error:.3f}{' (chosen)' if name == chosen else ''}"
        for name, error in sorted(errors.items(), key=lambda one: (one[0] != chosen, one[1]))
    ]
    return f"cross-validated errors: {', '.join(parts)}"


def missing_text(ranking: Mapping[str, Any], feature: str = "feature") -> list[str]:
    """Return sentences on the missing values, without full stops. Empty if none is missing."""
    missing = ranking.get("missing")
    if missing is None:
        return []
    where = counted(missing["n_features"], feature)
    found = [
        f"{counted(missing['n_values'], 'missing value')} in {where}: each {feature} is scored where "
        "it has a value"
    ]
    names = [shown(one, 40) for one in missing["informative"]]
    if names:
        more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
        found.append(
            f"in {', '.join(names[:NAMES_SHOWN])}{more}, missing values are associated with the "
            "supervision (false discovery rate 5 %)"
        )
    return found


def in_selection_order(ranking: Mapping[str, Any]) -> bool:
    """Whether features were selected one by one by gain, rather than ranked by score."""
    return bool(ranking["features"]) and "redundancy" in ranking["features"][0]


def score_meaning(ranking: Mapping[str, Any]) -> str:
    """Return the meaning of the score in words."""
    if in_selection_order(ranking) and ranking.get("is_search", ranking["method"] == "diverse"):
        return "share that the feature explains alone"
    return f"{ranking['method']} score ({ranking['good']} is good)"

"""A ranking as lines of text, for `print` and the command line."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from graphsieve.report.wording import (
    comparison_text,
    in_selection_order,
    missing_text,
    recall_text,
    redundancy_text,
    search_outcome,
)
from graphsieve.table.containers import shown_name

ROWS_SHOWN = 20
NAME_WIDTH = 32
BAR_WIDTH = 24
GAIN_WIDTH = 7
LINE_WIDTH = 100

Paint = Callable[[str, str], str]
"""Colours a text by its kind: "chosen", "rest" or "soft"."""


def plain(text: str, kind: str) -> str:
    """Return the text without colours."""
    return text


class Terms(NamedTuple):
    """The words for a column and a row of the table."""

    feature: str
    sample: str

    def worded(self, text: str) -> str:
        """Return a sentence of the library, which speaks of features and samples, in these words."""
        text = re.sub(r"\bfeature(s?)\b", rf"{self.feature}\1", text)
        return re.sub(r"\bsample(s?)\b", rf"{self.sample}\1", text)


PYTHON = Terms("feature", "sample")
COMMAND_LINE = Terms("column", "row")


def ranking_text(facts: Mapping[str, Any]) -> str:
    """Return the printed ranking: headline, reason, number of features and table.

    `facts` are `Ranking.page_facts()`.
    """
    lines = [headline(facts), subline(facts), *further_lines(facts)]
    for text in missing_text(facts):
        lines += wrapped(text)
    if facts["count_reason"] is not None:
        n_selected = sum(record["selected"] for record in facts["features"])
        lines += wrapped(f"{n_selected} selected. {facts['count_reason']}")
    return "\n".join([*lines, "", *table_lines(facts["features"])])


def wrapped(text: str, width: int = LINE_WIDTH) -> list[str]:
    """Break a long text into lines, but not between a number and its percent sign."""
    joined = text.replace(" %", "\u00a0%")
    lines = textwrap.wrap(joined, width, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\u00a0%", " %") for line in lines]


def headline(facts: Mapping[str, Any], terms: Terms = PYTHON) -> str:
    """Return what was ranked, and how.

    It says whether the target was read as classes or as a continuous target.
    """
    n_features, n_samples = facts["n_features"], facts["n_samples"]
    what = f"{_counted(n_features, terms.feature)} of {_counted(n_samples, terms.sample)}"
    if facts["target_read_as"] is not None:
        what += f" with {facts['target_read_as']}"
    if in_selection_order(facts):
        score = "" if facts["is_search"] else f" by {facts['method']} score and gain"
        return f"{what}, in selection order{score}"
    return f"{what}, ranked by {facts['method']} ({facts['good']} is good)"


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def subline(facts: Mapping[str, Any], terms: Terms = PYTHON) -> str:
    """Return the reason for the method, or a description of a method that was named."""
    outcome = search_outcome(facts["reason"])
    if outcome is None:
        reason: str = facts["reason"]
        return reason if reason.startswith("no ") else f"supervision: {reason}"
    subject = "the search" if facts["is_search"] else f"a good {terms.feature}"
    return f"{subject} {facts['summary']}{': ' if outcome else ''}{outcome}"


def further_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return lines on the comparison of searches and on approximate neighbours, if there are any."""
    return [text for text in (comparison_text(facts), recall_text(facts)) if text is not None]


def table_lines(
    features: Sequence[Mapping[str, Any]],
    *,
    rows: int = ROWS_SHOWN,
    more: str = "to_frame() returns all",
    paint: Paint = plain,
    show_cut: bool = False,
    show_redundancy: bool = True,
    terms: Terms = PYTHON,
) -> list[str]:
    """Return the first rows of the table.

    `show_cut` draws a line below the last selected feature.
    """
    width = min(
        NAME_WIDTH,
        max(
            len(terms.feature),
            *(len(shown_name(record["feature"], NAME_WIDTH)) for record in features),
        ),
    )
    by_gain = in_selection_order({"features": features})
    head = f"{'rank':>5}  {terms.feature:<{width}}  {'score':>10}"
    if by_gain:
        head += f"  {'gain':>{GAIN_WIDTH}}"
        head += f"  {'':<{BAR_WIDTH}}  redundancy" if show_redundancy else ""
    cut = width + 14 + BAR_WIDTH + (GAIN_WIDTH + 2 if by_gain else 0)
    lines = [paint(head, "soft")]
    for place, record in enumerate(features[:rows]):
        lines.append(_row(record, width, paint, by_gain, show_redundancy))
        if (
            show_cut
            and record["selected"]
            and place + 1 < len(features)
            and not features[place + 1]["selected"]
        ):
            lines.append(paint(f"{'':>5}  {'─' * cut}", "soft"))
    if len(features) > rows:
        lines.append(paint(f"       … {len(features) - rows} more; {more}", "soft"))
    return lines


def _row(
    record: Mapping[str, Any], width: int, paint: Paint, by_gain: bool, show_redundancy: bool
) -> str:
    scored = record["flag"] != "unscorable"
    bar = "█" * round(BAR_WIDTH * record["strength"]) if scored else "not scored"
    redundancy = _redundancy(record) if show_redundancy else ""
    padding = " " * (BAR_WIDTH - len(bar)) if redundancy else ""
    kind = "chosen" if record["selected"] else "rest"
    start = (
        f"{record['rank']:>5}  {shown_name(record['feature'], width):<{width}}  "
        f"{_score(record):>10}"
    )
    start += f"  {_gain(record):>{GAIN_WIDTH}}" if by_gain else ""
    end = f"  {paint(bar, kind)}" if bar else ""
    end += f"{'' if bar else '  '}{padding}  {paint(redundancy, 'soft')}" if redundancy else ""
    return f"{start}{end}".rstrip()


def _score(record: Mapping[str, Any]) -> str:
    if record["flag"] == "unscorable":
        return ""
    return "inf" if record["score"] is None else f"{record['score']:.4g}"


def _gain(record: Mapping[str, Any]) -> str:
    return "" if record["gain"] is None else f"{record['gain']:.2g}"


def _redundancy(record: Mapping[str, Any]) -> str:
    if "redundancy" not in record:
        return ""
    of = record["closest"]
    return redundancy_text(record["redundancy"], None if of is None else shown_name(of, NAME_WIDTH))

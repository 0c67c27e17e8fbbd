"""A ranking as lines of text: what `print` shows, and what the command line shows in colour."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphsieve.report.wording import already_said, how_it_went, in_order_of_choice, neighbors_found
from graphsieve.table.containers import shown_name

ROWS_SHOWN = 20
NAME_WIDTH = 32
BAR_WIDTH = 24

Paint = Callable[[str, str], str]
"""From a text and what it is ("chosen", "rest", "soft") to the text as the terminal shows it."""


def plain(text: str, kind: str) -> str:
    """No colours."""
    return text


def ranking_text(facts: Mapping[str, Any]) -> str:
    """The ranking as it prints: headline, reason, how many and why, table; `facts` are
    `Ranking.page_facts()`.
    """
    lines = [headline(facts), subline(facts), *recall_line(facts)]
    if facts["count_reason"] is not None:
        n_selected = sum(record["selected"] for record in facts["features"])
        lines.append(
            f"{n_selected} {'is' if n_selected == 1 else 'are'} selected: {facts['count_reason']}"
        )
    return "\n".join([*lines, "", *table_lines(facts["features"])])


def headline(facts: Mapping[str, Any]) -> str:
    """What was ranked, and how."""
    what = f"{facts['n_features']} features of {facts['n_samples']} samples"
    if in_order_of_choice(facts):
        score = "" if facts["is_search"] else f"its {facts['method']} score and "
        return f"{what}, in the order of choice: each for {score}what it adds"
    return f"{what}, ranked by {facts['method']} ({facts['good']} is good)"


def subline(facts: Mapping[str, Any]) -> str:
    """Why this method, or what it looks for."""
    further = how_it_went(facts["reason"])
    if further is None:
        return f"because {facts['reason']}"
    return (
        f"{'it' if facts['is_search'] else 'a good feature'} "
        f"{facts['summary']}{': ' if further else ''}{further}"
    )


def recall_line(facts: Mapping[str, Any]) -> list[str]:
    """How good approximate neighbours are, if they are."""
    found = neighbors_found(facts)
    return [] if found is None else [found]


def table_lines(
    features: Sequence[Mapping[str, Any]],
    *,
    rows: int = ROWS_SHOWN,
    more: str = "to_frame() has them all",
    paint: Paint = plain,
    show_cut: bool = False,
) -> list[str]:
    """The first rows of the table; `show_cut` draws a line below the last selected feature."""
    width = min(
        NAME_WIDTH,
        max(
            len("feature"), *(len(shown_name(record["feature"], NAME_WIDTH)) for record in features)
        ),
    )
    chosen = in_order_of_choice({"features": features})
    repeated = f"  {'':<{BAR_WIDTH}}  already said" if chosen else ""
    lines = [paint(f"{'rank':>5}  {'feature':<{width}}  {'score':>10}{repeated}".rstrip(), "soft")]
    for place, record in enumerate(features[:rows]):
        lines.append(_row(record, width, paint))
        if (
            show_cut
            and record["selected"]
            and place + 1 < len(features)
            and not features[place + 1]["selected"]
        ):
            lines.append(paint(f"{'':>5}  {'─' * (width + 14 + BAR_WIDTH)}", "soft"))
    if len(features) > rows:
        lines.append(paint(f"       … {len(features) - rows} more; {more}", "soft"))
    return lines


def _row(record: Mapping[str, Any], width: int, paint: Paint) -> str:
    scored = record["flag"] != "unscorable"
    bar = "█" * round(BAR_WIDTH * record["strength"]) if scored else "not scored"
    said = _repetition(record)
    padding = " " * (BAR_WIDTH - len(bar)) if said else ""
    kind = "chosen" if record["selected"] else "rest"
    start = (
        f"{record['rank']:>5}  {shown_name(record['feature'], width):<{width}}  "
        f"{_number(record):>10}"
    )
    end = f"  {paint(bar, kind)}" if bar else ""
    end += f"{'' if bar else '  '}{padding}  {paint(said, 'soft')}" if said else ""
    return f"{start}{end}".rstrip()


def _number(record: Mapping[str, Any]) -> str:
    if record["flag"] == "unscorable":
        return ""
    return "inf" if record["score"] is None else f"{record['score']:.4g}"


def _repetition(record: Mapping[str, Any]) -> str:
    if "redundancy" not in record:
        return ""
    of = record["duplicate_of"]
    return already_said(record["redundancy"], None if of is None else shown_name(of, NAME_WIDTH))

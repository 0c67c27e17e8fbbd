"""The ranking as a table: its first rows as markup, all of them as compact data for the script."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from graphsieve.report.wording import (
    about_score,
    already_said,
    counted,
    in_order_of_choice,
    name,
    said_percent,
    score_text,
    shown,
    thousands,
)

ROWS_IN_MARKUP = 40  # what paper and browsers without scripts show
ROWS_IN_ALL = 50_000  # a page is for reading; files of results hold everything


def ranking_section(ranking: Mapping[str, Any]) -> str:
    """The table with its controls, and the data of all rows."""
    features = ranking["features"]
    said = in_order_of_choice(ranking)
    if said:
        order = "In the order of choice, each for what it adds to those before it."
    else:
        order = "The best first."
    kept = min(len(features), ROWS_IN_ALL)
    beyond = (
        f" The first {thousands(kept)} of {counted(len(features), 'feature')} are here."
        if kept < len(features)
        else ""
    )
    meaning = f" The score is the {about_score(ranking)}; the bar is as long as the score is good."
    about_said = (
        " “Already said” is the share of a feature that the chosen ones explain." if said else ""
    )
    hidden = max(0, len(features) - ROWS_IN_MARKUP)
    more = (
        f'<p id="more" class="more without-script">… and {counted(hidden, "more feature")}.</p>'
        if hidden
        else ""
    )
    data = _data(features[:ROWS_IN_ALL], said, ranking["good"] == "small")
    return (
        '<section id="features"><h2>The '
        f"ranking</h2><p>{order}{escape(meaning)}{about_said}{beyond}</p>"
        f"{_controls(kept)}{_table(features, said)}{more}{data}</section>"
    )


def _controls(n: int) -> str:
    return (
        '<div class="controls with-script"><label class="find"><span>Find a feature</span>'
        '<input id="search" type="search" autocomplete="off" spellcheck="false" '
        'maxlength="200"></label>'
        '<label class="tick"><input id="selected-only" type="checkbox"> selected only</label>'
        f'<output id="count" for="search selected-only" aria-live="polite">{n} of {n} '
        "features</output></div>"
    )


def _table(features: Sequence[Mapping[str, Any]], said: bool) -> str:
    columns = [("rank", "rank", "n"), ("feature", "feature", "name"), ("score", "score", "n")]
    heads = [_head(*column) for column in columns]
    heads.append('<th class="bar" scope="col"><span class="unseen">score as a bar</span></th>')
    if said:
        heads.append(_head("said", "already said", "said"))
    rows = "".join(_row(record, said) for record in features[:ROWS_IN_MARKUP])
    return (
        '<div id="ranking" class="region" role="region" tabindex="0" aria-label="The ranking, a '
        'table that scrolls">'
        '<table data-sorted="rank" '
        f'aria-rowcount="{len(features) + 1}"{" class=has-said" if said else ""}>'
        "<thead><tr "
        f'aria-rowindex="1">{"".join(heads)}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _head(key: str, text: str, kind: str) -> str:
    sort = ' aria-sort="ascending"' if key == "rank" else ""
    return (
        f'<th class="{kind}" scope="col"{sort}><button type="button" '
        f'data-sort="{key}">{text}</button></th>'
    )


def _row(record: Mapping[str, Any], said: bool) -> str:
    """A row of the markup; report.js makes the same one."""
    chosen = record["selected"]
    mark = (
        '<span class="mark" title="selected">●<span class="unseen"> selected</span></span>'
        if chosen
        else ""
    )
    of = record.get("duplicate_of")
    text = already_said(record.get("redundancy"), None if of is None else shown(of))
    repetition = (
        f'<td class="said" title="{escape(text)}"><bdi>{escape(text)}</bdi></td>' if said else ""
    )
    # On a phone there is no room beside the name
    below = f' data-said="{escape(text)}"' if text else ""
    return (
        f'<tr data-rank="{record["rank"]}" '
        f'aria-rowindex="{record["rank"] + 1}"{" class=chosen" if chosen else ""} '
        f'style="--share:{record["strength"]:.3f}">'
        f'<td class="n">{mark}{record["rank"]}</td>'
        '<td class="name" '
        f'title="{escape(shown(record["feature"]))}"{below}>{name(record["feature"])}</td>'
        f'<td class="n">{score_text(record)}</td>'
        f'<td class="bar"><span></span></td>{repetition}</tr>'
    )


def _data(features: Sequence[Mapping[str, Any]], said: bool, small_is_good: bool) -> str:
    """All rows by columns: a rank is a place, a share is a place among the shares that occur, a
    repeated name is a place.
    """
    columns: dict[str, Any] = {
        "names": [shown(record["feature"]) for record in features],
        "scores": [score_text(record) for record in features],
        "bars": [round(1000 * record["strength"]) for record in features],
        "selected": [place for place, record in enumerate(features) if record["selected"]],
        "small": small_is_good,
    }
    if said:
        columns |= _said_columns(features)
    return f'<script type="application/json" id="rows">{as_json(columns)}</script>'


def _said_columns(features: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    shares: dict[str, float] = {}
    for record in features:
        percent = said_percent(record["redundancy"]) if record["duplicate_of"] is not None else None
        if percent is not None:
            shares[percent] = max(record["redundancy"], shares.get(percent, 0.0))
    percents = ["", *sorted(shares, key=lambda percent: (shares[percent], percent))]
    places = {percent: place for place, percent in enumerate(percents)}
    where = {record["feature"]: place for place, record in enumerate(features)}
    said, of = [], []
    for record in features:
        like = record["duplicate_of"]
        percent = said_percent(record["redundancy"]) if like in where else None
        said.append(places[percent] if percent is not None else 0)
        of.append(where[like] if percent is not None else 0)
    return {"percents": percents, "said": said, "of": of}


def as_json(value: Any) -> str:
    """JSON that cannot end the element it stands in, nor a line of it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text

"""The ranking as an HTML table: the first rows as markup, all rows as data for the script."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from graphsieve.report.wording import (
    counted,
    gain_text,
    in_selection_order,
    name,
    redundancy_percent,
    redundancy_text,
    score_meaning,
    score_text,
    shown,
    thousands,
)

ROWS_IN_MARKUP = 40  # shown on paper and by browsers without scripts
ROWS_IN_ALL = 50_000  # more rows belong in a file of results


def ranking_section(ranking: Mapping[str, Any]) -> str:
    """Return the table with its controls, and the data of all rows."""
    features = ranking["features"]
    by_gain = in_selection_order(ranking)
    order = "Features are in selection order." if by_gain else "The best feature comes first."
    kept = min(len(features), ROWS_IN_ALL)
    beyond = (
        f" The first {thousands(kept)} of {counted(len(features), 'feature')} are listed."
        if kept < len(features)
        else ""
    )
    meaning = f" The score is the {score_meaning(ranking)}; longer bars are better."
    if by_gain:
        meaning += (
            " The gain is what a feature added to those selected before it, or, if it was not "
            "selected, what it would add next. The redundancy is the share of its variance that "
            "those features already explain."
        )
    hidden = max(0, len(features) - ROWS_IN_MARKUP)
    more = (
        f'<p id="more" class="more without-script">… and {counted(hidden, "more feature")}.</p>'
        if hidden
        else ""
    )
    data = _data(features[:ROWS_IN_ALL], by_gain, ranking["good"] == "small")
    return (
        f'<section id="features"><h2>Ranking</h2><p>{order}{escape(meaning)}{beyond}</p>'
        f"{_controls(kept)}{_table(features, by_gain)}{more}{data}</section>"
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


def _table(features: Sequence[Mapping[str, Any]], by_gain: bool) -> str:
    heads = [_head("rank", "n"), _head("feature", "name"), _head("score", "n score")]
    if by_gain:
        heads.append(_head("gain", "n gain"))
    heads.append('<th class="bar" scope="col"><span class="unseen">score as a bar</span></th>')
    if by_gain:
        heads.append(_head("redundancy", "redundancy"))
    rows = "".join(_row(record, by_gain) for record in features[:ROWS_IN_MARKUP])
    return (
        '<div id="ranking" class="region" role="region" tabindex="0" aria-label="Ranking, a table '
        'that scrolls">'
        '<table data-sorted="rank" '
        f'aria-rowcount="{len(features) + 1}"{" class=by-gain" if by_gain else ""}>'
        "<thead><tr "
        f'aria-rowindex="1">{"".join(heads)}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _head(key: str, kind: str) -> str:
    sort = ' aria-sort="ascending"' if key == "rank" else ""
    return (
        f'<th class="{kind}" scope="col"{sort}><button type="button" '
        f'data-sort="{key}">{key}</button></th>'
    )


def _row(record: Mapping[str, Any], by_gain: bool) -> str:
    """Return a row as HTML. The script report.js builds the same row."""
    chosen = record["selected"]
    mark = (
        '<span class="mark" title="selected">●<span class="unseen"> selected</span></span>'
        if chosen
        else ""
    )
    of = record.get("closest")
    text = redundancy_text(record.get("redundancy"), None if of is None else shown(of))
    gain = f'<td class="n gain">{gain_text(record)}</td>' if by_gain else ""
    redundancy = (
        f'<td class="redundancy" title="{escape(text)}"><bdi>{escape(text)}</bdi></td>'
        if by_gain
        else ""
    )
    # On a phone, the redundancy is shown below the name.
    below = f' data-redundancy="{escape(text)}"' if text else ""
    return (
        f'<tr data-rank="{record["rank"]}" '
        f'aria-rowindex="{record["rank"] + 1}"{" class=chosen" if chosen else ""} '
        f'style="--share:{record["strength"]:.3f}">'
        f'<td class="n">{mark}{record["rank"]}</td>'
        '<td class="name" '
        f'title="{escape(shown(record["feature"]))}"{below}>{name(record["feature"])}</td>'
        f'<td class="n score">{score_text(record)}</td>{gain}'
        f'<td class="bar"><span></span></td>{redundancy}</tr>'
    )


def _data(features: Sequence[Mapping[str, Any]], by_gain: bool, small_is_good: bool) -> str:
    """Return all rows as JSON, column by column.

    The position in a column is the rank. Redundancies and closest features are stored as positions,
    in the list of percentages and in the list of names.
    """
    columns: dict[str, Any] = {
        "names": [shown(record["feature"]) for record in features],
        "scores": [score_text(record) for record in features],
        "bars": [round(1000 * record["strength"]) for record in features],
        "selected": [place for place, record in enumerate(features) if record["selected"]],
        "small": small_is_good,
    }
    if by_gain:
        columns["gains"] = [gain_text(record) for record in features]
        columns |= _redundancy_columns(features)
    return f'<script type="application/json" id="rows">{as_json(columns)}</script>'


def _redundancy_columns(features: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    shares: dict[str, float] = {}
    for record in features:
        percent = (
            redundancy_percent(record["redundancy"]) if record["closest"] is not None else None
        )
        if percent is not None:
            shares[percent] = max(record["redundancy"], shares.get(percent, 0.0))
    percents = ["", *sorted(shares, key=lambda percent: (shares[percent], percent))]
    places = {percent: place for place, percent in enumerate(percents)}
    where = {record["feature"]: place for place, record in enumerate(features)}
    redundancy, of = [], []
    for record in features:
        like = record["closest"]
        percent = redundancy_percent(record["redundancy"]) if like in where else None
        redundancy.append(places[percent] if percent is not None else 0)
        of.append(where[like] if percent is not None else 0)
    return {"percents": percents, "redundancy": redundancy, "of": of}


def as_json(value: Any) -> str:
    """Return JSON that cannot end its HTML element or contain a line separator."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text

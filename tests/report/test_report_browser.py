"""The report in a real browser: opened from disk, sorted, searched, scrolled and printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import install_browser
from browser import (
    NO_BROWSER,
    VARIABLE,
    NoBrowserError,
    accessibility_violations,
    any_browser,
    opened,
    started,
)
from graphsieve.report.page import page as report_page

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

Visit = Callable[..., AbstractContextManager[Any]]

pytestmark = pytest.mark.slow

PHONE = {
    "viewport": {"width": 360, "height": 740},
    "is_mobile": True,
    "has_touch": True,
    "device_scale_factor": 2,
}
HOSTILE = (
    "</script><script>document.title = 'taken'; alert(1)</script>",
    "<img src=x onerror=\"document.title = 'taken'\">",
    "<svg onload=alert(1)>",
    "--><b>bold</b><!--",
    "' onmouseover='alert(1)' x=\"",
    "&lt;b&gt; &amp; &#x3c;",
    "${alert(1)} {{7*7}} <%= 7 %>",
    "javascript:alert(1)",
    "__proto__",
    "constructor",
    "=cmd|' /C calc'!A0",
    "</style><style>body { display: none }",
    "</textarea></title><base href='http://example.invalid/'>",
    "https://example.invalid/x.png",
)

# Characters in a name that would change the text direction or break lines. A page may leave them
# out or replace them.
UNSEEN = (
    "\u202eright to left\u2066",
    "line\u2028break\u2029here",
    "bell\x07 and nothing\x00",
    "tab\tand\nline",
    "half \ud800 a pair",
)


def ranked(names: list[str], n_selected: int = 3, *, chosen: bool = True) -> dict[str, Any]:
    """Return the facts of a ranking of these features, best first, with decreasing scores."""
    scores = np.linspace(1.0, 0.1, len(names))
    features = []
    for place, (name, score) in enumerate(zip(names, scores, strict=True)):
        record = {
            "feature": name,
            "rank": place + 1,
            "rank_min": place + 1,
            "score": float(score),
            "selected": place < n_selected,
            "flag": None,
            "strength": float((score - 0.1) / 0.9),
        }
        if chosen:
            facts = {
                "gain": 0.5,
                "redundancy": 0.0,
                "closest": None,
                "closest_correlation": None,
            }
            if place:
                facts = {
                    "gain": 0.25,
                    "redundancy": (place % 10) / 10,
                    "closest": names[0],
                    "closest_correlation": 0.9,
                }
            record |= facts
        features.append(record)
    return {
        "schema": 1,
        "method": "laplacian_score",
        "reason": "no supervision was given",
        "summary": "varies little between neighbours",
        "reference": "A reference (2006)",
        "good": "large",
        "n_samples": 60,
        "n_features": len(names),
        "n_neighbors": 5,
        "bandwidth": 0.5,
        "count_reason": "a further feature adds less than expected by chance",
        "features": features,
    }


def report_facts(
    names: list[str], *, title: str = "A report", text: str = "words", n_selected: int = 3
) -> dict[str, Any]:
    """Return facts for a page with all sections; `text` is used for every free text."""
    drawn = names[:n_selected]
    return {
        "schema": 1,
        "title": title,
        "ranking": ranked(names, n_selected),
        "table": {
            "name": f"{text}.csv",
            "format": "csv",
            "n_rows": 60,
            "n_columns": len(names) + 2,
            "n_features": len(names),
            "notes": [text],
            "left_out": [{"column": f"{text} {i}", "why": text} for i in range(12)],
        },
        "known": {
            "text": f"9 of 60 labels are known, in 2 classes: {text}",
            "target": text,
            "kind": "labels",
            "classes": [{"name": text, "n": 4}, {"name": "other", "n": 5}],
        },
        "portraits": portrait_facts(drawn, text),
        "comparison": comparison_facts(text),
        "done": {
            "parameters": [["method", text]],
            "versions": [["graphsieve", "0.1.0"]],
            "warnings": [text],
        },
        "repeat": {"command": f"graphsieve rank '{text}'", "python": f"graphsieve.rank({text!r})"},
    }


def portrait_facts(names: list[str], text: str) -> dict[str, Any]:
    rng = np.random.default_rng(0)

    def cloud() -> dict[str, list[float]]:
        return {"x": rng.random(30).round(3).tolist(), "y": rng.random(30).round(3).tolist()}

    features = [
        {
            "feature": name,
            "low": -1.0,
            "high": 2.0,
            "histogram": {
                "edges": np.linspace(-1.0, 2.0, 9).tolist(),
                "counts": [rng.integers(0, 9, 8).tolist() for _ in range(3)],
            },
            "scatter": cloud(),
            "along_graph": {**cloud(), "share": 0.5},
        }
        for name in names
    ]
    correlations = np.corrcoef(rng.normal(size=(len(names), 40))).reshape(len(names), -1).round(3)
    return {
        "n_samples": 60,
        "n_drawn": 60,
        "classes": [text, "other", "unlabelled"],
        "target": {"name": text, "low": 0.0, "high": 1.0},
        "features": features,
        "correlations": {"features": names, "values": correlations.tolist()},
    }


def comparison_facts(text: str) -> dict[str, Any]:
    steps = [1, 2, 4]
    names = (text, "fisher", "random columns", "all columns")
    series = [
        {
            "name": name,
            "x": steps,
            "y": [0.5 + 0.05 * i, 0.6, 0.7],
            "standard_error": [0.02, 0.02, 0.01],
        }
        for i, name in enumerate(names)
    ]
    labels = {
        "label": text,
        "title": text,
        "x_label": "features",
        "y_label": "accuracy",
        "note": text,
    }
    return {
        "methods": [text, "fisher"],
        "agreement": [[1.0, 0.4], [0.4, 1.0]],
        "agreement_text": text,
        "curves": [{**labels, "series": series}],
        "text": [text],
    }


def bare_facts(names: list[str]) -> dict[str, Any]:
    """Return the minimal facts of a page."""
    return {
        "schema": 1,
        "title": "A bare report",
        "ranking": ranked(names, chosen=False),
        "table": None,
        "known": None,
        "portraits": None,
        "comparison": None,
        "done": {"parameters": [], "versions": [], "warnings": []},
        "repeat": None,
    }


def plain_names(n: int) -> list[str]:
    """Return distinct names with an alphabetical order that differs from their ranks.

    They are distinct because 7919 has no common factor with the counts used here.
    """
    return [f"Column {7919 * i % n:05d}" for i in range(n)]


@cache
def usual_page() -> str:
    return report_page(report_facts(plain_names(100)))


@cache
def large_page() -> str:
    return report_page(report_facts(plain_names(20_000), n_selected=12))


@cache
def hostile_page() -> str:
    names = [*HOSTILE, *(f"usual {i}" for i in range(60)), "long " * 2_000]
    return report_page(
        report_facts(names, title=HOSTILE[0], text=HOSTILE[1], n_selected=len(HOSTILE))
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    try:
        with started() as running:
            yield running
    except NoBrowserError:
        pytest.skip(NO_BROWSER)


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Visit:
    """Return a function that opens a page. Errors, dialogs and requests of the page fail the
    test.
    """

    @contextmanager
    def visiting(html: str, **options: Any) -> Iterator[Any]:
        file = tmp_path / "report.html"
        file.write_text(html, encoding="utf-8")
        with opened(browser, file, **options) as watched:
            yield watched.page
        assert watched.complaints == []

    return visiting


# Observation of a page


@pytest.mark.parametrize(
    ("markup", "complaint"),
    [
        ("<img src='http://127.0.0.1:9/x.png'>", "request: http://127.0.0.1:9/x.png"),
        ("<link rel=stylesheet href=other.css>", "request: file:"),
        ("<script>fetch('http://127.0.0.1:9/')</script>", "request: http://127.0.0.1:9/"),
        ("<script>console.error('oh')</script>", "console error: oh"),
        ("<script>missing()</script>", "error: missing is not defined"),
        ("<script>setTimeout(() => alert('hello'), 0)</script>", "dialog: hello"),
        (
            "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'\"><img "
            "src='http://127.0.0.1:9/x.png'>",
            "console error",
        ),
    ],
    ids=["image", "style", "fetch", "console", "exception", "dialog", "forbidden image"],
)
def test_errors_dialogs_and_requests_are_observed(browser, tmp_path, markup, complaint):
    file = tmp_path / "page.html"
    file.write_text(f"<!doctype html><title>x</title>{markup}", encoding="utf-8")
    with opened(browser, file) as watched:
        pass
    assert any(found.startswith(complaint) for found in watched.complaints), watched.complaints


def test_a_quiet_page_has_no_complaints_and_axe_finds_violations(browser, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(
        "<!doctype html><title>x</title><p style='color:#ccc'>faint</p><img src='data:,'>",
        encoding="utf-8",
    )
    with opened(browser, file) as watched:
        found = {violation.split()[0] for violation in accessibility_violations(watched.page)}
    assert watched.complaints == []
    assert {"image-alt", "color-contrast", "html-has-lang"} <= found


# Opening


def rows(page: Any) -> list[int]:
    """Return the ranks of the visible rows, from top to bottom."""
    return page.evaluate(
        """() => [...document.querySelectorAll('#ranking [data-rank]')]
            .filter(row => row.checkVisibility())
            .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
            .map(row => Number(row.dataset.rank))"""
    )


def counted(page: Any) -> tuple[int, int]:
    """Return both numbers in the line above the table, such as "3 of 100 features"."""
    found = re.fullmatch(
        r"\s*([\d,]+) of ([\d,]+) features?\s*", page.locator("#count").inner_text()
    )
    assert found is not None, page.locator("#count").inner_text()
    return int(found[1].replace(",", "")), int(found[2].replace(",", ""))


def searched(page: Any, text: str, expected: int) -> list[int]:
    """Search for a text that is expected to match this number of rows, and return their ranks."""
    page.locator("#search").fill(text)
    page.wait_for_function(
        "n => document.querySelector('#count').textContent.trim().replaceAll(',', "
        "'').startsWith(`${n} of `)",
        arg=expected,
    )
    return rows(page)


def sorted_by(page: Any, key: str) -> str | None:
    """Click on the heading of a column, and return the sort direction that it reports."""
    button = page.locator(f"[data-sort={key}]")
    button.click()
    return button.evaluate(
        "button => button.closest('[aria-sort]')?.getAttribute('aria-sort') ?? null"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_opens_without_messages_or_requests(visit, scheme):
    with visit(usual_page(), color_scheme=scheme) as page:
        assert page.title() == "A report"
        assert counted(page) == (100, 100)
        assert rows(page)[:5] == [1, 2, 3, 4, 5]


def test_a_page_with_only_the_ranking_works(visit):
    with visit(report_page(bare_facts(plain_names(4)))) as page:
        assert rows(page) == [1, 2, 3, 4]
        assert counted(page) == (4, 4)
        assert searched(page, "zzz", 0) == []


def test_the_light_and_the_dark_scheme_have_different_backgrounds(visit):
    def brightness(page: Any) -> float:
        colour = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in re.findall(r"\d+", colour)[:3]) / (3 * 255)

    with visit(usual_page(), color_scheme="light") as page:
        assert brightness(page) > 0.9
    with visit(usual_page(), color_scheme="dark") as page:
        assert brightness(page) < 0.2


# Names are never markup


def test_hostile_names_stay_text(visit):
    with visit(hostile_page()) as page:
        assert page.title() == HOSTILE[0]
        for rank, name in enumerate(HOSTILE, start=1):
            assert searched(page, name, 1) == [rank]
            assert name in page.locator(f"#ranking [data-rank='{rank}']").first.evaluate(
                "row => row.textContent"
            )
        assert page.title() == HOSTILE[0]


def test_direction_marks_and_line_breaks_in_names_have_no_effect(visit):
    with visit(
        report_page(report_facts([*UNSEEN, "usual"], title=UNSEEN[0], text=UNSEEN[1]))
    ) as page:
        for rank, part in enumerate(
            ("right to left", "break", "nothing", "and", "a pair"), start=1
        ):
            assert rank in rows_with(page, part)
        left = page.evaluate(
            "() => "
            "document.documentElement.outerHTML.match(/[\\u202a-\\u202e\\u2066-\\u2069\\ud800\\x07]/g)"
        )
        assert left is None


def rows_with(page: Any, text: str) -> list[int]:
    """Return the ranks of the rows that contain this text."""
    return page.evaluate(
        """text => [...document.querySelectorAll('#ranking [data-rank]')]
            .filter(row => row.textContent.includes(text)).map(row => Number(row.dataset.rank))""",
        text,
    )


def test_hostile_names_add_no_element_and_no_attribute(visit):
    """The same page with harmless names has the same elements with the same attributes."""

    def structure(page: Any) -> Counter[str]:
        return Counter(
            page.evaluate(
                "() => [...document.querySelectorAll('*')].map(e => [e.localName, "
                "...e.getAttributeNames().sort()].join(' '))"
            )
        )

    tame = [re.sub(r"\W", "x", name, flags=re.ASCII) for name in HOSTILE]
    pages = []
    for names in (list(HOSTILE), tame):
        with visit(
            report_page(report_facts(names, title=names[0], text=names[1], n_selected=len(names)))
        ) as page:
            pages.append(structure(page))
    assert pages[0] == pages[1]


def test_a_very_long_name_does_not_fill_the_page(visit):
    with visit(hostile_page()) as page:
        (rank,) = searched(page, "long long", 1)
        box = page.locator(f"#ranking [data-rank='{rank}']").first.bounding_box()
        assert box["height"] < 120


# Sorting and searching


@pytest.mark.parametrize(("good", "first"), [("small", "ascending"), ("large", "descending")])
def test_the_first_click_on_the_score_shows_the_best_first(visit, good, first):
    facts = report_facts(["alpha", "bravo", "charlie"])
    facts["ranking"]["good"] = good
    with visit(report_page(facts)) as page:
        assert sorted_by(page, "score") == first


def test_sorting_by_every_column(visit):
    names = ["delta", "alpha", "Echo", "bravo", "charlie"]
    facts = report_facts(names)
    for record, score in zip(facts["ranking"]["features"], (0.3, 0.5, 0.1, 0.9, 0.7), strict=True):
        record |= {"score": score, "gain": score / 2, "redundancy": 1.0 - score, "closest": "delta"}
    # A small redundancy is not shown, so this row is last in both directions.
    facts["ranking"]["features"][3] |= {"redundancy": 0.0}
    with visit(report_page(facts)) as page:
        assert rows(page) == [1, 2, 3, 4, 5]
        # alpha, bravo, charlie, delta, Echo
        assert (sorted_by(page, "feature"), rows(page)) == ("ascending", [2, 4, 5, 1, 3])
        assert (sorted_by(page, "feature"), rows(page)) == ("descending", [3, 1, 5, 4, 2])
        by_score = {sorted_by(page, "score"): rows(page), sorted_by(page, "score"): rows(page)}
        assert by_score == {"ascending": [3, 1, 2, 5, 4], "descending": [4, 5, 2, 1, 3]}
        found = {
            sorted_by(page, "redundancy"): rows(page),
            sorted_by(page, "redundancy"): rows(page),
        }
        assert found == {"ascending": [5, 2, 1, 3, 4], "descending": [3, 1, 2, 5, 4]}
        by_rank = {sorted_by(page, "rank"): rows(page), sorted_by(page, "rank"): rows(page)}
        assert by_rank == {"ascending": [1, 2, 3, 4, 5], "descending": [5, 4, 3, 2, 1]}


def test_only_the_sorted_column_reports_a_direction(visit):
    with visit(usual_page()) as page:
        sorted_by(page, "feature")
        directions = page.evaluate(
            "() => [...document.querySelectorAll('[aria-sort]')].map(e => "
            "e.getAttribute('aria-sort'))"
        )
        assert sorted(directions)[0] == "ascending"
        assert [one for one in directions if one != "none"] == ["ascending"]


def test_features_without_a_finite_score_come_last_when_sorted_by_score(visit):
    facts = report_facts(["a", "b", "c", "d"])
    facts["ranking"]["features"][3] |= {"score": None, "flag": "unscorable", "strength": 0.0}
    with visit(report_page(facts)) as page:
        orders = {sorted_by(page, "score"): rows(page), sorted_by(page, "score"): rows(page)}
    assert orders == {"descending": [1, 2, 3, 4], "ascending": [3, 2, 1, 4]}


def test_sorting_from_the_keyboard(visit):
    with visit(usual_page()) as page:
        page.locator("[data-sort=feature]").focus()
        page.keyboard.press("Enter")
        # 00000 is at position 0, and 00001 at position 79: 79 · 7919 = 625601.
        assert rows(page)[:2] == [1, 80]


def test_the_search_is_for_plain_text_and_ignores_case(visit):
    names = ["Blood pressure", "pressure (low)", "a.b", "acb", "[x]", "ÄRGER", "weight"]
    with visit(report_page(report_facts(names))) as page:
        assert searched(page, "PRESSURE", 2) == [1, 2]
        assert searched(page, "a.b", 1) == [3]
        assert searched(page, "(low", 1) == [2]
        assert searched(page, "[x]", 1) == [5]
        assert searched(page, "ärger", 1) == [6]
        assert searched(page, "nothing like it", 0) == []
        assert searched(page, "", 7) == [1, 2, 3, 4, 5, 6, 7]
        assert counted(page) == (7, 7)


def test_filter_search_and_sort_can_be_combined(visit):
    with visit(usual_page()) as page:
        page.locator("#selected-only").check()
        page.wait_for_function(
            "() => document.querySelector('#count').textContent.includes('3 of ')"
        )
        # The selected names are 00000, 00019 and 00038: multiples of 7919 modulo 100.
        assert rows(page) == [1, 2, 3]
        assert searched(page, "9", 1) == [2]
        page.locator("#selected-only").uncheck()
        # 19 names contain a 9: ten in the tens, ten in the ones, and 99 in both.
        found = searched(page, "9", 19)
        assert found == sorted(found)
        sorted_by(page, "feature")
        # The first is 00009, at position 11: 11 · 7919 = 87109.
        assert rows(page)[0] == 12


# Many rows

LONG_TASKS = """window.longTasks = [];
new PerformanceObserver(list => { for (const entry of list.getEntries()) window.longTasks.push(entry.duration); })
    .observe({type: 'longtask', buffered: true});"""


def test_twenty_thousand_rows_are_scrolled_with_few_elements(visit, record_property):
    with visit(large_page(), at_start=LONG_TASKS) as page:
        assert counted(page) == (20_000, 20_000)
        region = page.locator("#ranking")
        assert page.locator("[data-rank]").count() < 300
        for share in (0.25, 0.5, 0.75):
            region.evaluate(
                "(e, share) => { e.scrollTop = share * (e.scrollHeight - e.clientHeight); }", share
            )
            page.wait_for_function(
                "share => [...document.querySelectorAll('#ranking [data-rank]')]"
                ".some(row => Math.abs(Number(row.dataset.rank) / 20000 - share) < 0.01)",
                arg=share,
            )
            assert page.locator("[data-rank]").count() < 300
        press(page, "End")
        wait_for_row(page, 20_000)
        press(page, "Home")
        wait_for_row(page, 1)
        record_property(
            "long_tasks_ms", [round(length) for length in page.evaluate("() => window.longTasks")]
        )


def wait_until_still(page: Any) -> None:
    """Wait until nothing has moved for some frames.

    Browsers scroll in steps, and a key that is pressed meanwhile may be lost.
    """
    page.evaluate(
        """async () => {
            const region = document.querySelector('#ranking');
            const where = () => [scrollY, region.scrollTop, region.scrollHeight, region.querySelectorAll('tr').length].join();
            for (let still = 0, before = ''; still < 5; before = where()) {
                await new Promise(requestAnimationFrame);
                still = where() === before ? still + 1 : 0;
            }
        }"""
    )


def press(page: Any, key: str) -> None:
    """Press a key on the region that scrolls."""
    page.locator("#ranking").focus()
    wait_until_still(page)
    page.keyboard.press(key)


def wait_for_row(page: Any, rank: int) -> None:
    """Wait until the row is completely visible. If it does not appear, report the visible rows."""
    from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

    try:
        page.wait_for_function(
            """rank => {
                const region = document.querySelector('#ranking');
                const row = region.querySelector(`[data-rank="${rank}"]`);
                if (!row) return false;
                const [inner, outer] = [row.getBoundingClientRect(), region.getBoundingClientRect()];
                return inner.height > 0 && outer.top <= inner.top && inner.bottom <= outer.bottom + 1;
            }""",
            arg=rank,
        )
    except PlaywrightTimeoutError:
        there = page.evaluate(
            """() => {
                const region = document.querySelector('#ranking');
                return {scrollTop: region.scrollTop, scrollHeight: region.scrollHeight, clientHeight: region.clientHeight,
                    focus: document.activeElement.id};
            }"""
        )
        pytest.fail(f"row {rank} is not visible: {there}, rows {rows(page)}")


def test_twenty_thousand_rows_are_sorted_and_searched(visit, record_property):
    place = next(i for i in range(20_000) if 7919 * i % 20_000 == 12_345)
    with visit(large_page(), at_start=LONG_TASKS) as page:
        assert sorted_by(page, "feature") == "ascending"
        first = [
            next(i for i in range(20_000) if 7919 * i % 20_000 == number) + 1 for number in range(3)
        ]
        assert rows(page)[:3] == first
        assert searched(page, "column 12345", 1) == [place + 1]
        record_property(
            "long_tasks_ms", [round(length) for length in page.evaluate("() => window.longTasks")]
        )


def test_every_row_is_shown_while_scrolling(visit):
    """Scrolling down by four fifths of the visible height shows every rank."""
    with visit(report_page(report_facts(plain_names(200)))) as page:
        region = page.locator("#ranking")
        seen = set(rows(page))
        for _ in range(50):
            before = region.evaluate("e => e.scrollTop")
            region.evaluate("e => { e.scrollTop += 0.8 * e.clientHeight; }")
            wait_until_still(page)
            seen |= set(rows(page))
            if region.evaluate("e => e.scrollTop") == before:
                break
        assert seen == set(range(1, 201))


def test_the_last_row_is_reached_after_resizing_and_printing(visit):
    with visit(report_page(report_facts(plain_names(500)))) as page:
        for width in (360, 1000):
            page.set_viewport_size({"width": width, "height": 740})
            for media in ("print", "screen"):
                page.emulate_media(media=media)
                wait_until_still(page)
            press(page, "End")
            wait_for_row(page, 500)
            press(page, "Home")
            wait_for_row(page, 1)


# Accessibility, phones and print


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", [usual_page, hostile_page], ids=["usual", "hostile"])
def test_axe_finds_no_violations(visit, which, scheme, options):
    # The policy of the page forbids other scripts, such as axe-core.
    with visit(which(), color_scheme=scheme, bypass_csp=True, **options) as page:
        page.evaluate("() => document.querySelectorAll('details').forEach(e => { e.open = true; })")
        assert accessibility_violations(page) == []


def test_axe_finds_no_violations_after_interaction(visit):
    with visit(usual_page(), bypass_csp=True) as page:
        sorted_by(page, "score")
        page.locator("#selected-only").check()
        assert accessibility_violations(page) == []
        searched(page, "nothing like it", 0)
        assert accessibility_violations(page) == []


@pytest.mark.parametrize(
    "which", [usual_page, hostile_page, large_page], ids=["usual", "hostile", "large"]
)
def test_a_phone_does_not_scroll_sideways(visit, which):
    with visit(which(), **PHONE) as page:
        page.evaluate("() => document.querySelectorAll('details').forEach(e => { e.open = true; })")
        wide = page.evaluate(
            """() => [...document.querySelectorAll('body *')].filter(e => {
                for (let p = e.parentElement; p !== document.documentElement; p = p.parentElement)
                    if (getComputedStyle(p).overflowX !== 'visible') return false;
                return e.checkVisibility() && e.getBoundingClientRect().right > 360.5;
            }).map(e => e.outerHTML.slice(0, 100))"""
        )
        assert wide == []
        assert page.evaluate("() => [document.documentElement.scrollWidth, window.innerWidth]") == [
            360,
            360,
        ]


def test_a_short_name_is_not_cut_off_on_a_phone(visit):
    with visit(usual_page(), **PHONE) as page:
        cut = page.evaluate(
            """() => [...document.querySelectorAll('#ranking [data-rank]')].filter(row => {
                const name = [...row.querySelectorAll('bdi')].find(name => name.textContent.startsWith('Column'));
                return name.getBoundingClientRect().right > name.closest('td').getBoundingClientRect().right;
            }).map(row => row.textContent)"""
        )
        assert cut == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_in_plots_has_contrast(visit, scheme):
    """The text in plots, which axe-core does not check, has a contrast of at least 4.5 (WCAG AA)."""
    with visit(usual_page(), color_scheme=scheme) as page:
        paper, inks = page.evaluate(
            """() => [getComputedStyle(document.body).backgroundColor,
                [...document.querySelectorAll('.plot .title, .canvas span')]
                    .map(text => getComputedStyle(text).color)]"""
        )
    assert inks
    assert {ink: contrast(ink, paper) for ink in inks if contrast(ink, paper) < 4.5} == {}


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours as defined by WCAG 2, from 1 to 21."""
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour written as rgb(…) without transparency."""
    found = re.fullmatch(r"rgb\((\d+), (\d+), (\d+)\)", colour)
    assert found is not None, colour
    shares = [int(part) / 255 for part in found.groups()]
    linear = [
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_contrast_of_known_colours():
    assert contrast("rgb(0, 0, 0)", "rgb(255, 255, 255)") == pytest.approx(21)
    assert contrast("rgb(9, 9, 9)", "rgb(9, 9, 9)") == 1


def visible_names(page: Any, names: list[str]) -> list[str]:
    """Return the names that are visible on the page."""
    text = page.locator("body").inner_text()
    return [name for name in names if name in text]


def test_print_is_light_and_has_the_first_rows_and_no_controls(visit):
    names = plain_names(100)
    with visit(usual_page(), color_scheme="dark") as page:
        page.emulate_media(media="print")
        wait_until_still(page)
        assert visible_names(page, names)[:40] == names[:40]
        for control in ("#search", "#selected-only"):
            assert not page.locator(control).is_visible()
        ink, paper = page.evaluate(
            "() => [getComputedStyle(document.body).color, "
            "getComputedStyle(document.body).backgroundColor]"
        )
        assert paper in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")
        assert contrast(ink, "rgb(255, 255, 255)") > 7


def test_rows_that_are_not_drawn_take_no_space_in_print(visit):
    """If the height of 20,000 rows were printed, it would need hundreds of sheets."""
    with visit(large_page()) as page:
        sheets = len(re.findall(rb"/Type\s*/Page\b", page.pdf()))
    assert 1 < sheets < 30


def test_nothing_is_cut_off_in_print(visit):
    """No element needs to be scrolled in print. Elements one pixel high are for screen readers."""
    with visit(usual_page(), viewport={"width": 720, "height": 1000}) as page:
        page.emulate_media(media="print")
        wait_until_still(page)
        cut = page.evaluate(
            """() => [...document.querySelectorAll('body *')].filter(e => e.checkVisibility() &&
                ['auto', 'scroll', 'hidden'].includes(getComputedStyle(e).overflowY) && !e.closest('svg') &&
                e.clientHeight > 1 && e.scrollHeight > e.clientHeight + 1).map(e => e.outerHTML.slice(0, 100))"""
        )
        assert cut == []


def test_the_first_rows_are_shown_without_javascript(visit):
    names = plain_names(100)
    with visit(usual_page(), java_script_enabled=False) as page:
        assert page.title() == "A report"
        assert visible_names(page, names)[:40] == names[:40]


# A real ranking


def test_the_page_of_a_real_ranking(visit):
    from sklearn.datasets import load_wine

    import graphsieve

    X, y = load_wine(return_X_y=True, as_frame=True)
    ranking = graphsieve.rank(X, y)
    with visit(ranking.to_html(title="Wine"), bypass_csp=True) as page:
        assert page.title() == "Wine"
        assert rows(page)[:3] == [1, 2, 3]
        for rank, name in enumerate(ranking.best(3), start=1):
            assert name in page.locator(f"#ranking [data-rank='{rank}']").first.inner_text()
        assert accessibility_violations(page) == []


# Installation of a browser


def run_without_browser(
    path: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run Python with only the commands in `path`, without a browser and without a network.

    It runs in a separate process, because playwright can be started only once per process.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if name != VARIABLE and not name.startswith("PYTEST_")
    }
    environment = {
        **kept,
        "PATH": str(path),
        "PLAYWRIGHT_BROWSERS_PATH": str(path / "none"),
        "PLAYWRIGHT_DOWNLOAD_HOST": "http://127.0.0.1:9",
        **environment,
    }
    return subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def run_installer(path: Path) -> subprocess.CompletedProcess[str]:
    return run_without_browser(path, "install_browser.py")


def command(folder: Path, name: str, *lines: str) -> Path:
    file = folder / name
    file.write_text("\n".join(["#!/bin/sh", *lines, ""]), encoding="utf-8")
    file.chmod(0o755)
    return file


posix = pytest.mark.skipif(os.name != "posix", reason="the commands of this test are shell scripts")


@posix
def test_the_installer_names_an_existing_browser(tmp_path):
    file = command(tmp_path, "chromium-browser", "exit 0")
    result = run_installer(tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == f"browser for the tests of the report: {file}\n"


@posix
def test_the_installer_ignores_a_stub_and_exits_without_an_error(tmp_path):
    command(tmp_path, "chromium-browser", "echo 'install the snap'", "exit 1")
    result = run_installer(tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    tried, conclusion = result.stdout.splitlines()
    assert "-m playwright install chromium: failed with exit code 1: " in tried
    assert conclusion.startswith("no browser: ")
    assert VARIABLE in conclusion


@posix
def test_the_installer_uses_the_package_manager(tmp_path):
    """A fake apt-get, run as root or with sudo, creates a browser in the path."""
    log = tmp_path / "log"
    command(tmp_path, "env", 'shift; exec "$@"')
    command(tmp_path, "sudo", 'shift; exec "$@"')
    made = f"printf '#!/bin/sh\\n' > {tmp_path}/chromium; /bin/chmod +x {tmp_path}/chromium"
    command(tmp_path, "apt-get", f'echo "$@" >> {log}', f'[ "$1" = update ] || {{ {made}; }}')
    result = run_installer(tmp_path)
    assert result.returncode == 0
    updated, installed, conclusion = result.stdout.splitlines()
    assert updated.endswith("apt-get update: done")
    assert installed.endswith(": done")
    assert conclusion == f"browser for the tests of the report: {tmp_path / 'chromium'}"
    assert [line.split()[0] for line in log.read_text().splitlines()] == ["update", "install"]
    assert "chromium" in log.read_text().split()


@posix
def test_a_command_that_hangs_is_stopped_with_its_children(tmp_path):
    child = tmp_path / "child"
    hanging = command(tmp_path, "hanging", f"sleep 60 & echo $! > {child}", "wait")
    assert install_browser.outcome([str(hanging)], limit=0.5) == "stopped after 0.5 seconds"
    with pytest.raises(ProcessLookupError):
        _wait_until_gone(int(child.read_text()))
    assert (
        install_browser.outcome([str(tmp_path / "absent")])
        == "could not be run (No such file or directory)"
    )


def _wait_until_gone(process: int) -> None:
    """Raise ProcessLookupError as soon as the process does not exist or is a zombie."""
    for _ in range(100):
        os.kill(process, 0)
        state = Path(f"/proc/{process}/stat")
        if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
            raise ProcessLookupError
        time.sleep(0.05)


@posix
def test_the_variable_takes_precedence_and_must_be_valid(tmp_path, monkeypatch):
    command(tmp_path, "chromium", "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv(VARIABLE, str(tmp_path / "absent"))
    assert any_browser() is None
    monkeypatch.setenv(VARIABLE, str(command(tmp_path, "mine", "exit 0")))
    assert any_browser() == str(tmp_path / "mine")
    result = run_without_browser(
        tmp_path,
        "-c",
        "import browser\nwith browser.started(): pass",
        **{VARIABLE: str(tmp_path / "absent")},
    )
    assert re.search(
        f"RuntimeError: {VARIABLE} is '.*absent', which does not start as a browser", result.stderr
    )


def test_without_a_browser_the_tests_are_skipped_with_a_reason(tmp_path):
    arguments = (
        "-m",
        "pytest",
        "-q",
        "-rs",
        "-p",
        "no:cacheprovider",
        "-k",
        "opens_without",
        __file__,
    )
    result = run_without_browser(tmp_path, *arguments)
    assert result.returncode == 0, result.stdout
    assert re.search(rf"SKIPPED \[2\] .*{re.escape(NO_BROWSER)}", result.stdout), result.stdout

"""The report page: its content, escaped names, security policy and size."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import math
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsieve.report import ranking_table as table
from graphsieve.report.cut import cut_section
from graphsieve.report.matrix import redundancy_section
from graphsieve.report.notebook import fragment
from graphsieve.report.page import page
from graphsieve.report.pictures import group_looks, of_selected, pictures_section
from graphsieve.report.plot import Axis, area, dots, padded, ticks
from graphsieve.report.ranking_table import as_json
from graphsieve.report.wording import (
    block,
    counted,
    listed,
    number,
    redundancy_percent,
    redundancy_text,
    sentence,
    shown,
    thousands,
)

HOSTILE = [
    '</script><script>document.title="owned"</script>',
    "<img src=x onerror=alert(1)>",
    "${alert(1)}",
    "{{constructor}}",
    "long " + "n" * 10_000,
    "a\x00b\x07\n\tc",
    "\u202eesrever\u2066",
    "lone \ud800 surrogate",
    "\"'`&amp;<b>",
    " ",
    "",
    "\u2028line\u2029",
    "<!--",
    "]]>",
    "__proto__",
    "مرحبا",
]


def ranking_of(
    names, *, scores=None, n_selected=3, choice=False, good="large", flags=None, method="fisher"
):
    """Return the facts of a ranking of features with these names, best first."""
    n = len(names)
    scores = [1 - place / n for place in range(n)] if scores is None else scores
    flags = [None] * n if flags is None else flags
    records = [
        {
            "feature": one,
            "rank": place + 1,
            "rank_min": place + 1,
            "score": scores[place],
            "selected": place < n_selected,
            "flag": flags[place],
            "strength": 1 - place / n,
        }
        for place, one in enumerate(names)
    ]
    if choice:
        for place, record in enumerate(records):
            record["gain"] = 0.5 / (place + 1) if place % 7 else None
            record["redundancy"] = (place % 10) / 10 if place else None
            record["closest"] = names[place % n_selected] if place >= n_selected else None
            record["closest_correlation"] = 0.5 if place >= n_selected else None
    return {
        "schema": 1,
        "method": method,
        "reason": "as requested",
        "summary": "has class means far apart and tight classes",
        "reference": "Duda, Hart, Stork 2000",
        "good": good,
        "n_samples": 60,
        "n_features": n,
        "n_neighbors": None,
        "bandwidth": None,
        "count_reason": None,
        "features": records,
    }


def portraits_of(names, *, classes=None, target=None, graph=False, n_points=50):
    points = [(place + 1) / n_points for place in range(n_points)]
    n_groups = 1 if classes is None else len(classes)
    features = [
        {
            "feature": one,
            "low": -1.5,
            "high": 2.25,
            "histogram": {
                "edges": [i / 8 for i in range(17)],
                "counts": [[i + group for i in range(16)] for group in range(n_groups)],
            },
            "scatter": {"x": points, "y": points} if target is not None else None,
            "along_graph": {"x": points, "y": points, "share": 0.83} if graph else None,
        }
        for one in names
    ]
    n = len(names)
    values = [[1.0 if i == j else 0.9 - 0.1 * abs(i - j) for j in range(n)] for i in range(n)]
    return {
        "n_samples": 60,
        "n_drawn": 60,
        "classes": classes,
        "target": target,
        "features": features,
        "correlations": {"features": list(names), "values": values},
    }


def comparison_of(names):
    series = [
        {"name": one, "x": [1, 2, 5], "y": [0.5, None, 0.75], "standard_error": [0.1, None, 0.1]}
        for one in names
    ]
    curve = {
        "label": names[0],
        "title": names[1],
        "x_label": names[2],
        "y_label": names[0],
        "note": names[1],
        "series": series,
    }
    agreement = [[1.0 if i == j else -0.25 for j in range(len(names))] for i in range(len(names))]
    return {
        "methods": list(names),
        "agreement": agreement,
        "agreement_text": names[0],
        "curves": [curve],
        "text": [names[1]],
    }


def facts_of(names, **changes):
    """Return facts in which every text is one of the names."""
    base = {
        "schema": 1,
        "title": names[0],
        "ranking": ranking_of(names, n_selected=min(12, len(names) - 1), choice=True),
        "table": {
            "name": names[0],
            "format": names[1],
            "n_rows": 60,
            "n_columns": 20,
            "n_features": 18,
            "notes": [names[2]],
            "left_out": [{"column": one, "why": names[0]} for one in names[:8]],
        },
        "known": {
            "text": names[1],
            "target": names[2],
            "kind": "labels",
            "classes": [{"name": one, "n": 30} for one in names[:2]],
        },
        "portraits": portraits_of(names[:12], classes=[*names[:2], "unlabelled"]),
        "comparison": comparison_of(names[:4]),
        "done": {
            "parameters": [[names[0], names[1]]],
            "versions": [[names[2], names[3]]],
            "warnings": [names[0], names[1]],
        },
        "repeat": {"command": names[0], "python": names[1] + "\n" + names[2]},
    }
    return {**base, **changes}


def plain_facts(n=16, **changes):
    return facts_of([f"feature {place}" for place in range(n)], **changes)


def bare_facts(**changes):
    empty = {"table": None, "known": None, "portraits": None, "comparison": None, "repeat": None}
    return plain_facts(
        done={"parameters": [], "versions": [], "warnings": []}, **{**empty, **changes}
    )


class Reader(HTMLParser):
    """Read the elements of a page with their attributes, its text and its scripts.

    It also checks that every element is closed in order.
    """

    EMPTY = ("meta", "input", "link", "br")

    def __init__(self, text):
        super().__init__()
        self.elements, self.ids, self.links, self.open, self.text, self.scripts, self.attributes = (
            [],
            [],
            [],
            [],
            [],
            [],
            [],
        )
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, tuple(name for name, _ in attrs)))
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id"]
        self.links += [value for name, value in attrs if name == "href"]
        if tag == "script":
            self.scripts.append([dict(attrs).get("type"), ""])
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, tuple(name for name, _ in attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1][1] += data
        else:
            self.text.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    @property
    def words(self):
        return " ".join("".join(self.text).split())


def rows_of(text):
    """Return the data of the table, as the script reads them."""
    (data,) = [content for kind, content in Reader(text).scripts if kind == "application/json"]
    return json.loads(data, parse_constant=lambda constant: pytest.fail(f"{constant} is not JSON"))


# Names are never markup.


def test_names_are_never_markup():
    """A page with hostile names has the same elements, with the same attributes, as one with
    harmless names.
    """
    for show in (page, fragment):
        harmless, hostile = Reader(show(plain_facts(len(HOSTILE)))), Reader(show(facts_of(HOSTILE)))
        assert len(hostile.elements) > 60
        assert hostile.elements == harmless.elements
        assert hostile.ids == harmless.ids
    assert (
        '</script><script>document.title="owned"</script>' in Reader(page(facts_of(HOSTILE))).words
    )


@given(st.lists(st.text(min_size=1), min_size=16, max_size=16, unique=True))
def test_no_text_becomes_markup(names):
    harmless = Reader(page(plain_facts(16)))
    assert [tag for tag, _ in Reader(page(facts_of(names))).elements] == [
        tag for tag, _ in harmless.elements
    ]


def test_pages_can_be_encoded_for_any_text():
    for text in (page(facts_of(HOSTILE)), fragment(facts_of(HOSTILE))):
        assert text.encode("utf-8").decode("utf-8") == text
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\u2028\u2029]", text)


def test_names_in_the_data_cannot_end_the_data():
    text = page(facts_of(HOSTILE))
    (data,) = re.findall(
        r'<script type="application/json" id="rows">(.*?)</script>', text, flags=re.S
    )
    assert not set(data) & set("<>&\u2028\u2029\n")
    assert rows_of(text)["names"] == [shown(name) for name in HOSTILE]
    assert rows_of(text)["names"][0] == HOSTILE[0]


def test_json_in_a_page_has_the_same_values():
    value = {"a": ["</script>", "<!--", "&amp;", "\u2028", 'q"\\'], "b": [1, 0.5, None]}
    assert json.loads(as_json(value)) == value
    assert not set(as_json(value)) & set("<>&\u2028\u2029")
    with pytest.raises(ValueError, match="JSON compliant"):
        as_json(math.nan)


def test_long_names_keep_both_ends():
    name = "start" + "x" * 10_000 + "end"
    assert len(shown(name)) == 100
    assert shown(name).startswith("startx")
    assert shown(name).endswith("xend")
    assert shown("as it is") == "as it is"
    assert shown(" ") == shown("") == "(no name)"
    assert shown("a\u202eb\nc") == "a·b·c"
    assert sentence("two\n lines & more") == "two lines &amp; more"
    assert block("if a < b:\n\tpass\x07") == "if a &lt; b:\n\tpass·"
    for text in (page(facts_of(HOSTILE)), fragment(facts_of(HOSTILE))):
        assert "n" * 1_000 not in text


# Security policy.


def test_the_policy_allows_this_one_script_and_no_request():
    text = page(facts_of(HOSTILE))
    reader = Reader(text)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1]
    (script,) = [content for kind, content in reader.scripts if kind is None]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert dict(directive.split(" ", 1) for directive in policy.split("; ")) == {
        "default-src": "'none'",
        "style-src": "'unsafe-inline'",
        "script-src": f"'sha256-{digest}'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert text.index("Content-Security-Policy") < text.index("<style")
    assert not [
        name
        for name, _ in reader.attributes
        if name.startswith("on") or name in ("src", "srcset", "action")
    ]
    assert "innerHTML" not in script
    assert not re.search(r"https?:|url\(|@import|<iframe", page(plain_facts()))


def test_ids_are_unique_and_links_lead_to_them():
    reader = Reader(page(plain_facts()))
    assert len(set(reader.ids)) == len(reader.ids)
    inner = [link[1:] for link in reader.links if link.startswith("#")]
    assert inner == ["features", "cut", "values", "correlations", "compared", "done", "again"]
    assert set(inner) <= set(reader.ids)
    assert {"search", "selected-only", "ranking", "count", "rows"} <= set(reader.ids)
    assert {value for name, value in reader.attributes if name == "data-sort"} == {
        "rank",
        "feature",
        "score",
        "gain",
        "redundancy",
    }


def test_pages_are_reproducible_and_do_not_change_the_facts():
    facts = plain_facts()
    before = copy.deepcopy(facts)
    assert page(facts) == page(json.loads(json.dumps(facts)))
    assert fragment(facts) == fragment(json.loads(json.dumps(facts)))
    assert facts == before


@pytest.mark.parametrize(("n", "limit"), [(1_000, 1_000_000), (20_000, 2_000_000)])
def test_pages_stay_small(n, limit):
    names = [f"probe_{place:06d}_at" for place in range(n)]
    portraits = portraits_of(
        names[:24], classes=None, target={"name": "y", "low": 0.0, "high": 1.0}, n_points=400
    )
    scores = [1 / (place + math.pi) for place in range(n)]
    facts = facts_of(
        names,
        ranking=ranking_of(names, scores=scores, n_selected=50, choice=True),
        portraits=portraits,
    )
    text = page(facts)
    assert rows_of(text)["names"] == names
    assert len(text.encode()) < limit
    assert len(fragment(facts).encode()) < 20_000


# The sections.


def test_all_sections_are_shown_if_they_have_content():
    words = Reader(page(plain_facts())).words
    for heading in (
        "Scores and cut-off",
        "Values of the selected features",
        "Correlations between the selected features",
        "Comparison of methods",
        "Details",
        "Reproduce this result",
        "Warnings",
    ):
        assert words.count(heading) == 1


def test_sections_without_content_are_left_out():
    reader = Reader(page(bare_facts()))
    assert [link for link in reader.links if link.startswith("#")] == ["#features", "#cut"]
    for absent in (
        "Values of",
        "Correlations",
        "Comparison",
        "Details",
        "Reproduce",
        "Warnings",
        "None",
    ):
        assert absent not in reader.words


@pytest.mark.parametrize(
    ("change", "sections"),
    [
        ({"portraits": portraits_of(["feature 0", "feature 1"])}, ["values", "correlations"]),
        ({"portraits": portraits_of(["feature 0"])}, ["values"]),
        ({"comparison": comparison_of(["a", "b", "c"])}, ["compared"]),
        ({"comparison": {**comparison_of(["a", "b", "c"]), "curves": None}}, ["compared"]),
        ({"repeat": {"command": None, "python": "rank(X)"}}, ["again"]),
        ({"repeat": {"command": None, "python": None}}, []),
        ({"done": {"parameters": [["k", "5"]], "versions": [], "warnings": []}}, ["done"]),
    ],
)
def test_each_section_can_be_shown_alone(change, sections):
    reader = Reader(page({**bare_facts(), **change}))
    assert [link for link in reader.links if link.startswith("#")] == [
        "#features",
        "#cut",
        *(f"#{one}" for one in sections),
    ]


def test_the_selected_features_come_first():
    facts = bare_facts(ranking=ranking_of(list("abcdefghijklmn"), n_selected=12))
    assert (
        "12 of 14 features selected: a, b, c, d, e, f, g, h and 4 more."
        in Reader(page(facts)).words
    )
    assert (
        "12 of 14 features selected: a, b, c, d, e, f, g, h and 4 more."
        in Reader(fragment(facts)).words
    )
    one = bare_facts(ranking=ranking_of(["a", "b"], n_selected=1))
    assert "1 of 2 features selected: a." in Reader(page(one)).words
    none = bare_facts(ranking=ranking_of(["a", "b"], n_selected=0))
    assert "None of 2 features selected." in Reader(page(none)).words


def test_the_reason_is_not_repeated():
    ranking = {**ranking_of(["a", "b", "c", "d"]), "reason": "9 of 60 labels are known"}
    known = {"text": "9 of 60 labels are known", "target": None, "kind": "labels", "classes": None}
    assert (
        Reader(page(bare_facts(ranking=ranking, known=known))).words.count(
            "9 of 60 labels are known"
        )
        == 1
    )
    assert "Reason: 9 of 60 labels are known." in Reader(page(bare_facts(ranking=ranking))).words
    counted_why = {**ranking, "count_reason": "the first gap"}
    assert "Number of featuresThe first gap." in Reader(page(bare_facts(ranking=counted_why))).words


def test_long_lists_are_collapsed():
    few, many = ([{"column": f"c{i}", "why": "text"} for i in range(n)] for n in (5, 6))
    table_facts = plain_facts()["table"]
    assert "<details open>" in page(bare_facts(table={**table_facts, "left_out": few}))
    folded = page(bare_facts(table={**table_facts, "left_out": many}))
    assert "<details>" in folded
    assert "6 columns excluded" in folded


# The table.


def test_the_data_equal_the_records():
    ranking = plain_facts(30)["ranking"]
    rows = rows_of(page(plain_facts(30)))
    for place, record in enumerate(ranking["features"]):
        assert rows["names"][place] == record["feature"]
        assert float(rows["scores"][place]) == pytest.approx(record["score"], rel=5e-4)
        assert rows["bars"][place] == pytest.approx(1000 * record["strength"], abs=0.5)
        assert (place in rows["selected"]) == record["selected"]
        assert rows["gains"][place] == ("" if record["gain"] is None else number(record["gain"], 2))
        text = (
            f"{rows['percents'][rows['redundancy'][place]]} % "
            f"(closest: {rows['names'][rows['of'][place]]})"
            if rows["redundancy"][place]
            else ""
        )
        assert text == redundancy_text(record["redundancy"], record["closest"])
    shares = [record["redundancy"] or 0 for record in ranking["features"]]
    shown = [place for place in range(30) if rows["redundancy"][place]]
    assert len(shown) > 5
    for one in shown:  # The codes have the same order as the shares.
        for other in shown:
            assert (rows["redundancy"][one] < rows["redundancy"][other]) == (
                shares[one] < shares[other]
            )


def test_redundancies_near_100_percent_are_sorted_correctly():
    names = list("abcdefgh")
    ranking = ranking_of(names, choice=True)
    shares = [None, 0.1, 0.3, 0.994, 0.9972, 0.99996, 1 - 1e-12, 0.95]
    for record, share in zip(ranking["features"], shares, strict=True):
        record.update(redundancy=share, closest="a")
    rows = rows_of(page(bare_facts(ranking=ranking)))
    assert rows["percents"] == ["", "30", "95", "99", "99.72", "over 99.99", "100"]
    assert rows["redundancy"] == [0, 0, 1, 3, 4, 5, 6, 2]


def test_scores_that_are_not_finite_are_words():
    flags = ["infinite", None, None, "unscorable"]
    ranking = ranking_of(list("abcd"), scores=[None, 2.0, -1e-9, None], flags=flags)
    rows = rows_of(page(bare_facts(ranking=ranking)))
    assert rows["scores"] == ["∞", "2", "−1e−09", "not scored"]
    assert "redundancy" not in rows
    assert "gains" not in rows
    assert not re.search(
        r"\b(nan|inf)\b", Reader(page(bare_facts(ranking=ranking))).words, flags=re.IGNORECASE
    )


def test_the_first_rows_need_no_script():
    facts = bare_facts(ranking=ranking_of([f"f{i}" for i in range(100)]))
    text = page(facts)
    assert [int(rank) for rank in re.findall(r'<tr data-rank="(\d+)"', text)] == list(range(1, 41))
    assert text.count("<tr data-rank") == text.count('<td class="bar">') == 40
    assert "… and 60 more features." in text
    assert len(re.findall(r'<tr data-rank="\d+" aria-rowindex="\d+" class=chosen', text)) == 3


def test_a_page_has_a_limited_number_of_rows_and_reports_it(monkeypatch):
    monkeypatch.setattr(table, "ROWS_IN_ALL", 5)
    text = page(bare_facts(ranking=ranking_of(list("abcdefgh"), choice=True, n_selected=2)))
    assert rows_of(text)["names"] == list("abcde")
    assert "The first 5 of 8 features are listed." in text


def test_the_closest_feature_may_be_beyond_the_rows(monkeypatch):
    monkeypatch.setattr(table, "ROWS_IN_ALL", 2)
    ranking = ranking_of(list("abcd"), choice=True)
    ranking["features"][1].update(redundancy=0.5, closest="d")
    assert rows_of(page(bare_facts(ranking=ranking)))["redundancy"] == [0, 0]


# The cut-off.


def cut_words(**options):
    return Reader(cut_section(ranking_of(**options))).words


def test_the_cut_off_in_words():
    words = cut_words(names=list("abcd"), scores=[0.9, 0.75, 0.5, 0.25], n_selected=2)
    assert (
        "2 features selected, 2 not selected. The last selected feature, b, has the score 0.75. The "
        "next feature, c, has the score 0.5." in words
    )
    assert "Ties" not in words
    tied = cut_words(names=list("abcd"), scores=[0.9, 0.5, 0.5, 0.25], n_selected=2)
    assert "The two scores are equal." in tied
    close = cut_words(names=list("abcd"), scores=[0.9, 0.50001, 0.50000, 0.25], n_selected=2)
    assert "b, has the score 0.50001. The next feature, c, has the score 0.5." in close
    assert "All 4 features are selected, so there is no cut-off." in cut_words(
        names=list("abcd"), n_selected=4
    )


def test_features_that_are_not_drawn_are_counted():
    flags = ["infinite", None, None, "unscorable", "unscorable"]
    words = cut_words(
        names=list("abcde"), scores=[None, 2.0, 1.0, None, None], flags=flags, n_selected=1
    )
    assert "a, has the score ∞. The next feature, b, has the score 2." in words
    assert "2 features could not be scored and rank last." in words
    assert "1 feature with an infinite score is not drawn." in words
    few = ranking_of(list("ab"), scores=[1.0, None], flags=[None, "unscorable"], n_selected=1)
    assert cut_section(few) == ""


def test_in_a_selection_order_there_is_no_threshold():
    ranking = ranking_of(list("abcd"), scores=[0.9, 0.1, 0.5, 0.05], choice=True, n_selected=2)
    for record, strength in zip(ranking["features"], (1.0, 0.06, 0.53, 0.0), strict=True):
        record["strength"] = strength
    words = Reader(cut_section(ranking)).words
    assert "2 features selected, 2 not selected." in words
    assert (
        "1 feature that was not selected has a higher score than the selected feature with the "
        in words
    )
    assert "The last selected feature" not in words


def test_dots_are_at_their_scores():
    """The horizontal axis of four features is from 1/2 to 9/2, so the dots are at 1/8, 3/8, 5/8
    and 7/8. The vertical axis is from 0 to the largest score + 5 %.
    """
    drawn = cut_section(ranking_of(list("abcd"), scores=[1.0, 0.5, 0.25, 0.0], n_selected=2))
    rest, chosen = (
        re.search(rf'<path class="dots {kind} large" d="([^"]*)"', drawn)[1]
        for kind in ("rest", "chosen")
    )
    assert chosen == f"M125 {1000 * (1 - 1 / 1.05):.0f}h0M375 {1000 * (1 - 0.5 / 1.05):.0f}h0"
    assert rest == f"M625 {1000 * (1 - 0.25 / 1.05):.0f}h0M875 1000h0"
    assert re.search(r'<path class="cut" d="M500 0V1000"', drawn)


def test_many_scores_are_drawn_as_a_short_path():
    n = 20_000
    drawn = cut_section(ranking_of([f"f{i}" for i in range(n)], n_selected=30))
    kept, left = (
        re.search(rf'<path class="line {kind}" d="M([^"]*)"', drawn)[1].split("L")
        for kind in ("chosen", "rest")
    )
    assert len(kept) == 30
    assert 100 < len(left) <= 400
    assert kept[-1] == left[0]  # the colours meet at the cut
    assert len(drawn) < 20_000


@pytest.mark.parametrize(
    "scores",
    [
        [0.5] * 9,
        [0.0] * 9,
        [1.7e308, *[0.0] * 7, -1.7e308],
        [5e-324, *[0.0] * 8],
        [1e8 + 1, *[1e8] * 8],
    ],
)
@pytest.mark.parametrize("choice", [False, True])
def test_any_scores_can_be_drawn(scores, choice):
    drawn = cut_section(ranking_of(list("abcdefghi"), scores=scores, choice=choice))
    assert drawn.count("h0") == 9
    assert not re.search("nan|inf", drawn)
    heights = [int(height) for height in re.findall(r"M\d+ (-?\d+)h0", drawn)]
    assert all(0 <= height <= 1000 for height in heights)


# The plots.


def test_a_histogram_is_drawn_to_its_own_height():
    portraits = portraits_of(["a"], classes=["yes", "no"])
    portraits["features"][0]["histogram"] = {"edges": [0, 1, 2], "counts": [[1, 2], [0, 0]]}
    drawn = pictures_section(portraits, ranking_of(["a", "b"]))
    assert re.findall(r'<path class="area (g\d)" d="([^"]*)"', drawn) == [
        ("g0", "M0 1000V500H500V0H1000V1000z"),
        ("g1", "M0 1000V1000H500V1000H1000V1000z"),
    ]
    words = Reader(drawn).words
    assert "1a" in words
    assert "−1.5" in words
    assert "2.25" in words


def test_groups_have_colours_and_the_unlabelled_are_grey():
    assert group_looks(["a", "b", "unlabelled"]) == ["g0", "g1", "rest"]
    assert group_looks(["unlabelled", "b"]) == ["g0", "g1"]
    assert group_looks(None) == ["g0"]
    assert len(set(group_looks(list("abcdef")))) == 6


def test_plots_have_descriptions():
    ranking = ranking_of(["a", "b", "c"])
    scatter = pictures_section(
        portraits_of(["a"], target={"name": "fat", "low": 0.9, "high": 58.5}), ranking
    )
    assert "fat on the vertical axis, from 0.9 to 58.5." in Reader(scatter).words
    graph = pictures_section(portraits_of(["a"], graph=True), ranking)
    assert "83 %" in Reader(graph).words
    assert (
        'aria-label="a: values from −1.5 to 2.25; its neighbours explain 83 % of its variance"'
        in graph
    )
    assert (
        "The first 1 are shown."
        not in Reader(pictures_section(portraits_of(["a", "b", "c"]), ranking)).words
    )
    assert (
        "The first 2 are shown."
        in Reader(pictures_section(portraits_of(["a", "b"]), ranking)).words
    )
    some = {**portraits_of(["a"]), "n_samples": 50_000, "n_drawn": 2_000}
    assert "The plots show 2000 of 50\u202f000 samples." in "".join(
        Reader(pictures_section(some, ranking)).text
    )
    assert pictures_section({**portraits_of([]), "features": []}, ranking) == ""


def test_only_selected_features_are_drawn():
    names = list("abcd")
    portraits = portraits_of(names)
    ranking = ranking_of(names, n_selected=2)
    kept = of_selected(portraits, ranking)
    assert (
        [one["feature"] for one in kept["features"]]
        == kept["correlations"]["features"]
        == ["a", "b"]
    )
    assert kept["correlations"]["values"] == [[1.0, 0.8], [0.8, 1.0]]
    assert len(of_selected(portraits, ranking_of(names, n_selected=0))["features"]) == 4
    drawn = page(bare_facts(ranking=ranking, portraits=portraits))
    assert drawn.count('<li class="card">') == 2


def test_dots_and_areas_are_drawn_from_shares():
    assert (
        dots([(0.0, 0.0), (0.25, 1.0)], "chosen")
        == '<path class="dots chosen" d="M0 1000h0M250 0h0"/>'
    )
    assert (
        area([(0.0, 0.5), (1.0, 1.0)], "rest")
        == '<path class="area rest" d="M0 1000L0 500L1000 0L1000 1000Z"/>'
    )
    assert dots([], "rest") == area([], "rest") == ""


# The correlations.


def test_correlations_as_colours_and_in_words():
    values = [[1.0, 0.9966, -0.71], [0.9966, 1.0, 0.001], [-0.71, 0.001, 1.0]]
    drawn = redundancy_section({"features": ["a", "b", "c"], "values": values})
    cells = re.findall(
        r'<td class="(plus|minus)" style="--r:([\d.]+)" title="([^"]+)"><span>([^<]+)<', drawn
    )
    assert [(sign, share, text) for sign, share, _, text in cells] == [
        ("plus", "1.00", "0.997"),
        ("minus", "0.71", "−0.71"),
        ("plus", "1.00", "0.997"),
        ("plus", "0.00", "0"),
        ("minus", "0.71", "−0.71"),
        ("plus", "0.00", "0"),
    ]
    assert cells[1][2] == "a and c: −0.71"
    assert "Strongest correlations: a and b (0.997); a and c (−0.71)." in Reader(drawn).words
    weak = redundancy_section({"features": ["a", "b"], "values": [[1.0, -0.3], [-0.3, 1.0]]})
    assert (
        "No correlation is beyond ±0.7. The strongest is between a and b (−0.30)."
        in Reader(weak).words
    )
    assert redundancy_section({"features": ["a"], "values": [[1.0]]}) == ""


def test_curves_of_a_comparison_are_drawn():
    text = page(
        bare_facts(comparison=comparison_of(["auto", "fisher", "random columns", "all columns"]))
    )
    assert re.findall(r'<path class="line (k[^"]+)"', text) == ["k0", "k1", "kr", "kr dash"]
    assert "−0.25" in text


# The fragment.


def test_a_fragment_does_not_affect_the_notebook():
    text = fragment(plain_facts(50))
    reader = Reader(text)
    tags = {tag for tag, _ in reader.elements}
    assert tags <= {
        "div",
        "p",
        "strong",
        "bdi",
        "span",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    assert not reader.ids
    assert text.count("<tr ") == 20
    assert "… and 30 more features." in reader.words
    assert "redundancy" in reader.words
    assert re.findall(r"width:([\d.]+)em;background", text)[0] == "9.00"
    short = fragment(bare_facts(ranking=ranking_of(["a", "b"], n_selected=1)))
    assert "more feature" not in short
    assert "redundancy" not in short


# Words and numbers.


def test_numbers_and_lists_are_readable():
    assert [number(value) for value in (0.123456, -2.0, 1e-12, -0.0, 123456.0)] == [
        "0.1235",
        "−2",
        "1e−12",
        "0",
        "1.235e+05",
    ]
    assert [thousands(value) for value in (0, 9999, 10_000, 1_234_567)] == [
        "0",
        "9999",
        "10\u202f000",
        "1\u202f234\u202f567",
    ]
    assert [counted(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
    assert [listed(list("abcde")[:n], 3) for n in range(6)] == [
        "",
        "a",
        "a and b",
        "a, b and c",
        "a, b, c and d",
        "a, b, c and 2 more",
    ]


@given(st.floats(0, 1))
def test_a_redundancy_is_shown_from_20_percent_on(share):
    percent = redundancy_percent(share)
    assert (percent is None) == (share < 0.2)
    if percent is not None and percent != "over 99.99":
        assert abs(float(percent) - 100 * share) <= 0.5


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_axes_contain_their_values(one, other):
    low, high = padded(min(one, other), max(one, other))
    axis = Axis(low, high)
    for value in (one, other):
        assert -1e-9 <= axis.place(value) <= 1 + 1e-9
    assert all(-1e-6 <= place <= 1 + 1e-6 for place, _ in axis.marks(5))
    assert 1 <= len(ticks(low, high)) <= 9


def test_axes_by_hand():
    assert Axis(10, 20).place(12.5) == 0.25
    logarithmic = Axis(1, 10_000, logarithmic=True)
    assert logarithmic.place(100) == pytest.approx(0.5)
    assert [text for _, text in logarithmic.marks(6)] == ["1", "10", "100", "1000", "10000"]
    assert [text for _, text in Axis(0.5, 13.5, whole=True).marks(6)] == ["5", "10"]
    assert [text for _, text in Axis(-1, 1).marks(4)] == ["−1", "−0.5", "0", "0.5", "1"]


def test_levels_are_shown_with_their_sizes_and_never_as_markup():
    portraits = {
        **portraits_of(["a"], classes=["x", "y"]),
        "features": [
            {
                "feature": "job",
                "levels": [
                    {"level": "<b>", "counts": [3, 1], "quartiles": None},
                    {"level": "none", "counts": [0, 0], "quartiles": None},
                ],
            }
        ],
    }
    text = pictures_section(portraits, ranking_of(["job"]))
    assert "<b>" not in text
    assert re.findall(r'class="(g.)" style="width:([\d.]+)%"', text) == [
        ("g0", "75.0"),
        ("g1", "25.0"),
        ("g0", "0.0"),
        ("g1", "0.0"),
    ]
    assert re.findall(r'<span class="n">(\d+)</span>', text) == ["4", "0"]
    assert "A category has one bar per level, which shows the shares of the groups." in text


def test_the_columns_of_a_group_are_named():
    ranking = ranking_of(["band"])
    ranking["features"][0]["columns"] = [f"w{j}" for j in range(9)]
    text = pictures_section(portraits_of(["band"]), ranking)
    assert "First principal component of w0, w1, w2, w3, w4, w5 and 3 more" in text

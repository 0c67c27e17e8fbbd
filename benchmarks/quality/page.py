"""Render docs/quality*.md and a block of README.md from the stored results (`results.py`)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from quality import tables
from quality.markdown import bold_term, items, joined, paragraphs, table
from quality.results import Section
from quality.tables import RIVALS, Summary, signed
from quality.verdicts import (
    AHEAD,
    ALL_REGIMES,
    EVERY,
    EXPERT,
    FEW,
    GROUPS,
    KNOWN,
    KNOWN_SUFFIX,
    LEVEL,
    NONE,
    PAIRS,
    VERDICTS,
    Case,
    Regime,
    amounts_of,
    cases,
    in_words,
    where,
)

ROOT = Path(__file__).parents[2]
README = "README.md"
QUALITY, TABLES = "docs/quality.md", "docs/quality-tables.md"
PROBLEMS = "docs/quality-problems.md"
MARKS = "<!-- quality -->", "<!-- /quality -->"
RUNS = {
    "development": "The {sets} development data sets",
    "unseen": "The {sets} other data sets, not used to choose the default",
    "development_known": "The {sets} development data sets, learners with known labels only",
    "unseen_known": "The {sets} other data sets, learners with known labels only",
}
SECTIONS = {
    "synthetic": ("Artificial problems", "artificial problems"),
    "clustering": ("Clusters", "clusters"),
    "counts": ("Automatic number", "the automatic number of columns"),
}
"""The headings of the sections of PROBLEMS by the commands that store them, and their topics."""
NAMES = {
    "ours": "**the default**",
    "fastcan": "FastCan",
    "score_unlike": "relevance × (1 − correlation)",
    "forests_unlike": "forest importance × (1 − correlation)",
    "ridge_rfe": "ridge elimination",
    "jmi": "JMI",
    "cmim": "CMIM",
    "equal_weights": "equal weights",
    "pivoted_qr": "pivoted QR",
    "hsic_lasso": "HSIC Lasso",
    "l1": "L1 model",
    "leaders": "cluster leaders",
    "mrmr": "mRMR",
    "select_f": "F test (SelectKBest)",
    "laplacian": "Laplacian score",
    "random": "random columns",
    "all": "all columns",
}
"""Readable names of the methods in the tables; other methods are in TABLES only."""
REFERENCES = {
    "score_unlike": "relevance × (1 − largest correlation with a selected column)",
    "forests_unlike": "random-forest importance × the same factor",
    "propagated_unlike": "relevance after label propagation × the same factor",
    "pivoted_qr": "pivoted QR",
    "equal_weights": "column subset selection with equal weights",
    "facility_location": "facility location on squared correlations",
    "kmeans_columns": "k-means of the columns",
    "leaders": "cluster leaders by relevance",
    "deflation": "deflation",
    "trace_ratio": "the trace ratio",
    "jmi": "joint mutual information (JMI)",
    "cmim": "conditional mutual information maximisation (CMIM)",
    "hsic_lasso": "HSIC Lasso",
}
OF_SCIKIT_LEARN = {"select_f": "F test", "l1": "L1 model", "ridge_rfe": "ridge elimination"}
LIBRARIES = {
    "mrmr": "mRMR",
    "fastcan": "FastCan (greedy canonical correlation)",
    "relieff_fast_select": "fast-select (ReliefF)",
    "boruta": "Boruta",
}
"""Descriptions of the methods, which the page shows for those that ran."""
TIMES = {3: "Three", 5: "Five", 10: "Ten"}
IN_README = ("ours", "fastcan", "score_unlike", "forests_unlike", "select_f", "all")
IN_OVERVIEW = (*IN_README, "jmi", "ridge_rfe", "mrmr", "equal_weights", "pivoted_qr", "random")
MOST_NAMED = 3  # cells in which random columns are better; more are only counted
EMPTY = "–"


def pages(stored: Mapping[str, Any], root: Path = ROOT) -> dict[Path, str]:
    """Return the text of each page. README.md keeps everything outside the marks."""
    runs = {name: stored[name] for name in RUNS if name in stored}
    sections = {name: stored[name] for name in SECTIONS if name in stored}
    readme = root / README
    return {
        root / QUALITY: quality(runs, sections) + "\n",
        root / TABLES: all_tables(runs) + "\n",
        **({root / PROBLEMS: problems(sections) + "\n"} if sections else {}),
        readme: with_block(readme.read_text(encoding="utf-8"), readme_block(runs)),
    }


def with_block(text: str, block: str) -> str:
    """Replace the text between the marks; a text without marks stays as it is."""
    begin, end = map(re.escape, MARKS)
    replacement = f"{MARKS[0]}\n{block}\n{MARKS[1]}"
    return re.sub(f"{begin}.*?{end}", lambda _: replacement, text, flags=re.DOTALL)


# --- README.md
# --------------------------------------------------------------------------------------------------


def readme_block(runs: Mapping[str, Summary]) -> str:
    return paragraphs(
        f"Mean error minus that of random columns, on {_sets(runs)}. Few labels are "
        f"{_amounts(runs, FEW)}:",
        _overview(runs, IN_README),
        f"{_summed_up(cases(runs))} ([quality]({QUALITY})).",
    )


def _summed_up(found: Sequence[Case]) -> str:
    """Return a sentence without its full stop."""
    meaning = {LEVEL: " (within one standard error)"}
    verdicts = [f"{one}{meaning.get(one, '')} {words}" for one, words in in_words(found).items()]
    return f"Compared with the best other method, the default is {'; '.join(verdicts)}"


def _overview(runs: Mapping[str, Summary], methods: Sequence[str]) -> str:
    """Return the mean differences from random columns by group and regime, best method first."""
    unsorted = cases(runs, (NONE, FEW, EVERY))
    found = sorted(unsorted, key=lambda case: list(GROUPS).index(case.group))
    order = [row["method"] for row in _by_difference(found) if row["method"] in methods]
    rows = [[_named(name), *(_gain(case, name) for case in found)] for name in order]
    return table(["", *map(_column, found)], rows)


def _by_difference(found: Sequence[Case]) -> list[Summary]:
    """Return the rows of few labels by their differences, then those of all columns."""
    rows = next(case for case in found if case.regime == FEW).block["rows"]
    return sorted(
        (row for row in rows if row["difference"] is not None),
        key=lambda row: (row["method"] == "all", row["difference"]),
    )


def _column(case: Case) -> str:
    prefix = "" if case.group == "development" else f"{GROUPS[case.group]}: "
    return prefix + case.regime.column


def _gain(case: Case, method: str) -> str:
    """Return the difference from random columns of a method that ran in every cell."""
    row = _row(case.block, method)
    if row is None or row["difference"] is None or row["cells"] < case.block["cells"]:
        return EMPTY
    return "0" if method == "random" else signed(row["difference"])


def _sets(runs: Mapping[str, Summary]) -> str:
    development = f"{runs['development']['sets']} development data sets"
    if "unseen" not in runs:
        return development
    return (
        f"{development} and {runs['unseen']['sets']} others that were not used to choose the "
        "default"
    )


def _amounts(runs: Mapping[str, Summary], regime: Regime) -> str:
    return amounts_of(cases(runs, [regime]))


# --- docs/quality.md
# --------------------------------------------------------------------------------------------------


def quality(runs: Mapping[str, Summary], sections: Collection[str] = ()) -> str:
    development = runs["development"]
    found, every = cases(runs), cases(runs, ALL_REGIMES)
    ran = {row["method"] for block in development["blocks"] for row in block["rows"]}
    return paragraphs(
        "# Quality of the selections",
        "This page compares the columns selected by the default with those of other methods. "
        "`python benchmarks/quality page` writes it from stored results. "
        "[quality-tables.md](quality-tables.md) contains all tables, and "
        "[benchmarks/quality/README.md](../benchmarks/quality/README.md) contains all rules and "
        "commands."
        + (
            " [quality-problems.md](quality-problems.md) shows "
            f"{joined([topic for name, (_, topic) in SECTIONS.items() if name in sections])}."
            if sections
            else ""
        ),
        "## What was compared",
        "The default is `GraphSieve()`. The other methods are:",
        items(
            "the other scores and searches of graphsieve;",
            f"simple references: {_described(REFERENCES, ran)};",
            f"other libraries: scikit-learn ({', '.join(_of(OF_SCIKIT_LEARN, ran))}), "
            f"{_described(LIBRARIES, ran)};",
            "two baselines: random columns and all columns.",
        ),
        f"The {development['sets']} *development* data sets contain pixels, spectra, genes, text "
        "and small tables. The default was chosen on these data sets, which favours it."
        + (_of_other_sets(runs["unseen"]) if "unseen" in runs else ""),
        "## How they were compared",
        items(*_rules(runs)),
        "## Results",
        "The table shows the mean error minus that of random columns. Negative values are better. "
        f"*Labels* include targets. {EMPTY} means that the method needs labels or did not run on "
        "all data sets.",
        _overview(runs, IN_OVERVIEW),
        "Compared with the best other method, the default is ahead, level or behind as follows. "
        "The numbers are its error minus that of the other method, ± standard error over data sets. "
        "*Level* means within one standard error.",
        items(*_verdicts(every)),
        f"The best other method is chosen after the fact, which favours it. {_worse_than_random(every)}",
        "## The default minus each rival",
        "Mean difference in error over data sets ± standard error, and the share of data sets "
        "on which the default is better:",
        _against_rivals(found),
        "## Where the default loses",
        items(*_losses(found)),
        "## Limits of the comparison",
        items(*_limits(runs)),
    )


def _of_other_sets(unseen: Summary) -> str:
    return (
        f" The {unseen['sets']} *other* data sets were not used for the choice, with one exception: "
        "the ranges and deviations of their columns, without labels, were inspected for the rule "
        'of `scale="auto"`.'
    )


def _rules(runs: Mapping[str, Summary]) -> list[str]:
    development = runs["development"]
    return [
        f"**Folds.** {TIMES[development['settings']['folds']]}-fold cross-validation. All methods "
        "receive the same folds and the same supervision of the training rows.",
        f"**Supervision.** {_supervision(runs)}",
        "**Learners.** 1-NN and logistic regression for classes, 5-NN and ridge regression for "
        "targets"
        + (", and 50 extremely randomised trees for both" if _has_trees(development) else "")
        + ". They train on the selected columns and on all labels of the training rows."
        + (_few_rows(runs) if any(name.endswith(KNOWN_SUFFIX) for name in runs) else ""),
        "**Error.** The share of wrong classes, or the RMSE relative to predicting the mean. It is "
        "averaged over the first 5, 10, 20 and 40 columns (targets: 3, 5, 10, 20 and 30).",
    ]


def _supervision(runs: Mapping[str, Summary]) -> str:
    """List the levels of supervision in the results."""
    kinds = {
        NONE: "no labels",
        FEW: f"few labels ({_amounts(runs, FEW)})",
        EVERY: "all labels or targets",
        PAIRS: "pairs",
        EXPERT: "class probabilities of an uncertain expert",
    }
    found = [text for regime, text in kinds.items() if cases(runs, [regime])]
    return _upper(f"{joined(found, 'or')}.")


def _few_rows(runs: Mapping[str, Summary]) -> str:
    return (
        " In a second comparison, they train only on the rows with labels or targets that the "
        f"methods saw: {_amounts(runs, KNOWN)}."
    )


def _verdicts(found: Sequence[Case]) -> list[str]:
    """Return an item for each verdict, with the cases that it applies to."""
    listed = []
    for one in VERDICTS:
        some = [case for case in found if case.verdict == one]
        by_regime = [[case for case in some if case.regime == regime] for regime in ALL_REGIMES]
        if some:
            texts = "; ".join(_against_best(cases) for cases in by_regime if cases)
            listed.append(f"**{_upper(one)}**: {texts}.")
    return listed


def _against_best(found: Sequence[Case]) -> str:
    """Return the regime of these cases, and the difference from the best other method in each."""
    differences = [
        f"{GROUPS[case.group]} {_difference(case.block['default'])} "
        f"({_named(case.block['default']['best'])})"
        for case in found
    ]
    return f"{found[0].regime.words}, {joined(differences)}"


def _worse_than_random(found: Sequence[Case]) -> str:
    worse = list(
        dict.fromkeys(cell for case in found for cell in case.block["default"]["worse_than_random"])
    )
    start = "The default is significantly worse than random columns in "
    if not worse:
        return f"{start}no single case."
    if len(worse) <= MOST_NAMED:
        cases = "one case" if len(worse) == 1 else f"{len(worse)} cases"
        return f"{start}{cases} (data set, labels, learner): {joined(worse)}."
    return f"{start}{len(worse)} single cases, listed in [quality-tables.md](quality-tables.md)."


def _against_rivals(found: Sequence[Case]) -> str:
    """Return the paired differences from each rival, for all regimes with labels."""
    supervised = [case for case in found if case.regime != NONE]
    rows = [
        [_named(rival), *(_paired(case.block["rivals"].get(rival)) for case in supervised)]
        for rival in RIVALS
        if any(rival in case.block["rivals"] for case in supervised)
    ]
    return table(["", *map(_column, supervised)], rows)


def _paired(compared: Summary | None) -> str:
    if compared is None:
        return EMPTY
    return f"{_difference(compared)}, {compared['better']}/{compared['sets']}"


def _difference(compared: Summary) -> str:
    return signed(compared["difference"]) + tables.plus_minus(compared["standard_error"])


def _losses(found: Sequence[Case]) -> list[str]:
    supervised = [case for case in found if case.regime != NONE]
    few = next(case.block for case in found if case.regime == FEW)
    times = [
        f"{row['seconds']:.2g} s for {words}"
        for method, words in (
            ("ours", "the default"),
            ("fastcan", "FastCan"),
            ("select_f", "the F test"),
        )
        if (row := _row(few, method)) is not None
    ]
    return [
        _all_columns(found),
        _random_columns(found),
        *_small_leads(found),
        *_smallest_share(supervised),
        f"**Time.** With few labels, the median time of a selection is {joined(times)}.",
        "**Combinations.** With few labels, the default does not find columns that matter only in "
        "combination ([limits](limits.md)).",
    ]


def _all_columns(found: Sequence[Case]) -> str:
    """Say where all columns have a smaller mean error than the default."""
    smaller: list[Case] = []
    larger: list[Case] = []
    for case in found:
        ours, every = _row(case.block, "ours"), _row(case.block, "all")
        if ours is not None and every is not None:
            (smaller if sum(ours["errors"]) < sum(every["errors"]) else larger).append(case)
    return "**All columns.** " + " ".join(
        [
            *([f"All columns have a smaller mean error {where(larger, found)}."] if larger else []),
            *(
                [f"The default has a smaller mean error {where(smaller, found)}."]
                if smaller
                else []
            ),
            "Selection is useful to understand the data or to measure fewer columns.",
        ]
    )


def _random_columns(found: Sequence[Case]) -> str:
    """Return the shares of significant differences from random columns."""
    shares = [
        f"{100 * row['better']:.0f} % {case.regime.words}"
        for case in found
        if case.group == "development" and (row := _row(case.block, "ours")) is not None
    ]
    return (
        "**Random columns.** The default is significantly better than random columns (p < .05, "
        "paired over folds) in only some of the development data sets × learners: "
        f"{joined(shares)}."
    )


def _small_leads(found: Sequence[Case]) -> list[str]:
    """Return an item on the cases with a lead below two standard errors."""
    small = []
    for case in found:
        compared = case.block["default"]
        if case.verdict == AHEAD and -compared["difference"] < 2 * compared["standard_error"]:
            small.append(case)
    if not small:
        return []
    return [
        "**Small leads.** The lead over the best other method is below two standard errors "
        f"{where(small, found)}."
    ]


def _smallest_share(found: Sequence[Case]) -> list[str]:
    """Return an item on the rival that is better than the default on most data sets."""
    shares = [
        (compared["better"] / compared["sets"], case, rival, compared)
        for case in found
        for rival, compared in case.block["rivals"].items()
    ]
    if not shares:
        return []
    _, case, rival, compared = min(shares, key=lambda one: one[0])
    return [
        "**Single data sets.** The default is least often better in this comparison: "
        f"{compared['better']} of {compared['sets']} ({_named(rival)}, {_column(case)})."
    ]


def _limits(runs: Mapping[str, Summary]) -> list[str]:
    rows = dict.fromkeys(run["settings"]["rows"] for run in runs.values())
    return [
        f"Large tables were reduced to a sample of {joined([f'{one:,}' for one in rows], 'or')} rows.",
        f"The time limit of a selection was {_usual_limit(runs):g} seconds. {_longer(runs)}A method "
        "without a result ranks last and counts as random columns.",
        *_partly_run(runs.values()),
        "Other libraries were called as shown in their documentation, without tuning, and only on "
        "the labelled rows.",
    ]


def _usual_limit(runs: Mapping[str, Summary]) -> float:
    return float(min(limit for run in runs.values() for limit in run["limits"]))


def _longer(runs: Mapping[str, Summary]) -> str:
    """Say which methods had a longer time limit in some cells, and whether they needed it."""
    given: dict[str, tuple[float, int]] = {}
    for run in runs.values():
        for method, one in run["longer"].items():
            limit, cells = given.get(method, (0.0, 0))
            given[method] = max(limit, one["limit"]), cells + one["cells"]
    return "".join(
        f"{_upper(_plain(method))} had up to {limit:g} seconds, and needed more than "
        f"{_usual_limit(runs):g} in {tables.count(cells, 'cell')}. "
        for method, (limit, cells) in given.items()
    )


def _partly_run(runs: Iterable[Summary]) -> list[str]:
    """Return a sentence that lists the methods without a result in some cells of their kind."""
    names = {
        row["method"]: None
        for run in runs
        for block in run["blocks"]
        if block["title"] in ("a few labels", "a few targets")
        for row in block["rows"]
        if row["cells"] < block["cells"]
    }
    return [f"These methods ran in only some of the cells: {', '.join(names)}."] if names else []


# --- docs/quality-problems.md
# --------------------------------------------------------------------------------------------------


def problems(sections: Mapping[str, Section]) -> str:
    parts = [
        "# Quality of the selections: artificial problems, clusters and counts",
        "`python benchmarks/quality page` writes this page from stored results. "
        "[quality.md](quality.md) compares the methods on data sets, and "
        "[benchmarks/quality/README.md](../benchmarks/quality/README.md) contains all rules.",
    ]
    for name, (title, _) in SECTIONS.items():
        if name in sections:
            one = sections[name]
            header, *rows = one["table"]
            parts += [
                f"## {title}",
                one["text"],
                items(*one["items"]),
                table(
                    [NAMES.get(cell, cell) for cell in header],
                    [[NAMES.get(row[0], row[0]), *row[1:]] for row in rows],
                ),
            ]
    return paragraphs(*parts)


# --- docs/quality-tables.md
# --------------------------------------------------------------------------------------------------


def all_tables(runs: Mapping[str, Summary]) -> str:
    parts = [
        "# Quality of the selections: all tables",
        "`python benchmarks/quality page` writes this page from stored results. "
        "[quality.md](quality.md) explains the comparison and its limits. `ours` is the default, "
        "`GraphSieve()`. `score_unlike` is relevance × (1 − largest correlation with a selected "
        "column). The other names are those of the registered methods, of the simple references "
        "and of other libraries.",
        items(*map(bold_term, tables.LEGEND)),
    ]
    for name, title in ((name, title) for name, title in RUNS.items() if name in runs):
        parts += [
            f"## {title.format(sets=runs[name]['sets'])}",
            *tables.text_of(runs[name], markdown=True),
        ]
    return paragraphs(*parts)


# --- Pieces
# --------------------------------------------------------------------------------------------------


def _row(block: Summary, method: str) -> Summary | None:
    return next((row for row in block["rows"] if row["method"] == method), None)


def _errors(row: Summary) -> list[str]:
    return [tables.number(error, 3) for error in row["errors"]]


def _named(method: str) -> str:
    return NAMES.get(method, f"`{method}`")


def _plain(method: str) -> str:
    return _named(method).replace("**", "")


def _of(descriptions: Mapping[str, str], ran: Collection[str]) -> list[str]:
    return [text for method, text in descriptions.items() if method in ran]


def _described(descriptions: Mapping[str, str], ran: Collection[str]) -> str:
    return joined(_of(descriptions, ran))


def _has_trees(run: Summary) -> bool:
    return "trees" in run["learners"]


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]

"""Render docs/quality.md, docs/quality-tables.md and a block of README.md from stored results.

The stored results are the values of the tables (`tables.summarised`), not the single records.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from quality import tables
from quality.running import ALL_LABELS
from quality.tables import Summary, signed

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parent / "results.json"
QUALITY, TABLES, README = "docs/quality.md", "docs/quality-tables.md", "README.md"
MARKS = "<!-- quality -->", "<!-- /quality -->"
FILES = ("development", "unseen")
FEW_ROWS = "_known"  # ends the name of a run in which the learners train on the known labels only
RUNS = {
    "development": "The {sets} development data sets",
    "unseen": "The {sets} data sets that were not used to choose the default",
    "development_known": "The {sets} development data sets, learners with the known labels only",
    "unseen_known": "The {sets} data sets that were not used to choose the default, learners with "
    "the known labels only",
}
SHORT = {
    "development_known": "development, known labels only",
    "unseen_known": "unseen, known labels only",
}
"""Short names of runs in tables and lists, where they differ from the names."""
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
    "l1": "L1 model",
    "leaders": "cluster leaders",
    "mrmr": "mRMR",
    "select_f": "F test (SelectKBest)",
    "laplacian": "Laplacian score",
    "random": "random columns",
    "all": "all columns",
}
"""Readable names of the methods in the headline tables; other methods are in TABLES only."""
REFERENCES = {
    "score_unlike": "relevance × (1 − largest correlation with a selected column)",
    "forests_unlike": "random-forest importance × the same factor",
    "propagated_unlike": "the same after label propagation",
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
IN_README = ("ours", "score_unlike", "fastcan", "select_f", "random", "all")
NO_BREAK = "\xa0"
SUPERVISED, UNSUPERVISED = "labels or targets", "no supervision"
COMPLETE = "all labels or targets"


def name_of(file: str, protocol: str) -> str:
    """Return the name of the run with this protocol."""
    return file if protocol == ALL_LABELS else f"{file}{FEW_ROWS}"


def stored() -> dict[str, Summary]:
    found: dict[str, Summary] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def store(runs: Mapping[str, Summary]) -> None:
    text = json.dumps(_rounded(dict(runs)), indent=1, ensure_ascii=False) + "\n"
    RESULTS.write_text(text, encoding="utf-8")


def pages(runs: Mapping[str, Summary], root: Path = ROOT) -> dict[Path, str]:
    """Return the text of each page. README.md keeps everything outside the marks."""
    readme = root / README
    return {
        root / QUALITY: quality(runs) + "\n",
        root / TABLES: all_tables(runs) + "\n",
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
    block, unseen = _block(runs["development"]), _block(runs["unseen"])
    rows = [
        [NAMES[row["method"]], *_errors(row), tables.difference(row), tables.shares(row)]
        for row in _rows(block, IN_README)
    ]
    header = [
        "",
        *_error_titles(runs["development"]),
        "minus random",
        "worse / better than random",
    ]
    return _paragraphs(
        f"Mean error with the selected columns on {block['sets']} data sets, with 2 to 10 labels "
        "per class or 3 to 10 % of the targets:",
        _table(header, rows),
        f"The error of the default is {_lead(block)} lower than that of the best other method. On "
        f"{unseen['sets']} data sets that were not used to choose the default, it is "
        f"{_lead(unseen)} lower ([quality]({QUALITY})).",
    )


# --- docs/quality.md
# --------------------------------------------------------------------------------------------------


def quality(runs: Mapping[str, Summary]) -> str:
    development, unseen = runs["development"], runs["unseen"]
    known, unknown = _block(development), _block(development, UNSUPERVISED)
    ran = {row["method"] for block in development["blocks"] for row in block["rows"]}
    shown = _result_tables(runs)
    row = {row["method"]: row for row in known["rows"]}
    return _paragraphs(
        "# Quality of the selections",
        "This page compares the columns selected by the default with those of other methods. "
        "`python benchmarks/quality page` writes it from stored results. "
        "[quality-tables.md](quality-tables.md) contains all tables, and "
        "[benchmarks/quality/README.md](../benchmarks/quality/README.md) contains all rules.",
        "## What was compared",
        "The default is `GraphSieve()`. The other methods are:",
        _list(
            "the other scores and searches of graphsieve;",
            f"simple references: {_described(REFERENCES, ran)};",
            f"other libraries: scikit-learn ({', '.join(_of(OF_SCIKIT_LEARN, ran))}), "
            f"{_described(LIBRARIES, ran)};",
            "two baselines: random columns and all columns.",
        ),
        f"The {development['sets']} development data sets contain pixels, spectra, genes, text and "
        "small tables. The default was chosen on these data sets, which favours it. When it was "
        f"final, the fast methods ran once on {unseen['sets']} further data sets. These were not "
        "used for the choice, with one exception: the ranges and deviations of their columns, "
        'without labels, were inspected for the rule of `scale="auto"`.',
        "## How they were compared",
        _list(
            f"**Folds.** {TIMES[development['settings']['folds']]}-fold cross-validation. All "
            "methods receive the same folds and the same supervision of the training rows.",
            "**Supervision.** None, a few labels (2, 4 or 10 per class), a few targets (3, 5 or "
            "10 %), pairs, or class probabilities of an uncertain expert."
            + (" All labels or targets." if _has(development, COMPLETE) else ""),
            "**Learners.** 1-NN and logistic regression for classes, 5-NN and ridge regression for "
            "targets"
            + (", and 50 extremely randomised trees for both" if _has_trees(development) else "")
            + ". They train on the selected columns and on all labels of the training rows."
            + (FEW_ROWS_TEXT if any(name.endswith(FEW_ROWS) for name in runs) else ""),
            "**Error.** The share of wrong classes, or the RMSE relative to predicting the mean. "
            "It is averaged over the first 5, 10, 20 and 40 columns (targets: 3, 5, 10, 20 and "
            "30).",
            "**Minus random.** The error minus that of random columns, ± its standard error over "
            "data sets.",
            "**Worse / better.** Share of data sets × learners with a significant difference from "
            "random columns (p < .05, paired over folds). The test is corrected for shared "
            "training rows, but not for the number of tests.",
            "**Rank.** Mean rank among all methods in the full tables.",
        ),
        "## Results",
        *(part for title, run, block in shown for part in (title, _headline(run, block))),
        f"The default has the best mean rank in {_times_first(*(block for *_, block in shown))}. "
        "It is significantly worse than random columns in "
        f"{_worse_cells(runs.values())}. The next table compares its error with that of the best "
        "other method. That method is chosen after the fact, which favours it.",
        _against_best(runs),
        "## Where the default loses",
        _list(
            f"**All columns.** With labels or targets, all columns have an error of "
            f"{_with_learners(development, row['all'])}. The default has {_joined(_errors(row['ours']))}. "
            f"It is better only {_beats_all_columns(runs)}. Selection is "
            "useful to understand the data or to measure fewer columns.",
            f"**Single data sets.** The mean rank of the default is {row['ours']['rank']:.1f}, not "
            "1. On some data sets, another method is better.",
            f"**Random columns.** With labels or targets, the default is "
            f"significantly better in {100 * row['ours']['better']:.0f} % of the data sets × "
            f"learners. Without supervision, the share is "
            f"{100 * _row(unknown, 'ours')['better']:.0f} %.",
            _small_leads(runs),
            f"**Time.** The median time of a selection is {row['ours']['seconds']:.2g} s for the "
            f"default, {row['fastcan']['seconds']:.2g} s for FastCan and "
            f"{row['select_f']['seconds']:.2g} s for the F test.",
            "**Differences beyond the means.** The default does not find classes that differ "
            "only in spread, or only in a combination of columns "
            "([examples](limits.md)).",
        ),
        "## Limits of the comparison",
        _list(
            "Large tables were reduced to a sample of "
            f"{development['settings']['rows']:,} rows (further data sets: "
            f"{unseen['settings']['rows']:,}).",
            f"The time limit of a selection was {development['limits'][0]:g} seconds. "
            + (
                "Some methods ran again with a longer limit. "
                if len(development["limits"]) > 1
                else ""
            )
            + "A method without a result ranks last and counts as random columns.",
            *_partly_run(development),
            "Other libraries were called as shown in their documentation, without tuning, and only "
            "on the labelled rows.",
        ),
        "## Run it again",
        "`python benchmarks/quality --quick` takes a few minutes. Without `--quick` it takes about "
        "half an hour on two cores, and a quarter of an hour with `--protocol known`.",
    )


FEW_ROWS_TEXT = (
    " In a second comparison, they train only on the rows with labels or targets that the methods "
    "saw."
)


def _result_tables(runs: Mapping[str, Summary]) -> list[tuple[str, Summary, Summary]]:
    """Return the introduction, the run and the block of each table of the results."""
    found = []
    for name in RUNS:
        if name not in runs:
            continue
        run, unseen = runs[name], name.startswith("unseen")
        sets = (
            f"the {run['sets']} data sets that were not used to choose the default"
            if unseen
            else f"the {run['sets']} development data sets"
        )
        learners = (
            ", with learners that train on the known labels only" if name.endswith(FEW_ROWS) else ""
        )
        supervised = _block(run)
        amount = (
            "4 labels per class or 5 % of the targets"
            if supervised["levels"] == ["4", "5%"]
            else "a few labels or targets"
        )
        found.append((f"With {amount}, on {sets}{learners}:", run, supervised))
        for title, words in (
            (COMPLETE, "With all labels or targets"),
            (UNSUPERVISED, "Without supervision"),
        ):
            # The table without supervision of the other data sets is in TABLES only.
            if _has(run, title) and not (unseen and title == UNSUPERVISED):
                found.append((f"{words}, on the same data sets:", run, _block(run, title)))
    return found


def _of(descriptions: Mapping[str, str], ran: Collection[str]) -> list[str]:
    return [text for method, text in descriptions.items() if method in ran]


def _described(descriptions: Mapping[str, str], ran: Collection[str]) -> str:
    return _joined(_of(descriptions, ran))


def _has(run: Summary, title: str) -> bool:
    return any(block["title"] == title for block in run["blocks"])


def _has_trees(run: Summary) -> bool:
    return "trees" in run["learners"]


def _error_titles(run: Summary) -> list[str]:
    return [f"error, {learner}" for learner in run["learners"]]


def _with_learners(run: Summary, row: Summary) -> str:
    return _joined(
        [
            f"{error} ({learner})"
            for error, learner in zip(_errors(row), run["learners"], strict=True)
        ]
    )


def _partly_run(run: Summary) -> list[str]:
    """Return a sentence that lists the methods without a result in some cells of their kind."""
    names = {
        row["method"]: None
        for title in ("a few labels", "a few targets")
        if _has(run, title)
        for block in [_block(run, title)]
        for row in block["rows"]
        if row["cells"] < block["cells"]
    }
    return [f"Only in a part of the cells ran: {', '.join(names)}."] if names else []


def _headline(run: Summary, block: Summary) -> str:
    rows = [
        [
            NAMES[row["method"]],
            tables.number(row["rank"], 1),
            *_errors(row),
            tables.difference(row),
            tables.shares(row),
        ]
        for row in _rows(block, NAMES)
    ]
    header = ["", "rank", *_error_titles(run), "minus random", "worse / better"]
    return _table(header, rows)


def _against_best(runs: Mapping[str, Summary]) -> str:
    rows = [
        [
            block["title"],
            f"{block['sets']} {SHORT.get(name, name)}",
            NAMES.get(block["default"]["best"], block["default"]["best"]),
            f"{signed(block['default']['difference'])} ± {block['default']['standard_error']:.3f}",
        ]
        for name, run in runs.items()
        for block in run["blocks"]
        if block["title"] != "all levels"
    ]
    return _table(["supervision", "data sets", "best other method", "default minus best"], rows)


def _times_first(*blocks: Summary) -> str:
    """Count the blocks in which the default has the best mean rank."""
    firsts = [
        min(_rows(block, set(NAMES) - {"all"}), key=lambda row: row["rank"]) for block in blocks
    ]
    n_first = sum(row["method"] == "ours" for row in firsts)
    return "all of these tables" if n_first == len(blocks) else f"{n_first} of these tables"


def _beats_all_columns(runs: Mapping[str, Summary]) -> str:
    """Name the kinds of supervision and learners with a lower error than that of all columns."""
    found: dict[str, list[str]] = {}
    both = ((run["learners"], block) for run in runs.values() for block in run["blocks"])
    for learners, block in both:
        errors = zip(_row(block, "ours")["errors"], _row(block, "all")["errors"], strict=True)
        for learner, (ours, every) in zip(learners, errors, strict=True):
            if ours < every:
                found.setdefault(f"{block['title']}, {learner}", []).append(
                    f"{ours:.3f} against {every:.3f}"
                )
    if not found:
        return "in none of the tables"
    cases = [f"{case} ({_joined(values)})" for case, values in found.items()]
    return f"with {_joined(cases)}"


def _small_leads(runs: Mapping[str, Summary]) -> str:
    """Name the blocks in which the lead of the default is below two standard errors."""
    small = [
        f"{block['title']} ({SHORT.get(name, name)}, {_lead(block)})"
        for name, run in runs.items()
        for block in run["blocks"]
        if -block["default"]["difference"] < 2 * block["default"]["standard_error"]
    ]
    if not small:
        return "**Small leads.** Every lead in the last table exceeds two standard errors."
    return (
        "**Small leads.** The lead over the best other method is below two standard errors with "
        f"{_joined(small)}."
    )


def _worse_cells(runs: Iterable[Summary]) -> str:
    worse = [
        cell
        for run in runs
        for block in run["blocks"]
        for cell in block["default"]["worse_than_random"]
    ]
    return _joined(list(dict.fromkeys(worse))) if worse else "no single case"


# --- docs/quality-tables.md
# --------------------------------------------------------------------------------------------------


def all_tables(runs: Mapping[str, Summary]) -> str:
    legend = [_bold_term(line) for line in tables.LEGEND]
    parts = [
        "# Quality of the selections: all tables",
        "`python benchmarks/quality page` writes this page from stored results. "
        "[quality.md](quality.md) explains the comparison and its limits. `ours` is the default, "
        "`GraphSieve()`. `score_unlike` is relevance × (1 − largest correlation with a selected "
        "column). The other names are those of the registered methods, of the simple references "
        "and of other libraries.",
        _list(*legend),
    ]
    for name, title in ((name, title) for name, title in RUNS.items() if name in runs):
        parts += [
            f"## {title.format(sets=runs[name]['sets'])}",
            *tables.text_of(runs[name], markdown=True),
        ]
    return _paragraphs(*parts)


def _bold_term(line: str) -> str:
    term, colon, rest = line.partition(": ")
    return f"**{term}**: {rest}" if colon else line


# --- Pieces
# --------------------------------------------------------------------------------------------------


def _block(run: Summary, title: str = SUPERVISED) -> Summary:
    return next(block for block in run["blocks"] if block["title"] == title)


def _rows(block: Summary, methods: Iterable[str]) -> list[Summary]:
    """Return the rows of these methods, in the order of the block."""
    wanted = set(methods)
    return [row for row in block["rows"] if row["method"] in wanted]


def _row(block: Summary, method: str) -> Summary:
    return _rows(block, [method])[0]


def _errors(row: Summary) -> list[str]:
    return [tables.number(error, 3) for error in row["errors"]]


def _lead(block: Summary) -> str:
    """Return how much lower the error of the default is than that of the best other method."""
    default = block["default"]
    return f"{-default['difference']:.3f} ± {default['standard_error']:.3f}"


def _joined(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(tables.lines_of([header, *rows], markdown=True)).rstrip("\n")


def _list(*items: str) -> str:
    return "\n".join(f"- {item}" for item in items)


def _paragraphs(*parts: str) -> str:
    """Wrap prose and list items at 100 columns, leave tables as they are, and join all parts."""
    return "\n\n".join(_unless_table(part) for part in parts)


def _unless_table(part: str) -> str:
    lines = part.splitlines()
    if any(line.startswith("|") for line in lines):
        return part
    if len(lines) == 1:
        return _wrapped(part, "  " if part.startswith("- ") else "")
    return "\n".join(_wrapped(line, "  ") if line.startswith("- ") else line for line in lines)


def _wrapped(text: str, indent: str = "") -> str:
    """Wrap a paragraph at 100 columns, but not inside links, code and values with units."""
    together = re.sub(
        r"\[[^]]*\]\([^)]*\)|`[^`]*`|\S+ ± \S+|\d [%s]\b|\d %",
        lambda found: found[0].replace(" ", NO_BREAK),
        text,
    )
    lines = textwrap.fill(
        together, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return lines.replace(NO_BREAK, " ")


def _rounded(value: Any) -> Any:
    """Round to five digits, which is more than any of the tables shows."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list | tuple) else value

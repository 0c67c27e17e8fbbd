"""Render docs/quality.md, docs/quality-tables.md and a block of README.md from stored results.

The stored results are the values of the tables (`tables.summarised`), not the single records.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from quality import tables
from quality.tables import Summary, signed

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parent / "results.json"
QUALITY, TABLES, README = "docs/quality.md", "docs/quality-tables.md", "README.md"
MARKS = "<!-- quality -->", "<!-- /quality -->"
RUNS = {
    "development": "The {sets} development data sets",
    "unseen": "The {sets} data sets that were not used to choose the default",
}
NAMES = {
    "ours": "**the default**",
    "fastcan": "FastCan",
    "score_unlike": "relevance × (1 − correlation)",
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
IN_README = ("ours", "score_unlike", "fastcan", "select_f", "random", "all")
NO_BREAK = "\xa0"
SUPERVISED, UNSUPERVISED = "labels or targets", "no supervision"


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
    header = ["", "error, k-NN", "error, linear", "minus random", "worse / better than random"]
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
            "simple references: relevance × (1 − largest correlation with a selected column), "
            "pivoted QR, facility location on squared correlations, cluster leaders by relevance, "
            "deflation and the trace ratio;",
            "other libraries: scikit-learn (F test, L1 model), mRMR, FastCan (greedy canonical "
            "correlation), fast-select (ReliefF) and Boruta;",
            "two baselines: random columns and all columns.",
        ),
        f"The {development['sets']} development data sets contain pixels, spectra, genes, text and "
        "small tables. The default was chosen on these data sets, which favours it. When it was "
        f"final, the fast methods ran once on {unseen['sets']} further data sets. These were not "
        "used for the choice, with one exception: the ranges and deviations of their columns, "
        'without labels, were inspected for the rule of `scale="auto"`.',
        "## How they were compared",
        _list(
            "**Folds.** Five-fold cross-validation. All methods receive the same folds and the "
            "same supervision of the training rows.",
            "**Supervision.** None, a few labels (2, 4 or 10 per class), a few targets (3, 5 or "
            "10 %), pairs, or class probabilities of an uncertain expert.",
            "**Learners.** 1-NN and logistic regression for classes, 5-NN and ridge regression for "
            "targets. They train on the selected columns and on all labels of the training rows.",
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
        f"With a few labels or targets, on the {known['sets']} development data sets:",
        _headline(known),
        "Without supervision, on the same data sets:",
        _headline(unknown),
        f"With 4 labels per class or 5 % of the targets, on the {unseen['sets']} data sets that "
        "were not used to choose the default:",
        _headline(_block(unseen)),
        f"The default has the best mean rank in {_times_first(known, unknown, _block(unseen))}. "
        "It is significantly worse than random columns in "
        f"{_worse_cells(runs.values())}. The next table compares its error with that of the best "
        "other method. That method is chosen after the fact, which favours it.",
        _against_best(runs),
        "## Where the default loses",
        _list(
            f"**All columns.** With labels or targets, all columns have an error of "
            f"{row['all']['errors'][0]:.3f} (k-NN) and {row['all']['errors'][1]:.3f} (linear). "
            f"The default has {row['ours']['errors'][0]:.3f} and {row['ours']['errors'][1]:.3f}. "
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
            "The time limit of a selection was 12 seconds. Some methods that reached it on a busy "
            "machine ran again with a longer limit. A method without a result ranks last and "
            "counts as random columns.",
            "Boruta, the ReliefF of fast-select and the searches ran only with 4 labels per class "
            "or 5 % of the targets. The hybrid and iterative searches did not run on all data sets.",
            "Other libraries were called as shown in their documentation, without tuning, and only "
            "on the labelled rows.",
        ),
        "## Run it again",
        "`python benchmarks/quality --quick` takes one or two minutes. Without `--quick` it takes "
        "more than an hour on two cores.",
    )


def _headline(block: Summary) -> str:
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
    header = ["", "rank", "error, k-NN", "error, linear", "minus random", "worse / better"]
    return _table(header, rows)


def _against_best(runs: Mapping[str, Summary]) -> str:
    rows = [
        [
            block["title"],
            f"{block['sets']} {name}",
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
    for block in (block for run in runs.values() for block in run["blocks"]):
        errors = zip(_row(block, "ours")["errors"], _row(block, "all")["errors"], strict=True)
        for learner, (ours, every) in zip(("k-NN", "linear"), errors, strict=True):
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
        f"{block['title']} ({name}, {_lead(block)})"
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
    for name, title in RUNS.items():
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

"""``graphsieve demo``: the main job on a real table that comes with scikit-learn."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

from graphsieve._base.randomness import generator
from graphsieve.assess.comparison.comparing import compare
from graphsieve.cli.outputs import check_outputs, output_file, show, write
from graphsieve.cli.rank import ranking_lines
from graphsieve.cli.saying import say
from graphsieve.report.page import page
from graphsieve.select.ranking import rank
from graphsieve.supervision.value import Supervision

PER_CLASS = 10


def run(options: argparse.Namespace) -> None:
    """Rank, compare with random columns, write the report."""
    report = output_file(options.report)
    check_outputs([report], force=options.force)
    progress = False if options.quiet else None
    table = load_breast_cancer()
    names, classes = table.feature_names.tolist(), table.target_names[table.target]
    known = few_labels(classes, PER_CLASS, options.seed)
    say(
        f"Breast cancer (Wisconsin): {len(known)} tumours, {len(names)} measurements of cell "
        "nuclei in each.",
        quiet=options.quiet,
    )
    say(
        f"We pretend to know the diagnosis of {2 * PER_CLASS}. Which measurements matter?\n",
        quiet=options.quiet,
    )
    ranking = rank(
        table.data, known, feature_names=names, n_features_to_select="auto", progress=progress
    )
    show(ranking_lines(ranking, rows=None, on_terminal=sys.stdout.isatty()) + "\n")
    say(
        "Is that any good? Methods that see these labels, judged on tumours held out, by all "
        "diagnoses:\n",
        quiet=options.quiet,
    )
    judged = compare(
        table.data,
        classes,
        supervision=Supervision.from_labels(known),
        feature_names=names,
        random_state=options.seed,
        progress=progress,
    )
    show(f"{judged}\n\n")
    facts = ranking.report_facts(
        title="Which measurements tell of a tumour",
        target="diagnosis",
        comparison=judged.page_facts(),
        repeat={"command": "graphsieve demo", "python": None},
    )
    write(report, page(facts))
    say(
        "Try it on a table of yours: graphsieve rank TABLE.csv --target COLUMN --report "
        "report.html",
        quiet=options.quiet,
    )
    show(f"The report: {report}\n")


def few_labels(classes: Any, per_class: int, seed: int) -> Any:
    """Labels of which all but a few per class are unknown."""
    random = generator(seed)
    known = np.full(len(classes), None, dtype=object)
    for name in np.unique(classes):
        shown = random.choice(np.flatnonzero(classes == name), per_class, replace=False)
        known[shown] = str(name)
    return known

"""``graphsieve demo``: rank a real table that is part of scikit-learn."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

from graphsieve._base.randomness import generator
from graphsieve.assess.comparison.comparing import compare
from graphsieve.cli.notes import note
from graphsieve.cli.outputs import check_outputs, output_file, show, write
from graphsieve.cli.rank import ranking_lines
from graphsieve.report.page import page
from graphsieve.select.ranking import rank
from graphsieve.supervision.value import Supervision

PER_CLASS = 10


def run(options: argparse.Namespace) -> None:
    """Rank, compare with baselines, and write the report."""
    report = output_file(options.report)
    check_outputs([report], force=options.force)
    progress = False if options.quiet else None
    table = load_breast_cancer()
    names, classes = table.feature_names.tolist(), table.target_names[table.target]
    known = few_labels(classes, PER_CLASS, options.seed)
    note(
        f"Breast cancer (Wisconsin): {len(known)} tumours with {len(names)} measurements each.",
        quiet=options.quiet,
    )
    note(
        f"Suppose that {2 * PER_CLASS} diagnoses are known. Which measurements matter?\n",
        quiet=options.quiet,
    )
    ranking = rank(
        table.data, known, feature_names=names, n_features_to_select="auto", progress=progress
    )
    show(ranking_lines(ranking, rows=None, on_terminal=sys.stdout.isatty()) + "\n")
    note(
        "How good is this selection? All methods use the same labels. The evaluation uses all "
        "diagnoses\nof held-out tumours:\n",
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
        title="Measurements that distinguish tumours",
        target="diagnosis",
        comparison=judged.page_facts(),
        repeat={"command": "graphsieve demo", "python": None},
    )
    write(report, page(facts), force=options.force)
    note(
        "Next, try your own table: graphsieve rank TABLE.csv --target COLUMN --report report.html",
        quiet=options.quiet,
    )
    show(f"report written to {report}\n")


def few_labels(classes: Any, per_class: int, seed: int) -> Any:
    """Return the labels with all but a few per class set to None."""
    random = generator(seed)
    known = np.full(len(classes), None, dtype=object)
    for name in np.unique(classes):
        shown = random.choice(np.flatnonzero(classes == name), per_class, replace=False)
        known[shown] = str(name)
    return known

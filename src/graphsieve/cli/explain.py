"""``graphsieve explain``: describe a method, from its docstring."""

from __future__ import annotations

import argparse
import inspect
import re

from graphsieve._base.errors import UsageError
from graphsieve._base.parameters import nearest, quoted
from graphsieve.cli.outputs import check_outputs, show
from graphsieve.scores.score_registry import METHODS
from graphsieve.search.search_registry import SEARCHES

AUTO = """auto: selects columns that together explain the table and the supervision (the search diverse)

Columns are selected one by one. Each step selects the column with the largest gain: the variance
that it explains beyond the columns selected before it. The selected columns should explain two
things. The first is every column of the table, weighted by its relevance: the share of its
variation, measured by ranks, that is associated with the supervision. The second is the prediction
of the labels from all columns, weighted by its skill on held-out labels. Without supervision, the
weight of a column is its largest correlation with another column.

Tests against chance decide which columns are relevant. These are selected first. With at least 40
labels, the search is compared with others by cross-validation, and the best one is used.
--method diverse skips the comparison.

score       share that the column explains alone
gain        share that it adds to the columns ranked before it
redundancy  share of its variance that those columns already explain

With --top auto, the number of selected columns depends on how much variance of the relevant columns
they explain. The order of the columns does not depend on the number.

With --redundancy none, columns are ranked one by one with the published score for the given
supervision: laplacian, fisher, constrained_laplacian, supervised_laplacian,
semi_supervised_laplacian or weighted_laplacian.
"""


def run(options: argparse.Namespace) -> None:
    """Print the description of the method."""
    check_outputs([], force=False)
    show(explanation(options.method))


def explanation(name: str) -> str:
    """Return the description of a method, a search or auto."""
    if name == "auto":
        return AUTO
    about = METHODS.get(name) or SEARCHES.get(name)
    if about is None:
        names = ("auto", *METHODS, *SEARCHES)
        raise UsageError(
            f"there is no method {quoted(name)}{nearest(name, names)}; choose from "
            f"{', '.join(names)}."
        )
    needs = " or ".join(about.uses) or "nothing"
    method = METHODS.get(name)
    good = f"\ngood scores: {method.direction}" if method is not None else ""
    text = inspect.getdoc(about.function) or ""
    before_examples = re.split(r"\nExamples\n-+\n", text)[0]
    call = f"{about.function.__module__.split('.')[1]}.{about.function.__name__}"
    parameters = inspect.signature(about.function).parameters.values()
    bare = inspect.Signature(
        [one.replace(annotation=inspect.Parameter.empty) for one in parameters]
    )
    place = f"graphsieve.{call}{bare}"
    use = (
        f"graphsieve compare TABLE --methods {name}"
        if name == "floating"
        else f"graphsieve rank TABLE --method {name}"
    )
    subject = "a good column" if method is not None else "the search"
    return (
        f"{name}: {subject} {about.summary}\n\nneeds: {needs}{good}\nreference: "
        f"{about.reference}\ncommand: {use}\nPython: {place}\n\n{before_examples.rstrip()}\n"
    )

"""``graphsieve explain``: one method in full, from what its function says of itself."""

from __future__ import annotations

import argparse
import inspect
import re

from graphsieve._base.errors import UsageError
from graphsieve._base.parameters import nearest, quoted
from graphsieve.cli.outputs import check_outputs, show
from graphsieve.scores.score_registry import METHODS
from graphsieve.search.search_registry import SEARCHES

AUTO = """auto: columns that together explain the table and what is known of its rows

Columns are chosen one by one, each for what those before it leave unexplained (the search diverse). Every column is to be
explained, and counts by the share of its variation that goes with what is known. What all columns together predict of the labels
is to be explained too, and counts by how well labels left out are predicted. With nothing known, a column counts by its largest
correlation with another one. The score is the share that a column explains alone.

How many to select (--top auto) is found by tests against chance, and by what the first columns explain of the rest.

--redundancy none ranks by the published score for what is known instead: laplacian, fisher, constrained_laplacian,
supervised_laplacian, semi_supervised_laplacian or weighted_laplacian.
"""


def run(options: argparse.Namespace) -> None:
    """Print what the method is about."""
    check_outputs([], force=False)
    show(explanation(options.method))


def explanation(name: str) -> str:
    """The text about a method, a search or auto."""
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
    good = f"\n{method.direction} scores are good" if method is not None else ""
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
    subject = "a good feature" if method is not None else "it"
    return (
        f"{name}: {subject} {about.summary}\n\nneeds {needs}{good}\npublished: "
        f"{about.reference}\nhere: {use}\n\n"
        f"in Python: {place}\n\n{before_examples.rstrip()}\n"
    )

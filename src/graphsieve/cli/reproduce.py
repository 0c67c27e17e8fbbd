"""``graphsieve reproduce``: the papers' experiments run again."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from graphsieve._base.errors import InputError
from graphsieve.cli.notes import note
from graphsieve.cli.outputs import check_outputs, output_file, show, write

LONGEST_RESULTS = 2**26  # bytes; those of all papers take less than one million


def run(options: argparse.Namespace) -> None:
    """Run or read the experiments, print what they found, and write the page with the figures."""
    from graphsieve.papers.output.html_page import as_page
    from graphsieve.papers.output.markdown import as_markdown
    from graphsieve.papers.output.plain_text import as_text
    from graphsieve.papers.results import SCHEMA

    page = None if options.no_page else output_file(options.page)
    markdown = None if options.markdown is None else output_file(options.markdown)
    outputs = [path for path in (page, markdown) if path is not None]
    inputs = [] if options.results is None else [options.results]
    check_outputs(outputs, force=options.force, inputs=inputs)  # not after minutes of work
    if options.results is None:
        found = run_experiments(options)
    else:
        _refuse_options_of_a_run(options)
        found = _read_results(Path(options.results), options.paper)
    seed = f" --seed {found[0]['seed']}" if found[0]["seed"] else ""
    command = f"graphsieve reproduce {options.paper} --{found[0]['depth']}{seed}"
    for path, render in ((page, as_page), (markdown, as_markdown)):
        if path is not None:
            write(path, render(found, command=command))
    show(
        json.dumps({"schema": SCHEMA, "papers": found}, allow_nan=False) + "\n"
        if options.json
        else as_text(found)
    )
    if page is not None:
        note(f"The page with the figures: {page}")


def _refuse_options_of_a_run(options: argparse.Namespace) -> None:
    given = {
        "--seed": options.seed is not None,
        "--jobs": options.jobs is not None,
        "--no-download": options.no_download,
    }
    for name in (name for name, is_given in given.items() if is_given):
        raise InputError(
            f"--results shows what an earlier run found, so that {name} means nothing; leave one "
            "of the two out."
        )


def run_experiments(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The results of every paper that was asked for, as plain values."""
    from graphsieve.papers import EXPERIMENTS
    from graphsieve.papers.experiment import Run, perform

    run = Run(
        quick=not options.full,
        seed=options.seed or 0,
        n_jobs=options.jobs or -1,
        progress=False if options.quiet else None,
        download=not options.no_download,
    )
    names = EXPERIMENTS if options.paper == "all" else (options.paper,)
    return [perform(EXPERIMENTS[name], run).facts() for name in names]


def _read_results(path: Path, paper: str) -> list[dict[str, Any]]:
    """Results of an earlier run, made whole again and shown once, so that anything odd is
    refused here.
    """
    from graphsieve._base.parameters import quoted
    from graphsieve.papers.output.html_page import as_page
    from graphsieve.papers.output.plain_text import as_text
    from graphsieve.papers.results import SCHEMA, from_facts

    try:
        with path.open("rb") as file:
            content = file.read(LONGEST_RESULTS + 1)
        if len(content) > LONGEST_RESULTS:
            raise InputError(
                f"{path} holds more than the {LONGEST_RESULTS:,} bytes that results ever take; "
                "name another file."
            )
        document = json.loads(content.decode("utf-8"))
        if document["schema"] != SCHEMA:
            raise InputError(
                f"{path} has results of version {quoted(document['schema'])}, this version reads "
                f"{SCHEMA}; run it again."
            )
        found = [from_facts(facts).facts() for facts in document["papers"]]
        as_page(found, command="")
        as_text(found)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except InputError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        raise InputError(
            f"{path} does not hold what graphsieve reproduce --json prints; run it again."
        ) from None
    wanted = [facts for facts in found if paper in ("all", facts["paper"])]
    if not wanted:
        raise InputError(f"{path} has no results of {paper}; run it again.")
    return wanted

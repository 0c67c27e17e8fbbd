"""``graphsieve reproduce``: run the papers' experiments again."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from graphsieve._base.errors import InputError
from graphsieve.cli.arguments import PAPERS
from graphsieve.cli.notes import note
from graphsieve.cli.outputs import OutputError, check_outputs, output_file, show, write

LONGEST_RESULTS = 2**26  # bytes; the results of all papers have less than one million


def run(options: argparse.Namespace) -> None:
    """Run the experiments or read earlier results, print them, and write the pages."""
    from graphsieve.papers.output.html_page import as_page
    from graphsieve.papers.output.markdown import as_markdown
    from graphsieve.papers.output.plain_text import as_text
    from graphsieve.papers.results import SCHEMA

    page = None if options.no_page else output_file(options.page)
    pages = [] if page is None else [page]
    inputs = [] if options.results is None else [options.results]
    # Outputs are checked here, because the experiments may take minutes.
    check_outputs(pages, force=options.force, inputs=inputs)
    if options.markdown is not None:
        if not options.markdown:
            raise OutputError("--markdown needs the name of a folder; name one.")
        folder = Path(options.markdown)
        pages += [folder / name for name in _markdown_names(options.paper)]
        _check_folder(folder, pages, options.force, inputs)
    if options.results is None:
        found = run_experiments(options)
    else:
        _refuse_options_of_a_run(options)
        found = _read_results(Path(options.results), options.paper)
    seed = f" --seed {found[0]['seed']}" if found[0]["seed"] else ""
    command = f"graphsieve reproduce {options.paper} --{found[0]['depth']}{seed}"
    if page is not None:
        write(page, as_page(found, command=command), force=options.force)
    if options.markdown is not None:
        wanted = _markdown_names(options.paper)
        for name, content in as_markdown(found, command=command).items():
            if name in wanted:
                write(Path(options.markdown) / name, content, force=options.force)
    show(
        json.dumps({"schema": SCHEMA, "papers": found}, allow_nan=False) + "\n"
        if options.json
        else as_text(found)
    )
    if page is not None:
        note(f"page with the figures written to {page}")


def _markdown_names(paper: str) -> list[str]:
    from graphsieve.papers.output.markdown import SUMMARY, page_name

    # The summary describes all papers, so a run of one paper does not replace it.
    return [SUMMARY, *map(page_name, PAPERS)] if paper == "all" else [page_name(paper)]


def _check_folder(folder: Path, pages: list[Path], force: bool, inputs: list[str]) -> None:
    """Create the subfolder for the pages of the papers, unless a page cannot be written."""
    from graphsieve.papers.output.markdown import PAGES

    if not folder.is_dir():
        raise OutputError(f"{folder} is not a folder; create it first, or name another folder.")
    subfolder = folder / PAGES
    is_new = not subfolder.exists()
    try:
        subfolder.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"the folder {subfolder} cannot be created: {error.strerror}; name another folder."
        ) from None
    try:
        check_outputs(pages, force=force, inputs=inputs)
    except OutputError:
        if is_new:
            subfolder.rmdir()
        raise


def _refuse_options_of_a_run(options: argparse.Namespace) -> None:
    given = {
        "--seed": options.seed is not None,
        "--jobs": options.jobs is not None,
        "--no-download": options.no_download,
    }
    for name in (name for name, is_given in given.items() if is_given):
        raise InputError(
            f"--results shows an earlier run, so {name} has no effect; leave one of the two out."
        )


def run_experiments(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the results of every requested paper as plain values."""
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
    """Read the results of an earlier run.

    They are converted and rendered once, so that invalid results are refused here.
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
                f"{path} holds more than the {LONGEST_RESULTS:,} bytes allowed for results; name "
                "another file."
            )
        document = json.loads(content.decode("utf-8"))
        if document["schema"] != SCHEMA:
            raise InputError(
                f"{path} has results of version {quoted(document['schema'])}, this version reads "
                f"{SCHEMA}; run it again."
            )
        found = [from_facts(facts).facts() for facts in document["papers"]]
        if any(facts["paper"] not in PAPERS for facts in found):
            raise ValueError("a paper has an unknown name")
        as_page(found, command="")
        as_text(found)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except InputError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        raise InputError(
            f"{path} is not the output of graphsieve reproduce --json; run it again."
        ) from None
    wanted = [facts for facts in found if paper in ("all", facts["paper"])]
    if not wanted:
        raise InputError(f"{path} has no results of {paper}; run it again.")
    return wanted

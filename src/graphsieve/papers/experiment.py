"""How an experiment runs: quick or full, in one process or several, on the available data."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphsieve._base.parallel import in_parallel
from graphsieve.datasets.dataset import Dataset, DataUnavailableError
from graphsieve.datasets.loading import load
from graphsieve.papers.results import Claim, Findings, Judgement, Reproduction, Statement, Verdict


@dataclass(frozen=True)
class Run:
    """One run of the experiments.

    Attributes
    ----------
    quick : bool
        Whether to use fewer repetitions, so that all papers take less than three minutes.
        A full run uses the repetitions of the papers.
    seed : int
        Seed of all random numbers.
    n_jobs : int or None
        Number of processes. The results do not depend on it.
    progress : bool or None
        Whether to show progress. None shows it if the error stream is a terminal.
    download : bool
        Whether missing data sets may be downloaded.
    """

    quick: bool = True
    seed: int = 0
    n_jobs: int | None = None
    progress: bool | None = None
    download: bool = True

    def repetitions(self, *, quick: int, full: int) -> int:
        """Return the number of repetitions in this run."""
        return quick if self.quick else full

    def seeds(self, count: int, name: str) -> list[np.random.SeedSequence]:
        """Return independent seeds for the repetitions of the experiment `name`.

        The first seeds of a quick and a full run are the same.
        """
        return np.random.SeedSequence([self.seed, zlib.crc32(name.encode())]).spawn(count)

    def each(
        self, function: Callable[..., Any], items: Iterable[tuple[Any, ...]], title: str
    ) -> list[Any]:
        """Return ``[function(*item) for item in items]``, computed in parallel.

        `function` must be a function of a module, because nested functions cannot be pickled.
        """
        return in_parallel(function, items, title=title, n_jobs=self.n_jobs, progress=self.progress)

    def load(self, name: str) -> Dataset:
        """Load a real data set, or raise `DataUnavailableError`."""
        return load(name, download=self.download)

    def load_available(
        self, names: Iterable[str]
    ) -> tuple[dict[str, Dataset], dict[str, DataUnavailableError]]:
        """Return the available data sets, and the errors of the unavailable ones."""
        found, missing = {}, {}
        for name in names:
            try:
                found[name] = self.load(name)
            except DataUnavailableError as error:
                missing[name] = error
        return found, missing


def batches(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    """Split the items into batches, because one item is too little work for a process."""
    return [items[start : start + size] for start in range(0, len(items), size)]


@dataclass(frozen=True)
class Part:
    """An independent part of a paper.

    Attributes
    ----------
    statements : tuple of Statement
        The claims of this part.
    run : callable or None
        Function that returns the findings, with a judgement of every statement. None if the data
        are not public.
    missing : str
        One sentence that describes the missing data.
    """

    statements: tuple[Statement, ...]
    run: Callable[[Run], Findings] | None
    missing: str = ""


@dataclass(frozen=True)
class Experiment:
    """A paper with its parts in the paper's order.

    Attributes
    ----------
    paper, title, reference : str
        Short name, title and reference of the paper.
    parts : tuple of Part
        The parts of the experiment.
    introduction : str
        What the paper proposes, in a few sentences.
    notes : tuple of str
        Units, rules and caveats that apply to several claims.
    summary : tuple of str
        Main findings of the documented full run, a sentence or two each. They are written by
        hand, so a change of the results needs a change here.
    """

    paper: str
    title: str
    reference: str
    parts: tuple[Part, ...]
    introduction: str = ""
    notes: tuple[str, ...] = ()
    summary: tuple[str, ...] = ()


def perform(experiment: Experiment, run: Run) -> Reproduction:
    """Run all parts. Claims without data get the verdict "data not available"."""
    start = time.perf_counter()
    found = [_findings(part, run) for part in experiment.parts]
    claims = []
    for part, findings in zip(experiment.parts, found, strict=True):
        assert {statement.key for statement in part.statements} == set(findings.judgements), (
            "every statement needs a judgement"
        )
        for statement in part.statements:
            judged = findings.judgements[statement.key]
            claims.append(
                Claim(statement.key, statement.where, statement.text, judged.verdict, judged.why)
            )
    return Reproduction(
        paper=experiment.paper,
        title=experiment.title,
        reference=experiment.reference,
        depth="quick" if run.quick else "full",
        seed=run.seed,
        settings=tuple(sentence for findings in found for sentence in findings.settings),
        tables=tuple(table for findings in found for table in findings.tables),
        figures=tuple(figure for findings in found for figure in findings.figures),
        claims=tuple(claims),
        seconds=time.perf_counter() - start,
        introduction=experiment.introduction,
        notes=experiment.notes,
        summary=() if run.quick else experiment.summary,
    )


def _findings(part: Part, run: Run) -> Findings:
    why = part.missing
    if part.run is not None:
        try:
            return part.run(run)
        except DataUnavailableError as error:
            why = str(error)
    return Findings(
        judgements={statement.key: Judgement(Verdict.NO_DATA, why) for statement in part.statements}
    )

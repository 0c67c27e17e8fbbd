"""How an experiment is run: quickly or in full, by one process or several, on the data at hand."""

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
        Fewer repetitions, all papers in under three minutes; otherwise the papers' own repetitions.
    seed : int
        Of everything random.
    n_jobs : int or None
        Processes; results do not depend on it.
    progress : bool or None
        None: if the error stream is a terminal.
    download : bool
        Whether data that are not at hand may be fetched.
    """

    quick: bool = True
    seed: int = 0
    n_jobs: int | None = None
    progress: bool | None = None
    download: bool = True

    def repetitions(self, *, quick: int, full: int) -> int:
        """How often this run repeats something."""
        return quick if self.quick else full

    def seeds(self, count: int, name: str) -> list[np.random.SeedSequence]:
        """Independent seeds for the repetitions of what is called `name`; the first ones are the
        same in every depth.
        """
        return np.random.SeedSequence([self.seed, zlib.crc32(name.encode())]).spawn(count)

    def each(
        self, function: Callable[..., Any], items: Iterable[tuple[Any, ...]], title: str
    ) -> list[Any]:
        """``[function(*item) for item in items]`` by all processes; `function` is one of a
        module, not an inner one.
        """
        return in_parallel(function, items, title=title, n_jobs=self.n_jobs, progress=self.progress)

    def load(self, name: str) -> Dataset:
        """A real data set; `DataUnavailableError` where it cannot be had."""
        return load(name, download=self.download)

    def load_those_at_hand(
        self, names: Iterable[str]
    ) -> tuple[dict[str, Dataset], dict[str, DataUnavailableError]]:
        """Of several data sets those that can be had, and why the others cannot."""
        found, missing = {}, {}
        for name in names:
            try:
                found[name] = self.load(name)
            except DataUnavailableError as error:
                missing[name] = error
        return found, missing


def batches(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    """So many items at a time, where one alone is too small a piece of work for a process."""
    return [items[start : start + size] for start in range(0, len(items), size)]


@dataclass(frozen=True)
class Part:
    """A piece of a paper that stands on its own.

    Attributes
    ----------
    statements : tuple of Statement
        What the paper claims there.
    run : callable or None
        Gives the findings, with a judgement of every statement; None where the data exist nowhere
        in public.
    missing : str
        In that case: what is missing, one sentence.
    """

    statements: tuple[Statement, ...]
    run: Callable[[Run], Findings] | None
    missing: str = ""


@dataclass(frozen=True)
class Experiment:
    """A paper: who wrote it, and its parts in the paper's order."""

    paper: str
    title: str
    reference: str
    parts: tuple[Part, ...]


def perform(experiment: Experiment, run: Run) -> Reproduction:
    """Run all parts; those whose data cannot be had say so."""
    start = time.perf_counter()
    found = [_findings(part, run) for part in experiment.parts]
    claims = []
    for part, findings in zip(experiment.parts, found, strict=True):
        assert {statement.key for statement in part.statements} == set(findings.judgements), (
            "every statement has its judgement"
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

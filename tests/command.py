"""Helpers for the tests of the command line: the result of a run, and small tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest


class Answer(NamedTuple):
    """Exit code, output and error stream of one run."""

    code: int
    out: str
    err: str

    @property
    def document(self):
        return json.loads(self.out, parse_constant=lambda word: pytest.fail(f"{word} in JSON"))

    @property
    def features(self):
        return self.document["features"]

    @property
    def order(self):
        return [record["feature"] for record in self.features]

    def record(self, name):
        return next(record for record in self.features if record["feature"] == name)


def put(name, columns):
    """Write a CSV file with these columns."""
    rows = zip(*columns.values(), strict=True)
    Path(name).write_text(
        "\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows), ""])
    )


def numbers(n_rows=24):
    """Three columns of random numbers."""
    random = np.random.default_rng(3)
    return {name: random.normal(size=n_rows).tolist() for name in ("a", "b", "c")}

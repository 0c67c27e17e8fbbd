"""Bad input for public functions other than sieves and scores: a result or an `InputError` of one
line.
"""

from __future__ import annotations

import inspect
import io
import json
import os
import re
import socket
import stat
import zipfile
from decimal import Decimal
from fractions import Fraction
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from graphsieve import (
    ConstraintConflictError,
    InputError,
    InputTypeError,
    Supervision,
    compare,
    feature_p_values,
    rank,
    stability,
)
from graphsieve.assess.evaluation.clustering import clustering_accuracy
from graphsieve.assess.evaluation.evaluating import evaluate
from graphsieve.assess.evaluation.evaluating_clusters import evaluate_clustering
from graphsieve.assess.evaluation.hiding import hide_labels
from graphsieve.assess.evaluation.prefixes import score_prefixes
from graphsieve.assess.evaluation.results import standard_error
from graphsieve.datasets import (
    DataUnavailableError,
    load,
    make_circle,
    make_expert_labels,
    make_regression_problem,
    make_spheres,
    make_squares,
    make_waveform,
    make_y4,
    make_y5,
)
from graphsieve.search import diverse_selection
from graphsieve.table.files.knowledge import read_pairs_file, row_ids
from graphsieve.table.files.reading import read_table
from graphsieve.table.files.writing import output_columns, write_table
from strategies import frozen

N = 24
RNG = np.random.default_rng(3)
X = frozen(RNG.normal(size=(N, 4)) + np.outer(np.arange(N) % 2, [3, 0, 1, 0]))
Y = frozen(np.arange(N) % 2)


# --------------------------------------------------------------------------------------------------
# Files that are written
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", [False, True], ids=["named", "linked"])
@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_what_is_no_ordinary_file_is_never_replaced(tmp_path, kind, link):
    """Replacing a device by a file would remove the device for all users.

    A pipe and a socket represent devices here.
    """
    there = tmp_path / "there.csv"
    if kind == "pipe":
        os.mkfifo(there)
    else:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(there))
    before = there.stat()
    named = there
    if link:
        named = tmp_path / "link.csv"
        named.symlink_to(there)
    ranking = rank(X, Y, method="fisher")
    for write in (lambda: ranking.to_html(named), lambda: write_table(named, {"a": [1.0]})):
        with pytest.raises(InputError, match="is not a regular file; choose another path"):
            write()
    assert named.is_symlink() == link
    assert (there.stat().st_ino, stat.S_IFMT(there.stat().st_mode)) == (
        before.st_ino,
        stat.S_IFMT(before.st_mode),
    )
    assert not list(tmp_path.glob(".graphsieve-*"))


@pytest.mark.parametrize(
    "name",
    [b"a.csv", 5, "a\0.csv", object(), "\ud800.csv", "a" * 300 + ".csv"],
    ids=["bytes", "number", "NUL", "object", "half a character", "too long"],
)
def test_what_cannot_name_a_file(name):
    ranking = rank(X, Y, method="fisher")
    for write in (lambda: ranking.to_html(name), lambda: write_table(name, {"a": [1.0]})):
        with pytest.raises(
            InputError, match=r"^a file name (must be|must not contain|is longer)"
        ) as caught:
            write()
        assert "\n" not in str(caught.value)


def test_a_comparison_that_is_none():
    ranking = rank(X, Y, method="fisher")
    for other in (5, "fisher", ranking, {}):
        with pytest.raises(
            InputTypeError, match=r"comparison must be a result of graphsieve\.compare"
        ):
            ranking.to_html(comparison=other)


# --------------------------------------------------------------------------------------------------
# Every argument of every public function, with unsuitable values
# --------------------------------------------------------------------------------------------------


class Speechless:
    """An object that cannot be shown."""

    def __repr__(self):
        raise RuntimeError("no words")


ODD = {
    "nothing": None,
    "true": True,
    "zero": 0,
    "negative": -1,
    "beyond all": 10**400,
    "below all": -(10**400),
    "half": 0.5,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "complex": 1j,
    "no text": "",
    "text": "a",
    "NUL": "\0",
    "half a character": "\ud800",
    "long text": "x" * 100_000,
    "bytes": b"x",
    "empty list": [],
    "list of zero": [0],
    "list of NaN": [float("nan")],
    "list of text": ["a"],
    "list of nothing": [None],
    "list beyond all": [10**30],
    "dict": {"a": 1},
    "set": {1},
    "no dimension": np.array(1),
    "no number": np.array([]),
    "square": np.eye(2),
    "time": np.datetime64("NaT"),
    "fraction": Fraction(1, 3),
    "decimal": Decimal("sNaN"),
    "missing": pd.NA,
    "masked": np.ma.masked,
    "frame": pd.DataFrame({"a": [1, 2]}),
    "speechless": Speechless(),
    "type": int,
    "ellipsis": ...,
}
GIVEN = {
    clustering_accuracy: {"y": Y, "clusters": Y},
    compare: {"X": X, "y": Y, "methods": ["fisher"], "folds": 2, "learners": ["1nn"], "sizes": [1]},
    diverse_selection: {"scores": np.ones(4), "X": X, "n_features_to_select": 2},
    evaluate: {
        "selectors": "fisher",
        "X": X,
        "y": Y,
        "sizes": [1],
        "learners": ["1nn"],
        "folds": 2,
        "baselines": ["all"],
    },
    evaluate_clustering: {
        "selectors": "variance",
        "X": X,
        "y": Y,
        "sizes": [1],
        "repeats": 1,
        "n_init": 1,
        "baselines": ["all"],
    },
    feature_p_values: {"X": X, "y": Y, "n_permutations": 99},
    hide_labels: {"y": Y, "known": 4, "random_state": 0},
    make_circle: {"random_state": 0},
    make_expert_labels: {"y": Y, "doubt": 0.2, "random_state": 0},
    make_regression_problem: {"problem": "y4", "n_samples": 10, "random_state": 0},
    make_spheres: {"random_state": 0},
    make_squares: {"random_state": 0},
    make_waveform: {"n_samples": 10, "random_state": 0},
    make_y4: {"random_state": 0},
    make_y5: {"random_state": 0},
    score_prefixes: {
        "order": [0, 1, 2, 3],
        "X_train": X,
        "y_train": Y,
        "X_test": X,
        "y_test": Y,
        "sizes": [1],
        "learner": "1nn",
    },
    stability: {"selector": "fisher", "X": X, "y": Y, "n_resamples": 2},
    standard_error: {"values": [1.0, 2.0, 4.0]},
}
# Excluded, because huge counts are valid but would take too long.
WAITED_FOR = {
    ("repeats", "beyond all"),
    ("n_init", "beyond all"),
    ("n_permutations", "beyond all"),
    ("n_jobs", "beyond all"),
}
ARGUMENTS = [(function, name) for function in GIVEN for name in signature(function).parameters]


@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
# scikit-learn warns about a y with one column.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(
    ("function", "name"), ARGUMENTS, ids=[f"{one.__name__}-{name}" for one, name in ARGUMENTS]
)
def test_any_argument_gets_an_answer_or_our_own_error(function, name):
    for kind, value in ODD.items():
        if (name, kind) in WAITED_FOR or (name == "n_jobs" and isinstance(value, int)):
            continue
        try:
            function(**{**GIVEN[function], name: value})
        except InputError as error:
            said = str(error)
            assert "\n" not in said, (kind, said)
            assert len(said) < 1000, (kind, said[:200])
        except Exception as error:
            raise AssertionError(f"{kind} as {name}: {type(error).__name__}: {error}") from error


def test_the_standard_error_of_very_large_and_very_small_numbers():
    # s = √2 · 2**e for the two numbers ±2**e, and s/√2 = 2**e
    for power in (2.0**1022, 2.0**-1060, 1.0):
        assert standard_error([power, -power]) == pytest.approx(power, rel=1e-15)
    assert np.isnan(standard_error([1.0, np.inf]))


def test_bytes_seed_as_the_numbers_they_are():
    assert_array_equal(make_y4(5, random_state=b"\1\2").X, make_y4(5, random_state=[1, 2]).X)


def test_a_mark_of_the_unlabelled_beyond_all_numbers_is_written():
    hidden = hide_labels(Y, 4, unlabeled=10**400, random_state=0)
    assert sum(value == 10**400 for value in hidden) == N - 4


def test_a_fraction_of_the_labels_is_told_in_percent():
    found = evaluate("fisher", X, Y, sizes=[1], learners=["1nn"], folds=2, known=Fraction(1, 2))
    assert found.knowledge == "50 % of the labels"


# --------------------------------------------------------------------------------------------------
# Data sets that are at hand and damaged
# --------------------------------------------------------------------------------------------------


def archived(method=None, flag=None, version=None, header=None):
    """Return the archive of a small data set, with changed bytes in its directory entries."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, values in (("X", X), ("y", Y)):
            array = io.BytesIO()
            np.save(array, values)
            archive.writestr(f"{name}.npy", array.getvalue() if header is None else header)
    data = bytearray(content.getvalue())
    for sign, places in ((b"PK\x01\x02", (10, 8, 6)), (b"PK\x03\x04", (8, 6, 4))):
        for start in (found.start() for found in re.finditer(re.escape(sign), bytes(data))):
            for place, value in zip(places, (method, flag, version), strict=True):
                data[start + place] = data[start + place] if value is None else value
    return bytes(data)


DAMAGED = {
    "compressed by an unknown method": {"method": 99},
    "compressed otherwise than it says": {"method": 14},
    "encrypted": {"flag": 1},
    "patched": {"flag": 32},
    "of a version to come": {"version": 255},
    "a header that does not end": {"header": b"\x93NUMPY\x01\x00\x0b\x00{'descr':((\n"},
    "a header of brackets": {"header": b"\x93NUMPY\x01\x00\x00\x20" + b"(" * 0x1FFF + b"\n"},
}


@pytest.mark.parametrize("how", DAMAGED.values(), ids=list(DAMAGED))
def test_a_damaged_data_set_is_said_to_be_one(tmp_path, monkeypatch, how):
    (tmp_path / "mine.npz").write_bytes(archived())
    monkeypatch.setenv("GRAPHSIEVE_DATA", str(tmp_path))
    assert_array_equal(load("mine").X, X)
    (tmp_path / "mine.npz").write_bytes(archived(**how))
    with pytest.raises(
        DataUnavailableError, match=r"mine\.npz cannot be read \(.*\); replace or remove the file"
    ) as caught:
        load("mine")
    assert "\n" not in str(caught.value)


# --------------------------------------------------------------------------------------------------
# Tables
# --------------------------------------------------------------------------------------------------

SMALL = b"a,b,y\n1,2,u\n2,1,v\n3,5,u\n"
READING = [name for name in inspect.signature(read_table).parameters if name != "source"]


def small(**given):
    return read_table(**{"source": io.BytesIO(SMALL), "keep": ["y"], **given})


DOORS = {
    **{
        f"read_table-{name}": lambda value, folder, name=name: small(**{name: value})
        for name in READING
    },
    "read_pairs_file-ids": lambda value, folder: read_pairs_file(io.BytesIO(b"1,2,must\n"), value),
    "read_pairs_file-gone": lambda value, folder: read_pairs_file(
        io.BytesIO(b"1,2,must\n"), ["1", "2"], gone=value
    ),
    "read_pairs_file-max_bytes": lambda value, folder: read_pairs_file(
        io.BytesIO(b"1,2,must\n"), ["1", "2"], max_bytes=value
    ),
    "row_ids": lambda value, folder: row_ids(small(), value),
    "output_columns": lambda value, folder: output_columns(small(), value),
    **{
        f"write_table-{ending}-{what}": lambda value, folder, ending=ending, made=made: write_table(
            folder / f"out.{ending}", made(value)
        )
        for ending in ("csv", "tsv.gz", "parquet", "feather")
        for what, made in (
            ("columns", lambda value: value),
            ("values", lambda value: {"a": value}),
            ("cell", lambda value: {"a": [value]}),
            ("lengths", lambda value: {"a": [1, 2], "b": value}),
        )
    },
}


@pytest.mark.parametrize("door", DOORS.values(), ids=list(DOORS))
# numpy warns about a masked value in a list.
@pytest.mark.filterwarnings("ignore:Warning. converting a masked element")
def test_any_argument_of_reading_and_writing(tmp_path, door):
    for kind, value in ODD.items():
        try:
            door(value, tmp_path)
        except InputError as error:
            said = str(error)
            assert "\n" not in said, (kind, said)
            assert len(said) < 1000, (kind, said[:200])
        except Exception as error:
            raise AssertionError(f"{kind}: {type(error).__name__}: {error}") from error
        assert not list(tmp_path.glob(".graphsieve-*"))


def test_a_file_by_a_name_that_cannot_be_written():
    with pytest.raises(InputError, match="there is no file"):
        read_table("\ud800.csv")


def test_a_contradiction_through_very_many_pairs_is_one_sentence():
    n = 10_000
    chain = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    with pytest.raises(
        ConstraintConflictError, match="samples 0 and 9999 are cannot-linked"
    ) as caught:
        Supervision.from_pairs(n, chain, [[0, n - 1]])
    # the first ten and the last ten of 10,000
    first, last = (" = ".join(map(str, part)) for part in (range(10), range(n - 10, n)))
    assert f"{first} = … 9,980 more … = {last}" in str(caught.value)


def test_half_a_character_in_a_name_is_written_as_json_writes_it():
    ranking = rank(
        X,
        Y,
        method="fisher",
        feature_names=["a\udcff", *(f"é{at}" for at in range(X.shape[1] - 1))],
    )
    text = ranking.to_json()
    assert "é0" in text
    names = {feature["feature"] for feature in json.loads(text.encode("utf-8"))["features"]}
    assert names == {"a\udcff", *(f"é{at}" for at in range(X.shape[1] - 1))}

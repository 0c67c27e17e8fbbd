"""Bad input on the command line: one test for each case of docs/bad-input.md."""

from __future__ import annotations

import csv
import datetime
import decimal
import gzip
import html.parser
import io
import json
import math
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterable
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import zstandard

import graphsieve
import graphsieve.cli.rank
import graphsieve.table.files.opening
from cases import case, cases_in_table, cases_of, module_of
from command import Answer
from graphsieve.cli.arguments import parser

COMMAND = Path(sys.executable).parent / "graphsieve"

# The cases of docs/bad-input.md with a result on the command line.
C_ROWS = (
    *(1, 2, 3, 8, 12, 17, 18, 20, 24, 25, 49),
    *(55, 56, 57, 58, 59, 60, 62, 63, 64, 66, 67, 68),
    *(77, 78, 80, 82, 83, 84, 85, 86, 87, 89, 91, 92),
    *(93, 94, 95, 97, 102, 103, 105, 106, 107),
    *(120, 121),
    *(
        133,
        134,
        135,
        136,
        137,
        138,
        139,
        140,
        141,
        143,
        144,
        145,
        146,
        148,
        149,
        150,
        151,
        152,
        153,
        154,
        156,
        157,
        158,
        159,
    ),
    *(160, 161, 162, 163, 164, 165, 166, 167),
    *(168, 169, 170, 171, 172, 173, 175, 176, 178, 179, 180, 181, 183, 184, 185, 186, 187, 188),
    *(189, 190, 191, 192, 193, 194, 195, 197, 198, 199, 200),
    *(201, 202),
    *(240, 241, 242, 243, 244, 245, 246, 247),
    *(250, 251, 253, 254, 255),
    *(260, 261, 262, 263, 264, 265, 266, 267, 268, 269, 270, 280),
)

# --- helper functions
# --------------------------------------------------------------------------------------------------


def columns(n_rows=30):
    """Return four columns as text: two correlated, one independent, and one of integers."""
    random = np.random.default_rng(7)
    first = random.normal(size=n_rows)
    values = {
        "f0": first,
        "f1": first + 0.3 * random.normal(size=n_rows),
        "f2": random.normal(size=n_rows),
    }
    texts = {name: [repr(float(value)) for value in some] for name, some in values.items()}
    return texts | {"f3": [str(row * row % 11) for row in range(n_rows)]}


def text_of(table, sep=",", end="\n"):
    rows = zip(*table.values(), strict=True)
    return end.join([sep.join(table), *(sep.join(map(str, row)) for row in rows), ""])


def with_cells(name, cells, n_rows=30):
    """Return the usual table with other cells in some rows of one column."""
    table = columns(n_rows)
    for row, cell in cells.items():
        table[name][row] = cell
    return text_of(table)


def with_column(name, values, **further):
    return text_of(columns(len(values)) | {name: values} | further)


def array(table):
    return np.array([[float(cell) for cell in some] for some in table.values()]).T


PLAIN = text_of(columns())


@pytest.fixture
def ranked(run):
    """Return a function that ranks the content of a file as JSON and requires success."""

    def call(content, *arguments, name="table.csv", code=0):
        put(name, content)
        answer = run("rank", name, "--json", *arguments)
        assert answer.code == code, answer.err
        return answer

    return call


@pytest.fixture
def refused(run, folder):
    """Return a function that runs the command and requires a failure.

    The error is one sentence that contains the given words. Nothing is printed or written.
    """

    def call(arguments, code, *words):
        before = listing(folder)
        answer = run(*arguments)
        check_refusal(answer, code, *words)
        assert listing(folder) == before
        return answer

    return call


def check_refusal(answer, code, *words):
    assert answer.code == code, answer.err
    assert answer.out == ""
    lines = answer.err.splitlines()
    complaints = [line for line in lines if line.startswith("graphsieve")]
    assert complaints == lines[-1:], answer.err
    assert re.search(r"(\.|--help)$", lines[-1]), "no sentence"
    for word in words:
        assert word in lines[-1]


def listing(folder):
    """Return all files with their content, and links with their targets."""
    found = {}
    for path in sorted(folder.rglob("*")):
        what = (
            os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
        )
        found[os.fsencode(path)] = what
    return found


def put(name, content=PLAIN):
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def installed(*arguments, **options):
    """Run the installed command in a separate process."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **options.pop("env", {})}
    return subprocess.run(
        [COMMAND, *map(str, arguments)],
        capture_output=True,
        env=environment,
        timeout=120,
        check=False,
        **options,
    )


def same_ranking(one, other):
    assert one.features == other.features


# --- refused files: case, description, file, content, options, exit code, words of the error
# --------------------------------------------------------------------------------------------------

PICKLE = b"\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00."
MATRIX = "%%MatrixMarket matrix coordinate "


def zipped():
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("table.csv", PLAIN)
    return content.getvalue()


def npz(**arrays):
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


def parquet(table):
    content = io.BytesIO()
    pq.write_table(pa.table(table), content)
    return content.getvalue()


def hdf5(fill):
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        fill(file)
    return content.getvalue()


def strange_encoding(file):
    for name in ("obs", "var"):
        group = file.create_group(name)
        group.attrs.update(
            {
                "encoding-type": "dataframe",
                "encoding-version": "0.2.0",
                "_index": "i",
                "column-order": [],
            }
        )
        group["i"] = ["a", "b"]
        group["i"].attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})
    file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
    file.create_group("X").attrs.update({"encoding-type": "scroll", "encoding-version": "9.9"})


def line(number, text):
    """Return the usual table with another text in one line, counted from 1."""
    lines = PLAIN.splitlines()
    lines[number - 1] = text
    return "\n".join(lines) + "\n"


TARGET = ("--target", "y")
FEW = parquet({"a": [1.0, 2.0, 4.0], "b": [2.0, 1.0, 5.0]})
REFUSED = [
    (
        1,
        "a missing cell",
        "t.csv",
        with_cells("f1", {3: "NaN"}),
        ("--missing", "refuse"),
        3,
        ("'f1'", "1 missing value", "line 5", "--missing use"),
    ),
    (
        1,
        "missing in Parquet",
        "t.parquet",
        parquet({"a": [1.0, None, 3.0], "b": [1.0, 2.0, 4.0]}),
        ("--missing", "refuse"),
        3,
        ("'a'", "row 1"),
    ),
    (
        3,
        "inf",
        "t.csv",
        with_cells("f1", {3: "inf"}),
        (),
        3,
        ("'f1'", "1 infinite value", "line 5"),
    ),
    (
        3,
        "-inf",
        "t.csv",
        with_cells("f2", {0: "-inf"}),
        ("--missing", "fill"),
        3,
        ("'f2'", "line 2"),
    ),
    (55, "no rows in NPZ", "t.npz", npz(X=np.empty((0, 3))), (), 3, ("no data rows",)),
    (
        56,
        "only the target",
        "t.csv",
        text_of({"y": ["a", "b"] * 5}),
        TARGET,
        3,
        ("no column to rank",),
    ),
    (57, "one row", "t.csv", text_of(columns(1)), (), 3, ("1 sample", "at least 2")),
    (
        62,
        "all constant, one requested",
        "t.csv",
        "a,b\n" + "1,2\n" * 5,
        ("--top", "1"),
        3,
        ("nothing to select", "2 features"),
    ),
    (120, "none", "t.csv", PLAIN, ("--top", "0"), 2, ("--top", "at least 1", "'0'")),
    (120, "negative", "t.csv", PLAIN, ("--top", "-2"), 2, ("--top", "'-2'")),
    (120, "too many", "t.csv", PLAIN, ("--top", "5"), 3, ("--top", "5", "4 features")),
    (120, "nan", "t.csv", PLAIN, ("--top", "nan"), 2, ("--top", "'nan'")),
    (120, "True", "t.csv", PLAIN, ("--top", "True"), 2, ("--top", "'True'")),
    (121, "nothing", "t.csv", PLAIN, ("--fraction", "0"), 2, ("--fraction", "'0'")),
    (121, "twice", "t.csv", PLAIN, ("--fraction", "2"), 2, ("--fraction", "up to 1", "'2'")),
    (121, "nan", "t.csv", PLAIN, ("--fraction", "nan"), 2, ("--fraction", "'nan'")),
    (133, "empty file", "t.csv", "", (), 3, ("t.csv", "empty file")),
    (134, "header only", "t.csv", "a,b\n", (), 3, ("no data rows",)),
    (
        136,
        "UTF-16",
        "t.csv",
        PLAIN.encode("utf-16"),
        (),
        3,
        ("looks like UTF-16", "--encoding utf-16"),
    ),
    (
        137,
        "Latin-1",
        "t.csv",
        line(4, "1,2,ö,4").encode("latin-1"),
        (),
        3,
        ("0xf6", "line 4", "--encoding latin-1"),
    ),
    (138, "random bytes", "t.csv", np.random.default_rng(1).bytes(4000), (), 3, ("not text",)),
    (138, "a picture", "t.csv", b"\x89PNG\r\n\x1a\n" + bytes(64), (), 3, ("not text",)),
    (138, "a zip archive", "t.csv", zipped(), (), 3, ("zip archive", "not text")),
    (140, "long row", "t.csv", line(6, "1,2,3,4,5"), (), 3, ("line 6", "5 fields", "expected 4")),
    (141, "short row", "t.csv", line(6, "1,2,3"), (), 3, ("line 6", "3 fields", "expected 4")),
    (
        148,
        "thousands only",
        "t.csv",
        'a\n"1,000"\n"2,500"\n',
        (),
        3,
        ("'a'", "'1,000'", "--thousands ,"),
    ),
    (149, "unclosed quote", "t.csv", line(7, '1,2,3,"4'), (), 3, ("opens in line 7", "not closed")),
    (150, "NUL", "t.csv", line(5, "1,2,\0,4"), (), 3, ("line 5", "NUL")),
    (152, "one name twice", "t.csv", "a,b,a\n1,2,3\n4,5,7\n", (), 3, ("'a' at positions 1, 3",)),
    (154, "1e400", "t.csv", with_cells("f1", {1: "1e400"}), (), 3, ("infinite", "'f1'", "line 3")),
    (154, "-Inf", "t.csv", with_cells("f1", {1: "-Inf"}), (), 3, ("infinite", "'f1'", "line 3")),
    *(
        (
            154,
            f"missing as {word!r}",
            "t.csv",
            with_cells("f1", {1: word}),
            ("--missing", "refuse"),
            3,
            ("1 missing value", "'f1'", "line 3"),
        )
        for word in ("NaN", "NA", "null", "")
    ),
    (156, "comment above", "t.csv", f"# from the lab\n{PLAIN}", (), 3, ("line 2", "--comment '#'")),
    (
        156,
        "comment within",
        "t.csv",
        line(5, "# changed the lamp"),
        (),
        3,
        ("line 5", "--comment '#'"),
    ),
    (158, "cut", "t.parquet", FEW[: len(FEW) // 2], (), 3, ("t.parquet", "Parquet")),
    (
        158,
        "wrong bytes within",
        "t.parquet",
        b"PAR1" + bytes(60) + b"PAR1",
        (),
        3,
        ("t.parquet", "Parquet"),
    ),
    (158, "other beginning", "t.parquet", PLAIN, (), 3, ("does not begin like",)),
    (
        161,
        "two matrices",
        "t.npz",
        npz(A=np.eye(3), B=np.ones((2, 4))),
        (),
        2,
        ("--key", "'A' 3 × 3", "'B' 2 × 4"),
    ),
    (
        161,
        "no such key",
        "t.npz",
        npz(A=np.eye(3), B=np.eye(3)),
        ("--key", "C"),
        2,
        ("'C'", "'A'", "'B'"),
    ),
    (
        162,
        "too few entries",
        "t.mtx",
        f"{MATRIX}real general\n3 3 4\n1 1 5\n2 2 6\n",
        (),
        3,
        ("t.mtx",),
    ),
    (
        162,
        "too many entries",
        "t.mtx",
        f"{MATRIX}real general\n3 3 1\n1 1 5\n2 2 6\n",
        (),
        3,
        ("t.mtx",),
    ),
    (162, "index 0", "t.mtx", f"{MATRIX}real general\n3 3 1\n0 1 5\n", (), 3, ("t.mtx", "0, 1")),
    (162, "pattern", "t.mtx", f"{MATRIX}pattern general\n3 3 1\n1 1\n", (), 3, ("pattern",)),
    (162, "complex", "t.mtx", f"{MATRIX}complex general\n3 3 1\n1 1 1 1\n", (), 3, ("complex",)),
    (
        163,
        "no X",
        "t.h5ad",
        hdf5(lambda file: [file.create_group(name) for name in ("obs", "var")]),
        (),
        3,
        ("no X",),
    ),
    (163, "unknown encoding", "t.h5ad", hdf5(strange_encoding), (), 3, ("t.h5ad", "scroll")),
    (164, "cut", "t.h5ad", hdf5(strange_encoding)[:900], (), 3, ("t.h5ad",)),
    (
        168,
        "unknown target",
        "t.csv",
        with_column("colour", ["red"] * 30),
        ("--target", "color"),
        2,
        ("'color'", "'colour'"),
    ),
    (170, "unknown flag", "t.csv", PLAIN, ("--targt", "y"), 2, ("--targt", "--target")),
    (
        171,
        "unsupervised with a target",
        "t.csv",
        PLAIN,
        ("--unsupervised", *TARGET),
        2,
        ("--unsupervised", "--target"),
    ),
    (
        171,
        "top and fraction",
        "t.csv",
        PLAIN,
        ("--top", "2", "--fraction", "0.5"),
        2,
        ("--top", "--fraction"),
    ),
    (
        171,
        "an unknown word for missing values",
        "t.csv",
        PLAIN,
        ("--missing", "drop"),
        2,
        ("--missing", "drop-rows"),
    ),
    (
        171,
        "one column for two options",
        "t.csv",
        PLAIN,
        ("--target", "f0", "--id-column", "f0"),
        2,
        ("'f0'",),
    ),
    (195, "pickled table", "model.pkl", PICKLE, (), 2, ("pickle", "CSV")),
    (195, "joblib", "model.joblib", PICKLE, (), 2, ("pickle", "CSV")),
    (195, "pickle by another name", "t.csv", PICKLE, (), 3, ("pickle", "CSV")),
]


@pytest.mark.parametrize(
    "case",
    [case[2:] for case in REFUSED],
    ids=[f"{case[0]}-{case[1]}" for case in REFUSED],
)
def test_row(refused, case):
    name, content, options, code, words = case
    put(name, content)
    refused(["rank", name, *options], code, *words)


KINDS = text_of({"a": range(8), "b": "pqrspqrs", "c": ["u", "v"] * 4, "id": "abcdefgh"})
DECLARED = [
    (240, ("--numeric", "c"), 3, ("--numeric contains 'c', but line 2 holds 'u'; correct",)),
    (241, ("--numeric", "d"), 2, ("no column 'd'",)),
    (241, ("--categorical", "ids"), 2, ("no column 'ids' (did you mean 'id'?)",)),
    (241, ("--target", "c", "--categorical", "c"), 2, ("'c' is named as the target and in",)),
    (241, ("--categorical", "b", "--numeric", "b"), 2, ("--categorical contains 'b', which is",)),
    (242, ("--categorical", "a"), 3, ("'a', which has 8 levels in 8 rows", "2 rows per level")),
    (242, ("--categorical", "id"), 3, ("'id', which has 8 levels in 8 rows",)),
    (245, ("--group-by-prefix", ""), 2, ("--group-by-prefix: must not be empty",)),
    (245, ("--group-by-prefix", "_"), 3, ("--group-by-prefix is '_', but no two names share",)),
    (245, ("--group-by-prefix", "_", "--feature-groups", "f"), 2, ("not allowed with",)),
    (247, ("--keep-feature", "d"), 3, ("--keep-feature contains 'd'", "no such column")),
    (247, ("--candidates", "a", "id"), 3, ("--candidates contains 'id'", "no such column")),
    (
        247,
        ("--keep-feature", "a", "b", "--top", "1"),
        3,
        ("--keep-feature names 2 columns, but 1 is to be selected; raise --top",),
    ),
    (
        247,
        ("--keep-feature", "a", "--method", "iterative", "--exclude", "b", "c"),
        3,
        ("the search 'iterative' has no --keep-feature; leave it out",),
    ),
]


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [one[1:] for one in DECLARED],
    ids=[f"{one[0]}-{' '.join(one[1])}" for one in DECLARED],
)
def test_declared_columns_and_features(refused, options, code, words):
    put("t.csv", KINDS)
    refused(["rank", "t.csv", *options], code, *words)


UNUSED = [
    (("--keep-feature", "d"), ("--keep-feature contains 'd'", "no such column")),
    (("--keep-feature", "a", "b", "c"), ("--keep-feature names all 3", "more --candidates")),
    (("--keep-feature", "a", "b", "--sizes", "1"), ("--sizes contains 1, but 2", "choose 2 to 3")),
    (("--candidates", "a", "--sizes", "2"), ("--sizes contains 2", "1 may be", "choose 1 to 1")),
    (
        ("--keep-feature", "a", "--methods", "iterative"),
        ("the search 'iterative' has no --keep-feature; leave it out",),
    ),
    (
        ("--costs", "f", "--methods", "variance"),
        ("--costs applies to a selection by gain", "add 'auto' to --methods"),
    ),
]


@pytest.mark.parametrize(
    ("options", "words"), UNUSED, ids=[f"247-compare {' '.join(one[0])}" for one in UNUSED]
)
def test_choices_in_a_comparison(refused, options, words):
    put("t.csv", KINDS)
    put("f", "a,2\n")
    refused(["compare", "t.csv", *options], 3, *words)


@case(247)
def test_row_247_more_columns_than_candidates(run, folder):
    put("t.csv", with_column("y", ["a", "b"] * 15))
    answer = run("rank", "t.csv", *TARGET, "--candidates", "f3", "--top", "2")
    assert answer.code == 0
    assert "2 columns were requested, but only 1 may be selected." in answer.err


@case(242)
def test_row_242_columns_that_cannot_be_categories(refused):
    put("t.parquet", parquet({"a": [1.0, 2.0, 3.0], "list": [[1], [2], [3]]}))
    why = "'list', but this column of t.parquet cannot be used (lists or records)"
    for option in ("--categorical", "--numeric"):
        refused(["rank", "t.parquet", option, "list"], 3, option, why)
    put("t.mtx", b"%%MatrixMarket matrix coordinate real general\n3 2 2\n1 1 5\n3 2 4\n")
    refused(["rank", "t.mtx", "--categorical", "x0"], 3, "--categorical needs a table that is not")


COLUMN_FILES = [
    (243, "feature-groups", "", ("f is an empty file; expected lines of column and group",)),
    (243, "feature-groups", "a,g\nb\n", ("1 values in line 2; expected a column and its group",)),
    (243, "feature-groups", "a,g\n,g\n", ("line 2; expected a column and its group",)),
    (243, "feature-groups", 'a,"g\n', ("f cannot be read in line 1",)),
    (243, "feature-groups", "{", ("f is not valid JSON",)),
    (243, "feature-groups", "[1]", ("f holds [1]; expected {",)),
    (243, "feature-groups", '{"g": "a"}', ("f has 'a' for 'g'; expected a list of columns",)),
    (243, "feature-groups", '{"g": [1]}', ("f has [1] for 'g'; expected column names",)),
    (243, "feature-groups", '{"g": ["a"], "g": ["b"]}', ("f holds 'g' twice",)),
    (243, "feature-groups", '{"g": []}', ("--feature-groups has no features for 'g'",)),
    (243, "costs", "a,1,2\n", ("f has 3 values in line 1; expected a column and its cost",)),
    (243, "costs", b"a,1\n\xff,1\n", ("f is not UTF-8 text", "line 2")),
    (244, "feature-groups", "a,g\nd,g\n", ("--feature-groups contains 'd'", "no such column")),
    (244, "feature-groups", "a,g\na,h\n", ("--feature-groups has column 'a' in 'g' and in 'h'",)),
    (244, "feature-groups", "a,c\nb,c\n", ("--feature-groups has the name 'c', which is also",)),
    (246, "costs", "a,free\n", ("f has the cost 'free' in line 1; expected a number above 0",)),
    (246, "costs", "column,cost\na,0\n", ("f has the cost '0' in line 2; expected a number",)),
    (246, "costs", "a,inf\n", ("f has the cost 'inf' in line 1; expected a number",)),
    (246, "costs", '{"a": true}', ("f has the cost True in 'a'; expected a number above 0",)),
    (246, "costs", "a,1\na,2\n", ("f has a second cost of 'a' in line 2; keep one",)),
    (247, "costs", "d,1\n", ("--costs contains 'd'", "no such column")),
]


@pytest.mark.parametrize(
    ("option", "content", "words"),
    [one[1:] for one in COLUMN_FILES],
    ids=[f"{one[0]}-{at}" for at, one in enumerate(COLUMN_FILES)],
)
def test_files_of_groups_and_costs(refused, option, content, words):
    put("t.csv", KINDS)
    put("f", content)
    refused(["rank", "t.csv", f"--{option}", "f"], 3, *words)


PAIRS = [
    (93, "both", "3,5,must\n3,5,cannot\n", (), ("'3'", "'5'", "'3' = '5'")),
    (
        94,
        "a chain",
        "1,2,must\n2,3,must\n1,3,cannot\n",
        (),
        ("rows '1' and '3'", "'1' = '2' = '3'"),
    ),
    (
        94,
        "a chain of names",
        "s4,s5,must\ns5,s9,must\ns9,s4,cannot\n",
        ("--id-column", "id"),
        ("'s4' = 's5' = 's9'",),
    ),
    (102, "unknown row", "1,31,must\n", (), ("'31'", "line 1")),
    (
        102,
        "unknown name",
        "s1,s2,must\ns1,s77,cannot\n",
        ("--id-column", "id"),
        ("'s77'", "line 2"),
    ),
    (
        105,
        "must-link across labels",
        "1,2,must\n",
        TARGET,
        ("rows '1' and '2'", "different labels"),
    ),
    (
        106,
        "cannot-link inside a label",
        "1,3,cannot\n",
        TARGET,
        ("rows '1' and '3'", "both labelled 'a'"),
    ),
    (165, "JSON that ends early", '{"must_link":\n [["1", "2"]', (), ("pairs", "line 2")),
    (165, "wrong key", '{"must": [["1", "2"]]}', (), ("'must'", "must_link")),
    (165, "half a pair", '{"must_link": [["1", "2"], ["3"]]}', (), ("pair 1 of must_link",)),
    (165, "a list", "[1, 2]", (), ("must_link",)),
    (165, "two cells", "1,2,must\n3,4\n", (), ("line 2", "2 values")),
    (165, "unknown word", "1,2,must\n3,4,perhaps\n", (), ("line 2", "'perhaps'", "must or cannot")),
    (165, "misspelt in the first line", "1,2,mst\n3,4,must\n", (), ("line 1", "'mst'")),
    (165, "empty", "", (), ("empty file",)),
]


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [case[2:] for case in PAIRS],
    ids=[f"{case[0]}-{case[1]}" for case in PAIRS],
)
def test_pairs(refused, content, options, words):
    put(
        "t.csv", text_of(columns() | {"y": ["a", "b"] * 15, "id": [f"s{row}" for row in range(30)]})
    )
    put("pairs", content)
    refused(["rank", "t.csv", "--pairs", "pairs", *options], 3, *words)


# --- A. values
# --------------------------------------------------------------------------------------------------


@case(2)
def test_row_2_mostly_missing(refused, ranked):
    content = with_cells("f1", dict.fromkeys(range(20), ""))
    put("t.csv", content)
    refused(
        ["rank", "t.csv", "--missing", "refuse"],
        3,
        "'f1' is mostly empty",
        "20 missing values",
        "--missing use, drop-columns",
    )
    without = {name: cells for name, cells in columns().items() if name != "f1"}
    same_ranking(ranked(content, "--missing", "drop-columns"), ranked(text_of(without)))


@case(8)
def test_row_8_text_is_a_category_or_left_out(ranked, refused):
    answer = ranked(with_column("city", ["Rome", "Oslo"] * 15))
    assert {one["feature"]: one["kind"] for one in answer.features}["city"] == "category"
    assert "(1 category: 'city')" in answer.err.splitlines()[0]
    answer = ranked(with_column("name", [f"row {row}" for row in range(30)]))
    same_ranking(answer, ranked(PLAIN))
    why = "an identifier or free text"
    assert answer.document["table"]["left_out"] == [{"column": "name", "why": why}]
    assert f"excluded: 'name' ({why})" in answer.err.splitlines()
    put("t.csv", "a,b\nx,2026-01-31\ny,2026-02-01\nz,2026-02-01\n")
    refused(["rank", "t.csv"], 3, "no column to rank", f"'a' ({why})", "'b' (dates)")


@case(12)
def test_row_12_integers_beyond_the_precision_of_floats(ranked):
    exact = ranked(with_column("big", [2**53 - row for row in range(30)]))
    assert not [text for text in exact.document["warnings"] if "precision" in text]
    rounded = ranked(with_column("big", [2**53 + 1 + row for row in range(30)]))
    (warning,) = [
        text for text in rounded.document["warnings"] if "precision lost in column 'big'" in text
    ]
    assert f"warning: {warning}" in rounded.err.splitlines()


@pytest.mark.parametrize("options", [(), ("--method", "laplacian")], ids=["default", "laplacian"])
@pytest.mark.parametrize(
    "power",
    [
        pytest.param(1021, id="17"),
        pytest.param(520, id="18-small"),
        pytest.param(990, id="18-large"),
    ],
)
def test_huge_values(ranked, power, options):
    """Cases 17 and 18: multiplying all values by a power of two does not change the ranking."""
    table = columns()
    del table["f3"]
    largest = max(abs(float(cell)) for cells in table.values() for cell in cells)
    if power == 1021:  # as close to the largest float as possible with a power of two
        power = 1023 - math.floor(math.log2(largest))
        assert 2.0**1023 <= math.ldexp(largest, power) < math.inf
    huge = {
        name: [repr(math.ldexp(float(cell), power)) for cell in cells]
        for name, cells in table.items()
    }
    same_ranking(ranked(text_of(huge), *options), ranked(text_of(table), *options))


@case(20)
def test_row_20_subnormal_values(ranked):
    """Integer multiples of the smallest float are exact, so only the magnitude differs."""
    whole = {
        name: [round(1000 * float(cell)) for cell in cells] for name, cells in columns().items()
    }
    tiny = {name: [repr(cell * 5e-324) for cell in cells] for name, cells in whole.items()}
    assert max(float(cell) for cells in tiny.values() for cell in cells) < 2.3e-308
    same_ranking(ranked(text_of(tiny)), ranked(text_of(whole)))


@case(24)
def test_row_24_negative_zero(ranked):
    table = columns()
    for row in range(0, 30, 3):
        table["f2"][row] = "0.0"
    signed = table | {
        "f2": [
            "-0.0" if cell == "0.0" and row % 2 else cell for row, cell in enumerate(table["f2"])
        ]
    }
    assert "-0.0" in signed["f2"]
    same_ranking(ranked(text_of(signed)), ranked(text_of(table)))
    both = ranked(text_of(table | {"copy": signed["f2"]}))
    assert both.record("copy")["closest"] == "f2"


@case(25)
def test_row_25_nan_with_unusual_bits(ranked, refused):
    values = array(columns())
    odd = struct.unpack("<d", struct.pack("<Q", 0xFFF4_0000_DEAD_BEEF))[0]
    holed = values.copy()
    holed[3, 1] = odd
    for name, content in (
        ("t.npz", npz(X=holed)),
        ("t.parquet", parquet({"a": holed[:, 0], "b": holed[:, 1]})),
    ):
        put(name, content)
        refused(["rank", name, "--missing", "refuse"], 3, "1 missing value", "row 3")
    values[:9, 2] = 0.0
    signed = values.copy()
    signed[:5, 2] = -0.0
    same_ranking(ranked(npz(X=signed), name="t.npz"), ranked(npz(X=values), name="t.npz"))


# --- C. shape
# --------------------------------------------------------------------------------------------------


@case(58)
def test_row_58_two_rows(ranked):
    answer = ranked(text_of(columns(2)))
    assert any("graph of 2 nodes" in text for text in answer.document["warnings"])
    assert len(answer.features) == 4


@case(59)
def test_row_59_fewer_rows_than_neighbors(ranked):
    answer = ranked(text_of(columns(4)), "--method", "laplacian", "--neighbors", "9")
    assert answer.document["n_neighbors"] == 3
    assert any(
        "lowered to 3" in text and "--neighbors" in text for text in answer.document["warnings"]
    )


@case(60)
def test_row_60_one_column(ranked):
    assert ranked("a\n1\n2\n4\n8\n").order == ["a"]


@pytest.mark.parametrize("content", ["b,a\n" + "1,2\n" * 5, "b,a,c\n" + "1,2,3\n" * 9])
@case(62, 64)
def test_row_62_and_64_all_constant(ranked, refused, content):
    """If all columns are constant, all rows are identical."""
    answer = ranked(content)
    names = content.partition("\n")[0].split(",")
    assert answer.order == names
    assert [record["score"] for record in answer.features] == [None] * len(names)
    assert not any(record["selected"] for record in answer.features)
    assert any(
        f"{len(names)} of {len(names)} columns" in text for text in answer.document["warnings"]
    )
    refused(["select", "table.csv"], 3, "no column can be selected")
    refused(["select", "table.csv", "-o", "reduced.csv"], 3, "no column can be selected")


CONSTANT = text_of({"k": ["3"] * 30} | columns() | {"l": ["-1.5"] * 30})


@pytest.mark.parametrize(
    "options",
    [("--top", "2"), ("--method", "laplacian"), ()],
    ids=["given number", "by a score", "automatic number"],
)
@case(63)
def test_row_63_some_constant(ranked, run, options):
    answer = ranked(CONSTANT, *options)
    last = answer.features[-2:]
    assert [(record["feature"], record["score"], record["flag"]) for record in last] == [
        ("k", None, "unscorable"),
        ("l", None, "unscorable"),
    ]
    assert all(record["flag"] is None for record in answer.features[:-2])
    assert len([text for text in answer.document["warnings"] if "2 of 6 columns" in text]) == 1
    rows = list(
        csv.DictReader(io.StringIO(run("rank", "table.csv", "--format", "csv", *options).out))
    )
    assert [row["score"] for row in rows[-2:]] == ["", ""]
    shown = run("rank", "table.csv", *options).out.splitlines()
    assert [re.split(r"\s+", text.strip())[1:] for text in shown[-2:]] == [
        ["k", "not", "scored"],
        ["l", "not", "scored"],
    ]


@case(66)
def test_row_66_duplicated_columns(ranked):
    table = columns()
    table = {"copy of f2": table["f2"], **table}
    scored = ranked(text_of(table), "--method", "laplacian", "--redundancy", "none")
    one, other = scored.record("copy of f2"), scored.record("f2")
    assert one["score"] == other["score"]
    assert other["rank"] == one["rank"] + 1
    chosen = ranked(text_of(table))
    pair = sorted(
        [chosen.record("copy of f2"), chosen.record("f2")], key=lambda record: record["rank"]
    )
    assert [record["feature"] for record in pair] == ["copy of f2", "f2"]
    assert pair[1]["closest"] == "copy of f2"
    assert pair[1]["closest_correlation"] == pytest.approx(1, abs=1e-9)


@case(67)
def test_row_67_ties(ranked):
    """Columns that are permutations of the same values have the same variance."""
    table = {"c": [1, 2, 3, 4], "a": [4, 3, 2, 1], "wide": [9, -9, 9, -9], "b": [2, 1, 4, 3]}
    answer = ranked(
        text_of(table), "--method", "variance", "--redundancy", "none", "--scale", "none"
    )
    assert answer.order == ["wide", "c", "a", "b"]
    assert [record["rank_min"] for record in answer.features] == [1, 2, 2, 2]
    assert [record["rank"] for record in answer.features] == [1, 2, 3, 4]


@case(68)
def test_row_68_shuffled_rows(ranked):
    shuffled = np.random.default_rng(3).permutation(30)
    other = {name: [cells[row] for row in shuffled] for name, cells in columns().items()}
    for options in ((), ("--method", "laplacian")):
        one, two = ranked(PLAIN, *options), ranked(text_of(other), *options)
        assert one.order == two.order
        assert [record["score"] for record in one.features] == pytest.approx(
            [record["score"] for record in two.features], rel=1e-10
        )


# --- D. target
# --------------------------------------------------------------------------------------------------


def known_line(answer):
    (found,) = [text for text in answer.err.splitlines() if text.startswith("target ")]
    return found


@case(77)
def test_row_77_continuous_with_gaps(ranked):
    answer = ranked(
        with_column("y", [f"{1.5 * row}" if row % 3 else "" for row in range(30)]), *TARGET
    )
    assert "continuous from 1.5 to 43.5, known for 20 of 30 rows" in known_line(answer)
    assert answer.document["known"]["kind"] == "targets"


@pytest.mark.parametrize("cell", ["", "NA", "-1"])
@case(78)
def test_row_78_no_known_target(ranked, cell):
    answer = ranked(with_column("y", [cell] * 30), *TARGET)
    assert "no target known: ranking is unsupervised." in answer.document["warnings"]
    assert answer.order == ranked(PLAIN, "--unsupervised").order


@case(80)
def test_row_80_one_class(ranked):
    answer = ranked(with_column("y", ["a"] * 9 + [""] * 21), *TARGET)
    assert any("one class" in text for text in answer.document["warnings"])


@case(82)
def test_row_82_minus_one_is_unknown(ranked):
    answer = ranked(with_column("y", ["0", "1", "-1"] * 10), *TARGET)
    assert "2 classes ('0', '1'), known for 20 of 30 rows" in known_line(answer)
    empty = ranked(with_column("y", ["0", "1", ""] * 10), *TARGET)
    same_ranking(answer, empty)


@case(83)
def test_row_83_text_for_unknown_labels(ranked):
    content = with_column("y", ["a", "b", "NA", "None", ""] * 6)
    answer = ranked(content, *TARGET)
    assert "2 classes ('a', 'b'), known for 12 of 30 rows" in known_line(answer)
    same_ranking(answer, ranked(with_column("y", ["a", "b", "", "", ""] * 6), *TARGET))
    kept = ranked(content, *TARGET, "--keep-na-text")
    assert "4 classes ('NA', 'None', 'a', 'b'), known for 24 of 30 rows" in known_line(kept)


@case(85)
def test_row_85_whole_floats_with_gaps(ranked):
    answer = ranked(with_column("y", ["1.0", "2.0", ""] * 10), *TARGET)
    assert "2 classes" in known_line(answer)
    assert "known for 20 of 30 rows" in known_line(answer)
    assert "--target-type continuous" in known_line(answer)


@case(86)
def test_row_86_three_different_values(ranked):
    broken = with_column("y", ["0.5", "1.5", "2.5"] * 10)
    answer = ranked(broken, *TARGET)
    assert "continuous from 0.5 to 2.5" in known_line(answer)
    assert "--target-type classes" in known_line(answer)
    assert ranked(broken, *TARGET, "--target-type", "classes").document["known"]["kind"] == "labels"
    whole = with_column("y", ["1", "2", "3"] * 10)
    assert "3 classes ('1', '2', '3')" in known_line(ranked(whole, *TARGET))
    assert (
        ranked(whole, *TARGET, "--target-type", "continuous").document["known"]["kind"] == "targets"
    )


@case(87)
def test_row_87_an_identifier_as_target(ranked):
    answer = ranked(with_column("y", [f"s{row}" for row in range(30)]), *TARGET)
    assert any("looks like an identifier" in text for text in answer.document["warnings"])


DATES = {
    "date32": pa.array([datetime.date(2020, 1, 1 + row % 3) for row in range(30)]),
    "timestamp": pa.array([datetime.datetime(2020, 1, 1 + row % 3) for row in range(30)]),
    "time": pa.array([datetime.time(1 + row % 3) for row in range(30)]),
    "duration": pa.array([datetime.timedelta(1 + row % 3) for row in range(30)]),
}
DATES["categories"] = DATES["date32"].dictionary_encode()


@pytest.mark.parametrize("kind", DATES)
@pytest.mark.parametrize("suffix", ["parquet", "feather", "npz"])
@case(89)
def test_row_89_dates_as_target(refused, run, kind, suffix):
    """Python refuses them too. They can be kept beside the features."""
    table, name = array(columns()), f"t.{suffix}"
    dates = DATES[kind]
    if suffix == "npz":
        if kind not in ("date32", "timestamp", "duration"):
            pytest.skip("numpy has no such type")
        np.savez(name, X=table, y=dates.to_numpy(zero_copy_only=False))
    else:
        columns_of_table = {f"f{at}": table[:, at] for at in range(4)} | {"y": dates}
        write = pq.write_table if suffix == "parquet" else pyarrow.feather.write_feather
        write(pa.table(columns_of_table), name)
    refused(["rank", name, "--target", "y"], 3, "the target 'y'", "holds dates")
    assert run("select", name, "--keep", "y").code == 0
    with pytest.raises(graphsieve.InputError, match="y holds dates"):
        graphsieve.rank(table, dates.to_pylist())


@case(89)
def test_row_89_texts_like_dates_are_classes(ranked):
    answer = ranked(with_column("y", ["2020-01-01", "2020-01-02"] * 15), *TARGET)
    assert "2 classes ('2020-01-01', '2020-01-02')" in known_line(answer)


@case(49)
def test_row_49_names_in_two_unicode_forms(ranked):
    content = PLAIN.replace("f0", "caf\u00e9", 1).replace("f1", "cafe\u0301", 1)
    assert any("Unicode form" in text for text in ranked(content).document["warnings"])


@case(84)
def test_row_84_labels_in_two_spellings(ranked):
    answer = ranked(with_column("y", ["01", "1"] * 15), *TARGET)
    assert any("in two spellings" in text for text in answer.document["warnings"])
    answer = ranked(with_column("y", ["TRUE", "true", "false"] * 10), *TARGET)
    assert "2 classes" in known_line(answer)


@case(91)
def test_row_91_the_target_is_not_a_feature(ranked):
    answer = ranked(with_column("y", [str(row % 2) for row in range(30)]), *TARGET)
    assert sorted(answer.order) == sorted(columns())
    assert "30 rows, 5 columns, 4 of them features" in answer.err


@case(92)
def test_row_92_a_class_with_one_member(ranked):
    answer = ranked(with_column("y", ["a"] * 14 + ["b"] * 15 + ["lonely"]), *TARGET)
    assert any("single known member (lonely)" in text for text in answer.document["warnings"])


# --- E. pairs
# --------------------------------------------------------------------------------------------------


@case(95)
def test_row_95_a_row_linked_with_itself(ranked, refused):
    put("pairs", "4,4,must\n2,3,must\n")
    answer = ranked(PLAIN, "--pairs", "pairs")
    assert "pairs links row '4' with itself; 1 such pair ignored." in answer.document["warnings"]
    put("clean", "2,3,must\n")
    same_ranking(answer, ranked(PLAIN, "--pairs", "clean"))
    put("pairs", "4,4,cannot\n")
    refused(
        ["rank", "table.csv", "--pairs", "pairs"], 3, "a cannot-link between row '4' and itself"
    )


@case(97)
def test_row_97_repeated_and_reversed_pairs(ranked):
    put("often", "1,2,must\n2,1,must\n1,2,must\n3,4,cannot\n4,3,cannot\n")
    put("once", "1,2,must\n3,4,cannot\n")
    often, once = (ranked(PLAIN, "--pairs", name) for name in ("often", "once"))
    same_ranking(often, once)
    assert "supervision: 1 must-link, 1 cannot-link" in often.err.splitlines()


@case(102)
def test_row_102_pairs_with_dropped_rows_are_skipped(ranked):
    content = with_cells("f1", {3: ""})
    put("pairs", "1,2,must\n4,5,cannot\n6,7,cannot\n")
    answer = ranked(content, "--pairs", "pairs", "--missing", "drop-rows")
    assert "supervision: 1 must-link, 1 cannot-link" in answer.err.splitlines()


def test_pairs_without_effect_are_reported(ranked):
    put("pairs", "4,5,cannot\n")
    answer = ranked(with_cells("f1", {3: ""}), "--pairs", "pairs", "--missing", "drop-rows")
    assert (
        "pairs holds no pair of two different rows of the table, so it has no effect."
        in answer.document["warnings"]
    )


@case(103)
def test_row_103_two_rows_with_the_same_name(refused):
    names = [f"s{row}" for row in range(30)]
    names[7] = "s2"
    put("t.csv", with_column("id", names))
    refused(["rank", "t.csv", "--id-column", "id"], 3, "'s2'", "line 4", "line 9", "'id'")


@case(107)
def test_row_107_all_rows_linked(ranked):
    put("pairs", "".join(f"1,{row},must\n" for row in range(2, 31)))
    assert any(
        "join all 30" in text for text in ranked(PLAIN, "--pairs", "pairs").document["warnings"]
    )


def test_invalid_probabilities(refused):
    """The error names the line and column of the file, or its row."""
    proba = {"p": ["0.5"] * 30, "q": ["0.5"] * 30}
    for row, cells, words in (
        (4, ("0.5", "0.4"), ("line 6", "0.9")),
        (7, ("-0.5", "1.5"), ("line 9", "'p'", "-0.5")),
    ):
        odd = {
            name: [*some[:row], cell, *some[row + 1 :]]
            for (name, some), cell in zip(proba.items(), cells, strict=True)
        }
        put("t.csv", text_of(columns() | odd))
        refused(["rank", "t.csv", "--proba-columns", "p", "q"], 3, *words)
    put("t.csv")
    put("proba.csv", text_of(odd))
    refused(["rank", "t.csv", "--proba", "proba.csv"], 3, "proba.csv", "row '8'", "'p'", "-0.5")
    put("proba.csv", text_of({name: some[:9] for name, some in proba.items()}))
    refused(["rank", "t.csv", "--proba", "proba.csv"], 3, "9 rows", "30 rows")


@case(250)
def test_row_250_probabilities_that_are_missing_in_part_of_a_row(refused):
    odd = {"p": ["0.5"] * 30, "q": [*["0.5"] * 4, "", *["0.5"] * 25]}
    put("t.csv", text_of(columns() | odd))
    refused(["rank", "t.csv", "--proba-columns", "p", "q"], 3, "line 6", "'q'", "whole row")
    put("t.csv")
    put("proba.csv", text_of(odd))
    refused(["rank", "t.csv", "--proba", "proba.csv"], 3, "proba.csv", "row '5'", "'q'", "whole")


@case(251)
@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("1.5", ("column 'sure'", "1.5", "line 6", "from 1/2")),
        ("", ("column 'sure'", "no value", "line 6", "has a label")),
        ("high", ("column 'sure'", "'high'", "line 6", "a probability")),
    ],
)
def test_row_251_confidence_that_is_no_probability(refused, cell, words):
    extra = {"kind": ["no", "yes"] * 15, "sure": [*["0.8"] * 4, cell, *["0.8"] * 25]}
    put("t.csv", text_of(columns() | extra))
    refused(["rank", "t.csv", "--target", "kind", "--confidence-column", "sure"], 3, *words)


@case(253)
def test_row_253_a_confidence_column_without_labels(refused):
    extra = {
        "kind": ["no", "yes"] * 15,
        "size": [repr(row / 7) for row in range(30)],
        "sure": ["0.8"] * 30,
    }
    put("t.csv", text_of(columns() | extra))
    sure = ["rank", "t.csv", "--confidence-column", "sure"]
    refused(sure, 2, "--confidence-column needs a target")
    refused([*sure, "--target", "size"], 2, "needs class labels", "'size'", "continuous")
    refused([*sure, "--target", "kind", "--proba", "p.csv"], 2, "--proba and --confidence-column")
    refused([*sure, "--target", "sure"], 2, "'sure' is named as the target")
    refused([*sure, "--target", "kind", "--exclude", "sure"], 2, "'sure'", "the confidence")
    refused(["compare", "t.csv", "--confidence-column", "sure"], 2, "--confidence-column")


SIZES = {"one": [repr(row / 7) for row in range(30)], "two": [repr(row**2) for row in range(30)]}


@case(254)
def test_row_254_targets_that_are_no_numbers(refused):
    put("t.csv", text_of(columns() | SIZES | {"odd": [*["1.5"] * 4, "high", *["2.5"] * 25]}))
    words = ("column 'odd'", "'high'", "line 6", "a number")
    refused(["rank", "t.csv", "--target", "one", "odd"], 3, *words)
    put("t.csv", text_of(columns() | SIZES))
    several = ["rank", "t.csv", "--target", "one", "two"]
    refused([*several, "--target-type", "classes"], 3, "0 and 1", "--target-type continuous")
    refused(["rank", "t.csv", "--target", "one", "one"], 2, "--target names a column twice")
    refused([*several, "--exclude", "two"], 2, "'two' is named as the target")
    refused([*several, "--unlabeled", "3"], 2, "--unlabeled 3", "'one', 'two'")


@case(255)
def test_row_255_a_method_that_needs_one_target(refused):
    put("t.csv", text_of(columns() | SIZES))
    several = ["rank", "t.csv", "--target", "one", "two", "--method"]
    refused([*several, "mutual_information"], 3, "needs one target, got 2")
    refused([*several, "fisher"], 3, "'fisher' needs labels")


# --- G. files
# --------------------------------------------------------------------------------------------------

LINES = PLAIN.splitlines()


@pytest.mark.parametrize(
    ("content", "options", "note"),
    [
        pytest.param(b"\xef\xbb\xbf" + PLAIN.encode(), (), None, id="135-byte order mark"),
        pytest.param(PLAIN.encode("utf-16"), ("--encoding", "utf-16"), None, id="136-requested"),
        pytest.param(gzip.compress(PLAIN.encode()), (), None, id="139-gzip without the suffix"),
        pytest.param(
            zstandard.compress(PLAIN.encode()), (), None, id="139-zstd without the suffix"
        ),
        pytest.param("\n\n".join(LINES) + "\n", (), "30 blank lines skipped", id="143-blank lines"),
        pytest.param("\r\n".join(LINES) + "\r\n", (), None, id="144-CRLF"),
        pytest.param("\r".join(LINES) + "\r", (), None, id="144-CR"),
        pytest.param(
            "\r\n".join(LINES[:9]) + "\r" + "\n".join(LINES[9:]) + "\n", (), None, id="144-mixed"
        ),
        pytest.param("\n".join(LINES), (), None, id="145-no newline at the end"),
        pytest.param(
            PLAIN.replace(",", ";"), (), "columns are separated by semicolons", id="146-semicolons"
        ),
        pytest.param(PLAIN.replace(",", "\t"), (), "columns are separated by tabs", id="146-tabs"),
        pytest.param(PLAIN.replace(",", "!"), ("--sep", "!"), None, id="146-requested"),
        pytest.param(
            PLAIN.replace(",", "\t"), ("--sep", "\\t"), None, id="146-a tab as shells write it"
        ),
        pytest.param(
            f"# lab\n{PLAIN}", ("--comment", "#"), "1 comment line skipped", id="156-requested"
        ),
    ],
)
def test_same_as_clean(ranked, content, options, note):
    answer, clean = ranked(content, *options), ranked(PLAIN)
    same_ranking(answer, clean)
    assert answer.document["table"]["notes"] == ([] if note is None else [note])
    assert note is None or note in answer.err.splitlines()


@pytest.mark.parametrize(
    ("name", "compress"),
    [("t.csv.gz", gzip.compress), ("t.csv.zst", zstandard.compress)],
    ids=["139-gzip", "139-zstd"],
)
def test_same_as_clean_with_the_suffix(ranked, name, compress):
    same_ranking(ranked(compress(PLAIN.encode()), name=name), ranked(PLAIN))


@case(151)
def test_row_151_a_header_that_looks_like_data(ranked):
    bare = PLAIN.partition("\n")[2]
    answer = ranked(bare)
    assert any(
        "header looks like data" in text and "--no-header" in text
        for text in answer.document["warnings"]
    )
    assert answer.document["n_samples"] == 29
    asked = ranked(bare, "--no-header")
    assert asked.document["n_samples"] == 30
    assert sorted(asked.order) == ["column_1", "column_2", "column_3", "column_4"]
    assert [record["score"] for record in asked.features] == [
        record["score"] for record in ranked(PLAIN).features
    ]


@case(153)
def test_row_153_empty_column_name(ranked):
    answer = ranked(PLAIN.replace("f1", "", 1))
    assert "column_2" in answer.order
    assert answer.document["table"]["notes"] == ["names generated for 1 column: 'column_2'"]


@case(154)
def test_row_154_too_small_is_zero(ranked):
    same_ranking(ranked(with_cells("f2", {1: "1e-400"})), ranked(with_cells("f2", {1: "0"})))


@pytest.mark.slow
@case(157)
def test_row_157_very_wide_and_very_long(ranked, refused):
    n_columns = 100_000
    numbers = np.random.default_rng(2).integers(0, 1000, size=(3, n_columns))
    numbers[:, 77_777] = [0, 10**6, 0]
    rows = [
        ",".join(f"c{place}" for place in range(n_columns)),
        *(",".join(map(str, row)) for row in numbers),
    ]
    scored = ("--method", "variance", "--redundancy", "none", "--scale", "none", "--top", "1")
    answer = ranked("\n".join(rows) + "\n", *scored)
    assert answer.features[0]["feature"] == "c77777"
    assert len(answer.features) == n_columns
    long_cell = "x" * 50_000_000
    answer = ranked(f'a,b,note\n1,2,"{long_cell}"\n2,5,x\n4,1,y\n')
    assert sorted(answer.order) == ["a", "b"]
    assert len(answer.err) + len(answer.out) < 10_000


@case(159)
def test_row_159_parquet_columns_of_every_kind(ranked):
    n_rows = 20
    random = np.random.default_rng(5)
    table = {
        "number": random.normal(size=n_rows),
        "price": [decimal.Decimal(row * row % 7) / 4 for row in range(n_rows)],
        "flag": [row % 3 == 0 for row in range(n_rows)],
        "list": [[1, 2]] * n_rows,
        "record": [{"a": 1}] * n_rows,
        "kind": pa.array(["x", "y"] * (n_rows // 2)).dictionary_encode(),
        "when": [datetime.datetime(2020, 1, 1)] * n_rows,
    }
    answer = ranked(parquet(table), name="t.parquet")
    assert sorted(answer.order) == ["flag", "kind", "number", "price"]
    assert answer.document["table"]["categories"] == ["kind"]
    left_out = {one["column"]: one["why"] for one in answer.document["table"]["left_out"]}
    assert left_out == {
        "list": "lists or records",
        "record": "lists or records",
        "when": "dates",
    }


@case(160)
def test_row_160_objects_and_duplicates_in_an_archive(refused):
    labels = np.array(["a", "b"] * 15, dtype=object)
    put("t.npz", npz(X=array(columns()), y=labels))
    refused(["rank", "t.npz", "--target", "y"], 3, "'y' holds Python objects", "astype(str)")
    put("t.npz", npz(X=array(columns()), feature_names=np.array(list("abcd"), dtype=object)))
    refused(["rank", "t.npz"], 3, "'feature_names' holds Python objects", "astype(str)")
    with zipfile.ZipFile("t.npz", "w") as archive:
        archive.writestr("X.npy", b"")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("X.npy", b"")
    refused(["rank", "t.npz"], 3, "2 arrays with the name 'X'")


@case(161)
def test_row_161_a_key_selects_an_array(ranked):
    values = array(columns())
    chosen = ranked(npz(A=values, B=values[:, ::-1]), "--key", "A", name="t.npz")
    alone = ranked(npz(A=values), name="t.npz")
    same_ranking(chosen, alone)


@case(165)
def test_row_165_yaml_is_not_read(refused):
    put("t.csv")
    put("pairs.yaml", "must_link:\n- [1, 2]\n")
    refused(["rank", "t.csv", "--pairs", "pairs.yaml"], 3, "pairs.yaml", "line 1")


@case(166)
def test_row_166_a_file_that_grows(run, folder, monkeypatch):
    put("t.csv", PLAIN)
    read = graphsieve.table.files.opening._Counted.read
    lines = ["1,2,3,4\n"]

    def read_and_append(self, size=-1):
        with open("t.csv", "a") as file:
            file.write(lines.pop() if lines else "")
        return read(self, size)

    monkeypatch.setattr(graphsieve.table.files.opening._Counted, "read", read_and_append)
    check_refusal(run("rank", "t.csv"), 3, "t.csv", "changed while it was read")


@case(167)
def test_row_167_inputs_that_are_not_files(refused, run, folder):
    put("table.csv")
    refused(["rank", "tabel.csv"], 2, "'tabel.csv'", "'table.csv'")
    refused(["rank", "nowhere/table.csv"], 2, "'table.csv'", "folder")
    refused(["rank", "."], 2, "folder")
    refused(["rank", "/dev/zero"], 2, "device")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@case(167)
def test_row_167_no_permission(refused):
    put("t.csv")
    Path("t.csv").chmod(0)
    refused(["rank", "t.csv"], 2, "t.csv", "Permission denied")


@case(167)
def test_row_167_a_stream(run, ranked, monkeypatch):
    clean = ranked(PLAIN)
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: Path("pipe").write_text(PLAIN))
    writer.start()
    answer = run("rank", "pipe", "--json")
    writer.join()
    same_ranking(answer, clean)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PLAIN.encode())))
    answer = run("rank", "-", "--json")
    same_ranking(answer, clean)
    assert answer.document["table"]["name"] == "standard input"


# --- H. usage and output
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["-y", "--json", "two words", "it's", 'a "quoted" one', "ß→é", "a,b", "=y"]
)
@case(169)
def test_row_169_unusual_column_names(run, name):
    table = columns() | {name: ["a", "b"] * 15}
    rows = io.StringIO()
    csv.writer(rows).writerows([list(table), *zip(*table.values(), strict=True)])
    put("-t.csv", rows.getvalue())
    answer = run("rank", f"--target={name}", "--json", "--", "-t.csv")
    assert answer.code == 0, answer.err
    assert answer.document["known"]["target"] == name
    assert sorted(answer.order) == sorted(columns())


@case(170)
def test_row_170_unknown_commands_and_flags(refused):
    put("t.csv")
    refused(["rnk", "t.csv"], 2, "'rnk'", "did you mean rank?")
    refused(["rank", "t.csv", "--formt", "csv"], 2, "did you mean --format?")
    refused(["rank", "t.csv", "--format", "cvs"], 2, "'cvs'", "did you mean csv?")
    refused(["rank", "t.csv", "--method", "relief"], 2, "'relief'", "did you mean 'relieff'?")
    refused(
        ["compare", "t.csv", "--methods", "varience"], 2, "'varience'", "did you mean 'variance'?"
    )
    refused(["compare", "t.csv", "--learners", "liner"], 2, "'liner'", "did you mean 'linear'?")
    refused(["explain", "fischer"], 2, "'fischer'", "did you mean 'fisher'?")
    refused(["rank", "t.csv", "another.csv"], 2, "another.csv")
    refused([], 2, "no command given")
    refused(["--verison"], 2, "--verison", "--version")


@pytest.mark.slow
@case(172)
def test_row_172_the_reader_closes_the_output(folder):
    put("t.csv")
    read, write = os.pipe()
    os.close(read)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        [COMMAND, "rank", "t.csv", "--quiet"],
        stdout=write,
        stderr=subprocess.PIPE,
        env=environment,
        timeout=120,
        check=False,
    )
    os.close(write)
    assert (ended.returncode, ended.stderr) == (141, b"")


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings", [{"NO_COLOR": "1"}, {"TERM": "dumb", "LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0"}]
)
@case(173)
def test_row_173_plain_output(folder, settings):
    put("t.csv", PLAIN.replace("f0", "größe→"))
    ended = installed("rank", "t.csv", env={**settings, "PYTHONCOERCECLOCALE": "0"})
    assert ended.returncode == 0, ended.stderr
    assert b"\x1b" not in ended.stdout + ended.stderr
    assert b"Traceback" not in ended.stderr
    if "LC_ALL" in settings:
        assert ended.stdout.isascii()
        assert rb"gr\xf6\xdfe\u2192" in ended.stdout
    else:
        assert "größe→".encode() in ended.stdout


@pytest.mark.slow
@case(175)
def test_row_175_a_decompression_bomb(refused, monkeypatch):
    bomb = gzip.compress(b"a,b\n" + b"0,0\n" * 5_000_000, 9)
    assert len(bomb) < 100_000
    put("t.csv.gz", bomb)
    refused(["rank", "t.csv.gz", "--max-bytes", "1000000"], 3, "1,000,000 bytes", "--max-bytes")
    monkeypatch.setattr(graphsieve.table.files.opening, "default_max_bytes", lambda: 2_000_000)
    refused(["rank", "t.csv.gz"], 3, "2,000,000 bytes", "--max-bytes")


@case(175)
def test_row_175_the_bound_is_twice_the_memory():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert graphsieve.table.files.opening.default_max_bytes() == 2 * memory


OUTPUTS = [
    ("rank", "--output", "out.csv"),
    ("rank", "--report", "out.html"),
    ("compare", "--report", "out.html"),
]
OUTPUTS += [
    ("compare", "-o", "out.json"),
    ("select", "-o", "out.parquet"),
    ("select", "--output", "out.csv.gz"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "option", "name"), OUTPUTS)
@case(176)
def test_row_176_output_exists(refused, run, command, option, name):
    """It is refused before the table is read. With --force it is replaced."""
    put(name, "precious")
    refused([command, "absent.csv", option, name], 4, name, "exists", "--force")
    assert Path(name).read_text() == "precious"
    put("t.csv", with_column("y", ["a", "b"] * 15))
    forced = run(command, "t.csv", "--target", "y", option, name, "--force")
    assert forced.code == 0, forced.err
    assert b"precious" not in Path(name).read_bytes()


@pytest.mark.parametrize(("command", "option", "name"), OUTPUTS)
@case(178)
def test_row_178_invalid_output_paths(refused, command, option, name):
    """It is refused before the table is read, so a missing table is not reported."""
    Path(f"folder{name}").mkdir()
    refused([command, "absent.csv", option, f"nowhere/{name}"], 4, "nowhere", "does not exist")
    refused([command, "absent.csv", option, f"folder{name}"], 4, f"folder{name}", "is a folder")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@case(178)
def test_row_178_read_only_folder(refused):
    Path("protected").mkdir()
    Path("protected").chmod(0o555)
    refused(["rank", "absent.csv", "-o", "protected/out.csv"], 4, "protected", "cannot be written")
    Path("protected").chmod(0o755)


def test_output_is_input(refused):
    put("t.csv")
    put("pairs.csv", "1,2,must\n")
    for name in ("t.csv", "./t.csv", os.path.abspath("t.csv"), "pairs.csv"):
        refused(["rank", "t.csv", "--pairs", "pairs.csv", "-o", name, "--force"], 4, "is an input")
    refused(
        ["rank", "t.csv", "-o", "out.html", "--report", "./out.html", "--format", "csv"],
        4,
        "two outputs",
    )


@case(179)
def test_row_179_output_is_a_link(run, folder):
    put("t.csv")
    put("target.csv", "precious")
    os.symlink("target.csv", "link.csv")
    os.symlink("nowhere.csv", "dangling.csv")
    for name in ("link.csv", "dangling.csv"):
        check_refusal(run("rank", "t.csv", "-o", name), 4, "exists", "--force")
        assert run("rank", "t.csv", "-o", name, "--force").code == 0
        assert not Path(name).is_symlink()
        assert Path(name).read_text().startswith("feature,rank")
    assert Path("target.csv").read_text() == "precious"
    assert not Path("nowhere.csv").exists()


@pytest.mark.slow
@pytest.mark.parametrize("command", [("rank", "--report", "out.html"), ("select", "-o", "out.csv")])
@case(180)
def test_row_180_a_full_disk(folder, command):
    """A limit on the size of files simulates a full disk."""
    name, option, output = command
    put("t.csv", text_of(columns(200)))
    put(output, "precious")
    before = listing(folder)

    def limit_file_size():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    ended = installed(name, "t.csv", option, output, "--force", preexec_fn=limit_file_size)
    check_refusal(
        Answer(code=ended.returncode, out=ended.stdout.decode(), err=ended.stderr.decode()),
        4,
        output,
        "too large",
    )
    assert listing(folder) == before


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@case(180)
def test_row_180_standard_output_is_full(folder):
    put("t.csv")
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [COMMAND, "rank", "t.csv", "--quiet"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    check_refusal(
        Answer(code=ended.returncode, out="", err=ended.stderr),
        4,
        "standard output",
        "No space left",
    )


SIGNALS = [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]


@pytest.fixture
def default_interruptions():
    """Let Python handle SIGINT, which is ignored if the tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("ending", SIGNALS)
@pytest.mark.parametrize("moment", ["compute", "write"])
@pytest.mark.usefixtures("default_interruptions")
@case(181)
def test_row_181_ended_by_a_signal(run, folder, monkeypatch, moment, ending):
    number, code, word = ending
    put("t.csv")
    put("old.html", "precious")
    before = listing(folder)
    place, name = (graphsieve.cli.rank, "rank") if moment == "compute" else (os, "replace")
    monkeypatch.setattr(place, name, lambda *arguments, **options: os.kill(os.getpid(), number))
    check_refusal(run("rank", "t.csv", "--report", "old.html", "--force"), code, word)
    assert listing(folder) == before


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code", "word"), SIGNALS)
@pytest.mark.usefixtures("default_interruptions")
@case(181)
def test_row_181_the_installed_command(folder, number, code, word):
    """The command reads from a pipe when it receives the signal.

    The pipe is closed afterwards, which ends a read that had just begun.
    """
    os.mkfifo("pipe")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    started = subprocess.Popen(
        [COMMAND, "rank", "pipe", "-o", "out.csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        with open("pipe", "w") as pipe:  # This waits until the command opens the pipe.
            pipe.write("a,b\n")
            pipe.flush()
            started.send_signal(number)
        out, err = started.communicate(timeout=60)
    finally:
        started.kill()
        started.wait()
    check_refusal(Answer(code=started.returncode, out=out, err=err), code, word)
    assert sorted(os.listdir(folder)) == ["pipe"]


@pytest.mark.slow
@case(183)
def test_row_183_two_runs_one_output(folder, run):
    put("one.csv", text_of(columns(30)))
    put("two.csv", text_of(columns(60)))
    whole = set()
    for name in ("one.csv", "two.csv"):
        assert run("rank", name, "-o", "alone.json", "--force").code == 0
        whole.add(Path("alone.json").read_bytes())
    assert len(whole) == 2
    Path("alone.json").unlink()
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    started = [
        subprocess.Popen(
            [COMMAND, "rank", name, "-o", "both.json", "--force", "--quiet"], env=environment
        )
        for name in ("one.csv", "two.csv")
    ]
    assert [one.wait(timeout=120) for one in started] == [0, 0]
    assert Path("both.json").read_bytes() in whole
    assert sorted(os.listdir(folder)) == ["both.json", "one.csv", "two.csv"]


@case(184)
def test_row_184_no_nan_in_json(ranked):
    """The Fisher score is infinite if a column is constant in each class and differs between
    them.
    """
    table = columns() | {"perfect": ["0", "1"] * 15, "constant": ["4"] * 30, "y": ["a", "b"] * 15}
    answer = ranked(text_of(table), *TARGET, "--method", "fisher", "--redundancy", "none")
    assert answer.features[0] | {"rank": 1} == answer.features[0]
    assert (answer.record("perfect")["score"], answer.record("perfect")["flag"]) == (
        None,
        "infinite",
    )
    assert (answer.record("constant")["score"], answer.record("constant")["flag"]) == (
        None,
        "unscorable",
    )
    assert answer.order[0] == "perfect"
    assert answer.order[-1] == "constant"


@case(185)
def test_row_185_many_features_on_a_terminal(run):
    random = np.random.default_rng(4)
    table = {f"c{place}": random.normal(size=20).round(3).tolist() for place in range(57)}
    put("t.csv", text_of(table))
    shown = run("rank", "t.csv", "--top", "3").out
    rows = re.findall(r"^ +\d+  c\d+ ", shown, flags=re.MULTILINE)
    assert len(rows) == 20
    assert re.search(r"… 37 more; .*--format csv", shown)


@pytest.mark.slow
@case(186)
def test_row_186_no_home(folder):
    put("t.csv")
    Path("a file").write_text("")
    homeless = {
        name: str(folder / "a file" / "x")
        for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR")
    }
    before = listing(folder)
    ended = installed("rank", "t.csv", "--report", "out.html", env=homeless)
    assert ended.returncode == 0, ended.stderr
    Path("out.html").unlink()
    assert listing(folder) == before


@pytest.mark.slow
@case(187)
def test_row_187_same_output_in_other_environments(folder):
    put("t.csv", with_column("y", ["a", "b", ""] * 10))
    found = set()
    for place, settings in enumerate(
        (
            {"OMP_NUM_THREADS": "1", "TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "1"},
            {
                "OMP_NUM_THREADS": "2",
                "TZ": "Asia/Tokyo",
                "LC_ALL": "tr_TR.UTF-8",
                "PYTHONHASHSEED": "2",
                "COLUMNS": "50",
            },
        )
    ):
        Path(str(place)).mkdir()
        put(f"{place}/t.csv", Path("t.csv").read_bytes())
        ended = installed(
            "rank", "t.csv", *TARGET, "--json", "--report", "out.html", env=settings, cwd=str(place)
        )
        assert ended.returncode == 0, ended.stderr
        found.add((ended.stdout, Path(f"{place}/out.html").read_bytes()))
    assert len(found) == 1


@pytest.mark.parametrize(
    "name", [b"two words.csv", b"a\nline.csv", b"b\xff\xfe.csv", "größe.csv".encode(), b"it's.csv"]
)
@case(188)
def test_row_188_unusual_paths(run, name):
    path = os.fsdecode(name)
    put(path)
    answer = run("rank", path, "--report", f"{path}.html", "--json")
    assert answer.code == 0, answer.err
    same_ranking(answer, run("rank", put("plain.csv"), "--json"))
    assert Path(f"{path}.html").read_bytes()
    reduced = run("select", path, "-o", f"{path}.tsv")
    assert reduced.code == 0, reduced.err
    check_refusal(run("rank", path, "--report", f"{path}.html"), 4, "exists")


# --- I. security
# --------------------------------------------------------------------------------------------------

HOSTILE = (
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "${alert(1)}",
    "{{constructor.constructor('alert(1)')()}}",
    "</title><style>*{display:none}</style>",
    "<!--",
    "&lt;b&gt;\u2028\u202e",
)


class Elements(html.parser.HTMLParser):
    """The elements of a page with their attributes, and its title."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.title, self._in_title = [], "", False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self._in_title = tag == "title" and not self.title

    def handle_data(self, data):
        if self._in_title:
            self.title += data
            self._in_title = False


def hostile_table():
    table = dict(
        zip(
            HOSTILE,
            (columns()["f0"], *(np.random.default_rng(9).normal(size=(7, 30)).tolist())),
            strict=True,
        )
    )
    rows = io.StringIO()
    csv.writer(rows).writerows(
        [[*table, "y"], *zip(*table.values(), ["<b>a", "</script>b"] * 15, strict=True)]
    )
    return rows.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["rank", "compare"])
@case(189, 190)
def test_row_189_and_190_names_are_data(run, command):
    """test_report_browser.py tests such pages in a browser."""
    put("t.csv", hostile_table())
    answer = run(command, "t.csv", "--target", "y", "--report", "out.html", "--json")
    assert answer.code == 0, answer.err
    content = Path("out.html").read_text()
    page = Elements(content)
    assert page.title == "Columns of t.csv that matter"
    assert not {"img", "iframe", "object", "embed", "base", "form"} & {
        tag for tag, _ in page.elements
    }
    handlers = [
        name for _, attributes in page.elements for name in attributes if name.startswith("on")
    ]
    assert handlers == []
    links = [
        value
        for _, attributes in page.elements
        for name, value in attributes.items()
        if name in ("href", "src")
    ]
    assert not [link for link in links if not link.startswith(("#", "data:"))]
    for markup in ("<script>document.title", "<img src=x", "</title><style>*", "<b>a"):
        assert markup not in content
    if command == "rank":
        assert sorted(answer.order) == sorted(HOSTILE)


FORMULAS = ("=1+1", "+x", "-x", "@x", "'quoted")


def formula_table():
    table = dict(zip(FORMULAS, [*columns().values(), columns(31)["f2"][1:]], strict=True))
    return text_of(table)


@case(192)
def test_row_192_names_that_are_formulas(run):
    put("t.csv", formula_table())
    for name, sep in (("csv", ","), ("tsv", "\t")):
        safe = list(
            csv.DictReader(io.StringIO(run("rank", "t.csv", "--format", name).out), delimiter=sep)
        )
        raw = list(
            csv.DictReader(
                io.StringIO(run("rank", "t.csv", "--format", name, "--raw-names").out),
                delimiter=sep,
            )
        )
        assert sorted(row["feature"] for row in raw) == sorted(FORMULAS)
        expected = [
            name if name == "'quoted" else f"'{name}" for name in (row["feature"] for row in raw)
        ]
        assert [row["feature"] for row in safe] == expected
    assert sorted(run("rank", "t.csv", "--json").order) == sorted(FORMULAS)
    everything = ("select", "t.csv", "--top", "5")
    assert run(*everything).out.splitlines()[0] == "'=1+1,'+x,'-x,'@x,'quoted"
    assert run(*everything, "--raw-names").out.splitlines()[0] == ",".join(FORMULAS)
    assert run(*everything, "-o", "out.parquet").code == 0
    assert pq.read_table("out.parquet").column_names == list(FORMULAS)


NASTY = "".join(map(chr, [*range(1, 9), 11, 12, *range(14, 32), *range(127, 160)]))
DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def texts_of(document):
    """Return all texts of a JSON document."""
    if isinstance(document, str):
        return [document]
    parts = document.values() if isinstance(document, dict) else document
    return (
        [text for part in parts for text in texts_of(part)] if isinstance(parts, Iterable) else []
    )


@pytest.mark.parametrize("option", [(), ("--raw-names",)])
@pytest.mark.parametrize("format", ["csv", "tsv", "json", "table"])
@pytest.mark.parametrize("command", ["rank", "compare"])
@case(191)
def test_row_191_control_characters(run, command, format, option):
    if option and format not in ("csv", "tsv"):
        pytest.skip("only CSV and TSV change names")
    name = f"a{NASTY}{DIRECTIONS}z"
    table = dict(zip([name, "b"], columns().values(), strict=False))
    put("t.csv", text_of(table | {"y": ["u", "v"] * 15}))
    methods = ("--methods", "laplacian") if command == "compare" else ()
    answer = run(command, "t.csv", "--exclude", "y", "--format", format, *methods, *option)
    assert answer.code == 0, answer.err
    executed = set(answer.out) & set(NASTY)
    if format == "json":
        assert not executed | (set(answer.out) & set(DIRECTIONS))
        assert name in texts_of(json.loads(answer.out))
    elif format == "table" or not option:
        assert not executed
    else:
        assert name in answer.out
    if format in ("csv", "tsv") and not option:
        assert "\\x1b" in answer.out


@case(191)
def test_row_191_control_characters_in_a_reduced_table(run):
    put("t.csv", with_column("y", ["u\x1b[31m", "v"] * 15))
    answer = run("select", "t.csv", "--target", "y")
    assert "\x1b" not in answer.out
    assert "u\\x1b[31m" in answer.out
    assert "15 cells with control characters have escapes now; --raw-names keeps them" in answer.err
    raw = run("select", "t.csv", "--target", "y", "--raw-names")
    assert "u\x1b[31m" in raw.out
    assert "control characters" not in raw.err


@case(193)
def test_row_193_quoting(run):
    names = ['a "quoted" one', "with, comma", "with\nline break", " blanks "]
    rows = io.StringIO()
    csv.writer(rows).writerows([names, *zip(*columns().values(), strict=True)])
    put("t.csv", rows.getvalue())
    read = {name.strip() for name in names}
    for form, sep in (("csv", ","), ("tsv", "\t")):
        answer = run("rank", "t.csv", "--format", form)
        assert {
            row["feature"]
            for row in csv.DictReader(io.StringIO(answer.out, newline=""), delimiter=sep)
        } == read
    reduced = run("select", "t.csv", "--top", "4").out
    assert next(csv.reader(io.StringIO(reduced, newline=""))) == [name.strip() for name in names]


@pytest.mark.slow
@case(194)
def test_row_194_no_file_is_named_by_data(run, folder):
    Path("inner").mkdir()
    os.chdir("inner")
    put("t.csv", with_column("y", ["../up", "/abs", "CON"] * 10))
    for command in ("rank", "compare"):
        assert run(command, "t.csv", *TARGET, "--report", f"{command}.html").code == 0
    assert run("select", "t.csv", *TARGET, "-o", "out.csv").code == 0
    assert sorted(os.listdir(".")) == ["compare.html", "out.csv", "rank.html", "t.csv"]
    assert os.listdir(folder) == ["inner"]


@case(197)
def test_row_197_there_is_no_model_file(refused):
    put("t.csv")
    for option in ("--model", "--load", "--save"):
        refused(["rank", "t.csv", option, "model.json"], 2, option)


@case(198)
def test_row_198_no_command_downloads_from_an_address(refused):
    """An address is not a table, and the only command that downloads accepts names of papers."""
    for address in ("http://localhost:9/table.csv", "file:///etc/passwd"):
        refused(["rank", address], 2, "there is no file")
        refused(["reproduce", address], 2, "invalid choice")


@pytest.mark.slow
@case(199)
def test_row_199_the_report_sends_no_requests(run):
    put("t.csv", with_column("y", ["a", "b"] * 15))
    for command in ("rank", "compare"):
        assert run(command, "t.csv", *TARGET, "--report", "out.html", "--force").code == 0
        content = Path("out.html").read_text()
        (policy,) = [
            attributes["content"]
            for tag, attributes in Elements(content).elements
            if tag == "meta"
            and attributes.get("http-equiv", "").lower() == "content-security-policy"
        ]
        directives = dict(one.strip().split(" ", 1) for one in policy.split(";") if one.strip())
        assert directives.pop("default-src") == "'none'"
        assert not [
            value
            for value in directives.values()
            if "http" in value or "*" in value or "'self'" in value
        ]
        assert "url(http" not in content
        assert "@import" not in content


@case(200)
def test_row_200_no_paths_in_results(run, folder):
    put("t.csv", with_column("y", ["a", "b"] * 15))
    put("pairs.csv", "1,3,must\n")
    paths = {
        "table": folder / "t.csv",
        "pairs": folder / "pairs.csv",
        "report": folder / "out.html",
    }
    given = (
        "rank",
        paths["table"],
        *TARGET,
        f"--pairs={paths['pairs']}",
        "--report",
        paths["report"],
        "--force",
        "--json",
    )
    answer = run(*given)
    assert answer.code == 0, answer.err
    for text in (answer.out, paths["report"].read_text()):
        assert "t.csv" in text
        assert str(folder) not in text
        assert str(Path.home()) + "/" not in text
    full = run(*given, "--full-paths")
    for text in (full.out, paths["report"].read_text()):
        assert str(paths["table"]) in text


@case(280)
def test_row_280_weights(refused, run, folder):
    for weight, message in (
        ("", "column 'w' holds no value in line 3; give every row a weight of 0 or more."),
        (
            "-1",
            "column 'w' holds a negative number in line 3; give every row a weight of 0 or more.",
        ),
        ("inf", "column 'w' holds an infinite number in line 3; give every row a weight of 0"),
        ("much", "column 'w' holds 'much' in line 3; expected a weight."),
    ):
        weights = ["1", weight, *["2"] * 28]
        put("t.csv", with_column("y", ["a", "b"] * 15, w=weights))
        answer = run("rank", "t.csv", *TARGET, "--weight-column", "w")
        assert answer.code == 3
        assert message in answer.err
    put("t.csv", with_column("y", ["a", "b"] * 15, w=["0"] * 30))
    answer = run("rank", "t.csv", *TARGET, "--weight-column", "w")
    assert "--weight-column must be above zero for at least 2 rows, got 0." in answer.err
    answer = run("rank", "t.csv", *TARGET, "--weight-column", "y")
    assert "column 'y' is named as the target and in another option" in answer.err


# --- J. resources
# --------------------------------------------------------------------------------------------------

# The command is run again and again, each time with a little more memory, until it succeeds. The
# first run, without a limit, loads all modules.
SHORT_OF_MEMORY = """
import contextlib, io, json, os, resource, sys
from graphsieve.cli import main

def run(arguments):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as err:
        return main(arguments), err.getvalue()

arguments, found = sys.argv[1:], []
unlimited = resource.getrlimit(resource.RLIMIT_AS)
assert run(arguments)[0] == 0
for extra in [0, 2**16, 2**18, 2**19, *(2**20 * more for more in (1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 32, 64))]:
    [os.unlink(name) for name in os.listdir() if name.startswith("out")]
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + extra, unlimited[1]))
    code, err = run(arguments)
    resource.setrlimit(resource.RLIMIT_AS, unlimited)
    found.append((code, err, sorted(os.listdir())))
print(json.dumps(found))
"""


@pytest.mark.slow
@case(202)
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the memory in use is unknown")
@pytest.mark.parametrize(
    "arguments",
    [
        ("rank", "t.csv", "--target=c0", "--report", "out.html"),
        ("rank", "t.csv", "--target=y", "--method=relieff", "--jobs=2", "-o", "out.json"),
        ("select", "t.csv", "--target=y", "-o", "out.csv"),
    ],
    ids=["rank", "threads", "select"],
)
def test_row_202_too_little_memory(folder, arguments):
    random = np.random.default_rng(8)
    table = {f"c{place}": random.normal(size=1500).tolist() for place in range(40)}
    put("t.csv", text_of(table | {"y": ["a", "b", "c"] * 500}))
    # With several threads, OpenBLAS ends the process when it runs out of memory.
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"}
    ended = subprocess.run(
        [sys.executable, "-c", SHORT_OF_MEMORY, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    answers = json.loads(ended.stdout)
    assert {code for code, _, _ in answers} == {0, 3}, answers
    for code, err, files in answers:
        assert files == ([arguments[-1], "t.csv"] if code == 0 else ["t.csv"])
        assert code == 0 or err.splitlines()[-1].startswith("graphsieve: ")
        assert code == 0 or "memory" in err.splitlines()[-1]
    assert answers[-1][0] == 0


@pytest.mark.slow
@case(201)
def test_row_201_no_step_stores_all_pairs(folder):
    """All pairs of 16,000 rows need 2 GB; the command has a quarter of that for its arrays."""
    random = np.random.default_rng(9)
    np.savez("t.npz", X=random.normal(size=(16_000, 3)))
    limited = (
        "import resource, sys; from graphsieve.cli import main; import graphsieve.cli.rank; "
        + (
            "used = [int(line.split()[1]) for line in open('/proc/self/status') if "
            "line.startswith('VmData')][0] * 1024; "
            "resource.setrlimit(resource.RLIMIT_DATA, (used + 2**29,) * 2); sys.exit(main())"
        )
    )
    for method in ("auto", "laplacian", "spec"):
        ended = subprocess.run(
            [
                sys.executable,
                "-c",
                limited,
                "rank",
                "t.npz",
                "--method",
                method,
                "--quiet",
                "--format=csv",
            ],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        assert len(ended.stdout.splitlines()) == 4


# --- completeness
# --------------------------------------------------------------------------------------------------


def test_every_case_has_a_test():
    messy = cases_of(module_of("cli/test_cli_messy_files.py"))
    assert set(C_ROWS) == cases_of(sys.modules[__name__]) | messy


def test_the_cases_are_those_of_the_document():
    assert sorted(C_ROWS) == sorted(
        number for number, where in cases_in_table().items() if "C" in where
    )


def test_no_option_loads_a_model():
    """The results of cases 195 and 197 depend on this."""
    commands = next(
        action for action in parser()._actions if action.choices and "rank" in action.choices
    )
    options = {
        option for command in commands.choices.values() for option in command._option_string_actions
    }
    assert not {
        option
        for option in options
        if re.search("model|load|pickle", option.replace("download", ""))
    }

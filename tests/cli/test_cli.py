"""The command line end to end: the command on realistic tables, and all its options."""

from __future__ import annotations

import csv
import gzip
import html
import io
import json
import os
import pty
import re
import select
import shlex
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer

import graphsieve
import lookalikes
from command import Answer
from graphsieve import rank
from graphsieve.cli import main
from graphsieve.cli.arguments import parser
from graphsieve.cli.rank import ranking_lines
from graphsieve.scores import METHODS
from graphsieve.search import SEARCHES
from graphsieve.table.files.reading import read_table

COMMAND = Path(sys.executable).parent / "graphsieve"
COMMANDS = next(
    action for action in parser()._actions if action.choices and "rank" in action.choices
).choices
DIGITS = 1e-11  # results are printed with 12 digits


# --- helper functions
# --------------------------------------------------------------------------------------------------


@pytest.fixture
def run(succeed):
    return succeed


def installed(*arguments, env=None, **options):
    """Run the installed command in a separate process, and require success."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **(env or {})}
    ended = subprocess.run(
        [COMMAND, *map(str, arguments)],
        capture_output=True,
        env=environment,
        timeout=120,
        check=False,
        **options,
    )
    assert ended.returncode == 0, ended.stderr
    return Answer(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def write_csv(name, columns, sep=","):
    with open(name, "w", newline="") as file:
        writer = csv.writer(file, delimiter=sep, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return name


def columns_of(X):
    """Return the columns of an array as exact text. float32 is converted to float64 first."""
    return {
        f"c{place}": list(map(repr, values))
        for place, values in enumerate(np.asarray(X, dtype=np.float64).T.tolist())
    }


def check_equal(answer, ranking):
    """Check that the order is equal and that the scores agree in all printed digits."""
    assert answer.order == ranking.best(len(ranking))
    found = np.array(
        [np.nan if record["score"] is None else record["score"] for record in answer.features]
    )
    expected = ranking.scores[ranking.order]
    expected = np.where(np.isinf(expected), np.nan, expected)
    np.testing.assert_allclose(found, expected, rtol=DIGITS, atol=0)
    assert [record["selected"] for record in answer.features] == ranking.selected[
        ranking.order
    ].tolist()


def small(n_rows=24):
    """Return a table with features, classes, a continuous target, row names, probabilities and
    text.
    """
    random = np.random.default_rng(11)
    kind = np.arange(n_rows) % 2
    first = random.normal(size=n_rows) + 2 * kind
    features = {
        "a": first,
        "b": first + random.normal(size=n_rows),
        "c": random.normal(size=n_rows),
        "d": random.normal(size=n_rows),
    }
    probable = np.where(kind, 0.75, 0.25)
    return {
        "id": [f"s{row}" for row in range(n_rows)],
        **{name: list(map(repr, values.tolist())) for name, values in features.items()},
        "kind": ["" if row % 4 == 3 else ("yes" if one else "no") for row, one in enumerate(kind)],
        "size": list(map(repr, (3 * first + random.normal(size=n_rows)).tolist())),
        "p_no": (1 - probable).tolist(),
        "p_yes": probable.tolist(),
        "note": [f"row {row} is fine" for row in range(n_rows)],
    }


FEATURES = ("a", "b", "c", "d")
NO_FEATURES = ("--exclude", "size", "p_no", "p_yes", "kind")


def matrix_of(table):
    return np.array([[float(cell) for cell in table[name]] for name in FEATURES]).T


def classes_of(table):
    return np.array([cell or None for cell in table["kind"]], dtype=object)


@pytest.fixture
def table(folder):
    """The small table as t.csv."""
    columns = small()
    write_csv("t.csv", columns)
    return columns


# --- realistic tables
# --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_wine_with_few_labels(folder):
    X, y = lookalikes.load("wine")
    known = np.full(len(y), None, dtype=object)
    for one in np.unique(y):
        known[np.flatnonzero(y == one)[:3]] = f"class {one}"
    write_csv("wine.csv", {**columns_of(X), "class": ["" if one is None else one for one in known]})
    answer = installed("rank", "wine.csv", "--target", "class", "--json", "--report", "wine.html")
    expected = graphsieve.rank(
        np.asarray(X, dtype=np.float64),
        known,
        feature_names=[f"c{j}" for j in range(X.shape[1])],
        n_features_to_select="auto",
    )
    check_equal(answer, expected)
    assert "wine.csv: 178 rows, 14 columns, 13 of them features" in answer.err
    assert "3 classes ('class 0', 'class 1', 'class 2'), known for 9 of 178 rows" in answer.err
    assert answer.document["count_reason"] == expected.count_reason
    assert "<title>Columns of wine.csv that matter</title>" in Path("wine.html").read_text()


def test_spectra_with_a_partly_unknown_target(run):
    X, y = lookalikes.load("spectra")
    target = np.where(np.arange(len(y)) % 3 == 0, np.nan, y.astype(np.float64))
    write_csv(
        "spectra.csv",
        {**columns_of(X), "fat": ["" if np.isnan(one) else repr(float(one)) for one in target]},
    )
    for method in ("auto", "pearson", "semi_supervised_laplacian"):
        answer = run(
            "rank", "spectra.csv", "--target", "fat", "--method", method, "--top", "10", "--json"
        )
        expected = graphsieve.rank(
            np.asarray(X, dtype=np.float64),
            target,
            feature_names=[f"c{j}" for j in range(X.shape[1])],
            method=method,
            n_features_to_select=10,
        )
        check_equal(answer, expected)
    assert f"{int((~np.isnan(target)).sum())} of {len(y)} rows" in answer.err


def test_a_real_table_with_a_constant_column(run):
    X, y = lookalikes.load("breast_cancer")
    X = lookalikes.with_a_constant(X)
    write_csv("t.csv", {**columns_of(X), "y": y.tolist()})
    for settings in (
        {},
        {"method": "fisher"},
        {"method": "laplacian", "n_neighbors": 7, "scale": "minmax"},
    ):
        words = {"n_neighbors": "--neighbors", "method": "--method", "scale": "--scale"}
        options = [word for name, value in settings.items() for word in (words[name], str(value))]
        answer = run("rank", "t.csv", "--target", "y", "--top", "5", "--json", *options)
        with pytest.warns(graphsieve.GraphSieveWarning, match="1 of 31 features"):
            expected = graphsieve.rank(
                np.asarray(X, dtype=np.float64),
                y,
                feature_names=[f"c{j}" for j in range(X.shape[1])],
                n_features_to_select=5,
                **settings,
            )
        check_equal(answer, expected)
        assert answer.features[-1]["flag"] == "unscorable"
        assert answer.order[-1] == "c1"


@pytest.mark.slow
def test_2000_genes(run):
    X, y = lookalikes.load("genes")
    write_csv("genes.tsv", {**columns_of(X), "tissue": y.tolist()}, sep="\t")
    answer = run(
        "rank", "genes.tsv", "--target", "tissue", "--method", "relieff", "--top", "50", "--json"
    )
    X = np.asarray(X, dtype=np.float64)
    names = [f"c{j}" for j in range(X.shape[1])]
    check_equal(
        answer,
        graphsieve.rank(X, y, feature_names=names, method="relieff", n_features_to_select=50),
    )
    assert "columns are separated by tabs" in answer.document["table"]["notes"]


def test_sparse_text_counts(run):
    X, y = lookalikes.load("texts")
    X = sp.csr_array(X)[:, :600]
    X.eliminate_zeros()
    expected = graphsieve.rank(X, y, method="fisher", n_features_to_select=20)
    np.savez("t.npz", data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=y)
    check_equal(
        run("rank", "t.npz", "--target", "y", "--method", "fisher", "--top", "20", "--json"),
        expected,
    )
    scipy.io.mmwrite("t.mtx", X)
    plain = run(
        "rank",
        "t.mtx",
        "--method",
        "variance",
        "--redundancy",
        "none",
        "--scale",
        "none",
        "--json",
        "--top",
        "20",
    )
    check_equal(
        plain,
        graphsieve.rank(X, method="variance", redundancy=None, scale=None, n_features_to_select=20),
    )


# --- every option
# --------------------------------------------------------------------------------------------------

WIDE = ("--exclude", "size", "p_no", "p_yes")
QUICK = ("--methods", "variance", "laplacian")
JUDGED = ("--target", "kind", *QUICK)
READING = {
    "--categorical": ["--categorical", "p_yes"],
    "--numeric": ["--numeric", "a", "size"],
    "--id-column": ["--id-column", "id"],
    "--exclude": ["--exclude", "size", "d"],
    "--missing": ["--missing", "drop-rows"],
    "--keep-counter": ["--keep-counter"],
    "--na-values": ["--na-values", "unknown", "-999"],
    "--thousands": ["--thousands", ","],
    "--sep": ["--sep", ","],
    "--encoding": ["--encoding", "latin-1"],
    "--comment": ["--comment", "#"],
    "--input-format": ["--input-format", "csv"],
    "--max-bytes": ["--max-bytes", "100000"],
}
KNOWING = {
    "--target": ["--target", "kind"],
    "--subject-column": ["--subject-column", "id", "--target", "kind"],
    "--target-type": ["--target", "size", "--target-type", "continuous"],
    "--unlabeled": ["--target", "kind", "--unlabeled", "none"],
    "--keep-na-text": ["--target", "kind", "--keep-na-text"],
    "--pairs": ["--pairs", "pairs.csv"],
    "--proba": ["--proba", "proba.csv"],
    "--proba-columns": ["--proba-columns", "p_no", "p_yes"],
    "--normalize-proba": ["--proba-columns", "p_no", "p_yes", "--normalize-proba"],
    "--unsupervised": ["--unsupervised"],
}
GROUPING = {
    "--feature-groups": ["--feature-groups", "groups.csv"],
    "--group-by-prefix": ["--group-by-prefix", "_"],
}
OF_ROWS = {
    "--confidence-column": ["--target", "kind", "--confidence-column", "sure"],
    "--weight-column": ["--target", "kind", "--weight-column", "p_yes"],
}
CHOOSING = {
    "--keep-feature": ["--keep-feature", "c"],
    "--candidates": ["--candidates", "a", "c"],
    "--costs": ["--costs", "costs.csv"],
}
RANKING = {
    **GROUPING,
    **CHOOSING,
    "--method": ["--method", "laplacian"],
    "--top": ["--top", "2"],
    "--fraction": ["--fraction", "0.5"],
    "--max-features": ["--max-features", "3"],
    "--redundancy": ["--redundancy", "correlation", "--method", "variance"],
    "--scale": ["--scale", "rank"],
    "--metric": ["--metric", "cosine", "--method", "laplacian"],
    "--compress": ["--compress", "kmeans", "--method", "laplacian"],
    "--prototypes": ["--prototypes", "9", "--compress", "som", "--method", "laplacian"],
    "--neighbors": ["--neighbors", "3", "--method", "laplacian"],
    "--bandwidth": ["--bandwidth", "2.5", "--method", "laplacian"],
    "--neighbor-search": ["--neighbor-search", "approximate", "--method", "laplacian"],
    "--jobs": ["--jobs", "1"],
    "--param": ["--method", "spec", "--param", "form=phi3", "power=2", "n_components=3"],
}
WRITING = {
    "--raw-names": ["--raw-names"],
    "--force": ["--force"],
    "--seed": ["--seed", "5"],
    "--quiet": ["--quiet"],
}
SHOWING = {
    "--format": ["--format", "tsv"],
    "--json": ["--json"],
    "--output": ["--output", "out.json"],
    "-o": ["-o", "out.txt"],
    "--report": ["--report", "out.html"],
    "--full-paths": ["--full-paths", "--json"],
    "--raw-names": ["--raw-names", "--format", "csv"],
    "--debug": ["--debug"],
}
COMPARING = {
    "--methods": ["--methods", "variance"],
    "--sizes": [*QUICK, "--sizes", "1", "3"],
    "--learners": [*JUDGED, "--learners", "linear", "--folds", "2"],
    "--folds": [*JUDGED, "--learners", "1nn", "--folds", "3"],
    "--repeats": [*JUDGED, "--learners", "1nn", "--folds", "2", "--repeats", "2"],
    "--jobs": [*QUICK, "--jobs", "1"],
}
SELECTING = {
    "--output": ["--output", "out.tsv"],
    "-o": ["-o", "out.feather"],
    "--keep": ["--keep", "note"],
    "--debug": ["--debug"],
}
# Arguments for the test of each option. The options in TRIED_ELSEWHERE have separate tests.
TRIED = {
    "rank": {
        **READING,
        **KNOWING,
        **OF_ROWS,
        **RANKING,
        **WRITING,
        **SHOWING,
        "--rows": ["--rows", "all"],
    },
    "compare": {
        **READING,
        **KNOWING,
        **GROUPING,
        **CHOOSING,
        **WRITING,
        **SHOWING,
        **COMPARING,
        "--costs": ["--costs", "costs.csv", "--methods", "auto", "variance"],
    },
    "select": {**READING, **KNOWING, **OF_ROWS, **RANKING, **WRITING, **SELECTING},
    "methods": {"--format": ["--format", "csv"], "--json": ["--json"], "--debug": ["--debug"]},
    "explain": {"--debug": ["fisher", "--debug"]},
}
TRIED_ELSEWHERE = {
    "rank": {"-h", "--help", "--decimal", "--key", "--no-header"},
    "compare": {"-h", "--help", "--decimal", "--key", "--no-header"},
    "select": {"-h", "--help", "--decimal", "--key", "--no-header"},
    "methods": {"-h", "--help"},
    "explain": {"-h", "--help"},
    "demo": {"-h", "--help", "--report", "--force", "--seed", "--quiet", "--debug"},
}


def test_all_options_are_tested():
    for command, tried in TRIED_ELSEWHERE.items():
        options = {
            option for action in COMMANDS[command]._actions for option in action.option_strings
        }
        assert options == tried | set(TRIED.get(command, ())), command


@pytest.mark.parametrize(
    ("command", "option"),
    [(command, option) for command, options in TRIED.items() for option in options],
)
def test_every_option(run, table, command, option):
    """The command accepts the option, and prints its result or writes it to the named file."""
    write_csv("pairs.csv", {"s": ["1", "1"], "t": ["3", "2"], "kind": ["must", "cannot"]})
    write_csv("proba.csv", {"no": table["p_no"], "yes": table["p_yes"]})
    write_csv("groups.csv", {"column": ["a", "b"], "group": ["first", "first"]})
    write_csv("costs.csv", {"column": ["a"], "cost": ["2"]})
    arguments = TRIED[command][option]
    if option == "--confidence-column":
        write_csv("t.csv", table | {"sure": ["0.8"] * len(table["id"])})
    if command in ("rank", "compare", "select"):
        # The classes have gaps, so they are a target or nothing.
        arguments = ["t.csv", *arguments] + ["--exclude", "kind"] * ("kind" not in arguments)
        if command == "compare" and "--methods" not in arguments:
            arguments += QUICK
    before = set(os.listdir())
    answer = run(command, *arguments)
    written = set(os.listdir()) - before
    named = {word for word in arguments if word.startswith("out.")}
    assert written == named
    assert all(Path(name).stat().st_size for name in written)
    assert bool(answer.out) == (not {"--output", "-o"} & set(arguments))


def test_an_array_is_selected_by_its_key(run, table):
    X = matrix_of(table)
    np.savez("t.npz", first=X, second=X[:, ::-1])
    names = ("x0", "x1", "x2", "x3")
    answer = run("rank", "t.npz", "--key", "second", "--top", "2", "--json")
    check_equal(answer, graphsieve.rank(X[:, ::-1], feature_names=names, n_features_to_select=2))
    assert run("compare", "t.npz", "--key", "first", *QUICK[:3]).out
    assert run("select", "t.npz", "--key", "first", "--top", "4").out.startswith("x0,x1,x2,x3\n")


def test_a_table_without_a_header(run, table):
    lines = [",".join(row) for row in zip(*(table[name] for name in FEATURES), strict=True)]
    Path("t.csv").write_text("\n".join(lines) + "\n")
    names = ("column_1", "column_2", "column_3", "column_4")
    answer = run("rank", "t.csv", "--no-header", "--top", "2", "--json")
    check_equal(
        answer, graphsieve.rank(matrix_of(table), feature_names=names, n_features_to_select=2)
    )
    assert run("compare", "t.csv", "--no-header", *QUICK[:3]).out
    assert run("select", "t.csv", "--no-header", "--top", "4").out.splitlines() == [
        ",".join(names),
        *lines,
    ]


@pytest.mark.parametrize("command", [None, *COMMANDS])
@pytest.mark.parametrize("word", ["--help", "-h"])
def test_help(folder, capsys, command, word):
    with pytest.raises(SystemExit) as end:
        main([word] if command is None else [command, word])
    out, err = capsys.readouterr()
    assert (end.value.code, err) == (0, "")
    assert out.startswith(f"usage: graphsieve {command or '[-h]'}")
    if command is None:
        assert all(re.search(rf"^ +{name}\s+\w", out, flags=re.MULTILINE) for name in COMMANDS)
    else:
        missing = [
            option for option in COMMANDS[command]._option_string_actions if option not in out
        ]
        assert missing == []


def test_help_loads_no_large_packages(folder):
    """--help must be fast, so it must not load large packages."""
    lines = [
        "import sys",
        "from graphsieve.cli import main",
        "try:",
        "    main(sys.argv[1:])",
        "except SystemExit:",
        "    pass",
    ]
    lines.append(
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    for arguments in (["--help"], ["rank", "--help"], ["--version"], ["rank"]):
        ended = subprocess.run(
            [sys.executable, "-c", "\n".join(lines), *arguments],
            capture_output=True,
            text=True,
            check=True,
        )
        loaded = set(ended.stderr.splitlines()[-1].split())
        assert "graphsieve" in loaded
        assert not loaded & {
            "numpy",
            "scipy",
            "sklearn",
            "pandas",
            "pyarrow",
            "matplotlib",
            "joblib",
            "anndata",
        }


def test_version(folder):
    assert installed("--version").out == f"graphsieve {graphsieve.__version__}\n"
    ended = subprocess.run(
        [sys.executable, "-m", "graphsieve", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == f"graphsieve {graphsieve.__version__}\n"


# --- standard output and error stream
# --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("command", ["rank", "compare", "select"])
def test_only_the_result_is_on_standard_output(run, table, command):
    """Notes go to the error stream. With --quiet there are none, and the result is the same."""
    arguments = (
        command,
        "t.csv",
        "--target",
        "kind",
        *WIDE,
        *(QUICK if command == "compare" else ()),
    )
    loud, quiet = run(*arguments), run(*arguments, "--quiet")
    assert quiet.err == ""
    assert quiet.out == loud.out
    for line in (
        "t.csv: 24 rows, 10 columns, 4 of them features",
        "target 'kind': 2 classes ('no', 'yes'), known for 18 of 24 rows",
    ):
        assert line in loud.err.splitlines()
        assert line not in loud.out
    assert "'note' (an identifier or free text)" in loud.err


def test_quiet_keeps_errors(folder, capsys):
    assert main(["rank", "absent.csv", "--quiet"]) == 2
    assert capsys.readouterr().err.startswith("graphsieve: there is no file 'absent.csv'")


@pytest.mark.slow
def test_a_dash_is_standard_output(run, table):
    for command, options in (
        ("rank", ("--format", "csv")),
        ("select", ()),
        ("compare", (*QUICK, "--json")),
    ):
        plain = run(command, "t.csv", "--target", "kind", *options)
        assert run(command, "t.csv", "--target", "kind", *options, "-o", "-").out == plain.out
    assert os.listdir() == ["t.csv"]


def test_messages_name_options_and_keep_names(folder, capsys):
    """The parameter n_neighbors is called --neighbors, but a file or a column keeps this name."""
    write_csv(
        "n_neighbors.csv",
        {
            "random_state": ["1", "2", "", "4"],
            "b": ["3", "1", "2", "5"],
            "X has": ["1", "5", "2", "2"],
        },
    )
    for options, code, words in (
        (
            ["n_neighbors.csv", "--missing", "refuse"],
            3,
            "n_neighbors.csv has 1 missing value in 1 column ('random_state': 1)",
        ),
        (["n_neighbors.csv", "--target", "random_stat"], 2, "did you mean 'random_state'?"),
        (["n_neighbors.csv", "--target", "X ha"], 2, "did you mean 'X has'?"),
        (
            ["n_neighbors.csv", "--missing", "fill", "--neighbors", "2"],
            3,
            "--neighbors applies only to methods that use a graph",
        ),
        (
            ["n_neighbors.csv", "--missing", "fill", "--top", "4"],
            3,
            "--top is 4, but there are 3 features",
        ),
        (
            ["n_neighbors.csv", "--missing", "fill", "--prototypes", "4"],
            3,
            "leave --prototypes out",
        ),
        (["n_neighbors.csv", "--sep", "::"], 2, "--sep must be one character"),
        (
            ["n_neighbors.csv", "--key", "X"],
            2,
            "n_neighbors.csv has the format CSV; --key chooses an array",
        ),
        (["n_neighbors.csv", "--input-format", "xls"], 2, "--input-format must be one of csv"),
    ):
        assert main(["rank", *options]) == code
        err = capsys.readouterr().err
        assert words in err.splitlines()[-1]


def test_table_on_standard_output(run, table):
    lines = run("rank", "t.csv", "--target", "kind", *WIDE, "--top", "2").out.splitlines()
    assert lines[0].startswith("4 columns of 24 rows")
    assert lines[2] == "2 of 4 selected"
    rows = [line.split() for line in lines if re.match(r" +\d+  ", line)]
    ranking = graphsieve.rank(
        matrix_of(table), classes_of(table), feature_names=FEATURES, n_features_to_select=2
    )
    assert [row[1] for row in rows] == ranking.best(4)
    cut = next(place for place, line in enumerate(lines) if "───" in line)
    assert re.match(r" +2  ", lines[cut - 1])
    assert re.match(r" +3  ", lines[cut + 1])


def test_rows_of_the_table(run, folder):
    random = np.random.default_rng(1)
    write_csv("t.csv", {f"c{place}": random.normal(size=12).tolist() for place in range(25)})
    for options, n_rows in (
        ((), 20),
        (("--rows", "3"), 3),
        (("--rows", "all"), 25),
        (("--rows", "99"), 25),
    ):
        shown = run("rank", "t.csv", "--top", "2", *options).out
        assert len(re.findall(r"^ +\d+  c", shown, flags=re.MULTILINE)) == n_rows
        assert ("more;" in shown) == (n_rows < 25)


@pytest.mark.slow
def test_json_document(run, table):
    document = run("rank", "t.csv", "--target", "kind", *WIDE, "--json").document
    assert (document["schema"], document["command"]) == (1, "rank")
    assert document["table"] == {
        "name": "t.csv",
        "format": "csv",
        "n_rows": 24,
        "n_columns": 10,
        "n_features": 4,
        "categories": [],
        "notes": [],
        "left_out": [
            {"column": "id", "why": "an identifier or free text"},
            *({"column": name, "why": "as requested"} for name in ("size", "p_no", "p_yes")),
            {"column": "note", "why": "an identifier or free text"},
        ],
    }
    assert document["known"]["target"] == "kind"
    assert document["known"]["classes"] == [{"name": "no", "n": 12}, {"name": "yes", "n": 6}]
    assert document["versions"]["graphsieve"] == graphsieve.__version__
    compared = run("compare", "t.csv", "--target", "kind", *WIDE, *QUICK, "--json").document
    assert (compared["schema"], compared["command"], compared["methods"]) == (
        1,
        "compare",
        ["variance", "laplacian"],
    )
    assert compared["known"]["target"] == "kind"
    assert "18 labels" in compared["known"]["text"]
    assert {one["method"] for one in compared["evaluation"]["curves"]} == {
        *QUICK[1:3],
        "random columns",
        "all columns",
    }


ODD_NAMES = ["ü\u2028→", 'say "x"', "a,b;c\td", "\\n", "<b>&amp;", "'=1", "naïve\nline", "😀"]


def test_names_of_any_characters(run, folder):
    random = np.random.default_rng(2)
    write_csv("t.csv", {name: random.normal(size=15).tolist() for name in ODD_NAMES}, sep="|")
    answer = run("rank", "t.csv", "--sep", "|", "--json")
    assert sorted(answer.order) == sorted(ODD_NAMES)
    for form, sep in (("csv", ","), ("tsv", "\t")):
        text = run("rank", "t.csv", "--sep", "|", "--format", form, "--raw-names").out
        assert [
            row["feature"] for row in csv.DictReader(io.StringIO(text, newline=""), delimiter=sep)
        ] == answer.order
    assert run("rank", "t.csv", "--sep", "|").out.count("\n") < 20


def test_formats_agree(run, table):
    """CSV and TSV contain the same values as JSON, printed or written to --output."""
    arguments = ("rank", "t.csv", "--target", "kind", *WIDE, "--top", "2")
    records = run(*arguments, "--json").features
    for form, sep in (("csv", ","), ("tsv", "\t")):
        printed = run(*arguments, "--format", form).out
        rows = list(csv.DictReader(io.StringIO(printed), delimiter=sep))
        assert list(rows[0]) == list(records[0])
        for row, record in zip(rows, records, strict=True):
            assert (row["feature"], int(row["rank"]), float(row["score"])) == (
                record["feature"],
                record["rank"],
                record["score"],
            )
            assert {"yes": True, "no": False}[row["selected"]] == record["selected"]
            assert (row["closest"] or None) == record["closest"]
        run(*arguments, "--output", f"out.{form}")
        assert Path(f"out.{form}").read_text() == printed
    for form, ending in (("json", "json"), ("table", "txt")):
        run(*arguments, "--output", f"out.{ending}")
        assert Path(f"out.{ending}").read_text() == run(*arguments, "--format", form).out
    run(*arguments, "--output", "odd.ending", "--format", "csv")
    assert Path("odd.ending").read_text() == Path("out.csv").read_text()


@pytest.mark.slow
def test_standard_input_and_compression(run, table, folder):
    content = Path("t.csv").read_bytes()
    Path("t.csv.gz").write_bytes(gzip.compress(content))
    plain = run("rank", "t.csv", *NO_FEATURES, "--json").features
    assert run("rank", "t.csv.gz", *NO_FEATURES, "--json").features == plain
    for given in (content, gzip.compress(content)):
        options = (*NO_FEATURES, "--json", "--report", "out.html", "--force")
        answer = installed("rank", "-", *options, input=given)
        assert answer.features == plain
        assert answer.document["table"]["name"] == "standard input"


# --- supervision
# --------------------------------------------------------------------------------------------------

MUST, CANNOT = [(0, 2), (4, 6)], [(0, 1), (5, 8)]


def pairs_csv(name_of_row, header=""):
    lines = [f"{name_of_row(one)},{name_of_row(other)},must" for one, other in MUST]
    lines += [f"{name_of_row(one)},{name_of_row(other)},cannot" for one, other in CANNOT]
    return header + "\n".join(lines) + "\n"


@pytest.mark.parametrize("method", ["auto", "constraint"])
def test_pairs(run, table, method):
    known = graphsieve.Supervision.from_pairs(24, MUST, CANNOT)
    settings = {"feature_names": FEATURES, "method": method, "n_features_to_select": 2}
    expected = graphsieve.rank(matrix_of(table), supervision=known, **settings)
    named = {
        "must_link": [[f"s{one}" for one in pair] for pair in MUST],
        "cannot_link": [[f"s{one}" for one in pair] for pair in CANNOT],
    }
    counted = {
        "must_link": [[one + 1 for one in pair] for pair in MUST],
        "cannot_link": [[one + 1 for one in pair] for pair in CANNOT],
    }
    for content, options in (
        (pairs_csv(lambda row: row + 1), ()),
        (pairs_csv(lambda row: row + 1, header="row,other,link\n"), ()),
        (pairs_csv(lambda row: f"s{row}"), ("--id-column", "id")),
        (json.dumps(named), ("--id-column", "id")),
        (json.dumps(counted), ()),
    ):
        Path("pairs").write_text(content)
        answer = run(
            "rank",
            "t.csv",
            *NO_FEATURES,
            "--pairs",
            "pairs",
            "--method",
            method,
            "--top",
            "2",
            "--json",
            *options,
        )
        check_equal(answer, expected)
        assert "supervision: 2 must-link, 2 cannot-link" in answer.err.splitlines()


def test_pairs_with_dropped_rows(run, table):
    """Rows keep their names or numbers in the file. Pairs with a dropped row are skipped."""
    table["a"][1] = table["b"][9] = ""
    write_csv("t.csv", table)
    stay = [row for row in range(24) if row not in (1, 9)]
    kept = matrix_of({name: [cells[row] for row in stay] for name, cells in table.items()})
    # Must-links 0–2 and 4–6 and the cannot-link 5–8, numbered without rows 1 and 9.
    known = graphsieve.Supervision.from_pairs(22, [(0, 1), (3, 5)], [(4, 7)])
    expected = graphsieve.rank(
        kept, supervision=known, feature_names=FEATURES, method="constraint", n_features_to_select=2
    )
    for content, options in (
        (pairs_csv(lambda row: row + 1), ()),
        (pairs_csv(lambda row: f"s{row}"), ("--id-column", "id")),
    ):
        Path("pairs").write_text(content)
        arguments = (
            "--pairs",
            "pairs",
            "--method",
            "constraint",
            "--top",
            "2",
            "--missing",
            "drop-rows",
            "--json",
        )
        check_equal(run("rank", "t.csv", *NO_FEATURES, *arguments, *options), expected)


def test_probabilities(run, table):
    proba = np.array([table["p_no"], table["p_yes"]]).T
    known = graphsieve.Supervision.from_probabilities(proba, classes=["no", "yes"])
    settings = {
        "feature_names": FEATURES,
        "method": "weighted_laplacian",
        "n_features_to_select": 2,
    }
    expected = graphsieve.rank(matrix_of(table), supervision=known, **settings)
    common = ("rank", "t.csv", "--method", "weighted_laplacian", "--top", "2", "--json")
    write_csv("rows.csv", {"no": table["p_no"], "yes": table["p_yes"]})
    check_equal(run(*common, *NO_FEATURES, "--proba", "rows.csv"), expected)
    reverse = slice(None, None, -1)
    write_csv(
        "named.csv",
        {"id": table["id"][reverse], "no": table["p_no"][reverse], "yes": table["p_yes"][reverse]},
    )
    check_equal(run(*common, *NO_FEATURES, "--proba", "named.csv", "--id-column", "id"), expected)
    by_columns = ("--exclude", "size", "kind", "--proba-columns", "p_no", "p_yes")
    check_equal(run(*common, *by_columns), expected)
    write_csv(
        "odds.csv",
        {"no": [4 * one for one in table["p_no"]], "yes": [4 * one for one in table["p_yes"]]},
    )
    check_equal(run(*common, *NO_FEATURES, "--proba", "odds.csv", "--normalize-proba"), expected)
    assert main(["rank", "t.csv", *NO_FEATURES, "--proba", "odds.csv"]) == 3


def test_empty_probabilities_are_unlabelled_rows(run, table):
    proba = np.array([table["p_no"], table["p_yes"]]).T
    proba[::3] = np.nan
    cells = [["" if np.isnan(one) else repr(one) for one in some] for some in proba.T.tolist()]
    known = graphsieve.Supervision.from_probabilities(proba, classes=["p_no", "p_yes"])
    expected = graphsieve.rank(
        matrix_of(table), supervision=known, feature_names=FEATURES, n_features_to_select=2
    )
    write_csv("t.csv", table | {"p_no": cells[0], "p_yes": cells[1]})
    write_csv("proba.csv", {"p_no": cells[0], "p_yes": cells[1]})
    common = ("rank", "t.csv", "--top", "2", "--json")
    check_equal(
        run(*common, "--exclude", "size", "kind", "--proba-columns", "p_no", "p_yes"), expected
    )
    check_equal(
        run(*common, "--exclude", "size", "kind", "p_no", "p_yes", "--proba", "proba.csv"), expected
    )


@pytest.mark.parametrize("command", ["rank", "select"])
def test_confidence(run, table, command):
    sure = np.linspace(0.5, 1, len(table["id"]))
    write_csv("t.csv", table | {"sure": list(map(repr, sure.tolist()))})
    known = graphsieve.Supervision.from_labels(classes_of(table), confidence=sure)
    settings = {"method": "weighted_laplacian", "n_features_to_select": 2}
    expected = graphsieve.rank(
        matrix_of(table), supervision=known, feature_names=FEATURES, **settings
    )
    options = ("--target", "kind", "--confidence-column", "sure", *NO_FEATURES[:-1], "--top", "2")
    if command == "rank":
        check_equal(
            run("rank", "t.csv", *options, "--method", settings["method"], "--json"), expected
        )
    else:
        answer = run("select", "t.csv", *options, "--method", settings["method"])
        header = answer.out.splitlines()[0].split(",")
        assert set(header) == {*np.array(FEATURES)[expected.selected], "kind"}


def test_several_targets(run, table):
    other = [repr(float(b) + float(d)) for b, d in zip(table["b"], table["d"], strict=True)]
    other[3] = ""
    write_csv("t.csv", table | {"other": other})
    y = np.array([[float(cell or "nan") for cell in column] for column in (table["size"], other)]).T
    expected = graphsieve.rank(matrix_of(table), y, feature_names=FEATURES, n_features_to_select=2)
    options = ("--target", "size", "other", "--exclude", "p_no", "p_yes", "kind", "--top", "2")
    answer = run("rank", "t.csv", *options, "--json")
    check_equal(answer, expected)
    assert "target 'size', 'other': 2 targets, all known for 23 of 24 rows" in answer.err
    header = run("select", "t.csv", *options).out.splitlines()[0].split(",")
    assert {"size", "other"} < set(header)
    compared = run("compare", "t.csv", *options[:-2], "--methods", "pearson", "variance")
    assert "pearson" in compared.out


def test_kinds_of_targets(run, table):
    X, classes = matrix_of(table), classes_of(table)
    numbers = [3 if one == "yes" else 1 if one == "no" else -1 for one in classes]
    write_csv("t.csv", table | {"number": numbers})
    common = ("rank", "t.csv", *NO_FEATURES[:-1], "--top", "2", "--json")

    def ranked(y, **settings):
        return graphsieve.rank(X, y, feature_names=FEATURES, n_features_to_select=2, **settings)

    check_equal(run(*common, "--exclude", "number", "--target", "kind"), ranked(classes))
    common = (*common, "--exclude", "kind")
    check_equal(run(*common, "--target", "number"), ranked(np.array(numbers)))
    check_equal(
        run(*common, "--target", "number", "--unlabeled", "3"),
        ranked(np.array(numbers), unlabeled=3),
    )
    check_equal(
        run(*common, "--target", "number", "--unlabeled", "none"),
        ranked(np.array(numbers), unlabeled=None),
    )
    continuous = run(*common, "--target", "number", "--target-type", "continuous")
    check_equal(continuous, ranked(np.array(numbers), target_type="continuous"))
    assert continuous.document["known"]["kind"] == "targets"


def test_settings_of_a_ranking(run, table):
    """Every option sets the corresponding keyword argument."""
    X = matrix_of(table)
    for options, settings in (
        (
            ("--method", "laplacian", "--neighbors", "3", "--bandwidth", "2.5"),
            {"n_neighbors": 3, "bandwidth": 2.5},
        ),
        (("--method", "laplacian", "--scale", "rank"), {"scale": "rank"}),
        (
            ("--method", "laplacian", "--metric", "cosine", "--scale", "none"),
            {"metric": "cosine", "scale": None},
        ),
        (("--method", "laplacian", "--redundancy", "correlation"), {"redundancy": "correlation"}),
        (("--method", "auto", "--redundancy", "none"), {"method": "auto", "redundancy": None}),
        (
            ("--method", "auto", "--max-features", "1"),
            {"method": "auto", "max_features": 1, "n_features_to_select": "auto"},
        ),
        (("--method", "laplacian", "--fraction", "0.75"), {"n_features_to_select": 0.75}),
        (
            ("--method", "spec", "--param", "form=phi3", "power=2"),
            {"method": "spec", "method_params": {"form": "phi3", "power": 2}},
        ),
        (
            ("--method", "laplacian", "--compress", "kmeans", "--prototypes", "9"),
            {"compress": "kmeans", "n_prototypes": 9},
        ),
    ):
        counted = () if {"--fraction", "--max-features"} & set(options) else ("--top", "2")
        expected = graphsieve.rank(
            X,
            feature_names=FEATURES,
            **{"method": "laplacian", "n_features_to_select": 2, **settings},
        )
        check_equal(run("rank", "t.csv", *NO_FEATURES, *options, *counted, "--json"), expected)


# --- categories and groups
# --------------------------------------------------------------------------------------------------


def mixed(n_rows=40):
    """Return a table with numbers, categories and a free text."""
    random = np.random.default_rng(4)
    kind = np.arange(n_rows) % 2
    stage = (kind + random.integers(0, 2, n_rows)) % 3
    return {
        "band_1": (random.normal(size=n_rows) + kind).tolist(),
        "stage": [("low", "middle", "high")[one] for one in stage],
        "band_2": random.normal(size=n_rows).tolist(),
        "smoker": random.choice(["yes", "no"], n_rows).tolist(),
        "code": random.integers(1, 4, n_rows).tolist(),
        "remark": [f"remark {row}" for row in range(n_rows)],
        "kind": ["uv"[one] for one in kind],
    }


MIXED = ("band_1", "stage", "band_2", "smoker", "code")


@pytest.fixture
def mixture(folder):
    """The mixed table as m.csv and as a data frame of its features."""
    columns = mixed()
    write_csv("m.csv", columns)
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({name: columns[name] for name in MIXED}), columns


GROUPS = {"bands": ["band_1", "band_2"], "habits": ["smoker", "code"]}


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ((), {}),
        (("--categorical", "code"), {"categorical": ["stage", "smoker", "code"]}),
        (
            ("--method", "laplacian", "--top", "2"),
            {"method": "laplacian", "n_features_to_select": 2},
        ),
        (("--group-by-prefix", "_"), {"feature_groups": "_"}),
        (("--feature-groups", "groups.csv"), {"feature_groups": GROUPS}),
        (("--feature-groups", "groups.json"), {"feature_groups": GROUPS}),
        (("--keep-feature", "code", "smoker"), {"keep": ["code", "smoker"]}),
        (("--candidates", "code", "stage"), {"candidates": ["code", "stage"]}),
        (("--costs", "costs.csv"), {"cost": {"stage": 9, "code": 0.25}}),
        (("--costs", "costs.json"), {"cost": {"stage": 9, "code": 0.25}}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_the_same_ranking_as_of_a_data_frame(run, mixture, options, settings):
    frame, columns = mixture
    lines = [(column, group) for group, members in GROUPS.items() for column in members]
    write_csv("groups.csv", dict(zip(("column", "group"), zip(*lines, strict=True), strict=True)))
    Path("groups.json").write_text(json.dumps(GROUPS))
    Path("costs.csv").write_text("stage;9\ncode;0.25\n")
    Path("costs.json").write_text('{"stage": 9, "code": 0.25}')
    answer = run("rank", "m.csv", "--target", "kind", *options, "--json")
    expected = graphsieve.rank(
        frame, columns["kind"], **{"n_features_to_select": "auto", **settings}
    )
    check_equal(answer, expected)
    assert [one["kind"] for one in answer.features] == [
        expected.kinds[place] for place in expected.order
    ]
    if "feature_groups" in settings:
        assert [one["columns"] for one in answer.features] == [
            list(expected.members[place]) for place in expected.order
        ]


def test_notes_on_categories_and_groups(run, mixture):
    answer = run("rank", "m.csv", "--target", "kind", "--group-by-prefix", "_", "--format", "csv")
    lines = answer.err.splitlines()
    assert lines[0] == (
        "m.csv: 40 rows, 7 columns, 5 of them features (2 categories: 'stage', 'smoker')"
    )
    assert "excluded: 'remark' (an identifier or free text)" in lines
    assert "1 group: 'band' (2 columns)" in lines
    rows = {row["feature"]: row for row in csv.DictReader(io.StringIO(answer.out))}
    assert {name: (row["kind"], row["columns"]) for name, row in rows.items()} == {
        "band": ("group", "band_1; band_2"),
        "stage": ("category", "stage"),
        "smoker": ("category", "smoker"),
        "code": ("number", "code"),
    }


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_select_writes_categories_and_whole_groups(run, mixture, ending):
    frame, columns = mixture
    file = f"m.{ending}"
    if ending == "parquet":
        frame.assign(kind=columns["kind"]).astype({"stage": "category"}).to_parquet(file)
    keeping = ("--keep-feature", "band", "stage", "--top", "2", "--group-by-prefix", "_")
    run("select", file, "--target", "kind", *keeping, "-o", f"out.{ending}")
    pandas = pytest.importorskip("pandas")
    written = getattr(pandas, f"read_{ending}")(f"out.{ending}")
    assert list(written) == ["band_1", "stage", "band_2", "kind"]
    assert written["stage"].tolist() == columns["stage"]
    assert written["band_2"].tolist() == pytest.approx(columns["band_2"])
    assert (str(written["stage"].dtype) == "category") == (ending == "parquet")


def test_select_writes_levels_as_they_are(run, folder):
    """A category keeps its spelling, also if it is declared and holds numbers."""
    zips = ["007", "7", "007", "10"] * 5
    write_csv("t.csv", {"zip": zips, "a": range(0, 40, 2)})
    written = run("select", "t.csv", "--categorical", "zip", "--top", "2").out
    assert [row["zip"] for row in csv.DictReader(io.StringIO(written))] == zips


def test_compare_categories_groups_and_choices(run, mixture):
    frame, columns = mixture
    Path("costs.csv").write_text("stage,9\ncode,0.25\n")
    judged = (
        "--target",
        "kind",
        "--methods",
        "auto",
        "fisher",
        "--learners",
        "1nn",
        "--folds",
        "2",
    )
    for options, settings in (
        ((), {}),
        (("--group-by-prefix", "_"), {"feature_groups": "_"}),
        (
            ("--keep-feature", "code", "--candidates", "stage", "smoker", "band_1"),
            {"keep": ["code"], "candidates": ["stage", "smoker", "band_1"]},
        ),
        (("--costs", "costs.csv"), {"cost": {"stage": 9, "code": 0.25}}),
    ):
        found = run("compare", "m.csv", *judged, *options, "--json").document
        expected = graphsieve.compare(
            frame, columns["kind"], methods=["auto", "fisher"], learners="1nn", folds=2, **settings
        )
        assert [one["features"] for one in found["rankings"]] == [
            one["features"] for one in expected.facts()["rankings"]
        ]
        assert [one["mean"] for one in found["evaluation"]["curves"]] == [
            pytest.approx(one["mean"], rel=DIGITS)
            for one in expected.facts()["evaluation"]["curves"]
        ]


# --- reproduction
# --------------------------------------------------------------------------------------------------


def reproduction_of(report):
    """Return the command and the Python code that a report shows."""
    shown = re.findall(r"<pre[^>]*>(.*?)</pre>", Path(report).read_text(), flags=re.DOTALL)
    command, python = (html.unescape(re.sub(r"<[^>]*>", "", one)) for one in shown)
    return shlex.split(command), python


REPEATED = [
    ("--target", "kind"),
    (
        *("--target", "size", "--target-type", "continuous", "--top", "3", "--method", "pearson"),
        *("--exclude", "kind"),
    ),
    (
        *("--target", "kind", "--categorical", "p_yes", "--numeric", "a", "--costs", "costs.csv"),
        *("--feature-groups", "groups.csv", "--keep-feature", "c", "--candidates", "first", "d"),
    ),
    ("--unsupervised", "--missing", "drop-rows", "--group-by-prefix", "_"),
    (
        "--exclude",
        "kind",
        "size",
        "p_no",
        "--unsupervised",
        "--method",
        "laplacian",
        "--neighbors",
        "4",
        "--scale",
        "none",
    ),
    ("--pairs", "pairs.csv", "--id-column", "id", *NO_FEATURES, "--missing", "drop-rows"),
    ("--pairs", "pairs.csv", "--target", "kind", "--id-column", "id", "--missing", "fill"),
    ("--target", "kind", "--subject-column", "id", "--missing", "drop-rows"),
    ("--target", "kind", "--weight-column", "p_yes", "--missing", "drop-rows"),
    (
        "--proba",
        "proba.csv",
        *NO_FEATURES,
        "--normalize-proba",
        "--fraction",
        "0.5",
        "--missing",
        "drop-rows",
    ),
    (
        "--proba-columns",
        "p_no",
        "p_yes",
        "--exclude",
        "size",
        "--missing",
        "drop-columns",
        "--sep",
        ",",
    ),
    ("--target", "kind", "--confidence-column", "sure", "--unlabeled", "none", *WIDE),
    ("--target", "size", "d", "--exclude", "p_no", "p_yes", "kind"),
    ("--target", "kind", "--na-values", "?", "-999", "--thousands", "'", "--keep-counter", *WIDE),
]


# The probabilities of the classes are functions of the target.
@pytest.mark.filterwarnings("ignore:.*one-to-one function of the target")
@pytest.mark.filterwarnings("ignore:no (feature|column) is significantly associated")
@pytest.mark.parametrize("options", REPEATED, ids=[" ".join(options) for options in REPEATED])
def test_the_report_shows_how_to_reproduce_a_ranking(run, table, capsys, options):
    if any("missing" in option for option in options):
        table["c"][5] = ""
        write_csv("t.csv", table)
    if "--confidence-column" in options:
        write_csv("t.csv", table | {"sure": ["0.8", "0.9"] * (len(table["id"]) // 2)})
    Path("pairs.csv").write_text(pairs_csv(lambda row: f"s{row}" if row != 5 else "s7"))
    write_csv("proba.csv", {"no": table["p_no"], "yes": table["p_yes"]})
    write_csv("groups.csv", {"column": ["a", "b"], "group": ["first", "first"]})
    write_csv("costs.csv", {"column": ["first", "d"], "cost": ["2", "0.5"]})
    first = run("rank", os.path.abspath("t.csv"), *options, "--report", "out.html", "--json")
    command, python = reproduction_of("out.html")
    assert command[:3] == ["graphsieve", "rank", "t.csv"]
    again = run(*command[1:], "--force")
    assert again.out == first.out
    names = {}
    exec(python, names)  # in the folder of the table
    capsys.readouterr()
    check_equal(first, names["ranking"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [QUICK, ("--methods", "auto", "--keep-feature", "c", "--costs", "costs.csv")],
    ids=["", "choice"],
)
def test_the_report_shows_how_to_reproduce_a_comparison(run, table, capsys, options):
    write_csv("costs.csv", {"column": ["a"], "cost": ["0.5"]})
    written = ("--seed", "4", "--report", "out.html", "--json")
    first = run("compare", "t.csv", "--target", "kind", *WIDE, *options, *written)
    command, python = reproduction_of("out.html")
    assert run(*command[1:], "--force").out == first.out
    names = {}
    exec(python, names)
    capsys.readouterr()
    expected = names["comparison"].facts()
    assert [one["features"] for one in expected["rankings"]] == [
        one["features"] for one in first.document["rankings"]
    ]
    means = [one["mean"] for one in expected["evaluation"]["curves"]]
    assert [one["mean"] for one in first.document["evaluation"]["curves"]] == pytest.approx(
        means, rel=DIGITS
    )


# --- reproducible output, colours, progress
# --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_output_is_reproducible(run, table):
    for command, options in (("rank", ()), ("compare", QUICK)):
        outcomes = set()
        for _ in range(2):
            answer = run(
                command,
                "t.csv",
                "--target",
                "kind",
                *options,
                "--json",
                "--report",
                "out.html",
                "--force",
            )
            outcomes.add((answer.out, Path("out.html").read_bytes()))
        assert len(outcomes) == 1
    for name in ("out.csv.gz", "out.parquet"):
        contents = set()
        for _ in range(2):
            run("select", "t.csv", "--target", "kind", "-o", name, "--force")
            contents.add(Path(name).read_bytes())
        assert len(contents) == 1


def on_a_terminal(arguments, width=120, **environment):
    """Return both streams of the command, run on a pseudo-terminal."""
    leader, follower = pty.openpty()
    usual = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    settings = {
        **usual,
        "TERM": "xterm",
        "COLUMNS": str(width),
        "OMP_NUM_THREADS": "1",
        **environment,
    }
    started = subprocess.Popen(
        arguments, stdin=follower, stdout=follower, stderr=follower, env=settings
    )
    os.close(follower)
    seen, until = b"", time.monotonic() + 120
    while time.monotonic() < until:
        if select.select([leader], [], [], 0.2)[0]:
            try:
                part = os.read(leader, 65536)
            except OSError:  # the other end is closed
                break
            seen += part
        elif started.poll() is not None:
            break
    os.close(leader)
    try:
        assert started.wait(timeout=60) == 0, seen
    finally:
        started.kill()
        started.wait()
    return seen.decode()


@pytest.mark.slow
def test_colours_on_a_terminal_only(table):
    arguments = [COMMAND, "rank", "t.csv", "--target", "kind", *WIDE, "--top", "2"]
    plain = installed(*arguments[1:])
    assert "\x1b" not in plain.out + plain.err
    coloured = on_a_terminal(arguments)
    assert "\x1b[" in coloured
    without = re.sub(r"\x1b\[[0-9;]*m", "", coloured).replace("\r\n", "\n")
    assert plain.out in without
    for settings in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in on_a_terminal(arguments, **settings)


@pytest.mark.slow
def test_progress_on_a_terminal(folder):
    """Progress is reported if the work takes longer than some seconds; here the limit is 0."""
    write_csv(
        "t.csv",
        {f"c{place}": np.random.default_rng(place).normal(size=50).tolist() for place in range(40)},
    )
    code = (
        "import sys, graphsieve._base.progress as p; p.PATIENCE = p.PAUSE = 0.0; "
        "from graphsieve.cli import main; sys.exit(main())"
    )
    seen = on_a_terminal([sys.executable, "-c", code, "rank", "t.csv"])
    assert "reading t.csv: " in seen
    assert "selecting features: " in seen
    assert "\r" in seen.partition("selecting features: ")[2]
    quiet = on_a_terminal([sys.executable, "-c", code, "rank", "t.csv", "--quiet"])
    assert "selecting features" not in quiet


# --- select, methods, explain, demo, compare
# --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["out.csv", "out.tsv", "out.csv.gz", "out.tsv.gz", "out.parquet", "out.feather"]
)
def test_select(run, table, name):
    """The columns that rank selects, in the order of the file, with the values of the file."""
    arguments = ("t.csv", "--target", "kind", "--id-column", "id", *WIDE, "--top", "2")
    ranked = run("rank", *arguments, "--json")
    selected = {record["feature"] for record in ranked.features if record["selected"]}
    assert len(selected) == 2
    answer = run("select", *arguments, "--keep", "note", "-o", name)
    assert answer.out == ""
    reduced = read_table(name, keep=["id", "kind", "note"])
    assert reduced.columns == tuple(
        column for column in table if column in selected | {"id", "kind", "note"}
    )
    for place, column in enumerate(reduced.names):
        assert reduced.matrix[:, place].tolist() == [float(cell) for cell in table[column]]
    assert reduced.kept["id"].tolist() == table["id"]
    assert reduced.kept["kind"].tolist() == [cell or None for cell in table["kind"]]
    assert reduced.kept["note"].tolist() == table["note"]


def test_select_keeps_numbers_as_they_are(run, folder):
    """Integers stay integers, floats keep their values, and dropped rows are not written."""
    table = {
        "n": ["1", "20", "3", "-4", "5"],
        "x": ["0.1", "1e-300", "", "123456789.125", "7"],
        "k": ["1", "1", "1", "1", "2"],
    }
    write_csv("t.csv", table)
    lines = run("select", "t.csv", "--missing", "drop-rows", "--top", "3").out.splitlines()
    assert lines == ["n,x,k", "1,0.1,1", "20,1e-300,1", "-4,123456789.125,1", "5,7.0,2"]


def test_methods(run):
    names = [*METHODS, *SEARCHES]
    assert [one["method"] for one in run("methods", "--json").document["methods"]] == names
    assert run("methods", "--format", "json").document["schema"] == 1
    for form, sep in (("csv", ","), ("tsv", "\t")):
        rows = csv.DictReader(io.StringIO(run("methods", "--format", form).out), delimiter=sep)
        assert [row["method"] for row in rows] == names
    shown = run("methods")
    assert shown.err == ""
    found = re.findall(r"^  (\w+) ", shown.out, flags=re.MULTILINE)
    assert [name for name in found if name != "method"] == names


@pytest.mark.parametrize("name", ["auto", *METHODS, *SEARCHES])
def test_explain(run, name):
    text = run("explain", name).out
    assert text.startswith(f"{name}: ")
    if name != "auto":
        about = METHODS.get(name) or SEARCHES[name]
        assert about.summary in text
        assert about.reference in text
        assert about.function.__name__ in text
    assert "Examples\n" not in text


def test_the_commands_that_explain_shows_can_be_run(run, table):
    """The command that explain shows can be run."""
    for name in ("laplacian", "iterative", "diverse", "fisher"):
        (shown,) = re.findall(
            r"^command: graphsieve (.*)$", run("explain", name).out, flags=re.MULTILINE
        )
        words = ["t.csv" if word == "TABLE" else word for word in shown.split()]
        assert run(*words, "--target", "kind", *WIDE).out


@pytest.mark.slow
def test_demo(run):
    answer = run("demo", "--seed", "3", "--report", "tumours.html", "--debug")
    assert answer.out.splitlines()[-1] == "report written to tumours.html"
    assert answer.out.startswith("30 columns of 569 rows")
    assert "random columns" in answer.out
    names = load_breast_cancer().feature_names
    assert all(f"  {name}  " in answer.out for name in names)
    page = Path("tumours.html").read_bytes()
    quiet = run("demo", "--seed", "3", "--report", "tumours.html", "--force", "--quiet")
    assert quiet.err == ""
    assert (quiet.out, Path("tumours.html").read_bytes()) == (answer.out, page)
    assert main(["demo", "--report", "tumours.html"]) == 4


def test_compare(run, table):
    """The result equals that of `graphsieve.compare` on the same folds, with both baselines."""
    settings = {
        "methods": ["fisher", "variance"],
        "learners": ["1nn"],
        "folds": 3,
        "repeats": 2,
        "sizes": [1, 2],
    }
    options = (
        "--methods",
        "fisher",
        "variance",
        "--learners",
        "1nn",
        "--folds",
        "3",
        "--repeats",
        "2",
        "--sizes",
        "1",
        "2",
    )
    arguments = ("compare", "t.csv", "--target", "kind", *WIDE, *options, "--seed", "7")
    expected = graphsieve.compare(
        matrix_of(table), classes_of(table), feature_names=FEATURES, random_state=7, **settings
    )
    found = run(*arguments, "--json").document
    assert {one["method"]: one["features"] for one in found["rankings"]} == {
        one["method"]: one["features"] for one in expected.facts()["rankings"]
    }
    records = expected.to_records()
    rows = list(csv.DictReader(io.StringIO(run(*arguments, "--format", "csv").out)))
    assert [(row["method"], int(row["n_features"])) for row in rows] == [
        (one["method"], one["n_features"]) for one in records
    ]
    assert [float(row["mean"]) for row in rows] == pytest.approx(
        [one["mean"] for one in records], rel=DIGITS
    )
    assert {"random columns", "all columns"} < {row["method"] for row in rows}
    assert run(*arguments).out == f"{expected}\n"
    assert run(*arguments, "--jobs", "2").out == f"{expected}\n"


def test_compare_without_a_target_has_no_curves(run, table):
    document = run(
        "compare", "t.csv", *NO_FEATURES, "--methods", "variance", "laplacian", "--json"
    ).document
    assert document["evaluation"] is None
    rows = list(
        csv.DictReader(
            io.StringIO(
                run(
                    "compare", "t.csv", *NO_FEATURES, "--methods", "variance", "--format", "csv"
                ).out
            )
        )
    )
    ranking = graphsieve.rank(
        matrix_of(table), feature_names=FEATURES, method="variance", n_features_to_select=4
    )
    assert [(row["method"], row["feature"], int(row["rank"])) for row in rows] == [
        ("variance", name, place) for place, name in enumerate(ranking.best(4), start=1)
    ]
    assert len(document["agreement"]) == 2


def test_a_narrow_terminal_shows_no_redundancy(monkeypatch):
    ranking = rank(np.random.default_rng(0).normal(size=(30, 6)), n_features_to_select=3)
    for columns, shown in ((80, False), (120, True)):
        monkeypatch.setenv("COLUMNS", str(columns))
        text = ranking_lines(ranking, rows=None, on_terminal=True)
        assert ("redundancy" in text) == shown
        assert shown or max(map(len, text.splitlines())) <= 80

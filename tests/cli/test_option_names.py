"""Messages name parameters in Python, and the corresponding options on the command line."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import graphsieve
from graphsieve import compare, rank, read_table
from graphsieve._base.errors import InputError
from graphsieve._base.messages import Message, Part, keyword, message_of, numbered, parameter
from graphsieve._base.parameters import remedy, setting
from graphsieve.cli import main
from graphsieve.cli.arguments import parser
from graphsieve.cli.option_names import OPTIONS, WORDS, for_the_command

SOURCES = sorted(Path(graphsieve.__file__).parent.rglob("*.py"))
MESSAGE_CALLS = ("InputError", "InputTypeError", "UsageError", "ConstraintConflictError", "warn")
MARK_CALLS = ("parameter", "setting", "remedy", "keyword", "phrase", "numbered", "must_be")
# Options without a parameter in the library: files, columns, and the output of the command
COMMAND_ONLY = {
    *("--help", "--debug", "--version", "--quiet", "--force", "--output", "--format", "--json"),
    *("--report", "--rows", "--raw-names", "--full-paths", "--page", "--no-page", "--markdown"),
    *("--results", "--quick", "--full"),
    *("--target", "--pairs", "--proba", "--proba-columns", "--unsupervised", "--keep"),
    "--group-by-prefix",  # feature_groups may be a dict or a separator.
    "--fraction",  # n_features_to_select may be a number or a fraction.
}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the command in this process, in a folder with a table, and return the exit code and
    the error stream.
    """
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(3)
    rows = [[*map(repr, map(float, random.normal(size=3))), "uv"[at % 2]] for at in range(24)]
    Path("t.csv").write_text("\n".join(["a,b,c,kind", *map(",".join, rows), ""]))

    def call(*arguments):
        code = main(list(arguments))
        return code, capsys.readouterr().err

    return call


def options_of_the_command():
    """Return all options of all commands, and the names of their attributes."""
    [commands] = [action for action in parser()._actions if hasattr(action, "_name_parser_map")]
    return {
        option: action.dest
        for command in (parser(), *commands.choices.values())
        for action in command._actions
        for option in action.option_strings
        if option.startswith("--")
    }


# --- the table of options
# --------------------------------------------------------------------------------------------------


def test_every_option_belongs_to_a_parameter_or_only_to_the_command():
    assert set(OPTIONS.values()) | COMMAND_ONLY == set(options_of_the_command())
    assert not set(OPTIONS.values()) & COMMAND_ONLY
    assert len(set(OPTIONS.values())) == len(OPTIONS)


def test_parameters_have_the_option_of_their_name():
    """An option with the name of a parameter is the option of this parameter."""
    parameters = {
        name for call in (rank, compare, read_table) for name in inspect.signature(call).parameters
    }
    found = {
        dest: option
        for option, dest in options_of_the_command().items()
        if dest in parameters and option not in COMMAND_ONLY and dest not in ("neighbors", "format")
    }
    assert {"method", "max_features", "scale", "sep", "id_column", "sizes", "folds"} <= set(found)
    assert found.items() <= OPTIONS.items()


@pytest.mark.parametrize(("name", "option"), OPTIONS.items())
def test_the_option_replaces_the_parameter(name, option):
    def worded(*parts):
        return for_the_command(Message(*parts))

    assert worded(parameter(name, 3), " must be 2.") == f"{option} must be 2."
    assert worded("pass ", keyword(name), ".") == f"pass {option}."
    assert worded(setting(name, "a"), " fails.") == f"{option} a fails."
    assert worded("try ", remedy(name, None), ".") == f"try {option} none."
    assert worded("try ", remedy(name, True), ".") == f"try {option}."
    assert worded(f"{name} of '{name}={name}'") == f"{name} of '{name}={name}'"


def test_parameters_without_an_option_keep_their_names():
    message = Message(parameter("weight", 3), " is wrong; try ", remedy("form", "ratio"), ".")
    assert for_the_command(message) == "weight is wrong; try form='ratio'."


def test_labels_and_positions_are_not_reworded():
    label = Part("X", "class label", value="X")
    assert for_the_command(Message("class ", label, " in ", numbered("column", 3))) == (
        "class X in column 3"
    )


def test_messages_are_on_one_line():
    assert for_the_command(Message("a\n  b ", parameter("sep"))) == "a b --sep"


# --- the source code
# --------------------------------------------------------------------------------------------------


def calls(tree, names):
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
    ]


def plain_texts(call):
    """Return the texts of a call that are the same in all interfaces."""
    marked = {id(one) for part in calls(call, MARK_CALLS) for one in ast.walk(part)}
    return [
        node.value
        for node in ast.walk(call)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in marked
    ]


def unmarked(tree):
    """Return the texts of messages that name a parameter with an option."""
    long = "|".join(name for name in OPTIONS if "_" in name)
    named = re.compile(rf"\b({long})\b|(?<!\(X, )\b({'|'.join(OPTIONS)})=")
    found = [
        text
        for call in calls(tree, MESSAGE_CALLS)
        for text in plain_texts(call)
        if named.search(text)
    ]
    return [text for text in found if text.strip() not in OPTIONS]  # Keys such as given["n_jobs"].


def marks_lost(tree):
    """Return the parts in f-strings, which lose their marks there."""
    return [
        ast.unparse(part)
        for text in ast.walk(tree)
        if isinstance(text, ast.JoinedStr)
        for part in calls(text, MARK_CALLS)
    ]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_messages_mark_the_parameters_that_have_options(source):
    tree = ast.parse(source.read_text(encoding="utf-8"))
    assert unmarked(tree) == []
    assert marks_lost(tree) == []


def test_unmarked_parameters_are_found():
    tree = ast.parse(
        'raise InputError(f"n_neighbors is {n}.")\n'
        'warn(parameter("n_jobs"), " requires ", "scale=None.")\n'
        'warn(f"{parameter(name)} is odd.", keyword("n_jobs"), given["n_jobs"])\n'
    )
    assert unmarked(tree) == ["n_neighbors is ", "scale=None."]
    assert marks_lost(tree) == ["parameter(name)"]


@pytest.mark.slow
def test_all_phrases_have_another_wording_and_all_wordings_are_used():
    trees = [ast.parse(source.read_text(encoding="utf-8")) for source in SOURCES]
    given = [ast.literal_eval(call.args[0]) for tree in trees for call in calls(tree, ("phrase",))]
    assert set(given) | {"X", "y", "label_proba"} == set(WORDS)


# --- the command line
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--top", "9"), "--top is 9, but there are 3 features"),
        (("--top", "3", "--max-features", "2"), "--top is 3, but --max-features allows 2"),
        (("--method", "fisher", "--scale", "rank"), "leave --scale at 'auto', got 'rank'"),
        (("--method", "fisher", "--metric", "cosine"), "leave --metric at 'auto', got 'cosine'"),
        (("--method", "fisher", "--bandwidth", "2"), "has no --bandwidth; leave it at 'auto'"),
        (("--method", "fisher", "--neighbors", "2"), "has no --neighbors; leave it at 'auto'"),
        (("--method", "fisher", "--compress", "som"), "leave --compress out, got 'som'"),
        (("--method", "fisher", "--param", "a=1"), "--param must be omitted"),
        (("--method", "fisher", "--neighbor-search", "approximate"), "leave --neighbor-search"),
        (("--method", "diverse", "--redundancy", "correlation"), "leave --redundancy at 'auto'"),
        (
            ("--prototypes", "5"),
            "--prototypes applies only to methods that use a graph, but --method auto builds none",
        ),
        (
            ("--method", "lsdf", "--prototypes", "5"),
            "--prototypes 5 requires --compress som or 'kmeans', but nothing is to be "
            "compressed; leave it out.",
        ),
        (("--method", "hybrid", "--redundancy", "none"), "has no --redundancy; leave it out"),
        (("--key", "X"), "--key chooses an array of an NPZ file or a sheet of an Excel file only"),
        (("--sep", ";;"), "--sep must be one character"),
        (("--input-format", "cvs"), "--input-format must be one of"),
    ],
)
def test_errors_of_the_command_name_its_options(run, arguments, message):
    code, err = run("rank", "t.csv", "--target", "kind", *arguments)
    assert code in (2, 3)
    assert message in err.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--sizes", "9"), "--sizes contains 9, but there are 3 features"),
        (("--sizes", "1", "1"), "--sizes contains a number of features twice"),
        (("--methods", "fisher", "fisher"), "--methods contains a name twice"),
    ],
)
def test_errors_of_comparisons_name_the_options(run, arguments, message):
    code, err = run("compare", "t.csv", "--target", "kind", *arguments)
    assert code == 3
    assert message in err.splitlines()[-1]


def test_a_search_without_a_target_names_the_option(run):
    code, err = run("rank", "t.csv", "--method", "hybrid", "--exclude", "kind")
    assert code == 3
    assert err.endswith("needs a target; name a column of classes by --target.\n")


def test_warnings_of_the_command_name_its_options(run):
    code, err = run(
        "rank", "t.csv", "--method", "laplacian", "--neighbors", "30", "--exclude", "kind"
    )
    assert code == 0
    assert "warning: --neighbors 30 is lowered to 23: there are only 24 samples" in err


def test_names_of_files_and_columns_are_not_reworded(run):
    """User data is never changed, even if it looks like a parameter."""
    names = ["n_neighbors", "X has ", "method='fisher'"]
    cells = Path("t.csv").read_text().splitlines()[1:]
    Path("sep must be.csv").write_text("\n".join([",".join([*names, "kind"]), *cells, ""]))
    code, err = run("rank", "sep must be.csv", "--target", "random_state")
    assert code == 2
    assert err.startswith("graphsieve: sep must be.csv has no column 'random_state'")
    code, err = run("rank", "sep must be.csv", "--target", "n_neighbors", "--key", "X")
    assert err.startswith("graphsieve: sep must be.csv has the format CSV; --key chooses")
    code, err = run(
        "rank", "sep must be.csv", "--target", "kind", "--method", "pearson", "--top", "9"
    )
    assert code == 3
    assert err.endswith("graphsieve: --top is 9, but there are 3 features; choose 1 to 3.\n")


def test_the_same_error_has_another_wording_in_python(run):
    _, err = run("rank", "t.csv", "--target", "kind", "--top", "9")
    table = read_table("t.csv", keep=["kind"])
    with pytest.raises(InputError) as caught:
        rank(table.matrix, table.kept["kind"], n_features_to_select=9)
    python = "n_features_to_select is 9, but there are 3 features; choose 1 to 3."
    assert str(caught.value) == python
    assert err.splitlines()[-1] == f"graphsieve: {for_the_command(message_of(caught.value))}"

"""Values that the command must not change silently: numbers, row names and unknown labels.

Options without effect are refused.
"""

from __future__ import annotations

import csv
import gzip
import html
import json
import re
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from command import numbers, put
from graphsieve import rank, read_table
from graphsieve._base.errors import InputTypeError
from graphsieve.table.files.writing import write_table


@pytest.mark.parametrize("layout", ["array", "coordinate"])
@pytest.mark.parametrize(("field", "offset"), [("integer", 2**60), ("unsigned-integer", 2**63)])
def test_large_whole_numbers_in_mtx_are_written_as_they_are(run, layout, field, offset):
    """Numbers of type float64 near 2**60 are multiples of 256, so none of these is one."""
    given = [offset + 2 * i + 1 for i in range(12)]
    if layout == "array":
        lines = ["12 2", *map(str, given), *map(str, range(0, 24, 2))]
    else:
        lines = [
            "12 2 24",
            *(f"{i + 1} 1 {value}" for i, value in enumerate(given)),
            *(f"{i + 1} 2 {2 * i + 1}" for i in range(12)),
        ]
    Path("t.mtx").write_text(
        "\n".join([f"%%MatrixMarket matrix {layout} {field} general", *lines, ""])
    )
    code, out, err = run("select", "t.mtx", "--top", "2")
    assert code == 0
    assert [line.partition(",")[0] for line in out.splitlines()] == ["x0", *map(str, given)]
    assert "integers beyond 2**53" in err  # in the scores
    assert read_table("t.mtx").matrix.dtype.kind in "iu"


@pytest.mark.parametrize(
    "names", [["1.1", "1.10"], ["1E5", "100000.0"], ["true", "TRUE"], ["+5", "5"], ["5", "5.0"]]
)
def test_names_of_rows_stay_as_they_are_written(run, names):
    """Row names such as versions may look like numbers, and different names like equal numbers."""
    ids = [*names, *(f"{i}.50" for i in range(22))]
    put("t.csv", {"id": ids, **numbers(), "kind": [i % 2 for i in range(24)]})
    code, out, _ = run("select", "t.csv", "--id-column", "id", "--target", "kind", "--raw-names")
    assert code == 0
    assert [line.partition(",")[0] for line in out.splitlines()] == ["id", *ids]
    Path("pairs.csv").write_text(f"{names[0]},{names[1]},must\n0.50,1.50,cannot\n")
    assert run("rank", "t.csv", "--id-column", "id", "--pairs", "pairs.csv")[0] == 0
    put(
        "proba.csv",
        {"id": ids[::-1], "u": [i / 23 for i in range(24)], "v": [1 - i / 23 for i in range(24)]},
    )
    assert (
        run("rank", "t.csv", "--id-column", "id", "--proba", "proba.csv", "--exclude", "kind")[0]
        == 0
    )


@pytest.mark.parametrize(("given", "kind"), [(["-3", "12"], int), (["1.5", "-2.25"], float)])
def test_row_names_that_are_numbers_stay_numbers(run, given, kind):
    put("t.csv", {"id": given, "a": [1, 2]})
    assert [type(value) for value in read_table("t.csv", id_column="id").kept["id"]] == [kind, kind]


def test_a_mark_of_the_unknown_in_a_quantity_is_refused(run):
    """It would be used as a value far from all others."""
    put("t.csv", {**numbers(), "price": [-999 if i % 5 == 0 else i * 1.5 for i in range(24)]})
    for further in ((), ("--target-type", "continuous")):
        for command in ("rank", "compare", "select"):
            code, out, err = run(
                command, "t.csv", "--target", "price", "--unlabeled", "-999", *further
            )
            assert (code, out) == (2, "")
            assert err == (
                "graphsieve: --unlabeled -999 needs class labels, but column 'price' is a "
                "continuous target; leave unknown cells empty, or add --target-type classes.\n"
            )
    assert run("rank", "t.csv", "--target", "price", "--unlabeled", "none")[0] == 0


def test_a_mark_of_the_unknown_among_texts_is_told_of(run):
    put("t.csv", {**numbers(), "kind": ["u", "v", "-1"] * 8})
    assert (
        "so '-1' is one of its classes; leave these cells empty"
        in run("rank", "t.csv", "--target", "kind")[2]
    )
    for mark in ("none", "-2"):
        assert (
            "is one of its classes"
            not in run("rank", "t.csv", "--target", "kind", "--unlabeled", mark)[2]
        )


def test_the_report_repeats_the_seed_and_sparse_tables_in_python(run):
    entries = [f"{i % 20 + 1} {i % 3 + 1} {i * 7 % 11 + 1}" for i in range(60)]
    Path("t.mtx").write_text(
        "\n".join(["%%MatrixMarket matrix coordinate real general", "20 3 60", *entries, ""])
    )
    Path("pairs.csv").write_text("1,2,must\n3,4,cannot\n")
    assert (
        run(
            "rank",
            "t.mtx",
            "--pairs",
            "pairs.csv",
            "--seed",
            "5",
            "--top",
            "2",
            "--report",
            "r.html",
        )[0]
        == 0
    )
    page = html.unescape(Path("r.html").read_text())
    code = re.search(r"from graphsieve import .*?print\(ranking\)", page, flags=re.DOTALL)[0]
    assert "random_state=5," in code
    found = {}
    exec(code, found)
    assert len(found["ranking"]) == 3


@pytest.mark.slow
def test_the_number_of_processes_is_limited(run):
    put("t.csv", {**numbers(), "kind": ["u", "v"] * 12})
    few = (
        "compare",
        "t.csv",
        "--target",
        "kind",
        "--methods",
        "fisher",
        "--learners",
        "1nn",
        "--folds",
        "2",
        "--quiet",
    )
    assert run(*few, "--jobs", str(10**30)) == run(*few)


def test_pairs_in_json_under_a_key_that_comes_twice(run):
    put("t.csv", numbers())
    Path("pairs.json").write_text('{"must_link": [["1", "2"]], "must_link": [["4", "5"]]}')
    code, out, err = run("rank", "t.csv", "--pairs", "pairs.json")
    assert (code, out) == (3, "")
    assert (
        err
        == "graphsieve: pairs.json holds 'must_link' 2 times; put all of its pairs into one list.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["rank", "--rows", "3", "--format", "csv"], "--rows"),
        (["rank", "--rows", "all", "--json"], "--rows"),
        (["rank", "--raw-names"], "--raw-names"),
        (["rank", "--raw-names", "-o", "out.json"], "--raw-names"),
        (["rank", "--full-paths"], "--full-paths"),
        (["compare", "--raw-names", "--json"], "--raw-names"),
        (["compare", "--full-paths", "--format", "csv"], "--full-paths"),
        (["compare", "--learners", "1nn"], "--learners"),
        (["compare", "--folds", "5"], "--folds"),
        (["compare", "--repeats", "1"], "--repeats"),
        (["select", "--raw-names", "-o", "out.parquet"], "--raw-names"),
    ],
)
def test_an_option_without_effect_is_refused(run, arguments, option):
    put("t.csv", numbers())
    code, out, err = run(arguments[0], "t.csv", *arguments[1:])
    assert (code, out) == (2, "")
    assert re.match(rf"graphsieve: {option} (applies to|needs) ", err)
    assert err.count("\n") == 1
    assert [path.name for path in Path().iterdir()] == ["t.csv"]


def test_lists_that_are_given_in_parts_count_in_full(run):
    put(
        "t.csv",
        {**numbers(), "p": [i / 23 for i in range(24)], "q": [1 - i / 23 for i in range(24)]},
    )
    together = run(
        "compare",
        "t.csv",
        "--methods",
        "variance",
        "laplacian",
        "--sizes",
        "1",
        "2",
        "--proba-columns",
        "p",
        "q",
    )
    parts = (
        "--methods",
        "variance",
        "--methods",
        "laplacian",
        "--sizes",
        "1",
        "--sizes",
        "2",
        "--proba-columns",
        "p",
    )
    assert together[0] == 0
    assert run("compare", "t.csv", *parts, "--proba-columns", "q") == together


@pytest.mark.parametrize("command", ["rank", "compare"])
@pytest.mark.parametrize("format", ["csv", "tsv", "json"])
def test_results_under_a_name_of_a_compressed_file_are_compressed(run, command, format):
    put("t.csv", numbers())
    plain, packed, asked = Path(f"out.{format}"), Path(f"out.{format}.gz"), Path("OUT.GZ")
    for file, further in ((plain, ()), (packed, ()), (asked, ("--format", format))):
        assert run(command, "t.csv", "-o", str(file), *further)[0] == 0
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert asked.read_bytes() == packed.read_bytes()
    assert packed.read_bytes()[4:8] == bytes(4)  # without a time stamp


def test_a_report_under_a_name_of_a_compressed_file_is_compressed(run):
    put("t.csv", numbers())
    assert run("rank", "t.csv", "--report", "r.html.gz")[0] == 0
    assert gzip.decompress(Path("r.html.gz").read_bytes()).startswith(b"<!doctype html>")


@pytest.mark.parametrize("ending", [".zst", ".ZST", ".bz2", ".xz", ".zip"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["rank", "--format", "csv", "-o"],
        ["rank", "-o"],
        ["compare", "--json", "-o"],
        ["rank", "--report"],
    ],
)
def test_a_name_with_another_compression_is_refused(run, arguments, ending):
    put("t.csv", numbers())
    code, out, err = run(arguments[0], "t.csv", *arguments[1:], f"out.csv{ending}")
    assert (code, out) == (2, "")
    assert err == (
        f"graphsieve: out.csv{ending} cannot be written, since gzip is the only supported compression; "
        f"use the suffix .gz, or remove {ending}.\n"
    )
    assert [path.name for path in Path().iterdir()] == ["t.csv"]


@pytest.mark.parametrize("ending", ["/", "//", "/."])
@pytest.mark.parametrize(
    "arguments",
    [
        ["rank", "t.csv", "-o", "out.csv"],
        ["rank", "t.csv", "--format", "json", "-o", "out"],
        ["rank", "t.csv", "--report", "pages"],
        ["compare", "t.csv", "--report", "pages"],
        ["select", "t.csv", "-o", "out.csv"],
        ["demo", "--report", "pages"],
        ["reproduce", "wls", "--page", "pages"],
    ],
)
def test_an_output_that_is_named_like_a_folder_is_refused(run, arguments, ending):
    """The folder does not exist, and the output must not become a file of this name."""
    put("t.csv", numbers())
    code, out, err = run(*arguments[:-1], arguments[-1] + ending)
    assert (code, out) == (4, "")
    assert err == f"graphsieve: {arguments[-1]}{ending} is a folder; name a file in it.\n"
    assert [path.name for path in Path().iterdir()] == ["t.csv"]


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
)
def test_a_byte_order_mark_is_no_part_of_a_name(run, encoding):
    put("plain.csv", {"kind": ["u", "v"] * 12, **numbers()})
    mark = "" if encoding == "utf-16" else "\ufeff"  # Python writes the mark for utf-16.
    Path("t.csv").write_bytes((mark + Path("plain.csv").read_text()).encode(encoding))
    table = read_table("t.csv", encoding=encoding)
    assert table.columns == ("kind", "a", "b", "c")
    assert table.positions.tolist() == list(range(2, 26))
    assert run("rank", "t.csv", "--target", "kind", "--encoding", encoding)[0] == 0


@pytest.mark.parametrize("line", ["sep={}\n", "SEP={}\r\n", '"sep={}"\r\n'])
@pytest.mark.parametrize(
    ("sep", "named"),
    [(";", "semicolons"), (",", "commas"), ("\t", "tabs"), ("|", '"|"'), ("^", "'^'")],
)
def test_the_first_line_of_excel_says_the_separator(run, line, sep, named):
    put("t.csv", {**numbers(), "kind": ["u", "v"] * 12})
    Path("t.csv").write_text(
        line.format(sep) + Path("t.csv").read_text().replace(",", sep), newline=""
    )
    table = read_table("t.csv")
    assert table.columns == ("a", "b", "c", "kind")
    assert table.positions.tolist() == list(range(3, 27))
    assert table.notes[0] == f"columns are separated by {named}, as line 1 says"
    assert (
        len(read_table("t.csv", header=False, exclude=["column_1", "column_2", "column_3"]).columns)
        == 4
    )
    assert run("rank", "t.csv", "--target", "kind", "--sep", sep)[0] == 0
    code, out, err = run("rank", "t.csv", "--target", "kind", "--sep", ":")
    assert (code, out) == (2, "")
    assert err == (
        f"graphsieve: t.csv says in line 1 that columns are separated by {named}, but --sep says "
        "':'; leave --sep out, or remove line 1.\n"
    )


def test_line_numbers_include_the_separator_line_of_excel(run):
    Path("t.csv").write_text("sep=;\na;b\n1;2\n3;4;5\n")
    assert "t.csv: line 4 has 3 fields, expected 2" in run("rank", "t.csv")[2]
    Path("t.csv").write_text("sep=;\n")
    assert (
        run("rank", "t.csv")[2]
        == "graphsieve: t.csv is an empty file; expected a header and rows.\n"
    )
    Path("t.csv").write_bytes(b"sep=;\na;b\n1;2\n1;\xff\n")
    assert "(0xff, line 4)" in run("rank", "t.csv")[2]


@pytest.mark.parametrize("name", ["sep=", "sep=a", "sep=10", "sep=;x", "separator"])
def test_a_name_that_resembles_the_separator_line_of_excel_is_a_name(run, name):
    Path("t.csv").write_text(f"{name}\n1\n2\n")
    assert read_table("t.csv", sep=",").columns == (name,)


@pytest.mark.parametrize("source", ["parquet", "feather"])
@pytest.mark.parametrize("result", ["parquet", "feather"])
def test_select_keeps_the_types_of_arrow(run, source, result):
    pa, feather = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.feather")
    parquet = pytest.importorskip("pyarrow.parquet")
    given = numbers()
    times = [None, *(datetime(2024, 1 + i % 12, 1 + i, 7, i, 5, 123000 + i) for i in range(23))]
    table = pa.table(
        {
            "flag": pa.array([i % 3 == 0 for i in range(24)]),
            "small": pa.array(given["a"], type=pa.float32()),
            "short": pa.array([i * i % 50 for i in range(24)], type=pa.int16()),
            "large": pa.array(given["b"]),
            "at": pa.array(times, type=pa.timestamp("us")),
            "there": pa.array(times, type=pa.timestamp("us", tz="Europe/Berlin")),
            "day": pa.array(times, type=pa.timestamp("us")).cast(pa.date32(), safe=False),
            "sure": pa.array([None, *[True, False, True] * 7, None, False]),
            "kind": pa.array(["u", "v", None] * 8).dictionary_encode(),
            "id": pa.array(times[1:] + times[1:2], type=pa.timestamp("us")).cast(pa.string()),
        }
    )
    write, read = (
        {"parquet": parquet, "feather": feather}[source],
        {"parquet": parquet, "feather": feather}[result],
    )
    (write.write_table if source == "parquet" else write.write_feather)(table, f"t.{source}")
    keep = ("--keep", "at", "there", "day", "sure", "id")
    assert (
        run(
            "select", f"t.{source}", "--target", "kind", "--top", "4", *keep, "-o", f"out.{result}"
        )[0]
        == 0
    )
    found = read.read_table(f"out.{result}")
    for name in table.column_names:
        assert found.schema.field(name).type == table.schema.field(name).type, name
        assert found[name].to_pylist() == table[name].to_pylist(), name


def test_select_widens_a_type_that_cannot_represent_the_filled_value(run):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    flags = [None, None, *[True, False] * 11]  # The median is 0.5.
    table = pa.table(
        {
            "flag": flags,
            "short": pa.array([None, *range(100, 123)], type=pa.int8()),
            "a": numbers()["a"],
        }
    )
    table = table.append_column(
        "half", pa.array([None, None, *[1.0, np.float32(1.1)] * 11], type=pa.float32())
    )
    parquet.write_table(table, "t.parquet")
    assert (
        run("select", "t.parquet", "--missing", "fill", "--top", "4", "-o", "out.parquet")[0] == 0
    )
    found = parquet.read_table("out.parquet")
    assert found["flag"].to_pylist()[:4] == [0.5, 0.5, 1, 0]
    assert found["short"].to_pylist()[:2] == [111, 100]
    assert found["short"].type == pa.int8()
    assert found["half"].to_pylist()[0] == (1 + float(np.float32(1.1))) / 2


@pytest.mark.parametrize("types", [3, "a", {"a": 3}])
def test_invalid_types_are_refused(tmp_path, types):
    pytest.importorskip("pyarrow")
    with pytest.raises(InputTypeError):
        write_table(tmp_path / "t.parquet", {"a": [1, 2]}, types=types)


@pytest.mark.parametrize("command", ["rank", "compare", "select"])
def test_a_column_that_loses_digits_is_reported_by_its_name(run, command):
    """The library numbers columns of arrays from 0, so the command must use their names."""
    large = np.column_stack(
        [np.arange(24) % 7, 2**60 + 2 * np.arange(24) ** 2 % 11 + 1, np.arange(24) % 5]
    )
    np.savez("t.npz", X=large, feature_names=np.array(["low", "high", "mid"]))
    code, _, err = run(command, "t.npz")
    assert code == 0
    assert (
        "warning: precision lost in column 'high': integers beyond 2**53 and decimals of more than "
        "15 digits are rounded (1 such columns).\n" in err
    )


def test_columns_of_huge_numbers_are_reported_by_their_names(run):
    put(
        "t.csv",
        {**numbers(), "column 0": [1e200 * (i % 5) for i in range(24)], "kind": ["u", "v"] * 12},
    )
    code, out, err = run("rank", "t.csv", "--method", "variance")
    assert (code, out) == (3, "")
    assert err.endswith(
        "graphsieve: the score of column 'column 0' exceeds the largest number; divide its numbers "
        "by a constant first.\n"
    )
    code, out, err = run("compare", "t.csv", "--target", "kind", "--methods", "fisher")
    assert (code, out) == (3, "")
    assert (
        "graphsieve: the table has column 'column 0' of magnitude 4e+200, which learners cannot square"
        in err
    )


def test_messages_about_classes_and_learners_name_options(run):
    put("t.csv", {**numbers(), "kind": ["u", "v"] * 12})
    put("proba.csv", {"p": [0.5] * 24, "column 3": [0.5] * 24})
    assert run("rank", "t.csv", "--target", "kind", "--proba", "proba.csv")[2].endswith(
        "graphsieve: label 'u' is none of the classes of the table of probabilities (p, column 3); "
        "let its columns have the names of the classes.\n"
    )
    assert run("compare", "t.csv", "--target", "kind", "--learners", "1nn", "1nn")[2].endswith(
        "graphsieve: two of the learners have the name '1nn'; name each once.\n"
    )


@pytest.mark.parametrize(
    "first", ["x1,x2,musst", '"x1","x2",Must link', " x1 , x99 ,", "x1;x2;musst", "\nx1,x2,musst"]
)
def test_a_first_line_of_pairs_with_row_names_is_not_a_header(run, first):
    put("t.csv", {"id": [f"x{i}" for i in range(24)], **numbers()})
    Path("pairs.csv").write_text(
        f"{first}\n" + ("x3;x4;must\n" if ";" in first else "x3,x4,must\n")
    )
    code, out, err = run("rank", "t.csv", "--id-column", "id", "--pairs", "pairs.csv")
    assert (code, out) == (3, "")
    assert re.fullmatch(
        r"graphsieve: pairs.csv has '.*' in line [12]; expected must or cannot\.\n", err
    )


def test_a_first_line_of_pairs_without_row_names_is_a_header(run):
    put("t.csv", {"id": [f"x{i}" for i in range(24)], **numbers()})
    Path("pairs.csv").write_text("from,to,musst\nx3,x4,must\n")
    code, _, err = run("rank", "t.csv", "--id-column", "id", "--pairs", "pairs.csv")
    assert code == 0
    assert "supervision: 1 must-link, 0 cannot-link" in err


def test_rows_of_a_subject_count_once(run):
    """The column of subjects is no feature, and gives the result of `groups` in Python."""
    random = np.random.default_rng(0)
    subject = np.repeat(np.arange(12), 6)
    X = random.normal(size=(12, 8))[subject] + 0.05 * random.normal(size=(72, 8))
    kind = (np.arange(12) % 2)[subject]
    columns = {f"x{j}": [repr(float(value)) for value in X[:, j]] for j in range(8)}
    columns |= {"kind": [f"k{one}" for one in kind], "who": [f"p{one}" for one in subject]}
    put("t.csv", columns)
    common = ("t.csv", "--target", "kind", "--subject-column", "who")
    code, out, err = run("rank", *common, "--top", "3", "--json")
    expected = rank(
        X, kind, groups=subject, n_features_to_select=3, feature_names=[f"x{j}" for j in range(8)]
    )
    assert code == 0
    assert [one["feature"] for one in json.loads(out)["features"]][:3] == expected.best(3)
    assert "subjects in 'who': 12 subjects" in err
    code, out, _ = run(
        "compare",
        *common,
        "--methods",
        "fisher",
        "--sizes",
        "3",
        "--learners",
        "1nn",
        "--format",
        "csv",
    )
    assert code == 0
    [found] = [one for one in csv.DictReader(out.splitlines()) if one["method"] == "fisher"]
    assert float(found["mean"]) < 0.8
    code, out, _ = run("select", *common, "--top", "2")
    assert {"kind", "who"} < set(out.splitlines()[0].split(","))
    assert out.splitlines()[0].count(",") == 3
    put("t.csv", {**columns, "who": ["", *columns["who"][1:]]})
    code, _, err = run("rank", *common)
    assert code == 3
    assert "column 'who' holds no value in" in err
    code, _, err = run("rank", "t.csv", "--target", "kind", "--subject-column", "kind")
    assert code == 2
    assert "column 'kind' is named as the target and in another option" in err


def test_copied_rows_are_reported(run):
    random = np.random.default_rng(0)
    X = np.tile(random.normal(size=(15, 6)), (2, 1))
    put("t.csv", {f"x{j}": [repr(float(value)) for value in X[:, j]] for j in range(6)})
    code, _, err = run("rank", "t.csv", "--top", "2")
    assert code == 0
    assert "15 of 30 rows are copies of other rows" in err
    assert "--subject-column" in err


@pytest.mark.parametrize("n_known", [5, 12, 20])
def test_whole_numbers_that_do_not_repeat_are_a_quantity(run, n_known):
    """The note on the target and the first line of the ranking both state the decision."""
    sizes = [(37 * i) % 101 + 20 for i in range(24)]
    put("t.csv", {**numbers(), "size": [sizes[i] if i < n_known else "" for i in range(24)]})
    code, out, err = run("rank", "t.csv", "--target", "size")
    assert code == 0
    assert f"target 'size': continuous from 20 to {max(sizes[:n_known])}, known for" in err
    assert "(for class labels, use --target-type classes)" in err
    assert "24 rows with a continuous target" in out.splitlines()[0]


def test_one_label_per_class_is_reported_in_words_of_the_command_line(run):
    put("t.csv", {**numbers(), "size": [90, 7, 15, 40] + [-1] * 20})
    code, out, err = run("rank", "t.csv", "--target", "size")
    assert code == 0
    assert "24 rows with 4 classes" in out.splitlines()[0]
    words = (
        "the target was read as 4 classes with one sample each; for a quantity, replace -1 by NaN"
    )
    assert f"{words} and use --target-type continuous" in " ".join(err.split())


def test_a_column_that_is_the_target_is_named(run):
    columns = numbers()
    put("t.csv", {**columns, "copy": [3 * value for value in columns["a"]], "size": columns["a"]})
    code, _, err = run("rank", "t.csv", "--target", "size")
    assert code == 0
    assert "column 'a' is a one-to-one function of the target (one of 2 such features)" in err


def test_names_and_labels_that_look_the_same_are_named(run):
    columns = dict(zip(("caf\u00e9", "cafe\u0301", "c"), numbers().values(), strict=True))
    put("t.csv", {**columns, "kind": ["01", "1", "2"] * 8})
    code, _, err = run("rank", "t.csv", "--target", "kind")
    assert code == 0
    assert "warning: labels '01' and '1' are two classes, but may be one class" in err
    assert "warning: two features look the same ('caf\\xe9' and 'cafe\\u0301'" in err

"""Reading of Parquet, Feather, NPZ, MTX and h5ad: the same table in every format, and bad files."""

from __future__ import annotations

import io
import math
import pickle
import sys
import warnings
import zipfile
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import openpyxl
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import lookalikes
from graphsieve._base.errors import GraphSieveWarning, InputError, UsageError
from graphsieve.table.any_table import as_table
from graphsieve.table.files.reading import read_table
from graphsieve.table.files.table_file import TableFile, without_missing
from graphsieve.table.files.writing import output_columns

X = np.array([[1, 0.5, 0, np.nan], [2, -3.25, 7, np.inf], [3, 1e300, 0, np.nan]])
NAMES = ("whole", "real", "counts", "gaps")
KINDS = ["red", None, "blue"]


def write_csv(path: Path) -> None:
    path.write_text(
        "whole,real,counts,gaps,kind\n1,0.5,0,,red\n2,-3.25,7,inf,NA\n3,1e300,0,NA,blue\n"
    )


def write_xlsx(path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append([*NAMES, "kind"])
    for row, kind in zip(X.tolist(), KINDS, strict=True):
        # Excel has no infinite numbers, but text in a cell can be one.
        cells = [None if math.isnan(one) else "inf" if math.isinf(one) else one for one in row]
        book.active.append([*cells, "NA" if kind is None else kind])
    book.save(path)


def arrow_table():
    pa = pytest.importorskip("pyarrow")
    return pa.table(
        {
            "whole": pa.array([1, 2, 3], pa.int32()),
            "real": pa.array(X[:, 1]),
            "counts": pa.array([0, 7, 0], pa.uint8()),
            "gaps": pa.array([None, np.inf, np.nan]),
            "kind": pa.array(["red", "NA", " blue "]).dictionary_encode(),
        }
    )


def write_parquet(path: Path) -> None:
    table = arrow_table()
    pytest.importorskip("pyarrow.parquet").write_table(table, path, row_group_size=2)


def write_feather(path: Path) -> None:
    table = arrow_table()
    pytest.importorskip("pyarrow.feather").write_feather(table, path)


def write_stream(path: Path) -> None:
    table = arrow_table()
    ipc = pytest.importorskip("pyarrow.ipc")
    with path.open("wb") as file, ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table, max_chunksize=2)


def write_npz(path: Path) -> None:
    np.savez_compressed(
        path, X=X, feature_names=np.array(NAMES), kind=np.array(["red", "NA", "blue"])
    )


def write_sparse_npz(path: Path) -> None:
    rows = sp.csr_array(X)
    parts = {
        "data": rows.data,
        "indices": rows.indices,
        "indptr": rows.indptr,
        "shape": np.array(rows.shape),
    }
    np.savez(path, **parts, feature_names=np.array(NAMES), kind=np.array([b"red", b"", b"blue"]))


def write_h5ad(path: Path, matrix=X) -> None:
    anndata = pytest.importorskip("anndata")
    pandas = pytest.importorskip("pandas")
    obs = pandas.DataFrame({"kind": pandas.Categorical(KINDS)}, index=["r0", "r1", "r2"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anndata.AnnData(X=matrix, obs=obs, var=pandas.DataFrame(index=list(NAMES))).write_h5ad(path)


def write_sparse_h5ad(path: Path) -> None:
    write_h5ad(path, sp.csr_matrix(X))


WRITERS = {
    "t.csv": write_csv,
    "t.xlsx": write_xlsx,
    "t.parquet": write_parquet,
    "t.feather": write_feather,
    "t.arrow": write_stream,
    "t.npz": write_npz,
    "sparse.npz": write_sparse_npz,
    "t.h5ad": write_h5ad,
    "sparse.h5ad": write_sparse_h5ad,
}


def dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


def check_same(table: TableFile) -> None:
    assert table.columns == (*NAMES, "kind")
    assert table.names == NAMES
    assert np.array_equal(dense(table.matrix), X, equal_nan=True)
    assert table.whole >= {"whole", "counts"}
    assert "real" not in table.whole
    assert table.kept["kind"].tolist() == KINDS
    assert table.left_out == {}
    with pytest.raises(
        InputError, match=r"1 infinite value in 1 column \('gaps': 1\), first in (row [13]|line 3)"
    ):
        without_missing(table, "fill")


@pytest.mark.parametrize("name", WRITERS)
def test_the_same_table_in_every_format(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](path)
    check_same(read_table(path, keep=["kind"]))
    with path.open("rb") as stream:
        check_same(read_table(stream, keep=["kind"]))
    other = path.rename(tmp_path / "without an ending")
    check_same(read_table(other, keep=["kind"]))
    # Numeric columns can also be requested separately. Text is a category, unless it describes the
    # rows of a matrix.
    table = read_table(other, keep=["whole"])
    assert table.kept["whole"].tolist() == [1, 2, 3]
    if table.format in ("npz", "h5ad"):
        assert table.names == NAMES[1:]
        assert list(table.left_out) == ["kind"]
    else:
        assert table.names == (*NAMES[1:], "kind")
        assert table.levels == {"kind": ("blue", "red")}
        assert np.array_equal(table.matrix[:, -1], [1, np.nan, 0], equal_nan=True)
    with pytest.raises(UsageError, match=r"no column 'kin' \(did you mean 'kind'\?\)"):
        read_table(other, keep=["kin"])
    with pytest.raises(InputError, match="--max-bytes"):
        read_table(other, max_bytes=20)


@pytest.mark.parametrize("name", ["t.csv", "t.xlsx", "t.parquet", "t.feather", "t.arrow", "t.npz"])
def test_na_can_be_text_in_every_format(tmp_path, name):
    WRITERS[name](tmp_path / name)
    assert read_table(tmp_path / name, keep=["kind"], keep_na_text=True).kept["kind"].tolist() == [
        "red",
        "NA",
        "blue",
    ]


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "t.csv"])
def test_damaged_files_give_one_sentence(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](path)
    whole = path.read_bytes()
    for cut in sorted({1, 4, 9, len(whole) // 3, len(whole) // 2, len(whole) - 9, len(whole) - 1}):
        path.write_bytes(whole[:cut])
        read_or_refuse(path, ["kind"])
    for at in range(0, len(whole), max(1, len(whole) // 150)):
        broken = bytearray(whole)
        broken[at] ^= 0xFF
        path.write_bytes(broken)
        read_or_refuse(path, ["kind"])
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"cannot be read|damaged"):
        read_table(path)


def read_or_refuse(path: Path, keep=()) -> TableFile | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        try:
            return read_table(path, keep=keep)
        except InputError as error:
            sentence = str(error)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert str(path.parent) not in sentence
    return None


@pytest.mark.parametrize(
    "beginning",
    [
        b"PAR1",
        b"ARROW1\0\0",
        b"\xff\xff\xff\xff",
        b"\x93NUMPY",
        b"\x89HDF\r\n\x1a\n",
        b"PK\x03\x04",
        b"%%MatrixMarket ",
        b"FEA1",
        b"BZh9",
        b"\x1f\x8b\x08",
        b"\x28\xb5\x2f\xfd",
    ],
)
@given(rest=st.binary(max_size=200))
def test_arbitrary_bytes_after_a_known_beginning(tmp_path_factory, beginning, rest):
    path = tmp_path_factory.mktemp("hostile") / "file"
    path.write_bytes(beginning + rest)
    read_or_refuse(path)


@pytest.mark.parametrize("suffix", ["xlsx", "parquet", "feather", "npz", "npy", "mtx", "h5ad"])
def test_a_suffix_of_another_format(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(
        InputError, match=f"has the suffix .{suffix} but does not begin like such a file"
    ):
        read_table(path)
    assert read_table(path, format="csv").matrix.tolist() == [[1, 2]]
    with pytest.raises(InputError, match=r"cannot be read as|does not begin like"):
        read_table(path, format=suffix)
    path.write_bytes(b"")
    with pytest.raises(InputError, match="empty file"):
        read_table(path)


@pytest.mark.parametrize("name", ["model.pkl", "table.joblib", "t.pickle", "t.PKL.gz"])
def test_pickles_are_never_opened(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(pickle.dumps([1]))
    with pytest.raises(UsageError, match=r"pickle.*CSV, Parquet or NPZ"):
        read_table(path)
    with pytest.raises(InputError, match=r"pickle.*CSV, Parquet or NPZ"):
        read_table(io.BytesIO(pickle.dumps([1])))


def test_options_that_the_format_cannot_use(tmp_path):
    write_npz(tmp_path / "t.npz")
    for options in ({"sep": ";"}, {"encoding": "latin-1"}, {"header": False}, {"comment": "#"}):
        with pytest.raises(
            UsageError, match=f"has the format NPZ; {next(iter(options))} can only be used for text"
        ):
            read_table(tmp_path / "t.npz", **options)
    write_parquet(tmp_path / "t.parquet")
    with pytest.raises(
        UsageError, match="key chooses an array of an NPZ file or a sheet of an Excel file only"
    ):
        read_table(tmp_path / "t.parquet", key="X")


def test_archives_that_are_not_tables(tmp_path):
    path = tmp_path / "t.csv"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("t.csv", "a,b\n1,2\n")
    with pytest.raises(InputError, match="zip archive, not text; extract"):
        read_table(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "")
    with pytest.raises(
        InputError, match=r"another format than \.xlsx; save the sheet as \.xlsx or"
    ):
        read_table(path)


# Parquet and Arrow.


def parquet(columns, path: Path) -> Path:
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns), path)
    return path


def test_types_of_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    path = parquet(
        {
            "decimal": pa.array([Decimal("1.50"), None]),
            "truth": pa.array([True, None]),
            "half": pa.array(np.array([0.5, 2], np.float16)),
            "text": ["a", "b"],
            "time": pa.array([datetime(2020, 1, 31, 12), None]),
            "day": pa.array([date(2020, 1, 31), None]),
            "while": pa.array([timedelta(seconds=5), None]),
            "list": [[1], [2]],
            "record": [{"a": 1}, {"a": 2}],
            "bytes": [b"a", b"b"],
            "nothing": pa.nulls(2),
            "gone": pa.array([None, np.nan], pa.float64()),
        },
        tmp_path / "t.parquet",
    )
    table = read_table(path)
    assert table.names == ("decimal", "truth", "half", "text")
    assert np.array_equal(table.matrix, [[1.5, 1, 0.5, 0], [np.nan, np.nan, 2, 1]], equal_nan=True)
    assert table.whole == {"truth"}
    assert table.left_out == {
        "time": "dates",
        "day": "dates",
        "while": "dates",
        "list": "lists or records",
        "record": "lists or records",
        "bytes": "values of type binary",
        "nothing": "empty",
        "gone": "empty",
    }
    assert table.notes == ("true and false are read as 1 and 0 in 1 column: 'truth'",)
    kept = read_table(path, keep=["decimal", "truth", "day", "nothing", "while", "time"]).kept
    assert kept["decimal"].tolist() == [1.5, None]
    assert kept["truth"].tolist() == [True, None]
    assert kept["day"].tolist() == ["2020-01-31", None]
    assert kept["time"].tolist()[0].startswith("2020-01-31 12:00:00")
    assert kept["while"].tolist()[1] is None
    assert kept["nothing"].tolist() == [None, None]
    for name in ("list", "record", "bytes"):
        with pytest.raises(InputError, match=f"column '{name}' of t.parquet holds values of type"):
            read_table(path, keep=[name])


def test_dictionaries_and_text_are_categories(tmp_path):
    pa = pytest.importorskip("pyarrow")
    day = pa.array([date(2020, 1, 31), date(2020, 2, 1)])
    table = pa.table(
        {
            "a": [1, 2],
            "codes": pa.array([6, 5]).dictionary_encode(),
            "text": pa.array(["v", "u"], pa.string_view()),
            "truths": pa.array(["true", "false"]),
            "numbers": pa.array(["1", "2"]),
            "days": pa.array(["2020-01-31", "2020-02-01"]),
            "day": day.dictionary_encode(),
            # The type says that this is a category.
            "digits": pa.array(["1", "2"]).dictionary_encode(),
        }
    )
    path = tmp_path / "t.feather"
    pytest.importorskip("pyarrow.feather").write_feather(table, path)
    found = read_table(path)
    assert found.names == ("a", "codes", "text", "truths", "digits")
    assert found.levels == {
        "codes": (5, 6),
        "text": ("u", "v"),
        "truths": ("false", "true"),
        "digits": ("1", "2"),
    }
    assert found.matrix.tolist() == [[1, 1, 1, 1, 0], [2, 0, 0, 0, 1]]
    assert found.left_out == {"numbers": "numbers as text", "days": "dates", "day": "categories"}
    assert read_table(path, keep=["codes"]).kept["codes"].tolist() == [6, 5]
    declared = read_table(path, numeric=["numbers", "digits", "codes"], categorical=["a", "days"])
    assert declared.names == ("a", "codes", "text", "truths", "numbers", "days", "digits")
    assert declared.matrix[0].tolist() == [0, 6, 1, 1, 1, 0, 1]
    assert declared.levels["a"] == (1, 2)
    assert declared.levels["days"] == ("2020-01-31", "2020-02-01")


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_the_order_of_levels_is_kept(tmp_path, ending):
    pandas = pytest.importorskip("pandas")
    sizes = pandas.Categorical(
        ["small", "large", None, "small"], ["small", "medium", "large"], ordered=True
    )
    frame = pandas.DataFrame({"size": sizes, "a": range(4)})
    getattr(frame, f"to_{ending}")(tmp_path / f"t.{ending}")
    table = read_table(tmp_path / f"t.{ending}")
    assert table.categories == ()
    assert table.levels == {"size": ("small", "large")}
    assert np.array_equal(table.matrix[:, 0], [0, 1, np.nan, 0], equal_nan=True)


def test_levels_that_differ_between_parts_of_a_file(tmp_path):
    """Each part of an Arrow stream may number the levels in its own way."""
    pa = pytest.importorskip("pyarrow")
    for ordered in (False, True):
        parts = [
            pa.DictionaryArray.from_arrays([0, 1, 0], ["x", "y"], ordered=ordered),
            pa.DictionaryArray.from_arrays([0, None, 1], ["y", "x"], ordered=ordered),
        ]
        schema = pa.schema({"kind": parts[0].type})
        with (tmp_path / "t.arrow").open("wb") as file, pa.ipc.new_stream(file, schema) as stream:
            for part in parts:
                stream.write_batch(pa.record_batch([part], schema=schema))
        table = read_table(tmp_path / "t.arrow")
        assert table.categories == ("kind",)
        assert table.levels == {"kind": ("x", "y")}
        assert np.array_equal(table.matrix[:, 0], [0, 1, 0, 1, np.nan, 0], equal_nan=True)


@pytest.mark.parametrize("name", ["t.npz", "t.h5ad", "sparse.npz", "t.parquet"])
def test_columns_of_numbers_can_be_declared_as_categories(tmp_path, name):
    WRITERS[name](tmp_path / name)
    if name == "sparse.npz":
        with pytest.raises(InputError, match="categorical needs a table that is not sparse"):
            read_table(tmp_path / name, categorical=["counts"])
        return
    table = read_table(tmp_path / name, categorical=["counts"])
    assert table.levels["counts"] == (0, 7)
    assert table.matrix[:, table.names.index("counts")].tolist() == [0, 1, 0]
    assert "counts" not in table.whole
    assert output_columns(table, ["counts"])["counts"].tolist() == [0, 7, 0]


def test_row_names_of_pandas_are_left_out(tmp_path):
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame({"a": [1, 2]}, index=[5, 7]).to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    assert table.names == ("a",)
    assert list(table.left_out) == ["__index_level_0__"]
    assert "pandas row names" in table.notes[0]


def test_duplicate_names_of_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"duplicated column names \('a' at positions 1, 2\)"):
        read_table(tmp_path / "t.parquet")


def test_large_integers_of_parquet(tmp_path):
    path = parquet({"a": [2**53, 1], "b": [2**53 + 1, 1]}, tmp_path / "t.parquet")
    with pytest.warns(GraphSieveWarning, match=r"precision lost in column 'b'.*1 such"):
        read_table(path)
    assert read_table(path, keep=["b"]).kept["b"].tolist() == [2**53 + 1, 1]


DECIMALS = st.tuples(
    st.integers(-(10**50), 10**50) | st.integers(-(10**17), 10**17), st.integers(-3, 20)
)


@given(st.lists(DECIMALS.map(lambda parts: Decimal(parts[0]).scaleb(-parts[1])), min_size=2))
def test_decimals_are_rounded_correctly_or_with_a_warning(numbers):
    """Python's conversion is exact. Nothing is lost if the float is written like the decimal."""
    pa = pytest.importorskip("pyarrow")
    column = pa.array(numbers, pa.decimal256(76, 20))
    table = pa.table({"a": column, "b": np.arange(len(numbers), dtype=float)})
    expected = [float(number) for number in numbers]
    lost = any(
        number not in (Decimal(value), Decimal(repr(value)))
        for number, value in zip(numbers, expected, strict=True)
    )
    objects = np.column_stack([np.array(numbers, dtype=object), np.arange(len(numbers))])
    for read in (
        lambda: read_table(in_parquet(table)).matrix[:, 0],
        lambda: read_table(in_parquet(table), keep=["a"]).kept["a"],
        lambda: as_table(objects) and np.array(expected),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = read()
        said = [str(one.message) for one in caught]
        assert lost == any("precision lost in column" in message for message in said)
        assert found.tolist() == expected


def in_parquet(table):
    file = io.BytesIO()
    pytest.importorskip("pyarrow.parquet").write_table(table, file)
    file.seek(0)
    return file


def test_parquet_without_rows(tmp_path):
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(InputError, match="no data rows"):
        read_table(parquet({"a": pa.array([], pa.float64())}, tmp_path / "t.parquet"))


def test_parquet_larger_than_the_limit_after_decompression(tmp_path):
    """Ten million equal values need only a few kB on disk."""
    path = parquet({"a": np.zeros(10**7, np.int8)}, tmp_path / "t.parquet")
    assert path.stat().st_size < 10**6
    with pytest.raises(InputError, match="--max-bytes"):
        read_table(path, max_bytes=10**7)


@pytest.mark.parametrize(
    ("library", "extra", "name"),
    [
        ("pyarrow", "arrow", "t.parquet"),
        ("anndata.io", "anndata", "t.h5ad"),
        ("python_calamine", "excel", "t.xlsx"),
    ],
)
def test_a_missing_library_is_named(tmp_path, monkeypatch, library, extra, name):
    WRITERS[name](tmp_path / name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InputError, match=rf'pip install "graphsieve\[{extra}\]"'):
        read_table(tmp_path / name)


# NPZ and NPY.


def npz(path: Path, **arrays) -> Path:
    np.savez(path, **arrays)
    return path


def test_arrays_of_an_archive(tmp_path):
    path = npz(
        tmp_path / "t.npz",
        table=np.arange(6).reshape(3, 2),
        y=np.array([0.5, np.nan, 2]),
        when=np.array(["2020-01-31", "NaT", "2020-02-01"], "M8[D]"),
        column=np.ones((3, 1), dtype=bool),
        target_names=np.array(["a", "b"]),
    )
    with pytest.raises(UsageError, match=r"several matrices.*--key: 'table' 3 × 2, 'column' 3 × 1"):
        read_table(path)
    table = read_table(path, key="table", keep=["y", "when"])
    assert table.names == ("x0", "x1")
    assert table.matrix.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert table.matrix.dtype == np.arange(1).dtype
    assert table.whole == {"x0", "x1"}
    assert table.kept["y"].tolist() == [0.5, None, 2]
    assert table.kept["when"].tolist() == ["2020-01-31", None, "2020-02-01"]
    assert table.left_out == {"column": "a further array; name it as target to use it"}
    assert table.notes == ("arrays that are not columns of the table are not used: 'target_names'",)
    assert table.row_label(2) == "row 2 (counted from 0)"
    assert read_table(path, key="table", keep=["x1"]).kept["x1"].tolist() == [1, 3, 5]
    with pytest.raises(
        UsageError,
        match=r"no array 'tabel' \(did you mean 'table'\?\); its arrays are 'table' 3 × 2",
    ):
        read_table(path, key="tabel")
    with pytest.raises(UsageError, match="'y' is not 2-D"):
        read_table(path, key="y")


def test_archives_without_a_table(tmp_path):
    with pytest.raises(InputError, match="no 2-D array, only 'y' 3"):
        read_table(npz(tmp_path / "t.npz", y=np.arange(3)))
    with pytest.raises(InputError, match="never loaded"):
        read_table(npz(tmp_path / "t.npz", X=np.array([[1, None]], dtype=object)))
    with pytest.raises(InputError, match="complex"):
        read_table(npz(tmp_path / "t.npz", X=np.ones((2, 2), complex)))
    with pytest.raises(InputError, match="text"):
        read_table(npz(tmp_path / "t.npz", X=np.array([["a"]])))
    with pytest.raises(InputError, match="no data rows"):
        read_table(npz(tmp_path / "t.npz", X=np.ones((0, 2))))
    with pytest.raises(InputError, match="2 columns and 3 feature_names"):
        read_table(
            npz(tmp_path / "t.npz", X=np.ones((2, 2)), feature_names=np.array(["a", "b", "c"]))
        )
    with pytest.raises(InputError, match="duplicated column names"):
        read_table(npz(tmp_path / "t.npz", X=np.ones((2, 2)), feature_names=np.array(["a", "a"])))


OBJECTS = np.array(["a", None, "b", "a"], dtype=object)


@pytest.mark.parametrize("name", ["y", "feature_names", "columns", "names", "var_names"])
def test_objects_of_an_archive_are_refused_by_name(tmp_path, name):
    """An array of objects can be neither a target nor names, and it is said so."""
    path = npz(tmp_path / "t.npz", X=np.eye(4), **{name: OBJECTS})
    with pytest.raises(InputError, match=rf"'{name}' holds Python objects.*astype\(str\)"):
        read_table(path, keep=["y"] if name == "y" else [])


def test_objects_that_are_not_needed_are_noted(tmp_path):
    table = read_table(npz(tmp_path / "t.npz", X=np.eye(4), y=OBJECTS))
    assert table.notes == ("arrays that are not columns of the table are not used: 'y'",)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.arange(3), r"has the shape \(3,\); expected one value for each of the 4 rows"),
        (np.ones((4, 2, 1)), r"has the shape \(4, 2, 1\)"),
        (np.array(1), r"has the shape \(\)"),
        (np.zeros(4, dtype=[("a", "f8")]), "has records of type"),
    ],
)
def test_an_array_that_is_no_column_is_not_called_missing(tmp_path, array, message):
    path = npz(tmp_path / "t.npz", X=np.eye(4), y=array)
    with pytest.raises(InputError, match=f"'y' {message}"):
        read_table(path, keep=["y"])


@pytest.mark.parametrize("name", ["X", "y", "other"])
def test_two_arrays_of_one_name_are_refused(tmp_path, name):
    path = npz(tmp_path / "t.npz", X=np.eye(4), y=np.arange(4), other=np.arange(2))
    file = io.BytesIO()
    np.save(file, np.eye(4) if name == "X" else np.arange(4))
    with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns of the second name.
        archive.writestr(f"{name}.npy", file.getvalue())
    with pytest.raises(InputError, match=f"2 arrays with the name '{name}'"):
        read_table(path)


def test_a_member_without_suffix_does_not_hide_an_array(tmp_path):
    path = npz(tmp_path / "t.npz", X=np.eye(4))
    file = io.BytesIO()
    np.save(file, np.zeros((9, 9)))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("X", file.getvalue())
    assert read_table(path).matrix.tolist() == np.eye(4).tolist()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (np.array([400.5, 401.0]), ("400.5", "401.0")),
        (np.array([3, 1]), ("3", "1")),
        (np.array([b"a", b"b"]), ("a", "b")),
    ],
)
def test_feature_names_of_any_plain_type_are_used(tmp_path, names, expected):
    path = npz(tmp_path / "t.npz", X=np.ones((3, 2)), feature_names=names)
    assert read_table(path).names == expected


@given(st.data())
def test_arrays_are_read_as_numpy_reads_them(data):
    shape = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    dtype = data.draw(st.sampled_from([">f8", "<f4", "|i1", ">u2", "<i8"]))
    values = (np.arange(np.prod(shape)) % 120).reshape(shape).astype(dtype)
    array = np.asfortranarray(values) if data.draw(st.booleans()) else values
    single, several = io.BytesIO(), io.BytesIO()
    np.save(single, array)
    (np.savez_compressed if data.draw(st.booleans()) else np.savez)(several, X=array)
    for file in (single, several):
        assert dense(read_table(io.BytesIO(file.getvalue())).matrix).tolist() == values.tolist()


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_sparse_matrices_as_scipy_saves_them(tmp_path, layout):
    matrix = sp.coo_array(X).asformat(layout)
    sp.save_npz(tmp_path / "t.npz", matrix)
    table = read_table(tmp_path / "t.npz")
    assert sp.issparse(table.matrix)
    assert np.array_equal(table.matrix.toarray(), X, equal_nan=True)


def test_inconsistent_sparse_matrices(tmp_path):
    parts = {
        "data": np.ones(2),
        "indices": np.array([0, 99]),
        "indptr": np.array([0, 1, 2]),
        "shape": np.array([2, 3]),
    }
    with pytest.raises(
        InputError, match=r"t.npz is a sparse matrix with indices that do not fit its shape"
    ):
        read_table(npz(tmp_path / "t.npz", **parts))
    with pytest.raises(InputError, match="--max-bytes"):
        read_table(npz(tmp_path / "t.npz", **parts | {"shape": np.array([2, 10**15])}))
    sp.save_npz(tmp_path / "t.npz", sp.dia_array(np.eye(3)))
    with pytest.raises(InputError, match="sparse matrix in the format 'dia'"):
        read_table(tmp_path / "t.npz")


def test_a_single_array(tmp_path):
    np.save(tmp_path / "t.npy", X)
    table = read_table(tmp_path / "t.npy")
    assert table.format == "npz"
    assert np.array_equal(table.matrix, X, equal_nan=True)
    for array, message in (
        (np.arange(3), "expected 2-D"),
        (np.array([None]), "never loaded"),
        (np.ones((2, 2, 2)), "expected 2-D"),
    ):
        np.save(tmp_path / "t.npy", array)
        with pytest.raises(InputError, match=message):
            read_table(tmp_path / "t.npy")


def test_an_array_with_a_huge_shape_in_its_header(tmp_path):
    content = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        content, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**9)}
    )
    (tmp_path / "t.npy").write_bytes(content.getvalue() + b"\0" * 80)
    with pytest.raises(InputError, match="--max-bytes"):
        read_table(tmp_path / "t.npy")


@pytest.mark.parametrize(
    ("given", "expected"),
    [("f2", "f4"), (">f8", "f8"), ("?", "u1"), ("i1", "i1"), ("f4", "f4"), (">i4", "i4")],
)
def test_kinds_of_numbers(tmp_path, given, expected):
    values = np.array([[1, 0], [1, 1]]).astype(given)
    table = read_table(npz(tmp_path / "t.npz", X=values))
    assert table.matrix.dtype == np.dtype(expected)
    assert table.matrix.tolist() == [[1, 0], [1, 1]]


def test_real_data(tmp_path):
    for name in ("wine", "texts"):
        expected, y = lookalikes.load(name)
        path = tmp_path / f"{name}.npz"
        if sp.issparse(expected):
            parts = {key: getattr(expected, key) for key in ("data", "indices", "indptr", "shape")}
            np.savez_compressed(path, y=y, **parts)
        else:
            np.savez_compressed(path, X=expected, y=y)
        table = read_table(path, keep=["y"])
        assert table.matrix.shape == expected.shape
        assert (abs(table.matrix - expected)).max() == 0
        assert table.kept["y"].tolist() == y.tolist()


# Missing values in matrices that are sparse or contain integers.


def test_missing_values_of_sparse_tables(tmp_path):
    sparse = np.array([[0, np.nan, 1], [0, 4, np.nan], [3, 0, 1], [0, 6, np.nan]])
    sp.save_npz(tmp_path / "t.npz", sp.csr_array(sparse))
    table = read_table(tmp_path / "t.npz")
    with pytest.raises(
        InputError, match=r"3 missing values in 2 columns \('x1': 1, 'x2': 2\), first in row 0"
    ):
        without_missing(table, "refuse")
    filled = without_missing(table, "fill").matrix
    assert sp.issparse(filled)
    assert filled.toarray().tolist() == [[0, 4, 1], [0, 4, 1], [3, 0, 1], [0, 6, 1]]
    rows = without_missing(table, "drop-rows")
    assert rows.matrix.toarray().tolist() == [[3, 0, 1]]
    assert rows.row_label(0) == "row 2 (counted from 0)"
    assert without_missing(table, "drop-columns").names == ("x0",)


def test_row_names_follow_their_rows(tmp_path):
    gaps = np.array([[1, 2.0], [np.nan, 3], [4, 5]])
    write_h5ad(tmp_path / "t.h5ad", np.column_stack([gaps, gaps]))
    table = read_table(tmp_path / "t.h5ad", keep=["kind"])
    assert table.row_names.tolist() == ["r0", "r1", "r2"]
    rows = without_missing(table, "drop-rows")
    assert rows.row_names.tolist() == ["r0", "r2"]
    assert rows.kept["kind"].tolist() == ["red", "blue"]


# Matrix Market.


@pytest.mark.parametrize("field", ["real", "integer"])
@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
def test_matrix_market_as_scipy_writes_it(tmp_path, field, symmetry):
    square = np.array([[0, 2, 0], [7, 0, 0], [-5, 0, 0]]) / (2 if field == "real" else 1)
    if field == "integer":
        square = square.astype(int)
    square = {
        "general": square,
        "symmetric": square + square.T,
        "skew-symmetric": square - square.T,
    }[symmetry]
    scipy.io.mmwrite(
        tmp_path / "t.mtx", sp.coo_array(square), comment="by hand", field=field, symmetry=symmetry
    )
    table = read_table(tmp_path / "t.mtx")
    assert sp.issparse(table.matrix)
    # The last column of the general matrix has no entries, so it contains zeros and is not empty.
    assert (table.format, table.names) == ("mtx", ("x0", "x1", "x2"))
    assert table.matrix.toarray().tolist() == square.tolist()


def test_dense_matrix_market(tmp_path):
    scipy.io.mmwrite(tmp_path / "t.mtx", np.array([[0, 1.5], [2, 0], [4, 9]]))
    table = read_table(tmp_path / "t.mtx")
    assert table.matrix.tolist() == [[0, 1.5], [2, 0], [4, 9]]
    assert table.whole == {"x0"}


SPARSE = "%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SPARSE + "2 2 3\n1 1 1.0\n2 2 1.0\n", "only 2 numbers where its header says 3"),
        (SPARSE + "2 2 1\n1 1 1.0\n2 2 1.0\n", "more entries where its header says 1"),
        (SPARSE + "2 2 2\n", "only 0 numbers|lines of"),
        (SPARSE + "2 2 1\n1 1\n", "lines of 2 numbers instead of 3"),
        (SPARSE + "2 2 1\n0 1 1.0\n", "entry at 0, 1 of a matrix of 2 × 2; rows count from 1"),
        (SPARSE + "2 2 1\n3 1 1.0\n", "entry at 3, 1"),
        (SPARSE + "2 2 1\n1.5 1 1.0\n", "entry at 1.5, 1"),
        (SPARSE + "2 2 1\nnan 1 1.0\n", "entry at nan, 1"),
        (SPARSE + "2 2 1\n1 1 x\n", "cannot be read as MTX"),
        (SPARSE + "2 2 2\n1 1 5\0 2 2 7\n", "cannot be read as MTX"),
        (SPARSE + "2 2\n", "has no valid size line"),
        (SPARSE, "has no valid size line"),
        (SPARSE + "-2 2 1\n", "has no valid size line"),
        (SPARSE.replace("real", "pattern") + "2 2 1\n1 1\n", "pattern"),
        (SPARSE.replace("real", "complex") + "2 2 1\n1 1 1 2\n", "complex"),
        (SPARSE.replace("general", "symmetric") + "2 3 1\n1 1 1\n", "2 rows and 3 columns"),
        ("%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n", "write it in full"),
        ("%%MatrixMarket matrix array real general\n100000000 100000000\n1\n", "--max-bytes"),
        (SPARSE + "9000000000000 2 1\n1 1 1\n", "--max-bytes"),
        ("%%MatrixMarket nonsense\n", "does not begin like an MTX file"),
    ],
)
def test_invalid_matrix_market(tmp_path, text, message):
    path = tmp_path / "t.mtx"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_table(path)


# AnnData.


def test_anndata_files_with_missing_parts(tmp_path):
    h5py = pytest.importorskip("h5py")
    write_h5ad(tmp_path / "t.h5ad")
    with h5py.File(tmp_path / "t.h5ad", "a") as file:
        del file["X"]
    with pytest.raises(InputError, match="has no X"):
        read_table(tmp_path / "t.h5ad")
    with h5py.File(tmp_path / "t.h5ad", "a") as file:
        file.create_group("X").attrs.update({"encoding-type": "riddle", "encoding-version": "9"})
    with pytest.raises(InputError, match="cannot be read as h5ad"):
        read_table(tmp_path / "t.h5ad")
    with h5py.File(tmp_path / "t.h5ad", "w") as file:
        file["a"] = [1]
    with pytest.raises(InputError, match="has no X and no obs and no var"):
        read_table(tmp_path / "t.h5ad")


def test_anndata_files_do_not_read_other_files(tmp_path):
    h5py = pytest.importorskip("h5py")
    write_h5ad(tmp_path / "secret.h5ad")
    for link in (h5py.ExternalLink(tmp_path / "secret.h5ad", "X"), h5py.SoftLink("/elsewhere")):
        write_h5ad(tmp_path / "t.h5ad")
        with h5py.File(tmp_path / "t.h5ad", "a") as file:
            file["elsewhere"] = h5py.ExternalLink(tmp_path / "secret.h5ad", "X")
            del file["X"]
            file["X"] = link
        with pytest.raises(InputError, match="has a link in place of X"):
            read_table(tmp_path / "t.h5ad")
    write_h5ad(tmp_path / "t.h5ad")
    with h5py.File(tmp_path / "t.h5ad", "a") as file:
        file["obs"]["circle"] = file["obs"]
    with pytest.raises(InputError, match="has a link in place of"):
        read_table(tmp_path / "t.h5ad")


def test_duplicate_genes(tmp_path):
    anndata = pytest.importorskip("anndata")
    pandas = pytest.importorskip("pandas")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anndata.AnnData(X=np.ones((2, 2)), var=pandas.DataFrame(index=["g", "g"])).write_h5ad(
            tmp_path / "t.h5ad"
        )
    with pytest.raises(InputError, match=r"duplicated gene names \('g'\).*var_names_make_unique"):
        read_table(tmp_path / "t.h5ad")


def test_columns_of_cells(tmp_path):
    anndata = pytest.importorskip("anndata")
    pandas = pytest.importorskip("pandas")
    obs = pandas.DataFrame(
        {
            "g1": [1.5, np.nan],
            "n": [3, 4],
            "ok": pandas.array([True, None], dtype="boolean"),
            "text": ["x", "NA"],
            "count": pandas.array([None, 7], dtype="Int64"),
        },
        index=["c1", "c2"],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = anndata.AnnData(
            X=np.ones((2, 2), np.float32), obs=obs, var=pandas.DataFrame(index=["g0", "g1"])
        )
        data.layers["more"] = np.zeros((2, 2))
        data.write_h5ad(tmp_path / "t.h5ad")
    table = read_table(tmp_path / "t.h5ad", keep=["n", "ok", "text", "count"])
    assert table.matrix.dtype == np.float32
    assert {name: values.tolist() for name, values in table.kept.items()} == {
        "n": [3, 4],
        "ok": [True, None],
        "text": ["x", None],
        "count": [None, 7],
    }
    assert table.names == ("g0", "g1")
    assert "'g1'" in table.notes[0]

"""Reading of text files: numbers, missing values, and errors with their lines."""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import re
import threading
import time
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalikes
from graphsieve._base.errors import GraphSieveWarning, InputError, InputTypeError, UsageError
from graphsieve.table.files import cells
from graphsieve.table.files import text as text_module
from graphsieve.table.files.knowledge import read_probabilities_file
from graphsieve.table.files.reading import read_table
from graphsieve.table.files.table_file import TableFile, without_missing


def read(content: str | bytes, **options) -> TableFile:
    return read_table(
        io.BytesIO(content.encode() if isinstance(content, str) else content), **options
    )


def test_numbers_text_and_requested_columns():
    table = read("id,a,b,kind\nx1,1,2.5,red\nx2, -3 ,1e2,\nx3,+4,.5,blue\n", keep=["kind"])
    assert table.format == "csv"
    assert table.columns == ("id", "a", "b", "kind")
    assert table.names == ("a", "b")
    assert table.matrix.tolist() == [[1, 2.5], [-3, 100], [4, 0.5]]
    assert table.matrix.dtype == np.float64
    assert table.whole == {"a"}
    assert table.kept["kind"].tolist() == ["red", None, "blue"]
    assert table.left_out == {"id": "an identifier or free text"}
    assert table.notes == ()
    assert [table.row_label(i) for i in range(3)] == ["line 2", "line 3", "line 4"]


def test_only_missing_tokens_are_missing():
    tokens = [
        "",
        "NA",
        "N/A",
        "n/a",
        "NaN",
        "nan",
        "NAN",
        "null",
        "NULL",
        "None",
        "<NA>",
        "#N/A",
        "#NA",
        "  ",
        " NA ",
    ]
    table = read("a,b\n" + "".join(f"{token},1\n" for token in tokens) + "7,1\n")
    assert table.names == ("a", "b")
    assert np.isnan(table.matrix[:-1, 0]).all()
    assert table.matrix[-1, 0] == 7
    assert "a" in table.whole
    for token in ("missing", "none", "Na", "--"):
        with pytest.raises(InputError, match=f"column 'a' has numbers, but {token!r} in line 2;"):
            read(f"a,b\n{token},1\n2,2\n3,3\n4,4\n")


@pytest.mark.parametrize("token", ["inf", "-Inf", "Infinity", "1e400", "-1e400", "INF"])
def test_infinite_values_are_numbers_and_refused_later(token):
    table = read(f"a\n1\n{token}\n")
    assert math.isinf(table.matrix[1, 0])
    for how in ("refuse", "drop-columns", "drop-rows", "fill"):
        with pytest.raises(
            InputError, match=r"1 infinite value in 1 column \('a': 1\), first in line 3"
        ):
            without_missing(table, how)


def test_tiny_numbers_become_zero():
    assert read("a\n1e-400\n-0.0\n").matrix.tolist() == [[0], [0]]


@pytest.mark.parametrize("token", ["1_000", "١٢", "１", "0x10", "1d5", "1 00", "--1", "1.2.3"])
def test_numbers_that_only_python_accepts_are_text(token):
    with pytest.raises(InputError, match=f"'a' has numbers, but {token!r} in line 2;"):
        read(f"a,b\n{token},1\n5,2\n6,3\n")
    with pytest.raises(InputError, match=f"'a' has numbers, but {token!r} in line 4;"):
        read(f"a,b\n5,1\n6,2\n{token},3\n")


def test_odd_text_does_not_affect_numeric_columns():
    table = read("a,naïve_name\n\u00a01\u00a0,ü_\n2,x\n")
    assert table.matrix[:, 0].tolist() == [1, 2]
    assert table.levels == {"naïve_name": ("x", "ü_")}


def test_thousands_separators_and_decimal_commas_are_distinguished():
    text = 'a;b;c\n1,000;1,5;2020-01-31\n"12,345,678";2,125;2020-02-01 10:00\n'
    with pytest.raises(InputError, match="'a' has '12,345,678' in line 3, which looks like a thou"):
        read(text)
    with pytest.raises(InputError, match="'b' has '1,5' in line 2, which looks like a decimal"):
        read(text, exclude=["a"])
    assert read(text, exclude=["a", "b"]).left_out["c"] == "dates"


def test_booleans_are_zero_and_one_with_a_note():
    text = "a,b,c\ntrue,TRUE,true\nFalse,,1\n,false,2\n"
    with pytest.raises(InputError, match="'c' has numbers, but 'true' in line 2;"):
        read(text)
    table = read(text, exclude=["c"])
    assert table.names == ("a", "b")
    assert table.matrix[0].tolist() == [1, 1]
    assert table.matrix[2, 1] == 0
    assert np.isnan(table.matrix[2, 0])
    assert table.whole == {"a", "b"}
    assert table.notes == ("true and false are read as 1 and 0 in 2 columns: 'a', 'b'",)


@pytest.mark.parametrize("n_cells", [1, 3, 7, 10**6])
def test_chunks_of_rows_change_nothing(monkeypatch, n_cells):
    """The kind of a column may only show in a later chunk.

    Examples are numbers after missing values, text after numbers, and booleans after missing values
    or before numbers.
    """
    monkeypatch.setattr(text_module, "CELLS_AT_ONCE", n_cells)
    content = "gap,late,truth,mixed,late truth,empty,real,y\n"
    content += ",1,,true,1,,1,a\n,2,true,false,2,NA,2,\nNA,3,false,1,3,,2.0,b\n4,n.d.,true,1,true,,3,c\n5,5,,1,4,,4,7\n"
    messages = []
    exclude: list[str] = []
    for name in ("late", "mixed", "late truth"):
        with pytest.raises(InputError) as caught:
            read(content, keep=["y"], exclude=exclude)
        messages.append(str(caught.value).partition(";")[0].removeprefix("the stream: "))
        exclude.append(name)
    assert messages == [
        "column 'late' has numbers, but 'n.d.' in line 5 (also 'mixed', 'late truth')",
        "column 'mixed' has numbers, but 'true' in line 2 (also 'late truth')",
        "column 'late truth' has numbers, but 'true' in line 5",
    ]
    table = read(content, keep=["y"], exclude=exclude)
    assert table.names == ("gap", "truth", "real")
    assert np.array_equal(table.matrix[:, 0], [np.nan, np.nan, np.nan, 4, 5], equal_nan=True)
    assert np.array_equal(table.matrix[:, 1], [np.nan, 1, 0, 1, np.nan], equal_nan=True)
    assert table.matrix[:, 2].tolist() == [1, 2, 2, 3, 4]
    assert table.whole == {"gap", "truth"}
    assert table.kept["y"].tolist() == ["a", None, "b", "c", "7"]
    assert table.left_out == {**dict.fromkeys(exclude, "as requested"), "empty": "empty"}


def test_kept_columns_have_one_kind_each():
    table = read(
        "whole,real,truth,text,zeros,big\n1,1,true,1,007,12345678901234567890\n,2.5,,x,8,1\n",
        keep=read("whole,real,truth,text,zeros,big\n1,1,1,1,1,1\n").columns,
    )
    assert table.kept["whole"].tolist() == [1, None]
    assert type(table.kept["whole"][0]) is int
    assert table.kept["real"].tolist() == [1.0, 2.5]
    assert type(table.kept["real"][0]) is float
    assert table.kept["truth"].tolist() == [True, None]
    assert table.kept["text"].tolist() == ["1", "x"]
    assert table.kept["zeros"].tolist() == ["007", "8"]
    assert table.kept["big"].tolist() == [12345678901234567890, 1]
    assert table.names == ()
    assert table.matrix.shape == (2, 0)


def test_the_text_na_can_be_kept():
    assert read("a,y\n1,NA\n2,\n", keep=["y"]).kept["y"].tolist() == [None, None]
    assert read("a,y\n1,NA\n2,\n", keep=["y"], keep_na_text=True).kept["y"].tolist() == ["NA", None]


def test_integers_that_float64_cannot_represent():
    with pytest.warns(GraphSieveWarning, match=r"precision lost in column 'b'.*1 such"):
        table = read("a,b,c\n9007199254740992,9007199254740993,1e300\n1,2,3\n")
    assert table.whole == {"a", "b"}


# Input files in docs/bad-input.md.


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_empty_file(content):
    with pytest.raises(InputError, match="empty file"):
        read(content)


@pytest.mark.parametrize("content", ["a,b", "a,b\n", "a,b\n\n\n", "a,b\r\n"])
def test_header_only(content):
    with pytest.raises(InputError, match="no data rows"):
        read(content)


def test_byte_order_mark_is_removed():
    assert read(b"\xef\xbb\xbfa,b\n1,2\n").columns == ("a", "b")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_utf_16_is_suggested_and_then_read(encoding):
    content = "größe,b\n1,2\n3,4\n".encode(encoding)
    with pytest.raises(InputError, match=f"--encoding {encoding}"):
        read(content)
    assert read(content, encoding=encoding).columns == ("größe", "b")


@pytest.mark.parametrize("n_before", [0, 1, 5000])
def test_latin_1_is_reported_with_its_position(n_before):
    content = b"a,b\n" + b"1,2\n" * n_before + "3,gr\xfcn\n".encode("latin-1") + b"4,x\n" * 5000
    offset = content.index(b"\xfc")
    with pytest.raises(
        InputError, match=rf"byte {offset} \(0xfc, line {n_before + 2}\).*--encoding latin-1"
    ):
        read(content)
    assert read(content, encoding="latin-1", keep=["b"]).kept["b"][n_before] == "grün"


@pytest.mark.parametrize(
    "content",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        bytes(range(256)) * 10,
        b"PK\x03\x04" + b"\0" * 100,
        b"%PDF-1.7 \xff\0",
        b"\xd0\xcf\x11\xe0\xa1\xb1",
        b"\x7fELF\x02\x01\x01\0\xff",
    ],
    ids=["png", "all bytes", "zip", "pdf", "xls", "elf"],
)
def test_binary_files_are_not_text(tmp_path, content):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"not text|damaged zip|Excel"):
        read_table(path)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.csv.zst", "t"])
@pytest.mark.parametrize("packer", ["gzip", "zstd", "zstd twice"])
def test_compression_is_detected_independently_of_the_name(tmp_path, name, packer):
    content = b"a,b\n" + b"1,2\n" * 40_000
    path = tmp_path / name
    path.write_bytes(packed(content, packer))
    table = read_table(path)
    assert table.matrix.shape == (40_000, 2)
    assert table.name == name
    with pytest.raises(InputError, match=r"more than 100,000 bytes.*--max-bytes"):
        read_table(path, max_bytes=100_000)


@pytest.mark.parametrize("packer", ["gzip", "zstd", "zstd twice"])
def test_damaged_compression(packer):
    whole = packed(
        b"a,b\n"
        + np.random.default_rng(0).bytes(5000).hex(",").encode().replace(b",", b",1\n")
        + b",3\n",
        packer,
    )
    for cut in (len(whole) // 2, len(whole) - 1, 12):
        with pytest.raises(InputError, match="damaged"):
            read(whole[:cut])
    broken = bytearray(whole)
    broken[len(whole) // 2] ^= 0xFF
    broken[-3] ^= 0xFF
    with pytest.raises(InputError):
        read(bytes(broken))


def test_a_decompression_bomb_is_refused_before_it_fills_memory():
    pytest.importorskip("zstandard")
    bomb = packed(b"a,b\n" + b"1,2\n" * 2**24, "zstd")
    assert len(bomb) < 20_000
    tracemalloc.start()
    with pytest.raises(InputError, match="--max-bytes"):
        read(bomb, max_bytes=2**17)
    assert tracemalloc.get_traced_memory()[1] < 2**26
    tracemalloc.stop()


def packed(content: bytes, packer: str) -> bytes:
    if packer == "gzip":
        return gzip.compress(content)
    zstandard = pytest.importorskip("zstandard")
    if packer == "zstd":
        return zstandard.compress(content)
    half = len(content) // 2
    return zstandard.compress(content[:half]) + zstandard.compress(content[half:])


def test_long_and_short_rows():
    with pytest.raises(InputError, match=r"line 3 has 4 fields, expected 3"):
        read("a,b,c\n1,2,3\n1,2,3,4\n")
    with pytest.raises(InputError, match=r"line 4 has 2 fields, expected 3"):
        read("a,b,c\n1,2,3\n\n1,2\n")
    with pytest.raises(InputError, match=r"line 3 has 4 fields, expected 3; remove the separator"):
        read("a,b,c\n1,2,3\n1,2,3,\n")
    with pytest.raises(InputError, match=r"line 2 has 4 fields, expected 2; use --sep if"):
        read("a,b\n1,2,3,4\n")


def test_blank_lines_are_skipped_and_counted():
    table = read("\n  \na,b\n\n1,2\n   \n3,4\n\n")
    assert table.matrix.tolist() == [[1, 2], [3, 4]]
    assert "5 blank lines skipped" in table.notes
    assert table.row_label(1) == "line 7"


def test_a_single_column_may_have_missing_values():
    assert np.isnan(read('a\n1\n""\n3\n').matrix[1, 0])


@pytest.mark.parametrize(
    "content",
    [
        "a,b\r\n1,2\r\n3,4\r\n",
        "a,b\r1,2\r3,4\r",
        "a,b\n1,2\r\n3,4\r",
        "a,b\n1,2\n3,4",
        "a,b\r1,2\r3,4",
    ],
)
def test_line_endings(content):
    table = read(content)
    assert table.matrix.tolist() == [[1, 2], [3, 4]]
    assert table.columns == ("a", "b")
    assert table.row_label(1) == "line 3"


@pytest.mark.parametrize(
    ("content", "note"),
    [
        ("a;b\n1;2\n", "columns are separated by semicolons"),
        ("a\tb\n1\t2\n", "columns are separated by tabs"),
        ("a|b\n1|2\n", 'columns are separated by "|"'),
        ('"x,y,z";"b"\n1;2\n', "columns are separated by semicolons"),
        ('"x\n,y,z";"b"\n1;2\n', "columns are separated by semicolons"),
    ],
)
def test_separators_are_detected_and_reported(content, note):
    table = read(content)
    assert len(table.columns) == 2
    assert table.matrix.tolist() == [[1, 2]]
    assert table.notes == (note,)


def test_the_suffix_tsv_prefers_tabs(tmp_path):
    for name, expected in (("t.tsv", ("a,b,c", "d")), ("t.csv", ("a", "b", "c\td"))):
        path = tmp_path / name
        path.write_text("a,b,c\td\n" + ("1\t2\n" if name == "t.tsv" else "1,2,3\n"))
        assert read_table(path).columns == expected
    path = tmp_path / "commas.tsv"
    path.write_text("a,b\n1,2\n")
    assert read_table(path).columns == ("a", "b")


def test_insufficient_memory(monkeypatch):
    def add(self, *rows):
        raise MemoryError

    monkeypatch.setattr(text_module.CellColumns, "add", add)
    with pytest.raises(InputError, match="does not fit into the memory"):
        read("a,b\n1,2\n")


def test_the_separator_can_be_given():
    assert read("a b,c\n1 2\n", sep=" ").columns == ("a", "b,c")
    assert read("a;b\n1;2\n", sep=",").columns == ("a;b",)
    assert read("a\tb\n1\t2\n", sep="\\t").notes == ()
    for sep in ("", ",,", '"', "\n"):
        with pytest.raises(UsageError, match="sep must be one character"):
            read("a,b\n1,2\n", sep=sep)


def test_unclosed_quote_is_reported_with_its_line():
    with pytest.raises(InputError, match="quote that opens in line 3 is not closed"):
        read('a,b\n1,x\n2,"y\n3,z\n')
    with pytest.raises(InputError, match="quote that opens in line 4 is not closed"):
        read('a,b\n1,x\n"2\n2","y\n3,z\n')
    with pytest.raises(
        InputError, match=r"line 4 \(the cell opens in line 3\) has text after a closing quote"
    ):
        read('a,b\n1,x\n2,"y\n3,"z"\n')


def test_quoted_cells_count_their_lines():
    table = read('a,b\n"x\ny\r\nz",1\n"#q",2\n', keep=["a"], comment="%")
    assert table.kept["a"].tolist() == ["x\ny\r\nz", "#q"]
    assert [table.row_label(0), table.row_label(1)] == ["line 2", "line 5"]
    assert read('a, "b"\n1, "2"\n').columns == ("a", "b")


def test_nul_characters():
    with pytest.raises(InputError, match="line 3 holds a NUL"):
        read(b"a,b\n1,2\n3,\0\n5,6\n")


def test_header_that_looks_like_data():
    with pytest.warns(GraphSieveWarning, match="header looks like data.*--no-header"):
        assert read("1,2.5\n3,4\n").matrix.tolist() == [[3, 4]]
    table = read("1,2.5\n3,4\n", header=False)
    assert table.columns == ("column_1", "column_2")
    assert table.matrix.tolist() == [[1, 2.5], [3, 4]]
    assert [table.row_label(0), table.row_label(1)] == ["line 1", "line 2"]


@pytest.mark.parametrize("header", ["row,3.5,1,2", "7,2,9,red"])
def test_header_of_mostly_unordered_numbers_looks_like_data(header):
    with pytest.warns(GraphSieveWarning, match="header looks like data"):
        read(f"{header}\n1,2,3,4\n5,6,7,8\n")


@pytest.mark.parametrize("header", ["fat,400,402,404", "id,1999,1998,1997", "a,b,2,1", "a,b,c,1"])
def test_header_of_wavelengths_or_years_is_a_header(header):
    # A warning would be an error here.
    assert read(f"{header}\n1,2,3,4\n5,6,7,8\n").columns == tuple(header.split(","))


def test_duplicate_names():
    with pytest.raises(InputError, match=r"duplicated column names \('a' at positions 1, 3\)"):
        read("a,b, a\n1,2,3\n")


def test_empty_names():
    table = read("a,, ,column_2\n1,2,3,4\n")
    assert table.columns == ("a", "column_2_", "column_3", "column_2")
    assert table.notes == ("names generated for 2 columns: 'column_2_', 'column_3'",)


def test_comments():
    content = 'a,b\n# made by hand, "so\n1,2\n"x\n# no comment",3\n'
    with pytest.raises(InputError):
        read(content)
    table = read(content, comment="#", exclude=["a"])
    assert table.notes == ("1 comment line skipped",)
    assert [table.row_label(0), table.row_label(1)] == ["line 3", "line 4"]
    with pytest.raises(InputError, match="line 3 has 1 field, expected 2; use --comment '#'"):
        read("a,b\n1,2\n# the end\n")
    with pytest.raises(InputError, match="--comment '#'"):
        read("# a comment\na,b\n1,2\n")
    assert read("# a; comment\na,b\n1,2\n", comment="#").columns == ("a", "b")


def test_many_columns():
    names = ",".join(f"c{j}" for j in range(100_000))
    row = ",".join(map(str, range(100_000)))
    table = read(f"{names},y\n{row},a\n{row},b\n", keep=["y"])
    assert table.matrix.shape == (2, 100_000)
    assert np.array_equal(table.matrix[1], np.arange(100_000))


def test_a_line_of_50_megabytes():
    before = csv.field_size_limit()
    table = read(b"a,b\n1," + b"x" * 50_000_000 + b"\n2,y\n")
    assert table.levels == {"b": ("x" * 50_000_000, "y")}
    assert csv.field_size_limit() == before


def test_endless_cells_and_lines_are_refused(monkeypatch):
    monkeypatch.setattr(text_module, "LONGEST_CELL", 1000)
    with pytest.raises(
        InputError,
        match=r"begins in line 2 has more than 1,000 characters; check that every quote",
    ):
        read('a,b\n1,"x\n' + "2,y\n" * 1000)
    monkeypatch.setattr(text_module, "LONGEST_LINE", 500)
    with pytest.raises(InputError, match="line 2 has more than 500 characters"):
        read("a,b\n" + "1" * 1000)


# Cases 167 and 188 of docs/bad-input.md: sources of the bytes.


def test_files_that_do_not_exist(tmp_path):
    (tmp_path / "wine.csv").write_text("a\n1\n")
    with pytest.raises(UsageError, match=r"no file 'wines.csv' \(did you mean 'wine.csv'\?\)"):
        read_table(tmp_path / "wines.csv")
    with pytest.raises(UsageError, match="no file"):
        read_table(tmp_path / "no" / "wines.csv")
    with pytest.raises(UsageError, match="is a folder"):
        read_table(tmp_path)
    with pytest.raises(UsageError, match="cannot be opened"):
        read_table("a\0b")
    with pytest.raises(InputTypeError, match="expected a path"):
        read_table(7)
    with pytest.raises(InputTypeError, match="binary mode"):
        read_table(io.StringIO("a\n1\n"))


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no devices here")
def test_devices_are_refused():
    with pytest.raises(InputError, match="is a device"):
        read_table("/dev/zero")


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() == 0, reason="everything is readable to this user"
)
def test_no_permission(tmp_path):
    path = tmp_path / "secret.csv"
    path.write_text("a\n1\n")
    path.chmod(0)
    with pytest.raises(UsageError, match=r"secret.csv cannot be opened: Permission denied"):
        read_table(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_named_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def write():
        with open(path, "wb") as pipe:
            for part in (b"a,", b"b\n1", b",2\n", b"3,4\n"):
                pipe.write(part)
                pipe.flush()
                time.sleep(0.01)

    writer = threading.Thread(target=write)
    writer.start()
    table = read_table(path)
    writer.join()
    assert table.matrix.tolist() == [[1, 2], [3, 4]]


def test_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n")))
    table = read_table("-")
    assert table.name == "standard input"
    assert table.matrix.tolist() == [[1, 2]]


@pytest.mark.parametrize("name", ["with space.csv", "line\nbreak.csv", b"caf\xe9.csv"])
def test_odd_file_names(tmp_path, name):
    path = os.path.join(os.fsencode(tmp_path), name if isinstance(name, bytes) else name.encode())
    with open(path, "wb") as file:
        file.write(b"a,b\n1,2\n")
    table = read_table(os.fsdecode(path))
    assert table.name.isprintable()
    table.name.encode("utf-8")
    assert str(tmp_path) not in table.name


def test_a_file_that_changes_while_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "growing.csv"
    path.write_text("a,b\n1,2\n")
    real = text_module.CellColumns.add

    def add(self, *rows):
        with path.open("a") as file:
            file.write("3,4\n")
        real(self, *rows)

    monkeypatch.setattr(text_module.CellColumns, "add", add)
    with pytest.raises(InputError, match="changed while it was read"):
        read_table(path)


class Breaking(io.RawIOBase):
    """A stream that fails at the n-th read, like a defective disk."""

    def __init__(self, content: bytes, n: int) -> None:
        self._content, self._n = io.BytesIO(content), n

    def read(self, size: int = -1) -> bytes:
        self._n -= 1
        if self._n < 0:
            raise OSError(5, "Input/output error")
        return self._content.read(min(size, 30_000))


@pytest.mark.parametrize("n", range(6))
def test_a_disk_that_fails(n):
    content = b"a,b\n" + b"1,2\n" * 40_000
    with pytest.raises(InputError, match=r"cannot be read beyond byte \d+: Input/output error"):
        read_table(Breaking(content, n))
    assert read_table(Breaking(content, 100)).matrix.shape == (40_000, 2)


# Arguments with unknown names.


def test_unknown_columns_and_options():
    with pytest.raises(UsageError, match=r"no column 'colour' \(did you mean 'color'\?\)"):
        read("color,b\n1,2\n", keep=["colour"])
    with pytest.raises(UsageError, match="no column 'zzz'; its columns are 'a', 'b'"):
        read("a,b\n1,2\n", keep=["zzz"])
    with pytest.raises(UsageError, match="format must be one of"):
        read("a,b\n1,2\n", format="xls")
    with pytest.raises(UsageError, match="key"):
        read("a,b\n1,2\n", key="X")
    for encoding in ("utf-99", "rot13", "hex"):
        with pytest.raises(UsageError, match="not a text encoding"):
            read("a,b\n1,2\n", encoding=encoding)
    with pytest.raises(UsageError, match="comment"):
        read("a,b\n1,2\n", comment="")


# Missing values.

GAPS = "id,a,b,c,d\nu,1,,3,\nv,,2,3,\nw,4,2,3,2026-01-31\nx,5,4,3,\ny,,6,3,\n"


def test_missing_values_are_refused_with_their_position():
    table = read(GAPS, keep=["id"])
    with pytest.raises(
        InputError,
        match=r"3 missing values in 2 columns \('a': 2, 'b': 1\), first in line 2; use "
        r"--missing use, drop-columns, drop-rows or fill",
    ):
        without_missing(table, "refuse")
    with pytest.raises(InputError, match=r"'a' is mostly empty"):
        without_missing(read("a,b\n,1\n,2\n3,3\n"), "refuse")
    whole = read("a,b\n1,2\n")
    assert without_missing(whole, "refuse") is whole


def test_columns_rows_or_cells_with_missing_values():
    table = read(GAPS, keep=["id"])
    columns = without_missing(table, "drop-columns")
    assert columns.names == ("c",)
    assert columns.left_out == {"a": "missing values", "b": "missing values", "d": "dates"}
    assert columns.notes == ("2 columns with missing values left out: 'a': 2, 'b': 1",)
    rows = without_missing(table, "drop-rows")
    assert rows.matrix.tolist() == [[4, 2, 3], [5, 4, 3]]
    assert rows.kept["id"].tolist() == ["w", "x"]
    assert [rows.row_label(i) for i in range(2)] == ["line 4", "line 5"]
    assert rows.notes == ("3 rows with missing values left out (missing in 'a': 2, 'b': 1)",)
    filled = without_missing(table, "fill")
    assert filled.matrix[:, 0].tolist() == [1, 4, 4, 5, 4]
    assert filled.matrix[:, 1].tolist() == [3, 2, 2, 4, 6]
    assert np.isnan(table.matrix).sum() == 3  # The table itself is unchanged.
    assert filled.notes == ("3 missing values filled with the column's median ('a': 2, 'b': 1)",)
    assert without_missing(read("a\n1\n\n2\n" + '""\n'), "fill").whole == frozenset()


def test_no_row_remains():
    with pytest.raises(InputError, match="missing value in every row"):
        without_missing(read("a,b\n,1\n2,\n"), "drop-rows")


def test_how_is_checked():
    with pytest.raises(InputError, match="how must be one of"):
        without_missing(read("a\n1\n"), "guess")


# Categories.


def test_text_with_two_rows_per_level_is_a_category():
    rows = [("a", "yes", "Y", "red"), ("b", "no", "N", "blue")] * 2 + [("c", "no", "Y", "red")]
    table = read("id,smoker,old,color\n" + "".join(",".join(row) + "\n" for row in rows))
    assert table.names == ("smoker", "old", "color")
    assert table.levels == {"smoker": ("no", "yes"), "old": ("N", "Y"), "color": ("blue", "red")}
    assert table.categories == table.names
    assert table.left_out == {"id": "an identifier or free text"}  # 3 levels in 5 rows
    one_more = read("id,a\na,1\nb,2\na,3\nb,4\nc,5\nc,6\n")
    assert one_more.levels == {"id": ("a", "b", "c")}  # 3 levels in 6 rows


@pytest.mark.parametrize("n_cells", [1, 4, 10**6])
def test_a_column_is_a_category_if_it_has_more_text_than_numbers(monkeypatch, n_cells):
    monkeypatch.setattr(text_module, "CELLS_AT_ONCE", n_cells)
    stays, leaves = (
        ["1", "2", "1", "many", "many", "many", "many"],
        ["1", "2", "1", "many", "many", "many", "1"],
    )
    cells = zip(stays, leaves, strict=True)
    text = "stays,leaves\n" + "".join(f"{one},{other}\n" for one, other in cells)
    with pytest.raises(InputError, match=r"'leaves' has numbers, but 'many' in line 5;"):
        read(text)
    table = read(text, exclude=["leaves"])
    assert table.levels == {"stays": ("1", "2", "many")}
    assert table.matrix.tolist() == [[0], [1], [0], [2], [2], [2], [2]]


@pytest.mark.parametrize("n_cells", [1, 4, 10**6])
def test_columns_can_be_declared(monkeypatch, n_cells):
    monkeypatch.setattr(text_module, "CELLS_AT_ONCE", n_cells)
    text = (
        "zip,grade,truth,day\n007,1,TRUE,2026-01-31\n7,2.5,false,2026-02-01\n007,1.0,,2026-01-31\n"
    )
    table = read(text, categorical=["zip", "grade", "truth", "day"])
    assert table.levels == {
        "zip": ("007", "7"),
        "grade": (1, 2.5),
        "truth": (False, True),
        "day": ("2026-01-31", "2026-02-01"),
    }
    expected = [[0, 0, 1, 0], [1, 1, 0, 1], [0, 0, np.nan, 0]]
    assert np.array_equal(table.matrix, expected, equal_nan=True)
    numbers = read(text, numeric=["zip", "truth"])
    assert numbers.matrix[:, 0].tolist() == [7, 7, 7]
    assert not numbers.levels


def test_declarations_that_do_not_fit():
    text = "a,b,c,empty\n1,2026-01-31,x,\n2,2026-02-01,y,\nn.d.,2026-02-01,z,\n"
    with pytest.raises(InputError, match=r"numeric contains 'a', but line 4 holds 'n.d.'; correct"):
        read(text, numeric=["a"])
    text = text.replace("n.d.", "NA")
    with pytest.raises(InputError, match=r"categorical contains 'c', which has 3 levels in 3 rows"):
        read(text, categorical=["c"])
    for option in ("categorical", "numeric"):
        with pytest.raises(InputError, match=rf"{option} contains 'empty', .* \(empty\); leave"):
            read(text, **{option: ["empty"]})
        with pytest.raises(UsageError, match="no column 'd'"):
            read(text, **{option: ["d"]})
        with pytest.raises(InputTypeError, match=f"{option} must be a list of strings, got 3"):
            read(text, **{option: 3})
        with pytest.raises(UsageError, match=f"{option} contains 'a', which is also named elsewh"):
            read(text, keep=["a"], **{option: ["a"]})
    with pytest.raises(UsageError, match="categorical contains 'b', which is also named elsewhere"):
        read(text, categorical=["b"], numeric=["b"])


def test_gaps_of_categories():
    table = read("kind,size\nx,1\ny,2\n,3\nNA,\ny,5\n")
    with pytest.raises(InputError, match=r"3 missing values in 2 columns \('kind': 2, 'size': 1\)"):
        without_missing(table, "refuse")
    assert without_missing(table, "drop-rows").matrix.tolist() == [[0, 1], [1, 2], [1, 5]]
    assert without_missing(table, "drop-columns").levels == {}
    filled = without_missing(table, "fill")
    assert filled.matrix[:, 0].tolist() == [0, 1, 1, 1, 1]
    assert filled.notes == (
        "3 missing values filled with the column's median or most frequent level ('kind': 2, "
        "'size': 1)",
    )


def test_a_category_takes_the_memory_of_its_codes(monkeypatch):
    monkeypatch.setattr(text_module, "CELLS_AT_ONCE", 1000)
    n_rows = 200_000
    content = b"kind,a\n" + b"a long name of a level,1\nanother long name,2\n" * (n_rows // 2)
    tracemalloc.start()
    table = read(content)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert table.matrix.shape == (n_rows, 2)
    # The result, and the chunks of numbers, codes and lines. The text of each row would add 70
    # bytes.
    assert peak < n_rows * 80


def test_a_column_of_many_texts_is_given_up(monkeypatch):
    monkeypatch.setattr(cells, "MOST_TEXTS", 3)
    monkeypatch.setattr(text_module, "CELLS_AT_ONCE", 2)
    text = "kind,a\n" + "".join(f"{'pqrst'[j % 5]},{j * j}\n" for j in range(20))
    assert read(text).left_out == {"kind": "an identifier or free text"}
    assert read(text, categorical=["kind"]).levels == {"kind": tuple("pqrst")}


# Properties that hold for all tables.

CELLS = st.one_of(
    # Whole numbers are written without a point, because the spelling of numbers before the first
    # text of a column is not kept.
    st.floats(allow_nan=False).filter(lambda value: not value.is_integer()).map(repr),
    st.integers(-(2**53), 2**53).map(str),
    st.sampled_from(
        ["", "NA", "true", "False", "x", "1,5", "a\nb", 'say "so"', "ü", "_", "'", ";", "\t", "#"]
    ),
    st.sampled_from(["?", " - ", ".", "x", "x", "1,234", "12,345,678", "5 %", "$5", "1'000"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5),
)


@st.composite
def tables(draw):
    width = draw(st.integers(1, 5))
    return draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=12))


@given(
    tables(), st.sampled_from(",;\t|"), st.sampled_from(["\n", "\r\n", "\r"]), st.integers(1, 20)
)
def test_what_the_standard_library_writes_is_read(rows, separator, ending, n_cells):
    names = [f"n{j}" for j in range(len(rows[0]))]
    content = io.StringIO(newline="")
    writer = csv.writer(content, delimiter=separator, lineterminator=ending, quoting=csv.QUOTE_ALL)
    writer.writerows([names, *rows])
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        patch.setattr(text_module, "CELLS_AT_ONCE", n_cells)
        mixed = [name for j, name in enumerate(names) if is_mixed([row[j] for row in rows])]
        if mixed:
            with pytest.raises(InputError, match=f"column '{mixed[0]}' has "):
                read(content.getvalue(), sep=separator, keep_counter=True)
        table = read(content.getvalue(), sep=separator, exclude=mixed, keep_counter=True)
        kept = read(content.getvalue(), sep=separator, keep=names)
    assert table.columns == tuple(names)
    assert set(table.names) | set(table.left_out) == set(names)
    for j, name in enumerate(names):
        if name in mixed:
            assert table.left_out[name] == "as requested"
            continue
        expected = plain_values([row[j] for row in rows])
        known = [value for value in expected if value is not None]
        is_numeric = bool(known) and all(isinstance(value, float) for value in known)
        is_truth = bool(known) and all(isinstance(value, bool) for value in known)
        levels = plain_levels([row[j].strip() for row in rows])
        is_category = levels is not None and not (is_numeric or is_truth)
        assert (name in table.names) == (is_numeric or is_truth or is_category)
        assert table.levels.get(name) == (levels if is_category else None)
        if is_category:
            codes = [
                math.nan if value is None else levels.index(row[j].strip())
                for row, value in zip(rows, expected, strict=True)
            ]
            assert np.array_equal(table.matrix[:, table.names.index(name)], codes, equal_nan=True)
        elif name in table.names:
            numbers = [math.nan if value is None else float(value) for value in expected]
            assert np.array_equal(table.matrix[:, table.names.index(name)], numbers, equal_nan=True)
        assert [value is None for value in kept.kept[name]] == [value is None for value in expected]
        if known and not is_numeric and not is_truth:
            assert kept.kept[name].tolist() == [
                None if value is None else row[j].strip()
                for row, value in zip(rows, expected, strict=True)
            ]


@given(
    st.lists(
        st.lists(CELLS.filter(lambda cell: not set(cell) & set('";\n\r')), min_size=2, max_size=2),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_both_parsers_give_the_same_numbers(rows, ending):
    """After the first chunk, numpy reads lines without quotes, but never lines with quotes."""
    first = [["0.5", "1", "a"]]
    body = [*first, *([*row, "b"] for row in rows)]
    found = []
    for quote in ("", '"'):
        content = ending.join(
            ["r;w;k", *(";".join(f"{quote}{cell}{quote}" for cell in row) for row in body)]
        )
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore", GraphSieveWarning)
            patch.setattr(text_module, "CELLS_AT_ONCE", 6)
            mixed = [name for j, name in enumerate("rw") if is_mixed([row[j] for row in body])]
            found.append(read(content, sep=";", keep=["k"], exclude=mixed))
    plain, quoted = found
    assert plain.names == quoted.names
    assert np.array_equal(plain.matrix, quoted.matrix, equal_nan=True)
    assert plain.whole == quoted.whole
    assert plain.left_out == quoted.left_out
    assert plain.positions.tolist() == quoted.positions.tolist() == list(range(2, len(rows) + 3))
    assert plain.kept["k"].tolist() == quoted.kept["k"].tolist() == ["a", *(["b"] * len(rows))]


LIKE_A_NUMBER = (
    r"[+-]?\d*,\d+([eE][+-]?\d+)?",
    r"[+-]?\d{1,3}([. '’\u00a0\u202f]\d{3})+,\d+([eE][+-]?\d+)?",
    r"[+-]?\d{1,3}([, '’\u00a0\u202f]\d{3})+(\.\d*)?",
    r"[+-]?\d[\d.,']*\s*%|%\s*[+-]?\d[\d.,']*",
    r"[+-]?[$¢£¤¥₠-⃀]\s*[+-]?\d[\d.,']*|[+-]?\d[\d.,']*\s*[$¢£¤¥₠-⃀]",
)


def is_mixed(cells: list[str]) -> bool:
    """Whether a column has numbers or similar text, and at least as many of them as words."""
    known = [(cell.strip(), value) for cell in cells if (value := plain_value(cell)) is not None]
    n_numbers = sum(type(value) is float for _, value in known)
    texts = [text for text, value in known if isinstance(value, str)]
    like = [text for text in texts if any(re.fullmatch(form, text) for form in LIKE_A_NUMBER)]
    words = [text for text in texts if text not in ("?", "-", ".") and text not in like]
    n_words = len(texts) - len(like) if words else 0
    has_truths = any(isinstance(value, bool) for _, value in known)
    return (bool(like) and n_words <= n_numbers + len(like)) or (
        n_numbers > 0 and n_words <= n_numbers and (bool(words) or has_truths)
    )


def plain_values(cells: list[str]) -> list[float | bool | str | None]:
    """Convert the cells of a column. Marks are missing beside numbers or beside true and false."""
    values = [plain_value(cell) for cell in cells]
    marks = [isinstance(value, str) and value in ("?", "-", ".") for value in values]
    kinds = {
        type(value)
        for value, mark in zip(values, marks, strict=True)
        if value is not None and not mark
    }
    if kinds in (set(), {float}, {bool}):
        return [None if mark else value for value, mark in zip(values, marks, strict=True)]
    return values


def plain_levels(cells: list[str]) -> tuple[str, ...] | None:
    """Return the levels of a column with text, or None if the column is left out."""
    known = [
        cell for cell, value in zip(cells, plain_values(cells), strict=True) if value is not None
    ]
    levels = tuple(sorted(set(known)))
    if not known or all(re.fullmatch(r"\d{4}-\d{2}-\d{2}", cell) for cell in known):
        return None
    return None if len(levels) > 2 and len(levels) * 2 > len(known) else levels


def plain_value(cell: str) -> float | bool | str | None:
    """Convert a cell with the simplest possible code."""
    text = cell.strip()
    if text in (
        "",
        "NA",
        "N/A",
        "n/a",
        "NaN",
        "nan",
        "NAN",
        "null",
        "NULL",
        "None",
        "<NA>",
        "#N/A",
        "#NA",
    ):
        return None
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if "_" not in text and text.isascii():
        try:
            return None if math.isnan(float(text)) else float(text)
        except ValueError:
            pass
    return text


@given(st.binary(max_size=300))
def test_any_bytes_give_a_table_or_one_sentence(content):
    check_hostile(content)


@given(st.text(st.sampled_from('ab1,;"\n\r\t#. '), max_size=60))
def test_any_text_gives_a_table_or_one_sentence(content):
    check_hostile(content.encode())


def attempt(content: bytes) -> tuple[TableFile | None, str]:
    try:
        return read(content), ""
    except InputError as error:
        return None, str(error)


def check_hostile(content: bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        table, sentence = attempt(content)
    if table is None:
        assert sentence.endswith(".")
        assert "\n" not in sentence
        return
    assert table.matrix.shape == (len(table.positions), len(table.names))
    assert set(table.names) | set(table.left_out) | set(table.kept) == set(table.columns)


def test_real_data_reads_back(tmp_path):
    X, y = lookalikes.load("wine")
    path = tmp_path / "wine.csv"
    np.savetxt(
        path,
        np.column_stack([X, y]),
        delimiter=",",
        fmt="%.17g",
        comments="",
        header=",".join([*(f"f{j}" for j in range(X.shape[1])), "y"]),
    )
    table = read_table(path, keep=["y"])
    assert np.array_equal(table.matrix, X)
    assert table.kept["y"].tolist() == y.tolist()


class Once(io.RawIOBase):
    """A stream that can be read only once, like a pipe."""

    def __init__(self, content):
        super().__init__()
        self._content = io.BytesIO(content)

    def readable(self):
        return True

    def readinto(self, target):
        return self._content.readinto(target)


def through_a_pipe(tmp_path, content):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=(content,)).start()
    return path


@pytest.mark.parametrize(
    "how",
    [lambda _, content: io.BytesIO(content), lambda _, content: Once(content), through_a_pipe],
)
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_probabilities_without_names_of_rows_from_a_stream(tmp_path, how, compress):
    """Whether the column exists is known only after the stream has been read."""
    content = compress(b"a,b\n0.25,0.75\n0.5,0.5\n")
    proba, classes = read_probabilities_file(how(tmp_path, content), ["x", "y"], id_column="id")
    assert proba.tolist() == [[0.25, 0.75], [0.5, 0.5]]
    assert classes == ("a", "b")

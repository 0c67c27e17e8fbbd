"""Fuzz tests of all readers: any bytes give a table or one-sentence `InputError`, quickly, with
little memory, and without a crash.

The suite reads a few hundred damaged files of each kind. ``python tests/fuzzing.py --minutes 30``
searches longer.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fuzzing import (
    IDS,
    KINDS,
    MAX_BYTES,
    NATIVE,
    _results,
    damaged,
    mutated,
    read,
    valid_files,
    watched,
)
from graphsieve import InputError, read_table
from graphsieve.cli.rank import _parameters
from graphsieve.cli.reproduce import _read_results as read_results
from graphsieve.table.files.knowledge import read_pairs_file, read_probabilities_file

pytestmark = pytest.mark.slow

EXAMPLES = settings.default.max_examples
in_process = [kind for kind in KINDS if kind not in NATIVE]
BEGINNINGS = (
    b"",
    b"\x93NUMPY",
    b"PK\x03\x04",
    b"%%MatrixMarket matrix ",
    b"\x1f\x8b\x08",
    b"\x28\xb5\x2f\xfd",
    b'{"must_link": [',
)


@pytest.mark.parametrize("kind", in_process)
def test_damaged_files(kind):
    for number in range(8 * EXAMPLES):
        content, rng = damaged(kind, 0, number)
        try:
            read(kind, content, rng)
        except Exception as error:
            error.add_note(f"python tests/fuzzing.py --kind {kind} --seed 0 --only {number}")
            raise


@pytest.mark.parametrize("kind", NATIVE)
def test_damaged_files_of_foreign_libraries(kind):
    """Run in a child process, because pyarrow, HDF5 and calamine may crash. Such a crash must be reported in
    one sentence.
    """
    _, counts, faults = watched(kind, 0, 0, 4 * EXAMPLES)
    assert counts["refused"] + counts["answered"] > 0
    assert not {fault: case for fault, case in faults.items() if fault.startswith("broken")}


@pytest.mark.parametrize("kind", in_process)
def test_any_bytes(kind):
    @settings(max_examples=2 * EXAMPLES)
    @given(st.sampled_from(BEGINNINGS), st.binary(max_size=200))
    @example(b"", b"")
    def check(beginning, rest):
        read(kind, beginning + rest)

    check()


@settings(max_examples=2 * EXAMPLES)
@given(
    st.text(alphabet=st.sampled_from('a1.,;\t"\n\r #-e|é\u2028\x85'), max_size=60),
    st.sampled_from([None, ",", ";", "\t", " "]),
)
def test_any_text(text, sep):
    read("csv", text.encode())
    read("pairs", text.encode())
    with contextlib.suppress(InputError):
        read_table(io.BytesIO(text.encode()), sep=sep, header=False)


def test_mutations_are_known_by_their_seed():
    (first, *_), again = valid_files("csv"), np.random.default_rng(3)
    assert mutated(np.random.default_rng(3), first) == mutated(again, first)
    assert damaged("npz", 1, 5)[0] == damaged("npz", 1, 5)[0]


# Regression tests for failures found by fuzzing.


def refused(call, *words):
    with pytest.raises(InputError) as caught:
        call()
    message = str(caught.value)
    assert message.splitlines() == [message]
    assert all(word in message for word in words), message


@pytest.mark.parametrize("digits", [309, 400, 401, 5000])
def test_whole_numbers_beyond_the_largest_float(digits):
    """int(float("9" * 309)) raises OverflowError. Such a cell is infinite, like 1e400."""
    table = read_table(io.BytesIO(f"a,b\n{'9' * digits},1\n2,3\n".encode()))
    same = read_table(io.BytesIO(b"a,b\n1e400,1\n2,3\n"))
    np.testing.assert_array_equal(table.matrix, same.matrix)


def test_pairs_by_numbers_of_too_many_digits():
    for text in ('{"must_link": [[1, %s]]}', '{"must_link": [["1", -%s]]}'):
        refused(
            lambda text=text: read_pairs_file(io.BytesIO((text % ("9" * 5000)).encode()), IDS),
            "too many digits",
        )


def npz(**members):
    file = io.BytesIO()
    np.savez(file, **members)
    file.seek(0)
    return file


@pytest.mark.parametrize("code", [0x110000, 0xFFFFFFFF, 0xD800, 0xDFFF])
def test_text_of_characters_that_do_not_exist(code):
    """numpy stores any four bytes as a character. In Python they cause a SystemError or text that
    cannot be encoded.
    """
    text = np.array([code, 97], dtype=np.uint32).view("U1")
    refused(
        lambda: read_table(npz(X=np.eye(2), y=text), keep=["y"]), "characters that do not exist"
    )
    refused(
        lambda: read_table(npz(X=np.eye(2), y=text.astype(">U1")), keep=["y"]),
        "characters that do not exist",
    )
    refused(
        lambda: read_table(npz(X=np.eye(2), feature_names=text)), "characters that do not exist"
    )


def test_the_last_character_is_text():
    text = np.array([0x10FFFF, 97], dtype=np.uint32).view("U1")
    assert read_table(npz(X=np.eye(2), y=text), keep=["y"]).kept["y"].tolist() == [
        "\U0010ffff",
        "a",
    ]


def test_pairs_and_probabilities_keep_to_the_limit_too():
    lines = b"1,2,must\n" * 20_000
    refused(
        lambda: read_pairs_file(io.BytesIO(gzip.compress(lines)), IDS, max_bytes=100_000),
        "more than",
    )
    table = b"x,y\n" + b"0.5,0.5\n" * 20_000
    refused(
        lambda: read_probabilities_file(io.BytesIO(gzip.compress(table)), IDS, max_bytes=100_000),
        "more than",
    )


def test_parameters_of_the_command_nested_too_deeply():
    assert _parameters([f"form={'[' * 100_000}", f"power={'9' * 5000}", "n_neighbors=3"]) == {
        "form": "[" * 100_000,
        "power": "9" * 5000,
        "n_neighbors": 3,
    }


def test_results_of_a_version_that_is_a_whole_document(tmp_path):
    path = tmp_path / "results.json"
    path.write_text('{"schema": ["a paper", "another\\n"' + ', "and more"' * 1000 + "]}")
    refused(lambda: read_results(path, "all"), "has results of version ['a paper'")
    with pytest.raises(InputError) as caught:
        read_results(path, "all")
    assert len(str(caught.value)) < 300 + len(str(path))


def test_results_with_a_number_beyond_the_largest_float(tmp_path):
    (content, *_), path = _results(), tmp_path / "results.json"
    spoilt, n_spoilt = re.subn(
        r'"ours": [0-9.]+', f'"ours": {"9" * 400}', content.decode(), count=1
    )
    assert n_spoilt == 1
    path.write_text(spoilt)
    refused(lambda: read_results(path, "all"), "is not the output of graphsieve reproduce --json")


def test_names_of_columns_that_a_few_bytes_stand_for_count_too():
    """A sparse table of two million columns fits in a kilobyte, but their names would need far
    more memory than the numbers.
    """
    npz = io.BytesIO()
    sp.save_npz(npz, sp.csr_array(([1.0], ([0], [5])), shape=(3, 1_900_000)))
    mtx = b"%%MatrixMarket matrix coordinate real general\n3 1900000 1\n1 5 1.0\n"
    for content in (npz.getvalue(), mtx):
        with pytest.raises(InputError, match="more than 16,777,216 bytes"):
            read_table(io.BytesIO(content), max_bytes=MAX_BYTES)

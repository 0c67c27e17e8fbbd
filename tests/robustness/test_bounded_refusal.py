"""The cost of a refusal depends on the bytes that were read, not on what a file declares.

Every file here is small, and declares or decompresses to far more. Each is read in a fork with
little time and memory, so that a reservation of the declared size fails.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import resource
import time
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import zstandard

from graphsieve._base.errors import InputError
from graphsieve.table.files.knowledge import read_pairs_file, read_probabilities_file
from graphsieve.table.files.reading import read_table

SECONDS = 3.0  # of processor time
MEMORY = 400 * 2**20  # bytes beyond those of the process
MOST = 10_000_000  # bytes; the limit for files that decompress to more
SMALL = 400_000  # bytes; the size of the crafted files

HUGE = 10**12


def mtx(size, entries="", kind="coordinate real general"):
    return f"%%MatrixMarket matrix {kind}\n{size}\n{entries}".encode()


def npy(shape, dtype="<f8", data=b"", fortran=False):
    """Return an array with this header and these bytes, which need not fit the header."""
    file = io.BytesIO()
    np.lib.format.write_array_header_2_0(
        file, {"descr": dtype, "fortran_order": fortran, "shape": shape}
    )
    return file.getvalue() + data


def saved(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def archive(compression=zipfile.ZIP_DEFLATED, **members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as packed:
        for name, content in members.items():
            packed.writestr(f"{name}.npy", content)
    return file.getvalue()


def sparse(layout, shape):
    """Return a sparse matrix that declares another shape than it has entries for."""
    matrix = sp.random_array((10, 10), density=0.3, format=layout, rng=0)
    file = io.BytesIO()
    sp.save_npz(file, matrix)
    file.seek(0)
    with np.load(file) as parts:
        members = {name: saved(parts[name]) for name in parts}
    return archive(**members | {"shape": saved(np.array(shape))})


def constants(n_rows, **columns):
    """Return a Parquet file of equal values, each stored once."""
    file = io.BytesIO()
    buffer = pa.py_buffer(np.zeros(n_rows, dtype=np.int8))
    column = pa.Array.from_buffers(pa.int8(), n_rows, [None, buffer])
    table = pa.table(dict.fromkeys("abcdefgh", column) | columns)
    pq.write_table(table, file)
    return file.getvalue()


def ipc(open_writer, columns, **options):
    file = io.BytesIO()
    batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    with open_writer(file, batch.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_batch(batch)
    return file.getvalue()


def nulls(length):
    """Return nulls, which take no memory, whatever their number."""
    return pa.Array.from_buffers(pa.null(), length, [None])


def h5ad(X_shape=(4, 3), obs_length=4, var_length=3, sparse_shape=None):
    """Return an AnnData file. Lengths other than the usual ones are declared and not stored."""
    file = io.BytesIO()
    with h5py.File(file, "w") as store:

        def put(group, name, shape, data, **attributes):
            stored = shape == np.shape(data)
            given = {"data": data} if stored else {"shape": shape, "dtype": "f8", "chunks": True}
            item = group.create_dataset(name, **given)
            item.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0", **attributes})

        def frame(name, length, usual):
            group = store.create_group(name)
            group.attrs.update(
                {
                    "encoding-type": "dataframe",
                    "encoding-version": "0.2.0",
                    "_index": "_index",
                    "column-order": ["n"],
                }
            )
            names = np.array([f"{name}{i}" for i in range(usual)], dtype=object)
            item = group.create_dataset("_index", data=names, dtype=h5py.string_dtype())
            item.attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})
            put(group, "n", (length,), np.arange(usual, dtype=float))

        frame("obs", obs_length, 4)
        frame("var", var_length, 3)
        if sparse_shape is None:
            put(store, "X", X_shape, np.arange(12.0).reshape(4, 3))
        else:
            group = store.create_group("X")
            group.attrs.update(
                {
                    "encoding-type": "csr_matrix",
                    "encoding-version": "0.1.0",
                    "shape": sparse_shape,
                }
            )
            for name, values in (("data", [1.0]), ("indices", [0]), ("indptr", [0, 1, 1, 1, 1])):
                put(group, name, np.shape(values), np.array(values))
    return file.getvalue()


DECLARED = {
    # MTX
    "mtx of many columns": lambda: mtx("10 50000000 2", "1 1 1.5\n2 2 3\n"),
    "mtx of many rows": lambda: mtx("50000000 10 2", "1 1 1.5\n2 2 3\n"),
    "mtx of many rows and columns": lambda: mtx("900000000000 900000000000 1", "1 1 1\n"),
    "mtx of many entries": lambda: mtx("1000 1000 900000000", "1 1 1.5\n"),
    "mtx of no entries": lambda: mtx("10 50000000 0"),
    "mtx symmetric": lambda: mtx("50000000 50000000 1", "1 1 1\n", "coordinate real symmetric"),
    "mtx integer": lambda: mtx("10 50000000 1", "1 1 1\n", "coordinate integer general"),
    "mtx dense": lambda: mtx("30000 30000", "1\n", "array real general"),
    "mtx dense without rows": lambda: mtx(f"0 {HUGE}", "", "array real general"),
    "mtx dense without columns": lambda: mtx(f"{HUGE} 0", "", "array real general"),
    "mtx.gz": lambda: gzip.compress(mtx("10 50000000 2", "1 1 1.5\n2 2 3\n")),
    "mtx.zst": lambda: zstandard.compress(mtx("10 50000000 2", "1 1 1.5\n2 2 3\n")),
    # NPY and NPZ
    "npy": lambda: npy((10**8, 4), data=bytes(64)),
    "npy in Fortran order": lambda: npy((10**8, 4), data=bytes(64), fortran=True),
    "npy beyond all memory": lambda: npy((HUGE, HUGE), data=bytes(64)),
    "npy without columns": lambda: npy((HUGE, 0)),
    "npy without rows": lambda: npy((0, HUGE)),
    "npy of empty texts": lambda: npy((HUGE, 2), "<U0"),
    "npy of nothing": lambda: npy((HUGE, 2), "|V0"),
    "npy of negative size": lambda: npy((-HUGE, -2), data=bytes(64)),
    "npy.gz": lambda: gzip.compress(npy((10**8, 4), data=bytes(64))),
    "npz": lambda: archive(X=npy((10**8, 4), data=bytes(64))),
    "npz without columns": lambda: archive(X=npy((HUGE, 0))),
    "npz without rows": lambda: archive(X=npy((0, HUGE))),
    "npz with a long y": lambda: archive(X=saved(np.eye(4)), y=npy((HUGE,))),
    "npz with an empty y": lambda: archive(X=saved(np.eye(4)), y=npy((4,), "<U0")),
    "npz with many names": lambda: archive(X=saved(np.eye(4)), feature_names=npy((HUGE,), "<U0")),
    "npz sparse with a long shape": lambda: archive(shape=npy((HUGE,), "<U0"), format=npy(())),
    "npz sparse with a long format": lambda: archive(shape=saved(np.ones(2)), format=npy((HUGE,))),
    **{
        f"npz {layout} of {shape[0]} × {shape[1]}": lambda layout=layout, shape=shape: sparse(
            layout, shape
        )
        for layout in ("csr", "csc", "coo")
        for shape in ((10, 50_000_000), (50_000_000, 10), (HUGE, HUGE), (10, -HUGE))
    },
    # Parquet, Feather and Arrow
    "parquet of constants": lambda: constants(10_000_000),
    "arrow file of nulls": lambda: ipc(
        pa.ipc.new_file, {"y": nulls(2 * 10**9), "z": nulls(2 * 10**9)}
    ),
    "arrow stream of nulls": lambda: ipc(pa.ipc.new_stream, {"y": nulls(2 * 10**9)}),
    "feather of zeros": lambda: ipc(
        pa.ipc.new_file,
        {name: pa.array(np.zeros(30_000_000, dtype=np.int8)) for name in "xy"},
        compression="zstd",
    ),
    # h5ad
    "h5ad with a large X": lambda: h5ad(X_shape=(10**6, 10**6)),
    "h5ad with a long obs": lambda: h5ad(obs_length=10**10),
    "h5ad with a long var": lambda: h5ad(var_length=10**10),
    "h5ad with a large sparse X": lambda: h5ad(sparse_shape=(4, 10**12)),
}

KEPT = {name: ["y"] for name in DECLARED if name.endswith((" y", " of nulls"))}

BOMBS = {
    "rows": lambda: b"a,b\n" + b"0,0\n" * 50_000_000,
    "blank lines": lambda: b"a,b\n1,2\n" + b"\n" * 200_000_000,
    "one line": lambda: b"a" * 200_000_000,
    "one row": lambda: b"," * 200_000_000,
    "quotes": lambda: b'"' * 200_000_000,
    "a quoted cell": lambda: b'a,b\n"' + b"\n" * 200_000_000,
    "comments": lambda: b"#\n" * 100_000_000,
    "mtx": lambda: (
        b"%%MatrixMarket matrix array real general\n100000000 1\n" + b"1\n" * 100_000_000
    ),
    "mtx comments": lambda: b"%%MatrixMarket matrix array real general\n" + b"%\n" * 100_000_000,
    "npy": lambda: npy((200_000_000, 1), "|i1", bytes(200_000_000)),
    "npz": lambda: npy((200_000_000, 1), "|i1", bytes(200_000_000)),
}


@pytest.fixture
def read_in_fork():
    """Return a function that reads in a fork and returns the error message and the time."""

    def call(read):
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                pages = Path("/proc/self/statm").read_text().split()[0]
                size = int(pages) * resource.getpagesize()
                resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
                resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
                before = time.process_time()
                try:
                    read()
                    said = ["nothing", ""]
                except BaseException as error:
                    said = [type(error).__name__, str(error)]
                answer = json.dumps([*said, time.process_time() - before])
                os.write(writing, answer.encode()[:4000])
            finally:
                os._exit(0)
        os.close(writing)
        with open(reading, "rb") as file:
            answer = file.read()
        os.waitpid(child, 0)
        assert answer, "the process ended without an answer"
        return json.loads(answer)

    return call


def check_refusal(answer):
    kind, message, seconds = answer
    assert kind in ("InputError", "UsageError"), message
    assert "does not fit into the memory" not in message
    assert "\n" not in message
    assert seconds < SECONDS
    return message


@pytest.mark.parametrize("declared", DECLARED)
def test_what_a_file_declares_costs_nothing(read_in_fork, declared):
    content = DECLARED[declared]()
    assert len(content) < SMALL
    kept = KEPT.get(declared, ())
    message = check_refusal(read_in_fork(lambda: read_table(io.BytesIO(content), keep=kept)))
    assert "the stream" in message


@pytest.mark.parametrize("declared", [name for name in DECLARED if "." not in name])
def test_what_a_file_on_disk_declares_costs_nothing(read_in_fork, tmp_path, declared):
    path = tmp_path / "table"
    path.write_bytes(DECLARED[declared]())
    check_refusal(read_in_fork(lambda: read_table(path, keep=KEPT.get(declared, ()))))


@pytest.mark.parametrize("reader", ["table", "table on disk", "pairs", "probabilities"])
@pytest.mark.parametrize("packer", ["gzip", "zstd"])
@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.slow
def test_a_bomb_is_refused_before_its_rows_are_parsed(read_in_fork, tmp_path, reader, packer, bomb):
    if bomb == "npz":
        content = archive(X=BOMBS[bomb]())
        pack = bytes
    else:
        content = BOMBS[bomb]()
        pack = gzip.compress if packer == "gzip" else zstandard.compress
    content = pack(content)
    assert len(content) < SMALL
    path = tmp_path / "table"
    path.write_bytes(content)
    source = path if reader == "table on disk" else io.BytesIO(content)
    read = {
        "pairs": lambda: read_pairs_file(source, ["1"], max_bytes=MOST),
        "probabilities": lambda: read_probabilities_file(
            source, ["1"], id_column="i", max_bytes=MOST
        ),
    }.get(reader, lambda: read_table(source, max_bytes=MOST))
    message = check_refusal(read_in_fork(read))
    assert "--max-bytes" in message or (bomb == "npz" and reader == "pairs")


@pytest.mark.slow
@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_archives_that_python_decompresses_at_once_are_refused(read_in_fork, compression):
    content = archive(compression, X=BOMBS["npy"](), y=saved(np.arange(3)))
    assert len(content) < SMALL
    message = check_refusal(read_in_fork(lambda: read_table(io.BytesIO(content))))
    assert "compression that numpy does not write" in message


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress])
def test_other_compressions_are_refused_unread(read_in_fork, pack):
    content = pack(bytes(5_000_000))
    assert "decompress it first" in check_refusal(
        read_in_fork(lambda: read_table(io.BytesIO(content)))
    )


@pytest.mark.parametrize(
    "text",
    [
        "[" * 300_000,
        '{"must_link": ' * 20_000,
        '{"must_link": [[' + "1" * 300_000 + ", 2]]}",
        '{"must_link": [["' + "a" * 300_000 + '", "b"]]}',
        "a," * 150_000,
        '"' * 299_999,
        "\n" * 300_000,
    ],
    ids=["lists", "records", "a number", "a name", "a line", "quotes", "lines"],
)
def test_deep_and_long_pairs(read_in_fork, text):
    check_refusal(read_in_fork(lambda: read_pairs_file(io.BytesIO(text.encode()), ["1", "2"])))


@pytest.mark.slow
def test_a_limit_that_the_user_gives_is_the_only_one():
    """A wide matrix of a few entries may be correct, so the user can allow it."""
    content = mtx("3 1300000 2", "1 1 1.5\n2 2 3\n")
    with pytest.raises(InputError, match=r"declares a table of .*, but holds only .* --max-bytes"):
        read_table(io.BytesIO(content))
    assert read_table(io.BytesIO(content), max_bytes=10**9).matrix.shape == (3, 1_300_000)


@pytest.mark.slow
def test_hashed_features_need_no_limit():
    """Hashing gives 2**20 columns by default, and most of them have no entries."""
    content = mtx(f"100 {2**20} 2", "1 1 1.5\n2 2 3\n")
    assert read_table(io.BytesIO(content)).matrix.shape == (100, 2**20)


def test_misspelt_columns_among_many_are_found_quickly(read_in_fork):
    header = ",".join(f"a{i}" for i in range(40_000))
    content = f"{header}\n{'1,' * 39_999}1\n".encode()
    message = check_refusal(read_in_fork(lambda: read_table(io.BytesIO(content), keep=["a123x"])))
    assert "did you mean 'a123'" in message


@pytest.mark.filterwarnings("error")
def test_ordinary_files_are_not_refused():
    """Tables of zeros have the highest ratio of declared to stored bytes."""
    zeros = np.zeros((1000, 300), dtype=np.int8)
    file = io.BytesIO()
    np.savez_compressed(file, X=zeros)
    for content in (
        file.getvalue(),
        gzip.compress(saved(zeros.astype(float))),
        constants(100_000),
        ipc(pa.ipc.new_file, {"x": pa.array(np.arange(9.0)), "y": nulls(9)}),
        mtx("1000 1000 0"),
        h5ad(),
    ):
        assert read_table(io.BytesIO(content)).matrix.shape[0] >= 4

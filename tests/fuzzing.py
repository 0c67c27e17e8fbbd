"""Fuzz tests of every reader with damaged files: valid files with random mutations.

``python tests/fuzzing.py --minutes 10`` reads them in child processes and prints how many were
read, answered and refused. The parent restarts a child that crashes or hangs. Kind, seed and number
identify a case, and ``--only`` repeats it: ``python tests/fuzzing.py --kind npz --seed 3 --only
1741``.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import gzip
import io
import json
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

from graphsieve.table.files.knowledge import read_pairs_file, read_probabilities_file
from graphsieve.table.files.reading import read_table
from graphsieve.table.files.table_file import TableFile
from oddities import answered

MAX_BYTES = 2**24  # maximum size of a table in memory
LONGEST_FILE = 2**20  # bytes
MOST_MEMORY = 3 * 2**30  # bytes of additional address space of a child
MOST_GROWTH = 2**29  # bytes of additional resident memory of a child
MOST_SECONDS = 5  # per file
CASES_AT_ONCE = 2000  # per child

LETTERS = [
    b"\x00",
    b"\xff",
    b"\n",
    b"\r",
    b'"',
    b",",
    b";",
    b"\t",
    b"#",
    b"%",
    b" ",
    b"-",
    b"0",
    b"9",
    b"e",
    b"\x85",
    b"{",
    b"[",
]
WORDS = [
    b"nan",
    b"inf",
    b"-1",
    b"1e400",
    b"9" * 400,
    b"9" * 5000,
    b"[" * 5000,
    b"18446744073709551616",
    b"9223372036854775807",
    b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x80",
    b"\xff\xff\xff\x7f",
    b"\xe2\x80\xa8",
    b"\xef\xbb\xbf",
    b"\r\n",
    b'""',
    b"must",
    b"null",
    b"true",
    b"-0.0",
    b"1_000",
    b"0x10",
    b"\xd9\xa1",
    b"NA",
]


# --------------------------------------------------------------------------------------------------
# Mutations
# --------------------------------------------------------------------------------------------------


def mutated(rng: np.random.Generator, content: bytes, other: bytes = b"") -> bytes:
    """Apply a few mutations: flip bits, replace bytes, cut or repeat parts, insert words or parts
    of another file.
    """
    for _ in range(int(rng.choice([1, 1, 1, 2, 3, 8]))):
        content = _MUTATIONS[rng.integers(len(_MUTATIONS))](rng, content, other)[:LONGEST_FILE]
    return content


def _place(rng: np.random.Generator, content: bytes) -> int:
    """Draw a position, often near the ends, where headers and footers are."""
    size = len(content)
    near = int(min(size, rng.geometric(0.02)))
    return int(rng.choice([rng.integers(size + 1), near, size - near]))


def _part(rng: np.random.Generator, content: bytes) -> tuple[int, int]:
    first, second = sorted((_place(rng, content), _place(rng, content)))
    return first, second if rng.random() < 0.5 else min(second, first + int(rng.integers(1, 9)))


def _flip(rng: np.random.Generator, content: bytes, _: bytes) -> bytes:
    if not content:
        return content
    at = min(_place(rng, content), len(content) - 1)
    return content[:at] + bytes([content[at] ^ (1 << int(rng.integers(8)))]) + content[at + 1 :]


def _replace(rng: np.random.Generator, content: bytes, _: bytes) -> bytes:
    at = _place(rng, content)
    fresh = rng.integers(0, 256, int(rng.integers(1, 9)), dtype=np.uint8).tobytes()
    return content[:at] + fresh + content[at + len(fresh) :]


def _cut(rng: np.random.Generator, content: bytes, _: bytes) -> bytes:
    first, second = _part(rng, content)
    return content[:first] + content[second:]


def _truncate(rng: np.random.Generator, content: bytes, _: bytes) -> bytes:
    return content[: _place(rng, content)]


def _repeat(rng: np.random.Generator, content: bytes, _: bytes) -> bytes:
    first, second = _part(rng, content)
    return (
        content[:second] + content[first:second] * int(rng.choice([1, 1, 2, 50])) + content[second:]
    )


def _splice(rng: np.random.Generator, content: bytes, other: bytes) -> bytes:
    first, second = _part(rng, other)
    at = _place(rng, content)
    return (
        content[:at] + other[first:second] + content[at + (second - first) * int(rng.integers(2)) :]
    )


def _insert(rng: np.random.Generator, content: bytes, _: bytes) -> bytes:
    pool = LETTERS if rng.random() < 0.5 else WORDS
    at = _place(rng, content)
    return content[:at] + pool[rng.integers(len(pool))] + content[at:]


def _number(rng: np.random.Generator, content: bytes, _: bytes) -> bytes:
    """Replace a digit by another word."""
    digits = [at for at, byte in enumerate(content[:4096]) if 48 <= byte <= 57]
    if not digits:
        return content
    at = digits[rng.integers(len(digits))]
    return content[:at] + WORDS[rng.integers(len(WORDS))] + content[at + 1 :]


_MUTATIONS = (_flip, _replace, _cut, _truncate, _repeat, _splice, _insert, _number)


# --------------------------------------------------------------------------------------------------
# Valid files
# --------------------------------------------------------------------------------------------------

_VALUES = np.array(
    [
        [1.5, 0.0, 3.0],
        [2.25, 1.0, 0.0],
        [-1.0, 0.0, 1e-3],
        [7.0, 1.0, 2.0],
        [0.5, 0.0, -4.0],
        [9.0, 1.0, 5.0],
    ]
)
_TEXTS = ("red", "blue", "", "NA", 'a "b", c', "ü")


def _csv(sep: str, *, quotes: bool = False) -> bytes:
    mark = '"' if quotes else ""
    rows = [f"{mark}{name}{mark}" for name in ("a", "b", "c", "kind")]
    lines = [sep.join(rows)]
    for row, text in zip(_VALUES, _TEXTS, strict=True):
        cell = '"' + text.replace('"', '""') + '"' if quotes else text.split(" ")[0]
        lines.append(sep.join([*map(repr, row.tolist()), cell]))
    return ("# note\n" * quotes + "\n".join(lines) + "\n").encode()


def _npy(values: Any) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(values), allow_pickle=True)
    return file.getvalue()


def _zip(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def _mtx(matrix: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    scipy.io.mmwrite(file, matrix, **options)
    return file.getvalue()


def _arrow_table() -> Any:
    import pyarrow as pa

    columns: dict[str, Any] = {name: pa.array(_VALUES[:, at]) for at, name in enumerate("abc")}
    columns |= {
        "whole": pa.array([1, 2, None, 4, 2**60, 6]),
        "text": pa.array(["x", "y", None, "", "z", "x"]),
        "coded": pa.array(["x", "y", "x", "y", "x", None]).dictionary_encode(),
        "flag": pa.array([True, False, None, True, True, False]),
        "lists": pa.array([[1], [], None, [2, 3], [4], [5]]),
    }
    return pa.table(columns)


def _arrow_files() -> dict[str, list[bytes]]:
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet as pq

    table, parquet, feather, stream = _arrow_table(), [], [], io.BytesIO()
    for compression in ("none", "snappy", "gzip"):
        file = io.BytesIO()
        pq.write_table(table, file, compression=compression)
        parquet.append(file.getvalue())
    for compression in ("uncompressed", "lz4"):
        file = io.BytesIO()
        pyarrow.feather.write_feather(table, file, compression=compression)
        feather.append(file.getvalue())
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return {"parquet": parquet, "feather": [*feather, stream.getvalue()]}


def _h5ad_files() -> list[bytes]:
    import anndata
    import pandas as pd

    found = []
    for matrix in (_VALUES, sp.csr_matrix(_VALUES), sp.csc_matrix(_VALUES)):
        with tempfile.TemporaryDirectory() as folder:
            obs = pd.DataFrame(
                {"kind": pd.Categorical(list("xyxyxy"))}, index=[f"r{at}" for at in range(6)]
            )
            path = Path(folder) / "one.h5ad"
            anndata.AnnData(matrix, obs=obs, var=pd.DataFrame(index=list("abc"))).write_h5ad(path)
            found.append(path.read_bytes())
    return found


_PAIRS = b"first,second,kind\n1,2,must\n3,4,cannot\n2,5,same\n6,1,0\n"
_PAIRS_JSON = json.dumps({"must_link": [["1", "2"], [2, 5]], "cannot_link": [["3", "4"]]}).encode()
_PROBABILITIES = b"id,x,y\n" + b"".join(
    b"%d,%.2f,%.2f\n" % (at, at / 8, 1 - at / 8) for at in range(1, 7)
)


@functools.cache
def valid_files(kind: str) -> list[bytes]:
    """Return the valid files to mutate."""
    if kind in ("parquet", "feather"):
        return _arrow_files()[kind]
    if kind == "h5ad":
        return _h5ad_files()
    if kind == "npy":
        return [
            _npy(_VALUES),
            _npy(_VALUES.astype(">f4")),
            _npy(np.asfortranarray(_VALUES)),
            _npy(np.array([["a"]], dtype=object)),
        ]
    if kind == "mtx":
        square = sp.coo_array(_VALUES[:3])
        return [
            _mtx(sp.coo_array(_VALUES)),
            _mtx(_VALUES),
            _mtx(square + square.T, symmetry="symmetric"),
            _mtx(square.astype(int)),
        ]
    if kind in ("gzip", "zstd"):
        return [_csv(","), _csv("\t", quotes=True), _npy(_VALUES), _mtx(_VALUES)]
    return {
        "csv": [
            _csv(","),
            _csv(",", quotes=True),
            _csv(";"),
            _csv("\t"),
            _csv("|"),
            b"1,2\n3,4\n",
            b"a\n1\n2\n",
        ],
        "pairs": [_PAIRS, _PAIRS_JSON],
        "probabilities": [_PROBABILITIES, b"x,y\n" + b"0.5,0.5\n" * 6],
        "results": [],
        "npz": [],
    }[kind]


def _npz(rng: np.random.Generator) -> bytes:
    """Return an archive with damaged members and a correct checksum, or a damaged archive."""
    sparse = sp.csr_array(_VALUES)
    archives: list[dict[str, Any]] = [
        {"X": _VALUES, "y": np.array(["a", "b"] * 3), "feature_names": np.array(list("abc"))},
        {
            "data": sparse.data,
            "indices": sparse.indices,
            "indptr": sparse.indptr,
            "shape": np.array(sparse.shape),
            "format": b"csr",
        },
        {
            "data": sparse.data,
            "row": sparse.tocoo().row,
            "col": sparse.tocoo().col,
            "shape": np.array(sparse.shape),
            "format": b"coo",
        },
        {"first": _VALUES, "second": _VALUES[:, :1]},
    ]
    members = {
        f"{name}.npy": _npy(value) for name, value in archives[rng.integers(len(archives))].items()
    }
    if rng.random() < 0.3:
        return mutated(rng, _zip(members), _zip({"a.npy": _npy(_VALUES)}))
    chosen = list(members)[rng.integers(len(members))]
    members[chosen] = mutated(
        rng, members[chosen], members[list(members)[rng.integers(len(members))]]
    )
    return _zip(members)


@functools.cache
def _workbook() -> dict[str, bytes]:
    """Return the members of a workbook with two sheets."""
    import openpyxl

    book, content = openpyxl.Workbook(), io.BytesIO()
    for sheet in (book.active, book.create_sheet("More")):
        sheet.append(["a", "kind", "day"])
        for row in range(6):
            sheet.append([row * 1.5, "pq"[row % 2], datetime.date(2026, 1, row + 1)])
    book.active.merge_cells("F1:G2")
    book.save(content)
    with zipfile.ZipFile(content) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _xlsx(rng: np.random.Generator) -> bytes:
    """Return a workbook with a damaged member and a correct checksum, or a damaged archive."""
    members = dict(_workbook())
    if rng.random() < 0.3:
        return mutated(rng, _zip(members), _zip(members))
    used = [name for name in members if "docProps" not in name and "theme" not in name]
    chosen, other = (used[rng.integers(len(used))] for _ in range(2))
    members[chosen] = mutated(rng, members[chosen], members[other])
    return _zip(members)


def _compressed(rng: np.random.Generator, kind: str, content: bytes) -> bytes:
    """Damage and then compress the content, or the reverse, sometimes with several frames."""
    if kind == "gzip":
        pack: Callable[[bytes], bytes] = lambda part: gzip.compress(part, mtime=0)  # noqa: E731
    else:
        import zstandard

        pack = zstandard.ZstdCompressor().compress
    if rng.random() < 0.5:
        return pack(mutated(rng, content))
    at = int(rng.integers(len(content)))
    whole = pack(content) if rng.random() < 0.5 else pack(content[:at]) + pack(content[at:])
    return mutated(rng, whole, whole)


@functools.cache
def _results() -> list[bytes]:
    """Return results of one paper as the command prints them."""
    document = json.loads(
        (Path(__file__).parents[1] / "docs" / "reproduction.json").read_text(encoding="utf-8")
    )
    return [
        json.dumps({**document, "papers": [paper]}).encode() for paper in document["papers"][:2]
    ]


def damaged(kind: str, seed: int, number: int) -> tuple[bytes, np.random.Generator]:
    """Return the file with this number, and the generator for its reading options."""
    rng = np.random.default_rng([seed, number])
    if kind in ("npz", "xlsx"):
        return (_npz if kind == "npz" else _xlsx)(rng), rng
    files = valid_files(kind) if kind != "results" else _results()
    content, other = (files[rng.integers(len(files))] for _ in range(2))
    if kind in ("gzip", "zstd"):
        return _compressed(rng, kind, content), rng
    return mutated(rng, content, other), rng


# --------------------------------------------------------------------------------------------------
# Reading
# --------------------------------------------------------------------------------------------------

IDS = [str(at) for at in range(1, 7)]
KINDS = (
    "csv",
    "gzip",
    "zstd",
    "npz",
    "npy",
    "mtx",
    "pairs",
    "probabilities",
    "results",
    "parquet",
    "feather",
    "h5ad",
    "xlsx",
)
NATIVE = (
    "parquet",
    "feather",
    "h5ad",
    "xlsx",
)  # formats of native libraries, which may crash the process


def _options(rng: np.random.Generator, kind: str) -> dict[str, Any]:
    """Draw a few reading options for such a file."""
    found: dict[str, Any] = {}
    if rng.random() < 0.3:
        names = {"npz": ["y", "x1", "X"], "npy": ["x0"], "mtx": ["x1"], "h5ad": ["kind", "a"]}.get(
            kind, ["kind", "text", "a"]
        )
        found["keep"] = [names[rng.integers(len(names))]]
    if kind in ("csv", "gzip", "zstd") and rng.random() < 0.4:
        choices: dict[str, list[Any]] = {
            "sep": [",", ";", "\t", "|", " ", "\\t", "a", '"', ",,", "\n"],
            "encoding": [
                "latin-1",
                "utf-16",
                "utf-16-le",
                "utf-7",
                "utf-8-sig",
                "cp1252",
                "shift_jis",
                "rot13",
                "nonsense",
            ],
            "header": [False],
            "comment": ["#", "1", ""],
            "keep_na_text": [True],
            "na_values": [["x"], ["1", "?"], ["-1.5", "n.a."]],
            "decimal": [",", ".", ";"],
            "thousands": [",", ".", "'", " ", "_", "x"],
            "exclude": [["a"], ["nothing"]],
            "keep_counter": [True],
        }
        name = list(choices)[rng.integers(len(choices))]
        found[name] = choices[name][rng.integers(len(choices[name]))]
    if kind in ("npz", "xlsx") and rng.random() < 0.2:
        found["key"] = ["X", "first", "y", "data", "More"][rng.integers(5)]
    return found


def read(kind: str, content: bytes, rng: np.random.Generator | None = None) -> str:
    """Read the file and check the result. Return "answered" or "refused", or raise an error if the
    result is not as documented.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    if kind == "results":
        return _read_results(content)
    if kind == "pairs":
        found = answered(
            lambda: read_pairs_file(
                io.BytesIO(content), IDS, gone=["6"] if rng.random() < 0.3 else ()
            )
        )
        assert found is None or all(
            0 <= end < len(IDS) for pairs in found for pair in pairs for end in pair
        )
    elif kind == "probabilities":
        name = "id" if rng.random() < 0.5 else None
        found = answered(lambda: read_probabilities_file(io.BytesIO(content), IDS, id_column=name))
        assert found is None or found[0].shape == (len(IDS), len(found[1]))
    else:
        options = _options(rng, kind)
        found = answered(lambda: read_table(io.BytesIO(content), max_bytes=MAX_BYTES, **options))
        if found is not None:
            check_table(found)
    return "refused" if found is None else "answered"


def _read_results(content: bytes) -> str:
    from graphsieve.cli.reproduce import _read_results as read_results

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.json"
        path.write_bytes(content)
        return "refused" if answered(lambda: read_results(path, "all")) is None else "answered"


def check_table(table: TableFile) -> None:
    """Check that the parts of a table are consistent."""
    n_rows = table.matrix.shape[0]
    assert table.matrix.shape == (n_rows, len(table.names))
    assert table.matrix.dtype.kind in "iuf"
    assert table.matrix.dtype.isnative
    assert len(table.positions) == n_rows
    assert len(set(table.columns)) == len(table.columns)
    assert set(table.names) | set(table.kept) | set(table.left_out) == set(table.columns)
    assert all(len(values) == n_rows for values in table.kept.values())
    assert table.whole <= set(table.names)


# --------------------------------------------------------------------------------------------------
# The hunt
# --------------------------------------------------------------------------------------------------


class _TooSlowError(Exception):
    """Reading a file takes too long."""


def work(kind: str, seed: int, first: int, stop: int) -> None:
    """Read the cases in a child. Print the number of each case first, and then its outcome."""
    valid_files(kind) if kind not in ("npz", "xlsx", "results") else None
    for case in range(3):  # Import the libraries before memory is measured.
        read(kind, damaged(kind, 0, case)[0])

    def slow(*_: Any) -> None:
        raise _TooSlowError(f"more than {MOST_SECONDS} seconds")

    signal.signal(signal.SIGALRM, slow)
    at_first = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    size = (
        int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        if sys.platform == "linux"
        else 0
    )
    resource.setrlimit(resource.RLIMIT_AS, (size + MOST_MEMORY,) * 2)
    for number in range(first, stop):
        print("case", number, flush=True)
        content, rng = damaged(kind, seed, number)
        signal.alarm(MOST_SECONDS)
        try:
            outcome = read(kind, content, rng)
        except Exception as error:
            where = error.__traceback__
            while where is not None and where.tb_next is not None:
                where = where.tb_next
            place = (
                ""
                if where is None
                else f"{Path(where.tb_frame.f_code.co_filename).name}:{where.tb_lineno}"
            )
            outcome = f"broken {type(error).__name__} {place} {' '.join(str(error).split())[:300]}"
        finally:
            signal.alarm(0)
        print("outcome", outcome, flush=True)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - at_first
        if grown > MOST_GROWTH:
            # HDF5 allocates the memory that a damaged link requests before its size can be checked.
            print(
                "outcome",
                f"{'overgrown' if kind in NATIVE else 'broken memory'} {grown:,} bytes",
                flush=True,
            )
            return


def watched(
    kind: str, seed: int, first: int, stop: int, until: float = float("inf")
) -> tuple[int, Counter[str], dict[str, int]]:
    """Read cases in a child process.

    Return the number after the last case, the count of each outcome, and the first case of each
    fault.
    """
    counts: Counter[str] = Counter()
    faults: dict[str, int] = {}
    given = ["--kind", kind, "--seed", str(seed), "--work", str(first), str(stop)]
    child = subprocess.Popen(
        [sys.executable, __file__, *given],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    last, heard = first - 1, time.monotonic()

    def watch() -> None:
        while child.poll() is None:
            if time.monotonic() - heard > 12 * MOST_SECONDS or time.monotonic() > until:
                child.kill()
            time.sleep(0.2)

    threading.Thread(target=watch, daemon=True).start()
    assert child.stdout is not None
    for line in child.stdout:
        heard = time.monotonic()
        word, _, rest = line.strip().partition(" ")
        if word == "case":
            last = int(rest)
        else:
            counts[rest.partition(" ")[0] or "cut"] += 1
            if rest.startswith(("broken", "overgrown")):
                faults.setdefault(rest, last)
    if child.wait() < 0 and time.monotonic() < until:
        counts["crashed"] += 1
        faults.setdefault(f"signal {-child.returncode}", last)
    child.stdout.close()
    return last + 1, counts, faults


def hunt(kinds: list[str], seed: int, minutes: float) -> int:
    """Read all kinds in turn until the time is over. The exit code is 1 if there is a fault."""
    end, start = time.monotonic() + 60 * minutes, time.monotonic()
    following = dict.fromkeys(kinds, 0)
    counts = {kind: Counter[str]() for kind in kinds}
    broken = False
    while time.monotonic() < end:
        for kind in kinds:
            first = following[kind]
            following[kind], found, faults = watched(kind, seed, first, first + CASES_AT_ONCE, end)
            counts[kind] += found
            for fault, number in faults.items():
                broken = True
                print(f"{kind} --seed {seed} --only {number}: {fault}", flush=True)
        total = sum(sum(found.values()) for found in counts.values())
        print(f"{total:,} files in {time.monotonic() - start:.0f} s", flush=True)
    for kind, found in counts.items():
        print(kind, dict(found))
    return int(broken)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Read damaged files until the time is over.")
    parser.add_argument(
        "--kind", choices=KINDS, action="append", help="kind of file; all kinds by default"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--only", type=int, help="read only this case, in this process")
    parser.add_argument("--work", type=int, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    kinds = given.kind or list(KINDS)
    if given.only is not None:
        content, rng = damaged(kinds[0], given.seed, given.only)
        print(content[:500])
        print(read(kinds[0], content, rng))
        return 0
    if given.work is not None:
        work(kinds[0], given.seed, *given.work)
        return 0
    return hunt(kinds, given.seed, given.minutes)


if __name__ == "__main__":
    sys.exit(main())

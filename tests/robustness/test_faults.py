"""Injected faults: full, read-only or broken disks, signals at any time, exhausted memory, and
killed processes.

After each fault there are no partial files, and existing files are unchanged. The command reports
one sentence and the exit code listed in docs/command-line.md. No processes or temporary files are
left behind.
`FAULTS_TIMES=5` injects five times as many; `pytest -s` shows how many there were, for
docs/reliability.md.
"""

from __future__ import annotations

import collections
import errno
import gzip
import io
import os
import random
import re
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from sklearn.base import clone

import graphsieve.table.files.opening
from forked import Forks
from graphsieve import GraphSieve, InputError, read_table, stored
from graphsieve.cli import main
from graphsieve.table.stored.array_files import Mapped

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not sys.platform.startswith("linux"), reason="/proc tells which processes there are"
    ),
]

TIMES = int(os.environ.get("FAULTS_TIMES", "1"))
LOG = os.environ.get("FAULTS_LOG")  # a file to keep the counts in
INJECTED: collections.Counter[str] = collections.Counter()
OLD = b"what was there before"
ENDS = {
    signal.SIGINT: (130, "graphsieve: interrupted."),
    signal.SIGTERM: (143, "graphsieve: terminated."),
}
OPENING, CLOSING = 40, 40  # calls in which the command begins and stops to listen
COMMANDS = {
    "rank": ("rank", "t.csv", "--target", "y", "--output", "out.csv"),
    "report": ("rank", "t.csv", "--target", "y", "--report", "out.html"),
    "hybrid": ("rank", "few.csv", "--target", "y", "--method", "hybrid", "--output", "out.json"),
    "select": ("select", "t.csv", "--target", "y", "--output", "out.parquet"),
    "compare": (
        "compare",
        "t.csv",
        "--target",
        "y",
        "--methods",
        "fisher",
        "--folds",
        "2",
        "--learners",
        "1nn",
        "--report",
        "out.html",
    ),
    "reproduce": (
        "reproduce",
        "wls",
        "--quick",
        "--jobs",
        "1",
        "--no-download",
        "--page",
        "out.html",
    ),
}
QUICK = ("rank", "report", "hybrid", "select", "compare")


@pytest.fixture(scope="module", autouse=True)
def counted():
    """Print the number of faults after all tests."""
    yield
    told = ", ".join(f"{name} {count}" for name, count in sorted(INJECTED.items()))
    print(f"\nfaults injected: {sum(INJECTED.values())} ({told})")
    if LOG:
        Path(LOG).write_text(f"{sum(INJECTED.values())}: {told}\n", encoding="utf-8")


def fill(folder):
    """Write two tables, and an output of an earlier run for every command."""
    values = np.random.default_rng(0).normal(size=(60, 5))
    values[:, 0] += np.arange(60) % 2
    for name, known in (("t.csv", 60), ("few.csv", 12)):
        rows = [
            [*map(repr, row), "ab"[at % 2] if at < known else ""]
            for at, row in enumerate(values.tolist())
        ]
        (folder / name).write_text(
            "\n".join(map(",".join, [["a", "b", "c", "d", "e", "y"], *rows])) + "\n"
        )
    for command in COMMANDS.values():
        (folder / command[-1]).write_bytes(OLD)
    return folder


@pytest.fixture
def folder(tmp_path):
    return fill(tmp_path)


@pytest.fixture(scope="module")
def forks(tmp_path_factory):
    folder = fill(tmp_path_factory.mktemp("loaded"))
    process = Forks([[*COMMANDS[name], "--force"] for name in QUICK], folder)
    yield process
    process.close()


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """Return a process that has not loaded anything yet."""
    process = Forks([], tmp_path_factory.mktemp("fresh"))
    yield process
    process.close()


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def check_one_sentence(ended, code, *words):
    """Check that the last line is one sentence. Earlier lines describe the input."""
    assert ended.code == code, ended
    *before, last = ended.err.splitlines()
    assert last.startswith("graphsieve: ")
    for word in words:
        assert word in last, ended
    assert not [
        line
        for line in before
        if line.startswith(("graphsieve:", "Traceback", "  File", "Exception"))
    ], ended
    check_nothing_left(ended)


def check_nothing_left(ended):
    assert ended.left == []
    assert ended.temporary == []


# --------------------------------------------------------------------------------------------------
# Where the output goes
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", QUICK)
def test_a_disk_that_is_full_or_read_only_leaves_what_was_there(forks, folder, name):
    before = contents(folder)
    for error in ("ENOSPC", "EROFS", "EACCES"):
        for function in (
            ("open", "chmod", "replace") if TIMES > 1 or error == "EROFS" else ("replace",)
        ):
            ended = forks.run(*COMMANDS[name], "--force", cwd=folder, failing=function, error=error)
            check_one_sentence(ended, 4, "cannot be written", os.strerror(getattr(errno, error)))
            assert contents(folder) == before
            INJECTED["outputs"] += 1


@pytest.mark.parametrize("name", QUICK)
def test_no_file_of_any_size_is_left_half_written(forks, folder, name):
    """Limit the free space to every size from zero to one byte less than needed."""
    before = contents(folder)
    output = folder / COMMANDS[name][-1]
    assert forks.run(*COMMANDS[name], "--force", cwd=folder).code == 0
    size = output.stat().st_size
    output.write_bytes(OLD)
    for room in sorted({0, size // 3, size - 1}):
        ended = forks.run(*COMMANDS[name], "--force", "--quiet", cwd=folder, file_size=room)
        # The error stream is also a file with the same limit. This must not affect the output.
        assert ended.code == 4, ended
        assert contents(folder) == before
        check_nothing_left(ended)
        INJECTED["outputs"] += 1


IN_A_SMALL_DISK = """
set -e
mount -t tmpfs -o size=32k none "$1"
cp t.csv "$1"; cd "$1"
printf 'what was there before' > out.html
ls -A > ../before
set +e
"$2" -m graphsieve rank t.csv --target y --report out.html --force 2> ../said; echo $? > ../code
ls -A > ../after; cp out.html ../kept
mount -o remount,ro "$1"
"$2" -m graphsieve rank t.csv --target y --report out.html --force 2> ../said_when_read_only; echo $? > ../code_when_read_only
"""


def test_a_real_disk_that_is_full_and_then_read_only(folder):
    """Use a 32 kB disk in a separate namespace, which is too small for a report, and then make it
    read-only.
    """
    disk = folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["unshare", "-rm", "sh", "-c", IN_A_SMALL_DISK, "sh", str(disk), sys.executable],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    if not (folder / "code").exists():
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    found = {
        name: (folder / name).read_text().splitlines()
        for name in ("before", "after", "code", "said")
    }
    assert found["after"] == found["before"]
    assert (folder / "kept").read_bytes() == OLD
    assert found["code"] == ["4"]
    assert found["said"][-1] == "graphsieve: out.html cannot be written: No space left on device."
    assert (folder / "code_when_read_only").read_text() == "4\n"
    assert (
        folder / "said_when_read_only"
    ).read_text() == "graphsieve: the folder . cannot be written to; write elsewhere.\n"
    INJECTED["outputs"] += 2


@pytest.mark.parametrize("name", QUICK)
def test_an_error_stream_that_is_full_loses_no_result(forks, folder, name):
    ended = forks.run(*COMMANDS[name], "--force", cwd=folder, stderr="/dev/full")
    assert ended.code == 0, ended
    assert (folder / COMMANDS[name][-1]).read_bytes() != OLD
    assert forks.run("rank", "absent.csv", cwd=folder, stderr="/dev/full").code == 2
    INJECTED["error stream"] += 2


@pytest.mark.parametrize("kind", ["link", "dangling", "loop", "of a link"])
def test_a_link_is_replaced_whole_or_stays_with_its_target(forks, folder, kind):
    """As documented in docs/command-line.md, a link is replaced and not followed.

    If the write fails, link and target are unchanged.
    """
    (folder / "target.csv").write_bytes(OLD)
    leads_to = {
        "link": "target.csv",
        "dangling": "nowhere.csv",
        "loop": "link.csv",
        "of a link": "second.csv",
    }[kind]
    (folder / "second.csv").symlink_to("target.csv")
    link = folder / "link.csv"
    link.symlink_to(leads_to)
    names = sorted(os.listdir(folder))
    arguments = (*COMMANDS["rank"][:-1], "link.csv")
    check_one_sentence(forks.run(*arguments, cwd=folder), 4, "exists", "--force")
    failing = forks.run(*arguments, "--force", cwd=folder, failing="replace", error="ENOSPC")
    check_one_sentence(failing, 4, "cannot be written")
    assert os.readlink(link) == leads_to
    assert sorted(os.listdir(folder)) == names
    assert forks.run(*arguments, "--force", cwd=folder).code == 0
    assert not link.is_symlink()
    assert link.read_text().startswith("feature,rank")
    assert (folder / "target.csv").read_bytes() == OLD
    assert sorted(os.listdir(folder)) == names
    INJECTED["links"] += 2


# --------------------------------------------------------------------------------------------------
# Signals
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", QUICK)
def test_a_signal_at_any_call_ends_the_command_and_nothing_else(forks, folder, name):
    """Send signals at function calls drawn from all calls of the command.

    They are the same in every run and on every machine.
    """
    arguments = (*COMMANDS[name], "--force")
    whole = forks.run(*arguments, cwd=folder, count_calls=True)
    assert whole.code == 0, whole
    output, new = folder / COMMANDS[name][-1], contents(folder)
    output.write_bytes(OLD)
    before, drawn = contents(folder), random.Random(name)
    places = [
        OPENING,
        *(drawn.randrange(OPENING, whole.calls - CLOSING) for _ in range(4 * TIMES)),
        whole.calls - CLOSING,
    ]
    for number, place in enumerate(places):
        sent = (signal.SIGINT, signal.SIGTERM)[number % 2]
        ended = forks.run(*arguments, cwd=folder, at_call=place, signal=sent)
        code, said = ENDS[sent]
        check_one_sentence(ended, code, said)
        # The last calls occur after the file has been written.
        assert contents(folder) in (before, new), place
        output.write_bytes(OLD)
        INJECTED["signals"] += 1


@pytest.mark.parametrize("name", [*QUICK, "reproduce"])
def test_a_signal_at_any_time_ends_the_command_and_nothing_else(forks, folder, name):
    """Send signals at random times within the first second, also during loops in C."""
    drawn, before, output = random.Random(name), contents(folder), folder / COMMANDS[name][-1]
    possible = [before]
    if name != "reproduce":  # which takes far longer than a second
        assert forks.run(*COMMANDS[name], "--force", cwd=folder).code == 0
        possible.append(contents(folder))
        output.write_bytes(OLD)
    for number in range(2 * TIMES):
        sent = (signal.SIGINT, signal.SIGTERM)[number % 2]
        ended = forks.run(
            *COMMANDS[name], "--force", cwd=folder, after=0.1 + 0.9 * drawn.random(), signal=sent
        )
        code, said = ENDS[sent]
        # On a fast machine the process may already have ended or be ending, without a message.
        if ended.code in (code, -sent) and ended.err.strip().endswith(said.strip()):
            check_one_sentence(ended, code, said)
        else:
            assert ended.code in (0, -sent), ended
            assert "Traceback" not in ended.err
        assert contents(folder) in (possible if ended.code else possible[-1:])
        check_nothing_left(ended)
        output.write_bytes(OLD)
        INJECTED["signals"] += 1


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("moment", ["chmod", "replace"])
def test_a_kill_during_the_write_leaves_the_old_file_and_no_obstacle(forks, folder, name, moment):
    before, mark = contents(folder), folder / "mark"
    killed = forks.run(
        *COMMANDS[name],
        "--force",
        cwd=folder,
        waits_at=moment,
        mark=str(mark),
        signal=signal.SIGKILL,
    )
    assert killed.code == -signal.SIGKILL
    mark.unlink()
    (part,) = (path for path in folder.iterdir() if path.name.startswith(".graphsieve-"))
    assert part.stat().st_mode & 0o077 == 0 or moment == "replace"
    assert {
        name: content for name, content in contents(folder).items() if name != part.name
    } == before
    assert forks.run(*COMMANDS[name], "--force", cwd=folder).code == 0
    assert (folder / COMMANDS[name][-1]).read_bytes() not in (OLD, b"")
    assert sorted(contents(folder)) == sorted([*before, part.name])
    INJECTED["kills"] += 1


# --------------------------------------------------------------------------------------------------
# Reads that fail
# --------------------------------------------------------------------------------------------------

VALUES = np.random.default_rng(3).normal(size=(400, 5))


def write_csv(path, separator=","):
    path.write_text(
        "\n".join(
            [separator.join("abcde"), *(separator.join(map(repr, row)) for row in VALUES.tolist())]
        )
        + "\n"
    )


def write_compressed(path, compress):
    write_csv(path)
    path.write_bytes(compress(path.read_bytes()))


def write_zstd(path):
    write_compressed(path, pytest.importorskip("zstandard").compress)


def write_parquet(path):
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(
        pa.table(dict(zip("abcde", VALUES.T, strict=True))), path, row_group_size=100
    )


def write_arrow(path):
    pa = pytest.importorskip("pyarrow")
    table = pa.table(dict(zip("abcde", VALUES.T, strict=True)))
    new = pa.ipc.new_file if path.suffix == ".feather" else pa.ipc.new_stream
    with new(str(path), table.schema) as file:
        file.write_table(table, max_chunksize=100)


def write_h5ad(path):
    anndata = pytest.importorskip("anndata")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anndata.AnnData(VALUES).write_h5ad(path)


WRITERS = {
    "t.csv": write_csv,
    "t.tsv": lambda path: write_csv(path, "\t"),
    "t.csv.gz": lambda path: write_compressed(path, gzip.compress),
    "t.csv.zst": write_zstd,
    "t.parquet": write_parquet,
    "t.feather": write_arrow,
    "t.arrow": write_arrow,
    "t.npz": lambda path: np.savez(path, X=VALUES),
    "packed.npz": lambda path: np.savez_compressed(path, X=VALUES),
    "t.npy": lambda path: np.save(path, VALUES),
    "t.mtx": lambda path: scipy.io.mmwrite(path, sp.coo_array(VALUES)),
    "t.h5ad": write_h5ad,
}


class FailingFile(io.BufferedReader):
    """File on disk that fails at the n-th read."""

    def __init__(self, path, fails_at):
        super().__init__(io.FileIO(path))
        self.reads, self._fails_at = 0, fails_at

    def _count(self):
        self.reads += 1
        if self.reads == self._fails_at:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def read(self, size=-1):
        self._count()
        return super().read(size)

    def read1(self, size=-1):
        self._count()
        return super().read1(size)

    def readinto(self, target):
        self._count()
        return super().readinto(target)


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_of_any_format_whose_nth_read_fails(tmp_path, monkeypatch, name):
    """Python's archive reader reports a failed read as a damaged archive. All other readers report
    the disk error.
    """
    path, opened = tmp_path / name, []
    WRITERS[name](path)

    def failing_at(number):
        def opener(path, mode):
            opened.append(FailingFile(path, number))
            return opened[-1]

        monkeypatch.setattr(graphsieve.table.files.opening, "open", opener, raising=False)

    failing_at(0)
    assert read_table(path).matrix.shape == VALUES.shape
    n_reads = opened[-1].reads
    assert n_reads >= 2
    for number in range(1, n_reads + 1):
        failing_at(number)
        with pytest.raises(
            InputError, match="Input/output error" if path.suffix != ".npz" else "damaged|NPZ|Input"
        ) as caught:
            read_table(path)
        assert str(caught.value).startswith(f"{name} ")
        assert str(caught.value).endswith("get it again.")
        assert "\n" not in str(caught.value)
        assert "Traceback" not in str(caught.value)
        assert opened[-1].closed
        INJECTED["reads"] += 1


def test_an_unreadable_file(forks, folder):
    """The memory of a process appears as an ordinary file, but reading address zero is an
    input/output error.
    """
    (folder / "t.csv").unlink()
    (folder / "t.csv").symlink_to("/proc/self/mem")
    check_one_sentence(
        forks.run("rank", "t.csv", cwd=folder), 3, "beyond byte 0: Input/output error"
    )
    INJECTED["reads"] += 1


# --------------------------------------------------------------------------------------------------
# Tables on disk, read piece by piece
# --------------------------------------------------------------------------------------------------

LARGE = np.random.default_rng(4).normal(size=(600, 8))
CLASSES = np.arange(600) % 2


class Faulty:
    """Array-like object with an unreadable piece. It appears to come from the array's library."""

    def __init__(self, array, fails_at, error):
        self._array, self._fails_at, self._error = array, fails_at, error
        self.reads = 0
        self.shape, self.dtype, self.chunks = (
            array.shape,
            array.dtype,
            getattr(array, "chunks", None),
        )

    def __getitem__(self, key):
        self.reads += 1
        if self.reads == self._fails_at:
            raise self._error
        return self._array[key]


class FaultyMap(Mapped):
    """Memory map with an unreadable piece. (In reality this is the signal SIGBUS, which a library
    cannot handle.)
    """

    def __init__(self, array, memory, fails_at, error):
        super().__init__(array, memory)
        self.reads, self._fails_at, self._error = 0, fails_at, error

    def _count(self):
        self.reads += 1
        if self.reads == self._fails_at:
            raise self._error

    def read_rows(self, rows):
        self._count()
        return super().read_rows(rows)

    def read_columns(self, columns):
        self._count()
        return super().read_columns(columns)


def mapped(folder, fails_at, error):
    path = folder / "t.bin"
    LARGE.tofile(path)
    return FaultyMap(
        np.memmap(path, mode="r", shape=LARGE.shape, dtype=np.float64), 2**15, fails_at, error
    )


def filed(library):
    def make(folder, fails_at, error):
        if library == "h5py":
            array = (
                pytest.importorskip("h5py")
                .File(folder / f"{fails_at}.h5", "w")
                .create_dataset("X", data=LARGE, chunks=(50, 8))
            )
        else:
            array = pytest.importorskip("zarr").create_array(
                str(folder / f"{fails_at}.zarr"), data=LARGE, chunks=(50, 8)
            )
        found = stored(array, memory=2**15)
        found._array = Faulty(array, fails_at, error)
        return found

    return make


@pytest.mark.parametrize(
    "make", [mapped, filed("h5py"), filed("zarr")], ids=["memory map", "HDF5", "Zarr"]
)
@pytest.mark.parametrize("method", ["fisher", "laplacian"])
def test_a_stored_table_with_a_piece_that_cannot_be_read(tmp_path, make, method):
    """Fail at every piece with errors of the disk and of the library. A failed fit must leave the
    sieve unchanged.
    """
    sieve = GraphSieve(method, n_features_to_select=2).fit(LARGE, CLASSES)
    expected = sieve.ranking_.tolist()
    errors = (
        OSError(errno.EIO, os.strerror(errno.EIO)),
        RuntimeError("cannot decompress.\nchunk is bad"),
    )
    whole = make(tmp_path, 0, None)
    assert clone(sieve).fit(whole, CLASSES).ranking_.tolist() == expected
    n_reads = (whole if make is mapped else whole._array).reads
    assert n_reads >= 3
    for number, place in enumerate(
        sorted({*np.linspace(1, n_reads, min(n_reads, 4 * TIMES)).astype(int).tolist()})
    ):
        table = make(tmp_path, place, errors[number % 2])
        with pytest.raises(
            InputError, match=("Input/output error", "chunk is bad")[number % 2]
        ) as caught:
            sieve.fit(table, CLASSES)
        told = str(caught.value)
        assert re.fullmatch(
            r"X could not be read from .*; open it again, or write it again\.", told
        )
        assert sieve.ranking_.tolist() == expected
        INJECTED["pieces"] += 1


# --------------------------------------------------------------------------------------------------
# Memory
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rank", "select"])
def test_any_limit_of_memory_is_success_or_one_sentence(fresh, folder, name):
    """Limit the memory of a process before it loads numpy, from almost none to enough."""
    before, codes = contents(folder), []
    steps = [0, 1, 8, 64, 160, 235, 400, 1500] if TIMES == 1 else [*range(0, 800, 16), 1500]
    for more in steps:
        ended = fresh.run(
            *COMMANDS[name], "--force", "--quiet", cwd=folder, address_space=more * 2**20
        )
        # The C library ends a process that fails to load a library, without an exception.
        if "thread-local data: ABORT" in ended.err:
            check_nothing_left(ended)
            continue
        codes.append(ended.code)
        if ended.code == 0:
            (folder / COMMANDS[name][-1]).write_bytes(OLD)
        else:
            check_one_sentence(ended, 3, "memory")
            # Lines that start with <jemalloc> come from Arrow.
            assert [
                line for line in ended.err.splitlines()[:-1] if not line.startswith("<jemalloc>")
            ] == []
        assert contents(folder) == before
        check_nothing_left(ended)
        INJECTED["memory"] += 1
    assert codes[0] == 3
    assert codes[-1] == 0


@pytest.mark.parametrize("name", ["rank", "report", "hybrid", "select", "compare"])
def test_memory_that_ends_while_the_command_computes(forks, folder, name):
    """Limit the memory of a process that has loaded everything, while it reads, computes or
    writes.
    """
    n = 3000
    known = np.where(
        np.arange(n) < (40 if name == "hybrid" else n), np.array(["a", "b"])[np.arange(n) % 2], ""
    )
    np.savez(folder / "large.npz", X=np.random.default_rng(5).normal(size=(n, 800)), y=known)
    command, _, *rest = COMMANDS[name]
    arguments = [command, "large.npz", *rest]
    if name == "hybrid":
        arguments += ["--neighbors", "5", "--param", "n_iterations=1"]
    before, codes = contents(folder), []
    for more in (0, 4, 12, 24, 48, 1500) if TIMES == 1 else (*range(0, 80, 4), 1500):
        ended = forks.run(*arguments, "--force", "--quiet", cwd=folder, address_space=more * 2**20)
        codes.append(ended.code)
        if ended.code == 0:
            (folder / COMMANDS[name][-1]).write_bytes(OLD)
        else:
            check_one_sentence(ended, 3, "memory")
        assert contents(folder) == before
        check_nothing_left(ended)
        INJECTED["memory"] += 1
    assert 3 in codes
    assert codes[-1] == 0


# --------------------------------------------------------------------------------------------------
# Processes that share the work
# --------------------------------------------------------------------------------------------------

SHARED = (
    "compare",
    "t.csv",
    "--target",
    "y",
    "--methods",
    "fisher",
    "variance",
    "--folds",
    "5",
    "--jobs",
    "2",
    "--report",
    "out.html",
)


@pytest.mark.parametrize("struck", ["worker", "command by SIGINT", "command by SIGTERM"])
def test_processes_that_share_the_work_end_with_it(forks, folder, struck):
    """Kill one of the processes, or end all of them by a signal to the command only."""
    before, drawn = contents(folder), random.Random(struck)
    of_worker = struck == "worker"
    sent = signal.SIGKILL if of_worker else signal.Signals[struck.rpartition(" ")[2]]
    code, said = ENDS.get(sent, (3, "a worker process was killed"))
    for _ in range(TIMES):
        moment = 0.1 + 0.3 * drawn.random()
        ended = forks.run(
            *SHARED,
            "--force",
            "--quiet",
            cwd=folder,
            worker=moment,
            of_worker=of_worker,
            signal=sent,
        )
        check_one_sentence(ended, code, said)
        assert contents(folder) == before
        INJECTED["processes"] += 1


HOLDING = """
import os, time
from graphsieve._base.parallel import in_parallel

def hold(number):
    os.held = [*getattr(os, "held", ()), b"x" * 320_000_000]  # joblib replaces a process that grows by 300 MB
    time.sleep(1.2)  # it looks once in a second
    return number, os.getpid()

found = in_parallel(hold, [(number,) for number in range(5)], title="holding", n_jobs=2)
print([number for number, _ in found], len({process for _, process in found}) > 2)
"""


def test_a_process_that_is_replaced_is_no_news():
    """If warnings are errors, a joblib warning used to end joblib's own thread, and the caller
    waited for ever.
    """
    pytest.importorskip("psutil")  # without it joblib does not look at the memory
    for also in ((), ("-W", "error")):
        ended = subprocess.run(
            [sys.executable, *also, "-c", HOLDING],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "[0, 1, 2, 3, 4] True\n", "")
        INJECTED["processes"] += 1


def test_the_command_in_a_thread_leaves_signals_alone(folder, capsys, monkeypatch):
    """Python allows only the main thread to set signal handlers."""
    monkeypatch.chdir(folder)
    codes = []
    before = signal.getsignal(signal.SIGTERM)
    for arguments in ([*COMMANDS["rank"], "--force"], ["rank", "missing.csv"]):
        thread = threading.Thread(target=lambda given=arguments: codes.append(main(given)))
        thread.start()
        thread.join()
    assert codes == [0, 2]
    assert signal.getsignal(signal.SIGTERM) is before
    assert capsys.readouterr().err.splitlines()[-1] == "graphsieve: there is no file 'missing.csv'."


@pytest.mark.parametrize(
    ("arguments", "stream", "code"),
    [
        (["rank", "--bad"], 2, 2),
        (["rank", "absent.csv"], 2, 2),
        (["--help"], 1, 4),
        (["--version"], 1, 4),
        (["methods"], 1, 4),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_stream_that_is_full_leaves_the_exit_code_of_the_command(arguments, stream, code):
    """This also holds if argparse ends the process. Streams are buffered, as for users."""
    environment = {name: one for name, one in os.environ.items() if not name.startswith("PYTHON")}
    with open("/dev/full", "w") as full:
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        streams["stdout" if stream == 1 else "stderr"] = full
        command = [sys.executable, "-m", "graphsieve", *arguments]
        assert subprocess.run(command, env=environment, check=False, **streams).returncode == code


def test_a_reader_that_goes_away_before_the_help_is_written():
    environment = {name: one for name, one in os.environ.items() if not name.startswith("PYTHON")}
    read, write = os.pipe()
    os.close(read)
    try:
        command = [sys.executable, "-m", "graphsieve", "--help"]
        ended = subprocess.run(
            command, env=environment, stdout=write, stderr=subprocess.PIPE, check=False
        )
    finally:
        os.close(write)
    assert (ended.returncode, ended.stderr) == (141, b"")

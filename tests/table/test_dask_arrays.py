"""Dask arrays give the results of arrays in memory, for any chunks and any scheduler.

They are never collected in this process.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from functools import partial
from types import SimpleNamespace

import dask
import dask.array as da
import distributed
import numpy as np
import pytest
import scipy.sparse as sp
from dask.utils import key_split
from distributed import Client, LocalCluster, Nanny, Scheduler, SpecCluster, get_worker
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.pipeline import make_pipeline

from graphsieve import (
    FloatingSieve,
    GraphSieve,
    HybridSieve,
    InputError,
    IterativeSieve,
    Supervision,
    compare,
    feature_p_values,
    scores,
    stability,
    stored,
)
from graphsieve._base.errors import InputTypeError, LostProcessError, warn
from graphsieve._base.threads import available_threads
from graphsieve.table.any_table import as_table
from graphsieve.table.stored import engines
from graphsieve.table.stored.dask_arrays import Distributed
from graphsieve.table.stored.tasks import name_of, packed, unpacked

N_SAMPLES, N_FEATURES = 60, 7
RNG = np.random.default_rng(5)
DENSE = RNG.normal(size=(N_SAMPLES, N_FEATURES)) * 10.0 ** RNG.integers(
    -1, 2, N_FEATURES
) + RNG.normal(size=N_FEATURES)
SPARSE = DENSE * (RNG.random(DENSE.shape) < 0.4)
LABELS = RNG.integers(0, 3, N_SAMPLES)
PARTLY = np.where(np.arange(N_SAMPLES) % 3 == 0, -1, LABELS)
TARGET = np.where(np.arange(N_SAMPLES) % 2 == 0, np.nan, DENSE[:, 1] + RNG.normal(size=N_SAMPLES))
PROBABILITIES = RNG.dirichlet([1.0, 1.0, 1.0], N_SAMPLES)

SCORES = {
    "LS": partial(scores.laplacian_score, bandwidth=100.0),
    "SLS": lambda X: scores.supervised_laplacian_score(X, TARGET),
    "SSLS": lambda X: scores.semi_supervised_laplacian_score(X, TARGET),
    "CLS": lambda X: scores.constrained_laplacian_score(
        X, [(0, 5), (7, 9)], [(1, 2), (3, 40)], bandwidth=100.0
    ),
    "WLS": lambda X: scores.weighted_laplacian_score(X, PROBABILITIES),
    "Fisher": lambda X: scores.fisher_score(X, PARTLY),
    "LSDF": lambda X: scores.lsdf_score(X, PARTLY),
}
SIEVES = {
    "default": lambda X: GraphSieve().fit(X, LABELS).scores_,
    "unsupervised": lambda X: GraphSieve().fit(X).scores_,
    "laplacian": lambda X: GraphSieve("laplacian").fit(X).scores_,
    "standard": lambda X: GraphSieve("laplacian", scale="standard").fit(X).scores_,
}
METHODS = SCORES | SIEVES


@pytest.fixture(scope="module")
def expected():
    """Results of every method in memory."""
    return {
        (name, sparse): method(sp.csr_array(SPARSE) if sparse else DENSE)
        for name, method in METHODS.items()
        for sparse in (0, 1)
    }


@pytest.fixture(scope="module")
def client():
    """Two worker processes with one thread each, which end with the module."""
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client
        pids = list(client.run(os.getpid).values())
    assert len(pids) == 2
    assert not [pid for pid in pids if is_running(pid)]


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def dask_array(X, chunks, *, sparse=False, meta=True):
    """Return X in chunks, dense or with CSR blocks. `meta` is whether Dask has their type."""
    array = da.from_array(np.ascontiguousarray(X), chunks=chunks)
    if not sparse:
        return array
    return array.map_blocks(
        sp.csr_array, dtype=float, meta=sp.csr_array((0, 0)) if meta else np.empty((0, 0))
    )


def cuts(total):
    """Return sizes of chunks, some of which are empty."""
    return st.lists(st.integers(0, total), max_size=5).map(
        lambda ends: tuple(np.diff([0, *sorted(ends), total]).tolist())
    )


@pytest.mark.slow
@settings(max_examples=max(5, settings.default.max_examples // 2))
@given(
    chunks=st.tuples(cuts(N_SAMPLES), cuts(N_FEATURES)),
    sparse=st.booleans(),
    meta=st.booleans(),
    threads=st.integers(1, 3),
)
def test_scores_do_not_depend_on_chunks(expected, chunks, sparse, meta, threads):
    X = dask_array(SPARSE if sparse else DENSE, chunks, sparse=sparse, meta=meta)
    with dask.config.set(
        scheduler="threads" if threads > 1 else "synchronous", num_workers=threads
    ):
        for name, method in SCORES.items():
            np.testing.assert_allclose(method(X), expected[name, sparse], rtol=1e-10, err_msg=name)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", SIEVES)
def test_sieves_do_not_depend_on_chunks(expected, name, sparse):
    X = dask_array(SPARSE if sparse else DENSE, (13, 3), sparse=sparse)
    with dask.config.set(scheduler="threads", num_workers=2):
        np.testing.assert_allclose(SIEVES[name](X), expected[name, sparse], rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True])
def test_worker_processes_of_a_cluster(client, expected, sparse):
    X = dask_array(SPARSE if sparse else DENSE, (23, 4), sparse=sparse, meta=False)
    with client.as_current():
        for name in [*SCORES, *([] if sparse else ["default", "laplacian"])]:
            np.testing.assert_allclose(
                METHODS[name](X), expected[name, sparse], rtol=1e-10, err_msg=name
            )


@pytest.mark.slow
def test_processes(expected):
    X = dask_array(SPARSE, (33, 4), sparse=True)
    with dask.config.set(scheduler="processes", num_workers=2):
        held = stored(X)
        for name, method in SCORES.items():
            np.testing.assert_allclose(method(held), expected[name, True], rtol=1e-10, err_msg=name)
    # Use the existing processes.
    same = dask.config.set(scheduler="processes", num_workers=2, pool=held._kept.pool(2))
    with same, pytest.raises(InputError, match=r"^X has 1 inf [^\n]* first at row 45;[^\n]*$"):
        scores.variance_score(da.from_array(with_inf(DENSE), chunks=(20, 7)))


def deadly_block(block, trace, block_id=None):
    """Kill the process that computes the last block, once."""
    if block_id == (2, 0) and not os.path.exists(trace):
        with open(trace, "w"):
            os.kill(os.getpid(), signal.SIGKILL)
    return block


@pytest.mark.slow
def test_a_process_that_is_killed_is_one_sentence_and_others_take_its_place(tmp_path):
    X = da.from_array(DENSE, chunks=(20, 7)).map_blocks(
        deadly_block, trace=str(tmp_path / "trace"), dtype=float, meta=np.empty((0, 0))
    )
    with dask.config.set(scheduler="processes", num_workers=2):
        held = stored(X)
        with pytest.raises(LostProcessError, match=r"^a Dask worker was lost, [^\n]*$"):
            scores.variance_score(held)
        np.testing.assert_allclose(
            scores.variance_score(held), scores.variance_score(DENSE), rtol=1e-10
        )


def test_ending_a_broken_pool_keeps_its_replacement():
    """Two threads use one table.

    The first thread starts a new pool before the second thread detects that the old pool is broken.
    """
    kept, ended = engines.WorkerState(), []
    old, new = (
        SimpleNamespace(shutdown=lambda name=name: ended.append(name)) for name in ("old", "new")
    )
    kept._pool = old
    kept.end_pool(old)
    kept._pool = new
    kept.end_pool(old)
    assert ended == ["old"]
    assert kept._pool is new


def with_nan(X):
    spoiled = X.copy()
    spoiled[45, 2] = np.nan
    return spoiled


def with_inf(X):
    spoiled = X.copy()
    spoiled[45, 2] = np.inf
    return spoiled


@pytest.mark.slow
def test_small_memory_makes_many_groups(expected):
    """The memory limit is so low that groups are parts of chunks."""
    column = 4 * 8 * N_SAMPLES
    for sparse in (False, True):
        X = dask_array(SPARSE if sparse else DENSE, (25, 4), sparse=sparse)
        with dask.config.set(scheduler="synchronous"):
            held = stored(X, memory=column + 8)
            assert len(held.row_groups()) > 3
            assert len(held.column_groups()) > 3 or sparse
            for name in ("LS", "WLS", "Fisher"):
                np.testing.assert_allclose(
                    SCORES[name](held), expected[name, sparse], rtol=1e-10, err_msg=name
                )


def test_groups_for_every_worker(client):
    X = dask_array(DENSE, (30, 7))
    with client.as_current():
        held = stored(X)
    assert held.at_once == 2
    assert len(held.column_groups()) == 2
    assert len(held.row_groups()) == 2


def large_blocks(block, block_info=None):
    """Return random values, which are generated on the worker."""
    place = block_info[None]["chunk-location"]
    return np.random.default_rng(list(place)).normal(size=block.shape)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [
        partial(scores.laplacian_score, n_neighbors=3, bandwidth=1e3),
        lambda X: scores.fisher_score(X, np.arange(2000) % 3),
        lambda X: GraphSieve("laplacian", scale="standard", n_neighbors=3).fit(X).scores_,
    ],
    ids=["laplacian_score", "fisher_score", "GraphSieve"],
)
def test_never_collected(client, monkeypatch, method):
    """The client receives fewer bytes than a quarter of X, and never two blocks in one step."""
    X = da.zeros((2000, 400), chunks=(250, 200)).map_blocks(large_blocks, dtype=float)
    sizes, gather = [], Client.gather

    def counted(self, *args, **options):
        found = gather(self, *args, **options)
        sizes.append(len(pickle.dumps(found)))
        return found

    monkeypatch.setattr(distributed.Client, "gather", counted)
    with client.as_current():
        found = method(X)
        assert len(sizes) >= 2
        assert sum(sizes) < X.nbytes / 4
        assert max(sizes) < 2 * X.nbytes / X.npartitions
        whole = X.compute()
    assert sizes[-1] > X.nbytes  # The counter detects a collected array.
    np.testing.assert_allclose(found, method(whole), rtol=1e-10)


def test_tasks_have_names(client):
    X = dask_array(DENSE, (20, 4))
    with client.as_current():
        SCORES["LS"](X)
        scores.fisher_score(X, LABELS)
    seen = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.task_prefixes))
    ours = {name for name in seen if name.startswith("graphsieve-")}
    assert {
        "graphsieve-cut",
        "graphsieve-checked-extreme",
        "graphsieve-nearest-between",
        "graphsieve-moments-of-rows",
    } <= ours
    assert any("energy" in name or "edge" in name for name in ours), ours


def test_names_say_what_is_done():
    def outer():
        return lambda block: block

    def _centered_energies():
        pass

    for work in (_centered_energies, sorted, with_nan, np.add):
        name = name_of(work)
        assert key_split(f"{name}-0123456789abcdef0123456789abcdef-3") == name
    assert name_of(partial(partial(sorted, reverse=True), [])) == "graphsieve-sorted"
    assert name_of(sorted, (np.zeros(3), outer())) == "graphsieve-test-names-say-what-is-done"


def total_with(piece, offset):
    return float(piece.sum() + offset.sum())


def test_shared_arrays_are_sent_once(client, monkeypatch):
    sent, scatter = [], Client.scatter

    def counted(self, data, *args, **options):
        sent.append((type(data), options.get("broadcast")))
        return scatter(self, data, *args, **options)

    monkeypatch.setattr(distributed.Client, "scatter", counted)
    with client.as_current():
        held = stored(dask_array(np.ones((8, 4)), (2, 2)))
        offset = np.ones(50_000)
        totals = partial(
            held.over_rows, [slice(0, 4), np.array([5, 7])], total_with, shared=(offset,)
        )
        assert list(totals()) == list(totals()) == [50_016, 50_008]
        assert sent == [(list, True)]
        offset[:] = 2  # A changed array is sent again.
        assert list(totals()) == [100_016, 100_008]
        assert len(sent) == 2
        assert len(held._kept._known) == 1
        del offset, totals  # A deleted array is released.
        assert not held._kept._known
        # The arguments of a group are sent to one worker.
        own = [np.full(20_000, 1.0), np.full(20_000, 2.0)]
        assert list(held.over_rows([slice(0, 1), slice(1, 2)], total_with, own)) == [20_004, 40_004]
        assert sent[2:] == [(list, None)]


def slow_total_with(piece, offset, folder):
    with open(os.path.join(folder, f"{os.getpid()}"), "w"):
        time.sleep(1.0)
    return total_with(piece, offset)


@pytest.mark.slow
def test_arrays_lost_with_all_workers_are_sent_again(client, tmp_path):
    """Both workers are killed while they use an array that only they hold, and are replaced."""
    pids = set(client.run(os.getpid).values())

    def kill():
        while not list(tmp_path.iterdir()):
            time.sleep(0.05)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    with client.as_current():
        held = stored(dask_array(np.ones((8, 4)), (2, 2)))
        killer = threading.Thread(target=kill)
        killer.start()
        found = list(
            held.over_rows(
                [slice(0, 4), slice(4, 8)], slow_total_with, shared=(np.ones(50_000), str(tmp_path))
            )
        )
        killer.join()
        client.wait_for_workers(2, timeout=300)
    assert found == [50_016, 50_016]
    assert not pids & set(client.run(os.getpid).values())


def test_repeated_loss_of_workers_is_one_sentence(client, monkeypatch):
    def lost(*args, **options):
        tries.append(1)
        raise distributed.KilledWorker("a task", None, 3)

    tries = []
    with client.as_current():
        held = stored(dask_array(DENSE, (20, 4)))
        monkeypatch.setattr(engines.Cluster, "_run", lost)
        with pytest.raises(LostProcessError, match=r"^a Dask worker was lost, [^\n]*$") as caught:
            list(held.over_rows([slice(0, 4)], np.sum))
    assert isinstance(caught.value.__cause__, distributed.KilledWorker)
    assert len(tries) == engines.TRIES


def logged_block(block, folder):
    """Return a block slowly, and record the process that computed it."""
    time.sleep(0.02)
    with open(os.path.join(folder, f"{time.time_ns()}-{os.getpid()}"), "w"):
        return block


@pytest.mark.slow
def test_a_worker_is_killed_during_a_run(client, tmp_path):
    X = np.random.default_rng(0).normal(size=(600, 6))
    expected = scores.laplacian_score(X)
    pids = set(client.run(os.getpid).values())
    assert len(pids) == 2
    killed = []

    def kill():
        while len(list(tmp_path.iterdir())) < 20:
            time.sleep(0.01)
        victim = int(min(tmp_path.iterdir()).name.split("-")[1])
        os.kill(victim, signal.SIGKILL)
        killed.extend([victim, time.time_ns()])

    with client.as_current():
        array = da.from_array(X, chunks=(60, 3)).map_blocks(
            logged_block, folder=str(tmp_path), dtype=float, meta=np.empty((0, 0))
        )
        killer = threading.Thread(target=kill)
        killer.start()
        found = scores.laplacian_score(array)
        end = time.time_ns()
        killer.join()
        client.wait_for_workers(2, timeout=300)
    victim, when = killed
    assert victim in pids
    assert when < end
    made = [tuple(map(int, path.name.split("-"))) for path in tmp_path.iterdir()]
    assert any(moment < when and pid == victim for moment, pid in made)
    # The sums over edges need all blocks again.
    assert sum(moment > when for moment, _ in made) >= 20
    assert victim not in {pid for moment, pid in made if moment > when}
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def block_of_named_workers(block, folder):
    """Return a block late on the slow worker, and never on the worker that is short of memory.

    The latter exceeds its memory limit and waits until its nanny ends it.
    """
    name = get_worker().name
    with open(os.path.join(folder, f"{time.time_ns()}-{name}-{os.getpid()}"), "w"):
        time.sleep(0.2 if name == "slow" else 0.02)
    if name == "short":
        excess = np.ones(2**29 // 8)
        time.sleep(60)
        del excess
    return block


@pytest.fixture
def three_workers():
    """Three workers by name. One of them has little memory."""
    limits = {"killed": 2**32, "slow": 2**32, "short": 7 * 2**26}
    workers = {
        name: {"cls": Nanny, "options": {"nthreads": 1, "memory_limit": limit}}
        for name, limit in limits.items()
    }
    scheduler = {"cls": Scheduler, "options": {"dashboard_address": ":0"}}
    with (
        SpecCluster(workers=workers, scheduler=scheduler, silence_logs=50) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(3, timeout=300)
        yield client


@pytest.mark.slow
def test_one_worker_is_killed_one_is_slow_and_one_is_short_of_memory(three_workers, tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 240)
    X = rng.normal(size=(240, 12)) + labels[:, None] * (np.arange(12) > 8)
    killed, ended = [], threading.Event()

    def seen_on(name):
        """Return the processes of a worker, in the order of the blocks that they began."""
        files = sorted(path.name.split("-") for path in tmp_path.iterdir())
        return [int(pid) for _, worker, pid in files if worker == name]

    def kill():
        while len(seen_on("killed")) < 3 and not ended.is_set():
            time.sleep(0.01)
        killed.extend(seen_on("killed")[:1])
        for pid in killed:
            os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    with three_workers.as_current():
        array = da.from_array(X, chunks=(120, 7)).map_blocks(
            block_of_named_workers, folder=str(tmp_path), dtype=float, meta=np.empty((0, 0))
        )
        killer.start()
        found = GraphSieve(n_features_to_select="auto").fit(array, labels)
        ended.set()
        killer.join()
    assert killed
    assert seen_on("slow")
    assert seen_on("short")
    assert not [pid for pid in killed + seen_on("short")[:1] if is_running(pid)]
    wanted = GraphSieve(n_features_to_select="auto").fit(X, labels)
    np.testing.assert_array_equal(found.ranking_, wanted.ranking_)
    np.testing.assert_array_equal(found.get_support(), wanted.get_support())
    np.testing.assert_allclose(found.scores_, wanted.scores_, rtol=1e-10)
    np.testing.assert_allclose(found.count_.curve, wanted.count_.curve, rtol=1e-10)


@pytest.mark.parametrize("where", ["threads", "cluster"])
def test_errors_of_workers_are_raised_unchanged(client, where):
    scheduler = client.as_current() if where == "cluster" else dask.config.set(scheduler="threads")
    with scheduler:
        for spoiled in (with_nan(DENSE), with_inf(DENSE)):
            with pytest.raises(InputError) as here:
                as_table(da.from_array(spoiled, chunks=(20, 4)), missing="refuse")
            with pytest.raises(InputError) as there:
                as_table(spoiled, missing="refuse")
            assert "row 45" in str(here.value)
            assert str(here.value).splitlines() == [str(here.value)]
            assert "row 45" in str(there.value)
        with pytest.raises(InputError, match="1 inf or -inf"):
            scores.variance_score(da.from_array(with_inf(DENSE), chunks=(20, 4)))


@pytest.mark.parametrize("where", ["threads", "cluster"])
def test_gaps(client, where):
    X = DENSE.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    scheduler = client.as_current() if where == "cluster" else dask.config.set(scheduler="threads")
    labels = (DENSE[:, 0] > np.median(DENSE[:, 0])).astype(int)
    with scheduler:
        array = da.from_array(X, chunks=(20, 4))
        for name, method in SCORES.items():
            np.testing.assert_allclose(method(array), method(X), rtol=1e-9, err_msg=name)
        found = GraphSieve(n_features_to_select=3).fit(array, labels)
        auto = GraphSieve(n_features_to_select="auto").fit(array, labels)
    assert found.get_support().sum() == 3
    assert auto.get_support().any()


class Textless(Exception):  # noqa: N818
    """An error that cannot be converted to text."""

    def __str__(self):
        raise ValueError("no text")


def failing_at_last(block, error, block_id=None):
    if block_id == (2, 1):
        raise error
    return block


@pytest.mark.parametrize("where", ["threads", "cluster"])
@pytest.mark.parametrize(
    "error",
    [KeyError("a key"), OSError("a disk\nin two lines"), Textless()],
    ids=lambda error: type(error).__name__,
)
def test_a_block_that_fails_is_one_sentence(client, where, error):
    """The error occurs in the last block, which no earlier step computes."""
    X = da.from_array(DENSE, chunks=(20, 4)).map_blocks(
        failing_at_last, error=error, dtype=float, meta=np.empty((0, 0))
    )
    scheduler = client.as_current() if where == "cluster" else dask.config.set(scheduler="threads")
    with (
        scheduler,
        pytest.raises(
            InputError,
            match=r"^X could not be read [^\n]*\(\w+: [^\n]+\); X\.compute\(\) shows [^\n]*\.$",
        ),
    ):
        scores.variance_score(X)


def broken_work(piece):
    raise ZeroDivisionError("a bug of the function")


def test_an_error_of_the_function_is_not_attributed_to_the_blocks():
    held = stored(dask_array(DENSE, (20, 4)))
    with (
        dask.config.set(scheduler="threads"),
        pytest.raises(ZeroDivisionError, match="a bug of the function"),
    ):
        list(held.over_rows([slice(0, 4)], broken_work))


@pytest.mark.parametrize("n_workers", [-1, 1.5])
def test_an_invalid_number_of_workers_is_one_sentence(n_workers):
    with (
        dask.config.set(scheduler="threads", num_workers=n_workers),
        pytest.raises(InputError, match=r"^X could not be read [^\n]*$"),
    ):
        scores.variance_score(dask_array(DENSE, (20, 4)))


def warning_work(piece):
    warn("something is odd.")
    return len(piece)


def test_warnings_are_emitted_once(client):
    with client.as_current():
        held = stored(dask_array(DENSE, (20, 4)))
        with pytest.warns(UserWarning, match=r"^something is odd\.$") as caught:
            assert list(held.over_rows([slice(0, 4), slice(4, 6)], warning_work)) == [4, 2]
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X[X[:, 0] > 0], "unknown size; call X.compute_chunk_sizes"),
        (lambda X: X.astype(complex), "type complex128"),
        (lambda X: X.astype(object), "type object"),
        (lambda X: X[:, 0], "1-D"),
        (lambda X: X[:1], "at least 2 samples"),
        (lambda X: X[:0], r"shape \(0, 7\); at least 2 samples"),
        (
            lambda X: X.map_blocks(lambda block: block[:1], dtype=float, meta=np.empty((0, 0))),
            "its chunks specify",
        ),
        (lambda X: da.ma.masked_array(X, X > 0), "blocks of type numpy.MaskedArray"),
        (
            lambda X: X.map_blocks(
                lambda block: block.astype(object), dtype=float, meta=np.empty((0, 0))
            ),
            "type object",
        ),
        (
            lambda X: X.map_blocks(
                lambda block: block.tolist(), dtype=float, meta=np.empty((0, 0))
            ),
            "blocks of type builtins.list",
        ),
        (lambda X: dask.delayed(DENSE), "is a Dask Delayed.*; pass a dask.array.Array"),
    ],
)
def test_invalid_arrays_are_refused(change, message):
    with dask.config.set(scheduler="threads"), pytest.raises(InputError, match=message) as caught:
        scores.variance_score(change(da.from_array(DENSE, chunks=(20, 4))))
    assert "\n" not in str(caught.value)


def test_searches_that_need_all_values_raise_an_error_and_collect_nothing():
    computed = []
    X = da.from_array(DENSE, chunks=(25, 3)).map_blocks(
        lambda block: computed.append(1) or block, dtype=float, meta=DENSE[:0]
    )
    for call in (
        lambda: IterativeSieve(n_features_to_select=2).fit(X),
        lambda: FloatingSieve(n_features_to_select=2).fit(X, LABELS),
        lambda: HybridSieve(n_features_to_select=2).fit(X, PARTLY),
        lambda: feature_p_values(X, LABELS),
        lambda: stability("fisher", X, LABELS, n_resamples=2),
        lambda: compare(X, LABELS),
    ):
        computed.clear()
        with pytest.raises(InputError, match="needs all of X in memory, but X is read in pieces"):
            call()
        assert len(computed) <= 1  # The first block shows whether blocks are sparse.


def test_computed_chunk_sizes_are_accepted():
    X = da.from_array(DENSE, chunks=(20, 7))
    some = X[X[:, 1] > 0].compute_chunk_sizes()
    np.testing.assert_allclose(
        scores.variance_score(some), scores.variance_score(DENSE[DENSE[:, 1] > 0]), rtol=1e-10
    )


def test_entries_are_counted():
    for meta in (True, False):
        held = stored(dask_array(SPARSE, (20, 4), sparse=True, meta=meta))
        assert held.is_sparse
        assert held.density == np.count_nonzero(SPARSE) / SPARSE.size
    held = stored(dask_array(SPARSE, (20, 4)))
    assert (held.is_sparse, held.density) == (False, 1.0)


@pytest.mark.parametrize("sparse", [False, True])
def test_pieces_are_those_of_the_array(sparse):
    X = dask_array(SPARSE, ((20, 0, 17, 23), (3, 4)), sparse=sparse)
    held = stored(X)
    groups = [
        slice(0, 60),
        slice(19, 38),
        np.array([0, 19, 20, 59]),
        np.array([], dtype=np.int64),
        np.arange(20, 37),
        np.array([59, 3, 40, 3, 21]),
    ]
    for group, piece in zip(
        groups, held.over_rows(groups, np.copy if not sparse else abs), strict=True
    ):
        wanted = SPARSE[group] if not sparse else abs(SPARSE[group])
        np.testing.assert_array_equal(piece.toarray() if sparse else piece, wanted)
    groups = [
        slice(0, 7),
        slice(2, 5),
        np.array([0, 2, 3, 6]),
        np.array([5]),
        np.array([6, 0, 4, 0, 1]),
    ]
    for group, piece in zip(
        groups, held.over_columns(groups, np.copy if not sparse else abs), strict=True
    ):
        wanted = SPARSE[:, group] if not sparse else abs(SPARSE[:, group])
        np.testing.assert_array_equal(piece.toarray() if sparse else piece, wanted)


def write_to(piece):
    piece[:] = 0


def test_the_array_of_the_caller_is_not_writeable():
    X = DENSE.copy()
    held = stored(da.from_array(X, chunks=(60, 7)))
    with pytest.raises(ValueError, match="read-only"):
        list(held.over_rows([slice(0, 60)], write_to))
    np.testing.assert_array_equal(X, DENSE)


def n_threads_within(piece):
    return available_threads()


def test_threads_share_the_cores():
    before = available_threads()
    with dask.config.set(scheduler="threads", num_workers=64):
        held = stored(da.from_array(DENSE, chunks=(20, 7)))
        assert list(held.over_rows([slice(0, 4), slice(4, 8)], n_threads_within)) == [1, 1]
    assert available_threads() == before


def test_packets():
    large, small = np.arange(20_000), np.arange(3)
    packet, arrays = packed((lambda x: x + large[-1], large, small, "text", large))
    assert len(arrays) == 1
    assert arrays[0] is large
    assert len(packet) < 5000
    unaligned = np.frombuffer(b"." + large.tobytes(), dtype=large.dtype, offset=1)
    assert not unaligned.flags.aligned
    function, first, second, text, again = unpacked(packet, [unaligned])
    assert function(1) == 20_000
    assert first.flags.aligned
    np.testing.assert_array_equal(first, large)
    np.testing.assert_array_equal(again, large)
    np.testing.assert_array_equal(second, small)
    assert text == "text"


def failing_block(block):
    raise AssertionError("this block was computed")


@pytest.mark.parametrize("sparse", [False, True])
def test_transform_is_lazy(sparse):
    X = dask_array(SPARSE, ((20, 17, 23), (3, 2, 2)), sparse=sparse)
    sieve = GraphSieve("fisher", n_features_to_select=3).fit(X, LABELS)
    chosen = sieve.transform(X)
    assert isinstance(chosen, da.Array)
    assert chosen.chunks[0] == X.chunks[0]
    assert chosen.shape == (60, 3)
    blocks = [chosen.blocks[place].compute() for place in np.ndindex(*chosen.numblocks)]
    assert all(sp.issparse(block) == sparse for block in blocks)
    if not sparse:
        np.testing.assert_array_equal(chosen.compute(), SPARSE[:, sieve.get_support()])
    never = da.from_array(SPARSE, chunks=(20, 3)).map_blocks(
        failing_block, dtype=float, meta=np.empty((0, 0))
    )
    assert sieve.transform(never).shape == (60, 3)
    with pytest.raises(
        InputError, match=r"shape \(60, 5\), but GraphSieve is expecting 7 features"
    ):
        sieve.transform(never[:, :5])


def test_pipeline_and_supervision_with_dask_arrays():
    X, y = da.from_array(DENSE, chunks=(20, 4)), da.from_array(LABELS, chunks=11)
    pipeline = make_pipeline(GraphSieve("fisher", n_features_to_select=2))
    chosen = pipeline.fit_transform(X, y)
    alone = GraphSieve("fisher", n_features_to_select=2).fit(DENSE, LABELS)
    assert isinstance(chosen, da.Array)
    np.testing.assert_array_equal(chosen.compute(), alone.transform(DENSE))
    np.testing.assert_array_equal(pipeline.transform(X).compute(), alone.transform(DENSE))
    known = Supervision.from_probabilities(da.from_array(PROBABILITIES, chunks=(20, 3)))
    found = GraphSieve("weighted_laplacian").fit(X, supervision=known).scores_
    np.testing.assert_allclose(
        found, GraphSieve("weighted_laplacian").fit(DENSE, supervision=known).scores_, rtol=1e-10
    )


def test_hours():
    X = da.from_array(DENSE, chunks=(20, 4))
    with pytest.raises(
        InputError, match=r"would take about .* hours; pass neighbors='approximate'"
    ):
        scores.laplacian_score(stored(X, hours=1e-12))
    with pytest.raises(InputTypeError, match="stored tables are"):
        stored(DENSE)


def test_approximate_neighbours():
    """The sketch of a few columns is the table itself.

    The scores therefore equal those of the approximate search in memory.
    """
    X = np.random.default_rng(3).normal(size=(20_000, 5)) @ np.random.default_rng(4).normal(
        size=(5, 8)
    )
    with dask.config.set(scheduler="threads", num_workers=2):
        found = GraphSieve("laplacian", neighbors="approximate").fit(
            da.from_array(X, chunks=(3000, 5))
        )
    here = GraphSieve("laplacian", neighbors="approximate").fit(X)
    np.testing.assert_allclose(found.scores_, here.scores_, rtol=1e-10)
    assert found.neighbor_recall_ > 0.8


def test_approximate_neighbours_of_many_columns():
    X = np.random.default_rng(3).normal(size=(3000, 5)) @ np.random.default_rng(4).normal(
        size=(5, 90)
    )
    X += 0.1 * np.random.default_rng(5).normal(size=X.shape) * np.linspace(0, 3, 90)
    with dask.config.set(scheduler="threads", num_workers=2):
        found = GraphSieve("laplacian", neighbors="approximate").fit(
            da.from_array(X, chunks=(1000, 50))
        )
    exact = GraphSieve("laplacian", neighbors="exact").fit(X)
    assert spearmanr(found.scores_, exact.scores_).statistic > 0.99


def test_a_table_can_be_copied():
    held = stored(da.from_array(DENSE, chunks=(20, 4)))
    assert isinstance(held, Distributed)
    copy = pickle.loads(pickle.dumps(held))
    np.testing.assert_allclose(
        scores.variance_score(copy), scores.variance_score(DENSE), rtol=1e-10
    )

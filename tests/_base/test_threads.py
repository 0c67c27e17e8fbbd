"""The number of threads of graphsieve and BLAS. The two are never multiplied, and all settings are
restored.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, get_ident

import numpy as np
import pytest
from joblib import Parallel, delayed
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_limits

from graphsieve import FloatingSieve, GraphSieve, HybridSieve, InputError, IterativeSieve, rank
from graphsieve._base import threads
from graphsieve._base.threads import (
    at_most_jobs,
    available_threads,
    controller,
    cores,
    in_threads,
    one_product_thread,
)
from graphsieve.graphs.neighbors.exact import nearest_neighbors
from graphsieve.select import graph_sieve


def of_blas() -> int:
    return max(
        library.num_threads
        for library in controller().lib_controllers
        if library.user_api == "blas"
    )


def of_openmp() -> int:
    return max(
        (
            library.num_threads
            for library in controller().lib_controllers
            if library.user_api == "openmp"
        ),
        default=1,
    )


@pytest.fixture(autouse=True)
def two_threads():
    """Allow two threads, whatever the environment variables are. On one core, only one is used."""
    with threadpool_limits(2):
        yield


@pytest.mark.parametrize(
    ("n_jobs", "expected"),
    [
        (None, min(2, cores())),
        (1, 1),
        (2, min(2, cores())),
        (64, min(2, cores())),
        (-1, min(2, cores())),
        (-cores(), 1),
        (-99, 1),
    ],
)
def test_the_number_of_threads_is_that_of_scikit_learn_and_restored(n_jobs, expected):
    with at_most_jobs(n_jobs):
        assert available_threads() == expected
        if n_jobs is not None:
            assert of_blas() == expected
            assert of_openmp() <= expected
    assert (of_blas(), available_threads()) == (2, min(2, cores()))


def test_it_is_restored_after_an_error():
    with pytest.raises(ZeroDivisionError), at_most_jobs(1):
        1 / (of_blas() - 1)
    assert of_blas() == 2


def test_an_inner_number_can_lower_but_not_raise():
    with at_most_jobs(1):
        with at_most_jobs(2):
            assert available_threads() == 1
        with at_most_jobs(-1):
            assert available_threads() == 1
        assert of_blas() == 1
    with at_most_jobs(2):
        with one_product_thread():
            assert of_blas() == 1
        assert of_blas() == min(2, cores())
    assert of_blas() == 2


def test_overlapping_limits_restore_the_original_setting():
    """One block ends while the other is still active. Neither may restore the other's limit."""
    together = Barrier(2, timeout=30)

    def first():
        with one_product_thread():
            together.wait()
            together.wait()
        together.wait()

    def second():
        together.wait()
        with at_most_jobs(1):
            together.wait()
            together.wait()
            assert of_blas() == 1

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(first), pool.submit(second)]:
            done.result()
    assert of_blas() == 2


def test_blas_uses_one_thread_inside_in_threads():
    seen = []
    with at_most_jobs(-1):
        in_threads(lambda jobs: seen.extend(of_blas() for _ in jobs), range(6), available_threads())
    assert seen == [1] * 6
    assert of_blas() == 2


def no_thread_left(*_):
    raise RuntimeError("can't start new thread")


@pytest.mark.parametrize(
    "start", [no_thread_left, lambda *_: 0], ids=["refused", "dead before its first line"]
)
def test_the_work_is_done_if_no_thread_starts(monkeypatch, start):
    """This happens if memory is short. It once raised an error or waited forever."""
    monkeypatch.setattr(threads, "start_new_thread", start)
    seen = []
    in_threads(seen.extend, range(6), 3)
    assert seen == list(range(6))


def test_a_thread_that_starts_late_does_nothing(monkeypatch):
    late, seen = [], []
    monkeypatch.setattr(threads, "start_new_thread", lambda function, given: late.append(function))
    in_threads(seen.extend, range(6), 3)
    assert len(late) == 2
    for function in late:
        function()
    assert seen == list(range(6))


def test_an_error_in_a_helper_thread_reaches_the_caller():
    together, caller = Barrier(2, timeout=30), get_ident()

    def work(jobs):
        together.wait()
        if get_ident() != caller:
            raise ZeroDivisionError("of a helper")

    with pytest.raises(ZeroDivisionError, match="of a helper"):
        in_threads(work, range(2), 2)
    assert of_blas() == 2


def inside_a_worker() -> tuple[int, int]:
    allowed = available_threads()
    with at_most_jobs(-1):
        return allowed, available_threads()


@pytest.mark.slow
def test_workers_of_joblib_are_not_given_more_than_joblib_gives_them():
    for allowed, inside in Parallel(n_jobs=2)(delayed(inside_a_worker)() for _ in range(2)):
        assert inside <= allowed


@pytest.mark.parametrize("n_jobs", [0, 1.5, "all", True])
def test_other_numbers_are_refused(n_jobs):
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 2
    for sieve in (
        GraphSieve(n_jobs=n_jobs),
        IterativeSieve(n_jobs=n_jobs),
        HybridSieve(n_jobs=n_jobs),
        FloatingSieve(n_jobs=n_jobs),
    ):
        with pytest.raises(InputError, match="n_jobs must be None or an integer other than 0"):
            sieve.fit(X, y)
    with pytest.raises(InputError, match="n_jobs must be None"):
        rank(X, y, n_jobs=n_jobs)


@pytest.mark.parametrize("make", [GraphSieve, IterativeSieve, HybridSieve, FloatingSieve])
def test_the_sieves_respect_the_limit(make, monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(40, 4)), np.arange(40) % 2
    seen = []
    real = make._fit_here
    monkeypatch.setattr(
        make, "_fit_here", lambda *given: seen.append(available_threads()) or real(*given)
    )
    found = make(n_jobs=1).fit(X, y)
    assert_array_equal(found.ranking_, make().fit(X, y).ranking_)
    assert seen == [1, min(2, cores())]


def test_rank_passes_n_jobs_on_and_the_result_is_the_same(monkeypatch):
    X = np.random.default_rng(0).normal(size=(200, 5))
    seen = []
    real = graph_sieve.scale_used
    monkeypatch.setattr(
        graph_sieve, "scale_used", lambda *given: seen.append(available_threads()) or real(*given)
    )
    one, other = rank(X, method="laplacian", n_jobs=1), rank(X, method="laplacian", n_jobs=-1)
    assert seen == [1, min(2, cores())]
    assert one.to_json() == other.to_json()
    assert one.parameters == other.parameters


def test_neighbors_do_not_depend_on_the_number_of_threads():
    rows = np.random.default_rng(0).normal(size=(3000, 8))
    with at_most_jobs(1):
        alone = nearest_neighbors(rows, 4)
    for one, other in zip(alone, nearest_neighbors(rows, 4), strict=True):
        assert_array_equal(one, other)

"""Equal input gives equal bytes, and neither the input nor the state of the process changes."""

from __future__ import annotations

import copy
import csv
import dataclasses
import inspect
import json
import locale
import logging
import os
import pickle
import re
import signal
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from joblib import Parallel, delayed, parallel_config
from numpy.testing import assert_array_equal
from sklearn import get_config
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_info

import graphsieve
from cases import about
from graphsieve import (
    FloatingSieve,
    GraphSieve,
    GraphSieveWarning,
    HybridSieve,
    InputError,
    IterativeSieve,
    LabeledOnly,
    Ranking,
    Supervision,
    compare,
    feature_p_values,
    rank,
    stability,
)
from graphsieve._base import threads
from graphsieve._base import warning_filters as filters
from graphsieve._base.atomic_files import replace_file
from graphsieve._base.parallel import in_parallel
from graphsieve._base.warning_filters import warnings_ignored, warnings_kept
from graphsieve.assess.evaluation.evaluating import evaluate
from graphsieve.assess.evaluation.evaluating_clusters import evaluate_clustering
from graphsieve.cli import main
from graphsieve.scores import METHODS
from graphsieve.search import SEARCHES
from graphsieve.search.propagation import harmonic_labels
from graphsieve.table.files import text
from graphsieve.table.files.opening import damage_reported
from strategies import frozen

N, P = 36, 5
RNG = np.random.default_rng(31)
X = frozen(RNG.normal(size=(N, P)) + np.outer(np.arange(N) % 2, [2, 0, 0, 0, 1]))
LABELS = frozen(np.where(np.arange(N) % 4 == 3, -1, np.arange(N) % 2))
TARGETS = frozen(np.where(np.arange(N) % 3 == 1, np.nan, X[:, 0] + X[:, 2] / 2))
MUST, CANNOT = frozen([[0, 2], [4, 6]]), frozen([[0, 1], [2, 5]])
PROBABILITIES = frozen(RNG.dirichlet([1, 1, 1], N))
KNOWN = {
    "labels": Supervision.from_labels(LABELS),
    "targets": Supervision.from_targets(TARGETS),
    "pairs": Supervision.from_pairs(N, MUST, CANNOT),
    "probabilities": Supervision.from_probabilities(PROBABILITIES),
}
GIVEN = {
    "labels": (LABELS,),
    "targets": (TARGETS,),
    "pairs": (MUST, CANNOT),
    "probabilities": (PROBABILITIES,),
}


def of_function(method):
    """Return the public function of a method as a function of the table."""
    given = GIVEN[method.uses[0]] if method.uses else ()
    return lambda table: method.function(table, *given)


def of_sieve(sieve, known=None):
    return lambda table: clone(sieve).fit(table, supervision=known)


SIEVES = {
    **{
        f"GraphSieve({name})": (GraphSieve(name), KNOWN[m.uses[0]] if m.uses else None)
        for name, m in METHODS.items()
    },
    **{f"GraphSieve by {kind}": (GraphSieve(), known) for kind, known in KNOWN.items()},
    "GraphSieve": (GraphSieve(), None),
    "GraphSieve(published)": (
        GraphSieve(redundancy=None, scale="robust", metric="cosine"),
        KNOWN["pairs"],
    ),
    "GraphSieve(correlation)": (GraphSieve("lsdf", redundancy="correlation"), KNOWN["labels"]),
    "GraphSieve(kmeans)": (GraphSieve("laplacian", compress="kmeans", n_prototypes=6), None),
    "GraphSieve(som)": (GraphSieve("laplacian", compress="som", n_prototypes=(2, 3)), None),
    "IterativeSieve": (IterativeSieve(), None),
    "IterativeSieve(lsdf)": (
        IterativeSieve("lsdf", step=2, method_params={"same_class_weight": 10.0}),
        KNOWN["labels"],
    ),
    "HybridSieve": (HybridSieve(), KNOWN["labels"]),
    "HybridSieve(floating)": (
        HybridSieve("floating", base_params={"ridge": 2.0}),
        KNOWN["labels"],
    ),
    "FloatingSieve": (FloatingSieve(), KNOWN["labels"]),
    "FloatingSieve(estimator)": (
        FloatingSieve(KNeighborsClassifier(1), cv=KFold(3), n_features_to_select=2),
        KNOWN["labels"],
    ),
}
SEARCHED = {
    "diverse": lambda table: SEARCHES["diverse"].function(
        np.ones(P), table, n_features_to_select=3
    ),
    "iterative": lambda table: SEARCHES["iterative"].function(table, bandwidth=20.0),
    "hybrid": lambda table: SEARCHES["hybrid"].function(table, LABELS, n_features_to_select=2),
    "floating": lambda table: SEARCHES["floating"].function(table, LABELS, n_features_to_select=2),
}
CALLS = {
    **{f"{name}_score": of_function(method) for name, method in METHODS.items()},
    **{name: of_sieve(*both) for name, both in SIEVES.items()},
    **{f"search {name}": call for name, call in SEARCHED.items()},
    "score_together": lambda table: graphsieve.scores.score_together(
        table, ["laplacian", "variance"]
    ),
    "rank": lambda table: rank(table, LABELS),
    "rank, page": lambda table: rank(table, LABELS).to_html(),
    "rank, JSON": lambda table: rank(table, LABELS).to_json(),
    "compare": lambda table: compare(table, LABELS, methods=["fisher", "variance"], folds=2),
    "stability": lambda table: stability(
        GraphSieve(n_features_to_select=2), table, LABELS, n_resamples=4
    ),
    "feature_p_values": lambda table: feature_p_values(table, LABELS, n_permutations=99),
    "harmonic_labels": lambda table: harmonic_labels(table, LABELS),
    "LabeledOnly": lambda table: LabeledOnly(LogisticRegression()).fit(table, LABELS),
}
every_call = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in ("compare", "stability") else ())
        for name in CALLS
    ],
)
every_sieve = pytest.mark.parametrize("name", SIEVES)


def called(name, table=X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        return CALLS[name](table)


def without_times(facts):
    """Return a page or document without its time stamp."""
    return (
        re.sub(r"\d+(\.\d+)? (s|seconds)\b|20\d\d-\d\d-\d\d[T ]?[\d:.+Z]*", "", facts)
        if isinstance(facts, str)
        else facts
    )


def as_bytes(result):
    """Return all values of a result except for run times.

    A pickle would also depend on whether two equal objects are identical.
    """
    if isinstance(result, np.ndarray):
        values = repr(result.tolist()) if result.dtype == object else result.tobytes().hex()
        return f"{result.dtype.str}{result.shape}{values}".encode()
    if isinstance(result, dict):
        return (
            b"{"
            + b",".join(
                as_bytes(key) + b":" + as_bytes(value)
                for key, value in result.items()
                if key != "seconds"
            )
            + b"}"
        )
    if hasattr(result, "_asdict"):
        return as_bytes(result._asdict())
    if isinstance(result, list | tuple):
        return b"[" + b",".join(map(as_bytes, result)) + b"]"
    if hasattr(result, "__dict__") and not callable(result):
        values = {name: value for name, value in vars(result).items() if name != "_portraits"}
        if isinstance(result, Supervision):  # without cached values
            values = result.__getstate__()
        if isinstance(result, Ranking):  # figures are computed on demand
            values["portraits"] = result.portraits
        return type(result).__name__.encode() + as_bytes(values)
    return without_times(repr(result)).encode()


# ---- the same again


@every_call
def test_the_same_input_gives_the_same_bytes(name):
    assert as_bytes(called(name)) == as_bytes(called(name))


@pytest.mark.parametrize(
    "kind",
    [
        "rank.json",
        "rank.csv",
        "rank.html",
        "select.csv",
        pytest.param("compare.html", marks=pytest.mark.slow),
        pytest.param("compare.json", marks=pytest.mark.slow),
    ],
)
def test_the_command_writes_the_same_bytes(tmp_path, monkeypatch, kind, capsys):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(
        y=np.where(LABELS < 0, "", LABELS.astype(str))
    )
    frame.to_csv("table.csv", index=False)
    command, _, ending = kind.partition(".")
    option = "--report" if ending == "html" else "-o"
    for place in ("one", "two"):
        assert (
            main([command, "table.csv", "--target", "y", option, f"{place}.{ending}", "--quiet"])
            == 0
        ), capsys.readouterr().err
    one, two = (
        Path(f"{place}.{ending}").read_text().replace(f"{place}.{ending}", "")
        for place in ("one", "two")
    )
    assert without_times(one) == without_times(two)
    assert ending != "json" or json.loads(one)


# ---- nothing that was given is changed


HOLDERS = {
    "writable": lambda: np.array(X),
    "Fortran": lambda: np.asfortranarray(X),
    "float32": lambda: X.astype(np.float32),
    "CSR": lambda: sp.csr_array(np.where(X > 0.3, X, 0.0)),
    "CSC": lambda: sp.csc_array(np.where(X > 0.3, X, 0.0)),
    "frame": lambda: pd.DataFrame(X, columns=list("abcde")),
}


def content(table):
    if sp.issparse(table):
        return table.data.tobytes(), table.indices.tobytes(), table.indptr.tobytes()
    return (table.to_numpy() if isinstance(table, pd.DataFrame) else table).tobytes()


@every_call
def test_tables_are_left_as_they_were(name):
    """All other tests here use read-only arrays, so that writing to one is an error."""
    for holder, make in HOLDERS.items():
        table = make()
        before = content(table)
        called(name, table)
        assert content(table) == before, holder


def arrays_of(known):
    """Return the data of an object, without values that it has cached since."""
    values = {field.name: getattr(known, field.name) for field in dataclasses.fields(known)}
    return {
        name: value.tobytes() for name, value in values.items() if isinstance(value, np.ndarray)
    }


def knowledge():
    """Return all input except for tables, as bytes."""
    plain = (LABELS, TARGETS, MUST, CANNOT, PROBABILITIES, X)
    assert not any(array.flags.writeable for array in plain)
    return [arrays_of(known) for known in KNOWN.values()], [array.tobytes() for array in plain]


@pytest.mark.parametrize(
    "y",
    [np.array(LABELS), np.array(TARGETS), pd.Series(LABELS), LABELS.tolist()],
    ids=lambda y: type(y).__name__,
)
def test_y_is_left_as_it_was(y):
    before = copy.deepcopy(y)
    for sieve in (GraphSieve(), HybridSieve(), FloatingSieve()):
        if not (isinstance(sieve, HybridSieve) and np.asarray(y).dtype.kind == "f"):
            sieve.fit(X, y)
    rank(X, y)
    np.testing.assert_array_equal(np.asarray(y), np.asarray(before))


@every_sieve
def test_results_belong_to_the_sieve(name):
    """Writing to the results of one sieve changes neither another sieve nor the input."""
    sieve, known = SIEVES[name]
    one, other = (clone(sieve).fit(X, supervision=known) for _ in range(2))
    before = as_bytes(other)
    for value in vars(one).values():
        if isinstance(value, np.ndarray) and value.flags.writeable and value.dtype.kind in "fi":
            value[...] = 0
    assert as_bytes(other) == before


# ---- nothing else is changed


def state():
    """Return the global state of the process that code might change."""
    kind, keys, *rest = np.random.get_state()  # noqa: NPY002
    return {
        "numpy.random": (kind, keys.tobytes(), *rest),
        "np.geterr": np.geterr(),
        "np.printoptions": np.get_printoptions(),
        "warnings": list(warnings.filters),
        "threads": [(library["prefix"], library["num_threads"]) for library in threadpool_info()],
        "environ": dict(os.environ),
        "folder": os.getcwd(),
        "sklearn": get_config(),
        "csv": csv.field_size_limit(),
        "signals": [
            signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)
        ],
        "path": list(sys.path),
        "handlers": list(logging.root.handlers),
        "locale": locale.setlocale(locale.LC_ALL),
    }


@every_call
@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
def test_neither_what_is_known_nor_anything_in_the_process_is_changed(name):
    given = knowledge()
    CALLS[name](X)  # Imported libraries may start threads.
    before = state()
    CALLS[name](X)
    assert state() == before
    assert knowledge() == given


@every_call
@pytest.mark.filterwarnings("ignore::graphsieve.GraphSieveWarning")
def test_nothing_in_the_process_is_changed_by_an_error(name):
    before = state()
    broken = np.array(X)
    broken[4, 1] = np.inf
    with pytest.raises(ValueError, match="inf"):
        CALLS[name](broken)
    assert state() == before


def test_nothing_in_the_process_is_changed_by_reading_and_by_the_command(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    long_cell = "x" * 200_000  # beyond what the csv module takes by itself
    Path("table.csv").write_text(
        "a,b,c\n"
        + "".join(f"{2 * i},{i * i % 7},{long_cell if i == 3 else 'z'}\n" for i in range(20))
    )
    main(["rank", "table.csv", "--report", "warm.html"])
    before = state()
    assert graphsieve.read_table("table.csv").matrix.shape == (20, 3)
    assert main(["rank", "table.csv", "--report", "page.html"]) == 0
    assert main(["rank", "table.csv", "--top", "9"]) == 3
    assert main(["rank", "nowhere.csv"]) == 2
    capsys.readouterr()
    assert state() == before


def test_a_file_is_written_without_a_word_to_other_threads(tmp_path, monkeypatch):
    """The file mode mask belongs to the process. While it is changed, new files of other threads
    would be readable by all users.
    """
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the mask was changed"))
    monkeypatch.setattr(os, "chdir", lambda path: pytest.fail("the folder was changed"))
    replace_file(tmp_path / "new.txt", "text")
    replace_file(tmp_path / "new.txt", "other text")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [
        ("new.txt", "other text")
    ]


def test_the_last_of_two_readers_of_long_cells_restores_the_limit():
    usual = csv.field_size_limit()
    one, other = text._long_cells.held(), text._long_cells.held()
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert csv.field_size_limit() == text.LONGEST_CELL
    other.__exit__(None, None, None)
    assert csv.field_size_limit() == usual


def warned_of(kept):
    return [str(warning.message) for warning in kept]


def test_filters_of_warnings_are_restored_by_the_last_however_they_overlap():
    before, showing = list(warnings.filters), warnings.showwarning
    reader, other = damage_reported("one.npz", "NPZ"), warnings_ignored("of another", UserWarning)
    reader.__enter__()
    other.__enter__()
    warnings.warn("of a library", UserWarning, stacklevel=1)
    reader.__exit__(None, None, None)
    warnings.warn("of another", UserWarning, stacklevel=1)
    # The filter of the reader is gone, that of the suite is back
    with pytest.raises(UserWarning, match="of a library"):
        warnings.warn("of a library", UserWarning, stacklevel=1)
    other.__exit__(None, None, None)
    assert warnings.filters == before
    assert warnings.showwarning is showing


def a_child_can(use):
    """Whether a child of this process succeeds within some seconds."""
    child = os.fork()
    if not child:
        signal.alarm(10)
        try:
            use()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
@pytest.mark.parametrize(
    "lock",
    [filters._shared.lock, text._long_cells.lock, threads._lock],
    ids=["filters", "text", "threads"],
)
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_does_not_wait_for_a_lock_of_a_thread_that_it_has_not(lock):
    def hold():
        with lock:
            held.set()
            time.sleep(0.5)  # the fork waits for this thread, or else the child would for ever

    held = threading.Event()
    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    assert a_child_can(lambda: lock.acquire(timeout=5) or os._exit(2))
    holder.join()
    assert not lock.locked()


def test_removing_a_filter_keeps_equal_filters():
    """A filter set by the user must stay, too.

    `warnings.filterwarnings` would move it, and removing the library's filter would remove it.
    """
    one, other = (
        warnings_ignored("of a library", UserWarning),
        warnings_ignored("of a library", UserWarning),
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "of a library", UserWarning)
        before = list(warnings.filters)
        one.__enter__()
        other.__enter__()
        one.__exit__(None, None, None)
        warnings.filters.remove(before[0])  # so that only the other one is left
        warnings.warn("of a library", UserWarning, stacklevel=1)
        other.__exit__(None, None, None)
        assert warnings.filters == before


def test_a_child_has_no_filters_and_limits_of_threads_that_it_has_not(tmp_path):
    """The threads do not exist in the child, so they would never restore these settings."""
    usual, filters, showing = csv.field_size_limit(), list(warnings.filters), warnings.showwarning
    blas = [library["num_threads"] for library in threadpool_info()]
    inside, leave = threading.Event(), threading.Event()

    def work():
        with warnings_ignored(), text._long_cells.held(), threads.at_most(1):
            inside.set()
            leave.wait(timeout=60)

    def look():
        clean = (csv.field_size_limit(), warnings.filters, warnings.showwarning) == (
            usual,
            filters,
            showing,
        )
        with threads.at_most(100):
            pass
        return (
            clean
            and [library["num_threads"] for library in threadpool_info()] == blas
            and not threads._limits
        )

    other = threading.Thread(target=work)
    other.start()
    inside.wait(timeout=60)
    assert warnings.filters != filters
    with warnings_ignored("of the thread that forks"):
        inner = list(warnings.filters)
        assert a_child_can(lambda: warnings.filters == inner or os._exit(2))
    assert a_child_can(lambda: look() or os._exit(2))
    leave.set()
    other.join()
    assert (csv.field_size_limit(), warnings.filters) == (usual, filters)


def test_each_thread_keeps_its_own_warnings():
    before, showing, both_inside = (
        list(warnings.filters),
        warnings.showwarning,
        threading.Barrier(2),
    )

    def keep(words):
        with warnings_kept() as kept:
            both_inside.wait(timeout=60)
            warnings.warn(words, GraphSieveWarning, stacklevel=1)
            both_inside.wait(timeout=60)
        return warned_of(kept)

    with warnings.catch_warnings(), ThreadPoolExecutor(2) as pool:
        warnings.simplefilter("always", GraphSieveWarning)
        assert list(pool.map(keep, ["one", "other"])) == [["one"], ["other"]]
    assert warnings.filters == before
    assert warnings.showwarning is showing
    with pytest.warns(GraphSieveWarning, match="after"):
        warnings.warn("after", GraphSieveWarning, stacklevel=1)


def test_a_floating_search_by_an_estimator_leaves_the_filters_of_warnings_while_it_works():
    """`cross_val_score` would clear and restore them for each fold, regardless of other threads."""
    before, during = list(warnings.filters), []

    def scoring(model, rows, outcome):
        during.append(list(warnings.filters))
        return model.score(rows, outcome)

    FloatingSieve(
        n_features_to_select=2, estimator=LogisticRegression(), scoring=scoring, cv=2
    ).fit(X, LABELS)
    assert during
    assert all(filters == before for filters in during)


@pytest.mark.slow
def test_evaluation_in_eight_threads_leaves_the_filters_of_warnings():
    before, showing = list(warnings.filters), warnings.showwarning

    def judge(number):
        if number % 2:
            return evaluate_clustering("variance", X, LABELS, sizes=[2], repeats=1, n_init=1)
        return evaluate([GraphSieve("fisher")], X, LABELS, sizes=[2], learners=["1nn"], folds=2)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(judge, range(32)))
    assert warnings.filters == before
    assert warnings.showwarning is showing


# ---- copies, threads and processes


@every_sieve
def test_a_copy_of_a_fitted_sieve_is_the_same(name):
    sieve, known = SIEVES[name]
    frame = pd.DataFrame(X, columns=list("abcde"))
    fitted = clone(sieve).fit(frame, supervision=known)
    for how, other in {
        "deepcopy": copy.deepcopy(fitted),
        "copy": copy.copy(fitted),
        "pickle": pickle.loads(pickle.dumps(fitted)),
    }.items():
        with about(how):
            assert as_bytes(other) == as_bytes(fitted)
            assert repr(other) == repr(fitted)
            assert other.transform(frame).equals(fitted.transform(frame))
            assert_array_equal(other.get_feature_names_out(), fitted.get_feature_names_out())
    assert as_bytes(clone(fitted).fit(frame, supervision=known)) == as_bytes(fitted)


@pytest.mark.parametrize(
    "how",
    [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))],
    ids=["deepcopy", "pickle"],
)
def test_a_copy_of_knowledge_and_of_results_is_the_same(how):
    for value in (
        *KNOWN.values(),
        called("rank"),
        called("compare"),
        called("stability"),
        called("feature_p_values"),
    ):
        assert as_bytes(how(value)) == as_bytes(value)


def fit_elsewhere(name):
    sieve, known = SIEVES[name]
    return as_bytes(clone(sieve).fit(X, supervision=known))


@pytest.mark.slow
def test_processes_find_the_same():
    names = list(SIEVES)
    assert Parallel(n_jobs=2, backend="loky")(delayed(fit_elsewhere)(name) for name in names) == [
        fit_elsewhere(name) for name in names
    ]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_work_is_shared_by_whatever_joblib_was_told_to_use(backend):
    """This includes backends that return all results in one step."""
    with parallel_config(backend=backend):
        assert in_parallel(pow, [(2, 3), (3, 2), (5, 1)], title="work", n_jobs=2) == [8, 9, 5]


@pytest.mark.slow
def test_eight_threads_find_the_same():
    names = list(CALLS)
    alone = [as_bytes(called(name)) for name in names]
    with warnings.catch_warnings(), ThreadPoolExecutor(8) as pool:
        warnings.simplefilter("ignore", GraphSieveWarning)  # filters belong to the process
        together = list(pool.map(lambda name: as_bytes(CALLS[name](X)), names * 2))
    assert together == alone * 2


@pytest.mark.parametrize(("n_jobs", "started"), [(-1, 2), (10**12, 2), (2, 2)])
def test_there_are_no_more_processes_than_there_is_work(monkeypatch, n_jobs, started):
    asked = []

    def parallel(n_jobs, **options):
        asked.append(n_jobs)
        return lambda calls: [function(*given) for function, given, _ in calls]

    monkeypatch.setattr(graphsieve._base.parallel, "Parallel", parallel)
    monkeypatch.setattr(
        graphsieve._base.parallel, "effective_n_jobs", lambda n_jobs: 64 if n_jobs < 0 else n_jobs
    )
    assert in_parallel(pow, [(2, 3), (3, 2)], title="work", n_jobs=n_jobs) == [8, 9]
    assert asked == [started]


def test_all_that_computes_is_here():
    estimators = {
        name
        for name in graphsieve.__all__
        if inspect.isclass(getattr(graphsieve, name)) and hasattr(getattr(graphsieve, name), "fit")
    }
    assert estimators == {
        "FloatingSieve",
        "GraphSieve",
        "HybridSieve",
        "IterativeSieve",
        "LabeledOnly",
    }
    assert {f"{name}_score" for name in METHODS} <= CALLS.keys()
    assert SEARCHED.keys() == SEARCHES.keys()


BROKEN = frozen(np.where(np.arange(X.size).reshape(X.shape) == 0, np.inf, X))


def test_a_fit_that_fails_leaves_the_one_before():
    """Other failures are tested in test_bad_input_searches.py."""
    for name, (sieve, known) in SIEVES.items():
        fitted = clone(sieve).fit(X, supervision=known)
        before = as_bytes(fitted)
        with about(name), pytest.raises(InputError, match="1 inf"):
            fitted.fit(BROKEN, supervision=known)
        assert as_bytes(fitted) == before, name


def test_labeled_only_stays_fitted_where_its_estimator_fails():
    model = LabeledOnly(LogisticRegression()).fit(X, LABELS)
    before = model.predict(X).tolist(), model.n_labeled_
    with pytest.raises(ValueError, match="infinity"):
        model.fit(BROKEN, np.where(np.arange(len(X)) < 4, LABELS, -1))
    assert (model.predict(X).tolist(), model.n_labeled_) == before

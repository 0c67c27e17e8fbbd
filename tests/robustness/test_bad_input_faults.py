"""Wrong use and machine faults in Python: sections F, I and J of the table of bad input, and very
large tables.

Other rows are in test_bad_input.py (values, containers, shapes, targets, pairs) and
test_cli_bad_input.py (the command line).
"""

from __future__ import annotations

import errno
import io
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import warnings
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import scipy.sparse.linalg as sla
from joblib import Parallel, delayed
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from cases import about, case
from graphsieve import (
    FloatingSieve,
    GraphSieve,
    GraphSieveWarning,
    HybridSieve,
    InputError,
    InputTypeError,
    IterativeSieve,
    LabeledOnly,
    Supervision,
    compare,
    feature_p_values,
    rank,
    read_table,
    scores,
    stability,
)
from graphsieve._base.parallel import LostProcessError, in_parallel
from graphsieve.scores import METHODS
from graphsieve.search import propagation
from graphsieve.table.columns import MemoryTable
from strategies import frozen

N, P = 60, 6
RNG = np.random.default_rng(11)
X = frozen(RNG.normal(size=(N, P)) + np.outer(np.arange(N) % 2, [2, 0, 0, 0, 1, 0]))
LABELS = frozen(np.where(np.arange(N) % 4 == 3, -1, np.arange(N) % 2))
TARGET = frozen(np.where(np.arange(N) % 3 == 1, np.nan, X[:, 0] + X[:, 2] / 2))
KNOWN = {
    "labels": Supervision.from_labels(LABELS),
    "targets": Supervision.from_targets(TARGET),
    "pairs": Supervision.from_pairs(N, [[0, 2], [4, 6]], [[0, 1], [2, 5]]),
    "probabilities": Supervision.from_probabilities(RNG.dirichlet([1, 1, 1], N)),
}
SIEVES = {
    **{f"GraphSieve({name})": GraphSieve(name) for name in METHODS},
    "GraphSieve": GraphSieve(),
    "IterativeSieve": IterativeSieve(),
    "HybridSieve": HybridSieve(),
    "FloatingSieve": FloatingSieve(),
}
# One sieve of each class, and one with a method. Valid parameters do not depend on the method.
CLASSES = ("GraphSieve", "GraphSieve(laplacian)", "IterativeSieve", "HybridSieve", "FloatingSieve")
every_class = pytest.mark.parametrize("name", CLASSES)


def known_to(name):
    """Return the supervision for a sieve of that name."""
    uses = (
        METHODS[name[11:-1]].uses
        if name.startswith("GraphSieve(")
        else ()
        if name == "IterativeSieve"
        else ("labels",)
    )
    return KNOWN[uses[0]] if uses else None


def fitted(name, table=X, known=None, **parameters):
    return (
        clone(SIEVES[name])
        .set_params(**parameters)
        .fit(table, supervision=known_to(name) if known is None else known)
    )


def python(code, *arguments, timeout=120, **environment):
    """Run code in a new process and return its output."""
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env={**os.environ, **environment},
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


# --------------------------------------------------------------------------------------------------
# B. Tables of other libraries, and larger than memory
# --------------------------------------------------------------------------------------------------


@case(31)
@pytest.mark.slow
@pytest.mark.skipif(
    not sys.platform.startswith("linux"),
    reason="the limit counts what is private to a process only on Linux",
)
def test_a_memory_map_is_read_by_blocks(tmp_path):
    """Read a sparse file of one gigabyte with a fifth of that memory."""
    code = """
        import resource, sys, warnings
        import numpy as np
        from graphsieve import GraphSieve
        n, p = 260_000, 500
        rows = np.arange(0, n, 1000)
        values = np.random.default_rng(0).normal(size=(len(rows), p))
        table = np.memmap(sys.argv[1], mode="w+", shape=(n, p), dtype=np.float64)
        table[rows] = values
        del table
        table = np.memmap(sys.argv[1], mode="r", shape=(n, p), dtype=np.float64)
        GraphSieve("variance").fit(values)  # all that is loaded late is loaded now
        used = [int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData")][0] * 1024
        resource.setrlimit(resource.RLIMIT_DATA, (used + table.nbytes // 5,) * 2)
        y = np.arange(n) % 2
        for scale in ("auto", None):
            for method in ("fisher", "variance"):
                found = GraphSieve(method, scale=scale).fit(table, y if method == "fisher" else None).scores_
                assert np.isfinite(found).all()
        # By hand: all other rows are zero.
        expected = (values**2).sum(axis=0) / n - (values.sum(axis=0) / n) ** 2
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    """
    python(code, tmp_path / "table.bin", OMP_NUM_THREADS="1")


class ArrayInChunks:
    """Minimal substitute for a Dask array."""

    def __init__(self, values, shape):
        self._values, self.shape = values, shape

    def compute_chunk_sizes(self):
        return ArrayInChunks(self._values, self._values.shape)

    def __array__(self, dtype=None, copy=None):
        return self._values


@case(51)
def test_arrays_of_unknown_size():
    for call in (rank, GraphSieve().fit, scores.variance_score):
        with pytest.raises(InputError, match=r"unknown size; call X.compute_chunk_sizes\(\) first"):
            call(ArrayInChunks(X, (np.nan, P)))
    known = ArrayInChunks(X, (np.nan, P)).compute_chunk_sizes()
    assert_array_equal(rank(known).scores, rank(X).scores)


@case(51, 52)
def test_arrays_of_dask():
    """The computation runs on the blocks in any layout, without rechunking and its warning."""
    dask = pytest.importorskip("dask.array")
    split = dask.from_array(np.array(X), chunks=(17, 2))
    assert_allclose(rank(split).scores, rank(X).scores, rtol=1e-10)
    with pytest.raises(InputError, match=r"needs all of X in memory, but X is read in pieces"):
        IterativeSieve().fit(split)
    with pytest.raises(
        InputTypeError,
        match=r"X is a Dask array, but this function needs all of X in memory; pass X.compute\(\)",
    ):
        MemoryTable(split)
    with pytest.raises(InputError, match=r"compute_chunk_sizes\(\)"):
        rank(split[split[:, 0] > 0])


@case(52)
def test_arrays_split_by_columns():
    """Objects that convert to an array are read completely, so chunks along columns work too."""
    assert_array_equal(rank(ArrayInChunks(X, X.shape)).scores, rank(X).scores)


# --------------------------------------------------------------------------------------------------
# F. Parameters and pipelines
# --------------------------------------------------------------------------------------------------


@case(120)
@every_class
def test_a_number_of_features_that_cannot_be(name):
    for asked in (0, -1, P + 1, float("nan"), True, "half", 10**30, float("inf"), type(None)):
        with about(asked), pytest.raises(InputError, match="n_features_to_select") as caught:
            fitted(name, n_features_to_select=asked)
        assert "\n" not in str(caught.value)
        assert asked != P + 1 or f"{P}" in str(caught.value)


@case(121)
@every_class
def test_a_fraction_that_cannot_be(name):
    for asked in (0.0, -0.5, 1.5, 2.0, -0.0):
        with about(asked), pytest.raises(InputError, match="n_features_to_select") as caught:
            fitted(name, n_features_to_select=asked)
        assert "\n" not in str(caught.value)


OPTIONS = {
    "GraphSieve": {
        "method": "laplacain",
        "scale": "standrad",
        "redundancy": "explian",
        "metric": "cosin",
        "target_type": "clases",
        "missing": "refuze",
    },
    "IterativeSieve": {
        "method": "laplacain",
        "scale": "standrad",
        "target_type": "clases",
        "missing": "refuze",
    },
    "HybridSieve": {"base": "fischer", "scale": "standrad", "missing": "refuze"},
    "FloatingSieve": {"target_type": "clases", "missing": "refuze"},
}
MEANT = {
    "laplacain": "laplacian",
    "standrad": "standard",
    "explian": "explain",
    "cosin": "cosine",
    "clases": "classes",
    "fischer": "fisher",
    "refuze": "refuse",
}


@case(122)
@pytest.mark.parametrize("name", OPTIONS)
def test_a_misspelt_option_names_the_nearest(name):
    for option, value in OPTIONS[name].items():
        with about(option), pytest.raises(InputError, match=f"'{value}'") as caught:
            fitted(name, **{option: value})
        assert f"'{MEANT[value]}'" in str(caught.value)
        assert "\n" not in str(caught.value)


@case(123, 124)
@every_class
def test_parameters_are_stored_and_not_looked_at_before_fit(name):
    sieve = clone(SIEVES[name])
    odd = {parameter: object() for parameter in sieve.get_params(deep=False)}
    made = type(sieve)(**odd)
    assert made.get_params(deep=False) == odd
    assert sieve.set_params(**odd).get_params(deep=False) == odd
    with pytest.raises(InputError):
        made.fit(X, LABELS)


@case(124)
@every_class
def test_parameters_go_round(name):
    sieve = SIEVES[name]
    copy = clone(sieve)
    assert copy is not sieve
    assert copy.get_params() == sieve.get_params()
    assert_array_equal(fitted(name).ranking_, fitted(name).ranking_)
    before = fitted(name)
    assert clone(before).get_params() == before.get_params()
    assert not [attribute for attribute in vars(clone(before)) if attribute.endswith("_")]


@case(125)
def test_a_second_fit_replaces_all_of_the_first():
    """All attributes of further sieves are compared in test_bad_input_searches.py."""
    for name in SIEVES:
        with about(name):
            check_second_fit(name)


def check_second_fit(name):
    other, known = frozen(np.delete(X[::-1], 2, axis=1)), known_to(name)
    names = pd.DataFrame(X, columns=[f"f{j}" for j in range(P)])
    turned = None if known is None else known[np.arange(N)[::-1]]
    again = clone(SIEVES[name]).fit(names, supervision=known).fit(other, supervision=turned)
    fresh = fitted(name, other, turned)
    assert vars(again).keys() == vars(fresh).keys()
    assert pickle.dumps(again.ranking_) == pickle.dumps(fresh.ranking_)
    assert again.n_features_in_ == P - 1


@case(126)
def test_a_target_with_gaps_in_a_pipeline():
    with pytest.raises(ValueError, match="y contains NaN"):
        make_pipeline(GraphSieve(), Ridge()).fit(X, TARGET)
    model = make_pipeline(GraphSieve(), LabeledOnly(Ridge())).fit(X, TARGET)
    chosen, rows = model[0].get_support(), ~np.isnan(TARGET)
    expected = Ridge().fit(X[rows][:, chosen], TARGET[rows])
    assert_allclose(model.predict(X), expected.predict(X[:, chosen]), rtol=1e-12)


@case(128)
@pytest.mark.slow
def test_sieves_in_processes():
    elsewhere = Parallel(n_jobs=2)(delayed(fitted)(name) for name in SIEVES)
    for name, there in zip(SIEVES, elsewhere, strict=True):
        here = fitted(name)
        assert_array_equal(there.ranking_, here.ranking_, err_msg=name)
        if hasattr(here, "scores_"):
            assert_array_equal(there.scores_, here.scores_, err_msg=name)


@case(128)
@pytest.mark.slow
def test_comparisons_and_resampling_in_processes():
    one = stability(GraphSieve(n_features_to_select=2), X, LABELS, n_resamples=6)
    two = stability(GraphSieve(n_features_to_select=2), X, LABELS, n_resamples=6, n_jobs=2)
    assert pickle.dumps(one.frequency) == pickle.dumps(two.frequency)
    answers = [
        compare(X, LABELS, methods=["fisher", "variance"], folds=2, n_jobs=n_jobs)
        for n_jobs in (None, 2)
    ]
    assert answers[0].to_json() == answers[1].to_json()


@case(129)
def test_eight_threads_with_a_sieve_each():
    names = sorted(SIEVES)
    alone = {name: fitted(name) for name in names}
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(fitted, names * 3))
    for name, sieve in zip(names * 3, together, strict=True):
        assert_array_equal(sieve.ranking_, alone[name].ranking_)
        if hasattr(sieve, "scores_"):
            assert_array_equal(sieve.scores_, alone[name].scores_)


RANDOM = {
    "stability": lambda state: (
        stability(
            GraphSieve(n_features_to_select=2), X, LABELS, n_resamples=5, random_state=state
        ).frequency
    ),
    "feature_p_values": lambda state: (
        feature_p_values(X, LABELS, n_permutations=200, random_state=state).p_values
    ),
    "compare": lambda state: compare(
        X, LABELS, methods=["fisher", "variance"], folds=2, random_state=state
    ).to_json(),
}
SEEDS = {
    "number": lambda: 7,
    "Generator": lambda: np.random.default_rng(7),
    "RandomState": lambda: np.random.RandomState(7),
    "SeedSequence": lambda: np.random.SeedSequence(7),
}


@case(130)
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name == "compare" else ()) for name in RANDOM],
)
def test_the_same_seed_gives_the_same_bits(name):
    for kind, seed in SEEDS.items():
        first, second = (RANDOM[name](seed()) for _ in range(2))
        assert pickle.dumps(first) == pickle.dumps(second), kind
    RANDOM[name](None)
    for odd in (-1, 1.5, "7", True, [1.5]):
        with about(odd), pytest.raises(InputError, match="random_state must be"):
            RANDOM[name](odd)


@case(131)
@pytest.mark.slow
def test_an_old_scikit_learn_is_named():
    """Simulate version 1.5 by removing what version 1.6 introduced."""
    code = """
        import sklearn.cluster, sklearn.feature_selection, sklearn.linear_model, sklearn.metrics, sklearn.model_selection
        sklearn.__version__ = "1.5.2"
        del sklearn.utils.validation.validate_data
        for name in ("GraphSieve", "LabeledOnly", "rank"):
            try:
                __import__("graphsieve", fromlist=[name]).__getattr__(name)
            except ImportError as error:
                print(error)
    """
    told = (
        "graphsieve needs scikit-learn 1.6 or newer, but 1.5.2 is installed; pip install -U "
        "scikit-learn."
    )
    assert python(code).splitlines() == [told] * 3


@case(132)
def test_clean_data_warn_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in SIEVES:
            with about(name):
                fitted(name).transform(X)
        rank(X, LABELS).to_html()


# --------------------------------------------------------------------------------------------------
# I. Security
# --------------------------------------------------------------------------------------------------

HOSTILE = (
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "${alert(1)}",
    "{{constructor.constructor('alert(1)')()}}",
    "</title><style>*{display:none}</style>",
)


class Elements(HTMLParser):
    """Parser that collects the names and attributes of all elements."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def pages():
    table = pd.DataFrame(X, columns=HOSTILE)
    ranking = rank(table, np.where(LABELS == 0, "<b>a", "</script>b"))
    compared = compare(table, LABELS, methods=["fisher", "variance"], folds=2)
    return {
        "to_html": ranking.to_html(title=HOSTILE[0]),
        "_repr_html_": ranking._repr_html_(),
        "compared": ranking.to_html(comparison=compared),
    }


@case(189, 190)
def test_names_of_columns_are_data_in_every_page():
    for name, page in pages().items():
        elements = Elements(page).found
        assert not {"img", "iframe", "object", "embed", "base", "form"} & {
            tag for tag, _ in elements
        }, name
        assert not [
            key for _, attributes in elements for key in attributes if key.startswith("on")
        ], name
        links = [
            value
            for _, attributes in elements
            for key, value in attributes.items()
            if key in ("href", "src")
        ]
        assert not [link for link in links if not link.startswith(("#", "data:"))], name
        for markup in ("<script>document.title", "<img src=x", "</title><style>*", "<b>a"):
            assert markup not in page, name


# --------------------------------------------------------------------------------------------------
# J. Resources and faults
# --------------------------------------------------------------------------------------------------


@case(201)
def test_a_complete_graph_that_would_not_fit_is_refused_before_it_is_made():
    table, y = np.zeros((1_000_000, 1)), np.full(1_000_000, -1)
    table[:, 0], y[:4] = np.arange(1_000_000), [0, 1, 0, 1]
    for call in (
        lambda: propagation.harmonic_labels(table, y),
        lambda: HybridSieve(n_features_to_select=1).fit(table, y),
    ):
        with pytest.raises(
            InputError, match=r"needs about 22351.* GiB, more than the limit of 2 GiB.*n_neighbors="
        ):
            call()


@case(201)
@pytest.mark.slow
@pytest.mark.skipif(
    not sys.platform.startswith("linux"),
    reason="the limit counts what is private to a process only on Linux",
)
def test_nothing_else_takes_memory_for_all_pairs():
    """All pairs of 12,000 samples need more than a gigabyte; the limit is half of that."""
    code = """
        import resource, warnings
        import numpy as np
        from graphsieve import FloatingSieve, GraphSieve, IterativeSieve, Supervision, feature_p_values
        from graphsieve.scores import METHODS
        warnings.simplefilter("ignore")
        n, rng = 12_000, np.random.default_rng(0)
        X = rng.normal(size=(n, 3))
        known = {
            "labels": Supervision.from_labels(np.arange(n) % 2),
            "targets": Supervision.from_targets(np.where(np.arange(n) % 3 == 0, X[:, 0], np.nan)),
            "pairs": Supervision.from_pairs(n, [(0, 2)], [(0, 1)]),
            "probabilities": Supervision.from_probabilities(rng.dirichlet([1, 1], n)),
        }
        GraphSieve("laplacian").fit(X[:50])
        used = [int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData")][0] * 1024
        resource.setrlimit(resource.RLIMIT_DATA, (used + 2**29,) * 2)
        for name, method in METHODS.items():
            for kind in method.uses:
                assert np.isfinite(GraphSieve(name).fit(X, supervision=known[kind]).scores_).all(), name
            if not method.uses:
                assert np.isfinite(GraphSieve(name).fit(X).scores_).all(), name
        for kind in known:
            GraphSieve(n_features_to_select=2).fit(X, supervision=known[kind])
        IterativeSieve().fit(X)
        FloatingSieve().fit(X, supervision=known["labels"])
        feature_p_values(X, supervision=known["labels"])
    """
    python(code, timeout=300)


@case(202)
@pytest.mark.slow
@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="/proc tells how much memory is used"
)
def test_too_little_memory_is_a_memory_error_and_the_next_fit_is_as_ever():
    """Increase the memory limit step by step. A failed fit must leave the sieve unchanged."""
    code = """
        import resource
        import numpy as np
        from graphsieve import GraphSieve, HybridSieve
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(3000, 60)), np.arange(3000) % 3
        seen = set()
        for sieve in (GraphSieve(), GraphSieve("laplacian"), GraphSieve("relieff", n_jobs=2), HybridSieve(n_neighbors=5)):
            expected = sieve.fit(X, y).ranking_.tolist()
            for extra in (0, 2**14, 2**16, 2**18, *(2**20 * more for more in (1, 2, 4, 8, 16, 32, 64, 128))):
                used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
                resource.setrlimit(resource.RLIMIT_AS, (used + extra, resource.RLIM_INFINITY))
                try:
                    sieve.fit(X, y)
                    seen.add("fitted")
                except MemoryError:
                    seen.add("refused")
                finally:
                    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
                assert sieve.ranking_.tolist() == expected
        print(sorted(seen))
    """
    assert python(code, timeout=300, OMP_NUM_THREADS="2").split() == ["['fitted',", "'refused']"]


def killed(item):
    """Task that kills its own worker process."""
    if item == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


@case(204)
@pytest.mark.slow
def test_a_worker_that_is_killed_is_a_clear_error_and_no_wait():
    code = """
        import os, sys
        sys.path.insert(0, sys.argv[1])
        from test_bad_input_faults import killed
        from graphsieve._base.parallel import LostProcessError, in_parallel
        try:
            in_parallel(killed, [(0,), (1,), (2,)], title="work", n_jobs=2)
        except LostProcessError as error:
            print(error)
    """
    told = (
        "work: a worker process was killed, perhaps because memory ran out; use fewer processes.\n"
    )
    assert (
        python(
            code, os.path.dirname(__file__), PYTHONPATH=os.path.dirname(os.path.dirname(__file__))
        )
        == told
    )
    assert issubclass(LostProcessError, RuntimeError)
    # Other calls are not affected.
    assert in_parallel(pow, [(2, 3), (3, 2)], title="work", n_jobs=2) == [8, 9]


class FailingDisk(io.RawIOBase):
    """File object that fails at the n-th read, like a broken disk."""

    def __init__(self, content, fails_at, at_once=4096):
        super().__init__()
        self._content, self._fails_at, self._at_once = io.BytesIO(content), fails_at, at_once
        self.reads, self.given = 0, 0

    def read(self, size=-1):
        self.reads += 1
        if self.reads == self._fails_at:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        part = self._content.read(self._at_once if size < 0 else min(size, self._at_once))
        self.given += len(part)
        return part


def files():
    table = np.random.default_rng(3).normal(size=(400, 5))
    text, packed = (
        "a,b,c,d,e\n" + "".join(",".join(map(repr, row)) + "\n" for row in table.tolist()),
        io.BytesIO(),
    )
    np.savez(packed, X=table)
    entries = (
        "".join(f"{i + 1} {j + 1} {table[i, j]!r}\n" for i in range(400) for j in range(5))
        .replace("np.float64(", "")
        .replace(")", "")
    )
    matrix = f"%%MatrixMarket matrix coordinate real general\n400 5 2000\n{entries}"
    return {"csv": text.encode(), "npz": packed.getvalue(), "mtx": matrix.encode()}


@case(205)
@pytest.mark.parametrize("kind", ["csv", "npz", "mtx"])
def test_a_read_that_fails_is_named_by_its_byte(kind):
    content = files()[kind]
    whole = FailingDisk(content, 0)
    assert read_table(whole, format=kind).matrix.shape == (400, 5)
    for fails_at in range(1, whole.reads + 1):
        disk = FailingDisk(content, fails_at)
        with pytest.raises(
            InputError, match=r"cannot be read beyond byte \d+: Input/output error"
        ) as caught:
            read_table(disk, format=kind)
        assert f"byte {disk.given}:" in str(caught.value)


@case(206)
def test_the_number_of_threads_makes_no_difference():
    for name in SIEVES:
        with threadpool_limits(1):
            one = fitted(name)
        with threadpool_limits(8):
            eight = fitted(name)
        assert_array_equal(one.ranking_, eight.ranking_, err_msg=name)
        if hasattr(one, "scores_"):
            assert_allclose(one.scores_, eight.scores_, rtol=1e-12, err_msg=name)


@case(207)
@pytest.mark.parametrize("method", METHODS)
def test_the_size_of_a_block_makes_no_difference(method):
    core, uses = METHODS[method].core, METHODS[method].uses
    known = KNOWN[uses[0]] if uses else Supervision.nothing(N)
    chosen = METHODS[method].defaults | (
        {"bandwidth": 20.0} if "bandwidth" in METHODS[method].defaults else {}
    )
    whole = core(MemoryTable(X), known, **chosen).values
    for size in (1, 7, N, N + 1, 7 * N, N * P, N * P + 1):
        found = core(MemoryTable(X, block_elements=size), known, **chosen).values
        assert_allclose(found, whole, rtol=1e-10)


@case(208)
def test_an_iteration_that_does_not_converge_says_so_and_uses_what_did(monkeypatch):
    """The second attempt also fails, with two of four eigenvectors found. The score uses these
    two.
    """
    chosen = {"form": "phi3", "n_neighbors": 8, "bandwidth": 20.0}
    with_two = scores.spec_score(X, n_components=3, **chosen)
    real = sla.eigsh

    def stuck(operator, k, **options):
        values, vectors = real(operator, k=k, **options)
        best = np.argsort(-values)[:2]
        raise sla.ArpackNoConvergence("stuck", values[best], vectors[:, best])

    monkeypatch.setattr(sla, "eigsh", stuck)
    for _ in range(2):  # and so it does again
        with pytest.warns(
            GraphSieveWarning, match="only 2 of 4 eigenvectors converged; phi3 uses those"
        ):
            found = scores.spec_score(X, n_components=5, **chosen)
        assert_allclose(found, with_two, rtol=1e-9)


OPTIONAL = {
    "Ranking.to_frame": (lambda: rank(X).to_frame(), "pandas"),
    "Ranking.plot": (lambda: rank(X).plot(), "plot"),
    "Stability.to_frame": (lambda: stability(GraphSieve(), X, n_resamples=3).to_frame(), "pandas"),
    "Significance.to_frame": (
        lambda: feature_p_values(X, LABELS, n_permutations=99).to_frame(),
        "pandas",
    ),
}


@case(210)
@pytest.mark.parametrize("name", OPTIONAL)
def test_an_optional_library_that_is_missing_is_named(name, monkeypatch):
    call, extra = OPTIONAL[name]
    for library in ("pandas", "matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=rf'pip install "graphsieve\[{extra}\]"'):
        call()

"""Data sets: artificial problems, and real data from files, scikit-learn, and simulated or local
servers.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import http.server
import io
import lzma
import pickle
import re
import struct
import subprocess
import sys
import threading
import urllib.request
import warnings
from dataclasses import replace
from urllib.error import HTTPError, URLError

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

import lookalikes
from graphsieve import datasets
from graphsieve._base.errors import GraphSieveWarning, InputError
from graphsieve.datasets import DATASETS, Dataset, DataUnavailableError, fetching, load, loading
from graphsieve.datasets.catalog import Source
from graphsieve.datasets.dataset import content_hash
from graphsieve.datasets.fetching import cache_folder, class_codes
from graphsieve.datasets.formats import read_numbers, unpacked
from graphsieve.datasets.rdata import read_rdata
from graphsieve.datasets.ready import read_ready, ready_file
from graphsieve.datasets.recipes import arff_classes, labeled_table, matlab
from lookalikes import REAL_DATA

FETCHED = sorted(name for name, source in DATASETS.items() if source.recipe is not None)
GENERATORS = {
    "spheres": datasets.make_spheres,
    "squares": datasets.make_squares,
    "circle": datasets.make_circle,
    "Y4": datasets.make_y4,
    "Y5": datasets.make_y5,
    "waveform": datasets.make_waveform,
}


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """Run every test without network, without local data and with an empty cache."""

    def refuse(*_, **__):
        pytest.fail("a download was started")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    monkeypatch.delenv("GRAPHSIEVE_DATA", raising=False)
    monkeypatch.setenv("GRAPHSIEVE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def real(monkeypatch):
    """Use the folder GRAPHSIEVE_DATA of the environment, for tests that need real data."""
    if not REAL_DATA.is_dir():
        pytest.skip("GRAPHSIEVE_DATA names no folder of real data sets")
    monkeypatch.setenv("GRAPHSIEVE_DATA", str(REAL_DATA))


@pytest.fixture
def stand_ins(monkeypatch):
    """Return a function that puts a generated stand-in for a real data set into the catalog."""

    def make(name):
        source, data = lookalikes.stand_in(name)
        monkeypatch.setattr(loading, "DATASETS", {**loading.DATASETS, name: source})
        return source, data

    return make


def sentence(error) -> str:
    text = str(error.value)
    assert text.endswith(".")
    assert "\n" not in text
    assert "Traceback" not in text
    return text


def kept() -> list[str]:
    """Return the names of all files in the cache, including half-written ones."""
    return sorted(path.name for path in cache_folder().glob("**/*") if path.is_file())


# --- artificial problems and their formulas ---


def assert_uniform(values, low=0.0, high=1.0):
    """Check the mean and variance of a uniform distribution within five standard errors."""
    n, width = values.size, high - low
    assert values.min() >= low
    assert values.max() <= high
    assert abs(values.mean() - (low + high) / 2) < 5 * width / np.sqrt(12 * n)
    # The variance of (u − ½)² is 1/180.
    assert abs(values.var() - width**2 / 12) < 5 * width**2 * np.sqrt(1 / 180 / n)


@pytest.mark.parametrize(
    ("problem", "n_relevant", "n_irrelevant"), [("Y1", 3, 6), ("Y2", 4, 8), ("Y3", 2, 4)]
)
def test_regression_problems_follow_their_formulas(problem, n_relevant, n_irrelevant):
    data = datasets.make_regression_problem(problem, random_state=1)
    assert data.X.shape == (1000, n_relevant + n_irrelevant)
    assert_array_equal(data.relevant, range(n_relevant))
    assert_uniform(data.X)
    for x, target in zip(data.X[:50].tolist(), data.y.tolist(), strict=False):
        by_hand = {
            "Y1": lambda x: 5 * x[0] + 7 * x[1] - 10 * x[2],
            "Y2": lambda x: np.cos(2 * np.pi * x[0] * x[1]) * np.sin(2 * np.pi * x[2] * x[3]),
            "Y3": lambda x: x[0] ** 2 * x[1] ** -2,
        }[problem](x)
        assert target == pytest.approx(by_hand, rel=1e-12, abs=1e-12)
    assert (data.task, data.target_name, data.class_names) == ("regression", problem, None)
    assert datasets.make_regression_problem(problem, n_samples=7, n_irrelevant=0).X.shape == (
        7,
        n_relevant,
    )


def test_spheres_are_filled_uniformly_and_contain_all_points():
    data = datasets.make_spheres(20_000, random_state=2)
    centers = np.array([(1, 1, 1), (1, 3, 3), (3, 3, 1), (3, 1, 3)]) / 4
    away = data.X[:, :3] - centers[data.y]
    radius = np.linalg.norm(away, axis=1)
    assert radius.max() <= 0.25 + 1e-12
    # The four spheres do not overlap, so every point has only one class.
    others = np.linalg.norm(data.X[:, None, :3] - centers, axis=2)
    assert ((others < 0.25).sum(axis=1) == 1).all()
    assert_uniform((radius / 0.25) ** 3)  # uniform in a ball
    # The variance of a coordinate is R²/5.
    assert_allclose(away.mean(axis=0), 0, atol=5 * np.sqrt(0.25**2 / 5 / 20_000))
    assert_uniform(data.X[:, 3:])
    assert (np.abs(np.bincount(data.y) - 5000) < 5 * np.sqrt(20_000 * 3 / 16)).all()


def test_squares_are_the_quarters_of_the_square():
    data = datasets.make_squares(5000, random_state=3)
    assert_uniform(data.X)
    quarters = {(False, False): 0, (False, True): 1, (True, False): 2, (True, True): 3}
    assert data.y.tolist() == [quarters[x1 >= 0.5, x2 >= 0.5] for x1, x2 in data.X[:, :2].tolist()]


def test_circle_leaves_the_ring_empty():
    data = datasets.make_circle(50_000, random_state=4)
    radius = np.hypot(data.X[:, 0] - 0.5, data.X[:, 1] - 0.5)
    assert_array_equal(data.y == 0, radius < 0.40)
    assert_array_equal(data.y == 1, radius > 0.45)
    inside = np.pi * 0.4**2 / (1 - np.pi * (0.45**2 - 0.4**2))
    assert abs((data.y == 0).mean() - inside) < 5 * np.sqrt(inside * (1 - inside) / 50_000)
    assert_uniform(data.X[:, 2:])
    assert abs((radius[data.y == 0] ** 2).mean() - 0.4**2 / 2) < 0.002  # uniform in a disc


@pytest.mark.parametrize(
    ("make", "formula", "n_classes", "relevant"),
    [
        (
            datasets.make_y4,
            lambda f: np.cos(2 * f[1]) * np.cos(2 * f[2]) * np.exp(2 * f[3]) * np.exp(2 * f[4]),
            3,
            [0, 1, 2, 3],
        ),
        (
            lambda **options: datasets.make_y4(form="printed", **options),
            lambda f: np.cos(2 * f[1]) * np.cos(f[3]) * np.exp(2 * f[3]) * np.exp(2 * f[4]),
            3,
            [0, 2, 3],
        ),
        (
            datasets.make_y5,
            lambda f: 10 * np.sin(f[1] * f[2]) + 20 * (f[3] - 0.5) ** 2 + 10 * f[4] + 5 * f[5],
            2,
            [0, 1, 2, 3, 4],
        ),
    ],
)
def test_outputs_are_cut_into_classes_of_equal_size(make, formula, n_classes, relevant):
    data = make(random_state=5)
    assert data.X.shape == (300, 10)
    assert_uniform(data.X)
    output = formula([None, *data.X.T])  # the features are numbered from one
    assert np.bincount(data.y).tolist() == [300 // n_classes] * n_classes
    for code in range(n_classes - 1):
        assert output[data.y == code].max() < output[data.y == code + 1].min()
    assert data.relevant.tolist() == relevant
    uneven = np.bincount(make(n_samples=100 + n_classes - 1, random_state=0).y)
    assert uneven.max() - uneven.min() <= 1


WAVE = np.array([0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0])  # h1 at 1, ..., 21
WAVES = {1: WAVE, 2: np.roll(WAVE, 4), 3: np.roll(WAVE, -4)}
MIXTURES = [(1, 2), (1, 3), (2, 3)]


def test_waveforms_have_breimans_means_and_variances():
    data = datasets.make_waveform(60_000, random_state=6)
    assert data.X.shape == (60_000, 40)
    for code, (one, other) in enumerate(MIXTURES):
        X = data.X[data.y == code]
        mean, variance = (WAVES[one] + WAVES[other]) / 2, 1 + (WAVES[one] - WAVES[other]) ** 2 / 12
        assert (np.abs(X[:, :21].mean(axis=0) - mean) < 5 * np.sqrt(variance / len(X))).all()
        assert_allclose(X[:, :21].var(axis=0), variance, rtol=0.06)
        assert (np.abs(X[:, 21:].mean(axis=0)) < 5 / np.sqrt(len(X))).all()
        assert_allclose(X[:, 21:].var(axis=0), 1, rtol=0.06)
        # All points of a sample have the same share, so adjacent points of a wave are correlated.
        steps = (WAVES[one] - WAVES[other])[[6, 7]]
        assert np.cov(X[:, 6], X[:, 7])[0, 1] == pytest.approx(steps.prod() / 12, abs=0.05)
    assert (np.abs(np.bincount(data.y) - 20_000) < 5 * np.sqrt(60_000 * 2 / 9)).all()
    assert data.relevant.tolist() == [
        at for at in range(21) if any(wave[at] for wave in WAVES.values())
    ]


@pytest.mark.slow
def test_waveforms_are_those_of_the_uci_repository(real):
    """Classes 0 and 2 are exchanged in the repository."""
    data = load("waveform40")
    for code, (one, other) in enumerate(reversed(MIXTURES)):
        found = data.X[data.y == code].mean(axis=0)
        assert_allclose(found[:21], (WAVES[one] + WAVES[other]) / 2, atol=0.2)


@pytest.mark.parametrize(("name", "make"), GENERATORS.items())
def test_common_behaviour_of_the_generators(name, make):
    data = make(random_state=0)
    assert data.name == name
    assert data.task == "classification"
    assert data.y.dtype == np.int64
    assert len(data.feature_names) == data.X.shape[1]
    assert data.class_names == tuple(map(str, range(data.y.max() + 1)))
    assert re.search(r"19|20\d\d", data.source)
    assert_array_equal(make(random_state=np.random.default_rng(0)).X, data.X)
    assert_array_equal(make(random_state=np.random.SeedSequence(0)).X, data.X)
    assert not np.array_equal(make(random_state=1).X, data.X)
    assert not np.array_equal(make().X, make().X)
    old, same = (make(12, random_state=np.random.RandomState(3)) for _ in range(2))
    assert_array_equal(old.X, same.X)
    going_on = np.random.default_rng(0)
    assert not np.array_equal(make(random_state=going_on).X, make(random_state=going_on).X)
    again = pickle.loads(pickle.dumps(data))  # Experiments send data sets to other processes.
    assert_array_equal(again.y, data.y)
    for wrong in (0, -3, 2.5, True, None):
        with pytest.raises(InputError, match="n_samples must be an integer"):
            make(wrong)
    for wrong in ("seed", -1, 1.5, True):
        with pytest.raises(InputError, match="random_state must be") as error:
            make(random_state=wrong)
        sentence(error)


def test_generators_reject_invalid_arguments():
    with pytest.raises(InputError, match=r"problem must be one of 'Y1', 'Y2', 'Y3', got 'Y4'"):
        datasets.make_regression_problem("Y4")
    with pytest.raises(InputError, match="form must be one of"):
        datasets.make_y4(form="correct")
    for make, least in (
        (datasets.make_spheres, 3),
        (datasets.make_circle, 2),
        (datasets.make_y4, 4),
        (datasets.make_y5, 5),
    ):
        assert make(9, n_features=least, random_state=0).X.shape == (9, least)
        with pytest.raises(InputError, match=f"n_features must be an integer of at least {least}"):
            make(9, n_features=least - 1)
    with pytest.raises(InputError, match="n_noise"):
        datasets.make_waveform(9, n_noise=-1)
    with pytest.raises(InputError, match="n_irrelevant"):
        datasets.make_regression_problem("Y1", n_irrelevant=-1)


@pytest.mark.parametrize(("doubt", "variance"), [(0.2, 0.1), (0.3, 0.1), (0.45, 0.1), (0.5, 0.02)])
def test_expert_labels_have_the_given_distribution(doubt, variance):
    n = 40_000
    y = np.arange(n) % 4
    labels = datasets.make_expert_labels(y, doubt=doubt, variance=variance, random_state=7)
    P = labels.probabilities
    assert P.shape == (n, 4)
    assert_allclose(P.sum(axis=1), 1, rtol=0, atol=1e-15)
    assert ((P > 0).sum(axis=1) <= 2).all()  # the true class and one other
    beta = 1 - P[np.arange(n), y]
    assert abs(beta.mean() - doubt) < 5 * np.sqrt(variance / n)
    # The fourth moment is at most variance / 4.
    assert abs(beta.var() - variance) < 5 * np.sqrt(variance / 4 / n)
    # The third moment of a Beta distribution with these parameters.
    total = doubt * (1 - doubt) / variance - 1
    alpha = doubt * total
    third = alpha * (alpha + 1) * (alpha + 2) / (total * (total + 1) * (total + 2))
    assert (beta**3).mean() == pytest.approx(third, abs=5 / np.sqrt(n))
    assert_array_equal(labels.most_probable, P.argmax(axis=1))
    wrong = labels.observed != y
    assert abs(wrong.mean() - doubt) < 5 * 0.5 / np.sqrt(n)
    assert_allclose(P[np.arange(n), labels.observed][wrong], beta[wrong], rtol=0, atol=1e-15)
    # The probability of a wrong label is the doubt.
    assert beta[wrong].mean() == pytest.approx((doubt**2 + variance) / doubt, abs=0.02)
    shift = (labels.observed - y)[wrong] % 4
    assert_allclose(np.bincount(shift, minlength=4)[1:] / wrong.sum(), 1 / 3, atol=0.03)


def test_expert_labels_depend_on_the_seed_and_need_classes():
    one, other = (
        datasets.make_expert_labels([0, 1, 1, 2], doubt=0.3, random_state=9) for _ in range(2)
    )
    assert_array_equal(one.probabilities, other.probabilities)
    assert_array_equal(one.observed, other.observed)
    two = datasets.make_expert_labels([1, 0] * 50, doubt=0.4, random_state=0)
    assert_array_equal(two.observed != ([1, 0] * 50), two.observed == ([0, 1] * 50))
    for y in ([0.0, 1.0], ["a", "b"], [], [[0, 1]], [-1, 0]):
        with pytest.raises(InputError, match="class codes") as error:
            datasets.make_expert_labels(y, doubt=0.3)
        sentence(error)
    with pytest.raises(InputError, match="only one class"):
        datasets.make_expert_labels([0, 0], doubt=0.3)
    for doubt, variance in ((0.1, 0.1), (1.0, 0.1), (0.3, 0.21)):
        with pytest.raises(InputError, match="no distribution on"):
            datasets.make_expert_labels([0, 1], doubt=doubt, variance=variance)
    for doubt, variance in ((0, 0.1), (0.3, 0), (float("nan"), 0.1), ("much", 0.1)):
        with pytest.raises(InputError, match="must be a positive number"):
            datasets.make_expert_labels([0, 1], doubt=doubt, variance=variance)


# --- the hash of the numbers, and ready files ---


def small(X=((1.5, 2.0), (0.0, -1.0)), y=(0, 1), **extras) -> Dataset:
    X = X if sp.issparse(X) else np.array(X, dtype=np.float64)
    return Dataset(
        "small", X, np.array(y), "classification", ("a", "b"), ("no", "yes"), extras=extras
    )


def test_the_hash_agrees_with_its_description():
    data = small(part=np.array(["é", ""]), is_train=np.array([True, False]))
    by_hand = (
        b"X real 2x2\n"
        + struct.pack("<4f", 1.5, 2, 0, -1)
        + b"y i 2\n"
        + struct.pack("<2q", 0, 1)
        + b"is_train b 2\n"
        + struct.pack("<2q", 1, 0)
        + b"part text 2\n"
        + "é\0\0".encode()
    )
    assert content_hash(data) == hashlib.sha256(by_hand).hexdigest()
    sparse = small(X=sp.csr_array([[1.5, 2.0], [0.0, -1.0]]))
    by_hand = (
        b"data real 2x2\n"
        + struct.pack("<3f", 1.5, 2, -1)
        + b"indices i 3\n"
        + struct.pack("<3q", 0, 1, 1)
        + b"indptr i 3\n"
        + struct.pack("<3q", 0, 2, 3)
        + b"y i 2\n"
        + struct.pack("<2q", 0, 1)
    )
    assert content_hash(sparse) == hashlib.sha256(by_hand).hexdigest()


def test_the_hash_depends_on_numbers_not_on_storage():
    data = small()
    assert content_hash(small(X=[[1.5, 2.0], [-0.0, -1.0]])) == content_hash(data)
    assert content_hash(replace(data, X=np.asfortranarray(data.X).astype(">f8"))) == content_hash(
        data
    )
    # A difference in the last bit has no effect.
    assert content_hash(replace(data, X=np.nextafter(data.X, 9) * (data.X != 0))) == content_hash(
        data
    )
    unsorted = sp.csr_array(
        (np.array([2.0, 1.5, 0.0, -1.0]), [1, 0, 0, 1], [0, 2, 4]), shape=(2, 2)
    )
    assert content_hash(small(X=unsorted)) == content_hash(small(X=sp.csr_array(data.X)))
    assert unsorted.nnz == 4  # The data are not changed.
    missing = np.array([1.0, np.nan])
    odd = np.array(
        [
            struct.unpack("<d", struct.pack("<Q", bits))[0]
            for bits in (0x3FF0000000000000, 0x7FF00000000007A2)
        ]
    )
    # The bits of a missing value in R.
    assert content_hash(replace(data, y=missing)) == content_hash(replace(data, y=odd))
    for other in (
        small(X=[[1.5, 2.0], [0.0, -1.1]]),
        small(y=(1, 0)),
        small(y=(0.0, 1.0)),
        small(is_train=np.array([True, False])),
        small(X=sp.csr_array(data.X)),
        small(X=[[1.5, 2.0, 0.0, -1.0]]),
    ):
        assert content_hash(other) != content_hash(data)


@given(
    hnp.arrays(
        st.sampled_from([np.float32, np.float64]),
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=5),
    ),
    st.booleans(),
    st.data(),
)
def test_ready_files_are_read_back(tmp_path_factory, X, sparse, data):
    X = np.nan_to_num(X)
    n, p = X.shape
    y = data.draw(
        hnp.arrays(st.sampled_from([np.int64, np.float64]), n, elements=st.integers(0, 3))
    )
    classes = y.dtype == np.int64
    written = Dataset(
        "any",
        sp.csr_array(X) if sparse else X,
        y,
        "classification" if classes else "regression",
        tuple(f"f{at}" for at in range(p)),
        ("a", "b", "c", "d") if classes else None,
        None if classes else "height",
        extras={"is_test": np.arange(n) > 1, "part": np.array(["é"] * n)},
    )
    path = tmp_path_factory.mktemp("ready") / "any.npz"
    path.write_bytes(ready_file(written))
    read = read_ready(path)
    assert content_hash(read) == content_hash(written)
    assert read.X.dtype == written.X.dtype
    assert sp.issparse(read.X) == sparse
    for name in ("name", "task", "feature_names", "class_names", "target_name"):
        assert getattr(read, name) == getattr(written, name)


def write(path, **arrays):
    np.savez(path, **{"X": np.ones((3, 2)), "y": np.array([0, 1, 1]), **arrays})


def without(path, *keys, **arrays):
    all_arrays = {"X": np.ones((3, 2)), "y": np.array([0, 1, 1]), **arrays}
    np.savez(path, **{key: value for key, value in all_arrays.items() if key not in keys})


def npy(values) -> bytes:
    content = io.BytesIO()
    np.save(content, values)
    return content.getvalue()


BROKEN = {
    "no y": (lambda path: without(path, "y"), "no y"),
    "no X": (lambda path: without(path, "X"), "neither X nor data, indices, indptr, shape"),
    "part of a sparse X": (
        lambda path: without(path, "X", data=np.ones(2), shape=np.array([3, 2])),
        "neither X nor indices, indptr",
    ),
    "integers": (
        lambda path: write(path, X=np.ones((3, 2), dtype=int)),
        "X is not a table of float32 or float64",
    ),
    "a list": (lambda path: write(path, X=np.ones(3)), "X is not a table"),
    "no rows": (lambda path: write(path, X=np.ones((0, 2))), "X is not a table"),
    "text": (lambda path: write(path, X=np.array([["a"] * 2] * 3)), "X is not a table"),
    "complex": (lambda path: write(path, X=np.ones((3, 2), dtype=complex)), "X is not a table"),
    "short y": (lambda path: write(path, y=np.array([0, 1])), "X has 3 rows, y has 2"),
    "y of bytes": (
        lambda path: write(path, y=np.array([0, 1, 1], dtype=np.int8)),
        "y is not a list of int64",
    ),
    "negative y": (lambda path: write(path, y=np.array([0, -1, 1])), "negative class codes"),
    "a quantity as codes": (
        lambda path: write(path, y=np.array([0, 10**12, 1])),
        "class code 1000000000000, but only 3 samples",
    ),
    "few names": (
        lambda path: write(path, feature_names=np.array(["a"])),
        "a different number of feature_names",
    ),
    "few classes": (
        lambda path: write(path, target_names=np.array(["a"])),
        "codes up to 1, but target_names has only 1",
    ),
    "names that are numbers": (
        lambda path: write(path, feature_names=np.array([1, 2])),
        "feature_names is not a list of texts",
    ),
    "a short extra": (
        lambda path: write(path, is_train=np.array([True])),
        "is_train and y differ in length",
    ),
    "sparse of nonsense": (
        lambda path: without(
            path,
            "X",
            data=np.ones(2),
            indices=np.array([0, 9]),
            indptr=np.array([0, 1, 1, 2]),
            shape=np.array([3, 2]),
        ),
        "cannot be read",
    ),
    "a pickle": (lambda path: write(path, X=np.array([[{}] * 2] * 3)), "cannot be read"),
    "a pickle elsewhere": (lambda path: write(path, part=np.array([{}] * 3)), "cannot be read"),
    "no archive": (lambda path: path.write_bytes(b"X = 1"), "cannot be read"),
    "empty": (lambda path: path.write_bytes(b""), "cannot be read"),
    "a bare array": (lambda path: path.write_bytes(npy(np.ones((3, 2)))), "cannot be read"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_invalid_data_set_files_are_refused(monkeypatch, tmp_path, what):
    damage, message = BROKEN[what]
    damage(tmp_path / "mine.npz")
    monkeypatch.setenv("GRAPHSIEVE_DATA", str(tmp_path))
    with pytest.raises(DataUnavailableError, match=message) as error:
        load("mine")
    assert "mine.npz" in sentence(error)


def test_a_truncated_file_is_refused(monkeypatch, tmp_path):
    whole = ready_file(
        replace(small(), X=np.random.default_rng(0).random((200, 2)), y=np.arange(200) % 2)
    )
    monkeypatch.setenv("GRAPHSIEVE_DATA", str(tmp_path))
    (tmp_path / "mine.npz").write_bytes(whole)
    assert load("mine").X.shape == (200, 2)
    for length in range(0, len(whole) - 1, 97):
        (tmp_path / "mine.npz").write_bytes(whole[:length])
        with pytest.raises(DataUnavailableError, match="cannot be read"):
            load("mine")


def test_a_user_file_needs_no_hash_and_no_names(monkeypatch, tmp_path):
    monkeypatch.setenv("GRAPHSIEVE_DATA", str(tmp_path))
    write(tmp_path / "mine.npz")
    data = load("mine", download=False)
    assert data.feature_names == ("x1", "x2")
    assert data.class_names == ("0", "1")
    write(
        tmp_path / "mine.npz",
        y=np.array([1.5, np.nan, 2]),
        y_all=np.array([[0, 1.5], [0, np.nan], [1, 2]]),
        y_all_names=["u", "v"],
    )
    data = load("mine")
    assert (data.task, data.target_name, data.class_names) == ("regression", "v", None)
    assert data.source == "the file mine.npz"
    write(tmp_path / "mine.npz", y=np.array([1.5, np.nan, 2]))
    assert load("mine").target_name == "y"


# --- real data in local files ---


def check_against_catalog(data, source):
    assert data.y.dtype == (np.int64 if data.task == "classification" else np.float64)
    assert data.X.shape == source.shape
    assert data.task == source.task
    assert sp.issparse(data.X) == source.sparse
    assert data.X.dtype == (np.float32 if source.single_precision else np.float64)
    assert (data.class_names or ()) == source.class_names
    assert data.target_name == source.target_name
    if data.task == "classification":
        assert tuple(np.bincount(data.y)) == source.class_counts
    assert len(set(data.feature_names)) == data.X.shape[1]
    assert source.author in data.source
    assert data.licence.startswith(source.licence)
    assert source.name in repr(data)


@pytest.mark.parametrize("name", ["sonar", "tecator", "basehock", "nirsoil", "leukemia"])
def test_a_local_data_set_agrees_with_the_catalog(monkeypatch, tmp_path, stand_ins, name):
    """The data sets cover classes, targets, sparse and dense data, both precisions and extras."""
    source, made = stand_ins(name)
    (tmp_path / f"{name}.npz").write_bytes(ready_file(made))
    monkeypatch.setenv("GRAPHSIEVE_DATA", str(tmp_path))
    data = load(name, download=False)
    same = (data.X != made.X).nnz == 0 if sp.issparse(made.X) else np.array_equal(data.X, made.X)
    assert same
    assert_array_equal(data.y, made.y)
    check_against_catalog(data, source)
    assert data.extras.keys() == made.extras.keys()
    for key, values in made.extras.items():
        assert_array_equal(data.extras[key], values)
    if name == "tecator":
        assert "Tecator Infratec" in data.licence
        assert_array_equal(data.extras["y_all"][:, 1], data.y)


@pytest.mark.slow
def test_every_local_real_data_set_agrees_with_the_catalog(real):
    for name in sorted({path.stem for path in REAL_DATA.glob("*.npz")} & DATASETS.keys()):
        check_against_catalog(load(name, download=False), DATASETS[name])


def test_the_catalog_is_complete():
    assert len(DATASETS) == 53
    for name, source in DATASETS.items():
        assert source.name == name
        assert re.fullmatch("[0-9a-f]{64}", source.sha256)
        assert source.origin
        assert source.author
        assert source.licence
        assert bool(source.class_names) != bool(source.target_name)
        assert sum(source.class_counts) == (source.shape[0] if source.class_names else 0)
        assert len(source.class_names) == len(source.class_counts)
        # A data set is bundled, or downloaded, or has instructions for a download by hand.
        assert source.bundled + (source.recipe is not None) + bool(source.by_hand) == 1
        assert bool(source.files) == (source.recipe is not None)
        for addresses in source.files:
            for address in addresses:
                assert re.fullmatch(
                    r"https://raw\.githubusercontent\.com/[\w.-]+/[\w.-]+/[0-9a-f]{40}/[\w./-]+",
                    address,
                )
    with pytest.raises(TypeError):
        DATASETS["iris"] = DATASETS["wine"]


@pytest.mark.parametrize("name", [name for name, source in DATASETS.items() if source.bundled])
def test_bundled_sets_need_no_folder_and_no_network(name):
    data = load(name, download=False)
    assert data.X.shape == DATASETS[name].shape
    assert content_hash(data) == DATASETS[name].sha256
    assert len(data.feature_names) == data.X.shape[1]
    assert kept() == []


def test_a_file_with_other_numbers_is_named_with_both_hashes(monkeypatch, tmp_path):
    monkeypatch.setenv("GRAPHSIEVE_DATA", str(tmp_path))
    (tmp_path / "sonar.npz").write_bytes(ready_file(small()))
    (tmp_path / "iris.npz").write_bytes(ready_file(small()))
    for name in ("sonar", "iris"):
        with pytest.raises(DataUnavailableError) as error:
            load(name)
        text = sentence(error)
        assert f"{name}.npz" in text
        assert DATASETS[name].sha256 in text
        assert content_hash(small()) in text
    assert load("wine").X.shape == (178, 13)  # Other data sets do not come from the folder.


def test_messages_do_not_contain_the_home_folder(monkeypatch, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "sonar.npz").write_bytes(ready_file(small()))
    (tmp_path / "data" / "wpbc.npz").write_bytes(b"")
    monkeypatch.setenv("GRAPHSIEVE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for name in ("sonar", "wpbc"):
        with pytest.raises(DataUnavailableError, match=rf"^~/data/{name}\.npz"):
            load(name)


def test_the_data_folder_must_be_a_folder(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    for wrong in (tmp_path / "nowhere", tmp_path / "file"):
        monkeypatch.setenv("GRAPHSIEVE_DATA", str(wrong))
        with pytest.raises(InputError, match="GRAPHSIEVE_DATA must name a folder") as error:
            load("iris")
        # An experiment must not treat this error as missing data.
        assert not isinstance(error.value, DataUnavailableError)
        sentence(error)
    monkeypatch.setenv("GRAPHSIEVE_DATA", "")
    assert load("iris").X.shape == (150, 4)


def test_the_data_folder_may_be_relative_or_in_the_home_folder(monkeypatch, tmp_path):
    (tmp_path / "folder").mkdir()
    write(tmp_path / "folder" / "my own set.npz")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for folder in ("folder", "~/folder"):
        monkeypatch.setenv("GRAPHSIEVE_DATA", folder)
        assert load("my own set").X.shape == (3, 2)
    monkeypatch.setenv("GRAPHSIEVE_DATA", str(tmp_path / "another"))
    with pytest.raises(InputError, match="but '~/another' is not a folder; correct or unset it"):
        load("iris")


def test_unknown_names_are_corrected(monkeypatch, tmp_path):
    with pytest.raises(InputError, match="did you mean 'ionosphere'") as error:
        load("ionosfere")
    sentence(error)
    for wrong in ("", "quite another", "iris.npz", "a\0b", "IRIS\n"):
        with pytest.raises(InputError, match="there is no data set called") as error:
            load(wrong)
        sentence(error)
    for wrong in (None, 3, b"iris"):
        with pytest.raises(InputError, match="must be text"):
            load(wrong)
    with pytest.raises(InputError, match="download must be True or False"):
        load("iris", download=1)
    (tmp_path / "in").mkdir()
    write(tmp_path / "out.npz")
    monkeypatch.setenv("GRAPHSIEVE_DATA", str(tmp_path / "in"))
    for wrong in ("../out", str(tmp_path / "out")):
        with pytest.raises(InputError, match="there is no data set called"):
            load(wrong)


def test_data_sets_without_a_download_name_their_source():
    for name, source in DATASETS.items():
        if source.by_hand:
            with pytest.raises(DataUnavailableError) as error:
                load(name)
            assert source.by_hand in sentence(error)
            assert f"{name}.npz" in str(error.value)
    with pytest.raises(DataUnavailableError, match="download=False") as error:
        load("sonar", download=False)
    sentence(error)


@pytest.mark.slow
def test_importing_opens_no_connection():
    code = (
        "import socket, sys\n"
        "def refuse(*_): raise SystemExit('a connection was opened')\n"
        "socket.socket.connect = refuse\n"
        "socket.getaddrinfo = refuse\n"
        "import graphsieve.datasets\n"
        "graphsieve.datasets.load('iris')\n"
        "print('quiet')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "quiet", done.stderr


def test_the_cache_folder_follows_the_platform(monkeypatch, tmp_path):
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("GRAPHSIEVE_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    for platform, folder in {"linux": "xdg", "darwin": "Library/Caches", "win32": "local"}.items():
        monkeypatch.setattr(sys, "platform", platform)
        assert cache_folder() == tmp_path / folder / "graphsieve"
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == tmp_path / ".cache" / "graphsieve"


# --- downloads of real data, with files in the formats of the original publications ---


class RWriter:
    """Writer of R data files, according to "Serialization Formats" in "R Internals"."""

    def __init__(self, version=2):
        self.symbols = []
        native = struct.pack(">i", 5) + b"UTF-8" if version == 3 else b""
        self.head = (
            f"RDX{version}\nX\n".encode() + struct.pack(">3i", version, 0x40301, 0x20300) + native
        )

    def file(self, **variables):
        return self.head + self.pairs(variables)

    def symbol(self, name):
        if name in self.symbols:
            return struct.pack(">i", (self.symbols.index(name) + 1) << 8 | 255)
        self.symbols.append(name)
        return struct.pack(">i", 1) + self.text(name)

    def text(self, text):
        if text is None:
            return struct.pack(">2i", 9, -1)
        return struct.pack(">2i", 9 | 64 << 12, len(text.encode())) + text.encode()

    def pairs(self, named):
        """Return the bytes of a pairlist.

        The values are functions that are called in order, so that symbols are numbered in the order
        in which they are written.
        """
        parts = []
        for name, make in named.items():
            parts += [struct.pack(">i", 2 | 0x400), self.symbol(name), make(self)]
        return b"".join(parts) + struct.pack(">i", 254)


def r_vector(code, pack, values, **attributes):
    def make(writer):
        flags = code | (0x300 if attributes else 0)
        body = struct.pack(">2i", flags, len(values)) + pack(writer, values)
        return body + (writer.pairs(attributes) if attributes else b"")

    return make


def r_real(values, **attributes):
    return r_vector(14, lambda _, v: np.asarray(v, dtype=">f8").tobytes(), values, **attributes)


def r_integers(values, **attributes):
    return r_vector(13, lambda _, v: np.asarray(v, dtype=">i4").tobytes(), values, **attributes)


def r_texts(values, **attributes):
    return r_vector(
        16, lambda writer, v: b"".join(writer.text(text) for text in v), values, **attributes
    )


def r_list(named, **attributes):
    def pack(writer, values):
        return b"".join(make(writer) for make in values)

    return r_vector(19, pack, list(named.values()), names=r_texts(list(named)), **attributes)


def r_matrix(X, column_names=None):
    options = {"dim": r_integers(X.shape)}
    if column_names:
        nothing = lambda _: struct.pack(">i", 254)  # noqa: E731
        options["dimnames"] = r_vector(
            19,
            lambda writer, v: b"".join(make(writer) for make in v),
            [nothing, r_texts(column_names)],
        )
    return r_real(X.ravel(order="F"), **options)


def r_factor(labels):
    levels, codes = np.unique(labels, return_inverse=True)
    return r_integers(codes + 1, levels=r_texts(levels.tolist()), **{"class": r_texts(["factor"])})


def r_frame(columns, n_rows):
    return r_list(
        columns, **{"row.names": r_integers([-(2**31), -n_rows]), "class": r_texts(["data.frame"])}
    )


def shortest(value):
    return "?" if np.isnan(value) else repr(float(value))


def as_arff(name, columns, rows):
    """Return an ARFF file. Columns are (name, kind), and a nominal kind is its list of values."""
    lines = ["% a comment", f"@relation {name}", ""]
    for title, kind in columns:
        lines.append(
            f"@attribute '{title}' "
            + (kind if isinstance(kind, str) else "{" + ", ".join(kind) + "}")
        )
    return "\n".join([*lines, "", "@data", *(",".join(row) for row in rows), "%", ""]).encode()


def published_arff(data, label="class", names=None):
    names = names or data.class_names
    columns = [(name, "REAL") for name in data.feature_names] + [(label, names)]
    rows = ([*map(shortest, x), names[code]] for x, code in zip(data.X, data.y, strict=True))
    return [as_arff(data.name, columns, rows)]


def published_zoo(data):
    animals = [f"animal{number}" for number in range(len(data.y))]
    columns = [("animal", animals)]
    columns += [
        (name, "INTEGER [0,9]" if name == "legs" else ["false", "true"])
        for name in data.feature_names
    ]
    columns.append(("type", data.class_names))
    rows = [
        [animal]
        + [
            str(int(v)) if name == "legs" else ["false", "true"][int(v)]
            for name, v in zip(data.feature_names, x, strict=True)
        ]
        + [data.class_names[code]]
        for animal, x, code in zip(animals, data.X, data.y, strict=True)
    ]
    return [as_arff("zoo", columns, rows)]


def published_anneal(data):
    """'?' is an ordinary value, the first in the list, and one class is empty."""
    numeric = {"carbon", "hardness", "strength", "thick", "width", "len"}
    kinds = {}
    for name, column in zip(data.feature_names, data.X.T, strict=True):
        kinds[name] = (
            "real"
            if name in numeric
            else ["'?'", *(f"'v{at}'" for at in range(1, 1 + max(1, int(column.max()))))]
        )
    rows = [
        [
            shortest(v) if kinds[name] == "real" else kinds[name][int(v)]
            for name, v in zip(data.feature_names, x, strict=True)
        ]
        + [f"'{data.class_names[code]}'"]
        for x, code in zip(data.X, data.y, strict=True)
    ]
    return [
        as_arff(
            "anneal", [*kinds.items(), ("class", ["'1'", "'2'", "'3'", "'4'", "'5'", "'U'"])], rows
        )
    ]


def published_dermatology(data):
    columns = [
        (name, "INTEGER" if name == "Age" else ["0", "1", "2", "3"]) for name in data.feature_names
    ]
    columns.append(("class", list("123456")))
    rows = [
        ["?" if np.isnan(v) else str(int(v)) for v in x] + [str(code + 1)]
        for x, code in zip(data.X, data.y, strict=True)
    ]
    return [as_arff("dermatology", columns, rows)]


def published_horse_colic(data):
    """The label is the 24th of 28 columns, and nominal values are numbers in any order."""
    measured = {
        "rectal temperature",
        "pulse",
        "respiratory rate",
        "nasogastric reflux PH",
        "packed cell volume",
        "total protein",
    }
    measured.add("abdomcentesis total protein")
    table = np.insert(data.X, 23, data.y + 1, axis=1)
    columns = []
    for name, column in zip(
        np.insert(np.array(data.feature_names, dtype=object), 23, "surgical lesion"),
        table.T,
        strict=True,
    ):
        values = np.unique(column[~np.isnan(column)])[::-1]
        columns.append((name, "real" if name in measured else [f"{value:.0f}" for value in values]))
    rows = [
        [
            "?" if np.isnan(v) else shortest(v) if kind == "real" else f"{v:.0f}"
            for v, (_, kind) in zip(x, columns, strict=True)
        ]
        for x in table
    ]
    return [as_arff("horse-colic.ORIG", columns, rows)]


def published_pollen(data):
    columns = [(name, "REAL") for name in (*data.feature_names, "DENSITY", "OBSERVATION_NUMBER")]
    rows = (
        [*map(shortest, x), shortest(y), str(at)]
        for at, (x, y) in enumerate(zip(data.X, data.y, strict=True), 1)
    )
    return [as_arff("pollen", columns, rows)]


def published_tecator(data):
    components = np.random.default_rng(0).standard_normal((len(data.X), 22))
    names = [
        *data.feature_names,
        *(f"principal_component_{at}" for at in range(1, 23)),
        "moisture",
        "fat",
        "protein",
    ]
    table = np.column_stack([data.X, components, data.extras["y_all"]])
    return [
        as_arff(
            "tecator", [(name, "REAL") for name in names], (map(shortest, row) for row in table)
        )
    ]


def published_csv(data, labels, *, before=(), label_first=False, head=()):
    """Return rows of text: leading cells, the features, and the label at one end."""
    rows = []
    for at, (x, code) in enumerate(zip(data.X, data.y, strict=True)):
        cells = list(map(shortest, x))
        cells = [labels[code], *cells] if label_first else [*cells, labels[code]]
        rows.append(",".join([*(make(at) for make in before), *cells]))
    return ["\n".join([*head, *rows, ""]).encode()]


def with_names(names, table, delimiter=","):
    return "\n".join(
        [delimiter.join(names), *(delimiter.join(map(str, row)) for row in table.tolist()), ""]
    ).encode()


def published_mat(data, labels=None):
    labels = np.arange(1, 1 + len(data.class_names)) if labels is None else np.array(labels)
    X = sp.csc_array(data.X, dtype=np.float64) if sp.issparse(data.X) else data.X.astype(np.float64)
    file = io.BytesIO()
    scipy.io.savemat(file, {"X": X, "Y": labels[data.y][:, None].astype(np.int16)})
    return [file.getvalue()]


def published_reuters(data):
    files = []
    for domain in (0, 1):
        rows = np.flatnonzero(data.extras["domain"] == domain)
        file = io.BytesIO()
        X = sp.csc_array(data.X[rows], dtype=np.float64)
        scipy.io.savemat(
            file,
            {
                f"part{domain}_data": X,
                f"part{domain}_label": (2 - data.y[rows])[None, :].astype(float),
            },
        )
        files.append(file.getvalue())
    return files


def published_cookies(data):
    table = np.column_stack([data.X, data.extras["y_all"]])
    columns = {f"X{at}": r_real(column) for at, column in enumerate(table.T)}
    return [gzip.compress(RWriter(3).file(cookie=r_frame(columns, len(table))))]


def published_soils(data):
    columns = {
        name: r_real(column)
        for name, column in zip(data.extras["y_all_names"], data.extras["y_all"].T, strict=True)
    }
    columns["train"] = r_integers(data.extras["is_train"].astype(int))
    columns["spc"] = r_matrix(data.X.astype(float), [str(at) for at in range(1100, 2500, 2)])
    return [lzma.compress(RWriter(3).file(NIRsoil=r_frame(columns, len(data.y))), preset=0)]


def published_leukemia(data):
    def pair(rows):
        X = data.X[rows].astype(float)
        return r_list(
            {
                "x": r_matrix(X, list(data.feature_names)),
                "y": r_factor(np.array(data.class_names)[data.y[rows]]),
            }
        )

    everything, training = np.arange(72), np.flatnonzero(data.extras["is_train"])
    return [
        lzma.compress(RWriter(2).file(golub_train=pair(training), golub=pair(everything)), preset=0)
    ]


def published_colon(data):
    pair = r_list(
        {"x": r_matrix(data.X.astype(float)), "y": r_factor(np.array(["n", "t"])[data.y])}
    )
    return [RWriter(2).file(alon=pair)]


def published_usps(data):
    test = data.extras["is_test"]
    files = []
    for name, rows in (("zip.train", ~test), ("zip.test", test)):
        table = np.column_stack([data.y[rows], data.X[rows]]).astype(float)
        files.append(gzip.compress(RWriter(2).file(**{name: r_matrix(table)}), compresslevel=1))
    return files


def published_mnist(data):
    table = np.column_stack([data.X, data.y]).astype(int)
    return [
        gzip.compress(
            "\n".join(",".join(map(str, row)) for row in table.tolist()).encode(), compresslevel=1
        )
    ]


def published_cassava(data):
    X = np.array(
        [[repr(value) for value in row] for row in data.X.astype(str).astype(float).tolist()]
    )
    y = np.array(
        [
            [str(year), repr(value)]
            for year, value in zip(data.extras["year"], data.y.tolist(), strict=True)
        ]
    )
    return [with_names(data.feature_names, X, ";"), with_names(("year", "tbc"), y, ";")]


def published_coffee(data):
    countries = np.array(data.class_names)[data.y][:, None]
    return [with_names(data.feature_names, data.X.astype(str)), with_names(("labels",), countries)]


PUBLISHED = {
    "waveform40": published_arff,
    "ionosphere": lambda data: published_arff(data, names=("b", "g")),
    "zoo": published_zoo,
    "anneal": published_anneal,
    "dermatology": published_dermatology,
    "horse_colic": published_horse_colic,
    "pollen": published_pollen,
    "tecator": published_tecator,
    "sonar": lambda data: published_csv(data, "MR"),
    "soybean_small": lambda data: published_csv(
        data, ["D1", "D2", "D3", "D4"], head=["0," * 35 + "outcome"]
    ),
    "wpbc": lambda data: published_csv(
        data, "NR", before=[lambda at: f"8{at:03d}"], label_first=True
    ),
    "parkinsons": lambda data: published_csv(data, "10"),  # the codes of the classes are exchanged
    "breast_tissue": lambda data: published_csv(data, "012345"),
    "cassava_nir": published_cassava,
    "chemotools_coffee": published_coffee,
    "chemotools_fermentation_train": lambda data: [
        with_names(data.feature_names, data.X),
        with_names(("time", "glucose"), np.column_stack([np.arange(len(data.y)), data.y])),
    ],
    "mnist5k": published_mnist,
    "cookie_nir": published_cookies,
    "nirsoil": published_soils,
    "leukemia": published_leukemia,
    "colon": published_colon,
    "usps": published_usps,
    "reuters_orgspeople": published_reuters,
    "reuters_peopleplaces": published_reuters,
    "colon_discrete": lambda data: published_mat(data, labels=[1, -1]),  # tumour −1, normal 1
    "arcene": lambda data: published_mat(data, labels=[-1, 1]),
}


class Response(io.BytesIO):
    """The response of an address."""

    def __init__(self, content, length=None):
        super().__init__(content)
        self.headers = {} if length is None else {"Content-Length": str(length)}


@pytest.fixture
def network(monkeypatch):
    """A simulated network: a dict of contents or exceptions by address, and a list of requests."""

    class Network(dict):
        def __init__(self):
            super().__init__()
            self.asked = []

    found = Network()

    def answer(request, timeout):
        assert timeout == fetching.TIMEOUT
        found.asked.append(request.full_url)
        content = found.get(
            request.full_url, HTTPError(request.full_url, 404, "Not Found", None, None)
        )
        if isinstance(content, BaseException):
            raise content
        return content if isinstance(content, Response) else Response(content, len(content))

    monkeypatch.setattr(urllib.request, "urlopen", answer)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", FETCHED)
def test_every_data_set_is_built_from_its_published_files(stand_ins, network, name):
    source, expected = stand_ins(name)
    files = PUBLISHED.get(name, published_mat)(expected)
    for addresses, content in zip(source.files, files, strict=True):
        network[addresses[0]] = content
    data = load(name)
    assert network.asked == [addresses[0] for addresses in source.files]
    assert kept() == [f"{name}.npz"]
    again = load(name, download=False)
    assert len(network.asked) == len(source.files)
    for found in (data, again):
        assert content_hash(found) == source.sha256
        assert found.feature_names == expected.feature_names
        assert found.class_names == expected.class_names
        assert found.target_name == expected.target_name
        assert found.X.dtype == expected.X.dtype
        assert_array_equal(found.y, expected.y)
        assert set(found.extras) == set(expected.extras)
        assert found.licence.startswith(source.licence)


# --- failing downloads ---

TOY_ROWS = [[0.5, 1.0], [2.0, np.nan], [3.0, 7.25]]
TOY_ADDRESSES = ("https://toy.example/first.arff", "https://toy.example/second.arff")


def toy_arff(rows=TOY_ROWS, labels="baa"):
    cells = ([*map(shortest, row), label] for row, label in zip(rows, labels, strict=True))
    return as_arff("toy", [("u", "real"), ("v", "real"), ("class", ["a", "b"])], cells)


def toy_source(files=(TOY_ADDRESSES,), **options) -> Source:
    made = Dataset(
        "toy",
        np.array(TOY_ROWS),
        np.array([1, 0, 0]),
        "classification",
        ("u", "v"),
        ("low", "high"),
    )
    basics = {
        "name": "toy",
        "shape": (3, 2),
        "origin": "here",
        "author": "us",
        "licence": "free",
        "sha256": content_hash(made),
        "class_names": ("low", "high"),
        "class_counts": (2, 1),
        "files": files,
        "recipe": arff_classes("class"),
    }
    return Source(**{**basics, **options})


@pytest.fixture
def toy(monkeypatch):
    """A data set with the name toy and two addresses."""
    monkeypatch.setattr(loading, "DATASETS", {"toy": toy_source()})


def test_a_fetched_data_set_is_cached_and_reused(toy, network):
    network[TOY_ADDRESSES[0]] = toy_arff()
    data = load("toy")
    assert_array_equal(data.X, TOY_ROWS)
    assert data.class_names == ("low", "high")
    assert (data.source, data.licence) == ("here; us", "free")
    assert kept() == ["toy.npz"]
    network.clear()
    assert_array_equal(load("toy").X, TOY_ROWS)
    assert network.asked == [TOY_ADDRESSES[0]]


def test_the_second_address_is_used_if_the_first_fails(toy, network):
    for wrong in (HTTPError("", 404, "Not Found", None, None), toy_arff(labels="bab"), b"nonsense"):
        network.update({TOY_ADDRESSES[0]: wrong, TOY_ADDRESSES[1]: toy_arff()})
        assert load("toy").y.tolist() == [1, 0, 0]
        (cache_folder() / "toy.npz").unlink()


FAILURES = {
    "not found": (HTTPError("", 404, "Not Found", None, None), "answers 404 Not Found"),
    "forbidden": (HTTPError("", 403, "Forbidden", None, None), "answers 403"),
    "no name": (
        URLError(OSError(-2, "Name or service not known")),
        "cannot be reached: .*Name or service not known",
    ),
    "no answer": (URLError(TimeoutError("timed out")), "cannot be reached: timed out"),
    "silence": (
        TimeoutError("The read operation timed out"),
        "broke: The read operation timed out",
    ),
    "hung up": (ConnectionResetError(104, "Connection reset by peer"), "broke: .*reset"),
    "gibberish": (http.client.BadStatusLine("no HTTP"), "broke: no HTTP"),
    "a circle": (
        HTTPError("", 302, "a circle.\nThe last message was:\nFound", None, None),
        r"answers 302 a circle\. The last",
    ),
    "colours": (
        HTTPError("", 500, "\x1b[31mred" + "!" * 5000, None, None),
        r"answers 500 ·\[31mred!{100,159}…",
    ),
    "binary": (http.client.BadStatusLine("\0\xff"), "broke: ·ÿ"),
    "no address": (ValueError("Invalid IPv6 URL"), "broke: Invalid IPv6 URL"),
    "no length": (Response(toy_arff(), "9" * 5000), r"broke: Exceeds the limit"),
    "other numbers": (
        toy_arff([[0.5, 1.0], [2.0, np.nan], [3.0, 7.0]]),
        "has other numbers: SHA-256 [0-9a-f]{64} instead of",
    ),
    "other classes": (
        toy_arff(labels="bbb"),
        "cannot be read: its classes have 3 samples, not 2, 1",
    ),
    "a web page": (b"<html><body>Welcome</body></html>", "cannot be read"),
    "empty": (b"", "cannot be read"),
    "not even text": (bytes(range(256)) * 5, "cannot be read"),
    "half of a file": (toy_arff()[:-30], "cannot be read|has other numbers"),
    "cut short": (Response(toy_arff()[:-30], len(toy_arff())), r"sent \d+ of \d+ bytes"),
    "too much": (Response(b"%" * 10_000), "sends more than"),
}


@pytest.mark.parametrize("what", FAILURES)
def test_failures_are_one_sentence_and_leave_nothing(monkeypatch, toy, network, what):
    answer, message = FAILURES[what]
    monkeypatch.setattr(fetching, "MOST_BYTES", 5000)
    if isinstance(answer, Response):
        monkeypatch.setitem(loading.DATASETS, "toy", toy_source(files=(TOY_ADDRESSES[:1],)))
    network.update(dict.fromkeys(TOY_ADDRESSES, answer))
    with pytest.raises(DataUnavailableError, match=message) as error:
        load("toy")
    text = sentence(error)
    assert "'toy' cannot be fetched" in text
    assert "https://toy.example/" in text
    assert "GRAPHSIEVE_DATA" in text
    assert kept() == []
    assert not cache_folder().exists()


def test_warnings_of_readers_are_suppressed(monkeypatch, network):
    """numpy warns about a file without lines."""
    monkeypatch.setattr(
        loading, "DATASETS", {"toy": toy_source(recipe=lambda contents: read_numbers(contents[0]))}
    )
    network.update(dict.fromkeys(TOY_ADDRESSES, b""))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(DataUnavailableError, match="'toy' cannot be fetched"):
            load("toy")
    assert not caught


def test_an_interruption_passes_through_and_leaves_nothing(toy, network):
    class Interrupted(Response):
        def read(self, *_):
            raise KeyboardInterrupt

    network[TOY_ADDRESSES[0]] = Interrupted(b"")
    with pytest.raises(KeyboardInterrupt):
        load("toy")
    assert kept() == []


def test_a_full_disk_or_no_cache_is_a_warning(monkeypatch, toy, network, tmp_path):
    network[TOY_ADDRESSES[0]] = toy_arff()
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("GRAPHSIEVE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.warns(GraphSieveWarning, match="'toy' cannot be stored in") as caught:
        assert load("toy").X.shape == (3, 2)
    assert len(caught) == 1
    monkeypatch.setenv("GRAPHSIEVE_CACHE", str(tmp_path / "cache"))

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", full)
        with pytest.warns(GraphSieveWarning, match="No space left on device"):
            assert load("toy").X.shape == (3, 2)
    assert kept() == []
    load("toy")
    assert kept() == ["toy.npz"]


def test_a_damaged_copy_is_fetched_again(toy, network):
    network[TOY_ADDRESSES[0]] = toy_arff()
    load("toy")
    copy = cache_folder() / "toy.npz"
    whole = copy.read_bytes()
    for damage in (whole[:100], ready_file(small())):
        copy.write_bytes(damage)
        with pytest.raises(DataUnavailableError, match=r"toy\.npz") as error:
            load("toy", download=False)
        sentence(error)
        assert copy.read_bytes() == damage
        assert load("toy").X.shape == (3, 2)
        assert read_ready(copy).y.tolist() == [1, 0, 0]
    copy.write_bytes(whole[:100])
    network[TOY_ADDRESSES[0]] = HTTPError("", 500, "Internal Server Error", None, None)
    with pytest.raises(DataUnavailableError, match="cannot be fetched"):
        load("toy")


def test_a_long_download_is_shown_on_the_terminal(monkeypatch, toy, network, capsys):
    monkeypatch.setattr("graphsieve._base.progress.PATIENCE", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    network[TOY_ADDRESSES[0]] = toy_arff()
    load("toy")
    assert "fetching toy: 0.0 MB of 0.0 MB" in capsys.readouterr().err


def test_through_a_real_server(monkeypatch, tmp_path):
    """Downloads from a server on this machine, without a simulated network."""
    contents = {"/good.csv": b"1.5,2,x\n3,?,y\n", "/bad.csv": b"1.5,2,x\n3,4,y\n"}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path == "/slow.csv":
                stopped.wait(5)
                return
            content = contents.get(self.path.replace("/short", "/good"))
            self.send_response(404 if content is None else 200)
            if content is not None:
                self.send_header("Content-Length", str(len(content) + 5 * ("/short" in self.path)))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *_):
            pass

    monkeypatch.undo()
    monkeypatch.setenv("GRAPHSIEVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GRAPHSIEVE_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(fetching, "TIMEOUT", 0.5)
    stopped = threading.Event()
    data = Dataset(
        "toy",
        np.array([[1.5, 2], [3, np.nan]]),
        np.array([0, 1]),
        "classification",
        ("u", "v"),
        ("x", "y"),
    )
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            for file, message in {
                "none.csv": "answers 404",
                "bad.csv": "has other numbers",
                "short.csv": r"sent 14 of 19 bytes",
                "slow.csv": "timed out|broke|cannot be reached",
                "good.csv": None,
            }.items():
                address = f"http://127.0.0.1:{server.server_port}/{file}"
                source = toy_source(
                    files=((address,),),
                    sha256=content_hash(data),
                    class_counts=(1, 1),
                    recipe=labeled_table(-1, slice(0, 2), ("u", "v")),
                )
                monkeypatch.setattr(loading, "DATASETS", {"toy": source})
                if message is None:
                    assert_array_equal(load("toy").X, data.X)
                else:
                    with pytest.raises(DataUnavailableError, match=message) as error:
                        load("toy")
                    sentence(error)
                    assert kept() == []
        finally:
            stopped.set()
            server.shutdown()
    assert kept() == ["toy.npz"]
    assert_array_equal(load("toy").X, data.X)


# --- readers of external formats ---


def test_class_codes_follow_the_sizes():
    assert class_codes(np.array(["b", "a", "b"]), (1, 2)).tolist() == [1, 0, 1]
    assert class_codes(np.array(["b", "a", "b"]), (2, 1)).tolist() == [0, 1, 0]
    assert class_codes(np.array([3, 1, 2, 3, 3, 2]), (3, 1, 2)).tolist() == [0, 1, 2, 0, 0, 2]
    # The sizes a: 1, b: 1, c: 2 are assigned to 2, 1, 1. Classes of equal size keep their order.
    assert class_codes(np.array(["c", "a", "b", "c"]), (2, 1, 1)).tolist() == [0, 1, 2, 0]
    with pytest.raises(ValueError, match="its classes have 1, 2 samples, not 3"):
        class_codes(np.array(["b", "a", "b"]), (3,))


def test_matlab_files_are_read_by_the_shape_of_their_variables():
    def file(**variables):
        content = io.BytesIO()
        scipy.io.savemat(content, variables)
        return content.getvalue()

    X = np.arange(12.0).reshape(4, 3)
    cooked = matlab(3)([file(fea=X, gnd=np.array([[1], [2], [2], [1]]), note="text")])
    assert_array_equal(cooked.X, X)
    assert cooked.wanted.tolist() == [1, 2, 2, 1]
    with pytest.raises(ValueError, match="0 of its variables have 5 columns"):
        matlab(5)([file(X=X, Y=np.ones((4, 1)))])
    with pytest.raises(ValueError, match="2 of its variables have 3 columns"):
        matlab(3)([file(X=X, Z=X, Y=np.ones((4, 1)))])
    with pytest.raises(
        ValueError, match="0 of its variables have one value for each of the 4 rows"
    ):
        matlab(3)([file(X=X)])


@pytest.mark.parametrize("version", [2, 3])
def test_r_data_files_are_read(version):
    content = RWriter(version).file(
        a=r_real([1.5, np.nan]),
        b=r_integers([3, -(2**31)], names=r_texts(["é", None])),
        c=r_list(
            {
                "m": r_matrix(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), ["u", "v", "w"]),
                "f": r_factor(["no", "yes", "no"]),
            }
        ),
    )
    found = read_rdata(content)
    assert_array_equal(found["a"].values, [1.5, np.nan])
    assert_array_equal(found["b"].values, [3, np.nan])
    assert found["b"].attributes["names"].values == ["é", None]
    assert_array_equal(found["c"]["m"].matrix, [[1, 2, 3], [4, 5, 6]])
    assert found["c"]["m"].column_names == ["u", "v", "w"]
    assert found["c"]["f"].labels.tolist() == ["no", "yes", "no"]
    for length in range(len(content)):
        with pytest.raises(ValueError, match=r"truncated|begin like"):
            read_rdata(content[:length])


def r_compact(name, state):
    """A compact vector of R 3.5: a list of class, package and type, then the state, then
    attributes.
    """

    def make(writer):
        link = struct.pack(">i", 2)
        kind = [
            link,
            writer.symbol(name),
            link,
            writer.symbol("base"),
            link,
            r_integers([13])(writer),
            struct.pack(">i", 254),
        ]
        return struct.pack(">i", 238) + b"".join(kind) + state(writer) + struct.pack(">i", 254)

    return make


def test_compact_r_vectors_are_read():
    def wrapped(writer):
        parts = [r_real([7.5, 8.5]), r_integers([0, 0])]
        return struct.pack(">2i", 19, 2) + b"".join(make(writer) for make in parts)

    found = read_rdata(
        RWriter(3).file(
            a=r_compact("compact_intseq", r_real([4, 10, -1])), b=r_compact("wrap_real", wrapped)
        )
    )
    assert found["a"].values.tolist() == [10, 9, 8, 7]  # count, start and step
    assert found["b"].values.tolist() == [7.5, 8.5]


def test_other_r_content_is_refused():
    environment, closure, promise = (struct.pack(">i", code) for code in (4, 3, 5))
    for other in (environment, closure, promise, struct.pack(">i", 238)):
        with pytest.raises(ValueError):
            read_rdata(RWriter().file(x=lambda _, other=other: other + struct.pack(">i", 0) * 20))
    with pytest.raises(ValueError, match="which is not supported"):
        read_rdata(RWriter(3).file(x=r_compact("mmap_real", r_real([1]))))
    with pytest.raises(ValueError, match="no named variables"):
        read_rdata(RWriter().head + r_real([1.0])(RWriter()))
    deep = b"".join(struct.pack(">2i", 19, 1) for _ in range(100_000))
    with pytest.raises(ValueError, match="damaged"):
        read_rdata(RWriter().head + deep)


def test_compressed_files_are_unpacked_up_to_a_limit():
    import bz2

    content = bytes(10_000)
    for pack in (gzip.compress, bz2.compress, lzma.compress):
        packed = pack(content)
        assert unpacked(packed) == content
        with pytest.raises(ValueError, match="larger than 9999 bytes"):
            unpacked(packed, 9999)
        with pytest.raises((ValueError, EOFError)):
            unpacked(packed[: len(packed) // 2])
    assert unpacked(b"plain") == b"plain"


def test_the_names_of_the_package_are_documented():
    assert len(set(datasets.__all__)) == len(datasets.__all__)
    for name in datasets.__all__:
        thing = getattr(datasets, name)
        if callable(thing) and name != "DataUnavailableError":
            assert ">>>" in thing.__doc__
            assert "Parameters" in thing.__doc__ or "Attributes" in thing.__doc__


def test_too_little_memory_is_not_reported_as_a_damaged_file(monkeypatch, tmp_path):
    """Otherwise an intact file in the cache would be fetched again."""

    def no_memory(*_, **__):
        raise MemoryError

    np.savez(tmp_path / "one.npz", X=np.eye(3), y=[0, 1, 0])
    monkeypatch.setattr(np, "load", no_memory)
    with pytest.raises(MemoryError):
        read_ready(tmp_path / "one.npz")

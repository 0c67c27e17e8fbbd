"""Settings for all tests."""

from __future__ import annotations

import os

import matplotlib
import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from command import Answer
from graphsieve import _kernels as kernels
from graphsieve.cli import main
from graphsieve.table import columns

matplotlib.use("Agg")

# Every run uses the same examples, so that a failure is caused by the current change. `make test`
# runs few of them, and `make test-all` more ("thorough"). "hunt" draws new ones in every run.
settings.register_profile(
    "default",
    deadline=None,
    max_examples=8,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=40)
settings.register_profile(
    "hunt", settings.get_profile("default"), max_examples=500, derandomize=False
)
settings.register_profile(
    "fuzz",
    deadline=None,
    max_examples=int(
        os.environ.get("FUZZ_EXAMPLES", "700")
    ),  # The fuzz tests multiply this by 2 to 12.
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="module")
def sparse_stays_sparse():
    """Keep all blocks of a sparse table sparse.

    Otherwise blocks with many entries become dense, and tests of the sparse sums would use the
    dense ones.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "DENSE_FROM", 2.0)
        yield


@pytest.fixture(scope="module")
def one_thread():
    """Use one thread. For thousands of tiny problems, starting threads takes longer than solving
    them.
    """
    with threadpool_limits(1):
        yield


@pytest.fixture
def plain(monkeypatch):
    """Return a function that calls another function with the numpy kernels."""

    def call(function, *args, **options):
        with monkeypatch.context() as patch:
            patch.setattr(kernels, "compiled", None)
            assert kernels.compiled is None
            return function(*args, **options)

    return call


# ---- The command in this process, in an empty folder ----


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder, capsys):
    """Run the command. The test checks the exit code."""

    def call(*arguments):
        try:
            code = main([str(one) for one in arguments])
        except SystemExit as end:
            code = end.code
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Answer(code, out, err)

    return call


@pytest.fixture
def succeed(run):
    """Run the command, which must succeed."""

    def call(*arguments):
        answer = run(*arguments)
        assert answer.code == 0, answer.err
        return answer

    return call

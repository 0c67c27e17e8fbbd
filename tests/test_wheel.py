"""The wheel contains all required files, installs into a clean environment and works there, with
and without the compiled kernels.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PROGRAM = """
import numpy as np, graphsieve
from graphsieve import _kernels as kernels
from graphsieve.scores import laplacian_score
X = np.random.default_rng(0).normal(size=(300, 6))
print(kernels.compiled is not None, *map(float.hex, laplacian_score(X, n_neighbors=5).tolist()))
print(graphsieve.rank(X).to_html()[:15])
"""


def run(*command: object, **environment: str) -> str:
    """Return the output of a command, run in an environment without this checkout."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "GRAPHSIEVE_PLAIN")
    }
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        check=False,
        env={**kept, **environment},
        cwd=ROOT.parent,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def build(target: Path, **environment: str) -> Path:
    """Build a wheel from a copy of this checkout.

    The copy contains no earlier build results, and the checkout stays unchanged.
    """
    source = target / "source"
    files = [
        path
        for path in ROOT.iterdir()
        if path.suffix in (".toml", ".py", ".md", ".in") or path.name == "LICENSE"
    ]
    source.mkdir(parents=True)
    for path in files:
        (source / path.name).write_bytes(path.read_bytes())
    for path in (ROOT / "src").rglob("*"):
        if (
            path.is_file()
            and path.suffix not in (".so", ".pyd", ".pyc")
            and "egg-info" not in str(path)
        ):
            copy = source / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    command = (
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        target,
        source,
    )
    try:
        run(*command, **environment)
    except AssertionError as error:
        if "setuptools" in str(error) and (
            "No matching distribution" in str(error) or "Could not find" in str(error)
        ):
            pytest.skip("setuptools cannot be downloaded")
        raise
    (wheel,) = target.glob("*.whl")
    return wheel


def installed(wheel: Path, target: Path) -> Path:
    """Return the Python of a new environment with the wheel. It uses the numpy and other libraries
    of the current environment.
    """
    run(sys.executable, "-m", "venv", "--without-pip", target)
    python = target / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    packages = Path(
        run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    )
    run(
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
        packages,
        wheel,
    )
    # The path is appended and does not follow the links of editable installs. Therefore graphsieve
    # is imported from the wheel.
    import numpy

    (packages / "others.pth").write_text(str(Path(numpy.__file__).parents[1]))
    return python


def test_the_wheel_ranks_with_and_without_compiled_kernels(tmp_path):
    with_kernels, without = (
        build(tmp_path / "with"),
        build(tmp_path / "without", CC="false", CXX="false"),
    )
    names = [set(zipfile.ZipFile(wheel).namelist()) for wheel in (with_kernels, without)]
    for inside in names:
        assert {
            "graphsieve/py.typed",
            "graphsieve/report/assets/report.css",
            "graphsieve/report/assets/report.js",
        } <= inside
        assert not any(name.endswith((".c", ".h")) for name in inside)
    if not any("_compiled" in name for name in names[0]):
        pytest.skip("no C compiler is available")
    assert not any("_compiled" in name for name in names[1])
    assert "-cp311-abi3-" in with_kernels.name

    first, second = installed(with_kernels, tmp_path / "a"), installed(without, tmp_path / "b")
    answers = [
        run(first, "-c", PROGRAM),
        run(first, "-c", PROGRAM, GRAPHSIEVE_PLAIN="1"),
        run(second, "-c", PROGRAM),
    ]
    assert [answer.split()[0] for answer in answers] == ["True", "False", "False"]
    assert len({answer.partition(" ")[2] for answer in answers}) == 1

"""Build the compiled kernels. Without a C compiler, they are omitted.

All other build settings are in pyproject.toml.
"""

from __future__ import annotations

import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

KERNELS = Path("src/graphsieve/_kernels")
# One wheel works for all Python versions from 3.11. Free-threaded builds of Python have no stable
# ABI yet.
STABLE = not sysconfig.get_config_var("Py_GIL_DISABLED")


class BuildKernels(build_ext):
    """Build the kernels without contraction of floating-point operations, for any compiler."""

    def build_extensions(self) -> None:
        """Add the options for the available compiler."""
        unix = self.compiler.compiler_type != "msvc"
        for extension in self.extensions:
            extension.extra_compile_args = (
                ["-std=c11", "-O3", "-ffp-contract=off"] if unix else ["/O2", "/std:c11", "/fp:precise"]
            )
        super().build_extensions()


setup(
    ext_modules=[
        Extension(
            "graphsieve._kernels._compiled",
            sources=[path.as_posix() for path in sorted(KERNELS.glob("*.c"))],
            depends=[path.as_posix() for path in sorted(KERNELS.glob("*.h"))],
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE else [],
            py_limited_api=STABLE,
            optional=True,
        )
    ],
    cmdclass={"build_ext": BuildKernels},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)

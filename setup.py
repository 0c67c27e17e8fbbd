"""The compiled kernels; everything else about the build is in pyproject.toml. Without a compiler they are left out."""

from __future__ import annotations

import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

KERNELS = Path("src/graphsieve/_kernels")
# One wheel serves all Pythons from 3.11 on; those without the global lock have no stable interface yet.
STABLE = not sysconfig.get_config_var("Py_GIL_DISABLED")


class BuildKernels(build_ext):
    """Sums must round as they are written (no contraction), whatever the compiler."""

    def build_extensions(self) -> None:
        """Add what the compiler at hand needs."""
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

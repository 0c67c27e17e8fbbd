"""Say which browser the tests of the report will use, and try to install one where there is none.

Run by the set-up of `make test`. It never asks and never fails: without a browser those tests are
skipped and say so.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile

from browser import VARIABLE, any_browser

LIMIT = 240.0  # seconds for each attempt
GRACE = 10.0  # seconds between asking a command to stop and making it


def attempts() -> list[list[str]]:
    """The commands that may bring a browser, in the order to try them."""
    playwright = [sys.executable, "-m", "playwright", "install", "chromium"]
    if not shutil.which("apt-get"):
        return [playwright]
    if os.geteuid() == 0:
        rights = []
    elif shutil.which("sudo"):
        rights = ["sudo", "-n"]
    else:
        return [playwright]
    apt = [*rights, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
    # Without a font a page is drawn without text, so one comes along.
    install = [*apt, "install", "-y", "--no-install-recommends", "chromium", "fonts-liberation"]
    return [[*apt, "update"], install, playwright]


def outcome(command: list[str], limit: float = LIMIT) -> str:
    """Run the command, with nobody to answer its questions, and say in one line what became of
    it.
    """
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            return f"could not be run ({error.strerror})"
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            _stop(process)
            return f"given up after {limit:g} seconds"
        output.seek(0)
        lines = output.read().decode(errors="replace").split("\n")
    if code == 0:
        return "done"
    return f"failed with exit code {code}: {_telling(lines)[:200]}"


def _telling(lines: list[str]) -> str:
    """The first line that speaks of an error, else the last with anything on it."""
    said = [line.strip() for line in lines if line.strip()]
    return next(
        (line for line in said if line.startswith("E:") or "error" in line.lower()),
        said[-1] if said else "no output",
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the command and those it started: politely, because a package manager that is killed
    leaves half a package.
    """
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
            process.wait(GRACE)
        except (ProcessLookupError, PermissionError):
            return  # gone already, or root's by way of sudo: not ours to end
        except subprocess.TimeoutExpired:
            continue
        return


def main() -> None:
    found = any_browser()
    for command in [] if found else attempts():
        print(f"{' '.join(command)}: {outcome(command)}", flush=True)
        found = any_browser()
        if found:
            break
    if found:
        print(f"browser for the tests of the report: {found}")
    else:
        print(
            f"no browser: the tests of the report in a browser will be skipped; set {VARIABLE} to "
            "a Chromium to run them"
        )


if __name__ == "__main__":
    main()

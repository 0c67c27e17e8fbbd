"""Print which browser the tests of the report use, and try to install one if there is none.

`make test-all` runs this script. It asks no questions and never fails. Without a browser, those
tests are skipped with a message.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile

from browser import VARIABLE, any_browser

LIMIT = 240.0  # seconds per attempt
GRACE = 10.0  # seconds between SIGTERM and SIGKILL


def attempts() -> list[list[str]]:
    """Return the commands that may install a browser, in the order to try them."""
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
    # Without a font, pages are rendered without text, so a font is installed too.
    install = [*apt, "install", "-y", "--no-install-recommends", "chromium", "fonts-liberation"]
    return [[*apt, "update"], install, playwright]


def outcome(command: list[str], limit: float = LIMIT) -> str:
    """Run the command without input, and return its outcome in one line."""
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
            return f"stopped after {limit:g} seconds"
        output.seek(0)
        lines = output.read().decode(errors="replace").split("\n")
    if code == 0:
        return "done"
    return f"failed with exit code {code}: {_error_line(lines)[:200]}"


def _error_line(lines: list[str]) -> str:
    """Return the first line that mentions an error, otherwise the last line that is not empty."""
    filled = [line.strip() for line in lines if line.strip()]
    return next(
        (line for line in filled if line.startswith("E:") or "error" in line.lower()),
        filled[-1] if filled else "no output",
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the command and its child processes, first with SIGTERM.

    A package manager that is killed leaves incomplete packages behind.
    """
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
            process.wait(GRACE)
        except (ProcessLookupError, PermissionError):
            return  # already ended, or started by root through sudo
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

"""Run the command in separate processes that start quickly, as forks of a process that has already
imported all modules.

A dictionary describes a fault, which affects only the child process (see `_suffer`). Tests use the
class `Forks`. Run as a script, this file is the process that forks.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 120.0  # seconds until a child is considered to hang
GRACE = 10.0  # seconds within which the processes of a child must end after it
STEP = 0.005  # seconds between checks


@dataclass(frozen=True)
class Ended:
    """How a run of the command ended."""

    code: int  # exit code; if negative, the signal that killed the process
    out: str
    err: str
    left: list[str]  # command lines of processes that are still running
    temporary: list[str]  # remaining files in the temporary folder
    calls: int  # number of Python function calls, if they were counted
    used: int  # bytes of address space before the run


def _without_python_settings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


class Forks:
    """A process that forks once for each run."""

    def __init__(self, warm_up: list[list[str]], cwd: Path, **environment: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=cwd,
            # Streams are buffered, as on a user's machine. Python writes their remaining content
            # when it ends.
            env={**_without_python_settings(), "OMP_NUM_THREADS": "1", **environment},
        )
        self._ask({"warm_up": warm_up})

    def run(self, *arguments: str, cwd: Path, **fault: object) -> Ended:
        """Run the command with a fault. Raise an error if it hangs."""
        answer = self._ask(
            {"arguments": list(map(str, arguments)), "cwd": str(cwd), "fault": fault}
        )
        assert not answer.pop("hung"), (arguments, fault, answer)
        return Ended(**answer)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()

    def _ask(self, question: dict[str, object]) -> dict:
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the process that forks has ended"
        return json.loads(answer)


# --------------------------------------------------------------------------------------------------
# Faults of the child process
# --------------------------------------------------------------------------------------------------


class Calls:
    """Count the calls of Python functions, and send this process a signal at one of them."""

    def __init__(self, place: int = 0, number: int = 0) -> None:
        self.count, self._place, self._number = 0, place, number

    def __call__(self, frame, event, argument):
        if event == "call":
            self.count += 1
            if self.count == self._place:
                os.kill(os.getpid(), self._number)


def _suffer(fault: dict) -> Calls | None:
    """Apply the fault to this process."""
    if "address_space" in fault:
        resource.setrlimit(resource.RLIMIT_AS, (_address_space() + fault["address_space"],) * 2)
    if "file_size" in fault:
        resource.setrlimit(resource.RLIMIT_FSIZE, (fault["file_size"],) * 2)
    if "stderr" in fault:
        os.dup2(os.open(fault["stderr"], os.O_WRONLY), 2)
    if "failing" in fault:
        _make_fail(fault["failing"], getattr(errno, fault["error"]))
    if "waits_at" in fault:
        _make_wait(fault["waits_at"], Path(fault["mark"]))
    if "at_call" in fault or "count_calls" in fault:
        calls = Calls(fault.get("at_call", 0), fault.get("signal", 0))
        sys.setprofile(calls)
        return calls
    return None


def _make_fail(name: str, number: int) -> None:
    """Let a function of `os` raise an error for the files that graphsieve writes."""
    real = getattr(os, name)

    def fails(path, *arguments, **options):
        if ".graphsieve-" in os.fspath(path):
            raise OSError(number, os.strerror(number), path)
        return real(path, *arguments, **options)

    setattr(os, name, fails)


def _make_wait(name: str, mark: Path) -> None:
    """Let a function of `os` create a mark and wait until the process is killed, for the files that
    graphsieve writes.
    """
    real = getattr(os, name)

    def waits(path, *arguments, **options):
        if ".graphsieve-" in os.fspath(path):
            mark.touch()
            time.sleep(PATIENCE)
        return real(path, *arguments, **options)

    setattr(os, name, waits)


# --------------------------------------------------------------------------------------------------
# The process that forks
# --------------------------------------------------------------------------------------------------


def _address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _processes_of(session: int) -> dict[int, str]:
    """Return the running processes of a session with their command lines."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            state, _, _, its_session = (
                Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[:4]
            )
            if int(its_session) == session and state not in "ZX":
                found[int(name)] = (
                    Path(f"/proc/{name}/cmdline").read_text().replace("\0", " ")[:200]
                )
    return found


def _strike(child: int, fault: dict) -> None:
    """Send the signal to the child or its worker when the time of the fault has come."""
    if "mark" in fault and Path(fault["mark"]).exists():
        os.kill(child, fault["signal"])
    elif "worker" in fault:
        workers = [one for one, line in _processes_of(child).items() if "popen_loky" in line]
        if not workers:
            return
        time.sleep(fault["worker"])
        os.kill(workers[-1] if fault.get("of_worker", True) else child, fault["signal"])
    else:
        if "after" not in fault:
            return
        time.sleep(fault["after"])
        os.kill(child, fault["signal"])
    fault.clear()


def _wait_for(child: int, fault: dict) -> int | None:
    """Return the exit code of the child, or None if it hung and had to be killed."""
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        with contextlib.suppress(ProcessLookupError):
            _strike(child, fault)
        time.sleep(STEP)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _left_by(session: int) -> list[str]:
    """Return the processes that do not end by themselves, and kill them."""
    ends = time.monotonic() + GRACE
    while (left := _processes_of(session)) and time.monotonic() < ends:
        time.sleep(STEP)
    for one in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)
    return sorted(left.values())


def _run(question: dict) -> dict | None:
    """Fork. Return the result of the child in the parent, and None in the child, which must end."""
    folder = Path(tempfile.mkdtemp())
    files = {name: folder / name for name in ("out", "err", "calls")}
    temporary = folder / "temporary"
    temporary.mkdir()
    used, fault = _address_space(), dict(question["fault"])
    child = os.fork()
    if not child:
        _become(question, files, temporary)
        return None
    code = _wait_for(child, fault)
    answer = {
        "hung": code is None,
        "code": code,
        "left": _left_by(child),
        "out": files["out"].read_text(errors="replace"),
        "err": files["err"].read_text(errors="replace"),
        "temporary": sorted(os.listdir(temporary)),
        "calls": int(files["calls"].read_text()) if files["calls"].exists() else 0,
        "used": used,
    }
    shutil.rmtree(folder)
    return answer


def _become(question: dict, files: dict[str, Path], temporary: Path) -> None:
    """Run the command in the child, and end in the same way as the installed script."""
    from graphsieve.cli import main

    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(files[name], os.O_WRONLY | os.O_CREAT), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(question["cwd"])
    os.environ["TMPDIR"] = os.environ["JOBLIB_TEMP_FOLDER"] = tempfile.tempdir = str(temporary)
    calls = _suffer(question["fault"])
    sys.argv = ["graphsieve", *question["arguments"]]
    code = main()
    sys.setprofile(None)
    if calls is not None:
        files["calls"].write_text(str(calls.count))
    question["code"] = code


def _answer_all() -> int:
    from graphsieve.cli import main

    for line in sys.stdin:
        question = json.loads(line)
        if "warm_up" in question:
            for arguments in question["warm_up"]:
                with (
                    open(os.devnull, "w") as nowhere,
                    contextlib.redirect_stdout(nowhere),
                    contextlib.redirect_stderr(nowhere),
                ):
                    assert main(arguments) == 0, arguments
            answer: dict | None = {}
        else:
            answer = _run(question)
        if answer is None:
            return question["code"]
        print(json.dumps(answer), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(_answer_all())

"""Mutation tests of the scoring core: each mutant has one small fault that a test has to detect.

    python tests/mutation.py                     a sample of all files of the core, about twenty minutes
    python tests/mutation.py src/graphsieve/graphs/ratio.py --most 1000

First, every test runs once to record the lines of the core that it reaches. Then the tests that
reach the line of a mutant run on it, the fastest first. The mutant is killed if one of them fails
or does not end. Everything runs in copies of the source tree. `mutants_explained.py` lists the
mutants that no test can detect, with the reasons. The script requires a system with fork.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis.extra.numpy  # noqa: F401  imported once for all children, before the fork
import matplotlib  # noqa: F401
import pytest
import sklearn.cluster
import sklearn.feature_selection
import sklearn.manifold  # noqa: F401

from mutants_explained import explanation

HERE = Path(__file__).resolve().parents[1]
CORE = [
    f"src/graphsieve/{name}.py"
    for name in (
        "table/sums",
        "table/blocks",
        "table/columns",
        "graphs/ratio",
        "graphs/graph",
        "graphs/builders",
    )
]
CORE += [
    f"src/graphsieve/scores/{name}.py"
    for name in ("geometry", "labels", "method", "pairs", "probabilities", "targets")
]
CORE += [f"src/graphsieve/_kernels/{name}.py" for name in ("column_sums",)]
TESTS = ["src/graphsieve/scores", "tests/scores", "tests/_kernels", "tests/graphs/test_engine.py"]
TESTS += [
    "tests/robustness/test_extremes.py",
    "tests/table/test_stored_table.py",
    "tests/supervision",
]
OPTIONS = ["-W", "ignore::pytest.PytestAssertRewriteWarning", "-x", "--hypothesis-seed=0"]
OPTIONS += ["-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin"]
PROCESSES = 2
TESTS_FOR = 10.0  # maximum seconds of tests per mutant
LIMIT = 90.0  # seconds after which a mutant is stopped
MEMORY = 6 * 2**30  # bytes of address space; some mutants would allocate all memory
OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    **dict(
        zip((ast.Lt, ast.LtE, ast.Gt, ast.GtE), (ast.LtE, ast.Lt, ast.GtE, ast.Gt), strict=True)
    ),
    **dict(
        zip(
            (ast.Eq, ast.NotEq, ast.Is, ast.IsNot),
            (ast.NotEq, ast.Eq, ast.IsNot, ast.Is),
            strict=True,
        )
    ),
    **dict(
        zip((ast.In, ast.NotIn, ast.And, ast.Or), (ast.NotIn, ast.In, ast.Or, ast.And), strict=True)
    ),
    **dict(
        zip(
            (ast.Add, ast.Sub, ast.Mult, ast.Div),
            (ast.Sub, ast.Add, ast.Div, ast.Mult),
            strict=True,
        )
    ),
    **dict(zip((ast.Pow, ast.FloorDiv, ast.Mod), (ast.Mult, ast.Mult, ast.FloorDiv), strict=True)),
    **dict(zip((ast.BitAnd, ast.BitOr), (ast.BitOr, ast.BitAnd), strict=True)),
}
NAMES = {
    "min": "max",
    "minimum": "maximum",
    "any": "all",
    "argmin": "argmax",
    "zeros": "ones",
    "floor": "ceil",
}
NAMES |= {other: one for one, other in NAMES.items()}


@dataclass(frozen=True)
class Mutant:
    file: str
    line: int
    statement: int  # first line of the statement
    text: str  # text of the line
    change: str
    result: str  # first line of the changed statement
    source: str  # source code of the whole file


class Swap(ast.NodeTransformer):
    """Replace one node by another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else self.generic_visit(node)


def changed(node: ast.AST, **fields: Any) -> ast.AST:
    return type(node)(**{**{name: getattr(node, name, None) for name in node._fields}, **fields})


def alternatives(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the possible mutations of a node."""
    match node:
        case ast.Compare():
            for place, operator in enumerate(node.ops):
                yield changed(
                    node,
                    ops=[*node.ops[:place], OPERATORS[type(operator)](), *node.ops[place + 1 :]],
                )
        case ast.BinOp() | ast.BoolOp() | ast.AugAssign() if type(node.op) in OPERATORS:
            yield changed(node, op=OPERATORS[type(node.op)]())
        case ast.UnaryOp():
            yield node.operand
        case ast.Constant(value=bool()):
            return
        case ast.Constant(value=int() | float()):
            yield ast.Constant({0: 1, 1: 0, 0.5: 1.0}.get(node.value, node.value + 1))
        case ast.Slice():
            for end in ("lower", "upper"):
                if getattr(node, end) is not None and not isinstance(
                    getattr(node, end), ast.Constant
                ):
                    yield changed(
                        node, **{end: ast.BinOp(getattr(node, end), ast.Add(), ast.Constant(1))}
                    )
        case ast.Attribute() if node.attr in NAMES:
            yield changed(node, attr=NAMES[node.attr])
        case ast.Name() if node.id in NAMES:
            yield changed(node, id=NAMES[node.id])
        case ast.Call(func=ast.Attribute(attr="where"), args=[test, one, other]):
            yield changed(node, args=[test, other, one])
        case ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.Return(value=ast.Call(func=ast.Attribute() | ast.Name())):
            yield ast.Return(ast.Constant(None))
    if isinstance(node, ast.AugAssign):
        yield ast.Pass()


def is_excluded(node: ast.AST) -> bool:
    """Whether a node is not mutated: messages, type hints and assertions."""
    warns = (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func).endswith("warn")
    )
    return warns or isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.arguments)


def places(node: ast.AST, statement: ast.stmt) -> Iterator[tuple[ast.AST, ast.stmt]]:
    """Yield all nodes below this one that may be mutated, each with its statement."""
    for name, field in ast.iter_fields(node):
        for child in field if isinstance(field, list) else [field]:
            if (
                isinstance(child, ast.AST)
                and name not in ("annotation", "returns", "decorator_list")
                and not is_excluded(child)
            ):
                begin = child if isinstance(child, ast.stmt) else statement
                yield child, begin
                yield from places(child, begin)


def mutants_of(file: str) -> list[Mutant]:
    """Return all mutants inside the functions of a file."""
    text = (HERE / file).read_text()
    tree, lines, found = ast.parse(text), text.splitlines(), []
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inner = {id(node) for one in functions for node in ast.walk(one) if node is not one}
    for node, statement in [
        place for one in functions if id(one) not in inner for place in places(one, one)
    ]:
        for other in alternatives(node):
            line = getattr(node, "lineno", statement.lineno)
            change = f"{ast.unparse(node)} → {ast.unparse(other)}"
            Swap(node, other).visit(tree)
            result = ast.unparse(other if node is statement else statement).splitlines()[0]
            found.append(
                Mutant(
                    file,
                    line,
                    statement.lineno,
                    lines[line - 1].strip(),
                    change,
                    result,
                    ast.unparse(tree),
                )
            )
            Swap(other, node).visit(tree)
    return found


class Recorder:
    """A pytest plugin that records the duration of each test and the lines of the core that it
    reaches.
    """

    def __init__(self, tree: Path) -> None:
        self.files = {str(tree / file): file for file in CORE}
        self.lines: set[str] = set()
        self.found: dict[str, tuple[float, list[str]]] = {}
        sys.settrace(self.called)
        threading.settrace(self.called)

    def called(self, frame: Any, event: str, _: Any) -> Any:
        return self.line if frame.f_code.co_filename in self.files else None

    def line(self, frame: Any, event: str, _: Any) -> Any:
        self.lines.add(f"{self.files[frame.f_code.co_filename]}:{frame.f_lineno}")
        return self.line

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        self.lines = set()
        start = time.perf_counter()
        result = yield
        self.found[item.nodeid] = (time.perf_counter() - start, sorted(self.lines))
        return result


class Chosen:
    """A pytest plugin that runs only the given tests, in the given order."""

    def __init__(self, tests: list[str]) -> None:
        self.order = {test: place for place, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.order),
            key=lambda item: self.order[item.nodeid],
        )


def run_tests(tree: Path, tests: list[str], chosen: list[str] | None) -> None:
    """Run tests in a separate process. The exit code is 0 if all tests pass."""
    # Not available on every system, and pytest imports this file to collect doctests.
    import resource

    os.setsid()
    os.nice(10)
    os.chdir(tree)
    os.environ.update(
        PYTHONPATH=str(tree / "src"),
        HYPOTHESIS_PROFILE="default",
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
    )
    sys.path[:0] = [str(tree / "src")]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    log = os.open(tree / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    plugin = Recorder(tree) if chosen is None else Chosen(chosen)
    code = pytest.main([*OPTIONS, *tests], plugins=[plugin])
    if isinstance(plugin, Recorder):
        (tree / "seen.json").write_text(json.dumps(plugin.found))
    os._exit(int(code))


def in_copies(jobs: list[Any], start: Any, done: Any, limit: float = LIMIT) -> None:
    """Run the jobs in two processes, each in its own copy of the tree. Kill those that do not
    end.
    """
    with tempfile.TemporaryDirectory(prefix="graphsieve-mutants-") as folder:
        free = [Path(folder) / str(number) for number in range(PROCESSES)]
        for tree in free:
            shutil.copytree(
                HERE,
                tree,
                ignore=shutil.ignore_patterns(
                    ".git", "__pycache__", ".venv", ".hypothesis", "docs"
                ),
            )
        running: list[tuple[Any, Path, Any, float]] = []
        while jobs or running:
            while jobs and free:
                tree, job = free.pop(), jobs.pop(0)
                process = multiprocessing.get_context("fork").Process(
                    target=run_tests, args=(tree, *start(tree, job))
                )
                process.start()
                running.append((process, tree, job, time.monotonic()))
            for entry in list(running):
                process, tree, job, since = entry
                process.join(0.05)
                if process.is_alive() and time.monotonic() - since < limit:
                    continue
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.join()
                running.remove(entry)
                free.append(tree)
                done(tree, job, process.exitcode)


def seen_by_tests(tests: list[str], kept: Path | None) -> dict[str, tuple[float, list[str]]]:
    """Return the duration of every test and the lines that it reaches.

    Test files that are already recorded in `kept` are not run again.
    """
    seen: dict[str, dict[str, Any]] = json.loads(kept.read_text()) if kept and kept.exists() else {}

    def done(tree: Path, test: str, code: int) -> None:
        if code != 0:
            sys.exit(f"{test} fails without any mutant:\n{(tree / 'log').read_text()[-3000:]}")
        seen[test] = json.loads((tree / "seen.json").read_text())
        print(
            f"{test}: {len(seen[test])} tests, {sum(took for took, _ in seen[test].values()):.0f} "
            "s",
            flush=True,
        )

    in_copies(
        [test for test in tests if test not in seen],
        lambda tree, test: ([test], None),
        done,
        limit=10 * LIMIT,
    )
    if kept:
        kept.write_text(json.dumps(seen))
    return {test: found for one in seen.values() for test, found in one.items()}


def tests_for(mutant: Mutant, reached: dict[str, list[tuple[float, str]]]) -> list[str]:
    """Return the tests that reach the line of a mutant: the fastest of each file, then the second
    fastest of each, and so on.
    """
    found = reached.get(f"{mutant.file}:{mutant.line}") or reached.get(
        f"{mutant.file}:{mutant.statement}", []
    )
    turns: Counter[str] = Counter()
    in_turn = []
    for took, test in sorted(found):
        file = test.split("::")[0]
        turns[file] += 1
        in_turn.append((turns[file], took, test))
    chosen, total = [], 0.0
    for _, took, test in sorted(in_turn):
        total += took
        if total > TESTS_FOR and chosen:
            break
        chosen.append(test)
    return chosen


def survivors(mutants: list[Mutant], seen: dict[str, tuple[float, list[str]]]) -> list[Mutant]:
    """Return the mutants that no test detects, and print each immediately."""
    reached: dict[str, list[tuple[float, str]]] = {}
    for test, (took, lines) in seen.items():
        for line in lines:
            reached.setdefault(line, []).append((took, test))
    alive: list[Mutant] = []
    tried: list[Mutant] = []
    stamps = iter(range(10**9, 2 * 10**9))  # A new time stamp forces Python to compile the file.

    def survived(mutant: Mutant, n_tests: int) -> None:
        alive.append(mutant)
        print(f"survived {n_tests} tests: {mutant.file}:{mutant.line}  {mutant.change}")
        print(f"    {mutant.text}\n    {mutant.result}", flush=True)

    def write(path: Path, text: str) -> None:
        path.write_text(text)
        os.utime(path, (stamp := next(stamps), stamp))

    def start(tree: Path, mutant: Mutant) -> tuple[list[str], list[str]]:
        write(tree / mutant.file, mutant.source)
        chosen = tests_for(mutant, reached)
        return sorted({test.split("::")[0] for test in chosen}), chosen

    def done(tree: Path, mutant: Mutant, code: int) -> None:
        tried.append(mutant)
        if len(tried) % 25 == 0:
            print(f"{len(tried)} tried", flush=True)
        write(tree / mutant.file, (HERE / mutant.file).read_text())
        if code == 0:
            survived(mutant, len(tests_for(mutant, reached)))

    for mutant in mutants:
        if not tests_for(mutant, reached):
            survived(mutant, 0)
    in_copies([mutant for mutant in mutants if tests_for(mutant, reached)], start, done)
    return alive


def sample(mutants: list[Mutant], most: int, seed: int) -> list[Mutant]:
    """Return an even sample of at most `most` mutants."""
    if len(mutants) <= most:
        return mutants
    step = len(mutants) / most
    offset = random.Random(seed).random()
    return [mutants[int((place + offset) * step)] for place in range(most)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", default=CORE, help="files of the core; all by default")
    parser.add_argument(
        "--most", type=int, default=250, help="maximum number of mutants, sampled evenly"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample")
    parser.add_argument(
        "--seen",
        type=Path,
        help="file that stores which test reaches which line, valid until the code changes",
    )
    parser.add_argument(
        "--like", default="", help="only mutants with this text in the change or the line"
    )
    options = parser.parse_args()
    # A regular exit removes the copies of the tree.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    mutants = [
        mutant
        for file in options.files
        for mutant in mutants_of(file)
        if options.like in mutant.change + mutant.text
    ]
    chosen = sample(mutants, options.most, options.seed)
    explained = [
        mutant
        for mutant in chosen
        if explanation(mutant.file, mutant.text, mutant.change, mutant.result)
    ]
    tried = [mutant for mutant in chosen if mutant not in explained]
    print(
        f"{len(chosen)} of {len(mutants)} mutants selected; {len(explained)} of them are "
        "explained, the others are tried",
        flush=True,
    )
    alive = survivors(tried, seen_by_tests(TESTS, options.seen))
    counts = [
        Counter(mutant.file for mutant in some) for some in (mutants, chosen, explained, alive)
    ]
    print(
        f"{'file':40} {'mutants':>8} {'selected':>8} {'killed':>8} {'explained':>10} {'survived':>9}"
    )
    for file in [*options.files, None]:
        all_, some, why, lives = (
            count.total() if file is None else count[file] for count in counts
        )
        print(f"{file or 'all':40} {all_:8} {some:8} {some - why - lives:8} {why:10} {lives:9}")
    sys.exit(1 if alive else 0)


if __name__ == "__main__":
    main()

"""Mutation test: which single changes of a package do its tests not notice?

    python -m tools.mutation --package device --count 120 --seed 1 --jobs 2

Runs ``tests/<package>`` once with coverage. Then draws random changes of the modules in ``src/*/<package>`` and
runs on each the tests that execute the changed line, then the test files that name the module. Prints every change
with which all of them pass, then the share of the others. A run that takes much longer than without it counts
as noticed. The tree itself is never changed: each job works on a copy with an environment of its own, so that
processes that tests start run the changed code too.
"""

import argparse
import ast
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from random import Random
from textwrap import shorten
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
_IGNORED = (".git", ".venv*", "__pycache__", ".*_cache", ".hypothesis")
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.Lt: ast.LtE,
    ast.Gt: ast.GtE,
    ast.Is: ast.IsNot,
    ast.In: ast.NotIn,
}
_COMPARISONS |= {new: old for old, new in _COMPARISONS.items()}
# pytest's exit codes for a run in which no test failed.
_PASSED = (0, 5)
# A run is stopped after so many times its usual time, and some seconds for a busy machine.
_SLOWDOWN = 3
_START_SECONDS = 20.0
_BASELINE_SECONDS = 900.0
# Tests below this time run first, and of these so many before the others: most changes are noticed by one of them.
_QUICK_SECONDS = 0.5
_FIRST_TESTS = 40


@dataclass(frozen=True)
class Mutant:
    """The ``number``-th change of a module: its kind, where it is, and what it replaces."""

    module: Path
    number: int
    kind: str
    line: int
    source: str
    replaced: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line} ({self.kind}: {self.replaced}) {self.source}"


# Changes


def mutants_of(root: Path, module: Path) -> list[Mutant]:
    text = (root / module).read_text()
    lines = text.splitlines()
    return [
        Mutant(module, number, kind, line, lines[line - 1].strip(), replaced)
        for number, (kind, line, replaced, _) in enumerate(_changes(ast.parse(text)))
    ]


def mutated_source(root: Path, mutant: Mutant) -> str:
    tree = ast.parse((root / mutant.module).read_text())
    _, _, _, change = next(islice(_changes(tree), mutant.number, None))
    change()
    return ast.unparse(ast.fix_missing_locations(tree))


def _changes(tree: ast.AST) -> Iterator[tuple[str, int, str, Callable[[], None]]]:
    """Every change of a tree: its kind, its line, what it replaces, and the function that makes it."""
    for parent in _walk(tree):
        for name, value in ast.iter_fields(parent):
            for at, node in enumerate(value) if isinstance(value, list) else ((None, value),):
                if isinstance(node, ast.stmt | ast.expr):
                    for kind, new in _replacements(node, parent, name):
                        replaced = f"{_shown(node)} -> {_shown(new)}"
                        yield kind, node.lineno, replaced, _setter(parent, name, at, new)


def _shown(node: ast.AST) -> str:
    return shorten(ast.unparse(node), 40, placeholder="...")


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes whose changes matter when the program runs."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    yield node
    for name, value in ast.iter_fields(node):
        # Annotations of class attributes may hold limits that are enforced; those of functions do not.
        if name in ("annotation", "returns") and not isinstance(node, ast.AnnAssign):
            continue
        if name == "keywords" and isinstance(node, ast.ClassDef):
            continue  # how a class is made, not what it does
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, ast.AST):
                yield from _walk(child)


def _setter(parent: ast.AST, name: str, at: int | None, new: ast.AST) -> Callable[[], None]:
    def change() -> None:
        if at is None:
            setattr(parent, name, new)
        else:
            getattr(parent, name)[at] = new

    return change


def _replacements(node: ast.stmt | ast.expr, parent: ast.AST, name: str) -> Iterator[tuple[str, ast.AST]]:
    if name in ("test", "ifs", "guard") and isinstance(node, ast.expr) and not isinstance(parent, ast.Assert):
        yield "condition", ast.UnaryOp(ast.Not(), node)
    match node:
        case ast.Compare(left, [operator, *others], comparators) if type(operator) in _COMPARISONS:
            yield "comparison", ast.Compare(left, [_COMPARISONS[type(operator)](), *others], comparators)
        case ast.BoolOp(operator, values):
            yield "and/or", ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not(), operand):
            yield "not", operand
        case ast.Constant(bool() as value) if not isinstance(parent, ast.Return):
            yield "flag", ast.Constant(not value)
        case ast.Constant(int() | float() as value) if type(value) in (int, float):
            yield "number", ast.Constant(value + 1)
        case ast.Expr(ast.Call() | ast.Await()):
            yield "call", ast.Pass()
        case ast.Return(ast.expr() as value):
            yield "return", ast.Return(ast.Constant(_other_constant(value)))


def _other_constant(returned: ast.expr) -> Any:
    if isinstance(returned, ast.Constant) and isinstance(returned.value, bool):
        return not returned.value
    return True if isinstance(returned, ast.Constant) and returned.value is None else None


# Running the tests


class Copy:
    """A copy of the tree with its own environment, in which mutants are tested one after the other."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = folder / "tree"
        self._temporary = folder / "tmp"
        self._temporary.mkdir(parents=True)
        shutil.copytree(root, self._root, ignore=shutil.ignore_patterns(*_IGNORED), symlinks=True)
        environment = folder / "env"
        venv.create(environment, symlinks=True)
        self._bin = environment / "bin"
        packages = Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
        (packages / "copy.pth").write_text(f"{self._root / 'src'}\n{sysconfig.get_path('purelib')}\n")
        self._copy_programs()

    def _copy_programs(self) -> None:
        """The programs that packages have installed, for this environment."""
        for program in Path(sys.executable).parent.iterdir():
            head = f"#!{sys.executable}".encode()
            if program.is_file() and (text := program.read_bytes()).startswith(head):
                made = self._bin / program.name
                made.write_bytes(text.replace(head, f"#!{self._bin / 'python'}".encode(), 1))
                made.chmod(0o755)

    def is_noticed(self, mutant: Mutant, stages: list[list[str]], tests: "Tests") -> bool:
        """Whether a test fails with the change, or does not end."""
        path = self._root / mutant.module
        original = path.read_text()
        try:
            self._write(path, mutated_source(self._root, mutant))
            return any(not self.passes(stage, tests.limit(stage)) for stage in stages if stage)
        finally:
            self._write(path, original)

    def _write(self, path: Path, source: str) -> None:
        path.write_text(source)
        # Python compares whole seconds and sizes, so an old compiled file could be taken for the new one.
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)

    def measure(self, files: list[str], package: str) -> "Tests":
        """Run test files without a change: the time of each test, and the tests that execute each line."""
        data = self._temporary / "coverage"
        log = self._temporary / "log"
        options = [f"--cov=src/{package}", "--cov-context=test", "--cov-report=", "--durations=0", "-rf"]
        for _ in range(2):  # a second try for tests that depend on the machine's load
            if self.passes(
                ["-p", "pytest_cov", *options, *files], _BASELINE_SECONDS, log, COVERAGE_FILE=str(data)
            ):
                return Tests.load(data, log.read_text(), self._root)
        failed = " ".join(re.findall(r"^FAILED (\S+)", log.read_text(), re.MULTILINE))
        raise SystemExit(f"{failed or 'the tests'} fails without a change")

    def passes(self, arguments: list[str], seconds: float, log: Path | None = None, **variables: str) -> bool:
        """Whether pytest with these arguments succeeds in time."""
        command = [str(self._bin / "python"), "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments]
        variables |= {"PATH": f"{self._bin}:{os.environ['PATH']}", "TMPDIR": str(self._temporary)}
        with (
            (log or Path(os.devnull)).open("wb") as output,
            subprocess.Popen(  # noqa: S603 - our own interpreter
                command,
                cwd=self._root,
                env={**os.environ, **variables},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            ) as tests,
        ):
            try:
                return tests.wait(seconds) in _PASSED
            except subprocess.TimeoutExpired:
                return False
            finally:
                self._end_processes(tests.pid)

    def _end_processes(self, group: int) -> None:
        """Kill what the tests have left: their process group, and every process of this copy's interpreter."""
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
        own = f"{self._bin}/".encode()
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (process / "cmdline").read_bytes().startswith(own):
                    os.kill(int(process.name), signal.SIGKILL)


@dataclass
class Tests:
    """The seconds of each test, and the tests that execute each line of each module."""

    seconds: dict[str, float]
    by_line: dict[tuple[str, int], set[str]]

    @classmethod
    def load(cls, data: Path, log: str, root: Path) -> "Tests":
        """From coverage data with a context per test, and pytest's list of durations."""
        from coverage import CoverageData

        seconds: dict[str, float] = {}
        for taken, test in re.findall(r"^([\d.]+)s (?:call|setup|teardown) +(\S+?)(?:\[.*)?$", log, re.MULTILINE):
            seconds[test] = seconds.get(test, 0.0) + float(taken)
        covered = CoverageData(str(data))
        covered.read()
        by_line: dict[tuple[str, int], set[str]] = {}
        for file in covered.measured_files():
            module = str(Path(file).relative_to(root))
            for line, contexts in covered.contexts_by_lineno(file).items():
                # A context is a test with its parameters and its phase; code of the module itself has none.
                found = {context.partition("[")[0].partition("|")[0] for context in contexts if context}
                by_line.setdefault((module, line), set()).update(found)
        return cls(seconds, by_line)

    @classmethod
    def decode(cls, text: str) -> "Tests":
        kept = json.loads(text)
        return cls(kept["seconds"], {(module, line): set(tests) for module, line, tests in kept["lines"]})

    def encode(self) -> str:
        lines = [(module, line, sorted(tests)) for (module, line), tests in sorted(self.by_line.items())]
        return json.dumps({"seconds": self.seconds, "lines": lines})

    def merge(self, other: "Tests") -> "Tests":
        lines = self.by_line.keys() | other.by_line.keys()
        return Tests(
            self.seconds | other.seconds,
            {line: self.by_line.get(line, set()) | other.by_line.get(line, set()) for line in lines},
        )

    def of(self, mutant: Mutant) -> set[str]:
        """The tests that execute a line; where none is known (code of the module itself), those of its module."""
        module = str(mutant.module)
        if tests := self.by_line.get((module, mutant.line)):
            return tests
        return {test for (name, _), tests in self.by_line.items() if name == module for test in tests}

    def limit(self, stage: list[str]) -> float:
        """How long a stage may take: names of tests, or of test files."""
        usual = sum(
            taken for test, taken in self.seconds.items() if test in stage or test.partition("::")[0] in stage
        )
        return _START_SECONDS + _SLOWDOWN * usual

    def stages(self, files: dict[str, str], mutant: Mutant) -> list[list[str]]:
        """First the tests that execute the line, quick ones and those of the module's own file first.

        Then the files that name the module: code that runs in other processes is not in the coverage.
        """
        own = f"test_{mutant.module.stem}.py"
        dotted = ".".join(mutant.module.with_suffix("").parts[1:])
        named = [name for name, text in files.items() if Path(name).name == own or dotted in text]

        def order(test: str) -> tuple[bool, float]:
            return Path(test.partition("::")[0]).name != own, self.seconds.get(test, 0.0)

        quick: list[str] = []
        slow: list[str] = []
        for test in sorted(self.of(mutant), key=order):
            (quick if self.seconds.get(test, 0.0) < _QUICK_SECONDS else slow).append(test)
        return [quick[:_FIRST_TESTS], quick[_FIRST_TESTS:], slow, named]


class Campaign:
    """The tests of a package on changes of its modules, in several copies at once."""

    def __init__(self, root: Path, package: str, copies: list[Copy], kept: Path | None = None) -> None:
        self._free: SimpleQueue[Copy] = SimpleQueue()
        for copy in copies:
            self._free.put(copy)
        self._pool = ThreadPoolExecutor(len(copies))
        paths = sorted((root / "tests" / package.split("/", 1)[1]).rglob("test_*.py"))
        self._files = {str(path.relative_to(root)): path.read_text() for path in paths}
        if kept is not None and kept.exists():
            self._tests = Tests.decode(kept.read_text())
            return
        parts = [list(self._files)[at :: len(copies)] for at in range(len(copies))]
        self._tests = Tests({}, {})
        for measured in self._pool.map(
            lambda files: self._measure(files, package), [part for part in parts if part]
        ):
            self._tests = self._tests.merge(measured)
        if kept is not None:
            kept.write_text(self._tests.encode())

    def survivors(self, mutants: list[Mutant]) -> Iterator[tuple[Mutant, bool]]:
        """The changes in order, each with whether it survives."""
        return zip(mutants, self._pool.map(self._survives, mutants), strict=True)

    def _measure(self, files: list[str], package: str) -> Tests:
        copy = self._free.get()
        try:
            return copy.measure(files, package)
        finally:
            self._free.put(copy)

    def _survives(self, mutant: Mutant) -> bool:
        copy = self._free.get()
        try:
            return not copy.is_noticed(mutant, self._tests.stages(self._files, mutant), self._tests)
        finally:
            self._free.put(copy)


def main(argv: list[str] | None = None) -> int:
    options = _options(argv)
    root: Path = options.root.resolve()
    folder = next((root / "src").glob("*/__init__.py")).parent / options.package
    modules = sorted(
        path.relative_to(root)
        for path in folder.rglob("*.py")
        if options.module in path.relative_to(folder).as_posix()
    )
    found = [mutant for module in modules for mutant in mutants_of(root, module)]
    chosen = Random(options.seed).sample(found, min(options.count, len(found)))  # noqa: S311 - reproducible
    survivors = 0
    with tempfile.TemporaryDirectory(prefix="mut-", ignore_cleanup_errors=True) as temporary:
        copies = [Copy(root, Path(temporary) / str(number)) for number in range(options.jobs)]
        campaign = Campaign(root, f"{folder.parent.name}/{options.package}", copies, options.coverage)
        for number, (mutant, survives) in enumerate(campaign.survivors(chosen), 1):
            if survives:
                survivors += 1
                print(mutant, flush=True)
            print(f"{number} of {len(chosen)}, {survivors} not noticed", file=sys.stderr, flush=True)
    noticed = len(chosen) - survivors
    print(f"{options.package}: {noticed} of {len(chosen)} changes noticed ({noticed / max(1, len(chosen)):.1%})")
    return 1 if survivors else 0


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tools.mutation", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--package", required=True, help="folder below src/clawperator and below tests")
    parser.add_argument("--module", default="", help="only modules with this text in their path below the package")
    parser.add_argument("--count", type=int, default=100, help="how many changes (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed draws the same changes")
    parser.add_argument("--jobs", type=int, default=2, help="how many copies work at once (default: %(default)s)")
    parser.add_argument("--coverage", type=Path, help="reuse the coverage in this file; it is written if missing")
    parser.add_argument("--root", type=Path, default=REPOSITORY, help="the tree to test (default: this one)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())

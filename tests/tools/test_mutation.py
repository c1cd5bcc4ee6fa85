"""The mutation test, on a tree of one package with two modules."""

import ast
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tools.mutation import Copy, main, mutants_of, mutated_source

LIMITS = """
def clamp(value, top):
    return top if value > top else value


def never_called():
    return 5
"""
TESTS = """
from tiny.sums.limits import clamp


def test_values():
    assert [clamp(1, 3), clamp(3, 3), clamp(5, 3)] == [1, 3, 3]
"""
HANGS = """
import subprocess, sys, time

def test_hangs():
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", __file__], start_new_session=True)
    time.sleep(60)
"""
KINDS = """
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import one

class Limits(Base, frozen=True):
    most: Annotated[int, Meta(le=7)] = 5

def act(log: Literal[3], *, loud: bool = False) -> Literal[4]:
    if loud and not log:
        log("loud")
    assert log != 1
    return [n for n in log if n]
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # the plugin of the product is not in this tree
    files = {
        "src/tiny/__init__.py": "",
        "src/tiny/sums/__init__.py": "",
        "src/tiny/sums/limits.py": LIMITS,
        "tests/sums/test_limits.py": TESTS,
        "tests/sums/test_none.py": "",
    }
    for name, text in files.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "tree"


def changed_lines(tree: Path, module: Path) -> dict[str, list[str]]:
    """The changes of a module by their kind: the lines that differ."""
    plain = ast.unparse(ast.parse((tree / module).read_text())).splitlines()
    found: dict[str, list[str]] = {}
    for mutant in mutants_of(tree, module):
        new = mutated_source(tree, mutant).splitlines()
        found.setdefault(mutant.kind, []).extend(line.strip() for line in new if line not in plain)
    return found


def test_changes_of_every_kind(tree: Path) -> None:
    module = Path("src/tiny/sums/kinds.py")
    (tree / module).write_text(KINDS)
    assert changed_lines(tree, module) == {
        "number": [
            "most: Annotated[int, Meta(le=7)] = 6",
            "most: Annotated[int, Meta(le=8)] = 5",
            "assert log != 2",
        ],
        "flag": ["def act(log: Literal[3], *, loud: bool=True) -> Literal[4]:"],
        "condition": ["if not (loud and (not log)):", "return [n for n in log if not n]"],
        "and/or": ["if loud or not log:"],
        "not": ["if loud and log:"],
        "call": ["pass"],
        "comparison": ["assert log == 1"],
        "return": ["return None"],
    }


def test_survivors_are_printed_and_the_tree_is_unchanged(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_text() for path in tree.rglob("*.py")}
    module = Path("src/tiny/sums/limits.py")
    count = len(mutants_of(tree, module))

    code = main(["--package", "sums", "--root", str(tree), "--count", "1000", "--seed", "3", "--jobs", "2"])

    *survivors, last_line = capsys.readouterr().out.splitlines()
    assert code == 1
    assert sorted(survivors) == [
        # The same for equal values.
        f"{module}:3 (comparison: value > top -> value >= top) return top if value > top else value",
        f"{module}:7 (number: 5 -> 6) return 5",
        f"{module}:7 (return: return 5 -> return None) return 5",
    ]
    assert last_line == f"sums: 2 of {count} changes noticed (40.0%)"
    assert {path: path.read_text() for path in tree.rglob("*.py")} == before


def test_coverage_is_kept_and_reused(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "coverage.json"
    arguments = [
        "--package",
        "sums",
        "--root",
        str(tree),
        "--count",
        "1000",
        "--jobs",
        "1",
        "--coverage",
        str(kept),
    ]
    main(arguments)
    first = capsys.readouterr().out
    before = kept.read_text()
    assert "tests/sums/test_limits.py::test_values" in before

    (tree / "tests/sums/test_none.py").write_text(
        "def test_fails():\n    assert 1 == 2\n"
    )  # would end a new measurement
    main(arguments)
    assert (capsys.readouterr().out, kept.read_text()) == (first, before)


def test_tests_that_hang_are_stopped_with_what_they_started(tree: Path, tmp_path: Path) -> None:
    (tree / "tests/sums/test_none.py").write_text(HANGS)
    copy = Copy(tree, tmp_path / "copy")
    assert copy.passes(["tests/sums/test_limits.py"], 60)
    assert not copy.passes(["tests/sums/test_none.py"], 2)
    deadline = time.monotonic() + 10
    while processes_of(tmp_path / "copy"):  # a killed process may stay visible for a moment
        assert time.monotonic() < deadline, "still running"
        time.sleep(0.02)


def processes_of(folder: Path) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if str(folder).encode() in (process / "cmdline").read_bytes():
                found.append(process.name)
    return found


def test_a_suite_that_fails_by_itself_is_an_error(tree: Path) -> None:
    (tree / "tests/sums/test_none.py").write_text("def test_fails():\n    assert 1 == 2\n")
    with pytest.raises(SystemExit, match=r"test_none\.py::test_fails fails without a change"):
        main(["--package", "sums", "--root", str(tree), "--count", "1", "--jobs", "1"])

"""The shape of the package: no import cycles, unique class names; and the tool that prints it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import REPOSITORY
from tools import executed_modules, shape
from tools.executed_modules import FLOWS, Flow, Measured, measure_flows


# Fixtures and not constants: each process of a test run imports this file, and one runs the tests.
@pytest.fixture(scope="module")
def modules() -> Any:
    return shape.load(REPOSITORY / "src")


@pytest.fixture(scope="module")
def graph(modules: Any) -> Any:
    return shape.import_graph(modules)


def test_there_are_no_import_cycles_type_only_imports_included(graph: Any) -> None:
    assert shape.cycles(graph) == []


def test_public_class_names_are_used_once_with_few_exceptions(modules: Any) -> None:
    assert len(shape.reused_class_names(modules)) <= 5


@pytest.mark.parametrize(
    ("imports", "expected"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"a"}, "c": {"a"}}, [["a", "b"]]),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"e"}, "e": {"d"}}, [["a", "b", "c"], ["d", "e"]]),
    ],
)
def test_cycles_are_found(imports: dict[str, set[str]], expected: list[list[str]]) -> None:
    assert shape.cycles(imports) == expected


def test_imports_are_found_at_any_depth(tmp_path: Path) -> None:
    package = tmp_path / "clawperator"
    package.mkdir()
    for name, source in {
        "__init__": "",
        "a": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from clawperator.b import X\n",
        "b": "def f():\n    from clawperator import a\n",
    }.items():
        (package / f"{name}.py").write_text(source)
    graph = shape.import_graph(shape.load(tmp_path))
    assert graph == {"clawperator": set(), "clawperator.a": {"clawperator.b"}, "clawperator.b": {"clawperator.a"}}


def test_growth_is_measured_from_a_commit_without_a_checkout(tmp_path: Path) -> None:
    package = tmp_path / "clawperator"
    for name, lines in {
        "__init__": 1,
        "errors": 3,
        "ui/__init__": 1,
        "ui/node": 5,
        "ui/roles": 2,
        "ui/shipped/script": 9,
    }.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / f"{name}.py").write_text("pass\n" * lines)
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    for words in (("init", "-q"), ("add", "."), (*identity, "commit", "-q", "-m", "one")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    (package / "ui" / "node.py").unlink()
    sizes = {"(top)": (2, 4), "ui": (3, 8)}
    assert shape.package_sizes(shape.lines_at("HEAD", tmp_path)) == sizes
    now = shape.load(tmp_path)
    assert shape.package_sizes((name, one.lines) for name, one in now.items()) == {**sizes, "ui": (2, 3)}


def test_flows_run_on_a_phone_that_is_stopped_and_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    flows = [flow for flow in FLOWS if flow.name in ("version", "click --text", "page touch")]
    measured = {flow.name: found for flow, found in measure_flows(flows)}
    assert set(measured) == {"version", "click --text", "page touch"}
    for found in measured.values():
        assert 0 < found.executed < found.imported
        assert found.calls > found.executed
    assert measured["version"].executed < measured["click --text"].executed < measured["page touch"].executed
    assert list(tmp_path.iterdir()) == []


def test_a_flow_beyond_its_limit_is_missed() -> None:
    flow = Flow("f", executed_modules.run_command, (), most_modules=2, most_calls=10)
    assert shape.check_limit(flow, Measured(2, 5, 10)) == ("2 modules executed: ok, 10 calls: ok", True)
    assert shape.check_limit(flow, Measured(3, 5, 10)) == ("2 modules executed: missed, 10 calls: ok", False)


def test_the_modules_of_one_command_are_listed() -> None:
    command = [sys.executable, "tools/executed_modules.py", "clawperator", "version"]
    listed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert listed.stdout == ""
    assert listed.stderr.startswith("cli.dispatch\n")

"""The shape of the package: no import cycles, unique class names."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from clawperator.contract.actions import ACTIONS
from tests.support.paths import REPOSITORY


def _load_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("shape", REPOSITORY / "tools" / "shape.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["shape"] = module
    spec.loader.exec_module(module)
    return module


shape = _load_tool()


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


def test_an_action_is_described_in_at_most_five_places(modules: Any) -> None:
    places = shape.action_places(modules)
    assert len(places) == len(ACTIONS)
    assert {action: found for action, found in places.items() if len(found) > shape.MOST_PLACES} == {}


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

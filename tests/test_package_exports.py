"""Every package exports its API in its ``__init__``: lazily, typed, and complete."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

import clawperator

ROOT = Path(clawperator.__file__).parent
PACKAGES = sorted(
    path.parent.name for path in ROOT.glob("*/__init__.py") if "lazy_exports" in path.read_text("utf-8")
)


def test_the_packages_are_known() -> None:
    names = "agent commands connection contract device engine phone policy recording replay report serve skills ui"
    assert names.split() == PACKAGES


@pytest.mark.parametrize("name", PACKAGES)
def test_every_exported_name_can_be_imported_and_is_listed(name: str) -> None:
    package = import_module(f"clawperator.{name}")
    assert [name for name in package.__all__ if not hasattr(package, name)] == []
    assert set(package.__all__) <= set(dir(package))
    assert not hasattr(package, "no_such_name")


@pytest.mark.parametrize("name", PACKAGES)
def test_type_checkers_see_the_exported_names(name: str) -> None:
    package = import_module(f"clawperator.{name}")
    tree = ast.parse((ROOT / name / "__init__.py").read_text("utf-8"))
    (block,) = (
        node
        for node in tree.body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    )
    typed = {
        alias.name
        for node in block.body
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(f"clawperator.{name}.")
        for alias in node.names
    }
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert typed | defined == set(package.__all__)

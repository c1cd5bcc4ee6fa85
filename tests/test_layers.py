"""Imports point downwards through the packages. Only entry points print or exit."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.sources import PACKAGE as ROOT
from tests.support.sources import parsed_sources

Sources = dict[Path, tuple[ast.AST, ...]]
# From the top. A package may import from itself and from those after it.
LAYERS = (
    "__main__",
    "cli",
    "serve",
    "schemas",
    "pytest_plugin",
    "testing",
    "agent",
    "operations",
    "skills",
    "skill_api",
    "report",
    "replay",
    "api",
    "device",
    "phone",
    "engine",
    "recording",
    "ui",
    "policy",
    "contract",
    "_base",
    "__init__",
)
# A skill is a program of its own, and prints its result frame.
ENTRY_POINTS = ("__main__", "cli", "skill_api")
PHONE_PROCESS = ROOT / "phone" / "process" / "main.py"  # a program of its own, started by ``phone start``


@pytest.fixture(scope="module")
def sources() -> Sources:
    return parsed_sources()


def package_of(path: Path) -> str:
    return _layer(path.relative_to(ROOT).parts[0].removesuffix(".py"))


def _layer(package: str) -> str:
    return "_base" if package == "errors" else package  # errors and what they need use each other's modules


def imported_packages(path: Path, nodes: tuple[ast.AST, ...]) -> Iterator[str]:
    for node in nodes:
        names = []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the layer"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            if name.split(".")[0] == "clawperator":
                package = _layer(name.split(".")[1])
                yield package if package in LAYERS else "__init__"


def test_every_package_has_a_layer() -> None:
    assert {package_of(path) for path in ROOT.rglob("*.py")} == set(LAYERS)


def test_imports_point_downwards(sources: Sources) -> None:
    for path, nodes in sources.items():
        package = package_of(path)
        if package == "__init__":
            continue  # it exports names from above, and loads them on first use
        for other in imported_packages(path, nodes):
            assert LAYERS.index(other) >= LAYERS.index(package), f"{path} imports {other}, which is above it"


def test_importing_the_package_loads_no_other_module() -> None:
    import subprocess
    import sys

    script = (
        "import sys; before = set(sys.modules); import clawperator; print(sorted(set(sys.modules) - before));"
        "clawperator.connect; print('clawperator.api' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True, timeout=30
    )
    assert ran.stdout.splitlines() == ["['clawperator']", "True"]


def test_only_the_public_packages_export_names(sources: Sources) -> None:
    for path, nodes in sources.items():
        package = path.relative_to(ROOT).parts[:-1]
        if path.name == "__init__.py" and package not in ((), ("testing",)):
            tree = nodes[0]
            assert isinstance(tree, ast.Module)
            assert all(isinstance(node, ast.Expr) for node in tree.body), f"{path} holds more than a docstring"


def test_only_entry_points_print_read_argv_or_exit(sources: Sources) -> None:
    for path, nodes in sources.items():
        if package_of(path) in ENTRY_POINTS or path == PHONE_PROCESS:
            continue
        for node in nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("print", "input", "exit", "quit"), f"{path}:{node.lineno}"
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sys":
                assert node.attr not in ("argv", "exit", "stdout", "stderr", "stdin"), f"{path}:{node.lineno}"


# Packages that are imported where they are used: Pillow by functions, those of extras by the servers.
LATE = {"PIL"}
SERVERS = {
    "http": {"h11", "starlette", "uvicorn"},
    "mcp": {"anyio", "mcp", "mcp_types", "starlette"},
    "page": {"starlette"},
}
MCP_CLIENT = ROOT / "agent" / "mcp" / "client.py"  # imported where a configured server is used


def test_only_msgspec_is_imported_at_the_start(sources: Sources) -> None:
    import sys

    needed = {*sys.stdlib_module_names, "clawperator", "msgspec"}
    for path, nodes in sources.items():
        package = package_of(path)
        tree = nodes[0]
        assert isinstance(tree, ast.Module)
        at_start = {id(node) for node in tree.body}
        # Only pytest loads its plugin.
        first = needed | ({"pytest"} if package == "pytest_plugin" else set())
        if package == "serve":
            first |= SERVERS.get(path.relative_to(ROOT).parts[1], set())
        if path == MCP_CLIENT:
            first |= {"anyio", "httpx2", "mcp", "mcp_types", "pydantic"}
        later = first | LATE
        for node in nodes:
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            if names:
                assert {name.split(".")[0] for name in names} <= (first if id(node) in at_start else later), path

"""The parsed source files of the package."""

import ast
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import clawperator

PACKAGE = Path(clawperator.__file__).parent


@contextmanager
def without_collection() -> Iterator[None]:
    """No garbage collection: syntax trees are many objects and no garbage, and each collection visits them all."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def parsed_sources() -> dict[Path, tuple[ast.AST, ...]]:
    """The nodes of the syntax tree of each source file, in the order of ``ast.walk``: the module comes first."""
    with without_collection():
        return {
            path: tuple(ast.walk(ast.parse(path.read_text("utf-8")))) for path in sorted(PACKAGE.rglob("*.py"))
        }

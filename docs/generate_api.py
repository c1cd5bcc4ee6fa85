"""The API reference: signatures and docstrings of the public names, as Markdown."""

import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import msgspec

import clawperator
from clawperator import skill_api, testing
from clawperator.errors import ClawError

_QUOTED = re.compile(r"'([\w.\[\], |]+)'")


def api() -> str:
    """The public names of the package, its functions and classes first, then the errors."""
    names = [name for name in clawperator.__all__ if name != "__version__"]
    objects = {name: getattr(clawperator, name) for name in names}
    errors = {name: value for name, value in objects.items() if _is_error(value)}
    lines = ["## clawperator", ""]
    for name, value in objects.items():
        if name not in errors:
            lines += _entry(name, value)
    lines += ["## Errors", "", "| Class | Base | Raised when |", "| --- | --- | --- |"]
    lines += [f"| `{name}` | `{value.__base__.__name__}` | {_summary(value)} |" for name, value in errors.items()]
    lines += ["", "`ClawError` has these members:", ""]
    lines += [f"- {line}" for line in _members(ClawError)]
    for module in (testing, skill_api):
        lines += ["", f"## {module.__name__}", "", _text(module), ""]
        for name in _public(module):
            lines += _entry(name, getattr(module, name))
    return "\n".join(lines)


def _is_error(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, ClawError)


def _public(module: ModuleType) -> list[str]:
    return [name for name in module.__all__ if not name.startswith("_")]


def _entry(name: str, value: Any) -> list[str]:
    lines = [f"### {name}", ""]
    if isinstance(value, type):
        lines += [_text(value), ""]
        if issubclass(value, msgspec.Struct) and value.__struct_fields__:
            lines += ["Fields: " + ", ".join(f"`{field}`" for field in value.__struct_fields__) + ".", ""]
        members = list(_members(value))
        return [*lines, *(f"- {line}" for line in members), *([""] if members else [])]
    if callable(value):
        return [*lines, f"`{name}{_signature(value)}`", "", _text(value), ""]
    return [*lines, f"`{value!r}`", ""]


def _members(owner: type) -> Iterator[str]:
    """Public methods and properties that the class itself defines, in their order."""
    for name, value in vars(owner).items():
        if name.startswith("_"):
            continue
        if isinstance(value, property):
            yield f"`{name}`" + _after(_summary(value.fget))
        elif inspect.isfunction(value) or isinstance(value, classmethod | staticmethod):
            function = value if inspect.isfunction(value) else value.__func__
            yield f"`{name}{_signature(function, bound=not isinstance(value, staticmethod))}`" + _after(
                _summary(function)
            )


def _after(summary: str) -> str:
    return f": {summary}" if summary else ""


def _signature(function: Any, *, bound: bool = False) -> str:
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())[1 if bound else 0 :]
    text = str(signature.replace(parameters=parameters))
    return _QUOTED.sub(r"\1", text).replace("clawperator.", "").replace("collections.abc.", "").replace("typing.", "")


def _text(value: Any) -> str:
    return (inspect.getdoc(value) or "").replace("``", "`")


def _summary(value: Any) -> str:
    """The first paragraph of a docstring, as one line."""
    return " ".join(_text(value).split("\n\n", 1)[0].split())

"""Lazy package exports: a package's public names are imported when they are first used.

    if TYPE_CHECKING:
        from clawperator.recording.export import Export, read_export
    else:
        __getattr__, __dir__ = lazy_exports(__name__, {"export": "Export read_export"})

Start-up time matters most to a command line, and a command needs few of the names a package exports.
"""

import sys

# Type checkers know this name; importing it from typing would cost every command some milliseconds.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_exports(
    package: str, modules: "Mapping[str, str]"
) -> "tuple[Callable[[str], object], Callable[[], list[str]]]":
    """``__getattr__`` and ``__dir__`` of a package: its submodules, each with the names it defines.

    A submodule is named relative to the package. The first access caches the value in the package.
    """
    module_of = {name: module for module, names in modules.items() for name in names.split()}

    def load(name: str) -> object:
        module = module_of.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        # __import__ rather than importlib, whose own import costs a quarter of a millisecond.
        value = getattr(__import__(f"{package}.{module}", fromlist=(name,)), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of})

    return load, names

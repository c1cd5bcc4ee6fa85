"""Clawperator: a hand on Android phones that does what it is told and tells what happened."""

__version__ = "0.1.0"
__all__ = ["ClawError", "__version__", "connect", "connect_async"]

# Type checkers know this name; importing it from typing would cost every command some milliseconds.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from clawperator.connection import connect, connect_async
    from clawperator.errors import ClawError
else:

    def __getattr__(name: str) -> object:
        """What a program asks for is imported when it asks. A command pays for nothing."""
        homes = {"connect": "connection", "connect_async": "connection", "ClawError": "errors"}
        if name not in homes:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        found = globals()[name] = getattr(import_module(f"{__name__}.{homes[name]}"), name)
        return found

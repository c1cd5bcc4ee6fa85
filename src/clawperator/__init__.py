"""Clawperator: Android automation for AI agents, with verified results."""

__version__ = "0.2.0"
__all__ = ["ClawError", "__version__", "connect", "connect_async", "start_phone"]

# Type checkers know this name; importing it from typing would cost every command some milliseconds.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from clawperator.connection import connect, connect_async
    from clawperator.errors import ClawError
    from clawperator.phone.process.launch import start_phone
else:
    from clawperator._lazy import lazy_exports

    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "ClawError": "errors",
            "connect": "connection",
            "connect_async": "connection",
            "start_phone": "phone.process.launch",
        },
    )

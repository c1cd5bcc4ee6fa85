"""Phones for Python programs: connect to one, and every action is a method.

    import clawperator

    phone = clawperator.connect()
    phone.open_app("com.android.settings")
    phone.click("Display")
    print(phone.snapshot().labels())

``connect_async`` gives the same for programs that await.
"""

from typing import TYPE_CHECKING

from clawperator.errors import ClawError

if TYPE_CHECKING:
    from clawperator.commands.model import BackendName
    from clawperator.connection.async_phone import AsyncConnectedPhone
    from clawperator.connection.phone import ConnectedPhone
    from clawperator.connection.recording import Recording
    from clawperator.connection.results import Arrived, Done, Found, Pair, Recorded, Scrolled
    from clawperator.connection.selectors import Selector
    from clawperator.connection.snapshot import Snapshot
else:
    # Who only wants to read a step's results does not pay for all that drives a phone.
    _HOMES = {
        "AsyncConnectedPhone": "async_phone",
        "ConnectedPhone": "phone",
        "Recording": "recording",
        **dict.fromkeys(("Arrived", "Done", "Found", "Pair", "Recorded", "Scrolled"), "results"),
        "Selector": "selectors",
        "Snapshot": "snapshot",
    }

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        return found


__all__ = [
    "Arrived",
    "ConnectedPhone",
    "Done",
    "Found",
    "Pair",
    "Recorded",
    "Recording",
    "Scrolled",
    "Selector",
    "Snapshot",
    "connect",
    "connect_async",
]


def connect(
    serial: str | None = None, *, operator_package: str | None = None, backend: "BackendName" = "auto"
) -> "ConnectedPhone":
    """The phone with this serial, or the only one that is ready.

    ``operator_package`` and ``backend`` mean what the command line's flags of these names mean. Nothing stays
    open: each action is a connection of its own, and takes the phone's lease while it runs.
    """
    from clawperator.commands.model import BACKENDS
    from clawperator.connection.phone import ConnectedPhone
    from clawperator.device.discovery import resolve

    if backend not in BACKENDS:
        raise ClawError("USAGE", f"the backend is one of {', '.join(BACKENDS)}, not {backend!r}")
    return ConnectedPhone(resolve(serial), operator_package=operator_package, backend=backend)


async def connect_async(
    serial: str | None = None, *, operator_package: str | None = None, backend: "BackendName" = "auto"
) -> "AsyncConnectedPhone":
    """The same phone, with methods to await."""
    from asyncio import to_thread

    from clawperator.connection.async_phone import AsyncConnectedPhone

    return AsyncConnectedPhone(
        await to_thread(connect, serial, operator_package=operator_package, backend=backend)
    )

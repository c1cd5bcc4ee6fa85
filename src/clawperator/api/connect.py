"""The Python API: connect to a device, and call its actions as methods.

    import clawperator

    phone = clawperator.connect()
    phone.open_app("com.android.settings")
    phone.click("Display")
    print(phone.snapshot().labels())

``connect_async`` returns the same with methods to await.
"""

from typing import TYPE_CHECKING

from clawperator.errors import ClawError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clawperator.api.async_phone import AsyncConnectedPhone
    from clawperator.api.phone import ConnectedPhone
    from clawperator.commands.model import BackendName


def connect(
    serial: str | None = None,
    *,
    operator_package: str | None = None,
    backend: "BackendName | None" = None,
    allow_schemes: "Sequence[str]" = (),
) -> "ConnectedPhone":
    """Connect to the device with this serial, or to the user's default device, or to the only ready one.

    ``operator_package``, ``backend`` and ``allow_schemes`` mean the same as the command-line flags, and have the
    same defaults: environment variables, then ``clawperator.toml``. Nothing stays
    open: each action uses a connection of its own and holds the device's lease while it runs.
    """
    from clawperator.api.phone import ConnectedPhone
    from clawperator.commands.model import BACKENDS
    from clawperator.device.discovery import resolve_device
    from clawperator.device.settings import default_backend, default_timeout_ms

    if backend is None:
        backend = default_backend()
    elif backend not in BACKENDS:
        raise ClawError("USAGE", f"unknown backend {backend!r}", hint=f"Use one of: {', '.join(BACKENDS)}.")
    return ConnectedPhone(
        resolve_device(serial),
        operator_package=operator_package,
        backend=backend,
        allow_schemes=allow_schemes,
        timeout_ms=default_timeout_ms(),
    )


async def connect_async(
    serial: str | None = None,
    *,
    operator_package: str | None = None,
    backend: "BackendName | None" = None,
    allow_schemes: "Sequence[str]" = (),
) -> "AsyncConnectedPhone":
    """Like ``connect``, with methods to await."""
    from asyncio import to_thread

    from clawperator.api.async_phone import AsyncConnectedPhone

    phone = await to_thread(
        connect, serial, operator_package=operator_package, backend=backend, allow_schemes=allow_schemes
    )
    return AsyncConnectedPhone(phone)

"""Execution backends: the Operator app on the device, or the host engine over plain adb."""

from typing import TYPE_CHECKING, Protocol

from clawperator.commands import BackendName
from clawperator.contract import Plan, ResultEnvelope

if TYPE_CHECKING:
    from clawperator.device.adb.client import Device


class Backend(Protocol):
    """Runs validated plans on one device.

    The envelope holds every step that ran. ``ClawError`` when the plan was not delivered or its result is unknown.
    """

    def run(self, plan: Plan) -> ResultEnvelope: ...


def choose_backend(backend: BackendName | Backend, device: "Device", package: str) -> Backend:
    """The backend of this name, or the given one. ``auto`` is the Operator."""
    if not isinstance(backend, str):
        return backend
    if backend == "adb":
        from clawperator.device.backends.adb import AdbBackend

        return AdbBackend(device)
    from clawperator.device.backends.operator import OperatorBackend

    return OperatorBackend(device, package)

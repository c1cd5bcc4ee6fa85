"""A connected device, driven over adb."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clawperator.api.android_phone import AndroidPhone
from clawperator.api.calls import milliseconds
from clawperator.commands.model import BackendName
from clawperator.contract.execution import validate
from clawperator.contract.results import ResultEnvelope
from clawperator.device.adb.client import Device, ShellAnswer
from clawperator.device.backends.backend import Backend
from clawperator.device.run.run import run_plan
from clawperator.device.settings import named_operator

if TYPE_CHECKING:
    from clawperator.device.run.references import References

_LONGEST_SHELL_MS = 3_600_000


class ConnectedPhone(AndroidPhone):
    """One device. It keeps nothing open and may be used from several threads: the lease serialises actions."""

    def __init__(
        self,
        device: Device,
        *,
        operator_package: str | None = None,
        backend: BackendName | Backend = "auto",
        allow_schemes: Sequence[str] = (),
        timeout_ms: int | float | None = None,
    ) -> None:
        self.device = device
        self._package = named_operator(operator_package)
        self._backend: BackendName | Backend = backend
        self._allow_schemes = tuple(allow_schemes)
        self._timeout_ms = timeout_ms

    @property
    def serial(self) -> str:
        """The name of the device, as adb lists it."""
        return self.device.serial

    def pull_recording(
        self,
        session_id: str | None = None,
        folder: str | os.PathLike[str] = "recordings",
        *,
        timeout: float | None = None,
    ) -> str:
        """Pull a recording from the device, by default the last one. Returns the path of the file."""
        from clawperator.device.operators import find_operator
        from clawperator.device.recordings import PULL_SECONDS, pull_recording
        from clawperator.policy.enforcement import check_call

        check_call("recording_pull", "act", session_id or "")
        limit = milliseconds(PULL_SECONDS if timeout is None else timeout, _LONGEST_SHELL_MS)
        package = find_operator(self.device, self._package)
        pulled = pull_recording(self.device, package, session_id, os.fspath(folder), seconds=limit / 1000)
        return pulled.localPath

    def shell(self, command: str, *arguments: str, timeout: float = 30) -> ShellAnswer:
        """Run one command on the device. Its arguments are quoted: the shell interprets none of them.

        A shell can do anything: under a policy it requires the level full.
        """
        from clawperator.device.adb.client import run_shell
        from clawperator.device.adb.quoting import command_line
        from clawperator.policy.enforcement import check_call

        check_call("shell", "full", command_line(command, *arguments), command)

        limit = milliseconds(timeout, _LONGEST_SHELL_MS)
        return run_shell(self.device, command_line(command, *arguments), seconds=limit / 1000)

    def _references(self) -> "References":
        from clawperator.device.run.references import References

        return References(self.serial)

    def _run(self, document: dict[str, Any]) -> ResultEnvelope:
        plan = validate(document)
        return run_plan(
            plan,
            self.device,
            package=self._package,
            backend=self._backend,
            allow_schemes=self._allow_schemes,
        ).envelope

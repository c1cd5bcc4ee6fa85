"""A simulated phone in this process, with the methods of a connected one."""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from clawperator._base.files import AtomicFile, file_error, why
from clawperator.api.phone import AndroidPhone, ConnectedPhone
from clawperator.api.snapshot import ScreenSearch
from clawperator.contract.execution import Action, Plan, validate
from clawperator.contract.results import ResultEnvelope, StepResult
from clawperator.contract.wire import recordings_folder
from clawperator.device.adb.client import Device, Endpoint, ShellAnswer
from clawperator.device.adb.quoting import command_line
from clawperator.device.backends.adb_system import AdbSystem
from clawperator.device.backends.host_actions import save_screenshot
from clawperator.device.backends.near_matches import is_failed_search, with_near_matches
from clawperator.device.recordings import check_session_id, local_recording_path
from clawperator.device.run.references import References
from clawperator.device.run.run import add_views, with_captures
from clawperator.device.run.secrets import SecretReader
from clawperator.device.uri_schemes import check_uri_schemes
from clawperator.engine.clock import VirtualClock
from clawperator.engine.driver import Clock
from clawperator.engine.run import Engine
from clawperator.errors import ClawError
from clawperator.phone.core.phone import Phone
from clawperator.phone.operator.driver import PrivilegedPhoneDriver
from clawperator.phone.toolkit.app import App
from clawperator.testing.many_phones import OPEN_PHONES
from clawperator.testing.person import LiveScreen, Person
from clawperator.ui.node import Hierarchy
from clawperator.ui.outline import Outline
from clawperator.ui.refs import ElementFingerprint
from clawperator.ui.suggest import NearMatch

if TYPE_CHECKING:
    from clawperator.phone.adb.adbd import AdbdServer
    from clawperator.phone.cassette.cassette import Cassette
    from clawperator.phone.core.events import AccessibilityEvent

_SHELL_SECONDS = 60.0
_SHELL_BYTES = 4 * 1024 * 1024
_SNAPSHOT = re.compile(r"Run .clawperator snapshot[^']*'")
_OUTLINE = "Print phone.snapshot().outline"
_KEYWORDS = {"textEquals": "text", "resourceId": "id"}


class PhonePorts(Struct, frozen=True):
    """The ports of a served phone: for ``adb connect``, and for clients of the adb server protocol."""

    adbd_port: int
    server_port: int


class SimulatedPhoneDriver(PrivilegedPhoneDriver, AdbSystem):
    """``run_script`` runs a script in the shell of the phone, with standard input."""

    def __init__(self, phone: Phone, run_script: Callable[[str, bytes], ShellAnswer]) -> None:
        super().__init__(phone)
        self._serial = phone.serial
        # Only its serial is used: the phone has no server.
        self._device = Device(phone.serial, Endpoint("127.0.0.1", 0, simulated=True))
        self._run_script = run_script

    @property
    def _name(self) -> str:
        return self._serial

    def _run(self, script: str) -> ShellAnswer:
        return self._run_script(script, b"")

    def _left(self, most: float) -> float:
        return most

    def _natural_size(self) -> tuple[int, int]:
        frame = self.frame()
        return min(frame.width, frame.height), max(frame.width, frame.height)

    def install(self, path: str) -> int:
        with open(path, "rb") as file:
            apk = file.read()
        script = command_line("cmd", "package", "install", "-r", "-S", str(len(apk)))
        answer = self._run_script(script, apk)
        if not answer.text.startswith("Success"):
            raise ClawError(
                "ANDROID_INSTALL_FAILED",
                f"cannot install {path} on {self._serial}: {answer.complaint or 'no output'}",
                hint="Check that the file is an APK.",
                details={"path": path},
            )
        return len(apk)


class SimulatedPhone(AndroidPhone):
    """A simulated phone in this process: the methods of every phone, on a virtual clock and without sockets.

    Only a simulated phone has ``person`` (a user who touches the screen), ``clock``, faults, ``events``
    (accessibility events so far), ``phone`` (its whole state) and ``screenshots`` (the PNG of each path).
    """

    def __init__(self, phone: Phone, *, allow_schemes: Sequence[str] = ()) -> None:
        self.phone = phone
        self.person = Person(phone)
        self.screenshots: dict[str, bytes] = {}
        self.events: list[AccessibilityEvent] = []
        self._allow_schemes = tuple(allow_schemes)
        self._folder: str | None = None
        self._adbd: AdbdServer | None = None
        phone.listeners.append(self.events.append)
        driver = SimulatedPhoneDriver(phone, self.shell_script)
        self._engine = Engine(
            driver,
            phone.clock,
            random=phone.random,
            save_screenshot=self._save_screenshot,
            secrets=_SecretReader(phone),
            references=_LazyReferences(self._references),
            backtracking=True,
        )

    @property
    def serial(self) -> str:
        return self.phone.serial

    @property
    def clock(self) -> Clock:
        """The phone's clock: ``clock.sleep(seconds)`` lets time pass; on a virtual clock that takes no time."""
        return self.phone.clock

    def close(self) -> None:
        """Stop the phone and delete its temporary files."""
        self.phone.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    # What every phone has

    def foreground(self, *, timeout: float | None = None) -> str:  # noqa: ARG002 - it takes no time
        """The package in the foreground."""
        return self.phone.foreground()

    def pull_recording(
        self,
        session_id: str | None = None,
        folder: str | os.PathLike[str] = "recordings",
        *,
        timeout: float | None = None,  # noqa: ARG002 - it takes no time
    ) -> str:
        """Write a recording to a folder, by default the last one. Returns the path of the file."""
        session_id = self._latest_session() if session_id is None else check_session_id(session_id)
        content = self.read_recording(session_id)
        path = local_recording_path(os.fspath(folder), session_id)
        try:
            with AtomicFile(path, private=True, follow_links=False) as out:
                out.file.write(content)
        except OSError as e:
            raise file_error("RECORDING_PULL_FAILED", "write", path, e) from e
        return path

    def shell(self, command: str, *arguments: str, timeout: float = 30) -> ShellAnswer:
        """Run one command on the phone. Its arguments are quoted: the shell interprets none of them."""
        return self.shell_script(command_line(command, *arguments), timeout=timeout)

    # What only a simulated phone has

    def hierarchy(self) -> Hierarchy:
        """The tree of the active window, with what only the device knows of a node."""
        with self.phone.lock:
            return self.phone.windows.hierarchy()

    def xml(self) -> str:
        """The same as XML, as ``uiautomator dump`` writes it."""
        with self.phone.lock:
            return self.phone.windows.xml()

    def png(self) -> bytes:
        """The screen as PNG, without a file."""
        return self.phone.screenshot()

    def shell_script(
        self,
        script: str | bytes,
        stdin: bytes = b"",
        *,
        timeout: float = _SHELL_SECONDS,
        max_bytes: int = _SHELL_BYTES,
    ) -> ShellAnswer:
        """Run a shell script on the phone, as ``adb shell`` would.

        ``DEVICE_SHELL_UNAVAILABLE`` when it does not end within ``timeout`` seconds of real time, or when it
        writes more than ``max_bytes``.
        """
        from clawperator.phone.shell.language.interpreter import run_limited

        return ShellAnswer(*run_limited(script, self.phone, stdin, seconds=timeout, max_bytes=max_bytes))

    def fault(self, name: str, setting: str | float | bool = "on") -> None:  # noqa: FBT001 - a switch is on or off
        """Set a fault. ``offline`` and ``unauthorized`` also end adb connections."""
        self.phone.set_fault(name, setting)
        if name in ("offline", "unauthorized") and self._adbd is not None:
            self._adbd.disconnect()

    def read_recording(self, session_id: str | None = None) -> bytes:
        """The NDJSON of a recording, by default the one finished last."""
        session_id = self._latest_session() if session_id is None else check_session_id(session_id)
        try:
            return self._read_file(f"{session_id}.ndjson")
        except OSError as e:
            message = f"cannot read the recording {session_id!r}: {why(e)}"
            raise ClawError("RECORDING_PULL_FAILED", message, operation="pull", target=session_id) from e

    @contextmanager
    def serve(self) -> Iterator["PhonePorts"]:
        """Accept adb connections on loopback while the ``with`` block runs."""
        from clawperator.phone.adb.adbd import AdbdServer
        from clawperator.phone.adb.device import PhoneDevice
        from clawperator.phone.adb.server import AdbServer

        device = PhoneDevice(self.phone)
        adbd, server = AdbdServer(device), AdbServer(lambda: [device])
        self._adbd = adbd
        try:
            yield PhonePorts(adbd.start(), server.start())
        finally:
            self._adbd = None
            server.stop()
            adbd.stop()

    @contextmanager
    def connected(self) -> Iterator[ConnectedPhone]:
        """A connection to this phone over adb, while the ``with`` block runs."""
        with self.serve() as ports:
            device = Device(self.serial, Endpoint("127.0.0.1", ports.server_port, simulated=True))
            yield ConnectedPhone(device, allow_schemes=self._allow_schemes)

    def _screen(self, timeout: float | None) -> ScreenSearch:  # noqa: ARG002 - it takes no time
        return LiveScreen(self.phone)

    def _run(self, document: dict[str, Any]) -> ResultEnvelope:
        plan = validate(document)
        check_uri_schemes(plan, self._allow_schemes)
        envelope = self._engine.run(with_captures(plan).execution)
        if envelope.stepResults and not envelope.stepResults[-1].success:
            self._improve_hint(plan, envelope.stepResults)
        return add_views(plan, envelope, self._references)

    def _improve_hint(self, plan: Plan, steps: list[StepResult]) -> None:
        """Name near matches of a failed search, and methods: no command sees a phone in this process."""
        last, action = steps[-1], plan.execution.actions[len(steps) - 1]
        if "hint" in last.data:
            last = replace(last, data={**last.data, "hint": _SNAPSHOT.sub(_OUTLINE, last.data["hint"])})
        if is_failed_search(last):
            last = with_near_matches(last, action, self.hierarchy(), self._references(), _keyword)
        steps[-1] = last

    def _references(self) -> References:
        """References on the phone's clock, kept as long as the phone."""
        return References(self.serial, lambda: self.clock.now_ms() / 1000, folder=self._temporary_folder())

    def _temporary_folder(self) -> str:
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="clawperator-")
        return self._folder

    def _save_screenshot(self, path: str | None, png: bytes) -> str:
        if path is None:
            path = os.path.join(self._temporary_folder(), f"screenshot-{len(self.screenshots) + 1}.png")
        save_screenshot(png, path, "")
        self.screenshots[path] = png
        return path

    def _latest_session(self) -> str:
        try:
            return self._read_file("latest").decode()
        except OSError as e:
            message = "no recording has been finished on this phone"
            raise ClawError("RECORDING_SESSION_NOT_FOUND", message, operation="pull") from e

    def _read_file(self, name: str) -> bytes:
        """A file in the folder of recordings."""
        return self.phone.storage.system.read(f"{recordings_folder(self.phone.operator.package)}/{name}")


class _SecretReader(SecretReader):
    """Reads secrets, and knows the recording of a phone in this process."""

    def __init__(self, phone: Phone) -> None:
        super().__init__(phone.serial)
        self._phone = phone

    def active_recording(self) -> str | None:
        return self._phone.operator.recorder.session_id


class _LazyReferences:
    """References that need a folder only when one is looked up."""

    def __init__(self, references: Callable[[], References]) -> None:
        self._references = references

    def lookup(self, ref: str) -> ElementFingerprint:
        return self._references().lookup(ref)

    def assign(self, screen: Outline, snapshot_id: str | None = None) -> None:
        self._references().assign(screen, snapshot_id)


def _keyword(match: NearMatch, _action: Action, param: str) -> str:
    """The keyword that selects a near match in a call: ``text='Display'``."""
    keyword = _KEYWORDS[match.field]
    return f"{keyword}={match.value!r}" if param == "matcher" else f"container={{{keyword!r}: {match.value!r}}}"


def _apps(given: App | str | os.PathLike[str]) -> list[App]:
    from clawperator.phone.toolkit.appfile import load_apps

    return [given] if isinstance(given, App) else load_apps(os.fspath(given))


def _load(path: str) -> "Cassette":
    from clawperator.phone.cassette.cassette import load_cassette

    return load_cassette(path)


@contextmanager
def simulated_phone(  # noqa: PLR0913 - the parts of a phone
    *,
    seed: int = 0,
    serial: str = "claw-1",
    apps: Iterable[App | str | os.PathLike[str]] = (),
    clock: Clock | None = None,
    cassette: str | None = None,
    faults: Mapping[str, str | float | bool] | None = None,
    allow_schemes: Sequence[str] = (),
) -> Iterator[SimulatedPhone]:
    """A simulated phone in this process, until the ``with`` block ends. Its clock is virtual unless one is given.

    ``apps`` are further apps, or paths of app files. ``cassette`` is the path of a recording that the phone shows
    instead of its apps. ``faults`` maps names of faults to their settings. ``allow_schemes`` are URI schemes it
    may open besides http and https.
    """
    OPEN_PHONES.add()
    try:
        phone = Phone(
            seed=seed,
            serial=serial,
            apps=[app for given in apps for app in _apps(given)],
            clock=VirtualClock() if clock is None else clock,
            cassette=None if cassette is None else _load(cassette),
        )
        simulated = SimulatedPhone(phone, allow_schemes=allow_schemes)
        try:
            for name, setting in (faults or {}).items():
                simulated.fault(name, setting)
            yield simulated
        finally:
            simulated.close()
    finally:
        OPEN_PHONES.remove()
